/* In-place operators. */
#ifndef NUC_PASSES_FUNCTIONALIZE_H
#define NUC_PASSES_FUNCTIONALIZE_H

#include "compiler/graph/graph.h"

/*
 * Whoever reads the operand of an in-place operator after it reads the operator's result instead. The operators keep
 * their in-place names; their decomposition gives them functional ones. Fails with NUC_UNSUPPORTED when another
 * tensor that shares the operand's memory is read afterwards.
 */
void nuc_functionalize(struct nuc_graph *g);

#endif
