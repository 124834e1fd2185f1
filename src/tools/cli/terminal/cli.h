/* What the command line prints: results, messages of one line, progress; as text or as one JSON object. */
#ifndef NUC_TOOLS_CLI_TERMINAL_CLI_H
#define NUC_TOOLS_CLI_TERMINAL_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "nucleon/compile.h"
#include "nucleon/runner.h"

enum cli_exit { CLI_OK = 0, CLI_BAD_INPUT = 1, CLI_BAD_USAGE = 2, CLI_PROPERTY = 3 };

/* "nucleon: <message>" on standard error, control characters made visible; returns the exit code of the status. */
int cli_report(enum nuc_status status, const char *message);

/* The same for a mistake in how the command was called, for a file that cannot be used, for a demand that is missed. */
int cli_fail(enum nuc_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define cli_usage(...) cli_fail(NUC_BAD_USAGE, __VA_ARGS__)
#define cli_bad(...) cli_fail(NUC_IO, __VA_ARGS__)
#define cli_missed(...) cli_fail(NUC_PROPERTY, __VA_ARGS__)

/* CLI_OK, or the exit code of a call that failed, whose message it prints. */
int cli_check(const struct nuc_compiler *c, enum nuc_status status);

/* The same of a call that gave *text, which is printed; with --json the members of an object (json_output.h). */
int cli_result(const struct nuc_compiler *c, enum nuc_status status, const char *const *text);

/* Room for a message with the longest path, twice. */
#define CLI_MESSAGE 12288

/*
 * All that commands print goes through these: names come from files, and what would control a terminal (control
 * characters but line ends and tabs, C1, marks of direction, bytes that are no UTF-8) is shown as \xHH or \uHHHH.
 * Whether it could be written is found out by cli_finish(). With --json nothing of it is printed (json_output.h).
 */
void cli_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_put(const char *text);

/* A line in the style of headings. */
void cli_heading(const char *text);

/* A line on standard error, where results are on standard output; nothing with --quiet. */
void cli_say(const char *line);

/* A number with commas between thousands. Texts of the last 8 calls are valid. */
const char *cli_commas(uint64_t number);

/* At the beginning and at the end of main(): the exit code, which is not 0 when something could not be printed. */
void cli_hold_streams(void);
int cli_finish(int code);

/* A callback for struct nuc_options: notes on standard error, none with --quiet; and how many there were. */
void cli_warn(void *user, const char *message);
size_t cli_warnings(void);

/* ---- the terminal (screen.c) ---- */

enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };
enum cli_style { CLI_PLAIN, CLI_HEADING, CLI_ERROR, CLI_NOTE, CLI_NPU, CLI_CPU };

/* What --quiet and --color say. */
void cli_set_screen(bool quiet, enum cli_color color);
bool cli_is_quiet(void);

/* What is printed from here on looks so, where there are colours; CLI_PLAIN ends it. */
void cli_style(FILE *to, enum cli_style style);

/* As cli_printf(), with the words NPU and CPU in their colours. */
void cli_print_placed(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_put_placed(const char *text);

/*
 * A callback for struct nuc_options: a step that takes longer than a moment has a line on a terminal with share, rate
 * and remaining time, which is gone when it ends; nothing in a pipe. total 0: it is not known how much there is.
 */
void cli_progress(void *user, const char *what, size_t done, size_t total);

/* Before the first step: there is no thread for the line, which is drawn when the work reports. */
void cli_draw_alone(void);

/* Takes the line away: before anything else is printed, and when the work is done. */
void cli_hide_progress(void);
void cli_end_progress(void);

/* ---- shells (shell_words.c) ---- */

/* The command line as a shell takes it; `argv` begins with the command. NULL: memory is exhausted. */
char *cli_invocation_text(int argc, char *const *argv);

/* A word as a shell takes it: quoted where it has to be. */
void cli_print_word(FILE *to, const char *text);

#endif
