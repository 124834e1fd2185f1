#include "tools/cli/commands/run_profile.h"

#include <stdlib.h>
#include <string.h>

#include "nucleon/json.h"
#include "tools/cli/terminal/json_output.h"

/* A call's records are copied: the runtime's memory holds them only until the next instruction. */
static void keep(void *user, uint32_t instruction, const uint8_t *records, size_t bytes)
{
    struct cli_profiler *p = user;

    if (p->n_runs == 0 || p->exhausted)
        return;
    struct nuc_profile_call **calls = &p->calls[p->n_runs - 1];
    struct nuc_profile_call *grown = realloc(*calls, (p->n_calls + 1) * sizeof **calls);
    void *copy = malloc(bytes + 1);
    if (grown != NULL)
        *calls = grown;
    if (grown == NULL || copy == NULL) {
        free(copy);
        p->exhausted = true;
        return;
    }
    memcpy(copy, records, bytes);
    grown[p->n_calls++] = (struct nuc_profile_call){instruction, copy, bytes};
    p->runs[p->n_runs - 1] = (struct nuc_profile_run){grown, p->n_calls};
}

void cli_profiler_attach(struct cli_profiler *p, struct nuc_program *program)
{
    nuc_program_profile(program, keep, p);
}

void cli_profiler_next(struct cli_profiler *p)
{
    struct nuc_profile_run *runs = realloc(p->runs, (p->n_runs + 1) * sizeof *runs);

    p->runs = runs != NULL ? runs : p->runs;
    struct nuc_profile_call **calls = realloc(p->calls, (p->n_runs + 1) * sizeof *calls);
    p->calls = calls != NULL ? calls : p->calls;
    if (runs == NULL || calls == NULL) {
        p->exhausted = true;
        return;
    }
    runs[p->n_runs] = (struct nuc_profile_run){NULL, 0};
    calls[p->n_runs] = NULL;
    p->n_runs++;
    p->n_calls = 0;
}

int cli_profiler_report(struct cli_profiler *p, struct nuc_compiler *c, const char *path,
                        const struct nuc_runner *program, bool table, const char *etdump)
{
    enum nuc_status s = NUC_OK;
    const char *text;
    size_t size;
    const void *image = nuc_runner_image(program, &size);

    if (p->exhausted || p->n_runs == 0)
        return cli_report(NUC_NO_MEMORY, NULL);
    if (table && cli_is_json())
        s = nuc_profile_json(c, path, image, size, &p->runs[0], &text);
    else if (table)
        s = nuc_profile_text(c, path, image, size, &p->runs[0], &text);
    if (s == NUC_OK && table && cli_is_json())
        cli_json_member("profile", text);
    else if (s == NUC_OK && table)
        cli_put(text);
    if (s == NUC_OK && etdump != NULL)
        s = nuc_write_etdump(c, path, image, size, p->runs, p->n_runs, etdump);
    return cli_check(c, s);
}

void cli_profiler_release(struct cli_profiler *p)
{
    for (size_t i = 0; i < p->n_runs; i++) {
        for (size_t k = 0; k < p->runs[i].n_calls; k++)
            free((void *)(uintptr_t)p->calls[i][k].records);
        free(p->calls[i]);
    }
    free(p->runs);
    free(p->calls);
}
