/*
 * Labels that do not fit the decisions though each is a class: of one class alone, counting from another number, or of
 * other samples.
 */
#include <math.h>

#include "tools/evaluate/scored_output.h"

/* How many decisions are the label plus `shift`; 0 for two classes, which can be exchanged as well. */
static uint64_t hits(const struct nuc_output_score *o, int64_t shift)
{
    const uint64_t *confusion = o->program_accuracy.confusion;
    int64_t n = (int64_t)o->n_classes;
    uint64_t sum = 0;

    for (int64_t label = 0; confusion != NULL && n >= 3 && label < n; label++) {
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

#define FEW 20 /* labels that say nothing about the data set */

/* No more decisions are right than those of somebody who guesses, by three standard deviations. */
static bool is_at_chance(const struct nuc_output_score *o)
{
    double n = (double)o->program_accuracy.n, p = 1.0 / (double)o->n_classes;

    return (double)o->program_accuracy.n_right <= n * p + 3 * sqrt(n * p * (1 - p));
}

static void note_fit(struct nuc_context *cx, const char *path, const struct nuc_output_score *o)
{
    /* The class that all labels are; n_classes: there are several. */
    size_t only = 0;

    while (only < o->n_classes && o->program_accuracy.labelled[only] != o->program_accuracy.n)
        only++;
    if (o->program_accuracy.n < FEW)
        return;
    if (only < o->n_classes)
        nuc_warn(cx, "%s: array '%s': all %zu labels are class %zu: take samples of all classes", path, o->labels,
                 o->program_accuracy.n, only);
    else if (is_at_chance(o))
        nuc_warn(
            cx,
            "%s: array '%s': no more decisions are right than by chance: see whether labels and samples are in one "
            "order, and the samples prepared as those of the training",
            path, o->labels);
}

void nuc_note_doubtful_labels(struct nuc_context *cx, const char *path, const struct nuc_evaluation *e)
{
    for (size_t i = 0; i < e->n_outputs; i++) {
        const struct nuc_output_score *o = &e->outputs[i];
        if (o->labels == NULL)
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
        else
            note_fit(cx, path, o);
    }
}
