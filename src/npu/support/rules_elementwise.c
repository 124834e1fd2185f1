/* Operators that work element by element, and reductions that go with them. */
#include "npu/support/rules.h"

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
