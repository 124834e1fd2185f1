/*
 * Scratch memory of the kernels, by the rules of the target. A kernel with runtime checks compares for equality, so the
 * numbers are those of CMSIS-NN (*get_buffer_sizes_s8.c) as a host build of it computes them.
 */
#include "cpu/cortexm_site.h"
#include "ir/conv_args.h"

void nuc_cm_scratch(struct nuc_graph *g, struct nuc_node *node, uint32_t index, size_t bytes)
{
    struct nuc_node *alloc = nuc_add_node(g, node, NUC_OP_ALLOC, "alloc");
    int64_t size = (int64_t)bytes;

    nuc_set_arg_ints(alloc, g, NUC_ARG(ALLOC, size), &size, 1);
    nuc_set_arg_dtype(alloc, NUC_ARG(ALLOC, dtype), NUC_U8);
    nuc_infer_shape(g, alloc);
    nuc_set_arg_node(node, g, index, alloc);
}

/*
 * Sizes as the kernels take them; weights are [O, H, W, I], depthwise [1, H, W, O]. padding: before the image; that
 * after it follows from the result's sizes.
 */
struct sizes {
    int64_t n, c, h, w, out_c, out_w;
    int64_t kernel[2], weight_c;
    int64_t stride[2], padding[2], dilation[2];
};

/* All kernels begin with input, weight, bias, stride and padding. */
static struct sizes sizes_of(const struct nuc_node *conv, uint32_t dilation_arg)
{
    const struct nuc_meta *in = nuc_input_meta(conv, NUC_ARG(CORTEXM_CONV2D, input));
    const struct nuc_meta *w = nuc_input_meta(conv, NUC_ARG(CORTEXM_CONV2D, weight)), *out = &conv->vals[0];
    struct sizes s = {.n = in->sizes[0],
                      .c = in->sizes[1],
                      .h = in->sizes[2],
                      .w = in->sizes[3],
                      .out_c = out->sizes[1],
                      .out_w = out->sizes[3],
                      .kernel = {w->sizes[1], w->sizes[2]},
                      .weight_c = w->sizes[3]};
    int64_t after[2];

    nuc_conv_numbers(conv, NUC_ARG(CORTEXM_CONV2D, stride), 2, 1, s.stride);
    (void)nuc_conv_paddings(conv, NUC_ARG(CORTEXM_CONV2D, padding), s.padding, after);
    nuc_conv_numbers(conv, dilation_arg, 2, 1, s.dilation);
    return s;
}

static int64_t round_up(int64_t value, int64_t to)
{
    return (value + to - 1) / to * to;
}

/* Columns of the input patch matrix. */
static int64_t general(const struct nuc_scratch_rules *r, const int64_t kernel[2], int64_t channels)
{
    return r->conv_tap_bytes * round_up(kernel[0] * kernel[1] * channels, r->conv_tap_round);
}

static int64_t at_least_one(int64_t value)
{
    return value > 1 ? value : 1;
}

/* One row as input and kernel: the ends of the row with their padding; the general size when columns do not add up. */
static int64_t row_size(const struct nuc_scratch_rules *r, const struct sizes *s)
{
    int64_t pad = s->padding[1], stride = s->stride[1], kernel = s->kernel[1];
    int64_t odd = ((s->out_w - 1) * stride + kernel - s->w) % 2;
    int64_t right = pad + odd != 0 ? at_least_one((pad + odd + stride - 1) / stride) : 0;
    int64_t left = pad != 0 ? at_least_one((pad + stride - 1) / stride) : 0;
    int64_t middle = s->out_w > left + right ? s->out_w - left - right : 0;

    if (left + middle + right != s->out_w)
        return general(r, s->kernel, s->c);
    int64_t size_left = kernel * s->c + pad * s->c;
    int64_t size_right = (kernel - 1) * s->c + (odd != 0 ? right : pad) * s->c;
    return size_left > size_right ? size_left : size_right;
}

/* Kernels of int16 need none. */
static bool is_int16(const struct nuc_node *conv)
{
    return nuc_input_meta(conv, NUC_ARG(CORTEXM_CONV2D, input))->dtype == NUC_I16;
}

size_t nuc_cm_conv_scratch(const struct nuc_cpu *cpu, const struct nuc_node *conv)
{
    const struct nuc_scratch_rules *r = cpu->scratch;
    struct sizes s = sizes_of(conv, NUC_ARG(CORTEXM_CONV2D, dilation));
    bool whole = s.weight_c == s.c;

    if (is_int16(conv))
        return 0;
    if (whole && s.padding[0] == 0 && s.padding[1] == 0 && s.kernel[0] == 1 && s.kernel[1] == 1 && s.dilation[0] == 1 &&
        s.dilation[1] == 1)
        return 0;
    if (r->conv_rows && whole && s.h == 1 && s.kernel[0] == 1 && s.dilation[1] == 1 && s.stride[1] * s.c % 4 == 0)
        return (size_t)row_size(r, &s);
    return (size_t)general(r, s.kernel, s.c);
}

/*
 * Kernels that write over their input keep rows of it aside: of one channel, or the DSP ones, of four channels as pairs
 * of rows in 32-bit words, with the weights, where these do not fit the stack. A dilated convolution is one that is not
 * dilated for each of its parts.
 */
static int64_t overlay_size(const struct sizes *s, const struct nuc_node *conv, int64_t size)
{
    const int64_t on_stack = 3072, word = 4, channels = 4, scales = 12;
    int64_t rows = nuc_depthwise_overlay(conv);

    if (rows == 0)
        return size;
    int64_t width = (s->out_w + s->dilation[1] - 1) / s->dilation[1]; /* of the widest part */
    int64_t lines = (s->kernel[0] + 2) / 2, columns = (width - 1) * s->stride[1] + s->kernel[1];
    int64_t weights = 2 * (lines * s->kernel[1] * channels + channels + scales);
    int64_t pairs = word * (lines * columns * channels + weights);
    rows = pairs > on_stack && pairs > rows ? pairs : rows;
    return rows > size ? rows : size;
}

size_t nuc_cm_depthwise_scratch(const struct nuc_cpu *cpu, const struct nuc_node *conv)
{
    const struct nuc_scratch_rules *r = cpu->scratch;
    struct sizes s = sizes_of(conv, NUC_ARG(CORTEXM_CONV2D, dilation));
    int64_t taps = s.kernel[0] * s.kernel[1], size = 0;

    if (is_int16(conv))
        return 0;
    if (s.c == s.out_c && s.n == 1 && s.dilation[0] == 1 && s.dilation[1] == 1) {
        bool free =
            r->depthwise_free_3x3 && s.kernel[0] == 3 && s.kernel[1] == 3 && s.padding[0] <= 1 && s.padding[1] <= 1;
        size = free ? 0 : (int64_t)r->depthwise_bytes * taps * (r->depthwise_channels ? s.c : 1);
    }
    if (r->depthwise_as_conv != 0 && s.c == 1 && s.out_c > r->depthwise_as_conv) {
        int64_t as_conv = general(r, s.kernel, 1) + s.out_c * taps;
        size = as_conv > size ? as_conv : size;
    }
    return (size_t)(conv->op == NUC_OP_NUCLEON_DEPTHWISE ? overlay_size(&s, conv, size) : size);
}

/* Above so many input channels a stride of up to 2 is a convolution with reversed weights over a spread input. */
#define REVERSED_CHANNELS 16

void nuc_cm_transposed_scratch(const struct nuc_cpu *cpu, const struct nuc_node *conv, size_t *first, size_t *second)
{
    struct sizes s = sizes_of(conv, NUC_ARG(CORTEXM_TRANSPOSE_CONV2D, dilation));

    if (s.stride[0] <= 2 && s.stride[1] <= 2 && s.c > REVERSED_CHANNELS) {
        *first = (size_t)general(cpu->scratch, s.kernel, s.c);
        *second = (size_t)(s.c * s.kernel[0] * s.kernel[1] * s.out_c);
        return;
    }
    int64_t width = (s.w - 1) * s.stride[1] + (s.kernel[1] > s.stride[0] ? s.kernel[1] : s.stride[0]);
    int64_t height = s.kernel[0] > s.stride[0] ? s.kernel[0] : s.stride[0];
    *first = (size_t)(4 * width * s.out_c * height);
    *second = 0;
}
