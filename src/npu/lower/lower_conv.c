#include "ir/args.h"
#include "npu/lower/lowering.h"

#define ARG(name) NUC_ARG(CONVOLUTION, name)

static const struct nuc_pair ones = {1, 1}, zeros = {0, 0};

/* LiteRT's convolutions always have a bias: int32 zeros with the scales s_input * s_weight. */
static int32_t zero_bias(struct nuc_lowering *l, int32_t x, int32_t w)
{
    int32_t channels = nuc_ltb_at(l->b, w)->shape[0];
    const int32_t *data = nuc_alloc_array(l->cx, (size_t)channels, sizeof *data);
    int32_t bias = nuc_ltb_constant(l->b, "zero_bias", NUC_I32, &channels, 1, data);
    const struct nuc_lt_quant *qx = &nuc_ltb_at(l->b, x)->quant, *qw = &nuc_ltb_at(l->b, w)->quant;
    float *scale = nuc_alloc_array(l->cx, qw->count, sizeof *scale);
    const int64_t *zero_point = nuc_alloc_array(l->cx, qw->count, sizeof *zero_point);

    for (uint32_t i = 0; i < qw->count; i++)
        scale[i] = (float)((double)qx->scale[0] * (double)qw->scale[i]);
    nuc_ltb_at(l->b, bias)->quant = (struct nuc_lt_quant){qw->count, scale, zero_point, 0};
    return bias;
}

static void set_window(struct nuc_lt_op *op, struct nuc_pair stride, struct nuc_pair dilation)
{
    op->options.conv.padding = NUC_LT_VALID;
    op->options.conv.stride_h = (int32_t)stride.h;
    op->options.conv.stride_w = (int32_t)stride.w;
    op->options.conv.dilation_h = (int32_t)dilation.h;
    op->options.conv.dilation_w = (int32_t)dilation.w;
}

/*
 * LiteRT takes the whole output shape and pads nothing away, so padding becomes a slice of a larger result; what
 * output_padding adds is part of the shape.
 */
static void lower_transposed(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y, int32_t w)
{
    static const int32_t to_output_first[4] = {3, 1, 2, 0}; /* [I, H, W, O] -> [O, H, W, I] */
    int32_t bias = nuc_lower_input(l, node, ARG(bias));
    struct nuc_pair padding = nuc_pair(node, ARG(padding), zeros);
    bool sliced = padding.h != 0 || padding.w != 0;

    if (nuc_integer(node, ARG(groups), 1) != 1)
        nuc_lower_refuse(l, node, "a transposed convolution with groups");
    w = nuc_ltb_transposed_constant(l->b, w, to_output_first, 0);
    if (bias < 0)
        bias = zero_bias(l, x, w);
    int32_t whole = sliced ? nuc_ltb_duplicate(l->b, y, "_sliced", false) : y;
    struct nuc_lt_tensor *t = nuc_ltb_at(l->b, whole);
    t->shape[1] += (int32_t)(2 * padding.h);
    t->shape[2] += (int32_t)(2 * padding.w);
    const int32_t shape[4] = {t->shape[0], t->shape[1], t->shape[2], t->shape[3]};
    int32_t shape_tensor = nuc_ltb_list(l->b, "output_shape", shape, 4);
    set_window(nuc_ltb_op(l->b, NUC_LT_TRANSPOSE_CONV, (const int32_t[]){shape_tensor, w, x, bias}, 4, whole),
               nuc_pair(node, ARG(stride), ones), ones);
    if (sliced)
        nuc_lower_append_slice(l, whole, (const int32_t[]){0, (int32_t)padding.h, (int32_t)padding.w, 0}, y);
}

void nuc_lower_convolution(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    static const int32_t to_depthwise[4] = {3, 1, 2, 0}; /* [C, H, W, 1] -> [1, H, W, C] */
    int32_t w = nuc_lower_input(l, node, ARG(weight)), bias = nuc_lower_input(l, node, ARG(bias));

    if (nuc_ltb_at(l->b, x)->rank != 4 || nuc_ltb_at(l->b, w)->rank != 4)
        nuc_lower_refuse(l, node, "input and weight must have rank 4");
    if (nuc_ltb_at(l->b, x)->quant.count != 1 || nuc_ltb_at(l->b, w)->quant.count == 0)
        nuc_lower_refuse(l, node, "input or weight is not quantized");
    if (!nuc_ltb_is_constant(l->b, w))
        nuc_lower_refuse(l, node, "the weight is not constant");
    if (nuc_flag(node, ARG(transposed))) {
        lower_transposed(l, node, x, y, w);
        return;
    }
    /* One filter per channel: LiteRT has an operator of its own for it, with weights [1, H, W, C]. */
    int64_t groups = nuc_integer(node, ARG(groups), 1);
    const struct nuc_lt_tensor *input = nuc_ltb_at(l->b, x);
    bool depthwise = input->shape[input->rank - 1] == groups && nuc_ltb_at(l->b, w)->shape[0] == groups;
    if (bias < 0)
        bias = zero_bias(l, x, w);
    x = nuc_lower_pad_hw(l, x, nuc_pair(node, ARG(padding), zeros), 0, nuc_ltb_at(l->b, x)->quant.zero_point[0]);
    if (depthwise)
        w = nuc_ltb_transposed_constant(l->b, w, to_depthwise, 3);
    struct nuc_lt_op *op =
        nuc_ltb_op(l->b, depthwise ? NUC_LT_DEPTHWISE_CONV_2D : NUC_LT_CONV_2D, (const int32_t[]){x, w, bias}, 3, y);
    set_window(op, nuc_pair(node, ARG(stride), ones), nuc_pair(node, ARG(dilation), ones));
    op->options.conv.depth_multiplier = depthwise ? 1 : 0;
}
