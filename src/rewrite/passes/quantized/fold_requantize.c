#include "ir/quant.h"
#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

bool nuc_same_quantization(const struct nuc_node *a, const struct nuc_node *b)
{
    struct nuc_quant x, y;

    return nuc_quant_of(a, &x) && nuc_quant_of(b, &y) && nuc_same_quant(&x, &y);
}

/* Quantizing what was dequantized with the same parameters gives the same numbers. */
static bool fold_requantize(struct nuc_graph *g, struct nuc_node *quantize)
{
    const struct nuc_node *dequantize = nuc_operand(g, quantize, NUC_SELF);

    if (quantize->n_users == 0 || !nuc_is_dequantize(dequantize) || !nuc_same_quantization(quantize, dequantize))
        return false;
    nuc_replace_uses(g, quantize, nuc_operand(g, dequantize, NUC_SELF), NULL);
    return true;
}

bool nuc_fold_requantize(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_QUANTIZE_PER_TENSOR, NUC_OP_QUANTIZE_PER_CHANNEL), fold_requantize);
}

/* ---- scales of channels ---- */

/* The one dimension of a constant factor with more than one element; false: it has several, or none. */
static bool factor_dim(const struct nuc_node *factor, const struct nuc_node *product, uint32_t *dim)
{
    const struct nuc_meta *m = &factor->vals[0];
    uint32_t count = 0;

    for (uint32_t d = 0; d < m->rank; d++) {
        if (m->sizes[d] != 1) {
            *dim = product->vals[0].rank - m->rank + d;
            count++;
        }
    }
    return count == 1;
}

static bool fold_factor(struct nuc_graph *g, struct nuc_node *mul)
{
    struct nuc_node *from = nuc_arg_node(mul, NUC_SELF), *factor = nuc_arg_node(mul, NUC_OTHER);
    struct nuc_quant q;
    uint32_t dim;

    if (mul->source->width != NUC_WIDTH_FLOAT || from == NULL || !nuc_is_static_float(factor) ||
        !nuc_dequantize_quant(from, &q) || q.per_channel || !nuc_same_sizes(&from->vals[0], &mul->vals[0]) ||
        !factor_dim(factor, mul, &dim))
        return false;
    int64_t count = nuc_elements(&factor->vals[0]);
    const float *factors = nuc_const_contiguous(g, factor);
    float *scales = nuc_alloc_array(g->cx, (size_t)count, sizeof *scales);
    int64_t *zero_points = nuc_alloc_array(g->cx, (size_t)count, sizeof *zero_points);
    for (int64_t i = 0; i < count; i++) {
        scales[i] = (float)q.scale * factors[i];
        zero_points[i] = q.zero_point;
    }
    struct nuc_meta list = nuc_meta_make(NUC_F32, &count, 1);
    struct nuc_node *d = nuc_insert(g, mul, NUC_OP_DEQUANTIZE_PER_CHANNEL, mul);
    nuc_set_arg_node(d, g, NUC_SELF, nuc_operand(g, from, NUC_SELF));
    nuc_set_arg_node(d, g, NUC_ARG(DEQUANTIZE_PER_CHANNEL, scales),
                     nuc_add_parameter(g, factor, "_scales", &list, scales));
    list.dtype = NUC_I64;
    nuc_set_arg_node(d, g, NUC_ARG(DEQUANTIZE_PER_CHANNEL, zero_points),
                     nuc_add_parameter(g, factor, "_zero_points", &list, zero_points));
    nuc_set_arg_int(d, NUC_ARG(DEQUANTIZE_PER_CHANNEL, axis), dim);
    nuc_set_arg_int(d, NUC_ARG(DEQUANTIZE_PER_CHANNEL, quant_min), q.quant_min);
    nuc_set_arg_int(d, NUC_ARG(DEQUANTIZE_PER_CHANNEL, quant_max), q.quant_max);
    nuc_set_arg_dtype(d, NUC_ARG(DEQUANTIZE_PER_CHANNEL, dtype), q.dtype);
    nuc_set_val(g, d, &mul->vals[0]);
    nuc_replace_uses(g, mul, d, NULL);
    return true;
}

bool nuc_fold_channel_scales(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_MUL), fold_factor);
}
