/* The part of aten::convolution for tensors of rank 5. */
#ifndef NUC_DEVICE_RUNTIME_OPERATORS_OPS_CONVOLUTION3D_H
#define NUC_DEVICE_RUNTIME_OPERATORS_OPS_CONVOLUTION3D_H

#include "nucleon/kernels.h"

/* Arguments as of aten::convolution.out, of which the input is float32 of rank 5. */
enum nuc_status nuc_convolution3d(struct nuc_kernel_context *cx, struct nuc_value *const *args);

#endif
