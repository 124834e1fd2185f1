/* What samples that are held out choose at each accuracy: programs gain by it on other samples. */
#include <math.h>
#include <unistd.h>

#include "driver/driver.h"
#include "eval/eval.h"
#include "explain/explain.h"
#include "host/numbers.h"
#include "quantized_text.h"
#include "random.h"

enum { N_SAMPLES = 16, N = 16, OUT = 4 };

#define LAYERS                                                                                                         \
    "%u = parameter : float32[8, 16]; %v = parameter : float32[4, 8]; %x = input : float32[1, 16]\n"                   \
    "%a = aten.linear.default(%x, %u); %r = aten.relu.default(%a); %y = aten.linear.default(%r, %v)\n"

/* Whose norm is rounded for few cycles. */
#define NORM_BEHIND                                                                                                    \
    "%u = parameter : float32[8, 16]; %v = parameter : float32[4, 8]; %x = input : float32[1, 16]\n"                   \
    "%a = aten.linear.default(%x, %u); %r = aten.relu.default(%a); %b = aten.linear.default(%r, %v)\n"                 \
    "%c = aten.cumsum.default(%b, 1); %y = aten.layer_norm.default(%c, [4])\n"

#define LESSER_OF_TWO                                                                                                  \
    "%u = parameter : float32[8, 16]; %v = parameter : float32[4, 8]; %k = parameter : float32[1] values(0.01)\n"      \
    "%x = input : float32[1, 16]; %a = aten.linear.default(%x, %u); %r = aten.relu.default(%a)\n"                      \
    "%s = aten.mul.Tensor(%r, %k); %m = aten.minimum.default(%s, %r); %y = aten.linear.default(%m, %v)\n"

static const struct network {
    const char *what;
    int spread;     /* channel k of what is between is 4^-(spread k) as large as it could be */
    bool same;      /* samples are equal */
    double gain[2]; /* dB on other samples of default over fast, and of high over default, at least */
    const char *layers;
} networks[] = {
    {"one sample again and again", 0, true, {-0.5, -0.5}, LAYERS},
    {"channels alike", 0, false, {-0.5, -0.5}, LAYERS},
    {"channels of different strength", 1, false, {6, -0.5}, LAYERS},
    {"the lesser of a value and a hundredth of it", 0, false, {6, -0.5}, LESSER_OF_TWO},
};

struct flow {
    const struct network *network;
    const char *layers;
    struct nuc_compiler *c;
    struct nuc_model *m;
};

static void set_constant(struct nuc_graph *g, const char *name, int spread, bool by_column)
{
    struct nuc_node *n = nuc_find_node(g, name);
    size_t columns = (size_t)n->vals[0].sizes[1], count = (size_t)n->vals[0].sizes[0] * columns;
    float *w = nuc_alloc_array(g->cx, count, sizeof *w);
    uint32_t seed = (uint32_t)name[0];

    for (size_t i = 0; i < count; i++)
        w[i] = ldexpf(noise(&seed), by_column ? 2 * spread * (int)(i % columns) : -2 * spread * (int)(i / columns));
    n->data = nuc_dense_data(g->cx, &n->vals[0], w);
}

static void make_model(struct nuc_context *cx, void *arg)
{
    struct flow *f = arg;
    struct nuc_graph *g = parse_quantized(cx, f->layers);

    set_constant(g, "u", f->network->spread, false);
    set_constant(g, "v", f->network->spread, true);
    f->m = nuc_model_make(f->c, g);
}

static void fill(const struct network *n, uint32_t seed, float values[N_SAMPLES * N])
{
    for (size_t k = 0; k < N_SAMPLES; k++) {
        if (n->same)
            seed = 3;
        for (size_t i = 0; i < N; i++)
            values[k * N + i] = noise(&seed);
    }
}

/* The network quantized with samples; the compiler is open afterwards. */
static struct nuc_model *quantize(struct flow *f, enum nuc_accuracy accuracy)
{
    static float values[N_SAMPLES * N];
    const struct nuc_array_info a = {
        .name = "x", .dtype = NUC_F32, .rank = 2, .sizes = {N_SAMPLES, N}, .data = values, .bytes = sizeof values};
    char name[] = "/tmp/nucleon-test-XXXXXX";
    struct nuc_dataset *samples;
    struct nuc_model *quantized;
    struct nuc_options o;

    nuc_options_default(&o);
    o.threads = 1;
    o.accuracy = accuracy;
    f->c = nuc_compiler_new(&o, NULL);
    fill(f->network, 1, values);
    close(mkstemp(name));
    assert_int_equal(nuc_write_arrays(f->c, name, &a, 1), NUC_OK);
    assert_int_equal(nuc_settings(f->c)->trial, false);
    assert_int_equal(nuc_try(f->c->cx, make_model, f), NUC_OK);
    assert_int_equal(nuc_dataset_open(f->c, name, &samples), NUC_OK);
    if (nuc_quantize(f->m, samples, &quantized) != NUC_OK)
        fail_msg("%s: %s", f->network->what, nuc_compiler_message(f->c));
    unlink(name);
    return quantized;
}

/* SQNR of the quantized network on other samples. */
static double quantized_sqnr(struct flow *f, enum nuc_accuracy accuracy)
{
    static float values[N_SAMPLES * N];
    struct nuc_sqnr sums = {0, 0};
    struct nuc_model *quantized = quantize(f, accuracy);

    fill(f->network, 2, values);
    for (size_t k = 0; k < N_SAMPLES; k++) {
        float expected[OUT], got[OUT];
        const void *x = values + k * N;
        assert_int_equal(nuc_model_run(f->m, &x, (void *const[]){expected}), NUC_OK);
        assert_int_equal(nuc_model_run(quantized, &x, (void *const[]){got}), NUC_OK);
        nuc_sqnr_add(&sums, expected, got, OUT);
    }
    nuc_compiler_free(f->c);
    return nuc_sqnr_db(&sums);
}

static void samples_that_are_held_out_decide(void **state)
{
    static const enum nuc_accuracy ways[] = {NUC_ACCURACY_FAST, NUC_ACCURACY_DEFAULT, NUC_ACCURACY_HIGH};

    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) {
        const struct network *n = &networks[i];
        struct flow f = {.network = n, .layers = n->layers};
        double db[3];
        for (size_t k = 0; k < 3; k++)
            db[k] = quantized_sqnr(&f, ways[k]);
        if (!(db[1] >= db[0] + n->gain[0] && db[2] >= db[1] + n->gain[1]))
            fail_msg("%s: fast %.2f dB, default %.2f dB, high %.2f dB", n->what, db[0], db[1], db[2]);
    }
}

/* Forms that were measured before one was chosen stand in what explain says, and one of them is it. */
static void what_was_measured_is_explained(void **state)
{
    struct flow f = {.network = &networks[1], .layers = NORM_BEHIND};
    struct nuc_model *quantized = quantize(&f, NUC_ACCURACY_DEFAULT);
    const struct nuc_alternatives *w = quantized->settings->weighed;
    struct nuc_explain_result result;
    uint32_t n_chosen = 0;

    assert_non_null(w);
    assert_true(w->count >= 2);
    assert_string_equal(w->list[0].form, "the CPU in float");
    assert_string_equal(w->list[1].form, "layer_norm in int8");
    for (uint32_t i = 0; i < w->count; i++) {
        assert_true(w->list[i].cycles > 0 && w->list[i].sqnr_db > 0);
        n_chosen += w->list[i].is_chosen;
    }
    assert_int_equal(n_chosen, 1);
    assert_int_equal(nuc_explain(quantized, NULL, &result), NUC_OK);
    /* The other one takes more cycles for less, so that there is nothing to compare. */
    assert_null(strstr(result.text, "forms that were measured"));
    assert_non_null(
        strstr(result.text, "computed on the CPU in float, which\n                trials on samples chose\n"));

    /* Long forms go on in another line; of some with the same words, the most accurate is shown. */
    const char *norms = "3 of 9 norms on the NPU (fine), group_norm, layer_norm in int8";
    struct nuc_settings settings = *quantized->settings;
    const struct nuc_alternatives others = {
        .count = 4,
        .list = {{"the CPU in float", 9000, 30, false},
                 {norms, 1000, 20, false},
                 {norms, 1001, 21, false},
                 {"norms on the CPU", 8000, 30, true}},
    };
    settings.weighed = &others;
    quantized->settings = &settings;
    assert_int_equal(nuc_explain(quantized, NULL, &result), NUC_OK);
    assert_non_null(strstr(result.text,
                           "chosen:\n"
                           "the CPU in float                                   9,000 cycles  30.0 dB\n"
                           "3 of 9 norms on the NPU (fine), group_norm,\n"
                           "  layer_norm in int8                               1,001 cycles  21.0 dB\n"
                           "norms on the CPU                                   8,000 cycles  30.0 dB  chosen\n"));
    nuc_compiler_free(f.c);
}

RUN_TESTS(cmocka_unit_test(samples_that_are_held_out_decide), cmocka_unit_test(what_was_measured_is_explained))
