/*
 * A program file as C sources: values, constants and calls become static tables, so that a firmware needs neither the
 * file nor what reads it. The sources call the kernels of nucleon/kernels.h and, for delegates, the backend of
 * nucleon/runtime.h; the linker takes only those.
 */
#ifndef NUC_TOOLS_CODEGEN_CODEGEN_H
#define NUC_TOOLS_CODEGEN_CODEGEN_H

#include "archive/program_view.h"
#include "device/base/span.h"
#include "host/context.h"
#include "nucleon/firmware.h"

struct nuc_codegen_files {
    const char *header, *source, *data; /* <name>.h, <name>.c, <name>_data.c */
};

/*
 * `file` names the image in messages, `name` is a C identifier and begins the names of everything public. Fails with
 * NUC_BAD_USAGE for a name that is none or is one of C's headers or of the runtime,
 * NUC_BAD_INPUT for an image the runtime would refuse, NUC_UNSUPPORTED for one with jumps, with moves of scalars or
 * with planned tensors that have initial data: no compiler of int8 models writes those.
 */
struct nuc_codegen_files nuc_generate_code(struct nuc_context *cx, const char *file, struct nuc_span image,
                                           const char *name);

/* `path` without folder and ending as a C identifier; "program_" in front of one that cannot be a name. */
const char *nuc_codegen_name(struct nuc_context *cx, const char *path);

/* The name in capitals, as macros have it. */
const char *nuc_codegen_capitals(struct nuc_context *cx, const char *name);

/* ---- tables of operators and backends ---- */

struct nuc_table_files {
    const char *header, *source;                    /* <name>.h, <name>.c */
    const char *const *operators, *const *backends; /* what the tables list, in the library's order */
    size_t n_operators, n_backends;
};

/*
 * Tables for nuc_program_load() with what `count` programs call and nothing else; the header has constants of their
 * inputs and outputs, unless `command`, which makes them, is codegen, and `more` behind the tables. NUC_UNSUPPORTED
 * when the runtime lacks an operator or a backend, NUC_BAD_USAGE for a name as above.
 */
struct nuc_table_files nuc_kernel_tables(struct nuc_context *cx, const struct nuc_program_view *const *programs,
                                         size_t count, const char *name, const char *command, const char *more);

/*
 * The same tables, and memory for the programs when one runs after the other: planned and temporary memory is as large
 * as that of the program that needs most, by bank where programs name banks (data/metadata.h); states and what loading
 * leaves are each program's own. NUC_BAD_USAGE also where two programs are of one name.
 */
struct nuc_table_files nuc_memory_plan(struct nuc_context *cx, const struct nuc_program_view *const *programs,
                                       size_t count, const char *name, struct nuc_memory_plan_info *info);

/* The package of a program (nucleon/update.h), and the same with a signature of it behind. */
struct nuc_span nuc_make_package(struct nuc_context *cx, const struct nuc_program_view *view, uint32_t version);
struct nuc_span nuc_sign_package(struct nuc_context *cx, struct nuc_span package, struct nuc_span signature);

#endif
