/* Elementwise operators. */
#include "ir/args.h"
#include "rewrite/rewrite.h"
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

struct nuc_node *nuc_insert_unary(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op, struct nuc_node *input)
{
    return nuc_emit(g, node, op, node, NUC_ARGS(nuc_node_arg(input)));
}

struct nuc_node *nuc_insert_binary(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op, struct nuc_node *a,
                                   struct nuc_node *b)
{
    return nuc_emit(g, node, op, node, NUC_ARGS(nuc_node_arg(a), nuc_node_arg(b)));
}

struct nuc_node *nuc_to_relu6(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *edge = nuc_insert(g, node, NUC_OP_HARDTANH, node);

    nuc_copy_arg(g, edge, NUC_SELF, node, NUC_SELF);
    nuc_set_arg_float(edge, NUC_ARG(HARDTANH, min_val), 0.0);
    nuc_set_arg_float(edge, NUC_ARG(HARDTANH, max_val), 6.0);
    nuc_set_val(g, edge, &node->vals[0]);
    return edge;
}

struct nuc_node *nuc_to_softmax(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF);

    if (node->args[NUC_ARG(SOFTMAX, dtype)].kind == NUC_ARG_DTYPE &&
        node->args[NUC_ARG(SOFTMAX, dtype)].u.dtype != input->vals[0].dtype)
        nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: %s computes in %s from %s: leave out its dtype", g->file,
                 nuc_node_text(g->cx, node), nuc_dtype_name(node->args[NUC_ARG(SOFTMAX, dtype)].u.dtype),
                 nuc_dtype_name(input->vals[0].dtype));
    enum nuc_op op = node->op == NUC_OP_SOFTMAX ? NUC_OP_NATIVE_SOFTMAX : NUC_OP_NATIVE_LOG_SOFTMAX;
    struct nuc_node *softmax = nuc_insert(g, node, op, node);
    nuc_copy_arg(g, softmax, NUC_SELF, node, NUC_SELF);
    nuc_copy_arg(g, softmax, NUC_ARG(NATIVE_SOFTMAX, dim), node, NUC_ARG(SOFTMAX, dim));
    nuc_set_arg_bool(softmax, NUC_ARG(NATIVE_SOFTMAX, half_to_float), false);
    nuc_set_val(g, softmax, &node->vals[0]);
    return softmax;
}

/* ---- activations that torch decomposes ---- */

/* Constants that tracing lifts become buffers in front of the inputs, numbered on from the buffers there are. */
static struct nuc_node *insert_number(struct nuc_graph *g, int64_t value)
{
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
    return number;
}

/* A number as operand of float arithmetic. */
static struct nuc_node *insert_float(struct nuc_graph *g, struct nuc_node *node, int64_t value)
{
    struct nuc_node *number = insert_number(g, value);
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
struct nuc_node *nuc_to_hardswish(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF);
    struct nuc_node *y = nuc_insert_binary(g, node, NUC_OP_ADD, x, insert_float(g, node, 3));

    y = insert_clamp(g, node, y, 1, 0.0);
    y = insert_clamp(g, node, y, 2, 6.0);
    if (node->op == NUC_OP_HARDSWISH)
        y = nuc_insert_binary(g, node, NUC_OP_MUL, x, y);
    return nuc_insert_binary(g, node, NUC_OP_DIV, y, insert_float(g, node, 6));
}

struct nuc_node *nuc_to_silu(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF);

    return nuc_insert_binary(g, node, NUC_OP_MUL, x, nuc_insert_unary(g, node, NUC_OP_SIGMOID, x));
}

/* where(x > 0, x, weight * x); the weight lies along dimension 1. */
struct nuc_node *nuc_to_prelu(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF), *weight = nuc_operand(g, node, NUC_ARG(PRELU, weight));
    uint32_t rank = x->vals[0].rank;
    int64_t sizes[NUC_MAX_RANK];

    for (uint32_t i = 0; i < rank; i++)
        sizes[i] = i == 1 ? nuc_elements(&weight->vals[0]) : 1;
    if (weight->vals[0].rank != rank)
        weight = nuc_insert_view(g, node, weight, sizes, rank);
    struct nuc_node *positive =
        nuc_emit(g, node, NUC_OP_GT_SCALAR, node, NUC_ARGS(nuc_node_arg(x), nuc_float_arg(0.0)));
    struct nuc_node *scaled = nuc_insert_binary(g, node, NUC_OP_MUL, weight, x);
    return nuc_emit(g, node, NUC_OP_WHERE, node,
                    NUC_ARGS(nuc_node_arg(positive), nuc_node_arg(x), nuc_node_arg(scaled)));
}

/* A sum without dimensions is one over the empty list. */
struct nuc_node *nuc_to_sum(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *sum = nuc_insert(g, node, NUC_OP_SUM_DIM, node);

    nuc_copy_arg(g, sum, NUC_SELF, node, NUC_SELF);
    nuc_set_arg_ints(sum, g, NUC_ARG(SUM_DIM, dim), NULL, 0);
    nuc_copy_arg(g, sum, NUC_ARG(SUM_DIM, dtype), node, NUC_ARG(SUM, dtype));
    nuc_set_val(g, sum, &node->vals[0]);
    return sum;
}
