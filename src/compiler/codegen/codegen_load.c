/* Loads the program as the runtime does, with a backend that only looks, and finds what its calls use. */
#include <string.h>

#include "base/program_schema.h"
#include "compiler/codegen/codegen_private.h"

/* ---- a backend in place of the NPU's: sizes are the real one's, loading notes the payload ---- */

static enum nuc_status sizes(const uint8_t *processed, size_t size, struct nuc_backend_sizes *out,
                             struct nuc_detail *detail)
{
    enum nuc_status status = nuc_neutron_backend.sizes(processed, size, out, detail);

    if (out->state < sizeof(struct nuc_codegen_delegate))
        out->state = sizeof(struct nuc_codegen_delegate);
    return status;
}

static size_t argument_bytes(const uint8_t *processed, size_t size, size_t index, const struct nuc_tensor *tensor)
{
    return nuc_neutron_backend.argument_bytes(processed, size, index, tensor);
}

static enum nuc_status load(void *state, const uint8_t *processed, size_t size, struct nuc_detail *detail)
{
    (void)detail;
    *(struct nuc_codegen_delegate *)state = (struct nuc_codegen_delegate){processed, size};
    return NUC_OK;
}

static enum nuc_status run(void *state, struct nuc_kernel_context *cx, struct nuc_value *const *args, size_t n_args)
{
    (void)state, (void)cx, (void)args, (void)n_args;
    return NUC_UNSUPPORTED;
}

static const struct nuc_backend looking_backend = {
    .id = "NeutronBackend", .sizes = sizes, .argument_bytes = argument_bytes, .load = load, .run = run};
static const struct nuc_backend *const backends[] = {&looking_backend};
static const struct nuc_backend_table backend_table = {backends, 1};

/* ---- loading ---- */

_Noreturn static void refuse(struct nuc_codegen *g, enum nuc_status status, const struct nuc_detail *d)
{
    nuc_fail(g->cx, status, "%s: %s%s%s", g->file, d->message != NULL ? d->message : nuc_status_name(status),
             d->where != NULL ? ", at " : "", d->where != NULL ? d->where : "");
}

/* Memory of the arena, aligned as the runtime wants it. */
static void *take(struct nuc_codegen *g, size_t size)
{
    uint8_t *block = nuc_alloc(g->cx, size + NUC_MEMORY_ALIGNMENT);

    return block + (NUC_MEMORY_ALIGNMENT - (uintptr_t)block % NUC_MEMORY_ALIGNMENT) % NUC_MEMORY_ALIGNMENT;
}

static void load_program(struct nuc_codegen *g)
{
    struct nuc_program_memory m = {.state = NULL};
    struct nuc_detail detail = {.message = NULL};
    uint8_t *image = take(g, g->image.size);

    if (g->image.size > 0)
        memcpy(image, g->image.data, g->image.size);
    g->image.data = image;
    enum nuc_status status = nuc_program_sizes(image, g->image.size, &backend_table, &g->sizes, &detail);
    if (status != NUC_OK)
        refuse(g, status, &detail);
    m.state = take(g, m.state_size = g->sizes.state);
    m.temporary = take(g, m.temporary_size = g->sizes.temporary);
    for (size_t i = 0; i < g->sizes.n_planned; i++) {
        g->planned[i] = take(g, g->sizes.planned[i]);
        m.planned[i] = g->planned[i];
        m.planned_size[i] = g->sizes.planned[i];
    }
    status = nuc_program_load(&g->program, image, g->image.size, &m, &nuc_default_kernels, &backend_table, &detail);
    if (status != NUC_OK)
        refuse(g, status, &detail);
}

/* Planned memory was zeroed: what is not zero any more was initial data. */
static void check_initial_data(struct nuc_codegen *g)
{
    for (size_t i = 0; i < g->sizes.n_planned; i++) {
        for (size_t k = 0; k < g->sizes.planned[i]; k++) {
            if (g->planned[i][k] != 0)
                nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: has planned tensors with initial data: run it with the runtime",
                         g->file);
        }
    }
}

/* ---- what the calls use ---- */

static void use(struct nuc_codegen *g, uint32_t index)
{
    const struct nuc_value *v = &g->program.values[index];

    if (g->number_of[index] != NUC_UNUSED_VALUE)
        return;
    g->value_of[g->n_used] = index;
    g->number_of[index] = g->n_used++;
    bool list = v->kind == NUC_VALUE_INTS || v->kind == NUC_VALUE_TENSORS || v->kind == NUC_VALUE_OPTIONAL_TENSORS;
    for (uint32_t i = 0; list && i < v->u.list.count; i++) {
        uint32_t item = nuc_codegen_item(v, i);
        /* Lists hold no lists, so one level is all. */
        if (item == UINT32_MAX || g->number_of[item] != NUC_UNUSED_VALUE)
            continue;
        g->value_of[g->n_used] = item;
        g->number_of[item] = g->n_used++;
    }
}

static void check_instruction(struct nuc_codegen *g, const struct nuc_instruction *in)
{
    bool moves_tensor = in->kind == NUC_INSTRUCTION_MOVE && g->program.values[in->u.move.to].kind == NUC_VALUE_TENSOR;

    if (in->kind == NUC_INSTRUCTION_JUMP_FALSE || (in->kind == NUC_INSTRUCTION_MOVE && !moves_tensor))
        nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: has jumps or moves of scalars: run it with the runtime", g->file);
}

size_t nuc_codegen_delegate_of(struct nuc_codegen *g, const struct nuc_instruction *in)
{
    const struct nuc_codegen_delegate *d = in->u.delegate->state;
    size_t i = 0;

    while (i < g->n_delegates && g->delegates[i] != d)
        i++;
    if (i == g->n_delegates)
        g->delegates[g->n_delegates++] = d;
    return i;
}

static void find_used(struct nuc_codegen *g)
{
    const struct nuc_program *p = &g->program;

    g->number_of = nuc_alloc_array(g->cx, p->n_values, sizeof *g->number_of);
    g->value_of = nuc_alloc_array(g->cx, p->n_values, sizeof *g->value_of);
    memset(g->number_of, 0xFF, p->n_values * sizeof *g->number_of);
    g->delegates = nuc_alloc_array(g->cx, p->n_delegates, sizeof(const struct nuc_codegen_delegate *));
    for (uint32_t i = 0; i < p->n_instructions; i++) {
        const struct nuc_instruction *in = &p->instructions[i];
        check_instruction(g, in);
        for (uint32_t k = 0; k < in->n_args; k++)
            use(g, nuc_codegen_arg(in, k));
        if (in->kind == NUC_INSTRUCTION_MOVE) {
            use(g, in->u.move.from);
            use(g, in->u.move.to);
        } else if (in->kind == NUC_INSTRUCTION_DELEGATE) {
            nuc_codegen_delegate_of(g, in);
        }
    }
    for (uint32_t i = 0; i < p->n_inputs; i++)
        use(g, nuc_load_u32(p->inputs + 4 * (size_t)i));
    for (uint32_t i = 0; i < p->n_outputs; i++)
        use(g, nuc_load_u32(p->outputs + 4 * (size_t)i));
}

static void measure_delegates(struct nuc_codegen *g)
{
    struct nuc_detail detail = {.message = NULL};

    g->delegate_sizes = nuc_alloc_array(g->cx, g->n_delegates, sizeof *g->delegate_sizes);
    for (size_t i = 0; i < g->n_delegates; i++) {
        enum nuc_status status =
            nuc_neutron_backend.sizes(g->delegates[i]->payload, g->delegates[i]->size, &g->delegate_sizes[i], &detail);
        if (status != NUC_OK)
            refuse(g, status, &detail);
    }
}

void nuc_codegen_load(struct nuc_codegen *g)
{
    load_program(g);
    check_initial_data(g);
    find_used(g);
    measure_delegates(g);
}
