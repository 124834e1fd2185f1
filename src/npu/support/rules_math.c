/* Matrix products, softmax, reductions, and operators that work element by element. */
#include "npu/support/rules.h"

/* ---- addmm: bias, input, weight, beta, alpha; mm: input, weight ---- */

static bool addmm_factors(const struct nuc_rule_query *q)
{
    double beta = nuc_scalar(q->node, NUC_ARG(ADDMM, beta), 1.0),
           alpha = nuc_scalar(q->node, NUC_ARG(ADDMM, alpha), 1.0);

    return (nuc_numbers_equal(beta, 1.0) && nuc_numbers_equal(alpha, 1.0)) ||
           nuc_rule_report(q, "1, 1", "beta %g, alpha %g", beta, alpha);
}

static bool addmm_bias_shape(const struct nuc_rule_query *q)
{
    const struct nuc_meta *bias = nuc_input_meta(q->node, NUC_SELF);
    int64_t p = q->node->vals[0].sizes[1];
    bool fits =
        (bias->rank == 1 && bias->sizes[0] == p) || (bias->rank == 2 && bias->sizes[0] == 1 && bias->sizes[1] == p);

    return fits || nuc_rule_report(q, nuc_rule_text(q, "[%lld], [1, %lld]", (long long)p, (long long)p), "%s",
                                   nuc_meta_text(q->s->g->cx, bias));
}

/* With a scale for each output it is a convolution of one pixel (arrange/arrange_products.c). */
static struct nuc_extent rows_with_scales(const struct nuc_rule_query *q)
{
    uint32_t at = q->node->op == NUC_OP_ADDMM ? NUC_ARG(ADDMM, mat2) : NUC_ARG(MM, mat2);
    struct nuc_quant weight;

    if (!nuc_input_quant(q->node, at, &weight) || !weight.per_channel)
        return (struct nuc_extent){.n = 0};
    return (struct nuc_extent){
        1, true, {nuc_multiple_above(nuc_input_meta(q->node, at)->sizes[0], q->s->target->num_macs)}};
}

#define RULE_ROWS_WITH_SCALES                                                                                          \
    LIMIT("of weights with a scale for each output the inputs fit the MAC buffer", rows_with_scales, max_mac_buffer)

/* ---- bmm: self, mat2 ---- */

static bool bmm_ranks(const struct nuc_rule_query *q)
{
    uint32_t a = nuc_input_meta(q->node, NUC_SELF)->rank, b = nuc_input_meta(q->node, NUC_OTHER)->rank;

    return (a == 3 && b == 3) || nuc_rule_report(q, "3 and 3", "%u and %u", a, b);
}

static bool bmm_activations(const struct nuc_rule_query *q)
{
    return nuc_has_firmware_kernel(q->s->target, NUC_FW_MulDynamicSymByAsym) ||
           nuc_is_effectively_static(nuc_arg_node(q->node, NUC_SELF)) ||
           nuc_is_effectively_static(nuc_arg_node(q->node, NUC_OTHER)) ||
           nuc_rule_report(q, "a parameter", "two activations");
}

const struct nuc_support_rule nuc_bmm_ir[] = {
    RULE("the factors are two different tensors", nuc_has_distinct_inputs, 2),
    RULE("both factors have 3 dimensions", bmm_ranks, 0),
    RULE("a factor is a parameter, unless the NPU multiplies activations", bmm_activations, 0),
    RULES_END,
};

static bool bmm_zero_points(const struct nuc_rule_query *q)
{
    struct nuc_quant a, b;

    if (!nuc_input_quant(q->node, NUC_SELF, &a) || !nuc_input_quant(q->node, NUC_OTHER, &b))
        return nuc_rule_report(q, "0 and 0", "a factor that is not quantized");
    return (!a.per_channel && !b.per_channel && a.zero_point == 0 && b.zero_point == 0) ||
           nuc_rule_report(q, "0 and 0", "%lld and %lld", (long long)a.zero_point, (long long)b.zero_point);
}

/* ---- softmax: self, dim, half_to_float ---- */

static bool softmax_dim(const struct nuc_rule_query *q)
{
    int64_t dim = nuc_dim(q->node, NUC_ARG(NATIVE_SOFTMAX, dim), 0, q->node->vals[0].rank),
            c = nuc_channels_dim(q->node);

    return dim == c || nuc_rule_report(q, nuc_rule_text(q, "%lld", (long long)c), "%lld", (long long)dim);
}

const struct nuc_support_rule nuc_softmax_ir[] = {
    RULE("the dimension is the channels: 1 for channels-first data, else the last", softmax_dim, 0),
    RULE("half_to_float is false", nuc_flag_is_false, NUC_ARG(NATIVE_SOFTMAX, half_to_float)),
    RULES_END,
};

/* ---- reductions: self, dim, keepdim ---- */

static bool mean_reduces(const struct nuc_rule_query *q)
{
    const struct nuc_meta *in = nuc_input_meta(q->node, NUC_SELF);
    uint32_t mask = nuc_dims_mask(q->node, NUC_ARG(MEAN_DIM, dim), in->rank);

    if (!nuc_is_alone(q->s, q->node) || !nuc_flag(q->node, NUC_ARG(MEAN_DIM, keepdim)))
        return true;
    for (uint32_t i = 0; i < in->rank; i++) {
        if ((mask >> i & 1) != 0 && in->sizes[i] != 1)
            return true;
    }
    return nuc_rule_report(q, "", "every reduced dimension has size 1");
}

/* ---- rows ---- */

const struct nuc_support_row nuc_math_rows[] = {
    {.ops = NUC_OPS(NUC_OP_ADDMM),
     .ir = RULES(RULE_ADDMM_INPUTS, RULE_WEIGHT_MATRIX(NUC_ARG(ADDMM, mat2)),
                 RULE("beta and alpha are 1", addmm_factors, 0),
                 RULE("the result has 2 dimensions", nuc_has_rank, RANK_OF_RESULT(2)),
                 RULE("the bias has one element for each output feature", addmm_bias_shape, 0)),
     .target =
         RULES(RULE_INPUT_8BIT_AT(1 << 1), RULE_OUTPUT_8BIT, RULE_WEIGHT_INT8(NUC_ARG(ADDMM, mat2)),
               RULE_BIAS_INT32(NUC_SELF), RULE("the weight is a parameter", nuc_weight_is_static, NUC_ARG(ADDMM, mat2)),
               RULE_BIAS_STATIC(NUC_SELF), RULE_ROWS_WITH_SCALES)},
    {.ops = NUC_OPS(NUC_OP_MM),
     .ir = RULES(RULE_LINEAR_INPUTS, RULE_WEIGHT_MATRIX(NUC_OTHER)),
     .target = RULES(RULE_INPUT_8BIT, RULE_OUTPUT_8BIT, RULE_WEIGHT_INT8(NUC_OTHER),
                     RULE("the weight is a parameter", nuc_weight_is_static, NUC_OTHER), RULE_ROWS_WITH_SCALES)},
    {.ops = NUC_OPS(NUC_OP_BMM),
     .ir = nuc_bmm_ir,
     .target = RULES(RULE_INPUTS_8BIT, RULE_OUTPUT_8BIT, RULE("both factors have zero point 0", bmm_zero_points, 0))},
    {.ops = NUC_OPS(NUC_OP_NATIVE_SOFTMAX),
     .ir = nuc_softmax_ir,
     .target = RULES(RULE_INPUT_8BIT, RULE_OUTPUT_8BIT, LIMIT_SOFTMAX_CHANNELS(max_softmax_channels),
                     LIMIT_SOFTMAX_ROWS, LIMIT_SOFTMAX_ELEMENTS)},
    {.ops = NUC_OPS(NUC_OP_AMAX, NUC_OP_AMIN, NUC_OP_SUM_DIM),
     .no_op = NUC_NO_OP_BY_TRIAL,
     .ir = nuc_shared_quantization_ir,
     .target = nuc_unary_target},
    {.ops = NUC_OPS(NUC_OP_MEAN_DIM),
     .ir = nuc_shared_quantization_ir,
     .target = nuc_unary_target,
     .partition = RULES(RULE("alone in its partition the reduction changes its data", mean_reduces, 0))},
    ROWS_END,
};

/* ---- element by element ---- */

/* ---- one input, one output ---- */

const struct nuc_support_rule nuc_unary_target[] = {RULE_INPUT_8BIT, RULE_OUTPUT_8BIT, RULES_END};

static bool neg_quantization(const struct nuc_rule_query *q)
{
    struct nuc_quant in;

    return (nuc_input_quant(q->node, NUC_SELF, &in) && !in.per_channel) ||
           nuc_rule_report(q, "one scale", "none, or one per channel");
}

const struct nuc_support_rule nuc_neg_ir[] = {
    RULE("the input has one scale and zero point", neg_quantization, 0),
    RULES_END,
};

/* ---- two inputs ---- */

static const struct nuc_support_rule binary_target[] = {
    RULE("one input has as many elements as the output", nuc_one_input_is_whole, 0),
    RULE_INPUTS_8BIT,
    RULE_OUTPUT_8BIT,
    RULES_END,
};

/* ---- prelu: self, weight ---- */

bool nuc_prelu_has_format(const struct nuc_rule_query *q)
{
    const struct nuc_meta *weight = nuc_input_meta(q->node, NUC_ARG(PRELU, weight));
    bool one = weight->rank == 1 && weight->sizes[0] == 1;

    return nuc_input_meta(q->node, NUC_SELF)->rank <= 2 || one || nuc_is_channels_first(q->node) ||
           nuc_rule_report(q, "CHANNELS_FIRST", "another format");
}

/* ---- rows ---- */

const struct nuc_support_row nuc_function_row = {.target = nuc_unary_target};

const struct nuc_support_row nuc_elementwise_rows[] = {
    {.ops = NUC_OPS(NUC_OP_NEG), .ir = nuc_neg_ir, .target = nuc_unary_target},
    {.ops = NUC_OPS(NUC_OP_ADD, NUC_OP_SUB),
     .no_op = NUC_NO_OP_BY_TRIAL,
     .ir = RULES(RULE_ALPHA(0)),
     .target = binary_target},
    {.ops = NUC_OPS(NUC_OP_MUL), .no_op = NUC_NO_OP_BY_TRIAL, .target = binary_target},
    {.ops = NUC_OPS(NUC_OP_MAXIMUM, NUC_OP_MINIMUM), .ir = RULES(RULE_ALL_SHARE_QUANTIZATION), .target = binary_target},
    {.ops = NUC_OPS(NUC_OP_PRELU), .ir = RULES(RULE_PRELU_FORMAT(0)), .target = binary_target},
    ROWS_END,
};
