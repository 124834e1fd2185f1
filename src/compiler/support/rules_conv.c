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

/* The head of a rule function, which all rules share. */
#define RULE(name)                                                                                                     \
    static bool name(const struct nuc_support *s, const struct nuc_node *node, uint32_t param, struct nuc_verdict *v)

static bool is_transposed(const struct nuc_node *node)
{
    return arg_flag(node, CONV_TRANSPOSED);
}

static struct pair kernel_of(const struct nuc_node *node)
{
    const struct nuc_meta *w = input_meta(node, CONV_WEIGHT);

    return (struct pair){w->sizes[2], w->sizes[3]};
}

static int64_t groups_of(const struct nuc_node *node)
{
    return (int64_t)arg_number(node, CONV_GROUPS, 1);
}

static bool within(const struct nuc_support *s, struct nuc_verdict *v, struct pair p, int64_t limit)
{
    if (p.h <= limit && p.w <= limit)
        return true;
    return report(s, v, nuc_format(s->g->cx, "%lld", (long long)limit), "%lld x %lld", (long long)p.h, (long long)p.w);
}

/* ---- convolution ---- */

RULE(conv_rank)
{
    (void)param;
    uint32_t rank = input_meta(node, CONV_WEIGHT)->rank;
    return rank == 4 || report(s, v, "4", "%u", rank);
}

RULE(conv_transposed_not_depthwise)
{
    (void)param;
    int64_t groups = groups_of(node);
    bool depthwise =
        input_meta(node, CONV_INPUT)->sizes[1] == groups && input_meta(node, CONV_WEIGHT)->sizes[0] == groups;
    return !is_transposed(node) || !depthwise || report(s, v, "", "%lld groups", (long long)groups);
}

RULE(conv_transposed_dilation)
{
    (void)param;
    struct pair d = arg_pair(node, CONV_DILATION, (struct pair){1, 1});
    return !is_transposed(node) || (d.h == 1 && d.w == 1) ||
           report(s, v, "1 x 1", "%lld x %lld", (long long)d.h, (long long)d.w);
}

RULE(conv_output_padding)
{
    (void)param;
    struct pair p = arg_pair(node, CONV_OUTPUT_PADDING, (struct pair){0, 0});
    return is_transposed(node) || (p.h == 0 && p.w == 0) ||
           report(s, v, "0 x 0", "%lld x %lld", (long long)p.h, (long long)p.w);
}

RULE(conv_weight_dtype)
{
    (void)param;
    enum nuc_dtype d = input_meta(node, CONV_WEIGHT)->dtype;
    return nuc_arg_node(node, CONV_BIAS) != NULL || d == NUC_F32 || is_8bit(d) ||
           report(s, v, "float32, int8, uint8", "%s", nuc_dtype_name(d));
}

const struct nuc_support_rule convolution_ir[] = {
    {"the weight has 4 dimensions", conv_rank, 0},
    {"a transposed convolution is not depthwise", conv_transposed_not_depthwise, 0},
    {"a transposed convolution has no dilation", conv_transposed_dilation, 0},
    {"output_padding is 0 when the convolution is not transposed", conv_output_padding, 0},
    {"without a bias the weight is float32, int8 or uint8", conv_weight_dtype, 0},
    {NULL, NULL, 0},
};

RULE(conv_static_weight)
{
    return input_is_static(s, node, param, v);
}

RULE(conv_transposed_groups)
{
    (void)param;
    return !is_transposed(node) || groups_of(node) <= 1 ||
           report(s, v, "1 group", "%lld groups", (long long)groups_of(node));
}

RULE(conv_kernel)
{
    (void)param;
    return within(s, v, kernel_of(node), s->target->max_window);
}

RULE(conv_stride)
{
    (void)param;
    struct pair stride = arg_pair(node, CONV_STRIDE, (struct pair){1, 1}), kernel = kernel_of(node);
    if (!is_transposed(node))
        return within(s, v, stride, s->target->max_window);
    if (stride.h > kernel.h || stride.w > kernel.w)
        return report(s, v, nuc_format(s->g->cx, "kernel %lld x %lld", (long long)kernel.h, (long long)kernel.w),
                      "%lld x %lld", (long long)stride.h, (long long)stride.w);
    return within(s, v, stride, s->target->max_transposed_stride);
}

RULE(conv_dilation)
{
    (void)param;
    return is_transposed(node) ||
           within(s, v, arg_pair(node, CONV_DILATION, (struct pair){1, 1}), s->target->max_window);
}

RULE(conv_transposed_padding)
{
    (void)param;
    struct pair padding = arg_pair(node, CONV_PADDING, (struct pair){0, 0}), kernel = kernel_of(node);
    return !is_transposed(node) || (padding.h < kernel.h && padding.w < kernel.w) ||
           report(s, v, nuc_format(s->g->cx, "below %lld x %lld", (long long)kernel.h, (long long)kernel.w),
                  "%lld x %lld", (long long)padding.h, (long long)padding.w);
}

RULE(conv_mac_buffer)
{
    (void)param;
    struct pair kernel = kernel_of(node);
    int64_t macs = s->target->num_macs, channels = input_meta(node, CONV_INPUT)->sizes[1];
    int64_t rounded = (channels + macs - 1) / macs * macs;
    int64_t product;
    bool overflow =
        __builtin_mul_overflow(kernel.h, kernel.w, &product) || __builtin_mul_overflow(product, rounded, &product);
    if (!overflow && product <= s->target->max_mac_buffer)
        return true;
    return report(s, v, nuc_format(s->g->cx, "%lld", (long long)s->target->max_mac_buffer), "%lld x %lld x %lld",
                  (long long)kernel.h, (long long)kernel.w, (long long)rounded);
}

const struct nuc_support_rule convolution_target[] = {
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {"the weight is quantized to int8", input_is_int8, CONV_WEIGHT},
    {"the bias is quantized to int32", input_is_int32, CONV_BIAS},
    {"the weight is a parameter", conv_static_weight, CONV_WEIGHT},
    {"the bias is a parameter", input_is_static, CONV_BIAS},
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

RULE(avg_pool_padding)
{
    (void)param;
    struct pair p = arg_pair(node, 3, (struct pair){0, 0});
    return arg_flag(node, 5) || (p.h == 0 && p.w == 0) ||
           report(s, v, "padding 0 x 0", "padding %lld x %lld", (long long)p.h, (long long)p.w);
}

RULE(avg_pool_divisor)
{
    (void)param;
    return node->args[6].kind == NUC_ARG_NONE || report(s, v, "none", "%lld", (long long)arg_number(node, 6, 0));
}

/* param: position of ceil_mode */
RULE(no_ceil_mode)
{
    return !arg_flag(node, param) || report(s, v, "false", "true");
}

const struct nuc_support_rule avg_pool_ir[] = {
    {"padding is counted in the mean (count_include_pad)", avg_pool_padding, 0},
    {"there is no divisor_override", avg_pool_divisor, 0},
    {"ceil_mode is false", no_ceil_mode, 4},
    RULE_SHARED_QUANTIZATION,
    {NULL, NULL, 0},
};

RULE(pool_kernel)
{
    (void)param;
    return within(s, v, arg_pair(node, 1, (struct pair){1, 1}), s->target->max_window);
}

RULE(pool_stride)
{
    (void)param;
    struct pair kernel = arg_pair(node, 1, (struct pair){1, 1});
    return within(s, v, arg_pair(node, 2, kernel), s->target->max_window);
}

const struct nuc_support_rule avg_pool_target[] = {
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

RULE(adaptive_divides)
{
    (void)param;
    struct pair in = spatial(input_meta(node, 0)), out = arg_pair(node, 1, in);
    return (out.h > 0 && out.w > 0 && in.h % out.h == 0 && in.w % out.w == 0) ||
           report(s, v, nuc_format(s->g->cx, "divisors of %lld x %lld", (long long)in.h, (long long)in.w),
                  "%lld x %lld", (long long)out.h, (long long)out.w);
}

const struct nuc_support_rule adaptive_pool_ir[] = {
    {"the output size divides the input size", adaptive_divides, 0},
    RULE_SHARED_QUANTIZATION,
    {NULL, NULL, 0},
};

RULE(adaptive_window)
{
    (void)param;
    struct pair in = spatial(input_meta(node, 0)), out = arg_pair(node, 1, in);
    if (out.h <= 0 || out.w <= 0)
        return report(s, v, "", "output size 0");
    struct pair stride = {in.h / out.h, in.w / out.w};
    struct pair kernel = {in.h - (out.h - 1) * stride.h, in.w - (out.w - 1) * stride.w};
    return within(s, v, kernel, s->target->max_window) && within(s, v, stride, s->target->max_window);
}

const struct nuc_support_rule adaptive_pool_target[] = {
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {"the pooling window fits the hardware", adaptive_window, 0},
    {NULL, NULL, 0},
};

/* ---- max pooling: input, kernel, stride, padding, dilation, ceil_mode ---- */

RULE(max_pool_dilation)
{
    (void)param;
    struct pair d = arg_pair(node, 4, (struct pair){1, 1});
    return (d.h == 1 && d.w == 1) || report(s, v, "1 x 1", "%lld x %lld", (long long)d.h, (long long)d.w);
}

RULE(max_pool_indices_unused)
{
    (void)param;
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        if (user->op == NUC_OP_GETITEM && user->args[1].kind == NUC_ARG_INT && user->args[1].u.i == 1)
            return report(s, v, "", "read by %s", user->name);
    }
    return true;
}

const struct nuc_support_rule max_pool_ir[] = {
    {"there is no dilation", max_pool_dilation, 0},
    {"ceil_mode is false", no_ceil_mode, 5},
    RULE_SHARED_QUANTIZATION,
    {"the indices are not used", max_pool_indices_unused, 0},
    {NULL, NULL, 0},
};

const struct nuc_support_rule max_pool_target[] = {
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {"the stride fits the hardware", pool_stride, 0},
    {NULL, NULL, 0},
};
