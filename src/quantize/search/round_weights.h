/*
 * Weights of a quantized graph rounded by what its layers are to give on the calibration samples that were kept. The
 * float graph and the quantized one go through the network side by side; at each layer with constant weights in int8
 * the quantized one has what its rounded predecessors left, and the layer's integers, its bias and, where it has one
 * scale per output, its scales become those that bring its results closest to the float ones (round_solve.h). Layers
 * whose weights are multiples of their scale, as those that choose or add values, stay as they are.
 */
#ifndef NUC_QUANTIZE_SEARCH_ROUND_WEIGHTS_H
#define NUC_QUANTIZE_SEARCH_ROUND_WEIGHTS_H

#include "quantize/converted.h"
#include "quantize/search/choice_samples.h"

/* How far rounding goes at most, layer by layer. */
enum nuc_rounding_reach {
    NUC_ROUND_NOT,
    NUC_ROUND_WEIGHTS, /* least error of the weights, and of what they do to the mean */
    NUC_ROUND_MEANS,   /* biases take off what earlier layers did to the mean, too */
    NUC_ROUND_RESULTS  /* and weights what they did otherwise */
};

struct nuc_rounded_weights {
    uint32_t layers, rounded; /* that could be rounded so, and that were, as samples held out gained by it */
    struct nuc_rounded_scales *scales;
    uint32_t n_scales;
};

/*
 * Changes constants of `q`, the calibration's graph as it was converted with the observers' present parameters, by what
 * they do to `samples`.
 */
struct nuc_rounded_weights nuc_round_weights(struct nuc_calibration *c, struct nuc_converted *q,
                                             const struct nuc_choice_samples *samples, enum nuc_rounding_reach reach);

/* Multiply-accumulates of that, about. */
double nuc_rounding_cost(struct nuc_calibration *c, const struct nuc_choice_samples *samples);

/* Gives the observers of weights, and of what derives from them, the scales that `q` got. */
void nuc_keep_rounded_scales(struct nuc_calibration *c, const struct nuc_rounded_weights *r);

#endif
