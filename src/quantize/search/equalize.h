/*
 * Equalization of channels. A tensor has one scale, so that a channel of small values has few steps. Factors of
 * channels (channel_factors.h) let it use more of the steps of its tensor, at the price of weights that differ more
 * along their inputs; factors that reduce the estimated noise are taken (channel_noise.h). In the spirit of Nagel et
 * al., "Data-free quantization through weight equalization and bias correction", ICCV 2019, section 4.1 (factors
 * between layers), and of Xiao et al., "SmoothQuant", ICML 2023 (ranges of activations against those of weights).
 *
 * Values that no sample showed are cut off at the end of a range, and the more channels end there, the more are. So
 * only what a channel may come to reach, by the spread of its samples (unseen_range.h), may come to where the values of
 * the tensor end: what is cut off stays what the largest channels have beyond it.
 */
#ifndef NUC_QUANTIZE_SEARCH_EQUALIZE_H
#define NUC_QUANTIZE_SEARCH_EQUALIZE_H

#include "quantize/calibration.h"

struct nuc_equalizer;

/* For a prepared calibration, which says what is quantized together. NULL: no channel could be scaled. */
struct nuc_equalizer *nuc_equalizer_new(const struct nuc_calibration *c);

/* Room for what is seen of a value, of its own for each thread. */
struct nuc_glances;
struct nuc_glances *nuc_glances_new(const struct nuc_equalizer *e);

/* A value of the float graph, in logical order; to be called for the values of samples of `part` (choice_samples.h). */
void nuc_equalizer_see(struct nuc_equalizer *e, const struct nuc_glances *room, unsigned part,
                       const struct nuc_node *node, const float *x, size_t count);

/*
 * Finds factors from what the samples of a part, or NUC_BOTH_PARTS, showed. Returns the decibels by which the estimated
 * noise falls, 0 for none.
 */
double nuc_equalizer_solve(struct nuc_equalizer *e, unsigned part);

/* Puts weights and other constants into the graph that go with the factors of a part. They live as long as the present
 * arena. */
void nuc_equalizer_apply(struct nuc_equalizer *e, unsigned part);

/* Constants as they were. */
void nuc_equalizer_undo(struct nuc_equalizer *e);

#endif
