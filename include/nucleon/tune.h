/*
 * The options of a compilation that suit a model best, found by trials: each compiles the model whole, counts cycles
 * and bytes of its program and compares its outputs with the float model's.
 */
#ifndef NUCLEON_TUNE_H
#define NUCLEON_TUNE_H

#include "nucleon/compile.h"

#ifdef __cplusplus
extern "C" {
#endif

enum nuc_goal {
    NUC_GOAL_SQNR,    /* outputs as close to the float model's as possible */
    NUC_GOAL_LATENCY, /* fewest cycles */
    NUC_GOAL_MEMORY   /* fewest bytes of arena and NPU scratch */
};

struct nuc_tune_options {
    enum nuc_goal goal;
    /* Samples the trials are compared on, with an array 'label' also for accuracy; NULL: part of the calibration's. */
    const char *dataset;
    const char *const *held; /* options by their names ("--observer") that stay as the compiler has them */
    size_t n_held;
    /* What the program must keep, besides memory_budget of the compiler's options. */
    bool has_min_sqnr;
    double min_sqnr;       /* dB; without it another goal than SQNR may cost 0.1 dB of what the first trial has */
    uint64_t cycle_budget; /* 0: any */
    /* Data sets of the same compiler in place of the paths, which are then NULL. They are bound anew by each trial. */
    const struct nuc_dataset *calibration_data, *dataset_data;
};

/* One trial. What was not reached or cannot be known is 0, of `sqnr` and `accuracy` NaN. */
struct nuc_tune_trial {
    struct nuc_options options; /* of a compiler that makes this program */
    bool compiled;
    const char *reason;   /* why it cannot be the best one: the error of its compilation, or what it exceeds; or NULL */
    double sqnr;          /* dB, infinite for equal outputs: of several outputs the mean of noise per signal counts */
    double accuracy;      /* share of right answers */
    uint64_t cycles;      /* of an inference, by the model of docs/cycle-model.md */
    double milliseconds;  /* these at the target's clock */
    size_t arena, memory; /* bytes; memory: with the NPU scratch beside it */
    size_t program;       /* bytes of the file */
    double seconds;       /* of the trial; nothing depends on it */
    bool unrivalled;      /* within the limits, and every other one loses at least 0.1 dB, or 1 % of cycles or memory */
};

struct nuc_tune_result {
    const struct nuc_tune_trial *trials; /* in the order of the search; the first has the compiler's options */
    size_t n_trials;
    size_t best;          /* n_trials: none keeps the limits */
    const char *unmet;    /* then: what the nearest one exceeds, in one line */
    size_t n_calibration; /* samples of each trial's calibration */
    size_t n_compared;    /* samples its outputs are compared on */
    bool calibrated_on;   /* they are among those: the data has a single sample */
    bool split;           /* they are calibration samples held out; a compilation with all of them gives other ranges */
    bool has_accuracy;
};

/*
 * Tries options of a model as it was opened, coordinate by coordinate from the compiler's own: of each option in turn
 * the value that brings most, again from the first one until none does; values that lost clearly or have no effect are
 * not tried again. `calibration` may be NULL for a quantized model, which has no SQNR. Of fewer than 4 samples one is
 * held out, of more each fourth, of a single one none. Trials that fail are part of the result; NUC_NO_MEMORY and
 * NUC_IO end the call, and so does the first trial when it fails for another reason than NUC_PROPERTY. Nothing is
 * written: a compiler with the options of the best trial makes its program from all samples.
 */
enum nuc_status nuc_tune(struct nuc_model *m, const char *calibration, const struct nuc_tune_options *options,
                         struct nuc_tune_result *out);

#ifdef __cplusplus
}
#endif
#endif
