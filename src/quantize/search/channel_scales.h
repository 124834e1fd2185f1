/*
 * Scales for each channel where float operators read what an int8 layer gives: the spectrum of a signal, whose high
 * frequencies are small beside its low ones, has few steps for them in one scale. The weight and bias of the layer are
 * divided by a factor for each channel, which its float readers multiply with.
 */
#ifndef NUC_QUANTIZE_SEARCH_CHANNEL_SCALES_H
#define NUC_QUANTIZE_SEARCH_CHANNEL_SCALES_H

#include "quantize/quantize.h"

/*
 * Of an ATen graph that went through the ATen passes, in which operators are marked to stay in float (source->wide), by
 * the samples that `observed` kept. The graph computes what it did.
 */
void nuc_scale_channels(struct nuc_graph *g, const struct nuc_calibration *observed);

#endif
