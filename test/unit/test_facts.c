/* What a program says about its data: written, read back, damaged, and left alone by the runtime. */
#include <math.h>

#include "archive/program_view.h"
#include "data/metadata.h"
#include "device/base/program_sum.h"
#include "host/hash.h"
#include "nucleon/runtime.h"
#include "program_graphs.h"
#include "text_cases.h"

static const struct nuc_metadata *sample(struct nuc_context *cx)
{
    static const char *const classes[] = {"cat", "two\nlines", "\xff", "M\xc3\xbcll"};
    struct nuc_metadata *f = nuc_metadata_new(cx, 2, 1);

    f->inputs[0] = (struct nuc_input_metadata){"images", (double)-2.1179039f, (double)2.64f};
    f->inputs[1].name = "mask";
    f->outputs[0] = (struct nuc_output_metadata){"scores", "scores", 4, classes};
    f->n_images = 1;
    f->images = nuc_alloc(cx, sizeof *f->images);
    f->n_target = 1;
    f->target = nuc_alloc(cx, sizeof *f->target);
    *f->target = (struct nuc_target_metadata){"cortex-m55", "Cortex-M55"};
    *f->images = (struct nuc_image_metadata){1, 1, {(double)0.485f}, {(double)0.229f}, 2};
    return f;
}

static bool same_float(double a, double b)
{
    return memcmp(&(float){(float)a}, &(float){(float)b}, sizeof(float)) == 0;
}

static void round_trip(struct nuc_context *cx, void *arg)
{
    const char *why;
    struct nuc_span text = nuc_metadata_write(cx, sample(cx)), again;
    const struct nuc_metadata *f = nuc_metadata_read(cx, text, &why);

    assert_non_null(f);
    assert_int_equal(f->n_inputs, 2);
    assert_string_equal(f->inputs[0].name, "images");
    assert_true(same_float(f->inputs[0].least, -2.1179039) && same_float(f->inputs[0].most, 2.64));
    assert_string_equal(f->inputs[1].name, "mask");
    assert_true(isnan(f->inputs[1].least) && isnan(f->inputs[1].most));
    assert_int_equal(f->n_outputs, 1);
    assert_string_equal(f->outputs[0].key, "scores");
    assert_int_equal(f->outputs[0].n_classes, 4);
    assert_string_equal(f->outputs[0].classes[0], "cat");
    assert_string_equal(f->outputs[0].classes[1], "two\\x0alines"); /* terminals never see what a folder is called */
    assert_string_equal(f->outputs[0].classes[2], "\\xff");
    assert_string_equal(f->outputs[0].classes[3], "M\xc3\xbcll");
    assert_int_equal(f->images->n_mean, 1);
    assert_true(same_float(f->images->mean[0], 0.485) && same_float(f->images->std[0], 0.229));
    assert_int_equal(f->images->resize, 2);
    assert_int_equal(f->n_target, 1);
    assert_string_equal(f->target->name, "cortex-m55");
    assert_string_equal(f->target->cpu, "Cortex-M55");
    again = nuc_metadata_write(cx, f);
    assert_int_equal(again.size, text.size);
    assert_memory_equal(again.data, text.data, text.size);
}

static void check_text(struct nuc_context *cx, struct text_line *line)
{
    const char *why = NULL;
    struct nuc_span text = {(const uint8_t *)line->left, strlen(line->left)};
    const struct nuc_metadata *f = nuc_metadata_read(cx, text, &why);

    assert_int_equal(f == NULL, line->refused);
    if (line->refused && strstr(why, line->right) == NULL)
        fail_msg("%s: %s", line->left, why);
}

/* `item` many times between two texts. */
static struct nuc_span repeated(struct nuc_context *cx, const char *before, const char *item, size_t count,
                                const char *after)
{
    size_t length = strlen(item), at = strlen(before), size = at + count * length + strlen(after);
    char *text = nuc_alloc(cx, size + 1);

    memcpy(text, before, at);
    for (size_t i = 0; i < count; i++, at += length)
        memcpy(text + at, item, length);
    memcpy(text + at, after, strlen(after));
    return (struct nuc_span){(const uint8_t *)text, size};
}

static void too_much(struct nuc_context *cx, void *arg)
{
    const char *why;

    assert_null(nuc_metadata_read(cx, repeated(cx, "", "[", 500000, ""), &why));
    assert_null(nuc_metadata_read(cx, repeated(cx, "{\"schema\":1,\"x\":", "[", 5000, "1"), &why));
    assert_null(nuc_metadata_read(cx, repeated(cx, "{\"schema\":1,\"inputs\":[{}", ",{}", 5000, "]}"), &why));
    assert_non_null(strstr(why, "at most 4096"));
    assert_null(nuc_metadata_read(
        cx, repeated(cx, "{\"schema\":1,\"outputs\":[{\"classes\":[\"c\"", ",\"cc\"", 1000000, "]}]}"), &why));
    assert_non_null(strstr(why, "at most 1048576"));
    assert_null(
        nuc_metadata_read(cx, repeated(cx, "{\"schema\":1,\"inputs\":[{\"name\":\"", "n", 1025, "\"}]}"), &why));
    assert_non_null(strstr(why, "1025 bytes"));
    assert_non_null(
        nuc_metadata_read(cx, repeated(cx, "{\"schema\":1,\"inputs\":[{\"name\":\"", "n", 1024, "\"}]}"), &why));
}

/* ---- in a program ---- */

static struct nuc_span program(struct nuc_context *cx, enum nuc_segment_mode mode, struct nuc_span facts)
{
    const struct nuc_named_data named[] = {{"other", {(const uint8_t *)"abc", 3}}, {NUC_METADATA_KEY, facts}};
    struct nuc_program_options o = {.named = named, .n_named = 2, .delegate_data = mode};

    return nuc_write_program(test_graph(cx, true), &o);
}

static void found(struct nuc_context *cx, void *arg)
{
    struct nuc_span facts = nuc_metadata_write(cx, sample(cx));

    for (int mode = 0; mode < 2; mode++) {
        struct nuc_span file = program(cx, (enum nuc_segment_mode)mode, facts);
        const struct nuc_program_view *view = nuc_program_view_open(cx, "test.pte", file);
        const void *data;
        size_t size;
        assert_int_equal(nuc_program_named_data(file.data, file.size, "other", &data, &size, NULL), NUC_OK);
        assert_int_equal(size, 3);
        assert_memory_equal(data, "abc", 3);
        assert_int_equal(nuc_program_named_data(file.data, file.size, NUC_METADATA_KEY, &data, &size, NULL), NUC_OK);
        assert_int_equal(size, facts.size);
        assert_memory_equal(data, facts.data, size);
        assert_int_equal(nuc_program_named_data(file.data, file.size, "nucleo", &data, &size, NULL), NUC_BAD_INPUT);
        assert_null(data);
        assert_int_equal(view->n_named, 2);
        assert_true(nuc_view_is(view->named[1].key, NUC_METADATA_KEY));
        assert_int_equal(view->named[1].data.size, facts.size);
    }
}

/* CRC-32 as zip has it: the value of "123456789" that its specifications give, whole and in two pieces. */
static void crc(struct nuc_context *cx, void *arg)
{
    static const uint8_t digits[] = "123456789";

    (void)cx;
    (void)arg;
    assert_int_equal(nuc_crc32(0, digits, 9), 0xcbf43926);
    assert_int_equal(nuc_crc32(nuc_crc32(0, digits, 4), digits + 4, 5), 0xcbf43926);
    assert_int_equal(nuc_crc32_of(0, digits, 9), 0xcbf43926);
}

static void count_note(void *user, const char *message)
{
    (void)message;
    ++*(int *)user;
}

static void read_view(struct nuc_context *cx, void *arg)
{
    nuc_program_view_open(cx, "test.pte", *(struct nuc_span *)arg);
}

/* A program with a checksum: every flipped bit is found, on the host and by the runtime, and none without a flip. */
static void checksum(struct nuc_context *cx, void *arg)
{
    static const char text[] = NUC_PROGRAM_SUM NUC_PROGRAM_SUM_DIGITS "\",\"schema\":1,\"inputs\":[],\"outputs\":[]}";
    struct nuc_span file = program(cx, NUC_DELEGATE_SEGMENT, (struct nuc_span){(const uint8_t *)text, sizeof text - 1});
    uint8_t *copy = nuc_copy(cx, file.data, file.size);
    struct nuc_span changed = {copy, file.size};
    int notes = 0;

    cx->warn = count_note;
    cx->warn_user = &notes;
    assert_int_equal(nuc_program_verify(copy, file.size, NULL), NUC_OK);
    assert_int_equal(nuc_try(cx, read_view, &changed), NUC_OK);
    assert_int_equal(notes, 0);
    for (size_t i = 0; i < 8 * file.size; i++) {
        copy[i / 8] ^= (uint8_t)(1u << i % 8);
        assert_int_not_equal(nuc_program_verify(copy, file.size, NULL), NUC_OK);
        notes = 0;
        assert_true(nuc_try(cx, read_view, &changed) != NUC_OK || notes > 0);
        copy[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    file = program(cx, NUC_DELEGATE_SEGMENT, nuc_metadata_write(cx, sample(cx)));
    assert_int_equal(nuc_program_verify(file.data, file.size, NULL), NUC_UNSUPPORTED);
    (void)arg;
}

RUN_TESTS(CONTEXT_TEST(round_trip), LINE_TEST("cases/metadata.txt", check_text, NULL), CONTEXT_TEST(too_much),
          CONTEXT_TEST(found), CONTEXT_TEST(crc), CONTEXT_TEST(checksum))
