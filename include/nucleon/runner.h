/*
 * Programs (.pte) on the host: memory from the compiler object, the NPU's part on the simulator, data in logical order
 * whatever the program's dim orders are, and float32 for int8 inputs and outputs whose quantization the program gives.
 */
#ifndef NUCLEON_RUNNER_H
#define NUCLEON_RUNNER_H

#include "nucleon/compile.h"
#include "nucleon/runtime.h"
#include "nucleon/simulator.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nuc_runner;

/*
 * Reads, verifies and prepares a program file, or a program in memory, which is copied; `name` stands in messages.
 * `simulator` may be NULL: its defaults. NUC_BAD_USAGE when this machine does not have what it asks for.
 */
enum nuc_status nuc_runner_open(struct nuc_compiler *c, const char *path, const struct nuc_simulator_options *simulator,
                                struct nuc_runner **out);
enum nuc_status nuc_runner_open_bytes(struct nuc_compiler *c, const char *name, const void *bytes, size_t size,
                                      const struct nuc_simulator_options *simulator, struct nuc_runner **out);

/* Frees it before the compiler does. `r` may be NULL. */
void nuc_runner_close(struct nuc_runner *r);

/* Whose it is. */
struct nuc_compiler *nuc_runner_compiler(const struct nuc_runner *r);

size_t nuc_runner_n_inputs(const struct nuc_runner *r);
size_t nuc_runner_n_outputs(const struct nuc_runner *r);

/*
 * Input or output `index` as the caller sees it. An input has the name that the program gives it, else "in0", ...; an
 * output is "out0", .... NUC_UNSUPPORTED when it is not a tensor,
 * NUC_BAD_USAGE when there is none.
 */
enum nuc_status nuc_runner_input(const struct nuc_runner *r, size_t index, struct nuc_tensor_info *out);
enum nuc_status nuc_runner_output(const struct nuc_runner *r, size_t index, struct nuc_tensor_info *out);

/*
 * What the program itself says of its data: whether it does, its name of output `index` (NULL: none), and the names of
 * the classes of its scores, of which there are as many as returned.
 */
bool nuc_runner_knows_data(const struct nuc_runner *r);
const char *nuc_runner_output_name(const struct nuc_runner *r, size_t index);
size_t nuc_runner_classes(const struct nuc_runner *r, size_t index, const char *const **names);

/*
 * Lets data without int8 arrays stand for the float values of quantized inputs; then quantized outputs are given as
 * float32, too.
 */
void nuc_runner_suit(struct nuc_runner *r, const struct nuc_dataset *data);

/*
 * Binds data to the program's inputs: nuc_runner_suit(), then arrays by the names that the program carries, or else
 * those of `named_after` (the model that it was made of, or NULL), or in0, in1, ...; images are prepared as those of
 * the calibration were. Fails with NUC_BAD_INPUT where the values are in another unit than in calibration (0 to 255
 * instead of 0 to 1), unless the options take data unlike the calibration's; notes a range that may be so on purpose.
 */
enum nuc_status nuc_runner_bind(struct nuc_runner *r, struct nuc_dataset *data, const struct nuc_model *named_after,
                                size_t *n_samples);

/* Quantized outputs as float32 from now on. */
void nuc_runner_float_outputs(struct nuc_runner *r);

/* Whether output `index` is int8 in the program and its quantization known. */
bool nuc_runner_is_quantized_output(const struct nuc_runner *r, size_t index);

/* One inference: inputs and outputs in logical order, of the bytes that nuc_runner_input() and _output() tell. */
enum nuc_status nuc_runner_run(struct nuc_runner *r, const void *const *inputs, void *const *outputs);

/* Input or output `index` of the last inference as it lies in the program's memory, until the next one. */
const void *nuc_runner_raw(const struct nuc_runner *r, bool input, size_t index, size_t *bytes);

/* The file's bytes and the loaded program, for traces and profiles. */
const void *nuc_runner_image(const struct nuc_runner *r, size_t *size);
struct nuc_program *nuc_runner_program(struct nuc_runner *r);

/* The memory that the runtime takes for the program file at `path`. */
enum nuc_status nuc_runner_sizes(struct nuc_compiler *c, const char *path, struct nuc_program_sizes *out);

#ifdef __cplusplus
}
#endif
#endif
