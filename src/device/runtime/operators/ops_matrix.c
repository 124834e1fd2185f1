/* Matrix products and operators along one axis, and the loops of those that reduce. */
#include "device/runtime/operators/op_shapes.h"

/* ---- matrix products ---- */

/* x [batch,] m x n, y [batch,] n x p, out [batch,] m x p, of one rank. */
static bool read_product(struct nuc_kernel_context *cx, const struct nuc_tensor *x, const struct nuc_tensor *y,
                         const struct nuc_tensor *out, struct nuc_matmul *mm)
{
    uint32_t row = x->rank - 2U;

    mm->batch = x->rank == 3 ? (size_t)x->sizes[0] : 1;
    mm->m = (size_t)x->sizes[row];
    mm->n = (size_t)x->sizes[row + 1];
    mm->p = (size_t)y->sizes[row + 1];
    return nuc_need(cx,
                    y->sizes[row] == x->sizes[row + 1] && out->sizes[row] == x->sizes[row] &&
                        out->sizes[row + 1] == y->sizes[row + 1] &&
                        (x->rank == 2 || (y->sizes[0] == x->sizes[0] && out->sizes[0] == x->sizes[0])),
                    NUC_TEXT("the sizes of the matrices do not fit each other"));
}

enum nuc_status nuc_op_mm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_mm *a = (const void *)args;
    const struct nuc_tensor *x = &a->self->u.tensor, *y = &a->mat2->u.tensor, *out = &a->out->u.tensor;
    struct nuc_matmul mm;

    if (!read_product(cx, x, y, out, &mm))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0 && out->dtype != NUC_F32)
        nuc_kernel_matmul_int(&mm, (enum nuc_dtype)out->dtype, x->data, y->data, out->data);
    else if (out->bytes > 0)
        nuc_kernel_matmul_f32(&mm, x->data, y->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_addmm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_addmm *a = (const void *)args;
    const struct nuc_tensor *x = &a->mat1->u.tensor, *y = &a->mat2->u.tensor, *out = &a->out->u.tensor;
    const struct nuc_tensor *addend = &a->self->u.tensor;
    ptrdiff_t strides[2] = {0, 0};
    struct nuc_matmul mm;
    struct nuc_loops loops;

    if (!read_product(cx, x, y, out, &mm) || !nuc_need(cx, nuc_broadcast_loops(addend, NULL, out, &loops),
                                                       NUC_TEXT("argument 'self' does not broadcast to 'out'")))
        return NUC_UNSUPPORTED;
    if (out->bytes == 0)
        return NUC_OK;
    strides[0] = loops.rank == 2 ? loops.a[0] : (ptrdiff_t)mm.p;
    strides[1] = loops.rank == 2 ? loops.a[1] : 1;
    nuc_kernel_matmul_f32(&mm, x->data, y->data, out->data);
    nuc_kernel_add_scaled_f32(&mm, addend->data, strides, nuc_value_float(a->beta), nuc_value_float(a->alpha),
                              out->data);
    return NUC_OK;
}

/* ---- along one dimension ---- */

typedef void softmax_kernel(const struct nuc_loops *lines, const struct nuc_line *line, const float *in, float *out);

static enum nuc_status softmax(struct nuc_kernel_context *cx, struct nuc_value *const *args, softmax_kernel *kernel)
{
    const struct nuc_args_softmax *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    struct nuc_loops lines;
    struct nuc_line line;

    if (!nuc_need(cx, !a->half_to_float->u.b, NUC_TEXT("argument 'half_to_float' is true")))
        return NUC_UNSUPPORTED;
    if (out->bytes == 0)
        return NUC_OK;
    nuc_lines_along(in, out, nuc_dim_of(in, a->dim), &lines, &line);
    kernel(&lines, &line, in->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_softmax(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return softmax(cx, args, nuc_kernel_softmax_f32);
}

enum nuc_status nuc_op_log_softmax(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return softmax(cx, args, nuc_kernel_log_softmax_f32);
}

/* Channels are dimension 1. The statistics it returns in training are empty here. */
enum nuc_status nuc_op_batch_norm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_batch_norm *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor;
    const struct nuc_tensor *weight = nuc_optional_tensor(a->weight), *bias = nuc_optional_tensor(a->bias);

    if (!nuc_need(cx, in->rank >= 2, NUC_TEXT("argument 'input' has no channels")))
        return NUC_UNSUPPORTED;
    int32_t channels = in->sizes[1];
    if (!nuc_need(cx, a->running_mean->u.tensor.sizes[0] == channels && a->running_var->u.tensor.sizes[0] == channels,
                  NUC_TEXT("argument 'running_mean' or 'running_var' is not one float32 a channel")) ||
        !nuc_need(cx, (weight == NULL || weight->sizes[0] == channels) && (bias == NULL || bias->sizes[0] == channels),
                  NUC_TEXT("argument 'weight' or 'bias' is not one float32 a channel")))
        return NUC_UNSUPPORTED;
    if (out->bytes == 0)
        return NUC_OK;
    struct nuc_axis_sizes axis = nuc_tensor_axis(in, 1);
    nuc_kernel_batch_norm_f32(&axis, in->data, nuc_optional_data(a->weight), nuc_optional_data(a->bias),
                              a->running_mean->u.tensor.data, a->running_var->u.tensor.data, nuc_value_scalar(a->eps),
                              out->data);
    return NUC_OK;
}

/* ---- loops over some dimensions ---- */

static void add_loop(struct nuc_loops *loops, int32_t size, ptrdiff_t in, ptrdiff_t out)
{
    uint32_t d = loops->rank++;

    loops->sizes[d] = size;
    loops->a[d] = in;
    loops->b[d] = 0;
    loops->out[d] = out;
}

void nuc_lines_along(const struct nuc_tensor *in, const struct nuc_tensor *out, uint32_t dim, struct nuc_loops *lines,
                     struct nuc_line *line)
{
    ptrdiff_t in_strides[NUC_MAX_RANK];
    ptrdiff_t out_strides[NUC_MAX_RANK];

    lines->rank = 0;
    *line = (struct nuc_line){1, 0, 0};
    if (in->rank == 0)
        return;
    nuc_tensor_strides(in, in_strides);
    nuc_tensor_strides(out, out_strides);
    for (uint32_t d = 0; d < in->rank; d++) {
        if (d != dim)
            add_loop(lines, in->sizes[d], in_strides[d], out_strides[d]);
    }
    *line = (struct nuc_line){in->sizes[dim], in_strides[dim], out_strides[dim]};
}

/* Bit d for each dimension d of the list, or for a number; none or an empty list means all. */
static bool reduced_dims(const struct nuc_kernel_context *cx, const struct nuc_value *dims, const struct nuc_tensor *in,
                         uint32_t *mask)
{
    uint32_t all = in->rank == 0 ? 0 : (uint32_t)((1ULL << in->rank) - 1);
    uint32_t dim;

    *mask = 0;
    if (dims->kind == NUC_VALUE_INT) {
        bool exists = nuc_tensor_dim(in, dims->u.i, &dim);
        *mask = exists ? all & 1U << dim : 0;
        return exists;
    }
    if (dims->kind == NUC_VALUE_NONE || dims->u.list.count == 0) {
        *mask = all;
        return true;
    }
    for (uint32_t i = 0; i < dims->u.list.count; i++) {
        if (!nuc_tensor_dim(in, nuc_list_int(cx, dims, i), &dim) || (*mask >> dim & 1) != 0)
            return false;
        *mask |= 1U << dim;
    }
    *mask &= all;
    return true;
}

/* Splits the input's dimensions into those that stay and those that are reduced; false when `out` does not fit. */
static bool split_dims(const struct nuc_tensor *in, const struct nuc_tensor *out, uint32_t mask, bool keepdim,
                       struct nuc_loops *kept, struct nuc_loops *reduced)
{
    ptrdiff_t in_strides[NUC_MAX_RANK];
    ptrdiff_t out_strides[NUC_MAX_RANK];
    uint32_t at = 0;

    kept->rank = reduced->rank = 0;
    nuc_tensor_strides(in, in_strides);
    nuc_tensor_strides(out, out_strides);
    for (uint32_t d = 0; d < in->rank; d++) {
        bool reduce = (mask >> d & 1) != 0;
        if (reduce)
            add_loop(reduced, in->sizes[d], in_strides[d], 0);
        if (reduce && !keepdim)
            continue;
        if (at >= out->rank || out->sizes[at] != (reduce ? 1 : in->sizes[d]))
            return false;
        if (!reduce)
            add_loop(kept, in->sizes[d], in_strides[d], out_strides[at]);
        at++;
    }
    return at == out->rank;
}

bool nuc_reduction_loops(struct nuc_kernel_context *cx, const struct nuc_value *dims, bool keepdim,
                         const struct nuc_tensor *in, const struct nuc_tensor *out, struct nuc_loops *kept,
                         struct nuc_loops *reduced)
{
    uint32_t mask;

    return nuc_need(cx, reduced_dims(cx, dims, in, &mask),
                    NUC_TEXT("argument 'dim' names no dimension of the input")) &&
           nuc_need(cx, split_dims(in, out, mask, keepdim, kept, reduced),
                    NUC_TEXT("argument 'out' has the wrong sizes"));
}
