/*
 * Options of everything that quantizes: `nucleon compile` and `nucleon quantize` take the same rows. A new flag is a
 * field here, a row in cli_quantize_options() and a line in cli_quantize_apply().
 */
#ifndef NUC_CLI_QUANTIZE_OPTIONS_H
#define NUC_CLI_QUANTIZE_OPTIONS_H

#include "cli/image_options.h"

struct cli_quantize_flags {
    const char *calibration; /* NULL: none */
    struct cli_image_flags images;
    bool reference_compat, equalize, bias_correction, no_bias_correction;
    int observer, weights; /* index in the row's choices; 0 is the default */
    unsigned threads;      /* 0: one a core */
};

#define CLI_QUANTIZE_ROWS 16

/* Fills the table, whose rows write to `flags`; for struct cli_command.shared. */
void cli_quantize_options(struct cli_quantize_flags *flags, struct cli_option rows[CLI_QUANTIZE_ROWS]);

/* Prints one line and returns CLI_BAD_USAGE when flags contradict each other. */
int cli_quantize_check(const char *command, const struct cli_quantize_flags *flags);

/* What was given, as options of the compiler. The calibration data is an argument of the call, not an option. */
void cli_quantize_apply(const struct cli_quantize_flags *flags, struct nuc_options *options);

#endif
