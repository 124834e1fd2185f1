/* How Python calls the model: the tree specifications of its arguments and results. */
#include <string.h>

#include "front/pt2/importer.h"

/* The entry of the root module. */
static struct nuc_json root_signature(const struct nuc_json *graph_module)
{
    struct nuc_json entries = nuc_json_maybe_member(graph_module, "module_call_graph"), none = entries;

    for (size_t i = 0; i < nuc_json_maybe_count(&entries); i++) {
        struct nuc_json entry = nuc_json_maybe_item(&entries, i), fqn = nuc_json_maybe_member(&entry, "fqn");
        const char *name = nuc_json_maybe_text(&fqn);
        if (name != NULL && *name == '\0')
            return nuc_json_maybe_member(&entry, "signature");
    }
    none.type = NUC_JSON_ABSENT;
    return none;
}

static const char *const *read_names(struct nuc_context *cx, const struct nuc_json *list, uint32_t *count)
{
    size_t size = list->type == NUC_JSON_ARRAY ? nuc_json_maybe_count(list) : 0;
    const char **names = nuc_alloc_array(cx, size, sizeof *names);

    for (size_t i = 0; i < size; i++) {
        struct nuc_json item = nuc_json_maybe_item(list, i);
        if (item.type != NUC_JSON_STRING)
            return NULL;
        names[i] = nuc_strdup(cx, nuc_json_maybe_text(&item));
    }
    *count = (uint32_t)size;
    return names;
}

/* Named tuples need a class that only the author's Python has. */
const struct nuc_call_spec *nuc_read_call_spec(struct nuc_context *cx, const struct nuc_json *graph_module)
{
    struct nuc_json signature = root_signature(graph_module);
    struct nuc_json in_spec = nuc_json_maybe_member(&signature, "in_spec");
    struct nuc_json out_spec = nuc_json_maybe_member(&signature, "out_spec");
    struct nuc_json tuples = nuc_json_maybe_member(graph_module, "treespec_namedtuple_fields");
    struct nuc_json names = nuc_json_maybe_member(&signature, "forward_arg_names");
    const char *in = nuc_json_maybe_text(&in_spec), *out = nuc_json_maybe_text(&out_spec);

    if (in == NULL || out == NULL || (tuples.type == NUC_JSON_OBJECT && nuc_json_maybe_count(&tuples) != 0))
        return NULL;
    struct nuc_call_spec *spec = nuc_alloc(cx, sizeof *spec);
    spec->in_spec = nuc_strdup(cx, in);
    spec->out_spec = nuc_strdup(cx, out);
    spec->names = read_names(cx, &names, &spec->n_names);
    return spec;
}

/* ---- names of outputs: keys of the dictionaries and named tuples in which forward() returns them ---- */

/* Beyond these, outputs go without names: the work stays small whatever an archive holds. */
enum { NAME_MAX_BYTES = 200, OUTPUTS_MAX = 1024 };

struct leaves {
    struct nuc_context *cx;
    struct nuc_json tuple_fields; /* by type: names of a named tuple's fields */
    const char **names;           /* NULL where no key leads to the leaf */
    size_t count, expected;
};

static bool all_strings(const struct nuc_json *list, size_t count)
{
    if (list->type != NUC_JSON_ARRAY || nuc_json_maybe_count(list) != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (nuc_json_maybe_item(list, i).type != NUC_JSON_STRING)
            return false;
    }
    return true;
}

/*
 * The keys of a node's children: torch writes those of a dictionary as a JSON list, those of a dataclass as the first
 * of two lists. Absent: a tuple or a list.
 */
static struct nuc_json keys_of(const struct leaves *l, const struct nuc_json *spec, size_t count)
{
    struct nuc_json type = nuc_json_maybe_member(spec, "type"), context = nuc_json_maybe_member(spec, "context");
    const char *name = nuc_json_maybe_text(&type);
    struct nuc_json tuple = nuc_json_maybe_member(&l->tuple_fields, name != NULL ? name : "");
    struct nuc_json keys = nuc_json_maybe_member(&tuple, "field_names");

    if (!all_strings(&keys, count))
        keys = nuc_json_maybe_parse(l->cx, nuc_json_maybe_text(&context));
    if (all_strings(&keys, count))
        return keys;
    struct nuc_json first = nuc_json_maybe_item(&keys, 0);
    if (!all_strings(&first, count))
        first.type = NUC_JSON_ABSENT;
    return first;
}

/* Nesting is bounded by that of the JSON text. */
static bool walk(struct leaves *l, const struct nuc_json *spec, const char *path)
{
    struct nuc_json children = nuc_json_maybe_member(spec, "children_spec"), type = nuc_json_maybe_member(spec, "type");
    size_t count = children.type == NUC_JSON_ARRAY ? nuc_json_maybe_count(&children) : 0;

    if (type.type == NUC_JSON_NULL) {
        if (l->count == l->expected)
            return false;
        l->names[l->count++] = path;
        return true;
    }
    if (path != NULL && strlen(path) > NAME_MAX_BYTES)
        return false;
    struct nuc_json keys = keys_of(l, spec, count);
    for (size_t i = 0; i < count; i++) {
        struct nuc_json key = nuc_json_maybe_item(&keys, i), item = nuc_json_maybe_item(&children, i);
        const char *child = key.type == NUC_JSON_STRING ? nuc_strdup(l->cx, nuc_json_maybe_text(&key))
                            : path != NULL              ? nuc_format(l->cx, "%zu", i)
                                                        : NULL;
        if (path != NULL)
            child = nuc_format(l->cx, "%s_%s", path, child);
        if (!walk(l, &item, child))
            return false;
    }
    return true;
}

const char *const *nuc_read_output_names(struct nuc_context *cx, const struct nuc_json *graph_module, size_t expected)
{
    struct leaves l = {.cx = cx,
                       .tuple_fields = nuc_json_maybe_member(graph_module, "treespec_namedtuple_fields"),
                       .names = nuc_alloc_array(cx, expected, sizeof *l.names),
                       .expected = expected};
    struct nuc_json signature = root_signature(graph_module);
    struct nuc_json text = nuc_json_maybe_member(&signature, "out_spec");
    struct nuc_json spec = nuc_json_maybe_parse(cx, expected > OUTPUTS_MAX ? NULL : nuc_json_maybe_text(&text));
    struct nuc_json root = nuc_json_maybe_item(&spec, 1);
    bool known = nuc_json_is_there(&spec) && walk(&l, &root, NULL) && l.count == expected;

    for (size_t i = 0; i < expected; i++) {
        for (size_t k = 0; k < i && known; k++)
            known = l.names[i] == NULL || l.names[k] == NULL || strcmp(l.names[i], l.names[k]) != 0;
    }
    return known ? l.names : NULL;
}
