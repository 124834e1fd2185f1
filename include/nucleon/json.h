/*
 * Results as JSON: each call gives the text of one object with the members that docs/json.md lists. The text belongs to
 * the compiler. `nucleon COMMAND --json` prints these objects with the members of every command in front.
 */
#ifndef NUCLEON_JSON_H
#define NUCLEON_JSON_H

#include "nucleon/compile.h"
#include "nucleon/tune.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Figures of the last program, as nuc_program_report() gives them, and how it was quantized. NUC_BAD_USAGE: none. */
enum nuc_status nuc_program_json(struct nuc_compiler *c, const char **text);

/* What the last quantization made of the outputs; without one there are none in it. */
enum nuc_status nuc_quantization_json(struct nuc_compiler *c, const char **text);

/* What nuc_convert_model() made. */
enum nuc_status nuc_conversion_json(struct nuc_compiler *c, const struct nuc_convert_report *report, const char **text);

/* The operators of nuc_list_operators(), with the rules of the compiler's flavor; targets and flavors. */
enum nuc_status nuc_operators_json(struct nuc_compiler *c, const char **text);
enum nuc_status nuc_targets_json(struct nuc_compiler *c, const char **text);

/* What nuc_profile_text() prints. */
enum nuc_status nuc_profile_json(struct nuc_compiler *c, const char *file, const void *program, size_t size,
                                 const struct nuc_profile_run *run, const char **text);

/* Arrays, such as the outputs of a program over a data set; their elements in row-major order with `with_values`. */
enum nuc_status nuc_arrays_json(struct nuc_compiler *c, const struct nuc_array_info *arrays, size_t count,
                                bool with_values, const char **text);

/*
 * A result of nuc_tune(). For each trial the options that make it different from the first one and the command that
 * makes its program, both as text; NULL: the caller has none.
 */
enum nuc_status nuc_tune_json(struct nuc_compiler *c, const struct nuc_tune_result *result, const char *const *options,
                              const char *const *commands, const char **text);

#ifdef __cplusplus
}
#endif
#endif
