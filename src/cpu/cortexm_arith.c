/* Sums, products and quotients of two tensors, extremes, softmax, PReLU, clamps. */
#include <math.h>

#include "cpu/cortexm_site.h"

/* ---- shapes of operands ---- */

static struct nuc_node *expanded(struct nuc_cm *c, struct nuc_node *value, const struct nuc_meta *like,
                                 struct nuc_node *before)
{
    if (nuc_same_sizes(&value->vals[0], like))
        return value;
    struct nuc_node *contiguous = nuc_cm_contiguous(c, value, before);
    return nuc_emit(c->g, before, NUC_OP_EXPAND, value, NUC_ARGS(contiguous, nuc_ints_arg(like->sizes, like->rank)));
}

/* The kernels add a value for each channel to a channels-last image by themselves. */
static bool is_channel_vector(const struct nuc_node *image, const struct nuc_node *vector)
{
    const struct nuc_meta *x = &image->vals[0], *y = &vector->vals[0];

    return x->rank == 4 && y->rank == 4 && x->sizes[1] == y->sizes[1] && nuc_elements(y) == y->sizes[1] &&
           (nuc_is_channels_last(x) || x->sizes[1] == 1);
}

/* Both of the sizes of the result and in one dim order, or an image and a value for each channel. */
static void align(struct nuc_cm *c, struct nuc_cm_binary *v, const struct nuc_meta *result, bool channels,
                  struct nuc_node *before)
{
    bool whole_a = nuc_same_sizes(&v->a.node->vals[0], result), whole_b = nuc_same_sizes(&v->b.node->vals[0], result);

    if (channels && ((whole_a && !whole_b && is_channel_vector(v->a.node, v->b.node)) ||
                     (whole_b && !whole_a && is_channel_vector(v->b.node, v->a.node))))
        return;
    v->a.node = expanded(c, v->a.node, result, before);
    v->b.node = expanded(c, v->b.node, result, before);
    const struct nuc_node *first = whole_a ? v->a.node : v->b.node;
    v->a.node = nuc_cm_in_order(c, v->a.node, &first->vals[0], before);
    v->b.node = nuc_cm_in_order(c, v->b.node, &first->vals[0], before);
}

/* ---- add, sub ---- */

/* Fractional bits of a sum. */
static double sum_unit(const struct nuc_cm_binary *v)
{
    return v->a.dtype == NUC_I8 ? 1 << 20 : 1 << 15;
}

bool nuc_cm_lower_add(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_cm_binary v;
    /* The kernels do not have an alpha, which becomes part of the scale. */
    double factor = nuc_scalar(node, NUC_ARG(ADD, alpha), 1) * (node->op == NUC_OP_SUB ? -1 : 1);

    if (!nuc_cm_read_binary(node, true, &v) || !(fabs(factor) > 0) || !isfinite(factor))
        return false;
    /* Shifted to the left for a result of a far finer scale a sum would overflow. */
    double scale_b = v.b.scale * fabs(factor);
    double twice_max = 2 * (v.a.scale > scale_b ? v.a.scale : scale_b);
    if (twice_max > v.out.params.scale * sum_unit(&v))
        return false;
    struct nuc_node *before = nuc_cm_place(&v.out);
    align(c, &v, &node->vals[0], true, before);
    /* Source: backends/cortex_m/passes/aten_to_cortex_m_pass.py; a difference is a sum with a negative multiplier. */
    struct nuc_multiplier a = nuc_cm_multiplier(v.a.scale / twice_max), b = nuc_cm_multiplier(scale_b / twice_max);
    struct nuc_multiplier out = nuc_cm_multiplier(twice_max / (v.out.params.scale * sum_unit(&v)));
    return nuc_cm_replace(
        c, &v.out,
        nuc_emit(c->g, before, NUC_OP_CORTEXM_ADD, v.out.value,
                 NUC_ARGS(v.a.node, v.a.zero_point, a.multiplier, a.shift, v.b.node, v.b.zero_point,
                          factor < 0 ? -(int64_t)b.multiplier : b.multiplier, b.shift, v.out.params.zero_point,
                          out.multiplier, out.shift, v.out.low, v.out.high)));
}

/* ---- choice ---- */

/* One side: a quantized tensor, or a number that is not quantized yet (node NULL). */
struct side {
    struct nuc_cm_value value;
    double number;
    struct nuc_meta shape; /* of the number: its rank may be that of the result */
};

static bool read_side(struct nuc_cm *c, const struct nuc_node *node, uint32_t index, struct side *s)
{
    const struct nuc_node *arg = nuc_arg_node(node, index);

    if (nuc_cm_tensor(node, index, &s->value))
        return true;
    if (!nuc_is_static_float(arg) || nuc_elements(&arg->vals[0]) != 1)
        return false;
    s->value.node = NULL;
    s->number = (double)*(const float *)nuc_const_contiguous(c->g, arg);
    s->shape = arg->vals[0];
    return true;
}

/* In the parameters and, if it is of that size, the dim order of the result. */
static struct nuc_node *side_value(struct nuc_cm *c, const struct side *s, const struct nuc_cm_result *out,
                                   struct nuc_node *before)
{
    if (s->value.node == NULL) {
        int16_t number = (int16_t)nuc_cm_quantize(&out->params, s->number); /* the first byte is that of an int8 */
        return nuc_cm_constant(c, out->value, "_number", out->params.dtype, s->shape.sizes, s->shape.rank,
                               nuc_copy(c->g->cx, &number, sizeof number));
    }
    struct nuc_node *value = nuc_cm_requantize(c, &s->value, &out->params, before);
    return nuc_same_sizes(&value->vals[0], &out->value->vals[0])
               ? nuc_cm_in_order(c, value, &out->value->vals[0], before)
               : value;
}

/* The portable operator over integers. */
bool nuc_cm_lower_where(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_node *condition = nuc_arg_node(node, NUC_ARG(WHERE, condition));
    struct side a, b;
    struct nuc_cm_result out;

    if (condition == NULL || !read_side(c, node, NUC_ARG(WHERE, self), &a) ||
        !read_side(c, node, NUC_ARG(WHERE, other), &b) || !nuc_cm_result(node, false, &out))
        return false;
    struct nuc_node *before = nuc_cm_place(&out);
    struct nuc_node *yes = side_value(c, &a, &out, before), *no = side_value(c, &b, &out, before);
    return nuc_cm_replace(c, &out, nuc_emit(c->g, before, NUC_OP_WHERE, out.value, NUC_ARGS(condition, yes, no)));
}

/* A product with truths keeps a value or makes a zero of it. */
static bool lower_masked(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_cm_result out;
    struct side kept, zero = {.number = 0.0};

    for (uint32_t i = 0; i < 2; i++) {
        struct nuc_node *mask = nuc_arg_node(node, i);
        if (mask == NULL || mask->vals[0].dtype != NUC_BOOL || !read_side(c, node, 1 - i, &kept) ||
            !nuc_cm_result(node, false, &out))
            continue;
        struct nuc_node *before = nuc_cm_place(&out);
        struct nuc_node *value = side_value(c, &kept, &out, before), *none = side_value(c, &zero, &out, before);
        return nuc_cm_replace(c, &out, nuc_emit(c->g, before, NUC_OP_WHERE, out.value, NUC_ARGS(mask, value, none)));
    }
    return false;
}

/* ---- mul, div ---- */

/* The square of a difference that nothing rounds, as LiteRT has it: a sum's factors, and no more bits than int8 needs.
 */
static bool lower_squared_difference(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_node *difference = nuc_arg_node(node, NUC_SELF);
    struct nuc_cm_binary v;

    if (difference == NULL || difference != nuc_arg_node(node, NUC_OTHER) || difference->op != NUC_OP_SUB ||
        !nuc_cm_is_own(c) || !nuc_has_plain_alpha(difference) || !nuc_cm_tensor(difference, NUC_SELF, &v.a) ||
        !nuc_cm_tensor(difference, NUC_OTHER, &v.b) || !nuc_cm_result(node, false, &v.out) || v.a.dtype != v.b.dtype ||
        v.a.dtype != v.out.params.dtype)
        return false;
    const double twice_max = 2 * (v.a.scale > v.b.scale ? v.a.scale : v.b.scale);
    const struct nuc_multiplier a = nuc_cm_multiplier(v.a.scale / twice_max),
                                b = nuc_cm_multiplier(v.b.scale / twice_max);
    const struct nuc_multiplier out =
        nuc_cm_multiplier(twice_max * twice_max / (v.out.params.scale * (v.a.dtype == NUC_I8 ? 1 << 14 : 1)));
    struct nuc_node *before = nuc_cm_place(&v.out);
    align(c, &v, &node->vals[0], false, before);
    return nuc_cm_replace(
        c, &v.out,
        nuc_emit(c->g, before, NUC_OP_NUCLEON_SQUARED_DIFFERENCE, v.out.value,
                 NUC_ARGS(v.a.node, v.a.zero_point, a.multiplier, a.shift, v.b.node, v.b.zero_point, b.multiplier,
                          b.shift, v.out.params.zero_point, out.multiplier, out.shift, v.out.low, v.out.high)));
}

bool nuc_cm_lower_mul(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_cm_binary v;

    if (!nuc_cm_read_binary(node, false, &v))
        return lower_squared_difference(c, node) || lower_masked(c, node);
    struct nuc_multiplier m = nuc_cm_multiplier(v.a.scale * v.b.scale / v.out.params.scale);
    struct nuc_node *before = nuc_cm_place(&v.out);
    align(c, &v, &node->vals[0], true, before);
    return nuc_cm_replace(c, &v.out,
                          nuc_emit(c->g, before, NUC_OP_CORTEXM_MUL, v.out.value,
                                   NUC_ARGS(v.a.node, v.a.zero_point, v.b.node, v.b.zero_point, v.out.params.zero_point,
                                            m.multiplier, m.shift)));
}

bool nuc_cm_lower_div(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_cm_binary v;

    if (!nuc_cm_read_binary(node, false, &v))
        return false;
    struct nuc_node *before = nuc_cm_place(&v.out);
    align(c, &v, &node->vals[0], false, before);
    return nuc_cm_replace(c, &v.out,
                          nuc_emit(c->g, before, NUC_OP_CORTEXM_DIV, v.out.value,
                                   NUC_ARGS(v.a.node, v.a.zero_point, v.b.node, v.b.zero_point, v.out.params.zero_point,
                                            v.a.scale / (v.b.scale * v.out.params.scale))));
}

/* ---- minimum, maximum ---- */

bool nuc_cm_lower_extreme(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_cm_binary v;

    if (!nuc_cm_read_binary(node, false, &v) || node->vals[0].rank > 4)
        return false;
    enum nuc_op op = v.a.dtype == NUC_I8 ? nuc_int8_op(node->op) : node->op;
    struct nuc_node *before = nuc_cm_place(&v.out);
    struct nuc_node *a = nuc_cm_requantize(c, &v.a, &v.out.params, before);
    struct nuc_node *b = nuc_cm_requantize(c, &v.b, &v.out.params, before);
    if (nuc_same_sizes(&a->vals[0], &b->vals[0])) {
        b = nuc_cm_in_order(c, b, &a->vals[0], before);
    } else {
        a = nuc_cm_contiguous(c, a, before);
        b = nuc_cm_contiguous(c, b, before);
    }
    return nuc_cm_replace(c, &v.out, nuc_emit(c->g, before, op, v.out.value, NUC_ARGS(a, b)));
}

/* ---- softmax ---- */

static struct nuc_node *emit_softmax(struct nuc_cm *c, struct nuc_node *value, const struct nuc_cm_unary *u,
                                     int64_t dim, struct nuc_node *before)
{
    if (u->in.dtype == NUC_I16)
        return nuc_cm_emit_wide_softmax(c, value, u, dim, before);
    /* Source: backends/cortex_m/passes/aten_to_cortex_m_pass.py, after LiteRT's PreprocessSoftmaxScaling. */
    double scale = u->in.scale;
    const int integer_bits = 5;
    double real = scale * (double)(1 << (31 - integer_bits));
    /* Of smaller steps than a half all exponentials are 1. */
    struct nuc_multiplier m = nuc_cm_multiplier(fmax(real < (double)INT32_MAX ? real : (double)INT32_MAX, 0.5));
    double term = ldexp((double)((1 << integer_bits) - 1), 31 - integer_bits - m.shift);

    return nuc_emit(
        c->g, before, NUC_OP_CORTEXM_SOFTMAX, u->out.value,
        NUC_ARGS(value, dim, u->in.zero_point, u->out.params.zero_point, m.multiplier, m.shift, -(int64_t)floor(term)));
}

/* The kernel goes along the last dimension of contiguous memory. */
static struct nuc_node *softmax_along(struct nuc_cm *c, const struct nuc_cm_unary *u, int64_t dim)
{
    int64_t rank = u->in.node->vals[0].rank, perm[NUC_MAX_RANK];
    struct nuc_node *before = nuc_cm_place(&u->out);

    if (dim == 1 && nuc_cm_is_nhwc(u->in.node)) {
        struct nuc_node *view = nuc_cm_as_nhwc(c, u->in.node, before);
        return nuc_cm_as_nchw(c, emit_softmax(c, view, u, 3, before), before);
    }
    struct nuc_node *value = nuc_cm_contiguous(c, u->in.node, before);
    if (dim == rank - 1)
        return emit_softmax(c, value, u, dim, before);
    for (int64_t i = 0; i < rank; i++)
        perm[i] = i;
    perm[dim] = rank - 1;
    perm[rank - 1] = dim;
    value = nuc_cm_transpose(c, value, perm, before);
    return nuc_cm_transpose(c, emit_softmax(c, value, u, rank - 1, before), perm, before);
}

bool nuc_cm_lower_softmax(struct nuc_cm *c, struct nuc_node *node)
{
    const struct nuc_cm_value fixed = {.dtype = NUC_I8, .scale = 0x1p-8, .zero_point = INT8_MIN};
    const struct nuc_cm_value fixed_wide = {.dtype = NUC_I16, .scale = 0x1p-15};
    const struct nuc_cm_value widened = {.dtype = NUC_I16, .scale = 0x1p-16, .zero_point = INT16_MIN};
    struct nuc_cm_unary u;
    uint32_t rank = node->vals[0].rank;
    int64_t dim = nuc_integer(node, NUC_ARG(NATIVE_SOFTMAX, dim), 0);

    if (!nuc_cm_tensor(node, NUC_SELF, &u.in) || !nuc_cm_any_result(node, &u.out) || rank < 1 ||
        nuc_flag(node, NUC_ARG(NATIVE_SOFTMAX, half_to_float)))
        return false;
    /* LiteRT takes one scale for the other where they differ by less than a thousandth. */
    bool widens = nuc_cm_is_own(c) && u.in.dtype == NUC_I8 && u.out.params.dtype == NUC_I16 &&
                  fabs(u.out.params.scale / widened.scale - 1) < 1e-3 &&
                  u.out.params.zero_point == widened.zero_point && u.out.params.scales == NULL;
    if (!widens && !nuc_cm_same_params(&u.out.params, u.in.dtype == NUC_I8 ? &fixed : &fixed_wide))
        return false;
    if (c->options->reference_compat)
        return nuc_cm_replace(c, &u.out, emit_softmax(c, u.in.node, &u, dim, nuc_cm_place(&u.out)));
    dim = nuc_positive_dim(dim, rank);
    if ((dim != (int64_t)rank - 1 && rank > 4) ||
        node->vals[0].sizes[dim] > (u.in.dtype == NUC_I8 ? NUC_FIXED_SOFTMAX_ROW : UINT16_MAX))
        return false;
    return nuc_cm_replace(c, &u.out, softmax_along(c, &u, dim));
}

/* ---- PReLU ---- */

/* Slopes about a zero point have nine bits: as eight about zero, in larger steps where they need these. */
static void centre_slopes(struct nuc_cm *c, struct nuc_cm_value *w)
{
    const struct nuc_meta *m = &w->node->vals[0];
    const int8_t *from = nuc_const_contiguous(c->g, w->node);
    const size_t count = (size_t)nuc_elements(m);
    int8_t *to = nuc_alloc_array(c->g->cx, count + 1, 1);
    double most = INT8_MAX;

    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs((double)(from[i] - w->zero_point)));
    for (size_t i = 0; i < count; i++)
        to[i] = (int8_t)round((double)(from[i] - w->zero_point) * INT8_MAX / most);
    w->node = nuc_cm_constant(c, w->node, "_centred", NUC_I8, m->sizes, m->rank, to);
    w->scale *= most / INT8_MAX;
    w->zero_point = 0;
}

bool nuc_cm_lower_prelu(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_cm_binary v; /* b: the weight */

    if (c->options->executorch_ops_only || !nuc_cm_tensor(node, NUC_SELF, &v.a) ||
        !nuc_cm_int8(nuc_arg_node(node, NUC_OTHER), &v.b) || !nuc_cm_result(node, false, &v.out) ||
        v.a.dtype != v.out.params.dtype || !nuc_is_static(v.b.node))
        return false;
    if (v.b.zero_point != 0)
        centre_slopes(c, &v.b);
    struct nuc_multiplier positive = nuc_cm_multiplier(v.a.scale / v.out.params.scale);
    struct nuc_multiplier negative = nuc_cm_multiplier(v.a.scale * v.b.scale / v.out.params.scale);
    return nuc_cm_replace(c, &v.out,
                          nuc_emit(c->g, nuc_cm_place(&v.out), NUC_OP_NUCLEON_PRELU, v.out.value,
                                   NUC_ARGS(v.a.node, v.b.node, v.a.zero_point, v.out.params.zero_point,
                                            positive.multiplier, positive.shift, negative.multiplier, negative.shift)));
}

/* ---- clamps ---- */

/* Operators that clamp what they compute, and the positions of their bounds. */
#define BOUNDS(op)                                                                                                     \
    {                                                                                                                  \
        NUC_OP_##op, NUC_ARG(op, activation_min), NUC_ARG(op, activation_max)                                          \
    }
static const struct bounds {
    enum nuc_op op;
    uint32_t low, high;
} bounds[] = {
    BOUNDS(CORTEXM_ADD),         BOUNDS(CORTEXM_LINEAR),           BOUNDS(CORTEXM_CONV2D),
    BOUNDS(CORTEXM_DEPTHWISE),   BOUNDS(CORTEXM_TRANSPOSE_CONV2D), BOUNDS(NUCLEON_TRANSPOSE_CONV2D),
    BOUNDS(CORTEXM_MAX_POOL2D),  BOUNDS(NUCLEON_CONV2D),           BOUNDS(NUCLEON_DEPTHWISE),
    BOUNDS(NUCLEON_WIDE_CONV2D), BOUNDS(NUCLEON_WIDE_DEPTHWISE),   BOUNDS(NUCLEON_REQUANTIZE),
};

/* The operator that computed the value clamps it, when nobody else reads it. */
static bool join_producer(struct nuc_cm *c, struct nuc_node *dequantize, const struct nuc_cm_result *r)
{
    struct nuc_node *producer = nuc_arg_node(dequantize, NUC_SELF);
    const struct bounds *at = NULL;

    for (size_t i = 0; producer != NULL && i < sizeof bounds / sizeof *bounds; i++)
        at = bounds[i].op == producer->op ? &bounds[i] : at;
    if (at == NULL || producer->n_users != 1 || dequantize->n_users != 1)
        return false;
    int64_t min = nuc_integer(producer, at->low, INT8_MIN), max = nuc_integer(producer, at->high, INT8_MAX);
    min = min > r->low ? min : r->low;
    nuc_set_arg_int(producer, at->low, min > r->high ? r->high : min);
    max = max < r->high ? max : r->high;
    nuc_set_arg_int(producer, at->high, max < r->low ? r->low : max);
    return nuc_cm_replace(c, r, producer);
}

/* Input and result of one scale: the bounds are those of the result. Else it is a table. */
bool nuc_cm_lower_clamp(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_node *dequantize = nuc_arg_node(node, NUC_SELF);
    struct nuc_cm_value in;
    struct nuc_cm_result r;

    /* Seen from the dequantize node, this operator is the activation. */
    if (!nuc_cm_tensor(node, NUC_SELF, &in) || dequantize->n_users != 1 || !nuc_cm_result(dequantize, true, &r) ||
        r.value != node || !nuc_cm_same_params(&in, &r.params))
        return false;
    if (join_producer(c, dequantize, &r))
        return true;
    struct nuc_node *clamped = in.node;
    if (c->options->reference_compat)
        clamped = nuc_emit(c->g, nuc_cm_place(&r), NUC_OP_CLAMP, r.value, NUC_ARGS(in.node, r.low, r.high));
    else if (nuc_cm_is_clamped(&r))
        return false;
    return nuc_cm_replace(c, &r, clamped);
}
