/*
 * Operators of the runtime: what a kernel receives, how it reports errors, and the tables that give operators their
 * names. A firmware may pass its own table with only the operators its program needs; the linker then drops the rest.
 *
 * A kernel is called with the arguments of the operator's out-variant schema in schema order, the out arguments last.
 * Loading the program checks each argument against the entry, so a kernel may read the union without looking at the
 * kind. The kernel must check whether the arguments fit each other.
 */
#ifndef NUCLEON_KERNELS_H
#define NUCLEON_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nucleon/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Describes an error for people, with static strings only. A library compiled with NUCLEON_NO_MESSAGES has no texts,
 * only the numbers.
 */
struct nuc_detail {
    const char *message;  /* what is wrong; NULL: nothing */
    const char *argument; /* name of the wrong argument, if the message does not contain it; NULL: none */
    const char *where;    /* operator or backend name, inside the image; NULL when none is involved */
    int32_t instruction;  /* index in the method, during a call that of the kernel; -1: none */
    int32_t value;        /* index of the value, -1: none */
    int32_t code;         /* status of a driver call, 0: none */
    size_t missing;       /* bytes by which memory is too small, 0: none is */
};

#ifdef NUCLEON_NO_MESSAGES
#define NUC_TEXT(text) ((const char *)0)
#else
#define NUC_TEXT(text) text
#endif

/* Numbered as the union of the program file's schema. */
enum nuc_value_kind {
    NUC_VALUE_NONE = 1,
    NUC_VALUE_INT,
    NUC_VALUE_BOOL,
    NUC_VALUE_DOUBLE,
    NUC_VALUE_TENSOR,
    NUC_VALUE_STRING,
    NUC_VALUE_INTS,
    NUC_VALUE_DOUBLES,
    NUC_VALUE_BOOLS,
    NUC_VALUE_TENSORS,
    NUC_VALUE_OPTIONAL_TENSORS
};

/*
 * A dense tensor. sizes and dim_order lie in the program image and have `rank` entries; dim_order is a permutation
 * that lists the dimensions from outermost to innermost in memory. bytes = elements * element size, without overflow.
 * data is NULL only when the caller has not supplied an input or output that the program leaves to the caller.
 */
struct nuc_tensor {
    void *data;
    const int32_t *sizes;
    const uint8_t *dim_order;
    size_t bytes;
    uint8_t dtype; /* enum nuc_dtype */
    uint8_t rank;
    bool constant; /* the bytes belong to the image and must not be written */
    bool planned;  /* the bytes belong to planned memory */
};

struct nuc_value;

/* A list or a string inside the image: its elements are read with the functions below. */
struct nuc_list {
    const uint8_t *items;
    uint32_t count;
    const struct nuc_value *tensors; /* of a list of tensors during a call; NULL: items are indices of values */
};

struct nuc_value {
    union {
        struct nuc_tensor tensor;
        struct nuc_list list;
        int64_t i;
        double f;
        bool b;
    } u;
    uint8_t kind; /* enum nuc_value_kind */
};

struct nuc_program;

/* The resources of a kernel or a delegate during one call. */
struct nuc_kernel_context {
    const struct nuc_value *values; /* all values of the method, for list elements; NULL: they are the program's */
    uint32_t n_values;
    const struct nuc_program *program; /* whose call it is; values are read from it where `values` is NULL */
    uint8_t *temporary;                /* the caller's temporary memory, empty again at each call */
    size_t temporary_size;
    size_t temporary_used;
    uint8_t *scratch;          /* of a delegate, in planned memory; NULL: the delegate takes temporary memory */
    struct nuc_detail *detail; /* never NULL */
    const uint8_t *profile;    /* set by a delegate that records one: valid until the next call; NULL: none */
    size_t profile_size;
};

/* `bytes` of temporary memory aligned to `alignment` (a power of two), or NULL when it is exhausted. */
void *nuc_kernel_temporary(struct nuc_kernel_context *cx, size_t bytes, size_t alignment);

/* Notes the message and returns `status`. */
enum nuc_status nuc_kernel_error(struct nuc_kernel_context *cx, enum nuc_status status, const char *message);

/* Element of a list of ints, of doubles, of tensors (NULL: None); `index` is below the count. */
int64_t nuc_list_int(const struct nuc_kernel_context *cx, const struct nuc_value *list, uint32_t index);
double nuc_list_double(const struct nuc_value *list, uint32_t index);
const struct nuc_value *nuc_list_value(const struct nuc_kernel_context *cx, const struct nuc_value *list,
                                       uint32_t index);

/* An int or a double as a double, as a float32. */
double nuc_value_scalar(const struct nuc_value *value);
float nuc_value_float(const struct nuc_value *value);

typedef enum nuc_status (*nuc_kernel_fn)(struct nuc_kernel_context *cx, struct nuc_value *const *args);

/*
 * One operator. `accepts` has a word for each argument before the return value, then 0. In a word, bit k stands for
 * values of kind k (enum nuc_value_kind), that of NUC_VALUE_NONE for an optional argument; bit 0 refuses constants, for
 * tensors that are written. The other bits are conditions that operators of the library have on element types, layouts
 * and ranges.
 */
struct nuc_kernel_entry {
    const char *name; /* "aten::add.out" */
    const uint32_t *accepts;
    const char *arguments; /* a name for each word, for messages: "self\0other\0alpha\0out". Empty: they have none */
    nuc_kernel_fn run;
};

struct nuc_kernel_table {
    const struct nuc_kernel_entry *entries;
    size_t count;
};

/* Every operator of the library. */
extern const struct nuc_kernel_table nuc_default_kernels;

/* The entry of that name, or NULL. */
const struct nuc_kernel_entry *nuc_kernel_find(const struct nuc_kernel_table *table, const char *name);

/*
 * Functions of one value: a row is all that kernels and runtime need besides the arithmetic, nuc_map_NAME in
 * src/device/kernels/ref/ref_map.c. X is as in NUC_KERNELS, which has these rows too.
 */
#define NUC_MAP_ROW(X, name) X("aten::" #name ".out", map, nuc_op_##name)
#define NUC_MAPS(M, X)                                                                                                 \
    M(X, relu)                                                                                                         \
    M(X, neg)                                                                                                          \
    M(X, exp)                                                                                                          \
    M(X, log)                                                                                                          \
    M(X, sqrt)                                                                                                         \
    M(X, rsqrt)                                                                                                        \
    M(X, atan)                                                                                                         \
    M(X, sigmoid)                                                                                                      \
    M(X, tanh)                                                                                                         \
    M(X, sin)                                                                                                          \
    M(X, cos)                                                                                                          \
    M(X, tan)                                                                                                          \
    M(X, asin)                                                                                                         \
    M(X, acos)                                                                                                         \
    M(X, sinh)                                                                                                         \
    M(X, cosh)                                                                                                         \
    M(X, asinh)                                                                                                        \
    M(X, acosh)                                                                                                        \
    M(X, atanh)                                                                                                        \
    M(X, expm1)                                                                                                        \
    M(X, log1p)                                                                                                        \
    M(X, log2)                                                                                                         \
    M(X, log10)                                                                                                        \
    M(X, erf)                                                                                                          \
    M(X, reciprocal)                                                                                                   \
    M(X, abs)                                                                                                          \
    M(X, ceil)                                                                                                         \
    M(X, floor)                                                                                                        \
    M(X, round)                                                                                                        \
    M(X, trunc)                                                                                                        \
    M(X, sign)                                                                                                         \
    M(X, logical_not)                                                                                                  \
    M(X, isnan)                                                                                                        \
    M(X, isinf)

/* Operators of two tensors that broadcast: nuc_binary_NAME in ref_binary.c. */
#define NUC_BINARY_ROW(X, name) X("aten::" #name ".out", binary, nuc_op_##name)
#define NUC_BINARIES(B, X)                                                                                             \
    B(X, mul)                                                                                                          \
    B(X, div)                                                                                                          \
    B(X, maximum)                                                                                                      \
    B(X, minimum)                                                                                                      \
    B(X, atan2)                                                                                                        \
    B(X, floor_divide)                                                                                                 \
    B(X, logical_and)                                                                                                  \
    B(X, logical_or)                                                                                                   \
    B(X, logical_xor)

/* The same, of operators that torch has for a number as well. */
#define NUC_TENSOR_BINARY_ROW(X, name) X("aten::" #name ".Tensor_out", binary, nuc_op_##name)
#define NUC_TENSOR_BINARIES(B, X)                                                                                      \
    B(X, eq)                                                                                                           \
    B(X, ne)                                                                                                           \
    B(X, lt)                                                                                                           \
    B(X, le)                                                                                                           \
    B(X, gt)                                                                                                           \
    B(X, ge)                                                                                                           \
    B(X, fmod)                                                                                                         \
    B(X, remainder)                                                                                                    \
    B(X, bitwise_and)                                                                                                  \
    B(X, bitwise_or)                                                                                                   \
    B(X, bitwise_xor)                                                                                                  \
    B(X, bitwise_left_shift)                                                                                           \
    B(X, bitwise_right_shift)

/*
 * The operators themselves, for tables of one's own: X(name, LIST, function) stands for the entry {name,
 * nuc_accepts_LIST, nuc_arguments_LIST, function}. Operators of the same arguments have the same list.
 */
#define NUC_KERNELS(X)                                                                                                 \
    X("quantized_decomposed::quantize_per_tensor.out", quantize_per_tensor, nuc_op_quantize_per_tensor)                \
    X("quantized_decomposed::dequantize_per_tensor.out", dequantize_per_tensor, nuc_op_dequantize_per_tensor)          \
    X("quantized_decomposed::quantize_per_channel.out", quantize_per_channel, nuc_op_quantize_per_channel)             \
    X("quantized_decomposed::dequantize_per_channel.out", dequantize_per_channel, nuc_op_dequantize_per_channel)       \
    X("dim_order_ops::_clone_dim_order.out", clone_dim_order, nuc_op_to_dim_order_copy)                                \
    X("dim_order_ops::_to_dim_order_copy.out", to_dim_order_copy, nuc_op_to_dim_order_copy)                            \
    X("aten::clone.out", clone, nuc_op_clone)                                                                          \
    X("aten::alias_copy.out", alias_copy, nuc_op_alias_copy)                                                           \
    X("aten::view_copy.out", view_copy, nuc_op_view_copy)                                                              \
    X("aten::squeeze_copy.dim_out", squeeze_dim, nuc_op_squeeze_copy_dim)                                              \
    X("aten::squeeze_copy.dims_out", squeeze_dims, nuc_op_squeeze_copy_dim)                                            \
    X("aten::unsqueeze_copy.out", squeeze_dim, nuc_op_squeeze_copy_dim)                                                \
    X("aten::as_strided_copy.out", as_strided_copy, nuc_op_as_strided_copy)                                            \
    X("aten::copy.out", copy, nuc_op_copy)                                                                             \
    X("aten::copy_", copy_in_place, nuc_op_copy_in_place)                                                              \
    X("dim_order_ops::_empty_dim_order.out", empty_dim_order, nuc_op_empty_dim_order)                                  \
    X("aten::permute_copy.out", permute_copy, nuc_op_permute_copy)                                                     \
    X("aten::slice_copy.Tensor_out", slice_copy, nuc_op_slice_copy)                                                    \
    X("aten::slice_scatter.out", slice_scatter, nuc_op_slice_scatter)                                                  \
    X("aten::flip.out", flip, nuc_op_flip)                                                                             \
    X("aten::select_copy.int_out", select_copy, nuc_op_select_copy)                                                    \
    X("aten::diagonal_copy.out", diagonal_copy, nuc_op_diagonal_copy)                                                  \
    X("aten::unfold_copy.out", unfold_copy, nuc_op_unfold_copy)                                                        \
    X("aten::repeat.out", repeat, nuc_op_repeat)                                                                       \
    X("aten::index.Tensor_out", index, nuc_op_index)                                                                   \
    X("aten::index_select.out", index_select, nuc_op_index_select)                                                     \
    X("aten::gather.out", gather, nuc_op_gather)                                                                       \
    X("aten::embedding.out", embedding, nuc_op_embedding)                                                              \
    X("aten::scatter.src_out", scatter, nuc_op_scatter_src)                                                            \
    X("aten::scatter.value_out", scatter_value, nuc_op_scatter_value)                                                  \
    X("aten::scatter_add.out", scatter, nuc_op_scatter_add)                                                            \
    X("aten::scatter_reduce.two_out", scatter_reduce, nuc_op_scatter_reduce)                                           \
    X("aten::masked_scatter.out", masked_scatter, nuc_op_masked_scatter)                                               \
    X("aten::index_put.out", index_put, nuc_op_index_put)                                                              \
    X("aten::select_scatter.out", select_scatter, nuc_op_select_scatter)                                               \
    X("aten::topk.values", topk, nuc_op_topk)                                                                          \
    X("aten::sort.values_stable", sort, nuc_op_sort)                                                                   \
    X("aten::arange.start_out", arange, nuc_op_arange)                                                                 \
    X("aten::split_with_sizes_copy.out", split_with_sizes_copy, nuc_op_split_with_sizes_copy)                          \
    X("aten::cat.out", cat, nuc_op_cat)                                                                                \
    X("aten::expand_copy.out", expand_copy, nuc_op_expand_copy)                                                        \
    X("aten::constant_pad_nd.out", constant_pad_nd, nuc_op_constant_pad_nd)                                            \
    X("aten::add.out", add, nuc_op_add)                                                                                \
    X("aten::sub.out", add, nuc_op_sub)                                                                                \
    NUC_BINARIES(NUC_BINARY_ROW, X)                                                                                    \
    NUC_TENSOR_BINARIES(NUC_TENSOR_BINARY_ROW, X)                                                                      \
    X("aten::div.out_mode", div_mode, nuc_op_div_mode)                                                                 \
    X("aten::pow.Tensor_Tensor_out", binary, nuc_op_pow)                                                               \
    X("aten::pow.Tensor_Scalar_out", with_number, nuc_op_pow_scalar)                                                   \
    X("aten::pow.Scalar_out", pow_of_scalar, nuc_op_pow_of_scalar)                                                     \
    NUC_MAPS(NUC_MAP_ROW, X)                                                                                           \
    X("aten::bitwise_not.out", map, nuc_op_bitwise_not)                                                                \
    X("aten::elu.out", elu, nuc_op_elu)                                                                                \
    X("aten::logit.out", logit, nuc_op_logit)                                                                          \
    X("aten::leaky_relu.out", leaky_relu, nuc_op_leaky_relu)                                                           \
    X("aten::hardtanh.out", hardtanh, nuc_op_clamp)                                                                    \
    X("aten::clamp.out", clamp, nuc_op_clamp)                                                                          \
    X("aten::gelu.out", gelu, nuc_op_gelu)                                                                             \
    X("aten::gt.Scalar_out", with_number, nuc_op_gt_scalar)                                                            \
    X("aten::where.self_out", where, nuc_op_where)                                                                     \
    X("aten::convolution.out", convolution, nuc_op_convolution)                                                        \
    X("aten::max_pool2d_with_indices.out", max_pool2d, nuc_op_max_pool2d)                                              \
    X("aten::avg_pool2d.out", avg_pool2d, nuc_op_avg_pool2d)                                                           \
    X("aten::_adaptive_avg_pool2d.out", adaptive_avg_pool2d, nuc_op_adaptive_avg_pool2d)                               \
    X("aten::upsample_bilinear2d.vec_out", upsample_bilinear2d, nuc_op_upsample_bilinear2d)                            \
    X("aten::upsample_nearest2d.vec_out", upsample_nearest2d, nuc_op_upsample_nearest2d)                               \
    X("aten::grid_sampler_2d.out", grid_sampler, nuc_op_grid_sampler_2d)                                               \
    X("aten::grid_sampler_3d.out", grid_sampler, nuc_op_grid_sampler_3d)                                               \
    X("aten::_native_batch_norm_legit_no_training.out", batch_norm, nuc_op_batch_norm)                                 \
    X("aten::mm.out", mm, nuc_op_mm)                                                                                   \
    X("aten::bmm.out", bmm, nuc_op_mm)                                                                                 \
    X("aten::addmm.out", addmm, nuc_op_addmm)                                                                          \
    X("nucleon::gru.out", rnn, nuc_op_gru)                                                                             \
    X("nucleon::lstm.out", lstm, nuc_op_lstm)                                                                          \
    X("nucleon::rnn_tanh.out", rnn, nuc_op_rnn_tanh)                                                                   \
    X("nucleon::rnn_relu.out", rnn, nuc_op_rnn_relu)                                                                   \
    X("aten::_softmax.out", softmax, nuc_op_softmax)                                                                   \
    X("aten::mean.out", reduce, nuc_op_mean)                                                                           \
    X("aten::sum.IntList_out", reduce, nuc_op_sum)                                                                     \
    X("aten::amax.out", amax, nuc_op_amax)                                                                             \
    X("aten::amin.out", amax, nuc_op_amin)                                                                             \
    X("aten::prod.int_out", prod, nuc_op_prod)                                                                         \
    X("aten::any.dims_out", any, nuc_op_any)                                                                           \
    X("aten::argmax.out", argmax, nuc_op_argmax)                                                                       \
    X("aten::argmin.out", argmax, nuc_op_argmin)                                                                       \
    X("aten::var.correction_out", var, nuc_op_var)                                                                     \
    X("aten::cumsum.out", cumsum, nuc_op_cumsum)                                                                       \
    X("aten::_log_softmax.out", softmax, nuc_op_log_softmax)                                                           \
    X("aten::native_layer_norm.out", layer_norm, nuc_op_layer_norm)                                                    \
    X("nucleon::rms_norm.out", rms_norm, nuc_op_rms_norm)                                                              \
    X("aten::native_group_norm.out", group_norm, nuc_op_group_norm)                                                    \
    X("cortex_m::quantize_per_tensor.out", quantize_per_tensor, nuc_op_int8_quantize)                                  \
    X("cortex_m::dequantize_per_tensor.out", int8_dequantize, nuc_op_int8_dequantize)                                  \
    X("cortex_m::quantized_add.out", int8_add, nuc_op_int8_add)                                                        \
    X("cortex_m::quantized_mul.out", int8_mul, nuc_op_int8_mul)                                                        \
    X("cortex_m::quantized_div.out", int8_div, nuc_op_int8_div)                                                        \
    X("cortex_m::quantized_activation.out", int8_activation, nuc_op_int8_activation)                                   \
    X("cortex_m::minimum.out", int8_minimum, nuc_op_int8_minimum)                                                      \
    X("cortex_m::maximum.out", int8_minimum, nuc_op_int8_maximum)                                                      \
    X("cortex_m::quantized_linear.out", int8_linear, nuc_op_int8_linear)                                               \
    X("cortex_m::softmax.out", int8_softmax, nuc_op_int8_softmax)                                                      \
    X("cortex_m::transpose.out", int8_transpose, nuc_op_int8_transpose)                                                \
    X("cortex_m::pad.out", int8_pad, nuc_op_int8_pad)                                                                  \
    X("cortex_m::quantized_conv2d.out", int8_conv2d, nuc_op_int8_conv2d)                                               \
    X("cortex_m::quantized_depthwise_conv2d.out", int8_depthwise_conv2d, nuc_op_int8_depthwise_conv2d)                 \
    X("cortex_m::quantized_transpose_conv2d.out", int8_transpose_conv2d, nuc_op_int8_transpose_conv2d)                 \
    X("cortex_m::quantized_avg_pool2d.out", int8_avg_pool2d, nuc_op_int8_avg_pool2d)                                   \
    X("cortex_m::quantized_max_pool2d.out", int8_max_pool2d, nuc_op_int8_max_pool2d)                                   \
    X("cortex_m::quantized_batch_matmul.out", int8_batch_matmul, nuc_op_int8_batch_matmul)                             \
    X("nucleon::quantized_lstm.out", int8_lstm, nuc_op_int8_lstm)                                                      \
    X("nucleon::quantized_gru.out", int8_gru, nuc_op_int8_gru)                                                         \
    X("nucleon::quantized_rnn.out", int8_rnn, nuc_op_int8_rnn)                                                         \
    X("nucleon::quantized_svdf.out", int8_svdf, nuc_op_int8_svdf)                                                      \
    X("nucleon::quantized_litert_lstm.out", int8_litert_lstm, nuc_op_int8_litert_lstm)                                 \
    X("nucleon::signal_window.out", signal_window, nuc_op_signal_window)                                               \
    X("nucleon::signal_auto_scale.out", signal_auto_scale, nuc_op_signal_auto_scale)                                   \
    X("nucleon::signal_rfft.out", signal_rfft, nuc_op_signal_rfft)                                                     \
    X("nucleon::signal_energy.out", signal_energy, nuc_op_signal_energy)                                               \
    X("nucleon::signal_filter_bank.out", signal_filter_bank, nuc_op_signal_filter_bank)                                \
    X("nucleon::signal_square_root.out", signal_square_root, nuc_op_signal_square_root)                                \
    X("nucleon::signal_spectral_subtraction.out", signal_noise_reduction, nuc_op_signal_noise_reduction)               \
    X("nucleon::signal_pcan.out", signal_pcan, nuc_op_signal_pcan)                                                     \
    X("nucleon::signal_features.out", signal_features, nuc_op_signal_features)                                         \
    X("nucleon::signal_micro_frontend.out", signal_micro, nuc_op_signal_micro)                                         \
    X("nucleon::signal_log.out", signal_log, nuc_op_signal_log)                                                        \
    X("nucleon::prepare_frame.out", prepare_frame, nuc_op_prepare_frame)                                               \
    X("nucleon::quantized_sum.out", int8_sum, nuc_op_int8_sum)                                                         \
    X("nucleon::quantized_conv2d.out", int8_sided_conv2d, nuc_op_int8_conv2d)                                          \
    X("nucleon::quantized_depthwise_conv2d.out", int8_sided_depthwise_conv2d, nuc_op_int8_depthwise_conv2d)            \
    X("nucleon::quantized_avg_pool2d.out", int8_avg_pool2d, nuc_op_int8_upward_avg_pool2d)                             \
    X("nucleon::quantized_wide_conv2d.out", int8_wide_conv2d, nuc_op_int8_wide_conv2d)                                 \
    X("nucleon::quantized_wide_depthwise_conv2d.out", int8_wide_depthwise_conv2d, nuc_op_int8_wide_depthwise_conv2d)   \
    X("nucleon::quantized_prelu.out", int8_prelu, nuc_op_int8_prelu)                                                   \
    X("nucleon::copy.out", copy_bytes, nuc_op_copy_bytes)                                                              \
    X("nucleon::quantized_test.out", int8_test, nuc_op_int8_activation)                                                \
    X("nucleon::quantized_compare.out", int8_compare, nuc_op_int8_compare)                                             \
    X("nucleon::quantized_layer_norm.out", int8_layer_norm, nuc_op_int8_layer_norm)                                    \
    X("nucleon::quantized_rms_norm.out", int8_rms_norm, nuc_op_int8_rms_norm)                                          \
    X("nucleon::quantized_group_norm.out", int8_group_norm, nuc_op_int8_group_norm)                                    \
    X("nucleon::quantized_var.out", int8_var, nuc_op_int8_var)                                                         \
    X("nucleon::quantized_log_softmax.out", int8_log_softmax, nuc_op_int8_log_softmax)                                 \
    X("nucleon::quantized_resize_bilinear.out", int8_resize_bilinear, nuc_op_int8_resize_bilinear)                     \
    X("nucleon::quantized_resize_nearest.out", int8_resize_nearest, nuc_op_int8_resize_nearest)                        \
    X("nucleon::quantized_grid_sampler.out", int8_grid_sampler, nuc_op_int8_grid_sampler)                              \
    X("nucleon::quantize_per_tensor.out", quantize_per_tensor, nuc_op_exact_quantize)                                  \
    X("nucleon::quantized_squared_difference.out", int8_squared_difference, nuc_op_int8_squared_difference)            \
    X("nucleon::requantize.out", rescale, nuc_op_requantize)                                                           \
    X("nucleon::quantized_add.int16_out", int16_add, nuc_op_int16_add)                                                 \
    X("nucleon::quantized_mul.int16_out", int16_mul, nuc_op_int16_mul)                                                 \
    X("nucleon::quantized_prelu.int16_out", int16_prelu, nuc_op_int16_prelu)                                           \
    X("nucleon::quantized_sigmoid.out", int16_sigmoid, nuc_op_int16_sigmoid)                                           \
    X("nucleon::quantized_function.out", int16_function, nuc_op_int16_function)                                        \
    X("nucleon::softmax.int16_out", int8_softmax, nuc_op_int8_softmax)                                                 \
    X("nucleon::quantized_softmax.out", int16_softmax, nuc_op_int16_softmax)                                           \
    X("nucleon::quantized_conv2d.int16_out", int16_conv2d, nuc_op_int16_conv2d)                                        \
    X("nucleon::quantized_depthwise_conv2d.int16_out", int16_depthwise_conv2d, nuc_op_int16_depthwise_conv2d)          \
    X("nucleon::quantized_transpose_conv2d.int16_out", int16_transpose_conv2d, nuc_op_int16_transpose_conv2d)          \
    X("nucleon::quantized_batch_matmul.int16_out", int16_batch_matmul, nuc_op_int16_batch_matmul)                      \
    X("nucleon::quantized_avg_pool2d.int16_out", int16_avg_pool2d, nuc_op_int16_avg_pool2d)                            \
    X("nucleon::quantized_max_pool2d.int16_out", int16_max_pool2d, nuc_op_int16_max_pool2d)                            \
    X("nucleon::quantized_sum.int16_out", int16_sum, nuc_op_int16_sum)                                                 \
    X("nucleon::pad.int16_out", int16_pad, nuc_op_int8_pad)                                                            \
    X("nucleon::quantized_transpose_conv2d.out", int8_grouped_transpose_conv2d, nuc_op_int8_grouped_transpose_conv2d)

#define NUC_KERNEL_DECLARATION(name, list, run)                                                                        \
    extern const uint32_t nuc_accepts_##list[];                                                                        \
    extern const char nuc_arguments_##list[];                                                                          \
    enum nuc_status run(struct nuc_kernel_context *cx, struct nuc_value *const *args);
NUC_KERNELS(NUC_KERNEL_DECLARATION)
#undef NUC_KERNEL_DECLARATION

#ifdef __cplusplus
}
#endif
#endif
