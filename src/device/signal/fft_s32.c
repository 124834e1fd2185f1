/*
 * The transform of fft_s16.c with numbers of 32 bits. A product with a factor in units of 2^-30 keeps its upper half,
 * which is a quarter: what a stage of radix 4 divides by. The magnitude of a number stays below 2^30 times the square
 * root of 2 through all stages.
 */
#include "device/signal/features.h"

/* (a + i b)(c - i s), the upper halves: a c + b s and b c - a s. */
static inline int32_t upper(int32_t a, int32_t c, int32_t b, int32_t s)
{
    return (int32_t)(((int64_t)a * c + (int64_t)b * s) >> 32);
}

static void first_2(int32_t *x, size_t n)
{
    for (size_t i = 0; i < n; i += 2, x += 4) {
        const int32_t re = x[0] >> 1, im = x[1] >> 1, re1 = x[2] >> 1, im1 = x[3] >> 1;
        x[0] = re + re1;
        x[1] = im + im1;
        x[2] = re - re1;
        x[3] = im - im1;
    }
}

/* a, b, c, d: the four numbers, each a quarter of its product with its factor. */
static inline void combine(int32_t *x, size_t step, const int32_t a[2], const int32_t b[2], const int32_t c[2],
                           const int32_t d[2])
{
    const int32_t even[2] = {a[0] + c[0], a[1] + c[1]}, difference[2] = {a[0] - c[0], a[1] - c[1]};
    const int32_t odd[2] = {b[0] + d[0], b[1] + d[1]}, across[2] = {b[0] - d[0], b[1] - d[1]};

    x[0] = even[0] + odd[0];
    x[1] = even[1] + odd[1];
    x[step] = difference[0] + across[1];
    x[step + 1] = difference[1] - across[0];
    x[2 * step] = even[0] - odd[0];
    x[2 * step + 1] = even[1] - odd[1];
    x[3 * step] = difference[0] - across[1];
    x[3 * step + 1] = difference[1] + across[0];
}

/* Of factors that are 1. */
static void first_4(int32_t *x, size_t n)
{
    for (size_t i = 0; i < n; i += 4, x += 8)
        combine(x, 2, (const int32_t[]){x[0] >> 2, x[1] >> 2}, (const int32_t[]){x[2] >> 2, x[3] >> 2},
                (const int32_t[]){x[4] >> 2, x[5] >> 2}, (const int32_t[]){x[6] >> 2, x[7] >> 2});
}

static void combine_4(int32_t *x, size_t m, size_t stride, const int32_t *factors)
{
    const int32_t *f1 = factors, *f2 = factors, *f3 = factors;

    for (size_t i = 0; i < m; i++, x += 2) {
        const int32_t *x1 = x + 2 * m, *x2 = x + 4 * m, *x3 = x + 6 * m;
        const int32_t b[2] = {upper(x1[0], f1[0], x1[1], f1[1]), upper(x1[1], f1[0], -x1[0], f1[1])};
        const int32_t c[2] = {upper(x2[0], f2[0], x2[1], f2[1]), upper(x2[1], f2[0], -x2[0], f2[1])};
        const int32_t d[2] = {upper(x3[0], f3[0], x3[1], f3[1]), upper(x3[1], f3[0], -x3[0], f3[1])};
        combine(x, 2 * m, (const int32_t[]){x[0] >> 2, x[1] >> 2}, b, c, d);
        f1 += 2 * stride, f2 += 4 * stride, f3 += 6 * stride;
    }
}

/* The spectrum of the real samples out of that of the n complex ones, in place, once more divided by 2. */
static void separate(int32_t *x, size_t n, const int32_t *factors)
{
    const int32_t re = x[0] >> 1, im = x[1] >> 1;

    x[0] = re + im;
    x[1] = 0;
    x[2 * n] = re - im;
    x[2 * n + 1] = 0;
    for (size_t k = 1; k <= n / 2; k++, factors += 2) {
        int32_t *a = x + 2 * k, *b = x + 2 * (n - k);
        const int32_t sum[2] = {(a[0] >> 2) + (b[0] >> 2), (a[1] >> 2) - (b[1] >> 2)};
        const int32_t rest[2] = {(a[0] >> 1) - (b[0] >> 1), (a[1] >> 1) + (b[1] >> 1)};
        const int32_t product[2] = {upper(rest[0], factors[0], rest[1], factors[1]),
                                    upper(rest[1], factors[0], -rest[0], factors[1])};
        a[0] = sum[0] + product[0];
        a[1] = sum[1] + product[1];
        b[0] = sum[0] - product[0];
        b[1] = product[1] - sum[1];
    }
}

/* A sample shifted to the upper end of 32 bits, times a weight in units of 2^-31: the upper half. */
static inline int32_t weighed(int16_t sample, int32_t weight, int32_t shift)
{
    return (int32_t)((int64_t)(int32_t)((uint32_t)sample << shift) * weight >> 32);
}

static size_t first_radix_of(size_t n)
{
    size_t radix = 4;

    for (size_t rest = n; rest > 1; rest /= 4)
        radix = rest == 2 ? 2 : 4;
    return radix;
}

uint32_t nuc_rfft_place(const int16_t *frame, const int32_t *window, size_t count, int32_t shift, size_t length,
                        int32_t *x)
{
    const size_t n = length / 2, first = n / first_radix_of(n);
    uint32_t any = 0;
    size_t from = 0;

    for (size_t to = 0; to < n; to++, x += 2) {
        const size_t at = 2 * from;
        for (size_t i = 0; i < 2; i++) {
            x[i] = at + i < count ? weighed(frame[at + i], window[at + i], shift) : 0;
            any |= (uint32_t)(x[i] ^ (x[i] >> 31));
        }
        size_t limit = n, step = first;
        for (from += step; from >= limit && limit > 1; from += step) {
            from -= limit;
            limit = step;
            step /= 4;
        }
    }
    return any;
}

void nuc_rfft_s32(int32_t *x, size_t length, const int32_t *table)
{
    const size_t n = length / 2, first_radix = first_radix_of(n);

    if (first_radix == 2)
        first_2(x, n);
    else
        first_4(x, n);
    for (size_t m = first_radix; m < n; m *= 4) {
        for (size_t at = 0; at < n; at += 4 * m)
            combine_4(x + 2 * at, m, n / (4 * m), table);
    }
    separate(x, n, table + (n < 4 ? 2 : 3 * n / 2));
}
