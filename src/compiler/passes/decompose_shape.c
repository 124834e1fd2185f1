/* Views, copies and what only matters to torch. */
#include <string.h>

#include "compiler/layout/orders.h"
#include "compiler/passes/decompose.h"
#include "compiler/passes/rewrite.h"

struct nuc_node *nuc_to_nothing(struct nuc_graph *g, struct nuc_node *node)
{
    (void)g;
    (void)node;
    return NULL;
}

struct nuc_node *nuc_insert_view(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                 const int64_t *sizes, uint32_t rank)
{
    struct nuc_node *view = nuc_insert(g, node, NUC_OP_VIEW, node);

    nuc_set_arg_node(view, g, 0, input);
    nuc_set_arg_ints(view, g, 1, sizes, rank);
    nuc_set_contiguous_val(g, view, input->vals[0].dtype, sizes, rank);
    return view;
}

struct nuc_node *nuc_insert_with_dim(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op, struct nuc_node *input,
                                     int64_t dim)
{
    struct nuc_node *edge = nuc_insert(g, node, op, node);

    nuc_set_arg_node(edge, g, 0, input);
    nuc_set_arg_int(edge, 1, dim);
    nuc_infer_shape(g, edge);
    return edge;
}

struct nuc_node *nuc_insert_permute(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                    const int64_t *dims)
{
    struct nuc_node *permute = nuc_insert(g, node, NUC_OP_PERMUTE, node);

    nuc_set_arg_node(permute, g, 0, input);
    nuc_set_arg_ints(permute, g, 1, dims, input->vals[0].rank);
    nuc_infer_shape(g, permute);
    return permute;
}

struct nuc_node *nuc_insert_expand(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                   const int64_t *sizes, uint32_t rank)
{
    struct nuc_node *expand = nuc_insert(g, node, NUC_OP_EXPAND, node);

    nuc_set_arg_node(expand, g, 0, input);
    nuc_set_arg_ints(expand, g, 1, sizes, rank);
    nuc_infer_shape(g, expand);
    return expand;
}

struct nuc_node *nuc_insert_slice(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, int64_t dim,
                                  int64_t start, int64_t end)
{
    struct nuc_node *slice = nuc_insert(g, node, NUC_OP_SLICE, node);

    nuc_set_arg_node(slice, g, 0, input);
    nuc_set_arg_int(slice, 1, dim);
    nuc_set_arg_int(slice, 2, start);
    nuc_set_arg_int(slice, 3, end);
    nuc_infer_shape(g, slice);
    return slice;
}

struct nuc_node *nuc_insert_clone(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                  const struct nuc_meta *like)
{
    struct nuc_node *clone = nuc_insert_in_order(g, node, NUC_OP_CLONE_DIM_ORDER, input, like);

    clone->source = node->source;
    return clone;
}

struct nuc_node *nuc_insert_reshape(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                    const int64_t *sizes, uint32_t rank)
{
    struct nuc_meta contiguous = input->vals[0];

    if (!nuc_is_viewable(&input->vals[0], sizes, rank)) {
        nuc_set_contiguous(&contiguous);
        input = nuc_insert_clone(g, node, input, &contiguous);
    }
    return nuc_insert_view(g, node, input, sizes, rank);
}

/*
 * view, reshape, flatten: a copy first where the input's memory order does not allow a view. Torch hands a size of -1
 * through to a view that needs no copy.
 */
struct nuc_node *nuc_to_view(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, 0);
    const struct nuc_meta *out = &node->vals[0];

    if (node->op == NUC_OP_FLATTEN && nuc_same_sizes(&input->vals[0], out))
        return input;
    bool viewable = nuc_is_viewable(&input->vals[0], out->sizes, out->rank);
    struct nuc_node *view = nuc_insert_reshape(g, node, input, out->sizes, out->rank);
    if (viewable && node->op != NUC_OP_FLATTEN)
        nuc_copy_arg(g, view, 1, node, 1);
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
struct nuc_node *nuc_to_clone(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, 0);
    struct nuc_meta meta = in_memory_format(&input->vals[0], &node->args[1]);

    if (node->op == NUC_OP_CONTIGUOUS && nuc_same_order(&meta, &input->vals[0]))
        return input;
    return nuc_insert_clone(g, node, input, &meta);
}

struct nuc_node *nuc_to_dropout(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, 0);

    if (node->args[2].kind == NUC_ARG_BOOL && node->args[2].u.b)
        nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: %s is in training mode: export the model after model.eval()", g->file,
                 nuc_node_text(g->cx, node));
    return nuc_insert_clone(g, node, input, &input->vals[0]);
}

/* to.dtype_layout: self, dtype, layout, device, pin_memory, non_blocking, copy, memory_format. */
static struct nuc_node *insert_copy(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *meta)
{
    struct nuc_node *copy = nuc_insert(g, node, NUC_OP_TO_DIM_ORDER_COPY, node);

    nuc_copy_arg(g, copy, 0, node, 0);
    nuc_copy_arg(g, copy, 1, node, 1);
    nuc_set_order_arg(g, copy, meta);
    nuc_set_val(g, copy, meta);
    return copy;
}

/* What changes neither type nor dim order copies nothing, unless it is told to. */
struct nuc_node *nuc_to_copy(struct nuc_graph *g, struct nuc_node *node)
{
    bool with_layout = node->op == NUC_OP_TO_DTYPE_LAYOUT;
    struct nuc_node *input = nuc_operand(g, node, 0);
    struct nuc_meta meta = in_memory_format(&input->vals[0], &node->args[with_layout ? 7 : 4]);
    const struct nuc_arg *copies = &node->args[with_layout ? 6 : 3];

    meta.dtype = node->vals[0].dtype;
    if (!(copies->kind == NUC_ARG_BOOL && copies->u.b) && meta.dtype == input->vals[0].dtype &&
        nuc_same_order(&meta, &input->vals[0]))
        return input;
    struct nuc_node *copy = insert_copy(g, node, &meta);
    for (uint32_t i = 2; with_layout && i < 6; i++)
        nuc_copy_arg(g, copy, i, node, i);
    return copy;
}

/* transpose(dim0, dim1) and t() as permutations. */
struct nuc_node *nuc_to_transpose(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, 0);
    int64_t rank = input->vals[0].rank, dims[NUC_MAX_RANK], pair[2] = {0, 1};

    for (uint32_t i = 0; i < 2 && node->op == NUC_OP_TRANSPOSE; i++) {
        const struct nuc_arg *a = &node->args[1 + i];
        pair[i] = a->kind == NUC_ARG_INT ? a->u.i : 0;
        pair[i] += pair[i] < 0 ? rank : 0;
    }
    if (rank < 2 || pair[0] == pair[1])
        return input;
    for (int64_t i = 0; i < rank; i++)
        dims[i] = i == pair[0] ? pair[1] : i == pair[1] ? pair[0] : i;
    return nuc_insert_permute(g, node, input, dims);
}

/* split and chunk of any kind, by the sizes their results have. */
struct nuc_node *nuc_to_split(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *split = nuc_insert(g, node, NUC_OP_SPLIT_WITH_SIZES, node);
    int64_t dim = node->args[2].kind == NUC_ARG_INT ? node->args[2].u.i : 0;
    int64_t rank = node->n_vals > 0 ? node->vals[0].rank : 0;
    int64_t *sizes = nuc_alloc_array(g->cx, node->n_vals, sizeof *sizes);

    dim += dim < 0 ? rank : 0;
    for (uint32_t i = 0; i < node->n_vals && dim >= 0 && dim < rank; i++)
        sizes[i] = node->vals[i].sizes[dim];
    nuc_copy_arg(g, split, 0, node, 0);
    nuc_set_arg_ints(split, g, 1, sizes, node->n_vals);
    nuc_copy_arg(g, split, 2, node, 2);
    nuc_infer_shape(g, split);
    return split;
}

/* A tensor of zeros is a constant. */
struct nuc_node *nuc_to_zeros(struct nuc_graph *g, struct nuc_node *node)
{
    void *zeros = nuc_alloc(g->cx, nuc_bytes(&node->vals[0]));

    return nuc_add_parameter(g, node, "", &node->vals[0], zeros);
}
