/* The operators that permutations ask for. Tensors of the model before stay as they are; new shapes are new tensors. */
#include <string.h>

#include "npu/arrange/arrange_private.h"

/* Tensors that hold a value. */
struct holding {
    uint64_t order;
    int32_t tensor;
    uint32_t next; /* of the same value; 0: there is none */
};

struct emission {
    struct nuc_arrangement *a;
    struct nuc_ltb *b;
    struct holding *holdings; /* of all values; the one at 0 is none */
    uint32_t n_holdings;
    size_t holdings_capacity;
    uint32_t *of;     /* by value: the first, what its operator writes */
    bool *is_written; /* outputs of the model that an operator writes */
};

struct shape {
    uint32_t rank;
    int32_t sizes[NUC_MAX_RANK];
};

static struct shape shape_of(const struct nuc_ltb *b, int32_t tensor)
{
    const struct nuc_lt_tensor *t = nuc_ltb_at(b, tensor);
    struct shape s = {.rank = t->rank};

    memcpy(s.sizes, t->shape, sizeof s.sizes);
    return s;
}

static bool has_shape(const struct nuc_ltb *b, int32_t tensor, const struct shape *s)
{
    const struct nuc_lt_tensor *t = nuc_ltb_at(b, tensor);

    return t->rank == s->rank && memcmp(t->shape, s->sizes, s->rank * sizeof s->sizes[0]) == 0;
}

static void hold(struct emission *e, int32_t value, uint64_t order, int32_t tensor)
{
    uint32_t *last = &e->of[value];

    e->holdings =
        nuc_grow(e->b->cx, e->holdings, &e->holdings_capacity, (size_t)e->n_holdings + 1, sizeof *e->holdings);
    while (*last != 0)
        last = &e->holdings[*last].next;
    *last = e->n_holdings;
    e->holdings[e->n_holdings++] = (struct holding){order, tensor, 0};
}

/* ---- reshapes and transposes ---- */

/* The n-th axis of an order of `count` axes, outermost first. */
static uint8_t axis_at(uint64_t order, uint32_t count, uint32_t n)
{
    return (uint8_t)(order >> 4 * (count - 1 - n) & 15u);
}

/* Position of an axis in an order. */
static uint32_t place_of(uint64_t order, uint32_t count, uint8_t axis)
{
    uint32_t n = 0;

    while (n < count && axis_at(order, count, n) != axis)
        n++;
    return n;
}

static uint32_t axes_of(const struct shape *s)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < s->rank; i++)
        count += s->sizes[i] != 1;
    return count;
}

/* The dimension of a shape that is its n-th of size 1, or above 1. */
static uint32_t nth_dimension(const struct shape *s, uint32_t n, bool of_ones)
{
    for (uint32_t i = 0; i < s->rank; i++) {
        if ((s->sizes[i] == 1) == of_ones && n-- == 0)
            return i;
    }
    return 0;
}

/*
 * Between two orders of a value: the permutation from shape `from` to shape `to`, which have equally many dimensions of
 * size 1. These keep their sequence.
 */
static void permutation(const struct shape *from, uint64_t from_order, const struct shape *to, uint64_t to_order,
                        int32_t *perm)
{
    uint32_t count = axes_of(from), axis = 0, one = 0;

    for (uint32_t i = 0; i < to->rank; i++) {
        if (to->sizes[i] == 1)
            perm[i] = (int32_t)nth_dimension(from, one++, true);
        else
            perm[i] =
                (int32_t)nth_dimension(from, place_of(from_order, count, axis_at(to_order, count, axis++)), false);
    }
}

/* The shape a tensor of shape `s` and order `from` has in order `to`: ones stay where they are. */
static struct shape reordered(const struct shape *s, uint64_t from, uint64_t to)
{
    struct shape out = *s;
    uint32_t count = axes_of(s), axis = 0;

    for (uint32_t i = 0; i < s->rank; i++) {
        if (s->sizes[i] != 1)
            out.sizes[i] = s->sizes[nth_dimension(s, place_of(from, count, axis_at(to, count, axis++)), false)];
    }
    return out;
}

static int32_t like(struct nuc_ltb *b, int32_t tensor, const char *suffix, const struct shape *s)
{
    int32_t copy = nuc_ltb_duplicate(b, tensor, suffix, false);

    nuc_ltb_set_shape(b, copy, s->sizes, s->rank);
    b->notes[copy].format = NUC_LTB_NONE;
    return copy;
}

/* Transposes `from` into a tensor of that order and shape, `to` when it is given, and returns it. */
static int32_t transposed(struct emission *e, const struct holding *from, uint64_t order, const struct shape *s,
                          int32_t to)
{
    struct shape source = shape_of(e->b, from->tensor), direct = *s;
    int32_t perm[NUC_MAX_RANK];

    if (source.rank != s->rank)
        direct = reordered(&source, from->order, order);
    if (to < 0 || source.rank != s->rank)
        to = like(e->b, from->tensor, "_transposed_", &direct);
    permutation(&source, from->order, &direct, order, perm);
    nuc_ltb_transpose(e->b, from->tensor, to, perm);
    return to;
}

/* A tensor with the value in that order and shape: one there is, or a reshape or transpose of one. */
static int32_t obtain(struct emission *e, int32_t value, uint64_t order, const struct shape *s)
{
    int32_t same_order = -1;

    for (const struct holding *h = e->holdings + e->of[value]; h != e->holdings; h = e->holdings + h->next) {
        if (h->order != order)
            continue;
        if (has_shape(e->b, h->tensor, s))
            return h->tensor;
        same_order = same_order < 0 ? h->tensor : same_order;
    }
    if (same_order < 0) {
        struct holding first = e->holdings[e->of[value]];
        same_order = transposed(e, &first, order, s, -1);
        hold(e, value, order, same_order);
    }
    if (has_shape(e->b, same_order, s))
        return same_order;
    int32_t t = like(e->b, same_order, "", s);
    nuc_ltb_reshape(e->b, same_order, t);
    hold(e, value, order, t);
    return t;
}

/* ---- operators ---- */

/* The shape of an operand or result under the operator's permutation. */
static struct shape permuted_shape(const struct emission *e, const struct nuc_arranged_op *o, uint32_t operand,
                                   int32_t tensor)
{
    struct shape s = shape_of(e->b, tensor), out = {.rank = 0};

    if (nuc_arrange_is_identity(o) || (o->permutable == NUC_AXES_FLATTEN && operand == NUC_RESULT))
        return s;
    for (uint32_t i = 0; i < o->rank; i++) {
        bool found = false;
        for (uint32_t dim = 0; dim < s.rank; dim++) {
            if (nuc_arrange_position(e->a, o, operand, dim) != o->perm[i])
                continue;
            out.sizes[out.rank++] = s.sizes[dim];
            found = true;
        }
        if (!found && o->permutable == NUC_AXES_ELEMENTWISE)
            out.sizes[out.rank++] = 1;
    }
    return out;
}

/* A constant with as many dimensions as the operator has positions, leading ones in front, and those permuted. */
static int32_t permuted_constant(struct emission *e, const struct nuc_arranged_op *o, int32_t tensor)
{
    const struct nuc_lt_tensor *from = nuc_ltb_at(e->b, tensor);
    int32_t shape[NUC_MAX_RANK], result[NUC_MAX_RANK], perm[NUC_MAX_RANK];

    if (nuc_arrange_is_identity(o) || nuc_lt_elements(from) == 1)
        return tensor;
    for (uint32_t i = 0; i < o->rank; i++) {
        uint32_t ones = o->rank - from->rank;
        shape[i] = i < ones ? 1 : from->shape[i - ones];
        perm[i] = o->perm[i];
    }
    nuc_perm_apply(result, shape, perm, o->rank);
    int32_t copy = nuc_ltb_permuted_constant(e->b, tensor, "_transposed", shape, o->rank, perm);
    nuc_ltb_set_shape(e->b, copy, result, o->rank);
    return copy;
}

static const int32_t *integers_of(const struct emission *e, int32_t tensor)
{
    return (const int32_t *)(const void *)nuc_ltb_at(e->b, tensor)->data.data;
}

static int32_t permuted_pads(struct emission *e, const struct nuc_arranged_op *o)
{
    const int32_t shape[2] = {(int32_t)o->rank, 2};
    const int32_t *pads = integers_of(e, o->op->inputs[1]);
    int32_t out[NUC_MAX_RANK][2];

    for (uint32_t i = 0; i < o->rank; i++)
        memcpy(out[i], pads + 2 * (size_t)o->perm[i], sizeof out[i]);
    return nuc_ltb_constant(e->b, "paddings", NUC_I32, shape, 2, out);
}

static uint32_t new_position(const struct nuc_arranged_op *o, int32_t old)
{
    uint32_t i = 0;

    while (i + 1 < o->rank && o->perm[i] != old)
        i++;
    return i;
}

static int32_t permuted_axes(struct emission *e, const struct nuc_arranged_op *o)
{
    const struct nuc_lt_tensor *t = nuc_ltb_at(e->b, o->op->inputs[1]);
    const int32_t *axes = integers_of(e, o->op->inputs[1]);
    uint32_t count = (uint32_t)(t->data.size / 4);
    int32_t out[NUC_MAX_RANK];

    for (uint32_t i = 0; i < count && i < NUC_MAX_RANK; i++)
        out[i] = (int32_t)new_position(o, axes[i] < 0 ? axes[i] + (int32_t)o->rank : axes[i]);
    return nuc_ltb_list(e->b, "axes", out, count < NUC_MAX_RANK ? count : NUC_MAX_RANK);
}

/* Begin and size of a slice of the result's shape. */
static void permute_slice(struct emission *e, const struct nuc_arranged_op *o, int32_t *inputs)
{
    const int32_t *begin = integers_of(e, o->op->inputs[1]);
    struct shape size = permuted_shape(e, o, NUC_RESULT, o->op->outputs[0]);
    int32_t out[NUC_MAX_RANK];

    for (uint32_t i = 0; i < o->rank; i++)
        out[i] = begin[o->perm[i]];
    inputs[1] = nuc_ltb_list(e->b, "begin", out, o->rank);
    inputs[2] = nuc_ltb_list(e->b, "size", size.sizes, o->rank);
}

/* Lists and options that speak of positions. */
static void permute_parameters(struct emission *e, const struct nuc_arranged_op *o, struct nuc_lt_op *op)
{
    struct shape s;

    switch (o->permutable) {
    case NUC_AXES_CONCAT:
        op->options.concat.axis =
            (int32_t)new_position(o, op->options.concat.axis + (op->options.concat.axis < 0 ? (int32_t)o->rank : 0));
        break;
    case NUC_AXES_PAD:
        op->inputs[1] = permuted_pads(e, o);
        break;
    case NUC_AXES_SLICE:
        permute_slice(e, o, op->inputs);
        break;
    case NUC_AXES_REDUCE:
        op->inputs[1] = permuted_axes(e, o);
        break;
    case NUC_AXES_RESHAPE:
        s = permuted_shape(e, o, NUC_RESULT, o->op->outputs[0]);
        if (op->n_inputs > 1)
            op->inputs[1] = nuc_ltb_list(e->b, "new_shape", s.sizes, s.rank);
        if (op->options.reshape.present)
            op->options.reshape = nuc_lt_list(s.sizes, s.rank);
        break;
    case NUC_AXES_FIXED:
    case NUC_AXES_ELEMENTWISE:
    case NUC_AXES_SOFTMAX:
    case NUC_AXES_WINDOW:
    case NUC_AXES_FLATTEN:
        break;
    }
}

/* Columns of weights [O, K] in the order in which the value before the flattening lies now. */
static int32_t flattened_weights(struct emission *e, const struct nuc_arranged_op *flatten, int32_t weights)
{
    struct shape x = shape_of(e->b, flatten->op->inputs[0]);
    int32_t perm[NUC_MAX_RANK];

    x.sizes[0] = nuc_ltb_at(e->b, weights)->shape[0];
    for (uint32_t i = 0; i < x.rank; i++)
        perm[i] = flatten->perm[i];
    return nuc_ltb_permuted_constant(e->b, weights, "", x.sizes, x.rank, perm);
}

/* The flattening that made an operand, when its axes are permuted; else NULL. */
static const struct nuc_arranged_op *moved_flattening(const struct emission *e, int32_t tensor)
{
    int32_t value = tensor < 0 ? NUC_NO_VALUE : e->a->views[tensor].value;

    if (value == NUC_NO_VALUE || e->a->values[value].producer.op == NUC_BOUNDARY)
        return NULL;
    const struct nuc_arranged_op *o = &e->a->ops[e->a->values[value].producer.op];
    return o->permutable == NUC_AXES_FLATTEN && !nuc_arrange_is_identity(o) ? o : NULL;
}

static int32_t operand_for(struct emission *e, uint32_t index, uint32_t k)
{
    const struct nuc_arranged_op *o = &e->a->ops[index];
    int32_t tensor = o->op->inputs[k];

    if (tensor < 0)
        return tensor;
    if (e->a->views[tensor].value == NUC_NO_VALUE)
        return k < nuc_arrange_data_operands(o) ? permuted_constant(e, o, tensor) : tensor;
    struct nuc_port port = {index, k, tensor};
    struct shape s = permuted_shape(e, o, k, tensor);
    return obtain(e, e->a->views[tensor].value, nuc_arrange_order(e->a, &port, o->perm), &s);
}

/*
 * The tensor an operator writes: an output of the model with that value, order and shape, else the tensor it wrote
 * before when that fits and is not an output of the model, else a new one.
 */
static int32_t result_for(struct emission *e, int32_t before, uint64_t order, const struct shape *s)
{
    const struct nuc_lt_subgraph *g = nuc_ltb_graph(e->b);
    int32_t value = e->a->views[before].value;

    for (uint32_t i = 0; i < g->n_outputs; i++) {
        struct nuc_port port = {NUC_BOUNDARY, i, g->outputs[i]};
        if (e->a->views[g->outputs[i]].value != value || e->is_written[g->outputs[i]] ||
            !has_shape(e->b, g->outputs[i], s) || nuc_arrange_order(e->a, &port, NULL) != order)
            continue;
        e->is_written[g->outputs[i]] = true;
        return g->outputs[i];
    }
    return has_shape(e->b, before, s) && !nuc_ltb_is_output(e->b, before) ? before : like(e->b, before, "", s);
}

/* The operator as it was, with these operands, and with parameters for its permutation. */
static void append_op(struct emission *e, const struct nuc_arranged_op *o, const int32_t *inputs, int32_t result)
{
    struct nuc_lt_op *op = nuc_lt_add_op(e->b->model, o->op->code, inputs, o->op->n_inputs, &result, 1);

    op->options = o->op->options;
    op->version = o->op->version;
    op->custom_code = o->op->custom_code;
    op->debug_handle = o->op->debug_handle;
    if (!nuc_arrange_is_identity(o))
        permute_parameters(e, o, op);
    const struct nuc_arranged_op *flatten = moved_flattening(e, o->op->inputs[0]);
    if (flatten != NULL && o->op->code == NUC_LT_FULLY_CONNECTED)
        op->inputs[1] = flattened_weights(e, flatten, o->op->inputs[1]);
}

/* [N, C, H, W] as images of one channel. */
static int32_t as_planes(struct emission *e, int32_t tensor)
{
    const struct nuc_lt_tensor *t = nuc_ltb_at(e->b, tensor);
    const struct shape s = {.rank = 4, .sizes = {t->shape[0] * t->shape[1], t->shape[2], t->shape[3], 1}};

    return like(e->b, tensor, "_planes", &s);
}

/* A pooling or resizing of images of one channel, between two reshapes. */
static void emit_window(struct emission *e, const struct nuc_arranged_op *o, int32_t *inputs, int32_t result)
{
    int32_t x = as_planes(e, inputs[0]), y = as_planes(e, result);

    nuc_ltb_reshape(e->b, inputs[0], x);
    inputs[0] = x;
    append_op(e, o, inputs, y);
    nuc_ltb_reshape(e->b, y, result);
}

static void emit_op(struct emission *e, uint32_t index)
{
    const struct nuc_arranged_op *o = &e->a->ops[index];
    int32_t *inputs = nuc_alloc_array(e->b->cx, o->op->n_inputs, sizeof *inputs);
    int32_t before = o->op->outputs[0];
    struct nuc_port port = {index, NUC_RESULT, before};
    uint64_t order = nuc_arrange_order(e->a, &port, o->perm);
    struct shape s = permuted_shape(e, o, NUC_RESULT, before);

    for (uint32_t k = 0; k < o->op->n_inputs; k++)
        inputs[k] = operand_for(e, index, k);
    int32_t result = result_for(e, before, order, &s);
    if (o->permutable == NUC_AXES_WINDOW && !nuc_arrange_is_identity(o))
        emit_window(e, o, inputs, result);
    else
        append_op(e, o, inputs, result);
    hold(e, e->a->views[before].value, order, result);
}

/* An output of the model no operator writes yet: a transpose or a reshape does. */
static void emit_output(struct emission *e, int32_t output, uint32_t index)
{
    int32_t value = e->a->views[output].value;

    if (value == NUC_NO_VALUE || e->is_written[output])
        return;
    struct nuc_port port = {NUC_BOUNDARY, index, output};
    uint64_t order = nuc_arrange_order(e->a, &port, NULL);
    struct shape s = shape_of(e->b, output);
    e->is_written[output] = true;
    for (const struct holding *h = e->holdings + e->of[value]; h != e->holdings; h = e->holdings + h->next) {
        if (h->tensor == output) /* an input handed through */
            return;
        if (h->order == order) {
            nuc_ltb_reshape(e->b, h->tensor, output);
            return;
        }
    }
    struct holding first = e->holdings[e->of[value]];
    int32_t t = transposed(e, &first, order, &s, output);
    if (t != output)
        nuc_ltb_reshape(e->b, t, output);
}

void nuc_arrange_emit(struct nuc_arrangement *a)
{
    struct emission e = {.a = a, .b = a->b, .n_holdings = 1};
    struct nuc_lt_subgraph *s = nuc_ltb_graph(a->b);

    e.of = nuc_alloc_array(a->b->cx, a->n_values, sizeof *e.of);
    e.is_written = nuc_alloc_array(a->b->cx, a->n_views, sizeof *e.is_written);
    s->n_ops = 0;
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        struct nuc_port port = {NUC_BOUNDARY, i, s->inputs[i]};
        hold(&e, a->views[s->inputs[i]].value, nuc_arrange_order(a, &port, NULL), s->inputs[i]);
    }
    for (uint32_t i = 0; i < a->n_ops; i++)
        emit_op(&e, i);
    for (uint32_t i = 0; i < s->n_outputs; i++)
        emit_output(&e, s->outputs[i], i);
    nuc_give_back(a->b->cx, e.holdings, e.holdings_capacity * sizeof *e.holdings);
    nuc_give_back(a->b->cx, e.of, a->n_values * sizeof *e.of);
    nuc_give_back(a->b->cx, e.is_written, a->n_views * sizeof *e.is_written);
}
