/*
 * Changes that a model's author could make to its source, made in the graph: rows CHANGE of changes.def. `explain`
 * tries them, and --rewrite makes them.
 */
#ifndef NUC_REWRITE_RECOGNIZE_CHANGES_H
#define NUC_REWRITE_RECOGNIZE_CHANGES_H

#include "rewrite/formula/formula.h"

/* A place that a change is about. */
struct nuc_change_place {
    const char *node, *label;        /* name of the node that is replaced, and its label */
    const struct nuc_source *source; /* of it */
    const char *from, *to;           /* what stands there, and what would */
};

/* The first row of that name; NULL: none. */
const struct nuc_change *nuc_find_change(const char *name);

/* The first row of the next name; NULL: there is none. `row` NULL: of the first. */
const struct nuc_change *nuc_next_change(const struct nuc_change *row);

/* Places in the order of the graph, arrays in the current arena. */
struct nuc_change_places {
    uint32_t count;
    size_t capacity;
    struct nuc_change_place *items;
};

/*
 * Makes the change that begins with `row` at all places whose node's name or label the glob matches (NULL: all) in an
 * expanded graph, but for what was made of places in `done`, and adds them to it. Returns their number.
 */
uint32_t nuc_make_change(struct nuc_graph *g, const struct nuc_change *row, const char *glob,
                         struct nuc_change_places *done);

#endif
