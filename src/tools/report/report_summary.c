/* What a report begins with: model, target, warnings, figures of the whole. */
#include <math.h>

#include "archive/json_build.h"
#include "tools/report/full_report.h"

void nuc_put_report_model(struct nuc_report *r)
{
    nuc_put_int(r->cx, r->tree, "schema", 1);
    nuc_put_string(r->cx, r->tree, "command", "report");
    nuc_put_string(r->cx, r->tree, "nucleon", nuc_version());
    nuc_put_text(r->cx, r->tree, "invocation", r->o.invocation);
    nuc_put_network_model(r->network, r->tree);
    json_t *list = nuc_put_array(r->cx, r->tree, "warnings");
    for (const struct nuc_report_note *n = r->notes; n != NULL; n = n->next)
        nuc_put_string(r->cx, list, NULL, n->text);
}

/* ---- accuracy ---- */

void nuc_report_figures(const struct nuc_report *r, struct nuc_report_figures *out)
{
    *out = (struct nuc_report_figures){
        .accuracy = (double)NAN, .reference_accuracy = (double)NAN, .agreement = (double)NAN, .worst_db = (double)NAN};
    if (r->evaluation != NULL) {
        /* The first output with labels, and the first with classes: what people mean by accuracy. */
        out->samples = r->evaluation->n_samples;
        for (size_t i = 0; i < r->evaluation->n_outputs; i++) {
            const struct nuc_output_score *o = &r->evaluation->outputs[i];
            if (isnan(out->accuracy) && o->program_accuracy.n > 0) {
                out->accuracy = (double)o->program_accuracy.n_right / (double)o->program_accuracy.n;
                if (r->evaluation->has_reference)
                    out->reference_accuracy = (double)o->reference_accuracy.n_right / (double)o->reference_accuracy.n;
            }
            if (isnan(out->agreement) && r->evaluation->has_reference && o->n_decisions > 0)
                out->agreement = (double)o->n_agree / (double)o->n_decisions;
        }
    }
    for (uint32_t i = 0; i < r->facts.n_nodes; i++) {
        double db = r->facts.nodes[i].sqnr_output_db;
        if (!r->facts.nodes[i].is_operator || !isfinite(db) || db >= out->worst_db)
            continue;
        out->worst_node = r->facts.nodes[i].label;
        out->worst_db = db;
    }
}

void nuc_put_report_summary(struct nuc_report *r)
{
    json_t *to = nuc_put_object(r->cx, r->tree, "summary");

    nuc_put_network_figures(r->network, to);
    const struct nuc_evaluation *e = r->evaluation;
    struct nuc_output_quality q = {.sqnr_db = (double)NAN};
    struct nuc_report_figures f;
    nuc_report_figures(r, &f);
    bool is_evaluated = e != NULL && e->has_reference;
    if (is_evaluated)
        q.sqnr_db = nuc_total_sqnr(e);
    else
        nuc_network_quality(r->network, &q);
    nuc_put_measure(r->cx, to, "sqnr_db", q.sqnr_db);
    nuc_put_measure(r->cx, to, "sqnr_lowest_db", q.held_out > 0 ? q.lowest_db : (double)NAN);
    nuc_put_measure(r->cx, to, "sqnr_highest_db", q.held_out > 0 ? q.highest_db : (double)NAN);
    nuc_put_count(r->cx, to, "sqnr_held_out", q.held_out);
    nuc_put_measure(r->cx, to, "accuracy", f.accuracy);
    nuc_put_measure(r->cx, to, "reference_accuracy", f.reference_accuracy);
    nuc_put_measure(r->cx, to, "agreement", f.agreement);
    nuc_put_count(r->cx, to, "samples", f.samples);
    nuc_put_count(r->cx, to, "node_samples", r->facts.n_measured);
    nuc_put_bool(r->cx, to, "made_up_ranges", r->facts.made_up);
    nuc_put_text(r->cx, to, "missed", r->missed);
}
