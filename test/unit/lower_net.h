/*
 * Small Edge networks for tests of the lowering: built node by node, taken through format inference and partitioning as
 * real ones are, lowered, and compared operator by operator.
 */
#ifndef NUC_TEST_LOWER_NET_H
#define NUC_TEST_LOWER_NET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/layout/layout.h"
#include "compiler/neutron/lower/lower.h"

struct net {
    struct nuc_context *cx;
    struct nuc_graph *g;
    struct nuc_lower_options options;
    struct nuc_lower_io io;
    const struct nuc_lt_subgraph *s; /* of the lowered model */
};

static inline int setup(void **state)
{
    struct nuc_context *cx = nuc_context_new(NULL);
    struct net *n = nuc_alloc(cx, sizeof *n);

    n->cx = cx;
    n->g = nuc_graph_new(cx, "net.pt2");
    n->options.use_neutron_for_format_conversion = true;
    *state = n;
    return 0;
}

static inline int teardown(void **state)
{
    nuc_context_free(((struct net *)*state)->cx);
    return 0;
}

/* ---- building ---- */

#define SIZES(...) (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)

static inline struct nuc_node *dequantize(struct net *n, struct nuc_node *q, double scale, int64_t point,
                                          enum nuc_dtype dtype)
{
    struct nuc_node *dq = nuc_add_node(n->g, NULL, NUC_OP_DEQUANTIZE_PER_TENSOR, "dq");
    bool wide = dtype == NUC_I32;

    nuc_set_arg_node(dq, n->g, 0, q);
    nuc_set_arg_float(dq, 1, scale);
    nuc_set_arg_int(dq, 2, point);
    nuc_set_arg_int(dq, 3, wide ? INT32_MIN : INT8_MIN);
    nuc_set_arg_int(dq, 4, wide ? INT32_MAX : INT8_MAX);
    nuc_set_arg_dtype(dq, 5, dtype);
    nuc_infer_shape(n->g, dq);
    return dq;
}

/* quantize and dequantize behind a node: what every operator of a quantized graph has around it. */
static inline struct nuc_node *quantized(struct net *n, struct nuc_node *node, double scale, int64_t point)
{
    struct nuc_node *q = nuc_add_node(n->g, NULL, NUC_OP_QUANTIZE_PER_TENSOR, "q");

    nuc_set_arg_node(q, n->g, 0, node);
    nuc_set_arg_float(q, 1, scale);
    nuc_set_arg_int(q, 2, point);
    nuc_set_arg_int(q, 3, INT8_MIN);
    nuc_set_arg_int(q, 4, INT8_MAX);
    nuc_set_arg_dtype(q, 5, NUC_I8);
    nuc_infer_shape(n->g, q);
    return dequantize(n, q, scale, point, NUC_I8);
}

static inline struct nuc_node *user_input(struct net *n, const char *name, const int64_t *sizes, size_t rank, bool last)
{
    struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, (uint32_t)rank);

    if (last)
        nuc_set_channels_last(&meta);
    return quantized(n, nuc_add_placeholder(n->g, name, NUC_USER_INPUT, &meta), 0.5, 3);
}

/* An int8 constant with the values 0, 1, 2, ... */
static inline struct nuc_node *constant(struct net *n, const char *name, const int64_t *sizes, size_t rank)
{
    struct nuc_meta meta = nuc_meta_make(NUC_I8, sizes, (uint32_t)rank);
    size_t bytes = nuc_bytes(&meta);
    int8_t *data = nuc_alloc(n->cx, bytes);

    for (size_t i = 0; i < bytes; i++)
        data[i] = (int8_t)i;
    struct nuc_node *c = nuc_add_constant(n->g, name, &meta, data);
    c->input_kind = NUC_BUFFER;
    return c;
}

static inline struct nuc_node *weight(struct net *n, const char *name, const int64_t *sizes, size_t rank)
{
    return dequantize(n, constant(n, name, sizes, rank), 0.25, 0, NUC_I8);
}

static inline struct nuc_node *bias(struct net *n, int64_t count)
{
    struct nuc_meta meta = nuc_meta_make(NUC_I32, &count, 1);
    struct nuc_node *c = nuc_add_constant(n->g, "bias", &meta, nuc_alloc_array(n->cx, (size_t)count, 4));

    c->input_kind = NUC_BUFFER;
    return dequantize(n, c, 0.125, 0, NUC_I32);
}

static inline struct nuc_node *call(struct net *n, enum nuc_op op, struct nuc_node *input)
{
    struct nuc_node *node = nuc_add_node(n->g, NULL, op, NULL);

    nuc_set_arg_node(node, n->g, 0, input);
    return node;
}

static inline struct nuc_node *convolution(struct net *n, struct nuc_node *x, struct nuc_node *w, struct nuc_node *b,
                                           int64_t pad, int64_t groups)
{
    struct nuc_node *node = call(n, NUC_OP_EDGE_CONVOLUTION, x);

    nuc_set_arg_node(node, n->g, 1, w);
    if (b != NULL)
        nuc_set_arg_node(node, n->g, 2, b);
    nuc_set_arg_ints(node, n->g, 3, SIZES(1, 1));
    nuc_set_arg_ints(node, n->g, 4, SIZES(pad, pad));
    nuc_set_arg_ints(node, n->g, 5, SIZES(1, 1));
    nuc_set_arg_bool(node, 6, false);
    nuc_set_arg_ints(node, n->g, 7, SIZES(0, 0));
    nuc_set_arg_int(node, 8, groups);
    nuc_infer_shape(n->g, node);
    return quantized(n, node, 0.75, -5);
}

static inline struct nuc_node *view(struct net *n, struct nuc_node *x, const int64_t *sizes, size_t rank)
{
    struct nuc_node *node = call(n, NUC_OP_EDGE_VIEW, x);

    nuc_set_arg_ints(node, n->g, 1, sizes, (uint32_t)rank);
    nuc_infer_shape(n->g, node);
    return node;
}

static inline struct nuc_node *permute(struct net *n, struct nuc_node *x, const int64_t *dims, size_t rank)
{
    struct nuc_node *node = call(n, NUC_OP_EDGE_PERMUTE, x);

    nuc_set_arg_ints(node, n->g, 1, dims, (uint32_t)rank);
    nuc_infer_shape(n->g, node);
    return node;
}

/* ---- lowering ---- */

static inline void lower(struct nuc_context *cx, void *net)
{
    struct net *n = net;
    struct nuc_partition_options options = {.flavor = n->options.flavor};
    struct nuc_partitions *p = nuc_partition_graph(n->g, &options);

    (void)cx;
    assert_int_equal(p->count, 1);
    n->s = &nuc_lower_partition(n->g, &p->items[0], &n->options, &n->io)->subgraphs[0];
}

/* The program returns `results`; lowers its only partition. */
static inline void finish(struct net *n, struct nuc_node *const *results, uint32_t count)
{
    struct nuc_node *output = nuc_add_node(n->g, NULL, NUC_OP_OUTPUT, "output");

    nuc_set_arg_nodes(output, n->g, 0, results, count);
    nuc_graph_verify(n->g, "test");
    nuc_infer_formats(n->g);
    if (nuc_try(n->cx, lower, n) != NUC_OK)
        fail_msg("%s", n->cx->message);
}

static inline void finish_one(struct net *n, struct nuc_node *result)
{
    finish(n, &result, 1);
}

/* Operators in order, -1 at the end. */
static inline void assert_ops(const struct net *n, const int32_t *codes)
{
    uint32_t i = 0;

    for (; codes[i] >= 0; i++) {
        assert_true(i < n->s->n_ops);
        assert_int_equal(n->s->ops[i].code, codes[i]);
    }
    assert_int_equal(n->s->n_ops, i);
}

#define ASSERT_OPS(n, ...) assert_ops(n, (const int32_t[]){__VA_ARGS__, -1})

static inline const struct nuc_lt_tensor *input_of(const struct net *n, uint32_t op, uint32_t i)
{
    assert_true(i < n->s->ops[op].n_inputs);
    return &n->s->tensors[n->s->ops[op].inputs[i]];
}

static inline const struct nuc_lt_tensor *output_of(const struct net *n, uint32_t op)
{
    return &n->s->tensors[n->s->ops[op].outputs[0]];
}

static inline void assert_shape(const struct nuc_lt_tensor *t, const int64_t *sizes, size_t rank)
{
    assert_int_equal(t->rank, rank);
    for (size_t i = 0; i < rank; i++)
        assert_int_equal(t->shape[i], sizes[i]);
}

/* An int32 constant with these values. */
static inline void assert_list(const struct nuc_lt_tensor *t, const int64_t *values, size_t count)
{
    const int32_t *data = (const int32_t *)(const void *)t->data.data;

    assert_int_equal(t->dtype, NUC_I32);
    assert_int_equal(nuc_lt_elements(t), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(data[i], values[i]);
}

static inline void assert_borders(const struct net *n, bool input_last, bool output_last)
{
    assert_int_equal(n->io.n_inputs, n->s->n_inputs);
    assert_int_equal(n->io.n_outputs, n->s->n_outputs);
    for (uint32_t i = 0; i < n->io.n_inputs; i++) {
        assert_string_equal(n->io.inputs[i].name, n->io.inputs[i].node->name);
        assert_string_equal(n->s->tensors[n->s->inputs[i]].name, n->io.inputs[i].name);
        assert_int_equal(n->io.inputs[i].tensor, n->s->inputs[i]);
        assert_int_equal(n->io.inputs[i].channels_last, input_last);
    }
    for (uint32_t i = 0; i < n->io.n_outputs; i++) {
        assert_string_equal(n->io.outputs[i].name, n->io.outputs[i].node->name);
        assert_string_equal(n->s->tensors[n->s->outputs[i]].name, n->io.outputs[i].name);
        assert_int_equal(n->io.outputs[i].tensor, n->s->outputs[i]);
        assert_int_equal(n->io.outputs[i].channels_last, output_last);
    }
}

#endif
