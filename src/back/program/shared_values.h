/* Values that say the same, found by what they say: numbers and lists that many calls have are in the program once. */
#ifndef NUC_BACK_PROGRAM_SHARED_VALUES_H
#define NUC_BACK_PROGRAM_SHARED_VALUES_H

#include "back/program/emit.h"

/*
 * Index of a value of the emission that says the same as `value`, or NUC_NO_STORAGE: then `value`, which the caller
 * adds as the next one, is found from now on. Tensors are never shared: each is memory of its own, or a name of a
 * constant.
 */
uint32_t nuc_share_value(struct nuc_emission *e, const struct nuc_emit_value *value);

#endif
