/* What the int8 operators share: checks of element types, layouts and quantization parameters. */
#ifndef NUC_DEVICE_RUNTIME_OPERATORS_OPS_INT8_H
#define NUC_DEVICE_RUNTIME_OPERATORS_OPS_INT8_H

#include "device/runtime/op_args.h"

/* Spatial sizes, strides, paddings and dilations beyond this are refused, so that positions fit 32 bits. */
#define NUC_LARGEST_SPATIAL (1 << 14)

static inline bool nuc_is_s8(const struct nuc_tensor *t)
{
    return t->dtype == NUC_I8;
}

/* Rank 4, (batch, channel, height, width) by dimension and dense with the channels innermost in memory. */
bool nuc_tensor_is_channels_last(const struct nuc_tensor *t);

/* Two lists of one int each for height and width, in [low, NUC_LARGEST_SPATIAL]. */
bool nuc_spatial(const struct nuc_kernel_context *cx, const struct nuc_value *list, int64_t low, int32_t pair[2]);

/* Sizes of dimensions 2 and 3; false when one exceeds NUC_LARGEST_SPATIAL. */
bool nuc_image_size(const struct nuc_tensor *t, int32_t size[2]);

/* `t` is absent or has one int32 for each of `count`. */
bool nuc_is_i32_vector(const struct nuc_tensor *t, int32_t count);

/* Every shift lies in [-31, 31]. */
bool nuc_shifts_fit(const int32_t *shifts, int32_t count);

/* args[at] and args[at + 1] as multiplier and shift. */
bool nuc_arg_multiplier(struct nuc_value *const *args, int at, struct nuc_multiplier *m);

/* args[at], args[at + 1]: bounds within int8, the lower one at `low_at`. */
bool nuc_arg_bounds(struct nuc_value *const *args, int low_at, int high_at, int32_t *low, int32_t *high);

/* An int8 zero point. */
static inline bool nuc_is_zero_point(const struct nuc_value *v)
{
    return nuc_value_in(v, INT8_MIN, INT8_MAX);
}

/* Minus an int8 zero point, as convolutions and matrix products take it. */
static inline bool nuc_is_offset(const struct nuc_value *v)
{
    return nuc_value_in(v, -INT8_MAX, -INT8_MIN);
}

/* The scratch argument's memory, or none when it is not aligned to 4. */
void nuc_arg_scratch(const struct nuc_tensor *t, void **scratch, size_t *bytes);

/* Largest stride of out first, so that the innermost loop walks through memory; dimensions that go on are merged. */
void nuc_loops_in_memory_order(struct nuc_loops *loops);

/*
 * Loops over out's elements with a and b broadcast, in the order of out's memory, all int8; notes the message when the
 * types or shapes do not fit.
 */
bool nuc_int8_loops(struct nuc_kernel_context *cx, const struct nuc_tensor *a, const struct nuc_tensor *b,
                    const struct nuc_tensor *out, struct nuc_loops *loops);

#endif
