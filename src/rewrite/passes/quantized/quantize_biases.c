/*
 * Quantized archives whose biases are in float: quantization-aware training folds a batch norm into a convolution
 * without a bias, and nothing quantizes what that makes. Such a bias gets the scale of the sums that it is added to,
 * scale of the input times scale of the weight, as the bias of a convolution that had one from the start. So does one
 * with the scale of other sums: of a bias that layers share, torch's quantizer makes one quantization.
 */
#include <math.h>

#include "host/numbers.h"
#include "ir/conv_args.h"
#include "ir/quant.h"
#include "rewrite/pass_list.h"
#include "rewrite/passes.h"
#include "rewrite/rewrite.h"

struct layer_row {
    enum nuc_op op;
    uint32_t input, weight, bias;
    int64_t axis; /* of the weight, along which the outputs lie */
};

#define CONVOLUTION(op, axis)                                                                                          \
    {                                                                                                                  \
        op, NUC_CONV_INPUT, NUC_CONV_WEIGHT, NUC_CONV_BIAS, axis                                                       \
    }

static const struct layer_row rows[] = {
    CONVOLUTION(NUC_OP_CONV1D, 0),
    CONVOLUTION(NUC_OP_CONV1D_PADDING, 0),
    CONVOLUTION(NUC_OP_CONV2D, 0),
    CONVOLUTION(NUC_OP_CONV2D_PADDING, 0),
    CONVOLUTION(NUC_OP_CONV_TRANSPOSE1D, 1),
    CONVOLUTION(NUC_OP_CONV_TRANSPOSE2D, 1),
    {NUC_OP_LINEAR, NUC_ARG(LINEAR, input), NUC_ARG(LINEAR, weight), NUC_ARG(LINEAR, bias), 0},
    {NUC_OP_ADDMM, NUC_ARG(ADDMM, mat1), NUC_ARG(ADDMM, mat2), NUC_ARG(ADDMM, self), 1},
};

static const struct layer_row *row_of(const struct nuc_node *node)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (nuc_is_call(node) && rows[i].op == node->op)
            return &rows[i];
    }
    return NULL;
}

/*
 * Scales of the sums: one, or one for each output. NULL: they are not known here, or the weight is computed, which the
 * layer may read in float.
 */
static const float *sum_scales(struct nuc_graph *g, const struct nuc_node *node, const struct layer_row *row,
                               int64_t outputs, int64_t *count)
{
    struct nuc_quant input, weight;

    if (!nuc_dequantize_quant(nuc_arg_node(node, row->input), &input) || input.per_channel ||
        !nuc_dequantize_quant(nuc_arg_node(node, row->weight), &weight) ||
        !nuc_is_static(nuc_operand(g, nuc_operand(g, node, row->weight), NUC_SELF)))
        return NULL;
    int64_t own = weight.per_channel ? nuc_elements(&weight.scales->vals[0]) : 1;
    if (own < 1 || outputs % own != 0 ||
        (weight.per_channel &&
         (weight.axis != row->axis || !nuc_is_static(weight.scales) || weight.scales->vals[0].dtype != NUC_F32)))
        return NULL;
    /* The channels of a grouped transposed convolution's weight are those of one group. */
    *count = own == 1 ? 1 : outputs;
    const float *own_scales = weight.per_channel ? nuc_const_contiguous(g, weight.scales) : NULL;
    float *scales = nuc_alloc_array(g->cx, (size_t)*count, sizeof *scales);
    for (int64_t i = 0; i < *count; i++)
        scales[i] = (float)input.scale * (own_scales != NULL ? own_scales[i % own] : (float)weight.scale);
    return scales;
}

/* NULL: one of them has more steps than an int32 counts, and the bias stays in float. */
static const int32_t *quantized(struct nuc_graph *g, const float *bias, int64_t n, const float *scales, int64_t count)
{
    int32_t *q = nuc_alloc_array(g->cx, (size_t)n, sizeof *q);

    for (int64_t i = 0; i < n; i++) {
        double steps = nearbyint((double)bias[i] / (double)scales[i % count]);
        if (!(fabs(steps) <= (double)INT32_MAX)) /* not a number, too */
            return NULL;
        q[i] = (int32_t)steps;
    }
    return q;
}

static void add_dequantize(struct nuc_graph *g, struct nuc_node *node, uint32_t index, const struct nuc_node *bias,
                           const int32_t *values, const float *scales, int64_t count)
{
    bool per_channel = count > 1;
    struct nuc_meta meta = bias->vals[0], dequantized = bias->vals[0];

    meta.dtype = NUC_I32;
    dequantized.dtype = NUC_F32;
    struct nuc_node *q = nuc_add_parameter(g, bias, "_int32", &meta, values);
    struct nuc_node *d =
        nuc_insert(g, node, per_channel ? NUC_OP_DEQUANTIZE_PER_CHANNEL : NUC_OP_DEQUANTIZE_PER_TENSOR, node);
    nuc_set_arg_node(d, g, NUC_SELF, q);
    if (per_channel) {
        struct nuc_meta list = nuc_meta_make(NUC_F32, &count, 1);
        nuc_set_arg_node(d, g, NUC_ARG(DEQUANTIZE_PER_CHANNEL, scales),
                         nuc_add_parameter(g, bias, "_scales", &list, scales));
        list.dtype = NUC_I64;
        nuc_set_arg_node(
            d, g, NUC_ARG(DEQUANTIZE_PER_CHANNEL, zero_points),
            nuc_add_parameter(g, bias, "_zero_points", &list, nuc_alloc_array(g->cx, (size_t)count, sizeof(int64_t))));
        nuc_set_arg_int(d, NUC_ARG(DEQUANTIZE_PER_CHANNEL, axis), 0);
        nuc_set_arg_int(d, NUC_ARG(DEQUANTIZE_PER_CHANNEL, quant_min), -INT32_MAX);
        nuc_set_arg_int(d, NUC_ARG(DEQUANTIZE_PER_CHANNEL, quant_max), INT32_MAX);
        nuc_set_arg_dtype(d, NUC_ARG(DEQUANTIZE_PER_CHANNEL, dtype), NUC_I32);
    } else {
        nuc_set_quant(d, &(struct nuc_quant){.scale = (double)scales[0],
                                             .axis = -1,
                                             .quant_min = -INT32_MAX,
                                             .quant_max = INT32_MAX,
                                             .dtype = NUC_I32});
    }
    nuc_set_val(g, d, &dequantized);
    nuc_set_arg_node(node, g, index, d);
}

#define SAME 1e-5 /* of a scale: both may be rounded to float32 */

/* What a bias with the scale of other sums, or a zero point, stands for; NULL: it has that of `scales`, or is none. */
static const float *of_other_sums(struct nuc_graph *g, const struct nuc_node *bias, const float *scales, int64_t n,
                                  int64_t count)
{
    struct nuc_quant q;
    const struct nuc_node *steps = nuc_dequantize_quant(bias, &q) ? nuc_operand(g, bias, NUC_SELF) : NULL;

    if (steps == NULL || !nuc_is_static(steps) || steps->vals[0].dtype != NUC_I32 ||
        (q.per_channel && (!nuc_is_static_float(q.scales) || nuc_elements(&q.scales->vals[0]) != n)) ||
        (q.zero_points != NULL && (!nuc_is_static(q.zero_points) || nuc_elements(&q.zero_points->vals[0]) != n)))
        return NULL;
    const float *own = q.per_channel ? nuc_const_contiguous(g, q.scales) : NULL;
    const uint8_t *zeros = q.zero_points != NULL ? nuc_const_contiguous(g, q.zero_points) : NULL;
    const int32_t *counts = nuc_const_contiguous(g, steps);
    float *values = nuc_alloc_array(g->cx, (size_t)n, sizeof *values);
    bool other = false;
    for (int64_t i = 0; i < n; i++) {
        double scale = own != NULL ? (double)own[i] : q.scale, sum = (double)scales[i % count];
        int64_t zero = zeros != NULL ? nuc_int_at(q.zero_points->vals[0].dtype, zeros, (size_t)i) : q.zero_point;
        other = other || zero != 0 || fabs(scale - sum) > SAME * sum;
        values[i] = (float)(((double)counts[i] - (double)zero) * scale);
    }
    return other ? values : NULL;
}

static bool quantize_bias(struct nuc_graph *g, struct nuc_node *node, const struct layer_row *row, bool from_float)
{
    struct nuc_node *bias = nuc_arg_node(node, row->bias);
    int64_t count;

    if (bias == NULL || bias->vals[0].dtype != NUC_F32 || bias->vals[0].rank != 1 || nuc_is_static(bias) != from_float)
        return false;
    int64_t n = nuc_elements(&bias->vals[0]);
    const float *scales = n > 0 ? sum_scales(g, node, row, n, &count) : NULL;
    if (scales == NULL)
        return false;
    const float *in_float = from_float ? nuc_const_contiguous(g, bias) : of_other_sums(g, bias, scales, n, count);
    const int32_t *values = in_float != NULL ? quantized(g, in_float, n, scales, count) : NULL;
    if (values == NULL)
        return false;
    add_dequantize(g, node, row->bias, from_float ? bias : nuc_operand(g, bias, NUC_SELF), values, scales, count);
    return true;
}

static bool quantize_all(struct nuc_graph *g, bool from_float)
{
    bool changed = false;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        const struct layer_row *row = row_of(n);
        if (row != NULL && quantize_bias(g, n, row, from_float))
            changed = true;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}

bool nuc_quantize_biases(struct nuc_graph *g)
{
    return quantize_all(g, true);
}

bool nuc_rescale_biases(struct nuc_graph *g)
{
    return quantize_all(g, false);
}
