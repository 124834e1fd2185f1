/* What the operators of random graphs are built with. */
#ifndef NUC_RANDOM_BUILD_H
#define NUC_RANDOM_BUILD_H

#include "random_graph.h"

#define RB_MAX_VALUES 64
#define RB_MAX_PARAMETERS 128
#define RB_MAX_ELEMENTS 6000 /* of one value */

/* A value operators may read. */
struct rb_value {
    struct nuc_node *node;
    float bound; /* rough size of its values: what keeps products and exponentials from growing without end */
};

struct rb {
    struct random_state r;
    struct nuc_graph *g;
    struct rb_value values[RB_MAX_VALUES];
    unsigned n_values;
    struct nuc_node *parameters[RB_MAX_PARAMETERS];
    unsigned n_parameters;
    unsigned n_ops;
};

/*
 * Adds an operator that reads `x` first. False when the value does not fit the operator: then nothing was added but
 * parameters nobody reads.
 */
typedef bool rb_operator(struct rb *b, const struct rb_value *x, enum nuc_op op);

struct rb_row {
    enum nuc_op op;
    rb_operator *make;
};

/* Operators by family; the lists end with a row without a function. */
extern const struct rb_row rb_window_rows[]; /* random_window.c: convolutions, pools, resizes, batch norm */
extern const struct rb_row rb_math_rows[];   /* random_math.c: elementwise, products of matrices, reductions */
extern const struct rb_row rb_move_rows[];   /* random_move.c: views, parts, concatenations, pads */

/* A parameter of values in +-range, sometimes one that is there already. */
struct nuc_node *rb_parameter(struct rb *b, const int64_t *sizes, uint32_t rank, float range);
/* One of values in [low, high], of its own. */
struct nuc_node *rb_parameter_in(struct rb *b, const int64_t *sizes, uint32_t rank, float low, float high);

/* The operator's node with `x` as its first argument. */
struct nuc_node *rb_call(struct rb *b, enum nuc_op op, const struct rb_value *x);

/*
 * Infers the shape of the node and makes it a value of that bound. False, and the node is gone, when the arguments do
 * not fit or the result is too large.
 */
bool rb_finish(struct rb *b, struct nuc_node *node, float bound);

/* The same for an operator with several results; each becomes a value. */
bool rb_finish_parts(struct rb *b, struct nuc_node *node, float bound);

/* Another value of these sizes, or NULL. */
const struct rb_value *rb_same_sizes(struct rb *b, const struct nuc_meta *m);

static inline const struct nuc_meta *rb_meta(const struct rb_value *x)
{
    return &x->node->vals[0];
}

static inline int64_t rb_in(struct rb *b, int64_t lowest, int64_t highest)
{
    return random_in(&b->r, lowest, highest);
}

#endif
