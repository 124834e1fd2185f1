/*
 * Calls of the NPU driver in any order. The input is a pair (fuzz_support.h) of a payload and the calls, of four bytes
 * each: what to call, and three arguments. Two handles, whose memory is the application's: what an application gets
 * wrong (handles that are not prepared, prepared twice, unaligned, buffers missing) is an error and nothing else.
 */
#include <stdlib.h>
#include <string.h>

#include "device/base/microcode.h"
#include "device/npusim/npu.h"
#include "fuzz_backend.h"
#include "fuzz_support.h"
#include "nucleon/NeutronDriver.h"

#define MOST_BYTES 8192
#define MOST_CALLS 24
#define MOST_PORTS 16

enum call {
    PREPARE,
    RUN,
    UNPREPARE,
    SUSPEND,
    RESUME,
    TRACE,
    GET_TRACE,
    CONFIG,
    READY,
    INIT,
    DEINIT,
    SETUP,
    CUSTOM,
    NOTHING,
    N_CALLS
};

struct session {
    uint8_t *microcode, *weights; /* copies of exactly the sizes that the microcode states */
    size_t microcode_size;
    uint32_t n_inputs, n_outputs, sizes[MOST_PORTS], scratch, profile, debug, staging;
    uint8_t *memory[2];                         /* of the handles */
    NeutronModelHandle handles[2], prepared[2]; /* what calls are given, and NULL or what has to be given back */
    uint8_t *blocks[MOST_PORTS + 4];
    int inits;
    NeutronError last; /* of the last run */
    char trace[256];
};

static void copy(void *to, void *from, uint32_t size, uint32_t channel)
{
    (void)channel;
    memcpy(to, from, size);
}

static void copy_nothing(void *to, void *from, uint32_t size, uint32_t channel)
{
    (void)to;
    (void)from;
    (void)size;
    (void)channel;
}

static void wait(uint32_t channel)
{
    (void)channel;
}

static void prepare(struct session *s, const uint8_t *call)
{
    unsigned which = call[1] & 1;
    NeutronModelConfig config = {s->microcode, s->weights, s->weights, call[3]};

    if ((call[1] & 2) != 0)
        config.microcode = (call[2] & 1) != 0 ? NULL : s->microcode + call[2] % 16;
    if ((call[1] & 4) != 0)
        config.weights = (call[2] & 1) != 0 ? NULL : s->weights + call[2] % 16;
    s->handles[which] = s->memory[which] + ((call[1] & 8) != 0 ? call[2] % 16 : 0);
    NeutronError e = neutronModelPrepare(&config, &s->handles[which]);
    if (e == ENONE)
        s->prepared[which] = s->handles[which];
    else if (s->handles[which] != NEUTRON_INVALID_HANDLE && s->handles[which] != s->prepared[which])
        fuzz_broken("a handle that was not prepared is not invalid");
}

static void run(struct session *s, const uint8_t *call)
{
    unsigned which = call[1] & 1;
    const void *inputs[MOST_PORTS];
    void *outputs[MOST_PORTS + 3];
    NeutronDataConfig data = {inputs, outputs, NULL, s->blocks[s->n_inputs + s->n_outputs + 3]};

    for (uint32_t i = 0; i < s->n_inputs; i++)
        inputs[i] = s->blocks[i];
    for (uint32_t i = 0; i < s->n_outputs + 3; i++)
        outputs[i] = s->blocks[s->n_inputs + i];
    if ((call[1] & 2) != 0)
        outputs[call[2] % (s->n_outputs + 3)] = NULL;
    if ((call[1] & 4) != 0 && s->n_inputs != 0)
        inputs[call[2] % s->n_inputs] = (call[3] & 1) != 0 ? NULL : s->blocks[0] + call[3] % 16;
    if ((call[1] & 8) != 0)
        data.scratchWeights = NULL;
    if ((call[1] & 16) != 0)
        data.outputs = NULL;
    s->last = (call[1] & 32) != 0 ? neutronRunNonBlocking(s->handles[which], &data)
                                  : neutronRunBlocking(s->handles[which], (call[1] & 64) != 0 ? NULL : &data);
}

/* Trace functions, which a release build of the driver does not have. */
static void trace(struct session *s, const uint8_t *call, bool set)
{
#ifndef NDEBUG
    NeutronModelHandle handle = s->handles[call[1] & 1];
    NeutronTraceConfig config = {call[2] & 3u, (call[1] & 2) != 0 ? s->trace : NULL, call[3]};
    char *text;
    size_t size;

    if (set)
        neutronSetTrace(handle, (call[1] & 4) != 0 ? NULL : &config);
    else
        neutronGetTrace(handle, (call[1] & 2) != 0 ? NULL : &text, (call[1] & 4) != 0 ? NULL : &size);
#else
    (void)s;
    (void)call;
    (void)set;
#endif
}

static void make(struct session *s, const uint8_t *call)
{
    unsigned which = call[1] & 1;
    bool ready;
    NeutronConfig config = {(call[1] & 2) != 0   ? copy
                            : (call[1] & 4) != 0 ? copy_nothing
                                                 : NULL,
                            (call[1] & 8) != 0 ? wait : NULL};
    NeutronModelHandle custom = NULL;

    switch ((enum call)(call[0] % N_CALLS)) {
    case PREPARE:
        prepare(s, call);
        return;
    case RUN:
        run(s, call);
        return;
    case UNPREPARE:
        if (neutronModelUnprepare(s->handles[which]) == ENONE)
            s->prepared[which] = NULL;
        return;
    case SUSPEND:
        neutronSuspend();
        return;
    case RESUME:
        neutronResume();
        return;
    case TRACE:
        trace(s, call, true);
        return;
    case GET_TRACE:
        trace(s, call, false);
        return;
    case CONFIG:
        neutronSetConfig((call[1] & 16) != 0 ? NULL : &config);
        return;
    case READY:
        neutronIsReady(s->handles[which], (call[1] & 2) != 0 ? NULL : &ready);
        return;
    case INIT:
        s->inits += neutronInit() == ENONE;
        return;
    case DEINIT:
        s->inits -= neutronDeinit() == ENONE;
        return;
    case SETUP:
        neutronDataSetup(s->handles[which], NULL);
        neutronWait(s->handles[which], NULL);
        return;
    case CUSTOM:
        neutronCustomPrepare(NULL, call[1], NULL, call[2], NULL, call[3], &custom);
        neutronCustomExec(s->handles[which], NULL);
        return;
    case NOTHING:
    case N_CALLS:
        return;
    }
}

/* Buffers of the sizes in the microcode's header. False: there are too many, or they are too large. */
static bool read_sizes(struct session *s, const uint8_t *microcode, size_t size)
{
    s->n_inputs = nuc_load_u32(microcode + 4 * NUC_MC_WORD_INPUTS);
    s->n_outputs = nuc_load_u32(microcode + 4 * NUC_MC_WORD_OUTPUTS);
    s->scratch = nuc_load_u32(microcode + 4 * NUC_MC_WORD_SCRATCH);
    s->profile = nuc_load_u32(microcode + 4 * NUC_MC_WORD_PROFILE);
    s->staging = nuc_load_u32(microcode + 4 * NUC_MC_WORD_PREFETCH);
    uint64_t table = nuc_load_u32(microcode + 4 * NUC_MC_WORD_IO_OFFSET);
    if (s->n_inputs > MOST_PORTS || s->n_outputs > MOST_PORTS - s->n_inputs || s->scratch > 4 * MOST_BYTES ||
        s->profile > MOST_BYTES || s->staging > MOST_BYTES || table + 4 * (s->n_inputs + s->n_outputs) > size)
        return false;
    for (uint32_t i = 0; i < s->n_inputs + s->n_outputs; i++) {
        s->sizes[i] = nuc_load_u32(microcode + table + 4 * (size_t)i);
        if (s->sizes[i] > MOST_BYTES)
            return false;
    }
    return true;
}

static void open(struct session *s)
{
    uint32_t n = s->n_inputs + s->n_outputs;

    for (uint32_t i = 0; i < n; i++)
        s->blocks[i] = fuzz_block(s->sizes[i]);
    s->blocks[n] = fuzz_block(s->scratch);
    s->blocks[n + 1] = fuzz_block(s->profile);
    s->blocks[n + 2] = fuzz_block(0);
    s->blocks[n + 3] = fuzz_block(s->staging);
    for (unsigned i = 0; i < 2; i++)
        s->handles[i] = s->memory[i] = fuzz_block(neutronGetModelContextSize() + 16);
}

static void close(struct session *s)
{
    static NeutronConfig none;

    for (unsigned i = 0; i < 2; i++) {
        neutronModelUnprepare(s->prepared[i]);
        free(s->memory[i]);
    }
    for (size_t i = 0; i < sizeof s->blocks / sizeof s->blocks[0]; i++)
        free(s->blocks[i]);
    for (; s->inits > 0; s->inits--)
        neutronDeinit();
    neutronResume();
    neutronSetConfig(&none);
}

static void play(struct session *s, const uint8_t *microcode, size_t left, struct nuc_span calls)
{
    struct nuc_npu npu;
    uint32_t where, size = nuc_load_u32(microcode + 4 * NUC_MC_WORD_SIZE);
    uint32_t weights = nuc_load_u32(microcode + 4 * NUC_MC_WORD_WEIGHTS);
    struct nuc_span code, data;
    const struct nuc_span all = {microcode, left};

    if (!nuc_span_slice(all, 0, size, &code) || size < 4 * NUC_MC_HEADER_WORDS ||
        !nuc_span_slice(all, nuc_align_up(size, NUC_MC_ALIGNMENT), weights, &data) ||
        !read_sizes(s, microcode, code.size)) {
        fuzz_verdict("microcode that is cut off or has large buffers");
        return;
    }
    s->microcode = fuzz_copy(code.data, code.size);
    s->weights = fuzz_copy(data.data, data.size);
    if (nuc_npu_verify(s->microcode, s->weights, FUZZ_MOST_WORK, &npu, &where) == NPU_FINE) {
        open(s);
        s->last = 1;
        for (size_t i = 0; i + 4 <= calls.size && i < 4 * MOST_CALLS; i += 4)
            make(s, calls.data + i);
        close(s);
        fuzz_verdict(s->last == ENONE ? NULL : "the last run failed");
    } else {
        fuzz_verdict("microcode that is wrong, or too much work for a fuzzer");
    }
    free(s->microcode);
    free(s->weights);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nuc_span payload, calls;
    struct session s = {.inits = 0};
    size_t left;

    if (!fuzz_pair(data, size, &payload, &calls)) {
        fuzz_verdict("is no pair");
        return 0;
    }
    uint8_t *copy_of = fuzz_copy(payload.data, payload.size);
    const uint8_t *microcode = fuzz_microcode(copy_of, payload.size, &left);
    if (microcode != NULL)
        play(&s, microcode, left, calls);
    else
        fuzz_verdict("is no payload");
    free(copy_of);
    return 0;
}
