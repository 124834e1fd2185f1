/*
 * The transform of real samples by one of half as many complex ones: stages of radix 4, and first one of radix 2 where
 * the number of them is an odd power of two. Each stage divides by its radix before it adds, so that sums keep to 16
 * bits. Divisions and products are rounded in the places where kissfft rounds. A table has two int16 for each factor.
 */
#include "device/signal/complex_s16.h"
#include "device/signal/signal.h"

static void combine_2(int16_t *x, size_t m, size_t stride, const int16_t *factors)
{
    int16_t *y = x + 2 * m;

    for (size_t i = 0; i < m; i++) {
        uint32_t a = nuc_div_complex(nuc_load_complex(x + 2 * i), 2);
        uint32_t b = nuc_div_complex(nuc_load_complex(y + 2 * i), 2);
        b = nuc_mul_complex(b, nuc_load_complex(factors + 2 * i * stride));
        nuc_store_complex(x + 2 * i, nuc_add_complex(a, b));
        nuc_store_complex(y + 2 * i, nuc_sub_complex(a, b));
    }
}

static void combine_4(int16_t *x, size_t m, size_t stride, const int16_t *factors)
{
    int16_t *x1 = x + 2 * m, *x2 = x + 4 * m, *x3 = x + 6 * m;
    const int16_t *f1 = factors, *f2 = factors, *f3 = factors;

    for (size_t i = 0; i < m; i++) {
        uint32_t a = nuc_div_complex(nuc_load_complex(x), 4), b = nuc_div_complex(nuc_load_complex(x1), 4);
        uint32_t c = nuc_div_complex(nuc_load_complex(x2), 4), d = nuc_div_complex(nuc_load_complex(x3), 4);
        b = nuc_mul_complex(b, nuc_load_complex(f1));
        c = nuc_mul_complex(c, nuc_load_complex(f2));
        d = nuc_mul_complex(d, nuc_load_complex(f3));
        uint32_t even = nuc_add_complex(a, c), difference = nuc_sub_complex(a, c);
        uint32_t odd = nuc_add_complex(b, d), across = nuc_sub_complex(b, d);
        nuc_store_complex(x, nuc_add_complex(even, odd));
        nuc_store_complex(x1, nuc_add_turned(difference, across));
        nuc_store_complex(x2, nuc_sub_complex(even, odd));
        nuc_store_complex(x3, nuc_sub_turned(difference, across));
        x += 2, x1 += 2, x2 += 2, x3 += 2;
        f1 += 2 * stride, f2 += 4 * stride, f3 += 6 * stride;
    }
}

/*
 * The samples in the order in which the first stage takes them: digits of base 4 reversed, one of base 2 last. So the
 * place that is counted up from 0 belongs to a sample whose index is counted up from its upper end.
 */
static void place_samples(const int16_t *in, size_t count, size_t n, size_t first_radix, int16_t *out)
{
    size_t from = 0;

    for (size_t to = 0; to < n; to++) {
        const size_t at = 2 * from;
        if (at + 1 < count) {
            nuc_store_complex(out + 2 * to, nuc_load_complex(in + at));
        } else {
            out[2 * to] = at < count ? in[at] : (int16_t)0;
            out[2 * to + 1] = 0;
        }
        size_t limit = n, step = n / first_radix;
        for (from += step; from >= limit && limit > 1; from += step) {
            from -= limit;
            limit = step;
            step /= 4;
        }
    }
}

/* The spectrum of the real samples out of that of the n complex ones, in place. */
static void separate(int16_t *x, size_t n, const int16_t *factors)
{
    const uint32_t first = nuc_div_complex(nuc_load_complex(x), 2), swapped = first >> 16 | first << 16;

    nuc_store_complex(x, nuc_add_complex(first, swapped) & 0xFFFF);
    nuc_store_complex(x + 2 * n, nuc_sub_complex(first, swapped) & 0xFFFF);
    for (size_t k = 1; k <= n / 2; k++) {
        const uint32_t mirrored = nuc_load_complex(x + 2 * (n - k));
        const uint32_t a = nuc_div_complex(nuc_load_complex(x + 2 * k), 2);
        const uint32_t b = nuc_div_complex(nuc_halves_of(mirrored, nuc_sub_complex(0, mirrored)), 2);
        const uint32_t sum = nuc_add_complex(a, b);
        const uint32_t product = nuc_mul_complex(nuc_sub_complex(a, b), nuc_load_complex(factors + 2 * (k - 1)));
        nuc_store_complex(x + 2 * k, nuc_half_sum(sum, product));
        nuc_store_complex(x + 2 * (n - k),
                          nuc_halves_of(nuc_half_difference(sum, product), nuc_half_difference(product, sum)));
    }
}

void nuc_signal_rfft_s16(const int16_t *in, size_t count, size_t length, const int16_t *table, int16_t *out)
{
    const size_t n = length / 2;
    size_t first_radix = 4, m = 1;

    for (size_t rest = n; rest > 1; rest /= 4)
        first_radix = rest == 2 ? 2 : 4;
    place_samples(in, count, n, first_radix, out);
    if (first_radix == 2) {
        for (size_t at = 0; at < n; at += 2)
            combine_2(out + 2 * at, 1, n / 2, table);
        m = 2;
    }
    for (; m < n; m *= 4) {
        for (size_t at = 0; at < n; at += 4 * m)
            combine_4(out + 2 * at, m, n / (4 * m), table);
    }
    separate(out, n, table + (n < 4 ? 2 : 3 * n / 2));
}
