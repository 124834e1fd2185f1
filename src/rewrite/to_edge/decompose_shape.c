/* Views, copies and what only matters to torch. */

#include "ir/args.h"
#include "npu/layout/orders.h"
#include "rewrite/insert.h"
#include "rewrite/to_edge/decompose.h"

static struct nuc_node *to_nothing(struct nuc_graph *g, struct nuc_node *node)
{
    (void)g;
    (void)node;
    return NULL;
}

/*
 * view, reshape, flatten: a copy first where the input's memory order does not allow a view. Torch hands a size of -1
 * through to a view that needs no copy.
 */
static struct nuc_node *to_view(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF);
    const struct nuc_meta *out = &node->vals[0];

    if (node->op == NUC_OP_FLATTEN && nuc_same_sizes(&input->vals[0], out))
        return input;
    bool viewable = nuc_is_viewable(&input->vals[0], out->sizes, out->rank);
    struct nuc_node *view = nuc_insert_reshape(g, node, input, out->sizes, out->rank);
    if (viewable && node->op != NUC_OP_FLATTEN)
        nuc_copy_arg(g, view, NUC_ARG(VIEW, size), node, NUC_ARG(VIEW, size));
    return view;
}

/* The dim order a memory format gives a tensor. */
static struct nuc_meta in_memory_format(const struct nuc_meta *input, const struct nuc_arg *format)
{
    struct nuc_meta meta = *input;

    if (format->kind != NUC_ARG_MEMORY_FORMAT || format->u.memory_format == NUC_PRESERVE_FORMAT)
        return meta;
    if (format->u.memory_format == NUC_CONTIGUOUS_FORMAT)
        nuc_set_contiguous(&meta);
    else
        nuc_set_channels_last(&meta);
    return meta;
}

/* clone always copies; contiguous only what is not. */
static struct nuc_node *to_clone(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF);
    struct nuc_meta meta = in_memory_format(&input->vals[0], &node->args[NUC_ARG(CLONE, memory_format)]);

    if (node->op == NUC_OP_CONTIGUOUS && nuc_same_order(&meta, &input->vals[0]))
        return input;
    return nuc_insert_clone(g, node, input, &meta);
}

static struct nuc_node *to_dropout(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF);

    if (nuc_flag(node, NUC_ARG(DROPOUT, train)))
        nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: %s is in training mode: export the model after model.eval()", g->file,
                 nuc_node_text(g->cx, node));
    return nuc_insert_clone(g, node, input, &input->vals[0]);
}

/* What changes neither type nor dim order copies nothing, unless it is asked to. */
static struct nuc_node *to_copy(struct nuc_graph *g, struct nuc_node *node)
{
    bool with_layout = node->op == NUC_OP_TO_DTYPE_LAYOUT;
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF);
    uint32_t format = with_layout ? NUC_ARG(TO_DTYPE_LAYOUT, memory_format) : NUC_ARG(TO_DTYPE, memory_format);
    uint32_t copies = with_layout ? NUC_ARG(TO_DTYPE_LAYOUT, copy) : NUC_ARG(TO_DTYPE, copy);
    struct nuc_meta meta = in_memory_format(&input->vals[0], &node->args[format]);

    meta.dtype = node->vals[0].dtype;
    if (!nuc_flag(node, copies) && meta.dtype == input->vals[0].dtype && nuc_same_order(&meta, &input->vals[0]))
        return input;
    struct nuc_node *copy = nuc_insert(g, node, NUC_OP_TO_DIM_ORDER_COPY, node);
    nuc_copy_arg(g, copy, NUC_SELF, node, NUC_SELF);
    nuc_copy_arg(g, copy, NUC_ARG(TO_DIM_ORDER_COPY, dtype), node, NUC_ARG(TO_DTYPE, dtype));
    nuc_set_order_arg(g, copy, &meta);
    nuc_set_val(g, copy, &meta);
    /* What the two have alike: layout, device, pin_memory, non_blocking. */
    for (uint32_t i = NUC_ARG(TO_DTYPE_LAYOUT, layout); with_layout && i <= NUC_ARG(TO_DTYPE_LAYOUT, non_blocking); i++)
        nuc_copy_arg(g, copy, i, node, i);
    return copy;
}

/* transpose(dim0, dim1) and t() as permutations. */
static struct nuc_node *to_transpose(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF);
    uint32_t rank = input->vals[0].rank;
    int64_t dims[NUC_MAX_RANK], pair[2] = {0, 1};

    if (node->op == NUC_OP_TRANSPOSE) {
        pair[0] = nuc_dim(node, NUC_ARG(TRANSPOSE, dim0), 0, rank);
        pair[1] = nuc_dim(node, NUC_ARG(TRANSPOSE, dim1), 0, rank);
    }
    if (rank < 2 || pair[0] == pair[1])
        return input;
    for (int64_t i = 0; i < (int64_t)rank; i++)
        dims[i] = i == pair[0] ? pair[1] : i == pair[1] ? pair[0] : i;
    return nuc_insert_permute(g, node, input, dims);
}

/* split and chunk of any kind, by the sizes their results have. */
static struct nuc_node *to_split(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *split = nuc_insert(g, node, NUC_OP_SPLIT_WITH_SIZES, node);
    uint32_t rank = node->n_vals > 0 ? node->vals[0].rank : 0;
    int64_t dim = nuc_dim(node, NUC_ARG(SPLIT, dim), 0, rank);
    int64_t *sizes = nuc_alloc_array(g->cx, node->n_vals, sizeof *sizes);

    for (uint32_t i = 0; i < node->n_vals && dim >= 0 && dim < rank; i++)
        sizes[i] = node->vals[i].sizes[dim];
    nuc_copy_arg(g, split, NUC_SELF, node, NUC_SELF);
    nuc_set_arg_ints(split, g, NUC_ARG(SPLIT_WITH_SIZES, split_sizes), sizes, node->n_vals);
    nuc_copy_arg(g, split, NUC_ARG(SPLIT_WITH_SIZES, dim), node, NUC_ARG(SPLIT, dim));
    nuc_infer_shape(g, split);
    return split;
}

/* A tensor of zeros is a constant. */
static struct nuc_node *to_zeros(struct nuc_graph *g, struct nuc_node *node)
{
    void *zeros = nuc_alloc(g->cx, nuc_bytes(&node->vals[0]));

    return nuc_add_parameter(g, node, "", &node->vals[0], zeros);
}

const struct nuc_decomposition nuc_shape_decompositions[] = {
    {.op = NUC_OP_VIEW, .rewrite = to_view, .carrier = NUC_OP_VIEW},
    {.op = NUC_OP_RESHAPE, .rewrite = to_view, .carrier = NUC_OP_VIEW},
    {.op = NUC_OP_FLATTEN, .rewrite = to_view, .carrier = NUC_OP_VIEW},
    {.op = NUC_OP_TRANSPOSE, .rewrite = to_transpose, .carrier = NUC_OP_PERMUTE},
    {.op = NUC_OP_T, .rewrite = to_transpose, .carrier = NUC_OP_PERMUTE},
    {.op = NUC_OP_SPLIT, .rewrite = to_split, .carrier = NUC_OP_SLICE},
    {.op = NUC_OP_SPLIT_SIZES, .rewrite = to_split, .carrier = NUC_OP_SLICE},
    {.op = NUC_OP_SPLIT_WITH_SIZES, .rewrite = to_split, .carrier = NUC_OP_SLICE},
    {.op = NUC_OP_CHUNK, .rewrite = to_split, .carrier = NUC_OP_SLICE},
    {.op = NUC_OP_DROPOUT, .rewrite = to_dropout},
    {.op = NUC_OP_CLONE, .rewrite = to_clone, .carrier = NUC_OP_CLONE_DIM_ORDER},
    {.op = NUC_OP_CONTIGUOUS, .rewrite = to_clone, .carrier = NUC_OP_CLONE_DIM_ORDER},
    {.op = NUC_OP_TO_DTYPE, .rewrite = to_copy, .carrier = NUC_OP_TO_DIM_ORDER_COPY},
    {.op = NUC_OP_TO_DTYPE_LAYOUT, .rewrite = to_copy, .carrier = NUC_OP_TO_DIM_ORDER_COPY},
    {.op = NUC_OP_ZEROS, .rewrite = to_zeros},
    {.op = NUC_OP_ASSERT_TENSOR_METADATA, .rewrite = to_nothing},
    {.rewrite = NULL},
};
