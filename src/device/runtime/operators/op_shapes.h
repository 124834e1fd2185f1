/* What the operators share: reading arguments, comparing tensors, and turning shapes into loop nests. */
#ifndef NUC_DEVICE_RUNTIME_OP_ARGS_H
#define NUC_DEVICE_RUNTIME_OP_ARGS_H

#include "device/kernels/select/select.h"
#include "nucleon/kernels.h"

/* Notes the message when the condition does not hold; returns the condition. */
bool nuc_need(struct nuc_kernel_context *cx, bool condition, const char *message);

static inline struct nuc_tensor *nuc_arg_tensor(struct nuc_value *const *args, int index)
{
    return &args[index]->u.tensor;
}

/* NULL when the optional tensor is absent. */
static inline const struct nuc_tensor *nuc_arg_optional_tensor(struct nuc_value *const *args, int index)
{
    return args[index]->kind == NUC_VALUE_TENSOR ? &args[index]->u.tensor : NULL;
}

static inline bool nuc_is_f32(const struct nuc_tensor *t)
{
    return t->dtype == NUC_F32;
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

/* *dim as an index from 0, or false when the tensor has no such dimension. Rank 0 has dimension 0 and -1. */
bool nuc_tensor_dim(const struct nuc_tensor *t, int64_t value, uint32_t *dim);

/* Outer, size and inner element counts around a dimension in memory order. The tensor has elements and a rank. */
struct nuc_axis nuc_tensor_axis(const struct nuc_tensor *t, uint32_t dim);

/* a int in [low, high] */
bool nuc_value_in(const struct nuc_value *value, int64_t low, int64_t high);

/*
 * Two ints in [low, high] out of a list; one stands for both, an empty list for the fallback (which may be NULL: then
 * an empty list is refused).
 */
bool nuc_list_pair(const struct nuc_kernel_context *cx, const struct nuc_value *list, int64_t low, int64_t high,
                   const int32_t *fallback, int32_t pair[2]);

/* int, bool, float32 and float64: what conversions know. */
bool nuc_is_convertible(const struct nuc_tensor *t);

/* `in` broadcast to `out` and converted to its element type. */
enum nuc_status nuc_copy_tensor(struct nuc_kernel_context *cx, const struct nuc_tensor *in, struct nuc_tensor *out);

/* The lines along `dim`, and the loops over all other dimensions; a scalar is one line. */
void nuc_lines_along(const struct nuc_tensor *in, const struct nuc_tensor *out, uint32_t dim, struct nuc_loops *lines,
                     struct nuc_line *line);

/* Integers of 1 to 8 bytes and bool. */
static inline bool nuc_is_whole(const struct nuc_tensor *t)
{
    return t->dtype == NUC_BOOL || t->dtype == NUC_I64 || t->dtype == NUC_I32 || t->dtype == NUC_I16 ||
           t->dtype == NUC_U16 || t->dtype == NUC_I8 || t->dtype == NUC_U8;
}

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
