/* The evaluator's column of ops.def. */
#include "eval/eval_call.h"

/* Where an operator is not computed as its family is. NULL: not at all. */
static const struct nuc_eval_op *const exceptions[NUC_OP_COUNT] = {
#define EVAL(op, by) [NUC_OP_##op] = &nuc_eval_##by,
#include "ir/ops.def"
};

const struct nuc_eval_op *nuc_eval_find(enum nuc_op op)
{
    if (op >= NUC_OP_COUNT)
        return NULL;
    enum nuc_family family = nuc_op_family(op);
    static const struct nuc_eval_op *const ops[NUC_FAMILY_COUNT] = {
        [NUC_FAMILY_QUANT] = &nuc_eval_quant,     [NUC_FAMILY_DEQUANT] = &nuc_eval_quant,
        [NUC_FAMILY_MAP] = &nuc_eval_unary,       [NUC_FAMILY_BINARY] = &nuc_eval_binary,
        [NUC_FAMILY_COMPARE] = &nuc_eval_binary,  [NUC_FAMILY_CONV] = &nuc_eval_conv,
        [NUC_FAMILY_NORM] = &nuc_eval_batch_norm, [NUC_FAMILY_POOL] = &nuc_eval_max_pool,
        [NUC_FAMILY_RESIZE] = &nuc_eval_upsample, [NUC_FAMILY_REDUCE] = &nuc_eval_fold,
        [NUC_FAMILY_SCAN] = &nuc_eval_scan,       [NUC_FAMILY_SOFTMAX] = &nuc_eval_softmax,
        [NUC_FAMILY_MATRIX] = &nuc_eval_matmul,   [NUC_FAMILY_RECURRENT] = &nuc_eval_recurrent,
        [NUC_FAMILY_VIEW] = &nuc_eval_view,       [NUC_FAMILY_PERMUTE] = &nuc_eval_move,
        [NUC_FAMILY_SLICE] = &nuc_eval_move,      [NUC_FAMILY_COPY] = &nuc_eval_view,
        [NUC_FAMILY_CAST] = &nuc_eval_cast,       [NUC_FAMILY_ASSERT] = &nuc_eval_nothing,
        [NUC_FAMILY_CAT] = &nuc_eval_cat,         [NUC_FAMILY_PAD] = &nuc_eval_pad,
        [NUC_FAMILY_FILL] = &nuc_eval_zeros,
    };
    return exceptions[op] != NULL ? exceptions[op] : ops[family];
}
