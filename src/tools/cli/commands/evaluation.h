/* What `nucleon evaluate` prints. */
#ifndef NUC_TOOLS_CLI_COMMANDS_EVALUATION_H
#define NUC_TOOLS_CLI_COMMANDS_EVALUATION_H

#include "tools/cli/commands/commands.h"

/* A summary in 80 columns. `confusion`: of every output with classes and labels, not only where there are few. */
void cli_print_evaluation(const struct nuc_evaluation *e, bool confusion);

/* A confusion matrix of one output, or its largest entries where that would not fit. */
void cli_print_confusion(const struct nuc_evaluation *e, const struct nuc_output_score *o, bool demanded);

/* "42.10", "equal", "none": no decibels to tell. */
void cli_decibel_text(double db, char *text, size_t size);

/* SQNR at every node; names the first below `threshold` dB. */
void cli_print_nodes(const struct nuc_node_evaluation *e, size_t n_samples, double threshold);

#endif
