/* A converted graph, and where the observers of the calibration are in it. */
#ifndef NUC_QUANTIZE_CONVERTED_H
#define NUC_QUANTIZE_CONVERTED_H

#include "quantize/calibration.h"

struct nuc_effects;
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
 * Runs it on those of the samples that were kept for which of[k] is `which`. Sets figures[k] of these; there is one for
 * each that was kept. *again is what ran before, or NULL, and becomes what runs, for the graph of the next conversion.
 */
void nuc_measure_converted(struct nuc_calibration *c, const struct nuc_converted *q, const unsigned *of, unsigned which,
                           struct nuc_sample_figures *figures, struct nuc_effects **again);

#endif
