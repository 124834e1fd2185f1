/* What becomes of a model under other options than its compiler's. */
#ifndef NUC_INTROSPECT_TRIAL_H
#define NUC_INTROSPECT_TRIAL_H

#include "data/dataset.h"
#include "introspect/introspect.h"

/* The model under the options that its compiler has now. Fails where no compilation takes its inputs. */
struct nuc_model *nuc_model_to_try(const struct nuc_model *m);

/* What its options leave open. */
struct nuc_choices {
    const struct nuc_options *options; /* as they are looked up */
    bool is_litert;                    /* it is a LiteRT model */
    bool takes_images;                 /* it is none, and an input has rank 4 */
    bool delegates;                    /* the NPU is asked */
    bool may_place;                    /* and an operator may be on either side */
    bool compares_widths;              /* --activations mixed has an effect */
    bool chooses_kernels;              /* and what the CPU computes may be in int8 or float */
};
struct nuc_choices nuc_model_choices(const struct nuc_model *m);

/* Elements of all that one run of the reference evaluator computes. */
int64_t nuc_values_per_run(const struct nuc_model *m);

/* The same model with an evaluator of its own, which lives as long as the arena. */
struct nuc_model *nuc_model_apart(const struct nuc_model *m);

struct nuc_tried_program {
    const uint8_t *bytes;
    size_t size;
    const struct nuc_program_report *report;
};

/*
 * Compiles the model under the options as `nucleon compile` does, but for its files and notes, with a part of the
 * samples; none: it is quantized. Calls use(user, program), after which the program is freed. Of a failure cx->message
 * says why.
 */
enum nuc_status nuc_try_program(const struct nuc_model *m, const struct nuc_options *as,
                                struct nuc_sample_source calibration, enum nuc_samples part,
                                void (*use)(void *user, const struct nuc_tried_program *program), void *user);

#endif
