/*
 * A convolution in groups becomes one convolution a group between a split and a concatenation of the channels: the NPU
 * has convolutions without groups and depthwise ones. Nodes and constants stand where torch.fx puts them, the last
 * group first: annotation and numbering follow that order.
 */
#include "compiler/passes/pass_list.h"
#include "compiler/passes/rewrite.h"

enum { INPUT, WEIGHT, BIAS, STRIDE, PADDING, DILATION, GROUPS }; /* of conv1d and conv2d */

#define MAX_GROUPS 10 /* with more the convolution is cheaper on the CPU; the reference's limit */

struct split {
    struct nuc_graph *g;
    struct nuc_node *conv;
    uint32_t groups;
    uint32_t channels; /* dimension of the input that holds the channels */
    struct nuc_node *weights[MAX_GROUPS], *biases[MAX_GROUPS], *inputs[MAX_GROUPS], *parts[MAX_GROUPS];
};

static bool is_conv(enum nuc_op op)
{
    return op == NUC_OP_CONV1D || op == NUC_OP_CONV2D;
}

static bool can_split(struct split *s)
{
    const struct nuc_arg *groups = &s->conv->args[GROUPS];
    const struct nuc_node *weight = nuc_operand(s->g, s->conv, WEIGHT), *bias = nuc_arg_node(s->conv, BIAS);
    const struct nuc_meta *in = &nuc_operand(s->g, s->conv, INPUT)->vals[0];
    uint32_t spatial = s->conv->op == NUC_OP_CONV1D ? 1 : 2;

    if (groups->kind != NUC_ARG_INT || groups->u.i < 2 || groups->u.i > MAX_GROUPS || in->rank < spatial + 1)
        return false;
    s->groups = (uint32_t)groups->u.i;
    s->channels = in->rank - spatial - 1;
    int64_t from = in->sizes[s->channels], to = weight->vals[0].sizes[0];
    if ((from == groups->u.i && to == groups->u.i) || from % groups->u.i != 0 || to % groups->u.i != 0)
        return false;
    return nuc_is_static(weight) && (bias == NULL || nuc_is_static(bias));
}

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
    struct nuc_node *input = nuc_operand(g, s->conv, INPUT);
    struct nuc_node *split = nuc_insert_aten(g, s->conv, NUC_OP_SPLIT_WITH_SIZES, s->conv);
    struct nuc_node *before = s->conv;
    int64_t sizes[MAX_GROUPS];

    for (uint32_t k = 0; k < s->groups; k++)
        sizes[k] = input->vals[0].sizes[s->channels] / s->groups;
    nuc_set_arg_node(split, g, 0, input);
    nuc_set_arg_ints(split, g, 1, sizes, s->groups);
    nuc_set_arg_int(split, 2, s->channels);
    nuc_infer_shape(g, split);
    for (uint32_t k = 0; k < s->groups; k++)
        before = s->inputs[k] = nuc_insert_getitem(g, before, split, k);
}

static void insert_convolutions(struct split *s)
{
    struct nuc_node *before = s->conv;

    for (uint32_t k = 0; k < s->groups; k++) {
        struct nuc_node *part = nuc_insert_aten(s->g, before, s->conv->op, s->conv);
        nuc_set_arg_node(part, s->g, INPUT, s->inputs[k]);
        nuc_set_arg_node(part, s->g, WEIGHT, s->weights[k]);
        nuc_set_arg_node(part, s->g, BIAS, s->biases[k]);
        for (uint32_t i = STRIDE; i <= DILATION; i++)
            nuc_copy_arg(s->g, part, i, s->conv, i);
        nuc_set_arg_int(part, GROUPS, 1);
        nuc_infer_shape(s->g, part);
        before = s->parts[k] = part;
    }
}

static void split_conv(struct split *s)
{
    split_parameter(s, BIAS, s->biases);
    split_parameter(s, WEIGHT, s->weights);
    split_input(s);
    insert_convolutions(s);
    struct nuc_node *cat = nuc_insert_aten(s->g, s->conv, NUC_OP_CAT, s->conv);
    nuc_set_arg_nodes(cat, s->g, 0, s->parts, s->groups);
    nuc_set_arg_int(cat, 1, s->channels);
    nuc_infer_shape(s->g, cat);
    nuc_replace_uses(s->g, s->conv, cat, NULL);
    nuc_remove_node(s->g, s->conv);
}

bool nuc_split_group_conv(struct nuc_graph *g)
{
    uint32_t count;
    struct nuc_node **convs = nuc_collect(g, is_conv, &count);
    bool changed = false;

    for (uint32_t i = 0; i < count; i++) {
        struct split s = {.g = g, .conv = convs[i]};
        if (!can_split(&s))
            continue;
        split_conv(&s);
        changed = true;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}
