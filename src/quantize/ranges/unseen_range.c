#include "quantize/ranges/unseen_range.h"

#include <math.h>

#define LEAST_SAMPLES 3

#define EULER 0.57721566490153286
#define PI 3.14159265358979324

void nuc_join_ranges(struct nuc_range *a, struct nuc_range b)
{
    a->min = b.min < a->min ? b.min : a->min;
    a->max = b.max > a->max ? b.max : a->max;
}

void nuc_extremes_reserve(struct nuc_context *cx, struct nuc_extremes *e, uint32_t count)
{
    const size_t needed = (size_t)e->n_samples + count;

    e->sample = nuc_grow(cx, e->sample, &e->sample_capacity, needed, sizeof *e->sample);
    e->min = nuc_grow(cx, e->min, &e->min_capacity, needed, sizeof *e->min);
    e->max = nuc_grow(cx, e->max, &e->max_capacity, needed, sizeof *e->max);
}

void nuc_extremes_add(struct nuc_context *cx, struct nuc_extremes *e, uint32_t sample, struct nuc_range seen,
                      struct nuc_range bounds, size_t count)
{
    if (e->n_samples == 0)
        e->bounds = bounds;
    nuc_join_ranges(&e->bounds, bounds);
    if (e->n_samples == 0 || e->sample[e->n_samples - 1] != sample) {
        nuc_extremes_reserve(cx, e, 1);
        e->min[e->n_samples] = seen.min;
        e->max[e->n_samples] = seen.max;
        e->sample[e->n_samples++] = sample;
        e->n_values = 0;
    }
    struct nuc_range all = {e->min[e->n_samples - 1], e->max[e->n_samples - 1]};
    nuc_join_ranges(&all, seen);
    e->min[e->n_samples - 1] = all.min;
    e->max[e->n_samples - 1] = all.max;
    e->n_values += count;
}

struct nuc_extremes *nuc_extremes_shown(struct nuc_context *cx, const struct nuc_extremes *all, const bool *held_out)
{
    struct nuc_extremes *e = nuc_alloc(cx, sizeof *e);

    *e = (struct nuc_extremes){.bounds = all->bounds, .n_values = all->n_values};
    e->min = nuc_alloc_array(cx, all->n_samples, sizeof *e->min);
    e->max = nuc_alloc_array(cx, all->n_samples, sizeof *e->max);
    for (uint32_t i = 0; i < all->n_samples; i++) {
        if (held_out[all->sample[i]])
            continue;
        e->min[e->n_samples] = all->min[i];
        e->max[e->n_samples++] = all->max[i];
    }
    return e;
}

static struct nuc_range range_of(const struct nuc_extremes *e)
{
    struct nuc_range r = {e->min[0], e->max[0]};

    for (uint32_t i = 1; i < e->n_samples; i++)
        nuc_join_ranges(&r, (struct nuc_range){e->min[i], e->max[i]});
    return r;
}

void nuc_extremes_cut(const struct nuc_extremes *all, const struct nuc_extremes *shown, float *min, float *max)
{
    if (shown->n_samples == 0)
        return;
    struct nuc_range seen = range_of(all), left = range_of(shown);
    /* What goes beyond the samples is a constant's. */
    if (*min >= seen.min && *min < left.min)
        *min = left.min;
    if (*max <= seen.max && *max > left.max)
        *max = left.max;
}

/* The values of one end, one a sample, looked at such that they go upwards. */
struct end {
    const float *values;
    double sign;
    uint32_t count;
};

static double value(const struct end *e, uint32_t i)
{
    return e->sign * (double)e->values[i];
}

static double mean(const struct end *e)
{
    double sum = 0;

    for (uint32_t i = 0; i < e->count; i++)
        sum += value(e, i);
    return sum / e->count;
}

static double variance(const struct end *e, double mean)
{
    double squares = 0;

    for (uint32_t i = 0; i < e->count; i++)
        squares += (value(e, i) - mean) * (value(e, i) - mean);
    return squares / (e->count - 1);
}

/* The value that is highest; *alone: only one sample has it. */
static double highest(const struct end *e, bool *alone)
{
    double most = value(e, 0);

    *alone = true;
    for (uint32_t i = 1; i < e->count; i++) {
        if (value(e, i) >= most)
            *alone = value(e, i) > most;
        most = value(e, i) > most ? value(e, i) : most;
    }
    return most;
}

/* Where the end belongs: beyond what was seen, or there. The other end of the range is at `other`. */
static double unseen_end(const struct end *e, double center, double other, double rounding, double reach)
{
    bool alone;
    double most = highest(e, &alone), m = mean(e), b = sqrt(6 * variance(e, m)) / PI;
    double above = m - EULER * b - center, width = most - other;

    if (!alone || !(b > 0) || !(width > 0))
        return most;
    double v = b * (above > b * PI * PI / 6 ? above : b * PI * PI / 6);
    double gain = log(b / (rounding * width));
    double squares = (above > 0 ? above * above : 0) + 2 * v * gain;
    double t = squares > 0 ? center + sqrt(squares) : most;
    if (reach > 0)
        t = fmax(t, m + reach * b);
    return t > most ? t : most;
}

/* Of a range: to `above` and -`below`, where these are beyond what was seen and beyond the range. */
static void move_ends(const struct nuc_extremes *e, double above, double below, float *min, float *max)
{
    const struct nuc_range seen = range_of(e);

    if (above > (double)fmaxf(seen.max, fmaxf(*max, 0)))
        *max = fminf((float)above, e->bounds.max);
    if (-below < (double)fminf(seen.min, fminf(*min, 0)))
        *min = fmaxf((float)-below, e->bounds.min);
}

void nuc_extremes_widen(const struct nuc_extremes *e, double reach, double steps, float *min, float *max)
{
    const struct end up = {e->max, 1, e->n_samples}, down = {e->min, -1, e->n_samples};

    if (e->n_samples < LEAST_SAMPLES)
        return;
    double center = (mean(&up) - mean(&down)) / 2, rounding = (double)e->n_values / (12 * steps * steps);
    double low = *min < 0 ? (double)*min : 0, high = *max > 0 ? (double)*max : 0;
    double above = unseen_end(&up, center, low, rounding, reach);
    double below = unseen_end(&down, -center, -high, rounding, reach);
    move_ends(e, above, below, min, max);
}

/* Samples beyond their mean that tell of a tail. */
#define LEAST_OF_TAIL 5

/* Variance of the excesses of normally distributed values beyond their mean, relative to the square of their mean. */
#define SPREAD_OF_NORMAL (PI / 2 - 1)

/* Values of a sample that tails are followed of: one that is cut off is a large part of them. */
#define FEW_VALUES 64

/* Mean excesses that the end of a tail may lie beyond what was seen: one out of 4.5 n samples goes beyond these. */
#define MOST_EXCESSES 1.5

/*
 * Where the end of a tail is, or of what was seen; rounding to steps in a range of width w costs rounding * w^2.
 */
static double end_of_tail(const struct end *e, double other, double rounding)
{
    bool alone;
    const double most = highest(e, &alone), m = mean(e);
    double sum = 0, squares = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < e->count; i++) {
        const double excess = fmax(value(e, i) - m, 0);
        sum += excess;
        squares += excess * excess;
        count += excess > 0;
    }
    if (!alone || count < LEAST_OF_TAIL || !(most > other))
        return most;
    const double b = sum / count, t = m + b * log(b * count / e->count / (rounding * (most - other)));
    if ((squares - sum * b) / (count - 1) < SPREAD_OF_NORMAL * b * b)
        return most;
    return fmax(fmin(t, most + MOST_EXCESSES * b), most);
}

void nuc_extremes_follow_tails(const struct nuc_extremes *e, double steps, float *min, float *max)
{
    const struct end up = {e->max, 1, e->n_samples}, down = {e->min, -1, e->n_samples};

    if (e->n_samples < LEAST_SAMPLES || e->n_values > FEW_VALUES)
        return;
    const double rounding = (double)e->n_values / (12 * steps * steps);
    const double above = end_of_tail(&up, fmin((double)*min, 0), rounding),
                 below = end_of_tail(&down, -fmax((double)*max, 0), rounding);
    move_ends(e, above, below, min, max);
}
