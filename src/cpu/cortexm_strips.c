#include "cpu/strip_stage.h"

#include <stdlib.h>
#include <string.h>

#include "ir/op_list.h"
#include "npu/support/kernel_cycles.h"

#define ALIGNMENT 16                  /* of what a program plans */
#define MOST_TO_DROP 8                /* values among which that is tried out */
#define MOST_DROPPED 3                /* values whose rows are computed again although they could be kept */
#define MOST_WORK (UINT64_C(1) << 26) /* of a search; what it has found by then counts */

/* ---- how much memory is alive ---- */

/* The storage of a value in the order of the graph; views have that of what they view. */
struct life {
    uint64_t bytes;
    uint32_t first, last; /* positions of nodes */
};

struct lives {
    struct nuc_graph *g;
    uint32_t n;         /* nodes */
    uint32_t *position; /* by node id */
    uint32_t *base;     /* by node id: id of the node that owns the bytes */
    struct life *items; /* by node id */
};

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool is_view(const struct nuc_node *node)
{
    return nuc_op_is_in(node->op, NUC_OPS(NUC_OP_NUCLEON_PERMUTE_VIEW, NUC_OP_NUCLEON_ROWS_VIEW, NUC_OP_GETITEM)) ||
           nuc_op_family(node->op) == NUC_FAMILY_VIEW;
}

static uint64_t bytes_of(const struct nuc_node *node)
{
    uint64_t bytes = 0;

    if (nuc_is_static(node) || node->op == NUC_OP_OUTPUT)
        return 0;
    for (uint32_t i = 0; i < node->n_vals; i++)
        bytes += aligned(nuc_bytes(&node->vals[i]));
    return bytes;
}

static void touch(struct lives *l, const struct nuc_node *node, uint32_t position)
{
    struct life *life = &l->items[l->base[node->id]];

    life->first = position < life->first ? position : life->first;
    life->last = position > life->last ? position : life->last;
}

static void find_lives(struct nuc_graph *g, struct lives *l)
{
    size_t ids = (size_t)g->next_id + 1;

    *l = (struct lives){.g = g,
                        .position = nuc_alloc_array(g->cx, ids, sizeof *l->position),
                        .base = nuc_alloc_array(g->cx, ids, sizeof *l->base),
                        .items = nuc_alloc_array(g->cx, ids, sizeof *l->items)};
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        const struct nuc_node *viewed = is_view(n) ? nuc_arg_node(n, NUC_SELF) : NULL;
        l->position[n->id] = l->n;
        l->base[n->id] = viewed != NULL ? l->base[viewed->id] : n->id;
        l->items[n->id] = (struct life){viewed != NULL ? 0 : bytes_of(n), UINT32_MAX, 0};
        l->n++;
    }
    /* Parts of a joined value are bytes of it, from the first on. */
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        const struct nuc_arg *parts = &n->args[0];
        for (uint32_t i = 0; n->op == NUC_OP_NUCLEON_JOINED_ROWS && i < parts->count; i++) {
            l->base[parts->u.nodes[i]->id] = n->id;
            l->items[parts->u.nodes[i]->id].bytes = 0;
        }
    }
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        struct nuc_cursor at = {0, 0};
        touch(l, n, nuc_is_placeholder(n) ? 0 : l->position[n->id]);
        for (const struct nuc_node *in = nuc_next_input(n, &at); in != NULL; in = nuc_next_input(n, &at))
            touch(l, in, l->position[n->id]);
    }
}

/* Works in place where the operand is not read any more: value by value, and depthwise. */
static bool in_place(const struct nuc_node *node)
{
    return nuc_op_is_in(node->op, NUC_OPS(NUC_OP_CORTEXM_ADD, NUC_OP_CORTEXM_MUL, NUC_OP_CORTEXM_ACTIVATION,
                                          NUC_OP_CORTEXM_MINIMUM, NUC_OP_CORTEXM_MAXIMUM, NUC_OP_NUCLEON_PRELU,
                                          NUC_OP_CORTEXM_DEPTHWISE, NUC_OP_NUCLEON_DEPTHWISE));
}

static uint64_t saved_in_place(const struct lives *l, const struct nuc_node *node, uint32_t position)
{
    uint64_t bytes = l->items[node->id].bytes;
    struct nuc_cursor at = {0, 0};

    for (const struct nuc_node *in = in_place(node) ? nuc_next_input(node, &at) : NULL; in != NULL;
         in = nuc_next_input(node, &at)) {
        const struct life *life = &l->items[l->base[in->id]];
        if (life->bytes == bytes && life->last == position && in->op != NUC_OP_ALLOC)
            return bytes;
    }
    return 0;
}

/* The most bytes alive at a node outside of the stage, and those alive around the strips. */
static void outside_of(const struct lives *l, const struct nuc_strip_stage *s, uint64_t *outside, uint64_t *around)
{
    struct nuc_context *cx = l->g->cx;
    struct nuc_arena *outer = nuc_push_arena(cx);
    int64_t *change = nuc_alloc_array(cx, (size_t)l->n + 2, sizeof *change);
    uint32_t cut = l->position[s->cut->id];
    uint64_t alive = 0;

    *outside = *around = 0;
    for (const struct nuc_node *n = l->g->first; n != NULL; n = n->next) {
        struct life life = l->items[n->id];
        if (life.bytes == 0 || (s->place[n->id] != 0 && n != s->cut))
            continue;
        if (n->op == NUC_OP_ALLOC && n->n_users > 0 && s->place[n->users[0]->id] != 0)
            continue;
        /* What the stage reads is there until its last strip. */
        if (s->dim_of[n->id] != 0 && s->place[n->id] == 0 && life.last < cut)
            life.last = cut;
        change[life.first] += (int64_t)life.bytes;
        change[life.last + 1] -= (int64_t)life.bytes;
    }
    for (const struct nuc_node *n = l->g->first; n != NULL; n = n->next) {
        uint32_t at = l->position[n->id];
        alive += (uint64_t)change[at];
        if (at == cut)
            *around = alive;
        else if (s->place[n->id] == 0 && alive - saved_in_place(l, n, at) > *outside)
            *outside = alive - saved_in_place(l, n, at);
    }
    nuc_pop_arena(cx, outer);
}

static uint64_t scratch_of(const struct nuc_node *node)
{
    const struct nuc_node *alloc = nuc_arg_node(node, node->n_args - 1);

    return alloc != NULL && alloc->op == NUC_OP_ALLOC ? aligned(nuc_bytes(&alloc->vals[0])) : 0;
}

static uint64_t rows_bytes(const struct nuc_strip_node *n, struct nuc_rows rows)
{
    return aligned(n->row_bytes * (uint64_t)(rows.high - rows.low));
}

/* ---- choices ---- */

struct search {
    struct nuc_graph *g;
    const struct nuc_target *target;
    uint64_t bytes;
    struct lives lives;
    uint64_t work; /* so far: nodes looked at, and pairs of nodes of strips that were measured */
    struct nuc_strip_choices *out;
};

/* Of a stage, what does not depend on the strips. */
struct tried {
    struct nuc_strip_stage *s;
    struct nuc_strip_node *now, *spare; /* the strip measured, and the one before */
    uint32_t *owner, *last;
    uint64_t outside, around, whole; /* whole: cycles of the nodes as they are */
    uint32_t n_keep;
    uint32_t *keep;    /* places whose rows can be kept */
    uint64_t **cycles; /* by place and rows; 0: not known yet */
};

struct measured {
    uint64_t alive, most, cycles;
};

/* Of one call for so many rows of a node: computed once. */
static uint64_t node_cycles(const struct search *f, const struct tried *t, uint32_t place, struct nuc_rows rows)
{
    const struct nuc_strip_node *n = &t->s->nodes[place];
    uint64_t *cycles = &t->cycles[place][rows.high - rows.low];

    if (*cycles == 0)
        *cycles = nuc_kernel_cycles(&f->target->costs.int8, n->node, n->dim, rows.high - rows.low);
    return *cycles;
}

/* One strip: values are made, each after what is kept of it, and end with their last reader but for what is kept. */
static void measure_strip(const struct search *f, const struct tried *t, struct measured *m)
{
    const struct nuc_strip_stage *s = t->s;

    for (uint32_t i = 0; i < s->n; i++) {
        const struct nuc_strip_node *n = &t->now[i];
        bool view = nuc_is_strip_view(n->node), own = i + 1 < s->n && !view;
        uint64_t kept = nuc_no_rows(n->fresh) || view ? 0 : rows_bytes(n, nuc_kept_rows(n));
        if (!nuc_no_rows(n->fresh)) {
            m->alive += own ? rows_bytes(n, n->rows) : 0;
            m->most = m->alive > m->most ? m->alive : m->most;
            m->alive -= kept;
            uint64_t now = m->alive + scratch_of(n->node);
            m->most = now > m->most ? now : m->most;
            m->cycles += node_cycles(f, t, i, n->fresh);
            m->cycles += kept > 0 ? 2 * nuc_copy_cycles(&f->target->costs.int8, kept) : 0;
        }
        for (uint32_t k = 0; k <= i; k++) {
            const struct nuc_strip_node *next = &s->nodes[k];
            bool ends = t->last[k] == i && t->owner[k] == k && k + 1 < s->n && !nuc_is_strip_view(next->node);
            if (!ends || (nuc_no_rows(next->fresh) && !nuc_no_rows(next->rows)) || nuc_no_rows(t->now[k].rows))
                continue;
            m->alive += nuc_no_rows(next->fresh) ? 0 : rows_bytes(next, nuc_kept_rows(next));
            m->most = m->alive > m->most ? m->alive : m->most;
            m->alive -= rows_bytes(&t->now[k], t->now[k].rows);
        }
    }
}

static int64_t height_of(struct nuc_rows rows)
{
    return rows.high - rows.low;
}

/* Strips away from the borders differ in where their rows begin alone. */
static bool alike(const struct nuc_strip_node *a, const struct nuc_strip_node *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (height_of(a[i].rows) != height_of(b[i].rows) || height_of(a[i].fresh) != height_of(b[i].fresh))
            return false;
    }
    return true;
}

/* Of all strips of so many rows; false when there are no such strips. */
static bool measure(struct search *f, struct tried *t, struct nuc_strips *strips)
{
    struct measured m = {0};
    uint64_t before = 0;
    bool repeats = false;

    for (int64_t i = 0; i < strips->count; i++) {
        struct nuc_strip_node *last = t->now;
        t->now = t->spare;
        t->spare = last;
        if (!nuc_next_strip(t->s, strips, i, t->now))
            return false;
        bool steady = i > 0 && alike(last, t->now, t->s->n) && alike(t->now, t->s->nodes, t->s->n);
        if (steady && repeats) {
            m.cycles += before;
            continue;
        }
        uint64_t cycles = m.cycles;
        f->work += (uint64_t)t->s->n * t->s->n;
        measure_strip(f, t, &m);
        before = m.cycles - cycles;
        repeats = steady;
    }
    strips->peak = t->around + m.most;
    strips->cycles = m.cycles > t->whole ? m.cycles - t->whole : 0;
    return true;
}

/* The value kept whose rows are dropped next: that without which least is alive. UINT32_MAX: none makes it less. */
static uint32_t next_dropped(struct search *f, struct tried *t, struct nuc_strips *strips)
{
    uint32_t dropped = UINT32_MAX;
    struct nuc_strips best = *strips;

    for (uint32_t i = 0; i < t->n_keep; i++) {
        struct nuc_strips without = *strips;
        if (!strips->keep[t->keep[i]])
            continue;
        without.keep[t->keep[i]] = false;
        if (measure(f, t, &without) && without.peak < best.peak) {
            best = without;
            dropped = t->keep[i];
        }
        without.keep[t->keep[i]] = true;
    }
    *strips = best;
    return dropped;
}

/* Rows are kept of all values; where that is a little too much, not of all of them. */
static bool keep_what_fits(struct search *f, struct tried *t, struct nuc_strips *strips)
{
    for (uint32_t i = 0; i < t->n_keep; i++)
        strips->keep[t->keep[i]] = true;
    if (!measure(f, t, strips))
        return false;
    bool close = strips->peak <= f->bytes + f->bytes / 4 && t->n_keep <= MOST_TO_DROP;
    for (uint32_t most = MOST_DROPPED; close && most > 0 && strips->peak > f->bytes; most--) {
        uint32_t dropped = next_dropped(f, t, strips);
        if (dropped == UINT32_MAX)
            break;
        strips->keep[dropped] = false;
    }
    return true;
}

/* Fits, for fewer cycles; or nothing has to fit, and less is alive. */
static bool is_better(const struct search *f, const struct nuc_strips *a, const struct nuc_strips *b)
{
    if (f->bytes == 0)
        return a->peak < b->peak || (a->peak == b->peak && a->cycles < b->cycles);
    return a->peak <= f->bytes && (b->count == 0 || a->cycles < b->cycles);
}

static void take_better(const struct search *f, const struct tried *t, const struct nuc_strips *strips,
                        struct nuc_strips *found)
{
    bool *keep = found->keep;

    if (!is_better(f, strips, found))
        return;
    *found = *strips;
    found->keep = keep;
    memcpy(keep, strips->keep, t->s->n * sizeof *keep);
}

static struct tried prepare(const struct search *f, struct nuc_strip_stage *s)
{
    struct nuc_context *cx = f->g->cx;
    struct tried t = {.s = s,
                      .now = nuc_alloc_array(cx, s->n, sizeof *t.now),
                      .spare = nuc_alloc_array(cx, s->n, sizeof *t.spare),
                      .owner = nuc_alloc_array(cx, s->n, sizeof *t.owner),
                      .keep = nuc_alloc_array(cx, s->n, sizeof *t.keep),
                      .cycles = nuc_alloc_array(cx, s->n, sizeof *t.cycles)};

    t.last = nuc_last_readers(s, t.owner);
    outside_of(&f->lives, s, &t.outside, &t.around);
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t height = s->nodes[i].node->vals[0].sizes[s->nodes[i].dim];
        t.cycles[i] = nuc_alloc_array(cx, (size_t)height + 1, sizeof *t.cycles[i]);
        t.whole += node_cycles(f, &t, i, (struct nuc_rows){0, height});
        if (!nuc_is_strip_view(s->nodes[i].node) && nuc_is_read_in_windows(s, i))
            t.keep[t.n_keep++] = i;
    }
    return t;
}

/* The strips with the fewest cycles that fit, or those with the least alive; false when there are none. */
static bool fit_strips(struct search *f, struct nuc_strip_stage *s, struct nuc_strips *found)
{
    int64_t height = s->cut->vals[0].sizes[s->nodes[s->n - 1].dim];
    struct tried t = prepare(f, s);
    bool *keep = nuc_alloc_array(f->g->cx, s->n, sizeof *keep);

    found->peak = UINT64_MAX;
    for (int64_t count = 2, rows = height; (f->bytes == 0 || t.around < f->bytes) && count <= height; count++) {
        if ((height + count - 1) / count == rows)
            continue;
        rows = (height + count - 1) / count;
        struct nuc_strips strips = {
            .cut = s->cut->name, .rows = rows, .count = (height + rows - 1) / rows, .outside = t.outside, .keep = keep};
        memset(keep, 0, s->n * sizeof *keep);
        if (!measure(f, &t, &strips))
            break;
        take_better(f, &t, &strips, found);
        if (t.n_keep == 0 || !keep_what_fits(f, &t, &strips))
            continue;
        take_better(f, &t, &strips, found);
        bool keeps_all = true;
        for (uint32_t i = 0; i < t.n_keep; i++)
            keeps_all = keeps_all && keep[t.keep[i]];
        if (f->bytes != 0 && strips.peak <= f->bytes && keeps_all)
            break;
    }
    return found->count > 0;
}

/* What a program gives has bytes of its own, and a part of a value is not computed in parts. */
static bool can_be_cut(const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (node->users[i]->op == NUC_OP_OUTPUT || node->users[i]->op == NUC_OP_NUCLEON_JOINED_ROWS)
            return false;
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct nuc_strips *x = a, *y = b;

    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    if (x->cycles != y->cycles)
        return x->cycles < y->cycles ? -1 : 1;
    int order = strcmp(x->cut, y->cut);
    return order != 0 ? order : strcmp(x->from == NULL ? "" : x->from, y->from == NULL ? "" : y->from);
}

/* n: most nodes of the stage. */
static void try_stage(struct search *f, struct nuc_node *cut, const struct nuc_node *from, uint32_t n)
{
    struct nuc_strips strips = {.keep = nuc_alloc_array(f->g->cx, n, sizeof *strips.keep)};
    struct nuc_arena *outer = nuc_push_arena(f->g->cx);
    struct nuc_strip_stage s;
    bool found = nuc_strip_stage(f->g, cut, from, &s) && fit_strips(f, &s, &strips);

    f->work += f->g->n_nodes;
    nuc_pop_arena(f->g->cx, outer);
    if (!found)
        return;
    strips.from = from == NULL ? NULL : from->name;
    strips.cost = f->bytes != 0 ? strips.cycles : strips.peak > strips.outside ? strips.peak : strips.outside;
    struct nuc_strip_choices *o = f->out;
    o->items = nuc_grow(f->g->cx, o->items, &o->capacity, o->count + 1, sizeof *o->items);
    o->items[o->count++] = strips;
}

/* The longest stage that leads to the cut, and those that begin later. */
static void try_cut(struct search *f, struct nuc_node *cut)
{
    struct nuc_strip_stage longest;

    if (!can_be_cut(cut) || !nuc_strip_stage(f->g, cut, NULL, &longest))
        return;
    try_stage(f, cut, NULL, longest.n);
    for (uint32_t i = 0; i + 1 < longest.n && f->work < MOST_WORK; i++) {
        if (nuc_has_strips(longest.nodes[i].node))
            try_stage(f, cut, longest.nodes[i].node, longest.n);
    }
}

void nuc_find_strips(struct nuc_graph *g, const struct nuc_target *target, uint64_t bytes,
                     struct nuc_strip_choices *out)
{
    struct search f = {.g = g, .target = target, .bytes = bytes, .out = out};

    *out = (struct nuc_strip_choices){.count = 0};
    find_lives(g, &f.lives);
    for (struct nuc_node *n = g->first; n != NULL && f.work < MOST_WORK; n = n->next) {
        if (nuc_is_call(n) && nuc_has_strips(n))
            try_cut(&f, n);
    }
    out->work = f.work;
    if (out->count > 0)
        qsort(out->items, out->count, sizeof *out->items, compare);
}
