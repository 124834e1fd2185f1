/* Context, arenas, files: ownership, failure at every allocation, atomic writes. */
#include "contexts.h"

#include "failing_memory.h"

#include <pthread.h>
#include <sys/stat.h>

#include "host/file.h"
#include "host/index.h"
#include "host/process.h"
#include "host/text.h"

static void release_flag(void *object)
{
    *(int *)object += 1;
}

static void use_arenas(struct nuc_context *cx, void *arg)
{
    int *released = arg;

    nuc_defer(cx, release_flag, released);
    struct nuc_arena *outer = nuc_push_arena(cx);
    nuc_defer(cx, release_flag, released);
    uint8_t *big = nuc_alloc(cx, 1 << 20);
    assert_int_equal((uintptr_t)big % 64, 0);
    for (int i = 0; i < 1 << 20; i += 4096)
        assert_int_equal(big[i], 0);
    nuc_pop_arena(cx, outer);
    struct nuc_sub_arena *sub = nuc_enter_sub_arena(cx);
    nuc_alloc(cx, 1 << 16);
    nuc_leave_sub_arena(cx, sub);
    nuc_alloc(cx, 1 << 16);
    nuc_free_sub_arena(sub);
    struct nuc_text text = {.cx = cx};
    for (int i = 0; i < 2000; i++)
        nuc_text_addf(&text, "%d,", i);
    assert_int_equal(strlen(nuc_text_string(&text)), text.length);
}

static enum nuc_status try_arenas(struct failing_memory *m, void *arg)
{
    int released = 0;
    struct context_call call = {use_arenas, &released};
    enum nuc_status status = attempt_call(m, &call);

    assert_true(status != NUC_OK || released == 2);
    return status;
}

/* What is held outside of memory is registered before it is acquired, wherever a chunk of the arena ends. */
static void acquire(struct nuc_context *cx, void *arg)
{
    nuc_alloc(cx, 65000);
    for (int i = 0; i < *(int *)arg; i++)
        nuc_alloc(cx, 16);
    nuc_read_file(cx, "/proc/self/exe");
    nuc_temporary_folder(cx);
}

static void every_allocation_may_fail(void **state)
{
    assert_true(run_out_of_memory(try_arenas, NULL, 0, NUC_OK) > 4);
    for (int small = 0; small < 40; small++)
        assert_true(run_call_out_of_memory(acquire, &small) > 1);
}

static void fail_inside(struct nuc_context *cx, void *arg)
{
    nuc_push_arena(cx);
    nuc_defer(cx, release_flag, arg);
    nuc_fail(cx, NUC_BAD_INPUT, "model.pt2: line one\nline two: %d", 7);
}

struct sub_arenas {
    struct nuc_sub_arena *arenas[3];
    int released[3];
};

static void fill_sub_arenas(struct nuc_context *cx, void *arg)
{
    struct sub_arenas *r = arg;

    for (int i = 0; i < 3; i++) {
        struct nuc_arena *outer = cx->arena;
        r->arenas[i] = nuc_enter_sub_arena(cx);
        nuc_defer(cx, release_flag, &r->released[i]);
        if (i == 2)
            nuc_fail(cx, NUC_BAD_INPUT, "inside");
        nuc_leave_sub_arena(cx, r->arenas[i]);
        assert_ptr_equal(cx->arena, outer);
    }
}

/* Each is freed once: by name, with the context, or by the failure that leaves it. */
static void sub_arenas_are_freed_once(void **state)
{
    struct nuc_context *cx = nuc_context_new(NULL);
    const struct nuc_arena *root = cx->arena;
    struct sub_arenas r = {.released = {0}};

    assert_int_equal(nuc_try(cx, fill_sub_arenas, &r), NUC_BAD_INPUT);
    assert_int_equal(r.released[2], 1);
    assert_int_equal(r.released[0], 0);
    assert_ptr_equal(cx->arena, root);
    nuc_free_sub_arena(r.arenas[0]);
    nuc_free_sub_arena(NULL);
    assert_int_equal(r.released[0], 1);
    nuc_context_free(cx);
    for (int i = 0; i < 3; i++)
        assert_int_equal(r.released[i], 1);
}

static void failure_pops_and_is_one_line(void **state)
{
    struct nuc_context *cx = *state;
    const struct nuc_arena *root = cx->arena;
    int released = 0;

    assert_int_equal(nuc_try(cx, fail_inside, &released), NUC_BAD_INPUT);
    assert_int_equal(released, 1);
    assert_string_equal(cx->message, "model.pt2: line one line two: 7");
    assert_ptr_equal(cx->arena, root);
}

/* Elements keep their values, in an arena pushed since too; of the large blocks only the last stays. */
static void grown_arrays_hold_one_block(void **state)
{
    struct failing_memory m = {.allowed = LONG_MAX};
    struct nuc_context *cx = nuc_context_new(&(struct nuc_allocator){failing_allocate, &m});
    size_t capacity = 0;
    long blocks = 0; /* context, arena, its chunks of small blocks, the array */
    uint32_t *array = NULL;

    for (uint32_t i = 0; i < 1 << 20; i++) {
        array = nuc_grow(cx, array, &capacity, (size_t)i + 1, sizeof *array);
        array[i] = i;
        if (i == 1 << 16)
            blocks = m.live;
    }
    assert_int_equal(m.live, blocks);
    struct nuc_arena *outer = nuc_push_arena(cx);
    uint32_t *inner = nuc_grow(cx, array, &capacity, capacity + 1, sizeof *array);
    assert_int_equal(m.live, blocks + 1); /* the other arena */
    for (uint32_t i = 0; i < 1 << 20; i++)
        assert_int_equal(inner[i], i);
    nuc_pop_arena(cx, outer);
    assert_int_equal(m.live, blocks - 1);
    nuc_context_free(cx);
    assert_int_equal(m.live, 0);
}

static void fail_with_long_path(struct nuc_context *cx, void *arg)
{
    nuc_fail(cx, NUC_BAD_INPUT, "%s/model.pt2: the cause", (const char *)arg);
}

/* A path of any length leaves room for what is wrong; no character of it is torn apart. */
static void long_messages_keep_their_end(void **state)
{
    struct nuc_context *cx = *state;

    for (size_t length = 900; length < 4096; length++) {
        char *path = nuc_alloc(cx, length + 4);
        for (size_t i = 0; i < length; i += 3)
            memcpy(path + i, "\xe2\x82\xac", 3); /* the euro sign */
        assert_int_equal(nuc_try(cx, fail_with_long_path, path), NUC_BAD_INPUT);
        size_t end = strlen(cx->message);
        assert_true(end < NUC_MESSAGE_SIZE);
        assert_string_equal(cx->message + end - 21, "/model.pt2: the cause");
        for (const char *p = cx->message; (p = strchr(p, '\xe2')) != NULL; p += 3)
            assert_memory_equal(p, "\xe2\x82\xac", 3);
        assert_memory_equal(cx->message, "\xe2\x82\xac", 3);
    }
}

struct file_case {
    const char *path;
    struct nuc_span bytes;
    struct nuc_span read;
};

static void write_case(struct nuc_context *cx, void *arg)
{
    const struct file_case *c = arg;

    nuc_write_file(cx, c->path, c->bytes);
}

static void read_case(struct nuc_context *cx, void *arg)
{
    struct file_case *c = arg;

    c->read = nuc_read_file(cx, c->path);
}

static void files_are_written_whole(void **state)
{
    char folder[] = "/tmp/nucleon-test-XXXXXX";
    struct nuc_context *cx = *state;

    assert_non_null(mkdtemp(folder));
    struct file_case c = {nuc_format(cx, "%s/a.bin", folder), {(const uint8_t *)"hello", 5}, {NULL, 0}};
    assert_int_equal(nuc_try(cx, write_case, &c), NUC_OK);
    c.bytes = (struct nuc_span){(const uint8_t *)"hi", 2};
    assert_int_equal(nuc_try(cx, write_case, &c), NUC_OK);
    assert_int_equal(nuc_try(cx, read_case, &c), NUC_OK);
    assert_int_equal(c.read.size, 2);
    assert_memory_equal(c.read.data, "hi", 2);
    struct file_case missing = {nuc_format(cx, "%s/none/b.bin", folder), {NULL, 0}, {NULL, 0}};
    assert_int_equal(nuc_try(cx, write_case, &missing), NUC_IO);
    assert_non_null(strstr(cx->message, "none/b.bin: cannot be written"));
    assert_int_equal(nuc_try(cx, read_case, &missing), NUC_IO);
    struct file_case is_folder = {folder, {NULL, 0}, {NULL, 0}};
    assert_int_equal(nuc_try(cx, read_case, &is_folder), NUC_IO);
    assert_int_equal(nuc_try(cx, write_case, &is_folder), NUC_IO);
    unlink(c.path);
    assert_int_equal(rmdir(folder), 0); /* no temporary file is left */
}

static void *wait_for(void *mutex)
{
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return NULL;
}

static void threads_are_seen(void **state)
{
    pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;

    assert_true(nuc_has_one_thread());
    pthread_mutex_lock(&held);
    assert_int_equal(pthread_create(&thread, NULL, wait_for, &held), 0);
    assert_false(nuc_has_one_thread());
    pthread_mutex_unlock(&held);
    pthread_join(thread, NULL);
    assert_true(nuc_has_one_thread());
}

/* Every place of a hash comes, first the one that was added first, and no other; neighbours have slots side by side. */
static void places_are_found_by_hash(void **state)
{
    struct nuc_context *cx = nuc_context_new(NULL);
    struct nuc_index x = {.slots = NULL};
    char text[16];

    (void)state;
    struct nuc_index_search none = nuc_index_search(&x, nuc_index_text("conv_0"));
    assert_false(nuc_index_next(&none));
    for (uint32_t i = 0; i < 5000; i++) {
        snprintf(text, sizeof text, "conv_%u", i % 4000);
        nuc_index_add(cx, &x, nuc_index_text(text), i);
    }
    for (uint32_t i = 0; i < 6000; i++) {
        snprintf(text, sizeof text, "conv_%u", i);
        assert_int_equal(nuc_index_text(text),
                         nuc_index_characters(nuc_index_text("conv_"), text + 5, strlen(text + 5)));
        struct nuc_index_search s = nuc_index_search(&x, nuc_index_text(text));
        for (uint32_t place = i; place < 5000 && i < 4000; place += 4000) {
            assert_true(nuc_index_next(&s));
            assert_int_equal(s.place, place);
        }
        assert_false(nuc_index_next(&s));
    }
    for (uint32_t i = 0; i < 4000; i++) {
        snprintf(text, sizeof text, "conv_%u", i);
        uint32_t slot = nuc_index_search(&x, nuc_index_text(text)).at;
        text[strlen(text) - 1] = '0';
        assert_int_equal(nuc_index_search(&x, nuc_index_text(text)).at / 16, slot / 16);
    }
    nuc_index_free(cx, &x);
    nuc_index_add(cx, &x, nuc_index_number(7), 1);
    struct nuc_index_search again = nuc_index_search(&x, nuc_index_number(7));
    assert_true(nuc_index_next(&again) && again.place == 1);
    nuc_context_free(cx);
}

/* Also those of a hash whose slots go on at the other end of the table when it grows. */
static void places_of_one_hash_keep_their_order(void **state)
{
    struct nuc_context *cx = nuc_context_new(NULL);

    (void)state;
    for (uint32_t number = 0; number < 256; number++) {
        struct nuc_index x = {.slots = NULL};
        for (uint32_t i = 0; i < 100; i++)
            nuc_index_add(cx, &x, nuc_index_number(number), i);
        struct nuc_index_search s = nuc_index_search(&x, nuc_index_number(number));
        for (uint32_t i = 0; i < 100; i++) {
            assert_true(nuc_index_next(&s));
            assert_int_equal(s.place, i);
        }
        assert_false(nuc_index_next(&s));
        nuc_index_free(cx, &x);
    }
    nuc_context_free(cx);
}

RUN_TESTS(cmocka_unit_test(every_allocation_may_fail), STATE_TEST(failure_pops_and_is_one_line),
          STATE_TEST(long_messages_keep_their_end), cmocka_unit_test(sub_arenas_are_freed_once),
          STATE_TEST(files_are_written_whole), cmocka_unit_test(grown_arrays_hold_one_block),
          cmocka_unit_test(threads_are_seen), cmocka_unit_test(places_are_found_by_hash),
          cmocka_unit_test(places_of_one_hash_keep_their_order))
