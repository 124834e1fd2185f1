/*
 * Front ends for cameras in integers: the bytes of a frame become the input of a network. Every pixel that is needed
 * becomes 8-bit colours or grey, these are resampled first along rows and then along columns, each time to 8 bits, with
 * weights of 22 bits as Pillow's resize() has them, and a table says what becomes of each of the 256 values. Where each
 * value is one pixel, of a frame of the result's size or of the nearest ones, there are no sums.
 */
#ifndef NUC_DEVICE_SIGNAL_FRAME_H
#define NUC_DEVICE_SIGNAL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes in the order of memory. Two bytes of RGB565 are a word of 16 bits, the lower byte first, red in its top bits.
 */
enum nuc_pixel_format {
    NUC_PIXELS_RGB565,
    NUC_PIXELS_RGB888,
    NUC_PIXELS_BGR888,
    NUC_PIXELS_YUYV, /* Y0 U Y1 V: two pixels of the colour U, V, of full range as in JPEG files */
    NUC_PIXELS_UYVY,
    NUC_PIXELS_GREY,
    NUC_PIXELS_COUNT
};

enum nuc_colours { NUC_CHANNELS_RGB, NUC_CHANNELS_BGR, NUC_CHANNELS_GREY, NUC_CHANNELS_COUNT };

/* A side of the result has at most so many values: sums of all rows at once are below 2^32 bytes. */
#define NUC_FRAME_LONGEST (1 << 14)

/* Weights have this many bits behind the point. */
#define NUC_FRAME_WEIGHT_BITS 22

/*
 * Which pixels of a direction make each of `count` values: words[i * stride] is the first one, the next word how many,
 * then their weights. Neither the first ones nor the ends go back from one value to the next.
 */
struct nuc_frame_taps {
    const int32_t *words;
    size_t count, stride;
};

/* Sizes of a frame, of the result, and where its values lie: steps count values. */
struct nuc_frame_input {
    enum nuc_pixel_format pixels;
    enum nuc_colours channels;
    size_t width, height; /* of the frame; of Y, U and V the width is even */
    struct nuc_frame_taps columns, rows;
    const void *table; /* 256 values, of int8 or of 4 bytes, for each channel of the result or for all */
    bool one_table, is_wide;
    size_t channel_step, column_step, row_step;
};

static inline size_t nuc_frame_bytes(enum nuc_pixel_format pixels, size_t width, size_t height)
{
    const size_t bytes = pixels == NUC_PIXELS_GREY                                    ? 1
                         : pixels == NUC_PIXELS_RGB888 || pixels == NUC_PIXELS_BGR888 ? 3
                                                                                      : 2;
    return bytes * width * height;
}

/* Whether the formats are some, the width is one of the format, and all taps lie inside of the frame. */
bool nuc_frame_input_fits(const struct nuc_frame_input *p);

/* Bytes of scratch, aligned to 4, that an input which fits takes: sums of two rows of the result unless it is enlarged.
 */
size_t nuc_frame_scratch(const struct nuc_frame_input *p);

void nuc_prepare_frame(const struct nuc_frame_input *p, const uint8_t *frame, void *scratch, void *out);

/* Luma as libjpeg and Pillow compute it. */
static inline uint8_t nuc_luma(uint32_t red, uint32_t green, uint32_t blue)
{
    return (uint8_t)((19595 * red + 38470 * green + 7471 * blue + (1u << 15)) >> 16);
}

#endif
