#include "compiler/passes/npu_linear_map.h"

/* What is built is looked at again, so that a form may use operators that have one. */
static const struct row {
    enum nuc_op op;
    expansion build;
    nuc_form_condition applies; /* NULL: always */
} rows[] = {
    /* ---- resampling, unequal windows (npu_linear_map.c) ---- */
    {NUC_OP_UPSAMPLE_BILINEAR, nuc_form_axes, nuc_form_axes_applies},
    {NUC_OP_UPSAMPLE_NEAREST, nuc_form_axes, nuc_form_axes_applies},
    {NUC_OP_ADAPTIVE_AVG_POOL2D, nuc_form_axes, nuc_form_axes_applies},
};

static expansion form_of(const struct nuc_support *s, const struct nuc_node *node)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].op == node->op && (rows[i].applies == NULL || rows[i].applies(s, node)))
            return rows[i].build;
    }
    return NULL;
}

bool nuc_to_npu_forms(const struct nuc_support *s)
{
    bool changed = false;

    for (struct nuc_node *n = s->g->first; n != NULL;) {
        expansion build = nuc_is_call(n) ? form_of(s, n) : NULL;
        changed = changed || build != NULL;
        n = build == NULL ? n->next : nuc_expand_node(s->g, n, build);
    }
    if (changed)
        nuc_remove_dead(s->g);
    return changed;
}
