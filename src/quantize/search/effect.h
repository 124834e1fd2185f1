/*
 * What quantization parameters do to the outputs of the network, measured on the samples that calibration kept: of all
 * tensors together, or of a few whose values alone are rounded or cut off, all others staying as they are. The effects
 * of single tensors add up nearly, and differ less from sample to sample than those of whole quantized networks.
 */
#ifndef NUC_QUANTIZE_SEARCH_EFFECT_H
#define NUC_QUANTIZE_SEARCH_EFFECT_H

#include "quantize/calibration.h"
#include "quantize/converted.h"
#include "quantize/search/choice_samples.h"

struct nuc_effects;

/* Of one group. */
struct nuc_parameters {
    float scale;
    int64_t zero_point;
};

enum nuc_effect {
    NUC_EFFECT_ROUNDING, /* to steps, which go on beyond the range */
    NUC_EFFECT_CLIPPING, /* at the ends of the range */
    NUC_EFFECT_BOTH
};

/* Groups whose values change, and how: on samples of part p with parameters[p], parallel to `groups`. */
struct nuc_tried {
    enum nuc_effect effect;
    uint32_t n_groups;
    const uint32_t *groups;
    const struct nuc_parameters *parameters[2];
};

/*
 * For a converted graph of the calibration, on the first `n_samples` of those that were kept. What is measured does not
 * depend on the number of threads. `alone`: effects of single tensors are going to be measured, for which all values of
 * a run are held.
 */
struct nuc_effects *nuc_effects_new(struct nuc_calibration *c, const struct nuc_converted *q, size_t n_samples,
                                    bool alone);

/* The same for the calibration converted anew, and its present samples; false: another one has to be made. */
bool nuc_effects_again(struct nuc_effects *fx, const struct nuc_converted *q, size_t n_samples);

/* Threads that samples are shared by. */
unsigned nuc_effects_threads(const struct nuc_effects *fx);

/* Fewer samples from here on. */
void nuc_effects_use(struct nuc_effects *fx, size_t n_samples);

/* All that were kept, or as many as a run of the graph on each of them is cheap for, eight at least. */
size_t nuc_samples_to_measure(const struct nuc_calibration *c);

/* A value of the group is rounded in a run. */
bool nuc_has_effect(const struct nuc_effects *fx, uint32_t group);

/* Share of a run's cost that comes after the first value of the group, it included. */
double nuc_cost_after(const struct nuc_effects *fx, uint32_t group);

/*
 * Errors are squared differences of a score (score.h) relative to the power of the score over the samples, summed over
 * the scores.
 *
 * Against the float graph:
 */

/* What one sample shows of the outputs, and its error. */
struct nuc_sample_figures {
    struct nuc_measured_output *outputs;
    uint32_t *fingerprints, *float_fingerprints; /* by output, of floats: outputs with different ones differ */
    double error;
};

/* Room for those of all samples that were kept. */
struct nuc_sample_figures *nuc_sample_figures_new(struct nuc_calibration *c);

/* figures[k]: of rounding all values of sample k with the present parameters. */
void nuc_measure_samples(struct nuc_effects *fx, struct nuc_sample_figures *figures);

/* error[k]: of rounding all values of sample k, of part p, with parameters[p] by group; samples NULL: of all. */
void nuc_errors_of_all(struct nuc_effects *fx, const struct nuc_parameters *const parameters[2], const size_t *samples,
                       size_t n_samples, double *error);

/* Against a run without any rounding, the weights' excepted: */

/*
 * error[k * n + i]: of tried[i] alone on samples[k]; 0 where nothing of it is cut off. NULL: all samples, and the runs
 * are made that those after it are compared with.
 */
void nuc_effects_of(struct nuc_effects *fx, const struct nuc_tried *tried, size_t n, const size_t *samples,
                    size_t n_samples, double *error);

/* What is cut off of a sample at most: the squares of it in steps. */
double nuc_cut_off(const struct nuc_effects *fx, const struct nuc_tried *tried, size_t sample);

/* The present parameters of all observers, by group. */
struct nuc_parameters *nuc_present_parameters(const struct nuc_calibration *c);

#endif
