/* Convolutions, batch norms, poolings. */
#include <string.h>

#include "compiler/passes/decompose.h"
#include "compiler/passes/rewrite.h"

#define MAX_SPATIAL 3

/* Arguments of the ATen operators; -1: not there. */
struct conv_row {
    uint32_t spatial;
    int32_t stride, padding, dilation, output_padding, groups;
    bool transposed;
};

static const struct conv_row conv_rows[NUC_OP_COUNT] = {
    [NUC_OP_CONV1D] = {1, 3, 4, 5, -1, 6, false},          [NUC_OP_CONV2D] = {2, 3, 4, 5, -1, 6, false},
    [NUC_OP_CONV3D] = {3, 3, 4, 5, -1, 6, false},          [NUC_OP_CONV1D_PADDING] = {1, 3, -1, 5, -1, 6, false},
    [NUC_OP_CONV2D_PADDING] = {2, 3, -1, 5, -1, 6, false}, [NUC_OP_CONV_TRANSPOSE1D] = {1, 3, 4, 7, 5, 6, true},
    [NUC_OP_CONV_TRANSPOSE2D] = {2, 3, 4, 7, 5, 6, true},
};

/* One number for each spatial dimension; one element of the argument stands for all. */
static void read_list(const struct nuc_node *node, int32_t index, uint32_t count, int64_t fallback, int64_t *out)
{
    const struct nuc_arg *a = index < 0 ? NULL : &node->args[index];

    for (uint32_t i = 0; i < count; i++) {
        out[i] = fallback;
        if (a != NULL && a->kind == NUC_ARG_INT)
            out[i] = a->u.i;
        else if (a != NULL && a->kind == NUC_ARG_INTS && a->count > 0)
            out[i] = a->u.ints[a->count == count ? i : 0];
    }
}

static void set_list(struct nuc_graph *g, struct nuc_node *conv, uint32_t index, const struct nuc_node *node,
                     int32_t from, int64_t fallback)
{
    int64_t list[MAX_SPATIAL];
    uint32_t count = conv_rows[node->op].spatial;

    read_list(node, from, count, fallback, list);
    nuc_set_arg_ints(conv, g, index, list, count);
}

/* Everything but the padding, and the value. */
static struct nuc_node *insert_convolution(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input)
{
    const struct conv_row *row = &conv_rows[node->op];
    struct nuc_node *conv = nuc_insert(g, node, NUC_OP_CONVOLUTION, node);
    const struct nuc_arg *groups = &node->args[row->groups];

    nuc_set_arg_node(conv, g, 0, input);
    nuc_copy_arg(g, conv, 1, node, 1);
    nuc_copy_arg(g, conv, 2, node, 2);
    conv->args[2].given = true;
    set_list(g, conv, 3, node, row->stride, 1);
    set_list(g, conv, 5, node, row->dilation, 1);
    nuc_set_arg_bool(conv, 6, row->transposed);
    set_list(g, conv, 7, node, row->output_padding, 0);
    nuc_set_arg_int(conv, 8, groups->kind == NUC_ARG_INT ? groups->u.i : 1);
    return conv;
}

/* An input without a batch gets one, which the result loses again. */
static struct nuc_node *with_batch(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input)
{
    const struct nuc_meta *in = &input->vals[0];
    int64_t sizes[NUC_MAX_RANK] = {1};

    if (in->rank != conv_rows[node->op].spatial + 1)
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

struct nuc_node *nuc_to_convolution(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *conv = insert_convolution(g, node, with_batch(g, node, nuc_operand(g, node, 0)));

    set_list(g, conv, 4, node, conv_rows[node->op].padding, 0);
    return without_batch(g, node, conv);
}

/* Where one side of a dimension needs one more than the other, a padding in front adds it. */
static struct nuc_node *pad_unevenly(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                     const int64_t *more)
{
    uint32_t spatial = conv_rows[node->op].spatial;
    int64_t pad[2 * MAX_SPATIAL] = {0};
    bool any = false;

    for (uint32_t i = 0; i < spatial; i++) {
        pad[2 * (spatial - 1 - i) + 1] = more[i];
        any |= more[i] != 0;
    }
    if (!any)
        return input;
    struct nuc_node *padded = nuc_insert(g, node, NUC_OP_CONSTANT_PAD, node);
    nuc_set_arg_node(padded, g, 0, input);
    nuc_set_arg_ints(padded, g, 1, pad, 2 * spatial);
    nuc_set_arg_float(padded, 2, 0.0);
    nuc_infer_shape(g, padded);
    return padded;
}

/* Padding "same" or "valid"; of the latter torch writes lists of one element. */
struct nuc_node *nuc_to_padded_convolution(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_arg *mode = &node->args[4];
    uint32_t spatial = conv_rows[node->op].spatial;
    struct nuc_node *input = with_batch(g, node, nuc_operand(g, node, 0));
    const struct nuc_meta *weight = &nuc_operand(g, node, 1)->vals[0];
    int64_t dilation[MAX_SPATIAL], padding[MAX_SPATIAL], more[MAX_SPATIAL];
    const int64_t zero = 0;

    if (mode->kind != NUC_ARG_STRING || strcmp(mode->u.string, "same") != 0) {
        struct nuc_node *conv = insert_convolution(g, node, input);
        nuc_set_arg_ints(conv, g, 4, &zero, 1);
        nuc_set_arg_ints(conv, g, 7, &zero, 1);
        return without_batch(g, node, conv);
    }
    read_list(node, conv_rows[node->op].dilation, spatial, 1, dilation);
    for (uint32_t i = 0; i < spatial; i++) {
        int64_t total = dilation[i] * (weight->sizes[2 + i] - 1);
        padding[i] = total / 2;
        more[i] = total % 2;
    }
    struct nuc_node *conv = insert_convolution(g, node, pad_unevenly(g, node, input, more));
    nuc_set_arg_ints(conv, g, 4, padding, spatial);
    return without_batch(g, node, conv);
}

/* From (input, weight, bias, mean, var, training, momentum, eps, cudnn); saved statistics are empty in inference. */
struct nuc_node *nuc_to_batch_norm(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *norm = nuc_insert(g, node, NUC_OP_NATIVE_BATCH_NORM, node);
    const int64_t none[1] = {0};
    struct nuc_meta metas[3] = {node->vals[0], nuc_meta_make(NUC_F32, none, 1), nuc_meta_make(NUC_F32, none, 1)};

    if (node->args[5].kind == NUC_ARG_BOOL && node->args[5].u.b)
        nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: %s is in training mode: export the model after model.eval()", g->file,
                 nuc_node_text(g->cx, node));
    for (uint32_t i = 0; i < 5; i++)
        nuc_copy_arg(g, norm, i, node, i);
    nuc_copy_arg(g, norm, 5, node, 6);
    nuc_copy_arg(g, norm, 6, node, 7);
    nuc_set_tuple(g, norm, metas, 3);
    return nuc_insert_getitem(g, node, norm, 0);
}

struct nuc_node *nuc_to_max_pool(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *pool = nuc_insert(g, node, NUC_OP_MAX_POOL2D_INDICES, node);
    struct nuc_meta metas[2] = {node->vals[0], node->vals[0]};

    metas[1].dtype = NUC_I64;
    for (uint32_t i = 0; i < node->n_args; i++)
        nuc_copy_arg(g, pool, i, node, i);
    nuc_set_tuple(g, pool, metas, 2);
    return nuc_insert_getitem(g, node, pool, 0);
}

/*
 * avg_pool1d and max_pool1d of [N, C, L] are the 2-D pooling of [N, C, 1, L]. Lists of one element get a neutral one in
 * front.
 */
struct nuc_node *nuc_to_pool_of_rows(struct nuc_graph *g, struct nuc_node *node)
{
    enum { KERNEL = 1, STRIDE, PADDING, DILATION };
    bool is_max = node->op == NUC_OP_MAX_POOL1D;
    uint32_t last_list = is_max ? DILATION : PADDING;
    struct nuc_node *rows = nuc_insert_with_dim(g, node, NUC_OP_UNSQUEEZE, nuc_operand(g, node, 0), -2);
    struct nuc_node *pool = nuc_insert(g, node, is_max ? NUC_OP_MAX_POOL2D_INDICES : NUC_OP_AVG_POOL2D, node);
    int64_t kernel[1];

    read_list(node, KERNEL, 1, 1, kernel);
    nuc_set_arg_node(pool, g, 0, rows);
    for (uint32_t i = KERNEL; i < node->n_args; i++) {
        int64_t pair[2] = {i == PADDING ? 0 : 1, 0};
        nuc_copy_arg(g, pool, i, node, i);
        if (i > last_list)
            continue;
        read_list(node, (int32_t)i, 1, i == PADDING ? 0 : i == DILATION ? 1 : kernel[0], &pair[1]);
        bool given = node->args[i].given;
        nuc_set_arg_ints(pool, g, i, pair, 2);
        pool->args[i].given = given || i == STRIDE;
    }
    nuc_infer_shape(g, pool);
    if (is_max)
        pool = nuc_insert_getitem(g, node, pool, 0);
    return nuc_insert_with_dim(g, node, NUC_OP_SQUEEZE_DIM, pool, -2);
}

/* An output of 1 x 1 is the mean over height and width, which is contiguous whatever its input. */
struct nuc_node *nuc_to_adaptive_pool(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_meta *out = &node->vals[0];
    const int64_t dims[2] = {-1, -2};

    if (out->sizes[out->rank - 1] != 1 || out->sizes[out->rank - 2] != 1)
        return nuc_to_same_args(g, node, NUC_OP_NATIVE_ADAPTIVE_AVG_POOL2D);
    struct nuc_node *mean = nuc_insert(g, node, NUC_OP_MEAN_DIM, node);
    nuc_copy_arg(g, mean, 0, node, 0);
    nuc_set_arg_ints(mean, g, 1, dims, 2);
    nuc_set_arg_bool(mean, 2, true);
    nuc_set_contiguous_val(g, mean, out->dtype, out->sizes, out->rank);
    return mean;
}
