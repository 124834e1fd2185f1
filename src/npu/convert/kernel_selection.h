/*
 * Kernel selection files: C source with the table of NPU kernels a program needs, which a firmware links instead of the
 * driver's table of all. Several programs in one firmware need the union of their selections.
 */
#ifndef NUC_NPU_CONVERT_KERNEL_SELECTION_H
#define NUC_NPU_CONVERT_KERNEL_SELECTION_H

#include <stdbool.h>

#include "device/base/microcode.h"
#include "device/base/span.h"
#include "host/context.h"
#include "npu/convert/convert.h"

struct nuc_kernel_selection {
    bool used[NUC_MC_OPCODE_COUNT]; /* by opcode */
};

/* Adds the kernels of a program of the built-in converter. */
void nuc_kernel_selection_add(struct nuc_kernel_selection *s, const struct nuc_neutron_image *image);

/* The file. */
struct nuc_span nuc_kernel_selection_write(struct nuc_context *cx, const struct nuc_kernel_selection *s);

/*
 * Adds the kernels of a file that nuc_kernel_selection_write() made. Fails with NUC_BAD_INPUT when it is not such a
 * file, was made for another version of the microcode, or names a kernel there is not.
 */
void nuc_kernel_selection_read(struct nuc_context *cx, const char *file, struct nuc_span text,
                               struct nuc_kernel_selection *s);

#endif
