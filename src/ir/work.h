/* What a run of a graph takes, from its shapes alone: known before anything is computed. */
#ifndef NUC_IR_WORK_H
#define NUC_IR_WORK_H

#include "ir/graph.h"

/* Products of a convolution, matrix product or recurrent layer, elements that a pool reads; 0 for other operators. */
double nuc_node_products(const struct nuc_node *node);

/*
 * Fails with NUC_UNSUPPORTED where a value is larger than NUC_MAX_VALUE_BYTES or a run takes more than
 * NUC_MAX_RUN_PRODUCTS: the message names the operator. Both are far beyond what a microcontroller can do, and keep a
 * small file from occupying the host for hours.
 */
void nuc_check_work(const struct nuc_graph *g);

#endif
