#include "npu/explain/explain_members.h"

#include <math.h>

#include "archive/json_build.h"

void nuc_put_decision(struct nuc_context *cx, json_t *to, const struct nuc_decision *d, const char *actual)
{
    nuc_put_text(cx, to, "rule", d != NULL ? d->rule : NULL);
    nuc_put_text(cx, to, "actual", d != NULL ? actual : NULL);
    nuc_put_text(cx, to, "limit", d != NULL ? d->limit : NULL);
    nuc_put_text(cx, to, "fix", d != NULL ? d->fix : NULL);
}

static void put_tags(struct nuc_context *cx, json_t *to, const char *key, const char *const *tags, uint32_t count)
{
    json_t *list = nuc_put_array(cx, to, key);

    for (uint32_t i = 0; i < count; i++)
        nuc_put_text(cx, list, NULL, tags[i]);
}

void nuc_put_split_tags(struct nuc_context *cx, json_t *to, const struct nuc_explain_split *s)
{
    put_tags(cx, to, "before", s->before, s->n_before);
    put_tags(cx, to, "after", s->after, s->n_after);
}

void nuc_put_cycles(struct nuc_context *cx, json_t *to, const struct nuc_explanation *e, uint64_t cycles, bool known)
{
    const uint64_t all = nuc_explained_cycles(e);

    nuc_put_known_count(cx, to, "cycles", known, cycles);
    nuc_put_measure(cx, to, "share", known && !e->foreign && all > 0 ? (double)cycles / (double)all : (double)NAN);
}

static void put_boundary(struct nuc_context *cx, json_t *list, const struct nuc_explanation *e, const char *kind,
                         const char *partition, const struct nuc_node *value, uint32_t count, uint64_t cycles)
{
    json_t *o = nuc_put_object(cx, list, NULL);

    nuc_put_text(cx, o, "kind", kind);
    nuc_put_text(cx, o, "partition", partition);
    nuc_put_text(cx, o, "node", value != NULL ? value->name : NULL);
    nuc_put_count(cx, o, "count", count);
    nuc_put_cycles(cx, o, e, cycles, true);
}

void nuc_put_boundaries(struct nuc_context *cx, json_t *to, const struct nuc_explanation *e, bool nodes)
{
    static const char *const kinds[] = {[NUC_BOUNDARY_CALL] = "call",
                                        [NUC_BOUNDARY_FORMAT] = "format",
                                        [NUC_BOUNDARY_QUANTIZE] = "quantize",
                                        [NUC_BOUNDARY_DEQUANTIZE] = "dequantize",
                                        [NUC_BOUNDARY_COPY] = "copy"};
    json_t *list = nuc_put_array(cx, to, "boundaries");

    for (uint32_t i = 0; i < e->n_boundaries; i++) {
        const struct nuc_explain_boundary *b = &e->boundaries[i];
        const char *tag = b->partition < e->n_partitions ? e->tags[b->partition] : NULL;
        put_boundary(cx, list, e, kinds[b->kind], tag, b->value, b->count, b->cycles);
    }
    for (uint32_t i = 0; nodes && i < e->n_rows; i++) {
        const struct nuc_explain_row *row = &e->rows[i];
        if (!row->is_operator && row->cycles > 0)
            put_boundary(cx, list, e,
                         kinds[nuc_is_quantize(row->node) ? NUC_BOUNDARY_QUANTIZE : NUC_BOUNDARY_DEQUANTIZE],
                         row->partition, row->node, 1, row->cycles);
    }
}

void nuc_put_helps(struct nuc_context *cx, json_t *to, const struct nuc_explanation *e)
{
    json_t *list = nuc_put_array(cx, to, "options");

    for (uint32_t i = 0; i < e->n_helps; i++) {
        const struct nuc_explain_help *h = &e->helps[i];
        json_t *o = nuc_put_object(cx, list, NULL);
        nuc_put_text(cx, o, "options", h->options);
        nuc_put_count(cx, o, "cycles", h->cycles);
        nuc_put_count(cx, o, "on_cpu", h->n_on_cpu);
        nuc_put_count(cx, o, "partitions", h->n_partitions);
    }
}
