/*
 * Manual pages and completion of shells, made when nucleon is built of the tables behind --help: `nucleon help --format
 * FORMAT [COMMAND]`, which tools/manual.sh calls and nothing tells users about.
 */
#ifndef NUC_TOOLS_CLI_ARGUMENTS_MANUAL_H
#define NUC_TOOLS_CLI_ARGUMENTS_MANUAL_H

#include "tools/cli/arguments/command_args.h"

/* "man" (of a command, or of nucleon as a whole when `name` is NULL), "bash", "zsh", "commands". An exit code. */
int cli_print_format(const struct cli_commands *all, const char *format, const char *name);

/* ---- manual.c: pages in the language of man(7) ---- */

void cli_print_command_page(const struct cli_command *command);
void cli_print_main_page(const struct cli_commands *all);

/* ---- completion_bash.c, completion_zsh.c: what goes to the folder of a shell's completions ---- */

void cli_print_bash(const struct cli_commands *all);
void cli_print_zsh(const struct cli_commands *all);

/* ---- completion.c: what may be given ---- */

/* What an argument is, by its word in the help: "DATA", "DIR", "FILE", "MODEL.pt2|MODEL.tflite". */
struct cli_files {
    bool any;          /* files of any name, or those with ... */
    size_t n_suffixes; /* ... these suffixes, without the dot */
    char suffixes[4][16];
    bool folders; /* a folder may be given */
};

/* false: it is no file. */
bool cli_files_of(const char *argument, struct cli_files *out);

/* Of the arguments of a command that are no options; false: it has none. */
bool cli_argument_files(const struct cli_command *command, struct cli_files *out);

#endif
