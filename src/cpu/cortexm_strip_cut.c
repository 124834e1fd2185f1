/* A stage of a graph made into its strips. */
#include "cpu/cortexm_site.h"
#include "cpu/strip_stage.h"
#include "ir/conv_args.h"
#include "ir/labels.h"

struct cutting {
    struct nuc_cm cm;
    struct nuc_strip_stage stage;     /* with the rows of the strip after the one under way */
    struct nuc_strip_node *nodes;     /* with those of the strip under way */
    uint32_t *owner, *last;           /* nuc_last_readers() */
    struct nuc_node **strips, **kept; /* by place: its rows; what of them is kept for the next strip */
    struct nuc_node *before;
};

static struct nuc_node *rows_view(struct cutting *t, struct nuc_node *value, uint32_t dim, struct nuc_rows rows)
{
    struct nuc_graph *g = t->cm.g;

    if (rows.low == 0 && rows.high == value->vals[0].sizes[dim])
        return value;
    struct nuc_node *view =
        nuc_emit(g, t->before, NUC_OP_NUCLEON_ROWS_VIEW, value, NUC_ARGS(value, dim, rows.low, rows.high));
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
    int64_t from = t->nodes[place - 1].rows.low;
    return rows_view(t, t->strips[place - 1], t->nodes[place - 1].dim,
                     (struct nuc_rows){read.low - from, read.high - from});
}

/* Argument `arg` of a node of the stage is an image of which a strip is read. */
static bool is_read_in_rows(const struct nuc_strip_node *n, uint32_t arg)
{
    for (uint32_t k = 0; k < n->reads->count; k++) {
        if (n->reads->operands[k].arg == arg)
            return true;
    }
    return false;
}

/* Any other operator: the same arguments but for the images, and scratch memory of its own. */
static struct nuc_node *other_strip(struct cutting *t, const struct nuc_strip_node *n, struct nuc_rows read)
{
    struct nuc_graph *g = t->cm.g;
    uint32_t n_args = n->node->n_args;
    struct nuc_node **images = nuc_alloc_array(g->cx, n_args, sizeof(struct nuc_node *));

    for (uint32_t i = 0; i < n_args; i++)
        images[i] = is_read_in_rows(n, i) ? operand_rows(t, n, i, read) : NULL;
    struct nuc_node *strip = nuc_insert(g, t->before, n->node->op, n->node);
    for (uint32_t i = 0; i < n_args; i++) {
        const struct nuc_node *in = nuc_arg_node(n->node, i);
        if (images[i] != NULL)
            nuc_set_arg_node(strip, g, i, images[i]);
        else if (in != NULL && in->op == NUC_OP_ALLOC)
            nuc_cm_scratch(t->cm.g, strip, i, nuc_bytes(&in->vals[0]));
        else
            nuc_copy_arg(g, strip, i, n->node, i);
    }
    nuc_infer_shape(g, strip);
    return strip;
}

static struct nuc_meta rows_meta(const struct nuc_strip_node *n, struct nuc_rows rows)
{
    struct nuc_meta m = n->node->vals[0];

    m.sizes[n->dim] = rows.high - rows.low;
    return m;
}

/* People see which rows of the value it holds. */
static void label_rows(struct nuc_graph *g, struct nuc_node *node, const char *what, struct nuc_rows rows)
{
    const long long first = rows.low, last = rows.high - 1;

    nuc_set_form(g, node,
                 first == last ? nuc_format(g->cx, "%srow %lld", what, first)
                               : nuc_format(g->cx, "%srows %lld to %lld", what, first, last));
}

static struct nuc_node *compute_fresh(struct cutting *t, const struct nuc_strip_node *n)
{
    struct nuc_graph *g = t->cm.g;
    struct nuc_meta expected = rows_meta(n, n->fresh);
    struct nuc_rows read;
    int64_t outside[2], before[2], after[2];
    struct nuc_node *strip;

    (void)nuc_rows_read(n, n->fresh, &read, outside);
    if (nuc_has_paddings(n->node, &n->reads->operands[0].axis)) {
        (void)nuc_conv_paddings(n->node, NUC_ARG(CORTEXM_CONV2D, padding), before, after);
        const int64_t padding[4] = {outside[0], before[1], outside[1], after[1]};
        strip = nuc_cm_conv_over(&t->cm, n->node, operand_rows(t, n, NUC_SELF, read), padding, t->before);
    } else {
        strip = other_strip(t, n, read);
    }
    if (!nuc_same_sizes(&strip->vals[0], &expected))
        nuc_fail(g->cx, NUC_INTERNAL, "%s: %s: a strip of %s has the sizes %s", g->file, nuc_node_text(g->cx, n->node),
                 nuc_meta_text(g->cx, &expected), nuc_meta_text(g->cx, &strip->vals[0]));
    nuc_set_val(g, strip, &expected);
    nuc_rename(
        g, strip,
        nuc_format(g->cx, "%s_rows_%lld_%lld", n->node->name, (long long)n->fresh.low, (long long)n->fresh.high));
    label_rows(g, strip, "", n->fresh);
    return strip;
}

static struct nuc_node *copy_of(struct cutting *t, struct nuc_node *value)
{
    struct nuc_node *copy = nuc_emit(t->cm.g, t->before, NUC_OP_NUCLEON_COPY, value, NUC_ARGS(value));

    nuc_set_val(t->cm.g, copy, &value->vals[0]);
    return copy;
}

static struct nuc_node *join(struct cutting *t, struct nuc_node *like, uint32_t dim, struct nuc_node **parts,
                             uint32_t count)
{
    return nuc_emit(t->cm.g, t->before, NUC_OP_NUCLEON_JOINED_ROWS, like, NUC_ARGS(nuc_nodes_arg(parts, count), dim));
}

/* The rows of the strip, where they are not there from the one before: first what is kept, then the computed ones. */
static void compute_strip(struct cutting *t, uint32_t place)
{
    const struct nuc_strip_node *n = &t->nodes[place];

    if (nuc_no_rows(n->fresh))
        return;
    if (nuc_no_rows(nuc_kept_rows(n))) {
        t->strips[place] = compute_fresh(t, n);
        return;
    }
    struct nuc_node **parts = nuc_alloc_array(t->cm.g->cx, 2, sizeof *parts);
    parts[0] = copy_of(t, t->kept[place]);
    parts[1] = compute_fresh(t, n);
    t->strips[place] = join(t, n->node, n->dim, parts, 2);
    struct nuc_meta meta = rows_meta(n, n->rows);
    nuc_set_val(t->cm.g, t->strips[place], &meta);
    label_rows(t->cm.g, t->strips[place], "", n->rows);
}

/* Behind the last node that reads a value: what the next strip reads of it, too, so that the rest is free. */
static void keep_rows(struct cutting *t, uint32_t place)
{
    for (uint32_t i = 0; i <= place; i++) {
        const struct nuc_strip_node *now = &t->nodes[i];
        struct nuc_rows kept = nuc_kept_rows(&t->stage.nodes[i]);
        if (t->last[i] != place || t->owner[i] != i || nuc_no_rows(kept))
            continue;
        struct nuc_rows part = {kept.low - now->rows.low, kept.high - now->rows.low};
        t->kept[i] = copy_of(t, rows_view(t, t->strips[i], now->dim, part));
        label_rows(t->cm.g, t->kept[i], "kept ", kept);
    }
}

void nuc_cut_into_strips(struct nuc_graph *g, const struct nuc_target *target, const struct nuc_strips *strips)
{
    const struct nuc_cortexm_options options = {.cpu = target->cpu};
    struct cutting t = {.cm = {g, &options}};
    struct nuc_node *cut = nuc_find_node(g, strips->cut);
    const struct nuc_node *from = strips->from == NULL ? NULL : nuc_find_node(g, strips->from);

    if (cut == NULL || (strips->from != NULL && from == NULL) || !nuc_strip_stage(g, cut, from, &t.stage))
        nuc_fail(g->cx, NUC_INTERNAL, "%s: %s has no strips", g->file, strips->cut);
    uint32_t n = t.stage.n;
    struct nuc_node **parts = nuc_alloc_array(g->cx, (size_t)strips->count, sizeof(struct nuc_node *));
    t.nodes = nuc_alloc_array(g->cx, n, sizeof *t.nodes);
    t.owner = nuc_alloc_array(g->cx, n, sizeof *t.owner);
    t.last = nuc_last_readers(&t.stage, t.owner);
    t.strips = nuc_alloc_array(g->cx, n, sizeof *t.strips);
    t.kept = nuc_alloc_array(g->cx, n, sizeof *t.kept);
    t.before = cut;
    for (int64_t i = 0; i < strips->count; i++) {
        if (!nuc_next_strip(&t.stage, strips, i, t.nodes))
            nuc_fail(g->cx, NUC_INTERNAL, "%s: strip %lld of %s reads nothing", g->file, (long long)i, strips->cut);
        for (uint32_t k = 0; k < n; k++) {
            compute_strip(&t, k);
            keep_rows(&t, k);
        }
        parts[i] = t.strips[n - 1];
    }
    struct nuc_node *joined = join(&t, cut, t.nodes[n - 1].dim, parts, (uint32_t)strips->count);
    nuc_set_val(g, joined, &cut->vals[0]);
    nuc_replace_uses(g, cut, joined, NULL);
    nuc_remove_dead(g);
    nuc_rename(g, joined, strips->cut);
}
