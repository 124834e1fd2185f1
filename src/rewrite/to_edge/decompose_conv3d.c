/*
 * A convolution of [N, C, D, H, W], transposed or not, as one 2-D convolution whose images are the depths of the result
 * and whose channels are those of all depths that the kernel covers: neither ExecuTorch's portable kernels, on the way
 * to the Edge dialect, nor the NPU, before anything is quantized, have a 3-D one.
 */
#include <string.h>

#include "ir/args.h"
#include "ir/conv_args.h"
#include "rewrite/expand/expand.h"
#include "rewrite/insert.h"

#define SPATIAL 3

static const int64_t depth_first[] = {0, 2, 1, 3, 4}; /* [N, C, D, H, W] to [N, D, C, H, W] and back */

struct conv3d {
    struct nuc_graph *g;
    struct nuc_node *node;
    bool transposed;
    int64_t stride[SPATIAL], padding[SPATIAL], dilation[SPATIAL], output_padding[SPATIAL];
    int64_t more[SPATIAL]; /* padding at the end alone */
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
        .transposed = args->transposed,
        .groups = nuc_integer(node, args->groups, 1),
        .batch = batched ? in->sizes[0] : 1,
        .channels = in->sizes[batched],
        .kernel = nuc_operand(g, node, NUC_CONV_WEIGHT)->vals[0].sizes[2],
        .depth = node->vals[0].sizes[batched + 1],
    };

    nuc_conv_numbers(node, args->stride, SPATIAL, 1, c.stride);
    nuc_conv_numbers(node, args->dilation, SPATIAL, 1, c.dilation);
    nuc_conv_numbers(node, args->output_padding, SPATIAL, 0, c.output_padding);
    nuc_conv_padding(node, SPATIAL, c.padding, c.more);
    return c;
}

static struct nuc_node *insert_reshape(const struct conv3d *c, struct nuc_node *input, const int64_t *sizes,
                                       uint32_t rank)
{
    return c->g->dialect == NUC_ATEN ? nuc_insert_reshaped(c->g, c->node, input, sizes, rank)
                                     : nuc_insert_reshape(c->g, c->node, input, sizes, rank);
}

/* `pad` in pairs from the last dimension on. */
static struct nuc_node *insert_padding(const struct conv3d *c, struct nuc_node *input, const int64_t *pad,
                                       uint32_t count)
{
    int64_t any = 0;

    if (c->g->dialect == NUC_ATEN)
        return nuc_insert_padded(c->g, c->node, input, pad, count);
    for (uint32_t i = 0; i < count; i++)
        any |= pad[i];
    if (any == 0)
        return input;
    return nuc_emit(c->g, c->node, NUC_OP_CONSTANT_PAD, c->node, NUC_ARGS(input, nuc_ints_arg(pad, count), 0.0));
}

/* The input, with a batch or without, as images [N, D, C, H, W] of its depths. */
static struct nuc_node *insert_images(const struct conv3d *c)
{
    struct nuc_node *input = nuc_operand(c->g, c->node, NUC_CONV_INPUT);
    const struct nuc_meta in = input->vals[0];

    if (in.rank == SPATIAL + 1) {
        const int64_t sizes[] = {1, in.sizes[0], in.sizes[1], in.sizes[2], in.sizes[3]};
        input = insert_reshape(c, input, sizes, SPATIAL + 2);
    }
    return nuc_insert_permute(c->g, c->node, input, depth_first);
}

/* Images of zeros follow each image of a transposed convolution: its stride. */
static struct nuc_node *insert_gaps(const struct conv3d *c, struct nuc_node *images)
{
    const struct nuc_meta m = images->vals[0];
    const int64_t image = m.sizes[2] * m.sizes[3] * m.sizes[4], flat[] = {m.sizes[0], m.sizes[1], image};
    const int64_t pad[] = {0, (c->stride[0] - 1) * image};
    const int64_t sizes[] = {m.sizes[0], m.sizes[1] * c->stride[0], m.sizes[2], m.sizes[3], m.sizes[4]};

    if (c->stride[0] == 1)
        return images;
    return insert_reshape(c, insert_padding(c, insert_reshape(c, images, flat, 3), pad, 2), sizes, 5);
}

/* What depth `k` of the kernel meets for each depth of the result, from image `start` on: [N * D, groups, C / groups,
 * H, W]. */
static struct nuc_node *insert_part(const struct conv3d *c, struct nuc_node *images, int64_t start, int64_t step)
{
    const struct nuc_meta *m = &images->vals[0];
    const int64_t sizes[] = {c->batch * c->depth, c->groups, c->channels / c->groups, m->sizes[3], m->sizes[4]};
    struct nuc_node *part = nuc_emit(c->g, c->node, NUC_OP_SLICE, c->node,
                                     NUC_ARGS(images, 1, start, start + (c->depth - 1) * step + 1, step));

    return insert_reshape(c, part, sizes, 5);
}

/* Weight [O, I, K, H, W] to [O, K * I, H, W]; when transposed [G * I, O, K, H, W] to [G * K * I, O, H, W]. */
static struct nuc_node *insert_weight(const struct conv3d *c)
{
    static const int64_t dims[] = {0, 3, 1, 2, 4};
    struct nuc_node *weight = nuc_operand(c->g, c->node, NUC_CONV_WEIGHT);
    const struct nuc_meta w = weight->vals[0];
    const int64_t outer = c->transposed ? c->groups : w.sizes[0], last = c->transposed ? w.sizes[1] : 1;
    const int64_t inner = c->channels / c->groups, image = w.sizes[3] * w.sizes[4];
    const int64_t parts[] = {outer, inner, last, c->kernel, image};
    const int64_t sizes[] = {c->transposed ? outer * c->kernel * inner : outer,
                             c->transposed ? last : c->kernel * inner, w.sizes[3], w.sizes[4]};

    if (!nuc_is_static(weight))
        return insert_reshape(c, nuc_insert_permute(c->g, c->node, insert_reshape(c, weight, parts, 5), dims), sizes,
                              4);
    struct nuc_meta meta = nuc_meta_make(w.dtype, sizes, 4);
    size_t bytes = (size_t)image * nuc_dtype_size(w.dtype);
    const uint8_t *from = nuc_const_contiguous(c->g, weight);
    uint8_t *data = nuc_alloc_array(c->g->cx, (size_t)(sizes[0] * sizes[1]), bytes), *to = data;
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t k = 0; k < c->kernel; k++) {
            for (int64_t i = 0; i < inner * last; i++, to += bytes)
                memcpy(to, from + (size_t)((o * inner * last + i) * c->kernel + k) * bytes, bytes);
        }
    }
    return nuc_take_parameter(c->g, weight, "_2d", &meta, data);
}

static struct nuc_node *insert_convolution(const struct conv3d *c)
{
    /*
     * All parts as channels, those of a group together. Depth d of the result meets image d * stride + k * dilation -
     * padding, or when transposed, with gaps between the images, d - k * dilation + padding.
     */
    struct nuc_node *images = insert_images(c);
    struct nuc_node **parts = nuc_alloc_array(c->g->cx, (size_t)c->kernel, sizeof(struct nuc_node *));
    int64_t front = c->padding[0], back = c->padding[0] + c->more[0], step = c->stride[0];
    if (c->transposed) {
        images = insert_gaps(c, images);
        front = nuc_at_least_0((c->kernel - 1) * c->dilation[0] - c->padding[0]);
        back = nuc_at_least_0(c->depth + c->padding[0] - images->vals[0].sizes[1]);
        step = 1;
    }
    const int64_t pad[] = {0, c->more[2], 0, c->more[1], 0, 0, front, back};
    images = insert_padding(c, images, pad, 8);
    for (int64_t k = 0; k < c->kernel; k++) {
        int64_t start = k * c->dilation[0];
        parts[k] = insert_part(c, images, c->transposed ? front + c->padding[0] - start : start, step);
    }
    bool one = c->kernel == 1 && c->g->dialect == NUC_ATEN;
    struct nuc_node *all = one ? parts[0] : nuc_insert_cat(c->g, c->node, parts, (uint32_t)c->kernel, 2);
    const struct nuc_meta m = all->vals[0];
    const int64_t sizes[] = {m.sizes[0], m.sizes[1] * m.sizes[2], m.sizes[3], m.sizes[4]};
    struct nuc_node *input = insert_reshape(c, all, sizes, 4), *weight = insert_weight(c);
    const struct nuc_arg common[] = {nuc_node_arg(input), nuc_node_arg(weight),
                                     nuc_node_arg(nuc_arg_node(c->node, NUC_CONV_BIAS)), nuc_ints_arg(c->stride + 1, 2),
                                     nuc_ints_arg(c->padding + 1, 2)};
    const struct nuc_arg dilation = nuc_ints_arg(c->dilation + 1, 2), groups = nuc_int_arg(c->groups);

    if (c->g->dialect == NUC_ATEN && c->transposed)
        return nuc_emit(c->g, c->node, NUC_OP_CONV_TRANSPOSE2D, c->node,
                        NUC_ARGS(common[0], common[1], common[2], common[3], common[4],
                                 nuc_ints_arg(c->output_padding + 1, 2), groups, dilation));
    if (c->g->dialect == NUC_ATEN)
        return nuc_emit(c->g, c->node, NUC_OP_CONV2D, c->node,
                        NUC_ARGS(common[0], common[1], common[2], common[3], common[4], dilation, groups));
    struct nuc_node *conv =
        nuc_emit(c->g, c->node, NUC_OP_CONVOLUTION, c->node,
                 NUC_ARGS(common[0], common[1], common[2], common[3], common[4], dilation, nuc_bool_arg(c->transposed),
                          nuc_ints_arg(c->output_padding + 1, 2), groups));

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
