/* A converted graph, and where the observers of the calibration are in it. */
#ifndef NUC_QUANTIZE_CONVERTED_H
#define NUC_QUANTIZE_CONVERTED_H

#include "quantize/calibration.h"

/* A quantize node of a computed value. */
struct nuc_quantized_point {
    struct nuc_node *quantize;
    uint32_t group;
};

struct nuc_converted {
    struct nuc_graph *g;
    uint32_t n_points;
    struct nuc_quantized_point *points; /* in order of execution */
    struct nuc_node **nodes;            /* by id of the calibration's graph: what stands for a node; may be NULL */
};

/* With the observers' present parameters. biases: by id of a constant, values to quantize instead of its own; NULL. */
struct nuc_converted nuc_convert_graph(struct nuc_calibration *c, const float **biases);

/*
 * The error (effect.h) on the samples that were kept, of which there is one at least. What was found of the outputs
 * becomes c->measured. With another accuracy than high on as many of them as are cheap. by_sample: NULL, or room for
 * the error of each.
 */
double nuc_measure_converted(struct nuc_calibration *c, const struct nuc_converted *q, double *by_sample);

#endif
