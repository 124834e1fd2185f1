/*
 * What moves, repeats or leaves out values: the NPU slices, joins and pads. Every int8 value stays what it was, since
 * such operators have the parameters of their input.
 */
#include "rewrite/npu_forms/npu_forms.h"

#include <string.h>

#include "npu/support/estimate.h"
#include "npu/support/kernel_cycles.h"
#include "rewrite/known.h"
#include "rewrite/pieces.h"

/* ---- cycles ---- */

/* The value leaves the program behind views of it, so that no partition ends for it. */
static bool leaves(const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        bool passes = user->op == NUC_OP_GETITEM || nuc_op_family(user->op) == NUC_FAMILY_VIEW;
        if (user->op != NUC_OP_OUTPUT && !(passes && leaves(user)))
            return false;
    }
    return true;
}

/* It comes from outside or leaves. */
static bool is_at_boundary(const struct nuc_node *node)
{
    const struct nuc_node *input = nuc_arg_node(node, NUC_SELF);

    return leaves(node) || (input != NULL && nuc_is_placeholder(input) && !nuc_is_static(input));
}

/*
 * On the CPU, which takes so many operators for it, the value leaves the NPU and comes back: the call of another
 * partition, both values in another order, in float where there are no int8 kernels.
 */
static uint64_t cycles_of_cpu(const struct nuc_support *s, const struct nuc_node *node, uint64_t operators)
{
    const struct nuc_costs *c = &s->target->costs;
    uint64_t in = (uint64_t)nuc_elements(nuc_input_meta(node, NUC_SELF)), out = (uint64_t)nuc_elements(&node->vals[0]);
    bool in_float = s->target->cpu == NULL;
    uint64_t cycles = operators * nuc_estimate_cpu(s->target, node, in_float);

    if (is_at_boundary(node))
        return cycles;
    cycles += c->npu_call + nuc_estimate_move(s->target, in) + nuc_estimate_move(s->target, out);
    return in_float ? cycles + nuc_cpu_cycles(&c->int8, (double)(in + out), c->int8.element) : cycles;
}

/*
 * So many calls, each of which moves as many values as the operator makes. A concatenation is a copy of each operand to
 * its place, which a slice in front of it is part of.
 */
static bool gains(const struct nuc_support *s, const struct nuc_node *node, uint64_t calls, uint64_t operators)
{
    uint64_t move = nuc_estimate_move(s->target, (uint64_t)nuc_elements(&node->vals[0]));

    return calls * move <= cycles_of_cpu(s, node, operators);
}

static bool is_real(const struct nuc_node *node)
{
    const struct nuc_meta *in = nuc_input_meta(node, NUC_SELF);

    return in->dtype == NUC_F32 && nuc_elements(in) > 0 && node->n_vals > 0 && nuc_elements(&node->vals[0]) > 0;
}

static uint64_t calls_of_times(int64_t times)
{
    uint64_t calls = 0;

    for (int64_t n = 1; n < times; n *= 2)
        calls++;
    return calls;
}

/* ---- copies of one value ---- */

/* A concatenation of one value, several times; NULL: of others. */
static struct nuc_node *copied(const struct nuc_node *cat)
{
    const struct nuc_arg *list = nuc_arg_at(cat, NUC_ARG(CAT, tensors));

    if (cat->op != NUC_OP_CAT || list->kind != NUC_ARG_NODES || list->count < 2)
        return NULL;
    for (uint32_t i = 1; i < list->count; i++) {
        if (list->u.nodes[i] != list->u.nodes[0])
            return NULL;
    }
    return list->u.nodes[0];
}

/* An expansion is a product with as many ones, which are stored. */
#define MAX_ONES ((int64_t)1 << 14)

/* Along a dimension of one element a value expands, as large as the result may be. */
static bool is_expansion(const struct nuc_node *cat)
{
    const struct nuc_node *value = copied(cat);

    return value != NULL && nuc_elements(&cat->vals[0]) <= MAX_ONES &&
           value->vals[0].sizes[nuc_dim(cat, NUC_ARG(CAT, dim), 0, cat->vals[0].rank)] == 1;
}

/*
 * Each copy is moved to its place: from four on there are twice as many with every concatenation. An expansion takes
 * one call, with all that follow it.
 */
static struct nuc_node *form_fewer_copies(const struct nuc_support *s, struct nuc_node *node)
{
    const struct nuc_meta *m = &node->vals[0];
    struct nuc_node *value = copied(node);
    bool expands = is_expansion(node), goes_on = expands && node->n_users == 1 && is_expansion(node->users[0]);
    uint32_t count = nuc_arg_at(node, NUC_ARG(CAT, tensors))->count;

    if (value == NULL || nuc_elements(m) == 0 || m->dtype != NUC_F32 || nuc_is_static(value) || goes_on ||
        (count <= 3 && !(expands && (count > 2 || is_expansion(value)))))
        return NULL;
    if (!expands)
        return nuc_built(s, node, "times_over", NUC_ARGS(value, nuc_dim(node, NUC_ARG(CAT, dim), 0, m->rank), count));
    while (is_expansion(value))
        value = copied(value);
    return nuc_insert_expanded(s->g, node, value, m->sizes, m->rank);
}

/* ---- elements by constant places ---- */

struct nuc_places nuc_places_of(struct nuc_graph *g, const struct nuc_node *node)
{
    const struct nuc_arg *list = nuc_arg_at(node, NUC_ARG(INDEX, indices));
    struct nuc_places none = {.at = NULL}, p = none;
    struct nuc_node *index = NULL;

    if (node->op == NUC_OP_INDEX_SELECT) {
        index = nuc_arg_node(node, NUC_ARG(INDEX_SELECT, index));
        p.dim = (uint32_t)nuc_dim(node, NUC_ARG(INDEX_SELECT, dim), 0, nuc_input_meta(node, NUC_SELF)->rank);
    }
    for (uint32_t i = 0; node->op == NUC_OP_INDEX && list->kind == NUC_ARG_NODES && i < list->count; i++) {
        if (list->u.nodes[i] == NULL)
            continue;
        if (index != NULL)
            return none;
        index = list->u.nodes[i];
        p.dim = i;
    }
    if (index == NULL || index->vals[0].rank != 1 || p.dim >= nuc_input_meta(node, NUC_SELF)->rank)
        return none;
    const int64_t *from = nuc_known_integers(g, index), size = nuc_input_meta(node, NUC_SELF)->sizes[p.dim];
    if (from == NULL)
        return none;
    p.count = nuc_elements(&index->vals[0]);
    int64_t *at = nuc_alloc_array(g->cx, (size_t)p.count + 1, sizeof *at);
    for (int64_t i = 0; i < p.count; i++)
        at[i] = from[i] < 0 ? from[i] + size : from[i];
    p.at = at;
    return p;
}

/* The end of the run that begins at `i`: places next to each other, or each as far from the one before it. */
static int64_t end_of_run(const struct nuc_places *p, int64_t i)
{
    int64_t end = i + 1, step = end < p->count ? p->at[end] - p->at[i] : 0;

    if (step < 1)
        return end;
    while (end < p->count && p->at[end] - p->at[end - 1] == step)
        end++;
    /* Two with others between them are as well taken one by one. */
    return step > 1 && end - i < 3 ? i + 1 : end;
}

static uint64_t runs_of(const struct nuc_places *p)
{
    uint64_t runs = 0;

    for (int64_t i = 0, end; i < p->count; i = end) {
        end = end_of_run(p, i);
        runs += end - i > 1 && p->at[i + 1] > p->at[i] + 1 ? 2 : 1; /* with a step: pieces first */
    }
    return runs;
}

static struct nuc_node *insert_runs(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *value,
                                    const struct nuc_places *p)
{
    struct nuc_node **parts = nuc_alloc_array(g->cx, (size_t)p->count, sizeof(struct nuc_node *));
    uint32_t n = 0;

    for (int64_t i = 0, end; i < p->count; i = end) {
        end = end_of_run(p, i);
        int64_t first = p->at[i], last = p->at[end - 1];
        int64_t step = end - i > 1 ? (last - first) / (end - i - 1) : 1;
        parts[n] = nuc_insert_part(g, node, value, p->dim, first, last + 1);
        if (step > 1) {
            parts[n] = nuc_emit(g, node, NUC_OP_SLICE, node, NUC_ARGS(value, p->dim, first, last + 1, step));
        }
        n++;
    }
    return nuc_insert_joined(g, node, parts, n, p->dim);
}

/* ---- paddings as decomposed archives have them: places that turn back at the ends, or stay there ---- */

struct bent {
    const char *mode; /* NULL: neither */
    int64_t before, after;
};

/* Where a place so many behind an end comes from: counted from that end. */
static int64_t bent_place(const char *mode, int64_t behind)
{
    return strcmp(mode, "reflect") == 0 ? behind : 0;
}

static struct bent bent_of(const struct nuc_places *p, int64_t size)
{
    static const char *const modes[] = {"reflect", "replicate"};

    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        int64_t before = 0, after, i = 0;
        while (before < p->count && p->at[before] != 0)
            before++;
        while (strcmp(modes[m], "replicate") == 0 && before + 1 < p->count && p->at[before + 1] == 0)
            before++;
        after = p->count - before - size;
        if (after < 0 || before + after == 0 || (bent_place(modes[m], 1) == 1 && (before >= size || after >= size)))
            continue;
        for (; i < p->count; i++) {
            int64_t at = i - before, end = at - size + 1;
            int64_t from = at < 0 ? bent_place(modes[m], -at) : end > 0 ? size - 1 - bent_place(modes[m], end) : at;
            if (p->at[i] != from)
                break;
        }
        if (i == p->count)
            return (struct bent){modes[m], before, after};
    }
    return (struct bent){.mode = NULL};
}

/* Of the dimensions of a sequence, an image or a volume behind its channels, as torch's padding has them. */
static struct nuc_node *form_bent_pad(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_graph *g = s->g;
    struct nuc_node *value = nuc_operand(g, node, NUC_SELF);
    struct nuc_places p = nuc_places_of(g, node);
    const uint32_t rank = value->vals[0].rank;

    if (!is_real(node) || p.at == NULL || rank < 3 || rank > 5 || p.dim < 2)
        return NULL;
    struct bent b = bent_of(&p, value->vals[0].sizes[p.dim]);
    if (b.mode == NULL)
        return NULL;
    uint32_t last = rank - 1u, count = 2 * (last - 1), at = 2 * (last - p.dim);
    const struct nuc_arg *others = value->op == NUC_OP_PAD ? nuc_arg_at(value, NUC_ARG(PAD, pad)) : NULL;
    int64_t pads[6] = {0};

    /* Decomposed archives bend each dimension by itself. */
    if (others != NULL && value->n_users == 1 && others->count == count && others->u.ints[at] == 0 &&
        others->u.ints[at + 1] == 0 && strcmp(nuc_arg_at(value, NUC_ARG(PAD, mode))->u.string, b.mode) == 0) {
        memcpy(pads, others->u.ints, count * sizeof *pads);
        value = nuc_operand(g, value, NUC_SELF);
    }
    pads[at] = b.before;
    pads[at + 1] = b.after;
    const struct nuc_arg mode = {.kind = NUC_ARG_STRING, .u.string = b.mode};
    return nuc_emit(g, node, NUC_OP_PAD, node, NUC_ARGS(value, nuc_ints_arg(pads, count), mode));
}

static struct nuc_node *form_runs(const struct nuc_support *s, struct nuc_node *node)
{
    const struct nuc_places p = nuc_places_of(s->g, node);

    if (!is_real(node) || p.at == NULL || p.count == 0 || !gains(s, node, runs_of(&p), 1))
        return NULL;
    return insert_runs(s->g, node, nuc_operand(s->g, node, NUC_SELF), &p);
}

/* flip takes every place of a dimension from the last to the first. */
static struct nuc_node *form_flip(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_node *value = nuc_operand(s->g, node, NUC_SELF);
    const struct nuc_meta *m = &node->vals[0];
    uint32_t mask = nuc_dims_mask(node, NUC_ARG(FLIP, dims), m->rank);
    uint64_t calls = 0;

    for (uint32_t d = 0; d < m->rank; d++)
        calls += (mask >> d & 1u) != 0 && m->sizes[d] > 1 ? (uint64_t)m->sizes[d] : 0;
    if (!is_real(node) || !gains(s, node, calls, 1))
        return NULL;
    for (uint32_t d = 0; d < m->rank; d++) {
        if ((mask >> d & 1u) == 0)
            continue;
        int64_t *at = nuc_alloc_array(s->g->cx, (size_t)m->sizes[d], sizeof *at);
        for (int64_t i = 0; i < m->sizes[d]; i++)
            at[i] = m->sizes[d] - 1 - i;
        value = insert_runs(s->g, node, value, &(struct nuc_places){at, m->sizes[d], d});
    }
    return value;
}

/* ---- slice_scatter ---- */

/* [.., n, ..] as [.., n / length, length, ..]. */
static struct nuc_node *insert_pieces(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *value, uint32_t dim,
                                      int64_t length)
{
    struct nuc_meta m = value->vals[0];
    int64_t pieces[NUC_MAX_RANK];

    memcpy(pieces, m.sizes, dim * sizeof *pieces);
    pieces[dim] = m.sizes[dim] / length;
    pieces[dim + 1] = length;
    for (uint32_t d = dim + 1; d < m.rank; d++)
        pieces[d + 1] = m.sizes[d];
    return nuc_insert_reshaped(g, node, value, pieces, m.rank + 1u);
}

/* A value in pieces as a whole again. */
static struct nuc_node *insert_whole(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *pieces, uint32_t dim)
{
    struct nuc_meta m = pieces->vals[0];

    m.sizes[dim] *= m.sizes[dim + 1];
    for (uint32_t d = dim + 1; d + 1 < m.rank; d++)
        m.sizes[d] = m.sizes[d + 1];
    return nuc_insert_reshaped(g, node, pieces, m.sizes, m.rank - 1u);
}

/* Each `step`-th: an element of each piece of that length. Where the last piece is no whole one, its element is first.
 */
static struct nuc_node *insert_with_step(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *into,
                                         struct nuc_node *src, uint32_t dim, int64_t start, int64_t step)
{
    int64_t size = into->vals[0].sizes[dim], last = src->vals[0].sizes[dim] - 1, total = (last + 1) * step;

    if (total > size) {
        struct nuc_node *element = nuc_insert_part(g, node, src, dim, last, last + 1);
        into = nuc_insert_written(g, node, into, dim, start + last * step, element);
        if (last == 0)
            return into;
        return insert_with_step(g, node, into, nuc_insert_part(g, node, src, dim, 0, last), dim, start, step);
    }
    int64_t begin = start < size - total ? start : size - total;
    struct nuc_node *pieces = nuc_insert_part(g, node, into, dim, begin, begin + total);
    pieces = insert_pieces(g, node, pieces, dim, step);
    src = insert_pieces(g, node, src, dim, 1);
    pieces = insert_whole(g, node, nuc_insert_written(g, node, pieces, dim + 1, start - begin, src), dim);
    return nuc_insert_written(g, node, into, dim, begin, pieces);
}

static struct nuc_node *form_joined_slices(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_node *into = nuc_operand(s->g, node, NUC_SELF);
    struct nuc_node *src = nuc_operand(s->g, node, NUC_ARG(SLICE_SCATTER, src));
    const struct nuc_meta *m = &node->vals[0];
    int64_t dim = nuc_dim(node, NUC_ARG(SLICE_SCATTER, dim), 0, m->rank);
    int64_t step = nuc_integer(node, NUC_ARG(SLICE_SCATTER, step), 1);

    if (!is_real(node) || dim < 0 || dim >= (int64_t)m->rank || nuc_elements(&src->vals[0]) == 0 ||
        (step != 1 && !(step > 1 && nuc_can_view(s, m->rank + 1u))) ||
        (is_at_boundary(node) && !gains(s, node, step > 1 ? 3 : 2, 1)))
        return NULL;
    int64_t start = nuc_slice_end(nuc_integer(node, NUC_ARG(SLICE_SCATTER, start), 0), m->sizes[dim]);
    return step > 1 ? insert_with_step(s->g, node, into, src, (uint32_t)dim, start, step)
                    : nuc_insert_written(s->g, node, into, (uint32_t)dim, start, src);
}

/* ---- parts of concatenations, as values in pieces that are written one after the other are ---- */

/* Whether a value is a concatenation along the dimension, of values that are still there. */
static bool joins_along(const struct nuc_node *x, int64_t dim)
{
    return x != NULL && nuc_is_float_value(x) && nuc_is_in_pieces(x, (uint32_t)dim) && nuc_keeps_pieces(x);
}

struct taken_part {
    struct nuc_node *of; /* NULL: of no float value, or with a step */
    uint32_t dim;
    int64_t start, end;
};

static struct taken_part part_taken(const struct nuc_node *slice)
{
    struct nuc_node *x = nuc_arg_node(slice, NUC_SELF);
    int64_t dim = nuc_dim(slice, NUC_ARG(SLICE, dim), 0, slice->vals[0].rank);

    if (slice->op != NUC_OP_SLICE || !is_real(slice) || nuc_integer(slice, NUC_ARG(SLICE, step), 1) != 1)
        return (struct taken_part){.of = NULL};
    int64_t start = nuc_slice_end(nuc_integer(slice, NUC_ARG(SLICE, start), 0), x->vals[0].sizes[dim]);
    return (struct taken_part){x, (uint32_t)dim, start, start + slice->vals[0].sizes[dim]};
}

/* Of a part along the same dimension. */
static struct nuc_node *form_one_part(const struct nuc_support *s, struct nuc_node *node)
{
    struct taken_part t = part_taken(node), of = {.of = NULL};

    if (t.of != NULL)
        of = part_taken(t.of);
    return of.of != NULL && of.dim == t.dim && !nuc_is_written(of.of)
               ? nuc_insert_part(s->g, node, of.of, t.dim, of.start + t.start, of.start + t.end)
               : NULL;
}

/* Of one part, or of several for another concatenation, which takes them itself. */
static struct nuc_node *form_part_of_cat(const struct nuc_support *s, struct nuc_node *node)
{
    struct taken_part t = part_taken(node);
    bool joined = true;

    if (t.of == NULL || !joins_along(t.of, t.dim))
        return NULL;
    for (uint32_t i = 0; i < node->n_users; i++)
        joined = joined && joins_along(node->users[i], t.dim);
    uint32_t count = nuc_list_pieces(s->g, node, t.of, t.dim, t.start, t.end, NULL);
    if (!joined && count != 1)
        return NULL;
    struct nuc_node **pieces = nuc_alloc_array(s->g->cx, count, sizeof(struct nuc_node *));
    nuc_list_pieces(s->g, node, t.of, t.dim, t.start, t.end, pieces);
    return nuc_insert_joined(s->g, node, pieces, count, t.dim);
}

/* A concatenation that another along the same dimension alone reads; copies of one value stay as many as they are. */
static bool is_inner(const struct nuc_node *x, int64_t dim)
{
    return x->n_users == 1 && joins_along(x, dim) && copied(x) == NULL;
}

/* The first of them in place. */
static struct nuc_node *form_flat_cat(const struct nuc_support *s, struct nuc_node *node)
{
    const struct nuc_arg *list = nuc_arg_at(node, NUC_ARG(CAT, tensors)), *inner;
    int64_t dim = nuc_dim(node, NUC_ARG(CAT, dim), 0, node->vals[0].rank);
    uint32_t i = 0, n = 0;

    if (list->kind != NUC_ARG_NODES || !joins_along(node, dim))
        return NULL;
    while (i < list->count && !is_inner(list->u.nodes[i], dim))
        i++;
    if (i == list->count)
        return NULL;
    inner = nuc_arg_at(list->u.nodes[i], NUC_ARG(CAT, tensors));
    struct nuc_node **parts = nuc_alloc_array(s->g->cx, (size_t)list->count + inner->count, sizeof(struct nuc_node *));
    for (uint32_t k = 0; k < i; k++)
        parts[n++] = list->u.nodes[k];
    for (uint32_t k = 0; k < inner->count; k++)
        parts[n++] = inner->u.nodes[k];
    for (uint32_t k = i + 1; k < list->count; k++)
        parts[n++] = list->u.nodes[k];
    return nuc_insert_cat(s->g, node, parts, n, (uint32_t)dim);
}

/* What is written into zeros is next to parts of a constant. */
static struct nuc_node *form_constant_zeros(const struct nuc_support *s, struct nuc_node *node)
{
    return node->vals[0].dtype == NUC_F32 ? nuc_insert_filled(s->g, node, &node->vals[0], 0) : NULL;
}

/* ---- unfold ---- */

/* Windows next to each other are pieces; of others each place is a slice. */
static struct nuc_node *form_joined_windows(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_node *value = nuc_operand(s->g, node, NUC_SELF);
    const uint32_t rank = node->vals[0].rank;
    int64_t size = nuc_integer(node, NUC_ARG(UNFOLD, size), 1), step = nuc_integer(node, NUC_ARG(UNFOLD, step), 1);
    uint64_t calls = step == size ? 1 : (uint64_t)size * (step > 1 ? 2 : 1);

    if (!is_real(node) || value->vals[0].rank == 0 || size <= 0 || step <= 0 || !nuc_can_view(s, rank) ||
        !gains(s, node, calls, 1))
        return NULL;
    return nuc_built(s, node, "joined_windows",
                     NUC_ARGS(value, nuc_dim(node, NUC_ARG(UNFOLD, dimension), 0, value->vals[0].rank), size, step));
}

/* ---- paddings ---- */

static bool has_mode(const struct nuc_node *pad, const char *name)
{
    const struct nuc_arg *mode = nuc_arg_at(pad, NUC_ARG(PAD, mode));

    return strcmp(mode->kind == NUC_ARG_STRING ? mode->u.string : "constant", name) == 0;
}

/* Pairs from the last dimension on. */
static const struct nuc_arg *pairs_of(const struct nuc_node *pad)
{
    const struct nuc_arg *pairs = nuc_arg_at(pad, NUC_ARG(PAD, pad));
    bool ok = pairs->kind == NUC_ARG_INTS && pairs->count % 2 == 0 && pairs->count / 2 <= pad->vals[0].rank;

    return ok ? pairs : NULL;
}

/*
 * On the NPU a call for each part and dimension. On the CPU an index for each dimension; what goes round is written to
 * each side of it, out of two slices and a copy.
 */
static bool gains_by_parts(const struct nuc_support *s, const struct nuc_node *pad, const struct nuc_arg *pairs)
{
    uint64_t calls = pairs->count / 2, operators = 0;
    bool round = has_mode(pad, "circular");

    for (uint32_t i = 0; i < pairs->count; i++) {
        int64_t n = pairs->u.ints[i];
        calls += n <= 0 ? 0 : 1 + (round ? 0 : calls_of_times(n));
        operators += n <= 0 ? 0 : round ? 4 : i % 2 == 0 || pairs->u.ints[i - 1] <= 0;
    }
    return gains(s, pad, calls, operators);
}

/* Places of which each is a slice, and so an instruction of the program: convolutions mirror few at each side. */
enum { MOST_MIRRORED = 32 };

/*
 * Its kernels take an index, and copies in other dim orders around it, for each dimension, or write what goes round
 * piece by piece into an empty value; slices and concatenations are int8 in any order.
 */
static bool gains_on_cpu(const struct nuc_support *s, const struct nuc_node *node, const struct nuc_arg *pairs)
{
    const struct nuc_kernel_costs *c = &s->target->costs.int8;
    struct nuc_meta in = *nuc_input_meta(node, NUC_SELF), out = node->vals[0];
    in.dtype = out.dtype = NUC_I8;
    const struct nuc_kernel_call cat = {.op = NUC_OP_CAT, .in = &in, .out = &out, .written = 1, .read = 1},
                                 copy = {.op = NUC_OP_TO_DIM_ORDER_COPY, .out = &out, .written = 1};
    uint64_t parts = pairs->count / 2 * nuc_kernel_call_cycles(c, &cat);
    int64_t places = 0;
    for (uint32_t i = 0; i < pairs->count; i++) {
        struct nuc_meta piece = out;
        const struct nuc_kernel_call slice = {.op = NUC_OP_SLICE, .in = &out, .out = &piece, .written = 1, .read = 1};
        piece.sizes[out.rank - 1u - i / 2] = 1;
        parts += (uint64_t)nuc_at_least_0(pairs->u.ints[i]) * nuc_kernel_call_cycles(c, &slice);
        places += nuc_at_least_0(pairs->u.ints[i]);
    }
    return (places <= MOST_MIRRORED || !has_mode(node, "reflect")) &&
           parts < pairs->count * nuc_kernel_call_cycles(c, &copy);
}

static struct nuc_node *insert_joined_pad(const struct nuc_support *s, struct nuc_node *node)
{
    return nuc_built(s, node, "joined_pad",
                     NUC_ARGS(nuc_operand(s->g, node, NUC_SELF), *nuc_arg_at(node, NUC_ARG(PAD, pad)),
                              *nuc_arg_at(node, NUC_ARG(PAD, mode)), *nuc_arg_at(node, NUC_ARG(PAD, value))));
}

static struct nuc_node *form_joined_pad(const struct nuc_support *s, struct nuc_node *node)
{
    const struct nuc_arg *pairs = pairs_of(node);
    bool joins = false;

    if (!is_real(node) || pairs == NULL)
        return NULL;
    for (uint32_t i = 0; has_mode(node, "constant") && i < pairs->count; i++)
        joins = joins || pairs->u.ints[i] < 0;
    if (has_mode(node, "circular") || has_mode(node, "replicate"))
        joins = gains_by_parts(s, node, pairs);
    return joins ? insert_joined_pad(s, node) : NULL;
}

static struct nuc_node *form_joined_pad_on_cpu(const struct nuc_support *s, struct nuc_node *node)
{
    const struct nuc_arg *pairs = pairs_of(node);

    if (!is_real(node) || pairs == NULL || has_mode(node, "constant") ||
        (!has_mode(node, "circular") && !gains_on_cpu(s, node, pairs)))
        return NULL;
    return insert_joined_pad(s, node);
}

/* ---- copies ---- */

/* Not what asks for the contiguous order, which the NPU's copy has, nor a value of its own for an output. */
static struct nuc_node *form_copy_source(const struct nuc_support *s, struct nuc_node *node)
{
    return is_real(node) && node->vals[0].dtype == NUC_F32 && node->n_users > 0 && !nuc_feeds_output(node) &&
                   nuc_format_asked(node) != NUC_CONTIGUOUS_FORMAT
               ? nuc_operand(s->g, node, NUC_SELF)
               : NULL;
}

/* ---- the forms ---- */

const struct nuc_npu_form nuc_move_forms[] = {
    /* cat of one value several times. */
    {NUC_OPS(NUC_OP_CAT), form_fewer_copies},
    /* index and index_select by constants, flip: paddings, runs of elements behind each other. */
    {NUC_OPS(NUC_OP_INDEX), form_bent_pad},
    {NUC_OPS(NUC_OP_INDEX, NUC_OP_INDEX_SELECT), form_runs},
    {NUC_OPS(NUC_OP_FLIP), form_flip},
    /* slice_scatter: what is written between what stays; zeros it is written into are a constant. */
    {NUC_OPS(NUC_OP_ZEROS), form_constant_zeros},
    {NUC_OPS(NUC_OP_SLICE_SCATTER), form_joined_slices},
    /* What is written in pieces, and parts of that. */
    {NUC_OPS(NUC_OP_SLICE), form_part_of_cat},
    {NUC_OPS(NUC_OP_SLICE), form_one_part},
    {NUC_OPS(NUC_OP_CAT), form_flat_cat},
    /* Paddings that take values off, repeat those at the edges, or go round. */
    {NUC_OPS(NUC_OP_PAD), form_joined_pad},
    /* unfold: pieces, or a slice for each place of a window. */
    {NUC_OPS(NUC_OP_UNFOLD), form_joined_windows},
    /* Copies, in another dim order or none, and casts to the type there is: what the outputs of the model have is
     * restored afterwards. */
    {NUC_OPS(NUC_OP_TO_DTYPE, NUC_OP_TO_DTYPE_LAYOUT, NUC_OP_CLONE, NUC_OP_CONTIGUOUS), form_copy_source},
    {.form = NULL},
};

const struct nuc_npu_form nuc_cpu_move_forms[] = {
    {NUC_OPS(NUC_OP_INDEX), form_bent_pad},
    {NUC_OPS(NUC_OP_SLICE), form_part_of_cat},
    {NUC_OPS(NUC_OP_CAT), form_flat_cat},
    {NUC_OPS(NUC_OP_PAD), form_joined_pad_on_cpu},
    {.form = NULL},
};
