/* What would make a model faster: options and changes of its source, each tried on it alone. */
#ifndef NUC_DRIVER_EXPLAIN_TRIALS_H
#define NUC_DRIVER_EXPLAIN_TRIALS_H

#include "driver/pipeline.h"
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
 * Fills e->trials: each is made as the model itself was made, with the same samples, as far as the work of all of them
 * is bounded. Changes of the source are tried where they are about operators on the CPU.
 */
void nuc_try_changes(const struct nuc_trying *t);

#endif
