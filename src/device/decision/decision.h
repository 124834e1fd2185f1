/* Elements of outputs, scores, and the decisions of the files here. */
#ifndef NUC_DEVICE_DECISION_DECISION_H
#define NUC_DEVICE_DECISION_DECISION_H

#include "device/base/real.h"
#include "nucleon/decision.h"

static inline float nuc_view_value(const struct nuc_decision_view *v, const void *const *outputs, uint32_t place,
                                   uint32_t value)
{
    const size_t at = (size_t)place * v->place_step + (size_t)value * v->value_step;
    const void *data = outputs[v->output];
    int32_t q;

    if (v->dtype == NUC_F32)
        return ((const float *)data)[at];
    if (v->dtype == NUC_I16)
        q = ((const int16_t *)data)[at];
    else if (v->dtype == NUC_U8)
        q = ((const uint8_t *)data)[at];
    else
        q = ((const int8_t *)data)[at];
    return (float)(q - v->zero_point) * v->scale;
}

/* The score of a value, where it does not depend on others. */
static inline float nuc_view_score(const struct nuc_decision_rule *d, float value)
{
    return d->activation == NUC_SCORE_SIGMOID ? nuc_real_sigmoid(value) : value;
}

void nuc_decide_boxes(struct nuc_decider *s, const void *const *outputs);

/* The scores of the classes from `first` on at a place: the best one's score and class. NaN is never the best. */
float nuc_best_class(const struct nuc_decision_rule *d, const struct nuc_decision_view *v, const void *const *outputs,
                     uint32_t place, uint32_t first, int32_t *class_index);

/* What softmax divides the exponentials of value - most by, of the values from `first` on. */
float nuc_softmax_sum(const struct nuc_decision_view *v, const void *const *outputs, uint32_t place, uint32_t first,
                      uint32_t count, float *most);

#endif
