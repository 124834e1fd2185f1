/*
 * Generates sources for firmware: a program as C, or tables that link only the operators of a program file. runtime.h
 * is the runtime itself.
 */
#ifndef NUCLEON_FIRMWARE_H
#define NUCLEON_FIRMWARE_H

#include "nucleon/compile.h"
#include "nucleon/update.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Writes the program at `path` as C sources: folder/NAME.h, NAME.c and NAME_data.c (docs/firmware.md). `name`, a C
 * identifier, is the prefix of all public names; NULL: the name of the file. Creates the folder if necessary. Of a
 * bundled program also NAME_selftest.c, what a self-test compares with (nucleon/selftest.h).
 * NUC_UNSUPPORTED: the program has jumps, or initial data of planned tensors.
 */
enum nuc_status nuc_codegen_program(struct nuc_compiler *c, const char *path, const char *folder, const char *name);

/* The contents of the tables of nuc_write_kernel_tables(). The strings belong to the compiler. */
struct nuc_kernel_tables_info {
    const char *name;             /* of the tables: NAME_kernels, NAME_backends, NAME_start() */
    const char *const *operators; /* "aten::add.out", in the library's order */
    const char *const *backends;  /* "NeutronBackend" or none */
    size_t n_operators, n_backends;
};

/*
 * Writes tables for nuc_program_load() as C source. They list only the operators and backends that the programs at
 * `programs` call, so the linker drops all other kernels, and programs without delegates need no NPU driver. `output`
 * is FOLDER/NAME.c; FOLDER/NAME.h declares the tables. `info` may be NULL. NUC_BAD_USAGE: the output does not end in
 * .c. NUC_UNSUPPORTED: the runtime lacks an operator or a backend. Of one bundled program also FOLDER/NAME_selftest.c.
 */
enum nuc_status nuc_write_kernel_tables(struct nuc_compiler *c, const char *const *programs, size_t n_programs,
                                        const char *output, struct nuc_kernel_tables_info *info);

/* The same as JSON (docs/json.md, "nucleon kernels"). */
enum nuc_status nuc_kernel_tables_json(struct nuc_compiler *c, const struct nuc_kernel_tables_info *info,
                                       const char **text);

/* ---- several programs ---- */

/* A program's part of nuc_write_memory_plan(), in bytes; `state` is what the host's runtime takes. */
struct nuc_planned_program {
    const char *file, *name; /* its C identifier */
    size_t planned;          /* shared with the others, as is */
    size_t temporary;        /* memory during a delegate call */
    size_t states;           /* of its own: states of the model, */
    size_t state;            /* and what loading it leaves */
};

struct nuc_memory_plan_info {
    struct nuc_kernel_tables_info tables;
    const struct nuc_planned_program *programs; /* in the order given */
    size_t n_programs;
    size_t shared;    /* planned memory of all: that of the program that needs most */
    size_t temporary; /* the same of temporary memory */
    size_t own;       /* sum of what is not shared */
};

/*
 * Writes what nuc_write_kernel_tables() does, and memory of programs of which one runs after the other: planned and
 * temporary memory is shared, states are not. `output` is FOLDER/NAME.c; NAME_memories[] of NAME.h is for
 * nuc_program_load(), and sources of nuc_codegen_program() take the same memory when NAME_PLAN names that header.
 * `info` may be NULL. Errors as there; NUC_BAD_USAGE also when two programs have one name.
 */
enum nuc_status nuc_write_memory_plan(struct nuc_compiler *c, const char *const *programs, size_t n_programs,
                                      const char *output, struct nuc_memory_plan_info *info);

/* The same as JSON (docs/json.md, "nucleon plan"). */
enum nuc_status nuc_memory_plan_json(struct nuc_compiler *c, const struct nuc_memory_plan_info *info,
                                     const char **text);

/* ---- a program that is replaced in the field ---- */

/*
 * Writes the package of the program at `path` to `output` (nucleon/update.h, docs/update.md). `version` is higher for a
 * newer program of the firmware. `signature` is a file with the signature of what this call writes without one; NULL:
 * there is none. `info` may be NULL; it points to memory of the compiler. NUC_UNSUPPORTED as for
 * nuc_write_kernel_tables().
 */
enum nuc_status nuc_pack_program(struct nuc_compiler *c, const char *path, const char *output, uint32_t version,
                                 const char *signature, struct nuc_package *info);

/* The same as JSON (docs/json.md, "nucleon pack"). */
enum nuc_status nuc_package_json(struct nuc_compiler *c, const struct nuc_package *info, const char **text);

/* ---- a complete project ---- */

struct nuc_project_options {
    const char *name; /* a C identifier; NULL: the name of the program file */
    const char *data; /* samples for the image, in a form of nuc_dataset_open(); NULL: one sample of zeros */
    /* Programs that may take the place of the first one: the image has their kernels, and memory for each of them. */
    const char *const *others;
    size_t n_others;
};

/*
 * Writes a CMake project to `folder`. It builds two images of the program at `path` for a Cortex-M33, or a Cortex-M55
 * where the compiler's target has one, one of generated C and one of the program file with the runtime, and runs them
 * in QEMU; its README.md describes how. samples.bin holds the samples, and expected.bin the outputs that the host
 * computed. If the folder already is a project, program/ and these two files are replaced; other files are kept, with a
 * note if they differ. `options` may be NULL. Errors as for nuc_codegen_program() and nuc_write_kernel_tables().
 */
enum nuc_status nuc_write_project(struct nuc_compiler *c, const char *path, const char *folder,
                                  const struct nuc_project_options *options);

#ifdef __cplusplus
}
#endif
#endif
