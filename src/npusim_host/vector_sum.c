/* Additions and subtractions as one linear function of both operands, where that gives every byte. */
#include <math.h>

#include "device/base/microcode_binary.h"
#include "npusim_host/vector_plan.h"

#define LOW_BITS 15      /* of a weight's lower part */
#define WEIGHT_BITS 30   /* of a weight's magnitude */
#define MOST_FRACTION 37 /* bits behind the point: sums stay inside 32 bits */

/* What multiplying by the pair multiplies by. */
static double factor(int32_t multiplier, int32_t shift)
{
    return ldexp((double)multiplier, shift - 31);
}

static int64_t rounded(double v)
{
    return (int64_t)(v + 0.5);
}

/* Addends for which the function gives some of the bytes. */
struct interval {
    int64_t first, last;
};

/*
 * Leaves the addends for which sum `x`, of `fraction` bits, becomes `byte`. What is clamped may as well be beyond the
 * bound.
 */
static void narrow(struct interval *c, int64_t x, int32_t byte, const struct nuc_mc_binary *e, int32_t fraction)
{
    int64_t unit = (int64_t)1 << fraction, least = byte * unit - x;

    if (byte > e->clamp_min && least > c->first)
        c->first = least;
    if (byte < e->clamp_max && least + unit - 1 < c->last)
        c->last = least + unit - 1;
}

/* Addends for which the function gives the bytes of all pairs of operands. */
static struct interval addends(const struct nuc_mc_binary *e, bool subtract, int64_t a_weight, int64_t b_weight,
                               int32_t fraction)
{
    const struct nuc_multiplier a_scale = {e->a_multiplier, e->a_shift}, b_scale = {e->b_multiplier, e->b_shift};
    struct interval c = {-((int64_t)1 << 44), (int64_t)1 << 44};
    int32_t unit = 1 << e->left_shift, b_scaled[256];

    for (int32_t b = INT8_MIN; b <= INT8_MAX; b++) {
        int32_t scaled = nuc_requantize((b - e->b_zero) * unit, b_scale);
        b_scaled[b - INT8_MIN] = subtract ? -scaled : scaled;
    }
    for (int32_t a = INT8_MIN; a <= INT8_MAX && c.first <= c.last; a++) {
        int32_t a_scaled = nuc_requantize((a - e->a_zero) * unit, a_scale);
        for (int32_t b = INT8_MIN; b <= INT8_MAX; b++) {
            int32_t v = nuc_mc_scale_out(e, a_scaled + b_scaled[b - INT8_MIN]) + e->output_zero;
            narrow(&c, a * a_weight + b * b_weight, nuc_clamp_i32(v, e->clamp_min, e->clamp_max), e, fraction);
        }
    }
    return c;
}

static void split(int64_t v, int32_t *high, int32_t *low)
{
    *low = (int32_t)(v & ((1 << LOW_BITS) - 1));
    *high = (int32_t)((v - *low) / (1 << LOW_BITS));
}

bool vec_sum_is_linear(struct vec_linear *l, const struct nuc_mc_binary *e)
{
    bool subtract = nuc_mc_opcode_of(&e->call) == NUC_MC_OP_SUB;
    double out = factor(e->out_multiplier, e->out_shift) * (double)(1 << e->left_shift);
    double a = factor(e->a_multiplier, e->a_shift) * out, b = factor(e->b_multiplier, e->b_shift) * out;
    int exponent;

    (void)frexp(a > b ? a : b, &exponent);
    int32_t fraction = WEIGHT_BITS - 1 - exponent < MOST_FRACTION ? WEIGHT_BITS - 1 - exponent : MOST_FRACTION;
    if (fraction <= LOW_BITS)
        return false;
    int64_t a_weight = rounded(ldexp(a, fraction)), b_weight = rounded(ldexp(b, fraction));
    b_weight = subtract ? -b_weight : b_weight;
    struct interval c = addends(e, subtract, a_weight, b_weight, fraction);
    if (c.first > c.last)
        return false;
    split(a_weight, &l->a_high, &l->a_low);
    split(b_weight, &l->b_high, &l->b_low);
    split(c.first + (c.last - c.first) / 2, &l->high, &l->low);
    l->shift = fraction - LOW_BITS;
    return true;
}
