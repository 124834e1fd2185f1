/* Moves: bytes that lie a fixed distance apart, eight at a time; all else as in plain C. */
#include <string.h>

#include "device/kernels/mve/mve.h"
#include "device/kernels/mve/vector.h"
#include "device/kernels/ref/copy_nest.h"

/* Eight of them end within 16 bits. */
#define MOST_STEP ((ptrdiff_t)(UINT16_MAX / NUC_LANES_H))
/* A row of bytes side by side that is not worth taking apart. */
#define LONG_ROW 16

static void move_row(size_t size, const uint8_t *in, ptrdiff_t in_step, uint8_t *out, ptrdiff_t out_step, int32_t count)
{
    const nuc_halves from = nuc_vsteps_h((uint32_t)in_step), to = nuc_vsteps_h((uint32_t)out_step);

    (void)size;
    for (; count >= NUC_LANES_H; count -= NUC_LANES_H, in += NUC_LANES_H * in_step, out += NUC_LANES_H * out_step)
        nuc_vstr_bh_at(out, to, nuc_vldr_bh_at(in, from));
    for (; count > 0; count--, in += in_step, out += out_step)
        *out = *in;
}

/* The longest dimension along which bytes can move eight at a time; the rank where there is none. */
static uint32_t longest(const struct nuc_loops *loops)
{
    uint32_t best = loops->rank;

    for (uint32_t d = loops->rank; d-- > 0;) {
        if (loops->sizes[d] >= NUC_LANES_H && (best == loops->rank || loops->sizes[d] > loops->sizes[best]) &&
            loops->a[d] >= 0 && loops->a[d] <= MOST_STEP && loops->out[d] >= 0 && loops->out[d] <= MOST_STEP)
            best = d;
    }
    return best;
}

static __attribute__((noinline)) void move_along(const struct nuc_loops *loops, uint32_t inner, const void *in,
                                                 void *out)
{
    nuc_copy_turned(loops, inner, 1, in, out, move_row);
}

void nuc_mve_copy(const struct nuc_loops *loops, size_t element_size, const void *in, void *out)
{
    uint32_t inner = element_size == 1 ? longest(loops) : loops->rank, last = loops->rank - 1;
    bool in_rows =
        inner == loops->rank || (loops->a[last] == 1 && loops->out[last] == 1 && loops->sizes[last] > LONG_ROW);

    if (in_rows || !nuc_is_apart(loops, 1, in, out))
        nuc_ref_copy(loops, element_size, in, out);
    else
        move_along(loops, inner, in, out);
}
