#include "npu/arrange/tidy.h"

#include <string.h>

/* Each round removes operators, so this is only reached when steps undo one another. */
#define MAX_ROUNDS 10

/* What all steps begin at. */
static bool has_transposes(const struct nuc_ltb *b)
{
    const struct nuc_lt_subgraph *s = nuc_ltb_graph(b);

    for (uint32_t i = 0; i < s->n_ops; i++) {
        if (s->ops[i].code == NUC_LT_TRANSPOSE)
            return true;
    }
    return false;
}

void nuc_tidy(struct nuc_ltb *b)
{
    static bool (*const steps[])(struct nuc_ltb *) = {
        nuc_tidy_fuse_transposes,
        nuc_tidy_remove_identities,
        nuc_tidy_permute_weights,
    };
    bool changed = true;

    for (int round = 0; changed && round < MAX_ROUNDS && has_transposes(b); round++) {
        changed = false;
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
            changed = steps[i](b) || changed;
    }
}

/* ---- order ---- */

void nuc_tidy_sort(struct nuc_ltb *b)
{
    struct nuc_arena *outer = nuc_push_arena(b->cx);
    struct nuc_lt_subgraph *s = nuc_ltb_graph(b);
    struct nuc_lt_uses u = nuc_lt_uses(b->cx, s);
    uint32_t *missing = nuc_alloc_array(b->cx, s->n_ops, sizeof *missing);
    uint32_t *queue = nuc_alloc_array(b->cx, s->n_ops, sizeof *queue);
    struct nuc_lt_op *sorted = nuc_alloc_array(b->cx, s->n_ops, sizeof *sorted);
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n_ops; i++) {
        for (uint32_t k = 0; k < s->ops[i].n_inputs; k++) {
            int32_t t = s->ops[i].inputs[k];
            missing[i] += t >= 0 && u.producer[t] >= 0 ? 1 : 0;
        }
        if (missing[i] == 0)
            queue[n++] = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct nuc_lt_op *op = &s->ops[queue[i]];
        sorted[i] = *op;
        for (uint32_t k = 0; k < op->n_outputs; k++) {
            for (uint32_t r = u.first[op->outputs[k]]; r < u.first[op->outputs[k] + 1]; r++) {
                if (--missing[u.reader[r]] == 0)
                    queue[n++] = u.reader[r];
            }
        }
    }
    if (n != s->n_ops)
        nuc_fail(b->cx, NUC_INTERNAL, "%s: %u operators of the LiteRT model wait for one another", b->model->file,
                 s->n_ops - n);
    if (n != 0)
        memcpy(s->ops, sorted, n * sizeof *sorted);
    nuc_pop_arena(b->cx, outer);
}

/* ---- factors ---- */

void nuc_tidy_separate_factors(struct nuc_ltb *b)
{
    const uint32_t n_ops = nuc_ltb_graph(b)->n_ops;

    for (uint32_t i = 0; i < n_ops; i++) {
        const struct nuc_lt_op *op = &nuc_ltb_graph(b)->ops[i];
        if (op->code != NUC_LT_BATCH_MATMUL || op->inputs[0] != op->inputs[1])
            continue;
        int32_t x = op->inputs[0], again = nuc_ltb_duplicate(b, x, "", false);
        b->debug_handle = op->debug_handle;
        nuc_ltb_reshape(b, x, again);
        nuc_ltb_graph(b)->ops[i].inputs[1] = again;
    }
    if (nuc_ltb_graph(b)->n_ops != n_ops)
        nuc_tidy_sort(b);
}

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

/* Drops the operators that nothing reads any more by what `passes_by` made of their readers, which are those of before.
 */
static bool drop_where(struct nuc_ltb *b,
                       bool (*passes_by)(struct nuc_ltb *b, const struct nuc_lt_uses *u, uint32_t op))
{
    uint32_t n_ops = nuc_ltb_graph(b)->n_ops;
    struct nuc_sub_arena *sub = nuc_enter_sub_arena(b->cx);
    bool *drop = nuc_alloc_array(b->cx, n_ops, sizeof *drop);
    struct nuc_lt_uses u = nuc_lt_uses(b->cx, nuc_ltb_graph(b));

    nuc_leave_sub_arena(b->cx, sub);
    for (uint32_t i = 0; i < n_ops; i++)
        drop[i] = passes_by(b, &u, i);
    bool dropped = nuc_ltb_drop_ops(b, drop);
    nuc_free_sub_arena(sub);
    return dropped;
}

/* Readers of the result stay the same while others are bypassed: that adds readers of inputs of earlier operators. */
static bool is_fused(struct nuc_ltb *b, const struct nuc_lt_uses *u, uint32_t i)
{
    const struct nuc_lt_op *op = &nuc_ltb_graph(b)->ops[i];
    int32_t y = op->outputs[0];

    if (nuc_ltb_perm_of(b, op) == NULL || nuc_ltb_is_output(b, y) || !read_by_transposes(b, u, op))
        return false;
    for (uint32_t r = u->first[y]; r < u->first[y + 1]; r++)
        bypass(b, i, u->reader[r]);
    return true;
}

bool nuc_tidy_fuse_transposes(struct nuc_ltb *b)
{
    return drop_where(b, is_fused);
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

/* ---- flattening in front of weights ---- */

/* The one operator that reads a tensor which is not an output of the model, or -1. */
static int32_t only_reader(const struct nuc_ltb *b, const struct nuc_lt_uses *u, int32_t tensor)
{
    if (u->first[tensor + 1] - u->first[tensor] != 1 || nuc_ltb_is_output(b, tensor))
        return -1;
    return (int32_t)u->reader[u->first[tensor]];
}

/* TRANSPOSE x -> y from channels-last to channels-first. */
static bool is_boundary_transpose(const struct nuc_ltb *b, const struct nuc_lt_op *op)
{
    const int32_t *perm = nuc_ltb_perm_of(b, op);
    int32_t expected[NUC_MAX_RANK];

    if (perm == NULL || !nuc_ltb_is_last(b, op->inputs[0]) ||
        nuc_ltb_format(b, op->outputs[0]) != NUC_LTB_CHANNELS_FIRST)
        return false;
    uint32_t rank = nuc_ltb_at(b, op->inputs[0])->rank;
    nuc_perm_to_first(expected, rank);
    return memcmp(perm, expected, rank * sizeof *perm) == 0;
}

/* FULLY_CONNECTED of the rank-2 tensor z with constant weights [O, C*H*W]. */
static bool fits(const struct nuc_ltb *b, const struct nuc_lt_op *op, int32_t y, int32_t z)
{
    const struct nuc_lt_tensor *flat = nuc_ltb_at(b, z);

    if (op->code != NUC_LT_FULLY_CONNECTED || op->inputs[0] != z || flat->rank != 2 ||
        nuc_ltb_format(b, z) != NUC_LTB_FORMATLESS || flat->shape[0] != nuc_ltb_at(b, y)->shape[0])
        return false;
    const struct nuc_lt_tensor *w = nuc_ltb_at(b, op->inputs[1]);
    return w->data.data != NULL && w->rank == 2 && w->shape[1] == flat->shape[1];
}

static bool is_in_weights(struct nuc_ltb *b, const struct nuc_lt_uses *u, uint32_t i)
{
    struct nuc_lt_op *ops = nuc_ltb_graph(b)->ops;

    if (!is_boundary_transpose(b, &ops[i]))
        return false;
    int32_t y = ops[i].outputs[0];
    int32_t reshape = only_reader(b, u, y);
    if (reshape < 0 || ops[reshape].code != NUC_LT_RESHAPE || ops[reshape].inputs[0] != y)
        return false;
    int32_t z = ops[reshape].outputs[0];
    int32_t reader = only_reader(b, u, z);
    if (reader < 0 || !fits(b, &ops[reader], y, z))
        return false;
    /* [O, C*H*W] seen as [O, C, H, W] and moved to [O, H, W, C]; y is [N, C, H, W]. A copy: others may read the
     * weights. */
    int32_t shape[NUC_MAX_RANK], perm[NUC_MAX_RANK];
    uint32_t rank = nuc_ltb_at(b, y)->rank;
    memcpy(shape, nuc_ltb_at(b, y)->shape, sizeof shape);
    shape[0] = nuc_ltb_at(b, ops[reader].inputs[1])->shape[0];
    nuc_perm_to_last(perm, rank);
    ops[reader].inputs[1] = nuc_ltb_permuted_constant(b, ops[reader].inputs[1], "", shape, rank, perm);
    ops[reshape].inputs[0] = ops[i].inputs[0];
    return true;
}

bool nuc_tidy_permute_weights(struct nuc_ltb *b)
{
    return drop_where(b, is_in_weights);
}
