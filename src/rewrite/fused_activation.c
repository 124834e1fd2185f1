#include "rewrite/fused_activation.h"

#include <math.h>

#include "ir/args.h"
#include "npu/support/cluster.h"

bool nuc_is_fused_activation(const struct nuc_node *node)
{
    struct nuc_bounds b = nuc_bounds_of(node);

    if (node->op != NUC_OP_HARDTANH)
        return nuc_is_activation(node->op);
    return nuc_numbers_equal(b.min, 0.0) && (nuc_numbers_equal(b.max, 6.0) || b.max >= HUGE_VAL);
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
