/*
 * Which of the ranges that follow from one histogram a tensor is quantized in, by measure: what brings the outputs of
 * the network closest to those of the float one on calibration samples (docs/quantization.md, "How ranges are chosen").
 */
#ifndef NUC_QUANTIZE_SEARCH_RANGE_CHOICE_H
#define NUC_QUANTIZE_SEARCH_RANGE_CHOICE_H

#include "quantize/calibration.h"

/* Ranges are compared tensor by tensor, or a block of them: kinds of them besides MIN_MAX are asked for. */
bool nuc_chooses_by_parts(const struct nuc_calibration *c);

/* Sets `chosen` of all observers that leave it open. The parameters that follow are up to date afterwards. */
void nuc_choose_ranges(struct nuc_calibration *c);

#endif
