/* The tree specifications of a model's arguments and results. */
#include <string.h>

#include "compiler/import/importer.h"

/* The entry of the root module. */
const json_t *nuc_root_signature(const json_t *graph_module)
{
    const json_t *entries = json_object_get(graph_module, "module_call_graph");

    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        const char *name = json_string_value(json_object_get(entry, "fqn"));
        if (name != NULL && *name == '\0')
            return json_object_get(entry, "signature");
    }
    return NULL;
}

static const char *const *read_names(struct nuc_context *cx, const json_t *list, uint32_t *count)
{
    size_t size = json_array_size(list);
    const char **names = nuc_alloc_array(cx, size, sizeof *names);

    for (size_t i = 0; i < size; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name == NULL)
            return NULL;
        names[i] = nuc_strdup(cx, name);
    }
    *count = (uint32_t)size;
    return names;
}

/* Named tuples need a class that only the author's Python has. */
const struct nuc_call_spec *nuc_read_call_spec(struct nuc_context *cx, const json_t *graph_module)
{
    const json_t *signature = nuc_root_signature(graph_module);
    const char *in = json_string_value(json_object_get(signature, "in_spec"));
    const char *out = json_string_value(json_object_get(signature, "out_spec"));

    if (in == NULL || out == NULL || json_object_size(json_object_get(graph_module, "treespec_namedtuple_fields")) != 0)
        return NULL;
    struct nuc_call_spec *spec = nuc_alloc(cx, sizeof *spec);
    spec->in_spec = nuc_strdup(cx, in);
    spec->out_spec = nuc_strdup(cx, out);
    spec->names = read_names(cx, json_object_get(signature, "forward_arg_names"), &spec->n_names);
    return spec;
}
