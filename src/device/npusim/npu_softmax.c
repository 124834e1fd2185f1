/*
 * Softmax in fixed point. Source of the method and its constants: gemmlowp's exp_on_negative_values and
 * one_over_one_plus_x_for_x_in_0_1, as used by LiteRT's int8 reference kernel. Qm.n below is a raw int32 with m integer
 * and n fractional bits.
 */
#include "npu.h"
#include "npu_math.h"

#define DIFF_FRACTION 26    /* differences are Q5.26 */
#define SUM_INTEGER_BITS 12 /* the sum of exponentials is Q12.19 */

static int32_t saturating_shift_left(int32_t v, int bits)
{
    return nuc_saturate_i32((int64_t)v * ((int64_t)1 << bits));
}

/* exp(a) for a in [-1/4, 0), Q0.31 to Q0.31: the Taylor series around -1/8. */
static int32_t exp_quarter(int32_t a)
{
    const int32_t exp_minus_eighth = 1895147668, third = 715827883;
    int32_t x = a + (1 << 28);
    int32_t x2 = nuc_doubling_high_mul(x, x);
    int32_t x3 = nuc_doubling_high_mul(x2, x);
    int32_t x4_over_4 = nuc_rounding_shift_right(nuc_doubling_high_mul(x2, x2), 2);
    int32_t tail = nuc_rounding_shift_right(nuc_doubling_high_mul(x4_over_4 + x3, third) + x2, 1);

    return exp_minus_eighth + nuc_doubling_high_mul(exp_minus_eighth, x + tail);
}

/* exp(a), a <= 0 in Q5.26, result Q0.31: the rest of a modulo 1/4, times exp(-2^k / 4) for bit k of the quotient. */
static int32_t exp_negative(int32_t a)
{
    static const int32_t factor[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    const int32_t quarter = 1 << (DIFF_FRACTION - 2);
    int32_t rest = (a & (quarter - 1)) - quarter;
    int32_t result = exp_quarter(saturating_shift_left(rest, 5));
    int32_t quotient = (int32_t)((uint32_t)rest - (uint32_t)a);

    if (a == 0)
        return INT32_MAX;
    for (int k = 0; k < 7; k++) {
        if (quotient & quarter << k)
            result = nuc_doubling_high_mul(result, factor[k]);
    }
    return result;
}

/* 1 / (1 + a) for a in [0, 1), Q0.31: three Newton steps from 48/17 - 32/17 d on half the denominator, x in Q2.29. */
static int32_t reciprocal(int32_t a)
{
    int32_t half = (int32_t)(((int64_t)a + INT32_MAX + 1) / 2);
    int32_t x = 1515870810 + nuc_doubling_high_mul(half, -1010580540);

    for (int i = 0; i < 3; i++) {
        int32_t error = (1 << 29) - nuc_doubling_high_mul(half, x);
        x += saturating_shift_left(nuc_doubling_high_mul(x, error), 2);
    }
    return saturating_shift_left(x, 1);
}

/* Q5.26 of a difference to the row's largest value; INT32_MIN + 1 and below cannot occur after verification. */
static int32_t scaled_difference(const struct nuc_mc_softmax *s, int32_t difference)
{
    int32_t shifted = (int32_t)((uint32_t)difference << s->left_shift);

    return nuc_doubling_high_mul(shifted, s->multiplier);
}

static int8_t probability(int32_t exponential, int32_t scale, int exponent)
{
    int32_t product = nuc_doubling_high_mul(scale, exponential);
    /* Only rows of 512 and more values reach exponents above 31: everything is then below half a step. */
    int32_t v = exponent > 31 ? 0 : nuc_rounding_shift_right(product, exponent);

    return nuc_saturate_i8(v + INT8_MIN);
}

/* exp of a difference to the row's largest value, from `table` by its magnitude when there is one. */
static int32_t exponential(const struct nuc_mc_softmax *s, const int32_t *table, int32_t difference)
{
    if (table)
        return table[-difference];
    return difference >= s->diff_min ? exp_negative(scaled_difference(s, difference)) : 0;
}

/*
 * 0 to -255, whatever the bytes are: an output may lie over its input, shifted, and write values above what was the
 * largest one.
 */
static int32_t below(int32_t largest, int8_t value)
{
    return -(int32_t)(uint8_t)(largest - value);
}

/* What turns exponentials of a row into probabilities: 1 / sum and its exponent. */
struct denominator {
    int32_t scale;
    int exponent;
};

static struct denominator denominator_of(uint32_t sum)
{
    int headroom = __builtin_clz(sum | 1u);

    return (struct denominator){reciprocal((int32_t)((sum << headroom) - 0x80000000u)),
                                SUM_INTEGER_BITS - headroom + 31 - 8};
}

static uint32_t addend(int32_t exponential)
{
    return (uint32_t)nuc_rounding_shift_right(exponential, SUM_INTEGER_BITS);
}

void npu_softmax_exponentials(const struct nuc_mc_softmax *s, int32_t *table)
{
    for (int32_t i = 0; i < 256; i++)
        table[i] = exponential(s, NULL, -i);
}

void npu_softmax_addends(const int32_t *table, uint32_t *addends)
{
    for (int32_t i = 0; i < 256; i++)
        addends[i] = addend(table[i]);
}

void npu_softmax_bytes(const int32_t *table, uint32_t sum, int32_t largest, int8_t *bytes)
{
    struct denominator d = denominator_of(sum);

    for (int32_t v = INT8_MIN; v <= INT8_MAX; v++)
        bytes[v - INT8_MIN] = probability(table[-below(largest, (int8_t)v)], d.scale, d.exponent);
}

void npu_softmax_from(const struct nuc_mc_softmax *s, const int32_t *table, const int8_t *in, int8_t *out)
{
    for (int32_t row = 0; row < s->rows; row++) {
        int32_t largest = INT8_MIN;
        uint32_t sum = 0;
        for (int32_t i = 0; i < s->depth; i++)
            largest = in[i] > largest ? in[i] : largest;
        for (int32_t i = 0; i < s->depth; i++)
            sum += addend(exponential(s, table, below(largest, in[i])));
        struct denominator d = denominator_of(sum);
        for (int32_t i = 0; i < s->depth; i++)
            out[i] = probability(exponential(s, table, below(largest, in[i])), d.scale, d.exponent);
        in += s->depth;
        out += npu_pitch(s->out_pitch, s->depth);
    }
}

void npu_softmax(const struct nuc_npu_memory *m, const union nuc_mc_record *r)
{
    const struct nuc_mc_softmax *s = &r->softmax;

    npu_softmax_from(s, NULL, npu_source_i8(m, s->input), npu_target_i8(m, s->output));
}

void npu_softmax_table(const struct nuc_npu_memory *m, const union nuc_mc_record *r)
{
    const struct nuc_mc_softmax_table *s = &r->softmax_table;
    const int8_t *in = npu_source_i8(m, s->input);
    const uint32_t *table = (const uint32_t *)npu_source_i32(m, s->table);
    int8_t *out = npu_target_i8(m, s->output);

    for (int32_t row = 0; row < s->rows; row++) {
        /* 256 * e / sum, rounded half up, less 128. The sum is below 2^59: at most 2^28 entries of at most 2^31. */
        int32_t largest = INT8_MIN;
        uint64_t sum = 0;
        for (int32_t i = 0; i < s->depth; i++)
            largest = in[i] > largest ? in[i] : largest;
        for (int32_t i = 0; i < s->depth; i++)
            sum += table[-below(largest, in[i])];
        for (int32_t i = 0; i < s->depth; i++) {
            uint64_t steps = (512 * (uint64_t)table[-below(largest, in[i])] + sum) / (2 * sum);
            out[i] = (int8_t)(steps > 255 ? 127 : (int32_t)steps + INT8_MIN);
        }
        in += s->depth;
        out += npu_pitch(s->out_pitch, s->depth);
    }
}
