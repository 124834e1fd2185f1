#include "compiler/eval/eval_order.h"

/* Below this many input elements a small kernel on a single image goes to torch's own convolution. */
#define NATIVE_ELEMENTS 20480

/* Channels of one register in oneDNN's blocked layouts. */
#define LANES 16

static bool is_pointwise(const struct nuc_conv_facts *f)
{
    return f->kernel[0] * f->kernel[1] * f->kernel[2] == 1;
}

/* ---- conditions ---- */

static bool is_depthwise(const struct nuc_conv_facts *f)
{
    return f->groups > 1 && f->in_channels == 1 && f->out_channels == 1 && !f->transposed;
}

/* torch's Convolution.cpp, ConvParams::use_mkldnn(): what is not worth oneDNN's reordering. */
static bool is_native(const struct nuc_conv_facts *f)
{
    return f->groups == 1 && f->batch == 1 && !(f->kernel[1] > 3 && f->kernel[2] > 3) &&
           f->in_elements <= NATIVE_ELEMENTS;
}

static bool is_native_transposed(const struct nuc_conv_facts *f)
{
    return f->transposed && is_native(f);
}

static bool is_channels_last(const struct nuc_conv_facts *f)
{
    return f->channels_last;
}

static bool is_native_channels_last(const struct nuc_conv_facts *f)
{
    return is_native(f) && f->channels_last;
}

static bool is_depthwise_channels_last(const struct nuc_conv_facts *f)
{
    return is_depthwise(f) && f->channels_last;
}

static bool is_single_channel_channels_last(const struct nuc_conv_facts *f)
{
    return f->in_channels == 1 && f->channels_last;
}

static bool is_pointwise_dense(const struct nuc_conv_facts *f)
{
    return is_pointwise(f) && f->stride[0] * f->stride[1] * f->stride[2] == 1 && !f->transposed;
}

static bool is_any(const struct nuc_conv_facts *f)
{
    (void)f;
    return true;
}

/* ---- channels of a block ---- */

static size_t block_of_lanes(const struct nuc_conv_facts *f)
{
    (void)f;
    return LANES;
}

/* oneDNN's jit_avx512_common_1x1_conv_kernel: reduce_blocking of a single image on few threads. */
static size_t pointwise_block(const struct nuc_conv_facts *f)
{
    size_t rows = f->out[0] * f->out[1];

    if (rows <= 10)
        return 256;
    return f->out_channels <= 256 && rows < 28 ? 80 : 512;
}

/* ---- rules: the first row whose condition holds ---- */

struct rule {
    bool (*applies)(const struct nuc_conv_facts *f);
    struct nuc_order order;
    size_t (*block)(const struct nuc_conv_facts *f); /* NULL: all channels together */
};

struct nuc_order nuc_conv_order(const struct nuc_conv_facts *f)
{
    static const struct rule rules[] = {
        {is_native_transposed, {.taps = NUC_TAPS_BACKWARDS, .tap_sums = true}, NULL},
        {is_depthwise_channels_last, {.fused = true, .taps = NUC_CHANNELS_INNERMOST}, NULL},
        {is_depthwise, {.fused = true, .bias_first = true, .taps = NUC_CHANNELS_INNERMOST}, NULL},
        {is_native_channels_last, {.taps = NUC_CHANNELS_INNERMOST}, NULL},
        {is_native, {.bias_first = true, .taps = NUC_CHANNELS_OUTERMOST}, NULL},
        {is_single_channel_channels_last, {.fused = true, .taps = NUC_COLUMNS_OUTERMOST}, NULL},
        {is_channels_last, {.fused = true, .taps = NUC_CHANNELS_INNERMOST}, NULL},
        {is_pointwise_dense, {.fused = true, .bias_first = true, .taps = NUC_CHANNELS_INNERMOST}, pointwise_block},
        {is_any, {.fused = true, .taps = NUC_CHANNELS_INNERMOST}, block_of_lanes},
    };
    const struct rule *rule = rules;

    while (!rule->applies(f))
        rule++;
    struct nuc_order order = rule->order;
    order.block = rule->block == NULL ? 0 : rule->block(f);
    return order;
}

/* torch's own gemm: dot products when the columns lie together, else the result is updated row by row. */
struct nuc_order nuc_matrix_order(bool columns_together)
{
    return (struct nuc_order){.bias_first = !columns_together};
}
