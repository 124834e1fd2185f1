/* Scaling of decoded images; private to the importer. The formula is in images.h. */
#ifndef NUC_DATA_IMAGE_SCALE_H
#define NUC_DATA_IMAGE_SCALE_H

#include "data/images/images.h"

/* Pixels as they were decoded: rows from the top, channels innermost. */
struct nuc_pixels {
    uint32_t height, width, channels;
    const uint8_t *values;
};

/* Which pixels of one direction make output pixel i: weights[i * max_taps ...] for first[i] ... first[i] + count[i]. */
struct nuc_pixel_weights {
    uint32_t *first, *count;
    float *weights;
    uint32_t max_taps;
};

struct nuc_scaler {
    struct nuc_pixel_weights y, x;
};

/* For images of that size; allocates everything, so that nuc_scale() cannot fail. */
struct nuc_scaler nuc_scaler_make(struct nuc_context *cx, uint32_t height, uint32_t width,
                                  const struct nuc_image_format *format);

/* Pixel values of 0 to 255 for each channel, row and column of the format. */
void nuc_scale(const struct nuc_scaler *scaler, const struct nuc_pixels *pixels, const struct nuc_image_format *format,
               float *out);

#endif
