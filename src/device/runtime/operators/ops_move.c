/* Operators whose result is elements of their input a fixed distance apart: flip, diagonal, windows, repeat. */
#include "device/runtime/operators/op_shapes.h"

static bool sizes_fit(struct nuc_kernel_context *cx, bool fit)
{
    return nuc_need(cx, fit, NUC_TEXT("argument 'out' has the wrong sizes"));
}

/* The input's elements from `first` on, by the strides a of the loops, whose sizes are those of out. */
static enum nuc_status copy_strided(const struct nuc_tensor *in, ptrdiff_t first, const struct nuc_tensor *out,
                                    struct nuc_loops *loops)
{
    ptrdiff_t size = (ptrdiff_t)nuc_element_size(in);

    loops->rank = out->rank;
    nuc_tensor_strides(out, loops->out);
    for (uint32_t d = 0; d < out->rank; d++)
        loops->sizes[d] = out->sizes[d];
    if (out->bytes > 0)
        nuc_kernel_copy(loops, (size_t)size, (const uint8_t *)in->data + first * size, out->data);
    return NUC_OK;
}

/* Strides in elements of the input's memory; the last element they reach lies inside it. */
static bool strides_fit(const struct nuc_kernel_context *cx, const struct nuc_args_as_strided_copy *a, int64_t last,
                        struct nuc_loops *loops)
{
    const struct nuc_tensor *out = &a->out->u.tensor;
    int64_t elements = (int64_t)nuc_tensor_elements(&a->self->u.tensor);

    if (a->size->u.list.count != out->rank || a->stride->u.list.count != out->rank || last < 0 || last >= elements)
        return false;
    for (uint32_t d = 0; d < out->rank; d++) {
        int64_t stride = nuc_list_int(cx, a->stride, d);
        if (nuc_list_int(cx, a->size, d) != out->sizes[d] || stride < 0 || stride > INT32_MAX)
            return false;
        last += (out->sizes[d] - (int64_t)1) * stride;
        if (last >= elements)
            return false;
        loops->a[d] = (ptrdiff_t)stride;
    }
    return true;
}

enum nuc_status nuc_op_as_strided_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_as_strided_copy *a = (const void *)args;
    int64_t offset = a->storage_offset->kind == NUC_VALUE_NONE ? 0 : a->storage_offset->u.i;
    struct nuc_loops loops = {.rank = 0};

    if (a->out->u.tensor.bytes == 0)
        return NUC_OK;
    if (!nuc_need(cx, strides_fit(cx, a, offset, &loops),
                  NUC_TEXT("arguments 'size', 'stride' and 'storage_offset' leave 'self' or do not fit 'out'")))
        return NUC_UNSUPPORTED;
    return copy_strided(&a->self->u.tensor, (ptrdiff_t)offset, &a->out->u.tensor, &loops);
}

enum nuc_status nuc_op_flip(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_flip *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    struct nuc_loops loops = {.rank = 0};
    ptrdiff_t first = 0;
    uint32_t flipped = 0;

    nuc_tensor_strides(in, loops.a);
    for (uint32_t i = 0; i < a->dims->u.list.count; i++) {
        uint32_t dim;
        if (!nuc_need(cx, nuc_tensor_dim(in, nuc_list_int(cx, a->dims, i), &dim) && (flipped >> dim & 1) == 0,
                      NUC_TEXT("argument 'dims' is not a list of dimensions of 'self'")))
            return NUC_UNSUPPORTED;
        flipped |= 1U << dim;
        if (in->rank == 0)
            continue;
        first += ((ptrdiff_t)in->sizes[dim] - 1) * loops.a[dim];
        loops.a[dim] = -loops.a[dim];
    }
    return copy_strided(in, first, out, &loops);
}

/* The dimensions that are not of the diagonal, and its length: at most what rows and columns leave after the offset. */
static bool diagonal_fits(const struct nuc_tensor *in, const struct nuc_tensor *out, uint32_t row, uint32_t column,
                          int64_t offset, struct nuc_loops *loops)
{
    ptrdiff_t strides[NUC_MAX_RANK];
    int64_t rows = in->sizes[row] + (offset < 0 ? offset : 0);
    int64_t columns = in->sizes[column] - (offset > 0 ? offset : 0);
    int64_t length = rows < columns ? rows : columns;
    uint32_t o = 0;

    if (out->rank + 1 != in->rank || out->sizes[out->rank - 1] != (length < 0 ? 0 : length))
        return false;
    nuc_tensor_strides(in, strides);
    for (uint32_t d = 0; d < in->rank; d++) {
        if (d == row || d == column)
            continue;
        if (out->sizes[o] != in->sizes[d])
            return false;
        loops->a[o++] = strides[d];
    }
    loops->a[o] = strides[row] + strides[column];
    return true;
}

enum nuc_status nuc_op_diagonal_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_diagonal_copy *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    uint32_t row = nuc_dim_of(in, a->dim1), column = nuc_dim_of(in, a->dim2);
    struct nuc_loops loops = {.rank = 0};
    ptrdiff_t strides[NUC_MAX_RANK];

    if (!nuc_need(cx, in->rank > 1 && row != column,
                  NUC_TEXT("arguments 'dim1' and 'dim2' are not two dimensions of 'self'")) ||
        !sizes_fit(cx, diagonal_fits(in, out, row, column, a->offset->u.i, &loops)))
        return NUC_UNSUPPORTED;
    ptrdiff_t offset = out->bytes == 0 ? 0 : (ptrdiff_t)a->offset->u.i;
    nuc_tensor_strides(in, strides);
    return copy_strided(in, offset < 0 ? -offset * strides[row] : offset * strides[column], out, &loops);
}

enum nuc_status nuc_op_unfold_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_unfold_copy *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    uint32_t dim = nuc_dim_of(in, a->dimension);
    int64_t whole = in->rank == 0 ? 1 : in->sizes[dim], size = a->size->u.i, step = a->step->u.i;
    struct nuc_loops loops = {.rank = 0};

    if (!nuc_need(cx, size <= whole, NUC_TEXT("argument 'size' lies outside the dimension")) ||
        !sizes_fit(cx, in->rank < NUC_MAX_RANK && out->rank == in->rank + 1))
        return NUC_UNSUPPORTED;
    int64_t windows = (whole - size) / step + 1;
    bool fits = out->sizes[in->rank] == size;
    nuc_tensor_strides(in, loops.a);
    for (uint32_t d = 0; d < in->rank; d++)
        fits = fits && out->sizes[d] == (d == dim ? windows : in->sizes[d]);
    if (!sizes_fit(cx, fits))
        return NUC_UNSUPPORTED;
    loops.a[in->rank] = in->rank == 0 ? 1 : loops.a[dim];
    if (in->rank > 0 && windows > 1)
        loops.a[dim] *= (ptrdiff_t)step;
    return copy_strided(in, 0, out, &loops);
}

/* Copy `n` of the input, counted in the numbers of repetitions, at its place in out. */
static void copy_at(const struct nuc_tensor *in, const struct nuc_tensor *out, uint32_t lead, size_t n)
{
    struct nuc_loops loops = {.rank = in->rank};
    ptrdiff_t strides[NUC_MAX_RANK];
    ptrdiff_t size = (ptrdiff_t)nuc_element_size(in);
    ptrdiff_t at = 0;

    nuc_tensor_strides(in, loops.a);
    nuc_tensor_strides(out, strides);
    for (uint32_t d = out->rank; d-- > 0;) {
        size_t own = d < lead ? 1 : (size_t)in->sizes[d - lead];
        size_t times = (size_t)out->sizes[d] / own;
        at += (ptrdiff_t)(n % times * own) * strides[d];
        n /= times;
    }
    for (uint32_t d = 0; d < in->rank; d++) {
        loops.sizes[d] = in->sizes[d];
        loops.out[d] = strides[d + lead];
    }
    nuc_kernel_copy(&loops, (size_t)size, in->data, (uint8_t *)out->data + at * size);
}

enum nuc_status nuc_op_repeat(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_repeat *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    bool fits = a->repeats->u.list.count == out->rank && in->rank <= out->rank;
    uint32_t lead = out->rank - in->rank;

    for (uint32_t d = 0; fits && d < out->rank; d++)
        fits = nuc_list_int(cx, a->repeats, d) * (d < lead ? 1 : in->sizes[d - lead]) == out->sizes[d];
    if (!nuc_need(cx, fits, NUC_TEXT("argument 'repeats' does not lead from 'self' to 'out'")))
        return NUC_UNSUPPORTED;
    for (size_t n = 0; out->bytes > 0 && n < out->bytes / in->bytes; n++)
        copy_at(in, out, lead, n);
    return NUC_OK;
}
