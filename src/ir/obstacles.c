#include "ir/obstacles.h"

#include <string.h>

struct nuc_obstacles *nuc_collect_obstacles(struct nuc_context *cx)
{
    struct nuc_obstacles *o = nuc_alloc(cx, sizeof *o);

    o->arena = cx->arena;
    o->last = &o->first;
    return cx->obstacles = o;
}

void nuc_add_obstacle(struct nuc_context *cx, const char *file, const struct nuc_obstacle *obstacle)
{
    struct nuc_obstacles *all = cx->obstacles;
    struct nuc_obstacle *o = nuc_alloc_in(cx, all->arena, sizeof *o);
    const size_t length = strlen(file);
    const char *text = obstacle->text;

    if (strncmp(text, file, length) == 0 && strncmp(text + length, ": ", 2) == 0)
        text += length + 2;
    *o = (struct nuc_obstacle){nuc_strdup_out(cx, all->arena, obstacle->op),
                               nuc_strdup_out(cx, all->arena, obstacle->node),
                               nuc_strdup_out(cx, all->arena, obstacle->file),
                               nuc_strdup_out(cx, all->arena, obstacle->module),
                               obstacle->line,
                               nuc_strdup_out(cx, all->arena, text),
                               NULL};
    *all->last = o;
    all->last = &o->next;
    all->count++;
}
