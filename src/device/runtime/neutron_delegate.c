/*
 * Executes partitions on the eIQ Neutron NPU through the driver API. The payload is that of ExecuTorch's NXP backend:
 * header (counts, formats, maps), microcode, weights, kernels, each padded to 16 bytes; docs/formats.md describes it.
 */
#include <string.h>

#include "device/base/span.h"
#include "device/runtime/neutron_payload.h"
#include "device/runtime/operators/op_shapes.h"
#include "nucleon/NeutronDriver.h"
#include "nucleon/runtime.h"

#define TIMEOUT_SECONDS 60

/* ---- loading ---- */

enum nuc_status nuc_neutron_driver_sizes(const uint8_t *processed, size_t size, struct nuc_backend_sizes *out,
                                         struct nuc_detail *detail)
{
    enum nuc_status status = nuc_neutron_sizes(processed, size, out, detail);

    if (status == NUC_OK)
        out->state += neutronGetModelContextSize();
    return status;
}

enum nuc_status nuc_neutron_start(void)
{
    return neutronInit() == ENONE ? NUC_OK : NUC_DEVICE;
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
    enum nuc_status status = nuc_neutron_parse(processed, size, s, &parts, detail);

    if (status != NUC_OK)
        return status;
    const struct extended_config config = {{parts.microcode, parts.weights, parts.kernels, TIMEOUT_SECONDS}, {NULL}};
    s->handle = (uint8_t *)state + nuc_align_up(sizeof *s, NEUTRON_ALIGNMENT);
    NeutronError code = neutronModelPrepare(&config.known, &s->handle);
    if (code != ENONE)
        return nuc_neutron_failed(detail, code, NUC_TEXT("the driver refuses the microcode"));
    if (s->prefetch == 0)
        return NUC_OK;
    s->config = (NeutronConfig){copy_now, wait_for_copy};
    code = neutronSetConfig(&s->config);
    if (code == ENONE)
        return NUC_OK;
    neutronModelUnprepare(s->handle);
    return nuc_neutron_failed(detail, code, NUC_TEXT("the driver refuses the copy functions"));
}

void nuc_neutron_unload(void *state)
{
    struct neutron_state *s = state;

    neutronModelUnprepare(s->handle);
}

void *nuc_neutron_device(void *state)
{
    struct neutron_state *s = state;

    return s->handle;
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

/* Tensor argument `index`, large enough for port `port` of the microcode; NULL with a message otherwise. */
static const struct nuc_tensor *argument(struct nuc_kernel_context *cx, const struct neutron_state *s,
                                         struct nuc_value *const *args, size_t n_args, size_t index, uint32_t port)
{
    const struct nuc_tensor *t = index < n_args ? &args[index]->u.tensor : NULL;

    if (!nuc_need(cx, t != NULL && args[index]->kind == NUC_VALUE_TENSOR,
                  NUC_TEXT("the payload's maps do not fit the arguments")) ||
        !nuc_need(cx, s->io_sizes == NULL || t->bytes >= nuc_load_u32(s->io_sizes + 4 * (size_t)port),
                  NUC_TEXT("a tensor is smaller than the microcode expects")) ||
        !nuc_need(cx, (uintptr_t)t->data % NEUTRON_ALIGNMENT == 0, NUC_TEXT("a tensor is not aligned to 16 bytes")))
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
        enum crossing how = nuc_neutron_crossing(t, s->input_formats[i]);
        if (refused(cx, how))
            return false;
        inputs[i] = t->data;
        if (how == DIRECT || t->bytes == 0)
            continue;
        void *copy = nuc_kernel_temporary(cx, t->bytes, NEUTRON_ALIGNMENT);
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
        enum crossing how = nuc_neutron_crossing(t, s->output_formats[i]);
        if (refused(cx, how))
            return false;
        outputs[i] = how == DIRECT || t->bytes == 0 ? t->data : nuc_kernel_temporary(cx, t->bytes, NEUTRON_ALIGNMENT);
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
    d->outputs[s->n_outputs] =
        cx->scratch != NULL ? cx->scratch : nuc_kernel_temporary(cx, s->scratch, NEUTRON_ALIGNMENT);
    d->outputs[s->n_outputs + 1] = nuc_kernel_temporary(cx, s->profile, NEUTRON_ALIGNMENT);
    d->outputs[s->n_outputs + 2] = nuc_kernel_temporary(cx, s->debug, NEUTRON_ALIGNMENT);
    d->scratch = d->outputs[s->n_outputs];
    d->scratchWeights = nuc_kernel_temporary(cx, s->prefetch, NEUTRON_ALIGNMENT);
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
        return nuc_neutron_failed(cx->detail, code, NUC_TEXT("the NPU reports an error"));
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
    .sizes = nuc_neutron_driver_sizes,
    .argument_bytes = nuc_neutron_argument_bytes,
    .load = load,
    .run = run,
    .unload = nuc_neutron_unload,
    .device = nuc_neutron_device,
};

static const struct nuc_backend *const default_backends[] = {&nuc_neutron_backend};

const struct nuc_backend_table nuc_default_backends = {default_backends, 1, &nuc_delegates};
