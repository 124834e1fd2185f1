/* Options of folders of images as data, for every subcommand that takes data. */
#ifndef NUC_CLI_IMAGE_OPTIONS_H
#define NUC_CLI_IMAGE_OPTIONS_H

#include "cli/cli.h"

struct cli_image_flags {
    struct cli_floats mean, std;
    int resize;
};

#define CLI_IMAGE_ROWS 4

/* Fills the end of a table: the rows write to `flags`, the last one ends the table. */
void cli_image_options(struct cli_image_flags *flags, struct cli_option rows[CLI_IMAGE_ROWS]);

void cli_image_apply(const struct cli_image_flags *flags, struct nuc_options *options);

#endif
