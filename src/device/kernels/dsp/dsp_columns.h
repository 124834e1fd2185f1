/*
 * The inner product of convolutions: columns of input elements, one for each of five output pixels, widened to 16 bits
 * once and used by every output channel.
 *
 * A column block holds 4 elements k .. k + 3 of each pixel: first the words (k, k + 2) of all pixels, then their words
 * (k + 1, k + 3), which is the order in which the instructions widen four weights.
 */
#ifndef NUC_DEVICE_KERNELS_DSP_DSP_COLUMNS_H
#define NUC_DEVICE_KERNELS_DSP_DSP_COLUMNS_H

#include "device/kernels/ref_s8/quantized.h"

/* As many sums as registers are left for, next to as many inputs. */
#define NUC_COLUMN_PIXELS 5
#define NUC_COLUMN_BLOCK (2 * NUC_COLUMN_PIXELS) /* words */

/* Widens `blocks` times 4 elements at `in` for one pixel of blocks of `width` pixels, `offset` added (both lanes). */
void nuc_dsp_widen(const int8_t *in, uint32_t offset, int32_t blocks, int32_t width, uint32_t *out);

/* The same for five pixels `step` elements apart, in blocks of five. */
void nuc_dsp_widen_five(const int8_t *in, ptrdiff_t step, uint32_t offset, int32_t blocks, uint32_t *out);

/* Copies `count` elements of each, in words: up to 3 are read and written beyond. `line`: from one copy to the next. */
void nuc_dsp_copy_five(const int8_t *from, ptrdiff_t step, int8_t *to, ptrdiff_t line, int32_t count);

/* Rows of weights against columns, or against a part of them. dsp_columns_m33.S reads the structure. */
struct nuc_dot {
    const uint32_t *columns;
    int32_t blocks; /* from 1 */
    const int8_t *weight;
    ptrdiff_t row;       /* from one row of weights to the next */
    const int32_t *bias; /* what the sums of each row begin with; NULL: with what they are */
    int32_t *sums;       /* rows x NUC_COLUMN_PIXELS */
    int32_t rows;        /* from 1 */

    int8_t *out; /* results of what nuc_dsp_fuses(), a row's pixels `step` apart; NULL: sums are stored instead */
    ptrdiff_t step;
    const int32_t *multipliers, *shifts; /* of the rows; or a table of nuc_dsp_tabulate() and NULL */
    int32_t offset;                      /* twice that of the results, and one */
};

/* Of a row. Beside the shift in the first one: whether it is the last row, and above, how far it is to the next row. */
#define NUC_SCALE_WORDS 4
#define NUC_LAST_ROW 256

/* What rescaling and the sums of the next row take, row by row, of rows with a bias. */
void nuc_dsp_tabulate(const struct nuc_dot *d, int32_t *table);

void nuc_dsp_dot(const struct nuc_dot *d);

/*
 * Whether sums of `count` products of an int8 input with offset and an int8 weight, plus the bias, can be rescaled in
 * one multiply and one shift in every channel.
 */
bool nuc_dsp_fuses(const struct nuc_rescale *r, const int32_t *bias, int32_t channels, int32_t count);

/* Memory for columns and sums; what convolutions have on the stack. */
struct nuc_workspace {
    uint32_t *words;
    size_t count;
};
#define NUC_WORKSPACE_WORDS 724

/* nuc_dsp_clamp() of the whole result. */
void nuc_dsp_clamp_conv(const struct nuc_conv_s8 *c, int8_t *out);

/*
 * Output channels [first, last) of a convolution; `weight` is the first one's row, `row` leads to the next. A grouped
 * one takes all channels. Rows of a length that is no multiple of 4 are read up to 3 elements beyond their end, but the
 * last one of all channels. Results are not clamped further than to int8.
 */
void nuc_dsp_conv_channels(const struct nuc_conv_s8 *c, int32_t first, int32_t last, const struct nuc_workspace *space,
                           const int8_t *in, const int8_t *weight, ptrdiff_t row, int8_t *out);

/* A transposed convolution without groups, pixel by pixel of the result: a row of products for each tap. The same. */
void nuc_dsp_transposed_pixels(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out);

/* A depthwise convolution of one input channel, whose kernel has at most so many taps. */
#define NUC_ONE_CHANNEL_TAPS 128
void nuc_dsp_conv_one_channel(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out);

#endif
