#include "data/images/image_scale.h"

#include <math.h>

#include "algorithms/resampling.h"

/* Which pixels of one direction make output pixel i: weights[i * max_taps ...] for first[i] ... first[i] + count[i]. */
struct weights {
    uint32_t *first, *count;
    float *weights;
    uint32_t max_taps;
};

/* Pixels from..to of `size` onto `count` output pixels. */
static struct weights make_weights(struct nuc_context *cx, uint32_t size, double from, double to, uint32_t count)
{
    const struct nuc_resampling r = {NUC_FILTER_BILINEAR, size, count, from, to};
    struct weights w = {.max_taps = nuc_resampling_taps(&r)};
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

static float weigh(const struct weights *y, const struct weights *x, const struct nuc_pixels *p, uint32_t row,
                   uint32_t column, uint32_t c)
{
    const float *wy = y->weights + (size_t)row * y->max_taps;
    const float *wx = x->weights + (size_t)column * x->max_taps;
    float sum = 0;

    for (uint32_t i = 0; i < y->count[row]; i++) {
        const uint8_t *line = p->values + ((size_t)(y->first[row] + i) * p->width + x->first[column]) * p->channels;
        float line_sum = 0;
        for (uint32_t k = 0; k < x->count[column]; k++)
            line_sum += wx[k] * (float)line[(size_t)k * p->channels + c];
        sum += wy[i] * line_sum;
    }
    return sum;
}

void nuc_scale(struct nuc_context *cx, const struct nuc_pixels *pixels, const struct nuc_image_format *format,
               float *out)
{
    const uint32_t height = pixels->height, width = pixels->width;
    double top = 0, left = 0;

    if (format->fit == NUC_RESIZE_CROP) {
        /* The part is as large as the proportions allow: one margin is 0. */
        double ratio = fmin((double)height / format->height, (double)width / format->width);
        top = (height - ratio * format->height) / 2;
        left = (width - ratio * format->width) / 2;
    }
    const struct weights y = make_weights(cx, height, top, height - top, format->height);
    const struct weights x = make_weights(cx, width, left, width - left, format->width);
    for (uint32_t c = 0; c < format->channels; c++) {
        for (uint32_t row = 0; row < format->height; row++) {
            for (uint32_t column = 0; column < format->width; column++)
                *out++ = weigh(&y, &x, pixels, row, column, c);
        }
    }
}
