#include "ir/quant.h"
#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

bool nuc_same_quantization(const struct nuc_node *a, const struct nuc_node *b)
{
    struct nuc_quant x, y;

    return nuc_quant_of(a, &x) && nuc_quant_of(b, &y) && nuc_same_quant(&x, &y);
}

/* Quantizing what was dequantized with the same parameters gives the same numbers. */
static bool undoes(const struct nuc_node *quantize, const struct nuc_node *dequantize)
{
    return nuc_is_dequantize(dequantize) && nuc_same_quantization(quantize, dequantize);
}

bool nuc_fold_requantize(struct nuc_graph *g)
{
    bool changed = false;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_quantize(n) || n->n_users == 0)
            continue;
        struct nuc_node *dequantize = nuc_operand(g, n, NUC_SELF);
        if (!undoes(n, dequantize))
            continue;
        nuc_replace_uses(g, n, nuc_operand(g, dequantize, NUC_SELF), NULL);
        changed = true;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}
