#include "algorithms/rfft_table.h"

#include <math.h>

#include "device/signal/signal.h"

static int16_t in_q15(double value)
{
    return (int16_t)floor(0.5 + INT16_MAX * value);
}

int16_t *nuc_rfft_table_s16(struct nuc_context *cx, size_t length)
{
    const double pi = 3.14159265358979323846;
    const int64_t count = (int64_t)nuc_rfft_table_numbers(length), n = (int64_t)length / 2, of_ends = n / 2;
    int16_t *table = nuc_alloc_array(cx, (size_t)count, sizeof *table);

    for (int64_t i = 0; i < count / 2; i++) {
        const int64_t end = i - (count / 2 - of_ends);
        const double angle = end < 0 ? -2 * pi * (double)i / (double)n : -pi * ((double)(end + 1) / (double)n + 0.5);
        table[2 * i] = in_q15(cos(angle));
        table[2 * i + 1] = in_q15(sin(angle));
    }
    return table;
}
