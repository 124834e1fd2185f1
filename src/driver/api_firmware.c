/* Public calls that make the sources of a firmware. */
#include <string.h>
#include <sys/stat.h>

#include "nucleon/firmware.h"

#include "archive/json_build.h"
#include "data/file_kind.h"
#include "driver/driver.h"
#include "host/file.h"
#include "tools/codegen/codegen.h"

/* ---- C sources of a program ---- */

static void generate(struct nuc_call *k)
{
    struct nuc_context *cx = k->c->cx;

    nuc_expect_file(cx, k->path, NUC_FILE_PROGRAM);
    const char *name = k->name != NULL ? k->name : nuc_codegen_name(cx, k->path);
    struct nuc_codegen_files files = nuc_generate_code(cx, k->path, nuc_read_file(cx, k->path), name);

    mkdir(k->output, 0777); /* when it cannot be made, writing into it says why */
    nuc_write_text(cx, nuc_format(cx, "%s/%s.h", k->output, name), files.header);
    nuc_write_text(cx, nuc_format(cx, "%s/%s.c", k->output, name), files.source);
    nuc_write_text(cx, nuc_format(cx, "%s/%s_data.c", k->output, name), files.data);
}

enum nuc_status nuc_codegen_program(struct nuc_compiler *c, const char *path, const char *folder, const char *name)
{
    return nuc_enter(&(struct nuc_call){.c = c, .path = path, .output = folder, .name = name}, generate);
}

/* ---- tables of what programs call ---- */

static void write_tables(struct nuc_call *k)
{
    struct nuc_context *cx = k->c->cx;
    const struct nuc_program_view **programs = nuc_alloc_array(cx, k->count, sizeof *programs);
    size_t stem = strlen(k->output);

    if (stem < 3 || strcmp(k->output + stem - 2, ".c") != 0)
        nuc_fail(cx, NUC_BAD_USAGE, "%s: is no name for C sources: give one that ends in .c", k->output);
    for (size_t i = 0; i < k->count; i++) {
        nuc_expect_file(cx, k->names[i], NUC_FILE_PROGRAM);
        programs[i] = nuc_program_view_open(cx, k->names[i], nuc_read_file(cx, k->names[i]));
    }
    const char *name = nuc_codegen_name(cx, k->output);
    struct nuc_table_files files = nuc_kernel_tables(cx, programs, k->count, name);
    const char *folder = nuc_format(cx, "%.*s", (int)(nuc_base_name(k->output) - k->output), k->output);

    nuc_write_text(cx, k->output, files.source);
    nuc_write_text(cx, nuc_format(cx, "%s%s.h", folder, name), files.header);
    if (k->out.tables != NULL)
        *k->out.tables = (struct nuc_kernel_tables_info){.name = name,
                                                         .operators = files.operators,
                                                         .backends = files.backends,
                                                         .n_operators = files.n_operators,
                                                         .n_backends = files.n_backends};
}

enum nuc_status nuc_write_kernel_tables(struct nuc_compiler *c, const char *const *programs, size_t n_programs,
                                        const char *output, struct nuc_kernel_tables_info *info)
{
    return nuc_enter(
        &(struct nuc_call){.c = c, .names = programs, .count = n_programs, .output = output, .out.tables = info},
        write_tables);
}

static void put_names(struct nuc_context *cx, json_t *to, const char *key, const char *const *names, size_t count)
{
    json_t *list = nuc_put_array(cx, to, key);

    for (size_t i = 0; i < count; i++)
        nuc_put_text(cx, list, NULL, names[i]);
}

static void tables_json(struct nuc_call *k)
{
    struct nuc_context *cx = k->c->cx;
    json_t *tree = nuc_json_tree(cx);
    const struct nuc_kernel_tables_info *info = k->in.tables;

    nuc_put_text(cx, tree, "name", info->name);
    put_names(cx, tree, "operators", info->operators, info->n_operators);
    put_names(cx, tree, "backends", info->backends, info->n_backends);
    *k->out.text = nuc_json_text(cx, tree);
}

enum nuc_status nuc_kernel_tables_json(struct nuc_compiler *c, const struct nuc_kernel_tables_info *info,
                                       const char **text)
{
    return nuc_enter(&(struct nuc_call){.c = c, .in.tables = info, .out.text = text}, tables_json);
}
