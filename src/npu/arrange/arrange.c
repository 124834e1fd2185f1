/*
 * The search for permutations. The cost of a value is its bytes times the orders its readers need besides the one it is
 * computed in. A move takes one operator at a mismatch to the order of the other side and follows it through every
 * neighbour that can go along; a least cut finds the part of these operators that pays. What counts in the end is the
 * exact cost, in which readers that need the same order share one transpose.
 */
#include "npu/arrange/arrange.h"

#include <string.h>

#include "algorithms/cut.h"
#include "npu/arrange/arrange_private.h"

/* Bytes decide, the number of transposes between equal bytes. */
#define BYTE_COST 256

/* Ports looked at before the search takes what it has: seconds, in models of thousands of mismatches. */
#define MAX_WORK 10000000u

struct nuc_moved nuc_moved_by_transposes(const struct nuc_lt_model *m)
{
    const struct nuc_lt_subgraph *s = &m->subgraphs[0];
    struct nuc_moved moved = {0, 0};

    for (uint32_t i = 0; i < s->n_ops; i++) {
        if (s->ops[i].code != NUC_LT_TRANSPOSE || s->ops[i].n_outputs == 0)
            continue;
        const struct nuc_lt_tensor *t = &s->tensors[s->ops[i].outputs[0]];
        moved.transposes++;
        moved.bytes += (uint64_t)nuc_lt_elements(t) * nuc_dtype_size(t->dtype);
    }
    return moved;
}

/* ---- values ---- */

static int32_t new_value(struct nuc_arrangement *a, int32_t tensor, uint32_t op)
{
    const struct nuc_lt_tensor *t = nuc_ltb_at(a->b, tensor);
    struct nuc_tensor_view *view = &a->views[tensor];
    uint8_t axes = 0;

    a->values = nuc_grow(a->b->cx, a->values, &a->values_capacity, (size_t)a->n_values + 1, sizeof *a->values);
    a->values[a->n_values] = (struct nuc_value){.bytes = (uint64_t)nuc_lt_elements(t) * nuc_dtype_size(t->dtype),
                                                .producer = {op, NUC_RESULT, tensor}};
    view->value = (int32_t)a->n_values++;
    for (uint32_t i = 0; i < t->rank; i++)
        view->axis[i] = t->shape[i] == 1 ? NUC_NO_AXIS : axes++;
    return view->value;
}

static void add_reader(struct nuc_arrangement *a, int32_t tensor, uint32_t op, uint32_t operand)
{
    if (tensor < 0 || a->views[tensor].value == NUC_NO_VALUE)
        return;
    struct nuc_value *v = &a->values[a->views[tensor].value];
    v->readers = nuc_grow(a->b->cx, v->readers, &v->readers_capacity, (size_t)v->n_readers + 1, sizeof *v->readers);
    v->readers[v->n_readers++] = (struct nuc_port){op, operand, tensor};
}

/* A transpose of a value: its result is the same value with the axes in another order. */
static bool follow_transpose(struct nuc_arrangement *a, const struct nuc_lt_op *op)
{
    const int32_t *perm = nuc_ltb_perm_of(a->b, op);
    const struct nuc_tensor_view *x = &a->views[op->inputs[0]];
    struct nuc_tensor_view *y = &a->views[op->outputs[0]];

    if (perm == NULL || x->value == NUC_NO_VALUE)
        return false;
    y->value = x->value;
    for (uint32_t i = 0; i < nuc_ltb_at(a->b, op->inputs[0])->rank; i++)
        y->axis[i] = x->axis[perm[i]];
    return true;
}

/* A reshape that only adds and removes dimensions of size 1. */
static bool follow_reshape(struct nuc_arrangement *a, const struct nuc_lt_op *op)
{
    const struct nuc_lt_tensor *x = nuc_ltb_at(a->b, op->inputs[0]), *y = nuc_ltb_at(a->b, op->outputs[0]);
    struct nuc_tensor_view *from = &a->views[op->inputs[0]], *to = &a->views[op->outputs[0]];
    uint32_t i = 0;

    if (op->code != NUC_LT_RESHAPE || from->value == NUC_NO_VALUE)
        return false;
    for (uint32_t k = 0; k < y->rank; k++) {
        to->axis[k] = NUC_NO_AXIS;
        if (y->shape[k] == 1)
            continue;
        while (i < x->rank && x->shape[i] == 1)
            i++;
        if (i == x->rank || x->shape[i] != y->shape[k])
            return false;
        to->axis[k] = from->axis[i++];
    }
    while (i < x->rank && x->shape[i] == 1)
        i++;
    if (i == x->rank)
        to->value = from->value;
    return i == x->rank;
}

/* Ranks whose orders fit 64 bits, and results that exist. */
static bool is_ordinary(const struct nuc_lt_subgraph *s)
{
    for (uint32_t i = 0; i < s->n_ops; i++) {
        if (s->ops[i].n_outputs != 1 || s->ops[i].n_inputs == 0 || s->ops[i].inputs[0] < 0)
            return false;
    }
    return true;
}

static struct nuc_arrangement *set_up(struct nuc_ltb *b)
{
    const struct nuc_lt_subgraph *s = nuc_ltb_graph(b);
    struct nuc_arrangement *a = nuc_alloc(b->cx, sizeof *a);

    a->b = b;
    a->n_views = s->n_tensors;
    a->views = nuc_alloc_array(b->cx, s->n_tensors, sizeof *a->views);
    a->ops = nuc_alloc_array(b->cx, s->n_ops, sizeof *a->ops);
    a->queue = nuc_alloc_array(b->cx, s->n_ops, sizeof *a->queue);
    for (uint32_t i = 0; i < s->n_tensors; i++)
        a->views[i].value = NUC_NO_VALUE;
    for (uint32_t i = 0; i < s->n_inputs; i++)
        new_value(a, s->inputs[i], NUC_BOUNDARY);
    for (uint32_t i = 0; i < s->n_ops; i++) {
        const struct nuc_lt_op *op = &s->ops[i];
        if (follow_transpose(a, op) || follow_reshape(a, op))
            continue;
        nuc_arrange_describe(a, &a->ops[a->n_ops], op);
        for (uint32_t k = 0; k < op->n_inputs; k++)
            add_reader(a, op->inputs[k], a->n_ops, k);
        for (uint32_t k = 0; k < op->n_outputs; k++)
            new_value(a, op->outputs[k], a->n_ops);
        a->n_ops++;
    }
    for (uint32_t i = 0; i < s->n_outputs; i++)
        add_reader(a, s->outputs[i], NUC_BOUNDARY, i);
    return a;
}

/* ---- cost ---- */

static const uint8_t *perm_of(const struct nuc_arrangement *a, const struct nuc_port *p, bool moved)
{
    if (p->op == NUC_BOUNDARY)
        return NULL;
    return moved && a->ops[p->op].moved ? a->ops[p->op].next : a->ops[p->op].perm;
}

static uint64_t order_at(const struct nuc_arrangement *a, const struct nuc_port *p, bool moved)
{
    return nuc_arrange_order(a, p, perm_of(a, p, moved));
}

static uint64_t price(const struct nuc_value *v)
{
    return v->bytes * BYTE_COST + 1;
}

static uint64_t cost_of(const struct nuc_arrangement *a, const struct nuc_value *v, bool moved)
{
    uint64_t made = order_at(a, &v->producer, moved), orders = 0;

    for (uint32_t i = 0; i < v->n_readers; i++) {
        uint64_t order = order_at(a, &v->readers[i], moved);
        bool known = order == made;
        for (uint32_t k = 0; k < i && !known; k++)
            known = order_at(a, &v->readers[k], moved) == order;
        orders += !known;
    }
    return orders * price(v);
}

/* What the operator takes longer under its permutation. Bounded, so that sums do not overflow. */
static uint64_t extra_cost(const struct nuc_arrangement *a, const struct nuc_arranged_op *o, bool moved)
{
    uint64_t bytes = nuc_arrange_extra_bytes(a, o, moved && o->moved ? o->next : o->perm);

    return (bytes < UINT32_MAX ? bytes : UINT32_MAX) * BYTE_COST;
}

static uint64_t total_cost(const struct nuc_arrangement *a, bool moved)
{
    uint64_t cost = 0;

    for (uint32_t i = 0; i < a->n_values; i++)
        cost += cost_of(a, &a->values[i], moved);
    for (uint32_t i = 0; i < a->n_ops; i++)
        cost += extra_cost(a, &a->ops[i], moved);
    return cost;
}

/* ---- moves ---- */

/* Port 0 is where the value is computed. */
static const struct nuc_port *port_at(const struct nuc_value *v, uint32_t i)
{
    return i == 0 ? &v->producer : &v->readers[i - 1];
}

struct wave {
    struct nuc_arrangement *a;
    uint32_t *queue; /* operators that move */
    uint32_t count;
};

static void take(struct wave *w, const struct nuc_port *p, uint64_t order)
{
    struct nuc_arranged_op *o = p->op == NUC_BOUNDARY ? NULL : &w->a->ops[p->op];

    if (o == NULL || o->moved || order_at(w->a, p, false) == order || !nuc_arrange_permute(w->a, p, order, o->next))
        return;
    o->moved = true;
    w->queue[w->count++] = p->op;
}

static void spread_value(struct wave *w, const struct nuc_port *from)
{
    int32_t value = w->a->views[from->tensor].value;

    if (value == NUC_NO_VALUE)
        return;
    const struct nuc_value *v = &w->a->values[value];
    uint64_t order = order_at(w->a, from, true);
    for (uint32_t i = 0; i <= v->n_readers; i++)
        take(w, port_at(v, i), order);
}

/* Cost of a transpose between two ports by whether their operators move: bit 0 the first, bit 1 the second. */
static void add_pair(struct nuc_cut *cut, const struct nuc_arrangement *a, const struct nuc_value *v,
                     const struct nuc_port *p, const struct nuc_port *r)
{
    bool p_moves = p->op != NUC_BOUNDARY && a->ops[p->op].moved, r_moves = r->op != NUC_BOUNDARY && a->ops[r->op].moved;
    int64_t c[4];

    if ((!p_moves && !r_moves) || p->op == r->op)
        return;
    for (uint32_t i = 0; i < 4; i++)
        c[i] = order_at(a, p, (i & 1u) != 0) == order_at(a, r, (i & 2u) != 0) ? 0 : (int64_t)price(v);
    if (!r_moves) {
        nuc_cut_single(cut, p->op, c[1] - c[0]);
    } else if (!p_moves) {
        nuc_cut_single(cut, r->op, c[2] - c[0]);
    } else {
        int64_t both = c[2] + c[1] - c[0] - c[3];
        nuc_cut_single(cut, p->op, c[1] - c[0]);
        nuc_cut_single(cut, r->op, c[3] - c[1]);
        nuc_cut_pair(cut, p->op, r->op, both > 0 ? (uint64_t)both : 0);
    }
}

/* Leaves the part of the move that pays most when readers of one order pay a transpose each. */
static void cut_move(struct nuc_arrangement *a)
{
    struct nuc_cut *cut = nuc_cut_new(a->b->cx, a->n_ops);
    bool *yes = nuc_alloc_array(a->b->cx, a->n_ops, sizeof *yes);

    for (uint32_t i = 0; i < a->n_values; i++) {
        const struct nuc_value *v = &a->values[i];
        for (uint32_t k = 0; k < v->n_readers; k++)
            add_pair(cut, a, v, &v->producer, &v->readers[k]);
    }
    for (uint32_t i = 0; i < a->n_ops; i++) {
        if (a->ops[i].moved)
            nuc_cut_single(cut, i,
                           (int64_t)extra_cost(a, &a->ops[i], true) - (int64_t)extra_cost(a, &a->ops[i], false));
    }
    nuc_cut_solve(cut, yes);
    for (uint32_t i = 0; i < a->n_ops; i++)
        a->ops[i].moved = a->ops[i].moved && yes[i];
}

/* Makes the move when it lowers the cost; in any case no move is under consideration afterwards. */
static bool settle(struct nuc_arrangement *a, uint64_t *cost)
{
    uint64_t after = total_cost(a, true);
    bool better = after < *cost;

    for (uint32_t i = 0; better && i < a->n_ops; i++) {
        if (a->ops[i].moved)
            memcpy(a->ops[i].perm, a->ops[i].next, sizeof a->ops[i].perm);
    }
    if (better)
        *cost = after;
    return better;
}

static bool try_move(struct nuc_arrangement *a, const struct nuc_port *seed, uint64_t order, uint64_t *cost)
{
    struct nuc_arena *outer = nuc_push_arena(a->b->cx);
    struct wave w = {a, a->queue, 0};

    a->work += a->n_ports;
    take(&w, seed, order);
    /* From the seed through all neighbours that can take the order that reaches them. */
    for (uint32_t i = 0; i < w.count; i++) {
        const struct nuc_lt_op *op = w.a->ops[w.queue[i]].op;
        for (uint32_t k = 0; k < nuc_arrange_data_operands(&w.a->ops[w.queue[i]]); k++)
            spread_value(&w, &(struct nuc_port){w.queue[i], k, op->inputs[k]});
        spread_value(&w, &(struct nuc_port){w.queue[i], NUC_RESULT, op->outputs[0]});
    }
    bool better = w.count > 0 && settle(a, cost);
    if (w.count > 0 && !better) {
        cut_move(a);
        better = settle(a, cost);
    }
    for (uint32_t i = 0; i < w.count; i++)
        a->ops[w.queue[i]].moved = false;
    nuc_pop_arena(a->b->cx, outer);
    return better;
}

static bool improve_value(struct nuc_arrangement *a, uint32_t value, uint64_t *cost)
{
    const struct nuc_value *v = &a->values[value];

    for (uint32_t i = 0; i <= v->n_readers; i++) {
        for (uint32_t k = 0; k <= v->n_readers; k++) {
            uint64_t order = order_at(a, port_at(v, k), false);
            if (order != order_at(a, port_at(v, i), false) && try_move(a, port_at(v, i), order, cost))
                return true;
        }
    }
    return false;
}

static void search(struct nuc_arrangement *a)
{
    uint64_t cost = total_cost(a, false);
    bool changed = true;

    for (uint32_t i = 0; i < a->n_values; i++)
        a->n_ports += a->values[i].n_readers + 1;
    while (changed && cost > 0 && a->work < MAX_WORK) {
        changed = false;
        for (uint32_t i = 0; i < a->n_values && a->work < MAX_WORK; i++)
            changed = (cost_of(a, &a->values[i], false) > 0 && improve_value(a, i, &cost)) || changed;
    }
}

/* ---- the whole ---- */

void nuc_arrange(struct nuc_ltb *b)
{
    struct nuc_lt_subgraph *s = nuc_ltb_graph(b);
    struct nuc_moved before = nuc_moved_by_transposes(b->model);

    if (before.transposes == 0 || !is_ordinary(s))
        return;
    struct nuc_lt_op *ops = nuc_copy(b->cx, s->ops, s->n_ops * sizeof *ops);
    uint32_t n_ops = s->n_ops;
    struct nuc_sub_arena *sub = nuc_enter_sub_arena(b->cx);
    struct nuc_arrangement *a = set_up(b);
    search(a);
    nuc_leave_sub_arena(b->cx, sub);
    for (uint32_t i = 0; i < a->n_ops; i++)
        a->ops[i].op = &ops[a->ops[i].op - s->ops];
    nuc_arrange_emit(a);
    nuc_free_sub_arena(sub);
    struct nuc_moved after = nuc_moved_by_transposes(b->model);
    if (after.bytes > before.bytes || (after.bytes == before.bytes && after.transposes >= before.transposes)) {
        memcpy(s->ops, ops, n_ops * sizeof *ops);
        s->n_ops = n_ops;
    }
    nuc_give_back(b->cx, ops, n_ops * sizeof *ops);
}
