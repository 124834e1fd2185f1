/* Programs with states: how good the steps of their sequences are, and labels of sequences. */
#include <string.h>

#include "archive/json_build.h"
#include "host/numbers.h"
#include "tools/evaluate/scored_output.h"

/* ---- labels ---- */

bool nuc_label_steps(const struct nuc_scoring *s, struct nuc_array_info *a)
{
    const struct nuc_dataset *d = s->data;
    int64_t n_sequences = (int64_t)d->n_sequences, n_steps = (int64_t)d->n_steps;

    if (!d->has_states || a->rank == 0 || n_sequences == (int64_t)s->result->n_samples)
        return false;
    if (n_steps > 0 && a->rank > 1 && a->sizes[0] == n_sequences && a->sizes[1] == n_steps) {
        /* [sequences, steps] + shape as [samples] + shape. */
        a->sizes[0] *= a->sizes[1];
        a->rank--;
        memmove(&a->sizes[1], &a->sizes[2], (a->rank - 1) * sizeof a->sizes[0]);
        return false;
    }
    if (n_steps > 0 && n_steps != n_sequences && a->sizes[0] == n_steps && (a->rank == 1 || a->sizes[1] == n_sequences))
        nuc_fail(s->cx, NUC_BAD_INPUT,
                 "%s: array '%s' has shape %s, and '%s' is taken for %s: give sequences along axis 0 and their steps "
                 "along axis 1",
                 d->path, a->name, nuc_sizes_text(s->cx, a->sizes, a->rank), d->bound[0]->name,
                 nuc_samples_text(s->cx, d->n_samples, d->n_steps));
    if (a->sizes[0] != n_sequences)
        return false;
    /* [sequences] + shape as [samples] + shape: each step has the label of its sequence. */
    size_t row = a->bytes / s->data->n_sequences, n = s->result->n_samples, sequence = 0;
    char *labels = nuc_alloc_array(s->cx, n, row);
    for (size_t k = 0; k < n; k++) {
        sequence += k > 0 && nuc_dataset_begins(s->data, k);
        memcpy(labels + k * row, (const char *)a->data + sequence * row, row);
    }
    a->sizes[0] = (int64_t)n;
    a->data = labels;
    a->bytes = n * row;
    return true;
}

/* ---- scores ---- */

void nuc_open_sequences(struct nuc_scoring *s)
{
    size_t n = 0, most = 0, steps = 0;

    s->result->n_sequences = s->data->n_sequences;
    for (size_t k = 0; k < s->data->n_samples && s->data->has_states; k++) {
        steps = nuc_dataset_begins(s->data, k) ? 1 : steps + 1;
        most = steps > most ? steps : most;
    }
    if (s->reference == NULL || most == 0)
        return;
    struct nuc_step_score *scores = nuc_alloc_array(s->cx, 64, sizeof *scores);
    for (size_t first = 1; first <= most; first *= 2) {
        size_t last = 2 * first - 1;
        scores[n++] = (struct nuc_step_score){.first = first, .last = last < most ? last : most};
    }
    s->steps = scores;
    s->result->steps = scores;
    s->result->n_steps = n;
}

static void add(const struct nuc_scoring *s, struct nuc_step_score *score)
{
    for (size_t i = 0; i < s->result->n_outputs; i++) {
        const struct nuc_scored_output *o = &s->outputs[i];
        struct nuc_sqnr sum = {score->signal, score->noise};
        if (o->program_type != NUC_F32 || o->reference_type != NUC_F32)
            continue;
        nuc_sqnr_add(&sum, s->reference_blocks[i], s->program_blocks[i], o->n_elements);
        score->signal = sum.signal;
        score->noise = sum.noise;
    }
}

void nuc_count_step(struct nuc_scoring *s, size_t sample)
{
    size_t span = 0;

    if (s->result->n_sequences == 0)
        return;
    s->step = nuc_dataset_begins(s->data, sample) ? 1 : s->step + 1;
    while (span < s->result->n_steps && s->steps[span].last < s->step)
        span++;
    if (span < s->result->n_steps)
        add(s, &s->steps[span]);
    if (!nuc_dataset_ends(s->data, sample))
        return;
    if (s->reference != NULL)
        add(s, &s->result->last_step);
    for (size_t i = 0; i < s->result->n_outputs; i++) {
        const struct nuc_scored_output *o = &s->outputs[i];
        if (o->program_decisions == NULL)
            continue;
        struct nuc_last_decisions *last = &o->score->last_step;
        size_t n = nuc_decisions(&o->scores);
        for (size_t k = 0; k < n; k++) {
            int64_t p = o->program_decisions[k], r = s->reference != NULL ? o->reference_decisions[k] : NUC_UNDECIDED;
            int64_t label = o->labels != NULL ? o->labels[sample * n + k] : s->options->ignore_label;
            last->n_decisions++;
            last->n_agree += p == r && p != NUC_UNDECIDED;
            if (o->labels == NULL || label == s->options->ignore_label)
                continue;
            last->n_labelled++;
            last->n_program_right += p == label;
            last->n_reference_right += r == label;
        }
    }
}

/* ---- JSON ---- */

static void put_sqnr(struct nuc_context *cx, json_t *to, const struct nuc_step_score *s)
{
    nuc_put_double(cx, to, "sqnr_db", nuc_sqnr_db(&(struct nuc_sqnr){s->signal, s->noise}));
}

void nuc_put_sequences(struct nuc_context *cx, json_t *to, const struct nuc_evaluation *e)
{
    json_t *o = nuc_put_object(cx, to, "sequences"), *list = nuc_put_array(cx, o, "steps");

    nuc_put_count(cx, o, "count", e->n_sequences);
    for (size_t i = 0; i < e->n_steps; i++) {
        json_t *span = nuc_put_object(cx, list, NULL);
        nuc_put_count(cx, span, "first", e->steps[i].first);
        nuc_put_count(cx, span, "last", e->steps[i].last);
        put_sqnr(cx, span, &e->steps[i]);
    }
    if (e->n_steps > 0)
        put_sqnr(cx, nuc_put_object(cx, o, "last_step"), &e->last_step);
}

void nuc_put_last_decisions(struct nuc_context *cx, json_t *to, const struct nuc_evaluation *e,
                            const struct nuc_output_score *score)
{
    const struct nuc_last_decisions *last = &score->last_step;
    json_t *o = nuc_put_object(cx, to, "last_step");

    nuc_put_count(cx, o, "decisions", last->n_decisions);
    if (e->has_reference)
        nuc_put_count(cx, o, "agree", last->n_agree);
    if (score->labels == NULL)
        return;
    nuc_put_count(cx, o, "labelled", last->n_labelled);
    nuc_put_count(cx, o, "program_right", last->n_program_right);
    if (e->has_reference)
        nuc_put_count(cx, o, "reference_right", last->n_reference_right);
}
