/* Expansions of reductions, scans and sorting. */
#include "rewrite/expand/expand_list.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "ir/shapes/shapes.h"

/* ---- building blocks ---- */

/* All dimensions. */
#define ALL_DIMS nuc_ints_arg(NULL, 0)

/* op(input, dims, keepdim) */
static struct nuc_node *reduce(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op, struct nuc_node *input,
                               struct nuc_arg dims, bool keepdim)
{
    return nuc_emit(g, node, op, node, NUC_ARGS(nuc_node_arg(input), dims, nuc_bool_arg(keepdim)));
}

/* The dimensions an argument names as a list, whatever its kind; a scalar has none. */
static struct nuc_arg dims_of(struct nuc_graph *g, const struct nuc_node *node, uint32_t index)
{
    const struct nuc_arg *dims = nuc_arg_at(node, index);
    struct nuc_arg list = ALL_DIMS;

    if (nuc_input_meta(node, NUC_SELF)->rank == 0 || dims->kind == NUC_ARG_NONE)
        return list;
    if (dims->kind != NUC_ARG_INT)
        return *dims;
    int64_t *dim = nuc_alloc(g->cx, sizeof *dim);
    *dim = dims->u.i;
    return nuc_ints_arg(dim, 1);
}

static struct nuc_node *reshaped(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                 const struct nuc_meta *like)
{
    return nuc_emit(g, node, NUC_OP_RESHAPE, node,
                    NUC_ARGS(nuc_node_arg(input), nuc_ints_arg(like->sizes, like->rank)));
}

/* ---- what an operator computes in: an argument dtype is a conversion in front ---- */

static bool sums(enum nuc_op op)
{
    return op == NUC_OP_SUM || op == NUC_OP_SUM_DIM || op == NUC_OP_PROD_DIM || op == NUC_OP_CUMSUM;
}

/* float64 is computed in float32. */
static struct nuc_node *converted(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                  enum nuc_dtype dtype)
{
    return nuc_insert_cast(g, node, input, dtype == NUC_F64 ? NUC_F32 : dtype);
}

static uint32_t dtype_index(const struct nuc_node *node)
{
    return (uint32_t)nuc_schema_arg_index(nuc_op_schema(node->op), "dtype");
}

/* The operators that add up give int64 of any integers. */
bool nuc_states_other_type(const struct nuc_node *node)
{
    const struct nuc_arg *dtype = nuc_arg_at(node, dtype_index(node));
    enum nuc_dtype own = nuc_input_meta(node, NUC_SELF)->dtype;

    if (own == NUC_F64)
        return true;
    return dtype->kind == NUC_ARG_DTYPE && dtype->u.dtype != own &&
           !(sums(node->op) && dtype->u.dtype == NUC_I64 && !nuc_is_floating(own));
}

struct nuc_node *nuc_expand_typed(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_arg *stated = &node->args[dtype_index(node)];
    enum nuc_dtype dtype = stated->kind == NUC_ARG_DTYPE ? stated->u.dtype : NUC_F64;
    struct nuc_node *input = converted(g, node, nuc_operand(g, node, NUC_SELF), dtype);
    struct nuc_node *value = nuc_insert(g, node, node->op, node);

    nuc_set_arg_node(value, g, NUC_SELF, input);
    for (uint32_t i = 1; i < node->n_args; i++) {
        if (i != dtype_index(node))
            nuc_copy_arg(g, value, i, node, i);
    }
    nuc_infer_shape(g, value);
    return nuc_insert_cast(g, node, value, dtype);
}

/* ---- other names of sums, products, extrema ---- */

struct nuc_node *nuc_expand_mean(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = converted(g, node, nuc_operand(g, node, NUC_SELF), node->vals[0].dtype);

    return nuc_insert_cast(g, node, reduce(g, node, NUC_OP_MEAN_DIM, input, ALL_DIMS, false), node->vals[0].dtype);
}

struct nuc_node *nuc_expand_prod(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF);
    const struct nuc_arg *dtype = nuc_arg_at(node, NUC_ARG(PROD, dtype));

    if (dtype->kind == NUC_ARG_DTYPE)
        input = nuc_insert_cast(g, node, input, dtype->u.dtype);
    struct nuc_meta flat = nuc_meta_make(NUC_F32, (const int64_t[]){nuc_elements(&input->vals[0])}, 1);
    struct nuc_node *product = reduce(g, node, NUC_OP_PROD_DIM, reshaped(g, node, input, &flat), nuc_int_arg(0), false);
    return nuc_insert_cast(g, node, product, node->vals[0].dtype);
}

struct nuc_node *nuc_expand_extreme(struct nuc_graph *g, struct nuc_node *node)
{
    return reduce(g, node, node->op == NUC_OP_MAX_ALL ? NUC_OP_AMAX : NUC_OP_AMIN, nuc_operand(g, node, NUC_SELF),
                  ALL_DIMS, false);
}

/* Items that nothing reads are not built: dead nodes go. */
struct nuc_node *nuc_expand_extreme_dim(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF);
    bool largest = node->op == NUC_OP_MAX_DIM, keepdim = nuc_flag(node, NUC_ARG(MAX_DIM, keepdim));
    struct nuc_arg dim = nuc_int_arg(nuc_integer(node, NUC_ARG(MAX_DIM, dim), 0));

    nuc_replace_item(
        g, node, 0,
        reduce(g, node, largest ? NUC_OP_AMAX : NUC_OP_AMIN, input, dims_of(g, node, NUC_ARG(MAX_DIM, dim)), keepdim));
    nuc_replace_item(g, node, 1, reduce(g, node, largest ? NUC_OP_ARGMAX : NUC_OP_ARGMIN, input, dim, keepdim));
    return NULL;
}

struct nuc_node *nuc_expand_aminmax(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF);
    struct nuc_arg dims = dims_of(g, node, NUC_ARG(AMINMAX, dim));
    bool keepdim = nuc_flag(node, NUC_ARG(AMINMAX, keepdim));

    nuc_replace_item(g, node, 0, reduce(g, node, NUC_OP_AMIN, input, dims, keepdim));
    nuc_replace_item(g, node, 1, reduce(g, node, NUC_OP_AMAX, input, dims, keepdim));
    return NULL;
}

/* ---- any, all ---- */

bool nuc_reduces_nothing(const struct nuc_node *node)
{
    const struct nuc_arg *dims = nuc_arg_at(node, NUC_ARG(ANY_DIMS, dim));

    return dims->kind == NUC_ARG_INTS && dims->count == 0;
}

/* any(input) over the dimensions of `node`; an empty list reduces none. */
static struct nuc_node *any_of(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input)
{
    bool keepdim = node->n_args > NUC_ARG(ANY_DIMS, keepdim) && nuc_flag(node, NUC_ARG(ANY_DIMS, keepdim));
    struct nuc_arg list = dims_of(g, node, NUC_ARG(ANY_DIMS, dim));

    if (nuc_reduces_nothing(node))
        return nuc_insert_cast(g, node, input, NUC_BOOL);
    return reduce(g, node, NUC_OP_ANY_DIMS, input, list.count == 0 ? (struct nuc_arg){.kind = NUC_ARG_NONE} : list,
                  keepdim);
}

struct nuc_node *nuc_expand_any(struct nuc_graph *g, struct nuc_node *node)
{
    return any_of(g, node, nuc_operand(g, node, NUC_SELF));
}

/* not any(not x) */
struct nuc_node *nuc_expand_all(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *not_x = nuc_insert_unary(g, node, NUC_OP_LOGICAL_NOT, nuc_operand(g, node, NUC_SELF));

    return nuc_insert_unary(g, node, NUC_OP_LOGICAL_NOT, any_of(g, node, not_x));
}

/* ---- variance, deviation ---- */

/* The four forms of each: (self, dim, correction | unbiased, keepdim) and (self, unbiased). */
struct spread {
    struct nuc_arg dims;
    double correction;
    bool keepdim;
};

static struct spread spread_of(struct nuc_graph *g, const struct nuc_node *node)
{
    const struct nuc_arg *dims = nuc_arg_at(node, NUC_ARG(VAR, dim)),
                         *third = nuc_arg_at(node, NUC_ARG(VAR, correction));
    struct spread s = {ALL_DIMS, 1, nuc_flag(node, NUC_ARG(VAR, keepdim))};

    if (dims->kind == NUC_ARG_BOOL) {
        s.correction = dims->u.b ? 1 : 0;
        return s;
    }
    s.dims = dims_of(g, node, NUC_ARG(VAR, dim));
    s.correction = third->kind == NUC_ARG_BOOL ? (third->u.b ? 1 : 0) : nuc_scalar(node, NUC_ARG(VAR, correction), 1);
    return s;
}

static struct nuc_node *variance(struct nuc_graph *g, struct nuc_node *node, const struct spread *s)
{
    return nuc_emit(g, node, NUC_OP_VAR, node,
                    NUC_ARGS(nuc_node_arg(nuc_operand(g, node, NUC_SELF)), s->dims, nuc_float_arg(s->correction),
                             nuc_bool_arg(s->keepdim)));
}

struct nuc_node *nuc_expand_var(struct nuc_graph *g, struct nuc_node *node)
{
    struct spread s = spread_of(g, node);

    return variance(g, node, &s);
}

struct nuc_node *nuc_expand_std(struct nuc_graph *g, struct nuc_node *node)
{
    return nuc_insert_unary(g, node, NUC_OP_SQRT, nuc_expand_var(g, node));
}

static void add_mean(struct nuc_graph *g, struct nuc_node *node)
{
    struct spread s = spread_of(g, node);

    nuc_replace_item(g, node, 1, reduce(g, node, NUC_OP_MEAN_DIM, nuc_operand(g, node, NUC_SELF), s.dims, s.keepdim));
}

struct nuc_node *nuc_expand_var_mean(struct nuc_graph *g, struct nuc_node *node)
{
    nuc_replace_item(g, node, 0, nuc_expand_var(g, node));
    add_mean(g, node);
    return NULL;
}

struct nuc_node *nuc_expand_std_mean(struct nuc_graph *g, struct nuc_node *node)
{
    nuc_replace_item(g, node, 0, nuc_expand_std(g, node));
    add_mean(g, node);
    return NULL;
}

/* ---- softmax and its relatives ---- */

/* clamp(x) to finite numbers: differences from it are those from x, without inf - inf. */
static struct nuc_node *clamped(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x)
{
    return nuc_emit(g, node, NUC_OP_CLAMP, node,
                    NUC_ARGS(nuc_node_arg(x), nuc_float_arg(-(double)FLT_MAX), nuc_float_arg((double)FLT_MAX)));
}

/* log(sum(exp(x - m))) + m, m the largest x. */
struct nuc_node *nuc_expand_logsumexp(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = converted(g, node, nuc_operand(g, node, NUC_SELF), node->vals[0].dtype);
    struct nuc_arg dims = dims_of(g, node, NUC_ARG(LOGSUMEXP, dim));
    bool keepdim = nuc_flag(node, NUC_ARG(LOGSUMEXP, keepdim));
    struct nuc_node *largest = clamped(g, node, reduce(g, node, NUC_OP_AMAX, x, dims, true));
    struct nuc_node *powers = nuc_insert_unary(g, node, NUC_OP_EXP, nuc_insert_binary(g, node, NUC_OP_SUB, x, largest));
    struct nuc_node *sum = reduce(g, node, NUC_OP_SUM_DIM, powers, dims, keepdim);

    if (!keepdim)
        largest = reshaped(g, node, largest, &sum->vals[0]);
    return nuc_insert_binary(g, node, NUC_OP_ADD, nuc_insert_unary(g, node, NUC_OP_LOG, sum), largest);
}

/* ---- norms ---- */

static struct nuc_node *power(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x, double exponent)
{
    return nuc_emit(g, node, NUC_OP_POW_SCALAR, node, NUC_ARGS(nuc_node_arg(x), nuc_float_arg(exponent)));
}

/* 1 where an element is not 0. */
static struct nuc_node *nonzeros(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x)
{
    return x->vals[0].dtype == NUC_BOOL ? x : nuc_insert_with_number(g, node, NUC_OP_NE, x, 0);
}

/* The p-norm of float x: sum(|x|^p)^(1/p), and its limits. */
static struct nuc_node *norm(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x, double p,
                             struct nuc_arg dims, bool keepdim)
{
    struct nuc_node *magnitude = x;

    if (nuc_numbers_equal(p, 2)) {
        struct nuc_node *squares = nuc_insert_binary(g, node, NUC_OP_MUL, x, x);
        return nuc_insert_unary(g, node, NUC_OP_SQRT, reduce(g, node, NUC_OP_SUM_DIM, squares, dims, keepdim));
    }
    if (nuc_numbers_equal(p, 0)) {
        struct nuc_node *ones = nuc_insert_cast(g, node, nonzeros(g, node, x), x->vals[0].dtype);
        return reduce(g, node, NUC_OP_SUM_DIM, ones, dims, keepdim);
    }
    magnitude = nuc_insert_unary(g, node, NUC_OP_ABS, x);
    if (isinf(p))
        return reduce(g, node, p > 0 ? NUC_OP_AMAX : NUC_OP_AMIN, magnitude, dims, keepdim);
    if (nuc_numbers_equal(p, 1))
        return reduce(g, node, NUC_OP_SUM_DIM, magnitude, dims, keepdim);
    struct nuc_node *sum = reduce(g, node, NUC_OP_SUM_DIM, power(g, node, magnitude, p), dims, keepdim);
    return power(g, node, sum, 1 / p);
}

struct nuc_node *nuc_expand_vector_norm(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = converted(g, node, nuc_operand(g, node, NUC_SELF), node->vals[0].dtype);

    if (node->op == NUC_OP_NORM_SCALAR)
        return norm(g, node, x, nuc_scalar(node, NUC_ARG(NORM_SCALAR, p), 2), ALL_DIMS, false);
    /* linalg_vector_norm and norm have their arguments in the same places. */
    struct nuc_node *value =
        norm(g, node, x, nuc_scalar(node, NUC_ARG(VECTOR_NORM, ord), 2), dims_of(g, node, NUC_ARG(VECTOR_NORM, dim)),
             nuc_flag(node, NUC_ARG(VECTOR_NORM, keepdim)));
    return nuc_insert_cast(g, node, value, node->vals[0].dtype);
}

/* Largest or smallest sum of magnitudes of a row or column. */
static struct nuc_node *matrix_norm(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x, double p,
                                    struct nuc_arg dims, bool keepdim)
{
    int64_t rank = x->vals[0].rank, row = dims.count == 2 ? dims.u.ints[0] : -2,
            column = dims.count == 2 ? dims.u.ints[1] : -1;

    if (!isinf(p) && !nuc_numbers_equal(fabs(p), 1))
        nuc_expand_fail(g, node, "the matrix norm of order %g needs singular values: use another one", p);
    row = nuc_positive_dim(row, (uint32_t)rank);
    column = nuc_positive_dim(column, (uint32_t)rank);
    int64_t first = isinf(p) ? column : row, second = isinf(p) ? row : column;
    struct nuc_node *sums =
        reduce(g, node, NUC_OP_SUM_DIM, nuc_insert_unary(g, node, NUC_OP_ABS, x), nuc_ints_arg(&first, 1), true);
    struct nuc_node *extreme = reduce(g, node, p > 0 ? NUC_OP_AMAX : NUC_OP_AMIN, sums, nuc_ints_arg(&second, 1), true);
    return keepdim ? extreme : reshaped(g, node, extreme, &node->vals[0]);
}

struct nuc_node *nuc_expand_linalg_norm(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = converted(g, node, nuc_operand(g, node, NUC_SELF), node->vals[0].dtype);
    bool has_order = nuc_arg_at(node, NUC_ARG(LINALG_NORM, ord))->kind != NUC_ARG_NONE;
    struct nuc_arg dims = dims_of(g, node, NUC_ARG(LINALG_NORM, dim));
    bool keepdim = nuc_flag(node, NUC_ARG(LINALG_NORM, keepdim));
    double p = nuc_scalar(node, NUC_ARG(LINALG_NORM, ord), 2);
    bool matrix = dims.count == 2 || (dims.count == 0 && x->vals[0].rank == 2);

    return has_order && matrix ? matrix_norm(g, node, x, p, dims, keepdim) : norm(g, node, x, p, dims, keepdim);
}

struct nuc_node *nuc_expand_linalg_matrix_norm(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_arg *order = nuc_arg_at(node, NUC_ARG(LINALG_MATRIX_NORM, ord));
    struct nuc_node *x = converted(g, node, nuc_operand(g, node, NUC_SELF), node->vals[0].dtype);

    if (order->kind != NUC_ARG_STRING || strcmp(order->u.string, "fro") != 0)
        nuc_expand_fail(g, node, "the nuclear norm needs singular values: use the Frobenius norm");
    return norm(g, node, x, 2, dims_of(g, node, NUC_ARG(LINALG_MATRIX_NORM, dim)),
                nuc_flag(node, NUC_ARG(LINALG_MATRIX_NORM, keepdim)));
}

struct nuc_node *nuc_expand_dist(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *difference =
        nuc_insert_binary(g, node, NUC_OP_SUB, nuc_operand(g, node, NUC_SELF), nuc_operand(g, node, NUC_OTHER));

    return norm(g, node, difference, nuc_scalar(node, NUC_ARG(DIST, p), 2), ALL_DIMS, false);
}

/* ---- without NaN, without zeros ---- */

/* The input with 0 in place of NaN; *present: where there was none, NULL of integers. */
static struct nuc_node *without_nan(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x,
                                    struct nuc_node **present)
{
    *present = NULL;
    if (!nuc_is_floating(x->vals[0].dtype))
        return x;
    *present = nuc_insert_binary(g, node, NUC_OP_EQ, x, x);
    return nuc_emit(g, node, NUC_OP_WHERE, node,
                    NUC_ARGS(nuc_node_arg(*present), nuc_node_arg(x),
                             nuc_node_arg(nuc_insert_constant(g, node, x->vals[0].dtype, 0))));
}

/* nansum, nanmean: (self, dim, keepdim, dtype) */
struct nuc_node *nuc_expand_nansum(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_arg *dtype = nuc_arg_at(node, NUC_ARG(NANSUM, dtype));
    struct nuc_arg dims = dims_of(g, node, NUC_ARG(NANSUM, dim));
    bool keepdim = nuc_flag(node, NUC_ARG(NANSUM, keepdim));
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF), *present;

    if (dtype->kind == NUC_ARG_DTYPE)
        x = nuc_insert_cast(g, node, x, dtype->u.dtype);
    struct nuc_node *sum = reduce(g, node, NUC_OP_SUM_DIM, without_nan(g, node, x, &present), dims, keepdim);
    if (node->op == NUC_OP_NANSUM)
        return nuc_insert_cast(g, node, sum, node->vals[0].dtype);
    struct nuc_node *count =
        reduce(g, node, NUC_OP_SUM_DIM, nuc_insert_cast(g, node, present, x->vals[0].dtype), dims, keepdim);
    return nuc_insert_binary(g, node, NUC_OP_DIV, sum, count);
}

struct nuc_node *nuc_expand_count_nonzero(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF);

    return reduce(g, node, NUC_OP_SUM_DIM, nonzeros(g, node, x), dims_of(g, node, NUC_ARG(COUNT_NONZERO, dim)), false);
}

/* ---- scans in a logarithmic number of steps: element i joins element i - 1, i - 2, i - 4, ... ---- */

static struct nuc_node *scan(struct nuc_graph *g, struct nuc_node *node, enum nuc_op join, struct nuc_node *x,
                             int64_t dim)
{
    int64_t size = x->vals[0].rank == 0 ? 1 : x->vals[0].sizes[dim];

    for (int64_t shift = 1; shift < size; shift *= 2) {
        struct nuc_node *later = nuc_insert_slice(g, node, x, dim, shift, size);
        struct nuc_node *earlier = nuc_insert_slice(g, node, x, dim, 0, size - shift);
        struct nuc_node *parts[2] = {nuc_insert_slice(g, node, x, dim, 0, shift),
                                     nuc_insert_binary(g, node, join, earlier, later)};
        x = nuc_insert_cat(g, node, parts, 2, dim);
    }
    return x;
}

static int64_t scan_dim(const struct nuc_node *node)
{
    uint32_t rank = nuc_input_meta(node, NUC_SELF)->rank;

    return rank == 0 ? 0 : nuc_dim(node, NUC_ARG(CUMPROD, dim), 0, rank);
}

struct nuc_node *nuc_expand_cumprod(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = converted(g, node, nuc_operand(g, node, NUC_SELF), node->vals[0].dtype);

    return nuc_insert_cast(g, node, scan(g, node, NUC_OP_MUL, x, scan_dim(node)), node->vals[0].dtype);
}

struct nuc_node *nuc_expand_logcumsumexp(struct nuc_graph *g, struct nuc_node *node)
{
    return scan(g, node, NUC_OP_LOGADDEXP, nuc_operand(g, node, NUC_SELF), scan_dim(node));
}

/* 0, 1, 2, ... along the dimension. */
static struct nuc_node *places(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *m, int64_t dim)
{
    int64_t count = m->rank == 0 ? 1 : m->sizes[dim], sizes[NUC_MAX_RANK];
    int64_t *values = nuc_alloc_array(g->cx, (size_t)count + 1, sizeof *values);

    for (int64_t i = 0; i < count; i++)
        values[i] = i;
    for (int64_t d = 0; d < (int64_t)m->rank; d++)
        sizes[d] = d == dim ? count : 1;
    return nuc_insert_indices(g, node, values, sizes, m->rank);
}

/* The place of an extreme is the last of those that are as large as what came up to them, or NaN. */
struct nuc_node *nuc_expand_cummax(struct nuc_graph *g, struct nuc_node *node)
{
    bool largest = node->op == NUC_OP_CUMMAX;
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF);
    int64_t dim = scan_dim(node);
    struct nuc_node *values = scan(g, node, largest ? NUC_OP_MAXIMUM : NUC_OP_MINIMUM, x, dim);
    struct nuc_node *is_new = nuc_insert_binary(g, node, NUC_OP_EQ, x, values);

    if (nuc_is_floating(x->vals[0].dtype))
        is_new = nuc_insert_binary(g, node, NUC_OP_LOGICAL_OR, is_new, nuc_insert_binary(g, node, NUC_OP_NE, x, x));
    struct nuc_node *candidates =
        nuc_emit(g, node, NUC_OP_WHERE, node,
                 NUC_ARGS(nuc_node_arg(is_new), nuc_node_arg(places(g, node, &x->vals[0], dim)),
                          nuc_node_arg(nuc_insert_constant(g, node, NUC_I64, 0))));
    nuc_replace_item(g, node, 0, values);
    nuc_replace_item(g, node, 1, scan(g, node, NUC_OP_MAXIMUM, candidates, dim));
    return NULL;
}

/* ---- differences, areas ---- */

struct nuc_node *nuc_expand_diff(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF), *parts[3];
    int64_t dim = nuc_dim(node, NUC_ARG(DIFF, dim), -1, x->vals[0].rank);
    struct nuc_node *before = nuc_arg_node(node, NUC_ARG(DIFF, prepend));
    struct nuc_node *after = nuc_arg_node(node, NUC_ARG(DIFF, append));
    uint32_t count = 0;

    if (nuc_integer(node, NUC_ARG(DIFF, n), 1) == 0)
        return x;
    if (before != NULL)
        parts[count++] = before;
    parts[count++] = x;
    if (after != NULL)
        parts[count++] = after;
    if (count > 1)
        x = nuc_insert_cat(g, node, parts, count, dim);
    for (int64_t i = 0; i < nuc_integer(node, NUC_ARG(DIFF, n), 1) && x->vals[0].sizes[dim] > 0; i++) {
        int64_t size = x->vals[0].sizes[dim];
        struct nuc_node *later = nuc_insert_slice(g, node, x, dim, 1, size);
        struct nuc_node *earlier = nuc_insert_slice(g, node, x, dim, 0, size - 1);
        enum nuc_op op = x->vals[0].dtype == NUC_BOOL ? NUC_OP_LOGICAL_XOR : NUC_OP_SUB;
        x = nuc_insert_binary(g, node, op, later, earlier);
    }
    return x;
}

/* op(x[1:], x[:-1]) along the dimension */
static struct nuc_node *neighbours(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op, struct nuc_node *x,
                                   int64_t dim)
{
    int64_t size = x->vals[0].sizes[dim];

    return nuc_insert_binary(g, node, op, nuc_insert_slice(g, node, x, dim, 1, size),
                             nuc_insert_slice(g, node, x, dim, 0, size - 1));
}

/* Sum of the means of neighbours, times their distance: a number, or the difference of a vector or tensor. */
struct nuc_node *nuc_expand_trapezoid(struct nuc_graph *g, struct nuc_node *node)
{
    bool even = node->op == NUC_OP_TRAPEZOID;
    struct nuc_node *y = converted(g, node, nuc_operand(g, node, NUC_SELF), node->vals[0].dtype);
    int64_t dim = nuc_dim(node, even ? NUC_ARG(TRAPEZOID, dim) : NUC_ARG(TRAPEZOID_X, dim), -1, y->vals[0].rank);
    struct nuc_node *areas = neighbours(g, node, NUC_OP_ADD, y, dim);
    double factor = even ? nuc_scalar(node, NUC_ARG(TRAPEZOID, dx), 1) / 2 : 0.5;

    if (!even) {
        struct nuc_node *x = nuc_insert_cast(g, node, nuc_operand(g, node, NUC_OTHER), node->vals[0].dtype);
        struct nuc_meta along = nuc_meta_make(NUC_F32, NULL, 0);
        int64_t x_dim = dim - (int64_t)y->vals[0].rank + (int64_t)x->vals[0].rank;
        if (x->vals[0].rank == 1) {
            along.rank = y->vals[0].rank;
            for (int64_t d = 0; d < (int64_t)along.rank; d++)
                along.sizes[d] = d == dim ? x->vals[0].sizes[0] : 1;
            x = reshaped(g, node, x, &along);
            x_dim = dim;
        }
        areas = nuc_insert_binary(g, node, NUC_OP_MUL, areas, neighbours(g, node, NUC_OP_SUB, x, x_dim));
    }
    areas = reduce(g, node, NUC_OP_SUM_DIM, areas, nuc_ints_arg(&dim, 1), false);
    return nuc_insert_with_number(g, node, NUC_OP_MUL, areas, factor);
}
