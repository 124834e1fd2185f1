/* Shape rules of reductions, scans, softmax and norms. Results of reductions are contiguous. */
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

/* ---- norms, over statistics of the tensor itself ---- */

/*
 * Layer norm and RMS norm, which has no bias: input, normalized_shape, weight, bias, eps. Native layer norm results in
 * the mean and inverse deviation too, of which normalized dimensions have size 1.
 */
void nuc_shape_layer_norm(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_ARG(LAYER_NORM, input));
    uint32_t count;
    const int64_t *sizes = nuc_shape_ints(c, NUC_ARG(LAYER_NORM, normalized_shape), &count);

    if (count == 0 || count > in->rank)
        nuc_shape_fail(c, "%u dimensions of %s are normalized", (unsigned)count, nuc_meta_text(c->g->cx, in));
    for (uint32_t i = 0; i < count; i++) {
        if (sizes[i] != in->sizes[in->rank - count + i])
            nuc_shape_fail(c, "normalized dimension %u is %lld, the input is %s", (unsigned)i, (long long)sizes[i],
                           nuc_meta_text(c->g->cx, in));
    }
    struct nuc_meta normalized = nuc_meta_make(in->dtype, sizes, count);
    const uint32_t affine[2] = {nuc_arg_named(c->node, "weight"), nuc_arg_named(c->node, "bias")};
    for (uint32_t i = 0; i < 2; i++) {
        /* A weight or bias has the normalized dimensions. */
        const struct nuc_meta *m = nuc_shape_optional_input(c, affine[i]);
        if (m != NULL && !nuc_same_sizes(m, &normalized))
            nuc_shape_fail(c, "%s is applied to %s", nuc_meta_text(c->g->cx, m), nuc_meta_text(c->g->cx, &normalized));
    }
    struct nuc_meta m = *in, statistics = *in;
    nuc_order_as(&m, false);
    for (uint32_t i = m.rank - count; i < m.rank; i++)
        statistics.sizes[i] = 1;
    nuc_order_as(&statistics, false);
    if (c->node->op == NUC_OP_NATIVE_LAYER_NORM)
        nuc_shape_results(c, (struct nuc_meta[]){m, statistics, statistics}, 3);
    else
        nuc_shape_result(c, &m);
}

/*
 * Group norm; the native one states the sizes of its input too, and results in a mean and an inverse deviation of
 * [N, group]. Torch keeps an image channels-last; its kernel in the Edge dialect does not.
 */
void nuc_shape_group_norm(const struct nuc_shape_call *c)
{
    bool native = c->node->op == NUC_OP_NATIVE_GROUP_NORM;
    int64_t groups = nuc_shape_int(c, native ? NUC_ARG(NATIVE_GROUP_NORM, group) : NUC_ARG(GROUP_NORM, num_groups));
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);

    if (m.rank < 2)
        nuc_shape_fail(c, "the input has rank %d; group norm expects at least 2", m.rank);
    if (groups < 1 || m.sizes[1] % groups != 0)
        nuc_shape_fail(c, "%lld channels are not divided by %lld groups", (long long)m.sizes[1], (long long)groups);
    nuc_order_as(&m, m.rank == 4 && !nuc_shape_is_copy(c) && nuc_suggests_channels_last(&m));
    struct nuc_meta statistics = nuc_meta_make(m.dtype, (const int64_t[]){m.sizes[0], groups}, 2);
    nuc_shape_check_channels(c, nuc_arg_named(c->node, "weight"), m.sizes[1]);
    nuc_shape_check_channels(c, nuc_arg_named(c->node, "bias"), m.sizes[1]);
    if (!native) {
        nuc_shape_result(c, &m);
        return;
    }
    if (nuc_shape_int(c, NUC_ARG(NATIVE_GROUP_NORM, N)) != m.sizes[0] ||
        nuc_shape_int(c, NUC_ARG(NATIVE_GROUP_NORM, C)) != m.sizes[1])
        nuc_shape_fail(c, "the input is %s, the operator states another batch or number of channels",
                       nuc_meta_text(c->g->cx, &m));
    nuc_shape_results(c, (struct nuc_meta[]){m, statistics, statistics}, 3);
}
