/* Explanations of a model as it is, and under other options. */
#ifndef NUC_DRIVER_EXPLAIN_OPTIONS_H
#define NUC_DRIVER_EXPLAIN_OPTIONS_H

#include "driver/stages.h"
#include "explain/explain.h"

struct nuc_trying {
    struct nuc_context *cx;
    const struct nuc_model *partitioned, *quantized; /* the second as its partitioning began */
    struct nuc_sample_source calibration;            /* what it was quantized with; none: it came so, or by random */
    struct nuc_explanation *e;
};

/*
 * Option `index` of those that may help. False: there are no more. Where it applies, changes `o` and sets
 * out->compiles; `requantizes`: the quantizer asks for it, too.
 */
bool nuc_option_to_try(const struct nuc_trying *t, size_t index, struct nuc_options *o, bool *requantizes,
                       struct nuc_explain_trial *out);

/* No more options than that apply to a model. */
#define NUC_MOST_OPTIONS 16

/*
 * Cycles under either placement: those of `e`, and those of the quantized model placed the other way, which are the
 * same where cost moved nothing.
 */
void nuc_compare_placements(struct nuc_explanation *e, const struct nuc_model *quantized,
                            const struct nuc_partitions *partitions);

/*
 * Fills e->trials with options and changes of the source (explain_trials.c): each is made as the model itself was made,
 * with the same samples, as far as the work of all of them is bounded. Changes of the source are tried where they are
 * about operators on the CPU.
 */
void nuc_try_changes(const struct nuc_trying *t);

#endif
