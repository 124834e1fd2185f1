/*
 * Building JSON with jansson. Every value is attached to the tree when it is made and the tree is released with the
 * arena, so that a failure in between leaks nothing. `parent` is an object, where `key` names the member, or an array,
 * where `key` is NULL and the value comes last. Members keep the order in which they were put.
 */
#ifndef NUC_ARCHIVE_JSON_BUILD_H
#define NUC_ARCHIVE_JSON_BUILD_H

#include <jansson.h>

#include "host/pieces.h"

/* An empty object that is the root of a tree. */
json_t *nuc_json_tree(struct nuc_context *cx);

json_t *nuc_put_object(struct nuc_context *cx, json_t *parent, const char *key);
json_t *nuc_put_array(struct nuc_context *cx, json_t *parent, const char *key);
void nuc_put_null(struct nuc_context *cx, json_t *parent, const char *key);
void nuc_put_bool(struct nuc_context *cx, json_t *parent, const char *key, bool value);
void nuc_put_int(struct nuc_context *cx, json_t *parent, const char *key, int64_t value);

/* Infinities and NaN, for which JSON has no number, become the texts nuc_json_double() reads. */
void nuc_put_double(struct nuc_context *cx, json_t *parent, const char *key, double value);

/* Fails with NUC_BAD_INPUT when the text is not UTF-8. */
void nuc_put_string(struct nuc_context *cx, json_t *parent, const char *key, const char *value);

/* The same for a text that may be any bytes: those that are not UTF-8 become \xNN. NULL becomes null. */
void nuc_put_text(struct nuc_context *cx, json_t *parent, const char *key, const char *value);

/* An array of such texts. */
void nuc_put_texts(struct nuc_context *cx, json_t *parent, const char *key, const char *const *texts, size_t count);

/* Bytes, cycles, how many: what is beyond 63 bits becomes the greatest number of them. */
void nuc_put_count(struct nuc_context *cx, json_t *parent, const char *key, uint64_t value);

/* The same, or null. */
void nuc_put_known_count(struct nuc_context *cx, json_t *parent, const char *key, bool known, uint64_t value);

/* Member "sizes": those of a tensor. */
void nuc_put_sizes(struct nuc_context *cx, json_t *to, const int64_t *sizes, size_t rank);

/* A number that may be unknown: NaN becomes null. */
void nuc_put_measure(struct nuc_context *cx, json_t *parent, const char *key, double value);

/* What a call that returns JSON gives: the text of an object, indented, in ASCII, with a line end. */
const char *nuc_json_text(struct nuc_context *cx, const json_t *tree);

/* The text of the tree, in the arena; `flags` are jansson's, JSON_COMPACT or JSON_INDENT(n); reals have 17 digits
 * where these do not say otherwise. */
struct nuc_span nuc_json_dump(struct nuc_context *cx, const json_t *tree, size_t flags);

/*
 * A long array or object of a tree, whose members become text while it grows: a tree takes ten times the memory of its
 * text. It begins with `container` set and all else 0, and nothing else is put into the tree's container afterwards.
 */
struct nuc_json_long {
    json_t *container;
    struct nuc_pieces text; /* between the brackets */
    char *end;              /* of the last piece, where there is room for more */
    size_t room;
};

/* To be called after a member has been put with all that belongs to it; it is not looked at again. */
void nuc_json_member_done(struct nuc_context *cx, struct nuc_json_long *list);

/* nuc_json_dump(), compact, of a tree with `count` such containers; in pieces, so that no text is there twice. */
struct nuc_pieces nuc_json_dump_long(struct nuc_context *cx, const json_t *tree, struct nuc_json_long *const *lists,
                                     size_t count);

#endif
