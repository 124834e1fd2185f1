/*
 * Operators of the runtime: what a kernel receives, how it reports errors, and the tables that give operators their
 * names. A firmware may pass its own table with only the operators its program needs; the linker then drops the rest.
 *
 * A kernel is called with the arguments of the operator's out-variant schema in schema order, the out arguments last.
 * Their kinds have been checked against the entry's signature when the program was loaded, so that a kernel may read
 * the union without looking at the kind; shapes, element types, value ranges and dim orders are the kernel's to check.
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
 * What went wrong, for a person. Only static strings. Defining NUCLEON_NO_MESSAGES when compiling the library leaves
 * the texts out and keeps the numbers.
 */
struct nuc_detail {
    const char *message; /* what is wrong; names the argument when one is to blame. NULL: nothing */
    const char *where;   /* operator or backend name, inside the image; NULL when none is involved */
    int32_t instruction; /* index in the method, -1: none */
    int32_t value;       /* index of the value, -1: none */
    int32_t code;        /* status of a driver call, 0: none */
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

/* What a kernel or a delegate may use during one call. */
struct nuc_kernel_context {
    const struct nuc_value *values; /* all values of the method, for list elements; NULL: they are the program's */
    uint32_t n_values;
    const struct nuc_program *program; /* read only where values is NULL */
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

/* An int or a double as a double. */
double nuc_value_scalar(const struct nuc_value *value);

typedef enum nuc_status (*nuc_kernel_fn)(struct nuc_kernel_context *cx, struct nuc_value *const *args);

/*
 * One operator. The signature has one letter for each argument before the return value:
 *   T tensor   O out tensor, never a constant   L list of tensors   P list of out tensors
 *   (a scratch tensor counts as an out tensor)
 *   i int      f double or int (a scalar)       b bool              I list of ints          s string
 *   N list of tensors of which some may be None                     D list of doubles
 * Any letter but O and P after '?' may be None.
 */
struct nuc_kernel_entry {
    const char *name; /* "aten::add.out" */
    const char *signature;
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
#define NUC_MAP_ROW(X, name) X("aten::" #name ".out", "TO", nuc_op_##name)
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
#define NUC_BINARY_ROW(X, name) X("aten::" #name ".out", "TTO", nuc_op_##name)
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
#define NUC_TENSOR_BINARY_ROW(X, name) X("aten::" #name ".Tensor_out", "TTO", nuc_op_##name)
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

/* The operators themselves, for tables of one's own: X(name, signature, function). */
#define NUC_KERNELS(X)                                                                                                 \
    X("quantized_decomposed::quantize_per_tensor.out", "TfiiiiO", nuc_op_quantize_per_tensor)                          \
    X("quantized_decomposed::dequantize_per_tensor.out", "Tfiiii?iO", nuc_op_dequantize_per_tensor)                    \
    X("quantized_decomposed::quantize_per_channel.out", "TTTiiiiO", nuc_op_quantize_per_channel)                       \
    X("quantized_decomposed::dequantize_per_channel.out", "TT?Tiiii?iO", nuc_op_dequantize_per_channel)                \
    X("dim_order_ops::_clone_dim_order.out", "Tb?IO", nuc_op_clone_dim_order)                                          \
    X("dim_order_ops::_to_dim_order_copy.out", "Tb?IO", nuc_op_to_dim_order_copy)                                      \
    X("aten::clone.out", "T?iO", nuc_op_clone)                                                                         \
    X("aten::alias_copy.out", "TO", nuc_op_alias_copy)                                                                 \
    X("aten::view_copy.out", "TIO", nuc_op_view_copy)                                                                  \
    X("aten::squeeze_copy.dim_out", "TiO", nuc_op_squeeze_copy_dim)                                                    \
    X("aten::squeeze_copy.dims_out", "TIO", nuc_op_squeeze_copy_dims)                                                  \
    X("aten::unsqueeze_copy.out", "TiO", nuc_op_unsqueeze_copy)                                                        \
    X("aten::as_strided_copy.out", "TII?iO", nuc_op_as_strided_copy)                                                   \
    X("aten::copy.out", "TTbO", nuc_op_copy)                                                                           \
    X("dim_order_ops::_empty_dim_order.out", "I?IO", nuc_op_empty_dim_order)                                           \
    X("aten::permute_copy.out", "TIO", nuc_op_permute_copy)                                                            \
    X("aten::slice_copy.Tensor_out", "Ti?i?iiO", nuc_op_slice_copy)                                                    \
    X("aten::slice_scatter.out", "TTi?i?iiO", nuc_op_slice_scatter)                                                    \
    X("aten::flip.out", "TIO", nuc_op_flip)                                                                            \
    X("aten::select_copy.int_out", "TiiO", nuc_op_select_copy)                                                         \
    X("aten::diagonal_copy.out", "TiiiO", nuc_op_diagonal_copy)                                                        \
    X("aten::unfold_copy.out", "TiiiO", nuc_op_unfold_copy)                                                            \
    X("aten::repeat.out", "TIO", nuc_op_repeat)                                                                        \
    X("aten::index.Tensor_out", "TNO", nuc_op_index)                                                                   \
    X("aten::index_select.out", "TiTO", nuc_op_index_select)                                                           \
    X("aten::gather.out", "TiTbO", nuc_op_gather)                                                                      \
    X("aten::embedding.out", "TTibbO", nuc_op_embedding)                                                               \
    X("aten::scatter.src_out", "TiTTO", nuc_op_scatter_src)                                                            \
    X("aten::scatter.value_out", "TiTfO", nuc_op_scatter_value)                                                        \
    X("aten::scatter_add.out", "TiTTO", nuc_op_scatter_add)                                                            \
    X("aten::scatter_reduce.two_out", "TiTTsbO", nuc_op_scatter_reduce)                                                \
    X("aten::masked_scatter.out", "TTTO", nuc_op_masked_scatter)                                                       \
    X("aten::index_put.out", "TNTbO", nuc_op_index_put)                                                                \
    X("aten::select_scatter.out", "TTiiO", nuc_op_select_scatter)                                                      \
    X("aten::topk.values", "TiibbOO", nuc_op_topk)                                                                     \
    X("aten::sort.values_stable", "T?bibOO", nuc_op_sort)                                                              \
    X("aten::arange.start_out", "fffO", nuc_op_arange)                                                                 \
    X("aten::split_with_sizes_copy.out", "TIiP", nuc_op_split_with_sizes_copy)                                         \
    X("aten::cat.out", "LiO", nuc_op_cat)                                                                              \
    X("aten::expand_copy.out", "TIbO", nuc_op_expand_copy)                                                             \
    X("aten::constant_pad_nd.out", "TIfO", nuc_op_constant_pad_nd)                                                     \
    X("aten::add.out", "TTfO", nuc_op_add)                                                                             \
    X("aten::sub.out", "TTfO", nuc_op_sub)                                                                             \
    NUC_BINARIES(NUC_BINARY_ROW, X)                                                                                    \
    NUC_TENSOR_BINARIES(NUC_TENSOR_BINARY_ROW, X)                                                                      \
    X("aten::div.out_mode", "TT?sO", nuc_op_div_mode)                                                                  \
    X("aten::pow.Tensor_Tensor_out", "TTO", nuc_op_pow)                                                                \
    X("aten::pow.Tensor_Scalar_out", "TfO", nuc_op_pow_scalar)                                                         \
    X("aten::pow.Scalar_out", "fTO", nuc_op_pow_of_scalar)                                                             \
    NUC_MAPS(NUC_MAP_ROW, X)                                                                                           \
    X("aten::bitwise_not.out", "TO", nuc_op_bitwise_not)                                                               \
    X("aten::elu.out", "TfffO", nuc_op_elu)                                                                            \
    X("aten::logit.out", "T?fO", nuc_op_logit)                                                                         \
    X("aten::leaky_relu.out", "TfO", nuc_op_leaky_relu)                                                                \
    X("aten::hardtanh.out", "TffO", nuc_op_hardtanh)                                                                   \
    X("aten::clamp.out", "T?f?fO", nuc_op_clamp)                                                                       \
    X("aten::gelu.out", "TsO", nuc_op_gelu)                                                                            \
    X("aten::gt.Scalar_out", "TfO", nuc_op_gt_scalar)                                                                  \
    X("aten::where.self_out", "TTTO", nuc_op_where)                                                                    \
    X("aten::convolution.out", "TT?TIIIbIiO", nuc_op_convolution)                                                      \
    X("aten::max_pool2d_with_indices.out", "TIIIIbOO", nuc_op_max_pool2d)                                              \
    X("aten::avg_pool2d.out", "TIIIbb?iO", nuc_op_avg_pool2d)                                                          \
    X("aten::_adaptive_avg_pool2d.out", "TIO", nuc_op_adaptive_avg_pool2d)                                             \
    X("aten::upsample_bilinear2d.vec_out", "T?Ib?DO", nuc_op_upsample_bilinear2d)                                      \
    X("aten::upsample_nearest2d.vec_out", "T?I?DO", nuc_op_upsample_nearest2d)                                         \
    X("aten::grid_sampler_2d.out", "TTiibO", nuc_op_grid_sampler_2d)                                                   \
    X("aten::grid_sampler_3d.out", "TTiibO", nuc_op_grid_sampler_3d)                                                   \
    X("aten::_native_batch_norm_legit_no_training.out", "T?T?TTTffOOO", nuc_op_batch_norm)                             \
    X("aten::mm.out", "TTO", nuc_op_mm)                                                                                \
    X("aten::bmm.out", "TTO", nuc_op_bmm)                                                                              \
    X("aten::addmm.out", "TTTffO", nuc_op_addmm)                                                                       \
    X("nucleon::gru.out", "TTLbifbbbOO", nuc_op_gru)                                                                   \
    X("nucleon::lstm.out", "TLLbifbbbOOO", nuc_op_lstm)                                                                \
    X("nucleon::rnn_tanh.out", "TTLbifbbbOO", nuc_op_rnn_tanh)                                                         \
    X("nucleon::rnn_relu.out", "TTLbifbbbOO", nuc_op_rnn_relu)                                                         \
    X("aten::_softmax.out", "TibO", nuc_op_softmax)                                                                    \
    X("aten::mean.out", "T?Ib?iO", nuc_op_mean)                                                                        \
    X("aten::sum.IntList_out", "T?Ib?iO", nuc_op_sum)                                                                  \
    X("aten::amax.out", "TIbO", nuc_op_amax)                                                                           \
    X("aten::amin.out", "TIbO", nuc_op_amin)                                                                           \
    X("aten::prod.int_out", "Tib?iO", nuc_op_prod)                                                                     \
    X("aten::any.dims_out", "T?IbO", nuc_op_any)                                                                       \
    X("aten::argmax.out", "T?ibO", nuc_op_argmax)                                                                      \
    X("aten::argmin.out", "T?ibO", nuc_op_argmin)                                                                      \
    X("aten::var.correction_out", "T?I?fbO", nuc_op_var)                                                               \
    X("aten::cumsum.out", "Ti?iO", nuc_op_cumsum)                                                                      \
    X("aten::_log_softmax.out", "TibO", nuc_op_log_softmax)                                                            \
    X("aten::native_layer_norm.out", "TI?T?TfOOO", nuc_op_layer_norm)                                                  \
    X("nucleon::rms_norm.out", "TI?T?fO", nuc_op_rms_norm)                                                             \
    X("aten::native_group_norm.out", "T?T?TiiiifOOO", nuc_op_group_norm)                                               \
    X("cortex_m::quantize_per_tensor.out", "TfiiiiO", nuc_op_int8_quantize)                                            \
    X("cortex_m::dequantize_per_tensor.out", "TfiiiiO", nuc_op_int8_dequantize)                                        \
    X("cortex_m::quantized_add.out", "TiiiTiiiiiiiiO", nuc_op_int8_add)                                                \
    X("cortex_m::quantized_mul.out", "TiTiiiiO", nuc_op_int8_mul)                                                      \
    X("cortex_m::quantized_div.out", "TiTiifO", nuc_op_int8_div)                                                       \
    X("cortex_m::quantized_activation.out", "TTO", nuc_op_int8_activation)                                             \
    X("cortex_m::minimum.out", "TTO", nuc_op_int8_minimum)                                                             \
    X("cortex_m::maximum.out", "TTO", nuc_op_int8_maximum)                                                             \
    X("cortex_m::quantized_linear.out", "TT?T?TiiiIIiiO", nuc_op_int8_linear)                                          \
    X("cortex_m::softmax.out", "TiiiiiiO", nuc_op_int8_softmax)                                                        \
    X("cortex_m::transpose.out", "TIO", nuc_op_int8_transpose)                                                         \
    X("cortex_m::pad.out", "TIIiO", nuc_op_int8_pad)                                                                   \
    X("cortex_m::quantized_conv2d.out", "TT?TIIIiiTTiiOO", nuc_op_int8_conv2d)                                         \
    X("cortex_m::quantized_depthwise_conv2d.out", "TT?TIIIiiiTTiiOO", nuc_op_int8_depthwise_conv2d)                    \
    X("cortex_m::quantized_transpose_conv2d.out", "TT?TIIIIiiTTiiOOO", nuc_op_int8_transpose_conv2d)                   \
    X("cortex_m::quantized_avg_pool2d.out", "TIIIbiiiOO", nuc_op_int8_avg_pool2d)                                      \
    X("cortex_m::quantized_max_pool2d.out", "TIIIIbiiiiO", nuc_op_int8_max_pool2d)                                     \
    X("cortex_m::quantized_batch_matmul.out", "TiTiiiiOO", nuc_op_int8_batch_matmul)                                   \
    X("nucleon::quantized_lstm.out", "T?T?TLbbiIOOOO", nuc_op_int8_lstm)                                               \
    X("nucleon::quantized_gru.out", "T?TLbbiIOOO", nuc_op_int8_gru)                                                    \
    X("nucleon::quantized_rnn.out", "T?TLbbiIbOOO", nuc_op_int8_rnn)                                                   \
    X("nucleon::quantized_sum.out", "TIbiiiiO", nuc_op_int8_sum)                                                       \
    X("nucleon::quantized_conv2d.out", "TT?TIIIiiTTiiOO", nuc_op_int8_sided_conv2d)                                    \
    X("nucleon::quantized_depthwise_conv2d.out", "TT?TIIIiiiTTiiOO", nuc_op_int8_sided_depthwise_conv2d)               \
    X("nucleon::quantized_prelu.out", "TTiiiiiiO", nuc_op_int8_prelu)                                                  \
    X("nucleon::copy.out", "TO", nuc_op_copy_bytes)                                                                    \
    X("nucleon::quantized_test.out", "TTO", nuc_op_int8_test)                                                          \
    X("nucleon::quantized_compare.out", "TiiiTiiiiO", nuc_op_int8_compare)                                             \
    X("nucleon::quantized_layer_norm.out", "TTTifO", nuc_op_int8_layer_norm)                                           \
    X("nucleon::quantized_rms_norm.out", "TTiifO", nuc_op_int8_rms_norm)                                               \
    X("nucleon::quantized_group_norm.out", "TiTTifO", nuc_op_int8_group_norm)                                          \
    X("nucleon::quantized_var.out", "TIbifO", nuc_op_int8_var)                                                         \
    X("nucleon::quantized_log_softmax.out", "TiTiffO", nuc_op_int8_log_softmax)                                        \
    X("nucleon::quantized_resize_bilinear.out", "TIbO", nuc_op_int8_resize_bilinear)                                   \
    X("nucleon::quantized_resize_nearest.out", "TIO", nuc_op_int8_resize_nearest)                                      \
    X("nucleon::quantized_transpose_conv2d.out", "TT?TIIIIiiiTTiiO", nuc_op_int8_grouped_transpose_conv2d)

#define NUC_KERNEL_DECLARATION(name, signature, run)                                                                   \
    enum nuc_status run(struct nuc_kernel_context *cx, struct nuc_value *const *args);
NUC_KERNELS(NUC_KERNEL_DECLARATION)
#undef NUC_KERNEL_DECLARATION

#ifdef __cplusplus
}
#endif
#endif
