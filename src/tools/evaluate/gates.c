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

/* Of decisions against their labels: precision of boxes, events noticed, right answers about anomalies. */
static bool decision_accuracy_of(const struct nuc_evaluation *e, double *out)
{
    const struct nuc_decision_score *d = &e->program_decisions;
    const char kind = e->decision != NULL ? e->decision[0] : 'k';
    const size_t right = kind == 'a' ? d->n_found + d->n_normal - d->n_false : d->n_found;
    const size_t all = kind == 'a' ? d->n_labelled + d->n_normal : d->n_labelled;

    *out = kind == 'b' ? 100 * d->map50 : all == 0 ? 0 : 100.0 * (double)right / (double)all;
    return kind != 'k';
}

/* Events that are none, an hour where the time of a step is known; samples that are no anomaly, in percent. */
static bool false_alarms_of(const struct nuc_evaluation *e, double *out)
{
    const struct nuc_decision_score *d = &e->program_decisions;
    const char kind = e->decision != NULL ? e->decision[0] : 'k';

    *out = kind == 'c'        ? isnan(d->false_per_hour) ? (double)d->n_false : d->false_per_hour
           : d->n_normal == 0 ? 0
                              : 100.0 * (double)d->n_false / (double)d->n_normal;
    return kind == 'c' || kind == 'a';
}

static const struct gate {
    const char *option, *what, *unit;
    size_t offset;                                                     /* of the limit in struct nuc_evaluate_options */
    bool (*of)(const struct nuc_output_score *o, double *out);         /* NULL: of decisions alone */
    bool (*of_decisions)(const struct nuc_evaluation *e, double *out); /* NULL: of outputs alone */
    bool needs_reference;
    const char *lacking; /* the remedy when no output has the measure */
} gates[] = {
    {"--min-accuracy", "accuracy", " %", offsetof(struct nuc_evaluate_options, min_accuracy), accuracy_of,
     decision_accuracy_of, false,
     "it takes class labels: an integer array 'label' in the data set, or a folder of images with a subfolder per "
     "class"},
    {"--min-agreement", "agreement", " %", offsetof(struct nuc_evaluate_options, min_agreement), agreement_of, NULL,
     true,
     "no output is known to be a classifier's: --task classify says that it is, --class-axis N where its classes are"},
    {"--min-sqnr", "SQNR", " dB", offsetof(struct nuc_evaluate_options, min_sqnr), sqnr_of, NULL, true,
     "all outputs are integers: --min-agreement counts equal elements"},
    {"--max-false-alarms", "false alarms", "", offsetof(struct nuc_evaluate_options, max_false_alarms), NULL,
     false_alarms_of, false,
     "it takes a decision about events or anomalies, and its labels: an array 'label_events' or 'label_anomaly'"},
};

static double limit_of(const struct gate *gate, const struct nuc_evaluate_options *o)
{
    return *(const double *)((const char *)o + gate->offset);
}

/* What has the least of the measure, "of 'output'" or "of the decisions"; NULL: nothing has it. */
static const char *worst(struct nuc_context *cx, const struct gate *gate, const struct nuc_evaluation *e, double *value)
{
    const char *found = NULL;
    double v;

    for (size_t i = 0; i < e->n_outputs && gate->of != NULL; i++) {
        if (!gate->of(&e->outputs[i], &v) || (found != NULL && v >= *value))
            continue;
        *value = v;
        found = nuc_format(cx, "'%s'", e->outputs[i].name);
    }
    if (gate->of_decisions == NULL || !gate->of_decisions(e, &v) || (found != NULL && v >= *value))
        return found;
    *value = v;
    return "the decisions";
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
        if (worst(cx, gate, e, &value) == NULL)
            nuc_fail(cx, NUC_BAD_USAGE, "%s cannot be measured: %s", gate->option, gate->lacking);
    }
}

const char *nuc_missed_gates(struct nuc_context *cx, const struct nuc_evaluation *e,
                             const struct nuc_evaluate_options *o)
{
    struct nuc_text text = {.cx = cx};
    double value = 0;

    for (size_t i = 0; i < sizeof gates / sizeof gates[0]; i++) {
        const struct gate *gate = &gates[i];
        double limit = limit_of(gate, o);
        if (isnan(limit))
            continue;
        const char *of = worst(cx, gate, e, &value);
        const bool is_most = gate->of == NULL;
        if (of == NULL || (is_most ? value <= limit : value >= limit))
            continue;
        nuc_text_addf(&text, "%s%s of %s is %.2f%s, ", text.length != 0 ? "; " : "", gate->what, of, value, gate->unit);
        nuc_text_addf(&text, "%.3g %s %s %g", is_most ? value - limit : limit - value, is_most ? "above" : "below",
                      gate->option, limit);
    }
    return text.length != 0 ? nuc_text_string(&text) : NULL;
}
