#include "npu/arrange/tidy.h"

/* ---- fusing ---- */

/*
 * Somebody reads the result of the TRANSPOSE `first`, all who do transpose it by a constant permutation, and what
 * becomes of each pair is a transpose the NPU has.
 */
static bool read_by_transposes(const struct nuc_ltb *b, const struct nuc_lt_uses *u, const struct nuc_lt_op *first)
{
    const struct nuc_lt_tensor *x = nuc_ltb_at(b, first->inputs[0]);
    int32_t y = first->outputs[0];
    int32_t combined[NUC_MAX_RANK];

    for (uint32_t r = u->first[y]; r < u->first[y + 1]; r++) {
        const struct nuc_lt_op *op = &nuc_ltb_graph(b)->ops[u->reader[r]];
        if (nuc_ltb_perm_of(b, op) == NULL || op->inputs[0] != y)
            return false;
        nuc_perm_apply(combined, nuc_ltb_perm_of(b, first), nuc_ltb_perm_of(b, op), x->rank);
        if (!nuc_ltb_can_transpose(b, x->shape, combined, x->rank))
            return false;
    }
    return u->first[y] != u->first[y + 1];
}

/* Lets the TRANSPOSE at `second` read what the one at `first` reads. */
static void bypass(struct nuc_ltb *b, uint32_t first, uint32_t second)
{
    int32_t combined[NUC_MAX_RANK], shape[NUC_MAX_RANK];
    int32_t x = nuc_ltb_graph(b)->ops[first].inputs[0];
    uint32_t rank = nuc_ltb_at(b, x)->rank;

    nuc_perm_apply(combined, nuc_ltb_perm_of(b, &nuc_ltb_graph(b)->ops[first]),
                   nuc_ltb_perm_of(b, &nuc_ltb_graph(b)->ops[second]), rank);
    int32_t perm_tensor = nuc_ltb_list(b, "perm", combined, rank);
    struct nuc_lt_op *op = &nuc_ltb_graph(b)->ops[second];
    op->inputs[0] = x;
    op->inputs[1] = perm_tensor;
    nuc_perm_apply(shape, nuc_ltb_at(b, x)->shape, combined, rank);
    nuc_ltb_set_shape(b, op->outputs[0], shape, rank);
}

bool nuc_tidy_fuse_transposes(struct nuc_ltb *b)
{
    uint32_t n_ops = nuc_ltb_graph(b)->n_ops;
    struct nuc_sub_arena *sub = nuc_enter_sub_arena(b->cx);
    bool *drop = nuc_alloc_array(b->cx, n_ops, sizeof *drop);
    struct nuc_lt_uses u = nuc_lt_uses(b->cx, nuc_ltb_graph(b));

    nuc_leave_sub_arena(b->cx, sub);
    for (uint32_t i = 0; i < n_ops; i++) {
        const struct nuc_lt_op *op = &nuc_ltb_graph(b)->ops[i];
        int32_t y = op->outputs[0];
        /* Readers of y stay the same while others are bypassed: a bypass adds readers of inputs of earlier operators.
         */
        if (nuc_ltb_perm_of(b, op) == NULL || nuc_ltb_is_output(b, y) || !read_by_transposes(b, &u, op))
            continue;
        for (uint32_t r = u.first[y]; r < u.first[y + 1]; r++)
            bypass(b, i, u.reader[r]);
        drop[i] = true;
    }
    bool dropped = nuc_ltb_drop_ops(b, drop);
    nuc_free_sub_arena(sub);
    return dropped;
}

/* ---- identities ---- */

/* A model's output must have an operator that writes it, and every boundary its own tensor. */
static bool may_vanish(const struct nuc_ltb *b, int32_t x, int32_t y)
{
    const struct nuc_lt_subgraph *s = nuc_ltb_graph(b);

    if (!nuc_ltb_is_output(b, y))
        return true;
    return !nuc_ltb_is_output(b, x) && !nuc_lt_contains(s->inputs, s->n_inputs, x) && !nuc_ltb_is_constant(b, x);
}

/* What stands for tensor `i` by now. */
static int32_t now(const int32_t *instead, int32_t i)
{
    while (i >= 0 && instead[i] != i)
        i = instead[i];
    return i;
}

/* x stands for y: among the outputs at once, among the inputs of operators when all are known. */
static void replace(struct nuc_ltb *b, int32_t y, int32_t x)
{
    struct nuc_lt_subgraph *s = nuc_ltb_graph(b);
    bool is_output = false;

    for (uint32_t i = 0; i < s->n_outputs; i++) {
        if (s->outputs[i] == y) {
            s->outputs[i] = x;
            is_output = true;
        }
    }
    if (is_output)
        nuc_ltb_swap_names(b, x, y);
    b->notes[x].format = b->notes[y].format;
}

bool nuc_tidy_remove_identities(struct nuc_ltb *b)
{
    struct nuc_arena *outer = nuc_push_arena(b->cx);
    struct nuc_lt_subgraph *s = nuc_ltb_graph(b);
    bool *drop = nuc_alloc_array(b->cx, s->n_ops, sizeof *drop);
    int32_t *instead = nuc_alloc_array(b->cx, s->n_tensors + 1, sizeof *instead);

    for (uint32_t i = 0; i < s->n_tensors; i++)
        instead[i] = (int32_t)i;
    for (uint32_t i = 0; i < s->n_ops; i++) {
        const struct nuc_lt_op *op = &s->ops[i];
        const int32_t *perm = nuc_ltb_perm_of(b, op), y = op->outputs[0];
        if (perm == NULL)
            continue;
        const int32_t x = now(instead, op->inputs[0]);
        if (!nuc_perm_is_identity(perm, nuc_ltb_at(b, x)->rank) || !may_vanish(b, x, y))
            continue;
        replace(b, y, x);
        instead[y] = x;
        drop[i] = true;
    }
    for (uint32_t i = 0; i < s->n_ops; i++) {
        for (uint32_t k = 0; k < s->ops[i].n_inputs; k++)
            s->ops[i].inputs[k] = now(instead, s->ops[i].inputs[k]);
    }
    bool dropped = nuc_ltb_drop_ops(b, drop);
    nuc_pop_arena(b->cx, outer);
    return dropped;
}
