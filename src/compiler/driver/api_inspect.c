#include "compiler/driver/driver.h"
#include "compiler/report/inspect.h"

struct inspect_call {
    const char *path;
    enum nuc_inspect_form form;
    bool disassemble;
    const char *text;
};

static void inspect_file(struct nuc_context *cx, void *arg)
{
    struct inspect_call *call = arg;

    call->text = nuc_inspect(cx, call->path, call->form, call->disassemble);
}

enum nuc_status nuc_inspect_file(struct nuc_compiler *c, const char *path, enum nuc_inspect_form form, bool disassemble,
                                 const char **text)
{
    struct inspect_call call = {path, form, disassemble, NULL};
    enum nuc_status s = nuc_enter(c, inspect_file, &call);

    if (s == NUC_OK)
        *text = call.text;
    return s;
}
