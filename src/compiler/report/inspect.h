/* Describes files: what `nucleon inspect` prints. All readers take untrusted bytes. */
#ifndef NUC_REPORT_INSPECT_H
#define NUC_REPORT_INSPECT_H

#include "base/span.h"
#include "host/text.h"
#include "nucleon/compile.h"

/*
 * A .pt2, .tflite or .pte file, recognized by content. `disassemble` adds the kernel calls of NPU payloads. Fails with
 * NUC_BAD_INPUT naming the place for a damaged file, or one of another kind.
 */
const char *nuc_inspect(struct nuc_context *cx, const char *path, enum nuc_inspect_form form, bool disassemble);

/* The parts of the text. `file` names the bytes in messages. */
void nuc_inspect_program(struct nuc_text *out, const char *file, struct nuc_span bytes, bool disassemble);
void nuc_inspect_payload(struct nuc_text *out, const char *file, struct nuc_span payload, bool disassemble);

#endif
