#include "compiler/cortexm/strips.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/cortexm/cortexm_private.h"
#include "compiler/cortexm/strip_stage.h"
#include "compiler/graph/conv_args.h"
#include "compiler/graph/op_list.h"
#include "host/text.h"

#define ALIGNMENT 16 /* of what a program plans */

/* ---- in place ---- */

struct cutting {
    struct nuc_cm cm;
    struct nuc_strip_stage stage;
    struct nuc_node **strips; /* by place in the stage: the strip under way */
    struct nuc_node *before;
};

static struct nuc_node *rows_view(struct cutting *t, struct nuc_node *value, uint32_t dim, struct nuc_rows rows)
{
    struct nuc_graph *g = t->cm.g;

    if (rows.low == 0 && rows.high == value->vals[0].sizes[dim])
        return value;
    struct nuc_node *view = nuc_insert(g, t->before, NUC_OP_NUCLEON_ROWS_VIEW, value);
    nuc_set_arg_node(view, g, NUC_SELF, value);
    nuc_set_arg_int(view, NUC_ARG(NUCLEON_ROWS_VIEW, dim), dim);
    nuc_set_arg_int(view, NUC_ARG(NUCLEON_ROWS_VIEW, start), rows.low);
    nuc_set_arg_int(view, NUC_ARG(NUCLEON_ROWS_VIEW, end), rows.high);
    nuc_infer_shape(g, view);
    struct nuc_meta meta = value->vals[0];
    meta.sizes[dim] = rows.high - rows.low;
    nuc_set_val(g, view, &meta);
    return view;
}

/* The rows of an operand: of its strip, or of the whole value. */
static struct nuc_node *operand_rows(struct cutting *t, const struct nuc_strip_node *n, uint32_t index,
                                     struct nuc_rows read)
{
    struct nuc_node *value = nuc_operand(t->cm.g, n->node, index);
    uint32_t place = t->stage.place[value->id];

    if (place == 0)
        return rows_view(t, value, t->stage.dim_of[value->id] - 1, read);
    int64_t from = t->stage.nodes[place - 1].rows.low;
    return rows_view(t, t->strips[place - 1], t->stage.nodes[place - 1].dim,
                     (struct nuc_rows){read.low - from, read.high - from});
}

static struct nuc_node *conv_strip(struct cutting *t, const struct nuc_strip_node *n, struct nuc_rows read,
                                   const int64_t outside[2])
{
    int64_t before[2], after[2];

    (void)nuc_conv_paddings(n->node, NUC_ARG(CORTEXM_CONV2D, padding), before, after);
    const int64_t padding[4] = {outside[0], before[1], outside[1], after[1]};
    return nuc_cm_conv_over(&t->cm, n->node, operand_rows(t, n, NUC_SELF, read), padding, t->before);
}

/* Any other operator: the same arguments but for the images, and scratch memory of its own. */
static struct nuc_node *other_strip(struct cutting *t, const struct nuc_strip_node *n, struct nuc_rows read)
{
    struct nuc_graph *g = t->cm.g;
    uint32_t n_args = n->node->n_args;
    struct nuc_node **images = nuc_alloc_array(g->cx, n_args, sizeof(struct nuc_node *));

    for (uint32_t i = 0; i < n_args; i++)
        images[i] = nuc_is_strip_operand(n->node, i, n->dim) ? operand_rows(t, n, i, read) : NULL;
    struct nuc_node *strip = nuc_insert(g, t->before, n->node->op, n->node);
    for (uint32_t i = 0; i < n_args; i++) {
        const struct nuc_node *in = nuc_arg_node(n->node, i);
        if (images[i] != NULL)
            nuc_set_arg_node(strip, g, i, images[i]);
        else if (in != NULL && in->op == NUC_OP_ALLOC)
            nuc_cm_scratch(&t->cm, strip, i, nuc_bytes(&in->vals[0]));
        else
            nuc_copy_arg(g, strip, i, n->node, i);
    }
    nuc_infer_shape(g, strip);
    return strip;
}

static bool is_conv(enum nuc_op op)
{
    return nuc_op_is_in(
        op, NUC_OPS(NUC_OP_CORTEXM_CONV2D, NUC_OP_NUCLEON_CONV2D, NUC_OP_CORTEXM_DEPTHWISE, NUC_OP_NUCLEON_DEPTHWISE));
}

static void compute_strip(struct cutting *t, const struct nuc_strip_node *n, struct nuc_node **out)
{
    struct nuc_graph *g = t->cm.g;
    struct nuc_meta expected = n->node->vals[0];
    struct nuc_rows read;
    int64_t outside[2];

    expected.sizes[n->dim] = n->rows.high - n->rows.low;
    (void)nuc_rows_read(n->node, n->rows, &read, outside);
    struct nuc_node *strip = is_conv(n->node->op) ? conv_strip(t, n, read, outside) : other_strip(t, n, read);
    if (!nuc_same_sizes(&strip->vals[0], &expected))
        nuc_fail(g->cx, NUC_INTERNAL, "%s: %s: a strip of %s has the sizes %s", g->file, nuc_node_text(g->cx, n->node),
                 nuc_meta_text(g->cx, &expected), nuc_meta_text(g->cx, &strip->vals[0]));
    nuc_set_val(g, strip, &expected);
    nuc_rename(g, strip,
               nuc_format(g->cx, "%s_rows_%lld_%lld", n->node->name, (long long)n->rows.low, (long long)n->rows.high));
    *out = strip;
}

static struct nuc_rows strip_rows(const struct nuc_strip_stage *s, int64_t rows, int64_t strip)
{
    int64_t height = s->cut->vals[0].sizes[s->nodes[s->n - 1].dim], low = strip * rows;

    return (struct nuc_rows){low, low + rows < height ? low + rows : height};
}

void nuc_cut_into_strips(struct nuc_graph *g, const struct nuc_target *target, const struct nuc_strips *strips)
{
    const struct nuc_cortexm_options options = {.cpu = target->cpu};
    struct cutting t = {.cm = {g, &options}};
    struct nuc_node *cut = nuc_find_node(g, strips->cut);
    const struct nuc_node *from = strips->from == NULL ? NULL : nuc_find_node(g, strips->from);

    if (cut == NULL || (strips->from != NULL && from == NULL) || !nuc_strip_stage(g, cut, from, &t.stage))
        nuc_fail(g->cx, NUC_INTERNAL, "%s: %s has no strips", g->file, strips->cut);
    struct nuc_node **parts = nuc_alloc_array(g->cx, (size_t)strips->count, sizeof(struct nuc_node *));
    t.strips = nuc_alloc_array(g->cx, t.stage.n, sizeof(struct nuc_node *));
    t.before = cut;
    for (int64_t i = 0; i < strips->count; i++) {
        if (!nuc_rows_of_strip(&t.stage, strip_rows(&t.stage, strips->rows, i)))
            nuc_fail(g->cx, NUC_INTERNAL, "%s: strip %lld of %s reads nothing", g->file, (long long)i, strips->cut);
        for (uint32_t k = 0; k < t.stage.n; k++)
            compute_strip(&t, &t.stage.nodes[k], &t.strips[k]);
        parts[i] = t.strips[t.stage.n - 1];
    }
    struct nuc_node *joined = nuc_emit(
        g, cut, NUC_OP_NUCLEON_JOINED_ROWS, cut,
        NUC_ARGS(nuc_nodes_arg(parts, (uint32_t)strips->count), nuc_int_arg(t.stage.nodes[t.stage.n - 1].dim)));
    nuc_set_val(g, joined, &cut->vals[0]);
    nuc_replace_uses(g, cut, joined, NULL);
    nuc_remove_dead(g);
    nuc_rename(g, joined, strips->cut);
}

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

/* Nodes of the stage whose values own bytes in a strip, and the last node that reads each. */
static uint32_t *last_readers(const struct nuc_strip_stage *s, uint32_t *owner)
{
    uint32_t *last = nuc_alloc_array(s->g->cx, s->n, sizeof *last);

    for (uint32_t i = 0; i < s->n; i++) {
        struct nuc_cursor at = {0, 0};
        owner[i] = last[i] = i;
        for (const struct nuc_node *in = nuc_next_input(s->nodes[i].node, &at); in != NULL;
             in = nuc_next_input(s->nodes[i].node, &at)) {
            uint32_t place = s->place[in->id];
            if (place == 0)
                continue;
            if (is_view(s->nodes[i].node))
                owner[i] = owner[place - 1];
            last[owner[place - 1]] = i;
        }
    }
    return last;
}

/* The most bytes that values of one strip take, and its cycles; false when there is no such strip. */
static bool measure_strip(struct nuc_strip_stage *s, const struct nuc_costs *costs, struct nuc_rows rows,
                          const uint32_t *owner, const uint32_t *last, uint64_t *most, uint64_t *cycles)
{
    uint64_t alive = 0;

    if (!nuc_rows_of_strip(s, rows))
        return false;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct nuc_strip_node *n = &s->nodes[i];
        int64_t height = n->rows.high - n->rows.low;
        bool own = owner[i] == i && i + 1 < s->n && !is_view(n->node);
        alive += own ? aligned(n->row_bytes * (uint64_t)height) : 0;
        uint64_t now = alive + scratch_of(n->node);
        *most = now > *most ? now : *most;
        *cycles += nuc_strip_cycles(costs, n, height);
        for (uint32_t k = 0; k <= i; k++) {
            int64_t held = s->nodes[k].rows.high - s->nodes[k].rows.low;
            if (last[k] == i && owner[k] == k && k + 1 < s->n && !is_view(s->nodes[k].node))
                alive -= aligned(s->nodes[k].row_bytes * (uint64_t)held);
        }
    }
    return true;
}

/* ---- choices ---- */

struct search {
    struct nuc_graph *g;
    const struct nuc_target *target;
    uint64_t bytes;
    struct lives lives;
    struct nuc_strip_choices *out;
};

/* Of all strips of so many rows. */
static bool measure(struct search *f, struct nuc_strip_stage *s, const uint32_t *owner, const uint32_t *last,
                    struct nuc_strips *strips)
{
    uint64_t most = 0, cycles = 0, whole = 0;

    for (int64_t i = 0; i < strips->count; i++) {
        if (!measure_strip(s, &f->target->costs, strip_rows(s, strips->rows, i), owner, last, &most, &cycles))
            return false;
    }
    for (uint32_t i = 0; i < s->n; i++)
        whole += nuc_strip_cycles(&f->target->costs, &s->nodes[i], s->nodes[i].node->vals[0].sizes[s->nodes[i].dim]);
    strips->peak += most;
    strips->cycles = cycles > whole ? cycles - whole : 0;
    return true;
}

static void add_choice(struct search *f, const struct nuc_strips *strips)
{
    struct nuc_strip_choices *o = f->out;

    o->items = nuc_grow(f->g->cx, o->items, &o->capacity, o->count + 1, sizeof *o->items);
    o->items[o->count++] = *strips;
}

/* The highest strips that fit, or those with the least alive; false when there are none. */
static bool fit_strips(struct search *f, struct nuc_strip_stage *s, struct nuc_strips *found)
{
    struct nuc_context *cx = f->g->cx;
    int64_t height = s->cut->vals[0].sizes[s->nodes[s->n - 1].dim];
    uint32_t *owner = nuc_alloc_array(cx, s->n, sizeof *owner), *last = last_readers(s, owner);
    uint64_t outside, around;

    *found = (struct nuc_strips){.peak = UINT64_MAX};
    outside_of(&f->lives, s, &outside, &around);
    for (int64_t count = 2, rows = height; (f->bytes == 0 || around < f->bytes) && count <= height; count++) {
        if ((height + count - 1) / count == rows)
            continue;
        rows = (height + count - 1) / count;
        struct nuc_strips strips = {
            .cut = s->cut->name, .rows = rows, .count = (height + rows - 1) / rows, .peak = around, .outside = outside};
        if (!measure(f, s, owner, last, &strips))
            break;
        if (strips.peak < found->peak)
            *found = strips;
        if (f->bytes != 0 && strips.peak <= f->bytes)
            return true;
    }
    return f->bytes == 0 && found->count > 0;
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

static void try_stage(struct search *f, struct nuc_node *cut, const struct nuc_node *from)
{
    struct nuc_arena *outer = nuc_push_arena(f->g->cx);
    struct nuc_strip_stage s;
    struct nuc_strips strips;
    bool found = nuc_strip_stage(f->g, cut, from, &s) && fit_strips(f, &s, &strips);

    nuc_pop_arena(f->g->cx, outer);
    if (!found)
        return;
    strips.from = from == NULL ? NULL : from->name;
    strips.cost = f->bytes != 0 ? strips.cycles : strips.peak > strips.outside ? strips.peak : strips.outside;
    add_choice(f, &strips);
}

/* The longest stage that leads to the cut, and those that begin later. */
static void try_cut(struct search *f, struct nuc_node *cut)
{
    struct nuc_strip_stage longest;

    if (!can_be_cut(cut) || !nuc_strip_stage(f->g, cut, NULL, &longest))
        return;
    try_stage(f, cut, NULL);
    for (uint32_t i = 0; i + 1 < longest.n; i++) {
        if (nuc_has_strips(longest.nodes[i].node))
            try_stage(f, cut, longest.nodes[i].node);
    }
}

void nuc_find_strips(struct nuc_graph *g, const struct nuc_target *target, uint64_t bytes,
                     struct nuc_strip_choices *out)
{
    struct search f = {.g = g, .target = target, .bytes = bytes, .out = out};

    *out = (struct nuc_strip_choices){.count = 0};
    find_lives(g, &f.lives);
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (nuc_is_call(n) && nuc_has_strips(n))
            try_cut(&f, n);
    }
    if (out->count > 0)
        qsort(out->items, out->count, sizeof *out->items, compare);
}
