/*
 * Shape rules of the Cortex-M dialect and of the int8 operators of our own. Windows work on channels-last tensors:
 * [N, C, H, W] in dim order 0, 2, 3, 1; weights are contiguous [O, H, W, I], depthwise [1, H, W, O].
 */
#include <string.h>

#include "ir/args.h"
#include "ir/conv_args.h"
#include "ir/shapes/shapes.h"

/* size, dtype */
void nuc_shape_alloc(const struct nuc_shape_call *c)
{
    uint32_t rank;
    const int64_t *sizes = nuc_shape_ints(c, NUC_ARG(ALLOC, size), &rank);
    struct nuc_meta m = {.dtype = nuc_shape_arg(c, NUC_ARG(ALLOC, dtype), NUC_ARG_DTYPE)->u.dtype,
                         .rank = (uint8_t)rank};

    if (rank > NUC_MAX_RANK)
        nuc_shape_fail(c, "%u dimensions are too many", (unsigned)rank);
    memcpy(m.sizes, sizes, rank * sizeof *sizes);
    nuc_set_contiguous(&m);
    nuc_shape_result(c, &m);
}

/* ---- operands with their parameters in between ---- */

/* self, its parameters, other; a comparison gives truths. */
void nuc_shape_cortexm_binary(const struct nuc_shape_call *c)
{
    struct nuc_meta m = nuc_shape_broadcast(c, nuc_arg_named(c->node, "other"));

    m.dtype = c->node->op == NUC_OP_NUCLEON_COMPARE ? NUC_BOOL : m.dtype;
    nuc_shape_result(c, &m);
}

/* The input's sizes and order in the type that the operator states. */
void nuc_shape_nucleon_requantize(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);

    m.dtype = nuc_shape_arg(c, NUC_ARG(NUCLEON_REQUANTIZE, dtype), NUC_ARG_DTYPE)->u.dtype;
    nuc_shape_result(c, &m);
}

/* int8 or, where the zero point is that of int16, int16. */
void nuc_shape_cortexm_softmax(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);

    m.dtype = nuc_shape_int(c, NUC_ARG(CORTEXM_SOFTMAX, output_zero_point)) == INT16_MIN ? NUC_I16 : m.dtype;
    nuc_shape_result(c, &m);
}

/* input [..., I], weights [O, I] */
void nuc_shape_cortexm_linear(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF), *w = nuc_shape_input(c, NUC_ARG(CORTEXM_LINEAR, weights));
    struct nuc_meta m = *in;

    if (m.rank == 0 || w->rank != 2 || w->sizes[1] != m.sizes[m.rank - 1])
        nuc_shape_fail(c, "%s does not fit weights %s", nuc_meta_text(c->g->cx, in), nuc_meta_text(c->g->cx, w));
    m.sizes[m.rank - 1] = w->sizes[0];
    nuc_set_contiguous(&m);
    nuc_shape_result(c, &m);
}

/* lhs [B, M, K], rhs transposed [B, N, K] in argument 2 */
void nuc_shape_cortexm_batch_matmul(const struct nuc_shape_call *c)
{
    const struct nuc_meta *a = nuc_shape_input(c, NUC_SELF),
                          *b = nuc_shape_input(c, NUC_ARG(CORTEXM_BATCH_MATMUL, rhs_transposed));
    struct nuc_meta m = *a;

    if (a->rank != 3 || b->rank != 3 || a->sizes[0] != b->sizes[0] || a->sizes[2] != b->sizes[2])
        nuc_shape_fail(c, "%s does not fit %s", nuc_meta_text(c->g->cx, a), nuc_meta_text(c->g->cx, b));
    m.sizes[2] = b->sizes[1];
    nuc_set_contiguous(&m);
    nuc_shape_result(c, &m);
}

/* ---- windows ---- */

/* Where all of them have it. */
#define CONV(name) NUC_ARG(CORTEXM_CONV2D, name)

struct window {
    int64_t kernel[2], stride[2], padding[2], after[2], dilation[2]; /* padding: before the image */
};

static void read_pair(const struct nuc_shape_call *c, uint32_t index, int64_t pair[2])
{
    if (!nuc_shape_pair(c, index, pair))
        nuc_shape_fail(c, "argument %u is empty", (unsigned)index);
}

static const struct nuc_meta *image(const struct nuc_shape_call *c, uint32_t index)
{
    const struct nuc_meta *m = nuc_shape_input(c, index);

    if (m->rank != 4)
        nuc_shape_fail(c, "argument %u has rank %d instead of 4", (unsigned)index, m->rank);
    return m;
}

static struct window read_window(const struct nuc_shape_call *c, uint32_t dilation_arg)
{
    const struct nuc_meta *w = image(c, CONV(weight));
    struct window window = {.kernel = {w->sizes[1], w->sizes[2]}};

    read_pair(c, CONV(stride), window.stride);
    if (!nuc_conv_paddings(c->node, CONV(padding), window.padding, window.after))
        nuc_shape_fail(c, "argument %u has neither one number nor one for each side", (unsigned)CONV(padding));
    read_pair(c, dilation_arg, window.dilation);
    for (int i = 0; i < 2; i++) {
        if (window.kernel[i] < 1 || window.stride[i] < 1 || window.dilation[i] < 1 || window.padding[i] < 0 ||
            window.after[i] < 0)
            nuc_shape_fail(c, "kernel, stride or dilation is below 1, or padding is negative");
    }
    return window;
}

static void set_image(const struct nuc_shape_call *c, struct nuc_meta *m)
{
    nuc_set_channels_last(m);
    nuc_shape_result(c, m);
}

static void convolve(const struct nuc_shape_call *c, int64_t channels)
{
    const struct nuc_meta *in = image(c, CONV(input));
    struct window w = read_window(c, CONV(dilation));
    struct nuc_meta m = *in;

    m.sizes[1] = channels;
    for (int i = 0; i < 2; i++) {
        int64_t room = in->sizes[2 + i] + w.padding[i] + w.after[i] - w.dilation[i] * (w.kernel[i] - 1) - 1;
        if (room < 0)
            nuc_shape_fail(c, "the kernel does not fit the padded input %s", nuc_meta_text(c->g->cx, in));
        m.sizes[2 + i] = room / w.stride[i] + 1;
    }
    set_image(c, &m);
}

/* input, weight [O, H, W, I], bias, stride, padding, dilation, ...; groups follow from I */
void nuc_shape_cortexm_conv2d(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = image(c, CONV(input)), *w = image(c, CONV(weight));

    if (w->sizes[3] < 1 || in->sizes[1] % w->sizes[3] != 0)
        nuc_shape_fail(c, "%s does not fit weights %s", nuc_meta_text(c->g->cx, in), nuc_meta_text(c->g->cx, w));
    convolve(c, w->sizes[0]);
}

/* input, weight [1, H, W, O], bias, stride, padding, dilation, depth multiplier, ... */
void nuc_shape_cortexm_depthwise(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = image(c, CONV(input)), *w = image(c, CONV(weight));

    if (w->sizes[0] != 1 ||
        w->sizes[3] != in->sizes[1] * nuc_shape_int(c, NUC_ARG(CORTEXM_DEPTHWISE, depth_multiplier)))
        nuc_shape_fail(c, "%s does not fit weights %s", nuc_meta_text(c->g->cx, in), nuc_meta_text(c->g->cx, w));
    convolve(c, w->sizes[3]);
}

/* input, weight [O of a group, H, W, I], bias, stride, padding, output padding, dilation, ...; one group or several */
void nuc_shape_cortexm_transpose_conv2d(const struct nuc_shape_call *c)
{
    const uint32_t groups_at = nuc_arg_named(c->node, "groups");
    const int64_t groups = groups_at == NUC_NO_ARG ? 1 : nuc_shape_int(c, groups_at);
    const struct nuc_meta *in = image(c, CONV(input)), *weight = image(c, CONV(weight));
    struct window w = read_window(c, NUC_ARG(CORTEXM_TRANSPOSE_CONV2D, dilation));
    struct nuc_meta m = *in;
    int64_t added[2];

    read_pair(c, NUC_ARG(CORTEXM_TRANSPOSE_CONV2D, output_padding), added);
    if (groups < 1 || weight->sizes[3] != in->sizes[1])
        nuc_shape_fail(c, "%s does not fit weights %s", nuc_meta_text(c->g->cx, in), nuc_meta_text(c->g->cx, weight));
    m.sizes[1] = weight->sizes[0] * groups;
    for (int i = 0; i < 2; i++)
        m.sizes[2 + i] =
            (in->sizes[2 + i] - 1) * w.stride[i] - 2 * w.padding[i] + w.dilation[i] * (w.kernel[i] - 1) + added[i] + 1;
    set_image(c, &m);
}

/* input [N, C, H, W], output_size [H, W] */
void nuc_shape_nucleon_resize(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *image(c, NUC_SELF);

    read_pair(c, NUC_ARG(NUCLEON_RESIZE_NEAREST, output_size), m.sizes + 2);
    set_image(c, &m);
}

/* Sizes as those of the operators they come from, channels-last whatever the input's order is called. */
void nuc_shape_cortexm_pool2d(const struct nuc_shape_call *c)
{
    struct nuc_node alike = *c->node;
    const struct nuc_shape_call call = {c->g, &alike};

    alike.vals = NULL;
    nuc_shape_pool(&call);
    struct nuc_meta m = alike.vals[0];
    set_image(c, &m);
}

/* ---- padding ---- */

/*
 * input, pre_pad, post_pad: lists of 4, for the physical dimensions from outermost to innermost, aligned right. Four
 * dimensions lie contiguous or channels-last, which one channel or one pixel always do.
 */
void nuc_shape_cortexm_pad(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);
    uint32_t n_pre, n_post;
    const int64_t *pre = nuc_shape_ints(c, NUC_ARG(CORTEXM_PAD, pre_pad), &n_pre),
                  *post = nuc_shape_ints(c, NUC_ARG(CORTEXM_PAD, post_pad), &n_post);

    if (n_pre != 4 || n_post != 4 || m.rank < 1 || m.rank > 4)
        nuc_shape_fail(c, "two lists of 4 numbers and a tensor of rank 1 to 4 are expected");
    if (m.rank == 4 && (m.sizes[1] == 1 || (m.sizes[2] == 1 && m.sizes[3] == 1)))
        nuc_set_channels_last(&m);
    for (uint32_t i = 0; i < m.rank; i++)
        m.sizes[m.dim_order[i]] += pre[4 - m.rank + i] + post[4 - m.rank + i];
    nuc_shape_result(c, &m);
}

/* ---- truths of int8 values ---- */

void nuc_shape_nucleon_test(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);

    m.dtype = NUC_BOOL;
    nuc_shape_result(c, &m);
}

/* ---- rows ---- */

/* Dimension `index` of the argument, outermost in memory but for dimensions of one index. */
static uint32_t row_dim(const struct nuc_shape_call *c, uint32_t index, const struct nuc_meta *m)
{
    uint32_t dim = nuc_shape_dim(c, nuc_shape_int(c, index), m->rank);

    if (!nuc_is_outermost(m, dim))
        nuc_shape_fail(c, "dimension %u of %s is not the outermost one in memory", (unsigned)dim,
                       nuc_meta_text(c->g->cx, m));
    return dim;
}

/* self, dim, start, end */
void nuc_shape_rows_view(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);
    uint32_t dim = row_dim(c, NUC_ARG(NUCLEON_ROWS_VIEW, dim), &m);
    int64_t start = nuc_shape_int(c, NUC_ARG(NUCLEON_ROWS_VIEW, start));
    int64_t end = nuc_shape_int(c, NUC_ARG(NUCLEON_ROWS_VIEW, end));

    if (start < 0 || start >= end || end > m.sizes[dim])
        nuc_shape_fail(c, "there are no rows %lld to %lld in %s", (long long)start, (long long)end,
                       nuc_meta_text(c->g->cx, &m));
    m.sizes[dim] = end - start;
    nuc_shape_result(c, &m);
}

/* tensors, dim */
void nuc_shape_joined_rows(const struct nuc_shape_call *c)
{
    const struct nuc_arg *list = nuc_shape_arg(c, NUC_ARG(NUCLEON_JOINED_ROWS, tensors), NUC_ARG_NODES);

    if (list->count == 0 || list->u.nodes[0] == NULL)
        nuc_shape_fail(c, "the list of tensors is empty");
    struct nuc_meta m = list->u.nodes[0]->vals[0];
    uint32_t dim = row_dim(c, NUC_ARG(NUCLEON_JOINED_ROWS, dim), &m);
    for (uint32_t i = 1; i < list->count; i++) {
        struct nuc_meta other = list->u.nodes[i]->vals[0];
        int64_t rows = dim < other.rank ? other.sizes[dim] : 0;
        other.sizes[dim] = m.sizes[dim];
        if (rows < 1 || !nuc_meta_equal(&other, &m))
            nuc_shape_fail(c, "%s does not continue %s", nuc_meta_text(c->g->cx, &list->u.nodes[i]->vals[0]),
                           nuc_meta_text(c->g->cx, &m));
        m.sizes[dim] += rows;
    }
    nuc_shape_result(c, &m);
}
