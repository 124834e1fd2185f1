/*
 * What bits of its first word say of a record. With NUC_MC_TABLE it ends with an operand of 256 bytes, and every value
 * q of the call's result becomes table[q + 128]. Without NUC_MC_PITCHED records are without their last fields:
 * in_pitch, or what products have of matrices in two levels. Freestanding.
 */
#ifndef NUC_DEVICE_BASE_MICROCODE_TABLE_H
#define NUC_DEVICE_BASE_MICROCODE_TABLE_H

#include <stdbool.h>

#include "device/base/microcode.h"
#include "device/base/span.h"

/* Bytes of the last fields that records of the opcode have with NUC_MC_PITCHED alone. */
static inline uint32_t nuc_mc_optional_size(uint32_t opcode)
{
    switch (opcode) {
    case NUC_MC_OP_CONV_2D:
    case NUC_MC_OP_DEPTHWISE_CONV_2D:
    case NUC_MC_OP_TRANSPOSE_CONV:
    case NUC_MC_OP_AVERAGE_POOL_2D:
    case NUC_MC_OP_MAX_POOL_2D:
    case NUC_MC_OP_LUT:
        return 4; /* in_pitch */
    case NUC_MC_OP_FULLY_CONNECTED:
    case NUC_MC_OP_BATCH_MATMUL:
        return 20; /* inner and its strides */
    default:
        return 0;
    }
}

/* Bytes of the fields that a record has, from its first word; 0 for an opcode that does not exist. */
static inline uint32_t nuc_mc_fields_size(uint32_t first_word)
{
    uint32_t opcode = first_word & 0xFFFFu, size = nuc_mc_record_size(opcode);

    return first_word & NUC_MC_PITCHED ? size : size - nuc_mc_optional_size(opcode);
}

/* Bytes of a whole record. */
static inline uint32_t nuc_mc_whole_size(uint32_t first_word)
{
    uint32_t size = nuc_mc_fields_size(first_word);

    return size > 0 && (first_word & NUC_MC_TABLE) ? size + (uint32_t)sizeof(struct nuc_mc_ref) : size;
}

/* The fields of the record at `record`, whose extent has been checked. */
static inline void nuc_mc_load(const uint8_t *record, union nuc_mc_record *r)
{
    uint32_t first_word = nuc_load_u32(record), size = nuc_mc_fields_size(first_word);
    uint8_t *to = (uint8_t *)r;

    for (uint32_t i = 0; i < size; i++)
        to[i] = record[i];
    for (uint32_t i = size; i < nuc_mc_record_size(first_word & 0xFFFFu); i++)
        to[i] = 0;
}

/* The first word of a record with those fields. */
static inline uint32_t nuc_mc_first_word(uint32_t opcode, const union nuc_mc_record *r)
{
    uint32_t optional = nuc_mc_optional_size(opcode);
    const uint8_t *end = (const uint8_t *)r + nuc_mc_record_size(opcode);

    for (uint32_t i = 1; i <= optional; i++) {
        if (end[-(int32_t)i] != 0)
            return opcode | NUC_MC_PITCHED;
    }
    return opcode;
}

/* The oldest revision that has such a record. */
static inline uint32_t nuc_mc_revision(uint32_t first_word)
{
    uint32_t opcode = first_word & 0xFFFFu;
    bool softmax = opcode == NUC_MC_OP_SOFTMAX || opcode == NUC_MC_OP_SOFTMAX_TABLE;
    bool product = opcode == NUC_MC_OP_FULLY_CONNECTED || opcode == NUC_MC_OP_BATCH_MATMUL;

    if ((softmax && (first_word & NUC_MC_TABLE)) || (product && (first_word & NUC_MC_PITCHED)))
        return 6;
    return first_word & (NUC_MC_TABLE | NUC_MC_PITCHED) ? 4 : 3;
}

/* The table of the record at `record`, which has one. */
static inline struct nuc_mc_ref nuc_mc_table_at(const uint8_t *record)
{
    const uint8_t *at = record + nuc_mc_fields_size(nuc_load_u32(record));

    return (struct nuc_mc_ref){nuc_load_u32(at), nuc_load_u32(at + 4)};
}

/* The values of a call's result: `rows` runs of `row` bytes, `pitch` bytes from one to the next. */
struct nuc_mc_result {
    struct nuc_mc_ref output;
    uint64_t rows;
    int32_t row, pitch;
};

/* Saturates: sizes may not have been verified. */
static inline uint64_t nuc_mc_count(uint64_t n, int32_t size)
{
    uint64_t product;

    if (size <= 0)
        return 0;
    return __builtin_mul_overflow(n, (uint64_t)size, &product) ? UINT64_MAX : product;
}

static inline uint64_t nuc_mc_count_all(const int32_t *shape, int32_t rank)
{
    uint64_t n = 1;

    for (int32_t i = 0; i < rank && i < NUC_MC_MAX_RANK; i++)
        n = nuc_mc_count(n, shape[i]);
    return n;
}

/* False: calls with that record take no table. */
static inline bool nuc_mc_result_of(const union nuc_mc_record *r, struct nuc_mc_result *out)
{
    switch (nuc_mc_opcode_of(&r->call)) {
    case NUC_MC_OP_CONV_2D:
    case NUC_MC_OP_DEPTHWISE_CONV_2D:
    case NUC_MC_OP_TRANSPOSE_CONV: {
        const struct nuc_mc_conv *c = &r->conv;
        *out = (struct nuc_mc_result){c->output,
                                      nuc_mc_count(nuc_mc_count(nuc_mc_count(1, c->batches), c->out_h), c->out_w),
                                      c->out_c, c->out_pitch};
        break;
    }
    case NUC_MC_OP_FULLY_CONNECTED:
    case NUC_MC_OP_BATCH_MATMUL: {
        const struct nuc_mc_matmul *g = &r->matmul;
        int64_t matrix = (int64_t)g->rows * (g->out_pitch != 0 ? g->out_pitch : g->columns);
        if (g->inner != 0 && (g->out_inner_stride != matrix || g->out_batch_stride != matrix * g->inner))
            return false; /* matrices are not rows one after the other */
        *out = (struct nuc_mc_result){g->output, nuc_mc_count(nuc_mc_count(1, g->batches), g->rows), g->columns,
                                      g->out_pitch};
        break;
    }
    case NUC_MC_OP_SOFTMAX:
        *out = (struct nuc_mc_result){r->softmax.output, nuc_mc_count(1, r->softmax.rows), r->softmax.depth,
                                      r->softmax.out_pitch};
        break;
    case NUC_MC_OP_SOFTMAX_TABLE:
        *out = (struct nuc_mc_result){r->softmax_table.output, nuc_mc_count(1, r->softmax_table.rows),
                                      r->softmax_table.depth, r->softmax_table.out_pitch};
        break;
    case NUC_MC_OP_ADD:
    case NUC_MC_OP_SUB:
    case NUC_MC_OP_MUL:
    case NUC_MC_OP_MAXIMUM:
    case NUC_MC_OP_MINIMUM:
    case NUC_MC_OP_PRELU: {
        const struct nuc_mc_binary *e = &r->binary;
        int32_t last = e->rank >= 1 && e->rank <= NUC_MC_MAX_RANK ? e->rank - 1 : 0;
        *out = (struct nuc_mc_result){e->output, nuc_mc_count_all(e->shape, last), e->shape[last], e->out_pitch};
        break;
    }
    case NUC_MC_OP_AVERAGE_POOL_2D:
    case NUC_MC_OP_MAX_POOL_2D: {
        const struct nuc_mc_pool *p = &r->pool;
        *out = (struct nuc_mc_result){p->output,
                                      nuc_mc_count(nuc_mc_count(nuc_mc_count(1, p->batches), p->out_h), p->out_w),
                                      p->channels, p->out_pitch};
        break;
    }
    case NUC_MC_OP_MEAN:
    case NUC_MC_OP_SUM:
    case NUC_MC_OP_REDUCE_MAX:
    case NUC_MC_OP_REDUCE_MIN: {
        const struct nuc_mc_reduce *d = &r->reduce;
        *out = (struct nuc_mc_result){d->output, nuc_mc_count_all(d->shape, d->rank), 1, 0};
        break;
    }
    default:
        return false;
    }
    if (out->pitch == 0)
        out->pitch = out->row;
    return true;
}

#endif
