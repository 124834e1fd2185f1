/* Tables of operators and backends with what programs call, so that the linker takes only those kernels. */
#include <string.h>
#include <strings.h>

#include "tools/codegen/codegen_program.h"

/* ---- operators of the library ---- */

static const struct nuc_codegen_row rows[] = {
#define ROW(name, list, run) {name, #list, #run},
    NUC_KERNELS(ROW)
#undef ROW
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

const struct nuc_codegen_row *nuc_codegen_row(const char *name)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    }
    return NULL;
}

/* ---- what programs call ---- */

struct used {
    bool rows[N_ROWS];
    bool npu;
};

/* Operators that are called; delegates that are there, since loading prepares all of them. */
static void use_method(struct nuc_context *cx, const char *file, const struct nuc_view_method *m, struct used *used)
{
    for (uint32_t i = 0; i < m->n_chains; i++) {
        for (uint32_t k = 0; k < m->chains[i].n_instructions; k++) {
            const struct nuc_view_instruction *in = &m->chains[i].instructions[k];
            if (in->kind == NUC_INSTRUCTION_KERNEL) {
                const char *name = nuc_view_operator_name(cx, &m->operators[in->index]);
                const struct nuc_codegen_row *row = nuc_codegen_row(name);
                if (row == NULL)
                    nuc_fail(cx, NUC_UNSUPPORTED,
                             "%s: calls operator '%s', which the runtime does not have: 'nucleon inspect' shows where",
                             file, name);
                used->rows[row - rows] = true;
            }
        }
    }
    for (uint32_t i = 0; i < m->n_delegates; i++) {
        const struct nuc_view_delegate *d = &m->delegates[i];
        if (!nuc_view_is(d->backend, nuc_neutron_backend.id))
            nuc_fail(cx, NUC_UNSUPPORTED,
                     "%s: has a delegate for '%s', which the runtime does not have: its backend is %s", file,
                     nuc_view_text(cx, d->backend), nuc_neutron_backend.id);
        used->npu = true;
    }
}

/* ---- constants ---- */

struct constants {
    struct nuc_text text;
    size_t decisions, found, history; /* found and history: the most */
};

static void add_constants(struct nuc_context *cx, const struct nuc_program_view *const *programs, size_t i,
                          bool with_facts, struct constants *c)
{
    struct nuc_codegen g = {.cx = cx, .file = programs[i]->file, .image = programs[i]->bytes};

    nuc_codegen_open(&g);
    g.name = nuc_codegen_name(cx, g.file);
    g.upper = nuc_codegen_capitals(cx, g.name);
    bool is_taken = false;
    for (size_t k = 0; k < i; k++)
        is_taken = is_taken || strcasecmp(nuc_codegen_name(cx, programs[k]->file), g.name) == 0;
    if (with_facts && is_taken)
        nuc_warn(cx, "%s: the header has no constants of it, for another program is called %s: rename the file", g.file,
                 g.name);
    else if (with_facts) {
        /* Inputs, outputs and what is in front of them, as the header of generated C has them. */
        nuc_text_addf(&c->text, "/* ---- %s ---- */\n\n", g.name);
        for (int input = 1; input >= 0; input--) {
            const struct nuc_view_list list = input ? g.method->inputs : g.method->outputs;
            for (uint32_t k = 0; k < list.count; k++) {
                const struct nuc_value *v = &g.values[nuc_view_int(list, k)];
                if (v->kind == NUC_VALUE_TENSOR)
                    nuc_codegen_facts(&g, &c->text, input, k, &v->u.tensor);
            }
        }
        nuc_text_addf(&c->text, "\n");
        nuc_codegen_preparation(&g, &c->text);
    }
    if (g.decision == NULL)
        return;
    const size_t found = nuc_decision_found(g.decision), history = nuc_decision_history(g.decision);
    c->decisions++;
    c->found = found > c->found ? found : c->found;
    c->history = history > c->history ? history : c->history;
}

static const char *constants_of(struct nuc_context *cx, const struct nuc_program_view *const *programs, size_t count,
                                const char *name, bool with_facts)
{
    const char *upper = nuc_codegen_capitals(cx, name);
    struct constants c = {.text = {.cx = cx}};

    for (size_t i = 0; i < count; i++)
        add_constants(cx, programs, i, with_facts, &c);
    const char *decisions = nuc_format(
        cx,
        "/* Programs that carry a decision, and the most elements that one takes of found and history: "
        "nuc_program_decision(). */\n#define %1$s_DECISIONS %2$zu\n#define %1$s_FOUND %3$zu\n#define %1$s_HISTORY "
        "%4$zu\n\n",
        upper, c.decisions, c.found, c.history);
    return nuc_format(cx, "%s%s", decisions, nuc_text_string(&c.text));
}

/* ---- files ---- */

static const char *header(struct nuc_context *cx, const char *name, const char *command, const char *more)
{
    return nuc_format(
        cx,
        "/* Made by nucleon %3$s: for nuc_program_load(), what the programs it was given call and nothing else. */\n"
        "#ifndef %2$s_TABLES_H\n#define %2$s_TABLES_H\n\n#include \"nucleon/runtime.h\"\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
        "extern const struct nuc_kernel_table %1$s_kernels;\nextern const struct nuc_backend_table %1$s_backends;\n\n"
        "/* Once, before the first program is loaded: starts the NPU's driver where a program needs it. */\n"
        "enum nuc_status %1$s_start(void);\n\n%4$s#ifdef __cplusplus\n}\n#endif\n#endif\n",
        name, nuc_codegen_capitals(cx, name), command, more);
}

static void add_kernels(struct nuc_text *out, const char *name, const struct nuc_table_files *f)
{
    if (f->n_operators == 0) {
        nuc_text_addf(out, "const struct nuc_kernel_table %s_kernels = {NULL, 0};\n\n", name);
        return;
    }
    nuc_text_addf(out, "static const struct nuc_kernel_entry entries[] = {\n");
    for (size_t i = 0; i < f->n_operators; i++) {
        const struct nuc_codegen_row *row = nuc_codegen_row(f->operators[i]);
        nuc_text_addf(out, "    {\"%1$s\", nuc_accepts_%2$s, nuc_arguments_%2$s, %3$s},\n", row->name, row->list,
                      row->function);
    }
    nuc_text_addf(out, "};\n\nconst struct nuc_kernel_table %s_kernels = {entries, %zu};\n\n", name, f->n_operators);
}

static const char *source(struct nuc_context *cx, const char *name, const char *command,
                          const struct nuc_table_files *f)
{
    struct nuc_text out = {.cx = cx};

    nuc_text_addf(&out, "/* Made by nucleon %s. */\n#include \"%s.h\"\n\n", command, name);
    add_kernels(&out, name, f);
    if (f->n_backends > 0)
        nuc_text_addf(&out,
                      "static const struct nuc_backend *const backends[] = {&NUC_NPU_BACKEND};\n\n"
                      "const struct nuc_backend_table %1$s_backends = {backends, 1, &nuc_delegates};\n\n"
                      "enum nuc_status %1$s_start(void)\n{\n"
                      "    return NUC_NPU_START();\n}\n",
                      name);
    else
        nuc_text_addf(&out,
                      "const struct nuc_backend_table %1$s_backends = {NULL, 0, NULL};\n\n"
                      "enum nuc_status %1$s_start(void)\n{\n    return NUC_OK;\n}\n",
                      name);
    return nuc_text_string(&out);
}

struct nuc_table_files nuc_kernel_tables(struct nuc_context *cx, const struct nuc_program_view *const *programs,
                                         size_t count, const char *name, const char *command, const char *more)
{
    struct nuc_table_files files = {.header = NULL};
    struct used used = {.npu = false};

    nuc_codegen_check_name(cx, name);
    for (size_t i = 0; i < count; i++) {
        for (uint32_t m = 0; m < programs[i]->n_methods; m++)
            use_method(cx, programs[i]->file, &programs[i]->methods[m], &used);
    }
    const char **operators = nuc_alloc_array(cx, N_ROWS, sizeof *operators);
    for (size_t i = 0; i < N_ROWS; i++) {
        if (used.rows[i])
            operators[files.n_operators++] = rows[i].name;
    }
    files.operators = operators;
    const char **backends = nuc_alloc_array(cx, 1, sizeof *backends);
    if (used.npu)
        backends[files.n_backends++] = nuc_neutron_backend.id;
    files.backends = backends;
    const bool is_project = strcmp(command, "codegen") == 0; /* which has the header of generated C */
    files.header =
        header(cx, name, command, nuc_format(cx, "%s%s", more, constants_of(cx, programs, count, name, !is_project)));
    files.source = source(cx, name, command, &files);
    return files;
}
