#include "rewrite/recognize/changes.h"

#include <string.h>

#include "host/nearest.h"
#include "ir/labels.h"
#include "rewrite/rewrite.h"

const struct nuc_change *nuc_next_change(const struct nuc_change *row)
{
    size_t i = row == NULL ? 0 : (size_t)(row - nuc_changes);

    while (row != NULL && i < nuc_n_changes && strcmp(nuc_changes[i].name, row->name) == 0)
        i++;
    return i < nuc_n_changes ? &nuc_changes[i] : NULL;
}

const struct nuc_change *nuc_find_change(const char *name)
{
    const struct nuc_change *row = nuc_next_change(NULL);

    while (row != NULL && strcmp(row->name, name) != 0)
        row = nuc_next_change(row);
    return row;
}

/* What the first row that is about the node makes of it. */
static struct nuc_node *change(struct nuc_formulas *f, const struct nuc_change *row, struct nuc_graph *g,
                               struct nuc_node *node, const char **from, const char **to)
{
    const struct nuc_change *end = nuc_next_change(row);
    struct nuc_node *value = NULL;

    end = end != NULL ? end : nuc_changes + nuc_n_changes;
    for (; row < end && value == NULL; row++)
        value = nuc_change_node(f, row, g, node, from, to);
    return value;
}

static bool is_meant(const char *glob, const char *name, const char *label)
{
    return glob == NULL || nuc_glob_matches(glob, name) || (label != NULL && nuc_glob_matches(glob, label));
}

static bool is_done(const struct nuc_change_places *done, uint32_t before, const struct nuc_node *node)
{
    const char *call = node->source->call;
    uint32_t i = 0;

    while (i < before &&
           (call == NULL || done->items[i].source->call == NULL || strcmp(done->items[i].source->call, call) != 0))
        i++;
    return i < before;
}

/* From the end, so that what a change reads is there yet. */
uint32_t nuc_make_change(struct nuc_graph *g, const struct nuc_change *row, const char *glob,
                         struct nuc_change_places *done)
{
    struct nuc_formulas *formulas = nuc_formulas_new(g->cx);
    const struct nuc_labels labels = nuc_label_graph(g);
    const uint32_t n_ids = g->next_id, before = done->count;

    for (struct nuc_node *n = g->last, *next; n != NULL; n = next) {
        const char *from, *to;
        next = n->prev;
        if (!nuc_is_call(n) || n->id >= n_ids || n->n_users == 0 || !is_meant(glob, n->name, labels.of[n->id]) ||
            is_done(done, before, n))
            continue;
        struct nuc_node *value = change(formulas, row, g, n, &from, &to);
        if (value == NULL)
            continue;
        done->items = nuc_grow(g->cx, done->items, &done->capacity, (size_t)done->count + 1, sizeof *done->items);
        done->items[done->count++] = (struct nuc_change_place){n->name, labels.of[n->id], n->source, from, to};
        nuc_replace_uses(g, n, value, NULL);
    }
    nuc_remove_dead(g);
    const uint32_t count = done->count - before;
    for (uint32_t i = 0; i < count / 2; i++) {
        struct nuc_change_place first = done->items[before + i];
        done->items[before + i] = done->items[done->count - 1 - i];
        done->items[done->count - 1 - i] = first;
    }
    return count;
}
