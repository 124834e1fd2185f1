/* One PNG or JPEG file to float32. Its size is checked before anything is decoded. */
#include <string.h>

#include "data/images/image_file.h"
#include "data/images/image_scale.h"
#include "data/images/images.h"
#include "host/file.h"
#include "host/limits.h"

static const uint8_t *read_pixels(struct nuc_context *cx, const char *where, const struct nuc_image_format *f,
                                  struct nuc_image_file *file)
{
    bool is_png = file->bytes.size >= 4 && memcmp(file->bytes.data, "\x89PNG", 4) == 0;
    bool is_jpeg = file->bytes.size >= 3 && memcmp(file->bytes.data, "\xff\xd8\xff", 3) == 0;

    if (!is_png && !is_jpeg)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: is not a PNG or JPEG image", where);
    struct nuc_png *png = is_png ? nuc_png_open(cx, file) : NULL;
    struct nuc_jpeg *jpeg = is_jpeg ? nuc_jpeg_open(cx, file) : NULL;
    if (is_png ? !nuc_png_header(png) : !nuc_jpeg_header(jpeg, f->channels == 1))
        nuc_fail(cx, file->no_memory ? NUC_NO_MEMORY : NUC_BAD_INPUT, "%s: the image cannot be read: %s", where,
                 file->message);
    uint32_t height = file->height, width = file->width;
    if (height < 1 || width < 1 || height > NUC_MAX_IMAGE_SIDE || width > NUC_MAX_IMAGE_SIDE ||
        (size_t)height * width > NUC_MAX_IMAGE_PIXELS)
        nuc_fail(cx, NUC_UNSUPPORTED, "%s: %u x %u pixels are too many (limit %zu, a side %u): scale the image down",
                 where, (unsigned)width, (unsigned)height, NUC_MAX_IMAGE_PIXELS, NUC_MAX_IMAGE_SIDE);
    if (f->fit <= NUC_RESIZE_NONE && (height != f->height || width != f->width))
        nuc_fail(cx, NUC_BAD_INPUT, "%s: the image has %u x %u pixels, the input %u x %u: use --resize stretch or crop",
                 where, (unsigned)width, (unsigned)height, (unsigned)f->width, (unsigned)f->height);
    uint8_t **rows = nuc_alloc_array(cx, is_png ? file->height : 0, sizeof *rows);
    uint8_t *pixels = nuc_alloc_array(cx, (size_t)file->height * file->width, file->channels);
    if (is_png ? !nuc_png_pixels(png, pixels, rows) : !nuc_jpeg_pixels(jpeg, pixels))
        nuc_fail(cx, file->no_memory ? NUC_NO_MEMORY : NUC_BAD_INPUT, "%s: the image is damaged: %s", where,
                 file->message);
    size_t count = (size_t)file->height * file->width;
    uint8_t rgb[3];
    if (file->channels == f->channels)
        return pixels;
    /* In place where there are no more channels than before, else into new memory. */
    uint8_t *out = f->channels > file->channels ? nuc_alloc_array(cx, count, f->channels) : pixels;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *from = pixels + i * file->channels;
        if (file->channels == 4) {
            /* Ink of black dims the three colours; without a marker of Adobe's, 255 is full ink. */
            for (int c = 0; c < 3; c++) {
                int colour = file->is_inverted ? from[c] : 255 - from[c],
                    black = file->is_inverted ? from[3] : 255 - from[3];
                rgb[c] = (uint8_t)((colour * black + 127) / 255);
            }
        } else
            memcpy(rgb, file->channels == 3 ? from : (const uint8_t[]){*from, *from, *from}, 3);
        if (f->channels == 1)
            out[i] = (uint8_t)((77 * rgb[0] + 150 * rgb[1] + 29 * rgb[2]) >> 8);
        else
            memcpy(out + 3 * i, rgb, 3);
    }
    return out;
}

void nuc_decode_image(struct nuc_context *cx, const char *where, struct nuc_span bytes,
                      const struct nuc_image_format *format, float *out)
{
    struct nuc_arena *outer = nuc_push_arena(cx);
    struct nuc_image_file *file = nuc_alloc(cx, sizeof *file);

    file->bytes = bytes;
    const uint8_t *values = read_pixels(cx, where, format, file);
    struct nuc_pixels pixels = {file->height, file->width, format->channels, values};
    nuc_scale(cx, &pixels, format, out);
    for (uint32_t c = 0; c < format->channels; c++) {
        for (size_t i = 0; i < (size_t)format->height * format->width; i++, out++)
            *out = (*out / 255.0f - format->mean[c]) / format->std[c];
    }
    nuc_pop_arena(cx, outer);
}

void nuc_read_image(struct nuc_context *cx, const char *path, const struct nuc_image_format *format, float *out)
{
    struct nuc_arena *outer = nuc_push_arena(cx);

    nuc_decode_image(cx, path, nuc_read_file(cx, path), format, out);
    nuc_pop_arena(cx, outer);
}
