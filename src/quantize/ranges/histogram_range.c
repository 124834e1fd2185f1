/* Ranges of a histogram other than the reference's. */
#include <math.h>

#include "host/clones.h"
#include "quantize/ranges/histogram.h"

#define BINS NUC_HISTOGRAM_BINS

static double bin_width(const struct nuc_histogram *h)
{
    return ((double)h->max - (double)h->min) / BINS;
}

/* ---- percentile ---- */

/* The value below which `count` values lie, spread evenly over each bin. */
static double value_at(const struct nuc_histogram *h, double count)
{
    double below = 0;

    for (int32_t i = 0; i < BINS; i++) {
        double in_bin = (double)h->bins[i];
        if (in_bin > 0 && below + in_bin >= count)
            return (double)h->min + bin_width(h) * ((double)i + (count - below) / in_bin);
        below += in_bin;
    }
    return (double)h->max;
}

static double total(const struct nuc_histogram *h)
{
    double sum = 0;

    for (int32_t i = 0; i < BINS; i++)
        sum += (double)h->bins[i];
    return sum;
}

void nuc_histogram_percentile(const struct nuc_histogram *h, double outside, double least, float *min, float *max)
{
    double count = total(h), cut = outside * count;

    *min = h->min;
    *max = h->max;
    if (!isfinite(h->max - h->min) || cut < least)
        return;
    *min = (float)value_at(h, cut);
    *max = (float)value_at(h, count - cut);
}

/* ---- mean squared error ---- */

/* Candidates for each end of the range, evenly between 0 and what was seen. */
#define ENDS 256

/* Moments of what lies beyond an end at t: sum of (x - t)^2 = squares - 2 t sum + t^2 count. */
struct moments {
    double count, sum, squares;
};

/*
 * error[k], outside[k]: clipping error and number of values beyond t = far * (k + 1) / ENDS. `step` +1 walks from
 * the lowest bin up to a negative t, -1 from the highest down to a positive one.
 */
static void clipping_errors(const struct nuc_histogram *h, double far, int32_t step, double error[ENDS],
                            double outside[ENDS])
{
    struct moments m = {0, 0, 0};
    int32_t bin = step > 0 ? 0 : BINS - 1;

    for (int32_t k = ENDS - 1; k >= 0; k--) {
        double t = far * (double)(k + 1) / ENDS;
        for (; bin >= 0 && bin < BINS; bin += step) {
            double middle = (double)h->min + bin_width(h) * ((double)bin + 0.5);
            if (step > 0 ? middle >= t : middle <= t)
                break;
            double c = (double)h->bins[bin], x = (double)h->min + bin_width(h) * ((double)bin + 0.5);
            m.count += c;
            m.sum += c * x;
            m.squares += c * x * x;
        }
        double squares = m.squares - 2 * t * m.sum + t * t * m.count;
        error[k] = squares > 0 ? squares : 0;
        outside[k] = m.count;
    }
}

/* Values that 0 stands for: they are quantized without an error, and there are many after a ReLU. */
static double count_zeros(const struct nuc_histogram *h)
{
    double bin = -(double)h->min / bin_width(h);

    if (bin < 0 || bin > BINS)
        return 0;
    return (double)h->bins[bin < BINS ? (int32_t)bin : BINS - 1];
}

/* A lower end of the range: the error of clipping there, and how many values are not. */
struct end {
    double from, error, values;
};

/* The error with each upper end. Rounding to steps of s costs s^2 / 12 a value. */
NUC_CLONES static void rounding_errors(const struct end *end, const double *to, const double *high_error,
                                       const double *high_count, double steps, double *error)
{
    for (size_t k = 0; k < ENDS; k++) {
        double s = (to[k] - end->from) / steps, rounded = end->values - high_count[k];
        error[k] = end->error + high_error[k] + s * s / 12 * (rounded > 0 ? rounded : 0);
    }
}

void nuc_histogram_least_squares(const struct nuc_histogram *h, unsigned levels, float *min, float *max)
{
    double low_error[ENDS], low_count[ENDS], high_error[ENDS], high_count[ENDS], to[ENDS], error[ENDS];
    double low = h->min < 0 ? (double)h->min : 0, high = h->max > 0 ? (double)h->max : 0;
    double least = (double)INFINITY, values = total(h);

    *min = h->min;
    *max = h->max;
    if (!isfinite(h->max - h->min) || h->max <= h->min)
        return;
    values -= count_zeros(h);
    clipping_errors(h, low, 1, low_error, low_count);
    clipping_errors(h, high, -1, high_error, high_count);
    for (int32_t k = 0; k < ENDS; k++)
        to[k] = high * (k + 1) / ENDS;
    /* Ends on a side where nothing lies are all at 0. */
    int32_t lows = low < 0 ? ENDS : 1, highs = high > 0 ? ENDS : 1;
    for (int32_t i = 0; i < lows; i++) {
        struct end end = {low * (i + 1) / ENDS, low_error[i], values - low_count[i]};
        rounding_errors(&end, to, high_error, high_count, levels - 1, error);
        for (int32_t k = 0; k < highs; k++) {
            if (error[k] >= least)
                continue;
            least = error[k];
            *min = (float)end.from;
            *max = (float)to[k];
        }
    }
}
