#include "host/numbers.h"
#include "ir/args.h"
#include "ir/quant.h"
#include "npu/lower/lowering.h"

static struct nuc_lt_quant per_channel(struct nuc_lowering *l, const struct nuc_node *node,
                                       const struct nuc_quant *quant, int32_t x)
{
    const struct nuc_node *scales = quant->scales, *zero_points = quant->zero_points;
    const struct nuc_lt_tensor *t = nuc_ltb_at(l->b, x);

    if (!nuc_is_static(scales) || (zero_points != NULL && !nuc_is_static(zero_points)))
        nuc_lower_refuse(l, node, "its scales are not constants");
    uint32_t count = (uint32_t)nuc_elements(&scales->vals[0]);
    int64_t axis = nuc_positive_dim(quant->axis, t->rank);
    if (axis < 0 || axis >= (int64_t)t->rank || (zero_points != NULL && nuc_elements(&zero_points->vals[0]) != count))
        nuc_lower_refuse(l, node, "scales, zero points and axis do not fit");
    float *scale = nuc_alloc_array(l->cx, count, sizeof *scale);
    int64_t *zero_point = nuc_alloc_array(l->cx, count, sizeof *zero_point);
    for (uint32_t i = 0; i < count; i++)
        scale[i] = (float)nuc_number_at(scales->vals[0].dtype, nuc_const_contiguous(l->g, scales), i);
    for (uint32_t i = 0; zero_points != NULL && i < count; i++)
        zero_point[i] = (int64_t)nuc_number_at(zero_points->vals[0].dtype, nuc_const_contiguous(l->g, zero_points), i);
    /* Axis 1 of the graph is the last one of a channels-last tensor, axes after it move up. */
    if (nuc_ltb_is_last(l->b, x) && axis != 0)
        axis = axis == 1 ? (int64_t)t->rank - 1 : axis - 1;
    if (count != 1 && (uint32_t)t->shape[axis] != count)
        nuc_lower_refuse(l, node, "there is not one scale for each channel");
    return (struct nuc_lt_quant){count, scale, zero_point, (int32_t)axis};
}

/* What the node says as the quantization of tensor `x`. */
static struct nuc_lt_quant quant_of(struct nuc_lowering *l, const struct nuc_node *node, int32_t x)
{
    struct nuc_quant quant;

    if (!nuc_quant_of(node, &quant))
        nuc_lower_refuse(l, node, "its parameters are not constants");
    if (quant.per_channel)
        return per_channel(l, node, &quant, x);
    float *scale = nuc_alloc(l->cx, sizeof *scale);
    int64_t *zero_point = nuc_alloc(l->cx, sizeof *zero_point);
    *scale = (float)quant.scale;
    *zero_point = quant.zero_point;
    return (struct nuc_lt_quant){1, scale, zero_point, 0};
}

void nuc_lower_quantize(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    struct nuc_lt_quant quant = quant_of(l, node, x);

    (void)y;
    nuc_ltb_quantize(l->b, x, &quant);
    nuc_ltb_at(l->b, x)->dtype = node->vals[0].dtype;
    nuc_ltb_rename(l->b, x, node->name);
}

/* A boundary keeps its name: there the dequantize becomes an identity between two int8 tensors. */
void nuc_lower_dequantize(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    struct nuc_lt_quant quant = quant_of(l, node, x);

    nuc_ltb_quantize(l->b, x, &quant);
    if (nuc_lower_is_its_input(l, node)) {
        nuc_ltb_rename(l->b, x, node->name);
        return;
    }
    nuc_ltb_at(l->b, y)->dtype = nuc_ltb_at(l->b, x)->dtype;
    nuc_ltb_quantize(l->b, y, &quant);
    nuc_ltb_identity(l->b, x, y);
}

/* The quantize node comes after the getitem, so parameters flow backwards to the operator's own tensor. */
void nuc_lower_getitem(struct nuc_lowering *l, const struct nuc_node *node, int32_t whole, int32_t y)
{
    const struct nuc_node *producer = nuc_arg_node(node, NUC_SELF);
    int64_t index = nuc_integer(node, NUC_ARG(GETITEM, index), -1);

    if (whole < 0 || index < 0 || index >= (int64_t)producer->n_vals)
        nuc_lower_refuse(l, node, "it reads no value of the partition");
    int32_t part = nuc_ltb_root(l->b, nuc_lower_first_value(l, producer) + (int32_t)index);
    nuc_lower_propagate(l, y, part);
    if (nuc_lower_is_one_of(producer, l->partition->inputs, l->partition->n_inputs))
        nuc_ltb_identity(l->b, part, y);
    else
        nuc_ltb_redirect(l->b, y, part);
}
