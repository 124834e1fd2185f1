#include "mobilenet_v1.h"

#include <string.h>

#include "host/text.h"

struct builder {
    struct nuc_context *cx;
    struct nuc_lt_model *m;
    int32_t last; /* the tensor so far */
};

static int32_t add_tensor(struct builder *b, enum nuc_dtype dtype, uint32_t rank, const int32_t *shape,
                          bool is_constant)
{
    static const float scale = 0.02f;
    static const int64_t zero_point = 0;
    struct nuc_lt_tensor t = {.name = nuc_format(b->cx, "t%u", b->m->subgraphs[0].n_tensors),
                              .dtype = dtype,
                              .rank = rank,
                              .quant = {.count = 1, .scale = &scale, .zero_point = &zero_point}};

    memcpy(t.shape, shape, rank * sizeof *shape);
    if (is_constant) {
        size_t bytes = (size_t)nuc_lt_elements(&t) * nuc_dtype_size(dtype);
        t.data = (struct nuc_span){nuc_alloc(b->cx, bytes), bytes};
    }
    return nuc_lt_add_tensor(b->m, &t);
}

static struct nuc_lt_op *add_op(struct builder *b, int32_t code, const int32_t *inputs, uint32_t n, uint32_t rank,
                                const int32_t *shape)
{
    int32_t output = add_tensor(b, NUC_I8, rank, shape, false);

    struct nuc_lt_op *op = nuc_lt_add_op(b->m, code, inputs, n, &output, 1);
    b->last = output;
    return op;
}

/* SAME padding; `out_c` is that of the input for a depthwise one. */
static void add_conv(struct builder *b, bool depthwise, int32_t k, int32_t stride, int32_t out_c)
{
    const struct nuc_lt_tensor x = b->m->subgraphs[0].tensors[b->last];
    int32_t h = (x.shape[1] + stride - 1) / stride, w = (x.shape[2] + stride - 1) / stride;
    const int32_t weights[4] = {depthwise ? 1 : out_c, k, k, depthwise ? out_c : x.shape[3]};
    const int32_t inputs[3] = {b->last, add_tensor(b, NUC_I8, 4, weights, true),
                               add_tensor(b, NUC_I32, 1, &out_c, true)};
    struct nuc_lt_op *op = add_op(b, depthwise ? NUC_LT_DEPTHWISE_CONV_2D : NUC_LT_CONV_2D, inputs, 3, 4,
                                  (const int32_t[]){1, h, w, out_c});

    op->options.conv.padding = NUC_LT_SAME;
    op->options.conv.stride_h = op->options.conv.stride_w = stride;
    op->options.conv.dilation_h = op->options.conv.dilation_w = 1;
    op->options.conv.activation = NUC_LT_ACT_RELU6;
    if (depthwise)
        op->options.conv.depth_multiplier = 1;
}

static void add_pool(struct builder *b)
{
    const struct nuc_lt_tensor x = b->m->subgraphs[0].tensors[b->last];
    const int32_t shape[4] = {1, 1, 1, x.shape[3]};
    struct nuc_lt_op *op = add_op(b, NUC_LT_AVERAGE_POOL_2D, &b->last, 1, 4, shape);

    op->options.pool.padding = NUC_LT_VALID;
    op->options.pool.filter_h = op->options.pool.stride_h = x.shape[1];
    op->options.pool.filter_w = op->options.pool.stride_w = x.shape[2];
}

struct nuc_lt_model *mobilenet_v1(struct nuc_context *cx)
{
    /* Stride and channels of each depthwise separable layer. */
    static const int32_t layers[13][2] = {{1, 64},  {2, 128}, {1, 128}, {2, 256}, {1, 256},  {2, 512}, {1, 512},
                                          {1, 512}, {1, 512}, {1, 512}, {1, 512}, {2, 1024}, {1, 1024}};
    struct builder b = {cx, nuc_lt_model_new(cx, "MobileNetV1 1.0/224"), 0};
    struct nuc_lt_subgraph *g = &b.m->subgraphs[0];
    int32_t channels = 32;

    b.last = add_tensor(&b, NUC_I8, 4, (const int32_t[]){1, 224, 224, 3}, false);
    g->inputs = nuc_copy(cx, &b.last, sizeof b.last);
    g->n_inputs = 1;
    add_conv(&b, false, 3, 2, channels);
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        add_conv(&b, true, 3, layers[i][0], channels);
        add_conv(&b, false, 1, 1, channels = layers[i][1]);
    }
    add_pool(&b);
    add_conv(&b, false, 1, 1, MOBILENET_V1_CLASSES);
    add_op(&b, NUC_LT_RESHAPE, &b.last, 1, 2, (const int32_t[]){1, MOBILENET_V1_CLASSES});
    g->outputs = nuc_copy(cx, &b.last, sizeof b.last);
    g->n_outputs = 1;
    return b.m;
}
