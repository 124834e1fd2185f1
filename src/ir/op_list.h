/* Tables that hold exceptions: a row names the operators it is about, and those without a row get the default. */
#ifndef NUC_IR_OP_LIST_H
#define NUC_IR_OP_LIST_H

#include "ir/graph.h"

/* NUC_OPS(NUC_OP_ADD, NUC_OP_MUL): a list that NUC_OP_COUNT ends. */
#define NUC_OPS(...) ((const enum nuc_op[]){__VA_ARGS__, NUC_OP_COUNT})

static inline bool nuc_op_is_in(enum nuc_op op, const enum nuc_op *ops)
{
    while (*ops != NUC_OP_COUNT && *ops != op)
        ops++;
    return *ops != NUC_OP_COUNT;
}

#endif
