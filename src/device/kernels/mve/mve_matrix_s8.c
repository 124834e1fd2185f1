/* Matrix products: three rows of input at a time, or one. */
#include "device/kernels/mve/mve.h"
#include "device/kernels/mve/mve_dot.h"

/* What the weights' offset adds to every column of a row of input. */
static int32_t of_offset(const struct nuc_matmul_s8 *m, const int8_t *in)
{
    const struct nuc_dot_rows row = {.weight = in, .depth = m->depth, .rows = 1, .offset = 1};
    struct nuc_dot_sums s;

    if (m->weight_offset == 0)
        return 0;
    nuc_mve_dot_begin(&row, (int32_t)((uint32_t)m->depth * (uint32_t)m->input_offset), &s);
    return (int32_t)((uint32_t)s.adds[0] * (uint32_t)m->weight_offset);
}

void nuc_mve_matmul_s8(const struct nuc_matmul_s8 *m, const int8_t *in, const int8_t *weight, int8_t *out)
{
    struct nuc_dot_sums s;

    for (int32_t c = 0; c < m->columns; c += NUC_DOT_ROWS) {
        struct nuc_dot_rows d = {.weight = weight + (ptrdiff_t)c * m->depth,
                                 .row = m->depth,
                                 .depth = m->depth,
                                 .rows = m->columns - c < NUC_DOT_ROWS ? m->columns - c : NUC_DOT_ROWS,
                                 .offset = m->input_offset,
                                 .bias = m->bias != NULL ? m->bias + c : NULL,
                                 .rescale = &m->rescale,
                                 .first = c};
        int8_t *to = out + c;
        const int8_t *x = in;
        int32_t r = 0;
        nuc_mve_dot_begin(&d, 0, &s);
        for (; r + NUC_DOT_INPUTS <= m->rows && m->weight_offset == 0; r += NUC_DOT_INPUTS) {
            nuc_mve_dot_three(&d, (const int8_t *const[]){x, x + m->depth, x + 2 * (ptrdiff_t)m->depth}, &s);
            nuc_mve_dot_finish(&d, &s, NUC_DOT_INPUTS, to, m->columns);
            x += NUC_DOT_INPUTS * (ptrdiff_t)m->depth;
            to += NUC_DOT_INPUTS * (ptrdiff_t)m->columns;
        }
        for (; r < m->rows; r++, x += m->depth, to += m->columns) {
            if (m->weight_offset != 0)
                nuc_mve_dot_begin(&d, of_offset(m, x), &s);
            nuc_mve_dot_one(&d, x, &s);
            nuc_mve_dot_finish(&d, &s, 1, to, m->columns);
        }
    }
}
