/*
 * A program file as text: header, values, instructions, delegates. Field numbers are those of ExecuTorch's
 * schema/program.fbs; the file is read with the bounded reader only, so that a damaged one is described as far as it
 * can be and then refused.
 */
#include <string.h>

#include "base/flatbuf.h"
#include "base/program_schema.h"
#include "compiler/report/inspect.h"
#include "compiler/report/lint_program.h"
#include "nucleon/kernels.h"

#define N_VALUE_KINDS (NUC_VALUE_OPTIONAL_TENSORS + 1)

/* How much of a list is printed. */
#define MAX_SHOWN 64u

struct inspection {
    struct nuc_fb_reader r;
    struct nuc_text *out;
    const char *file;
    struct nuc_fb_table program;
    uint64_t segment_base;
    bool disassemble;
};

_Noreturn static void damaged(struct inspection *in, const char *what)
{
    nuc_fail(in->out->cx, NUC_BAD_INPUT, "%s: the program is damaged: %s", in->file, what);
}

static void check(struct inspection *in, const char *what)
{
    if (in->r.bad)
        damaged(in, what);
}

/* File text may hold anything: control characters are not passed on. */
static void add_text(struct inspection *in, const char *text, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        char c = text[i];
        bool plain = c >= ' ' && c < 127;
        nuc_text_addf(in->out, plain ? "%c" : "\\x%02x", plain ? c : (unsigned char)c);
    }
}

static void add_string(struct inspection *in, struct nuc_fb_table t, int id)
{
    uint32_t length = 0;
    const char *text = nuc_fb_string(&in->r, t, id, &length);

    if (text != NULL)
        add_text(in, text, length);
}

static void add_ints(struct inspection *in, struct nuc_fb_vector v, uint32_t size)
{
    nuc_text_addf(in->out, "[");
    for (uint32_t i = 0; i < v.count && i < MAX_SHOWN; i++) {
        long long value = size == 8   ? (long long)nuc_fb_vec_i64(&in->r, v, i)
                          : size == 4 ? (long long)nuc_fb_vec_i32(&in->r, v, i)
                                      : (long long)nuc_fb_vec_u8(&in->r, v, i);
        nuc_text_addf(in->out, "%s%lld", i == 0 ? "" : ", ", value);
    }
    nuc_text_addf(in->out, "%s]", v.count > MAX_SHOWN ? ", ..." : "");
}

static void add_list(struct inspection *in, struct nuc_fb_table t, int id, uint32_t size)
{
    add_ints(in, nuc_fb_vec(&in->r, t, id, size), size);
}

/* ScalarType numbers of the schema. */
static const char *scalar_type_name(int8_t type)
{
    static const char *const names[] = {
        [0] = "uint8",   [1] = "int8",    [2] = "int16", [3] = "int32",     [4] = "int64",   [5] = "float16",
        [6] = "float32", [7] = "float64", [11] = "bool", [15] = "bfloat16", [27] = "uint16",
    };
    bool known = type >= 0 && (size_t)type < sizeof names / sizeof names[0] && names[type] != NULL;

    return known ? names[type] : "other type";
}

static void add_tensor(struct inspection *in, struct nuc_fb_table t)
{
    struct nuc_fb_table allocation = nuc_fb_sub(&in->r, t, NUC_TENSOR_ALLOCATION);
    uint32_t data = nuc_fb_u32(&in->r, t, NUC_TENSOR_DATA_BUFFER, 0);

    nuc_text_addf(in->out, "%s", scalar_type_name(nuc_fb_i8(&in->r, t, NUC_TENSOR_TYPE, 0)));
    add_list(in, t, NUC_TENSOR_SIZES, 4);
    nuc_text_addf(in->out, " dim order ");
    add_list(in, t, NUC_TENSOR_DIM_ORDER, 1);
    if (allocation.at != 0) {
        uint64_t offset = nuc_fb_u32(&in->r, allocation, 1, 0) | (uint64_t)nuc_fb_u32(&in->r, allocation, 2, 0) << 32;
        nuc_text_addf(in->out, ", memory %u at %llu", nuc_fb_u32(&in->r, allocation, 0, 0), (unsigned long long)offset);
    } else {
        nuc_text_addf(in->out, data != 0 ? ", constant %u" : ", memory of the caller", data);
    }
}

static void add_null(struct inspection *in, struct nuc_fb_table t)
{
    (void)t;
    nuc_text_addf(in->out, "None");
}

static void add_int(struct inspection *in, struct nuc_fb_table t)
{
    nuc_text_addf(in->out, "int %lld", (long long)nuc_fb_i64(&in->r, t, 0, 0));
}

static void add_bool(struct inspection *in, struct nuc_fb_table t)
{
    nuc_text_addf(in->out, "bool %s", nuc_fb_bool(&in->r, t, 0, false) ? "true" : "false");
}

static void add_double(struct inspection *in, struct nuc_fb_table t)
{
    nuc_text_addf(in->out, "double %.17g", nuc_fb_f64(&in->r, t, 0, 0.0));
}

static void add_string_value(struct inspection *in, struct nuc_fb_table t)
{
    nuc_text_addf(in->out, "string '");
    add_string(in, t, 0);
    nuc_text_addf(in->out, "'");
}

static void add_int_list(struct inspection *in, struct nuc_fb_table t)
{
    nuc_text_addf(in->out, "ints in values ");
    add_list(in, t, 0, 8);
}

static void add_double_list(struct inspection *in, struct nuc_fb_table t)
{
    struct nuc_fb_vector v = nuc_fb_vec(&in->r, t, 0, 8);

    nuc_text_addf(in->out, "doubles [");
    for (uint32_t i = 0; i < v.count && i < MAX_SHOWN; i++)
        nuc_text_addf(in->out, "%s%.9g", i == 0 ? "" : ", ", nuc_fb_vec_f64(&in->r, v, i));
    nuc_text_addf(in->out, "]");
}

static void add_bool_list(struct inspection *in, struct nuc_fb_table t)
{
    nuc_text_addf(in->out, "bools ");
    add_list(in, t, 0, 1);
}

static void add_tensor_list(struct inspection *in, struct nuc_fb_table t)
{
    nuc_text_addf(in->out, "tensors in values ");
    add_list(in, t, 0, 4);
}

static void (*const value_printers[N_VALUE_KINDS])(struct inspection *in, struct nuc_fb_table t) = {
    [NUC_VALUE_NONE] = add_null,
    [NUC_VALUE_INT] = add_int,
    [NUC_VALUE_BOOL] = add_bool,
    [NUC_VALUE_DOUBLE] = add_double,
    [NUC_VALUE_TENSOR] = add_tensor,
    [NUC_VALUE_STRING] = add_string_value,
    [NUC_VALUE_INTS] = add_int_list,
    [NUC_VALUE_DOUBLES] = add_double_list,
    [NUC_VALUE_BOOLS] = add_bool_list,
    [NUC_VALUE_TENSORS] = add_tensor_list,
    [NUC_VALUE_OPTIONAL_TENSORS] = add_tensor_list,
};

static void add_values(struct inspection *in, struct nuc_fb_table plan)
{
    struct nuc_fb_vector values = nuc_fb_vec(&in->r, plan, NUC_PLAN_VALUES, 4);

    nuc_text_addf(in->out, "  values\n");
    for (uint32_t i = 0; i < values.count; i++) {
        struct nuc_fb_table value = nuc_fb_vec_table(&in->r, values, i);
        uint8_t kind = nuc_fb_u8(&in->r, value, NUC_EVALUE_TYPE, 0);
        struct nuc_fb_table content = nuc_fb_sub(&in->r, value, NUC_EVALUE_VALUE);
        check(in, "a value lies outside the file");
        nuc_text_addf(in->out, "    %%%u: ", i);
        if (kind < N_VALUE_KINDS && value_printers[kind] != NULL)
            value_printers[kind](in, content);
        else
            nuc_text_addf(in->out, "unknown kind %u", kind);
        check(in, "a value is malformed");
        nuc_text_addf(in->out, "\n");
    }
}

static void add_operator(struct inspection *in, struct nuc_fb_vector operators, uint32_t index)
{
    if (index >= operators.count) {
        nuc_text_addf(in->out, "operator %u, which does not exist", index);
        return;
    }
    struct nuc_fb_table op = nuc_fb_vec_table(&in->r, operators, index);
    uint32_t length = 0;
    const char *overload = nuc_fb_string(&in->r, op, 1, &length);
    add_string(in, op, 0);
    if (overload != NULL && length != 0) {
        nuc_text_addf(in->out, ".");
        add_text(in, overload, length);
    }
}

static void add_instruction(struct inspection *in, struct nuc_fb_table plan, struct nuc_fb_table instruction)
{
    static const char *const words[NUC_INSTRUCTION_KINDS] = {[NUC_INSTRUCTION_MOVE] = "move",
                                                             [NUC_INSTRUCTION_JUMP_FALSE] = "jump if false",
                                                             [NUC_INSTRUCTION_FREE] = "free"};
    uint8_t kind = nuc_fb_u8(&in->r, instruction, 0, 0);
    struct nuc_fb_table call = nuc_fb_sub(&in->r, instruction, 1);

    if (kind == NUC_INSTRUCTION_KERNEL) {
        add_operator(in, nuc_fb_vec(&in->r, plan, NUC_PLAN_OPERATORS, 4), nuc_fb_u32(&in->r, call, 0, 0));
        nuc_text_addf(in->out, " ");
        add_list(in, call, 1, 4);
    } else if (kind == NUC_INSTRUCTION_DELEGATE) {
        nuc_text_addf(in->out, "delegate %u ", nuc_fb_u32(&in->r, call, 0, 0));
        add_list(in, call, 1, 4);
    } else if (kind < NUC_INSTRUCTION_KINDS && words[kind] != NULL) {
        nuc_text_addf(in->out, "%s %d, %d", words[kind], nuc_fb_i32(&in->r, call, 0, 0),
                      nuc_fb_i32(&in->r, call, 1, 0));
    } else {
        nuc_text_addf(in->out, "unknown instruction %u", kind);
    }
}

static void add_instructions(struct inspection *in, struct nuc_fb_table plan)
{
    struct nuc_fb_vector chains = nuc_fb_vec(&in->r, plan, NUC_PLAN_CHAINS, 4);

    for (uint32_t k = 0; k < chains.count; k++) {
        struct nuc_fb_vector list = nuc_fb_vec(&in->r, nuc_fb_vec_table(&in->r, chains, k), 2, 4);
        nuc_text_addf(in->out, "  instructions\n");
        for (uint32_t i = 0; i < list.count; i++) {
            nuc_text_addf(in->out, "    %u: ", i);
            add_instruction(in, plan, nuc_fb_vec_table(&in->r, list, i));
            check(in, "an instruction is malformed");
            nuc_text_addf(in->out, "\n");
        }
    }
}

/* The processed bytes of a delegate, inline or in a segment. */
static struct nuc_span delegate_data(struct inspection *in, struct nuc_fb_table reference)
{
    uint8_t location = nuc_fb_u8(&in->r, reference, 0, 0);
    uint32_t index = nuc_fb_u32(&in->r, reference, 1, 0);
    struct nuc_span data = {NULL, 0};

    if (location == 0) {
        struct nuc_fb_vector list = nuc_fb_vec(&in->r, in->program, NUC_PROGRAM_DELEGATE_DATA, 4);
        data = nuc_fb_bytes(&in->r, nuc_fb_vec_table(&in->r, list, index), 0);
    } else {
        struct nuc_fb_vector list = nuc_fb_vec(&in->r, in->program, NUC_PROGRAM_SEGMENTS, 4);
        struct nuc_fb_table segment = nuc_fb_vec_table(&in->r, list, index);
        uint64_t offset = nuc_fb_u64(&in->r, segment, 0, 0), size = nuc_fb_u64(&in->r, segment, 1, 0);
        if (offset > UINT64_MAX - in->segment_base ||
            !nuc_span_slice(in->r.bytes, in->segment_base + offset, size, &data))
            damaged(in, "a delegate's segment lies outside the file");
    }
    check(in, "a delegate's data lies outside the file");
    return data;
}

static void add_compile_specs(struct inspection *in, struct nuc_fb_table delegate)
{
    struct nuc_fb_vector specs = nuc_fb_vec(&in->r, delegate, 2, 4);

    for (uint32_t i = 0; i < specs.count; i++) {
        struct nuc_fb_table spec = nuc_fb_vec_table(&in->r, specs, i);
        struct nuc_span value = nuc_fb_bytes(&in->r, spec, 1);
        nuc_text_addf(in->out, "      ");
        add_string(in, spec, 0);
        nuc_text_addf(in->out, " = '");
        add_text(in, (const char *)value.data, value.size > 256 ? 256 : (uint32_t)value.size);
        nuc_text_addf(in->out, "'\n");
    }
    check(in, "a compile spec is malformed");
}

static void add_delegates(struct inspection *in, struct nuc_fb_table plan)
{
    struct nuc_fb_vector delegates = nuc_fb_vec(&in->r, plan, NUC_PLAN_DELEGATES, 4);

    for (uint32_t i = 0; i < delegates.count; i++) {
        struct nuc_fb_table delegate = nuc_fb_vec_table(&in->r, delegates, i);
        const char *id = nuc_fb_string(&in->r, delegate, 0, NULL);
        struct nuc_span data = delegate_data(in, nuc_fb_sub(&in->r, delegate, 1));
        nuc_text_addf(in->out, "  delegate %u: ", i);
        add_string(in, delegate, 0);
        nuc_text_addf(in->out, ", %zu bytes\n", data.size);
        add_compile_specs(in, delegate);
        if (id != NULL && strcmp(id, "NeutronBackend") == 0)
            nuc_inspect_payload(in->out, in->file, data, in->disassemble);
    }
}

static void add_plan(struct inspection *in, struct nuc_fb_table plan)
{
    nuc_text_addf(in->out, "method '");
    add_string(in, plan, NUC_PLAN_NAME);
    nuc_text_addf(in->out, "'\n  inputs ");
    add_list(in, plan, NUC_PLAN_INPUTS, 4);
    nuc_text_addf(in->out, ", outputs ");
    add_list(in, plan, NUC_PLAN_OUTPUTS, 4);
    nuc_text_addf(in->out, "\n  planned memory, bytes ");
    add_list(in, plan, NUC_PLAN_BUFFER_SIZES, 8);
    nuc_text_addf(in->out, "\n");
    check(in, "the method is malformed");
    add_values(in, plan);
    add_instructions(in, plan);
    add_delegates(in, plan);
}

/* The extended header follows the file identifier: NUC_PROGRAM_HEADER_MAGIC, length, program size, segment base,
 * segment bytes. */
static void read_header(struct inspection *in)
{
    struct nuc_span header;

    if (!nuc_span_slice(in->r.bytes, NUC_PROGRAM_HEADER_AT, 24, &header) ||
        memcmp(header.data, NUC_PROGRAM_HEADER_MAGIC, 4) != 0)
        return;
    uint64_t program_size = nuc_load_u64(header.data + 8);
    in->segment_base = nuc_load_u64(header.data + 16);
    nuc_text_addf(in->out, "extended header: program %llu bytes, segments at %llu\n", (unsigned long long)program_size,
                  (unsigned long long)in->segment_base);
    if (program_size > in->r.bytes.size)
        damaged(in, "the header promises more bytes than the file has");
}

/* What ExecuTorch's runtime would make of the program. */
static void add_lint(struct inspection *in)
{
    uint32_t count;
    const struct nuc_lint_finding *findings = nuc_lint_program(in->out->cx, in->file, in->r.bytes, &count);

    if (count == 0)
        nuc_text_addf(in->out, "lint: nothing that ExecuTorch's runtime is known to refuse\n");
    for (uint32_t i = 0; i < count; i++) {
        nuc_text_addf(in->out, "lint: instruction %u, ", findings[i].instruction);
        add_text(in, findings[i].what, (uint32_t)strlen(findings[i].what));
        nuc_text_addf(in->out, ": %s\n", findings[i].rule);
    }
}

void nuc_inspect_program(struct nuc_text *out, const char *file, struct nuc_span bytes, bool disassemble)
{
    struct inspection in = {.r = {bytes, false}, .out = out, .file = file, .disassemble = disassemble};

    nuc_text_addf(out, "ExecuTorch program, %zu bytes\n", bytes.size);
    read_header(&in);
    in.program = nuc_fb_root(&in.r, 0);
    struct nuc_fb_vector plans = nuc_fb_vec(&in.r, in.program, NUC_PROGRAM_PLANS, 4);
    struct nuc_fb_vector segments = nuc_fb_vec(&in.r, in.program, NUC_PROGRAM_SEGMENTS, 4);
    struct nuc_fb_table constants = nuc_fb_sub(&in.r, in.program, NUC_PROGRAM_CONSTANT_SEGMENT);
    struct nuc_fb_vector offsets = nuc_fb_vec(&in.r, constants, 1, 8);
    check(&in, "its root table lies outside the file");
    if (plans.count == 0)
        damaged(&in, "it has no method");
    nuc_text_addf(out, "schema version %u, %u segments, %u constants\n", nuc_fb_u32(&in.r, in.program, 0, 0),
                  segments.count, offsets.count == 0 ? 0 : offsets.count - 1);
    for (uint32_t i = 0; i < plans.count; i++)
        add_plan(&in, nuc_fb_vec_table(&in.r, plans, i));
    check(&in, "a table lies outside the file");
    add_lint(&in);
}
