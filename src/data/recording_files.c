/* .wav and .csv files, and label tracks. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "data/recordings.h"
#include "device/base/span.h"
#include "host/text.h"

/* ---- .wav ---- */

enum { PCM = 1, FLOATS = 3, EXTENSIBLE = 0xFFFE };

struct wav {
    uint32_t tag, channels, rate, bits;
    struct nuc_span data;
    bool has_format, has_data;
};

static void read_format(struct nuc_context *cx, const char *where, struct nuc_span chunk, struct wav *w)
{
    if (chunk.size < 16)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: the chunk 'fmt ' has %zu bytes, 16 are the least: leave the file out", where,
                 chunk.size);
    w->tag = nuc_load_u16(chunk.data);
    w->channels = nuc_load_u16(chunk.data + 2);
    w->rate = nuc_load_u32(chunk.data + 4);
    w->bits = nuc_load_u16(chunk.data + 14);
    if (w->tag == EXTENSIBLE && chunk.size >= 26)
        w->tag = nuc_load_u16(chunk.data + 24);
    w->has_format = true;
    bool known = w->tag == PCM ? w->bits == 8 || w->bits == 16 || w->bits == 24 || w->bits == 32
                               : w->tag == FLOATS && (w->bits == 32 || w->bits == 64);
    if (!known)
        nuc_fail(
            cx, NUC_UNSUPPORTED,
            "%s: samples are of format %u with %u bits: PCM of 8, 16, 24 or 32 bits and floats are read, convert it "
            "with: ffmpeg -i IN.wav -c:a pcm_s16le OUT.wav",
            where, (unsigned)w->tag, (unsigned)w->bits);
    if (w->channels == 1 && nuc_load_u16(chunk.data + 12) != w->bits / 8)
        nuc_fail(cx, NUC_UNSUPPORTED,
                 "%s: samples of %u bits are said to take %u bytes each: write the file again with: ffmpeg -i IN.wav "
                 "-c:a pcm_s16le OUT.wav",
                 where, (unsigned)w->bits, (unsigned)nuc_load_u16(chunk.data + 12));
    if (w->channels != 1)
        nuc_fail(cx, NUC_UNSUPPORTED,
                 "%s: has %u channels, one is taken: mix them with: ffmpeg -i IN.wav -ac 1 OUT.wav", where,
                 (unsigned)w->channels);
}

/* A chunk at the end may say more than there is: recorders that are switched off leave such files. */
static void read_chunks(struct nuc_context *cx, const char *where, struct nuc_span file, struct wav *w)
{
    size_t at = 12;

    while (file.size - at >= 8) {
        const uint8_t *head = file.data + at;
        const size_t left = file.size - at - 8, said = nuc_load_u32(head + 4), size = said < left ? said : left;
        const struct nuc_span chunk = {head + 8, size};
        if (memcmp(head, "fmt ", 4) == 0)
            read_format(cx, where, chunk, w);
        else if (memcmp(head, "data", 4) == 0 && !w->has_data)
            w->data = chunk;
        w->has_data |= memcmp(head, "data", 4) == 0;
        if (size + (size & 1) > left)
            break;
        at += 8 + size + (size & 1);
    }
}

static int16_t in_16_bits(double v)
{
    v = floor(v * 32768 + 0.5);
    return v >= INT16_MAX ? INT16_MAX : v > INT16_MIN ? (int16_t)v : (int16_t)INT16_MIN;
}

static double real_of(const struct wav *w, const uint8_t *at)
{
    const uint64_t wide = w->bits == 64 ? nuc_load_u64(at) : 0;
    const uint32_t narrow = nuc_load_u32(at);
    double d;
    float f;

    memcpy(&d, &wide, sizeof d);
    memcpy(&f, &narrow, sizeof f);
    return w->bits == 64 ? d : (double)f;
}

static int16_t sample_of(const struct wav *w, const uint8_t *at)
{
    switch (w->bits) {
    case 8:
        return (int16_t)((at[0] - 128) * 256);
    case 16:
        return (int16_t)nuc_load_u16(at);
    case 24:
        return (int16_t)nuc_load_u16(at + 1);
    default:
        return (int16_t)nuc_load_u16(at + 2);
    }
}

struct nuc_recording nuc_read_wav(struct nuc_context *cx, const char *where, struct nuc_span file)
{
    struct wav w = {0};

    if (file.size < 12 || memcmp(file.data, "RIFF", 4) != 0 || memcmp(file.data + 8, "WAVE", 4) != 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: is no .wav file, which begins with RIFF and WAVE: convert it, or leave it out",
                 where);
    read_chunks(cx, where, file, &w);
    if (!w.has_format || !w.has_data)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: has no chunk '%s': leave the file out", where, w.has_format ? "data" : "fmt ");
    const size_t bytes = w.bits / 8, count = w.data.size / bytes;
    if (count == 0 || w.rate == 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: holds no %s: leave the file out", where, count == 0 ? "sample" : "rate");
    int16_t *sound = nuc_alloc_array(cx, count, sizeof *sound);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *at = w.data.data + i * bytes;
        if (w.tag == FLOATS && !isfinite(real_of(&w, at)))
            nuc_fail(cx, NUC_BAD_INPUT, "%s: sample %zu is not a finite number: leave the file out", where, i);
        sound[i] = w.tag == FLOATS ? in_16_bits(real_of(&w, at)) : sample_of(&w, at);
    }
    return (struct nuc_recording){.path = where, .length = count, .axes = 1, .rate = w.rate, .sound = sound};
}

/* ---- .csv ---- */

struct csv {
    const char *at, *end;
    size_t line;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Digits, whatever a locale says of them; beyond 18 of them only their place counts. */
static bool read_digits(struct csv *c, double *value, int *places)
{
    const char *begin = c->at;

    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        *value = *value * 10 + (*c->at - '0');
        (*places)++;
    }
    return c->at > begin;
}

static bool read_number(struct csv *c, double *out)
{
    double value = 0, exponent = 0;
    int places = 0, behind = 0;

    while (c->at < c->end && is_blank(*c->at))
        c->at++;
    const bool negative = c->at < c->end && *c->at == '-';
    c->at += c->at < c->end && (*c->at == '-' || *c->at == '+');
    bool any = read_digits(c, &value, &places);
    if (c->at < c->end && *c->at == '.') {
        c->at++;
        any |= read_digits(c, &value, &behind);
    }
    if (any && c->at < c->end && (*c->at == 'e' || *c->at == 'E')) {
        c->at++;
        const bool down = c->at < c->end && *c->at == '-';
        c->at += c->at < c->end && (*c->at == '-' || *c->at == '+');
        any = read_digits(c, &exponent, &places) && exponent < 400;
        exponent = down ? -exponent : exponent;
    }
    *out = (negative ? -value : value) * pow(10, exponent - behind);
    return any && isfinite(*out) && fabs(*out) < 1e38;
}

/* What floats that are not finite are written as; a name of an axis may begin with it. */
static bool is_no_number(const struct csv *c)
{
    const char *begin = c->at;

    while (begin < c->end && (is_blank(*begin) || *begin == '-' || *begin == '+' || *begin == '"'))
        begin++;
    const size_t left = (size_t)(c->end - begin);
    const bool is_one = left >= 3 && (strncasecmp(begin, "nan", 3) == 0 || strncasecmp(begin, "inf", 3) == 0);
    return is_one && (left == 3 || strchr(",; \t\r\n", begin[3]) != NULL);
}

/* The numbers of a line, from values[count] on; 0: in this column, from 1 on, there is something else. */
static size_t read_line(struct csv *c, struct nuc_context *cx, float **values, size_t *capacity, size_t count,
                        size_t *column)
{
    size_t n = 0;

    for (;;) {
        double number;
        *column = n + 1;
        if (!read_number(c, &number))
            return 0;
        *values = nuc_grow(cx, *values, capacity, count + n + 1, sizeof **values);
        (*values)[count + n++] = (float)number;
        const char *behind = c->at;
        while (c->at < c->end && is_blank(*c->at))
            c->at++;
        if (c->at == c->end || *c->at == '\n')
            return n;
        const bool separated = *c->at == ',' || *c->at == ';';
        if (!separated && c->at == behind) /* a date, for example */
            return 0;
        c->at += separated;
    }
}

static void skip_line(struct csv *c)
{
    while (c->at < c->end && *c->at != '\n')
        c->at++;
    c->at += c->at < c->end;
    c->line++;
}

static bool is_empty(const struct csv *c)
{
    const char *at = c->at;

    while (at < c->end && is_blank(*at))
        at++;
    return at == c->end || *at == '\n';
}

struct nuc_recording nuc_read_csv(struct nuc_context *cx, const char *where, struct nuc_span file)
{
    struct csv c = {(const char *)file.data, (const char *)file.data + file.size, 1};
    struct nuc_recording r = {.path = where};
    float *values = NULL;
    size_t capacity = 0, column;

    if (file.size >= 3 && memcmp(file.data, "\xEF\xBB\xBF", 3) == 0) /* the mark that editors put in front of UTF-8 */
        c.at += 3;

    for (; c.at < c.end; skip_line(&c)) {
        if (is_empty(&c))
            continue;
        const bool has_names = c.line == 1 && !is_no_number(&c);
        const size_t n = read_line(&c, cx, &values, &capacity, r.length * r.axes, &column);
        if (n == 0 && column == 1 && has_names)
            continue;
        if (n == 0)
            nuc_fail(cx, NUC_BAD_INPUT,
                     "%s: line %zu: column %zu is no finite number: a line is numbers separated by commas, leave out "
                     "what is none",
                     where, c.line, column);
        if (r.length > 0 && n != r.axes)
            nuc_fail(cx, NUC_BAD_INPUT, "%s: line %zu has %zu numbers, those before it %zu: leave the line out", where,
                     c.line, n, r.axes);
        r.axes = n;
        r.length++;
    }
    if (r.length == 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: holds no numbers: leave the file out", where);
    r.values = values;
    return r;
}

/* ---- label tracks ---- */

size_t nuc_read_label_track(struct nuc_context *cx, const char *where, struct nuc_span file, struct nuc_label **labels)
{
    struct csv c = {(const char *)file.data, (const char *)file.data + file.size, 1};
    size_t count = 0, capacity = 0;

    for (*labels = NULL; c.at < c.end; skip_line(&c)) {
        struct nuc_label l;
        if (is_empty(&c) || *c.at == '\\') /* a label's frequencies, which Audacity writes on a line of their own */
            continue;
        if (!read_number(&c, &l.begin) || !read_number(&c, &l.end) || l.begin < 0 || l.end < l.begin)
            nuc_fail(cx, NUC_BAD_INPUT,
                     "%s: line %zu: is no label: give begin and end in seconds and a name, separated by tabs", where,
                     c.line);
        while (c.at < c.end && is_blank(*c.at))
            c.at++;
        const char *begin = c.at, *end = begin;
        for (; c.at < c.end && *c.at != '\n'; c.at++)
            end = is_blank(*c.at) ? end : c.at + 1;
        l.name = nuc_format(cx, "%.*s", (int)(end - begin < 200 ? end - begin : 200), begin);
        l.line = c.line;
        *labels = nuc_grow(cx, *labels, &capacity, count + 1, sizeof **labels);
        (*labels)[count++] = l;
    }
    return count;
}
