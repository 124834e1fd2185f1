/* What the command line says about itself: the commands, and one command with its options, in 80 columns. */
#include <stdio.h>
#include <string.h>

#include "tools/cli/arguments/command_args.h"

enum { WIDTH = 79, OPTION_COLUMN = 28 };

const struct cli_exit_code cli_exit_codes[] = {
    {CLI_OK, "done"},
    {CLI_BAD_INPUT, "an input is bad, or a file cannot be read or written"},
    {CLI_BAD_USAGE, "the command line is wrong"},
    {CLI_PROPERTY, "a demand does not hold: full delegation, a budget, a --min option, a test"},
};

const size_t cli_n_exit_codes = sizeof cli_exit_codes / sizeof cli_exit_codes[0];

const char *cli_choice_at(const struct cli_option *o, size_t index)
{
    if (o->choices != NULL)
        return o->choices[index];
    return o->name_at != NULL ? o->name_at(index) : NULL;
}

bool cli_has_option(const struct cli_command *command, const struct cli_option *o)
{
    return (o->commands & command->bit) != 0;
}

/* The bytes of the text that go on a line of `room` columns: to a line's end, or to the last space; at least a word. */
static size_t line_length(const char *text, size_t room)
{
    size_t length = strcspn(text, "\n"), end = 0;

    if (length <= room)
        return length;
    for (size_t i = 0; i <= room; i++)
        end = text[i] == ' ' ? i : end;
    return end > 0 ? end : strcspn(text, " \n");
}

void cli_print_wrapped(const char *first, size_t indent, const char *text)
{
    size_t column = strlen(first);

    cli_print_placed("%s", first);
    while (*text != '\0') {
        size_t length = line_length(text, WIDTH - column);
        cli_print_placed("%.*s\n", (int)length, text);
        text += length;
        text += *text == ' ' || *text == '\n';
        column = indent;
        if (*text != '\0')
            cli_printf("%*s", (int)indent, "");
    }
}

const struct cli_option *cli_next_option(const struct cli_command *command, size_t *at, const char **heading)
{
    while (*at < cli_n_options) {
        const struct cli_option *o = &cli_options[(*at)++];
        if (o->name == NULL)
            *heading = o->help;
        if (cli_has_option(command, o))
            return o;
    }
    return NULL;
}

void cli_print_help(const struct cli_command *command)
{
    char usage[WIDTH];

    snprintf(usage, sizeof usage, "usage: nucleon %s ", command->name);
    cli_print_wrapped(usage, strlen(usage), command->arguments);
    if (command->arguments[0] == '\0')
        cli_put("\n");
    cli_put("\n");
    cli_print_wrapped("", 0, command->summary);
    const char *lines = command->examples;
    cli_put("\n");
    cli_heading(strchr(lines, '\n') == NULL ? "Example" : "Examples");
    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        cli_printf("  %.*s\n", (int)length, lines);
        lines += length;
        lines += *lines == '\n';
    }
    const char *heading = NULL;
    const struct cli_option *o;
    for (size_t i = 0; (o = cli_next_option(command, &i, &heading)) != NULL; heading = NULL) {
        if (heading != NULL) {
            cli_put("\n");
            cli_heading(heading);
        }
        /* A name that leaves no room beside it has the text below. */
        char left[WIDTH];
        int length = snprintf(left, sizeof left, "  %s%s%s%s%s", o->alias != NULL ? o->alias : "  ",
                              o->alias != NULL ? ", " : "  ", o->name, o->argument != NULL ? " " : "",
                              o->argument != NULL ? o->argument : "");
        if (length > OPTION_COLUMN - 2) {
            cli_printf("%s\n", left);
            left[0] = '\0';
        }
        char first[WIDTH];
        snprintf(first, sizeof first, "%-*s", OPTION_COLUMN, left);
        cli_print_wrapped(first, OPTION_COLUMN, o->help);
    }
}

void cli_print_commands(const struct cli_commands *all)
{
    cli_printf("usage: nucleon COMMAND ...\n");
    for (size_t i = 0; i < all->count; i++) {
        char first[WIDTH];
        if (all->rows[i].group != NULL) {
            cli_put("\n");
            cli_heading(all->rows[i].group);
        }
        snprintf(first, sizeof first, "  %-24s", all->rows[i].name);
        cli_print_wrapped(first, strlen(first), all->rows[i].brief);
    }
    cli_put("\n");
    cli_heading("Exit codes");
    for (size_t i = 0; i < cli_n_exit_codes; i++) {
        char first[WIDTH];
        snprintf(first, sizeof first, "  %d  ", cli_exit_codes[i].code);
        cli_print_wrapped(first, strlen(first), cli_exit_codes[i].meaning);
    }
    cli_printf("\n'nucleon help COMMAND' describes a command, with an example and its options.\n");
}
