/* What ExecuTorch's portable kernels do not compute, or compute otherwise than torch. */
#include "compiler/graph/args.h"
#include "compiler/graph/shapes.h"
#include "compiler/passes/decompose.h"
#include "compiler/passes/rewrite.h"

static struct nuc_node *in_type(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *value,
                                enum nuc_dtype dtype)
{
    if (value->vals[0].dtype == dtype)
        return value;
    struct nuc_node *copy = nuc_insert(g, node, NUC_OP_TO_DIM_ORDER_COPY, node);
    nuc_set_arg_node(copy, g, NUC_SELF, value);
    nuc_set_arg_dtype(copy, NUC_ARG(TO_DIM_ORDER_COPY, dtype), dtype);
    nuc_infer_shape(g, copy);
    return copy;
}

/* There is no kernel. Products of 1, 2, 4, ... neighbours up to the whole of what is in front. */
struct nuc_node *nuc_to_doubling_products(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_meta out = node->vals[0];
    struct nuc_node *value = in_type(g, node, nuc_operand(g, node, NUC_SELF), out.dtype);
    uint32_t rank = out.rank, dim = (uint32_t)nuc_dim(node, NUC_ARG(CUMPROD, dim), 0, rank);
    int64_t pad[2 * NUC_MAX_RANK] = {0}, size = rank == 0 ? 1 : out.sizes[dim];

    for (int64_t count = 1; count < size; count *= 2) {
        struct nuc_node *front = nuc_insert_slice(g, node, value, dim, 0, size - count);
        pad[2 * (rank - 1 - dim)] = count;
        struct nuc_node *shifted =
            nuc_emit(g, node, NUC_OP_CONSTANT_PAD, node,
                     NUC_ARGS(nuc_node_arg(front), nuc_ints_arg(pad, 2 * rank), nuc_float_arg(1.0)));
        value = nuc_insert_binary(g, node, NUC_OP_MUL, value, shifted);
    }
    return value;
}

/* Of a tensor without dimensions it is the value, which the kernel refuses. */
struct nuc_node *nuc_to_cumsum_along(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF);

    if (node->vals[0].rank == 0 && input->vals[0].dtype == node->vals[0].dtype)
        return input;
    return nuc_to_same(g, node);
}

/* Of integers the kernel takes the dividend's sign, torch the divisor's: a - floor(a / b) * b. */
struct nuc_node *nuc_to_floored_remainder(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *a = nuc_operand(g, node, NUC_SELF), *b = nuc_operand(g, node, NUC_ARG(REMAINDER, other));

    if (nuc_is_floating(node->vals[0].dtype))
        return nuc_to_same(g, node);
    struct nuc_node *quotient = nuc_insert_binary(g, node, NUC_OP_FLOOR_DIVIDE, a, b);
    return nuc_insert_binary(g, node, NUC_OP_SUB, a, nuc_insert_binary(g, node, NUC_OP_MUL, quotient, b));
}

/* Indices of gather and scatter are int64. */
struct nuc_node *nuc_to_wide_indices(struct nuc_graph *g, struct nuc_node *node)
{
    enum { index = NUC_ARG(GATHER, index) };
    _Static_assert(index == NUC_ARG(SCATTER, index) && index == NUC_ARG(SCATTER_VALUE, index) &&
                       index == NUC_ARG(SCATTER_ADD, index),
                   "their arguments begin alike");
    struct nuc_node *wide = in_type(g, node, nuc_operand(g, node, index), NUC_I64), *edge = nuc_to_same(g, node);

    nuc_set_arg_node(edge, g, index, wide);
    return edge;
}
