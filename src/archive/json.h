/*
 * Checked reading of JSON entries. A struct nuc_json knows the way from the root to its value, so that every message
 * names the entry and the place in it ("models/model.json: graph_module.graph.nodes[12].inputs[0].kind"). The values
 * live on the caller's stack; each refers to its parent, which must outlive it. Strings live until the file is closed,
 * at the latest with the arena in which it was parsed.
 */
#ifndef NUC_ARCHIVE_JSON_H
#define NUC_ARCHIVE_JSON_H

#include "archive/json_text.h"
#include "device/base/span.h"
#include "host/context.h"

struct nuc_json_file {
    struct nuc_context *cx;
    const char *name; /* "model.pt2: models/model.json" */
    struct nuc_json_text *text;
};

struct nuc_json {
    const struct nuc_json_file *file;
    const struct nuc_json *parent; /* NULL at the root */
    const char *key;               /* NULL in an array and at the root */
    size_t index;
    uint32_t token; /* of the text; what is absent has none */
    enum nuc_json_type type;
};

/* Parses the text; fails with NUC_BAD_INPUT and the line when it is not JSON, repeats a key or nests too deep. */
struct nuc_json nuc_json_parse(struct nuc_context *cx, const char *name, struct nuc_span text);

/* The same of a text of its own, which is written over. */
struct nuc_json nuc_json_parse_own(struct nuc_context *cx, const char *name, struct nuc_json_text *text);

/* Whether what an option was given is an object itself instead of the name of a file that has it. */
bool nuc_is_json_object(const char *given);

/* Room for the text of a file of that size; fails when that is more than NUC_MAX_JSON. */
struct nuc_json_text *nuc_json_room(struct nuc_context *cx, const char *name, uint64_t size);

/* Gives the memory of the text and of what was made of it back. */
void nuc_json_close(const struct nuc_json *root);

static inline bool nuc_json_is_there(const struct nuc_json *j)
{
    return j->type != NUC_JSON_ABSENT;
}

/* A field that must be there, or one that may be absent or null (then it is absent). */
struct nuc_json nuc_json_field(const struct nuc_json *object, const char *key);
struct nuc_json nuc_json_optional(const struct nuc_json *object, const char *key);

/* An object used as a map from names: the entry of that name, absent when there is none. */
struct nuc_json nuc_json_entry(const struct nuc_json *object, const char *key);

size_t nuc_json_count(const struct nuc_json *array);
struct nuc_json nuc_json_item(const struct nuc_json *array, size_t index);

/* The only member of a union object such as {"as_int": 3}; its name is in `key` of the result. */
struct nuc_json nuc_json_union(const struct nuc_json *object);

/* The same of a union whose members are these words (NULL ends them), and which of them it is. */
struct nuc_json nuc_json_kind(const struct nuc_json *object, const char *const *words, int *which);

/* Fails naming the first member of the object that is none of the words (NULL ends them), and the nearest of them. */
void nuc_json_only(const struct nuc_json *object, const char *const *words);

int64_t nuc_json_int(const struct nuc_json *j);
bool nuc_json_bool(const struct nuc_json *j);
/* Without control characters (nuc_is_plain()): texts are names. */
const char *nuc_json_string(const struct nuc_json *j);

/* The place of a member's text in a list that NULL ends; without the member `absent`, or a failure where that is -1. */
int nuc_json_word(const struct nuc_json *object, const char *key, const char *const *words, int absent);

/* A number, or one of the texts "Infinity", "-Infinity", "NaN". */
double nuc_json_double(const struct nuc_json *j);

/* ---- never failing: what is not of the kind that is asked for is absent, empty or NULL ---- */

struct nuc_json nuc_json_maybe_member(const struct nuc_json *object, const char *key);
struct nuc_json nuc_json_maybe_item(const struct nuc_json *array, size_t index);
size_t nuc_json_maybe_count(const struct nuc_json *container); /* of an array or an object */
const char *nuc_json_maybe_text(const struct nuc_json *j);     /* as it is, control characters included */
struct nuc_json nuc_json_maybe_parse(struct nuc_context *cx, const char *text); /* NULL, and no JSON: absent */

/* One line: file, entry, place, what is wrong. */
_Noreturn void nuc_json_fail(const struct nuc_json *j, enum nuc_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
