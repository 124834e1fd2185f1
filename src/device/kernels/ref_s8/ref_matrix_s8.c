/* Matrix products in int8. */
#include "device/kernels/ref_s8/quantized.h"

void nuc_ref_matmul_s8(const struct nuc_matmul_s8 *m, const int8_t *in, const int8_t *weight, int8_t *out)
{
    for (int32_t r = 0; r < m->rows; r++, in += m->depth) {
        for (int32_t c = 0; c < m->columns; c++) {
            const int8_t *row = weight + (ptrdiff_t)c * m->depth;
            int32_t sum = m->bias != NULL ? m->bias[c] : 0;
            for (int32_t i = 0; i < m->depth; i++)
                sum = nuc_wrap_add(sum, (in[i] + m->input_offset) * (row[i] + m->weight_offset));
            *out++ = nuc_rescaled(&m->rescale, c, sum);
        }
    }
}
