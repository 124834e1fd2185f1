/* What stays on the CPU and what it costs: causes, splits of the NPU's part, options that would help. */
#include "archive/json_build.h"
#include "npu/explain/explain_lines.h"
#include "tools/report/full_report.h"

static void put_tags(const struct nuc_report *r, json_t *to, const char *key, const char *const *tags, uint32_t count)
{
    json_t *list = nuc_put_array(r->cx, to, key);

    for (uint32_t i = 0; i < count; i++)
        nuc_put_string(r->cx, list, NULL, tags[i]);
}

static uint32_t id_of_cause(const struct nuc_report *r, uint32_t cause)
{
    return cause == NUC_NO_CAUSE ? NUC_NO_ID : nuc_report_id(r, r->e->rows[r->e->causes[cause].root].node);
}

static void put_cause(const struct nuc_report *r, json_t *to, uint32_t index)
{
    const struct nuc_explain_cause *cause = &r->e->causes[index];
    const struct nuc_decision *d = r->e->rows[cause->root].decision;
    bool names_place;

    nuc_put_id(r->cx, to, "node", id_of_cause(r, index));
    json_t *list = nuc_put_array(r->cx, to, "operators");
    for (uint32_t i = 0; i < r->n_nodes; i++) {
        if (r->nodes[i].row != NULL && r->nodes[i].row->cause == index)
            nuc_put_int(r->cx, list, NULL, i);
    }
    nuc_put_text(r->cx, to, "rule", d->rule);
    nuc_put_text(r->cx, to, "actual", nuc_found_text(r->cx, r->e, d, &names_place));
    nuc_put_text(r->cx, to, "limit", d->limit);
    nuc_put_text(r->cx, to, "fix", d->fix);
    nuc_put_bool(r->cx, to, "by_cost", d->by_cost);
    nuc_put_count(r->cx, to, "cycles", cause->part_cycles + cause->follow_cycles);
    nuc_put_count(r->cx, to, "lost_cycles", cause->lost_cycles);
}

static void put_split(const struct nuc_report *r, json_t *to, const struct nuc_explain_split *s)
{
    put_tags(r, to, "before", s->before, s->n_before);
    put_tags(r, to, "after", s->after, s->n_after);
    nuc_put_id(r->cx, to, "node", id_of_cause(r, s->cause));
    nuc_put_int(r->cx, to, "causes", s->n_causes);
    nuc_put_count(r->cx, to, "saved_cycles", s->saved_cycles);
}

void nuc_put_report_placement(struct nuc_report *r)
{
    const struct nuc_explanation *e = r->e;
    json_t *list = nuc_put_array(r->cx, r->tree, "on_cpu");

    for (uint32_t i = 0; i < e->n_causes; i++)
        put_cause(r, nuc_put_object(r->cx, list, NULL), i);
    list = nuc_put_array(r->cx, r->tree, "splits");
    for (uint32_t i = 0; i < e->n_splits; i++)
        put_split(r, nuc_put_object(r->cx, list, NULL), &e->splits[i]);
    list = nuc_put_array(r->cx, r->tree, "options");
    for (uint32_t i = 0; i < e->n_helps; i++) {
        json_t *help = nuc_put_object(r->cx, list, NULL);
        nuc_put_text(r->cx, help, "options", e->helps[i].options);
        nuc_put_count(r->cx, help, "cycles", e->helps[i].cycles);
        nuc_put_int(r->cx, help, "on_cpu", e->helps[i].n_on_cpu);
        nuc_put_int(r->cx, help, "partitions", e->helps[i].n_partitions);
    }
}
