/* squeeze_copy and unsqueeze_copy become view_copy to the sizes they give: the NPU's one operator for all of them. */
#include "compiler/passes/pass_list.h"
#include "compiler/passes/rewrite.h"

static bool is_reshape(enum nuc_op op)
{
    return op == NUC_OP_SQUEEZE || op == NUC_OP_SQUEEZE_DIM || op == NUC_OP_SQUEEZE_DIMS || op == NUC_OP_UNSQUEEZE;
}

bool nuc_reshapes_to_view(struct nuc_graph *g)
{
    uint32_t count;
    struct nuc_node **nodes = nuc_collect(g, is_reshape, &count);

    for (uint32_t i = 0; i < count; i++) {
        struct nuc_node *n = nodes[i], *view = nuc_insert(g, n, NUC_OP_VIEW, n);
        nuc_set_arg_node(view, g, 0, nuc_operand(g, n, 0));
        nuc_set_arg_ints(view, g, 1, n->vals[0].sizes, n->vals[0].rank);
        nuc_infer_shape(g, view);
        nuc_replace_uses(g, n, view, NULL);
        nuc_remove_node(g, n);
    }
    return count > 0;
}
