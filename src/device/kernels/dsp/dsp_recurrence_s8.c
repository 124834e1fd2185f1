/* Products of recurrent layers, as those of matrices. */
#include "device/kernels/dsp/dsp.h"
#include "device/kernels/dsp/dsp_rows.h"
#include "device/kernels/dsp/packed.h"

static void product(const struct nuc_recurrence_rows *rows, int32_t first, int32_t count, const int16_t *values,
                    int32_t right, const int32_t *to, int32_t *sums)
{
    const int8_t *w = rows->weight + (ptrdiff_t)first * rows->columns;
    const int32_t *multiplier = rows->multiplier + first;
    int32_t products[NUC_ROWS_AT_ONCE] = {0}, left = rows->left;

    nuc_dsp_multiply_rows(values, rows->columns, w, rows->columns, count, products);
    for (int32_t k = 0; k < count; k++)
        sums[k] = nuc_smmlar((int32_t)((uint32_t)products[k] << left) >> right, multiplier[k], to[k]);
}

void nuc_dsp_recurrence_s8(const struct nuc_recurrence *r, const struct nuc_recurrence_s8 *p, const void *in, void *out)
{
    nuc_recurrence_s8_by(product, r, p, in, out);
}
