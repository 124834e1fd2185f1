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

bool nuc_move_quantized(struct nuc_graph *g)
{
    uint32_t count;
    struct nuc_node **nodes = nuc_collect(g, NUC_OPS(NUC_OP_PERMUTE, NUC_OP_CAT), &count);
    bool changed = false;

    for (uint32_t i = 0; i < count; i++) {
        struct nuc_node *n = nodes[i];
        if (!can_move(g, n))
            continue;
        /* What the dequantize nodes read, in their places. */
        struct nuc_cursor at = {0, 0};
        for (struct nuc_node *in = nuc_next_input(n, &at); in != NULL; in = nuc_next_input(n, &at)) {
            if (nuc_is_dequantize(in))
                nuc_replace_input(g, n, in, nuc_operand(g, in, NUC_SELF));
        }
        nuc_infer_shape(g, n);
        while (n->n_users > 0 && nuc_is_quantize(n->users[0])) {
            struct nuc_node *quantize = n->users[0];
            nuc_replace_uses(g, quantize, n, NULL);
            nuc_remove_node(g, quantize);
        }
        changed = true;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}
