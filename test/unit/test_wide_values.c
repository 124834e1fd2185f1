/* Values that int8 is too narrow for: which operators stay in float, or take int16, what the network gains. */
#include <math.h>

#include "compiled_lines.h"
#include "host/numbers.h"
#include "random.h"

enum { N_SAMPLES = 24, N = 16, MOST_OUT = 128 };

/* A line of cases/wide_values.txt. */
struct network {
    const char *text, *options;
    bool decades; /* samples have sizes from 0.01 to 1 */
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

static void fill(bool decades, uint32_t seed, float values[N_SAMPLES * N])
{
    for (size_t k = 0; k < N_SAMPLES; k++) {
        for (size_t i = 0; i < N; i++) {
            float x = noise(&seed), size = decades ? expf(2.3f * noise(&seed) - 2.3f) : 1;
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

/* What notes say of cycles is what the quantized network takes. */
static void check_cycles(struct flow *f, struct nuc_model *quantized)
{
    const char *takes = strstr(f->notes, "; takes "), *of = takes != NULL ? strstr(takes, " of ") : NULL;
    struct nuc_explain_result r;

    if (of == NULL)
        return;
    assert_int_equal(nuc_explain(quantized, NULL, &r), NUC_OK);
    if (r.cycles != strtoull(of + strlen(" of "), NULL, 10))
        fail_msg("%s: %llu cycles, notes: %s", f->network->options, (unsigned long long)r.cycles, f->notes);
}

struct result {
    double sqnr;
    char in_float[128];
};

/* Under the line's options, and others behind them. */
static struct result quantize(struct flow *f, const char *others)
{
    static float values[N_SAMPLES * N];
    const struct network *n = f->network;
    const struct nuc_array_info a = {
        .name = "x", .dtype = NUC_F32, .rank = 2, .sizes = {N_SAMPLES, N}, .data = values, .bytes = sizeof values};
    char options[200];
    struct nuc_sqnr sums = {0, 0};
    struct nuc_dataset *samples;
    struct nuc_model *quantized;
    struct nuc_options o;
    struct result r;

    nuc_options_default(&o);
    o.warn = note;
    o.warn_user = f;
    f->notes[0] = '\0';
    f->c = nuc_compiler_new(&o, NULL);
    snprintf(options, sizeof options, "%s %s", n->options, others);
    set_options(f->c, options);
    fill(n->decades, 1, values);
    assert_int_equal(nuc_settings(f->c)->trial, false);
    assert_int_equal(nuc_try(f->c->cx, make_model, f), NUC_OK);
    assert_int_equal(nuc_dataset_of_arrays(f->c, NULL, &a, 1, &samples), NUC_OK);
    if (nuc_quantize(f->m, samples, &quantized) != NUC_OK)
        fail_msg("%s: %s", n->options, nuc_compiler_message(f->c));
    check_cycles(f, quantized);
    list_float(quantized->graph, r.in_float, sizeof r.in_float);
    fill(n->decades, 2, values);
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
    nuc_compiler_free(f->c);
    return r;
}

static void check_line(struct nuc_context *cx, struct text_line *line)
{
    const char *in_float = split_at(line->right, " dB "), *options = split_at(line->left, " ");
    const struct network n = {line->graph, options, strcmp(line->left, "decades") == 0};
    struct flow f = {.network = &n}, other = {.network = &n};
    struct result r = quantize(&f, "--threads 1"), again = quantize(&f, "--threads 3");
    bool by_name = strstr(n.options, "--precision") != NULL;
    struct result before =
        quantize(&other, by_name ? "--threads 1 --accuracy fast --activations int8"
                                 : "--threads 1 --accuracy fast --activations int8 --target imxrt700");
    bool noted = strstr(f.notes, "stays in float") != NULL || strstr(f.notes, ": in int16: ") != NULL;

    in_float = in_float != NULL ? in_float : "";
    if (strcmp(r.in_float, in_float) != 0 || noted != (*in_float != '\0' && !by_name))
        fail_msg("%s: in float %s, notes: %s", line->name, r.in_float, f.notes);
    if (strcmp(r.in_float, again.in_float) != 0 || r.sqnr < again.sqnr || r.sqnr > again.sqnr)
        fail_msg("%s: three threads choose %s, one %s", line->name, again.in_float, r.in_float);
    if (!(r.sqnr >= before.sqnr + atof(line->right)))
        fail_msg("%s: %.2f dB, fast %.2f dB", line->name, r.sqnr, before.sqnr);
}

/* Outputs of little use are worth many cycles: a spectrum that an NPU computes many times as fast in int8. */
static void outputs_are_of_use(void **state)
{
    static const char text[] = "%w = parameter : float32[128, 512]\n%p = parameter : float32[16, 128]\n"
                               "%v = parameter : float32[4, 16]\n%u = parameter : float32[512, 2]\n"
                               "%x = input : float32[1, 16]\n%a = aten.slice.Tensor(%x, 1, 0, 2)\n"
                               "%b = aten.mul.Tensor(%a, %a)\n%i = aten.linear.default(%b, %u)\n"
                               "%r = aten.relu.default(%i)\n%t = aten.linear.default(%r, %w)\n"
                               "%q = aten.mul.Tensor(%t, %t)\n%s = aten.linear.default(%q, %p)\n"
                               "%n = aten.clamp.default(%s, 1e-15)\n%l = aten.log.default(%n)\n"
                               "%y = aten.linear.default(%l, %v)\n%output = output([%y])\n";
    const struct network n = {text, "--target imxrt700", true};
    struct flow f = {.network = &n};
    double in_int8 = quantize(&f, "--threads 1 --precision *=int8").sqnr;

    (void)state;
    assert_true(in_int8 < 10);
    assert_true(quantize(&f, "--threads 1").sqnr > 25);
    assert_non_null(strstr(f.notes, "stays in float, but for layers in int16"));
}

/* Slices that are concatenated again have 2^40 paths through them: each value is looked at once. */
static void branches_of_moves_are_followed_once(void **state)
{
    static const struct {
        const char *before, *behind;
    } cases[] = {
        {"%l = aten.linear.default(%x, %u)\n%s0 = aten.sigmoid.default(%l)\n", ""},
        {"%l = aten.linear.default(%x, %u)\n%s0 = aten.tanh.default(%l)\n", "%y = aten.neg.default(%s40)\n"},
        {"%s0 = aten.linear.default(%x, %u)\n", "%b = aten.gt.Tensor(%s40, %k)\n%y = aten.to.dtype(%b, float32)\n"},
        {"%s0 = aten.slice.Tensor(%x, 1, 0, 12)\n", "%y = aten.cumsum.default(%s40, 1)\n"},
        {"%l = aten.linear.default(%x, %u)\n%a = aten.slice.Tensor(%l, 1, 0, 6)\n%b = aten.tanh.default(%a)\n"
         "%c = aten.mul.Tensor(%l, %k)\n%d = aten.slice.Tensor(%c, 1, 0, 6)\n%s0 = aten.cat.default([%b, %d], 1)\n",
         "%y = aten.linear.default(%s40, %w)\n"},
    };
    static const char *const targets[] = {"--target cortex-m33", "--target imxrt700"};

    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        char text[8192];
        size_t size = (size_t)snprintf(text, sizeof text,
                                       "%%u = parameter : float32[12, 16]\n%%w = parameter : float32[4, 12]\n"
                                       "%%k = parameter : float32[1]\n%%x = input : float32[1, 16]\n%s",
                                       cases[i / 2].before);
        for (int k = 0; k < 40; k++)
            size +=
                (size_t)snprintf(text + size, sizeof text - size,
                                 "%%m%d = aten.slice.Tensor(%%s%d, 1, 8, 12)\n%%n%d = aten.slice.Tensor(%%s%d, 1, 0, 8)"
                                 "\n%%s%d = aten.cat.default([%%m%d, %%n%d], 1)\n",
                                 k, k, k, k, k + 1, k, k);
        snprintf(text + size, sizeof text - size, "%s", cases[i / 2].behind);
        const struct network n = {text, targets[i % 2], false};
        struct flow f = {.network = &n};
        assert_true(quantize(&f, "--threads 1").sqnr > 20);
    }
}

RUN_TESTS(LINE_TEST("cases/wide_values.txt", check_line, NULL), cmocka_unit_test(outputs_are_of_use),
          cmocka_unit_test(branches_of_moves_are_followed_once))
