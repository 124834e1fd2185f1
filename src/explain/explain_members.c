#include "explain/explain_members.h"

#include <math.h>

#include "archive/json_build.h"
#include "explain/explain_lines.h"

uint64_t nuc_explained_cycles(const struct nuc_explanation *e)
{
    return e->npu_cycles + e->cpu_cycles;
}

bool nuc_goes_with_int8_io(enum nuc_boundary_kind kind, const struct nuc_node *node)
{
    bool is_output = false;

    if (node == NULL || (kind != NUC_BOUNDARY_QUANTIZE && kind != NUC_BOUNDARY_DEQUANTIZE))
        return false;
    if (kind == NUC_BOUNDARY_QUANTIZE) {
        const struct nuc_node *value = nuc_is_quantize(node) ? nuc_arg_node(node, NUC_SELF) : node;
        return value != NULL && nuc_is_placeholder(value) && !nuc_is_static(value);
    }
    for (uint32_t i = 0; i < node->n_users; i++)
        is_output = is_output || node->users[i]->op == NUC_OP_OUTPUT;
    return is_output;
}

static const char *const effects[] = {[NUC_CHANGE_EXACT] = "exact",
                                      [NUC_CHANGE_CLOSE] = "close",
                                      [NUC_CHANGE_TRAIN] = "train",
                                      [NUC_CHANGE_MOVED] = "moved"};

static void put_trial(struct nuc_context *cx, json_t *to, const struct nuc_explain_trial *t)
{
    nuc_put_text(cx, to, "option", t->options);
    nuc_put_text(cx, to, "without", t->without);
    nuc_put_count(cx, to, "cycles", t->cycles);
    nuc_put_count(cx, to, "saved_cycles", t->saved_cycles);
    nuc_put_bool(cx, to, "by_random", t->by_random);
    nuc_put_measure(cx, to, "sqnr_db", t->sqnr_db);
}

static void put_place(struct nuc_context *cx, json_t *to, const struct nuc_change_place *p)
{
    nuc_put_text(cx, to, "node", p->label);
    nuc_put_text(cx, to, "from", p->from);
    nuc_put_text(cx, to, "to", p->to);
    nuc_put_text(cx, to, "file", p->source->file);
    nuc_put_count(cx, to, "line", p->source->line > 0 ? (uint64_t)p->source->line : 0);
}

/* The source change of a trial, to which places are added; NULL: it is an option. */
static json_t *put_rewrite(struct nuc_context *cx, json_t *to, const struct nuc_explain_trial *t)
{
    if (t->change == NULL) {
        nuc_put_null(cx, to, "rewrite");
        return NULL;
    }
    json_t *rewrite = nuc_put_object(cx, to, "rewrite");
    nuc_put_text(cx, rewrite, "name", t->change->name);
    nuc_put_text(cx, rewrite, "effect", effects[t->change->effect]);
    return rewrite;
}

static void put_fix(struct nuc_context *cx, json_t *to, const struct nuc_explanation *e,
                    const struct nuc_explain_row *row)
{
    const uint32_t trial = row->cause != NUC_NO_CAUSE ? e->causes[row->cause].trial : NUC_NO_TRIAL;

    if (trial == NUC_NO_TRIAL) {
        nuc_put_null(cx, to, "fix");
        return;
    }
    const struct nuc_explain_trial *t = &e->trials[trial];
    json_t *fix = nuc_put_object(cx, to, "fix");
    nuc_put_text(cx, fix, "text", nuc_fix_text(cx, e, trial, row));
    put_trial(cx, fix, t);
    json_t *rewrite = put_rewrite(cx, fix, t);
    if (rewrite != NULL)
        put_place(cx, rewrite, nuc_change_place_of(t, row));
}

void nuc_put_decision(struct nuc_context *cx, json_t *to, const struct nuc_explanation *e,
                      const struct nuc_explain_row *row, const char *actual)
{
    const struct nuc_decision *d = row != NULL && row->partition == NULL ? row->decision : NULL;

    nuc_put_text(cx, to, "rule", d != NULL ? d->rule : NULL);
    nuc_put_text(cx, to, "actual", d != NULL ? actual : NULL);
    nuc_put_text(cx, to, "limit", d != NULL ? d->limit : NULL);
    if (d != NULL && row->is_operator) {
        nuc_put_text(cx, to, "reason", nuc_reason_text(cx, e, row));
        put_fix(cx, to, e, row);
        return;
    }
    nuc_put_null(cx, to, "reason");
    nuc_put_null(cx, to, "fix");
}

void nuc_put_split_tags(struct nuc_context *cx, json_t *to, const struct nuc_explain_split *s)
{
    nuc_put_texts(cx, to, "before", s->before, s->n_before);
    nuc_put_texts(cx, to, "after", s->after, s->n_after);
}

void nuc_put_cycles(struct nuc_context *cx, json_t *to, const struct nuc_explanation *e, uint64_t cycles, bool known)
{
    const uint64_t all = nuc_explained_cycles(e);

    nuc_put_known_count(cx, to, "cycles", known, cycles);
    nuc_put_measure(cx, to, "share", known && !e->foreign && all > 0 ? (double)cycles / (double)all : (double)NAN);
}

static void put_boundary(struct nuc_context *cx, json_t *list, const struct nuc_explanation *e,
                         enum nuc_boundary_kind kind, const char *partition, const struct nuc_node *value,
                         uint32_t count, uint64_t cycles)
{
    static const char *const kinds[] = {[NUC_BOUNDARY_CALL] = "call",
                                        [NUC_BOUNDARY_FORMAT] = "format",
                                        [NUC_BOUNDARY_QUANTIZE] = "quantize",
                                        [NUC_BOUNDARY_DEQUANTIZE] = "dequantize",
                                        [NUC_BOUNDARY_COPY] = "copy"};
    json_t *o = nuc_put_object(cx, list, NULL);

    nuc_put_text(cx, o, "kind", kinds[kind]);
    nuc_put_text(cx, o, "partition", partition);
    nuc_put_text(cx, o, "node", value != NULL ? value->name : NULL);
    nuc_put_text(cx, o, "option", partition == NULL && nuc_goes_with_int8_io(kind, value) ? "--io int8" : NULL);
    nuc_put_count(cx, o, "count", count);
    nuc_put_cycles(cx, o, e, cycles, true);
}

void nuc_put_boundaries(struct nuc_context *cx, json_t *to, const struct nuc_explanation *e, bool nodes)
{
    json_t *list = nuc_put_array(cx, to, "boundaries");

    for (uint32_t i = 0; i < e->n_boundaries; i++) {
        const struct nuc_explain_boundary *b = &e->boundaries[i];
        const char *tag = b->partition < e->n_partitions ? e->tags[b->partition] : NULL;
        put_boundary(cx, list, e, b->kind, tag, b->value, b->count, b->cycles);
    }
    for (uint32_t i = 0; nodes && i < e->n_rows; i++) {
        const struct nuc_explain_row *row = &e->rows[i];
        if (!row->is_operator && row->cycles > 0)
            put_boundary(cx, list, e, nuc_is_quantize(row->node) ? NUC_BOUNDARY_QUANTIZE : NUC_BOUNDARY_DEQUANTIZE,
                         row->partition, row->node, 1, row->cycles);
    }
}

void nuc_put_fixes(struct nuc_context *cx, json_t *to, const struct nuc_explanation *e)
{
    json_t *list = nuc_put_array(cx, to, "fixes");

    for (uint32_t i = 0; i < e->n_trials; i++) {
        const struct nuc_explain_trial *t = &e->trials[i];
        if (!t->is_shown)
            continue;
        json_t *o = nuc_put_object(cx, list, NULL);
        put_trial(cx, o, t);
        nuc_put_count(cx, o, "on_cpu", t->n_on_cpu);
        nuc_put_count(cx, o, "partitions", t->n_partitions);
        json_t *rewrite = put_rewrite(cx, o, t);
        json_t *places = rewrite != NULL ? nuc_put_array(cx, rewrite, "places") : NULL;
        for (uint32_t k = 0; places != NULL && k < t->n_places; k++)
            put_place(cx, nuc_put_object(cx, places, NULL), &t->places[k]);
    }
    json_t *trials = nuc_put_object(cx, to, "trials");
    nuc_put_count(cx, trials, "tried", e->n_trials);
    nuc_put_count(cx, trials, "left_out", e->n_left_out);
    nuc_put_measure(cx, trials, "sqnr_db", e->sqnr_db);
}

void nuc_put_stream(struct nuc_context *cx, json_t *to, const struct nuc_stream_report *s)
{
    if (s == NULL) {
        nuc_put_null(cx, to, "stream");
        return;
    }
    json_t *o = nuc_put_object(cx, to, "stream");
    nuc_put_count(cx, o, "hop", (uint64_t)s->hop);
    nuc_put_count(cx, o, "window", (uint64_t)s->window);
    nuc_put_count(cx, o, "latency", (uint64_t)s->latency);
    nuc_put_count(cx, o, "ring_bytes", s->ring_bytes);
    nuc_put_count(cx, o, "macs", (uint64_t)s->macs);
    nuc_put_count(cx, o, "window_macs", (uint64_t)s->window_macs);
    nuc_put_text(cx, o, "window_from", s->window_from);
    nuc_put_count(cx, o, "overhang", (uint64_t)s->overhang);
    nuc_put_bool(cx, o, "looks_back", s->looks_back);
}

void nuc_put_alternatives(struct nuc_context *cx, json_t *to, const struct nuc_explanation *e)
{
    json_t *list = nuc_put_array(cx, to, "alternatives");

    for (uint32_t i = 0; e->weighed != NULL && i < e->weighed->count; i++) {
        const struct nuc_alternative *a = &e->weighed->list[i];
        json_t *o = nuc_put_object(cx, list, NULL);
        nuc_put_text(cx, o, "form", a->form);
        nuc_put_count(cx, o, "cycles", a->cycles);
        nuc_put_measure(cx, o, "sqnr_db", a->sqnr_db);
        nuc_put_bool(cx, o, "chosen", a->is_chosen);
    }
}

void nuc_put_states(struct nuc_context *cx, json_t *to, const struct nuc_explanation *e)
{
    json_t *list = nuc_put_array(cx, to, "states");

    for (uint32_t i = 0; i < e->n_states; i++) {
        json_t *o = nuc_put_object(cx, list, NULL);
        nuc_put_text(cx, o, "name", e->states[i].name);
        nuc_put_count(cx, o, "bytes", e->states[i].bytes);
    }
}

void nuc_put_obstacles(struct nuc_context *cx, json_t *to, const struct nuc_obstacles *all)
{
    json_t *list = nuc_put_array(cx, to, "obstacles");

    for (const struct nuc_obstacle *o = all != NULL ? all->first : NULL; o != NULL; o = o->next) {
        json_t *item = nuc_put_object(cx, list, NULL);
        nuc_put_text(cx, item, "node", o->node);
        nuc_put_text(cx, item, "operator", o->op);
        nuc_put_text(cx, item, "file", o->file);
        nuc_put_count(cx, item, "line", o->line > 0 ? (uint64_t)o->line : 0);
        nuc_put_text(cx, item, "module", o->module);
        nuc_put_text(cx, item, "text", o->text);
    }
}

void nuc_put_banks(struct nuc_context *cx, json_t *to, const struct nuc_program_report *r)
{
    json_t *list = nuc_put_array(cx, to, "banks");

    for (size_t i = 0; i < r->n_banks; i++) {
        const struct nuc_bank_use *b = &r->banks[i];
        json_t *bank = nuc_put_object(cx, list, NULL);
        nuc_put_text(cx, bank, "name", b->name);
        nuc_put_count(cx, bank, "bytes", b->size);
        nuc_put_count(cx, bank, "planned_bytes", b->planned);
        nuc_put_count(cx, bank, "peak_bytes", b->peak);
        nuc_put_count(cx, bank, "temporary_bytes", b->temporary);
        nuc_put_count(cx, bank, "states_bytes", b->states);
        nuc_put_count(cx, bank, "weights_bytes", b->weights);
    }
}
