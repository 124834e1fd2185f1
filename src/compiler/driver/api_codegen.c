/* C sources of a program, as files. */
#include <string.h>
#include <sys/stat.h>

#include "compiler/codegen/codegen.h"
#include "compiler/driver/driver.h"
#include "host/file.h"

struct codegen_call {
    const char *path, *folder, *name;
};

static void write_text(struct nuc_context *cx, const char *folder, const char *name, const char *ending,
                       const char *text)
{
    nuc_write_file(cx, nuc_format(cx, "%s/%s%s", folder, name, ending),
                   (struct nuc_span){(const uint8_t *)text, strlen(text)});
}

static void generate(struct nuc_context *cx, void *arg)
{
    const struct codegen_call *call = arg;
    const char *name = call->name != NULL ? call->name : nuc_codegen_name(cx, call->path);
    struct nuc_codegen_files files = nuc_generate_code(cx, call->path, nuc_map_file(cx, call->path), name);

    mkdir(call->folder, 0777); /* when it cannot be made, writing into it says why */
    write_text(cx, call->folder, name, ".h", files.header);
    write_text(cx, call->folder, name, ".c", files.source);
    write_text(cx, call->folder, name, "_data.c", files.data);
}

enum nuc_status nuc_codegen_program(struct nuc_compiler *c, const char *path, const char *folder, const char *name)
{
    struct codegen_call call = {path, folder, name};

    return nuc_enter(c, generate, &call);
}
