/*
 * Results as JSON: each call returns the text of one object with the members that docs/json.md lists. The text belongs
 * to the compiler. `nucleon COMMAND --json` prints these objects after the members of every command.
 */
#ifndef NUCLEON_JSON_H
#define NUCLEON_JSON_H

#include "nucleon/compile.h"
#include "nucleon/tune.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The figures of nuc_program_report(), and the quantization of the program. NUC_BAD_USAGE: there is no program. */
enum nuc_status nuc_program_json(struct nuc_compiler *c, const char **text);

/* The quality of the outputs after the last quantization; no outputs if there was none. */
enum nuc_status nuc_quantization_json(struct nuc_compiler *c, const char **text);

/* The result of nuc_convert_model(). */
enum nuc_status nuc_conversion_json(struct nuc_compiler *c, const struct nuc_convert_report *report, const char **text);

/* The operators of nuc_list_operators(), with the rules of the compiler's flavor; targets and flavors. */
enum nuc_status nuc_operators_json(struct nuc_compiler *c, const char **text);
enum nuc_status nuc_targets_json(struct nuc_compiler *c, const char **text);

/* The table of nuc_profile_text(). */
enum nuc_status nuc_profile_json(struct nuc_compiler *c, const char *file, const void *program, size_t size,
                                 const struct nuc_profile_run *run, const char **text);

/* Arrays, such as the outputs of a program over a data set. `with_values`: with elements in row-major order. */
enum nuc_status nuc_arrays_json(struct nuc_compiler *c, const struct nuc_array_info *arrays, size_t count,
                                bool with_values, const char **text);

/*
 * A result of nuc_tune(). `options` and `commands` have a text for each trial: the options that differ from the first
 * trial, and the command that makes the program. Both may be NULL.
 */
enum nuc_status nuc_tune_json(struct nuc_compiler *c, const struct nuc_tune_result *result, const char *const *options,
                              const char *const *commands, const char **text);

#ifdef __cplusplus
}
#endif
#endif
