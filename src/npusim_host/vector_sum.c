/*
 * Additions and subtractions as one linear function of both operands, products as one of either for each byte of the
 * other, requantizations as one of the accumulator, where that gives every byte.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/base/microcode_binary.h"
#include "npusim_host/vector_call.h"

#define WEIGHT_BITS 30   /* of a weight's magnitude */
#define MOST_FRACTION 37 /* bits behind the point: sums stay inside 32 bits */

/* What multiplying by the pair multiplies by. */
static double factor(int32_t multiplier, int32_t shift)
{
    return ldexp((double)multiplier, shift - 31);
}

static int64_t rounded(double v)
{
    return (int64_t)(v < 0.0 ? v - 0.5 : v + 0.5);
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

/* The addend nearest to `v` that gives all bytes. */
static int64_t nearest(const struct interval *c, int64_t v)
{
    return v < c->first ? c->first : v > c->last ? c->last : v;
}

static int32_t low_part(int64_t v)
{
    return (int32_t)(v & ((1 << VEC_LOW_BITS) - 1));
}

static int32_t high_part(int64_t v)
{
    return (int32_t)((v - low_part(v)) / (1 << VEC_LOW_BITS));
}

static int32_t two_words(int64_t lower, int64_t upper)
{
    return (int32_t)((uint32_t)upper << 16 | ((uint32_t)lower & 0xFFFFu));
}

/* Nothing saturates. */
static bool reduces(int32_t multiplier, int32_t shift)
{
    return multiplier >= 0 && shift <= 0;
}

bool vec_sum_is_linear(struct vec_linear *l, const struct nuc_mc_binary *e)
{
    bool subtract = nuc_mc_opcode_of(&e->call) == NUC_MC_OP_SUB;
    double out = factor(e->out_multiplier, e->out_shift) * (double)(1 << e->left_shift);
    double a = factor(e->a_multiplier, e->a_shift) * out, b = factor(e->b_multiplier, e->b_shift) * out;
    int exponent;

    if (!reduces(e->a_multiplier, e->a_shift) || !reduces(e->b_multiplier, e->b_shift) ||
        !reduces(e->out_multiplier, e->out_shift))
        return false;
    (void)frexp(a > b ? a : b, &exponent);
    int32_t fraction = WEIGHT_BITS - 1 - exponent < MOST_FRACTION ? WEIGHT_BITS - 1 - exponent : MOST_FRACTION;
    if (fraction <= VEC_LOW_BITS)
        return false;
    int64_t a_weight = rounded(ldexp(a, fraction)), b_weight = rounded(ldexp(b, fraction));
    b_weight = subtract ? -b_weight : b_weight;
    struct interval c = addends(e, subtract, a_weight, b_weight, fraction);
    if (c.first > c.last || (fabs(a) + fabs(b)) * 255 > VEC_WORD)
        return false;
    int64_t unit = (int64_t)1 << fraction, half = e->output_zero * unit + unit / 2;
    int64_t addend = nearest(&c, half - e->a_zero * a_weight - e->b_zero * b_weight);
    *l = (struct vec_linear){two_words(high_part(a_weight), high_part(b_weight)),
                             two_words(low_part(a_weight), low_part(b_weight)), high_part(addend), low_part(addend),
                             fraction - VEC_LOW_BITS};
    return true;
}

#define LEAST_SHIFT 10 /* products of a weight above it stay below 2^13 */
#define MOST_SHIFT 16

/* The line of byte `shared`, whose weight is to be `slope`, or nearly so. */
static bool find_line(struct vec_lines *l, const struct nuc_mc_binary *e, int32_t shared, double slope)
{
    static const int32_t near[] = {0, 1, -1, 2, -2};
    int exponent, at = shared - INT8_MIN;

    (void)frexp(slope, &exponent);
    if (exponent > 15 - LEAST_SHIFT)
        return false;
    int32_t shift = 15 - exponent < MOST_SHIFT ? 15 - exponent : MOST_SHIFT, unit = 1 << shift;
    int64_t middle = rounded(ldexp(slope, shift)), half = e->output_zero * (int64_t)unit + unit / 2;

    for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
        int64_t weight = middle + near[i];
        struct interval below = {-((int64_t)1 << 30), (int64_t)1 << 30}, above = below;
        for (int32_t x = INT8_MIN; x <= INT8_MAX && above.first <= above.last && below.first <= below.last; x++) {
            int8_t a = (int8_t)(l->a_is_shared ? shared : x), b = (int8_t)(l->a_is_shared ? x : shared);
            narrow(x < l->zero ? &below : &above, (x - l->zero) * weight, nuc_mc_binary_value(e, NUC_MC_OP_MUL, a, b),
                   e, shift);
        }
        int64_t addend = nearest(&above, half), less = addend - nearest(&below, addend);
        if (above.first <= above.last && below.first <= below.last && llabs(weight) <= INT16_MAX &&
            llabs(less) <= INT16_MAX && llabs(addend) < 1LL << (shift + 14)) {
            l->words[at] = two_words(weight, less);
            l->addend[at] = (int32_t)addend;
            l->shift[at] = shift;
            return true;
        }
    }
    return false;
}

bool vec_product_is_lines(struct vec_lines *l, const struct nuc_mc_binary *e)
{
    double unit = factor(e->out_multiplier, e->out_shift);
    int32_t zero = l->a_is_shared ? e->a_zero : e->b_zero;

    l->zero = l->a_is_shared ? e->b_zero : e->a_zero;
    for (int32_t shared = INT8_MIN; shared <= INT8_MAX; shared++) {
        if (!find_line(l, e, shared, unit * (shared - zero)))
            return false;
    }
    return true;
}

/* Lines of VEC_BENT: round((v + shift + VEC_MAGIC) * weight / 2^bits) less whole, from 0 on and below it. */
struct bend {
    int32_t bits;
    int64_t weight, shift[2], whole[2];
};

#define MOST_MULTIPLE ((int64_t)1 << 60)

/* The least x with `x * a` modulo `m` in [first, last], which are more than 0; -1: none up to the bound. a < m. */
static int64_t first_multiple(int64_t a, int64_t m, int64_t first, int64_t last)
{
    if (a == 0)
        return -1;
    int64_t x = (first + a - 1) / a;
    if (x * a <= last)
        return x;
    int64_t y = first_multiple(m % a, a, (a - last % a) % a, (a - first % a) % a);
    return y < 0 || y > MOST_MULTIPLE / m ? -1 : (first + m * y + a - 1) / a;
}

#define EXACT ((int64_t)1 << 24) /* whole numbers up to it are floats */
#define NEAR ((int64_t)1 << 22)  /* as far from VEC_MAGIC floats are 1 apart */
#define MOST_BITS 52             /* of a line's unit: results of 9 more stay inside 64 */

/*
 * The shift of a line whose weight is given. least: accumulators from which on results are `from`, `from + 1`, ... With
 * the line they are that from `from` - 1/2 on: what is added to v * weight for each of them lies between two bounds,
 * and it is a multiple of the weight but for whole results.
 */
static bool find_shift(struct bend *b, int side, const int64_t *least, int32_t n, int32_t from, int64_t bound)
{
    int64_t low = INT64_MIN, high = INT64_MAX, one = (int64_t)1 << b->bits;
    int64_t magic = VEC_MAGIC_WHOLE * b->weight, less = 0;

    b->shift[side] = 0;
    b->whole[side] = magic / one;
    if (n <= 0)
        return true;
    for (int32_t i = 0; i < n; i++) {
        int64_t lack = (2 * (int64_t)(from + i) - 1) * (one / 2) - least[i] * b->weight;
        low = lack > low ? lack : low;
        high = lack + b->weight < high ? lack + b->weight : high;
        if (low >= high)
            return false;
    }
    if (high - low < 2 || low <= -one || high >= one)
        return false;
    low -= magic % one;
    for (high -= magic % one; high <= 0; high += one, low += one)
        less++;
    if (low >= 0)
        b->shift[side] = first_multiple(b->weight, one, low + 1, high - 1);
    b->whole[side] = b->shift[side] * b->weight / one + less + magic / one;
    int64_t last = least[n - 1] < bound ? least[n - 1] : bound, first = least[0] > -bound ? least[0] : -bound;
    return b->shift[side] >= 0 && last + b->shift[side] < NEAR && first > -NEAR;
}

/*
 * The least accumulators whose results are `from`, `from + 1`, ..., `n` of them and all above 0 or none. The quotients
 * are rounded up.
 */
static void find_least(int64_t *least, int32_t from, int32_t n, int32_t multiplier, int32_t right)
{
    int64_t unit = (int64_t)1 << right, high = from * unit - unit / 2 + (from <= 0);
    int64_t product = high * ((int64_t)1 << 31) - ((int64_t)1 << 30), step = unit * ((int64_t)1 << 31);
    int64_t quotient = (product + (product > 0 ? multiplier - 1 : 0)) / multiplier;
    int64_t beyond = quotient * multiplier - product, whole = step / multiplier, rest = step % multiplier;

    for (int32_t i = 0; i < n; i++, quotient += whole, beyond -= rest) {
        int64_t up = beyond < 0; /* which a branch would foresee half of the time */
        quotient += up;
        beyond += -up & multiplier;
        least[i] = quotient;
    }
}

/* The lines of a pair, for accumulators up to `bound`. Weights of 24 bits near the multiplier are tried. */
static bool find_bend(struct bend *b, const struct vec_output *o, int64_t bound, int32_t multiplier, int32_t right)
{
    static const int32_t near[] = {0, 1, -1, 2, -2};
    int32_t most = nuc_requantize((int32_t)bound, (struct nuc_multiplier){multiplier, -right}), exponent;
    int32_t from = (int8_t)o->low + 1 - o->zero, last = (int8_t)o->high - o->zero;
    int64_t least[256];
    double mantissa = frexp((double)multiplier, &exponent);

    /* Bytes that no accumulator gives need no place on the lines, but for the first of them. */
    if (last > most + 1)
        last = from > most + 1 ? from : most + 1;
    if (from < -most)
        from = last < -most ? last : -most;
    int32_t n = last - from + 1, below = from > 0 ? 0 : 1 - from < n ? 1 - from : n;
    b->bits = right + 31 - exponent + 24;
    if (b->bits > MOST_BITS)
        return false;
    find_least(least, from, below, multiplier, right);
    find_least(least + below, from + below, n - below, multiplier, right);
    for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
        b->weight = rounded(ldexp(mantissa, 24)) + near[i];
        if (b->weight <= EXACT && find_shift(b, 0, least + below, n - below, from + below, bound) &&
            find_shift(b, 1, least, below, from, bound))
            return true;
    }
    return false;
}

/* Whether results of accumulators up to `bound` stay inside words: those that are not near grow. */
static bool stays_in_words(const struct bend *b, int64_t bound)
{
    int64_t shift = b->shift[0] > b->shift[1] ? b->shift[0] : b->shift[1];
    int32_t bits = (int32_t)(VEC_MAGIC_BITS + bound + shift);
    float largest;

    memcpy(&largest, &bits, sizeof largest);
    return ldexp(((double)largest - (double)VEC_MAGIC) * (double)b->weight, -b->bits) < VEC_WORD;
}

bool vec_params_bend(struct vec_params *p, const struct vec_output *o, int32_t *bias)
{
    struct bend bends[VEC_LANES] = {{0}};

    for (int32_t i = 0; i < VEC_LANES; i++) {
        struct bend *b = &bends[i];
        if (i > 0 && p->multiplier[i] == p->multiplier[i - 1] && p->right[i] == p->right[i - 1])
            *b = b[-1];
        else if (p->multiplier[i] != 0 &&
                 !(find_bend(b, o, p->bound, p->multiplier[i], p->right[i]) && stays_in_words(b, p->bound)))
            return false;
    }
    for (int32_t i = 0; i < VEC_LANES; i++) {
        const struct bend *b = &bends[i];
        p->scale[i] = (float)ldexp((double)b->weight, -b->bits);
        p->offset[i] = VEC_MAGIC + (float)(o->zero - b->whole[0]);
        p->offset_below[i] = VEC_MAGIC + (float)(o->zero - b->whole[1]);
        p->left[i] = (int32_t)(VEC_MAGIC_BITS + b->shift[0]);
        p->away[i] = (int32_t)(b->shift[1] - b->shift[0]);
        bias[i] = (int32_t)((uint32_t)bias[i] + (uint32_t)p->left[i]);
    }
    p->form = (int8_t)o->low >= o->zero ? VEC_LINE : VEC_BENT;
    return true;
}
