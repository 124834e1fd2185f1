/*
 * The stage `expand`: composite operators of torch, and those that only decomposed archives name, become the operators
 * that all later stages know, by the formulas of their rows.
 */
#ifndef NUC_REWRITE_EXPAND_EXPAND_H
#define NUC_REWRITE_EXPAND_EXPAND_H

#include "ir/args.h"
#include "rewrite/insert.h"

/*
 * `value`, which was built between `before`, the node's predecessor (NULL: it was the first), and the node when the
 * next id was `old_ids`, takes the place and name of the node. Its type and sizes are compared with those the archive
 * states; of several results each has been put in place, and it is NULL. Returns the node to go on with: the first of
 * those that stand for it, which may be composite again.
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
