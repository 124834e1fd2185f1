/* Dim orders that portable kernels ask for, states and order, brought about before a graph becomes a program. */
#ifndef NUC_BACK_PROGRAM_LEGALIZE_H
#define NUC_BACK_PROGRAM_LEGALIZE_H

#include "ir/graph.h"

/*
 * Puts a _to_dim_order_copy in front of each operator whose portable kernel takes contiguous tensors only and whose
 * input is not, and of operators over several tensors that differ in dim order; what follows takes on the dim order
 * that results, up to the next delegate or convolution, which read a copy in the old one. as_reference: only in front
 * of the operators for which ExecuTorch's own lowering does so. Changes the graph.
 */
void nuc_legalize_dim_orders(struct nuc_graph *g, bool as_reference);

/*
 * States are written after all else: what the program returns of an old value is a copy, and so is what a state takes
 * of another one, or in another dim order. Changes the graph.
 */
void nuc_settle_states(struct nuc_graph *g);

/*
 * Moves every operator that computes from constants alone to right before its first user: a dequantized weight then
 * takes memory for two instructions instead of from the start of the program on. Changes the graph's order only.
 */
void nuc_sink_constant_operators(struct nuc_graph *g);

#endif
