/*
 * The context every host-side function takes first: it owns all memory, and it is where errors go.
 *
 * Memory: everything is allocated from arenas of the context and freed with them; resources that are not memory
 * (mapped files, handles of other libraries) are freed by functions registered with nuc_defer().
 *
 * Errors: nuc_fail() writes one line (what is wrong, where, what to do) and leaves through the innermost nuc_try();
 * it does not return, so code that reads or converts is linear. A function that may fail says nothing about it:
 * all may. No callback of another library may be on the stack when nuc_fail() is called.
 */
#ifndef NUC_HOST_CONTEXT_H
#define NUC_HOST_CONTEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "host/unfinished.h"
#include "nucleon/types.h"

#define NUC_MESSAGE_SIZE 1024

/*
 * Where memory comes from. allocate(user, NULL, size) allocates, allocate(user, block, 0) frees. It may return NULL:
 * the call under way then ends with NUC_NO_MEMORY.
 */
struct nuc_allocator {
    void *(*allocate)(void *user, void *block, size_t size);
    void *user;
};

struct nuc_arena;
struct nuc_context;
struct nuc_obstacles;
struct nuc_output;
struct nuc_schema;

/* Where nuc_fail() leaves to. What changes after setjmp() is volatile. */
struct nuc_catch {
    jmp_buf here;
    struct nuc_catch *volatile outer;
    struct nuc_arena *volatile arena; /* where nuc_alloc() took from: those pushed since are popped after a failure */
    volatile bool failed;
};

/* Files that wait for those of the same call (host/file.h). */
struct nuc_outputs {
    struct nuc_arena *arena; /* NULL: files are written at once */
    struct nuc_output *first, **last;
    size_t count;
};

struct nuc_context {
    struct nuc_allocator allocator;
    struct nuc_arena *arena; /* where nuc_alloc() takes from */
    enum nuc_status status;  /* of the last failed call */
    char message[NUC_MESSAGE_SIZE];
    struct nuc_catch *on_error;
    void (*warn)(void *user, const char *message); /* may be NULL; receives notes that are not errors */
    void *warn_user;
    void (*progress)(void *user, const char *what, size_t done, size_t total); /* may be NULL */
    void *progress_user;
    atomic_bool interrupted; /* by any thread or signal handler: the call under way is to end */
    void *locale; /* of the thread outside of the call under way, which callbacks have: a locale_t (host/call.h) */
    struct nuc_outputs outputs;
    struct nuc_output *written; /* by calls that are over, the last one first (host/file.h) */
    struct nuc_unfinished unfinished;
    struct nuc_obstacles *obstacles; /* what keeps a model from being compiled; NULL: the first of them is an error */
};

/* `allocator` may be NULL: malloc and free. Returns NULL when even the context cannot be allocated. */
struct nuc_context *nuc_context_new(const struct nuc_allocator *allocator);

/* Runs what was deferred, frees all arenas. `cx` may be NULL. */
void nuc_context_free(struct nuc_context *cx);

/*
 * The two ends of what may fail, after setjmp(at->here): it returns 0 at first, and again with another number when
 * something failed. The second gives NUC_OK, or the status of that; then cx->message says why.
 *
 *     struct nuc_catch at;
 *
 *     if (setjmp(at.here) == 0) {
 *         nuc_begin_catch(cx, &at);
 *         ...
 *     }
 *     status = nuc_end_catch(cx, &at);
 */
void nuc_begin_catch(struct nuc_context *cx, struct nuc_catch *at);
enum nuc_status nuc_end_catch(struct nuc_context *cx, struct nuc_catch *at);

/* The same around fn(cx, arg). */
enum nuc_status nuc_try(struct nuc_context *cx, void (*fn)(struct nuc_context *cx, void *arg), void *arg);

/*
 * The same for a question whose answer may be no: whether an operator can be converted, what an option would change.
 * Memory that runs out, a file that cannot be read or written, an error of the NPU driver, a defect of nucleon and an
 * interruption are no answers: they end the nuc_try() around this one, so that nothing is decided by them.
 */
enum nuc_status nuc_attempt(struct nuc_context *cx, void (*fn)(struct nuc_context *cx, void *arg), void *arg);

/* False for the statuses that nuc_attempt() does not return. */
bool nuc_is_answer(enum nuc_status status);

/* Ends the innermost nuc_try() with `status` and a message of one line. */
_Noreturn void nuc_fail(struct nuc_context *cx, enum nuc_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the innermost nuc_try() with the status and message of an earlier failed one. */
_Noreturn void nuc_fail_again(struct nuc_context *cx, enum nuc_status status);

/* The same unless it is NUC_OK: of a public call inside of another. */
void nuc_check(struct nuc_context *cx, enum nuc_status status);

/* A note for the user that does not stop the work. */
void nuc_warn(struct nuc_context *cx, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * How far a step is: `done` of `total` parts, 0 of 0 when it begins and nobody knows. By one thread. Here, and where
 * memory is taken from the system, a call that was interrupted ends with NUC_INTERRUPTED.
 */
void nuc_progress(struct nuc_context *cx, const char *what, size_t done, size_t total);

/* Zeroed memory aligned to 64 bytes for sizes of 64 and more, else to 16; never NULL; lives as long as cx->arena. */
void *nuc_alloc(struct nuc_context *cx, size_t size);

/* The same for count * size bytes; fails with NUC_NO_MEMORY when the product overflows. */
void *nuc_alloc_array(struct nuc_context *cx, size_t count, size_t size);

/*
 * Grows an array held in an arena: returns it unchanged when *capacity >= needed, else a larger copy in cx->arena. The
 * old copy is given back; growth is geometric. Element size in bytes.
 */
void *nuc_grow(struct nuc_context *cx, void *array, size_t *capacity, size_t needed, size_t element_size);

/*
 * Gives a block of `size` bytes back that nobody reads any more: a large one at once, the memory of smaller ones stays
 * their arena's. It is in cx->arena or one around it, or stays as it is in a sub-arena that was left. NULL with a size
 * of 0 does nothing.
 */
void nuc_give_back(struct nuc_context *cx, const void *block, size_t size);

/* The beginning of a block of cx->allocator, whose rest is free. */
void *nuc_shrink(struct nuc_context *cx, void *block, size_t size);

void *nuc_copy(struct nuc_context *cx, const void *data, size_t size);

/* In an arena around the current one: what is to stay of a scratch arena. The second is a copy. */
void *nuc_alloc_in(struct nuc_context *cx, struct nuc_arena *outer, size_t size);
void *nuc_copy_out(struct nuc_context *cx, struct nuc_arena *outer, const void *data, size_t size);

/* Not cleared: for what is written whole before it is read. */
void *nuc_alloc_unset(struct nuc_context *cx, struct nuc_arena *arena, size_t size);

char *nuc_strdup(struct nuc_context *cx, const char *text);

/* A copy in an arena around the current one; NULL of NULL. */
char *nuc_strdup_out(struct nuc_context *cx, struct nuc_arena *outer, const char *text);
char *nuc_format(struct nuc_context *cx, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Calls release(object) when the current arena is freed, in reverse order of registration. */
void nuc_defer(struct nuc_context *cx, void (*release)(void *object), void *object);

/*
 * A scratch arena: until nuc_pop_arena(), nuc_alloc() takes from a new arena, which nuc_pop_arena() frees. When
 * nuc_fail() leaves in between, nuc_try() pops.
 *
 *     struct nuc_arena *outer = nuc_push_arena(cx);
 *     ...
 *     nuc_pop_arena(cx, outer);
 */
struct nuc_arena *nuc_push_arena(struct nuc_context *cx);

void nuc_pop_arena(struct nuc_context *cx, struct nuc_arena *outer);

/*
 * A sub-arena, for memory that is freed earlier than what is allocated before and after it: nuc_alloc() takes from it
 * until nuc_leave_sub_arena(). It is freed by nuc_free_sub_arena(), at the latest with the arena that was current when
 * it was made.
 *
 *     struct nuc_sub_arena *sub = nuc_enter_sub_arena(cx);
 *     ...
 *     nuc_leave_sub_arena(cx, sub);
 */
struct nuc_sub_arena;
struct nuc_sub_arena *nuc_enter_sub_arena(struct nuc_context *cx);
void nuc_leave_sub_arena(struct nuc_context *cx, struct nuc_sub_arena *sub);

/* Where nuc_alloc_in() allocates in a sub-arena that was left, and is not freed. */
struct nuc_arena *nuc_memory_of(const struct nuc_sub_arena *sub);

/* `sub` may be NULL. A sub-arena is freed once. */
void nuc_free_sub_arena(struct nuc_sub_arena *sub);

#endif
