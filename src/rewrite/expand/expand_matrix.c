/* Expansions of matrix products. */
#include "ir/args.h"
#include "rewrite/expand/expand.h"

/* ---- sums over chosen dimensions ---- */

/* Dimension i has the label from + i. */
static struct nuc_labelled labelled(struct nuc_node *value, uint32_t from)
{
    struct nuc_labelled x = {.value = value, .rank = value->vals[0].rank};

    for (uint32_t i = 0; i < x.rank; i++)
        x.labels[i] = (uint8_t)(from + i);
    return x;
}

static struct nuc_node *insert_tensordot(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *left,
                                         struct nuc_node *right, const int64_t *dims_a, const int64_t *dims_b,
                                         uint32_t count)
{
    struct nuc_labelled a = labelled(left, 0), b = labelled(right, NUC_MAX_RANK);
    uint64_t summed = 0;

    for (uint32_t i = 0; i < count; i++) {
        const int64_t *sizes[2];
        uint32_t d = nuc_expand_dim(g, node, dims_a[i], a.rank), e = nuc_expand_dim(g, node, dims_b[i], b.rank);
        if (a.rank == 0 || b.rank == 0)
            nuc_expand_fail(g, node, "a scalar has no dimensions");
        sizes[0] = &a.value->vals[0].sizes[d];
        sizes[1] = &b.value->vals[0].sizes[e];
        summed |= (uint64_t)1 << a.labels[d] | (uint64_t)1 << b.labels[e];
        /* A size of 1 goes with every other: the two are summed each for itself. */
        if (*sizes[0] == *sizes[1])
            b.labels[e] = a.labels[d];
        else if (*sizes[0] != 1 && *sizes[1] != 1)
            nuc_expand_fail(g, node, "dimensions of %lld and %lld elements cannot be summed together",
                            (long long)*sizes[0], (long long)*sizes[1]);
    }
    return nuc_contract(g, node, a, b, ~summed).value;
}

static struct nuc_node *expand_tensordot(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_arg *a = nuc_arg_at(node, NUC_ARG(TENSORDOT, dims_self)),
                         *b = nuc_arg_at(node, NUC_ARG(TENSORDOT, dims_other));

    if (a->count != b->count)
        nuc_expand_fail(g, node, "the lists of dimensions differ in length");
    return insert_tensordot(g, node, nuc_operand(g, node, NUC_SELF), nuc_operand(g, node, NUC_OTHER), a->u.ints,
                            b->u.ints, a->count);
}

/* Of scalars it is a product (a formula). */
static struct nuc_node *expand_inner(struct nuc_graph *g, struct nuc_node *node)
{
    const int64_t last = -1;

    return insert_tensordot(g, node, nuc_operand(g, node, NUC_SELF), nuc_operand(g, node, NUC_OTHER), &last, &last, 1);
}

/* out[n, o] = sum of x1[n, i] weight[o, i, j] x2[n, j], plus bias[o] */
static struct nuc_node *expand_bilinear(struct nuc_graph *g, struct nuc_node *node)
{
    enum { N, O, I, J };
    struct nuc_node *x1 = nuc_operand(g, node, NUC_ARG(BILINEAR, input1)),
                    *x2 = nuc_operand(g, node, NUC_ARG(BILINEAR, input2)),
                    *weight = nuc_operand(g, node, NUC_ARG(BILINEAR, weight)),
                    *bias = nuc_arg_node(node, NUC_ARG(BILINEAR, bias));
    const struct nuc_meta *a = &x1->vals[0], *b = &x2->vals[0];

    if (a->rank == 0 || b->rank == 0 || weight->vals[0].rank != 3)
        nuc_expand_fail(g, node, "the inputs or the weight have too few dimensions");
    int64_t i = a->sizes[a->rank - 1], j = b->sizes[b->rank - 1];
    int64_t n = i == 0 ? 0 : nuc_elements(a) / i;
    struct nuc_labelled left = {nuc_insert_reshaped(g, node, x1, (const int64_t[]){n, i}, 2), 2, {N, I}};
    struct nuc_labelled right = {nuc_insert_reshaped(g, node, x2, (const int64_t[]){n, j}, 2), 2, {N, J}};
    struct nuc_labelled inner = {weight, 3, {O, I, J}};
    struct nuc_labelled half = nuc_contract(g, node, left, inner, (1U << N) | (1U << O) | (1U << J));
    struct nuc_labelled whole = nuc_contract(g, node, half, right, (1U << N) | (1U << O));
    const uint8_t order[2] = {N, O};
    struct nuc_node *value =
        nuc_insert_reshaped(g, node, nuc_order_labels(g, node, whole, order), node->vals[0].sizes, node->vals[0].rank);
    return bias == NULL ? value : nuc_insert_binary(g, node, NUC_OP_ADD, value, bias);
}

/* Dimensions of the product that the operand does not have are listed; label = dimension of the product. */
static struct nuc_labelled trilinear_operand(struct nuc_graph *g, struct nuc_node *node, uint32_t input, uint32_t list)
{
    struct nuc_labelled x = labelled(nuc_operand(g, node, input), 0);
    const struct nuc_arg *missing = nuc_arg_at(node, list);
    uint32_t total = x.rank + missing->count, rank = 0;
    uint64_t absent = 0;

    if (total > NUC_MAX_RANK)
        nuc_expand_fail(g, node, "the product has %u dimensions: at most %d are possible", (unsigned)total,
                        NUC_MAX_RANK);
    for (uint32_t i = 0; i < missing->count; i++)
        absent |= (uint64_t)1 << nuc_expand_dim(g, node, missing->u.ints[i], total);
    for (uint32_t d = 0; d < total && rank < x.rank; d++) {
        if ((absent >> d & 1) == 0)
            x.labels[rank++] = (uint8_t)d;
    }
    return x;
}

static struct nuc_node *expand_trilinear(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_labelled x = trilinear_operand(g, node, NUC_ARG(TRILINEAR, i1), NUC_ARG(TRILINEAR, expand1)),
                        y = trilinear_operand(g, node, NUC_ARG(TRILINEAR, i2), NUC_ARG(TRILINEAR, expand2)),
                        z = trilinear_operand(g, node, NUC_ARG(TRILINEAR, i3), NUC_ARG(TRILINEAR, expand3));
    const struct nuc_arg *sum = nuc_arg_at(node, NUC_ARG(TRILINEAR, sumdim));
    uint32_t total = x.rank + nuc_arg_at(node, NUC_ARG(TRILINEAR, expand1))->count;
    uint64_t kept = ((uint64_t)1 << total) - 1, needed;
    uint8_t order[NUC_MAX_RANK];
    uint32_t rank = 0;

    for (uint32_t i = 0; i < sum->count; i++)
        kept &= ~((uint64_t)1 << nuc_expand_dim(g, node, sum->u.ints[i], total));
    needed = kept;
    for (uint32_t i = 0; i < z.rank; i++)
        needed |= (uint64_t)1 << z.labels[i];
    struct nuc_labelled product = nuc_contract(g, node, nuc_contract(g, node, x, y, needed), z, kept);
    for (uint8_t d = 0; d < total && rank < NUC_MAX_RANK; d++) {
        if ((kept >> d & 1) != 0)
            order[rank++] = d;
    }
    return nuc_order_labels(g, node, product, order);
}

/* ---- linear layers of decomposed archives: products with the transposed view of a parameter ---- */

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
    {.op = NUC_OP_INNER, .expand = expand_inner},
    {.op = NUC_OP_TENSORDOT, .expand = expand_tensordot},
    {.op = NUC_OP_BILINEAR, .expand = expand_bilinear},
    {.op = NUC_OP_TRILINEAR, .expand = expand_trilinear},
    {.expand = NULL},
};
