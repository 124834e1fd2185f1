#include "rewrite/fused_activation.h"

#include <math.h>

#include "ir/args.h"
#include "rewrite/rewrite.h"

bool nuc_is_fused_activation(const struct nuc_node *node)
{
    struct nuc_bounds b = nuc_bounds_of(node);

    switch ((int)node->op) {
    case NUC_OP_RELU:
    case NUC_OP_SIGMOID:
    case NUC_OP_TANH:
        return true;
    case NUC_OP_HARDTANH:
        return nuc_numbers_equal(b.min, 0.0) && (nuc_numbers_equal(b.max, 6.0) || b.max >= HUGE_VAL);
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
