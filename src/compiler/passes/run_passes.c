/* The order of the passes. */
#include "compiler/passes/pass_list.h"
#include "compiler/passes/passes.h"

/*
 * Batch norms are folded first, as the quantization flow of torch does before any pass of the backend; the second time
 * catches those that other passes brought next to a convolution or linear.
 */
static const struct pass aten_passes[] = {
    {"fold batch norm", nuc_fold_batch_norm}, {"batch dimension of poolings", nuc_batch_pools},
    {"fold constants", nuc_fold_constants},   {"fuse linear and add", nuc_fuse_linear_add},
    {"fold batch norm", nuc_fold_batch_norm}, {"remove dead nodes", nuc_remove_dead_nodes},
};

static const struct pass edge_passes[] = {
    {"separate leading auxiliary nodes", nuc_separate_leading},
    {"separate trailing auxiliary nodes", nuc_separate_trailing},
    {"fold requantization", nuc_fold_requantize},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define MAX_CYCLES 10

bool nuc_remove_dead_nodes(struct nuc_graph *g)
{
    uint32_t before = g->n_nodes;

    nuc_remove_dead(g);
    return g->n_nodes != before;
}

void nuc_run_aten_passes(struct nuc_graph *g)
{
    for (size_t i = 0; i < COUNT(aten_passes); i++)
        aten_passes[i].run(g);
}

/* Every change adds or removes nodes, so a pass that goes on longer than there are nodes does not end. */
static bool run_until_stable(struct nuc_graph *g, const struct pass *pass)
{
    uint32_t limit = g->n_nodes;

    for (uint32_t i = 0; i <= limit; i++) {
        if (!pass->run(g))
            return i > 0;
    }
    nuc_fail(g->cx, NUC_INTERNAL, "%s: pass '%s' does not come to an end", g->file, pass->name);
}

void nuc_run_edge_passes(struct nuc_graph *g)
{
    bool changed = true;

    for (int cycle = 0; changed && cycle < MAX_CYCLES; cycle++) {
        changed = false;
        for (size_t i = 0; i < COUNT(edge_passes); i++)
            changed |= run_until_stable(g, &edge_passes[i]);
    }
    nuc_rename_as_traced(g);
}
