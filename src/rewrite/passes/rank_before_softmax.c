#include "host/numbers.h"
#include "ir/args.h"
#include "ir/op_list.h"
#include "rewrite/expand/expand.h"
#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

static bool rank_before(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *value = nuc_operand(g, node, NUC_SELF);
    uint32_t rank = value->vals[0].rank;
    bool arg = node->op == NUC_OP_ARGMAX || node->op == NUC_OP_ARGMIN;
    uint32_t dim_arg = arg                       ? NUC_ARG(ARGMAX, dim)
                       : node->op == NUC_OP_TOPK ? NUC_ARG(TOPK, dim)
                       : node->op == NUC_OP_SORT ? NUC_ARG(SORT, dim)
                                                 : NUC_ARG(SORT_STABLE, dim);

    if (rank == 0 || (arg && nuc_arg_at(node, dim_arg)->kind != NUC_ARG_INT))
        return false;
    int64_t dim = nuc_dim(node, dim_arg, -1, rank);
    /* Softmax along `dim` or a rising function of each value, in whose results the order is that of its inputs. */
    bool softmax = nuc_op_family(value->op) == NUC_FAMILY_SOFTMAX &&
                   nuc_dim(value, NUC_ARG(SOFTMAX, dim), -1, value->vals[0].rank) == dim;
    struct nuc_node *ranked =
        softmax || (value->op == NUC_OP_SIGMOID && !value->in_place) ? nuc_arg_node(value, NUC_SELF) : NULL;
    if (ranked == NULL || !nuc_is_floating(ranked->vals[0].dtype))
        return false;
    /* topk, sort: the values, where they are read, are gathered by the indices. */
    if (!arg && !nuc_is_item_read(node, 1))
        return false;
    nuc_set_arg_node(node, g, NUC_SELF, ranked);
    if (arg || !nuc_is_item_read(node, 0))
        return true;
    struct nuc_node *after = node->next;
    struct nuc_node *indices = nuc_insert_getitem(g, after, node, 1);
    struct nuc_node *values = nuc_emit(g, after, NUC_OP_GATHER, node, NUC_ARGS(value, dim, indices));
    nuc_replace_item(g, node, 0, values);
    return true;
}

bool nuc_rank_before_softmax(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_TOPK, NUC_OP_SORT, NUC_OP_SORT_STABLE, NUC_OP_ARGMAX, NUC_OP_ARGMIN),
                            rank_before);
}
