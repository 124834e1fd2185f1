/* Convolution and poolings. */
#include "npu/support/rules.h"

/* ---- convolution ---- */

static bool conv_transposed_not_depthwise(const struct nuc_rule_query *q)
{
    struct conv c = nuc_conv_of(q->node);

    return !c.transposed || !c.depthwise || nuc_rule_report(q, "", "%lld groups", (long long)c.groups);
}

static bool is_pair_of(struct nuc_pair p, int64_t value)
{
    return p.h == value && p.w == value;
}

static bool conv_transposed_dilation(const struct nuc_rule_query *q)
{
    struct conv c = nuc_conv_of(q->node);

    return !c.transposed || is_pair_of(c.dilation, 1) || nuc_rule_report_pair(q, "1 x 1", c.dilation);
}

static bool conv_output_padding(const struct nuc_rule_query *q)
{
    struct conv c = nuc_conv_of(q->node);

    return c.transposed || is_pair_of(c.output_padding, 0) || nuc_rule_report_pair(q, "0 x 0", c.output_padding);
}

static bool conv_weight_dtype(const struct nuc_rule_query *q)
{
    enum nuc_dtype d = nuc_input_meta(q->node, NUC_CONV_WEIGHT)->dtype;

    return nuc_arg_node(q->node, NUC_CONV_BIAS) != NULL || d == NUC_F32 || nuc_is_8bit(d) ||
           nuc_rule_report(q, "float32, int8, uint8", "%s", nuc_dtype_name(d));
}

const struct nuc_support_rule nuc_convolution_ir[] = {
    RULE("the weight has 4 dimensions", nuc_has_rank, RANK_OF(NUC_CONV_WEIGHT, 4)),
    RULE("a transposed convolution is not depthwise", conv_transposed_not_depthwise, 0),
    RULE("a transposed convolution has no dilation", conv_transposed_dilation, 0),
    RULE("output_padding is 0 when the convolution is not transposed", conv_output_padding, 0),
    RULE("without a bias the weight is float32, int8 or uint8", conv_weight_dtype, 0),
    RULES_END,
};

static bool conv_transposed_groups(const struct nuc_rule_query *q)
{
    struct conv c = nuc_conv_of(q->node);

    return !c.transposed || c.groups <= 1 || nuc_rule_report(q, "1 group", "%lld groups", (long long)c.groups);
}

static struct nuc_extent each_of(struct nuc_pair p)
{
    return (struct nuc_extent){2, false, {p.h, p.w}};
}

static struct nuc_extent conv_kernel(const struct nuc_rule_query *q)
{
    return each_of(nuc_conv_of(q->node).kernel);
}

static bool conv_stride(const struct nuc_rule_query *q)
{
    struct conv c = nuc_conv_of(q->node);

    if (c.transposed && (c.stride.h > c.kernel.h || c.stride.w > c.kernel.w))
        return nuc_rule_report_pair(
            q, nuc_rule_text(q, "kernel %lld x %lld", (long long)c.kernel.h, (long long)c.kernel.w), c.stride);
    return nuc_rule_within(q, each_of(c.stride),
                           c.transposed ? q->s->target->max_transposed_stride : q->s->target->max_window);
}

static struct nuc_extent conv_dilation(const struct nuc_rule_query *q)
{
    struct conv c = nuc_conv_of(q->node);

    return c.transposed ? (struct nuc_extent){.n = 0} : each_of(c.dilation);
}

static bool conv_transposed_padding(const struct nuc_rule_query *q)
{
    struct conv c = nuc_conv_of(q->node);

    return !c.transposed || (c.padding.h < c.kernel.h && c.padding.w < c.kernel.w) ||
           nuc_rule_report_pair(q, nuc_rule_text(q, "below %lld x %lld", (long long)c.kernel.h, (long long)c.kernel.w),
                                c.padding);
}

static struct nuc_extent conv_macs(const struct nuc_rule_query *q)
{
    struct conv c = nuc_conv_of(q->node);

    return (struct nuc_extent){
        3, true, {c.kernel.h, c.kernel.w, nuc_multiple_above(c.channels, q->s->target->num_macs)}};
}

/* ---- poolings: input, kernel, stride, padding, ... ---- */

/* Windows slide over images: what a 1-D pooling without a batch dimension becomes has 3 dimensions. */
#define RULE_IMAGES RULE("the input has 4 dimensions", nuc_has_rank, RANK_OF(NUC_SELF, 4))

#define RULE_NO_CEIL_MODE(index) RULE("ceil_mode is false", nuc_flag_is_false, index)

static struct nuc_extent pool_kernel(const struct nuc_rule_query *q)
{
    return each_of(nuc_pool_of(q->node).kernel);
}

static struct nuc_extent pool_stride(const struct nuc_rule_query *q)
{
    return each_of(nuc_pool_of(q->node).stride);
}

/* ..., ceil_mode, count_include_pad, divisor_override */
static bool avg_pool_padding(const struct nuc_rule_query *q)
{
    struct nuc_pair p = nuc_pool_of(q->node).padding;

    return nuc_flag(q->node, NUC_ARG(AVG_POOL2D, count_include_pad)) || is_pair_of(p, 0) ||
           nuc_rule_report(q, "padding 0 x 0", "padding %lld x %lld", (long long)p.h, (long long)p.w);
}

static bool avg_pool_divisor(const struct nuc_rule_query *q)
{
    const struct nuc_arg *divisor = nuc_arg_at(q->node, NUC_ARG(AVG_POOL2D, divisor_override));

    return divisor->kind == NUC_ARG_NONE || nuc_rule_report(q, "none", "%lld", (long long)divisor->u.i);
}

const struct nuc_support_rule nuc_avg_pool_ir[] = {
    RULE_IMAGES,
    RULE("padding is counted in the mean (count_include_pad)", avg_pool_padding, 0),
    RULE("there is no divisor_override", avg_pool_divisor, 0),
    RULE_NO_CEIL_MODE(NUC_ARG(AVG_POOL2D, ceil_mode)),
    RULE_SHARED_QUANTIZATION,
    RULES_END,
};

/* ---- adaptive average pooling: input, output size ---- */

static struct nuc_pair spatial(const struct nuc_meta *m)
{
    if (m->rank < 2)
        return (struct nuc_pair){1, 1};
    return (struct nuc_pair){m->sizes[m->rank - 2], m->sizes[m->rank - 1]};
}

static bool adaptive_divides(const struct nuc_rule_query *q)
{
    struct nuc_pair in = spatial(nuc_input_meta(q->node, NUC_SELF)),
                    out = nuc_pair(q->node, NUC_ARG(NATIVE_ADAPTIVE_AVG_POOL2D, output_size), in);

    return (out.h > 0 && out.w > 0 && in.h % out.h == 0 && in.w % out.w == 0) ||
           nuc_rule_report_pair(q, nuc_rule_text(q, "divisors of %lld x %lld", (long long)in.h, (long long)in.w), out);
}

const struct nuc_support_rule nuc_adaptive_pool_ir[] = {
    RULE_IMAGES,
    RULE("the output size divides the input size", adaptive_divides, 0),
    RULE_SHARED_QUANTIZATION,
    RULES_END,
};

/* The largest window, which is at least the stride. An output of size 0, which no division has, is one window. */
static struct nuc_extent adaptive_window(const struct nuc_rule_query *q)
{
    struct nuc_pair in = spatial(nuc_input_meta(q->node, NUC_SELF)),
                    out = nuc_pair(q->node, NUC_ARG(NATIVE_ADAPTIVE_AVG_POOL2D, output_size), in);

    if (out.h <= 0 || out.w <= 0)
        return each_of(in);
    return each_of((struct nuc_pair){in.h - (out.h - 1) * (in.h / out.h), in.w - (out.w - 1) * (in.w / out.w)});
}

/* ---- max pooling: ..., dilation, ceil_mode ---- */

static bool max_pool_dilation(const struct nuc_rule_query *q)
{
    struct nuc_pair d = nuc_pair(q->node, NUC_ARG(MAX_POOL2D_INDICES, dilation), (struct nuc_pair){1, 1});

    return is_pair_of(d, 1) || nuc_rule_report_pair(q, "1 x 1", d);
}

static bool max_pool_indices_unused(const struct nuc_rule_query *q)
{
    for (uint32_t i = 0; i < q->node->n_users; i++) {
        const struct nuc_node *user = q->node->users[i];
        if (user->op == NUC_OP_GETITEM && nuc_integer(user, NUC_ARG(GETITEM, index), 0) == 1)
            return nuc_rule_report(q, "", "read by %s", user->name);
    }
    return true;
}

const struct nuc_support_rule nuc_max_pool_ir[] = {
    RULE_IMAGES,
    RULE("there is no dilation", max_pool_dilation, 0),
    RULE_NO_CEIL_MODE(NUC_ARG(MAX_POOL2D_INDICES, ceil_mode)),
    RULE_SHARED_QUANTIZATION,
    RULE("the indices are not used", max_pool_indices_unused, 0),
    RULES_END,
};

/* ---- rows ---- */

const struct nuc_support_row nuc_conv_rows[] = {
    {.ops = NUC_OPS(NUC_OP_CONVOLUTION),
     .channels_first = true,
     .ir = nuc_convolution_ir,
     .target =
         RULES(RULE_INPUT_8BIT, RULE_OUTPUT_8BIT, RULE_WEIGHT_INT8(NUC_CONV_WEIGHT), RULE_BIAS_INT32(NUC_CONV_BIAS),
               RULE("the weight is a parameter", nuc_input_is_static, NUC_CONV_WEIGHT), RULE_BIAS_STATIC(NUC_CONV_BIAS),
               RULE("a transposed convolution has 1 group", conv_transposed_groups, 0),
               LIMIT("the kernel fits the hardware", conv_kernel, max_window),
               RULE("the stride fits the hardware", conv_stride, 0),
               LIMIT("the dilation fits the hardware", conv_dilation, max_window),
               RULE("the padding of a transposed convolution is smaller than its kernel", conv_transposed_padding, 0),
               LIMIT("kernel height * kernel width * input channels, rounded up to the dot product's length, fit the "
                     "MAC buffer",
                     conv_macs, max_mac_buffer))},
    {.ops = NUC_OPS(NUC_OP_MAX_POOL2D_INDICES),
     .channels_first = true,
     .ir = nuc_max_pool_ir,
     .target =
         RULES(RULE_INPUT_8BIT, RULE_OUTPUT_8BIT, LIMIT("the stride fits the hardware", pool_stride, max_window))},
    {.ops = NUC_OPS(NUC_OP_AVG_POOL2D),
     .channels_first = true,
     .ir = nuc_avg_pool_ir,
     .target = RULES(RULE_INPUT_8BIT, RULE_OUTPUT_8BIT, LIMIT("the kernel fits the hardware", pool_kernel, max_window),
                     LIMIT("the stride fits the hardware", pool_stride, max_window))},
    {.ops = NUC_OPS(NUC_OP_NATIVE_ADAPTIVE_AVG_POOL2D),
     .channels_first = true,
     .ir = nuc_adaptive_pool_ir,
     .target = RULES(RULE_INPUT_8BIT, RULE_OUTPUT_8BIT,
                     LIMIT("the pooling window fits the hardware", adaptive_window, max_window))},
    ROWS_END,
};
