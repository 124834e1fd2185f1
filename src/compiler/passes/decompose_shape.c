/* Views, copies and what only matters to torch. */
#include <string.h>

#include "compiler/passes/decompose.h"
#include "compiler/passes/rewrite.h"

struct nuc_node *to_nothing(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param)
{
    (void)g;
    (void)node;
    (void)param;
    return NULL;
}

struct nuc_node *insert_view(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, const int64_t *sizes,
                             uint32_t rank)
{
    struct nuc_node *view = nuc_insert(g, node, NUC_OP_EDGE_VIEW, node);

    nuc_set_arg_node(view, g, 0, input);
    nuc_set_arg_ints(view, g, 1, sizes, rank);
    nuc_set_contiguous_val(g, view, input->vals[0].dtype, sizes, rank);
    return view;
}

struct nuc_node *insert_clone(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                              const struct nuc_meta *like)
{
    struct nuc_node *clone = nuc_insert(g, node, NUC_OP_EDGE_CLONE_DIM_ORDER, node);
    int64_t order[NUC_MAX_RANK];
    struct nuc_meta meta = input->vals[0];

    for (uint32_t i = 0; i < like->rank; i++) {
        order[i] = like->dim_order[i];
        meta.dim_order[i] = like->dim_order[i];
    }
    nuc_set_arg_node(clone, g, 0, input);
    nuc_set_arg_ints(clone, g, 2, order, like->rank);
    nuc_set_val(g, clone, &meta);
    return clone;
}

/*
 * Whether a view without a copy exists: dimensions of the input that lie one behind the other in memory form chunks,
 * and each chunk has to be a product of dimensions of the result. Dimensions of size 1 lie anywhere.
 */
static bool is_viewable(const struct nuc_meta *in, const int64_t *sizes, uint32_t rank)
{
    int64_t strides[NUC_MAX_RANK], chunk = 1, taken = 1;
    int32_t v = (int32_t)rank - 1;

    if (nuc_elements(in) == 0)
        return true;
    nuc_dense_strides(in, strides);
    for (int32_t d = (int32_t)in->rank - 1, base = d; d >= 0; d--) {
        chunk *= in->sizes[d];
        if (d > 0 && (in->sizes[d - 1] == 1 || strides[d - 1] == chunk * strides[base]))
            continue;
        while (v >= 0 && (taken < chunk || sizes[v] == 1))
            taken *= sizes[v--];
        if (taken != chunk)
            return false;
        base = d - 1;
        chunk = taken = 1;
    }
    return v == -1;
}

/*
 * view, reshape, flatten: a copy first where the input's memory order does not allow a view. Torch hands a size of -1
 * through to a view that needs no copy.
 */
struct nuc_node *to_view(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param)
{
    struct nuc_node *input = nuc_operand(g, node, 0);
    const struct nuc_meta *out = &node->vals[0];

    (void)param;
    if (node->op == NUC_OP_FLATTEN && nuc_same_sizes(&input->vals[0], out))
        return input;
    bool viewable = is_viewable(&input->vals[0], out->sizes, out->rank);
    if (!viewable) {
        struct nuc_meta contiguous = input->vals[0];
        nuc_set_contiguous(&contiguous);
        input = insert_clone(g, node, input, &contiguous);
    }
    struct nuc_node *view = insert_view(g, node, input, out->sizes, out->rank);
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

static bool same_order(const struct nuc_meta *a, const struct nuc_meta *b)
{
    return a->rank == b->rank && memcmp(a->dim_order, b->dim_order, a->rank) == 0;
}

/* clone always copies; contiguous only what is not. */
struct nuc_node *to_clone(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param)
{
    struct nuc_node *input = nuc_operand(g, node, 0);
    struct nuc_meta meta = in_memory_format(&input->vals[0], &node->args[1]);

    (void)param;
    if (node->op == NUC_OP_CONTIGUOUS && same_order(&meta, &input->vals[0]))
        return input;
    return insert_clone(g, node, input, &meta);
}

struct nuc_node *to_dropout(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param)
{
    struct nuc_node *input = nuc_operand(g, node, 0);

    (void)param;
    if (node->args[2].kind == NUC_ARG_BOOL && node->args[2].u.b)
        nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: %s is in training mode: export the model after model.eval()", g->file,
                 nuc_node_text(g->cx, node));
    return insert_clone(g, node, input, &input->vals[0]);
}

/* Arguments: self, dtype, layout, device, pin_memory, non_blocking, copy, memory_format. */
struct nuc_node *to_copy(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param)
{
    struct nuc_node *input = nuc_operand(g, node, 0);
    struct nuc_meta meta = in_memory_format(&input->vals[0], &node->args[7]);
    bool copies = node->args[6].kind == NUC_ARG_BOOL && node->args[6].u.b;
    int64_t order[NUC_MAX_RANK];

    meta.dtype = node->vals[0].dtype;
    if (!copies && meta.dtype == input->vals[0].dtype && same_order(&meta, &input->vals[0]))
        return input;
    struct nuc_node *copy = nuc_insert(g, node, param, node);
    for (uint32_t i = 0; i < 6; i++)
        nuc_copy_arg(g, copy, i, node, i);
    for (uint32_t i = 0; i < meta.rank; i++)
        order[i] = meta.dim_order[i];
    nuc_set_arg_ints(copy, g, 6, order, meta.rank);
    nuc_set_val(g, copy, &meta);
    return copy;
}
