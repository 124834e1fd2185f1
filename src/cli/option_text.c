/* Options as a command line would give them, by their rows. */
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"

void cli_print_word(FILE *to, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";

    if (*text != '\0' && text[strspn(text, plain)] == '\0') {
        fputs(text, to);
        return;
    }
    fputc('\'', to);
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", to);
        else
            fputc(*text, to);
    }
    fputc('\'', to);
}

/* The member of a row, whose offset is that within struct cli_args. */
static const void *member(const struct nuc_options *o, size_t offset)
{
    return (const char *)o + (offset - offsetof(struct cli_args, o));
}

static bool is_in_options(const struct cli_option *row)
{
    size_t begin = offsetof(struct cli_args, o);

    return row->offset >= begin && row->offset < begin + sizeof(struct nuc_options);
}

static uint64_t number_at(const struct cli_option *row, const struct nuc_options *o)
{
    const void *at = member(o, row->offset);

    if (row->size == sizeof(bool))
        return *(const bool *)at;
    if (row->size == sizeof(unsigned))
        return *(const unsigned *)at;
    return *(const uint64_t *)at;
}

static bool differs(const struct cli_option *row, const struct nuc_options *a, const struct nuc_options *b)
{
    const char *x, *y;

    if (row->kind == CLI_LIST || row->kind == CLI_FLOATS)
        return *(const size_t *)member(a, row->count) != *(const size_t *)member(b, row->count) ||
               memcmp(member(a, row->offset), member(b, row->offset), row->size) != 0;
    if (row->kind != CLI_STRING && row->kind != CLI_TEXT)
        return number_at(row, a) != number_at(row, b);
    x = *(const char *const *)member(a, row->offset);
    y = *(const char *const *)member(b, row->offset);
    return x == NULL || y == NULL ? x != y : strcmp(x, y) != 0;
}

/* Flags, and one of several options for a member, say one value only. */
static bool can_say(const struct cli_option *row, const struct nuc_options *o)
{
    return row->argument != NULL || number_at(row, o) == (row->kind == CLI_FLAG ? 1 : row->value);
}

static void print_list(FILE *to, const struct cli_option *row, const struct nuc_options *o)
{
    const char *const *items = *(const char *const *const *)member(o, row->offset);
    size_t count = *(const size_t *)member(o, row->count);

    for (size_t i = 0; i < count; i++) {
        fputs(i > 0 ? "," : "", to);
        cli_print_word(to, items[i]);
    }
}

static void print_floats(FILE *to, const struct cli_option *row, const struct nuc_options *o)
{
    const float *values = member(o, row->offset);
    size_t count = *(const size_t *)member(o, row->count);

    for (size_t i = 0; i < count; i++)
        fprintf(to, "%s%.9g", i > 0 ? "," : "", (double)values[i]);
}

static void print_value(FILE *to, const struct cli_option *row, const struct nuc_options *o)
{
    const char *text;

    fputc(' ', to);
    switch (row->kind) {
    case CLI_FLAG:
    case CLI_SET:
        break;
    case CLI_STRING:
    case CLI_TEXT:
        text = *(const char *const *)member(o, row->offset);
        cli_print_word(to, text != NULL ? text : row->choices != NULL ? row->choices[0] : "");
        break;
    case CLI_NUMBER:
    case CLI_COUNT:
    case CLI_CYCLES:
    case CLI_BYTES:
        fprintf(to, "%llu", (unsigned long long)number_at(row, o));
        break;
    case CLI_CHOICE:
        fputs(row->choices[row->value == 0 ? number_at(row, o) : row->value - number_at(row, o)], to);
        break;
    case CLI_INTEGER:
        fprintf(to, "%lld", (long long)*(const int64_t *)member(o, row->offset));
        break;
    case CLI_REAL:
    case CLI_SHARE:
        fprintf(to, "%.17g", *(const double *)member(o, row->offset));
        break;
    case CLI_FLOATS:
        print_floats(to, row, o);
        break;
    case CLI_LIST:
        print_list(to, row, o);
        break;
    }
}

char *cli_options_text(unsigned commands, const struct nuc_options *o, const struct nuc_options *from)
{
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    bool any = false;

    if (to == NULL)
        return NULL;
    for (size_t i = 0; i < cli_n_options; i++) {
        const struct cli_option *row = &cli_options[i];
        if ((row->commands & commands) == 0 || !is_in_options(row) || !differs(row, o, from) || !can_say(row, o))
            continue;
        fprintf(to, "%s%s", any ? "\n" : "", row->name);
        if (row->argument != NULL)
            print_value(to, row, o);
        any = true;
    }
    if (fclose(to) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

char *cli_invocation_text(int argc, char *const *argv)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    if (to == NULL)
        return NULL;
    fputs("nucleon", to);
    for (int i = 0; i < argc; i++) {
        fputc(' ', to);
        cli_print_word(to, argv[i]);
    }
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}
