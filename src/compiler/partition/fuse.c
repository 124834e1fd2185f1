/* Replacing partitions by delegate calls. */
#include "compiler/partition/partition.h"

/* ---- call nodes ---- */

static struct nuc_node *add_call(struct nuc_graph *g, const struct nuc_partition *p)
{
    struct nuc_node *call = nuc_add_node(g, p->nodes[p->n_nodes - 1], NUC_OP_CALL_DELEGATE, "executorch_call_delegate");
    struct nuc_meta *metas = nuc_alloc_array(g->cx, (size_t)p->n_outputs + 1, sizeof *metas);

    for (uint32_t i = 0; i < p->n_outputs; i++)
        metas[i] = p->outputs[i]->vals[0];
    nuc_set_arg_nodes(call, g, 0, p->inputs, p->n_inputs);
    nuc_set_tuple(g, call, metas, p->n_outputs);
    call->source = p->nodes[0]->source;
    return call;
}

static void redirect_outputs(struct nuc_graph *g, const struct nuc_partition *p, int index, struct nuc_node *call)
{
    for (uint32_t i = 0; i < p->n_outputs; i++) {
        struct nuc_node *output = p->outputs[i];
        struct nuc_node *item = nuc_add_node(g, call->next, NUC_OP_GETITEM, "getitem");
        nuc_set_arg_node(item, g, 0, call);
        nuc_set_arg_int(item, 1, i);
        nuc_set_val(g, item, &output->vals[0]);
        item->source = output->source;
        /* Readers outside now read the call; those inside keep reading the node. */
        for (uint32_t k = output->n_users; k > 0; k--) {
            struct nuc_node *user = output->users[k - 1];
            if (!nuc_is_call(user) || user->partition != index)
                nuc_replace_input(g, user, output, item);
        }
    }
}

/* The nodes leave the graph, but what they say about themselves and each other stays for the lowering. */
static void take_out(struct nuc_graph *g, const struct nuc_partition *p)
{
    struct nuc_node *before = nuc_alloc_array(g->cx, (size_t)p->n_nodes + 1, sizeof *before);

    for (uint32_t i = 0; i < p->n_nodes; i++) {
        struct nuc_node *n = p->nodes[i];
        before[i] = *n;
        before[i].args = nuc_copy(g->cx, n->args, n->n_args * sizeof *n->args);
        before[i].users = nuc_copy(g->cx, n->users, n->n_users * sizeof(struct nuc_node *));
        before[i].users_capacity = n->n_users;
        before[i].prev = before[i].next = NULL;
    }
    for (uint32_t i = p->n_nodes; i > 0; i--)
        nuc_remove_node(g, p->nodes[i - 1]);
    for (uint32_t i = 0; i < p->n_nodes; i++)
        *p->nodes[i] = before[i];
}

/* ---- order ---- */

/*
 * A stable topological order: of the nodes that may come next, the one that came first. A call stands where the last
 * node of its partition stood, so nodes between the partition's first and last one may have to move behind it.
 */
struct sorting {
    struct nuc_node **nodes; /* in graph order */
    uint32_t *position;      /* by node id: index in `nodes` */
    uint32_t *missing;       /* by node id: inputs not placed yet, repetitions counted once */
    uint32_t *heap;          /* positions of nodes that may come next, smallest on top */
    uint32_t heap_size;
};

static void push(struct sorting *s, uint32_t position)
{
    uint32_t at = s->heap_size++;

    while (at > 0 && s->heap[(at - 1) / 2] > position) {
        s->heap[at] = s->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    s->heap[at] = position;
}

static uint32_t pop(struct sorting *s)
{
    uint32_t top = s->heap[0], last = s->heap[--s->heap_size], at = 0;

    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= s->heap_size)
            break;
        if (child + 1 < s->heap_size && s->heap[child + 1] < s->heap[child])
            child++;
        if (s->heap[child] >= last)
            break;
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = last;
    return top;
}

static void sort_graph(struct nuc_graph *g)
{
    struct nuc_arena *outer = nuc_push_arena(g->cx);
    struct sorting s = {
        .nodes = nuc_alloc_array(g->cx, g->n_nodes, sizeof(struct nuc_node *)),
        .position = nuc_alloc_array(g->cx, g->next_id, sizeof(uint32_t)),
        .missing = nuc_alloc_array(g->cx, g->next_id, sizeof(uint32_t)),
        .heap = nuc_alloc_array(g->cx, g->n_nodes, sizeof(uint32_t)),
    };
    uint32_t count = 0, placed = 0;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        s.position[n->id] = count;
        s.nodes[count++] = n;
        for (uint32_t i = 0; i < n->n_users; i++)
            s.missing[n->users[i]->id]++;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (s.missing[s.nodes[i]->id] == 0)
            push(&s, i);
    }
    for (; s.heap_size > 0; placed++) {
        struct nuc_node *n = s.nodes[pop(&s)];
        nuc_move_before(g, n, NULL);
        for (uint32_t i = 0; i < n->n_users; i++) {
            if (--s.missing[n->users[i]->id] == 0)
                push(&s, s.position[n->users[i]->id]);
        }
    }
    nuc_pop_arena(g->cx, outer);
    if (placed != count)
        nuc_fail(g->cx, NUC_INTERNAL, "%s: the partitions form a cycle", g->file);
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

    /* Calls are named in graph order, getitem nodes in the order of the partitions, as the reference does. */
    for (uint32_t i = 0; i < partitions->count; i++)
        calls[order[i]] = add_call(g, &partitions->items[order[i]]);
    for (uint32_t i = 0; i < partitions->count; i++)
        redirect_outputs(g, &partitions->items[i], (int)i, calls[i]);
    for (uint32_t i = 0; i < partitions->count; i++)
        take_out(g, &partitions->items[i]);
    sort_graph(g);
    nuc_remove_dead(g);
    return calls;
}
