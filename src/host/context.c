#include "host/context.h"

#include <assert.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "host/clones.h"

#define CHUNK_SIZE ((size_t)64 * 1024)
#define FIRST_CHUNK ((size_t)2 * 1024) /* many arenas hold little: those of small graphs and of trials */
#define BIG_ALIGNMENT ((size_t)64)
#define FIRST_GROWN ((size_t)64) /* bytes of an array that grows: most of the short ones of nodes stay short */

struct chunk {
    struct chunk *next;
    size_t size; /* usable bytes after the header */
    size_t used;
    bool zeros; /* what is not given out yet */
};

struct deferred {
    struct deferred *next;
    void (*release)(void *object);
    void *object;
};

/* Arenas form a stack. */
struct nuc_arena {
    struct nuc_arena *outer;
    struct chunk *chunks; /* of many blocks each; the first has the free space */
    struct chunk *large;  /* of one block each, the last made first */
    struct deferred *deferred;
};

static void *default_allocate(void *user, void *block, size_t size)
{
    (void)user;
    if (size == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, size);
}

_Noreturn static void leave(struct nuc_context *cx, enum nuc_status status)
{
    cx->status = status;
    if (cx->on_error == NULL) {
        fprintf(stderr, "nucleon: error outside nuc_try: %s\n", cx->message);
        abort();
    }
    cx->on_error->failed = true;
    longjmp(cx->on_error->here, 1);
}

/* Of a message that is too long, the beginning that is kept; a path is what makes it long, and the cause is at its end.
 */
#define KEPT_HEAD ((size_t)400)

static bool continues_character(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* The middle of what does not fit gives way to dots, so that path and cause are both seen. */
__attribute__((format(printf, 2, 0))) static void format_message(char out[NUC_MESSAGE_SIZE], const char *format,
                                                                 va_list args)
{
    static const char dots[] = " ... ";
    char text[16 * NUC_MESSAGE_SIZE];
    int length = vsnprintf(text, sizeof text, format, args);
    size_t size = length < 0 ? 0 : (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;

    if (size < NUC_MESSAGE_SIZE) {
        memcpy(out, text, size);
        out[size] = '\0';
        return;
    }
    size_t head = KEPT_HEAD, tail = size - (NUC_MESSAGE_SIZE - KEPT_HEAD - sizeof dots);
    while (head > 0 && continues_character(text[head]))
        head--;
    while (tail < size && continues_character(text[tail]))
        tail++;
    memcpy(out, text, head);
    memcpy(out + head, dots, sizeof dots - 1);
    memcpy(out + head + sizeof dots - 1, text + tail, size - tail);
    out[head + sizeof dots - 1 + size - tail] = '\0';
}

/* The arguments may point into cx->message. */
_Noreturn void nuc_fail(struct nuc_context *cx, enum nuc_status status, const char *format, ...)
{
    char text[NUC_MESSAGE_SIZE];
    va_list args;

    va_start(args, format);
    format_message(text, format, args);
    va_end(args);
    strcpy(cx->message, text);
    for (char *p = cx->message; *p != '\0'; p++) {
        if ((unsigned char)*p < ' ')
            *p = ' ';
    }
    leave(cx, status);
}

_Noreturn void nuc_fail_again(struct nuc_context *cx, enum nuc_status status)
{
    leave(cx, status);
}

void nuc_check(struct nuc_context *cx, enum nuc_status status)
{
    if (status != NUC_OK)
        leave(cx, status);
}

static void end_if_interrupted(struct nuc_context *cx)
{
    if (atomic_load_explicit(&cx->interrupted, memory_order_relaxed))
        nuc_fail(cx, NUC_INTERRUPTED, "interrupted");
}

void nuc_progress(struct nuc_context *cx, const char *what, size_t done, size_t total)
{
    if (cx->progress != NULL) {
        const locale_t inner = uselocale(cx->locale);
        cx->progress(cx->progress_user, what, done, total);
        uselocale(inner);
    }
    end_if_interrupted(cx);
}

void nuc_warn(struct nuc_context *cx, const char *format, ...)
{
    char text[NUC_MESSAGE_SIZE];
    va_list args;

    if (cx->warn == NULL)
        return;
    va_start(args, format);
    format_message(text, format, args);
    va_end(args);
    const locale_t inner = uselocale(cx->locale);
    cx->warn(cx->warn_user, text);
    uselocale(inner);
}

_Noreturn static void out_of_memory(struct nuc_context *cx, size_t size)
{
    snprintf(cx->message, sizeof cx->message, "out of memory: %zu bytes could not be allocated", size);
    leave(cx, NUC_NO_MEMORY);
}

/* An allocator of the caller makes and frees blocks, and changes none. */
void *nuc_shrink(struct nuc_context *cx, void *block, size_t size)
{
    const struct nuc_allocator *a = &cx->allocator;

    if (a->allocate == default_allocate) {
        void *smaller = size == 0 ? NULL : realloc(block, size);
        return smaller != NULL ? smaller : block;
    }
    void *smaller = a->allocate(a->user, NULL, size + 1);
    if (smaller == NULL)
        out_of_memory(cx, size);
    memcpy(smaller, block, size);
    a->allocate(a->user, block, 0);
    return smaller;
}

static void *aligned_in(struct chunk *c, size_t size, size_t alignment)
{
    uintptr_t base = (uintptr_t)(c + 1);
    uintptr_t start = (base + c->used + alignment - 1) & ~(uintptr_t)(alignment - 1);

    if (start - base > c->size || size > c->size - (start - base))
        return NULL;
    c->used = start - base + size;
    return (void *)start;
}

#if defined(MADV_HUGEPAGE)
#define HUGE_PAGE ((uintptr_t)2 << 20)

/* One page instead of 512 to be made where it is touched first: those that lie inside of a block, which take no more
 * memory than it. An address between other pages is no harm: the system then refuses. */
static void ask_for_huge_pages(void *block, size_t size)
{
    uintptr_t begin = ((uintptr_t)block + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    uintptr_t end = ((uintptr_t)block + size) & ~(HUGE_PAGE - 1);

    if (begin < end)
        madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}
#else
static void ask_for_huge_pages(void *block, size_t size)
{
    (void)block;
    (void)size;
}
#endif

static struct chunk *add_chunk(struct nuc_context *cx, struct chunk **list, size_t usable, bool large, bool zeros)
{
    end_if_interrupted(cx);
    if (usable > SIZE_MAX - sizeof(struct chunk))
        out_of_memory(cx, usable);
    const size_t size = sizeof(struct chunk) + usable;
    struct chunk *c = zeros ? calloc(1, size) : cx->allocator.allocate(cx->allocator.user, NULL, size);
    if (c == NULL)
        out_of_memory(cx, usable);
    if (large && cx->allocator.allocate == default_allocate)
        ask_for_huge_pages(c, size);
    *c = (struct chunk){.next = *list, .size = usable, .zeros = zeros};
    *list = c;
    return c;
}

/* Fresh pages of the system's are zeros, which no one has to touch before they are needed. */
static struct chunk *add_large(struct nuc_context *cx, struct nuc_arena *arena, size_t size, bool zeros)
{
    if (size > SIZE_MAX - BIG_ALIGNMENT)
        out_of_memory(cx, size);
    return add_chunk(cx, &arena->large, size + BIG_ALIGNMENT, true,
                     zeros && cx->allocator.allocate == default_allocate);
}

/* Each chunk of an arena is twice as large as the one before. */
static size_t size_of_next_chunk(const struct nuc_arena *arena, size_t block)
{
    size_t size = arena->chunks == NULL ? FIRST_CHUNK : 2 * arena->chunks->size;

    size = size < block ? block : size;
    return (size < CHUNK_SIZE ? size : CHUNK_SIZE) + BIG_ALIGNMENT;
}

static void *alloc_in(struct nuc_context *cx, struct nuc_arena *arena, size_t size, bool zeros)
{
    size_t alignment = size >= BIG_ALIGNMENT ? BIG_ALIGNMENT : 16;
    struct chunk *from = size >= CHUNK_SIZE ? add_large(cx, arena, size, zeros) : arena->chunks;
    void *block = from == NULL ? NULL : aligned_in(from, size, alignment);

    if (block == NULL) {
        from = add_chunk(cx, &arena->chunks, size_of_next_chunk(arena, size), false, false);
        block = aligned_in(from, size, alignment);
    }
    if (zeros && !from->zeros) /* no part of a chunk is given out twice */
        memset(block, 0, size);
    return block;
}

void *nuc_alloc_in(struct nuc_context *cx, struct nuc_arena *arena, size_t size)
{
    return alloc_in(cx, arena, size, true);
}

void *nuc_alloc_unset(struct nuc_context *cx, struct nuc_arena *arena, size_t size)
{
    return alloc_in(cx, arena, size, false);
}

/* Where the list names the chunk of one block that begins there; NULL: none of it does. */
static struct chunk **find_large(struct chunk **list, const void *block)
{
    for (; *list != NULL; list = &(*list)->next) {
        if ((uintptr_t)(*list + 1) <= (uintptr_t)block && (uintptr_t)block < (uintptr_t)(*list + 1) + BIG_ALIGNMENT)
            return list;
    }
    return NULL;
}

void nuc_give_back(struct nuc_context *cx, const void *block, size_t size)
{
    struct chunk **at = NULL;

    for (struct nuc_arena *a = size < CHUNK_SIZE ? NULL : cx->arena; a != NULL && at == NULL; a = a->outer)
        at = find_large(&a->large, block);
    if (at == NULL)
        return;
    struct chunk *c = *at;
    *at = c->next;
    cx->allocator.allocate(cx->allocator.user, c, 0);
}

void *nuc_alloc(struct nuc_context *cx, size_t size)
{
    return nuc_alloc_in(cx, cx->arena, size);
}

void *nuc_alloc_array(struct nuc_context *cx, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        out_of_memory(cx, SIZE_MAX);
    return nuc_alloc(cx, bytes);
}

void *nuc_grow(struct nuc_context *cx, void *array, size_t *capacity, size_t needed, size_t element_size)
{
    if (needed <= *capacity)
        return array;
    size_t larger = *capacity > 0 ? *capacity * 2 : 8;
    while (*capacity == 0 && larger > 1 && larger * element_size > FIRST_GROWN)
        larger /= 2;
    if (larger < needed)
        larger = needed;
    void *copy = nuc_alloc_array(cx, larger, element_size);
    if (*capacity != 0)
        memcpy(copy, array, *capacity * element_size);
    nuc_give_back(cx, array, *capacity * element_size);
    *capacity = larger;
    return copy;
}

void *nuc_copy_out(struct nuc_context *cx, struct nuc_arena *outer, const void *data, size_t size)
{
    void *copy = nuc_alloc_unset(cx, outer, size);

    if (size != 0)
        memcpy(copy, data, size);
    return copy;
}

void *nuc_copy(struct nuc_context *cx, const void *data, size_t size)
{
    return nuc_copy_out(cx, cx->arena, data, size);
}

char *nuc_strdup_out(struct nuc_context *cx, struct nuc_arena *outer, const char *text)
{
    return text == NULL ? NULL : nuc_copy_out(cx, outer, text, strlen(text) + 1);
}

char *nuc_strdup(struct nuc_context *cx, const char *text)
{
    return nuc_copy(cx, text, strlen(text) + 1);
}

char *nuc_format(struct nuc_context *cx, const char *format, ...)
{
    char most[256]; /* are shorter, and formatted once */
    va_list args;

    va_start(args, format);
    int length = vsnprintf(most, sizeof most, format, args);
    va_end(args);
    if (length < 0)
        nuc_fail(cx, NUC_INTERNAL, "a message could not be formatted");
    if ((size_t)length < sizeof most)
        return nuc_copy(cx, most, (size_t)length + 1);
    char *text = nuc_alloc(cx, (size_t)length + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

void nuc_defer(struct nuc_context *cx, void (*release)(void *object), void *object)
{
    struct deferred *d = nuc_alloc(cx, sizeof *d);

    assert(release != NULL);
    *d = (struct deferred){cx->arena->deferred, release, object};
    cx->arena->deferred = d;
}

static void free_chunks(struct nuc_context *cx, struct chunk *list)
{
    struct chunk *next;

    for (struct chunk *c = list; c != NULL; c = next) {
        next = c->next;
        cx->allocator.allocate(cx->allocator.user, c, 0);
    }
}

static void free_arena(struct nuc_context *cx, struct nuc_arena *arena)
{
    for (struct deferred *d = arena->deferred; d != NULL; d = d->next)
        d->release(d->object);
    free_chunks(cx, arena->chunks);
    free_chunks(cx, arena->large);
    cx->allocator.allocate(cx->allocator.user, arena, 0);
}

struct nuc_arena *nuc_push_arena(struct nuc_context *cx)
{
    struct nuc_arena *outer = cx->arena;
    struct nuc_arena *arena = cx->allocator.allocate(cx->allocator.user, NULL, sizeof *arena);

    if (arena == NULL)
        out_of_memory(cx, sizeof *arena);
    *arena = (struct nuc_arena){.outer = outer};
    cx->arena = arena;
    return outer;
}

void nuc_pop_arena(struct nuc_context *cx, struct nuc_arena *outer)
{
    while (cx->arena != outer) {
        struct nuc_arena *inner = cx->arena;
        assert(inner != NULL); /* `outer` is on the stack of arenas */
        cx->arena = inner->outer;
        free_arena(cx, inner);
    }
}

struct nuc_sub_arena {
    struct nuc_context *cx;
    struct nuc_arena *outer, *arena; /* arena NULL: on the stack of arenas, or freed */
};

static void release_sub_arena(void *object)
{
    struct nuc_sub_arena *sub = object;

    if (sub->arena != NULL)
        free_arena(sub->cx, sub->arena);
    sub->arena = NULL;
}

struct nuc_sub_arena *nuc_enter_sub_arena(struct nuc_context *cx)
{
    struct nuc_sub_arena *sub = nuc_alloc(cx, sizeof *sub);

    *sub = (struct nuc_sub_arena){cx, NULL, NULL};
    nuc_defer(cx, release_sub_arena, sub);
    sub->outer = nuc_push_arena(cx);
    return sub;
}

void nuc_leave_sub_arena(struct nuc_context *cx, struct nuc_sub_arena *sub)
{
    /* Scratch arenas that were pushed since are popped, and a sub-arena is left once. */
    assert(sub->arena == NULL && cx->arena->outer == sub->outer);
    sub->arena = cx->arena;
    cx->arena = sub->outer;
}

struct nuc_arena *nuc_memory_of(const struct nuc_sub_arena *sub)
{
    assert(sub->arena != NULL);
    return sub->arena;
}

void nuc_free_sub_arena(struct nuc_sub_arena *sub)
{
    if (sub != NULL)
        release_sub_arena(sub);
}

struct nuc_context *nuc_context_new(const struct nuc_allocator *allocator)
{
    struct nuc_allocator a = allocator != NULL ? *allocator : (struct nuc_allocator){default_allocate, NULL};
    struct nuc_context *cx = a.allocate(a.user, NULL, sizeof *cx);
    struct nuc_arena *arena = cx == NULL ? NULL : a.allocate(a.user, NULL, sizeof *arena);

    if (arena == NULL) {
        if (cx != NULL)
            a.allocate(a.user, cx, 0);
        return NULL;
    }
    *arena = (struct nuc_arena){.outer = NULL};
    memset(cx, 0, sizeof *cx);
    cx->allocator = a;
    cx->arena = arena;
    return cx;
}

void nuc_context_free(struct nuc_context *cx)
{
    if (cx == NULL)
        return;
    nuc_pop_arena(cx, NULL);
    cx->allocator.allocate(cx->allocator.user, cx, 0);
}

void nuc_begin_catch(struct nuc_context *cx, struct nuc_catch *at)
{
    at->outer = cx->on_error;
    at->arena = cx->arena;
    at->failed = false;
    cx->on_error = at;
}

enum nuc_status nuc_end_catch(struct nuc_context *cx, struct nuc_catch *at)
{
    cx->on_error = at->outer;
    if (!at->failed)
        return NUC_OK;
    nuc_pop_arena(cx, at->arena);
    return cx->status;
}

enum nuc_status nuc_try(struct nuc_context *cx, void (*fn)(struct nuc_context *cx, void *arg), void *arg)
{
    struct nuc_catch at;

    if (setjmp(at.here) == 0) {
        nuc_begin_catch(cx, &at);
        fn(cx, arg);
    }
    return nuc_end_catch(cx, &at);
}

bool nuc_is_answer(enum nuc_status status)
{
    return status != NUC_NO_MEMORY && status != NUC_IO && status != NUC_DEVICE && status != NUC_INTERNAL &&
           status != NUC_INTERRUPTED;
}

enum nuc_status nuc_attempt(struct nuc_context *cx, void (*fn)(struct nuc_context *cx, void *arg), void *arg)
{
    enum nuc_status status = nuc_try(cx, fn, arg);

    if (!nuc_is_answer(status))
        nuc_fail_again(cx, status);
    return status;
}
