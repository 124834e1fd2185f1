/* Small rewrites before and after the lowering. */
#include "cpu/cortexm_site.h"

/* ---- before: every data movement between quantized values ---- */

static bool moves(enum nuc_op op)
{
    return nuc_op_rearranges(op) || op == NUC_OP_SLICE;
}

/* A movement after an operator: the operator's value is quantized as the movement's result. */
static void separate(struct nuc_graph *g, struct nuc_node *value, struct nuc_node *move, const struct nuc_node *like)
{
    struct nuc_node *quantize = nuc_cm_insert_quant(g, value->next, NUC_OP_QUANTIZE_PER_TENSOR, value, like);
    struct nuc_node *dequantize = nuc_cm_insert_quant(g, quantize->next, NUC_OP_DEQUANTIZE_PER_TENSOR, quantize, like);

    nuc_replace_input(g, move, value, dequantize);
}

void nuc_cm_separate_moves(struct nuc_graph *g)
{
    /* From the back: a chain of movements separates one after the other. */
    for (struct nuc_node *n = g->last; n != NULL; n = n->prev) {
        struct nuc_node *value = nuc_arg_node(n, NUC_SELF);
        struct nuc_cm_result out;
        /* A clamp after a movement: it is quantized by itself, and so is the movement. */
        if (value == NULL || (!moves(n->op) && (!nuc_has_bounds(n) || !moves(value->op))) || nuc_is_dequantize(value) ||
            !nuc_is_call(value) || value->n_users != 1 || value->vals[0].dtype != NUC_F32 ||
            !nuc_cm_result(n, false, &out))
            continue;
        separate(g, value, n, out.quantize);
    }
}

/* ---- after: copies of dim orders ---- */

/* Copies of one value in one order are one copy; a copy of a copy in the first order is the first value. */
static void fold_copy(struct nuc_cm *c, struct nuc_node *copy)
{
    struct nuc_node *source = nuc_operand(c->g, copy, NUC_SELF);
    struct nuc_node *first = nuc_cm_is_order_copy(source) ? nuc_arg_node(source, NUC_SELF) : NULL;

    if (first != NULL && nuc_same_layout(&first->vals[0], &copy->vals[0])) {
        nuc_replace_uses(c->g, copy, first, NULL);
        return;
    }
    for (uint32_t i = 0; i < source->n_users; i++) {
        struct nuc_node *other = source->users[i];
        if (other == copy || !nuc_cm_is_order_copy(other) || !nuc_same_layout(&other->vals[0], &copy->vals[0]))
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

void nuc_cm_fold(struct nuc_cm *c)
{
    for (struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        if (nuc_cm_is_order_copy(n))
            fold_copy(c, n);
    }
    /* What a program gives has bytes of its own. */
    struct nuc_node *output = nuc_output_node(c->g);
    const struct nuc_arg *values = output == NULL ? NULL : &output->args[NUC_ARG(OUTPUT, values)];
    for (uint32_t i = 0; values != NULL && i < values->count; i++) {
        struct nuc_node *value = values->u.nodes[i];
        if (value != NULL && value->op == NUC_OP_NUCLEON_PERMUTE_VIEW)
            nuc_replace_input(c->g, output, value, nuc_cm_copy(c, value, output));
    }
    nuc_remove_dead(c->g);
}
