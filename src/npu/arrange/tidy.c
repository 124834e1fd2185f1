#include "npu/arrange/tidy.h"

#include <string.h>

/* Each round removes operators, so this is only reached when steps undo one another. */
#define MAX_ROUNDS 10

void nuc_tidy(struct nuc_ltb *b)
{
    static bool (*const steps[])(struct nuc_ltb *) = {
        nuc_tidy_fuse_transposes,
        nuc_tidy_remove_identities,
        nuc_tidy_permute_weights,
    };
    bool changed = true;

    for (int round = 0; changed && round < MAX_ROUNDS; round++) {
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
