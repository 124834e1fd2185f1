/* Matrix products, softmax and transposition in int8; batched products and softmax also in int16. */
#include "device/runtime/operators/ops_int8.h"

/* Rows of the last dimension; false when there are more than 31 bits can count. */
static bool row_count(const struct nuc_tensor *t, int32_t depth, int32_t *rows)
{
    size_t count = nuc_tensor_elements(t) / (size_t)depth;

    *rows = (int32_t)count;
    return count <= INT32_MAX;
}

/* kernel_sum, when it is there, holds bias and input offset times the sum of weights. */
enum nuc_status nuc_op_int8_linear(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_linear *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *weight = &a->weights->u.tensor, *out = &a->out->u.tensor;
    const struct nuc_tensor *bias = nuc_optional_tensor(a->bias), *sums = nuc_optional_tensor(a->kernel_sum);
    const int32_t multiplier = (int32_t)nuc_list_int(cx, a->requantize_multipliers, 0);
    const int32_t shift = (int32_t)nuc_list_int(cx, a->requantize_shifts, 0);
    struct nuc_matmul_s8 m = {.rows = 0, /* every member is named: none is cleared first */
                              .depth = weight->sizes[1],
                              .columns = weight->sizes[0],
                              .input_offset = sums != NULL ? 0 : nuc_int32(a->input_offset),
                              .weight_offset = nuc_int32(a->filter_offset),
                              .rescale = {&multiplier, &shift, 0, nuc_int32(a->output_offset),
                                          nuc_int32(a->activation_min), nuc_int32(a->activation_max)},
                              .bias = NULL};
    int32_t out_rows;

    if (!nuc_need(cx,
                  in->rank >= 1 && out->rank >= 1 && in->sizes[in->rank - 1] == m.depth &&
                      out->sizes[out->rank - 1] == m.columns && row_count(in, m.depth, &m.rows) &&
                      row_count(out, m.columns, &out_rows) && out_rows == m.rows,
                  NUC_TEXT("the sizes of 'input', 'weights' and 'out' do not fit each other")) ||
        !nuc_need(cx, bias == NULL || sums == NULL, NUC_TEXT("both 'bias' and 'kernel_sum' are given")))
        return NUC_UNSUPPORTED;
    bias = sums != NULL ? sums : bias;
    if (!nuc_need(cx, bias == NULL || nuc_tensor_elements(bias) == (size_t)m.columns,
                  NUC_TEXT("argument 'bias' or 'kernel_sum' is not one int32 an output feature")) ||
        !nuc_bounds_fit(cx, m.rescale.low, m.rescale.high))
        return NUC_UNSUPPORTED;
    m.bias = bias != NULL ? bias->data : NULL;
    nuc_kernel_matmul_s8(&m, in->data, weight->data, out->data);
    return NUC_OK;
}

/* left: batch, rows, depth; right: batch, columns, depth. The zero points come with their signs changed. */
static bool read_matrices(struct nuc_kernel_context *cx, const struct nuc_args_int8_batch_matmul *a,
                          const struct nuc_multiplier *scale, struct nuc_matmul_s8 *m)
{
    const struct nuc_tensor *left = &a->lhs->u.tensor, *right = &a->rhs->u.tensor, *out = &a->out->u.tensor;
    bool s8 = nuc_is_s8(out);

    *m = (struct nuc_matmul_s8){
        .rows = left->sizes[1],
        .depth = left->sizes[2],
        .columns = right->sizes[1],
        .input_offset = nuc_int32(a->lhs_offset),
        .weight_offset = nuc_int32(a->rhs_offset),
        .rescale = {&scale->multiplier, &scale->shift, 0, nuc_int32(a->output_offset), s8 ? INT8_MIN : INT16_MIN,
                    s8 ? INT8_MAX : INT16_MAX},
    };
    return nuc_need(cx,
                    left->sizes[0] == right->sizes[0] && left->sizes[2] == right->sizes[2] &&
                        out->sizes[0] == left->sizes[0] && out->sizes[1] == left->sizes[1] &&
                        out->sizes[2] == right->sizes[1],
                    NUC_TEXT("the sizes of the matrices do not fit each other"));
}

/* An operator of its own for each width; `also` is what else must hold. */
#define BATCH_MATMUL(name, type, kernel, also)                                                                         \
    enum nuc_status nuc_op_##name(struct nuc_kernel_context *cx, struct nuc_value *const *args)                        \
    {                                                                                                                  \
        const struct nuc_args_int8_batch_matmul *a = (const void *)args;                                               \
        const struct nuc_multiplier scale = nuc_multiplier_of(a->output_multiplier, a->output_shift);                  \
        const type *left = a->lhs->u.tensor.data, *right = a->rhs->u.tensor.data;                                      \
        type *out = a->out->u.tensor.data;                                                                             \
        struct nuc_matmul_s8 m;                                                                                        \
                                                                                                                       \
        if (!read_matrices(cx, a, &scale, &m) || !(also))                                                              \
            return NUC_UNSUPPORTED;                                                                                    \
        for (int32_t b = 0; a->out->u.tensor.bytes > 0 && b < a->lhs->u.tensor.sizes[0]; b++) {                        \
            kernel(&m, left, right, out);                                                                              \
            left += (ptrdiff_t)m.rows * m.depth;                                                                       \
            right += (ptrdiff_t)m.columns * m.depth;                                                                   \
            out += (ptrdiff_t)m.rows * m.columns;                                                                      \
        }                                                                                                              \
        return NUC_OK;                                                                                                 \
    }

BATCH_MATMUL(int8_batch_matmul, int8_t, nuc_kernel_matmul_s8, true)
BATCH_MATMUL(int16_batch_matmul, int16_t, nuc_kernel_matmul_s16,
             nuc_zeros(cx, m.input_offset, m.weight_offset, m.rescale.offset) &&
                 nuc_need(cx, scale.shift <= NUC_MOST_LONG_SHIFT, NUC_TEXT("argument 'output_shift' is out of range")))

/* Rows of the dimension that is innermost in memory. */
static bool softmax_rows(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_value *along,
                         int32_t *rows, int32_t *size)
{
    uint32_t dim = nuc_dim_of(in, along);

    *size = in->rank > 0 ? in->sizes[dim] : 0;
    return nuc_need(cx, in->rank > 0 && (*size == 1 || nuc_tensor_axis(in, dim).inner == 1),
                    NUC_TEXT("argument 'dim' is not the innermost dimension in memory")) &&
           nuc_need(cx, row_count(in, *size, rows), NUC_TEXT("argument 'input' is too large"));
}

enum nuc_status nuc_op_int8_softmax(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_softmax *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor;
    struct nuc_softmax_s8 s = {.multiplier = nuc_int32(a->input_multiplier),
                               .shift = nuc_int32(a->input_shift),
                               .diff_min = nuc_int32(a->diff_min),
                               .wide = a->out->u.tensor.dtype == NUC_I16};

    if (!softmax_rows(cx, in, a->dim, &s.rows, &s.size) ||
        !nuc_need(cx, a->output_zero_point->u.i == (s.wide ? INT16_MIN : INT8_MIN),
                  NUC_TEXT("argument 'output_zero_point' is not the least number")))
        return NUC_UNSUPPORTED;
    nuc_kernel_softmax_s8(&s, in->data, a->out->u.tensor.data);
    return NUC_OK;
}

enum nuc_status nuc_op_int16_softmax(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int16_softmax *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *exponentials = &a->exponentials->u.tensor,
                            *reciprocals = &a->reciprocals->u.tensor;
    struct nuc_softmax_s16 s = {.exponentials = exponentials->data,
                                .reciprocals = reciprocals->data,
                                .m = nuc_multiplier_of(a->multiplier, a->shift)};

    if (!softmax_rows(cx, in, a->dim, &s.rows, &s.size) ||
        !nuc_need(cx, s.size <= (int32_t)UINT16_MAX, NUC_TEXT("argument 'input' is too large")) ||
        !nuc_need(cx, nuc_tensor_elements(exponentials) == 513 && nuc_tensor_elements(reciprocals) == 513,
                  NUC_TEXT("a table does not have 513 entries")))
        return NUC_UNSUPPORTED;
    nuc_kernel_softmax_s16(&s, in->data, a->out->u.tensor.data);
    return NUC_OK;
}

enum nuc_status nuc_op_int8_transpose(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_transpose *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor;
    struct nuc_loops loops;

    if (!nuc_need(cx, in->rank >= 1 && in->rank <= 4, NUC_TEXT("argument 'input' is not of rank 1 to 4")) ||
        !nuc_need(cx, nuc_permuted_loops(cx, a->perm, in, out, &loops),
                  NUC_TEXT("argument 'perm' does not lead to the sizes of 'out'")))
        return NUC_UNSUPPORTED;
    nuc_loops_in_memory_order(&loops);
    if (out->bytes > 0)
        nuc_kernel_copy(&loops, 1, in->data, out->data);
    return NUC_OK;
}
