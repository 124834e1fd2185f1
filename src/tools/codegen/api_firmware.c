/* Public calls that make the sources of a firmware. */
#include "nucleon/firmware.h"
#include <string.h>

#include "archive/bundle.h"
#include "archive/file_kind.h"
#include "archive/json_build.h"
#include "archive/program_package.h"
#include "device/base/package.h"
#include "host/call.h"
#include "host/file.h"
#include "nucleon/runner.h"
#include "tools/codegen/codegen_program.h"

/* Of a bundled program with test cases: what a self-test compares with, as C. NULL: there are none. */
static const char *selftest_of(struct nuc_compiler *c, const char *path, const char *name, bool is_c)
{
    const char *text = NULL;
    struct nuc_context *cx = nuc_context_of(c);
    const struct nuc_simulator_options plain = {.path = NUC_SIMULATOR_PLAIN};
    const struct nuc_selftest *t;
    struct nuc_span program;
    struct nuc_runner *r;
    enum nuc_status s = nuc_runner_open(c, path, &plain, &r);

    if (s == NUC_OK && nuc_runner_n_cases(r) > 0) {
        s = nuc_runner_selftest(r, path, &t);
        program.data = nuc_runner_image(r, &program.size);
        if (s == NUC_OK)
            text = nuc_selftest_tables(cx, nuc_program_view_open(cx, path, program), t, name, is_c);
    }
    nuc_check(cx, s);
    nuc_runner_close(r);
    return text;
}

/* ---- C sources of a program ---- */

enum nuc_status nuc_codegen_program(struct nuc_compiler *c, const char *path, const char *folder, const char *name)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, path != NULL && folder != NULL);
        struct nuc_context *cx = nuc_context_of(c);
        nuc_expect_file(cx, path, NUC_FILE_PROGRAM);
        struct nuc_span file = nuc_read_file(cx, path);
        const char *stem = name != NULL ? name : nuc_codegen_name(cx, path);
        struct nuc_codegen_files files = nuc_generate_code(cx, path, nuc_program_of(cx, path, file), stem);
        const char *selftest = nuc_is_bundle(file) ? selftest_of(c, path, stem, true) : NULL;
        nuc_make_folder(cx, folder);
        nuc_write_text(cx, nuc_format(cx, "%s/%s.h", folder, stem), files.header);
        nuc_write_text(cx, nuc_format(cx, "%s/%s.c", folder, stem), files.source);
        nuc_write_text(cx, nuc_format(cx, "%s/%s_data.c", folder, stem), files.data);
        if (selftest != NULL)
            nuc_write_text(cx, nuc_format(cx, "%s/%s_selftest.c", folder, stem), selftest);
    }
    return nuc_leave(&call);
}

/* ---- tables of what programs call ---- */

/* `plan` is filled when not NULL: the tables are those of a plan then. */
static void write_tables(struct nuc_context *cx, const char *const *paths, size_t count, const char *output,
                         struct nuc_kernel_tables_info *info, struct nuc_memory_plan_info *plan)
{
    const struct nuc_program_view **programs = nuc_alloc_array(cx, count, sizeof *programs);
    size_t stem = strlen(output);

    if (stem < 3 || strcmp(output + stem - 2, ".c") != 0)
        nuc_fail(cx, NUC_BAD_USAGE, "%s: is no name for C sources: give one that ends in .c", output);
    for (size_t i = 0; i < count; i++)
        programs[i] = nuc_program_view_open(cx, paths[i], nuc_read_program(cx, paths[i]));
    const char *name = nuc_codegen_name(cx, output);
    struct nuc_table_files files = plan != NULL ? nuc_memory_plan(cx, programs, count, name, plan)
                                                : nuc_kernel_tables(cx, programs, count, name, "kernels", "");
    const char *folder = nuc_format(cx, "%.*s", (int)(nuc_base_name(output) - output), output);

    nuc_write_text(cx, output, files.source);
    nuc_write_text(cx, nuc_format(cx, "%s%s.h", folder, name), files.header);
    if (info != NULL)
        *info = (struct nuc_kernel_tables_info){.name = name,
                                                .operators = files.operators,
                                                .backends = files.backends,
                                                .n_operators = files.n_operators,
                                                .n_backends = files.n_backends};
}

enum nuc_status nuc_write_kernel_tables(struct nuc_compiler *c, const char *const *programs, size_t n_programs,
                                        const char *output, struct nuc_kernel_tables_info *info)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, (programs != NULL || n_programs == 0) && output != NULL);
        struct nuc_context *cx = nuc_context_of(c);
        bool has_cases = n_programs == 1 && nuc_is_bundle(nuc_read_file(cx, programs[0]));
        /* Before anything is written, so that a case that fails leaves no half of the files. */
        const char *selftest = has_cases ? selftest_of(c, programs[0], nuc_codegen_name(cx, output), false) : NULL;
        write_tables(cx, programs, n_programs, output, info, NULL);
        if (selftest != NULL)
            nuc_write_text(cx, nuc_format(cx, "%.*s_selftest.c", (int)(strlen(output) - strlen(".c")), output),
                           selftest);
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_write_memory_plan(struct nuc_compiler *c, const char *const *programs, size_t n_programs,
                                      const char *output, struct nuc_memory_plan_info *info)
{
    struct nuc_memory_plan_info plan;
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, programs != NULL && n_programs > 0 && output != NULL);
        struct nuc_kernel_tables_info tables;
        write_tables(nuc_context_of(c), programs, n_programs, output, &tables, &plan);
        plan.tables = tables;
        if (info != NULL)
            *info = plan;
    }
    return nuc_leave(&call);
}

/* ---- packages ---- */

enum nuc_status nuc_pack_program(struct nuc_compiler *c, const char *path, const char *output, uint32_t version,
                                 const char *signature, struct nuc_package *info)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, path != NULL && output != NULL);
        struct nuc_context *cx = nuc_context_of(c);
        struct nuc_span package =
            nuc_make_package(cx, nuc_program_view_open(cx, path, nuc_read_program(cx, path)), version);
        if (signature != NULL) {
            struct nuc_span file = nuc_read_file(cx, signature);
            if (file.size == 0 || file.size > NUC_PACKAGE_HEADER_MAX)
                nuc_fail(cx, NUC_BAD_INPUT,
                         "%s: has %zu bytes: a signature has 1 to %d; 'openssl dgst -sign' writes one of the package",
                         signature, file.size, NUC_PACKAGE_HEADER_MAX);
            package = nuc_sign_package(cx, package, file);
        }
        nuc_write_file(cx, output, package);
        if (info != NULL)
            nuc_package_of(cx, output, package, info);
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_package_json(struct nuc_compiler *c, const struct nuc_package *info, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, info != NULL && text != NULL);
        struct nuc_context *cx = nuc_context_of(c);
        json_t *tree = nuc_json_tree(cx);
        nuc_package_put(cx, info, nuc_put_object(cx, tree, "package"));
        *text = nuc_json_text(cx, tree);
    }
    return nuc_leave(&call);
}

/* ---- JSON of tables ---- */

static void put_tables(struct nuc_context *cx, json_t *to, const struct nuc_kernel_tables_info *info)
{
    nuc_put_text(cx, to, "name", info->name);
    nuc_put_texts(cx, to, "operators", info->operators, info->n_operators);
    nuc_put_texts(cx, to, "backends", info->backends, info->n_backends);
}

enum nuc_status nuc_kernel_tables_json(struct nuc_compiler *c, const struct nuc_kernel_tables_info *info,
                                       const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, info != NULL && text != NULL);
        struct nuc_context *cx = nuc_context_of(c);
        json_t *tree = nuc_json_tree(cx);
        put_tables(cx, tree, info);
        *text = nuc_json_text(cx, tree);
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_memory_plan_json(struct nuc_compiler *c, const struct nuc_memory_plan_info *info, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, info != NULL && text != NULL);
        struct nuc_context *cx = nuc_context_of(c);
        json_t *tree = nuc_json_tree(cx), *list;
        put_tables(cx, tree, &info->tables);
        list = nuc_put_array(cx, tree, "programs");
        for (size_t i = 0; i < info->n_programs; i++) {
            const struct nuc_planned_program *p = &info->programs[i];
            json_t *program = nuc_put_object(cx, list, NULL);
            nuc_put_text(cx, program, "file", p->file);
            nuc_put_text(cx, program, "name", p->name);
            nuc_put_count(cx, program, "planned_bytes", p->planned);
            nuc_put_count(cx, program, "temporary_bytes", p->temporary);
            nuc_put_count(cx, program, "states_bytes", p->states);
            nuc_put_count(cx, program, "runtime_bytes", p->state);
        }
        nuc_put_count(cx, tree, "shared_bytes", info->shared);
        nuc_put_count(cx, tree, "temporary_bytes", info->temporary);
        nuc_put_count(cx, tree, "own_bytes", info->own);
        *text = nuc_json_text(cx, tree);
    }
    return nuc_leave(&call);
}
