/* Matrix products, addition, softmax, reductions, activations. */
#include <math.h>

#include "compiler/support/facts.h"

/* ---- addmm: bias, input, weight, beta, alpha; mm: input, weight ---- */

/* param: how many */
static bool has_distinct_inputs(const struct nuc_rule_query *q)
{
    const struct nuc_node *inputs[4];
    uint32_t count = distinct_inputs(q->node, inputs, 4);
    return count == q->param || report(q, nuc_format(q->s->g->cx, "%u", q->param), "%u", count);
}

/* param: position of the weight */
static bool weight_is_matrix(const struct nuc_rule_query *q)
{
    uint32_t rank = input_meta(q->node, q->param)->rank;
    return rank == 2 || report(q, "2", "%u", rank);
}

static bool addmm_factors(const struct nuc_rule_query *q)
{
    double beta = arg_number(q->node, 3, 1.0), alpha = arg_number(q->node, 4, 1.0);
    bool ones = !(beta < 1.0) && !(beta > 1.0) && !(alpha < 1.0) && !(alpha > 1.0);
    return ones || report(q, "1, 1", "beta %g, alpha %g", beta, alpha);
}

static bool addmm_result(const struct nuc_rule_query *q)
{
    return q->node->vals[0].rank == 2 || report(q, "2", "%u", q->node->vals[0].rank);
}

static bool addmm_bias_shape(const struct nuc_rule_query *q)
{
    const struct nuc_meta *bias = input_meta(q->node, 0);
    int64_t p = q->node->vals[0].sizes[1];
    bool fits =
        (bias->rank == 1 && bias->sizes[0] == p) || (bias->rank == 2 && bias->sizes[0] == 1 && bias->sizes[1] == p);
    return fits || report(q, nuc_format(q->s->g->cx, "[%lld], [1, %lld]", (long long)p, (long long)p), "%s",
                          nuc_meta_text(q->s->g->cx, bias));
}

const struct nuc_support_rule addmm_ir[] = {
    {"bias, input and weight are three different tensors", has_distinct_inputs, 3},
    {"the weight has 2 dimensions", weight_is_matrix, 2},
    {"beta and alpha are 1", addmm_factors, 0},
    {"the result has 2 dimensions", addmm_result, 0},
    {"the bias has one element for each output feature", addmm_bias_shape, 0},
    {NULL, NULL, 0},
};

const struct nuc_support_rule addmm_target[] = {
    {"the data input is quantized to int8 or uint8", inputs_are_8bit, 1 << 1},
    RULE_OUTPUT_8BIT,
    {"the weight is quantized to int8", input_is_int8, 2},
    {"the bias is quantized to int32", input_is_int32, 0},
    {"the weight is a parameter", weight_is_static, 2},
    {"the bias is a parameter", input_is_static, 0},
    {NULL, NULL, 0},
};

const struct nuc_support_rule mm_ir[] = {
    {"input and weight are two different tensors", has_distinct_inputs, 2},
    {"the weight has 2 dimensions", weight_is_matrix, 1},
    {NULL, NULL, 0},
};

const struct nuc_support_rule mm_target[] = {
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {"the weight is quantized to int8", input_is_int8, 1},
    {"the weight is a parameter", weight_is_static, 1},
    {NULL, NULL, 0},
};

/* ---- add: self, other, alpha ---- */

static bool add_alpha(const struct nuc_rule_query *q)
{
    double alpha = arg_number(q->node, 2, 1.0);
    return (!(alpha < 1.0) && !(alpha > 1.0)) || report(q, "1", "%g", alpha);
}

const struct nuc_support_rule add_ir[] = {
    {"alpha is 1", add_alpha, 0},
    {NULL, NULL, 0},
};

const struct nuc_support_rule add_target[] = {
    {"one input has as many elements as the output", one_input_is_whole, 0},
    RULE_INPUTS_8BIT,
    RULE_OUTPUT_8BIT,
    {NULL, NULL, 0},
};

/* ---- softmax: self, dim, half_to_float ---- */

static uint32_t channels_dim(const struct nuc_node *node)
{
    uint32_t rank = node->vals[0].rank;

    if (node->format == NUC_CHANNELS_FIRST)
        return 1;
    return rank > 0 ? rank - 1 : 0;
}

/* Size of the channels dimension and product of the others; saturates. */
static void softmax_sizes(const struct nuc_node *node, int64_t *channels, int64_t *rows)
{
    const struct nuc_meta *m = &node->vals[0];
    uint32_t c = channels_dim(node);

    *channels = m->rank > c ? m->sizes[c] : 1;
    *rows = 1;
    for (uint32_t i = 0; i < m->rank; i++) {
        if (i != c && __builtin_mul_overflow(*rows, m->sizes[i], rows))
            *rows = INT64_MAX;
    }
}

static bool softmax_dim(const struct nuc_rule_query *q)
{
    int64_t rank = q->node->vals[0].rank, dim = q->node->args[1].kind == NUC_ARG_INT ? q->node->args[1].u.i : 0;
    int64_t c = channels_dim(q->node);
    dim = dim < 0 ? dim + rank : dim;
    return dim == c || report(q, nuc_format(q->s->g->cx, "%lld", (long long)c), "%lld", (long long)dim);
}

static bool softmax_not_half(const struct nuc_rule_query *q)
{
    return !arg_flag(q->node, 2) || report(q, "false", "true");
}

const struct nuc_support_rule softmax_ir[] = {
    {"the dimension is the channels: 1 for channels-first data, else the last", softmax_dim, 0},
    {"half_to_float is false", softmax_not_half, 0},
    {NULL, NULL, 0},
};

static bool softmax_channels(const struct nuc_rule_query *q)
{
    int64_t channels, rows;
    softmax_sizes(q->node, &channels, &rows);
    return channels <= q->s->target->max_softmax_channels ||
           report(q, nuc_format(q->s->g->cx, "%lld", (long long)q->s->target->max_softmax_channels), "%lld",
                  (long long)channels);
}

static bool softmax_rows(const struct nuc_rule_query *q)
{
    int64_t channels, rows;
    softmax_sizes(q->node, &channels, &rows);
    return rows <= q->s->target->max_softmax_rows ||
           report(q, nuc_format(q->s->g->cx, "%lld", (long long)q->s->target->max_softmax_rows), "%lld",
                  (long long)rows);
}

static bool softmax_elements(const struct nuc_rule_query *q)
{
    int64_t channels, rows, product;
    softmax_sizes(q->node, &channels, &rows);
    bool overflow = __builtin_mul_overflow(channels, rows, &product);
    return (!overflow && product <= q->s->target->max_softmax_elements) ||
           report(q, nuc_format(q->s->g->cx, "%lld", (long long)q->s->target->max_softmax_elements), "%lld x %lld",
                  (long long)channels, (long long)rows);
}

const struct nuc_support_rule softmax_target[] = {
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {"the channels fit the hardware", softmax_channels, 0},
    {"the product of the other dimensions fits the hardware", softmax_rows, 0},
    {"the number of elements fits the hardware", softmax_elements, 0},
    {NULL, NULL, 0},
};

/* ---- mean: self, dim, keepdim ---- */

const struct nuc_support_rule mean_ir[] = {
    RULE_SHARED_QUANTIZATION,
    {NULL, NULL, 0},
};

const struct nuc_support_rule mean_target[] = {
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {NULL, NULL, 0},
};

static bool mean_reduces(const struct nuc_rule_query *q)
{
    const struct nuc_meta *in = input_meta(q->node, 0);
    uint32_t mask = reduced_dims(q->node);
    if (!is_alone(q->s, q->node) || !arg_flag(q->node, 2))
        return true;
    for (uint32_t i = 0; i < in->rank; i++) {
        if ((mask >> i & 1) != 0 && in->sizes[i] != 1)
            return true;
    }
    return report(q, "", "every reduced dimension has size 1");
}

const struct nuc_support_rule mean_partition[] = {
    {"alone in its partition the reduction changes its data", mean_reduces, 0},
    {NULL, NULL, 0},
};

/* ---- relu, hardtanh: self, min_val, max_val ---- */

const struct nuc_support_rule relu_target[] = {
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {NULL, NULL, 0},
};

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

    if (!input_quant(q->node, 0, &in) || in.per_channel)
        return report(q, "", "the input's range is not known");
    double low = quantized_bound(&in, min), lowest = (double)in.quant_min, highest = (double)in.quant_max;
    bool ok = isinf(max) ? lowest < low && low < highest : lowest < low || quantized_bound(&in, max) < highest;
    double range_min = (lowest - (double)in.zero_point) * in.scale,
           range_max = (highest - (double)in.zero_point) * in.scale;
    return ok || report(q, "a bound inside the range", "input range %.6g to %.6g", range_min, range_max);
}

static bool relu_clips(const struct nuc_rule_query *q)
{
    return !is_alone(q->s, q->node) || clips_inside_range(q, 0.0, HUGE_VAL);
}

const struct nuc_support_rule relu_partition[] = {
    {"alone in its partition the activation clips some value of its input", relu_clips, 0},
    {NULL, NULL, 0},
};

struct bounds {
    double min, max;
};

static struct bounds bounds_of(const struct nuc_node *node)
{
    return (struct bounds){arg_number(node, 1, -1.0), arg_number(node, 2, 1.0)};
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
    return !isinf(b.min) || !isinf(b.max) || report(q, "", "%g and %g", b.min, b.max);
}

static bool hardtanh_quantization(const struct nuc_rule_query *q)
{
    struct quant in, out;
    if (is_relu_like(bounds_of(q->node), true))
        return true;
    if (!input_quant(q->node, 0, &in) || !output_quant(q->node, 0, &out))
        return report(q, "", "not quantized");
    if (same_parameters(&in, &out) && in.dtype == out.dtype)
        return true;
    return report(q, "bounds -1..1, 0..1, 0..6, 0..inf otherwise", "input %.9g, %lld; output %.9g, %lld", in.scale,
                  (long long)in.zero_point, out.scale, (long long)out.zero_point);
}

const struct nuc_support_rule hardtanh_target[] = {
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

    if (!input_quant(node, 0, &q) || q.dtype != NUC_I8 || q.per_channel)
        return false;
    return b.min <= (-128.0 - (double)q.zero_point) * q.scale && (127.0 - (double)q.zero_point) * q.scale <= b.max;
}

static bool hardtanh_clips(const struct nuc_rule_query *q)
{
    struct bounds b = bounds_of(q->node);
    if (!is_alone(q->s, q->node))
        return true;
    if (is_relu_like(b, false))
        return clips_inside_range(q, b.min, b.max);
    return !bounds_are_loose(q->node, b) || report(q, "", "bounds %g and %g outside the input's range", b.min, b.max);
}

const struct nuc_support_rule hardtanh_partition[] = {
    {"alone in its partition the activation clips some value of its input", hardtanh_clips, 0},
    {NULL, NULL, 0},
};
