/*
 * Additions and subtractions as one linear function of both operands, products as one of either for each byte of the
 * other, where that gives every byte.
 */
#include <math.h>
#include <stdlib.h>

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

/* The line of byte `shared`, whose weight is to be `slope`, or nearly so. */
static bool find_line(struct vec_lines *l, const struct nuc_mc_binary *e, int32_t shared, double slope)
{
    static const int32_t near[] = {0, 1, -1, 2, -2};
    int64_t middle = rounded(ldexp(slope < 0.0 ? -slope : slope, l->shift));

    for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
        int64_t weight = (slope < 0.0 ? -middle : middle) + near[i];
        struct interval c = {-((int64_t)1 << 30), (int64_t)1 << 30};
        for (int32_t x = INT8_MIN; x <= INT8_MAX && c.first <= c.last; x++) {
            int8_t a = (int8_t)(l->a_is_shared ? shared : x), b = (int8_t)(l->a_is_shared ? x : shared);
            int64_t v = (x - l->zero) * weight;
            narrow(&c, v - (v < 0 ? l->less : 0), nuc_mc_binary_value(e, NUC_MC_OP_MUL, a, b), e, l->shift);
        }
        int64_t addend = c.first + (c.last - c.first) / 2, reach = 255 * llabs(weight) + llabs(addend) + l->less;
        if (c.first <= c.last && reach <= INT32_MAX) {
            l->weight[shared - INT8_MIN] = (int32_t)weight;
            l->addend[shared - INT8_MIN] = (int32_t)addend;
            return true;
        }
    }
    return false;
}

bool vec_product_is_lines(struct vec_lines *l, const struct nuc_mc_binary *e)
{
    double unit = factor(e->out_multiplier, e->out_shift);
    int32_t zero = l->a_is_shared ? e->a_zero : e->b_zero;
    int exponent;

    /* Results, and what is added to them, stay inside 31 bits. */
    (void)frexp(unit * 255.0 * 255.0 + 255.0, &exponent);
    l->shift = 30 - exponent;
    l->zero = l->a_is_shared ? e->b_zero : e->a_zero;
    if (l->shift < 1 || l->shift > 30 || e->out_shift > 0 || -e->out_shift > l->shift)
        return false;
    /* What is rounded a second time has `-out_shift` bits that the first one has left. */
    l->less = e->out_shift < 0 ? 1 << (l->shift + e->out_shift) : 0;
    for (int32_t shared = INT8_MIN; shared <= INT8_MAX; shared++) {
        if (!find_line(l, e, shared, unit * (shared - zero)))
            return false;
    }
    return true;
}
