/*
 * Which places share an observer. Sharing is asked for by NUC_QSPEC_SHARED and implied where a value is read with the
 * very spec it was written with. Source of the rules: torchao/quantization/pt2e/prepare.py.
 */
#ifndef NUC_QUANTIZE_SHARING_H
#define NUC_QUANTIZE_SHARING_H

#include "quantize/annotation.h"

#define NUC_NO_GROUP UINT32_MAX

/* Places with one observer. */
struct nuc_qgroup {
    struct nuc_qspec spec; /* never SHARED */
    uint32_t from[2];      /* DERIVED: groups before this one */
};

struct nuc_sharing {
    uint32_t n_groups;
    struct nuc_qgroup *groups;

    /* By node id: group of the output and of each input, parallel to the node's annotation. NUC_NO_GROUP: none. */
    uint32_t *output_group;
    uint32_t **input_groups;
};

/* `share_derived`: as the reference does, for parameters that derive from others too. */
struct nuc_sharing *nuc_share(struct nuc_graph *g, struct nuc_annotation **annotations, bool share_derived);

/* Group of `node` as `user` reads it, NUC_NO_GROUP when that is not quantized. */
uint32_t nuc_edge_group(const struct nuc_sharing *s, struct nuc_annotation **annotations, const struct nuc_node *node,
                        const struct nuc_node *user);

#endif
