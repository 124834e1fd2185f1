/*
 * Quantized archives with uint8 activations, as observers make them: a value without sign is an int8 and 128, and so is
 * its zero point. The numbers that they stand for are the same; kernels and the NPU take int8.
 */
#include "ir/op_list.h"
#include "ir/quant.h"
#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

enum { SHIFT = 128 };

static bool is_unsigned(const struct nuc_node *node, struct nuc_quant *q)
{
    return nuc_quant_of(node, q) && !q->per_channel && q->dtype == NUC_U8 && q->quant_min >= 0 && q->quant_max <= 255;
}

static bool is_read_as_unsigned(const struct nuc_node *value)
{
    struct nuc_quant q;
    bool all = value->n_users > 0;

    for (uint32_t i = 0; all && i < value->n_users; i++)
        all = nuc_is_dequantize(value->users[i]) && is_unsigned(value->users[i], &q);
    return all;
}

static void shift(struct nuc_node *node)
{
    struct nuc_quant q;

    if (!is_unsigned(node, &q))
        return;
    q.dtype = NUC_I8;
    q.zero_point -= SHIFT;
    q.quant_min -= SHIFT;
    q.quant_max -= SHIFT;
    nuc_set_quant(node, &q);
}

static struct nuc_node *signed_constant(struct nuc_graph *g, const struct nuc_node *constant)
{
    const uint8_t *bytes = nuc_const_contiguous(g, constant);
    size_t count = (size_t)nuc_elements(&constant->vals[0]);
    int8_t *values = nuc_alloc_array(g->cx, count + 1, sizeof *values);
    const struct nuc_meta m = nuc_meta_make(NUC_I8, constant->vals[0].sizes, constant->vals[0].rank);

    for (size_t i = 0; i < count; i++)
        values[i] = (int8_t)(bytes[i] - SHIFT);
    return nuc_add_parameter(g, constant, "_signed", &m, values);
}

static bool make_signed(struct nuc_graph *g, struct nuc_node *reader)
{
    struct nuc_node *value = nuc_operand(g, reader, NUC_SELF), *known = value;
    struct nuc_quant q;
    bool computed = nuc_is_quantize(value) && is_unsigned(value, &q);

    if (!is_unsigned(reader, &q) || !is_read_as_unsigned(value) || !(computed || nuc_is_static(value)))
        return false;
    if (computed) {
        struct nuc_meta m = value->vals[0];
        shift(value);
        m.dtype = NUC_I8;
        nuc_set_val(g, value, &m);
    } else {
        known = signed_constant(g, value);
    }
    for (uint32_t k = 0; k < value->n_users; k++)
        shift(value->users[k]);
    if (known != value)
        nuc_replace_uses(g, value, known, NULL);
    return true;
}

bool nuc_signed_values(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_DEQUANTIZE_PER_TENSOR), make_signed);
}
