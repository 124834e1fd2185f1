/* In-place operators. */
#ifndef NUC_REWRITE_TO_EDGE_FUNCTIONALIZE_H
#define NUC_REWRITE_TO_EDGE_FUNCTIONALIZE_H

#include "ir/graph.h"

/*
 * Whoever reads the operand of an in-place operator after it reads the operator's result instead. The operators keep
 * their in-place names; their decomposition gives them functional ones. Fails with NUC_UNSUPPORTED when another
 * tensor that shares the operand's memory is read afterwards.
 */
void nuc_functionalize(struct nuc_graph *g);

/*
 * Operators in place that write to memory which other values share become functional: what reads one of these values
 * afterwards reads a new one (in_place.c). Composite operators that make views are expanded before. Returns whether the
 * graph has changed in more than in who reads the result of an operator in place; such operators stay so where they
 * write to the whole of a tensor.
 */
bool nuc_resolve_writes(struct nuc_graph *g);

/* Operators in place whose operand, or a tensor that may share its memory, is read after them become functional. */
void nuc_keep_in_place(struct nuc_graph *g);

/* A composite operator whose result may share memory with its operand. */
bool nuc_is_composite_view(const struct nuc_node *node);

#endif
