#include "rewrite/expand/expand.h"

#include "rewrite/formula/formula.h"
#include "rewrite/passes.h"
#include "rewrite/to_edge/functionalize.h"

static const struct nuc_expansion *const families[] = {
    nuc_matrix_expansions,
    nuc_known_expansions,
};

static const struct nuc_expansion *row_of(enum nuc_op op)
{
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        for (const struct nuc_expansion *row = families[i]; row->expand != NULL; row++) {
            if (row->op == op)
                return row;
        }
    }
    return NULL;
}

static expansion expansion_of(const struct nuc_node *node)
{
    const struct nuc_expansion *row = nuc_is_call(node) ? row_of(node->op) : NULL;

    return row != NULL && (row->applies == NULL || row->applies(node)) ? row->expand : NULL;
}

bool nuc_has_expansion(enum nuc_op op)
{
    return row_of(op) != NULL || nuc_has_formula(NUC_FORMULA_EXPAND, op);
}

/* ---- the stage ---- */

/* The value goes by the operator's name, unless it has one that the archive gave it. */
static void take_name(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *value, bool is_new)
{
    const char *name = node->name;

    if (!is_new || nuc_is_placeholder(value))
        return;
    nuc_rename(g, node, nuc_format(g->cx, "%s_composite", name));
    nuc_rename(g, value, name);
}

struct nuc_node *nuc_replace_expanded(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *before,
                                      uint32_t old_ids, struct nuc_node *value)
{
    if (value != NULL) {
        nuc_expand_check(g, node, value);
        take_name(g, node, value, value->id >= old_ids);
        nuc_replace_uses(g, node, value, NULL);
    }
    /* Items that nothing reads. */
    while (node->n_users > 0)
        nuc_remove_node(g, node->users[0]);
    nuc_remove_node(g, node);
    return before == NULL ? g->first : before->next;
}

struct nuc_node *nuc_expand_node(struct nuc_graph *g, struct nuc_node *node, expansion expand)
{
    struct nuc_node *before = node->prev;
    uint32_t old_ids = g->next_id;

    node->in_place = false;
    return nuc_replace_expanded(g, node, before, old_ids, expand(g, node));
}

/* Returns whether there was one that `applies` to and that has an expansion. */
static bool expand_all(struct nuc_graph *g, struct nuc_formulas *formulas, bool (*applies)(const struct nuc_node *node))
{
    bool changed = false;

    for (struct nuc_node *n = g->first, *before; n != NULL;) {
        if (!nuc_is_call(n) || !applies(n)) {
            n = n->next;
            continue;
        }
        const struct nuc_formula_row *row = nuc_formula_of(formulas, NUC_FORMULA_EXPAND, g, n);
        expansion expand = row != NULL ? NULL : expansion_of(n);
        uint32_t old_ids = g->next_id;
        changed = changed || row != NULL || expand != NULL;
        before = n->prev;
        n->in_place = n->in_place && row == NULL;
        n = row != NULL      ? nuc_replace_expanded(g, n, before, old_ids, nuc_formula_build(formulas, row, g, n))
            : expand != NULL ? nuc_expand_node(g, n, expand)
                             : n->next;
    }
    return changed;
}

static bool is_any(const struct nuc_node *node)
{
    (void)node;
    return true;
}

/* Every value is immutable before anything but views is looked at. */
bool nuc_expand(struct nuc_graph *g)
{
    struct nuc_formulas *formulas = nuc_formulas_new(g->cx);
    bool changed = false, in_place = nuc_has_in_place(g);

    nuc_check_masked(g);
    if (in_place) {
        changed = expand_all(g, formulas, nuc_is_composite_view);
        changed = nuc_resolve_writes(g) || changed;
    }
    changed = expand_all(g, formulas, is_any) || changed;
    for (const struct nuc_node *n = g->body; n != NULL; n = n->next) {
        if (nuc_op_family(n->op) == NUC_FAMILY_COMPOSITE)
            nuc_expand_fail(g, n, "is not handled: export with run_decompositions(), or replace it in the model");
    }
    if (changed)
        nuc_remove_dead(g);
    if (in_place)
        nuc_keep_in_place(g);
    return changed;
}
