/* Elementwise operators, reductions, softmax, quantization. */
#include <math.h>

#include "tflite_import.h"

/* The operator of the graph that computes the same. */
static enum nuc_op graph_op(const struct nuc_ti *ti)
{
    static const uint16_t ops[NUC_LT_CODES] = {
#define LT_FUNCTION(name, number, type, rule, function, graph) [number] = NUC_OP_##graph,
#define LT_CLIP(name, number, low, high) [number] = NUC_OP_HARDTANH,
#define LT_BINARY(name, number, type, fields, rule, kernel, graph) [number] = NUC_OP_##graph,
#define LT_MAP(name, number, type, graph) [number] = NUC_OP_##graph,
#define LT_PAIRWISE(name, number, type, fields, graph) [number] = NUC_OP_##graph,
#define LT_REDUCE(name, number, graph) [number] = NUC_OP_##graph,
#include "litert/lt_ops.def"
    };

    return (enum nuc_op)ops[ti->op->code];
}

/* ---- two operands ---- */

void nuc_ti_binary(struct nuc_ti *ti)
{
    enum nuc_ti_form form = nuc_ti_common_form(ti, 2);
    struct nuc_node *x = nuc_ti_broadcast(ti, 0, form), *y = nuc_ti_broadcast(ti, 1, form), *node;

    if (ti->op->code == NUC_LT_DIV && nuc_ti_is_index(nuc_ti_out(ti))) {
        /* torch's division of integers is a real one, LiteRT's drops the fraction. */
        node = nuc_ti_call(ti, NUC_OP_DIV_MODE, x);
        nuc_set_arg_node(node, ti->g, NUC_OTHER, y);
        nuc_set_arg_string(node, NUC_ARG(DIV_MODE, rounding_mode), "trunc");
        node = nuc_ti_infer(ti, node);
    } else {
        node = nuc_ti_emit(ti, graph_op(ti), NUC_ARGS(x, y));
    }
    /* No kernel clips a product: LiteRT clips it after it was rounded. */
    if (ti->op->code == NUC_LT_MUL && ti->was_uint8 != NULL && ti->op->options.arith.activation != NUC_LT_ACT_NONE)
        node = nuc_ti_settle(ti, node, nuc_ti_out(ti));
    /* Operators without options have no activation. */
    nuc_ti_define(ti, nuc_ti_activate(ti, node, ti->op->options.arith.activation), form);
}

void nuc_ti_squared_difference(struct nuc_ti *ti)
{
    enum nuc_ti_form form = nuc_ti_common_form(ti, 2);
    struct nuc_node *x = nuc_ti_broadcast(ti, 0, form), *y = nuc_ti_broadcast(ti, 1, form);
    struct nuc_node *difference = nuc_ti_emit(ti, NUC_OP_SUB, NUC_ARGS(x, y));
    nuc_ti_define(ti, nuc_ti_emit(ti, NUC_OP_MUL, NUC_ARGS(difference, difference)), form);
}

/* From the first to the last. */
void nuc_ti_add_n(struct nuc_ti *ti)
{
    enum nuc_ti_form form = nuc_ti_common_form(ti, ti->op->n_inputs);
    struct nuc_node *sum = nuc_ti_real(ti, 0, form);

    nuc_ti_need_float(ti);
    for (uint32_t i = 1; i < ti->op->n_inputs; i++)
        sum = nuc_ti_emit(ti, NUC_OP_ADD, NUC_ARGS(sum, nuc_ti_real(ti, i, form)));
    nuc_ti_define(ti, sum, form);
}

/* ---- one operand ---- */

void nuc_ti_unary(struct nuc_ti *ti)
{
    static const struct {
        int8_t low, high;
    } clips[NUC_LT_CODES] = {
#define LT_CLIP(name, number, low, high) [number] = {low, high},
#include "litert/lt_ops.def"
    };
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);
    struct nuc_node *x = nuc_ti_real(ti, 0, form);
    double low = clips[ti->op->code].low, high = clips[ti->op->code].high;

    nuc_ti_define(ti,
                  low < high ? nuc_ti_emit(ti, graph_op(ti), NUC_ARGS(x, low, high))
                             : nuc_ti_emit(ti, graph_op(ti), NUC_ARGS(x)),
                  form);
}

void nuc_ti_gelu(struct nuc_ti *ti)
{
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);
    struct nuc_node *node = nuc_ti_call(ti, NUC_OP_GELU, nuc_ti_real(ti, 0, form));

    nuc_set_arg_string(node, NUC_ARG(GELU, approximate), ti->op->options.gelu.approximate ? "tanh" : "none");
    nuc_ti_define(ti, nuc_ti_infer(ti, node), form);
}

void nuc_ti_square(struct nuc_ti *ti)
{
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);

    nuc_ti_need_float(ti);
    struct nuc_node *x = nuc_ti_real(ti, 0, form);
    nuc_ti_define(ti, nuc_ti_emit(ti, NUC_OP_MUL, NUC_ARGS(x, x)), form);
}

void nuc_ti_leaky_relu(struct nuc_ti *ti)
{
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);
    double alpha = (double)ti->op->options.leaky_relu.alpha;

    if (!isfinite(alpha))
        nuc_ti_fail(ti, "alpha is %g", alpha);
    struct nuc_node *x = nuc_ti_real(ti, 0, form);
    nuc_ti_define(ti, nuc_ti_emit(ti, NUC_OP_LEAKY_RELU, NUC_ARGS(x, alpha)), form);
}

/* max(x, 0) + slope * (x - max(x, 0)), with slopes that are computed or differ from pixel to pixel. */
static void define_prelu_of_parts(struct nuc_ti *ti)
{
    enum nuc_ti_form form = nuc_ti_common_form(ti, 2);
    struct nuc_node *x = nuc_ti_broadcast(ti, 0, form), *slopes = nuc_ti_broadcast(ti, 1, form);
    struct nuc_node *above = nuc_ti_emit(ti, NUC_OP_RELU, NUC_ARGS(x));
    struct nuc_node *below = nuc_ti_emit(ti, NUC_OP_SUB, NUC_ARGS(x, above));

    below = nuc_ti_emit(ti, NUC_OP_MUL, NUC_ARGS(below, slopes));
    nuc_ti_define(ti, nuc_ti_emit(ti, NUC_OP_ADD, NUC_ARGS(above, below)), form);
}

/* One slope for each channel, or one for all. */
void nuc_ti_prelu(struct nuc_ti *ti)
{
    static const int64_t one = 1;
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *slopes = nuc_ti_in(ti, 1);
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);
    int64_t count = nuc_lt_elements(slopes);
    int64_t last = nuc_ti_size_from_end(slopes, 0);
    bool fits = count == 1 || (x->rank >= 2 && x->rank <= 4 && nuc_ti_size_from_end(x, 0) == count);

    if (!nuc_ti_is_quantized(x) && (slopes->data.data == NULL || count != last || !fits)) {
        define_prelu_of_parts(ti);
        return;
    }

    if (slopes->data.data == NULL || count != last || (count != 1 && nuc_ti_size_from_end(x, 0) != count))
        nuc_ti_fail(ti, "slopes '%s' must be constants, one for each channel or one for all", slopes->name);
    if (count != 1 && x->rank == 4)
        form = NUC_TI_IMAGE;
    else if (count != 1 && x->rank != 2 && x->rank != 3)
        nuc_ti_fail(ti, "slopes for each channel of %u dimensions are not handled: 2 to 4 are", x->rank);
    struct nuc_meta meta = nuc_meta_make(slopes->dtype, &count, 1);
    /* torch's channels are dimension 1. */
    static const int64_t swapped[3] = {0, 2, 1};
    bool swap = count != 1 && x->rank == 3;
    struct nuc_node *real = nuc_ti_real(ti, 0, form), *weight = nuc_ti_constant(ti, slopes, &meta, &one, 0);
    if (swap)
        real = nuc_ti_settle(ti, nuc_ti_permute(ti, real, swapped, 3), x);
    struct nuc_node *node = nuc_ti_emit(ti, NUC_OP_PRELU, NUC_ARGS(real, weight));
    if (swap)
        node = nuc_ti_permute(ti, nuc_ti_settle(ti, node, nuc_ti_out(ti)), swapped, 3);
    nuc_ti_define(ti, node, form);
}

/* The last axis of operand 0 as a dimension of its value. */
static struct nuc_arg last_dim(const struct nuc_ti *ti, enum nuc_ti_form form)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);

    if (x->rank == 0)
        nuc_ti_fail(ti, "operand '%s' has no dimensions", x->name);
    return nuc_int_arg(nuc_ti_dim(form, x->rank - 1));
}

/* A float value times a number. */
static struct nuc_node *times(struct nuc_ti *ti, struct nuc_node *x, double factor)
{
    return nuc_ti_emit(ti, NUC_OP_MUL, NUC_ARGS(x, nuc_ti_number(ti, factor)));
}

/* The same numbers as steps that are `factor` times as large, a product that LiteRT does not round. */
static struct nuc_node *in_other_steps(struct nuc_ti *ti, struct nuc_node *x, double factor)
{
    const struct nuc_lt_tensor *t = nuc_ti_in(ti, 0);
    double scale = (double)t->quant.scale[0] * factor;
    struct nuc_node *quantized = nuc_ti_quantize(ti, times(ti, x, factor), t);
    struct nuc_node *real = nuc_ti_dequantize(ti, quantized, t);

    nuc_set_arg_float(quantized, NUC_ARG(QUANTIZE_PER_TENSOR, scale), scale);
    nuc_set_arg_float(real, NUC_ARG(DEQUANTIZE_PER_TENSOR, scale), scale);
    return real;
}

void nuc_ti_softmax(struct nuc_ti *ti)
{
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);
    double beta = (double)ti->op->options.softmax.beta;
    const struct nuc_arg dim = last_dim(ti, form);
    bool scaled = beta < 1 || beta > 1, quantized = nuc_ti_is_quantized(nuc_ti_in(ti, 0));

    if (!isfinite(beta) || (quantized && beta < 1e-6))
        nuc_ti_fail(ti, "beta is %g: a finite number, above 0 in int8, is handled", beta);
    struct nuc_node *real = nuc_ti_real(ti, 0, form);
    if (scaled)
        real = quantized ? in_other_steps(ti, real, beta) : times(ti, real, beta);
    nuc_ti_define(ti, nuc_ti_emit(ti, NUC_OP_SOFTMAX, NUC_ARGS(real, dim)), form);
}

void nuc_ti_log_softmax(struct nuc_ti *ti)
{
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);
    const struct nuc_arg dim = last_dim(ti, form);
    struct nuc_node *real = nuc_ti_real(ti, 0, form);

    nuc_ti_define(ti, nuc_ti_emit(ti, NUC_OP_LOG_SOFTMAX, NUC_ARGS(real, dim)), form);
}

/* x / max(sqrt(sum of squares), 1e-6) along the last axis. The activation of the options means nothing. */
void nuc_ti_l2_norm(struct nuc_ti *ti)
{
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);
    const int64_t dim = last_dim(ti, form).u.i;

    nuc_ti_need_float(ti);
    struct nuc_node *x = nuc_ti_real(ti, 0, form);
    struct nuc_node *norm = nuc_ti_emit(ti, NUC_OP_MUL, NUC_ARGS(x, x));
    norm = nuc_ti_emit(ti, NUC_OP_SUM_DIM, NUC_ARGS(norm, nuc_ints_arg(&dim, 1), nuc_bool_arg(true)));
    norm = nuc_ti_emit(ti, NUC_OP_SQRT, NUC_ARGS(norm));
    norm = nuc_ti_emit(ti, NUC_OP_CLAMP, NUC_ARGS(norm, 1e-6));
    nuc_ti_define(ti, nuc_ti_emit(ti, NUC_OP_DIV, NUC_ARGS(x, norm)), form);
}

/* Sums of what comes before and, unless it is exclusive, at each position; from the end if it is reverse. */
void nuc_ti_cumsum(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);
    int64_t list[1];
    int32_t axis = nuc_ti_integers(ti, 1, 1, list) == 1 ? nuc_lt_axis(list[0], x->rank) : -1;

    nuc_ti_need_float(ti);
    if (axis < 0)
        nuc_ti_fail(ti, "needs one axis of '%s'", x->name);
    const int64_t dim = nuc_ti_dim(form, (uint32_t)axis);
    struct nuc_node *sum = nuc_ti_real(ti, 0, form);
    if (ti->op->options.cumsum.reverse)
        sum = nuc_ti_emit(ti, NUC_OP_FLIP, NUC_ARGS(sum, nuc_ints_arg(&dim, 1)));
    sum = nuc_ti_emit(ti, NUC_OP_CUMSUM, NUC_ARGS(sum, dim));
    sum = nuc_ti_to_type(ti, sum, x->dtype);
    if (ti->op->options.cumsum.exclusive) {
        /* The values one position further along a dimension, from zero on. */
        uint32_t rank = sum->vals[0].rank, behind = rank - (uint32_t)dim;
        int64_t pads[2 * NUC_MAX_RANK] = {0};
        pads[2 * (behind - 1)] = 1;
        struct nuc_node *padded = nuc_ti_padded(ti, sum, pads, 2 * behind, "constant", 0);
        sum = nuc_ti_emit(ti, NUC_OP_SLICE, NUC_ARGS(padded, dim, 0, sum->vals[0].sizes[dim]));
    }
    if (ti->op->options.cumsum.reverse)
        sum = nuc_ti_emit(ti, NUC_OP_FLIP, NUC_ARGS(sum, nuc_ints_arg(&dim, 1)));
    nuc_ti_define(ti, sum, form);
}

/* ---- reductions ---- */

/* The axes as a set of bits. */
static uint32_t axes_of(const struct nuc_ti *ti, uint32_t rank)
{
    int64_t list[NUC_MAX_RANK];
    uint32_t count = nuc_ti_integers(ti, 1, NUC_MAX_RANK, list), set = 0;

    for (uint32_t i = 0; i < count; i++) {
        int32_t axis = nuc_lt_axis(list[i], rank);
        if (axis < 0)
            nuc_ti_fail(ti, "axis %lld does not exist", (long long)list[i]);
        set |= 1u << axis;
    }
    if (set == 0)
        nuc_ti_fail(ti, "no axis is given");
    return set;
}

void nuc_ti_reduce(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);
    uint32_t set = axes_of(ti, x->rank), n_dims = 0;
    bool keep = ti->op->options.reduce.keep_dims;
    int64_t dims[NUC_MAX_RANK];

    /* What is left of an image is in the tensor's order when the channels go, or height and width do. */
    bool plain_left = (set & 8u) != 0 || (set & 6u) == 6u;
    if (!keep && form == NUC_TI_IMAGE && !plain_left)
        form = NUC_TI_PLAIN;
    for (uint32_t dim = 0; dim < x->rank; dim++) {
        if (set >> nuc_ti_axis(form, dim) & 1u)
            dims[n_dims++] = dim;
    }
    struct nuc_node *real = nuc_ti_real(ti, 0, form);
    struct nuc_node *node =
        nuc_ti_emit(ti, graph_op(ti), NUC_ARGS(real, nuc_ints_arg(dims, n_dims), nuc_bool_arg(keep)));
    nuc_ti_define(ti, node, keep ? form : NUC_TI_PLAIN);
}

/* One axis after the other. */
void nuc_ti_product(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    uint32_t set = axes_of(ti, x->rank);

    nuc_ti_need_float(ti);
    struct nuc_node *node = nuc_ti_real(ti, 0, NUC_TI_PLAIN);
    for (uint32_t axis = 0; axis < x->rank; axis++) {
        if ((set >> axis & 1u) != 0)
            node = nuc_ti_emit(ti, NUC_OP_PROD_DIM, NUC_ARGS(node, axis, nuc_bool_arg(true)));
    }
    nuc_ti_define_viewed(ti, nuc_ti_to_type(ti, node, x->dtype));
}

/* REDUCE_ANY, and REDUCE_ALL as what is not so for any. */
void nuc_ti_reduce_any(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    bool all = ti->op->code == NUC_LT_REDUCE_ALL;
    int64_t dims[NUC_MAX_RANK];
    uint32_t n_dims = nuc_list_dims(axes_of(ti, x->rank), x->rank, dims);

    struct nuc_node *node = nuc_ti_real(ti, 0, NUC_TI_PLAIN);
    node = all ? nuc_ti_emit(ti, NUC_OP_LOGICAL_NOT, NUC_ARGS(node)) : node;
    node = nuc_ti_emit(ti, NUC_OP_ANY_DIMS, NUC_ARGS(node, nuc_ints_arg(dims, n_dims), nuc_bool_arg(true)));
    nuc_ti_define_viewed(ti, all ? nuc_ti_emit(ti, NUC_OP_LOGICAL_NOT, NUC_ARGS(node)) : node);
}

/* ---- QUANTIZE, DEQUANTIZE ---- */

/* float32 to int8, int8 to float32, or int8 with other parameters: what the tensors' own quantization says. */
void nuc_ti_requantize(struct nuc_ti *ti)
{
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);

    nuc_ti_define(ti, nuc_ti_real(ti, 0, form), form);
}
