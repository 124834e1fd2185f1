/*
 * A convolution in groups becomes one convolution per group between a split and a concatenation of the channels, which
 * kernels of the CPU compute in fewer cycles. The reference does so for the NPU, too. Nodes and constants stand where
 * torch.fx puts them, the last group first: annotation and numbering follow that order.
 */
#include <assert.h>

#include "ir/args.h"
#include "ir/conv_args.h"
#include "rewrite/insert.h"
#include "rewrite/npu_forms/npu_forms.h"
#include "rewrite/pass_list.h"

#define MAX_GROUPS NUC_MAX_SPLIT_GROUPS

struct split {
    struct nuc_graph *g;
    struct nuc_node *conv;
    const struct nuc_conv_args *args;
    uint32_t groups;
    uint32_t channels; /* dimension of the input that holds the channels */
    struct nuc_node *weights[MAX_GROUPS], *biases[MAX_GROUPS], *inputs[MAX_GROUPS], *parts[MAX_GROUPS];
};

/* Every group's rows of a weight [O, ...] or bias [O] as a parameter of its own. */
static void split_parameter(const struct split *s, uint32_t index, struct nuc_node **parts)
{
    const struct nuc_node *whole = nuc_arg_node(s->conv, index);

    if (whole == NULL)
        return;
    const uint8_t *data = nuc_const_contiguous(s->g, whole);
    struct nuc_meta meta = whole->vals[0];
    meta.sizes[0] /= s->groups;
    for (uint32_t k = s->groups; k > 0; k--)
        parts[k - 1] = nuc_add_parameter(s->g, whole, nuc_format(s->g->cx, "_%u_0", k - 1), &meta,
                                         data + (k - 1) * nuc_bytes(&meta));
}

/* split_with_sizes is what torch.export makes of the split.default the reference inserts. */
static void split_input(struct split *s)
{
    struct nuc_graph *g = s->g;
    struct nuc_node *input = nuc_operand(g, s->conv, NUC_CONV_INPUT), *before = s->conv;
    int64_t sizes[MAX_GROUPS];

    assert(s->groups <= MAX_GROUPS);
    for (uint32_t k = 0; k < s->groups; k++)
        sizes[k] = input->vals[0].sizes[s->channels] / s->groups;
    struct nuc_node *split = nuc_emit(g, s->conv, NUC_OP_SPLIT_WITH_SIZES, s->conv,
                                      NUC_ARGS(input, nuc_ints_arg(sizes, s->groups), (int64_t)s->channels));
    for (uint32_t k = 0; k < s->groups; k++)
        before = s->inputs[k] = nuc_insert_getitem(g, before, split, k);
}

static bool split_conv(struct nuc_graph *g, struct nuc_node *conv)
{
    struct split s = {.g = g, .conv = conv, .args = nuc_conv_args(conv->op)};

    int64_t groups = nuc_integer(s.conv, s.args->groups, 1);
    const struct nuc_node *weight = nuc_operand(s.g, s.conv, NUC_CONV_WEIGHT);
    const struct nuc_node *bias = nuc_arg_node(s.conv, NUC_CONV_BIAS);
    const struct nuc_meta *in = &nuc_operand(s.g, s.conv, NUC_CONV_INPUT)->vals[0];
    if (groups < 2 || groups > MAX_GROUPS || in->rank < s.args->spatial + 1)
        return false;
    s.groups = (uint32_t)groups;
    s.channels = in->rank - s.args->spatial - 1;
    int64_t from = in->sizes[s.channels], to = weight->vals[0].sizes[0];
    if ((from == groups && to == groups) || from % groups != 0 || to % groups != 0)
        return false;
    if (!nuc_is_static(weight) || !(bias == NULL || nuc_is_static(bias)))
        return false;
    split_parameter(&s, NUC_CONV_BIAS, s.biases);
    split_parameter(&s, NUC_CONV_WEIGHT, s.weights);
    split_input(&s);
    struct nuc_node *before = s.conv;
    for (uint32_t k = 0; k < s.groups; k++) {
        struct nuc_node *operands[] = {s.inputs[k], s.weights[k], s.biases[k]};
        before = s.parts[k] = nuc_emit_conv_like(s.g, before, s.conv, operands, 1);
    }
    nuc_replace_uses(g, conv, nuc_insert_cat(g, conv, s.parts, s.groups, s.channels), NULL);
    nuc_remove_node(g, conv);
    return true;
}

bool nuc_split_group_conv(struct nuc_graph *g, const struct nuc_support *npu)
{
    bool changed = false;

    for (struct nuc_node *n = g->first, *next; n != NULL; n = next) {
        next = n->next;
        /* Several channels of one each, as the spatial filters of EEGNet, are depthwise: forms take them whole. */
        if (nuc_op_is_in(n->op, NUC_OPS(NUC_OP_CONV1D, NUC_OP_CONV2D)) &&
            nuc_input_meta(n, NUC_CONV_WEIGHT)->sizes[1] > 1 && !(npu != NULL && nuc_takes_conv(npu, n)))
            changed = split_conv(g, n) || changed;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}

bool nuc_split_group_conv_as_reference(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_CONV1D, NUC_OP_CONV2D), split_conv);
}
