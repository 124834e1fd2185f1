/* Nodes that rewrites build in front of another one: operators, constants, views. */
#ifndef NUC_REWRITE_INSERT_H
#define NUC_REWRITE_INSERT_H

#include "rewrite/rewrite.h"

/* op(input) and op(a, b) in front of `node`. */
struct nuc_node *nuc_insert_unary(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op, struct nuc_node *input);
struct nuc_node *nuc_insert_binary(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op, struct nuc_node *a,
                                   struct nuc_node *b);

/* The value in another type, by the dialect's operator; itself when it has that type. */
struct nuc_node *nuc_insert_cast(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *input,
                                 enum nuc_dtype dtype);

/* ---- constants, named after `node` ---- */

/* A constant without dimensions: number of an elementwise operator. */
struct nuc_node *nuc_insert_constant(struct nuc_graph *g, struct nuc_node *node, enum nuc_dtype dtype, double value);

/* op(input, number): the number has the input's type, or is float32 where the input is an integer and it is not. */
struct nuc_node *nuc_insert_with_number(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op,
                                        struct nuc_node *input, double number);

/* float32 of these sizes, values in logical order. */
struct nuc_node *nuc_insert_floats(struct nuc_graph *g, struct nuc_node *node, const float *values,
                                   const int64_t *sizes, uint32_t rank);

/* Of that type, sizes and dim order: `value` everywhere, or values[i] as element i in logical order. */
struct nuc_node *nuc_insert_filled(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *meta,
                                   double value);
struct nuc_node *nuc_insert_values(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *meta,
                                   const double *values);

/* ---- other shapes of the same values ---- */

/* view(input, sizes), of the value as it lies in memory; the same through a contiguous copy where torch needs one. */
struct nuc_node *nuc_insert_view(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                 const int64_t *sizes, uint32_t rank);
struct nuc_node *nuc_insert_reshape(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                    const int64_t *sizes, uint32_t rank);

/* ATen's reshape, which copies where the dim order asks for it; the input where it has these sizes. */
struct nuc_node *nuc_insert_reshaped(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                     const int64_t *sizes, uint32_t rank);

/* op(input, dim): unsqueeze and squeeze.dim. */
struct nuc_node *nuc_insert_with_dim(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op, struct nuc_node *input,
                                     int64_t dim);

/* Dimensions in another order; the second returns the input where they are in order. */
struct nuc_node *nuc_insert_permute(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                    const int64_t *dims);
struct nuc_node *nuc_insert_permuted(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                     const int64_t *dims);

/* `count` dimensions move from places `from` to places `to`; the others keep their order. */
struct nuc_node *nuc_insert_moved_dims(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                       const int64_t *from, const int64_t *to, uint32_t count);

/* Dimensions of size 1 repeated; the second returns the input where it has these sizes. */
struct nuc_node *nuc_insert_expand(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                   const int64_t *sizes, uint32_t rank);
struct nuc_node *nuc_insert_expanded(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                     const int64_t *sizes, uint32_t rank);

/* _clone_dim_order(input) into the dim order of `like`, whose sizes and dtype are those of the input. */
struct nuc_node *nuc_insert_clone(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                  const struct nuc_meta *like);

/* ---- parts and repetitions ---- */

/* Elements [start, end) of a dimension; the second returns the input where these are all. */
struct nuc_node *nuc_insert_slice(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, int64_t dim,
                                  int64_t start, int64_t end);
struct nuc_node *nuc_insert_part(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                                 int64_t start, int64_t end);

/* The product with a constant matrix [out, in] along dimension `dim`: but for the last one between two transpositions.
 */
struct nuc_node *nuc_insert_along(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                                  struct nuc_node *matrix);

/* The elements of a dimension that stand at these positions; the input where these are all of them, in order. */
struct nuc_node *nuc_insert_taken(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                                  const int64_t *indices, int64_t count);

/* The same by a slice where the positions are each as far from the one before it. */
struct nuc_node *nuc_insert_places(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                                   const int64_t *indices, int64_t count);

/* The value `times` times one after the other along a dimension. */
struct nuc_node *nuc_insert_repeated(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                                     int64_t times);

/* Zeros around: pairs of before and after from the last dimension on. */
struct nuc_node *nuc_insert_padded(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                   const int64_t *pads, uint32_t count);

/*
 * avg_pool1d or max_pool1d of [N, C, L] as the 2-D pooling `op` of [N, C, 1, L]. Lists of one element get a neutral one
 * in front.
 */
struct nuc_node *nuc_insert_pool_of_rows(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op);

/* Sum over some dimensions, of which there is at least one. */
struct nuc_node *nuc_insert_sum(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, const int64_t *dims,
                                uint32_t count, bool keepdim);

/* ---- reading ---- */

/* A dimension number counted from the front; fails when a tensor of that rank has none such. */
uint32_t nuc_expand_dim(struct nuc_graph *g, const struct nuc_node *node, int64_t dim, uint32_t rank);

/* Whether something reads item `index` of a tuple. */
bool nuc_is_item_read(const struct nuc_node *tuple, uint32_t index);

/* Fails with NUC_UNSUPPORTED: "<file>: <node>: <text>". */
_Noreturn void nuc_expand_fail(struct nuc_graph *g, const struct nuc_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The archive says what the operator makes; what stands for it makes the same, or its arguments were read wrongly. */
void nuc_expand_check(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_node *value);

/* `value` becomes item `index` of the tuple, whose stated type and sizes it has to have. */
void nuc_expand_item(struct nuc_graph *g, struct nuc_node *tuple, uint32_t index, struct nuc_node *value);

#endif
