/* Every pass: true when it changed the graph. */
#ifndef NUC_PASSES_PASS_LIST_H
#define NUC_PASSES_PASS_LIST_H

#include "compiler/graph/graph.h"

struct pass {
    const char *name;
    bool (*run)(struct nuc_graph *g);
};

/* ---- ATen ---- */

/* A batch norm behind a convolution or a linear of its own becomes part of weight and bias. */
bool nuc_fold_batch_norm(struct nuc_graph *g);
/* A 2-D pooling of [C, H, W] gets a batch dimension around it. */
bool nuc_batch_pools(struct nuc_graph *g);
/* A node all of whose tensors are static becomes a constant. */
bool nuc_fold_constants(struct nuc_graph *g);
/* linear + static bias-shaped tensor becomes one linear. */
bool nuc_fuse_linear_add(struct nuc_graph *g);
bool nuc_remove_dead_nodes(struct nuc_graph *g);

/* ---- Edge ---- */

/* An auxiliary node between dequantize and its operator gets a cluster of its own. */
bool nuc_separate_leading(struct nuc_graph *g);
/* An auxiliary node between an operator and its quantize gets a cluster of its own. */
bool nuc_separate_trailing(struct nuc_graph *g);
/* A quantize node behind a dequantize node with the same parameters is bypassed. */
bool nuc_fold_requantize(struct nuc_graph *g);

#endif
