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
    return !node->is_tuple && node->n_vals == 1 &&
           (nuc_op_rearranges(node->op) || nuc_op_family(node->op) == NUC_FAMILY_CAT ||
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
    struct nuc_cursor at = {0, 0}, all = {0, 0};
    struct nuc_node *in;
    struct nuc_quant q;
    bool changed = false;

    while ((in = nuc_next_input(node, &all)) != NULL) {
        if (in->vals[0].dtype != NUC_F32 || !may_quantize(in))
            return false;
    }
    while ((in = nuc_next_input(node, &at)) != NULL) {
        if (nuc_dequantize_quant(in, &q) && nuc_same_quant(&q, out))
            continue;
        struct nuc_node *quantized = nuc_insert_quant(g, node, NUC_OP_QUANTIZE_PER_TENSOR, in, out);
        nuc_replace_input(g, node, in, nuc_insert_quant(g, node, NUC_OP_DEQUANTIZE_PER_TENSOR, quantized, out));
        changed = true;
    }
    return changed;
}

bool nuc_quantize_before_moves(struct nuc_graph *g)
{
    bool changed = false;
    struct nuc_quant out;

    for (struct nuc_node *n = g->last; n != NULL; n = n->prev) {
        if (commutes(n) && nuc_result_quant(n, &out) && quantize_inputs(g, n, &out))
            changed = true;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}
