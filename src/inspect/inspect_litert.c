/* A LiteRT model as JSON and in dot. */
#include <string.h>

#include "archive/json_build.h"
#include "inspect/inspect_forms.h"
#include "litert/litert_ops.h"

/* ---- options ---- */

static void put_list(struct nuc_context *cx, json_t *out, const char *key, const int32_t *values, uint32_t count)
{
    json_t *list = nuc_put_array(cx, out, key);

    for (uint32_t i = 0; i < count; i++)
        nuc_put_int(cx, list, NULL, values[i]);
}

static void put_field(struct nuc_context *cx, json_t *out, const struct nuc_lt_field *f, const union nuc_lt_options *o)
{
    const void *member = nuc_lt_member(o, f);
    const int32_t value = nuc_lt_field_int(o, f, 0);
    const struct nuc_lt_list *list;

    switch (f->kind) {
    case NUC_LT_FIELD_PAIR:
        put_list(cx, out, f->text, (const int32_t[]){value, nuc_lt_field_int(o, f, 1)}, 2);
        break;
    case NUC_LT_FIELD_INT:
    case NUC_LT_FIELD_BYTE:
    case NUC_LT_FIELD_COUNT:
        if (value != 0 || f->kind != NUC_LT_FIELD_COUNT)
            nuc_put_int(cx, out, f->text, value);
        break;
    case NUC_LT_FIELD_FLAG:
        nuc_put_bool(cx, out, f->text, value != 0);
        break;
    case NUC_LT_FIELD_REAL:
        nuc_put_double(cx, out, f->text, (double)*(const float *)member);
        break;
    case NUC_LT_FIELD_PADDING:
    case NUC_LT_FIELD_ACTIVATION:
        nuc_put_string(cx, out, f->text, nuc_lt_field_name(o, f));
        break;
    case NUC_LT_FIELD_LIST:
        list = member;
        if (list->present)
            put_list(cx, out, f->text, list->values, list->count);
        break;
    case NUC_LT_FIELD_TEXT:
        nuc_put_bytes_text(cx, out, f->text, nuc_lt_field_text(o, f));
        break;
    case NUC_LT_FIELD_BYTES:
        nuc_put_int(cx, out, f->text, (int64_t)((const struct nuc_span *)member)->size);
        break;
    }
}

/* ---- JSON ---- */

static void put_indices(struct nuc_context *cx, json_t *out, const char *key, const int32_t *list, uint32_t count)
{
    json_t *array = nuc_put_array(cx, out, key);

    for (uint32_t i = 0; i < count; i++)
        nuc_put_known_count(cx, array, NULL, list[i] >= 0, (uint64_t)list[i]);
}

static void put_tensor(struct nuc_context *cx, json_t *list, const struct nuc_lt_tensor *t)
{
    json_t *out = nuc_put_object(cx, list, NULL);

    nuc_put_bytes_text(cx, out, "name", t->name);
    nuc_put_string(cx, out, "dtype", nuc_lt_type_name(t));
    put_list(cx, out, "shape", t->shape, t->rank);
    nuc_put_bool(cx, out, "constant", t->data.data != NULL);
    if (t->is_variable)
        nuc_put_bool(cx, out, "variable", true);
    if (t->quant.count == 0)
        return;
    json_t *scales = nuc_put_array(cx, out, "scales");
    json_t *zero_points = nuc_put_array(cx, out, "zero_points");
    for (uint32_t i = 0; i < t->quant.count; i++) {
        nuc_put_double(cx, scales, NULL, (double)t->quant.scale[i]);
        nuc_put_int(cx, zero_points, NULL, t->quant.zero_point[i]);
    }
    if (t->quant.count > 1)
        nuc_put_int(cx, out, "axis", t->quant.axis);
}

static void put_operator(struct nuc_context *cx, json_t *list, const struct nuc_lt_op *op)
{
    json_t *out = nuc_put_object(cx, list, NULL);

    nuc_put_string(cx, out, "operator", nuc_lt_code_name(cx, op->code));
    if (op->custom_code != NULL)
        nuc_put_bytes_text(cx, out, "custom_code", op->custom_code);
    put_indices(cx, out, "inputs", op->inputs, op->n_inputs);
    put_indices(cx, out, "outputs", op->outputs, op->n_outputs);
    /* Fields without a name for printed forms are left out, and the object with them when there are no others. */
    struct nuc_lt_fields fields = nuc_lt_fields(op->code);
    json_t *options = NULL;
    for (size_t i = 0; i < fields.n; i++) {
        if (fields.list[i].text == NULL)
            continue;
        if (options == NULL)
            options = nuc_put_object(cx, out, "options");
        put_field(cx, options, &fields.list[i], &op->options);
    }
}

void nuc_inspect_litert_json(struct nuc_context *cx, const struct nuc_lt_model *m, json_t *out)
{
    json_t *subgraphs = nuc_put_array(cx, out, "subgraphs");

    for (uint32_t k = 0; k < m->n_subgraphs; k++) {
        const struct nuc_lt_subgraph *s = &m->subgraphs[k];
        json_t *subgraph = nuc_put_object(cx, subgraphs, NULL);
        nuc_put_bytes_text(cx, subgraph, "name", s->name);
        put_indices(cx, subgraph, "inputs", s->inputs, s->n_inputs);
        put_indices(cx, subgraph, "outputs", s->outputs, s->n_outputs);
        json_t *tensors = nuc_put_array(cx, subgraph, "tensors");
        for (uint32_t i = 0; i < s->n_tensors; i++)
            put_tensor(cx, tensors, &s->tensors[i]);
        json_t *operators = nuc_put_array(cx, subgraph, "operators");
        for (uint32_t i = 0; i < s->n_ops; i++)
            put_operator(cx, operators, &s->ops[i]);
    }
}

/* ---- dot ---- */

/* Inputs and outputs of a subgraph: t<k>_<index>. */
static void draw_boundary(struct nuc_text *out, uint32_t k, const struct nuc_lt_subgraph *s, const char *what,
                          const int32_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] < 0)
            continue;
        const char *name = s->tensors[list[i]].name;
        nuc_text_addf(out, "  %s%u_%d [shape=ellipse, label=", what, k, (int)list[i]);
        nuc_dot_string(out, name == NULL ? "" : name);
        nuc_text_addf(out, "];\n");
    }
}

static void draw_edge(struct nuc_text *out, const struct nuc_lt_tensor *t, const char *from, const char *to)
{
    int64_t sizes[NUC_MAX_RANK];

    nuc_text_addf(out, "  %s -> %s [label=", from, to);
    for (uint32_t i = 0; i < t->rank; i++)
        sizes[i] = t->shape[i];
    nuc_dot_string(out, nuc_format(out->cx, "%s%s", nuc_dtype_name(t->dtype), nuc_sizes_text(out->cx, sizes, t->rank)));
    nuc_text_addf(out, "];\n");
}

/* `makers` has the operator that makes each tensor, -1 for inputs and constants. */
static const char *origin(struct nuc_context *cx, uint32_t k, const int32_t *makers, int32_t tensor)
{
    return makers[tensor] < 0 ? nuc_format(cx, "i%u_%d", k, (int)tensor)
                              : nuc_format(cx, "o%u_%d", k, (int)makers[tensor]);
}

void nuc_inspect_litert_dot(struct nuc_text *out, const struct nuc_lt_model *m)
{
    nuc_text_addf(out, "digraph model {\n  node [shape=box];\n");
    for (uint32_t k = 0; k < m->n_subgraphs; k++) {
        const struct nuc_lt_subgraph *s = &m->subgraphs[k];
        const int32_t *makers = nuc_lt_uses(out->cx, s).producer;
        draw_boundary(out, k, s, "i", s->inputs, s->n_inputs);
        for (uint32_t i = 0; i < s->n_ops; i++) {
            const struct nuc_lt_op *op = &s->ops[i];
            const char *name = nuc_format(out->cx, "o%u_%u", k, i);
            nuc_text_addf(out, "  %s [label=", name);
            nuc_dot_string(out, nuc_lt_code_name(out->cx, op->code));
            nuc_text_addf(out, "];\n");
            for (uint32_t j = 0; j < op->n_inputs; j++) {
                if (op->inputs[j] < 0 || s->tensors[op->inputs[j]].data.data != NULL)
                    continue;
                draw_edge(out, &s->tensors[op->inputs[j]], origin(out->cx, k, makers, op->inputs[j]), name);
            }
        }
        draw_boundary(out, k, s, "r", s->outputs, s->n_outputs);
        for (uint32_t i = 0; i < s->n_outputs; i++) {
            if (s->outputs[i] >= 0)
                draw_edge(out, &s->tensors[s->outputs[i]], origin(out->cx, k, makers, s->outputs[i]),
                          nuc_format(out->cx, "r%u_%d", k, (int)s->outputs[i]));
        }
    }
    nuc_text_addf(out, "}\n");
}
