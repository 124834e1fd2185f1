#include "compiler/eval/eval.h"
#include "compiler/graph/args.h"
#include "compiler/passes/pass_list.h"
#include "compiler/passes/rewrite.h"

/* Values of a node with a tuple replace its getitem nodes; anything else that reads it keeps it alive. */
static void replace_items(struct nuc_graph *g, struct nuc_node *node, void *const *values)
{
    for (uint32_t i = node->n_users; i > 0; i--) {
        struct nuc_node *item = node->users[i - 1];
        int64_t index = item->op == NUC_OP_GETITEM ? nuc_integer(item, NUC_ARG(GETITEM, index), -1) : -1;
        if (index < 0)
            continue;
        nuc_replace_uses(g, item, nuc_add_parameter(g, item, "", &item->vals[0], values[index]), NULL);
    }
}

/*
 * Quantize and dequantize nodes of parameters stay: they say how the parameter is stored. Of operators without tensors,
 * positions are what masks and tables of indices are computed from.
 */
static bool is_foldable(const struct nuc_node *n)
{
    struct nuc_cursor at = {0, 0};

    return nuc_is_call(n) && n->n_users > 0 && n->op != NUC_OP_GETITEM && n->op != NUC_OP_CALL_DELEGATE &&
           !nuc_is_quantize(n) && !nuc_is_dequantize(n) && n->n_vals > 0 &&
           (n->op == NUC_OP_ARANGE || nuc_next_input(n, &at) != NULL);
}

bool nuc_fold_constants(struct nuc_graph *g)
{
    struct nuc_node *next;
    bool changed = false;

    for (struct nuc_node *n = g->first; n != NULL; n = next) {
        next = n->next;
        if (!is_foldable(n))
            continue;
        void **values = nuc_alloc_array(g->cx, n->n_vals, sizeof(void *));
        if (!nuc_eval_constant(g, n, values))
            continue;
        if (n->is_tuple)
            replace_items(g, n, values);
        else
            nuc_replace_uses(g, n, nuc_add_parameter(g, n, "", &n->vals[0], values[0]), NULL);
        changed = true;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}

/* A parameter of its own, moved: what it becomes is no larger. */
static bool is_moved_parameter(const struct nuc_node *n)
{
    const struct nuc_node *input = nuc_arg_node(n, NUC_SELF);

    return n->n_users > 0 && input != NULL && nuc_is_static(input) && input->n_users == 1 &&
           input->vals[0].dtype == n->vals[0].dtype;
}

static bool fold_move(struct nuc_graph *g, struct nuc_node *n)
{
    void *value;

    if (!is_moved_parameter(n) || !nuc_eval_constant(g, n, &value))
        return false;
    nuc_replace_uses(g, n, nuc_take_parameter(g, nuc_operand(g, n, NUC_SELF), "_moved", &n->vals[0], value), NULL);
    return true;
}

bool nuc_fold_moves(struct nuc_graph *g)
{
    return nuc_rewrite_each(
        g, NUC_OPS(NUC_OP_PERMUTE, NUC_OP_VIEW, NUC_OP_CLONE, NUC_OP_CLONE_DIM_ORDER, NUC_OP_TO_DIM_ORDER_COPY),
        fold_move);
}
