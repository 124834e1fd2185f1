/* Which operators of a program ExecuTorch's libraries have kernels for. */
#ifndef NUC_IR_EXECUTORCH_OPS_H
#define NUC_IR_EXECUTORCH_OPS_H

#include <stdbool.h>
#include <stdint.h>

/* The highest rank its convolution takes. */
#define NUC_EXECUTORCH_CONVOLUTION_RANK 4

/* By the name without overload: "aten::add". Not operators of our own, nor some that torch alone has. */
bool nuc_in_executorch(const char *name);

/* A transposed convolution of int8; [0] is the height, [1] the width. */
struct nuc_transposed_window {
    int64_t channels, height; /* of the input */
    int64_t kernel[2], stride[2], padding[2];
};

/*
 * Whether cortex_m::quantized_transpose_conv2d is right along a dimension with the CMSIS-NN that ExecuTorch pins
 * (dbf45dbf). That moves the rows of arm_transpose_conv_s8() where the padding is no multiple of the stride, which its
 * 4a8f5b5d mends, and leaves its buffers where the stride is more than the kernel or than its part behind the padding.
 */
bool nuc_executorch_transposes(const struct nuc_transposed_window *w, int dimension);

#endif
