/*
 * Copies keep the order of dimensions of what they copy, also that of a permuted view, which no tensor has at run time:
 * there they are contiguous. So are the operands of operators whose result would have such an order, as a channels-last
 * one and a smaller one may give together. And where a size of 1 lets one layout go by several names, the result goes
 * by the name the copy's argument has.
 */
#include <string.h>

#include "compiler/passes/decompose.h"
#include "compiler/passes/pass_list.h"
#include "compiler/passes/rewrite.h"

/* ExecuTorch's NeutronBackend takes a depth of 1 for a single channel, and refuses channels-last there. */
static bool exists(const struct nuc_meta *m)
{
    return nuc_is_contiguous(m) || (nuc_is_channels_last(m) && (m->rank == 4 || (m->rank == 5 && m->sizes[2] != 1)));
}

static int order_argument(const struct nuc_node *node)
{
    if (node->op != NUC_OP_CLONE_DIM_ORDER && node->op != NUC_OP_TO_DIM_ORDER_COPY)
        return -1;
    int index = nuc_schema_arg_index(nuc_op_schema(node->op), "dim_order");
    return index >= 0 && node->args[index].kind == NUC_ARG_INTS && node->args[index].count == node->vals[0].rank ? index
                                                                                                                 : -1;
}

static bool settle(struct nuc_graph *g, struct nuc_node *node, uint32_t index)
{
    struct nuc_meta before = node->vals[0], named = before;
    int64_t order[NUC_MAX_RANK];

    for (uint32_t i = 0; i < named.rank && i < NUC_MAX_RANK; i++)
        named.dim_order[i] = (uint8_t)node->args[index].u.ints[i];
    if (!exists(&named)) {
        nuc_set_contiguous(&named);
        for (uint32_t i = 0; i < named.rank; i++)
            order[i] = i;
        nuc_set_arg_ints(node, g, index, order, named.rank);
    }
    node->vals[0] = named;
    return memcmp(before.dim_order, named.dim_order, named.rank) != 0;
}

static bool infer(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node inferred = *node;

    if (node->op == NUC_OP_CALL_DELEGATE)
        return false;
    nuc_infer_shape(g, &inferred);
    bool same = node->n_vals == inferred.n_vals;
    for (uint32_t i = 0; same && i < node->n_vals; i++)
        same = nuc_same_layout(&node->vals[i], &inferred.vals[i]);
    if (!same)
        node->vals = inferred.vals;
    return !same;
}

static bool make_operands_contiguous(struct nuc_graph *g, struct nuc_node *node)
{
    nuc_copy_operands_contiguous(g, node);
    return infer(g, node);
}

static bool has_unknown_order(const struct nuc_node *node)
{
    bool takes_it_over = nuc_is_quantize(node) || nuc_is_dequantize(node) || node->op == NUC_OP_GETITEM;

    return !takes_it_over && node->n_vals != 0 && !exists(&node->vals[0]);
}

bool nuc_plain_orders(struct nuc_graph *g)
{
    bool changed = false;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_call(n))
            continue;
        changed |= infer(g, n);
        int index = order_argument(n);
        if (index >= 0)
            changed |= settle(g, n, (uint32_t)index);
        else if (has_unknown_order(n))
            changed |= make_operands_contiguous(g, n);
    }
    return changed;
}
