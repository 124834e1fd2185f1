/*
 * Equalization of activations. A tensor has one scale, so that a channel of small values has few steps. Factors of
 * channels (channel_factors.h) let all channels use the steps of their tensor, at the price of weights that differ more
 * along their inputs; the factors are those of the least estimated noise (channel_noise.h). In the spirit of Nagel et
 * al., "Data-free quantization through weight equalization and bias correction", ICCV 2019, section 4.1 (factors
 * between layers), and of Xiao et al., "SmoothQuant", ICML 2023 (ranges of activations against those of weights).
 */
#ifndef NUC_QUANTIZE_SEARCH_EQUALIZE_ACTIVATIONS_H
#define NUC_QUANTIZE_SEARCH_EQUALIZE_ACTIVATIONS_H

#include "quantize/calibration.h"

struct nuc_activation_equalizer;

/* Sets of factors that it keeps. */
#define NUC_MOST_SETS 8

/* For a prepared calibration, which says what is quantized together; it need not have seen samples. */
struct nuc_activation_equalizer *nuc_activations_prepare(const struct nuc_calibration *c);

/* Whether any channel could be scaled. */
bool nuc_activations_can_gain(const struct nuc_activation_equalizer *e);

/* One calibration sample, as nuc_quantize_sample() takes it. */
void nuc_activations_sample(struct nuc_activation_equalizer *e, const void *const *inputs);

/*
 * Finds the factors of a set from the samples that are wanted, for ranges of that reach (unseen_range.h). Returns the
 * decibels by which the estimated noise falls, 0 for none. `near` is another set, whose factors are nearly the same,
 * or NUC_MOST_SETS.
 */
double nuc_activations_solve(struct nuc_activation_equalizer *e, unsigned set, const bool *is_wanted, double reach,
                             unsigned near);

/*
 * Puts weights and other constants into the graph that go with the factors of a set to the power `strength`; 0: as they
 * were. They live as long as the present arena.
 */
void nuc_activations_apply(struct nuc_activation_equalizer *e, unsigned set, double strength);

#endif
