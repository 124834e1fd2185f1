/* What was tried, and which of it is said of which operators. */
#include "explain/explain.h"

#include <math.h>
#include <string.h>

/* dB that a change may lose, and from which on more are as good. */
static const double most_lost = 6, good_enough = 36;

bool nuc_is_at(const struct nuc_change_place *place, const struct nuc_explain_row *row)
{
    const struct nuc_source *a = place->source, *b = row->node->source;

    return a == b || (a->call != NULL && b->call != NULL && strcmp(a->call, b->call) == 0);
}

bool nuc_is_about(const struct nuc_explain_trial *trial, const struct nuc_explain_row *row)
{
    uint32_t i = 0;

    while (i < trial->n_places && !nuc_is_at(&trial->places[i], row))
        i++;
    return i < trial->n_places;
}

bool nuc_ruins(const struct nuc_explanation *e, const struct nuc_explain_trial *trial)
{
    return trial->sqnr_db < fmin(e->sqnr_db, good_enough) - most_lost;
}

/* Of the changes that help, the one that changes least: rows of changes.def stand in that order. */
static uint32_t least_change(const struct nuc_explanation *e, const bool *is_about)
{
    uint64_t most = 0;
    uint32_t best = NUC_NO_TRIAL;

    for (uint32_t i = 0; i < e->n_trials; i++)
        most = is_about[i] && e->trials[i].saved_cycles > most ? e->trials[i].saved_cycles : most;
    for (uint32_t i = 0; i < e->n_trials && most > 0; i++) {
        const struct nuc_explain_trial *t = &e->trials[i];
        if (is_about[i] && t->saved_cycles >= most - most / 10 &&
            (best == NUC_NO_TRIAL || t->change < e->trials[best].change))
            best = i;
    }
    return best;
}

/* The trial of the option that a rule comes from, where it helps. */
static uint32_t option_of(const struct nuc_explanation *e, const char *rule)
{
    for (uint32_t i = 0; i < e->n_trials; i++) {
        const struct nuc_explain_trial *t = &e->trials[i];
        if (t->is_shown && t->change == NULL && t->about == rule)
            return i;
    }
    return NUC_NO_TRIAL;
}

void nuc_settle_trials(struct nuc_explanation *e)
{
    const size_t n = e->n_trials;
    bool *is_about = nuc_alloc_array(e->cx, ((size_t)e->n_causes + 1) * (n + 1), sizeof *is_about);

    for (uint32_t i = 0; i < n; i++) {
        if (nuc_ruins(e, &e->trials[i]))
            e->trials[i].saved_cycles = 0;
    }
    for (uint32_t i = 1; i < e->n_trials; i++) {
        struct nuc_explain_trial moved = e->trials[i];
        uint32_t k = i;
        for (; k > 0 && e->trials[k - 1].saved_cycles < moved.saved_cycles; k--)
            e->trials[k] = e->trials[k - 1];
        e->trials[k] = moved;
    }
    for (uint32_t i = 0; i < n; i++)
        e->trials[i].is_shown = e->trials[i].change == NULL && e->trials[i].saved_cycles > 0;
    for (uint32_t k = 0; k < e->n_rows; k++) {
        const struct nuc_explain_row *row = &e->rows[k];
        for (uint32_t i = 0; row->cause != NUC_NO_CAUSE && i < n; i++)
            is_about[row->cause * n + i] |= nuc_is_about(&e->trials[i], row);
    }
    for (uint32_t c = 0; c < e->n_causes; c++) {
        const char *rule = e->rows[e->causes[c].root].decision->rule;
        e->causes[c].trial = rule == nuc_not_named_rule ? option_of(e, rule) : least_change(e, &is_about[c * n]);
        if (e->causes[c].trial != NUC_NO_TRIAL)
            e->trials[e->causes[c].trial].is_shown = true;
    }
}
