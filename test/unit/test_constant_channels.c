/* Channels that are one value for every input: which are found, and what becomes of them. */
#include "contexts.h"

#include "algorithms/constant_channels.h"

#define TAPS 2

/* A layer of one channel, and another one after it in memory that stays. */
struct channel {
    int8_t weights[TAPS];
    int32_t bias;
    struct nuc_multiplier rescale;
    int32_t input_zero, output_zero, low, high;
    bool one_multiplier;
};

static int32_t result_of(const struct channel *k, int32_t sum)
{
    return nuc_clamp_i32(nuc_requantize(sum, k->rescale) + k->output_zero, k->low, k->high);
}

/* Inputs that make the extremes of the sum, and some in between. */
static bool same_everywhere(const struct channel *k, int32_t *value)
{
    *value = result_of(k, k->bias);
    for (int32_t a = INT8_MIN; a <= INT8_MAX; a += 5) {
        for (int32_t b = INT8_MIN; b <= INT8_MAX; b += 5) {
            int32_t sum = k->bias + k->weights[0] * (a - k->input_zero) + k->weights[1] * (b - k->input_zero);
            if (result_of(k, sum) != *value)
                return false;
        }
    }
    return true;
}

static struct nuc_channels shape_of(const struct channel *k)
{
    return (struct nuc_channels){.channels = 1,
                                 .of_group = 1,
                                 .channel_stride = TAPS,
                                 .rows = 1,
                                 .row = TAPS,
                                 .stride = 1,
                                 .input_zero = k->input_zero,
                                 .output_zero = k->output_zero,
                                 .low = k->low,
                                 .high = k->high,
                                 .one_multiplier = k->one_multiplier};
}

/* Folds the channel in its place; whether it changed. */
static bool fold(struct nuc_context *cx, struct channel *k)
{
    const struct nuc_channels shape = shape_of(k);
    struct channel before = *k;
    struct nuc_channel_constants constants = {
        .weights = before.weights, .n_weights = TAPS, .bias = &before.bias, .rescale = &k->rescale};
    bool changed = nuc_fold_constant_channels(cx, &shape, &constants) == 1;

    assert_int_equal(changed, constants.weights != before.weights);
    memcpy(k->weights, constants.weights, TAPS);
    k->bias = constants.bias[0];
    return changed;
}

static bool is_zero(const struct channel *k)
{
    return k->weights[0] == 0 && k->weights[1] == 0;
}

static struct nuc_multiplier multiplier(double scale)
{
    return nuc_multiplier_from_scale(scale);
}

static void check_folds(struct nuc_context *cx, struct channel k, int32_t value)
{
    assert_true(fold(cx, &k));
    assert_true(is_zero(&k));
    assert_int_equal(result_of(&k, k.bias), value);
    assert_true(abs(k.bias) <= 1 << 24);
    assert_true(k.rescale.shift < 0 || k.rescale.multiplier == 0);
    assert_false(fold(cx, &k));
}

/* At each end of what is constant, and one step beyond it. */
static void check_borders(struct nuc_context *cx, void *arg)
{
    /* Sums are bias + 3 x, x from 0 to 255. Both halvings round: 505 becomes 253, then 127; 504 becomes 252, then 126.
     */
    struct channel k = {{3, 0}, 0, {1 << 30, -1}, INT8_MIN, 0, -128, 127, false};
    struct channel narrow = {{0, 0}, 0, {1 << 30, -1}, INT8_MIN, 10, 10, 73, false};

    k.bias = 505;
    check_folds(cx, k, 127);
    k.bias--;
    assert_false(fold(cx, &k));
    assert_int_equal(k.weights[0], 3);
    /* Below: the largest sum is bias + 765, and -510 is the last that is clamped to -128. */
    k.bias = -510 - 765;
    check_folds(cx, k, -128);
    k.bias++;
    assert_false(fold(cx, &k));
    /* The clamp of an activation: results of 10 and below, where the zero point makes the bias 0. */
    narrow.weights[0] = 1;
    narrow.bias = -255;
    assert_true(fold(cx, &narrow));
    assert_int_equal(narrow.bias, 0);
    narrow.weights[0] = 1;
    narrow.bias = -254;
    assert_false(fold(cx, &narrow));
}

static void check_dead(struct nuc_context *cx, void *arg)
{
    struct channel k = {{0, 0}, 1 << 30, multiplier(5e-8), -3, -20, -128, 127, false};

    check_folds(cx, k, 34);
    k.weights[1] = 1;
    check_folds(cx, k, 34);
    k.bias = -k.bias;
    check_folds(cx, k, -74);
    /* One multiplier for all: the bias stays where no smaller one makes the same. */
    k = (struct channel){{0, 1}, 1 << 30, multiplier(5e-8), -3, -20, -128, 127, true};
    assert_true(fold(cx, &k) && is_zero(&k));
    assert_int_equal(result_of(&k, k.bias), 34);
    assert_true(k.bias <= 1 << 30);
    assert_false(fold(cx, &k));
    /* Sums that overflow are no proof. */
    k = (struct channel){{127, 127}, INT32_MAX - 1000, multiplier(1e-9), 0, 0, -128, 127, false};
    assert_false(fold(cx, &k));
    k = (struct channel){{0, 1}, 1 << 29, {1 << 30, 3}, 0, 0, -128, 127, false};
    assert_false(fold(cx, &k));
    /* Bounded already. */
    k = (struct channel){{0, 0}, 77, multiplier(0.01), 0, 0, -128, 127, false};
    assert_false(fold(cx, &k));
}

/* The proof is exact: of channels whose sums do not overflow those fold that are constant, and no others. */
static void check_random(struct nuc_context *cx, void *arg)
{
    int folded = 0, left = 0;

    srand(7);
    for (int i = 0; i < 3000; i++) {
        struct channel k = {.bias = rand() % 4000 - 2000,
                            .rescale = multiplier((rand() % 1000 + 1) * 1e-3 / (1 << rand() % 8)),
                            .output_zero = rand() % 256 - 128,
                            .low = rand() % 100 - 128,
                            .high = 127 - rand() % 100,
                            .one_multiplier = rand() % 2 == 0};
        k.input_zero = rand() % 52 * 5 - 128;
        k.weights[0] = (int8_t)(rand() % 9 - 4);
        k.weights[1] = (int8_t)(rand() % 3 - 1);
        struct channel after = k;
        int32_t value, now;
        bool same = same_everywhere(&k, &value), changed = fold(cx, &after);
        assert_true(same || !changed);
        assert_true(changed || !same || is_zero(&k));
        assert_true(!changed || (is_zero(&after) && same_everywhere(&after, &now) && now == value));
        folded += changed;
        left += !same;
    }
    assert_true(folded > 300 && left > 300);
}

/* Weights of a channel in several places: two groups of two channels, three rows of one weight, two apart. */
static void check_places(struct nuc_context *cx, void *arg)
{
    const struct nuc_channels shape = {.channels = 4,
                                       .of_group = 2,
                                       .group_stride = 1,
                                       .channel_stride = 6,
                                       .rows = 3,
                                       .row_stride = 2,
                                       .row = 1,
                                       .stride = 1,
                                       .input_zero = 0,
                                       .output_zero = 0,
                                       .low = -128,
                                       .high = 127};
    static const int8_t weights[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const int8_t expected[12] = {1, 0, 3, 0, 5, 0, 7, 8, 9, 10, 11, 12};
    static const int32_t bias[4] = {0, 0, 1 << 24, 0};
    struct nuc_multiplier rescale[4];
    struct nuc_channel_constants k = {weights, sizeof weights, bias, rescale};

    for (int i = 0; i < 4; i++)
        rescale[i] = multiplier(0.25);
    assert_int_equal(nuc_fold_constant_channels(cx, &shape, &k), 1);
    assert_memory_equal(k.weights, expected, sizeof expected);
    assert_true(k.bias[2] <= 1 << 10 && nuc_requantize(k.bias[2], rescale[2]) >= 127);
    k.bias = NULL;
    assert_int_equal(nuc_fold_constant_channels(cx, &shape, &k), 0);
}

RUN_TESTS(CONTEXT_TEST(check_borders), CONTEXT_TEST(check_dead), CONTEXT_TEST(check_random), CONTEXT_TEST(check_places))
