/*
 * A histogram between samples: of its bins only those that hold something, since a tensor of a few hundred values fills
 * a few hundred of 2,048, and there is a histogram to each value of a network.
 */
#ifndef NUC_QUANTIZE_RANGES_KEPT_HISTOGRAM_H
#define NUC_QUANTIZE_RANGES_KEPT_HISTOGRAM_H

#include "host/context.h"
#include "quantize/ranges/histogram.h"

/* Zeroed: of nothing. */
struct nuc_kept_histogram {
    bool seen;
    float min, max;
    uint32_t count, capacity;
    float *bins;                            /* those that hold something, in order */
    uint64_t used[NUC_HISTOGRAM_BINS / 64]; /* bit i % 64 of word i / 64: bin i does */
};

/* Makes room in `arena` for any histogram, so that keeping one allocates nothing. */
void nuc_histogram_reserve(struct nuc_context *cx, struct nuc_arena *arena, struct nuc_kept_histogram *kept);

/* Makes `kept` hold `h`; what its bins need more lies in `arena`. */
void nuc_histogram_keep(struct nuc_context *cx, struct nuc_arena *arena, struct nuc_kept_histogram *kept,
                        const struct nuc_histogram *h);

/* The same histogram as was kept. */
void nuc_histogram_take(const struct nuc_kept_histogram *kept, struct nuc_histogram *h);

#endif
