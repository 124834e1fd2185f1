/* Shape rules of convolution and batch norm: inputs [N, C, ...], or [C, ...] without a batch for a convolution. */
#include <string.h>

#include "ir/conv_args.h"
#include "ir/shapes/shapes.h"

/* ---- convolution ---- */

/* Everything a convolution of any rank (1 to 3 spatial dimensions) says about shape. */
struct conv {
    const struct nuc_meta *input, *weight, *bias;
    uint32_t spatial; /* number of spatial dimensions */
    int64_t stride[3], dilation[3], output_padding[3];
    int64_t padding[3]; /* on each side */
    bool transposed;
    bool same; /* padding="same": the output has the size of the input */
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
        nuc_shape_fail(c, "the input %s has %lld channels, the weight %s and %lld groups expect %lld",
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
    if (v->output_padding[i] >= v->stride[i] && v->output_padding[i] >= v->dilation[i] && v->transposed)
        nuc_shape_fail(c, "output_padding %lld is not below stride or dilation", (long long)v->output_padding[i]);
    if (v->same)
        out = in;
    else if (v->transposed)
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

void nuc_shape_conv(const struct nuc_shape_call *c)
{
    const struct nuc_conv_args *args = nuc_conv_args(c->node->op);
    struct conv v = {.transposed = args->transposed, .spatial = args->spatial};

    if (args->is_transposed != NUC_NO_ARG)
        v.transposed = nuc_shape_bool(c, args->is_transposed);
    v.input = nuc_shape_input(c, NUC_CONV_INPUT);
    v.weight = nuc_shape_input(c, NUC_CONV_WEIGHT);
    v.bias = nuc_shape_optional_input(c, NUC_CONV_BIAS);
    if (v.weight->rank < 3 || v.weight->rank > 5)
        nuc_shape_fail(c, "the weight has rank %d; a convolution expects 3 to 5", v.weight->rank);
    if (v.spatial != 0 && v.weight->rank != v.spatial + 2)
        nuc_shape_fail(c, "the weight has rank %d instead of %u", v.weight->rank, (unsigned)v.spatial + 2);
    v.spatial = v.weight->rank - 2u;
    if (v.input->rank != v.weight->rank && v.input->rank + 1 != v.weight->rank)
        nuc_shape_fail(c, "the input %s and the weight %s do not fit each other", nuc_meta_text(c->g->cx, v.input),
                       nuc_meta_text(c->g->cx, v.weight));
    read_spatial(c, args->stride, v.spatial, 1, v.stride);
    read_spatial(c, args->dilation, v.spatial, 1, v.dilation);
    if (args->named_padding) {
        uint32_t index = args->padding;
        const char *padding = nuc_shape_string(c, index);
        v.same = strcmp(padding, "same") == 0;
        if (!v.same && strcmp(padding, "valid") != 0)
            nuc_shape_fail(c, "padding is neither \"same\" nor \"valid\"");
        for (uint32_t i = 0; i < v.spatial; i++) {
            if (v.same && v.stride[i] != 1)
                nuc_shape_fail(c, "padding=\"same\" goes with stride 1 only, not %lld", (long long)v.stride[i]);
        }
    } else {
        read_spatial(c, args->padding, v.spatial, 0, v.padding);
    }
    if (args->output_padding != NUC_NO_ARG)
        read_spatial(c, args->output_padding, v.spatial, 0, v.output_padding);
    v.groups = nuc_shape_int(c, args->groups);
    /* The result with a batch dimension in front of what `v` describes, channels-last when input or weight is. */
    const struct nuc_meta *in = v.input;
    uint32_t batched = in->rank == v.weight->rank ? 1 : 0;
    struct nuc_meta m = {.dtype = in->dtype, .rank = (uint8_t)(v.spatial + 2)};
    check_conv(c, &v);
    m.sizes[0] = batched ? in->sizes[0] : 1;
    m.sizes[1] = v.transposed ? v.weight->sizes[1] * v.groups : v.weight->sizes[0];
    for (uint32_t i = 0; i < v.spatial; i++)
        m.sizes[2 + i] = conv_size(c, &v, i, in->sizes[batched + 1 + i]);
    nuc_order_as(&m, nuc_suggests_channels_last(in) || nuc_suggests_channels_last(v.weight));
    nuc_shape_check(c, &m);
    if (!batched) {
        int64_t strides[NUC_MAX_RANK];
        nuc_dense_strides(&m, strides);
        m.rank--;
        memmove(m.sizes, m.sizes + 1, m.rank * sizeof m.sizes[0]);
        nuc_dim_order_of_strides(m.sizes, strides + 1, m.rank, m.dim_order);
    }
    nuc_shape_result(c, &m);
}

/* ---- batch norm ---- */

/* With the saved mean and inverse deviation, without training they are empty. */
void nuc_shape_batch_norm(const struct nuc_shape_call *c)
{
    static const int64_t none[1] = {0};
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);

    if (m.rank < 2)
        nuc_shape_fail(c, "the input has rank %d; batch norm expects at least 2", m.rank);
    for (uint32_t i = NUC_ARG(BATCH_NORM, weight); i <= NUC_ARG(BATCH_NORM, running_var); i++)
        nuc_shape_check_channels(c, i, m.sizes[1]);
    if (m.rank == 4)
        nuc_order_as(&m, nuc_suggests_channels_last(&m));
    struct nuc_meta empty = nuc_meta_make(m.dtype, none, 1);
    if (c->node->op == NUC_OP_NATIVE_BATCH_NORM)
        nuc_shape_results(c, (struct nuc_meta[]){m, empty, empty}, 3);
    else
        nuc_shape_result(c, &m);
}
