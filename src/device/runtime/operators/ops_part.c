/* Operators over parts of tensors along one dimension. */
#include <string.h>

#include "device/runtime/operators/op_shapes.h"

/* The dimension of a tensor that dimension d of its part is, which may lack `dim`. */
static uint32_t dim_in(const struct nuc_tensor *large, const struct nuc_tensor *small, uint32_t dim, uint32_t d)
{
    return small->rank < large->rank && d >= dim ? d + 1 : d;
}

/*
 * Copies between a part of one tensor and a whole one: `part` has the sizes of the small tensor; the large one is
 * entered at element `start` and walked with `step` along `dim`. The caller has checked that it fits.
 */
static void copy_part(const struct nuc_tensor *small, const struct nuc_tensor *large, uint32_t dim, int64_t start,
                      int64_t step, bool into_large)
{
    struct nuc_loops loops = {.rank = 0};
    ptrdiff_t small_strides[NUC_MAX_RANK];
    ptrdiff_t large_strides[NUC_MAX_RANK];
    size_t size = nuc_element_size(small);

    nuc_tensor_strides(small, small_strides);
    nuc_tensor_strides(large, large_strides);
    uint8_t *large_data = (uint8_t *)large->data + (ptrdiff_t)size * (ptrdiff_t)start * large_strides[dim];
    for (uint32_t d = 0; d < small->rank; d++) {
        uint32_t at = dim_in(large, small, dim, d);
        ptrdiff_t stride = large_strides[at] * (at == dim ? (ptrdiff_t)step : 1);
        ptrdiff_t in_step = into_large ? small_strides[d] : stride, out_step = into_large ? stride : small_strides[d];
        int32_t count = small->sizes[d];
        uint32_t last = loops.rank - 1;
        if (loops.rank > 0 && loops.a[last] == in_step * count && loops.out[last] == out_step * count &&
            (int64_t)loops.sizes[last] * count <= INT32_MAX)
            count *= loops.sizes[last]; /* the dimension before goes on where this one ends */
        else
            last = loops.rank++;
        loops.sizes[last] = count;
        loops.a[last] = in_step;
        loops.out[last] = out_step;
    }
    if (into_large)
        nuc_kernel_copy(&loops, size, small->data, large_data);
    else
        nuc_kernel_copy(&loops, size, large_data, small->data);
}

/* Same type, and the same sizes but along `dim`, which `small` has or lacks. */
static bool is_part(const struct nuc_tensor *small, const struct nuc_tensor *large, uint32_t dim, bool lacks)
{
    if (small->dtype != large->dtype || small->rank + (lacks ? 1 : 0) != large->rank)
        return false;
    for (uint32_t d = 0; d < small->rank; d++) {
        uint32_t at = dim_in(large, small, dim, d);
        if (at != dim && small->sizes[d] != large->sizes[at])
            return false;
    }
    return true;
}

static int64_t clip_index(const struct nuc_value *value, int64_t fallback, int64_t size)
{
    int64_t v = value->kind == NUC_VALUE_NONE ? fallback : value->u.i;

    if (v < 0)
        v = v < -size ? 0 : v + size;
    return v > size ? size : v;
}

/* Where the part begins; `small` has the sizes of the part of `large`. */
static bool read_slice(struct nuc_kernel_context *cx, const struct nuc_args_slice *s, const struct nuc_tensor *large,
                       const struct nuc_tensor *small, int64_t *start)
{
    uint32_t dim = nuc_dim_of(large, s->dim);

    if (!nuc_need(cx, large->rank > 0, NUC_TEXT("argument 'dim' is not a dimension of 'self'")) ||
        !nuc_need(cx, is_part(small, large, dim, false), NUC_TEXT("the part differs from 'self' in rank or sizes")))
        return false;
    int64_t size = large->sizes[dim], end = clip_index(s->end, size, size);
    *start = clip_index(s->start, 0, size);
    uint32_t count = end <= *start ? 0 : (uint32_t)(end - *start - 1) / (uint32_t)s->step->u.i + 1;
    return nuc_need(cx, (uint32_t)small->sizes[dim] == count, NUC_TEXT("the part has the wrong size along 'dim'"));
}

enum nuc_status nuc_op_slice_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_slice_copy *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    int64_t start;

    if (!read_slice(cx, &a->slice, in, out, &start))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        copy_part(out, in, nuc_dim_of(in, a->slice.dim), start, a->slice.step->u.i, false);
    return NUC_OK;
}

enum nuc_status nuc_op_slice_scatter(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_slice_scatter *a = (const void *)args;
    const struct nuc_tensor *part = &a->src->u.tensor, *out = &a->out->u.tensor;
    int64_t start;

    if (!read_slice(cx, &a->slice, out, part, &start))
        return NUC_UNSUPPORTED;
    enum nuc_status status = nuc_copy_tensor(cx, &a->self->u.tensor, out);
    if (status == NUC_OK && part->bytes > 0)
        copy_part(part, out, nuc_dim_of(out, a->slice.dim), start, a->slice.step->u.i, true);
    return status;
}

/* Which element along `dim` the part is: `small` has the sizes of `large` without it. */
static bool read_select(struct nuc_kernel_context *cx, const struct nuc_tensor *large, const struct nuc_tensor *small,
                        uint32_t dim, int64_t *index, const char *message)
{
    const int64_t size = large->rank > 0 ? large->sizes[dim] : 0;

    if (!nuc_need(cx, large->rank > 0, NUC_TEXT("argument 'dim' is not a dimension of 'self'")) ||
        !nuc_need(cx, *index >= -size && *index < size, NUC_TEXT("argument 'index' lies outside its dimension")))
        return false;
    *index += *index < 0 ? size : 0;
    return nuc_need(cx, is_part(small, large, dim, true), message);
}

enum nuc_status nuc_op_select_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_select_copy *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    uint32_t dim = nuc_dim_of(in, a->dim);
    int64_t index = a->index->u.i;

    if (!read_select(cx, in, out, dim, &index, NUC_TEXT("argument 'out' has the wrong sizes")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        copy_part(out, in, dim, index, 1, false);
    return NUC_OK;
}

enum nuc_status nuc_op_select_scatter(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_select_scatter *a = (const void *)args;
    const struct nuc_tensor *part = &a->src->u.tensor, *out = &a->out->u.tensor;
    uint32_t dim = nuc_dim_of(out, a->dim);
    int64_t index = a->index->u.i;

    if (!read_select(cx, out, part, dim, &index, NUC_TEXT("argument 'src' has the wrong sizes")))
        return NUC_UNSUPPORTED;
    enum nuc_status status = nuc_copy_tensor(cx, &a->self->u.tensor, out);
    if (status == NUC_OK && part->bytes > 0)
        copy_part(part, out, dim, index, 1, true);
    return status;
}

/* Rows of an image that lie together, kept from one strip for the next. */
enum nuc_status nuc_op_copy_bytes(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_copy_bytes *a = (const void *)args;

    (void)cx;
    if (a->out->u.tensor.bytes > 0)
        memmove(a->out->u.tensor.data, a->self->u.tensor.data, a->out->u.tensor.bytes);
    return NUC_OK;
}

enum nuc_status nuc_op_split_with_sizes_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_split_with_sizes_copy *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor;
    uint32_t dim = nuc_dim_of(in, a->dim), count = a->out->u.list.count;
    int64_t start = 0;

    if (!nuc_need(cx, in->rank > 0, NUC_TEXT("argument 'dim' is not a dimension of 'self'")) ||
        !nuc_need(cx, a->split_sizes->u.list.count == count,
                  NUC_TEXT("arguments 'split_sizes' and 'out' differ in length")))
        return NUC_UNSUPPORTED;
    for (uint32_t i = 0; i < count; i++) {
        const struct nuc_tensor *out = &nuc_list_value(cx, a->out, i)->u.tensor;
        if (!nuc_need(cx,
                      is_part(out, in, dim, false) && nuc_list_int(cx, a->split_sizes, i) == out->sizes[dim] &&
                          out->sizes[dim] <= in->sizes[dim] - start,
                      NUC_TEXT("argument 'out' does not fit 'self' and 'split_sizes'")))
            return NUC_UNSUPPORTED;
        if (out->bytes > 0)
            copy_part(out, in, dim, start, 1, false);
        start += out->sizes[dim];
    }
    return NUC_OK;
}

enum nuc_status nuc_op_cat(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_cat *a = (const void *)args;
    const struct nuc_tensor *out = &a->out->u.tensor;
    int64_t start = 0;
    uint32_t dim;

    if (!nuc_need(cx, out->rank > 0 && nuc_tensor_dim(out, a->dim->u.i, &dim),
                  NUC_TEXT("argument 'dim' is not a dimension of 'out'")))
        return NUC_UNSUPPORTED;
    for (uint32_t i = 0; i < a->tensors->u.list.count; i++) {
        const struct nuc_tensor *in = &nuc_list_value(cx, a->tensors, i)->u.tensor;
        if (in->bytes == 0)
            continue;
        if (!nuc_need(cx, is_part(in, out, dim, false) && in->sizes[dim] <= out->sizes[dim] - start,
                      NUC_TEXT("argument 'tensors' does not fit 'out'")))
            return NUC_UNSUPPORTED;
        copy_part(in, out, dim, start, 1, true);
        start += in->sizes[dim];
    }
    if (!nuc_need(cx, start == out->sizes[dim], NUC_TEXT("argument 'tensors' does not fill 'out'")))
        return NUC_UNSUPPORTED;
    return NUC_OK;
}
