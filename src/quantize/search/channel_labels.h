/*
 * Which elements of the values of a network must have the same factor, when values are scaled channel by channel
 * without a change of what the network computes. Each element has a label; labels that must agree are joined.
 *
 * Labels of a tensor are a tensor of the same rank, of size 1 along dimensions that they do not vary with.
 */
#ifndef NUC_QUANTIZE_SEARCH_CHANNEL_LABELS_H
#define NUC_QUANTIZE_SEARCH_CHANNEL_LABELS_H

#include "ir/axis_map.h"
#include "ir/graph.h"

typedef uint32_t nuc_label;

#define NUC_ANY_LABEL UINT32_MAX /* of a zero, which any factor leaves as it is */

/* Sets of labels that agree. */
struct nuc_label_sets {
    struct nuc_context *cx;
    uint32_t count;
    size_t capacity, pinned_capacity;
    nuc_label *parent; /* by label: itself at the root */
    bool *pinned;      /* by label, of roots: the factor is 1 */
};

struct nuc_label_sets *nuc_label_sets_new(struct nuc_context *cx);

/* The label that stands for all that agree with `l`. */
nuc_label nuc_label_root(const struct nuc_label_sets *s, nuc_label l);

/* They agree from now on. */
void nuc_label_join(struct nuc_label_sets *s, nuc_label a, nuc_label b);
void nuc_label_pin(struct nuc_label_sets *s, nuc_label l);
bool nuc_label_is_pinned(const struct nuc_label_sets *s, nuc_label l);

struct nuc_channel_labels {
    uint32_t rank;
    int64_t sizes[NUC_MAX_RANK];
    size_t count;
    nuc_label *at; /* `count`, in logical order */
    bool squared;  /* the factors are the squares of those of the labels */
};

/* New labels that vary along the dimensions of the mask. */
struct nuc_channel_labels *nuc_labels_new(struct nuc_label_sets *s, const struct nuc_meta *m, uint32_t dims);

/* One label for all of a value of that rank. */
struct nuc_channel_labels *nuc_labels_of_one(struct nuc_label_sets *s, uint32_t rank, nuc_label l);

/* Labels along one dimension: `at` holds sizes[dim] of them. */
struct nuc_channel_labels *nuc_labels_along(struct nuc_label_sets *s, const struct nuc_meta *m, uint32_t dim,
                                            const nuc_label *at);

bool nuc_labels_vary(const struct nuc_channel_labels *l, uint32_t dims);
bool nuc_labels_are_pinned(const struct nuc_label_sets *s, const struct nuc_channel_labels *l);
void nuc_labels_pin(struct nuc_label_sets *s, const struct nuc_channel_labels *l);

/* Joins what differs along the dimensions of the mask only. */
struct nuc_channel_labels *nuc_labels_even(struct nuc_label_sets *s, const struct nuc_channel_labels *l, uint32_t dims);

/* Joins two tensors that broadcast, element by element. */
struct nuc_channel_labels *nuc_labels_join(struct nuc_label_sets *s, const struct nuc_channel_labels *a,
                                           const struct nuc_channel_labels *b);

/* Labels of values that lie one behind the other along a dimension of the whole. */
struct nuc_channel_labels *nuc_labels_concatenate(struct nuc_label_sets *s, struct nuc_channel_labels *const *parts,
                                                  const struct nuc_arg *values, uint32_t dim,
                                                  const struct nuc_meta *whole);

/* Offset in `at` of an element of the value. */
size_t nuc_labels_offset(const struct nuc_channel_labels *l, const int64_t *index);

/*
 * Labels of a result of the sizes of `to`, which follows a value of the sizes of `from`: those of the elements that it
 * comes from, squared as these are, joined where these are several. Where nothing of the value is read, any label will
 * do.
 */
struct nuc_channel_labels *nuc_labels_follow(struct nuc_label_sets *s, const struct nuc_channel_labels *l,
                                             const struct nuc_axis_map *map, const struct nuc_meta *from,
                                             const struct nuc_meta *to);

#endif
