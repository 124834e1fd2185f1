/*
 * Check on Cortex-M targets: from the float model and the reference's calibration samples to the quantized graph and to
 * the lowered one, every operator and argument of which has to be the reference's.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "conf_flow.h"
#include "conformance.h"
#include "driver/driver.h"

/* Scales follow from sums over the samples, whose last bit may differ. */
#define SCALE_TOLERANCE 1e-6

/* ---- arguments ---- */

/* Nodes of the reference's graph by name and ours, in step. */
struct names {
    const char *reference[4096];
    const struct nuc_node *own[4096];
    size_t count;
};

static const struct nuc_node *own_node(const struct names *n, const char *reference)
{
    for (size_t i = n->count; i-- > 0;) {
        if (strcmp(n->reference[i], reference) == 0)
            return n->own[i];
    }
    return NULL;
}

static bool same_constant_values(json_t *values, struct nuc_graph *g, const struct nuc_node *own)
{
    const int32_t *data = nuc_const_contiguous(g, own);
    json_t *value;
    size_t i;

    if (!json_is_array(values) || own->vals[0].dtype != NUC_I32)
        return true;
    if (json_array_size(values) != (size_t)nuc_elements(&own->vals[0]))
        return false;
    json_array_foreach(values, i, value)
    {
        if (json_is_integer(value) && json_integer_value(value) != data[i])
            return false;
    }
    return true;
}

static bool same_constant(json_t *graph, const char *name, struct nuc_graph *g, const struct nuc_node *own)
{
    json_t *constant = json_object_get(json_object_get(graph, "constants"), name);
    json_t *shape = json_object_get(constant, "shape");

    if (constant == NULL || !nuc_is_static(own) || json_array_size(shape) != own->vals[0].rank)
        return false;
    for (uint32_t i = 0; i < own->vals[0].rank; i++) {
        if (json_integer_value(json_array_get(shape, i)) != own->vals[0].sizes[i])
            return false;
    }
    return same_constant_values(json_object_get(constant, "values"), g, own);
}

static bool same_node(json_t *graph, const struct names *names, json_t *arg, struct nuc_graph *g,
                      const struct nuc_node *own)
{
    const char *name = json_string_value(json_object_get(arg, "n"));
    const struct nuc_node *known = name == NULL ? NULL : own_node(names, name);

    if (name == NULL)
        return false;
    if (known != NULL)
        return known == own;
    if (nuc_is_placeholder(own) && own->input_kind == NUC_USER_INPUT)
        return strcmp(own->name, name) == 0;
    return same_constant(graph, name, g, own);
}

static bool same_ints(json_t *arg, const struct nuc_arg *own)
{
    if (!json_is_array(arg) || json_array_size(arg) != own->count)
        return false;
    for (uint32_t i = 0; i < own->count; i++) {
        if (json_integer_value(json_array_get(arg, i)) != own->u.ints[i])
            return false;
    }
    return true;
}

static bool same_number(json_t *arg, double own)
{
    double value = json_is_boolean(arg) ? json_is_true(arg) : json_number_value(arg);

    return value <= own + SCALE_TOLERANCE * fabs(own) && value >= own - SCALE_TOLERANCE * fabs(own);
}

static bool same_arg(json_t *graph, const struct names *names, json_t *arg, struct nuc_graph *g,
                     const struct nuc_arg *own)
{
    const char *text = json_string_value(arg);

    switch ((int)own->kind) {
    case NUC_ARG_NONE:
        return json_is_null(arg);
    case NUC_ARG_NODE:
        return same_node(graph, names, arg, g, own->u.node);
    case NUC_ARG_INT:
        return json_is_integer(arg) && json_integer_value(arg) == own->u.i;
    case NUC_ARG_INTS:
        return same_ints(arg, own);
    case NUC_ARG_FLOAT:
        return json_is_number(arg) && same_number(arg, own->u.f);
    case NUC_ARG_BOOL:
        return json_is_boolean(arg) && json_is_true(arg) == own->u.b;
    case NUC_ARG_DTYPE:
        return text != NULL && strncmp(text, "torch.", 6) == 0 && strcmp(text + 6, nuc_dtype_name(own->u.dtype)) == 0;
    default:
        return true;
    }
}

/* memory.alloc takes one tuple of sizes and type. */
static bool same_alloc(json_t *node, const struct nuc_node *own)
{
    return same_ints(json_array_get(json_array_get(json_object_get(node, "args"), 0), 0), &own->args[0]);
}

/* ---- nodes ---- */

static json_t *next_call(json_t *nodes, size_t *at)
{
    while (*at < json_array_size(nodes)) {
        json_t *n = json_array_get(nodes, (*at)++);
        const char *op = json_string_value(json_object_get(n, "op"));
        if (op != NULL && strcmp(op, "call_function") == 0)
            return n;
    }
    return NULL;
}

static const struct nuc_node *next_own(const struct nuc_node *n)
{
    while (n != NULL && !nuc_is_call(n))
        n = n->next;
    return n;
}

static enum conf_result same_operator(json_t *graph, json_t *node, const struct names *names, struct nuc_graph *g,
                                      const struct nuc_node *own, struct conf_report *r)
{
    const char *target = json_string_value(json_object_get(node, "target"));
    json_t *args = json_object_get(node, "args"), *given = json_object_get(node, "kwargs");
    const struct nuc_schema *schema = nuc_op_schema(own->op);

    if (target == NULL || strcmp(target, nuc_node_op_name(own)) != 0)
        return conf_differ(r, "'%s' is %s, the reference has %s", own->name, nuc_node_op_name(own),
                           target == NULL ? "nothing" : target);
    if (own->op == NUC_OP_ALLOC)
        return same_alloc(node, own) ? CONF_EQUAL
                                     : conf_differ(r, "'%s': %lld bytes of scratch memory are not the reference's",
                                                   own->name, (long long)own->args[0].u.ints[0]);
    for (uint32_t i = 0; i < own->n_args; i++) {
        json_t *arg =
            i < json_array_size(args) ? json_array_get(args, i) : json_object_get(given, schema->args[i].name);
        if (arg != NULL && !same_arg(graph, names, arg, g, &own->args[i]))
            return conf_differ(r, "'%s': argument '%s' is not the reference's (%s)", own->name, schema->args[i].name,
                               json_string_value(json_object_get(node, "name")));
        if (arg == NULL && own->args[i].given && own->args[i].kind != NUC_ARG_NONE)
            return conf_differ(r, "'%s': argument '%s' is given", own->name, schema->args[i].name);
    }
    return CONF_EQUAL;
}

static enum conf_result same_lowered(json_t *graph, struct nuc_graph *g, struct conf_report *r)
{
    static struct names names;
    json_t *nodes = json_object_get(graph, "nodes");
    const struct nuc_node *own = next_own(g->first);
    size_t at = 0;

    names.count = 0;
    for (json_t *node = next_call(nodes, &at); node != NULL; node = next_call(nodes, &at)) {
        if (own == NULL)
            return conf_differ(r, "the reference's graph goes on with '%s'",
                               json_string_value(json_object_get(node, "name")));
        if (same_operator(graph, node, &names, g, own, r) != CONF_EQUAL)
            return CONF_DIFFERENT;
        if (names.count == sizeof names.own / sizeof names.own[0])
            return conf_differ(r, "the graph has too many nodes");
        names.reference[names.count] = json_string_value(json_object_get(node, "name"));
        names.own[names.count++] = own;
        own = next_own(own->next);
    }
    return own == NULL ? CONF_EQUAL : conf_differ(r, "'%s' has no counterpart", own->name);
}

/* ---- the check ---- */

/* The float model lies with the data of the NPU. */
static void float_model(const struct conf_case *c, char *path, size_t size)
{
    snprintf(path, size, "%s/../../../models/%s/channels_last/%s.fp32.pt2", c->folder, c->name, c->name);
}

/* The reference's command line quantizes one export of the model and lowers another one: no flow of ours. */
static bool is_one_flow(json_t *summary)
{
    const char *flow = json_string_value(json_object_get(summary, "flow"));

    return flow != NULL && strcmp(flow, "tester") == 0;
}

static enum conf_result compare(struct nuc_compiler *compiler, const struct conf_case *c, const char *model_path,
                                json_t *quantized_graph, json_t *lowered_graph, struct conf_report *r)
{
    struct nuc_model *model, *quantized, *partitioned, *lowered;
    struct nuc_dataset *samples;
    char samples_path[4096];

    conf_path(c, "calib.npz", samples_path, sizeof samples_path);
    if (nuc_model_open(compiler, model_path, &model) != NUC_OK ||
        nuc_dataset_open(compiler, samples_path, &samples) != NUC_OK ||
        nuc_quantize(model, samples, &quantized) != NUC_OK)
        return conf_failed(r, compiler, "quantize");
    if (conf_same_quantized_graph(quantized_graph, quantized, r) != CONF_EQUAL)
        return CONF_DIFFERENT;
    if (nuc_partition(quantized, &partitioned) != NUC_OK || nuc_lower(partitioned, &lowered) != NUC_OK)
        return conf_failed(r, compiler, "lower");
    return same_lowered(lowered_graph, lowered->graph, r);
}

enum conf_result check_cortexm(struct nuc_compiler *none, const struct conf_case *c, struct conf_report *r)
{
    json_t *summary = conf_json(c, "summary.json"), *quantized = conf_json(c, "qdq.graph.json");
    json_t *lowered = conf_json(c, "edge_after.json");
    enum conf_result result = CONF_ABSENT;
    char path[4096];

    (void)none;
    if (is_one_flow(summary) && json_is_object(quantized) && json_is_object(lowered)) {
        struct nuc_options o;
        nuc_options_default(&o);
        o.reference_compat = true;
        o.target = json_string_value(json_object_get(summary, "target"));
        struct nuc_compiler *compiler = nuc_compiler_new(&o, NULL);
        float_model(c, path, sizeof path);
        result = compiler == NULL ? conf_differ(r, "out of memory") : compare(compiler, c, path, quantized, lowered, r);
        nuc_compiler_free(compiler);
    }
    json_decref(lowered);
    json_decref(quantized);
    json_decref(summary);
    return result;
}
