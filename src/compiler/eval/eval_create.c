/* Tensors made from numbers only. They depend on nothing, so they are computed once. */
#include <string.h>

#include "compiler/eval/eval_private.h"

/* What torch leaves undefined in an empty tensor is zero here. */
static void run_zeros(const struct nuc_eval_call *c)
{
    memset(c->out[0], 0, nuc_bytes(nuc_eval_out_meta(c, 0)));
}

const struct nuc_eval_op nuc_eval_zeros = {.run = run_zeros};

/* start, end, step; the shape rule has counted the elements. */
static void prepare_arange(struct nuc_eval_call *c)
{
    enum nuc_dtype dtype = nuc_eval_out_meta(c, 0)->dtype;

    nuc_eval_number(c, 0, 0.0);
    nuc_eval_number(c, 2, 1.0);
    if (!nuc_eval_can_convert(dtype) || nuc_eval_out_meta(c, 0)->rank != 1)
        nuc_eval_fail(c, "ranges of %s are not computed", nuc_dtype_name(dtype));
}

static void run_arange(const struct nuc_eval_call *c)
{
    const struct nuc_meta *out = nuc_eval_out_meta(c, 0);
    double start = nuc_eval_number(c, 0, 0.0), step = nuc_eval_number(c, 2, 1.0);

    for (size_t i = 0; i < (size_t)out->sizes[0]; i++)
        nuc_eval_store_number(out->dtype, c->out[0], i, start + step * (double)i);
}

const struct nuc_eval_op nuc_eval_arange = {.prepare = prepare_arange, .run = run_arange};
