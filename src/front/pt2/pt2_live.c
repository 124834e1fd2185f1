/* Which nodes of a graph something may see, and which of them are imported. */
#include <string.h>

#include "front/pt2/importer.h"

struct marks {
    const struct nuc_scope *scope;
    bool *used; /* by value */
};

/*
 * Every {"name": ...} in an argument, however deep: tensors, lists and lists of lists of them. Graphs name their own.
 * Marks all, or tells whether one is marked or unknown.
 */
static bool see_names(struct marks *m, const struct nuc_json *value, bool mark)
{
    struct nuc_json name = nuc_json_maybe_member(value, "name");
    const char *text = nuc_json_maybe_text(&name);
    bool used = false;

    if (text != NULL) {
        struct nuc_node **slot = nuc_scope_slot(m->scope, text);
        if (slot != NULL && mark)
            m->used[slot - m->scope->nodes] = true;
        return slot == NULL || m->used[slot - m->scope->nodes];
    }
    if (value->type == NUC_JSON_ARRAY) {
        for (size_t i = 0, count = nuc_json_count(value); i < count && (mark || !used); i++) {
            struct nuc_json item = nuc_json_item(value, i);
            used = see_names(m, &item, mark);
        }
    } else if (value->type == NUC_JSON_OBJECT && nuc_json_maybe_count(value) == 1) {
        struct nuc_json member = nuc_json_union(value);
        used = see_names(m, &member, mark);
    }
    return used;
}

/* An operator in place writes to what it is given, which other names may see; one without results checks something. */
static bool acts(const struct nuc_json *node)
{
    struct nuc_json outputs = nuc_json_field(node, "outputs");
    const char *name = nuc_pt2_op_name(node);
    const char *overload = strrchr(name, '.');

    return nuc_json_count(&outputs) == 0 || nuc_find_region(node) != NULL || strstr(name, "_.") != NULL ||
           (overload != NULL && overload > name && overload[-1] == '_');
}

bool *nuc_live_nodes(struct nuc_context *cx, const struct nuc_scope *scope)
{
    struct nuc_json nodes = nuc_json_field(&scope->graph, "nodes");
    struct nuc_json outputs = nuc_json_field(&scope->graph, "outputs");
    size_t count = nuc_json_count(&nodes);
    bool *live = nuc_alloc_array(cx, count, sizeof *live);
    struct marks m = {scope, nuc_alloc_array(cx, scope->n_values, sizeof *m.used)};

    see_names(&m, &outputs, true);
    for (size_t i = count; i-- > 0;) {
        struct nuc_json node = nuc_json_item(&nodes, i);
        struct nuc_json results = nuc_json_field(&node, "outputs");
        live[i] = acts(&node) || see_names(&m, &results, false);
        if (!live[i])
            continue;
        struct nuc_json inputs = nuc_json_field(&node, "inputs");
        for (size_t k = 0, n = nuc_json_count(&inputs); k < n; k++) {
            struct nuc_json input = nuc_json_item(&inputs, k);
            struct nuc_json arg = nuc_json_field(&input, "arg");
            see_names(&m, &arg, true);
        }
    }
    return live;
}

static bool reads(struct marks *m, const struct nuc_json *node)
{
    struct nuc_json inputs = nuc_json_field(node, "inputs");

    for (size_t k = 0, n = nuc_json_count(&inputs); k < n; k++) {
        struct nuc_json input = nuc_json_item(&inputs, k);
        struct nuc_json arg = nuc_json_field(&input, "arg");
        if (see_names(m, &arg, false))
            return true;
    }
    return false;
}

const bool *nuc_nodes_to_import(struct nuc_context *cx, const struct nuc_scope *scope)
{
    struct nuc_json nodes = nuc_json_field(&scope->graph, "nodes");
    struct marks out = {scope, nuc_alloc_array(cx, scope->n_values, sizeof *out.used)};
    bool *taken = nuc_live_nodes(cx, scope);
    struct nuc_known_ops known = {.of = {{.name = NULL}}};

    for (size_t i = 0, count = nuc_json_count(&nodes); i < count; i++) {
        struct nuc_json node = nuc_json_item(&nodes, i);
        struct nuc_json results = nuc_json_field(&node, "outputs");
        bool is_known =
            nuc_find_region(&node) != NULL || nuc_pt2_find_op(&known, nuc_pt2_op_name(&node)).op != NUC_OP_COUNT;
        taken[i] = taken[i] || (is_known && !reads(&out, &node));
        if (!taken[i])
            see_names(&out, &results, true);
    }
    return taken;
}
