/* Names of a model's outputs: the keys of the dictionaries and named tuples in which forward() returns them. */
#include <string.h>

#include "compiler/import/importer.h"

/* Beyond these, outputs go without names: the work stays small whatever an archive holds. */
enum { NAME_MAX_BYTES = 200, OUTPUTS_MAX = 1024 };

struct leaves {
    struct nuc_context *cx;
    const json_t *tuple_fields; /* by type: names of a named tuple's fields */
    const char **names;         /* NULL where no key leads to the leaf */
    size_t count, expected;
};

static bool all_strings(const json_t *list, size_t count)
{
    if (!json_is_array(list) || json_array_size(list) != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!json_is_string(json_array_get(list, i)))
            return false;
    }
    return true;
}

static void release(void *object)
{
    json_t **value = object;

    json_decref(*value);
}

/* NULL when the text is none or no JSON. Released with the arena. */
static const json_t *load(struct nuc_context *cx, const char *text)
{
    json_t **value = nuc_alloc(cx, sizeof *value);
    json_error_t error;

    if (text == NULL)
        return NULL;
    nuc_defer(cx, release, value);
    *value = json_loads(text, 0, &error);
    if (*value == NULL && json_error_code(&error) == json_error_out_of_memory)
        nuc_fail(cx, NUC_NO_MEMORY, "out of memory");
    return *value;
}

/*
 * The keys of a node's children: torch writes those of a dictionary as a JSON list, those of a dataclass as the first
 * of two lists. NULL: a tuple or a list.
 */
static const json_t *keys_of(const struct leaves *l, const json_t *spec, size_t count)
{
    const char *type = json_string_value(json_object_get(spec, "type"));
    const json_t *fields = json_object_get(json_object_get(l->tuple_fields, type != NULL ? type : ""), "field_names");
    const json_t *keys =
        all_strings(fields, count) ? fields : load(l->cx, json_string_value(json_object_get(spec, "context")));

    if (all_strings(keys, count))
        return keys;
    return all_strings(json_array_get(keys, 0), count) ? json_array_get(keys, 0) : NULL;
}

/* Nesting is bounded by that of the JSON text. */
static bool walk(struct leaves *l, const json_t *spec, const char *path)
{
    const json_t *children = json_object_get(spec, "children_spec");
    size_t count = json_array_size(children);

    if (json_is_null(json_object_get(spec, "type"))) {
        if (l->count == l->expected)
            return false;
        l->names[l->count++] = path;
        return true;
    }
    if (path != NULL && strlen(path) > NAME_MAX_BYTES)
        return false;
    const json_t *keys = keys_of(l, spec, count);
    for (size_t i = 0; i < count; i++) {
        const char *child = keys != NULL   ? nuc_strdup(l->cx, json_string_value(json_array_get(keys, i)))
                            : path != NULL ? nuc_format(l->cx, "%zu", i)
                                           : NULL;
        if (path != NULL)
            child = nuc_format(l->cx, "%s_%s", path, child);
        if (!walk(l, json_array_get(children, i), child))
            return false;
    }
    return true;
}

const char *const *nuc_read_output_names(struct nuc_context *cx, const json_t *graph_module, size_t expected)
{
    struct leaves l = {.cx = cx,
                       .tuple_fields = json_object_get(graph_module, "treespec_namedtuple_fields"),
                       .names = nuc_alloc_array(cx, expected, sizeof *l.names),
                       .expected = expected};
    const char *text = json_string_value(json_object_get(nuc_root_signature(graph_module), "out_spec"));
    const json_t *spec = expected > OUTPUTS_MAX ? NULL : load(cx, text);
    bool known = spec != NULL && walk(&l, json_array_get(spec, 1), NULL) && l.count == expected;

    for (size_t i = 0; i < expected; i++) {
        for (size_t k = 0; k < i && known; k++)
            known = l.names[i] == NULL || l.names[k] == NULL || strcmp(l.names[i], l.names[k]) != 0;
    }
    return known ? l.names : NULL;
}
