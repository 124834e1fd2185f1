/* Files of sound and of axes: their numbers, and what is refused. */
#include "contexts.h"

#include <string.h>

#include "data/recordings.h"

struct file {
    uint8_t bytes[512];
    size_t size;
};

static void put(struct file *f, const void *bytes, size_t size)
{
    memcpy(f->bytes + f->size, bytes, size);
    f->size += size;
}

static void put_32(struct file *f, uint32_t v)
{
    put(f, (const uint8_t[]){(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)}, 4);
}

static struct file wav(uint16_t tag, uint16_t channels, uint32_t rate, uint16_t bits, const void *data, size_t size)
{
    struct file f = {.size = 0};

    put(&f, "RIFF\0\0\0\0WAVELIST\1\0\0\0x\0fmt ", 26);
    put_32(&f, 16);
    put_32(&f, tag | (uint32_t)channels << 16);
    put_32(&f, rate);
    put_32(&f, rate * channels * bits / 8);
    put_32(&f, (uint32_t)(channels * bits / 8) | (uint32_t)bits << 16);
    put(&f, "data", 4);
    put_32(&f, (uint32_t)size);
    put(&f, data, size);
    return f;
}

static void reads_formats(struct nuc_context *cx, void *arg)
{
    static const struct {
        uint16_t tag, bits;
        uint8_t data[16];
    } rows[] = {
        {1, 8, {0xC0, 0}},                             /* 64 of 128 */
        {1, 16, {0x00, 0x40, 0x00, 0x80}},             /* little-endian */
        {1, 24, {0xFF, 0x00, 0x40, 0xFF, 0x00, 0x80}}, /* the upper 16 bits */
        {1, 32, {0xFF, 0xFF, 0x00, 0x40, 0xFF, 0xFF, 0x00, 0x80}},
        {3, 32, {0x00, 0x00, 0x00, 0x3F, 0x00, 0x00, 0x80, 0xBF}}, /* 0.5, -1 */
        {3, 64, {0, 0, 0, 0, 0, 0, 0xE0, 0x3F, 0, 0, 0, 0, 0, 0, 0xF0, 0xBF}},
    };
    (void)arg;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct file f = wav(rows[i].tag, 1, 16000, rows[i].bits, rows[i].data, rows[i].bits / 4u);
        const struct nuc_recording r = nuc_read_wav(cx, "x.wav", (struct nuc_span){f.bytes, f.size});
        assert_int_equal(r.length, 2);
        assert_int_equal(r.rate, 16000);
        assert_int_equal(r.sound[0], 16384);
        assert_int_equal(r.sound[1], -32768);
    }
}

static void read_wav(struct nuc_context *cx, void *arg)
{
    const struct file *f = arg;

    nuc_read_wav(cx, "x.wav", (struct nuc_span){f->bytes, f->size});
}

static void read_csv(struct nuc_context *cx, void *arg)
{
    nuc_read_csv(cx, "x.csv", (struct nuc_span){arg, strlen(arg)});
}

static void refused(struct nuc_context *cx, void (*read)(struct nuc_context *cx, void *arg), void *arg,
                    const char *part)
{
    assert_int_not_equal(nuc_try(cx, read, arg), NUC_OK);
    if (strstr(cx->message, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, cx->message);
}

static void refuses_wrong_sound(struct nuc_context *cx, void *arg)
{
    static const struct {
        uint16_t tag, channels;
        uint32_t rate;
        uint16_t bits;
        size_t size;
        const char *part;
    } rows[] = {
        {1, 2, 16000, 16, 8, "has 2 channels, one is taken"},
        {2, 1, 16000, 16, 8, "of format 2 with 16 bits"},
        {1, 1, 16000, 12, 8, "of format 1 with 12 bits"},
        {3, 1, 16000, 16, 8, "of format 3 with 16 bits"},
        {1, 1, 16000, 16, 1, "holds no sample"},
        {1, 1, 0, 16, 8, "holds no rate"},
        {3, 1, 16000, 32, 8, "sample 1 is not a finite number"},
    };
    (void)arg;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct file f =
            wav(rows[i].tag, rows[i].channels, rows[i].rate, rows[i].bits, "123\x31\0\0\x80\x7F", rows[i].size);
        refused(cx, read_wav, &f, rows[i].part);
    }
    struct file whole = wav(1, 1, 16000, 16, "12345678", 8);
    for (unsigned block = 0; block < 5; block++) { /* bytes of a sample */
        struct file lying = whole;
        lying.bytes[42] = (uint8_t)block;
        if (block != 2)
            refused(cx, read_wav, &lying, "samples of 16 bits are said to take");
    }
    for (size_t size = 0; size < whole.size - 7; size++) {
        struct file part = whole;
        part.size = size;
        assert_int_not_equal(nuc_try(cx, read_wav, &part), NUC_OK);
    }
    whole.size -= 2; /* of a recorder that was switched off */
    assert_int_equal(nuc_read_wav(cx, "x.wav", (struct nuc_span){whole.bytes, whole.size}).length, 3);
}

static void reads_tables(struct nuc_context *cx, void *arg)
{
    static const struct {
        const char *text;
        size_t rows, columns;
        float last;
    } rows[] = {
        {"x,y\n1,2\n3,-4.5\n", 2, 2, -4.5F},
        {"1;2;3\r\n\r\n4;5;+6e2", 2, 3, 600},
        {"7", 1, 1, 7},
        {"1 2\n3\t4\n", 2, 2, 4},
        {"time, v \n0.25 , 125E-3\n", 1, 2, 0.125F},
        {".5", 1, 1, 0.5F},
        {"\xEF\xBB\xBF"
         "1,2\n3,4\n",
         2, 2, 4},
        {"\xEF\xBB\xBFx,y\n3,4\n", 1, 2, 4},
    };
    (void)arg;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct nuc_recording r =
            nuc_read_csv(cx, "x.csv", (struct nuc_span){(const uint8_t *)rows[i].text, strlen(rows[i].text)});
        assert_int_equal(r.length, rows[i].rows);
        assert_int_equal(r.axes, rows[i].columns);
        assert_true(r.values[r.length * r.axes - 1] == rows[i].last);
    }
    refused(cx, read_csv, (char[]){""}, "holds no numbers");
    refused(cx, read_csv, (char[]){"a,b\n"}, "holds no numbers");
    refused(cx, read_csv, (char[]){"1,2\n3\n"}, "line 2 has 1 numbers, those before it 2");
    refused(cx, read_csv, (char[]){"1,2\n3,x\n"}, "line 2: column 2 is no finite number");
    refused(cx, read_csv, (char[]){"1,2\n3,1e999\n"}, "line 2: column 2 is no finite number");
    refused(cx, read_csv, (char[]){"1,2\n3,\n"}, "line 2: column 2 is no finite number");
    refused(cx, read_csv, (char[]){"1,,3\n1,2,3\n"}, "line 1: column 2 is no finite number");
    refused(cx, read_csv, (char[]){"x,y\nx,y\n"}, "line 2: column 1 is no finite number");
    refused(cx, read_csv, (char[]){"2026-01-02,1\n"}, "holds no numbers");
    refused(cx, read_csv, (char[]){"time,x\n2026-01-02,1\n"}, "line 2: column 1 is no finite number");
    refused(cx, read_csv, (char[]){"nan,1\n2,3\n"}, "line 1: column 1 is no finite number");
    refused(cx, read_csv, (char[]){" -Inf\n2\n"}, "line 1: column 1 is no finite number");
}

static void read_track(struct nuc_context *cx, void *arg)
{
    struct nuc_label *labels;

    nuc_read_label_track(cx, "x.txt", (struct nuc_span){arg, strlen(arg)}, &labels);
}

static void reads_label_tracks(struct nuc_context *cx, void *arg)
{
    static const char text[] = "0.5\t1.25\tlights\r\n\n\\\t100.0\t200.0\n2 2  two words \n3\t4";
    struct nuc_label *l;
    (void)arg;

    assert_int_equal(nuc_read_label_track(cx, "x.txt", (struct nuc_span){(const uint8_t *)text, strlen(text)}, &l), 3);
    assert_true(l[0].begin == 0.5 && l[0].end == 1.25 && l[1].begin == 2 && l[2].end == 4);
    assert_string_equal(l[0].name, "lights");
    assert_string_equal(l[1].name, "two words");
    assert_string_equal(l[2].name, "");
    assert_int_equal(l[1].line, 4);
    assert_int_equal(nuc_read_label_track(cx, "x.txt", (struct nuc_span){(const uint8_t *)text, 0}, &l), 0);
    refused(cx, read_track, (char[]){"1\t2\tx\nstop\n"}, "line 2: is no label: give begin and end in seconds");
    refused(cx, read_track, (char[]){"2\t1\tx\n"}, "line 1: is no label");
    refused(cx, read_track, (char[]){"-1\t1\tx\n"}, "line 1: is no label");
    refused(cx, read_track, (char[]){"1\n"}, "line 1: is no label");
}

RUN_TESTS(CONTEXT_TEST(reads_formats), CONTEXT_TEST(refuses_wrong_sound), CONTEXT_TEST(reads_tables),
          CONTEXT_TEST(reads_label_tracks))
