/* Every pass: a function that returns true when it changed the graph. */
#ifndef NUC_REWRITE_PASS_LIST_H
#define NUC_REWRITE_PASS_LIST_H

#include "ir/graph.h"
#include "rewrite/passes.h"

struct nuc_pass {
    const char *name; /* unique, as --dump-after takes it */
    bool (*run)(struct nuc_graph *g);
    unsigned modes; /* in which it runs, a bit 1 << nuc_pass_mode each */
};

/* ---- ATen ---- */

/* A batch norm after a convolution or a linear of its own becomes part of weight and bias. */
bool nuc_fold_batch_norm(struct nuc_graph *g);
/* So does one behind moves, or in front of a linear that alone reads it. */
bool nuc_fold_moved_batch_norm(struct nuc_graph *g);
/* So does a sum or a product with a constant for each channel. */
bool nuc_fold_channel_terms(struct nuc_graph *g);
/* A 2-D pooling of [C, H, W] gets a batch dimension around it. */
bool nuc_batch_pools(struct nuc_graph *g);
/* A split into several tensors becomes slices. */
bool nuc_split_to_slices(struct nuc_graph *g);
bool nuc_chunk_to_slices(struct nuc_graph *g);
/*
 * A convolution in 2 to this many groups, the reference's limit, becomes one per group; not what an NPU takes whole.
 * NULL: none.
 */
#define NUC_MAX_SPLIT_GROUPS 10
struct nuc_support;
bool nuc_split_group_conv(struct nuc_graph *g, const struct nuc_support *npu);
bool nuc_split_group_conv_as_reference(struct nuc_graph *g);
/* A recurrent layer of several layers becomes a chain of single ones. */
bool nuc_split_recurrent(struct nuc_graph *g);
/* Operators of torch that decomposed archives have as several become one again, or what they are of others. */
bool nuc_written_operators(struct nuc_graph *g);
/* Cells of recurrent layers that are written out become layers of one step. */
bool nuc_written_cells(struct nuc_graph *g);
/* Layers of one step, each of which goes on from the one before, become one layer. */
bool nuc_join_recurrent(struct nuc_graph *g);
/* An LSTM that projects its hidden state becomes one without projection and a linear layer. */
bool nuc_fold_projections(struct nuc_graph *g);
/* The same layer of each index of a dimension becomes one of the whole value. */
bool nuc_join_steps(struct nuc_graph *g);
bool nuc_split_recurrent_as_reference(struct nuc_graph *g); /* initial states are sliced even where they are zeros */
/* A node all of whose tensors are static becomes a constant. */
bool nuc_fold_constants(struct nuc_graph *g);
/* linear + static bias-shaped tensor becomes one linear, as the reference has it. */
bool nuc_fuse_linear_add(struct nuc_graph *g);
/* An activation after a concatenation of convolutions or matrix products moves in front of it. */
bool nuc_move_activation(struct nuc_graph *g);
/* A number as divisor becomes a tensor of the dividend's sizes. */
bool nuc_materialize_divisors(struct nuc_graph *g);
/* Division by a static tensor becomes multiplication, division in place too. */
bool nuc_div_to_mul(struct nuc_graph *g);
bool nuc_div_in_place_to_mul(struct nuc_graph *g);
/*
 * A 1-D convolution, transposed or not, or with padding "same" or "valid" or a computed weight, becomes a 2-D one, and
 * so does a 1-D pooling.
 */
bool nuc_conv1d_to_2d(struct nuc_graph *g);
bool nuc_other_conv1d_to_2d(struct nuc_graph *g);
/* What the same operator makes of the same values once more is read from the first one. */
bool nuc_merge_equal(struct nuc_graph *g);
/* The sum of two convolutions of one value, or of one and the value, becomes one convolution; x + 0 becomes x. */
bool nuc_merge_convs(struct nuc_graph *g);
/* Taps of a 2-D convolution that meet nothing but padding go. */
bool nuc_crop_kernels(struct nuc_graph *g);
/*
 * The largest of the results of softmax, or of another rising function, are looked for among its inputs: where those
 * are quantized, more of them differ. Values are gathered by their places.
 */
bool nuc_rank_before_softmax(struct nuc_graph *g);
/* Distances to constant vectors, of which the smallest is looked for, become a linear layer. */
bool nuc_rank_distances(struct nuc_graph *g);
/* What is written part by part, by slice_scatter or choices by place, is a concatenation, and slices of it are parts.
 */
bool nuc_written_parts(struct nuc_graph *g);
/* Moves that change nothing go; all places of a dimension in turn, as roll() has them, are two slices. */
bool nuc_fold_idle_moves(struct nuc_graph *g);
/* A permutation of what another permuted the other way, as around a norm over other dimensions than the last, goes. */
bool nuc_fold_undone_permutes(struct nuc_graph *g);
/* Products with the transposed view of a parameter become linear layers. */
bool nuc_fold_turned_weights(struct nuc_graph *g);
/* Two linear layers with nothing between them become one that takes no more products. */
bool nuc_fuse_linears(struct nuc_graph *g);
/* The input of a softmax becomes scores, biases and masks that are added in this order, all of them finite. */
bool nuc_finite_masks(struct nuc_graph *g);
/* Norms that are written out become operators. */
bool nuc_written_norms(struct nuc_graph *g);
/*
 * Softmax, its logarithm and the logarithm of sums of exponentials that are written out, and logarithms of a softmax or
 * sigmoid, become operators that compute them from the values in front of the exponential.
 */
bool nuc_written_softmax(struct nuc_graph *g);
/* Sums of what is taken at constant places, times constants, become products with constant matrices. */
bool nuc_written_gathers(struct nuc_graph *g);
/* What is gathered by one index for a row takes rows. */
bool nuc_gathered_rows(struct nuc_graph *g);
/* Views and permutations in a row become one permutation, with a view on either side. */
bool nuc_written_moves(struct nuc_graph *g);
/* Heads that share keys or values, which are repeated for each, are rows of one product. */
bool nuc_written_groups(struct nuc_graph *g);
/* Sums of products with a constant larger than the other factors become products of matrices. */
bool nuc_written_products(struct nuc_graph *g);
/* Numbers that both factors of a product of matrices are multiplied with become one. */
bool nuc_join_scales(struct nuc_graph *g);
/* A batch norm that no layer takes in, over rows or images, becomes a convolution of one pixel and one channel each. */
bool nuc_batch_norm_to_conv(struct nuc_graph *g);
bool nuc_remove_dead_nodes(struct nuc_graph *g);

/* Quantized parameters are stored as such. */
bool nuc_fold_quantized(struct nuc_graph *g);
/* Values of uint8 between quantize and dequantize become int8. */
bool nuc_signed_values(struct nuc_graph *g);
/* A bias in float of a layer whose input and weight are quantized, as training leaves it, is quantized, too. */
bool nuc_quantize_biases(struct nuc_graph *g);
/* One in int32 with another scale than the products of input and weight, with which every layer reads it, gets theirs.
 */
bool nuc_rescale_biases(struct nuc_graph *g);
/* Values that stay in float, multiplied with a constant for each channel: scales of channels where they come from int8.
 */
bool nuc_fold_channel_scales(struct nuc_graph *g);
/* A 1-D convolution whose weight is quantized becomes a 2-D one. */
bool nuc_quantized_conv1d_to_2d(struct nuc_graph *g);
/* What moves values, or takes the greatest of them, reads them in the parameters of its result. */
bool nuc_quantize_before_moves(struct nuc_graph *g);

/* ---- Edge ---- */

/* An auxiliary node between dequantize and its operator gets a cluster of its own. */
bool nuc_separate_leading(struct nuc_graph *g);
/* The same for all but permutations, as the generation of the backend for converter sdk-3.1 does. */
bool nuc_separate_leading_sdk31(struct nuc_graph *g);
/* An auxiliary node between an operator and its quantize gets a cluster of its own. */
bool nuc_separate_trailing(struct nuc_graph *g);
/* Whatever moves values between a dequantize node, an operator and its quantize node gets a cluster of its own. */
bool nuc_separate_moves(struct nuc_graph *g);
/* Quantize nodes that make the same of one value are one. */
bool nuc_merge_quantize(struct nuc_graph *g);
/*
 * Takes out of an Edge graph the copies that change nothing but a dim order, as far as its outputs keep theirs. Not in
 * compatibility mode, where such copies stay on the CPU and divide partitions.
 */
bool nuc_remove_order_copies(struct nuc_graph *g);
/*
 * Values whose dim order is neither contiguous nor channels-last, as an operator gives them whose operands differ: a
 * parameter is laid out as the other operand, else operands are copied to contiguous ones. Not in compatibility mode.
 */
bool nuc_make_orders_usable(struct nuc_graph *g);
/* A permutation, view or copy of a parameter that nothing else reads becomes a parameter. */
bool nuc_fold_moves(struct nuc_graph *g);
/* Copies, and results of operators, go by a name of a dim order that kernels know. */
bool nuc_plain_orders(struct nuc_graph *g);
/* An operator that may run on the NPU shares no dequantize node: no float value leads there. */
bool nuc_split_dequantize(struct nuc_graph *g);
/* A value whose quantize node follows a dequantize node with other parameters is multiplied by 1 in between. */
bool nuc_insert_requantize(struct nuc_graph *g);
/* as_strided_copy after a mean that moves nothing is bypassed. */
bool nuc_remove_as_strided(struct nuc_graph *g);
/* squeeze_copy and unsqueeze_copy become view_copy. */
bool nuc_reshapes_to_view(struct nuc_graph *g);
/* A quantize node after a dequantize node with the same parameters is bypassed. */
bool nuc_fold_requantize(struct nuc_graph *g);

/* ---- Edge, after partitioning ---- */

/* Permutations and concatenations on the CPU move quantized values. */
bool nuc_move_quantized(struct nuc_graph *g);

#endif
