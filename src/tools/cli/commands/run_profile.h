/* What `nucleon run --profile` and `--etdump` collect while a program runs. */
#ifndef NUC_TOOLS_CLI_COMMANDS_RUN_PROFILE_H
#define NUC_TOOLS_CLI_COMMANDS_RUN_PROFILE_H

#include "tools/cli/commands/commands.h"

struct cli_profiler {
    struct nuc_profile_run *runs;
    struct nuc_profile_call **calls; /* of each run */
    size_t n_runs, n_calls;          /* n_calls: of the run under way */
    bool exhausted;
};

/* From now on the program's delegate calls leave their records. */
void cli_profiler_attach(struct cli_profiler *p, struct nuc_program *program);

/* An execution begins. */
void cli_profiler_next(struct cli_profiler *p);

/* Prints the table of the first execution (`table`) and writes all to the file `etdump` (NULL: none). */
int cli_profiler_report(struct cli_profiler *p, struct nuc_compiler *c, const char *path,
                        const struct nuc_runner *program, bool table, const char *etdump);

void cli_profiler_release(struct cli_profiler *p);

#endif
