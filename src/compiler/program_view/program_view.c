#include "compiler/program_view/program_view.h"

#include <string.h>

#include "base/flatbuf.h"
#include "host/text.h"

#define HEADER_BYTES 24 /* of the extended header, as far as it is read */

struct parser {
    struct nuc_context *cx;
    struct nuc_fb_reader r;
    struct nuc_program_view *view;
    struct nuc_fb_table program;
    /*
     * Elements that may still be taken. Tables can be shared in a FlatBuffer, so that a small file could stand for
     * enormous lists; a sound file needs each of its bytes about once.
     */
    uint64_t budget;
};

_Noreturn static void damaged(struct parser *p, const char *what)
{
    nuc_fail(p->cx, NUC_BAD_INPUT, "%s: the program is damaged: %s", p->view->file, what);
}

static void check(struct parser *p, const char *what)
{
    if (p->r.bad)
        damaged(p, what);
}

static void spend(struct parser *p, uint64_t count)
{
    if (count > p->budget)
        damaged(p, "its lists hold more than the file");
    p->budget -= count;
}

/* ---- lists and texts ---- */

static struct nuc_fb_vector take_vector(struct parser *p, struct nuc_fb_table t, int id, uint32_t size)
{
    struct nuc_fb_vector v = nuc_fb_vec(&p->r, t, id, size);

    check(p, "a list lies outside the file");
    spend(p, v.count);
    return v;
}

static struct nuc_view_list take_list(struct parser *p, struct nuc_fb_table t, int id, uint32_t size)
{
    struct nuc_fb_vector v = take_vector(p, t, id, size);

    return (struct nuc_view_list){p->r.bytes.data + v.at, v.count, size};
}

/* Not spent: many tables share one text, and who copies it bounds its length. */
static struct nuc_view_list shared_text(struct parser *p, struct nuc_fb_table t, int id)
{
    uint32_t length = 0;
    const char *text = nuc_fb_string(&p->r, t, id, &length);

    return (struct nuc_view_list){(const uint8_t *)(text != NULL ? text : ""), length, 1};
}

static struct nuc_view_list take_text(struct parser *p, struct nuc_fb_table t, int id)
{
    struct nuc_view_list text = shared_text(p, t, id);

    spend(p, text.count);
    return text;
}

int64_t nuc_view_int(struct nuc_view_list list, uint32_t i)
{
    const uint8_t *at = list.data + (size_t)list.size * i;

    return list.size == 8 ? (int64_t)nuc_load_u64(at) : list.size == 4 ? (int32_t)nuc_load_u32(at) : *at;
}

double nuc_view_double(struct nuc_view_list list, uint32_t i)
{
    int64_t bits = nuc_view_int(list, i);
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

bool nuc_view_begins(struct nuc_view_list text, const char *expected)
{
    size_t length = strlen(expected);

    return text.count >= length && memcmp(text.data, expected, length) == 0;
}

bool nuc_view_is(struct nuc_view_list text, const char *expected)
{
    return text.count == strlen(expected) && nuc_view_begins(text, expected);
}

const char *nuc_view_text(struct nuc_context *cx, struct nuc_view_list text)
{
    struct nuc_text out;

    nuc_text_init(&out, cx);
    for (uint32_t i = 0; i < text.count; i++) {
        uint8_t c = text.data[i];
        nuc_text_addf(&out, c >= ' ' && c < 127 ? "%c" : "\\x%02x", c);
    }
    return nuc_text_string(&out);
}

/* ---- values ---- */

static enum nuc_dtype dtype_of(int8_t scalar_type)
{
    switch (scalar_type) {
#define CASE(number, dtype)                                                                                            \
    case number:                                                                                                       \
        return dtype;
        NUC_SCALAR_TYPES(CASE)
#undef CASE
    default:
        return NUC_DTYPE_COUNT;
    }
}

static struct nuc_view_tensor take_tensor(struct parser *p, struct nuc_fb_table t)
{
    struct nuc_fb_table allocation = nuc_fb_sub(&p->r, t, NUC_TENSOR_ALLOCATION);
    struct nuc_view_tensor tensor = {
        .dtype = dtype_of(nuc_fb_i8(&p->r, t, NUC_TENSOR_TYPE, 0)),
        .sizes = take_list(p, t, NUC_TENSOR_SIZES, 4),
        .dim_order = take_list(p, t, NUC_TENSOR_DIM_ORDER, 1),
        .planned = allocation.at != 0,
        .memory = nuc_fb_u32(&p->r, allocation, NUC_ALLOCATION_MEMORY, 0),
        .offset = nuc_fb_u32(&p->r, allocation, NUC_ALLOCATION_LOW, 0) |
                  (uint64_t)nuc_fb_u32(&p->r, allocation, NUC_ALLOCATION_HIGH, 0) << 32,
        .constant = nuc_fb_u32(&p->r, t, NUC_TENSOR_DATA_BUFFER, 0),
    };

    /* A call's tensors are looked at dimension by dimension: this bounds what an argument costs. */
    if (tensor.sizes.count > NUC_MAX_RANK || tensor.dim_order.count > NUC_MAX_RANK)
        damaged(p, "a tensor has more than 16 dimensions");
    return tensor;
}

/* Bytes of an item of a list; 0: the value is no list. */
static uint32_t item_size(uint8_t kind)
{
    static const uint8_t sizes[] = {[NUC_VALUE_STRING] = 1, [NUC_VALUE_INTS] = 8,    [NUC_VALUE_DOUBLES] = 8,
                                    [NUC_VALUE_BOOLS] = 1,  [NUC_VALUE_TENSORS] = 4, [NUC_VALUE_OPTIONAL_TENSORS] = 4};

    return kind < sizeof sizes ? sizes[kind] : 0;
}

static struct nuc_view_value take_value(struct parser *p, struct nuc_fb_table t)
{
    struct nuc_fb_table content = nuc_fb_sub(&p->r, t, NUC_EVALUE_VALUE);
    struct nuc_view_value value = {.kind = nuc_fb_u8(&p->r, t, NUC_EVALUE_TYPE, 0)};

    if (value.kind == NUC_VALUE_INT)
        value.u.i = nuc_fb_i64(&p->r, content, 0, 0);
    else if (value.kind == NUC_VALUE_BOOL)
        value.u.b = nuc_fb_bool(&p->r, content, 0, false);
    else if (value.kind == NUC_VALUE_DOUBLE)
        value.u.f = nuc_fb_f64(&p->r, content, 0, 0.0);
    else if (value.kind == NUC_VALUE_TENSOR)
        value.u.tensor = take_tensor(p, content);
    else if (value.kind == NUC_VALUE_STRING)
        value.u.list = take_text(p, content, 0);
    else if (item_size(value.kind) != 0)
        value.u.list = take_list(p, content, 0, item_size(value.kind));
    check(p, "a value is malformed");
    return value;
}

/* Every index of the list names a value. */
static void check_indices(struct parser *p, const struct nuc_view_method *m, struct nuc_view_list list, int64_t least)
{
    for (uint32_t i = 0; i < list.count; i++) {
        int64_t index = nuc_view_int(list, i);
        if (index < least || index >= (int64_t)m->n_values)
            damaged(p, "a list names a value that does not exist");
    }
}

static void take_values(struct parser *p, struct nuc_fb_table plan, struct nuc_view_method *m)
{
    struct nuc_fb_vector list = take_vector(p, plan, NUC_PLAN_VALUES, 4);
    struct nuc_view_value *values = nuc_alloc_array(p->cx, list.count, sizeof *values);

    for (uint32_t i = 0; i < list.count; i++)
        values[i] = take_value(p, nuc_fb_vec_table(&p->r, list, i));
    m->values = values;
    m->n_values = list.count;
    for (uint32_t i = 0; i < list.count; i++) {
        if (values[i].kind == NUC_VALUE_INTS || values[i].kind == NUC_VALUE_TENSORS)
            check_indices(p, m, values[i].u.list, 0);
        else if (values[i].kind == NUC_VALUE_OPTIONAL_TENSORS)
            check_indices(p, m, values[i].u.list, -1);
    }
}

/* ---- instructions ---- */

static void take_operators(struct parser *p, struct nuc_fb_table plan, struct nuc_view_method *m)
{
    struct nuc_fb_vector list = take_vector(p, plan, NUC_PLAN_OPERATORS, 4);
    struct nuc_view_operator *operators = nuc_alloc_array(p->cx, list.count, sizeof *operators);

    for (uint32_t i = 0; i < list.count; i++) {
        struct nuc_fb_table op = nuc_fb_vec_table(&p->r, list, i);
        operators[i].name = take_text(p, op, NUC_OPERATOR_NAME);
        operators[i].overload = take_text(p, op, NUC_OPERATOR_OVERLOAD);
        check(p, "an operator is malformed");
    }
    m->operators = operators;
    m->n_operators = list.count;
}

/* Whoever describes the call names its operator and walks the lists among its arguments: both are spent here. */
static void check_call(struct parser *p, const struct nuc_view_method *m, const struct nuc_view_instruction *in)
{
    bool kernel = in->kind == NUC_INSTRUCTION_KERNEL;

    if (in->index >= (kernel ? m->n_operators : m->n_delegates))
        damaged(p, "an instruction calls an operator or a delegate that does not exist");
    if (kernel)
        spend(p, (uint64_t)m->operators[in->index].name.count + m->operators[in->index].overload.count);
    check_indices(p, m, in->args, 0);
    for (uint32_t i = 0; i < in->args.count; i++) {
        const struct nuc_view_value *value = &m->values[nuc_view_int(in->args, i)];
        if (value->kind != NUC_VALUE_STRING && item_size(value->kind) != 0)
            spend(p, value->u.list.count);
    }
}

static struct nuc_view_instruction take_instruction(struct parser *p, struct nuc_fb_table t,
                                                    const struct nuc_view_method *m)
{
    struct nuc_view_instruction in = {.kind = nuc_fb_u8(&p->r, t, NUC_INSTRUCTION_TYPE, 0)};
    struct nuc_fb_table args = nuc_fb_sub(&p->r, t, NUC_INSTRUCTION_ARGS);

    if (in.kind == NUC_INSTRUCTION_KERNEL || in.kind == NUC_INSTRUCTION_DELEGATE) {
        in.index = nuc_fb_u32(&p->r, args, NUC_CALL_INDEX, 0);
        in.args = take_list(p, args, NUC_CALL_ARGS, 4);
        check_call(p, m, &in);
    } else if (in.kind < NUC_INSTRUCTION_KINDS) {
        in.words[0] = nuc_fb_i32(&p->r, args, 0, 0);
        in.words[1] = nuc_fb_i32(&p->r, args, 1, 0);
    }
    check(p, "an instruction is malformed");
    return in;
}

static struct nuc_view_frame take_frame(struct parser *p, struct nuc_fb_vector traces, uint32_t index)
{
    struct nuc_fb_vector frames = {0, 0};
    struct nuc_fb_table frame = {0, 0, 0, 0};

    if (index < traces.count)
        frames = nuc_fb_vec(&p->r, nuc_fb_vec_table(&p->r, traces, index), 0, 4);
    if (frames.count > 0)
        frame = nuc_fb_vec_table(&p->r, frames, frames.count - 1);
    return (struct nuc_view_frame){shared_text(p, frame, NUC_FRAME_FILE), shared_text(p, frame, NUC_FRAME_NAME),
                                   nuc_fb_i32(&p->r, frame, NUC_FRAME_LINE, 0)};
}

static struct nuc_view_chain take_chain(struct parser *p, struct nuc_fb_table t, const struct nuc_view_method *m)
{
    struct nuc_fb_vector list = take_vector(p, t, NUC_CHAIN_INSTRUCTIONS, 4);
    struct nuc_fb_vector traces = nuc_fb_vec(&p->r, t, NUC_CHAIN_STACK_TRACES, 4);
    struct nuc_view_instruction *instructions = nuc_alloc_array(p->cx, list.count, sizeof *instructions);

    for (uint32_t i = 0; i < list.count; i++) {
        instructions[i] = take_instruction(p, nuc_fb_vec_table(&p->r, list, i), m);
        instructions[i].frame = take_frame(p, traces, i);
        check(p, "a stack trace is malformed");
    }
    return (struct nuc_view_chain){list.count, instructions};
}

static void take_chains(struct parser *p, struct nuc_fb_table plan, struct nuc_view_method *m)
{
    struct nuc_fb_vector list = take_vector(p, plan, NUC_PLAN_CHAINS, 4);
    struct nuc_view_chain *chains = nuc_alloc_array(p->cx, list.count, sizeof *chains);

    for (uint32_t i = 0; i < list.count; i++)
        chains[i] = take_chain(p, nuc_fb_vec_table(&p->r, list, i), m);
    m->chains = chains;
    m->n_chains = list.count;
}

/* ---- delegates ---- */

/* The processed bytes of a delegate, inline or in a segment. */
static struct nuc_span delegate_data(struct parser *p, struct nuc_fb_table reference)
{
    uint8_t location = nuc_fb_u8(&p->r, reference, NUC_REFERENCE_LOCATION, 0);
    uint32_t index = nuc_fb_u32(&p->r, reference, NUC_REFERENCE_INDEX, 0);
    struct nuc_span data = {NULL, 0};

    if (location == 0) {
        struct nuc_fb_vector list = nuc_fb_vec(&p->r, p->program, NUC_PROGRAM_DELEGATE_DATA, 4);
        data = nuc_fb_bytes(&p->r, nuc_fb_vec_table(&p->r, list, index), 0);
    } else {
        struct nuc_fb_vector list = nuc_fb_vec(&p->r, p->program, NUC_PROGRAM_SEGMENTS, 4);
        struct nuc_fb_table segment = nuc_fb_vec_table(&p->r, list, index);
        uint64_t base = p->view->segments_at, offset = nuc_fb_u64(&p->r, segment, NUC_SEGMENT_OFFSET, 0);
        if (offset > UINT64_MAX - base ||
            !nuc_span_slice(p->r.bytes, base + offset, nuc_fb_u64(&p->r, segment, NUC_SEGMENT_SIZE, 0), &data))
            damaged(p, "a delegate's segment lies outside the file");
    }
    check(p, "a delegate's data lies outside the file");
    return data;
}

static struct nuc_view_delegate take_delegate(struct parser *p, struct nuc_fb_table t)
{
    struct nuc_fb_vector list = take_vector(p, t, NUC_DELEGATE_COMPILE_SPECS, 4);
    struct nuc_view_spec *specs = nuc_alloc_array(p->cx, list.count, sizeof *specs);

    for (uint32_t i = 0; i < list.count; i++) {
        struct nuc_fb_table spec = nuc_fb_vec_table(&p->r, list, i);
        specs[i].key = take_text(p, spec, 0);
        specs[i].value = take_list(p, spec, 1, 1);
    }
    struct nuc_view_delegate delegate = {
        .backend = take_text(p, t, NUC_DELEGATE_ID),
        .data = delegate_data(p, nuc_fb_sub(&p->r, t, NUC_DELEGATE_PROCESSED)),
        .n_specs = list.count,
        .specs = specs,
    };
    check(p, "a delegate is malformed");
    spend(p, delegate.data.size);
    return delegate;
}

static void take_delegates(struct parser *p, struct nuc_fb_table plan, struct nuc_view_method *m)
{
    struct nuc_fb_vector list = take_vector(p, plan, NUC_PLAN_DELEGATES, 4);
    struct nuc_view_delegate *delegates = nuc_alloc_array(p->cx, list.count, sizeof *delegates);

    for (uint32_t i = 0; i < list.count; i++)
        delegates[i] = take_delegate(p, nuc_fb_vec_table(&p->r, list, i));
    m->delegates = delegates;
    m->n_delegates = list.count;
}

/* ---- the program ---- */

static struct nuc_view_method take_method(struct parser *p, struct nuc_fb_table plan)
{
    struct nuc_view_method m = {
        .name = take_text(p, plan, NUC_PLAN_NAME),
        .inputs = take_list(p, plan, NUC_PLAN_INPUTS, 4),
        .outputs = take_list(p, plan, NUC_PLAN_OUTPUTS, 4),
        .planned = take_list(p, plan, NUC_PLAN_BUFFER_SIZES, 8),
    };

    check(p, "the method is malformed");
    take_values(p, plan, &m);
    check_indices(p, &m, m.inputs, 0);
    check_indices(p, &m, m.outputs, 0);
    take_operators(p, plan, &m);
    take_delegates(p, plan, &m);
    take_chains(p, plan, &m);
    return m;
}

/* The extended header follows the file identifier; files of old writers have none, and then no segments. */
static void take_header(struct parser *p)
{
    struct nuc_span header;

    p->view->has_header = nuc_span_slice(p->r.bytes, NUC_PROGRAM_HEADER_AT, HEADER_BYTES, &header) &&
                          memcmp(header.data, NUC_PROGRAM_HEADER_MAGIC, 4) == 0;
    if (!p->view->has_header)
        return;
    p->view->program_bytes = nuc_load_u64(header.data + 8);
    p->view->segments_at = nuc_load_u64(header.data + 16);
    if (p->view->program_bytes > p->r.bytes.size)
        damaged(p, "the header promises more bytes than the file has");
}

const struct nuc_program_view *nuc_program_view_open(struct nuc_context *cx, const char *file, struct nuc_span bytes)
{
    struct nuc_program_view *view = nuc_alloc(cx, sizeof *view);
    struct parser p = {.cx = cx, .r = {bytes, false}, .view = view, .budget = 4 * (uint64_t)bytes.size};

    view->file = file;
    view->bytes = bytes;
    take_header(&p);
    p.program = nuc_fb_root(&p.r, 0);
    struct nuc_fb_vector plans = take_vector(&p, p.program, NUC_PROGRAM_PLANS, 4);
    struct nuc_fb_vector segments = nuc_fb_vec(&p.r, p.program, NUC_PROGRAM_SEGMENTS, 4);
    struct nuc_fb_table constants = nuc_fb_sub(&p.r, p.program, NUC_PROGRAM_CONSTANT_SEGMENT);
    struct nuc_fb_vector offsets = nuc_fb_vec(&p.r, constants, NUC_SUBSEGMENT_OFFSETS, 8);
    view->schema_version = nuc_fb_u32(&p.r, p.program, NUC_PROGRAM_VERSION, 0);
    check(&p, "its root table lies outside the file");
    if (plans.count == 0)
        damaged(&p, "it has no method");
    view->n_segments = segments.count;
    view->n_constants = offsets.count == 0 ? 0 : offsets.count - 1; /* entry 0 stands for no constant */
    struct nuc_view_method *methods = nuc_alloc_array(cx, plans.count, sizeof *methods);
    for (uint32_t i = 0; i < plans.count; i++)
        methods[i] = take_method(&p, nuc_fb_vec_table(&p.r, plans, i));
    check(&p, "a table lies outside the file");
    view->methods = methods;
    view->n_methods = plans.count;
    return view;
}
