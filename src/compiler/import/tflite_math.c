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
#define LT_REDUCE(name, number, graph) [number] = NUC_OP_##graph,
#include "compiler/litert/lt_ops.def"
    };

    return (enum nuc_op)ops[ti->op->code];
}

/* ---- two operands ---- */

void nuc_ti_binary(struct nuc_ti *ti)
{
    /* An image on either side, or a constant that counts as one, decides unless a computed operand is plain. */
    enum nuc_ti_form a = nuc_ti_form_of(ti, 0), b = nuc_ti_form_of(ti, 1);
    enum nuc_ti_form form =
        nuc_ti_out(ti)->rank == 4 && (a == NUC_TI_IMAGE || b == NUC_TI_IMAGE) ? NUC_TI_IMAGE : NUC_TI_PLAIN;
    struct nuc_node *x = nuc_ti_broadcast(ti, 0, form), *y = nuc_ti_broadcast(ti, 1, form);
    struct nuc_node *node = nuc_ti_emit(ti, graph_op(ti), NUC_ARGS(nuc_node_arg(x), nuc_node_arg(y)));
    /* MAXIMUM and MINIMUM have no options: no activation. */
    nuc_ti_define(ti, nuc_ti_activate(ti, node, ti->op->options.arith.activation), form);
}

/* ---- one operand ---- */

void nuc_ti_unary(struct nuc_ti *ti)
{
    static const struct {
        int8_t low, high;
    } clips[NUC_LT_CODES] = {
#define LT_CLIP(name, number, low, high) [number] = {low, high},
#include "compiler/litert/lt_ops.def"
    };
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);
    struct nuc_node *x = nuc_ti_real(ti, 0, form);
    double low = clips[ti->op->code].low, high = clips[ti->op->code].high;

    nuc_ti_define(
        ti,
        low < high ? nuc_ti_emit(ti, graph_op(ti), NUC_ARGS(nuc_node_arg(x), nuc_float_arg(low), nuc_float_arg(high)))
                   : nuc_ti_emit(ti, graph_op(ti), NUC_ARGS(nuc_node_arg(x))),
        form);
}

void nuc_ti_leaky_relu(struct nuc_ti *ti)
{
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);
    double alpha = (double)ti->op->options.leaky_relu.alpha;

    if (!isfinite(alpha))
        nuc_ti_fail(ti, "alpha is %g", alpha);
    struct nuc_node *x = nuc_ti_real(ti, 0, form);
    nuc_ti_define(ti, nuc_ti_emit(ti, NUC_OP_LEAKY_RELU, NUC_ARGS(nuc_node_arg(x), nuc_float_arg(alpha))), form);
}

/* One slope for each channel, or one for all. */
void nuc_ti_prelu(struct nuc_ti *ti)
{
    static const int64_t one = 1;
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *slopes = nuc_ti_in(ti, 1);
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);
    int64_t count = nuc_lt_elements(slopes);
    int64_t last = slopes->rank == 0 ? 1 : slopes->shape[slopes->rank - 1];

    if (slopes->data.data == NULL || count != last || (count != 1 && x->shape[x->rank - 1] != count))
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
    struct nuc_node *node = nuc_ti_emit(ti, NUC_OP_PRELU, NUC_ARGS(nuc_node_arg(real), nuc_node_arg(weight)));
    if (swap)
        node = nuc_ti_permute(ti, nuc_ti_settle(ti, node, nuc_ti_out(ti)), swapped, 3);
    nuc_ti_define(ti, node, form);
}

void nuc_ti_softmax(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);
    float beta = ti->op->options.softmax.beta;

    if (beta < 1.0f || beta > 1.0f)
        nuc_ti_fail(ti, "beta is %g, 1 is handled", (double)beta);
    if (x->rank == 0)
        nuc_ti_fail(ti, "operand '%s' has no dimensions", x->name);
    struct nuc_node *real = nuc_ti_real(ti, 0, form);
    const struct nuc_arg dim = nuc_int_arg(nuc_ti_dim(form, x->rank - 1));
    nuc_ti_define(ti, nuc_ti_emit(ti, NUC_OP_SOFTMAX, NUC_ARGS(nuc_node_arg(real), dim)), form);
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
        nuc_ti_emit(ti, graph_op(ti), NUC_ARGS(nuc_node_arg(real), nuc_ints_arg(dims, n_dims), nuc_bool_arg(keep)));
    nuc_ti_define(ti, node, keep ? form : NUC_TI_PLAIN);
}

/* ---- QUANTIZE, DEQUANTIZE ---- */

/* float32 to int8, int8 to float32, or int8 with other parameters: what the tensors' own quantization says. */
void nuc_ti_requantize(struct nuc_ti *ti)
{
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);

    nuc_ti_define(ti, nuc_ti_real(ti, 0, form), form);
}
