/* The explanation as JSON: keys in one order, no floating-point numbers, so that equal models give equal bytes. */
#include <string.h>

#include "compiler/report/explain.h"
#include "host/text.h"

/* A string with what JSON and terminals do not take escaped; NULL becomes null. */
static void add_string(struct nuc_text *out, const char *text)
{
    if (text == NULL) {
        nuc_text_addf(out, "null");
        return;
    }
    nuc_text_addf(out, "\"");
    for (const char *p = text; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\')
            nuc_text_addf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            nuc_text_addf(out, "\\u%04x", c);
        else
            nuc_text_add(out, p, 1);
    }
    nuc_text_addf(out, "\"");
}

static void add_field(struct nuc_text *out, const char *key, const char *value)
{
    nuc_text_addf(out, ", \"%s\": ", key);
    add_string(out, value);
}

static void add_number(struct nuc_text *out, const char *key, uint64_t value)
{
    nuc_text_addf(out, ", \"%s\": %llu", key, (unsigned long long)value);
}

static const char *name_of_cause(const struct nuc_explanation *e, uint32_t cause)
{
    return cause == NUC_NO_CAUSE ? NULL : e->rows[e->causes[cause].root].node->name;
}

static void add_tags(struct nuc_text *out, const char *key, const char *const *tags, uint32_t count)
{
    nuc_text_addf(out, "%s\"%s\": [", strcmp(key, "before") == 0 ? "" : ", ", key);
    for (uint32_t i = 0; i < count; i++) {
        nuc_text_addf(out, "%s", i > 0 ? ", " : "");
        add_string(out, tags[i]);
    }
    nuc_text_addf(out, "]");
}

static void add_splits(struct nuc_text *out, const struct nuc_explanation *e)
{
    nuc_text_addf(out, "  \"splits\": [");
    for (uint32_t i = 0; i < e->n_splits; i++) {
        const struct nuc_explain_split *s = &e->splits[i];
        nuc_text_addf(out, "%s\n    {", i > 0 ? "," : "");
        add_tags(out, "before", s->before, s->n_before);
        add_tags(out, "after", s->after, s->n_after);
        add_field(out, "root", name_of_cause(e, s->cause));
        add_number(out, "roots", s->n_causes);
        add_number(out, "saved_cycles", s->saved_cycles);
        nuc_text_addf(out, "}");
    }
    nuc_text_addf(out, "%s],\n", e->n_splits > 0 ? "\n  " : "");
}

static void add_helps(struct nuc_text *out, const struct nuc_explanation *e)
{
    nuc_text_addf(out, "  \"options\": [");
    for (uint32_t i = 0; i < e->n_helps; i++) {
        const struct nuc_explain_help *h = &e->helps[i];
        nuc_text_addf(out, "%s\n    {\"options\": ", i > 0 ? "," : "");
        add_string(out, h->options);
        add_number(out, "cycles", h->cycles);
        add_number(out, "on_cpu", h->n_on_cpu);
        add_number(out, "partitions", h->n_partitions);
        nuc_text_addf(out, "}");
    }
    nuc_text_addf(out, "%s],\n", e->n_helps > 0 ? "\n  " : "");
}

static void add_row(struct nuc_text *out, const struct nuc_explanation *e, const struct nuc_explain_row *row)
{
    const struct nuc_decision *d = row->decision;
    const struct nuc_node *n = row->node;

    nuc_text_addf(out, "    {\"name\": ");
    add_string(out, n->name);
    add_field(out, "label", e->labels.of[n->id]);
    add_field(out, "operator", nuc_node_op_name(n));
    add_field(out, "origin_operator", n->source->op);
    add_field(out, "file", n->source->file);
    add_number(out, "line", n->source->line > 0 ? (uint64_t)n->source->line : 0);
    add_field(out, "module", n->source->module);
    add_field(out, "partition", row->partition);
    add_field(out, "rule", d->delegated ? NULL : d->rule);
    add_field(out, "actual", d->delegated ? NULL : d->actual);
    add_field(out, "limit", d->delegated ? NULL : d->limit);
    add_field(out, "fix", d->delegated ? NULL : d->fix);
    add_field(out, "because", d->because != NULL ? d->because->name : NULL);
    add_field(out, "root", name_of_cause(e, row->cause));
    add_number(out, "macs", row->macs);
    add_number(out, "npu_cycles", row->npu_cycles);
    add_number(out, "cpu_cycles", row->cpu_cycles);
    nuc_text_addf(out, ", \"by_cost\": %s, \"in_float\": %s}", d->by_cost ? "true" : "false",
                  row->in_float ? "true" : "false");
}

const char *nuc_explain_json(struct nuc_context *cx, const struct nuc_explanation *e)
{
    struct nuc_text out;

    nuc_text_init(&out, cx);
    nuc_text_addf(&out, "{\n  \"model\": ");
    add_string(&out, e->file);
    add_field(&out, "target", e->target->name);
    add_field(&out, "converter_flavor", e->flavor->name);
    nuc_text_addf(&out, ", \"made_up_ranges\": %s,\n  \"summary\": {\"operators\": %u",
                  e->made_up_ranges ? "true" : "false", e->n_operators);
    add_number(&out, "delegated", e->n_delegated);
    add_number(&out, "partitions", e->n_partitions);
    add_number(&out, "npu_cycles", e->npu_cycles);
    add_number(&out, "cpu_cycles", e->cpu_cycles);
    add_number(&out, "lost_cycles", e->lost_cycles);
    if (e->plain_arena > 0) {
        add_number(&out, "plain_arena", e->plain_arena);
        add_number(&out, "least_arena", e->least_arena);
        add_number(&out, "strips", e->n_strips);
        add_number(&out, "strip_stages", e->n_strip_stages);
        add_number(&out, "strip_cycles", e->strip_cycles);
    }
    add_number(&out, "in_float", e->n_float);
    add_number(&out, "greedy_cycles", e->greedy_cycles);
    add_number(&out, "cost_cycles", e->cost_cycles);
    nuc_text_addf(&out, "},\n");
    add_splits(&out, e);
    add_helps(&out, e);
    nuc_text_addf(&out, "  \"nodes\": [\n");
    for (uint32_t i = 0; i < e->n_rows; i++) {
        add_row(&out, e, &e->rows[i]);
        nuc_text_addf(&out, i + 1 < e->n_rows ? ",\n" : "\n");
    }
    nuc_text_addf(&out, "  ]\n}\n");
    return nuc_text_string(&out);
}
