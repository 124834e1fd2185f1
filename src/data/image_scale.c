#include "data/image_scale.h"

#include <math.h>

/* Pixels from..to of `size` onto `count` output pixels. */
static struct nuc_resampling make_resampling(struct nuc_context *cx, uint32_t size, double from, double to,
                                             uint32_t count)
{
    double ratio = (to - from) / count;
    double support = ratio > 1 ? ratio : 1;
    struct nuc_resampling r = {.max_taps = (uint32_t)ceil(2 * support) + 1};

    r.first = nuc_alloc_array(cx, count, sizeof *r.first);
    r.count = nuc_alloc_array(cx, count, sizeof *r.count);
    r.weights = nuc_alloc_array(cx, (size_t)count * r.max_taps, sizeof *r.weights);
    for (uint32_t i = 0; i < count; i++) {
        double centre = from + (i + 0.5) * ratio;
        double low = floor(centre - support + 0.5), high = ceil(centre + support - 0.5);
        uint32_t first = low < 0 ? 0 : (uint32_t)low;
        uint32_t end = high > size ? size : (uint32_t)high;
        float *weights = r.weights + (size_t)i * r.max_taps;
        double sum = 0;
        r.first[i] = first;
        r.count[i] = end - first > r.max_taps ? r.max_taps : end - first;
        for (uint32_t k = 0; k < r.count[i]; k++)
            sum += fmax(0, 1 - fabs(first + k + 0.5 - centre) / support);
        for (uint32_t k = 0; k < r.count[i]; k++)
            weights[k] = (float)(fmax(0, 1 - fabs(first + k + 0.5 - centre) / support) / sum);
    }
    return r;
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
    return (struct nuc_scaler){make_resampling(cx, height, top, height - top, format->height),
                               make_resampling(cx, width, left, width - left, format->width)};
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
