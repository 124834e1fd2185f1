/*
 * The order of int8 values is that of the numbers they stand for: they are sorted as they are. And the order in memory
 * of choices and truths, which is any.
 */
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

/* ---- dim orders ---- */

/* What lies channels last where `value` is a copy of it in the order of its dimensions; NULL: it is none. */
static struct nuc_node *source_of(const struct nuc_node *value)
{
    struct nuc_node *from = value->op == NUC_OP_TO_DIM_ORDER_COPY ? nuc_arg_node(value, NUC_SELF) : NULL;

    return from != NULL && from->vals[0].dtype == value->vals[0].dtype && nuc_is_channels_last(&from->vals[0]) ? from
                                                                                                               : NULL;
}

static bool is_number(const struct nuc_node *value)
{
    return nuc_is_static(value) && value->vals[0].rank == 0;
}

/* A choice or truths whose operands are all copies or numbers, and one copy of which nothing else needs. */
static bool reads_copies(const struct nuc_node *node)
{
    struct nuc_cursor at = {0, 0};
    bool gains = false;

    if (!nuc_is_call(node) || node->n_vals != 1 || node->vals[0].rank != 4 || !nuc_is_contiguous(&node->vals[0]) ||
        node->vals[0].dtype == NUC_F32 || !nuc_cm_is_pointwise(node->op))
        return false;
    for (const struct nuc_node *in = nuc_next_input(node, &at); in != NULL; in = nuc_next_input(node, &at)) {
        if (!is_number(in) && (source_of(in) == NULL || !nuc_same_sizes(&in->vals[0], &node->vals[0])))
            return false;
        gains = gains || (!is_number(in) && in->n_users == 1);
    }
    return gains;
}

/* A number with the name of the order: ExecuTorch asks for one order of all operands. */
static struct nuc_node *number_of_order(struct nuc_cm *c, struct nuc_node *number)
{
    struct nuc_meta m = nuc_meta_make(number->vals[0].dtype, (const int64_t[]){1, 1, 1, 1}, 4);
    struct nuc_node *value =
        nuc_cm_constant(c, number, "_number", m.dtype, m.sizes, 4, nuc_const_contiguous(c->g, number));

    nuc_set_channels_last(&m);
    nuc_set_val(c->g, value, &m);
    return value;
}

/* The node as its operands lie, and a copy for those who read it in the order of its dimensions. */
static void move_copies_behind(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_meta contiguous = node->vals[0], m = contiguous;
    struct nuc_node *operands[3];
    struct nuc_cursor at = {0, 0};
    uint32_t count = 0;

    for (struct nuc_node *in = nuc_next_input(node, &at); in != NULL && count < 3; in = nuc_next_input(node, &at))
        operands[count++] = in;
    for (uint32_t i = 0; i < count; i++) {
        struct nuc_node *lies = is_number(operands[i]) ? number_of_order(c, operands[i]) : source_of(operands[i]);
        if (lies != NULL)
            nuc_replace_input(c->g, node, operands[i], lies);
    }
    nuc_set_channels_last(&m);
    nuc_set_val(c->g, node, &m);
    struct nuc_node *copy = nuc_cm_in_order(c, node, &contiguous, node->next);
    nuc_replace_uses(c->g, node, copy, copy);
    for (uint32_t i = copy->n_users; i-- > 0;) {
        struct nuc_node *back = copy->users[i];
        if (back->op == NUC_OP_TO_DIM_ORDER_COPY && nuc_same_layout(&back->vals[0], &m))
            nuc_replace_uses(c->g, back, node, NULL);
    }
}

void nuc_cm_move_copies(struct nuc_cm *c)
{
    for (struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        if (reads_copies(n))
            move_copies_behind(c, n);
    }
    nuc_remove_dead(c->g);
}
