#include "eval/eval_gemm.h"

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

/* Sums of positions that lie side by side, in four vectors at a time, then in one, then one by one. */
static inline __attribute__((always_inline)) void sum_taps(float *out, const float *in, const struct nuc_taps *t,
                                                           size_t count)
{
    size_t i = 0;

    for (; t->stride == 1 && count - i >= 4 * HALF; i += 4 * HALF) {
        vector c0 = {0};
        c0 += t->start;
        vector c1 = c0, c2 = c0, c3 = c0;
        for (size_t k = 0; k < t->count; k++) {
            const float *from = in + t->offsets[k] + i;
            c0 += t->weights[k] * LOAD(from);
            c1 += t->weights[k] * LOAD(from + HALF);
            c2 += t->weights[k] * LOAD(from + 2 * HALF);
            c3 += t->weights[k] * LOAD(from + 3 * HALF);
        }
        STORE(out + i, c0);
        STORE(out + i + HALF, c1);
        STORE(out + i + 2 * HALF, c2);
        STORE(out + i + 3 * HALF, c3);
    }
    for (; t->stride == 1 && count - i >= HALF; i += HALF) {
        vector c = {0};
        c += t->start;
        for (size_t k = 0; k < t->count; k++)
            c += t->weights[k] * LOAD(in + t->offsets[k] + i);
        STORE(out + i, c);
    }
    for (; i < count; i++) {
        float c = t->start;
        for (size_t k = 0; k < t->count; k++)
            c += t->weights[k] * in[t->offsets[k] + i * t->stride];
        out[i] = c;
    }
}

static void tile_portable(const float *a, size_t a_stride, const float *panel, size_t k, size_t rows, float *tile)
{
    any_rows(a, a_stride, panel, k, rows, tile);
}

static void sum_taps_portable(float *out, const float *in, const struct nuc_taps *t, size_t count)
{
    sum_taps(out, in, t, count);
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

static void sum_taps_fused_portable(float *out, const float *in, const struct nuc_taps *t, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = t->start;
        for (size_t k = 0; k < t->count; k++)
            out[i] = fmaf(t->weights[k], in[t->offsets[k] + i * t->stride], out[i]);
    }
}

/* ---- x86-64 ---- */

#if defined(__x86_64__)
/* Without "fma", so that products are rounded before they are added. */
__attribute__((target("avx2"))) static void tile_avx2(const float *a, size_t a_stride, const float *panel, size_t k,
                                                      size_t rows, float *tile)
{
    any_rows(a, a_stride, panel, k, rows, tile);
}

__attribute__((target("avx2"))) static void sum_taps_avx2(float *out, const float *in, const struct nuc_taps *t,
                                                          size_t count)
{
    sum_taps(out, in, t, count);
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

/* Every second of sixteen floats. */
__attribute__((target("avx2,fma"))) static inline __m256 every_second(const float *from)
{
    __m256 mixed = _mm256_shuffle_ps(_mm256_loadu_ps(from), _mm256_loadu_ps(from + HALF), 0x88);

    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(mixed), 0xd8));
}

__attribute__((target("avx2,fma"))) static void sum_taps_fma(float *out, const float *in, const struct nuc_taps *t,
                                                             size_t count)
{
    size_t i = 0;

    for (; t->stride == 1 && count - i >= 4 * HALF; i += 4 * HALF) {
        __m256 c0 = _mm256_set1_ps(t->start), c1 = c0, c2 = c0, c3 = c0;
        for (size_t k = 0; k < t->count; k++) {
            const float *from = in + t->offsets[k] + i;
            __m256 w = _mm256_broadcast_ss(t->weights + k);
            c0 = _mm256_fmadd_ps(w, _mm256_loadu_ps(from), c0);
            c1 = _mm256_fmadd_ps(w, _mm256_loadu_ps(from + HALF), c1);
            c2 = _mm256_fmadd_ps(w, _mm256_loadu_ps(from + 2 * HALF), c2);
            c3 = _mm256_fmadd_ps(w, _mm256_loadu_ps(from + 3 * HALF), c3);
        }
        _mm256_storeu_ps(out + i, c0);
        _mm256_storeu_ps(out + i + HALF, c1);
        _mm256_storeu_ps(out + i + 2 * HALF, c2);
        _mm256_storeu_ps(out + i + 3 * HALF, c3);
    }
    for (; t->stride == 1 && count - i >= HALF; i += HALF) {
        __m256 c = _mm256_set1_ps(t->start);
        for (size_t k = 0; k < t->count; k++)
            c = _mm256_fmadd_ps(_mm256_broadcast_ss(t->weights + k), _mm256_loadu_ps(in + t->offsets[k] + i), c);
        _mm256_storeu_ps(out + i, c);
    }
    /* The sixteenth float is read only where a position after these is. */
    for (; t->stride == 2 && count - i > HALF; i += HALF) {
        __m256 c = _mm256_set1_ps(t->start);
        for (size_t k = 0; k < t->count; k++)
            c = _mm256_fmadd_ps(_mm256_broadcast_ss(t->weights + k), every_second(in + t->offsets[k] + 2 * i), c);
        _mm256_storeu_ps(out + i, c);
    }
    for (; i < count; i++) {
        __m128 c = _mm_set_ss(t->start);
        for (size_t k = 0; k < t->count; k++)
            c = _mm_fmadd_ss(_mm_set_ss(t->weights[k]), _mm_set_ss(in[t->offsets[k] + i * t->stride]), c);
        out[i] = _mm_cvtss_f32(c);
    }
}

struct nuc_gemm nuc_gemm_select(bool fused, bool portable)
{
    bool vectors = !portable && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");

    if (fused)
        return vectors ? (struct nuc_gemm){tile_fma, sum_taps_fma}
                       : (struct nuc_gemm){tile_fused_portable, sum_taps_fused_portable};
    return vectors ? (struct nuc_gemm){tile_avx2, sum_taps_avx2} : (struct nuc_gemm){tile_portable, sum_taps_portable};
}
#else
struct nuc_gemm nuc_gemm_select(bool fused, bool portable)
{
    (void)portable;
    return fused ? (struct nuc_gemm){tile_fused_portable, sum_taps_fused_portable}
                 : (struct nuc_gemm){tile_portable, sum_taps_portable};
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
