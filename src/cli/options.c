/* Options from tables, messages, progress. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

static void print_line(const char *prefix, const char *text)
{
    fputs(prefix, stderr);
    for (const char *p = text; *p != '\0'; p++)
        fputc((unsigned char)*p < ' ' ? ' ' : *p, stderr);
    fputc('\n', stderr);
}

int cli_report(enum nuc_status status, const char *message)
{
    print_line("nucleon: ", message != NULL && *message != '\0' ? message : nuc_status_name(status));
    if (status == NUC_BAD_USAGE)
        return CLI_BAD_USAGE;
    return status == NUC_PROPERTY ? CLI_PROPERTY : CLI_BAD_INPUT;
}

int cli_usage(const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_line("nucleon: ", text);
    return CLI_BAD_USAGE;
}

void cli_warn(void *user, const char *message)
{
    (void)user;
    print_line("nucleon: note: ", message);
}

#define BAR_WIDTH 30

void cli_progress(void *user, const char *what, size_t done, size_t total)
{
    (void)user;
    if (total == 0 || !isatty(STDERR_FILENO))
        return;
    size_t filled = done * BAR_WIDTH / total;
    fprintf(stderr, "\r%-12s [%.*s%.*s] %zu/%zu", what, (int)filled, "##############################",
            (int)(BAR_WIDTH - filled), "..............................", done, total);
    if (done == total)
        fputc('\n', stderr);
    fflush(stderr);
}

void cli_print_timings(const struct nuc_compiler *c)
{
    struct nuc_timing rows[64];
    size_t count = nuc_timings(c, rows, sizeof rows / sizeof rows[0]);
    double total = 0;

    for (size_t i = 0; i < count && i < sizeof rows / sizeof rows[0]; i++) {
        printf("%-14s %9.4f s\n", rows[i].stage, rows[i].seconds);
        total += rows[i].seconds;
    }
    printf("%-14s %9.4f s\n", "total", total);
}

static void print_options(const struct cli_option *options)
{
    for (const struct cli_option *o = options; o->name != NULL; o++) {
        char left[80];
        snprintf(left, sizeof left, "%s%s%s%s%s", o->alias != NULL ? o->alias : "", o->alias != NULL ? ", " : "",
                 o->name, o->parameter != NULL ? " " : "", o->parameter != NULL ? o->parameter : "");
        printf("  %-34s %s\n", left, o->help);
    }
}

static void print_help(const struct cli_command *command)
{
    printf("usage: nucleon %s%s%s\n\n%s\n", command->name, command->arguments[0] != '\0' ? " " : "", command->arguments,
           command->summary);
    if (command->options[0].name != NULL)
        printf("\n");
    print_options(command->options);
    if (command->shared != NULL)
        print_options(command->shared);
}

#define MOST (1u << 30)

static int set_number(const struct cli_option *option, const char *text)
{
    char *end;

    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    unsigned least = option->kind == CLI_COUNT ? 1 : 0;
    if (*text < '0' || *text > '9' || *end != '\0')
        return cli_usage("%s takes a number, not '%s'", option->name, text);
    if (errno != 0 || value > MOST || value < least)
        return cli_usage("%s takes a number from %u to %u, not '%s'", option->name, least, MOST, text);
    *(unsigned *)option->value = (unsigned)value;
    return CLI_OK;
}

static int set_choice(const struct cli_option *option, const char *text)
{
    char known[256] = "";

    for (int i = 0; option->choices[i] != NULL; i++) {
        if (strcmp(option->choices[i], text) == 0) {
            *(int *)option->value = i;
            return CLI_OK;
        }
        size_t length = strlen(known);
        snprintf(known + length, sizeof known - length, "%s%s", i == 0 ? "" : ", ", option->choices[i]);
    }
    return cli_usage("%s takes one of: %s; not '%s'", option->name, known, text);
}

static int set_floats(const struct cli_option *option, const char *text)
{
    struct cli_floats *floats = option->value;
    char *end;

    floats->count = 0;
    for (;;) {
        float value = strtof(text, &end);
        if (end == text || (*end != '\0' && *end != ',') || !isfinite(value))
            return cli_usage("%s takes numbers with commas between, not '%s'", option->name, text);
        if (floats->count == CLI_FLOATS_MAX)
            return cli_usage("%s takes at most %d numbers", option->name, CLI_FLOATS_MAX);
        floats->values[floats->count++] = value;
        if (*end == '\0')
            return CLI_OK;
        text = end + 1;
    }
}

/* Cuts the argument at its commas. */
static int add_to_list(const struct cli_option *option, char *text)
{
    struct cli_list *list = option->value;

    for (char *rest = text; rest != NULL;) {
        char *comma = strchr(rest, ',');
        if (comma != NULL)
            *comma = '\0';
        if (*rest == '\0')
            return cli_usage("%s has an empty entry", option->name);
        if (list->count == CLI_LIST_MAX)
            return cli_usage("%s takes at most %d entries", option->name, CLI_LIST_MAX);
        list->items[list->count++] = rest;
        rest = comma == NULL ? NULL : comma + 1;
    }
    return CLI_OK;
}

static int set_option(const struct cli_option *option, char *text)
{
    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)option->value = true;
        return CLI_OK;
    case CLI_STRING:
        if (*text == '\0')
            return cli_usage("%s needs a value: %s", option->name, option->parameter);
        *(const char **)option->value = text;
        return CLI_OK;
    case CLI_TEXT:
        *(const char **)option->value = text;
        return CLI_OK;
    case CLI_NUMBER:
    case CLI_COUNT:
        return set_number(option, text);
    case CLI_CHOICE:
        return set_choice(option, text);
    case CLI_FLOATS:
        return set_floats(option, text);
    case CLI_LIST:
        return add_to_list(option, text);
    }
    return CLI_BAD_USAGE;
}

static const struct cli_option *find_row(const struct cli_option *options, const char *text, size_t length)
{
    for (const struct cli_option *o = options; o->name != NULL; o++) {
        if (strlen(o->name) == length && strncmp(o->name, text, length) == 0)
            return o;
        if (o->alias != NULL && strlen(o->alias) == length && strncmp(o->alias, text, length) == 0)
            return o;
    }
    return NULL;
}

static const struct cli_option *find_option(const struct cli_command *command, const char *text, size_t length)
{
    const struct cli_option *own = find_row(command->options, text, length);

    return own != NULL || command->shared == NULL ? own : find_row(command->shared, text, length);
}

/* One option at argv[*i], "--name value" or "--name=value"; *i moves past what was taken. */
static int take_option(const struct cli_command *command, int argc, char **argv, int *i)
{
    char *text = argv[(*i)++];
    char *equals = strncmp(text, "--", 2) == 0 ? strchr(text, '=') : NULL;
    size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text);
    const struct cli_option *option = find_option(command, text, length);

    if (option == NULL)
        return cli_usage("%s: unknown option '%.*s'; 'nucleon %s --help' lists the options", command->name, (int)length,
                         text, command->name);
    if (option->kind == CLI_FLAG) {
        if (equals != NULL)
            return cli_usage("%s takes no value", option->name);
        return set_option(option, NULL);
    }
    char *value = equals != NULL ? equals + 1 : *i < argc ? argv[(*i)++] : NULL;
    if (value == NULL)
        return cli_usage("%s needs a value: %s", option->name, option->parameter);
    return set_option(option, value);
}

int cli_parse(const struct cli_command *command, int argc, char **argv, const char **positional, size_t *n_positional,
              bool *stop)
{
    size_t count = 0;
    bool only_arguments = false;

    *stop = true;
    for (int i = 1; i < argc;) {
        const char *text = argv[i];
        if (!only_arguments && strcmp(text, "--help") == 0) {
            print_help(command);
            return CLI_OK;
        }
        if (!only_arguments && strcmp(text, "--") == 0) {
            only_arguments = true;
            i++;
        } else if (!only_arguments && text[0] == '-' && text[1] != '\0') {
            int code = take_option(command, argc, argv, &i);
            if (code != CLI_OK)
                return code;
        } else {
            if (count == command->max_arguments)
                return cli_usage("%s: '%s' is one argument too many; usage: nucleon %s %s", command->name, text,
                                 command->name, command->arguments);
            if (*text == '\0')
                return cli_usage("%s: an argument is empty; usage: nucleon %s %s", command->name, command->name,
                                 command->arguments);
            positional[count++] = argv[i++];
        }
    }
    if (count < command->min_arguments)
        return cli_usage("%s: an argument is missing; usage: nucleon %s %s", command->name, command->name,
                         command->arguments);
    *n_positional = count;
    *stop = false;
    return CLI_OK;
}

/* Also where one is a link to the other. Devices may be written twice. */
static bool same_file(const char *a, const char *b)
{
    struct stat x, y;

    if (stat(a, &x) != 0 || stat(b, &y) != 0)
        return strcmp(a, b) == 0;
    return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int cli_check_paths(const char *command, const struct cli_path *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1; k < count; k++) {
            const struct cli_path *a = &paths[i], *b = &paths[k];
            bool clash = a->path != NULL && b->path != NULL && (a->written || b->written);
            if (clash && same_file(a->path, b->path))
                return cli_usage("%s: %s and %s are the same file '%s': give another one", command, a->what, b->what,
                                 a->path);
        }
    }
    return CLI_OK;
}
