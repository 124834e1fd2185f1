/* Nodes that rewrites build in front of another: operators, constants, views. */
#include "rewrite/insert.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "host/numbers.h"
#include "ir/args.h"
#include "ir/conv_args.h"
#include "npu/layout/orders.h"
#include "rewrite/recognize/written.h"

/* Repetitions up to this number are a concatenation, which the NPU has; an expand, which it has not, is smaller. */
#define MAX_CAT 16

struct nuc_node *nuc_insert_unary(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op, struct nuc_node *input)
{
    return nuc_emit(g, node, op, node, NUC_ARGS(input));
}

struct nuc_node *nuc_insert_binary(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op, struct nuc_node *a,
                                   struct nuc_node *b)
{
    return nuc_emit(g, node, op, node, NUC_ARGS(a, b));
}

/* ---- constants ---- */

static struct nuc_node *insert_numbers(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *meta,
                                       const double *values, size_t step)
{
    void *data = nuc_alloc(g->cx, nuc_bytes(meta) + 1);

    if (meta->dtype == NUC_F16 || meta->dtype == NUC_BF16)
        nuc_expand_fail(g, node, "a constant of type %s is not supported: use float32 or int64",
                        nuc_dtype_name(meta->dtype));
    for (size_t i = 0; i < (size_t)nuc_elements(meta); i++)
        nuc_store_number(meta->dtype, data, i, values[i * step]);
    return nuc_add_constant(g, nuc_format(g->cx, "%s_constant", node->name), meta, data);
}

struct nuc_node *nuc_insert_values(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *meta,
                                   const double *values)
{
    return insert_numbers(g, node, meta, values, 1);
}

struct nuc_node *nuc_insert_filled(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *meta,
                                   double value)
{
    return insert_numbers(g, node, meta, &value, 0);
}

struct nuc_node *nuc_insert_constant(struct nuc_graph *g, struct nuc_node *node, enum nuc_dtype dtype, double value)
{
    struct nuc_meta meta = nuc_meta_make(dtype, NULL, 0);

    return nuc_insert_filled(g, node, &meta, value);
}

struct nuc_node *nuc_insert_with_number(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op,
                                        struct nuc_node *input, double number)
{
    enum nuc_dtype own = input->vals[0].dtype;
    bool whole = !nuc_is_floating(own) && isfinite(number) && !(number < trunc(number)) && !(number > trunc(number));
    enum nuc_dtype dtype = nuc_is_floating(own) || !whole ? NUC_F32 : own == NUC_BOOL ? NUC_I64 : own;

    return nuc_insert_binary(g, node, op, input, nuc_insert_constant(g, node, dtype, number));
}

struct nuc_node *nuc_insert_cast(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *input,
                                 enum nuc_dtype dtype)
{
    bool aten = g->dialect == NUC_ATEN;
    double number;

    if (input->vals[0].dtype == dtype)
        return input;
    /* The 1 of 1 - x, where an archive says sub(1, x): a float from the start. */
    if (aten && dtype == NUC_F32 && input->vals[0].rank == 0 && nuc_number_of(g, input, &number))
        return nuc_insert_constant(g, before, dtype, number);
    struct nuc_node *cast = nuc_insert(g, before, aten ? NUC_OP_TO_DTYPE : NUC_OP_TO_DIM_ORDER_COPY, before);
    nuc_set_arg_node(cast, g, NUC_SELF, input);
    nuc_set_arg_dtype(cast, aten ? NUC_ARG(TO_DTYPE, dtype) : NUC_ARG(TO_DIM_ORDER_COPY, dtype), dtype);
    nuc_infer_shape(g, cast);
    return cast;
}

struct nuc_node *nuc_insert_floats(struct nuc_graph *g, struct nuc_node *node, const float *values,
                                   const int64_t *sizes, uint32_t rank)
{
    struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, rank);

    return nuc_add_constant(g, nuc_format(g->cx, "%s_constant", node->name), &meta, values);
}

/* ---- other shapes of the same values ---- */

struct nuc_node *nuc_insert_view(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                 const int64_t *sizes, uint32_t rank)
{
    const struct nuc_meta meta = nuc_meta_make(input->vals[0].dtype, sizes, rank);
    struct nuc_node *view = nuc_insert(g, node, NUC_OP_VIEW, node);

    nuc_set_arg_node(view, g, NUC_SELF, input);
    nuc_set_arg_ints(view, g, NUC_ARG(VIEW, size), sizes, rank);
    nuc_set_val(g, view, &meta);
    return view;
}

struct nuc_node *nuc_insert_reshape(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                    const int64_t *sizes, uint32_t rank)
{
    struct nuc_meta contiguous = input->vals[0];

    if (!nuc_is_viewable(&input->vals[0], sizes, rank)) {
        nuc_set_contiguous(&contiguous);
        input = nuc_insert_clone(g, node, input, &contiguous);
    }
    return nuc_insert_view(g, node, input, sizes, rank);
}

struct nuc_node *nuc_insert_reshaped(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                     const int64_t *sizes, uint32_t rank)
{
    struct nuc_meta wanted = nuc_meta_make(input->vals[0].dtype, sizes, rank);

    if (nuc_same_sizes(&input->vals[0], &wanted))
        return input;
    return nuc_emit(g, node, NUC_OP_RESHAPE, node, NUC_ARGS(input, nuc_ints_arg(sizes, rank)));
}

struct nuc_node *nuc_insert_with_dim(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op, struct nuc_node *input,
                                     int64_t dim)
{
    return nuc_emit(g, node, op, node, NUC_ARGS(input, dim));
}

#define POOL(name) NUC_ARG(AVG_POOL1D, name) /* that of max_pool1d, too */

struct nuc_node *nuc_insert_pool_of_rows(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op)
{
    uint32_t last_list = node->op == NUC_OP_MAX_POOL1D ? NUC_ARG(MAX_POOL1D, dilation) : POOL(padding);
    struct nuc_node *rows = nuc_insert_with_dim(g, node, NUC_OP_UNSQUEEZE, nuc_operand(g, node, NUC_SELF), -2);
    struct nuc_node *pool = nuc_insert(g, node, op, node);
    int64_t kernel;

    nuc_conv_numbers(node, POOL(kernel_size), 1, 1, &kernel);
    nuc_set_arg_node(pool, g, NUC_SELF, rows);
    for (uint32_t i = POOL(kernel_size); i < node->n_args; i++) {
        int64_t neutral = i == POOL(padding) ? 0 : 1, pair[2] = {neutral, 0};
        nuc_copy_arg(g, pool, i, node, i);
        if (i > last_list)
            continue;
        nuc_conv_numbers(node, i, 1, i == POOL(kernel_size) || i == POOL(stride) ? kernel : neutral, &pair[1]);
        bool given = node->args[i].given;
        nuc_set_arg_ints(pool, g, i, pair, 2);
        pool->args[i].given = given || i == POOL(stride);
    }
    nuc_infer_shape(g, pool);
    return pool;
}

struct nuc_node *nuc_insert_permute(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                    const int64_t *dims)
{
    return nuc_emit(g, node, NUC_OP_PERMUTE, node, NUC_ARGS(input, nuc_ints_arg(dims, input->vals[0].rank)));
}

struct nuc_node *nuc_insert_permuted(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                     const int64_t *dims)
{
    uint32_t rank = input->vals[0].rank, i = 0;

    while (i < rank && dims[i] == (int64_t)i)
        i++;
    return i == rank ? input : nuc_insert_permute(g, node, input, dims);
}

struct nuc_node *nuc_insert_moved_dims(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                       const int64_t *from, const int64_t *to, uint32_t count)
{
    uint32_t rank = input->vals[0].rank, next = 0;
    int64_t dims[NUC_MAX_RANK];
    bool placed[NUC_MAX_RANK] = {false}, taken[NUC_MAX_RANK] = {false};

    for (uint32_t i = 0; i < count; i++) {
        uint32_t source = nuc_expand_dim(g, node, from[i], rank), place = nuc_expand_dim(g, node, to[i], rank);
        if (taken[source] || placed[place])
            nuc_expand_fail(g, node, "a dimension is named twice");
        taken[source] = placed[place] = true;
        dims[place] = source;
    }
    for (uint32_t i = 0; i < rank; i++) {
        if (placed[i])
            continue;
        while (taken[next])
            next++;
        dims[i] = next++;
    }
    return nuc_insert_permuted(g, node, input, dims);
}

struct nuc_node *nuc_insert_expand(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                   const int64_t *sizes, uint32_t rank)
{
    return nuc_emit(g, node, NUC_OP_EXPAND, node, NUC_ARGS(input, nuc_ints_arg(sizes, rank)));
}

struct nuc_node *nuc_insert_expanded(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                     const int64_t *sizes, uint32_t rank)
{
    struct nuc_meta wanted = nuc_meta_make(input->vals[0].dtype, sizes, rank);

    return nuc_same_sizes(&input->vals[0], &wanted) ? input : nuc_insert_expand(g, node, input, sizes, rank);
}

struct nuc_node *nuc_insert_clone(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                  const struct nuc_meta *like)
{
    struct nuc_node *clone = nuc_insert_in_order(g, node, NUC_OP_CLONE_DIM_ORDER, input, like);

    nuc_made_of(clone, node);
    return clone;
}

/* ---- parts and repetitions ---- */

struct nuc_node *nuc_insert_slice(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, int64_t dim,
                                  int64_t start, int64_t end)
{
    return nuc_emit(g, node, NUC_OP_SLICE, node, NUC_ARGS(input, dim, start, end));
}

struct nuc_node *nuc_insert_part(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                                 int64_t start, int64_t end)
{
    if (start == 0 && end == input->vals[0].sizes[dim])
        return input;
    return nuc_insert_slice(g, node, input, dim, start, end);
}

struct nuc_node *nuc_insert_along(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                                  struct nuc_node *matrix)
{
    uint32_t last = input->vals[0].rank - 1u;
    struct nuc_arg swap[] = {nuc_node_arg(input), nuc_int_arg(dim), nuc_int_arg(last)};

    if (dim != last)
        swap[0] = nuc_node_arg(nuc_emit(g, node, NUC_OP_TRANSPOSE, node, swap, 3));
    struct nuc_node *value = nuc_emit(g, node, NUC_OP_LINEAR, node, NUC_ARGS(swap[0], matrix));
    swap[0] = nuc_node_arg(value);
    return dim != last ? nuc_emit(g, node, NUC_OP_TRANSPOSE, node, swap, 3) : value;
}

struct nuc_node *nuc_insert_taken(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                                  const int64_t *indices, int64_t count)
{
    struct nuc_node *list[NUC_MAX_RANK] = {NULL};
    bool same = count == input->vals[0].sizes[dim];

    for (int64_t i = 0; same && i < count; i++)
        same = indices[i] == i;
    if (same)
        return input;
    const struct nuc_meta places = nuc_meta_make(NUC_I64, &count, 1);
    list[dim] = nuc_add_constant(g, nuc_format(g->cx, "%s_constant", node->name), &places, indices);
    return nuc_emit(g, node, NUC_OP_INDEX, node, NUC_ARGS(input, nuc_nodes_arg(list, dim + 1)));
}

struct nuc_node *nuc_insert_places(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                                   const int64_t *indices, int64_t count)
{
    int64_t i = 1, step = count > 1 ? indices[1] - indices[0] : 1, end = indices[count - 1] + 1;

    while (i < count && indices[i] - indices[i - 1] == step)
        i++;
    if (i < count || step < 1)
        return nuc_insert_taken(g, node, input, dim, indices, count);
    return step == 1 ? nuc_insert_part(g, node, input, dim, indices[0], end)
                     : nuc_emit(g, node, NUC_OP_SLICE, node, NUC_ARGS(input, (int64_t)dim, indices[0], end, step));
}

/* [.., size, ..] becomes [.., 1, size, ..], that dimension is repeated, and the two become one. */
static struct nuc_node *repeated_by_expand(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                           uint32_t dim, int64_t times)
{
    struct nuc_meta m = input->vals[0];

    if (m.rank == NUC_MAX_RANK)
        nuc_expand_fail(g, node, "a tensor of %d dimensions cannot be repeated so often", NUC_MAX_RANK);
    struct nuc_node *value = nuc_insert_with_dim(g, node, NUC_OP_UNSQUEEZE, input, dim);
    struct nuc_meta wide = value->vals[0];
    wide.sizes[dim] = times;
    value = nuc_insert_expand(g, node, value, wide.sizes, wide.rank);
    m.sizes[dim] *= times;
    return nuc_insert_reshaped(g, node, value, m.sizes, m.rank);
}

struct nuc_node *nuc_insert_repeated(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                                     int64_t times)
{
    struct nuc_meta m = input->vals[0];

    if (times == 1)
        return input;
    if (times == 0)
        return nuc_insert_slice(g, node, input, dim, 0, 0);
    if (times <= MAX_CAT) {
        /* The value `times` times one after the other along a dimension. */
        struct nuc_node *parts[MAX_CAT];
        for (int64_t i = 0; i < times; i++)
            parts[i] = input;
        return nuc_insert_cat(g, node, parts, (uint32_t)times, dim);
    }
    if (m.sizes[dim] != 1)
        return repeated_by_expand(g, node, input, dim, times);
    m.sizes[dim] = times;
    return nuc_insert_expand(g, node, input, m.sizes, m.rank);
}

struct nuc_node *nuc_insert_padded(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                   const int64_t *pads, uint32_t count)
{
    uint32_t i = 0;

    while (i < count && pads[i] == 0)
        i++;
    if (i == count)
        return input;
    return nuc_emit(g, node, NUC_OP_PAD, node, NUC_ARGS(input, nuc_ints_arg(pads, count), NULL, 0.0));
}

struct nuc_node *nuc_insert_sum(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, const int64_t *dims,
                                uint32_t count, bool keepdim)
{
    return nuc_emit(g, node, NUC_OP_SUM_DIM, node, NUC_ARGS(input, nuc_ints_arg(dims, count), nuc_bool_arg(keepdim)));
}

/* ---- reading ---- */

uint32_t nuc_expand_dim(struct nuc_graph *g, const struct nuc_node *node, int64_t dim, uint32_t rank)
{
    uint32_t found;

    if (!nuc_find_dim(dim, rank, &found))
        nuc_expand_fail(g, node, "dimension %lld does not exist in a tensor of rank %u", (long long)dim,
                        (unsigned)rank);
    return found;
}

bool nuc_is_item_read(const struct nuc_node *tuple, uint32_t index)
{
    for (uint32_t i = 0; i < tuple->n_users; i++) {
        if (nuc_is_item(tuple->users[i], index) && tuple->users[i]->n_users > 0)
            return true;
    }
    return false;
}

_Noreturn void nuc_expand_fail(struct nuc_graph *g, const struct nuc_node *node, const char *format, ...)
{
    char what[NUC_MESSAGE_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: %s: %s", g->file, nuc_node_text(g->cx, node), what);
}

void nuc_expand_check(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_node *value)
{
    const struct nuc_meta *stated = &node->vals[0], *made = &value->vals[0];

    if (value->is_tuple != node->is_tuple || stated->dtype != made->dtype || !nuc_same_sizes(stated, made))
        nuc_fail(g->cx, NUC_BAD_INPUT, "%s: %s: the archive states %s, the operator makes %s", g->file,
                 nuc_node_text(g->cx, node), nuc_meta_text(g->cx, stated), nuc_meta_text(g->cx, made));
}

void nuc_expand_item(struct nuc_graph *g, struct nuc_node *tuple, uint32_t index, struct nuc_node *value)
{
    for (uint32_t i = tuple->n_users; i > 0; i--) {
        struct nuc_node *item = tuple->users[i - 1];
        if (!nuc_is_item(item, index))
            continue;
        const char *name = item->name;
        bool is_new = value->id > item->id && !nuc_is_placeholder(value);
        nuc_expand_check(g, item, value);
        nuc_replace_uses(g, item, value, NULL);
        nuc_remove_node(g, item);
        if (is_new)
            nuc_rename(g, value, name);
    }
}
