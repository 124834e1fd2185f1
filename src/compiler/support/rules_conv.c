/* Convolution and poolings. Arguments of convolution: input, weight, bias, stride, padding, dilation, transposed, ...
 */
#include "compiler/support/facts.h"

enum {
    CONV_INPUT,
    CONV_WEIGHT,
    CONV_BIAS,
    CONV_STRIDE,
    CONV_PADDING,
    CONV_DILATION,
    CONV_TRANSPOSED,
    CONV_OUTPUT_PADDING,
    CONV_GROUPS
};

static bool is_transposed(const struct nuc_node *node)
{
    return nuc_arg_flag(node, CONV_TRANSPOSED);
}

static struct pair kernel_of(const struct nuc_node *node)
{
    const struct nuc_meta *w = nuc_input_meta(node, CONV_WEIGHT);

    return (struct pair){w->sizes[2], w->sizes[3]};
}

static int64_t groups_of(const struct nuc_node *node)
{
    return (int64_t)nuc_arg_number(node, CONV_GROUPS, 1);
}

static bool within(const struct nuc_rule_query *q, struct pair p, int64_t limit)
{
    if (p.h <= limit && p.w <= limit)
        return true;
    return nuc_rule_report(q, nuc_format(q->s->g->cx, "%lld", (long long)limit), "%lld x %lld", (long long)p.h,
                           (long long)p.w);
}

/* ---- convolution ---- */

static bool conv_rank(const struct nuc_rule_query *q)
{
    uint32_t rank = nuc_input_meta(q->node, CONV_WEIGHT)->rank;
    return rank == 4 || nuc_rule_report(q, "4", "%u", rank);
}

static bool conv_transposed_not_depthwise(const struct nuc_rule_query *q)
{
    int64_t groups = groups_of(q->node);
    bool depthwise = nuc_input_meta(q->node, CONV_INPUT)->sizes[1] == groups &&
                     nuc_input_meta(q->node, CONV_WEIGHT)->sizes[0] == groups;
    return !is_transposed(q->node) || !depthwise || nuc_rule_report(q, "", "%lld groups", (long long)groups);
}

static bool conv_transposed_dilation(const struct nuc_rule_query *q)
{
    struct pair d = nuc_arg_pair(q->node, CONV_DILATION, (struct pair){1, 1});
    return !is_transposed(q->node) || (d.h == 1 && d.w == 1) ||
           nuc_rule_report(q, "1 x 1", "%lld x %lld", (long long)d.h, (long long)d.w);
}

static bool conv_output_padding(const struct nuc_rule_query *q)
{
    struct pair p = nuc_arg_pair(q->node, CONV_OUTPUT_PADDING, (struct pair){0, 0});
    return is_transposed(q->node) || (p.h == 0 && p.w == 0) ||
           nuc_rule_report(q, "0 x 0", "%lld x %lld", (long long)p.h, (long long)p.w);
}

static bool conv_weight_dtype(const struct nuc_rule_query *q)
{
    enum nuc_dtype d = nuc_input_meta(q->node, CONV_WEIGHT)->dtype;
    return nuc_arg_node(q->node, CONV_BIAS) != NULL || d == NUC_F32 || nuc_is_8bit(d) ||
           nuc_rule_report(q, "float32, int8, uint8", "%s", nuc_dtype_name(d));
}

const struct nuc_support_rule nuc_convolution_ir[] = {
    {"the weight has 4 dimensions", conv_rank, 0},
    {"a transposed convolution is not depthwise", conv_transposed_not_depthwise, 0},
    {"a transposed convolution has no dilation", conv_transposed_dilation, 0},
    {"output_padding is 0 when the convolution is not transposed", conv_output_padding, 0},
    {"without a bias the weight is float32, int8 or uint8", conv_weight_dtype, 0},
    {NULL, NULL, 0},
};

static bool conv_transposed_groups(const struct nuc_rule_query *q)
{
    return !is_transposed(q->node) || groups_of(q->node) <= 1 ||
           nuc_rule_report(q, "1 group", "%lld groups", (long long)groups_of(q->node));
}

static bool conv_kernel(const struct nuc_rule_query *q)
{
    return within(q, kernel_of(q->node), q->s->target->max_window);
}

static bool conv_stride(const struct nuc_rule_query *q)
{
    struct pair stride = nuc_arg_pair(q->node, CONV_STRIDE, (struct pair){1, 1}), kernel = kernel_of(q->node);
    if (!is_transposed(q->node))
        return within(q, stride, q->s->target->max_window);
    if (stride.h > kernel.h || stride.w > kernel.w)
        return nuc_rule_report(q,
                               nuc_format(q->s->g->cx, "kernel %lld x %lld", (long long)kernel.h, (long long)kernel.w),
                               "%lld x %lld", (long long)stride.h, (long long)stride.w);
    return within(q, stride, q->s->target->max_transposed_stride);
}

static bool conv_dilation(const struct nuc_rule_query *q)
{
    return is_transposed(q->node) ||
           within(q, nuc_arg_pair(q->node, CONV_DILATION, (struct pair){1, 1}), q->s->target->max_window);
}

static bool conv_transposed_padding(const struct nuc_rule_query *q)
{
    struct pair padding = nuc_arg_pair(q->node, CONV_PADDING, (struct pair){0, 0}), kernel = kernel_of(q->node);
    return !is_transposed(q->node) || (padding.h < kernel.h && padding.w < kernel.w) ||
           nuc_rule_report(q, nuc_format(q->s->g->cx, "below %lld x %lld", (long long)kernel.h, (long long)kernel.w),
                           "%lld x %lld", (long long)padding.h, (long long)padding.w);
}

static bool conv_mac_buffer(const struct nuc_rule_query *q)
{
    struct pair kernel = kernel_of(q->node);
    int64_t macs = q->s->target->num_macs, channels = nuc_input_meta(q->node, CONV_INPUT)->sizes[1];
    int64_t rounded = (channels + macs - 1) / macs * macs;
    int64_t product;
    bool overflow =
        __builtin_mul_overflow(kernel.h, kernel.w, &product) || __builtin_mul_overflow(product, rounded, &product);
    if (!overflow && product <= q->s->target->max_mac_buffer)
        return true;
    return nuc_rule_report(q, nuc_format(q->s->g->cx, "%lld", (long long)q->s->target->max_mac_buffer),
                           "%lld x %lld x %lld", (long long)kernel.h, (long long)kernel.w, (long long)rounded);
}

const struct nuc_support_rule nuc_convolution_target[] = {
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {"the weight is quantized to int8", nuc_input_is_int8, CONV_WEIGHT},
    {"the bias is quantized to int32", nuc_input_is_int32, CONV_BIAS},
    {"the weight is a parameter", nuc_input_is_static, CONV_WEIGHT},
    {"the bias is a parameter", nuc_input_is_static, CONV_BIAS},
    {"a transposed convolution has 1 group", conv_transposed_groups, 0},
    {"the kernel fits the hardware", conv_kernel, 0},
    {"the stride fits the hardware", conv_stride, 0},
    {"the dilation fits the hardware", conv_dilation, 0},
    {"the padding of a transposed convolution is smaller than its kernel", conv_transposed_padding, 0},
    {"kernel height * kernel width * input channels, rounded up to the dot product's length, fit the MAC buffer",
     conv_mac_buffer, 0},
    {NULL, NULL, 0},
};

/* ---- average pooling: input, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override ---- */

static bool avg_pool_padding(const struct nuc_rule_query *q)
{
    struct pair p = nuc_arg_pair(q->node, 3, (struct pair){0, 0});
    return nuc_arg_flag(q->node, 5) || (p.h == 0 && p.w == 0) ||
           nuc_rule_report(q, "padding 0 x 0", "padding %lld x %lld", (long long)p.h, (long long)p.w);
}

static bool avg_pool_divisor(const struct nuc_rule_query *q)
{
    return q->node->args[6].kind == NUC_ARG_NONE ||
           nuc_rule_report(q, "none", "%lld", (long long)nuc_arg_number(q->node, 6, 0));
}

/* param: position of ceil_mode */
static bool no_ceil_mode(const struct nuc_rule_query *q)
{
    return !nuc_arg_flag(q->node, q->param) || nuc_rule_report(q, "false", "true");
}

/* Windows slide over images: what a 1-D pooling without a batch dimension becomes has 3 dimensions. */
static bool pool_rank(const struct nuc_rule_query *q)
{
    uint32_t rank = nuc_input_meta(q->node, 0)->rank;
    return rank == 4 || nuc_rule_report(q, "4", "%u", rank) || nuc_rule_advise(q, "give it a batch dimension of 1");
}

const struct nuc_support_rule nuc_avg_pool_ir[] = {
    {"the input has 4 dimensions", pool_rank, 0},
    {"padding is counted in the mean (count_include_pad)", avg_pool_padding, 0},
    {"there is no divisor_override", avg_pool_divisor, 0},
    {"ceil_mode is false", no_ceil_mode, 4},
    RULE_SHARED_QUANTIZATION,
    {NULL, NULL, 0},
};

static bool pool_kernel(const struct nuc_rule_query *q)
{
    return within(q, nuc_arg_pair(q->node, 1, (struct pair){1, 1}), q->s->target->max_window);
}

static bool pool_stride(const struct nuc_rule_query *q)
{
    struct pair kernel = nuc_arg_pair(q->node, 1, (struct pair){1, 1});
    return within(q, nuc_arg_pair(q->node, 2, kernel), q->s->target->max_window);
}

const struct nuc_support_rule nuc_avg_pool_target[] = {
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {"the kernel fits the hardware", pool_kernel, 0},
    {"the stride fits the hardware", pool_stride, 0},
    {NULL, NULL, 0},
};

/* ---- adaptive average pooling: input, output size ---- */

static struct pair spatial(const struct nuc_meta *m)
{
    if (m->rank < 2)
        return (struct pair){1, 1};
    return (struct pair){m->sizes[m->rank - 2], m->sizes[m->rank - 1]};
}

static bool adaptive_divides(const struct nuc_rule_query *q)
{
    struct pair in = spatial(nuc_input_meta(q->node, 0)), out = nuc_arg_pair(q->node, 1, in);
    return (out.h > 0 && out.w > 0 && in.h % out.h == 0 && in.w % out.w == 0) ||
           nuc_rule_report(q, nuc_format(q->s->g->cx, "divisors of %lld x %lld", (long long)in.h, (long long)in.w),
                           "%lld x %lld", (long long)out.h, (long long)out.w);
}

const struct nuc_support_rule nuc_adaptive_pool_ir[] = {
    {"the input has 4 dimensions", pool_rank, 0},
    {"the output size divides the input size", adaptive_divides, 0},
    RULE_SHARED_QUANTIZATION,
    {NULL, NULL, 0},
};

static bool adaptive_window(const struct nuc_rule_query *q)
{
    struct pair in = spatial(nuc_input_meta(q->node, 0)), out = nuc_arg_pair(q->node, 1, in);
    if (out.h <= 0 || out.w <= 0)
        return nuc_rule_report(q, "", "output size 0");
    struct pair stride = {in.h / out.h, in.w / out.w};
    struct pair kernel = {in.h - (out.h - 1) * stride.h, in.w - (out.w - 1) * stride.w};
    return within(q, kernel, q->s->target->max_window) && within(q, stride, q->s->target->max_window);
}

const struct nuc_support_rule nuc_adaptive_pool_target[] = {
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {"the pooling window fits the hardware", adaptive_window, 0},
    {NULL, NULL, 0},
};

/* ---- max pooling: input, kernel, stride, padding, dilation, ceil_mode ---- */

static bool max_pool_dilation(const struct nuc_rule_query *q)
{
    struct pair d = nuc_arg_pair(q->node, 4, (struct pair){1, 1});
    return (d.h == 1 && d.w == 1) || nuc_rule_report(q, "1 x 1", "%lld x %lld", (long long)d.h, (long long)d.w);
}

static bool max_pool_indices_unused(const struct nuc_rule_query *q)
{
    for (uint32_t i = 0; i < q->node->n_users; i++) {
        const struct nuc_node *user = q->node->users[i];
        if (user->op == NUC_OP_GETITEM && user->args[1].kind == NUC_ARG_INT && user->args[1].u.i == 1)
            return nuc_rule_report(q, "", "read by %s", user->name);
    }
    return true;
}

const struct nuc_support_rule nuc_max_pool_ir[] = {
    {"the input has 4 dimensions", pool_rank, 0},
    {"there is no dilation", max_pool_dilation, 0},
    {"ceil_mode is false", no_ceil_mode, 5},
    RULE_SHARED_QUANTIZATION,
    {"the indices are not used", max_pool_indices_unused, 0},
    {NULL, NULL, 0},
};

const struct nuc_support_rule nuc_max_pool_target[] = {
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {"the stride fits the hardware", pool_stride, 0},
    {NULL, NULL, 0},
};
