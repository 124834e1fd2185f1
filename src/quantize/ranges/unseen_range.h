/*
 * How far values go that calibration has not shown. A tensor of few values, such as the logits of a classifier, has
 * shown few of those that it takes: the next sample may well go beyond all before it, and would be cut off there. A
 * tensor of many values shows its extremes in each sample.
 */
#ifndef NUC_QUANTIZE_RANGES_UNSEEN_RANGE_H
#define NUC_QUANTIZE_RANGES_UNSEEN_RANGE_H

#include "host/context.h"

struct nuc_range {
    float min, max; /* infinite: no such bound */
};

/* `a` becomes the smallest range that holds both. */
void nuc_join_ranges(struct nuc_range *a, struct nuc_range b);

/* The smallest and the largest value of each sample, over all tensors of a group. */
struct nuc_extremes {
    struct nuc_range bounds; /* that no value goes beyond, as far as it makes a difference */
    uint32_t n_samples;
    size_t sample_capacity, min_capacity, max_capacity;
    uint32_t *sample; /* its number */
    float *min, *max;
    size_t n_values; /* of the last sample */
};

/* Makes room for `count` samples more, so that adding them allocates nothing. */
void nuc_extremes_reserve(struct nuc_context *cx, struct nuc_extremes *e, uint32_t count);

/* Adds a tensor of `count` finite values within `bounds` to sample `sample`, the samples in ascending order. */
void nuc_extremes_add(struct nuc_context *cx, struct nuc_extremes *e, uint32_t sample, struct nuc_range seen,
                      struct nuc_range bounds, size_t count);

/* Those of the samples that are not held out, by number, without numbers. */
struct nuc_extremes *nuc_extremes_shown(struct nuc_context *cx, const struct nuc_extremes *all, const bool *held_out);

/* Moves the ends of a range that come from other samples than those that are shown to where these end. */
void nuc_extremes_cut(const struct nuc_extremes *all, const struct nuc_extremes *shown, float *min, float *max);

/*
 * Moves the ends of a range outwards to where the squared error expected of a sample to come, of rounding to `steps`
 * steps and of cutting off, is least. An end that is not beyond what was seen, or that two samples reach exactly, as
 * that of a clamp, stays; so do both when fewer than three samples were seen.
 *
 * The extremes of samples are taken to be those of normally distributed values around c, the middle of the mean ends.
 * Their distribution is near Gumbel's with location mu and scale b, which follow from mean m and deviation d:
 * b = sqrt(6) d / pi, mu = m - 0.5772 b (Gumbel, Statistics of Extremes, 1958). The normal distribution whose extremes
 * these are has the variance v = b (mu - c), of one value a sample b^2 pi^2 / 6. A sample goes beyond t
 * exp(-((t - c)^2 - (mu - c)^2) / 2v) times, by an excess whose mean square is 2 b^2; n values rounded to a width of w
 * cost n w^2 / (12 steps^2). The sum is least at t = c + sqrt((mu - c)^2 + 2 v ln(12 steps^2 b / (n w))).
 *
 * Samples may differ by more than that, as recordings of different strength do. A `reach` above 0 takes the ends to
 * m + reach * b at least, which one sample out of e^(reach + 0.5772) is expected to go beyond.
 */
void nuc_extremes_widen(const struct nuc_extremes *e, double reach, double steps, float *min, float *max);

/*
 * The same for extremes with a longer tail, as those of the logits of a trained classifier, whose samples are unlike
 * each other. What k of N samples have beyond the mean m is taken to be distributed exponentially, by b on average
 * (Pickands, Statistical inference using extreme order statistics, 1975). The sum is least at t = m + b ln(12 steps^2 b
 * k / (N n w)), and t counts up to 1.5 b beyond the largest value seen, as the samples say no more. Five of them have
 * to be beyond m and spread there as much as those of a normal distribution, and the values of a sample be few.
 */
void nuc_extremes_follow_tails(const struct nuc_extremes *e, double steps, float *min, float *max);

#endif
