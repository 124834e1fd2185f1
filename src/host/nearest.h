/* "did you mean": the word of a list that was most probably meant; words that a glob means. */
#ifndef NUC_HOST_NEAREST_H
#define NUC_HOST_NEAREST_H

#include <stddef.h>

#include "host/context.h"

/* Goes through the words of a list: NULL after the last one. */
typedef const char *nuc_word_at(const void *list, size_t index);

/*
 * The word of least distance from `text`, the first of several; NULL when none is near enough to be meant: more than a
 * third of its letters would be other ones. The distance counts letters that are added, left out, replaced, or
 * exchanged with their neighbour (optimal string alignment); capital letters and '_' for '-' are nearly equal. A word
 * that holds `text`, or begins it, is near whatever else there is. Of operators, written with '.' between
 * their parts, the parts that `text` leaves out at either end do not count.
 */
const char *nuc_nearest(const char *text, nuc_word_at *word_at, const void *list);

/* " (did you mean '...'?)" in the arena, or "". */
const char *nuc_did_you_mean(struct nuc_context *cx, const char *text, nuc_word_at *word_at, const void *list);

/* The glob matches the whole text: * stands for any characters, ? for one. */
bool nuc_glob_matches(const char *glob, const char *text);

#endif
