#include "rewrite/expand/expand.h"

#include "rewrite/expand/expand_list.h"
#include "rewrite/formula/formula.h"
#include "rewrite/passes.h"
#include "rewrite/to_edge/functionalize.h"

/* What no formula of ops.def expresses. */
static const struct row {
    enum nuc_op op;
    expansion expand;
    bool (*applies)(const struct nuc_node *node); /* NULL: always */
} rows[] = {
    {NUC_OP_ADDMM, nuc_expand_linear, nuc_is_linear},
    {NUC_OP_MM, nuc_expand_linear, nuc_is_linear},
    {NUC_OP_VIEW_DTYPE, nuc_expand_view_dtype, NULL},
    {NUC_OP_REPEAT_INTERLEAVE_TENSOR, nuc_expand_repeat_interleave_tensor, NULL},
    {NUC_OP_COMBINATIONS, nuc_expand_combinations, NULL},
    {NUC_OP_INNER, nuc_expand_inner, NULL},
    {NUC_OP_TENSORDOT, nuc_expand_tensordot, NULL},
    {NUC_OP_BILINEAR, nuc_expand_bilinear, NULL},
    {NUC_OP_TRILINEAR, nuc_expand_trilinear, NULL},
    {NUC_OP_EINSUM, nuc_expand_einsum, NULL},
    {NUC_OP_SDPA, nuc_expand_sdpa, NULL},
    {NUC_OP_SDPA_FLASH, nuc_expand_sdpa_flash, NULL},
    {NUC_OP_MULTI_HEAD_ATTENTION, nuc_expand_multi_head_attention, NULL},
    {NUC_OP_TRANSFORMER_ENCODER_LAYER, nuc_expand_transformer_layer, NULL},
    {NUC_OP_UPSAMPLE_NEAREST1D, nuc_expand_nearest, NULL},
    {NUC_OP_UPSAMPLE_NEAREST3D, nuc_expand_nearest, NULL},
    {NUC_OP_UPSAMPLE_NEAREST_EXACT1D, nuc_expand_nearest_exact, NULL},
    {NUC_OP_UPSAMPLE_NEAREST_EXACT2D, nuc_expand_nearest_exact, NULL},
    {NUC_OP_UPSAMPLE_NEAREST_EXACT3D, nuc_expand_nearest_exact, NULL},
    {NUC_OP_UPSAMPLE_LINEAR1D, nuc_expand_linear_resize, NULL},
    {NUC_OP_UPSAMPLE_TRILINEAR3D, nuc_expand_linear_resize, NULL},
    {NUC_OP_UPSAMPLE_BICUBIC2D, nuc_expand_bicubic, NULL},
    {NUC_OP_UPSAMPLE_BILINEAR_AA, nuc_expand_antialias, NULL},
    {NUC_OP_UPSAMPLE_BICUBIC_AA, nuc_expand_antialias, NULL},
    {NUC_OP_UPSAMPLE_BILINEAR_AA_SIZE, nuc_expand_resize_to_size, NULL},
    {NUC_OP_UPSAMPLE_BICUBIC_AA_SIZE, nuc_expand_resize_to_size, NULL},
    {NUC_OP_UPSAMPLE_BILINEAR_SIZE, nuc_expand_resize_to_size, NULL},
    {NUC_OP_UPSAMPLE_NEAREST_SIZE, nuc_expand_resize_to_size, NULL},
    {NUC_OP_UPSAMPLE_BICUBIC_SIZE, nuc_expand_resize_to_size, NULL},
    {NUC_OP_AFFINE_GRID_GENERATOR, nuc_expand_affine_grid, NULL},
};

/* That of the first row that applies. */
static expansion expansion_of(const struct nuc_node *node)
{
    for (size_t i = 0; nuc_is_call(node) && i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].op == node->op && (rows[i].applies == NULL || rows[i].applies(node)))
            return rows[i].expand;
    }
    return NULL;
}

/* ---- building blocks ---- */

bool nuc_has_expansion(enum nuc_op op)
{
    size_t i = 0;

    while (i < sizeof rows / sizeof rows[0] && rows[i].op != op)
        i++;
    return i < sizeof rows / sizeof rows[0] || nuc_has_formula(NUC_FORMULA_EXPAND, op);
}

/* ---- the stage ---- */

/* The archive says what the operator makes; what stands for it makes the same, or the arguments were read wrongly. */
static void check_value(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_node *value)
{
    const struct nuc_meta *stated = &node->vals[0], *made = &value->vals[0];

    if (value->is_tuple != node->is_tuple || stated->dtype != made->dtype || !nuc_same_sizes(stated, made))
        nuc_fail(g->cx, NUC_BAD_INPUT, "%s: %s: the archive states %s, the operator makes %s", g->file,
                 nuc_node_text(g->cx, node), nuc_meta_text(g->cx, stated), nuc_meta_text(g->cx, made));
}

void nuc_expand_item(struct nuc_graph *g, struct nuc_node *tuple, uint32_t index, struct nuc_node *value)
{
    for (uint32_t i = tuple->n_users; i > 0; i--) {
        struct nuc_node *item = tuple->users[i - 1];
        if (!nuc_is_item(item, index))
            continue;
        const char *name = item->name;
        bool is_new = value->id > item->id && !nuc_is_placeholder(value);
        check_value(g, item, value);
        nuc_replace_uses(g, item, value, NULL);
        nuc_remove_node(g, item);
        if (is_new)
            nuc_rename(g, value, name);
    }
}

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
        check_value(g, node, value);
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

    if (in_place) {
        changed = expand_all(g, formulas, nuc_is_composite_view);
        changed = nuc_resolve_writes(g) || changed;
    }
    changed = expand_all(g, formulas, is_any) || changed;
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (nuc_op_family(n->op) == NUC_FAMILY_COMPOSITE)
            nuc_expand_fail(g, n, "is not handled: export with run_decompositions(), or replace it in the model");
    }
    if (changed)
        nuc_remove_dead(g);
    if (in_place)
        nuc_keep_in_place(g);
    return changed;
}
