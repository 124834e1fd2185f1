/* The command line by the table of options; what commands do with it. */
#include "cli/args.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/signals.h"

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

void cli_print_help(const struct cli_command *command)
{
    bool any = false;

    cli_printf("usage: nucleon %s%s%s\n\n%s\n", command->name, command->arguments[0] != '\0' ? " " : "",
               command->arguments, command->summary);
    for (size_t i = 0; i < cli_n_options; i++) {
        const struct cli_option *o = &cli_options[i];
        char left[80];
        if (!belongs(o, command))
            continue;
        snprintf(left, sizeof left, "%s%s%s%s%s", o->alias != NULL ? o->alias : "", o->alias != NULL ? ", " : "",
                 o->name, o->argument != NULL ? " " : "", o->argument != NULL ? o->argument : "");
        cli_printf("%s  %-34s %s\n", any ? "" : "\n", left, o->help);
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
    unsigned long long value = strtoull(text, &end, 10);
    unsigned least = o->kind == CLI_COUNT ? 1 : 0;
    unsigned long long most = o->kind == CLI_CYCLES ? UINT64_MAX - 1 : MOST;
    bool digits = *text >= '0' && *text <= '9' && *end == '\0';
    if (!digits)
        return cli_usage("%s %s takes a number, in digits alone, not '%s'", o->name, o->argument, text);
    if (errno != 0 || value > most || value < least)
        return cli_usage("%s takes a number from %u to %llu, not '%s'", o->name, least, most, text);
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
    *(int64_t *)member(args, o->offset) = value;
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
    *(double *)member(args, o->offset) = value;
    return CLI_OK;
}

static int set_floats(struct cli_args *args, const struct cli_option *o, const char *text)
{
    float *values = member(args, o->offset);
    size_t most = o->size / sizeof *values, *count = member(args, o->count);
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

/* Of another command, or with another spelling. */
static int unknown_option(const struct cli_command *command, const char *text, size_t length)
{
    const char *names[CLI_MAX_OPTIONS];
    char given[64];
    size_t count = 0;

    for (size_t i = 0; i < cli_n_options; i++) {
        if (belongs(&cli_options[i], command))
            names[count++] = cli_options[i].name;
    }
    names[count++] = "--help";
    snprintf(given, sizeof given, "%.*s", (int)length, text);
    const char *nearest = nuc_nearest_word(given, names, count);
    if (nearest != NULL)
        return cli_usage("%s: unknown option '%s', did you mean '%s'? 'nucleon %s --help' lists the options",
                         command->name, given, nearest, command->name);
    for (size_t i = 0; i < cli_n_options; i++) {
        if (is_called(cli_options[i].name, text, length) || is_called(cli_options[i].alias, text, length))
            return cli_usage("%s: '%s' is an option of other commands; 'nucleon %s --help' lists those of this one",
                             command->name, given, command->name);
    }
    return cli_usage("%s: unknown option '%s'; 'nucleon %s --help' lists the options%s", command->name, given,
                     command->name, text[1] == '-' ? "" : ", './' before a file's name keeps it from being one");
}

/* An option that takes one value counts once: of two different values the first one would be lost without a word. */
static int check_again(const struct cli_args *args, const struct cli_option *o, const char *value)
{
    const char *before = args->values[o - cli_options];

    if (o->kind == CLI_LIST || before == NULL || value == NULL || strcmp(before, value) == 0)
        return CLI_OK;
    return cli_usage("%s: %s is given twice, as '%s' and as '%s': leave one out", args->command->name, o->name, before,
                     value);
}

/* One option at argv[*i], "--name value" or "--name=value"; *i moves past what was taken. */
static int take_option(struct cli_args *args, int argc, char **argv, int *i)
{
    char *text = argv[(*i)++];
    char *equals = strncmp(text, "--", 2) == 0 ? strchr(text, '=') : NULL;
    size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text);
    const struct cli_option *o = find_option(args->command, text, length);
    char *value = NULL;

    if (o == NULL)
        return unknown_option(args->command, text, length);
    bool flag = o->argument == NULL;
    if (flag && equals != NULL)
        return cli_usage("%s takes no value", o->name);
    if (!flag)
        value = equals != NULL ? equals + 1 : *i < argc ? argv[(*i)++] : NULL;
    if (!flag && (value == NULL || (equals == NULL && find_option(args->command, value, strlen(value)) != NULL)))
        return cli_usage("%s needs a value: %s%s%s%s", o->name, o->argument, value == NULL ? "" : ", not the option '",
                         value == NULL ? "" : value, value == NULL ? "" : "'");
    int code = check_again(args, o, value);
    if (code == CLI_OK)
        code = set_option(args, o, value);
    args->given[o - cli_options] = true;
    args->values[o - cli_options] = value;
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

int cli_parse(const struct cli_command *command, int argc, char **argv, struct cli_args *args, bool *stop)
{
    bool only_arguments = false;
    int code = CLI_OK;

    *args =
        (struct cli_args){.command = command, .threshold = 20, .cycle_budget = UINT64_MAX, .argc = argc, .argv = argv};
    nuc_options_default(&args->o);
    nuc_evaluate_options_default(&args->evaluate);
    args->o.warn = cli_warn;
    args->o.progress = cli_progress;
    *stop = true;
    for (int i = 1; i < argc && code == CLI_OK;) {
        const char *text = argv[i];
        if (!only_arguments && (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0)) {
            cli_print_help(command);
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
        code = cli_check_files(args);
    *stop = code != CLI_OK;
    return code;
}

/* ---- what commands share ---- */

int cli_with_compiler(struct cli_args *args, int (*fn)(struct nuc_compiler *c, struct cli_args *args))
{
    struct nuc_compiler *c = nuc_compiler_new(&args->o, NULL);

    if (c == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    cli_watch(c);
    int code = fn(c, args);
    cli_unwatch(c);
    nuc_compiler_free(c);
    return code;
}

int cli_check(const struct nuc_compiler *c, enum nuc_status status)
{
    return status == NUC_OK ? CLI_OK : cli_report(status, nuc_compiler_message(c));
}

int cli_print(const char *text)
{
    cli_put(text);
    return CLI_OK;
}

void cli_print_timings(const struct nuc_compiler *c)
{
    struct nuc_timing rows[64];
    size_t count = nuc_timings(c, rows, sizeof rows / sizeof rows[0]);
    double total = 0;

    for (size_t i = 0; i < count && i < sizeof rows / sizeof rows[0]; i++) {
        cli_printf("%-14s %9.4f s\n", rows[i].stage, rows[i].seconds);
        total += rows[i].seconds;
    }
    cli_printf("%-14s %9.4f s\n", "total", total);
}
