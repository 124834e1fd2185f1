/*
 * The transform of real samples by one of half as many complex ones: stages of radix 4, and first one of radix 2 where
 * the number of them is an odd power of two. Each stage divides by its radix before it adds, so that sums keep to 16
 * bits. Divisions and products are rounded in the places where kissfft rounds.
 */
#include "device/signal/signal.h"

struct complex_s16 {
    int16_t re, im;
};

static inline int16_t wrapped(int32_t v)
{
    return (int16_t)(uint16_t)(uint32_t)v;
}

static inline int16_t rounded(int32_t product)
{
    return wrapped((product + (1 << 14)) >> 15);
}

static inline struct complex_s16 add(struct complex_s16 a, struct complex_s16 b)
{
    return (struct complex_s16){wrapped(a.re + b.re), wrapped(a.im + b.im)};
}

static inline struct complex_s16 subtract(struct complex_s16 a, struct complex_s16 b)
{
    return (struct complex_s16){wrapped(a.re - b.re), wrapped(a.im - b.im)};
}

/* -i a */
static inline struct complex_s16 turned(struct complex_s16 a)
{
    return (struct complex_s16){a.im, wrapped(-a.re)};
}

/* No sum overflows: parts of the factors are at least -32767. */
static inline struct complex_s16 multiply(struct complex_s16 a, struct complex_s16 factor)
{
    return (struct complex_s16){rounded(a.re * factor.re - a.im * factor.im),
                                rounded(a.re * factor.im + a.im * factor.re)};
}

static inline struct complex_s16 divide(struct complex_s16 a, int32_t by)
{
    return (struct complex_s16){rounded(a.re * (INT16_MAX / by)), rounded(a.im * (INT16_MAX / by))};
}

static void combine_2(struct complex_s16 *x, size_t m, size_t stride, const struct complex_s16 *factors)
{
    for (size_t i = 0; i < m; i++) {
        struct complex_s16 a = divide(x[i], 2), b = multiply(divide(x[m + i], 2), factors[i * stride]);
        x[m + i] = subtract(a, b);
        x[i] = add(a, b);
    }
}

static void combine_4(struct complex_s16 *x, size_t m, size_t stride, const struct complex_s16 *factors)
{
    for (size_t i = 0; i < m; i++) {
        struct complex_s16 a = divide(x[i], 4), b = multiply(divide(x[m + i], 4), factors[i * stride]);
        struct complex_s16 c = multiply(divide(x[2 * m + i], 4), factors[2 * i * stride]);
        struct complex_s16 d = multiply(divide(x[3 * m + i], 4), factors[3 * i * stride]);
        struct complex_s16 even = add(a, c), difference = subtract(a, c), odd = add(b, d);
        struct complex_s16 across = turned(subtract(b, d));
        x[i] = add(even, odd);
        x[m + i] = add(difference, across);
        x[2 * m + i] = subtract(even, odd);
        x[3 * m + i] = subtract(difference, across);
    }
}

/* The complex sample at an index of what is padded with zeros. */
static struct complex_s16 sample(const int16_t *in, size_t count, size_t index)
{
    const size_t at = 2 * index;

    return (struct complex_s16){at < count ? in[at] : (int16_t)0, at + 1 < count ? in[at + 1] : (int16_t)0};
}

/* The samples in the order in which the first stage takes them: digits of base 4 reversed, one of base 2 last. */
static void place_samples(const int16_t *in, size_t count, size_t n, struct complex_s16 *out)
{
    for (size_t to = 0; to < n; to++) {
        size_t from = 0, step = 1;
        for (size_t rest = to, m = n; m > 1;) {
            const size_t radix = m % 4 == 0 ? 4 : 2;
            m /= radix;
            from += rest / m * step;
            rest %= m;
            step *= radix;
        }
        out[to] = sample(in, count, from);
    }
}

/* The spectrum of the real samples out of that of the n complex ones, in place. */
static void separate(struct complex_s16 *x, size_t n, const struct complex_s16 *factors)
{
    struct complex_s16 first = divide(x[0], 2);

    x[0] = (struct complex_s16){wrapped(first.re + first.im), 0};
    x[n] = (struct complex_s16){wrapped(first.re - first.im), 0};
    for (size_t k = 1; k <= n / 2; k++) {
        struct complex_s16 a = divide(x[k], 2);
        struct complex_s16 b = divide((struct complex_s16){x[n - k].re, wrapped(-x[n - k].im)}, 2);
        struct complex_s16 sum = add(a, b), product = multiply(subtract(a, b), factors[k - 1]);
        x[k] = (struct complex_s16){wrapped((sum.re + product.re) >> 1), wrapped((sum.im + product.im) >> 1)};
        x[n - k] = (struct complex_s16){wrapped((sum.re - product.re) >> 1), wrapped((product.im - sum.im) >> 1)};
    }
}

void nuc_signal_rfft_s16(const int16_t *in, size_t count, size_t length, const int16_t *table, int16_t *out)
{
    const size_t n = length / 2;
    const struct complex_s16 *factors = (const void *)table;
    struct complex_s16 *x = (void *)out;

    place_samples(in, count, n, x);
    size_t m = 1;
    while (m < n) {
        size_t radix = 4;
        for (size_t rest = n / m; rest > 1 && radix == 4; rest /= 4)
            radix = rest == 2 ? 2 : 4;
        for (size_t at = 0; at < n; at += radix * m) {
            if (radix == 2)
                combine_2(x + at, m, n / (2 * m), factors);
            else
                combine_4(x + at, m, n / (4 * m), factors);
        }
        m *= radix;
    }
    separate(x, n, factors + (n < 4 ? 1 : 3 * n / 4));
}
