/* Made by nucleon codegen. The program file, read in place, in one static block of memory; of the kernels the image has those of the tables. */
#include <string.h>

#include "inference.h"

#include "@NAME@_tables.h"

/*
 * State, planned tensors and temporary memory. With another driver than the simulator a delegate may take more:
 * inference_load() says so.
 */
#ifndef MEMORY_BYTES
#define MEMORY_BYTES @MEMORY_BYTES@
#endif

/* Where it lies: nothing, or __attribute__((section("..."))). The NPU reads and writes it. */
#ifndef ARENA
#define ARENA
#endif

extern const uint8_t program_start[], program_end[]; /* program.S */

static ARENA _Alignas(NUC_MEMORY_ALIGNMENT) uint8_t memory[MEMORY_BYTES];
static size_t taken;

/* Planned memories and temporary memory that lie in banks of their own, by the program; NULL: in the block. */
@BANKS@

static struct nuc_program program;
static void *input_data[N_INPUTS + 1];

#if @UPPER@_TABLES_DECISIONS > 0
/* What the program carries of decisions, which another program of this image may have others of. */
static struct nuc_decision_rule rule;
static struct nuc_decider decider;
static struct nuc_found found[@UPPER@_TABLES_FOUND];
static float history[@UPPER@_TABLES_HISTORY + 1];
static bool has_run, has_decided; /* the last inference */

static void begin_decisions(void)
{
    nuc_decider_reset(&decider);
    has_run = has_decided = false;
}

static enum nuc_status load_decision(struct nuc_detail *detail)
{
    enum nuc_status status = nuc_program_decision(&program, &rule, detail);

    decider = (struct nuc_decider){.decision = NULL};
    if (status != NUC_OK)
        return status == NUC_UNSUPPORTED ? NUC_OK : status;
    status = nuc_decider_init(&decider, &rule, found, @UPPER@_TABLES_FOUND, history, @UPPER@_TABLES_HISTORY);
    if (status != NUC_OK)
        *detail = (struct nuc_detail){.message = "the decision takes more memory than the image was made for"};
    begin_decisions();
    return status;
}
#endif

/* NULL when so much is not left. */
static void *take(size_t size)
{
    size_t rounded = (size + NUC_MEMORY_ALIGNMENT - 1) / NUC_MEMORY_ALIGNMENT * NUC_MEMORY_ALIGNMENT;

    if (rounded > sizeof memory - taken)
        return NULL;
    taken += rounded;
    return memory + taken - rounded;
}

static void *place_memory(size_t index, size_t size)
{
    if (banks[index].data == NULL)
        return take(size);
    return size <= banks[index].bytes ? banks[index].data : NULL;
}

/* Inputs and outputs for which the program plans no memory get some here. */
static enum nuc_status place(struct nuc_detail *detail)
{
    struct nuc_tensor t;
    enum nuc_status status = NUC_OK;

    for (size_t i = 0; i < N_INPUTS && status == NUC_OK; i++) {
        status = nuc_program_input_info(&program, i, &t);
        input_data[i] = t.planned ? t.data : take(t.bytes);
        if (input_data[i] == NULL)
            return NUC_NO_MEMORY;
    }
    for (size_t i = 0; i < N_OUTPUTS && status == NUC_OK; i++) {
        status = nuc_program_output_info(&program, i, &t);
        if (status == NUC_OK && !t.planned && !t.constant)
            status = nuc_program_set_output(&program, i, take(t.bytes), t.bytes, detail);
    }
    return status;
}

enum nuc_status inference_load(struct nuc_detail *detail)
{
    const size_t size = (size_t)(program_end - program_start);
    struct nuc_program_memory m = {.state = NULL};
    struct nuc_program_sizes sizes;

    enum nuc_status status = nuc_program_verify(program_start, size, detail);
    if (status != NUC_OK && status != NUC_UNSUPPORTED) /* a program of --no-metadata has no checksum */
        return status;
    *detail = (struct nuc_detail){.message = "the NPU's driver does not start"};
    status = @NAME@_tables_start();
    if (status == NUC_OK)
        status = nuc_program_sizes(program_start, size, &@NAME@_tables_backends, &sizes, detail);
    if (status != NUC_OK)
        return status;
    m.state = take(m.state_size = sizes.state);
    for (size_t i = 0; i < sizes.n_planned; i++)
        m.planned[i] = place_memory(i, m.planned_size[i] = sizes.planned[i]);
    m.temporary = place_memory(sizes.n_planned, m.temporary_size = sizes.temporary);
    status = nuc_program_load(&program, program_start, size, &m, &@NAME@_tables_kernels, &@NAME@_tables_backends, detail);
    if (status == NUC_OK)
        status = place(detail);
#if @UPPER@_TABLES_DECISIONS > 0
    if (status == NUC_OK)
        status = load_decision(detail);
#endif
    return status;
}

struct tensor inference_input(size_t index)
{
    struct nuc_tensor t;

    if (nuc_program_input_info(&program, index, &t) != NUC_OK)
        return (struct tensor){NULL, 0};
    return (struct tensor){input_data[index], t.bytes};
}

enum nuc_status inference_run(struct nuc_detail *detail)
{
    enum nuc_status status = NUC_OK;

    for (size_t i = 0; i < N_INPUTS && status == NUC_OK; i++) {
        struct tensor t = inference_input(i);
        status = nuc_program_set_input(&program, i, t.data, t.bytes, detail);
    }
    if (status == NUC_OK)
        status = nuc_program_execute(&program, detail);
#if @UPPER@_TABLES_DECISIONS > 0
    has_run = status == NUC_OK && decider.decision != NULL;
    has_decided = false;
#endif
    return status;
}

void inference_reset(void)
{
    (void)nuc_program_reset(&program, NULL); /* fails for a program that is not loaded alone */
#if @UPPER@_TABLES_DECISIONS > 0
    begin_decisions();
#endif
}

void inference_save(void *to)
{
    struct nuc_tensor t;
    uint8_t *at = to;

    for (size_t i = 0; nuc_program_state(&program, i, &t) == NUC_OK; at += t.bytes, i++)
        memcpy(at, t.data, t.bytes);
}

void inference_restore(const void *from)
{
    struct nuc_tensor t;
    const uint8_t *at = from;

    for (size_t i = 0; nuc_program_state(&program, i, &t) == NUC_OK; at += t.bytes, i++)
        memcpy(t.data, at, t.bytes);
}

#ifdef @UPPER@_FOUND
const struct nuc_decider *inference_decide(void)
{
#if @UPPER@_TABLES_DECISIONS > 0
    if (has_run && !has_decided)
        has_decided = nuc_program_decide(&program, &decider) == NUC_OK;
    return has_decided ? &decider : NULL;
#else
    return NULL;
#endif
}
#endif

struct tensor inference_output(size_t index)
{
    struct nuc_tensor t;

    if (nuc_program_output(&program, index, &t) != NUC_OK)
        return (struct tensor){NULL, 0};
    return (struct tensor){t.data, t.bytes};
}
