/*
 * A convolution of [N, C, L] becomes one of [N, C, 1, L] between unsqueeze and squeeze: the NPU has 2-D convolutions
 * only. A batch norm and an activation after it are computed on [N, C, 1, L] too, so that they stay next to it.
 */
#include "compiler/graph/conv_args.h"
#include "compiler/passes/fused_activation.h"
#include "compiler/passes/pass_list.h"
#include "compiler/passes/rewrite.h"

static enum nuc_op two_dimensional(const struct nuc_conv_args *args)
{
    if (args->named_padding)
        return NUC_OP_CONV2D_PADDING;
    return args->transposed ? NUC_OP_CONV_TRANSPOSE2D : NUC_OP_CONV2D;
}

static struct nuc_node *insert_reshaped(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op,
                                        struct nuc_node *input)
{
    struct nuc_node *node = nuc_insert(g, before, op, input);

    nuc_set_arg_node(node, g, NUC_SELF, input);
    nuc_set_arg_int(node, NUC_ARG(UNSQUEEZE, dim), -2);
    nuc_infer_shape(g, node);
    return node;
}

/* Weight [O, I, K] to [O, I, 1, K], or [I, O, K] to [I, O, 1, K]. */
static struct nuc_node *widen_weight(struct nuc_graph *g, const struct nuc_node *weight)
{
    const struct nuc_meta *w = &weight->vals[0];
    const int64_t sizes[4] = {w->sizes[0], w->sizes[1], 1, w->sizes[2]};
    struct nuc_meta meta = nuc_meta_make(w->dtype, sizes, 4);

    return nuc_add_parameter(g, weight, "0", &meta, nuc_const_contiguous(g, weight));
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
    struct nuc_node *weight = widen_weight(g, nuc_operand(g, conv, NUC_CONV_WEIGHT));
    struct nuc_node *input = insert_reshaped(g, conv, NUC_OP_UNSQUEEZE, nuc_operand(g, conv, NUC_CONV_INPUT));
    struct nuc_node *wide = nuc_insert(g, conv, two_dimensional(args), conv);

    nuc_made_of(input, conv);
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

static bool can_widen(struct nuc_graph *g, const struct nuc_node *conv)
{
    const struct nuc_node *weight = nuc_operand(g, conv, NUC_CONV_WEIGHT), *bias = nuc_arg_node(conv, NUC_CONV_BIAS);

    return nuc_is_static(weight) && weight->vals[0].rank == 3 && (bias == NULL || nuc_is_static(bias));
}

static bool widen(struct nuc_graph *g, struct nuc_node *conv)
{
    if (!can_widen(g, conv))
        return false;
    struct nuc_node *last = conv, *wide = insert_conv2d(g, conv), *gone[3] = {conv, NULL, NULL};
    uint32_t n_gone = 1;

    /* Without a batch dimension the norm's channels are not those of the convolution. */
    if (conv->vals[0].rank == 3 && last->n_users == 1 && last->users[0]->op == NUC_OP_BATCH_NORM &&
        nuc_arg_node(last->users[0], NUC_SELF) == last) {
        last = gone[n_gone++] = last->users[0];
        wide = nuc_insert_activation(g, conv, last, wide);
    }
    if (last->n_users == 1 && nuc_is_fused_activation(last->users[0])) {
        last = gone[n_gone++] = last->users[0];
        wide = nuc_insert_activation(g, conv, last, wide);
    }
    struct nuc_node *narrow = insert_reshaped(g, conv, NUC_OP_SQUEEZE_DIM, wide);
    nuc_replace_uses(g, last, narrow, NULL);
    while (n_gone > 0)
        nuc_remove_node(g, gone[--n_gone]);
    return true;
}

bool nuc_conv1d_to_2d(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_CONV1D, NUC_OP_CONV_TRANSPOSE1D), widen);
}

bool nuc_padded_conv1d_to_2d(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_CONV1D_PADDING), widen);
}
