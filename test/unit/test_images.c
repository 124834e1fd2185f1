/* Folders of images: order, labels, values, scaling, and files that are not what they seem. Images are made here. */
#include "contexts.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jpeglib.h>

#include "data/images/images.h"
#include "host/file.h"

/* ---- making images ---- */

struct bytes {
    uint8_t data[8192];
    size_t size;
};

static void add(struct bytes *b, const void *data, size_t size)
{
    assert_true(b->size + size <= sizeof b->data);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void add_be32(struct bytes *b, uint32_t v)
{
    add(b, (const uint8_t[]){(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v}, 4);
}

static uint32_t crc32_of(const uint8_t *data, size_t size)
{
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

static void add_chunk(struct bytes *b, const char type[4], const struct bytes *content)
{
    struct bytes tagged = {.size = 0};

    add(&tagged, type, 4);
    add(&tagged, content->data, content->size);
    add_be32(b, (uint32_t)content->size);
    add(b, tagged.data, tagged.size);
    add_be32(b, crc32_of(tagged.data, tagged.size));
}

/* Color types of PNG: 0 grey, 2 RGB, 6 RGBA. Rows of `channels` bytes per pixel, stored without compression. */
static struct bytes make_png(uint32_t width, uint32_t height, uint32_t channels, const uint8_t *pixels)
{
    static const uint8_t color_types[] = {[1] = 0, [3] = 2, [4] = 6};
    struct bytes png = {.size = 0}, header = {.size = 0}, rows = {.size = 0}, data = {.size = 0}, none = {.size = 0};
    uint32_t a = 1, b = 0;

    for (uint32_t y = 0; y < height; y++) {
        add(&rows, "", 1); /* no filter */
        add(&rows, pixels + (size_t)y * width * channels, (size_t)width * channels);
    }
    for (size_t i = 0; i < rows.size; i++) {
        a = (a + rows.data[i]) % 65521;
        b = (b + a) % 65521;
    }
    uint16_t length = (uint16_t)rows.size, inverse = (uint16_t)~rows.size;
    add(&data, (const uint8_t[]){0x78, 1, 1}, 3); /* zlib, one last stored block */
    add(&data, (const uint8_t[]){(uint8_t)length, (uint8_t)(length >> 8), (uint8_t)inverse, (uint8_t)(inverse >> 8)},
        4);
    add(&data, rows.data, rows.size);
    add_be32(&data, b << 16 | a);
    add_be32(&header, width);
    add_be32(&header, height);
    add(&header, (const uint8_t[]){8, color_types[channels], 0, 0, 0}, 5);
    add(&png, "\x89PNG\r\n\x1a\n", 8);
    add_chunk(&png, "IHDR", &header);
    add_chunk(&png, "IDAT", &data);
    add_chunk(&png, "IEND", &none);
    return png;
}

/*
 * A grey JPEG of 8 x 8 pixels of value 133: all quantization steps 1, the DC coefficient 8 * (133 - 128) = 40 in
 * category 6 with the only code 0, then the end of the block with the only code 0: bits 0 101000 0.
 */
static struct bytes make_jpeg(void)
{
    struct bytes b = {.size = 0};
    uint8_t ones[64], no_codes[15] = {0};

    memset(ones, 1, sizeof ones);
    add(&b, "\xff\xd8\xff\xdb\x00\x43\x00", 7);
    add(&b, ones, sizeof ones);
    add(&b, "\xff\xc0\x00\x0b\x08\x00\x08\x00\x08\x01\x01\x11\x00", 13);
    add(&b, "\xff\xc4\x00\x14\x00\x01", 6);
    add(&b, no_codes, sizeof no_codes);
    add(&b, "\x06", 1);
    add(&b, "\xff\xc4\x00\x14\x10\x01", 6);
    add(&b, no_codes, sizeof no_codes);
    add(&b, "\x00", 1);
    add(&b, "\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x50\xff\xd9", 13);
    return b;
}

/* ---- decoding ---- */

struct decode {
    const struct bytes *file;
    struct nuc_image_format format;
    float *out;
};

static void decode(struct nuc_context *cx, void *arg)
{
    struct decode *d = arg;

    nuc_decode_image(cx, "image", (struct nuc_span){d->file->data, d->file->size}, &d->format, d->out);
}

static void decodes_to(const struct bytes *file, struct nuc_image_format format, const float *wanted)
{
    struct nuc_context *cx = nuc_context_new(NULL);
    float out[256];
    struct decode d = {file, format, out};
    uint32_t count = format.channels * format.height * format.width;

    if (nuc_try(cx, decode, &d) != NUC_OK)
        fail_msg("%s", cx->message);
    for (uint32_t i = 0; i < count; i++) {
        if (out[i] < wanted[i] - 1e-6f || out[i] > wanted[i] + 1e-6f)
            fail_msg("value %u is %.9g instead of %.9g", (unsigned)i, (double)out[i], (double)wanted[i]);
    }
    nuc_context_free(cx);
}

static struct nuc_image_format plain(uint32_t channels, uint32_t height, uint32_t width)
{
    return (struct nuc_image_format){channels, height, width, {0, 0, 0}, {1, 1, 1}, NUC_RESIZE_NONE};
}

static void values_are_normalized_channel_by_channel(void **state)
{
    static const uint8_t rgb[] = {255, 0, 51, 0, 102, 204};
    struct bytes png = make_png(2, 1, 3, rgb);
    struct nuc_image_format f = plain(3, 1, 2);

    decodes_to(&png, f, (const float[]){1, 0, 0, 0.4f, 0.2f, 0.8f});
    f.mean[0] = 0.5f;
    f.std[0] = 0.25f;
    f.mean[2] = 0.2f;
    f.std[2] = 2;
    decodes_to(&png, f, (const float[]){2, -2, 0, 0.4f, 0, 0.3f});
}

static void channels_are_made_to_fit(void **state)
{
    static const uint8_t rgba[] = {10, 20, 30, 0}, grey[] = {51};
    struct bytes with_alpha = make_png(1, 1, 4, rgba), one = make_png(1, 1, 1, grey);

    decodes_to(&with_alpha, plain(3, 1, 1), (const float[]){10 / 255.0f, 20 / 255.0f, 30 / 255.0f});
    decodes_to(&one, plain(3, 1, 1), (const float[]){0.2f, 0.2f, 0.2f});
    /* (77 * 10 + 150 * 20 + 29 * 30) / 256 = 18 */
    decodes_to(&with_alpha, plain(1, 1, 1), (const float[]){18 / 255.0f});
}

static void reads_jpeg(void **state)
{
    struct bytes jpeg = make_jpeg();
    float wanted[64];

    for (size_t i = 0; i < 64; i++)
        wanted[i] = 133 / 255.0f;
    decodes_to(&jpeg, plain(1, 8, 8), wanted);
}

/* Halving: every output pixel weighs the four pixels around its centre 1 : 3 : 3 : 1, less at the borders. */
static void reduces_with_a_triangle(void **state)
{
    static const uint8_t row[] = {0, 255, 0, 0};
    struct bytes png = make_png(4, 1, 1, row);
    struct nuc_image_format f = plain(1, 1, 2);

    f.fit = NUC_RESIZE_STRETCH;
    decodes_to(&png, f, (const float[]){3 / 7.0f, 1 / 7.0f});
}

/* Doubling: bilinear between pixel centres, the border repeated. */
static void enlarges_bilinearly(void **state)
{
    static const uint8_t row[] = {0, 255};
    struct bytes png = make_png(2, 1, 1, row);
    struct nuc_image_format f = plain(1, 1, 4);

    f.fit = NUC_RESIZE_STRETCH;
    decodes_to(&png, f, (const float[]){0, 0.25f, 0.75f, 1});
}

static void crops_the_centre(void **state)
{
    static const uint8_t row[] = {255, 255, 51, 102, 255, 255};
    struct bytes png = make_png(6, 1, 1, row);
    struct nuc_image_format f = plain(1, 1, 2);

    f.fit = NUC_RESIZE_CROP;
    decodes_to(&png, f, (const float[]){0.2f, 0.4f});
}

static void same_size_is_left_alone(void **state)
{
    static const uint8_t pixels[] = {1, 2, 3, 4, 5, 6};
    struct bytes png = make_png(2, 3, 1, pixels);
    struct nuc_image_format f = plain(1, 3, 2);

    for (int fit = NUC_RESIZE_NONE; fit <= NUC_RESIZE_CROP; fit++) {
        f.fit = (enum nuc_resize)fit;
        decodes_to(&png, f, (const float[]){1 / 255.0f, 2 / 255.0f, 3 / 255.0f, 4 / 255.0f, 5 / 255.0f, 6 / 255.0f});
    }
}

/* ---- what is refused ---- */

static void refuses(const struct bytes *file, struct nuc_image_format format, enum nuc_status wanted,
                    const char *message)
{
    struct nuc_context *cx = nuc_context_new(NULL);
    float out[256];
    struct decode d = {file, format, out};
    enum nuc_status status = nuc_try(cx, decode, &d);

    if (status != wanted || strstr(cx->message, message) == NULL)
        fail_msg("status %d, %s", (int)status, cx->message);
    nuc_context_free(cx);
}

/* The checksum of the IHDR chunk fits what was changed in it. */
static void seal_header(struct bytes *png)
{
    uint32_t crc = crc32_of(png->data + 12, 17);

    for (int i = 0; i < 4; i++)
        png->data[29 + i] = (uint8_t)(crc >> (24 - 8 * i));
}

static void refuses_what_is_no_image(void **state)
{
    static const uint8_t pixels[] = {1, 2, 3, 4};
    struct bytes png = make_png(2, 2, 1, pixels);
    struct bytes text = {.data = "GIF89a, or so it says", .size = 21}, empty = {.size = 0};

    refuses(&png, plain(1, 2, 3), NUC_BAD_INPUT, "2 x 2 pixels, the input 3 x 2: use --resize");
    refuses(&text, plain(1, 2, 2), NUC_BAD_INPUT, "image: is not a PNG or JPEG image");
    refuses(&empty, plain(1, 2, 2), NUC_BAD_INPUT, "is not a PNG or JPEG image");
    png.data[16] = 0x7f; /* a width of 2 billion */
    refuses(&png, plain(1, 2, 2), NUC_BAD_INPUT, "image: the image cannot be read: IHDR: CRC error");
    seal_header(&png);
    refuses(&png, plain(1, 2, 2), NUC_UNSUPPORTED, "2130706434 x 2 pixels are too many (limit 67108864, a side 16384)");
    png = make_png(2, 2, 1, pixels);
    png.data[18] = png.data[22] = 0x30; /* 12,290 x 12,290 in a file of 80 bytes */
    seal_header(&png);
    refuses(&png, plain(1, 2, 2), NUC_UNSUPPORTED, "12290 x 12290 pixels are too many");
    struct bytes jpeg = make_jpeg();
    assert_memory_equal(jpeg.data + 71, "\xff\xc0", 2);
    jpeg.data[76] = jpeg.data[78] = 0x80; /* 32,776 x 32,776 */
    refuses(&jpeg, plain(1, 2, 2), NUC_UNSUPPORTED, "32776 x 32776 pixels are too many");
}

/* A table has room for 256 codes. */
static void refuses_oversized_huffman_tables(void **state)
{
    struct bytes jpeg = make_jpeg();

    assert_memory_equal(jpeg.data + 84, "\xff\xc4", 2);
    jpeg.data[90] = jpeg.data[91] = 0x81; /* 1 + 129 + 129 codes */
    refuses(&jpeg, plain(1, 8, 8), NUC_BAD_INPUT, "Bogus Huffman table definition");
}

/*
 * Every cut is refused, the end markers apart, and every flipped bit of a PNG, whose checksums cover all of it; that of
 * its end marker, the last 4 bytes, is nothing that libpng looks at from 1.6.48 on. A JPEG has no checksum: it is
 * refused or read.
 */
static void survives_damage(void **state)
{
    static const uint8_t pixels[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const struct bytes files[] = {make_png(2, 2, 3, pixels), make_jpeg()};
    float out[3 * 8 * 8];

    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < 9 * files[k].size; i++) {
            struct nuc_context *cx = nuc_context_new(NULL);
            struct bytes damaged = files[k];
            struct decode d = {&damaged, plain(3, 8, 8), out};
            size_t bit = i - damaged.size;
            d.format.fit = NUC_RESIZE_STRETCH;
            bool is_cut = i < damaged.size;
            if (is_cut)
                damaged.size = i;
            else
                damaged.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            enum nuc_status status = nuc_try(cx, decode, &d);
            if (status != NUC_OK)
                assert_non_null(strstr(cx->message, "image: "));
            else if (is_cut || (k == 0 && bit / 8 < damaged.size - 4))
                fail_msg("file %zu, case %zu is read", k, i);
            nuc_context_free(cx);
        }
    }
}

/* ---- libjpeg's own encoder ---- */

struct encoded {
    J_COLOR_SPACE space;
    int components;
    uint8_t pixel[4];
    bool progressive;
};

static struct bytes encode(const struct encoded *e)
{
    struct jpeg_compress_struct info = {.err = NULL};
    struct jpeg_error_mgr errors;
    unsigned char *data = NULL;
    unsigned long size = 0;
    uint8_t row[4 * 8];
    JSAMPROW rows[1] = {row};
    struct bytes out = {.size = 0};

    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &data, &size);
    info.image_width = info.image_height = 8;
    info.input_components = e->components;
    info.in_color_space = e->space;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, 100, TRUE);
    if (e->progressive)
        jpeg_simple_progression(&info);
    jpeg_start_compress(&info, TRUE);
    for (int i = 0; i < 8; i++)
        memcpy(row + i * e->components, e->pixel, (size_t)e->components);
    for (int i = 0; i < 8; i++)
        jpeg_write_scanlines(&info, rows, 1);
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    add(&out, data, size);
    free(data);
    return out;
}

/* One colour, within the two steps that the conversion to luma and chroma loses. */
static void reads_every_colour_space_of_jpeg(void **state)
{
    static const struct {
        struct encoded from;
        uint8_t rgb[3];
    } rows[] = {
        {{JCS_RGB, 3, {200, 100, 50, 0}, false}, {200, 100, 50}},
        {{JCS_RGB, 3, {200, 100, 50, 0}, true}, {200, 100, 50}},
        {{JCS_GRAYSCALE, 1, {77, 0, 0, 0}, false}, {77, 77, 77}},
        /* Adobe's: 255 is no ink */
        {{JCS_CMYK, 4, {200, 100, 50, 255}, false}, {200, 100, 50}},
        {{JCS_CMYK, 4, {200, 100, 50, 128}, false}, {100, 50, 25}},
    };

    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        struct bytes file = encode(&rows[k].from);
        float out[3 * 64];
        struct decode d = {&file, plain(3, 8, 8), out};
        if (nuc_try(cx, decode, &d) != NUC_OK)
            fail_msg("row %zu: %s", k, cx->message);
        for (int i = 0; i < 3 * 64; i++) {
            if (fabsf(out[i] * 255 - (float)rows[k].rgb[i / 64]) > 2.01f)
                fail_msg("row %zu: value %d is %g", k, i, (double)(out[i] * 255));
        }
        nuc_context_free(cx);
    }
}

/* Each scan of a progressive file goes over all pixels: a small file must not ask for thousands. */
static void refuses_many_scans(void **state)
{
    struct bytes file = encode(&(struct encoded){JCS_GRAYSCALE, 1, {77, 0, 0, 0}, true}), many = {.size = 0};
    size_t last = 0;

    for (size_t i = 0; i + 1 < file.size; i++)
        last = file.data[i] == 0xff && file.data[i + 1] == 0xda ? i : last;
    add(&many, file.data, last);
    for (int i = 0; i < 150; i++)
        add(&many, file.data + last, file.size - 2 - last);
    add(&many, "\xff\xd9", 2);
    refuses(&many, plain(1, 8, 8), NUC_BAD_INPUT, "more than 100 scans (the limit)");
}

/* ---- folders ---- */

struct listing {
    const char *path;
    const struct nuc_images *images;
};

static void list(struct nuc_context *cx, void *arg)
{
    struct listing *l = arg;

    l->images = nuc_list_images(cx, l->path);
}

static void touch(struct nuc_context *cx, const char *folder, const char *name)
{
    nuc_write_file(cx, nuc_format(cx, "%s/%s", folder, name), (struct nuc_span){(const uint8_t *)"", 0});
}

static const char *make_folder(struct nuc_context *cx, const char *parent, const char *name)
{
    char *path = nuc_format(cx, "%s/%s", parent, name);

    assert_int_equal(mkdir(path, 0777), 0);
    return path;
}

static void folders(struct nuc_context *cx, void *arg)
{
    const char *root = arg;
    const char *flat = make_folder(cx, root, "flat");
    const char *classes = make_folder(cx, root, "classes");
    const char *b = make_folder(cx, classes, "b"), *a = make_folder(cx, classes, "a");

    make_folder(cx, classes, "aa"); /* without images: no class */
    touch(cx, flat, "10.png");
    touch(cx, flat, "9.JPG");
    touch(cx, flat, "c.jpeg");
    touch(cx, flat, ".hidden.png");
    touch(cx, flat, "notes.txt");
    touch(cx, b, "1.png");
    touch(cx, a, "3.png");
    touch(cx, a, "2.png");

    const struct nuc_images *images = nuc_list_images(cx, flat);
    assert_int_equal(images->count, 3);
    assert_null(images->labels);
    assert_string_equal(nuc_base_name(images->files[0]), "10.png");
    assert_string_equal(nuc_base_name(images->files[1]), "9.JPG");
    assert_string_equal(nuc_base_name(images->files[2]), "c.jpeg");

    images = nuc_list_images(cx, classes);
    assert_int_equal(images->count, 3);
    assert_string_equal(images->files[0], nuc_format(cx, "%s/2.png", a));
    assert_string_equal(images->files[2], nuc_format(cx, "%s/1.png", b));
    assert_true(images->labels[0] == 0 && images->labels[1] == 0 && images->labels[2] == 1);

    assert_null(nuc_list_images(cx, make_folder(cx, root, "empty")));
}

static void remove_tree(const char *root)
{
    static const char *const paths[] = {"flat/10.png",
                                        "flat/9.JPG",
                                        "flat/c.jpeg",
                                        "flat/.hidden.png",
                                        "flat/notes.txt",
                                        "classes/b/1.png",
                                        "classes/a/3.png",
                                        "classes/a/2.png",
                                        "classes/a",
                                        "classes/b",
                                        "classes/aa",
                                        "classes",
                                        "flat",
                                        "empty",
                                        ""};
    char path[256];

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", root, paths[i]);
        remove(path);
    }
}

static void lists_folders_in_order(void **state)
{
    char root[] = "/tmp/nucleon_images_XXXXXX";
    struct nuc_context *cx = *state;
    struct listing nowhere = {"/tmp/nucleon_images_XXXXXX/none", NULL};

    assert_non_null(mkdtemp(root));
    enum nuc_status status = nuc_try(cx, folders, root);
    remove_tree(root);
    if (status != NUC_OK)
        fail_msg("%s", cx->message);
    assert_int_equal(nuc_try(cx, list, &nowhere), NUC_IO);
}

RUN_TESTS(cmocka_unit_test(values_are_normalized_channel_by_channel), cmocka_unit_test(channels_are_made_to_fit),
          cmocka_unit_test(reads_jpeg), cmocka_unit_test(reduces_with_a_triangle),
          cmocka_unit_test(enlarges_bilinearly), cmocka_unit_test(crops_the_centre),
          cmocka_unit_test(same_size_is_left_alone), cmocka_unit_test(refuses_what_is_no_image),
          cmocka_unit_test(refuses_oversized_huffman_tables), cmocka_unit_test(survives_damage),
          cmocka_unit_test(reads_every_colour_space_of_jpeg), cmocka_unit_test(refuses_many_scans),
          STATE_TEST(lists_folders_in_order))
