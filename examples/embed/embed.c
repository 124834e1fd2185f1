/* Loads a program that is linked into the firmware and runs it, in static memory. Sizes: `nucleon inspect`. */
#include "nucleon/runtime.h"

#define STATE_BYTES 4096
#define PLANNED_BYTES 65536
#define TEMPORARY_BYTES 65536

/* The bytes of model.pte, aligned to 16: made by the commands in README.md. */
extern const uint8_t model_start[];
extern const uint8_t model_end[];

static _Alignas(NUC_MEMORY_ALIGNMENT) uint8_t state[STATE_BYTES];
static _Alignas(NUC_MEMORY_ALIGNMENT) uint8_t planned[PLANNED_BYTES];
static _Alignas(NUC_MEMORY_ALIGNMENT) uint8_t temporary[TEMPORARY_BYTES];

/* Both in the dim order and element type the program declares. Returns the bytes of the output, 0 on failure. */
size_t embed_run(const void *input, size_t input_bytes, const void **output, struct nuc_detail *detail)
{
    const struct nuc_program_memory memory = {
        .state = state,
        .state_size = sizeof state,
        .planned = {planned},
        .planned_size = {sizeof planned},
        .temporary = temporary,
        .temporary_size = sizeof temporary,
    };
    struct nuc_program program;
    struct nuc_tensor result;

    if (nuc_program_load(&program, model_start, (size_t)(model_end - model_start), &memory, &nuc_default_kernels,
                         &nuc_default_backends, detail) != NUC_OK ||
        nuc_program_set_input(&program, 0, input, input_bytes, detail) != NUC_OK ||
        nuc_program_execute(&program, detail) != NUC_OK || nuc_program_output(&program, 0, &result) != NUC_OK)
        return 0;
    *output = result.data;
    return result.bytes;
}
