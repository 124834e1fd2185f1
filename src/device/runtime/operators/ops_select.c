/* Operators that pick or write elements where indices or a mask say, and those that order them. */
#include "device/runtime/operators/op_shapes.h"

static struct nuc_indexed indexed_by(const struct nuc_tensor *index, const struct nuc_tensor *t, uint32_t dim)
{
    ptrdiff_t strides[NUC_MAX_RANK];
    struct nuc_indexed x = {index->data, (enum nuc_dtype)index->dtype, 1, 0, false};

    nuc_tensor_strides(t, strides);
    if (t->rank > 0) {
        x.size = t->sizes[dim];
        x.stride = strides[dim];
    }
    return x;
}

/* A loop over every dimension of `t`. */
static void loop_over(const struct nuc_tensor *t, struct nuc_loops *loops)
{
    loops->rank = t->rank;
    for (uint32_t d = 0; d < t->rank; d++)
        loops->sizes[d] = t->sizes[d];
}

/* Strides with 0 along `dim`. */
static void strides_but(const struct nuc_tensor *t, uint32_t dim, ptrdiff_t strides[NUC_MAX_RANK])
{
    nuc_tensor_strides(t, strides);
    if (t->rank > 0)
        strides[dim] = 0;
}

/* ---- aten::index_select, aten::embedding ---- */

/* out has the sizes of `in` but along `dim`, as many as the index has elements there. */
enum nuc_status nuc_op_index_select(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_index_select *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *index = &a->index->u.tensor, *out = &a->out->u.tensor;
    int32_t picked = (int32_t)nuc_tensor_elements(index);
    struct nuc_loops loops = {.rank = 0};
    uint32_t dim = nuc_dim_of(in, a->dim);
    bool fits = index->rank <= 1 && out->rank == in->rank && (in->rank > 0 || picked == 1);

    for (uint32_t d = 0; fits && d < in->rank; d++)
        fits = out->sizes[d] == (d == dim ? picked : in->sizes[d]);
    if (!nuc_need(cx, fits, NUC_TEXT("argument 'out' has the wrong sizes")))
        return NUC_UNSUPPORTED;
    if (out->bytes == 0)
        return NUC_OK;
    struct nuc_indexed x = indexed_by(index, in, dim);
    loop_over(out, &loops);
    strides_but(in, dim, loops.b);
    nuc_tensor_strides(out, loops.out);
    if (in->rank > 0)
        loops.a[dim] = 1;
    return nuc_in_range(cx, nuc_kernel_gather(&loops, &x, nuc_element_size(in), in->data, out->data));
}

/* out: the sizes of the index, then the width of the weight [n, width]. */
enum nuc_status nuc_op_embedding(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_embedding *a = (const void *)args;
    const struct nuc_tensor *weight = &a->weight->u.tensor, *index = &a->indices->u.tensor, *out = &a->out->u.tensor;
    struct nuc_loops loops = {.rank = 0};
    ptrdiff_t strides[NUC_MAX_RANK];
    bool fits = out->rank == index->rank + 1 && out->sizes[index->rank] == weight->sizes[1];

    for (uint32_t d = 0; fits && d < index->rank; d++)
        fits = out->sizes[d] == index->sizes[d];
    if (!nuc_need(cx, fits, NUC_TEXT("argument 'out' has the wrong sizes")))
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
    return nuc_in_range(cx, nuc_kernel_gather(&loops, &x, nuc_element_size(out), weight->data, out->data));
}

/* ---- aten::gather, aten::scatter ---- */

/*
 * The index has the rank of `t` and no larger sizes but along `dim`; NUC_MAX_RANK: along all dimensions. A scalar and a
 * tensor of one dimension stand for each other.
 */
static bool index_fits(const struct nuc_tensor *index, const struct nuc_tensor *t, uint32_t dim)
{
    bool scalar = index->rank == 0 || t->rank == 0;
    bool fits = scalar ? index->rank + t->rank <= 1 : index->rank == t->rank;

    for (uint32_t d = 0; fits && !scalar && d < index->rank; d++)
        fits = d == dim || index->sizes[d] <= t->sizes[d];
    return fits;
}

enum nuc_status nuc_op_gather(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_gather *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *index = &a->index->u.tensor, *out = &a->out->u.tensor;
    struct nuc_loops loops = {.rank = 0};
    uint32_t dim = nuc_dim_of(in, a->dim);

    if (!nuc_need(cx, nuc_tensor_same_sizes(index, out), NUC_TEXT("argument 'out' has the wrong sizes")))
        return NUC_UNSUPPORTED;
    if (out->bytes == 0)
        return NUC_OK;
    if (!nuc_need(cx, index_fits(index, in, dim), NUC_TEXT("argument 'index' does not fit 'self'")))
        return NUC_UNSUPPORTED;
    struct nuc_indexed x = indexed_by(index, in, dim);
    loop_over(index, &loops);
    nuc_tensor_strides(index, loops.a);
    if (in->rank == index->rank)
        strides_but(in, dim, loops.b);
    nuc_tensor_strides(out, loops.out);
    return nuc_in_range(cx, nuc_kernel_gather(&loops, &x, nuc_element_size(in), in->data, out->data));
}

/* The first three arguments of every such operator; src NULL: a number. */
static enum nuc_status scatter(struct nuc_kernel_context *cx, const struct nuc_args_scatter *a,
                               const struct nuc_tensor *out, const struct nuc_tensor *src, const void *number,
                               enum nuc_combination how)
{
    const struct nuc_tensor *self = &a->self->u.tensor, *index = &a->index->u.tensor;
    struct nuc_loops loops = {.rank = 0};
    uint32_t dim = nuc_dim_of(self, a->dim);

    if (!nuc_need(cx, how == NUC_COMBINE_REPLACE || (nuc_is_convertible(out) && out->dtype != NUC_F64),
                  NUC_TEXT("elements of this type are not combined")))
        return NUC_UNSUPPORTED;
    enum nuc_status status = nuc_copy_tensor(cx, self, out);
    if (status != NUC_OK || index->bytes == 0)
        return status;
    if (!nuc_need(cx, index_fits(index, self, dim), NUC_TEXT("argument 'index' does not fit 'self'")) ||
        !nuc_need(cx, src == NULL || (index_fits(index, src, NUC_MAX_RANK) && src->bytes > 0),
                  NUC_TEXT("argument 'src' does not fit 'index'")))
        return NUC_UNSUPPORTED;
    struct nuc_indexed x = indexed_by(index, out, dim);
    loop_over(index, &loops);
    nuc_tensor_strides(index, loops.a);
    if (src != NULL && src->rank == index->rank)
        nuc_tensor_strides(src, loops.b);
    if (out->rank == index->rank)
        strides_but(out, dim, loops.out);
    return nuc_in_range(cx, nuc_kernel_scatter(&loops, &x, how, (enum nuc_dtype)out->dtype,
                                               src != NULL ? src->data : number, out->data));
}

enum nuc_status nuc_op_scatter_src(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_scatter *a = (const void *)args;

    return scatter(cx, a, &a->out->u.tensor, &a->src->u.tensor, NULL, NUC_COMBINE_REPLACE);
}

enum nuc_status nuc_op_scatter_add(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_scatter *a = (const void *)args;

    return scatter(cx, a, &a->out->u.tensor, &a->src->u.tensor, NULL, NUC_COMBINE_ADD);
}

enum nuc_status nuc_op_scatter_value(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_scatter_value *a = (const void *)args;
    const struct nuc_tensor *out = &a->out->u.tensor;
    bool whole = a->value->kind == NUC_VALUE_INT;
    struct nuc_loops one = {.rank = 0};
    uint64_t number = 0;

    nuc_kernel_convert(&one, whole ? NUC_I64 : NUC_F64, (enum nuc_dtype)out->dtype,
                       whole ? (const void *)&a->value->u.i : (const void *)&a->value->u.f, &number);
    return scatter(cx, (const void *)args, out, NULL, &number, NUC_COMBINE_REPLACE);
}

enum nuc_status nuc_op_scatter_reduce(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    static const struct {
        char name[5];
        enum nuc_combination how;
    } names[] = {
        {"sum", NUC_COMBINE_ADD}, {"prod", NUC_COMBINE_MULTIPLY}, {"amax", NUC_COMBINE_MAX}, {"amin", NUC_COMBINE_MIN}};
    const struct nuc_args_scatter_reduce *a = (const void *)args;

    if (!nuc_need(cx, a->include_self->u.b, NUC_TEXT("argument 'include_self' is false")))
        return NUC_UNSUPPORTED;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (nuc_text_is(a->reduce, names[i].name))
            return scatter(cx, (const void *)args, &a->out->u.tensor, &a->src->u.tensor, NULL, names[i].how);
    }
    return nuc_kernel_error(cx, NUC_UNSUPPORTED, NUC_TEXT("argument 'reduce' is none of sum, prod, amax and amin"));
}

enum nuc_status nuc_op_masked_scatter(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_masked_scatter *a = (const void *)args;
    const struct nuc_tensor *mask = &a->mask->u.tensor, *source = &a->source->u.tensor, *out = &a->out->u.tensor;
    struct nuc_loops loops = {.rank = 0};
    ptrdiff_t strides[NUC_MAX_RANK];
    bool fits = mask->rank <= out->rank;

    /* In logical order, whatever the layouts. */
    loop_over(out, &loops);
    nuc_tensor_strides(out, loops.out);
    nuc_tensor_strides(mask, strides);
    for (uint32_t d = 0; fits && d < mask->rank; d++) {
        uint32_t at = (uint32_t)(out->rank - mask->rank) + d;
        fits = mask->sizes[d] == 1 || mask->sizes[d] == out->sizes[at];
        loops.a[at] = mask->sizes[d] == 1 ? 0 : strides[d];
    }
    if (!nuc_need(cx, fits, NUC_TEXT("argument 'mask' does not broadcast to 'out'")))
        return NUC_UNSUPPORTED;
    enum nuc_status status = nuc_copy_tensor(cx, &a->self->u.tensor, out);
    if (status != NUC_OK || out->bytes == 0)
        return status;
    if (!nuc_need(cx,
                  nuc_kernel_masked_scatter(&loops, nuc_element_size(out), mask->data, source->data,
                                            nuc_tensor_elements(source), out->data),
                  NUC_TEXT("argument 'mask' chooses more elements than 'source' has")))
        return NUC_UNSUPPORTED;
    return NUC_OK;
}

/* ---- aten::topk, aten::sort ---- */

/* The first `count` elements of each line along `dim`; `values` and `indices` have the sizes of `in` but there. */
static enum nuc_status order(struct nuc_kernel_context *cx, const struct nuc_tensor *in, uint32_t dim, int64_t count,
                             bool descending, const struct nuc_tensor *values, const struct nuc_tensor *indices)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    ptrdiff_t size = (ptrdiff_t)nuc_element_size(in);
    bool fits = values->rank == in->rank && nuc_tensor_same_layout(values, indices);
    struct nuc_loops lines;
    struct nuc_line line;

    for (uint32_t d = 0; fits && d < in->rank; d++)
        fits = values->sizes[d] == (d == dim ? count : in->sizes[d]);
    if (!nuc_need(cx, fits && count >= 0 && count <= (in->rank == 0 ? 1 : in->sizes[dim]),
                  NUC_TEXT("argument 'values' or 'indices' has the wrong sizes")))
        return NUC_UNSUPPORTED;
    if (values->bytes == 0)
        return NUC_OK;
    nuc_lines_along(in, values, dim, &lines, &line);
    const struct nuc_sort s = {
        (enum nuc_dtype)in->dtype, descending, line.size, (int32_t)count, line.in_step, line.out_step};
    do {
        nuc_kernel_sort(&s, (const uint8_t *)in->data + walk.a * size, (uint8_t *)values->data + walk.out * size,
                        (int64_t *)indices->data + walk.out);
    } while (nuc_walk_next(&lines, &walk));
    return NUC_OK;
}

/* The result is sorted whether it has to be or not. */
enum nuc_status nuc_op_topk(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_topk *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor;

    return order(cx, in, nuc_dim_of(in, a->dim), a->k->u.i, a->largest->u.b, &a->values->u.tensor,
                 &a->indices->u.tensor);
}

enum nuc_status nuc_op_sort(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_sort *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor;
    uint32_t dim = nuc_dim_of(in, a->dim);

    return order(cx, in, dim, in->rank == 0 ? 1 : in->sizes[dim], a->descending->u.b, &a->values->u.tensor,
                 &a->indices->u.tensor);
}
