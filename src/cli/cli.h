/* What the subcommands share: messages of one line, a progress bar, runs of programs. */
#ifndef NUC_CLI_H
#define NUC_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "nucleon/compile.h"
#include "nucleon/runtime.h"

enum cli_exit { CLI_OK = 0, CLI_BAD_INPUT = 1, CLI_BAD_USAGE = 2, CLI_PROPERTY = 3 };

/* "nucleon: <message>" on standard error, control characters removed; returns the exit code of the status. */
int cli_report(enum nuc_status status, const char *message);

/* The same for a mistake in how the command was called. */
int cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Callbacks for struct nuc_options: a bar on a terminal, nothing in a pipe; notes on standard error. */
void cli_progress(void *user, const char *what, size_t done, size_t total);
void cli_warn(void *user, const char *message);

/* ---- programs on the host ---- */

struct cli_io {
    char name[24]; /* "in0", "out0", ... */
    void *block;   /* its bytes in the program's dim order; NULL: an output in planned memory */
    size_t bytes;  /* of the block */
    /* An int8 tensor whose quantization the program gives; real value = (q - zero_point) * scale. */
    bool quantized;
    double scale, zero_point, quant_min, quant_max;
    /* The caller gives or takes float32 instead of int8. */
    bool as_float;
};

struct cli_program {
    unsigned char *image; /* aligned copy of the file */
    size_t size;
    struct nuc_program_sizes sizes;
    struct nuc_program_memory memory;
    struct nuc_program program;
    struct cli_io *inputs, *outputs;
    struct nuc_detail detail; /* of the runtime's last call */
    bool loaded;
    bool driver;
};

/* Reads, verifies and prepares a program; prints one line and returns the exit code when it cannot. */
int cli_program_open(struct cli_program *p, const char *path);

/* The same for a program in memory, which is copied; `name` stands in messages. */
int cli_program_open_bytes(struct cli_program *p, const char *name, const void *bytes, size_t size);
void cli_program_close(struct cli_program *p);

/* One line about the memory the runtime takes for a program file; nothing for other files. */
void cli_print_memory(const char *path);

/* Inputs and outputs as the caller sees them, float32 where as_float is set. */
int cli_program_input(const struct cli_program *p, size_t index, struct nuc_tensor_info *out);
int cli_program_output(const struct cli_program *p, size_t index, struct nuc_tensor_info *out);

/*
 * Lets data without int8 arrays stand for the float values of quantized inputs; then quantized outputs are given as
 * float32, too.
 */
void cli_program_suit(struct cli_program *p, const struct nuc_dataset *data);

/* Quantized outputs as float32 from now on. */
void cli_program_float_outputs(struct cli_program *p);

/*
 * One inference: inputs and outputs in logical order; they are rearranged to and from the dim order the program
 * declares. Prints and returns the exit code on failure.
 */
int cli_program_run(struct cli_program *p, const char *path, const void *const *inputs, void *const *outputs);

/* ---- blocks of tensors ---- */

/* For each tensor a block of `samples` times its bytes; the second and third for outputs. NULL: memory is exhausted. */
void **cli_blocks_new(const struct nuc_tensor_info *tensors, size_t count, size_t samples);
void **cli_model_blocks(const struct nuc_model *m, size_t n_outputs);
void **cli_program_blocks(const struct cli_program *p);

/* `blocks` may be NULL. */
void cli_blocks_free(void **blocks, size_t count);

#endif
