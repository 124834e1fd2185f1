/*
 * Functions of one value on the NPU: float networks and the operators of their partitions; what the operators make of
 * all 256 numbers, next to the function itself.
 */
#include <math.h>

#include "compiled_lines.h"

#include "driver/stages.h"
#include "eval/eval.h"
#include "npu/partition/partition.h"
#include "rewrite/npu_forms/npu_forms.h"
#include "rewrite/npu_forms/npu_function.h"
#include "rewrite/passes.h"

#define COMPARED(number) "%c = constant \"c\" : float32[] values(" number ")\n"

/* Without dialect and name space. */
static const char *short_name(const struct nuc_node *node)
{
    return strchr(strchr(nuc_op_name(node->op, NUC_EDGE), '.') + 1, '.') + 1;
}

static void check_operators(struct nuc_context *cx, struct nuc_model *m, const struct text_line *line)
{
    const char *joined = split_at(line->right, "; ");
    const uint32_t written = nuc_count_operators(m->graph).all - (joined != NULL ? (uint32_t)atoi(joined) : 0);
    struct nuc_model *placed = nuc_advance(nuc_quantize_random(m), NUC_STAGE_DIM_ORDER, NUC_STAGE_PARTITION);
    const char *text = "";

    for (const struct nuc_node *n = placed->graph->first; n != NULL; n = n->next) {
        if (!nuc_is_call(n) || n->op == NUC_OP_OUTPUT || nuc_is_quantization(n))
            continue;
        text = nuc_format(cx, "%s%s%s%s", text, *text == '\0' ? "" : " ", short_name(n), n->partition >= 0 ? "" : "*");
    }
    if (strcmp(text, line->right) != 0)
        fail_msg("%s: %s", line->name, text);
    struct nuc_operator_counts counts = nuc_count_operators(placed->graph);
    if (counts.all != written || (counts.delegated == written) != (strchr(text, '*') == NULL))
        fail_msg("%s: %u operators count as %u, %u of them on the NPU", line->name, written, counts.all,
                 counts.delegated);
}

/* ---- all 256 numbers ---- */

static double silu(double x)
{
    return x / (1 + exp(-x));
}

static double gelu(double x)
{
    return x * 0.5 * (1 + erf(x / sqrt(2)));
}

static double elu(double x)
{
    return x > 0 ? x : exp(x) - 1;
}

/* alpha 0.5, scale 2, input_scale 0.25 */
static double elu_of_three(double x)
{
    return 2 * (x > 0 ? x : 0.5 * (exp(x * 0.25) - 1));
}

static double selu(double x)
{
    return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * (exp(x) - 1));
}

static double celu(double x)
{
    return x > 0 ? x : 2 * (exp(x / 2) - 1);
}

static double softplus(double x)
{
    return log1p(exp(x * 2)) / 2;
}

static double log_sigmoid(double x)
{
    return -log1p(exp(-x));
}

static double mish(double x)
{
    return x * tanh(log1p(exp(x)));
}

static double hardsigmoid(double x)
{
    return fmin(fmax(x + 3, 0), 6) / 6;
}

static double square(double x)
{
    return x * x;
}

static double cube(double x)
{
    return x * x * x;
}

static double softshrink(double x)
{
    return x > 0.5 ? x - 0.5 : x < -0.5 ? x + 0.5 : 0;
}

static double from_half(double x)
{
    return x >= 0.5;
}

static double positive(double x)
{
    return x > 0;
}

static double below_half(double x)
{
    return x < 0.5;
}

static double not_positive(double x)
{
    return x <= 0;
}

static const struct function {
    const char *call;
    double (*value)(double x);
    const char *constant, *comparison; /* lines in front; NULL: none */
    int least;                         /* ranges that it is expressed in; 0: one */
} functions[] = {
    {"silu.default(%dx)", silu, NULL, NULL, 0},
    {"gelu.default(%dx)", gelu, NULL, NULL, 12},
    {"elu.default(%dx)", elu, NULL, NULL, 12},
    {"elu.default(%dx, 0.5, 2.0, 0.25)", elu_of_three, NULL, NULL, 0},
    {"selu.default(%dx)", selu, NULL, NULL, 0},
    {"celu.default(%dx, 2.0)", celu, NULL, NULL, 0},
    {"softplus.default(%dx, 2.0)", softplus, NULL, NULL, 0},
    {"log_sigmoid.default(%dx)", log_sigmoid, NULL, NULL, 0},
    {"mish.default(%dx)", mish, NULL, NULL, 0},
    {"tanh.default(%dx)", tanh, NULL, NULL, 0},
    {"hardsigmoid.default(%dx)", hardsigmoid, NULL, NULL, 0},
    {"square.default(%dx)", square, NULL, NULL, 0},
    {"pow.Tensor_Scalar(%dx, 2)", square, NULL, NULL, 0},
    {"pow.Tensor_Scalar(%dx, 3)", cube, NULL, NULL, 0},
    {"softshrink.default(%dx)", softshrink, NULL, NULL, 0},
    {"log2.default(%dx)", log2, NULL, NULL, 0},
    {"log10.default(%dx)", log10, NULL, NULL, 0},
    {"exp2.default(%dx)", exp2, NULL, NULL, 0},
    {"to.dtype(%b, float32)", from_half, COMPARED("0.5"), "%b = aten.ge.Tensor(%dx, %c)\n", 0},
    {"to.dtype(%b, float32)", positive, COMPARED("0"), "%b = aten.gt.Tensor(%dx, %c)\n", 0},
    {"to.dtype(%b, float32)", below_half, COMPARED("0.5"), "%b = aten.lt.Tensor(%dx, %c)\n", 0},
    {"to.dtype(%b, float32)", not_positive, COMPARED("0"), "%b = aten.le.Tensor(%dx, %c)\n", 0},
};

static const struct {
    double low, high;
} ranges[] = {{-0.5, 0.5}, {-1, 1}, {-2, 2}, {-3, 3}, {-4, 4}, {-6, 6},  {-8, 8},
              {-4, 8},     {-8, 4}, {-3, 1}, {0, 6},  {0, 20}, {-40, 3}, {-60, 60}};

#define N_FUNCTIONS (sizeof functions / sizeof *functions)
#define N_RANGES (sizeof ranges / sizeof *ranges)

struct sampled {
    double scale, zero;
};

static struct sampled sampled(double low, double high)
{
    double scale = (double)(float)((high - low) / 255);

    return (struct sampled){scale, fmin(fmax(round(-128 - low / scale), -128), 127)};
}

static double value_at(struct sampled s, int code)
{
    return (code - s.zero) * s.scale;
}

static struct sampled output_of(const struct function *f, struct sampled in)
{
    double low = 0, high = 0;

    for (int code = -128; code < 128; code++) {
        double y = f->value(value_at(in, code));
        if (isfinite(y)) {
            low = fmin(low, y);
            high = fmax(high, y);
        }
    }
    return sampled(low, high);
}

static bool yes(void *user, const struct nuc_node *node)
{
    return true;
}

/* In steps of the output, as far as these go. */
static double in_steps(const struct function *f, struct sampled in, struct sampled out, int code)
{
    double steps = f->value(value_at(in, code)) / out.scale + out.zero;

    return isnan(steps) ? -128 : fmin(fmax(steps, -128), 127);
}

/* The error of the quantized graph over what rounding at both ends leaves, dB. */
static double loss_of(const struct function *f, struct sampled in, struct sampled out, const float *y)
{
    double errors = 0, once = 0, rounding = 0, input = 0;

    for (int code = -128; code < 128; code++) {
        double weight = exp(-0.5 * pow((code + 0.5) / (256.0 / 6), 2));
        int before = code > -128 ? code - 1 : code, after = code < 127 ? code + 1 : code;
        double slope = (in_steps(f, in, out, after) - in_steps(f, in, out, before)) / (after - before);
        double steps = in_steps(f, in, out, code), error = (double)y[code + 128] / out.scale + out.zero - steps;
        errors += weight * error * error;
        if (fabs(steps + error - round(steps)) > NUC_FUNCTION_MAX_STEPS_OFF + 1e-3)
            fail_msg("%s: %g becomes %g steps instead of %g", f->call, value_at(in, code), steps + error, steps);
        once += weight * pow(round(steps) - steps, 2);
        rounding += weight / 12;
        input += weight * slope * slope / 12;
    }
    return 10 * log10((errors + input) / (fmax(once, rounding) + input));
}

#define ROWS 64

/* Where the function is expressed it is close; returns whether it is. */
static bool check_function(struct nuc_context *cx, const struct function *f, struct sampled in)
{
    static float x[ROWS * 256], y[ROWS * 256];
    struct nuc_edge_options options = {.express = yes};
    struct sampled out = output_of(f, in);
    uint32_t operators = 0;

    struct nuc_graph *g = parse_quantized(
        cx, nuc_format(cx, "%s%%x = input : float32[64, 256] ! %.9g, %.0f\n%s%%y = aten.%s ! %.9g, %.0f\n",
                       f->constant != NULL ? f->constant : "", in.scale, in.zero,
                       f->comparison != NULL ? f->comparison : "", f->call, out.scale, out.zero));
    nuc_to_edge(g, &options);
    nuc_graph_verify(g, "test");
    if (nuc_count_operators(g).all != 1)
        fail_msg("%s is one operator, counted as %u", f->call, nuc_count_operators(g).all);
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        operators += nuc_is_quantize(n);
    if (operators == 2 && f->value != square)
        return false;
    for (int i = 0; i < ROWS * 256; i++)
        x[i] = (float)value_at(in, i % 256 - 128);
    nuc_eval_run(nuc_eval_new(g, 1), (const void *const[]){x}, (void *const[]){y});
    double loss = loss_of(f, in, out, y);
    if (getenv("NPU_FUNCTION_TABLE") != NULL)
        print_message("%-34s %6.2f .. %5.2f  %5.2f dB\n", f->call, value_at(in, -128), value_at(in, 127), loss);
    if (!(loss <= NUC_FUNCTION_MAX_LOSS + 0.1))
        fail_msg("%s: %g .. %g: %g dB", f->call, value_at(in, -128), value_at(in, 127), loss);
    return true;
}

static void check_functions(struct nuc_context *cx, void *arg)
{
    for (size_t i = 0; i < N_FUNCTIONS; i++) {
        int expressed = 0;
        for (size_t k = 0; k < N_RANGES; k++)
            expressed += check_function(cx, &functions[i], sampled(ranges[k].low, ranges[k].high));
        if (expressed < 1 || expressed < functions[i].least)
            fail_msg("%s is expressed in %d ranges", functions[i].call, expressed);
        if (getenv("NPU_FUNCTION_TABLE") != NULL)
            print_message("%-34s in %d of %zu ranges\n", functions[i].call, expressed, N_RANGES);
    }
}

static void close_to_the_function(void **state)
{
    run_in_context(check_functions, NULL);
}

/* ---- averages that a quantizer observed by themselves ---- */

static const struct average {
    const char *call, *parameters;
    bool is_convolution;
} averages[] = {
    {"adaptive_avg_pool2d.default(%dx, [1, 1])", "0.01, -3", true},
    {"mean.dim(%dx, [2, 3], true)", "0.01, -3", true},
    {"mean.dim(%dx, [-1, -2])", "0.01, -3", true},
    {"mean.dim(%dx, [2, 3])", "0.0625, 5", false}, /* those of the input */
    {"mean.dim(%dx, [3])", "0.01, -3", false},
    {"adaptive_avg_pool2d.default(%dx, [2, 3])", "0.01, -3", false},
};

static void check_averages(struct nuc_context *cx, void *arg)
{
    enum { CHANNELS = 8, PIXELS = 6 * 9 };
    static float x[CHANNELS * PIXELS], y[CHANNELS * PIXELS];
    struct nuc_edge_options options = {.express = yes};

    for (size_t i = 0; i < sizeof averages / sizeof *averages; i++) {
        const struct average *a = &averages[i];
        bool found = false;
        struct nuc_graph *g =
            parse_quantized(cx, nuc_format(cx, "%%x = input : float32[1, 8, 6, 9] ! 0.0625, 5\n%%y = aten.%s ! %s\n",
                                           a->call, a->parameters));
        nuc_to_edge(g, &options);
        nuc_graph_verify(g, "test");
        for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
            found = found || n->op == NUC_OP_CONVOLUTION;
        if (found != a->is_convolution)
            fail_msg("%s: is it a convolution: %d", a->call, found);
        if (!found)
            continue;
        for (int k = 0; k < CHANNELS * PIXELS; k++)
            x[k] = 0.0625f * (float)(k / PIXELS * 3 - 12 + k * 7 % 11);
        nuc_eval_run(nuc_eval_new(g, 1), (const void *const[]){x}, (void *const[]){y});
        for (int c = 0; c < CHANNELS; c++) {
            double sum = 0;
            for (int k = 0; k < PIXELS; k++)
                sum += (double)x[c * PIXELS + k] / PIXELS;
            if (fabs(sum) < 1.2 && fabs((double)y[c] - sum) > 0.0051)
                fail_msg("%s: %g instead of %g", a->call, (double)y[c], sum);
        }
    }
}

static void averages_in_other_parameters(void **state)
{
    run_in_context(check_averages, NULL);
}

/* ---- norms: the form that rows ask for ---- */

static const struct rows_of_a_norm {
    const char *what, *call;
    double ratio; /* of the deviations of a row and the next one, 24 of each sample, the first of which has one of 1 */
    double later; /* deviations of every second sample are so much larger */
    double last;  /* factor of the last row */
    enum nuc_norm_form expected;
    bool tells_least;
} norm_rows[] = {
    {"alike", "layer_norm.default(%x, [32])", 1, 1, 1, NUC_NORM_FINE, false},
    {"ten times", "layer_norm.default(%x, [32])", 1.1, 1, 1, NUC_NORM_FINE, false},
    {"a row of few among others", "layer_norm.default(%x, [32])", 1.02, 1, 0.03, NUC_NORM_WIDE, false},
    {"three decades", "layer_norm.default(%x, [32])", 1.35, 1, 1, NUC_NORM_WIDE, false},
    {"eight decades", "layer_norm.default(%x, [32])", 2.2, 1, 1, NUC_NORM_WHOLE, false},
    {"other samples, other deviations", "layer_norm.default(%x, [32])", 1, 3, 1, NUC_NORM_WHOLE, false},
    {"root mean squares", "rms_norm.default(%x, [32], none, 1e-6)", 1.1, 1, 1, NUC_NORM_FINE, false},
    {"an empty row", "rms_norm.default(%x, [32], none, 1e-24)", 1.1, 1, 0, NUC_NORM_FINE, true},
    {"an empty row of differences", "layer_norm.default(%x, [32], none, none, 0.0)", 1.1, 1, 0, NUC_NORM_WHOLE, true},
    {"an empty row below a large eps", "rms_norm.default(%x, [32], none, 0.5)", 1.1, 1, 0, NUC_NORM_FINE, false},
    {"groups", "group_norm.default(%x, 3)", 1.1, 1, 1, NUC_NORM_SHORT, false},
};

static void check_norm_rows(struct nuc_context *cx, void *arg)
{
    static float x[24 * 32];

    for (size_t k = 0; k < sizeof norm_rows / sizeof *norm_rows; k++) {
        const struct rows_of_a_norm *r = &norm_rows[k];
        struct nuc_graph *g = parse_graph(
            cx, nuc_format(cx, "%%x = input : float32[2, 12, 32]\n%%y = aten.%s\n%%output = output([%%y])\n", r->call));
        struct nuc_norm_sums *sums = nuc_norm_sums_new(cx, nuc_find_node(g, "y"), 4);
        double error;
        for (unsigned sample = 0; sample < 4; sample++) {
            for (int i = 0; i < 24 * 32; i++) {
                double deviation = pow(r->ratio, i / 32) * (sample % 2 == 0 ? 1 : r->later);
                x[i] = (float)((i / 32 == 23 ? r->last : 1) * deviation * sin(7.0 * i + sample));
            }
            nuc_norm_see(sums, sample % 2, x, 24 * 32);
        }
        struct nuc_norm_of asked = nuc_norm_form_of(sums, &error);
        if (asked.form != r->expected || (asked.least > 0) != r->tells_least)
            fail_msg("%s: form %d, least %g, error %g", r->what, (int)asked.form, asked.least, error);
    }
}

static void form_of_rows(void **state)
{
    run_in_context(check_norm_rows, NULL);
}

RUN_TESTS(COMPILED_TEST("cases/npu_functions.txt", check_operators), cmocka_unit_test(close_to_the_function),
          cmocka_unit_test(averages_in_other_parameters), cmocka_unit_test(form_of_rows))
