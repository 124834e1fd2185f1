/* From the emission to the bytes of the file: FlatBuffer with extended header, then segments. */
#include <string.h>

#include "back/program/emit.h"
#include "device/base/program_schema.h"
#include "device/base/program_sum.h"
#include "host/flatbuilder.h"
#include "host/hash.h"
#include "host/text.h"
#include "ir/labels.h"
#include "npu/partition/delegate.h"

#define ALIGNMENT 16   /* of the program, of segments and of what lies in them */
#define HEADER_SIZE 32 /* of the extended header */

/* Spans, each aligned. */
struct segment {
    const struct nuc_span *spans;
    size_t count, size;
    uint64_t *offsets; /* of the spans in the segment; NULL: of the only one, at its beginning */
    uint64_t offset;
};

struct serializer {
    const struct nuc_emission *e;
    const struct nuc_program_options *o;
    struct nuc_context *cx;
    struct nuc_fb_builder *b;
    struct segment *segments;
    size_t n_segments;
    size_t first_delegate, first_named, initial_segment; /* segments */
};

/* A table of references alone, field by field; 0: absent. */
static nuc_fb_ref add_table(struct serializer *s, const nuc_fb_ref *refs, int count)
{
    nuc_fb_table_begin(s->b);
    for (int i = 0; i < count; i++)
        nuc_fb_put_ref(s->b, i, refs[i]);
    return nuc_fb_table_end(s->b);
}

static nuc_fb_ref add_strings(struct serializer *s, const char *first, const char *second)
{
    nuc_fb_ref refs[2];

    refs[0] = nuc_fb_add_string(s->b, first);
    refs[1] = nuc_fb_add_string(s->b, second);
    return add_table(s, refs, 2);
}

/* A vector of the `count` tables that `add` makes. */
static nuc_fb_ref add_list(struct serializer *s, size_t count, nuc_fb_ref (*add)(struct serializer *s, size_t index))
{
    nuc_fb_ref *refs = nuc_alloc_array(s->cx, count, sizeof *refs);

    for (size_t i = 0; i < count; i++)
        refs[i] = add(s, i);
    return nuc_fb_add_refs(s->b, refs, count);
}

/* ---- values ---- */

static nuc_fb_ref add_allocation(struct serializer *s, const struct nuc_emit_value *v)
{
    uint64_t offset = s->e->storages[v->storage].address + v->offset;

    nuc_fb_table_begin(s->b);
    nuc_fb_put_u32(s->b, 0, s->e->storages[v->storage].memory, 0);
    nuc_fb_put_u32(s->b, 1, (uint32_t)offset, 0);
    nuc_fb_put_u32(s->b, 2, (uint32_t)(offset >> 32), 0);
    return nuc_fb_table_end(s->b);
}

static nuc_fb_ref add_tensor(struct serializer *s, const struct nuc_emit_value *v)
{
    int32_t sizes[NUC_MAX_RANK];
    const struct nuc_meta *m = v->meta;

    for (uint32_t d = 0; d < m->rank; d++) {
        if (m->sizes[d] < 0 || m->sizes[d] > INT32_MAX)
            nuc_fail(s->cx, NUC_UNSUPPORTED, "%s: a tensor has a size beyond 31 bits: split the model", s->e->g->file);
        sizes[d] = (int32_t)m->sizes[d];
    }
    nuc_fb_ref size_ref = nuc_fb_add_vector(s->b, sizes, m->rank, 4, 4);
    nuc_fb_ref order_ref = nuc_fb_add_vector(s->b, m->dim_order, m->rank, 1, 1);
    nuc_fb_ref allocation = v->storage == NUC_NO_STORAGE ? 0 : add_allocation(s, v);
    nuc_fb_ref extra = 0;
    if (v->state != NULL) {
        const nuc_fb_ref refs[] = {[NUC_EXTRA_NAME] = nuc_fb_add_string(s->b, v->state)};
        extra = add_table(s, refs, sizeof refs / sizeof *refs);
    }
    nuc_fb_table_begin(s->b);
    nuc_fb_put_i8(s->b, NUC_TENSOR_TYPE, (int8_t)nuc_scalar_type(m->dtype), 0);
    nuc_fb_put_ref(s->b, NUC_TENSOR_SIZES, size_ref);
    nuc_fb_put_ref(s->b, NUC_TENSOR_DIM_ORDER, order_ref);
    nuc_fb_put_u32(s->b, NUC_TENSOR_DATA_BUFFER, v->initial != 0 ? v->initial : v->constant, 0);
    nuc_fb_put_ref(s->b, NUC_TENSOR_ALLOCATION, allocation);
    nuc_fb_put_ref(s->b, NUC_TENSOR_EXTRA, extra);
    return nuc_fb_table_end(s->b);
}

/* A table with one field, a reference: lists and strings. */
static nuc_fb_ref add_holder(struct serializer *s, nuc_fb_ref content)
{
    return add_table(s, &content, 1);
}

static nuc_fb_ref add_content(struct serializer *s, const struct nuc_emit_value *v)
{
    int32_t *indices;

    switch (v->kind) {
    case NUC_EMIT_TENSOR:
        return add_tensor(s, v);
    case NUC_EMIT_STRING:
        return add_holder(s, nuc_fb_add_string(s->b, v->u.string));
    case NUC_EMIT_INTS:
        return add_holder(s, nuc_fb_add_vector(s->b, v->u.items, v->count, 8, 8));
    case NUC_EMIT_DOUBLES:
        return add_holder(s, nuc_fb_add_vector(s->b, v->u.doubles, v->count, 8, 8));
    case NUC_EMIT_BOOLS:
    case NUC_EMIT_TENSORS:
    case NUC_EMIT_OPTIONAL_TENSORS:
        indices = nuc_alloc_array(s->cx, v->count, sizeof *indices);
        for (uint32_t i = 0; i < v->count; i++)
            indices[i] = (int32_t)v->u.items[i];
        return add_holder(s, nuc_fb_add_vector(s->b, indices, v->count, 4, 4));
    case NUC_EMIT_NONE:
    case NUC_EMIT_INT:
    case NUC_EMIT_BOOL:
    case NUC_EMIT_DOUBLE:
        break;
    }
    nuc_fb_table_begin(s->b);
    if (v->kind == NUC_EMIT_INT)
        nuc_fb_put_i64(s->b, 0, v->u.i, 0);
    else if (v->kind == NUC_EMIT_DOUBLE)
        nuc_fb_put_f64(s->b, 0, v->u.f, 0.0);
    else if (v->kind == NUC_EMIT_BOOL)
        nuc_fb_put_bool(s->b, 0, v->u.b, false);
    return nuc_fb_table_end(s->b);
}

static nuc_fb_ref add_union(struct serializer *s, uint8_t type, nuc_fb_ref content)
{
    nuc_fb_table_begin(s->b);
    nuc_fb_put_u8(s->b, 0, type, 0);
    nuc_fb_put_ref(s->b, 1, content);
    return nuc_fb_table_end(s->b);
}

static nuc_fb_ref add_listed_value(struct serializer *s, size_t index)
{
    const struct nuc_emit_value *v = &s->e->values[index];

    return add_union(s, (uint8_t)v->kind, add_content(s, v));
}

/* ---- instructions, operators, delegates ---- */

static nuc_fb_ref add_instruction(struct serializer *s, size_t index)
{
    const struct nuc_emit_instruction *in = &s->e->instructions[index];
    nuc_fb_ref args = nuc_fb_add_vector(s->b, in->args, in->n_args, 4, 4);

    nuc_fb_table_begin(s->b);
    nuc_fb_put_i32(s->b, 0, (int32_t)in->index, 0);
    nuc_fb_put_ref(s->b, 1, args);
    nuc_fb_ref call = nuc_fb_table_end(s->b);
    return add_union(s, in->delegate ? NUC_INSTRUCTION_DELEGATE : NUC_INSTRUCTION_KERNEL, call);
}

/*
 * One frame per instruction: the name is that of its node, the context its label (ir/labels.h), which the reference
 * does not have. The file is empty when the archive does not have the line.
 */
static nuc_fb_ref add_stack_traces(struct serializer *s, bool with_labels)
{
    const struct nuc_labels labels = nuc_label_graph(s->e->g);
    nuc_fb_ref *refs = nuc_alloc_array(s->cx, s->e->n_instructions, sizeof *refs);

    for (size_t i = 0; i < s->e->n_instructions; i++) {
        const struct nuc_node *node = s->e->instructions[i].node;
        nuc_fb_ref file = nuc_fb_add_string(s->b, node->source->file != NULL ? node->source->file : "");
        nuc_fb_ref name = nuc_fb_add_string(s->b, node->name);
        nuc_fb_ref context = nuc_fb_add_string(s->b, with_labels ? labels.of[node->id] : "");
        nuc_fb_table_begin(s->b);
        nuc_fb_put_ref(s->b, NUC_FRAME_FILE, file);
        nuc_fb_put_i32(s->b, NUC_FRAME_LINE, node->source->line, 0);
        nuc_fb_put_ref(s->b, NUC_FRAME_NAME, name);
        nuc_fb_put_ref(s->b, NUC_FRAME_CONTEXT, context);
        nuc_fb_ref frame = nuc_fb_table_end(s->b);
        refs[i] = add_holder(s, nuc_fb_add_refs(s->b, &frame, 1));
    }
    return nuc_fb_add_refs(s->b, refs, s->e->n_instructions);
}

static nuc_fb_ref add_operator(struct serializer *s, size_t index)
{
    return add_strings(s, s->e->operators[index].name, s->e->operators[index].overload);
}

/* Text without its terminator; an empty value is an empty vector, for runtimes read it unchecked. */
static nuc_fb_ref add_compile_spec(struct serializer *s, const struct nuc_compile_spec *spec)
{
    nuc_fb_ref refs[2];

    refs[0] = nuc_fb_add_string(s->b, spec->key);
    refs[1] = nuc_fb_add_vector(s->b, spec->value, strlen(spec->value), 1, 1);
    return add_table(s, refs, 2);
}

static bool in_segments(const struct serializer *s)
{
    return s->o->delegate_data == NUC_DELEGATE_SEGMENT;
}

static nuc_fb_ref add_delegate(struct serializer *s, size_t index)
{
    const struct nuc_delegate *d = s->e->delegates[index];
    uint32_t scratch = s->e->scratch_of != NULL ? s->e->scratch_of[index] : NUC_NO_STORAGE;
    nuc_fb_ref refs[3]; /* id, processed, compile specs */

    refs[0] = nuc_fb_add_string(s->b, d->backend_id);
    /* The delegate's own, and where its scratch is planned. */
    nuc_fb_ref *specs = nuc_alloc_array(s->cx, (size_t)d->n_compile_specs + 1, sizeof *specs);
    uint32_t n = 0;
    for (; n < d->n_compile_specs; n++)
        specs[n] = add_compile_spec(s, &d->compile_specs[n]);
    if (scratch != NUC_NO_STORAGE) {
        uint64_t address = s->e->storages[scratch].address;
        struct nuc_compile_spec spec = {NUC_SCRATCH_SPEC, nuc_format(s->cx, "%llu", (unsigned long long)address)};
        specs[n++] = add_compile_spec(s, &spec);
    }
    refs[2] = nuc_fb_add_refs(s->b, specs, n);
    nuc_fb_table_begin(s->b);
    nuc_fb_put_i8(s->b, 0, in_segments(s) ? 1 : 0, 0);
    nuc_fb_put_u32(s->b, 1, (uint32_t)(in_segments(s) ? s->first_delegate + index : index), 0);
    refs[1] = nuc_fb_table_end(s->b);
    return add_table(s, refs, 3);
}

static nuc_fb_ref add_inline_data(struct serializer *s, size_t index)
{
    struct nuc_span payload = s->e->delegates[index]->payload;

    return add_holder(s, nuc_fb_add_vector(s->b, payload.data, payload.size, 1, ALIGNMENT));
}

/* ---- plan and program ---- */

#define LEAF "{\"type\": null, \"context\": null, \"children_spec\": []}"

/* torch's pytree text: a tuple of `n` leaves. */
static const char *tuple_text(struct nuc_context *cx, size_t n)
{
    struct nuc_text text = {.cx = cx};

    nuc_text_addf(&text, "{\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [");
    for (size_t i = 0; i < n; i++)
        nuc_text_addf(&text, "%s" LEAF, i == 0 ? "" : ", ");
    nuc_text_addf(&text, "]}");
    return nuc_text_string(&text);
}

static nuc_fb_ref add_method(struct serializer *s, const char *name, const char *inputs, bool stack_traces)
{
    enum { FIELDS = NUC_PLAN_BUFFER_SIZES + 1, CHAIN_FIELDS = NUC_CHAIN_STACK_TRACES + 1 };
    /* Entry 0 is reserved; states have a memory of their own. */
    int64_t buffer_sizes[NUC_MOST_BANKS + 2] = {0};
    const uint32_t n = s->e->n_memories;
    nuc_fb_ref refs[FIELDS] = {0}, chain_refs[CHAIN_FIELDS] = {0};

    for (uint32_t i = 0; i < n; i++)
        buffer_sizes[i + 1] = (int64_t)s->e->memories[i];
    buffer_sizes[n + 1] = (int64_t)s->e->states_size;

    refs[NUC_PLAN_NAME] = nuc_fb_add_string(s->b, name);
    refs[NUC_PLAN_CONTAINER] = add_strings(
        s, inputs, nuc_format(s->cx, "[1, %s]", s->e->n_outputs == 1 ? LEAF : tuple_text(s->cx, s->e->n_outputs)));
    refs[NUC_PLAN_VALUES] = add_list(s, s->e->n_values, add_listed_value);
    refs[NUC_PLAN_INPUTS] = nuc_fb_add_vector(s->b, s->e->inputs, s->e->n_inputs, 4, 4);
    refs[NUC_PLAN_OUTPUTS] = nuc_fb_add_vector(s->b, s->e->outputs, s->e->n_outputs, 4, 4);
    chain_refs[NUC_CHAIN_INSTRUCTIONS] = add_list(s, s->e->n_instructions, add_instruction);
    chain_refs[NUC_CHAIN_STACK_TRACES] = stack_traces ? add_stack_traces(s, s->o->labels) : 0;
    chain_refs[0] = nuc_fb_add_vector(s->b, NULL, 0, 4, 4); /* inputs, which nothing reads */
    chain_refs[1] = nuc_fb_add_vector(s->b, NULL, 0, 4, 4); /* outputs, the same */
    nuc_fb_ref chain = add_table(s, chain_refs, CHAIN_FIELDS);
    refs[NUC_PLAN_CHAINS] = nuc_fb_add_refs(s->b, &chain, 1);
    refs[NUC_PLAN_OPERATORS] = add_list(s, s->e->n_operators, add_operator);
    refs[NUC_PLAN_DELEGATES] = add_list(s, s->e->n_delegates, add_delegate);
    refs[NUC_PLAN_BUFFER_SIZES] = nuc_fb_add_vector(s->b, buffer_sizes, s->e->n_writes > 0 ? n + 2 : n + 1, 8, 8);
    return add_table(s, refs, FIELDS);
}

/* The method first: runtimes that know one method run that. Then methods without inputs whose output is a number. */
static nuc_fb_ref add_plan(struct serializer *s, size_t index)
{
    if (index > 0) {
        const struct nuc_constant_method *constant = &s->o->numbers[index - 1];
        struct nuc_emit_value value = {.kind = NUC_EMIT_INT, .u = {.i = constant->u.i}};
        uint32_t output = 0;
        struct nuc_emission e = {.values = &value, .n_values = 1, .outputs = &output, .n_outputs = 1, .n_memories = 1};
        struct serializer method = {.e = &e, .o = s->o, .cx = s->cx, .b = s->b};
        if (constant->is_float)
            value = (struct nuc_emit_value){.kind = NUC_EMIT_DOUBLE, .u = {.f = constant->u.f}};
        return add_method(&method, constant->name, "", false);
    }
    /* How Python would unflatten inputs and outputs, a leaf for a single one; runtimes do not read it. */
    return add_method(s, s->o->method != NULL ? s->o->method : "forward",
                      nuc_format(s->cx,
                                 "[1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [%s, "
                                 "{\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}]}]",
                                 tuple_text(s->cx, s->e->n_inputs)),
                      s->o->stack_traces);
}

static nuc_fb_ref add_segment(struct serializer *s, size_t index)
{
    nuc_fb_table_begin(s->b);
    nuc_fb_put_u64(s->b, 0, s->segments[index].offset, 0);
    nuc_fb_put_u64(s->b, 1, s->segments[index].size, 0);
    return nuc_fb_table_end(s->b);
}

/* Where its spans are; entry 0, which stands for nothing, must be there. */
static nuc_fb_ref add_offsets(struct serializer *s, size_t segment)
{
    nuc_fb_ref vector = nuc_fb_add_vector(s->b, s->segments[segment].offsets, s->segments[segment].count, 8, 8);

    nuc_fb_table_begin(s->b);
    nuc_fb_put_u32(s->b, 0, (uint32_t)segment, 0);
    nuc_fb_put_ref(s->b, 1, vector);
    return nuc_fb_table_end(s->b);
}

/* 0 without any, so that the field is absent. */
static nuc_fb_ref add_mutable_segments(struct serializer *s)
{
    if (s->e->n_initials == 0)
        return 0;
    nuc_fb_ref only = add_offsets(s, s->initial_segment);
    return nuc_fb_add_refs(s->b, &only, 1);
}

static nuc_fb_ref add_named(struct serializer *s, size_t index)
{
    nuc_fb_ref key = nuc_fb_add_string(s->b, s->o->named[index].key);

    nuc_fb_table_begin(s->b);
    nuc_fb_put_ref(s->b, NUC_NAMED_KEY, key);
    nuc_fb_put_u32(s->b, NUC_NAMED_SEGMENT, (uint32_t)(s->first_named + index), 0);
    return nuc_fb_table_end(s->b);
}

/* ---- segments and file ---- */

static void add_one(struct serializer *s, const struct nuc_span *bytes)
{
    s->segments[s->n_segments++] = (struct segment){.spans = bytes, .count = 1, .size = bytes->size};
}

/* Back to back but for the first, which stands for nothing. */
static void add_many(struct serializer *s, const struct nuc_span *spans, size_t count)
{
    struct segment *segment = &s->segments[s->n_segments++];

    *segment = (struct segment){
        .spans = spans, .count = count, .offsets = nuc_alloc_array(s->cx, count, sizeof *segment->offsets)};
    for (size_t i = 1; i < count; i++) {
        segment->offsets[i] = nuc_align_up(segment->size, ALIGNMENT);
        segment->size = (size_t)segment->offsets[i] + spans[i].size;
    }
}

/* Returns where it ends in the file. */
static size_t put_segment(uint8_t *file, size_t end, const struct segment *segment, size_t begin)
{
    for (size_t i = segment->offsets == NULL ? 0 : 1; i < segment->count; i++) {
        const struct nuc_span bytes = segment->spans[i];
        const size_t at = begin + (segment->offsets == NULL ? 0 : (size_t)segment->offsets[i]);
        memset(file + end, 0, at - end);
        if (bytes.size > 0)
            memcpy(file + at, bytes.data, bytes.size);
        end = at + bytes.size;
    }
    return end;
}

static void store_u64(uint8_t *p, uint64_t v)
{
    nuc_store_u32(p, (uint32_t)v);
    nuc_store_u32(p + 4, (uint32_t)(v >> 32));
}

struct nuc_span nuc_serialize(const struct nuc_emission *e, const struct nuc_program_options *o)
{
    struct nuc_arena *outer = nuc_push_arena(e->cx);
    struct serializer s = {.e = e, .o = o, .cx = e->cx, .b = nuc_fb_builder_new(e->cx)};
    /*
     * Constants are segment 0, even when there are none; delegates follow when they are not inside the program, then
     * what is named, then what states begin with.
     */
    uint64_t data_size = 0;

    s.segments = nuc_alloc_array(e->cx, e->n_delegates + o->n_named + 2, sizeof *s.segments);
    add_many(&s, e->constants, e->n_constants);
    s.first_delegate = s.n_segments;
    for (size_t i = 0; i < e->n_delegates && in_segments(&s); i++)
        add_one(&s, &e->delegates[i]->payload);
    s.first_named = s.n_segments;
    for (size_t i = 0; i < o->n_named; i++)
        add_one(&s, &o->named[i].bytes);
    s.initial_segment = s.n_segments;
    if (e->n_initials > 0)
        add_many(&s, e->initials, e->n_initials);
    for (size_t i = 0; i < s.n_segments; i++) {
        s.segments[i].offset = nuc_align_up((size_t)data_size, ALIGNMENT);
        data_size = s.segments[i].offset + s.segments[i].size;
    }
    static const uint8_t no_header[HEADER_SIZE];
    enum { FIELDS = NUC_PROGRAM_NAMED_DATA + 1 };
    nuc_fb_ref refs[FIELDS] = {0};
    refs[NUC_PROGRAM_PLANS] = add_list(&s, o->n_numbers + 1, add_plan);
    refs[NUC_PROGRAM_CONSTANT_BUFFERS] = nuc_fb_add_refs(s.b, NULL, 0);
    refs[NUC_PROGRAM_DELEGATE_DATA] = add_list(&s, in_segments(&s) ? 0 : e->n_delegates, add_inline_data);
    refs[NUC_PROGRAM_SEGMENTS] = add_list(&s, s.n_segments, add_segment);
    refs[NUC_PROGRAM_CONSTANT_SEGMENT] = add_offsets(&s, 0);
    refs[NUC_PROGRAM_MUTABLE_SEGMENTS] = add_mutable_segments(&s);
    /* 0 without any, so that the field is absent. */
    refs[NUC_PROGRAM_NAMED_DATA] = o->n_named == 0 ? 0 : add_list(&s, o->n_named, add_named);
    struct nuc_span program =
        nuc_fb_finish(s.b, add_table(&s, refs, FIELDS), NUC_PROGRAM_IDENTIFIER, no_header, HEADER_SIZE, ALIGNMENT);
    size_t base = nuc_align_up(program.size, ALIGNMENT);
    size_t size = base + (size_t)data_size;
    uint8_t *file = nuc_alloc_unset(e->cx, outer, size);
    memcpy(file, program.data, program.size);
    size_t end = program.size;
    for (size_t i = 0; i < s.n_segments; i++)
        end = put_segment(file, end, &s.segments[i], base + (size_t)s.segments[i].offset);
    memcpy(file + NUC_PROGRAM_HEADER_AT, NUC_PROGRAM_HEADER_MAGIC, 4);
    nuc_store_u32(file + NUC_PROGRAM_HEADER_AT + 4, HEADER_SIZE);
    store_u64(file + NUC_PROGRAM_HEADER_AT + 8, program.size);
    store_u64(file + NUC_PROGRAM_HEADER_AT + 16, base);
    store_u64(file + NUC_PROGRAM_HEADER_AT + 24, data_size);
    if (o->n_named > 0)
        nuc_program_seal(file, size, nuc_crc32_of);
    nuc_pop_arena(e->cx, outer);
    return (struct nuc_span){file, size};
}
