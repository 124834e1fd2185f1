/* What a shell can offer for an argument, by the word that stands for it in the help; the forms of all this. */
#include <stdio.h>
#include <string.h>

#include "tools/cli/arguments/command_args.h"
#include "tools/cli/arguments/manual.h"

/* ---- files ---- */

static void add_suffix(struct cli_files *out, const char *suffix, size_t length)
{
    if (out->n_suffixes < sizeof out->suffixes / sizeof out->suffixes[0])
        snprintf(out->suffixes[out->n_suffixes++], sizeof out->suffixes[0], "%.*s", (int)length, suffix);
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(text, word, length) == 0;
}

/* One of the words between bars. */
static bool add_kind(struct cli_files *out, const char *word, size_t length)
{
    const char *dot = memchr(word, '.', length);

    if (dot != NULL) {
        add_suffix(out, dot + 1, length - (size_t)(dot + 1 - word));
        return true;
    }
    if (is_word(word, length, "DATA")) {
        add_suffix(out, "npz", 3);
        add_suffix(out, "npy", 3);
        out->folders = true;
        return true;
    }
    if (is_word(word, length, "DIR"))
        return out->folders = true;
    return is_word(word, length, "FILE") && (out->any = true);
}

bool cli_files_of(const char *argument, struct cli_files *out)
{
    bool found = false;

    *out = (struct cli_files){.any = false};
    while (argument != NULL && *argument != '\0' && *argument != ' ') {
        size_t length = strcspn(argument, "| ");
        found |= add_kind(out, argument, length);
        argument += length;
        argument += *argument == '|';
    }
    return found;
}

bool cli_argument_files(const struct cli_command *command, struct cli_files *out)
{
    *out = (struct cli_files){.any = false};
    return command->max_arguments > 0 && cli_files_of(command->arguments, out);
}

/* ---- forms ---- */

static void print_names(const struct cli_commands *all)
{
    for (size_t i = 0; i < all->count; i++)
        cli_printf("%s\n", all->rows[i].name);
}

int cli_print_format(const struct cli_commands *all, const char *format, const char *name)
{
    static const struct {
        const char *name;
        void (*print)(const struct cli_commands *all);
    } formats[] = {
        {"man", cli_print_main_page}, {"bash", cli_print_bash}, {"zsh", cli_print_zsh}, {"commands", print_names}};
    const struct cli_command *command = NULL;

    for (size_t i = 0; name != NULL && i < all->count; i++)
        command = strcmp(all->rows[i].name, name) == 0 ? &all->rows[i] : command;
    if (name != NULL && (command == NULL || strcmp(format, "man") != 0))
        return cli_usage("help: there is no '%s' of '%s'", format, name);
    if (command != NULL) {
        cli_print_command_page(command);
        return CLI_OK;
    }
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (strcmp(formats[i].name, format) == 0) {
            formats[i].print(all);
            return CLI_OK;
        }
    }
    return cli_usage("help: --format takes man, bash, zsh or commands, not '%s'", format);
}
