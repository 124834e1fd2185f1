/*
 * Sources of a firmware, made of programs: C instead of the program file, or the tables that link only what a program
 * file calls. The runtime itself is runtime.h.
 */
#ifndef NUCLEON_FIRMWARE_H
#define NUCLEON_FIRMWARE_H

#include "nucleon/compile.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * C sources of the program at `path`: folder/NAME.h, NAME.c and NAME_data.c (docs/firmware.md). `name`, a C identifier,
 * begins the names of everything public; NULL: the file's. The folder is made when it is not there. NUC_UNSUPPORTED for
 * a program with jumps, or with initial data of planned tensors.
 */
enum nuc_status nuc_codegen_program(struct nuc_compiler *c, const char *path, const char *folder, const char *name);

/* What nuc_write_kernel_tables() listed: texts of the compiler's, as long as it lives. */
struct nuc_kernel_tables_info {
    const char *name;             /* of the tables: NAME_kernels, NAME_backends, NAME_start() */
    const char *const *operators; /* "aten::add.out", in the library's order */
    const char *const *backends;  /* "NeutronBackend" or none */
    size_t n_operators, n_backends;
};

/*
 * C source of the tables that nuc_program_load() takes, with the operators and backends that the programs at `programs`
 * call and nothing else: the linker drops the kernels of others, and without delegates nothing of the NPU's driver is
 * needed. Written to `output`, FOLDER/NAME.c, and to FOLDER/NAME.h, which declares them. `info` may be NULL.
 * NUC_BAD_USAGE when the output does not end in .c, NUC_UNSUPPORTED when the runtime lacks an operator or a backend.
 */
enum nuc_status nuc_write_kernel_tables(struct nuc_compiler *c, const char *const *programs, size_t n_programs,
                                        const char *output, struct nuc_kernel_tables_info *info);

/* That as JSON (docs/json.md, "nucleon kernels"). */
enum nuc_status nuc_kernel_tables_json(struct nuc_compiler *c, const struct nuc_kernel_tables_info *info,
                                       const char **text);

/* ---- a complete project ---- */

struct nuc_project_options {
    const char *name; /* a C identifier; NULL: the program file's */
    const char *data; /* samples for the image, as nuc_dataset_open() takes them; NULL: one of zeros */
};

/*
 * A CMake project in `folder` that builds two images of the program at `path` for a Cortex-M33, of generated C and of
 * the program file with the runtime, and runs them in QEMU: README.md there says how. samples.bin has the samples,
 * expected.bin what the program gives for them on the host. In a folder that is a project already, program/ and these
 * two are replaced and everything else is kept, with a note where it differs. `options` may be NULL. Fails as
 * nuc_codegen_program() and nuc_write_kernel_tables() do.
 */
enum nuc_status nuc_write_project(struct nuc_compiler *c, const char *path, const char *folder,
                                  const struct nuc_project_options *options);

#ifdef __cplusplus
}
#endif
#endif
