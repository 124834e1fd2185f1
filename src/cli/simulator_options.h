/* How the simulator runs programs of the command line: options that several subcommands have. */
#ifndef NUC_CLI_SIMULATOR_OPTIONS_H
#define NUC_CLI_SIMULATOR_OPTIONS_H

#include "cli/cli.h"

struct cli_simulator_flags {
    int path; /* enum nuc_simulator_path */
    unsigned threads;
};

/* The row of --simulator. */
struct cli_option cli_simulator_option(struct cli_simulator_flags *flags);

/* Sets up the NPU parts of an opened program. */
int cli_simulator_apply(const struct cli_simulator_flags *flags, struct cli_program *p);

#endif
