/*
 * The running histogram of an observed activation and the range its values are quantized in, in the arithmetic of
 * torchao's HistogramObserver (torchao/quantization/pt2e/observer.py) and of the torch operators it calls: every
 * rounding to float32 is made where theirs is, so that the resulting scales agree bit for bit.
 */
#ifndef NUC_QUANTIZE_RANGES_HISTOGRAM_H
#define NUC_QUANTIZE_RANGES_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUC_HISTOGRAM_BINS 2048

struct nuc_histogram {
    bool seen;      /* holds at least one finite value */
    float min, max; /* of everything seen; the bins divide [min, max] evenly */
    float bins[NUC_HISTOGRAM_BINS];
};

/* One tensor that several ask about. Its range is found once, when the first one asks. */
struct nuc_seen_values {
    const float *x;
    size_t count;
    bool has_range, has_nan;
    float min, max;
};

/* Sets min and max of `count` > 0 values; false when one of them is a NaN. */
bool nuc_seen_range(struct nuc_seen_values *v);

/* After nuc_seen_range(): the range of the values that are finite; false when none is. */
bool nuc_finite_range(const struct nuc_seen_values *v, float *min, float *max);

/*
 * Adds one tensor. Infinities are left out, as values that saturate under any range. Returns false, and adds nothing,
 * when the tensor holds a NaN.
 */
bool nuc_histogram_add(struct nuc_histogram *h, struct nuc_seen_values *v);

/* Makes `h` the histogram of both: of one where the other has seen nothing. */
void nuc_histogram_join(struct nuc_histogram *h, const struct nuc_histogram *a, const struct nuc_histogram *b);

/*
 * The range [*min, *max] inside [h->min, h->max] with the least L2 quantization error that the search of the
 * reference finds; the whole range when its width overflows. `h` has seen something.
 */
void nuc_histogram_search(const struct nuc_histogram *h, float *min, float *max);

/*
 * The range all but `outside` (a fraction) of the values on each side lie in; all of them where these are less than
 * `least`. `h` has seen something.
 */
void nuc_histogram_percentile(const struct nuc_histogram *h, double outside, double least, float *min, float *max);

/*
 * The range that quantizing to `levels` steps has the least mean squared error for, of clipping and of rounding, among
 * 256 x 256 ranges around zero. `h` has seen something.
 */
void nuc_histogram_least_squares(const struct nuc_histogram *h, unsigned levels, float *min, float *max);

/* Smallest and largest of `count` > 0 values. False when one of them is a NaN. */
bool nuc_min_max(const float *x, size_t count, float *min, float *max);

/* Sum of all bins, rounded as torch.sum rounds on x86-64: 32 partial sums in two levels of 16 rows. */
float nuc_histogram_sum(const float bins[NUC_HISTOGRAM_BINS]);

#endif
