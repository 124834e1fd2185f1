/* Primitives of vector_kernels.h with the dot product instructions of Armv8.2-A. */
#ifndef NUC_NPUSIM_HOST_VECTOR_NEON_H
#define NUC_NPUSIM_HOST_VECTOR_NEON_H

#include <arm_neon.h>
#include <string.h>

#include "npusim_host/vector.h"

#define VEC_TILE_PIXELS 4
#define VEC_TILE_LONG VEC_TILE_PIXELS
#define VEC_TILE_BLOCKS 1
#define VEC_TILE_HIGH 1
#define VEC_TILE_FEW VEC_TILE_PIXELS
#define VEC_TILE_WIDE 2
#define VEC_BLOCK 16
#define VEC_LINES 0 /* rounded high products are an instruction here */
#define VEC_OFFSET 0
#define VEC_COPY 16 /* bytes that are copied at once */

typedef int32x4x4_t vec_i32;
typedef int8x16_t vec_x; /* four inputs, in every lane */

static inline vec_i32 vec_load(const int32_t *p)
{
    return (vec_i32){{vld1q_s32(p), vld1q_s32(p + 4), vld1q_s32(p + 8), vld1q_s32(p + 12)}};
}

static inline vec_i32 vec_splat(int32_t v)
{
    int32x4_t q = vdupq_n_s32(v);

    return (vec_i32){{q, q, q, q}};
}

static inline vec_i32 vec_add(vec_i32 a, vec_i32 b)
{
    for (int i = 0; i < 4; i++)
        a.val[i] = vaddq_s32(a.val[i], b.val[i]);
    return a;
}

static inline vec_i32 vec_sub(vec_i32 a, vec_i32 b)
{
    for (int i = 0; i < 4; i++)
        a.val[i] = vsubq_s32(a.val[i], b.val[i]);
    return a;
}

static inline vec_i32 vec_mul(vec_i32 a, vec_i32 b)
{
    for (int i = 0; i < 4; i++)
        a.val[i] = vmulq_s32(a.val[i], b.val[i]);
    return a;
}

/* With the sign. */
static inline vec_i32 vec_shift_right(vec_i32 a, int32_t by)
{
    for (int i = 0; i < 4; i++)
        a.val[i] = vshlq_s32(a.val[i], vdupq_n_s32(-by));
    return a;
}

/* Two words of each lane: that of `a` is the lower one. */
static inline vec_i32 vec_two_words(vec_i32 a, vec_i32 b)
{
    for (int i = 0; i < 4; i++)
        a.val[i] = vsliq_n_s32(a.val[i], b.val[i], 16);
    return a;
}

/* The sum of the products of words. */
static inline vec_i32 vec_line(vec_i32 v, vec_i32 words, vec_i32 addend, vec_i32 shift)
{
    for (int i = 0; i < 4; i++) {
        int16x8_t a = vreinterpretq_s16_s32(v.val[i]), b = vreinterpretq_s16_s32(words.val[i]);
        int16x8_t lower = vuzp1q_s16(a, a), upper = vuzp2q_s16(a, a);
        int32x4_t sum = vmlal_s16(addend.val[i], vget_low_s16(lower), vget_low_s16(vuzp1q_s16(b, b)));
        sum = vmlal_s16(sum, vget_low_s16(upper), vget_low_s16(vuzp2q_s16(b, b)));
        v.val[i] = vshlq_s32(sum, vnegq_s32(shift.val[i]));
    }
    return v;
}

/* a where `v` is negative, else b. */
static inline vec_i32 vec_if_negative(vec_i32 v, vec_i32 a, vec_i32 b)
{
    for (int i = 0; i < 4; i++)
        a.val[i] = vbslq_s32(vcltzq_s32(v.val[i]), a.val[i], b.val[i]);
    return a;
}

/* VRSHL rounds halves up; taking 1 off negative values first makes that away from zero. */
static inline vec_i32 vec_requant(vec_i32 v, const struct vec_params *p)
{
    for (int i = 0; i < 4; i++) {
        int32x4_t high = vqrdmulhq_s32(v.val[i], vld1q_s32(p->multiplier + 4 * i));
        int32x4_t less = vandq_s32(vshrq_n_s32(v.val[i], 31), vld1q_s32(p->away + 4 * i));
        v.val[i] = vrshlq_s32(vsubq_s32(high, less), vnegq_s32(vld1q_s32(p->right + 4 * i)));
    }
    return vec_add(v, vec_splat(p->zero));
}

static inline vec_i32 vec_requant_any(vec_i32 v, const struct vec_params *p)
{
    for (int i = 0; i < 4; i++) {
        int32x4_t shifted = vshlq_s32(v.val[i], vld1q_s32(p->left + 4 * i)), mask = vld1q_s32(p->away + 4 * i);
        int32x4_t high = vqrdmulhq_s32(shifted, vld1q_s32(p->multiplier + 4 * i));
        int32x4_t half = vsubq_s32(vshrq_n_s32(mask, 1), vshrq_n_s32(high, 31));
        uint32x4_t up = vcgtq_s32(vandq_s32(high, mask), half);
        int32x4_t r = vshlq_s32(high, vnegq_s32(vld1q_s32(p->right + 4 * i)));
        v.val[i] = vsubq_s32(r, vreinterpretq_s32_u32(up));
    }
    return vec_add(v, vec_splat(p->zero));
}

/* `n` of 1 to 16 results. */
static inline void vec_store(vec_i32 v, const struct vec_output *o, int8_t *out, int32_t n)
{
    int8_t bytes[VEC_LANES];
    int16x8_t low = vcombine_s16(vqmovn_s32(v.val[0]), vqmovn_s32(v.val[1]));
    int16x8_t high = vcombine_s16(vqmovn_s32(v.val[2]), vqmovn_s32(v.val[3]));
    int8x16_t r = vmaxq_s8(vcombine_s8(vqmovn_s16(low), vqmovn_s16(high)), vdupq_n_s8((int8_t)o->low));

    r = vminq_s8(r, vdupq_n_s8((int8_t)o->high));
    if (n == VEC_LANES) {
        vst1q_s8(out, r);
        return;
    }
    vst1q_s8(bytes, r);
    memcpy(out, bytes, (size_t)n);
}

static inline vec_i32 vec_widen(const int8_t *p, int32_t n)
{
    int8_t bytes[VEC_LANES] = {0};

    if (n < VEC_LANES) {
        memcpy(bytes, p, (size_t)n);
        p = bytes;
    }
    int8x16_t v = vld1q_s8(p);
    int16x8_t low = vmovl_s8(vget_low_s8(v)), high = vmovl_s8(vget_high_s8(v));
    return (vec_i32){{vmovl_s16(vget_low_s16(low)), vmovl_s16(vget_high_s16(low)), vmovl_s16(vget_low_s16(high)),
                      vmovl_s16(vget_high_s16(high))}};
}

/* The product, cut off: see `struct vec_pool`. */
static inline vec_i32 vec_quotient(vec_i32 v, float reciprocal)
{
    for (int i = 0; i < 4; i++)
        v.val[i] = vcvtq_s32_f32(vmulq_n_f32(vcvtq_f32_s32(v.val[i]), reciprocal));
    return v;
}

static inline vec_x vec_inputs(const int8_t *p)
{
    int32_t v;

    memcpy(&v, p, sizeof v);
    return vreinterpretq_s8_s32(vdupq_n_s32(v));
}

static inline int8x16_t vec_quarter(const uint8_t *w)
{
    return vreinterpretq_s8_u8(vld1q_u8(w));
}

static inline void vec_copy_step(int8_t *to, const int8_t *from, int8_t flip)
{
    vst1q_s8(to, veorq_s8(vld1q_s8(from), vdupq_n_s8(flip)));
}

/* acc += four inputs times the 16 x 4 weights at `w`. */
static inline vec_i32 vec_dot(vec_i32 acc, vec_x x, const uint8_t *w)
{
    for (int i = 0; i < 4; i++)
        acc.val[i] = vdotq_s32(acc.val[i], vec_quarter(w + 16 * i), x);
    return acc;
}

#define VEC_BLOCK_WEIGHTS 64 /* bytes for four taps */

/* Four taps of 16 outputs, interleaved: four bytes per output. */
typedef struct {
    int8x16_t part[4];
} vec_mixed;

static inline vec_mixed vec_zip_pairs(int8x16_t a0, int8x16_t a1, int8x16_t b0, int8x16_t b1)
{
    int16x8x2_t low = vzipq_s16(vreinterpretq_s16_s8(a0), vreinterpretq_s16_s8(b0));
    int16x8x2_t high = vzipq_s16(vreinterpretq_s16_s8(a1), vreinterpretq_s16_s8(b1));

    return (vec_mixed){{vreinterpretq_s8_s16(low.val[0]), vreinterpretq_s8_s16(low.val[1]),
                        vreinterpretq_s8_s16(high.val[0]), vreinterpretq_s8_s16(high.val[1])}};
}

static inline vec_mixed vec_mix(const int8_t *const *tap, ptrdiff_t at)
{
    int8x16x2_t a = vzipq_s8(vld1q_s8(tap[0] + at), vld1q_s8(tap[1] + at));
    int8x16x2_t b = vzipq_s8(vld1q_s8(tap[2] + at), vld1q_s8(tap[3] + at));

    return vec_zip_pairs(a.val[0], a.val[1], b.val[0], b.val[1]);
}

static inline vec_mixed vec_mix_pairs(const int8_t *const *pair, ptrdiff_t at)
{
    return vec_zip_pairs(vld1q_s8(pair[0] + at), vld1q_s8(pair[0] + at + 16), vld1q_s8(pair[1] + at),
                         vld1q_s8(pair[1] + at + 16));
}

static inline void vec_dot_mixed(vec_i32 *acc, const int step, const vec_mixed *x, const int blocks, const uint8_t *w)
{
    (void)step; /* there is one block */
    (void)blocks;
    for (int i = 0; i < 4; i++)
        acc->val[i] = vdotq_s32(acc->val[i], vec_quarter(w + 16 * i), x->part[i]);
}

static const uint8_t vec_order[VEC_BLOCK] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

#define vec_order_pairs vec_order

static inline void vec_store_block(const vec_i32 *v, const struct vec_output *o, bool pairs, int8_t *out, int32_t n)
{
    (void)pairs;
    vec_store(*v, o, out, n < VEC_LANES ? n : VEC_LANES);
}

/* A lookup among 64 entries leaves what it has where the index is beyond them. */
static void vec_lookup(const int8_t *table, const int8_t *in, int32_t n, int8_t *out)
{
    int8x16x4_t part[4];
    int32_t i = 0;

    for (int k = 0; k < 4; k++) {
        for (int j = 0; j < 4; j++)
            part[k].val[j] = vld1q_s8(table + 64 * k + 16 * j);
    }
    for (; i + 16 <= n; i += 16) {
        uint8x16_t at = veorq_u8(vreinterpretq_u8_s8(vld1q_s8(in + i)), vdupq_n_u8(128));
        int8x16_t found = vqtbl4q_s8(part[0], at);
        for (int k = 1; k < 4; k++)
            found = vqtbx4q_s8(found, part[k], vsubq_u8(at, vdupq_n_u8((uint8_t)(64 * k))));
        vst1q_s8(out + i, found);
    }
    for (; i < n; i++)
        out[i] = table[in[i] + 128];
}

#endif
