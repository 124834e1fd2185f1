/* Matrix products, softmax and transposition in int8. */
#include "device/runtime/operators/ops_int8.h"

/* Rows of the last dimension; false when there are more than 31 bits can count. */
static bool row_count(const struct nuc_tensor *t, int32_t depth, int32_t *rows)
{
    size_t count = t->bytes / (size_t)depth;

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
    struct nuc_matmul_s8 m = {.depth = weight->sizes[1],
                              .columns = weight->sizes[0],
                              .input_offset = sums != NULL ? 0 : nuc_int32(a->input_offset),
                              .weight_offset = nuc_int32(a->filter_offset),
                              .rescale = {&multiplier, &shift, 0, nuc_int32(a->output_offset),
                                          nuc_int32(a->activation_min), nuc_int32(a->activation_max)}};
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
enum nuc_status nuc_op_int8_batch_matmul(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_batch_matmul *a = (const void *)args;
    const struct nuc_tensor *left = &a->lhs->u.tensor, *right = &a->rhs->u.tensor, *out = &a->out->u.tensor;
    const struct nuc_multiplier multiplier = nuc_multiplier_of(a->output_multiplier, a->output_shift);
    const struct nuc_matmul_s8 m = {
        .rows = left->sizes[1],
        .depth = left->sizes[2],
        .columns = right->sizes[1],
        .input_offset = nuc_int32(a->lhs_offset),
        .weight_offset = nuc_int32(a->rhs_offset),
        .rescale = {&multiplier.multiplier, &multiplier.shift, 0, nuc_int32(a->output_offset), INT8_MIN, INT8_MAX},
    };

    if (!nuc_need(cx,
                  left->sizes[0] == right->sizes[0] && left->sizes[2] == right->sizes[2] &&
                      out->sizes[0] == left->sizes[0] && out->sizes[1] == left->sizes[1] &&
                      out->sizes[2] == right->sizes[1],
                  NUC_TEXT("the sizes of the matrices do not fit each other")))
        return NUC_UNSUPPORTED;
    if (out->bytes == 0)
        return NUC_OK;
    ptrdiff_t matrix[3] = {(ptrdiff_t)m.rows * m.depth, (ptrdiff_t)m.columns * m.depth, (ptrdiff_t)m.rows * m.columns};
    for (int32_t b = 0; b < left->sizes[0]; b++)
        nuc_kernel_matmul_s8(&m, (const int8_t *)left->data + b * matrix[0],
                             (const int8_t *)right->data + b * matrix[1], (int8_t *)out->data + b * matrix[2]);
    return NUC_OK;
}

/* Along the dimension that is innermost in memory. */
enum nuc_status nuc_op_int8_softmax(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_softmax *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor;
    struct nuc_softmax_s8 s = {.multiplier = nuc_int32(a->input_multiplier),
                               .shift = nuc_int32(a->input_shift),
                               .diff_min = nuc_int32(a->diff_min)};
    uint32_t dim = nuc_dim_of(in, a->dim);

    if (!nuc_need(cx, in->rank > 0 && (in->sizes[dim] == 1 || nuc_tensor_axis(in, dim).inner == 1),
                  NUC_TEXT("argument 'dim' is not the innermost dimension in memory")) ||
        !nuc_need(cx, a->output_zero_point->u.i == INT8_MIN, NUC_TEXT("argument 'output_zero_point' is not -128")) ||
        !nuc_need(cx, row_count(in, in->sizes[dim], &s.rows), NUC_TEXT("argument 'input' is too large")))
        return NUC_UNSUPPORTED;
    s.size = in->sizes[dim];
    nuc_kernel_softmax_s8(&s, in->data, a->out->u.tensor.data);
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
