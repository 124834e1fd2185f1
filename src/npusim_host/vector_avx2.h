/* Primitives of vector_kernels.h with AVX2: products of 16 bits, summed in pairs, for 8-bit ones would saturate. */
#ifndef NUC_NPUSIM_HOST_VECTOR_AVX2_H
#define NUC_NPUSIM_HOST_VECTOR_AVX2_H

#include <immintrin.h>
#include <string.h>

#include "npusim_host/vector.h"

#define VEC_TILE_PIXELS 4
#define VEC_TILE_LONG 4
#define VEC_TILE_BLOCKS 1
#define VEC_TILE_HIGH 1
#define VEC_TILE_FEW VEC_TILE_PIXELS
#define VEC_TILE_WIDE 2
#define VEC_BLOCK 16
#define VEC_LINES 1
#define VEC_OFFSET 128 /* added to inputs: unsigned bytes are widened in place, by a mask and a shift */
#define VEC_COPY 16    /* bytes that are copied at once */

typedef struct {
    __m256i low, high;
} vec_i32;

/* Pairs of inputs as int16 in every lane: the first and third of four, the second and fourth. */
typedef struct {
    __m256i first, second;
} vec_x;

static inline __m256i vec_half(const void *p)
{
    return _mm256_loadu_si256(p);
}

static inline vec_i32 vec_load(const int32_t *p)
{
    return (vec_i32){vec_half(p), vec_half(p + 8)};
}

static inline vec_i32 vec_splat(int32_t v)
{
    return (vec_i32){_mm256_set1_epi32(v), _mm256_set1_epi32(v)};
}

static inline vec_i32 vec_add(vec_i32 a, vec_i32 b)
{
    return (vec_i32){_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}

static inline vec_i32 vec_sub(vec_i32 a, vec_i32 b)
{
    return (vec_i32){_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)};
}

static inline vec_i32 vec_mul(vec_i32 a, vec_i32 b)
{
    return (vec_i32){_mm256_mullo_epi32(a.low, b.low), _mm256_mullo_epi32(a.high, b.high)};
}

/* With the sign. */
static inline vec_i32 vec_shift_right(vec_i32 a, int32_t by)
{
    __m128i count = _mm_cvtsi32_si128(by);

    return (vec_i32){_mm256_sra_epi32(a.low, count), _mm256_sra_epi32(a.high, count)};
}

static inline __m256i vec_half_line(__m256i v, __m256i words, __m256i addend, __m256i shift)
{
    return _mm256_srav_epi32(_mm256_add_epi32(addend, _mm256_madd_epi16(v, words)), shift);
}

/* Two words of each lane: that of `a` is the lower one. */
static inline vec_i32 vec_two_words(vec_i32 a, vec_i32 b)
{
    return (vec_i32){_mm256_blend_epi16(a.low, _mm256_slli_epi32(b.low, 16), 0xAA),
                     _mm256_blend_epi16(a.high, _mm256_slli_epi32(b.high, 16), 0xAA)};
}

/* The sum of the products of words. */
static inline vec_i32 vec_line(vec_i32 v, vec_i32 words, vec_i32 addend, vec_i32 shift)
{
    return (vec_i32){vec_half_line(v.low, words.low, addend.low, shift.low),
                     vec_half_line(v.high, words.high, addend.high, shift.high)};
}

static inline __m256i vec_half_if_negative(__m256i v, __m256i a, __m256i b)
{
    return _mm256_blendv_epi8(b, a, _mm256_srai_epi32(v, 31));
}

/* a where `v` is negative, else b. */
static inline vec_i32 vec_if_negative(vec_i32 v, vec_i32 a, vec_i32 b)
{
    return (vec_i32){vec_half_if_negative(v.low, a.low, b.low), vec_half_if_negative(v.high, a.high, b.high)};
}

/* Multiplier and shift are scale and offset. */
static inline __m256i vec_on_line(__m256i v, __m256i scale, __m256i offset)
{
    __m256 r = _mm256_fmadd_ps(_mm256_castsi256_ps(v), _mm256_castsi256_ps(scale), _mm256_castsi256_ps(offset));

    return _mm256_sub_epi32(_mm256_castps_si256(r), _mm256_set1_epi32(VEC_MAGIC_BITS));
}

/* Of each form, what half of the lanes become; of `at`: 0 or 8, the first of them. */
static inline __m256i vec_half_line_of(__m256i v, const struct vec_params *p, int at)
{
    return vec_on_line(v, vec_half(p->multiplier + at), vec_half(p->right + at));
}

static inline __m256i vec_half_bent(__m256i v, const struct vec_params *p, int at)
{
    __m256i below = _mm256_cmpgt_epi32(vec_half(p->left + at), v);
    __m256i moved = _mm256_add_epi32(v, _mm256_and_si256(below, vec_half(p->away + at)));

    return vec_on_line(moved, vec_half(p->multiplier + at),
                       _mm256_blendv_epi8(vec_half(p->right + at), vec_half(p->round + at), below));
}

/* With one bit behind the point: the upper half of 64 bits is that when two bits are shifted left first. */
static inline __m256i vec_half_bounded(__m256i v, const struct vec_params *p, int at)
{
    __m256i shifted = _mm256_slli_epi32(v, 2), multiplier = vec_half(p->multiplier + at);
    __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(shifted, 32), _mm256_srli_epi64(multiplier, 32));
    __m256i even = _mm256_srli_epi64(_mm256_mul_epi32(shifted, multiplier), 32);
    __m256i high = _mm256_add_epi32(_mm256_blend_epi32(even, odd, 0xAA), vec_half(p->round + at));

    high = _mm256_sub_epi32(high, _mm256_and_si256(_mm256_srai_epi32(v, 31), vec_half(p->away + at)));
    return _mm256_srav_epi32(high, vec_half(p->right + at));
}

static inline __m256i vec_half_any(__m256i v, const struct vec_params *p, int at)
{
    __m256i shifted = _mm256_sllv_epi32(v, vec_half(p->left + at)), round = _mm256_set1_epi64x(1 << 30);
    __m256i multiplier = vec_half(p->multiplier + at), mask = vec_half(p->away + at);
    __m256i even = _mm256_add_epi64(_mm256_mul_epi32(shifted, multiplier), round);
    __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(shifted, 32), _mm256_srli_epi64(multiplier, 32));
    __m256i high =
        _mm256_blend_epi32(_mm256_srli_epi64(even, 31), _mm256_slli_epi64(_mm256_add_epi64(odd, round), 1), 0xAA);
    __m256i half = _mm256_add_epi32(_mm256_srli_epi32(mask, 1), _mm256_srli_epi32(high, 31));
    __m256i up = _mm256_cmpgt_epi32(_mm256_and_si256(high, mask), half);

    return _mm256_add_epi32(_mm256_sub_epi32(_mm256_srav_epi32(high, vec_half(p->right + at)), up),
                            _mm256_set1_epi32(p->zero));
}

#define VEC_OF_HALVES(name, half)                                                                                      \
    static inline vec_i32 name(vec_i32 v, const struct vec_params *p)                                                  \
    {                                                                                                                  \
        return (vec_i32){half(v.low, p, 0), half(v.high, p, 8)};                                                       \
    }
VEC_OF_HALVES(vec_requant_line, vec_half_line_of)
VEC_OF_HALVES(vec_requant_bent, vec_half_bent)
VEC_OF_HALVES(vec_requant, vec_half_bounded)
VEC_OF_HALVES(vec_requant_any, vec_half_any)

/* Sixteen int16, `n` of which are stored as int8. */
static inline void vec_store_words(__m256i words, const struct vec_output *o, int8_t *out, int32_t n)
{
    int8_t bytes[VEC_LANES];
    __m128i r = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));

    r = _mm_min_epi8(_mm_max_epi8(r, _mm_set1_epi32((int32_t)o->low)), _mm_set1_epi32((int32_t)o->high));
    if (n == VEC_LANES) {
        _mm_storeu_si128((void *)out, r);
        return;
    }
    _mm_storeu_si128((void *)bytes, r);
    memcpy(out, bytes, (size_t)n % VEC_LANES);
}

/* `n` of 1 to 16 results. */
static inline void vec_store(vec_i32 v, const struct vec_output *o, int8_t *out, int32_t n)
{
    vec_store_words(_mm256_permute4x64_epi64(_mm256_packs_epi32(v.low, v.high), 0xD8), o, out, n);
}

static inline vec_i32 vec_widen(const int8_t *p, int32_t n)
{
    int8_t bytes[VEC_LANES] = {0};

    if (n < VEC_LANES) {
        memcpy(bytes, p, (size_t)n);
        p = bytes;
    }
    __m128i v = _mm_loadu_si128((const void *)p);
    return (vec_i32){_mm256_cvtepi8_epi32(v), _mm256_cvtepi8_epi32(_mm_srli_si128(v, 8))};
}

/* The product, cut off: see `struct vec_pool`. */
static inline vec_i32 vec_quotient(vec_i32 v, float reciprocal)
{
    __m256 by = _mm256_set1_ps(reciprocal);

    return (vec_i32){_mm256_cvttps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(v.low), by)),
                     _mm256_cvttps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(v.high), by))};
}

static inline vec_x vec_pairs(__m256i four)
{
    return (vec_x){_mm256_and_si256(four, _mm256_set1_epi16(0xFF)), _mm256_srli_epi16(four, 8)};
}

static inline vec_x vec_staged_inputs(const int8_t *p)
{
    int32_t v;

    memcpy(&v, p, sizeof v);
    return vec_pairs(_mm256_set1_epi32(v));
}

static inline vec_x vec_inputs(const int8_t *p)
{
    int32_t v;

    memcpy(&v, p, sizeof v);
    return vec_pairs(_mm256_xor_si256(_mm256_set1_epi32(v), _mm256_set1_epi8(INT8_MIN)));
}

static inline void vec_copy_step(int8_t *to, const int8_t *from, int8_t flip)
{
    _mm_storeu_si128((void *)to, _mm_xor_si128(_mm_loadu_si128((const void *)from), _mm_set1_epi8(flip)));
}

/* acc += four inputs times the 2 x 16 x 2 weights at `w`. */
static inline vec_i32 vec_dot(vec_i32 acc, vec_x x, const uint8_t *w)
{
    __m256i low = _mm256_add_epi32(_mm256_madd_epi16(x.first, vec_half(w)), acc.low);
    __m256i high = _mm256_add_epi32(_mm256_madd_epi16(x.first, vec_half(w + 32)), acc.high);

    return (vec_i32){_mm256_add_epi32(_mm256_madd_epi16(x.second, vec_half(w + 64)), low),
                     _mm256_add_epi32(_mm256_madd_epi16(x.second, vec_half(w + 96)), high)};
}

#define VEC_BLOCK_WEIGHTS 128 /* bytes for four taps */

static inline __m256i vec_tap(const int8_t *p)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)p));
}

/* Four taps of 16 outputs: two pairs, interleaved within 128 bits, which makes the order of the lanes. */
typedef struct {
    vec_i32 first, second;
} vec_mixed;

static inline vec_i32 vec_mix_pair(__m256i a, __m256i b)
{
    return (vec_i32){_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)};
}

static inline vec_mixed vec_mix(const int8_t *const *tap, ptrdiff_t at)
{
    return (vec_mixed){vec_mix_pair(vec_tap(tap[0] + at), vec_tap(tap[2] + at)),
                       vec_mix_pair(vec_tap(tap[1] + at), vec_tap(tap[3] + at))};
}

static inline vec_mixed vec_mix_pairs(const int8_t *const *pair, ptrdiff_t at)
{
    return (vec_mixed){{vec_tap(pair[0] + at), vec_tap(pair[0] + at + 16)},
                       {vec_tap(pair[1] + at), vec_tap(pair[1] + at + 16)}};
}

static inline void vec_dot_mixed(vec_i32 *acc, const int step, const vec_mixed *x, const int blocks, const uint8_t *w)
{
    (void)step; /* there is one block */
    (void)blocks;
    __m256i low = _mm256_add_epi32(acc->low, _mm256_madd_epi16(x->first.low, vec_half(w)));
    __m256i high = _mm256_add_epi32(acc->high, _mm256_madd_epi16(x->first.high, vec_half(w + 32)));

    acc->low = _mm256_add_epi32(low, _mm256_madd_epi16(x->second.low, vec_half(w + 64)));
    acc->high = _mm256_add_epi32(high, _mm256_madd_epi16(x->second.high, vec_half(w + 96)));
}

static const uint8_t vec_order[VEC_BLOCK] = {0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15};

static const uint8_t vec_order_pairs[VEC_BLOCK] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* Packing within 128 bits undoes the order of what are no pairs. */
static inline __attribute__((always_inline)) void vec_store_block(const vec_i32 *v, const struct vec_output *o,
                                                                  const bool pairs, int8_t *out, int32_t n)
{
    n = n < VEC_LANES ? n : VEC_LANES;
    if (pairs)
        vec_store(*v, o, out, n);
    else
        vec_store_words(_mm256_packs_epi32(v->low, v->high), o, out, n);
}

/* The entries at 32 indices of 0 to 255: a shuffle looks 16 up, and gives 0 where the index is beyond them. */
static inline __m256i vec_lookup_bytes(const int8_t *table, __m256i at)
{
    __m256i found = _mm256_setzero_si256();

    for (int k = 0; k < 16; k++) {
        __m256i part = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)(table + 16 * k)));
        __m256i place = _mm256_sub_epi8(at, _mm256_set1_epi8((int8_t)(16 * k)));
        __m256i shown = _mm256_adds_epu8(place, _mm256_set1_epi8(0x70));
        found = _mm256_or_si256(found, _mm256_shuffle_epi8(part, shown));
    }
    return found;
}

static void vec_lookup(const int8_t *table, const int8_t *in, int32_t n, int8_t *out)
{
    int32_t i = 0;

    for (; i + 32 <= n; i += 32) {
        __m256i at = _mm256_xor_si256(vec_half(in + i), _mm256_set1_epi8(INT8_MIN));
        _mm256_storeu_si256((void *)(out + i), vec_lookup_bytes(table, at));
    }
    for (; i < n; i++)
        out[i] = table[in[i] + 128];
}

#endif
