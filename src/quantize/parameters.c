/* From what was observed to parameters. */
#include <math.h>

#include "quantize/adopt.h"
#include "quantize/search/choice_samples.h"

/* Half of the largest int32: leaves room for the sum that the bias begins. */
#define LARGEST_BIAS 0x1p30f

static void set_parameters(struct nuc_calibration *c, bool derived)
{
    for (uint32_t i = 0; i < c->sharing->n_groups; i++) {
        if ((c->observers[i]->spec->kind == NUC_QSPEC_DERIVED) == derived)
            nuc_observer_parameters(c->g->cx, c->observers[i]);
    }
}

void nuc_own_parameters(struct nuc_calibration *c)
{
    set_parameters(c, false);
}

void nuc_calibration_parameters(struct nuc_calibration *c)
{
    if (c->has_parameters)
        return;
    nuc_own_parameters(c);
    if (!c->reference_compat) {
        nuc_adopt(c);
        /*
         * A bias far larger than the products it is added to has too many of their steps for an int32. Their steps
         * become larger then, which the sum does not show: 255 of them, for each product, are 2^-22 of the bias.
         */
        for (uint32_t i = 0; i < c->n_points; i++) {
            const struct nuc_observation_point *t = &c->points[i];
            const uint32_t *from = c->sharing->groups[t->group].from;
            if (c->observers[t->group]->spec->kind != NUC_QSPEC_DERIVED || !nuc_is_static(t->node))
                continue;
            const float *bias = nuc_const_contiguous(c->g, t->node);
            const struct nuc_observer *input = c->observers[from[0]];
            struct nuc_observer *weight = c->observers[from[1]];
            for (int64_t k = 0; k < nuc_elements(&t->node->vals[0]) && weight->n != 0; k++) {
                float *scale = &weight->scale[(uint64_t)k % weight->n],
                      least = fabsf(bias[k]) / LARGEST_BIAS / input->scale[0];
                *scale = *scale > least ? *scale : least;
            }
        }
    }
    set_parameters(c, true);
    for (uint32_t i = 0; i < c->n_points; i++) {
        const struct nuc_observation_point *t = &c->points[i];
        const struct nuc_observer *o = c->observers[t->group];
        struct nuc_context *cx = c->g->cx;
        if (o->spec->kind == NUC_QSPEC_OBSERVED && !o->seen && c->fold == NUC_NO_FOLD)
            nuc_warn(cx, "%s: %s was never observed: quantized with scale 1; give calibration samples", c->g->file,
                     nuc_node_text(cx, t->node));
        for (uint32_t k = 0; k < o->n; k++) {
            if (!isfinite(o->scale[k]))
                nuc_fail(cx, NUC_BAD_INPUT, "%s: the values of %s span a range too wide to quantize", c->g->file,
                         nuc_node_text(cx, t->node));
        }
    }
    c->has_parameters = true;
}
