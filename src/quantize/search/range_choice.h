/*
 * Which of the ranges that follow from one histogram a tensor is quantized in, by measure: what brings the outputs of
 * the network closest to those of the float one on calibration samples (docs/quantization.md, "How ranges are chosen").
 */
#ifndef NUC_QUANTIZE_SEARCH_RANGE_CHOICE_H
#define NUC_QUANTIZE_SEARCH_RANGE_CHOICE_H

#include "quantize/calibration.h"

/* Tells observers whether ranges besides the whole one may be asked of them; `chooses`: by nuc_choose_ranges(). */
void nuc_need_histograms(struct nuc_calibration *c, bool chooses);

/* Sets `chosen` of all observers that leave it open. The parameters that follow are up to date afterwards. */
void nuc_choose_ranges(struct nuc_calibration *c);

#endif
