#include "kernels/dsp/dsp_columns.h"

void nuc_dsp_widen(const int8_t *in, uint32_t offset, int32_t blocks, int32_t width, uint32_t *out)
{
    for (int32_t i = 0; i < blocks; i++) {
        uint32_t word = nuc_load_word(in);
        out[0] = nuc_sxtab16(offset, word);
        out[width] = nuc_sxtab16_odd(offset, word);
        out += 2 * width;
        in += 4;
    }
}

bool nuc_dsp_scales(const struct nuc_rescale *r, const int32_t *bias, int32_t channels, int32_t count)
{
    const int32_t limit = 1 << 30;
    const int32_t largest_product = 255 * 128;
    int32_t n_scales = r->step != 0 ? channels : 1;

    if (count >= limit / largest_product)
        return false;
    int32_t room = limit - 1 - count * largest_product;
    for (int32_t i = 0; i < n_scales; i++) {
        if (r->shifts[i] >= 0 && r->multipliers[i] != 0)
            return false;
    }
    for (int32_t i = 0; bias != NULL && i < channels; i++) {
        if (bias[i] > room || bias[i] < -room)
            return false;
    }
    return true;
}

/* The last 1 to 3 weights of a row, zeros after them. */
static uint32_t tail_word(const int8_t *weight, int32_t count)
{
    uint32_t word = 0;

    for (int32_t i = 0; i < count; i++)
        word |= (uint32_t)(uint8_t)weight[i] << (8 * i);
    return word;
}

static inline struct nuc_quad block_4(const uint32_t *x, uint32_t word, struct nuc_quad s)
{
    uint32_t even = nuc_sxtb16(word);
    uint32_t odd = nuc_sxtb16_odd(word);

    s.a = nuc_smlad(odd, x[4], nuc_smlad(even, x[0], s.a));
    s.b = nuc_smlad(odd, x[5], nuc_smlad(even, x[1], s.b));
    s.c = nuc_smlad(odd, x[6], nuc_smlad(even, x[2], s.c));
    s.d = nuc_smlad(odd, x[7], nuc_smlad(even, x[3], s.d));
    return s;
}

#ifdef __ARM_FEATURE_DSP

/* 13 instructions for 16 products; r8 to r11 hold four pixels' words. */
#define BLOCK_4                                                                                                        \
    "ldr %[w], [%[weight]], #4\n\t"                                                                                    \
    "ldmia %[x]!, {r8-r11}\n\t"                                                                                        \
    "sxtb16 %[e], %[w]\n\t"                                                                                            \
    "smlad %[s0], r8, %[e], %[s0]\n\t"                                                                                 \
    "smlad %[s1], r9, %[e], %[s1]\n\t"                                                                                 \
    "smlad %[s2], r10, %[e], %[s2]\n\t"                                                                                \
    "smlad %[s3], r11, %[e], %[s3]\n\t"                                                                                \
    "ldmia %[x]!, {r8-r11}\n\t"                                                                                        \
    "sxtb16 %[e], %[w], ror #8\n\t"                                                                                    \
    "smlad %[s0], r8, %[e], %[s0]\n\t"                                                                                 \
    "smlad %[s1], r9, %[e], %[s1]\n\t"                                                                                 \
    "smlad %[s2], r10, %[e], %[s2]\n\t"                                                                                \
    "smlad %[s3], r11, %[e], %[s3]\n\t"

/* `blocks` is at least 1. */
static inline struct nuc_quad blocks_4(const uint32_t *x, const int8_t *weight, int32_t blocks, struct nuc_quad s)
{
    uint32_t w, e;

    if ((blocks & 1) != 0)
        __asm volatile(BLOCK_4
                       : [x] "+r"(x), [weight] "+r"(weight), [s0] "+r"(s.a), [s1] "+r"(s.b), [s2] "+r"(s.c),
                         [s3] "+r"(s.d), [w] "=&r"(w), [e] "=&r"(e)
                       :
                       : "r8", "r9", "r10", "r11", "memory");
    blocks >>= 1;
    if (blocks > 0)
        __asm volatile("1:\n\t" BLOCK_4 BLOCK_4 "subs %[n], %[n], #1\n\t"
                       "bne 1b"
                       : [x] "+r"(x), [weight] "+r"(weight), [s0] "+r"(s.a), [s1] "+r"(s.b), [s2] "+r"(s.c),
                         [s3] "+r"(s.d), [w] "=&r"(w), [e] "=&r"(e), [n] "+r"(blocks)
                       :
                       : "r8", "r9", "r10", "r11", "memory", "cc");
    return s;
}

#else

static inline struct nuc_quad blocks_4(const uint32_t *x, const int8_t *weight, int32_t blocks, struct nuc_quad s)
{
    for (int32_t i = 0; i < blocks; i++, x += 8, weight += 4)
        s = block_4(x, nuc_load_word(weight), s);
    return s;
}

#endif

/* Results of one output channel, most of the time of four pixels. */
static inline void store_4(const struct nuc_columns *c, const struct nuc_quad *v, int8_t *out)
{
    ptrdiff_t step = c->out_step;

    *out = (int8_t)v->a;
    if (c->pixels > 1)
        out[step] = (int8_t)v->b;
    if (c->pixels > 2)
        out[2 * step] = (int8_t)v->c;
    if (c->pixels > 3)
        out[3 * step] = (int8_t)v->d;
}

static void multiply_4(const struct nuc_columns *c, const struct nuc_rescale *r, const int32_t *bias,
                       const int8_t *weight, int8_t *out)
{
    int32_t rest = c->depth & 3;
    int32_t blocks = c->depth >> 2;
    int32_t offset = r->offset;
    struct nuc_bounds bounds = nuc_bounds_of(r->low, r->high);
    const int32_t *multiplier = r->multipliers + c->first * r->step;
    const int32_t *shift = r->shifts + c->first * r->step;

    for (int32_t o = c->first; o < c->last; o++, multiplier += r->step, shift += r->step) {
        int32_t start = bias != NULL ? bias[o] : 0;
        struct nuc_quad s = {start, start, start, start};
        if (blocks > 0)
            s = blocks_4(c->data, weight, blocks, s);
        weight += 4 * blocks;
        if (rest != 0) {
            s = block_4(c->data + 8 * blocks, tail_word(weight, rest), s);
            weight += rest;
        }
        struct nuc_scale scale = nuc_scale_of(*multiplier, *shift);
        s.a = nuc_scaled(s.a, scale, offset);
        s.b = nuc_scaled(s.b, scale, offset);
        s.c = nuc_scaled(s.c, scale, offset);
        s.d = nuc_scaled(s.d, scale, offset);
        nuc_bound_quad(&bounds, &s);
        store_4(c, &s, out + o);
    }
}

#ifdef __ARM_FEATURE_DSP

/* What channels_4() works on; the offsets are written in its instructions. */
struct channels_4 {
    const uint32_t *x;          /* 0 */
    int32_t turns;              /* 4: of two blocks */
    const int32_t *bias;        /* 8 */
    int32_t odd;                /* 12: the first turn has one block */
    const int32_t *multipliers; /* 16 */
    const int32_t *shifts;      /* 20 */
    int8_t *out;                /* 24 */
    ptrdiff_t step;             /* 28 */
    int32_t offset;             /* 32 */
    int32_t count;              /* 36: output channels */
    const int8_t *weight;       /* 40 */
    int32_t beyond;             /* 44: weights a row takes of the next one in its last block, against zeros */
};

#define BLOCK                                                                                                          \
    "ldr r12, [r1], #4\n\t"                                                                                            \
    "ldmia r0!, {r8-r11}\n\t"                                                                                          \
    "sxtb16 lr, r12\n\t"                                                                                               \
    "smlad r3, r8, lr, r3\n\t"                                                                                         \
    "smlad r4, r9, lr, r4\n\t"                                                                                         \
    "smlad r5, r10, lr, r5\n\t"                                                                                        \
    "smlad r6, r11, lr, r6\n\t"                                                                                        \
    "ldmia r0!, {r8-r11}\n\t"                                                                                          \
    "sxtb16 lr, r12, ror #8\n\t"                                                                                       \
    "smlad r3, r8, lr, r3\n\t"                                                                                         \
    "smlad r4, r9, lr, r4\n\t"                                                                                         \
    "smlad r5, r10, lr, r5\n\t"                                                                                        \
    "smlad r6, r11, lr, r6\n\t"

/* nuc_scaled() and saturation; r10: multiplier, r11: shift, r12: offset. The addition clears the carry for a shift of
   0, which goes with a multiplier of 0. */
#define RESCALE(sum)                                                                                                   \
    "lsls " sum ", " sum ", #1\n\t"                                                                                    \
    "smmulr " sum ", " sum ", r10\n\t"                                                                                 \
    "adds " sum ", " sum ", " sum ", asr #31\n\t"                                                                      \
    "asrs " sum ", " sum ", r11\n\t"                                                                                   \
    "adcs " sum ", " sum ", r12\n\t"                                                                                   \
    "ssat " sum ", #8, " sum "\n\t"

/*
 * Whole output channels of four pixels: the loops around the blocks in registers, which a compiler spills. r0: x,
 * r1: weight, r2: turns, r3 to r6: sums, r7: the structure.
 */
__attribute__((naked)) static void channels_4(struct channels_4 *work __attribute__((unused)))
{
    __asm volatile("push {r4-r11, lr}\n\t"
                   "mov r7, r0\n\t"
                   "ldr r1, [r7, #40]\n"
                   "1:\n\t"
                   "ldrd r12, lr, [r7, #8]\n\t"
                   "ldrd r0, r2, [r7]\n\t"
                   "ldr r3, [r12], #4\n\t"
                   "str r12, [r7, #8]\n\t"
                   "mov r4, r3\n\t"
                   "mov r5, r3\n\t"
                   "mov r6, r3\n\t"
                   "cmp lr, #0\n\t"
                   "bne 3f\n"
                   "2:\n\t" BLOCK "3:\n\t" BLOCK "subs r2, r2, #1\n\t"
                   "bne 2b\n\t"
                   "ldrd r8, r9, [r7, #16]\n\t"
                   "ldr r2, [r7, #44]\n\t"
                   "sub r1, r1, r2\n\t"
                   "ldr r12, [r7, #32]\n\t"
                   "ldr r10, [r8], #4\n\t"
                   "ldr r11, [r9], #4\n\t"
                   "strd r8, r9, [r7, #16]\n\t"
                   "rsb r11, r11, #0\n\t" RESCALE("r3") RESCALE("r4") RESCALE("r5")
                       RESCALE("r6") "ldrd r0, r2, [r7, #24]\n\t"
                                     "add r8, r2, r2, lsl #1\n\t"
                                     "strb r4, [r0, r2]\n\t"
                                     "strb r5, [r0, r2, lsl #1]\n\t"
                                     "strb r6, [r0, r8]\n\t"
                                     "strb r3, [r0], #1\n\t"
                                     "ldr r2, [r7, #36]\n\t"
                                     "str r0, [r7, #24]\n\t"
                                     "subs r2, r2, #1\n\t"
                                     "str r2, [r7, #36]\n\t"
                                     "bne 1b\n\t"
                                     "pop {r4-r11, pc}");
}

void nuc_dsp_multiply_4(const struct nuc_columns *c, const struct nuc_rescale *r, const int32_t *bias,
                        const int8_t *weight, int8_t *out)
{
    int32_t blocks = (c->depth + 3) >> 2;
    int32_t beyond = 4 * blocks - c->depth;
    int32_t last = beyond != 0 ? c->last - 1 : c->last; /* nothing lies after the last row */

    if (c->pixels < 4 || bias == NULL || r->step != 1 || r->low != INT8_MIN || r->high != INT8_MAX ||
        last <= c->first) {
        multiply_4(c, r, bias, weight, out);
        return;
    }
    struct channels_4 work = {
        .x = c->data,
        .turns = (blocks + 1) >> 1,
        .bias = bias + c->first,
        .odd = blocks & 1,
        .multipliers = r->multipliers + c->first,
        .shifts = r->shifts + c->first,
        .out = out + c->first,
        .step = c->out_step,
        .offset = r->offset,
        .count = last - c->first,
        .weight = weight,
        .beyond = beyond,
    };
    channels_4(&work);
    if (last < c->last) {
        struct nuc_columns rest = *c;
        rest.first = last;
        multiply_4(&rest, r, bias, weight + (ptrdiff_t)(last - c->first) * c->depth, out);
    }
}

#else

void nuc_dsp_multiply_4(const struct nuc_columns *c, const struct nuc_rescale *r, const int32_t *bias,
                        const int8_t *weight, int8_t *out)
{
    multiply_4(c, r, bias, weight, out);
}

#endif

/* a, b: the first row of weights against two pixels; c, d: the second. */
static inline struct nuc_quad block_2x2(const uint32_t *x, uint32_t first, uint32_t second, struct nuc_quad s)
{
    uint32_t even = nuc_sxtb16(first);
    uint32_t odd = nuc_sxtb16_odd(first);

    s.a = nuc_smlad(odd, x[2], nuc_smlad(even, x[0], s.a));
    s.b = nuc_smlad(odd, x[3], nuc_smlad(even, x[1], s.b));
    even = nuc_sxtb16(second);
    odd = nuc_sxtb16_odd(second);
    s.c = nuc_smlad(odd, x[2], nuc_smlad(even, x[0], s.c));
    s.d = nuc_smlad(odd, x[3], nuc_smlad(even, x[1], s.d));
    return s;
}

#ifdef __ARM_FEATURE_DSP

/* 15 instructions for 16 products; r8 to r11 hold two pixels' words. `blocks` is at least 1. */
static inline struct nuc_quad blocks_2x2(const uint32_t *x, const int8_t *weight, ptrdiff_t second, int32_t blocks,
                                         struct nuc_quad s)
{
    const int8_t *other = weight + second;
    uint32_t w, e;

    __asm volatile("1:\n\t"
                   "ldmia %[x]!, {r8-r11}\n\t"
                   "ldr %[w], [%[weight]], #4\n\t"
                   "sxtb16 %[e], %[w]\n\t"
                   "smlad %[s0], r8, %[e], %[s0]\n\t"
                   "smlad %[s1], r9, %[e], %[s1]\n\t"
                   "sxtb16 %[e], %[w], ror #8\n\t"
                   "smlad %[s0], r10, %[e], %[s0]\n\t"
                   "smlad %[s1], r11, %[e], %[s1]\n\t"
                   "ldr %[w], [%[other]], #4\n\t"
                   "sxtb16 %[e], %[w]\n\t"
                   "smlad %[s2], r8, %[e], %[s2]\n\t"
                   "smlad %[s3], r9, %[e], %[s3]\n\t"
                   "sxtb16 %[e], %[w], ror #8\n\t"
                   "smlad %[s2], r10, %[e], %[s2]\n\t"
                   "smlad %[s3], r11, %[e], %[s3]\n\t"
                   "subs %[n], %[n], #1\n\t"
                   "bne 1b"
                   : [x] "+r"(x), [weight] "+r"(weight), [other] "+r"(other), [s0] "+r"(s.a), [s1] "+r"(s.b),
                     [s2] "+r"(s.c), [s3] "+r"(s.d), [w] "=&r"(w), [e] "=&r"(e), [n] "+r"(blocks)
                   :
                   : "r8", "r9", "r10", "r11", "memory", "cc");
    return s;
}

#else

static inline struct nuc_quad blocks_2x2(const uint32_t *x, const int8_t *weight, ptrdiff_t second, int32_t blocks,
                                         struct nuc_quad s)
{
    for (int32_t i = 0; i < blocks; i++, x += 4, weight += 4)
        s = block_2x2(x, nuc_load_word(weight), nuc_load_word(weight + second), s);
    return s;
}

#endif

/* Two pixels' results of output channel `o`. */
static inline void store_2(const struct nuc_columns *c, const struct nuc_rescale *r, int32_t o, int32_t first,
                           int32_t second, int8_t *out)
{
    struct nuc_scale scale = nuc_scale_of(r->multipliers[o * r->step], r->shifts[o * r->step]);
    struct nuc_bounds bounds = nuc_bounds_of(r->low, r->high);

    out[o] = (int8_t)nuc_bounded(&bounds, nuc_scaled(first, scale, r->offset));
    if (c->pixels > 1)
        out[c->out_step + o] = (int8_t)nuc_bounded(&bounds, nuc_scaled(second, scale, r->offset));
}

void nuc_dsp_multiply_2(const struct nuc_columns *c, const struct nuc_rescale *r, const int32_t *bias,
                        const int8_t *weight, int8_t *out)
{
    int32_t rest = c->depth & 3;
    int32_t blocks = c->depth >> 2;

    for (int32_t o = c->first; o < c->last; o += 2) {
        bool both = o + 1 < c->last;
        ptrdiff_t second = both ? c->depth : 0; /* a last single row is read twice */
        int32_t a = bias != NULL ? bias[o] : 0;
        int32_t b = bias != NULL && both ? bias[o + 1] : 0;
        struct nuc_quad s = {a, a, b, b};
        if (blocks > 0)
            s = blocks_2x2(c->data, weight, second, blocks, s);
        if (rest != 0) {
            const int8_t *tail = weight + 4 * blocks;
            s = block_2x2(c->data + 4 * blocks, tail_word(tail, rest), tail_word(tail + second, rest), s);
        }
        weight += 2 * c->depth;
        store_2(c, r, o, s.a, s.b, out);
        if (both)
            store_2(c, r, o + 1, s.c, s.d, out);
    }
}
