/* Header, tables and list of records of a program. */
#include <string.h>

#include "device/base/microcode_header.h"
#include "device/base/npu_cost.h"
#include "npu.h"

static uint32_t word(const uint8_t *microcode, uint32_t index)
{
    return nuc_load_u32(microcode + (size_t)index * 4);
}

/*
 * Reads the header, whose words not named are zero. The sizes of inputs and outputs follow it, then the calls, without
 * gaps: a word that says something else is damaged.
 */
static enum nuc_npu_fault verify_header(const uint8_t *mc, struct nuc_npu *npu, uint32_t *detail)
{
    const uint32_t io = NUC_MC_HEADER_WORDS * 4, size = word(mc, NUC_MC_WORD_SIZE);
    const struct nuc_mc_buffers b = nuc_mc_buffers_of(mc, nuc_mc_payload_version(mc));
    const uint32_t calls = io + (b.n_inputs + b.n_outputs) * 4;
    const struct {
        uint32_t index, value;
    } known[] = {{NUC_MC_WORD_HEADER_SIZE, io},
                 {NUC_MC_WORD_LAYOUT, 1 - nuc_mc_payload_version(mc)},
                 {5, 0},
                 {NUC_MC_WORD_IO_OFFSET, io},
                 {NUC_MC_WORD_CALLS_OFFSET, calls},
                 {NUC_MC_HEADER_WORDS - 1, 0}};

    *detail = NUC_MC_WORD_INPUTS;
    if (b.n_inputs > NUC_MC_MAX_IO || b.n_outputs > NUC_MC_MAX_IO)
        return NPU_BAD_LAYOUT;
    for (uint32_t i = 0; i < sizeof known / sizeof *known; i++) {
        *detail = known[i].index;
        if (word(mc, known[i].index) != known[i].value)
            return NPU_BAD_LAYOUT;
    }
    *detail = NUC_MC_WORD_NPU;
    npu->kind = (uint8_t)nuc_npu_with_code(word(mc, NUC_MC_WORD_NPU));
    if (npu->kind == NUC_NPU_KINDS)
        return NPU_BAD_LAYOUT;
    *detail = NUC_MC_WORD_SIZE;
    if (size < calls || size % 4 != 0)
        return NPU_BAD_LAYOUT;
    npu->n_inputs = b.n_inputs;
    npu->n_outputs = b.n_outputs;
    npu->n_calls = word(mc, NUC_MC_WORD_CALLS);
    npu->scratch_size = word(mc, NUC_MC_WORD_SCRATCH);
    npu->profile_size = b.profile;
    npu->weights_size = word(mc, NUC_MC_WORD_WEIGHTS);
    npu->staging_size = b.prefetch;
    npu->readable_end = npu->staging_size == 0 ? npu->weights_size : 0;
    npu->io_sizes = mc + io;
    npu->calls = mc + calls;
    *detail = NUC_MC_WORD_PROFILE;
    if (npu->profile_size != 0 && npu->profile_size < ((uint64_t)npu->n_calls + 1) * NUC_MC_PROFILE_RECORD)
        return NPU_BAD_LAYOUT;
    return NPU_FINE;
}

/* Where the names of the calls end: rows of two offsets, then their texts in order; 0: they do not fit `size` bytes. */
static uint64_t names_end(const uint8_t *mc, uint32_t size, uint32_t at, uint32_t n_calls)
{
    uint64_t end = at + (uint64_t)n_calls * 8;

    if (end > size)
        return 0;
    for (uint64_t row = 0; row < (uint64_t)n_calls * 2; row++) {
        uint32_t text = nuc_load_u32(mc + at + row * 4);
        if (text == 0)
            continue;
        if (text != end)
            return 0;
        while (end < size && mc[end] != 0)
            end++;
        if (end++ == size)
            return 0;
    }
    return nuc_align_up((size_t)end, 4);
}

/*
 * The records and the names after them fill the microcode exactly. Whoever calls the driver finds the weights behind
 * the bytes that the header states: so nothing is read there before that number is known to be right.
 */
static enum nuc_npu_fault verify_extent(const uint8_t *mc, const struct nuc_npu *npu, uint32_t *detail)
{
    uint32_t size = word(mc, NUC_MC_WORD_SIZE), names = word(mc, NUC_MC_WORD_NAMES_OFFSET);
    uint32_t at = word(mc, NUC_MC_WORD_CALLS_OFFSET);

    for (uint32_t i = 0; i < npu->n_calls; i++) {
        struct nuc_mc_call call;

        *detail = i;
        if (size - at < sizeof call)
            return NPU_BAD_RECORD;
        memcpy(&call, mc + at, sizeof call);
        uint32_t bytes = nuc_mc_whole_size(call.opcode);
        if (bytes == 0 || call.words != bytes / 4 || bytes > size - at)
            return NPU_BAD_RECORD;
        at += bytes;
    }
    *detail = NUC_MC_WORD_NAMES_OFFSET;
    if (names != 0 && names != at)
        return NPU_BAD_LAYOUT;
    *detail = NUC_MC_WORD_SIZE;
    return size == (names == 0 ? at : names_end(mc, size, at, npu->n_calls)) ? NPU_FINE : NPU_BAD_LAYOUT;
}

/* Copies under way, one per channel, and the window that calls read. */
struct channels {
    struct nuc_mc_fetch fetch[NUC_MC_CHANNELS]; /* size 0: none is under way */
    struct nuc_mc_fetch window;                 /* size 0: none */
    uint32_t revision;                          /* that calls need: 5 for a copy on the channel of the window */
    bool any;                                   /* there has been one */
};

static bool overlaps(const struct nuc_mc_fetch *a, const struct nuc_mc_fetch *b)
{
    return a->size > 0 && b->size > 0 && a->staging_offset < b->staging_offset + b->size &&
           b->staging_offset < a->staging_offset + a->size;
}

/*
 * A copy goes where no other one does. Over the window it may go, of which nothing can be read any more then; before
 * revision 5 the window is gone with the next copy on its channel, too.
 */
static bool verify_fetch_order(struct nuc_npu *npu, struct channels *c, const struct nuc_mc_fetch *f)
{
    for (uint32_t i = 0; i < NUC_MC_CHANNELS; i++) {
        if (overlaps(&c->fetch[i], f))
            return false;
    }
    if (c->fetch[f->channel].size > 0)
        return false;
    bool same_channel = c->window.size > 0 && c->window.channel == f->channel, over = overlaps(&c->window, f);
    if (same_channel && !over && c->revision < 5)
        c->revision = 5;
    if (over || (same_channel && npu->revision < 5)) {
        c->window.size = 0;
        npu->readable_start = npu->readable_end = 0;
    }
    c->fetch[f->channel] = *f;
    c->any = true;
    return true;
}

static bool verify_wait_order(struct nuc_npu *npu, struct channels *c, const struct nuc_mc_fetch *f)
{
    struct nuc_mc_fetch *pending = &c->fetch[f->channel];

    if (pending->size == 0 || pending->weights_offset != f->weights_offset || pending->size != f->size ||
        pending->staging_offset != f->staging_offset)
        return false;
    c->window = *pending;
    pending->size = 0;
    npu->readable_start = (uint32_t)f->weights_offset;
    npu->readable_end = npu->readable_start + (uint32_t)f->size;
    return true;
}

static bool verify_order(struct nuc_npu *npu, struct channels *c, const union nuc_mc_record *r)
{
    uint32_t opcode = nuc_mc_opcode_of(&r->call);

    if (opcode == NUC_MC_OP_FETCH)
        return verify_fetch_order(npu, c, &r->fetch);
    return opcode != NUC_MC_OP_WAIT || verify_wait_order(npu, c, &r->fetch);
}

/* The table of a call that has one: readable constants, for a record that takes it. */
static bool verify_table(const struct nuc_npu *npu, const uint8_t *at, const union nuc_mc_record *r, uint64_t *work)
{
    struct nuc_mc_result result;

    if (!(r->call.opcode & NUC_MC_TABLE))
        return true;
    if (!nuc_mc_result_of(r, &result))
        return false;
    struct nuc_mc_ref table = nuc_mc_table_at(at);
    uint64_t elements = nuc_mc_count(result.rows, result.row);
    *work = *work > UINT64_MAX - elements ? UINT64_MAX : *work + elements;
    return table.where == nuc_mc_where(NUC_MC_WEIGHTS, 0) && table.offset >= npu->readable_start &&
           (uint64_t)table.offset + 256 <= npu->readable_end;
}

/* One record, whose size fits its opcode: its type, then its operands. */
static bool verify_call(struct nuc_npu *npu, struct channels *channels, const uint8_t *at, uint32_t *size,
                        uint64_t *work)
{
    union nuc_mc_record r;

    nuc_mc_load(at, &r);
    uint32_t opcode = nuc_mc_opcode_of(&r.call);
    *size = r.call.words * 4;
    if ((r.call.opcode & ~(NUC_MC_TABLE | NUC_MC_PITCHED)) >> 16 != NUC_MC_I8)
        return false;
    if ((r.call.opcode & NUC_MC_PITCHED) && nuc_mc_optional_size(opcode) == 0)
        return false;
    uint32_t revision = nuc_mc_revision(r.call.opcode);
    if (revision > npu->revision)
        return false;
    channels->revision = revision > channels->revision ? revision : channels->revision;
    if (opcode != NUC_MC_OP_FETCH && opcode != NUC_MC_OP_WAIT && !neutronKernels[opcode])
        return false;
    return nuc_npu_verify_record(npu, &r, work) && verify_table(npu, at, &r, work) && verify_order(npu, channels, &r);
}

enum nuc_npu_fault nuc_npu_verify(const uint8_t *microcode, const uint8_t *weights, uint64_t max_work,
                                  struct nuc_npu *npu, uint32_t *detail)
{
    struct channels channels = {.any = false};
    uint64_t total = 0;
    const uint8_t *at;

    *detail = 0;
    memset(npu, 0, sizeof *npu);
    if (word(microcode, NUC_MC_WORD_MAGIC) != NUC_MC_MAGIC)
        return NPU_BAD_MAGIC;
    *detail = NUC_MC_WORD_VERSION;
    if (!nuc_mc_is_version(word(microcode, NUC_MC_WORD_VERSION)) || neutronKernelsVersion != NUC_MC_VERSION)
        return NPU_BAD_VERSION;
    enum nuc_npu_fault fault = verify_header(microcode, npu, detail);
    if (fault == NPU_FINE)
        fault = verify_extent(microcode, npu, detail);
    if (fault != NPU_FINE)
        return fault;
    npu->weights = weights;
    npu->revision = (uint8_t)word(microcode, NUC_MC_WORD_VERSION); /* its last byte, of a version that exists */
    at = npu->calls;
    for (uint32_t i = 0; i < npu->n_calls; i++) {
        uint64_t work = 0;
        uint32_t size = 0;

        *detail = i;
        if (!verify_call(npu, &channels, at, &size, &work))
            return NPU_BAD_RECORD;
        total = total > UINT64_MAX - work ? UINT64_MAX : total + work;
        if (total > max_work)
            return NPU_TOO_SLOW;
        at += size;
    }
    *detail = NUC_MC_WORD_VERSION;
    if (npu->revision > 4 && npu->revision > channels.revision)
        return NPU_BAD_VERSION;
    *detail = NUC_MC_WORD_PREFETCH;
    return channels.any == (npu->staging_size > 0) ? NPU_FINE : NPU_BAD_LAYOUT;
}
