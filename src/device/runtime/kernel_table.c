#include "nucleon/kernels.h"

#define ENTRY(name, list, run) {name, nuc_accepts_##list, nuc_arguments_##list, run},
static const struct nuc_kernel_entry entries[] = {NUC_KERNELS(ENTRY)};
#undef ENTRY

const struct nuc_kernel_table nuc_default_kernels = {entries, sizeof entries / sizeof entries[0]};
