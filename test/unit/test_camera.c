/* Frames of a camera: images that Pillow makes of them, descriptions that are refused, and frames of image files. */
#include "unit/text_cases.h"

#include <math.h>

#include "data/images/camera.h"
#include "data/images/image_scale.h"

static const struct nuc_camera *camera_of(struct nuc_context *cx, const char *text)
{
    const struct nuc_json json =
        nuc_json_parse(cx, "front.json", (struct nuc_span){(const uint8_t *)nuc_strdup(cx, text), strlen(text)});

    return nuc_camera_read(&json);
}

static uint8_t *random_frame(struct nuc_context *cx, size_t count)
{
    uint8_t *bytes = nuc_alloc(cx, count);
    uint32_t state = 1;

    for (size_t i = 0; i < count; i++) {
        state = (state * 1103515245u + 12345u) & 0x7FFFFFFF;
        bytes[i] = (uint8_t)(state >> 16);
    }
    return bytes;
}

/* The values of the frame's image as `input` has them; memory of exactly the sizes that are said. */
static void *image_of(struct nuc_context *cx, const struct nuc_camera *camera, const struct nuc_camera_input *input)
{
    const struct nuc_frame_input *p = nuc_camera_prepare(cx, camera, input);
    const size_t values = (size_t)input->width * input->height * (camera->channels == NUC_CHANNELS_GREY ? 1 : 3);
    const size_t bytes = nuc_camera_bytes(camera);
    void *frame = test_malloc(bytes), *scratch = test_malloc(nuc_frame_scratch(p));
    void *out = test_malloc(values * sizeof(float));

    assert_true(nuc_frame_input_fits(p));
    memcpy(frame, random_frame(cx, bytes), bytes);
    nuc_prepare_frame(p, frame, scratch, out);
    void *copy = nuc_copy(cx, out, values * sizeof(float));
    test_free(frame);
    test_free(scratch);
    test_free(out);
    return copy;
}

/* Pixel values are those of Pillow, the channels first and last. */
static void check_image(struct nuc_context *cx, struct text_line *line)
{
    unsigned width, height, pixel;
    int off, at;

    assert_int_equal(sscanf(line->left, "%ux%u %d %n", &width, &height, &off, &at), 3);
    const struct nuc_camera *camera = camera_of(cx, line->left + at);
    const size_t area = (size_t)width * height, channels = camera->channels == NUC_CHANNELS_GREY ? 1 : 3;
    const float *last = image_of(cx, camera, &(struct nuc_camera_input){width, height, true});
    const float *first = image_of(cx, camera, &(struct nuc_camera_input){width, height, false});
    assert_int_equal(strlen(line->right), 2 * area * channels);
    for (size_t i = 0; i < area * channels; i++) {
        assert_int_equal(sscanf(line->right + 2 * i, "%2x", &pixel), 1);
        if (fabsf(last[i] * 255 - (float)pixel) > (float)off + 1e-3f)
            fail_msg("%s: value %zu is %g", line->left, i, (double)last[i] * 255);
        assert_memory_equal(&first[i % channels * area + i / channels], &last[i], sizeof *last);
    }
}

static void read_refused(struct nuc_context *cx, void *arg)
{
    camera_of(cx, arg);
}

static void check_refusal(struct nuc_context *cx, struct text_line *line)
{
    assert_int_not_equal(nuc_try(cx, read_refused, line->left), NUC_OK);
    if (strstr(cx->message, line->right) == NULL)
        fail_msg("%s: %s", line->left, cx->message);
}

static void values_are_normalised(struct nuc_context *cx, void *arg)
{
    const struct nuc_camera *camera = camera_of(
        cx, "{\"format\": \"rgb888\", \"width\": 5, \"height\": 4, \"mean\": [0.1, 0.2, 0.3], \"std\": [0.5, 1, 2]}");
    const uint8_t *frame = random_frame(cx, 60);
    const float *values = image_of(cx, camera, &(struct nuc_camera_input){5, 4, true});

    (void)arg;
    for (size_t i = 0; i < 60; i++) {
        const double mean[3] = {0.1, 0.2, 0.3}, std[3] = {0.5, 1, 2};
        assert_true(fabs((double)values[i] - (frame[i] / 255.0 - mean[i % 3]) / std[i % 3]) < 1e-6);
    }
}

/* The middle of an image as --resize crop scales it, within one step: that has no rounding in between. */
static void scales_as_image_files(struct nuc_context *cx, void *arg)
{
    static const uint32_t sizes[][4] = {{40, 30, 8, 8}, {31, 47, 9, 5}, {12, 9, 20, 20}, {64, 48, 64, 48}};

    (void)arg;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint32_t width = sizes[i][0], height = sizes[i][1];
        const struct nuc_image_format format = {
            .channels = 3, .width = sizes[i][2], .height = sizes[i][3], .fit = NUC_RESIZE_CROP};
        const struct nuc_pixels pixels = {height, width, 3, random_frame(cx, (size_t)width * height * 3)};
        const size_t count = (size_t)format.width * format.height * 3;
        float *wanted = nuc_alloc_array(cx, count, sizeof *wanted);
        const struct nuc_camera *camera = camera_of(
            cx, nuc_format(cx, "{\"format\": \"rgb888\", \"width\": %u, \"height\": %u, \"crop\": \"center\"}",
                           (unsigned)width, (unsigned)height));
        const float *values = image_of(cx, camera, &(struct nuc_camera_input){format.width, format.height, false});
        nuc_scale(cx, &pixels, &format, wanted);
        for (size_t k = 0; k < count; k++)
            assert_true(fabsf(values[k] * 255 - wanted[k]) <= 1);
    }
}

/* Taps that go back, leave the frame, or are more than there is room for. */
static void taps_are_checked(struct nuc_context *cx, void *arg)
{
    static const struct {
        size_t word;
        int32_t value;
    } rows[] = {{0, -1}, {0, 5}, {1, 0}, {1, 9}, {1, -1}, {4, 0}, {3, 7}, {3, 0x7FFFFFFF}};
    const struct nuc_camera *camera = camera_of(cx, "{\"format\": \"yuyv\", \"width\": 8, \"height\": 6}");
    const struct nuc_camera_input input = {.width = 8, .height = 6};
    struct nuc_frame_input p = *nuc_camera_prepare(cx, camera, &input);
    int32_t words[8 * 3];

    (void)arg;
    for (size_t i = 0; i < 8; i++)
        memcpy(words + 3 * i, (int32_t[]){(int32_t)i, 1, 1 << NUC_FRAME_WEIGHT_BITS}, 3 * sizeof *words);
    p.columns = (struct nuc_frame_taps){words, 8, 3};
    assert_true(nuc_frame_input_fits(&p));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int32_t kept = words[rows[i].word];
        words[rows[i].word] = rows[i].value;
        assert_false(nuc_frame_input_fits(&p));
        words[rows[i].word] = kept;
    }
    p.width = 7;
    p.columns.count = 7;
    assert_false(nuc_frame_input_fits(&p)); /* half a pair */
    p.width = 8;
    p.columns.count = 0;
    assert_false(nuc_frame_input_fits(&p));
}

RUN_TESTS(LINE_TEST("cases/cameras.txt", check_image, NULL),
          LINE_TEST("cases/camera_refusals.txt", check_refusal, NULL), CONTEXT_TEST(values_are_normalised),
          CONTEXT_TEST(scales_as_image_files), CONTEXT_TEST(taps_are_checked))
