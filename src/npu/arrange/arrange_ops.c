/* Which operators work on permuted axes, and what a permutation does to the order of their operands. */
#include <string.h>

#include "device/base/npu_cost.h"
#include "npu/arrange/arrange_private.h"
#include "npu/target/target.h"

static enum nuc_permutable permutable_axes(int32_t code)
{
    static const uint8_t rules[NUC_LT_CODES] = {
#define LT(name, number, type, fields, least, most, rule, axes, ...) [number] = NUC_AXES_##axes,
#include "litert/lt_ops.def"
    };

    return code >= 0 && code < NUC_LT_CODES ? (enum nuc_permutable)rules[code] : NUC_AXES_FIXED;
}

static const struct nuc_lt_tensor *result_of(const struct nuc_arrangement *a, const struct nuc_lt_op *op)
{
    return nuc_ltb_at(a->b, op->outputs[0]);
}

/* ---- positions ---- */

/* The position of each dimension of the result: as in the input, or the n-th that is kept. */
static bool place_kept(const struct nuc_arrangement *a, struct nuc_arranged_op *o)
{
    const struct nuc_lt_tensor *axes = nuc_ltb_at(a->b, o->op->inputs[1]);
    uint32_t kept = 0, reduced = 0;

    if (axes->data.data == NULL || axes->dtype != NUC_I32)
        return false;
    for (uint32_t i = 0; i < axes->data.size / 4; i++) {
        int32_t axis = nuc_lt_axis(((const int32_t *)(const void *)axes->data.data)[i], o->rank);
        reduced |= axis < 0 ? 0 : 1u << axis;
    }
    for (uint32_t i = 0; i < o->rank; i++) {
        if (o->op->options.reduce.keep_dims || (reduced >> i & 1u) == 0)
            o->out_position[kept++] = (uint8_t)i;
    }
    return kept == result_of(a, o->op)->rank;
}

/* Everything that reads the flat value z is a matrix product with constant weights. */
static bool read_by_weights(const struct nuc_arrangement *a, int32_t z, const struct nuc_lt_op *ops, uint32_t n_ops)
{
    bool read = false;

    if (nuc_ltb_is_output(a->b, z))
        return false;
    for (uint32_t i = 0; i < n_ops; i++) {
        for (uint32_t k = 0; k < ops[i].n_inputs; k++) {
            if (ops[i].inputs[k] != z)
                continue;
            const struct nuc_lt_tensor *w = ops[i].n_inputs > 1 ? nuc_ltb_at(a->b, ops[i].inputs[1]) : NULL;
            if (ops[i].code != NUC_LT_FULLY_CONNECTED || k != 0 || w->data.data == NULL || w->rank != 2 ||
                w->shape[1] != nuc_ltb_at(a->b, z)->shape[1])
                return false;
            read = true;
        }
    }
    return read;
}

static void describe_reshape(const struct nuc_arrangement *a, struct nuc_arranged_op *o)
{
    const struct nuc_lt_tensor *x = nuc_ltb_at(a->b, o->op->inputs[0]), *y = result_of(a, o->op);
    const struct nuc_lt_subgraph *s = nuc_ltb_graph(a->b);

    if (y->rank == 2 && x->rank > 2 && x->shape[0] == y->shape[0] &&
        read_by_weights(a, o->op->outputs[0], s->ops, s->n_ops)) {
        o->permutable = NUC_AXES_FLATTEN;
        o->rank = x->rank;
        return;
    }
    /*
     * Dimensions that keep their size together: the finest grouping in which both shapes have groups of equal size, in
     * order.
     */
    uint8_t *of_x = o->in_position;
    uint8_t *of_y = o->out_position;
    uint32_t i = 0, k = 0, groups = 0;
    while (i < x->rank && k < y->rank) {
        int64_t in = x->shape[i], out = y->shape[k];
        of_x[i++] = of_y[k++] = (uint8_t)groups;
        while (in != out && (in < out ? i < x->rank : k < y->rank)) {
            if (in < out) {
                in *= x->shape[i];
                of_x[i++] = (uint8_t)groups;
            } else {
                out *= y->shape[k];
                of_y[k++] = (uint8_t)groups;
            }
        }
        groups++;
    }
    /* What is left has size 1. */
    for (; i < x->rank; i++)
        of_x[i] = (uint8_t)(groups == 0 ? 0 : groups - 1);
    for (; k < y->rank; k++)
        of_y[k] = (uint8_t)(groups == 0 ? 0 : groups - 1);
    o->rank = groups;
    if (o->rank == 0)
        o->permutable = NUC_AXES_FIXED;
}

/* ---- what the data must be ---- */

uint32_t nuc_arrange_data_operands(const struct nuc_arranged_op *o)
{
    return o->permutable == NUC_AXES_ELEMENTWISE || o->permutable == NUC_AXES_CONCAT ? o->op->n_inputs
           : o->permutable == NUC_AXES_FIXED                                         ? 0
                                                                                     : 1;
}

/* Operands exist, fit the positions, and constants have one scale; lists of integers are constant. */
static bool is_regular(const struct nuc_arrangement *a, const struct nuc_arranged_op *o)
{
    uint32_t n_data = nuc_arrange_data_operands(o);

    for (uint32_t k = 0; k < o->op->n_inputs; k++) {
        int32_t t = o->op->inputs[k];
        if (t < 0)
            return false;
        const struct nuc_lt_tensor *x = nuc_ltb_at(a->b, t);
        bool constant = x->data.data != NULL;
        if (k >= n_data && (!constant || (k == 1 && o->permutable != NUC_AXES_RESHAPE && x->dtype != NUC_I32)))
            return o->permutable == NUC_AXES_FLATTEN || o->permutable == NUC_AXES_RESHAPE;
        if (k < n_data && (x->rank > NUC_MAX_RANK || (constant && x->quant.count > 1)))
            return false;
        if (k < n_data && o->permutable == NUC_AXES_ELEMENTWISE && x->rank > o->rank)
            return false;
        if (k < n_data && o->permutable == NUC_AXES_CONCAT && x->rank != o->rank)
            return false;
        if (k == 0 && constant && n_data == 1)
            return false;
    }
    return true;
}

void nuc_arrange_describe(const struct nuc_arrangement *a, struct nuc_arranged_op *o, const struct nuc_lt_op *op)
{
    *o = (struct nuc_arranged_op){.op = op, .permutable = permutable_axes(op->code)};
    if (op->n_outputs != 1 || op->n_inputs == 0 || op->inputs[0] < 0)
        o->permutable = NUC_AXES_FIXED;
    if (o->permutable == NUC_AXES_FIXED)
        return;
    o->rank = o->permutable == NUC_AXES_REDUCE ? nuc_ltb_at(a->b, op->inputs[0])->rank : result_of(a, op)->rank;
    for (uint32_t i = 0; i < NUC_MAX_RANK; i++)
        o->perm[i] = o->in_position[i] = o->out_position[i] = (uint8_t)i;
    if (o->permutable == NUC_AXES_RESHAPE)
        describe_reshape(a, o);
    if (o->permutable == NUC_AXES_WINDOW && (o->rank != 4 || nuc_ltb_at(a->b, op->inputs[0])->rank != 4))
        o->permutable = NUC_AXES_FIXED;
    if (!is_regular(a, o) || (o->permutable == NUC_AXES_REDUCE && !place_kept(a, o)) || o->rank == 0)
        o->permutable = NUC_AXES_FIXED;
}

uint32_t nuc_arrange_position(const struct nuc_arrangement *a, const struct nuc_arranged_op *o, uint32_t operand,
                              uint32_t dim)
{
    if (operand == NUC_RESULT)
        return o->out_position[dim];
    if (o->permutable == NUC_AXES_ELEMENTWISE)
        return dim + o->rank - nuc_ltb_at(a->b, o->op->inputs[operand])->rank;
    return o->in_position[dim];
}

/* ---- orders ---- */

static bool keeps_order(const struct nuc_arranged_op *o, uint32_t operand)
{
    return o->permutable == NUC_AXES_FIXED || (o->permutable == NUC_AXES_FLATTEN && operand == NUC_RESULT);
}

uint64_t nuc_arrange_order(const struct nuc_arrangement *a, const struct nuc_port *port, const uint8_t *perm)
{
    const struct nuc_arranged_op *o = port->op == NUC_BOUNDARY ? NULL : &a->ops[port->op];
    const struct nuc_tensor_view *view = &a->views[port->tensor];
    uint32_t rank = nuc_ltb_at(a->b, port->tensor)->rank;
    bool natural = o == NULL || keeps_order(o, port->operand);
    uint64_t order = 0;

    for (uint32_t i = 0; i < (natural ? 1 : o->rank); i++) {
        for (uint32_t dim = 0; dim < rank; dim++) {
            if (view->axis[dim] != NUC_NO_AXIS &&
                (natural || nuc_arrange_position(a, o, port->operand, dim) == perm[i]))
                order = order << 4 | view->axis[dim];
        }
    }
    return order;
}

/* Positions of the axes of `order` at the port, outermost first, each once. Returns how many. */
static uint32_t positions_of(const struct nuc_arrangement *a, const struct nuc_port *port, uint64_t order,
                             uint8_t *positions)
{
    const struct nuc_tensor_view *view = &a->views[port->tensor];
    uint32_t rank = nuc_ltb_at(a->b, port->tensor)->rank, n_axes = 0, count = 0;

    for (uint32_t dim = 0; dim < rank; dim++)
        n_axes += view->axis[dim] != NUC_NO_AXIS;
    for (uint32_t i = n_axes; i-- > 0;) {
        uint8_t axis = (uint8_t)(order >> 4 * i & 15u);
        for (uint32_t dim = 0; dim < rank; dim++) {
            if (view->axis[dim] != axis)
                continue;
            uint8_t p = (uint8_t)nuc_arrange_position(a, &a->ops[port->op], port->operand, dim);
            if (memchr(positions, p, count) == NULL)
                positions[count++] = p;
        }
    }
    return count;
}

/* Each channel an image of its own: N, C, H, W. */
static const uint8_t planes[4] = {0, 3, 1, 2};

bool nuc_arrange_permute(const struct nuc_arrangement *a, const struct nuc_port *port, uint64_t order, uint8_t *perm)
{
    const struct nuc_arranged_op *o = &a->ops[port->op];
    uint8_t wanted[NUC_MAX_RANK];
    uint32_t next = 0;

    if (keeps_order(o, port->operand))
        return false;
    if (o->permutable == NUC_AXES_WINDOW) {
        /* Windows know two permutations. */
        static const uint8_t identity[4] = {0, 1, 2, 3};
        memcpy(perm, identity, sizeof identity);
        if (nuc_arrange_order(a, port, perm) == order)
            return true;
        memcpy(perm, planes, sizeof planes);
        return nuc_arrange_order(a, port, perm) == order;
    }
    uint32_t count = positions_of(a, port, order, wanted);
    for (uint32_t i = 0; i < o->rank; i++)
        perm[i] = memchr(wanted, o->perm[i], count) != NULL ? wanted[next++] : o->perm[i];
    if (o->permutable == NUC_AXES_SOFTMAX && perm[o->rank - 1] != o->rank - 1)
        return false;
    if (o->permutable == NUC_AXES_FLATTEN && perm[0] != 0)
        return false;
    return nuc_arrange_order(a, port, perm) == order;
}

bool nuc_arrange_is_identity(const struct nuc_arranged_op *o)
{
    for (uint32_t i = 0; o->permutable != NUC_AXES_FIXED && i < o->rank; i++) {
        if (o->perm[i] != i)
            return false;
    }
    return true;
}

/* ---- time ---- */

static uint64_t values_of(const struct nuc_lt_tensor *t)
{
    return (uint64_t)nuc_lt_elements(t);
}

static const struct nuc_npu_costs *costs_of(const struct nuc_arrangement *a)
{
    return a->b->target != NULL ? a->b->target->npu : &nuc_npus[NUC_NPU_N3_64];
}

/*
 * Cycles by which the vector lanes take longer for one channel than for all: poolings fill a lane per channel, nearest
 * neighbours move all channels of a pixel at once. A pad in front, which becomes part of the pooling otherwise, is a
 * call of its own. Costs as in docs/cycle-model.md.
 */
static uint64_t window_cycles(const struct nuc_arrangement *a, const struct nuc_arranged_op *o)
{
    const struct nuc_npu_costs *k = costs_of(a);
    const struct nuc_lt_tensor *x = nuc_ltb_at(a->b, o->op->inputs[0]), *y = result_of(a, o->op);
    uint64_t channels = (uint64_t)y->shape[3], lanes = 0;
    int32_t value = a->views[o->op->inputs[0]].value;
    const struct nuc_port *from = value == NUC_NO_VALUE ? NULL : &a->values[value].producer;
    uint64_t cycles = 0;

    if (o->op->code == NUC_LT_RESIZE_NEAREST_NEIGHBOR)
        lanes = values_of(y) - values_of(y) / channels;
    else if (o->op->code != NUC_LT_RESIZE_BILINEAR)
        lanes = values_of(y) / channels * (uint64_t)o->op->options.pool.filter_h *
                (uint64_t)o->op->options.pool.filter_w *
                (channels * k->pipelines - nuc_npu_round_up(channels, k->pipelines));
    cycles = lanes / k->pipelines;
    if (from != NULL && from->op != NUC_BOUNDARY && a->ops[from->op].permutable == NUC_AXES_PAD)
        cycles += k->kernel + 2 * values_of(x) / k->bus_bytes;
    return cycles;
}

uint64_t nuc_arrange_extra_bytes(const struct nuc_arrangement *a, const struct nuc_arranged_op *o, const uint8_t *perm)
{
    const struct nuc_npu_costs *k = costs_of(a);

    if (o->permutable != NUC_AXES_WINDOW || perm[1] != planes[1])
        return 0;
    uint64_t cycles = window_cycles(a, o);
    /* One transpose at least goes with the permutation, and its call. A byte is read, written and takes a lane. */
    cycles = cycles > k->kernel ? cycles - k->kernel : 0;
    return nuc_npu_times(cycles, (uint64_t)k->bus_bytes * k->pipelines) / (2 * (uint64_t)k->pipelines + k->bus_bytes);
}
