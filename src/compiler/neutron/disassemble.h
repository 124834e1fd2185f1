/* Microcode as text: a line for the header, then a block a kernel call with its operands and parameters. */
#ifndef NUC_NEUTRON_DISASSEMBLE_H
#define NUC_NEUTRON_DISASSEMBLE_H

#include <stdbool.h>

#include "base/span.h"
#include "host/text.h"

/* Whether the bytes are microcode of this encoding and version; programs of the vendor's converter are not. */
bool nuc_is_microcode(struct nuc_span microcode);

/*
 * Appends the text of untrusted microcode. What cannot be read is said in the text: a foreign version ends after the
 * header's words, a broken record ends the list.
 */
void nuc_disassemble(struct nuc_text *out, struct nuc_span microcode);

#endif
