/*
 * A permutation or concatenation that stays on the CPU between dequantize and quantize nodes of one scale and zero
 * point moves the quantized values: dequantizing and quantizing again changes none of them.
 */
#include "ir/quant.h"
#include "npu/layout/orders.h"
#include "npu/support/cluster.h"
#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

static bool same_parameters(const struct nuc_node *a, const struct nuc_node *b)
{
    struct nuc_quant x, y;

    return nuc_quant_of(a, &x) && nuc_quant_of(b, &y) && nuc_same_parameters(&x, &y);
}

/*
 * A quantized value of one channel may go by another name of its dim order than the dequantized one: then the result
 * would, too, and its readers expect the name it has.
 */
static bool keeps_order(struct nuc_graph *g, const struct nuc_node *dequantize)
{
    const struct nuc_node *in = nuc_operand(g, dequantize, NUC_SELF);

    return nuc_same_order(&in->vals[0], &dequantize->vals[0]);
}

/* Each dequantize node read by it alone, each reader a quantize node, all of one type. */
static bool can_move(struct nuc_graph *g, const struct nuc_node *node)
{
    struct nuc_cursor at = {0, 0};
    const struct nuc_node *first = nuc_next_input(node, &at); /* whose parameters all others have */

    for (const struct nuc_node *in = first; in != NULL; in = nuc_next_input(node, &at)) {
        if (in->op != NUC_OP_DEQUANTIZE_PER_TENSOR || in->n_users != 1 || !same_parameters(in, first) ||
            !keeps_order(g, in))
            return false;
    }
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        if (user->op != NUC_OP_QUANTIZE_PER_TENSOR || first == NULL || !same_parameters(user, first))
            return false;
    }
    return first != NULL && node->n_users > 0 && !node->is_tuple;
}

static bool move_quantized(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_cursor at = {0, 0};

    if (!can_move(g, node))
        return false;
    /* What the dequantize nodes read, in their places. */
    for (struct nuc_node *in = nuc_next_input(node, &at); in != NULL; in = nuc_next_input(node, &at)) {
        if (nuc_is_dequantize(in))
            nuc_replace_input(g, node, in, nuc_operand(g, in, NUC_SELF));
    }
    nuc_infer_shape(g, node);
    while (node->n_users > 0 && nuc_is_quantize(node->users[0])) {
        struct nuc_node *quantize = node->users[0];
        nuc_replace_uses(g, quantize, node, NULL);
        nuc_remove_node(g, quantize);
    }
    return true;
}

bool nuc_move_quantized(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_PERMUTE, NUC_OP_CAT), move_quantized);
}
