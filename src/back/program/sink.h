/* The order of instructions, for the sake of memory. */
#ifndef NUC_BACK_PROGRAM_SINK_H
#define NUC_BACK_PROGRAM_SINK_H

#include "ir/graph.h"

/*
 * Moves every operator that computes from constants alone to right before its first user: a dequantized weight then
 * takes memory for two instructions instead of from the start of the program on. Changes the graph's order only.
 */
void nuc_sink_constant_operators(struct nuc_graph *g);

#endif
