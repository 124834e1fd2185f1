/* Shape rules of normalization over statistics of the tensor itself. */
#include "ir/shapes/shapes.h"

/* ---- layer norm, RMS norm: input, normalized_shape, weight, bias, eps ---- */

/* Returns how many of the last dimensions are normalized. */
static uint32_t normalized_dims(const struct nuc_shape_call *c, uint32_t last_affine)
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
    for (uint32_t i = NUC_ARG(LAYER_NORM, weight); i <= last_affine; i++) {
        /* A weight or bias has the normalized dimensions. */
        const struct nuc_meta *m = nuc_shape_optional_input(c, i);
        if (m != NULL && !nuc_same_sizes(m, &normalized))
            nuc_shape_fail(c, "%s is applied to %s", nuc_meta_text(c->g->cx, m), nuc_meta_text(c->g->cx, &normalized));
    }
    return count;
}

static struct nuc_meta contiguous_input(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);

    nuc_order_as(&m, false);
    return m;
}

void nuc_shape_layer_norm(const struct nuc_shape_call *c)
{
    struct nuc_meta m = contiguous_input(c);

    normalized_dims(c, NUC_ARG(LAYER_NORM, bias));
    nuc_shape_result(c, &m);
}

/* And the mean and inverse deviation, of which normalized dimensions have size 1. */
void nuc_shape_layer_norm_3(const struct nuc_shape_call *c)
{
    struct nuc_meta m = contiguous_input(c), statistics = m;
    uint32_t count = normalized_dims(c, NUC_ARG(NATIVE_LAYER_NORM, bias));

    for (uint32_t i = m.rank - count; i < m.rank; i++)
        statistics.sizes[i] = 1;
    nuc_order_as(&statistics, false);
    nuc_shape_results(c, (struct nuc_meta[]){m, statistics, statistics}, 3);
}

void nuc_shape_rms_norm(const struct nuc_shape_call *c)
{
    struct nuc_meta m = contiguous_input(c);

    normalized_dims(c, NUC_ARG(RMS_NORM, weight));
    nuc_shape_result(c, &m);
}

/* ---- group norm ---- */

/* Torch keeps an image channels-last; its kernel in the Edge dialect does not. */
static struct nuc_meta group_norm_meta(const struct nuc_shape_call *c, int64_t groups)
{
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);

    if (m.rank < 2)
        nuc_shape_fail(c, "the input has rank %d; group norm expects at least 2", m.rank);
    if (groups < 1 || m.sizes[1] % groups != 0)
        nuc_shape_fail(c, "%lld channels are not divided by %lld groups", (long long)m.sizes[1], (long long)groups);
    nuc_order_as(&m, m.rank == 4 && !nuc_shape_is_copy(c) && nuc_suggests_channels_last(&m));
    return m;
}

/* input, num_groups, weight, bias, eps */
void nuc_shape_group_norm(const struct nuc_shape_call *c)
{
    struct nuc_meta m = group_norm_meta(c, nuc_shape_int(c, NUC_ARG(GROUP_NORM, num_groups)));

    nuc_shape_check_channels(c, NUC_ARG(GROUP_NORM, weight), m.sizes[1]);
    nuc_shape_check_channels(c, NUC_ARG(GROUP_NORM, bias), m.sizes[1]);
    nuc_shape_result(c, &m);
}

/* input, weight, bias, N, C, HxW, group, eps; mean and inverse deviation are [N, group] */
void nuc_shape_group_norm_3(const struct nuc_shape_call *c)
{
    int64_t groups = nuc_shape_int(c, NUC_ARG(NATIVE_GROUP_NORM, group));
    struct nuc_meta m = group_norm_meta(c, groups);
    struct nuc_meta statistics = nuc_meta_make(m.dtype, (const int64_t[]){m.sizes[0], groups}, 2);

    nuc_shape_check_channels(c, NUC_ARG(NATIVE_GROUP_NORM, weight), m.sizes[1]);
    nuc_shape_check_channels(c, NUC_ARG(NATIVE_GROUP_NORM, bias), m.sizes[1]);
    if (nuc_shape_int(c, NUC_ARG(NATIVE_GROUP_NORM, N)) != m.sizes[0] ||
        nuc_shape_int(c, NUC_ARG(NATIVE_GROUP_NORM, C)) != m.sizes[1])
        nuc_shape_fail(c, "the input is %s, the operator states another batch or number of channels",
                       nuc_meta_text(c->g->cx, &m));
    nuc_shape_results(c, (struct nuc_meta[]){m, statistics, statistics}, 3);
}
