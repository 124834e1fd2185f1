/* Shape rules of convolution, batch norm and pooling: inputs [N, C, H, W], or [C, H, W] without a batch. */
#include <string.h>

#include "compiler/graph/shapes.h"

/* ---- convolution ---- */

/* Everything a convolution of any rank (1 to 3 spatial dimensions) says about shape. */
struct conv {
    const struct nuc_meta *input, *weight, *bias;
    uint32_t spatial; /* number of spatial dimensions */
    int64_t stride[3], padding[3], dilation[3], output_padding[3];
    bool transposed;
    int64_t groups;
};

/* A list with one number for each spatial dimension, or one for all. */
static void read_spatial(const struct nuc_shape_call *c, uint32_t index, uint32_t spatial, int64_t least, int64_t *out)
{
    uint32_t count;
    const int64_t *ints = nuc_shape_ints(c, index, &count);

    if (count != spatial && count != 1)
        nuc_shape_fail(c, "a list of %u numbers is given for %u spatial dimensions", (unsigned)count,
                       (unsigned)spatial);
    for (uint32_t i = 0; i < spatial; i++) {
        out[i] = ints[count == 1 ? 0 : i];
        if (out[i] < least)
            nuc_shape_fail(c, "stride, padding or dilation %lld is below %lld", (long long)out[i], (long long)least);
    }
}

static void check_conv(const struct nuc_shape_call *c, const struct conv *v)
{
    const struct nuc_meta *in = v->input;
    const struct nuc_meta *w = v->weight;
    uint32_t channel_dim = in->rank == w->rank ? 1 : 0;
    int64_t in_channels = in->sizes[channel_dim];

    if (v->groups < 1 || w->sizes[0] % v->groups != 0)
        nuc_shape_fail(c, "groups is %lld for a weight of %lld filters", (long long)v->groups, (long long)w->sizes[0]);
    int64_t wanted = v->transposed ? w->sizes[0] : w->sizes[1] * v->groups;
    if (in_channels != wanted)
        nuc_shape_fail(c, "the input %s has %lld channels, the weight %s and %lld groups want %lld",
                       nuc_meta_text(c->g->cx, in), (long long)in_channels, nuc_meta_text(c->g->cx, w),
                       (long long)v->groups, (long long)wanted);
    if (in->dtype != w->dtype)
        nuc_shape_fail(c, "the input is %s, the weight %s", nuc_dtype_name(in->dtype), nuc_dtype_name(w->dtype));
    int64_t filters = v->transposed ? w->sizes[1] * v->groups : w->sizes[0];
    if (v->bias != NULL && (v->bias->rank != 1 || v->bias->sizes[0] != filters))
        nuc_shape_fail(c, "the bias %s does not have %lld elements", nuc_meta_text(c->g->cx, v->bias),
                       (long long)filters);
}

static int64_t conv_size(const struct nuc_shape_call *c, const struct conv *v, uint32_t i, int64_t in)
{
    int64_t reach = v->dilation[i] * (v->weight->sizes[2 + i] - 1);
    int64_t out;

    if (v->weight->sizes[2 + i] < 1)
        nuc_shape_fail(c, "the kernel %s has no extent", nuc_meta_text(c->g->cx, v->weight));
    if (v->transposed)
        out = (in - 1) * v->stride[i] - 2 * v->padding[i] + reach + v->output_padding[i] + 1;
    else if (in + 2 * v->padding[i] < reach + 1)
        out = 0;
    else
        out = (in + 2 * v->padding[i] - reach - 1) / v->stride[i] + 1;
    if (out < 1)
        nuc_shape_fail(c, "the kernel %s does not fit the padded input %s", nuc_meta_text(c->g->cx, v->weight),
                       nuc_meta_text(c->g->cx, v->input));
    return out;
}

static void drop_batch(struct nuc_meta *m)
{
    int64_t strides[NUC_MAX_RANK];

    nuc_dense_strides(m, strides);
    m->rank--;
    memmove(m->sizes, m->sizes + 1, m->rank * sizeof m->sizes[0]);
    nuc_dim_order_of_strides(m->sizes, strides + 1, m->rank, m->dim_order);
}

/* The result with a batch dimension in front of what `v` describes, channels-last when input or weight is. */
static void conv_result(const struct nuc_shape_call *c, const struct conv *v)
{
    const struct nuc_meta *in = v->input;
    uint32_t batched = in->rank == v->weight->rank ? 1 : 0;
    struct nuc_meta m = {.dtype = in->dtype, .rank = (uint8_t)(v->spatial + 2)};

    check_conv(c, v);
    m.sizes[0] = batched ? in->sizes[0] : 1;
    m.sizes[1] = v->transposed ? v->weight->sizes[1] * v->groups : v->weight->sizes[0];
    for (uint32_t i = 0; i < v->spatial; i++)
        m.sizes[2 + i] = conv_size(c, v, i, in->sizes[batched + 1 + i]);
    nuc_order_as(&m, nuc_suggests_channels_last(in) || nuc_suggests_channels_last(v->weight));
    nuc_shape_check(c, &m);
    if (!batched)
        drop_batch(&m);
    nuc_shape_result(c, &m);
}

static void read_conv_tensors(const struct nuc_shape_call *c, struct conv *v)
{
    v->input = nuc_shape_input(c, 0);
    v->weight = nuc_shape_input(c, 1);
    v->bias = nuc_shape_optional_input(c, 2);
    if (v->weight->rank < 3 || v->weight->rank > 5)
        nuc_shape_fail(c, "the weight has rank %d; a convolution wants 3 to 5", v->weight->rank);
    v->spatial = v->weight->rank - 2u;
    if (v->input->rank != v->weight->rank && v->input->rank + 1 != v->weight->rank)
        nuc_shape_fail(c, "the input %s and the weight %s do not fit each other", nuc_meta_text(c->g->cx, v->input),
                       nuc_meta_text(c->g->cx, v->weight));
}

/* aten.conv2d: input, weight, bias, stride, padding, dilation, groups */
void nuc_shape_conv2d(const struct nuc_shape_call *c)
{
    struct conv v = {.transposed = false};

    read_conv_tensors(c, &v);
    if (v.spatial != 2)
        nuc_shape_fail(c, "the weight has rank %d instead of 4", v.weight->rank);
    read_spatial(c, 3, 2, 1, v.stride);
    read_spatial(c, 4, 2, 0, v.padding);
    read_spatial(c, 5, 2, 1, v.dilation);
    v.groups = nuc_shape_int(c, 6);
    conv_result(c, &v);
}

/* aten.convolution: input, weight, bias, stride, padding, dilation, transposed, output_padding, groups */
void nuc_shape_convolution(const struct nuc_shape_call *c)
{
    struct conv v = {.transposed = nuc_shape_bool(c, 6)};

    read_conv_tensors(c, &v);
    read_spatial(c, 3, v.spatial, 1, v.stride);
    read_spatial(c, 4, v.spatial, 0, v.padding);
    read_spatial(c, 5, v.spatial, 1, v.dilation);
    read_spatial(c, 7, v.spatial, 0, v.output_padding);
    v.groups = nuc_shape_int(c, 8);
    conv_result(c, &v);
}

/* ---- batch norm ---- */

static void check_channels(const struct nuc_shape_call *c, uint32_t index, int64_t channels)
{
    const struct nuc_meta *m = nuc_shape_optional_input(c, index);

    if (m != NULL && (m->rank != 1 || m->sizes[0] != channels))
        nuc_shape_fail(c, "a batch-norm tensor is %s for %lld channels", nuc_meta_text(c->g->cx, m),
                       (long long)channels);
}

static struct nuc_meta batch_norm_meta(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *nuc_shape_input(c, 0);

    if (m.rank < 2)
        nuc_shape_fail(c, "the input has rank %d; batch norm wants at least 2", m.rank);
    for (uint32_t i = 1; i <= 4; i++)
        check_channels(c, i, m.sizes[1]);
    if (m.rank == 4)
        nuc_order_as(&m, nuc_suggests_channels_last(&m));
    return m;
}

void nuc_shape_batch_norm(const struct nuc_shape_call *c)
{
    struct nuc_meta m = batch_norm_meta(c);

    nuc_shape_result(c, &m);
}

/* Without training the saved mean and inverse deviation are empty. */
void nuc_shape_batch_norm_3(const struct nuc_shape_call *c)
{
    static const int64_t none[1] = {0};
    struct nuc_meta m = batch_norm_meta(c);
    struct nuc_meta empty = nuc_meta_make(m.dtype, none, 1);

    nuc_shape_results(c, (struct nuc_meta[]){m, empty, empty}, 3);
}

/* ---- pooling ---- */

struct pool {
    int64_t kernel[2], stride[2], padding[2], dilation[2];
    bool ceil_mode;
};

static int64_t pool_size(const struct nuc_shape_call *c, const struct pool *p, uint32_t i, int64_t in)
{
    int64_t span = in + 2 * p->padding[i] - p->dilation[i] * (p->kernel[i] - 1) - 1;

    if (p->kernel[i] < 1 || p->stride[i] < 1 || p->dilation[i] < 1 || p->padding[i] < 0 ||
        p->padding[i] > p->kernel[i] / 2)
        nuc_shape_fail(c, "kernel %lld, stride %lld, padding %lld and dilation %lld make no pooling window",
                       (long long)p->kernel[i], (long long)p->stride[i], (long long)p->padding[i],
                       (long long)p->dilation[i]);
    if (span < 0)
        nuc_shape_fail(c, "a window of %lld does not fit the padded input of %lld", (long long)p->kernel[i],
                       (long long)in);
    int64_t out = (span + (p->ceil_mode ? p->stride[i] - 1 : 0)) / p->stride[i] + 1;
    /* The last window starts inside the input or its left padding. */
    if (p->ceil_mode && (out - 1) * p->stride[i] >= in + p->padding[i])
        out--;
    return out;
}

static const struct nuc_meta *pool_input(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, 0);

    if (in->rank != 3 && in->rank != 4)
        nuc_shape_fail(c, "the input has rank %d; 2-D pooling wants 3 or 4", in->rank);
    return in;
}

static struct nuc_meta pool_meta(const struct nuc_shape_call *c, const struct pool *p)
{
    const struct nuc_meta *in = pool_input(c);
    struct nuc_meta m = *in;

    for (uint32_t i = 0; i < 2; i++)
        m.sizes[m.rank - 2u + i] = pool_size(c, p, i, in->sizes[m.rank - 2u + i]);
    nuc_order_as(&m, nuc_suggests_channels_last(in));
    return m;
}

/* kernel_size and stride, which defaults to the kernel. */
static void read_window(const struct nuc_shape_call *c, struct pool *p)
{
    if (!nuc_shape_pair(c, 1, p->kernel))
        nuc_shape_fail(c, "kernel_size is empty");
    if (!nuc_shape_pair(c, 2, p->stride))
        memcpy(p->stride, p->kernel, sizeof p->stride);
    if (!nuc_shape_pair(c, 3, p->padding))
        nuc_shape_fail(c, "padding is empty");
}

static struct nuc_meta max_pool_meta(const struct nuc_shape_call *c)
{
    struct pool p = {.ceil_mode = nuc_shape_bool(c, 5)};

    read_window(c, &p);
    if (!nuc_shape_pair(c, 4, p.dilation))
        nuc_shape_fail(c, "dilation is empty");
    return pool_meta(c, &p);
}

void nuc_shape_max_pool2d(const struct nuc_shape_call *c)
{
    struct nuc_meta m = max_pool_meta(c);

    nuc_shape_result(c, &m);
}

void nuc_shape_max_pool2d_with_indices(const struct nuc_shape_call *c)
{
    struct nuc_meta m = max_pool_meta(c);
    struct nuc_meta indices = m;

    indices.dtype = NUC_I64;
    nuc_shape_results(c, (struct nuc_meta[]){m, indices}, 2);
}

void nuc_shape_avg_pool2d(const struct nuc_shape_call *c)
{
    struct pool p = {.ceil_mode = nuc_shape_bool(c, 4), .dilation = {1, 1}};

    read_window(c, &p);
    struct nuc_meta m = pool_meta(c, &p);
    nuc_shape_result(c, &m);
}

void nuc_shape_adaptive_avg_pool2d(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = pool_input(c);
    struct nuc_meta m = *in;
    int64_t size[2];

    if (!nuc_shape_pair(c, 1, size))
        nuc_shape_fail(c, "output_size is empty");
    if (size[0] < 1 || size[1] < 1)
        nuc_shape_fail(c, "output_size is %lld x %lld", (long long)size[0], (long long)size[1]);
    m.sizes[m.rank - 2] = size[0];
    m.sizes[m.rank - 1] = size[1];
    nuc_order_as(&m, nuc_suggests_channels_last(in));
    nuc_shape_result(c, &m);
}
