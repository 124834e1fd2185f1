/*
 * The vector instructions that the kernels use, by the names of the instructions: of the CPU where it has them, the
 * same in plain C elsewhere, so that tests on a host run the kernels. `some` counts the first lanes of which memory is
 * read or written; what is not read is 0.
 */
#ifndef NUC_DEVICE_KERNELS_MVE_VECTOR_H
#define NUC_DEVICE_KERNELS_MVE_VECTOR_H

#include <stdint.h>

#include "device/base/fixed_point.h"

#define NUC_LANES_B 16
#define NUC_LANES_H 8
#define NUC_LANES_W 4

#if defined(__ARM_FEATURE_MVE)

#include <arm_mve.h>

typedef int8x16_t nuc_bytes;
typedef int32x4_t nuc_words;
typedef uint16x8_t nuc_halves;

static inline nuc_bytes nuc_vdup_b(int32_t v)
{
    return vdupq_n_s8((int8_t)v);
}

static inline nuc_bytes nuc_vldr_b(const int8_t *from)
{
    return vldrbq_s8(from);
}

static inline nuc_bytes nuc_vldr_b_some(const int8_t *from, int32_t some)
{
    return vldrbq_z_s8(from, vctp8q((uint32_t)some));
}

static inline void nuc_vstr_b(int8_t *to, nuc_bytes v)
{
    vstrbq_s8(to, v);
}

static inline void nuc_vstr_b_some(int8_t *to, nuc_bytes v, int32_t some)
{
    vstrbq_p_s8(to, v, vctp8q((uint32_t)some));
}

/* Each from a place of its own, a number without sign. */
static inline nuc_bytes nuc_vldr_b_at(const int8_t *from, nuc_bytes places)
{
    return vldrbq_gather_offset_s8(from, vreinterpretq_u8_s8(places));
}

static inline nuc_bytes nuc_veor_b(nuc_bytes a, nuc_bytes b)
{
    return veorq_s8(a, b);
}

static inline nuc_bytes nuc_vmax_b(nuc_bytes a, nuc_bytes b)
{
    return vmaxq_s8(a, b);
}

static inline nuc_bytes nuc_vmin_b(nuc_bytes a, nuc_bytes b)
{
    return vminq_s8(a, b);
}

/* The sum of all products, and `sum`. */
static inline int32_t nuc_vmladava(int32_t sum, nuc_bytes a, nuc_bytes b)
{
    return vmladavaq_s8(sum, a, b);
}

static inline int32_t nuc_vmladav(nuc_bytes a, nuc_bytes b)
{
    return vmladavq_s8(a, b);
}

static inline int32_t nuc_vaddva(int32_t sum, nuc_bytes a)
{
    return vaddvaq_s8(sum, a);
}

static inline nuc_words nuc_vdup_w(int32_t v)
{
    return vdupq_n_s32(v);
}

static inline nuc_words nuc_vldr_w(const int32_t *from)
{
    return vldrwq_s32(from);
}

static inline nuc_words nuc_vldr_w_some(const int32_t *from, int32_t some)
{
    return vldrwq_z_s32(from, vctp32q((uint32_t)some));
}

static inline void nuc_vstr_w(int32_t *to, nuc_words v)
{
    vstrwq_s32(to, v);
}

/* Each from a place of its own, in words. */
static inline nuc_words nuc_vldr_w_at(const int32_t *from, nuc_words places)
{
    return vldrwq_gather_shifted_offset_s32(from, vreinterpretq_u32_s32(places));
}

/* Four bytes, widened. */
static inline nuc_words nuc_vldr_bw(const int8_t *from)
{
    return vldrbq_s32(from);
}

/* The same as numbers without sign. */
static inline nuc_words nuc_vldr_ubw(const int8_t *from)
{
    return vreinterpretq_s32_u32(vldrbq_u32((const uint8_t *)from));
}

static inline nuc_words nuc_vldr_bw_some(const int8_t *from, int32_t some)
{
    return vldrbq_z_s32(from, vctp32q((uint32_t)some));
}

/* The lowest byte of each. */
static inline void nuc_vstr_bw(int8_t *to, nuc_words v)
{
    vstrbq_s32(to, v);
}

static inline void nuc_vstr_bw_some(int8_t *to, nuc_words v, int32_t some)
{
    vstrbq_p_s32(to, v, vctp32q((uint32_t)some));
}

/* The same, each to a place of its own. */
static inline void nuc_vstr_bw_at(int8_t *to, nuc_words places, nuc_words v)
{
    vstrbq_scatter_offset_s32(to, vreinterpretq_u32_s32(places), v);
}

/* 0, step, 2 * step, 3 * step */
static inline nuc_words nuc_vsteps_w(int32_t step)
{
    return vmulq_n_s32(vreinterpretq_s32_u32(vidupq_n_u32(0, 1)), step);
}

static inline nuc_words nuc_vadd_w(nuc_words a, nuc_words b)
{
    return vaddq_s32(a, b);
}

static inline nuc_words nuc_vadd_wn(nuc_words a, int32_t b)
{
    return vaddq_n_s32(a, b);
}

static inline nuc_words nuc_vmul_w(nuc_words a, nuc_words b)
{
    return vmulq_s32(a, b);
}

static inline nuc_words nuc_vmax_w(nuc_words a, nuc_words b)
{
    return vmaxq_s32(a, b);
}

static inline nuc_words nuc_vmin_w(nuc_words a, nuc_words b)
{
    return vminq_s32(a, b);
}

static inline nuc_words nuc_vabs_w(nuc_words a)
{
    return vabsq_s32(a);
}

static inline nuc_words nuc_vqadd_w(nuc_words a, nuc_words b)
{
    return vqaddq_s32(a, b);
}

static inline nuc_words nuc_vand_w(nuc_words a, nuc_words b)
{
    return vandq_s32(a, b);
}

/* -1 for negative numbers, 0 for others. */
static inline nuc_words nuc_vsigns_w(nuc_words a)
{
    return vshrq_n_s32(a, 31);
}

/* Shifts to the left by [0, 31]. */
static inline nuc_words nuc_vshl_w(nuc_words a, nuc_words shifts)
{
    return vshlq_s32(a, shifts);
}

/* Shifts to the right by minus [-31, 0], rounded, a half upwards. */
static inline nuc_words nuc_vrshl_w(nuc_words a, nuc_words shifts)
{
    return vrshlq_s32(a, shifts);
}

/* nuc_doubling_high_mul() */
static inline nuc_words nuc_vqrdmulh_w(nuc_words a, nuc_words b)
{
    return vqrdmulhq_s32(a, b);
}

/* The upper half of products of numbers without sign. */
static inline nuc_words nuc_vmulh_u(nuc_words a, nuc_words b)
{
    return vreinterpretq_s32_u32(vmulhq_u32(vreinterpretq_u32_s32(a), vreinterpretq_u32_s32(b)));
}

/* The largest of all, and of `largest`. */
static inline int32_t nuc_vmaxv_b(int32_t largest, nuc_bytes a)
{
    return vmaxvq_s8((int8_t)largest, a);
}

static inline int32_t nuc_vaddva_w(int32_t sum, nuc_words a)
{
    return vaddvaq_s32(sum, a);
}

/* sum + a * b */
static inline nuc_words nuc_vmla_w(nuc_words sum, nuc_words a, int32_t b)
{
    return vmlaq_n_s32(sum, a, b);
}

/* a where `test` is below 0, else b */
static inline nuc_words nuc_vsel_w(nuc_words test, nuc_words a, nuc_words b)
{
    return vpselq_s32(a, b, vcmpltq_n_s32(test, 0));
}

/* Eight bytes, each from a place of its own or to one. */
static inline nuc_halves nuc_vldr_bh_at(const uint8_t *from, nuc_halves places)
{
    return vldrbq_gather_offset_u16(from, places);
}

static inline void nuc_vstr_bh_at(uint8_t *to, nuc_halves places, nuc_halves v)
{
    vstrbq_scatter_offset_u16(to, places, v);
}

/* 0, step, 2 * step, ..., 7 * step */
static inline nuc_halves nuc_vsteps_h(uint32_t step)
{
    return vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)step);
}

#else

typedef struct {
    int8_t at[NUC_LANES_B];
} nuc_bytes;

typedef struct {
    int32_t at[NUC_LANES_W];
} nuc_words;

typedef struct {
    uint16_t at[NUC_LANES_H];
} nuc_halves;

#define NUC_EACH_LANE(lanes) for (int k = 0; k < (lanes); k++)

static inline nuc_bytes nuc_vdup_b(int32_t v)
{
    nuc_bytes r;

    NUC_EACH_LANE(NUC_LANES_B) r.at[k] = (int8_t)v;
    return r;
}

static inline nuc_bytes nuc_vldr_b_some(const int8_t *from, int32_t some)
{
    nuc_bytes r;

    NUC_EACH_LANE(NUC_LANES_B) r.at[k] = k < some ? from[k] : 0;
    return r;
}

static inline nuc_bytes nuc_vldr_b(const int8_t *from)
{
    return nuc_vldr_b_some(from, NUC_LANES_B);
}

static inline void nuc_vstr_b_some(int8_t *to, nuc_bytes v, int32_t some)
{
    NUC_EACH_LANE(some < NUC_LANES_B ? some : NUC_LANES_B) to[k] = v.at[k];
}

static inline void nuc_vstr_b(int8_t *to, nuc_bytes v)
{
    nuc_vstr_b_some(to, v, NUC_LANES_B);
}

/* Each from a place of its own, a number without sign. */
static inline nuc_bytes nuc_vldr_b_at(const int8_t *from, nuc_bytes places)
{
    NUC_EACH_LANE(NUC_LANES_B) places.at[k] = from[(uint8_t)places.at[k]];
    return places;
}

static inline nuc_bytes nuc_veor_b(nuc_bytes a, nuc_bytes b)
{
    NUC_EACH_LANE(NUC_LANES_B) a.at[k] = (int8_t)(a.at[k] ^ b.at[k]);
    return a;
}

static inline nuc_bytes nuc_vmax_b(nuc_bytes a, nuc_bytes b)
{
    NUC_EACH_LANE(NUC_LANES_B) a.at[k] = a.at[k] > b.at[k] ? a.at[k] : b.at[k];
    return a;
}

static inline nuc_bytes nuc_vmin_b(nuc_bytes a, nuc_bytes b)
{
    NUC_EACH_LANE(NUC_LANES_B) a.at[k] = a.at[k] < b.at[k] ? a.at[k] : b.at[k];
    return a;
}

/* The sum of all products, and `sum`. */
static inline int32_t nuc_vmladava(int32_t sum, nuc_bytes a, nuc_bytes b)
{
    int32_t products = 0;

    NUC_EACH_LANE(NUC_LANES_B) products += a.at[k] * b.at[k];
    return (int32_t)((uint32_t)sum + (uint32_t)products);
}

static inline int32_t nuc_vmladav(nuc_bytes a, nuc_bytes b)
{
    return nuc_vmladava(0, a, b);
}

static inline int32_t nuc_vaddva(int32_t sum, nuc_bytes a)
{
    return nuc_vmladava(sum, a, nuc_vdup_b(1));
}

static inline nuc_words nuc_vdup_w(int32_t v)
{
    return (nuc_words){{v, v, v, v}};
}

static inline nuc_words nuc_vldr_w_some(const int32_t *from, int32_t some)
{
    nuc_words r;

    NUC_EACH_LANE(NUC_LANES_W) r.at[k] = k < some ? from[k] : 0;
    return r;
}

static inline nuc_words nuc_vldr_w(const int32_t *from)
{
    return nuc_vldr_w_some(from, NUC_LANES_W);
}

static inline void nuc_vstr_w(int32_t *to, nuc_words v)
{
    NUC_EACH_LANE(NUC_LANES_W) to[k] = v.at[k];
}

/* Four bytes, widened. */
static inline nuc_words nuc_vldr_bw_some(const int8_t *from, int32_t some)
{
    nuc_words r;

    NUC_EACH_LANE(NUC_LANES_W) r.at[k] = k < some ? from[k] : 0;
    return r;
}

static inline nuc_words nuc_vldr_bw(const int8_t *from)
{
    return nuc_vldr_bw_some(from, NUC_LANES_W);
}

/* The same as numbers without sign. */
static inline nuc_words nuc_vldr_ubw(const int8_t *from)
{
    return (nuc_words){{(uint8_t)from[0], (uint8_t)from[1], (uint8_t)from[2], (uint8_t)from[3]}};
}

/* Each from a place of its own, in words. */
static inline nuc_words nuc_vldr_w_at(const int32_t *from, nuc_words places)
{
    NUC_EACH_LANE(NUC_LANES_W) places.at[k] = from[places.at[k]];
    return places;
}

/* The lowest byte of each. */
static inline void nuc_vstr_bw_some(int8_t *to, nuc_words v, int32_t some)
{
    NUC_EACH_LANE(some < NUC_LANES_W ? some : NUC_LANES_W) to[k] = (int8_t)v.at[k];
}

static inline void nuc_vstr_bw(int8_t *to, nuc_words v)
{
    nuc_vstr_bw_some(to, v, NUC_LANES_W);
}

/* The same, each to a place of its own. */
static inline void nuc_vstr_bw_at(int8_t *to, nuc_words places, nuc_words v)
{
    NUC_EACH_LANE(NUC_LANES_W) to[places.at[k]] = (int8_t)v.at[k];
}

/* 0, step, 2 * step, 3 * step */
static inline nuc_words nuc_vsteps_w(int32_t step)
{
    return (nuc_words){{0, step, 2 * step, 3 * step}};
}

static inline nuc_words nuc_vadd_w(nuc_words a, nuc_words b)
{
    NUC_EACH_LANE(NUC_LANES_W) a.at[k] = (int32_t)((uint32_t)a.at[k] + (uint32_t)b.at[k]);
    return a;
}

static inline nuc_words nuc_vadd_wn(nuc_words a, int32_t b)
{
    return nuc_vadd_w(a, nuc_vdup_w(b));
}

static inline nuc_words nuc_vmul_w(nuc_words a, nuc_words b)
{
    NUC_EACH_LANE(NUC_LANES_W) a.at[k] = (int32_t)((uint32_t)a.at[k] * (uint32_t)b.at[k]);
    return a;
}

static inline nuc_words nuc_vmax_w(nuc_words a, nuc_words b)
{
    NUC_EACH_LANE(NUC_LANES_W) a.at[k] = a.at[k] > b.at[k] ? a.at[k] : b.at[k];
    return a;
}

static inline nuc_words nuc_vmin_w(nuc_words a, nuc_words b)
{
    NUC_EACH_LANE(NUC_LANES_W) a.at[k] = a.at[k] < b.at[k] ? a.at[k] : b.at[k];
    return a;
}

static inline nuc_words nuc_vabs_w(nuc_words a)
{
    NUC_EACH_LANE(NUC_LANES_W) a.at[k] = a.at[k] < 0 ? (int32_t)(0U - (uint32_t)a.at[k]) : a.at[k];
    return a;
}

static inline nuc_words nuc_vqadd_w(nuc_words a, nuc_words b)
{
    NUC_EACH_LANE(NUC_LANES_W) a.at[k] = nuc_saturate_i32((int64_t)a.at[k] + b.at[k]);
    return a;
}

static inline nuc_words nuc_vand_w(nuc_words a, nuc_words b)
{
    NUC_EACH_LANE(NUC_LANES_W) a.at[k] = (int32_t)((uint32_t)a.at[k] & (uint32_t)b.at[k]);
    return a;
}

/* -1 for negative numbers, 0 for others. */
static inline nuc_words nuc_vsigns_w(nuc_words a)
{
    NUC_EACH_LANE(NUC_LANES_W) a.at[k] = a.at[k] < 0 ? -1 : 0;
    return a;
}

/* Shifts to the left by [0, 31]. */
static inline nuc_words nuc_vshl_w(nuc_words a, nuc_words shifts)
{
    NUC_EACH_LANE(NUC_LANES_W) a.at[k] = (int32_t)((uint32_t)a.at[k] << shifts.at[k]);
    return a;
}

/* Shifts to the right by minus [-31, 0], rounded, a half upwards. */
static inline nuc_words nuc_vrshl_w(nuc_words a, nuc_words shifts)
{
    NUC_EACH_LANE(NUC_LANES_W)
    a.at[k] = (int32_t)(((int64_t)a.at[k] + (((int64_t)1 << -shifts.at[k]) >> 1)) >> -shifts.at[k]);
    return a;
}

/* nuc_doubling_high_mul() */
static inline nuc_words nuc_vqrdmulh_w(nuc_words a, nuc_words b)
{
    NUC_EACH_LANE(NUC_LANES_W) a.at[k] = nuc_doubling_high_mul(a.at[k], b.at[k]);
    return a;
}

/* The upper half of products of numbers without sign. */
static inline nuc_words nuc_vmulh_u(nuc_words a, nuc_words b)
{
    NUC_EACH_LANE(NUC_LANES_W) a.at[k] = (int32_t)(((uint64_t)(uint32_t)a.at[k] * (uint32_t)b.at[k]) >> 32);
    return a;
}

/* The largest of all, and of `largest`. */
static inline int32_t nuc_vmaxv_b(int32_t largest, nuc_bytes a)
{
    NUC_EACH_LANE(NUC_LANES_B) largest = a.at[k] > largest ? a.at[k] : largest;
    return largest;
}

static inline int32_t nuc_vaddva_w(int32_t sum, nuc_words a)
{
    NUC_EACH_LANE(NUC_LANES_W) sum = (int32_t)((uint32_t)sum + (uint32_t)a.at[k]);
    return sum;
}

/* sum + a * b */
static inline nuc_words nuc_vmla_w(nuc_words sum, nuc_words a, int32_t b)
{
    return nuc_vadd_w(sum, nuc_vmul_w(a, nuc_vdup_w(b)));
}

/* a where `test` is below 0, else b */
static inline nuc_words nuc_vsel_w(nuc_words test, nuc_words a, nuc_words b)
{
    NUC_EACH_LANE(NUC_LANES_W) b.at[k] = test.at[k] < 0 ? a.at[k] : b.at[k];
    return b;
}

/* Eight bytes, each from a place of its own or to one. */
static inline nuc_halves nuc_vldr_bh_at(const uint8_t *from, nuc_halves places)
{
    NUC_EACH_LANE(NUC_LANES_H) places.at[k] = from[places.at[k]];
    return places;
}

static inline void nuc_vstr_bh_at(uint8_t *to, nuc_halves places, nuc_halves v)
{
    NUC_EACH_LANE(NUC_LANES_H) to[places.at[k]] = (uint8_t)v.at[k];
}

/* 0, step, 2 * step, ..., 7 * step */
static inline nuc_halves nuc_vsteps_h(uint32_t step)
{
    nuc_halves r;

    NUC_EACH_LANE(NUC_LANES_H) r.at[k] = (uint16_t)((uint32_t)k * step);
    return r;
}

#endif
#endif
