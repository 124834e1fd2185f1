/* The memory planner: no two ranges live at once share bytes, and plans are as small as they can be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/program/memory_plan.h"

#define MOST 12

struct row {
    const char *what;
    size_t n;
    struct nuc_live_range ranges[MOST];
    size_t bound; /* by hand */
    size_t size;  /* the best there is, by hand */
};

static const struct row rows[] = {
    {"nothing", 0, {{0, 0, 0}}, 0, 0},
    {"one range is rounded up", 1, {{0, 3, 17}}, 32, 32},
    {"a chain alternates between two places", 4, {{0, 1, 64}, {1, 2, 32}, {2, 3, 64}, {3, 4, 32}}, 96, 96},
    {"ranges of no bytes take no place", 3, {{0, 9, 0}, {0, 9, 16}, {2, 2, 0}}, 16, 16},
    {"apart in time", 3, {{0, 0, 48}, {1, 1, 160}, {2, 2, 16}}, 160, 160},
    {"a long-lived range lies below or above", 4, {{0, 4, 16}, {0, 1, 96}, {2, 3, 64}, {4, 4, 96}}, 112, 112},
    /* Larger first puts 4, 0, 2, 3, 1 on each other and needs 352. */
    {"order by size alone is not enough", 5, {{0, 1, 96}, {1, 2, 64}, {0, 2, 96}, {2, 3, 96}, {3, 4, 160}}, 256, 256},
    /* CifarNet's shape: input, six feature maps, logits. */
    {"a small network",
     8,
     {{0, 1, 12288}, {1, 2, 3072}, {2, 3, 32768}, {3, 4, 8192}, {4, 5, 8192}, {5, 6, 2048}, {6, 7, 4096}, {7, 8, 16}},
     40960,
     40960},
};

static void check(const struct nuc_live_range *ranges, size_t n, const struct nuc_memory_plan *plan)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(plan->offsets[i] % 16, 0);
        assert_true(plan->offsets[i] + ranges[i].bytes <= plan->size);
        for (size_t k = 0; k < i; k++) {
            bool at_once = ranges[i].first <= ranges[k].last && ranges[k].first <= ranges[i].last;
            bool apart = plan->offsets[i] + ranges[i].bytes <= plan->offsets[k] ||
                         plan->offsets[k] + ranges[k].bytes <= plan->offsets[i];
            assert_true(!at_once || apart || ranges[i].bytes == 0 || ranges[k].bytes == 0);
        }
    }
}

static void plan_rows(struct nuc_context *cx, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nuc_memory_plan plan = nuc_plan_memory(cx, rows[i].ranges, rows[i].n, 16);
        check(rows[i].ranges, rows[i].n, &plan);
        if (plan.lower_bound != rows[i].bound || plan.size != rows[i].size)
            fail_msg("%s: bound %zu, size %zu", rows[i].what, plan.lower_bound, plan.size);
    }
}

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Random sets: valid, never below the bound, the same twice. */
static void plan_random(struct nuc_context *cx, void *arg)
{
    uint32_t state = 7;
    struct nuc_live_range ranges[60];

    (void)arg;
    for (int round = 0; round < 200; round++) {
        size_t n = 1 + next(&state) % 60;
        for (size_t i = 0; i < n; i++) {
            ranges[i].first = next(&state) % 40;
            ranges[i].last = ranges[i].first + next(&state) % 8;
            ranges[i].bytes = next(&state) % 5000;
        }
        struct nuc_memory_plan a = nuc_plan_memory(cx, ranges, n, 16);
        struct nuc_memory_plan b = nuc_plan_memory(cx, ranges, n, 16);
        check(ranges, n, &a);
        assert_true(a.size >= a.lower_bound);
        assert_true(a.size <= 2 * a.lower_bound);
        assert_memory_equal(a.offsets, b.offsets, n * sizeof *a.offsets);
    }
}

static void plan_too_much(struct nuc_context *cx, void *arg)
{
    const struct nuc_live_range ranges[] = {{0, 1, SIZE_MAX / 2}};

    (void)arg;
    nuc_plan_memory(cx, ranges, 1, 16);
}

static void run(void (*fn)(struct nuc_context *, void *), enum nuc_status expected)
{
    struct nuc_context *cx = nuc_context_new(NULL);

    assert_int_equal(nuc_try(cx, fn, NULL), expected);
    nuc_context_free(cx);
}

static void test_rows(void **state)
{
    (void)state;
    run(plan_rows, NUC_OK);
}

static void test_random(void **state)
{
    (void)state;
    run(plan_random, NUC_OK);
}

static void test_overflow(void **state)
{
    (void)state;
    run(plan_too_much, NUC_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
