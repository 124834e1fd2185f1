/* The inner loops of matrix products: a row of widened input against rows of weights, three at a time. */
#ifndef NUC_DEVICE_KERNELS_DSP_DSP_ROWS_H
#define NUC_DEVICE_KERNELS_DSP_DSP_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "device/kernels/dsp/fused_scale.h"

/* dsp_rows_m33.S reads the structure. Rows of weights begin at whole words. */
struct nuc_row_triples {
    const uint32_t *x; /* the input, in blocks of 8 elements: words of elements (0, 2), (1, 3), (4, 6), (5, 7) */
    int8_t *out;       /* results by nuc_fused_twice() of saturated sums; NULL: sums are stored instead */
    int32_t *sums;     /* one a row, begun with; the number of rows is a multiple of 3, from 3 */
    struct nuc_fused f;
    ptrdiff_t step; /* from the end of a row's blocks to the row after the next two */
    const int8_t *weight;
    ptrdiff_t stride;   /* from row to row */
    int32_t blocks;     /* from 1 */
    const int32_t *end; /* of the sums */
};

/* Widens that many blocks of 8 elements, from 0, of any address; `offset`: both lanes. */
void nuc_dsp_widen_row(const int8_t *in, uint32_t offset, int32_t blocks, uint32_t *x);

void nuc_dsp_multiply_triples(const struct nuc_row_triples *t);

/*
 * Adds to sums[k] the product of `depth` widened elements, aligned to 4, with row k of `rows`, `stride` bytes after the
 * one before. Of the elements, those of whole blocks of 4 lie as above, up to three more one after the other. Sums
 * wrap.
 */
void nuc_dsp_multiply_rows(const int16_t *x, int32_t depth, const int8_t *weight, int32_t stride, int32_t rows,
                           int32_t *sums);

/*
 * Results of sums, of which there is at least one, each with its own scale; `odd`: twice the offset, and one. They hold
 * only where what is returned is within [0, NUC_EACH_SHIFT): all numbers that are one less than a shift to the right,
 * or-ed, and all bits where a multiplier is negative. Doubles of sums saturate, as results do then of multipliers from
 * 2^30 on, which all are but 0.
 */
#define NUC_EACH_SHIFT 16
int32_t nuc_dsp_rescale_each(const int32_t *sums, const int32_t *multipliers, const int32_t *shifts, int32_t odd,
                             int8_t *out, const int8_t *end);

#endif
