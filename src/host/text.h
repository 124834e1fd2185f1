/* A growing text in the arena of a context. */
#ifndef NUC_HOST_TEXT_H
#define NUC_HOST_TEXT_H

#include <stdint.h>

#include "host/context.h"

/* Zeroed but for its context it is empty. */
struct nuc_text {
    struct nuc_context *cx;
    char *data; /* NUL-terminated once anything was added; NULL before */
    size_t length;
    size_t capacity;
};

void nuc_text_add(struct nuc_text *text, const char *bytes, size_t length);
void nuc_text_addf(struct nuc_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The text so far, "" when nothing was added. */
const char *nuc_text_string(struct nuc_text *text);

/* Whether the text is one of so many, or of those in front of a NULL. */
bool nuc_is_one_of(const char *text, const char *const *list, size_t count);

/* 1234567 as "1,234,567", in the arena. */
const char *nuc_with_commas(struct nuc_context *cx, uint64_t value);

/* "310 us": three digits of the time that cycles take, in the arena. */
const char *nuc_time_text(struct nuc_context *cx, uint64_t cycles, double clock_hz);

/* "[1, 10]", in the arena. */
const char *nuc_sizes_text(struct nuc_context *cx, const int64_t *sizes, size_t rank);

/*
 * `text` in a column of a table, a space after it. Of a text that is too long `head` characters and what fits of its
 * end stay.
 */
void nuc_text_add_column(struct nuc_text *out, const char *text, size_t width, size_t head);

#endif
