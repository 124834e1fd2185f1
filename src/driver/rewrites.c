/* Changes of a model's source that --rewrite asks for, made in its graph. */
#include <string.h>

#include "driver/stages.h"
#include "host/nearest.h"
#include "npu/layout/orders.h"
#include "rewrite/recognize/changes.h"

static const char *change_name(const void *list, size_t index)
{
    const struct nuc_change *row = nuc_next_change(NULL);

    (void)list;
    for (size_t i = 0; row != NULL && i < index; i++)
        row = nuc_next_change(row);
    return row != NULL ? row->name : NULL;
}

/* "NAME@GLOB" */
static const struct nuc_change *parse(struct nuc_context *cx, const char *entry, const char **glob)
{
    const char *at = strchr(entry, '@');
    const char *name = at == NULL ? entry : nuc_format(cx, "%.*s", (int)(at - entry), entry);
    const struct nuc_change *row = nuc_find_change(name);

    *glob = at == NULL ? NULL : at + 1;
    if (row == NULL)
        nuc_fail(cx, NUC_BAD_USAGE,
                 "--rewrite: '%s' is no change that is known%s: 'nucleon explain' names those that help", name,
                 nuc_did_you_mean(cx, name, change_name, NULL));
    return row;
}

void nuc_check_rewrites(struct nuc_context *cx, const struct nuc_options *o)
{
    const char *glob;

    for (size_t i = 0; i < o->n_rewrites; i++)
        parse(cx, o->rewrites[i], &glob);
}

static void make(struct nuc_graph *g, const struct nuc_options *o, uint32_t *counts, struct nuc_change_places *places)
{
    const struct nuc_meta *outputs = nuc_output_metas(g);
    uint32_t before = places->count;

    for (size_t i = 0; i < o->n_rewrites; i++) {
        const char *glob;
        const struct nuc_change *row = parse(g->cx, o->rewrites[i], &glob);
        counts[i] += nuc_make_change(g, row, glob, places);
    }
    if (places->count == before)
        return;
    nuc_expand(g);
    nuc_refresh_layouts(g);
    nuc_restore_output_orders(g, outputs);
}

void nuc_make_rewrites(struct nuc_job *j, bool recognized)
{
    struct nuc_context *cx = j->c->cx;
    const struct nuc_options *o = &j->m->settings->o;
    const struct nuc_rewritten *before = j->m->rewritten;

    if (o->n_rewrites == 0)
        return;
    struct nuc_rewritten *r = j->m->rewritten = nuc_alloc(cx, sizeof *r); /* other models are made of that before */
    r->counts = nuc_alloc_array(cx, o->n_rewrites, sizeof *r->counts);
    if (before != NULL) {
        memcpy(r->counts, before->counts, o->n_rewrites * sizeof *r->counts);
        r->places.count = before->places.count;
        r->places.capacity = before->places.count;
        r->places.items = nuc_copy(cx, before->places.items, before->places.count * sizeof *r->places.items);
    }
    make(j->m->graph, o, r->counts, &r->places);
    for (size_t i = 0; recognized && i < o->n_rewrites; i++) {
        if (r->counts[i] == 0)
            nuc_fail(cx, NUC_BAD_USAGE, "%s: --rewrite: there is no place for '%s'", j->m->graph->file, o->rewrites[i]);
        if (!j->m->settings->trial)
            nuc_warn(cx, "%s: --rewrite %s: %u place%s", j->m->graph->file, o->rewrites[i], r->counts[i],
                     r->counts[i] == 1 ? "" : "s");
    }
}
