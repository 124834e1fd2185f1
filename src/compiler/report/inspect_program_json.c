/* A program file as JSON: what inspect_program.c says as text, from the same tables. */
#include <string.h>

#include "base/flatbuf.h"
#include "base/program_schema.h"
#include "compiler/import/json_build.h"
#include "compiler/neutron/container/disassemble.h"
#include "compiler/neutron/container/payload.h"
#include "compiler/report/inspect_forms.h"
#include "compiler/report/lint_program.h"
#include "nucleon/kernels.h"

struct program_json {
    struct nuc_fb_reader r;
    struct nuc_context *cx;
    const char *file;
    struct nuc_fb_table program;
    uint64_t segment_base;
    uint64_t budget; /* list elements that may still be written: tables can be shared, a small file could be huge */
    bool disassemble;
};

_Noreturn static void damaged(struct program_json *p, const char *what)
{
    nuc_fail(p->cx, NUC_BAD_INPUT, "%s: the program is damaged: %s", p->file, what);
}

static void check(struct program_json *p, const char *what)
{
    if (p->r.bad)
        damaged(p, what);
}

static void spend(struct program_json *p, uint64_t count)
{
    if (count > p->budget)
        damaged(p, "its lists hold more than the file");
    p->budget -= count;
}

/* ---- lists and texts ---- */

static struct nuc_fb_vector take_vector(struct program_json *p, struct nuc_fb_table t, int id, uint32_t size)
{
    struct nuc_fb_vector v = nuc_fb_vec(&p->r, t, id, size);

    check(p, "a list lies outside the file");
    spend(p, v.count);
    return v;
}

static void put_list(struct program_json *p, json_t *out, const char *key, struct nuc_fb_table t, int id, uint32_t size)
{
    struct nuc_fb_vector v = take_vector(p, t, id, size);
    json_t *list = nuc_put_array(p->cx, out, key);

    for (uint32_t i = 0; i < v.count; i++) {
        int64_t value = size == 8   ? nuc_fb_vec_i64(&p->r, v, i)
                        : size == 4 ? nuc_fb_vec_i32(&p->r, v, i)
                                    : nuc_fb_vec_u8(&p->r, v, i);
        nuc_put_int(p->cx, list, NULL, value);
    }
}

static void put_string(struct program_json *p, json_t *out, const char *key, struct nuc_fb_table t, int id)
{
    uint32_t length = 0;
    const char *text = nuc_fb_string(&p->r, t, id, &length);

    spend(p, length);
    nuc_put_bytes_text(p->cx, out, key, text == NULL ? "" : text, text == NULL ? 0 : length);
}

/* ---- values ---- */

static void put_tensor(struct program_json *p, json_t *out, struct nuc_fb_table t)
{
    static const char *const dtypes[] = {
        [0] = "uint8",   [1] = "int8",    [2] = "int16", [3] = "int32",     [4] = "int64",   [5] = "float16",
        [6] = "float32", [7] = "float64", [11] = "bool", [15] = "bfloat16", [27] = "uint16",
    };
    struct nuc_fb_table allocation = nuc_fb_sub(&p->r, t, NUC_TENSOR_ALLOCATION);
    uint32_t data = nuc_fb_u32(&p->r, t, NUC_TENSOR_DATA_BUFFER, 0);
    int8_t type = nuc_fb_i8(&p->r, t, NUC_TENSOR_TYPE, 0);
    bool known = type >= 0 && (size_t)type < sizeof dtypes / sizeof dtypes[0] && dtypes[type] != NULL;

    nuc_put_string(p->cx, out, "dtype", known ? dtypes[type] : "other");
    put_list(p, out, "sizes", t, NUC_TENSOR_SIZES, 4);
    put_list(p, out, "dim_order", t, NUC_TENSOR_DIM_ORDER, 1);
    if (allocation.at != 0) {
        uint64_t offset = nuc_fb_u32(&p->r, allocation, NUC_ALLOCATION_LOW, 0) |
                          (uint64_t)nuc_fb_u32(&p->r, allocation, NUC_ALLOCATION_HIGH, 0) << 32;
        nuc_put_int(p->cx, out, "memory", nuc_fb_u32(&p->r, allocation, NUC_ALLOCATION_MEMORY, 0));
        nuc_put_int(p->cx, out, "offset", (int64_t)(offset & INT64_MAX));
    } else if (data != 0) {
        nuc_put_int(p->cx, out, "constant", data);
    }
}

static void put_int(struct program_json *p, json_t *out, struct nuc_fb_table t)
{
    nuc_put_int(p->cx, out, "value", nuc_fb_i64(&p->r, t, 0, 0));
}

static void put_bool(struct program_json *p, json_t *out, struct nuc_fb_table t)
{
    nuc_put_bool(p->cx, out, "value", nuc_fb_bool(&p->r, t, 0, false));
}

static void put_double(struct program_json *p, json_t *out, struct nuc_fb_table t)
{
    nuc_put_double(p->cx, out, "value", nuc_fb_f64(&p->r, t, 0, 0.0));
}

static void put_string_value(struct program_json *p, json_t *out, struct nuc_fb_table t)
{
    put_string(p, out, "value", t, 0);
}

static void put_doubles(struct program_json *p, json_t *out, struct nuc_fb_table t)
{
    struct nuc_fb_vector v = take_vector(p, t, 0, 8);
    json_t *list = nuc_put_array(p->cx, out, "value");

    for (uint32_t i = 0; i < v.count; i++)
        nuc_put_double(p->cx, list, NULL, nuc_fb_vec_f64(&p->r, v, i));
}

static void put_bools(struct program_json *p, json_t *out, struct nuc_fb_table t)
{
    put_list(p, out, "value", t, 0, 1);
}

/* Items are values of their own. */
static void put_long_indices(struct program_json *p, json_t *out, struct nuc_fb_table t)
{
    put_list(p, out, "items", t, 0, 8);
}

static void put_indices(struct program_json *p, json_t *out, struct nuc_fb_table t)
{
    put_list(p, out, "items", t, 0, 4);
}

static const struct {
    const char *name;
    void (*put)(struct program_json *p, json_t *out, struct nuc_fb_table t); /* NULL: nothing to say */
} kinds[] = {
    [NUC_VALUE_NONE] = {"none", NULL},
    [NUC_VALUE_INT] = {"int", put_int},
    [NUC_VALUE_BOOL] = {"bool", put_bool},
    [NUC_VALUE_DOUBLE] = {"double", put_double},
    [NUC_VALUE_TENSOR] = {"tensor", put_tensor},
    [NUC_VALUE_STRING] = {"string", put_string_value},
    [NUC_VALUE_INTS] = {"ints", put_long_indices},
    [NUC_VALUE_DOUBLES] = {"doubles", put_doubles},
    [NUC_VALUE_BOOLS] = {"bools", put_bools},
    [NUC_VALUE_TENSORS] = {"tensors", put_indices},
    [NUC_VALUE_OPTIONAL_TENSORS] = {"optional_tensors", put_indices},
};

static void put_values(struct program_json *p, json_t *out, struct nuc_fb_table plan)
{
    struct nuc_fb_vector values = take_vector(p, plan, NUC_PLAN_VALUES, 4);
    json_t *list = nuc_put_array(p->cx, out, "values");

    for (uint32_t i = 0; i < values.count; i++) {
        struct nuc_fb_table value = nuc_fb_vec_table(&p->r, values, i);
        uint8_t kind = nuc_fb_u8(&p->r, value, NUC_EVALUE_TYPE, 0);
        struct nuc_fb_table content = nuc_fb_sub(&p->r, value, NUC_EVALUE_VALUE);
        json_t *item = nuc_put_object(p->cx, list, NULL);
        bool known = kind < sizeof kinds / sizeof kinds[0] && kinds[kind].name != NULL;
        nuc_put_string(p->cx, item, "kind", known ? kinds[kind].name : "other");
        if (known && kinds[kind].put != NULL)
            kinds[kind].put(p, item, content);
        check(p, "a value is malformed");
    }
}

/* ---- instructions ---- */

static void put_operator_name(struct program_json *p, json_t *out, struct nuc_fb_table plan, uint32_t index)
{
    struct nuc_fb_vector operators = nuc_fb_vec(&p->r, plan, NUC_PLAN_OPERATORS, 4);

    if (index >= operators.count)
        damaged(p, "an instruction calls an operator that does not exist");
    struct nuc_fb_table op = nuc_fb_vec_table(&p->r, operators, index);
    put_string(p, out, "operator", op, NUC_OPERATOR_NAME);
    put_string(p, out, "overload", op, NUC_OPERATOR_OVERLOAD);
}

static void put_instruction(struct program_json *p, json_t *out, struct nuc_fb_table plan, struct nuc_fb_table t)
{
    static const char *const words[NUC_INSTRUCTION_KINDS] = {
        [NUC_INSTRUCTION_KERNEL] = "kernel", [NUC_INSTRUCTION_DELEGATE] = "delegate",
        [NUC_INSTRUCTION_MOVE] = "move",     [NUC_INSTRUCTION_JUMP_FALSE] = "jump_if_false",
        [NUC_INSTRUCTION_FREE] = "free",
    };
    uint8_t kind = nuc_fb_u8(&p->r, t, NUC_INSTRUCTION_TYPE, 0);
    struct nuc_fb_table call = nuc_fb_sub(&p->r, t, NUC_INSTRUCTION_ARGS);
    bool known = kind < NUC_INSTRUCTION_KINDS && words[kind] != NULL;

    nuc_put_string(p->cx, out, "kind", known ? words[kind] : "other");
    if (kind == NUC_INSTRUCTION_KERNEL || kind == NUC_INSTRUCTION_DELEGATE) {
        uint32_t index = nuc_fb_u32(&p->r, call, NUC_CALL_INDEX, 0);
        if (kind == NUC_INSTRUCTION_KERNEL)
            put_operator_name(p, out, plan, index);
        else
            nuc_put_int(p->cx, out, "delegate", index);
        put_list(p, out, "args", call, NUC_CALL_ARGS, 4);
    } else if (known) {
        json_t *args = nuc_put_array(p->cx, out, "args");
        nuc_put_int(p->cx, args, NULL, nuc_fb_i32(&p->r, call, 0, 0));
        nuc_put_int(p->cx, args, NULL, nuc_fb_i32(&p->r, call, 1, 0));
    }
}

static void put_instructions(struct program_json *p, json_t *out, struct nuc_fb_table plan)
{
    struct nuc_fb_vector chains = take_vector(p, plan, NUC_PLAN_CHAINS, 4);
    json_t *all = nuc_put_array(p->cx, out, "chains");

    for (uint32_t k = 0; k < chains.count; k++) {
        struct nuc_fb_table chain = nuc_fb_vec_table(&p->r, chains, k);
        struct nuc_fb_vector list = take_vector(p, chain, NUC_CHAIN_INSTRUCTIONS, 4);
        json_t *instructions = nuc_put_array(p->cx, all, NULL);
        for (uint32_t i = 0; i < list.count; i++) {
            put_instruction(p, nuc_put_object(p->cx, instructions, NULL), plan, nuc_fb_vec_table(&p->r, list, i));
            check(p, "an instruction is malformed");
        }
    }
}

/* ---- delegates ---- */

/* The processed bytes of a delegate, inline or in a segment. */
static struct nuc_span delegate_data(struct program_json *p, struct nuc_fb_table reference)
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
        uint64_t offset = nuc_fb_u64(&p->r, segment, NUC_SEGMENT_OFFSET, 0);
        uint64_t size = nuc_fb_u64(&p->r, segment, NUC_SEGMENT_SIZE, 0);
        if (offset > UINT64_MAX - p->segment_base || !nuc_span_slice(p->r.bytes, p->segment_base + offset, size, &data))
            damaged(p, "a delegate's segment lies outside the file");
    }
    check(p, "a delegate's data lies outside the file");
    return data;
}

static void put_compile_specs(struct program_json *p, json_t *out, struct nuc_fb_table delegate)
{
    struct nuc_fb_vector specs = take_vector(p, delegate, NUC_DELEGATE_COMPILE_SPECS, 4);
    json_t *list = nuc_put_array(p->cx, out, "compile_specs");

    for (uint32_t i = 0; i < specs.count; i++) {
        struct nuc_fb_table spec = nuc_fb_vec_table(&p->r, specs, i);
        struct nuc_span value = nuc_fb_bytes(&p->r, spec, 1);
        json_t *item = nuc_put_object(p->cx, list, NULL);
        put_string(p, item, "key", spec, 0);
        spend(p, value.size);
        nuc_put_bytes_text(p->cx, item, "value", (const char *)value.data, value.size);
    }
    check(p, "a compile spec is malformed");
}

static void put_borders(struct program_json *p, json_t *out, const char *key, const struct nuc_payload_io *io,
                        uint8_t count)
{
    json_t *list = nuc_put_array(p->cx, out, key);

    for (uint8_t i = 0; i < count; i++) {
        json_t *item = nuc_put_object(p->cx, list, NULL);
        nuc_put_int(p->cx, item, "argument", io[i].map);
        nuc_put_bool(p->cx, item, "channels_last", io[i].format == 1);
    }
}

static void put_payload(struct program_json *p, json_t *out, struct nuc_span bytes)
{
    struct nuc_payload payload = nuc_payload_parse(p->cx, p->file, bytes);
    struct nuc_payload_sizes sizes = nuc_payload_sizes_of(&payload);

    nuc_put_int(p->cx, out, "version", payload.version);
    nuc_put_string(p->cx, out, "converter", nuc_is_microcode(payload.microcode) ? "nucleon" : "other");
    nuc_put_int(p->cx, out, "microcode_bytes", (int64_t)payload.microcode.size);
    nuc_put_int(p->cx, out, "weights_bytes", (int64_t)payload.weights.size);
    nuc_put_int(p->cx, out, "kernels_bytes", (int64_t)payload.kernels.size);
    nuc_put_int(p->cx, out, "scratch_bytes", sizes.scratch);
    nuc_put_int(p->cx, out, "profile_bytes", sizes.profile);
    nuc_put_int(p->cx, out, "debug_bytes", sizes.debug);
    nuc_put_int(p->cx, out, "prefetch_bytes", sizes.prefetch);
    put_borders(p, out, "inputs", payload.inputs, payload.n_inputs);
    put_borders(p, out, "outputs", payload.outputs, payload.n_outputs);
    if (p->disassemble) {
        struct nuc_text text;
        nuc_text_init(&text, p->cx);
        nuc_disassemble(&text, payload.microcode);
        nuc_put_string(p->cx, out, "disassembly", nuc_text_string(&text));
    }
}

static void put_delegates(struct program_json *p, json_t *out, struct nuc_fb_table plan)
{
    struct nuc_fb_vector delegates = take_vector(p, plan, NUC_PLAN_DELEGATES, 4);
    json_t *list = nuc_put_array(p->cx, out, "delegates");

    for (uint32_t i = 0; i < delegates.count; i++) {
        struct nuc_fb_table delegate = nuc_fb_vec_table(&p->r, delegates, i);
        const char *id = nuc_fb_string(&p->r, delegate, NUC_DELEGATE_ID, NULL);
        struct nuc_span data = delegate_data(p, nuc_fb_sub(&p->r, delegate, NUC_DELEGATE_PROCESSED));
        json_t *item = nuc_put_object(p->cx, list, NULL);
        put_string(p, item, "backend", delegate, NUC_DELEGATE_ID);
        nuc_put_int(p->cx, item, "bytes", (int64_t)data.size);
        put_compile_specs(p, item, delegate);
        if (id != NULL && strcmp(id, "NeutronBackend") == 0) {
            spend(p, data.size);
            put_payload(p, nuc_put_object(p->cx, item, "payload"), data);
        }
    }
}

/* ---- the program ---- */

static void put_plan(struct program_json *p, json_t *out, struct nuc_fb_table plan)
{
    put_string(p, out, "name", plan, NUC_PLAN_NAME);
    put_list(p, out, "inputs", plan, NUC_PLAN_INPUTS, 4);
    put_list(p, out, "outputs", plan, NUC_PLAN_OUTPUTS, 4);
    put_list(p, out, "planned_memory", plan, NUC_PLAN_BUFFER_SIZES, 8);
    check(p, "the method is malformed");
    put_values(p, out, plan);
    put_instructions(p, out, plan);
    put_delegates(p, out, plan);
}

static void read_header(struct program_json *p, json_t *out)
{
    struct nuc_span header;

    if (!nuc_span_slice(p->r.bytes, NUC_PROGRAM_HEADER_AT, 24, &header) ||
        memcmp(header.data, NUC_PROGRAM_HEADER_MAGIC, 4) != 0)
        return;
    uint64_t program_size = nuc_load_u64(header.data + 8);
    p->segment_base = nuc_load_u64(header.data + 16);
    if (program_size > p->r.bytes.size)
        damaged(p, "the header promises more bytes than the file has");
    nuc_put_int(p->cx, out, "program_bytes", (int64_t)program_size);
    nuc_put_int(p->cx, out, "segments_at", (int64_t)(p->segment_base & INT64_MAX));
}

static void put_lint(struct program_json *p, struct nuc_span bytes, json_t *list)
{
    uint32_t count;
    const struct nuc_lint_finding *findings = nuc_lint_program(p->cx, p->file, bytes, &count);

    for (uint32_t i = 0; i < count; i++) {
        json_t *finding = nuc_put_object(p->cx, list, NULL);
        nuc_put_int(p->cx, finding, "instruction", findings[i].instruction);
        nuc_put_bytes_text(p->cx, finding, "what", findings[i].what, strlen(findings[i].what));
        nuc_put_bytes_text(p->cx, finding, "rule", findings[i].rule, strlen(findings[i].rule));
    }
}

void nuc_inspect_program_json(struct nuc_context *cx, const char *file, struct nuc_span bytes, bool disassemble,
                              json_t *out)
{
    struct program_json p = {
        .r = {bytes, false}, .cx = cx, .file = file, .budget = bytes.size, .disassemble = disassemble};

    read_header(&p, out);
    p.program = nuc_fb_root(&p.r, 0);
    struct nuc_fb_vector plans = take_vector(&p, p.program, NUC_PROGRAM_PLANS, 4);
    struct nuc_fb_vector segments = nuc_fb_vec(&p.r, p.program, NUC_PROGRAM_SEGMENTS, 4);
    struct nuc_fb_table constants = nuc_fb_sub(&p.r, p.program, NUC_PROGRAM_CONSTANT_SEGMENT);
    struct nuc_fb_vector offsets = nuc_fb_vec(&p.r, constants, NUC_SUBSEGMENT_OFFSETS, 8);
    check(&p, "its root table lies outside the file");
    if (plans.count == 0)
        damaged(&p, "it has no method");
    nuc_put_int(cx, out, "schema_version", nuc_fb_u32(&p.r, p.program, NUC_PROGRAM_VERSION, 0));
    nuc_put_int(cx, out, "segments", segments.count);
    nuc_put_int(cx, out, "constants", offsets.count == 0 ? 0 : offsets.count - 1);
    json_t *methods = nuc_put_array(cx, out, "methods");
    for (uint32_t i = 0; i < plans.count; i++)
        put_plan(&p, nuc_put_object(cx, methods, NULL), nuc_fb_vec_table(&p.r, plans, i));
    put_lint(&p, bytes, nuc_put_array(cx, out, "lint"));
    check(&p, "a table lies outside the file");
}
