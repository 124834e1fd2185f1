/* Trials of options on the digits network: what is held, limits, and memory that runs out. */
#include "failing_memory.h"

#include "nucleon/tune.h"

#define MODEL NUCLEON_EXAMPLES "/digits/digits.pt2"
#define SAMPLES NUCLEON_EXAMPLES "/digits/calibration.npz"

/* Trials differ in what they are called with, not in how long each searches. */
static struct nuc_options fast_options(void)
{
    struct nuc_options o;

    nuc_options_default(&o);
    o.accuracy = NUC_ACCURACY_FAST;
    return o;
}

static struct nuc_tune_result tune(struct nuc_compiler *c, const struct nuc_tune_options *o)
{
    struct nuc_tune_result r = {.n_trials = 0};
    struct nuc_model *m;

    assert_non_null(c);
    assert_int_equal(nuc_model_open(c, MODEL, &m), NUC_OK);
    assert_int_equal(nuc_tune(m, SAMPLES, o, &r), NUC_OK);
    assert_true(r.n_trials > 1);
    return r;
}

static bool any_varies(const struct nuc_tune_result *r, size_t offset, size_t size)
{
    for (size_t i = 1; i < r->n_trials; i++) {
        const char *a = (const char *)&r->trials[0].options, *b = (const char *)&r->trials[i].options;
        if (memcmp(a + offset, b + offset, size) != 0)
            return true;
    }
    return false;
}

#define VALUE(option) offsetof(struct nuc_options, option), sizeof((struct nuc_options *)0)->option

static void what_is_held_stays(void **state)
{
    static const char *const held[] = {"--observer", "--no-bias-correction"};
    struct nuc_tune_options o = {.goal = NUC_GOAL_SQNR};
    struct nuc_options fast = fast_options();
    struct nuc_compiler *c = nuc_compiler_new(&fast, NULL);

    struct nuc_tune_result all = tune(c, &o);
    assert_true(any_varies(&all, VALUE(observer)));
    assert_true(any_varies(&all, VALUE(bias_correction)));
    assert_false(any_varies(&all, VALUE(dim_order)));
    o.held = held;
    o.n_held = 2;
    struct nuc_tune_result some = tune(c, &o);
    assert_false(any_varies(&some, VALUE(observer)));
    assert_false(any_varies(&some, VALUE(bias_correction)));
    assert_true(any_varies(&some, VALUE(weights)));
    nuc_compiler_free(c);
}

static void the_best_keeps_the_limits(void **state)
{
    struct nuc_tune_options o = {.goal = NUC_GOAL_SQNR};
    struct nuc_options options = fast_options();
    struct nuc_compiler *c = nuc_compiler_new(&options, NULL);
    struct nuc_tune_result free_choice = tune(c, &o);
    assert_true(free_choice.best < free_choice.n_trials);
    assert_null(free_choice.unmet);
    for (size_t i = 0; i < free_choice.n_trials; i++)
        assert_true(free_choice.trials[i].sqnr <= free_choice.trials[free_choice.best].sqnr + 0.5);
    assert_true(free_choice.trials[free_choice.best].unrivalled);
    for (size_t i = 0; i < free_choice.n_trials; i++) {
        const struct nuc_tune_trial *a = &free_choice.trials[i], *b = &free_choice.trials[free_choice.best];
        bool gains = a->sqnr >= b->sqnr + 0.1 || (double)a->cycles <= 0.99 * (double)b->cycles ||
                     (double)a->memory <= 0.99 * (double)b->memory;
        assert_true(i == free_choice.best || gains || !a->unrivalled);
    }
    options.memory_budget = free_choice.trials[0].memory - 1;
    struct nuc_compiler *small = nuc_compiler_new(&options, NULL);
    struct nuc_tune_result limited = tune(small, &o);
    assert_true(limited.best < limited.n_trials);
    assert_true(limited.trials[limited.best].memory <= options.memory_budget);
    assert_non_null(limited.trials[0].reason);
    assert_false(limited.trials[0].unrivalled);
    nuc_compiler_free(small);
    nuc_compiler_free(c);
}

/* A goal that is not SQNR is not bought with it. */
static void nothing_keeps_impossible_limits(void **state)
{
    struct nuc_tune_options o = {.goal = NUC_GOAL_MEMORY, .has_min_sqnr = true, .min_sqnr = 200};
    struct nuc_options fast = fast_options();
    struct nuc_compiler *c = nuc_compiler_new(&fast, NULL);
    struct nuc_tune_result r = tune(c, &o);

    assert_int_equal(r.best, r.n_trials);
    assert_non_null(r.unmet);
    for (size_t i = 0; i < r.n_trials; i++)
        assert_non_null(r.trials[i].reason);
    nuc_compiler_free(c);
}

struct attempt {
    struct nuc_options options;
};

static enum nuc_status tune_digits(struct failing_memory *m, void *arg)
{
    static const char *const held[] = {"--observer", "--no-bias-correction", "--accuracy"};
    const struct nuc_tune_options o = {.goal = NUC_GOAL_SQNR, .held = held, .n_held = 3};
    const struct attempt *a = arg;
    struct nuc_memory_hooks hooks = {failing_allocate, m};
    struct nuc_compiler *c = nuc_compiler_new(&a->options, &hooks);
    struct nuc_tune_result r;
    struct nuc_model *model;

    if (c == NULL)
        return NUC_NO_MEMORY;
    enum nuc_status status = nuc_model_open(c, MODEL, &model);
    if (status == NUC_OK)
        status = nuc_tune(model, SAMPLES, &o, &r);
    nuc_compiler_free(c);
    return status;
}

/* In the first trial as in the second: that is no row of the table. */
static void memory_may_run_out_in_any_trial(void **state)
{
    struct attempt a = {fast_options()};

    a.options.threads = 1;
    run_short_of_memory(tune_digits, &a, 39, NUC_OK);
}

RUN_TESTS(cmocka_unit_test(what_is_held_stays), cmocka_unit_test(the_best_keeps_the_limits),
          cmocka_unit_test(nothing_keeps_impossible_limits), cmocka_unit_test(memory_may_run_out_in_any_trial))
