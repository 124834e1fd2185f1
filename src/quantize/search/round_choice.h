/*
 * Whether, and how far, weights are rounded by what they do to the samples that were kept (round_weights.h). Each reach
 * is tried on one half of the samples and measured on the other, which tells what it is worth beyond the samples; the
 * best is done with all of them.
 */
#ifndef NUC_QUANTIZE_SEARCH_ROUND_CHOICE_H
#define NUC_QUANTIZE_SEARCH_ROUND_CHOICE_H

#include "quantize/converted.h"

/*
 * `error` is that of `q`, which was converted with `biases` (NULL: the model's own), on all samples. Returns the error
 * of what is better: `q` as it was or, then in its place, a graph with rounded weights, whose scales the observers get.
 */
double nuc_choose_rounding(struct nuc_calibration *c, const float **biases, struct nuc_converted *q, double error);

#endif
