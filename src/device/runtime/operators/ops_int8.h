/* What the operators of int8 and int16 share: sizes, quantization parameters, scratch and loops. */
#ifndef NUC_DEVICE_RUNTIME_OPERATORS_OPS_INT8_H
#define NUC_DEVICE_RUNTIME_OPERATORS_OPS_INT8_H

#include "device/runtime/operators/op_shapes.h"

static inline bool nuc_is_s8(const struct nuc_tensor *t)
{
    return t->dtype == NUC_I8;
}

/* Sizes of dimensions 2 and 3; false when one exceeds NUC_LARGEST_SIDE. */
bool nuc_image_size(const struct nuc_tensor *t, int32_t size[2]);

static inline struct nuc_multiplier nuc_multiplier_of(const struct nuc_value *multiplier, const struct nuc_value *shift)
{
    return (struct nuc_multiplier){nuc_int32(multiplier), nuc_int32(shift)};
}

/* Notes the message when the lower bound of an activation lies above the other. */
bool nuc_bounds_fit(struct nuc_kernel_context *cx, int32_t low, int32_t high);

/* Notes a message when one of the zero points is not 0, as those of int16 are. */
bool nuc_zeros(struct nuc_kernel_context *cx, int64_t a, int64_t b, int64_t c);

/* The memory of a scratch argument, or none when it is not aligned to 4. */
void nuc_scratch(const struct nuc_value *value, void **scratch, size_t *bytes);

/* Largest stride of out first, so that the innermost loop walks through memory; dimensions that go on are merged. */
void nuc_loops_in_memory_order(struct nuc_loops *loops);

/* Loops over out's elements with a and b broadcast, in the order of out's memory; notes the message when they do not.
 */
bool nuc_int8_loops(struct nuc_kernel_context *cx, const struct nuc_tensor *a, const struct nuc_tensor *b,
                    const struct nuc_tensor *out, struct nuc_loops *loops);

#endif
