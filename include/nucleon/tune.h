/*
 * Finds the best options for a model by trials. Each trial compiles the model, counts cycles and bytes of the program,
 * and compares its outputs with the float model's.
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
    /* Samples for the comparison, with an array 'label' for the accuracy; NULL: a part of the calibration samples. */
    const char *dataset;
    const char *const *held; /* names of options ("--observer") that keep the compiler's values */
    size_t n_held;
    /* Limits of the program, in addition to memory_budget of the compiler's options. */
    bool has_min_sqnr;
    double min_sqnr;       /* dB; default for goals other than SQNR: 0.1 dB less than the first trial */
    uint64_t cycle_budget; /* 0: any */
    bool varies_io;        /* int8 inputs and outputs are tried, too, which the caller then has to quantize */
    /* Data sets of the same compiler in place of the paths, which are then NULL. Each trial binds them again. */
    const struct nuc_dataset *calibration_data, *dataset_data;
};

/* One trial. Unknown figures are 0; unknown `sqnr` and `accuracy` are NaN. */
struct nuc_tune_trial {
    struct nuc_options options; /* of a compiler that makes this program */
    bool compiled;
    const char *reason;   /* why it cannot be the best: its compilation error, or the limit that it exceeds; or NULL */
    double sqnr;          /* dB, infinite for equal outputs; of several outputs the mean of noise / signal */
    double accuracy;      /* share of right answers */
    uint64_t cycles;      /* of an inference, by the model of docs/cycle-model.md */
    double milliseconds;  /* these at the target's clock */
    size_t arena, memory; /* bytes; memory: with the NPU scratch beside it */
    size_t program;       /* bytes of the file */
    double seconds;       /* of the trial; nothing depends on it */
    bool unrivalled; /* within the limits, and every other trial loses at least 0.1 dB or 1 % of cycles or memory */
};

struct nuc_tune_result {
    const struct nuc_tune_trial *trials; /* in the order of the search; the first has the compiler's options */
    size_t n_trials;
    size_t best;          /* n_trials: no trial keeps the limits */
    const char *unmet;    /* in that case: what the nearest trial exceeds, in one line */
    size_t n_calibration; /* samples of each trial's calibration */
    size_t n_compared;    /* samples for the comparison */
    bool calibrated_on;   /* the same sample is used for both, as there is only one */
    bool split; /* the comparison uses held-out calibration samples; compiling with all of them gives other ranges */
    bool has_accuracy;
    /* What the best trial's options change for who calls the program, a sentence each. */
    const char *const *changes;
    size_t n_changes;
};

/*
 * Searches the options one after the other, starting from the compiler's own. For each option it keeps the best value,
 * and it repeats the round until nothing improves. Values that lost clearly or had no effect are not tried again.
 * `calibration` may be NULL for a quantized model, which has no SQNR. Every fourth sample is held out; one of fewer
 * than 4, none of a single one. Failed trials are part of the result. NUC_NO_MEMORY and NUC_IO end the call; so does a
 * first trial that fails for another reason than NUC_PROPERTY. Writes nothing: to make the program, compile with the
 * options of the best trial and all samples.
 */
enum nuc_status nuc_tune(struct nuc_model *m, const char *calibration, const struct nuc_tune_options *options,
                         struct nuc_tune_result *out);

#ifdef __cplusplus
}
#endif
#endif
