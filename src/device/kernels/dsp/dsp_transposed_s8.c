/* Transposed convolutions: of windows that lie side by side in tiles, of others pixel by pixel. */
#include "device/kernels/dsp/dsp.h"
#include "device/kernels/dsp/dsp_columns.h"
#include "device/kernels/dsp/fused_scale.h"

static bool lies_in_tiles(const struct nuc_conv_s8 *c)
{
    bool tiles = c->in_channels % 4 == 0;

    for (int d = 0; d < 2; d++)
        tiles = tiles && c->kernel[d] == c->stride[d] && c->padding[d] == 0 && c->dilation[d] == 1 &&
                c->out_size[d] == c->in_size[d] * c->stride[d];
    return tiles;
}

/*
 * Each tap is a convolution of one pixel, from a row of the input to every n-th pixel of a row of the result.
 */
static void convolve_tiles(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    uint32_t stack[NUC_WORKSPACE_WORDS];
    const struct nuc_workspace space = {stack, NUC_WORKSPACE_WORDS};
    const int32_t taps = c->kernel[1], depth = c->in_channels;
    struct nuc_conv_s8 line = *c;

    line.batch = line.in_size[0] = line.out_size[0] = 1;
    line.kernel[0] = line.kernel[1] = line.stride[0] = line.stride[1] = 1;
    line.out_size[1] = line.in_size[1];
    line.out_channels = taps * c->out_channels; /* from pixel to pixel of the same tap */
    for (int32_t y = 0; y < c->batch * c->out_size[0]; y++) {
        const int8_t *from = in + (ptrdiff_t)(y / c->kernel[0]) * c->in_size[1] * depth;
        const int8_t *first = weight + (ptrdiff_t)(y % c->kernel[0]) * taps * depth;
        for (int32_t x = 0; x < taps; x++)
            nuc_dsp_conv_channels(&line, 0, c->out_channels, &space, from, first + (ptrdiff_t)x * depth,
                                  (ptrdiff_t)c->kernel[0] * taps * depth, out + (ptrdiff_t)x * c->out_channels);
        out += (ptrdiff_t)line.out_size[1] * line.out_channels;
    }
}

void nuc_dsp_transposed_conv_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    if (c->groups != 1) {
        nuc_ref_transposed_conv_s8(c, in, weight, out);
        return;
    }
    if (lies_in_tiles(c))
        convolve_tiles(c, in, weight, out);
    else
        nuc_dsp_transposed_pixels(c, in, weight, out);
    nuc_dsp_clamp_conv(c, out);
}
