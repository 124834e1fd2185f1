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

/*
 * Rows of name, parameters, the instruction, and the same in C: lane k of a vector (NUC_BYTES, NUC_HALVES, NUC_WORDS),
 * what lane k makes of the parameter `into` (NUC_FOLD), or what is done for it (NUC_STORE).
 */
#if defined(__ARM_FEATURE_MVE)

#include <arm_mve.h>

typedef int8x16_t nuc_bytes;
typedef int32x4_t nuc_words;
typedef uint16x8_t nuc_halves;

#define NUC_VECTOR(type, element, lanes, name, parameters, instruction, lane)                                          \
    static inline type name parameters                                                                                 \
    {                                                                                                                  \
        return instruction;                                                                                            \
    }
#define NUC_FOLD(lanes, name, parameters, instruction, lane)                                                           \
    static inline int32_t name parameters                                                                              \
    {                                                                                                                  \
        return instruction;                                                                                            \
    }
#define NUC_STORE(lanes, name, parameters, instruction, lane)                                                          \
    static inline void name parameters                                                                                 \
    {                                                                                                                  \
        instruction;                                                                                                   \
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

#define NUC_VECTOR(type, element, lanes, name, parameters, instruction, lane)                                          \
    static inline type name parameters                                                                                 \
    {                                                                                                                  \
        type result;                                                                                                   \
                                                                                                                       \
        for (int k = 0; k < (lanes); k++)                                                                              \
            result.at[k] = (element)(lane);                                                                            \
        return result;                                                                                                 \
    }
#define NUC_FOLD(lanes, name, parameters, instruction, lane)                                                           \
    static inline int32_t name parameters                                                                              \
    {                                                                                                                  \
        for (int k = 0; k < (lanes); k++)                                                                              \
            into = lane;                                                                                               \
        return into;                                                                                                   \
    }
#define NUC_STORE(lanes, name, parameters, instruction, lane)                                                          \
    static inline void name parameters                                                                                 \
    {                                                                                                                  \
        for (int k = 0; k < (lanes); k++)                                                                              \
            lane;                                                                                                      \
    }

#endif

#define NUC_BYTES(name, parameters, instruction, lane)                                                                 \
    NUC_VECTOR(nuc_bytes, int8_t, NUC_LANES_B, name, parameters, instruction, lane)
#define NUC_HALVES(name, parameters, instruction, lane)                                                                \
    NUC_VECTOR(nuc_halves, uint16_t, NUC_LANES_H, name, parameters, instruction, lane)
#define NUC_WORDS(name, parameters, instruction, lane)                                                                 \
    NUC_VECTOR(nuc_words, int32_t, NUC_LANES_W, name, parameters, instruction, lane)

/* Of 32 bits, which wrap. */
#define NUC_WRAPPED(a, operation, b) ((int32_t)((uint32_t)(a)operation(uint32_t)(b)))

/* ---- bytes ---- */

NUC_BYTES(nuc_vdup_b, (int32_t v), vdupq_n_s8((int8_t)v), v)
NUC_BYTES(nuc_vldr_b, (const int8_t *from), vldrbq_s8(from), from[k])
NUC_BYTES(nuc_vldr_b_some, (const int8_t *from, int32_t some), vldrbq_z_s8(from, vctp8q((uint32_t)some)),
          k < some ? from[k] : 0)
NUC_STORE(NUC_LANES_B, nuc_vstr_b, (int8_t to[], nuc_bytes v), vstrbq_s8(to, v), to[k] = v.at[k])
NUC_STORE(some < NUC_LANES_B ? some : NUC_LANES_B, nuc_vstr_b_some, (int8_t to[], nuc_bytes v, int32_t some),
          vstrbq_p_s8(to, v, vctp8q((uint32_t)some)), to[k] = v.at[k])

/* Each from a place of its own, a number without sign. */
NUC_BYTES(nuc_vldr_b_at, (const int8_t *from, nuc_bytes places),
          vldrbq_gather_offset_s8(from, vreinterpretq_u8_s8(places)), from[(uint8_t)places.at[k]])

NUC_BYTES(nuc_veor_b, (nuc_bytes a, nuc_bytes b), veorq_s8(a, b), a.at[k] ^ b.at[k])
NUC_BYTES(nuc_vmax_b, (nuc_bytes a, nuc_bytes b), vmaxq_s8(a, b), a.at[k] > b.at[k] ? a.at[k] : b.at[k])
NUC_BYTES(nuc_vmin_b, (nuc_bytes a, nuc_bytes b), vminq_s8(a, b), a.at[k] < b.at[k] ? a.at[k] : b.at[k])

/* The sum of all products, and `into`. */
NUC_FOLD(NUC_LANES_B, nuc_vmladava, (int32_t into, nuc_bytes a, nuc_bytes b), vmladavaq_s8(into, a, b),
         NUC_WRAPPED(into, +, a.at[k] * b.at[k]))
NUC_FOLD(NUC_LANES_B, nuc_vaddva, (int32_t into, nuc_bytes a), vaddvaq_s8(into, a), NUC_WRAPPED(into, +, a.at[k]))

static inline int32_t nuc_vmladav(nuc_bytes a, nuc_bytes b)
{
#if defined(__ARM_FEATURE_MVE)
    return vmladavq_s8(a, b);
#else
    return nuc_vmladava(0, a, b);
#endif
}

/* The largest of all, and of `into`. */
NUC_FOLD(NUC_LANES_B, nuc_vmaxv_b, (int32_t into, nuc_bytes a), vmaxvq_s8((int8_t)into, a),
         a.at[k] > into ? a.at[k] : into)

/* ---- words ---- */

NUC_WORDS(nuc_vdup_w, (int32_t v), vdupq_n_s32(v), v)
NUC_WORDS(nuc_vldr_w, (const int32_t *from), vldrwq_s32(from), from[k])
NUC_WORDS(nuc_vldr_w_some, (const int32_t *from, int32_t some), vldrwq_z_s32(from, vctp32q((uint32_t)some)),
          k < some ? from[k] : 0)
NUC_STORE(NUC_LANES_W, nuc_vstr_w, (int32_t to[], nuc_words v), vstrwq_s32(to, v), to[k] = v.at[k])

/* Each from a place of its own, in words. */
NUC_WORDS(nuc_vldr_w_at, (const int32_t *from, nuc_words places),
          vldrwq_gather_shifted_offset_s32(from, vreinterpretq_u32_s32(places)), from[places.at[k]])

/* Four bytes, widened; the same as numbers without sign. */
NUC_WORDS(nuc_vldr_bw, (const int8_t *from), vldrbq_s32(from), from[k])
NUC_WORDS(nuc_vldr_bw_some, (const int8_t *from, int32_t some), vldrbq_z_s32(from, vctp32q((uint32_t)some)),
          k < some ? from[k] : 0)
NUC_WORDS(nuc_vldr_ubw, (const int8_t *from), vreinterpretq_s32_u32(vldrbq_u32((const uint8_t *)from)),
          (uint8_t)from[k])

/* The lowest byte of each; each to a place of its own. */
NUC_STORE(NUC_LANES_W, nuc_vstr_bw, (int8_t to[], nuc_words v), vstrbq_s32(to, v), to[k] = (int8_t)v.at[k])
NUC_STORE(some < NUC_LANES_W ? some : NUC_LANES_W, nuc_vstr_bw_some, (int8_t to[], nuc_words v, int32_t some),
          vstrbq_p_s32(to, v, vctp32q((uint32_t)some)), to[k] = (int8_t)v.at[k])
NUC_STORE(NUC_LANES_W, nuc_vstr_bw_at, (int8_t to[], nuc_words places, nuc_words v),
          vstrbq_scatter_offset_s32(to, vreinterpretq_u32_s32(places), v), to[places.at[k]] = (int8_t)v.at[k])

/* 0, step, 2 * step, 3 * step */
NUC_WORDS(nuc_vsteps_w, (int32_t step), vmulq_n_s32(vreinterpretq_s32_u32(vidupq_n_u32(0, 1)), step),
          NUC_WRAPPED(k, *, step))

NUC_WORDS(nuc_vadd_w, (nuc_words a, nuc_words b), vaddq_s32(a, b), NUC_WRAPPED(a.at[k], +, b.at[k]))
NUC_WORDS(nuc_vadd_wn, (nuc_words a, int32_t b), vaddq_n_s32(a, b), NUC_WRAPPED(a.at[k], +, b))
NUC_WORDS(nuc_vmul_w, (nuc_words a, nuc_words b), vmulq_s32(a, b), NUC_WRAPPED(a.at[k], *, b.at[k]))
NUC_WORDS(nuc_vmla_w, (nuc_words sum, nuc_words a, int32_t b), vmlaq_n_s32(sum, a, b),
          NUC_WRAPPED(sum.at[k], +, NUC_WRAPPED(a.at[k], *, b)))
NUC_WORDS(nuc_vmax_w, (nuc_words a, nuc_words b), vmaxq_s32(a, b), a.at[k] > b.at[k] ? a.at[k] : b.at[k])
NUC_WORDS(nuc_vmin_w, (nuc_words a, nuc_words b), vminq_s32(a, b), a.at[k] < b.at[k] ? a.at[k] : b.at[k])
NUC_WORDS(nuc_vabs_w, (nuc_words a), vabsq_s32(a), a.at[k] < 0 ? NUC_WRAPPED(0, -, a.at[k]) : a.at[k])
NUC_WORDS(nuc_vqadd_w, (nuc_words a, nuc_words b), vqaddq_s32(a, b), nuc_saturate_i32((int64_t)a.at[k] + b.at[k]))
NUC_WORDS(nuc_vand_w, (nuc_words a, nuc_words b), vandq_s32(a, b), NUC_WRAPPED(a.at[k], &, b.at[k]))
NUC_FOLD(NUC_LANES_W, nuc_vaddva_w, (int32_t into, nuc_words a), vaddvaq_s32(into, a), NUC_WRAPPED(into, +, a.at[k]))

/* -1 for negative numbers, 0 for others. */
NUC_WORDS(nuc_vsigns_w, (nuc_words a), vshrq_n_s32(a, 31), a.at[k] < 0 ? -1 : 0)

/* Shifts to the left by [0, 31]; to the right by minus [-31, 0], rounded, a half upwards. */
NUC_WORDS(nuc_vshl_w, (nuc_words a, nuc_words shifts), vshlq_s32(a, shifts), (uint32_t)a.at[k] << shifts.at[k])
NUC_WORDS(nuc_vrshl_w, (nuc_words a, nuc_words shifts), vrshlq_s32(a, shifts),
          ((int64_t)a.at[k] + (((int64_t)1 << -shifts.at[k]) >> 1)) >> -shifts.at[k])

NUC_WORDS(nuc_vqrdmulh_w, (nuc_words a, nuc_words b), vqrdmulhq_s32(a, b), nuc_doubling_high_mul(a.at[k], b.at[k]))

/* The upper half of products of numbers without sign. */
NUC_WORDS(nuc_vmulh_u, (nuc_words a, nuc_words b),
          vreinterpretq_s32_u32(vmulhq_u32(vreinterpretq_u32_s32(a), vreinterpretq_u32_s32(b))),
          ((uint64_t)(uint32_t)a.at[k] * (uint32_t)b.at[k]) >> 32)

/* a where `test` is below 0, else b */
NUC_WORDS(nuc_vsel_w, (nuc_words test, nuc_words a, nuc_words b), vpselq_s32(a, b, vcmpltq_n_s32(test, 0)),
          test.at[k] < 0 ? a.at[k] : b.at[k])

/* ---- halves ---- */

/* Eight bytes, each from a place of its own or to one. */
NUC_HALVES(nuc_vldr_bh_at, (const uint8_t *from, nuc_halves places), vldrbq_gather_offset_u16(from, places),
           from[places.at[k]])
NUC_STORE(NUC_LANES_H, nuc_vstr_bh_at, (uint8_t to[], nuc_halves places, nuc_halves v),
          vstrbq_scatter_offset_u16(to, places, v), to[places.at[k]] = (uint8_t)v.at[k])

/* 0, step, 2 * step, ..., 7 * step */
NUC_HALVES(nuc_vsteps_h, (uint32_t step), vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)step), NUC_WRAPPED(k, *, step))

#endif
