/* Bilinear resize with positions in 1/1024. Source of the formula: LiteRT's integer reference kernel. */
#include "npu.h"
#include "npu_math.h"

#define UNIT 1024

struct npu_between npu_between(int32_t out, int32_t scale, int32_t half_pixel, int32_t size)
{
    struct npu_between b;
    int64_t at = (int64_t)out * scale + (half_pixel ? scale / 2 - UNIT / 2 : 0);
    int64_t low = at / UNIT, high = (at + UNIT - 1) / UNIT;

    low = low < 0 ? 0 : low;
    b.low = (int32_t)(low < size - 1 ? low : size - 1);
    b.high = (int32_t)(high < 0 ? 0 : high < size - 1 ? high : size - 1);
    b.part = at - (int64_t)UNIT * b.low;
    return b;
}

static void resize_pixel(const struct nuc_mc_resize *z, const int8_t *image, const struct npu_between *y,
                         const struct npu_between *x, int8_t *out)
{
    int64_t row = (int64_t)z->in_w * z->channels;
    const int8_t *p00 = image + y->low * row + (int64_t)x->low * z->channels;
    const int8_t *p10 = image + y->high * row + (int64_t)x->low * z->channels;
    const int8_t *p01 = image + y->low * row + (int64_t)x->high * z->channels;
    const int8_t *p11 = image + y->high * row + (int64_t)x->high * z->channels;

    for (int32_t c = 0; c < z->channels; c++) {
        int64_t sum = p00[c] * (UNIT - y->part) * (UNIT - x->part) + p10[c] * y->part * (UNIT - x->part) +
                      p01[c] * (UNIT - y->part) * x->part + p11[c] * y->part * x->part;
        int64_t rounded = (sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20);
        out[c] = nuc_saturate_i8(nuc_saturate_i32(rounded));
    }
}

void npu_resize_bilinear(const struct nuc_npu_memory *m, const union nuc_mc_record *r)
{
    const struct nuc_mc_resize *z = &r->resize;
    const int8_t *image = npu_source_i8(m, z->input);
    int8_t *out = npu_target_i8(m, z->output);

    for (int32_t b = 0; b < z->batches; b++) {
        for (int32_t oy = 0; oy < z->out_h; oy++) {
            struct npu_between y = npu_between(oy, z->scale_h, z->half_pixel, z->in_h);
            for (int32_t ox = 0; ox < z->out_w; ox++) {
                struct npu_between x = npu_between(ox, z->scale_w, z->half_pixel, z->in_w);
                resize_pixel(z, image, &y, &x, out);
                out += npu_pitch(z->out_pitch, z->channels);
            }
        }
        image += (int64_t)z->in_h * z->in_w * z->channels;
    }
}
