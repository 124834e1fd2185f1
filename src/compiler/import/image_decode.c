/* One PNG or JPEG file to float32. stb_image decodes; what it may be asked for is checked here. */
#include <limits.h>
#include <string.h>

#include "compiler/import/image_check.h"
#include "compiler/import/image_scale.h"
#include "compiler/import/images.h"
#include "host/file.h"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_NO_STDIO
#define STBI_NO_HDR
#define STBI_NO_LINEAR
#define STBI_MAX_DIMENSIONS 16384
#include <stb_image.h>

/* A small file may describe a large image: more pixels than this are refused before they are decoded. */
#define MAX_PIXELS ((size_t)1 << 26)

static void check_size(struct nuc_context *cx, const char *where, const struct nuc_image_format *f, int height,
                       int width)
{
    if (height < 1 || width < 1 || (size_t)height * (size_t)width > MAX_PIXELS)
        nuc_fail(cx, NUC_UNSUPPORTED, "%s: %d x %d pixels are too many: scale the image down", where, width, height);
    if (f->fit == NUC_FIT_EXACT && ((uint32_t)height != f->height || (uint32_t)width != f->width))
        nuc_fail(cx, NUC_BAD_INPUT, "%s: the image has %d x %d pixels, the input %u x %u: use --resize stretch or crop",
                 where, width, height, (unsigned)f->width, (unsigned)f->height);
}

static void normalize(const struct nuc_image_format *f, float *out)
{
    size_t area = (size_t)f->height * f->width;

    for (uint32_t c = 0; c < f->channels; c++) {
        for (size_t i = 0; i < area; i++, out++)
            *out = (*out / 255.0f - f->mean[c]) / f->std[c];
    }
}

void nuc_decode_image(struct nuc_context *cx, const char *where, struct nuc_span file,
                      const struct nuc_image_format *format, float *out)
{
    struct nuc_arena *outer = nuc_push_arena(cx);
    int width = 0, height = 0, channels = 0;

    if (file.size > INT_MAX)
        nuc_fail(cx, NUC_UNSUPPORTED, "%s: the file is too large", where);
    int size = (int)file.size;
    if (!nuc_jpeg_tables_fit(file))
        nuc_fail(cx, NUC_BAD_INPUT, "%s: the image is damaged (a Huffman table of more than 256 codes)", where);
    if (!stbi_info_from_memory(file.data, size, &width, &height, &channels))
        nuc_fail(cx, NUC_BAD_INPUT, "%s: is not a PNG or JPEG image that can be read (%s)", where,
                 stbi_failure_reason());
    check_size(cx, where, format, height, width);
    struct nuc_scaler scaler = nuc_scaler_make(cx, (uint32_t)height, (uint32_t)width, format);
    int found_width = 0, found_height = 0;
    stbi_uc *values =
        stbi_load_from_memory(file.data, size, &found_width, &found_height, &channels, (int)format->channels);
    bool fits = values != NULL && found_width == width && found_height == height;
    /* Nothing that may fail stands between here and the release of the pixels. */
    if (fits) {
        struct nuc_pixels pixels = {(uint32_t)height, (uint32_t)width, format->channels, values};
        nuc_scale(&scaler, &pixels, format, out);
    }
    stbi_image_free(values);
    if (!fits)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: the image is damaged (%s)", where, stbi_failure_reason());
    normalize(format, out);
    nuc_pop_arena(cx, outer);
}

void nuc_read_image(struct nuc_context *cx, const char *path, const struct nuc_image_format *format, float *out)
{
    struct nuc_arena *outer = nuc_push_arena(cx);

    nuc_decode_image(cx, path, nuc_read_file(cx, path), format, out);
    nuc_pop_arena(cx, outer);
}
