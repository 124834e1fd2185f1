/* Moves: bytes that lie a fixed distance apart, eight at a time; all else as in plain C. */
#include <string.h>

#include "device/kernels/mve/mve.h"
#include "device/kernels/mve/vector.h"
#include "device/kernels/ref/copy_nest.h"

/* Eight of them end within 16 bits. */
#define MOST_STEP (UINT16_MAX / NUC_LANES_H)
#define LEAST_COUNT 16

static bool is_short_step(ptrdiff_t step)
{
    return step >= 0 && step <= MOST_STEP;
}

static bool is_all_bytes(const struct nuc_loops *loops, size_t element_size)
{
    for (uint32_t d = loops->rank > 2 ? loops->rank - 2 : 0; d < loops->rank; d++) {
        if (!is_short_step(loops->a[d]) || !is_short_step(loops->out[d]))
            return false;
    }
    return element_size == 1 && loops->rank > 0;
}

static void move_row(size_t size, const uint8_t *in, ptrdiff_t in_step, uint8_t *out, ptrdiff_t out_step, int32_t count)
{
    const nuc_halves from = nuc_vsteps_h((uint32_t)in_step), to = nuc_vsteps_h((uint32_t)out_step);

    (void)size;
    for (; count >= NUC_LANES_H; count -= NUC_LANES_H, in += NUC_LANES_H * in_step, out += NUC_LANES_H * out_step)
        nuc_vstr_bh_at(out, to, nuc_vldr_bh_at(in, from));
    for (; count > 0; count--, in += in_step, out += out_step)
        *out = *in;
}

/* What moves in whole rows is left to memmove(), and what has few elements in a row to plain C. */
void nuc_mve_copy(const struct nuc_loops *loops, size_t element_size, const void *in, void *out)
{
    uint32_t last = loops->rank - 1;
    bool turned = nuc_is_worth_turning(loops, element_size, in, out);
    int32_t count = loops->rank > 0 ? loops->sizes[turned ? last - 1 : last] : 0;

    if (is_all_bytes(loops, element_size) && count >= LEAST_COUNT &&
        (turned || loops->a[last] != 1 || loops->out[last] != 1))
        nuc_copy_nest(loops, 1, in, out, move_row);
    else
        nuc_ref_copy(loops, element_size, in, out);
}
