#include "tools/codegen/codegen.h"

#include <string.h>

#include "host/file.h"
#include "tools/codegen/codegen_program.h"

/* ---- header ---- */

/* ", layers.0/add, train.py:23": what an instruction is of, where the program says it, as a comment takes it. */
static const char *place_of(struct nuc_context *cx, const struct nuc_view_frame *frame)
{
    const struct nuc_view_list label = frame->context.count > 0 ? frame->context : frame->name;
    struct nuc_text text = {.cx = cx};

    if (label.count == 0)
        return "";
    nuc_text_addf(&text, ", %s", nuc_view_text(cx, label));
    if (frame->file.count > 0)
        nuc_text_addf(&text, ", %s:%d", nuc_base_name(nuc_view_text(cx, frame->file)), (int)frame->line);
    char *shown = nuc_strdup(cx, nuc_text_string(&text));
    for (char *c = shown; *c != '\0'; c++)
        *c = nuc_codegen_is_name_part(*c) || strchr(" .:,/+()[]-", *c) != NULL ? *c : '_';
    return shown;
}

/* What the model calls it, as far as that can stand in a comment. */
static const char *name_of(const struct nuc_codegen *g, bool input, uint32_t i)
{
    const struct nuc_metadata *metadata = g->metadata;
    const char *name = NULL;

    if (metadata != NULL && input && i < metadata->n_inputs)
        name = metadata->inputs[i].name;
    if (metadata != NULL && !input && i < metadata->n_outputs)
        name = metadata->outputs[i].name;
    for (const char *p = name; p != NULL && *p != '\0'; p++) {
        if (!nuc_codegen_is_name_part(*p) && strchr(".:-", *p) == NULL)
            return "";
    }
    return name == NULL ? "" : nuc_format(g->cx, ", '%s'", name);
}

static void add_boundary(const struct nuc_codegen *g, struct nuc_text *out, const char *kind, uint32_t i,
                         uint32_t value)
{
    const struct nuc_tensor *t = &g->values[value].u.tensor;
    bool input = kind[0] == 'i';

    if (g->values[value].kind != NUC_VALUE_TENSOR)
        nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: has an input or output that is not a tensor: run it with the runtime",
                 g->file);
    nuc_text_addf(out, "/* %s %u%s: %s [", kind, i, name_of(g, input, i), nuc_dtype_name((enum nuc_dtype)t->dtype));
    for (uint32_t d = 0; d < t->rank; d++)
        nuc_text_addf(out, "%s%d", d == 0 ? "" : ", ", (int)t->sizes[d]);
    nuc_text_addf(out, "], outermost to innermost in memory: dimensions");
    for (uint32_t d = 0; d < t->rank; d++)
        nuc_text_addf(out, " %u", t->dim_order[d]);
    nuc_text_addf(out, " */\n");
    nuc_codegen_facts(g, out, input, i, t);
    nuc_text_addf(out, "%s *%s_%s%u(void);\n\n", input ? "void" : "const void", g->name, kind, i);
}

static const char *header(const struct nuc_codegen *g)
{
    const struct nuc_view_method *m = g->method;
    struct nuc_text out = {.cx = g->cx};
    size_t planned = 0;

    for (size_t i = 0; i < g->sizes.n_planned; i++)
        planned += g->sizes.planned[i];
    nuc_text_addf(&out,
                  "/* Made by nucleon codegen. In static memory, for one thread at a time. */\n"
                  "#ifndef %1$s_PROGRAM_H\n#define %1$s_PROGRAM_H\n\n%4$s#include \"nucleon/kernels.h\"\n\n"
                  "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
                  "#define %1$s_PLANNED_BYTES %2$zu\n#define %1$s_TEMPORARY_BYTES %3$zu\n\n",
                  g->upper, planned, g->sizes.temporary,
                  nuc_format(g->cx, "%s%s", g->is_pushed ? "#include <stdbool.h>\n\n" : "",
                             g->decision != NULL ? "#include \"nucleon/decision.h\"\n" : ""));
    for (uint32_t i = 0; i < m->inputs.count; i++)
        add_boundary(g, &out, "input", i, (uint32_t)nuc_view_int(m->inputs, i));
    for (uint32_t i = 0; i < m->outputs.count; i++)
        add_boundary(g, &out, "output", i, (uint32_t)nuc_view_int(m->outputs, i));
    nuc_text_addf(&out,
                  "/* Parts that run on the NPU: with any of them NUC_NPU_START() of nucleon/runtime.h first. */\n"
                  "#define %1$s_DELEGATES %2$zu\n\n"
                  "/* Prepares these; once. `detail` may be NULL. */\n"
                  "enum nuc_status %3$s_load(struct nuc_detail *detail);\n\n",
                  g->upper, g->n_delegates, g->name);
    nuc_text_addf(
        &out,
        "/*\n * One inference: inputs are written where the functions above say before each call, since their "
        "memory is\n * reused; outputs are valid until the next. `detail` may be NULL.\n */\n"
        "enum nuc_status %s_run(struct nuc_detail *detail);\n\n",
        g->name);
    if (g->n_states > 0)
        nuc_text_addf(
            &out,
            "/* States, which keep what a call of %1$s_run() leaves in them for the next one. */\n"
            "#define %2$s_STATES %3$zu\n\n"
            "/* The next call begins with their initial values, as the first one does after %1$s_load(). */\n"
            "void %1$s_reset(void);\n\n"
            "/*\n * The content of the states: saved after a call of %1$s_run() and restored before another one, it "
            "goes on there.\n * Instances of the program have a struct each, and share weights and buffers.%5$s\n */\n"
            "struct %1$s_states {\n    uint8_t bytes[%4$zu];\n};\n"
            "void %1$s_save(struct %1$s_states *to);\n"
            "void %1$s_restore(const struct %1$s_states *from);\n\n",
            g->name, g->upper, g->n_states, g->states_bytes,
            g->is_pushed ? " Samples that were pushed and not\n * run are no part of it, nor are decisions." : "");
    nuc_codegen_decision_header(g, &out);
    nuc_text_addf(&out, "#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return nuc_text_string(&out);
}

/* ---- source ---- */

void nuc_codegen_bank(struct nuc_text *out, const char *upper, const char *bank)
{
    if (bank != NULL)
        nuc_text_addf(out,
                      "/* What lies in bank %1$s: a linker script places the section in its region %1$s, "
                      "ahead of .bss. */\n"
                      "#ifndef %2$s_IN_%3$s\n#define %2$s_IN_%3$s __attribute__((section(\".bss.%1$s\")))\n#endif\n\n",
                      bank, upper, nuc_codegen_capitals(out->cx, bank));
}

/* The bank that the program names for it; NULL: none. Weights in what is no bank, as flash is, need no section. */
static const char *bank_of(const struct nuc_codegen *g, enum nuc_memory_holds holds, size_t index)
{
    const struct nuc_metadata *m = g->metadata;
    const char *name = nuc_metadata_memory(m, holds, index);

    for (size_t i = 0; name != NULL && i < m->n_memories; i++) {
        if (m->memories[i].holds == NUC_HOLDS_PLANNED && strcmp(m->memories[i].name, name) == 0)
            return name;
    }
    return NULL;
}

/* A buffer of its own, or one of the application's that is defined by `outer` in capitals. */
static void add_buffer(const struct nuc_codegen *g, struct nuc_text *out, const char *name, const char *outer,
                       const char *bank, size_t bytes)
{
    const char *place = bank == NULL ? "ARENA" : nuc_format(g->cx, "IN_%s", nuc_codegen_capitals(g->cx, bank));

    nuc_text_addf(out,
                  "#ifdef %1$s_%2$s\n#define %3$s %1$s_%2$s\n#else\n"
                  "static %1$s_%4$s _Alignas(16) uint8_t %3$s[%5$zu];\n#endif\n",
                  g->upper, nuc_codegen_capitals(g->cx, outer), name, place, bytes);
}

static void add_delegates(const struct nuc_codegen *g, struct nuc_text *out)
{
    if (g->n_delegates == 0)
        return;
    nuc_text_addf(
        out,
        "/* Of a delegate, the driver's context included: %1$s_load() says when another driver needs more. */\n"
        "#ifndef %2$s_STATE_BYTES\n#define %2$s_STATE_BYTES %3$zu\n#endif\n",
        g->name, g->upper, g->state_bytes);
    for (size_t i = 0; i < g->n_delegates; i++)
        nuc_text_addf(out,
                      "extern const uint8_t %1$s_payload%2$zu[%3$zu];\n"
                      "static _Alignas(16) uint8_t state%2$zu[%4$s_STATE_BYTES];\n",
                      g->name, i, nuc_codegen_payload(g, i).size, g->upper);
    nuc_text_addf(out,
                  "\nstatic const struct {\n    const uint8_t *payload;\n    size_t size;\n    void *state;\n"
                  "    size_t state_size;\n    uint8_t *scratch; /* NULL: temporary memory */\n} delegates[] = {\n");
    for (size_t i = 0; i < g->n_delegates; i++) {
        /* The program plans it in its first memory, or not at all. */
        const char *scratch = g->scratches[i] == NULL ? "NULL" : nuc_format(g->cx, "memory0 + %s", g->scratches[i]);
        nuc_text_addf(out, "    {%1$s_payload%2$zu, sizeof %1$s_payload%2$zu, state%2$zu, sizeof state%2$zu, %3$s},\n",
                      g->name, i, scratch);
    }
    nuc_text_addf(out, "};\n\n");
}

static void add_load(struct nuc_codegen *g, struct nuc_text *out)
{
    const char *begin = nuc_format(g->cx, "%s%s", g->decision != NULL ? "    begin_decisions();\n" : "",
                                   g->is_pushed ? "    n_pushed = 0;\n" : "");
    const char *reset = g->n_states > 0 ? nuc_format(g->cx, "    %s_reset();\n", g->name) : begin;

    if (g->n_states > 0)
        nuc_text_addf(out,
                      "void %1$s_reset(void)\n{\n%2$s%5$s}\n\nvoid %1$s_save(struct %1$s_states *to)\n{\n%3$s}\n\n"
                      "void %1$s_restore(const struct %1$s_states *from)\n{\n%4$s}\n\n",
                      g->name, nuc_text_string(&g->resets), nuc_text_string(&g->saves), nuc_text_string(&g->restores),
                      begin);
    if (g->n_delegates == 0) {
        nuc_text_addf(out,
                      "enum nuc_status %s_load(struct nuc_detail *detail)\n{\n"
                      "    if (detail != NULL)\n"
                      "        *detail = (struct nuc_detail){.instruction = -1, .value = -1};\n"
                      "%s    return NUC_OK;\n}\n\n",
                      g->name, reset);
        return;
    }
    nuc_text_addf(
        out,
        "enum nuc_status %s_load(struct nuc_detail *detail)\n{\n"
        "    struct nuc_detail unused;\n    enum nuc_status status = NUC_OK;\n\n"
        "    detail = detail != NULL ? detail : &unused;\n"
        "    *detail = (struct nuc_detail){.instruction = -1, .value = -1, .where = NUC_NPU_BACKEND.id};\n"
        "%s    for (size_t i = 0; i < sizeof delegates / sizeof delegates[0] && status == NUC_OK; i++) {\n"
        "        struct nuc_backend_sizes sizes_of;\n"
        "        status = NUC_NPU_BACKEND.sizes(delegates[i].payload, delegates[i].size, &sizes_of, detail);\n"
        "        if (status == NUC_OK && sizes_of.state > delegates[i].state_size)\n"
        "            status = NUC_NO_MEMORY;\n"
        "        if (status == NUC_OK)\n"
        "            status = NUC_NPU_BACKEND.load(delegates[i].state, delegates[i].payload, delegates[i].size, "
        "detail);\n    }\n    return status;\n}\n\n",
        g->name, reset);
}

static void add_args(const struct nuc_codegen *g, struct nuc_text *out, uint32_t index, struct nuc_view_list args)
{
    nuc_text_addf(out, "static struct nuc_value *const args%u[] = {", index);
    for (uint32_t i = 0; i < args.count; i++)
        nuc_text_addf(out, "%sV(%u)", i == 0 ? "" : i % 14 == 0 ? ",\n    " : ", ", nuc_codegen_place(g, args, i));
    nuc_text_addf(out, "%s};\n", args.count == 0 ? "NULL" : "");
}

static bool has_moves(const struct nuc_codegen *g)
{
    for (uint32_t i = 0; i < g->n_instructions; i++) {
        if (g->instructions[i].kind == NUC_INSTRUCTION_MOVE)
            return true;
    }
    return false;
}

static void add_steps(struct nuc_codegen *g, struct nuc_text *out)
{
    nuc_text_addf(out, "/* Kernels do not write the values of their arguments, only what tensors point to. */\n"
                       "#define V(i) ((struct nuc_value *)&values[i])\n\n");
    for (uint32_t i = 0; i < g->n_instructions; i++) {
        uint8_t kind = g->instructions[i].kind;
        if (kind == NUC_INSTRUCTION_KERNEL || kind == NUC_INSTRUCTION_DELEGATE)
            add_args(g, out, i, g->instructions[i].args);
    }
    for (uint32_t i = 0; i < g->n_instructions; i++) {
        const struct nuc_view_instruction *in = &g->instructions[i];
        if (in->kind != NUC_INSTRUCTION_MOVE)
            continue;
        nuc_text_addf(out, "static struct nuc_value *const args%u[] = {V(%u), V(%u)};\n", i, g->number_of[in->words[0]],
                      g->number_of[in->words[1]]);
    }
    if (has_moves(g))
        nuc_text_addf(out,
                      "\nstatic enum nuc_status move(struct nuc_kernel_context *cx, struct nuc_value *const *args)\n"
                      "{\n    (void)cx;\n    memmove(args[1]->u.tensor.data, args[0]->u.tensor.data, "
                      "args[1]->u.tensor.bytes);\n    return NUC_OK;\n}\n\n");
    nuc_text_addf(out, "\nstatic const struct {\n    nuc_kernel_fn run; /* NULL: a delegate */\n"
                       "    struct nuc_value *const *args;\n    uint16_t n_args, delegate;\n} steps[] = {\n");
    for (uint32_t i = 0; i < g->n_instructions; i++) {
        const struct nuc_view_instruction *in = &g->instructions[i];
        if (in->kind == NUC_INSTRUCTION_KERNEL) {
            const char *name = nuc_view_operator_name(g->cx, &g->method->operators[in->index]);
            const struct nuc_codegen_row *kernel = nuc_codegen_row(name);
            if (kernel == NULL)
                nuc_fail(g->cx, NUC_BAD_INPUT, "%s: calls operator '%s', which the runtime does not have", g->file,
                         name);
            nuc_text_addf(out, "    {%s, args%u, %u, 0}, /* %s%s */\n", kernel->function, i, in->args.count,
                          kernel->name, place_of(g->cx, &in->frame));
        } else if (in->kind == NUC_INSTRUCTION_DELEGATE) {
            nuc_text_addf(out, "    {NULL, args%u, %u, %zu}, /* NPU%s */\n", i, in->args.count,
                          nuc_codegen_delegate(g, in->index), place_of(g->cx, &in->frame));
        } else if (in->kind == NUC_INSTRUCTION_MOVE) {
            nuc_text_addf(out, "    {move, args%u, 2, 0},\n", i);
        }
    }
    nuc_text_addf(out, "    {NULL, NULL, 0, 0},\n};\n\n");
}

static void add_run(const struct nuc_codegen *g, struct nuc_text *out)
{
    nuc_text_addf(out,
                  "#ifdef %1$s_TRACE /* a function that sees what each call has left, for nucleon/selftest.h */\n"
                  "void %1$s_TRACE(const struct nuc_value *all, struct nuc_value *const *args, size_t n_args);\n"
                  "#endif\n\n",
                  g->upper);
    nuc_text_addf(out,
                  "enum nuc_status %s_run(struct nuc_detail *detail)\n{\n    struct nuc_detail unused;\n\n"
                  "    detail = detail != NULL ? detail : &unused;\n"
                  "    *detail = (struct nuc_detail){.instruction = -1, .value = -1};\n%s"
                  "    for (int32_t i = 0; steps[i].args != NULL; i++) {\n"
                  "        struct nuc_kernel_context cx = {.values = values,\n"
                  "                                        .n_values = sizeof values / sizeof values[0],\n",
                  g->name, g->decision != NULL ? "    has_run = has_decided = false;\n" : "");
    if (g->sizes.temporary > 0)
        nuc_text_addf(out, "                                        .temporary = call_memory,\n"
                           "                                        .temporary_size = sizeof call_memory,\n");
    if (g->n_delegates > 0)
        nuc_text_addf(out, "                                        .scratch = steps[i].run != NULL ? NULL : "
                           "delegates[steps[i].delegate].scratch,\n");
    nuc_text_addf(out, "                                        .detail = detail};\n");
    if (g->n_delegates > 0)
        nuc_text_addf(out, "        enum nuc_status status =\n            steps[i].run != NULL\n"
                           "                ? steps[i].run(&cx, steps[i].args)\n"
                           "                : NUC_NPU_BACKEND.run(delegates[steps[i].delegate].state, &cx, "
                           "steps[i].args,\n                                          steps[i].n_args);\n");
    else
        nuc_text_addf(out, "        enum nuc_status status = steps[i].run(&cx, steps[i].args);\n");
    nuc_text_addf(out,
                  "        if (status != NUC_OK) {\n            detail->instruction = i;\n            return status;\n"
                  "        }\n#ifdef %s_TRACE\n"
                  "%s        %s_TRACE(values, steps[i].args, steps[i].n_args);\n#endif\n"
                  "    }\n%s    return NUC_OK;\n}\n",
                  g->upper, has_moves(g) ? "        if (steps[i].run != move)\n    " : "", g->upper,
                  g->decision != NULL ? "    has_run = true;\n" : "");
}

static void add_addresses(const struct nuc_codegen *g, struct nuc_text *out, const char *kind,
                          struct nuc_view_list list)
{
    for (uint32_t i = 0; i < list.count; i++)
        nuc_text_addf(out, "%s *%s_%s%u(void)\n{\n    return values[%u].u.tensor.data;\n}\n\n",
                      kind[0] == 'i' ? "void" : "const void", g->name, kind, i, nuc_codegen_place(g, list, i));
}

static const char *source(struct nuc_codegen *g, const char *values)
{
    struct nuc_text out = {.cx = g->cx};

    nuc_text_addf(&out, "/* Made by nucleon codegen. */\n#include \"%s.h\"\n\n#include <math.h>\n#include <string.h>\n",
                  g->name);
    nuc_text_addf(&out, "%s\n#pragma GCC diagnostic ignored \"-Wcast-qual\"\n\n",
                  g->n_delegates > 0 ? "\n#include \"nucleon/runtime.h\"\n" : "");
    const struct nuc_metadata *m = g->metadata;
    nuc_text_addf(&out,
                  "#ifdef %1$s_PLAN /* memory that programs share: nucleon plan */\n#include %1$s_PLAN\n#endif\n\n",
                  g->upper);
    nuc_text_addf(&out,
                  "/* Where the buffers lie: __attribute__((section(\"...\"))) or nothing. The NPU reads and writes "
                  "both. */\n#ifndef %1$s_ARENA\n#define %1$s_ARENA\n#endif\n\n",
                  g->upper);
    for (size_t i = 0; m != NULL && i < m->n_memories && i < NUC_MAX_MEMORIES; i++) {
        bool again = m->memories[i].holds != NUC_HOLDS_PLANNED;
        for (size_t k = 0; k < i; k++)
            again = again || strcmp(m->memories[i].name, m->memories[k].name) == 0;
        nuc_codegen_bank(&out, g->upper, again ? NULL : m->memories[i].name);
    }
    for (size_t i = 0; i < g->sizes.n_planned; i++) {
        if ((g->memories >> i & 1) == 0)
            continue;
        const char *name = nuc_format(g->cx, "memory%zu", i);
        add_buffer(g, &out, name, name, bank_of(g, NUC_HOLDS_PLANNED, i),
                   g->sizes.planned[i] > 0 ? g->sizes.planned[i] : 1);
    }
    if (g->sizes.temporary > 0)
        add_buffer(g, &out, "call_memory", "temporary", bank_of(g, NUC_HOLDS_TEMPORARY, 0), g->sizes.temporary);
    add_delegates(g, &out);
    nuc_text_addf(&out, "%s", values);
    add_steps(g, &out);
    add_addresses(g, &out, "input", g->method->inputs);
    add_addresses(g, &out, "output", g->method->outputs);
    nuc_codegen_decision_state(g, &out);
    add_load(g, &out);
    add_run(g, &out);
    nuc_codegen_decision_source(g, &out);
    return nuc_text_string(&out);
}

/* ---- data ---- */

static void add_array(struct nuc_text *out, const char *name, size_t index, const char *kind, const char *place,
                      struct nuc_span bytes)
{
    static const uint8_t zero = 0;
    bool empty = bytes.size == 0;

    nuc_text_addf(out, "extern const uint8_t %s_%s%zu[%zu];\n", name, kind, index, empty ? 1 : bytes.size);
    nuc_text_addf(out, "%s_Alignas(16) const uint8_t %s_%s%zu[%zu] = {\n", place, name, kind, index,
                  empty ? 1 : bytes.size);
    nuc_codegen_bytes(out, empty ? &zero : bytes.data, empty ? 1 : bytes.size);
    nuc_text_addf(out, "};\n\n");
}

static const char *data(const struct nuc_codegen *g)
{
    const char *place = nuc_format(g->cx, "%s_WEIGHTS ", g->upper), *bank = bank_of(g, NUC_HOLDS_WEIGHTS, 0);
    struct nuc_text out = {.cx = g->cx};

    nuc_text_addf(&out,
                  "/* Made by nucleon codegen: constants, and what the NPU executes. */\n#include <stdint.h>\n\n");
    nuc_text_addf(
        &out,
        "/* Where the NPU's parts lie. One that cannot read flash, as that of an i.MX RT700, needs a section "
        "that start-up\n * code copies to SRAM, unless they were compiled with --fetch-constants-to-sram. */\n"
        "#ifndef %1$s_WEIGHTS\n#define %1$s_WEIGHTS%2$s\n#endif\n\n",
        g->upper, bank == NULL ? "" : nuc_format(g->cx, " __attribute__((section(\".data.%s\")))", bank));
    /* Weights of a program for the CPU are where a bank is named for them. */
    const char *of_cpu = bank != NULL && g->n_delegates == 0 ? place : "";
    for (size_t i = 0; i < g->n_blocks; i++)
        add_array(&out, g->name, i, "constant", of_cpu, (struct nuc_span){g->blocks[i].data, g->blocks[i].size});
    for (size_t i = 0; i < g->n_delegates; i++)
        add_array(&out, g->name, i, "payload", place, nuc_codegen_payload(g, i));
    return nuc_text_string(&out);
}

struct nuc_codegen_files nuc_generate_code(struct nuc_context *cx, const char *file, struct nuc_span image,
                                           const char *name)
{
    struct nuc_codegen g = {
        .cx = cx, .file = file, .name = name, .upper = nuc_codegen_capitals(cx, name), .image = image};
    struct nuc_codegen_files files;
    struct nuc_text values = {.cx = cx};

    nuc_codegen_check_name(cx, name);
    nuc_codegen_load(&g);
    nuc_codegen_values(&g, &values);
    g.is_pushed = nuc_codegen_is_pushed(&g);
    files.header = header(&g);
    files.source = source(&g, nuc_text_string(&values));
    files.data = data(&g);
    return files;
}
