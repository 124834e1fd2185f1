/* Activations: what they may be, and when one alone would vanish. */
#include <math.h>

#include "compiler/support/facts.h"

/* ---- relu; hardtanh and clamp: self, min, max ---- */

/* The quantized value of a bound, clipped to the range of the quantized tensor. */
static double quantized_bound(const struct quant *q, double bound)
{
    double value = nearbyint(bound / q->scale) + (double)q->zero_point;

    return fmin(fmax(value, (double)q->quant_min), (double)q->quant_max);
}

/* A bound lies inside the input's range, so that the operator changes some value. `max` may be infinite: no bound. */
static bool clips_inside_range(const struct nuc_rule_query *q, double min, double max)
{
    struct quant in;

    if (!nuc_input_quant(q->node, 0, &in) || in.per_channel)
        return nuc_rule_report(q, "", "the input's range is not known");
    double low = quantized_bound(&in, min), lowest = (double)in.quant_min, highest = (double)in.quant_max;
    bool ok = isinf(max) ? lowest < low && low < highest : lowest < low || quantized_bound(&in, max) < highest;
    double range_min = (lowest - (double)in.zero_point) * in.scale,
           range_max = (highest - (double)in.zero_point) * in.scale;
    return ok || nuc_rule_report(q, "a bound inside the range", "input range %.6g to %.6g", range_min, range_max);
}

static bool relu_clips(const struct nuc_rule_query *q)
{
    return !nuc_is_alone(q->s, q->node) || clips_inside_range(q, 0.0, HUGE_VAL);
}

const struct nuc_support_rule nuc_relu_partition[] = {
    {"alone in its partition the activation clips some value of its input", relu_clips, 0},
    {NULL, NULL, 0},
};

struct bounds {
    double min, max;
};

/* Bounds a clamp does not give are infinite. */
static struct bounds bounds_of(const struct nuc_node *node)
{
    if (node->op == NUC_OP_EDGE_CLAMP)
        return (struct bounds){nuc_arg_number(node, 1, -HUGE_VAL), nuc_arg_number(node, 2, HUGE_VAL)};
    return (struct bounds){nuc_arg_number(node, 1, -1.0), nuc_arg_number(node, 2, 1.0)};
}

static bool equals(double a, double b)
{
    return !(a < b) && !(a > b);
}

/* Bounds with an operator of their own: ReluN1To1, Relu0To1, Relu6, and Relu with an infinite upper bound. */
static bool is_relu_like(struct bounds b, bool allow_infinite)
{
    if (equals(b.max, 1.0))
        return equals(b.min, -1.0) || equals(b.min, 0.0);
    return equals(b.min, 0.0) && (equals(b.max, 6.0) || (allow_infinite && isinf(b.max)));
}

static bool hardtanh_bounded(const struct nuc_rule_query *q)
{
    struct bounds b = bounds_of(q->node);
    return !isinf(b.min) || !isinf(b.max) || nuc_rule_report(q, "", "%g and %g", b.min, b.max);
}

static bool hardtanh_quantization(const struct nuc_rule_query *q)
{
    struct quant in, out;
    if (is_relu_like(bounds_of(q->node), true))
        return true;
    if (!nuc_input_quant(q->node, 0, &in) || !nuc_output_quant(q->node, 0, &out))
        return nuc_rule_report(q, "", "not quantized");
    if (nuc_same_parameters(&in, &out) && in.dtype == out.dtype)
        return true;
    return nuc_rule_report(q, "bounds -1..1, 0..1, 0..6, 0..inf otherwise", "input %.9g, %lld; output %.9g, %lld",
                           in.scale, (long long)in.zero_point, out.scale, (long long)out.zero_point);
}

const struct nuc_support_rule nuc_hardtanh_target[] = {
    {"at least one bound is finite", hardtanh_bounded, 0},
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {"input and output have the same scale and zero point, or the bounds are those of a ReLU", hardtanh_quantization,
     0},
    {NULL, NULL, 0},
};

/* Both bounds at or outside what the int8 input can hold. */
static bool bounds_are_loose(const struct nuc_node *node, struct bounds b)
{
    struct quant q;

    if (!nuc_input_quant(node, 0, &q) || q.dtype != NUC_I8 || q.per_channel)
        return false;
    return b.min <= (-128.0 - (double)q.zero_point) * q.scale && (127.0 - (double)q.zero_point) * q.scale <= b.max;
}

static bool hardtanh_clips(const struct nuc_rule_query *q)
{
    struct bounds b = bounds_of(q->node);
    if (!nuc_is_alone(q->s, q->node))
        return true;
    /* An infinite bound makes a ReLU when it is left out, not when it is written. */
    if (is_relu_like(b, q->node->args[2].kind == NUC_ARG_NONE))
        return clips_inside_range(q, b.min, b.max);
    return !bounds_are_loose(q->node, b) ||
           nuc_rule_report(q, "", "bounds %g and %g outside the input's range", b.min, b.max);
}

const struct nuc_support_rule nuc_hardtanh_partition[] = {
    {"alone in its partition the activation clips some value of its input", hardtanh_clips, 0},
    {NULL, NULL, 0},
};
