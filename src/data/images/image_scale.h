/* Scaling of decoded images; private to the importer. The formula is in images.h. */
#ifndef NUC_DATA_IMAGES_IMAGE_SCALE_H
#define NUC_DATA_IMAGES_IMAGE_SCALE_H

#include "data/images/images.h"

/* Pixels as they were decoded: rows from the top, channels innermost. */
struct nuc_pixels {
    uint32_t height, width, channels;
    const uint8_t *values;
};

/* Pixel values of 0 to 255 for each channel, row and column of the format. */
void nuc_scale(struct nuc_context *cx, const struct nuc_pixels *pixels, const struct nuc_image_format *format,
               float *out);

#endif
