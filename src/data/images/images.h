/*
 * PNG and JPEG images as samples of a model's input. One image is in memory at a time. Files are not trusted: sizes are
 * bounded before anything is decoded.
 */
#ifndef NUC_DATA_IMAGES_IMAGES_H
#define NUC_DATA_IMAGES_IMAGES_H

#include "data/folder.h"
#include "device/base/span.h"
#include "nucleon/compile.h"

struct nuc_image_format {
    uint32_t channels; /* 1: grey, 3: red, green, blue */
    uint32_t height, width;
    float mean[3], std[3]; /* one per channel; std is not 0 */
    enum nuc_resize fit;   /* of an image of another size; none and auto refuse it */
};

/*
 * Writes channels * height * width values, channel by channel: (p / 255 - mean[c]) / std[c] for each pixel value p of 0
 * to 255. Files of 16 bits per channel are taken with their upper 8; alpha is dropped; colour becomes grey as
 * (77 R + 150 G + 29 B) / 256, grey becomes colour by repetition. Orientation tags are not read.
 *
 * Scaling is separable. With n output pixels over a part of the image from s to e, output pixel i has its centre at
 * c = s + (i + 0.5) r with r = (e - s) / n, and weighs the image's pixel j with max(0, 1 - |j + 0.5 - c| / max(r, 1)),
 * the weights inside the image being scaled to the sum 1: bilinear interpolation when enlarging, a triangular mean over
 * the pixels that fall together when reducing (torch's interpolate with mode="bilinear" and antialias=True).
 */
void nuc_read_image(struct nuc_context *cx, const char *path, const struct nuc_image_format *format, float *out);

/* The same for a file in memory; `where` names it in messages. */
void nuc_decode_image(struct nuc_context *cx, const char *where, struct nuc_span file,
                      const struct nuc_image_format *format, float *out);

#endif
