/* Models whose inner values are outputs, so that float, quantized and compiled model can be compared node by node. */
#include "compiler/driver/driver.h"

/* The quantize node that reads the value, or NULL. */
static struct nuc_node *quantize_of(const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (node->users[i]->op == NUC_OP_QUANTIZE_PER_TENSOR)
            return node->users[i];
    }
    return NULL;
}

static bool is_probe(const struct nuc_node *node)
{
    enum nuc_op_kind kind = nuc_op_kind(node->op);
    bool computes = kind == NUC_KIND_COMPUTE || kind == NUC_KIND_SHAPE;

    return computes && !node->is_tuple && node->n_vals == 1 && quantize_of(node) != NULL;
}

struct probes_call {
    struct nuc_model *m;
    const char **names;
    size_t count;
};

static void list_probes(struct nuc_context *cx, void *arg)
{
    struct probes_call *call = arg;

    call->names = nuc_alloc_array(cx, call->m->graph->n_nodes, sizeof(char *));
    for (const struct nuc_node *n = call->m->graph->first; n != NULL; n = n->next) {
        if (is_probe(n))
            call->names[call->count++] = n->name;
    }
}

enum nuc_status nuc_model_probes(struct nuc_model *quantized, const char *const **names, size_t *count)
{
    struct probes_call call = {quantized, NULL, 0};
    enum nuc_status s = nuc_enter(quantized->c, list_probes, &call);

    if (s == NUC_OK) {
        *names = call.names;
        *count = call.count;
    }
    return s;
}

struct nuc_node *nuc_probe_quantized(struct nuc_graph *g, struct nuc_node *quantize)
{
    struct nuc_node *node = nuc_add_node(g, nuc_output_node(g), NUC_OP_DEQUANTIZE_PER_TENSOR, "probe");

    nuc_set_arg_node(node, g, 0, quantize);
    for (uint32_t i = 1; i < quantize->n_args; i++)
        node->args[i] = quantize->args[i];
    nuc_infer_shape(g, node);
    return node;
}

static struct nuc_graph *expose(const struct nuc_graph *from, const char *const *names, size_t count)
{
    struct nuc_context *cx = from->cx;
    struct nuc_graph *g = nuc_graph_copy(from);
    struct nuc_node *output = nuc_output_node(g);
    uint32_t n = output->args[0].count;
    struct nuc_node **values = nuc_alloc_array(cx, n + count, sizeof(struct nuc_node *));

    for (uint32_t i = 0; i < n; i++)
        values[i] = output->args[0].u.nodes[i];
    for (size_t i = 0; i < count; i++) {
        struct nuc_node *node = nuc_find_node(g, names[i]);
        if (node == NULL || node->n_vals != 1)
            nuc_fail(cx, NUC_BAD_USAGE, "%s: has no node '%s' with one value", g->file, names[i]);
        struct nuc_node *quantize = quantize_of(node);
        values[n + i] = quantize != NULL ? nuc_probe_quantized(g, quantize) : node;
    }
    nuc_set_arg_nodes(output, g, 0, values, n + (uint32_t)count);
    nuc_graph_verify(g, "expose");
    return g;
}

struct expose_call {
    struct nuc_model *m, *out;
    const char *const *names;
    size_t count;
};

static void expose_model(struct nuc_context *cx, void *arg)
{
    struct expose_call *call = arg;

    (void)cx;
    call->out = nuc_model_make(call->m->c, expose(call->m->graph, call->names, call->count));
    call->out->from_litert = call->m->from_litert;
}

enum nuc_status nuc_model_expose(struct nuc_model *m, const char *const *names, size_t count, struct nuc_model **out)
{
    struct expose_call call = {m, NULL, names, count};
    enum nuc_status s = nuc_enter(m->c, expose_model, &call);

    if (s == NUC_OK)
        *out = call.out;
    return s;
}
