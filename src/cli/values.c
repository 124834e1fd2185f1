/* Values of options: text as it is given, checked and written where the option's row says. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"

void *cli_member(const struct cli_args *args, size_t offset)
{
    return (char *)(uintptr_t)args + offset;
}

#define MOST (1u << 30)

/* Flags, numbers and choices are written as what the member is: bool, enum, unsigned or 64 bits. */
static void store(struct cli_args *args, const struct cli_option *o, uint64_t value)
{
    void *to = cli_member(args, o->offset);
    unsigned narrow = (unsigned)value;

    assert(o->size == sizeof(bool) || o->size == sizeof narrow || o->size == sizeof value);
    if (o->size == sizeof(bool))
        *(bool *)to = value != 0;
    else if (o->size == sizeof value)
        memcpy(to, &value, sizeof value);
    else
        memcpy(to, &narrow, sizeof narrow);
}

static int set_number(struct cli_args *args, const struct cli_option *o, const char *text)
{
    char *end;

    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    unsigned least = o->kind == CLI_COUNT ? 1 : 0;
    bool digits = *text >= '0' && *text <= '9' && *end == '\0';
    if (!digits)
        return cli_usage("%s %s takes a number, in digits alone, not '%s'", o->name, o->argument, text);
    if (errno != 0 || value > MOST || value < least)
        return cli_usage("%s takes a number from %u to %u, not '%s'", o->name, least, MOST, text);
    store(args, o, value);
    return CLI_OK;
}

/* "k" as in km, "Ki" as in IEC 80000-13; 0: it is no unit. Bytes may be said. */
static uint64_t unit_of(const char *text, bool bytes)
{
    static const struct {
        const char *name;
        uint64_t value;
    } units[] = {{"", 1},           {"k", 1000},        {"M", 1000000},
                 {"G", 1000000000}, {"Ki", 1ull << 10}, {"Mi", 1ull << 20},
                 {"Gi", 1ull << 30}};
    size_t length = strlen(text);

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

static int set_amount(struct cli_args *args, const struct cli_option *o, const char *text)
{
    bool bytes = o->kind == CLI_BYTES;
    uint64_t value, least = bytes ? 1 : 0, most = bytes ? MOST : UINT64_MAX - 1;

    if (!read_amount(text, bytes, &value))
        return cli_usage("%s %s takes a number such as 65536, 300k or 64Ki, not '%s' (k is 1,000, Ki 1,024; also M, "
                         "Mi, G, Gi)",
                         o->name, o->argument, text);
    if (value > most || value < least)
        return cli_usage("%s takes a number from %llu to %llu, not '%s'", o->name, (unsigned long long)least,
                         (unsigned long long)most, text);
    store(args, o, value);
    return CLI_OK;
}

static size_t n_choices(const struct cli_option *o)
{
    size_t count = 0;

    while (o->choices[count] != NULL)
        count++;
    return count;
}

static int set_choice(struct cli_args *args, const struct cli_option *o, const char *text)
{
    char known[256] = "";

    for (unsigned i = 0; o->choices[i] != NULL; i++) {
        if (strcmp(o->choices[i], text) == 0) {
            store(args, o, o->value == 0 ? i : o->value - i);
            return CLI_OK;
        }
        size_t length = strlen(known);
        snprintf(known + length, sizeof known - length, "%s%s", i == 0 ? "" : ", ", o->choices[i]);
    }
    const char *nearest = nuc_nearest_word(text, o->choices, n_choices(o));
    return cli_usage("%s takes one of: %s; not '%s'%s%s%s", o->name, known, text,
                     nearest != NULL ? ", did you mean '" : "", nearest != NULL ? nearest : "",
                     nearest != NULL ? "'?" : "");
}

static int set_integer(struct cli_args *args, const struct cli_option *o, const char *text)
{
    char *end;

    errno = 0;
    int64_t value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0)
        return cli_usage("%s %s takes an integer, not '%s'", o->name, o->argument, text);
    *(int64_t *)cli_member(args, o->offset) = value;
    return CLI_OK;
}

static int set_real(struct cli_args *args, const struct cli_option *o, const char *text)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !isfinite(value))
        return cli_usage("%s %s takes a finite number without a unit, not '%s'", o->name, o->argument, text);
    if (o->kind == CLI_SHARE && (value < 0 || value > 100))
        return cli_usage("%s takes percents from 0 to 100, not '%s'", o->name, text);
    *(double *)cli_member(args, o->offset) = value;
    return CLI_OK;
}

static int set_floats(struct cli_args *args, const struct cli_option *o, const char *text)
{
    float *values = cli_member(args, o->offset);
    size_t most = o->size / sizeof *values, *count = cli_member(args, o->count);
    const char *rest = text;
    char *end;

    for (*count = 0;; rest = end + 1) {
        float value = strtof(rest, &end);
        if (end == rest || (*end != '\0' && *end != ',') || !isfinite(value))
            return cli_usage("%s %s takes finite numbers with commas between, without spaces, not '%s'", o->name,
                             o->argument, text);
        if (*count == most)
            return cli_usage("%s takes at most %zu number%s, not '%s'", o->name, most, most == 1 ? "" : "s", text);
        values[(*count)++] = value;
        if (*end == '\0')
            return CLI_OK;
    }
}

/* Cuts the argument at its commas; the parts stay where they are, in argv. */
static int add_to_list(struct cli_args *args, const struct cli_option *o, char *text)
{
    const char *const **list = cli_member(args, o->offset);
    size_t *count = cli_member(args, o->count);

    assert(*list != NULL || args->n_lists < CLI_LISTS);
    if (*list == NULL)
        *list = args->lists[args->n_lists++];
    const char **items = (const char **)(uintptr_t)*list;
    for (char *rest = text; rest != NULL;) {
        char *comma = strchr(rest, ',');
        if (comma != NULL)
            *comma = '\0';
        if (*rest == '\0')
            return cli_usage("%s has an empty entry", o->name);
        if (*count == CLI_LIST_MAX)
            return cli_usage("%s takes at most %d entries", o->name, CLI_LIST_MAX);
        items[(*count)++] = rest;
        rest = comma == NULL ? NULL : comma + 1;
    }
    return CLI_OK;
}

static int set_string(struct cli_args *args, const struct cli_option *o, const char *text)
{
    const char **to = cli_member(args, o->offset);

    if (*text == '\0' && o->kind == CLI_STRING)
        return cli_usage("%s needs a value: %s", o->name, o->argument);
    if (o->list != NULL && strcmp(text, "help") == 0) {
        o->list();
        return CLI_LISTED;
    }
    *to = o->choices != NULL && strcmp(o->choices[0], text) == 0 ? NULL : text;
    return CLI_OK;
}

/* Two options that set one member to different values exclude each other. */
static int set_flag(struct cli_args *args, const struct cli_option *o)
{
    for (size_t i = 0; o->kind == CLI_SET && i < cli_n_options; i++) {
        const struct cli_option *other = &cli_options[i];
        if (args->given[i] && other->kind == CLI_SET && other->offset == o->offset && other->value != o->value)
            return cli_usage("%s: %s and %s exclude each other", args->command->name, other < o ? other->name : o->name,
                             other < o ? o->name : other->name);
    }
    store(args, o, o->kind == CLI_FLAG ? true : o->value);
    return CLI_OK;
}

int cli_set_option(struct cli_args *args, const struct cli_option *o, char *text)
{
    switch (o->kind) {
    case CLI_FLAG:
    case CLI_SET:
        return set_flag(args, o);
    case CLI_STRING:
    case CLI_TEXT:
        return set_string(args, o, text);
    case CLI_NUMBER:
    case CLI_COUNT:
        return set_number(args, o, text);
    case CLI_CYCLES:
    case CLI_BYTES:
        return set_amount(args, o, text);
    case CLI_CHOICE:
        return set_choice(args, o, text);
    case CLI_INTEGER:
        return set_integer(args, o, text);
    case CLI_REAL:
    case CLI_SHARE:
        return set_real(args, o, text);
    case CLI_FLOATS:
        return set_floats(args, o, text);
    case CLI_LIST:
        return add_to_list(args, o, text);
    }
    return CLI_BAD_USAGE;
}
