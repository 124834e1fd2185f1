/*
 * Runs programs (.pte, also bundled: .bpte) on the host. Memory comes from the compiler object, and the simulator runs
 * delegates. Data are in logical order for every dim order of the program. int8 inputs and outputs may be float32 if
 * the program states their quantization.
 */
#ifndef NUCLEON_RUNNER_H
#define NUCLEON_RUNNER_H

#include "nucleon/compile.h"
#include "nucleon/decision.h"
#include "nucleon/runtime.h"
#include "nucleon/simulator.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nuc_runner;

/*
 * Reads, verifies and prepares a program file, or a program in memory. The bytes are copied; messages use `name`.
 * `simulator` may be NULL: defaults. NUC_BAD_USAGE: this machine does not support the requested simulator path.
 */
enum nuc_status nuc_runner_open(struct nuc_compiler *c, const char *path, const struct nuc_simulator_options *simulator,
                                struct nuc_runner **out);
enum nuc_status nuc_runner_open_bytes(struct nuc_compiler *c, const char *name, const void *bytes, size_t size,
                                      const struct nuc_simulator_options *simulator, struct nuc_runner **out);

/* Frees the runner; otherwise the compiler does. `r` may be NULL. */
void nuc_runner_close(struct nuc_runner *r);

/* The compiler of the runner. */
struct nuc_compiler *nuc_runner_compiler(const struct nuc_runner *r);

size_t nuc_runner_n_inputs(const struct nuc_runner *r);
size_t nuc_runner_n_outputs(const struct nuc_runner *r);

/*
 * Input or output `index` as the caller sees it. The name of an input comes from the program, otherwise it is "in0",
 * ... Outputs have the keys of the dict or named tuple that the model returns, those without one are "out0", ...
 * NUC_UNSUPPORTED: it is not a tensor. NUC_BAD_USAGE: it does not exist.
 */
enum nuc_status nuc_runner_input(const struct nuc_runner *r, size_t index, struct nuc_tensor_info *out);
enum nuc_status nuc_runner_output(const struct nuc_runner *r, size_t index, struct nuc_tensor_info *out);

/*
 * The facts about the data in the program: whether there are any, the name of output `index` (NULL: none), and the
 * names of its classes. nuc_runner_classes() returns their number.
 */
bool nuc_runner_knows_data(const struct nuc_runner *r);
const char *nuc_runner_output_name(const struct nuc_runner *r, size_t index);
size_t nuc_runner_classes(const struct nuc_runner *r, size_t index, const char *const **names);

/*
 * If no array of `data` is int8, quantized inputs accept float values, and quantized outputs are float32.
 */
void nuc_runner_suit(struct nuc_runner *r, const struct nuc_dataset *data);

/*
 * Binds data to the program's inputs: calls nuc_runner_suit(), then binds arrays by the names in the program, or those
 * of `named_after` (the source model, or NULL), or in0, in1, ... Images are prepared as for calibration. NUC_BAD_INPUT:
 * the values have another unit than in calibration (0 to 255 instead of 0 to 1), unless the option unlike_calibration
 * is set. Gives a note for a range that may differ on purpose.
 */
enum nuc_status nuc_runner_bind(struct nuc_runner *r, struct nuc_dataset *data, const struct nuc_model *named_after,
                                size_t *n_samples);

/* Makes quantized outputs float32 from now on. */
void nuc_runner_float_outputs(struct nuc_runner *r);

/* Whether output `index` is int8 in the program and its quantization known. */
bool nuc_runner_is_quantized_output(const struct nuc_runner *r, size_t index);

/*
 * Runs one inference. Inputs and outputs are in logical order; nuc_runner_input() and _output() return their sizes. A
 * program's states keep what the inference leaves in them for the next one.
 */
enum nuc_status nuc_runner_run(struct nuc_runner *r, const void *const *inputs, void *const *outputs);

/*
 * Runs `n` inferences: those of sample k have inputs[k * nuc_runner_n_inputs()] and up, and outputs likewise. Without
 * states they are independent, and several run at a time, each in memory of its own: by the threads the runner was
 * opened with, without a number one per core. Afterwards nuc_runner_raw() and nuc_runner_decide() are of any of them.
 */
enum nuc_status nuc_runner_run_batch(struct nuc_runner *r, size_t n, const void *const *inputs, void *const *outputs);

/* The next inference begins with the initial values of the states, as the first one does. */
enum nuc_status nuc_runner_reset(struct nuc_runner *r);

/*
 * What the program says of its outputs (nucleon/decision.h), with the outputs as they lie in its memory; NULL: nothing.
 * nuc_runner_decide() decides on the last inference. nuc_runner_reset() also begins a sequence of decisions.
 */
const struct nuc_decision_rule *nuc_runner_decision(const struct nuc_runner *r);
enum nuc_status nuc_runner_decide(struct nuc_runner *r, const struct nuc_decider **out);

/* What a label of the decision is called; NULL: the program gives no name. */
const char *nuc_runner_label(const struct nuc_runner *r, int32_t label);

/*
 * {"decision": KIND, "decisions": [...]}: for each of `count` inferences what was found, one after the other in
 * `found`, counts[i] of the i-th one, whether that is new in is_new[i].
 */
enum nuc_status nuc_runner_decisions_json(const struct nuc_runner *r, const struct nuc_found *found,
                                          const size_t *counts, const bool *is_new, size_t count, const char **text);

/*
 * The content of all states, nuc_runner_states_size() bytes: saved after an inference and restored before another one,
 * it goes on there, also in another runner of the same program. NUC_BAD_USAGE: `size` is not that of the program's
 * states.
 */
size_t nuc_runner_states_size(const struct nuc_runner *r);
enum nuc_status nuc_runner_save_states(struct nuc_runner *r, void *to, size_t size);
enum nuc_status nuc_runner_restore_states(struct nuc_runner *r, const void *from, size_t size);

/* ---- test cases ---- */

/* Cases of a bundled program, each with inputs and the outputs expected of them; 0: the program came without. */
size_t nuc_runner_n_cases(const struct nuc_runner *r);

/* How the outputs of a case differ from the expected ones. */
struct nuc_case_result {
    bool passed;                   /* every byte is the expected one */
    size_t output, element;        /* the first one that is not, in the order of the program's memory; */
    const void *values, *expected; /* of that output, until the next inference */
    size_t n_different;            /* elements of all outputs */
    size_t n_elements;
};

/*
 * Runs case `index` from the initial values of the states. NUC_BAD_USAGE: there is no such case. NUC_BAD_INPUT: its
 * inputs or outputs are not those of the program.
 */
enum nuc_status nuc_runner_verify(struct nuc_runner *r, size_t index, struct nuc_case_result *out);

/*
 * Writes the program and `n_cases` cases as a bundled program (docs/formats.md, "Bundled programs"). Their inputs are
 * samples of `data`, spread evenly over all, bound as nuc_runner_bind() does; NULL: made up, with a note. The expected
 * outputs are those of this runner, byte for byte, each from the initial values of the states.
 */
enum nuc_status nuc_runner_write_bundle(struct nuc_runner *r, struct nuc_dataset *data,
                                        const struct nuc_model *named_after, size_t n_cases, const char *path);

/*
 * What a self-test on the device compares with (nucleon/selftest.h): the nodes of the program, CRC-32s of their weights
 * and of what they compute in each case of the bundle. The runner has NUC_SIMULATOR_PLAIN, or the program no parts for
 * the NPU. `payloads` is NULL, `payload` of a block an index of the method's delegates and `at` an offset in its
 * payload. `file` is for messages. NUC_UNSUPPORTED: which operators run depends on the data.
 */
struct nuc_selftest;
enum nuc_status nuc_runner_selftest(struct nuc_runner *r, const char *file, const struct nuc_selftest **out);

/* Input or output `index` of the last inference in the program's memory, valid until the next inference. */
const void *nuc_runner_raw(const struct nuc_runner *r, bool input, size_t index, size_t *bytes);

/* The file's bytes and the loaded program, for traces and profiles. */
const void *nuc_runner_image(const struct nuc_runner *r, size_t *size);
struct nuc_program *nuc_runner_program(struct nuc_runner *r);

/* The memory that the runtime needs for the program file at `path`. */
enum nuc_status nuc_runner_sizes(struct nuc_compiler *c, const char *path, struct nuc_program_sizes *out);

#ifdef __cplusplus
}
#endif
#endif
