/*
 * Quantized archives in which what moves values, or takes the greatest of them, gives a result in other parameters than
 * it reads, or reads floats: quantizers observe both sides, or leave a function in front of a concatenation in float.
 * Quantized in front of it instead, the result is the same numbers: each value goes through the same steps, which keep
 * the order of values. The operator has one scale then, which the NPU asks for, and a function in front a table.
 */
#include "ir/op_list.h"
#include "ir/quant.h"
#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

/* Not a pad, which has its number in the result, nor a part, beside which others have parameters of their own. */
static bool commutes(const struct nuc_node *node)
{
    static const bool families[NUC_FAMILY_COUNT] = {
        [NUC_FAMILY_VIEW] = true,
        [NUC_FAMILY_PERMUTE] = true,
        [NUC_FAMILY_COPY] = true,
        [NUC_FAMILY_CAT] = true,
    };

    return !node->is_tuple && node->n_vals == 1 &&
           (families[nuc_op_family(node->op)] ||
            nuc_op_is_in(node->op, NUC_OPS(NUC_OP_MAX_POOL1D, NUC_OP_MAX_POOL2D, NUC_OP_UPSAMPLE_NEAREST)));
}

/* What is quantized already, or computed for this operator alone. */
static bool may_quantize(const struct nuc_node *in)
{
    return in->op == NUC_OP_DEQUANTIZE_PER_TENSOR ||
           (nuc_is_call(in) && !in->is_tuple && in->n_users == 1 && !nuc_is_dequantize(in));
}

static bool quantize_inputs(struct nuc_graph *g, struct nuc_node *node, const struct nuc_quant *out)
{
    uint32_t count = nuc_inputs(node, NULL, 0);
    struct nuc_node **inputs = nuc_alloc_array(g->cx, count, sizeof *inputs);
    struct nuc_quant q;
    bool changed = false;

    nuc_inputs(node, inputs, count);
    for (uint32_t i = 0; i < count; i++) {
        if (inputs[i]->vals[0].dtype != NUC_F32 || !may_quantize(inputs[i]))
            return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (nuc_dequantize_quant(inputs[i], &q) && nuc_same_quant(&q, out))
            continue;
        struct nuc_node *quantized = nuc_insert_quant(g, node, NUC_OP_QUANTIZE_PER_TENSOR, inputs[i], out);
        nuc_replace_input(g, node, inputs[i], nuc_insert_quant(g, node, NUC_OP_DEQUANTIZE_PER_TENSOR, quantized, out));
        changed = true;
    }
    return changed;
}

bool nuc_quantize_before_moves(struct nuc_graph *g)
{
    bool changed = false;
    struct nuc_quant out;

    for (struct nuc_node *n = g->last; n != NULL; n = n->prev) {
        if (!nuc_is_call(n) || n->is_tuple || n->n_vals != 1)
            continue;
        if (commutes(n) && nuc_result_quant(n, &out) && quantize_inputs(g, n, &out))
            changed = true;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}
