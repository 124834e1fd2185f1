/* What would make a model faster: options and changes of its source, each tried on it alone. */
#ifndef NUC_DRIVER_EXPLAIN_TRIALS_H
#define NUC_DRIVER_EXPLAIN_TRIALS_H

#include "driver/trials/explain_options.h"

/*
 * Fills e->trials: each is made as the model itself was made, with the same samples, as far as the work of all of them
 * is bounded. Changes of the source are tried where they are about operators on the CPU.
 */
void nuc_try_changes(const struct nuc_trying *t);

#endif
