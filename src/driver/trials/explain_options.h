/* Explanations of a model as it is, and under other options. */
#ifndef NUC_DRIVER_EXPLAIN_OPTIONS_H
#define NUC_DRIVER_EXPLAIN_OPTIONS_H

#include "driver/pipeline.h"

struct nuc_explanation;
struct nuc_explain_cycles;

/*
 * The explanation of a partitioned model by what the stages to `lower` or `strips` made of it and by what its program
 * takes; NULL: by estimates of its nodes (api_explain.c).
 */
struct nuc_explanation *nuc_explain_lowered(struct nuc_model *m, const struct nuc_model *lowered,
                                            const struct nuc_explain_cycles *cycles);

/* The same without any trial, from a lowering of its own where cycles are wanted. */
struct nuc_explanation *nuc_explain_partitioned(struct nuc_model *m, bool with_cycles);

/*
 * Cycles under either placement: those of `e`, and those of the quantized model placed the other way, which are the
 * same where cost moved nothing.
 */
void nuc_compare_placements(struct nuc_explanation *e, const struct nuc_model *quantized,
                            const struct nuc_partitions *partitions);

#endif
