/* Products of recurrent layers, as those of matrices. */
#include "device/kernels/dsp/dsp.h"
#include "device/kernels/dsp/dsp_rows.h"
#include "device/kernels/dsp/packed.h"

static void multiply(const struct nuc_recurrence_rows *rows, int32_t first, int32_t count, const int16_t *values,
                     int32_t *products)
{
    const int8_t *w = rows->weight + (ptrdiff_t)first * rows->columns;

    memset(products, 0, (size_t)count * sizeof *products);
    nuc_dsp_multiply_rows(values, rows->columns, w, rows->columns, count, products);
}

static void multiply_rows(const struct nuc_recurrence_s8 *p, int32_t first, int32_t count, const int16_t *x,
                          int32_t right, const int16_t *h, int32_t *sums, int32_t *apart)
{
    int32_t of_x[NUC_ROWS_AT_ONCE], of_h[NUC_ROWS_AT_ONCE], x_left = p->x.left, h_left = p->h.left;
    const struct nuc_recurrence_row *row = p->rows + first;

    multiply(&p->x, first, count, x, of_x);
    multiply(&p->h, first, count, h, of_h);
    for (int32_t k = 0; k < count; k++) {
        int32_t product = (int32_t)((uint32_t)of_x[k] << x_left) >> right;
        sums[k] = nuc_smmlar(product, row[k].x_multiplier, row[k].x_bias);
    }
    if (apart == NULL) {
        for (int32_t k = 0; k < count; k++)
            sums[k] = nuc_smmlar((int32_t)((uint32_t)of_h[k] << h_left), row[k].h_multiplier, sums[k]);
        return;
    }
    for (int32_t k = 0; k < count; k++)
        apart[k] = nuc_smmlar((int32_t)((uint32_t)of_h[k] << h_left), row[k].h_multiplier, row[k].h_bias);
}

void nuc_dsp_recurrence_s8(const struct nuc_recurrence *r, const struct nuc_recurrence_s8 *p, const void *in, void *out)
{
    nuc_recurrence_s8_by(multiply_rows, r, p, in, out);
}
