/* An NPU and int8 kernels on the CPU as one target: from float models to the operators of the program. */
#include <unistd.h>

#include "cpu/cortexm.h"
#include "driver/stages.h"

#include "compiled_lines.h"
#include "random.h"

static void check_operators(struct nuc_context *cx, struct nuc_model *m, const struct text_line *line)
{
    m = m->c->options.no_quantize ? nuc_advance(m, NUC_STAGE_EXPAND, NUC_STAGE_ATEN_PASSES) : nuc_quantize_random(m);
    struct nuc_model *lowered = nuc_advance(m, NUC_STAGE_DIM_ORDER, NUC_STAGE_LOWER);
    const char *text = "";

    for (const struct nuc_node *n = lowered->graph->first; n != NULL; n = n->next) {
        assert_false(m->c->options.cpu == NUC_CPU_INT8 && nuc_is_float_operator(n));
        if (nuc_is_call(n) && n->op != NUC_OP_OUTPUT)
            text = nuc_format(cx, "%s%s%s", text, *text == '\0' ? "" : " ", nuc_node_op_name(n));
    }
    if (strcmp(text, line->right) != 0)
        fail_msg("%s: %s", line->name, text);
}

/* ---- --cpu auto with samples ---- */

/* Networks of one input [1, 256], and what their norm is computed in. */
static const struct judged {
    const char *lines;
    bool in_float;
} judged[] = {
    /* Rounded in front of the gelu, all that is accurate in the network loses a dB, which most cycles are worth. */
    {"%a = aten.leaky_relu.default(%x)\n%n = aten.layer_norm.default(%a, [256])\n%g = aten.gelu.default(%n)\n"
     "%y = aten.neg.default(%g)\n",
     false},
    /* Behind an operator in float it would be rounded for few cycles. */
    {"%a = aten.leaky_relu.default(%x)\n%c = aten.cumsum.default(%a, 1)\n%y = aten.layer_norm.default(%c, [256])\n",
     true},
    /* A product of large powers loses far more by itself. */
    {"%a = aten.leaky_relu.default(%x)\n%n = aten.layer_norm.default(%a, [256])\n%g = aten.gelu.default(%n)\n"
     "%e = aten.exp.default(%a)\n%f = aten.mul.Tensor(%e, %e)\n%h = aten.mul.Tensor(%f, %f)\n"
     "%y = aten.mul.Tensor(%h, %g)\n",
     false},
};

static struct nuc_dataset *make_samples(struct nuc_compiler *c)
{
    enum { SAMPLES = 16, VALUES = 256 };
    static float x[SAMPLES * VALUES];
    struct nuc_array_info array = {.name = "x", .dtype = NUC_F32, .rank = 3, .sizes = {SAMPLES, 1, VALUES}};
    char path[] = "/tmp/nucleon-cpu-XXXXXX.npz";
    struct nuc_dataset *data = NULL;
    uint32_t seed = 1;

    for (size_t i = 0; i < SAMPLES * VALUES; i++)
        x[i] = 2 * noise(&seed);
    array.data = x;
    array.bytes = sizeof x;
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(nuc_write_arrays(c, path, &array, 1), NUC_OK);
    assert_int_equal(nuc_dataset_open(c, path, &data), NUC_OK);
    unlink(path);
    return data;
}

static void judge(struct nuc_context *cx, void *arg)
{
    struct nuc_compiler *c = arg;

    for (size_t i = 0; i < sizeof judged / sizeof judged[0]; i++) {
        const char *lines = nuc_format(cx, "%%x = input : float32[1, 256]\n%s", judged[i].lines);
        struct nuc_model *m = nuc_model_make(c, parse_quantized(cx, lines));
        struct nuc_job j = {.c = c, .m = m, .samples = make_samples(c)};
        bool in_float = false;
        nuc_run_stages(&j, NUC_STAGE_ATEN_PASSES, NUC_STAGE_LOWER);
        for (const struct nuc_node *n = j.m->graph->first; n != NULL; n = n->next)
            in_float = in_float || n->op == NUC_OP_NATIVE_LAYER_NORM;
        if (in_float != judged[i].in_float)
            fail_msg("%s: %s", lines, nuc_graph_print(j.m->graph, false));
    }
}

/* A copy that the NPU does without was what an operator wrote to, and its source is read afterwards. */
static void write_to_copy(struct nuc_context *cx, void *arg)
{
    static const char *const writes[] = {"aten.relu_.default(%c)", "aten.add_.Tensor(%c, %x)", "aten.neg_.default(%c)"};

    for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        const char *lines = nuc_format(cx,
                                       "%%x = input : float32[1, 8, 4, 4]\n%%c = aten.clone.default(%%x)\n"
                                       "%%r = %s\n%%y = aten.add.Tensor(%%r, %%x)\n",
                                       writes[i]);
        struct nuc_job j = {.c = arg, .m = nuc_model_make(arg, parse_quantized(cx, lines))};
        nuc_run_stages(&j, NUC_STAGE_EXPAND, NUC_STAGE_ATEN_PASSES);
        for (const struct nuc_node *n = j.m->graph->first; n != NULL; n = n->next) {
            const struct nuc_node *self = n->in_place ? nuc_arg_node(n, NUC_SELF) : NULL;
            if (self != NULL && self->n_users > 1)
                fail_msg("%s: %s", lines, nuc_graph_print(j.m->graph, false));
        }
    }
}

/* An activation that nothing in front of it takes, between int8 values of one scale. */
static void clamp_alone(struct nuc_context *cx, void *arg)
{
    const char *lines = "%x = input : float32[1, 256]\n%r = aten.relu.default(%x)\n%y = aten.sin.default(%r)\n";
    struct nuc_job j = {.c = arg, .m = nuc_model_make(arg, parse_quantized(cx, lines)), .samples = make_samples(arg)};

    nuc_run_stages(&j, NUC_STAGE_ATEN_PASSES, NUC_STAGE_LOWER);
    for (const struct nuc_node *n = j.m->graph->first; n != NULL; n = n->next)
        assert_true(n->op != NUC_OP_CLAMP || n->vals[0].dtype == NUC_I8);
}

static void in_compiler(void (*run)(struct nuc_context *cx, void *arg), const char *compat_target)
{
    struct nuc_options o;

    nuc_options_default(&o);
    o.threads = 1;
    o.reference_compat = compat_target != NULL;
    if (o.reference_compat)
        o.target = compat_target;
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    assert_non_null(c);
    if (nuc_try(c->cx, run, c) != NUC_OK)
        fail_msg("%s", nuc_compiler_message(c));
    nuc_compiler_free(c);
}

static void samples(void **state)
{
    in_compiler(judge, NULL);
    (void)state;
}

static void writes(void **state)
{
    in_compiler(write_to_copy, NULL);
    (void)state;
}

static void clamps(void **state)
{
    in_compiler(clamp_alone, "cortex-m33");
    (void)state;
}

/* A name that says what the CPU computes with and an option that says otherwise. */
static void names(void **state)
{
    static const struct {
        const char *target;
        enum nuc_cpu_kernels cpu;
        bool fits, int8;
    } rows[] = {
        {"imxrt700", NUC_CPU_AUTO, true, true},    {"imxrt700", NUC_CPU_FLOAT, true, false},
        {"imxrt700cm", NUC_CPU_AUTO, true, true},  {"imxrt700cm", NUC_CPU_INT8, true, true},
        {"imxrt700cm", NUC_CPU_FLOAT, false, 0},   {"cortex-m33", NUC_CPU_AUTO, true, true},
        {"cortex-m33", NUC_CPU_FLOAT, true, true}, /* as with --no-quantize */
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nuc_target_facts facts;
        struct nuc_options o;
        nuc_options_default(&o);
        o.target = rows[i].target;
        o.cpu = rows[i].cpu;
        struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
        assert_int_equal(nuc_target_facts(c, &facts), rows[i].fits ? NUC_OK : NUC_BAD_USAGE);
        if (rows[i].fits)
            assert_int_equal(facts.has_int8_cpu, rows[i].int8);
        else
            assert_non_null(strstr(nuc_compiler_message(c), "take --target imxrt700"));
        nuc_compiler_free(c);
    }
    (void)state;
}

/* The program is run once on zeros before it is written, where an index may be one that the model never has. */
static void index_of_input(struct nuc_context *cx, void *compiler)
{
    struct nuc_model *m = nuc_model_make(
        compiler, parse_quantized(cx, "%o = constant \"o\" : int64[] values(1)\n%x = input : float32[1, 4]\n"
                                      "%n = input : int64[1, 1]\n%i = aten.sub.Tensor(%n, %o)\n"
                                      "%y = aten.gather.default(%x, 1, %i)\n%output = output([%y])\n"));
    const uint8_t *bytes;
    size_t size;

    m = nuc_advance(m, NUC_STAGE_DIM_ORDER, NUC_STAGE_LOWER);
    assert_int_equal(nuc_program(m, &bytes, &size), NUC_OK);
}

static void indices(void **state)
{
    in_compiler(index_of_input, "cortex-m33");
    (void)state;
}

RUN_TESTS(COMPILED_TEST("cases/cpu_side.txt", check_operators), cmocka_unit_test(samples), cmocka_unit_test(writes),
          cmocka_unit_test(clamps), cmocka_unit_test(names), cmocka_unit_test(indices))
