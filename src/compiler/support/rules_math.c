/* Matrix products, sums of two tensors, softmax, reductions. */
#include "compiler/support/facts.h"

/* ---- addmm: bias, input, weight, beta, alpha; mm: input, weight ---- */

/* param: how many */
static bool has_distinct_inputs(const struct nuc_rule_query *q)
{
    const struct nuc_node *inputs[4];
    uint32_t count = nuc_distinct_inputs(q->node, inputs, 4);
    return count == q->param || nuc_rule_report(q, nuc_format(q->s->g->cx, "%u", q->param), "%u", count);
}

/* param: position of the weight */
static bool weight_is_matrix(const struct nuc_rule_query *q)
{
    uint32_t rank = nuc_input_meta(q->node, q->param)->rank;
    return rank == 2 || nuc_rule_report(q, "2", "%u", rank);
}

static bool addmm_factors(const struct nuc_rule_query *q)
{
    double beta = nuc_arg_number(q->node, 3, 1.0), alpha = nuc_arg_number(q->node, 4, 1.0);
    bool ones = !(beta < 1.0) && !(beta > 1.0) && !(alpha < 1.0) && !(alpha > 1.0);
    return ones || nuc_rule_report(q, "1, 1", "beta %g, alpha %g", beta, alpha);
}

static bool addmm_result(const struct nuc_rule_query *q)
{
    return q->node->vals[0].rank == 2 || nuc_rule_report(q, "2", "%u", q->node->vals[0].rank);
}

static bool addmm_bias_shape(const struct nuc_rule_query *q)
{
    const struct nuc_meta *bias = nuc_input_meta(q->node, 0);
    int64_t p = q->node->vals[0].sizes[1];
    bool fits =
        (bias->rank == 1 && bias->sizes[0] == p) || (bias->rank == 2 && bias->sizes[0] == 1 && bias->sizes[1] == p);
    return fits || nuc_rule_report(q, nuc_format(q->s->g->cx, "[%lld], [1, %lld]", (long long)p, (long long)p), "%s",
                                   nuc_meta_text(q->s->g->cx, bias));
}

const struct nuc_support_rule nuc_addmm_ir[] = {
    {"bias, input and weight are three different tensors", has_distinct_inputs, 3},
    {"the weight has 2 dimensions", weight_is_matrix, 2},
    {"beta and alpha are 1", addmm_factors, 0},
    {"the result has 2 dimensions", addmm_result, 0},
    {"the bias has one element for each output feature", addmm_bias_shape, 0},
    {NULL, NULL, 0},
};

const struct nuc_support_rule nuc_addmm_target[] = {
    {"the data input is quantized to int8 or uint8", nuc_inputs_are_8bit, 1 << 1},
    RULE_OUTPUT_8BIT,
    {"the weight is quantized to int8", nuc_input_is_int8, 2},
    {"the bias is quantized to int32", nuc_input_is_int32, 0},
    {"the weight is a parameter", nuc_weight_is_static, 2},
    {"the bias is a parameter", nuc_input_is_static, 0},
    {NULL, NULL, 0},
};

const struct nuc_support_rule nuc_mm_ir[] = {
    {"input and weight are two different tensors", has_distinct_inputs, 2},
    {"the weight has 2 dimensions", weight_is_matrix, 1},
    {NULL, NULL, 0},
};

const struct nuc_support_rule nuc_mm_target[] = {
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {"the weight is quantized to int8", nuc_input_is_int8, 1},
    {"the weight is a parameter", nuc_weight_is_static, 1},
    {NULL, NULL, 0},
};

/* ---- bmm: self, mat2 ---- */

static bool bmm_zero_points(const struct nuc_rule_query *q)
{
    struct quant a, b;
    if (!nuc_input_quant(q->node, 0, &a) || !nuc_input_quant(q->node, 1, &b))
        return nuc_rule_report(q, "0 and 0", "a factor that is not quantized");
    return (!a.per_channel && !b.per_channel && a.zero_point == 0 && b.zero_point == 0) ||
           nuc_rule_report(q, "0 and 0", "%lld and %lld", (long long)a.zero_point, (long long)b.zero_point);
}

const struct nuc_support_rule nuc_bmm_target[] = {
    RULE_INPUTS_8BIT,
    RULE_OUTPUT_8BIT,
    {"both factors have zero point 0", bmm_zero_points, 0},
    {NULL, NULL, 0},
};

/* ---- add, sub: self, other, alpha ---- */

static bool add_alpha(const struct nuc_rule_query *q)
{
    double alpha = nuc_arg_number(q->node, 2, 1.0);
    return (!(alpha < 1.0) && !(alpha > 1.0)) || nuc_rule_report(q, "1", "%g", alpha);
}

const struct nuc_support_rule nuc_add_ir[] = {
    {"alpha is 1", add_alpha, 0},
    {NULL, NULL, 0},
};

const struct nuc_support_rule nuc_add_target[] = {
    {"one input has as many elements as the output", nuc_one_input_is_whole, 0},
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
    return dim == c || nuc_rule_report(q, nuc_format(q->s->g->cx, "%lld", (long long)c), "%lld", (long long)dim);
}

static bool softmax_not_half(const struct nuc_rule_query *q)
{
    return !nuc_arg_flag(q->node, 2) || nuc_rule_report(q, "false", "true");
}

const struct nuc_support_rule nuc_softmax_ir[] = {
    {"the dimension is the channels: 1 for channels-first data, else the last", softmax_dim, 0},
    {"half_to_float is false", softmax_not_half, 0},
    {NULL, NULL, 0},
};

static bool softmax_channels(const struct nuc_rule_query *q)
{
    int64_t channels, rows;
    softmax_sizes(q->node, &channels, &rows);
    return channels <= q->s->target->max_softmax_channels ||
           nuc_rule_report(q, nuc_format(q->s->g->cx, "%lld", (long long)q->s->target->max_softmax_channels), "%lld",
                           (long long)channels);
}

static bool softmax_rows(const struct nuc_rule_query *q)
{
    int64_t channels, rows;
    softmax_sizes(q->node, &channels, &rows);
    return rows <= q->s->target->max_softmax_rows ||
           nuc_rule_report(q, nuc_format(q->s->g->cx, "%lld", (long long)q->s->target->max_softmax_rows), "%lld",
                           (long long)rows);
}

static bool softmax_elements(const struct nuc_rule_query *q)
{
    int64_t channels, rows, product;
    softmax_sizes(q->node, &channels, &rows);
    bool overflow = __builtin_mul_overflow(channels, rows, &product);
    return (!overflow && product <= q->s->target->max_softmax_elements) ||
           nuc_rule_report(q, nuc_format(q->s->g->cx, "%lld", (long long)q->s->target->max_softmax_elements),
                           "%lld x %lld", (long long)channels, (long long)rows);
}

const struct nuc_support_rule nuc_softmax_target[] = {
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {"the channels fit the hardware", softmax_channels, 0},
    {"the product of the other dimensions fits the hardware", softmax_rows, 0},
    {"the number of elements fits the hardware", softmax_elements, 0},
    {NULL, NULL, 0},
};

/* ---- mean: self, dim, keepdim ---- */

const struct nuc_support_rule nuc_mean_ir[] = {
    RULE_SHARED_QUANTIZATION,
    {NULL, NULL, 0},
};

const struct nuc_support_rule nuc_mean_target[] = {
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {NULL, NULL, 0},
};

static bool mean_reduces(const struct nuc_rule_query *q)
{
    const struct nuc_meta *in = nuc_input_meta(q->node, 0);
    uint32_t mask = nuc_reduced_dims(q->node);
    if (!nuc_is_alone(q->s, q->node) || !nuc_arg_flag(q->node, 2))
        return true;
    for (uint32_t i = 0; i < in->rank; i++) {
        if ((mask >> i & 1) != 0 && in->sizes[i] != 1)
            return true;
    }
    return nuc_rule_report(q, "", "every reduced dimension has size 1");
}

const struct nuc_support_rule nuc_mean_partition[] = {
    {"alone in its partition the reduction changes its data", mean_reduces, 0},
    {NULL, NULL, 0},
};
