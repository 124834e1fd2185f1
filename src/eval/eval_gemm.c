#include "eval/eval_gemm.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
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
#define LANES NUC_VECTOR
#include "eval/eval_kernels.h"

#if defined(__x86_64__)
/* Without "fma". */
#define KERNEL(name) name##_avx2
#define TARGET __attribute__((target("avx2")))
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#define MAXIMUM(a, b) ((vector)_mm256_max_ps(a, b))
#define MINIMUM(a, b) ((vector)_mm256_min_ps(a, b))
#define MOST_VECTORS 3
#define LANES NUC_VECTOR
#include "eval/eval_kernels.h"

/* ---- fused ---- */

#define KERNEL(name) name##_fma
#define TARGET __attribute__((target("avx2,fma")))
#define MULTIPLY_ADD(a, b, c) ((vector)_mm256_fmadd_ps(a, b, c))
#define MAXIMUM(a, b) ((vector)_mm256_max_ps(a, b))
#define MINIMUM(a, b) ((vector)_mm256_min_ps(a, b))
#define MOST_VECTORS 3
#define LANES NUC_VECTOR
#include "eval/eval_kernels.h"

/* ---- vectors of sixteen floats ---- */

typedef float vector512 __attribute__((vector_size(16 * sizeof(float))));
typedef float loose_vector512 __attribute__((vector_size(16 * sizeof(float)), aligned(4), may_alias));

#define vector vector512
#define loose_vector loose_vector512
#undef SPREAD
#define SPREAD(x) ((vector512)_mm512_set1_ps(x))
#define LANES 16
#define MOST_VECTORS 4
#define TARGET __attribute__((target("avx512f")))
#define KERNEL(name) name##_avx512
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#include "eval/eval_kernels.h"

#define LANES 16
#define MOST_VECTORS 4
#define TARGET __attribute__((target("avx512f")))
#define KERNEL(name) name##_fma512
#define MULTIPLY_ADD(a, b, c) ((vector512)_mm512_fmadd_ps(a, b, c))
#include "eval/eval_kernels.h"
#undef vector
#undef loose_vector
#endif

/* ---- fused, in plain C ---- */

/* Rows of `b`, one for each factor. */
struct fused {
    const float *factors, *b;
    const size_t *offsets; /* NULL: at distances of `step` */
    size_t count, step;
};

static inline const float *fused_row(const struct fused *f, size_t i)
{
    return f->b + (f->offsets != NULL ? f->offsets[i] : i * f->step);
}

#if defined(__FP_FAST_FMAF) || defined(__ARM_FEATURE_FMA)
/* out[j] += factors[i] * b[i][j], for all i. */
static inline void add_fused(const struct fused *f, size_t columns, float *out)
{
    for (size_t i = 0; i < f->count; i++) {
        const float *row = fused_row(f, i);
        for (size_t j = 0; j < columns; j++)
            out[j] = fmaf(f->factors[i], row[j], out[j]);
    }
}
#else
/*
 * Without the instruction at hand, in double: the product of two floats is exact there, and the sum, rounded to double
 * and then to float, is that of fmaf() unless it lies half way between two floats, where what the first rounding lost
 * decides. A C library that computes fmaf() in software takes many times as long.
 */
typedef double wide_vector __attribute__((vector_size(NUC_VECTOR * sizeof(double))));
typedef int64_t wide_mask __attribute__((vector_size(NUC_VECTOR * sizeof(int64_t))));

#define WIDE(v) __builtin_convertvector(v, wide_vector)
#define LOST_BITS ((INT64_C(1) << 29) - 1) /* of a double's mantissa, when it becomes a float */
#define HALF_WAY (INT64_C(1) << 28)

#if defined(__wasm_simd128__)
/* The instruction that clang does not find. */
static inline vector narrow(wide_vector v)
{
    const union {
        wide_vector all;
        v128_t pairs[NUC_VECTOR / 2];
    } wide = {v};
    union {
        v128_t fours[NUC_VECTOR / 4];
        vector all;
    } out;

    for (size_t i = 0; i < NUC_VECTOR / 4; i++)
        out.fours[i] = wasm_i32x4_shuffle(wasm_f32x4_demote_f64x2_zero(wide.pairs[2 * i]),
                                          wasm_f32x4_demote_f64x2_zero(wide.pairs[2 * i + 1]), 0, 1, 4, 5);
    return out.all;
}
#else
#define narrow(v) __builtin_convertvector(v, vector)
#endif

/*
 * out[j] += factors[i] * b[i][j], for all i, of eight columns; false, and nothing is changed, where one is half way.
 * `careful`: it is moved to the side of what was lost, by the least there is, and so is rounded as if once.
 */
static inline bool add_fused_eight(const struct fused *f, size_t column, bool careful, float *out)
{
    vector sum = LOAD(out);
    wide_mask half_way = {0};
    int64_t any = 0;

    for (size_t i = 0; i < f->count; i++) {
        wide_vector product = WIDE(LOAD(fused_row(f, i) + column)) * (double)f->factors[i], before = WIDE(sum);
        wide_vector s = product + before;
        wide_mask half = ((wide_mask)s & LOST_BITS) == HALF_WAY;
        if (careful) {
            wide_vector added = s - product, lost = (product - (s - added)) + (before - added);
            wide_mask one = (((wide_mask)lost ^ (wide_mask)s) >> 63) | 1; /* away from zero, or towards it */
            s = (wide_vector)((wide_mask)s + (one & half & (lost != 0.0)));
        }
        half_way += half;
        sum = narrow(s);
    }
    for (size_t k = 0; k < NUC_VECTOR && !careful; k++)
        any |= half_way[k];
    if (any == 0)
        STORE(out, sum);
    return any == 0;
}

/* `columns` is a multiple of NUC_VECTOR. */
static inline void add_fused(const struct fused *f, size_t columns, float *out)
{
    for (size_t j = 0; j < columns; j += NUC_VECTOR) {
        if (!add_fused_eight(f, j, false, out + j))
            add_fused_eight(f, j, true, out + j);
    }
}
#endif

static void tile_fused_portable(const float *a, size_t a_stride, const float *panel, size_t k, size_t rows, float *tile)
{
    for (size_t r = 0; r < rows; r++, a += a_stride, tile += NUC_TILE_COLUMNS) {
        const struct fused f = {.factors = a, .b = panel, .count = k, .step = NUC_TILE_COLUMNS};
        add_fused(&f, NUC_TILE_COLUMNS, tile);
    }
}

static void block_fused_portable(const struct nuc_block *g)
{
    for (size_t r = 0; r < g->rows; r++) {
        const struct fused f = {.factors = g->a + r * g->a_stride, .b = g->b, .count = g->k, .step = g->columns};
        float *out = g->out + r * g->columns;
        for (size_t j = 0; j < g->columns; j++)
            out[j] = g->start[r];
        add_fused(&f, g->columns, out);
    }
}

static void taps_fused_portable(const struct nuc_taps *t, const float *in, size_t count, float *out)
{
    const struct fused f = {.factors = t->weights, .b = in, .offsets = t->offsets, .count = t->count};

    for (size_t i = 0; i < count; i++)
        out[i] = t->start;
    add_fused(&f, count, out);
}

struct nuc_gemm nuc_gemm_select(bool fused, bool portable)
{
#if defined(__x86_64__)
    if (!portable && __builtin_cpu_supports("avx512f"))
        return fused ? (struct nuc_gemm){16, tile_fma512, block_fma512, taps_fma512, finish_fma}
                     : (struct nuc_gemm){16, tile_avx512, block_avx512, taps_avx512, finish_avx2};
    if (!portable && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return fused ? (struct nuc_gemm){NUC_VECTOR, tile_fma, block_fma, taps_fma, finish_fma}
                     : (struct nuc_gemm){NUC_VECTOR, tile_avx2, block_avx2, taps_avx2, finish_avx2};
#endif
    (void)portable;
    return fused ? (struct nuc_gemm){NUC_VECTOR, tile_fused_portable, block_fused_portable, taps_fused_portable,
                                     finish_portable}
                 : (struct nuc_gemm){NUC_VECTOR, tile_portable, block_portable, taps_portable, finish_portable};
}

/* ---- panels ---- */

typedef float quad __attribute__((vector_size(4 * sizeof(float))));
typedef float loose_quad __attribute__((vector_size(4 * sizeof(float)), aligned(4), may_alias));
typedef int32_t quad_order __attribute__((vector_size(4 * sizeof(int32_t))));

/* Floats of `a` and then `b`, by their numbers. */
#ifdef __clang__
#define QUAD_OF(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define QUAD_OF(a, b, ...) __builtin_shuffle(a, b, (quad_order){__VA_ARGS__})
#endif

/* Four elements of four columns that lie one after the other, into four rows of a panel. */
static inline void turn_quad(const float *from, size_t column_stride, float *panel)
{
    quad a = *(const loose_quad *)from, b = *(const loose_quad *)(from + column_stride);
    quad c = *(const loose_quad *)(from + 2 * column_stride), d = *(const loose_quad *)(from + 3 * column_stride);
    quad ab = QUAD_OF(a, b, 0, 4, 1, 5), cd = QUAD_OF(c, d, 0, 4, 1, 5);
    quad ab_after = QUAD_OF(a, b, 2, 6, 3, 7), cd_after = QUAD_OF(c, d, 2, 6, 3, 7);

    *(loose_quad *)panel = QUAD_OF(ab, cd, 0, 1, 4, 5);
    *(loose_quad *)(panel + NUC_TILE_COLUMNS) = QUAD_OF(ab, cd, 2, 3, 6, 7);
    *(loose_quad *)(panel + 2 * NUC_TILE_COLUMNS) = QUAD_OF(ab_after, cd_after, 0, 1, 4, 5);
    *(loose_quad *)(panel + 3 * NUC_TILE_COLUMNS) = QUAD_OF(ab_after, cd_after, 2, 3, 6, 7);
}

/* Cache lines of few columns at a time: those of sixteen may be in each other's way. */
static size_t turn_columns(const float *b, size_t k, size_t column_stride, float *panel)
{
    enum { LINE = 16 };
    size_t first = 0;

    for (; first + LINE <= k; first += LINE) {
        for (size_t j = 0; j < NUC_TILE_COLUMNS; j += 4) {
            for (size_t i = first; i < first + LINE; i += 4)
                turn_quad(b + j * column_stride + i, column_stride, panel + i * NUC_TILE_COLUMNS + j);
        }
    }
    return first;
}

void nuc_pack_panel(const float *b, size_t k, size_t columns, size_t k_stride, size_t column_stride, float *panel)
{
    size_t i = columns == NUC_TILE_COLUMNS && k_stride == 1 ? turn_columns(b, k, column_stride, panel) : 0;

    for (; i < k; i++) {
        const float *from = b + i * k_stride;
        float *to = panel + i * NUC_TILE_COLUMNS;
        if (column_stride == 1)
            memcpy(to, from, columns * sizeof *to);
        for (size_t j = 0; column_stride != 1 && j < columns; j++)
            to[j] = from[j * column_stride];
        for (size_t j = columns; j < NUC_TILE_COLUMNS; j++)
            to[j] = 0;
    }
}
