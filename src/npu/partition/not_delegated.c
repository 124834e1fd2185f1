#include "npu/partition/not_delegated.h"

#include <string.h>

#include "host/nearest.h"
#include "host/text.h"
#include "ir/labels.h"

struct not_delegated {
    bool by_part; /* as the reference does: any part of the node's name */
    uint32_t count;
    const char **given;    /* as the user wrote them */
    const char **patterns; /* what is compared */
    struct nuc_labels labels;
    uint32_t n_labels; /* ids that have one */
};

/* The operator "edge.aten.add.Tensor" goes by aten.add.Tensor, aten.add, add.Tensor and add. */
static bool matches_operator(const char *pattern, const char *name)
{
    char space[96], *overload;

    strncpy(space, nuc_short_op_name(name), sizeof space - 1);
    space[sizeof space - 1] = '\0';
    char *base = strchr(space, '.');
    base = base != NULL ? base + 1 : space;
    if (nuc_glob_matches(pattern, space) || nuc_glob_matches(pattern, base))
        return true;
    overload = strrchr(base, '.');
    if (overload == NULL)
        return false;
    *overload = '\0';
    return nuc_glob_matches(pattern, space) || nuc_glob_matches(pattern, base);
}

/* By its label, or by that of the value that it is a part of. */
static bool matches_label(const struct not_delegated *list, const char *pattern, const struct nuc_node *node)
{
    if (node->id >= list->n_labels)
        return nuc_glob_matches(pattern, nuc_own_label(node));
    return nuc_glob_matches(pattern, list->labels.of[node->id]) ||
           nuc_glob_matches(pattern, list->labels.value[node->id]);
}

static bool matches(const struct not_delegated *list, uint32_t index, const struct nuc_node *node)
{
    if (list->by_part)
        return strstr(node->name, list->patterns[index]) != NULL;
    return nuc_glob_matches(list->patterns[index], node->name) || matches_label(list, list->patterns[index], node) ||
           matches_operator(list->patterns[index], nuc_node_op_name(node)) ||
           (node->source->op != NULL && matches_operator(list->patterns[index], node->source->op));
}

const char *nuc_not_delegated_match(const struct not_delegated *list, const struct nuc_node *node)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (matches(list, i, node))
            return list->given[i];
    }
    return NULL;
}

static bool is_met_before(const struct nuc_graph *g, const struct nuc_node *node)
{
    const struct nuc_node *n = g->first;

    while (n != node && n->op != node->op)
        n = n->next;
    return n != node;
}

/* The operators of the graph, each once. */
static const char *known_operators(const struct nuc_graph *g)
{
    struct nuc_text text = {.cx = g->cx};

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (nuc_is_operator(n) && !is_met_before(g, n))
            nuc_text_addf(&text, "%s%s", text.length == 0 ? "" : ", ", nuc_short_op_name(nuc_node_op_name(n)));
    }
    return nuc_text_string(&text);
}

static const char *name_at(const void *list, size_t index)
{
    return ((const char *const *)list)[index];
}

/* Of the operators of the graph, and of its nodes. */
static const char *nearest_name(const struct not_delegated *list, const struct nuc_graph *g, const char *given)
{
    const char **names = nuc_alloc_array(g->cx, 3 * (size_t)g->n_nodes + 1, sizeof *names);
    size_t count = 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_operator(n))
            continue;
        names[count++] = nuc_short_op_name(nuc_node_op_name(n));
        names[count++] = n->name;
        names[count++] = list->labels.of[n->id];
    }
    return nuc_did_you_mean(g->cx, given, name_at, names);
}

struct not_delegated *nuc_not_delegated_new(struct nuc_graph *g, const struct nuc_partition_options *options)
{
    struct not_delegated *list = nuc_alloc(g->cx, sizeof *list);
    uint32_t count = options->n_operators_not_to_delegate;

    list->by_part = options->reference_compat;
    /* A single empty string is how an empty list travels in a compile spec. */
    if (count == 1 && options->operators_not_to_delegate[0][0] == '\0')
        count = 0;
    list->count = count;
    if (!list->by_part && count > 0) {
        list->labels = nuc_label_graph(g);
        list->n_labels = g->next_id;
    }
    list->given = nuc_alloc_array(g->cx, (size_t)count + 1, sizeof(char *));
    list->patterns = nuc_alloc_array(g->cx, (size_t)count + 1, sizeof(char *));
    for (uint32_t i = 0; i < count; i++) {
        list->given[i] = options->operators_not_to_delegate[i];
        /* "aten::add" and "edge.aten.add" are written "aten.add"; by_part: "::" stands for "_", as in a node's name. */
        const char *entry = list->given[i];
        struct nuc_text text = {.cx = g->cx};
        if (!list->by_part)
            entry = nuc_short_op_name(entry);
        for (const char *p = entry; *p != '\0'; p++) {
            bool scope = p[0] == ':' && p[1] == ':';
            nuc_text_addf(&text, "%c", !scope ? *p : list->by_part ? '_' : '.');
            p += scope ? 1 : 0;
        }
        list->patterns[i] = nuc_text_string(&text);
    }
    if (!list->by_part && !options->names_are_checked) {
        for (uint32_t i = 0; i < list->count; i++) {
            const struct nuc_node *n = g->first;
            while (n != NULL && !(nuc_is_operator(n) && matches(list, i, n)))
                n = n->next;
            if (n == NULL)
                nuc_fail(
                    g->cx, NUC_BAD_USAGE,
                    "%s: '%s' among the operators not to delegate matches no operator and no node%s: give a node's "
                    "label or name, or one of the model's operators: %s",
                    g->file, list->given[i], nearest_name(list, g, list->given[i]), known_operators(g));
        }
    }
    return list;
}
