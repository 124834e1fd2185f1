/* The order of int8 values is that of the numbers they stand for: they are sorted as they are. */
#include "cpu/cortexm_site.h"

/* Item 0 of topk or sort, the values, gets the parameters of the input; the indices are the same. */
bool nuc_cm_lower_order(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_node *like = nuc_arg_node(node, NUC_SELF);
    struct nuc_cm_value in;

    if (c->options->reference_compat || !nuc_cm_tensor(node, NUC_SELF, &in) || nuc_is_static(in.node))
        return false;
    nuc_replace_input(c->g, node, like, in.node);
    nuc_infer_shape(c->g, node);
    for (uint32_t i = 0; i < node->n_users; i++) {
        struct nuc_node *item = node->users[i];
        struct nuc_meta real = item->vals[0];
        if (!nuc_is_item(item, 0))
            continue;
        nuc_infer_shape(c->g, item);
        struct nuc_node *values = nuc_cm_insert_quant(c->g, item->next, NUC_OP_DEQUANTIZE_PER_TENSOR, item, like);
        nuc_made_of(values, node);
        nuc_set_val(c->g, values, &real);
        nuc_replace_uses(c->g, item, values, values);
    }
    return true;
}
