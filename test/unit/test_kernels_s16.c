/* Convolutions of int16 against sums that are scattered from the inputs, in every kernel there is. */
#include <math.h>

#include "unit/random.h"

#include "device/kernels/dsp/dsp.h"

#define ROUNDS 300

static uint32_t state = 7;

static int32_t number(int32_t low, int32_t high)
{
    return random_in(&state, low, high);
}

struct one {
    struct nuc_conv_s16 conv;
    enum nuc_conv_kind kind;
    int16_t *in, *out, *expected;
    int8_t *weight;
    int32_t *multipliers, *shifts, *bias;
    int64_t *long_bias;
    size_t n_in, n_weight, n_out;
};

static void random_shape(struct one *t)
{
    struct nuc_conv_s8 *c = &t->conv.c;
    int32_t most = number(0, 9) == 0 ? 90 : 9; /* more products than a sum of 32 bits holds */

    t->kind = (enum nuc_conv_kind)number(NUC_CONV, NUC_TRANSPOSED);
    c->batch = number(1, 2);
    c->groups = t->kind == NUC_DEPTHWISE ? number(1, 12) : number(1, 3);
    c->in_channels = t->kind == NUC_DEPTHWISE ? c->groups : c->groups * number(1, most);
    c->out_channels = c->groups * (t->kind == NUC_DEPTHWISE ? number(1, 3) == 3 ? number(2, 5) : 1 : number(1, 6));
    for (int d = 0; d < 2; d++) {
        c->kernel[d] = number(1, 4);
        c->stride[d] = number(1, 3);
        c->dilation[d] = number(1, 3) == 3 ? 2 : 1;
        c->padding[d] = number(0, c->kernel[d] - 1);
        c->in_size[d] = number(1, 7);
        int32_t reach = (c->kernel[d] - 1) * c->dilation[d] + 1, room = c->in_size[d] + 2 * c->padding[d] - reach;
        c->out_size[d] = t->kind == NUC_TRANSPOSED ? (c->in_size[d] - 1) * c->stride[d] - 2 * c->padding[d] + reach
                         : room < 0                ? 1
                                                   : room / c->stride[d] + 1;
        c->out_size[d] = c->out_size[d] < 1 ? 1 : c->out_size[d];
    }
}

static void fill(struct one *t)
{
    struct nuc_conv_s8 *c = &t->conv.c;
    size_t taps = (size_t)(c->kernel[0] * c->kernel[1]), o = (size_t)c->out_channels;

    t->n_in = (size_t)(c->batch * c->in_size[0] * c->in_size[1] * c->in_channels);
    t->n_out = (size_t)(c->batch * c->out_size[0] * c->out_size[1]) * o;
    t->n_weight = t->kind == NUC_TRANSPOSED ? o / (size_t)c->groups * taps * (size_t)c->in_channels
                                            : o * taps * (size_t)(c->in_channels / c->groups);
    t->in = malloc(t->n_in * sizeof *t->in);
    t->out = malloc(t->n_out * sizeof *t->out);
    t->expected = malloc(t->n_out * sizeof *t->expected);
    t->weight = malloc(t->n_weight);
    t->multipliers = malloc(o * sizeof *t->multipliers);
    t->shifts = malloc(o * sizeof *t->shifts);
    t->bias = malloc(o * sizeof *t->bias);
    t->long_bias = malloc(o * sizeof *t->long_bias);
    for (size_t i = 0; i < t->n_in; i++)
        t->in[i] = (int16_t)number(0, 9) == 0 ? INT16_MIN : (int16_t)number(INT16_MIN, INT16_MAX);
    for (size_t i = 0; i < t->n_weight; i++)
        t->weight[i] = (int8_t)number(INT8_MIN, INT8_MAX);
    for (size_t i = 0; i < o; i++) {
        t->multipliers[i] = number(0, 9) == 0 ? INT32_MAX : number(1 << 30, INT32_MAX - 1);
        t->shifts[i] = number(0, 3) == 0 ? number(-31, 0) : number(-12, -4);
        t->bias[i] = number(-(1 << 28), 1 << 28);
        t->long_bias[i] = (int64_t)t->bias[i] * number(1, 1 << 10);
    }
    t->conv.is_long = number(0, 2) != 0;
    t->conv.long_bias = t->conv.is_long && number(0, 3) != 0 ? t->long_bias : NULL;
    c->bias = t->conv.is_long ? NULL : t->bias;
    c->rescale = (struct nuc_rescale){t->multipliers, t->shifts, 1, 0, number(INT16_MIN, -1), number(0, INT16_MAX)};
}

/* Where tap k of one position of the smaller grid lies in the larger one. */
static int32_t meet(const struct nuc_conv_s8 *c, int d, int32_t at, int32_t k)
{
    return at * c->stride[d] - c->padding[d] + k * c->dilation[d];
}

/* Every pair of an input and an output position that a tap joins adds its products to the output's channels. */
static void expect_image(struct one *t, const int16_t *in, int64_t *sums)
{
    const struct nuc_conv_s8 *c = &t->conv.c;
    bool transposed = t->kind == NUC_TRANSPOSED;
    const int32_t *from = transposed ? c->in_size : c->out_size, *to = transposed ? c->out_size : c->in_size;
    int32_t depth = c->in_channels / c->groups, of_group = c->out_channels / c->groups;

    for (int32_t at = 0; at < from[0] * from[1] * c->kernel[0] * c->kernel[1]; at++) {
        int32_t tap = at % (c->kernel[0] * c->kernel[1]), place = at / (c->kernel[0] * c->kernel[1]);
        int32_t y = meet(c, 0, place / from[1], tap / c->kernel[1]),
                x = meet(c, 1, place % from[1], tap % c->kernel[1]);
        if (y < 0 || y >= to[0] || x < 0 || x >= to[1])
            continue;
        int32_t in_at = transposed ? place : y * c->in_size[1] + x,
                out_at = transposed ? y * c->out_size[1] + x : place;
        for (int32_t o = 0; o < c->out_channels; o++) {
            for (int32_t i = 0; i < depth; i++) {
                int32_t channel = o / of_group * depth + i, taps = c->kernel[0] * c->kernel[1];
                int32_t w = t->kind == NUC_DEPTHWISE ? tap * c->out_channels + o
                            : transposed             ? (o % of_group * taps + tap) * c->in_channels + channel
                                                     : (o * taps + tap) * depth + i;
                sums[out_at * c->out_channels + o] += (int64_t)in[in_at * c->in_channels + channel] * t->weight[w];
            }
        }
    }
}

static void expect(struct one *t)
{
    const struct nuc_conv_s8 *c = &t->conv.c;
    size_t image = t->n_out / (size_t)c->batch;
    int64_t *sums = calloc(t->n_out, sizeof *sums);

    assert_non_null(sums);
    for (int32_t b = 0; b < c->batch; b++)
        expect_image(t, t->in + (size_t)b * (t->n_in / (size_t)c->batch), sums + (size_t)b * image);
    for (size_t i = 0; i < t->n_out; i++) {
        size_t o = i % (size_t)c->out_channels;
        struct nuc_multiplier m = {t->multipliers[o], t->shifts[o]};
        int64_t sum = sums[i] + (t->conv.long_bias != NULL ? t->long_bias[o] : c->bias != NULL ? t->bias[o] : 0);
        int32_t v = t->conv.is_long ? nuc_requantize_long(sum, m) : nuc_requantize((int32_t)(uint32_t)sum, m);
        t->expected[i] = (int16_t)nuc_clamp_i32(v, c->rescale.low, c->rescale.high);
    }
    free(sums);
}

static void test_convolutions(void **unused)
{
    static nuc_conv_s16_fn *const kernels[] = {nuc_ref_conv_s16, nuc_dsp_conv_s16};

    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        struct one t = {.kind = NUC_CONV};
        random_shape(&t);
        fill(&t);
        expect(&t);
        for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
            memset(t.out, 0x55, t.n_out * sizeof *t.out);
            kernels[k](&t.conv, t.kind, t.in, t.weight, t.out);
            if (memcmp(t.out, t.expected, t.n_out * sizeof *t.out) != 0)
                fail_msg("round %d, kind %d, kernel %zu", round, (int)t.kind, k);
        }
        free(t.in);
        free(t.out);
        free(t.expected);
        free(t.weight);
        free(t.multipliers);
        free(t.shifts);
        free(t.bias);
        free(t.long_bias);
    }
}

/* Halves go up, the largest multiplier stays one of 15 bits. */
static void test_long_requantization(void **unused)
{
    static const struct {
        int64_t sum;
        struct nuc_multiplier m;
        int32_t expected;
    } rows[] = {
        {3, {1 << 30, 0}, 2},
        {-3, {1 << 30, 0}, -1},
        {1, {INT32_MAX, 7}, 128},
        {32768, {INT32_MAX, 0}, 32767},
        {(int64_t)1 << 46, {1 << 30, -31}, 1 << 14},
        {-((int64_t)1 << 46) - 1, {1 << 30, -31}, -(1 << 14)},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(nuc_requantize_long(rows[i].sum, rows[i].m), rows[i].expected);
}

static struct nuc_multiplier any_multiplier(void)
{
    static const int32_t edges[] = {0, 1 << 30, INT32_MAX};
    int32_t m = number(0, 3) == 0 ? edges[number(0, 2)] : number(1 << 30, INT32_MAX - 1);

    return (struct nuc_multiplier){m, number(0, 1) == 0 ? number(-31, 4) : number(-18, 0)};
}

/* Mostly numbers from end to end, some of them the ends. */
static void any_values(int16_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] =
            number(0, 4) == 0 ? (number(0, 1) == 0 ? INT16_MIN : INT16_MAX) : (int16_t)number(INT16_MIN, INT16_MAX);
}

static int32_t rescaled(int64_t v, struct nuc_multiplier m)
{
    return nuc_requantize((int32_t)(uint32_t)(uint64_t)v, m);
}

/* Kernels that rescale in one step give what the two-step rounding does. */
static void test_rescaling(void **unused)
{
    enum { COUNT = 40 };

    (void)unused;
    for (int round = 0; round < 20 * ROUNDS; round++) {
        const struct nuc_loops loops = {1, {COUNT}, {1}, {1}, {1}};
        const struct nuc_multiplier m = any_multiplier(), n = any_multiplier(), l = any_multiplier();
        const int32_t low = number(INT16_MIN, 0), high = number(0, INT16_MAX), sign = number(0, 1) * 2 - 1;
        const struct nuc_add_s8 add = {.a = m, .b = {n.multiplier * sign, n.shift}, .sum = l, .low = low, .high = high};
        const struct nuc_mul_s8 mul = {.product = m, .low = low, .high = high};
        const enum nuc_dtype types[] = {NUC_I8, NUC_I16};
        struct nuc_requantize to = {types[number(0, 1)], types[number(0, 1)], number(-3, 3), number(-3, 3), 0, 0, m};
        int16_t a[COUNT], b[COUNT], sum[COUNT], product[COUNT], changed[COUNT];
        to.low = number(-128, 0);
        to.high = number(0, 127);
        any_values(a, COUNT);
        any_values(b, COUNT);
        nuc_kernel_add_s16(&add, &loops, a, b, sum);
        nuc_kernel_mul_s16(&mul, &loops, a, b, product);
        nuc_kernel_requantize(&to, a, changed, COUNT);
        for (int i = 0; i < COUNT; i++) {
            uint32_t right = (uint32_t)rescaled((int64_t)b[i] * 32768, n);
            uint32_t both = (uint32_t)rescaled((int64_t)a[i] * 32768, m) + (sign < 0 ? 0 - right : right);
            int32_t x = to.from == NUC_I8 ? ((const int8_t *)a)[i] : a[i];
            int32_t y = to.to == NUC_I8 ? ((const int8_t *)changed)[i] : changed[i];
            assert_int_equal(sum[i], nuc_clamp_i32(rescaled((int32_t)both, l), low, high));
            assert_int_equal(product[i], nuc_clamp_i32(rescaled(a[i] * b[i], m), low, high));
            assert_int_equal(y,
                             nuc_clamp_i32(nuc_wrap_add(rescaled(x - to.zero_from, m), to.zero_to), to.low, to.high));
        }
    }
}

static int32_t interpolated(const int16_t *table, int32_t v)
{
    int32_t at = 256 + (v >> 7);

    return (int16_t)(table[at] + (((int16_t)(table[at + 1] - table[at]) * (v & 127) + 64) >> 7));
}

/* As LiteRT Micro's reference kernel computes it. */
static void test_softmax(void **unused)
{
    int16_t exponentials[513], reciprocals[513];

    (void)unused;
    for (int i = 0; i < 513; i++) {
        exponentials[i] = (int16_t)lround(32767 * exp((i - 512) * 10.0 / 512));
        reciprocals[i] = (int16_t)lround(32767 / (1 + i / 512.0));
    }
    for (int round = 0; round < ROUNDS; round++) {
        int16_t in[50], out[50], of_row[50];
        struct nuc_softmax_s16 s = {1, number(1, 50), exponentials, reciprocals, any_multiplier()};
        s.m.shift = number(-20, 3);
        int32_t largest = INT16_MIN, sum = 0, bits = 0;
        any_values(in, 50);
        nuc_kernel_softmax_s16(&s, in, out);
        for (int i = 0; i < s.size; i++)
            largest = in[i] > largest ? in[i] : largest;
        for (int i = 0; i < s.size; i++) {
            int64_t v = (int64_t)rescaled(in[i] - largest, s.m) + INT16_MAX;
            of_row[i] = (int16_t)interpolated(exponentials, v < INT16_MIN ? INT16_MIN : (int32_t)v);
            sum += of_row[i];
        }
        while (bits < 29 && sum << bits < 1 << 30)
            bits++;
        int64_t x = ((((int64_t)sum << bits) + (1 << 13)) >> 14) - (1 << 15) - (1 << 16);
        int64_t scale = interpolated(reciprocals, x > INT16_MAX ? INT16_MAX : (int32_t)x);
        for (int i = 0; i < s.size; i++)
            assert_int_equal(out[i],
                             fmin(INT16_MAX, (double)((of_row[i] * scale + (1 << (29 - bits))) >> (30 - bits))));
    }
}

/* A line between the results of a table: both forms have x / 2 in steps of 1 / 2, and 1 at 0. */
static void test_functions(void **unused)
{
    int32_t even[NUC_EVEN], octaves[2 * NUC_OCTAVES];
    int16_t out[4];
    const int16_t in[4] = {INT16_MIN, -1, 1, INT16_MAX};

    (void)unused;
    for (int32_t i = 0; i < NUC_EVEN; i++)
        even[i] = nuc_even_number(i) / 2;
    for (int32_t i = 0; i < 2 * NUC_OCTAVES; i++)
        octaves[i] = nuc_octave_number(i) / 2;
    for (int32_t q = INT16_MIN; q <= INT16_MAX; q++) {
        assert_true(abs(2 * nuc_even_value(even, q) - q) <= 1);
        assert_true(abs(2 * nuc_octave_value(octaves, q) - q) <= 2);
    }
    nuc_kernel_function_s16(even, true, in, out, 4);
    assert_memory_equal(out, ((const int16_t[]){-16384, 0, 1, 16384}), sizeof out);
    even[512] = 40000; /* a line leads out of int16 */
    nuc_kernel_function_s16(even, true, in, out, 4);
    assert_int_equal(out[3], INT16_MAX);
    octaves[0] = 7;
    octaves[1] = 100;
    octaves[NUC_OCTAVES] = -9;
    nuc_kernel_function_s16(octaves, false, in, out, 4);
    assert_memory_equal(out, ((const int16_t[]){-16383, -9, 100, 16384}), sizeof out);
}

RUN_TESTS(cmocka_unit_test(test_convolutions), cmocka_unit_test(test_long_requantization),
          cmocka_unit_test(test_rescaling), cmocka_unit_test(test_softmax), cmocka_unit_test(test_functions))
