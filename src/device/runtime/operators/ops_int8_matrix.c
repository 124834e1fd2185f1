/* Matrix products, softmax and transposition in int8. */
#include "device/runtime/operators/ops_int8.h"

static bool is_dense(const struct nuc_tensor *t)
{
    return nuc_is_s8(t) && nuc_tensor_is_contiguous(t);
}

/* Rows of the last dimension; false when there are more than 31 bits can count. */
static bool row_count(const struct nuc_tensor *t, int32_t depth, int32_t *rows)
{
    size_t count = t->bytes / (size_t)depth;

    *rows = (int32_t)count;
    return count <= INT32_MAX;
}

static bool linear_tensors(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *weight,
                           const struct nuc_tensor *out, struct nuc_matmul_s8 *m)
{
    int32_t out_rows;

    if (!nuc_need(cx, is_dense(in) && in->rank >= 1 && in->bytes > 0,
                  NUC_TEXT("argument 'input' is not contiguous int8, or empty")) ||
        !nuc_need(cx, is_dense(weight) && weight->rank == 2 && weight->bytes > 0,
                  NUC_TEXT("argument 'weights' is not a contiguous int8 matrix")) ||
        !nuc_need(cx, is_dense(out) && out->rank >= 1, NUC_TEXT("argument 'out' is not contiguous int8")))
        return false;
    m->depth = weight->sizes[1];
    m->columns = weight->sizes[0];
    return nuc_need(cx,
                    in->sizes[in->rank - 1] == m->depth && out->sizes[out->rank - 1] == m->columns &&
                        row_count(in, m->depth, &m->rows) && row_count(out, m->columns, &out_rows) &&
                        out_rows == m->rows,
                    NUC_TEXT("the sizes of 'input', 'weights' and 'out' do not fit each other"));
}

/* kernel_sum, when it is there, holds bias and input offset times the sum of weights. */
static bool linear_sums(struct nuc_kernel_context *cx, const struct nuc_tensor *bias, const struct nuc_tensor *sums,
                        struct nuc_matmul_s8 *m)
{
    if (!nuc_need(cx, bias == NULL || sums == NULL, NUC_TEXT("both 'bias' and 'kernel_sum' are given")) ||
        !nuc_need(cx, nuc_is_i32_vector(bias, m->columns) && nuc_is_i32_vector(sums, m->columns),
                  NUC_TEXT("argument 'bias' or 'kernel_sum' is not one int32 an output feature")))
        return false;
    m->bias = bias != NULL ? bias->data : NULL;
    if (sums != NULL) {
        m->bias = sums->data;
        m->input_offset = 0;
    }
    return true;
}

enum nuc_status nuc_op_int8_linear(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *weight = nuc_arg_tensor(args, 1);
    struct nuc_tensor *out = nuc_arg_tensor(args, 11);
    struct nuc_matmul_s8 m = {.rows = 0};

    if (!linear_tensors(cx, in, weight, out, &m) ||
        !nuc_need(cx, nuc_is_offset(args[4]) && nuc_is_offset(args[5]) && nuc_is_zero_point(args[6]),
                  NUC_TEXT("an offset is out of range")) ||
        !nuc_need(cx, args[7]->u.list.count == 1 && args[8]->u.list.count == 1,
                  NUC_TEXT("argument 'requantize_multipliers' or 'requantize_shifts' is not one number")) ||
        !nuc_need(cx, nuc_arg_bounds(args, 10, 9, &m.rescale.low, &m.rescale.high),
                  NUC_TEXT("argument 'activation_min' or 'activation_max' is out of range")))
        return NUC_UNSUPPORTED;
    int64_t multiplier = nuc_list_int(cx, args[7], 0);
    int64_t shift = nuc_list_int(cx, args[8], 0);
    int32_t multipliers[1] = {(int32_t)multiplier};
    int32_t shifts[1] = {(int32_t)shift};
    m.input_offset = (int32_t)args[4]->u.i;
    m.weight_offset = (int32_t)args[5]->u.i;
    m.rescale.offset = (int32_t)args[6]->u.i;
    m.rescale.multipliers = multipliers;
    m.rescale.shifts = shifts;
    if (!linear_sums(cx, nuc_arg_optional_tensor(args, 2), nuc_arg_optional_tensor(args, 3), &m) ||
        !nuc_need(cx, multiplier == multipliers[0] && shift >= -31 && shift <= 31,
                  NUC_TEXT("a multiplier or shift is out of range")))
        return NUC_UNSUPPORTED;
    nuc_kernel_matmul_s8(&m, in->data, weight->data, out->data);
    return NUC_OK;
}

/* left: batch, rows, depth; right: batch, columns, depth. */
static bool product_tensors(struct nuc_kernel_context *cx, const struct nuc_tensor *left,
                            const struct nuc_tensor *right, const struct nuc_tensor *out)
{
    return nuc_need(cx, is_dense(left) && is_dense(right) && is_dense(out),
                    NUC_TEXT("a tensor is not contiguous int8")) &&
           nuc_need(cx, left->rank == 3 && right->rank == 3 && out->rank == 3, NUC_TEXT("a tensor is not of rank 3")) &&
           nuc_need(cx,
                    left->sizes[0] == right->sizes[0] && left->sizes[2] == right->sizes[2] &&
                        out->sizes[0] == left->sizes[0] && out->sizes[1] == left->sizes[1] &&
                        out->sizes[2] == right->sizes[1],
                    NUC_TEXT("the sizes of the matrices do not fit each other"));
}

/* The zero points come with their signs changed. */
enum nuc_status nuc_op_int8_batch_matmul(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *left = nuc_arg_tensor(args, 0);
    struct nuc_tensor *right = nuc_arg_tensor(args, 2);
    struct nuc_tensor *out = nuc_arg_tensor(args, 8);
    struct nuc_multiplier multiplier;

    if (!product_tensors(cx, left, right, out) ||
        !nuc_need(cx, nuc_is_offset(args[1]) && nuc_is_offset(args[3]) && nuc_is_zero_point(args[4]),
                  NUC_TEXT("a zero point is out of range")) ||
        !nuc_need(cx, nuc_arg_multiplier(args, 5, &multiplier), NUC_TEXT("a multiplier or shift is out of range")))
        return NUC_UNSUPPORTED;
    struct nuc_matmul_s8 m = {
        .rows = left->sizes[1],
        .depth = left->sizes[2],
        .columns = right->sizes[1],
        .input_offset = (int32_t)args[1]->u.i,
        .weight_offset = (int32_t)args[3]->u.i,
        .rescale = {&multiplier.multiplier, &multiplier.shift, 0, (int32_t)args[4]->u.i, INT8_MIN, INT8_MAX},
    };
    ptrdiff_t matrix[3] = {(ptrdiff_t)m.rows * m.depth, (ptrdiff_t)m.columns * m.depth, (ptrdiff_t)m.rows * m.columns};
    for (int32_t b = 0; b < left->sizes[0] && out->bytes > 0; b++)
        nuc_kernel_matmul_s8(&m, (const int8_t *)left->data + b * matrix[0],
                             (const int8_t *)right->data + b * matrix[1], (int8_t *)out->data + b * matrix[2]);
    return NUC_OK;
}

/* Along the dimension that is innermost in memory. */
enum nuc_status nuc_op_int8_softmax(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 7);
    struct nuc_softmax_s8 s;
    uint32_t dim;

    if (!nuc_need(cx, nuc_is_s8(in) && nuc_is_s8(out), NUC_TEXT("argument 'input' or 'out' is not int8")) ||
        !nuc_need(cx, in->rank > 0 && nuc_tensor_same_layout(in, out),
                  NUC_TEXT("argument 'out' differs from 'input' in sizes or dim order")) ||
        !nuc_need(cx, in->bytes > 0, NUC_TEXT("argument 'input' is empty")) ||
        !nuc_need(cx, nuc_tensor_dim(in, args[1]->u.i, &dim), NUC_TEXT("argument 'dim' is not a dimension")) ||
        !nuc_need(cx, in->sizes[dim] == 1 || nuc_tensor_axis(in, dim).inner == 1,
                  NUC_TEXT("argument 'dim' is not the innermost dimension in memory")) ||
        !nuc_need(cx, args[3]->u.i == INT8_MIN, NUC_TEXT("argument 'output_zero_point' is not -128")) ||
        !nuc_need(cx, nuc_value_in(args[4], 0, INT32_MAX) && nuc_value_in(args[5], 0, 31),
                  NUC_TEXT("argument 'input_multiplier' or 'input_shift' is out of range")) ||
        !nuc_need(cx, nuc_value_in(args[6], INT32_MIN, 0), NUC_TEXT("argument 'diff_min' is out of range")) ||
        !nuc_need(cx, row_count(in, in->sizes[dim], &s.rows), NUC_TEXT("argument 'input' is too large")))
        return NUC_UNSUPPORTED;
    s.size = in->sizes[dim];
    s.multiplier = (int32_t)args[4]->u.i;
    s.shift = (int32_t)args[5]->u.i;
    s.diff_min = (int32_t)args[6]->u.i;
    nuc_kernel_softmax_s8(&s, in->data, out->data);
    return NUC_OK;
}

/* out[i] = in[perm[i]] by dimension; each dimension once. */
static bool permuted(const struct nuc_kernel_context *cx, const struct nuc_value *perm, const struct nuc_tensor *in,
                     const struct nuc_tensor *out, struct nuc_loops *loops)
{
    ptrdiff_t strides[NUC_MAX_RANK];
    uint32_t seen = 0;

    nuc_tensor_strides(in, strides);
    nuc_tensor_strides(out, loops->out);
    loops->rank = in->rank;
    for (uint32_t d = 0; d < in->rank; d++) {
        uint32_t from;
        if (!nuc_tensor_dim(in, nuc_list_int(cx, perm, d), &from) || (seen >> from & 1) != 0 ||
            out->sizes[d] != in->sizes[from])
            return false;
        seen |= 1U << from;
        loops->sizes[d] = out->sizes[d];
        loops->a[d] = strides[from];
    }
    return true;
}

enum nuc_status nuc_op_int8_transpose(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 2);
    struct nuc_loops loops = {.rank = 0};

    if (!nuc_need(cx, nuc_is_s8(in) && nuc_is_s8(out), NUC_TEXT("a tensor is not int8")) ||
        !nuc_need(cx, in->rank >= 1 && in->rank <= 4 && out->rank == in->rank && args[1]->u.list.count == in->rank,
                  NUC_TEXT("argument 'perm', 'input' or 'out' is not of one rank from 1 to 4")) ||
        !nuc_need(cx, permuted(cx, args[1], in, out, &loops),
                  NUC_TEXT("argument 'perm' does not lead to the sizes of 'out'")))
        return NUC_UNSUPPORTED;
    nuc_loops_in_memory_order(&loops);
    if (out->bytes > 0)
        nuc_kernel_copy(&loops, 1, in->data, out->data);
    return NUC_OK;
}
