/* Operators whose result is elements of their input a fixed distance apart: flip, select, diagonal, windows, repeat. */
#include "device/runtime/op_args.h"

static const char different_type[] = "argument 'out' differs from 'self' in element type";
static const char wrong_sizes[] = "argument 'out' has the wrong sizes";

static bool same_type(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *out)
{
    return nuc_need(cx, in->dtype == out->dtype, NUC_TEXT(different_type));
}

/* The input's elements from `first` on, by the strides a of the loops, whose sizes are those of out. */
static enum nuc_status copy_strided(const struct nuc_tensor *in, ptrdiff_t first, const struct nuc_tensor *out,
                                    struct nuc_loops *loops)
{
    ptrdiff_t size = (ptrdiff_t)nuc_dtype_size((enum nuc_dtype)in->dtype);

    loops->rank = out->rank;
    nuc_tensor_strides(out, loops->out);
    for (uint32_t d = 0; d < out->rank; d++)
        loops->sizes[d] = out->sizes[d];
    if (out->bytes > 0)
        nuc_kernel_copy(loops, (size_t)size, (const uint8_t *)in->data + first * size, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_flip(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 2);
    struct nuc_loops loops = {.rank = 0};
    ptrdiff_t first = 0;
    uint32_t flipped = 0;

    if (!same_type(cx, in, out) || !nuc_need(cx, nuc_tensor_same_sizes(in, out), NUC_TEXT(wrong_sizes)))
        return NUC_UNSUPPORTED;
    nuc_tensor_strides(in, loops.a);
    for (uint32_t i = 0; i < args[1]->u.list.count; i++) {
        uint32_t dim;
        if (!nuc_need(cx, nuc_tensor_dim(in, nuc_list_int(cx, args[1], i), &dim) && (flipped >> dim & 1) == 0,
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

enum nuc_status nuc_op_select_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 3);
    struct nuc_loops loops = {.rank = 0};
    ptrdiff_t strides[NUC_MAX_RANK];
    uint32_t dim;
    bool fits = true;

    if (!same_type(cx, in, out) ||
        !nuc_need(cx, in->rank > 0 && nuc_tensor_dim(in, args[1]->u.i, &dim),
                  NUC_TEXT("argument 'dim' is not a dimension of 'self'")) ||
        !nuc_need(cx, nuc_value_in(args[2], -(int64_t)in->sizes[dim], (int64_t)in->sizes[dim] - 1),
                  NUC_TEXT("argument 'index' lies outside the dimension")) ||
        !nuc_need(cx, out->rank + 1 == in->rank, NUC_TEXT(wrong_sizes)))
        return NUC_UNSUPPORTED;
    int64_t index = args[2]->u.i < 0 ? args[2]->u.i + in->sizes[dim] : args[2]->u.i;
    nuc_tensor_strides(in, strides);
    for (uint32_t d = 0; d < out->rank; d++) {
        uint32_t from = d < dim ? d : d + 1;
        fits = fits && out->sizes[d] == in->sizes[from];
        loops.a[d] = strides[from];
    }
    if (!nuc_need(cx, fits, NUC_TEXT(wrong_sizes)))
        return NUC_UNSUPPORTED;
    return copy_strided(in, (ptrdiff_t)index * strides[dim], out, &loops);
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
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 4);
    struct nuc_loops loops = {.rank = 0};
    ptrdiff_t strides[NUC_MAX_RANK];
    uint32_t row;
    uint32_t column;

    if (!same_type(cx, in, out) ||
        !nuc_need(cx, nuc_value_in(args[1], -INT32_MAX, INT32_MAX), NUC_TEXT("argument 'offset' is too large")) ||
        !nuc_need(cx,
                  in->rank > 1 && nuc_tensor_dim(in, args[2]->u.i, &row) && nuc_tensor_dim(in, args[3]->u.i, &column) &&
                      row != column,
                  NUC_TEXT("arguments 'dim1' and 'dim2' are not two dimensions of 'self'")) ||
        !nuc_need(cx, diagonal_fits(in, out, row, column, args[1]->u.i, &loops), NUC_TEXT(wrong_sizes)))
        return NUC_UNSUPPORTED;
    ptrdiff_t offset = out->bytes == 0 ? 0 : (ptrdiff_t)args[1]->u.i;
    nuc_tensor_strides(in, strides);
    return copy_strided(in, offset < 0 ? -offset * strides[row] : offset * strides[column], out, &loops);
}

enum nuc_status nuc_op_unfold_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 4);
    struct nuc_loops loops = {.rank = 0};
    uint32_t dim;

    if (!same_type(cx, in, out) ||
        !nuc_need(cx, nuc_tensor_dim(in, args[1]->u.i, &dim), NUC_TEXT("argument 'dimension' is not one of 'self'")) ||
        !nuc_need(cx, in->rank < NUC_MAX_RANK && out->rank == in->rank + 1, NUC_TEXT(wrong_sizes)))
        return NUC_UNSUPPORTED;
    int64_t whole = in->rank == 0 ? 1 : in->sizes[dim];
    if (!nuc_need(cx, nuc_value_in(args[2], 0, whole), NUC_TEXT("argument 'size' lies outside the dimension")) ||
        !nuc_need(cx, nuc_value_in(args[3], 1, INT32_MAX), NUC_TEXT("argument 'step' is not positive")))
        return NUC_UNSUPPORTED;
    int64_t windows = (whole - args[2]->u.i) / args[3]->u.i + 1;
    bool fits = out->sizes[in->rank] == args[2]->u.i;
    nuc_tensor_strides(in, loops.a);
    for (uint32_t d = 0; d < in->rank; d++)
        fits = fits && out->sizes[d] == (d == dim ? windows : in->sizes[d]);
    if (!nuc_need(cx, fits, NUC_TEXT(wrong_sizes)))
        return NUC_UNSUPPORTED;
    loops.a[in->rank] = in->rank == 0 ? 1 : loops.a[dim];
    if (in->rank > 0 && windows > 1)
        loops.a[dim] *= (ptrdiff_t)args[3]->u.i;
    return copy_strided(in, 0, out, &loops);
}

/* Copy `n` of the input, counted in the numbers of repetitions, at its place in out. */
static void copy_at(const struct nuc_tensor *in, const struct nuc_tensor *out, uint32_t lead, size_t n)
{
    struct nuc_loops loops = {.rank = in->rank};
    ptrdiff_t strides[NUC_MAX_RANK];
    ptrdiff_t size = (ptrdiff_t)nuc_dtype_size((enum nuc_dtype)in->dtype);
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
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 2);
    bool fits = args[1]->u.list.count == out->rank && in->rank <= out->rank;
    uint32_t lead = out->rank - in->rank;

    if (!same_type(cx, in, out))
        return NUC_UNSUPPORTED;
    for (uint32_t d = 0; fits && d < out->rank; d++) {
        int64_t times = nuc_list_int(cx, args[1], d);
        fits = times >= 0 && times <= INT32_MAX && times * (d < lead ? 1 : in->sizes[d - lead]) == out->sizes[d];
    }
    if (!nuc_need(cx, fits, NUC_TEXT("argument 'repeats' does not lead from 'self' to 'out'")))
        return NUC_UNSUPPORTED;
    for (size_t n = 0; out->bytes > 0 && n < out->bytes / in->bytes; n++)
        copy_at(in, out, lead, n);
    return NUC_OK;
}
