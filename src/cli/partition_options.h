/* Options of everything that decides where operators run: `nucleon compile` and `nucleon explain` take the same rows.
 */
#ifndef NUC_CLI_PARTITION_OPTIONS_H
#define NUC_CLI_PARTITION_OPTIONS_H

#include "cli/cli.h"

struct cli_partition_flags {
    const char *target, *flavor; /* NULL: the defaults */
    bool no_delegate, allow_no_op_partitions, force_delegate_cat, require_full_delegation, executorch_ops_only;
    int placement; /* enum nuc_placement */
    int dim_order; /* enum nuc_dim_order */
    struct cli_list not_delegated, preserved;
};

#define CLI_PARTITION_ROWS 11

/* Fills the first CLI_PARTITION_ROWS rows of a table, whose rows write to `flags`. */
void cli_partition_options(struct cli_partition_flags *flags, struct cli_option *rows);

/* What was given, as options of the compiler. */
void cli_partition_apply(const struct cli_partition_flags *flags, struct nuc_options *options);

#endif
