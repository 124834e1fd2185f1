#include "ir/work.h"

#include "host/limits.h"
#include "ir/args.h"
#include "ir/conv_args.h"
#include "ir/recurrent_args.h"

static double elements(const struct nuc_node *node)
{
    return (double)nuc_value_elements(node);
}

/* Elements below each of the last two dimensions of a window. */
static double window(const struct nuc_node *node)
{
    int index = nuc_schema_arg_index(nuc_op_schema(node->op), "kernel_size");
    double taps = 1;

    if (index < 0 || node->args[index].kind != NUC_ARG_INTS)
        return 0;
    for (uint32_t i = 0; i < node->args[index].count; i++)
        taps *= (double)node->args[index].u.ints[i];
    return taps;
}

double nuc_node_products(const struct nuc_node *node)
{
    const struct nuc_conv_args *conv = nuc_conv_args(node->op);

    if (conv != NULL) {
        const struct nuc_node *weight = nuc_arg_node(node, NUC_CONV_WEIGHT);
        const struct nuc_node *over = conv->transposed ? nuc_arg_node(node, NUC_CONV_INPUT) : node;
        double rows = weight == NULL || weight->vals[0].sizes[0] == 0 ? 1 : (double)weight->vals[0].sizes[0];
        return elements(over) * elements(weight) / rows;
    }
    if (nuc_op_family(node->op) == NUC_FAMILY_MATRIX) {
        const struct nuc_node *left = nuc_arg_node(node, node->op == NUC_OP_ADDMM ? 1 : 0);
        uint32_t rank = left == NULL || left->n_vals == 0 ? 0 : left->vals[0].rank;
        return rank == 0 ? 0 : elements(node) * (double)left->vals[0].sizes[rank - 1];
    }
    if (nuc_op_family(node->op) == NUC_FAMILY_RECURRENT) { /* each weight once a step; biases are vectors */
        struct nuc_recurrent layer = nuc_recurrent_of(node);
        double weights = 0;
        for (uint32_t i = 0; i < layer.per_cell * layer.layers * layer.directions; i++)
            weights += layer.params[i]->vals[0].rank > 1 ? elements(layer.params[i]) : 0;
        return weights * (double)(layer.steps * layer.batch);
    }
    return nuc_op_family(node->op) == NUC_FAMILY_POOL ? elements(node) * window(node) : 0;
}

void nuc_check_work(const struct nuc_graph *g)
{
    double products = 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        bool is_made = nuc_is_call(n) || nuc_is_input(n);
        for (uint32_t i = 0; is_made && i < n->n_vals; i++) {
            if (nuc_bytes(&n->vals[i]) > NUC_MAX_VALUE_BYTES)
                nuc_fail(g->cx, NUC_UNSUPPORTED,
                         "%s: %s makes a value of %llu bytes, %llu are the limit: make its dimensions smaller", g->file,
                         nuc_node_text(g->cx, n), (unsigned long long)nuc_bytes(&n->vals[i]),
                         (unsigned long long)NUC_MAX_VALUE_BYTES);
        }
        products += nuc_is_call(n) ? nuc_node_products(n) : 0;
        if (products > NUC_MAX_RUN_PRODUCTS)
            nuc_fail(
                g->cx, NUC_UNSUPPORTED,
                "%s: up to %s a run takes %.3g products, %.3g are the limit: make its dimensions or windows smaller",
                g->file, nuc_node_text(g->cx, n), products, NUC_MAX_RUN_PRODUCTS);
    }
}
