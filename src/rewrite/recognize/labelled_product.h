/*
 * Values taken apart into sums of products of tensors whose dimensions have labels: which factors vary along which
 * dimensions decides what can be computed in another order.
 */
#ifndef NUC_REWRITE_RECOGNIZE_LABELLED_PRODUCT_H
#define NUC_REWRITE_RECOGNIZE_LABELLED_PRODUCT_H

#include "rewrite/expand/expand.h"

#define NUC_MAX_LABELLED_FACTORS 12
#define NUC_MAX_LABELLED_TERMS 16

/* A tensor whose elements, in logical order, follow these labels; dimensions of size 1 have none. */
struct nuc_labelled_factor {
    struct nuc_node *value;
    int power;          /* in which it stands in the product: 1, 2, -1, ... */
    const float *known; /* values of a constant, or of what is computed from constants; else NULL */
    uint32_t count;     /* of labels */
    uint8_t labels[NUC_MAX_RANK];
};

/* A product, summed over the labels that the whole does not have. */
struct nuc_labelled_term {
    uint32_t count;
    struct nuc_labelled_factor factors[NUC_MAX_LABELLED_FACTORS];
    double number; /* one more factor */
};

struct nuc_labelled_sum {
    int64_t sizes[NUC_MAX_LABELS];
    uint32_t n_labels;
    /* Computed values that vary along labels of one of these sets alone, and summed ones, are factors as they are. */
    uint64_t whole[2];
    bool products_only; /* below the root sums and matrix products are factors as they are, too */
    uint32_t count;
    struct nuc_labelled_term *terms;
};

/*
 * Takes apart `root`, whose elements follow `labels` of e->sizes. Sets e->count and e->terms, and adds labels for what
 * is summed. False when there are too many terms or factors.
 */
bool nuc_take_labelled(struct nuc_graph *g, struct nuc_labelled_sum *e, const struct nuc_labelled_factor *root);

/* Labels of a factor, and of all factors of a term that are known or computed, as a set. */
uint64_t nuc_factor_labels(const struct nuc_labelled_factor *f);
uint64_t nuc_term_labels(const struct nuc_labelled_term *t, bool known);

/* The labels of a set in order, and how many there are. */
uint32_t nuc_list_labels(uint64_t set, uint8_t *labels);

/* Product of the sizes of the labels in a set. */
double nuc_labelled_elements(const struct nuc_labelled_sum *e, uint64_t labels);

/*
 * The product of the known factors of a term and its number, as an array over `labels`, summed over the others. NULL
 * when that is more than thirty million values.
 */
float *nuc_known_product(struct nuc_graph *g, const struct nuc_labelled_sum *e, const struct nuc_labelled_term *t,
                         const uint8_t *labels, uint32_t count);

/* A computed factor to its power in front of `node`, with a dimension for each label. */
struct nuc_labelled nuc_insert_factor(struct nuc_graph *g, struct nuc_node *node, const struct nuc_labelled_sum *e,
                                      const struct nuc_labelled_factor *f);

/* The same value to the same power along the same labels. */
bool nuc_same_factor(const struct nuc_labelled_factor *a, const struct nuc_labelled_factor *b);

#endif
