#include "compiler/eval/eval_gemm.h"

#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define HALF (NUC_TILE_COLUMNS / 2)

/* ---- products rounded before they are added ---- */

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
    vector c00 = LOAD(tile), c01 = LOAD(tile + HALF), c10 = LOAD(tile + 2 * HALF), c11 = LOAD(tile + 3 * HALF);
    vector c20 = LOAD(tile + 4 * HALF), c21 = LOAD(tile + 5 * HALF), c30 = LOAD(tile + 6 * HALF);
    vector c31 = LOAD(tile + 7 * HALF);

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
    vector c0 = LOAD(tile), c1 = LOAD(tile + HALF);

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

static void tile_portable(const float *a, size_t a_stride, const float *panel, size_t k, size_t rows, float *tile)
{
    any_rows(a, a_stride, panel, k, rows, tile);
}

static void add_scaled_portable(float *out, const float *in, float scale, size_t count, size_t stride)
{
    add_scaled(out, in, scale, count, stride);
}

/* ---- fused, without the instruction at hand: exact, and slow where the C library computes it in software ---- */

static void tile_fused_portable(const float *a, size_t a_stride, const float *panel, size_t k, size_t rows, float *tile)
{
    for (size_t r = 0; r < rows; r++, a += a_stride, tile += NUC_TILE_COLUMNS) {
        for (size_t i = 0; i < k; i++) {
            for (size_t j = 0; j < NUC_TILE_COLUMNS; j++)
                tile[j] = fmaf(a[i], panel[i * NUC_TILE_COLUMNS + j], tile[j]);
        }
    }
}

static void add_scaled_fused_portable(float *out, const float *in, float scale, size_t count, size_t stride)
{
    for (size_t i = 0; i < count; i++)
        out[i] = fmaf(scale, in[i * stride], out[i]);
}

/* ---- x86-64 ---- */

#if defined(__x86_64__)
/* Without "fma", so that products are rounded before they are added. */
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

__attribute__((target("avx2,fma"))) static void four_rows_fma(const float *a, size_t a_stride, const float *panel,
                                                              size_t k, float *tile)
{
    __m256 c00 = _mm256_loadu_ps(tile), c01 = _mm256_loadu_ps(tile + HALF);
    __m256 c10 = _mm256_loadu_ps(tile + 2 * HALF), c11 = _mm256_loadu_ps(tile + 3 * HALF);
    __m256 c20 = _mm256_loadu_ps(tile + 4 * HALF), c21 = _mm256_loadu_ps(tile + 5 * HALF);
    __m256 c30 = _mm256_loadu_ps(tile + 6 * HALF), c31 = _mm256_loadu_ps(tile + 7 * HALF);

    for (size_t i = 0; i < k; i++, panel += NUC_TILE_COLUMNS) {
        __m256 b0 = _mm256_loadu_ps(panel), b1 = _mm256_loadu_ps(panel + HALF);
        __m256 a0 = _mm256_broadcast_ss(a + i), a1 = _mm256_broadcast_ss(a + a_stride + i);
        __m256 a2 = _mm256_broadcast_ss(a + 2 * a_stride + i), a3 = _mm256_broadcast_ss(a + 3 * a_stride + i);
        c00 = _mm256_fmadd_ps(a0, b0, c00);
        c01 = _mm256_fmadd_ps(a0, b1, c01);
        c10 = _mm256_fmadd_ps(a1, b0, c10);
        c11 = _mm256_fmadd_ps(a1, b1, c11);
        c20 = _mm256_fmadd_ps(a2, b0, c20);
        c21 = _mm256_fmadd_ps(a2, b1, c21);
        c30 = _mm256_fmadd_ps(a3, b0, c30);
        c31 = _mm256_fmadd_ps(a3, b1, c31);
    }
    _mm256_storeu_ps(tile, c00);
    _mm256_storeu_ps(tile + HALF, c01);
    _mm256_storeu_ps(tile + 2 * HALF, c10);
    _mm256_storeu_ps(tile + 3 * HALF, c11);
    _mm256_storeu_ps(tile + 4 * HALF, c20);
    _mm256_storeu_ps(tile + 5 * HALF, c21);
    _mm256_storeu_ps(tile + 6 * HALF, c30);
    _mm256_storeu_ps(tile + 7 * HALF, c31);
}

__attribute__((target("avx2,fma"))) static void tile_fma(const float *a, size_t a_stride, const float *panel, size_t k,
                                                         size_t rows, float *tile)
{
    if (rows == NUC_TILE_ROWS) {
        four_rows_fma(a, a_stride, panel, k, tile);
        return;
    }
    for (size_t r = 0; r < rows; r++, a += a_stride, tile += NUC_TILE_COLUMNS) {
        __m256 c0 = _mm256_loadu_ps(tile), c1 = _mm256_loadu_ps(tile + HALF);
        for (size_t i = 0; i < k; i++) {
            __m256 x = _mm256_broadcast_ss(a + i);
            c0 = _mm256_fmadd_ps(x, _mm256_loadu_ps(panel + i * NUC_TILE_COLUMNS), c0);
            c1 = _mm256_fmadd_ps(x, _mm256_loadu_ps(panel + i * NUC_TILE_COLUMNS + HALF), c1);
        }
        _mm256_storeu_ps(tile, c0);
        _mm256_storeu_ps(tile + HALF, c1);
    }
}

__attribute__((target("avx2,fma"))) static void add_scaled_fma(float *out, const float *in, float scale, size_t count,
                                                               size_t stride)
{
    __m256 x = _mm256_set1_ps(scale);
    size_t i = 0;

    for (; stride == 1 && count - i >= HALF; i += HALF)
        _mm256_storeu_ps(out + i, _mm256_fmadd_ps(x, _mm256_loadu_ps(in + i), _mm256_loadu_ps(out + i)));
    for (; i < count; i++)
        out[i] = _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(scale), _mm_set_ss(in[i * stride]), _mm_set_ss(out[i])));
}

struct nuc_gemm nuc_gemm_select(bool fused, bool portable)
{
    bool vectors = !portable && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");

    if (fused)
        return vectors ? (struct nuc_gemm){tile_fma, add_scaled_fma}
                       : (struct nuc_gemm){tile_fused_portable, add_scaled_fused_portable};
    return vectors ? (struct nuc_gemm){tile_avx2, add_scaled_avx2}
                   : (struct nuc_gemm){tile_portable, add_scaled_portable};
}
#else
struct nuc_gemm nuc_gemm_select(bool fused, bool portable)
{
    (void)portable;
    return fused ? (struct nuc_gemm){tile_fused_portable, add_scaled_fused_portable}
                 : (struct nuc_gemm){tile_portable, add_scaled_portable};
}
#endif

size_t nuc_panels_size(size_t k, size_t columns)
{
    return nuc_panel_count(columns) * NUC_TILE_COLUMNS * k;
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
