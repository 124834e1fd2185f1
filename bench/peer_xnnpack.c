/*
 * A peer for `bench --peer` (README.md): peer_xnnpack MODEL.tflite INPUT OUTPUT runs an int8 model on XNNPACK. What
 * that does not have in int8 it does by operators that it has: softmax in float, between conversions, and an average of
 * a part of an image as a depthwise convolution by ones. INSTRUCTIONS=avx2 keeps it from AVX-512.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cpuinfo.h>
#include <pthreadpool.h>
#include <xnnpack.h>

#include "host/clock.h"
#include "host/file.h"
#include "litert/litert.h"

struct net {
    struct nuc_context *cx;
    char **files; /* model, input, output */
    struct nuc_lt_model *model;
    struct nuc_lt_subgraph *g;
    xnn_subgraph_t graph;
    xnn_runtime_t runtime;
    uint32_t *ids; /* by tensor */
};

static void need(struct net *n, enum xnn_status status, const char *what)
{
    if (status != xnn_status_success)
        nuc_fail(n->cx, NUC_UNSUPPORTED, "%s: XNNPACK refuses %s: status %d", n->files[0], what, (int)status);
}

static uint32_t border_of(const struct nuc_lt_subgraph *g, int32_t tensor, uint32_t *flags)
{
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        if (g->inputs[i] == tensor)
            return *flags = XNN_VALUE_FLAG_EXTERNAL_INPUT, i;
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        if (g->outputs[i] == tensor)
            return *flags = XNN_VALUE_FLAG_EXTERNAL_OUTPUT, g->n_inputs + i;
    }
    return XNN_INVALID_VALUE_ID;
}

static void define_tensor(struct net *n, int32_t tensor)
{
    const struct nuc_lt_tensor *t = &n->g->tensors[tensor];
    const struct nuc_lt_quant *q = &t->quant;
    uint32_t flags = 0, border = border_of(n->g, tensor, &flags);
    bool wide = t->dtype == NUC_I32;
    size_t sizes[NUC_MAX_RANK];

    for (uint32_t i = 0; i < t->rank; i++)
        sizes[i] = (size_t)t->shape[i];
    uint32_t *id = &n->ids[tensor];
    enum xnn_status status = xnn_status_success;
    *id = XNN_INVALID_VALUE_ID;
    if (t->dtype == NUC_F32)
        status = xnn_define_tensor_value(n->graph, xnn_datatype_fp32, t->rank, sizes, t->data.data, border, flags, id);
    else if (q->count > 1)
        status = xnn_define_channelwise_quantized_tensor_value(
            n->graph, wide ? xnn_datatype_qcint32 : xnn_datatype_qcint8, q->scale, t->rank, (size_t)q->axis, sizes,
            t->data.data, border, flags, id);
    else if (q->count == 1) /* others are shapes */
        status = xnn_define_quantized_tensor_value(n->graph, wide ? xnn_datatype_qint32 : xnn_datatype_qint8,
                                                   (int32_t)q->zero_point[0], q->scale[0], t->rank, sizes, t->data.data,
                                                   border, flags, id);
    need(n, status, t->name);
}

static uint32_t id_of(const struct net *n, const struct nuc_lt_op *op, uint32_t operand)
{
    bool given = operand < op->n_inputs && op->inputs[operand] >= 0;

    return given ? n->ids[op->inputs[operand]] : XNN_INVALID_VALUE_ID;
}

static uint32_t padding_flag(enum nuc_lt_padding padding)
{
    return padding == NUC_LT_SAME ? XNN_FLAG_TENSORFLOW_SAME_PADDING : 0;
}

static enum xnn_status define_conv(struct net *n, const struct nuc_lt_op *op, uint32_t to)
{
    const int32_t *w = n->g->tensors[op->inputs[1]].shape;
    uint32_t channels = (uint32_t)n->g->tensors[op->inputs[0]].shape[3], rows = (uint32_t)w[1],
             columns = (uint32_t)w[2];
    uint32_t stride_h = (uint32_t)op->options.conv.stride_h, stride_w = (uint32_t)op->options.conv.stride_w;
    uint32_t dilation_h = (uint32_t)op->options.conv.dilation_h, dilation_w = (uint32_t)op->options.conv.dilation_w;
    uint32_t pad = padding_flag(op->options.conv.padding), depth = (uint32_t)w[3], groups = channels / depth;
    struct nuc_lt_bounds b = nuc_lt_bounds(op->options.conv.activation);

    if (op->code == NUC_LT_DEPTHWISE_CONV_2D)
        return xnn_define_depthwise_convolution_2d(n->graph, 0, 0, 0, 0, rows, columns, stride_h, stride_w, dilation_h,
                                                   dilation_w, depth / channels, channels, b.low, b.high,
                                                   id_of(n, op, 0), id_of(n, op, 1), id_of(n, op, 2), to, pad);
    return xnn_define_convolution_2d(n->graph, 0, 0, 0, 0, rows, columns, stride_h, stride_w, dilation_h, dilation_w,
                                     groups, depth, (uint32_t)w[0] / groups, b.low, b.high, id_of(n, op, 0),
                                     id_of(n, op, 1), id_of(n, op, 2), to, pad);
}

/* Windows that reach over the border have fewer values than their weights are for. */
static enum xnn_status define_average(struct net *n, const struct nuc_lt_op *op, uint32_t to)
{
    const int32_t *in = n->g->tensors[op->inputs[0]].shape, *out = n->g->tensors[op->outputs[0]].shape;
    uint32_t rows = (uint32_t)op->options.pool.filter_h, columns = (uint32_t)op->options.pool.filter_w;
    uint32_t stride_h = (uint32_t)op->options.pool.stride_h, stride_w = (uint32_t)op->options.pool.stride_w;
    struct nuc_lt_bounds b = nuc_lt_bounds(op->options.pool.activation);
    size_t sizes[4] = {1, rows, columns, (size_t)in[3]}, count = sizes[1] * sizes[2] * sizes[3];
    uint32_t ones = XNN_INVALID_VALUE_ID;

    if (rows == (uint32_t)in[1] && columns == (uint32_t)in[2] && out[1] == 1 && out[2] == 1)
        return xnn_define_static_reduce(n->graph, xnn_reduce_mean, 2, (const size_t[]){1, 2}, id_of(n, op, 0), to,
                                        XNN_FLAG_KEEP_DIMS);
    if (((uint32_t)out[1] - 1) * stride_h + rows > (uint32_t)in[1] ||
        ((uint32_t)out[2] - 1) * stride_w + columns > (uint32_t)in[2])
        return xnn_status_unsupported_parameter;
    int8_t *one = nuc_alloc(n->cx, count + XNN_EXTRA_BYTES);
    memset(one, 1, count);
    need(n,
         xnn_define_quantized_tensor_value(n->graph, xnn_datatype_qint8, 0, 1.0f / (float)(rows * columns), 4, sizes,
                                           one, XNN_INVALID_VALUE_ID, 0, &ones),
         "weights of an average");
    return xnn_define_depthwise_convolution_2d(n->graph, 0, 0, 0, 0, rows, columns, stride_h, stride_w, 1, 1, 1,
                                               (uint32_t)in[3], b.low, b.high, id_of(n, op, 0), ones,
                                               XNN_INVALID_VALUE_ID, to, 0);
}

static enum xnn_status define_max(struct net *n, const struct nuc_lt_op *op, uint32_t to)
{
    struct nuc_lt_bounds b = nuc_lt_bounds(op->options.pool.activation);

    return xnn_define_max_pooling_2d(n->graph, 0, 0, 0, 0, (uint32_t)op->options.pool.filter_h,
                                     (uint32_t)op->options.pool.filter_w, (uint32_t)op->options.pool.stride_h,
                                     (uint32_t)op->options.pool.stride_w, 1, 1, b.low, b.high, id_of(n, op, 0), to,
                                     padding_flag(op->options.pool.padding));
}

static enum xnn_status define_softmax(struct net *n, const struct nuc_lt_op *op, uint32_t to)
{
    const struct nuc_lt_tensor *in = &n->g->tensors[op->inputs[0]];
    uint32_t ids[2];
    size_t sizes[NUC_MAX_RANK];

    if (op->options.softmax.beta != 1.0f)
        return xnn_status_unsupported_parameter;
    for (uint32_t i = 0; i < in->rank; i++)
        sizes[i] = (size_t)in->shape[i];
    for (int i = 0; i < 2; i++)
        need(n,
             xnn_define_tensor_value(n->graph, xnn_datatype_fp32, in->rank, sizes, NULL, XNN_INVALID_VALUE_ID, 0,
                                     &ids[i]),
             "values of a softmax");
    need(n, xnn_define_unary(n->graph, xnn_unary_convert, NULL, id_of(n, op, 0), ids[0], 0), "a conversion");
    need(n, xnn_define_softmax(n->graph, ids[0], ids[1], 0), "a softmax");
    return xnn_define_unary(n->graph, xnn_unary_convert, NULL, ids[1], to, 0);
}

static enum xnn_status define(struct net *n, const struct nuc_lt_op *op)
{
    const struct nuc_lt_tensor *in = &n->g->tensors[op->inputs[0]], *out = &n->g->tensors[op->outputs[0]];
    uint32_t from = id_of(n, op, 0), to = n->ids[op->outputs[0]];
    struct nuc_lt_bounds b;
    size_t sizes[NUC_MAX_RANK];

    switch (op->code) {
    case NUC_LT_CONV_2D:
    case NUC_LT_DEPTHWISE_CONV_2D:
        return define_conv(n, op, to);
    case NUC_LT_FULLY_CONNECTED:
        b = nuc_lt_bounds(op->options.fully_connected.activation);
        return xnn_define_fully_connected(n->graph, b.low, b.high, from, id_of(n, op, 1), id_of(n, op, 2), to,
                                          in->rank > 2 ? XNN_FLAG_TENSORFLOW_RESHAPE_2D : 0);
    case NUC_LT_ADD:
        b = nuc_lt_bounds(op->options.arith.activation);
        return xnn_define_binary(n->graph, xnn_binary_add, &(struct xnn_binary_params){b.low, b.high}, from,
                                 id_of(n, op, 1), to, 0);
    case NUC_LT_MAX_POOL_2D:
        return define_max(n, op, to);
    case NUC_LT_AVERAGE_POOL_2D:
        return define_average(n, op, to);
    case NUC_LT_SOFTMAX:
        return define_softmax(n, op, to);
    case NUC_LT_RESHAPE:
        for (uint32_t i = 0; i < out->rank; i++)
            sizes[i] = (size_t)out->shape[i];
        return xnn_define_static_reshape(n->graph, out->rank, sizes, from, to, 0);
    case NUC_LT_QUANTIZE:
    case NUC_LT_DEQUANTIZE:
        return xnn_define_unary(n->graph, xnn_unary_convert, NULL, from, to, 0);
    default:
        return xnn_status_unsupported_parameter;
    }
}

/* XNNPACK asks for these when it begins. */
static void choose_instructions(void)
{
    const char *name = getenv("INSTRUCTIONS");

    if (name && strcmp(name, "avx2") == 0 && cpuinfo_initialize())
        cpuinfo_isa.avx512f = cpuinfo_isa.avxvnni = false;
}

static void open_net(struct net *n, pthreadpool_t threads)
{
    n->model = nuc_lt_read(n->cx, n->files[0], nuc_read_file(n->cx, n->files[0]));
    n->g = &n->model->subgraphs[0];
    n->ids = nuc_alloc_array(n->cx, n->g->n_tensors, sizeof *n->ids);
    choose_instructions();
    need(n, xnn_initialize(NULL), "this machine");
    need(n, xnn_create_subgraph(n->g->n_inputs + n->g->n_outputs, 0, &n->graph), "a graph");
    for (uint32_t i = 0; i < n->g->n_tensors; i++)
        define_tensor(n, (int32_t)i);
    for (uint32_t i = 0; i < n->g->n_ops; i++)
        need(n, define(n, &n->g->ops[i]), nuc_lt_code_name(n->cx, n->g->ops[i].code));
    need(n, xnn_create_runtime_v2(n->graph, threads, 0, &n->runtime), "the model");
}

static size_t bytes_of(const struct net *n, int32_t tensor)
{
    const struct nuc_lt_tensor *t = &n->g->tensors[tensor];

    return (size_t)nuc_lt_elements(t) * nuc_dtype_size(t->dtype);
}

/* All inputs of the file; a line with the time of each. */
static void run(struct nuc_context *cx, void *arg)
{
    struct net *n = arg;
    const char *threads = getenv("THREADS");
    struct nuc_span in = nuc_read_file(cx, n->files[1]);
    size_t count = threads && atoi(threads) > 1 ? (size_t)atoi(threads) : 1, sample = 0, each = 0, at = 0, written = 0;

    open_net(n, count > 1 ? pthreadpool_create(count) : NULL);
    uint32_t n_inputs = n->g->n_inputs, n_borders = n_inputs + n->g->n_outputs;
    struct xnn_external_value *borders = nuc_alloc_array(cx, n_borders, sizeof *borders);
    for (uint32_t i = 0; i < n_borders; i++) {
        size_t size = bytes_of(n, i < n_inputs ? n->g->inputs[i] : n->g->outputs[i - n_inputs]);
        borders[i] = (struct xnn_external_value){i, nuc_alloc(cx, size + XNN_EXTRA_BYTES)};
        *(i < n_inputs ? &sample : &each) += size;
    }
    uint8_t *out = nuc_alloc(cx, sample > 0 ? in.size / sample * each : 0);
    need(n, xnn_setup_runtime(n->runtime, n_borders, borders), "its inputs");
    while (sample > 0 && in.size - at >= sample) {
        for (uint32_t i = 0; i < n_inputs; at += bytes_of(n, n->g->inputs[i++]))
            memcpy(borders[i].data, in.data + at, bytes_of(n, n->g->inputs[i]));
        double start = nuc_seconds();
        need(n, xnn_invoke_runtime(n->runtime), "to run");
        printf("inference %.3f\n", (nuc_seconds() - start) * 1e6);
        for (uint32_t i = n_inputs; i < n_borders; written += bytes_of(n, n->g->outputs[i++ - n_inputs]))
            memcpy(out + written, borders[i].data, bytes_of(n, n->g->outputs[i - n_inputs]));
    }
    nuc_write_file(cx, n->files[2], (struct nuc_span){out, written});
}

int main(int argc, char **argv)
{
    struct nuc_context *cx = nuc_context_new(NULL);
    struct net n = {.cx = cx, .files = argv + 1};

    if (argc != 4 || !cx) {
        fprintf(stderr, "usage: peer_xnnpack MODEL.tflite INPUT OUTPUT\n");
        return 2;
    }
    enum nuc_status status = nuc_try(cx, run, &n);
    if (status != NUC_OK)
        fprintf(stderr, "peer_xnnpack: %s\n", cx->message);
    nuc_context_free(cx);
    return status == NUC_OK ? 0 : 1;
}
