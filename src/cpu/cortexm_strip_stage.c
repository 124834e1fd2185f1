#include "cpu/strip_stage.h"

#include "ir/args.h"
#include "ir/conv_args.h"
#include "ir/op_list.h"
#include "rewrite/rewrite.h"

/* ---- rows ---- */

bool nuc_rows_read(const struct nuc_strip_node *n, struct nuc_rows rows, struct nuc_rows *read, int64_t outside[2])
{
    const struct nuc_axis *a = &n->reads->operands[0].axis;
    int64_t height = nuc_input_meta(n->node, n->reads->operands[0].arg)->sizes[a->from];
    int64_t low = a->start + rows.low * a->step;
    int64_t high = a->start + (rows.high - 1) * a->step + (a->taps - 1) * a->dilation + 1;

    outside[0] = low < 0 ? -low : 0;
    outside[1] = high > height ? high - height : 0;
    *read = (struct nuc_rows){low + outside[0], high - outside[1]};
    return read->low < read->high;
}

static void unite(struct nuc_rows *rows, struct nuc_rows more)
{
    if (nuc_no_rows(*rows)) {
        *rows = more;
        return;
    }
    rows->low = more.low < rows->low ? more.low : rows->low;
    rows->high = more.high > rows->high ? more.high : rows->high;
}

/* `rows` are what the strip reads. */
static void set_fresh(struct nuc_strip_node *n)
{
    struct nuc_rows held = n->held;

    if (nuc_no_rows(n->rows) || (held.low <= n->rows.low && n->rows.high <= held.high)) {
        n->rows = held;
        n->fresh = (struct nuc_rows){held.high, held.high};
        return;
    }
    n->fresh = n->rows;
    if (held.low <= n->rows.low && n->rows.low < held.high)
        n->fresh.low = held.high;
}

static bool read_rows(struct nuc_strip_stage *s, const struct nuc_strip_node *n)
{
    struct nuc_rows read;
    int64_t outside[2];

    if (!nuc_rows_read(n, n->fresh, &read, outside))
        return false;
    for (uint32_t k = 0; k < n->reads->count; k++) {
        uint32_t place = s->place[nuc_operand(s->g, n->node, n->reads->operands[k].arg)->id];
        if (place != 0)
            unite(&s->nodes[place - 1].rows, read);
    }
    return true;
}

/*
 * Sets the rows of all nodes for strip `strip` of the cut, the one after that of the last call; none after the last.
 * False when a window lies in the padding alone.
 */
static bool rows_of_strip(struct nuc_strip_stage *s, const struct nuc_strips *strips, int64_t strip)
{
    struct nuc_strip_node *cut = &s->nodes[s->n - 1];
    int64_t height = s->cut->vals[0].sizes[cut->dim], low = strip * strips->rows, high = low + strips->rows;

    for (uint32_t i = 0; i < s->n; i++) {
        struct nuc_strip_node *n = &s->nodes[i];
        n->held = strip > 0 && strips->keep != NULL && strips->keep[i] ? n->rows : (struct nuc_rows){0, 0};
        n->rows = n->fresh = (struct nuc_rows){0, 0};
    }
    if (strip == strips->count)
        return true;
    cut->rows = (struct nuc_rows){low, high < height ? high : height};
    for (uint32_t i = s->n; i-- > 0;) {
        set_fresh(&s->nodes[i]);
        if (!nuc_no_rows(s->nodes[i].fresh) && !read_rows(s, &s->nodes[i]))
            return false;
    }
    return true;
}

bool nuc_next_strip(struct nuc_strip_stage *s, const struct nuc_strips *strips, int64_t strip,
                    struct nuc_strip_node *now)
{
    if (strip == 0 && !rows_of_strip(s, strips, 0))
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        now[i] = s->nodes[i];
    return rows_of_strip(s, strips, strip + 1);
}

bool nuc_is_strip_view(const struct nuc_node *node)
{
    return node->op == NUC_OP_NUCLEON_PERMUTE_VIEW;
}

uint32_t *nuc_last_readers(const struct nuc_strip_stage *s, uint32_t *owner)
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
            if (nuc_is_strip_view(s->nodes[i].node))
                owner[i] = owner[place - 1];
            last[owner[place - 1]] = i;
        }
    }
    return last;
}

/* ---- which operators ---- */

/* The outermost dimension in memory with more than one index; the rank when there is none. */
static uint32_t outermost(const struct nuc_meta *m)
{
    for (uint32_t i = 0; i < m->rank; i++) {
        if (m->sizes[m->dim_order[i]] > 1)
            return m->dim_order[i];
    }
    return m->rank;
}

bool nuc_has_paddings(const struct nuc_node *node, const struct nuc_axis *rows)
{
    return rows->kind == NUC_AXIS_WINDOW && nuc_arg_node(node, NUC_CONV_WEIGHT) != NULL;
}

/* An int8 operator of the CPU. A permutation with bytes of its own reads them in no order of rows. */
static bool is_known(const struct nuc_node *node)
{
    return nuc_op_family(node->op) == NUC_FAMILY_CORTEXM || nuc_is_strip_view(node) ||
           nuc_op_is_in(node->op, NUC_OPS(NUC_OP_CORTEXM_QUANTIZE, NUC_OP_NUCLEON_QUANTIZE, NUC_OP_CORTEXM_DEQUANTIZE));
}

/* Kernels go over whole rows of images. Those of pools have one padding for both ends of any strip. */
static bool has_strips_of_windows(const struct nuc_node *node, const struct nuc_axis *rows)
{
    bool alike = rows->start == 0 && rows->dilation == 1 && !nuc_flag(node, nuc_arg_named(node, "ceil_mode"));

    return rows->kind == NUC_AXIS_WINDOW && rows->to == 2 && rows->taps > 0 && (nuc_has_paddings(node, rows) || alike);
}

/* What is read in rows lies in rows, and does so in a memory that has addresses. */
static bool lies_in_rows(const struct nuc_node *in, const struct nuc_axis *rows)
{
    return in->n_vals == 1 && !in->is_tuple && !nuc_is_static(in) && rows->from_end == rows->from + 1 &&
           nuc_is_outermost(&in->vals[0], rows->from);
}

/*
 * The operator computes rows of dimension `dim` of its result alone: every operand is read in rows, or the same for all
 * rows.
 */
static bool computes_rows(const struct nuc_node *node, uint32_t dim, struct nuc_strip_reads *reads)
{
    *reads = (struct nuc_strip_reads){.count = 0};
    if (!nuc_is_call(node) || !is_known(node) || node->n_vals != 1 || !nuc_is_outermost(&node->vals[0], dim))
        return false;
    for (uint32_t i = 0; i < node->n_args; i++) {
        const struct nuc_node *in = nuc_arg_node(node, i);
        struct nuc_axis_map map;
        bool mapped = nuc_axis_map(node, 0, i, 0, &map);
        const struct nuc_axis *axis = mapped ? nuc_axis_to(&map, dim) : NULL;
        if (i == NUC_SELF && !mapped)
            return false;
        if (mapped && nuc_has_axis(&map, NUC_AXIS_WINDOW) && (axis == NULL || !has_strips_of_windows(node, axis)))
            return false;
        if (axis == NULL || (axis->kind == NUC_AXIS_ELEMENT && axis->step == 0)) /* broadcast along the rows */
            continue;
        if (axis->kind == NUC_AXIS_WHOLE || !lies_in_rows(in, axis) || reads->count == NUC_MOST_STRIP_OPERANDS)
            return false;
        reads->operands[reads->count++] = (struct nuc_strip_operand){i, *axis};
    }
    return reads->count > 0;
}

bool nuc_has_strips(const struct nuc_node *node)
{
    struct nuc_strip_reads reads;

    if (!nuc_is_call(node) || node->n_vals != 1 || node->is_tuple || nuc_is_strip_view(node))
        return false;
    uint32_t dim = outermost(&node->vals[0]);
    return dim < node->vals[0].rank && computes_rows(node, dim, &reads);
}

/* ---- the stage ---- */

static bool all_users_inside(const struct nuc_strip_stage *s, const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (s->place[node->users[i]->id] == 0)
            return false;
    }
    return true;
}

/* One value is read in rows of one dimension, or the reader does not belong to the stage. */
static bool want_operands(struct nuc_strip_stage *s, const struct nuc_node *node, const struct nuc_strip_reads *reads)
{
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t k = 0; k < reads->count; k++) {
            const struct nuc_strip_operand *o = &reads->operands[k];
            uint32_t *wanted = &s->dim_of[nuc_operand(s->g, node, o->arg)->id], rows = 1 + o->axis.from;
            if (pass == 0 && *wanted != 0 && *wanted != rows)
                return false;
            if (pass == 1)
                *wanted = rows;
        }
    }
    return true;
}

bool nuc_strip_stage(struct nuc_graph *g, struct nuc_node *cut, const struct nuc_node *from,
                     struct nuc_strip_stage *out)
{
    size_t ids = (size_t)g->next_id + 1;
    bool reaches_from = from == NULL;

    *out = (struct nuc_strip_stage){.g = g,
                                    .cut = cut,
                                    .nodes = nuc_alloc_array(g->cx, ids, sizeof *out->nodes),
                                    .place = nuc_alloc_array(g->cx, ids, sizeof *out->place),
                                    .dim_of = nuc_alloc_array(g->cx, ids, sizeof *out->dim_of)};
    if (!nuc_has_strips(cut))
        return false;
    out->dim_of[cut->id] = 1 + outermost(&cut->vals[0]);
    for (struct nuc_node *n = cut; n != NULL; n = n->prev) {
        uint32_t dim = out->dim_of[n->id] - 1;
        struct nuc_strip_reads reads;
        if (out->dim_of[n->id] == 0)
            continue;
        reaches_from = reaches_from || n == from;
        if (n == from || !computes_rows(n, dim, &reads) || (n != cut && !all_users_inside(out, n)) ||
            !want_operands(out, n, &reads)) {
            if (n == cut)
                return false;
            continue;
        }
        out->nodes[out->n++] =
            (struct nuc_strip_node){.node = n,
                                    .dim = dim,
                                    .reads = nuc_copy(g->cx, &reads, sizeof reads),
                                    .row_bytes = nuc_bytes(&n->vals[0]) / (uint64_t)n->vals[0].sizes[dim]};
        out->place[n->id] = out->n;
    }
    for (uint32_t i = 0; i < out->n / 2; i++) {
        struct nuc_strip_node other = out->nodes[i];
        out->nodes[i] = out->nodes[out->n - 1 - i];
        out->nodes[out->n - 1 - i] = other;
    }
    for (uint32_t i = 0; i < out->n; i++)
        out->place[out->nodes[i].node->id] = 1 + i;
    return reaches_from;
}

bool nuc_is_read_in_windows(const struct nuc_strip_stage *s, uint32_t place)
{
    const struct nuc_node *node = s->nodes[place].node;
    bool windows = place + 1 < s->n && node->n_users > 1; /* readers may be at different heights */

    for (uint32_t i = 0; i < node->n_users && place + 1 < s->n && !windows; i++) {
        const struct nuc_node *user = node->users[i];
        uint32_t at = s->place[user->id] - 1;
        windows =
            nuc_is_strip_view(user) ? nuc_is_read_in_windows(s, at) : s->nodes[at].reads->operands[0].axis.taps > 1;
    }
    return windows;
}
