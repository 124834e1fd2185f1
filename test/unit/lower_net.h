/*
 * Small Edge networks for tests of the lowering: read from text, taken through format inference and partitioning as
 * real ones are, lowered, and compared as text.
 */
#ifndef NUC_TEST_LOWER_NET_H
#define NUC_TEST_LOWER_NET_H

#include "quantized_text.h"

#include "npu/layout/layout.h"
#include "npu/lower/lower.h"

struct net {
    struct nuc_context *cx;
    struct nuc_graph *g;
    struct nuc_lower_options options;
    struct nuc_lower_io io;
    const struct nuc_lt_subgraph *s; /* of the lowered model */
    const char *printed;             /* the model as nuc_lt_print() has it */
};

/* Constants without data: 0, 1, 2, ... of int8, zeros of int32. */
static inline void fill_quantized(struct nuc_graph *g)
{
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_static(n) || n->data != NULL)
            continue;
        size_t size = nuc_bytes(&n->vals[0]);
        uint8_t *bytes = nuc_alloc(g->cx, size);
        for (size_t i = 0; i < size && n->vals[0].dtype == NUC_I8; i++)
            bytes[i] = (uint8_t)i;
        n->data = nuc_dense_data(g->cx, &n->vals[0], bytes);
    }
}

/* Names, numbers and nodes of the delegate's inputs or outputs agree with the model's. */
static inline void check_io(const struct net *n, const struct nuc_lower_boundary *io, uint32_t count,
                            const int32_t *tensors)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_string_equal(io[i].name, io[i].node->name);
        assert_string_equal(n->s->tensors[tensors[i]].name, io[i].name);
        assert_int_equal(io[i].tensor, tensors[i]);
    }
}

/* Lowers the only partition of n->g. */
static inline void lower_graph(struct net *n)
{
    struct nuc_partition_options options = {.flavor = n->options.flavor};

    struct nuc_partitions *p = nuc_partition_graph(n->g, &options);
    assert_int_equal(p->count, 1);
    struct nuc_lt_model *model = nuc_lower_partition(n->g, &p->items[0], &n->options, &n->io);
    n->s = &model->subgraphs[0];
    n->printed = nuc_lt_print(model);
    assert_int_equal(n->io.n_inputs, n->s->n_inputs);
    assert_int_equal(n->io.n_outputs, n->s->n_outputs);
    check_io(n, n->io.inputs, n->io.n_inputs, n->s->inputs);
    check_io(n, n->io.outputs, n->io.n_outputs, n->s->outputs);
}

/* ---- the model as text ---- */

static inline void add_shape(struct nuc_text *out, const struct nuc_lt_tensor *t)
{
    nuc_text_addf(out, "[");
    for (uint32_t i = 0; i < t->rank; i++)
        nuc_text_addf(out, "%s%d", i == 0 ? "" : ", ", (int)t->shape[i]);
    nuc_text_addf(out, "]");
}

/* " 0.5:3", with several scales also how many and the axis. */
static inline void add_quant(struct nuc_text *out, const struct nuc_lt_quant *q)
{
    for (uint32_t i = 0; i < q->count; i++)
        nuc_text_addf(out, "%s%.9g:%d", i == 0 ? " " : ", ", (double)q->scale[i], (int)q->zero_point[i]);
    if (q->count > 1)
        nuc_text_addf(out, " axis %d", (int)q->axis);
}

/* A short list of int32 as "{1, 2}", another constant as "const[2]{1, 2} 0.5:3"; contents of up to 8 elements. */
static inline void add_constant(struct nuc_text *out, const struct nuc_lt_tensor *t)
{
    int64_t count = nuc_lt_elements(t);
    bool list = t->dtype == NUC_I32 && t->rank == 1 && count <= 8;

    if (!list) {
        nuc_text_addf(out, "const");
        add_shape(out, t);
    }
    if (count <= 8) {
        nuc_text_addf(out, "{");
        for (int64_t i = 0; i < count; i++) {
            int32_t value = (int8_t)t->data.data[i];
            if (t->dtype == NUC_I32)
                memcpy(&value, t->data.data + 4 * i, sizeof value);
            nuc_text_addf(out, "%s%d", i == 0 ? "" : ", ", (int)value);
        }
        nuc_text_addf(out, "}");
    }
    add_quant(out, &t->quant);
}

/* Which input of the model or result of an operator a tensor is: "in0", "op3". */
static inline const char *value_name(const struct net *n, int32_t tensor)
{
    for (uint32_t i = 0; i < n->s->n_inputs; i++) {
        if (n->s->inputs[i] == tensor)
            return nuc_format(n->cx, "in%u", (unsigned)i);
    }
    for (uint32_t i = 0; i < n->s->n_ops; i++) {
        if (n->s->ops[i].outputs[0] == tensor)
            return nuc_format(n->cx, "op%u", (unsigned)i);
    }
    return "none";
}

static inline const struct nuc_lt_tensor *input_of(const struct net *n, uint32_t op, uint32_t i)
{
    assert_true(i < n->s->ops[op].n_inputs);
    return &n->s->tensors[n->s->ops[op].inputs[i]];
}

/* The options as nuc_lt_print() writes them after the operator's inputs, and those it does not write. */
static inline void add_options(struct nuc_text *out, const struct net *n, uint32_t index)
{
    const struct nuc_lt_op *op = &n->s->ops[index];
    const char *line = strstr(n->printed, " = ");

    for (uint32_t i = 0; i < index; i++)
        line = strstr(line + 1, " = ");
    const char *options = line + strcspn(line, ")") + 1;
    nuc_text_addf(out, "%.*s", (int)strcspn(options, "\n"), options);
    if (op->code == NUC_LT_ADD || op->code == NUC_LT_SUB || op->code == NUC_LT_MUL)
        nuc_text_addf(out, "%s", op->options.arith.pot_scale_int16 ? " pot_scale" : "");
    if (op->code == NUC_LT_BATCH_MATMUL && op->options.batch_matmul.asymmetric_quantize_inputs)
        nuc_text_addf(out, " asymmetric");
}

static inline void add_op(struct nuc_text *out, const struct net *n, uint32_t index)
{
    const struct nuc_lt_op *op = &n->s->ops[index];

    nuc_text_addf(out, "%s(", nuc_lt_code_name(n->cx, op->code));
    for (uint32_t i = 0; i < op->n_inputs; i++) {
        nuc_text_addf(out, "%s", i == 0 ? "" : ", ");
        if (input_of(n, index, i)->data.data != NULL)
            add_constant(out, input_of(n, index, i));
        else
            nuc_text_addf(out, "%s", value_name(n, op->inputs[i]));
    }
    nuc_text_addf(out, ")");
    add_options(out, n, index);
    assert_int_equal(op->n_outputs, 1);
    nuc_text_addf(out, " -> ");
    add_shape(out, &n->s->tensors[op->outputs[0]]);
    add_quant(out, &n->s->tensors[op->outputs[0]].quant);
    for (uint32_t i = 0; i < n->s->n_outputs; i++) {
        if (n->s->outputs[i] == op->outputs[0])
            nuc_text_addf(out, " = out%u%s", (unsigned)i, n->io.outputs[i].channels_last ? " last" : "");
    }
    nuc_text_addf(out, "\n");
}

/* A line for the inputs, one per operator. "last": the runtime passes that value in channels-last order. */
static inline const char *model_text(const struct net *n)
{
    struct nuc_text out = {.cx = n->cx};

    for (uint32_t i = 0; i < n->s->n_inputs; i++) {
        nuc_text_addf(&out, "%sin%u", i == 0 ? "" : ", ", (unsigned)i);
        add_shape(&out, &n->s->tensors[n->s->inputs[i]]);
        nuc_text_addf(&out, "%s", n->io.inputs[i].channels_last ? " last" : "");
    }
    nuc_text_addf(&out, "\n");
    for (uint32_t i = 0; i < n->s->n_ops; i++)
        add_op(&out, n, i);
    return nuc_text_string(&out);
}

#endif
