/* Labels that count from another number than the classes: seen by the decisions, when none is out of range. */
#include <math.h>

#include "tools/evaluate/scored_output.h"

/* How many decisions are the label plus `shift`. */
static uint64_t hits(const struct nuc_output_score *o, int64_t shift)
{
    const uint64_t *confusion = o->program_accuracy.confusion;
    int64_t n = (int64_t)o->n_classes;
    uint64_t sum = 0;

    for (int64_t label = 0; label < n; label++) {
        if (label + shift >= 0 && label + shift < n)
            sum += confusion[label * n + label + shift];
    }
    return sum;
}

/*
 * Far more hits than without the shift: twice as many, and more than three standard deviations apart, as counts of
 * decisions that are the one or the other by chance.
 */
static bool is_shifted(uint64_t shifted, uint64_t right)
{
    return shifted >= 2 * right && (double)(shifted - right) > 3 * sqrt((double)(shifted + right));
}

void nuc_note_shifted_labels(struct nuc_context *cx, const char *path, const struct nuc_evaluation *e)
{
    for (size_t i = 0; i < e->n_outputs; i++) {
        const struct nuc_output_score *o = &e->outputs[i];
        if (o->labels == NULL || o->program_accuracy.confusion == NULL || o->n_classes < 3)
            continue;
        uint64_t right = hits(o, 0), from_one = hits(o, -1), from_behind = hits(o, 1);
        double all = (double)o->program_accuracy.n / 100;
        if (is_shifted(from_one, right))
            nuc_warn(cx,
                     "%s: array '%s': %.2f %% of the decisions are the label less 1, %.2f %% the label: it seems to "
                     "count from 1, subtract 1",
                     path, o->labels, (double)from_one / all, (double)right / all);
        else if (is_shifted(from_behind, right))
            nuc_warn(
                cx,
                "%s: array '%s': %.2f %% of the decisions are the label plus 1, %.2f %% the label: the model seems "
                "to have a class in front, such as the background, add 1",
                path, o->labels, (double)from_behind / all, (double)right / all);
    }
}
