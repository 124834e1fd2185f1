/*
 * A convolution of [N, C, L] becomes one of [N, C, 1, L] between unsqueeze and squeeze: the NPU has 2-D convolutions
 * only. A batch norm and an activation after it are computed on [N, C, 1, L] too, so that they stay next to it.
 */
#include "ir/conv_args.h"
#include "ir/quant.h"
#include "rewrite/fused_activation.h"
#include "rewrite/insert.h"
#include "rewrite/pass_list.h"

static enum nuc_op two_dimensional(const struct nuc_conv_args *args)
{
    if (args->named_padding)
        return NUC_OP_CONV2D_PADDING;
    return args->transposed ? NUC_OP_CONV_TRANSPOSE2D : NUC_OP_CONV2D;
}

static struct nuc_node *insert_reshaped(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op,
                                        struct nuc_node *input)
{
    return nuc_emit(g, before, op, input, NUC_ARGS(input, -2));
}

/* What a reshape of quantized values gives is quantized with the same parameters: a cluster of its own. */
static struct nuc_node *insert_pair(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *value,
                                    const struct nuc_quant *q)
{
    struct nuc_node *quantized = nuc_insert_quant(g, before, NUC_OP_QUANTIZE_PER_TENSOR, value, q);

    return nuc_insert_quant(g, before, NUC_OP_DEQUANTIZE_PER_TENSOR, quantized, q);
}

/* Weight [O, I, K] to [O, I, 1, K], or [I, O, K] to [I, O, 1, K]. */
static struct nuc_node *widen_constant(struct nuc_graph *g, const struct nuc_node *weight)
{
    const struct nuc_meta *w = &weight->vals[0];
    const int64_t sizes[4] = {w->sizes[0], w->sizes[1], 1, w->sizes[2]};
    struct nuc_meta meta = nuc_meta_make(w->dtype, sizes, 4);

    return nuc_add_parameter(g, weight, "0", &meta, nuc_const_contiguous(g, weight));
}

/* The channels of a quantized weight keep their place, 0 or 1. */
static struct nuc_node *widen_weight(struct nuc_graph *g, struct nuc_node *conv)
{
    struct nuc_node *weight = nuc_operand(g, conv, NUC_CONV_WEIGHT);

    if (nuc_is_static(weight))
        return widen_constant(g, weight);
    if (!nuc_is_dequantize(weight))
        return insert_reshaped(g, conv, NUC_OP_UNSQUEEZE, weight);
    struct nuc_node *wide = widen_constant(g, nuc_operand(g, weight, NUC_SELF));
    return nuc_emit_like(g, conv, weight, NUC_ARGS(wide));
}

/* The number of the new dimension, in front of that of the one there is. */
static void widen_numbers(struct nuc_graph *g, struct nuc_node *to, const struct nuc_node *from, uint32_t index,
                          int64_t neutral)
{
    int64_t pair[2] = {neutral, neutral};

    nuc_conv_numbers(from, index, 1, neutral, &pair[1]);
    if (index != NUC_NO_ARG)
        nuc_set_arg_ints(to, g, index, pair, 2);
}

static struct nuc_node *insert_conv2d(struct nuc_graph *g, struct nuc_node *conv)
{
    const struct nuc_conv_args *args = nuc_conv_args(conv->op);
    struct nuc_node *weight = widen_weight(g, conv);
    struct nuc_node *input = insert_reshaped(g, conv, NUC_OP_UNSQUEEZE, nuc_operand(g, conv, NUC_CONV_INPUT));
    struct nuc_quant q;

    nuc_made_of(input, conv);
    if (nuc_dequantize_quant(nuc_operand(g, conv, NUC_CONV_INPUT), &q) && !q.per_channel)
        input = insert_pair(g, conv, input, &q);
    struct nuc_node *wide = nuc_insert(g, conv, two_dimensional(args), conv);
    nuc_set_arg_node(wide, g, NUC_CONV_INPUT, input);
    nuc_set_arg_node(wide, g, NUC_CONV_WEIGHT, weight);
    nuc_copy_arg(g, wide, NUC_CONV_BIAS, conv, NUC_CONV_BIAS);
    widen_numbers(g, wide, conv, args->stride, 1);
    if (args->named_padding)
        nuc_copy_arg(g, wide, args->padding, conv, args->padding);
    else
        widen_numbers(g, wide, conv, args->padding, 0);
    widen_numbers(g, wide, conv, args->output_padding, 0);
    widen_numbers(g, wide, conv, args->dilation, 1);
    nuc_copy_arg(g, wide, args->groups, conv, args->groups);
    nuc_infer_shape(g, wide);
    return wide;
}

static void widen(struct nuc_graph *g, struct nuc_node *conv)
{
    struct nuc_node *last = conv, *wide = insert_conv2d(g, conv), *gone[3] = {conv, NULL, NULL};
    uint32_t n_gone = 1;

    /* Without a batch dimension the norm's channels are not those of the convolution. */
    if (conv->vals[0].rank == 3 && last->n_users == 1 && last->users[0]->op == NUC_OP_BATCH_NORM &&
        nuc_arg_node(last->users[0], NUC_SELF) == last) {
        last = gone[n_gone++] = last->users[0];
        wide = nuc_emit_like(g, conv, last, NUC_ARGS(wide));
    }
    if (last->n_users == 1 && nuc_is_fused_activation(last->users[0])) {
        last = gone[n_gone++] = last->users[0];
        wide = nuc_emit_like(g, conv, last, NUC_ARGS(wide));
    }
    struct nuc_quant q;
    if (last->n_users == 1 && nuc_quantize_quant(last->users[0], &q) && !q.per_channel)
        wide = insert_pair(g, conv, wide, &q);
    struct nuc_node *narrow = insert_reshaped(g, conv, NUC_OP_SQUEEZE_DIM, wide);
    nuc_replace_uses(g, last, narrow, NULL);
    while (n_gone > 0)
        nuc_remove_node(g, gone[--n_gone]);
}

/* A weight that is computed becomes [O, I, 1, K] where it is. */
static bool widen_any(struct nuc_graph *g, struct nuc_node *conv)
{
    const struct nuc_node *weight = nuc_operand(g, conv, NUC_CONV_WEIGHT), *bias = nuc_arg_node(conv, NUC_CONV_BIAS);
    bool can = (nuc_is_static(weight) || weight->vals[0].dtype == NUC_F32) && weight->vals[0].rank == 3 &&
               (bias == NULL || nuc_is_static(bias));

    if (can)
        widen(g, conv);
    return can;
}

static bool widen_float(struct nuc_graph *g, struct nuc_node *conv)
{
    return nuc_is_static(nuc_operand(g, conv, NUC_CONV_WEIGHT)) && widen_any(g, conv);
}

static bool widen_quantized(struct nuc_graph *g, struct nuc_node *conv)
{
    const struct nuc_node *weight = nuc_operand(g, conv, NUC_CONV_WEIGHT);
    struct nuc_quant q;
    bool can = nuc_dequantize_quant(weight, &q) && nuc_is_static(nuc_operand(g, weight, NUC_SELF)) &&
               weight->vals[0].rank == 3 && (!q.per_channel || (q.axis >= 0 && q.axis <= 1));

    if (can)
        widen(g, conv);
    return can;
}

/* So does a pooling, which may stand between convolutions. */
static bool widen_pool(struct nuc_graph *g, struct nuc_node *pool)
{
    if (nuc_input_meta(pool, NUC_SELF)->rank != 3)
        return false;
    struct nuc_node *wide =
        nuc_insert_pool_of_rows(g, pool, pool->op == NUC_OP_MAX_POOL1D ? NUC_OP_MAX_POOL2D : NUC_OP_AVG_POOL2D);
    nuc_replace_uses(g, pool, insert_reshaped(g, pool, NUC_OP_SQUEEZE_DIM, wide), NULL);
    nuc_remove_node(g, pool);
    return true;
}

bool nuc_conv1d_to_2d(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_CONV1D, NUC_OP_CONV_TRANSPOSE1D), widen_float);
}

bool nuc_other_conv1d_to_2d(struct nuc_graph *g)
{
    bool convs = nuc_rewrite_each(g, NUC_OPS(NUC_OP_CONV1D, NUC_OP_CONV_TRANSPOSE1D, NUC_OP_CONV1D_PADDING), widen_any);

    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_MAX_POOL1D, NUC_OP_AVG_POOL1D), widen_pool) || convs;
}

bool nuc_quantized_conv1d_to_2d(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_CONV1D, NUC_OP_CONV_TRANSPOSE1D, NUC_OP_CONV1D_PADDING), widen_quantized);
}
