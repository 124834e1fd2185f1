/* Multipliers of the output channels of layers with constant weights, and channels that are constant themselves. */
#include "cpu/cortexm_site.h"

struct nuc_multiplier *nuc_cm_multipliers(struct nuc_cm *c, const struct nuc_cm_value *in,
                                          const struct nuc_cm_value *weight, const struct nuc_cm_result *out,
                                          int64_t channels)
{
    struct nuc_multiplier *rescale = nuc_alloc_array(c->g->cx, (size_t)channels, sizeof *rescale);

    for (int64_t i = 0; i < channels; i++) {
        double scale = nuc_cm_channel_scale(weight, i);
        rescale[i] = nuc_cm_multiplier(in->scale * scale / out->params.scale);
    }
    return rescale;
}

void nuc_cm_add_multipliers(struct nuc_cm *c, const struct nuc_node *like, const struct nuc_multiplier *rescale,
                            int64_t channels, struct nuc_node **multipliers, struct nuc_node **shifts)
{
    int32_t *m = nuc_alloc_array(c->g->cx, (size_t)channels, sizeof *m);
    int32_t *s = nuc_alloc_array(c->g->cx, (size_t)channels, sizeof *s);

    for (int64_t i = 0; i < channels; i++) {
        m[i] = rescale[i].multiplier;
        s[i] = rescale[i].shift;
    }
    *multipliers = nuc_cm_constant(c, like, "_quantized_multiplier", NUC_I32, &channels, 1, m);
    *shifts = nuc_cm_constant(c, like, "_quantized_shift", NUC_I32, &channels, 1, s);
}

void nuc_cm_fold_channels(struct nuc_cm *c, const struct nuc_node *like, const struct nuc_channels *shape,
                          struct nuc_multiplier *rescale, struct nuc_node **weight, struct nuc_node **bias)
{
    const struct nuc_meta *m = &(*weight)->vals[0];

    if (c->options->reference_compat || *bias == NULL || nuc_elements(&(*bias)->vals[0]) != shape->channels)
        return;
    struct nuc_channel_constants constants = {.weights = nuc_const_contiguous(c->g, *weight),
                                              .n_weights = (size_t)nuc_elements(m),
                                              .bias = nuc_const_contiguous(c->g, *bias),
                                              .rescale = rescale};
    if (nuc_fold_constant_channels(c->g->cx, shape, &constants) == 0)
        return;
    *weight = nuc_cm_constant(c, like, "_weight_folded", NUC_I8, m->sizes, m->rank, constants.weights);
    *bias = nuc_cm_constant(c, like, "_bias_folded", NUC_I32, &shape->channels, 1, constants.bias);
}
