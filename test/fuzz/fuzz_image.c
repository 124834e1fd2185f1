/* PNG and JPEG files: what decodes gives the numbers of the pixels, finite and within 0 to 1. */
#include <math.h>

#include "data/images/images.h"
#include "fuzz_support.h"

#define MEMORY ((size_t)64 << 20)
#define MOST_SIDE 24

static void decode(struct nuc_context *cx, void *arg)
{
    const struct nuc_span *bytes = arg;
    uint32_t h = fuzz_checksum(bytes->data, bytes->size);
    const struct nuc_image_format format = {
        .channels = (h & 1) != 0 ? 3 : 1,
        .height = 1 + (h >> 1) % MOST_SIDE,
        .width = 1 + (h >> 8) % MOST_SIDE,
        .std = {1, 1, 1},
        .fit = (h & 0x10000) != 0 ? NUC_RESIZE_STRETCH : NUC_RESIZE_CROP,
    };
    size_t count = (size_t)format.channels * format.height * format.width;
    float *out = nuc_alloc_array(cx, count, sizeof *out);

    nuc_decode_image(cx, "input", *bytes, &format, out);
    for (size_t i = 0; i < count; i++) {
        if (!(out[i] >= 0 && out[i] <= 1.0001f))
            fuzz_broken("a pixel is not within 0 to 1");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_bytes(data, size, MEMORY, decode);
}
