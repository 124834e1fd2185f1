/* Observers: what they keep of the values they see, and the quantization parameters that follow. */
#ifndef NUC_QUANTIZE_OBSERVER_H
#define NUC_QUANTIZE_OBSERVER_H

#include "compiler/quantize/annotation.h"
#include "compiler/quantize/histogram.h"
#include "compiler/quantize/unseen_range.h"

/* A tensor in logical order as slices of `inner` values, one channel after the other; per tensor: one slice. */
struct nuc_slices {
    size_t count, channels, inner;
};
struct nuc_slices nuc_slices_along(const struct nuc_meta *m, int axis);

struct nuc_observer {
    struct nuc_qspec spec;
    const struct nuc_observer *from[2]; /* DERIVED: activation, weight */
    bool seen;
    uint32_t n;                      /* channels; 1 per tensor; 0 per channel before anything was seen */
    float *min, *max;                /* of n; NULL for fixed and derived parameters */
    struct nuc_histogram *histogram; /* HISTOGRAM */

    struct nuc_extremes extremes; /* of activations */

    /* Of nuc_observer_parameters(), n each. */
    float *scale;
    int64_t *zero_point;
};

struct nuc_observer *nuc_observer_new(struct nuc_context *cx, const struct nuc_qspec *spec);

/*
 * Shows a float32 tensor of that meta to an observer; data in logical order. Returns false when it holds a NaN, which
 * has no place in a range, or, where the whole range counts, an infinity.
 */
bool nuc_observer_see(struct nuc_context *cx, struct nuc_observer *o, const struct nuc_meta *meta, const float *x);

/* Sets scale and zero_point. A derived observer comes after those it derives from. */
void nuc_observer_parameters(struct nuc_context *cx, struct nuc_observer *o);

#endif
