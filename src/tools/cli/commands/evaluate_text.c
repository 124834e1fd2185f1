/* An evaluation as text of 80 columns. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/cli/commands/commands.h"

/* ---- numbers ---- */

/* Without a minus before what prints as zero. */
static double no_minus_zero(double v)
{
    return fabs(v) < 0.005 ? 0 : v;
}

void cli_decibel_text(double db, char *text, size_t size)
{
    if (isinf(db))
        snprintf(text, size, "%s", db > 0 ? "equal" : "none");
    else
        snprintf(text, size, "%.2f", no_minus_zero(db));
}

static double percent(size_t part, size_t whole)
{
    return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

static void print_share(const char *what, size_t part, size_t whole)
{
    cli_printf("%-22s %7.2f %%  (%zu of %zu)\n", what, percent(part, whole), part, whole);
}

static double per_second(size_t n, double seconds)
{
    return seconds > 0 ? (double)n / seconds : 0;
}

/* ---- outputs ---- */

static void print_outputs(const struct nuc_evaluation *e)
{
    if (!e->has_reference)
        return;
    cli_printf("\n%-22s %-18s %9s %11s %11s\n", "output", "shape", "SQNR dB", "MSE", "max error");
    for (size_t i = 0; i < e->n_outputs; i++) {
        const struct nuc_output_score *o = &e->outputs[i];
        const struct nuc_deviation *d = &o->deviation;
        char shape[64], db[32];
        size_t n = (size_t)snprintf(shape, sizeof shape, "[");
        for (size_t k = 0; k < o->info.rank && n < sizeof shape; k++)
            n += (size_t)snprintf(shape + n, sizeof shape - n, "%s%lld", k == 0 ? "" : ", ",
                                  (long long)o->info.sizes[k]);
        if (n < sizeof shape)
            snprintf(shape + n, sizeof shape - n, "]");
        cli_printf("%-22.22s %-18.18s", o->name, shape);
        if (o->is_integer) {
            cli_printf(" %7.2f %%  of %zu elements equal\n", percent(d->n_equal, d->n_elements), d->n_elements);
            continue;
        }
        cli_decibel_text(d->sqnr_db, db, sizeof db);
        cli_printf(" %9s %11.4g %11.4g\n", db, d->mse, d->max_error);
    }
}

/* ---- tasks ---- */

static void print_top(const char *whose, const struct nuc_label_score *a)
{
    char what[64];

    snprintf(what, sizeof what, "%s top %zu", whose, a->top);
    print_share(what, a->n_top, a->n);
}

static void print_mean_iou(const char *what, const struct nuc_label_score *a)
{
    cli_printf("%-22s %7.2f %%  (%zu classes occur)\n", what, 100 * a->mean_iou, a->n_present);
}

static void print_accuracy(const struct nuc_evaluation *e, const struct nuc_output_score *o)
{
    const struct nuc_label_score *p = &o->program_accuracy, *r = &o->reference_accuracy;

    if (e->has_reference)
        print_share("reference accuracy", r->n_right, r->n);
    print_share("program accuracy", p->n_right, p->n);
    if (e->has_reference) {
        double points = percent(p->n_right, p->n) - percent(r->n_right, r->n);
        cli_printf("%-22s %+7.2f points\n", "difference", no_minus_zero(points) + 0.0);
    }
    if (p->top != 0 && e->has_reference)
        print_top("reference", r);
    if (p->top != 0)
        print_top("program", p);
    if (o->task != NUC_TASK_SEGMENT)
        return;
    if (e->has_reference)
        print_mean_iou("reference mean IoU", r);
    print_mean_iou("program mean IoU", p);
}

static void print_classes(const struct nuc_evaluation *e, const struct nuc_output_score *o, bool confusion)
{
    const char *what = o->task == NUC_TASK_SEGMENT ? "pixels" : "decisions";

    if (o->is_index)
        cli_printf("\n'%.32s': class indices (%s)\n", o->name, o->because);
    else if (o->info.sizes[o->class_axis] == (int64_t)o->n_classes)
        cli_printf("\n'%.32s': %zu classes along axis %zu (%s)\n", o->name, o->n_classes, o->class_axis, o->because);
    else
        cli_printf("\n'%.32s': %zu classes of one score (%s)\n", o->name, o->n_classes, o->because);
    if (o->is_guess)
        cli_printf("  if these are no classes, say so with --task regress\n");
    if (o->labels != NULL)
        print_accuracy(e, o);
    if (e->has_reference)
        print_share("agreement", o->n_agree, o->n_decisions);
    if (e->n_sequences > 1) {
        const struct nuc_last_decisions *last = &o->last_step;
        cli_printf("at the last steps of the %zu sequences:\n", e->n_sequences);
        if (o->labels != NULL && e->has_reference)
            print_share("  reference accuracy", last->n_reference_right, last->n_labelled);
        if (o->labels != NULL)
            print_share("  program accuracy", last->n_program_right, last->n_labelled);
        if (e->has_reference)
            print_share("  agreement", last->n_agree, last->n_decisions);
    }
    if (o->n_undecided != 0)
        cli_printf("%-22s %zu of %zu %s: scores are NaN\n", "undecided", o->n_undecided, o->n_decisions, what);
    if (o->n_ignored != 0)
        cli_printf("%-22s %zu %s\n", "labels left out", o->n_ignored, what);
    if (o->labels != NULL)
        cli_print_confusion(e, o, confusion);
}

static void print_error(const char *what, double reference, double program, bool has_reference)
{
    if (has_reference)
        cli_printf("%-22s %12.5g %12.5g\n", what, reference, program);
    else
        cli_printf("%-22s %12s %12.5g\n", what, "", program);
}

static void print_task(const struct nuc_evaluation *e, const struct nuc_output_score *o, bool confusion)
{
    char db[32];

    if (o->task == NUC_TASK_CLASSIFY || o->task == NUC_TASK_SEGMENT)
        print_classes(e, o, confusion);
    if (o->task != NUC_TASK_REGRESS)
        return;
    cli_printf("\n'%.32s': numbers (%s)\n", o->name, o->because);
    if (e->has_reference) {
        cli_decibel_text(o->deviation.psnr_db, db, sizeof db);
        cli_printf("%-22s %10s dB  between program and reference\n", "PSNR", db);
        cli_printf("%-22s %10.4g\n", "MAE", o->deviation.mae);
    }
    if (o->labels != NULL) {
        const struct nuc_deviation *p = &o->program_error, *r = &o->reference_error;
        char reference[32] = "", program[32];
        cli_printf("\n%-22s %12s %12s\n", "against the labels", e->has_reference ? "reference" : "", "program");
        print_error("MSE", r->mse, p->mse, e->has_reference);
        print_error("MAE", r->mae, p->mae, e->has_reference);
        print_error("max error", r->max_error, p->max_error, e->has_reference);
        if (e->has_reference)
            cli_decibel_text(r->psnr_db, reference, sizeof reference);
        cli_decibel_text(p->psnr_db, program, sizeof program);
        cli_printf("%-22s %12s %12s\n", "PSNR dB", reference, program);
    }
}

static void print_class(int64_t class)
{
    if (class < 0)
        cli_printf(" %10s", "-");
    else
        cli_printf(" %10lld", (long long)class);
}

static void print_disagreements(const struct nuc_evaluation *e)
{
    if (e->n_disagreements == 0)
        return;
    cli_printf("\n%8s %-22s %10s %10s %10s %10s\n", "sample", "output", "place", "label", "reference", "program");
    for (size_t i = 0; i < e->n_disagreements; i++) {
        const struct nuc_disagreement *d = &e->disagreements[i];
        cli_printf("%8zu %-22.22s %10zu", d->sample, e->outputs[d->output].name, d->position);
        print_class(d->label);
        print_class(d->reference);
        print_class(d->program);
        cli_printf("\n");
    }
}

/* Several outputs may be of different units, in which the largest hides the others. */
static void print_total(const struct nuc_evaluation *e)
{
    char db[32];
    const struct nuc_output_score *worst = NULL;
    size_t n_real = 0;

    for (size_t i = 0; i < e->n_outputs; i++) {
        const struct nuc_output_score *o = &e->outputs[i];
        if (o->is_integer)
            continue;
        worst = worst == NULL || o->deviation.sqnr_db < worst->deviation.sqnr_db ? o : worst;
        n_real++;
    }
    if (!e->has_reference || worst == NULL)
        return;
    double total = nuc_total_sqnr(e);
    cli_decibel_text(total, db, sizeof db);
    cli_printf("%-22s %7s%s", "SQNR", db, isinf(total) ? "" : " dB");
    if (n_real > 1 && worst->deviation.sqnr_db < total) {
        cli_decibel_text(worst->deviation.sqnr_db, db, sizeof db);
        cli_printf(" of all %zu, %s%s of '%.20s'", n_real, db, isinf(worst->deviation.sqnr_db) ? "" : " dB",
                   worst->name);
    }
    cli_printf("\n");
}

static void print_step(const struct nuc_step_score *s, const char *what)
{
    char db[32];

    cli_decibel_text(10 * log10(s->signal / s->noise), db, sizeof db);
    cli_printf("  %-20s %7s%s\n", what, db, s->noise > 0 ? " dB" : "");
}

/* Whether errors grow along a sequence. */
static void print_steps(const struct nuc_evaluation *e)
{
    char what[64];

    if (e->n_steps == 0)
        return;
    cli_printf("SQNR by step of %zu sequence%s\n", e->n_sequences, e->n_sequences == 1 ? "" : "s");
    for (size_t i = 0; i < e->n_steps; i++) {
        const struct nuc_step_score *s = &e->steps[i];
        snprintf(what, sizeof what, s->last > s->first ? "%zu to %zu" : "%zu", s->first, s->last);
        print_step(s, what);
    }
    print_step(&e->last_step, "last");
}

/* No output is known to hold classes, and one has the shape of scores. */
static bool could_be_classes(const struct nuc_evaluation *e)
{
    bool any = false;

    for (size_t i = 0; i < e->n_outputs; i++) {
        const struct nuc_output_score *o = &e->outputs[i];
        if (o->task != NUC_TASK_AUTO)
            return false;
        any |= !o->is_integer && o->info.rank == 2 && o->info.sizes[1] > 1;
    }
    return any && e->has_reference;
}

/* Nothing may have been found that it is a mean of. */
static void print_mean(const char *name, double value, int digits, const char *unit)
{
    if (isnan(value))
        cli_printf("  %-20s %7s", name, "-");
    else
        cli_printf("  %-20s %7.*f%s", name, digits, value, unit);
}

static void print_decision(const char *whose, const char *kind, const struct nuc_decision_score *d)
{
    cli_printf("%s\n", whose);
    if (strcmp(kind, "boxes") == 0) {
        cli_printf("  %-20s %7.2f %%\n  %-20s %7.2f %%  (%zu boxes found, %zu labelled)\n", "mAP at 0.5",
                   100 * d->map50, "mAP at 0.5 to 0.95", 100 * d->map, d->n_found, d->n_labelled);
    } else if (strcmp(kind, "keypoints") == 0) {
        print_mean("mean distance", d->distance, 4, "  of the input");
        cli_printf(" (%zu of %zu points)\n", d->n_found, d->n_labelled);
    } else if (strcmp(kind, "anomaly") == 0) {
        print_share("  detected", d->n_found, d->n_labelled);
        print_share("  false alarms", d->n_false, d->n_normal);
        print_mean("AUC", d->auc, 4, "");
        cli_printf("\n");
    } else {
        print_share("  events noticed", d->n_found, d->n_labelled);
        cli_printf("  %-20s %7zu", "false alarms", d->n_false);
        if (!isnan(d->false_per_hour))
            cli_printf("  %.2f an hour", d->false_per_hour);
        cli_printf("\n");
        print_mean("mean delay", d->delay_steps, 2, " steps");
        if (!isnan(d->delay_seconds))
            cli_printf("  %.3f s", d->delay_seconds);
        cli_printf("\n");
    }
}

static void print_decisions(const struct nuc_evaluation *e)
{
    if (e->decision == NULL)
        return;
    cli_printf("\ndecisions: %s\n", e->decision);
    if (e->has_reference)
        print_decision("reference", e->decision, &e->reference_decisions);
    print_decision("program", e->decision, &e->program_decisions);
}

void cli_print_evaluation(const struct nuc_evaluation *e, bool confusion)
{
    bool any = e->has_reference || e->decision != NULL;

    cli_printf("%-22s %7zu in %.2f s\n", "samples", e->n_samples, e->seconds);
    cli_printf("%-22s %7.1f per second on the host, NPU simulated\n", "program",
               per_second(e->n_samples, e->program_seconds));
    if (e->has_reference)
        cli_printf("%-22s %7.1f per second\n", "reference", per_second(e->n_samples, e->reference_seconds));
    print_total(e);
    print_steps(e);
    print_decisions(e);
    print_outputs(e);
    for (size_t i = 0; i < e->n_outputs; i++) {
        /* What is unusual about the numbers of an output. */
        const struct nuc_output_score *o = &e->outputs[i];
        const struct nuc_deviation *d = &o->deviation;
        if (d->n_nan != 0 || d->n_infinite != 0)
            cli_printf("'%.32s': %zu NaN, %zu infinities of %zu elements\n", o->name, d->n_nan, d->n_infinite,
                       d->n_elements);
        if (!e->has_reference || o->is_integer)
            continue;
        if (d->n_of_not_finite != 0)
            cli_printf("'%.32s': not finite in the reference: %zu\n", o->name, d->n_of_not_finite);
        if (d->n_broken != 0)
            cli_printf("'%.32s': not finite in one alone: %zu, so there is no SQNR\n", o->name, d->n_broken);
        if (d->signal == 0 && d->max >= d->min)
            cli_printf("'%.32s': the reference is zero throughout\n", o->name);
        else if (d->max == d->min)
            cli_printf("'%.32s': the reference is %g throughout\n", o->name, d->min);
    }
    for (size_t i = 0; i < e->n_outputs; i++) {
        any |= e->outputs[i].labels != NULL;
        print_task(e, &e->outputs[i], confusion);
    }
    print_disagreements(e);
    if (could_be_classes(e))
        cli_printf("\nno agreement: whether an output is a classifier's, --task classify says\n");
    if (!any)
        cli_printf("nothing to compare with: give --reference MODEL, array 'label' or class folders\n");
}
