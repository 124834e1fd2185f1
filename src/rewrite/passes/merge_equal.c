/* An operator that computes once more, in the same width, what another one has computed of the same values. */
#include <string.h>

#include "host/index.h"
#include "rewrite/formula/formula.h"
#include "rewrite/pass_list.h"
#include "rewrite/recognize/written.h"
#include "rewrite/rewrite.h"

static bool is_same_argument(struct nuc_graph *g, const struct nuc_arg *a, const struct nuc_arg *b)
{
    if (a->kind != b->kind || a->count != b->count)
        return false;
    switch ((int)a->kind) {
    case NUC_ARG_NODE:
        return nuc_is_same_number(g, a->u.node, b->u.node);
    case NUC_ARG_NODES:
        for (uint32_t i = 0; i < a->count; i++) {
            if (!nuc_is_same_number(g, a->u.nodes[i], b->u.nodes[i]))
                return false;
        }
        return true;
    case NUC_ARG_INT:
        return a->u.i == b->u.i;
    case NUC_ARG_FLOAT: /* not as numbers: neither is NaN any number nor 0 as good as -0 */
        return memcmp(&a->u.f, &b->u.f, sizeof a->u.f) == 0;
    case NUC_ARG_FLOATS:
        return a->count == 0 || memcmp(a->u.floats, b->u.floats, a->count * sizeof *a->u.floats) == 0;
    case NUC_ARG_OTHER:
        return true;
    default:
        return nuc_same_value(a, b);
    }
}

static bool is_equal(struct nuc_graph *g, const struct nuc_node *a, const struct nuc_node *b)
{
    bool same =
        a->op == b->op && a->in_place == b->in_place && a->source->width == b->source->width && a->n_args == b->n_args;

    for (uint32_t i = 0; same && i < a->n_args; i++)
        same = is_same_argument(g, &a->args[i], &b->args[i]);
    return same;
}

/* Values of the model alone: what constants make is computed when the program is made. */
static bool reads_value(const struct nuc_node *node)
{
    struct nuc_cursor at = {0, 0};
    const struct nuc_node *value;

    while ((value = nuc_next_input(node, &at)) != NULL && nuc_is_static(value))
        continue;
    return value != NULL;
}

/* Of the operator, the values that it reads and the integers beside them, which pieces of one value differ in. */
static uint32_t hash_of(const struct nuc_node *node)
{
    uint32_t hash = nuc_index_number((uint32_t)node->op);
    struct nuc_cursor at = {0, 0};
    const struct nuc_node *value;

    while ((value = nuc_next_input(node, &at)) != NULL) {
        if (!nuc_is_static(value))
            hash = nuc_index_characters(hash, (const char *)&value->id, sizeof value->id);
    }
    for (uint32_t i = 0; i < node->n_args; i++) {
        const struct nuc_arg *a = &node->args[i];
        if (a->kind == NUC_ARG_INT)
            hash = nuc_index_characters(hash, (const char *)&a->u.i, sizeof a->u.i);
        else if (a->kind == NUC_ARG_INTS && a->count > 0)
            hash = nuc_index_characters(hash, (const char *)a->u.ints, a->count * sizeof *a->u.ints);
    }
    return hash;
}

bool nuc_merge_equal(struct nuc_graph *g)
{
    struct nuc_node **met = nuc_alloc_array(g->cx, g->next_id, sizeof(*met));
    struct nuc_index index = {.slots = NULL};
    bool changed = false;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        bool computes = nuc_is_operator(n) || n->op == NUC_OP_GETITEM;
        struct nuc_node *equal = NULL;
        if (!computes || n->n_vals == 0 || n->n_users == 0 || !reads_value(n))
            continue;
        const uint32_t hash = hash_of(n);
        for (struct nuc_index_search s = nuc_index_search(&index, hash); equal == NULL && nuc_index_next(&s);)
            equal = is_equal(g, met[s.place], n) ? met[s.place] : NULL;
        met[n->id] = n;
        if (equal == NULL) {
            nuc_index_add(g->cx, &index, hash, n->id);
        } else {
            nuc_replace_uses(g, n, equal, NULL);
            changed = true;
        }
    }
    nuc_index_free(g->cx, &index);
    if (changed)
        nuc_remove_dead(g);
    return changed;
}
