/* Profiles of programs that ran. */
#include "compiler/driver/driver.h"
#include "compiler/report/profile.h"
#include "host/file.h"

struct profile_call {
    struct nuc_compiler *c;
    const char *file;
    struct nuc_span program;
    const struct nuc_profile_run *runs;
    size_t n_runs;
    const char *output; /* of an ETDump */
    const char *text;
};

static const struct nuc_profile *read_run(struct nuc_context *cx, const struct profile_call *call, size_t i)
{
    return nuc_profile_read(cx, nuc_target_find(cx, call->c->options.target), call->file, call->program,
                            call->runs != NULL ? &call->runs[i] : NULL);
}

static void make_text(struct nuc_context *cx, void *arg)
{
    struct profile_call *call = arg;

    call->text = nuc_profile_table(cx, read_run(cx, call, 0));
}

enum nuc_status nuc_profile_text(struct nuc_compiler *c, const char *file, const void *program, size_t size,
                                 const struct nuc_profile_run *run, const char **text)
{
    struct profile_call call = {c, file, {program, size}, run, 1, NULL, NULL};
    enum nuc_status s = nuc_enter(c, make_text, &call);

    if (s == NUC_OK)
        *text = call.text;
    return s;
}

static void make_dump(struct nuc_context *cx, void *arg)
{
    struct profile_call *call = arg;
    const struct nuc_profile **runs = nuc_alloc_array(cx, call->n_runs, sizeof(struct nuc_profile *));

    for (size_t i = 0; i < call->n_runs; i++)
        runs[i] = read_run(cx, call, i);
    nuc_write_file(cx, call->output, nuc_profile_dump(cx, runs, call->n_runs));
}

enum nuc_status nuc_write_etdump(struct nuc_compiler *c, const char *file, const void *program, size_t size,
                                 const struct nuc_profile_run *runs, size_t n_runs, const char *output)
{
    struct profile_call call = {c, file, {program, size}, runs, n_runs, output, NULL};

    return nuc_enter(c, make_dump, &call);
}
