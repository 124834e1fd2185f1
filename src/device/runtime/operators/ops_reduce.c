/* Reductions over dimensions, and running sums. */
#include "device/runtime/operators/op_shapes.h"

/* ---- sum, mean, product, extrema, any ---- */

/* What an empty input leaves: 0 of a sum, 1 of a product, false of any. */
static void fill_neutral(enum nuc_reduce_op op, const struct nuc_tensor *out)
{
    static const float real = 1.0f;
    static const int64_t whole = 1; /* its low bytes are those of a shorter integer */
    static const int64_t zero = 0;  /* and of a float32 */
    const void *one = nuc_is_f32(out) ? (const void *)&real : (const void *)&whole;

    nuc_kernel_fill(nuc_element_size(out), op == NUC_REDUCE_PROD ? one : &zero, out->data, nuc_tensor_elements(out));
}

/* Sums and products of integers are int64; extrema have the type of the input, means are of float32 alone. */
static enum nuc_status reduce(struct nuc_kernel_context *cx, enum nuc_reduce_op op, const struct nuc_tensor *in,
                              const struct nuc_value *dim, const struct nuc_value *keepdim,
                              const struct nuc_tensor *out)
{
    struct nuc_loops kept, reduced;
    bool extreme = op == NUC_REDUCE_MAX || op == NUC_REDUCE_MIN;
    bool real = nuc_is_f32(in) && nuc_is_f32(out);
    bool whole = nuc_is_whole(in) && out->dtype == (extreme ? in->dtype : NUC_I64) && op != NUC_REDUCE_MEAN;

    if (!nuc_need(cx, real || whole, NUC_TEXT("the element types of arguments 'self' and 'out' do not fit")) ||
        !nuc_reduction_loops(cx, dim, keepdim->u.b, in, out, &kept, &reduced) ||
        !nuc_need(cx, in->bytes > 0 || out->bytes == 0 || op == NUC_REDUCE_SUM || op == NUC_REDUCE_PROD,
                  NUC_TEXT("argument 'self' has no elements")))
        return NUC_UNSUPPORTED;
    if (in->bytes == 0)
        fill_neutral(op, out);
    else if (real)
        nuc_kernel_reduce_f32(op, &kept, &reduced, in->data, out->data);
    else if (extreme && in->dtype == NUC_I8)
        nuc_kernel_extreme_s8(op == NUC_REDUCE_MAX, &kept, &reduced, in->data, out->data);
    else
        nuc_kernel_reduce_int(op, &kept, &reduced, (enum nuc_dtype)in->dtype, (enum nuc_dtype)out->dtype, in->data,
                              out->data);
    return NUC_OK;
}

/* An operator of its own for each row, as those of two values have. */
#define REDUCE_OPERATOR(name, list, op)                                                                                \
    enum nuc_status nuc_op_##name(struct nuc_kernel_context *cx, struct nuc_value *const *args)                        \
    {                                                                                                                  \
        const struct nuc_args_##list *a = (const void *)args;                                                          \
                                                                                                                       \
        return reduce(cx, op, &a->self->u.tensor, a->dim, a->keepdim, &a->out->u.tensor);                              \
    }
REDUCE_OPERATOR(mean, reduce, NUC_REDUCE_MEAN)
REDUCE_OPERATOR(sum, reduce, NUC_REDUCE_SUM)
REDUCE_OPERATOR(amax, amax, NUC_REDUCE_MAX)
REDUCE_OPERATOR(amin, amax, NUC_REDUCE_MIN)
REDUCE_OPERATOR(prod, prod, NUC_REDUCE_PROD)

enum nuc_status nuc_op_any(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_any *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    struct nuc_loops kept, reduced;

    if (!nuc_need(cx, a->dim->kind == NUC_VALUE_NONE || a->dim->u.list.count > 0,
                  NUC_TEXT("argument 'dim' is empty")) ||
        !nuc_reduction_loops(cx, a->dim, a->keepdim->u.b, in, out, &kept, &reduced))
        return NUC_UNSUPPORTED;
    if (in->bytes == 0)
        fill_neutral(NUC_REDUCE_ANY, out);
    else if (nuc_is_f32(in))
        nuc_kernel_any_f32(&kept, &reduced, in->data, out->data);
    else
        nuc_kernel_reduce_int(NUC_REDUCE_ANY, &kept, &reduced, (enum nuc_dtype)in->dtype, NUC_BOOL, in->data,
                              out->data);
    return NUC_OK;
}

/* ---- places of extrema ---- */

static enum nuc_status arg_extreme(struct nuc_kernel_context *cx, bool largest, struct nuc_value *const *args)
{
    const struct nuc_args_argmax *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    struct nuc_loops kept, reduced;

    if (!nuc_reduction_loops(cx, a->dim, a->keepdim->u.b, in, out, &kept, &reduced) ||
        !nuc_need(cx, in->bytes > 0 || out->bytes == 0, NUC_TEXT("argument 'self' has no elements")))
        return NUC_UNSUPPORTED;
    if (in->bytes > 0)
        nuc_kernel_arg_extreme(largest, &kept, &reduced, (enum nuc_dtype)in->dtype, in->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_argmax(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return arg_extreme(cx, true, args);
}

enum nuc_status nuc_op_argmin(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return arg_extreme(cx, false, args);
}

/* ---- variance ---- */

/* The correction is 1 when there is none. */
enum nuc_status nuc_op_var(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_var *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    double correction = a->correction->kind == NUC_VALUE_NONE ? 1.0 : nuc_value_scalar(a->correction);
    struct nuc_loops kept, reduced;

    if (!nuc_reduction_loops(cx, a->dim, a->keepdim->u.b, in, out, &kept, &reduced))
        return NUC_UNSUPPORTED;
    nuc_kernel_var_f32(&kept, &reduced, correction, in->data, out->data);
    return NUC_OK;
}

/* ---- running sums ---- */

enum nuc_status nuc_op_cumsum(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_cumsum *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    struct nuc_loops lines;
    struct nuc_line line;

    if (!nuc_need(cx, nuc_is_f32(in) == nuc_is_f32(out),
                  NUC_TEXT("the element types of arguments 'self' and 'out' do not fit")))
        return NUC_UNSUPPORTED;
    if (out->bytes == 0)
        return NUC_OK;
    nuc_lines_along(in, out, nuc_dim_of(in, a->dim), &lines, &line);
    if (nuc_is_f32(in))
        nuc_kernel_cumsum_f32(&lines, &line, in->data, out->data);
    else
        nuc_kernel_cumsum_int(&lines, &line, (enum nuc_dtype)in->dtype, (enum nuc_dtype)out->dtype, in->data,
                              out->data);
    return NUC_OK;
}
