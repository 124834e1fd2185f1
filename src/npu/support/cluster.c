#include "npu/support/cluster.h"

#include "ir/op_list.h"

const enum nuc_op *const nuc_auxiliary_ops =
    NUC_OPS(NUC_OP_GETITEM, NUC_OP_CLONE, NUC_OP_CLONE_DIM_ORDER, NUC_OP_PERMUTE, NUC_OP_VIEW, NUC_OP_SQUEEZE_DIMS,
            NUC_OP_UNSQUEEZE, NUC_OP_RELU, NUC_OP_HARDTANH, NUC_OP_SIGMOID, NUC_OP_TANH);

bool nuc_is_auxiliary(enum nuc_op op)
{
    return nuc_op_is_in(op, nuc_auxiliary_ops);
}

bool nuc_is_activation(enum nuc_op op)
{
    return nuc_op_family(op) == NUC_FAMILY_MAP && nuc_is_auxiliary(op);
}

static bool input_ends(const struct nuc_cluster_ends *ends, const struct nuc_node *input)
{
    return nuc_is_dequantize(input) || (nuc_is_auxiliary(input->op) && ends->inputs[input->id]);
}

static bool output_ends(const struct nuc_cluster_ends *ends, const struct nuc_node *user)
{
    return nuc_is_quantize(user) || (nuc_is_auxiliary(user->op) && ends->outputs[user->id]);
}

const struct nuc_node *nuc_open_input(const struct nuc_cluster_ends *ends, const struct nuc_node *node)
{
    struct nuc_cursor at = {0, 0};
    const struct nuc_node *input = nuc_next_input(node, &at);

    while (input != NULL && input_ends(ends, input))
        input = nuc_next_input(node, &at);
    return input;
}

const struct nuc_node *nuc_open_output(const struct nuc_cluster_ends *ends, const struct nuc_node *node)
{
    uint32_t i = 0;

    while (i < node->n_users && output_ends(ends, node->users[i]))
        i++;
    return i < node->n_users ? node->users[i] : NULL;
}

struct nuc_cluster_ends nuc_cluster_ends(struct nuc_graph *g)
{
    struct nuc_cluster_ends ends = {.inputs = nuc_alloc_array(g->cx, g->next_id, sizeof(bool)),
                                    .outputs = nuc_alloc_array(g->cx, g->next_id, sizeof(bool))};

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        ends.inputs[n->id] = nuc_is_call(n) && nuc_open_input(&ends, n) == NULL;
    for (const struct nuc_node *n = g->last; n != NULL; n = n->prev)
        ends.outputs[n->id] = nuc_is_call(n) && nuc_open_output(&ends, n) == NULL;
    return ends;
}

/* ---- tagging ---- */

/*
 * Clusters are walked from the last compute node to the first. What lies after a node that was walked already belongs
 * to a later cluster, so every node is walked once each way.
 */
struct walk {
    struct nuc_node **stack;
    uint32_t depth;
    bool *walked; /* by node id, for the direction under way */
    struct nuc_node *compute;
};

static void enter(struct walk *w, struct nuc_node *node)
{
    if (w->walked[node->id])
        return;
    w->walked[node->id] = true;
    if (node->cluster == NULL)
        node->cluster = w->compute;
    w->stack[w->depth++] = node;
}

static void walk_inputs(struct walk *w, bool *walked)
{
    w->walked = walked;
    enter(w, w->compute);
    while (w->depth > 0) {
        const struct nuc_node *n = w->stack[--w->depth];
        struct nuc_cursor at = {0, 0};
        if (nuc_is_dequantize(n))
            continue;
        for (struct nuc_node *in = nuc_next_input(n, &at); in != NULL; in = nuc_next_input(n, &at))
            enter(w, in);
    }
}

static void walk_outputs(struct walk *w, bool *walked)
{
    w->walked = walked;
    enter(w, w->compute);
    while (w->depth > 0) {
        struct nuc_node *n = w->stack[--w->depth];
        for (uint32_t i = 0; !nuc_is_quantize(n) && i < n->n_users; i++)
            enter(w, n->users[i]);
    }
}

struct nuc_cluster_ends nuc_tag_clusters(struct nuc_graph *g)
{
    struct nuc_cluster_ends ends = nuc_cluster_ends(g);
    struct nuc_arena *outer = nuc_push_arena(g->cx);
    bool *walked_in = nuc_alloc_array(g->cx, g->next_id, sizeof *walked_in);
    bool *walked_out = nuc_alloc_array(g->cx, g->next_id, sizeof *walked_out);
    struct walk w = {.stack = nuc_alloc_array(g->cx, g->n_nodes, sizeof *w.stack)};

    for (struct nuc_node *n = g->first; n != NULL; n = n->next)
        n->cluster = NULL;
    for (struct nuc_node *n = g->last; n != NULL; n = n->prev) {
        if (!nuc_is_call(n) || nuc_is_quantization(n) || !nuc_has_cluster(&ends, n))
            continue;
        w.compute = n;
        walk_inputs(&w, walked_in);
        walk_outputs(&w, walked_out);
    }
    nuc_pop_arena(g->cx, outer);
    return ends;
}
