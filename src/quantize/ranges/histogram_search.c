/*
 * The search for the range with the least L2 error: outliers are cut off in steps of 1e-5 of the distribution, on the
 * side where a step frees more bins, until the error grows. It follows NormMinimization::NonlinearQuantization-
 * ParamsSearch of caffe2, which torchao's HistogramObserver follows too.
 */
#include <math.h>

#include "host/clones.h"
#include "quantize/ranges/histogram.h"

#define BINS NUC_HISTOGRAM_BINS

/* Quantized values a range is divided into: 2 to the bits of int8. */
#define LEVELS 256

#define STEP 1e-5

/* What stays the same during a search. */
struct search {
    double bin_width;
    float density[BINS]; /* count / bin width */
    float below[BINS];   /* count in this bin and all before it */
    double total;
    int32_t n_filled;
    int32_t filled[BINS]; /* bins whose error has to be computed: that of an empty one is 0 */
};

/* A range of bins as the loop over bins needs it: every quantity rounded to float32 where torch rounds it. */
struct candidate {
    int32_t start; /* first bin */
    float bin_width;
    float level; /* width of a quantized level */
    float half_level;
    double inverse; /* of `level`, see level_of() */
};

static inline float cube(float x)
{
    return x * x * x;
}

/* Integral of x^2 from `begin` to `end`. */
static float square_integral(float begin, float end)
{
    return (cube(end) - cube(begin)) / 3.0f;
}

/*
 * floor(x / level) for float32 x and level, bounded to a level number. The quotient of two floats that is not an
 * integer n <= 256 but near it differs from it by 2^-33 of its size or more, so that multiplying with the inverse
 * enlarged by 2^-44 in double gives the exact floor. Truncation is floor here: negative quotients end at 0.
 */
static inline float level_of(float x, double inverse)
{
    double q = (double)x * inverse;

    q = q > 0 ? q : 0;
    q = q < LEVELS - 1 ? q : LEVELS - 1;
    return (float)(int32_t)q;
}

/* What a candidate's bins have in common. */
struct halves {
    float whole, begin, end; /* error integral of a whole level; cubes of the ends of one */
};

static inline float bin_error(const struct candidate *c, const struct halves *half, int32_t i, float density)
{
    float begin = (float)(i - c->start) * c->bin_width;
    float end = begin + c->bin_width;
    float first = level_of(begin, c->inverse);
    float last = level_of(end, c->inverse);
    float from = begin - (first + 0.5f) * c->level;
    float to = end - (last * c->level + c->half_level);
    float e = density * ((half->end - cube(from)) / 3.0f);

    e += (last - first - 1.0f) * (density * half->whole);
    e += density * ((cube(to) - half->begin) / 3.0f);
    return e;
}

/* All bins one after the other fill vectors, which is faster than a look at each of many. */
NUC_CLONES static void bin_errors(const struct candidate *c, const struct search *s, float error[BINS])
{
    const struct halves half = {square_integral(-c->half_level, c->half_level), cube(-c->half_level),
                                cube(c->half_level)};

    if (s->n_filled <= BINS / 4) {
        for (int32_t k = 0; k < s->n_filled; k++)
            error[s->filled[k]] = bin_error(c, &half, s->filled[k], s->density[s->filled[k]]);
        return;
    }
    for (int32_t i = 0; i < BINS; i++)
        error[i] = bin_error(c, &half, i, s->density[i]);
}

/* Error of quantizing with the bins start..end as range; that of each bin goes to `error`, zeroed at first. */
static float range_error(const struct search *s, int32_t start, int32_t end, float error[BINS])
{
    double level = s->bin_width * (double)(end - start + 1) / LEVELS;

    if (level == 0)
        return 0;
    struct candidate c = {
        .start = start,
        .bin_width = (float)s->bin_width,
        .level = (float)level,
        .half_level = (float)(level / 2),
        .inverse = 1 / (double)(float)level * (1 + 0x1p-44),
    };
    bin_errors(&c, s, error);
    return nuc_histogram_sum(error);
}

/* Cubes of numbers within ranges of this width are finite, so that the error of an empty bin is nothing. */
#define FINITE_CUBES 0x1p40f

void nuc_histogram_search(const struct nuc_histogram *h, float *min, float *max)
{
    struct search s;
    float errors[BINS] = {0};
    double alpha = 0, beta = 1;
    int32_t start = 0, end = BINS - 1;
    float least = INFINITY;

    *min = h->min;
    *max = h->max;
    if (!isfinite(h->max - h->min))
        return;
    bool is_finite = h->max - h->min < FINITE_CUBES && (float)(((double)h->max - (double)h->min) / BINS) > 0;
    double sum = 0;
    s.n_filled = 0;
    s.bin_width = ((double)h->max - (double)h->min) / BINS;
    s.total = (double)nuc_histogram_sum(h->bins);
    for (int32_t i = 0; i < BINS; i++) {
        sum += (double)h->bins[i];
        s.below[i] = (float)sum;
        s.density[i] = h->bins[i] / (float)s.bin_width;
        if (h->bins[i] > 0 || !is_finite)
            s.filled[s.n_filled++] = i;
    }
    while (alpha < beta) {
        double next_alpha = alpha + STEP, next_beta = beta - STEP;
        float low = (float)(next_alpha * s.total), high = (float)(next_beta * s.total);
        int32_t l = start, r = end, next_start = start, next_end = end;
        while (l < end && s.below[l] < low)
            l++;
        while (r > start && s.below[r] > high)
            r--;
        if (l - start > end - r) {
            next_start = l;
            alpha = next_alpha;
        } else {
            next_end = r;
            beta = next_beta;
        }
        if (next_start == start && next_end == end)
            continue;
        float error = range_error(&s, next_start, next_end, errors);
        if (error > least)
            break;
        least = error;
        start = next_start;
        end = next_end;
    }
    float bin_width = (h->max - h->min) / (float)BINS;
    *min = h->min + bin_width * (float)start;
    *max = h->min + bin_width * (float)(end + 1);
}
