/* Reading a program file. Field numbers are the declaration order of ExecuTorch's schema/program.fbs. */
#include <string.h>

#include "conf_program.h"
#include "device/base/flatbuf.h"

struct source {
    struct nuc_context *cx;
    struct nuc_fb_reader r;
    struct nuc_span file;
    struct nuc_fb_table program;
    uint64_t segment_base;
};

/* Element size in bytes of vectors of offsets and of 32-bit numbers. */
enum { OFFSET = 4, I32 = 4, I64 = 8, F64 = 8, U8 = 1 };

/* The vector's numbers of `size` bytes each. */
static int64_t *ints(struct source *s, struct nuc_fb_table t, int id, uint32_t size, uint32_t *count)
{
    struct nuc_fb_vector v = nuc_fb_vec(&s->r, t, id, size);
    int64_t *out = nuc_alloc_array(s->cx, v.count, sizeof *out);

    for (uint32_t i = 0; i < v.count; i++)
        out[i] = size == I64   ? nuc_fb_vec_i64(&s->r, v, i)
                 : size == I32 ? nuc_fb_vec_i32(&s->r, v, i)
                               : nuc_fb_vec_u8(&s->r, v, i);
    *count = v.count;
    return out;
}

static double *doubles(struct source *s, struct nuc_fb_table t, int id, uint32_t *count)
{
    struct nuc_fb_vector v = nuc_fb_vec(&s->r, t, id, F64);
    double *out = nuc_alloc_array(s->cx, v.count, sizeof *out);

    for (uint32_t i = 0; i < v.count; i++)
        out[i] = nuc_fb_vec_f64(&s->r, v, i);
    *count = v.count;
    return out;
}

static const char *text(struct source *s, struct nuc_fb_table t, int id)
{
    const char *string = nuc_fb_string(&s->r, t, id, NULL);

    return string == NULL ? "" : string;
}

/* Where constant `index` begins: offsets[index] in the constant segment. */
static struct nuc_span constant_at(struct source *s, uint32_t index)
{
    struct nuc_fb_vector segments = nuc_fb_vec(&s->r, s->program, 4, OFFSET);
    struct nuc_fb_table constants = nuc_fb_sub(&s->r, s->program, 5);
    struct nuc_fb_vector offsets = nuc_fb_vec(&s->r, constants, 1, I64);
    struct nuc_span none = {NULL, 0}, segment, out;
    uint32_t which = nuc_fb_u32(&s->r, constants, 0, 0);

    if (index >= offsets.count || which >= segments.count)
        return none;
    struct nuc_fb_table entry = nuc_fb_vec_table(&s->r, segments, which);
    uint64_t at = nuc_fb_u64(&s->r, entry, 0, 0), size = nuc_fb_u64(&s->r, entry, 1, 0);
    uint64_t offset = (uint64_t)nuc_fb_vec_i64(&s->r, offsets, index);
    if (at > s->file.size || s->segment_base > s->file.size ||
        !nuc_span_slice(s->file, s->segment_base + at, size, &segment) || offset > size ||
        !nuc_span_slice(segment, offset, size - offset, &out))
        return none;
    return out;
}

static void read_tensor(struct source *s, struct nuc_fb_table t, struct prog_tensor *out)
{
    uint32_t n_order;

    out->dtype = nuc_fb_i8(&s->r, t, 0, 0);
    out->sizes = ints(s, t, 2, I32, &out->rank);
    out->dim_order = ints(s, t, 3, U8, &n_order);
    if (n_order != out->rank)
        nuc_fail(s->cx, NUC_BAD_INPUT, "a tensor has %u sizes and a dim order of %u", out->rank, n_order);
    out->buffer = nuc_fb_u32(&s->r, t, 5, 0);
    struct nuc_fb_table allocation = nuc_fb_sub(&s->r, t, 6);
    out->planned = allocation.at != 0;
    out->memory = nuc_fb_u32(&s->r, allocation, 0, 0);
    out->offset = (int64_t)nuc_fb_u32(&s->r, allocation, 1, 0) | (int64_t)nuc_fb_u32(&s->r, allocation, 2, 0) << 32;
    if (!out->planned && out->buffer > 0)
        out->constant = constant_at(s, (uint32_t)out->buffer);
}

static void read_value(struct source *s, struct nuc_fb_table entry, struct prog_value *v)
{
    unsigned kind = nuc_fb_u8(&s->r, entry, 0, 0);
    struct nuc_fb_table t = nuc_fb_sub(&s->r, entry, 1);

    if (kind >= PROG_KIND_COUNT)
        nuc_fail(s->cx, NUC_BAD_INPUT, "a value has the unknown kind %u", kind);
    v->kind = (enum prog_kind)kind;
    switch (v->kind) {
    case PROG_INT:
        v->i = nuc_fb_i64(&s->r, t, 0, 0);
        break;
    case PROG_BOOL:
        v->i = nuc_fb_bool(&s->r, t, 0, false);
        break;
    case PROG_DOUBLE:
        v->f = nuc_fb_f64(&s->r, t, 0, 0);
        break;
    case PROG_TENSOR:
        read_tensor(s, t, &v->tensor);
        break;
    case PROG_STRING:
        v->string = text(s, t, 0);
        break;
    case PROG_INT_LIST:
        v->items = ints(s, t, 0, I64, &v->count);
        break;
    case PROG_DOUBLE_LIST:
        v->floats = doubles(s, t, 0, &v->count);
        break;
    case PROG_BOOL_LIST:
        v->items = ints(s, t, 0, U8, &v->count);
        break;
    case PROG_TENSOR_LIST:
    case PROG_OPTIONAL_TENSOR_LIST:
        v->items = ints(s, t, 0, I32, &v->count);
        break;
    case PROG_NONE:
    case PROG_NULL:
    case PROG_KIND_COUNT:
        break;
    }
}

static void read_operators(struct source *s, struct nuc_fb_table plan, struct prog *p)
{
    struct nuc_fb_vector v = nuc_fb_vec(&s->r, plan, 6, OFFSET);

    p->n_operators = v.count;
    p->operators = nuc_alloc_array(s->cx, v.count, sizeof *p->operators);
    for (uint32_t i = 0; i < v.count; i++) {
        struct nuc_fb_table t = nuc_fb_vec_table(&s->r, v, i);
        const char *overload = text(s, t, 1);
        p->operators[i] = nuc_format(s->cx, "%s%s%s", text(s, t, 0), overload[0] != '\0' ? "." : "", overload);
    }
}

static void read_call(struct source *s, struct nuc_fb_table instruction, const struct prog *p, struct prog_call *call)
{
    static const char *const others[] = {"none", "kernel", "delegate", "move", "jump", "free"};
    uint8_t kind = nuc_fb_u8(&s->r, instruction, 0, 0);
    struct nuc_fb_table t = nuc_fb_sub(&s->r, instruction, 1);

    call->delegate = -1;
    if (kind >= sizeof others / sizeof others[0])
        nuc_fail(s->cx, NUC_BAD_INPUT, "an instruction has the unknown kind %u", kind);
    call->name = others[kind];
    if (kind != 1 && kind != 2)
        return;
    int32_t index = nuc_fb_i32(&s->r, t, 0, 0);
    call->args = ints(s, t, 1, I32, &call->n_args);
    if (kind == 2) {
        call->delegate = index;
        return;
    }
    if (index < 0 || (uint32_t)index >= p->n_operators)
        nuc_fail(s->cx, NUC_BAD_INPUT, "an instruction names operator %d of %u", (int)index, p->n_operators);
    call->name = p->operators[index];
}

static void read_calls(struct source *s, struct nuc_fb_table plan, struct prog *p)
{
    struct nuc_fb_vector chains = nuc_fb_vec(&s->r, plan, 5, OFFSET);

    if (chains.count != 1)
        nuc_fail(s->cx, NUC_BAD_INPUT, "the method has %u chains instead of one", chains.count);
    struct nuc_fb_vector v = nuc_fb_vec(&s->r, nuc_fb_vec_table(&s->r, chains, 0), 2, OFFSET);
    p->n_calls = v.count;
    p->calls = nuc_alloc_array(s->cx, v.count, sizeof *p->calls);
    for (uint32_t i = 0; i < v.count; i++)
        read_call(s, nuc_fb_vec_table(&s->r, v, i), p, &p->calls[i]);
}

static void read_delegates(struct source *s, struct nuc_fb_table plan, struct prog *p)
{
    struct nuc_fb_vector v = nuc_fb_vec(&s->r, plan, 7, OFFSET);

    p->n_delegates = v.count;
    p->delegates = nuc_alloc_array(s->cx, v.count, sizeof *p->delegates);
    for (uint32_t i = 0; i < v.count; i++) {
        struct nuc_fb_table t = nuc_fb_vec_table(&s->r, v, i);
        struct nuc_fb_vector specs = nuc_fb_vec(&s->r, t, 2, OFFSET);
        struct prog_delegate *d = &p->delegates[i];
        d->id = text(s, t, 0);
        d->n_specs = specs.count;
        d->specs = nuc_alloc_array(s->cx, specs.count, sizeof *d->specs);
        for (uint32_t k = 0; k < specs.count; k++) {
            struct nuc_fb_table spec = nuc_fb_vec_table(&s->r, specs, k);
            struct nuc_span value = nuc_fb_bytes(&s->r, spec, 1);
            d->specs[k].key = text(s, spec, 0);
            d->specs[k].value = nuc_format(s->cx, "%.*s", (int)value.size, value.size ? (const char *)value.data : "");
        }
    }
}

static void open_file(struct source *s)
{
    if (s->file.size < 40 || memcmp(s->file.data + 4, "ET12", 4) != 0)
        nuc_fail(s->cx, NUC_BAD_INPUT, "no program file: the identifier ET12 is missing");
    s->r.bytes = s->file;
    if (memcmp(s->file.data + 8, "eh00", 4) == 0) {
        uint64_t size = nuc_load_u64(s->file.data + 16);
        s->segment_base = nuc_load_u64(s->file.data + 24);
        if (!nuc_span_slice(s->file, 0, size, &s->r.bytes))
            nuc_fail(s->cx, NUC_BAD_INPUT, "the header's program size exceeds the file");
    }
    s->program = nuc_fb_root(&s->r, 0);
}

struct prog *prog_from_bytes(struct nuc_context *cx, const char *what, struct nuc_span bytes)
{
    struct source s = {.cx = cx, .file = bytes};
    struct prog *p = nuc_alloc(cx, sizeof *p);

    open_file(&s);
    struct nuc_fb_vector plans = nuc_fb_vec(&s.r, s.program, 1, OFFSET);
    p->n_plans = plans.count;
    if (plans.count == 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: no method", what);
    struct nuc_fb_table plan = nuc_fb_vec_table(&s.r, plans, 0);
    struct nuc_fb_vector values = nuc_fb_vec(&s.r, plan, 2, OFFSET);
    p->name = text(&s, plan, 0);
    p->n_values = values.count;
    p->values = nuc_alloc_array(cx, values.count, sizeof *p->values);
    for (uint32_t i = 0; i < values.count; i++)
        read_value(&s, nuc_fb_vec_table(&s.r, values, i), &p->values[i]);
    p->inputs = ints(&s, plan, 3, I32, &p->n_inputs);
    p->outputs = ints(&s, plan, 4, I32, &p->n_outputs);
    p->buffers = ints(&s, plan, 8, I64, &p->n_buffers);
    read_operators(&s, plan, p);
    read_calls(&s, plan, p);
    read_delegates(&s, plan, p);
    if (s.r.bad)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: an offset or a count contradicts the file's size", what);
    prog_check_indices(cx, what, p);
    return p;
}
