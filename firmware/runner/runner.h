/* What an image is linked from: the program, its input, and the tables that hold only what the program uses. */
#ifndef NUC_FIRMWARE_RUNNER_H
#define NUC_FIRMWARE_RUNNER_H

#include "nucleon/runtime.h"

extern const uint8_t nuc_image[], nuc_image_end[];
extern const uint8_t nuc_input[], nuc_input_end[];

extern const struct nuc_kernel_table nuc_firmware_kernels;
extern const struct nuc_backend_table nuc_firmware_backends;

/* Starts the NPU's driver, when there is one. 0: done. */
int nuc_firmware_start_npu(void);

#endif
