/*
 * Dim orders of an Edge graph on its way to partitioning, beyond the reference: copies that only change a dim order go,
 * as the NPU changes formats for less, and values in an order no program has get another one.
 */
#include "npu/layout/orders.h"
#include "rewrite/insert.h"
#include "rewrite/pass_list.h"

/* ---- copies ---- */

/* A copy of a tensor of the same type; what it changes is the dim order at most. */
static bool is_copy(const struct nuc_node *n)
{
    const struct nuc_node *input = nuc_arg_node(n, NUC_SELF);

    if (n->op != NUC_OP_CLONE && n->op != NUC_OP_CLONE_DIM_ORDER && n->op != NUC_OP_TO_DIM_ORDER_COPY)
        return false;
    return input != NULL && !input->is_tuple && n->vals[0].dtype == input->vals[0].dtype;
}

/* A quantize node that would read a dequantize node of other parameters, which no cluster has. */
static bool would_requantize(struct nuc_graph *g, const struct nuc_node *n)
{
    struct nuc_node *source = nuc_operand(g, n, NUC_SELF);

    for (uint32_t i = 0; i < n->n_users; i++) {
        const struct nuc_node *q = n->users[i];
        if (nuc_is_quantize(q) && nuc_is_dequantize(source) && !nuc_same_quantization(q, source))
            return true;
    }
    return false;
}

/* Bypasses the copies that keep the layout, or those that change it, too. */
static bool bypass_copies(struct nuc_graph *g, bool changing)
{
    bool any = false;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        /* An output of the program keeps a value of its own. */
        if (!is_copy(n) || n->n_users == 0 || nuc_feeds_output(n) || would_requantize(g, n) ||
            (!changing && !nuc_same_layout(&n->vals[0], &nuc_operand(g, n, NUC_SELF)->vals[0])))
            continue;
        nuc_replace_uses(g, n, nuc_operand(g, n, NUC_SELF), NULL);
        any = true;
    }
    if (any) {
        nuc_remove_dead(g);
        nuc_infer_all(g);
    }
    return any;
}

static bool same_outputs(const struct nuc_graph *a, const struct nuc_graph *b)
{
    const struct nuc_arg *x = &nuc_output_node(a)->args[NUC_ARG(OUTPUT, values)],
                         *y = &nuc_output_node(b)->args[NUC_ARG(OUTPUT, values)];

    for (uint32_t i = 0; i < x->count; i++) {
        if (x->u.nodes[i] != NULL && !nuc_same_layout(&x->u.nodes[i]->vals[0], &y->u.nodes[i]->vals[0]))
            return false;
    }
    return true;
}

bool nuc_remove_order_copies(struct nuc_graph *g)
{
    bool changed = bypass_copies(g, false);
    if (g->n_of_op[NUC_OP_CLONE] + g->n_of_op[NUC_OP_CLONE_DIM_ORDER] + g->n_of_op[NUC_OP_TO_DIM_ORDER_COPY] == 0)
        return changed;
    struct nuc_arena *outer = nuc_push_arena(g->cx);
    struct nuc_graph *trial = nuc_graph_copy(g);
    bool same = bypass_copies(trial, true) && same_outputs(g, trial);

    nuc_pop_arena(g->cx, outer);
    return (same && bypass_copies(g, true)) || changed;
}

/* ---- values in an order no program has ---- */

/* The parameter an operand is, dequantized or not, when nothing else reads either. */
static struct nuc_node *own_parameter(struct nuc_node *operand)
{
    if (nuc_is_dequantize(operand) && operand->op == NUC_OP_DEQUANTIZE_PER_TENSOR && operand->n_users == 1)
        operand = nuc_arg_node(operand, NUC_SELF);
    return operand != NULL && nuc_is_static(operand) && operand->n_users == 1 ? operand : NULL;
}

/*
 * A parameter that broadcasts over a channels-last tensor becomes one of as many dimensions, channels-last too; indices
 * do not. Its readers are inferred again.
 */
static void relay_parameter(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *operand)
{
    struct nuc_node *p = own_parameter(operand);
    uint32_t rank = node->vals[0].rank;

    if (p == NULL || rank != 4 || p->vals[0].rank > rank || p->vals[0].dtype == NUC_I64)
        return;
    struct nuc_meta meta = p->vals[0];
    uint32_t ones = rank - meta.rank;
    for (uint32_t i = 0; i < rank; i++)
        meta.sizes[i] = i < ones ? 1 : p->vals[0].sizes[i - ones];
    meta.rank = (uint8_t)rank;
    nuc_set_channels_last(&meta);
    struct nuc_node *laid = nuc_take_parameter(g, p, "_channels_last", &meta, nuc_const_contiguous(g, p));
    nuc_replace_uses(g, p, laid, NULL);
    if (operand != p)
        nuc_infer_shape(g, operand);
    nuc_infer_shape(g, node);
}

/* Parameters of up to `rank` dimensions become contiguous. Only images are channels-last at run time. */
static void lay_parameters(struct nuc_graph *g, uint32_t rank)
{
    for (struct nuc_node *n = g->first, *next; n != NULL && nuc_is_placeholder(n); n = next) {
        next = n->next;
        const struct nuc_meta *m = &n->vals[0];
        bool usable = m->rank < 4 ? nuc_lies_contiguous(m) : nuc_is_usable_order(m);
        if (!nuc_is_static(n) || n->n_users == 0 || m->rank > rank || usable)
            continue;
        struct nuc_meta meta = nuc_in_contiguous_order(&n->vals[0]);
        nuc_replace_uses(g, n, nuc_take_parameter(g, n, "_contiguous", &meta, nuc_const_contiguous(g, n)), NULL);
    }
}

bool nuc_make_orders_usable(struct nuc_graph *g)
{
    /*
     * An input of the program comes as it comes, a state as it is. In an order that neither kernels nor a delegate
     * know, as of an image without batch or of a transposed tensor, it is read through a contiguous copy.
     */
    struct nuc_node *first = g->first;

    while (first != NULL && nuc_is_placeholder(first))
        first = first->next;
    for (struct nuc_node *n = g->first; n != first; n = n->next) {
        if (!nuc_is_input(n) || n->n_vals == 0 || nuc_lies_contiguous(&n->vals[0]) || nuc_is_known_order(&n->vals[0]) ||
            n->n_users == 0)
            continue;
        struct nuc_meta contiguous = nuc_in_contiguous_order(&n->vals[0]);
        struct nuc_node *copy = nuc_insert_in_order(g, first, NUC_OP_TO_DIM_ORDER_COPY, n, &contiguous);
        nuc_replace_uses(g, n, copy, copy);
    }
    /* Before they are copied for what reads them; those of images may get the order of the image. */
    lay_parameters(g, 3);
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_call(n) || n->n_vals == 0)
            continue;
        nuc_infer_shape(g, n);
        if (!n->is_tuple && !nuc_is_usable_order(&n->vals[0])) {
            struct nuc_cursor at = {0, 0};
            struct nuc_node *in;
            while (!nuc_is_usable_order(&n->vals[0]) && (in = nuc_next_input(n, &at)) != NULL)
                relay_parameter(g, n, in);
            if (nuc_is_usable_order(&n->vals[0]))
                continue;
            /* Every operator gives contiguous results of contiguous operands. */
            nuc_copy_operands_contiguous(g, n);
            nuc_infer_shape(g, n);
        }
    }
    lay_parameters(g, NUC_MAX_RANK);
    nuc_remove_dead(g);
    return true;
}

/* ---- values in an order no kernel knows by its name ---- */

/* The argument that gives a copy's order in full, or NULL. */
static const struct nuc_arg *order_argument(const struct nuc_node *node)
{
    if (node->op != NUC_OP_CLONE_DIM_ORDER && node->op != NUC_OP_TO_DIM_ORDER_COPY)
        return NULL;
    const struct nuc_arg *order = &node->args[nuc_schema_arg_index(nuc_op_schema(node->op), "dim_order")];
    return order->kind == NUC_ARG_INTS && order->count == node->vals[0].rank ? order : NULL;
}

/* A channels-last operand and a smaller one may give such an order together. */
static bool has_unknown_order(const struct nuc_node *node)
{
    bool takes_it_over = nuc_is_quantization(node) || node->op == NUC_OP_GETITEM;

    return !takes_it_over && node->n_vals != 0 && !nuc_is_known_order(&node->vals[0]);
}

bool nuc_plain_orders(struct nuc_graph *g)
{
    bool changed = false;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_call(n))
            continue;
        changed |= nuc_refresh_layout(g, n);
        const struct nuc_arg *order = order_argument(n);
        if (order != NULL) {
            /*
             * Copies keep the order of dimensions of what they copy, also that of a permuted view, which no tensor has
             * at run time: there they are contiguous. Where a size of 1 lets one layout go by several names, the result
             * goes by the name the copy's argument has.
             */
            struct nuc_meta before = n->vals[0], named = before;
            for (uint32_t i = 0; i < named.rank && i < NUC_MAX_RANK; i++)
                named.dim_order[i] = (uint8_t)order->u.ints[i];
            if (!nuc_is_known_order(&named)) {
                nuc_set_contiguous(&named);
                nuc_set_order_arg(g, n, &named);
            }
            nuc_set_val(g, n, &named);
            changed |= !nuc_same_order(&before, &named);
        } else if (has_unknown_order(n)) {
            nuc_copy_operands_contiguous(g, n);
            changed |= nuc_refresh_layout(g, n);
        }
    }
    return changed;
}
