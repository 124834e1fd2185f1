/*
 * Check on the program file: ours against the reference's, instruction by instruction. Values are numbered freely, so
 * tensors are paired at their first use and must stay paired; scalars and lists are compared by content.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "conf_program.h"
#include "conformance.h"
#include "host/file.h"

#define SCALAR_TOLERANCE 1e-7

struct pairing {
    const struct prog *own, *reference;
    int64_t *own_of, *reference_of; /* partners of planned tensors, -1: not met yet */
    struct conf_report *r;
    char where[160];
};

static bool differs(struct pairing *p, const char *what)
{
    conf_differ(p->r, "%s: %s", p->where, what);
    return false;
}

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) || conf_near(a, b, SCALAR_TOLERANCE);
}

static void list_text(char *out, size_t size, const int64_t *items, uint32_t count)
{
    size_t n = 0;

    out[0] = '\0';
    for (uint32_t i = 0; i < count && n + 24 < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%lld", i != 0 ? "," : "", (long long)items[i]);
}

static bool same_items(struct pairing *p, const char *what, const int64_t *own, const int64_t *reference,
                       uint32_t count)
{
    char a[120], b[120];

    if (count == 0 || memcmp(own, reference, count * sizeof *own) == 0)
        return true;
    list_text(a, sizeof a, own, count);
    list_text(b, sizeof b, reference, count);
    conf_differ(p->r, "%s: %s [%s], the reference has [%s]", p->where, what, a, b);
    return false;
}

/* Bytes of a constant: 0 for an element type the project does not know. */
static size_t constant_bytes(const struct prog_tensor *t)
{
    /* By the file's ScalarType: uint8, int8, int16, int32, int64, half, float, double; 11 bool, 15 bfloat16. */
    static const uint8_t widths[] = {1, 1, 2, 4, 8, 2, 4, 8, 0, 0, 0, 1, 0, 0, 0, 2};
    size_t bytes = t->dtype >= 0 && (size_t)t->dtype < sizeof widths ? widths[t->dtype] : 0;

    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->sizes[i] < 0 || !nuc_mul_size(bytes, (size_t)t->sizes[i], &bytes))
            return 0;
    }
    return bytes;
}

static bool same_constant(struct pairing *p, const struct prog_tensor *own, const struct prog_tensor *reference)
{
    size_t bytes = constant_bytes(reference);

    if (reference->constant.data == NULL)
        return true;
    if (own->constant.size < bytes || reference->constant.size < bytes)
        return differs(p, "a constant's bytes lie outside the file");
    if (memcmp(own->constant.data, reference->constant.data, bytes) != 0)
        return differs(p, "a constant's bytes differ");
    return true;
}

static const char *storage(const struct prog_tensor *t)
{
    return t->planned ? "planned" : t->buffer > 0 ? "constant" : "the caller's";
}

static bool same_tensor(struct pairing *p, int64_t reference, int64_t own)
{
    const struct prog_tensor *a = &p->own->values[own].tensor, *b = &p->reference->values[reference].tensor;

    if (a->dtype != b->dtype) {
        conf_differ(p->r, "%s: element type %lld, the reference has %lld", p->where, (long long)a->dtype,
                    (long long)b->dtype);
        return false;
    }
    if (a->rank != b->rank)
        return differs(p, "another rank");
    if (!same_items(p, "sizes", a->sizes, b->sizes, a->rank) ||
        !same_items(p, "dim order", a->dim_order, b->dim_order, a->rank))
        return false;
    if (strcmp(storage(a), storage(b)) != 0) {
        conf_differ(p->r, "%s: the tensor is %s, the reference's is %s", p->where, storage(a), storage(b));
        return false;
    }
    if (!a->planned && a->buffer > 0)
        return same_constant(p, a, b);
    if (p->own_of[reference] < 0 && p->reference_of[own] < 0) {
        p->own_of[reference] = own;
        p->reference_of[own] = reference;
    }
    return p->own_of[reference] == own || differs(p, "another tensor, by its earlier uses");
}

static bool same_scalar(struct pairing *p, const struct prog_value *a, const struct prog_value *b)
{
    bool same = a->kind == PROG_DOUBLE ? same_number(a->f, b->f) : a->i == b->i;

    if (a->kind == PROG_STRING)
        same = strcmp(a->string, b->string) == 0;
    if (same)
        return true;
    if (a->kind == PROG_DOUBLE)
        conf_differ(p->r, "%s: %.17g, the reference has %.17g", p->where, a->f, b->f);
    else if (a->kind == PROG_STRING)
        conf_differ(p->r, "%s: '%s', the reference has '%s'", p->where, a->string, b->string);
    else
        conf_differ(p->r, "%s: %lld, the reference has %lld", p->where, (long long)a->i, (long long)b->i);
    return false;
}

static bool same_kind(struct pairing *p, const struct prog_value *a, const struct prog_value *b)
{
    if (a->kind != b->kind) {
        conf_differ(p->r, "%s: %s, the reference has %s", p->where, prog_kind_name(a->kind), prog_kind_name(b->kind));
        return false;
    }
    if (a->kind >= PROG_INT_LIST && a->count != b->count) {
        conf_differ(p->r, "%s: %u elements, the reference has %u", p->where, a->count, b->count);
        return false;
    }
    return true;
}

/* An element of a list: a tensor or a scalar, never a list. */
static bool same_element(struct pairing *p, int64_t reference, int64_t own)
{
    if (reference < 0 || own < 0)
        return reference == own || differs(p, "a list element is None on one side only");
    const struct prog_value *a = &p->own->values[own], *b = &p->reference->values[reference];
    if (!same_kind(p, a, b))
        return false;
    if (a->kind == PROG_TENSOR)
        return same_tensor(p, reference, own);
    return a->kind < PROG_INT_LIST ? same_scalar(p, a, b) : differs(p, "a list inside a list");
}

static bool same_value(struct pairing *p, int64_t reference, int64_t own)
{
    const struct prog_value *a = &p->own->values[own], *b = &p->reference->values[reference];

    if (a->kind < PROG_INT_LIST || b->kind < PROG_INT_LIST)
        return same_element(p, reference, own);
    if (!same_kind(p, a, b))
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->kind == PROG_DOUBLE_LIST && !same_number(a->floats[i], b->floats[i]))
            return differs(p, "a number of the list differs");
        if (a->kind == PROG_BOOL_LIST && a->items[i] != b->items[i])
            return differs(p, "a flag of the list differs");
        if (a->kind != PROG_DOUBLE_LIST && a->kind != PROG_BOOL_LIST && !same_element(p, b->items[i], a->items[i]))
            return false;
    }
    return true;
}

static bool same_values(struct pairing *p, const char *where, const int64_t *reference, uint32_t n_reference,
                        const int64_t *own, uint32_t n_own)
{
    snprintf(p->where, sizeof p->where, "%s", where);
    if (n_reference != n_own) {
        conf_differ(p->r, "%s: %u, the reference has %u", where, n_own, n_reference);
        return false;
    }
    for (uint32_t i = 0; i < n_own; i++) {
        snprintf(p->where, sizeof p->where, "%s %u", where, i);
        if (!same_value(p, reference[i], own[i]))
            return false;
    }
    return true;
}

static bool same_calls(struct pairing *p)
{
    char where[140];

    for (uint32_t i = 0; i < p->own->n_calls || i < p->reference->n_calls; i++) {
        if (i >= p->own->n_calls || i >= p->reference->n_calls) {
            conf_differ(p->r, "%u instructions, the reference has %u", p->own->n_calls, p->reference->n_calls);
            return false;
        }
        const struct prog_call *a = &p->own->calls[i], *b = &p->reference->calls[i];
        if (strcmp(a->name, b->name) != 0) {
            conf_differ(p->r, "instruction %u is %.80s, the reference has %.80s", i, a->name, b->name);
            return false;
        }
        snprintf(where, sizeof where, "instruction %u (%.80s), argument", i, a->name);
        if (!same_values(p, where, b->args, b->n_args, a->args, a->n_args))
            return false;
        if (a->delegate != b->delegate) {
            conf_differ(p->r, "instruction %u calls another delegate", i);
            return false;
        }
    }
    return true;
}

/* A static view has no instruction: its value lies where the tensor it views lies. */
static bool view_of(const struct prog_tensor *a, const struct prog_tensor *b)
{
    return a->planned && b->planned && a->memory == b->memory && a->offset == b->offset;
}

/* Inputs and results of instructions up to `call`; the last argument of a kernel is its result. */
static int64_t last_made_at(const struct prog *p, uint32_t call, const struct prog_tensor *place)
{
    for (uint32_t i = call; i-- > 0;) {
        const struct prog_call *c = &p->calls[i];
        int64_t result = c->n_args != 0 ? c->args[c->n_args - 1] : -1;
        if (result >= 0 && p->values[result].kind == PROG_TENSOR && view_of(&p->values[result].tensor, place))
            return result;
    }
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        const struct prog_value *v = &p->values[p->inputs[i]];
        if (v->kind == PROG_TENSOR && view_of(&v->tensor, place))
            return p->inputs[i];
    }
    return -1;
}

/* The argument is the value, or a list of tensors that holds it. */
static bool names_value(const struct prog *p, int64_t argument, int64_t value)
{
    const struct prog_value *a = &p->values[argument];

    for (uint32_t i = 0; a->kind == PROG_TENSOR_LIST && i < a->count; i++) {
        if (a->items[i] == value)
            return true;
    }
    return argument == value;
}

/* True when no instruction up to `call` and no input makes the value. */
static bool is_view(const struct prog *p, uint32_t call, int64_t value)
{
    if (p->values[value].kind != PROG_TENSOR || !p->values[value].tensor.planned)
        return false;
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        if (p->inputs[i] == value)
            return false;
    }
    for (uint32_t i = 0; i < call; i++) {
        for (uint32_t k = 0; k < p->calls[i].n_args; k++) {
            if (names_value(p, p->calls[i].args[k], value))
                return false;
        }
    }
    return true;
}

/* The first argument of a kernel, where the reference reads a view: ours must lie on the tensor it views, too. */
static bool same_views(struct pairing *p)
{
    for (uint32_t i = 0; i < p->reference->n_calls; i++) {
        const struct prog_call *b = &p->reference->calls[i], *a = &p->own->calls[i];
        if (b->delegate >= 0 || b->n_args < 2 || b->args[0] == b->args[b->n_args - 1] ||
            !is_view(p->reference, i, b->args[0]))
            continue;
        int64_t source = last_made_at(p->reference, i, &p->reference->values[b->args[0]].tensor);
        if (source < 0 || p->own_of[source] < 0)
            continue;
        if (!view_of(&p->own->values[a->args[0]].tensor, &p->own->values[p->own_of[source]].tensor)) {
            conf_differ(p->r, "instruction %u (%.80s) reads a view that does not lie on its source", i, a->name);
            return false;
        }
    }
    return true;
}

static bool same_delegates(struct pairing *p)
{
    for (uint32_t i = 0; i < p->own->n_delegates && i < p->reference->n_delegates; i++) {
        const struct prog_delegate *a = &p->own->delegates[i], *b = &p->reference->delegates[i];
        if (strcmp(a->id, b->id) != 0 || a->n_specs != b->n_specs) {
            conf_differ(p->r, "delegate %u: %s with %u compile specs, the reference has %s with %u", i, a->id,
                        a->n_specs, b->id, b->n_specs);
            return false;
        }
        for (uint32_t k = 0; k < a->n_specs; k++) {
            if (strcmp(a->specs[k].key, b->specs[k].key) == 0 && strcmp(a->specs[k].value, b->specs[k].value) == 0)
                continue;
            conf_differ(p->r, "delegate %u: compile spec %.40s='%.40s', the reference has %.40s='%.40s'", i,
                        a->specs[k].key, a->specs[k].value, b->specs[k].key, b->specs[k].value);
            return false;
        }
    }
    if (p->own->n_delegates != p->reference->n_delegates)
        conf_differ(p->r, "%u delegates, the reference has %u", p->own->n_delegates, p->reference->n_delegates);
    return p->own->n_delegates == p->reference->n_delegates;
}

static bool same_operators(struct pairing *p)
{
    for (uint32_t i = 0; i < p->own->n_operators && i < p->reference->n_operators; i++) {
        if (strcmp(p->own->operators[i], p->reference->operators[i]) != 0) {
            conf_differ(p->r, "operator %u is %.80s, the reference has %.80s", i, p->own->operators[i],
                        p->reference->operators[i]);
            return false;
        }
    }
    if (p->own->n_operators != p->reference->n_operators)
        conf_differ(p->r, "%u operators, the reference has %u", p->own->n_operators, p->reference->n_operators);
    return p->own->n_operators == p->reference->n_operators;
}

static bool same_memory(struct pairing *p)
{
    const struct prog *a = p->own, *b = p->reference;

    if (a->n_buffers != b->n_buffers) {
        conf_differ(p->r, "%u planned memories, the reference has %u", a->n_buffers, b->n_buffers);
        return false;
    }
    if (a->n_buffers > 1 && a->buffers[1] > b->buffers[1]) {
        conf_differ(p->r, "%lld bytes of planned memory, the reference needs %lld", (long long)a->buffers[1],
                    (long long)b->buffers[1]);
        return false;
    }
    return true;
}

static bool same_program(struct nuc_context *cx, struct pairing *p)
{
    const struct prog *a = p->own, *b = p->reference;

    p->own_of = nuc_alloc_array(cx, b->n_values, sizeof *p->own_of);
    p->reference_of = nuc_alloc_array(cx, a->n_values, sizeof *p->reference_of);
    for (uint32_t i = 0; i < b->n_values; i++)
        p->own_of[i] = -1;
    for (uint32_t i = 0; i < a->n_values; i++)
        p->reference_of[i] = -1;
    if (a->n_plans != b->n_plans || strcmp(a->name, b->name) != 0) {
        conf_differ(p->r, "%u methods, the first is '%.40s'; the reference has %u, '%.40s'", a->n_plans, a->name,
                    b->n_plans, b->name);
        return false;
    }
    return same_values(p, "program input", b->inputs, b->n_inputs, a->inputs, a->n_inputs) && same_calls(p) &&
           same_values(p, "program output", b->outputs, b->n_outputs, a->outputs, a->n_outputs) && same_views(p) &&
           same_operators(p) && same_delegates(p) && same_memory(p);
}

struct programs {
    const struct conf_case *k;
    struct nuc_span own;
    json_t *json;
    struct pairing pairing;
    bool same;
};

/* The description leaves out the constants' bytes: they come from the file itself when the tree has it. */
static void add_constants(struct nuc_context *cx, const struct conf_case *k, struct prog *reference)
{
    char path[4096];

    if (!conf_path(k, "pte", path, sizeof path))
        return;
    const struct prog *file = prog_from_bytes(cx, "the reference's program", nuc_read_file(cx, path));
    for (uint32_t i = 0; file->n_values == reference->n_values && i < file->n_values; i++) {
        if (file->values[i].kind == PROG_TENSOR && reference->values[i].kind == PROG_TENSOR)
            reference->values[i].tensor.constant = file->values[i].tensor.constant;
    }
}

static void compare_programs(struct nuc_context *cx, void *arg)
{
    struct programs *p = arg;
    struct prog *reference = prog_from_json(cx, "the reference's description", p->json);

    add_constants(cx, p->k, reference);
    p->pairing.reference = reference;
    p->pairing.own = prog_from_bytes(cx, "own program", p->own);
    p->same = same_program(cx, &p->pairing);
}

static enum conf_result compare(struct nuc_compiler *compiler, const struct conf_case *k, json_t *json,
                                struct conf_report *r)
{
    struct programs p = {.k = k, .json = json, .pairing = {.r = r}};
    struct nuc_model *lowered = conf_lowered(compiler, k, "qdq.pt2", r);

    if (lowered == NULL)
        return CONF_DIFFERENT;
    if (nuc_program(lowered, &p.own.data, &p.own.size) != NUC_OK)
        return conf_failed(r, compiler, "program");
    struct nuc_context *cx = nuc_context_new(NULL);
    if (cx == NULL)
        return conf_differ(r, "out of memory");
    if (nuc_try(cx, compare_programs, &p) != NUC_OK)
        conf_differ(r, "%s", cx->message);
    nuc_context_free(cx);
    return p.same ? CONF_EQUAL : CONF_DIFFERENT;
}

enum conf_result check_program(struct nuc_compiler *c, const struct conf_case *k, struct conf_report *r)
{
    json_t *json = conf_json(k, "pte.json");
    enum conf_result result = json == NULL ? CONF_ABSENT : compare(c, k, json, r);

    json_decref(json);
    return result;
}
