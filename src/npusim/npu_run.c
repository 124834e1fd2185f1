/* The list of kernel calls, one after the other, and the profile they leave. */
#include <string.h>

#include "base/npu_cost.h"
#include "base/span.h"
#include "npu_host.h"

typedef void (*kernel_function)(const struct nuc_npu_memory *m, const union nuc_mc_record *r);

static const kernel_function kernels[NUC_MC_OPCODE_COUNT] = {
    [NUC_MC_OP_CONV_2D] = npu_conv,
    [NUC_MC_OP_DEPTHWISE_CONV_2D] = npu_depthwise,
    [NUC_MC_OP_TRANSPOSE_CONV] = npu_transpose_conv,
    [NUC_MC_OP_FULLY_CONNECTED] = npu_matmul,
    [NUC_MC_OP_BATCH_MATMUL] = npu_matmul,
    [NUC_MC_OP_ADD] = npu_binary,
    [NUC_MC_OP_SUB] = npu_binary,
    [NUC_MC_OP_MUL] = npu_binary,
    [NUC_MC_OP_MAXIMUM] = npu_binary,
    [NUC_MC_OP_MINIMUM] = npu_binary,
    [NUC_MC_OP_PRELU] = npu_binary,
    [NUC_MC_OP_AVERAGE_POOL_2D] = npu_average_pool,
    [NUC_MC_OP_MAX_POOL_2D] = npu_max_pool,
    [NUC_MC_OP_MEAN] = npu_reduce,
    [NUC_MC_OP_SUM] = npu_reduce,
    [NUC_MC_OP_REDUCE_MAX] = npu_reduce,
    [NUC_MC_OP_REDUCE_MIN] = npu_reduce,
    [NUC_MC_OP_SOFTMAX] = npu_softmax,
    [NUC_MC_OP_LUT] = npu_lut,
    [NUC_MC_OP_COPY] = npu_copy,
    [NUC_MC_OP_GATHER] = npu_gather,
    [NUC_MC_OP_RESIZE_BILINEAR] = npu_resize_bilinear,
    [NUC_MC_OP_SOFTMAX_TABLE] = npu_softmax_table,
};

void nuc_npu_load(const uint8_t *at, union nuc_mc_record *r)
{
    memcpy(r, at, (size_t)nuc_load_u32(at + 4) * 4);
}

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

void nuc_npu_run(const struct nuc_npu *npu, const struct nuc_npu_memory *memory, uint8_t *profile)
{
    const uint8_t *at = npu->calls;
    struct nuc_npu_clock clock = {.now = 0};

    for (uint32_t i = 0; i < npu->n_calls; i++) {
        union nuc_mc_record r;

        nuc_npu_load(at, &r);
        if (!npu->host || !npu_host_call(npu->host, i, memory, &r))
            kernels[nuc_mc_opcode_of(&r.call)](memory, &r);
        at += (size_t)r.call.words * 4;
        if (profile) {
            uint32_t start = time_word(clock.now);
            uint32_t stop = time_word(nuc_npu_clock_step(&nuc_npu_n3_64, &clock, &r));
            write_profile(profile + (size_t)i * NUC_MC_PROFILE_RECORD, 1 + i % 255, start, stop);
        }
    }
    if (profile)
        write_profile(profile + (size_t)npu->n_calls * NUC_MC_PROFILE_RECORD, 0, time_word(clock.now),
                      time_word(clock.now));
}
