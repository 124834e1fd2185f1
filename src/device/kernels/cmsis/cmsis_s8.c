/*
 * CMSIS-NN as the int8 kernels, for comparisons and for those who have qualified it. What it does not offer, or
 * needs more scratch for than the program plans, the kernels do that the CPU has otherwise: nuc_kernel_NAME.
 */
#include "device/kernels/cmsis/cmsis_s8.h"

#include "arm_nnfunctions.h"
#undef NUC_SELECT_CMSIS
#include "device/kernels/select/select.h"

static cmsis_nn_context context(void *scratch, size_t bytes)
{
    return (cmsis_nn_context){scratch, (int32_t)bytes};
}

/* CMSIS-NN takes writable pointers and only reads them. */
static cmsis_nn_per_channel_quant_params per_channel(const struct nuc_rescale *r)
{
    return (cmsis_nn_per_channel_quant_params){(int32_t *)(uintptr_t)r->multipliers, (int32_t *)(uintptr_t)r->shifts};
}

static cmsis_nn_dims image(int32_t batch, const int32_t size[2], int32_t channels)
{
    return (cmsis_nn_dims){batch, size[0], size[1], channels};
}

static cmsis_nn_tile tile(const int32_t pair[2])
{
    return (cmsis_nn_tile){pair[1], pair[0]};
}

/* Each window reaches into the image: its kernels count the rows and columns outside by this, in 16 bits. */
static bool windows_reach(const struct nuc_conv_s8 *c)
{
    for (int d = 0; d < 2; d++) {
        if (c->in_size[d] > INT16_MAX || c->padding[d] > (c->kernel[d] - 1) * c->dilation[d] ||
            (c->out_size[d] - 1) * c->stride[d] - c->padding[d] >= c->in_size[d])
            return false;
    }
    return true;
}

void nuc_cmsis_conv_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    cmsis_nn_context cx = context(c->scratch, c->scratch_bytes);
    const cmsis_nn_conv_params p = {c->input_offset,  c->rescale.offset, tile(c->stride),
                                    tile(c->padding), tile(c->dilation), {c->rescale.low, c->rescale.high}};
    const cmsis_nn_per_channel_quant_params q = per_channel(&c->rescale);
    const cmsis_nn_dims in_dims = image(c->batch, c->in_size, c->in_channels);
    const cmsis_nn_dims weight_dims = image(c->out_channels, c->kernel, c->in_channels / c->groups);
    const cmsis_nn_dims out_dims = image(c->batch, c->out_size, c->out_channels);
    const cmsis_nn_dims bias_dims = {1, 1, 1, c->out_channels};
    int32_t needed = arm_convolve_wrapper_s8_get_buffer_size(&p, &in_dims, &weight_dims, &out_dims);

    if (!windows_reach(c) || (c->groups > 1 && c->bias == NULL) || needed < 0 || (size_t)needed > c->scratch_bytes ||
        arm_convolve_wrapper_s8(&cx, &p, &q, &in_dims, in, &weight_dims, weight, &bias_dims, c->bias, &out_dims, out) !=
            ARM_CMSIS_NN_SUCCESS)
        nuc_kernel_conv_s8(c, in, weight, out);
}

void nuc_cmsis_depthwise_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    cmsis_nn_context cx = context(c->scratch, c->scratch_bytes);
    const cmsis_nn_dw_conv_params p = {
        c->input_offset,  c->rescale.offset, c->out_channels / c->in_channels, tile(c->stride),
        tile(c->padding), tile(c->dilation), {c->rescale.low, c->rescale.high}};
    const cmsis_nn_per_channel_quant_params q = per_channel(&c->rescale);
    const cmsis_nn_dims in_dims = image(c->batch, c->in_size, c->in_channels);
    const cmsis_nn_dims weight_dims = image(1, c->kernel, c->out_channels);
    const cmsis_nn_dims out_dims = image(c->batch, c->out_size, c->out_channels);
    const cmsis_nn_dims bias_dims = {1, 1, 1, c->out_channels};
    int32_t needed = arm_depthwise_conv_wrapper_s8_get_buffer_size(&p, &in_dims, &weight_dims, &out_dims);

    if (out == in || !windows_reach(c) || c->batch != 1 || needed < 0 || (size_t)needed > c->scratch_bytes ||
        arm_depthwise_conv_wrapper_s8(&cx, &p, &q, &in_dims, in, &weight_dims, weight, &bias_dims, c->bias, &out_dims,
                                      out) != ARM_CMSIS_NN_SUCCESS)
        nuc_kernel_depthwise_s8(c, in, weight, out);
}

/*
 * Where its buffer takes sums of weights, they hold the bias and the input's offset: what comes as the bias of an input
 * without offset is that already.
 */
void nuc_cmsis_matmul_s8(const struct nuc_matmul_s8 *m, const int8_t *in, const int8_t *weight, int8_t *out)
{
    const cmsis_nn_fc_params p = {
        m->input_offset, m->weight_offset, m->rescale.offset, {m->rescale.low, m->rescale.high}};
    const cmsis_nn_per_tensor_quant_params q = {m->rescale.multipliers[0], m->rescale.shifts[0]};
    const cmsis_nn_dims in_dims = {m->rows, 1, 1, m->depth};
    const cmsis_nn_dims weight_dims = {m->depth, 1, 1, m->columns};
    const cmsis_nn_dims bias_dims = {1, 1, 1, m->columns};
    const cmsis_nn_dims out_dims = {m->rows, 1, 1, m->columns};
    bool sums = arm_fully_connected_s8_get_buffer_size(&weight_dims) != 0;
    cmsis_nn_context cx = context(sums ? (void *)(uintptr_t)m->bias : NULL, 0);

    if (m->rescale.step != 0 || (sums && (m->input_offset != 0 || m->bias == NULL)) ||
        arm_fully_connected_s8(&cx, &p, &q, &in_dims, in, &weight_dims, weight, &bias_dims, m->bias, &out_dims, out) !=
            ARM_CMSIS_NN_SUCCESS)
        nuc_kernel_matmul_s8(m, in, weight, out);
}

void nuc_cmsis_max_pool_s8(const struct nuc_pool_s8 *p, const int8_t *in, int8_t *out)
{
    cmsis_nn_context cx = context(NULL, 0);
    const cmsis_nn_pool_params q = {tile(p->stride), tile(p->padding), {p->low, p->high}};
    const cmsis_nn_dims in_dims = image(p->batch, p->in_size, p->channels);
    const cmsis_nn_dims kernel_dims = image(1, p->kernel, 1);
    const cmsis_nn_dims out_dims = image(p->batch, p->out_size, p->channels);

    if (arm_max_pool_s8(&cx, &q, &in_dims, in, &kernel_dims, &out_dims, out) != ARM_CMSIS_NN_SUCCESS)
        nuc_kernel_max_pool_s8(p, in, out);
}

void nuc_cmsis_avg_pool_s8(const struct nuc_pool_s8 *p, const int8_t *in, int8_t *out)
{
    cmsis_nn_context cx = context(p->scratch, p->scratch_bytes);
    const cmsis_nn_pool_params q = {tile(p->stride), tile(p->padding), {p->low, p->high}};
    const cmsis_nn_dims in_dims = image(p->batch, p->in_size, p->channels);
    const cmsis_nn_dims kernel_dims = image(1, p->kernel, 1);
    const cmsis_nn_dims out_dims = image(p->batch, p->out_size, p->channels);
    int32_t needed = arm_avgpool_s8_get_buffer_size(p->out_size[1], p->channels);

    if (needed < 0 || (size_t)needed > p->scratch_bytes ||
        arm_avgpool_s8(&cx, &q, &in_dims, in, &kernel_dims, &out_dims, out) != ARM_CMSIS_NN_SUCCESS)
        nuc_kernel_avg_pool_s8(p, in, out);
}

void nuc_cmsis_add_s8(const struct nuc_add_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                      int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};

    if (!nuc_rows_are_dense(loops)) {
        nuc_kernel_add_s8(p, loops, a, b, out);
        return;
    }
    do {
        arm_elementwise_add_s8(a + walk.a, b + walk.b, p->offset_a, p->a.multiplier, p->a.shift, p->offset_b,
                               p->b.multiplier, p->b.shift, 20, out + walk.out, p->offset, p->sum.multiplier,
                               p->sum.shift, p->low, p->high, nuc_row_length(loops));
    } while (nuc_walk_next_row(loops, &walk));
}

void nuc_cmsis_mul_s8(const struct nuc_mul_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                      int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};

    if (!nuc_rows_are_dense(loops)) {
        nuc_kernel_mul_s8(p, loops, a, b, out);
        return;
    }
    do {
        arm_elementwise_mul_s8(a + walk.a, b + walk.b, p->offset_a, p->offset_b, out + walk.out, p->offset,
                               p->product.multiplier, p->product.shift, p->low, p->high, nuc_row_length(loops));
    } while (nuc_walk_next_row(loops, &walk));
}

void nuc_cmsis_softmax_s8(const struct nuc_softmax_s8 *s, const int8_t *in, void *out)
{
    if (s->size < 512 && !s->wide) /* beyond, its shifts leave the word */
        arm_softmax_s8(in, s->rows, s->size, s->multiplier, s->shift, s->diff_min, out);
    else
        nuc_kernel_softmax_s8(s, in, out);
}
