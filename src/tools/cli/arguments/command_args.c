/* The command line by the table of options; what commands do with it. */
#include "tools/cli/arguments/command_args.h"

#include <stdio.h>
#include <string.h>

#include "tools/cli/terminal/json_output.h"
#include "tools/cli/terminal/signals.h"

/* ---- the words of the command line ---- */

static bool is_called(const char *name, const char *text, size_t length)
{
    return name != NULL && strlen(name) == length && strncmp(name, text, length) == 0;
}

static const struct cli_option *find_option(const struct cli_command *command, const char *text, size_t length)
{
    for (size_t i = 0; i < cli_n_options; i++) {
        const struct cli_option *o = &cli_options[i];
        if (cli_has_option(command, o) && (is_called(o->name, text, length) || is_called(o->alias, text, length)))
            return o;
    }
    return NULL;
}

/* "compile, explain and tune": the commands that have an option of this name. */
static void list_commands(const struct cli_commands *all, const char *name, char *text, size_t size)
{
    const struct cli_command *commands[32];
    size_t count = 0, length = 0;

    for (size_t k = 0; k < all->count && count < 32; k++) {
        for (size_t i = 0; i < cli_n_options; i++) {
            const struct cli_option *o = &cli_options[i];
            if (!cli_has_option(&all->rows[k], o) || strcmp(o->name, name) != 0)
                continue;
            commands[count++] = &all->rows[k];
            break;
        }
    }
    for (size_t i = 0; i < count && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%s",
                                   i == 0           ? ""
                                   : i + 1 == count ? " and "
                                                    : ", ",
                                   commands[i]->name);
}

/* The option that was probably meant: of this command, else of any. */
static const char *nearest_option(const struct cli_command *command, const char *text)
{
    const char *names[CLI_MAX_OPTIONS];
    size_t count = 0;

    for (size_t i = 0; i < cli_n_options; i++) {
        const struct cli_option *o = &cli_options[i];
        if (o->name != NULL && (command == NULL || cli_has_option(command, o)))
            names[count++] = o->name;
    }
    return nuc_nearest_word(text, names, count);
}

/* Of another command, or with another spelling. */
static int unknown_option(const struct cli_args *args, const char *text, size_t length)
{
    const struct cli_command *command = args->command;
    char given[64], others[256] = "";

    snprintf(given, sizeof given, "%.*s", (int)length, text);
    for (size_t i = 0; i < cli_n_options; i++) {
        const struct cli_option *o = &cli_options[i];
        if (!is_called(o->name, text, length) && !is_called(o->alias, text, length))
            continue;
        list_commands(args->all, o->name, others, sizeof others);
        return cli_usage("%s: '%s' is an option of %s; 'nucleon help %s' lists those of this command", command->name,
                         given, others, command->name);
    }
    const char *nearest = nearest_option(command, given);
    if (nearest != NULL)
        return cli_usage("%s: unknown option '%s', did you mean '%s'? 'nucleon help %s' lists the options",
                         command->name, given, nearest, command->name);
    nearest = nearest_option(NULL, given);
    if (nearest != NULL) {
        list_commands(args->all, nearest, others, sizeof others);
        return cli_usage("%s: unknown option '%s', did you mean '%s'? That is an option of %s", command->name, given,
                         nearest, others);
    }
    return cli_usage("%s: unknown option '%s'; 'nucleon help %s' lists the options%s", command->name, given,
                     command->name, text[1] == '-' ? "" : ", './' before a file's name keeps it from being one");
}

/* An option that takes one value counts once: of two different values the first one would be lost without a word. */
static int check_again(const struct cli_args *args, const struct cli_option *o, const char *value)
{
    const char *before = args->values[o - cli_options];

    if (o->kind == NUC_OPTION_LIST || before == NULL || value == NULL || strcmp(before, value) == 0)
        return CLI_OK;
    return cli_usage("%s: %s is given twice, as '%s' and as '%s': leave one out", args->command->name, o->name, before,
                     value);
}

/* The bytes of an option's name: all of "--name", up to the '=' of "--name=value", "-o" of "-oFILE". */
static size_t name_length(const struct cli_command *command, const char *text)
{
    if (strncmp(text, "--", 2) == 0)
        return strcspn(text, "=");
    return find_option(command, text, 2) != NULL ? 2 : strlen(text);
}

/* One option at argv[*i] with its value, attached to it or the next word; *i moves past what was taken. */
static int take_option(struct cli_args *args, int argc, char **argv, int *i)
{
    char *text = argv[(*i)++], *value = NULL;
    size_t length = name_length(args->command, text);
    const struct cli_option *o = find_option(args->command, text, length);
    bool attached = text[length] != '\0';

    if (o == NULL)
        return unknown_option(args, text, length);
    bool flag = o->argument == NULL;
    if (flag && attached && text[length] != '=' && text[1] != '-')
        return cli_usage("%s: '%s' holds several options: write them apart, '%.2s' first", args->command->name, text,
                         text);
    if (flag && attached)
        return cli_usage("%s takes no value", o->name);
    if (attached)
        value = text + length + (text[length] == '=');
    else if (!flag && *i < argc)
        value = argv[(*i)++];
    if (!flag && value == NULL)
        return cli_usage("%s needs a value: %s", o->name, o->argument);
    if (!flag && !attached && find_option(args->command, value, name_length(args->command, value)) != NULL &&
        value[0] == '-' && value[1] != '\0')
        return cli_usage("%s needs a value: %s, not the option '%s'", o->name, o->argument, value);
    int code = check_again(args, o, value);
    if (code == CLI_OK)
        code = cli_set_option(args, o, value);
    args->given[o - cli_options] = true;
    args->values[o - cli_options] = value;
    return code;
}

/* The option that a word was meant for: one that was not given and takes a file that is called so. */
static const struct cli_option *option_for(const struct cli_args *args, const char *text)
{
    static const char *const data[] = {".npz", ".npy"};
    const char *suffix = strrchr(text, '.');

    for (size_t i = 0; suffix != NULL && i < cli_n_options; i++) {
        const struct cli_option *o = &cli_options[i];
        if (!cli_has_option(args->command, o) || o->argument == NULL || args->given[i])
            continue;
        const char *own = strrchr(o->argument, '.');
        bool is_data =
            strcmp(o->argument, "DATA") == 0 && (strcmp(suffix, data[0]) == 0 || strcmp(suffix, data[1]) == 0);
        if (is_data || (own != NULL && strcmp(own, suffix) == 0))
            return o;
    }
    return NULL;
}

static int take_argument(struct cli_args *args, const char *text)
{
    const struct cli_command *c = args->command;

    const struct cli_option *o = args->n_positional == c->max_arguments ? option_for(args, text) : NULL;
    if (o != NULL)
        return cli_usage("%s: '%s' is one argument too many, did you mean '%s %s'?", c->name, text,
                         o->alias != NULL ? o->alias : o->name, text);
    if (args->n_positional == CLI_MAX_ARGUMENTS)
        return cli_usage("%s: takes at most %d files", c->name, CLI_MAX_ARGUMENTS);
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
        if (cli_has_option(c, o) && o->missing != NULL && !args->given[i])
            return cli_usage("%s: %s", c->name, o->missing);
    }
    return CLI_OK;
}

int cli_parse(const struct cli_commands *all, const struct cli_command *command, int argc, char **argv,
              struct cli_args *args, bool *stop)
{
    bool only_arguments = false;
    int code = CLI_OK;

    *args = (struct cli_args){
        .all = all, .command = command, .threshold = 20, .cycle_budget = UINT64_MAX, .argc = argc, .argv = argv};
    nuc_options_default(&args->o);
    nuc_evaluate_options_default(&args->evaluate);
    args->o.warn = cli_warn;
    args->o.progress = cli_progress;
    *stop = true;
    for (int i = 1; i < argc && code == CLI_OK;) {
        const char *text = argv[i];
        if (!only_arguments && strcmp(text, "--") == 0) {
            only_arguments = true;
            i++;
        } else if (!only_arguments && text[0] == '-' && text[1] != '\0') {
            code = take_option(args, argc, argv, &i);
            cli_set_screen(args->quiet, args->color);
            if (code == CLI_OK && args->help) {
                cli_print_help(command);
                return CLI_OK;
            }
        } else {
            code = take_argument(args, argv[i++]);
        }
    }
    if (code == CLI_LISTED)
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
    int code = args->calibration != NULL ? cli_check(c, nuc_size_samples(c, args->calibration)) : CLI_OK;
    if (code == CLI_OK)
        code = fn(c, args);
    cli_json_take(c, args->timings);
    cli_unwatch(c);
    nuc_compiler_free(c);
    return code;
}
