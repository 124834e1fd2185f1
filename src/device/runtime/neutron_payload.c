#include "device/runtime/neutron_payload.h"

#include "device/base/microcode_header.h"
#include "device/base/span.h"

#define HEADER_WORDS 15 /* of the microcode: the last one read is 14 */

static enum nuc_status bad(struct nuc_detail *detail, const char *message)
{
    detail->message = message;
    return NUC_BAD_INPUT;
}

static uint32_t word(const uint8_t *microcode, uint32_t index)
{
    return nuc_load_u32(microcode + 4 * (size_t)index);
}

/* Flags and maps; false when they do not fit the payload. *rest is what follows, at a multiple of 16. */
static bool read_counts(struct nuc_span payload, struct neutron_state *s, uint8_t *version, struct nuc_span *rest)
{
    if (payload.size < 3)
        return false;
    const uint8_t *p = payload.data;
    s->n_inputs = p[0];
    s->n_outputs = p[1];
    s->n_arguments = p[2];
    size_t maps = 3 + (size_t)s->n_inputs + s->n_outputs;
    size_t header = maps + s->n_inputs + s->n_outputs + 1;
    size_t padded = nuc_align_up(header, NEUTRON_ALIGNMENT);
    if (payload.size < padded)
        return false;
    s->input_formats = p + 3;
    s->output_formats = p + 3 + s->n_inputs;
    s->input_map = p + maps;
    s->output_map = p + maps + s->n_inputs;
    *version = p[header - 1];
    return nuc_span_slice(payload, padded, payload.size - padded, rest);
}

/* Sizes out of the microcode's header words, whose places depend on the payload version. */
static bool read_words(const uint8_t *m, uint8_t version, struct neutron_state *s)
{
    const struct nuc_mc_buffers b = nuc_mc_buffers_of(m, version);

    s->scratch = word(m, NUC_MC_WORD_SCRATCH);
    s->profile = b.profile;
    s->debug = b.debug;
    s->prefetch = b.prefetch;
    return b.n_inputs == s->n_inputs && b.n_outputs == s->n_outputs;
}

/* Our own microcode lists the sizes of its inputs and outputs; the runtime holds the tensors against them. */
static bool read_io_sizes(struct nuc_span microcode, struct neutron_state *s)
{
    struct nuc_span table;

    s->io_sizes = NULL;
    if (!nuc_mc_is_version(word(microcode.data, NUC_MC_WORD_VERSION)))
        return true;
    if (microcode.size < 4 * NUC_MC_HEADER_WORDS ||
        !nuc_span_slice(microcode, word(microcode.data, NUC_MC_WORD_IO_OFFSET),
                        4 * ((uint64_t)s->n_inputs + s->n_outputs), &table))
        return false;
    s->io_sizes = table.data;
    return true;
}

enum nuc_status nuc_neutron_parse(const uint8_t *processed, size_t size, struct neutron_state *s,
                                  struct neutron_payload *parts, struct nuc_detail *detail)
{
    struct nuc_span rest;
    struct nuc_span microcode;
    struct nuc_span weights;
    uint8_t version;

    if ((uintptr_t)processed % NEUTRON_ALIGNMENT != 0)
        return bad(detail, NUC_TEXT("the payload is not aligned to 16 bytes"));
    if (!read_counts((struct nuc_span){processed, size}, s, &version, &rest) || rest.size < 4 * HEADER_WORDS)
        return bad(detail, NUC_TEXT("the payload is cut off"));
    if (word(rest.data, NUC_MC_WORD_MAGIC) != NUC_MC_MAGIC)
        return bad(detail, NUC_TEXT("the payload holds no Neutron microcode"));
    if (version > 1)
        return bad(detail, NUC_TEXT("the payload version is unknown"));
    if (nuc_mc_is_version(word(rest.data, NUC_MC_WORD_VERSION)) && version != nuc_mc_payload_version(rest.data))
        return bad(detail, NUC_TEXT("the payload version is not that of its microcode"));
    if (!read_words(rest.data, version, s))
        return bad(detail, NUC_TEXT("payload and microcode disagree about inputs and outputs"));
    if (!nuc_span_slice(rest, 0, word(rest.data, NUC_MC_WORD_SIZE), &microcode) || microcode.size < 4 * HEADER_WORDS ||
        !nuc_span_slice(rest, nuc_align_up(microcode.size, NEUTRON_ALIGNMENT), word(rest.data, NUC_MC_WORD_WEIGHTS),
                        &weights))
        return bad(detail, NUC_TEXT("microcode or weights are cut off"));
    if (!read_io_sizes(microcode, s))
        return bad(detail, NUC_TEXT("the microcode's table of sizes is cut off"));
    parts->microcode = microcode.data;
    parts->weights = weights.data;
    /* A payload may end with its weights, without the padding after them. */
    size_t left = size - (size_t)(weights.data - processed), padded = nuc_align_up(weights.size, NEUTRON_ALIGNMENT);
    parts->kernels = weights.data + (padded < left ? padded : left);
    return NUC_OK;
}

enum nuc_status nuc_neutron_sizes(const uint8_t *processed, size_t size, struct nuc_backend_sizes *out,
                                  struct nuc_detail *detail)
{
    struct neutron_state s;
    struct neutron_payload parts;
    enum nuc_status status = nuc_neutron_parse(processed, size, &s, &parts, detail);

    if (status != NUC_OK)
        return status;
    /*
     * Two pointer arrays, as large as a 64-bit host has them, so that a package (nucleon/update.h) says the same
     * wherever it is made; then scratch, profile, debug and prefetch buffers: each may lose bytes to alignment.
     */
    uint64_t temporary = (s.n_inputs + s.n_outputs + 3) * sizeof(uint64_t) + (uint64_t)s.scratch + s.profile + s.debug +
                         s.prefetch + 6 * NEUTRON_ALIGNMENT;
    if (temporary > SIZE_MAX / 4)
        return bad(detail, NUC_TEXT("the microcode asks for more memory than there is"));
    out->temporary = (size_t)temporary;
    out->scratch = s.scratch;
    out->microcode = word(parts.microcode, NUC_MC_WORD_VERSION);
    out->state = nuc_align_up(sizeof(struct neutron_state), NEUTRON_ALIGNMENT);
    return NUC_OK;
}

static bool has_order(const struct nuc_tensor *t, bool channels_last)
{
    for (uint32_t i = 0; i < t->rank; i++) {
        uint32_t expected = i;
        if (channels_last && i > 0)
            expected = i + 1 < t->rank ? i + 1 : 1;
        if (t->dim_order[i] != expected)
            return false;
    }
    return true;
}

/*
 * Format 1: the NPU sees channels last. With one channel both orders coincide, and only the contiguous one is taken.
 * Channels-last dim orders exist for rank 4 and 5.
 */
enum crossing nuc_neutron_crossing(const struct nuc_tensor *t, uint8_t format)
{
    bool several = t->rank < 3 || t->sizes[t->rank - 3] != 1;

    if (format == 0 || !several)
        return has_order(t, false) ? DIRECT : REFUSED;
    if (t->rank < 3)
        return REFUSED;
    if ((t->rank == 4 || t->rank == 5) && has_order(t, true))
        return DIRECT;
    return has_order(t, false) ? TRANSPOSED : REFUSED;
}

/* A copy for each port at which the tensor is transposed. */
size_t nuc_neutron_argument_bytes(const uint8_t *processed, size_t size, size_t index, const struct nuc_tensor *tensor)
{
    struct nuc_detail unused;
    struct neutron_state s;
    struct neutron_payload parts;
    size_t ports = 0;

    if (nuc_neutron_parse(processed, size, &s, &parts, &unused) != NUC_OK)
        return 0;
    for (uint32_t i = 0; i < s.n_inputs; i++)
        ports += s.input_map[i] == index && nuc_neutron_crossing(tensor, s.input_formats[i]) == TRANSPOSED;
    for (uint32_t i = 0; i < s.n_outputs; i++)
        ports +=
            s.n_arguments + s.output_map[i] == index && nuc_neutron_crossing(tensor, s.output_formats[i]) == TRANSPOSED;
    size_t bytes;
    return nuc_mul_size(ports, (tensor->bytes / NEUTRON_ALIGNMENT + 2) * NEUTRON_ALIGNMENT, &bytes) ? bytes : SIZE_MAX;
}
