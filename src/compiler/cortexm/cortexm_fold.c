/* Small rewrites before and behind the lowering. */
#include "compiler/cortexm/cortexm_private.h"

/* ---- before: every data movement between quantized values ---- */

static bool moves(enum nuc_op op)
{
    static const enum nuc_op ops[] = {NUC_OP_VIEW,        NUC_OP_PERMUTE,         NUC_OP_SQUEEZE,
                                      NUC_OP_SQUEEZE_DIM, NUC_OP_SQUEEZE_DIMS,    NUC_OP_UNSQUEEZE,
                                      NUC_OP_CLONE,       NUC_OP_CLONE_DIM_ORDER, NUC_OP_SLICE};

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (ops[i] == op)
            return true;
    }
    return false;
}

/* A clamp behind a movement: it is quantized by itself, and so is the movement. */
static bool clamps_move(const struct nuc_node *node, const struct nuc_node *value)
{
    bool clamp = node->op == NUC_OP_RELU || node->op == NUC_OP_HARDTANH || node->op == NUC_OP_CLAMP;

    return clamp && moves(value->op);
}

/* A movement behind an operator: the operator's value is quantized as the movement's result. */
static void separate(struct nuc_graph *g, struct nuc_node *value, struct nuc_node *move, const struct nuc_node *like)
{
    struct nuc_node *quantize = nuc_insert(g, value->next, NUC_OP_QUANTIZE_PER_TENSOR, value);
    struct nuc_node *dequantize = nuc_insert(g, quantize->next, NUC_OP_DEQUANTIZE_PER_TENSOR, value);

    for (uint32_t i = 1; i <= 5; i++) {
        nuc_copy_arg(g, quantize, i, like, i);
        nuc_copy_arg(g, dequantize, i, like, i);
    }
    nuc_set_arg_node(quantize, g, 0, value);
    nuc_infer_shape(g, quantize);
    nuc_set_arg_node(dequantize, g, 0, quantize);
    nuc_infer_shape(g, dequantize);
    nuc_replace_input(g, move, value, dequantize);
}

void nuc_cm_separate_moves(struct nuc_graph *g)
{
    /* From the back: a chain of movements separates one after the other. */
    for (struct nuc_node *n = g->last; n != NULL; n = n->prev) {
        struct nuc_node *value = nuc_arg_node(n, 0);
        struct nuc_cm_result out;
        if (value == NULL || (!moves(n->op) && !clamps_move(n, value)) || nuc_is_dequantize(value) ||
            !nuc_is_call(value) || value->n_users != 1 || value->vals[0].dtype != NUC_F32 ||
            !nuc_cm_result(n, false, &out))
            continue;
        separate(g, value, n, out.quantize);
    }
}

/* ---- behind: copies of dim orders ---- */

static bool is_order_copy(const struct nuc_node *node)
{
    return node->op == NUC_OP_TO_DIM_ORDER_COPY && node->vals[0].dtype == NUC_I8;
}

/* Copies of one value in one order are one copy; a copy of a copy in the first order is the first value. */
static void fold_copy(struct nuc_cm *c, struct nuc_node *copy)
{
    struct nuc_node *source = nuc_operand(c->g, copy, 0);
    struct nuc_node *first = is_order_copy(source) ? nuc_arg_node(source, 0) : NULL;

    if (first != NULL && nuc_same_layout(&first->vals[0], &copy->vals[0])) {
        nuc_replace_uses(c->g, copy, first, NULL);
        return;
    }
    for (uint32_t i = 0; i < source->n_users; i++) {
        struct nuc_node *other = source->users[i];
        if (other == copy || !is_order_copy(other) || !nuc_same_layout(&other->vals[0], &copy->vals[0]))
            continue;
        struct nuc_node *n = other;
        while (n != NULL && n != copy)
            n = n->next;
        if (n == copy) {
            nuc_replace_uses(c->g, copy, other, NULL);
            return;
        }
    }
}

/* What a program gives has bytes of its own. */
static void copy_viewed_outputs(struct nuc_cm *c)
{
    struct nuc_node *output = nuc_output_node(c->g);

    for (uint32_t i = 0; output != NULL && i < output->args[0].count; i++) {
        struct nuc_node *value = output->args[0].u.nodes[i];
        if (value == NULL || value->op != NUC_OP_NUCLEON_PERMUTE_VIEW)
            continue;
        nuc_replace_input(c->g, output, value, nuc_cm_copy(c, value, output));
    }
}

void nuc_cm_fold(struct nuc_cm *c)
{
    for (struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        if (is_order_copy(n))
            fold_copy(c, n);
    }
    copy_viewed_outputs(c);
    nuc_remove_dead(c->g);
}
