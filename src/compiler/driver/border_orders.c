/* Names of dim orders where delegates begin and end, and what follows from them. */
#include "compiler/driver/driver.h"

struct nuc_meta nuc_border_meta(const struct nuc_meta *m)
{
    struct nuc_meta contiguous = *m;

    nuc_set_contiguous(&contiguous);
    return nuc_same_layout(&contiguous, m) ? contiguous : *m;
}

static void make_contiguous_if_same(struct nuc_node *node)
{
    node->vals[0] = nuc_border_meta(&node->vals[0]);
}

/* Operators on the CPU take the dim order of their results from that of their inputs, and were planned with it. */
static bool is_read_by_cpu(const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        if (user->op != NUC_OP_OUTPUT && user->op != NUC_OP_CALL_DELEGATE && !nuc_is_quantize(user))
            return true;
    }
    return false;
}

void nuc_settle_border(struct nuc_node *call)
{
    const struct nuc_arg *inputs = &call->args[0];

    for (uint32_t i = 0; i < inputs->count; i++) {
        struct nuc_node *input = inputs->u.nodes[i];
        struct nuc_node *source = nuc_is_quantize(input) ? nuc_arg_node(input, 0) : NULL;
        make_contiguous_if_same(input);
        if (source != NULL && nuc_is_placeholder(source) && !is_read_by_cpu(source))
            make_contiguous_if_same(source);
    }
    for (uint32_t i = 0; i < call->n_users; i++) {
        struct nuc_node *result = call->users[i];
        make_contiguous_if_same(result);
        call->vals[result->args[1].u.i] = result->vals[0];
        for (uint32_t k = 0; k < result->n_users; k++) {
            struct nuc_node *reader = result->users[k];
            if (nuc_is_dequantize(reader) && !is_read_by_cpu(reader))
                make_contiguous_if_same(reader);
        }
    }
}

/* A copy of the node's value in that dim order, right behind it. */
static struct nuc_node *copy_in_order(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *meta)
{
    struct nuc_node *copy = nuc_add_node(g, node->next, NUC_OP_TO_DIM_ORDER_COPY, NULL);
    int index = nuc_schema_arg_index(nuc_op_schema(copy->op), "dim_order");
    int64_t order[NUC_MAX_RANK];

    for (uint32_t i = 0; i < meta->rank; i++)
        order[i] = meta->dim_order[i];
    nuc_set_arg_node(copy, g, 0, node);
    nuc_set_arg_ints(copy, g, (uint32_t)index, order, meta->rank);
    copy->source = node->source;
    nuc_infer_shape(g, copy);
    return copy;
}

/* Delegates, whose payloads are made, and the program's outputs read a value in the dim order it had. */
static void keep_order_for_borders(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *before)
{
    struct nuc_node *copy = NULL;

    for (uint32_t i = 0; i < node->n_users;) {
        struct nuc_node *user = node->users[i];
        if (user == copy || (user->op != NUC_OP_CALL_DELEGATE && user->op != NUC_OP_OUTPUT)) {
            i++;
            continue;
        }
        if (copy == NULL)
            copy = copy_in_order(g, node, before);
        nuc_replace_input(g, user, node, copy);
        i = 0;
    }
}

void nuc_refresh_orders(struct nuc_graph *g)
{
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        struct nuc_node *from = nuc_arg_node(n, 0);
        bool fixed = n->op == NUC_OP_CALL_DELEGATE ||
                     (n->op == NUC_OP_GETITEM && from != NULL && from->op == NUC_OP_CALL_DELEGATE);
        if (!nuc_is_call(n) || fixed || n->n_vals == 0)
            continue;
        struct nuc_meta before = n->vals[0];
        nuc_infer_shape(g, n);
        if (n->is_tuple)
            continue;
        if (nuc_same_layout(&before, &n->vals[0]))
            n->vals[0] = before;
        else
            keep_order_for_borders(g, n, &before);
    }
}

struct nuc_meta *nuc_output_metas(const struct nuc_graph *g)
{
    const struct nuc_arg *outputs = &nuc_output_node(g)->args[0];
    struct nuc_meta *metas = nuc_alloc_array(g->cx, (size_t)outputs->count + 1, sizeof *metas);

    for (uint32_t i = 0; i < outputs->count; i++)
        metas[i] = outputs->u.nodes[i]->vals[0];
    return metas;
}

void nuc_restore_output_orders(struct nuc_graph *g, const struct nuc_meta *metas)
{
    struct nuc_node *output = nuc_output_node(g);

    for (uint32_t i = 0; i < output->args[0].count; i++) {
        struct nuc_node *node = output->args[0].u.nodes[i];
        if (!nuc_same_layout(&metas[i], &node->vals[0]))
            nuc_replace_input(g, output, node, copy_in_order(g, node, &metas[i]));
    }
}
