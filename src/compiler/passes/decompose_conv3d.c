/*
 * A convolution of [N, C, D, H, W] as one 2-D convolution whose images are the depths of the result and whose channels
 * are those of all depths that the kernel covers: ExecuTorch's portable kernels have no 3-D one.
 */
#include <string.h>

#include "compiler/graph/args.h"
#include "compiler/graph/conv_args.h"
#include "compiler/passes/decompose.h"
#include "compiler/passes/rewrite.h"

#define SPATIAL 3

static const int64_t depth_first[] = {0, 2, 1, 3, 4}; /* [N, C, D, H, W] to [N, D, C, H, W] and back */

struct conv3d {
    struct nuc_graph *g;
    struct nuc_node *node;
    int64_t stride[SPATIAL], padding[SPATIAL], dilation[SPATIAL];
    int64_t groups, batch, channels;
    int64_t kernel, depth; /* depths of the kernel, of the result */
};

static struct conv3d read_conv3d(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_conv_args *args = nuc_conv_args(node->op);
    const struct nuc_meta *in = &nuc_operand(g, node, NUC_CONV_INPUT)->vals[0];
    uint32_t batched = in->rank - SPATIAL - 1;
    struct conv3d c = {
        .g = g,
        .node = node,
        .groups = nuc_integer(node, args->groups, 1),
        .batch = batched ? in->sizes[0] : 1,
        .channels = in->sizes[batched],
        .kernel = nuc_operand(g, node, NUC_CONV_WEIGHT)->vals[0].sizes[2],
        .depth = node->vals[0].sizes[batched + 1],
    };

    nuc_conv_numbers(node, args->stride, SPATIAL, 1, c.stride);
    nuc_conv_numbers(node, args->dilation, SPATIAL, 1, c.dilation);
    nuc_conv_numbers(node, args->padding, SPATIAL, 0, c.padding);
    return c;
}

static struct nuc_node *insert_reshape(const struct conv3d *c, struct nuc_node *input, const int64_t *sizes,
                                       uint32_t rank)
{
    return nuc_insert_reshape(c->g, c->node, input, sizes, rank);
}

/* The input, with a batch or without, as images [N, D, C, H, W] of its depths, padded ones in front and behind. */
static struct nuc_node *insert_images(const struct conv3d *c)
{
    const int64_t pad[] = {0, 0, 0, 0, 0, 0, c->padding[0], c->padding[0]};
    struct nuc_node *input = nuc_operand(c->g, c->node, NUC_CONV_INPUT);
    const struct nuc_meta in = input->vals[0];

    if (in.rank == SPATIAL + 1) {
        const int64_t sizes[] = {1, in.sizes[0], in.sizes[1], in.sizes[2], in.sizes[3]};
        input = insert_reshape(c, input, sizes, SPATIAL + 2);
    }
    struct nuc_node *images = nuc_insert_permute(c->g, c->node, input, depth_first);
    if (c->padding[0] == 0)
        return images;
    return nuc_emit(c->g, c->node, NUC_OP_CONSTANT_PAD, c->node,
                    NUC_ARGS(nuc_node_arg(images), nuc_ints_arg(pad, 8), nuc_float_arg(0.0)));
}

/* What depth `k` of the kernel meets for each depth of the result: [N * D, groups, C / groups, H, W]. */
static struct nuc_node *insert_part(const struct conv3d *c, struct nuc_node *images, int64_t k)
{
    const struct nuc_meta *m = &images->vals[0];
    const int64_t start = k * c->dilation[0], end = start + (c->depth - 1) * c->stride[0] + 1;
    const int64_t sizes[] = {c->batch * c->depth, c->groups, c->channels / c->groups, m->sizes[3], m->sizes[4]};
    struct nuc_node *part = nuc_emit(c->g, c->node, NUC_OP_SLICE, c->node,
                                     NUC_ARGS(nuc_node_arg(images), nuc_int_arg(1), nuc_int_arg(start),
                                              nuc_int_arg(end), nuc_int_arg(c->stride[0])));

    return insert_reshape(c, part, sizes, 5);
}

/* All parts as channels, those of a group together. */
static struct nuc_node *insert_columns(const struct conv3d *c)
{
    struct nuc_node *images = insert_images(c);
    struct nuc_node **parts = nuc_alloc_array(c->g->cx, (size_t)c->kernel, sizeof(struct nuc_node *));

    for (int64_t k = 0; k < c->kernel; k++)
        parts[k] = insert_part(c, images, k);
    struct nuc_node *all = nuc_insert_cat(c->g, c->node, parts, (uint32_t)c->kernel, 2);
    const struct nuc_meta m = all->vals[0];
    const int64_t sizes[] = {m.sizes[0], m.sizes[1] * m.sizes[2], m.sizes[3], m.sizes[4]};
    return insert_reshape(c, all, sizes, 4);
}

/* Weight [O, I, K, H, W] to [O, K * I, H, W]. */
static struct nuc_node *insert_weight(const struct conv3d *c)
{
    struct nuc_node *weight = nuc_operand(c->g, c->node, NUC_CONV_WEIGHT);
    const struct nuc_meta w = weight->vals[0];
    const int64_t sizes[] = {w.sizes[0], w.sizes[2] * w.sizes[1], w.sizes[3], w.sizes[4]};

    if (!nuc_is_static(weight))
        return insert_reshape(c, nuc_insert_permute(c->g, c->node, weight, depth_first), sizes, 4);
    struct nuc_meta meta = nuc_meta_make(w.dtype, sizes, 4);
    size_t image = (size_t)(w.sizes[3] * w.sizes[4]) * nuc_dtype_size(w.dtype);
    const uint8_t *from = nuc_const_contiguous(c->g, weight);
    uint8_t *data = nuc_alloc_array(c->g->cx, (size_t)(sizes[0] * sizes[1]), image), *to = data;
    for (int64_t o = 0; o < w.sizes[0]; o++) {
        for (int64_t k = 0; k < w.sizes[2]; k++) {
            for (int64_t i = 0; i < w.sizes[1]; i++, to += image)
                memcpy(to, from + (size_t)((o * w.sizes[1] + i) * w.sizes[2] + k) * image, image);
        }
    }
    return nuc_take_parameter(c->g, weight, "_2d", &meta, data);
}

static struct nuc_node *insert_convolution(const struct conv3d *c)
{
    static const int64_t zeros[] = {0, 0};
    struct nuc_node *input = insert_columns(c), *weight = insert_weight(c);
    struct nuc_node *conv = nuc_emit(
        c->g, c->node, NUC_OP_CONVOLUTION, c->node,
        NUC_ARGS(nuc_node_arg(input), nuc_node_arg(weight), nuc_node_arg(nuc_arg_node(c->node, NUC_CONV_BIAS)),
                 nuc_ints_arg(c->stride + 1, 2), nuc_ints_arg(c->padding + 1, 2), nuc_ints_arg(c->dilation + 1, 2),
                 nuc_bool_arg(false), nuc_ints_arg(zeros, 2), nuc_int_arg(c->groups)));

    conv->args[NUC_CONV_BIAS].given = true;
    return conv;
}

struct nuc_node *nuc_to_flat_convolution(struct nuc_graph *g, struct nuc_node *node)
{
    struct conv3d c = read_conv3d(g, node);
    struct nuc_node *conv = insert_convolution(&c);
    const struct nuc_meta m = conv->vals[0], out = node->vals[0];
    const int64_t sizes[] = {c.batch, c.depth, m.sizes[1], m.sizes[2], m.sizes[3]};
    struct nuc_node *result = nuc_insert_permute(g, node, insert_reshape(&c, conv, sizes, 5), depth_first);

    return out.rank == SPATIAL + 2 ? result : insert_reshape(&c, result, out.sizes, out.rank);
}
