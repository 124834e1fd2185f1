/*
 * Shape rules: for each operator a function that computes the metas of its results from its arguments. Layouts follow
 * eager torch: a rule states the strides torch gives the result, and the dim order is what Tensor.dim_order() makes of
 * them. Private to the graph folder, the importer and the exporter.
 */
#ifndef NUC_IR_SHAPES_SHAPES_H
#define NUC_IR_SHAPES_SHAPES_H

#include "host/numbers.h"
#include "ir/graph.h"

/* More elements than this in one tensor are refused: the targets have megabytes, and index arithmetic stays small. */
#define NUC_MAX_ELEMENTS ((int64_t)INT32_MAX)

struct nuc_shape_call {
    struct nuc_graph *g;
    struct nuc_node *node;
};

typedef void nuc_shape_rule(const struct nuc_shape_call *c);

/* ---- dim orders (shape_order.c) ---- */

/*
 * What torch's Tensor.dim_order() says of these strides. Where both orders fit (size-1 dimensions), torch sorts by
 * stride, larger dimensions inside; source: torch/_prims_common, compute_elementwise_output_logical_to_physical_perm.
 */
void nuc_dim_order_of_strides(const int64_t *sizes, const int64_t *strides, uint32_t rank, uint8_t *dim_order);

/* The same for the result of an elementwise operator of several inputs: strides[i] are those of input i, 0 where
 * broadcast. `count` >= 1. */
void nuc_dim_order_of_inputs(const int64_t *sizes, const int64_t (*strides)[NUC_MAX_RANK], uint32_t count,
                             uint32_t rank, uint8_t *dim_order);

/* True for a 4-dimensional tensor whose strides make torch continue in channels-last (c10 suggest_memory_format). */
bool nuc_suggests_channels_last(const struct nuc_meta *m);

/*
 * Makes m contiguous or channels-last (rank 4 only) as torch names the order: both can be the same. Sizes that
 * nuc_shape_result() refuses are left contiguous.
 */
void nuc_order_as(struct nuc_meta *m, bool channels_last);

/* The number of elements when no size is negative and it does not exceed NUC_MAX_ELEMENTS, else -1. */
int64_t nuc_checked_elements(const int64_t *sizes, uint32_t rank);

/*
 * Index in its storage of the last element of a tensor whose first one has index `offset`; -1 when there is none. Sizes
 * and strides fit 31 bits each; an index above 2^62, where the next dimension could overflow, stays as it is.
 */
int64_t nuc_last_element(const int64_t *sizes, const int64_t *strides, uint32_t rank, int64_t offset);

/*
 * Strides of a tensor of the sizes of `in` under `own` strides seen with the sizes of `m`; false when that needs a
 * copy.
 */
bool nuc_view_strides(const struct nuc_meta *in, const int64_t *own, const struct nuc_meta *m,
                      int64_t strides[NUC_MAX_RANK]);

/* Whether the operator copies what it would view in the ATen dialect: such a copy is contiguous. */
bool nuc_shape_is_copy(const struct nuc_shape_call *c);

/* ---- arguments and results of a rule (shapes.c). The getters fail with NUC_BAD_INPUT naming the node. ---- */

_Noreturn void nuc_shape_fail(const struct nuc_shape_call *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The single value of the tensor in argument `index`; the optional form gives NULL for None. */
const struct nuc_meta *nuc_shape_input(const struct nuc_shape_call *c, uint32_t index);
const struct nuc_meta *nuc_shape_optional_input(const struct nuc_shape_call *c, uint32_t index);

/* Numbers are limited to 32 bits, so that rules may add and multiply two of them in 64. */
int64_t nuc_shape_int(const struct nuc_shape_call *c, uint32_t index);
bool nuc_shape_bool(const struct nuc_shape_call *c, uint32_t index);
double nuc_shape_float(const struct nuc_shape_call *c, uint32_t index);
const char *nuc_shape_string(const struct nuc_shape_call *c, uint32_t index);
bool nuc_shape_is_none(const struct nuc_shape_call *c, uint32_t index);

/* The argument as it is, of that kind. */
const struct nuc_arg *nuc_shape_arg(const struct nuc_shape_call *c, uint32_t index, enum nuc_arg_kind kind);

/* A list and its length; None gives length 0. */
const int64_t *nuc_shape_ints(const struct nuc_shape_call *c, uint32_t index, uint32_t *count);
const double *nuc_shape_floats(const struct nuc_shape_call *c, uint32_t index, uint32_t *count);

/* An int[2]: two ints, one standing for both. False when the list is empty. */
bool nuc_shape_pair(const struct nuc_shape_call *c, uint32_t index, int64_t pair[2]);

/* A dtype argument, or `fallback` for None. */
enum nuc_dtype nuc_shape_dtype(const struct nuc_shape_call *c, uint32_t index, enum nuc_dtype fallback);

/* A dimension number in [-rank, rank) made non-negative. A scalar has the dimension 0. */
uint32_t nuc_shape_dim(const struct nuc_shape_call *c, int64_t dim, uint32_t rank);

/* Sets named[d] of those that an argument names, a number or a list, and returns how many there are. */
uint32_t nuc_shape_named_dims(const struct nuc_shape_call *c, uint32_t index, uint32_t rank, bool named[NUC_MAX_RANK]);

/* Element `index` of a list of tensors; `what` they are, for messages. */
const struct nuc_meta *nuc_shape_list_item(const struct nuc_shape_call *c, const struct nuc_arg *list, uint32_t index,
                                           const char *what);

/* Fails unless argument `index` has one value for each channel, or is not given. */
void nuc_shape_check_channels(const struct nuc_shape_call *c, uint32_t index, int64_t channels);

/* Fails when a size is negative or the tensor has too many elements. */
void nuc_shape_check(const struct nuc_shape_call *c, const struct nuc_meta *m);

/* Checks and sets the node's single value, or its tuple. */
void nuc_shape_result(const struct nuc_shape_call *c, const struct nuc_meta *m);
void nuc_shape_results(const struct nuc_shape_call *c, const struct nuc_meta *metas, uint32_t count);

/*
 * A result seen through strides of the input's memory is checked and its order named, or it is made contiguous when it
 * is a copy; nuc_shape_strided() sets it too.
 */
void nuc_shape_order_view(const struct nuc_shape_call *c, struct nuc_meta *m, const int64_t *strides);
void nuc_shape_strided(const struct nuc_shape_call *c, struct nuc_meta *m, const int64_t *strides);

/* `in` without the dimensions marked in `drop`, its order unnamed, and the strides of those that stay. */
struct nuc_meta nuc_shape_without(const struct nuc_meta *in, const bool *drop, int64_t strides[NUC_MAX_RANK]);

/* torch.result_type of two tensors; a scalar tensor yields to one with dimensions unless its category is higher. */
enum nuc_dtype nuc_shape_promote(const struct nuc_shape_call *c, const struct nuc_meta *a, const struct nuc_meta *b);

/* Gives `m` the rank and sizes of two tensors broadcast together; false where they do not. */
bool nuc_broadcast_sizes(const struct nuc_meta *a, const struct nuc_meta *b, struct nuc_meta *m);

/* Whether a tensor broadcasts to the sizes of another. */
bool nuc_broadcasts_to(const struct nuc_meta *from, const struct nuc_meta *to);

/* The elementwise result of self, NUC_SELF, and the tensor in another argument (shapes_math.c). */
struct nuc_meta nuc_shape_broadcast(const struct nuc_shape_call *c, uint32_t other);

/*
 * Type and sizes of what a list of index tensors picks out of self, NUC_SELF (shapes_parts.c), and whether it holds a
 * tensor of bool.
 */
struct nuc_meta nuc_shape_picked(const struct nuc_shape_call *c, uint32_t arg);
bool nuc_shape_has_masks(const struct nuc_shape_call *c, uint32_t arg);

/* Why an index that is a mask is refused. */
#define NUC_INDEX_IS_MASK                                                                                              \
    "the index is a mask, so that the shape depends on the data, where a program has fixed memory: use torch.where "   \
    "or a product with the mask"

/* ---- rules: those of families, and of the rows SHAPE of ops.def, some of which name one rule several times ---- */

nuc_shape_rule nuc_shape_conv, nuc_shape_compare, nuc_shape_quantize, nuc_shape_dequantize, nuc_shape_pool,
    nuc_shape_scan, nuc_shape_softmax, nuc_shape_recurrent, nuc_shape_permute, nuc_shape_cat;

#define SHAPE(op, rule) nuc_shape_rule nuc_shape_##rule;
#include "ir/ops.def"

#endif
