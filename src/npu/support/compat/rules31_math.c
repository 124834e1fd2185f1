/* Rule set sdk-3.1: convolution, poolings, resampling, arithmetic, matrix products, softmax, means, activations. */
#include <math.h>

#include "npu/support/compat/rules31.h"

static bool channels_are_multiple(const struct nuc_rule_query *q)
{
    return nuc_is_multiple(q, "channels", nuc_channels_of(q->node));
}

#define RULE_CHANNELS RULE("the channels are a multiple of the dot product's length", channels_are_multiple, 0)

/* ---- convolution ---- */

static bool has_batch_of_one(const struct nuc_rule_query *q)
{
    const struct nuc_meta *in = nuc_input_meta(q->node, NUC_SELF);
    int64_t batch = in->rank >= 4 ? in->sizes[0] : 1;

    return batch == 1 || nuc_rule_report(q, "1", "%lld", (long long)batch);
}

#define RULE_BATCH RULE("the batch size is 1", has_batch_of_one, 0)

static bool conv_groups(const struct nuc_rule_query *q)
{
    struct conv c = nuc_conv_of(q->node);

    return c.groups <= 1 || (!c.transposed && c.depthwise) ||
           nuc_rule_report(q, c.transposed ? "1 group" : "1 group, or as many as channels", "%lld groups",
                           (long long)c.groups);
}

/* The converter of sdk-3.1 takes computed weights of plain convolutions; nucleon's own has no kernel for them. */
static bool conv_static_weight(const struct nuc_rule_query *q)
{
    struct conv c = nuc_conv_of(q->node);
    bool plain = c.groups == 1 && !c.transposed;

    return (plain && (q->s->waived & NUC_WAIVE_CORRECTNESS) != 0) || nuc_input_is_static(q);
}

/* Transposed: one row of the NPU's matrix product becomes one or two columns of the output. */
static bool up_kernel(const struct nuc_rule_query *q)
{
    struct conv c = nuc_conv_of(q->node);

    return !c.transposed || (c.kernel.h == 1 && c.kernel.w % 2 == 0) ||
           nuc_rule_report_pair(q, "1 x an even width", c.kernel);
}

static bool up_padding(const struct nuc_rule_query *q)
{
    struct conv c = nuc_conv_of(q->node);
    int64_t height = nuc_input_meta(q->node, NUC_SELF)->sizes[2];

    if (!c.transposed)
        return true;
    if (c.padding.h != 0 || c.padding.w >= c.kernel.w)
        return nuc_rule_report_pair(q, nuc_rule_text(q, "0 x below %lld", (long long)c.kernel.w), c.padding);
    return c.padding.w == 0 || height == 1 ||
           nuc_rule_report(q, "no padding, or an input of height 1", "padding 0 x %lld, height %lld",
                           (long long)c.padding.w, (long long)height);
}

static bool up_stride(const struct nuc_rule_query *q)
{
    struct conv c = nuc_conv_of(q->node);
    int64_t width = c.kernel.w, height = q->node->vals[0].sizes[2];

    if (!c.transposed)
        return true;
    if (c.stride.h != 1 || c.stride.w % 2 != 0)
        return nuc_rule_report_pair(q, "1 x an even number", c.stride);
    return c.stride.w == width || (c.stride.w == width / 2 && width % 2 == 0 && height == 1) ||
           nuc_rule_report(q,
                           nuc_rule_text(q, "1 x %lld, or 1 x %lld with an output of height 1", (long long)width,
                                         (long long)width / 2),
                           "1 x %lld with height %lld", (long long)c.stride.w, (long long)height);
}

static bool up_channels(const struct nuc_rule_query *q)
{
    struct conv c = nuc_conv_of(q->node);

    return !c.transposed || (nuc_is_multiple(q, "input channels", c.channels) &&
                             nuc_is_multiple(q, "output channels", q->node->vals[0].sizes[1]));
}

/* ---- pooling and resampling ---- */

static bool pool_stride(const struct nuc_rule_query *q)
{
    struct nuc_pool p = nuc_pool_of(q->node);

    return p.stride.h == 1 || p.stride.h == 2 || nuc_rule_report(q, "1 or 2", "%lld", (long long)p.stride.h);
}

static bool pool_padding(const struct nuc_rule_query *q)
{
    struct nuc_pool p = nuc_pool_of(q->node);

    return (p.padding.h <= p.kernel.h && p.padding.w <= p.kernel.w) ||
           nuc_rule_report_pair(q, nuc_rule_text(q, "%lld x %lld", (long long)p.kernel.h, (long long)p.kernel.w),
                                p.padding);
}

static bool upsample_factor(const struct nuc_rule_query *q)
{
    const int64_t *in = nuc_input_meta(q->node, NUC_SELF)->sizes, *out = q->node->vals[0].sizes;

    for (int64_t factor = 2; factor <= 4; factor += 2) {
        bool whole = out[2] % factor == 0 && out[3] % factor == 0;
        if (whole && out[2] / factor == in[2] && out[3] / factor == in[3])
            return true;
    }
    return nuc_rule_report(q, "2 or 4, the same for height and width", "%lld x %lld to %lld x %lld", (long long)in[2],
                           (long long)in[3], (long long)out[2], (long long)out[3]);
}

/* ---- add, sub, mul ---- */

#define MAX_INPUTS 4

static bool inputs_have_one_shape(const struct nuc_rule_query *q)
{
    const struct nuc_node *inputs[MAX_INPUTS];
    uint32_t count = nuc_distinct_inputs(q->node, inputs, MAX_INPUTS);

    for (uint32_t i = 1; i < count && i < MAX_INPUTS; i++) {
        if (inputs[i]->n_vals == 0 || inputs[0]->n_vals == 0 ||
            nuc_same_sizes(&inputs[0]->vals[0], &inputs[i]->vals[0]))
            continue;
        return nuc_rule_report(q, nuc_rule_shape_text(q, inputs[0]), "%s", nuc_rule_shape_text(q, inputs[i]));
    }
    return true;
}

#define RULE_ONE_SHAPE RULE("the inputs have one shape", inputs_have_one_shape, 0)

/* The backend of sdk-3.1 looks for alpha where it never is, and leaves it out. */
static const struct nuc_support_rule add_target[] = {RULE_ALPHA(NUC_WAIVE_CORRECTNESS), RULE_ONE_SHAPE, RULES_END};

/* Any one dimension will do, whichever it is. */
static bool mul_dimension(const struct nuc_rule_query *q)
{
    const struct nuc_meta *out = &q->node->vals[0];
    bool ones = true;

    for (uint32_t i = 0; i < out->rank; i++) {
        if (out->sizes[i] % q->s->target->num_macs == 0)
            return true;
        ones = ones && out->sizes[i] == 1;
    }
    if (ones)
        return true;
    return nuc_rule_report(q, nuc_rule_text(q, "one multiple of %u", q->s->target->num_macs), "%s",
                           nuc_rule_shape_text(q, q->node));
}

/* ---- matrix products: addmm bias, input, weight; mm and bmm input, weight ---- */

/* The converter of sdk-3.1 takes any weight; nucleon's own has kernels for parameters only. */
#define RULE_WEIGHT_STATIC(index)                                                                                      \
    WAIVABLE(NUC_WAIVE_CORRECTNESS, "the weight is a parameter", nuc_weight_is_static, index)

static bool bmm_formats(const struct nuc_rule_query *q)
{
    bool a = nuc_is_channels_first(nuc_arg_node(q->node, NUC_SELF)),
         b = nuc_is_channels_first(nuc_arg_node(q->node, NUC_OTHER));

    return !a || b || nuc_rule_report(q, "", "only the first one is");
}

static bool bmm_result(const struct nuc_rule_query *q)
{
    struct nuc_meta shape = nuc_stored_meta(q->node);

    return !nuc_is_channels_first(q->node) ||
           nuc_can_transpose31(q->s->target, &shape, nuc_to_channels_last(shape.rank)) ||
           nuc_rule_report(q, "", "%s", nuc_rule_shape_text(q, q->node));
}

static bool bmm_sizes(const struct nuc_rule_query *q)
{
    bool ok = true;

    for (uint32_t i = 0; ok && i < 2; i++) {
        const struct nuc_meta *m = nuc_input_meta(q->node, i);
        ok = nuc_is_multiple(q, "rows", m->sizes[1]) && nuc_is_multiple(q, "columns", m->sizes[2]);
    }
    return ok;
}

/* ---- softmax: self, dim, half_to_float ---- */

static bool softmax_rank(const struct nuc_rule_query *q)
{
    return q->node->vals[0].rank > 1 || nuc_rule_report(q, "at least 2", "%u", q->node->vals[0].rank);
}

/* ---- mean: self, dim, keepdim ---- */

static bool mean_keeps(const struct nuc_rule_query *q)
{
    return nuc_flag(q->node, NUC_ARG(MEAN_DIM, keepdim)) || nuc_rule_report(q, "true", "false");
}

/* Height and width, in either order, where the format has them. */
static bool mean_dims(const struct nuc_rule_query *q)
{
    const struct nuc_arg *dims = nuc_arg_at(q->node, NUC_ARG(MEAN_DIM, dim));
    int64_t first = nuc_is_channels_first(q->node) ? 2 : 1;
    const char *limit = first == 2 ? "2 and 3" : "1 and 2";

    if (dims->kind != NUC_ARG_INTS || dims->count != 2)
        return nuc_rule_report(q, limit, "%u dimensions", dims->kind == NUC_ARG_INTS ? dims->count : 0);
    uint32_t rank = nuc_input_meta(q->node, NUC_SELF)->rank;
    int64_t a = nuc_positive_dim(dims->u.ints[0], rank), b = nuc_positive_dim(dims->u.ints[1], rank);
    return (a == first && b == first + 1) || (b == first && a == first + 1) ||
           nuc_rule_report(q, limit, "%lld and %lld", (long long)a, (long long)b);
}

/* ---- prelu: self, weight ---- */

static struct nuc_extent prelu_pixels(const struct nuc_rule_query *q)
{
    struct nuc_meta shape = nuc_stored_meta(q->node);

    return (struct nuc_extent){2, true, {shape.sizes[1], shape.sizes[2]}};
}

/* ---- clamp and hardtanh: self, min, max; relu ---- */

static bool has_relu_bounds(const struct nuc_rule_query *q)
{
    struct nuc_bounds b = nuc_bounds_of(q->node);

    return nuc_is_relu_like(b, true) ||
           nuc_rule_report(q, "-1 to 1, 0 to 1, 0 to 6, 0 to inf", "%g to %g", b.min, b.max);
}

static const struct nuc_support_rule bounded_target[] = {
    RULE("the bounds are those of a ReLU", has_relu_bounds, 0),
    RULES_END,
};

static bool channels_when_alone(const struct nuc_rule_query *q)
{
    return !nuc_is_alone(q->s, q->node) ||
           nuc_is_multiple(q, "channels", nuc_channels_of(nuc_arg_node(q->node, NUC_SELF)));
}

/* A bound of 6, or none; written out as infinite it escapes. */
static bool clamp_when_alone(const struct nuc_rule_query *q)
{
    struct nuc_bounds b = nuc_bounds_of(q->node);
    bool open = nuc_arg_at(q->node, NUC_ARG(CLAMP, max))->kind == NUC_ARG_NONE;

    return !nuc_numbers_equal(b.min, 0.0) || !(open || nuc_numbers_equal(b.max, 6.0)) || channels_when_alone(q);
}

static bool hardtanh_when_alone(const struct nuc_rule_query *q)
{
    return nuc_numbers_equal(nuc_bounds_of(q->node).max, 1.0) || channels_when_alone(q);
}

#define ALONE(holds)                                                                                                   \
    {                                                                                                                  \
        RULE("alone in its partition the activation has channels in multiples of the dot product's length", holds, 0), \
            RULES_END                                                                                                  \
    }

static const struct nuc_support_rule relu_partition[] = ALONE(channels_when_alone);
static const struct nuc_support_rule clamp_partition[] = ALONE(clamp_when_alone);
static const struct nuc_support_rule hardtanh_partition[] = ALONE(hardtanh_when_alone);

/* ---- rows ---- */

const struct nuc_support_row nuc_math31_rows[] = {
    {.ops = NUC_OPS(NUC_OP_ABS, NUC_OP_LEAKY_RELU, NUC_OP_SIGMOID, NUC_OP_TANH)},
    {.ops = NUC_OPS(NUC_OP_NEG), .ir = nuc_neg_ir},
    {.ops = NUC_OPS(NUC_OP_ADD, NUC_OP_SUB), .no_op = NUC_NO_OP_BY_TRIAL, .target = add_target},
    {.ops = NUC_OPS(NUC_OP_MUL),
     .no_op = NUC_NO_OP_BY_TRIAL,
     .target = RULES(RULE_ONE_SHAPE,
                     RULE("some dimension is a multiple of the dot product's length, or all are 1", mul_dimension, 0))},
    {.ops = NUC_OPS(NUC_OP_CONVOLUTION),
     .ir = nuc_convolution_ir,
     .target =
         RULES(RULE_BATCH, RULE("there is one group, or one per channel", conv_groups, 0),
               RULE("the weight is a parameter", conv_static_weight, NUC_CONV_WEIGHT),
               RULE("the kernel of a transposed convolution is one row of even width", up_kernel, 0),
               RULE("a transposed convolution pads its width only", up_padding, 0),
               RULE("the stride of a transposed convolution is its kernel's width, or half of it", up_stride, 0),
               RULE("channels of a transposed convolution are multiples of the dot product's length", up_channels, 0))},
    {.ops = NUC_OPS(NUC_OP_MAX_POOL2D_INDICES),
     .ir = nuc_max_pool_ir,
     .target = RULES(RULE_BATCH, RULE("the vertical stride is 1 or 2", pool_stride, 0), RULE_CHANNELS,
                     RULE("the padding is at most the kernel", pool_padding, 0))},
    {.ops = NUC_OPS(NUC_OP_AVG_POOL2D), .ir = nuc_avg_pool_ir},
    {.ops = NUC_OPS(NUC_OP_NATIVE_ADAPTIVE_AVG_POOL2D), .channels_first = true, .ir = nuc_adaptive_pool_ir},
    {.ops = NUC_OPS(NUC_OP_UPSAMPLE_BILINEAR, NUC_OP_UPSAMPLE_NEAREST),
     .channels_first = true,
     .ir = nuc_upsample_ir,
     .target = RULES(RULE("height and width grow by one factor, 2 or 4", upsample_factor, 0), RULE_CHANNELS)},
    {.ops = NUC_OPS(NUC_OP_ADDMM),
     .ir =
         RULES(RULE_ADDMM_INPUTS, RULE_WEIGHT_MATRIX(NUC_ARG(ADDMM, mat2)), RULE_WEIGHT_STATIC(NUC_ARG(ADDMM, mat2)))},
    {.ops = NUC_OPS(NUC_OP_MM),
     .ir = RULES(RULE_LINEAR_INPUTS, RULE_WEIGHT_MATRIX(NUC_OTHER), RULE_WEIGHT_STATIC(NUC_OTHER))},
    {.ops = NUC_OPS(NUC_OP_BMM),
     .ir = nuc_bmm_ir,
     .target = RULES(RULE("when the first factor is channels-first data, the second one is too", bmm_formats, 0),
                     RULE("channels-first results can be transposed", bmm_result, 0),
                     RULE("rows and columns of both factors are multiples of the dot product's length", bmm_sizes, 0))},
    {.ops = NUC_OPS(NUC_OP_NATIVE_SOFTMAX),
     .ir = nuc_softmax_ir,
     .target = RULES(RULE("there are at least 2 dimensions", softmax_rank, 0), RULE_CHANNELS,
                     LIMIT_SOFTMAX_CHANNELS(max_softmax_channels_sdk31), LIMIT_SOFTMAX_ROWS, LIMIT_SOFTMAX_ELEMENTS)},
    {.ops = NUC_OPS(NUC_OP_MEAN_DIM),
     .ir = nuc_shared_quantization_ir,
     .target = RULES(RULE("the input has 4 dimensions", nuc_has_rank, RANK_OF(NUC_SELF, 4)),
                     RULE("keepdim is true", mean_keeps, 0), RULE_CHANNELS,
                     RULE("the mean is taken over height and width", mean_dims, 0))},
    {.ops = NUC_OPS(NUC_OP_PRELU),
     .target = RULES(RULE_PRELU_FORMAT(NUC_WAIVE_CORRECTNESS), RULE_RESULT_RANK4, RULE_CHANNELS,
                     LIMIT("height * width fits the hardware", prelu_pixels, max_prelu_pixels_sdk31))},
    {.ops = NUC_OPS(NUC_OP_RELU), .partition = relu_partition},
    {.ops = NUC_OPS(NUC_OP_CLAMP), .target = bounded_target, .partition = clamp_partition},
    {.ops = NUC_OPS(NUC_OP_HARDTANH), .target = bounded_target, .partition = hardtanh_partition},
    ROWS_END,
};
