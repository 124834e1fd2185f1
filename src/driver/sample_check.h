/* What calibration samples, and the outputs on them, say about themselves: notes, each with file, place and remedy. */
#ifndef NUC_DRIVER_SAMPLE_CHECK_H
#define NUC_DRIVER_SAMPLE_CHECK_H

#include "driver/dataset.h"

struct nuc_sample_check;

struct nuc_sample_check *nuc_sample_check_new(const struct nuc_model *m);

/* One sample, as nuc_dataset_read_sample() gives it. */
void nuc_sample_check_add(struct nuc_sample_check *s, const void *const *inputs);

/*
 * A note for each float input that has one value throughout, or none of whose values is beyond 1e-4, or some beyond
 * 1e4, which normalised data are not like; or when all samples are the same. `samples` is where they are from. False:
 * they are the same.
 */
bool nuc_warn_of_samples(const struct nuc_sample_check *s, const struct nuc_dataset *samples);

/* What the model is to know of the samples (model_facts.h), and nuc_calibration_line() is to say. */
void nuc_sample_check_note(const struct nuc_sample_check *s, struct nuc_model *prepared, struct nuc_dataset *samples);

/*
 * A note for each output of a quantized model that is the same for all samples although they differ, in float or only
 * when quantized, or whose SQNR on them is below 15 dB.
 */
void nuc_warn_of_outputs(const struct nuc_model *quantized, bool samples_differ);

#endif
