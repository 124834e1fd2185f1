/* Generated C of a program, compiled, loaded and run in this process. */
#ifndef NUC_CONTRACT_CODE_H
#define NUC_CONTRACT_CODE_H

#include <stdbool.h>
#include <stddef.h>

#include "nucleon/runner.h"

/*
 * The C sources that nuc_codegen_program() makes of the program at `path` compile without a warning as C11 by `cc`, and
 * give the outputs of the runner for these inputs, which are in logical order, byte for byte. `folder` is for files.
 * Returns NULL or what is wrong, in static memory. A program that codegen refuses is right when `refused` allows it:
 * then the message is there.
 */
const char *code_check(struct nuc_compiler *c, const char *path, const char *folder, const char *cc,
                       const char *include, struct nuc_runner *r, const void *const *inputs, void *const *outputs,
                       const char **refused);

#endif
