/*
 * Functions that a model writes out in operators: products taken apart into factors, the numbers and views between
 * them, and what is found among them.
 */
#ifndef NUC_REWRITE_RECOGNIZE_WRITTEN_H
#define NUC_REWRITE_RECOGNIZE_WRITTEN_H

#include "ir/graph.h"

/* A constant of one element. */
bool nuc_number_of(struct nuc_graph *g, const struct nuc_node *node, double *value);

/* Whether both are one node, or constants of one element with the same bytes, of which each place has one of its own.
 */
bool nuc_is_same_number(struct nuc_graph *g, const struct nuc_node *a, const struct nuc_node *b);

/* As far as models write numbers out: 1.41421 is a root of 2. */
bool nuc_is_number(double value, double wanted);

/* What the value is behind views and copies, which keep the order of its elements. */
struct nuc_node *nuc_behind_views(struct nuc_node *node);

/* What is repeated. */
struct nuc_node *nuc_behind_expand(struct nuc_node *node);

/* A copy of the value, in its type: the order of the elements may be another one in memory. */
bool nuc_is_plain_copy(const struct nuc_node *node);

/* ---- products ---- */

#define NUC_MAX_FACTORS 16

/*
 * A factor of a product of the sizes of `frame`, with the power in which it stands there. It meets the product in the
 * sizes of `met`, by broadcasting, in the order of its own elements. Frames of one product have the same elements in
 * the same order: they are views of each other.
 */
struct nuc_written_factor {
    struct nuc_node *value;
    double power;
    struct nuc_meta frame, met;
};

struct nuc_product {
    double number; /* constants of one element */
    uint32_t count;
    struct nuc_written_factor factors[NUC_MAX_FACTORS];
};

/*
 * Takes a node apart: mul, div, neg, square, powers, sqrt, rsqrt, reciprocal, views, copies, expand. `whole` is not
 * taken apart (NULL: nothing is), nor what is behind more than a few dozen operators. `met` are the sizes in which the
 * node meets `frame`. False when there are too many factors.
 */
bool nuc_take_apart(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *frame,
                    const struct nuc_meta *met, const struct nuc_node *whole, struct nuc_product *out);

/* ---- sums ---- */

#define NUC_MAX_TERMS 4

struct nuc_summand {
    struct nuc_node *value;
    double sign;
    struct nuc_meta frame, met;
};

/* The terms of add and sub, views of the whole in between; returns how many, 0 when there are too many. */
uint32_t nuc_terms_of(struct nuc_graph *g, struct nuc_node *node, struct nuc_summand terms[NUC_MAX_TERMS]);

/* ---- constants in a frame ---- */

/* values[i] *= constant[i]^power, or += scale * constant[i], of each element of the frame. */
void nuc_multiply_static(struct nuc_graph *g, const struct nuc_written_factor *f, float *values);
void nuc_add_static(struct nuc_graph *g, const struct nuc_summand *t, float *values);

#endif
