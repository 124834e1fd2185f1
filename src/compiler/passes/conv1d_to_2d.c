/*
 * A convolution of [N, C, L] becomes one of [N, C, 1, L] between unsqueeze and squeeze: the NPU has 2-D convolutions
 * only. A batch norm and an activation behind it are computed on [N, C, 1, L] too, so that they stay next to it.
 */
#include "compiler/passes/fused_activation.h"
#include "compiler/passes/pass_list.h"
#include "compiler/passes/rewrite.h"

enum { INPUT, WEIGHT, BIAS, FIRST_OPTION };

/* What the new dimension of size 1 adds in front of the list of an option. */
enum widening { KEEP, BY_ZERO, BY_ONE, END };

struct row {
    enum nuc_op to;           /* NUC_OP_PLACEHOLDER, 0: no 1-D convolution */
    enum widening options[6]; /* from argument 3 on */
};

static const struct row rows[NUC_OP_COUNT] = {
    /* stride, padding, dilation, groups */
    [NUC_OP_CONV1D] = {NUC_OP_CONV2D, {BY_ONE, BY_ZERO, BY_ONE, KEEP, END}},
    [NUC_OP_CONV1D_PADDING] = {NUC_OP_CONV2D_PADDING, {BY_ONE, KEEP, BY_ONE, KEEP, END}},
    /* stride, padding, output padding, groups, dilation */
    [NUC_OP_CONV_TRANSPOSE1D] = {NUC_OP_CONV_TRANSPOSE2D, {BY_ONE, BY_ZERO, BY_ZERO, KEEP, BY_ONE, END}},
};

static bool is_conv1d(enum nuc_op op)
{
    return rows[op].to != NUC_OP_PLACEHOLDER && op != NUC_OP_CONV1D_PADDING;
}

static bool is_padded_by_name(enum nuc_op op)
{
    return op == NUC_OP_CONV1D_PADDING;
}

static struct nuc_node *insert_reshaped(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op,
                                        struct nuc_node *input)
{
    struct nuc_node *node = nuc_insert_aten(g, before, op, input);

    nuc_set_arg_node(node, g, 0, input);
    nuc_set_arg_int(node, 1, -2);
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

static void widen_option(struct nuc_graph *g, struct nuc_node *to, const struct nuc_node *from, uint32_t index,
                         enum widening by)
{
    const struct nuc_arg *a = &from->args[index];
    int64_t pair[2] = {by == BY_ONE ? 1 : 0, by == BY_ONE ? 1 : 0};

    if (by == KEEP) {
        nuc_copy_arg(g, to, index, from, index);
        return;
    }
    if (a->kind == NUC_ARG_INT)
        pair[1] = a->u.i;
    else if (a->kind == NUC_ARG_INTS && a->count > 0)
        pair[1] = a->u.ints[0];
    nuc_set_arg_ints(to, g, index, pair, 2);
}

static struct nuc_node *insert_conv2d(struct nuc_graph *g, struct nuc_node *conv)
{
    const struct row *row = &rows[conv->op];
    struct nuc_node *weight = widen_weight(g, nuc_operand(g, conv, WEIGHT));
    struct nuc_node *input = insert_reshaped(g, conv, NUC_OP_UNSQUEEZE, nuc_operand(g, conv, INPUT));
    struct nuc_node *wide = nuc_insert_aten(g, conv, row->to, conv);

    input->source = conv->source;
    nuc_set_arg_node(wide, g, INPUT, input);
    nuc_set_arg_node(wide, g, WEIGHT, weight);
    nuc_copy_arg(g, wide, BIAS, conv, BIAS);
    for (uint32_t i = 0; row->options[i] != END; i++)
        widen_option(g, wide, conv, FIRST_OPTION + i, row->options[i]);
    nuc_infer_shape(g, wide);
    return wide;
}

static bool can_widen(struct nuc_graph *g, const struct nuc_node *conv)
{
    const struct nuc_node *weight = nuc_operand(g, conv, WEIGHT), *bias = nuc_arg_node(conv, BIAS);

    return nuc_is_static(weight) && weight->vals[0].rank == 3 && (bias == NULL || nuc_is_static(bias));
}

static void widen(struct nuc_graph *g, struct nuc_node *conv)
{
    struct nuc_node *last = conv, *wide = insert_conv2d(g, conv), *gone[3] = {conv, NULL, NULL};
    uint32_t n_gone = 1;

    /* Without a batch dimension the norm's channels are not those of the convolution. */
    if (conv->vals[0].rank == 3 && last->n_users == 1 && last->users[0]->op == NUC_OP_BATCH_NORM &&
        nuc_arg_node(last->users[0], 0) == last) {
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
}

static bool widen_all(struct nuc_graph *g, bool (*wanted)(enum nuc_op op))
{
    uint32_t count;
    struct nuc_node **convs = nuc_collect(g, wanted, &count);
    bool changed = false;

    for (uint32_t i = 0; i < count; i++) {
        if (!can_widen(g, convs[i]))
            continue;
        widen(g, convs[i]);
        changed = true;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}

bool nuc_conv1d_to_2d(struct nuc_graph *g)
{
    return widen_all(g, is_conv1d);
}

bool nuc_padded_conv1d_to_2d(struct nuc_graph *g)
{
    return widen_all(g, is_padded_by_name);
}
