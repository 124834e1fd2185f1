/*
 * Sizes and loading of a program. Both walk the same functions over the image, so that what nuc_program_sizes() asks
 * for is what nuc_program_load() takes. The image is untrusted: every count is checked against its size before it is
 * used.
 */
#include <string.h>

#include "device/runtime/loader.h"
#include "device/runtime/same_text.h"

static void clear_detail(struct nuc_detail *d)
{
    *d = (struct nuc_detail){.instruction = -1, .value = -1};
}

/* The most that one call takes: arguments; these and the tensors of lists among them. */
struct counts {
    uint32_t args, values;
};

/* Tensors of value `index` when it is a list of these; what is no value is refused later. */
static uint32_t tensors_of(struct nuc_image *im, uint32_t index)
{
    if (index >= im->values.count)
        return 0;
    struct nuc_fb_table entry = nuc_fb_vec_table(&im->reader, im->values, index);
    uint8_t kind = nuc_fb_u8(&im->reader, entry, NUC_EVALUE_TYPE, 0);
    if (kind != NUC_VALUE_TENSORS && kind != NUC_VALUE_OPTIONAL_TENSORS)
        return 0;
    return nuc_fb_vec(&im->reader, nuc_fb_sub(&im->reader, entry, NUC_EVALUE_VALUE), 0, nuc_list_item_size(kind)).count;
}

/* Each sum is bounded, so that verification stays linear in the file and a call's values fit a multiple of it. */
static bool count_args(struct nuc_image *im, struct counts *most)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < im->instructions.count; i++) {
        struct nuc_fb_table entry = nuc_fb_vec_table(&im->reader, im->instructions, i);
        uint8_t kind = nuc_fb_u8(&im->reader, entry, NUC_INSTRUCTION_TYPE, 0);
        struct nuc_fb_table t = nuc_fb_sub(&im->reader, entry, NUC_INSTRUCTION_ARGS);
        if (kind != NUC_INSTRUCTION_KERNEL && kind != NUC_INSTRUCTION_DELEGATE)
            continue;
        struct nuc_fb_vector args = nuc_fb_vec(&im->reader, t, NUC_CALL_ARGS, 4);
        uint64_t values = args.count;
        sum += args.count;
        if (!nuc_image_ok(im) ||
            !nuc_image_need(im, sum <= im->file.size, NUC_TEXT("the calls have more arguments than the file")))
            return false;
        for (uint32_t k = 0; k < args.count; k++)
            values += tensors_of(im, (uint32_t)nuc_fb_vec_i32(&im->reader, args, k));
        if (!nuc_image_ok(im) || !nuc_image_need(im, values <= im->file.size,
                                                 NUC_TEXT("the lists of a call hold more tensors than the file")))
            return false;
        most->args = args.count > most->args ? args.count : most->args;
        most->values = values > most->values ? (uint32_t)values : most->values;
    }
    return nuc_image_ok(im);
}

/* Offsets in the state memory; the delegates' states follow after `total`. */
struct state_layout {
    size_t work, args, instructions, delegates, slots, places, kinds, given, total;
};

/* Takes `count` objects of `size` bytes at the end of the state memory; returns where they begin. */
static size_t block(size_t *total, size_t count, size_t size, size_t alignment)
{
    size_t at = nuc_align_up(*total, alignment);

    *total = at + count * size;
    return at;
}

/* Each object is an entry of a vector of the file; MOST_OBJECTS of the largest kind leave three quarters of memory. */
#define MOST_OBJECTS (SIZE_MAX / 256)
_Static_assert(sizeof(struct nuc_value) + sizeof(void *) <= 64 && sizeof(struct nuc_instruction) <= 64 &&
                   sizeof(struct nuc_slot) + sizeof(uint32_t) + 1 <= 64 && sizeof(struct nuc_loaded_delegate) <= 64,
               "the state of a program of MOST_OBJECTS fits a quarter of the address space");

static bool layout_of(struct nuc_image *im, struct state_layout *layout)
{
    struct counts counts = {0, 0};
    size_t total = 0;

    if (!count_args(im, &counts))
        return false;
    uint64_t objects =
        (uint64_t)im->values.count + im->instructions.count + im->delegates.count + counts.values + im->inputs.count;
    if (!nuc_image_need(im,
                        (uint64_t)im->values.count + im->instructions.count + im->delegates.count <= im->file.size &&
                            objects <= MOST_OBJECTS,
                        NUC_TEXT("the method has more values than the file")))
        return false;
    layout->work = block(&total, counts.values, sizeof(struct nuc_value), _Alignof(struct nuc_value));
    layout->args = block(&total, counts.args, sizeof(struct nuc_value *), sizeof(void *));
    layout->instructions =
        block(&total, im->instructions.count, sizeof(struct nuc_instruction), _Alignof(struct nuc_instruction));
    layout->delegates =
        block(&total, im->delegates.count, sizeof(struct nuc_loaded_delegate), _Alignof(struct nuc_loaded_delegate));
    /* A value that contradicts the format is refused when values are loaded, with its index. */
    bool bad = im->reader.bad;
    uint32_t count = 0;
    for (uint32_t v = 0; v < im->values.count; v++) {
        struct nuc_fb_table entry = nuc_fb_vec_table(&im->reader, im->values, v);
        struct nuc_fb_table t = nuc_fb_sub(&im->reader, entry, NUC_EVALUE_VALUE);
        bool tensor = nuc_fb_u8(&im->reader, entry, NUC_EVALUE_TYPE, 0) == NUC_VALUE_TENSOR;
        count += tensor && nuc_is_of_caller(im, t) ? 1 : 0;
    }
    im->reader.bad = bad;
    layout->slots = block(&total, count, sizeof(struct nuc_slot), _Alignof(struct nuc_slot));
    layout->places = block(&total, im->values.count, sizeof(uint32_t), sizeof(uint32_t));
    layout->kinds = block(&total, im->values.count, 1, 1);
    layout->given = block(&total, im->inputs.count, 1, 1);
    layout->total = nuc_align_up(total, NUC_MEMORY_ALIGNMENT);
    return true;
}

/* What the arguments of one call add to the temporary memory of its delegate. */
static bool argument_bytes(struct nuc_image *im, const struct nuc_backend *backend, struct nuc_span processed,
                           struct nuc_fb_vector args, size_t *temporary)
{
    for (uint32_t i = 0; i < args.count && backend->argument_bytes != NULL; i++) {
        struct nuc_tensor t;
        bool is_tensor;
        if (!nuc_read_shape(im, (uint32_t)nuc_fb_vec_i32(&im->reader, args, i), &t, &is_tensor))
            return false;
        size_t bytes = is_tensor ? backend->argument_bytes(processed.data, processed.size, i, &t) : 0;
        if (!nuc_image_need(im, nuc_add_size(*temporary, bytes, temporary),
                            NUC_TEXT("a delegate needs more memory than there is")))
            return false;
    }
    return true;
}

static enum nuc_status delegate_at(struct nuc_image *im, const struct nuc_backend_table *backends, uint32_t index,
                                   const struct nuc_backend **backend, struct nuc_span *processed,
                                   struct nuc_backend_sizes *sizes)
{
    const char *id;

    if (!nuc_image_delegate(im, index, &id, processed))
        return NUC_BAD_INPUT;
    *backend = nuc_backend_find(backends, id);
    im->detail->where = *backend != NULL ? (*backend)->id : id;
    if (*backend == NULL) {
        im->detail->message = NUC_TEXT("the backend table lacks a backend");
        return NUC_UNSUPPORTED;
    }
    *sizes = (struct nuc_backend_sizes){.state = 0};
    enum nuc_status status = (*backend)->sizes(processed->data, processed->size, sizes, im->detail);
    /* A quarter each leaves sums of them and of what is added here without overflow. */
    if (status == NUC_OK && (sizes->state > SIZE_MAX / 4 || sizes->temporary > SIZE_MAX / 4))
        status = NUC_NO_MEMORY;
    return status;
}

/* Where the program plans for a delegate's scratch, which is then not part of its temporary memory; -1: it does not. */
static bool planned_scratch(struct nuc_image *im, uint32_t index, struct nuc_backend_sizes *sizes, int64_t *offset)
{
    size_t planned;

    if (!nuc_image_scratch(im, index, offset))
        return false;
    if (*offset < 0)
        return true;
    if (!nuc_image_need(im, im->buffer_sizes.count > 1, NUC_TEXT("a delegate's scratch lies outside planned memory")) ||
        !nuc_image_planned(im, 0, &planned))
        return false;
    sizes->temporary -= sizes->scratch;
    return nuc_image_need(im,
                          *offset % NUC_MEMORY_ALIGNMENT == 0 && (uint64_t)*offset <= planned &&
                              sizes->scratch <= planned - (size_t)*offset,
                          NUC_TEXT("a delegate's scratch lies outside planned memory"));
}

/* The call that needs most decides about temporary memory. */
static enum nuc_status call_sizes(struct nuc_image *im, const struct nuc_backend_table *backends,
                                  struct nuc_program_sizes *out)
{
    for (uint32_t i = 0; i < im->instructions.count; i++) {
        struct nuc_fb_table entry = nuc_fb_vec_table(&im->reader, im->instructions, i);
        struct nuc_fb_table t = nuc_fb_sub(&im->reader, entry, NUC_INSTRUCTION_ARGS);
        const struct nuc_backend *backend;
        struct nuc_span processed;
        struct nuc_backend_sizes sizes;
        if (nuc_fb_u8(&im->reader, entry, NUC_INSTRUCTION_TYPE, 0) != NUC_INSTRUCTION_DELEGATE)
            continue;
        uint32_t index = nuc_fb_u32(&im->reader, t, NUC_CALL_INDEX, 0);
        enum nuc_status status = delegate_at(im, backends, index, &backend, &processed, &sizes);
        int64_t scratch;
        if (status != NUC_OK)
            return status;
        if (!planned_scratch(im, index, &sizes, &scratch) ||
            !argument_bytes(im, backend, processed, nuc_fb_vec(&im->reader, t, NUC_CALL_ARGS, 4), &sizes.temporary))
            return NUC_BAD_INPUT;
        out->temporary = sizes.temporary > out->temporary ? sizes.temporary : out->temporary;
    }
    im->detail->where = NULL;
    return NUC_OK;
}

/* Adds what the delegates keep. */
static enum nuc_status delegate_sizes(struct nuc_image *im, const struct nuc_backend_table *backends,
                                      struct nuc_program_sizes *out)
{
    for (uint32_t i = 0; i < im->delegates.count; i++) {
        const struct nuc_backend *backend;
        struct nuc_span processed;
        struct nuc_backend_sizes sizes;
        enum nuc_status status = delegate_at(im, backends, i, &backend, &processed, &sizes);
        if (status != NUC_OK)
            return status;
        if (!nuc_add_size(out->state, nuc_align_up(sizes.state, NUC_MEMORY_ALIGNMENT), &out->state))
            return NUC_NO_MEMORY;
        out->microcode = sizes.microcode > out->microcode ? sizes.microcode : out->microcode;
    }
    return call_sizes(im, backends, out);
}

/* Of programs with delegates: where no table names them, the runtime's code for them is not linked. */
static const struct nuc_delegates *delegates_of(struct nuc_image *im, const struct nuc_backend_table *backends)
{
    const struct nuc_delegates *d = backends != NULL ? backends->delegates : NULL;

    if (d == NULL) {
        im->detail->message = backends != NULL && backends->count > 0
                                  ? NUC_TEXT("the backend table names no &nuc_delegates")
                                  : NUC_TEXT("the backend table lacks a backend");
        im->detail->where =
            nuc_fb_string(&im->reader, nuc_fb_vec_table(&im->reader, im->delegates, 0), NUC_DELEGATE_ID, NULL);
    }
    return d;
}

static enum nuc_status image_sizes(struct nuc_image *im, const struct nuc_backend_table *backends,
                                   struct state_layout *layout, struct nuc_program_sizes *out)
{
    *out = (struct nuc_program_sizes){.state = 0};
    if (!layout_of(im, layout))
        return NUC_BAD_INPUT;
    out->state = layout->total;
    out->n_planned = im->buffer_sizes.count > 0 ? im->buffer_sizes.count - 1 : 0;
    for (uint32_t m = 0; m < out->n_planned; m++) {
        if (!nuc_image_planned(im, m, &out->planned[m]))
            return NUC_BAD_INPUT;
    }
    if (im->delegates.count == 0)
        return NUC_OK;
    const struct nuc_delegates *delegates = delegates_of(im, backends);
    return delegates != NULL ? delegates->sizes(im, backends, out) : NUC_UNSUPPORTED;
}

enum nuc_status nuc_program_sizes(const void *image, size_t size, const struct nuc_backend_table *backends,
                                  struct nuc_program_sizes *out, struct nuc_detail *detail)
{
    struct nuc_detail unused;
    struct state_layout layout;
    struct nuc_image im;

    detail = detail != NULL ? detail : &unused;
    clear_detail(detail);
    if (out == NULL)
        return NUC_BAD_USAGE;
    if (!nuc_image_open(&im, image, size, detail))
        return NUC_BAD_INPUT;
    return image_sizes(&im, backends, &layout, out);
}

/*
 * Every block is there, aligned and large enough, and lies on none of the others: the image is verified once, and the
 * state says where everything is.
 */
static bool memory_suffices(const struct nuc_image *im, const struct nuc_program_memory *m,
                            const struct nuc_program_sizes *needed)
{
    struct nuc_span blocks[NUC_MAX_MEMORIES + 3] = {im->file};
    bool enough = true;

    for (size_t i = 1; i < needed->n_planned + 3; i++) {
        const void *at = i == 1 ? m->state : i == 2 ? m->temporary : m->planned[i - 3];
        size_t has = i == 1 ? m->state_size : i == 2 ? m->temporary_size : m->planned_size[i - 3];
        size_t needs = i == 1 ? needed->state : i == 2 ? needed->temporary : needed->planned[i - 3];
        enough = enough && has >= needs && (uintptr_t)at % NUC_MEMORY_ALIGNMENT == 0 && (needs == 0 || at != NULL);
        blocks[i] = (struct nuc_span){at, needs};
        for (size_t k = 0; k < i; k++)
            enough = enough && nuc_is_apart(at, needs, blocks[k].data, blocks[k].size);
    }
    return enough;
}

static void attach(struct nuc_program *p, const struct nuc_image *im, const struct nuc_program_memory *memory,
                   const struct nuc_program_sizes *needed, const struct state_layout *layout)
{
    uint8_t *state = layout->total != 0 ? memory->state : (uint8_t *)p; /* no address is made of NULL */

    memset(state, 0, layout->total);
    p->image = im->file.data;
    p->image_size = im->file.size;
    p->round = 1;
    p->memory = *memory;
    for (size_t i = needed->n_planned; i < NUC_MAX_MEMORIES; i++)
        p->memory.planned_size[i] = 0;
    p->work = (struct nuc_value *)(void *)(state + layout->work);
    p->args = (struct nuc_value **)(void *)(state + layout->args);
    p->instructions = (struct nuc_instruction *)(void *)(state + layout->instructions);
    p->delegates = (struct nuc_loaded_delegate *)(void *)(state + layout->delegates);
    p->slots = (struct nuc_slot *)(void *)(state + layout->slots);
    p->places = (uint32_t *)(void *)(state + layout->places);
    p->kinds = state + layout->kinds;
    p->given = state + layout->given;
    p->constants = im->constants.data;
    p->constant_offsets = im->constant_offsets.count > 0 ? im->file.data + im->constant_offsets.at : NULL;
    p->constant_buffers = im->file.data + im->constant_buffers.at;
    p->inputs = im->reader.bytes.data + im->inputs.at;
    p->outputs = im->reader.bytes.data + im->outputs.at;
    p->n_values = im->values.count;
    p->n_instructions = im->instructions.count;
    p->n_inputs = im->inputs.count;
    p->n_outputs = im->outputs.count;
}

static bool check_io(const struct nuc_program *p, struct nuc_image *im, const uint8_t *indices, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!nuc_image_need(im, nuc_load_u32(indices + 4 * (size_t)i) < p->n_values,
                            NUC_TEXT("an input or output is not a value of the method")))
            return false;
    }
    return true;
}

/* p->n_delegates counts those that are prepared, for nuc_program_unload(). */
static enum nuc_status load_delegates(struct nuc_program *p, struct nuc_image *im,
                                      const struct nuc_backend_table *backends, size_t state_at)
{
    for (uint32_t i = 0; i < im->delegates.count; i++) {
        struct nuc_loaded_delegate *d = &p->delegates[i];
        struct nuc_backend_sizes sizes;
        struct nuc_span processed;
        enum nuc_status status = delegate_at(im, backends, i, &d->backend, &processed, &sizes);
        if (status != NUC_OK)
            return status;
        int64_t scratch;
        if (!planned_scratch(im, i, &sizes, &scratch))
            return NUC_BAD_INPUT;
        d->scratch = scratch < 0 ? NULL : (uint8_t *)p->memory.planned[0] + scratch;
        d->state = (uint8_t *)p->memory.state + state_at;
        memset(d->state, 0, sizes.state);
        status = d->backend->load(d->state, processed.data, processed.size, im->detail);
        if (status != NUC_OK)
            return status;
        state_at += nuc_align_up(sizes.state, NUC_MEMORY_ALIGNMENT);
        p->n_delegates++;
    }
    im->detail->where = NULL;
    return NUC_OK;
}

const struct nuc_delegates nuc_delegates = {delegate_sizes, load_delegates};

/* Instructions come last: their checks need the kinds of the values, and how many delegates there are. */
static enum nuc_status load(struct nuc_program *p, struct nuc_image *im, const struct nuc_kernel_table *kernels,
                            const struct nuc_backend_table *backends, size_t delegate_states)
{
    if (!check_io(p, im, p->inputs, p->n_inputs) || !check_io(p, im, p->outputs, p->n_outputs))
        return NUC_BAD_INPUT;
    enum nuc_status status = nuc_load_values(p, im);
    if (status == NUC_OK && im->delegates.count > 0)
        status = backends->delegates->load(p, im, backends, delegate_states);
    if (status == NUC_OK)
        status = nuc_load_instructions(p, im, kernels);
    return status;
}

enum nuc_status nuc_program_load(struct nuc_program *p, const void *image, size_t size,
                                 const struct nuc_program_memory *memory, const struct nuc_kernel_table *kernels,
                                 const struct nuc_backend_table *backends, struct nuc_detail *detail)
{
    struct nuc_detail unused;
    struct nuc_program_sizes needed;
    struct state_layout layout;
    struct nuc_image im;

    detail = detail != NULL ? detail : &unused;
    clear_detail(detail);
    if (p == NULL)
        return NUC_BAD_USAGE;
    memset(p, 0, sizeof *p);
    if (memory == NULL || kernels == NULL)
        return NUC_BAD_USAGE;
    if (!nuc_image_open(&im, image, size, detail))
        return NUC_BAD_INPUT;
    enum nuc_status status = image_sizes(&im, backends, &layout, &needed);
    if (status != NUC_OK)
        return status;
    if (!nuc_image_need(&im, memory_suffices(&im, memory, &needed),
                        NUC_TEXT("a memory block is too small, misaligned, or overlaps another")))
        return NUC_NO_MEMORY;
    attach(p, &im, memory, &needed, &layout);
    status = load(p, &im, kernels, backends, layout.total);
    if (status != NUC_OK)
        nuc_program_unload(p);
    return status;
}

enum nuc_status nuc_program_reset(struct nuc_program *p, struct nuc_detail *detail)
{
    struct nuc_detail unused;
    struct nuc_image im;

    detail = detail != NULL ? detail : &unused;
    clear_detail(detail);
    if (p == NULL || p->image == NULL) {
        detail->message = NUC_TEXT("no program is loaded");
        return NUC_BAD_USAGE;
    }
    if (!nuc_image_open(&im, p->image, p->image_size, detail))
        return NUC_BAD_INPUT;
    for (uint32_t i = 0; i < p->n_values; i++) {
        uint32_t initial = nuc_initial_of(p, i);
        struct nuc_value v;
        struct nuc_span bytes;
        if (initial == 0)
            continue;
        nuc_value_read(p, i, &v);
        if (!nuc_image_initial(&im, initial, v.u.tensor.bytes, &bytes))
            return NUC_BAD_INPUT;
        memcpy(v.u.tensor.data, bytes.data, bytes.size);
    }
    return NUC_OK;
}

size_t nuc_program_n_states(const struct nuc_program *p)
{
    size_t count = 0;

    for (uint32_t i = 0; p != NULL && p->image != NULL && i < p->n_values; i++)
        count += nuc_initial_of(p, i) != 0;
    return count;
}

enum nuc_status nuc_program_state(const struct nuc_program *p, size_t index, struct nuc_tensor *out)
{
    for (uint32_t i = 0; p != NULL && p->image != NULL && out != NULL && i < p->n_values; i++) {
        struct nuc_value v;
        if (nuc_initial_of(p, i) == 0 || index-- > 0)
            continue;
        nuc_value_read(p, i, &v);
        *out = v.u.tensor;
        return NUC_OK;
    }
    return NUC_BAD_USAGE;
}

void nuc_program_unload(struct nuc_program *p)
{
    if (p == NULL)
        return;
    while (p->n_delegates > 0) {
        struct nuc_loaded_delegate *d = &p->delegates[--p->n_delegates];
        if (d->backend->unload != NULL)
            d->backend->unload(d->state);
    }
    p->image = NULL; /* what asks for an input, an output or an execution finds none */
    p->n_inputs = 0;
    p->n_outputs = 0;
}

void *nuc_program_device(const struct nuc_program *p, size_t index)
{
    const struct nuc_loaded_delegate *d = p != NULL && index < p->n_delegates ? &p->delegates[index] : NULL;

    return d != NULL && d->backend->device != NULL ? d->backend->device(d->state) : NULL;
}
