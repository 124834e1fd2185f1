/* A package against the firmware, for the update that is being written, too. */
#ifndef NUC_DEVICE_RUNTIME_PACKAGE_LOAD_H
#define NUC_DEVICE_RUNTIME_PACKAGE_LOAD_H

#include "nucleon/update.h"

static inline bool nuc_is_firmware(const struct nuc_firmware *f)
{
    return f != NULL && f->kernels != NULL && f->banks != NULL && f->n_banks > 0 && f->n_banks <= NUC_MAX_BANKS;
}

/* What the header of a package says against what the firmware has, */
enum nuc_status nuc_package_suits(const struct nuc_package *p, const struct nuc_firmware *f, struct nuc_detail *detail);

/* and whether memory suffices for what it says alone: without the state, which the runtime measures in the program. */
enum nuc_status nuc_package_fits(const struct nuc_package *p, const struct nuc_firmware *f, struct nuc_detail *detail);

/* All that nuc_package_check() looks at in a package that is open. */
enum nuc_status nuc_package_check_open(const struct nuc_package *p, const struct nuc_firmware *f,
                                       struct nuc_detail *detail);

#endif
