/*
 * Int8 kernels against the definition of each operator, written anew here: products scattered from input elements to
 * the outputs they reach instead of gathered, 64-bit sums, the two roundings of a rescaling spelled out.
 */
#include "unit/test.h"

#include <math.h>

#include "device/kernels/dsp/dsp.h"
#include "device/kernels/mve/mve.h"
#include "device/kernels/select/select.h"
#include "unit/numbers.h"

#define ROUNDS 400

static int32_t *random_s32(struct numbers *n, size_t count, int32_t low, int32_t high)
{
    int32_t *p = malloc((count + 1) * sizeof *p);

    assert_non_null(p);
    for (size_t i = 0; i < count; i++)
        p[i] = number(n, low, high);
    return p;
}

/* floor(v * 2^left * multiplier / 2^31 + 1/2), then that / 2^right with ties away from zero. */
static int64_t rescale(int64_t v, int32_t multiplier, int32_t shift)
{
    int64_t high = (int64_t)floorl((long double)v * (shift > 0 ? 1LL << shift : 1) * multiplier / 2147483648.0L + 0.5L);

    return shift >= 0 ? high : (int64_t)roundl((long double)high / (long double)(1LL << -shift));
}

static int8_t finish(const struct nuc_rescale *r, int32_t channel, int64_t sum)
{
    int64_t v = rescale(sum, r->multipliers[channel * r->step], r->shifts[channel * r->step]) + r->offset;

    v = v < r->low ? r->low : v;
    return (int8_t)(v > r->high ? r->high : v);
}

/* One convolution with everything it needs. */
struct conv_case {
    struct nuc_conv_s8 c;
    bool depthwise, transposed;
    bool wide; /* rows that take a kernel's memory in parts, high columns */
    int8_t *in, *weight, *out, *expected;
    int32_t *multipliers, *shifts, *bias;
    size_t n_out;
};

static void random_rescale(struct numbers *n, struct conv_case *t, int32_t taps)
{
    struct nuc_rescale *r = &t->c.rescale;
    int32_t size = t->c.out_channels;
    int bits = 0;

    while (1 << bits < taps * 20)
        bits++;
    t->multipliers = random_s32(n, (size_t)size, 1 << 30, INT32_MAX);
    t->shifts = random_s32(n, (size_t)size, -bits - 3, number(n, 0, 9) == 0 ? 2 : -bits + 2);
    t->bias = random_s32(n, (size_t)size, -20000, 20000);
    t->c.bias = number(n, 0, 3) != 0 ? t->bias : NULL;
    if (number(n, 0, 4) == 0) { /* channels that a large bias keeps at one value, or a multiplier of 0 */
        for (int32_t o = 0; o < size; o += number(n, 1, 3)) {
            t->bias[o] = (number(n, 0, 1) != 0 ? 1 : -1) * ((1 << number(n, 28, 30)) + number(n, -9999, 9999));
            t->shifts[o] = -number(n, 20, number(n, 22, 31));
            if (number(n, 0, 4) == 0)
                t->multipliers[o] = t->shifts[o] = 0;
        }
    }
    bool relu = number(n, 0, 2) == 0;
    *r = (struct nuc_rescale){t->multipliers, t->shifts, 1, relu ? -128 : number(n, -128, 127), -128, 127};
    if (number(n, 0, 2) == 0) {
        r->low = number(n, -128, 0);
        r->high = number(n, 0, 127);
    }
}

/* As much as before the image, another one, or so much that windows lie in it. */
static int32_t padding_after(struct numbers *n, int32_t before, int32_t span)
{
    int32_t kind = number(n, 0, 3);

    return kind == 0 ? number(n, 0, span) : kind == 1 ? span + number(n, 0, 4) : before;
}

static void random_sizes(struct numbers *n, struct conv_case *t)
{
    struct nuc_conv_s8 *c = &t->c;
    bool pointwise = !t->depthwise && number(n, 0, 2) == 0;
    bool tiles = t->transposed && number(n, 0, 2) == 0; /* windows lie side by side */

    if (tiles && number(n, 0, 2) != 0)
        c->in_channels = 4 * c->groups * number(n, 1, number(n, 0, 9) == 0 ? 90 : 3);
    for (int d = 0; d < 2; d++) {
        c->kernel[d] = pointwise ? 1 : number(n, 0, 1) != 0 ? 3 : number(n, 1, 5);
        c->stride[d] = number(n, 1, 2);
        c->dilation[d] = number(n, 0, 4) == 0 ? number(n, 2, 4) : 1;
        c->padding[d] = number(n, 0, c->kernel[d] - 1);
        if (tiles) {
            c->kernel[d] = c->stride[d] = number(n, 1, 3);
            c->dilation[d] = 1;
            c->padding[d] = 0;
        }
        int32_t span = (c->kernel[d] - 1) * c->dilation[d] + 1;
        if (!t->transposed && number(n, 0, 7) == 0)
            c->padding[d] = span + number(n, 0, 4);
        c->in_size[d] = number(n, span, span + 8);
        if (t->wide && number(n, 0, 1) == 0)
            c->in_size[d] = number(n, span, 150);
        if (t->wide && number(n, 0, 3) == 0) { /* along the other dimension alone, all of it or not */
            c->kernel[d] = number(n, 0, 2) == 0 ? number(n, 1, 20) : 1;
            span = (c->kernel[d] - 1) * c->dilation[d] + 1;
            c->padding[d] = number(n, 0, 2) == 0 ? number(n, 0, span) : 0;
            c->in_size[d] = span;
        }
        if (t->transposed)
            c->out_size[d] = (c->in_size[d] - 1) * c->stride[d] - c->padding[d] + span;
        else
            c->out_size[d] =
                (c->in_size[d] + c->padding[d] + padding_after(n, c->padding[d], span) - span) / c->stride[d] + 1;
    }
}

static void random_conv(struct numbers *n, struct conv_case *t)
{
    struct nuc_conv_s8 *c = &t->c;
    int32_t most = number(n, 0, 5) == 0 ? 70 : 12;

    c->batch = number(n, 1, 2);
    c->groups = t->depthwise ? number(n, 1, most) : number(n, 0, 3) == 0 ? number(n, 2, 3) : 1;
    c->in_channels = t->depthwise ? c->groups : c->groups * number(n, 1, most);
    c->out_channels = c->groups * number(n, 1, t->depthwise ? (number(n, 0, 2) == 0 ? 4 : 1) : most);
    random_sizes(n, t);
    c->input_offset = number(n, 0, 5) == 0 ? 128 : number(n, -127, 128);
    int32_t taps = c->kernel[0] * c->kernel[1] * (c->in_channels / c->groups);
    random_rescale(n, t, taps);
    t->n_out = (size_t)c->batch * (size_t)(c->out_size[0] * c->out_size[1] * c->out_channels);
    t->in = random_s8(n, (size_t)(c->batch * c->in_size[0] * c->in_size[1] * c->in_channels));
    t->weight = random_s8(n, (size_t)(taps * c->out_channels));
    t->out = calloc(t->n_out + 1, 1);
    t->expected = calloc(t->n_out + 1, 1);
    c->scratch_bytes = (size_t)number(n, 0, 2) * 4 * (size_t)((taps + 3) / 4 * 4);
    c->scratch = malloc(c->scratch_bytes + 1);
    assert_non_null(t->out);
    assert_non_null(t->expected);
    assert_non_null(c->scratch);
}

static void release_conv(struct conv_case *t)
{
    free(t->in);
    free(t->weight);
    free(t->out);
    free(t->expected);
    free(t->multipliers);
    free(t->shifts);
    free(t->bias);
    free(t->c.scratch);
}

/* Index of the weight of output channel o, tap (ky, kx), input channel i of the image. */
static size_t weight_at(const struct conv_case *t, int32_t o, int32_t ky, int32_t kx, int32_t i)
{
    const struct nuc_conv_s8 *c = &t->c;
    int32_t depth = c->in_channels / c->groups;
    int32_t tap = ky * c->kernel[1] + kx;
    int32_t taps = c->kernel[0] * c->kernel[1];

    if (t->depthwise)
        return (size_t)(tap * c->out_channels + o);
    if (t->transposed)
        return (size_t)((o % (c->out_channels / c->groups) * taps + tap) * c->in_channels + i);
    return (size_t)((o * taps + tap) * depth + i % depth);
}

/* The output position an input position reaches through tap k, or -1. */
static int32_t reached(const struct conv_case *t, int d, int32_t in, int32_t k)
{
    const struct nuc_conv_s8 *c = &t->c;
    int32_t at = t->transposed ? in * c->stride[d] + k * c->dilation[d] - c->padding[d]
                               : in + c->padding[d] - k * c->dilation[d];

    if (at < 0 || (!t->transposed && at % c->stride[d] != 0))
        return -1;
    at = t->transposed ? at : at / c->stride[d];
    return at < c->out_size[d] ? at : -1;
}

/* Adds what input element (y, x, i) gives to every sum of its image. */
static void scatter(const struct conv_case *t, int64_t *sums, int32_t y, int32_t x, int32_t i, int32_t value)
{
    const struct nuc_conv_s8 *c = &t->c;
    int32_t a_group = c->out_channels / c->groups;
    int32_t first = i / (c->in_channels / c->groups) * a_group;

    for (int32_t ky = 0; ky < c->kernel[0]; ky++) {
        for (int32_t kx = 0; kx < c->kernel[1]; kx++) {
            int32_t oy = reached(t, 0, y, ky);
            int32_t ox = reached(t, 1, x, kx);
            for (int32_t o = first; oy >= 0 && ox >= 0 && o < first + a_group; o++)
                sums[(oy * c->out_size[1] + ox) * c->out_channels + o] += value * t->weight[weight_at(t, o, ky, kx, i)];
        }
    }
}

static void expect_conv(struct conv_case *t)
{
    const struct nuc_conv_s8 *c = &t->c;
    size_t image = t->n_out / (size_t)c->batch;
    const int8_t *in = t->in;
    int64_t *sums = malloc(image * sizeof *sums);

    assert_non_null(sums);
    for (int32_t b = 0; b < c->batch; b++) {
        memset(sums, 0, image * sizeof *sums);
        for (int32_t at = 0; at < c->in_size[0] * c->in_size[1]; at++) {
            for (int32_t i = 0; i < c->in_channels; i++)
                scatter(t, sums, at / c->in_size[1], at % c->in_size[1], i, *in++ + c->input_offset);
        }
        for (size_t k = 0; k < image; k++) {
            int32_t o = (int32_t)(k % (size_t)c->out_channels);
            t->expected[(size_t)b * image + k] = finish(&c->rescale, o, sums[k] + (c->bias != NULL ? c->bias[o] : 0));
        }
    }
    free(sums);
}

/* Where that is allowed: the same bytes, with no more scratch than is said, or with what the kernel may find more of.
 */
static void check_over_input(struct conv_case *t, nuc_conv_s8_fn *kernel, int round)
{
    size_t rows = nuc_depthwise_overlay_bytes(&t->c), n_in = (size_t)(t->c.batch * t->c.in_size[0] * t->c.in_size[1]);
    struct nuc_conv_s8 c = t->c;

    if (rows == 0)
        return;
    n_in *= (size_t)c.in_channels;
    if (round % 3 != 1 || c.scratch_bytes < rows)
        c.scratch_bytes = round % 3 == 2 ? 1 << 16 : rows;
    c.scratch = malloc(c.scratch_bytes);
    int8_t *both = malloc(n_in);
    assert_non_null(c.scratch);
    assert_non_null(both);
    memcpy(both, t->in, n_in);
    kernel(&c, both, t->weight, both);
    if (memcmp(both, t->expected, t->n_out) != 0)
        fail_msg("round %d: over its input", round);
    free(both);
    free(c.scratch);
}

static void check_conv(bool depthwise, bool transposed, nuc_conv_s8_fn *const *kernels, size_t n_kernels)
{
    struct numbers n = {7};

    for (int round = 0; round < ROUNDS; round++) {
        struct conv_case t = {.depthwise = depthwise, .transposed = transposed, .wide = depthwise && round % 2 != 0};
        random_conv(&n, &t);
        expect_conv(&t);
        for (size_t k = 0; k < n_kernels; k++) {
            memset(t.out, 0x55, t.n_out);
            kernels[k](&t.c, t.in, t.weight, t.out);
            if (memcmp(t.out, t.expected, t.n_out) != 0)
                fail_msg("round %d, kernel %zu", round, k);
            if (depthwise)
                check_over_input(&t, kernels[k], round);
        }
        release_conv(&t);
    }
}

static void test_conv(void **state)
{
    static nuc_conv_s8_fn *const kernels[] = {nuc_ref_conv_s8, nuc_dsp_conv_s8, nuc_mve_conv_s8};

    check_conv(false, false, kernels, sizeof kernels / sizeof kernels[0]);
}

static void test_depthwise(void **state)
{
    static nuc_conv_s8_fn *const kernels[] = {nuc_ref_depthwise_s8, nuc_dsp_depthwise_s8, nuc_mve_depthwise_s8};

    check_conv(true, false, kernels, sizeof kernels / sizeof kernels[0]);
}

static void test_transposed(void **state)
{
    static nuc_conv_s8_fn *const kernels[] = {nuc_ref_transposed_conv_s8, nuc_dsp_transposed_conv_s8};

    check_conv(false, true, kernels, sizeof kernels / sizeof kernels[0]);
}

/* Weights of which a part is in int8 and the rest beside them: the bytes that they give whole. */
static void test_excess(void **state)
{
    struct numbers n = {19};

    for (int round = 0; round < ROUNDS; round++) {
        struct conv_case t = {.depthwise = round % 2 != 0};
        random_conv(&n, &t);
        expect_conv(&t);
        const struct nuc_conv_s8 *c = &t.c;
        int32_t depth = c->in_channels / c->groups, reads = c->kernel[0] * c->kernel[1] * depth, count = 0;
        int32_t *excess = malloc((size_t)(reads * c->out_channels + 1) * 2 * sizeof *excess);
        assert_non_null(excess);
        for (int32_t k = 0; k < reads * c->out_channels; k++) {
            int32_t tap = k % reads / depth, part = number(&n, -128, 127);
            size_t at = weight_at(&t, k / reads, tap / c->kernel[1], tap % c->kernel[1], k % depth);
            if (number(&n, 0, 9) != 0)
                continue;
            excess[2 * count] = (int32_t)at;
            excess[2 * count++ + 1] = t.weight[at] - part;
            t.weight[at] = (int8_t)part;
        }
        (t.depthwise ? nuc_ref_depthwise_s8 : nuc_ref_conv_s8)(c, t.in, t.weight, t.out);
        nuc_kernel_wide_channels_s8(c, t.depthwise, t.in, t.weight, excess, count, t.out);
        assert_memory_equal(t.out, t.expected, t.n_out);
        free(excess);
        release_conv(&t);
    }
}

/* ---- matrix products ---- */

static void test_matmul(void **state)
{
    static nuc_matmul_s8_fn *const kernels[] = {nuc_ref_matmul_s8, nuc_dsp_matmul_s8, nuc_mve_matmul_s8};
    struct numbers n = {11};

    for (int round = 0; round < ROUNDS; round++) {
        bool deep = round % 16 == 5, wide = round % 16 == 11; /* parts of rows, more columns than are summed at once */
        struct nuc_matmul_s8 m = {number(&n, 1, 5),
                                  deep ? number(&n, 700, 2000) : number(&n, 1, 100),
                                  wide ? number(&n, 120, 300) : number(&n, 1, 20),
                                  number(&n, -127, 128),
                                  number(&n, -127, 128),
                                  {.step = 0},
                                  NULL};
        int32_t multiplier = number(&n, 1 << 30, INT32_MAX), shift = number(&n, -14, -4);
        int8_t *in = random_s8(&n, (size_t)(m.rows * m.depth)), *weight = random_s8(&n, (size_t)(m.columns * m.depth));
        int32_t *bias = random_s32(&n, (size_t)m.columns, -9999, 9999);
        int8_t *out = malloc((size_t)(m.rows * m.columns));
        assert_non_null(out);
        if (round % 3 == 0)
            m.weight_offset = 0;
        if (round % 5 == 0) /* around where sums are no longer rescaled in one step */
            bias[number(&n, 0, m.columns - 1)] =
                (number(&n, 0, 1) != 0 ? 1 : -1) * ((1 << 30) - number(&n, -9999, 9999));
        if (round % 7 == 0)
            shift = number(&n, -31, 0);
        m.bias = round % 2 != 0 ? bias : NULL;
        m.rescale = (struct nuc_rescale){&multiplier, &shift, 0, number(&n, -128, 127), -128, number(&n, 0, 127)};
        for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
            kernels[k](&m, in, weight, out);
            for (int32_t i = 0; i < m.rows * m.columns; i++) {
                int32_t r = i / m.columns, c = i % m.columns;
                int64_t sum = m.bias != NULL ? bias[c] : 0;
                for (int32_t d = 0; d < m.depth; d++)
                    sum += (in[r * m.depth + d] + m.input_offset) * (weight[c * m.depth + d] + m.weight_offset);
                assert_int_equal(out[i], finish(&m.rescale, c, sum));
            }
        }
        free(in);
        free(weight);
        free(bias);
        free(out);
    }
}

/* ---- elementwise ---- */

/* 3 x n with b repeated along the first dimension: rows, steps of 0 and both tails of an unrolled loop. */
static struct nuc_loops repeated(int32_t n)
{
    return (struct nuc_loops){.rank = 2, .sizes = {3, n}, .a = {n, 1}, .b = {0, 1}, .out = {n, 1}};
}

static void test_add(void **state)
{
    struct numbers n = {13};

    for (int round = 0; round < ROUNDS; round++) {
        int32_t size = number(&n, 1, round % 4 == 0 ? 300 : 60);
        struct nuc_loops loops = repeated(size);
        int8_t *a = random_s8(&n, (size_t)size * 3), *b = random_s8(&n, (size_t)size), out[900];
        bool large = round % 8 < 2; /* sums that are not rescaled in one step */
        struct nuc_add_s8 p = {number(&n, -127, 128),
                               number(&n, -127, 128),
                               {number(&n, 1 << 30, INT32_MAX), large ? 2 : number(&n, -5, 0)},
                               {number(&n, 1 << 30, INT32_MAX), large ? 2 : number(&n, -5, 0)},
                               {number(&n, 1 << 30, INT32_MAX), number(&n, large ? -25 : -20, -17)},
                               number(&n, -128, 127),
                               number(&n, -128, 0),
                               number(&n, 0, 127)};
        if (round % 5 == 0) /* a difference */
            p.b.multiplier = -p.b.multiplier;
        nuc_add_s8_fn *const adds[] = {nuc_ref_add_s8, nuc_dsp_add_s8, nuc_mve_add_s8};
        nuc_add_s8_fn *add = adds[round % 3];
        add(&p, &loops, a, b, out);
        for (int32_t i = 0; i < size * 3; i++) {
            int64_t sum = rescale((a[i] + p.offset_a) * 1048576LL, p.a.multiplier, p.a.shift) +
                          rescale((b[i % size] + p.offset_b) * 1048576LL, p.b.multiplier, p.b.shift);
            int64_t v = rescale(sum, p.sum.multiplier, p.sum.shift) + p.offset;
            v = v < p.low ? p.low : v;
            assert_int_equal(out[i], v > p.high ? p.high : v);
        }
        /* Over an input of equal strides: the first, and in a line the second. */
        struct nuc_loops line = {.rank = 1, .sizes = {size}, .a = {1}, .b = {1}, .out = {1}};
        int8_t first[300], over[300];
        add(&p, &line, a, b, first);
        memcpy(over, b, (size_t)size);
        add(&p, &line, a, over, over);
        assert_memory_equal(over, first, (size_t)size);
        add(&p, &loops, a, b, a);
        assert_memory_equal(a, out, (size_t)size * 3);
        free(a);
        free(b);
    }
}

static void test_mul(void **state)
{
    struct numbers n = {17};

    for (int round = 0; round < ROUNDS; round++) {
        int32_t size = number(&n, 1, 21);
        struct nuc_loops loops = repeated(size);
        int8_t *a = random_s8(&n, (size_t)size * 3), *b = random_s8(&n, (size_t)size), out[63];
        struct nuc_mul_s8 p = {
            number(&n, -127, 128), number(&n, -127, 128), {number(&n, 1 << 30, INT32_MAX), number(&n, -12, 1)},
            number(&n, -128, 127), number(&n, -128, 0),   number(&n, 0, 127)};
        nuc_mul_s8_fn *const kernels[] = {nuc_ref_mul_s8, nuc_dsp_mul_s8, nuc_mve_mul_s8};
        nuc_mul_s8_fn *multiply = kernels[round % 3];
        multiply(&p, &loops, a, b, out);
        for (int32_t i = 0; i < size * 3; i++) {
            int64_t v =
                rescale((a[i] + p.offset_a) * (b[i % size] + p.offset_b), p.product.multiplier, p.product.shift) +
                p.offset;
            v = v < p.low ? p.low : v;
            assert_int_equal(out[i], v > p.high ? p.high : v);
        }
        multiply(&p, &loops, a, b, a);
        assert_memory_equal(a, out, (size_t)size * 3);
        free(a);
        free(b);
    }
}

static void test_extremes(void **state)
{
    const int8_t a[6] = {-128, 5, 127, 0, -1, 3}, b[3] = {0, 5, -128};
    const int8_t largest[6] = {0, 5, 127, 0, 5, 3}, smallest[6] = {-128, 5, -128, 0, -1, -128};
    struct nuc_loops loops = {.rank = 2, .sizes = {2, 3}, .a = {3, 1}, .b = {0, 1}, .out = {3, 1}};
    int8_t out[6], over[6];

    memcpy(over, a, sizeof over);
    nuc_kernel_maximum_s8(&loops, over, b, over);
    assert_memory_equal(over, largest, 6);
    memcpy(over, a, sizeof over);
    nuc_kernel_minimum_s8(&loops, over, b, over);
    assert_memory_equal(over, smallest, 6);
    nuc_kernel_maximum_s8(&loops, a, b, out);
    assert_memory_equal(out, largest, 6);
    nuc_kernel_minimum_s8(&loops, a, b, out);
    assert_memory_equal(out, smallest, 6);
}

static void test_div(void **state)
{
    const int8_t a[6] = {10, -10, 5, 0, 127, -128}, b[6] = {4, 4, 1, 9, 2, 2};
    const int8_t expected[4] = {3, -1, 1, 1};
    /* zero points 0, 1, 1; b = 1 is a divisor of 0; 10 / 3 * 0.5 = 1.67 -> 2, the same below 0 */
    struct nuc_div_s8 p = {0, 1, 1, 0.5f, NUC_I8};
    const int16_t wide_a[2] = {30000, -30000}, wide_b[2] = {2, 2};
    int8_t out[6];
    int16_t wide[2];

    nuc_kernel_div_int(&p, a, b, out, 4);
    assert_memory_equal(out, expected, 4);
    memcpy(out, b, 4);
    nuc_kernel_div_int(&p, a, out, out, 4);
    assert_memory_equal(out, expected, 4);
    p.scale = 1.0f; /* 127 / 1 + 1 saturates, -1.5 rounds away from zero */
    nuc_kernel_div_int(&p, a + 4, b + 4, out, 2);
    assert_int_equal(out[0], 127);
    assert_int_equal(out[1], -127);
    p.dtype = NUC_I16;
    p.scale = 4.0f;
    nuc_kernel_div_int(&p, wide_a, wide_b, wide, 2);
    assert_int_equal(wide[0], 32767);
    assert_int_equal(wide[1], -32768);
}

static void test_table_and_prelu(void **state)
{
    static nuc_table_s8_fn *const look_ups[] = {nuc_ref_table_s8, nuc_mve_table_s8};
    const int8_t slopes[2] = {2, -4};
    const int8_t image[4] = {3, -7, -5, 9}; /* channels-last pairs */
    struct nuc_loops loops = {.rank = 2, .sizes = {2, 2}, .a = {2, 1}, .b = {0, 1}, .out = {2, 1}};
    /* x / 2 above, x * slope / 8 below, half away from zero; zero points 1 and -1 */
    struct nuc_prelu_s8 p = {-1, -1, {1 << 30, 0}, {1 << 30, -2}};
    const int8_t expected[4] = {0, 3, -3, 3};
    int8_t table[256], in[256], out[256];

    for (int i = 0; i < 256; i++) {
        table[i] = (int8_t)(127 - i);
        in[i] = (int8_t)i;
    }
    nuc_ref_prelu_s8(&p, &loops, image, slopes, out);
    assert_memory_equal(out, expected, 4);
    memcpy(out, image, sizeof image);
    nuc_ref_prelu_s8(&p, &loops, out, slopes, out);
    assert_memory_equal(out, expected, 4);
    for (size_t count = 0; count <= 256; count += 51) {
        memcpy(out, in, sizeof out);
        look_ups[count % 2](table, out, out, count);
        for (size_t i = 0; i < 256; i++)
            assert_int_equal(out[i], i < count ? -1 - in[i] : in[i]);
    }
}

static void test_prelu(void **state)
{
    struct numbers n = {29};

    for (int round = 0; round < ROUNDS; round++) {
        int32_t size = number(&n, 1, 60), one = round % 3 == 0;
        struct nuc_loops loops = repeated(size);
        int8_t *in = random_s8(&n, (size_t)size * 3), *slopes = random_s8(&n, (size_t)size), out[180];
        struct nuc_prelu_s8 p = {number(&n, -127, 128),
                                 number(&n, -128, 127),
                                 {number(&n, 1 << 30, INT32_MAX), number(&n, -3, 1)},
                                 {number(&n, 1 << 30, INT32_MAX), number(&n, -12, 0)}};
        loops.b[1] = !one;
        (round % 2 != 0 ? nuc_ref_prelu_s8 : nuc_dsp_prelu_s8)(&p, &loops, in, slopes, out);
        for (int32_t i = 0; i < size * 3; i++) {
            int32_t x = in[i] + p.input_offset;
            struct nuc_multiplier m = x >= 0 ? p.positive : p.negative;
            int64_t v = rescale(x >= 0 ? x : x * slopes[one ? 0 : i % size], m.multiplier, m.shift) + p.output_offset;
            assert_int_equal(out[i], v < -128 ? -128 : v > 127 ? 127 : v);
        }
        free(in);
        free(slopes);
    }
}

/* a in halves, b in quarters: equal numbers compare equal, whatever the zero points. */
static void test_compare(void **state)
{
    const int8_t a[3] = {3, 1, -2}, b[3] = {2, 2, -126}; /* 1, 0, -1.5; 1, 1, -31 */
    const struct nuc_loops loops = {.rank = 1, .sizes = {3}, .a = {1}, .b = {1}, .out = {1}};
    static const int8_t expected[6][3] = {{1, 0, 0}, {0, 1, 1}, {0, 1, 0}, {1, 1, 0}, {0, 0, 1}, {1, 0, 1}};

    for (int relation = NUC_EQUAL; relation <= NUC_GREATER_EQUAL; relation++) {
        /* times 1/2 and 1/4 of twice the larger scale */
        struct nuc_compare_s8 p = {-1, 2, {1 << 30, 0}, {1 << 30, -1}, (enum nuc_relation)relation};
        int8_t out[3];
        nuc_kernel_compare_int(&p, &loops, NUC_I8, a, b, out);
        assert_memory_equal(out, expected[relation], 3);
        /* of one scale: 2, 0, -3; 4, 4, -124 */
        static const int8_t of_one[6][3] = {{0}, {1, 1, 1}, {1, 1, 0}, {1, 1, 0}, {0, 0, 1}, {0, 0, 1}};
        p.b.shift = 0;
        nuc_kernel_compare_int(&p, &loops, NUC_I8, a, b, out);
        assert_memory_equal(out, of_one[relation], 3);
    }
}

/* ---- pooling, sums, softmax ---- */

static int32_t pooled_size(const struct nuc_pool_s8 *p, int d)
{
    return (p->in_size[d] + 2 * p->padding[d] - (p->kernel[d] - 1) * p->dilation[d] - 1) / p->stride[d] + 1;
}

static bool covers(const struct nuc_pool_s8 *p, int d, int32_t out, int32_t in)
{
    int32_t begin = out * p->stride[d] - p->padding[d];

    return in >= begin && in - begin <= (p->kernel[d] - 1) * p->dilation[d] && (in - begin) % p->dilation[d] == 0;
}

static void expect_pool(const struct nuc_pool_s8 *p, const int8_t *in, int32_t oy, int32_t ox, int32_t c, int *largest,
                        int *average)
{
    long sum = 0, count = 0;

    *largest = p->low;
    for (int32_t at = 0; at < p->in_size[0] * p->in_size[1]; at++) {
        if (!covers(p, 0, oy, at / p->in_size[1]) || !covers(p, 1, ox, at % p->in_size[1]))
            continue;
        int v = in[at * p->channels + c];
        *largest = v > *largest ? v : *largest;
        sum += v;
        count++;
    }
    long rounded = lround((double)sum / (double)count);
    *largest = *largest > p->high ? p->high : *largest;
    *average = (int)(rounded < p->low ? p->low : rounded > p->high ? p->high : rounded);
}

static void expect_dilated_pool(struct nuc_pool_s8 p, struct numbers *n, const int8_t *in)
{
    int16_t wide[9 * 9 * 20], largest[3000];

    for (int d = 0; d < 2; d++) {
        p.dilation[d] = p.kernel[d] == 1 ? 3 : number(n, 1, (p.in_size[d] - 1) / (p.kernel[d] - 1));
        p.out_size[d] = pooled_size(&p, d);
    }
    for (int32_t i = 0; i < p.in_size[0] * p.in_size[1] * p.channels; i++)
        wide[i] = in[i];
    nuc_kernel_max_pool_s16(&p, wide, largest);
    for (int32_t i = 0; i < p.out_size[0] * p.out_size[1] * p.channels; i++) {
        int32_t pixel = i / p.channels;
        int expected[2];
        expect_pool(&p, in, pixel / p.out_size[1], pixel % p.out_size[1], i % p.channels, &expected[0], &expected[1]);
        assert_int_equal(largest[i], expected[0]);
    }
}

static void test_pool(void **state)
{
    struct numbers n = {19};

    for (int round = 0; round < ROUNDS; round++) {
        struct nuc_pool_s8 p = {.batch = 1,
                                .channels = number(&n, 0, 1) ? 8 : number(&n, 1, 20),
                                .dilation = {1, 1},
                                .low = number(&n, 0, 1) ? -128 : number(&n, -128, 40),
                                .high = number(&n, 50, 127)};
        for (int d = 0; d < 2; d++) {
            p.kernel[d] = number(&n, 1, 4);
            p.stride[d] = number(&n, 1, 3);
            p.padding[d] = number(&n, 0, p.kernel[d] / 2);
            p.in_size[d] = number(&n, p.kernel[d], 9);
            p.out_size[d] = pooled_size(&p, d);
        }
        int32_t scratch[20];
        int8_t *in = random_s8(&n, (size_t)(p.in_size[0] * p.in_size[1] * p.channels)), largest[3000], average[3000];
        p.scratch = scratch;
        p.scratch_bytes = round % 2 != 0 ? sizeof scratch : 0;
        nuc_pool_s8_fn *const most[] = {nuc_ref_max_pool_s8, nuc_dsp_max_pool_s8, nuc_mve_max_pool_s8};
        nuc_pool_s8_fn *const means[] = {nuc_ref_avg_pool_s8, nuc_dsp_avg_pool_s8, nuc_mve_avg_pool_s8};
        most[round % 3](&p, in, largest);
        means[round % 3](&p, in, average);
        for (int32_t i = 0; i < p.out_size[0] * p.out_size[1] * p.channels; i++) {
            int32_t pixel = i / p.channels;
            int expected[2];
            expect_pool(&p, in, pixel / p.out_size[1], pixel % p.out_size[1], i % p.channels, &expected[0],
                        &expected[1]);
            assert_int_equal(largest[i], expected[0]);
            assert_int_equal(average[i], expected[1]);
        }
        expect_dilated_pool(p, &n, in);
        free(in);
    }
}

static void test_sum(void **state)
{
    const int8_t in[6] = {1, -5, 100, 4, 7, 127};
    /* rows 2 x 3 summed along the rows, zero point 1, halved */
    struct nuc_loops kept = {.rank = 1, .sizes = {2}, .a = {3}, .out = {1}};
    struct nuc_loops reduced = {.rank = 1, .sizes = {3}, .a = {1}};
    int32_t multiplier = 1 << 30, shift = 0;
    struct nuc_rescale r = {&multiplier, &shift, 0, -3, -128, 127};
    int8_t out[2];

    nuc_kernel_sum_s8(&kept, &reduced, -1, &r, in, out);
    assert_int_equal(out[0], 44); /* (0 - 6 + 99) / 2 = 46.5 -> 47 */
    assert_int_equal(out[1], 65); /* (3 + 6 + 126) / 2 = 67.5 -> 68 */
}

/* The first of equal values, also along rows of a matrix that lie apart, and of columns. */
static void test_places(void **state)
{
    const int8_t in[8] = {-128, 7, 7, -1, -128, 9, 9, 0};
    const struct nuc_loops none = {.rank = 0}, all = {.rank = 2, .sizes = {2, 3}, .a = {4, 1}};
    const struct nuc_loops columns = {.rank = 1, .sizes = {4}, .a = {1}, .out = {1}};
    const struct nuc_loops rows = {.rank = 1, .sizes = {2}, .a = {4}};
    const int64_t largest[4] = {0, 1, 1, 1}, smallest[4] = {0, 0, 0, 0};
    int64_t out[4];

    nuc_kernel_arg_extreme(true, &none, &all, NUC_I8, in, out);
    assert_int_equal(out[0], 4);
    nuc_kernel_arg_extreme(false, &none, &all, NUC_I8, in, out);
    assert_int_equal(out[0], 0);
    nuc_kernel_arg_extreme(true, &columns, &rows, NUC_I8, in, out);
    assert_memory_equal(out, largest, sizeof out);
    nuc_kernel_arg_extreme(false, &columns, &rows, NUC_I8, in, out);
    assert_int_equal(out[3], 0);
    assert_memory_equal(out, smallest, sizeof out);
}

/* Of more results than are looked for together: rows [2, 5, 19], the channels in the middle. */
static void test_many_places(void **state)
{
    const struct nuc_loops kept = {.rank = 2, .sizes = {2, 19}, .a = {95, 1}, .out = {19, 1}};
    const struct nuc_loops channels = {.rank = 1, .sizes = {5}, .a = {19}};
    struct numbers n = {29};
    int8_t in[190];
    int64_t out[38];

    for (size_t i = 0; i < 190; i++)
        in[i] = (int8_t)number(&n, -4, 4);
    for (int largest = 0; largest < 2; largest++) {
        nuc_kernel_arg_extreme(largest != 0, &kept, &channels, NUC_I8, in, out);
        for (size_t i = 0; i < 38; i++) {
            const int8_t *first = &in[i / 19 * 95 + i % 19];
            int64_t best = 0;
            for (int64_t k = 1; k < 5; k++)
                best = (largest != 0 ? first[19 * k] > first[19 * best] : first[19 * k] < first[19 * best]) ? k : best;
            assert_int_equal(out[i], best);
        }
    }
}

/* Within one step of the real softmax, and largest elements above all others. */
static void test_softmax(void **state)
{
    struct numbers n = {23};

    for (int round = 0; round < ROUNDS / 4; round++) {
        double scale = number(&n, 1, 250) / 1000.0;
        double real = scale * 67108864.0;
        struct nuc_multiplier m = nuc_multiplier_from_scale(real);
        struct nuc_softmax_s8 s = {2, number(&n, 1, 300), m.multiplier, m.shift, 0, false};
        int8_t *in = random_s8(&n, (size_t)(2 * s.size)), out[600];
        s.diff_min = -(int32_t)(31.0 * 67108864.0 / (double)(1LL << m.shift));
        nuc_kernel_softmax_s8(&s, in, out);
        for (int32_t row = 0; row < 2; row++) {
            double sum = 0;
            int8_t alone[300];
            s.rows = 1;
            nuc_kernel_softmax_s8(&s, in + row * s.size, alone);
            assert_memory_equal(alone, out + row * s.size, (size_t)s.size);
            for (int32_t i = 0; i < s.size; i++)
                sum += exp(scale * in[row * s.size + i]);
            for (int32_t i = 0; i < s.size; i++) {
                double p = exp(scale * in[row * s.size + i]) / sum * 256 - 128;
                assert_true(fabs(out[row * s.size + i] - (p > 127 ? 127 : p)) <= 1.0);
            }
        }
        free(in);
    }
}

/* A scale of 1/8; the result is LiteRT Micro's. */
static void test_wide_softmax(void **state)
{
    static const int8_t in[5] = {-128, 90, 100, 104, 127};
    static const int16_t expected[5] = {-32768, -32184, -30730, -29408, 26787};
    const struct nuc_multiplier m = nuc_multiplier_from_scale(0.125 * 67108864.0);
    const struct nuc_softmax_s8 s = {1, 5, m.multiplier, m.shift, -(int32_t)((31LL << 26) >> m.shift), true};
    int16_t out[5];

    nuc_kernel_softmax_s8(&s, in, out);
    assert_memory_equal(out, expected, sizeof expected);
}

static int8_t saturated(double x, int32_t zero_point)
{
    double v = round(x) + zero_point;

    return (int8_t)(v < -128 ? -128 : v > 127 ? 127 : v);
}

/* Half a step is lost to float32 where the value lies between two. */
static void expect_near(int8_t value, double x, int32_t zero_point)
{
    int8_t low = saturated(x - 1e-3, zero_point), high = saturated(x + 1e-3, zero_point);

    assert_true(value == low || value == high);
}

/* The same of int8 or of int16 about 0, where a float32 is up to a thousandth of a step off. */
static void expect_near_of(enum nuc_dtype dtype, const void *out, size_t i, double x, int32_t zero_point)
{
    double near = round(x) > 32767 ? 32767 : round(x) < -32768 ? -32768 : x;

    if (dtype == NUC_I8)
        expect_near(((const int8_t *)out)[i], x, zero_point);
    else
        assert_true(fabs(((const int16_t *)out)[i] - near) < 0.51);
}

static double value_of(enum nuc_dtype dtype, const void *in, size_t i)
{
    return dtype == NUC_I8 ? ((const int8_t *)in)[i] : ((const int16_t *)in)[i];
}

static void test_norm(void **state)
{
    struct numbers n = {17};

    for (int round = 0; round < ROUNDS; round++) {
        enum nuc_dtype dtype = number(&n, 0, 1) == 1 ? NUC_I8 : NUC_I16;
        bool wide = dtype == NUC_I16;
        struct nuc_norm_s8 p = {.batch = (size_t)number(&n, 1, 2),
                                .groups = (size_t)number(&n, 1, 3),
                                .channels = (size_t)number(&n, 1, 4),
                                .inner = (size_t)number(&n, 1, 9),
                                .centred = number(&n, 0, 1) == 1,
                                .zero_point = wide ? 0 : number(&n, -128, 127),
                                .output_zero_point = wide ? 0 : number(&n, -128, 127),
                                .eps = 0.5f};
        bool last = number(&n, 0, 1) == 1;
        size_t channels = p.groups * p.channels, count = p.channels * p.inner;
        float weight[12], bias[12];
        p.batch_step = channels * p.inner;
        p.channel_step = last ? 1 : p.inner;
        p.inner_step = last ? channels : 1;
        for (size_t c = 0; c < channels; c++) {
            weight[c] = (float)number(&n, -60, 60);
            bias[c] = (float)number(&n, -300, 300) / 8.0f;
        }
        int8_t *in = random_s8(&n, 2 * p.batch * p.batch_step), *out = random_s8(&n, 2 * p.batch * p.batch_step);
        nuc_kernel_norm_int(&p, dtype, in, weight, bias, out);
        for (size_t g = 0; g < p.batch * p.groups; g++) {
            size_t first = g / p.groups * p.batch_step + g % p.groups * p.channels * p.channel_step;
            double mean = p.zero_point, squares = 0;
            for (size_t i = 0; p.centred && i < count; i++)
                mean += (value_of(dtype, in, first + i / p.inner * p.channel_step + i % p.inner * p.inner_step) -
                         p.zero_point) /
                        (double)count;
            for (size_t i = 0; i < count; i++) {
                double x =
                    value_of(dtype, in, first + i / p.inner * p.channel_step + i % p.inner * p.inner_step) - mean;
                squares += x * x;
            }
            for (size_t i = 0; i < count; i++) {
                size_t at = first + i / p.inner * p.channel_step + i % p.inner * p.inner_step;
                size_t c = g % p.groups * p.channels + i / p.inner;
                double x = (value_of(dtype, in, at) - mean) / sqrt(squares / (double)count + (double)p.eps);
                expect_near_of(dtype, out, at, x * (double)weight[c] + (double)bias[c], p.output_zero_point);
            }
        }
        free(in);
        free(out);
    }
}

static void test_var(void **state)
{
    struct numbers n = {18};

    for (int round = 0; round < ROUNDS; round++) {
        enum nuc_dtype dtype = number(&n, 0, 1) == 1 ? NUC_I8 : NUC_I16;
        int32_t rows = number(&n, 1, 4), size = number(&n, 1, 40), unit = dtype == NUC_I8 ? 1 : 1 << 16;
        int32_t zero_point = dtype == NUC_I8 ? number(&n, -128, 127) : 0;
        struct nuc_loops kept = {1, {rows}, {1}, {0}, {1}}, reduced = {1, {size}, {rows}, {0}, {0}};
        float scale = 1.0f / (float)(number(&n, 30, 3000) * unit);
        int8_t *in = random_s8(&n, 2 * (size_t)(rows * size));
        int16_t out[4];
        nuc_kernel_var_int(&kept, &reduced, scale, zero_point, dtype, in, out);
        for (size_t r = 0; r < (size_t)rows; r++) {
            double mean = 0, squares = 0;
            for (size_t i = 0; i < (size_t)size; i++)
                mean += value_of(dtype, in, i * (size_t)rows + r) / size;
            for (size_t i = 0; i < (size_t)size; i++)
                squares += pow(value_of(dtype, in, i * (size_t)rows + r) - mean, 2);
            expect_near_of(dtype, out, r, squares * (double)scale, zero_point);
        }
        free(in);
    }
}

static void test_log_softmax(void **state)
{
    struct numbers n = {19};

    for (int round = 0; round < ROUNDS; round++) {
        enum nuc_dtype dtype = number(&n, 0, 1) == 1 ? NUC_I8 : NUC_I16;
        int32_t rows = number(&n, 1, 4), size = number(&n, 1, 40), zero_point = dtype == NUC_I8 ? 127 : 0;
        double unit = dtype == NUC_I8 ? 100.0 : 100.0 * 256;
        double step = number(&n, 1, 100) / unit, out_step = number(&n, 4, 40) / unit;
        struct nuc_loops lines = {1, {rows}, {1}, {0}, {size}};
        struct nuc_line line = {size, rows, 1};
        float exponentials[512];
        struct nuc_log_softmax_s8 s = {exponentials, (float)(step / out_step), (float)(1 / out_step), zero_point};
        int8_t *in = random_s8(&n, 2 * (size_t)(rows * size)), *out = random_s8(&n, 2 * (size_t)(rows * size));
        for (int i = 0; i < 256; i++) {
            exponentials[i] = (float)exp(-i * step);
            exponentials[256 + i] = (float)exp(-256 * i * step);
        }
        nuc_kernel_log_softmax_int(&s, &lines, &line, dtype, in, out);
        for (int32_t r = 0; r < rows; r++) {
            double sum = 0;
            for (int32_t i = 0; i < size; i++)
                sum += exp(value_of(dtype, in, (size_t)(i * rows + r)) * step);
            for (int32_t i = 0; i < size; i++)
                expect_near_of(dtype, out, (size_t)(r * size + i),
                               (value_of(dtype, in, (size_t)(i * rows + r)) * step - log(sum)) / out_step, zero_point);
        }
        free(in);
        free(out);
    }
}

/* ---- vector instructions: the bytes of plain C ---- */

static void test_vector_softmax(void **state)
{
    struct numbers n = {31};

    for (int round = 0; round < ROUNDS; round++) {
        struct nuc_multiplier m = nuc_multiplier_from_scale(number(&n, 1, 900) / 1000.0 * 67108864.0);
        struct nuc_softmax_s8 s = {
            number(&n, 1, 9), number(&n, 1, round % 9 == 0 ? 700 : 70), m.multiplier, m.shift, 0, false};
        size_t size = (size_t)(s.rows * s.size);
        int8_t *in = random_s8(&n, size), *out = random_s8(&n, size), *expected = random_s8(&n, size);
        s.diff_min = -(int32_t)(31.0 * 67108864.0 / (double)(1LL << m.shift));
        for (size_t i = 0; round % 3 == 0 && i < size; i++)
            in[i] = (int8_t)(in[i] / 16 - 100); /* close to each other, and below 0 */
        nuc_ref_softmax_s8(&s, in, expected);
        nuc_mve_softmax_s8(&s, in, out);
        assert_memory_equal(out, expected, size);
        free(in);
        free(out);
        free(expected);
    }
}

static void test_vector_sum(void **state)
{
    struct numbers n = {32};

    for (int round = 0; round < ROUNDS; round++) {
        int32_t rows = number(&n, 1, 5), columns = number(&n, 1, 40), channels = number(&n, 1, 40);
        int32_t multiplier = number(&n, 1 << 30, INT32_MAX), shift = number(&n, -14, 1);
        struct nuc_rescale r = {&multiplier, &shift, 0, number(&n, -128, 127), -128, number(&n, 60, 127)};
        struct nuc_loops kept = {2, {rows, columns}, {columns * channels, channels}, {0}, {columns, 1}};
        struct nuc_loops reduced = {1, {channels}, {1}, {0}, {0}};
        int32_t offset = number(&n, -127, 128);
        int8_t *in = random_s8(&n, (size_t)(rows * columns * channels)), out[240] = {0}, expected[240] = {0};

        if (round % 3 != 0) { /* over pixels */
            kept = (struct nuc_loops){1, {channels}, {1}, {0}, {1}};
            reduced = (struct nuc_loops){2, {rows, columns}, {columns * channels, channels}, {0}, {0}};
        }
        if (round % 3 == 2)
            kept.out[0] = 2;
        nuc_ref_sum_s8(&kept, &reduced, offset, &r, in, expected);
        nuc_mve_sum_s8(&kept, &reduced, offset, &r, in, out);
        assert_memory_equal(out, expected, sizeof expected);
        free(in);
    }
}

/* Elements by a walk of their own, which neither kernel shares. */
static void test_moves(void **state)
{
    static nuc_copy_fn *const moves[] = {nuc_ref_copy, nuc_mve_copy};
    struct numbers n = {34};

    for (int round = 0; round < 4 * ROUNDS; round++) {
        int32_t sizes[3] = {number(&n, 1, 4), number(&n, 1, 40), number(&n, 1, round % 3 == 0 ? 40 : 4)};
        int32_t element = 1 << number(&n, 0, 2), gap = number(&n, 0, 3);
        struct nuc_loops loops = {.rank = 3, .sizes = {sizes[0], sizes[1], sizes[2]}};
        bool swapped = number(&n, 0, 1) == 1;
        size_t plane = (size_t)((sizes[1] + gap) * (sizes[2] + gap));
        uint8_t *in = (uint8_t *)random_s8(&n, 4 * plane * 4), *out, *expected;

        for (int32_t side = 0; side < 2; side++) {
            ptrdiff_t *strides = side == 0 ? loops.a : loops.out;
            bool turned = side == 0 && swapped;
            strides[0] = (ptrdiff_t)plane;
            strides[1] = turned ? 1 : sizes[2] + gap;
            strides[2] = turned ? sizes[1] + gap : 1;
        }
        out = calloc(4 * plane, 4);
        expected = calloc(4 * plane, 4);
        for (int32_t i = 0; i < sizes[0] * sizes[1] * sizes[2]; i++) {
            int32_t at[3] = {i / sizes[2] / sizes[1], i / sizes[2] % sizes[1], i % sizes[2]};
            ptrdiff_t from = 0, to = 0;
            for (int d = 0; d < 3; d++) {
                from += at[d] * loops.a[d] * element;
                to += at[d] * loops.out[d] * element;
            }
            memcpy(expected + to, in + from, (size_t)element);
        }
        moves[round % 2](&loops, (size_t)element, in, out);
        assert_memory_equal(out, expected, 16 * plane);
        free(in);
        free(out);
        free(expected);
    }
}

RUN_TESTS(cmocka_unit_test(test_conv), cmocka_unit_test(test_depthwise), cmocka_unit_test(test_transposed),
          cmocka_unit_test(test_excess), cmocka_unit_test(test_matmul), cmocka_unit_test(test_add),
          cmocka_unit_test(test_mul), cmocka_unit_test(test_extremes), cmocka_unit_test(test_places),
          cmocka_unit_test(test_many_places), cmocka_unit_test(test_div), cmocka_unit_test(test_table_and_prelu),
          cmocka_unit_test(test_prelu), cmocka_unit_test(test_pool), cmocka_unit_test(test_sum),
          cmocka_unit_test(test_softmax), cmocka_unit_test(test_wide_softmax), cmocka_unit_test(test_norm),
          cmocka_unit_test(test_var), cmocka_unit_test(test_log_softmax), cmocka_unit_test(test_compare),
          cmocka_unit_test(test_vector_softmax), cmocka_unit_test(test_vector_sum), cmocka_unit_test(test_moves))
