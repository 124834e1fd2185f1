/* Sums, products and quotients of two tensors, extremes, softmax, PReLU, clamps. */
#include <math.h>
#include <string.h>

#include "compiler/cortexm/cortexm_private.h"

struct binary {
    struct nuc_cm_value a, b;
    struct nuc_cm_result out;
};

static bool read_binary(struct nuc_node *node, bool fuse, struct binary *v)
{
    return nuc_cm_tensor(node, 0, &v->a) && nuc_cm_tensor(node, 1, &v->b) && nuc_cm_result(node, fuse, &v->out);
}

/* ---- shapes of operands ---- */

static struct nuc_node *expanded(struct nuc_cm *c, struct nuc_node *value, const struct nuc_meta *like,
                                 struct nuc_node *before)
{
    if (nuc_same_sizes(&value->vals[0], like))
        return value;
    struct nuc_node *contiguous = nuc_cm_contiguous(c, value, before);
    struct nuc_node *e = nuc_insert(c->g, before, NUC_OP_EXPAND, value);
    nuc_set_arg_node(e, c->g, 0, contiguous);
    nuc_set_arg_ints(e, c->g, 1, like->sizes, like->rank);
    nuc_infer_shape(c->g, e);
    return e;
}

/* The kernels add a value for each channel to a channels-last image by themselves. */
static bool is_channel_vector(const struct nuc_node *image, const struct nuc_node *vector)
{
    const struct nuc_meta *x = &image->vals[0], *y = &vector->vals[0];

    return x->rank == 4 && y->rank == 4 && x->sizes[1] == y->sizes[1] && nuc_elements(y) == y->sizes[1] &&
           (nuc_is_channels_last(x) || x->sizes[1] == 1);
}

/* Both of the sizes of the result and in one dim order, or an image and a value for each channel. */
static void align(struct nuc_cm *c, struct binary *v, const struct nuc_meta *result, bool channels,
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

/* alpha as a number; the kernels have none, it becomes part of the scale. */
static double alpha_of(const struct nuc_node *node)
{
    const struct nuc_arg *arg = &node->args[2];

    return arg->kind == NUC_ARG_INT ? (double)arg->u.i : arg->kind == NUC_ARG_FLOAT ? arg->u.f : 1;
}

/* Source: backends/cortex_m/passes/aten_to_cortex_m_pass.py; a difference is a sum with a negative multiplier. */
static void set_add_args(struct nuc_cm *c, struct nuc_node *add, const struct binary *v, double factor)
{
    const double left_shift = 1 << 20;
    double scale_b = v->b.scale * fabs(factor);
    double twice_max = 2 * (v->a.scale > scale_b ? v->a.scale : scale_b);
    struct nuc_multiplier a = nuc_cm_multiplier(v->a.scale / twice_max), b = nuc_cm_multiplier(scale_b / twice_max);
    struct nuc_multiplier out = nuc_cm_multiplier(twice_max / (v->out.params.scale * left_shift));

    nuc_set_arg_node(add, c->g, 0, v->a.node);
    nuc_set_arg_int(add, 1, v->a.zero_point);
    nuc_set_arg_int(add, 2, a.multiplier);
    nuc_set_arg_int(add, 3, a.shift);
    nuc_set_arg_node(add, c->g, 4, v->b.node);
    nuc_set_arg_int(add, 5, v->b.zero_point);
    nuc_set_arg_int(add, 6, factor < 0 ? -(int64_t)b.multiplier : b.multiplier);
    nuc_set_arg_int(add, 7, b.shift);
    nuc_set_arg_int(add, 8, v->out.params.zero_point);
    nuc_set_arg_int(add, 9, out.multiplier);
    nuc_set_arg_int(add, 10, out.shift);
    nuc_set_arg_int(add, 11, v->out.low);
    nuc_set_arg_int(add, 12, v->out.high);
}

/* The sum has 20 fractional bits; shifted to the left for a result of a far finer scale it would overflow. */
static bool may_overflow(const struct binary *v, double factor)
{
    double scale_b = v->b.scale * fabs(factor);

    return 2 * (v->a.scale > scale_b ? v->a.scale : scale_b) > v->out.params.scale * (1 << 20);
}

bool nuc_cm_lower_add(struct nuc_cm *c, struct nuc_node *node)
{
    struct binary v;
    double factor = alpha_of(node) * (node->op == NUC_OP_SUB ? -1 : 1);

    if (!read_binary(node, true, &v) || !(fabs(factor) > 0) || !isfinite(factor) || may_overflow(&v, factor))
        return false;
    struct nuc_node *add = nuc_cm_insert(c, &v.out, NUC_OP_CORTEXM_ADD);
    align(c, &v, &node->vals[0], true, add);
    set_add_args(c, add, &v, factor);
    nuc_infer_shape(c->g, add);
    nuc_cm_replace(c, &v.out, add);
    return true;
}

/* ---- mul, div ---- */

bool nuc_cm_lower_mul(struct nuc_cm *c, struct nuc_node *node)
{
    struct binary v;

    if (!read_binary(node, false, &v))
        return false;
    struct nuc_node *mul = nuc_cm_insert(c, &v.out, NUC_OP_CORTEXM_MUL);
    struct nuc_multiplier m = nuc_cm_multiplier(v.a.scale * v.b.scale / v.out.params.scale);
    align(c, &v, &node->vals[0], true, mul);
    nuc_set_arg_node(mul, c->g, 0, v.a.node);
    nuc_set_arg_int(mul, 1, v.a.zero_point);
    nuc_set_arg_node(mul, c->g, 2, v.b.node);
    nuc_set_arg_int(mul, 3, v.b.zero_point);
    nuc_set_arg_int(mul, 4, v.out.params.zero_point);
    nuc_set_arg_int(mul, 5, m.multiplier);
    nuc_set_arg_int(mul, 6, m.shift);
    nuc_infer_shape(c->g, mul);
    nuc_cm_replace(c, &v.out, mul);
    return true;
}

bool nuc_cm_lower_div(struct nuc_cm *c, struct nuc_node *node)
{
    struct binary v;

    if (!read_binary(node, false, &v))
        return false;
    struct nuc_node *div = nuc_cm_insert(c, &v.out, NUC_OP_CORTEXM_DIV);
    align(c, &v, &node->vals[0], false, div);
    nuc_set_arg_node(div, c->g, 0, v.a.node);
    nuc_set_arg_int(div, 1, v.a.zero_point);
    nuc_set_arg_node(div, c->g, 2, v.b.node);
    nuc_set_arg_int(div, 3, v.b.zero_point);
    nuc_set_arg_int(div, 4, v.out.params.zero_point);
    nuc_set_arg_float(div, 5, v.a.scale / (v.b.scale * v.out.params.scale));
    nuc_infer_shape(c->g, div);
    nuc_cm_replace(c, &v.out, div);
    return true;
}

/* ---- minimum, maximum ---- */

bool nuc_cm_lower_extreme(struct nuc_cm *c, struct nuc_node *node)
{
    enum nuc_op op = node->op == NUC_OP_MINIMUM ? NUC_OP_CORTEXM_MINIMUM : NUC_OP_CORTEXM_MAXIMUM;
    struct binary v;

    if (!read_binary(node, false, &v) || node->vals[0].rank > 4)
        return false;
    struct nuc_node *extreme = nuc_cm_insert(c, &v.out, op);
    struct nuc_node *a = nuc_cm_requantize(c, &v.a, &v.out.params, extreme);
    struct nuc_node *b = nuc_cm_requantize(c, &v.b, &v.out.params, extreme);
    if (nuc_same_sizes(&a->vals[0], &b->vals[0])) {
        b = nuc_cm_in_order(c, b, &a->vals[0], extreme);
    } else {
        a = nuc_cm_contiguous(c, a, extreme);
        b = nuc_cm_contiguous(c, b, extreme);
    }
    nuc_set_arg_node(extreme, c->g, 0, a);
    nuc_set_arg_node(extreme, c->g, 1, b);
    nuc_infer_shape(c->g, extreme);
    nuc_cm_replace(c, &v.out, extreme);
    return true;
}

/* ---- softmax ---- */

struct softmax {
    int64_t multiplier, shift, diff_min;
};

/* Source: backends/cortex_m/passes/aten_to_cortex_m_pass.py, after LiteRT's PreprocessSoftmaxScaling. */
static struct softmax softmax_params(double scale)
{
    const int integer_bits = 5;
    double real = scale * (double)(1 << (31 - integer_bits));
    struct nuc_multiplier m = nuc_cm_multiplier(real < (double)INT32_MAX ? real : (double)INT32_MAX);
    double term = ldexp((double)((1 << integer_bits) - 1), 31 - integer_bits - m.shift);

    return (struct softmax){m.multiplier, m.shift, -(int64_t)floor(term)};
}

static struct nuc_node *transposed(struct nuc_cm *c, struct nuc_node *value, const int64_t *perm,
                                   struct nuc_node *before)
{
    struct nuc_node *t = nuc_insert(c->g, before, NUC_OP_CORTEXM_TRANSPOSE, value);

    nuc_set_arg_node(t, c->g, 0, value);
    nuc_set_arg_ints(t, c->g, 1, perm, value->vals[0].rank);
    nuc_infer_shape(c->g, t);
    return t;
}

static struct nuc_node *emit_softmax(struct nuc_cm *c, struct nuc_node *in, const struct nuc_cm_value *from,
                                     int64_t dim, const struct nuc_cm_result *out)
{
    struct nuc_node *node = nuc_cm_insert(c, out, NUC_OP_CORTEXM_SOFTMAX);
    struct softmax s = softmax_params(from->scale);

    nuc_set_arg_node(node, c->g, 0, in);
    nuc_set_arg_int(node, 1, dim);
    nuc_set_arg_int(node, 2, from->zero_point);
    nuc_set_arg_int(node, 3, out->params.zero_point);
    nuc_set_arg_int(node, 4, s.multiplier);
    nuc_set_arg_int(node, 5, s.shift);
    nuc_set_arg_int(node, 6, s.diff_min);
    nuc_infer_shape(c->g, node);
    return node;
}

/* The kernel goes along the last dimension of contiguous memory. */
static struct nuc_node *softmax_along(struct nuc_cm *c, const struct nuc_cm_value *in, int64_t dim,
                                      const struct nuc_cm_result *out)
{
    int64_t rank = in->node->vals[0].rank, perm[NUC_MAX_RANK];
    struct nuc_node *before = out->value->next;

    if (dim == 1 && nuc_cm_is_nhwc(in->node)) {
        struct nuc_node *view = nuc_cm_as_nhwc(c, in->node, before);
        struct nuc_node *softmax = emit_softmax(c, view, in, 3, out);
        nuc_move_before(c->g, view, softmax);
        return nuc_cm_as_nchw(c, softmax, softmax->next);
    }
    struct nuc_node *value = nuc_cm_contiguous(c, in->node, before);
    for (int64_t i = 0; i < rank; i++)
        perm[i] = i;
    perm[dim] = rank - 1;
    perm[rank - 1] = dim;
    if (dim != rank - 1)
        value = transposed(c, value, perm, before);
    struct nuc_node *softmax = emit_softmax(c, value, in, rank - 1, out);
    nuc_move_before(c->g, softmax, before);
    return dim != rank - 1 ? transposed(c, softmax, perm, before) : softmax;
}

bool nuc_cm_lower_softmax(struct nuc_cm *c, struct nuc_node *node)
{
    const struct nuc_cm_value fixed = {.dtype = NUC_I8, .scale = 0x1p-8, .zero_point = INT8_MIN};
    struct nuc_cm_value in;
    struct nuc_cm_result out;
    int64_t rank = node->vals[0].rank, dim = node->args[1].u.i;

    if (!nuc_cm_tensor(node, 0, &in) || !nuc_cm_result(node, false, &out) || rank < 1 || node->args[2].u.b)
        return false;
    if (!nuc_cm_same_params(&out.params, &fixed))
        return false;
    if (c->options->reference_compat) {
        nuc_cm_replace(c, &out, emit_softmax(c, in.node, &in, dim, &out));
        return true;
    }
    dim = dim < 0 ? dim + rank : dim;
    if (dim != rank - 1 && rank > 4)
        return false;
    nuc_cm_replace(c, &out, softmax_along(c, &in, dim, &out));
    return true;
}

/* ---- PReLU ---- */

bool nuc_cm_lower_prelu(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_cm_value in, weight;
    struct nuc_cm_result out;

    if (c->options->executorch_ops_only || !nuc_cm_tensor(node, 0, &in) || !nuc_cm_tensor(node, 1, &weight) ||
        !nuc_is_static(weight.node) || weight.zero_point != 0 || !nuc_cm_result(node, false, &out))
        return false;
    struct nuc_node *prelu = nuc_cm_insert(c, &out, NUC_OP_NUCLEON_PRELU);
    struct nuc_multiplier positive = nuc_cm_multiplier(in.scale / out.params.scale);
    struct nuc_multiplier negative = nuc_cm_multiplier(in.scale * weight.scale / out.params.scale);
    nuc_set_arg_node(prelu, c->g, 0, in.node);
    nuc_set_arg_node(prelu, c->g, 1, weight.node);
    nuc_set_arg_int(prelu, 2, in.zero_point);
    nuc_set_arg_int(prelu, 3, out.params.zero_point);
    nuc_set_arg_int(prelu, 4, positive.multiplier);
    nuc_set_arg_int(prelu, 5, positive.shift);
    nuc_set_arg_int(prelu, 6, negative.multiplier);
    nuc_set_arg_int(prelu, 7, negative.shift);
    nuc_infer_shape(c->g, prelu);
    nuc_cm_replace(c, &out, prelu);
    return true;
}

/* ---- clamps ---- */

/* Positions of the activation bounds: lower, upper. */
static bool bounds_of(enum nuc_op op, uint32_t *low, uint32_t *high)
{
    switch ((int)op) {
    case NUC_OP_CORTEXM_ADD:
        *low = 11, *high = 12;
        return true;
    case NUC_OP_CORTEXM_LINEAR:
        *low = 10, *high = 9;
        return true;
    case NUC_OP_CORTEXM_CONV2D:
        *low = 10, *high = 11;
        return true;
    case NUC_OP_CORTEXM_DEPTHWISE:
    case NUC_OP_CORTEXM_TRANSPOSE_CONV2D:
        *low = 11, *high = 12;
        return true;
    case NUC_OP_NUCLEON_TRANSPOSE_CONV2D:
        *low = 12, *high = 13;
        return true;
    case NUC_OP_CORTEXM_MAX_POOL2D:
        *low = 8, *high = 9;
        return true;
    default:
        return false;
    }
}

/* The operator that computed the value clamps it, when nobody else reads it. */
static bool join_producer(struct nuc_cm *c, struct nuc_node *dequantize, const struct nuc_cm_result *r)
{
    struct nuc_node *producer = nuc_arg_node(dequantize, 0);
    uint32_t low, high;

    if (producer == NULL || producer->n_users != 1 || dequantize->n_users != 1 || !bounds_of(producer->op, &low, &high))
        return false;
    int64_t min = producer->args[low].u.i, max = producer->args[high].u.i;
    min = min > r->low ? min : r->low;
    nuc_set_arg_int(producer, low, min > r->high ? r->high : min);
    max = max < r->high ? max : r->high;
    nuc_set_arg_int(producer, high, max < r->low ? r->low : max);
    nuc_cm_replace(c, r, producer);
    return true;
}

static void emit_clamp(struct nuc_cm *c, const struct nuc_cm_value *in, const struct nuc_cm_result *r)
{
    struct nuc_node *clamp = nuc_cm_insert(c, r, NUC_OP_CLAMP);

    nuc_set_arg_node(clamp, c->g, 0, in->node);
    nuc_set_arg_float(clamp, 1, (double)r->low);
    nuc_set_arg_float(clamp, 2, (double)r->high);
    nuc_infer_shape(c->g, clamp);
    nuc_cm_replace(c, r, clamp);
}

/* Input and result of one scale: the bounds are those of the result. Else it is a table. */
bool nuc_cm_lower_clamp(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_node *dequantize = nuc_arg_node(node, 0);
    struct nuc_cm_value in;
    struct nuc_cm_result r;

    /* Seen from the dequantize node, this operator is the activation. */
    if (!nuc_cm_tensor(node, 0, &in) || dequantize->n_users != 1 || !nuc_cm_result(dequantize, true, &r) ||
        r.value != node || !nuc_cm_same_params(&in, &r.params))
        return false;
    if (join_producer(c, dequantize, &r))
        return true;
    if (c->options->reference_compat) {
        emit_clamp(c, &in, &r);
        return true;
    }
    if (r.low != INT8_MIN || r.high != INT8_MAX)
        return false;
    nuc_cm_replace(c, &r, in.node);
    return true;
}
