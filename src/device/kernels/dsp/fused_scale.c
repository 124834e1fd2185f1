#include "device/kernels/dsp/fused_scale.h"

int8_t nuc_dsp_rescaled(const struct nuc_rescale *r, int32_t channel, int32_t sum)
{
    return nuc_rescaled(r, channel, sum);
}

void nuc_dsp_clamp(int32_t low, int32_t high, int8_t *values, ptrdiff_t count)
{
    const uint32_t each = 0x01010101, least = each * (uint8_t)low, above = ~(each * (uint8_t)high);

    if (low == INT8_MIN && high == INT8_MAX)
        return;
    for (; count >= 4; count -= 4, values += 4)
        nuc_store_word(values, ~nuc_max_bytes(~nuc_max_bytes(nuc_load_word(values), least), above));
    for (; count > 0; count--, values++)
        *values = (int8_t)nuc_clamp_i32(*values, low, high);
}
