/* Fully connected layers and batched products of two activations. */
#include "npu.h"
#include "npu_math.h"

static int32_t column_sum(const struct nuc_mc_matmul *g, const int8_t *l, const int8_t *r, int32_t acc)
{
    if (g->lhs_depth_stride == 1 && g->rhs_depth_stride == 1 && g->rhs_zero == 0)
        return npu_dot(l, r, g->depth, (int16_t)g->lhs_zero, acc);
    /* sum of (l - lhs_zero) * (r - rhs_zero) over k, any strides. */
    uint32_t sum = (uint32_t)acc;
    for (int64_t k = 0; k < g->depth; k++) {
        int32_t a = l[k * g->lhs_depth_stride] - g->lhs_zero;
        int32_t b = r[k * g->rhs_depth_stride] - g->rhs_zero;
        sum += (uint32_t)(a * b);
    }
    return (int32_t)sum;
}

void npu_matmul(const struct nuc_npu_memory *m, const union nuc_mc_record *record)
{
    const struct nuc_mc_matmul *g = &record->matmul;
    const int32_t *bias = g->has_bias ? npu_source_i32(m, g->bias) : NULL;
    const int32_t *requant = npu_source_i32(m, g->requant);

    for (int64_t b = 0; b < g->batches; b++) {
        const int8_t *rhs = npu_source_i8(m, g->rhs) + npu_matrix(g, b, g->rhs_batch_stride, g->rhs_inner_stride);
        const int8_t *first = npu_source_i8(m, g->lhs) + npu_matrix(g, b, g->lhs_batch_stride, g->lhs_inner_stride);
        int8_t *out = npu_target_i8(m, g->output) + npu_out_matrix(g, b);
        for (int64_t i = 0; i < g->rows; i++) {
            const int8_t *lhs = first + i * g->lhs_row_stride;
            for (int64_t j = 0; j < g->columns; j++) {
                int32_t acc = column_sum(g, lhs, rhs + j * g->rhs_column_stride, bias ? bias[j] : 0);
                out[j] = npu_requant(acc, requant, g->per_channel ? j : 0, g->output_zero, g->clamp_min, g->clamp_max);
            }
            out += npu_pitch(g->out_pitch, g->columns);
        }
    }
}
