/* Which operators make a partition's model transpose data, for NPUs that cannot. */
#include "npu/lower/lower.h"
#include "npu/support/support.h"

/* A TRANSPOSE that the NPU has no kernel for. */
static bool is_impossible(const struct nuc_lower_options *o, const struct nuc_lt_subgraph *s,
                          const struct nuc_lt_op *op)
{
    if (op->code != NUC_LT_TRANSPOSE)
        return false;
    const struct nuc_lt_tensor *x = &s->tensors[op->inputs[0]];
    const void *perm = s->tensors[op->inputs[1]].data.data;
    return !nuc_can_transpose(o->target, o->flavor, x->shape, perm, x->rank);
}

/* A partition, its model, and the nodes that ask for transposes where each stands alone. */
struct search {
    const struct nuc_partition *p;
    const struct nuc_lt_subgraph *s;
    struct nuc_lt_uses uses;
    struct nuc_node **nodes; /* by id, of the partition; NULL: outside */
    bool *asks, *seen;       /* by id */
    struct nuc_node **queue;
    uint32_t n;
};

/* The node of the first operator with one on the way from a tensor to its readers, or to what it is made of. */
static struct nuc_node *first_node(const struct search *f, int32_t tensor, bool forward)
{
    while (tensor >= 0) {
        uint32_t first = f->uses.first[tensor];
        bool ends = forward ? first == f->uses.first[tensor + 1] : f->uses.producer[tensor] < 0;
        if (ends)
            return NULL;
        const struct nuc_lt_op *op = &f->s->ops[forward ? (int32_t)f->uses.reader[first] : f->uses.producer[tensor]];
        if (op->debug_handle != 0)
            return f->nodes[op->debug_handle - 1];
        tensor = forward ? op->outputs[0] : op->inputs[0];
    }
    return NULL;
}

static void enter(struct search *f, const struct nuc_node *node)
{
    if (node == NULL || f->nodes[node->id] == NULL || f->seen[node->id])
        return;
    f->seen[node->id] = true;
    f->queue[f->n++] = f->nodes[node->id];
}

/* The nearest node in the partition that asks, upwards from `from`, or in any direction; NULL: none. */
static struct nuc_node *nearest(struct search *f, const struct nuc_node *from, bool upwards)
{
    for (uint32_t i = 0; i < f->p->n_nodes; i++)
        f->seen[f->p->nodes[i]->id] = false;
    f->n = 0;
    enter(f, from);
    for (uint32_t i = 0; i < f->n; i++) {
        struct nuc_node *node = f->queue[i];
        struct nuc_cursor at = {0, 0};
        if (f->asks[node->id])
            return node;
        for (const struct nuc_node *in = nuc_next_input(node, &at); in != NULL; in = nuc_next_input(node, &at))
            enter(f, in);
        for (uint32_t k = 0; !upwards && k < node->n_users; k++)
            enter(f, node->users[k]);
    }
    return NULL;
}

/* The node that a TRANSPOSE of the arranged model is there for. */
static struct nuc_node *cause_of(struct search *f, const struct nuc_lt_op *op)
{
    struct nuc_node *reader = first_node(f, op->outputs[0], true), *maker = first_node(f, op->inputs[0], false);
    struct nuc_node *cause = nearest(f, reader, true);

    cause = cause != NULL ? cause : nearest(f, maker, false);
    cause = cause != NULL ? cause : nearest(f, reader, false);
    return cause != NULL ? cause : reader != NULL ? reader : maker;
}

static void begin(struct search *f, struct nuc_graph *g, const struct nuc_lower_options *options)
{
    struct nuc_lower_options plain = *options;
    struct nuc_lower_io io;

    plain.arrange = false;
    f->uses = nuc_lt_uses(g->cx, f->s);
    f->nodes = nuc_alloc_array(g->cx, g->next_id, sizeof(struct nuc_node *));
    f->asks = nuc_alloc_array(g->cx, g->next_id, sizeof *f->asks);
    f->seen = nuc_alloc_array(g->cx, g->next_id, sizeof *f->seen);
    f->queue = nuc_alloc_array(g->cx, f->p->n_nodes, sizeof(struct nuc_node *));
    for (uint32_t i = 0; i < f->p->n_nodes; i++)
        f->nodes[f->p->nodes[i]->id] = f->p->nodes[i];
    const struct nuc_lt_subgraph *s = &nuc_lower_partition(g, f->p, &plain, &io)->subgraphs[0];
    for (uint32_t i = 0; i < s->n_ops; i++) {
        if (s->ops[i].debug_handle != 0 && is_impossible(options, s, &s->ops[i]))
            f->asks[s->ops[i].debug_handle - 1] = true;
    }
}

const bool *nuc_lower_transposing(struct nuc_graph *g, const struct nuc_partition *p,
                                  const struct nuc_lower_options *options)
{
    struct nuc_lower_io io;
    struct search f = {.p = p, .s = &nuc_lower_partition(g, p, options, &io)->subgraphs[0]};
    bool *found = NULL;

    for (uint32_t i = 0; i < f.s->n_ops; i++) {
        if (!is_impossible(options, f.s, &f.s->ops[i]))
            continue;
        if (found == NULL) {
            begin(&f, g, options);
            found = nuc_alloc_array(g->cx, g->next_id, sizeof *found);
        }
        const struct nuc_node *cause = cause_of(&f, &f.s->ops[i]);
        if (cause != NULL)
            found[cause->id] = true;
        for (uint32_t k = 0; cause == NULL && k < p->n_nodes; k++)
            found[p->nodes[k]->id] = true;
    }
    return found;
}
