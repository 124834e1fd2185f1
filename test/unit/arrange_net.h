/* Small LiteRT models of int8 tensors with transposes in them, and the simulator that runs them. */
#ifndef NUC_TEST_ARRANGE_NET_H
#define NUC_TEST_ARRANGE_NET_H

#include "lt_boundaries.h"
#include "unit/test.h"

#include "host/text.h"
#include "npu/arrange/arrange.h"
#include "npu/arrange/tidy.h"
#include "npu/convert/convert.h"
#include "nucleon/NeutronDriver.h"

#define LIST(...) (const int32_t[]){__VA_ARGS__}, (uint32_t)(sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

static inline struct nuc_lt_quant parameters(struct nuc_context *cx, float scale, int64_t zero)
{
    return (struct nuc_lt_quant){
        .count = 1, .scale = nuc_copy(cx, &scale, sizeof scale), .zero_point = nuc_copy(cx, &zero, sizeof zero)};
}

static inline int32_t value(struct nuc_ltb *d, const char *name, const int32_t *shape, uint32_t rank)
{
    struct nuc_lt_tensor t = {.name = name, .dtype = NUC_I8, .rank = rank, .quant = parameters(d->cx, 0.05f, 3)};

    memcpy(t.shape, shape, rank * sizeof *shape);
    return nuc_ltb_add(d, &t, NUC_LTB_NONE);
}

/* Constant bytes 0, 5, 10, ... of the parameters of values. */
static inline int32_t constant(struct nuc_ltb *d, const int32_t *shape, uint32_t rank)
{
    struct nuc_lt_tensor t = {.rank = rank};
    int8_t *bytes;

    memcpy(t.shape, shape, rank * sizeof *shape);
    bytes = nuc_alloc(d->cx, (size_t)nuc_lt_elements(&t));
    for (int64_t i = 0; i < nuc_lt_elements(&t); i++)
        bytes[i] = (int8_t)(i * 5);
    int32_t c = nuc_ltb_constant(d, "c", NUC_I8, shape, rank, bytes);
    nuc_ltb_at(d, c)->quant = parameters(d->cx, 0.05f, 3);
    return c;
}

/* Of another shape, with the parameters of x. */
static inline int32_t shaped(struct nuc_ltb *d, const char *name, int32_t x, const int32_t *shape, uint32_t rank)
{
    int32_t y = value(d, name, shape, rank);

    nuc_ltb_at(d, y)->quant = nuc_ltb_at(d, x)->quant;
    return y;
}

static inline int32_t like(struct nuc_ltb *d, int32_t x)
{
    const struct nuc_lt_tensor t = *nuc_ltb_at(d, x);

    return shaped(d, "v", x, t.shape, t.rank);
}

static inline int32_t unary(struct nuc_ltb *d, int32_t code, int32_t x)
{
    int32_t y = like(d, x);

    nuc_ltb_op(d, code, &x, 1, y);
    return y;
}

static inline int32_t permuted(struct nuc_ltb *d, int32_t x, const int32_t *perm, uint32_t rank)
{
    return nuc_ltb_transpose_before(d, x, perm, nuc_ltb_format(d, x));
}

/* The larger operand comes first. */
static inline int32_t sum(struct nuc_ltb *d, int32_t a, int32_t b)
{
    int32_t y = like(d, a);

    nuc_ltb_op(d, NUC_LT_ADD, (const int32_t[]){a, b}, 2, y);
    return y;
}

/* Weights of k x k pixels, an operator that needs [N, H, W, C]; `bias` is a tensor or -1. */
static inline int32_t convolved_with(struct nuc_ltb *d, int32_t x, int32_t k, int32_t n_out, int32_t bias)
{
    struct nuc_lt_tensor t = *nuc_ltb_at(d, x);
    int32_t w = constant(d, (const int32_t[]){n_out, k, k, t.shape[3]}, 4);
    const int32_t shape[4] = {t.shape[0], t.shape[1] - k + 1, t.shape[2] - k + 1, n_out};

    nuc_ltb_at(d, w)->quant = parameters(d->cx, 0.01f, 0);
    int32_t y = shaped(d, "conv", x, shape, 4);
    struct nuc_lt_op *op = nuc_ltb_op(d, NUC_LT_CONV_2D, (const int32_t[]){x, w, bias}, 3, y);
    op->options.conv.padding = NUC_LT_VALID;
    op->options.conv.stride_h = op->options.conv.stride_w = 1;
    op->options.conv.dilation_h = op->options.conv.dilation_w = 1;
    return y;
}

/* Of 2 x 2 pixels, as many channels as before. */
static inline int32_t convolved(struct nuc_ltb *d, int32_t x)
{
    return convolved_with(d, x, 2, nuc_ltb_at(d, x)->shape[3], -1);
}

/* Over k x k pixels. */
static inline int32_t pooled_with(struct nuc_ltb *d, int32_t code, int32_t x, int32_t k)
{
    struct nuc_lt_tensor t = *nuc_ltb_at(d, x);

    t.shape[1] -= k - 1;
    t.shape[2] -= k - 1;
    int32_t y = shaped(d, "pool", x, t.shape, 4);
    struct nuc_lt_op *op = nuc_ltb_op(d, code, &x, 1, y);
    op->options.pool.padding = NUC_LT_VALID;
    op->options.pool.stride_h = op->options.pool.stride_w = 1;
    op->options.pool.filter_h = op->options.pool.filter_w = k;
    return y;
}

static inline int32_t pooled(struct nuc_ltb *d, int32_t x)
{
    return pooled_with(d, NUC_LT_MAX_POOL_2D, x, 2);
}

static inline int32_t all_joined(struct nuc_ltb *d, const int32_t *parts, uint32_t count, int32_t axis)
{
    struct nuc_lt_tensor t = *nuc_ltb_at(d, parts[0]);

    for (uint32_t i = 1; i < count; i++)
        t.shape[axis] += nuc_ltb_at(d, parts[i])->shape[axis];
    int32_t y = shaped(d, "cat", parts[0], t.shape, t.rank);
    nuc_ltb_op(d, NUC_LT_CONCATENATION, parts, count, y)->options.concat.axis = axis;
    return y;
}

static inline int32_t joined(struct nuc_ltb *d, int32_t a, int32_t b, int32_t axis)
{
    return all_joined(d, (const int32_t[]){a, b}, 2, axis);
}

static inline int32_t padded(struct nuc_ltb *d, int32_t x, int32_t axis, int32_t before, int32_t after)
{
    struct nuc_lt_tensor t = *nuc_ltb_at(d, x);
    int32_t pads[NUC_MAX_RANK][2] = {{0}};
    const int32_t shape[2] = {(int32_t)t.rank, 2};

    pads[axis][0] = before;
    pads[axis][1] = after;
    t.shape[axis] += before + after;
    int32_t y = shaped(d, "pad", x, t.shape, t.rank);
    int32_t list = nuc_ltb_constant(d, "pads", NUC_I32, shape, 2, pads);
    nuc_ltb_op(d, NUC_LT_PAD, (const int32_t[]){x, list}, 2, y);
    return y;
}

static inline int32_t sliced(struct nuc_ltb *d, int32_t x, int32_t axis, int32_t begin, int32_t size)
{
    struct nuc_lt_tensor t = *nuc_ltb_at(d, x);
    int32_t from[NUC_MAX_RANK] = {0};

    from[axis] = begin;
    t.shape[axis] = size;
    int32_t y = shaped(d, "slice", x, t.shape, t.rank);
    int32_t inputs[3] = {x, nuc_ltb_list(d, "begin", from, t.rank), nuc_ltb_list(d, "size", t.shape, t.rank)};
    nuc_ltb_op(d, NUC_LT_SLICE, inputs, 3, y);
    return y;
}

static inline int32_t reduced(struct nuc_ltb *d, int32_t x, int32_t axis, bool keep)
{
    struct nuc_lt_tensor t = *nuc_ltb_at(d, x);
    int32_t shape[NUC_MAX_RANK];
    uint32_t rank = 0;

    for (uint32_t i = 0; i < t.rank; i++) {
        if ((int32_t)i != axis || keep)
            shape[rank++] = (int32_t)i == axis ? 1 : t.shape[i];
    }
    int32_t y = shaped(d, "max", x, shape, rank);
    int32_t axes = nuc_ltb_list(d, "axes", &axis, 1);
    nuc_ltb_op(d, NUC_LT_REDUCE_MAX, (const int32_t[]){x, axes}, 2, y)->options.reduce.keep_dims = keep;
    return y;
}

static inline int32_t reshaped(struct nuc_ltb *d, int32_t x, const int32_t *shape, uint32_t rank)
{
    int32_t y = shaped(d, "view", x, shape, rank);

    nuc_ltb_reshape(d, x, y);
    return y;
}

static inline int32_t softmax(struct nuc_ltb *d, int32_t x)
{
    int32_t y = like(d, x);

    nuc_ltb_at(d, y)->quant = parameters(d->cx, 1.0f / 256, -128);
    nuc_ltb_op(d, NUC_LT_SOFTMAX, &x, 1, y)->options.softmax.beta = 1;
    return y;
}

/* [N, K] by weights [O, K]. */
static inline int32_t connected(struct nuc_ltb *d, int32_t x, int32_t n_out)
{
    struct nuc_lt_tensor t = *nuc_ltb_at(d, x);
    int32_t w = constant(d, (const int32_t[]){n_out, t.shape[1]}, 2);

    nuc_ltb_at(d, w)->quant = parameters(d->cx, 0.01f, 0);
    int32_t y = value(d, "fc", (const int32_t[]){t.shape[0], n_out}, 2);
    nuc_ltb_at(d, y)->quant = parameters(d->cx, 2.0f, 0);
    nuc_ltb_op(d, NUC_LT_FULLY_CONNECTED, (const int32_t[]){x, w, -1}, 3, y);
    return y;
}

/* "ABS 1x2x3x4, TRANSPOSE 1x3x4x2": operators and the shapes they write. */
static inline const char *listing(struct nuc_ltb *d)
{
    const struct nuc_lt_subgraph *s = nuc_ltb_graph(d);
    struct nuc_text text = {.cx = d->cx};

    for (uint32_t i = 0; i < s->n_ops; i++) {
        const struct nuc_lt_tensor *t = nuc_ltb_at(d, s->ops[i].outputs[0]);
        nuc_text_addf(&text, "%s%s", i == 0 ? "" : ", ", nuc_lt_code_name(d->cx, s->ops[i].code));
        for (uint32_t k = 0; k < t->rank; k++)
            nuc_text_addf(&text, "%c%d", k == 0 ? ' ' : 'x', t->shape[k]);
    }
    return nuc_text_string(&text);
}

/* ---- running ---- */

static inline void *aligned(const void *data, size_t size)
{
    uint8_t *copy = aligned_alloc(16, (size + 31) & ~(size_t)15);

    memset(copy, 0x5A, size);
    if (data != NULL && size != 0)
        memcpy(copy, data, size);
    return copy;
}

static inline size_t size_of(struct nuc_ltb *d, int32_t tensor)
{
    return (size_t)nuc_lt_elements(nuc_ltb_at(d, tensor));
}

/* All outputs one after the other; every input byte is a function of its place. */
static inline struct nuc_span run_image(struct nuc_ltb *d, const struct nuc_neutron_image *im)
{
    const struct nuc_lt_subgraph *s = nuc_ltb_graph(d);
    NeutronModelConfig config = {aligned(im->microcode.data, im->microcode.size),
                                 aligned(im->weights.data, im->weights.size),
                                 aligned(im->kernels.data, im->kernels.size), 60};
    void **outputs = nuc_alloc_array(d->cx, s->n_outputs + 3, sizeof *outputs);
    const void *inputs[8];
    NeutronModelHandle handle = NULL;
    NeutronDataConfig data = {inputs, outputs, NULL, aligned(NULL, im->staging_size)};
    struct nuc_span all = {NULL, 0};

    for (uint32_t i = 0; i < s->n_inputs; i++) {
        uint8_t *bytes = aligned(NULL, size_of(d, s->inputs[i]));
        for (size_t k = 0; k < size_of(d, s->inputs[i]); k++)
            bytes[k] = (uint8_t)(k * 37 + k / 7 * 11 + i * 5);
        inputs[i] = bytes;
    }
    for (uint32_t i = 0; i < s->n_outputs; i++) {
        outputs[i] = aligned(NULL, size_of(d, s->outputs[i]));
        all.size += size_of(d, s->outputs[i]);
    }
    outputs[s->n_outputs] = aligned(NULL, im->scratch_size);
    assert_int_equal(neutronModelPrepare(&config, &handle), ENONE);
    assert_int_equal(neutronRunBlocking(handle, &data), ENONE);
    neutronModelUnprepare(handle);
    uint8_t *bytes = nuc_alloc(d->cx, all.size + 1);
    all.data = bytes;
    for (uint32_t i = 0; i < s->n_outputs; i++) {
        memcpy(bytes, outputs[i], size_of(d, s->outputs[i]));
        bytes += size_of(d, s->outputs[i]);
    }
    for (uint32_t i = 0; i < s->n_inputs; i++)
        free((void *)(uintptr_t)inputs[i]);
    for (uint32_t i = 0; i <= s->n_outputs; i++)
        free(outputs[i]);
    free((void *)(uintptr_t)config.microcode);
    free((void *)(uintptr_t)config.weights);
    free((void *)(uintptr_t)config.kernels);
    free(data.scratchWeights);
    return all;
}

static inline struct nuc_span run(struct nuc_ltb *d)
{
    return run_image(d, nuc_convert_litert(d->cx, d->model, NULL));
}

#endif
