/* What int8 operators make of the 256 numbers that come into a function. */
#include <float.h>
#include <math.h>

#include "rewrite/npu_forms/npu_function.h"

double nuc_function_number(const struct nuc_function_step *step, const double *params)
{
    double number = step->number;

    for (int i = 0; i < NUC_FUNCTION_PARAMS; i++)
        number *= pow(params[i], step->powers[i]);
    return number;
}

/* As the NPU's kernels: where the real function has no value, the one at the end of the range. */
static double value_of(const struct nuc_function_step *step, double a, double b)
{
    switch ((unsigned)step->op) {
    case NUC_OP_ADD:
        return a + b;
    case NUC_OP_SUB:
        return a - b;
    case NUC_OP_MUL:
        return a * b;
    case NUC_OP_RELU:
        return fmax(a, 0);
    case NUC_OP_LEAKY_RELU:
        return a >= 0 ? a : a * b;
    case NUC_OP_ABS:
        return fabs(a);
    case NUC_OP_EXP:
        return exp(a);
    case NUC_OP_LOG:
        return a > 0 ? log(a) : -HUGE_VAL;
    case NUC_OP_RSQRT:
        return a > 0 ? 1 / sqrt(a) : HUGE_VAL;
    case NUC_OP_SIGMOID:
        return 1 / (1 + exp(-a));
    case NUC_OP_TANH:
    default:
        return tanh(a);
    }
}

static double quantized(const struct nuc_quant *q, double value)
{
    double code = round(value / q->scale) + (double)q->zero_point;

    return fmin(fmax(code, (double)q->quant_min), (double)q->quant_max);
}

static double dequantized(const struct nuc_quant *q, double code)
{
    return (code - (double)q->zero_point) * q->scale;
}

struct range {
    double low, high;
};

/* With zero, which has to be one of the numbers. */
static struct range range_of(const struct nuc_function_step *step, const double values[256])
{
    struct range r = {0, 0};

    for (int i = 0; i < 256; i++) {
        if (isfinite(values[i])) {
            r.low = fmin(r.low, values[i]);
            r.high = fmax(r.high, values[i]);
        }
    }
    if (step->low < step->high) {
        r.low = fmax(r.low, fmin(step->low, 0));
        r.high = fmin(r.high, fmax(step->high, 0));
    }
    return r;
}

/* The scale at which every number of the operand has one of its own; 0: there is none. */
static double exact_scale(const struct nuc_function_step *step, double scale, double number)
{
    if (step->op == NUC_OP_RELU || step->op == NUC_OP_ABS)
        return scale;
    return step->op == NUC_OP_MUL && step->b == NUC_FUNCTION_NUMBER ? scale * fabs(number) : 0;
}

/* Scales are float32 in a program. */
static struct nuc_quant int8_quant(double scale, double zero)
{
    return (struct nuc_quant){.scale = (double)(float)scale,
                              .zero_point = (int64_t)fmin(fmax(zero, INT8_MIN), INT8_MAX),
                              .axis = -1,
                              .quant_min = INT8_MIN,
                              .quant_max = INT8_MAX,
                              .dtype = NUC_I8};
}

/* Of a value whose square is the result: what the result reaches. */
static struct range root_of(struct range r, const struct nuc_quant *square)
{
    double reach = sqrt((double)(square->quant_max - square->zero_point) * square->scale);

    return (struct range){fmax(r.low, -reach), fmin(r.high, reach)};
}

static struct nuc_quant choose(const struct nuc_function_step *step, const struct nuc_function_scales *s,
                               const double values[256], const struct nuc_quant *square)
{
    const double steps = INT8_MAX - INT8_MIN;
    struct range r = range_of(step, values);
    double exact = exact_scale(step, s->of[step->a].scale, nuc_function_number(step, s->params));

    if (square != NULL)
        r = root_of(r, square);
    if (step->op == NUC_OP_SIGMOID)
        return int8_quant(0x1p-8, INT8_MIN);
    if (step->op == NUC_OP_TANH)
        return int8_quant(0x1p-7, 0);
    double scale = fmax((r.high - r.low) / steps, (double)FLT_MIN);
    if (exact > 0 && (step->low < step->high ? scale > exact : (r.high - r.low) / exact <= steps + 0.5))
        scale = exact;
    return int8_quant(scale, round(INT8_MIN - r.low / scale));
}

void nuc_function_run(const struct nuc_function *f, struct nuc_function_scales *scales, double results[256])
{
    const struct nuc_function_step *last = &f->steps[f->n_steps - 1];
    double values[NUC_FUNCTION_MAX_STEPS + 1][256];

    for (int i = 0; i < 256; i++)
        values[0][i] = dequantized(&scales->of[0], i + INT8_MIN);
    for (uint32_t k = 1; k <= f->n_steps; k++) {
        const struct nuc_function_step *step = &f->steps[k - 1];
        double number = nuc_function_number(step, scales->params);
        for (int i = 0; i < 256; i++)
            values[k][i] = value_of(step, values[step->a][i], step->b < 0 ? number : values[step->b][i]);
        if (k < f->n_steps)
            scales->of[k] =
                choose(step, scales, values[k],
                       last->op == NUC_OP_MUL && last->a == last->b && (uint32_t)last->a == k ? &scales->of[f->n_steps]
                                                                                              : NULL);
        for (int i = 0; i < 256; i++) {
            double code = quantized(&scales->of[k], values[k][i]);
            values[k][i] = dequantized(&scales->of[k], code);
            if (k == f->n_steps)
                results[i] = code;
        }
    }
}

/* The function in steps of the output, as far as these go. */
static double in_steps(const struct nuc_quant *out, double value)
{
    return fmin(fmax(value / out->scale + (double)out->zero_point, (double)out->quant_min), (double)out->quant_max);
}

double nuc_function_loss(const struct nuc_function_scales *scales, uint32_t n_steps, const float exact[256],
                         const double results[256])
{
    const double deviation = 256.0 / 6.0;
    const struct nuc_quant *out = &scales->of[n_steps];
    double errors = 0, once = 0, rounding = 0, input = 0;

    for (int i = 0; i < 256; i++) {
        int before = i > 0 ? i - 1 : 0, after = i < 255 ? i + 1 : 255;
        double at = (i - 127.5) / deviation, weight = exp(-0.5 * at * at), steps = in_steps(out, (double)exact[i]);
        double slope =
            (in_steps(out, (double)exact[after]) - in_steps(out, (double)exact[before])) / (double)(after - before);
        if (fabs(results[i] - round(steps)) > NUC_FUNCTION_MAX_STEPS_OFF)
            return HUGE_VAL;
        errors += weight * pow(results[i] - steps, 2);
        once += weight * pow(round(steps) - steps, 2);
        rounding += weight / 12;
        input += weight * slope * slope / 12;
    }
    return 10 * log10((errors + input) / (fmax(once, rounding) + input));
}
