/*
 * Functions of one int8 value as LiteRT's reference kernels compute them, in integers: those whose results differ from
 * the rounded real ones. Source: quantize.cc, hard_swish.h, leaky_relu.h, elementwise.cc, mul.h, prelu.h, elu.cc and
 * activations.cc of LiteRT.
 */
#include <math.h>

#include "cpu/cortexm_site.h"

struct site {
    const struct nuc_node *node; /* the function; NULL: a change of parameters */
    float in_scale, out_scale;
    int32_t in_zero, out_zero;
};

/* Of a real factor, which may be 0. */
static int32_t scaled(int32_t value, double factor)
{
    return factor > 0 ? nuc_requantize(value, nuc_multiplier_from_scale(factor)) : 0;
}

static int32_t requantized(const struct site *s, int32_t value)
{
    return scaled(value, (double)s->in_scale / (double)s->out_scale);
}

static int32_t absolute(const struct site *s, int32_t value)
{
    float factor = s->in_scale / s->out_scale;

    value = value < 0 ? -value : value;
    return factor < 1 || factor > 1 ? scaled(value, (double)factor) : value;
}

static int32_t leaky_relu(const struct site *s, int32_t value)
{
    float alpha = (float)nuc_scalar(s->node, NUC_ARG(LEAKY_RELU, negative_slope), 0);

    if (value >= 0)
        return scaled(value, (double)(s->in_scale / s->out_scale));
    int32_t below = scaled(value, fabs((double)(s->in_scale * alpha / s->out_scale)));
    return alpha < 0 ? -below : below;
}

/* A bound in steps of the result. */
static int32_t steps_of(const struct site *s, double bound)
{
    return (int32_t)fmin(fmax(round(bound / (double)s->out_scale), -0x1p30), 0x1p30);
}

static int32_t clipped(const struct site *s, int32_t value)
{
    const struct nuc_bounds b = nuc_bounds_of(s->node);

    return nuc_clamp_i32(scaled(value, (double)(s->in_scale / s->out_scale)), steps_of(s, b.min), steps_of(s, b.max));
}

static int32_t elu(const struct site *s, int32_t value)
{
    const float x = s->in_scale * (float)value, y = x < 0 ? expf(x) - 1.0f : x;

    return (int32_t)fminf(fmaxf(roundf(y * (1.0f / s->out_scale)), -0x1p30f), 0x1p30f);
}

static bool suits_elu(const struct site *s)
{
    return nuc_numbers_equal(nuc_scalar(s->node, NUC_ARG(ELU, alpha), 1), 1) &&
           nuc_numbers_equal(nuc_scalar(s->node, NUC_ARG(ELU, scale), 1), 1) &&
           nuc_numbers_equal(nuc_scalar(s->node, NUC_ARG(ELU, input_scale), 1), 1);
}

/* What a value is multiplied by, in steps of `scale`: a constant number, a slope, or the value itself. */
static int32_t factor_of(const struct site *s, int32_t value, double *scale)
{
    struct nuc_cm_value v;

    *scale = (double)s->in_scale;
    for (uint32_t arg = NUC_SELF; arg <= NUC_OTHER; arg++) {
        if (!nuc_cm_int8(nuc_arg_node(s->node, arg), &v) || !nuc_is_static(v.node))
            continue;
        *scale = v.scale;
        return *(const int8_t *)v.node->data->bytes.data - (int32_t)v.zero_point;
    }
    return value;
}

static int32_t multiplied(const struct site *s, int32_t value)
{
    double scale;
    const int32_t factor = factor_of(s, value, &scale);

    return scaled(value * factor, (double)s->in_scale * scale / (double)s->out_scale);
}

static int32_t prelu(const struct site *s, int32_t value)
{
    return value < 0 ? multiplied(s, value) : requantized(s, value);
}

/* Of numbers in eight bits, of one scale each. */
static bool suits_product(const struct site *s)
{
    struct nuc_cm_value a, b;

    return nuc_cm_int8(nuc_arg_node(s->node, NUC_SELF), &a) && nuc_cm_int8(nuc_arg_node(s->node, NUC_OTHER), &b) &&
           a.scales == NULL && b.scales == NULL;
}

/* ---- hard_swish, in 16 bits ---- */

static int16_t saturated(int32_t v)
{
    return (int16_t)nuc_clamp_i32(v, INT16_MIN, INT16_MAX);
}

/* The upper half of the doubled product, rounded or not. */
static int16_t high_product(int16_t a, int16_t b, bool rounds)
{
    int32_t product = a * b, nudge = product >= 0 ? 1 << 14 : 1 - (1 << 14);

    return saturated((product + (rounds ? nudge : 0)) / (1 << 15));
}

static int16_t upper_half(int32_t multiplier)
{
    const int32_t half = 1 << 15;

    return multiplier >= INT32_MAX - half ? INT16_MAX : (int16_t)((multiplier + half) >> 16);
}

/* Of the value times 128: to the result, and to the gate, whose 3 is all of 16 bits. */
struct swish_factors {
    struct nuc_multiplier out, gate;
};

static struct swish_factors swish_factors(const struct site *s)
{
    const float fine = (1.0f / 128.0f) * s->in_scale, unit = 3.0f / 32768.0f;

    return (struct swish_factors){nuc_multiplier_from_scale((double)(fine / s->out_scale)),
                                  nuc_multiplier_from_scale((double)(fine / unit))};
}

static int32_t hard_swish(const struct site *s, int32_t value)
{
    const struct swish_factors f = swish_factors(s);
    int16_t x = (int16_t)(value * (1 << 7)), open = x;

    if (f.gate.shift > 0)
        open = saturated(open * (1 << (f.gate.shift - 1)));
    open = high_product(open, upper_half(f.gate.multiplier), true);
    if (f.gate.shift > 0)
        open = saturated(open * 2);
    else
        open = (int16_t)nuc_rounding_shift_right(open, -f.gate.shift);
    open = (int16_t)((open + (1 << 15)) >> 1);
    int16_t product = high_product(open, high_product(x, upper_half(f.out.multiplier), true), false);
    return nuc_rounding_shift_right(product, -f.out.shift);
}

/* The scales that 16 bits are made for. */
static bool suits_hard_swish(const struct site *s)
{
    const struct swish_factors f = swish_factors(s);

    return f.out.shift <= 0 && f.out.shift > -16 && f.gate.shift > -16 && f.gate.shift < 16;
}

/* Of eight bits, about the zero point; a value that saturates may be any. */
static int8_t around(int32_t value, int32_t zero)
{
    return (int8_t)nuc_clamp_i32(nuc_clamp_i32(value, -(1 << 30), 1 << 30) + zero, INT8_MIN, INT8_MAX);
}

typedef int32_t value_function(const struct site *s, int32_t value);

bool nuc_cm_litert_table(const struct nuc_cm *c, const struct nuc_node *node, const struct nuc_cm_value *in,
                         const struct nuc_cm_value *out, int8_t table[256])
{
    static const struct row {
        enum nuc_op op;
        value_function *fn;
        bool (*suits)(const struct site *s); /* NULL: always */
    } change = {.fn = requantized}, rows[] = {{NUC_OP_ABS, absolute, NULL},
                                              {NUC_OP_LEAKY_RELU, leaky_relu, NULL},
                                              {NUC_OP_HARDSWISH, hard_swish, suits_hard_swish},
                                              {NUC_OP_RELU, clipped, NULL},
                                              {NUC_OP_HARDTANH, clipped, NULL},
                                              {NUC_OP_ELU, elu, suits_elu},
                                              {NUC_OP_PRELU, prelu, suits_product},
                                              {NUC_OP_MUL, multiplied, suits_product}};
    const struct site s = {node, (float)in->scale, (float)out->scale, (int32_t)in->zero_point,
                           (int32_t)out->zero_point};
    const struct row *row = node == NULL ? &change : NULL;

    for (size_t i = 0; node != NULL && i < sizeof rows / sizeof rows[0]; i++)
        row = rows[i].op == node->op ? &rows[i] : row;
    if (!c->options->as_litert || row == NULL || (row->suits != NULL && !row->suits(&s)))
        return false;
    for (int32_t q = INT8_MIN; q <= INT8_MAX; q++)
        table[q - INT8_MIN] = around(row->fn(&s, q - s.in_zero), s.out_zero);
    return true;
}

int8_t nuc_cm_litert_part(const struct nuc_cm_value *from, const struct nuc_cm_value *to, int32_t q)
{
    const float inverse = 1.0f / (float)to->scale, scale = (float)from->scale * inverse;
    const float bias = (float)(INT8_MIN - (int32_t)from->zero_point) * scale;
    const float value = roundf((float)(q - INT8_MIN) * scale + bias);

    return around((int32_t)fminf(fmaxf(value, -0x1p30f), 0x1p30f), (int32_t)to->zero_point);
}
