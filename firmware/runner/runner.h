/* What an image is linked from: the program and its input; the tables are those of nucleon kernels, tables.h. */
#ifndef NUC_FIRMWARE_RUNNER_H
#define NUC_FIRMWARE_RUNNER_H

#include "nucleon/runtime.h"

extern const uint8_t nuc_image[], nuc_image_end[];
extern const uint8_t nuc_input[], nuc_input_end[];

#endif
