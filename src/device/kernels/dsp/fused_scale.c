#include "device/kernels/dsp/fused_scale.h"

int8_t nuc_dsp_rescaled(const struct nuc_rescale *r, int32_t channel, int32_t sum)
{
    return nuc_rescaled(r, channel, sum);
}
