/*
 * Rows of linear layers and norms that are known: those that a padding has made, which are all alike, and constants. A
 * layer changes places with the views, permutations and paddings next to it, which move rows as a whole.
 */
#include "rewrite/npu_forms/npu_forms.h"

#include <math.h>
#include <string.h>

#include "ir/axis_map.h"
#include "npu/support/estimate.h"
#include "rewrite/known.h"

static int64_t width(const struct nuc_node *x)
{
    return x->vals[0].rank > 0 ? x->vals[0].sizes[x->vals[0].rank - 1] : 0;
}

/* Values in a row that a layer reads. */
static int64_t depth(const struct nuc_node *layer)
{
    const struct nuc_meta *in = nuc_input_meta(layer, NUC_SELF);

    return in->rank > 0 ? in->sizes[in->rank - 1] : 0;
}

static int64_t rows(const struct nuc_node *x)
{
    return nuc_elements(&x->vals[0]) / width(x);
}

/* What a value has the rows of, which are some of them in another order; NULL: of none. */
static struct nuc_node *source_of_rows(const struct nuc_node *x)
{
    struct nuc_node *source = nuc_is_call(x) ? nuc_arg_node(x, NUC_SELF) : NULL;
    struct nuc_axis_map map;

    if (!nuc_is_float_value(x) || !nuc_is_float_value(source) || width(source) != width(x) || nuc_is_written(source) ||
        !(nuc_op_rearranges(x->op) || x->op == NUC_OP_SLICE))
        return NULL;
    const struct nuc_axis *last =
        nuc_axis_map(x, 0, NUC_SELF, 0, &map) ? nuc_axis_to(&map, x->vals[0].rank - 1u) : NULL;
    bool whole = last != NULL && last->kind == NUC_AXIS_ELEMENT && nuc_is_single_axis(last) &&
                 last->from_end == source->vals[0].rank && last->start == 0;
    return whole ? source : NULL;
}

/* The first in front of a value that does not move rows alone, where nothing else reads what lies between. */
static struct nuc_node *behind_moves(struct nuc_node *x)
{
    for (struct nuc_node *source; x->n_users == 1 && (source = source_of_rows(x)) != NULL;)
        x = source;
    return x;
}

/* The moves from `from` to `x` once more, of rows of another width. */
static struct nuc_node *moved(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x,
                              const struct nuc_node *from, struct nuc_node *to)
{
    if (x == from)
        return to;
    struct nuc_node *inner = moved(g, node, source_of_rows(x), from, to);
    struct nuc_meta out = x->vals[0];
    out.sizes[out.rank - 1] = width(to);
    if (nuc_op_family(x->op) == NUC_FAMILY_COPY)
        return inner;
    if (nuc_op_family(x->op) == NUC_FAMILY_VIEW)
        return nuc_insert_reshaped(g, node, inner, out.sizes, out.rank);
    return nuc_emit_like(g, node, x, NUC_ARGS(inner));
}

static bool is_layer(const struct nuc_node *x)
{
    const struct nuc_node *weight = x->op == NUC_OP_LINEAR ? nuc_arg_node(x, NUC_ARG(LINEAR, weight)) : NULL;
    const struct nuc_node *bias = weight != NULL ? nuc_arg_node(x, NUC_ARG(LINEAR, bias)) : NULL;

    return nuc_is_float_value(x) && nuc_is_float_value(weight) && nuc_is_static(weight) &&
           nuc_is_float_value(nuc_arg_node(x, NUC_SELF)) && (bias == NULL || nuc_is_static(bias));
}

/* Whether that many rows fewer are worth moves of so many more values. */
static bool saves(const struct nuc_support *s, const struct nuc_node *layer, int64_t fewer, uint64_t moves)
{
    uint64_t n = (uint64_t)rows(layer), columns = (uint64_t)width(layer), k = (uint64_t)depth(layer);

    return fewer > 0 && nuc_estimate_product(s->target, n, columns, k) >
                            moves + nuc_estimate_product(s->target, n - (uint64_t)fewer, columns, k);
}

/* ---- rows that are padded ---- */

/* The padding of rows in front of a layer, which adds as many as `count` says; NULL: there is none. */
static struct nuc_node *padding_of(const struct nuc_node *layer, int64_t *count)
{
    struct nuc_node *x = nuc_arg_node(layer, NUC_SELF), *pad = x != NULL ? behind_moves(x) : NULL;
    const struct nuc_arg *pairs = pad != NULL && pad->op == NUC_OP_PAD ? nuc_arg_at(pad, NUC_ARG(PAD, pad)) : NULL;
    const struct nuc_arg *mode = pairs != NULL ? nuc_arg_at(pad, NUC_ARG(PAD, mode)) : NULL;

    x = pairs != NULL ? nuc_arg_node(pad, NUC_SELF) : NULL;
    if (!nuc_is_float_value(x) || pad->n_users != 1 || pairs->kind != NUC_ARG_INTS || width(x) != width(pad) ||
        (mode->kind == NUC_ARG_STRING && strcmp(mode->u.string, "constant") != 0))
        return NULL;
    for (uint32_t i = 0; i < pairs->count; i++) {
        if (pairs->u.ints[i] < 0 || (i < 2 && pairs->u.ints[i] != 0))
            return NULL;
    }
    *count = rows(pad) - rows(x);
    return pad;
}

/* What the layer makes of a row of one value. */
static float *padded_row(struct nuc_graph *g, const struct nuc_node *layer, double value)
{
    const struct nuc_node *bias = nuc_arg_node(layer, NUC_ARG(LINEAR, bias));
    const float *w = nuc_const_contiguous(g, nuc_operand(g, layer, NUC_ARG(LINEAR, weight)));
    const float *b = bias != NULL ? nuc_const_contiguous(g, bias) : NULL;
    size_t columns = (size_t)width(layer), n = (size_t)depth(layer);
    float *row = nuc_alloc_array(g->cx, columns, sizeof *row);

    for (size_t i = 0; i < columns; i++) {
        double sum = 0;
        for (size_t k = 0; k < n; k++)
            sum += (double)w[i * n + k];
        row[i] = (float)(value * sum + (b != NULL ? (double)b[i] : 0));
    }
    return row;
}

/* `count` rows that are all alike, as many along the others as `like` has. */
static struct nuc_node *repeated(struct nuc_graph *g, struct nuc_node *node, const struct nuc_node *like, uint32_t dim,
                                 int64_t count, const float *row)
{
    struct nuc_meta m = nuc_meta_make(NUC_F32, like->vals[0].sizes, like->vals[0].rank);
    size_t columns = (size_t)width(like);

    m.sizes[dim] = count;
    size_t total = (size_t)nuc_elements(&m);
    float *values = nuc_alloc_array(g->cx, total, sizeof *values);
    for (size_t i = 0; i < total; i++)
        values[i] = row[i % columns];
    return nuc_insert_floats(g, node, values, m.sizes, m.rank);
}

static struct nuc_node *form_padded_layer(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_graph *g = s->g;
    const struct nuc_node *x = nuc_arg_node(node, NUC_SELF);
    int64_t count;
    struct nuc_node *pad = is_layer(node) && x != NULL && x->n_users == 1 ? padding_of(node, &count) : NULL;

    if (pad == NULL || !saves(s, node, count, 2 * nuc_estimate_move(s->target, (uint64_t)(rows(node) * width(node)))))
        return NULL;
    const struct nuc_arg *pairs = nuc_arg_at(pad, NUC_ARG(PAD, pad));
    const float *row = padded_row(g, node, nuc_scalar(pad, NUC_ARG(PAD, value), 0.0));
    struct nuc_node *value = nuc_emit_like(g, node, node, NUC_ARGS(nuc_operand(g, pad, NUC_SELF)));
    for (uint32_t i = 2; i < pairs->count; i += 2) {
        uint32_t dim = pad->vals[0].rank - 1u - i / 2, n = 0;
        const int64_t *pair = &pairs->u.ints[i];
        struct nuc_node *parts[3];
        if (pair[0] > 0)
            parts[n++] = repeated(g, node, value, dim, pair[0], row);
        parts[n++] = value;
        if (pair[1] > 0)
            parts[n++] = repeated(g, node, value, dim, pair[1], row);
        if (n > 1)
            value = nuc_insert_cat(g, node, parts, n, dim);
    }
    return moved(g, node, nuc_operand(g, node, NUC_SELF), pad, value);
}

/* ---- rows of a norm that are known ---- */

static bool moves(const struct nuc_node *x)
{
    return nuc_is_call(x) && nuc_is_float_value(x) && !nuc_is_written(x) &&
           (nuc_op_rearranges(x->op) || x->op == NUC_OP_SLICE || x->op == NUC_OP_CAT);
}

#define DEEPEST 16

/* Some of a value is constant, behind what moves it. */
static bool joins_constants(const struct nuc_node *x, unsigned depth)
{
    struct nuc_cursor at = {0, 0};
    bool some = false;

    for (const struct nuc_node *from; depth > 0 && !some && moves(x) && (from = nuc_next_input(x, &at)) != NULL;)
        some = nuc_is_static(from) ? x->op == NUC_OP_CAT : joins_constants(from, depth - 1);
    return some;
}

/* The value once more, with a NaN for each element that is not constant. */
static struct nuc_node *with_unknown(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x, unsigned depth)
{
    if (nuc_is_static(x))
        return x;
    if (depth == 0 || !moves(x))
        return nuc_insert_filled(g, node, &x->vals[0], (double)NAN);
    if (x->op == NUC_OP_CAT) {
        uint32_t count = nuc_arg_at(x, NUC_ARG(CAT, tensors))->count;
        struct nuc_node **parts = nuc_alloc_array(g->cx, count, sizeof(struct nuc_node *));
        for (uint32_t i = 0; i < count; i++)
            parts[i] = with_unknown(g, node, nuc_arg_at(x, NUC_ARG(CAT, tensors))->u.nodes[i], depth - 1);
        return nuc_insert_cat(g, node, parts, count, nuc_dim(x, NUC_ARG(CAT, dim), 0, x->vals[0].rank));
    }
    return nuc_emit_like(g, node, x, NUC_ARGS(with_unknown(g, node, nuc_operand(g, x, NUC_SELF), depth - 1)));
}

/* Which rows of what a norm reads are constant: places along one dimension, for all others. */
struct known_rows {
    const float *values; /* of all rows */
    uint32_t dim;
    bool *known;
    int64_t count, size; /* places that are known, of all */
    int64_t runs;        /* of places that are all known or not */
};

static void find_along(struct nuc_graph *g, const struct nuc_meta *m, uint32_t dim, struct known_rows *k)
{
    struct known_rows r = {.values = k->values, .dim = dim, .size = m->sizes[dim]};
    int64_t inner = nuc_elements_between(m, dim + 1, m->rank);

    r.known = nuc_alloc_array(g->cx, (size_t)r.size, sizeof *r.known);
    memset(r.known, 1, (size_t)r.size * sizeof *r.known);
    for (int64_t i = 0; i < nuc_elements(m); i++)
        r.known[i / inner % r.size] = r.known[i / inner % r.size] && !isnan(r.values[i]);
    for (int64_t i = 0; i < r.size; i++) {
        r.count += r.known[i];
        r.runs += i == 0 || r.known[i] != r.known[i - 1];
    }
    if (r.count > k->count)
        *k = r;
}

static struct known_rows known_rows_of(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF), *before = node->prev;
    const struct nuc_arg *shape = nuc_arg_at(node, nuc_arg_named(node, "normalized_shape"));
    struct known_rows k = {.values = nuc_known_value(g, with_unknown(g, node, x, DEEPEST))};

    while (node->prev != before)
        nuc_remove_node(g, node->prev);
    for (uint32_t d = 0; k.values != NULL && d + shape->count < x->vals[0].rank; d++)
        find_along(g, &x->vals[0], d, &k);
    return k;
}

/* Whether a CPU takes longer for the rows that are known than for a copy of each run. */
static bool saves_rows(const struct nuc_support *s, const struct nuc_node *norm, const struct known_rows *k)
{
    if (k->count == 0 || k->count == k->size)
        return false;
    uint64_t copy = nuc_estimate_move(s->target, (uint64_t)(nuc_elements(&norm->vals[0]) / k->runs));
    return nuc_estimate_cpu(s->target, norm, false) * (uint64_t)k->count / (uint64_t)k->size > (uint64_t)k->runs * copy;
}

/*
 * What the norm makes of those that are not known, between what it makes of the others. An NPU takes less for these,
 * and rounds them: those of a token of classes have few steps in the range of the others.
 */
static struct nuc_node *form_norm_of_unknown(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_graph *g = s->g;
    struct nuc_node *x = nuc_arg_node(node, NUC_SELF), *rest, *all;

    if (!nuc_is_float_value(node) || !nuc_is_float_value(x) || x->vals[0].rank != node->vals[0].rank ||
        !joins_constants(x, DEEPEST))
        return NULL;
    const struct known_rows k = known_rows_of(g, node);
    if (!saves_rows(s, node, &k))
        return NULL;
    struct nuc_node **parts = nuc_alloc_array(g->cx, (size_t)k.runs, sizeof(struct nuc_node *));
    int64_t *at = nuc_alloc_array(g->cx, (size_t)k.size, sizeof *at), n = 0;
    for (int64_t i = 0; i < k.size; i++) {
        at[n] = i;
        n += !k.known[i];
    }
    rest = nuc_emit_like(g, node, node, NUC_ARGS(nuc_insert_places(g, node, x, k.dim, at, n)));
    all = nuc_insert_floats(g, node, k.values, x->vals[0].sizes, x->vals[0].rank);
    all = nuc_insert_known(g, node, nuc_emit_like(g, node, node, NUC_ARGS(all)));
    n = 0;
    for (int64_t i = 0, run = 0, end; i < k.size; i = end, run++) {
        for (end = i + 1; end < k.size && k.known[end] == k.known[i];)
            end++;
        parts[run] = k.known[i] ? nuc_insert_known(g, node, nuc_insert_part(g, node, all, k.dim, i, end))
                                : nuc_insert_part(g, node, rest, k.dim, n, n + end - i);
        n += k.known[i] ? 0 : end - i;
    }
    return nuc_insert_cat(g, node, parts, (uint32_t)k.runs, k.dim);
}

/* A norm reads the value, perhaps behind moves. */
static bool is_normalized(const struct nuc_node *x, unsigned depth)
{
    bool found = false;

    for (uint32_t i = 0; i < x->n_users && !found; i++) {
        const struct nuc_node *user = x->users[i];
        found = user->op == NUC_OP_LAYER_NORM || user->op == NUC_OP_RMS_NORM ||
                (depth > 0 && moves(user) && is_normalized(user, depth - 1));
    }
    return found;
}

/*
 * A concatenation with a constant, as of the tokens of classes, and a constant that has all of its rows, as the
 * concatenation of sums, those of constants computed.
 */
static struct nuc_node *form_sums_of_parts(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_graph *g = s->g;
    struct nuc_node *x = nuc_arg_node(node, NUC_SELF), *other = nuc_arg_node(node, NUC_OTHER);
    uint32_t n_static = 0;

    if (!nuc_is_float_value(node) || !nuc_is_float_value(x) || x->op != NUC_OP_CAT || nuc_is_written(x) ||
        !nuc_is_static_float(other) || !nuc_same_sizes(&other->vals[0], &node->vals[0]) ||
        !nuc_same_sizes(&x->vals[0], &node->vals[0]) || !is_normalized(node, DEEPEST))
        return NULL;
    const struct nuc_arg *list = nuc_arg_at(x, NUC_ARG(CAT, tensors));
    for (uint32_t i = 0; i < list->count; i++) {
        if (nuc_is_written(list->u.nodes[i]))
            return NULL;
        n_static += nuc_is_static_float(list->u.nodes[i]);
    }
    if (n_static == 0 || n_static == list->count)
        return NULL;
    uint32_t dim = (uint32_t)nuc_dim(x, NUC_ARG(CAT, dim), 0, x->vals[0].rank);
    struct nuc_node **parts = nuc_alloc_array(g->cx, list->count, sizeof(struct nuc_node *));
    int64_t start = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        struct nuc_node *part = list->u.nodes[i], *rest;
        int64_t n = part->vals[0].sizes[dim];
        rest = nuc_insert_known(g, node, nuc_insert_part(g, node, other, dim, start, start + n));
        parts[i] = nuc_emit_like(g, node, node, NUC_ARGS(part, rest));
        parts[i] = nuc_is_static(part) ? nuc_insert_known(g, node, parts[i]) : parts[i];
        start += n;
    }
    return nuc_insert_cat(g, node, parts, list->count, dim);
}

/* ---- the forms ---- */

const struct nuc_npu_form nuc_row_forms[] = {
    {NUC_OPS(NUC_OP_LINEAR), form_padded_layer},
    {NUC_OPS(NUC_OP_ADD), form_sums_of_parts},
    {NUC_OPS(NUC_OP_LAYER_NORM, NUC_OP_RMS_NORM), form_norm_of_unknown},
    {.form = NULL},
};
