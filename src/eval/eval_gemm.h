/*
 * The inner products of convolutions and matrix products: four rows of one matrix times a panel of sixteen columns of
 * another. Every sum runs over k in ascending order; the product is either rounded before it is added or fused with
 * the addition. All versions for the host's vector unit give the same bits as the portable one.
 */
#ifndef NUC_EVAL_EVAL_GEMM_H
#define NUC_EVAL_EVAL_GEMM_H

#include <stdbool.h>
#include <stddef.h>

#define NUC_TILE_ROWS 4
#define NUC_TILE_COLUMNS 16

/*
 * tile[r][j] += a[r * a_stride + i] * panel[i * 16 + j] for i in [0, k) one after the other, for r in [0, rows), rows
 * in [1, 4]. `tile` has four rows of sixteen; rows after `rows` stay unchanged.
 */
typedef void (*nuc_tile_fn)(const float *a, size_t a_stride, const float *panel, size_t k, size_t rows, float *tile);

/* The taps of a convolution of a single channel: a sum begins with `start`. */
struct nuc_taps {
    size_t count;
    const size_t *offsets;
    const float *weights;
    float start;
    size_t stride;
};

/* out[i] = start + weights[0] * in[offsets[0] + i * stride] + weights[1] * ..., in this order, for i in [0, count). */
typedef void (*nuc_sum_taps_fn)(float *out, const float *in, const struct nuc_taps *taps, size_t count);

struct nuc_gemm {
    nuc_tile_fn tile;
    nuc_sum_taps_fn sum_taps;
};

/* fused: one rounding for product and addition, as fmaf(). portable: plain C, else the fastest the host can run. */
struct nuc_gemm nuc_gemm_select(bool fused, bool portable);

/* Panels that hold so many columns. */
static inline size_t nuc_panel_count(size_t columns)
{
    return (columns + NUC_TILE_COLUMNS - 1) / NUC_TILE_COLUMNS;
}

/* Floats of all panels of a matrix with `k` rows and `columns` columns. */
size_t nuc_panels_size(size_t k, size_t columns);

/*
 * Repacks a matrix whose element (i, j) is b[i * k_stride + j * column_stride] into panels [columns / 16][k][16]; the
 * last panel is filled up with zeros.
 */
void nuc_pack_panels(const float *b, size_t k, size_t columns, size_t k_stride, size_t column_stride, float *panels);

#endif
