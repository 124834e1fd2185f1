/*
 * The stage `expand`: composite operators of torch, and those that only decomposed archives name, become the operators
 * that all later stages know. One function per operator; expand.c has the table.
 */
#ifndef NUC_REWRITE_EXPAND_EXPAND_H
#define NUC_REWRITE_EXPAND_EXPAND_H

#include "ir/args.h"
#include "rewrite/rewrite.h"
#include "rewrite/to_edge/decompose.h"

/*
 * Builds in front of `node`, in the ATen dialect, what the operator computes and returns the node that stands for its
 * value. The value's type and sizes are compared with those the archive states. Of several results each is put in place
 * by nuc_replace_item(), and NULL returned. What it builds may be composite again. The arguments are as the archive has
 * them: only their kinds have been checked.
 */
typedef struct nuc_node *(*expansion)(struct nuc_graph *g, struct nuc_node *node);

/*
 * Replaces `node` by what `expand` builds, which takes its name. Returns the node to go on with: the first of those
 * that stand for it, which may have an expansion themselves.
 */
struct nuc_node *nuc_expand_node(struct nuc_graph *g, struct nuc_node *node, expansion expand);

/* ---- recurrent cells (expand_recurrent.c) ---- */
struct nuc_node *nuc_expand_lstm_cell(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_gru_cell(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_rnn_tanh_cell(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_rnn_relu_cell(struct nuc_graph *g, struct nuc_node *node);

/* ---- building blocks of expansions ---- */

/* A constant without dimensions: number of an elementwise operator. */
struct nuc_node *nuc_insert_constant(struct nuc_graph *g, struct nuc_node *node, enum nuc_dtype dtype, double value);

/* op(input, number): the number has the input's type, or is float32 where the input is an integer and it is not. */
struct nuc_node *nuc_insert_with_number(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op,
                                        struct nuc_node *input, double number);

/* A constant int64 tensor of these values, [count] or in another shape of as many elements. */
struct nuc_node *nuc_insert_indices(struct nuc_graph *g, struct nuc_node *node, const int64_t *values,
                                    const int64_t *sizes, uint32_t rank);

/* A constant float32 tensor of these values. */
struct nuc_node *nuc_insert_floats(struct nuc_graph *g, struct nuc_node *node, const float *values,
                                   const int64_t *sizes, uint32_t rank);

/* The elements of a dimension that stand at these positions; the input where these are all of them, in order. */
struct nuc_node *nuc_insert_taken(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                                  const int64_t *indices, int64_t count);

/* A constant of that type, sizes and dim order with `value` everywhere. */
struct nuc_node *nuc_insert_filled(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *meta,
                                   double value);

/* The same elements in another shape, dimensions in another order, size-1 dimensions repeated: the input when nothing
 * changes. The reshape copies where the dim order asks for it. */
struct nuc_node *nuc_insert_reshaped(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                     const int64_t *sizes, uint32_t rank);
struct nuc_node *nuc_insert_permuted(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                     const int64_t *dims);
struct nuc_node *nuc_insert_expanded(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                     const int64_t *sizes, uint32_t rank);

/* Sum over some dimensions, of which there is at least one. */
struct nuc_node *nuc_insert_sum(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, const int64_t *dims,
                                uint32_t count, bool keepdim);

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

/* The tensor summed over the labels that are not kept, and with its dimensions in the order of `labels`. */
struct nuc_labelled nuc_sum_labels(struct nuc_graph *g, struct nuc_node *node, struct nuc_labelled x, uint64_t kept);
struct nuc_node *nuc_order_labels(struct nuc_graph *g, struct nuc_node *node, struct nuc_labelled x,
                                  const uint8_t *labels);

/* Elements [start, end) of a dimension; the input when these are all. One index of it, without the dimension. */
struct nuc_node *nuc_insert_part(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                                 int64_t start, int64_t end);
struct nuc_node *nuc_insert_selected(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                                     int64_t index);

/* The value `times` times one after the other along a dimension. */
struct nuc_node *nuc_insert_repeated(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                                     int64_t times);

/* Zeros around: pairs of before and after from the last dimension on. */
struct nuc_node *nuc_insert_padded(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                   const int64_t *pads, uint32_t count);

/* `count` dimensions move from places `from` to places `to`; the others keep their order. */
struct nuc_node *nuc_insert_moved_dims(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                       const int64_t *from, const int64_t *to, uint32_t count);

/* Whether something reads item `index` of a tuple. */
bool nuc_is_item_read(const struct nuc_node *tuple, uint32_t index);

/* A dimension number counted from the front; fails when a tensor of that rank has none such. */
uint32_t nuc_expand_dim(struct nuc_graph *g, const struct nuc_node *node, int64_t dim, uint32_t rank);

/* `value` becomes item `index` of the tuple, whose stated type and sizes it has to have. */
void nuc_expand_item(struct nuc_graph *g, struct nuc_node *tuple, uint32_t index, struct nuc_node *value);

/* Fails with NUC_UNSUPPORTED: "<file>: <node>: <text>". */
_Noreturn void nuc_expand_fail(struct nuc_graph *g, const struct nuc_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
