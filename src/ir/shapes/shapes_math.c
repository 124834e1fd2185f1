/* Shape rules of elementwise operators and quantization. */

#include "ir/args.h"
#include "ir/shapes/shapes.h"

/* ---- elementwise ---- */

/* What an operator that makes real numbers of integers gives: float32 for them. In place the type stays. */
static enum nuc_dtype real_dtype(const struct nuc_shape_call *c, enum nuc_dtype dtype)
{
    bool real = nuc_op_makes_real(c->node->op) && !c->node->in_place && !nuc_is_floating(dtype);

    return real ? NUC_F32 : dtype;
}

/* Sizes and order as the input: functions of one value, dropout (the identity outside training). */
void nuc_shape_unary(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);

    m.dtype = real_dtype(c, m.dtype);
    nuc_shape_result(c, &m);
}

/*
 * Numbers beside the tensor, arguments [first, last], have a say in the type: a float makes float32 of integers, and
 * any number makes int64 of bool.
 */
static void with_numbers(const struct nuc_shape_call *c, uint32_t tensor, uint32_t first, uint32_t last)
{
    struct nuc_meta m = *nuc_shape_input(c, tensor);

    for (uint32_t i = first; i <= last; i++) {
        const struct nuc_arg *number = nuc_arg_at(c->node, i);
        if (nuc_is_floating(m.dtype) || number->kind == NUC_ARG_NONE)
            continue;
        if (number->kind == NUC_ARG_FLOAT)
            m.dtype = NUC_F32;
        else if (m.dtype == NUC_BOOL)
            m.dtype = NUC_I64;
    }
    if (c->node->in_place)
        m.dtype = nuc_shape_input(c, tensor)->dtype;
    nuc_shape_result(c, &m);
}

/* self, min, max; self, min; self, max; self, exponent */
void nuc_shape_with_numbers(const struct nuc_shape_call *c)
{
    with_numbers(c, NUC_SELF, 1, c->node->n_args - 1);
}

/* A number to the power of a tensor. */
void nuc_shape_pow_of_scalar(const struct nuc_shape_call *c)
{
    with_numbers(c, NUC_ARG(POW_OF_SCALAR, exponent), NUC_SELF, NUC_SELF);
}

/* The square of a truth is an integer. */
void nuc_shape_square(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);

    m.dtype = m.dtype == NUC_BOOL ? NUC_I64 : m.dtype;
    nuc_shape_result(c, &m);
}

/* self, weight: one slope, or one for each index of dimension 1 (of dimension 0 of a vector: one only) */
void nuc_shape_prelu(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);
    const struct nuc_meta *w = nuc_shape_input(c, NUC_ARG(PRELU, weight));
    int64_t channels = in->rank < 2 ? 1 : in->sizes[1];

    if (w->rank > 1 || (nuc_elements(w) != 1 && nuc_elements(w) != channels))
        nuc_shape_fail(c, "%s holds slopes for %lld channels", nuc_meta_text(c->g->cx, w), (long long)channels);
    nuc_shape_result(c, in);
}

/* Order of torch's promotion among bool, integers and floats. */
static int dtype_category(enum nuc_dtype dtype)
{
    switch (dtype) {
    case NUC_BOOL:
        return 0;
    case NUC_U8:
    case NUC_I8:
    case NUC_I16:
    case NUC_I32:
    case NUC_I64:
    case NUC_U16:
        return 1;
    case NUC_F16:
    case NUC_BF16:
    case NUC_F32:
    case NUC_F64:
        return 2;
    case NUC_DTYPE_COUNT:
    default:
        return -1;
    }
}

enum nuc_dtype nuc_shape_promote(const struct nuc_shape_call *c, const struct nuc_meta *a, const struct nuc_meta *b)
{
    bool mixed_bytes = (a->dtype == NUC_U8 && b->dtype == NUC_I8) || (a->dtype == NUC_I8 && b->dtype == NUC_U8);

    int category_a = dtype_category(a->dtype);
    int category_b = dtype_category(b->dtype);

    if (a->dtype == b->dtype)
        return a->dtype;
    if (category_a != category_b)
        return category_a > category_b ? a->dtype : b->dtype;
    if ((a->rank == 0) != (b->rank == 0))
        return a->rank == 0 ? b->dtype : a->dtype;
    if (mixed_bytes)
        return NUC_I16;
    size_t size_a = nuc_dtype_size(a->dtype);
    size_t size_b = nuc_dtype_size(b->dtype);
    if (size_a == size_b || a->dtype == NUC_U16 || b->dtype == NUC_U16)
        nuc_shape_fail(c, "the inputs are %s and %s: convert one of them", nuc_dtype_name(a->dtype),
                       nuc_dtype_name(b->dtype));
    return size_a > size_b ? a->dtype : b->dtype;
}

/* Strides of `m` seen as the broadcast result of rank `rank`: 0 where it is repeated. */
static void broadcast_strides(const struct nuc_meta *m, const struct nuc_meta *result, int64_t strides[NUC_MAX_RANK])
{
    int64_t own[NUC_MAX_RANK];
    uint32_t lead = (uint32_t)(result->rank - m->rank);

    nuc_dense_strides(m, own);
    for (uint32_t i = 0; i < result->rank; i++) {
        bool repeated = i < lead || (m->sizes[i - lead] == 1 && result->sizes[i] != 1);
        strides[i] = repeated ? 0 : own[i - lead];
    }
}

bool nuc_broadcast_sizes(const struct nuc_meta *a, const struct nuc_meta *b, struct nuc_meta *m)
{
    m->rank = a->rank > b->rank ? a->rank : b->rank;
    for (uint32_t i = 0; i < m->rank; i++) {
        int64_t size_a = i + a->rank < m->rank ? 1 : a->sizes[i + a->rank - m->rank];
        int64_t size_b = i + b->rank < m->rank ? 1 : b->sizes[i + b->rank - m->rank];
        if (size_a != size_b && size_a != 1 && size_b != 1)
            return false;
        m->sizes[i] = size_a == 1 ? size_b : size_a;
    }
    return true;
}

bool nuc_broadcasts_to(const struct nuc_meta *from, const struct nuc_meta *to)
{
    for (uint32_t i = 0; i < from->rank; i++) {
        int64_t size = from->sizes[from->rank - 1 - i];
        if (size != 1 && (i >= to->rank || size != to->sizes[to->rank - 1 - i]))
            return false;
    }
    return true;
}

static void broadcast_sizes(const struct nuc_shape_call *c, const struct nuc_meta *a, const struct nuc_meta *b,
                            struct nuc_meta *m)
{
    if (!nuc_broadcast_sizes(a, b, m))
        nuc_shape_fail(c, "%s and %s do not broadcast", nuc_meta_text(c->g->cx, a), nuc_meta_text(c->g->cx, b));
}

/*
 * Order of an elementwise result. Operands of one shape: contiguous when all can be, else channels-last when all can be
 * (TensorIterator's fast set-up); else sorted by the operands' strides, the first deciding. Scalars have no say.
 */
static void elementwise_order(const struct nuc_meta *const *inputs, uint32_t count, struct nuc_meta *m)
{
    int64_t strides[3][NUC_MAX_RANK];
    uint32_t used = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (inputs[i]->rank != 0)
            broadcast_strides(inputs[i], m, strides[used++]);
    }
    if (used != 0)
        nuc_dim_order_of_inputs(m->sizes, (const int64_t(*)[NUC_MAX_RANK])strides, used, m->rank, m->dim_order);
}

struct nuc_meta nuc_shape_broadcast(const struct nuc_shape_call *c, uint32_t other)
{
    const struct nuc_meta *inputs[2] = {nuc_shape_input(c, NUC_SELF), nuc_shape_input(c, other)};
    struct nuc_meta m = {.dtype = nuc_shape_promote(c, inputs[0], inputs[1])};

    broadcast_sizes(c, inputs[0], inputs[1], &m);
    nuc_set_contiguous(&m);
    nuc_shape_check(c, &m);
    elementwise_order(inputs, 2, &m);
    return m;
}

/* `m` is what the operator makes; in place the result has the sizes, type and order of self. */
static void result_in_place(const struct nuc_shape_call *c, const struct nuc_meta *m)
{
    const struct nuc_meta *self = nuc_shape_input(c, NUC_SELF);

    if (!c->node->in_place) {
        nuc_shape_result(c, m);
        return;
    }
    if (!nuc_same_sizes(m, self) || dtype_category(m->dtype) > dtype_category(self->dtype))
        nuc_shape_fail(c, "the result %s does not fit into self, %s", nuc_meta_text(c->g->cx, m),
                       nuc_meta_text(c->g->cx, self));
    nuc_shape_result(c, self);
}

void nuc_shape_binary(const struct nuc_shape_call *c)
{
    struct nuc_meta m = nuc_shape_broadcast(c, NUC_OTHER);

    m.dtype = real_dtype(c, m.dtype);
    result_in_place(c, &m);
}

/* self, other, rounding_mode: without one it is a division of reals. */
void nuc_shape_div_mode(const struct nuc_shape_call *c)
{
    struct nuc_meta m = nuc_shape_broadcast(c, NUC_OTHER);

    if (nuc_shape_is_none(c, NUC_ARG(DIV_MODE, rounding_mode)) && !nuc_is_floating(m.dtype))
        m.dtype = NUC_F32;
    result_in_place(c, &m);
}

/* A truth for each element, or for each pair of them. */
void nuc_shape_compare(const struct nuc_shape_call *c)
{
    bool pairs = nuc_arg_at(c->node, NUC_OTHER)->kind == NUC_ARG_NODE;
    struct nuc_meta m = pairs ? nuc_shape_broadcast(c, NUC_OTHER) : *nuc_shape_input(c, NUC_SELF);

    m.dtype = NUC_BOOL;
    result_in_place(c, &m);
}

/* condition, self, other */
void nuc_shape_where(const struct nuc_shape_call *c)
{
    const struct nuc_meta *inputs[3] = {nuc_shape_input(c, NUC_SELF), nuc_shape_input(c, NUC_ARG(WHERE, self)),
                                        nuc_shape_input(c, NUC_ARG(WHERE, other))};
    struct nuc_meta chosen = {.dtype = nuc_shape_promote(c, inputs[1], inputs[2])};

    if (inputs[0]->dtype != NUC_BOOL)
        nuc_shape_fail(c, "the condition is %s instead of bool", nuc_dtype_name(inputs[0]->dtype));
    broadcast_sizes(c, inputs[1], inputs[2], &chosen);
    nuc_set_contiguous(&chosen);
    struct nuc_meta m = {.dtype = chosen.dtype};
    broadcast_sizes(c, inputs[0], &chosen, &m);
    nuc_set_contiguous(&m);
    nuc_shape_check(c, &m);
    elementwise_order(inputs, 3, &m);
    nuc_shape_result(c, &m);
}

/* ---- quantization: sizes and order as the input ---- */

static void change_dtype(const struct nuc_shape_call *c, enum nuc_dtype dtype)
{
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);

    m.dtype = dtype;
    nuc_shape_result(c, &m);
}

/* input, scales, zero_points, axis: a scale and a zero point for each index of that dimension. */
static void check_axis(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);
    uint32_t axis = nuc_shape_dim(c, nuc_shape_int(c, NUC_ARG(QUANTIZE_PER_CHANNEL, axis)), in->rank);

    if (in->rank == 0)
        nuc_shape_fail(c, "a scalar has no channels");
    for (uint32_t i = 1; i <= 2; i++) {
        const struct nuc_meta *m = nuc_shape_optional_input(c, i);
        if (m != NULL && (m->rank != 1 || m->sizes[0] != in->sizes[axis]))
            nuc_shape_fail(c, "%s holds parameters for %lld channels", nuc_meta_text(c->g->cx, m),
                           (long long)in->sizes[axis]);
    }
}

/* input, parameters, dtype: values get the type that the operator states. */
void nuc_shape_quantize(const struct nuc_shape_call *c)
{
    if (c->node->op == NUC_OP_QUANTIZE_PER_CHANNEL)
        check_axis(c);
    change_dtype(c, nuc_shape_dtype(c, nuc_arg_named(c->node, "dtype"), NUC_I8));
}

/* input, parameters, dtype, out_dtype: values have the type that the operator states. */
void nuc_shape_dequantize(const struct nuc_shape_call *c)
{
    enum nuc_dtype stated = nuc_shape_dtype(c, nuc_arg_named(c->node, "dtype"), NUC_I8);
    enum nuc_dtype actual = nuc_shape_input(c, NUC_SELF)->dtype;

    if (stated != actual)
        nuc_shape_fail(c, "the input is %s, the operator states %s", nuc_dtype_name(actual), nuc_dtype_name(stated));
    if (c->node->op == NUC_OP_DEQUANTIZE_PER_CHANNEL)
        check_axis(c);
    change_dtype(c, nuc_shape_dtype(c, nuc_arg_named(c->node, "out_dtype"), NUC_F32));
}
