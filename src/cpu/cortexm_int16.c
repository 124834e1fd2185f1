/*
 * Functions of one int16 value, softmax and changes of width, as LiteRT Micro's reference kernels compute them. Source:
 * quantize.cc, activations.cc, leaky_relu.cc, elementwise.cc, logistic.cc, tanh.cc and softmax_common.cc of LiteRT
 * Micro.
 */
#include <math.h>

#include "cpu/cortexm_site.h"

bool nuc_cm_takes_int16(const struct nuc_cm_value *in, const struct nuc_cm_value *weight,
                        const struct nuc_cm_result *out)
{
    bool fits = weight->zero_point == 0;

    for (uint32_t i = 0; fits && i < weight->n_scales; i++)
        fits = in->scale * nuc_cm_channel_scale(weight, i) / out->params.scale < 1 << NUC_MOST_LONG_SHIFT;
    return fits;
}

/* ---- functions ---- */

/* LiteRT divides scales in float32 here. */
static double float_ratio(const struct nuc_cm_unary *u)
{
    return (double)((float)u->in.scale / (float)u->out.params.scale);
}

/* What is below 0 times `slope`, 1 or -1, by a factor of its own. */
static struct nuc_node *emit_halves(struct nuc_cm *c, const struct nuc_cm_unary *u, int8_t slope, double below,
                                    struct nuc_node *before)
{
    const struct nuc_multiplier p = nuc_multiplier_from_scale(float_ratio(u)),
                                n = nuc_multiplier_from_scale(fabs(below));
    const int64_t one = 1;
    struct nuc_node *slopes =
        nuc_cm_constant(c, u->out.value, "_slope", NUC_I8, &one, 1, nuc_copy(c->g->cx, &slope, 1));

    return nuc_emit(c->g, before, NUC_OP_NUCLEON_PRELU, u->out.value,
                    NUC_ARGS(u->in.node, slopes, 0, 0, p.multiplier, p.shift,
                             below < 0 ? -(int64_t)n.multiplier : n.multiplier, n.shift));
}

/*
 * Steps of the input are units of 1 / 12288: a number of 15 bits, shifted. LiteRT takes what is near some powers of two
 * for these.
 */
static struct nuc_node *emit_sigmoid(struct nuc_cm *c, const struct nuc_cm_unary *u, bool is_tanh,
                                     struct nuc_node *before)
{
    const double power = log2(u->in.scale), whole = nearbyint(power);
    double factor = u->in.scale * 12288.0;
    struct nuc_multiplier m = {0, 0};

    if (c->options->as_litert && fabs(power - whole) < 1e-3 && whole >= -12 && whole <= (is_tanh ? -11 : -12)) {
        m.multiplier = 3 << ((int)whole + 12);
    } else {
        for (; factor <= 32767.0 / 2.0 && m.shift <= 30; m.shift++)
            factor *= 2;
        m.multiplier = factor < 32768 ? (int32_t)factor : 0;
    }
    if (m.multiplier == 0 || !nuc_numbers_equal(u->out.params.scale, 0x1p-15))
        return NULL;
    return nuc_emit(c->g, before, NUC_OP_NUCLEON_SIGMOID, u->out.value,
                    NUC_ARGS(u->in.node, m.multiplier, m.shift, nuc_bool_arg(is_tanh)));
}

/* A positive number times the value, on either side, is another scale of it. */
static struct nuc_node *emit_multiple(struct nuc_cm *c, const struct nuc_cm_unary *u, struct nuc_node *node,
                                      struct nuc_node *before)
{
    struct nuc_cm_value times = u->in;
    double number;
    bool after = nuc_cm_number(c->g, nuc_arg_node(node, NUC_OTHER), &number);

    if (!after && (!nuc_cm_number(c->g, nuc_arg_node(node, NUC_SELF), &number) ||
                   !nuc_cm_tensor(node, NUC_OTHER, &times) || times.dtype != u->out.params.dtype))
        return NULL;
    times.scale *= number;
    return number > 0 && !c->options->as_litert && nuc_same_sizes(&times.node->vals[0], &node->vals[0])
               ? nuc_cm_requantize(c, &times, &u->out.params, before)
               : NULL;
}

/* NULL: there is no kernel of its own. */
static struct nuc_node *emit_function(struct nuc_cm *c, struct nuc_node *node, struct nuc_cm_unary *u,
                                      struct nuc_node *before)
{
    float alpha;

    switch ((int)node->op) {
    case NUC_OP_SIGMOID:
    case NUC_OP_TANH:
        return emit_sigmoid(c, u, node->op == NUC_OP_TANH, before);
    case NUC_OP_LEAKY_RELU:
        alpha = (float)nuc_scalar(node, NUC_ARG(LEAKY_RELU, negative_slope), 0);
        return emit_halves(c, u, 1, (double)((float)u->in.scale * alpha / (float)u->out.params.scale), before);
    case NUC_OP_MUL:
        return emit_multiple(c, u, node, before);
    case NUC_OP_ABS:
        return emit_halves(c, u, -1, float_ratio(u), before);
    default:
        break;
    }
    if (!nuc_has_bounds(node))
        return NULL;
    const struct nuc_bounds bounds = nuc_bounds_of(node);
    if (isnan(bounds.min))
        return NULL;
    u->out.low = bounds.min > -HUGE_VAL ? nuc_cm_quantize(&u->out.params, bounds.min) : u->out.low;
    u->out.high = bounds.max < HUGE_VAL ? nuc_cm_quantize(&u->out.params, bounds.max) : u->out.high;
    return nuc_cm_emit_requantize(c, &u->in, &u->out, float_ratio(u), before);
}

bool nuc_cm_lower_wide_function(struct nuc_cm *c, struct nuc_node *last)
{
    struct nuc_cm_unary u;

    if (!nuc_cm_is_own(c) || !nuc_cm_any_result(last, &u.out))
        return false;
    struct nuc_node *before = nuc_cm_place(&u.out);
    if (nuc_is_dequantize(last)) {
        if (!nuc_cm_operand(last, &u.in) || u.in.scales != NULL || nuc_is_static(u.in.node) ||
            (u.in.dtype == NUC_I8 && u.out.params.dtype == NUC_I8) || nuc_int_range(u.in.dtype).low >= 0)
            return false;
        return nuc_cm_replace(c, &u.out, nuc_cm_requantize(c, &u.in, &u.out.params, before));
    }
    if (u.out.params.dtype != NUC_I16 || !nuc_cm_read_unary(last, false, &u) || u.in.dtype != NUC_I16)
        return false;
    struct nuc_node *made = emit_function(c, last, &u, before);
    if (made != NULL)
        nuc_cm_replace(c, &u.out, made);
    return made != NULL;
}

/* ---- softmax ---- */

#define STEPS 512

static float exponential(float x)
{
    return (float)exp((double)x);
}

static float reciprocal(float x)
{
    return 1.0f / (1.0f + x);
}

/*
 * The values of `fn` from `low` on for numbers of 16 bits of which 7 are interpolated, as LiteRT takes them: half the
 * error in the middle is taken off the ends.
 */
static struct nuc_node *add_table(struct nuc_cm *c, const struct nuc_node *like, const char *suffix, float scale,
                                  int32_t zero_point, float (*fn)(float))
{
    const int64_t size = STEPS + 1;
    const float inverse = 65536.0f / (2.0f / UINT16_MAX * INT16_MAX - 2.0f / UINT16_MAX * INT16_MIN);
    const float low = scale * (float)(INT16_MIN - zero_point), high = scale * (float)(INT16_MAX - zero_point);
    const float step = (high - low) / STEPS;
    int16_t *table = nuc_alloc_array(c->g->cx, (size_t)size, sizeof *table);

    for (int i = 0; i < STEPS; i++) {
        float at = low + (float)i * step, value = fn(at), middle = fn(at + step / 2);
        float next = fn(low + (float)(i + 1) * step), sample = roundf(value * inverse);
        float between = roundf((next * inverse + sample) / 2), error = between - roundf(middle * inverse);
        table[i] = (int16_t)fminf(fmaxf(sample - roundf(error / 2), INT16_MIN), INT16_MAX);
    }
    table[STEPS] = (int16_t)fminf(fmaxf(roundf(fn(high) * inverse), INT16_MIN), INT16_MAX);
    return nuc_cm_constant(c, like, suffix, NUC_I16, &size, 1, table);
}

struct nuc_node *nuc_cm_emit_wide_softmax(struct nuc_cm *c, struct nuc_node *value, const struct nuc_cm_unary *u,
                                          int64_t dim, struct nuc_node *before)
{
    const struct nuc_multiplier m = nuc_multiplier_from_scale(u->in.scale / (10.0 / UINT16_MAX));
    struct nuc_node *exponentials =
        add_table(c, u->out.value, "_exponentials", 10.0f / UINT16_MAX, INT16_MAX, exponential);
    struct nuc_node *reciprocals = add_table(c, u->out.value, "_reciprocals", 1.0f / UINT16_MAX, INT16_MIN, reciprocal);

    return nuc_emit(c->g, before, NUC_OP_NUCLEON_SOFTMAX, u->out.value,
                    NUC_ARGS(value, dim, exponentials, reciprocals, m.multiplier, m.shift));
}
