/* A trial of `nucleon tune`: a compilation, and what its program is worth. */
#ifndef NUC_TOOLS_TUNE_TUNE_TRIAL_H
#define NUC_TOOLS_TUNE_TUNE_TRIAL_H

#include "data/dataset.h"
#include "host/call.h"
#include "introspect/trial.h"
#include "nucleon/tune.h"

/* Samples kept apart, and what the float model makes of them, both as the model has its inputs and outputs. */
struct nuc_comparison {
    struct nuc_sample_source calibration; /* none: the model is quantized already, and nothing is compared */
    enum nuc_samples calibration_part;
    struct nuc_sample_source samples;
    enum nuc_samples part;
    size_t n_calibration, n_samples, n_inputs, n_outputs;
    bool has_states;
    bool calibrated_on;                     /* the only sample is in both parts */
    struct nuc_tensor_info *inputs, *infos; /* of the model's inputs and outputs */
    size_t *index;                          /* of the samples in the data set */
    void **outputs;                         /* n_outputs for each sample; NULL: not float32 */
    const int64_t *labels;                  /* NULL: none, or the first output is no vector of classes */
};

/* No calibration: of a quantized model. Fails with NUC_BAD_INPUT where the data do not suit the model. */
struct nuc_comparison *nuc_comparison_new(const struct nuc_model *m, struct nuc_sample_source calibration,
                                          struct nuc_sample_source dataset);

enum { NUC_COMPARED_PARTS = 8 };

/* Figures of a program. */
struct nuc_figures {
    double noise; /* mean over the float outputs of noise power / signal power; NaN: not known */
    double part_noise[NUC_COMPARED_PARTS]; /* of every eighth sample; NaN: there are fewer */
    double accuracy;                       /* NaN: not known */
    uint64_t cycles;                       /* 0: not known */
    double milliseconds;
    size_t arena, memory, program;
};

/*
 * Compiles the model under the options as `nucleon compile` does, but for its files and notes, runs the program on the
 * simulator, where it is microcode of nucleon's converter, and fills `out`. The
 * message of a failure is in cx->message.
 */
enum nuc_status nuc_try_compilation(const struct nuc_model *m, const struct nuc_options *as,
                                    const struct nuc_comparison *with, struct nuc_figures *out);

/* 10 * log10(1 / noise): infinite for 0, NaN for NaN. */
double nuc_noise_db(double noise);

#endif
