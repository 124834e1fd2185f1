#include "compiler/neutron/lower/lowering.h"

static const int64_t ones[2] = {1, 1};
static const int64_t zeros[2] = {0, 0};

static void append_pool(struct nuc_lowering *l, int32_t code, int32_t x, int32_t y, const int32_t kernel[2],
                        const int32_t stride[2])
{
    struct nuc_lt_op *op = nuc_ltb_op(l->b, code, &x, 1, y);

    op->options.pool.padding = NUC_LT_VALID;
    op->options.pool.filter_h = kernel[0];
    op->options.pool.filter_w = kernel[1];
    op->options.pool.stride_h = stride[0];
    op->options.pool.stride_w = stride[1];
}

/* Kernel, stride (the kernel when empty) and padding in arguments 1 to 3. */
static void pool_arguments(const struct nuc_node *node, int32_t kernel[2], int32_t stride[2], int32_t padding[2])
{
    nuc_lower_pair(node, 1, ones, kernel);
    nuc_lower_pair(node, 2, (const int64_t[]){kernel[0], kernel[1]}, stride);
    nuc_lower_pair(node, 3, zeros, padding);
}

/* Padded elements count in the mean, so they are padded with the value that stands for 0. */
void nuc_lower_avg_pool(struct nuc_lowering *l, const struct nuc_node *node)
{
    int32_t x = nuc_lower_input(l, node, 0);
    int32_t y = nuc_lower_output(l, node);
    int32_t kernel[2], stride[2], padding[2];

    pool_arguments(node, kernel, stride, padding);
    if (nuc_ltb_at(l->b, x)->quant.count != 1)
        nuc_lower_refuse(l, node, "its input is not quantized");
    x = nuc_lower_pad_hw(l, x, padding, 0, nuc_ltb_at(l->b, x)->quant.zero_point[0]);
    append_pool(l, NUC_LT_AVERAGE_POOL_2D, x, y, kernel, stride);
}

/* Output sizes divide input sizes: every window is of one size and they tile the input. */
void nuc_lower_adaptive_avg_pool(struct nuc_lowering *l, const struct nuc_node *node)
{
    int32_t x = nuc_lower_input(l, node, 0);
    int32_t y = nuc_lower_output(l, node);
    const struct nuc_lt_tensor *input = nuc_ltb_at(l->b, x);
    const struct nuc_lt_tensor *output = nuc_ltb_at(l->b, y);
    int32_t kernel[2], stride[2];

    if (input->rank != 4 || output->rank != 4)
        nuc_lower_refuse(l, node, "input and output must have rank 4");
    for (int i = 0; i < 2; i++) {
        int32_t in = input->shape[i + 1];
        int32_t out = output->shape[i + 1];
        if (out <= 0)
            nuc_lower_refuse(l, node, "its output is empty");
        stride[i] = in / out;
        kernel[i] = in - (out - 1) * stride[i];
    }
    append_pool(l, NUC_LT_AVERAGE_POOL_2D, x, y, kernel, stride);
}

/* Padding with the type's minimum never wins. The indices of the maxima, the second value, are read by nobody. */
void nuc_lower_max_pool(struct nuc_lowering *l, const struct nuc_node *node)
{
    int32_t x = nuc_lower_input(l, node, 0);
    int32_t y = nuc_lower_output(l, node);
    int32_t kernel[2], stride[2], padding[2];

    pool_arguments(node, kernel, stride, padding);
    x = nuc_lower_pad_hw(l, x, padding, 1, nuc_ltb_at(l->b, x)->dtype == NUC_U8 ? 0 : INT8_MIN);
    append_pool(l, NUC_LT_MAX_POOL_2D, x, y, kernel, stride);
}
