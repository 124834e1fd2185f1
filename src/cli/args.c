/* The command line by the table of options; what commands do with it. */
#include "cli/args.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* An argument was answered with a list: the command does not run. */
enum { LISTED = -1 };

static bool belongs(const struct cli_option *o, const struct cli_command *command)
{
    return (o->commands & command->bit) != 0;
}

static void *member(const struct cli_args *args, size_t offset)
{
    return (char *)(uintptr_t)args + offset;
}

/* ---- help ---- */

static void print_help(const struct cli_command *command)
{
    bool any = false;

    printf("usage: nucleon %s%s%s\n\n%s\n", command->name, command->arguments[0] != '\0' ? " " : "", command->arguments,
           command->summary);
    for (size_t i = 0; i < cli_n_options; i++) {
        const struct cli_option *o = &cli_options[i];
        char left[80];
        if (!belongs(o, command))
            continue;
        snprintf(left, sizeof left, "%s%s%s%s%s", o->alias != NULL ? o->alias : "", o->alias != NULL ? ", " : "",
                 o->name, o->argument != NULL ? " " : "", o->argument != NULL ? o->argument : "");
        printf("%s  %-34s %s\n", any ? "" : "\n", left, o->help);
        any = true;
    }
}

/* ---- values ---- */

#define MOST (1u << 30)

/* Flags, numbers and choices are written as what the member is: bool, enum, unsigned or 64 bits. */
static void store(struct cli_args *args, const struct cli_option *o, uint64_t value)
{
    void *to = member(args, o->offset);
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
    unsigned long value = strtoul(text, &end, 10);
    unsigned least = o->kind == CLI_COUNT ? 1 : 0;
    bool digits = *text >= '0' && *text <= '9' && *end == '\0';
    if (o->kind == CLI_CYCLES && !digits)
        return cli_usage("%s takes a number of cycles, not '%s'", o->name, text);
    if (!digits)
        return cli_usage("%s takes a number, not '%s'", o->name, text);
    if (o->kind != CLI_CYCLES && (errno != 0 || value > MOST || value < least))
        return cli_usage("%s takes a number from %u to %u, not '%s'", o->name, least, MOST, text);
    store(args, o, value);
    return CLI_OK;
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
    return cli_usage("%s takes one of: %s; not '%s'", o->name, known, text);
}

static int set_integer(struct cli_args *args, const struct cli_option *o, const char *text)
{
    char *end;

    errno = 0;
    int64_t value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0)
        return cli_usage("%s takes an integer, not '%s'", o->name, text);
    *(int64_t *)member(args, o->offset) = value;
    return CLI_OK;
}

static int set_real(struct cli_args *args, const struct cli_option *o, const char *text)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !isfinite(value))
        return cli_usage("%s takes a number, not '%s'", o->name, text);
    if (o->kind == CLI_SHARE && (value < 0 || value > 100))
        return cli_usage("%s takes percents from 0 to 100, not '%s'", o->name, text);
    *(double *)member(args, o->offset) = value;
    return CLI_OK;
}

static int set_floats(struct cli_args *args, const struct cli_option *o, const char *text)
{
    float *values = member(args, o->offset);
    size_t most = o->size / sizeof *values, *count = member(args, o->count);
    char *end;

    for (*count = 0;; text = end + 1) {
        float value = strtof(text, &end);
        if (end == text || (*end != '\0' && *end != ',') || !isfinite(value))
            return cli_usage("%s takes numbers with commas between, not '%s'", o->name, text);
        if (*count == most)
            return cli_usage("%s takes at most %zu numbers", o->name, most);
        values[(*count)++] = value;
        if (*end == '\0')
            return CLI_OK;
    }
}

/* Cuts the argument at its commas; the parts stay where they are, in argv. */
static int add_to_list(struct cli_args *args, const struct cli_option *o, char *text)
{
    const char *const **list = member(args, o->offset);
    size_t *count = member(args, o->count);

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
    const char **to = member(args, o->offset);

    if (*text == '\0' && o->kind == CLI_STRING)
        return cli_usage("%s needs a value: %s", o->name, o->argument);
    if (o->list != NULL && strcmp(text, "help") == 0) {
        o->list();
        return LISTED;
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

static int set_option(struct cli_args *args, const struct cli_option *o, char *text)
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
    case CLI_CYCLES:
        return set_number(args, o, text);
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

/* ---- the words of the command line ---- */

static bool is_called(const char *name, const char *text, size_t length)
{
    return name != NULL && strlen(name) == length && strncmp(name, text, length) == 0;
}

static const struct cli_option *find_option(const struct cli_command *command, const char *text, size_t length)
{
    for (size_t i = 0; i < cli_n_options; i++) {
        const struct cli_option *o = &cli_options[i];
        if (belongs(o, command) && (is_called(o->name, text, length) || is_called(o->alias, text, length)))
            return o;
    }
    return NULL;
}

/* One option at argv[*i], "--name value" or "--name=value"; *i moves past what was taken. */
static int take_option(struct cli_args *args, int argc, char **argv, int *i)
{
    const char *command = args->command->name;
    char *text = argv[(*i)++];
    char *equals = strncmp(text, "--", 2) == 0 ? strchr(text, '=') : NULL;
    size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text);
    const struct cli_option *o = find_option(args->command, text, length);
    char *value = NULL;

    if (o == NULL)
        return cli_usage("%s: unknown option '%.*s'; 'nucleon %s --help' lists the options", command, (int)length, text,
                         command);
    bool flag = o->argument == NULL;
    if (flag && equals != NULL)
        return cli_usage("%s takes no value", o->name);
    if (!flag)
        value = equals != NULL ? equals + 1 : *i < argc ? argv[(*i)++] : NULL;
    if (!flag && value == NULL)
        return cli_usage("%s needs a value: %s", o->name, o->argument);
    int code = set_option(args, o, value);
    args->given[o - cli_options] = true;
    return code;
}

static int take_argument(struct cli_args *args, const char *text)
{
    const struct cli_command *c = args->command;

    if (args->n_positional == c->max_arguments)
        return cli_usage("%s: '%s' is one argument too many; usage: nucleon %s %s", c->name, text, c->name,
                         c->arguments);
    if (*text == '\0')
        return cli_usage("%s: an argument is empty; usage: nucleon %s %s", c->name, c->name, c->arguments);
    args->positional[args->n_positional++] = text;
    return CLI_OK;
}

/* ---- checks ---- */

static int check_missing(const struct cli_args *args)
{
    const struct cli_command *c = args->command;

    if (args->n_positional < c->min_arguments)
        return cli_usage("%s: an argument is missing; usage: nucleon %s %s", c->name, c->name, c->arguments);
    for (size_t i = 0; i < cli_n_options; i++) {
        const struct cli_option *o = &cli_options[i];
        if (belongs(o, c) && o->missing != NULL && !args->given[i])
            return cli_usage("%s: %s", c->name, o->missing);
    }
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

struct path {
    const char *what, *path;
    bool written;
};

static int check_clashes(const char *command, const struct path *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1; k < count; k++) {
            const struct path *a = &paths[i], *b = &paths[k];
            if ((a->written || b->written) && same_file(a->path, b->path))
                return cli_usage("%s: %s and %s are the same file '%s': give another one", command, a->what, b->what,
                                 a->path);
        }
    }
    return CLI_OK;
}

/* A file to be written must not be another one of the command's files: what is read first. */
static int check_files(const struct cli_args *args)
{
    struct path paths[CLI_MAX_OPTIONS + 1];
    size_t count = 0;

    if (args->command->what != NULL)
        paths[count++] = (struct path){args->command->what, args->positional[0], false};
    for (enum cli_file kind = CLI_READ; kind <= CLI_WRITTEN; kind++) {
        for (size_t i = 0; i < cli_n_options; i++) {
            const struct cli_option *o = &cli_options[i];
            if (args->given[i] && o->file == kind)
                paths[count++] = (struct path){o->name, *(const char **)member(args, o->offset), kind == CLI_WRITTEN};
        }
    }
    return check_clashes(args->command->name, paths, count);
}

int cli_parse(const struct cli_command *command, int argc, char **argv, struct cli_args *args, bool *stop)
{
    bool only_arguments = false;
    int code = CLI_OK;

    *args = (struct cli_args){.command = command, .threshold = 20, .cycle_budget = UINT64_MAX};
    nuc_options_default(&args->o);
    nuc_evaluate_options_default(&args->evaluate);
    args->o.warn = cli_warn;
    args->o.progress = cli_progress;
    *stop = true;
    for (int i = 1; i < argc && code == CLI_OK;) {
        const char *text = argv[i];
        if (!only_arguments && strcmp(text, "--help") == 0) {
            print_help(command);
            return CLI_OK;
        }
        if (!only_arguments && strcmp(text, "--") == 0) {
            only_arguments = true;
            i++;
        } else if (!only_arguments && text[0] == '-' && text[1] != '\0') {
            code = take_option(args, argc, argv, &i);
        } else {
            code = take_argument(args, argv[i++]);
        }
    }
    if (code == LISTED)
        return CLI_OK;
    if (code == CLI_OK)
        code = check_missing(args);
    if (code == CLI_OK)
        code = check_files(args);
    *stop = code != CLI_OK;
    return code;
}

/* ---- what commands share ---- */

/* From the default: an option given as it is anyway needs no note. */
static bool differs(const struct cli_args *args, const struct cli_option *o)
{
    struct cli_args standard = {.command = NULL};

    nuc_options_default(&standard.o);
    return memcmp(member(args, o->offset), member(&standard, o->offset), o->size) != 0;
}

void cli_warn_unused_options(const struct cli_args *args, enum cli_needs needs, const char *why)
{
    char text[1024] = "";
    size_t length = 0;

    for (size_t i = 0; i < cli_n_options && length < sizeof text; i++) {
        const struct cli_option *o = &cli_options[i];
        if (args->given[i] && o->needs == needs && differs(args, o))
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", length > 0 ? ", " : "", o->name);
    }
    if (length > 0 && length < sizeof text)
        snprintf(text + length, sizeof text - length, ": without effect, %s", why);
    if (length > 0)
        cli_warn(NULL, text);
}

int cli_with_compiler(struct cli_args *args, int (*fn)(struct nuc_compiler *c, struct cli_args *args))
{
    struct nuc_compiler *c = nuc_compiler_new(&args->o, NULL);

    if (c == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    int code = fn(c, args);
    nuc_compiler_free(c);
    return code;
}

int cli_check(const struct nuc_compiler *c, enum nuc_status status)
{
    return status == NUC_OK ? CLI_OK : cli_report(status, nuc_compiler_message(c));
}

int cli_print(const char *text)
{
    return fputs(text, stdout) < 0 || fflush(stdout) != 0 ? cli_report(NUC_IO, "standard output: cannot be written")
                                                          : CLI_OK;
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
