/*
 * Products of int8 vectors: three inputs against rows of weights, or one input. Sixteen products are one instruction,
 * of numbers without their offsets: the offset of the input times the sum of a row of weights is added to the sums.
 */
#ifndef NUC_DEVICE_KERNELS_MVE_MVE_DOT_H
#define NUC_DEVICE_KERNELS_MVE_MVE_DOT_H

#include "device/kernels/mve/vector.h"
#include "device/kernels/ref_s8/quantized.h"

#define NUC_DOT_INPUTS 3 /* as many as registers are left for, next to sums of two rows */
#define NUC_DOT_ROWS 64  /* of weights at a time, an even number */

/* Rows of weights, one for each output channel. */
struct nuc_dot_rows {
    const int8_t *weight;
    ptrdiff_t row;       /* from one row to the next */
    int32_t depth;       /* elements of a row, from 1 */
    int32_t rows;        /* 1 to NUC_DOT_ROWS */
    int32_t offset;      /* of the inputs */
    const int32_t *bias; /* of the rows, or NULL */
    const struct nuc_rescale *rescale;
    int32_t first; /* output channel */
};

/* What is added to the sums of each row, and the sums. */
struct nuc_dot_sums {
    bool left; /* a channel is shifted to the left */
    int32_t adds[NUC_DOT_ROWS];
    int32_t of[NUC_DOT_INPUTS][NUC_DOT_ROWS];
};

/* adds[r] = bias of the row + offset * sum of the row + more */
void nuc_mve_dot_begin(const struct nuc_dot_rows *d, int32_t more, struct nuc_dot_sums *s);

/* of[i][r] = products of input i and row r; the inputs may be the same. */
void nuc_mve_dot_three(const struct nuc_dot_rows *d, const int8_t *const x[NUC_DOT_INPUTS], struct nuc_dot_sums *s);

/* The same of of[0] alone. */
void nuc_mve_dot_one(const struct nuc_dot_rows *d, const int8_t *x, struct nuc_dot_sums *s);

/* Sums to results of `inputs` inputs and all rows: to out + i * step. */
void nuc_mve_dot_finish(const struct nuc_dot_rows *d, const struct nuc_dot_sums *s, int32_t inputs, int8_t *out,
                        ptrdiff_t step);

/* A depthwise convolution of one input channel; false: the memory does not suffice, and nothing is computed. */
bool nuc_mve_conv_one_channel(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out);

/* ---- the inner loops; mve_dot_m55.S reads the structures ---- */

struct nuc_dot_pairs {
    ptrdiff_t row;
    int32_t depth;
    const int8_t *x[NUC_DOT_INPUTS];
    int32_t *end; /* of the first input's sums */
    const int8_t *weight;
    int32_t *sums; /* the first input's; the others' lie NUC_DOT_ROWS further each */
};

/* Pairs of rows, from one pair on. */
void nuc_mve_dot_pairs(const struct nuc_dot_pairs *p);

struct nuc_dot_fours {
    const int8_t *x;
    int32_t *end; /* of the sums */
    const int8_t *weight;
    ptrdiff_t row;
    int32_t depth;
    int32_t *sums;
};

/* Windows of one vector, of channels whose weights lie NUC_WINDOW_BYTES apart and whose sums lie side by side. */
#define NUC_WINDOW_BYTES 64
#define NUC_WINDOW_CHANNELS NUC_LANES_W

struct nuc_window_sums {
    const int8_t *at; /* the first window of the first channel */
    const int8_t *weights;
    int32_t *sums;     /* NUC_WINDOW_CHANNELS of each window */
    int32_t count;     /* windows, from 1 */
    ptrdiff_t step;    /* from one window to the next */
    ptrdiff_t channel; /* from one channel to the next */
    int32_t channels;  /* from 1 */
};

void nuc_mve_sum_windows(const struct nuc_window_sums *s);

/* Four rows at a time, from four on. */
void nuc_mve_dot_fours(const struct nuc_dot_fours *f);

/* The sums of the rows themselves; without x. */
void nuc_mve_sum_fours(const struct nuc_dot_fours *f);

#endif
