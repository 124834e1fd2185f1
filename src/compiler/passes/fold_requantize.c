#include "compiler/passes/pass_list.h"
#include "compiler/passes/rewrite.h"

bool nuc_same_number(const struct nuc_arg *a, const struct nuc_arg *b)
{
    if (a->kind != b->kind)
        return false;
    switch ((int)a->kind) {
    case NUC_ARG_NODE:
        return a->u.node == b->u.node;
    case NUC_ARG_INT:
        return a->u.i == b->u.i;
    case NUC_ARG_FLOAT:
        return !(a->u.f < b->u.f) && !(a->u.f > b->u.f);
    case NUC_ARG_DTYPE:
        return a->u.dtype == b->u.dtype;
    default:
        return a->kind == NUC_ARG_NONE;
    }
}

bool nuc_same_quantization(const struct nuc_node *quantize, const struct nuc_node *other)
{
    for (uint32_t i = 1; i < quantize->n_args; i++) {
        if (!nuc_same_number(&quantize->args[i], &other->args[i]))
            return false;
    }
    return true;
}

/* Quantizing what was dequantized with the same parameters gives the same numbers. */
static bool undoes(const struct nuc_node *quantize, const struct nuc_node *dequantize)
{
    bool per_tensor = quantize->op == NUC_OP_QUANTIZE_PER_TENSOR && dequantize->op == NUC_OP_DEQUANTIZE_PER_TENSOR;
    bool per_channel = quantize->op == NUC_OP_QUANTIZE_PER_CHANNEL && dequantize->op == NUC_OP_DEQUANTIZE_PER_CHANNEL;

    return (per_tensor || per_channel) && nuc_same_quantization(quantize, dequantize);
}

bool nuc_fold_requantize(struct nuc_graph *g)
{
    bool changed = false;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_quantize(n) || n->n_users == 0)
            continue;
        struct nuc_node *dequantize = nuc_operand(g, n, 0);
        if (!nuc_is_dequantize(dequantize) || !undoes(n, dequantize))
            continue;
        nuc_replace_uses(g, n, nuc_operand(g, dequantize, 0), NULL);
        changed = true;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}
