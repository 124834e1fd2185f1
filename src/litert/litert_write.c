/* Field ids are positions in the tables of the public schema (tensorflow/compiler/mlir/lite/schema/schema.fbs). */
#include <string.h>

#include "litert/litert.h"
#include "litert/litert_ops.h"

#define SCHEMA_VERSION 3
#define DATA_ALIGNMENT 16 /* force_align of Buffer.data */
#define OLD_CODE_MAX 127  /* what the byte of the deprecated code holds for every larger one */

/* One entry of the operator code table. */
struct code {
    int32_t code;
    int32_t version;
    const char *custom_code;
};

struct lt_writer {
    struct nuc_context *cx;
    struct nuc_fb_builder *b;
    struct code *codes; /* in order of first use */
    size_t n_codes, codes_capacity;
    nuc_fb_ref *buffers; /* buffer 0 is empty and stands for "no data" */
    size_t n_buffers, buffers_capacity;
};

static uint32_t code_index(struct lt_writer *w, const struct nuc_lt_op *op)
{
    for (size_t i = 0; i < w->n_codes; i++) {
        const struct code *c = &w->codes[i];
        if (c->code == op->code && c->version == op->version &&
            (c->custom_code == op->custom_code ||
             (c->custom_code != NULL && op->custom_code != NULL && strcmp(c->custom_code, op->custom_code) == 0)))
            return (uint32_t)i;
    }
    w->codes = nuc_grow(w->cx, w->codes, &w->codes_capacity, w->n_codes + 1, sizeof *w->codes);
    w->codes[w->n_codes] = (struct code){op->code, op->version, op->custom_code};
    return (uint32_t)w->n_codes++;
}

static uint32_t add_buffer(struct lt_writer *w, struct nuc_span data)
{
    nuc_fb_ref bytes = data.size == 0 ? 0 : nuc_fb_add_vector(w->b, data.data, data.size, 1, DATA_ALIGNMENT);

    nuc_fb_table_begin(w->b);
    nuc_fb_put_ref(w->b, 0, bytes);
    w->buffers = nuc_grow(w->cx, w->buffers, &w->buffers_capacity, w->n_buffers + 1, sizeof *w->buffers);
    w->buffers[w->n_buffers] = nuc_fb_table_end(w->b);
    return (uint32_t)w->n_buffers++;
}

static nuc_fb_ref write_quant(struct lt_writer *w, const struct nuc_lt_quant *q)
{
    if (q->count == 0)
        return 0;
    nuc_fb_ref scale = nuc_fb_add_vector(w->b, q->scale, q->count, sizeof *q->scale, 4);
    nuc_fb_ref zero_point = nuc_fb_add_vector(w->b, q->zero_point, q->count, sizeof *q->zero_point, 8);
    nuc_fb_table_begin(w->b);
    nuc_fb_put_ref(w->b, 2, scale);
    nuc_fb_put_ref(w->b, 3, zero_point);
    nuc_fb_put_i32(w->b, 6, q->count == 1 ? 0 : q->axis, 0);
    return nuc_fb_table_end(w->b);
}

static nuc_fb_ref write_tensor(struct lt_writer *w, const struct nuc_lt_tensor *t)
{
    uint32_t buffer = t->data.data == NULL || t->data.size == 0 ? 0 : add_buffer(w, t->data);
    nuc_fb_ref name = t->name == NULL ? 0 : nuc_fb_add_string(w->b, t->name);
    nuc_fb_ref shape = nuc_fb_add_vector(w->b, t->shape, t->rank, sizeof t->shape[0], 4);
    nuc_fb_ref quant = write_quant(w, &t->quant);

    nuc_fb_table_begin(w->b);
    nuc_fb_put_ref(w->b, 0, shape);
    const int type = t->is_resource                          ? NUC_LT_RESOURCE
                     : t->is_unsigned && t->dtype == NUC_I64 ? NUC_LT_UINT64
                     : t->is_unsigned                        ? NUC_LT_UINT32
                                                             : nuc_lt_type_from_dtype(t->dtype);
    nuc_fb_put_i8(w->b, 1, (int8_t)type, 0);
    nuc_fb_put_u32(w->b, 2, buffer, 0);
    nuc_fb_put_ref(w->b, 3, name);
    nuc_fb_put_ref(w->b, 4, quant);
    nuc_fb_put_bool(w->b, 5, t->is_variable, false);
    return nuc_fb_table_end(w->b);
}

static nuc_fb_ref write_op(struct lt_writer *w, const struct nuc_lt_op *op)
{
    uint32_t code = code_index(w, op);
    nuc_fb_ref inputs = nuc_fb_add_vector(w->b, op->inputs, op->n_inputs, sizeof *op->inputs, 4);
    nuc_fb_ref outputs = nuc_fb_add_vector(w->b, op->outputs, op->n_outputs, sizeof *op->outputs, 4);
    nuc_fb_ref options = nuc_lt_options_write(w->b, op->code, &op->options);
    nuc_fb_ref custom = 0;

    if (op->code == NUC_LT_CUSTOM && op->options.custom.options.size != 0)
        custom = nuc_fb_add_vector(w->b, op->options.custom.options.data, op->options.custom.options.size, 1,
                                   DATA_ALIGNMENT);
    nuc_fb_table_begin(w->b);
    nuc_fb_put_u32(w->b, 0, code, 0);
    nuc_fb_put_ref(w->b, 1, inputs);
    nuc_fb_put_ref(w->b, 2, outputs);
    nuc_fb_put_u8(w->b, 3, nuc_lt_options_type(op->code), 0);
    nuc_fb_put_ref(w->b, 4, options);
    nuc_fb_put_ref(w->b, 5, custom);
    return nuc_fb_table_end(w->b);
}

static nuc_fb_ref write_subgraph(struct lt_writer *w, const struct nuc_lt_subgraph *s)
{
    nuc_fb_ref *tensors = nuc_alloc_array(w->cx, s->n_tensors, sizeof *tensors);
    nuc_fb_ref *ops = nuc_alloc_array(w->cx, s->n_ops, sizeof *ops);

    for (uint32_t i = 0; i < s->n_tensors; i++)
        tensors[i] = write_tensor(w, &s->tensors[i]);
    for (uint32_t i = 0; i < s->n_ops; i++)
        ops[i] = write_op(w, &s->ops[i]);
    nuc_fb_ref tensor_list = nuc_fb_add_refs(w->b, tensors, s->n_tensors);
    nuc_fb_ref inputs = nuc_fb_add_vector(w->b, s->inputs, s->n_inputs, sizeof *s->inputs, 4);
    nuc_fb_ref outputs = nuc_fb_add_vector(w->b, s->outputs, s->n_outputs, sizeof *s->outputs, 4);
    nuc_fb_ref op_list = nuc_fb_add_refs(w->b, ops, s->n_ops);
    nuc_fb_ref name = s->name == NULL ? 0 : nuc_fb_add_string(w->b, s->name);

    nuc_fb_table_begin(w->b);
    nuc_fb_put_ref(w->b, 0, tensor_list);
    nuc_fb_put_ref(w->b, 1, inputs);
    nuc_fb_put_ref(w->b, 2, outputs);
    nuc_fb_put_ref(w->b, 3, op_list);
    nuc_fb_put_ref(w->b, 4, name);
    return nuc_fb_table_end(w->b);
}

struct nuc_span nuc_lt_write(struct nuc_lt_model *m)
{
    struct lt_writer w = {.cx = m->cx, .b = nuc_fb_builder_new(m->cx)};
    nuc_fb_ref *subgraphs = nuc_alloc_array(m->cx, m->n_subgraphs, sizeof *subgraphs);

    /* Options of operators that are not known would be lost, and with them what the operators compute; and types. */
    for (uint32_t i = 0; i < m->n_subgraphs; i++) {
        const struct nuc_lt_subgraph *s = &m->subgraphs[i];
        for (uint32_t k = 0; k < s->n_ops; k++) {
            if (s->ops[k].has_unknown_options)
                nuc_fail(m->cx, NUC_UNSUPPORTED,
                         "%s: operator %u (%s) has options that are not known and would be lost: leave it out of the "
                         "model",
                         m->file, k, nuc_lt_code_name(m->cx, s->ops[k].code));
        }
        for (uint32_t k = 0; k < s->n_tensors; k++) {
            const struct nuc_lt_tensor *t = &s->tensors[k];
            if (t->unhandled != NULL && !t->is_resource)
                nuc_fail(m->cx, NUC_UNSUPPORTED, "%s: %s", m->file, nuc_lt_type_text(m->cx, t->name, t->unhandled));
        }
    }
    add_buffer(&w, (struct nuc_span){NULL, 0});
    for (uint32_t i = 0; i < m->n_subgraphs; i++)
        subgraphs[i] = write_subgraph(&w, &m->subgraphs[i]);
    nuc_fb_ref subgraph_list = nuc_fb_add_refs(w.b, subgraphs, m->n_subgraphs);
    nuc_fb_ref buffers = nuc_fb_add_refs(w.b, w.buffers, w.n_buffers);
    nuc_fb_ref *refs = nuc_alloc_array(w.cx, w.n_codes, sizeof *refs);
    for (size_t i = 0; i < w.n_codes; i++) {
        const struct code *c = &w.codes[i];
        nuc_fb_ref custom = c->custom_code == NULL ? 0 : nuc_fb_add_string(w.b, c->custom_code);
        nuc_fb_table_begin(w.b);
        nuc_fb_put_i8(w.b, 0, (int8_t)(c->code < OLD_CODE_MAX ? c->code : OLD_CODE_MAX), 0);
        nuc_fb_put_ref(w.b, 1, custom);
        nuc_fb_put_i32(w.b, 2, c->version, 1);
        nuc_fb_put_i32(w.b, 3, c->code, 0);
        refs[i] = nuc_fb_table_end(w.b);
    }
    nuc_fb_ref codes = nuc_fb_add_refs(w.b, refs, w.n_codes);
    nuc_fb_ref description = m->description == NULL ? 0 : nuc_fb_add_string(w.b, m->description);

    nuc_fb_table_begin(w.b);
    nuc_fb_put_u32(w.b, 0, SCHEMA_VERSION, 0);
    nuc_fb_put_ref(w.b, 1, codes);
    nuc_fb_put_ref(w.b, 2, subgraph_list);
    nuc_fb_put_ref(w.b, 3, description);
    nuc_fb_put_ref(w.b, 4, buffers);
    return nuc_fb_finish(w.b, nuc_fb_table_end(w.b), "TFL3", NULL, 0, DATA_ALIGNMENT);
}
