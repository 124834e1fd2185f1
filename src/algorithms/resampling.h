/*
 * Which values of a row make those of a shorter or longer one, and with which weights, as Pillow's resize() has them
 * (and torch's interpolate with antialias=True for NUC_FILTER_BILINEAR). With n values over from..to of a row, value i
 * has its centre at c = from + (i + 0.5) r with r = (to - from) / n.
 */
#ifndef NUC_ALGORITHMS_RESAMPLING_H
#define NUC_ALGORITHMS_RESAMPLING_H

#include <stdint.h>

enum nuc_filter {
    NUC_FILTER_BILINEAR, /* value j weighs max(0, 1 - |j + 0.5 - c| / max(r, 1)) */
    NUC_FILTER_AREA,     /* the mean of those whose centres are within max(r, 1) / 2 of c: Pillow's BOX */
    NUC_FILTER_NEAREST,  /* the one that c lies in */
    NUC_FILTER_COUNT
};

/* `count` values from..to of `size`; 0 <= from < to <= size. */
struct nuc_resampling {
    enum nuc_filter filter;
    uint32_t size, count;
    double from, to;
};

/* At most so many values make one. */
uint32_t nuc_resampling_taps(const struct nuc_resampling *r);

/* The weights of value i, whose sum is 1, and the first value that has one. Returns how many there are. */
uint32_t nuc_resample(const struct nuc_resampling *r, uint32_t i, uint32_t *first, double *weights);

#endif
