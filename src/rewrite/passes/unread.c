/*
 * Rows that nothing reads are not computed: of a value, the box of places that its readers need, behind all of the
 * graph. What an operator needs of its operands for a box of its result says the axis map, so that a slice moves up
 * through everything that works place by place, and takes the halo of a window along. Slices with a step, indices, and
 * views of several dimensions as one leave places out: a box lists them along such a dimension.
 */
#include "rewrite/passes/unread.h"

#include <stdlib.h>
#include <string.h>

#include "ir/axis_map.h"
#include "ir/conv_args.h"
#include "npu/support/estimate.h"
#include "npu/support/facts.h"
#include "rewrite/insert.h"
#include "rewrite/known.h"
#include "rewrite/npu_forms/npu_forms.h"
#include "rewrite/passes/box.h"

struct demand {
    struct nuc_box *part; /* of what is read, as far as the operator can compute it alone; where it is_part */
    const struct nuc_places *places;    /* of an operator that may take some; NULL: not looked at yet */
    struct nuc_node *made;              /* holds the part; NULL: the node, with all of its value */
    bool read, is_part, stays, divided; /* is_part: not all is read. divided: one of several that each compute a part */
};

struct unread {
    struct nuc_graph *g;
    const struct nuc_target *target;
    bool in_float;
    struct demand *of; /* by node id */
    size_t room;
    uint32_t n_ids;
};

static struct nuc_box box_of(const struct unread *u, const struct nuc_node *n)
{
    const struct demand *d = &u->of[n->id];

    return d->is_part ? *d->part : nuc_box_of(&n->vals[0]);
}

/* Most values are read as a whole, and take no memory for a box. */
static void set_box(struct unread *u, const struct nuc_node *n, const struct nuc_box *b)
{
    struct demand *d = &u->of[n->id];

    d->is_part = !nuc_box_is_all(b, &n->vals[0]);
    if (d->is_part && d->part == NULL)
        d->part = nuc_alloc(u->g->cx, sizeof *d->part);
    if (d->is_part)
        *d->part = *b;
}

/* ---- what operators need ---- */

/* A norm of the last dimensions, whose map does not tell rows from what a row holds: how many there are. */
static uint32_t normalized_dims(const struct nuc_node *n)
{
    uint32_t shape = nuc_op_family(n->op) == NUC_FAMILY_NORM ? nuc_arg_named(n, "normalized_shape") : NUC_NO_ARG;

    return shape != NUC_NO_ARG ? nuc_arg_at(n, shape)->count : 0;
}

static const struct nuc_meta *operand_meta(const struct nuc_node *n, uint32_t arg, uint32_t element)
{
    const struct nuc_arg *a = nuc_arg_at(n, arg);

    return a->kind == NUC_ARG_NODES ? &a->u.nodes[element]->vals[0] : &a->u.node->vals[0];
}

static void places_of(const struct nuc_axis *a, const struct nuc_box *y, int64_t *lo, int64_t *hi)
{
    int64_t reach = a->kind == NUC_AXIS_WINDOW ? a->dilation * (a->taps - 1) + 1 : 1;

    *lo = a->start + a->step * y->lo[a->to];
    *hi = a->start + a->step * (y->hi[a->to] - 1) + reach;
}

static int64_t within(int64_t place, int64_t size)
{
    return place < 0 ? 0 : place > size ? size : place;
}

/* Of one dimension of an operand of that size, as its axis says. False: none. */
static bool operand_along(struct nuc_context *cx, const struct nuc_axis *a, const struct nuc_box *y, int64_t size,
                          struct nuc_box *x)
{
    int64_t lo, hi, n = 0;

    places_of(a, y, &lo, &hi);
    nuc_box_set(x, a->from, within(lo, size), within(hi, size));
    if (x->lo[a->from] >= x->hi[a->from])
        return false;
    if (a->kind == NUC_AXIS_WINDOW || (y->at[a->to] == NULL && a->step == 1))
        return true;
    if (y->at[a->to] != NULL && a->step == 1 && a->start == 0 && hi <= size) {
        nuc_box_set_along(x, a->from, y, a->to);
        return true;
    }
    int64_t *at = nuc_alloc_array(cx, (size_t)nuc_box_extent(y, a->to), sizeof *at);
    for (int64_t i = 0; i < nuc_box_extent(y, a->to); i++) {
        at[n] = a->start + a->step * nuc_box_place(y, a->to, i);
        n += at[n] >= 0 && at[n] < size;
    }
    if (n > 0)
        nuc_box_set_list(x, a->from, at, n);
    return n > 0;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* What an index takes for a box of its result, each place once. */
static void indexed_along(struct nuc_context *cx, const struct nuc_places *p, const struct nuc_box *y,
                          struct nuc_box *x)
{
    int64_t n = nuc_box_extent(y, p->dim), kept = 1, *at = nuc_alloc_array(cx, (size_t)n, sizeof *at);

    for (int64_t i = 0; i < n; i++)
        at[i] = p->at[nuc_box_place(y, p->dim, i)];
    qsort(at, (size_t)n, sizeof *at, compare);
    for (int64_t i = 1; i < n; i++) {
        if (at[i] > at[kept - 1])
            at[kept++] = at[i];
    }
    nuc_box_set_list(x, p->dim, at, kept);
}

/* Those that an index takes along one dimension; none: it is no such operator. */
static struct nuc_places places_of_index(struct unread *u, const struct nuc_node *n)
{
    struct demand *d = &u->of[n->id];

    if (n->op != NUC_OP_INDEX)
        return (struct nuc_places){.at = NULL};
    if (d->places == NULL) {
        const struct nuc_places p = nuc_places_of(u->g, n);
        d->places = nuc_copy(u->g->cx, &p, sizeof p);
    }
    return *d->places;
}

/* Of an operand for a box of the result that the operator can compute alone. False: nothing. */
static bool operand_box(struct unread *u, const struct nuc_node *n, uint32_t arg, uint32_t element,
                        const struct nuc_box *y, struct nuc_box *x)
{
    const struct nuc_meta *m = operand_meta(n, arg, element);
    uint32_t normalized = normalized_dims(n);
    struct nuc_places p = arg == NUC_SELF ? places_of_index(u, n) : (struct nuc_places){.at = NULL};
    struct nuc_axis_map map;

    *x = nuc_box_of(m);
    for (uint32_t d = 0; normalized > 0 && arg == NUC_SELF && d + normalized < m->rank; d++)
        nuc_box_set_along(x, d, y, d);
    if (p.at != NULL) {
        *x = *y;
        indexed_along(u->g->cx, &p, y, x);
    }
    if (n->op == NUC_OP_DEQUANTIZE_PER_CHANNEL && arg != NUC_SELF) { /* scales and zero points lie along an axis */
        uint32_t axis = (uint32_t)nuc_dim(n, NUC_ARG(DEQUANTIZE_PER_CHANNEL, axis), 0, n->vals[0].rank);
        nuc_box_set_along(x, 0, y, axis);
        return true;
    }
    if (normalized > 0 || !nuc_axis_map(n, 0, arg, element, &map))
        return true;
    for (uint32_t i = 0; i < map.count; i++) {
        const struct nuc_axis *a = &map.axes[i];
        if (a->kind == NUC_AXIS_WHOLE || a->to == a->to_end)
            continue;
        if (!nuc_is_single_axis(a)) {
            const struct nuc_box whole = nuc_box_flat(u->g->cx, y, &n->vals[0], a->to, a->to_end);
            nuc_box_unfold(u->g->cx, x, m, a->from, a->from_end, &whole);
        } else if (a->step > 0 && a->taps > 0 && !operand_along(u->g->cx, a, y, m->sizes[a->from], x)) {
            return false;
        }
    }
    return true;
}

/* Places of windows beyond either end of the operand: padding of its own where they are as many. */
struct ends {
    int64_t before, after;
};

static struct ends ends_of(const struct nuc_axis *a, const struct nuc_box *y, int64_t size)
{
    int64_t lo, hi;

    places_of(a, y, &lo, &hi);
    return (struct ends){lo < 0 ? -lo : 0, hi > size ? hi - size : 0};
}

/* Whether windows of the part are computed, perhaps of a padded operand. */
static bool has_ends(const struct nuc_node *n, const struct nuc_axis *a, const struct nuc_box *y, int64_t size)
{
    const struct ends e = ends_of(a, y, size);

    return nuc_is_single_axis(a) && a->step > 0 && a->taps > 0 &&
           (e.before == e.after || nuc_op_family(n->op) == NUC_FAMILY_CONV);
}

static bool has_plain_windows(const struct nuc_node *n)
{
    const struct nuc_arg *padding = nuc_arg_at(n, nuc_arg_named(n, "padding"));
    uint32_t transposed = nuc_arg_named(n, "transposed");

    return (padding->kind == NUC_ARG_INT || (padding->kind == NUC_ARG_INTS && padding->count + 2 <= n->vals[0].rank)) &&
           nuc_arg_named(n, "output_padding") == NUC_NO_ARG && transposed == NUC_NO_ARG &&
           !nuc_flag(n, nuc_arg_named(n, "ceil_mode"));
}

/* Whether the operator computes a box of its result from boxes of its operands. */
static bool is_made_in_parts(struct unread *u, const struct nuc_node *n)
{
    if (!nuc_is_call(n) || n->is_tuple || n->n_vals != 1 || nuc_elements(&n->vals[0]) == 0 || n->vals[0].rank == 0)
        return false;
    switch ((int)nuc_op_family(n->op)) {
    case NUC_FAMILY_NORM:
        return normalized_dims(n) > 0;
    case NUC_FAMILY_SLICE:
        return n->op == NUC_OP_SLICE || n->op == NUC_OP_EXPAND;
    case NUC_FAMILY_SELECT:
        return n->op == NUC_OP_WHERE || places_of_index(u, n).at != NULL;
    case NUC_FAMILY_CONV:
    case NUC_FAMILY_POOL:
        return has_plain_windows(n);
    case NUC_FAMILY_PAD:
        return n->op == NUC_OP_PAD;
    case NUC_FAMILY_QUANT:
    case NUC_FAMILY_DEQUANT:
    case NUC_FAMILY_MATRIX:
    case NUC_FAMILY_SOFTMAX:
    case NUC_FAMILY_REDUCE:
    case NUC_FAMILY_VIEW:
    case NUC_FAMILY_PERMUTE:
    case NUC_FAMILY_COPY:
    case NUC_FAMILY_CAST:
    case NUC_FAMILY_CAT:
    case NUC_FAMILY_MAP:
    case NUC_FAMILY_BINARY:
    case NUC_FAMILY_COMPARE:
        return true;
    default:
        return false;
    }
}

/* Fewer than three of four places are worth it. */
static bool is_most(const struct nuc_box *y, const struct nuc_meta *m)
{
    return 4 * nuc_box_count(y, 0, m->rank) > 3 * nuc_elements(m);
}

/* Of what is made elsewhere: more than that of it, if nothing has to be cut off for it. */
static bool gathers(const struct nuc_node *n)
{
    return n->op == NUC_OP_CAT || n->op == NUC_OP_SLICE;
}

/* The dimensions of the result along which the operator computes all or nothing are computed as a whole. */
static void settle_axes(struct unread *u, const struct nuc_node *n, uint32_t arg, uint32_t element, struct nuc_box *y)
{
    const struct nuc_meta *m = operand_meta(n, arg, element), *out = &n->vals[0];
    struct nuc_axis_map map;

    if (!nuc_axis_map(n, 0, arg, element, &map)) {
        if (n->op != NUC_OP_INDEX && n->op != NUC_OP_DEQUANTIZE_PER_CHANNEL)
            *y = nuc_box_of(out);
        return;
    }
    for (uint32_t i = 0; i < map.count; i++) {
        const struct nuc_axis *a = &map.axes[i];
        bool apart = a->kind == NUC_AXIS_ELEMENT && nuc_is_single_axis(a) && a->step >= 0;
        if (a->kind == NUC_AXIS_WINDOW) {
            y->at[a->to] = nuc_is_single_axis(a) ? NULL : y->at[a->to];
            apart = has_ends(n, a, y, m->sizes[a->from]);
        }
        if (a->kind == NUC_AXIS_ELEMENT && !nuc_is_single_axis(a) && a->to < a->to_end) {
            struct nuc_box whole = nuc_box_flat(u->g->cx, y, out, a->to, a->to_end), x;
            nuc_box_unfold(u->g->cx, &x, m, a->from, a->from_end, &whole);
            apart = nuc_box_extent(&whole, 0) == nuc_box_count(y, a->to, a->to_end) &&
                    nuc_box_extent(&whole, 0) == nuc_box_count(&x, a->from, a->from_end);
        }
        if (!apart)
            nuc_box_widen(y, out, a->to, a->to_end);
    }
}

static void settle(struct unread *u, const struct nuc_node *n, struct nuc_box *y)
{
    const struct nuc_meta *out = &n->vals[0];
    uint32_t normalized = normalized_dims(n);
    struct nuc_cursor at = {0, 0};

    if (u->of[n->id].stays || !is_made_in_parts(u, n)) {
        *y = nuc_box_of(out);
        return;
    }
    if (normalized > 0)
        nuc_box_widen(y, out, out->rank - normalized, out->rank);
    while (normalized == 0 && nuc_next_input(n, &at) != NULL) {
        if (n->args[at.argument].kind == NUC_ARG_NODE || n->op == NUC_OP_CAT)
            settle_axes(u, n, at.argument, at.element - 1, y);
    }
    if (nuc_op_family(n->op) == NUC_FAMILY_CONV && nuc_integer(n, nuc_arg_named(n, "groups"), 1) != 1)
        nuc_box_widen(y, out, out->rank + 1u - nuc_input_meta(n, NUC_CONV_WEIGHT)->rank,
                      out->rank + 2u - nuc_input_meta(n, NUC_CONV_WEIGHT)->rank);
    if (n->op == NUC_OP_PAD) {
        struct nuc_box x;
        if (!operand_box(u, n, NUC_SELF, 0, y, &x))
            *y = nuc_box_of(out);
    }
    if (is_most(y, out) && !gathers(n))
        *y = nuc_box_of(out);
}

/* ---- what is read ---- */

static void need(struct unread *u, const struct nuc_node *x, const struct nuc_box *b)
{
    struct demand *d = &u->of[x->id];
    struct nuc_box both = d->read ? nuc_box_hull(box_of(u, x), b, x->vals[0].rank) : *b;

    set_box(u, x, &both);
    d->read = true;
}

static bool is_narrow(const struct unread *u, const struct nuc_node *n)
{
    const struct demand *d = &u->of[n->id];

    return nuc_is_call(n) && d->read && !n->is_tuple && n->n_vals == 1 && d->is_part;
}

/* What is part of the operator in front of it, as bounds and quantization are, computes what that does. */
static bool comes_along(const struct nuc_node *n)
{
    const struct nuc_node *x = nuc_arg_node(n, NUC_SELF);
    struct nuc_quant q;

    return x != NULL && !nuc_is_static(x) && x->n_vals == 1 &&
           (nuc_has_bounds(n) || (nuc_quant_of(n, &q) && !q.per_channel));
}

/* What is there of a value. */
static struct nuc_box held(const struct unread *u, const struct nuc_node *x)
{
    return is_narrow(u, x) ? *u->of[x->id].part : nuc_box_of(&x->vals[0]);
}

/* What an operator needs of its operands for what is read of it. */
static void ask(struct unread *u, const struct nuc_node *n)
{
    bool in_parts = u->of[n->id].read && is_made_in_parts(u, n);
    struct nuc_box y = {.n = {0}}, b;
    struct nuc_cursor at = {0, 0};

    if (u->of[n->id].read) {
        y = box_of(u, n);
        settle(u, n, &y);
        set_box(u, n, &y);
    }
    for (const struct nuc_node *x; (x = nuc_next_input(n, &at)) != NULL;) {
        if (x->n_vals == 0)
            continue;
        if (!in_parts)
            b = nuc_box_of(&x->vals[0]);
        else if (!operand_box(u, n, at.argument, at.element - 1, &y, &b))
            continue;
        need(u, x, &b);
    }
}

/* From the outputs up. */
static void find_demand(struct unread *u)
{
    for (uint32_t i = 0; i < u->n_ids; i++)
        u->of[i].read = false;
    for (struct nuc_node *n = u->g->last; n != NULL && !nuc_is_placeholder(n); n = n->prev)
        ask(u, n);
}

static void bring_along(struct unread *u)
{
    for (struct nuc_node *n = u->g->body; n != NULL; n = n->next) {
        if (u->of[n->id].read && comes_along(n)) {
            struct nuc_box b = held(u, nuc_operand(u->g, n, NUC_SELF));
            set_box(u, n, &b);
        }
    }
}

/* ---- whether it takes less ---- */

static bool runs_on_npu(const struct unread *u)
{
    return u->target->npu_name != NULL && !u->in_float;
}

static uint64_t cycles(const struct unread *u, const struct nuc_node *n)
{
    return runs_on_npu(u) ? nuc_estimate_npu(u->target, n) : nuc_estimate_cpu(u->target, n, u->in_float);
}

static uint64_t copy_cycles(const struct unread *u, int64_t elements)
{
    const struct nuc_costs *c = &u->target->costs;

    if (runs_on_npu(u))
        return nuc_estimate_move(u->target, (uint64_t)elements);
    const struct nuc_kernel_costs *k = u->in_float ? &c->real : &c->int8;
    return nuc_cpu_cycles(k, (double)elements, k->element);
}

/* On an NPU each run of places is a copy of its own, but for rows that a stride tells. */
static uint64_t part_copy_cycles(const struct unread *u, const struct nuc_box *b, uint32_t rank)
{
    int64_t runs = 1;

    for (uint32_t d = 0; d < rank && runs_on_npu(u); d++) {
        int64_t along = 1;
        bool strided = d + 1u < rank && nuc_box_is_even(b, d);
        for (int64_t i = 1; b->at[d] != NULL && !strided && i < b->n[d]; i++)
            along += b->at[d][i] > b->at[d][i - 1] + 1;
        runs *= along;
    }
    return (uint64_t)runs * copy_cycles(u, nuc_box_count(b, 0, rank) / runs);
}

/* Part of the windows reaches beyond one end of the operand alone. */
static bool is_padded(const struct nuc_node *n, const struct nuc_box *y)
{
    struct nuc_axis_map map;
    bool padded = false;

    if (nuc_op_family(n->op) != NUC_FAMILY_CONV || !nuc_axis_map(n, 0, NUC_SELF, 0, &map))
        return false;
    for (uint32_t i = 0; i < map.count; i++) {
        const struct nuc_axis *a = &map.axes[i];
        const struct ends e = ends_of(a, y, nuc_input_meta(n, NUC_SELF)->sizes[a->from]);
        padded = padded || (a->kind == NUC_AXIS_WINDOW && e.before != e.after &&
                            nuc_box_extent(y, a->to) < n->vals[0].sizes[a->to]);
    }
    return padded;
}

/* A part that is cut out of an operand is a copy, as is one of the result; what it takes less stands against it. */
static bool takes_less(struct unread *u, const struct nuc_node *n)
{
    const struct nuc_box y = box_of(u, n);
    int64_t part = nuc_box_count(&y, 0, n->vals[0].rank);
    struct nuc_cursor at = {0, 0};
    uint64_t copies = 0;
    bool drops = false;

    if (n->op == NUC_OP_SLICE) /* is a copy itself */
        return is_narrow(u, nuc_operand(u->g, n, NUC_SELF));
    for (const struct nuc_node *x; (x = nuc_next_input(n, &at)) != NULL;) {
        struct nuc_box b;
        if (nuc_is_static(x))
            continue;
        if (!operand_box(u, n, at.argument, at.element - 1, &y, &b)) {
            drops = true;
            continue;
        }
        struct nuc_box there = u->of[x->id].stays ? nuc_box_of(&x->vals[0]) : held(u, x);
        if (!nuc_box_is_same(&b, &there, x->vals[0].rank) || (at.argument == NUC_SELF && is_padded(n, &y)))
            copies += part_copy_cycles(u, &b, x->vals[0].rank);
    }
    /* Views take none, and what is concatenated may be made there. */
    bool is_free = nuc_op_family(n->op) == NUC_FAMILY_VIEW || (n->op == NUC_OP_CAT && !drops);
    double saved = (is_free ? 0 : (double)cycles(u, n)) * (1.0 - (double)part / (double)nuc_elements(&n->vals[0]));
    return copies == 0 ||
           (!is_most(&y, &n->vals[0]) && saved + (double)part_copy_cycles(u, &y, n->vals[0].rank) > (double)copies);
}

/* Networks take two or three. */
#define MOST_ROUNDS 16

/* Operators that would rather compute all of it, from the top down; each that does may make another one. */
static void weigh(struct unread *u)
{
    bool changed = true;

    bring_along(u);
    for (unsigned round = 0; changed && round < MOST_ROUNDS; round++) {
        changed = false;
        for (struct nuc_node *n = u->g->body; n != NULL; n = n->next) {
            if (!is_narrow(u, n) || u->of[n->id].stays || u->of[n->id].divided || comes_along(n) || takes_less(u, n))
                continue;
            u->of[n->id].stays = changed = true;
        }
        if (changed) {
            find_demand(u);
            bring_along(u);
        }
    }
}

/* ---- layers of which readers take different parts ---- */

/* What readers take of a layer, behind moves that all of them share: queries, keys and values of one product. */
#define MOST_READERS 8

struct division {
    struct nuc_node *layer;
    uint32_t n_parts, part_of[MOST_READERS]; /* by reader */
    struct nuc_box parts[MOST_READERS];
};

static bool is_weight(const struct nuc_node *x)
{
    return x == NULL || nuc_is_effectively_static(x);
}

/* The layer with constant weights that a value is moved from, where nothing else reads what lies between. */
static struct nuc_node *layer_above(struct nuc_node *x)
{
    while (nuc_op_rearranges(x->op) || nuc_is_quantization(x)) {
        x = nuc_arg_node(x, NUC_SELF);
        if (x == NULL || x->n_users != 1)
            return NULL;
    }
    return x->op == NUC_OP_LINEAR && is_weight(nuc_arg_node(x, NUC_ARG(LINEAR, weight))) &&
                   is_weight(nuc_arg_node(x, NUC_ARG(LINEAR, bias)))
               ? x
               : NULL;
}

static struct nuc_box box_of_layer(struct unread *u, const struct nuc_node *x, const struct nuc_node *layer,
                                   struct nuc_box b)
{
    struct nuc_box from;

    for (settle(u, x, &b); x != layer; settle(u, x, &b)) {
        (void)operand_box(u, x, NUC_SELF, 0, &b, &from);
        x = nuc_arg_node(x, NUC_SELF);
        b = from;
    }
    return b;
}

static uint64_t part_cycles(const struct unread *u, const struct nuc_node *layer, const struct nuc_box *b)
{
    const struct nuc_meta *m = &layer->vals[0], *in = nuc_input_meta(layer, NUC_SELF);
    const int64_t rows = nuc_box_count(b, 0, m->rank - 1u), depth = in->sizes[in->rank - 1];
    const uint64_t copy =
        nuc_box_count(b, 0, m->rank - 1u) < nuc_elements(in) / depth ? copy_cycles(u, rows * depth) : 0;

    if (runs_on_npu(u))
        return copy + nuc_estimate_product(u->target, (uint64_t)rows, (uint64_t)nuc_box_extent(b, m->rank - 1u),
                                           (uint64_t)depth);
    double share = (double)nuc_box_count(b, 0, m->rank) / (double)nuc_elements(m);
    return copy + nuc_cpu_cycles(u->in_float ? &u->target->costs.real : &u->target->costs.int8,
                                 (double)cycles(u, layer) * share, 1);
}

/* Readers whose parts are no more together than one by one share them. */
static bool divides(struct unread *u, struct nuc_node *x, struct division *v)
{
    *v = (struct division){.layer = u->of[x->id].read && x->n_users > 1 && x->n_users <= MOST_READERS ? layer_above(x)
                                                                                                      : NULL};
    for (uint32_t i = 0; v->layer != NULL && i < x->n_users; i++) {
        struct nuc_node *reader = x->users[i];
        uint32_t rank = v->layer->vals[0].rank, k = 0;
        struct nuc_box y, b;
        if (nuc_arg_node(reader, NUC_SELF) != x || !u->of[reader->id].read || !is_made_in_parts(u, reader))
            return false;
        y = box_of(u, reader);
        if (!operand_box(u, reader, NUC_SELF, 0, &y, &b))
            return false;
        b = box_of_layer(u, x, v->layer, b);
        for (; k < v->n_parts; k++) {
            struct nuc_box both = nuc_box_hull(v->parts[k], &b, rank);
            if (nuc_box_count(&both, 0, rank) > nuc_box_count(&v->parts[k], 0, rank) + nuc_box_count(&b, 0, rank))
                continue;
            v->parts[k] = both;
            break;
        }
        v->part_of[i] = k;
        if (k == v->n_parts)
            v->parts[v->n_parts++] = b;
    }
    if (v->n_parts < 2)
        return false;
    struct nuc_box all = box_of(u, v->layer);
    uint64_t apart = 0;
    for (uint32_t k = 0; k < v->n_parts; k++)
        apart += part_cycles(u, v->layer, &v->parts[k]);
    return apart < part_cycles(u, v->layer, &all);
}

static struct nuc_node *once_more(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *x,
                                  const struct nuc_node *layer)
{
    struct nuc_node *from = nuc_operand(g, x, NUC_SELF);
    struct nuc_node *made =
        nuc_emit_like(g, before, x, NUC_ARGS(x == layer ? from : once_more(g, before, from, layer)));

    made->is_step = true;
    for (uint32_t i = 1; x == layer && i < x->n_args; i++) { /* each has a weight of its own */
        struct nuc_node *weight = nuc_arg_node(x, i);
        if (weight != NULL && nuc_is_dequantize(weight))
            nuc_set_arg_node(made, g, i, nuc_emit_like(g, made, weight, NUC_ARGS(nuc_operand(g, weight, NUC_SELF))));
    }
    return made;
}

/* What is read from the readers of a value up to the layer it is moved from; above it nothing is looked at any more. */
static void ask_again(struct unread *u, struct nuc_node *x, enum nuc_op layer)
{
    struct nuc_box b;

    u->of[x->id].read = false;
    for (uint32_t i = 0; i < x->n_users; i++) {
        const struct nuc_box y = box_of(u, x->users[i]);
        if (operand_box(u, x->users[i], NUC_SELF, 0, &y, &b))
            need(u, x, &b);
    }
    for (;; x = nuc_operand(u->g, x, NUC_SELF)) {
        u->of[x->id].divided = true;
        if (x->op != layer)
            u->of[nuc_operand(u->g, x, NUC_SELF)->id].read = false;
        ask(u, x);
        if (x->op == layer)
            return;
    }
}

/* The layer with its moves once for each part. */
static void divide(struct unread *u, struct nuc_node *x, const struct division *v)
{
    uint32_t n_readers = x->n_users, first = u->g->next_id;
    struct nuc_node *readers[MOST_READERS];

    memcpy(readers, x->users, n_readers * sizeof *readers);
    for (uint32_t k = 1; k < v->n_parts; k++) {
        struct nuc_node *part = once_more(u->g, x, x, v->layer);
        for (uint32_t i = 0; i < n_readers; i++) {
            if (v->part_of[i] == k)
                nuc_set_arg_node(readers[i], u->g, NUC_SELF, part);
        }
    }
    u->n_ids = u->g->next_id;
    u->of = nuc_grow(u->g->cx, u->of, &u->room, u->n_ids, sizeof *u->of);
    for (uint32_t id = first; id < u->n_ids; id++)
        u->of[id] = (struct demand){.divided = true};
    ask_again(u, x, v->layer->op);
    for (uint32_t i = 0; i < n_readers; i++) {
        struct nuc_node *part = nuc_operand(u->g, readers[i], NUC_SELF);
        if (!u->of[part->id].read)
            ask_again(u, part, v->layer->op);
    }
}

/* ---- what is built ---- */

/* Places of a box in what holds another one. One that was built stands in front of what is being built. */
static struct nuc_node *part_along(struct unread *u, struct nuc_node *before, struct nuc_node *x, uint32_t dim,
                                   const struct nuc_box *b, const struct nuc_box *there)
{
    int64_t n = nuc_box_extent(b, dim), *at = nuc_alloc_array(u->g->cx, (size_t)n, sizeof *at);
    struct nuc_box part = {.lo = {0}};

    for (int64_t i = 0; i < n; i++)
        at[i] = nuc_box_index(there, dim, nuc_box_place(b, dim, i));
    nuc_box_set_list(&part, 0, at, n);
    for (uint32_t i = 0; i < x->n_users && nuc_box_is_even(&part, 0); i++) {
        struct nuc_node *s = x->users[i];
        if (s->id >= u->n_ids && s->op == NUC_OP_SLICE &&
            nuc_integer(s, NUC_ARG(SLICE, step), 1) == (n > 1 ? at[1] - at[0] : 1) &&
            nuc_dim(s, NUC_ARG(SLICE, dim), 0, x->vals[0].rank) == dim &&
            nuc_integer(s, NUC_ARG(SLICE, start), 0) == at[0] &&
            nuc_integer(s, NUC_ARG(SLICE, end), 0) == at[n - 1] + 1)
            return s;
    }
    return nuc_insert_places(u->g, before, x, dim, at, n);
}

/* That box of an operand. */
static struct nuc_node *take(struct unread *u, struct nuc_node *before, struct nuc_node *x, const struct nuc_box *b)
{
    uint32_t rank = x->vals[0].rank;

    const struct demand *d = x->id < u->n_ids ? &u->of[x->id] : NULL; /* what is built holds all of its value */
    struct nuc_node *value = d != NULL && d->made != NULL ? d->made : x;
    if (value == x && x->op == NUC_OP_SLICE && !nuc_box_is_all(b, &x->vals[0])) {
        struct nuc_box from; /* a part of a part */
        (void)operand_box(u, x, NUC_SELF, 0, b, &from);
        return take(u, before, nuc_operand(u->g, x, NUC_SELF), &from);
    }
    struct nuc_box there = value != x ? box_of(u, x) : nuc_box_of(&x->vals[0]);
    struct nuc_quant q;
    bool is_cut = !nuc_box_is_same(b, &there, rank) && nuc_quant_of(x, &q) && !q.per_channel;
    if (is_cut && nuc_is_quantize(x)) /* what cuts reads and makes values that are quantized */
        value = nuc_insert_quant(u->g, before, NUC_OP_DEQUANTIZE_PER_TENSOR, value, &q);
    for (uint32_t k = 0; k < rank; k++)
        value = part_along(u, before, value, k, b, &there);
    if (value != x && nuc_is_static(x))
        return nuc_insert_known(u->g, before, value);
    if (is_cut)
        value = nuc_insert_quant(u->g, before, NUC_OP_QUANTIZE_PER_TENSOR, value, &q);
    if (is_cut && nuc_is_dequantize(x))
        value = nuc_insert_quant(u->g, before, NUC_OP_DEQUANTIZE_PER_TENSOR, value, &q);
    return value;
}

static struct nuc_node *operand_part(struct unread *u, struct nuc_node *n, uint32_t arg, struct nuc_box *b)
{
    const struct nuc_box y = box_of(u, n);

    (void)operand_box(u, n, arg, 0, &y, b);
    return take(u, n, nuc_operand(u->g, n, arg), b);
}

static struct nuc_node *part_of_cat(struct unread *u, struct nuc_node *n)
{
    const struct nuc_arg *list = nuc_arg_at(n, NUC_ARG(CAT, tensors));
    struct nuc_node **parts = nuc_alloc_array(u->g->cx, list->count, sizeof(struct nuc_node *));
    const struct nuc_box y = box_of(u, n);
    uint32_t n_parts = 0;
    struct nuc_box b;

    for (uint32_t e = 0; e < list->count; e++) {
        if (operand_box(u, n, NUC_ARG(CAT, tensors), e, &y, &b))
            parts[n_parts++] = take(u, n, list->u.nodes[e], &b);
    }
    return n_parts == 1 ? parts[0] : nuc_insert_cat(u->g, n, parts, n_parts, nuc_integer(n, NUC_ARG(CAT, dim), 0));
}

static struct nuc_node *part_of_pad(struct unread *u, struct nuc_node *n)
{
    const struct nuc_arg *pad = nuc_arg_at(n, NUC_ARG(PAD, pad));
    const struct nuc_box y = box_of(u, n);
    int64_t *pads = nuc_alloc_array(u->g->cx, pad->count, sizeof *pads);
    bool any = false;
    struct nuc_box x;
    struct nuc_node *value = operand_part(u, n, NUC_SELF, &x);

    for (uint32_t i = 0; i < pad->count; i += 2) {
        uint32_t d = n->vals[0].rank - 1u - i / 2;
        for (pads[i] = 0; pads[i] < nuc_box_extent(&y, d) && nuc_box_place(&y, d, pads[i]) < pad->u.ints[i];)
            pads[i]++;
        pads[i + 1] = nuc_box_extent(&y, d) - nuc_box_extent(&x, d) - pads[i];
        any = any || pads[i] != 0 || pads[i + 1] != 0;
    }
    return any ? nuc_emit_like(u->g, n, n, NUC_ARGS(value, nuc_ints_arg(pads, pad->count))) : value;
}

/* What windows of the part reach beyond the operand: padding, or a padded operand in front of `made`. */
static void set_padding(struct unread *u, const struct nuc_node *n, struct nuc_node *made)
{
    const struct nuc_box y = box_of(u, n);
    int64_t padding[NUC_MAX_RANK], pads[2 * NUC_MAX_RANK] = {0};
    uint32_t n_windows = 0, rank = n->vals[0].rank;
    bool changes = false;
    struct nuc_axis_map map;

    if (!nuc_axis_map(n, 0, NUC_SELF, 0, &map))
        return;
    for (uint32_t i = 0; i < map.count; i++) {
        const struct nuc_axis *a = &map.axes[i];
        struct ends e = ends_of(a, &y, nuc_input_meta(n, NUC_SELF)->sizes[a->from]);
        if (a->kind != NUC_AXIS_WINDOW)
            continue;
        if (nuc_box_extent(&y, a->to) == n->vals[0].sizes[a->to])
            e.before = e.after = -a->start;
        padding[n_windows] = e.before == e.after ? e.before : 0;
        if (e.before != e.after) {
            pads[2 * (rank - 1u - a->from)] = e.before;
            pads[2 * (rank - 1u - a->from) + 1] = e.after;
        }
        changes = changes || padding[n_windows] != -a->start;
        n_windows++;
    }
    struct nuc_node *value = nuc_operand(u->g, made, NUC_SELF);
    struct nuc_node *padded = nuc_insert_padded(u->g, made, value, pads, 2 * n_windows);
    struct nuc_quant q;
    if (padded != value && nuc_dequantize_quant(value, &q) && !q.per_channel) { /* its zeros are numbers of it */
        padded = nuc_insert_quant(u->g, made, NUC_OP_QUANTIZE_PER_TENSOR, padded, &q);
        padded = nuc_insert_quant(u->g, made, NUC_OP_DEQUANTIZE_PER_TENSOR, padded, &q);
    }
    nuc_set_arg_node(made, u->g, NUC_SELF, padded);
    if (changes)
        nuc_set_arg_ints(made, u->g, nuc_arg_named(n, "padding"), padding, n_windows);
}

/* The operator of other operands, and of other padding where it has windows. */
static struct nuc_node *with_operands(struct unread *u, struct nuc_node *n)
{
    struct nuc_node *operands[NUC_MAX_RANK] = {NULL};
    struct nuc_box b;

    for (uint32_t i = 0; i < n->n_args && i < NUC_MAX_RANK; i++) {
        if (n->args[i].kind == NUC_ARG_NODE)
            operands[i] = operand_part(u, n, i, &b);
    }
    struct nuc_node *made = nuc_insert(u->g, n, n->op, n);
    made->in_place = false;
    made->is_centred = n->is_centred;
    for (uint32_t i = 0; i < n->n_args; i++) {
        nuc_copy_arg(u->g, made, i, n, i);
        if (i < NUC_MAX_RANK && operands[i] != NULL)
            nuc_set_arg_node(made, u->g, i, operands[i]);
    }
    if (nuc_op_family(n->op) == NUC_FAMILY_CONV || nuc_op_family(n->op) == NUC_FAMILY_POOL)
        set_padding(u, n, made);
    nuc_infer_shape(u->g, made);
    return made;
}

static struct nuc_node *build(struct unread *u, struct nuc_node *n)
{
    const struct nuc_box y = box_of(u, n);
    int64_t sizes[NUC_MAX_RANK];
    struct nuc_node *value;
    struct nuc_box x;

    for (uint32_t d = 0; d < n->vals[0].rank; d++)
        sizes[d] = nuc_box_extent(&y, d);
    if (nuc_op_family(n->op) == NUC_FAMILY_VIEW)
        return nuc_insert_reshaped(u->g, n, operand_part(u, n, NUC_SELF, &x), sizes, n->vals[0].rank);
    switch ((int)n->op) {
    case NUC_OP_CAT:
        return part_of_cat(u, n);
    case NUC_OP_PAD:
        return part_of_pad(u, n);
    case NUC_OP_EXPAND:
        return nuc_insert_expanded(u->g, n, operand_part(u, n, NUC_SELF, &x), sizes, n->vals[0].rank);
    case NUC_OP_SLICE:
        return operand_part(u, n, NUC_SELF, &x);
    case NUC_OP_INDEX: {
        struct nuc_places p = places_of_index(u, n);
        value = operand_part(u, n, NUC_SELF, &x);
        int64_t *at = nuc_alloc_array(u->g->cx, (size_t)sizes[p.dim], sizeof *at);
        for (int64_t i = 0; i < sizes[p.dim]; i++)
            at[i] = nuc_box_index(&x, p.dim, p.at[nuc_box_place(&y, p.dim, i)]);
        return nuc_insert_places(u->g, n, value, p.dim, at, sizes[p.dim]);
    }
    default:
        return with_operands(u, n);
    }
}

static bool is_built(const struct unread *u, const struct nuc_node *n)
{
    struct nuc_cursor at = {0, 0};
    bool built = is_narrow(u, n);

    for (const struct nuc_node *x; !built && u->of[n->id].read && (x = nuc_next_input(n, &at)) != NULL;)
        built = x->id < u->n_ids && u->of[x->id].made != NULL;
    return built && nuc_is_call(n);
}

static void replace(struct unread *u)
{
    struct nuc_graph *g = u->g;

    for (struct nuc_node *n = g->body, *next; n != NULL; n = next) {
        next = n->next;
        if (!is_built(u, n))
            continue;
        uint32_t first = g->next_id;
        u->of[n->id].made = build(u, n);
        nuc_count_once(n, u->of[n->id].made, first);
        if (!is_narrow(u, n))
            nuc_replace_uses(g, n, u->of[n->id].made, NULL);
    }
    for (struct nuc_node *n = g->last, *before; n != NULL && !nuc_is_placeholder(n); n = before) {
        before = n->prev;
        struct nuc_node *made = n->id < u->n_ids ? u->of[n->id].made : NULL;
        if (made == NULL || n->n_users > 0)
            continue;
        const char *name = n->name;
        nuc_remove_node(g, n);
        if (made->id >= u->n_ids && before == made)
            nuc_rename(g, made, name);
    }
    nuc_remove_dead(g);
}

bool nuc_leave_unread(struct nuc_graph *g, const struct nuc_target *target, bool in_float)
{
    struct unread u = {.g = g, .target = target, .in_float = in_float};
    bool any = false, divided = false;

    /* Places that follow from constants become constants here, which are nodes themselves. */
    for (const struct nuc_node *n = g->body; n != NULL; n = n->next) {
        if (n->op == NUC_OP_INDEX)
            nuc_places_of(g, n);
    }
    nuc_remove_dead(g);
    u.n_ids = g->next_id;
    u.of = nuc_grow(g->cx, NULL, &u.room, u.n_ids, sizeof *u.of);
    find_demand(&u);
    for (struct nuc_node *n = g->body, *next; n != NULL; n = next) {
        struct division v;
        next = n->next;
        if (!divides(&u, n, &v))
            continue;
        divide(&u, n, &v);
        divided = true;
    }
    if (divided)
        find_demand(&u);
    weigh(&u);
    for (const struct nuc_node *n = g->body; n != NULL && !any; n = n->next)
        any = is_narrow(&u, n);
    if (any)
        replace(&u);
    nuc_give_back(g->cx, u.of, u.room * sizeof *u.of);
    return any;
}
