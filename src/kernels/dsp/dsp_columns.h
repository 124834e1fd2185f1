/*
 * The inner product of convolutions: columns of input elements, one for each of 4 or 2 output pixels, widened to 16
 * bits once and used by every output channel.
 *
 * A column block holds 4 elements k .. k + 3 of each pixel: first the words (k, k + 2) of all pixels, then their words
 * (k + 1, k + 3), which is the order in which the instructions widen four weights.
 */
#ifndef NUC_KERNELS_DSP_COLUMNS_H
#define NUC_KERNELS_DSP_COLUMNS_H

#include "kernels/dsp/packed.h"
#include "kernels/dsp/rescale.h"

/* Rows of weights against columns, for one group of output pixels. */
struct nuc_columns {
    const uint32_t *data; /* blocks of 8 or 4 words */
    int32_t depth;        /* elements of a column; the last block is filled with zeros */
    int32_t pixels;       /* 1 to the width of the blocks: how many of them are stored */
    int32_t first, last;  /* output channels */
    ptrdiff_t out_step;   /* from one pixel's results to the next's */
};

/* Widens `blocks` times 4 elements at `in` for one pixel of blocks of `width` pixels, `offset` added (both lanes). */
void nuc_dsp_widen(const int8_t *in, uint32_t offset, int32_t blocks, int32_t width, uint32_t *out);

/*
 * out[pixel * out_step + o] for each output channel o of the columns; `weight` is the first one's row. The 4-pixel form
 * reads blocks of 4 pixels, the 2-pixel form of 2.
 */
void nuc_dsp_multiply_4(const struct nuc_columns *c, const struct nuc_rescale *r, const int32_t *bias,
                        const int8_t *weight, int8_t *out);
void nuc_dsp_multiply_2(const struct nuc_columns *c, const struct nuc_rescale *r, const int32_t *bias,
                        const int8_t *weight, int8_t *out);

/* Memory for columns that do not fit the operator's scratch. */
struct nuc_workspace {
    uint32_t *words;
    size_t count;
};

/*
 * Output channels [first, last) of a convolution that nuc_dsp_scales() allows; `weight` is the first one's row. A
 * grouped one takes all channels. False when there is no memory for two columns; nothing is written then.
 */
bool nuc_dsp_conv_channels(const struct nuc_conv_s8 *c, int32_t first, int32_t last, const struct nuc_workspace *space,
                           const int8_t *in, const int8_t *weight, int8_t *out);

#endif
