/* What ExecuTorch's portable kernels do not compute, or compute otherwise than torch. */
#include <float.h>

#include "ir/args.h"
#include "ir/shapes/shapes.h"
#include "rewrite/rewrite.h"
#include "rewrite/to_edge/decompose.h"

/* Of a tensor without dimensions, which kernels refuse, it is the value, and a window is the whole. */
struct nuc_node *nuc_to_cumsum_along(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF);

    if (node->vals[0].rank == 0 && input->vals[0].dtype == node->vals[0].dtype)
        return input;
    return nuc_to_same(g, node);
}

struct nuc_node *nuc_to_unfold_along(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF);
    const struct nuc_meta out = node->vals[0];

    return input->vals[0].rank == 0 ? nuc_insert_view(g, node, input, out.sizes, out.rank) : nuc_to_same(g, node);
}

/* There is none for bool. */
struct nuc_node *nuc_to_place_of_number(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF), *edge = nuc_to_same(g, node);

    if (input->vals[0].dtype == NUC_BOOL)
        nuc_set_arg_node(edge, g, NUC_SELF, nuc_insert_cast(g, edge, input, NUC_I32));
    return edge;
}

/* Nor for differences of bool and another type. */
struct nuc_node *nuc_to_difference(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *edge = nuc_to_same(g, node);
    const uint32_t operands[] = {NUC_SELF, NUC_ARG(SUB, other)};

    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        struct nuc_node *operand = nuc_operand(g, edge, operands[i]);
        if (operand->vals[0].dtype == NUC_BOOL)
            nuc_set_arg_node(edge, g, operands[i], nuc_insert_cast(g, edge, operand, edge->vals[0].dtype));
    }
    return edge;
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
    struct nuc_node *indices = nuc_operand(g, node, index), *edge = nuc_to_same(g, node);

    nuc_set_arg_node(edge, g, index, nuc_insert_cast(g, edge, indices, NUC_I64));
    return edge;
}

#define MAX_TOPK 16

/*
 * Quantized values are often equal, and the kernel leaves it to the C++ library which of them comes first. Here it is
 * the one in front: the greatest, then the greatest of what is left.
 */
struct nuc_node *nuc_to_greatest(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF), *left = input, *values[MAX_TOPK], *indices[MAX_TOPK];
    int64_t k = nuc_integer(node, NUC_ARG(TOPK, k), 0), rank = input->vals[0].rank;
    int64_t dim = nuc_dim(node, NUC_ARG(TOPK, dim), -1, input->vals[0].rank);
    bool largest = node->args[NUC_ARG(TOPK, largest)].u.b;
    double taken = (double)(largest ? -FLT_MAX : FLT_MAX);

    if (!nuc_is_dequantize(input) || rank == 0 || k < 1 || k > MAX_TOPK)
        return nuc_to_same(g, node);
    for (int64_t i = 0; i < k; i++) {
        indices[i] = nuc_emit(g, node, largest ? NUC_OP_ARGMAX : NUC_OP_ARGMIN, node,
                              NUC_ARGS(nuc_node_arg(left), nuc_int_arg(dim), nuc_bool_arg(true)));
        values[i] = nuc_emit(g, node, NUC_OP_GATHER, node,
                             NUC_ARGS(nuc_node_arg(input), nuc_int_arg(dim), nuc_node_arg(indices[i])));
        if (i + 1 < k)
            left = nuc_emit(
                g, node, NUC_OP_SCATTER_VALUE, node,
                NUC_ARGS(nuc_node_arg(left), nuc_int_arg(dim), nuc_node_arg(indices[i]), nuc_float_arg(taken)));
    }
    nuc_replace_item(g, node, 0, nuc_insert_cat(g, node, values, (uint32_t)k, dim));
    nuc_replace_item(g, node, 1, nuc_insert_cat(g, node, indices, (uint32_t)k, dim));
    return NULL;
}
