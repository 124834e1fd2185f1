/* Characters of texts from files: which of them a terminal, a table or a comment must not get as they are. */
#ifndef NUC_HOST_CHARACTERS_H
#define NUC_HOST_CHARACTERS_H

#include "host/context.h"

/* The character that `text` begins with, in UTF-8, and its bytes; 0 bytes: what is there is none. */
uint32_t nuc_character(const char *text, size_t *bytes);

/*
 * C0, C1 and delete, and the characters of Unicode that break lines, change the direction of what follows or are not
 * seen (bidirectional marks, tags, byte order marks, soft hyphens).
 */
bool nuc_is_control(uint32_t character);

/* Whether a text is UTF-8 without control characters: one line, which is what it looks like. */
bool nuc_is_plain(const char *text);

/* The text itself where it is plain; else a copy in the arena with \xHH and \uHHHH instead of what is not. */
const char *nuc_plain_text(struct nuc_context *cx, const char *text);

#endif
