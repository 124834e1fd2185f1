/* Operators on the pixels of channels-last images: poolings, up-sampling. */
#include "ir/args.h"
#include "npu/lower/lowering.h"

/* The poolings' arguments have the same places. */
#define ARG(name) NUC_ARG(AVG_POOL2D, name)

static void append_pool(struct nuc_lowering *l, int32_t x, int32_t y, struct nuc_pair kernel, struct nuc_pair stride)
{
    struct nuc_lt_op *op = nuc_ltb_op(l->b, l->code, &x, 1, y);

    op->options.pool.padding = NUC_LT_VALID;
    op->options.pool.filter_h = (int32_t)kernel.h;
    op->options.pool.filter_w = (int32_t)kernel.w;
    op->options.pool.stride_h = (int32_t)stride.h;
    op->options.pool.stride_w = (int32_t)stride.w;
}

/* What is around the image is filled with `value`. The stride is the kernel where it is not given. */
static void lower_pool(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y, uint32_t value_rank,
                       int64_t value)
{
    struct nuc_pair kernel = nuc_pair(node, ARG(kernel_size), (struct nuc_pair){1, 1});
    struct nuc_pair padding = nuc_pair(node, ARG(padding), (struct nuc_pair){0, 0});

    x = nuc_lower_pad_hw(l, x, padding, value_rank, value);
    append_pool(l, x, y, kernel, nuc_pair(node, ARG(stride), kernel));
}

/* Padded elements count in the mean, so they are padded with the value that stands for 0. */
void nuc_lower_avg_pool(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    if (nuc_ltb_at(l->b, x)->quant.count != 1)
        nuc_lower_refuse(l, node, "its input is not quantized");
    lower_pool(l, node, x, y, 0, nuc_ltb_at(l->b, x)->quant.zero_point[0]);
}

/* Padding with the type's minimum never wins. Nothing reads the indices of the maxima, the second value. */
void nuc_lower_max_pool(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    lower_pool(l, node, x, y, 1, nuc_ltb_at(l->b, x)->dtype == NUC_U8 ? 0 : INT8_MIN);
}

/* Output sizes divide input sizes: every window is of one size and they tile the input. */
void nuc_lower_adaptive_avg_pool(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    const struct nuc_lt_tensor *in = nuc_ltb_at(l->b, x), *out = nuc_ltb_at(l->b, y);

    if (in->rank != 4 || out->rank != 4)
        nuc_lower_refuse(l, node, "input and output must have rank 4");
    if (out->shape[1] <= 0 || out->shape[2] <= 0)
        nuc_lower_refuse(l, node, "its output is empty");
    struct nuc_pair stride = {in->shape[1] / out->shape[1], in->shape[2] / out->shape[2]};
    struct nuc_pair kernel = {in->shape[1] - (out->shape[1] - 1) * stride.h,
                              in->shape[2] - (out->shape[2] - 1) * stride.w};
    append_pool(l, x, y, kernel, stride);
}

/*
 * torch's bilinear form samples pixel centers unless corners are aligned; its nearest form takes
 * floor(position * in / out), which is LiteRT's without both flags.
 */
void nuc_lower_resize(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    bool bilinear = node->op == NUC_OP_UPSAMPLE_BILINEAR;
    bool corners = bilinear && nuc_flag(node, NUC_ARG(UPSAMPLE_BILINEAR, align_corners));
    const struct nuc_lt_tensor *output = nuc_ltb_at(l->b, y);

    if (output->rank != 4 || !nuc_ltb_is_last(l->b, x) || !nuc_ltb_is_last(l->b, y))
        nuc_lower_refuse(l, node, "input and output must be images");
    int32_t size = nuc_ltb_list(l->b, "sizes", (const int32_t[]){output->shape[1], output->shape[2]}, 2);
    struct nuc_lt_op *op = nuc_ltb_op(l->b, l->code, (const int32_t[]){x, size}, 2, y);
    op->options.resize.align_corners = corners;
    op->options.resize.half_pixel_centers = bilinear && !corners;
}
