/* Completion for zsh, of the tables of options and commands: arguments of its function _arguments. */
#include <string.h>

#include "tools/cli/arguments/command_args.h"
#include "tools/cli/arguments/manual.h"

/* Inside '...' of the shell and [...] of _arguments. */
static void put_quoted(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\'')
            cli_put("'\\''");
        else if (strchr("[]:\\", text[i]) != NULL)
            cli_printf("\\%c", text[i]);
        else
            cli_printf("%c", text[i]);
    }
}

static void print_files(const struct cli_files *files)
{
    if (files->n_suffixes == 0) {
        cli_put(files->any ? "_files" : "_files -/");
        return;
    }
    cli_put("_files -g \"*.(");
    for (size_t i = 0; i < files->n_suffixes; i++)
        cli_printf("%s%s", i > 0 ? "|" : "", files->suffixes[i]);
    cli_put(")(-.)\"");
}

static void print_option(const struct cli_option *o)
{
    const char *value = o->argument != NULL ? "=" : "";

    cli_put(" \\\n            ");
    if (o->kind == NUC_OPTION_LIST)
        cli_put("'*'");
    else if (o->alias != NULL)
        cli_printf("'(%s %s)'", o->alias, o->name);
    if (o->alias != NULL)
        cli_printf("{%s%s,%s%s}'[", o->alias, o->argument != NULL ? "+" : "", o->name, value);
    else
        cli_printf("'%s%s[", o->name, value);
    put_quoted(o->help, strcspn(o->help, ";:")); /* the first clause: a line of a menu */
    cli_put("]");
    if (o->argument != NULL) {
        /* ":DATA:_files ...": what the value is called, and what it may be. */
        struct cli_files files;
        const char *choice = cli_choice_at(o, 0);
        cli_put(":");
        put_quoted(o->argument, strlen(o->argument));
        cli_put(":");
        if (choice != NULL) {
            cli_put("(");
            for (size_t i = 0; (choice = cli_choice_at(o, i)) != NULL; i++)
                cli_printf("%s%s", i > 0 ? " " : "", choice);
            cli_put(")");
        } else if (cli_files_of(o->argument, &files)) {
            print_files(&files);
        } else {
            cli_put(" ");
        }
    }
    cli_put("'");
}

void cli_print_zsh(const struct cli_commands *all)
{
    cli_printf(
        "#compdef nucleon\n# Completion for zsh of nucleon %s, made of the tables of its help.\n\n_nucleon()\n{\n"
        "    local -a commands\n    commands=(\n",
        nuc_version());
    for (size_t i = 0; i < all->count; i++) {
        cli_printf("        '%s:", all->rows[i].name);
        put_quoted(all->rows[i].brief, strlen(all->rows[i].brief));
        cli_put("'\n");
    }
    cli_put("        'help:what a command does, and its options'\n    )\n"
            "    if (( CURRENT == 2 )); then\n        _describe -t commands command commands\n        return\n    fi\n"
            "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $command in\n"
            "        help)\n            (( CURRENT > 2 )) || _describe -t commands command commands\n"
            "            ;;\n");
    for (size_t i = 0; i < all->count; i++) {
        const struct cli_command *command = &all->rows[i];
        struct cli_files files;
        cli_printf("        %s)\n            _arguments -S :", command->name);
        if (cli_argument_files(command, &files)) {
            cli_printf(" \\\n            '%s:", command->max_arguments > 1 ? "*" : "1");
            put_quoted(command->arguments, strcspn(command->arguments, " "));
            cli_put(":");
            print_files(&files);
            cli_put("'");
        }
        for (size_t k = 0; k < cli_n_options; k++) {
            if (cli_has_option(command, &cli_options[k]))
                print_option(&cli_options[k]);
        }
        cli_put("\n            ;;\n");
    }
    cli_put("    esac\n}\n\n_nucleon \"$@\"\n");
}
