/* The options of a compilation by name: the one table of them, and texts of their values (nucleon/options.h). */
#ifndef NUC_OPTIONS_OPTIONS_H
#define NUC_OPTIONS_OPTIONS_H

#include "host/context.h"
#include "nucleon/options.h"

extern const struct nuc_option_info nuc_option_rows[];
extern const size_t nuc_n_option_rows;

/* By its name, with "--" or without, '_' for '-'; NULL: there is none. */
const struct nuc_option_info *nuc_option_find(const char *name);

/* Fails with NUC_BAD_USAGE naming the first option whose member is no enumerator of its type. */
void nuc_options_check(struct nuc_context *cx, const struct nuc_options *o);

/*
 * Sets the member of `o`, whose strings are copied to the current arena; a list replaces the one that is there. Fails
 * with NUC_BAD_USAGE.
 */
void nuc_option_assign(struct nuc_context *cx, const struct nuc_option_info *row, const char *text,
                       struct nuc_options *o);

/* The text of the value in `o`; NULL: `from` has the same, or the option has no text for it. */
const char *nuc_option_print(struct nuc_context *cx, const struct nuc_option_info *row, const struct nuc_options *o,
                             const struct nuc_options *from);

/* What --memory gives. */
struct nuc_memory_size {
    const char *name; /* a C identifier of at most NUC_MEMORY_NAME characters */
    uint64_t bytes;   /* at least 1 */
};

#define NUC_MEMORY_NAME 31

/* "NAME=SIZE"; fails with NUC_BAD_USAGE where a text is not of that form, or a name comes twice. */
const struct nuc_memory_size *nuc_memory_sizes(struct nuc_context *cx, const struct nuc_options *o);

#endif
