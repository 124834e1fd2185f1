/* Expansions of what sorts: all of them pick out of a sorted dimension. */
#include "ir/shapes/shapes.h"
#include "rewrite/expand/expand_list.h"

struct sorted {
    struct nuc_node *values, *indices;
};

static struct sorted insert_sort(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x, int64_t dim,
                                 bool descending)
{
    struct nuc_node *sort =
        nuc_emit(g, node, NUC_OP_SORT, node, NUC_ARGS(nuc_node_arg(x), nuc_int_arg(dim), nuc_bool_arg(descending)));

    return (struct sorted){nuc_insert_getitem(g, node, sort, 0), nuc_insert_getitem(g, node, sort, 1)};
}

struct nuc_node *nuc_expand_msort(struct nuc_graph *g, struct nuc_node *node)
{
    return insert_sort(g, node, nuc_operand(g, node, NUC_SELF), 0, false).values;
}

struct nuc_node *nuc_expand_argsort(struct nuc_graph *g, struct nuc_node *node)
{
    bool stable = node->op == NUC_OP_ARGSORT_STABLE;
    uint32_t dim = stable ? NUC_ARG(ARGSORT_STABLE, dim) : NUC_ARG(ARGSORT, dim);
    uint32_t descending = stable ? NUC_ARG(ARGSORT_STABLE, descending) : NUC_ARG(ARGSORT, descending);

    return insert_sort(g, node, nuc_operand(g, node, NUC_SELF), nuc_integer(node, dim, -1), nuc_flag(node, descending))
        .indices;
}

/* Element `at` along the dimension, which goes or becomes one of size 1. */
static struct nuc_node *element(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x, int64_t dim, int64_t at,
                                bool keepdim)
{
    if (x->vals[0].rank == 0)
        return x;
    x = nuc_insert_slice(g, node, x, dim, at, at + 1);
    return keepdim ? x : nuc_insert_with_dim(g, node, NUC_OP_SQUEEZE_DIM, x, dim);
}

static int64_t size_along(const struct nuc_node *x, int64_t dim)
{
    return x->vals[0].rank == 0 ? 1 : x->vals[0].sizes[dim];
}

/* The k smallest are enough. */
struct nuc_node *nuc_expand_kthvalue(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF);
    int64_t dim = nuc_expand_dim(g, node, nuc_integer(node, NUC_ARG(KTHVALUE, dim), -1), x->vals[0].rank),
            k = nuc_integer(node, NUC_ARG(KTHVALUE, k), 0);
    bool keepdim = nuc_flag(node, NUC_ARG(KTHVALUE, keepdim));

    if (k < 1 || k > size_along(x, dim))
        nuc_expand_fail(g, node, "element %lld of %lld is asked for", (long long)k, (long long)size_along(x, dim));
    struct nuc_node *topk = nuc_emit(g, node, NUC_OP_TOPK, node,
                                     NUC_ARGS(nuc_node_arg(x), nuc_int_arg(k), nuc_int_arg(dim), nuc_bool_arg(false)));
    for (uint32_t i = 0; i < 2; i++)
        nuc_replace_item(g, node, i, element(g, node, nuc_insert_getitem(g, node, topk, i), dim, k - 1, keepdim));
    return NULL;
}

/*
 * The lower median of each line, or NaN where there is one: NaN sorts last, so that the last element tells. Where that
 * is NaN, the median is the first NaN, as torch has it.
 */
static struct sorted insert_median(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x, int64_t dim,
                                   bool keepdim)
{
    int64_t size = size_along(x, dim);
    struct sorted all = insert_sort(g, node, x, dim, false);

    if (size == 0)
        nuc_expand_fail(g, node, "the median of no elements does not exist");
    struct nuc_node *value = element(g, node, all.values, dim, (size - 1) / 2, keepdim);
    struct nuc_node *index = element(g, node, all.indices, dim, (size - 1) / 2, keepdim);
    if (!nuc_is_floating(x->vals[0].dtype) || size < 2)
        return (struct sorted){value, index};
    struct nuc_node *last = element(g, node, all.values, dim, size - 1, keepdim);
    struct nuc_node *is_nan = nuc_insert_unary(g, node, NUC_OP_ISNAN, last);
    value =
        nuc_emit(g, node, NUC_OP_WHERE, node, NUC_ARGS(nuc_node_arg(is_nan), nuc_node_arg(last), nuc_node_arg(value)));
    return (struct sorted){value, index};
}

/* The median of the numbers of each line; NaN only where there is none. */
static struct sorted insert_nanmedian(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x, int64_t dim,
                                      bool keepdim)
{
    if (!nuc_is_floating(x->vals[0].dtype) || x->vals[0].rank == 0)
        return insert_median(g, node, x, dim, keepdim);
    struct sorted all = insert_sort(g, node, x, dim, false);
    struct nuc_node *none = nuc_insert_cast(g, node, nuc_insert_unary(g, node, NUC_OP_ISNAN, x), NUC_I64);
    struct nuc_node *count = nuc_insert_sum(g, node, none, &dim, 1, true);
    /* (size - NaNs - 1) / 2, no less than 0 */
    count = nuc_insert_binary(g, node, NUC_OP_SUB,
                              nuc_insert_constant(g, node, NUC_I64, (double)size_along(x, dim) - 1.0), count);
    count = nuc_insert_with_number(g, node, NUC_OP_MAXIMUM, count, 0.0);
    count = nuc_insert_with_number(g, node, NUC_OP_FLOOR_DIVIDE, count, 2.0);
    struct nuc_node *items[2] = {all.values, all.indices};
    for (int i = 0; i < 2; i++) {
        items[i] = nuc_emit(g, node, NUC_OP_GATHER, node,
                            NUC_ARGS(nuc_node_arg(items[i]), nuc_int_arg(dim), nuc_node_arg(count)));
        if (!keepdim)
            items[i] = nuc_insert_with_dim(g, node, NUC_OP_SQUEEZE_DIM, items[i], dim);
    }
    return (struct sorted){items[0], items[1]};
}

struct nuc_node *nuc_expand_median(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF);
    const int64_t flat[1] = {nuc_elements(&x->vals[0])};

    x = nuc_insert_reshaped(g, node, x, flat, 1);
    return node->op == NUC_OP_MEDIAN ? insert_median(g, node, x, 0, false).values
                                     : insert_nanmedian(g, node, x, 0, false).values;
}

struct nuc_node *nuc_expand_median_dim(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF);
    int64_t dim = nuc_expand_dim(g, node, nuc_integer(node, NUC_ARG(MEDIAN_DIM, dim), -1), x->vals[0].rank);
    bool keepdim = nuc_flag(node, NUC_ARG(MEDIAN_DIM, keepdim));
    struct sorted median = node->op == NUC_OP_MEDIAN_DIM ? insert_median(g, node, x, dim, keepdim)
                                                         : insert_nanmedian(g, node, x, dim, keepdim);

    nuc_replace_item(g, node, 0, median.values);
    nuc_replace_item(g, node, 1, median.indices);
    return NULL;
}

/* ---- bucketize, searchsorted: how many boundaries lie below ---- */

/*
 * boundaries [.., n] against x [..]: n - the count of those that are not below it. A NaN is above all, as no comparison
 * holds.
 */
static struct nuc_node *count_below(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x,
                                    struct nuc_node *boundaries, bool right)
{
    const int64_t n = boundaries->vals[0].sizes[boundaries->vals[0].rank - 1], last[1] = {-1};

    x = nuc_insert_with_dim(g, node, NUC_OP_UNSQUEEZE, x, -1);
    struct nuc_node *above = nuc_insert_binary(g, node, right ? NUC_OP_GT : NUC_OP_GE, boundaries, x);
    above = nuc_insert_sum(g, node, nuc_insert_cast(g, node, above, NUC_I64), last, 1, false);
    struct nuc_node *all = nuc_insert_constant(g, node, NUC_I64, (double)n);
    return nuc_insert_cast(g, node, nuc_insert_binary(g, node, NUC_OP_SUB, all, above), node->vals[0].dtype);
}

struct nuc_node *nuc_expand_bucketize(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *boundaries = nuc_operand(g, node, NUC_ARG(BUCKETIZE, boundaries));

    if (boundaries->vals[0].rank != 1)
        nuc_expand_fail(g, node, "the boundaries are not a list");
    return count_below(g, node, nuc_operand(g, node, NUC_SELF), boundaries, nuc_flag(node, NUC_ARG(BUCKETIZE, right)));
}

/* Each line of the sequence has its own values, unless there is but one line. */
struct nuc_node *nuc_expand_searchsorted(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *sequence = nuc_operand(g, node, NUC_SELF), *x = nuc_operand(g, node, NUC_ARG(SEARCHSORTED, self)),
                    *sorter = nuc_arg_node(node, NUC_ARG(SEARCHSORTED, sorter));
    const struct nuc_arg *side = nuc_arg_at(node, NUC_ARG(SEARCHSORTED, side));
    bool right =
        nuc_flag(node, NUC_ARG(SEARCHSORTED, right)) || (side->kind == NUC_ARG_STRING && side->u.string[0] == 'r');

    if (sequence->vals[0].rank == 0)
        nuc_expand_fail(g, node, "the sequence is a scalar");
    if (sorter != NULL)
        sequence = nuc_emit(g, node, NUC_OP_GATHER, node,
                            NUC_ARGS(nuc_node_arg(sequence), nuc_int_arg(-1), nuc_node_arg(sorter)));
    if (sequence->vals[0].rank > 1)
        sequence = nuc_insert_with_dim(g, node, NUC_OP_UNSQUEEZE, sequence, -2);
    return count_below(g, node, x, sequence, right);
}

/* ---- Edge form ---- */

/* Every sort is stable. */
struct nuc_node *nuc_to_sort(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *sort = nuc_insert(g, node, NUC_OP_SORT_STABLE, node);

    nuc_copy_arg(g, sort, NUC_SELF, node, NUC_SELF);
    nuc_set_arg_bool(sort, NUC_ARG(SORT_STABLE, stable), true);
    nuc_copy_arg(g, sort, NUC_ARG(SORT_STABLE, dim), node, NUC_ARG(SORT, dim));
    nuc_copy_arg(g, sort, NUC_ARG(SORT_STABLE, descending), node, NUC_ARG(SORT, descending));
    nuc_infer_shape(g, sort);
    return sort;
}

/* ExecuTorch has no sort. */
struct nuc_node *nuc_to_topk_of_all(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF);
    bool stable = node->op == NUC_OP_SORT_STABLE;
    int64_t dim = nuc_dim(node, stable ? NUC_ARG(SORT_STABLE, dim) : NUC_ARG(SORT, dim), -1, x->vals[0].rank);
    bool descending = nuc_flag(node, stable ? NUC_ARG(SORT_STABLE, descending) : NUC_ARG(SORT, descending));

    return nuc_emit(g, node, NUC_OP_TOPK, node,
                    NUC_ARGS(nuc_node_arg(x), nuc_int_arg(size_along(x, dim)), nuc_int_arg(dim),
                             nuc_bool_arg(descending), nuc_bool_arg(true)));
}
