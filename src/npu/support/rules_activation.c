/* Activations: what they may be, and when one alone would vanish. */
#include <math.h>

#include "npu/support/rules.h"

/* ---- relu; hardtanh and clamp: self, min, max ---- */

/* The quantized value of a bound, clipped to the range of the quantized tensor. */
static double quantized_bound(const struct nuc_quant *q, double bound)
{
    double value = nearbyint(bound / q->scale) + (double)q->zero_point;

    return fmin(fmax(value, (double)q->quant_min), (double)q->quant_max);
}

/* A bound lies inside the input's range, so that the operator changes some value. `max` may be infinite: no bound. */
static bool clips_inside_range(const struct nuc_rule_query *q, double min, double max)
{
    struct nuc_quant in;

    if (!nuc_input_quant(q->node, NUC_SELF, &in) || in.per_channel)
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

#define RULE_CLIPS(holds) RULE("alone in its partition the activation clips some value of its input", holds, 0)

static bool hardtanh_bounded(const struct nuc_rule_query *q)
{
    struct nuc_bounds b = nuc_bounds_of(q->node);
    return isfinite(b.min) || isfinite(b.max) || nuc_rule_report(q, "", "%g and %g", b.min, b.max);
}

static bool hardtanh_quantization(const struct nuc_rule_query *q)
{
    struct nuc_quant in, out;
    if (nuc_is_relu_like(nuc_bounds_of(q->node), true))
        return true;
    if (!nuc_input_quant(q->node, NUC_SELF, &in) || !nuc_output_quant(q->node, 0, &out))
        return nuc_rule_report(q, "", "not quantized");
    if (nuc_same_parameters(&in, &out) && in.dtype == out.dtype)
        return true;
    return nuc_rule_report(q, "bounds -1..1, 0..1, 0..6, 0..inf otherwise", "input %.9g, %lld; output %.9g, %lld",
                           in.scale, (long long)in.zero_point, out.scale, (long long)out.zero_point);
}

/* Both bounds at or outside what the int8 input can hold. */
static bool bounds_are_loose(const struct nuc_node *node, struct nuc_bounds b)
{
    struct nuc_quant q;

    if (!nuc_input_quant(node, NUC_SELF, &q) || q.dtype != NUC_I8 || q.per_channel)
        return false;
    return b.min <= (-128.0 - (double)q.zero_point) * q.scale && (127.0 - (double)q.zero_point) * q.scale <= b.max;
}

static bool hardtanh_clips(const struct nuc_rule_query *q)
{
    struct nuc_bounds b = nuc_bounds_of(q->node);
    if (!nuc_is_alone(q->s, q->node))
        return true;
    /* An infinite bound makes a ReLU when it is left out, not when it is written. */
    if (nuc_is_relu_like(b, nuc_arg_at(q->node, NUC_ARG(CLAMP, max))->kind == NUC_ARG_NONE))
        return clips_inside_range(q, b.min, b.max);
    return !bounds_are_loose(q->node, b) ||
           nuc_rule_report(q, "", "bounds %g and %g outside the input's range", b.min, b.max);
}

/* ---- rows ---- */

const struct nuc_support_row nuc_activation_rows[] = {
    {.ops = NUC_OPS(NUC_OP_RELU), .target = nuc_unary_target, .partition = RULES(RULE_CLIPS(relu_clips))},
    {.ops = NUC_OPS(NUC_OP_HARDTANH, NUC_OP_CLAMP),
     .target = RULES(RULE("at least one bound is finite", hardtanh_bounded, 0), RULE_INPUT_8BIT, RULE_OUTPUT_8BIT,
                     RULE("input and output have the same scale and zero point, or the bounds are those of a ReLU",
                          hardtanh_quantization, 0)),
     .partition = RULES(RULE_CLIPS(hardtanh_clips))},
    ROWS_END,
};
