/* Convolutions: weights in the order the kernels read them, one multiplier per channel. */
#include <string.h>

#include "cpu/cortexm_site.h"
#include "ir/executorch_ops.h"
#include "npu/support/kernel_cycles.h"

/* The arguments of edge.aten.convolution. */
#define ARG(name) NUC_ARG(CONVOLUTION, name)

struct conv {
    struct nuc_cm_value in, weight;
    struct nuc_cm_result out;
    struct nuc_pair stride, padding, dilation, output_padding;
    int64_t groups;
    bool transposed;
    int64_t out_channels;                           /* all groups */
    struct nuc_node *bias;                          /* int32 or NULL */
    struct nuc_node *kernel, *multipliers, *shifts; /* made of the weight */
    struct nuc_node *excess;                        /* of weights beyond eight bits, or NULL */
    struct nuc_node *before;                        /* where what is made goes */
    struct nuc_pair zeros; /* of a transposed one in front of its kernel, when `widened` holds its size with zeros */
    struct nuc_pair widened;
};

/* One number stands for both dimensions. */
static bool read_pair(const struct nuc_node *node, uint32_t index, struct nuc_pair *out)
{
    const struct nuc_arg *arg = nuc_arg_at(node, index);

    *out = nuc_pair(node, index, (struct nuc_pair){0, 0});
    return arg->kind == NUC_ARG_INTS && (arg->count == 2 || arg->count == 1);
}

/* A weight that is an activation has one scale; the sums of an output channel fit an int32. */
static bool takes_computed(const struct nuc_cm *c, const struct conv *v)
{
    const struct nuc_meta *w = &v->weight.node->vals[0];
    const int64_t most_products = 65535;

    return !c->options->reference_compat && v->weight.scales == NULL && w->rank == 4 &&
           nuc_elements(w) / w->sizes[v->transposed ? 1 : 0] <= most_products;
}

/* Weights about a zero point are those less it, which kernels of our own take where they have more than eight bits. */
static bool takes_wide(const struct nuc_cm *c, const struct conv *v)
{
    return nuc_is_static(v->weight.node) && !v->transposed && v->weight.zero_point >= INT8_MIN &&
           v->weight.zero_point <= INT8_MAX && nuc_cm_is_own(c);
}

static bool read_conv(struct nuc_cm *c, struct nuc_node *node, struct conv *v)
{
    *v = (struct conv){.groups = nuc_integer(node, ARG(groups), 1),
                       .transposed = nuc_flag(node, ARG(transposed)),
                       .out_channels = node->vals[0].sizes[1]};
    if (!nuc_cm_tensor(node, ARG(input), &v->in) || !nuc_cm_operand(nuc_arg_node(node, ARG(weight)), &v->weight) ||
        (!nuc_is_static(v->weight.node) && !takes_computed(c, v)) || v->weight.dtype != NUC_I8 ||
        (v->weight.zero_point != 0 && !takes_wide(c, v)) || v->in.node->vals[0].rank != 4 ||
        !read_pair(node, ARG(stride), &v->stride) || !read_pair(node, ARG(padding), &v->padding) ||
        !read_pair(node, ARG(dilation), &v->dilation) || !read_pair(node, ARG(output_padding), &v->output_padding))
        return false;
    /* A bias correction or another pass may have left scales of the channels of one group. */
    if (v->weight.scales != NULL && v->weight.axis != (v->transposed ? 1 : 0))
        return false;
    if (!nuc_cm_result(node, true, &v->out) || v->in.dtype != v->out.params.dtype ||
        (v->in.dtype == NUC_I16 && !nuc_cm_takes_int16(&v->in, &v->weight, &v->out)))
        return false;
    v->before = nuc_cm_place(&v->out);
    return nuc_cm_bias(c, node, nuc_arg_node(node, ARG(bias)), v->out_channels, &v->in, &v->weight, &v->bias);
}

/* [O, H, W, I], with rows and columns of zeros around and between those that are there. */
static struct nuc_node *widened_kernel(struct nuc_cm *c, const struct nuc_node *node, const struct conv *v)
{
    const int64_t *from = v->kernel->vals[0].sizes;
    const int64_t sizes[4] = {from[0], v->widened.h, v->widened.w, from[3]};
    const int8_t *bytes = nuc_const_contiguous(c->g, v->kernel);
    int8_t *wide = nuc_alloc(c->g->cx, (size_t)(sizes[0] * sizes[1] * sizes[2] * sizes[3]));

    for (int64_t o = 0; o < from[0]; o++) {
        for (int64_t y = 0; y < from[1]; y++) {
            for (int64_t x = 0; x < from[2]; x++, bytes += from[3]) {
                int64_t row = v->zeros.h + y * v->dilation.h, column = v->zeros.w + x * v->dilation.w;
                memcpy(wide + ((o * sizes[1] + row) * sizes[2] + column) * from[3], bytes, (size_t)from[3]);
            }
        }
    }
    return nuc_cm_constant(c, node, "_weight_wide", NUC_I8, sizes, 4, wide);
}

/*
 * The kernel less the zero point of the weight, as far as int8 goes; what exceeds it is listed by output channels,
 * which are the last dimension of a depthwise kernel and the first of another.
 */
static void take_zero_point(struct nuc_cm *c, const struct nuc_node *node, struct conv *v, bool depthwise)
{
    const struct nuc_meta *m = &v->kernel->vals[0];
    const int8_t *from = nuc_const_contiguous(c->g, v->kernel);
    int64_t count = nuc_elements(m), channels = depthwise ? m->sizes[3] : 1, listed[2] = {0, 2};
    int8_t *bytes = nuc_alloc_array(c->g->cx, (size_t)count, sizeof *bytes);
    int32_t *excess = NULL;
    size_t capacity = 0;

    for (int64_t first = 0; first < channels; first++) {
        for (int64_t i = first; i < count; i += channels) {
            int32_t wide = from[i] - (int32_t)v->weight.zero_point;
            bytes[i] = (int8_t)nuc_clamp_i32(wide, INT8_MIN, INT8_MAX);
            if (wide == bytes[i])
                continue;
            excess = nuc_grow(c->g->cx, excess, &capacity, 2 * (size_t)(listed[0] + 1), sizeof *excess);
            excess[2 * listed[0]] = (int32_t)i;
            excess[2 * listed[0]++ + 1] = wide - bytes[i];
        }
    }
    v->kernel = nuc_cm_constant(c, node, "_weight_centered", NUC_I8, m->sizes, m->rank, bytes);
    if (listed[0] > 0)
        v->excess = nuc_cm_constant(c, node, "_weight_excess", NUC_I32, listed, 2, excess);
}

/* The weight with its dimensions in the order of `perm`, one multiplier and shift per channel. */
static void add_constants(struct nuc_cm *c, const struct nuc_node *node, struct conv *v, const uint8_t perm[4])
{
    int64_t n = v->out_channels;
    struct nuc_multiplier *rescale = nuc_cm_multipliers(c, &v->in, &v->weight, &v->out, n);

    bool computed = !nuc_is_static(v->weight.node);

    if (computed) {
        const int64_t dims[4] = {perm[0], perm[1], perm[2], perm[3]};
        v->kernel = nuc_cm_transpose(c, v->weight.node, dims, v->before);
    } else {
        v->kernel = nuc_cm_permuted_constant(c, node, "_weight_nhwc", v->weight.node, perm);
    }
    if (v->widened.h != 0)
        v->kernel = widened_kernel(c, node, v);
    /*
     * Where the weights of an output channel lie: [I, H, W, O] of a depthwise layer, [O of a group, H, W, I] of a
     * transposed one, whose groups have their inputs next to each other, else [O, H, W, I of a group].
     */
    bool depthwise = !v->transposed && perm[3] == 0;
    if (v->weight.zero_point != 0)
        take_zero_point(c, node, v, depthwise);
    const struct nuc_meta *kernel = &v->kernel->vals[0];
    int64_t of_group = v->transposed ? kernel->sizes[0] : v->out_channels;
    int64_t of_channel = nuc_elements(kernel) / kernel->sizes[depthwise ? 3 : 0];
    int64_t row = v->transposed ? kernel->sizes[3] : of_channel, depth = v->transposed ? row / v->groups : row;
    const struct nuc_channels shape = {
        .channels = v->out_channels,
        .of_group = of_group,
        .group_stride = depth,
        .channel_stride = depthwise ? 1 : of_channel,
        .rows = of_channel / row,
        .row_stride = row,
        .row = depth,
        .stride = depthwise ? kernel->sizes[3] : 1,
        .input_zero = (int32_t)v->in.zero_point,
        .output_zero = (int32_t)v->out.params.zero_point,
        .low = (int32_t)v->out.low,
        .high = (int32_t)v->out.high,
    };
    if (!computed && v->excess == NULL && v->in.dtype == NUC_I8)
        nuc_cm_fold_channels(c, node, &shape, rescale, &v->kernel, &v->bias);
    nuc_cm_add_multipliers(c, node, rescale, n, &v->multipliers, &v->shifts);
    if (v->bias == NULL && v->groups > 1 && v->in.dtype == NUC_I8) {
        const int32_t *zeros = nuc_alloc_array(c->g->cx, (size_t)n, sizeof *zeros);
        v->bias = nuc_cm_constant(c, node, "_zero_bias", NUC_I32, &n, 1, zeros);
    }
}

/* The arguments all kernels begin and end with; scratch memory, which depends on the result's sizes, comes later. */
#define FIRST_ARGS(in) nuc_node_arg(in), nuc_node_arg(v->kernel), nuc_node_arg(v->bias)
#define LAST_ARGS                                                                                                      \
    nuc_int_arg(-v->in.zero_point), nuc_int_arg(v->out.params.zero_point), nuc_node_arg(v->multipliers),               \
        nuc_node_arg(v->shifts), nuc_int_arg(v->out.low), nuc_int_arg(v->out.high)

/* Channels-last, each channel `times` times in a row. */
static struct nuc_node *repeat_channels(struct nuc_cm *c, struct nuc_node *value, int64_t times,
                                        struct nuc_node *before)
{
    const struct nuc_meta m = value->vals[0];
    const int64_t repeated[2] = {nuc_elements(&m), times};
    const int64_t sizes[4] = {m.sizes[0], m.sizes[2], m.sizes[3], m.sizes[1] * times};
    struct nuc_node *elements = nuc_cm_as_nhwc(c, value, before);

    elements = nuc_cm_view(c, elements, (const int64_t[]){repeated[0], 1}, 2, before);
    elements = nuc_emit(c->g, before, NUC_OP_EXPAND, value, NUC_ARGS(elements, nuc_ints_arg(repeated, 2)));
    return nuc_cm_as_nchw(c, nuc_cm_view(c, elements, sizes, 4, before), before);
}

/* Of one window, which is the image: its elements are the channels of one pixel. */
static bool is_whole_image(const struct nuc_cm *c, const struct nuc_node *node, const struct conv *v)
{
    const int64_t *in = v->in.node->vals[0].sizes, *kernel = v->kernel->vals[0].sizes, *out = node->vals[0].sizes;

    return !c->options->reference_compat && v->groups == 1 && nuc_is_static(v->kernel) && out[2] == 1 && out[3] == 1 &&
           kernel[1] == in[2] && kernel[2] == in[3] && in[2] * in[3] > 1 && v->padding.h == 0 && v->padding.w == 0;
}

static struct nuc_node *as_pixel(struct nuc_cm *c, const struct nuc_node *node, struct conv *v, struct nuc_node *in)
{
    const struct nuc_meta m = in->vals[0];
    const int64_t kernel[4] = {v->out_channels, 1, 1, m.sizes[1] * m.sizes[2] * m.sizes[3]};
    const int64_t pixel[4] = {m.sizes[0], 1, 1, kernel[3]};

    v->kernel = nuc_cm_constant(c, node, "_weight_pixel", NUC_I8, kernel, 4, nuc_const_contiguous(c->g, v->kernel));
    return nuc_cm_as_nchw(c, nuc_cm_view(c, nuc_cm_as_nhwc(c, in, v->before), pixel, 4, v->before), v->before);
}

/* [O, I, H, W] */
static struct nuc_node *lower_forward(struct nuc_cm *c, const struct nuc_node *node, struct conv *v)
{
    static const uint8_t to_ihwo[4] = {1, 2, 3, 0}, to_ohwi[4] = {0, 2, 3, 1};
    const struct nuc_meta *weight = &v->weight.node->vals[0];
    int64_t in_channels = v->in.node->vals[0].sizes[1];
    /* Of one channel, both are the same: a long window, as of a Fourier transform, is faster as a convolution. */
    bool is_long = in_channels == 1 && weight->sizes[2] * weight->sizes[3] > NUC_ONE_CHANNEL_WINDOW;
    bool depthwise = v->groups == in_channels && v->out_channels % in_channels == 0 && weight->sizes[1] == 1 &&
                     node->vals[0].sizes[0] == 1 && (!is_long || c->options->reference_compat);

    add_constants(c, node, v, depthwise ? to_ihwo : to_ohwi);
    /*
     * Operators of int8 have one padding for both sides where they can, those of int16 and of weights of more than
     * eight bits one for each. Depthwise, a number of outputs of an input channel comes after the dilation.
     */
    const int64_t sides[4] = {v->padding.h, v->padding.w, v->padding.h, v->padding.w};
    struct nuc_node *in = nuc_cm_channels_last(c, v->in.node, v->before);
    /*
     * Kernels in more than plain C have one output of each input channel, but of one channel; of several outputs the
     * input is read that often.
     */
    if (depthwise && v->in.dtype == NUC_I8 && in_channels > 1 && v->out_channels > in_channels &&
        c->options->cpu->isa != NUC_ISA_SCALAR && !c->options->reference_compat) {
        in = repeat_channels(c, in, v->out_channels / in_channels, v->before);
        in_channels = v->out_channels;
    }
    if (!depthwise && is_whole_image(c, node, v))
        in = as_pixel(c, node, v, in);
    bool wide = v->excess != NULL, int8 = v->in.dtype == NUC_I8;
    enum nuc_op conv_op = wide ? NUC_OP_NUCLEON_WIDE_CONV2D : int8 ? NUC_OP_CORTEXM_CONV2D : NUC_OP_NUCLEON_CONV2D;
    enum nuc_op depthwise_op = wide   ? NUC_OP_NUCLEON_WIDE_DEPTHWISE
                               : int8 ? NUC_OP_CORTEXM_DEPTHWISE
                                      : NUC_OP_NUCLEON_DEPTHWISE;
    const struct nuc_arg padding = nuc_ints_arg(sides, int8 && !wide ? 2 : 4);
    const struct nuc_arg conv_args[] = {FIRST_ARGS(in), NUC_PAIR_ARG(v->stride), padding, NUC_PAIR_ARG(v->dilation),
                                        LAST_ARGS,      nuc_node_arg(v->excess)};
    const struct nuc_arg depthwise_args[] = {FIRST_ARGS(in),
                                             NUC_PAIR_ARG(v->stride),
                                             padding,
                                             NUC_PAIR_ARG(v->dilation),
                                             nuc_int_arg(v->out_channels / in_channels),
                                             LAST_ARGS,
                                             nuc_node_arg(v->excess)};
    size_t count = sizeof conv_args / sizeof *conv_args - !wide;
    struct nuc_node *conv = depthwise ? nuc_emit(c->g, v->before, depthwise_op, v->out.value, depthwise_args, count + 1)
                                      : nuc_emit(c->g, v->before, conv_op, v->out.value, conv_args, count);
    nuc_cm_scratch(c->g, conv, conv->n_args - 1,
                   (depthwise ? nuc_cm_depthwise_scratch : nuc_cm_conv_scratch)(c->options->cpu, conv));
    return conv;
}

static struct nuc_transposed_window window_of(const struct conv *v)
{
    const int64_t *in = v->in.node->vals[0].sizes, *w = v->weight.node->vals[0].sizes;

    return (struct nuc_transposed_window){
        in[1],
        in[2],
        {(w[2] - 1) * v->dilation.h + 1 + v->output_padding.h, (w[3] - 1) * v->dilation.w + 1 + v->output_padding.w},
        {v->stride.h, v->stride.w},
        {v->padding.h, v->padding.w}};
}

/*
 * For ExecuTorch's kernel: the same sums with zeros in the kernel. Dilation puts them between its rows, output padding
 * behind them; as many in front, with as much more padding, and behind them change nothing and make the padding fit.
 */
static bool widen(struct conv *v)
{
    struct nuc_transposed_window w = window_of(v);
    int64_t zeros[2] = {0, 0};

    if (v->groups != 1 || !nuc_is_static(v->weight.node))
        return false;
    for (int d = 0; d < 2; d++) {
        int64_t most = 4 * w.kernel[d]; /* beyond it the float kernel takes no longer */
        for (; !nuc_executorch_transposes(&w, d); zeros[d]++) {
            if (w.kernel[d] + 2 > most)
                return false;
            w.kernel[d] += 2;
            w.padding[d]++;
        }
    }
    v->zeros = (struct nuc_pair){zeros[0], zeros[1]};
    v->widened = (struct nuc_pair){w.kernel[0], w.kernel[1]};
    v->padding = (struct nuc_pair){w.padding[0], w.padding[1]};
    return true;
}

/* [I, O of a group, H, W]. NULL when there is no kernel. */
static struct nuc_node *lower_transposed(struct nuc_cm *c, const struct nuc_node *node, struct conv *v)
{
    static const uint8_t to_ohwi[4] = {1, 2, 3, 0};
    struct nuc_transposed_window w = window_of(v);
    bool plain = v->in.dtype == NUC_I8 && v->groups == 1 && v->output_padding.h == 0 && v->output_padding.w == 0 &&
                 v->dilation.h == 1 && v->dilation.w == 1;

    if (!plain && c->options->reference_compat)
        return NULL;
    if (!c->options->reference_compat)
        plain = plain && nuc_executorch_transposes(&w, 0) && nuc_executorch_transposes(&w, 1);
    if (!plain && c->options->executorch_ops_only) {
        if (!widen(v))
            return NULL;
        plain = true;
    }
    add_constants(c, node, v, to_ohwi);
    struct nuc_node *before = v->before, *in = nuc_cm_channels_last(c, v->in.node, before);
    if (plain) {
        const struct nuc_pair nothing = {0, 0}, once = {1, 1};
        struct nuc_node *conv = nuc_emit(c->g, before, NUC_OP_CORTEXM_TRANSPOSE_CONV2D, v->out.value,
                                         NUC_ARGS(FIRST_ARGS(in), NUC_PAIR_ARG(v->stride), NUC_PAIR_ARG(v->padding),
                                                  NUC_PAIR_ARG(nothing), NUC_PAIR_ARG(once), LAST_ARGS));
        size_t first, second;
        nuc_cm_transposed_scratch(c->options->cpu, conv, &first, &second);
        nuc_cm_scratch(c->g, conv, NUC_ARG(CORTEXM_TRANSPOSE_CONV2D, scratch), first);
        nuc_cm_scratch(c->g, conv, NUC_ARG(CORTEXM_TRANSPOSE_CONV2D, output_scratch), second);
        return conv;
    }
    /* Groups, dilation, output padding, or what ExecuTorch's kernel gets wrong: a kernel of our own. */
    return nuc_emit(c->g, before, NUC_OP_NUCLEON_TRANSPOSE_CONV2D, v->out.value,
                    NUC_ARGS(FIRST_ARGS(in), NUC_PAIR_ARG(v->stride), NUC_PAIR_ARG(v->padding),
                             NUC_PAIR_ARG(v->output_padding), NUC_PAIR_ARG(v->dilation), v->groups, LAST_ARGS));
}

bool nuc_cm_lower_convolution(struct nuc_cm *c, struct nuc_node *node)
{
    struct conv v;

    if (!read_conv(c, node, &v))
        return false;
    struct nuc_node *conv = v.transposed ? lower_transposed(c, node, &v) : lower_forward(c, node, &v);
    if (conv != NULL)
        nuc_cm_replace(c, &v.out, conv);
    return conv != NULL;
}
