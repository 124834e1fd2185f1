/* Operators that pick or write elements where indices or a mask say, and those that order them. */
#include "device/runtime/op_args.h"

static bool is_index(struct nuc_kernel_context *cx, const struct nuc_tensor *t)
{
    return nuc_need(cx, t->dtype == NUC_I64 || t->dtype == NUC_I32, NUC_TEXT("the index is neither int64 nor int32"));
}

static bool same_types(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *out)
{
    return nuc_need(cx, in->dtype == out->dtype, NUC_TEXT("argument 'out' differs from 'self' in element type"));
}

static enum nuc_status in_range(struct nuc_kernel_context *cx, bool ok)
{
    return nuc_need(cx, ok, NUC_TEXT("an index lies outside its dimension")) ? NUC_OK : NUC_UNSUPPORTED;
}

static struct nuc_indexed indexed_by(const struct nuc_tensor *index, const struct nuc_tensor *t, uint32_t dim)
{
    ptrdiff_t strides[NUC_MAX_RANK];
    struct nuc_indexed x = {index->data, (enum nuc_dtype)index->dtype, 1, 0};

    nuc_tensor_strides(t, strides);
    if (t->rank > 0) {
        x.size = t->sizes[dim];
        x.stride = strides[dim];
    }
    return x;
}

/* A loop over every dimension of `t`. Strides of a tensor of as many dimensions, 0 along `dim`. */
static void loop_over(const struct nuc_tensor *t, struct nuc_loops *loops)
{
    loops->rank = t->rank;
    for (uint32_t d = 0; d < t->rank; d++)
        loops->sizes[d] = t->sizes[d];
}

static void strides_but(const struct nuc_tensor *t, uint32_t dim, ptrdiff_t strides[NUC_MAX_RANK])
{
    nuc_tensor_strides(t, strides);
    if (t->rank > 0)
        strides[dim] = 0;
}

/* ---- aten::index_select ---- */

/* out has the sizes of `in` but along `dim`, as many as the index has elements there. */
static bool selection_fits(const struct nuc_tensor *in, const struct nuc_tensor *index, const struct nuc_tensor *out,
                           uint32_t dim)
{
    bool fits = index->rank <= 1 && out->rank == in->rank;

    for (uint32_t d = 0; fits && d < in->rank; d++)
        fits = out->sizes[d] == (d == dim ? (int32_t)nuc_tensor_elements(index) : in->sizes[d]);
    return fits && (in->rank > 0 || nuc_tensor_elements(index) == 1);
}

enum nuc_status nuc_op_index_select(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *index = nuc_arg_tensor(args, 2);
    struct nuc_tensor *out = nuc_arg_tensor(args, 3);
    struct nuc_loops loops = {.rank = 0};
    uint32_t dim;

    if (!is_index(cx, index) || !same_types(cx, in, out) ||
        !nuc_need(cx, nuc_tensor_dim(in, args[1]->u.i, &dim),
                  NUC_TEXT("argument 'dim' is not a dimension of 'self'")) ||
        !nuc_need(cx, selection_fits(in, index, out, dim), NUC_TEXT("argument 'out' has the wrong sizes")))
        return NUC_UNSUPPORTED;
    if (out->bytes == 0)
        return NUC_OK;
    struct nuc_indexed x = indexed_by(index, in, dim);
    loop_over(out, &loops);
    strides_but(in, dim, loops.b);
    nuc_tensor_strides(out, loops.out);
    if (in->rank > 0)
        loops.a[dim] = 1;
    return in_range(cx, nuc_kernel_gather(&loops, &x, nuc_dtype_size((enum nuc_dtype)in->dtype), in->data, out->data));
}

/* ---- aten::embedding ---- */

/* [..., width] of a weight [n, width]. */
static bool embedding_fits(const struct nuc_tensor *weight, const struct nuc_tensor *index,
                           const struct nuc_tensor *out)
{
    bool fits = weight->rank == 2 && out->rank == index->rank + 1 && out->sizes[index->rank] == weight->sizes[1];

    for (uint32_t d = 0; fits && d < index->rank; d++)
        fits = out->sizes[d] == index->sizes[d];
    return fits;
}

enum nuc_status nuc_op_embedding(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *weight = nuc_arg_tensor(args, 0);
    struct nuc_tensor *index = nuc_arg_tensor(args, 1);
    struct nuc_tensor *out = nuc_arg_tensor(args, 5);
    struct nuc_loops loops = {.rank = 0};
    ptrdiff_t strides[NUC_MAX_RANK];

    if (!is_index(cx, index) || !same_types(cx, weight, out) ||
        !nuc_need(cx, embedding_fits(weight, index, out), NUC_TEXT("argument 'out' has the wrong sizes")))
        return NUC_UNSUPPORTED;
    if (out->bytes == 0)
        return NUC_OK;
    struct nuc_indexed x = indexed_by(index, weight, 0);
    loop_over(out, &loops);
    nuc_tensor_strides(index, loops.a);
    nuc_tensor_strides(weight, strides);
    nuc_tensor_strides(out, loops.out);
    loops.a[index->rank] = 0;
    loops.b[index->rank] = strides[1];
    return in_range(cx,
                    nuc_kernel_gather(&loops, &x, nuc_dtype_size((enum nuc_dtype)out->dtype), weight->data, out->data));
}

/* ---- aten::gather, aten::scatter ---- */

/* The index has the rank of `t` and, but along `dim`, no larger sizes; all of them where `dim` is none. */
static bool lies_within(const struct nuc_tensor *index, const struct nuc_tensor *t, uint32_t dim)
{
    bool fits = index->rank == t->rank;

    for (uint32_t d = 0; fits && d < index->rank; d++)
        fits = d == dim || index->sizes[d] <= t->sizes[d];
    return fits;
}

/* A scalar and a tensor of one dimension stand for each other; the wider rank decides. */
static bool is_scalar_case(const struct nuc_tensor *self, const struct nuc_tensor *index)
{
    return self->rank == 0 || index->rank == 0;
}

enum nuc_status nuc_op_gather(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *index = nuc_arg_tensor(args, 2);
    struct nuc_tensor *out = nuc_arg_tensor(args, 4);
    struct nuc_loops loops = {.rank = 0};
    uint32_t dim;

    if (!is_index(cx, index) || !same_types(cx, in, out) ||
        !nuc_need(cx, nuc_tensor_dim(in, args[1]->u.i, &dim),
                  NUC_TEXT("argument 'dim' is not a dimension of 'self'")) ||
        !nuc_need(cx, nuc_tensor_same_sizes(index, out), NUC_TEXT("argument 'out' has the wrong sizes")))
        return NUC_UNSUPPORTED;
    if (out->bytes == 0)
        return NUC_OK;
    if (!nuc_need(cx, is_scalar_case(in, index) ? in->rank + index->rank <= 1 : lies_within(index, in, dim),
                  NUC_TEXT("argument 'index' does not fit 'self'")))
        return NUC_UNSUPPORTED;
    struct nuc_indexed x = indexed_by(index, in, dim);
    loop_over(index, &loops);
    nuc_tensor_strides(index, loops.a);
    if (in->rank == index->rank)
        strides_but(in, dim, loops.b);
    nuc_tensor_strides(out, loops.out);
    return in_range(cx, nuc_kernel_gather(&loops, &x, nuc_dtype_size((enum nuc_dtype)in->dtype), in->data, out->data));
}

/* What has been said of `self` and `out`; src NULL: a number. */
static enum nuc_status scatter(struct nuc_kernel_context *cx, struct nuc_value *const *args, struct nuc_tensor *out,
                               const struct nuc_tensor *src, const void *number, enum nuc_combination how)
{
    struct nuc_tensor *self = nuc_arg_tensor(args, 0);
    struct nuc_tensor *index = nuc_arg_tensor(args, 2);
    struct nuc_loops loops = {.rank = 0};
    uint32_t dim;

    if (!is_index(cx, index) || !same_types(cx, self, out) ||
        !nuc_need(cx, nuc_tensor_same_sizes(self, out), NUC_TEXT("argument 'out' differs from 'self' in sizes")) ||
        !nuc_need(cx, nuc_tensor_dim(self, args[1]->u.i, &dim),
                  NUC_TEXT("argument 'dim' is not a dimension of 'self'")) ||
        !nuc_need(cx, src == NULL || src->dtype == out->dtype,
                  NUC_TEXT("argument 'src' differs from 'self' in element type")) ||
        !nuc_need(cx, how == NUC_COMBINE_REPLACE || (nuc_is_convertible(out) && out->dtype != NUC_F64),
                  NUC_TEXT("elements of this type are not combined")))
        return NUC_UNSUPPORTED;
    enum nuc_status status = nuc_copy_tensor(cx, self, out);
    if (status != NUC_OK || index->bytes == 0)
        return status;
    bool fits = is_scalar_case(self, index) ? self->rank + index->rank <= 1 : lies_within(index, self, dim);
    if (!nuc_need(cx, fits && (src == NULL || lies_within(index, src, NUC_MAX_RANK) || is_scalar_case(src, index)),
                  NUC_TEXT("argument 'index' does not fit 'self' or 'src'")) ||
        !nuc_need(cx, src == NULL || !is_scalar_case(src, index) || (src->rank + index->rank <= 1 && src->bytes > 0),
                  NUC_TEXT("argument 'src' does not fit 'index'")))
        return NUC_UNSUPPORTED;
    struct nuc_indexed x = indexed_by(index, out, dim);
    loop_over(index, &loops);
    nuc_tensor_strides(index, loops.a);
    if (src != NULL && src->rank == index->rank)
        nuc_tensor_strides(src, loops.b);
    if (out->rank == index->rank)
        strides_but(out, dim, loops.out);
    return in_range(cx, nuc_kernel_scatter(&loops, &x, how, (enum nuc_dtype)out->dtype,
                                           src != NULL ? src->data : number, out->data));
}

enum nuc_status nuc_op_scatter_src(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return scatter(cx, args, nuc_arg_tensor(args, 4), nuc_arg_tensor(args, 3), NULL, NUC_COMBINE_REPLACE);
}

enum nuc_status nuc_op_scatter_add(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return scatter(cx, args, nuc_arg_tensor(args, 4), nuc_arg_tensor(args, 3), NULL, NUC_COMBINE_ADD);
}

enum nuc_status nuc_op_scatter_value(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *out = nuc_arg_tensor(args, 4);
    struct nuc_loops one = {.rank = 0};
    bool whole = args[3]->kind == NUC_VALUE_INT;
    uint64_t number = 0;

    if (!nuc_need(cx, nuc_is_convertible(out), NUC_TEXT("argument 'out' is not of numbers")))
        return NUC_UNSUPPORTED;
    nuc_kernel_convert(&one, whole ? NUC_I64 : NUC_F64, (enum nuc_dtype)out->dtype,
                       whole ? (const void *)&args[3]->u.i : (const void *)&args[3]->u.f, &number);
    return scatter(cx, args, out, NULL, &number, NUC_COMBINE_REPLACE);
}

static bool is_text(const struct nuc_value *value, const char *text)
{
    uint32_t i = 0;

    while (i < value->u.list.count && text[i] != '\0' && value->u.list.items[i] == (uint8_t)text[i])
        i++;
    return i == value->u.list.count && text[i] == '\0';
}

enum nuc_status nuc_op_scatter_reduce(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    static const struct {
        char name[5];
        enum nuc_combination how;
    } names[] = {
        {"sum", NUC_COMBINE_ADD}, {"prod", NUC_COMBINE_MULTIPLY}, {"amax", NUC_COMBINE_MAX}, {"amin", NUC_COMBINE_MIN}};

    if (!nuc_need(cx, args[5]->u.b, NUC_TEXT("argument 'include_self' is false")))
        return NUC_UNSUPPORTED;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (is_text(args[4], names[i].name))
            return scatter(cx, args, nuc_arg_tensor(args, 6), nuc_arg_tensor(args, 3), NULL, names[i].how);
    }
    return nuc_kernel_error(cx, NUC_UNSUPPORTED, NUC_TEXT("argument 'reduce' is none of sum, prod, amax and amin"));
}

enum nuc_status nuc_op_masked_scatter(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *self = nuc_arg_tensor(args, 0);
    struct nuc_tensor *mask = nuc_arg_tensor(args, 1);
    struct nuc_tensor *source = nuc_arg_tensor(args, 2);
    struct nuc_tensor *out = nuc_arg_tensor(args, 3);
    struct nuc_loops loops = {.rank = 0};
    ptrdiff_t strides[NUC_MAX_RANK];

    if (!same_types(cx, self, out) || !same_types(cx, source, out) ||
        !nuc_need(cx, mask->dtype == NUC_BOOL, NUC_TEXT("argument 'mask' is not bool")) ||
        !nuc_need(cx, mask->rank <= out->rank, NUC_TEXT("argument 'mask' does not broadcast to 'out'")) ||
        !nuc_need(cx, nuc_tensor_is_contiguous(source), NUC_TEXT("argument 'source' is not contiguous")))
        return NUC_UNSUPPORTED;
    enum nuc_status status = nuc_copy_tensor(cx, self, out);
    if (status != NUC_OK || out->bytes == 0)
        return status;
    /* In logical order, whatever the layouts. */
    loop_over(out, &loops);
    nuc_tensor_strides(out, loops.out);
    nuc_tensor_strides(mask, strides);
    for (uint32_t d = 0; d < mask->rank; d++) {
        uint32_t at = (uint32_t)(out->rank - mask->rank) + d;
        if (!nuc_need(cx, mask->sizes[d] == 1 || mask->sizes[d] == out->sizes[at],
                      NUC_TEXT("argument 'mask' does not broadcast to 'out'")))
            return NUC_UNSUPPORTED;
        loops.a[at] = mask->sizes[d] == 1 ? 0 : strides[d];
    }
    bool enough = nuc_kernel_masked_scatter(&loops, nuc_dtype_size((enum nuc_dtype)out->dtype), mask->data,
                                            source->data, nuc_tensor_elements(source), out->data);
    return nuc_need(cx, enough, NUC_TEXT("argument 'mask' chooses more elements than 'source' has")) ? NUC_OK
                                                                                                     : NUC_UNSUPPORTED;
}

/* ---- aten::select_scatter ---- */

enum nuc_status nuc_op_select_scatter(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *self = nuc_arg_tensor(args, 0);
    struct nuc_tensor *src = nuc_arg_tensor(args, 1);
    struct nuc_tensor *out = nuc_arg_tensor(args, 4);
    struct nuc_loops loops = {.rank = 0};
    ptrdiff_t strides[NUC_MAX_RANK], src_strides[NUC_MAX_RANK];
    int64_t index = args[3]->u.i;
    uint32_t dim;

    if (!same_types(cx, self, out) || !same_types(cx, src, out) ||
        !nuc_need(cx, nuc_tensor_same_sizes(self, out), NUC_TEXT("argument 'out' differs from 'self' in sizes")) ||
        !nuc_need(cx, self->rank > 0 && nuc_tensor_dim(self, args[2]->u.i, &dim),
                  NUC_TEXT("argument 'dim' is not a dimension of 'self'")) ||
        !nuc_need(cx, index >= -(int64_t)self->sizes[dim] && index < self->sizes[dim],
                  NUC_TEXT("argument 'index' lies outside its dimension")) ||
        !nuc_need(cx, src->rank + 1 == self->rank, NUC_TEXT("argument 'src' has the wrong sizes")))
        return NUC_UNSUPPORTED;
    nuc_tensor_strides(out, strides);
    nuc_tensor_strides(src, src_strides);
    for (uint32_t d = 0; d < self->rank; d++) {
        uint32_t at = d < dim ? d : d - 1;
        if (d == dim)
            continue;
        if (!nuc_need(cx, src->sizes[at] == self->sizes[d], NUC_TEXT("argument 'src' has the wrong sizes")))
            return NUC_UNSUPPORTED;
        loops.sizes[loops.rank] = self->sizes[d];
        loops.a[loops.rank] = src_strides[at];
        loops.b[loops.rank] = 0;
        loops.out[loops.rank++] = strides[d];
    }
    enum nuc_status status = nuc_copy_tensor(cx, self, out);
    size_t size = nuc_dtype_size((enum nuc_dtype)out->dtype);
    if (status == NUC_OK && src->bytes > 0)
        nuc_kernel_copy(&loops, size, src->data,
                        (uint8_t *)out->data +
                            (index < 0 ? index + self->sizes[dim] : index) * strides[dim] * (ptrdiff_t)size);
    return status;
}

/* ---- aten::topk, aten::sort ---- */

/* `values` and `indices` have the sizes of `in` but along `dim`, where they have `count`. */
static bool order_fits(const struct nuc_tensor *in, const struct nuc_tensor *values, const struct nuc_tensor *indices,
                       uint32_t dim, int64_t count)
{
    bool fits = values->rank == in->rank && nuc_tensor_same_layout(values, indices);

    for (uint32_t d = 0; fits && d < in->rank; d++)
        fits = values->sizes[d] == (d == dim ? count : in->sizes[d]);
    return fits && count >= 0 && count <= (in->rank == 0 ? 1 : in->sizes[dim]);
}

static enum nuc_status order(struct nuc_kernel_context *cx, struct nuc_value *const *args, int64_t dim_arg,
                             const int64_t *count, bool descending)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *values = nuc_arg_tensor(args, 5);
    struct nuc_tensor *indices = nuc_arg_tensor(args, 6);
    struct nuc_sort s = {(enum nuc_dtype)in->dtype, descending, 1, 1, 0, 0};
    struct nuc_loops lines = {.rank = 0};
    struct nuc_walk walk = {{0}, 0, 0, 0};
    ptrdiff_t in_strides[NUC_MAX_RANK], out_strides[NUC_MAX_RANK];
    uint32_t dim;

    if (!same_types(cx, in, values) ||
        !nuc_need(cx, nuc_is_convertible(in) && in->dtype != NUC_F64 && indices->dtype == NUC_I64,
                  NUC_TEXT("argument 'self' is not of numbers, or 'indices' not int64")) ||
        !nuc_need(cx, nuc_tensor_dim(in, dim_arg, &dim), NUC_TEXT("argument 'dim' is not a dimension of 'self'")))
        return NUC_UNSUPPORTED;
    s.size = in->rank == 0 ? 1 : in->sizes[dim];
    int64_t wanted = count != NULL ? *count : s.size;
    if (!nuc_need(cx, order_fits(in, values, indices, dim, wanted),
                  NUC_TEXT("argument 'values' or 'indices' has the wrong sizes")))
        return NUC_UNSUPPORTED;
    if (values->bytes == 0)
        return NUC_OK;
    s.count = (int32_t)wanted;
    nuc_tensor_strides(in, in_strides);
    nuc_tensor_strides(values, out_strides);
    if (in->rank > 0) {
        s.in_step = in_strides[dim];
        s.out_step = out_strides[dim];
    }
    for (uint32_t d = 0; d < in->rank; d++) {
        if (d == dim)
            continue;
        lines.sizes[lines.rank] = in->sizes[d];
        lines.a[lines.rank] = in_strides[d];
        lines.b[lines.rank] = 0;
        lines.out[lines.rank++] = out_strides[d];
    }
    /* The walk goes by rows: one more loop of a single step makes each line a row. */
    lines.sizes[lines.rank] = 1;
    lines.a[lines.rank] = lines.b[lines.rank] = lines.out[lines.rank] = 0;
    lines.rank++;
    ptrdiff_t size = (ptrdiff_t)nuc_dtype_size(s.dtype);
    do {
        nuc_kernel_sort(&s, (const uint8_t *)in->data + walk.a * size, (uint8_t *)values->data + walk.out * size,
                        (int64_t *)indices->data + walk.out);
    } while (nuc_walk_next_row(&lines, &walk));
    return NUC_OK;
}

/* The result is sorted whether it has to be or not. */
enum nuc_status nuc_op_topk(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return order(cx, args, args[2]->u.i, &args[1]->u.i, args[3]->u.b);
}

enum nuc_status nuc_op_sort(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_value *const shifted[7] = {args[0], args[1], args[2], args[3], NULL, args[4], args[5]};

    return order(cx, shifted, args[2]->u.i, NULL, args[3]->u.b);
}
