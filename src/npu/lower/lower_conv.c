/* Convolutions and matrix products. */
#include "ir/args.h"
#include "npu/lower/lowering.h"

#define ARG(name) NUC_ARG(CONVOLUTION, name)

static const struct nuc_pair ones = {1, 1}, zeros = {0, 0};

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
        bias = nuc_ltb_no_bias(l->b, "zero_bias", x, w);
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
        bias = nuc_ltb_no_bias(l->b, "zero_bias", x, w);
    x = nuc_lower_pad_hw(l, x, nuc_pair(node, ARG(padding), zeros), 0, nuc_ltb_at(l->b, x)->quant.zero_point[0]);
    if (depthwise)
        w = nuc_ltb_transposed_constant(l->b, w, to_depthwise, 3);
    struct nuc_lt_op *op =
        nuc_ltb_op(l->b, depthwise ? NUC_LT_DEPTHWISE_CONV_2D : NUC_LT_CONV_2D, (const int32_t[]){x, w, bias}, 3, y);
    set_window(op, nuc_pair(node, ARG(stride), ones), nuc_pair(node, ARG(dilation), ones));
    op->options.conv.depth_multiplier = depthwise ? 1 : 0;
}

/* ---- matrix products ---- */

/*
 * torch multiplies [M, N] by weights [N, O], FULLY_CONNECTED expects them as [O, N]. A linear layer's weights come
 * through a permute of their own, so that tidying cancels the two transposes; those with a scale for each output are
 * transposed here.
 */
static int32_t weights(struct nuc_lowering *l, const struct nuc_node *node, uint32_t index)
{
    static const int32_t swap[2] = {1, 0};
    int32_t w = nuc_lower_input(l, node, index);

    if (nuc_ltb_is_constant(l->b, w) && nuc_ltb_at(l->b, w)->quant.count > 1)
        return nuc_ltb_transposed_constant(l->b, w, swap, 0);
    return nuc_ltb_transpose_before(l->b, w, swap, nuc_ltb_format(l->b, w));
}

void nuc_lower_addmm(struct nuc_lowering *l, const struct nuc_node *node, int32_t bias, int32_t y)
{
    int32_t x = nuc_lower_input(l, node, NUC_ARG(ADDMM, mat1)), w = weights(l, node, NUC_ARG(ADDMM, mat2));
    struct nuc_lt_op *op = nuc_ltb_op(l->b, NUC_LT_FULLY_CONNECTED, (const int32_t[]){x, w, bias}, 3, y);

    op->options.fully_connected.keep_num_dims = true;
}

void nuc_lower_mm(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    int32_t w = weights(l, node, NUC_ARG(MM, mat2));

    nuc_ltb_op(l->b, NUC_LT_FULLY_CONNECTED, (const int32_t[]){x, w}, 2, y);
}

/*
 * A channels-first matrix [N, C, L] is [N, L, C] here: the flags of BATCH_MATMUL swap it back, a transpose afterwards
 * does so for the result.
 */
void nuc_lower_bmm(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    int32_t other = nuc_lower_input(l, node, NUC_ARG(BMM, mat2)), perm[NUC_MAX_RANK];

    nuc_perm_to_last(perm, nuc_ltb_at(l->b, y)->rank);
    struct nuc_ltb_result result =
        nuc_ltb_begin_result(l->b, y, nuc_ltb_is_last(l->b, y) ? perm : NULL, NUC_LTB_CHANNELS_FIRST);
    struct nuc_lt_op *op = nuc_ltb_op(l->b, NUC_LT_BATCH_MATMUL, (const int32_t[]){x, other}, 2, result.written);
    op->options.batch_matmul.adj_x = nuc_ltb_is_last(l->b, x);
    op->options.batch_matmul.adj_y = nuc_ltb_is_last(l->b, other);
    nuc_ltb_end_result(l->b, &result);
}
