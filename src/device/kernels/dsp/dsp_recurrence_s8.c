/* Products of recurrent layers: four values with two rows of weights at a time. */
#include "device/kernels/dsp/dsp.h"
#include "device/kernels/dsp/packed.h"

/* Rows a and b, of which the second may be the first once more. */
static void pair_s8(const int8_t *a, const int8_t *b, const int8_t *x, int32_t count, int32_t sums[2])
{
    int32_t first = 0, second = 0, i = 0;

    for (; i + 4 <= count; i += 4) {
        uint32_t word = nuc_load_word(x + i), even = nuc_sxtb16(word), odd = nuc_sxtb16_odd(word);
        word = nuc_load_word(a + i);
        first = nuc_smlad(even, nuc_sxtb16(word), first);
        first = nuc_smlad(odd, nuc_sxtb16_odd(word), first);
        word = nuc_load_word(b + i);
        second = nuc_smlad(even, nuc_sxtb16(word), second);
        second = nuc_smlad(odd, nuc_sxtb16_odd(word), second);
    }
    for (; i < count; i++) {
        first = nuc_wrap_add(first, a[i] * x[i]);
        second = nuc_wrap_add(second, b[i] * x[i]);
    }
    sums[0] = first;
    sums[1] = second;
}

/* Values two by two in the order in which bytes are widened: 0 and 2, 1 and 3. */
static void pair_s16(const int8_t *a, const int8_t *b, const int16_t *h, int32_t count, int32_t sums[2])
{
    int32_t first = 0, second = 0, i = 0;

    for (; i + 4 <= count; i += 4) {
        const int8_t *values = (const int8_t *)(h + i);
        uint32_t low = nuc_load_word(values), high = nuc_load_word(values + 4);
        uint32_t even = nuc_lower_halves(low, high), odd = nuc_upper_halves(low, high);
        uint32_t word = nuc_load_word(a + i);
        first = nuc_smlad(even, nuc_sxtb16(word), first);
        first = nuc_smlad(odd, nuc_sxtb16_odd(word), first);
        word = nuc_load_word(b + i);
        second = nuc_smlad(even, nuc_sxtb16(word), second);
        second = nuc_smlad(odd, nuc_sxtb16_odd(word), second);
    }
    for (; i < count; i++) {
        first = nuc_wrap_add(first, a[i] * h[i]);
        second = nuc_wrap_add(second, b[i] * h[i]);
    }
    sums[0] = first;
    sums[1] = second;
}

static void dot_s8(const int8_t *w, ptrdiff_t stride, int32_t rows, const int8_t *x, int32_t count, int32_t *sums)
{
    for (int32_t k = 0; k < rows; k += 2, w += 2 * stride) {
        int32_t two[2];
        pair_s8(w, k + 1 < rows ? w + stride : w, x, count, two);
        sums[k] = two[0];
        if (k + 1 < rows)
            sums[k + 1] = two[1];
    }
}

static void dot_s16(const int8_t *w, ptrdiff_t stride, int32_t rows, const int16_t *h, int32_t count, int32_t *sums)
{
    for (int32_t k = 0; k < rows; k += 2, w += 2 * stride) {
        int32_t two[2];
        pair_s16(w, k + 1 < rows ? w + stride : w, h, count, two);
        sums[k] = two[0];
        if (k + 1 < rows)
            sums[k + 1] = two[1];
    }
}

void nuc_dsp_recurrence_s8(const struct nuc_recurrence *r, const struct nuc_recurrence_s8 *p, const int8_t *in,
                           int8_t *out)
{
    static const struct nuc_recurrence_dots dots = {dot_s8, dot_s16};

    nuc_recurrence_s8_by(&dots, r, p, in, out);
}
