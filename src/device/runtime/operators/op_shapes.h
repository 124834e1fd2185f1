/* What the operators share: values of arguments, comparing tensors, and turning shapes into loop nests. */
#ifndef NUC_DEVICE_RUNTIME_OPERATORS_OP_SHAPES_H
#define NUC_DEVICE_RUNTIME_OPERATORS_OP_SHAPES_H

#include "device/kernels/select/select.h"
#include "device/runtime/operators/arguments.h"

/*
 * Int8 images and what is moved over them do not exceed this, so that positions fit 32 bits: the sides of an image, as
 * of some seconds of sound; kernels, strides, paddings and dilations.
 */
#define NUC_LARGEST_SIDE (1 << 20)
#define NUC_LARGEST_EXTENT (1 << 14)

/* Notes the message when the condition does not hold; returns the condition. */
bool nuc_need(struct nuc_kernel_context *cx, bool condition, const char *message);

/* The status when the indices that an operator was given lie within their dimensions or not: NUC_BAD_INPUT. */
enum nuc_status nuc_in_range(struct nuc_kernel_context *cx, bool are);

/* ---- values that have been checked ---- */

/* NULL when the optional tensor is absent. */
static inline const struct nuc_tensor *nuc_optional_tensor(const struct nuc_value *value)
{
    return value->kind == NUC_VALUE_TENSOR ? &value->u.tensor : NULL;
}

static inline const void *nuc_optional_data(const struct nuc_value *value)
{
    return value->kind == NUC_VALUE_TENSOR ? value->u.tensor.data : NULL;
}

/* An int within 32 bits. */
static inline int32_t nuc_int32(const struct nuc_value *value)
{
    return (int32_t)value->u.i;
}

/* A dimension of `t`, as an index from 0. */
static inline uint32_t nuc_dim_of(const struct nuc_tensor *t, const struct nuc_value *value)
{
    return (uint32_t)(value->u.i < 0 ? value->u.i + (t->rank > 0 ? t->rank : 1) : value->u.i);
}

/*
 * Output positions of a pool whose window reaches over so many positions; with ceil_mode a last window that starts
 * inside the input or the padding before it. Padding and stride are at most 2^24. Of 32 bits: a division of 64 bits is
 * a function of 1,000 bytes.
 */
static inline int32_t nuc_pooled_size(int32_t in, uint32_t reach, int32_t stride, int32_t padding, bool ceil_mode)
{
    uint32_t room = (uint32_t)in + 2 * (uint32_t)padding + (ceil_mode ? (uint32_t)stride - 1 : 0);

    if (room < reach)
        return 0;
    uint32_t last = (room - reach) / (uint32_t)stride;
    return (int32_t)(ceil_mode && last * (uint32_t)stride >= (uint32_t)in + (uint32_t)padding ? last : last + 1);
}

/* Two ints of 32 bits out of a list; one stands for both, none for the fallback. False for any other number of them. */
bool nuc_list_pair(const struct nuc_kernel_context *cx, const struct nuc_value *list, const int32_t *fallback,
                   int32_t pair[2]);

bool nuc_text_is(const struct nuc_value *value, const char *text);

/* ---- comparing tensors ---- */

static inline bool nuc_is_f32(const struct nuc_tensor *t)
{
    return t->dtype == NUC_F32;
}

/* Integers of 1 to 8 bytes and bool. */
static inline bool nuc_is_whole(const struct nuc_tensor *t)
{
    return t->dtype == NUC_BOOL || t->dtype == NUC_I64 || t->dtype == NUC_I32 || t->dtype == NUC_I16 ||
           t->dtype == NUC_U16 || t->dtype == NUC_I8 || t->dtype == NUC_U8;
}

/* int, bool, float32 and float64: what conversions know. */
static inline bool nuc_is_convertible(const struct nuc_tensor *t)
{
    return t->dtype != NUC_F16 && t->dtype != NUC_BF16;
}

static inline size_t nuc_element_size(const struct nuc_tensor *t)
{
    return nuc_dtype_size((enum nuc_dtype)t->dtype);
}

/* Elements; bytes are a multiple of the element size. */
size_t nuc_tensor_elements(const struct nuc_tensor *t);

/* Strides in elements, by dimension. */
void nuc_tensor_strides(const struct nuc_tensor *t, ptrdiff_t strides[NUC_MAX_RANK]);

bool nuc_tensor_same_sizes(const struct nuc_tensor *a, const struct nuc_tensor *b);

/* Same sizes and the same place in memory for each element; the order of dimensions of size 1 does not matter. */
bool nuc_tensor_same_layout(const struct nuc_tensor *a, const struct nuc_tensor *b);

/* Whether each element lies where a contiguous tensor of these sizes has it. */
bool nuc_tensor_is_contiguous(const struct nuc_tensor *t);

/* Rank 4, (batch, channel, height, width) by dimension and dense with the channels innermost in memory. */
bool nuc_tensor_is_channels_last(const struct nuc_tensor *t);

/* *dim as an index from 0, or false when the tensor has no such dimension. Rank 0 has dimension 0 and -1. */
bool nuc_tensor_dim(const struct nuc_tensor *t, int64_t value, uint32_t *dim);

/* Outer, size and inner element counts around a dimension in memory order. The tensor has elements and a rank. */
struct nuc_axis_sizes nuc_tensor_axis(const struct nuc_tensor *t, uint32_t dim);

/* ---- loops ---- */

/* `in` broadcast to `out` and converted to its element type. */
enum nuc_status nuc_copy_tensor(struct nuc_kernel_context *cx, const struct nuc_tensor *in,
                                const struct nuc_tensor *out);

/* Loops over out, whose dimension d is dimension dims[d] of `in`, each once; false when the sizes do not fit. */
bool nuc_permuted_loops(const struct nuc_kernel_context *cx, const struct nuc_value *dims, const struct nuc_tensor *in,
                        const struct nuc_tensor *out, struct nuc_loops *loops);

/* The lines along `dim`, and the loops over all other dimensions; a scalar is one line. */
void nuc_lines_along(const struct nuc_tensor *in, const struct nuc_tensor *out, uint32_t dim, struct nuc_loops *lines,
                     struct nuc_line *line);

/*
 * A reduction of `in` over a dimension or those of a list (none or an empty one: all): loops over what stays, strides a
 * in the input and out in the output, and over what is reduced. Notes the message when `out` does not fit.
 */
bool nuc_reduction_loops(struct nuc_kernel_context *cx, const struct nuc_value *dims, bool keepdim,
                         const struct nuc_tensor *in, const struct nuc_tensor *out, struct nuc_loops *kept,
                         struct nuc_loops *reduced);

/* Loops over out's elements with a and b broadcast to it; false when a shape does not fit. b may be NULL. */
bool nuc_broadcast_loops(const struct nuc_tensor *a, const struct nuc_tensor *b, const struct nuc_tensor *out,
                         struct nuc_loops *loops);

#endif
