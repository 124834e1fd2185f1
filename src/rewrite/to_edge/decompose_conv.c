/* Convolutions, poolings of rows. */
#include <assert.h>
#include <string.h>

#include "ir/args.h"
#include "ir/conv_args.h"
#include "rewrite/insert.h"
#include "rewrite/to_edge/decompose.h"

#define MAX_SPATIAL 3

#define CONV(name) NUC_ARG(CONVOLUTION, name)

static void set_numbers(struct nuc_graph *g, struct nuc_node *conv, uint32_t index, const struct nuc_node *node,
                        uint32_t from, int64_t fallback)
{
    int64_t list[MAX_SPATIAL];
    uint32_t count = nuc_conv_args(node->op)->spatial;

    assert(count >= 1 && count <= MAX_SPATIAL);
    nuc_conv_numbers(node, from, count, fallback, list);
    nuc_set_arg_ints(conv, g, index, list, count);
}

/* Everything but the padding, and the value. */
static struct nuc_node *insert_convolution(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input)
{
    const struct nuc_conv_args *args = nuc_conv_args(node->op);
    struct nuc_node *conv = nuc_insert(g, node, NUC_OP_CONVOLUTION, node);

    nuc_set_arg_node(conv, g, NUC_CONV_INPUT, input);
    nuc_copy_arg(g, conv, NUC_CONV_WEIGHT, node, NUC_CONV_WEIGHT);
    nuc_copy_arg(g, conv, NUC_CONV_BIAS, node, NUC_CONV_BIAS);
    conv->args[NUC_CONV_BIAS].given = true;
    set_numbers(g, conv, CONV(stride), node, args->stride, 1);
    set_numbers(g, conv, CONV(dilation), node, args->dilation, 1);
    nuc_set_arg_bool(conv, CONV(transposed), args->transposed);
    set_numbers(g, conv, CONV(output_padding), node, args->output_padding, 0);
    nuc_set_arg_int(conv, CONV(groups), nuc_integer(node, args->groups, 1));
    return conv;
}

/* An input without a batch gets one, which the result loses again. */
static struct nuc_node *with_batch(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input)
{
    const struct nuc_meta *in = &input->vals[0];
    int64_t sizes[NUC_MAX_RANK] = {1};

    if (in->rank != nuc_conv_args(node->op)->spatial + 1)
        return input;
    memcpy(sizes + 1, in->sizes, in->rank * sizeof *sizes);
    return nuc_insert_view(g, node, input, sizes, in->rank + 1u);
}

static struct nuc_node *without_batch(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *conv)
{
    const struct nuc_meta out = node->vals[0];

    nuc_infer_shape(g, conv);
    if (out.rank == conv->vals[0].rank)
        return conv;
    return nuc_insert_view(g, node, conv, out.sizes, out.rank);
}

static struct nuc_node *to_convolution(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *conv = insert_convolution(g, node, with_batch(g, node, nuc_operand(g, node, NUC_CONV_INPUT)));

    set_numbers(g, conv, CONV(padding), node, nuc_conv_args(node->op)->padding, 0);
    return without_batch(g, node, conv);
}

/* Where one side of a dimension needs one more than the other, a padding in front adds it. */
static struct nuc_node *pad_unevenly(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                     const int64_t *more)
{
    uint32_t spatial = nuc_conv_args(node->op)->spatial;
    int64_t pad[2 * MAX_SPATIAL] = {0};
    bool any = false;

    for (uint32_t i = 0; i < spatial; i++) {
        pad[2 * (spatial - 1 - i) + 1] = more[i];
        any |= more[i] != 0;
    }
    if (!any)
        return input;
    return nuc_emit(g, node, NUC_OP_CONSTANT_PAD, node, NUC_ARGS(input, nuc_ints_arg(pad, 2 * spatial), 0.0));
}

/* Padding "same" or "valid"; of the latter torch writes lists of one element. */
static struct nuc_node *to_padded_convolution(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_conv_args *args = nuc_conv_args(node->op);
    const struct nuc_arg *mode = nuc_arg_at(node, args->padding);
    uint32_t spatial = args->spatial;
    struct nuc_node *input = with_batch(g, node, nuc_operand(g, node, NUC_CONV_INPUT));
    int64_t padding[MAX_SPATIAL], more[MAX_SPATIAL];
    const int64_t zero = 0;

    if (mode->kind != NUC_ARG_STRING || strcmp(mode->u.string, "same") != 0) {
        struct nuc_node *conv = insert_convolution(g, node, input);
        nuc_set_arg_ints(conv, g, CONV(padding), &zero, 1);
        nuc_set_arg_ints(conv, g, CONV(output_padding), &zero, 1);
        return without_batch(g, node, conv);
    }
    nuc_conv_padding(node, spatial, padding, more);
    struct nuc_node *conv = insert_convolution(g, node, pad_unevenly(g, node, input, more));
    nuc_set_arg_ints(conv, g, CONV(padding), padding, spatial);
    return without_batch(g, node, conv);
}

static struct nuc_node *to_pool_of_rows(struct nuc_graph *g, struct nuc_node *node)
{
    const bool is_max = node->op == NUC_OP_MAX_POOL1D;
    struct nuc_node *pool = nuc_insert_pool_of_rows(g, node, is_max ? NUC_OP_MAX_POOL2D_INDICES : NUC_OP_AVG_POOL2D);

    if (is_max)
        pool = nuc_insert_getitem(g, node, pool, 0);
    return nuc_insert_with_dim(g, node, NUC_OP_SQUEEZE_DIM, pool, -2);
}

const struct nuc_decomposition nuc_conv_decompositions[] = {
    {.op = NUC_OP_CONV1D, .rewrite = to_convolution, .carrier = NUC_OP_CONVOLUTION},
    {.op = NUC_OP_CONV2D, .rewrite = to_convolution, .carrier = NUC_OP_CONVOLUTION},
    {.op = NUC_OP_CONV3D, .rewrite = to_convolution, .carrier = NUC_OP_CONVOLUTION},
    {.op = NUC_OP_CONV_TRANSPOSE1D, .rewrite = to_convolution, .carrier = NUC_OP_CONVOLUTION},
    {.op = NUC_OP_CONV_TRANSPOSE2D, .rewrite = to_convolution, .carrier = NUC_OP_CONVOLUTION},
    {.op = NUC_OP_CONV_TRANSPOSE3D, .rewrite = to_convolution, .carrier = NUC_OP_CONVOLUTION},
    {.op = NUC_OP_CONV1D_PADDING, .rewrite = to_padded_convolution, .carrier = NUC_OP_CONVOLUTION},
    {.op = NUC_OP_CONV2D_PADDING, .rewrite = to_padded_convolution, .carrier = NUC_OP_CONVOLUTION},
    {.op = NUC_OP_CONV3D_PADDING, .rewrite = to_padded_convolution, .carrier = NUC_OP_CONVOLUTION},
    {.op = NUC_OP_MAX_POOL1D, .rewrite = to_pool_of_rows, .carrier = NUC_OP_MAX_POOL2D_INDICES},
    {.op = NUC_OP_AVG_POOL1D, .rewrite = to_pool_of_rows, .carrier = NUC_OP_MAX_POOL2D_INDICES},
    {.rewrite = NULL},
};
