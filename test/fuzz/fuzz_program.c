/*
 * The runtime on program files: every image is either refused or runs to its end inside the memory it asked for. The
 * blocks have exactly the sizes asked for, so that AddressSanitizer sees the first byte beyond.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_backend.h"
#include "fuzz_support.h"
#include "nucleon/NeutronDriver.h"
#include "nucleon/runtime.h"

/* Bounds the work. */
#define MOST_BYTES 65536
#define MOST_INSTRUCTIONS 512

static size_t rounded(size_t size)
{
    return nuc_align_up(size, NUC_MEMORY_ALIGNMENT);
}

/* aligned_alloc() expects a multiple of the alignment; what exceeds `size` is at the block's end. */
static void *exact_block(size_t size)
{
    return size == 0 ? NULL : memset(aligned_alloc(NUC_MEMORY_ALIGNMENT, rounded(size)), 0, rounded(size));
}

static bool small(const struct nuc_program_sizes *s)
{
    size_t total = 0;

    for (size_t i = 0; i < s->n_planned; i++) {
        if (s->planned[i] > MOST_BYTES)
            return false;
        total += s->planned[i];
    }
    return total <= MOST_BYTES && s->temporary <= 2 * MOST_BYTES && s->state <= 8 * MOST_BYTES;
}

static bool set_io(struct nuc_program *p, void **blocks, size_t *n_blocks)
{
    struct nuc_tensor t;

    for (size_t i = 0; i < nuc_program_n_inputs(p) && i < 8; i++) {
        if (nuc_program_input_info(p, i, &t) != NUC_OK || t.bytes > MOST_BYTES)
            return false;
        blocks[*n_blocks] = fuzz_block(t.bytes);
        if (nuc_program_set_input(p, i, blocks[(*n_blocks)++], t.bytes, NULL) != NUC_OK)
            return false;
    }
    for (size_t i = 0; i < nuc_program_n_outputs(p) && i < 8; i++) {
        if (nuc_program_output_info(p, i, &t) != NUC_OK || t.bytes > MOST_BYTES)
            return false;
        if (t.planned || t.constant)
            continue;
        blocks[*n_blocks] = fuzz_block(t.bytes);
        if (nuc_program_set_output(p, i, blocks[(*n_blocks)++], t.bytes, NULL) != NUC_OK)
            return false;
    }
    return true;
}

static void ask(const uint8_t *image, size_t size)
{
    static const char *const names[] = {"input0_scale", "input0_zp", "output0_quant_max", ""};
    double number;
    const void *data;
    size_t bytes, sum = 0;

    if (nuc_program_named_data(image, size, "nucleon", &data, &bytes, NULL) == NUC_OK) {
        for (size_t i = 0; i < bytes; i++)
            sum += ((const uint8_t *)data)[i];
    }
    if (sum == SIZE_MAX)
        fuzz_broken("unreachable");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        nuc_program_number(image, size, names[i], &number, NULL);
}

/* The bytes a profile shows must be readable; their sum keeps the reads. */
static void read_profile(void *user, uint32_t instruction, const uint8_t *records, size_t bytes)
{
    unsigned *sum = user;

    for (size_t i = 0; i < bytes; i++)
        *sum += records[i] ^ instruction;
}

static enum nuc_status run(struct nuc_program *p, struct nuc_detail *detail)
{
    enum nuc_status status = NUC_NO_MEMORY;
    void *blocks[16];
    size_t n_blocks = 0;
    unsigned sum = 0;

    nuc_program_profile(p, read_profile, &sum);
    /* Twice: an execution must leave the program fit for another one. */
    for (int k = 0; k < 2 && p->n_instructions <= MOST_INSTRUCTIONS; k++) {
        if (set_io(p, blocks, &n_blocks) && (status = nuc_program_execute(p, detail)) == NUC_OK) {
            struct nuc_tensor t;
            for (size_t i = 0; i < nuc_program_n_outputs(p); i++)
                nuc_program_output(p, i, &t);
        }
        while (n_blocks > 0)
            free(blocks[--n_blocks]);
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *image = fuzz_copy(data, size);
    struct nuc_program_sizes sizes;
    struct nuc_program_memory m = {.state = NULL};
    struct nuc_program program;
    struct nuc_detail detail = {.message = NULL};

    neutronInit();
    ask(image, size);
    enum nuc_status status = nuc_program_sizes(image, size, &fuzz_backends, &sizes, &detail);
    if (status == NUC_OK && !small(&sizes))
        status = NUC_NO_MEMORY;
    fuzz_verdict_of(status, &detail);
    if (status == NUC_OK) {
        m.state = exact_block(m.state_size = sizes.state);
        m.temporary = exact_block(m.temporary_size = sizes.temporary);
        for (size_t i = 0; i < sizes.n_planned; i++)
            m.planned[i] = exact_block(m.planned_size[i] = sizes.planned[i]);
        status = nuc_program_load(&program, image, size, &m, &nuc_default_kernels, &fuzz_backends, &detail);
        if (status == NUC_OK) {
            status = run(&program, &detail);
            nuc_program_unload(&program);
        }
        fuzz_verdict_of(status, &detail);
        for (size_t i = 0; i < sizes.n_planned; i++)
            free(m.planned[i]);
        free(m.state);
        free(m.temporary);
    }
    neutronDeinit();
    free(image);
    return 0;
}
