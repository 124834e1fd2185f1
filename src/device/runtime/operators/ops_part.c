/* Operators over parts of tensors along one dimension. */
#include <string.h>

#include "device/runtime/op_args.h"

/*
 * Copies between a part of one tensor and a whole one: `part` has the sizes of the small tensor; the large one is
 * entered at element `start` and walked with `step` along `dim`. The caller has checked that it fits.
 */
static void copy_part(const struct nuc_tensor *small, const struct nuc_tensor *large, uint32_t dim, int64_t start,
                      int64_t step, bool into_large)
{
    struct nuc_loops loops = {.rank = small->rank};
    ptrdiff_t small_strides[NUC_MAX_RANK];
    ptrdiff_t large_strides[NUC_MAX_RANK];
    size_t size = nuc_dtype_size((enum nuc_dtype)small->dtype);

    nuc_tensor_strides(small, small_strides);
    nuc_tensor_strides(large, large_strides);
    uint8_t *large_data = (uint8_t *)large->data + (ptrdiff_t)size * (ptrdiff_t)start * large_strides[dim];
    for (uint32_t d = 0; d < small->rank; d++) {
        ptrdiff_t stride = large_strides[d] * (d == dim ? (ptrdiff_t)step : 1);
        loops.sizes[d] = small->sizes[d];
        loops.a[d] = into_large ? small_strides[d] : stride;
        loops.out[d] = into_large ? stride : small_strides[d];
    }
    if (into_large)
        nuc_kernel_copy(&loops, size, small->data, large_data);
    else
        nuc_kernel_copy(&loops, size, large_data, small->data);
}

/* Same type and rank, and the same sizes but along `dim`. */
static bool alike_but(const struct nuc_tensor *a, const struct nuc_tensor *b, uint32_t dim)
{
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (uint32_t d = 0; d < a->rank; d++) {
        if (d != dim && a->sizes[d] != b->sizes[d])
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

/* A part of a tensor along one dimension. */
struct slice {
    uint32_t dim;
    int64_t start, step;
};

/* dim, start, end and step in args[first] and up; `small` has the sizes of the part of `large`. */
static bool read_slice(struct nuc_kernel_context *cx, struct nuc_value *const *args, int first,
                       const struct nuc_tensor *large, const struct nuc_tensor *small, struct slice *slice)
{
    if (!nuc_need(cx, large->rank > 0 && nuc_tensor_dim(large, args[first]->u.i, &slice->dim),
                  NUC_TEXT("argument 'dim' is not a dimension of 'self'")) ||
        !nuc_need(cx, nuc_value_in(args[first + 3], 1, INT32_MAX), NUC_TEXT("argument 'step' is not positive")) ||
        !nuc_need(cx, alike_but(large, small, slice->dim),
                  NUC_TEXT("the part differs from 'self' in type, rank or sizes")))
        return false;
    int64_t size = large->sizes[slice->dim];
    int64_t end = clip_index(args[first + 2], size, size);
    slice->start = clip_index(args[first + 1], 0, size);
    slice->step = args[first + 3]->u.i;
    int64_t count = end <= slice->start ? 0 : (end - slice->start + slice->step - 1) / slice->step;
    return nuc_need(cx, small->sizes[slice->dim] == count, NUC_TEXT("the part has the wrong size along 'dim'"));
}

enum nuc_status nuc_op_slice_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 5);
    struct slice slice;

    if (!read_slice(cx, args, 1, in, out, &slice))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        copy_part(out, in, slice.dim, slice.start, slice.step, false);
    return NUC_OK;
}

/* Rows of an image that lie together, kept from one strip for the next. */
enum nuc_status nuc_op_copy_bytes(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 1);

    if (!nuc_need(cx, in->dtype == out->dtype && nuc_tensor_same_layout(in, out),
                  NUC_TEXT("argument 'out' differs from 'self' in type or layout")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        memmove(out->data, in->data, out->bytes);
    return NUC_OK;
}

enum nuc_status nuc_op_slice_scatter(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *part = nuc_arg_tensor(args, 1);
    struct nuc_tensor *out = nuc_arg_tensor(args, 6);
    struct slice slice;

    if (!nuc_need(cx, in->dtype == out->dtype && nuc_tensor_same_sizes(in, out),
                  NUC_TEXT("argument 'out' differs from 'self' in type or sizes")) ||
        !read_slice(cx, args, 2, out, part, &slice))
        return NUC_UNSUPPORTED;
    enum nuc_status status = nuc_copy_tensor(cx, in, out);
    if (status == NUC_OK && part->bytes > 0)
        copy_part(part, out, slice.dim, slice.start, slice.step, true);
    return status;
}

enum nuc_status nuc_op_split_with_sizes_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    uint32_t count = args[3]->u.list.count;
    int64_t start = 0;
    uint32_t dim;

    if (!nuc_need(cx, in->rank > 0 && nuc_tensor_dim(in, args[2]->u.i, &dim),
                  NUC_TEXT("argument 'dim' is not a dimension of 'self'")) ||
        !nuc_need(cx, args[1]->u.list.count == count, NUC_TEXT("arguments 'split_sizes' and 'out' differ in length")))
        return NUC_UNSUPPORTED;
    for (uint32_t i = 0; i < count; i++) {
        const struct nuc_tensor *out = &nuc_list_value(cx, args[3], i)->u.tensor;
        if (!nuc_need(cx,
                      alike_but(in, out, dim) && nuc_list_int(cx, args[1], i) == out->sizes[dim] &&
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
    struct nuc_tensor *out = nuc_arg_tensor(args, 2);
    int64_t start = 0;
    uint32_t dim;

    if (!nuc_need(cx, out->rank > 0 && nuc_tensor_dim(out, args[1]->u.i, &dim),
                  NUC_TEXT("argument 'dim' is not a dimension of 'out'")))
        return NUC_UNSUPPORTED;
    for (uint32_t i = 0; i < args[0]->u.list.count; i++) {
        const struct nuc_tensor *in = &nuc_list_value(cx, args[0], i)->u.tensor;
        if (in->bytes == 0)
            continue;
        if (!nuc_need(cx, alike_but(in, out, dim) && in->sizes[dim] <= out->sizes[dim] - start,
                      NUC_TEXT("argument 'tensors' does not fit 'out'")))
            return NUC_UNSUPPORTED;
        copy_part(in, out, dim, start, 1, true);
        start += in->sizes[dim];
    }
    return nuc_need(cx, start == out->sizes[dim], NUC_TEXT("argument 'tensors' does not fill 'out'")) ? NUC_OK
                                                                                                      : NUC_UNSUPPORTED;
}
