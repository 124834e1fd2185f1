/* Primitives of vector_kernels.h with AVX-512 BW, DQ, VL and VNNI. */
#ifndef NUC_NPUSIM_HOST_VECTOR_AVX512_H
#define NUC_NPUSIM_HOST_VECTOR_AVX512_H

#include <immintrin.h>
#include <string.h>

#include "npusim_host/vector.h"

#define VEC_TILE_PIXELS 8
#define VEC_TILE_LONG 16 /* pixels of a tile of one block: with 8 each accumulator waits for itself */
#define VEC_TILE_BLOCKS 2
#define VEC_TILE_HIGH 4 /* blocks of a tile of up to VEC_TILE_FEW pixels: it reads the least of each product */
#define VEC_TILE_FEW 5
#define VEC_TILE_WIDE 8 /* blocks of a tile of one pixel */
#define VEC_BLOCK 64
#define VEC_LINES 1
#define VEC_OFFSET 128 /* added to inputs: the dot product takes them unsigned */
#define VEC_COPY 64    /* bytes that are copied at once: loads wait for stores that are smaller than they are */

typedef __m512i vec_i32;
typedef __m512i vec_x; /* four inputs, in every lane */

static inline vec_i32 vec_load(const int32_t *p)
{
    return _mm512_loadu_si512(p);
}

static inline vec_i32 vec_splat(int32_t v)
{
    return _mm512_set1_epi32(v);
}

static inline vec_i32 vec_add(vec_i32 a, vec_i32 b)
{
    return _mm512_add_epi32(a, b);
}

static inline vec_i32 vec_sub(vec_i32 a, vec_i32 b)
{
    return _mm512_sub_epi32(a, b);
}

static inline vec_i32 vec_mul(vec_i32 a, vec_i32 b)
{
    return _mm512_mullo_epi32(a, b);
}

/* With the sign. */
static inline vec_i32 vec_shift_right(vec_i32 a, int32_t by)
{
    return _mm512_sra_epi32(a, _mm_cvtsi32_si128(by));
}

/* Two words of each lane: that of `a` is the lower one. */
static inline vec_i32 vec_two_words(vec_i32 a, vec_i32 b)
{
    return _mm512_mask_mov_epi16(a, 0xAAAAAAAA, _mm512_slli_epi32(b, 16));
}

/* The sum of the products of words. */
static inline vec_i32 vec_line(vec_i32 v, vec_i32 words, vec_i32 addend, vec_i32 shift)
{
    return _mm512_srav_epi32(_mm512_dpwssd_epi32(addend, v, words), shift);
}

/* a where `v` is negative, else b. */
static inline vec_i32 vec_if_negative(vec_i32 v, vec_i32 a, vec_i32 b)
{
    return _mm512_mask_mov_epi32(b, _mm512_movepi32_mask(v), a);
}

/* Multiplier and shift are scale and offset. The lower word is the result: that of VEC_MAGIC_BITS is 0. */
static inline vec_i32 vec_on_line(vec_i32 v, __m512i scale, __m512i offset)
{
    return _mm512_castps_si512(
        _mm512_fmadd_ps(_mm512_castsi512_ps(v), _mm512_castsi512_ps(scale), _mm512_castsi512_ps(offset)));
}

#define VEC_WORDS 1 /* requantized results are the lower words of their lanes */

/* What a result of 32 bits is in 16. */
static inline vec_i32 vec_to_word(vec_i32 v)
{
    return _mm512_min_epi32(_mm512_max_epi32(v, _mm512_set1_epi32(INT16_MIN)), _mm512_set1_epi32(INT16_MAX));
}

static inline vec_i32 vec_from_word(vec_i32 v)
{
    return _mm512_srai_epi32(_mm512_slli_epi32(v, 16), 16);
}

/* The lower words of two vectors, in the order of packing within 128 bits. */
static inline __m512i vec_words_of(vec_i32 a, vec_i32 b)
{
    const __m512i from =
        _mm512_set_epi64(0x003E003C003A0038, 0x001E001C001A0018, 0x0036003400320030, 0x0016001400120010,
                         0x002E002C002A0028, 0x000E000C000A0008, 0x0026002400220020, 0x0006000400020000);

    return _mm512_permutex2var_epi16(a, from, b);
}

static inline vec_i32 vec_requant_line(vec_i32 v, const struct vec_params *p)
{
    return vec_on_line(v, vec_load(p->multiplier), vec_load(p->right));
}

/* In assembly, in one register: gcc copies what a mask leaves a part of, and spills. */
static inline vec_i32 vec_requant_bent(vec_i32 v, const struct vec_params *p)
{
    __mmask16 below;
    __m512i offset;

    __asm__("vpcmpltd %4, %0, %1\n\t"
            "vpblendmd %7, %6, %2%{%1%}\n\t"
            "vpaddd %5, %0, %0%{%1%}\n\t"
            "vfmadd213ps %2, %3, %0"
            : "+&v"(v), "=&Yk"(below), "=&v"(offset)
            : "v"(vec_load(p->multiplier)), "v"(vec_load(p->left)), "v"(vec_load(p->away)), "v"(vec_load(p->right)),
              "v"(vec_load(p->round)));
    return v;
}

/* With one bit behind the point: the upper half of 64 bits is that when two bits are shifted left first. */
static inline vec_i32 vec_requant(vec_i32 v, const struct vec_params *p)
{
    __m512i shifted = _mm512_slli_epi32(v, 2), multiplier = vec_load(p->multiplier);
    __m512i odd = _mm512_mul_epi32(_mm512_srli_epi64(shifted, 32), _mm512_srli_epi64(multiplier, 32));
    __m512i high = _mm512_mask_shuffle_epi32(odd, 0x5555, _mm512_mul_epi32(shifted, multiplier), (_MM_PERM_ENUM)0xF5);

    high = _mm512_add_epi32(high, vec_load(p->round));
    high = _mm512_mask_sub_epi32(high, _mm512_movepi32_mask(v), high, vec_load(p->away));
    return _mm512_srav_epi32(high, vec_load(p->right));
}

static inline vec_i32 vec_requant_any(vec_i32 v, const struct vec_params *p)
{
    __m512i shifted = _mm512_sllv_epi32(v, vec_load(p->left)), round = _mm512_set1_epi64(1 << 30);
    __m512i multiplier = vec_load(p->multiplier), mask = vec_load(p->away);
    __m512i even = _mm512_add_epi64(_mm512_mul_epi32(shifted, multiplier), round);
    __m512i odd = _mm512_mul_epi32(_mm512_srli_epi64(shifted, 32), _mm512_srli_epi64(multiplier, 32));
    __m512i high =
        _mm512_mask_mov_epi32(_mm512_srli_epi64(even, 31), 0xAAAA, _mm512_slli_epi64(_mm512_add_epi64(odd, round), 1));
    __m512i half = _mm512_add_epi32(_mm512_srli_epi32(mask, 1), _mm512_srli_epi32(high, 31));
    __mmask16 up = _mm512_cmpgt_epi32_mask(_mm512_and_si512(high, mask), half);
    __m512i r = _mm512_srav_epi32(high, vec_load(p->right));

    return _mm512_add_epi32(_mm512_mask_sub_epi32(r, up, r, vec_splat(-1)), vec_splat(p->zero));
}

/* `n` of 1 to 16 results. */
static inline void vec_store(vec_i32 v, const struct vec_output *o, int8_t *out, int32_t n)
{
    __m128i r = _mm_max_epi8(_mm512_cvtsepi32_epi8(v), _mm_set1_epi32((int32_t)o->low));

    r = _mm_min_epi8(r, _mm_set1_epi32((int32_t)o->high));
    /* Masked stores are slow on some CPUs. */
    if (n == VEC_LANES)
        _mm_storeu_si128((void *)out, r);
    else
        _mm_mask_storeu_epi8(out, (__mmask16)((1u << n) - 1u), r);
}

/* The results of four vectors as bytes, in the order of lanes that packing within 128 bits leaves. */
static inline __m512i vec_bytes_of(const vec_i32 *v, const struct vec_output *o)
{
    __m512i r = _mm512_packs_epi16(vec_words_of(v[0], v[1]), vec_words_of(v[2], v[3]));

    if (o->low == 0x80808080 && o->high == 0x7F7F7F7F) /* packing has saturated */
        return r;
    r = _mm512_max_epi8(r, _mm512_set1_epi32((int32_t)o->low));
    return _mm512_min_epi8(r, _mm512_set1_epi32((int32_t)o->high));
}

/* The results of four vectors as bytes, one vector's after the other's. */
static inline __m512i vec_packed(const vec_i32 *v, const struct vec_output *o)
{
    const __m512i by_vector = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);

    return _mm512_permutexvar_epi32(by_vector, vec_bytes_of(v, o));
}

#define VEC_ROW 4 /* vectors that are stored at once */

/* Four vectors, `each` of them columns of a pixel, of which there are `n` or all. */
static inline __attribute__((always_inline)) void
vec_store_four(const vec_i32 *v, const struct vec_output *o, const int each, int8_t *out, ptrdiff_t pixel, int32_t n)
{
    __m512i r = vec_packed(v, o);
    const int bytes = each * VEC_LANES, pixels = 4 / each;

    if (n < bytes) {
        VEC_UNROLL
        for (int i = 0; i < pixels; i++) /* a part of the vector, by where its first byte would be */
            _mm512_mask_storeu_epi8(out + i * (pixel - bytes), (((__mmask64)1 << n) - 1) << (i * bytes), r);
    } else if (each == 4) {
        _mm512_storeu_si512(out, r);
    } else if (each == 2) {
        _mm256_storeu_si256((void *)out, _mm512_castsi512_si256(r));
        _mm256_storeu_si256((void *)(out + pixel), _mm512_extracti64x4_epi64(r, 1));
    } else {
        _mm_storeu_si128((void *)out, _mm512_castsi512_si128(r));
        _mm_storeu_si128((void *)(out + pixel), _mm512_extracti32x4_epi32(r, 1));
        _mm_storeu_si128((void *)(out + 2 * pixel), _mm512_extracti32x4_epi32(r, 2));
        _mm_storeu_si128((void *)(out + 3 * pixel), _mm512_extracti32x4_epi32(r, 3));
    }
}

/* 24 columns of two pixels, the last 8 of both in one vector. */
static inline void vec_store_two(vec_i32 first, vec_i32 both, vec_i32 second, const struct vec_output *o, int8_t *out,
                                 ptrdiff_t pixel)
{
    const __m512i by_pixel = _mm512_set_epi32(15, 11, 7, 3, 13, 9, 14, 10, 6, 2, 5, 1, 12, 8, 4, 0);
    const vec_i32 v[] = {first, both, second, both};
    __m512i r = _mm512_permutexvar_epi32(by_pixel, vec_bytes_of(v, o));

    _mm512_mask_storeu_epi8(out, 0xFFFFFF, r);
    _mm512_mask_storeu_epi8(out + pixel - 24, 0xFFFFFF000000, r);
}

static inline vec_i32 vec_widen(const int8_t *p, int32_t n)
{
    return _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8((__mmask16)((1u << n) - 1u), p));
}

/* The product, cut off: see `struct vec_pool`. */
static inline vec_i32 vec_quotient(vec_i32 v, float reciprocal)
{
    return _mm512_cvttps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(v), _mm512_set1_ps(reciprocal)));
}

static inline vec_x vec_inputs(const int8_t *p)
{
    int32_t v;

    memcpy(&v, p, sizeof v);
    return _mm512_xor_si512(_mm512_set1_epi32(v), _mm512_set1_epi8(INT8_MIN));
}

static inline vec_x vec_staged_inputs(const int8_t *p)
{
    int32_t v;

    memcpy(&v, p, sizeof v);
    return _mm512_set1_epi32(v);
}

/* Those of two pixels, in half of the lanes each. */
static inline vec_x vec_inputs_of_two(vec_x first, vec_x second)
{
    return _mm512_mask_mov_epi32(first, 0xFF00, second);
}

/*
 * In assembly for gcc, which copies every accumulator of a loop twice around the intrinsic. Of register or memory clang
 * takes memory, and copies what is in a register there.
 */
static inline vec_i32 vec_dot_products(vec_i32 acc, __m512i x, __m512i w)
{
#ifdef __clang__
    return _mm512_dpbusd_epi32(acc, x, w);
#else
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "vm"(w));
    return acc;
#endif
}

/* acc += four inputs times the 16 x 4 weights at `w`. */
static inline vec_i32 vec_dot(vec_i32 acc, vec_x x, const uint8_t *w)
{
    return vec_dot_products(acc, x, _mm512_load_si512(w));
}

#define VEC_BLOCK_WEIGHTS 256 /* bytes for four taps */

static inline void vec_copy_step(int8_t *to, const int8_t *from, int8_t flip)
{
    _mm512_storeu_si512(to, _mm512_xor_si512(_mm512_loadu_si512(from), _mm512_set1_epi8(flip)));
}

/* Four taps of 64 outputs, staged: their bytes interleaved within 128 bits, which makes the order of the lanes. */
typedef struct {
    __m512i part[4];
} vec_mixed;

static inline vec_mixed vec_mix(const int8_t *const *tap, ptrdiff_t at)
{
    __m512i x0 = _mm512_loadu_si512(tap[0] + at), x1 = _mm512_loadu_si512(tap[1] + at);
    __m512i x2 = _mm512_loadu_si512(tap[2] + at), x3 = _mm512_loadu_si512(tap[3] + at);

    __asm__("" : "+v"(x0), "+v"(x1), "+v"(x2), "+v"(x3)); /* not read once more by each instruction */
    __m512i low01 = _mm512_unpacklo_epi8(x0, x1), high01 = _mm512_unpackhi_epi8(x0, x1);
    __m512i low23 = _mm512_unpacklo_epi8(x2, x3), high23 = _mm512_unpackhi_epi8(x2, x3);

    return (vec_mixed){{_mm512_unpacklo_epi16(low01, low23), _mm512_unpackhi_epi16(low01, low23),
                        _mm512_unpacklo_epi16(high01, high23), _mm512_unpackhi_epi16(high01, high23)}};
}

/* Two pairs of 64 outputs: the words that they are. */
static inline vec_mixed vec_mix_pairs(const int8_t *const *pair, ptrdiff_t at)
{
    __m512i x0 = _mm512_loadu_si512(pair[0] + at), x1 = _mm512_loadu_si512(pair[0] + at + 64);
    __m512i y0 = _mm512_loadu_si512(pair[1] + at), y1 = _mm512_loadu_si512(pair[1] + at + 64);

    __asm__("" : "+v"(x0), "+v"(x1), "+v"(y0), "+v"(y1));
    return (vec_mixed){{_mm512_unpacklo_epi16(x0, y0), _mm512_unpackhi_epi16(x0, y0), _mm512_unpacklo_epi16(x1, y1),
                        _mm512_unpackhi_epi16(x1, y1)}};
}

/* Order of the 64-bit words of pixels of 8, 16 or 32 bytes: halves of 128 bits are of those that take turns. */
static inline __m512i vec_turns_order(int32_t bytes)
{
    if (bytes == 8)
        return _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    return bytes == 16 ? _mm512_set_epi64(7, 5, 6, 4, 3, 1, 2, 0) : _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0);
}

/* The bytes of b between those of a, of the lower and of the upper halves in that order. */
static inline void vec_pair_64(int8_t *lower, int8_t *upper, const int8_t *a, const int8_t *b, __m512i order,
                               int8_t flip)
{
    __m512i turned = _mm512_set1_epi8(flip);
    __m512i x = _mm512_permutexvar_epi64(order, _mm512_xor_si512(_mm512_loadu_si512(a), turned));
    __m512i y = _mm512_permutexvar_epi64(order, _mm512_xor_si512(_mm512_loadu_si512(b), turned));

    _mm512_storeu_si512(lower, _mm512_unpacklo_epi8(x, y));
    _mm512_storeu_si512(upper, _mm512_unpackhi_epi8(x, y));
}

/* `blocks` of accumulators, `step` vectors apart. Each vector of weights is read once. */
static inline __attribute__((always_inline)) void vec_dot_mixed(vec_i32 *acc, const int step, const vec_mixed *x,
                                                                const int blocks, const uint8_t *w)
{
    VEC_UNROLL
    for (int v = 0; v < 4; v++) {
        __m512i weights = _mm512_load_si512(w + v * 64);
        if (blocks > 1)
            __asm__("" : "+v"(weights));
        VEC_UNROLL
        for (int k = 0; k < blocks; k++)
            acc[k * step + v] = vec_dot_products(acc[k * step + v], x[k].part[v], weights);
    }
}

static const uint8_t vec_order[VEC_BLOCK] = {0,  1,  2,  3,  16, 17, 18, 19, 32, 33, 34, 35, 48, 49, 50, 51,
                                             4,  5,  6,  7,  20, 21, 22, 23, 36, 37, 38, 39, 52, 53, 54, 55,
                                             8,  9,  10, 11, 24, 25, 26, 27, 40, 41, 42, 43, 56, 57, 58, 59,
                                             12, 13, 14, 15, 28, 29, 30, 31, 44, 45, 46, 47, 60, 61, 62, 63};

/* Of each 16 those of two vectors come to lie next to those of the two others. */
static const uint8_t vec_order_pairs[VEC_BLOCK] = {0,  1,  2,  3,  8,  9,  10, 11, 16, 17, 18, 19, 24, 25, 26, 27,
                                                   4,  5,  6,  7,  12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31,
                                                   32, 33, 34, 35, 40, 41, 42, 43, 48, 49, 50, 51, 56, 57, 58, 59,
                                                   36, 37, 38, 39, 44, 45, 46, 47, 52, 53, 54, 55, 60, 61, 62, 63};

/* Packing within 128 bits undoes the order, of pairs but for the place of eight bytes. */
static inline __attribute__((always_inline)) void vec_store_block(const vec_i32 *v, const struct vec_output *o,
                                                                  const bool pairs, int8_t *out, int32_t n)
{
    __m512i r = vec_bytes_of(v, o);

    if (pairs)
        r = _mm512_permutexvar_epi64(_mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0), r);
    if (n >= VEC_BLOCK)
        _mm512_storeu_si512(out, r);
    else
        _mm512_mask_storeu_epi8(out, (__mmask64)(((uint64_t)1 << n) - 1u), r);
}

/* Tables of 256 bytes, by the value less -128. Two halves are looked up with 7 bits, the eighth chooses. */
__attribute__((target("avx512vbmi"))) static void vec_lookup_bytes(const int8_t *table, const int8_t *in, int32_t n,
                                                                   int8_t *out)
{
    __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64);
    __m512i t2 = _mm512_loadu_si512(table + 128), t3 = _mm512_loadu_si512(table + 192);

    for (int32_t i = 0; i < n; i += 64) {
        __mmask64 some = n - i >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << (n - i)) - 1;
        __m512i at = _mm512_xor_si512(_mm512_maskz_loadu_epi8(some, in + i), _mm512_set1_epi8(INT8_MIN));
        __m512i low = _mm512_permutex2var_epi8(t0, at, t1), high = _mm512_permutex2var_epi8(t2, at, t3);
        __m512i found = _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high);
        if (n - i >= 64)
            _mm512_storeu_si512(out + i, found);
        else
            _mm512_mask_storeu_epi8(out + i, some, found);
    }
}

/* VBMI is not part of the path: CPUs with VNNI and without it look up one by one. */
static void vec_lookup(const int8_t *table, const int8_t *in, int32_t n, int8_t *out)
{
    if (__builtin_cpu_supports("avx512vbmi")) {
        vec_lookup_bytes(table, in, n, out);
        return;
    }
    for (int32_t i = 0; i < n; i++)
        out[i] = table[in[i] + 128];
}

#endif
