/* A converted graph, and where the observers of the calibration are in it. */
#ifndef NUC_QUANTIZE_CONVERTED_H
#define NUC_QUANTIZE_CONVERTED_H

#include "quantize/calibration.h"

struct nuc_sample_figures;

/* A quantize node of a computed value. */
struct nuc_quantized_point {
    struct nuc_node *quantize;
    uint32_t group;
};

struct nuc_converted {
    struct nuc_graph *g;
    uint32_t n_points;
    struct nuc_quantized_point *points; /* in order of execution */
};

/* With the observers' present parameters. biases: by id of a constant, values to quantize instead of its own; NULL. */
struct nuc_converted nuc_convert_graph(struct nuc_calibration *c, const float **biases);

/*
 * Runs it on the samples that were kept, those of one part or NUC_BOTH_PARTS; with another accuracy than high on as
 * many of them as are cheap. figures[k] of those that were run, by their number among all that were kept. Returns how
 * many of all parts would be run.
 */
size_t nuc_measure_converted(struct nuc_calibration *c, const struct nuc_converted *q, unsigned part,
                             struct nuc_sample_figures *figures);

#endif
