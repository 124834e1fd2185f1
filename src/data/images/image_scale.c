#include "data/images/image_scale.h"

#include <math.h>

#include "algorithms/resampling.h"

/* Pixels from..to of `size` onto `count` output pixels. */
static struct nuc_pixel_weights make_weights(struct nuc_context *cx, uint32_t size, double from, double to,
                                             uint32_t count)
{
    const struct nuc_resampling r = {NUC_FILTER_BILINEAR, size, count, from, to};
    struct nuc_pixel_weights w = {.max_taps = nuc_resampling_taps(&r)};
    double *weights = nuc_alloc_array(cx, w.max_taps, sizeof *weights);

    w.first = nuc_alloc_array(cx, count, sizeof *w.first);
    w.count = nuc_alloc_array(cx, count, sizeof *w.count);
    w.weights = nuc_alloc_array(cx, (size_t)count * w.max_taps, sizeof *w.weights);
    for (uint32_t i = 0; i < count; i++) {
        w.count[i] = nuc_resample(&r, i, &w.first[i], weights);
        for (uint32_t k = 0; k < w.count[i]; k++)
            w.weights[(size_t)i * w.max_taps + k] = (float)weights[k];
    }
    return w;
}

struct nuc_scaler nuc_scaler_make(struct nuc_context *cx, uint32_t height, uint32_t width,
                                  const struct nuc_image_format *format)
{
    double top = 0, left = 0;

    if (format->fit == NUC_FIT_CROP) {
        /* The part is as large as the proportions allow: one margin is 0. */
        double ratio = fmin((double)height / format->height, (double)width / format->width);
        top = (height - ratio * format->height) / 2;
        left = (width - ratio * format->width) / 2;
    }
    return (struct nuc_scaler){make_weights(cx, height, top, height - top, format->height),
                               make_weights(cx, width, left, width - left, format->width)};
}

static float weigh(const struct nuc_scaler *s, const struct nuc_pixels *p, uint32_t row, uint32_t column, uint32_t c)
{
    const float *wy = s->y.weights + (size_t)row * s->y.max_taps;
    const float *wx = s->x.weights + (size_t)column * s->x.max_taps;
    float sum = 0;

    for (uint32_t i = 0; i < s->y.count[row]; i++) {
        const uint8_t *line = p->values + ((size_t)(s->y.first[row] + i) * p->width + s->x.first[column]) * p->channels;
        float line_sum = 0;
        for (uint32_t k = 0; k < s->x.count[column]; k++)
            line_sum += wx[k] * (float)line[(size_t)k * p->channels + c];
        sum += wy[i] * line_sum;
    }
    return sum;
}

void nuc_scale(const struct nuc_scaler *scaler, const struct nuc_pixels *pixels, const struct nuc_image_format *format,
               float *out)
{
    for (uint32_t c = 0; c < format->channels; c++) {
        for (uint32_t row = 0; row < format->height; row++) {
            for (uint32_t column = 0; column < format->width; column++)
                *out++ = weigh(scaler, pixels, row, column, c);
        }
    }
}
