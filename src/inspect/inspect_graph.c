/* A graph as JSON and in dot. */
#include "archive/json_build.h"
#include "inspect/inspect_forms.h"

/* ---- JSON ---- */

static void put_meta(struct nuc_context *cx, json_t *parent, const char *key, const struct nuc_meta *m)
{
    json_t *out = nuc_put_object(cx, parent, key);

    nuc_put_string(cx, out, "dtype", nuc_dtype_name(m->dtype));
    nuc_put_sizes(cx, out, m->sizes, m->rank);
    json_t *order = nuc_put_array(cx, out, "dim_order");
    for (uint8_t i = 0; i < m->rank; i++)
        nuc_put_int(cx, order, NULL, m->dim_order[i]);
}

static void put_node(struct nuc_context *cx, json_t *parent, const char *key, const struct nuc_node *n)
{
    if (n == NULL)
        nuc_put_null(cx, parent, key);
    else
        nuc_put_string(cx, nuc_put_object(cx, parent, key), "node", n->name);
}

static void put_list(struct nuc_context *cx, json_t *parent, const char *key, const struct nuc_arg *a)
{
    json_t *list = nuc_put_array(cx, parent, key);

    for (uint32_t i = 0; i < a->count; i++) {
        if (a->kind == NUC_ARG_NODES)
            put_node(cx, list, NULL, a->u.nodes[i]);
        else if (a->kind == NUC_ARG_INTS)
            nuc_put_int(cx, list, NULL, a->u.ints[i]);
        else
            nuc_put_double(cx, list, NULL, a->u.floats[i]);
    }
}

static void put_arg(struct nuc_context *cx, json_t *out, const char *name, const struct nuc_arg *a)
{
    static const char *const memory_formats[] = {
        [NUC_CONTIGUOUS_FORMAT] = "contiguous",
        [NUC_CHANNELS_LAST] = "channels-last",
        [NUC_CHANNELS_LAST_3D] = "channels-last-3d",
        [NUC_PRESERVE_FORMAT] = "preserve",
    };

    switch (a->kind) {
    case NUC_ARG_NONE:
    case NUC_ARG_OTHER:
        nuc_put_null(cx, out, name);
        break;
    case NUC_ARG_NODE:
        put_node(cx, out, name, a->u.node);
        break;
    case NUC_ARG_NODES:
    case NUC_ARG_INTS:
    case NUC_ARG_FLOATS:
        put_list(cx, out, name, a);
        break;
    case NUC_ARG_INT:
        nuc_put_int(cx, out, name, a->u.i);
        break;
    case NUC_ARG_FLOAT:
        nuc_put_double(cx, out, name, a->u.f);
        break;
    case NUC_ARG_BOOL:
        nuc_put_bool(cx, out, name, a->u.b);
        break;
    case NUC_ARG_STRING:
        nuc_put_string(cx, out, name, a->u.string);
        break;
    case NUC_ARG_DTYPE:
        nuc_put_string(cx, out, name, nuc_dtype_name(a->u.dtype));
        break;
    case NUC_ARG_MEMORY_FORMAT:
        nuc_put_string(cx, out, name, memory_formats[a->u.memory_format]);
        break;
    }
}

void nuc_inspect_graph_json(struct nuc_context *cx, const struct nuc_graph *g, json_t *out)
{
    json_t *nodes = nuc_put_array(cx, out, "nodes");

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        json_t *node = nuc_put_object(cx, nodes, NULL);
        nuc_put_string(cx, node, "name", n->name);
        if (n->source->label != NULL)
            nuc_put_string(cx, node, "label", n->source->label);
        nuc_put_string(cx, node, "target", nuc_node_op_name(n));
        if (nuc_is_placeholder(n)) {
            static const char *const kinds[] = {
                [NUC_USER_INPUT] = "input",  [NUC_PARAMETER] = "parameter", [NUC_BUFFER] = "buffer",
                [NUC_CONSTANT] = "constant", [NUC_STATE] = "state",
            };
            nuc_put_string(cx, node, "kind", kinds[n->input_kind]);
            if (n->target != NULL)
                nuc_put_string(cx, node, "state_dict_name", n->target);
        } else {
            const struct nuc_schema *schema = nuc_op_schema(n->op);
            json_t *args = nuc_put_object(cx, node, "args");
            for (uint32_t i = 0; i < n->n_args; i++) {
                if (n->args[i].given)
                    put_arg(cx, args, schema->args[i].name, &n->args[i]);
            }
        }
        if (n->is_tuple) {
            json_t *list = nuc_put_array(cx, node, "val");
            for (uint32_t i = 0; i < n->n_vals; i++)
                put_meta(cx, list, NULL, &n->vals[i]);
        } else if (n->n_vals == 1) {
            put_meta(cx, node, "val", &n->vals[0]);
        }
        const struct nuc_source *source = n->source;
        const bool placed = source->file != NULL || source->module != NULL;
        json_t *place = placed ? nuc_put_object(cx, node, "source") : NULL;
        if (source->file != NULL) {
            nuc_put_string(cx, place, "file", source->file);
            nuc_put_int(cx, place, "line", source->line);
        }
        if (source->module != NULL)
            nuc_put_string(cx, place, "module", source->module);
    }
}

/* ---- dot ---- */

static bool is_drawn(const struct nuc_node *n)
{
    return !nuc_is_static(n);
}

void nuc_inspect_graph_dot(struct nuc_text *out, const struct nuc_graph *g)
{
    nuc_text_addf(out, "digraph model {\n  node [shape=box];\n");
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (is_drawn(n)) {
            nuc_text_addf(out, "  n%u [label=", (unsigned)n->id);
            if (nuc_is_call(n))
                nuc_dot_string(out, nuc_format(out->cx, "%s\n%s", n->name, nuc_node_op_name(n)));
            else
                nuc_dot_string(out, n->name);
            nuc_text_addf(out, "%s];\n", nuc_is_call(n) ? "" : ", shape=ellipse");
        }
    }
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        struct nuc_cursor at = {0, 0};
        for (const struct nuc_node *in = nuc_next_input(n, &at); in != NULL; in = nuc_next_input(n, &at)) {
            if (!is_drawn(in))
                continue;
            nuc_text_addf(out, "  n%u -> n%u", (unsigned)in->id, (unsigned)n->id);
            if (!in->is_tuple && in->n_vals == 1) {
                nuc_text_addf(out, " [label=");
                nuc_dot_string(out, nuc_meta_text(out->cx, &in->vals[0]));
                nuc_text_addf(out, "]");
            }
            nuc_text_addf(out, ";\n");
        }
    }
    nuc_text_addf(out, "}\n");
}
