/* Loads the program as the runtime does, with a backend that only looks, and finds what its calls use. */
#include <stdlib.h>
#include <string.h>

#include "tools/codegen/codegen_program.h"

/* ---- loading ---- */

static enum nuc_status leave(void *state, const uint8_t *processed, size_t size, struct nuc_detail *detail)
{
    (void)state, (void)processed, (void)size, (void)detail;
    return NUC_OK;
}

_Noreturn void nuc_codegen_refuse(struct nuc_context *cx, const char *file, enum nuc_status status,
                                  const struct nuc_detail *d)
{
    nuc_fail(cx, status, "%s: %s%s%s%s%s", file, d->message != NULL ? d->message : nuc_status_name(status),
             d->argument != NULL ? ": " : "", d->argument != NULL ? d->argument : "", d->where != NULL ? ", at " : "",
             d->where != NULL ? d->where : "");
}

/* The value as a kernel gets it, but for memory. The runtime has checked it. */
static void read_value(const struct nuc_codegen *g, const struct nuc_program_view *view,
                       const struct nuc_view_value *from, struct nuc_value *out)
{
    struct nuc_tensor *t = &out->u.tensor;
    struct nuc_span data = {NULL, 0};

    out->kind = from->kind;
    if (from->kind == NUC_VALUE_INT)
        out->u.i = from->u.i;
    else if (from->kind == NUC_VALUE_BOOL)
        out->u.b = from->u.b;
    else if (from->kind == NUC_VALUE_DOUBLE)
        out->u.f = from->u.f;
    if (from->kind != NUC_VALUE_TENSOR)
        return;
    const struct nuc_view_tensor *v = &from->u.tensor;
    int32_t *sizes = nuc_alloc_array(g->cx, v->sizes.count, sizeof *sizes);
    *t = (struct nuc_tensor){.dtype = (uint8_t)v->dtype, .rank = (uint8_t)v->sizes.count, .planned = v->planned};
    t->bytes = nuc_dtype_size(v->dtype);
    for (uint32_t d = 0; d < v->sizes.count; d++) {
        sizes[d] = (int32_t)nuc_view_int(v->sizes, d);
        t->bytes *= (size_t)sizes[d];
    }
    t->sizes = sizes;
    t->dim_order = v->dim_order.data;
    t->constant = !v->planned && v->constant != 0;
    if (t->constant && !nuc_view_constant(view, v->constant, t->bytes, &data))
        nuc_fail(g->cx, NUC_BAD_INPUT, "%s: a constant lies outside the file", g->file);
    t->data = (void *)(uintptr_t)data.data;
}

/* Generated C is for a microcontroller: what 32 bits do not address is refused before any of it is written. */
void nuc_codegen_check_memory(struct nuc_context *cx, const char *file, const struct nuc_program_sizes *sizes)
{
    size_t bytes = sizes->temporary;

    for (size_t i = 0; i < sizes->n_planned; i++) {
        if (__builtin_add_overflow(bytes, sizes->planned[i], &bytes) || bytes > INT32_MAX)
            nuc_fail(cx, NUC_UNSUPPORTED,
                     "%s: asks for more than %ld bytes of memory: the file is damaged, or the model too large for a "
                     "microcontroller",
                     file, (long)INT32_MAX);
    }
}

/*
 * The runtime loads the program: what it refuses is refused. Delegates have the real backend's sizes, but are not
 * handed to the driver.
 */
void nuc_codegen_open(struct nuc_codegen *g)
{
    struct nuc_backend *backend = nuc_copy(g->cx, &nuc_neutron_backend, sizeof nuc_neutron_backend);
    const struct nuc_backend *const backends[] = {backend};
    const struct nuc_backend_table table = {backends, 1, &nuc_delegates};
    struct nuc_program_memory m = {.state = NULL};
    struct nuc_detail detail = {.message = NULL};
    struct nuc_program program;
    uint8_t *image = nuc_copy(g->cx, g->image.data, g->image.size);

    backend->load = leave;
    g->image.data = image;
    enum nuc_status status = nuc_program_sizes(image, g->image.size, &table, &g->sizes, &detail);
    if (status != NUC_OK)
        nuc_codegen_refuse(g->cx, g->file, status, &detail);
    nuc_codegen_check_memory(g->cx, g->file, &g->sizes);
    m.state = nuc_alloc(g->cx, m.state_size = g->sizes.state);
    m.temporary = nuc_alloc(g->cx, m.temporary_size = g->sizes.temporary);
    g->loaded = nuc_alloc_array(g->cx, g->sizes.n_planned, sizeof *g->loaded);
    for (size_t i = 0; i < g->sizes.n_planned; i++)
        g->loaded[i] = m.planned[i] = nuc_alloc(g->cx, m.planned_size[i] = g->sizes.planned[i]);
    status = nuc_program_load(&program, image, g->image.size, &m, &nuc_default_kernels, &table, &detail);
    if (status != NUC_OK)
        nuc_codegen_refuse(g->cx, g->file, status, &detail);
    const struct nuc_program_view *view = nuc_program_view_open(g->cx, g->file, g->image);
    struct nuc_decision_rule *decision = nuc_alloc(g->cx, sizeof *decision);

    status = nuc_program_decision(&program, decision, &detail);
    if (status == NUC_OK)
        g->decision = decision;
    else if (status != NUC_UNSUPPORTED)
        nuc_warn(g->cx, "%s: the decision that the program carries is not used: %s", g->file, detail.message);
    g->method = view->methods;
    g->metadata = nuc_metadata_of(g->cx, view);
    g->instructions = g->method->chains[0].instructions;
    g->n_instructions = g->method->chains[0].n_instructions;
    g->values = nuc_alloc_array(g->cx, g->method->n_values, sizeof *g->values);
    for (uint32_t i = 0; i < g->method->n_values; i++)
        read_value(g, view, &g->method->values[i], &g->values[i]);
}

/* ---- what the calls use ---- */

bool nuc_codegen_is_list(const struct nuc_view_value *v)
{
    return v->kind == NUC_VALUE_INTS || v->kind == NUC_VALUE_TENSORS || v->kind == NUC_VALUE_OPTIONAL_TENSORS;
}

static void number(struct nuc_codegen *g, uint32_t index)
{
    if (g->number_of[index] != NUC_UNUSED_VALUE)
        return;
    g->value_of[g->n_used] = index;
    g->number_of[index] = g->n_used++;
}

/* Lists hold no lists, so one level is all. */
static void use(struct nuc_codegen *g, uint32_t index)
{
    const struct nuc_view_value *v = &g->method->values[index];

    number(g, index);
    for (uint32_t i = 0; nuc_codegen_is_list(v) && i < v->u.list.count; i++) {
        if (nuc_view_int(v->u.list, i) >= 0)
            number(g, (uint32_t)nuc_view_int(v->u.list, i));
    }
}

static void use_all(struct nuc_codegen *g, struct nuc_view_list list)
{
    for (uint32_t i = 0; i < list.count; i++)
        use(g, (uint32_t)nuc_view_int(list, i));
}

size_t nuc_codegen_delegate(struct nuc_codegen *g, uint32_t index)
{
    size_t i = 0;

    while (i < g->n_delegates && g->delegates[i] != index)
        i++;
    if (i == g->n_delegates)
        g->delegates[g->n_delegates++] = index;
    return i;
}

struct nuc_span nuc_codegen_payload(const struct nuc_codegen *g, size_t place)
{
    return g->method->delegates[g->delegates[place]].data;
}

void nuc_codegen_load(struct nuc_codegen *g)
{
    nuc_codegen_open(g);
    g->number_of = nuc_alloc_array(g->cx, g->method->n_values, sizeof *g->number_of);
    g->value_of = nuc_alloc_array(g->cx, g->method->n_values, sizeof *g->value_of);
    memset(g->number_of, 0xFF, g->method->n_values * sizeof *g->number_of);
    g->delegates = nuc_alloc_array(g->cx, g->method->n_delegates, sizeof *g->delegates);
    g->scratches = nuc_alloc_array(g->cx, g->method->n_delegates, sizeof(char *));
    for (uint32_t i = 0; i < g->n_instructions; i++) {
        const struct nuc_view_instruction *in = &g->instructions[i];
        const uint32_t from = (uint32_t)in->words[0], to = (uint32_t)in->words[1];
        bool move = in->kind == NUC_INSTRUCTION_MOVE;
        if (in->kind == NUC_INSTRUCTION_JUMP_FALSE || (move && g->method->values[to].kind != NUC_VALUE_TENSOR))
            nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: has jumps or moves of scalars: run it with the runtime", g->file);
        use_all(g, in->args);
        if (move) {
            use(g, from);
            use(g, to);
        } else if (in->kind == NUC_INSTRUCTION_DELEGATE) {
            const struct nuc_view_delegate *delegate = &g->method->delegates[in->index];
            size_t place = nuc_codegen_delegate(g, in->index);
            for (uint32_t k = 0; k < delegate->n_specs && g->scratches[place] == NULL; k++) {
                if (nuc_view_is(delegate->specs[k].key, NUC_SCRATCH_SPEC))
                    g->scratches[place] =
                        nuc_format(g->cx, "%llu", strtoull(nuc_view_text(g->cx, delegate->specs[k].value), NULL, 10));
            }
            g->memories |= g->scratches[place] != NULL;
        }
    }
    use_all(g, g->method->inputs);
    use_all(g, g->method->outputs);
    /* States, whose places another value may name. */
    for (uint32_t i = 0; i < g->method->n_values; i++) {
        const struct nuc_view_value *v = &g->method->values[i];
        if (v->kind == NUC_VALUE_TENSOR && v->u.tensor.planned && v->u.tensor.constant != 0)
            number(g, i);
    }
    struct nuc_detail detail = {.message = NULL};
    for (size_t i = 0; i < g->n_delegates; i++) {
        struct nuc_span payload = nuc_codegen_payload(g, i);
        struct nuc_backend_sizes sizes;
        enum nuc_status status = nuc_neutron_backend.sizes(payload.data, payload.size, &sizes, &detail);
        if (status != NUC_OK)
            nuc_codegen_refuse(g->cx, g->file, status, &detail);
        g->state_bytes = sizes.state > g->state_bytes ? sizes.state : g->state_bytes;
    }
}
