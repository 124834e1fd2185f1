/* Small rewrites before and after the lowering. */
#include "cpu/cortexm_site.h"
#include "rewrite/insert.h"
#include "rewrite/moves.h"

#define MOST_PERMUTED 4

/* ---- before: every data movement between quantized values ---- */

static bool moves(enum nuc_op op)
{
    return nuc_op_rearranges(op) || op == NUC_OP_SLICE;
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
        /* A movement after an operator: the operator's value is quantized as the movement's result. */
        struct nuc_node *quantize =
            nuc_cm_insert_quant(g, value->next, NUC_OP_QUANTIZE_PER_TENSOR, value, out.quantize);
        struct nuc_node *dequantize =
            nuc_cm_insert_quant(g, quantize->next, NUC_OP_DEQUANTIZE_PER_TENSOR, quantize, out.quantize);
        nuc_replace_input(g, n, value, dequantize);
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

/* ---- after: moves in a row ---- */

/*
 * What moves bytes several times moves them once, as keys do, which a product reads transposed: heads in front, for the
 * model and for the kernel. Not in more dimensions than the kernel of ExecuTorch takes.
 */
static void join_moves(struct nuc_cm *c, struct nuc_node *last)
{
    struct nuc_node *moves[NUC_MOST_MOVES];
    struct nuc_permuted_parts p;
    uint32_t count = nuc_moves_before(last, moves), n_moved = 0;
    int64_t order[NUC_MAX_RANK];

    while (count > 0 && (!nuc_is_contiguous(nuc_input_meta(moves[count - 1], NUC_SELF)) ||
                         !nuc_join_moves(moves, count, &p) || p.count > MOST_PERMUTED))
        count--;
    for (uint32_t i = 0; i < count; i++)
        n_moved += moves[i]->op != NUC_OP_NUCLEON_PERMUTE_VIEW && nuc_op_family(moves[i]->op) != NUC_FAMILY_VIEW;
    if (n_moved < 2)
        return;
    struct nuc_node *value = nuc_operand(c->g, moves[count - 1], NUC_SELF);
    const struct nuc_meta out = last->vals[0];
    if (p.count > 1) {
        for (uint32_t i = 0; i < p.count; i++)
            order[i] = p.order[i];
        value = nuc_cm_transpose(c, nuc_cm_view(c, value, p.from, p.count, last), order, last);
    }
    nuc_replace_uses(c->g, last, nuc_cm_view(c, value, out.sizes, out.rank, last), NULL);
}

void nuc_cm_fold(struct nuc_cm *c)
{
    if (!c->options->reference_compat) {
        for (struct nuc_node *n = c->g->last, *prev; n != NULL; n = prev) {
            prev = n->prev;
            if (n->n_users > 0 && nuc_op_is_in(n->op, NUC_OPS(NUC_OP_CORTEXM_TRANSPOSE, NUC_OP_PERMUTE)) &&
                n->vals[0].dtype == NUC_I8 && nuc_is_contiguous(&n->vals[0]) && !nuc_feeds_output(n))
                join_moves(c, n);
        }
    }
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
