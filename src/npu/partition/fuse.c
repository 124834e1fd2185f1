/* Replacing partitions by delegate calls. */
#include "npu/partition/partition.h"

#include "ir/labels.h"

/* ---- call nodes ---- */

static void redirect_outputs(struct nuc_graph *g, const struct nuc_partition *p, int index, struct nuc_node *call)
{
    for (uint32_t i = 0; i < p->n_outputs; i++) {
        struct nuc_node *output = p->outputs[i];
        struct nuc_node *item = nuc_add_node(g, call->next, NUC_OP_GETITEM, "getitem");
        nuc_set_arg_node(item, g, NUC_SELF, call);
        nuc_set_arg_int(item, NUC_ARG(GETITEM, index), i);
        nuc_set_val(g, item, &output->vals[0]);
        nuc_made_of(item, output);
        /* Readers outside now read the call; those inside keep reading the node. */
        for (uint32_t k = output->n_users; k > 0; k--) {
            struct nuc_node *user = output->users[k - 1];
            if (!nuc_is_call(user) || user->partition != index)
                nuc_replace_input(g, user, output, item);
        }
    }
}

/* ---- order ---- */

struct sorting {
    struct nuc_graph *g;
    uint32_t *missing;       /* by node id: inputs not placed yet, repetitions counted once */
    struct nuc_node **queue; /* nodes whose inputs are placed, in the order in which they got so */
    uint32_t count;
};

/* Readers of a node in the order of the graph, each once. */
static void sort_users(struct nuc_graph *g)
{
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        struct nuc_cursor at = {0, 0};
        n->n_users = 0; /* its readers come after it */
        for (struct nuc_node *input = nuc_next_input(n, &at); input != NULL; input = nuc_next_input(n, &at)) {
            /* All readings of one node follow each other, so its last reader says whether it is listed. */
            if (input->n_users == 0 || input->users[input->n_users - 1] != n)
                input->users[input->n_users++] = n;
        }
    }
}

/*
 * The order torch.fx's legalize_graph gives: breadth first from the nodes that read nothing, readers in their order. A
 * call stands after all its partition reads, so nodes that stood between the partition's nodes may move after it.
 */
static void sort_graph(struct nuc_graph *g)
{
    struct nuc_arena *outer = nuc_push_arena(g->cx);
    struct sorting s = {
        .g = g,
        .missing = nuc_alloc_array(g->cx, g->next_id, sizeof(uint32_t)),
        .queue = nuc_alloc_array(g->cx, g->n_nodes, sizeof(struct nuc_node *)),
    };

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; i < n->n_users; i++)
            s.missing[n->users[i]->id]++;
    }
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (s.missing[n->id] == 0)
            s.queue[s.count++] = n;
    }
    for (uint32_t at = 0; at < s.count; at++) {
        struct nuc_node *n = s.queue[at];
        for (uint32_t i = 0; i < n->n_users; i++) {
            if (--s.missing[n->users[i]->id] == 0)
                s.queue[s.count++] = n->users[i];
        }
    }
    if (s.count != g->n_nodes)
        nuc_fail(g->cx, NUC_INTERNAL, "%s: the partitions form a cycle", g->file);
    for (uint32_t i = 0; i < s.count; i++)
        nuc_move_before(g, s.queue[i], NULL);
    nuc_pop_arena(g->cx, outer);
    sort_users(g);
}

/* Indices of the partitions in the order of their last nodes. */
static uint32_t *order_of_calls(struct nuc_graph *g, const struct nuc_partitions *partitions)
{
    uint32_t *order = nuc_alloc_array(g->cx, (size_t)partitions->count + 1, sizeof *order);
    uint32_t count = 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_call(n) || n->partition < 0)
            continue;
        const struct nuc_partition *p = &partitions->items[n->partition];
        if (p->nodes[p->n_nodes - 1] == n)
            order[count++] = (uint32_t)n->partition;
    }
    return order;
}

struct nuc_node **nuc_fuse_partitions(struct nuc_graph *g, struct nuc_partitions *partitions)
{
    struct nuc_node **calls = nuc_alloc_array(g->cx, (size_t)partitions->count + 1, sizeof(struct nuc_node *));
    const uint32_t *order = order_of_calls(g, partitions);

    sort_users(g);
    /* Calls are named in graph order, getitem nodes in the order of the partitions, as the reference does. */
    for (uint32_t i = 0; i < partitions->count; i++) {
        const struct nuc_partition *p = &partitions->items[order[i]];
        struct nuc_node *call =
            nuc_add_node(g, p->nodes[p->n_nodes - 1], NUC_OP_CALL_DELEGATE, "executorch_call_delegate");
        struct nuc_meta *metas = nuc_alloc_array(g->cx, (size_t)p->n_outputs + 1, sizeof *metas);
        for (uint32_t k = 0; k < p->n_outputs; k++)
            metas[k] = p->outputs[k]->vals[0];
        nuc_set_arg_nodes(call, g, NUC_ARG(CALL_DELEGATE, inputs), p->inputs, p->n_inputs);
        nuc_set_tuple(g, call, metas, p->n_outputs);
        nuc_made_of(call, p->nodes[0]);
        nuc_set_label(g, call, p->tag);
        calls[order[i]] = call;
    }
    for (uint32_t i = 0; i < partitions->count; i++)
        redirect_outputs(g, &partitions->items[i], (int)i, calls[i]);
    for (uint32_t i = 0; i < partitions->count; i++) {
        for (uint32_t k = partitions->items[i].n_nodes; k > 0; k--)
            nuc_remove_node(g, partitions->items[i].nodes[k - 1]);
    }
    nuc_remove_dead(g);
    if (partitions->count > 0)
        sort_graph(g);
    /* Clusters are what partitions are made of; what lowers the rest for the CPU takes them apart. */
    for (struct nuc_node *n = g->first; n != NULL; n = n->next)
        n->cluster = NULL;
    return calls;
}
