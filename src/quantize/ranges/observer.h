/* Observers: what they keep of the values they see, and the quantization parameters that follow. */
#ifndef NUC_QUANTIZE_RANGES_OBSERVER_H
#define NUC_QUANTIZE_RANGES_OBSERVER_H

#include "quantize/annotation.h"
#include "quantize/ranges/kept_histogram.h"
#include "quantize/ranges/unseen_range.h"

/* A tensor in logical order as slices of `inner` values, one channel after the other; per tensor: one slice. */
struct nuc_slices {
    size_t count, channels, inner;
};
struct nuc_slices nuc_slices_along(const struct nuc_meta *m, int axis);

/* What one half of the samples shows. */
struct nuc_observed_part {
    struct nuc_kept_histogram histogram;
    struct nuc_extremes extremes;
};

#define NUC_BOTH_PARTS 2

#define NUC_AS_SEEN (-1.0)

struct nuc_observer {
    const struct nuc_qspec *spec;       /* of its group */
    const struct nuc_observer *from[2]; /* DERIVED: activation, weight */
    bool seen;
    bool fractions;          /* not all values seen were whole numbers */
    bool hides;              /* of a mask: values that hide were seen, which do not count for the range */
    uint32_t n;              /* channels; 1 per tensor; 0 per channel before anything was seen */
    float *min, *max;        /* of n; NULL for fixed and derived parameters */
    struct nuc_arena *arena; /* of what it keeps */
    /* HISTOGRAM, MSE, PERCENTILE, AUTO: of all samples, or `parts` of two halves of them; the other is NULL. */
    struct nuc_kept_histogram *histogram;
    struct nuc_observed_part *parts;
    bool whole;                    /* no other kind than MIN_MAX is asked for: histograms have their range alone */
    unsigned part;                 /* that of the present sample */
    double reach;                  /* of the range beyond what was seen (unseen_range.h), or NUC_AS_SEEN */
    bool follows_tails;            /* to where they are expected to end (unseen_range.h) */
    unsigned rounding;             /* as in struct nuc_quantize_options */
    enum nuc_observer_kind chosen; /* the kind whose range is taken: AUTO leaves it open, and begins with MIN_MAX */

    struct nuc_extremes extremes;     /* of activations */
    const struct nuc_extremes *shown; /* of the samples that parameters are to come from; NULL: all */

    /* Of nuc_observer_parameters(), n each. */
    float *scale;
    int64_t *zero_point;
};

/* What it sees later is kept in the arena that is the current one now. The spec has to outlive it. */
struct nuc_observer *nuc_observer_new(struct nuc_context *cx, const struct nuc_qspec *spec);

/* AUTO, which has seen nothing yet, is to keep two halves of the samples apart. Others stay as they are. */
void nuc_observer_divide(struct nuc_context *cx, struct nuc_observer *o);

/* Makes room for `count` samples more: seeing them allocates nothing, where all channels are one. */
void nuc_observer_reserve(struct nuc_context *cx, struct nuc_observer *o, uint32_t count);

/* Bytes that this takes for histograms, which are smaller while they have few bins. */
size_t nuc_observer_room(const struct nuc_observer *o);

/*
 * Shows a float32 tensor of that meta to an observer; data in logical order. Returns false when it holds a NaN, which
 * has no place in a range, or, where the whole range counts, an infinity.
 */
bool nuc_observer_see(struct nuc_context *cx, struct nuc_observer *o, const struct nuc_meta *meta,
                      struct nuc_seen_values *values);

/*
 * The one step of a mask without biases: a value that hides is 255 or less of them, or as many as there are, below 0.
 */
#define NUC_MASK_STEP 64.0f

/* A mask of which samples show no other value than 0 beside those that hide. */
static inline bool nuc_is_plain_mask(const struct nuc_observer *o)
{
    return o->spec->mask && o->seen && !(o->min[0] < 0) && !(o->max[0] > 0);
}

struct nuc_candidate_range {
    float min, max;
};

/* It counts values, which is to say that each sample adds to what constants are seen as. */
static inline bool nuc_observer_counts(const struct nuc_observer *o)
{
    return o->histogram != NULL || o->parts != NULL;
}

/* The range of a kind that follows from a histogram: of one part of the samples, which AUTO keeps apart, or of both. */
struct nuc_candidate_range nuc_observer_range(const struct nuc_observer *o, unsigned part, enum nuc_observer_kind kind);

/* Its parameters when it reaches so far, where extremes were noted; NUC_AS_SEEN: no further than its tails. */
void nuc_observer_candidate(const struct nuc_observer *o, unsigned part, struct nuc_candidate_range range, double reach,
                            float *scale, int64_t *zero_point);

/* Sets scale and zero_point. A derived observer comes after those it derives from. */
void nuc_observer_parameters(struct nuc_context *cx, struct nuc_observer *o);

#endif
