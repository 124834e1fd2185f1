/* Rule set sdk-3.1: convolution, poolings, resampling. */
#include "compiler/support/rules31.h"

/* input, weight, bias, stride, padding, dilation, transposed, output_padding, groups */
enum { INPUT, WEIGHT, STRIDE = 3, PADDING, TRANSPOSED = 6, GROUPS = 8 };

static bool is_transposed(const struct nuc_node *node)
{
    return nuc_arg_flag(node, TRANSPOSED);
}

static int64_t groups_of(const struct nuc_node *node)
{
    return (int64_t)nuc_arg_number(node, GROUPS, 1);
}

static struct pair kernel_of(const struct nuc_node *node)
{
    const struct nuc_meta *w = nuc_input_meta(node, WEIGHT);

    return (struct pair){w->sizes[2], w->sizes[3]};
}

static bool is_depthwise(const struct nuc_node *node)
{
    int64_t groups = groups_of(node);

    return nuc_input_meta(node, INPUT)->sizes[1] == groups && nuc_input_meta(node, WEIGHT)->sizes[0] == groups;
}

static bool conv_batch(const struct nuc_rule_query *q)
{
    int64_t batch = nuc_input_meta(q->node, INPUT)->sizes[0];

    return batch == 1 || nuc_rule_report(q, "1", "%lld", (long long)batch);
}

static bool conv_groups(const struct nuc_rule_query *q)
{
    int64_t groups = groups_of(q->node);
    bool transposed = is_transposed(q->node);

    return groups <= 1 || (!transposed && is_depthwise(q->node)) ||
           nuc_rule_report(q, transposed ? "1 group" : "1 group, or as many as channels", "%lld groups",
                           (long long)groups);
}

/* The converter of sdk-3.1 takes computed weights of plain convolutions; nucleon's own has no kernel for them. */
static bool conv_static_weight(const struct nuc_rule_query *q)
{
    if (q->s->reference_compat && groups_of(q->node) == 1 && !is_transposed(q->node))
        return true;
    return nuc_input_is_static(q);
}

/* ---- transposed: one row of the NPU's matrix product becomes one or two columns of the output ---- */

static bool up_kernel(const struct nuc_rule_query *q)
{
    struct pair k = kernel_of(q->node);

    return !is_transposed(q->node) || (k.h == 1 && k.w % 2 == 0) ||
           nuc_rule_report(q, "1 x an even width", "%lld x %lld", (long long)k.h, (long long)k.w);
}

static bool up_padding(const struct nuc_rule_query *q)
{
    struct pair p = nuc_arg_pair(q->node, PADDING, (struct pair){0, 0});

    if (!is_transposed(q->node))
        return true;
    if (p.h != 0 || p.w >= kernel_of(q->node).w)
        return nuc_rule_report(q, nuc_format(q->s->g->cx, "0 x below %lld", (long long)kernel_of(q->node).w),
                               "%lld x %lld", (long long)p.h, (long long)p.w);
    return p.w == 0 || nuc_input_meta(q->node, INPUT)->sizes[2] == 1 ||
           nuc_rule_report(q, "no padding, or an input of height 1", "padding 0 x %lld, height %lld", (long long)p.w,
                           (long long)nuc_input_meta(q->node, INPUT)->sizes[2]);
}

static bool up_stride(const struct nuc_rule_query *q)
{
    struct pair stride = nuc_arg_pair(q->node, STRIDE, (struct pair){1, 1});
    int64_t width = kernel_of(q->node).w, height = q->node->vals[0].sizes[2];

    if (!is_transposed(q->node))
        return true;
    if (stride.h != 1 || stride.w % 2 != 0)
        return nuc_rule_report(q, "1 x an even number", "%lld x %lld", (long long)stride.h, (long long)stride.w);
    return stride.w == width || (stride.w == width / 2 && width % 2 == 0 && height == 1) ||
           nuc_rule_report(q,
                           nuc_format(q->s->g->cx, "1 x %lld, or 1 x %lld with an output of height 1", (long long)width,
                                      (long long)width / 2),
                           "1 x %lld with height %lld", (long long)stride.w, (long long)height);
}

static bool up_channels(const struct nuc_rule_query *q)
{
    int64_t macs = q->s->target->num_macs, in = nuc_input_meta(q->node, INPUT)->sizes[1],
            out = q->node->vals[0].sizes[1];

    if (!is_transposed(q->node) || (in % macs == 0 && out % macs == 0))
        return true;
    return nuc_refuse_multiple(q, in % macs != 0 ? "input channels" : "output channels", in % macs != 0 ? in : out);
}

const struct nuc_support_rule nuc_conv31_target[] = {
    {"the batch size is 1", conv_batch, 0},
    {"there is one group, or one a channel", conv_groups, 0},
    {"the weight is a parameter", conv_static_weight, WEIGHT},
    {"the kernel of a transposed convolution is one row of even width", up_kernel, 0},
    {"a transposed convolution pads its width only", up_padding, 0},
    {"the stride of a transposed convolution is its kernel's width, or half of it", up_stride, 0},
    {"channels of a transposed convolution are multiples of the dot product's length", up_channels, 0},
    {NULL, NULL, 0},
};

/* ---- pooling ---- */

/* Rank 3 is [C, H, W] without a batch. */
static int64_t pool_size(const struct nuc_node *node, uint32_t from_end)
{
    const struct nuc_meta *out = &node->vals[0];

    return out->rank >= from_end ? out->sizes[out->rank - from_end] : 1;
}

static bool pool_batch(const struct nuc_rule_query *q)
{
    return pool_size(q->node, 4) == 1 || nuc_rule_report(q, "1", "%lld", (long long)pool_size(q->node, 4));
}

static bool pool_stride(const struct nuc_rule_query *q)
{
    struct pair kernel = nuc_arg_pair(q->node, 1, (struct pair){1, 1}), stride = nuc_arg_pair(q->node, 2, kernel);

    return stride.h == 1 || stride.h == 2 || nuc_rule_report(q, "1 or 2", "%lld", (long long)stride.h);
}

static bool pool_channels(const struct nuc_rule_query *q)
{
    int64_t channels = pool_size(q->node, 3);

    return channels % q->s->target->num_macs == 0 || nuc_refuse_multiple(q, "channels", channels);
}

static bool pool_padding(const struct nuc_rule_query *q)
{
    struct pair kernel = nuc_arg_pair(q->node, 1, (struct pair){1, 1}),
                p = nuc_arg_pair(q->node, 3, (struct pair){0, 0});

    return (p.h <= kernel.h && p.w <= kernel.w) ||
           nuc_rule_report(q, nuc_format(q->s->g->cx, "%lld x %lld", (long long)kernel.h, (long long)kernel.w),
                           "%lld x %lld", (long long)p.h, (long long)p.w);
}

const struct nuc_support_rule nuc_max_pool31_target[] = {
    {"the batch size is 1", pool_batch, 0},
    {"the vertical stride is 1 or 2", pool_stride, 0},
    {"the channels are a multiple of the dot product's length", pool_channels, 0},
    {"the padding is at most the kernel", pool_padding, 0},
    {NULL, NULL, 0},
};

/* ---- resampling ---- */

static bool upsample_rank(const struct nuc_rule_query *q)
{
    return q->node->vals[0].rank == 4 || nuc_rule_report(q, "4", "%u", q->node->vals[0].rank);
}

const struct nuc_support_rule nuc_upsample31_ir[] = {
    {"the result has 4 dimensions", upsample_rank, 0},
    {NULL, NULL, 0},
};

static bool upsample_factor(const struct nuc_rule_query *q)
{
    const int64_t *in = nuc_input_meta(q->node, 0)->sizes, *out = q->node->vals[0].sizes;

    for (int64_t factor = 2; factor <= 4; factor += 2) {
        bool whole = out[2] % factor == 0 && out[3] % factor == 0;
        if (whole && out[2] / factor == in[2] && out[3] / factor == in[3])
            return true;
    }
    return nuc_rule_report(q, "2 or 4, the same for height and width", "%lld x %lld to %lld x %lld", (long long)in[2],
                           (long long)in[3], (long long)out[2], (long long)out[3]);
}

static bool upsample_channels(const struct nuc_rule_query *q)
{
    int64_t channels = nuc_input_meta(q->node, 0)->sizes[1];

    return channels % q->s->target->num_macs == 0 || nuc_refuse_multiple(q, "channels", channels);
}

const struct nuc_support_rule nuc_upsample31_target[] = {
    {"height and width grow by one factor, 2 or 4", upsample_factor, 0},
    {"the channels are a multiple of the dot product's length", upsample_channels, 0},
    {NULL, NULL, 0},
};
