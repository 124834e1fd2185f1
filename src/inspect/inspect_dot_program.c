/*
 * A program as a picture: instructions in boxes, those of a delegate call's NPU kernels in a box around them, what is
 * between instructions as edges. Names and kernels are those of the profile, so that both show the same.
 */
#include "archive/program_view.h"
#include "back/profile/profile.h"
#include "host/file.h"
#include "inspect/inspect_forms.h"
#include "npu/container/payload.h"

/* Beyond this a picture shows nothing, and finding who wrote what takes the square of it. */
#define MAX_DRAWN 20000u

#define FROM_OUTSIDE UINT32_MAX /* an input, as an instruction */

/* Bytes [from, to) of planned memory that an instruction wrote. */
struct write {
    uint32_t instruction, memory;
    uint64_t from, to;
};

struct drawing {
    struct nuc_text *out;
    const char *file;
    const struct nuc_view_method *method;
    const struct nuc_view_chain *chain;
    const struct nuc_profile *profile;
    uint32_t *kernels; /* by instruction: of its delegate call */
    struct write *writes;
    size_t n_writes, capacity;
};

/* ---- nodes ---- */

static void draw_box(struct nuc_text *out, const char *id, const struct nuc_profile_row *row, const char *color)
{
    const char *name = row->node != NULL ? row->node : "",
               *source = row->source != NULL ? nuc_base_name(row->source) : "";

    nuc_text_addf(out, "  %s [style=filled, fillcolor=\"%s\", label=", id, color);
    nuc_dot_string(out, nuc_format(out->cx, "%s%s%s%s%s", row->what, *name != '\0' ? "\n" : "", name,
                                   *source != '\0' ? "\n" : "", source));
    nuc_text_addf(out, "];\n");
}

/* The kernels run one after the other. */
static size_t draw_call(struct drawing *d, size_t at)
{
    const struct nuc_profile_row *call = &d->profile->rows[at], *row = call + 1;
    uint32_t n = 0;

    while (at + 1 + n < d->profile->n_rows && row[n].kind == NUC_PROFILE_KERNEL)
        n++;
    d->kernels[call->instruction] = n;
    if (n == 0) {
        draw_box(d->out, nuc_format(d->out->cx, "i%u", call->instruction), call, "#cfe8d5");
        return 1;
    }
    nuc_text_addf(d->out, "  subgraph cluster_%u {\n  style=\"rounded,filled\"; fillcolor=\"#eef7f0\"; label=",
                  call->instruction);
    nuc_dot_string(d->out, nuc_format(d->out->cx, "instruction %u: %s", call->instruction, call->what));
    nuc_text_addf(d->out, ";\n");
    for (uint32_t k = 0; k < n; k++)
        draw_box(d->out, nuc_format(d->out->cx, "i%u_%u", call->instruction, k), &row[k], "#cfe8d5");
    for (uint32_t k = 1; k < n; k++)
        nuc_text_addf(d->out, "  i%u_%u -> i%u_%u;\n", call->instruction, k - 1, call->instruction, k);
    nuc_text_addf(d->out, "  }\n");
    return (size_t)n + 1;
}

/* ---- edges ---- */

/* Of a delegate call with kernels the first one reads, the last one writes. */
static const char *end_of(const struct drawing *d, uint32_t instruction, bool last)
{
    uint32_t n = d->kernels[instruction];

    if (n == 0)
        return nuc_format(d->out->cx, "i%u", instruction);
    return nuc_format(d->out->cx, "i%u_%u", instruction, last ? n - 1 : 0);
}

static struct write place_of(const struct nuc_view_tensor *t, uint32_t instruction)
{
    uint64_t bytes = t->dtype == NUC_DTYPE_COUNT ? 1 : nuc_dtype_size(t->dtype);

    for (uint32_t i = 0; i < t->sizes.count; i++)
        bytes *= (uint64_t)nuc_view_int(t->sizes, i);
    return (struct write){instruction, t->memory, t->offset, t->offset + bytes};
}

/* Edges from all that wrote a part of the tensor, the last one first, until one wrote the whole. */
static void draw_reads(struct drawing *d, const struct nuc_view_value *v, const char *to)
{
    if (v->kind != NUC_VALUE_TENSOR || !v->u.tensor.planned)
        return;
    struct write read = place_of(&v->u.tensor, 0);
    for (size_t i = d->n_writes; i-- > 0;) {
        const struct write *w = &d->writes[i];
        if (w->memory != read.memory || w->to <= read.from || w->from >= read.to)
            continue;
        nuc_text_addf(d->out, "  %s -> %s [label=",
                      w->instruction == FROM_OUTSIDE ? nuc_format(d->out->cx, "input%zu", i)
                                                     : end_of(d, w->instruction, true),
                      to);
        const struct nuc_view_tensor *t = &v->u.tensor;
        struct nuc_text text = {.cx = d->out->cx};
        nuc_text_addf(&text, "%s[", t->dtype == NUC_DTYPE_COUNT ? "other" : nuc_dtype_name(t->dtype));
        for (uint32_t k = 0; k < t->sizes.count; k++)
            nuc_text_addf(&text, "%s%lld", k > 0 ? ", " : "", (long long)nuc_view_int(t->sizes, k));
        nuc_text_addf(&text, "]");
        nuc_dot_string(d->out, nuc_text_string(&text));
        nuc_text_addf(d->out, "];\n");
        if (w->from <= read.from && w->to >= read.to)
            return;
    }
}

static void add_write(struct drawing *d, const struct nuc_view_value *v, uint32_t instruction)
{
    if (v->kind != NUC_VALUE_TENSOR || !v->u.tensor.planned)
        return;
    d->writes = nuc_grow(d->out->cx, d->writes, &d->capacity, d->n_writes + 1, sizeof *d->writes);
    d->writes[d->n_writes++] = place_of(&v->u.tensor, instruction);
}

/* Tensors of an argument, which may be a list. */
static void visit(struct drawing *d, int64_t index, uint32_t instruction, bool writes)
{
    const struct nuc_view_value *v = &d->method->values[index];
    bool is_list = v->kind == NUC_VALUE_TENSORS || v->kind == NUC_VALUE_OPTIONAL_TENSORS;

    for (uint32_t i = 0; i < (is_list ? v->u.list.count : 1); i++) {
        int64_t item = is_list ? nuc_view_int(v->u.list, i) : index;
        if (item < 0)
            continue;
        if (writes)
            add_write(d, &d->method->values[item], instruction);
        else
            draw_reads(d, &d->method->values[item], end_of(d, instruction, false));
    }
}

/*
 * Arguments that the call reads. An out variant has what it writes twice, as its last arguments: as `out` tensors and
 * as the result, a tensor or a list of them.
 */
static uint32_t count_read(const struct drawing *d, const struct nuc_view_instruction *in)
{
    uint32_t n = in->args.count;

    if (in->kind == NUC_INSTRUCTION_DELEGATE) {
        const struct nuc_view_delegate *delegate = &d->method->delegates[in->index];
        uint32_t n_args = n > 0 ? n - 1 : 0; /* of another backend: it writes the last one */
        if (nuc_view_is(delegate->backend, "NeutronBackend"))
            n_args = nuc_payload_parse(d->out->cx, d->file, delegate->data).n_args;
        return n_args < n ? n_args : n;
    }
    if (n == 0)
        return 0;
    const struct nuc_view_value *result = &d->method->values[nuc_view_int(in->args, n - 1)];
    uint32_t n_written = 1 + (result->kind == NUC_VALUE_TENSORS ? result->u.list.count : 1);
    return n > n_written ? n - n_written : 0;
}

void nuc_inspect_program_dot(struct nuc_text *out, const char *file, struct nuc_span bytes)
{
    const struct nuc_target *target = nuc_target_find(out->cx, NULL);
    const struct nuc_program_view *view = nuc_program_view_open(out->cx, file, bytes);
    struct drawing d = {.out = out, .file = file, .method = view->methods, .chain = view->methods->chains};
    uint32_t n = d.method->n_chains > 0 ? d.chain->n_instructions : 0; /* the runtime executes programs of one chain */

    if (n > MAX_DRAWN)
        nuc_fail(out->cx, NUC_UNSUPPORTED, "%s: has %u instructions, more than the %u that a picture shows: use --json",
                 file, n, MAX_DRAWN);
    d.profile = nuc_profile_read(out->cx, target, view, NULL);
    d.kernels = nuc_alloc_array(out->cx, n, sizeof *d.kernels);
    nuc_text_addf(out, "digraph program {\n  compound=true; node [shape=box];\n");
    /* The first writes are those of the inputs. */
    for (uint32_t i = 0; i < d.method->inputs.count; i++) {
        const struct nuc_view_value *v = &d.method->values[nuc_view_int(d.method->inputs, i)];
        if (v->kind != NUC_VALUE_TENSOR || !v->u.tensor.planned)
            continue;
        nuc_text_addf(d.out, "  input%zu [shape=ellipse, label=\"input %u\"];\n", d.n_writes, i);
        add_write(&d, v, FROM_OUTSIDE);
    }
    for (size_t i = 0; i < d.profile->n_rows;) {
        const struct nuc_profile_row *row = &d.profile->rows[i];
        if (row->kind == NUC_PROFILE_CALL) {
            i += draw_call(&d, i);
            continue;
        }
        draw_box(d.out, nuc_format(d.out->cx, "i%u", row->instruction), row, "#f6e3c5");
        i++;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint8_t kind = d.chain->instructions[i].kind;
        if (kind == NUC_INSTRUCTION_KERNEL || kind == NUC_INSTRUCTION_DELEGATE) {
            const struct nuc_view_instruction *in = &d.chain->instructions[i];
            uint32_t n_read = count_read(&d, in);
            for (uint32_t a = 0; a < n_read; a++)
                visit(&d, nuc_view_int(in->args, a), i, false);
            for (uint32_t a = n_read; a < in->args.count; a++)
                visit(&d, nuc_view_int(in->args, a), i, true);
        }
    }
    for (uint32_t i = 0; i < d.method->outputs.count; i++) {
        const char *id = nuc_format(d.out->cx, "output%u", i);
        nuc_text_addf(d.out, "  %s [shape=ellipse, label=\"output %u\"];\n", id, i);
        draw_reads(&d, &d.method->values[nuc_view_int(d.method->outputs, i)], id);
    }
    nuc_text_addf(out, "}\n");
}
