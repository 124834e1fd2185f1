/* Expansions of matrix products, distances and products of vectors. */
#include <math.h>
#include <string.h>

#include "ir/shapes/shapes.h"
#include "rewrite/expand/expand_list.h"

/* ---- building blocks ---- */

struct nuc_node *nuc_insert_sum(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, const int64_t *dims,
                                uint32_t count, bool keepdim)
{
    return nuc_emit(g, node, NUC_OP_SUM_DIM, node,
                    NUC_ARGS(nuc_node_arg(input), nuc_ints_arg(dims, count), nuc_bool_arg(keepdim)));
}

/* In the type the archive states: sums of integers are wider. */
static struct nuc_node *as_stated(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *value)
{
    return nuc_insert_cast(g, node, value, node->vals[0].dtype);
}

static struct nuc_node *operand(struct nuc_graph *g, struct nuc_node *node, uint32_t index)
{
    return nuc_operand(g, node, index);
}

static struct nuc_node *mul(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *a, struct nuc_node *b)
{
    return nuc_insert_binary(g, node, NUC_OP_MUL, a, b);
}

/* The factor of integers is one. */
static struct nuc_node *times(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x, double factor)
{
    if (!nuc_is_floating(x->vals[0].dtype))
        factor = trunc(factor);
    return nuc_numbers_equal(factor, 1.0) ? x : nuc_insert_with_number(g, node, NUC_OP_MUL, x, factor);
}

static struct nuc_node *matmul(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *a, struct nuc_node *b)
{
    return nuc_insert_binary(g, node, NUC_OP_MATMUL, a, b);
}

/* beta * self + alpha * product; self is not looked at where beta is 0. */
static struct nuc_node *add_to(struct nuc_graph *g, struct nuc_node *node, uint32_t beta_arg, uint32_t alpha_arg,
                               struct nuc_node *product)
{
    double beta =
        nuc_is_floating(node->vals[0].dtype) ? nuc_scalar(node, beta_arg, 1.0) : trunc(nuc_scalar(node, beta_arg, 1.0));
    struct nuc_node *self = operand(g, node, NUC_SELF);

    product = times(g, node, product, nuc_scalar(node, alpha_arg, 1.0));
    if (!nuc_numbers_equal(beta, 0.0))
        return as_stated(g, node, nuc_insert_binary(g, node, NUC_OP_ADD, times(g, node, self, beta), product));
    return as_stated(g, node, nuc_insert_expand(g, node, product, node->vals[0].sizes, node->vals[0].rank));
}

/* ---- products ---- */

struct nuc_node *nuc_expand_baddbmm(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *product = nuc_insert_binary(g, node, NUC_OP_BMM, operand(g, node, NUC_ARG(BADDBMM, batch1)),
                                                 operand(g, node, NUC_ARG(BADDBMM, batch2)));

    return add_to(g, node, NUC_ARG(BADDBMM, beta), NUC_ARG(BADDBMM, alpha), product);
}

/* The sum of the products of a batch is one product of matrices side by side. */
struct nuc_node *nuc_expand_addbmm(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *a = operand(g, node, NUC_ARG(ADDBMM, batch1)), *b = operand(g, node, NUC_ARG(ADDBMM, batch2));
    const struct nuc_meta x = a->vals[0], y = b->vals[0];

    if (x.rank != 3 || y.rank != 3)
        nuc_expand_fail(g, node, "the operands are not batches of matrices");
    const int64_t left[2] = {x.sizes[1], x.sizes[0] * x.sizes[2]}, right[2] = {y.sizes[0] * y.sizes[1], y.sizes[2]};
    a = nuc_insert_reshaped(g, node, nuc_insert_permuted(g, node, a, (const int64_t[]){1, 0, 2}), left, 2);
    b = nuc_insert_reshaped(g, node, b, right, 2);
    return add_to(g, node, NUC_ARG(ADDBMM, beta), NUC_ARG(ADDBMM, alpha), nuc_insert_binary(g, node, NUC_OP_MM, a, b));
}

struct nuc_node *nuc_expand_addmv(struct nuc_graph *g, struct nuc_node *node)
{
    return add_to(g, node, NUC_ARG(ADDMV, beta), NUC_ARG(ADDMV, alpha),
                  matmul(g, node, operand(g, node, NUC_ARG(ADDMV, mat)), operand(g, node, NUC_ARG(ADDMV, vec))));
}

/* Of integers, for which there is no kernel with an addend. */
struct nuc_node *nuc_expand_addmm(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *product = nuc_insert_binary(g, node, NUC_OP_MM, operand(g, node, NUC_ARG(ADDMM, mat1)),
                                                 operand(g, node, NUC_ARG(ADDMM, mat2)));

    return add_to(g, node, NUC_ARG(ADDMM, beta), NUC_ARG(ADDMM, alpha), product);
}

bool nuc_is_of_integers(const struct nuc_node *node)
{
    return node->n_vals > 0 && !nuc_is_floating(node->vals[0].dtype);
}

/* Of integers: no layer of a network. */
struct nuc_node *nuc_expand_linear_of_integers(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *weight = operand(g, node, NUC_ARG(LINEAR, weight)),
                    *bias = nuc_arg_node(node, NUC_ARG(LINEAR, bias));

    if (weight->vals[0].rank == 2)
        weight = nuc_insert_permuted(g, node, weight, (const int64_t[]){1, 0});
    struct nuc_node *product = matmul(g, node, operand(g, node, NUC_ARG(LINEAR, input)), weight);
    return bias == NULL ? product : nuc_insert_binary(g, node, NUC_OP_ADD, product, bias);
}

struct nuc_node *nuc_expand_matmul(struct nuc_graph *g, struct nuc_node *node)
{
    return matmul(g, node, operand(g, node, NUC_SELF), operand(g, node, NUC_OTHER));
}

struct nuc_node *nuc_expand_chain_matmul(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_arg *list = nuc_arg_at(node, NUC_ARG(CHAIN_MATMUL, tensors));

    for (uint32_t i = 0; i < list->count || i == 0; i++) {
        if (list->count == 0 || list->u.nodes[i] == NULL)
            nuc_expand_fail(g, node, "a matrix is missing");
    }
    struct nuc_node *product = list->u.nodes[0];
    for (uint32_t i = 1; i < list->count; i++)
        product = matmul(g, node, product, list->u.nodes[i]);
    return product;
}

static struct nuc_node *outer(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *a, struct nuc_node *b)
{
    return mul(g, node, nuc_insert_with_dim(g, node, NUC_OP_UNSQUEEZE, a, 1), b);
}

struct nuc_node *nuc_expand_outer(struct nuc_graph *g, struct nuc_node *node)
{
    return outer(g, node, operand(g, node, NUC_SELF), operand(g, node, NUC_ARG(OUTER, vec2)));
}

struct nuc_node *nuc_expand_addr(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *a = operand(g, node, NUC_ARG(ADDR, vec1)), *b = operand(g, node, NUC_ARG(ADDR, vec2));

    return add_to(g, node, NUC_ARG(ADDR, beta), NUC_ARG(ADDR, alpha), outer(g, node, a, b));
}

/* [a0, 1, a1, 1, ...] times [1, b0, 1, b1, ...], and the pairs made one. */
struct nuc_node *nuc_expand_kron(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *a = operand(g, node, NUC_SELF), *b = operand(g, node, NUC_OTHER);
    uint32_t rank = node->vals[0].rank;
    int64_t left[2 * NUC_MAX_RANK], right[2 * NUC_MAX_RANK];

    if (2 * rank > NUC_MAX_RANK)
        nuc_expand_fail(g, node, "a product of rank %u needs more than %d dimensions", (unsigned)rank, NUC_MAX_RANK);
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t from_a = rank - a->vals[0].rank, from_b = rank - b->vals[0].rank;
        left[2 * i] = i < from_a ? 1 : a->vals[0].sizes[i - from_a];
        right[2 * i + 1] = i < from_b ? 1 : b->vals[0].sizes[i - from_b];
        left[2 * i + 1] = right[2 * i] = 1;
    }
    a = nuc_insert_reshaped(g, node, a, left, 2 * rank);
    b = nuc_insert_reshaped(g, node, b, right, 2 * rank);
    return nuc_insert_reshaped(g, node, mul(g, node, a, b), node->vals[0].sizes, rank);
}

/* ---- sums over chosen dimensions ---- */

static uint64_t first_labels(uint32_t count)
{
    return ((uint64_t)1 << count) - 1;
}

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

struct nuc_node *nuc_expand_tensordot(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_arg *a = nuc_arg_at(node, NUC_ARG(TENSORDOT, dims_self)),
                         *b = nuc_arg_at(node, NUC_ARG(TENSORDOT, dims_other));

    if (a->count != b->count)
        nuc_expand_fail(g, node, "the lists of dimensions differ in length");
    return insert_tensordot(g, node, operand(g, node, NUC_SELF), operand(g, node, NUC_OTHER), a->u.ints, b->u.ints,
                            a->count);
}

struct nuc_node *nuc_expand_inner(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *a = operand(g, node, NUC_SELF), *b = operand(g, node, NUC_OTHER);
    const int64_t last[1] = {-1};

    if (a->vals[0].rank == 0 || b->vals[0].rank == 0)
        return mul(g, node, a, b);
    return insert_tensordot(g, node, a, b, last, last, 1);
}

/* out[n, o] = sum of x1[n, i] weight[o, i, j] x2[n, j], plus bias[o] */
struct nuc_node *nuc_expand_bilinear(struct nuc_graph *g, struct nuc_node *node)
{
    enum { N, O, I, J };
    struct nuc_node *x1 = operand(g, node, NUC_ARG(BILINEAR, input1)),
                    *x2 = operand(g, node, NUC_ARG(BILINEAR, input2)),
                    *weight = operand(g, node, NUC_ARG(BILINEAR, weight)),
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
    struct nuc_labelled x = labelled(operand(g, node, input), 0);
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

struct nuc_node *nuc_expand_trilinear(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_labelled x = trilinear_operand(g, node, NUC_ARG(TRILINEAR, i1), NUC_ARG(TRILINEAR, expand1)),
                        y = trilinear_operand(g, node, NUC_ARG(TRILINEAR, i2), NUC_ARG(TRILINEAR, expand2)),
                        z = trilinear_operand(g, node, NUC_ARG(TRILINEAR, i3), NUC_ARG(TRILINEAR, expand3));
    const struct nuc_arg *sum = nuc_arg_at(node, NUC_ARG(TRILINEAR, sumdim));
    uint32_t total = x.rank + nuc_arg_at(node, NUC_ARG(TRILINEAR, expand1))->count;
    uint64_t kept = first_labels(total), needed;
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

/* ---- products and distances of vectors ---- */

struct nuc_node *nuc_expand_vecdot(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *product = mul(g, node, operand(g, node, NUC_SELF), operand(g, node, NUC_OTHER));
    int64_t dim = nuc_expand_dim(g, node, nuc_integer(node, NUC_ARG(LINALG_VECDOT, dim), -1), product->vals[0].rank);

    return as_stated(g, node, nuc_insert_sum(g, node, product, &dim, 1, false));
}

/* x[.., i + shift, ..] along a dimension of three elements. */
static struct nuc_node *rotated(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x, int64_t dim, int shift)
{
    const int64_t size = 3, places[3] = {shift % 3, (shift + 1) % 3, (shift + 2) % 3};

    return nuc_emit(
        g, node, NUC_OP_INDEX_SELECT, node,
        NUC_ARGS(nuc_node_arg(x), nuc_int_arg(dim), nuc_node_arg(nuc_insert_indices(g, node, places, &size, 1))));
}

struct nuc_node *nuc_expand_cross(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *a = operand(g, node, NUC_SELF), *b = operand(g, node, NUC_OTHER);
    uint32_t rank = node->vals[0].rank;
    int64_t dim =
        nuc_expand_dim(g, node, nuc_integer(node, NUC_ARG(CROSS, dim), node->op == NUC_OP_CROSS ? 0 : -1), rank);

    if (nuc_arg_at(node, NUC_ARG(CROSS, dim))->kind != NUC_ARG_INT) {
        for (dim = 0; dim < (int64_t)rank && node->vals[0].sizes[dim] != 3; dim++)
            ;
    }
    if (a->vals[0].rank != rank || b->vals[0].rank != rank || dim >= (int64_t)rank || a->vals[0].sizes[dim] != 3 ||
        b->vals[0].sizes[dim] != 3)
        nuc_expand_fail(g, node, "the operands are not vectors of three elements");
    struct nuc_node *first = mul(g, node, rotated(g, node, a, dim, 1), rotated(g, node, b, dim, 2));
    struct nuc_node *second = mul(g, node, rotated(g, node, a, dim, 2), rotated(g, node, b, dim, 1));
    return nuc_insert_binary(g, node, NUC_OP_SUB, first, second);
}

/* The p-norm along one dimension. */
static struct nuc_node *norm_along(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x, double p,
                                   int64_t dim, bool keepdim)
{
    struct nuc_node *size = nuc_insert_unary(g, node, NUC_OP_ABS, x);

    dim = nuc_expand_dim(g, node, dim, x->vals[0].rank);
    if (isinf(p))
        return nuc_emit(g, node, p > 0 ? NUC_OP_AMAX : NUC_OP_AMIN, node,
                        NUC_ARGS(nuc_node_arg(size), nuc_ints_arg(&dim, 1), nuc_bool_arg(keepdim)));
    if (nuc_numbers_equal(p, 0.0)) {
        struct nuc_node *other = nuc_insert_with_number(g, node, NUC_OP_NE, x, 0.0);
        return nuc_insert_sum(g, node, nuc_insert_cast(g, node, other, x->vals[0].dtype), &dim, 1, keepdim);
    }
    if (nuc_numbers_equal(p, 1.0))
        return nuc_insert_sum(g, node, size, &dim, 1, keepdim);
    if (nuc_numbers_equal(p, 2.0))
        return nuc_insert_unary(g, node, NUC_OP_SQRT, nuc_insert_sum(g, node, mul(g, node, x, x), &dim, 1, keepdim));
    struct nuc_node *power = nuc_emit(g, node, NUC_OP_POW_SCALAR, node, NUC_ARGS(nuc_node_arg(size), nuc_float_arg(p)));
    struct nuc_node *sum = nuc_insert_sum(g, node, power, &dim, 1, keepdim);
    return nuc_emit(g, node, NUC_OP_POW_SCALAR, node, NUC_ARGS(nuc_node_arg(sum), nuc_float_arg(1.0 / p)));
}

/* Every row of one tensor against every row of the other. */
struct nuc_node *nuc_expand_cdist(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *a = nuc_insert_with_dim(g, node, NUC_OP_UNSQUEEZE, operand(g, node, NUC_SELF), -2),
                    *b = nuc_insert_with_dim(g, node, NUC_OP_UNSQUEEZE, operand(g, node, NUC_OTHER), -3);

    return norm_along(g, node, nuc_insert_binary(g, node, NUC_OP_SUB, a, b), nuc_scalar(node, NUC_ARG(CDIST, p), 2.0),
                      -1, false);
}

struct nuc_node *nuc_expand_pairwise_distance(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *d =
        nuc_insert_binary(g, node, NUC_OP_SUB, operand(g, node, NUC_SELF), operand(g, node, NUC_OTHER));
    double eps = nuc_scalar(node, NUC_ARG(PAIRWISE_DISTANCE, eps), 1e-6);

    if (!nuc_numbers_equal(eps, 0.0))
        d = nuc_insert_with_number(g, node, NUC_OP_ADD, d, eps);
    return norm_along(g, node, d, nuc_scalar(node, NUC_ARG(PAIRWISE_DISTANCE, p), 2.0), -1,
                      nuc_flag(node, NUC_ARG(PAIRWISE_DISTANCE, keepdim)));
}

/* x / max(|x|, eps) */
static struct nuc_node *unit(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x, int64_t dim, double eps)
{
    struct nuc_node *norm = norm_along(g, node, x, 2.0, dim, true);
    struct nuc_node *bound = nuc_insert_constant(g, node, x->vals[0].dtype, eps);

    return nuc_insert_binary(g, node, NUC_OP_DIV, x, nuc_insert_binary(g, node, NUC_OP_MAXIMUM, norm, bound));
}

struct nuc_node *nuc_expand_cosine_similarity(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x[2] = {operand(g, node, NUC_SELF), operand(g, node, NUC_OTHER)};
    uint32_t rank = x[0]->vals[0].rank > x[1]->vals[0].rank ? x[0]->vals[0].rank : x[1]->vals[0].rank;
    int64_t dim = nuc_expand_dim(g, node, nuc_integer(node, NUC_ARG(COSINE_SIMILARITY, dim), 1), rank);
    double eps = nuc_scalar(node, NUC_ARG(COSINE_SIMILARITY, eps), 1e-8);

    for (int i = 0; i < 2; i++) {
        while (x[i]->vals[0].rank < rank)
            x[i] = nuc_insert_with_dim(g, node, NUC_OP_UNSQUEEZE, x[i], 0);
    }
    struct nuc_node *product = mul(g, node, unit(g, node, x[0], dim, eps), unit(g, node, x[1], dim, eps));
    return nuc_insert_sum(g, node, product, &dim, 1, false);
}
