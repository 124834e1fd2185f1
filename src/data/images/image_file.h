/*
 * Private to the importer: image files by the libraries of their formats. Both are used in the same three steps; what a
 * library holds is released with the arena that was current at the first.
 */
#ifndef NUC_DATA_IMAGES_IMAGE_FILE_H
#define NUC_DATA_IMAGES_IMAGE_FILE_H

#include "device/base/span.h"
#include "host/context.h"

#define NUC_IMAGE_MESSAGE 200

struct nuc_image_file {
    struct nuc_span bytes;
    uint32_t height, width;
    uint32_t channels;               /* of the pixels: 1 grey, 3 RGB, 4 CMYK */
    bool is_inverted;                /* CMYK: 255 is no ink */
    bool no_memory;                  /* a step returned false for want of it */
    char message[NUC_IMAGE_MESSAGE]; /* why a step returned false */
};

/* Reads the header, without regard to the size of the image. `grey`: a file in colour gives its luma, if it has one. */
struct nuc_jpeg;
struct nuc_jpeg *nuc_jpeg_open(struct nuc_context *cx, struct nuc_image_file *file);
bool nuc_jpeg_header(struct nuc_jpeg *j, bool grey);

/* Rows from the top, channels innermost: height * width * channels bytes. */
bool nuc_jpeg_pixels(struct nuc_jpeg *j, uint8_t *pixels);

/* The same for PNG: 8 bits per channel, the upper ones of 16, palettes as colours, no alpha. `rows` has `height`. */
struct nuc_png;
struct nuc_png *nuc_png_open(struct nuc_context *cx, struct nuc_image_file *file);
bool nuc_png_header(struct nuc_png *p);
bool nuc_png_pixels(struct nuc_png *p, uint8_t *pixels, uint8_t **rows);

#endif
