/* Matrix product: two rows of weights at a time against one row of input. */
#include "kernels/dsp/dsp.h"
#include "kernels/dsp/rescale.h"

/* Offsets in both lanes. */
struct offsets {
    uint32_t in, weight;
};

static void dot_2(const int8_t *in, const int8_t *const rows[2], int32_t depth, const struct offsets *offsets,
                  int32_t sums[2])
{
    const int8_t *a = rows[0];
    const int8_t *b = rows[1];
    int32_t first = sums[0];
    int32_t second = sums[1];
    int32_t i = 0;

    for (; i + 4 <= depth; i += 4) {
        uint32_t word = nuc_load_word(in + i);
        uint32_t even = nuc_sxtab16(offsets->in, word);
        uint32_t odd = nuc_sxtab16_odd(offsets->in, word);
        word = nuc_load_word(a + i);
        first = nuc_smlad(even, nuc_sxtab16(offsets->weight, word), first);
        first = nuc_smlad(odd, nuc_sxtab16_odd(offsets->weight, word), first);
        word = nuc_load_word(b + i);
        second = nuc_smlad(even, nuc_sxtab16(offsets->weight, word), second);
        second = nuc_smlad(odd, nuc_sxtab16_odd(offsets->weight, word), second);
    }
    int32_t in_offset = (int16_t)offsets->in;
    int32_t weight_offset = (int16_t)offsets->weight;
    for (; i < depth; i++) {
        first = nuc_wrap_add(first, (in[i] + in_offset) * (a[i] + weight_offset));
        second = nuc_wrap_add(second, (in[i] + in_offset) * (b[i] + weight_offset));
    }
    sums[0] = first;
    sums[1] = second;
}

void nuc_dsp_matmul_s8(const struct nuc_matmul_s8 *m, const int8_t *in, const int8_t *weight, int8_t *out)
{
    struct offsets offsets = {nuc_pair(m->input_offset), nuc_pair(m->weight_offset)};

    for (int32_t r = 0; r < m->rows; r++, in += m->depth, out += m->columns) {
        for (int32_t c = 0; c < m->columns; c += 2) {
            bool both = c + 1 < m->columns;
            const int8_t *first = weight + (ptrdiff_t)c * m->depth;
            const int8_t *const rows[2] = {first, both ? first + m->depth : first};
            int32_t sums[2] = {m->bias != NULL ? m->bias[c] : 0, m->bias != NULL && both ? m->bias[c + 1] : 0};
            dot_2(in, rows, m->depth, &offsets, sums);
            out[c] = nuc_rescaled(&m->rescale, c, sums[0]);
            if (both)
                out[c + 1] = nuc_rescaled(&m->rescale, c + 1, sums[1]);
        }
    }
}
