#include "npu/explain/explain_members.h"

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
