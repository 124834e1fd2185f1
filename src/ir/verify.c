/* The invariants of a graph. Every stage of the compiler is followed by this check. */
#include <string.h>

#include "ir/graph.h"
#include "ir/invariants.h"
#include "ir/names.h"
#include "ir/shapes/shapes.h"

struct verifier {
    struct nuc_graph *g;
    const char *stage;
    struct nuc_node **seen; /* by id: the nodes passed so far */
    size_t n_uses;          /* pairs of a node and one that reads it */
    size_t n_users;         /* entries of all lists of users */
    uint32_t n_nodes, *n_of_op;
    bool has_clusters, has_states;
};

bool nuc_arg_fits(const struct nuc_schema_arg *schema, const struct nuc_arg *arg)
{
    if (arg->kind == NUC_ARG_NONE)
        return schema->optional;
    if (arg->kind == NUC_ARG_DTYPE && (unsigned)arg->u.dtype >= NUC_DTYPE_COUNT)
        return false;
    if (arg->kind == NUC_ARG_MEMORY_FORMAT && (unsigned)arg->u.memory_format > NUC_PRESERVE_FORMAT)
        return false;
    if (arg->kind == NUC_ARG_NODE && arg->u.node == NULL)
        return false;
    return arg->kind == schema->kind || (schema->is_scalar && arg->kind == NUC_ARG_INT);
}

bool nuc_meta_is_valid(const struct nuc_meta *m)
{
    bool seen[NUC_MAX_RANK] = {false};

    if ((unsigned)m->dtype >= NUC_DTYPE_COUNT || m->rank > NUC_MAX_RANK || nuc_checked_elements(m->sizes, m->rank) < 0)
        return false;
    for (uint8_t i = 0; i < m->rank; i++) {
        if (m->dim_order[i] >= m->rank || seen[m->dim_order[i]])
            return false;
        seen[m->dim_order[i]] = true;
    }
    return true;
}

_Noreturn static void broken(const struct verifier *v, const struct nuc_node *node, const char *what)
{
    const char *name = node->source->label == NULL ? "" : nuc_format(v->g->cx, ", %%%s in the graph", node->name);

    nuc_fail(v->g->cx, NUC_INTERNAL, "%s: after %s: %s%s: %s", v->g->file, v->stage, nuc_node_text(v->g->cx, node),
             name, what);
}

static bool was_seen(const struct verifier *v, const struct nuc_node *node)
{
    return node->id < v->g->next_id && v->seen[node->id] == node;
}

/* ---- arguments and users ---- */

static void check_inputs(struct verifier *v, struct nuc_node *node)
{
    uint32_t count = nuc_inputs(node, NULL, 0);
    struct nuc_node **inputs = nuc_alloc_array(v->g->cx, count, sizeof *inputs);

    nuc_inputs(node, inputs, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = 0;
        if (!was_seen(v, inputs[i]))
            broken(v, node, "it reads a node that does not come before it");
        if (inputs[i]->op == NUC_OP_OUTPUT || inputs[i]->is_tuple != (node->op == NUC_OP_GETITEM))
            broken(v, node, "only getitem reads a tuple, everything else single tensors");
        if (!nuc_is_user(inputs[i], node))
            broken(v, node, "a node it reads does not know it as a user");
        while (inputs[first] != inputs[i])
            first++;
        v->n_uses += first == i ? 1 : 0;
    }
}

/* ---- values and data ---- */

static void check_values(const struct verifier *v, const struct nuc_node *node)
{
    if (node->n_vals != 0 && node->vals == NULL)
        broken(v, node, "it has no values");
    if (!node->is_tuple && node->n_vals != (node->op == NUC_OP_OUTPUT ? 0 : 1))
        broken(v, node, "it does not have one value");
    for (uint32_t i = 0; i < node->n_vals; i++) {
        if (!nuc_meta_is_valid(&node->vals[i]))
            broken(v, node, "its type, sizes or dim order are impossible");
    }
    bool is_named = nuc_is_static(node) || nuc_is_state(node);
    if (node->data != NULL && !is_named)
        broken(v, node, "it has data, but is not a parameter, buffer, constant or state");
    if (is_named && node->target == NULL)
        broken(v, node, "it has no target");
    if (node->data != NULL) {
        const struct nuc_meta *m = &node->vals[0];
        size_t elements = node->data->bytes.size / nuc_dtype_size(m->dtype);
        size_t last = 0;
        if (nuc_elements(m) == 0)
            return;
        for (uint8_t i = 0; i < m->rank; i++) {
            size_t step;
            if (node->data->strides[i] < 0 ||
                !nuc_mul_size((size_t)node->data->strides[i], (size_t)m->sizes[i] - 1, &step) ||
                !nuc_add_size(last, step, &last))
                broken(v, node, "its strides are out of range");
        }
        if (last >= elements)
            broken(v, node, "its data are shorter than the tensor");
    }
}

/* ---- shape rules ---- */

static bool same_values(const struct nuc_node *a, const struct nuc_node *b)
{
    if (a->is_tuple != b->is_tuple || a->n_vals != b->n_vals)
        return false;
    for (uint32_t i = 0; i < a->n_vals; i++) {
        if (!nuc_same_layout(&a->vals[i], &b->vals[i]))
            return false;
    }
    return true;
}

/* The rule runs on a copy of the node: same arguments, values of its own. */
static void check_shape(const struct verifier *v, const struct nuc_node *node)
{
    struct nuc_context *cx = v->g->cx;
    struct nuc_node copy = *node;

    nuc_infer_shape(v->g, &copy);
    if (same_values(node, &copy))
        return;
    const char *stated = node->n_vals == 0 ? "nothing" : nuc_meta_text(cx, &node->vals[0]);
    const char *computed = copy.n_vals == 0 ? "nothing" : nuc_meta_text(cx, &copy.vals[0]);
    broken(v, node, nuc_format(cx, "it says %s, its operator makes %s", stated, computed));
}

/* ---- the graph ---- */

static void check_node(struct verifier *v, struct nuc_node *node)
{
    if ((unsigned)node->op >= NUC_OP_COUNT)
        nuc_fail(v->g->cx, NUC_INTERNAL, "%s: after %s: a node has no operator", v->g->file, v->stage);
    if (node->name == NULL || node->name[0] == '\0')
        nuc_fail(v->g->cx, NUC_INTERNAL, "%s: after %s: a node (%s) has no name", v->g->file, v->stage,
                 nuc_node_op_name(node));
    if (node->id >= v->g->next_id || v->seen[node->id] != NULL)
        broken(v, node, "its id belongs to another node");
    if (node->next == NULL ? v->g->last != node : node->next->prev != node)
        broken(v, node, "the list of nodes is broken after it");
    if (nuc_is_placeholder(node) && node->prev != NULL && !nuc_is_placeholder(node->prev))
        broken(v, node, "a placeholder stands after an operator");
    if ((node->op == NUC_OP_OUTPUT) != (node->next == NULL))
        broken(v, node, "the last node, and only that, is the output");
    if (!nuc_op_in_dialect(node->op, node->dialect))
        broken(v, node, "its dialect does not have the operator");
    if (node->in_place && (node->dialect != NUC_ATEN || !nuc_op_has_in_place(node->op)))
        broken(v, node, "the operator has no form in place");
    const struct nuc_schema *schema = nuc_op_schema(node->op);
    if (node->n_args != schema->n_args)
        broken(v, node, "it does not have the arguments of its operator");
    for (uint32_t i = 0; i < node->n_args; i++) {
        if (!nuc_arg_fits(&schema->args[i], &node->args[i]))
            broken(v, node, nuc_format(v->g->cx, "argument '%s' has the wrong type", schema->args[i].name));
    }
    check_inputs(v, node);
    check_values(v, node);
    check_shape(v, node);
    v->n_users += node->n_users;
    v->has_clusters = v->has_clusters || node->cluster != NULL;
    v->has_states = v->has_states || nuc_is_state(node);
    v->seen[node->id] = node;
    v->n_of_op[node->op]++;
    v->n_nodes++;
}

static void check_nodes(struct nuc_context *cx, void *arg)
{
    struct verifier *v = arg;

    (void)cx;
    for (struct nuc_node *n = v->g->first; n != NULL; n = n->next)
        check_node(v, n);
}

/* Each state has a next value of its type and sizes. */
static void check_states(const struct verifier *v)
{
    const struct nuc_states states = nuc_states_of(v->g);
    const struct nuc_node *output = nuc_output_node(v->g);

    if (output->args[NUC_ARG(OUTPUT, values)].count < states.count)
        broken(v, output, "it has fewer values than there are states");
    for (uint32_t i = 0; i < states.count; i++) {
        const struct nuc_node *n = states.nodes[i];
        const struct nuc_node *next = output->args[NUC_ARG(OUTPUT, values)].u.nodes[states.first_next + i];
        if (next == NULL || next->vals[0].dtype != n->vals[0].dtype || !nuc_same_sizes(&next->vals[0], &n->vals[0]))
            broken(v, n, "what the state becomes is of another type or of other sizes");
    }
}

void nuc_graph_verify(struct nuc_graph *g, const char *stage)
{
    struct nuc_arena *outer = nuc_push_arena(g->cx);
    struct verifier v = {.g = g, .stage = stage};

    v.seen = nuc_alloc_array(g->cx, g->next_id, sizeof *v.seen);
    v.n_of_op = nuc_alloc_array(g->cx, NUC_OP_COUNT, sizeof *v.n_of_op);
    if (g->first == NULL || g->first->prev != NULL)
        nuc_fail(g->cx, NUC_INTERNAL, "%s: after %s: the graph has no output or no beginning", g->file, stage);
    /* A shape rule says that an input is bad: not the user's is. */
    const enum nuc_status status = nuc_attempt(g->cx, check_nodes, &v);
    if (status == NUC_BAD_INPUT)
        nuc_fail(g->cx, NUC_INTERNAL, "after %s: %s", stage, nuc_strdup(g->cx, g->cx->message));
    if (status != NUC_OK)
        nuc_fail_again(g->cx, status);
    if (v.n_nodes != g->n_nodes || memcmp(v.n_of_op, g->n_of_op, sizeof g->n_of_op) != 0)
        nuc_fail(g->cx, NUC_INTERNAL, "%s: after %s: the graph counts %u nodes, it has %u", g->file, stage,
                 (unsigned)g->n_nodes, (unsigned)v.n_nodes);
    for (const struct nuc_node *n = v.has_clusters ? v.g->first : NULL; n != NULL; n = n->next) {
        if (n->cluster != NULL && !was_seen(&v, n->cluster))
            broken(&v, n, "its cluster is not in the graph");
    }
    if (v.has_states)
        check_states(&v);
    /* Each pair has an entry: where there are as many, none is of a node that does not read, or is not in the graph. */
    if (v.n_users != v.n_uses)
        nuc_fail(v.g->cx, NUC_INTERNAL, "%s: after %s: %zu users are noted, there are %zu", v.g->file, v.stage,
                 v.n_users, v.n_uses);
    const struct nuc_node *misnamed = nuc_find_misnamed(g, v.seen);
    if (misnamed != NULL)
        broken(&v, misnamed, "its name belongs to another node, or to none");
    nuc_pop_arena(g->cx, outer);
}
