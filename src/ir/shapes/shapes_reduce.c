/* Shape rules of reductions, scans and softmax. Results are contiguous. */
#include "ir/args.h"
#include "ir/shapes/shapes.h"

/* Where all reductions have it. */
#define DIM NUC_ARG(MEAN_DIM, dim)

/* self, dim and keepdim */
static struct nuc_meta reduced_meta(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);
    bool keep = nuc_shape_bool(c, nuc_arg_named(c->node, "keepdim"));
    bool reduced[NUC_MAX_RANK] = {false};
    struct nuc_meta m = {.dtype = in->dtype};

    bool all = nuc_shape_named_dims(c, DIM, in->rank, reduced) == 0;
    for (uint32_t i = 0; i < in->rank; i++) {
        if (!all && !reduced[i])
            m.sizes[m.rank++] = in->sizes[i];
        else if (keep)
            m.sizes[m.rank++] = 1;
    }
    nuc_order_as(&m, false);
    return m;
}

/* self, dim, keepdim, dtype */
void nuc_shape_mean_dim(const struct nuc_shape_call *c)
{
    struct nuc_meta m = reduced_meta(c);

    m.dtype = nuc_shape_dtype(c, NUC_ARG(MEAN_DIM, dtype), m.dtype);
    if (!nuc_is_floating(m.dtype))
        nuc_shape_fail(c, "the mean of %s is not defined: pass dtype", nuc_dtype_name(m.dtype));
    nuc_shape_result(c, &m);
}

/* Sums of bools and integers are int64. */
static enum nuc_dtype sum_dtype(enum nuc_dtype dtype)
{
    return nuc_is_floating(dtype) ? dtype : NUC_I64;
}

/* self, dim, keepdim, dtype */
void nuc_shape_sum_dim(const struct nuc_shape_call *c)
{
    struct nuc_meta m = reduced_meta(c);

    m.dtype = nuc_shape_dtype(c, NUC_ARG(SUM_DIM, dtype), sum_dtype(m.dtype));
    nuc_shape_result(c, &m);
}

/* self, dtype: over everything */
void nuc_shape_sum(const struct nuc_shape_call *c)
{
    struct nuc_meta m = {.dtype =
                             nuc_shape_dtype(c, NUC_ARG(SUM, dtype), sum_dtype(nuc_shape_input(c, NUC_SELF)->dtype))};

    nuc_shape_result(c, &m);
}

/* amax and amin, argmax and argmin: self, dim, keepdim. Without dim it is the place among all elements. */
void nuc_shape_extreme(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);
    struct nuc_meta m = reduced_meta(c);

    if (nuc_elements(in) == 0 && nuc_elements(&m) != 0)
        nuc_shape_fail(c, "%s has no largest or smallest element", nuc_meta_text(c->g->cx, in));
    if (c->node->op == NUC_OP_ARGMAX || c->node->op == NUC_OP_ARGMIN)
        m.dtype = NUC_I64;
    nuc_shape_result(c, &m);
}

/* self, dim, keepdim */
void nuc_shape_any(const struct nuc_shape_call *c)
{
    struct nuc_meta m = reduced_meta(c);

    m.dtype = NUC_BOOL;
    nuc_shape_result(c, &m);
}

/* self, dim, correction, keepdim */
void nuc_shape_var(const struct nuc_shape_call *c)
{
    struct nuc_meta m = reduced_meta(c);

    if (!nuc_is_floating(m.dtype))
        nuc_shape_fail(c, "the variance of %s is not defined: convert it to float", nuc_dtype_name(m.dtype));
    nuc_shape_result(c, &m);
}

/* cumsum: self, dim, dtype */
void nuc_shape_scan(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);

    nuc_shape_dim(c, nuc_shape_int(c, DIM), m.rank);
    /* In place the result has the operand's type, whatever the sum would have. */
    if (!c->node->in_place)
        m.dtype = nuc_shape_dtype(c, NUC_ARG(CUMSUM, dtype), sum_dtype(m.dtype));
    nuc_order_as(&m, false);
    nuc_shape_result(c, &m);
}

/* aten.softmax.int and aten._softmax: self, dim, and a dtype or a bool that a float input leaves without effect. */
void nuc_shape_softmax(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);

    nuc_shape_dim(c, nuc_shape_int(c, NUC_ARG(SOFTMAX, dim)), m.rank);
    if (c->node->args[NUC_ARG(SOFTMAX, dtype)].kind == NUC_ARG_DTYPE)
        m.dtype = c->node->args[NUC_ARG(SOFTMAX, dtype)].u.dtype;
    nuc_order_as(&m, false);
    nuc_shape_result(c, &m);
}
