/* The instructions of a program file with what a profile says about them: names, sources, amount of work. */
#include <string.h>

#include "base/flatbuf.h"
#include "base/program_schema.h"
#include "compiler/report/profile.h"
#include "host/text.h"
#include "nucleon/kernels.h"

struct reading {
    struct nuc_context *cx;
    const char *file;
    struct nuc_fb_reader r;
    struct nuc_fb_table program, plan, chain;
    uint64_t segment_base;
};

_Noreturn static void damaged(struct reading *in, const char *what)
{
    nuc_fail(in->cx, NUC_BAD_INPUT, "%s: the program is damaged: %s", in->file, what);
}

/* A string of the file with control characters replaced; NULL when it is absent or empty. */
static const char *read_text(struct reading *in, struct nuc_fb_table t, int id)
{
    uint32_t length = 0;
    const char *text = nuc_fb_string(&in->r, t, id, &length);

    if (text == NULL || length == 0)
        return NULL;
    char *copy = nuc_strdup(in->cx, text);
    for (char *c = copy; *c != '\0'; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c;
    return copy;
}

static const char *operator_name(struct reading *in, uint32_t index)
{
    struct nuc_fb_table op = nuc_fb_vec_table(&in->r, nuc_fb_vec(&in->r, in->plan, NUC_PLAN_OPERATORS, 4), index);
    const char *name = read_text(in, op, NUC_OPERATOR_NAME), *overload = read_text(in, op, NUC_OPERATOR_OVERLOAD);

    if (name == NULL)
        damaged(in, "an operator has no name");
    return overload == NULL ? name : nuc_format(in->cx, "%s.%s", name, overload);
}

static struct nuc_span payload_of(struct reading *in, uint32_t index)
{
    struct nuc_fb_vector delegates = nuc_fb_vec(&in->r, in->plan, NUC_PLAN_DELEGATES, 4);
    struct nuc_fb_table reference =
        nuc_fb_sub(&in->r, nuc_fb_vec_table(&in->r, delegates, index), NUC_DELEGATE_PROCESSED);
    uint32_t at = nuc_fb_u32(&in->r, reference, NUC_REFERENCE_INDEX, 0);
    struct nuc_span data = {NULL, 0};

    if (nuc_fb_u8(&in->r, reference, NUC_REFERENCE_LOCATION, 0) == 0) {
        struct nuc_fb_vector list = nuc_fb_vec(&in->r, in->program, NUC_PROGRAM_DELEGATE_DATA, 4);
        return nuc_fb_bytes(&in->r, nuc_fb_vec_table(&in->r, list, at), 0);
    }
    struct nuc_fb_table segment =
        nuc_fb_vec_table(&in->r, nuc_fb_vec(&in->r, in->program, NUC_PROGRAM_SEGMENTS, 4), at);
    uint64_t offset = nuc_fb_u64(&in->r, segment, NUC_SEGMENT_OFFSET, 0);
    if (offset > UINT64_MAX - in->segment_base ||
        !nuc_span_slice(in->r.bytes, in->segment_base + offset, nuc_fb_u64(&in->r, segment, NUC_SEGMENT_SIZE, 0),
                        &data))
        damaged(in, "a delegate's segment lies outside the file");
    return data;
}

static const char *backend_name(struct reading *in, uint32_t index)
{
    struct nuc_fb_vector delegates = nuc_fb_vec(&in->r, in->plan, NUC_PLAN_DELEGATES, 4);
    const char *id = read_text(in, nuc_fb_vec_table(&in->r, delegates, index), NUC_DELEGATE_ID);

    return id != NULL ? id : "delegate";
}

/* ---- work ---- */

/* A value of the method; absent when the index is none. */
static struct nuc_fb_table value_at(struct reading *in, int32_t index, uint8_t *kind)
{
    struct nuc_fb_vector values = nuc_fb_vec(&in->r, in->plan, NUC_PLAN_VALUES, 4);
    struct nuc_fb_table none = {0};

    *kind = 0;
    if (index < 0 || (uint32_t)index >= values.count)
        return none;
    struct nuc_fb_table value = nuc_fb_vec_table(&in->r, values, (uint32_t)index);
    *kind = nuc_fb_u8(&in->r, value, NUC_EVALUE_TYPE, 0);
    return nuc_fb_sub(&in->r, value, NUC_EVALUE_VALUE);
}

/* Elements, first and last size of tensor `index`; 0 elements for another kind of value. */
static double tensor_size(struct reading *in, int32_t index, double *first, double *last)
{
    uint8_t kind;
    struct nuc_fb_table tensor = value_at(in, index, &kind);
    double elements = 1;

    *first = *last = 1;
    if (kind != NUC_VALUE_TENSOR)
        return 0;
    struct nuc_fb_vector sizes = nuc_fb_vec(&in->r, tensor, NUC_TENSOR_SIZES, 4);
    for (uint32_t i = 0; i < sizes.count; i++) {
        *last = nuc_fb_vec_i32(&in->r, sizes, i);
        *first = i == 0 ? *last : *first;
        elements *= *last;
    }
    return elements;
}

/* Product of a list of ints, whose entries are values of their own: a pooling window. */
static double product_of_ints(struct reading *in, int32_t index)
{
    uint8_t kind;
    struct nuc_fb_table list = value_at(in, index, &kind);
    double product = 1;

    if (kind != NUC_VALUE_INTS)
        return 1;
    struct nuc_fb_vector items = nuc_fb_vec(&in->r, list, 0, 8);
    for (uint32_t i = 0; i < items.count; i++) {
        struct nuc_fb_table item = value_at(in, (int32_t)nuc_fb_vec_i64(&in->r, items, i), &kind);
        product *= kind == NUC_VALUE_INT ? (double)nuc_fb_i64(&in->r, item, 0, 1) : 1;
    }
    return product;
}

static bool is_named(const char *name, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strstr(name, parts[i]) != NULL)
            return true;
    }
    return false;
}

#define IS_NAMED(name, parts) is_named(name, parts, sizeof parts / sizeof parts[0])

/* Largest tensor among the arguments, and multiply-accumulates of convolutions and products of matrices. */
static void measure(struct reading *in, struct nuc_fb_vector args, struct nuc_profile_instruction *out)
{
    static const char *const products[] = {"::mm", "::bmm", "::addmm", "linear", "matmul"};
    double first, last, result = 0;

    for (uint32_t i = 0; i < args.count; i++) {
        double size = tensor_size(in, nuc_fb_vec_i32(&in->r, args, i), &first, &last);
        out->values = size > out->values ? size : out->values;
        result = size > 0 ? size : result; /* out arguments come last */
    }
    if (args.count < 3)
        return;
    if (strstr(out->name, "conv") != NULL) {
        double weight = tensor_size(in, nuc_fb_vec_i32(&in->r, args, 1), &first, &last);
        double channels = strstr(out->name, "depthwise") != NULL ? last : first;
        out->macs = channels > 0 ? result * weight / channels : -1;
    } else if (IS_NAMED(out->name, products)) {
        bool bias_first = strstr(out->name, "addmm") != NULL;
        tensor_size(in, nuc_fb_vec_i32(&in->r, args, bias_first ? 1 : 0), &first, &last);
        out->macs = result * last;
    } else if (strstr(out->name, "pool2d") != NULL) {
        out->values = result * product_of_ints(in, nuc_fb_vec_i32(&in->r, args, 1));
    }
}

uint64_t nuc_profile_cpu_cycles(const struct nuc_target *target, const struct nuc_profile_instruction *in)
{
    static const char *const functions[] = {"::exp", "::log", "sqrt", "sigmoid", "tanh", "gelu"};
    const struct nuc_costs *c = &target->costs;
    double each = strstr(in->name, "softmax") != NULL ? c->cpu_softmax
                  : IS_NAMED(in->name, functions)     ? c->cpu_function
                                                      : c->cpu_element;
    double cycles = c->cpu_operator + (in->macs >= 0 ? in->macs * c->cpu_mac : in->values * each);

    return cycles < 1e18 ? (uint64_t)cycles : (uint64_t)1e18;
}

/* ---- instructions ---- */

static void read_source(struct reading *in, uint32_t index, struct nuc_profile_instruction *out)
{
    struct nuc_fb_vector traces = nuc_fb_vec(&in->r, in->chain, NUC_CHAIN_STACK_TRACES, 4);

    if (index >= traces.count)
        return;
    struct nuc_fb_vector frames = nuc_fb_vec(&in->r, nuc_fb_vec_table(&in->r, traces, index), 0, 4);
    if (frames.count == 0)
        return;
    struct nuc_fb_table frame = nuc_fb_vec_table(&in->r, frames, frames.count - 1);
    const char *file = read_text(in, frame, NUC_FRAME_FILE);
    out->node = read_text(in, frame, NUC_FRAME_NAME);
    if (file != NULL)
        out->source = nuc_format(in->cx, "%s:%d", file, nuc_fb_i32(&in->r, frame, NUC_FRAME_LINE, 0));
}

static void read_instruction(struct reading *in, struct nuc_fb_table instruction, uint32_t index,
                             struct nuc_profile_instruction *out)
{
    uint8_t kind = nuc_fb_u8(&in->r, instruction, NUC_INSTRUCTION_TYPE, 0);
    struct nuc_fb_table call = nuc_fb_sub(&in->r, instruction, NUC_INSTRUCTION_ARGS);
    uint32_t what = nuc_fb_u32(&in->r, call, NUC_CALL_INDEX, 0);

    *out = (struct nuc_profile_instruction){
        .kernel = kind == NUC_INSTRUCTION_KERNEL, .delegate = kind == NUC_INSTRUCTION_DELEGATE, .macs = -1};
    if (out->kernel) {
        out->name = operator_name(in, what);
        measure(in, nuc_fb_vec(&in->r, call, NUC_CALL_ARGS, 4), out);
    } else if (out->delegate) {
        out->name = backend_name(in, what);
        out->payload = payload_of(in, what);
    }
    read_source(in, index, out);
    if (in->r.bad)
        damaged(in, "an instruction or a value lies outside the file");
}

struct nuc_profile_program nuc_profile_read_program(struct nuc_context *cx, const char *file, struct nuc_span bytes)
{
    struct reading in = {.cx = cx, .file = file, .r = {bytes, false}};
    struct nuc_span header;

    if (nuc_span_slice(bytes, NUC_PROGRAM_HEADER_AT, 24, &header) &&
        memcmp(header.data, NUC_PROGRAM_HEADER_MAGIC, 4) == 0)
        in.segment_base = nuc_load_u64(header.data + 16);
    in.program = nuc_fb_root(&in.r, 0);
    in.plan = nuc_fb_vec_table(&in.r, nuc_fb_vec(&in.r, in.program, NUC_PROGRAM_PLANS, 4), 0);
    in.chain = nuc_fb_vec_table(&in.r, nuc_fb_vec(&in.r, in.plan, NUC_PLAN_CHAINS, 4), 0);
    struct nuc_fb_vector list = nuc_fb_vec(&in.r, in.chain, NUC_CHAIN_INSTRUCTIONS, 4);
    if (in.r.bad)
        damaged(&in, "its method lies outside the file");
    struct nuc_profile_program p = {list.count, nuc_alloc_array(cx, list.count, sizeof *p.instructions)};
    for (uint32_t i = 0; i < list.count; i++)
        read_instruction(&in, nuc_fb_vec_table(&in.r, list, i), i, &p.instructions[i]);
    return p;
}
