/* Boxes of places of a value: those of each dimension that something takes. */
#ifndef NUC_REWRITE_PASSES_BOX_H
#define NUC_REWRITE_PASSES_BOX_H

#include "ir/graph.h"

/* Places from lo to hi - 1 of each dimension, or those of them that a list names, `n` in order. */
struct nuc_box {
    int64_t lo[NUC_MAX_RANK], hi[NUC_MAX_RANK], n[NUC_MAX_RANK];
    const int64_t *at[NUC_MAX_RANK];
};

struct nuc_box nuc_box_of(const struct nuc_meta *m);
bool nuc_box_is_all(const struct nuc_box *b, const struct nuc_meta *m);
bool nuc_box_is_same(const struct nuc_box *a, const struct nuc_box *b, uint32_t rank);

/* How many places it has along a dimension, and along dimensions from to to - 1 together. */
int64_t nuc_box_extent(const struct nuc_box *b, uint32_t dim);
int64_t nuc_box_count(const struct nuc_box *b, uint32_t from, uint32_t to);

/* Place number `i` along a dimension, and which number a place has. */
int64_t nuc_box_place(const struct nuc_box *b, uint32_t dim, int64_t i);
int64_t nuc_box_index(const struct nuc_box *b, uint32_t dim, int64_t place);

/* Whether each place is as far from the one before it. */
bool nuc_box_is_even(const struct nuc_box *b, uint32_t dim);

/* Along a dimension: a run of places, places in order, those of another box; all of the dimensions from to to - 1. */
void nuc_box_set(struct nuc_box *b, uint32_t dim, int64_t lo, int64_t hi);
void nuc_box_set_list(struct nuc_box *b, uint32_t dim, const int64_t *at, int64_t n);
void nuc_box_set_along(struct nuc_box *b, uint32_t dim, const struct nuc_box *from, uint32_t along);
void nuc_box_widen(struct nuc_box *b, const struct nuc_meta *m, uint32_t from, uint32_t to);

/* Both, and along a dimension where they differ what lies between. */
struct nuc_box nuc_box_hull(struct nuc_box a, const struct nuc_box *b, uint32_t rank);

/*
 * Dimensions from to to - 1 counted as one, the first of the box that is returned; all from the first place to the last
 * one where a list would be long. The other way round: the smallest box that has such places.
 */
struct nuc_box nuc_box_flat(struct nuc_context *cx, const struct nuc_box *b, const struct nuc_meta *m, uint32_t from,
                            uint32_t to);
void nuc_box_unfold(struct nuc_context *cx, struct nuc_box *b, const struct nuc_meta *m, uint32_t from, uint32_t to,
                    const struct nuc_box *flat);

#endif
