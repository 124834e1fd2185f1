#include "rewrite/expand/expand.h"

#include "rewrite/formula/formula.h"
#include "rewrite/passes.h"
#include "rewrite/to_edge/functionalize.h"

bool nuc_has_expansion(enum nuc_op op)
{
    return nuc_has_formula(NUC_FORMULA_EXPAND, op);
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

/* Returns whether there was one that `applies` to and that a formula stands for. */
static bool expand_all(struct nuc_graph *g, struct nuc_formulas *formulas, bool (*applies)(const struct nuc_node *node))
{
    bool changed = false;

    for (struct nuc_node *n = g->first; n != NULL;) {
        const struct nuc_formula_row *row =
            nuc_is_call(n) && applies(n) ? nuc_formula_of(formulas, NUC_FORMULA_EXPAND, g, n) : NULL;
        struct nuc_node *before = n->prev;
        uint32_t old_ids = g->next_id;
        if (row == NULL) {
            n = n->next;
            continue;
        }
        changed = true;
        n->in_place = false;
        n = nuc_replace_expanded(g, n, before, old_ids, nuc_formula_build(formulas, row, g, n));
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
