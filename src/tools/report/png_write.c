/* PNG (ISO/IEC 15948) with stored blocks (RFC 1951, 1950), in base64 (RFC 4648). */
#include "tools/report/png_write.h"

#include <assert.h>
#include <string.h>
#include <zlib.h>

#define MOST_STORED 65535u /* bytes of a block */

struct writer {
    uint8_t *data;
    size_t size;
};

static void put(struct writer *w, const void *bytes, size_t size)
{
    memcpy(w->data + w->size, bytes, size);
    w->size += size;
}

static void put_u32(struct writer *w, uint32_t value)
{
    const uint8_t bytes[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8), (uint8_t)value};

    put(w, bytes, sizeof bytes);
}

static void put_chunk(struct writer *w, const char type[4], const uint8_t *data, size_t size)
{
    size_t begin = w->size + 4;

    put_u32(w, (uint32_t)size);
    put(w, type, 4);
    put(w, data, size);
    put_u32(w, (uint32_t)crc32(0, w->data + begin, (uInt)(size + 4)));
}

/* A zlib stream of blocks that hold the bytes as they are. */
static struct writer store(struct nuc_context *cx, const uint8_t *bytes, size_t size)
{
    static const uint8_t head[2] = {0x78, 0x01};
    struct writer w = {nuc_alloc(cx, size + 5 * (size / MOST_STORED + 1) + 16), 0};

    put(&w, head, sizeof head);
    for (size_t at = 0; at < size;) {
        size_t part = size - at < MOST_STORED ? size - at : MOST_STORED;
        const uint8_t block[5] = {at + part == size, (uint8_t)part, (uint8_t)(part >> 8), (uint8_t)~part,
                                  (uint8_t)(~part >> 8)};
        put(&w, block, sizeof block);
        put(&w, bytes + at, part);
        at += part;
    }
    put_u32(&w, (uint32_t)adler32(1, bytes, (uInt)size));
    return w;
}

static const char *base64(struct nuc_context *cx, const char *prefix, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = strlen(prefix);
    char *text = nuc_alloc(cx, n + (size + 2) / 3 * 4 + 1), *to = text + n;

    memcpy(text, prefix, n);
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t group = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? (uint32_t)bytes[i + 2] : 0);
        *to++ = digits[group >> 18];
        *to++ = digits[group >> 12 & 63];
        *to++ = left > 1 ? digits[group >> 6 & 63] : '=';
        *to++ = left > 2 ? digits[group & 63] : '=';
    }
    *to = '\0';
    return text;
}

const char *nuc_png_data_url(struct nuc_context *cx, const uint8_t *pixels, uint32_t width, uint32_t height,
                             uint32_t channels)
{
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    size_t row = (size_t)width * channels;
    uint8_t *rows = nuc_alloc(cx, (row + 1) * height); /* each begins with its filter: none */
    const uint8_t header[13] = {0,
                                0,
                                (uint8_t)(width >> 8),
                                (uint8_t)width,
                                0,
                                0,
                                (uint8_t)(height >> 8),
                                (uint8_t)height,
                                8,
                                channels == 3 ? 2 : 0,
                                0,
                                0,
                                0};

    assert(width > 0 && width <= 1024 && height > 0 && height <= 1024 && (channels == 1 || channels == 3));
    for (uint32_t y = 0; y < height; y++)
        memcpy(rows + y * (row + 1) + 1, pixels + y * row, row);
    struct writer data = store(cx, rows, (row + 1) * height);
    struct writer w = {nuc_alloc(cx, data.size + 128), 0};
    put(&w, signature, sizeof signature);
    put_chunk(&w, "IHDR", header, sizeof header);
    put_chunk(&w, "IDAT", data.data, data.size);
    put_chunk(&w, "IEND", signature, 0);
    return base64(cx, "data:image/png;base64,", w.data, w.size);
}
