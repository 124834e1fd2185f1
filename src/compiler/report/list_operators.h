/* What the tables of rules and targets hold, as text: `nucleon ops`, `nucleon targets` and docs/supported-ops.md. */
#ifndef NUC_REPORT_LIST_OPERATORS_H
#define NUC_REPORT_LIST_OPERATORS_H

#include "compiler/target/target.h"

/* The operators of a rule set with their rules, one rule per line. */
const char *nuc_operators_text(struct nuc_context *cx, const struct nuc_flavor *flavor);

/* All rule sets: the contents of docs/supported-ops.md. */
const char *nuc_operators_markdown(struct nuc_context *cx);

const char *nuc_targets_text(struct nuc_context *cx);

#endif
