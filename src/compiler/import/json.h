/*
 * Checked reading of JSON entries. A struct nuc_json knows the way from the root to its value, so that every message
 * names the entry and the place in it ("models/model.json: graph_module.graph.nodes[12].inputs[0].kind"). The values
 * live on the caller's stack; each refers to its parent, which must outlive it. Strings live as long as the arena.
 */
#ifndef NUC_IMPORT_JSON_H
#define NUC_IMPORT_JSON_H

#include <jansson.h>

#include "base/span.h"
#include "host/context.h"

struct nuc_json_file {
    struct nuc_context *cx;
    const char *name; /* "model.pt2: models/model.json" */
};

struct nuc_json {
    const struct nuc_json_file *file;
    const struct nuc_json *parent; /* NULL at the root */
    const char *key;               /* NULL in an array and at the root */
    size_t index;
    json_t *value; /* NULL: absent */
};

/* Parses the text; fails with NUC_BAD_INPUT and the line when it is not JSON, repeats a key or nests too deep. */
struct nuc_json nuc_json_parse(struct nuc_context *cx, const char *name, struct nuc_span text);

/* A field that must be there, or one that may be absent or null (then value is NULL). */
struct nuc_json nuc_json_field(const struct nuc_json *object, const char *key);
struct nuc_json nuc_json_optional(const struct nuc_json *object, const char *key);

/* An object used as a map from names: the entry of that name, absent when there is none. */
struct nuc_json nuc_json_entry(const struct nuc_json *object, const char *key);

size_t nuc_json_count(const struct nuc_json *array);
struct nuc_json nuc_json_item(const struct nuc_json *array, size_t index);

/* The only member of a union object such as {"as_int": 3}; its name is in `key` of the result. */
struct nuc_json nuc_json_union(const struct nuc_json *object);

int64_t nuc_json_int(const struct nuc_json *j);
bool nuc_json_bool(const struct nuc_json *j);
/* Without control characters (nuc_is_plain()): texts are names. */
const char *nuc_json_string(const struct nuc_json *j);

/* A number, or one of the texts "Infinity", "-Infinity", "NaN". */
double nuc_json_double(const struct nuc_json *j);

/* One line: file, entry, place, what is wrong. */
_Noreturn void nuc_json_fail(const struct nuc_json *j, enum nuc_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
