#include "eval/eval_order.h"

/* Below this many input elements a small kernel on a single image goes to torch's own convolution. */
#define NATIVE_ELEMENTS 20480

/* Channels of one register in oneDNN's blocked layouts. */
#define LANES 16

/* ---- conditions ---- */

enum {
    NATIVE = 1,
    CHANNELS_LAST = 2,
    TRANSPOSED = 4,
    DEPTHWISE = 8,
    SINGLE_CHANNEL = 16,
    DENSE_POINTWISE = 32,
};

/* torch's Convolution.cpp, ConvParams::use_mkldnn(): what is not worth oneDNN's reordering. */
static bool is_native(const struct nuc_conv_facts *f)
{
    return f->groups == 1 && f->batch == 1 && !(f->kernel[1] > 3 && f->kernel[2] > 3) &&
           f->in_elements <= NATIVE_ELEMENTS;
}

static bool are_ones(const size_t sizes[3])
{
    return sizes[0] * sizes[1] * sizes[2] == 1;
}

/* Which of them hold, as a mask. */
static unsigned conditions(const struct nuc_conv_facts *f)
{
    bool depthwise = f->groups > 1 && f->in_channels == 1 && f->out_channels == 1 && !f->transposed;
    bool dense = are_ones(f->kernel) && are_ones(f->stride) && !f->transposed;

    return (is_native(f) ? NATIVE : 0u) | (f->channels_last ? CHANNELS_LAST : 0u) | (f->transposed ? TRANSPOSED : 0u) |
           (depthwise ? DEPTHWISE : 0u) | (f->in_channels == 1 ? SINGLE_CHANNEL : 0u) | (dense ? DENSE_POINTWISE : 0u);
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

/* ---- rules: the first row whose conditions all hold ---- */

struct rule {
    unsigned conditions;
    struct nuc_order order;
    size_t (*block)(const struct nuc_conv_facts *f); /* NULL: all channels together */
};

struct nuc_order nuc_conv_order(const struct nuc_conv_facts *f)
{
    static const struct rule rules[] = {
        {NATIVE | TRANSPOSED, {.taps = NUC_TAPS_BACKWARDS, .tap_sums = true}, NULL},
        {DEPTHWISE | CHANNELS_LAST, {.fused = true, .taps = NUC_CHANNELS_INNERMOST}, NULL},
        {DEPTHWISE, {.fused = true, .bias_first = true, .taps = NUC_CHANNELS_INNERMOST}, NULL},
        {NATIVE | CHANNELS_LAST, {.taps = NUC_CHANNELS_INNERMOST}, NULL},
        {NATIVE, {.bias_first = true, .taps = NUC_CHANNELS_OUTERMOST}, NULL},
        {SINGLE_CHANNEL | CHANNELS_LAST, {.fused = true, .taps = NUC_COLUMNS_OUTERMOST}, NULL},
        {CHANNELS_LAST, {.fused = true, .taps = NUC_CHANNELS_INNERMOST}, NULL},
        {DENSE_POINTWISE, {.fused = true, .bias_first = true, .taps = NUC_CHANNELS_INNERMOST}, pointwise_block},
        {0, {.fused = true, .taps = NUC_CHANNELS_INNERMOST}, block_of_lanes},
    };
    const struct rule *rule = rules;

    while ((rule->conditions & ~conditions(f)) != 0)
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
