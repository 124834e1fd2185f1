/* The explanation as lines for terminals: head and end. The table between them is that of explain_table.c. */
#include <math.h>
#include <string.h>

#include "explain/explain_lines.h"
#include "ir/quant.h"

/* ---- why there are several partitions ---- */

/* Splits for the same reason: the first of them, in graph order, and what joining all of them saves. */
struct reason {
    const struct nuc_explain_split *first;
    uint32_t n_splits;
    uint64_t saved_cycles;
};

static uint32_t find_reasons(struct nuc_context *cx, const struct nuc_explanation *e, bool all, struct reason *out)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < e->n_splits; i++) {
        uint32_t k = all ? count : 0;
        while (k < count && !(out[k].first->cause == NUC_NO_CAUSE || e->splits[i].cause == NUC_NO_CAUSE
                                  ? out[k].first->cause == e->splits[i].cause
                                  : nuc_is_alike(cx, e, out[k].first->cause, e->splits[i].cause)))
            k++;
        if (k == count)
            out[count++] = (struct reason){.first = &e->splits[i]};
        out[k].n_splits++;
        out[k].saved_cycles += e->splits[i].saved_cycles;
    }
    for (uint32_t i = 1; i < count; i++) {
        struct reason moved = out[i];
        uint32_t k = i;
        for (; k > 0 && out[k - 1].saved_cycles < moved.saved_cycles; k--)
            out[k] = out[k - 1];
        out[k] = moved;
    }
    return count;
}

static const char *tags_text(struct nuc_context *cx, const char *const *tags, uint32_t count)
{
    return count == 1 ? tags[0] : nuc_format(cx, "%s and %u more", tags[0], count - 1);
}

/* What quantize and dequantize nodes between two partitions are for. */
static const char *rescaling_text(struct nuc_context *cx, const struct nuc_node *dequantize)
{
    const struct nuc_node *reader = dequantize->n_users > 0 ? dequantize->users[0] : NULL;
    const struct nuc_node *maker = nuc_arg_node(dequantize, NUC_SELF);
    struct nuc_quant from, to;

    while (maker != NULL && !nuc_is_operator(maker) && nuc_is_call(maker))
        maker = nuc_arg_node(maker, NUC_SELF);
    const char *of = maker == NULL ? "a value" : nuc_is_call(maker) ? nuc_place_text(cx, maker) : maker->name;
    if (!nuc_dequantize_quant(dequantize, &from) || !nuc_quantize_quant(reader, &to) || from.per_channel ||
        to.per_channel)
        return nuc_format(cx, "a change of scale after %s", of);
    return nuc_format(cx, "a change of scale after %s: %.4g (zero point %lld) becomes %.4g (zero point %lld)", of,
                      from.scale, (long long)from.zero_point, to.scale, (long long)to.zero_point);
}

static void add_split_cause(struct nuc_text *line, const struct nuc_explanation *e, const struct reason *r)
{
    struct nuc_context *cx = line->cx;

    if (r->first->cause == NUC_NO_CAUSE) {
        nuc_text_addf(line, "%s", rescaling_text(cx, r->first->first));
        return;
    }
    const struct nuc_explain_row *root = &e->rows[e->causes[r->first->cause].root];
    nuc_text_addf(line, "%s", nuc_place_text(cx, root->node));
    if (r->first->n_causes > 1)
        nuc_text_addf(line, " and %u more", r->first->n_causes - 1);
    nuc_text_addf(line, ": %s", nuc_why_text(cx, e, root));
}

static void add_splits(struct nuc_text *out, const struct nuc_explanation *e, bool all)
{
    enum { MOST = 8, INDENT = 4 };
    struct nuc_context *cx = out->cx;
    struct reason *reasons = nuc_alloc_array(cx, (size_t)e->n_splits + 1, sizeof *reasons);
    uint32_t count = find_reasons(cx, e, all, reasons), shown = all || count <= MOST ? count : MOST;

    if (count == 0)
        return;
    nuc_text_addf(out, "\nwhat separates the %u partitions:\n", e->n_partitions);
    for (uint32_t i = 0; i < shown; i++) {
        const struct reason *r = &reasons[i];
        struct nuc_text line = {.cx = cx};
        nuc_text_addf(&line, "%s | %s", tags_text(cx, r->first->before, r->first->n_before),
                      tags_text(cx, r->first->after, r->first->n_after));
        if (r->n_splits > 1)
            nuc_text_addf(&line, ", and %u more like it", r->n_splits - 1);
        nuc_text_addf(&line, ": split by ");
        add_split_cause(&line, e, r);
        if (r->saved_cycles > 0)
            nuc_text_addf(&line, "; the split costs about %s cycles", nuc_with_commas(cx, r->saved_cycles));
        nuc_print_words(out, 0, INDENT, nuc_text_string(&line));
    }
    if (shown < count)
        nuc_text_addf(out, "and %u more (--all shows all)\n", count - shown);
}

/* ---- head and end ---- */

static void add_obstacles(struct nuc_text *out, const struct nuc_explanation *e)
{
    struct nuc_context *cx = out->cx;

    nuc_text_addf(out, "%s:\nis refused for %zu obstacle%s\n", nuc_shortened(cx, e->file, NUC_LINE_WIDTH - 1),
                  e->obstacles->count, e->obstacles->count == 1 ? "" : "s");
    for (const struct nuc_obstacle *o = e->obstacles->first; o != NULL; o = o->next)
        nuc_print_words(out, 0, 4, o->text);
    if (e->n_operators > 0)
        nuc_text_addf(out, "\nthe rest of it, where what these make is an input and what they read an output:\n\n");
}

static void add_head(struct nuc_text *out, const struct nuc_explanation *e)
{
    struct nuc_context *cx = out->cx;
    const char *plural = e->n_operators == 1 ? "" : "s";
    const char *counts = e->target->npu_name == NULL
                             ? nuc_format(cx, "%u operator%s, no NPU", e->n_operators, plural)
                             : nuc_format(cx, "%u of %u operator%s on the NPU in %u partition%s", e->n_delegated,
                                          e->n_operators, plural, e->n_partitions, e->n_partitions == 1 ? "" : "s");

    bool fits = strlen(e->file) + 2 + strlen(counts) <= NUC_LINE_WIDTH;
    nuc_text_addf(out, "%s:%s%s\n", nuc_shortened(cx, e->file, NUC_LINE_WIDTH - 1), fits ? " " : "\n", counts);
    nuc_text_addf(out, "target %s, rules of %s; cycles are estimates (docs/cycle-model.md)\n", e->target->name,
                  e->flavor->name);
    if (e->target->npu_name != NULL && !e->delegates)
        nuc_text_addf(out, "nothing is delegated: leave --no-delegate out to use the NPU\n");
    if (e->made_up_ranges)
        nuc_text_addf(out, "quantized with made-up ranges, of one random sample: rules about shared scales\n"
                           "and clipped ranges may decide otherwise with calibration data\n");
}

static void add_total(struct nuc_text *out, const struct nuc_explanation *e)
{
    struct nuc_context *cx = out->cx;
    uint64_t total = nuc_explained_cycles(e);

    if (e->foreign) {
        nuc_text_addf(out, "\nwhat its kernels take is not known: they are another converter's\n");
        return;
    }
    nuc_text_addf(out, "\nabout %s cycles per inference, %s at %.0f MHz\n", nuc_with_commas(cx, total),
                  nuc_time_text(cx, total, e->target->clock_hz), e->target->clock_hz * 1e-6);
    if (e->plain_arena > 0 && e->n_strips > 0)
        nuc_text_addf(out,
                      "of these %s for %u strips in %u stage%s, which fit the memory budget: an arena\n"
                      "of %s bytes instead of %s\n",
                      nuc_with_commas(cx, e->strip_cycles), e->n_strips, e->n_strip_stages,
                      e->n_strip_stages == 1 ? "" : "s", nuc_with_commas(cx, e->least_arena),
                      nuc_with_commas(cx, e->plain_arena));
    else if (e->plain_arena > 0)
        nuc_text_addf(out, "over the memory budget: an arena of %s bytes, in strips %s at least\n",
                      nuc_with_commas(cx, e->plain_arena), nuc_with_commas(cx, e->least_arena));
    if (e->target->npu_name == NULL)
        return;
    nuc_text_addf(out, "of these the NPU %s, the CPU %s\n", nuc_with_commas(cx, e->npu_cycles),
                  nuc_with_commas(cx, e->cpu_cycles));
    if (e->n_by_cost > 0)
        nuc_text_addf(out, "%u operator%s on the CPU for %s cost: on the NPU the model would take longer\n",
                      e->n_by_cost, e->n_by_cost == 1 ? "" : "s", e->n_by_cost == 1 ? "its" : "their");
}

/* What a change asks for besides, and where. */
static const char *note_of(struct nuc_context *cx, const struct nuc_explanation *e, const struct nuc_explain_trial *t)
{
    const enum nuc_change_effect effect = t->change != NULL ? t->change->effect : NUC_CHANGE_EXACT;
    const char *places = t->n_places > 1 ? nuc_format(cx, ", %u places", t->n_places) : "";

    if (effect == NUC_CHANGE_TRAIN || effect == NUC_CHANGE_MOVED)
        return nuc_format(cx, "  %s%s", effect == NUC_CHANGE_TRAIN ? "train again" : "moved out", places);
    if (t->by_random)
        return nuc_format(cx, "  by random%s", places);
    if (isnan(t->sqnr_db) || isnan(e->sqnr_db))
        return t->n_places > 1 ? nuc_format(cx, "  %s", places + strlen(", ")) : "";
    return nuc_format(cx, "  %.1f dB%s", t->sqnr_db, places);
}

static void add_helps(struct nuc_text *out, const struct nuc_explanation *e)
{
    struct nuc_context *cx = out->cx;
    uint32_t n_shown = 0;

    for (uint32_t i = 0; i < e->n_trials; i++)
        n_shown += e->trials[i].is_shown;
    if (e->n_trials == 0)
        return;
    nuc_text_addf(out, "\n%s of %u change%s tried, each alone%s", n_shown == 0 ? "nothing helps" : "what helps",
                  e->n_trials, e->n_trials == 1 ? "" : "s", e->n_left_out > 0 ? "; more would take too long" : "");
    if (n_shown > 0 && !isnan(e->sqnr_db))
        nuc_text_addf(out, " (now %.1f dB)", e->sqnr_db);
    nuc_text_addf(out, n_shown > 0 ? ":\n" : "\n");
    for (uint32_t i = 0; i < e->n_trials; i++) {
        const struct nuc_explain_trial *t = &e->trials[i];
        if (t->is_shown)
            nuc_text_addf(out, "%-32s%11s cycles %4.0f%%%s\n", nuc_trial_name(cx, t), nuc_with_commas(cx, t->cycles),
                          nuc_trial_percent(t), note_of(cx, e, t));
    }
}

enum { FORM_WIDTH = 44 };

/* Of forms with the same words, other norms of the network, one is shown: the chosen one or the most accurate. */
static bool is_shown_form(const struct nuc_alternatives *w, uint32_t i, uint64_t most)
{
    const struct nuc_alternative *a = &w->list[i];

    if (i == 0 || a->is_chosen)
        return true;
    for (uint32_t k = 1; k < w->count; k++) {
        const struct nuc_alternative *other = &w->list[k];
        bool is_better = other->is_chosen || other->sqnr_db > a->sqnr_db || (other->sqnr_db >= a->sqnr_db && k < i);
        if (k != i && is_better && strcmp(other->form, a->form) == 0)
            return false;
    }
    return a->cycles < most;
}

/*
 * Of what the compilation measured before it chose: the first form, the chosen one, and those that take fewer cycles.
 * One form alone is no choice.
 */
static void add_alternatives(struct nuc_text *out, const struct nuc_explanation *e)
{
    const struct nuc_alternatives *w = e->weighed;
    struct nuc_context *cx = out->cx;
    uint64_t most = 0;
    uint32_t n_shown = 0;

    for (uint32_t i = 0; w != NULL && i < w->count; i++)
        most = w->list[i].is_chosen ? w->list[i].cycles : most;
    for (uint32_t i = 0; w != NULL && i < w->count; i++)
        n_shown += is_shown_form(w, i, most);
    if (n_shown < 2)
        return;
    nuc_text_addf(out, "\nforms that were measured before one was chosen:\n");
    for (uint32_t i = 0; i < w->count; i++) {
        const struct nuc_alternative *a = &w->list[i];
        if (!is_shown_form(w, i, most))
            continue;
        /* Between words, where it is too long for one line; figures follow behind the last one. */
        const char *form = a->form;
        int indent = 0;
        while (strlen(form) > (size_t)(FORM_WIDTH - indent)) {
            int cut = FORM_WIDTH - indent;
            while (cut > 0 && form[cut] != ' ')
                cut--;
            if (cut == 0)
                break;
            nuc_text_addf(out, "%*s%.*s\n", indent, "", cut, form);
            form += cut + 1;
            indent = 2;
        }
        nuc_text_addf(out, "%*s%-*s", indent, "", FORM_WIDTH - indent, form);
        nuc_text_addf(out, "%12s cycles %5.1f dB%s\n", nuc_with_commas(cx, a->cycles), a->sqnr_db,
                      a->is_chosen ? "  chosen" : "");
    }
}

static void add_choices(struct nuc_text *out, const struct nuc_explanation *e)
{
    struct nuc_context *cx = out->cx;

    if (e->target->cpu != NULL && e->n_delegated < e->n_operators) {
        /* Operators on the CPU by the width of their kernels. */
        nuc_text_addf(out, "on the CPU %u in int8", e->n_on_cpu[NUC_NUMBERS_INT8]);
        if (e->n_on_cpu[NUC_NUMBERS_INT16] > 0)
            nuc_text_addf(out, ", %u in int16", e->n_on_cpu[NUC_NUMBERS_INT16]);
        if (e->n_on_cpu[NUC_NUMBERS_INTEGERS] > 0)
            nuc_text_addf(out, ", %u in integers", e->n_on_cpu[NUC_NUMBERS_INTEGERS]);
        nuc_text_addf(out, " and %u in float\n", e->n_on_cpu[NUC_NUMBERS_FLOAT]);
    }
    if (e->greedy_cycles > 0 && e->cost_cycles > 0 && e->greedy_cycles != e->cost_cycles)
        nuc_text_addf(out, "with --placement greedy about %s cycles, with cost %s\n",
                      nuc_with_commas(cx, e->greedy_cycles), nuc_with_commas(cx, e->cost_cycles));
    add_alternatives(out, e);
    add_helps(out, e);
}

/* What a hop takes beside the whole window, and when its results come. */
static void add_stream(struct nuc_text *out, const struct nuc_explanation *e)
{
    const struct nuc_stream_report *s = e->stream;
    struct nuc_context *cx = e->cx;

    if (s == NULL)
        return;
    nuc_text_addf(out, "a hop of %lld frame%s of a window of %lld: %s of %s multiply-accumulates", (long long)s->hop,
                  s->hop == 1 ? "" : "s", (long long)s->window, nuc_with_commas(cx, (uint64_t)s->macs),
                  nuc_with_commas(cx, (uint64_t)s->window_macs));
    if (e->window_cycles > 0 && !e->foreign)
        nuc_text_addf(out, ", %s of %s cycles", nuc_with_commas(cx, nuc_explained_cycles(e)),
                      nuc_with_commas(cx, e->window_cycles));
    nuc_text_addf(out, "\nresults come %lld frame%s late; earlier frames take %s bytes\n", (long long)s->latency,
                  s->latency == 1 ? "" : "s", nuc_with_commas(cx, s->ring_bytes));
    if (s->window_from != NULL)
        nuc_text_addf(out, "from %s on the latest window is computed anew\n", s->window_from);
}

const char *nuc_explain_text(struct nuc_context *cx, const struct nuc_explanation *e, bool all)
{
    struct nuc_text out = {.cx = cx};

    if (e->obstacles != NULL)
        add_obstacles(&out, e);
    if (e->obstacles != NULL && e->n_operators == 0)
        return nuc_text_string(&out);
    add_head(&out, e);
    add_total(&out, e);
    add_stream(&out, e);
    for (uint32_t i = 0; i < e->n_states; i++)
        nuc_text_addf(&out, "state %s: %s bytes, kept from run to run\n", nuc_shortened(cx, e->states[i].name, 40),
                      nuc_with_commas(cx, e->states[i].bytes));
    add_choices(&out, e);
    nuc_print_explain_table(&out, e, all);
    add_splits(&out, e, all);
    return nuc_text_string(&out);
}
