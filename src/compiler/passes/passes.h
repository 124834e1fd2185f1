/*
 * Rewrites of the graph on its way to the partitioner. Each pass is one function in one file; their order is one table
 * a stage.
 *
 *   nuc_run_aten_passes  ATen, before observers are placed
 *   nuc_to_edge          ATen to Edge: in-place operators become functional, composite ones are decomposed
 *   nuc_run_edge_passes  Edge, before partitioning
 */
#ifndef NUC_PASSES_PASSES_H
#define NUC_PASSES_PASSES_H

#include "compiler/graph/graph.h"

struct nuc_aten_options {
    bool reference_compat; /* what the reference backend leaves undone stays undone */
};

/* Every pass once, in order: batch norms are folded, constants computed, operators brought into a quantizable form. */
void nuc_run_aten_passes(struct nuc_graph *g, const struct nuc_aten_options *options);

/*
 * Leaves only operators of the Edge dialect, quantize and dequantize nodes and getitem. Values get the dim orders Edge
 * operators give them, and nodes the names torch gives them when it traces the graph again. Fails with
 * NUC_UNSUPPORTED naming the node when an operator has no Edge form.
 */
void nuc_to_edge(struct nuc_graph *g);

/* Up to ten times all passes, each until it finds nothing more, or until none changes anything. Nodes are renamed. */
void nuc_run_edge_passes(struct nuc_graph *g);

#endif
