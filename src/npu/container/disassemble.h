/* Microcode as text: a line for the header, then a block per kernel call with its operands and parameters. */
#ifndef NUC_NPU_CONTAINER_DISASSEMBLE_H
#define NUC_NPU_CONTAINER_DISASSEMBLE_H

#include "device/base/span.h"
#include "host/text.h"
#include "npu/convert/kernel_names.h"

/*
 * Appends the text of untrusted microcode. What cannot be read is said in the text: a foreign version ends after the
 * header's words, a broken record ends the list.
 */
void nuc_disassemble(struct nuc_text *out, struct nuc_span microcode);

#endif
