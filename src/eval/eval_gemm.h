/*
 * The inner loops of convolutions and matrix products. Every sum runs over its products in ascending order; the product
 * is either rounded before it is added or fused with the addition. Sums that do not depend on each other are taken side
 * by side: all versions for the host's vector unit give the same bits as the portable one.
 */
#ifndef NUC_EVAL_EVAL_GEMM_H
#define NUC_EVAL_EVAL_GEMM_H

#include <stdbool.h>
#include <stddef.h>

#define NUC_TILE_ROWS 4
#define NUC_TILE_COLUMNS 16

/* Floats of the vectors that images are copied and finished by. */
#define NUC_VECTOR 8

/*
 * tile[r][j] += a[r * a_stride + i] * panel[i * 16 + j] for i in [0, k) one after the other, for r in [0, rows), rows
 * in [1, 4]. `tile` has four rows of sixteen; rows after `rows` stay unchanged.
 */
typedef void (*nuc_tile_fn)(const float *a, size_t a_stride, const float *panel, size_t k, size_t rows, float *tile);

/* Rows of one matrix times a block of columns of another. */
struct nuc_block {
    const float *a; /* [rows] at a distance of a_stride */
    size_t a_stride;
    const float *b; /* [k][columns] */
    size_t k, rows;
    size_t columns;     /* a multiple of the lanes */
    const float *start; /* [rows]: what the sums of a row begin with */
    float *out;         /* [rows][columns] */
};

/* out[r][j] = start[r] + a[r][0] * b[0][j] + a[r][1] * b[1][j] + ..., in this order. */
typedef void (*nuc_block_fn)(const struct nuc_block *b);

/* The taps of a convolution of a single channel with stride 1. */
struct nuc_taps {
    size_t count;
    const size_t *offsets;
    const float *weights;
    float start;
};

/* Positions are computed so many at a time. */
#define NUC_TAPS_STEP ((size_t)4 * NUC_VECTOR)

/*
 * out[i] = start + weights[0] * in[offsets[0] + i] + weights[1] * in[offsets[1] + i] + ..., in this order, for i in
 * [0, count). `count` is a multiple of NUC_TAPS_STEP.
 */
typedef void (*nuc_taps_fn)(const struct nuc_taps *t, const float *in, size_t count, float *out);

/*
 * What becomes of sums while they are in a cache. A bias is added; they are clamped, where a NaN stays; they are
 * rounded to steps from `least` to `most`, the least one for a NaN.
 */
struct nuc_finish {
    bool clamps, rounds;
    float low, high; /* no NaN */
    float inverse, least, most, scale;
};

struct nuc_rows {
    size_t rows, width;
    const float *sums; /* rows at a distance of `pitch` */
    size_t pitch;
    const float *bias; /* of row i at i * bias_step; NULL: none is added */
    size_t bias_step;
    float *out; /* rows at a distance of `out_pitch` */
    size_t out_pitch;
};

typedef void (*nuc_finish_fn)(const struct nuc_finish *f, const struct nuc_rows *r);

/* Within these bounds a float32 sum with 1.5 * 2^23 rounds to an integer. */
#define NUC_ROUNDING_BOUND 4194304.0f /* 2^22 */
#define NUC_ROUNDING_BIAS 12582912.0f

/* The rounding of one float. */
static inline float nuc_round_float(const struct nuc_finish *f, float x)
{
    float v = x * f->inverse;

    v = v > f->least ? v : f->least;
    v = v < f->most ? v : f->most;
    return ((v + NUC_ROUNDING_BIAS) - NUC_ROUNDING_BIAS) * f->scale;
}

struct nuc_gemm {
    size_t lanes; /* floats of the vectors that sums are computed in */
    nuc_tile_fn tile;
    nuc_block_fn block;
    nuc_taps_fn taps;
    nuc_finish_fn finish;
};

/* fused: one rounding for product and addition, as fmaf(). portable: plain C, else the fastest the host can run. */
struct nuc_gemm nuc_gemm_select(bool fused, bool portable);

/* Panels that hold so many columns. */
static inline size_t nuc_panel_count(size_t columns)
{
    return (columns + NUC_TILE_COLUMNS - 1) / NUC_TILE_COLUMNS;
}

/*
 * A panel [k][16] of up to sixteen columns of a matrix whose element (i, j) is b[i * k_stride + j * column_stride]; one
 * of fewer is filled up with zeros.
 */
void nuc_pack_panel(const float *b, size_t k, size_t columns, size_t k_stride, size_t column_stride, float *panel);

#endif
