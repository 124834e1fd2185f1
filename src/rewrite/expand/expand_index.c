/* Expansions of choice by values: gathering, scattering, embeddings. */
#include <math.h>
#include <string.h>

#include "ir/shapes/shapes.h"
#include "rewrite/expand/expand_list.h"
#include "rewrite/known.h"

/* ---- picking ---- */

static struct nuc_node *insert_where(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *condition,
                                     struct nuc_node *a, struct nuc_node *b)
{
    return nuc_emit(g, node, NUC_OP_WHERE, node, NUC_ARGS(nuc_node_arg(condition), nuc_node_arg(a), nuc_node_arg(b)));
}

static struct nuc_node *flattened(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x)
{
    const int64_t size[1] = {nuc_elements(&x->vals[0])};

    return nuc_insert_reshaped(g, node, x, size, 1);
}

/* The dimensions but `dim` broadcast against each other. */
static struct nuc_node *broadcast_but(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x,
                                      const struct nuc_meta *other, int64_t dim)
{
    int64_t sizes[NUC_MAX_RANK];
    bool same = true;

    for (uint32_t d = 0; d < x->vals[0].rank; d++) {
        bool wider = (int64_t)d != dim && x->vals[0].sizes[d] == 1;
        sizes[d] = wider ? other->sizes[d] : x->vals[0].sizes[d];
        same = same && sizes[d] == x->vals[0].sizes[d];
    }
    return same ? x : nuc_insert_expand(g, node, x, sizes, x->vals[0].rank);
}

/* Negative indices count from the end. */
static struct nuc_node *from_front(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *index, int64_t size)
{
    struct nuc_node *below = nuc_insert_with_number(g, node, NUC_OP_LT, index, 0.0);
    struct nuc_node *moved = nuc_insert_with_number(g, node, NUC_OP_ADD, index, (double)size);

    return insert_where(g, node, below, moved, index);
}

struct nuc_node *nuc_expand_take_along_dim(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF),
                    *index = nuc_operand(g, node, NUC_ARG(TAKE_ALONG_DIM, indices));
    int64_t dim = 0;

    if (nuc_arg_at(node, NUC_ARG(TAKE_ALONG_DIM, dim))->kind != NUC_ARG_INT) {
        x = flattened(g, node, x);
        index = flattened(g, node, index);
    } else {
        if (x->vals[0].rank != index->vals[0].rank)
            nuc_expand_fail(g, node, "values and indices differ in rank");
        dim = nuc_expand_dim(g, node, nuc_integer(node, NUC_ARG(TAKE_ALONG_DIM, dim), 0), x->vals[0].rank);
        struct nuc_meta of_x = x->vals[0];
        x = broadcast_but(g, node, x, &index->vals[0], dim);
        index = broadcast_but(g, node, index, &of_x, dim);
    }
    index = from_front(g, node, index, x->vals[0].rank == 0 ? 1 : x->vals[0].sizes[dim]);
    return nuc_emit(g, node, NUC_OP_GATHER, node, NUC_ARGS(nuc_node_arg(x), nuc_int_arg(dim), nuc_node_arg(index)));
}

/* Indices into the flattened tensor, negative ones from its end. */
struct nuc_node *nuc_expand_take(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *index = nuc_operand(g, node, NUC_ARG(TAKE, index));

    return nuc_emit(
        g, node, NUC_OP_INDEX, node,
        NUC_ARGS(nuc_node_arg(flattened(g, node, nuc_operand(g, node, NUC_SELF))), nuc_nodes_arg(&index, 1)));
}

struct nuc_node *nuc_expand_unsafe_index(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_arg *list = nuc_arg_at(node, NUC_ARG(UNSAFE_INDEX, indices));

    return nuc_emit(g, node, NUC_OP_INDEX, node,
                    NUC_ARGS(nuc_node_arg(nuc_operand(g, node, NUC_SELF)), nuc_nodes_arg(list->u.nodes, list->count)));
}

/* ---- writing ---- */

static struct nuc_node *insert_put(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *self,
                                   struct nuc_node **indices, uint32_t count, struct nuc_node *values, bool accumulate)
{
    return nuc_emit(
        g, node, NUC_OP_INDEX_PUT, node,
        NUC_ARGS(nuc_node_arg(self), nuc_nodes_arg(indices, count), nuc_node_arg(values), nuc_bool_arg(accumulate)));
}

/* Indices that are one mask of bool. */
static struct nuc_node *only_mask(const struct nuc_arg *list)
{
    struct nuc_node *mask = NULL;

    for (uint32_t i = 0; i < list->count; i++) {
        struct nuc_node *index = list->u.nodes[i];
        if (index == NULL)
            continue;
        if (mask != NULL || i != 0 || index->vals[0].dtype != NUC_BOOL)
            return NULL;
        mask = index;
    }
    return mask;
}

/* The masked elements become one value, or the values along the dimensions after the mask. */
static struct nuc_node *masked_put(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *mask, bool accumulate)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF), *values = nuc_operand(g, node, NUC_ARG(INDEX_PUT, values));
    uint32_t rank = self->vals[0].rank, whole = rank - mask->vals[0].rank;

    /* [chosen, ...]: as the number of chosen elements is not known, one for all of them. */
    if (values->vals[0].rank > whole + 1 || (values->vals[0].rank == whole + 1 && values->vals[0].sizes[0] != 1))
        nuc_expand_fail(g, node, "the values for a mask have a shape that depends on data: use masked_fill or where");
    if (values->vals[0].rank == whole + 1)
        values = nuc_insert_reshaped(g, node, values, values->vals[0].sizes + 1, whole);
    for (uint32_t i = 0; i < whole; i++)
        mask = nuc_insert_with_dim(g, node, NUC_OP_UNSQUEEZE, mask, -1);
    if (accumulate)
        values = nuc_insert_binary(g, node, NUC_OP_ADD, self, values);
    return insert_where(g, node, mask, values, self);
}

bool nuc_has_masks(const struct nuc_node *node)
{
    const struct nuc_arg *list = nuc_arg_at(node, NUC_ARG(INDEX_PUT, indices));

    for (uint32_t i = 0; i < list->count; i++) {
        if (list->u.nodes[i] != NULL && list->u.nodes[i]->vals[0].dtype == NUC_BOOL)
            return true;
    }
    return false;
}

struct nuc_node *nuc_expand_index_put(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_arg *list = nuc_arg_at(node, NUC_ARG(INDEX_PUT, indices));
    struct nuc_node *mask = only_mask(list), *values = nuc_operand(g, node, NUC_ARG(INDEX_PUT, values));
    bool accumulate = nuc_flag(node, NUC_ARG(INDEX_PUT, accumulate));

    if (mask != NULL)
        return masked_put(g, node, mask, accumulate);
    if (nuc_has_masks(node))
        nuc_expand_fail(g, node, "mixes a mask with other indices: use where");
    return insert_put(g, node, nuc_operand(g, node, NUC_SELF), list->u.nodes, list->count, values, accumulate);
}

/* One index tensor along a dimension, others whole. */
static struct nuc_node *put_along(struct nuc_graph *g, struct nuc_node *node, uint32_t dim_arg, struct nuc_node *index,
                                  struct nuc_node *values, bool accumulate)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF), *indices[NUC_MAX_RANK] = {NULL};
    uint32_t rank = self->vals[0].rank;
    const int64_t one[1] = {1};
    bool scalar = rank == 0;

    if (scalar)
        self = nuc_insert_reshaped(g, node, self, one, 1);
    int64_t dim = scalar ? 0 : nuc_expand_dim(g, node, nuc_integer(node, dim_arg, 0), rank);
    if (index->vals[0].rank == 0)
        index = nuc_insert_reshaped(g, node, index, one, 1);
    indices[dim] = index;
    struct nuc_node *put = insert_put(g, node, self, indices, (uint32_t)dim + 1, values, accumulate);
    return scalar ? nuc_insert_reshaped(g, node, put, NULL, 0) : put;
}

/* The source of index_add and index_copy; a scalar stands for one element along the dimension. */
static struct nuc_node *source_of(struct nuc_graph *g, struct nuc_node *node, uint32_t arg)
{
    return nuc_insert_cast(g, node, nuc_operand(g, node, arg), nuc_operand(g, node, NUC_SELF)->vals[0].dtype);
}

struct nuc_node *nuc_expand_index_add(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *source = source_of(g, node, NUC_ARG(INDEX_ADD, source));
    double alpha = nuc_scalar(node, NUC_ARG(INDEX_ADD, alpha), 1.0);

    if (!nuc_numbers_equal(alpha, 1.0))
        source = nuc_insert_with_number(g, node, NUC_OP_MUL, source, alpha);
    return put_along(g, node, NUC_ARG(INDEX_ADD, dim), nuc_operand(g, node, NUC_ARG(INDEX_ADD, index)), source, true);
}

struct nuc_node *nuc_expand_index_copy(struct nuc_graph *g, struct nuc_node *node)
{
    return put_along(g, node, NUC_ARG(INDEX_COPY, dim), nuc_operand(g, node, NUC_ARG(INDEX_COPY, index)),
                     source_of(g, node, NUC_ARG(INDEX_COPY, source)), false);
}

struct nuc_node *nuc_expand_index_fill(struct nuc_graph *g, struct nuc_node *node)
{
    enum nuc_dtype dtype = nuc_operand(g, node, NUC_SELF)->vals[0].dtype;
    struct nuc_node *value =
        node->op == NUC_OP_INDEX_FILL
            ? nuc_insert_constant(g, node, dtype, nuc_scalar(node, NUC_ARG(INDEX_FILL, value), 0.0))
            : source_of(g, node, NUC_ARG(INDEX_FILL_TENSOR, value));

    return put_along(g, node, NUC_ARG(INDEX_FILL, dim), nuc_operand(g, node, NUC_ARG(INDEX_FILL, index)), value, false);
}

struct nuc_node *nuc_expand_select_scatter(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF), *src = nuc_operand(g, node, NUC_ARG(SELECT_SCATTER, src));
    int64_t dim = nuc_dim(node, NUC_ARG(SELECT_SCATTER, dim), 0, self->vals[0].rank);
    int64_t index =
        nuc_positive_dim(nuc_integer(node, NUC_ARG(SELECT_SCATTER, index), 0), (uint32_t)self->vals[0].sizes[dim]);

    src = nuc_insert_with_dim(g, node, NUC_OP_UNSQUEEZE, nuc_insert_cast(g, node, src, self->vals[0].dtype), dim);
    return nuc_emit(
        g, node, NUC_OP_SLICE_SCATTER, node,
        NUC_ARGS(nuc_node_arg(self), nuc_node_arg(src), nuc_int_arg(dim), nuc_int_arg(index), nuc_int_arg(index + 1)));
}

/* The two dimensions in front, where two lists of indices name the diagonal. */
struct nuc_node *nuc_expand_diagonal_scatter(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF), *src = nuc_operand(g, node, NUC_ARG(DIAGONAL_SCATTER, src));
    uint32_t rank = self->vals[0].rank, at = 2;
    int64_t first = nuc_expand_dim(g, node, nuc_integer(node, NUC_ARG(DIAGONAL_SCATTER, dim1), 0), rank);
    int64_t second = nuc_expand_dim(g, node, nuc_integer(node, NUC_ARG(DIAGONAL_SCATTER, dim2), 1), rank);
    int64_t offset = nuc_integer(node, NUC_ARG(DIAGONAL_SCATTER, offset), 0);
    int64_t dims[NUC_MAX_RANK] = {first, second}, back[NUC_MAX_RANK], of_src[NUC_MAX_RANK];

    if (rank < 2 || first == second || src->vals[0].rank + 1u != rank)
        nuc_expand_fail(g, node, "the values do not fit a diagonal");
    int64_t size = src->vals[0].sizes[rank - 2];
    int64_t *places = nuc_alloc_array(g->cx, 2 * (size_t)size, sizeof *places);

    for (uint32_t d = 0; d < rank; d++) {
        if ((int64_t)d != first && (int64_t)d != second)
            dims[at++] = d;
    }
    for (uint32_t d = 0; d < rank; d++)
        back[dims[d]] = d;
    of_src[0] = rank - 2;
    for (uint32_t d = 1; d + 1 < rank; d++)
        of_src[d] = d - 1;
    for (int64_t i = 0; i < size; i++) {
        places[i] = i + (offset < 0 ? -offset : 0);
        places[size + i] = i + (offset > 0 ? offset : 0);
    }
    struct nuc_node *indices[2] = {nuc_insert_indices(g, node, places, &size, 1),
                                   nuc_insert_indices(g, node, places + size, &size, 1)};
    src = nuc_insert_permuted(g, node, nuc_insert_cast(g, node, src, self->vals[0].dtype), of_src);
    struct nuc_node *put = insert_put(g, node, nuc_insert_permuted(g, node, self, dims), indices, 2, src, false);
    return nuc_insert_permuted(g, node, put, back);
}

/* ---- scattering with a reduction ---- */

/* What changes nothing: a number to begin with where self is left out. */
static double neutral(const char *reduce, enum nuc_dtype dtype)
{
    bool real = nuc_is_floating(dtype);
    double least = dtype == NUC_I32 ? INT32_MIN : dtype == NUC_I64 ? -0x1p62 : dtype == NUC_BOOL ? 0 : INT8_MIN;

    if (strcmp(reduce, "prod") == 0)
        return 1.0;
    if (strcmp(reduce, "amax") == 0)
        return real ? -HUGE_VAL : dtype == NUC_U8 ? 0 : least;
    if (strcmp(reduce, "amin") == 0)
        return real ? HUGE_VAL : dtype == NUC_U8 ? UINT8_MAX : dtype == NUC_BOOL ? 1 : -(least + 1);
    return 0.0;
}

static struct nuc_node *scatter_number(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *self, int64_t dim,
                                       struct nuc_node *index, double number)
{
    return nuc_emit(g, node, NUC_OP_SCATTER_VALUE, node,
                    NUC_ARGS(nuc_node_arg(self), nuc_int_arg(dim), nuc_node_arg(index), nuc_float_arg(number)));
}

static struct nuc_node *scatter_add(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *self, int64_t dim,
                                    struct nuc_node *index, struct nuc_node *src)
{
    return nuc_emit(g, node, NUC_OP_SCATTER_ADD, node,
                    NUC_ARGS(nuc_node_arg(self), nuc_int_arg(dim), nuc_node_arg(index), nuc_node_arg(src)));
}

static struct nuc_node *constant_like(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *like,
                                      double number)
{
    struct nuc_node *one = nuc_insert_constant(g, node, like->dtype, number);

    return nuc_insert_expand(g, node, one, like->sizes, like->rank);
}

/* The sum, divided by the number of values: rounded down where they are integers. */
static struct nuc_node *scatter_mean(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *self, int64_t dim,
                                     struct nuc_node *index, struct nuc_node *src, bool include_self)
{
    struct nuc_meta ones = index->vals[0];
    ones.dtype = self->vals[0].dtype;

    struct nuc_node *count = constant_like(g, node, &self->vals[0], include_self ? 1.0 : 0.0);
    count = scatter_add(g, node, count, dim, index, constant_like(g, node, &ones, 1.0));
    if (!include_self)
        count = nuc_insert_with_number(g, node, NUC_OP_MAXIMUM, count, 1.0);
    struct nuc_node *sum = scatter_add(g, node, self, dim, index, src);
    if (nuc_is_floating(ones.dtype))
        return nuc_insert_binary(g, node, NUC_OP_DIV, sum, count);
    return nuc_insert_binary(g, node, NUC_OP_FLOOR_DIVIDE, sum, count);
}

/* Where a reduction is to leave out self, the elements that it meets begin with what changes nothing. */
static struct nuc_node *scatter_reduce(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *self, int64_t dim,
                                       struct nuc_node *index, struct nuc_node *src, const char *reduce,
                                       bool include_self)
{
    if (!include_self)
        self = scatter_number(g, node, self, dim, index, neutral(reduce, self->vals[0].dtype));
    if (strcmp(reduce, "mean") == 0)
        return scatter_mean(g, node, self, dim, index, src, include_self);
    if (strcmp(reduce, "sum") == 0)
        return scatter_add(g, node, self, dim, index, src);
    struct nuc_node *value = nuc_insert(g, node, NUC_OP_SCATTER_REDUCE, node);
    nuc_set_args(g, value, NUC_ARGS(nuc_node_arg(self), nuc_int_arg(dim), nuc_node_arg(index), nuc_node_arg(src)));
    nuc_set_arg_string(value, NUC_ARG(SCATTER_REDUCE, reduce), reduce);
    nuc_set_arg_bool(value, NUC_ARG(SCATTER_REDUCE, include_self), true);
    nuc_infer_shape(g, value);
    return value;
}

static const char *text_of(struct nuc_graph *g, struct nuc_node *node, uint32_t arg)
{
    const struct nuc_arg *text = nuc_arg_at(node, arg);

    if (text->kind != NUC_ARG_STRING)
        nuc_expand_fail(g, node, "does not say which reduction is meant");
    return text->u.string;
}

bool nuc_is_mixed_reduction(const struct nuc_node *node)
{
    const struct nuc_arg *reduce = nuc_arg_at(node, NUC_ARG(SCATTER_REDUCE, reduce));

    return reduce->kind != NUC_ARG_STRING || !nuc_flag(node, NUC_ARG(SCATTER_REDUCE, include_self)) ||
           strcmp(reduce->u.string, "mean") == 0 || strcmp(reduce->u.string, "sum") == 0;
}

struct nuc_node *nuc_expand_scatter_reduce(struct nuc_graph *g, struct nuc_node *node)
{
    return scatter_reduce(
        g, node, nuc_operand(g, node, NUC_SELF), nuc_integer(node, NUC_ARG(SCATTER_REDUCE, dim), 0),
        nuc_operand(g, node, NUC_ARG(SCATTER_REDUCE, index)), nuc_operand(g, node, NUC_ARG(SCATTER_REDUCE, src)),
        text_of(g, node, NUC_ARG(SCATTER_REDUCE, reduce)), nuc_flag(node, NUC_ARG(SCATTER_REDUCE, include_self)));
}

/* "add" and "multiply" of the older forms. */
static const char *reduction_named(struct nuc_graph *g, struct nuc_node *node, uint32_t arg)
{
    const char *name = text_of(g, node, arg);

    return strcmp(name, "add") == 0 ? "sum" : strcmp(name, "multiply") == 0 ? "prod" : name;
}

struct nuc_node *nuc_expand_scatter_of(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF), *index = nuc_operand(g, node, NUC_ARG(SCATTER, index));
    const char *reduce = reduction_named(g, node, NUC_ARG(SCATTER_SRC_REDUCE, reduce));
    struct nuc_meta like = index->vals[0];
    like.dtype = self->vals[0].dtype;

    struct nuc_node *src =
        node->op == NUC_OP_SCATTER_SRC_REDUCE
            ? nuc_operand(g, node, NUC_ARG(SCATTER_SRC_REDUCE, src))
            : constant_like(g, node, &like, nuc_scalar(node, NUC_ARG(SCATTER_VALUE_REDUCE, value), 0.0));
    return scatter_reduce(g, node, self, nuc_integer(node, NUC_ARG(SCATTER, dim), 0), index, src, reduce, true);
}

/* One list of indices along the dimension: the same for all lines. */
struct nuc_node *nuc_expand_index_reduce(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF), *index = nuc_operand(g, node, NUC_ARG(INDEX_REDUCE, index)),
                    *source = source_of(g, node, NUC_ARG(INDEX_REDUCE, source));
    uint32_t rank = self->vals[0].rank;
    int64_t dim = nuc_expand_dim(g, node, nuc_integer(node, NUC_ARG(INDEX_REDUCE, dim), 0), rank), sizes[NUC_MAX_RANK];

    for (uint32_t d = 0; d < rank; d++)
        sizes[d] = (int64_t)d == dim ? nuc_elements(&index->vals[0]) : 1;
    index = nuc_insert_reshaped(g, node, index, sizes, rank);
    if (rank > 0)
        index = nuc_insert_expand(g, node, index, source->vals[0].sizes, source->vals[0].rank);
    return scatter_reduce(g, node, self, dim, index, source, text_of(g, node, NUC_ARG(INDEX_REDUCE, reduce)),
                          nuc_flag(node, NUC_ARG(INDEX_REDUCE, include_self)));
}

/* ---- embedding_bag ---- */

/* Bags of indices of which each gives one row: their sum, mean or largest values. */
struct bags {
    struct nuc_graph *g;
    struct nuc_node *node;
    struct nuc_node *weight, *indices, *offsets, *factors;
    int64_t mode; /* 0: sum, 1: mean, 2: largest */
    int64_t count, n;
    struct nuc_node *member; /* bool [count, n]: which index is in which bag */
};

/* Of index i and bag b: offsets[b] <= i, and i < offsets[b + 1] unless it is the last. */
static void find_members(struct bags *b, bool last_offset, int64_t padding)
{
    struct nuc_graph *g = b->g;
    struct nuc_node *node = b->node;
    int64_t *places = nuc_alloc_array(g->cx, (size_t)b->n + 1, sizeof *places);
    const int64_t row[2] = {1, b->n}, column[2] = {b->count, 1};

    for (int64_t i = 0; i < b->n; i++)
        places[i] = i;
    struct nuc_node *place = nuc_insert_indices(g, node, places, row, 2);
    struct nuc_node *offsets = nuc_insert_cast(g, node, b->offsets, NUC_I64);
    struct nuc_node *first = offsets, *end = NULL;
    if (last_offset) {
        first = nuc_insert_slice(g, node, offsets, 0, 0, b->count);
        end = nuc_insert_slice(g, node, offsets, 0, 1, b->count + 1);
    } else {
        const int64_t one[1] = {1};
        struct nuc_node *parts[2] = {nuc_insert_slice(g, node, offsets, 0, 1, b->count),
                                     nuc_insert_indices(g, node, &b->n, one, 1)};
        end = b->count > 1 ? nuc_insert_cat(g, node, parts, 2, 0) : parts[1];
    }
    struct nuc_node *after =
        nuc_insert_binary(g, node, NUC_OP_GE, place, nuc_insert_reshaped(g, node, first, column, 2));
    struct nuc_node *before =
        nuc_insert_binary(g, node, NUC_OP_LT, place, nuc_insert_reshaped(g, node, end, column, 2));
    b->member = nuc_insert_binary(g, node, NUC_OP_LOGICAL_AND, after, before);
    if (padding < 0)
        return;
    struct nuc_node *real = nuc_insert_with_number(g, node, NUC_OP_NE, b->indices, (double)padding);
    b->member = nuc_insert_binary(g, node, NUC_OP_LOGICAL_AND, b->member, nuc_insert_reshaped(g, node, real, row, 2));
}

static struct nuc_node *bag_sizes(const struct bags *b, enum nuc_dtype dtype)
{
    const int64_t last[1] = {1};

    return nuc_insert_sum(b->g, b->node, nuc_insert_cast(b->g, b->node, b->member, dtype), last, 1, false);
}

/* Largest values of each bag, 0 of an empty one. */
static struct nuc_node *largest_of_bags(const struct bags *b, struct nuc_node *rows)
{
    struct nuc_graph *g = b->g;
    struct nuc_node *node = b->node;
    const int64_t dim[1] = {1}, column[2] = {b->count, 1};

    rows = nuc_insert_with_dim(g, node, NUC_OP_UNSQUEEZE, rows, 0);
    struct nuc_node *inside = nuc_insert_with_dim(g, node, NUC_OP_UNSQUEEZE, b->member, 2);
    struct nuc_node *least = nuc_insert_constant(g, node, NUC_F32, (double)-INFINITY);
    struct nuc_node *most =
        nuc_emit(g, node, NUC_OP_AMAX, node,
                 NUC_ARGS(nuc_node_arg(insert_where(g, node, inside, rows, least)), nuc_ints_arg(dim, 1)));
    struct nuc_node *some = nuc_insert_with_number(g, node, NUC_OP_GT, bag_sizes(b, NUC_I64), 0.0);
    return insert_where(g, node, nuc_insert_reshaped(g, node, some, column, 2), most,
                        nuc_insert_constant(g, node, NUC_F32, 0.0));
}

static struct nuc_node *sum_of_bags(const struct bags *b, struct nuc_node *rows)
{
    struct nuc_graph *g = b->g;
    struct nuc_node *node = b->node;
    const int64_t column[2] = {b->count, 1}, list[2] = {b->n, 1};

    if (b->factors != NULL)
        rows = nuc_insert_binary(g, node, NUC_OP_MUL, rows, nuc_insert_reshaped(g, node, b->factors, list, 2));
    struct nuc_node *sum = nuc_insert_binary(g, node, NUC_OP_MM, nuc_insert_cast(g, node, b->member, NUC_F32), rows);
    if (b->mode == 0)
        return sum;
    struct nuc_node *size = nuc_insert_with_number(g, node, NUC_OP_MAXIMUM, bag_sizes(b, NUC_F32), 1.0);
    return nuc_insert_binary(g, node, NUC_OP_DIV, sum, nuc_insert_reshaped(g, node, size, column, 2));
}

/* How many indices each bag has when all have as many, which is known; else 0. */
static int64_t common_size(const struct bags *b, bool last_offset)
{
    const int64_t *offsets = nuc_known_integers(b->g, b->offsets);
    int64_t size = b->count < 1 ? 0 : b->n / b->count;

    if (offsets == NULL || size * b->count != b->n)
        return 0;
    for (int64_t i = 0; i < b->count + (last_offset ? 1 : 0); i++) {
        if (offsets[i] != i * size)
            return 0;
    }
    return size;
}

/* Bags of one size lie as a dimension of their own. */
static struct nuc_node *reduce_bags(const struct bags *b, struct nuc_node *rows, int64_t size)
{
    static const enum nuc_op ops[3] = {NUC_OP_SUM_DIM, NUC_OP_MEAN_DIM, NUC_OP_AMAX};
    int64_t width = rows->vals[0].sizes[1];
    const int64_t sizes[3] = {b->count, size, width}, dim[1] = {1}, list[2] = {b->n, 1};

    if (b->factors != NULL)
        rows =
            nuc_insert_binary(b->g, b->node, NUC_OP_MUL, rows, nuc_insert_reshaped(b->g, b->node, b->factors, list, 2));
    rows = nuc_insert_reshaped(b->g, b->node, rows, sizes, 3);
    return nuc_emit(b->g, b->node, ops[b->mode], b->node, NUC_ARGS(nuc_node_arg(rows), nuc_ints_arg(dim, 1)));
}

/* output; the three results that only training needs are not computed. */
struct nuc_node *nuc_expand_embedding_bag(struct nuc_graph *g, struct nuc_node *node)
{
    bool last_offset = nuc_flag(node, NUC_ARG(EMBEDDING_BAG, include_last_offset));
    int64_t padding =
        node->op == NUC_OP_EMBEDDING_BAG ? -1 : nuc_integer(node, NUC_ARG(EMBEDDING_BAG_PADDED, padding_idx), -1);
    struct bags b = {.g = g,
                     .node = node,
                     .weight = nuc_operand(g, node, NUC_ARG(EMBEDDING_BAG, weight)),
                     .indices = nuc_operand(g, node, NUC_ARG(EMBEDDING_BAG, indices)),
                     .offsets = nuc_operand(g, node, NUC_ARG(EMBEDDING_BAG, offsets)),
                     .factors = nuc_arg_node(node, NUC_ARG(EMBEDDING_BAG, per_sample_weights)),
                     .mode = nuc_integer(node, NUC_ARG(EMBEDDING_BAG, mode), 0)};

    if (b.indices->vals[0].rank != 1 || b.offsets->vals[0].rank != 1)
        nuc_expand_fail(g, node, "the indices or the offsets are not a list");
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (node->users[i]->n_users > 0 && !nuc_is_item(node->users[i], 0))
            nuc_expand_fail(g, node, "another result than the first is read: it is for training");
    }
    b.n = b.indices->vals[0].sizes[0];
    b.count = b.offsets->vals[0].sizes[0] - (last_offset ? 1 : 0);
    if (b.count < 1 || b.mode < 0 || b.mode > 2)
        nuc_expand_fail(g, node, "there is no bag, or its mode %lld is none of sum, mean and max", (long long)b.mode);
    struct nuc_node *rows =
        nuc_emit(g, node, NUC_OP_EMBEDDING, node, NUC_ARGS(nuc_node_arg(b.weight), nuc_node_arg(b.indices)));
    int64_t size = padding < 0 ? common_size(&b, last_offset) : 0;
    if (size > 0) {
        nuc_replace_item(g, node, 0, reduce_bags(&b, rows, size));
        return NULL;
    }
    find_members(&b, last_offset, padding);
    nuc_replace_item(g, node, 0, b.mode == 2 ? largest_of_bags(&b, rows) : sum_of_bags(&b, rows));
    return NULL;
}
