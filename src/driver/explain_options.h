/* What becomes of a model under other options, for its explanation. */
#ifndef NUC_DRIVER_EXPLAIN_OPTIONS_H
#define NUC_DRIVER_EXPLAIN_OPTIONS_H

#include "driver/pipeline.h"

struct nuc_explain_cpu;
struct nuc_explanation;

/*
 * What the CPU's part of a lowered model takes, by the nodes of the partitioned graph that was lowered: figures of the
 * profile of its program. NULL: none can be written (cpu_cycles.c).
 */
const struct nuc_explain_cpu *nuc_cpu_cycles_of(const struct nuc_graph *partitioned, const struct nuc_model *lowered);

/*
 * The explanation of a partitioned model by what the stage `lower` made of it; NULL: by estimates of its nodes
 * (api_explain.c).
 */
struct nuc_explanation *nuc_explain_lowered(struct nuc_model *m, const struct nuc_model *lowered);

/* Adds what a memory budget costs: `in_strips` is the partitioned model after the stage `strips`. */
void nuc_explain_strips(struct nuc_explanation *e, const struct nuc_model *partitioned,
                        const struct nuc_model *in_strips);

/* The same without any trial, from a lowering of its own where cycles are wanted. */
struct nuc_explanation *nuc_explain_partitioned(struct nuc_model *m, bool with_cycles);

/*
 * Fills e->helps with the options, alone, that make an inference at least a hundredth faster by estimate. `quantized`
 * is what `partitioned` was made of. What takes another quantization is left out where an inference takes long.
 */
void nuc_try_options(const struct nuc_model *partitioned, const struct nuc_model *quantized, struct nuc_explanation *e);

/*
 * Cycles under either placement: those of `e`, and those of the quantized model placed the other way, which are the
 * same where cost moved nothing.
 */
void nuc_compare_placements(struct nuc_explanation *e, const struct nuc_model *quantized,
                            const struct nuc_partitions *partitions);

#endif
