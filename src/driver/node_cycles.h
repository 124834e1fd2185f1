/*
 * What an inference takes, by the nodes of the partitioned graph: the figures of the profile of its program, which
 * `compile`, `run --profile` and `tune` print of it.
 */
#ifndef NUC_DRIVER_NODE_CYCLES_H
#define NUC_DRIVER_NODE_CYCLES_H

#include "driver/stages.h"
#include "explain/explain.h"

/*
 * Of a program of the lowered model, which was made of `partitioned`; `instructions` are the nodes that its
 * instructions were made of. Nothing it gives is part of `lowered`.
 */
const struct nuc_explain_cycles *nuc_cycles_of_program(const struct nuc_graph *partitioned,
                                                       const struct nuc_model *lowered, struct nuc_span program,
                                                       const struct nuc_node *const *instructions,
                                                       size_t n_instructions);

/* All cycles of the program that the model would have with this graph, which is used up; 0: it would have none. */
uint64_t nuc_cycles_with(const struct nuc_model *lowered, struct nuc_graph *graph);

/*
 * The explanation of a partitioned model by what the stages to `lower` or `strips` made of it and by what its program
 * takes; NULL: by estimates of its nodes.
 */
struct nuc_explanation *nuc_explain_lowered(struct nuc_model *m, const struct nuc_model *lowered,
                                            const struct nuc_explain_cycles *cycles);

/* The same without any trial, from a lowering of its own where cycles are wanted. */
struct nuc_explanation *nuc_explain_partitioned(struct nuc_model *m, bool with_cycles);

#endif
