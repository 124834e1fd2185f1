/*
 * Functions of one int8 value as tables of 256 entries. Source of the formulas: LiteRT's int8 kernels (activations,
 * elementwise, hard_swish, leaky_relu, requantize, LUTPopulate); LOG, for which it has none, is the real function of
 * the dequantized input rounded once.
 */
#include <math.h>

#include "device/base/microcode_binary.h"
#include "npu/convert/conversion.h"

struct curve {
    struct nuc_cv_params in, out;
    const struct nuc_lt_op *op;
    float low, high; /* of functions that clip */
};

static int8_t saturate(int64_t v)
{
    return nuc_saturate_i8(nuc_saturate_i32(v));
}

/* Multiplier of a quotient that LiteRT forms in float. */
static struct nuc_multiplier float_ratio(float a, float b)
{
    return nuc_multiplier_from_scale((double)(a / b));
}

static int8_t clip(const struct curve *c, int q)
{
    struct nuc_multiplier m = float_ratio(c->in.scale, c->out.scale);
    int32_t v = nuc_saturate_i32((int64_t)c->out.zero + nuc_requantize(q - c->in.zero, m));

    return (int8_t)nuc_clamp_i32(v, nuc_cv_quantized(c->out, c->low), nuc_cv_quantized(c->out, c->high));
}

static int8_t requantized(const struct curve *c, int q)
{
    struct nuc_multiplier m = nuc_multiplier_from_scale((double)c->in.scale / (double)c->out.scale);

    return saturate((int64_t)nuc_requantize(q - c->in.zero, m) + c->out.zero);
}

static int8_t absolute(const struct curve *c, int q)
{
    int32_t v = q >= c->in.zero ? q - c->in.zero : c->in.zero - q;

    if (c->in.scale != c->out.scale)
        v = nuc_requantize(v, float_ratio(c->in.scale, c->out.scale));
    return saturate((int64_t)v + c->out.zero);
}

static int8_t leaky_relu(const struct curve *c, int q)
{
    float alpha = c->op->options.leaky_relu.alpha;
    int32_t v = q - c->in.zero;

    if (v >= 0)
        return saturate((int64_t)nuc_requantize(v, float_ratio(c->in.scale, c->out.scale)) + c->out.zero);
    int32_t scaled = nuc_requantize(v, float_ratio(c->in.scale * fabsf(alpha), c->out.scale));
    return saturate((int64_t)(alpha < 0.0f ? -(int64_t)scaled : scaled) + c->out.zero);
}

/* A quotient by the output's scale, rounded half away from zero; what is not a number is 0. */
static int8_t nearest(const struct curve *c, double quotient)
{
    double steps = isnan(quotient) ? 0 : fmin(fmax(round(quotient), -1024.0), 1024.0);

    return saturate((int64_t)steps + c->out.zero);
}

/*
 * A real function of the dequantized value, rounded half away from zero in float as LiteRT's tables are. The functions
 * themselves are taken in double and rounded to float, which gives the same value with every C library.
 */
static int8_t from_float(const struct curve *c, float value)
{
    return nearest(c, (double)(value * (1.0f / c->out.scale)));
}

static float dequantized(const struct curve *c, int q)
{
    return c->in.scale * (float)(q - c->in.zero);
}

static int8_t hyperbolic_tangent(const struct curve *c, int q)
{
    return from_float(c, (float)tanh((double)dequantized(c, q)));
}

static int8_t logistic(const struct curve *c, int q)
{
    return from_float(c, 1.0f / (1.0f + (float)exp(-(double)dequantized(c, q))));
}

static int8_t exponential(const struct curve *c, int q)
{
    return from_float(c, (float)exp((double)dequantized(c, q)));
}

/* log of 0 and below: the smallest value, as the limit. */
static int8_t logarithm(const struct curve *c, int q)
{
    double x = (double)c->in.scale * (q - c->in.zero);

    if (!(x > 0.0))
        return INT8_MIN;
    return nearest(c, log(x) / (double)c->out.scale);
}

/* LiteRT gives the largest value at 0; below, where the root does not exist, the same. */
static int8_t reciprocal_root(const struct curve *c, int q)
{
    double x = (double)c->in.scale * (q - c->in.zero);

    if (!(x > 0.0))
        return INT8_MAX;
    return nearest(c, 1.0 / sqrt(x) / (double)c->out.scale);
}

static int16_t high_mul16(int16_t a, int16_t b)
{
    int32_t product = a * b;

    if (a == INT16_MIN && b == INT16_MIN)
        return INT16_MAX;
    return (int16_t)((product + (product >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15));
}

static int16_t shift_left16(int16_t v, int bits)
{
    int64_t wide = (int64_t)v * ((int64_t)1 << bits);

    return (int16_t)(wide > INT16_MAX ? INT16_MAX : wide < INT16_MIN ? INT16_MIN : wide);
}

/* A multiplier of 31 bits rounded to 15. */
static int16_t multiplier16(int32_t m)
{
    return (int16_t)(m >= INT32_MAX - (1 << 15) ? INT16_MAX : (m + (1 << 15)) >> 16);
}

/* (x + 3) / 6 clipped to [0, 1] as a fraction of 2^15; `hires` is the input times 2^7. */
static int16_t hard_gate(const struct curve *c, int16_t hires)
{
    float scale = 1.0f / 128.0f * c->in.scale / (3.0f / 32768.0f);
    struct nuc_multiplier m = nuc_multiplier_from_scale((double)scale);
    int16_t v = hires;

    if (m.shift > 0)
        v = shift_left16(v, m.shift - 1);
    v = high_mul16(v, multiplier16(m.multiplier));
    if (m.shift > 0)
        v = shift_left16(v, 1);
    else if (m.shift < 0)
        v = (int16_t)nuc_rounding_shift_right(v, -m.shift);
    return (int16_t)((v + (1 << 15)) >> 1);
}

static int8_t hard_swish(const struct curve *c, int q)
{
    int16_t hires = (int16_t)((q - c->in.zero) * 128);
    struct nuc_multiplier m = nuc_multiplier_from_scale((double)(1.0f / 128.0f * c->in.scale / c->out.scale));
    int32_t value = high_mul16(hires, multiplier16(m.multiplier));
    int32_t product = hard_gate(c, hires) * value / (1 << 15);

    if (m.shift > 0) {
        /* An input step of over 128 output steps is beyond LiteRT's formula, which shifts to the right only. */
        double x = (double)c->in.scale * (q - c->in.zero);
        return nearest(c, x * fmin(fmax(x + 3.0, 0.0), 6.0) / 6.0 / (double)c->out.scale);
    }
    return saturate((int64_t)nuc_rounding_shift_right(product, -m.shift) + c->out.zero);
}

struct function {
    int8_t (*value)(const struct curve *c, int q);
    float low, high;
};

static const struct function functions[NUC_LT_CODES] = {
#define LT_FUNCTION(name, number, type, rule, function, graph) [number] = {function, 0.0f, INFINITY},
#define LT_CLIP(name, number, low, high) [number] = {clip, low, high},
#include "litert/lt_ops.def"
    [NUC_LT_LEAKY_RELU] = {leaky_relu, 0.0f, 0.0f},
    [NUC_LT_QUANTIZE] = {requantized, 0.0f, 0.0f},
};

/* A constant operand of one element. */
static bool is_scalar(const struct nuc_lt_tensor *t)
{
    return t && t->data.data && t->dtype == NUC_I8 && nuc_lt_elements(t) == 1 && t->data.size >= 1;
}

/* An operator of two operands of which one is a constant of one element. */
static const int8_t *scalar_table(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    const struct nuc_lt_tensor *a = nuc_cv_in(cv, n, 0), *b = nuc_cv_in(cv, n, 1);
    uint32_t opcode;

    if (!a || !b || is_scalar(a) == is_scalar(b) ||
        nuc_lt_elements(nuc_cv_y(cv, n)) != nuc_lt_elements(is_scalar(a) ? b : a))
        return NULL;
    struct nuc_mc_binary e = nuc_cv_binary(cv, n, &opcode);
    int8_t *table = nuc_alloc(cv->cx, 256);
    for (int q = INT8_MIN; q <= INT8_MAX; q++) {
        int8_t qa = is_scalar(a) ? (int8_t)a->data.data[0] : (int8_t)q;
        int8_t qb = is_scalar(b) ? (int8_t)b->data.data[0] : (int8_t)q;
        table[q + 128] = nuc_mc_binary_value(&e, opcode, qa, qb);
    }
    return table;
}

const int8_t *nuc_cv_table(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    int32_t code = n->op->code;

    if (code >= 0 && code < NUC_LT_CODES && functions[code].value != NULL) {
        const struct function *f = &functions[code];
        struct curve c = {nuc_cv_params(cv, n, nuc_cv_x(cv, n)), nuc_cv_params(cv, n, nuc_cv_y(cv, n)), n->op, f->low,
                          f->high};
        int8_t *table = nuc_alloc(cv->cx, 256);
        for (int q = INT8_MIN; q <= INT8_MAX; q++)
            table[q + 128] = f->value(&c, q);
        return table;
    }
    return nuc_cv_is_binary(code) ? scalar_table(cv, n) : NULL;
}
