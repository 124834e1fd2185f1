/* Shape rules of normalization over statistics of the tensor itself. */
#include "ir/args.h"
#include "ir/shapes/shapes.h"

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
