/* Widths of values that the user says, by operator or module: --precision. */
#ifndef NUC_QUANTIZE_PRECISION_H
#define NUC_QUANTIZE_PRECISION_H

#include "ir/graph.h"

/* Entries "PATTERN=int8|int16|float" of struct nuc_options. Fails with NUC_BAD_USAGE at one that is none. */
void nuc_check_precision(struct nuc_context *cx, const char *const *entries, size_t count);

/* Some say that width. */
bool nuc_names_width(const char *const *entries, size_t count, enum nuc_width width);

/*
 * Marks the operators of a float graph that entries name: by label, name or module, with all that is in the module. Of
 * several the last one holds. Fails with NUC_BAD_USAGE, naming candidates, when an entry matches nothing.
 */
void nuc_mark_precision(struct nuc_graph *g, const char *const *entries, size_t count);

/* Some operators stay in float, by an option or by what they compute. */
bool nuc_has_wide_values(const struct nuc_graph *g);

#endif
