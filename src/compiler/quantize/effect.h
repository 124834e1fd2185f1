/*
 * What quantization parameters do to the outputs of the network, measured on the samples that calibration kept: of all
 * tensors together, or of a few whose values alone are rounded, all others staying as they are. The effects of single
 * tensors add up nearly, and differ less from sample to sample than those of whole quantized networks.
 *
 * Error: of an output of floats the power of its difference, relative to the power of the output over all samples,
 * summed over such outputs. Where there are none, the share of values that differ.
 */
#ifndef NUC_QUANTIZE_EFFECT_H
#define NUC_QUANTIZE_EFFECT_H

#include "compiler/quantize/calibration.h"
#include "compiler/quantize/choice_samples.h"
#include "compiler/quantize/converted.h"

struct nuc_effects;

/* Of one group. */
struct nuc_parameters {
    float scale;
    int64_t zero_point;
};

/* Groups whose values are rounded, and how: on samples of part p with parameters[p], parallel to `groups`. */
struct nuc_tried {
    uint32_t n_groups;
    const uint32_t *groups;
    const struct nuc_parameters *parameters[2];
};

/*
 * For a converted graph of the calibration; on the first `n_samples` of those that were kept, and `threads` at a time
 * (0: as many as cores). Nothing that is measured depends on the number of threads.
 */
struct nuc_effects *nuc_effects_new(struct nuc_calibration *c, const struct nuc_converted *q, size_t n_samples);

/* A value of the group is rounded in a run. */
bool nuc_has_effect(const struct nuc_effects *fx, uint32_t group);

/* Share of a run's cost that comes after the first value of the group, it included. */
double nuc_cost_after(const struct nuc_effects *fx, uint32_t group);

/*
 * The error of rounding all values, with parameters[p] by group on samples of part p. by_sample: NULL, or one error for
 * each sample.
 */
double nuc_effect_of_all(struct nuc_effects *fx, const struct nuc_parameters *const parameters[2], double *by_sample);

/* The present parameters of all observers, by group. */
struct nuc_parameters *nuc_present_parameters(const struct nuc_calibration *c);

/* error[sample * n + i]: of tried[i] alone, on the outputs without it. */
void nuc_effects_of(struct nuc_effects *fx, const struct nuc_tried *tried, size_t n, double *error);

/* Signal and noise of each output in the last nuc_effect_of_all(), over its samples. */
const struct nuc_measured *nuc_effects_measured(struct nuc_effects *fx);

#endif
