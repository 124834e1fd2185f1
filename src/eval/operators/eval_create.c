/* Tensors made from numbers only. They depend on nothing, so they are computed once. */
#include <string.h>

#include "eval/eval_call.h"

/* What torch leaves undefined in an empty tensor is zero here. */
static void run_zeros(const struct nuc_eval_call *c)
{
    memset(c->out[0], 0, nuc_bytes(nuc_eval_result(c)));
}

const struct nuc_eval_op nuc_eval_zeros = {.run = run_zeros};

/* The shape rule has counted the elements. */
static void prepare_arange(struct nuc_eval_call *c)
{
    enum nuc_dtype dtype = nuc_eval_result(c)->dtype;

    if (!nuc_eval_can_convert(dtype))
        nuc_eval_fail(c, "ranges of %s are not computed", nuc_dtype_name(dtype));
}

static void run_arange(const struct nuc_eval_call *c)
{
    double start = nuc_scalar(c->node, NUC_ARG(ARANGE, start), 0.0);
    double step = nuc_scalar(c->node, NUC_ARG(ARANGE, step), 1.0);

    for (size_t i = 0; i < nuc_eval_elements(c); i++)
        nuc_store_number(nuc_eval_result(c)->dtype, c->out[0], i, start + step * (double)i);
}

const struct nuc_eval_op nuc_eval_arange = {.prepare = prepare_arange, .run = run_arange};
