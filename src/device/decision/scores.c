/* Scores of the places of outputs. */
#include "device/decision/decision.h"

float nuc_softmax_sum(const struct nuc_decision_view *v, const void *const *outputs, uint32_t place, uint32_t first,
                      uint32_t count, float *most)
{
    float sum = 0;

    *most = nuc_view_value(v, outputs, place, first);
    for (uint32_t i = 1; i < count; i++) {
        const float value = nuc_view_value(v, outputs, place, first + i);
        *most = value > *most ? value : *most;
    }
    for (uint32_t i = 0; i < count; i++)
        sum += nuc_real_exp(nuc_view_value(v, outputs, place, first + i) - *most);
    return sum;
}

float nuc_best_class(const struct nuc_decision_rule *d, const struct nuc_decision_view *v, const void *const *outputs,
                     uint32_t place, uint32_t first, int32_t *class_index)
{
    const uint32_t begin = first + (d->kind == NUC_DECIDE_BOXES && d->has_background);
    float best = 0, most;

    *class_index = NUC_DECISION_NOTHING;
    for (uint32_t i = begin; i < v->values; i++) {
        const float value = nuc_view_value(v, outputs, place, i);
        if (*class_index == NUC_DECISION_NOTHING ? value == value : value > best) {
            best = value;
            *class_index = (int32_t)(i - first);
        }
    }
    if (d->activation != NUC_SCORE_SOFTMAX || *class_index == NUC_DECISION_NOTHING)
        return nuc_view_score(d, best);
    const float sum = nuc_softmax_sum(v, outputs, place, first, v->values - first, &most);
    return nuc_real_exp(best - most) / sum;
}
