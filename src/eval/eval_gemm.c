#include "eval/eval_gemm.h"

#include <math.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Eight floats: one AVX register, or two SSE or NEON registers. */
typedef float vector __attribute__((vector_size(NUC_VECTOR * sizeof(float))));

/* Unaligned, and allowed to read an array of float. */
typedef float loose_vector __attribute__((vector_size(NUC_VECTOR * sizeof(float)), aligned(4), may_alias));

#define LOAD(p) ((vector) * (const loose_vector *)(p))
#define STORE(p, v) (*(loose_vector *)(p) = (v))
#define SPREAD(x) ((vector){(x), (x), (x), (x), (x), (x), (x), (x)})

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* What a comparison of vectors gives: all bits of an element, or none. */
typedef int32_t mask __attribute__((vector_size(NUC_VECTOR * sizeof(int32_t))));

#define SELECT(condition, a, b) ((vector)(((mask)(a) & (condition)) | ((mask)(b) & ~(condition))))

/* ---- products rounded before they are added ---- */

#define KERNEL(name) name##_portable
#define TARGET
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#define MAXIMUM(a, b) SELECT((a) > (b), a, b)
#define MINIMUM(a, b) SELECT((a) < (b), a, b)
#define MOST_VECTORS 2
#include "eval/eval_kernels.h"

#if defined(__x86_64__)
/* Without "fma". */
#define KERNEL(name) name##_avx2
#define TARGET __attribute__((target("avx2")))
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#define MAXIMUM(a, b) ((vector)_mm256_max_ps(a, b))
#define MINIMUM(a, b) ((vector)_mm256_min_ps(a, b))
#define MOST_VECTORS 3
#include "eval/eval_kernels.h"

/* ---- fused ---- */

#define KERNEL(name) name##_fma
#define TARGET __attribute__((target("avx2,fma")))
#define MULTIPLY_ADD(a, b, c) ((vector)_mm256_fmadd_ps(a, b, c))
#define MAXIMUM(a, b) ((vector)_mm256_max_ps(a, b))
#define MINIMUM(a, b) ((vector)_mm256_min_ps(a, b))
#define MOST_VECTORS 3
#include "eval/eval_kernels.h"
#endif

/* Without the instruction at hand: exact, and slow where the C library computes it in software. */

static void tile_fused_portable(const float *a, size_t a_stride, const float *panel, size_t k, size_t rows, float *tile)
{
    for (size_t r = 0; r < rows; r++, a += a_stride, tile += NUC_TILE_COLUMNS) {
        for (size_t i = 0; i < k; i++) {
            for (size_t j = 0; j < NUC_TILE_COLUMNS; j++)
                tile[j] = fmaf(a[i], panel[i * NUC_TILE_COLUMNS + j], tile[j]);
        }
    }
}

static void block_fused_portable(const struct nuc_block *g)
{
    for (size_t r = 0; r < g->rows; r++) {
        float *out = g->out + r * g->columns;
        for (size_t j = 0; j < g->columns; j++)
            out[j] = g->start[r];
        for (size_t i = 0; i < g->k; i++) {
            for (size_t j = 0; j < g->columns; j++)
                out[j] = fmaf(g->a[r * g->a_stride + i], g->b[i * g->columns + j], out[j]);
        }
    }
}

static void taps_fused_portable(const struct nuc_taps *t, const float *in, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = t->start;
        for (size_t k = 0; k < t->count; k++)
            out[i] = fmaf(t->weights[k], in[t->offsets[k] + i], out[i]);
    }
}

struct nuc_gemm nuc_gemm_select(bool fused, bool portable)
{
#if defined(__x86_64__)
    if (!portable && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return fused ? (struct nuc_gemm){tile_fma, block_fma, taps_fma, finish_fma}
                     : (struct nuc_gemm){tile_avx2, block_avx2, taps_avx2, finish_avx2};
#endif
    (void)portable;
    return fused ? (struct nuc_gemm){tile_fused_portable, block_fused_portable, taps_fused_portable, finish_portable}
                 : (struct nuc_gemm){tile_portable, block_portable, taps_portable, finish_portable};
}

size_t nuc_panels_size(size_t k, size_t columns)
{
    return nuc_panel_count(columns) * NUC_TILE_COLUMNS * k;
}

void nuc_pack_panels(const float *b, size_t k, size_t columns, size_t k_stride, size_t column_stride, float *panels)
{
    for (size_t first = 0; first < columns; first += NUC_TILE_COLUMNS) {
        size_t count = columns - first < NUC_TILE_COLUMNS ? columns - first : NUC_TILE_COLUMNS;
        const float *from = b + first * column_stride;
        for (size_t i = 0; i < k; i++, panels += NUC_TILE_COLUMNS, from += k_stride) {
            for (size_t j = 0; j < count; j++)
                panels[j] = from[j * column_stride];
            for (size_t j = count; j < NUC_TILE_COLUMNS; j++)
                panels[j] = 0;
        }
    }
}
