/* Memory that programs share which do not run at once: each has what it keeps for itself, and the rest is one. */
#include <string.h>
#include <strings.h>

#include "tools/codegen/codegen_program.h"

/* Shared memory, of the program that needs most of it. */
struct shared {
    const char *bank; /* NULL: the program names none */
    const char *array;
    size_t bytes;
};

struct memory_plan {
    struct nuc_context *cx;
    const char *name, *upper;
    struct shared *shared;
    size_t n_shared;
    struct shared temporary;
    struct nuc_text declared, defined, tables, macros;
};

/* ---- sizes ---- */

static struct shared *shared_of(struct memory_plan *p, const char *bank)
{
    for (size_t i = 0; i < p->n_shared; i++) {
        struct shared *s = &p->shared[i];
        if (s->bank == bank || (s->bank != NULL && bank != NULL && strcmp(s->bank, bank) == 0))
            return s;
    }
    struct shared *s = &p->shared[p->n_shared++];
    *s = (struct shared){
        bank, nuc_format(p->cx, "%s_%s%s", p->name, bank != NULL ? "in_" : "", bank != NULL ? bank : "arena"), 0};
    return s;
}

static void add_array(struct memory_plan *p, const char *array, const char *bank, size_t bytes)
{
    nuc_text_addf(&p->declared, "extern uint8_t %s[%zu];\n", array, bytes);
    nuc_text_addf(&p->defined, "%s_%s%s _Alignas(16) uint8_t %s[%zu];\n", p->upper, bank != NULL ? "IN_" : "ARENA",
                  bank != NULL ? nuc_codegen_capitals(p->cx, bank) : "", array, bytes);
}

/* Several memories of one bank, as those without a name are, lie one after the other in what is shared of it. */
static void measure(struct memory_plan *p, const struct nuc_program_view *view, struct nuc_planned_program *out)
{
    struct nuc_detail detail = {.message = NULL};
    struct nuc_program_sizes sizes;
    uint8_t *image = nuc_copy(p->cx, view->bytes.data, view->bytes.size);
    const char *upper = nuc_codegen_capitals(p->cx, out->name);
    const struct nuc_metadata *metadata = nuc_metadata_of(p->cx, view);
    size_t taken[NUC_MAX_MEMORIES] = {0};
    uint64_t states = 0; /* memories with states: their content is there when another program has run */

    for (uint32_t i = 0; i < view->methods->n_values; i++) {
        const struct nuc_view_tensor *t = &view->methods->values[i].u.tensor;
        if (view->methods->values[i].kind == NUC_VALUE_TENSOR && t->planned && t->constant != 0 &&
            t->memory <= NUC_MAX_MEMORIES)
            states |= (uint64_t)1 << (t->memory - 1);
    }
    enum nuc_status status = nuc_program_sizes(image, view->bytes.size, &nuc_default_backends, &sizes, &detail);
    if (status != NUC_OK)
        nuc_codegen_refuse(p->cx, view->file, status, &detail);
    nuc_codegen_check_memory(p->cx, view->file, &sizes);
    out->state = sizes.state;
    out->temporary = sizes.temporary;
    nuc_text_addf(&p->macros, "#define %s_TEMPORARY %s\n", upper, p->temporary.array);
    nuc_text_addf(&p->tables, "    {.state = %s_state,\n     .state_size = sizeof %s_state", out->name, out->name);
    nuc_text_addf(&p->defined, "static _Alignas(16) uint8_t %s_state[%zu];\n", out->name,
                  nuc_align_up(sizes.state + 1, NUC_MEMORY_ALIGNMENT));
    for (uint32_t m = 0; m < sizes.n_planned; m++) {
        const char *bank = nuc_metadata_memory(metadata, NUC_HOLDS_PLANNED, m);
        const char *place = nuc_format(p->cx, "%s_states%u", out->name, m);
        if ((states >> m & 1) != 0) {
            out->states += sizes.planned[m];
            add_array(p, place, bank, nuc_align_up(sizes.planned[m], NUC_MEMORY_ALIGNMENT));
        } else {
            struct shared *s = shared_of(p, bank);
            size_t *at = &taken[s - p->shared];
            place = *at > 0 ? nuc_format(p->cx, "(%s + %zu)", s->array, *at) : s->array;
            *at += nuc_align_up(sizes.planned[m], NUC_MEMORY_ALIGNMENT);
            out->planned += sizes.planned[m];
            s->bytes = *at > s->bytes ? *at : s->bytes;
        }
        nuc_text_addf(&p->macros, "#define %s_MEMORY%u %s\n", upper, m, place);
        nuc_text_addf(&p->tables, ",\n     .planned[%1$u] = %2$s,\n     .planned_size[%1$u] = %3$zu", m, place,
                      sizes.planned[m]);
    }
    if (sizes.temporary > 0)
        nuc_text_addf(&p->tables, ",\n     .temporary = %1$s,\n     .temporary_size = sizeof %1$s", p->temporary.array);
    nuc_text_addf(&p->tables, "},\n");
    if (sizes.temporary > p->temporary.bytes)
        p->temporary.bank = nuc_metadata_memory(metadata, NUC_HOLDS_TEMPORARY, 0);
    p->temporary.bytes =
        sizes.temporary > p->temporary.bytes ? nuc_align_up(sizes.temporary, NUC_MEMORY_ALIGNMENT) : p->temporary.bytes;
}

/* ---- files ---- */

static const char *header(struct memory_plan *p, const struct nuc_planned_program *programs, size_t count)
{
    struct nuc_text out = {.cx = p->cx};

    nuc_text_addf(&out,
                  "/* The programs, in the order of the command. They share memory: one runs after the other. */\n"
                  "enum {");
    for (size_t i = 0; i < count; i++)
        nuc_text_addf(&out, " %s_%s,", p->upper, nuc_codegen_capitals(p->cx, programs[i].name));
    nuc_text_addf(&out, " %s_PROGRAMS };\n\n", p->upper);
    nuc_text_addf(&out,
                  "/* For nuc_program_load(), by program. States of a program, and what its loading leaves, are its "
                  "own. */\nextern const struct nuc_program_memory %s_memories[%s_PROGRAMS];\n\n%s\n",
                  p->name, p->upper, nuc_text_string(&p->declared));
    nuc_text_addf(&out,
                  "/*\n * The same for programs as C: nucleon codegen, compiled with -DNAME_PLAN='\"%s.h\"' for each "
                  "NAME.\n */\n%s\n",
                  p->name, nuc_text_string(&p->macros));
    return nuc_text_string(&out);
}

static const char *source(struct memory_plan *p)
{
    struct nuc_text out = {.cx = p->cx};

    nuc_text_addf(&out,
                  "\n/* Where the buffers lie: __attribute__((section(\"...\"))) or nothing. The NPU reads and writes "
                  "them. */\n#ifndef %1$s_ARENA\n#define %1$s_ARENA\n#endif\n\n",
                  p->upper);
    for (size_t i = 0; i < p->n_shared; i++)
        nuc_codegen_bank(&out, p->upper, p->shared[i].bank);
    nuc_text_addf(&out, "%s\nconst struct nuc_program_memory %s_memories[%s_PROGRAMS] = {\n%s};\n",
                  nuc_text_string(&p->defined), p->name, p->upper, nuc_text_string(&p->tables));
    return nuc_text_string(&out);
}

struct nuc_table_files nuc_memory_plan(struct nuc_context *cx, const struct nuc_program_view *const *programs,
                                       size_t count, const char *name, struct nuc_memory_plan_info *info)
{
    struct memory_plan p = {.cx = cx,
                            .name = name,
                            .upper = nuc_codegen_capitals(cx, name),
                            .declared = {.cx = cx},
                            .defined = {.cx = cx},
                            .tables = {.cx = cx},
                            .macros = {.cx = cx}};
    struct nuc_planned_program *planned = nuc_alloc_array(cx, count, sizeof *planned);

    p.shared = nuc_alloc_array(cx, NUC_MAX_MEMORIES * count + 1, sizeof *p.shared);
    p.temporary.array = nuc_format(cx, "%s_temporary", name);
    for (size_t i = 0; i < count; i++)
        planned[i] =
            (struct nuc_planned_program){.file = programs[i]->file, .name = nuc_codegen_name(cx, programs[i]->file)};
    for (size_t i = 0; i < count; i++) {
        nuc_codegen_check_name(cx, planned[i].name);
        bool taken = strcmp(planned[i].name, name) == 0 || strcasecmp(planned[i].name, "programs") == 0;
        for (size_t k = 0; k < i; k++)
            taken = taken || strcasecmp(planned[i].name, planned[k].name) == 0;
        if (taken)
            nuc_fail(cx, NUC_BAD_USAGE,
                     "%s: the name %s is taken, by the output or by another program: rename the file", planned[i].file,
                     planned[i].name);
    }
    for (size_t i = 0; i < count; i++)
        measure(&p, programs[i], &planned[i]);
    *info = (struct nuc_memory_plan_info){.programs = planned, .n_programs = count};
    for (size_t i = 0; i < p.n_shared; i++) {
        add_array(&p, p.shared[i].array, p.shared[i].bank, p.shared[i].bytes + (p.shared[i].bytes == 0));
        info->shared += p.shared[i].bytes;
    }
    if (p.temporary.bytes > 0) {
        shared_of(&p, p.temporary.bank);
        add_array(&p, p.temporary.array, p.temporary.bank, p.temporary.bytes);
    }
    info->temporary = p.temporary.bytes;
    for (size_t i = 0; i < count; i++)
        info->own += planned[i].states + planned[i].state;
    struct nuc_table_files files = nuc_kernel_tables(cx, programs, count, name, "plan", header(&p, planned, count));
    files.source = nuc_format(cx, "%s%s", files.source, source(&p));
    return files;
}
