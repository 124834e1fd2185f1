/* Values of options: text as it is given, checked and written to the member of the option's row. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/call.h"
#include "host/nearest.h"
#include "host/text.h"
#include "options/options.h"

#define MOST (1u << 30)

/* What a value is set in, and where the message of one that is refused goes. */
struct place {
    const struct nuc_option_info *row;
    char *members;
    const char **words;
    size_t n_words;
    char *message;
};

static enum nuc_status refuse(const struct place *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static enum nuc_status refuse(const struct place *p, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(p->message, NUC_OPTION_MESSAGE, format, args);
    va_end(args);
    return NUC_BAD_USAGE;
}

/* Flags, numbers and choices are written as what the member is: bool, enum, unsigned or 64 bits. */
static enum nuc_status store(const struct place *p, uint64_t value)
{
    void *to = p->members + p->row->offset;
    size_t size = p->row->size;
    unsigned narrow = (unsigned)value;

    assert(size == sizeof(bool) || size == sizeof narrow || size == sizeof value);
    if (size == sizeof(bool))
        *(bool *)to = value != 0;
    else if (size == sizeof value)
        memcpy(to, &value, sizeof value);
    else
        memcpy(to, &narrow, sizeof narrow);
    return NUC_OK;
}

static enum nuc_status set_number(const struct place *p, const char *text)
{
    char *end;

    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    unsigned least = p->row->kind == NUC_OPTION_COUNT ? 1 : 0;
    bool digits = *text >= '0' && *text <= '9' && *end == '\0';
    if (!digits)
        return refuse(p, "--%s %s takes a number, in digits alone, not '%s'", p->row->name, p->row->value, text);
    if (errno != 0 || value > MOST || value < least)
        return refuse(p, "--%s takes a number from %u to %u, not '%s'", p->row->name, least, MOST, text);
    return store(p, value);
}

/* "k" as in km, "Ki" as in IEC 80000-13; of bytes "K" as linkers have it, and B may be said; 0: it is no unit. */
static uint64_t unit_of(const char *text, bool bytes)
{
    static const struct {
        const char *name;
        uint64_t value;
    } units[] = {{"", 1},           {"k", 1000},        {"M", 1000000},
                 {"G", 1000000000}, {"Ki", 1ull << 10}, {"Mi", 1ull << 20},
                 {"Gi", 1ull << 30}};
    size_t length = strlen(text);

    if (bytes && strcmp(text, "K") == 0)
        return 1 << 10;
    if (bytes && length > 0 && text[length - 1] == 'B')
        length--;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strlen(units[i].name) == length && strncmp(units[i].name, text, length) == 0)
            return units[i].value;
    }
    return 0;
}

/* "65536", "300k", "1.5Mi"; false: it is not of this form. UINT64_MAX when it is too large; whole ones are counted. */
static bool read_amount(const char *text, bool bytes, uint64_t *value)
{
    enum { DIGITS = 9 };
    uint64_t whole = 0, part = 0, scale = 1, product, unit;
    bool over = false;

    if (*text < '0' || *text > '9')
        return false;
    for (; *text >= '0' && *text <= '9'; text++)
        over |=
            __builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, (uint64_t)(*text - '0'), &whole);
    if (*text == '.') {
        const char *digits = ++text;
        for (; *text >= '0' && *text <= '9' && text - digits < DIGITS; text++) {
            part = part * 10 + (uint64_t)(*text - '0');
            scale *= 10;
        }
        if (text == digits)
            return false;
    }
    unit = unit_of(text, bytes);
    over |=
        __builtin_mul_overflow(whole, unit, &product) || __builtin_add_overflow(product, part * unit / scale, &product);
    *value = over ? UINT64_MAX : product;
    return unit > 1 || (unit == 1 && scale == 1);
}

static enum nuc_status set_amount(const struct place *p, const char *text)
{
    bool bytes = p->row->kind == NUC_OPTION_BYTES;
    uint64_t value, least = bytes ? 1 : 0, most = bytes ? MOST : UINT64_MAX - 1;

    if (!read_amount(text, bytes, &value))
        return refuse(p,
                      "--%s %s takes a number such as 65536, 300k or 64Ki, not '%s' (k is 1,000, Ki 1,024; also M, "
                      "Mi, G, Gi)",
                      p->row->name, p->row->value, text);
    if (value > most || value < least)
        return refuse(p, "--%s takes a number from %llu to %llu, not '%s'", p->row->name, (unsigned long long)least,
                      (unsigned long long)most, text);
    return store(p, value);
}

static const char *choice_at(const void *choices, size_t index)
{
    return ((const char *const *)choices)[index];
}

static enum nuc_status set_choice(const struct place *p, const char *text)
{
    const struct nuc_option_info *row = p->row;
    char known[256] = "";

    for (unsigned i = 0; row->choices[i] != NULL; i++) {
        if (strcmp(row->choices[i], text) == 0)
            return store(p, row->set == 0 ? i : row->set - i);
        size_t length = strlen(known);
        snprintf(known + length, sizeof known - length, "%s%s", i == 0 ? "" : ", ", row->choices[i]);
    }
    const char *nearest = nuc_nearest(text, choice_at, row->choices);
    return refuse(p, "--%s takes one of: %s; not '%s'%s%s%s", row->name, known, text,
                  nearest != NULL ? ", did you mean '" : "", nearest != NULL ? nearest : "",
                  nearest != NULL ? "'?" : "");
}

static enum nuc_status set_integer(const struct place *p, const char *text)
{
    char *end;

    errno = 0;
    int64_t value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0)
        return refuse(p, "--%s %s takes an integer, not '%s'", p->row->name, p->row->value, text);
    memcpy(p->members + p->row->offset, &value, sizeof value);
    return NUC_OK;
}

static enum nuc_status set_real(const struct place *p, const char *text)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !isfinite(value))
        return refuse(p, "--%s %s takes a finite number without a unit, not '%s'", p->row->name, p->row->value, text);
    if (p->row->kind == NUC_OPTION_SHARE && (value < 0 || value > 100))
        return refuse(p, "--%s takes percents from 0 to 100, not '%s'", p->row->name, text);
    memcpy(p->members + p->row->offset, &value, sizeof value);
    return NUC_OK;
}

static size_t *count_of(const struct place *p)
{
    return (void *)(p->members + p->row->count);
}

static enum nuc_status set_floats(const struct place *p, const char *text)
{
    float *values = (void *)(p->members + p->row->offset);
    size_t most = p->row->size / sizeof *values, *count = count_of(p);
    const char *rest = text;
    char *end;

    for (*count = 0;; rest = end + 1) {
        float value = strtof(rest, &end);
        if (end == rest || (*end != '\0' && *end != ',') || !isfinite(value))
            return refuse(p, "--%s %s takes finite numbers with commas between, without spaces, not '%s'", p->row->name,
                          p->row->value, text);
        if (*count == most)
            return refuse(p, "--%s takes at most %zu number%s, not '%s'", p->row->name, most, most == 1 ? "" : "s",
                          text);
        values[(*count)++] = value;
        if (*end == '\0')
            return NUC_OK;
    }
}

static enum nuc_status add_to_list(const struct place *p, char *text)
{
    size_t *count = count_of(p);

    memcpy(p->members + p->row->offset, &p->words, sizeof p->words);
    for (char *rest = text; rest != NULL;) {
        char *comma = strchr(rest, ',');
        if (comma != NULL)
            *comma = '\0';
        if (*rest == '\0')
            return refuse(p, "--%s has an empty entry", p->row->name);
        if (*count == p->n_words)
            return refuse(p, "--%s takes at most %zu entries", p->row->name, p->n_words);
        p->words[(*count)++] = rest;
        rest = comma == NULL ? NULL : comma + 1;
    }
    return NUC_OK;
}

static enum nuc_status set_string(const struct place *p, const char *text)
{
    const char *value = p->row->choices != NULL && strcmp(p->row->choices[0], text) == 0 ? NULL : text;

    if (*text == '\0' && p->row->kind == NUC_OPTION_STRING)
        return refuse(p, "--%s needs a value: %s", p->row->name, p->row->value);
    memcpy(p->members + p->row->offset, &value, sizeof value);
    return NUC_OK;
}

static enum nuc_status set_member(const struct place *p, char *text)
{
    switch (p->row->kind) {
    case NUC_OPTION_FLAG:
        return store(p, p->row->set);
    case NUC_OPTION_STRING:
    case NUC_OPTION_TEXT:
        return set_string(p, text);
    case NUC_OPTION_NUMBER:
    case NUC_OPTION_COUNT:
        return set_number(p, text);
    case NUC_OPTION_CYCLES:
    case NUC_OPTION_BYTES:
        return set_amount(p, text);
    case NUC_OPTION_CHOICE:
        return set_choice(p, text);
    case NUC_OPTION_INTEGER:
        return set_integer(p, text);
    case NUC_OPTION_REAL:
    case NUC_OPTION_SHARE:
        return set_real(p, text);
    case NUC_OPTION_FLOATS:
        return set_floats(p, text);
    case NUC_OPTION_LIST:
        return add_to_list(p, text);
    }
    return NUC_BAD_USAGE;
}

enum nuc_status nuc_option_parse(const struct nuc_option_info *row, char *text, const char **words, size_t n_words,
                                 void *members, char message[NUC_OPTION_MESSAGE])
{
    const struct place p = {row, members, words, n_words, message};
    void *outer = nuc_enter_locale();
    enum nuc_status status = set_member(&p, text);

    nuc_leave_locale(outer);
    return status;
}

/* ---- the options of a compilation ---- */

static void set_flag(struct nuc_context *cx, const struct nuc_option_info *row, const char *text, struct nuc_options *o)
{
    static const char *const yes[] = {"", "true", "on", "yes", "1", NULL}, *const no[] = {"false", "off", "no", "0",
                                                                                          NULL};

    if (text == NULL || nuc_is_one_of(text, yes, SIZE_MAX)) {
        store(&(struct place){.row = row, .members = (char *)o}, row->set);
    } else if (nuc_is_one_of(text, no, SIZE_MAX)) {
        /* What a flag that is off means: the flag "no-NAME", or the default. */
        struct nuc_options defaults;
        for (size_t i = 0; i < nuc_n_option_rows; i++) {
            const struct nuc_option_info *other = &nuc_option_rows[i];
            if (other->offset == row->offset && strncmp(other->name, "no-", 3) == 0 &&
                strcmp(other->name + 3, row->name) == 0) {
                store(&(struct place){.row = other, .members = (char *)o}, other->set);
                return;
            }
        }
        nuc_options_default(&defaults);
        memcpy((char *)o + row->offset, (const char *)&defaults + row->offset, row->size);
    } else {
        nuc_fail(cx, NUC_BAD_USAGE, "--%s takes true or false, not '%s'", row->name, text);
    }
}

void nuc_option_assign(struct nuc_context *cx, const struct nuc_option_info *row, const char *text,
                       struct nuc_options *o)
{
    char message[NUC_OPTION_MESSAGE], *kept;
    size_t n_words = 1;
    const char **words;

    if (row->kind == NUC_OPTION_FLAG) {
        set_flag(cx, row, text, o);
        return;
    }
    if (text == NULL)
        nuc_fail(cx, NUC_BAD_USAGE, "--%s needs a value: %s", row->name, row->value);
    if (row->kind == NUC_OPTION_LIST || row->kind == NUC_OPTION_FLOATS)
        memset((char *)o + row->count, 0, sizeof(size_t));
    if ((row->kind == NUC_OPTION_LIST || row->kind == NUC_OPTION_FLOATS) && *text == '\0')
        return;
    kept = nuc_strdup(cx, text);
    for (const char *at = text; *at != '\0'; at++)
        n_words += *at == ',';
    words = nuc_alloc_array(cx, n_words, sizeof *words);
    enum nuc_status status = nuc_option_parse(row, kept, words, n_words, o, message);
    if (status != NUC_OK)
        nuc_fail(cx, status, "%s", message);
}

const struct nuc_memory_size *nuc_memory_sizes(struct nuc_context *cx, const struct nuc_options *o)
{
    static const struct nuc_option_info row = {
        .name = "memory", .kind = NUC_OPTION_BYTES, .value = "NAME=SIZE", .size = sizeof(size_t)};
    struct nuc_memory_size *sizes = nuc_alloc_array(cx, o->n_memories + 1, sizeof *sizes);

    for (size_t i = 0; i < o->n_memories; i++) {
        const char *text = o->memories[i], *equals = strchr(text, '=');
        size_t length = equals == NULL ? 0 : (size_t)(equals - text), bytes = 0;
        char message[NUC_OPTION_MESSAGE];
        bool good = length > 0 && length <= NUC_MEMORY_NAME && !(text[0] >= '0' && text[0] <= '9');
        for (size_t j = 0; j < length && good; j++) {
            char c = text[j];
            good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        }
        if (!good)
            nuc_fail(cx, NUC_BAD_USAGE,
                     "--memory takes NAME=SIZE, where NAME is a memory of the target: letters, digits and _, at most "
                     "%d, not '%.80s'",
                     NUC_MEMORY_NAME, text);
        if (nuc_option_parse(&row, nuc_strdup(cx, equals + 1), NULL, 0, &bytes, message) != NUC_OK)
            nuc_fail(cx, NUC_BAD_USAGE, "%s", message);
        sizes[i] = (struct nuc_memory_size){nuc_format(cx, "%.*s", (int)length, text), bytes};
        for (size_t k = 0; k < i; k++) {
            if (strcmp(sizes[k].name, sizes[i].name) == 0)
                nuc_fail(cx, NUC_BAD_USAGE, "--memory gives %s twice: give one size", sizes[i].name);
        }
    }
    return sizes;
}
