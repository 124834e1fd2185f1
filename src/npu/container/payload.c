#include "npu/container/payload.h"

#include <string.h>

#include "device/base/microcode_header.h"

#define ALIGNMENT NUC_MC_ALIGNMENT

/* Words a runtime reads; version 0 has nothing after the number of outputs. */
#define MIN_WORDS_0 13
#define MIN_WORDS_1 15

static size_t header_size(size_t n_inputs, size_t n_outputs)
{
    return 4 + 2 * n_inputs + 2 * n_outputs;
}

static void check_map(struct nuc_context *cx, const struct nuc_payload_io *io, uint32_t n, uint32_t limit)
{
    for (uint32_t i = 0; i < n; i++) {
        if (io[i].map >= limit || io[i].format > 1)
            nuc_fail(cx, NUC_INTERNAL, "payload: entry %u maps to %u of %u with format %u", i, io[i].map, limit,
                     io[i].format);
    }
}

static void write_header(uint8_t *at, const struct nuc_payload *p)
{
    *at++ = p->n_inputs;
    *at++ = p->n_outputs;
    *at++ = p->n_args;
    for (uint32_t i = 0; i < p->n_inputs; i++)
        *at++ = p->inputs[i].format;
    for (uint32_t i = 0; i < p->n_outputs; i++)
        *at++ = p->outputs[i].format;
    for (uint32_t i = 0; i < p->n_inputs; i++)
        *at++ = p->inputs[i].map;
    for (uint32_t i = 0; i < p->n_outputs; i++)
        *at++ = p->outputs[i].map;
    *at = p->version;
}

static size_t put(uint8_t *bytes, size_t at, struct nuc_span block)
{
    if (block.size > 0)
        memcpy(bytes + at, block.data, block.size);
    return at + nuc_align_up(block.size, ALIGNMENT);
}

struct nuc_span nuc_payload_compose(struct nuc_context *cx, const struct nuc_payload *p)
{
    size_t header = nuc_align_up(header_size(p->n_inputs, p->n_outputs), ALIGNMENT);
    size_t size = header + nuc_align_up(p->microcode.size, ALIGNMENT) + nuc_align_up(p->weights.size, ALIGNMENT) +
                  nuc_align_up(p->kernels.size, ALIGNMENT);
    uint8_t *bytes = nuc_alloc(cx, size);

    check_map(cx, p->inputs, p->n_inputs, p->n_args);
    check_map(cx, p->outputs, p->n_outputs, p->n_outputs);
    write_header(bytes, p);
    size_t at = put(bytes, header, p->microcode);
    at = put(bytes, at, p->weights);
    put(bytes, at, p->kernels);
    return (struct nuc_span){bytes, size};
}

static const uint8_t *move_block(const uint8_t *at, struct nuc_span *block)
{
    block->data = at;
    return at + nuc_align_up(block->size, ALIGNMENT);
}

void nuc_payload_refer(struct nuc_payload *p, struct nuc_span composed)
{
    const uint8_t *at = composed.data + nuc_align_up(header_size(p->n_inputs, p->n_outputs), ALIGNMENT);

    at = move_block(at, &p->microcode);
    at = move_block(at, &p->weights);
    move_block(at, &p->kernels);
}

/* Formats, then maps, as the header holds them. */
static const struct nuc_payload_io *read_io(struct nuc_context *cx, const uint8_t *formats, const uint8_t *maps,
                                            uint32_t n)
{
    struct nuc_payload_io *io = nuc_alloc_array(cx, n, sizeof *io);

    for (uint32_t i = 0; i < n; i++)
        io[i] = (struct nuc_payload_io){formats[i], maps[i]};
    return io;
}

struct nuc_payload nuc_payload_parse(struct nuc_context *cx, const char *file, struct nuc_span bytes)
{
    struct nuc_payload p = {.version = 0};
    struct nuc_span header, rest;

    if (bytes.size < 3 || !nuc_span_slice(bytes, 0, header_size(bytes.data[0], bytes.data[1]), &header))
        nuc_fail(cx, NUC_BAD_INPUT, "%s: the payload's header is cut off", file);
    p.n_inputs = bytes.data[0];
    p.n_outputs = bytes.data[1];
    p.n_args = bytes.data[2];
    p.version = header.data[header.size - 1];
    if (p.version > 1)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: payload version %u is unknown, this program reads 0 and 1", file, p.version);
    const uint8_t *formats = header.data + 3, *maps = formats + p.n_inputs + p.n_outputs;
    p.inputs = read_io(cx, formats, maps, p.n_inputs);
    p.outputs = read_io(cx, formats + p.n_inputs, maps + p.n_inputs, p.n_outputs);
    for (uint32_t i = 0; i < p.n_inputs; i++) {
        if (p.inputs[i].format > 1 || p.inputs[i].map >= p.n_args)
            nuc_fail(cx, NUC_BAD_INPUT, "%s: payload input %u has format %u and is argument %u of %u", file, i,
                     p.inputs[i].format, p.inputs[i].map, p.n_args);
    }
    for (uint32_t i = 0; i < p.n_outputs; i++) {
        if (p.outputs[i].format > 1)
            nuc_fail(cx, NUC_BAD_INPUT, "%s: payload output %u has format %u", file, i, p.outputs[i].format);
    }
    size_t padded = nuc_align_up(header.size, ALIGNMENT);
    if (padded > bytes.size)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: the payload's header is cut off", file);
    rest = (struct nuc_span){bytes.data + padded, bytes.size - padded};
    /* Microcode and weights by the sizes in the microcode's header, kernels up to the end. */
    size_t words = p.version == 0 ? MIN_WORDS_0 : MIN_WORDS_1;
    if (rest.size < words * 4 || nuc_mc_word(rest, NUC_MC_WORD_MAGIC) != NUC_MC_MAGIC)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: the payload holds no Neutron microcode after its header", file);
    const struct nuc_mc_buffers b = nuc_mc_buffers_of(rest.data, p.version);
    if (b.n_inputs != p.n_inputs || b.n_outputs != p.n_outputs)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: the microcode has %u inputs and %u outputs, the payload %u and %u", file,
                 b.n_inputs, b.n_outputs, p.n_inputs, p.n_outputs);
    uint64_t microcode = nuc_mc_word(rest, NUC_MC_WORD_SIZE), weights = nuc_mc_word(rest, NUC_MC_WORD_WEIGHTS);
    uint64_t weights_at = (microcode + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    uint64_t kernels_at = weights_at + (weights + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (microcode < words * 4 || !nuc_span_slice(rest, 0, microcode, &p.microcode) ||
        !nuc_span_slice(rest, weights_at, weights, &p.weights) || kernels_at > rest.size)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: the payload is cut off: microcode %llu, weights %llu of %zu bytes", file,
                 (unsigned long long)microcode, (unsigned long long)weights, rest.size);
    p.kernels = (struct nuc_span){rest.data + kernels_at, rest.size - (size_t)kernels_at};
    return p;
}

struct nuc_payload_sizes nuc_payload_sizes_of(const struct nuc_payload *p)
{
    const struct nuc_mc_buffers b = nuc_mc_buffers_of(p->microcode.data, p->version);

    return (struct nuc_payload_sizes){
        .scratch = nuc_mc_word(p->microcode, NUC_MC_WORD_SCRATCH),
        .profile = b.profile,
        .debug = b.debug,
        .prefetch = b.prefetch,
    };
}
