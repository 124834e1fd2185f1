/* The explanation as JSON: keys in one order and six digits of a share, so that equal models give equal bytes. */
#include "archive/json_build.h"
#include "explain/explain_members.h"
#include "host/text.h"

/*
 * The text of a value, which takes the place of the one before: a tree of all nodes takes ten times as much as theirs.
 */
struct value_text {
    char *bytes;
    size_t room;
};

static void add_value(struct nuc_text *out, struct value_text *text, const json_t *value)
{
    const size_t flags = JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6);
    size_t size = json_dumpb(value, text->bytes, text->room, flags);

    if (size > text->room) {
        text->room = 2 * size;
        text->bytes = nuc_alloc(out->cx, text->room);
        size = json_dumpb(value, text->bytes, text->room, flags);
    }
    if (size == 0 || size > text->room)
        nuc_fail(out->cx, NUC_NO_MEMORY, "out of memory");
    nuc_text_add(out, text->bytes, size);
}

/* The name of what keeps an operator on the CPU; NULL: nothing does. */
static const char *name_of_cause(const struct nuc_explanation *e, uint32_t cause)
{
    return cause == NUC_NO_CAUSE ? NULL : e->rows[e->causes[cause].root].node->name;
}

static void put_summary(struct nuc_context *cx, json_t *to, const struct nuc_explanation *e)
{
    nuc_put_count(cx, to, "operators", e->n_operators);
    nuc_put_count(cx, to, "delegated", e->n_delegated);
    nuc_put_count(cx, to, "partitions", e->n_partitions);
    nuc_put_known_count(cx, to, "cycles", !e->foreign, nuc_explained_cycles(e));
    nuc_put_known_count(cx, to, "npu_cycles", !e->foreign, e->npu_cycles);
    nuc_put_count(cx, to, "cpu_cycles", e->cpu_cycles);
    nuc_put_count(cx, to, "lost_cycles", e->lost_cycles);
    if (e->plain_arena > 0) {
        nuc_put_count(cx, to, "plain_arena", e->plain_arena);
        nuc_put_count(cx, to, "least_arena", e->least_arena);
        nuc_put_count(cx, to, "strips", e->n_strips);
        nuc_put_count(cx, to, "strip_stages", e->n_strip_stages);
        nuc_put_count(cx, to, "strip_cycles", e->strip_cycles);
    }
    nuc_put_count(cx, to, "in_int16", e->n_on_cpu[NUC_NUMBERS_INT16]);
    nuc_put_count(cx, to, "in_integers", e->n_on_cpu[NUC_NUMBERS_INTEGERS]);
    nuc_put_count(cx, to, "in_float", e->n_on_cpu[NUC_NUMBERS_FLOAT]);
    nuc_put_count(cx, to, "greedy_cycles", e->greedy_cycles);
    nuc_put_count(cx, to, "cost_cycles", e->cost_cycles);
}

static void put_head(struct nuc_context *cx, json_t *to, const struct nuc_explanation *e)
{
    nuc_put_text(cx, to, "model", e->file);
    nuc_put_text(cx, to, "target", e->target->name);
    nuc_put_text(cx, to, "converter_flavor", e->flavor->name);
    nuc_put_bool(cx, to, "made_up_ranges", e->made_up_ranges);
    nuc_put_obstacles(cx, to, e->obstacles);
    put_summary(cx, nuc_put_object(cx, to, "summary"), e);
    json_t *list = nuc_put_array(cx, to, "splits");
    for (uint32_t i = 0; i < e->n_splits; i++) {
        const struct nuc_explain_split *s = &e->splits[i];
        json_t *o = nuc_put_object(cx, list, NULL);
        nuc_put_split_tags(cx, o, s);
        nuc_put_text(cx, o, "root", name_of_cause(e, s->cause));
        nuc_put_count(cx, o, "roots", s->n_causes);
        nuc_put_count(cx, o, "saved_cycles", s->saved_cycles);
    }
    nuc_put_fixes(cx, to, e);
    nuc_put_alternatives(cx, to, e);
    nuc_put_states(cx, to, e);
    nuc_put_stream(cx, to, e->stream);
    nuc_put_boundaries(cx, to, e, false);
}

/* A line for each member, and for each node. */
const char *nuc_explain_json(struct nuc_context *cx, const struct nuc_explanation *e)
{
    json_t *head = nuc_json_tree(cx), *one = nuc_put_array(cx, nuc_json_tree(cx), "node"), *value;
    struct value_text text = {0};
    struct nuc_text out = {.cx = cx};
    const char *key;

    put_head(cx, head, e);
    nuc_text_addf(&out, "{\n");
    json_object_foreach(head, key, value)
    {
        nuc_text_addf(&out, " \"%s\": ", key);
        add_value(&out, &text, value);
        nuc_text_addf(&out, ",\n");
    }
    nuc_text_addf(&out, " \"nodes\": [\n");
    for (uint32_t i = 0; i < e->n_rows; i++) {
        json_t *node = nuc_put_object(cx, one, NULL);
        const struct nuc_explain_row *row = &e->rows[i];
        const struct nuc_decision *d = row->decision;
        const struct nuc_node *n = row->node;
        nuc_put_text(cx, node, "name", n->name);
        nuc_put_text(cx, node, "label", e->labels.of[n->id]);
        nuc_put_text(cx, node, "operator", nuc_node_op_name(n));
        nuc_put_text(cx, node, "origin_operator", n->source->op);
        nuc_put_text(cx, node, "file", n->source->file);
        nuc_put_count(cx, node, "line", n->source->line > 0 ? (uint64_t)n->source->line : 0);
        nuc_put_text(cx, node, "module", n->source->module);
        nuc_put_text(cx, node, "partition", row->partition);
        nuc_put_decision(cx, node, e, row, d->actual);
        nuc_put_text(cx, node, "because", d->because != NULL ? d->because->name : NULL);
        nuc_put_text(cx, node, "root", name_of_cause(e, row->cause));
        nuc_put_count(cx, node, "macs", row->macs);
        nuc_put_cycles(cx, node, e, row->cycles, !e->foreign || row->partition == NULL);
        nuc_put_count(cx, node, "npu_cycles", row->npu_cycles);
        nuc_put_count(cx, node, "cpu_cycles", row->cpu_cycles);
        nuc_put_bool(cx, node, "by_cost", d->by_cost);
        nuc_put_bool(cx, node, "in_float", row->in_float);
        nuc_text_addf(&out, "  ");
        add_value(&out, &text, node);
        nuc_text_addf(&out, i + 1 < e->n_rows ? ",\n" : "\n");
        json_array_clear(one);
    }
    nuc_text_addf(&out, " ]\n}\n");
    return nuc_text_string(&out);
}
