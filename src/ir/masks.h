/*
 * Masks of a softmax: tensors of floats that are added to its scores, of which -infinity, or a number far below all
 * scores, takes out a place and other numbers are biases. Masks depend on no layer of the model.
 */
#ifndef NUC_IR_MASKS_H
#define NUC_IR_MASKS_H

#include "ir/graph.h"

/*
 * What is added to a score to hide it from a softmax: exp() makes zero of it, and it can be quantized. No score is as
 * large.
 */
#define NUC_MASKED (-16384.0f)

/* A mask has this and less for a place that is taken out, beside 0 or biases. */
#define NUC_FAR (-100.0f)

enum nuc_mask {
    NUC_MASK_NONE,
    NUC_MASK_HIDES, /* each value is 0 or takes out its place */
    NUC_MASK_OPEN   /* inputs decide which values there are, place by place */
};

/* Of a float32 value; a constant hides with NUC_MASKED alone. */
enum nuc_mask nuc_mask_of(struct nuc_graph *g, const struct nuc_node *node);

/* All values of a float32 operand in another shape or order, or repeated. */
bool nuc_moves_whole(const struct nuc_node *node);

/* A float32 constant whose values all take out their places. */
bool nuc_is_far(struct nuc_graph *g, const struct nuc_node *node);

/* Which of the two values of a where is such a constant, as argument; NUC_NO_ARG: none, or no where. */
uint32_t nuc_far_choice(struct nuc_graph *g, const struct nuc_node *where);

/*
 * Whether zero times the value is zero: no operator with a pole, such as a quotient or a logarithm, and no infinite
 * number lies between it and a layer, a norm or an input. Of many operators: false.
 */
bool nuc_is_finite(struct nuc_graph *g, const struct nuc_node *node);

/*
 * The operand of an addition that masks the other one, where softmax reads the sum along dimension *dim, perhaps behind
 * moves and other masks; NULL for any other node. *kind is what the operand is.
 */
struct nuc_node *nuc_added_mask(struct nuc_graph *g, const struct nuc_node *add, enum nuc_mask *kind);

/* The one dimension that a softmax or reduction works along; -1: several. */
int64_t nuc_row_dim(const struct nuc_node *node);

/*
 * The dimension along which every reader of the value takes a softmax or the largest value, perhaps behind moves and
 * masks; -1: none.
 */
int64_t nuc_softmax_dim(struct nuc_graph *g, const struct nuc_node *node);

/* The dimension along which every reader looks for the place of the smallest value, or all for the largest; -1: none.
 */
int64_t nuc_ranked_dim(struct nuc_graph *g, const struct nuc_node *node, bool *smallest);

/*
 * Sets marks[id] of what int8 has no place for, the others are left as they are: what computes a mask, up to the sum
 * with the scores; sums with and choices of numbers as large that no softmax reads, and the log_softmax of them.
 */
void nuc_mark_float_masks(struct nuc_graph *g, bool *marks);

#endif
