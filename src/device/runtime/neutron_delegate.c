/*
 * Executes partitions on the eIQ Neutron NPU through the driver API. The payload is that of ExecuTorch's NXP backend:
 * header (counts, formats, maps), microcode, weights, kernels, each padded to 16 bytes; docs/formats.md describes it.
 */
#include <string.h>

#include "device/base/microcode_header.h"
#include "device/base/span.h"
#include "device/runtime/operators/op_shapes.h"
#include "nucleon/NeutronDriver.h"
#include "nucleon/runtime.h"

#define ALIGNMENT 16
#define TIMEOUT_SECONDS 60
#define HEADER_WORDS 15 /* of the microcode: the last one read is 14 */

struct neutron_state {
    NeutronModelHandle handle;
    NeutronConfig config; /* registered with the driver, which may keep its address */
    const uint8_t *input_formats, *output_formats;
    const uint8_t *input_map, *output_map;
    uint32_t n_inputs, n_outputs, n_arguments;  /* of the program; user inputs of the delegate */
    uint32_t scratch, profile, debug, prefetch; /* bytes */
    const uint8_t *io_sizes; /* bytes of inputs, then outputs: 32-bit words in our microcode; NULL in others */
};

/* The payload's parts. */
struct neutron_payload {
    const uint8_t *microcode, *weights, *kernels;
};

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
    size_t padded = nuc_align_up(header, ALIGNMENT);
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

static enum nuc_status parse(const uint8_t *processed, size_t size, struct neutron_state *s,
                             struct neutron_payload *parts, struct nuc_detail *detail)
{
    struct nuc_span rest;
    struct nuc_span microcode;
    struct nuc_span weights;
    uint8_t version;

    if ((uintptr_t)processed % ALIGNMENT != 0)
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
        !nuc_span_slice(rest, nuc_align_up(microcode.size, ALIGNMENT), word(rest.data, NUC_MC_WORD_WEIGHTS), &weights))
        return bad(detail, NUC_TEXT("microcode or weights are cut off"));
    if (!read_io_sizes(microcode, s))
        return bad(detail, NUC_TEXT("the microcode's table of sizes is cut off"));
    parts->microcode = microcode.data;
    parts->weights = weights.data;
    /* A payload may end with its weights, without the padding after them. */
    size_t left = size - (size_t)(weights.data - processed), padded = nuc_align_up(weights.size, ALIGNMENT);
    parts->kernels = weights.data + (padded < left ? padded : left);
    return NUC_OK;
}

static enum nuc_status sizes(const uint8_t *processed, size_t size, struct nuc_backend_sizes *out,
                             struct nuc_detail *detail)
{
    struct neutron_state s;
    struct neutron_payload parts;
    enum nuc_status status = parse(processed, size, &s, &parts, detail);

    if (status != NUC_OK)
        return status;
    /* Two pointer arrays, then scratch, profile, debug and prefetch buffers: each may lose bytes to alignment. */
    uint64_t temporary = (s.n_inputs + s.n_outputs + 3) * sizeof(void *) + (uint64_t)s.scratch + s.profile + s.debug +
                         s.prefetch + 6 * ALIGNMENT;
    if (temporary > SIZE_MAX / 4)
        return bad(detail, NUC_TEXT("the microcode asks for more memory than there is"));
    out->temporary = (size_t)temporary;
    out->scratch = s.scratch;
    out->state = nuc_align_up(sizeof(struct neutron_state), ALIGNMENT) + neutronGetModelContextSize();
    return NUC_OK;
}

static enum nuc_status device_error(struct nuc_detail *detail, NeutronError code, const char *message)
{
    detail->message = message;
    detail->code = (int32_t)code;
    return NUC_DEVICE;
}

/*
 * Without copy functions of the application, weights in flash are copied when the microcode asks for them: the NPU
 * waits instead of computing, but the results are the same. An application calls neutronSetConfig() after loading for
 * its own.
 */
static void copy_now(void *to, void *from, uint32_t bytes, uint32_t channel)
{
    (void)channel;
    memcpy(to, from, bytes);
}

static void wait_for_copy(uint32_t channel)
{
    (void)channel;
}

/*
 * The vendor's drivers of 2026 read members behind those that ExecuTorch's header has (a name of the subgraph): they
 * find nothing.
 */
struct extended_config {
    NeutronModelConfig known;
    const void *unknown[4];
};

static enum nuc_status load(void *state, const uint8_t *processed, size_t size, struct nuc_detail *detail)
{
    struct neutron_state *s = state;
    struct neutron_payload parts;
    enum nuc_status status = parse(processed, size, s, &parts, detail);

    if (status != NUC_OK)
        return status;
    const struct extended_config config = {{parts.microcode, parts.weights, parts.kernels, TIMEOUT_SECONDS}, {NULL}};
    s->handle = (uint8_t *)state + nuc_align_up(sizeof *s, ALIGNMENT);
    NeutronError code = neutronModelPrepare(&config.known, &s->handle);
    if (code != ENONE)
        return device_error(detail, code, NUC_TEXT("the driver refuses the microcode"));
    if (s->prefetch == 0)
        return NUC_OK;
    s->config = (NeutronConfig){copy_now, wait_for_copy};
    code = neutronSetConfig(&s->config);
    if (code == ENONE)
        return NUC_OK;
    neutronModelUnprepare(s->handle);
    return device_error(detail, code, NUC_TEXT("the driver refuses the copy functions"));
}

static void unload(void *state)
{
    struct neutron_state *s = state;

    neutronModelUnprepare(s->handle);
}

static void *device(void *state)
{
    struct neutron_state *s = state;

    return s->handle;
}

/* How a tensor crosses the boundary. */
enum crossing { DIRECT, TRANSPOSED, REFUSED };

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
static enum crossing crossing_of(const struct nuc_tensor *t, uint8_t format)
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

/* (N, C, H, W) and (N, H, W, C), N being all dimensions before the last three. */
static void transpose(const struct nuc_tensor *t, const void *in, void *out, bool to_channels_last)
{
    struct nuc_loops loops = {.rank = 4};
    int32_t c = t->sizes[t->rank - 3];
    int32_t h = t->sizes[t->rank - 2];
    int32_t w = t->sizes[t->rank - 1];
    size_t element = nuc_dtype_size((enum nuc_dtype)t->dtype);
    size_t image = (size_t)c * (size_t)h * (size_t)w;
    const ptrdiff_t first[4] = {(ptrdiff_t)image, w, 1, (ptrdiff_t)h * w};
    const ptrdiff_t last[4] = {(ptrdiff_t)image, (ptrdiff_t)w * c, c, 1};
    const int32_t shape[4] = {(int32_t)(t->bytes / element / image), h, w, c};

    for (int d = 0; d < 4; d++) {
        loops.sizes[d] = shape[d];
        loops.a[d] = to_channels_last ? first[d] : last[d];
        loops.out[d] = to_channels_last ? last[d] : first[d];
    }
    nuc_kernel_copy(&loops, element, in, out);
}

/* A copy for each port at which the tensor is transposed. */
static size_t argument_bytes(const uint8_t *processed, size_t size, size_t index, const struct nuc_tensor *tensor)
{
    struct nuc_detail unused;
    struct neutron_state s;
    struct neutron_payload parts;
    size_t ports = 0;

    if (parse(processed, size, &s, &parts, &unused) != NUC_OK)
        return 0;
    for (uint32_t i = 0; i < s.n_inputs; i++)
        ports += s.input_map[i] == index && crossing_of(tensor, s.input_formats[i]) == TRANSPOSED;
    for (uint32_t i = 0; i < s.n_outputs; i++)
        ports += s.n_arguments + s.output_map[i] == index && crossing_of(tensor, s.output_formats[i]) == TRANSPOSED;
    size_t bytes;
    return nuc_mul_size(ports, (tensor->bytes / ALIGNMENT + 2) * ALIGNMENT, &bytes) ? bytes : SIZE_MAX;
}

/* Tensor argument `index`, large enough for port `port` of the microcode; NULL with a message otherwise. */
static const struct nuc_tensor *argument(struct nuc_kernel_context *cx, const struct neutron_state *s,
                                         struct nuc_value *const *args, size_t n_args, size_t index, uint32_t port)
{
    const struct nuc_tensor *t = index < n_args ? &args[index]->u.tensor : NULL;

    if (!nuc_need(cx, t != NULL && args[index]->kind == NUC_VALUE_TENSOR,
                  NUC_TEXT("the payload's maps do not fit the arguments")) ||
        !nuc_need(cx, s->io_sizes == NULL || t->bytes >= word(s->io_sizes, port),
                  NUC_TEXT("a tensor is smaller than the microcode expects")) ||
        !nuc_need(cx, (uintptr_t)t->data % ALIGNMENT == 0, NUC_TEXT("a tensor is not aligned to 16 bytes")))
        return NULL;
    return t;
}

static bool refused(struct nuc_kernel_context *cx, enum crossing c)
{
    return !nuc_need(cx, c != REFUSED, NUC_TEXT("a tensor's dim order is not what the payload's format asks for"));
}

static bool set_inputs(struct nuc_kernel_context *cx, const struct neutron_state *s, struct nuc_value *const *args,
                       size_t n_args, const void **inputs)
{
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        const struct nuc_tensor *t = argument(cx, s, args, n_args, s->input_map[i], i);
        if (t == NULL || !nuc_need(cx, s->input_map[i] < s->n_arguments, NUC_TEXT("the input map is out of range")))
            return false;
        enum crossing how = crossing_of(t, s->input_formats[i]);
        if (refused(cx, how))
            return false;
        inputs[i] = t->data;
        if (how == DIRECT || t->bytes == 0)
            continue;
        void *copy = nuc_kernel_temporary(cx, t->bytes, ALIGNMENT);
        if (!nuc_need(cx, copy != NULL, NUC_TEXT("the temporary memory is too small")))
            return false;
        transpose(t, t->data, copy, true);
        inputs[i] = copy;
    }
    return true;
}

static bool set_outputs(struct nuc_kernel_context *cx, const struct neutron_state *s, struct nuc_value *const *args,
                        size_t n_args, void **outputs)
{
    for (uint32_t i = 0; i < s->n_outputs; i++) {
        size_t index = (size_t)s->n_arguments + s->output_map[i];
        const struct nuc_tensor *t = argument(cx, s, args, n_args, index, s->n_inputs + i);
        if (t == NULL || !nuc_need(cx, !t->constant, NUC_TEXT("an output of the delegate is a constant")))
            return false;
        enum crossing how = crossing_of(t, s->output_formats[i]);
        if (refused(cx, how))
            return false;
        outputs[i] = how == DIRECT || t->bytes == 0 ? t->data : nuc_kernel_temporary(cx, t->bytes, ALIGNMENT);
        if (!nuc_need(cx, outputs[i] != NULL, NUC_TEXT("the temporary memory is too small")))
            return false;
    }
    return true;
}

/* After the outputs: scratch, profile, debug. A buffer of size 0 has an address all the same. */
static bool set_buffers(struct nuc_kernel_context *cx, const struct neutron_state *s, NeutronDataConfig *d)
{
    d->inputs = nuc_kernel_temporary(cx, s->n_inputs * sizeof(void *), sizeof(void *));
    d->outputs = nuc_kernel_temporary(cx, (s->n_outputs + 3) * sizeof(void *), sizeof(void *));
    if (d->inputs == NULL || d->outputs == NULL)
        return nuc_need(cx, false, NUC_TEXT("the temporary memory is too small"));
    d->outputs[s->n_outputs] = cx->scratch != NULL ? cx->scratch : nuc_kernel_temporary(cx, s->scratch, ALIGNMENT);
    d->outputs[s->n_outputs + 1] = nuc_kernel_temporary(cx, s->profile, ALIGNMENT);
    d->outputs[s->n_outputs + 2] = nuc_kernel_temporary(cx, s->debug, ALIGNMENT);
    d->scratch = d->outputs[s->n_outputs];
    d->scratchWeights = nuc_kernel_temporary(cx, s->prefetch, ALIGNMENT);
    return nuc_need(cx,
                    d->scratch != NULL && d->outputs[s->n_outputs + 1] != NULL &&
                        d->outputs[s->n_outputs + 2] != NULL && d->scratchWeights != NULL,
                    NUC_TEXT("the temporary memory is too small"));
}

static enum nuc_status run(void *state, struct nuc_kernel_context *cx, struct nuc_value *const *args, size_t n_args)
{
    struct neutron_state *s = state;
    NeutronDataConfig data;

    if (!set_buffers(cx, s, &data))
        return NUC_NO_MEMORY;
    if (!set_inputs(cx, s, args, n_args, data.inputs) || !set_outputs(cx, s, args, n_args, data.outputs))
        return NUC_UNSUPPORTED;
    NeutronError code = neutronRunBlocking(s->handle, &data);
    if (code != ENONE)
        return device_error(cx->detail, code, NUC_TEXT("the NPU reports an error"));
    for (uint32_t i = 0; i < s->n_outputs; i++) {
        const struct nuc_tensor *t = &args[(size_t)s->n_arguments + s->output_map[i]]->u.tensor;
        if (data.outputs[i] != t->data)
            transpose(t, data.outputs[i], t->data, false);
    }
    cx->profile = s->profile > 0 ? data.outputs[s->n_outputs + 1] : NULL;
    cx->profile_size = s->profile;
    return NUC_OK;
}

const struct nuc_backend nuc_neutron_backend = {
    .id = "NeutronBackend",
    .sizes = sizes,
    .argument_bytes = argument_bytes,
    .load = load,
    .run = run,
    .unload = unload,
    .device = device,
};

enum nuc_status nuc_neutron_start(void)
{
    return neutronInit() == ENONE ? NUC_OK : NUC_DEVICE;
}

/* ---- without power between runs ---- */

static enum nuc_status resume(struct nuc_detail *detail)
{
    NeutronError code = neutronResume();

    return code == ENONE ? NUC_OK : device_error(detail, code, NUC_TEXT("the NPU does not resume"));
}

/* What went wrong first is what is said. */
static enum nuc_status suspend_after(enum nuc_status status, struct nuc_detail *detail)
{
    NeutronError code = neutronSuspend();

    if (code == ENONE || status != NUC_OK)
        return status;
    return device_error(detail, code, NUC_TEXT("the NPU does not suspend"));
}

static enum nuc_status load_powered(void *state, const uint8_t *processed, size_t size, struct nuc_detail *detail)
{
    enum nuc_status status = resume(detail);

    if (status != NUC_OK)
        return status;
    enum nuc_status loaded = load(state, processed, size, detail);
    status = suspend_after(loaded, detail);
    if (loaded == NUC_OK && status != NUC_OK)
        unload(state);
    return status;
}

static enum nuc_status run_powered(void *state, struct nuc_kernel_context *cx, struct nuc_value *const *args,
                                   size_t n_args)
{
    enum nuc_status status = resume(cx->detail);

    return status == NUC_OK ? suspend_after(run(state, cx, args, n_args), cx->detail) : status;
}

const struct nuc_backend nuc_neutron_power_backend = {
    .id = "NeutronBackend",
    .sizes = sizes,
    .argument_bytes = argument_bytes,
    .load = load_powered,
    .run = run_powered,
    .unload = unload,
    .device = device,
};

enum nuc_status nuc_neutron_power_start(void)
{
    return neutronInit() == ENONE && neutronSuspend() == ENONE ? NUC_OK : NUC_DEVICE;
}

static const struct nuc_backend *const default_backends[] = {&nuc_neutron_backend};

const struct nuc_backend_table nuc_default_backends = {default_backends, 1};
