/* Linear layers of decomposed archives: products with the transposed view of a parameter. */
#include "ir/args.h"
#include "rewrite/expand/expand.h"

/* The weight [out, in] of which `operand` is the transposed view; NULL when it is not one of a parameter. */
static struct nuc_node *transposed_weight(const struct nuc_node *operand)
{
    bool is_t = operand->op == NUC_OP_T;
    bool swaps = operand->op == NUC_OP_TRANSPOSE || operand->op == NUC_OP_PERMUTE;
    struct nuc_node *weight = is_t || swaps ? nuc_arg_node(operand, NUC_SELF) : NULL;

    if (weight == NULL || !nuc_is_static(weight) || weight->vals[0].rank != 2 ||
        operand->vals[0].sizes[0] != weight->vals[0].sizes[1])
        return NULL;
    if (operand->op == NUC_OP_PERMUTE) {
        const struct nuc_arg *dims = nuc_arg_at(operand, NUC_ARG(PERMUTE, dims));
        return dims->count == 2 && nuc_positive_dim(dims->u.ints[0], 2) == 1 ? weight : NULL;
    }
    return is_t || nuc_dim(operand, NUC_ARG(TRANSPOSE, dim0), 0, 2) != nuc_dim(operand, NUC_ARG(TRANSPOSE, dim1), 1, 2)
               ? weight
               : NULL;
}

/* The matrices of a batch, in an order of batches of its own. */
static bool keeps_matrices(const struct nuc_node *node)
{
    const struct nuc_meta *in = nuc_input_meta(node, NUC_SELF), *out = &node->vals[0];

    return (node->op == NUC_OP_EXPAND || node->op == NUC_OP_VIEW) && in != NULL && in->rank >= 2 && out->rank > 2 &&
           in->sizes[in->rank - 1] == out->sizes[out->rank - 1] && in->sizes[in->rank - 2] == out->sizes[out->rank - 2];
}

/* The matrix that a batch of equal ones repeats; another value as it is. */
static const struct nuc_node *repeated(const struct nuc_node *batch)
{
    const struct nuc_node *from = batch;

    while (keeps_matrices(from))
        from = nuc_arg_node(from, NUC_SELF);
    return from->vals[0].rank == 2 ? from : batch;
}

/* The second factor of mm and bmm, or of addmm. */
static const struct nuc_node *second_matrix(const struct nuc_node *node)
{
    const struct nuc_node *matrix =
        nuc_arg_node(node, node->op == NUC_OP_ADDMM ? NUC_ARG(ADDMM, mat2) : NUC_ARG(MM, mat2));

    /* A product over chosen dimensions views what is a matrix already. */
    while (matrix != NULL && matrix->op == NUC_OP_VIEW &&
           nuc_same_sizes(&matrix->vals[0], nuc_input_meta(matrix, NUC_SELF)))
        matrix = nuc_arg_node(matrix, NUC_SELF);
    return node->op == NUC_OP_BMM && matrix != NULL ? repeated(matrix) : matrix;
}

/* mm, addmm and bmm of decomposed archives, with the transposed view of a parameter. */
static bool is_linear(const struct nuc_node *node)
{
    bool adds = node->op == NUC_OP_ADDMM;
    const struct nuc_node *operand = second_matrix(node);
    const struct nuc_node *bias = adds ? nuc_arg_node(node, NUC_SELF) : NULL;

    if (operand == NULL || operand->vals[0].rank != 2 || transposed_weight(operand) == NULL)
        return false;
    return !adds || (bias != NULL && bias->vals[0].rank == 1 && bias->vals[0].sizes[0] == operand->vals[0].sizes[1] &&
                     nuc_numbers_equal(nuc_scalar(node, NUC_ARG(ADDMM, beta), 1.0), 1.0) &&
                     nuc_numbers_equal(nuc_scalar(node, NUC_ARG(ADDMM, alpha), 1.0), 1.0));
}

/* Of the rows of a tensor that was flattened to a matrix for it. */
static struct nuc_node *expand_linear(struct nuc_graph *g, struct nuc_node *node)
{
    bool adds = node->op == NUC_OP_ADDMM;
    struct nuc_node *input = nuc_operand(g, node, adds ? NUC_ARG(ADDMM, mat1) : NUC_SELF);
    const struct nuc_node *operand = second_matrix(node), *flat = input->op == NUC_OP_VIEW ? input : NULL;
    const struct nuc_meta *m = flat != NULL ? nuc_input_meta(flat, NUC_SELF) : NULL;

    if (m != NULL && m->rank > 2 && m->sizes[m->rank - 1] == operand->vals[0].sizes[0])
        input = nuc_arg_node(flat, NUC_SELF);
    struct nuc_node *linear =
        nuc_emit(g, node, NUC_OP_LINEAR, node,
                 NUC_ARGS(input, transposed_weight(operand), adds ? nuc_operand(g, node, NUC_SELF) : NULL));
    return nuc_insert_reshaped(g, node, linear, node->vals[0].sizes, node->vals[0].rank);
}

const struct nuc_expansion nuc_matrix_expansions[] = {
    {.op = NUC_OP_ADDMM, .expand = expand_linear, .applies = is_linear},
    {.op = NUC_OP_MM, .expand = expand_linear, .applies = is_linear},
    {.op = NUC_OP_BMM, .expand = expand_linear, .applies = is_linear},
    {.expand = NULL},
};
