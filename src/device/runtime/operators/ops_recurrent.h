/* What the recurrent layers of float32 and int8 share: the sizes of their sequences and states. */
#ifndef NUC_DEVICE_RUNTIME_OPERATORS_OPS_RECURRENT_H
#define NUC_DEVICE_RUNTIME_OPERATORS_OPS_RECURRENT_H

#include "device/kernels/ref/recurrence.h"
#include "device/runtime/operators/op_shapes.h"

struct nuc_layer_sizes {
    struct nuc_recurrence r; /* of one direction; `out` of the second one begins r.hidden elements later */
    int32_t directions;
};

/* Contiguous, of that element type and rank. */
bool nuc_is_dense(const struct nuc_tensor *t, uint8_t dtype, uint32_t rank);

/*
 * Sizes of `in`, [steps, samples, inputs] or, batch first, [samples, steps, inputs], and of `out`, which has the units
 * of all directions in place of the inputs. Notes the message when they do not fit.
 */
bool nuc_read_layer_sizes(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *out,
                          bool bidirectional, bool batch_first, struct nuc_layer_sizes *l);

/* [directions, samples, units] */
bool nuc_is_layer_state(const struct nuc_layer_sizes *l, const struct nuc_tensor *t);

#endif
