/* The tree specifications of a model's arguments and results. */

#include "front/pt2/importer.h"

/* The entry of the root module. */
struct nuc_json nuc_root_signature(const struct nuc_json *graph_module)
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
    struct nuc_json signature = nuc_root_signature(graph_module);
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
