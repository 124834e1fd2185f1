/*
 * Inputs, outputs and execution of a loaded program. Indices, kinds and signatures were verified when it was loaded;
 * what is checked here is what the caller decides after that: whether inputs and outputs have been given their data.
 */
#include <string.h>

#include "runtime/loader.h"

static struct nuc_value *value_at(const struct nuc_program *p, const uint8_t *indices, size_t i)
{
    return &p->values[nuc_load_u32(indices + 4 * i)];
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
    const struct nuc_value *v = value_at(p, indices, index);
    if (v->kind != NUC_VALUE_TENSOR)
        return NUC_UNSUPPORTED;
    *out = v->u.tensor;
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
        value_at(p, p->inputs, index)->given = p->round;
        return NUC_OK;
    }
    if ((uintptr_t)data % NUC_MEMORY_ALIGNMENT != 0)
        return fail(detail, NUC_BAD_USAGE, NUC_TEXT("the input is not aligned to 16 bytes"));
    value_at(p, p->inputs, index)->u.tensor.data = (void *)(uintptr_t)data;
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
    value_at(p, p->outputs, index)->u.tensor.data = data;
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

static bool tensor_is_there(const struct nuc_value *v)
{
    return v->kind != NUC_VALUE_TENSOR || v->u.tensor.data != NULL || v->u.tensor.bytes == 0;
}

static bool list_is_there(const struct nuc_program *p, const struct nuc_value *v)
{
    for (uint32_t i = 0; i < v->u.list.count; i++) {
        uint32_t index = nuc_load_u32(v->u.list.items + 4 * (size_t)i);
        /* An item beyond the values is None. */
        if (index < p->n_values && !tensor_is_there(&p->values[index]))
            return false;
    }
    return true;
}

/* Gathers the arguments and makes sure that every tensor among them has its data. */
static bool gather(struct nuc_program *p, const struct nuc_instruction *in)
{
    for (uint32_t i = 0; i < in->n_args; i++) {
        struct nuc_value *v = value_at(p, in->args, i);
        bool list = v->kind == NUC_VALUE_TENSORS || v->kind == NUC_VALUE_OPTIONAL_TENSORS;
        p->args[i] = v;
        if (!tensor_is_there(v) || (list && !list_is_there(p, v)))
            return false;
    }
    return true;
}

/* The context is made anew for each call: temporary memory lasts for one call only. */
static enum nuc_status call(struct nuc_program *p, const struct nuc_instruction *in, uint32_t at,
                            struct nuc_detail *detail)
{
    struct nuc_kernel_context cx = {.values = p->values,
                                    .n_values = p->n_values,
                                    .temporary = p->memory.temporary,
                                    .temporary_size = p->memory.temporary_size,
                                    .detail = detail};
    bool kernel = in->kind == NUC_INSTRUCTION_KERNEL;
    enum nuc_status status;

    detail->where = kernel ? in->u.kernel->name : in->u.delegate->backend->id;
    if (!gather(p, in)) {
        detail->message = NUC_TEXT("an input or output has not been given its data");
        return NUC_BAD_USAGE;
    }
    cx.scratch = kernel ? NULL : in->u.delegate->scratch;
    if (kernel)
        status = in->u.kernel->run(&cx, p->args);
    else
        status = in->u.delegate->backend->run(in->u.delegate->state, &cx, p->args, in->n_args);
    if (status == NUC_OK && p->profile != NULL && cx.profile != NULL)
        p->profile(p->profile_user, at, cx.profile, cx.profile_size);
    if (status == NUC_OK && p->trace != NULL)
        p->trace(p->trace_user, at, detail->where, p->args, in->n_args);
    return status;
}

static enum nuc_status move(struct nuc_program *p, const struct nuc_instruction *in, struct nuc_detail *detail)
{
    const struct nuc_value *from = &p->values[in->u.move.from];
    struct nuc_value *to = &p->values[in->u.move.to];

    if (to->kind != NUC_VALUE_TENSOR) {
        *to = *from;
        return NUC_OK;
    }
    if (!tensor_is_there(from) || !tensor_is_there(to)) {
        detail->message = NUC_TEXT("an input or output has not been given its data");
        return NUC_BAD_USAGE;
    }
    if (to->u.tensor.bytes > 0)
        memmove(to->u.tensor.data, from->u.tensor.data, to->u.tensor.bytes);
    return NUC_OK;
}

/* A tensor is true when all its elements are. */
static enum nuc_status is_true(const struct nuc_value *v, bool *result, struct nuc_detail *detail)
{
    if (v->kind == NUC_VALUE_BOOL) {
        *result = v->u.b;
        return NUC_OK;
    }
    if (!tensor_is_there(v)) {
        detail->message = NUC_TEXT("the condition of a jump has no data");
        return NUC_BAD_USAGE;
    }
    *result = true;
    for (size_t i = 0; i < v->u.tensor.bytes; i++)
        *result = *result && ((const uint8_t *)v->u.tensor.data)[i] != 0;
    return NUC_OK;
}

/* Memory of the caller is given back; planned memory and constants stay where they are. */
static void release(struct nuc_value *v)
{
    if (v->kind == NUC_VALUE_TENSOR && !v->u.tensor.planned && !v->u.tensor.constant)
        v->u.tensor.data = NULL;
}

static enum nuc_status step(struct nuc_program *p, uint32_t *at, struct nuc_detail *detail)
{
    const struct nuc_instruction *in = &p->instructions[*at];
    enum nuc_status status = NUC_OK;
    uint32_t next = *at + 1;
    bool condition = true;

    switch (in->kind) {
    case NUC_INSTRUCTION_KERNEL:
    case NUC_INSTRUCTION_DELEGATE:
        status = call(p, in, *at, detail);
        break;
    case NUC_INSTRUCTION_MOVE:
        status = move(p, in, detail);
        break;
    case NUC_INSTRUCTION_JUMP_FALSE:
        status = is_true(&p->values[in->u.jump.condition], &condition, detail);
        next = condition ? next : in->u.jump.target;
        break;
    default: /* NUC_INSTRUCTION_FREE: no other kind was loaded */
        release(&p->values[in->u.move.from]);
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
        const struct nuc_value *v = value_at(p, p->inputs, i);
        bool planned = v->kind == NUC_VALUE_TENSOR && v->u.tensor.planned && v->u.tensor.bytes > 0;
        if ((planned && v->given != p->round) || !tensor_is_there(v)) {
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
    while (at < p->n_instructions) {
        enum nuc_status status = step(p, &at, detail);
        if (status != NUC_OK) {
            detail->instruction = (int32_t)at;
            return status;
        }
    }
    detail->where = NULL;
    return NUC_OK;
}
