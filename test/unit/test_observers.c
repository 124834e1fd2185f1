/*
 * Observers against values derived without them. The histogram cases were computed by a numpy program that writes
 * torchao's HistogramObserver down in whole-array float32 operations (np.bincount for torch.histc, np.searchsorted
 * for torch.bucketize, np.floor_divide, sums in the order of torch.sum), on the data of samples() below; all numbers
 * of a case are exact, as hexadecimal floats.
 */
#include "contexts.h"

#include <math.h>

#include "quantize/quant_patterns.h"
#include "quantize/ranges/observer.h"

#define MAX_SAMPLES 20000

static double uniform(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 16) / 65536;
}

/* amplitude * t^power with t = u + u + u - 1.5, u uniform in [0, 1): exact in double, then rounded once. */
static void samples(uint32_t seed, size_t count, double amplitude, int power, float *out)
{
    for (size_t i = 0; i < count; i++) {
        double t = uniform(&seed);
        t += uniform(&seed);
        t += uniform(&seed);
        t = (t - 1.5) * amplitude;
        double x = t;
        for (int k = 1; k < power; k++)
            x *= t;
        out[i] = (float)x;
    }
}

static const struct nuc_qspec activation = {
    .kind = NUC_QSPEC_OBSERVED,
    .observer = NUC_OBSERVER_HISTOGRAM,
    .dtype = NUC_I8,
    .quant_min = -128,
    .quant_max = 127,
    .scheme = NUC_PER_TENSOR_AFFINE,
    .ch_axis = -1,
    .eps = 0x1p-12f,
    .least = 0x1p-12f,
};

struct expected {
    float min, max, sum;
    int bin; /* a bin, and what is in it and in two others */
    float in_bin, in_700, in_1300;
    float low, high; /* the range found */
    float scale;
    int64_t zero_point;
};

static void show(struct nuc_context *cx, struct nuc_observer *o, const float *x, int64_t count)
{
    struct nuc_meta meta = nuc_meta_make(NUC_F32, &count, 1);
    struct nuc_seen_values values = {.x = x, .count = (size_t)count};

    assert_true(nuc_observer_see(cx, o, &meta, &values));
}

static void check(struct nuc_context *cx, struct nuc_observer *o, const struct expected *e)
{
    struct nuc_histogram h;
    float low, high;

    assert_true(o->seen);
    assert_true(o->min[0] == e->min);
    assert_true(o->max[0] == e->max);
    nuc_histogram_take(o->histogram, &h);
    assert_true(nuc_histogram_sum(h.bins) == e->sum);
    assert_true(h.bins[e->bin] == e->in_bin && h.bins[700] == e->in_700 && h.bins[1300] == e->in_1300);
    nuc_histogram_search(&h, &low, &high);
    assert_true(low == e->low);
    assert_true(high == e->high);
    nuc_observer_parameters(cx, o);
    assert_true(o->scale[0] == e->scale);
    assert_int_equal(o->zero_point[0], e->zero_point);
}

/* The first sample, one with a wider range, one inside the range. */
static void histogram_follows_samples(void **state)
{
    static const struct expected steps[] = {
        {-0x1.5fdp+0f, 0x1.5809p+0f, 3000, 1026, 9, 0, 1, -0x1.5fdp+0f, 0x1.508f6cp+0f, 0x1.59894p-7f, 2},
        {-0x1.23b4ep+1f, 0x1.3d9d6p+1f, 6000, 1019, 0x1.0dp+4f, 0x1.ep+1f, 0x1.16p+3f, -0x1.23b4ep+1f, 0x1.3d5134p+1f,
         0x1.31b4bep-6f, -6},
        {-0x1.23b4ep+1f, 0x1.3d9d6p+1f, 9000, 984, 0x1.a8p+4f, 0x1.3p+2f, 0x1.36p+3f, -0x1.23b4ep+1f, 0x1.3d5134p+1f,
         0x1.31b4bep-6f, -6},
    };
    static const double amplitudes[] = {1, 1.75, 0.875};
    struct nuc_context *cx = *state;
    struct nuc_observer *o = nuc_observer_new(cx, &activation);
    float x[3000];

    for (uint32_t i = 0; i < 3; i++) {
        samples(i + 1, 3000, amplitudes[i], 1, x);
        show(cx, o, x, 3000);
        check(cx, o, &steps[i]);
    }
}

/* Long tails: the search cuts 233 bins off, then, with more data, 88. */
static void search_cuts_outliers(void **state)
{
    static const struct expected steps[] = {
        {-0x1.617876p+2f, 0x1.b2678ep+2f, 20000, 918, 0x1.108p+13f, 1, 2, -0x1.617876p+2f, 0x1.58c4b2p+2f,
         0x1.5e7d12p-5f, 1},
        {-0x1.73e988p+2f, 0x1.b2678ep+2f, 40000, 944, 0x1.fd4c8p+13f, 0x1.dp+1f, 0.5f, -0x1.73e988p+2f, 0x1.8fc214p+2f,
         0x1.835928p-5f, -5},
    };
    struct nuc_context *cx = *state;
    struct nuc_observer *o = nuc_observer_new(cx, &activation);
    float *x = nuc_alloc_array(cx, MAX_SAMPLES, sizeof *x);

    for (uint32_t i = 0; i < 2; i++) {
        samples(i + 7, MAX_SAMPLES, 1, 5, x);
        show(cx, o, x, MAX_SAMPLES);
        check(cx, o, &steps[i]);
    }
}

/* What a ReLU leaves: half of all values in the first bin. */
static void histogram_of_relu(void **state)
{
    static const struct expected steps[] = {
        {0, 0x1.693bp+0f, 4000, 0, 0x1.ef8p+10f, 0, 1, 0, 0x1.690dd8p+0f, 0x1.6a785p-8f, -128},
        {0, 0x1.0b45p+1f, 8000, 0, 0x1.ed8p+11f, 0x1.6p+0f, 0, 0, 0x1.0b2398p+1f, 0x1.0c2fc8p-7f, -128},
    };
    struct nuc_context *cx = *state;
    struct nuc_observer *o = nuc_observer_new(cx, &activation);
    float x[4000];

    for (uint32_t i = 0; i < 2; i++) {
        samples(i + 5, 4000, i == 0 ? 1 : 1.5, 1, x);
        for (size_t k = 0; k < 4000; k++)
            x[k] = x[k] > 0 ? x[k] : 0;
        show(cx, o, x, 4000);
        check(cx, o, &steps[i]);
    }
}

/* All values equal: torch.histc counts them in the middle of a range of width 2; joined, they go where they lie. */
static void histogram_of_one_value(void **state)
{
    static const struct expected steps[] = {
        {2, 2, 100, 1024, 100, 0, 0, 2, 2, 0x1.010102p-7f, -128},
        {-0x1.32fp+0f, 2, 600, 2047, 100, 0, 0, -0x1.32fp+0f, 0x1.ff99ap+0f, 0x1.9adfbp-7f, -32},
    };
    struct nuc_context *cx = *state;
    struct nuc_observer *o = nuc_observer_new(cx, &activation);
    float x[500];

    for (size_t i = 0; i < 100; i++)
        x[i] = 2;
    show(cx, o, x, 100);
    check(cx, o, &steps[0]);
    samples(4, 500, 1, 1, x);
    show(cx, o, x, 500);
    check(cx, o, &steps[1]);
}

static void check_equal(const struct nuc_observer *a, const struct nuc_observer *b)
{
    struct nuc_histogram of_a, of_b;

    nuc_histogram_take(a->histogram, &of_a);
    nuc_histogram_take(b->histogram, &of_b);
    assert_true(of_a.seen == of_b.seen && of_a.min == of_b.min && of_a.max == of_b.max);
    assert_memory_equal(of_a.bins, of_b.bins, sizeof of_a.bins);
}

/* Infinities are as if they were not there, a NaN is refused without a trace. */
static void infinities_are_left_out(void **state)
{
    struct nuc_context *cx = *state;
    struct nuc_observer *with = nuc_observer_new(cx, &activation), *without = nuc_observer_new(cx, &activation);
    float x[1003], finite[1000];
    int64_t count = 1003;
    struct nuc_meta meta = nuc_meta_make(NUC_F32, &count, 1);

    samples(9, 1000, 1, 1, finite);
    memcpy(x, finite, sizeof finite);
    x[1000] = x[17];
    x[17] = -INFINITY;
    x[1001] = x[1002] = INFINITY;
    show(cx, with, x, 1003);
    show(cx, without, finite, 1000);
    check_equal(with, without);
    x[600] = NAN;
    struct nuc_seen_values values = {.x = x, .count = (size_t)nuc_elements(&meta)};
    assert_false(nuc_observer_see(cx, with, &meta, &values));
    check_equal(with, without);
    for (size_t i = 0; i < 1003; i++)
        x[i] = INFINITY;
    show(cx, with, x, 1003);
    check_equal(with, without);
}

/* What is kept of a histogram is all of it, however many bins hold something, and whatever was kept before. */
static void histograms_are_kept(void **state)
{
    static const uint32_t every[] = {2048, 700, 65, 1, 3, 64, 2};
    struct nuc_context *cx = *state;
    struct nuc_kept_histogram kept = {.seen = false};
    struct nuc_histogram h, back;

    nuc_histogram_take(&kept, &back);
    memset(&h, 0, sizeof h);
    assert_false(back.seen);
    assert_memory_equal(back.bins, h.bins, sizeof h.bins);
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        memset(&h, 0, sizeof h);
        h.seen = true;
        h.min = -(float)i;
        h.max = (float)i + 1;
        for (uint32_t b = every[i] / 2; b < NUC_HISTOGRAM_BINS; b += every[i])
            h.bins[b] = (float)b + 0.0625f;
        nuc_histogram_keep(cx, cx->arena, &kept, &h);
        assert_int_equal(kept.count, NUC_HISTOGRAM_BINS / every[i] + (NUC_HISTOGRAM_BINS % every[i] > every[i] / 2));
        nuc_histogram_take(&kept, &back);
        assert_true(back.seen && back.min == h.min && back.max == h.max);
        assert_memory_equal(back.bins, h.bins, sizeof h.bins);
    }
}

static void never_seen(void **state)
{
    struct nuc_context *cx = *state;
    struct nuc_observer *o = nuc_observer_new(cx, &activation);

    show(cx, o, &(float){INFINITY}, 1);
    nuc_observer_parameters(cx, o);
    assert_false(o->seen);
    assert_true(o->scale[0] == 1);
    assert_int_equal(o->zero_point[0], 0);
}

/* ---- ranges ---- */

/* Scale and zero point by hand: scale = (max - min) / 255, zero point = -128 - round(min / scale), half to even. */
static void affine_parameters(void **state)
{
    static const struct {
        float x[2];
        float scale;
        int64_t zero_point;
    } cases[] = {
        {{-1, 1}, 2.0f / 255, -1},           /* the float nearest to 2/255 is greater: 1 / scale < 127.5 */
        {{-3, 0.1875f}, 3.1875f / 255, 112}, /* scale 1/80: -128 + 240 */
        {{0.5f, 2.55f}, 2.55f / 255, -128},  /* the range reaches down to 0 */
        {{-2.55f, -0.5f}, 2.55f / 255, 127}, /* and up to 0 */
        {{0, 0}, 0x1p-12f, -128},            /* no smaller scale than eps */
        {{-0x1p-13f, 0}, 0x1p-12f, -128},    /* round(-0.5) = 0 */
        {{-0x1.8p-12f, 0}, 0x1p-12f, -126},  /* round(-1.5) = -2 */
    };
    struct nuc_qspec spec = activation;
    struct nuc_context *cx = *state;

    spec.observer = NUC_OBSERVER_MIN_MAX;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nuc_observer *o = nuc_observer_new(cx, &spec);
        show(cx, o, &cases[i].x[0], 1);
        show(cx, o, &cases[i].x[1], 1);
        nuc_observer_parameters(cx, o);
        assert_true(o->min[0] == cases[i].x[0] && o->max[0] == cases[i].x[1]);
        assert_true(o->scale[0] == cases[i].scale);
        assert_int_equal(o->zero_point[0], cases[i].zero_point);
    }
}

/* Where smaller scales are allowed, eps is that of zeros alone. */
static void tiny_values_have_tiny_scales(void **state)
{
    static const float x[] = {0, 0x1p-40f};
    struct nuc_qspec spec = activation;

    spec.observer = NUC_OBSERVER_MIN_MAX;
    spec.least = 0x1p-60f;
    for (size_t i = 0; i < 2; i++) {
        struct nuc_observer *o = nuc_observer_new(*state, &spec);
        show(*state, o, &x[i], 1);
        nuc_observer_parameters(*state, o);
        assert_true(o->scale[0] == (i == 0 ? 0x1p-12f : 0x1p-40f / 255));
    }
}

/* Weights [3, 2, 2] along each axis: the largest magnitude of a slice over 127. */
static void symmetric_per_channel(void **state)
{
    static const float w[12] = {1, -2, 3, 0.5f, 0, 0, 0, 0, -7, 6, 5, 6.5f};
    static const float largest[3][3] = {{3, 0, 7}, {7, 6.5f, 0}, {7, 6.5f, 0}};
    static const int channels[3] = {3, 2, 2};
    const int64_t sizes[] = {3, 2, 2};
    struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, 3);
    struct nuc_qspec spec = {.kind = NUC_QSPEC_OBSERVED,
                             .observer = NUC_OBSERVER_PER_CHANNEL_MIN_MAX,
                             .dtype = NUC_I8,
                             .quant_min = -127,
                             .quant_max = 127,
                             .scheme = NUC_PER_CHANNEL_SYMMETRIC,
                             .eps = 0x1p-23f,
                             .least = 0x1p-23f};
    struct nuc_context *cx = *state;

    for (int axis = 0; axis < 3; axis++) {
        spec.ch_axis = axis;
        struct nuc_observer *o = nuc_observer_new(cx, &spec);
        struct nuc_seen_values values = {.x = w, .count = (size_t)nuc_elements(&meta)};
        assert_true(nuc_observer_see(cx, o, &meta, &values));
        nuc_observer_parameters(cx, o);
        assert_int_equal(o->n, channels[axis]);
        for (int i = 0; i < channels[axis]; i++) {
            assert_true(o->scale[i] == (largest[axis][i] > 0 ? largest[axis][i] / 127 : 0x1p-23f));
            assert_int_equal(o->zero_point[i], 0);
        }
    }
}

/* Of the CPU: 127.5 steps where there are both signs, as the reference always has; else all on one side of 0. */
static void weights_of_one_sign_keep_their_largest(void **state)
{
    static const float w[8] = {0.25f, 1, -2, -1, -3, 2, 0, 0};
    static const float scales[2][4] = {{1.0f / 127, 2.0f / 128, 3 / 127.5f, 0x1p-23f},
                                       {1 / 127.5f, 2 / 127.5f, 3 / 127.5f, 0x1p-23f}};
    const int64_t sizes[] = {4, 2};
    struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, 2);
    struct nuc_qspec specs[NUC_SPEC_COUNT];

    for (int reference = 0; reference < 2; reference++) {
        const struct nuc_quantize_options options = {.reference_compat = reference != 0};
        nuc_specs(NUC_SIDE_CPU, &options, specs);
        struct nuc_observer *o = nuc_observer_new(*state, &specs[NUC_SPEC_WEIGHT_AXIS_0]);
        assert_true(nuc_observer_see(*state, o, &meta, &(struct nuc_seen_values){.x = w, .count = 8}));
        nuc_observer_parameters(*state, o);
        for (int i = 0; i < 4; i++)
            assert_true(o->scale[i] == scales[reference][i]);
    }
}

/* Steps of a power of two, which hold each of them; in the middle of the range where there are both signs. */
static void whole_numbers_stay_what_they_are(void **state)
{
    static const struct {
        float x[4], scale;
        int64_t zero_point;
    } rows[] = {{{-1, 1, 1, -1}, 0x1p-6f, 0},       {{0, 3, 5, 1}, 0x1p-5f, -128}, {{-3, 0, 2, 3}, 0x1p-5f, 0},
                {{0, 1, 1, 0}, 1.0f / 255, -128},   {{0, 255, 3, 4}, 1, -128},     {{0, 510, 3, 4}, 2, -128},
                {{0, 3.5f, 5, 1}, 5.0f / 255, -128}};
    const int64_t count = 4;
    struct nuc_meta meta = nuc_meta_make(NUC_F32, &count, 1);
    struct nuc_qspec spec = activation;

    spec.observer = NUC_OBSERVER_AUTO;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nuc_observer *o = nuc_observer_new(*state, &spec);
        assert_true(nuc_observer_see(*state, o, &meta, &(struct nuc_seen_values){.x = rows[i].x, .count = 4}));
        nuc_observer_parameters(*state, o);
        assert_true(o->scale[0] == rows[i].scale);
        assert_int_equal(o->zero_point[0], rows[i].zero_point);
    }
}

/* Every length around the number of lanes, with the extreme at every place. */
static void min_max_finds_every_place(void **state)
{
    float x[40], min, max;

    for (size_t count = 1; count <= 40; count++) {
        for (size_t at = 0; at < count; at++) {
            for (size_t i = 0; i < count; i++)
                x[i] = (float)(i % 5);
            x[at] = -1;
            assert_true(nuc_min_max(x, count, &min, &max));
            assert_true(min == -1);
            x[at] = 9;
            assert_true(nuc_min_max(x, count, &min, &max));
            assert_true(max == 9);
            x[at] = NAN;
            assert_false(nuc_min_max(x, count, &min, &max));
        }
    }
}

/* ---- ranges beyond what was seen ---- */

static const struct nuc_range unbounded = {-INFINITY, INFINITY};

/* Samples of `count` values; each value a sum of twelve uniform ones less 6, normally distributed within 6. */
static void see_normal(struct nuc_context *cx, uint32_t n_samples, size_t count, struct nuc_extremes *e)
{
    uint32_t state = 7;

    for (uint32_t s = 1; s <= n_samples; s++) {
        for (size_t i = 0; i < count; i++) {
            double x = -6;
            for (int k = 0; k < 12; k++)
                x += uniform(&state);
            nuc_extremes_add(cx, e, s, (struct nuc_range){(float)x, (float)x}, unbounded, 1);
        }
    }
}

static float highest(const struct nuc_extremes *e)
{
    float most = e->max[0];

    for (uint32_t i = 1; i < e->n_samples; i++)
        most = e->max[i] > most ? e->max[i] : most;
    return most;
}

/* 16 times 8 of normally distributed values end below 2.9 here; one of 10,000 is beyond 3.9. */
static void few_values_leave_room(void **state)
{
    struct nuc_extremes e = {.n_samples = 0};
    float min = -2, max = 2;

    see_normal(*state, 16, 8, &e);
    assert_true(highest(&e) < 2.9f);
    nuc_extremes_widen(&e, 0, 255, &min, &max);
    assert_true(max > 3.1f && max < 5);
    assert_true(min < -3.1f && min > -5);
}

/* Of two tensors the wider bounds count. */
static void no_room_beyond_bounds(void **state)
{
    struct nuc_extremes e = {.n_samples = 0};
    float min = -2, max = 2;

    see_normal(*state, 16, 8, &e);
    e.bounds = (struct nuc_range){-2.5f, 2.5f};
    nuc_extremes_add(*state, &e, 16, (struct nuc_range){0, 0}, (struct nuc_range){-1, 3}, 1);
    nuc_extremes_widen(&e, 0, 255, &min, &max);
    assert_true(max == 3 && min == -2.5f);
}

/* Where nothing else would move an end, a reach does: to the mean of the samples' ends and so many spreads of them. */
static void a_reach_goes_beyond_many_values(void **state)
{
    struct nuc_extremes e = {.n_samples = 0};
    float min = 0, max = 14;

    for (uint32_t i = 0; i < 5; i++) /* ends 10 .. 14: mean 12, deviation sqrt(2.5) */
        nuc_extremes_add(*state, &e, i, (struct nuc_range){0, 10 + (float)i}, unbounded, 1 << 20);
    nuc_extremes_widen(&e, 4, 255, &min, &max);
    assert_true(fabs((double)max - (12 + 4 * sqrt(6 * 2.5) / 3.14159265)) < 1e-3);
    assert_true(min == 0);
    max = 14;
    nuc_extremes_widen(&e, 0, 255, &min, &max);
    assert_true(max == 14);
}

/*
 * Ends whose excesses beyond their mean, 2, are as an exponential distribution's; with one value a sample the end would
 * be farther than one and a half mean excesses, 1.25, beyond the largest: there it stays. Fewer show no tail.
 */
static void long_tails_reach_farther(void **state)
{
    static const float ends[] = {0.5f, 0.75f, 1, 1.25f, 1.25f, 1.5f, 1.5f, 2.125f, 2.25f, 2.5f, 3.25f, 6.125f};
    struct nuc_extremes e = {.n_samples = 0}, few = {.n_samples = 0};
    float min = 0, max = 6.125f, seen = 6.125f;

    for (uint32_t i = 0; i < 12; i++)
        nuc_extremes_add(*state, &e, i, (struct nuc_range){0, ends[i]}, unbounded, 1);
    nuc_extremes_follow_tails(&e, 255, &min, &max);
    assert_true(fabs((double)max - (6.125 + 1.5 * 1.25)) < 1e-5);
    for (uint32_t i = 4; i < 12; i++)
        nuc_extremes_add(*state, &few, i, (struct nuc_range){0, ends[i]}, unbounded, 1);
    nuc_extremes_follow_tails(&few, 255, &min, &seen);
    assert_true(min == 0 && seen == 6.125f);
}

static void many_values_leave_none(void **state)
{
    struct nuc_extremes e = {.n_samples = 0};
    float min = -3, max = 3;

    see_normal(*state, 8, 40000, &e);
    nuc_extremes_widen(&e, 0, 255, &min, &max);
    assert_true(max == 3 && min == -3);
}

/* Two samples end at 1, all begin at 0: these are bounds. Two samples alone say nothing. */
static void bounds_stay(void **state)
{
    static const float ends[] = {0.5f, 1, 0.25f, 0.9f, 1, 0.1f};
    struct nuc_extremes e = {.n_samples = 0}, two = {.n_samples = 0};
    float min = 0, max = 1;

    for (uint32_t i = 0; i < 6; i++)
        nuc_extremes_add(*state, &e, i + 1, (struct nuc_range){0, ends[i]}, unbounded, 4);
    nuc_extremes_widen(&e, 0, 255, &min, &max);
    assert_true(min == 0 && max == 1);
    nuc_extremes_add(*state, &two, 1, (struct nuc_range){-1, 0.5f}, unbounded, 4);
    nuc_extremes_add(*state, &two, 2, (struct nuc_range){-2, 1}, unbounded, 4);
    nuc_extremes_widen(&two, 0, 255, &min, &max);
    assert_true(min == 0 && max == 1);
}

/*
 * Values are counted while their range is looked for, in the range of those before: the same as where it was looked for
 * first, whether they lie in it or not.
 */
static void counting_does_not_wait_for_the_range(void **state)
{
    enum { COUNT = 40000 };
    static const float odd[] = {0.25f, 9.0f, -9.0f, INFINITY, NAN};
    float *x = test_malloc(COUNT * sizeof *x);

    for (size_t i = 0; i < 2 * sizeof odd / sizeof *odd; i++) {
        struct nuc_histogram first = {.seen = false}, then;
        size_t count = i % 2 == 0 ? COUNT : 3000;
        samples(9, COUNT, 1, 1, x);
        assert_true(nuc_histogram_add(&first, &(struct nuc_seen_values){.x = x, .count = COUNT}));
        then = first;
        samples((uint32_t)i, count, 0.9, 1, x);
        x[count - 7] = odd[i / 2];
        struct nuc_seen_values known = {.x = x, .count = count}, open = known;
        bool is_number = nuc_seen_range(&known);
        assert_true(nuc_histogram_add(&first, &known) == is_number);
        assert_true(nuc_histogram_add(&then, &open) == is_number);
        assert_true(open.has_range && open.has_nan == known.has_nan);
        assert_true(!is_number || (open.min == known.min && open.max == known.max));
        assert_memory_equal(&first, &then, sizeof first);
    }
    test_free(x);
}

RUN_TESTS(cmocka_unit_test(counting_does_not_wait_for_the_range), STATE_TEST(histogram_follows_samples),
          STATE_TEST(search_cuts_outliers), STATE_TEST(histogram_of_relu), STATE_TEST(histogram_of_one_value),
          STATE_TEST(histograms_are_kept), STATE_TEST(infinities_are_left_out), STATE_TEST(never_seen),
          STATE_TEST(affine_parameters), STATE_TEST(tiny_values_have_tiny_scales), STATE_TEST(symmetric_per_channel),
          STATE_TEST(weights_of_one_sign_keep_their_largest), STATE_TEST(whole_numbers_stay_what_they_are),
          STATE_TEST(min_max_finds_every_place), STATE_TEST(few_values_leave_room),
          STATE_TEST(long_tails_reach_farther), STATE_TEST(many_values_leave_none), STATE_TEST(bounds_stay),
          STATE_TEST(a_reach_goes_beyond_many_values), STATE_TEST(no_room_beyond_bounds))
