#include "data/images/camera.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "host/limits.h"
#include "host/text.h"

/* The words of the three enumerations, in their order. */
static const char *const pixels_words[] = {"rgb565", "rgb888", "bgr888", "yuyv", "uyvy", "grey", NULL};
static const char *const channels_words[] = {"rgb", "bgr", "grey", NULL};
static const char *const filter_words[] = {"bilinear", "area", "nearest", NULL};

/* ---- the description ---- */

static uint32_t number_of(const struct nuc_json *j, int64_t low, int64_t high)
{
    const int64_t value = nuc_json_int(j);

    if (value < low || value > high)
        nuc_json_fail(j, NUC_BAD_INPUT, "is %lld: give %lld to %lld", (long long)value, (long long)low,
                      (long long)high);
    return (uint32_t)value;
}

static uint32_t side_of(const struct nuc_json *object, const char *key)
{
    const struct nuc_json j = nuc_json_field(object, key);

    return number_of(&j, 1, NUC_FRAME_LONGEST);
}

static void read_crop(const struct nuc_json *object, struct nuc_camera *c)
{
    const struct nuc_json j = nuc_json_optional(object, "crop");
    const uint32_t whole[4] = {0, 0, c->width, c->height};

    memcpy(c->crop, whole, sizeof whole);
    if (!nuc_json_is_there(&j))
        return;
    if (j.type == NUC_JSON_STRING) {
        static const char *const words[] = {"center", NULL};
        c->is_centred = nuc_json_word(object, "crop", words, -1) == 0;
        return;
    }
    if (nuc_json_count(&j) != 4)
        nuc_json_fail(&j, NUC_BAD_INPUT, "has %zu numbers: give x, y, width and height, or \"center\"",
                      nuc_json_count(&j));
    for (size_t i = 0; i < 4; i++) {
        const struct nuc_json item = nuc_json_item(&j, i);
        const uint32_t side = whole[2 + i % 2];
        c->crop[i] = number_of(&item, i < 2 ? 0 : 1, i < 2 ? side - 1 : side - c->crop[i - 2]);
    }
}

/* Absent: the fallback, for all channels. */
static size_t read_numbers(const struct nuc_json *object, const char *key, const struct nuc_camera *c, double fallback,
                           double most, double *out)
{
    const struct nuc_json j = nuc_json_optional(object, key);
    const size_t channels = c->channels == NUC_CHANNELS_GREY ? 1 : 3;
    const bool is_list = nuc_json_is_there(&j) && j.type != NUC_JSON_INTEGER && j.type != NUC_JSON_REAL;
    const size_t count = is_list ? nuc_json_count(&j) : 1;

    out[0] = fallback;
    if (count != 1 && count != channels)
        nuc_json_fail(&j, NUC_BAD_INPUT, "has %zu numbers: give one, or one for each of %zu channels", count, channels);
    for (size_t i = 0; nuc_json_is_there(&j) && i < count; i++) {
        const struct nuc_json item = is_list ? nuc_json_item(&j, i) : j;
        out[i] = nuc_json_double(&item);
        if (!(fabs(out[i]) <= most) || (fallback > 0 && !(out[i] > 1e-6)))
            nuc_json_fail(&item, NUC_BAD_INPUT, "is %g: pixels are divided by 255 first, give a number %s %g", out[i],
                          fallback > 0 ? "above 0, at most" : "of at most", most);
    }
    return count;
}

const struct nuc_camera *nuc_camera_read(const struct nuc_json *image)
{
    static const char *const keys[] = {"format", "width", "height", "crop", "resize", "mean", "std", "channels", NULL};
    struct nuc_camera *c = nuc_alloc(image->file->cx, sizeof *c);

    nuc_json_only(image, keys);
    c->pixels = (enum nuc_pixel_format)nuc_json_word(image, "format", pixels_words, -1);
    c->width = side_of(image, "width");
    c->height = side_of(image, "height");
    const struct nuc_json width = nuc_json_field(image, "width");
    if ((c->pixels == NUC_PIXELS_YUYV || c->pixels == NUC_PIXELS_UYVY) && c->width % 2 != 0)
        nuc_json_fail(&width, NUC_BAD_INPUT, "is %u: pixels of %s come in pairs, give an even number",
                      (unsigned)c->width, pixels_words[c->pixels]);
    if ((size_t)c->width * c->height > NUC_MAX_IMAGE_PIXELS)
        nuc_json_fail(&width, NUC_BAD_INPUT, "and height are %zu pixels: give at most %zu",
                      (size_t)c->width * c->height, NUC_MAX_IMAGE_PIXELS);
    c->channels = (enum nuc_colours)nuc_json_word(image, "channels", channels_words,
                                                  c->pixels == NUC_PIXELS_GREY ? NUC_CHANNELS_GREY : NUC_CHANNELS_RGB);
    c->filter = (enum nuc_filter)nuc_json_word(image, "resize", filter_words, NUC_FILTER_BILINEAR);
    read_crop(image, c);
    c->n_mean = read_numbers(image, "mean", c, 0, 4, c->mean);
    c->n_std = read_numbers(image, "std", c, 1, 8, c->std);
    return c;
}

const struct nuc_camera *nuc_camera_of(struct nuc_context *cx, const char *front_end)
{
    const struct nuc_span text = {(const uint8_t *)nuc_strdup(cx, front_end), strlen(front_end)};
    const struct nuc_json root = nuc_json_parse(cx, "front end", text), image = nuc_json_optional(&root, "image");

    return nuc_json_is_there(&image) ? nuc_camera_read(&image) : NULL;
}

bool nuc_is_frame_file(const char *path)
{
    const char *suffix = strrchr(path, '.');

    for (size_t i = 0; suffix != NULL && i < NUC_PIXELS_COUNT; i++) {
        if (strcasecmp(suffix + 1, pixels_words[i]) == 0)
            return true;
    }
    return false;
}

void nuc_expect_frames(struct nuc_context *cx, const char *path, size_t bytes, const struct nuc_camera *c)
{
    const char *pixels = pixels_words[c->pixels], *suffix = strrchr(path, '.') + 1;
    const size_t frame = nuc_camera_bytes(c);

    if (strcasecmp(suffix, pixels) != 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: is of %s by its name, the program takes %s: convert the frames", path, suffix,
                 pixels);
    if (bytes == 0 || bytes % frame != 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: has %zu bytes, a frame of %u x %u pixels in %s %zu: give whole frames", path,
                 bytes, (unsigned)c->width, (unsigned)c->height, pixels, frame);
}

/* ---- what is computed with ---- */

static struct nuc_frame_taps taps_of(struct nuc_context *cx, const struct nuc_resampling *r)
{
    const uint32_t most = nuc_resampling_taps(r);
    const size_t stride = most + 2u;
    size_t longest = 1;
    int32_t *words = nuc_alloc_array(cx, r->count, stride * sizeof *words);
    double *weights = nuc_alloc_array(cx, most, sizeof *weights);
    uint32_t first;

    for (uint32_t i = 0; i < r->count; i++) {
        int32_t *at = words + i * stride;
        at[1] = (int32_t)nuc_resample(r, i, &first, weights);
        at[0] = (int32_t)first;
        for (int32_t k = 0; k < at[1]; k++)
            at[2 + k] = (int32_t)(0.5 + weights[k] * (1 << NUC_FRAME_WEIGHT_BITS));
        /* The last one is 0 where nothing is scaled. */
        const int32_t *before = i > 0 ? at - stride : NULL;
        while (at[1] > 1 && at[1 + at[1]] == 0 && (before == NULL || at[0] + at[1] > before[0] + before[1]))
            at[1]--;
        longest = (size_t)at[1] > longest ? (size_t)at[1] : longest;
    }
    for (uint32_t i = 1; i < r->count; i++)
        memmove(words + i * (longest + 2), words + i * stride, (longest + 2) * sizeof *words);
    return (struct nuc_frame_taps){words, r->count, longest + 2};
}

/* The largest part in the middle: one margin is 0. */
static void place(const struct nuc_camera *c, const struct nuc_camera_input *input, double from[2], double size[2])
{
    const double ratio = fmin((double)c->width / input->width, (double)c->height / input->height);

    for (int i = 0; i < 2; i++) {
        from[i] = c->crop[i];
        size[i] = c->crop[2 + i];
    }
    if (!c->is_centred)
        return;
    size[0] = ratio * input->width;
    size[1] = ratio * input->height;
    from[0] = (c->width - size[0]) / 2;
    from[1] = (c->height - size[1]) / 2;
}

const struct nuc_frame_input *nuc_camera_prepare(struct nuc_context *cx, const struct nuc_camera *c,
                                                 const struct nuc_camera_input *input)
{
    const size_t channels = c->channels == NUC_CHANNELS_GREY ? 1 : 3;
    struct nuc_frame_input *p = nuc_alloc(cx, sizeof *p);
    double from[2], size[2];

    place(c, input, from, size);
    const struct nuc_resampling x = {c->filter, c->width, input->width, from[0], from[0] + size[0]};
    const struct nuc_resampling y = {c->filter, c->height, input->height, from[1], from[1] + size[1]};
    *p = (struct nuc_frame_input){.pixels = c->pixels,
                                  .channels = c->channels,
                                  .width = c->width,
                                  .height = c->height,
                                  .columns = taps_of(cx, &x),
                                  .rows = taps_of(cx, &y),
                                  .one_table = c->n_mean == 1 && c->n_std == 1,
                                  .is_wide = true};
    float *table = nuc_alloc_array(cx, 256 * channels, sizeof *table);
    for (size_t i = 0; i < 256 * (p->one_table ? 1 : channels); i++) {
        const float mean = (float)c->mean[c->n_mean == 1 ? 0 : i / 256],
                    std = (float)c->std[c->n_std == 1 ? 0 : i / 256];
        table[i] = ((float)(i % 256) / 255.0f - mean) / std;
    }
    p->table = table;
    p->channel_step = input->channels_last ? 1 : (size_t)input->width * input->height;
    p->column_step = input->channels_last ? channels : 1;
    p->row_step = p->column_step * input->width;
    return p;
}

/* ---- frames of images ---- */

static uint8_t byte_of(float v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5f);
}

/* Two pixels, of which the second may be left out where the format has no pairs. */
static void write_pixels(enum nuc_pixel_format pixels, const uint8_t rgb[6], size_t count, uint8_t *out)
{
    const bool luma_first = pixels == NUC_PIXELS_YUYV;

    if (luma_first || pixels == NUC_PIXELS_UYVY) {
        uint8_t *luma = out + !luma_first, *colour = out + luma_first;
        /* As libjpeg computes them, of the sum of two pixels. */
        const int32_t r = rgb[0] + rgb[3], g = rgb[1] + rgb[4], b = rgb[2] + rgb[5], half = 128 << 17;
        colour[0] = (uint8_t)((-11059 * r - 21709 * g + 32768 * b + half + 65535) >> 17);
        colour[2] = (uint8_t)((32768 * r - 27439 * g - 5329 * b + half + 65535) >> 17);
        luma[0] = nuc_luma(rgb[0], rgb[1], rgb[2]);
        luma[2] = nuc_luma(rgb[3], rgb[4], rgb[5]);
        return;
    }
    for (size_t i = 0; i < count; i++, rgb += 3) {
        if (pixels == NUC_PIXELS_GREY) {
            *out++ = nuc_luma(rgb[0], rgb[1], rgb[2]);
        } else if (pixels == NUC_PIXELS_RGB565) {
            const unsigned red = (rgb[0] * 31u + 127) / 255, green = (rgb[1] * 63u + 127) / 255;
            const unsigned word = red << 11 | green << 5 | (rgb[2] * 31u + 127) / 255;
            *out++ = (uint8_t)word;
            *out++ = (uint8_t)(word >> 8);
        } else {
            const bool swapped = pixels == NUC_PIXELS_BGR888;
            *out++ = rgb[swapped ? 2 : 0];
            *out++ = rgb[1];
            *out++ = rgb[swapped ? 0 : 2];
        }
    }
}

void nuc_read_frame(struct nuc_context *cx, const char *path, const struct nuc_camera *c, uint8_t *frame)
{
    struct nuc_arena *outer = nuc_push_arena(cx);
    const struct nuc_image_format format = {
        .channels = 3, .height = c->height, .width = c->width, .std = {1, 1, 1}, .fit = NUC_RESIZE_CROP};
    const size_t area = (size_t)c->width * c->height;
    float *planes = nuc_alloc_array(cx, 3 * area, sizeof *planes);
    const size_t pixel_bytes = nuc_frame_bytes(c->pixels, 1, 1);

    nuc_read_image(cx, path, &format, planes);
    for (size_t i = 0; i < area; i += 2) {
        const size_t count = area - i < 2 ? 1 : 2;
        uint8_t rgb[6] = {0};
        for (size_t k = 0; k < 3 * count; k++)
            rgb[k] = byte_of(planes[k % 3 * area + i + k / 3] * 255);
        write_pixels(c->pixels, rgb, count, frame + i * pixel_bytes);
    }
    nuc_pop_arena(cx, outer);
}
