/*
 * Cross-layer equalization: what one layer writes to a channel is divided by a factor, what the next layer reads from
 * it multiplied by the same. A ReLU in between lets factors pass, so the network computes what it did, but the ranges
 * of the channels of both weights become alike, and one scale per tensor suits them all. Source: Nagel, van Baalen,
 * Blankevoort, Welling, "Data-free quantization through weight equalization and bias correction", ICCV 2019, section
 * 4.1: factors sqrt(r1 / r2) of the channel's ranges in the two weights, pair after pair, until they settle.
 *
 * ReLU6 lets a factor pass where it does not clip. The paper replaces ReLU6 by ReLU, which changes the network; here a
 * channel keeps its factor such that what the samples put into the ReLU6 stays below 6, and channels that do reach 6
 * keep their range. Without samples, chains through ReLU6 stay as they are.
 */
#ifndef NUC_QUANTIZE_SEARCH_EQUALIZE_H
#define NUC_QUANTIZE_SEARCH_EQUALIZE_H

#include "ir/graph.h"

struct nuc_equalizer;

/* Finds the chains of `g`, an ATen graph that went through the ATen passes. */
struct nuc_equalizer *nuc_equalize_prepare(struct nuc_graph *g, unsigned threads);

/* Whether samples would make a difference: some chain goes through a ReLU6. */
bool nuc_equalize_needs_samples(const struct nuc_equalizer *e);

/* One calibration sample, as nuc_quantize_sample() takes it. */
void nuc_equalize_sample(struct nuc_equalizer *e, const void *const *inputs);

/* Replaces weights and biases in the graph. Returns how many pairs of layers were equalized. */
uint32_t nuc_equalize_apply(struct nuc_equalizer *e);

/* All of it without samples. */
void nuc_equalize(struct nuc_graph *g);

#endif
