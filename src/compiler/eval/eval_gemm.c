#include "compiler/eval/eval_gemm.h"

#include <string.h>

#define HALF (NUC_TILE_COLUMNS / 2)

/* Eight floats: one AVX register, or two SSE or NEON registers. */
typedef float vector __attribute__((vector_size(32)));

/* Unaligned, and allowed to read an array of float. */
typedef float loose_vector __attribute__((vector_size(32), aligned(4), may_alias));

#define LOAD(p) (*(const loose_vector *)(p))
#define STORE(p, v) (*(loose_vector *)(p) = (v))

static inline __attribute__((always_inline)) void four_rows(const float *a, size_t a_stride, const float *panel,
                                                            size_t k, float *tile)
{
    const float *a1 = a + a_stride, *a2 = a1 + a_stride, *a3 = a2 + a_stride;
    vector c00 = {0}, c01 = {0}, c10 = {0}, c11 = {0}, c20 = {0}, c21 = {0}, c30 = {0}, c31 = {0};

    for (size_t i = 0; i < k; i++, panel += NUC_TILE_COLUMNS) {
        vector b0 = LOAD(panel), b1 = LOAD(panel + HALF);
        c00 += a[i] * b0;
        c01 += a[i] * b1;
        c10 += a1[i] * b0;
        c11 += a1[i] * b1;
        c20 += a2[i] * b0;
        c21 += a2[i] * b1;
        c30 += a3[i] * b0;
        c31 += a3[i] * b1;
    }
    STORE(tile, c00);
    STORE(tile + HALF, c01);
    STORE(tile + 2 * HALF, c10);
    STORE(tile + 3 * HALF, c11);
    STORE(tile + 4 * HALF, c20);
    STORE(tile + 5 * HALF, c21);
    STORE(tile + 6 * HALF, c30);
    STORE(tile + 7 * HALF, c31);
}

static inline __attribute__((always_inline)) void one_row(const float *a, const float *panel, size_t k, float *tile)
{
    vector c0 = {0}, c1 = {0};

    for (size_t i = 0; i < k; i++, panel += NUC_TILE_COLUMNS) {
        c0 += a[i] * LOAD(panel);
        c1 += a[i] * LOAD(panel + HALF);
    }
    STORE(tile, c0);
    STORE(tile + HALF, c1);
}

static inline __attribute__((always_inline)) void any_rows(const float *a, size_t a_stride, const float *panel,
                                                           size_t k, size_t rows, float *tile)
{
    if (rows == NUC_TILE_ROWS) {
        four_rows(a, a_stride, panel, k, tile);
        return;
    }
    for (size_t r = 0; r < rows; r++)
        one_row(a + r * a_stride, panel, k, tile + r * NUC_TILE_COLUMNS);
}

static inline __attribute__((always_inline)) void add_scaled(float *restrict out, const float *restrict in, float scale,
                                                             size_t count, size_t stride)
{
    if (stride == 1) {
        for (size_t i = 0; i < count; i++)
            out[i] += scale * in[i];
        return;
    }
    for (size_t i = 0; i < count; i++)
        out[i] += scale * in[i * stride];
}

static void add_scaled_portable(float *out, const float *in, float scale, size_t count, size_t stride)
{
    add_scaled(out, in, scale, count, stride);
}

static void tile_portable(const float *a, size_t a_stride, const float *panel, size_t k, size_t rows, float *tile)
{
    any_rows(a, a_stride, panel, k, rows, tile);
}

#if defined(__x86_64__)
/* Without "fma", so that products are rounded before they are added as everywhere else. */
__attribute__((target("avx2"))) static void tile_avx2(const float *a, size_t a_stride, const float *panel, size_t k,
                                                      size_t rows, float *tile)
{
    any_rows(a, a_stride, panel, k, rows, tile);
}

__attribute__((target("avx2"))) static void add_scaled_avx2(float *out, const float *in, float scale, size_t count,
                                                            size_t stride)
{
    add_scaled(out, in, scale, count, stride);
}

nuc_tile_fn nuc_tile_select(void)
{
    return __builtin_cpu_supports("avx2") ? tile_avx2 : tile_portable;
}

nuc_add_scaled_fn nuc_add_scaled_select(void)
{
    return __builtin_cpu_supports("avx2") ? add_scaled_avx2 : add_scaled_portable;
}
#else
nuc_tile_fn nuc_tile_select(void)
{
    return tile_portable;
}

nuc_add_scaled_fn nuc_add_scaled_select(void)
{
    return add_scaled_portable;
}
#endif

size_t nuc_panels_size(size_t k, size_t columns)
{
    return (columns + NUC_TILE_COLUMNS - 1) / NUC_TILE_COLUMNS * NUC_TILE_COLUMNS * k;
}

void nuc_pack_panels(const float *b, size_t k, size_t columns, size_t k_stride, size_t column_stride, float *panels)
{
    memset(panels, 0, nuc_panels_size(k, columns) * sizeof *panels);
    for (size_t j = 0; j < columns; j++) {
        const float *from = b + j * column_stride;
        float *to = panels + j / NUC_TILE_COLUMNS * NUC_TILE_COLUMNS * k + j % NUC_TILE_COLUMNS;
        for (size_t i = 0; i < k; i++)
            to[i * NUC_TILE_COLUMNS] = from[i * k_stride];
    }
}
