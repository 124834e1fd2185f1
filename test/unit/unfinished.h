/* Rows that some stage does not have yet: not asked for by the tests of completeness. */
#ifndef NUC_TEST_UNFINISHED_H
#define NUC_TEST_UNFINISHED_H

#include "compiler/graph/op_list.h"

static inline bool is_unfinished(enum nuc_op op)
{
    return nuc_op_is_in(op, NUC_OPS(
        NUC_OP_EXP2,
        NUC_OP_ERFC,
        NUC_OP_SQUARE,
        NUC_OP_SELU,
        NUC_OP_CELU,
        NUC_OP_SOFTPLUS,
        NUC_OP_MISH,
        NUC_OP_HARDSHRINK,
        NUC_OP_SOFTSHRINK,
        NUC_OP_THRESHOLD,
        NUC_OP_LOG_SIGMOID,
        NUC_OP_NAN_TO_NUM,
        NUC_OP_CLAMP_MIN,
        NUC_OP_CLAMP_MAX,
        NUC_OP_FRAC,
        NUC_OP_ROUND_DECIMALS,
        NUC_OP_SINC,
        NUC_OP_DEG2RAD,
        NUC_OP_RAD2DEG,
        NUC_OP_ISFINITE,
        NUC_OP_SIGNBIT,
        NUC_OP_FMAX,
        NUC_OP_FMIN,
        NUC_OP_COPYSIGN,
        NUC_OP_HYPOT,
        NUC_OP_LOGADDEXP,
        NUC_OP_LOGADDEXP2,
        NUC_OP_XLOGY,
        NUC_OP_HEAVISIDE,
        NUC_OP_RSUB,
        NUC_OP_LERP,
        NUC_OP_LERP_SCALAR,
        NUC_OP_ADDCMUL,
        NUC_OP_ADDCDIV,
        NUC_OP_CLAMP_TENSOR,
        NUC_OP_CLAMP_MIN_TENSOR,
        NUC_OP_CLAMP_MAX_TENSOR,
        NUC_OP_GLU,
        NUC_OP_ISCLOSE,
        NUC_OP_MASKED_FILL,
        NUC_OP_MASKED_FILL_TENSOR,
        NUC_OP_WHERE_SCALAR,
        NUC_OP_WHERE_SCALAR_OTHER,
        NUC_OP_WHERE_SCALAR_SELF,
        NUC_OP_COUNT));
}

#endif
