/*
 * Inputs, outputs and execution of a loaded program. Indices, kinds and arguments were verified when it was loaded;
 * what is checked here is what changes after that: whether inputs and outputs have been given their data, and the
 * arguments of a program that moves numbers.
 */
#include <string.h>

#include "device/runtime/loader.h"

/* The slot of an input or output that the caller places. */
static struct nuc_slot *slot_at(const struct nuc_program *p, const uint8_t *indices, size_t i)
{
    return &p->slots[p->places[nuc_load_u32(indices + 4 * i)]];
}

static enum nuc_status fail(struct nuc_detail *detail, enum nuc_status status, const char *message)
{
    if (detail != NULL)
        *detail = (struct nuc_detail){.message = message, .instruction = -1, .value = -1};
    return status;
}

static enum nuc_status info(const struct nuc_program *p, const uint8_t *indices, size_t count, size_t index,
                            struct nuc_tensor *out)
{
    if (index >= count || out == NULL)
        return NUC_BAD_USAGE;
    struct nuc_value v;
    nuc_value_read(p, nuc_load_u32(indices + 4 * index), &v);
    if (v.kind != NUC_VALUE_TENSOR)
        return NUC_UNSUPPORTED;
    *out = v.u.tensor;
    return NUC_OK;
}

enum nuc_status nuc_program_input_info(const struct nuc_program *p, size_t index, struct nuc_tensor *out)
{
    return p == NULL ? NUC_BAD_USAGE : info(p, p->inputs, p->n_inputs, index, out);
}

enum nuc_status nuc_program_output_info(const struct nuc_program *p, size_t index, struct nuc_tensor *out)
{
    return p == NULL ? NUC_BAD_USAGE : info(p, p->outputs, p->n_outputs, index, out);
}

enum nuc_status nuc_program_output(const struct nuc_program *p, size_t index, struct nuc_tensor *out)
{
    return p == NULL ? NUC_BAD_USAGE : info(p, p->outputs, p->n_outputs, index, out);
}

/* A block of the caller's is none of those that the program computes in. */
static bool is_apart(const struct nuc_program *p, const void *data, size_t bytes)
{
    const struct nuc_program_memory *m = &p->memory;
    bool apart = nuc_is_apart(data, bytes, m->state, m->state_size) &&
                 nuc_is_apart(data, bytes, m->temporary, m->temporary_size) && nuc_is_apart(data, bytes, p, sizeof *p);

    for (size_t i = 0; i < NUC_MAX_MEMORIES; i++)
        apart = apart && nuc_is_apart(data, bytes, m->planned[i], m->planned_size[i]);
    return apart;
}

enum nuc_status nuc_program_set_input(struct nuc_program *p, size_t index, const void *data, size_t bytes,
                                      struct nuc_detail *detail)
{
    struct nuc_tensor t;

    if (nuc_program_input_info(p, index, &t) != NUC_OK)
        return fail(detail, NUC_BAD_USAGE, NUC_TEXT("there is no such tensor input"));
    if (bytes != t.bytes || (data == NULL && bytes > 0))
        return fail(detail, NUC_BAD_USAGE, NUC_TEXT("the input has another number of bytes"));
    if (t.constant)
        return fail(detail, NUC_BAD_USAGE, NUC_TEXT("the input is a constant of the program"));
    if (t.planned) {
        if (bytes > 0)
            memmove(t.data, data, bytes);
        p->given[index] = p->round;
        return NUC_OK;
    }
    if ((uintptr_t)data % NUC_MEMORY_ALIGNMENT != 0)
        return fail(detail, NUC_BAD_USAGE, NUC_TEXT("the input is not aligned to 16 bytes"));
    slot_at(p, p->inputs, index)->data = (void *)(uintptr_t)data;
    return NUC_OK;
}

enum nuc_status nuc_program_set_output(struct nuc_program *p, size_t index, void *data, size_t bytes,
                                       struct nuc_detail *detail)
{
    struct nuc_tensor t;

    if (nuc_program_output_info(p, index, &t) != NUC_OK)
        return fail(detail, NUC_BAD_USAGE, NUC_TEXT("there is no such tensor output"));
    if (t.planned || t.constant)
        return fail(detail, NUC_BAD_USAGE, NUC_TEXT("the program itself places this output"));
    if (bytes < t.bytes || data == NULL || (uintptr_t)data % NUC_MEMORY_ALIGNMENT != 0)
        return fail(detail, NUC_BAD_USAGE, NUC_TEXT("the output buffer is too small or misaligned"));
    if (!is_apart(p, data, t.bytes) || !nuc_is_apart(data, t.bytes, p->image, p->image_size))
        return fail(detail, NUC_BAD_USAGE, NUC_TEXT("the output buffer lies in the program or its memory"));
    slot_at(p, p->outputs, index)->data = data;
    return NUC_OK;
}

void nuc_program_trace(struct nuc_program *p,
                       void (*trace)(void *user, uint32_t instruction, const char *name, struct nuc_value *const *args,
                                     size_t n_args),
                       void *user)
{
    p->trace = trace;
    p->trace_user = user;
}

void nuc_program_profile(struct nuc_program *p,
                         void (*profile)(void *user, uint32_t instruction, const uint8_t *records, size_t bytes),
                         void *user)
{
    p->profile = profile;
    p->profile_user = user;
}

/* Reads the tensors of a list to `at`; false when one has no data. A missing one is no tensor. */
static bool gather_list(const struct nuc_program *p, struct nuc_list *list, struct nuc_value *at)
{
    list->tensors = at;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t index = nuc_load_u32(list->items + 4 * (size_t)i);
        if (index == UINT32_MAX) {
            at[i].kind = NUC_VALUE_NONE;
            continue;
        }
        if (!nuc_value_read(p, index, &at[i]))
            return false;
    }
    return true;
}

/* Reads the arguments, and makes sure that every tensor among them has its data. */
static bool gather(struct nuc_program *p, const struct nuc_instruction *in, uint32_t n_args)
{
    struct nuc_value *v = p->work;
    uint32_t before = UINT32_MAX;

    for (uint32_t i = 0; i < n_args; i++) {
        uint32_t index = nuc_call_arg(in, i);
        if (index == before) { /* what an operator returns is its last argument */
            p->args[i] = p->args[i - 1];
            continue;
        }
        before = index;
        p->args[i] = v;
        if (!nuc_value_read(p, index, v))
            return false;
        struct nuc_value *next = v + 1;
        if (v->kind == NUC_VALUE_TENSORS || v->kind == NUC_VALUE_OPTIONAL_TENSORS) {
            if (!gather_list(p, &v->u.list, next))
                return false;
            next += v->u.list.count;
        }
        v = next;
    }
    return true;
}

/* Temporary memory and what is recorded last for one call only. */
static enum nuc_status call(struct nuc_program *p, const struct nuc_instruction *in, uint32_t at,
                            struct nuc_kernel_context *cx)
{
    struct nuc_detail *detail = cx->detail;
    const struct nuc_kernel_entry *kernel = in->kind == NUC_INSTRUCTION_KERNEL ? in->u.call.of.kernel : NULL;
    const struct nuc_loaded_delegate *delegate = in->u.call.of.delegate;
    uint32_t n_args = nuc_call_n_args(in);
    enum nuc_status status;

    detail->where = kernel != NULL ? kernel->name : delegate->backend->id;
    if (!gather(p, in, n_args)) {
        detail->message = NUC_TEXT("an input or output has not been given its data");
        return NUC_BAD_USAGE;
    }
    cx->temporary_used = 0;
    cx->profile = NULL;
    cx->scratch = kernel != NULL ? NULL : delegate->scratch;
    if (kernel != NULL && p->numbers_move && (status = nuc_check_call(p, in, detail)) != NUC_OK)
        return status;
    if (kernel != NULL)
        status = kernel->run(cx, p->args);
    else
        status = delegate->backend->run(delegate->state, cx, p->args, n_args);
    if (status == NUC_OK && p->profile != NULL && cx->profile != NULL)
        p->profile(p->profile_user, at, cx->profile, cx->profile_size);
    if (status == NUC_OK && p->trace != NULL)
        p->trace(p->trace_user, at, detail->where, p->args, n_args);
    return status;
}

/* Of scalars of one kind the place moves, of tensors the bytes. */
static enum nuc_status move(struct nuc_program *p, const struct nuc_instruction *in, struct nuc_detail *detail)
{
    struct nuc_value from, to;

    if (nuc_value_kind_of(p, in->u.move.to) != NUC_VALUE_TENSOR) {
        p->places[in->u.move.to] = p->places[in->u.move.from];
        return NUC_OK;
    }
    if (!nuc_value_read(p, in->u.move.from, &from) || !nuc_value_read(p, in->u.move.to, &to)) {
        detail->message = NUC_TEXT("an input or output has not been given its data");
        return NUC_BAD_USAGE;
    }
    if (to.u.tensor.bytes > 0)
        memmove(to.u.tensor.data, from.u.tensor.data, to.u.tensor.bytes);
    return NUC_OK;
}

/* A tensor is true when all its elements are. */
static enum nuc_status is_true(const struct nuc_program *p, uint32_t index, bool *result, struct nuc_detail *detail)
{
    struct nuc_value v;

    if (!nuc_value_read(p, index, &v)) {
        detail->message = NUC_TEXT("the condition of a jump has no data");
        return NUC_BAD_USAGE;
    }
    *result = v.kind != NUC_VALUE_BOOL || v.u.b;
    for (size_t i = 0; v.kind != NUC_VALUE_BOOL && i < v.u.tensor.bytes; i++)
        *result = *result && ((const uint8_t *)v.u.tensor.data)[i] != 0;
    return NUC_OK;
}

static enum nuc_status step(struct nuc_program *p, uint32_t *at, struct nuc_kernel_context *cx)
{
    const struct nuc_instruction *in = &p->instructions[*at];
    enum nuc_status status = NUC_OK;
    uint32_t next = *at + 1;
    bool condition = true;

    switch (in->kind) {
    case NUC_INSTRUCTION_KERNEL:
    case NUC_INSTRUCTION_DELEGATE:
        status = call(p, in, *at, cx);
        break;
    case NUC_INSTRUCTION_MOVE:
        status = move(p, in, cx->detail);
        break;
    case NUC_INSTRUCTION_JUMP_FALSE:
        status = is_true(p, in->u.jump.condition, &condition, cx->detail);
        next = condition ? next : in->u.jump.target;
        break;
    default: /* NUC_INSTRUCTION_FREE, no other kind was loaded: memory of the caller is given back */
        if ((p->kinds[in->u.move.from] & NUC_KIND_OF_SLOT) != 0)
            p->slots[p->places[in->u.move.from]].data = NULL;
        break;
    }
    if (status == NUC_OK)
        *at = next;
    return status;
}

/* Every input was set since the execution before, which has used the planned memory of those that lie there. */
static bool take_inputs(struct nuc_program *p, struct nuc_detail *detail)
{
    for (size_t i = 0; i < p->n_inputs; i++) {
        struct nuc_value v;
        bool there = nuc_value_read(p, nuc_load_u32(p->inputs + 4 * i), &v);
        bool planned = v.kind == NUC_VALUE_TENSOR && v.u.tensor.planned && v.u.tensor.bytes > 0;
        if ((planned && p->given[i] != p->round) || !there) {
            detail->value = (int32_t)nuc_load_u32(p->inputs + 4 * i);
            return false;
        }
    }
    p->round++; /* every input was of the round before: a number that comes back is none of an older one */
    return true;
}

enum nuc_status nuc_program_execute(struct nuc_program *p, struct nuc_detail *detail)
{
    struct nuc_detail unused;
    uint32_t at = 0;

    detail = detail != NULL ? detail : &unused;
    *detail = (struct nuc_detail){.instruction = -1, .value = -1};
    if (p == NULL || p->image == NULL || !take_inputs(p, detail)) {
        detail->message = p == NULL || p->image == NULL ? NUC_TEXT("no program is loaded")
                                                        : NUC_TEXT("an input has not been given its data");
        return NUC_BAD_USAGE;
    }
    struct nuc_kernel_context cx = {
        .program = p, .temporary = p->memory.temporary, .temporary_size = p->memory.temporary_size, .detail = detail};
    while (at < p->n_instructions) {
        detail->instruction = (int32_t)at; /* also for the kernel */
        enum nuc_status status = step(p, &at, &cx);
        if (status != NUC_OK)
            return status;
    }
    detail->instruction = -1;
    detail->where = NULL;
    return NUC_OK;
}
