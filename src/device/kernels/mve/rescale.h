/* nuc_requantize() and clamping of four sums. */
#ifndef NUC_DEVICE_KERNELS_MVE_RESCALE_H
#define NUC_DEVICE_KERNELS_MVE_RESCALE_H

#include "device/kernels/mve/vector.h"
#include "device/kernels/ref_s8/quantized.h"

struct nuc_vscale {
    nuc_words multipliers, shifts;
};

static inline struct nuc_vscale nuc_vscale_of(struct nuc_multiplier m)
{
    return (struct nuc_vscale){nuc_vdup_w(m.multiplier), nuc_vdup_w(m.shift)};
}

/* Of channels from `at` on; `some` as in vector.h. */
static inline struct nuc_vscale nuc_vscale_at(const struct nuc_rescale *r, int32_t at, int32_t some)
{
    if (r->step == 0)
        return nuc_vscale_of((struct nuc_multiplier){r->multipliers[0], r->shifts[0]});
    if (some < NUC_LANES_W)
        return (struct nuc_vscale){nuc_vldr_w_some(r->multipliers + at, some), nuc_vldr_w_some(r->shifts + at, some)};
    return (struct nuc_vscale){nuc_vldr_w(r->multipliers + at), nuc_vldr_w(r->shifts + at)};
}

/* Halves of negative numbers are moved below the tie where there is a shift to the right. */
static inline nuc_words nuc_vshift_right(nuc_words v, nuc_words shifts)
{
    return nuc_vrshl_w(nuc_vqadd_w(v, nuc_vsigns_w(nuc_vand_w(v, shifts))), shifts);
}

/* left: shifts may be above 0. */
static inline nuc_words nuc_vrequantize(nuc_words v, const struct nuc_vscale *s, bool left)
{
    if (!left)
        return nuc_vshift_right(nuc_vqrdmulh_w(v, s->multipliers), s->shifts);
    nuc_words none = nuc_vdup_w(0);
    v = nuc_vqrdmulh_w(nuc_vshl_w(v, nuc_vmax_w(s->shifts, none)), s->multipliers);
    return nuc_vshift_right(v, nuc_vmin_w(s->shifts, none));
}

/* Of the channels from `first` on. */
static inline bool nuc_shifts_left(const struct nuc_rescale *r, int32_t first, int32_t count)
{
    for (int32_t i = first; i < first + count; i++) {
        if (r->shifts[i * r->step] > 0)
            return true;
    }
    return false;
}

static inline nuc_words nuc_vclamp_w(nuc_words v, int32_t low, int32_t high)
{
    return nuc_vmin_w(nuc_vmax_w(v, nuc_vdup_w(low)), nuc_vdup_w(high));
}

#endif
