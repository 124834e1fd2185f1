/* squeeze_copy and unsqueeze_copy become view_copy to the sizes they give: the NPU's one operator for all of them. */
#include "rewrite/insert.h"
#include "rewrite/pass_list.h"

static bool to_view(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_meta *out = &node->vals[0];

    nuc_replace_uses(g, node, nuc_insert_view(g, node, nuc_operand(g, node, NUC_SELF), out->sizes, out->rank), NULL);
    nuc_remove_node(g, node);
    return true;
}

bool nuc_reshapes_to_view(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_SQUEEZE, NUC_OP_SQUEEZE_DIM, NUC_OP_SQUEEZE_DIMS, NUC_OP_UNSQUEEZE),
                            to_view);
}
