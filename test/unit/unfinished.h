/* Rows that some stage does not have yet: not asked for by the tests of completeness. */
#ifndef NUC_TEST_UNFINISHED_H
#define NUC_TEST_UNFINISHED_H

#include "compiler/graph/op_list.h"

static inline bool is_unfinished(enum nuc_op op)
{
    return nuc_op_is_in(op, NUC_OPS(
        NUC_OP_COUNT));
}

#endif
