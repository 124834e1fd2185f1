/* Which operators of a program ExecuTorch's libraries have kernels for. */
#ifndef NUC_IR_EXECUTORCH_OPS_H
#define NUC_IR_EXECUTORCH_OPS_H

#include <stdbool.h>
#include <stdint.h>

/* The highest rank its convolution takes. */
#define NUC_EXECUTORCH_CONVOLUTION_RANK 4

/* By the name without overload: "aten::add". Not operators of our own, nor some that torch alone has. */
bool nuc_in_executorch(const char *name);

#endif
