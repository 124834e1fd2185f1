/* Properties that may be demanded of an evaluation. */
#include <math.h>

#include "host/text.h"
#include "tools/evaluate/scored_output.h"

/* What a gate measures of an output: false when the output has no such measure. */
static bool accuracy_of(const struct nuc_output_score *o, double *out)
{
    const struct nuc_label_score *a = &o->program_accuracy;

    size_t n = o->labels_of_sequences ? o->last_step.n_labelled : a->n;
    size_t n_right = o->labels_of_sequences ? o->last_step.n_program_right : a->n_right;

    *out = n == 0 ? 0 : 100.0 * (double)n_right / (double)n;
    return o->labels != NULL && (o->task == NUC_TASK_CLASSIFY || o->task == NUC_TASK_SEGMENT);
}

static bool agreement_of(const struct nuc_output_score *o, double *out)
{
    bool decides = o->task == NUC_TASK_CLASSIFY || o->task == NUC_TASK_SEGMENT;
    double share = decides ? (double)o->n_agree / (double)o->n_decisions
                           : (double)o->deviation.n_equal / (double)o->deviation.n_elements;

    *out = 100 * share;
    return decides || o->is_integer;
}

static bool sqnr_of(const struct nuc_output_score *o, double *out)
{
    *out = o->deviation.sqnr_db;
    return !o->is_integer;
}

static const struct gate {
    const char *option, *what, *unit;
    size_t offset; /* of the limit in struct nuc_evaluate_options */
    bool (*of)(const struct nuc_output_score *o, double *out);
    bool needs_reference;
    const char *lacking; /* the remedy when no output has the measure */
} gates[] = {
    {"--min-accuracy", "accuracy", " %", offsetof(struct nuc_evaluate_options, min_accuracy), accuracy_of, false,
     "it takes class labels: an integer array 'label' in the data set, or a folder of images with a subfolder per "
     "class"},
    {"--min-agreement", "agreement", " %", offsetof(struct nuc_evaluate_options, min_agreement), agreement_of, true,
     "no output is known to be a classifier's: --task classify says that it is, --class-axis N where its classes are"},
    {"--min-sqnr", "SQNR", " dB", offsetof(struct nuc_evaluate_options, min_sqnr), sqnr_of, true,
     "all outputs are integers: --min-agreement counts equal elements"},
};

static double limit_of(const struct gate *gate, const struct nuc_evaluate_options *o)
{
    return *(const double *)((const char *)o + gate->offset);
}

/* The output with the least of the measure; NULL: none has it. */
static const struct nuc_output_score *worst(const struct gate *gate, const struct nuc_evaluation *e, double *value)
{
    const struct nuc_output_score *found = NULL;
    double v;

    for (size_t i = 0; i < e->n_outputs; i++) {
        if (!gate->of(&e->outputs[i], &v) || (found != NULL && v >= *value))
            continue;
        *value = v;
        found = &e->outputs[i];
    }
    return found;
}

void nuc_check_gates(struct nuc_context *cx, const struct nuc_evaluation *e, const struct nuc_evaluate_options *o)
{
    for (size_t i = 0; i < sizeof gates / sizeof gates[0]; i++) {
        const struct gate *gate = &gates[i];
        double value;
        if (isnan(limit_of(gate, o)))
            continue;
        if (gate->needs_reference && !e->has_reference)
            nuc_fail(cx, NUC_BAD_USAGE, "%s compares with the float model: give it with --reference MODEL",
                     gate->option);
        if (worst(gate, e, &value) == NULL)
            nuc_fail(cx, NUC_BAD_USAGE, "%s cannot be measured: %s", gate->option, gate->lacking);
    }
}

const char *nuc_missed_gates(struct nuc_context *cx, const struct nuc_evaluation *e,
                             const struct nuc_evaluate_options *o)
{
    struct nuc_text text;
    double value = 0;

    nuc_text_init(&text, cx);
    for (size_t i = 0; i < sizeof gates / sizeof gates[0]; i++) {
        const struct gate *gate = &gates[i];
        double limit = limit_of(gate, o);
        if (isnan(limit))
            continue;
        const struct nuc_output_score *output = worst(gate, e, &value);
        if (output == NULL || value >= limit)
            continue;
        nuc_text_addf(&text, "%s%s of '%s' is %.2f%s, ", text.length != 0 ? "; " : "", gate->what, output->name, value,
                      gate->unit);
        nuc_text_addf(&text, "%.3g below %s %g", limit - value, gate->option, limit);
    }
    return text.length != 0 ? nuc_text_string(&text) : NULL;
}
