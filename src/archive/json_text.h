/*
 * JSON texts taken apart in place: one token per value, in the order of the text, and what is left of the text:
 * strings, as what they stand for and repeated ones once, and numbers. Tokens take 4 bytes, an object or a list 12, so
 * that a text of n bytes takes about 1.7 n until it is parsed, and 0.8 n then. Where a list or an object is long, an
 * index leads to its items and members.
 */
#ifndef NUC_ARCHIVE_JSON_TEXT_H
#define NUC_ARCHIVE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/index.h"

enum nuc_json_type {
    NUC_JSON_ABSENT,
    NUC_JSON_OBJECT,
    NUC_JSON_ARRAY,
    NUC_JSON_STRING,
    NUC_JSON_INTEGER,
    NUC_JSON_REAL,
    NUC_JSON_TRUE,
    NUC_JSON_FALSE,
    NUC_JSON_NULL
};

struct nuc_json_index {
    uint32_t count;
    uint32_t *items;       /* of a list */
    struct nuc_index keys; /* of an object: tokens by text */
};

struct nuc_json_text {
    struct nuc_context *cx;
    char *text; /* strings end with a NUL */
    size_t size;
    /*
     * By value and key: where its first character is, of an object or a list its bracket. These are marked, and have
     * two words more, the token after the whole and the number of members, before the tokens of these: key, value, key,
     * ..., or value, value, ...
     */
    uint32_t *tokens;
    size_t n_tokens, most_tokens;
    struct nuc_json_index *indexes; /* of long objects and lists, whose numbers of members are marked */
    size_t n_indexes, indexes_capacity;
    int line;         /* where it ends to be JSON */
    const char *what; /* is wrong; NULL: nothing */
    char near[16];    /* the beginning of what is there */
};

/*
 * Memory of its own for a text of `size` bytes, which the caller writes to t->text before parsing. It is released by
 * nuc_json_text_close(), at the latest with the arena.
 */
struct nuc_json_text *nuc_json_text_new(struct nuc_context *cx, size_t size);
void nuc_json_text_close(struct nuc_json_text *t);

/*
 * False, with line and what: it is not JSON (RFC 8259) in UTF-8 with an object or a list as its root, repeats a key,
 * nests deeper than 2,048, or has a number beyond 64 bits or the range of double, or the character U+0000.
 */
bool nuc_json_text_parse(struct nuc_json_text *t);

/* Of the value that begins with token `i`. */
enum nuc_json_type nuc_json_text_type(const struct nuc_json_text *t, uint32_t i);
const char *nuc_json_text_string(const struct nuc_json_text *t, uint32_t i);
int64_t nuc_json_text_integer(const struct nuc_json_text *t, uint32_t i);
double nuc_json_text_number(const struct nuc_json_text *t, uint32_t i);
uint32_t nuc_json_text_count(const struct nuc_json_text *t, uint32_t i);

/* The first key or item of an object or a list that has any; what comes after a key or a whole value. */
uint32_t nuc_json_text_first(uint32_t container);
uint32_t nuc_json_text_next(const struct nuc_json_text *t, uint32_t i);

/* The value of a member, or an item below the count; 0, which is the root, when there is none. */
uint32_t nuc_json_text_member(const struct nuc_json_text *t, uint32_t object, const char *key);
uint32_t nuc_json_text_item(const struct nuc_json_text *t, uint32_t array, uint32_t index);

#endif
