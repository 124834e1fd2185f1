/* Operators that stay as they are, hardswish, and topk for ExecuTorch. */
#include <float.h>

#include "ir/args.h"
#include "rewrite/insert.h"
#include "rewrite/to_edge/decompose.h"

struct nuc_node *nuc_to_same_args(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op)
{
    struct nuc_node *edge = nuc_insert(g, node, op, node);

    for (uint32_t i = 0; i < node->n_args && i < edge->n_args; i++)
        nuc_copy_arg(g, edge, i, node, i);
    edge->is_tuple = node->is_tuple;
    edge->n_vals = node->n_vals;
    edge->vals = node->vals;
    return edge;
}

struct nuc_node *nuc_to_same(struct nuc_graph *g, struct nuc_node *node)
{
    return nuc_to_same_args(g, node, node->op);
}

/* ---- hardswish, hardsigmoid ---- */

/* A number as operand of float arithmetic. */
static struct nuc_node *insert_float(struct nuc_graph *g, struct nuc_node *node, int64_t value)
{
    /* Constants that tracing lifts become buffers in front of the inputs, numbered on from the buffers there are. */
    struct nuc_meta meta = nuc_meta_make(NUC_I64, NULL, 0);
    struct nuc_node *first_input = NULL;
    uint32_t buffers = 0;
    for (struct nuc_node *n = g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        buffers += n->input_kind == NUC_BUFFER;
        if (n->input_kind == NUC_USER_INPUT && first_input == NULL)
            first_input = n;
    }
    const char *name = nuc_format(g->cx, "_lifted_tensor_constant%u", buffers);
    struct nuc_node *number = nuc_add_constant(g, name, &meta, &value);
    number->input_kind = NUC_BUFFER;
    if (first_input != NULL)
        nuc_move_before(g, number, first_input);
    struct nuc_node *copy = nuc_insert(g, node, NUC_OP_TO_DIM_ORDER_COPY, node);

    nuc_set_arg_node(copy, g, NUC_SELF, number);
    nuc_set_arg_dtype(copy, NUC_ARG(TO_DIM_ORDER_COPY, dtype), NUC_F32);
    nuc_set_arg_ints(copy, g, NUC_ARG(TO_DIM_ORDER_COPY, dim_order), NULL, 0);
    nuc_infer_shape(g, copy);
    return copy;
}

/* clamp(input, bound) from below (argument 1) or above (argument 2). */
static struct nuc_node *insert_clamp(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t index,
                                     double bound)
{
    struct nuc_node *clamp = nuc_insert(g, node, NUC_OP_CLAMP, node);

    nuc_set_arg_node(clamp, g, NUC_SELF, input);
    clamp->args[NUC_ARG(CLAMP, min)].given = true;
    nuc_set_arg_float(clamp, index, bound);
    nuc_infer_shape(g, clamp);
    return clamp;
}

/* hardswish: x * clamp(x + 3, 0, 6) / 6; hardsigmoid: clamp(x + 3, 0, 6) / 6. */
static struct nuc_node *to_hardswish(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF);
    struct nuc_node *y = nuc_insert_binary(g, node, NUC_OP_ADD, x, insert_float(g, node, 3));

    y = insert_clamp(g, node, y, 1, 0.0);
    y = insert_clamp(g, node, y, 2, 6.0);
    if (node->op == NUC_OP_HARDSWISH)
        y = nuc_insert_binary(g, node, NUC_OP_MUL, x, y);
    return nuc_insert_binary(g, node, NUC_OP_DIV, y, insert_float(g, node, 6));
}

/* ---- topk for ExecuTorch's runtime ---- */

#define MAX_TOPK 16

/*
 * Quantized values are often equal, and the kernel leaves it to the C++ library which of them comes first. Here it is
 * the one in front: the greatest, then the greatest of what is left.
 */
static struct nuc_node *to_stable_topk(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF), *left = input, *values[MAX_TOPK], *indices[MAX_TOPK];
    int64_t k = nuc_integer(node, NUC_ARG(TOPK, k), 0), rank = input->vals[0].rank;
    int64_t dim = nuc_dim(node, NUC_ARG(TOPK, dim), -1, input->vals[0].rank);
    bool largest = node->args[NUC_ARG(TOPK, largest)].u.b;
    double taken = (double)(largest ? -FLT_MAX : FLT_MAX);

    if (!nuc_is_dequantize(input) || rank == 0 || k < 1 || k > MAX_TOPK)
        return nuc_to_same(g, node);
    for (int64_t i = 0; i < k; i++) {
        indices[i] =
            nuc_emit(g, node, largest ? NUC_OP_ARGMAX : NUC_OP_ARGMIN, node, NUC_ARGS(left, dim, nuc_bool_arg(true)));
        values[i] = nuc_emit(g, node, NUC_OP_GATHER, node, NUC_ARGS(input, dim, indices[i]));
        if (i + 1 < k)
            left = nuc_emit(g, node, NUC_OP_SCATTER_VALUE, node, NUC_ARGS(left, dim, indices[i], taken));
    }
    nuc_replace_item(g, node, 0, nuc_insert_cat(g, node, values, (uint32_t)k, dim));
    nuc_replace_item(g, node, 1, nuc_insert_cat(g, node, indices, (uint32_t)k, dim));
    return NULL;
}

const struct nuc_decomposition nuc_same_decompositions[] = {
    {.op = NUC_OP_HARDSWISH, .rewrite = to_hardswish},
    {.op = NUC_OP_HARDSIGMOID, .rewrite = to_hardswish},
    {.op = NUC_OP_RMS_NORM, .rewrite = nuc_to_same, .carrier = NUC_OP_RMS_NORM},
    {NUC_OP_TOPK, nuc_to_same, NUC_OP_TOPK, NULL, to_stable_topk},
    {.rewrite = NULL},
};
