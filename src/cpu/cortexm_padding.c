/* Padding in front of a convolution becomes padding of the convolution; which operator a depthwise one is. */
#include "cpu/cortexm_site.h"
#include "ir/conv_args.h"

/*
 * Same positions of arguments: the symmetric operator takes one padding for both ends, the other one each. One with
 * wide weights always has one for each.
 */
static const struct row {
    enum nuc_op symmetric, sided;
    uint32_t input_offset, scratch;
    size_t (*scratch_bytes)(const struct nuc_cpu *cpu, const struct nuc_node *conv);
} rows[] = {
    {NUC_OP_CORTEXM_CONV2D, NUC_OP_NUCLEON_CONV2D, NUC_ARG(CORTEXM_CONV2D, input_offset),
     NUC_ARG(CORTEXM_CONV2D, scratch), nuc_cm_conv_scratch},
    {NUC_OP_CORTEXM_DEPTHWISE, NUC_OP_NUCLEON_DEPTHWISE, NUC_ARG(CORTEXM_DEPTHWISE, input_offset),
     NUC_ARG(CORTEXM_DEPTHWISE, scratch), nuc_cm_depthwise_scratch},
    {NUC_OP_NUCLEON_WIDE_CONV2D, NUC_OP_NUCLEON_WIDE_CONV2D, NUC_ARG(NUCLEON_WIDE_CONV2D, input_offset),
     NUC_ARG(NUCLEON_WIDE_CONV2D, scratch), nuc_cm_conv_scratch},
    {NUC_OP_NUCLEON_WIDE_DEPTHWISE, NUC_OP_NUCLEON_WIDE_DEPTHWISE, NUC_ARG(NUCLEON_WIDE_DEPTHWISE, input_offset),
     NUC_ARG(NUCLEON_WIDE_DEPTHWISE, scratch), nuc_cm_depthwise_scratch},
};

#define CONV(name) NUC_ARG(CORTEXM_CONV2D, name)

static const struct row *row_of(enum nuc_op op)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].symmetric == op || rows[i].sided == op)
            return &rows[i];
    }
    return NULL;
}

struct sides {
    int64_t before[2], after[2];
};

/*
 * What the node adds to an image's height and width; false when it is not padding, or pads something else. The lists go
 * by the order in memory, of an image of one channel or one pixel by channels-last.
 */
static bool image_padding(const struct nuc_node *pad, struct sides *out)
{
    if (pad->op != NUC_OP_CORTEXM_PAD || pad->vals[0].rank != 4)
        return false;
    struct nuc_meta m = *nuc_input_meta(pad, NUC_ARG(CORTEXM_PAD, input));
    if (m.sizes[1] == 1 || (m.sizes[2] == 1 && m.sizes[3] == 1))
        nuc_set_channels_last(&m);
    const int64_t *pre = pad->args[NUC_ARG(CORTEXM_PAD, pre_pad)].u.ints;
    const int64_t *post = pad->args[NUC_ARG(CORTEXM_PAD, post_pad)].u.ints;
    *out = (struct sides){{0, 0}, {0, 0}};
    for (uint32_t i = 0; i < 4; i++) {
        if (m.dim_order[i] >= 2) {
            out->before[m.dim_order[i] - 2] = pre[i];
            out->after[m.dim_order[i] - 2] = post[i];
        } else if (pre[i] != 0 || post[i] != 0) {
            return false;
        }
    }
    return true;
}

/*
 * The paddings of `conv` with those in front of it, as the symmetric operator has them where they lead to the same
 * windows.
 */
static struct sides joined(const struct nuc_node *conv, const struct sides *added, const struct nuc_meta *image)
{
    struct sides s;
    int64_t stride[2], dilation[2];

    (void)nuc_conv_paddings(conv, CONV(padding), s.before, s.after);
    nuc_conv_numbers(conv, CONV(stride), 2, 1, stride);
    nuc_conv_numbers(conv, CONV(dilation), 2, 1, dilation);
    for (uint32_t d = 0; d < 2; d++) {
        int64_t reach = (nuc_input_meta(conv, CONV(weight))->sizes[1 + d] - 1) * dilation[d] + 1;
        s.before[d] += added->before[d];
        s.after[d] += added->after[d];
        int64_t room = image->sizes[2 + d] + 2 * s.before[d] - reach;
        if (room >= 0 && room / stride[d] + 1 == conv->vals[0].sizes[2 + d])
            s.after[d] = s.before[d];
    }
    return s;
}

/* `user` is a convolution that takes the padded image, with its own zero point around it, as padding of its own. */
static bool takes(const struct nuc_cm *c, const struct nuc_node *user, const struct nuc_node *image,
                  const struct nuc_node *pad, const struct sides *added)
{
    const struct row *row = row_of(user->op);

    if (row == NULL || nuc_arg_node(user, CONV(input)) != image ||
        nuc_integer(user, row->input_offset, 0) != -nuc_integer(pad, NUC_ARG(CORTEXM_PAD, pad_value), 0))
        return false;
    struct sides all = joined(user, added, nuc_input_meta(pad, NUC_ARG(CORTEXM_PAD, input)));
    return (all.before[0] == all.after[0] && all.before[1] == all.after[1]) || !c->options->executorch_ops_only;
}

static bool all_take(const struct nuc_cm *c, const struct nuc_node *image, const struct nuc_node *pad,
                     const struct sides *added, bool through_copy)
{
    for (uint32_t i = 0; i < image->n_users; i++) {
        const struct nuc_node *user = image->users[i];
        if (!takes(c, user, image, pad, added) &&
            !(through_copy && nuc_cm_is_order_copy(user) && all_take(c, user, pad, added, false)))
            return false;
    }
    return image->n_users > 0;
}

static struct nuc_node *conv_as(struct nuc_cm *c, const struct row *row, bool symmetric, struct nuc_node *conv,
                                struct nuc_node *image, const int64_t padding[4], struct nuc_node *before)
{
    symmetric = symmetric && image->vals[0].dtype == NUC_I8; /* those of int16 take a padding for each side */
    struct nuc_node *next = nuc_insert(c->g, before, symmetric ? row->symmetric : row->sided, conv);

    for (uint32_t i = 0; i < row->scratch; i++)
        nuc_copy_arg(c->g, next, i, conv, i);
    nuc_set_arg_node(next, c->g, CONV(input), image);
    nuc_set_arg_ints(next, c->g, CONV(padding), padding, symmetric && row->symmetric != row->sided ? 2 : 4);
    nuc_infer_shape(c->g, next);
    nuc_cm_scratch(c->g, next, row->scratch, row->scratch_bytes(c->options->cpu, next));
    return next;
}

/* A depthwise convolution that may go over its input stays one. */
struct nuc_node *nuc_cm_conv_over(struct nuc_cm *c, struct nuc_node *conv, struct nuc_node *image,
                                  const int64_t padding[4], struct nuc_node *before)
{
    bool symmetric = conv->op != NUC_OP_NUCLEON_DEPTHWISE && padding[0] == padding[2] && padding[1] == padding[3];

    return conv_as(c, row_of(conv->op), symmetric, conv, image, padding, before);
}

static void put_in_place_of(struct nuc_cm *c, struct nuc_node *conv, struct nuc_node *next)
{
    nuc_set_val(c->g, next, &conv->vals[0]);
    nuc_replace_uses(c->g, conv, next, NULL);
    nuc_remove_node(c->g, conv);
}

/* The other depthwise operator in place of this one, where it can have these paddings. */
static bool put_other(struct nuc_cm *c, struct nuc_node *n)
{
    const bool symmetric = n->op == NUC_OP_NUCLEON_DEPTHWISE;
    struct sides s;

    if (!nuc_conv_paddings(n, CONV(padding), s.before, s.after) ||
        (symmetric && (s.before[0] != s.after[0] || s.before[1] != s.after[1])))
        return false;
    const int64_t padding[4] = {s.before[0], s.before[1], s.after[0], s.after[1]};
    put_in_place_of(c, n, conv_as(c, row_of(n->op), symmetric, n, nuc_arg_node(n, CONV(input)), padding, n));
    return true;
}

/* Every reader of the padded image, or of its copy, is a convolution that takes it. */
static void give_padding(struct nuc_cm *c, struct nuc_node *padded, const struct nuc_node *pad,
                         const struct sides *added)
{
    struct nuc_node *image = nuc_arg_node(pad, NUC_ARG(CORTEXM_PAD, input));

    while (padded->n_users > 0) {
        struct nuc_node *user = padded->users[0];
        if (nuc_cm_is_order_copy(user)) {
            give_padding(c, user, pad, added);
            nuc_remove_node(c->g, user);
        } else {
            struct sides all = joined(user, added, &image->vals[0]);
            /* The same convolution of `image` with the paddings `all`, in its place. */
            const int64_t padding[4] = {all.before[0], all.before[1], all.after[0], all.after[1]};
            put_in_place_of(c, user, nuc_cm_conv_over(c, user, nuc_cm_channels_last(c, image, user), padding, user));
        }
    }
}

void nuc_cm_fold_padding(struct nuc_cm *c)
{
    struct sides added;

    nuc_remove_dead(c->g);
    /* From the back: of two paddings in a row the convolution takes the last one first. */
    for (struct nuc_node *n = c->g->last, *prev; n != NULL; n = prev) {
        prev = n->prev;
        if (!image_padding(n, &added) || !all_take(c, n, n, &added, true))
            continue;
        give_padding(c, n, n, &added);
        nuc_remove_node(c->g, n);
    }
}

#define A_GROUP 4 /* channels at a time: with others the fast kernels do not go over the input */

void nuc_cm_overlay_depthwise(struct nuc_cm *c)
{
    for (struct nuc_node *n = c->g->first, *next; n != NULL; n = next) {
        const struct nuc_node *image = n->op == NUC_OP_CORTEXM_DEPTHWISE ? nuc_arg_node(n, CONV(input)) : NULL;
        next = n->next;
        if (image != NULL && image->n_users == 1 && n->vals[0].sizes[1] % A_GROUP == 0 && nuc_depthwise_overlay(n) != 0)
            put_other(c, n);
    }
}

bool nuc_cortexm_part_depthwise(struct nuc_graph *g, const struct nuc_cortexm_options *options)
{
    struct nuc_cm c = {.g = g, .options = options};
    bool found = false;

    for (struct nuc_node *n = g->first, *next; n != NULL; n = next) {
        next = n->next;
        found = (n->op == NUC_OP_NUCLEON_DEPTHWISE && put_other(&c, n)) || found;
    }
    if (found)
        nuc_remove_dead(g); /* the scratch memory there was */
    return found;
}
