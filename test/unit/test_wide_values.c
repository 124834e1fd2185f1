/* Values that int8 is too narrow for: which operators stay in float, or take int16, what the network gains. */
#include <math.h>
#include <unistd.h>

#include "driver/driver.h"
#include "host/numbers.h"
#include "quantized_text.h"
#include "random.h"

enum { N_SAMPLES = 24, N = 16, MOST_OUT = 128 };

/* Samples of one kind. */
enum kind {
    PLAIN,  /* -1 .. 1 */
    DECADES /* sizes from 0.01 to 1 */
};

/*
 * Constants get values by their first letter: 'p' positive ones, which differ by decades; 'd' rows that do; others
 * -1 .. 1.
 */
static const struct network {
    const char *what, *text;
    enum kind kind;
    const char *in_float; /* names of the operators that stay in float; "": none do */
    double gain;          /* dB of the outputs on other samples, at least */
    enum nuc_io io;
    enum nuc_accuracy accuracy;
    bool compat;
    enum nuc_activations activations; /* for the CPU alone, unless int8 */
    const char *precision;            /* NULL: none */
} networks[] = {
#define LAYERS(in)                                                                                                     \
    "%t = aten.linear.default(%" in ", %u); %r = aten.relu.default(%t); %z = aten.linear.default(%r, %w)\n"            \
    "%f = aten.relu.default(%z); %y = aten.linear.default(%f, %v)\n"
#define WEIGHTS                                                                                                        \
    "%u = parameter : float32[128, 16]; %w = parameter : float32[128, 128]; %v = parameter : float32[4, 128]\n"
    {"linear layers", WEIGHTS "%x = input : float32[1, 16]\n" LAYERS("x"), PLAIN, "", 0,
     .accuracy = NUC_ACCURACY_DEFAULT},
    {"linear layers, int16", WEIGHTS "%x = input : float32[1, 16]\n" LAYERS("x"), PLAIN, "", 6,
     .accuracy = NUC_ACCURACY_DEFAULT, .activations = NUC_ACTIVATIONS_INT16},
    {"linear layers, the last in int16 by name", WEIGHTS "%x = input : float32[1, 16]\n" LAYERS("x"), PLAIN, "linear_2",
     0, .accuracy = NUC_ACCURACY_DEFAULT, .precision = "y=int16"},
#define SQUASHED                                                                                                       \
    "%u = parameter : float32[512, 16]; %w = parameter : float32[32, 512]; %v = parameter : float32[4, 32]\n"          \
    "%x = input : float32[1, 16]; %t = aten.linear.default(%x, %u); %r = aten.relu.default(%t)\n"                      \
    "%z = aten.linear.default(%r, %w); %f = aten.tanh.default(%z); %y = aten.linear.default(%f, %v)\n"
    {"an end that takes few products, mixed", SQUASHED, PLAIN, "tanh linear_2", 0.5, .accuracy = NUC_ACCURACY_DEFAULT,
     .activations = NUC_ACTIVATIONS_MIXED},
    {"the same in int8 by name", SQUASHED, PLAIN, "", -1, .accuracy = NUC_ACCURACY_DEFAULT,
     .activations = NUC_ACTIVATIONS_MIXED, .precision = "?=int8"},
#define LEVEL                                                                                                          \
    WEIGHTS "%k = constant : float32[1, 1]; %x = input : float32[1, 16]\n"                                             \
            "%t = aten.linear.default(%x, %u); %r = aten.relu.default(%t); %z = aten.linear.default(%r, %w)\n"         \
            "%s = aten.add.Tensor(%z, %k); %d = aten.sub.Tensor(%s, %k); %y = aten.linear.default(%d, %v)\n"
    {"a level that is added and taken off", LEVEL, PLAIN, "add sub linear_2", 30, .accuracy = NUC_ACCURACY_DEFAULT},
    {"a level, fast", LEVEL, PLAIN, "", 0, .accuracy = NUC_ACCURACY_FAST},
    {"a level, high", LEVEL, PLAIN, "add sub linear_2", 30, .accuracy = NUC_ACCURACY_HIGH},
    {"a level, int8 inputs", LEVEL, PLAIN, "add sub linear_2", 30, .io = NUC_IO_INT8, .accuracy = NUC_ACCURACY_DEFAULT},
    {"a level, as the reference", LEVEL, PLAIN, "", 0, .accuracy = NUC_ACCURACY_DEFAULT, .compat = true},
    {"the logarithm of a power",
     WEIGHTS "%p = parameter : float32[16, 16]; %x = input : float32[1, 16]\n"
             "%q = aten.mul.Tensor(%x, %x); %s = aten.linear.default(%q, %p); %l = aten.log.default(%s)\n" LAYERS("l"),
     DECADES, "mul linear log", 10, .accuracy = NUC_ACCURACY_DEFAULT},
    {"the root of a power",
     "%u = parameter : float32[128, 16]; %x = input : float32[1, 16]\n"
     "%t = aten.linear.default(%x, %u); %q = aten.mul.Tensor(%t, %t); %y = aten.sqrt.default(%q)\n",
     PLAIN, "mul sqrt", 10, .accuracy = NUC_ACCURACY_DEFAULT},
    {"the logarithm of powers of channels that differ by decades",
     "%d = parameter : float32[128, 6144]; %w = parameter : float32[16, 64]; %v = parameter : float32[4, 16]\n"
     "%u = parameter : float32[6144, 16]; %x = input : float32[1, 16]; %i = aten.linear.default(%x, %u)\n"
     "%r = aten.relu.default(%i); %t = aten.linear.default(%r, %d); %z = aten.view.default(%t, [1, 128])\n"
     "%a = aten.slice.Tensor(%z, 1, 0, 64); %b = aten.slice.Tensor(%z, 1, 64, 128)\n"
     "%q = aten.mul.Tensor(%a, %a); %e = aten.mul.Tensor(%b, %b); %s = aten.add.Tensor(%q, %e)\n"
     "%n = aten.clamp.default(%s, 1e-5)\n"
     "%l = aten.log.default(%n); %o = aten.linear.default(%l, %w); %f = aten.relu.default(%o)\n"
     "%y = aten.linear.default(%f, %v)\n",
     PLAIN, "mul mul_1 mul_2 mul_3 add clamp log", 18, .accuracy = NUC_ACCURACY_DEFAULT},
    {"shares beside pixels",
     WEIGHTS "%o = parameter : float32[64, 128]; %k = constant : float32[1, 1]; %x = input : float32[1, 16]\n"
             "%t = aten.linear.default(%x, %u); %r = aten.relu.default(%t); %z = aten.linear.default(%r, %w)\n"
             "%a = aten.linear.default(%z, %o); %b = aten.linear.default(%z, %v); %s = aten.sigmoid.default(%b)\n"
             "%m = aten.mul.Tensor(%a, %k); %y = aten.cat.default([%m, %s], 1)\n",
     PLAIN, "mul cat", 0, .accuracy = NUC_ACCURACY_DEFAULT},
#define LSTM                                                                                                           \
    "%u = parameter : float32[96, 1]; %w = parameter : float32[96, 24]; %v = parameter : float32[4, 384]\n"            \
    "%h = constant : float32[1, 1, 24]; %x = input : float32[1, 16]; %s = aten.view.default(%x, [1, 16, 1])\n"         \
    "%l = aten.lstm.input(%s, [%h, %h], [%u, %w], false, 1, 0.0, false, false, true)\n"                                \
    "%i = getitem(%l, 0); %z = aten.view.default(%i, [1, 384]); %y = aten.linear.default(%z, %v)\n"
    {"sequences around a recurrent layer in int8", LSTM, PLAIN, "lstm view_1 linear", 3,
     .accuracy = NUC_ACCURACY_DEFAULT},
    {"the same, fast", LSTM, PLAIN, "", 0, .accuracy = NUC_ACCURACY_FAST},
};

struct flow {
    const struct network *network;
    struct nuc_compiler *c;
    struct nuc_model *m;
    char notes[4096];
};

static void note(void *user, const char *message)
{
    struct flow *f = user;

    snprintf(f->notes + strlen(f->notes), sizeof f->notes - strlen(f->notes), "%s\n", message);
}

static void make_model(struct nuc_context *cx, void *arg)
{
    struct flow *f = arg;
    struct nuc_graph *g = parse_quantized(cx, f->network->text);

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_static(n))
            continue;
        size_t count = (size_t)nuc_elements(&n->vals[0]);
        float *w = nuc_alloc_array(g->cx, count, sizeof *w);
        uint32_t seed = (uint32_t)n->name[0] * 2654435761u;
        for (size_t i = 0; i < count; i++) {
            float x = noise(&seed);
            w[i] = count == 1 ? 500 : n->name[0] == 'p' ? expf(4 * x - 4) : x / sqrtf((float)n->vals[0].sizes[1]);
            if (n->name[0] == 'd')
                w[i] *= expf(-5.0f * (float)(i / (size_t)n->vals[0].sizes[1] % 64) / 64);
        }
        n->data = nuc_dense_data(g->cx, &n->vals[0], w);
    }
    f->m = nuc_model_make(f->c, g);
}

static void fill(enum kind kind, uint32_t seed, float values[N_SAMPLES * N])
{
    for (size_t k = 0; k < N_SAMPLES; k++) {
        for (size_t i = 0; i < N; i++) {
            float x = noise(&seed), size = kind == DECADES ? expf(2.3f * noise(&seed) - 2.3f) : 1;
            values[k * N + i] = size * x;
        }
    }
}

/* Operators of the quantized graph that say why they stay in float, or take int16, by name: none reads or writes int8.
 */
static void list_float(const struct nuc_graph *g, char *list, size_t size)
{
    list[0] = '\0';
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (nuc_is_operator(n) && n->source->wide != NULL)
            snprintf(list + strlen(list), size - strlen(list), "%s%s", list[0] == '\0' ? "" : " ", n->name);
    }
}

struct result {
    double sqnr;
    char in_float[64];
};

static struct result quantize(struct flow *f, unsigned threads)
{
    static float values[N_SAMPLES * N];
    const struct network *n = f->network;
    const struct nuc_array_info a = {
        .name = "x", .dtype = NUC_F32, .rank = 2, .sizes = {N_SAMPLES, N}, .data = values, .bytes = sizeof values};
    char name[] = "/tmp/nucleon-test-XXXXXX";
    struct nuc_sqnr sums = {0, 0};
    struct nuc_dataset *samples;
    struct nuc_model *quantized;
    struct nuc_options o;
    struct result r;

    nuc_options_default(&o);
    o.threads = threads;
    o.accuracy = n->accuracy;
    o.io = n->io;
    o.reference_compat = n->compat;
    o.activations = n->activations;
    o.precision = &n->precision;
    o.n_precision = n->precision != NULL;
    if (n->activations != NUC_ACTIVATIONS_INT8 || n->precision != NULL)
        o.target = "cortex-m33";
    o.warn = note;
    o.warn_user = f;
    f->notes[0] = '\0';
    f->c = nuc_compiler_new(&o, NULL);
    fill(n->kind, 1, values);
    close(mkstemp(name));
    assert_int_equal(nuc_write_arrays(f->c, name, &a, 1), NUC_OK);
    assert_int_equal(nuc_settings(f->c)->trial, false);
    assert_int_equal(nuc_try(f->c->cx, make_model, f), NUC_OK);
    assert_int_equal(nuc_dataset_open(f->c, name, &samples), NUC_OK);
    if (nuc_quantize(f->m, samples, &quantized) != NUC_OK)
        fail_msg("%s: %s", n->what, nuc_compiler_message(f->c));
    list_float(quantized->graph, r.in_float, sizeof r.in_float);
    fill(n->kind, 2, values);
    for (size_t k = 0; k < N_SAMPLES; k++) {
        float expected[MOST_OUT], got[MOST_OUT];
        const void *x = values + k * N;
        struct nuc_tensor_info out;
        nuc_model_output(f->m, 0, &out);
        assert_int_equal(nuc_model_run(f->m, &x, (void *const[]){expected}), NUC_OK);
        assert_int_equal(nuc_model_run(quantized, &x, (void *const[]){got}), NUC_OK);
        nuc_sqnr_add(&sums, expected, got, out.bytes / sizeof(float));
    }
    r.sqnr = nuc_sqnr_db(&sums);
    unlink(name);
    nuc_compiler_free(f->c);
    return r;
}

static void what_int8_is_too_narrow_for_stays_in_float(void **state)
{
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) {
        const struct network *n = &networks[i];
        struct network fast = *n;
        struct flow f = {.network = n}, other = {.network = &fast};
        fast.accuracy = NUC_ACCURACY_FAST;
        fast.activations = NUC_ACTIVATIONS_INT8;
        struct result r = quantize(&f, 1), again = quantize(&f, 3), before = quantize(&other, 1);
        bool noted = strstr(f.notes, "stays in float") != NULL || strstr(f.notes, ": in int16: ") != NULL;
        if (strcmp(r.in_float, n->in_float) != 0 || noted != (n->precision == NULL && *n->in_float != '\0'))
            fail_msg("%s: in float %s, notes: %s", n->what, r.in_float, f.notes);
        if (strcmp(r.in_float, again.in_float) != 0 || r.sqnr < again.sqnr || r.sqnr > again.sqnr)
            fail_msg("%s: three threads choose %s, one %s", n->what, again.in_float, r.in_float);
        if (!(r.sqnr >= before.sqnr + n->gain))
            fail_msg("%s: %.2f dB, fast %.2f dB", n->what, r.sqnr, before.sqnr);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_int8_is_too_narrow_for_stays_in_float)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
