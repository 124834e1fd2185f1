#include "compiler/passes/fused_activation.h"

#include <math.h>

#include "compiler/passes/rewrite.h"

static bool is_number(const struct nuc_arg *a, double value)
{
    double number = a->kind == NUC_ARG_FLOAT ? a->u.f : a->kind == NUC_ARG_INT ? (double)a->u.i : (double)NAN;

    return number >= value && number <= value;
}

bool nuc_is_fused_activation(const struct nuc_node *node)
{
    switch ((int)node->op) {
    case NUC_OP_RELU:
    case NUC_OP_SIGMOID:
    case NUC_OP_TANH:
        return true;
    case NUC_OP_HARDTANH:
        return is_number(&node->args[1], 0.0) &&
               (is_number(&node->args[2], 6.0) || is_number(&node->args[2], (double)INFINITY));
    default:
        return false;
    }
}

bool nuc_takes_activation(const struct nuc_node *node)
{
    switch ((int)node->op) {
    case NUC_OP_CONV2D:
    case NUC_OP_ADDMM:
    case NUC_OP_MM:
        return true;
    case NUC_OP_LINEAR:
        return node->vals[0].rank == 2;
    default:
        return false;
    }
}

struct nuc_node *nuc_insert_activation(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *activation,
                                       struct nuc_node *input)
{
    struct nuc_node *made = nuc_insert_aten(g, before, activation->op, activation);

    nuc_set_arg_node(made, g, 0, input);
    for (uint32_t i = 1; i < activation->n_args; i++)
        nuc_copy_arg(g, made, i, activation, i);
    nuc_infer_shape(g, made);
    return made;
}
