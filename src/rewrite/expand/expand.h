/*
 * The stage `expand`: composite operators of torch, and those that only decomposed archives name, become the operators
 * that all later stages know. One function per operator; each expand_*.c has the table of a family.
 */
#ifndef NUC_REWRITE_EXPAND_EXPAND_H
#define NUC_REWRITE_EXPAND_EXPAND_H

#include "ir/args.h"
#include "rewrite/insert.h"
#include "rewrite/to_edge/decompose.h"

/*
 * Builds in front of `node`, in the ATen dialect, what the operator computes and returns the node that stands for its
 * value. The value's type and sizes are compared with those the archive states. Of several results each is put in place
 * by nuc_replace_item(), and NULL returned. What it builds may be composite again. The arguments are as the archive has
 * them: only their kinds have been checked.
 */
typedef struct nuc_node *(*expansion)(struct nuc_graph *g, struct nuc_node *node);

/* What no formula of ops.def expresses. */
struct nuc_expansion {
    enum nuc_op op;
    expansion expand;
    bool (*applies)(const struct nuc_node *node); /* NULL: always */
};

/* Each ends with a row without an expansion. */
extern const struct nuc_expansion nuc_matrix_expansions[], nuc_known_expansions[];

/*
 * Replaces `node` by what `expand` builds, which takes its name. Returns the node to go on with: the first of those
 * that stand for it, which may have an expansion themselves.
 */
struct nuc_node *nuc_expand_node(struct nuc_graph *g, struct nuc_node *node, expansion expand);

/*
 * The end of that: `value`, which was built between `before`, the node's predecessor (NULL: it was the first), and the
 * node when the next id was `old_ids`, takes the place and name of the node.
 */
struct nuc_node *nuc_replace_expanded(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *before,
                                      uint32_t old_ids, struct nuc_node *value);

/* Fails where what a mask chooses is used for anything but to compute each element and write it back (masked.c). */
void nuc_check_masked(struct nuc_graph *g);

/* ---- Einstein's sums (expand_einsum.c) ---- */

/* A tensor with a letter for each dimension. */
#define NUC_MAX_LABELS 64
struct nuc_labelled {
    struct nuc_node *value;
    uint32_t rank;
    uint8_t labels[NUC_MAX_RANK]; /* below NUC_MAX_LABELS, each once */
};

/*
 * Einstein's sum of two tensors over the labels that are not `kept`: a product of matrices, or of elements where
 * nothing is summed (expand_einsum.c). Dimensions of one label have one size.
 */
struct nuc_labelled nuc_contract(struct nuc_graph *g, struct nuc_node *node, struct nuc_labelled a,
                                 struct nuc_labelled b, uint64_t kept);

/* Of any number of tensors, as torch.einsum() has it; `path` is of kind NUC_ARG_NONE where there is none. */
struct nuc_node *nuc_insert_einsum(struct nuc_graph *g, struct nuc_node *node, const char *equation,
                                   const struct nuc_arg *tensors, const struct nuc_arg *path);

/* The tensor with its dimensions in the order of `labels`. */
struct nuc_node *nuc_order_labels(struct nuc_graph *g, struct nuc_node *node, struct nuc_labelled x,
                                  const uint8_t *labels);

#endif
