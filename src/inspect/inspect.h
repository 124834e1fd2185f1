/* Describes files: what `nucleon inspect` prints. All readers take untrusted bytes. */
#ifndef NUC_INSPECT_INSPECT_H
#define NUC_INSPECT_INSPECT_H

#include <stdbool.h>

#include "host/file.h"
#include "nucleon/compile.h"

/*
 * A .pt2, .tflite or .pte file, recognized by content. `disassemble` adds the kernel calls of NPU payloads. Fails with
 * NUC_BAD_INPUT naming the place for a damaged file, or one of another kind.
 */
const char *nuc_inspect(struct nuc_context *cx, struct nuc_stored input, enum nuc_inspect_form form, bool disassemble);

#endif
