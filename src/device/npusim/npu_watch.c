/* What a kernel call has written, as a CRC-32. */
#include "device/base/program_sum.h"
#include "npu.h"

/* Rows of what a call wrote. Those of calls that take a table are in nuc_mc_result_of(). */
static bool result_of(const union nuc_mc_record *r, struct nuc_mc_result *out)
{
    switch (nuc_mc_opcode_of(&r->call)) {
    case NUC_MC_OP_LUT: {
        const struct nuc_mc_lut *l = &r->lut;
        int32_t run = l->out_pitch != 0 && l->run > 0 ? l->run : l->count;
        *out = (struct nuc_mc_result){l->output, run > 0 ? (uint64_t)(l->count / run) : 0, run, l->out_pitch};
        break;
    }
    case NUC_MC_OP_RESIZE_BILINEAR: {
        const struct nuc_mc_resize *z = &r->resize;
        *out = (struct nuc_mc_result){z->output,
                                      nuc_mc_count(nuc_mc_count(nuc_mc_count(1, z->batches), z->out_h), z->out_w),
                                      z->channels, z->out_pitch};
        break;
    }
    case NUC_MC_OP_GATHER:
        *out = (struct nuc_mc_result){r->gather.output, nuc_mc_count_all(r->gather.shape, r->gather.rank),
                                      r->gather.unit, 0};
        break;
    default:
        return nuc_mc_result_of(r, out);
    }
    if (out->pitch == 0)
        out->pitch = out->row;
    return true;
}

static uint32_t sum_of_copy(const struct nuc_npu_memory *m, const struct nuc_mc_copy *c)
{
    const uint8_t *at = npu_target(m, c->output) + c->out_start;
    int32_t index[NUC_MC_MAX_RANK] = {0};
    uint64_t count = nuc_mc_count_all(c->shape, c->rank);
    uint32_t sum = 0;

    for (uint64_t i = 0; i < count; i++) {
        sum = nuc_crc32(sum, at, (size_t)c->unit);
        for (int32_t d = c->rank - 1; d >= 0; d--) {
            at += c->out_stride[d];
            if (++index[d] < c->shape[d])
                break;
            at -= (int64_t)c->out_stride[d] * c->shape[d];
            index[d] = 0;
        }
    }
    return sum;
}

/* Matrices may have gaps between them. */
static uint32_t sum_of_product(const struct nuc_npu_memory *m, const struct nuc_mc_matmul *g)
{
    uint32_t sum = 0;

    for (int64_t i = 0; i < (int64_t)g->batches * g->rows; i++) {
        int64_t at = npu_out_matrix(g, i / g->rows) + i % g->rows * npu_pitch(g->out_pitch, g->columns);
        sum = nuc_crc32(sum, npu_target(m, g->output) + at, (size_t)g->columns);
    }
    return sum;
}

uint32_t nuc_npu_result_sum(const struct nuc_npu_memory *m, const union nuc_mc_record *r)
{
    const int32_t width = (r->call.opcode >> 16 & 0xFFu) == NUC_MC_I16 ? 2 : 1;
    struct nuc_mc_result result;
    uint32_t sum = 0;

    if (nuc_mc_opcode_of(&r->call) == NUC_MC_OP_COPY)
        return sum_of_copy(m, &r->copy);
    if (nuc_mc_opcode_of(&r->call) == NUC_MC_OP_BATCH_MATMUL || nuc_mc_opcode_of(&r->call) == NUC_MC_OP_FULLY_CONNECTED)
        return sum_of_product(m, &r->matmul);
    if (!result_of(r, &result))
        return 0; /* copies of weights */
    const int64_t pitch = result.pitch == result.row ? (int64_t)result.row * width : result.pitch;
    const uint8_t *at = npu_target(m, result.output);
    for (uint64_t i = 0; i < result.rows; i++, at += pitch)
        sum = nuc_crc32(sum, at, (size_t)(result.row * width));
    return sum;
}
