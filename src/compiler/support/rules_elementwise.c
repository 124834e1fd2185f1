/* Operators that work element by element, and the activations among them that have parameters. */
#include "compiler/support/facts.h"

/* ---- one input, one output ---- */

const struct nuc_support_rule nuc_unary_target[] = {
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {NULL, NULL, 0},
};

/* ---- mul, maximum, minimum: self, other ---- */

const struct nuc_support_rule nuc_binary_target[] = {
    {"one input has as many elements as the output", nuc_one_input_is_whole, 0},
    RULE_INPUTS_8BIT,
    RULE_OUTPUT_8BIT,
    {NULL, NULL, 0},
};

/* The first reader counts. */
static bool extreme_parameters(const struct nuc_rule_query *q)
{
    struct quant out, in;

    if (q->node->n_users == 0 || !nuc_quantize_quant(q->node->users[0], &out))
        return nuc_rule_report(q, "a quantize node", "a result that is not quantized");
    for (uint32_t i = 0; i < 2; i++) {
        if (!nuc_input_quant(q->node, i, &in))
            return nuc_rule_report(q, "a dequantize node", "input %u is not quantized", i);
        if (!nuc_same_parameters(&in, &out) || in.dtype != out.dtype)
            return nuc_rule_report(q, nuc_format(q->s->g->cx, "%.9g, %lld", out.scale, (long long)out.zero_point),
                                   "input %u: %.9g, %lld", i, in.scale, (long long)in.zero_point);
    }
    return true;
}

const struct nuc_support_rule nuc_extreme_ir[] = {
    {"all inputs and the result have the same type, scale and zero point", extreme_parameters, 0},
    {NULL, NULL, 0},
};

/* ---- prelu: self, weight ---- */

static bool prelu_format(const struct nuc_rule_query *q)
{
    const struct nuc_meta *weight = nuc_input_meta(q->node, 1);
    bool one = weight->rank == 1 && weight->sizes[0] == 1;

    return nuc_input_meta(q->node, 0)->rank <= 2 || one || q->node->format == NUC_CHANNELS_FIRST ||
           nuc_rule_report(q, "CHANNELS_FIRST", "another format");
}

const struct nuc_support_rule nuc_prelu_ir[] = {
    {"with a slope for each channel the data is channels-first", prelu_format, 0},
    {NULL, NULL, 0},
};
