/* The list of kernel calls, one after the other, and the profile they leave. */
#include <string.h>

#include "device/base/npu_cost.h"
#include "device/base/span.h"
#include "npu_host.h"

/* A start and a stop of 8 bytes: event, opcode, function, timestamp code, then the time in cycles. */
static void write_profile(uint8_t *at, uint32_t call, uint32_t start, uint32_t stop)
{
    memset(at, 0, NUC_MC_PROFILE_RECORD);
    at[2] = (uint8_t)call;
    nuc_store_u32(at + 4, start);
    at[9] = NUC_MC_STOP_KERNEL;
    at[10] = (uint8_t)call;
    nuc_store_u32(at + 12, stop);
}

static uint32_t time_word(uint64_t time)
{
    return time > UINT32_MAX ? UINT32_MAX : (uint32_t)time;
}

static enum nuc_npu_stop run_kernel(const struct nuc_npu *npu, struct nuc_npu_memory *memory,
                                    const union nuc_mc_record *r, uint32_t index)
{
    uint32_t opcode = nuc_mc_opcode_of(&r->call);

    if (opcode == NUC_MC_OP_WAIT)
        return nuc_npu_wait(memory, &r->fetch, npu->weights) ? NPU_DONE : NPU_COPY_FAILED;
    if (opcode == NUC_MC_OP_FETCH)
        nuc_npu_fetch(memory, &r->fetch, npu->weights);
    else if (!npu->host || !npu_host_call(npu->host, index, memory, r))
        return neutronKernels[opcode](memory, r) == 0 ? NPU_DONE : NPU_CALL_FAILED;
    return NPU_DONE;
}

/* The table that ends a call: each value of the result, where it lies, becomes the table's entry. */
static void apply_table(const struct nuc_npu_memory *m, const struct nuc_mc_result *result, struct nuc_mc_ref table)
{
    const int8_t *entry = npu_source_i8(m, table) + 128;
    int8_t *row = npu_target_i8(m, result->output);

    for (uint64_t r = 0; r < result->rows; r++, row += result->pitch) {
        for (int32_t i = 0; i < result->row; i++)
            row[i] = entry[row[i]];
    }
}

/* The call whose record begins at `record`, its fields in *r. */
static enum nuc_npu_stop run_call(const struct nuc_npu *npu, struct nuc_npu_memory *memory, const uint8_t *record,
                                  const union nuc_mc_record *r, uint32_t index)
{
    enum nuc_npu_stop stop = run_kernel(npu, memory, r, index);
    struct nuc_mc_result result;

    if (stop != NPU_DONE || !(r->call.opcode & NUC_MC_TABLE) || !nuc_mc_result_of(r, &result))
        return stop;
    if (npu->host)
        npu_host_table(npu->host, memory, &result, nuc_mc_table_at(record));
    else
        apply_table(memory, &result, nuc_mc_table_at(record));
    return NPU_DONE;
}

/* What a fault of the device makes of call `i`. */
static enum nuc_npu_stop fault_at(uint32_t i)
{
    const struct nuc_npu_device *device = nuc_npu_device();

    if (!device->faulty || device->fault.call != i)
        return NPU_DONE;
    if (nuc_npu_fails(NUC_FAULT_DEVICE))
        return NPU_CALL_FAILED;
    return nuc_npu_fails(NUC_FAULT_TIMEOUT) ? NPU_CALL_HANGS : NPU_DONE;
}

/* The end of call `i`, in profile and trace. */
static void note(const struct nuc_npu *npu, const union nuc_mc_record *r, uint32_t i, struct nuc_npu_clock *clock,
                 uint8_t *profile, struct nuc_npu_trace *trace)
{
    uint64_t start = clock->now, stop = nuc_npu_clock_step(&nuc_npus[npu->kind], clock, r);

    if (profile)
        write_profile(profile + (size_t)i * NUC_MC_PROFILE_RECORD, 1 + i % 255, time_word(start), time_word(stop));
    if (trace)
        nuc_npu_trace_call(trace, i, nuc_mc_opcode_of(&r->call), start, stop);
}

enum nuc_npu_stop nuc_npu_run(const struct nuc_npu *npu, const struct nuc_npu_memory *buffers, uint8_t *profile,
                              struct nuc_npu_trace *trace, uint32_t *at)
{
    const struct nuc_npu_device *device = nuc_npu_device();
    struct nuc_npu_memory memory = *buffers;
    const uint8_t *record = npu->calls;
    struct nuc_npu_clock clock = {.now = 0};
    enum nuc_npu_stop stop = NPU_DONE;

    for (*at = 0; *at < npu->n_calls; ++*at) {
        union nuc_mc_record loaded;
        const union nuc_mc_record *r = npu->host ? npu_host_record(npu->host, *at) : &loaded;

        if (!npu->host)
            nuc_mc_load(record, &loaded);
        stop = fault_at(*at);
        if (stop == NPU_DONE)
            stop = run_call(npu, &memory, record, r, *at);
        if (stop != NPU_DONE)
            return stop;
        record += (size_t)r->call.words * 4;
        if (device->watcher != NULL)
            device->watcher(device->watcher_user, npu, *at, nuc_npu_result_sum(&memory, r));
        if (profile || trace)
            note(npu, r, *at, &clock, profile, trace);
    }
    if (profile)
        write_profile(profile + (size_t)npu->n_calls * NUC_MC_PROFILE_RECORD, 0, time_word(clock.now),
                      time_word(clock.now));
    if (trace)
        nuc_npu_trace_end(trace, clock.now);
    return NPU_DONE;
}
