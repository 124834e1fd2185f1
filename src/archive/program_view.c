#include "archive/program_view.h"

#include <string.h>

#include "device/base/flatbuf.h"
#include "device/base/program_sum.h"
#include "host/hash.h"
#include "host/text.h"

#define HEADER_BYTES 24 /* of the extended header, as far as it is read */

struct parser {
    struct nuc_context *cx;
    struct nuc_fb_reader r;
    struct nuc_program_view *view;
    struct nuc_fb_table program;
    struct nuc_view_method *method; /* being taken */
    /*
     * Elements that may still be taken. Tables can be shared in a FlatBuffer, so that a small file could stand for
     * enormous lists; a sound file needs each of its bytes about once.
     */
    uint64_t budget;
};

_Noreturn static void damaged(struct parser *p, const char *what)
{
    nuc_fail(p->cx, NUC_BAD_INPUT, "%s: the program is damaged: %s: copy or compile it again", p->view->file, what);
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

/* Fills an item from a table. */
typedef void take_item(struct parser *p, struct nuc_fb_table t, void *item);

/* A vector of tables as an array of items of `size` bytes; `fault` is said when one cannot be read. */
static void *take_tables(struct parser *p, struct nuc_fb_table t, int id, size_t size, take_item *take,
                         const char *fault, uint32_t *count)
{
    struct nuc_fb_vector list = take_vector(p, t, id, 4);
    uint8_t *items = nuc_alloc_array(p->cx, list.count, size);

    for (uint32_t i = 0; i < list.count; i++) {
        take(p, nuc_fb_vec_table(&p->r, list, i), items + i * size);
        check(p, fault);
    }
    *count = list.count;
    return items;
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
    struct nuc_text out = {.cx = cx};

    for (uint32_t i = 0; i < text.count; i++) {
        uint8_t c = text.data[i];
        if (c >= ' ' && c < 127)
            nuc_text_add(&out, (const char *)&c, 1);
        else
            nuc_text_addf(&out, "\\x%02x", c);
    }
    return nuc_text_string(&out);
}

const char *nuc_view_operator_name(struct nuc_context *cx, const struct nuc_view_operator *op)
{
    const char *name = nuc_view_text(cx, op->name);

    return op->overload.count == 0 ? name : nuc_format(cx, "%s.%s", name, nuc_view_text(cx, op->overload));
}

/* ---- values ---- */

enum nuc_dtype nuc_view_dtype(int8_t scalar_type)
{
    switch (scalar_type) {
#define CASE(number, dtype)                                                                                            \
    case number:                                                                                                       \
        return dtype;
        NUC_SCALAR_TYPES(CASE)
#undef CASE
    case 22: /* 16 bits without a meaning */
        return NUC_U16;
    default:
        return NUC_DTYPE_COUNT;
    }
}

/* Bytes of an item of a list; 0: the value is not a list. */
static uint32_t item_size(uint8_t kind)
{
    static const uint8_t sizes[] = {[NUC_VALUE_STRING] = 1, [NUC_VALUE_INTS] = 8,    [NUC_VALUE_DOUBLES] = 8,
                                    [NUC_VALUE_BOOLS] = 1,  [NUC_VALUE_TENSORS] = 4, [NUC_VALUE_OPTIONAL_TENSORS] = 4};

    return kind < sizeof sizes ? sizes[kind] : 0;
}

static void take_value(struct parser *p, struct nuc_fb_table t, void *item)
{
    struct nuc_fb_table content = nuc_fb_sub(&p->r, t, NUC_EVALUE_VALUE);
    struct nuc_view_value *value = item;

    value->kind = nuc_fb_u8(&p->r, t, NUC_EVALUE_TYPE, 0);
    if (value->kind == NUC_VALUE_INT) {
        value->u.i = nuc_fb_i64(&p->r, content, 0, 0);
    } else if (value->kind == NUC_VALUE_BOOL) {
        value->u.b = nuc_fb_bool(&p->r, content, 0, false);
    } else if (value->kind == NUC_VALUE_DOUBLE)
        value->u.f = nuc_fb_f64(&p->r, content, 0, 0.0);
    else if (value->kind == NUC_VALUE_TENSOR) {
        struct nuc_fb_table allocation = nuc_fb_sub(&p->r, content, NUC_TENSOR_ALLOCATION);
        struct nuc_view_tensor tensor = {
            .dtype = nuc_view_dtype(nuc_fb_i8(&p->r, content, NUC_TENSOR_TYPE, 0)),
            .sizes = take_list(p, content, NUC_TENSOR_SIZES, 4),
            .dim_order = take_list(p, content, NUC_TENSOR_DIM_ORDER, 1),
            .planned = allocation.at != 0,
            .memory = nuc_fb_u32(&p->r, allocation, NUC_ALLOCATION_MEMORY, 0),
            .offset = nuc_fb_u32(&p->r, allocation, NUC_ALLOCATION_LOW, 0) |
                      (uint64_t)nuc_fb_u32(&p->r, allocation, NUC_ALLOCATION_HIGH, 0) << 32,
            .constant = nuc_fb_u32(&p->r, content, NUC_TENSOR_DATA_BUFFER, 0),
            .name = take_list(p, nuc_fb_sub(&p->r, content, NUC_TENSOR_EXTRA), NUC_EXTRA_NAME, 1),
        };
        /* A call's tensors are looked at dimension by dimension: this bounds what an argument costs. */
        if (tensor.sizes.count > NUC_MAX_RANK || tensor.dim_order.count > NUC_MAX_RANK)
            damaged(p, "a tensor has more than 16 dimensions");
        for (uint32_t i = 0; i < tensor.sizes.count; i++) {
            if (nuc_view_int(tensor.sizes, i) < 0)
                damaged(p, "a tensor has a size below 0");
        }
        value->u.tensor = tensor;
    } else if (value->kind == NUC_VALUE_STRING)
        value->u.list = take_text(p, content, 0);
    else if (item_size(value->kind) != 0)
        value->u.list = take_list(p, content, 0, item_size(value->kind));
}

/* Every index of the list names a value of the method; -1 is allowed when it is `least`. */
static void check_indices(struct parser *p, struct nuc_view_list list, int64_t least)
{
    for (uint32_t i = 0; i < list.count; i++) {
        int64_t index = nuc_view_int(list, i);
        if (index < least || index >= (int64_t)p->method->n_values)
            damaged(p, "a list names a value that does not exist");
    }
}

/* ---- instructions ---- */

static void take_operator(struct parser *p, struct nuc_fb_table t, void *item)
{
    struct nuc_view_operator *op = item;

    op->name = take_text(p, t, NUC_OPERATOR_NAME);
    op->overload = take_text(p, t, NUC_OPERATOR_OVERLOAD);
}

static void take_instruction(struct parser *p, struct nuc_fb_table t, void *item)
{
    struct nuc_fb_table args = nuc_fb_sub(&p->r, t, NUC_INSTRUCTION_ARGS);
    struct nuc_view_instruction *in = item;

    in->kind = nuc_fb_u8(&p->r, t, NUC_INSTRUCTION_TYPE, 0);
    if (in->kind == NUC_INSTRUCTION_KERNEL || in->kind == NUC_INSTRUCTION_DELEGATE) {
        in->index = nuc_fb_u32(&p->r, args, NUC_CALL_INDEX, 0);
        in->args = take_list(p, args, NUC_CALL_ARGS, 4);
        /*
         * Whoever describes the call names its operator and walks the lists among its arguments: both are spent here.
         */
        const struct nuc_view_method *m = p->method;
        bool kernel = in->kind == NUC_INSTRUCTION_KERNEL;
        if (in->index >= (kernel ? m->n_operators : m->n_delegates))
            damaged(p, "an instruction calls an operator or a delegate that does not exist");
        if (kernel)
            spend(p, (uint64_t)m->operators[in->index].name.count + m->operators[in->index].overload.count);
        check_indices(p, in->args, 0);
        for (uint32_t i = 0; i < in->args.count; i++) {
            const struct nuc_view_value *value = &m->values[nuc_view_int(in->args, i)];
            if (value->kind != NUC_VALUE_STRING && item_size(value->kind) != 0)
                spend(p, value->u.list.count);
        }
    } else if (in->kind < NUC_INSTRUCTION_KINDS) {
        in->words[0] = nuc_fb_i32(&p->r, args, 0, 0);
        in->words[1] = nuc_fb_i32(&p->r, args, 1, 0);
    }
}

static void take_chain(struct parser *p, struct nuc_fb_table t, void *item)
{
    struct nuc_fb_vector traces = nuc_fb_vec(&p->r, t, NUC_CHAIN_STACK_TRACES, 4);
    struct nuc_view_chain *chain = item;
    struct nuc_view_instruction *instructions =
        take_tables(p, t, NUC_CHAIN_INSTRUCTIONS, sizeof *instructions, take_instruction, "an instruction is malformed",
                    &chain->n_instructions);

    for (uint32_t i = 0; i < chain->n_instructions; i++) {
        struct nuc_fb_vector frames = {0, 0};
        struct nuc_fb_table frame = {0};
        if (i < traces.count)
            frames = nuc_fb_vec(&p->r, nuc_fb_vec_table(&p->r, traces, i), 0, 4);
        if (frames.count > 0)
            frame = nuc_fb_vec_table(&p->r, frames, frames.count - 1);
        instructions[i].frame = (struct nuc_view_frame){
            shared_text(p, frame, NUC_FRAME_FILE), shared_text(p, frame, NUC_FRAME_NAME),
            shared_text(p, frame, NUC_FRAME_CONTEXT), nuc_fb_i32(&p->r, frame, NUC_FRAME_LINE, 0)};
    }
    chain->instructions = instructions;
}

/* ---- segments ---- */

/* Its bytes; `fault` is said when they lie outside the file. */
static struct nuc_span take_segment(struct parser *p, uint32_t index, const char *fault)
{
    struct nuc_fb_vector list = nuc_fb_vec(&p->r, p->program, NUC_PROGRAM_SEGMENTS, 4);
    struct nuc_fb_table segment = nuc_fb_vec_table(&p->r, list, index);
    uint64_t base = p->view->segments_at, offset = nuc_fb_u64(&p->r, segment, NUC_SEGMENT_OFFSET, 0);
    struct nuc_span data;

    if (offset > UINT64_MAX - base ||
        !nuc_span_slice(p->r.bytes, base + offset, nuc_fb_u64(&p->r, segment, NUC_SEGMENT_SIZE, 0), &data))
        damaged(p, fault);
    return data;
}

static void take_named(struct parser *p, struct nuc_fb_table t, void *item)
{
    struct nuc_view_named *named = item;

    named->key = take_text(p, t, NUC_NAMED_KEY);
    named->data = take_segment(p, nuc_fb_u32(&p->r, t, NUC_NAMED_SEGMENT, 0), "named data lies outside the file");
    spend(p, named->data.size);
}

/* ---- delegates ---- */

static void take_spec(struct parser *p, struct nuc_fb_table t, void *item)
{
    struct nuc_view_spec *spec = item;

    spec->key = take_text(p, t, 0);
    spec->value = take_list(p, t, 1, 1);
}

static void take_delegate(struct parser *p, struct nuc_fb_table t, void *item)
{
    struct nuc_view_delegate *delegate = item;

    delegate->backend = take_text(p, t, NUC_DELEGATE_ID);
    /* The processed bytes of a delegate, inline or in a segment. */
    struct nuc_fb_table reference = nuc_fb_sub(&p->r, t, NUC_DELEGATE_PROCESSED);
    uint8_t location = nuc_fb_u8(&p->r, reference, NUC_REFERENCE_LOCATION, 0);
    uint32_t index = nuc_fb_u32(&p->r, reference, NUC_REFERENCE_INDEX, 0);
    struct nuc_span data = {NULL, 0};
    if (location > 1)
        damaged(p, "a delegate's data lie neither in a segment nor among the tables");
    if (location == 0) {
        struct nuc_fb_vector list = nuc_fb_vec(&p->r, p->program, NUC_PROGRAM_DELEGATE_DATA, 4);
        data = nuc_fb_bytes(&p->r, nuc_fb_vec_table(&p->r, list, index), 0);
    } else {
        data = take_segment(p, index, "a delegate's segment lies outside the file");
    }
    check(p, "a delegate's data lies outside the file");
    spend(p, data.size);
    delegate->data = data;
    delegate->specs = take_tables(p, t, NUC_DELEGATE_COMPILE_SPECS, sizeof *delegate->specs, take_spec,
                                  "a compile spec is malformed", &delegate->n_specs);
}

/* ---- the program ---- */

/* Instructions come last, since they are checked against everything else. */
static void take_method(struct parser *p, struct nuc_fb_table t, void *item)
{
    struct nuc_view_method *m = p->method = item;

    m->name = take_text(p, t, NUC_PLAN_NAME);
    m->inputs = take_list(p, t, NUC_PLAN_INPUTS, 4);
    m->outputs = take_list(p, t, NUC_PLAN_OUTPUTS, 4);
    m->planned = take_list(p, t, NUC_PLAN_BUFFER_SIZES, 8);
    m->values = take_tables(p, t, NUC_PLAN_VALUES, sizeof *m->values, take_value, "a value is malformed", &m->n_values);
    /* Lists name values before and after them, so that they are checked when all are there. */
    for (uint32_t i = 0; i < p->method->n_values; i++) {
        const struct nuc_view_value *value = &p->method->values[i];
        if (value->kind == NUC_VALUE_INTS || value->kind == NUC_VALUE_TENSORS)
            check_indices(p, value->u.list, 0);
        else if (value->kind == NUC_VALUE_OPTIONAL_TENSORS)
            check_indices(p, value->u.list, -1);
    }
    check_indices(p, m->inputs, 0);
    check_indices(p, m->outputs, 0);
    m->operators = take_tables(p, t, NUC_PLAN_OPERATORS, sizeof *m->operators, take_operator,
                               "an operator is malformed", &m->n_operators);
    m->delegates = take_tables(p, t, NUC_PLAN_DELEGATES, sizeof *m->delegates, take_delegate, "a delegate is malformed",
                               &m->n_delegates);
    m->chains =
        take_tables(p, t, NUC_PLAN_CHAINS, sizeof *m->chains, take_chain, "a stack trace is malformed", &m->n_chains);
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

/* How facts go on behind the checksum, or begin without one. */
static const char facts[] = "\"schema\":1,\"inputs\":[";

void nuc_check_program_sum(struct nuc_context *cx, const char *file, struct nuc_span program)
{
    size_t at = nuc_program_sum_at(program);

    if (at == 0 && nuc_last_text(program, facts, sizeof facts - 1) != 0)
        nuc_warn(cx, "%s: has no checksum: an older nucleon made it, or it is damaged: compile the model again", file);
    if (at != 0 && !nuc_program_sum_fits(program, at, nuc_crc32_of))
        nuc_fail(cx, NUC_BAD_INPUT,
                 "%s: the checksum does not fit: the file is damaged: copy it again, or compile the model again", file);
}

const struct nuc_program_view *nuc_program_view_made(struct nuc_context *cx, const char *file, struct nuc_span bytes)
{
    struct nuc_program_view *view = nuc_alloc(cx, sizeof *view);
    struct parser p = {.cx = cx, .r = {bytes, false}, .view = view, .budget = 4 * (uint64_t)bytes.size};

    view->file = file;
    view->bytes = bytes;
    take_header(&p);
    p.program = nuc_fb_root(&p.r, 0);
    struct nuc_fb_vector segments = nuc_fb_vec(&p.r, p.program, NUC_PROGRAM_SEGMENTS, 4);
    struct nuc_fb_table constants = nuc_fb_sub(&p.r, p.program, NUC_PROGRAM_CONSTANT_SEGMENT);
    struct nuc_fb_vector offsets = nuc_fb_vec(&p.r, constants, NUC_SUBSEGMENT_OFFSETS, 8);
    view->schema_version = nuc_fb_u32(&p.r, p.program, NUC_PROGRAM_VERSION, 0);
    check(&p, "its root table lies outside the file");
    view->n_segments = segments.count;
    view->n_constants = offsets.count == 0 ? 0 : offsets.count - 1; /* entry 0 stands for no constant */
    view->methods = take_tables(&p, p.program, NUC_PROGRAM_PLANS, sizeof *view->methods, take_method,
                                "a method is malformed", &view->n_methods);
    if (view->n_methods == 0)
        damaged(&p, "it has no method");
    view->named = take_tables(&p, p.program, NUC_PROGRAM_NAMED_DATA, sizeof *view->named, take_named,
                              "named data is malformed", &view->n_named);
    return view;
}

const struct nuc_program_view *nuc_program_view_open(struct nuc_context *cx, const char *file, struct nuc_span bytes)
{
    const struct nuc_program_view *view = nuc_program_view_made(cx, file, bytes);

    nuc_check_program_sum(cx, file, bytes);
    return view;
}

bool nuc_view_constant(const struct nuc_program_view *view, uint32_t constant, size_t bytes, struct nuc_span *out)
{
    struct nuc_fb_reader r = {view->bytes, false};
    struct nuc_fb_table program = nuc_fb_root(&r, 0), segment = nuc_fb_sub(&r, program, NUC_PROGRAM_CONSTANT_SEGMENT);
    struct nuc_fb_vector offsets = nuc_fb_vec(&r, segment, NUC_SUBSEGMENT_OFFSETS, 8), list;
    struct nuc_span stored;

    if (offsets.count == 0) { /* among the tables, as old writers have them */
        list = nuc_fb_vec(&r, program, NUC_PROGRAM_CONSTANT_BUFFERS, 4);
        stored = nuc_fb_bytes(&r, nuc_fb_vec_table(&r, list, constant), 0);
        return !r.bad && nuc_span_slice(stored, 0, bytes, out);
    }
    list = nuc_fb_vec(&r, program, NUC_PROGRAM_SEGMENTS, 4);
    segment = nuc_fb_vec_table(&r, list, nuc_fb_u32(&r, segment, NUC_SUBSEGMENT_INDEX, 0));
    uint64_t at = nuc_fb_u64(&r, segment, NUC_SEGMENT_OFFSET, 0), size = nuc_fb_u64(&r, segment, NUC_SEGMENT_SIZE, 0);
    return at <= UINT64_MAX - view->segments_at && nuc_span_slice(view->bytes, view->segments_at + at, size, &stored) &&
           nuc_span_slice(stored, (uint64_t)nuc_fb_vec_i64(&r, offsets, constant), bytes, out) && !r.bad;
}
