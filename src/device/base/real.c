/*
 * Each function reduces its argument to a short range, where a polynomial of least largest error stands for it. What a
 * step of float32 would round away goes along as a second, small number. Reductions: Cody and Waite, Software Manual
 * for the Elementary Functions, 1980; Payne and Hanek, SIGNUM 18, 1983.
 */
#include "device/base/real.h"

#include <stdbool.h>
#include <stdint.h>

#define LN2_HIGH 0.693359375f /* of 9 bits: its products with exponents are exact */
#define LN2_LOW -2.12194440e-4f
#define LN2 0.693147181f
#define PI_HIGH 3.14159274f
#define PI_LOW -8.74227766e-8f
/* pi / 2 as a sum, the first three of 11 bits. */
#define RIGHT_1 1.5703125f
#define RIGHT_2 0.000483751297f
#define RIGHT_3 7.54953362e-08f
#define RIGHT_4 2.56334415e-12f
#define ROOT_HALF 0.707106781f
#define INF __builtin_inff()

/* Below it, odd functions are their argument. */
#define TINY 0x1p-13f

union bits {
    float real;
    uint32_t word;
};

static inline uint32_t word_of(float x)
{
    return (union bits){.real = x}.word;
}

static inline float real_of(uint32_t word)
{
    return (union bits){.word = word}.real;
}

static inline float not_a_number(void)
{
    return real_of(0x7fc00000u);
}

static inline bool is_nan(float x)
{
    return x != x;
}

static inline float magnitude(float x)
{
    return real_of(word_of(x) & 0x7fffffffu);
}

static inline float with_sign(float x, float sign)
{
    return real_of((word_of(x) & 0x7fffffffu) | (word_of(sign) & 0x80000000u));
}

/* The upper 12 of the 24 bits: products of two such numbers are exact. */
static inline float upper(float x)
{
    return real_of(word_of(x) & 0xfffff000u);
}

/* 2^n, n in [-126, 127] */
static inline float power_of_two(int32_t n)
{
    return real_of((uint32_t)(n + 127) << 23);
}

/* To the nearest whole number, half to even. |x| < 2^22 */
static inline float nearest_whole(float x)
{
    return (x + 0x1.8p23f) - 0x1.8p23f;
}

/* ---- exponentials ---- */

/* e^(high + low) 2^n; low is small beside 1. */
struct exponent {
    float high, low;
    int32_t n;
};

/* |high| <= ln 2 / 2 */
static inline struct exponent reduced(float x, float low)
{
    float n = nearest_whole(x * 1.44269502f), from = x - n * LN2_HIGH, rest = low - n * LN2_LOW, high = from + rest;

    return (struct exponent){high, rest - (high - from), (int32_t)n};
}

/* e^(high + low) - 1 - high */
static inline float above_line(struct exponent e)
{
    float x = e.high;

    return x * x * (0.49999994f + x * (0.166665211f + x * (0.0416682623f + x * (0.0083686728f + x * 0.00138210121f)))) +
           e.low;
}

/* In two steps of which the first is exact, since 2^n alone may be no float. n in [-252, 254] */
static inline float raised(struct exponent e)
{
    float near = 1.0f + e.high, rest = e.high - (near - 1.0f);
    int32_t half = e.n / 2;

    return (near + (rest + above_line(e))) * power_of_two(half) * power_of_two(e.n - half);
}

/* 2^n e^(x + low), low small. */
static inline float exp_of(float x, float low, int32_t n)
{
    if (is_nan(x))
        return x;
    struct exponent e = reduced(x > 90.0f ? 90.0f : x < -105.0f ? -105.0f : x, low);
    e.n += n;
    return raised(e);
}

float nuc_real_exp(float x)
{
    return exp_of(x, 0.0f, 0);
}

float nuc_real_expm1(float x)
{
    if (is_nan(x) || magnitude(x) < 0x1p-25f)
        return x;
    if (x > 18.0f)
        return exp_of(x, 0.0f, 0);
    if (x < -18.0f)
        return -1.0f;
    struct exponent e = reduced(x, 0.0f);
    float scale = power_of_two(e.n), whole = scale - 1.0f, line = scale * e.high, near = whole + line;
    float rest = line - (near - whole);
    return e.n == 0 ? x + above_line(e) : near + (rest + scale * above_line(e));
}

/* Torch's and ExecuTorch's steps: 0 where e^-x is above the largest float. */
float nuc_real_sigmoid(float x)
{
    return 1.0f / (1.0f + exp_of(-x, 0.0f, 0));
}

float nuc_real_tanh(float x)
{
    float a = magnitude(x), z = x * x;

    if (is_nan(x) || a < TINY)
        return x;
    if (a < 0.625f)
        return x + x * (z * (-0.333332807f +
                             z * (0.133314088f + z * (-0.053737063f + z * (0.0206309054f - z * 0.00569634186f)))));
    return with_sign(a > 9.1f ? 1.0f : 1.0f - 2.0f / (exp_of(2.0f * a, 0.0f, 0) + 1.0f), x);
}

float nuc_real_sinh(float x)
{
    float a = magnitude(x), z = x * x;

    if (is_nan(x) || a < TINY)
        return x;
    if (a < 1.0f)
        return x + x * (z * (0.166667163f + z * (0.00833027437f + z * 0.000203728297f)));
    if (a > 9.0f)
        return with_sign(exp_of(a, 0.0f, -1), x);
    float e = nuc_real_expm1(a);
    return with_sign(0.5f * (e + e / (1.0f + e)), x);
}

float nuc_real_cosh(float x)
{
    float a = magnitude(x), e = exp_of(a, 0.0f, -1);

    return a > 9.0f ? e : e + 0.25f / e;
}

/* ---- logarithms ---- */

/* x = 2^n (1 + f), f in [sqrt 1/2 - 1, sqrt 2 - 1) */
struct logarithm {
    float n, f;
};

static inline struct logarithm taken_apart(float x)
{
    bool subnormal = x < 0x1p-126f;
    uint32_t word = word_of(subnormal ? x * 0x1p24f : x) + (0x3f800000u - 0x3f3504f3u);

    return (struct logarithm){(float)((int32_t)(word >> 23) - 127 - (subnormal ? 24 : 0)),
                              real_of((word & 0x7fffffu) + 0x3f3504f3u) - 1.0f};
}

/* log(1 + f) - f + f^2 / 2 */
static inline float log_rest(float f)
{
    float p = 0.142203569f + f * (-0.124062352f + f * (0.118835777f + f * (-0.116700932f + f * 0.0674915537f)));

    return f * (f * f) * (0.333333135f + f * (-0.250000089f + f * (0.200020716f + f * (-0.166679889f + f * p))));
}

/* n log 2 + log(1 + f) + low */
static inline float log_of(struct logarithm l, float low)
{
    float whole = l.n * LN2_HIGH, near = whole + l.f, rest = l.f - (near - whole), half = 0.5f * l.f * l.f;

    return near + (rest - (half - (log_rest(l.f) + (l.n * LN2_LOW + low))));
}

/* Of what is not a positive number. */
static float log_outside(float x)
{
    return x > 0.0f || is_nan(x) ? x : x < 0.0f ? not_a_number() : -INF;
}

static inline bool has_log(float x)
{
    return x > 0.0f && x < INF;
}

float nuc_real_log(float x)
{
    return has_log(x) ? log_of(taken_apart(x), 0.0f) : log_outside(x);
}

/* log(1 + x + low), x > -1 */
static float log1p_of(float x, float low)
{
    float u = 1.0f + x;
    struct logarithm l = taken_apart(u);

    if (x > -0.29f && x < 0.41f)
        return log_of((struct logarithm){0.0f, x}, low / u);
    float lost = x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x);
    return log_of(l, (lost + low) / u);
}

float nuc_real_log1p(float x)
{
    if (magnitude(x) < 0x1p-25f)
        return x;
    if (x > -0.29f && x < 0.41f)
        return log_of((struct logarithm){0.0f, x}, 0.0f);
    return x > -1.0f && x < INF ? log1p_of(x, 0.0f) : log_outside(1.0f + x);
}

/* The logarithm of a base: factor and log of 2, as sums of a number of 12 bits and a small one. */
static inline float log_to(float x, float factor_high, float factor_low, float of_two_high, float of_two_low)
{
    if (!has_log(x))
        return log_outside(x);
    struct logarithm l = taken_apart(x);
    float half = 0.5f * l.f * l.f, high = upper(l.f - half), low = (l.f - high) - half + log_rest(l.f);
    float whole = l.n * of_two_high, part = high * factor_high, near = whole + part, rest = part - (near - whole);
    return near + (rest + (l.n * of_two_low + low * factor_low + high * factor_low + low * factor_high));
}

float nuc_real_log2(float x)
{
    return log_to(x, 1.44238281f, 3.12228396e-4f, 1.0f, 0.0f);
}

float nuc_real_log10(float x)
{
    return log_to(x, 0.434204102f, 9.03803375e-5f, 0.301025391f, 4.60503907e-6f);
}

/* log(2 a) */
static float log_of_double(float a)
{
    struct logarithm l = taken_apart(a);

    l.n += 1.0f;
    return log_of(l, 0.0f);
}

float nuc_real_asinh(float x)
{
    float a = magnitude(x), square = a * a;

    if (a < TINY || !(a < INF))
        return x;
    if (a > 0x1p13f)
        return with_sign(log_of_double(a), x);
    float more = square / (1.0f + __builtin_sqrtf(1.0f + square)), sum = a + more;
    return with_sign(log1p_of(sum, more - (sum - a)), x);
}

float nuc_real_acosh(float x)
{
    if (!(x >= 1.0f))
        return is_nan(x) ? x : not_a_number();
    if (x > 0x1p13f)
        return x < INF ? log_of_double(x) : x;
    float t = x - 1.0f, root = __builtin_sqrtf(t * (t + 2.0f)), sum = t + root;
    return log1p_of(sum, t < root ? t - (sum - root) : root - (sum - t));
}

float nuc_real_atanh(float x)
{
    float a = magnitude(x);

    if (a < TINY || is_nan(x))
        return x;
    return a > 1.0f ? not_a_number() : with_sign(0.5f * nuc_real_log1p(2.0f * a / (1.0f - a)), x);
}

/* ---- powers ---- */

struct pair {
    float high, low; /* high: of 12 bits */
};

/*
 * log2(a), a positive and finite, to 2^-34 of it: with s = f / (2 + f), log(1 + f) is 2 s + 2/3 s^3 + 2/5 s^5 ..., here
 * s (3 + s^2 + r) times 2/3.
 */
static inline struct pair log2_of(float a)
{
    const float factor = 0.961796694f, factor_high = 0.961669922f, factor_low = 1.26772051e-4f; /* 2 / (3 log 2) */
    struct logarithm l = taken_apart(a);
    float sum = 2.0f + l.f, inverse = 1.0f / sum, s = l.f * inverse, z = s * s;
    float s_high = upper(s), sum_high = upper(sum), sum_low = l.f - (sum_high - 2.0f);
    float s_low = inverse * ((l.f - s_high * sum_high) - s_high * sum_low);
    float r = z * z * (0.6f + z * (0.428571429f + z * (0.333333333f + z * (0.272727273f + z * 0.230769231f))));
    r += s_low * (s_high + s);
    float square = s_high * s_high, t_high = upper(3.0f + square + r), t_low = r - ((t_high - 3.0f) - square);
    float u = s_high * t_high, v = s_low * t_high + t_low * s, p_high = upper(u + v), p_low = v - (p_high - u);
    float high = factor_high * p_high, low = factor_low * p_high + p_low * factor, result = upper(high + low + l.n);
    return (struct pair){result, low - ((result - l.n) - high)};
}

/* 2^(y log2) */
static inline float power_of(struct pair log2, float y)
{
    float bounded = y > 0x1p33f ? 0x1p33f : y < -0x1p33f ? -0x1p33f : y, y_high = upper(bounded);
    float high = y_high * log2.high, low = (bounded - y_high) * log2.high + bounded * log2.low, sum = high + low;

    if (sum > 129.0f || sum < -151.0f)
        return sum > 0.0f ? INF : 0.0f;
    float n = nearest_whole(sum), from = high - n, rest = upper(from + low), over = low - (rest - from);
    float x = rest * LN2_HIGH, more = rest * LN2_LOW + over * LN2, near = x + more;
    return raised((struct exponent){near, more - (near - x), (int32_t)n});
}

static bool is_whole(float y)
{
    return magnitude(y) >= 0x1p24f || word_of((float)(int32_t)y) == word_of(y);
}

static bool is_odd(float y)
{
    return is_whole(y) && magnitude(y) < 0x1p24f && ((int32_t)y & 1) != 0;
}

float nuc_real_pow(float x, float y)
{
    float a = magnitude(x);
    bool is_one = word_of(a) == word_of(1.0f), outermost = !(a > 0.0f) || !(a < INF);

    if (word_of(x) == word_of(1.0f) || !(y < 0.0f || y > 0.0f || is_nan(y)))
        return 1.0f;
    if (is_nan(x) || is_nan(y))
        return is_nan(x) ? x : y;
    if (magnitude(y) > 0x1.fffffep127f)
        return is_one ? 1.0f : (a > 1.0f) == (y > 0.0f) ? INF : 0.0f;
    if (x < 0.0f && !outermost && !is_whole(y))
        return not_a_number();
    float power = !outermost ? power_of(log2_of(a), y) : (a > 0.0f) == (y > 0.0f) ? INF : 0.0f;
    return is_odd(y) ? with_sign(power, x) : power;
}

/* ---- angles ---- */

/* An angle high + low within pi / 4 of `quarters` right angles. */
struct angle {
    float high, low;
    uint32_t quarters;
};

/*
 * |x| in quarters of a turn modulo 4, as a fixed-point product with 2 / pi. Of its bits those from weight 2 on count:
 * 96 leave 62 behind the point, and the float nearest to a multiple of pi / 2 is 2^-31 away from it.
 */
static struct angle reduced_angle(float x)
{
    static const uint32_t two_over_pi[] = {0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                                           0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
    uint32_t word = word_of(x), mantissa = (word & 0x7fffffu) | 0x800000u, at = ((word >> 23) & 0xffu) - 120u;
    const uint32_t *w = two_over_pi + at / 32;
    uint32_t by = at % 32, over = 31 - by;
    uint32_t first = w[0] << by | w[1] >> 1 >> over, second = w[1] << by | w[2] >> 1 >> over;
    uint32_t third = w[2] << by | w[3] >> 1 >> over;
    uint64_t turns =
        ((uint64_t)(mantissa * first) << 32) + (uint64_t)mantissa * second + ((uint64_t)mantissa * third >> 32);
    uint32_t quarters = (uint32_t)((turns + (1ull << 61)) >> 62);
    uint64_t rest = turns - ((uint64_t)quarters << 62);
    bool below = rest >> 63 != 0;
    uint64_t size = (below ? 0 - rest : rest) | 1;
    int32_t zeros = __builtin_clzll(size);
    uint32_t angle = (uint32_t)((uint64_t)(uint32_t)(size << zeros >> 32) * 0xc90fdaa2u >> 32);
    float unit = power_of_two(-29 - zeros) * (below ? -1.0f : 1.0f);
    return (struct angle){(float)(angle & ~0xffu) * unit, (float)(angle & 0xffu) * unit, quarters};
}

/* Less than 2^7 right angles are taken off in parts of which the products are exact. */
static inline struct angle angle_of(float x)
{
    float a = magnitude(x);

    if (a < 0.785398185f)
        return (struct angle){a, 0.0f, 0};
    if (a > 200.0f)
        return reduced_angle(a);
    float n = nearest_whole(a * 0.636619747f), from = (a - n * RIGHT_1) - n * RIGHT_2, part = n * RIGHT_3;
    float near = from - part, rest = (from - near) - part - n * RIGHT_4, high = near + rest;
    return (struct angle){high, rest - (high - near), (uint32_t)n};
}

/* sin - high and cos - 1 of an angle without its quarters. */
static inline float sin_rest(struct angle a)
{
    float z = a.high * a.high;

    return a.high * (z * (-0.166666552f + z * (0.00833218917f - z * 0.000195182845f))) + (a.low - 0.5f * z * a.low);
}

static inline float cos_rest(struct angle a)
{
    float z = a.high * a.high;

    return z * z * (0.0416666456f + z * (-0.00138873106f + z * 2.44325638e-5f)) - a.high * a.low;
}

static inline float sin_near(struct angle a)
{
    return a.high + sin_rest(a);
}

static inline float cos_near(struct angle a)
{
    float half = 0.5f * a.high * a.high, near = 1.0f - half;

    return near + (((1.0f - near) - half) + cos_rest(a));
}

static inline float with_quarters(struct angle a)
{
    float value = (a.quarters & 1) != 0 ? cos_near(a) : sin_near(a);

    return (a.quarters & 2) != 0 ? -value : value;
}

float nuc_real_sin(float x)
{
    if (is_nan(x) || magnitude(x) < TINY)
        return x;
    if (!(magnitude(x) < INF))
        return not_a_number();
    float value = with_quarters(angle_of(x));
    return x < 0.0f ? -value : value;
}

float nuc_real_cos(float x)
{
    if (!(magnitude(x) < INF))
        return is_nan(x) ? x : not_a_number();
    struct angle a = angle_of(x);
    a.quarters++;
    return with_quarters(a);
}

float nuc_real_tan(float x)
{
    if (is_nan(x) || magnitude(x) < TINY)
        return x;
    if (!(magnitude(x) < INF))
        return not_a_number();
    struct angle a = angle_of(x);
    float s_rest = sin_rest(a), s = a.high + s_rest, s_low = s_rest - (s - a.high);
    float half = 0.5f * a.high * a.high, near = 1.0f - half, c_rest = ((1.0f - near) - half) + cos_rest(a);
    float c = near + c_rest, c_low = c_rest - (c - near);
    float value = s / c + (s_low - s / c * c_low) / c;
    if ((a.quarters & 1) != 0)
        value = -(c / s + (c_low - c / s * s_low) / s);
    return x < 0.0f ? -value : value;
}

/* (asin(x) - x) / x of x^2, up to 1/4 */
static inline float asin_rest(float z)
{
    return z * (0.166667521f + z * (0.0749531016f + z * (0.0454690196f + z * (0.0241855029f + z * 0.042157013f))));
}

float nuc_real_asin(float x)
{
    float a = magnitude(x);

    if (is_nan(x) || a < TINY)
        return x;
    if (a > 1.0f)
        return not_a_number();
    if (a < 0.5f)
        return x + x * asin_rest(x * x);
    float z = 0.5f * (1.0f - a), s = 2.0f * __builtin_sqrtf(z), near = 0.5f * PI_HIGH - s;
    float lost = (0.5f * PI_HIGH - near) - s;
    return with_sign(near + (lost - (s * asin_rest(z) - 0.5f * PI_LOW)), x);
}

float nuc_real_acos(float x)
{
    float a = magnitude(x);

    if (!(a <= 1.0f))
        return is_nan(x) ? x : not_a_number();
    if (a < 0.5f)
        return 0.5f * PI_HIGH - (x + (x * asin_rest(x * x) - 0.5f * PI_LOW));
    float z = 0.5f * (1.0f - a), s = __builtin_sqrtf(z), rest = s * asin_rest(z);
    return x > 0.0f ? 2.0f * (s + rest) : PI_HIGH - (2.0f * s + (2.0f * rest - PI_LOW));
}

/* atan(x), x not negative, NaN or tiny; as a sum */
static inline struct angle arc_of(float x)
{
    float at = x > 2.41421356f ? 0.5f : x > 0.66f ? 0.25f : 0.0f;
    float r = x > 2.41421356f ? -1.0f / x : x > 0.66f ? (x - 1.0f) / (x + 1.0f) : x, z = r * r;
    float p = -0.142045453f + z * (0.105115399f + z * (-0.0672705472f + z * 0.0248045363f));
    float rest = r * (z * (-0.333332211f + z * (0.199948087f + z * p))) + at * PI_LOW;
    float whole = at * PI_HIGH, near = whole + r;
    return (struct angle){near, (at > 0.0f ? r - (near - whole) : 0.0f) + rest, 0};
}

float nuc_real_atan(float x)
{
    if (is_nan(x) || magnitude(x) < TINY)
        return x;
    struct angle a = arc_of(magnitude(x));
    return with_sign(a.high + a.low, x);
}

float nuc_real_atan2(float y, float x)
{
    float up = magnitude(y), along = magnitude(x);
    bool left = (word_of(x) & 0x80000000u) != 0;

    if (is_nan(x) || is_nan(y))
        return is_nan(x) ? x : y;
    float ratio = !(up > 0.0f) ? 0.0f : !(up < INF || along < INF) ? 1.0f : up / along;
    struct angle a = ratio < TINY ? (struct angle){ratio, 0.0f, 0} : arc_of(ratio);
    return with_sign(left ? PI_HIGH - (a.high - (PI_LOW - a.low)) : a.high + a.low, y);
}

/* ---- the error function ---- */

/* e^(high + low) times e^(x^2) erfc(x) / 2, x not negative; the latter is a polynomial of (x - 2) / (x + 2), over 1 + 2
 * x. */
static inline float half_erfc(float x, float high, float low)
{
    float q = (x - 2.0f) / (x + 2.0f);
    float p =
        -0.00402956223f + q * (0.00431717187f + q * (0.000656738412f + q * (-0.000615301833f - q * 0.000200146751f)));

    p = -0.0463819653f + q * (-0.0830155313f + q * (0.0820274577f + q * (-0.0271030124f + q * p)));
    return exp_of(high, low, 0) * ((0.638489187f + q * p) / (1.0f + 2.0f * x));
}

float nuc_real_erf(float x)
{
    float a = magnitude(x), z = x * x;

    if (is_nan(x))
        return x;
    if (a < 1.0f) {
        float p = -0.0268533472f + z * (0.0051871622f + z * (-0.00079978531f + z * 7.80690389e-5f));
        return x + x * (0.128379166f + z * (-0.37612626f + z * (0.112835787f + z * p)));
    }
    if (a > 4.0f)
        return with_sign(1.0f, x);
    float high = upper(a);
    return with_sign(1.0f - 2.0f * half_erfc(a, -(high * high), -((a - high) * (a + high))), x);
}

/* x times the normal distribution function */
float nuc_real_gelu(float x)
{
    float a = magnitude(x), high = upper(a);

    if (is_nan(x) || a > 15.0f)
        return x < 0.0f ? 0.0f : x;
    if (a < 0.6f)
        return 0.5f * x + 0.5f * x * nuc_real_erf(x * ROOT_HALF);
    float beyond = half_erfc(a * ROOT_HALF, -0.5f * (high * high), -0.5f * ((a - high) * (a + high)));
    return x < 0.0f ? x * beyond : x - x * beyond;
}

/* x / 2 (1 + tanh(u)), u = sqrt(2 / pi) (x + 0.044715 x^3), rounded once after tanh(), as ExecuTorch does in double. */
float nuc_real_gelu_tanh(float x)
{
    float t = nuc_real_tanh(0.797884561f * (x + 0.044715f * (x * x * x))), sum = 1.0f + t, lost = t - (sum - 1.0f);
    float half = 0.5f * x, near = half * sum, high = upper(half), sum_high = upper(sum);
    float rest = high * sum_high - near + high * (sum - sum_high) + (half - high) * sum + half * lost;

    if (is_nan(x - x))
        return x < 0.0f ? 0.0f : x;
    return rest < 0.0f || rest > 0.0f ? near + rest : near;
}
