/*
 * --json: one object on standard output, printed when the command is over, whatever became of it (docs/json.md). The
 * members that every command has are made here; a command adds its own, most of them as the text of an object that the
 * library made. What it prints otherwise does not appear then.
 */
#ifndef NUC_TOOLS_CLI_TERMINAL_JSON_OUTPUT_H
#define NUC_TOOLS_CLI_TERMINAL_JSON_OUTPUT_H

#include <stdbool.h>

#include "nucleon/compile.h"

struct cli_args;

/* From here on the output is JSON. `argv` begins with the command; they are not copied. */
void cli_json_begin(int argc, char *const *argv);
bool cli_is_json(void);

/*
 * Members of the object: all those of the object `text`, or one with that object as its value. Texts are copied. A
 * number is nowhere without --json.
 */
void cli_json_members(const char *text);
void cli_json_member(const char *name, const char *text);
void cli_json_number(const char *name, uint64_t value);

/* The object as a whole, instead of one with the members of every command: it has them already. */
void cli_json_whole(const char *text);

/* Of every command: files that calls of the compiler wrote, its timings when `timings`; notes; the last error. */
void cli_json_take(const struct nuc_compiler *c, bool timings);
void cli_json_warning(const char *text);
void cli_json_error(const char *text);

/* Prints the object of a command that ends with this exit code. False: memory was exhausted, it is not whole. */
bool cli_json_end(int code);

#endif
