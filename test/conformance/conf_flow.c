#include "conf_flow.h"

#include <stdlib.h>
#include <string.h>

#define NONE SIZE_MAX
#define MAX_INPUTS 64

/* Tensor arguments of a node of the reference, in order. */
struct names {
    const char *items[MAX_INPUTS];
    size_t count;
};

struct flow {
    json_t *graph, *nodes;
    struct nuc_node_info *own;
    size_t n_own, n_reference;
    size_t *own_of, *reference_of; /* partners, NONE: not met yet */
    size_t *stack;                 /* pairs still to look at: reference, own */
    size_t depth;
    conf_node_check same;
    struct conf_report *r;
};

static const char *text(json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));

    return s == NULL ? "" : s;
}

/* Arguments are values, {"n": name}, or lists of them; lists of lists do not occur. */
static void add_names(json_t *args, struct names *out)
{
    size_t i, k;
    json_t *arg, *inner;

    json_array_foreach(args, i, arg)
    {
        const char *name = json_string_value(json_object_get(arg, "n"));
        if (name != NULL && out->count < MAX_INPUTS)
            out->items[out->count++] = name;
        json_array_foreach(arg, k, inner)
        {
            name = json_string_value(json_object_get(inner, "n"));
            if (name != NULL && out->count < MAX_INPUTS)
                out->items[out->count++] = name;
        }
    }
}

static size_t find_reference(const struct flow *f, const char *name)
{
    for (size_t i = 0; i < f->n_reference; i++) {
        if (strcmp(text(json_array_get(f->nodes, i), "name"), name) == 0)
            return i;
    }
    return NONE;
}

static size_t find_own(const struct flow *f, const char *name)
{
    for (size_t i = 0; i < f->n_own; i++) {
        if (strcmp(f->own[i].name, name) == 0)
            return i;
    }
    return NONE;
}

static bool is_call(json_t *node)
{
    return strcmp(text(node, "op"), "call_function") == 0;
}

/* Marks a pair; pushes it when it is new. */
static bool meet(struct flow *f, size_t reference, size_t own)
{
    if (reference == NONE || own == NONE) {
        conf_differ(f->r, "an argument names a node that does not exist");
        return false;
    }
    if (f->own_of[reference] == own && f->reference_of[own] == reference)
        return true;
    if (f->own_of[reference] != NONE || f->reference_of[own] != NONE) {
        conf_differ(f->r, "'%s' is used where the reference uses another value than '%s'", f->own[own].name,
                    text(json_array_get(f->nodes, reference), "name"));
        return false;
    }
    f->own_of[reference] = own;
    f->reference_of[own] = reference;
    f->stack[2 * f->depth] = reference;
    f->stack[2 * f->depth + 1] = own;
    f->depth++;
    return true;
}

static bool same_inputs(struct flow *f, size_t reference, size_t own)
{
    struct names names = {.count = 0};
    const struct nuc_node_info *o = &f->own[own];

    add_names(json_object_get(json_array_get(f->nodes, reference), "args"), &names);
    if (names.count != o->n_inputs) {
        conf_differ(f->r, "node '%s' (%s): %zu tensor arguments, the reference has %zu", o->name, o->target,
                    o->n_inputs, names.count);
        return false;
    }
    for (size_t i = 0; i < names.count; i++) {
        if (!meet(f, find_reference(f, names.items[i]), find_own(f, o->inputs[i])))
            return false;
    }
    return true;
}

static bool walk(struct flow *f)
{
    size_t reference = NONE, own = NONE;

    for (size_t i = 0; i < f->n_reference; i++) {
        if (strcmp(text(json_array_get(f->nodes, i), "op"), "output") == 0)
            reference = i;
    }
    for (size_t i = 0; i < f->n_own; i++) {
        if (strcmp(f->own[i].target, "output") == 0)
            own = i;
    }
    if (!meet(f, reference, own))
        return false;
    while (f->depth > 0) {
        f->depth--;
        reference = f->stack[2 * f->depth];
        own = f->stack[2 * f->depth + 1];
        json_t *node = json_array_get(f->nodes, reference);
        bool placeholder = strcmp(f->own[own].target, "placeholder") == 0;
        if (placeholder != (strcmp(text(node, "op"), "placeholder") == 0)) {
            conf_differ(f->r, "'%s' (%s) stands where the reference has '%s'", f->own[own].name, f->own[own].target,
                        text(node, "name"));
            return false;
        }
        if (is_call(node) && f->same(f->graph, node, &f->own[own], f->r) != CONF_EQUAL)
            return false;
        if (!placeholder && !same_inputs(f, reference, own))
            return false;
    }
    return true;
}

/*
 * Every call of ours has a partner. Calls of the reference on which no output depends have none: results of a chunk
 * that nobody reads, assertions.
 */
static bool all_paired(const struct flow *f)
{
    for (size_t i = 0; i < f->n_own; i++) {
        const struct nuc_node_info *n = &f->own[i];
        if (f->reference_of[i] != NONE || strcmp(n->target, "placeholder") == 0 || strcmp(n->target, "output") == 0)
            continue;
        conf_differ(f->r, "no output depends on '%s' (%s)", n->name, n->target);
        return false;
    }
    return true;
}

static size_t *indices(size_t count)
{
    size_t *out = malloc((count + 1) * sizeof *out);

    if (out == NULL)
        abort();
    for (size_t i = 0; i < count; i++)
        out[i] = NONE;
    return out;
}

enum conf_result conf_same_flow(json_t *graph, struct nuc_model *own, conf_node_check same, struct conf_report *r)
{
    json_t *nodes = json_object_get(graph, "nodes");
    struct flow f = {.graph = graph, .nodes = nodes, .same = same, .r = r};

    f.n_own = nuc_model_n_nodes(own);
    f.n_reference = json_array_size(nodes);
    f.own = calloc(f.n_own + 1, sizeof *f.own);
    f.own_of = indices(f.n_reference);
    f.reference_of = indices(f.n_own);
    f.stack = indices(2 * (f.n_own + f.n_reference));
    bool equal = f.own != NULL;
    for (size_t i = 0; i < f.n_own && equal; i++)
        equal = nuc_model_node(own, i, &f.own[i]) == NUC_OK;
    equal = equal && walk(&f) && all_paired(&f);
    free(f.own);
    free(f.own_of);
    free(f.reference_of);
    free(f.stack);
    return equal ? CONF_EQUAL : conf_differ(r, "the nodes cannot be read");
}
