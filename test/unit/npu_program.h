/* Hand-made programs of kernel calls for tests of the simulator and the driver, run through the driver API. */
#ifndef TEST_NPU_PROGRAM_H
#define TEST_NPU_PROGRAM_H

#include "unit/random.h"

#include "device/base/microcode_table.h"
#include "device/base/span.h"
#include "nucleon/NeutronDriver.h"

#define PROGRAM_BYTES 65536

struct program {
    _Alignas(16) uint8_t microcode[16384];
    _Alignas(16) uint8_t weights[PROGRAM_BYTES];
    _Alignas(16) uint8_t input[3][PROGRAM_BYTES];
    _Alignas(16) uint8_t output[3][PROGRAM_BYTES];
    _Alignas(16) uint8_t scratch[PROGRAM_BYTES];
    _Alignas(16) uint8_t profile[4096];
    _Alignas(16) uint8_t staging[1024];
    uint32_t n_inputs, n_outputs, n_calls, weights_size, scratch_size, profile_size, staging_size;
    uint32_t version; /* 0: NUC_MC_VERSION_4 */
    uint32_t input_size[3], output_size[3];
    uint8_t records[12000];
    uint32_t records_size;
};

static inline struct program *program_new(void)
{
    struct program *p = aligned_alloc(16, nuc_align_up(sizeof *p, 16));

    memset(p, 0, sizeof *p);
    return p;
}

/* Random int8 bytes, the extremes more often than by chance. */
static inline void program_fill(uint32_t *seed, uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t kind = next_random(seed) % 8;
        bytes[i] = kind == 0 ? 0x80 : kind == 1 ? 0x7F : (uint8_t)next_random(seed);
    }
}

static inline struct nuc_mc_ref program_input(struct program *p, uint32_t size, uint32_t *seed)
{
    uint32_t i = p->n_inputs++;

    p->input_size[i] = size;
    program_fill(seed, p->input[i], size);
    return (struct nuc_mc_ref){nuc_mc_where(NUC_MC_INPUT, i), 0};
}

static inline struct nuc_mc_ref program_output(struct program *p, uint32_t size)
{
    uint32_t i = p->n_outputs++;

    p->output_size[i] = size;
    return (struct nuc_mc_ref){nuc_mc_where(NUC_MC_OUTPUT, i), 0};
}

static inline struct nuc_mc_ref program_weights(struct program *p, const void *data, uint32_t size)
{
    uint32_t at = (uint32_t)nuc_align_up(p->weights_size, 16);

    memcpy(p->weights + at, data, size);
    p->weights_size = at + size;
    return (struct nuc_mc_ref){nuc_mc_where(NUC_MC_WEIGHTS, 0), at};
}

/* Of the records so far: that of most programs, or what they need. */
static inline void program_state_version(struct program *p, const union nuc_mc_record *r)
{
    if (nuc_mc_revision(r->call.opcode) == 6)
        p->version = NUC_MC_VERSION;
}

static inline void program_call(struct program *p, uint32_t opcode, union nuc_mc_record *r)
{
    uint32_t first_word = nuc_mc_first_word(opcode, r), size = nuc_mc_fields_size(first_word);

    r->call = (struct nuc_mc_call){first_word, size / 4, p->n_calls++, 0};
    program_state_version(p, r);
    memcpy(p->records + p->records_size, r, size);
    p->records_size += size;
}

/* The same with a table of 256 bytes at the end, where calls of that opcode take one. */
static inline void program_call_with_table(struct program *p, uint32_t opcode, union nuc_mc_record *r,
                                           struct nuc_mc_ref table)
{
    uint32_t at = p->records_size;
    struct nuc_mc_result result;

    program_call(p, opcode, r);
    if (!nuc_mc_result_of(r, &result))
        return;
    r->call.opcode |= NUC_MC_TABLE;
    r->call.words += sizeof table / 4;
    program_state_version(p, r);
    memcpy(p->records + at, &r->call, sizeof r->call);
    memcpy(p->records + p->records_size, &table, sizeof table);
    p->records_size += sizeof table;
}

static inline void program_finish(struct program *p)
{
    uint32_t io = NUC_MC_HEADER_WORDS * 4, calls = io + (p->n_inputs + p->n_outputs) * 4;
    const uint32_t header[NUC_MC_HEADER_WORDS] = {
        [NUC_MC_WORD_MAGIC] = NUC_MC_MAGIC,
        [NUC_MC_WORD_VERSION] = p->version != 0 ? p->version : NUC_MC_VERSION_4,
        [NUC_MC_WORD_HEADER_SIZE] = NUC_MC_HEADER_WORDS * 4,
        [NUC_MC_WORD_SIZE] = calls + p->records_size,
        [NUC_MC_WORD_WEIGHTS] = p->weights_size,
        [NUC_MC_WORD_KERNELS] = 1,
        [NUC_MC_WORD_SCRATCH] = p->scratch_size,
        [NUC_MC_WORD_PROFILE] = p->profile_size,
        [NUC_MC_WORD_PREFETCH] = p->staging_size,
        [NUC_MC_WORD_INPUTS] = p->n_inputs,
        [NUC_MC_WORD_OUTPUTS] = p->n_outputs,
        [NUC_MC_WORD_CALLS] = p->n_calls,
        [NUC_MC_WORD_IO_OFFSET] = io,
        [NUC_MC_WORD_CALLS_OFFSET] = calls,
    };

    for (uint32_t i = 0; i < NUC_MC_HEADER_WORDS; i++)
        nuc_store_u32(p->microcode + i * 4, header[i]);
    for (uint32_t i = 0; i < p->n_inputs; i++)
        nuc_store_u32(p->microcode + io + i * 4, p->input_size[i]);
    for (uint32_t i = 0; i < p->n_outputs; i++)
        nuc_store_u32(p->microcode + io + (p->n_inputs + i) * 4, p->output_size[i]);
    memcpy(p->microcode + calls, p->records, p->records_size);
}

static inline void program_set_word(struct program *p, uint32_t index, uint32_t value)
{
    nuc_store_u32(p->microcode + index * 4, value);
}

static inline NeutronError program_prepare(struct program *p, NeutronModelHandle *handle)
{
    NeutronModelConfig config = {p->microcode, p->weights, p->scratch, 1};

    *handle = NEUTRON_INVALID_HANDLE;
    return neutronModelPrepare(&config, handle);
}

static inline NeutronError program_run_prepared(struct program *p, NeutronModelHandle handle)
{
    const void *inputs[3] = {p->input[0], p->input[1], p->input[2]};
    void *outputs[6] = {p->output[0], p->output[1], p->output[2], NULL, NULL, NULL};
    NeutronDataConfig data = {inputs, outputs, NULL, p->staging_size > 0 ? p->staging : NULL};

    outputs[p->n_outputs] = p->scratch;
    outputs[p->n_outputs + 1] = p->profile;
    outputs[p->n_outputs + 2] = NULL;
    return neutronRunBlocking(handle, &data);
}

/* Prepares, runs and unprepares. */
static inline NeutronError program_run(struct program *p)
{
    NeutronModelHandle handle;

    program_finish(p);
    NeutronError error = program_prepare(p, &handle);
    if (error == ENONE)
        error = program_run_prepared(p, handle);
    if (handle != NEUTRON_INVALID_HANDLE)
        neutronModelUnprepare(handle);
    return error;
}

#endif
