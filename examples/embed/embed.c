/* A program that is linked into the firmware, in static memory: loaded once, run any number of times. */
#include "embed.h"

/* At least what `nucleon inspect` prints; embed_load() says when one is too small. */
#define STATE_BYTES 4096
#define PLANNED_BYTES 65536
#define TEMPORARY_BYTES 65536

/* The bytes of model.pte, aligned to 16: model.S. */
extern const uint8_t model_start[];
extern const uint8_t model_end[];

static _Alignas(NUC_MEMORY_ALIGNMENT) uint8_t state[STATE_BYTES];
static _Alignas(NUC_MEMORY_ALIGNMENT) uint8_t planned[PLANNED_BYTES];
static _Alignas(NUC_MEMORY_ALIGNMENT) uint8_t temporary[TEMPORARY_BYTES];
static struct nuc_program program;

/* Verifies the program, finds its kernels and prepares what runs on the NPU: thousands of cycles, once. */
enum nuc_status embed_load(struct nuc_detail *detail)
{
    const struct nuc_program_memory memory = {
        .state = state,
        .state_size = sizeof state,
        .planned = {planned},
        .planned_size = {sizeof planned},
        .temporary = temporary,
        .temporary_size = sizeof temporary,
    };

    return nuc_program_load(&program, model_start, (size_t)(model_end - model_start), &memory, &nuc_default_kernels,
                            &nuc_default_backends, detail);
}

size_t embed_input_bytes(void)
{
    struct nuc_tensor input;

    return nuc_program_input_info(&program, 0, &input) == NUC_OK ? input.bytes : 0;
}

/* The input is set before each execution, since its memory is used for other tensors after it has been read. */
size_t embed_run(const void *input, size_t input_bytes, const void **output, struct nuc_detail *detail)
{
    struct nuc_tensor result;

    if (nuc_program_set_input(&program, 0, input, input_bytes, detail) != NUC_OK ||
        nuc_program_execute(&program, detail) != NUC_OK || nuc_program_output(&program, 0, &result) != NUC_OK)
        return 0;
    *output = result.data;
    return result.bytes;
}
