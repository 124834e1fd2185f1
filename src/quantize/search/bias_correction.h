/*
 * Rounding a weight moves the mean of what a layer gives. The mean error follows from the calibration data, since a
 * layer is linear: E[(Wq - W) x] = (Wq - W) E[x], with the mean of each input channel, and the bias takes it off.
 * Source: Nagel et al., "Data-free quantization through weight equalization and bias correction", ICCV 2019, section
 * 4.2; the means are measured here instead of derived from batch norms.
 */
#ifndef NUC_QUANTIZE_SEARCH_BIAS_CORRECTION_H
#define NUC_QUANTIZE_SEARCH_BIAS_CORRECTION_H

#include "quantize/calibration.h"

struct nuc_input_means;

/* Layers that can be corrected and have no bias get one of zeros. */
void nuc_add_biases(struct nuc_graph *g);

/* Looks for the layers of the graph whose input is to be measured. */
struct nuc_input_means *nuc_input_means_new(struct nuc_graph *g);

bool nuc_input_means_want(const struct nuc_input_means *m, const struct nuc_node *node);

/*
 * A value of the float graph, in logical order; to be called for every wanted one of every sample, which has that
 * number of those so far.
 */
void nuc_input_means_see(struct nuc_input_means *m, size_t number, const struct nuc_node *node, const float *x,
                         size_t count);

/*
 * The bias of every layer as it is best quantized: by id of the constant, NULL for all other nodes. Weight parameters
 * have been computed. The means are those of the samples but for a fold (choice_samples.h), or NUC_NO_FOLD.
 */
const float **nuc_corrected_biases(struct nuc_calibration *c, unsigned held_out);

#endif
