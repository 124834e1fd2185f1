#include "compiler/passes/npu_linear_map.h"
#include "compiler/passes/npu_window.h"

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
    /* ---- windows (npu_window.c) ---- */
    {NUC_OP_MAX_POOL1D, nuc_to_padded_max_pool, nuc_is_max_pool_to_pad},
    {NUC_OP_MAX_POOL2D, nuc_to_padded_max_pool, nuc_is_max_pool_to_pad},
    {NUC_OP_AVG_POOL1D, nuc_to_padded_avg_pool, nuc_is_avg_pool_to_pad},
    {NUC_OP_AVG_POOL2D, nuc_to_padded_avg_pool, nuc_is_avg_pool_to_pad},
    {NUC_OP_CONV2D_PADDING, nuc_to_unevenly_padded, nuc_is_unevenly_padded},
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
