#include "back/profile/profile.h"

#include <string.h>

#include "archive/json_build.h"
#include "device/base/microcode_header.h"
#include "device/base/microcode_table.h"
#include "device/base/npu_cost.h"
#include "host/characters.h"
#include "host/file.h"
#include "host/text.h"
#include "npu/container/payload.h"
#include "npu/convert/kernel_names.h"

struct profiling {
    struct nuc_context *cx;
    struct nuc_profile *p;
    size_t capacity;
};

static struct nuc_profile_row *add_row(struct profiling *f)
{
    f->p->rows = nuc_grow(f->cx, f->p->rows, &f->capacity, f->p->n_rows + 1, sizeof *f->p->rows);
    struct nuc_profile_row *row = &f->p->rows[f->p->n_rows++];
    *row = (struct nuc_profile_row){.start = f->p->cycles};
    return row;
}

/* Saturates: the sizes of a damaged program may give any number of cycles. */
static void spend(struct profiling *f, uint64_t cycles, bool npu)
{
    f->p->cycles = f->p->cycles > UINT64_MAX - cycles ? UINT64_MAX : f->p->cycles + cycles;
    if (npu)
        f->p->npu_cycles = f->p->npu_cycles > UINT64_MAX - cycles ? UINT64_MAX : f->p->npu_cycles + cycles;
}

/* What the delegate call of an instruction left, or NULL. */
static const struct nuc_profile_call *records_of(const struct nuc_profile_run *run, uint32_t instruction)
{
    for (size_t i = 0; run != NULL && i < run->n_calls; i++) {
        if (run->calls[i].instruction == instruction)
            return &run->calls[i];
    }
    return NULL;
}

/* Times of kernel `k` from its record, when there is one. */
static void take_record(const struct nuc_profile_call *call, uint32_t k, struct nuc_profile_row *row)
{
    size_t at = (size_t)k * NUC_MC_PROFILE_RECORD;

    if (call == NULL || at + NUC_MC_PROFILE_RECORD > call->bytes)
        return;
    const uint8_t *record = (const uint8_t *)call->records + at;
    uint32_t start = nuc_load_u32(record + 4), stop = nuc_load_u32(record + 12);
    row->recorded = true;
    row->metadata = record[2];
    row->record_start = start;
    row->record_stop = stop;
    row->cycles = stop > start ? stop - start : 0;
}

/*
 * The kernels of a call. The microcode says what they are, the records how long they took. The clock runs through all
 * kernels, also recorded ones, since copies that one of them starts go on beside the next. Microcode and records are
 * untrusted: the walk ends where a call does not fit.
 */
static void add_kernels(struct profiling *f, uint32_t instruction, struct nuc_span microcode,
                        const struct nuc_profile_call *call)
{
    struct nuc_npu_fetching clocks = {.bytes = 0};
    uint64_t at = nuc_mc_word(microcode, NUC_MC_WORD_CALLS_OFFSET);
    uint32_t n_calls = nuc_mc_word(microcode, NUC_MC_WORD_CALLS);
    struct nuc_span head, record;

    for (uint32_t k = 0; k < n_calls && nuc_span_slice(microcode, at, sizeof(struct nuc_mc_call), &head); k++) {
        uint32_t opcode = nuc_load_u32(head.data) & 0xFFFFu, size = nuc_mc_whole_size(nuc_load_u32(head.data));
        union nuc_mc_record r;
        if (size == 0 || !nuc_span_slice(microcode, at, size, &record))
            break;
        nuc_mc_load(record.data, &r);
        struct nuc_profile_row *row = add_row(f);
        struct nuc_kernel_name name = nuc_kernel_name_read(f->cx, microcode, k);
        row->kind = NUC_PROFILE_KERNEL;
        row->instruction = instruction;
        row->kernel = k;
        row->what = nuc_mc_opcode_name(opcode);
        row->label = name.node;
        row->source = name.source;
        row->record_start = clocks.clock.now;
        row->record_stop = nuc_npu_fetching_step(f->p->target->npu, &clocks, &r);
        row->cycles = row->record_stop - row->record_start;
        take_record(call, k, row);
        f->p->unrecorded = f->p->unrecorded || !row->recorded;
        spend(f, row->cycles, true);
        at += size;
    }
    f->p->fetched += clocks.bytes;
    f->p->fetch_cycles += clocks.clock.now - clocks.calls;
    f->p->fetch_cycles_by_dma += clocks.dma.now - clocks.calls;
}

/* A text of the program, NULL when it is empty; of an overlong one `MAX_TEXT` characters, its end when `tail`. */
static const char *frame_text(struct nuc_context *cx, struct nuc_view_list text, bool tail)
{
    enum { MAX_TEXT = 255 };

    if (text.count > MAX_TEXT) {
        text.data += tail ? text.count - MAX_TEXT : 0;
        text.count = MAX_TEXT;
    }
    return text.count == 0 ? NULL : nuc_view_text(cx, text);
}

static void add_call(struct profiling *f, uint32_t index, const struct nuc_view_method *m,
                     const struct nuc_view_instruction *in, const struct nuc_profile_run *run)
{
    const struct nuc_view_delegate *delegate = &m->delegates[in->index];
    struct nuc_profile_row *row = add_row(f);
    size_t at = f->p->n_rows - 1;

    row->kind = NUC_PROFILE_CALL;
    row->instruction = index;
    row->label = frame_text(f->cx, in->frame.context, false);
    row->what = delegate->backend.count > 0 ? nuc_view_text(f->cx, delegate->backend) : "delegate";
    row->cycles = f->p->target->costs.npu_call;
    spend(f, row->cycles, true);
    uint64_t before = f->p->cycles;
    if (nuc_view_is(delegate->backend, "NeutronBackend")) {
        struct nuc_payload payload = nuc_payload_parse(f->cx, f->p->file, delegate->data);
        if (nuc_is_microcode(payload.microcode))
            add_kernels(f, index, payload.microcode, records_of(run, index));
        else
            f->p->foreign = true;
    }
    f->p->rows[at].call_cycles = f->p->cycles - before;
}

static void add_operator(struct profiling *f, uint32_t index, const struct nuc_program_view *view,
                         const struct nuc_view_instruction *in)
{
    const char *file = frame_text(f->cx, in->frame.file, true);
    struct nuc_profile_row *row = add_row(f);

    row->kind = NUC_PROFILE_CPU;
    row->instruction = index;
    row->what = nuc_view_operator_name(f->cx, &view->methods->operators[in->index]);
    row->node = frame_text(f->cx, in->frame.name, false);
    row->label = frame_text(f->cx, in->frame.context, false);
    row->label = row->label != NULL ? row->label : row->node;
    row->source = file != NULL ? nuc_format(f->cx, "%s:%d", file, (int)in->frame.line) : NULL;
    row->cycles = nuc_profile_cpu_cycles(f->cx, f->p->target, view, row->what, in->args);
    spend(f, row->cycles, false);
}

static const char *plain(struct nuc_context *cx, const char *text)
{
    return text != NULL ? nuc_plain_text(cx, text) : NULL;
}

struct nuc_profile *nuc_profile_read(struct nuc_context *cx, const struct nuc_target *target,
                                     const struct nuc_program_view *view, const struct nuc_profile_run *run)
{
    struct profiling f = {cx, nuc_alloc(cx, sizeof *f.p), 0};
    const struct nuc_view_method *m = view->methods;
    const struct nuc_view_chain *chain = m->chains; /* the runtime executes programs of one chain */

    f.p->file = view->file;
    f.p->target = target;
    for (uint32_t i = 0; m->n_chains > 0 && i < chain->n_instructions; i++) {
        const struct nuc_view_instruction *in = &chain->instructions[i];
        if (in->kind == NUC_INSTRUCTION_DELEGATE)
            add_call(&f, i, m, in, run);
        else if (in->kind == NUC_INSTRUCTION_KERNEL)
            add_operator(&f, i, view, in);
    }
    /* The names are the file's. */
    for (size_t i = 0; i < f.p->n_rows; i++) {
        struct nuc_profile_row *row = &f.p->rows[i];
        row->what = nuc_plain_text(cx, row->what);
        row->label = plain(cx, row->label);
        row->node = plain(cx, row->node);
        row->source = plain(cx, row->source);
    }
    return f.p;
}

/* ---- the table ---- */

static double microseconds(const struct nuc_profile *p, uint64_t cycles)
{
    return (double)cycles / p->target->clock_hz * 1e6;
}

/* The end of an overlong text is cut off. */
static void add_column(struct nuc_text *out, const char *text, size_t width)
{
    nuc_text_add_column(out, text, width, width - 2);
}

const char *nuc_profile_table(struct nuc_context *cx, const struct nuc_profile *p)
{
    struct nuc_text out = {.cx = cx};

    nuc_text_addf(&out, "%-6s %-3s %-24s %11s %9s %6s  %-40s %s\n", "no.", "on", "operator or kernel", "cycles", "us",
                  "share", "label", "source");
    for (size_t i = 0; i < p->n_rows; i++) {
        const struct nuc_profile_row *row = &p->rows[i];
        enum { NUMBER = 6, WHAT = 24, LABEL = 40 };
        const char *number = row->kind == NUC_PROFILE_KERNEL ? nuc_format(cx, "%u.%u", row->instruction, row->kernel)
                                                             : nuc_format(cx, "%u", row->instruction);
        const char *scope = row->kind == NUC_PROFILE_CPU ? strstr(row->what, "::") : NULL;
        const char *name = scope != NULL ? scope + 2 : row->what;
        const char *what = row->kind == NUC_PROFILE_CALL ? nuc_format(cx, "call of %s", name) : name;
        add_column(&out, number, NUMBER);
        add_column(&out, row->kind == NUC_PROFILE_CPU ? "CPU" : "NPU", 3);
        add_column(&out, what, WHAT);
        nuc_text_addf(&out, "%11s %9.1f %5.1f%%  ", nuc_with_commas(cx, row->cycles), microseconds(p, row->cycles),
                      p->cycles > 0 ? (double)row->cycles / (double)p->cycles * 100 : 0.0);
        nuc_text_add_column(&out, row->label != NULL ? row->label : "-", LABEL, (LABEL - 2) / 2);
        nuc_text_addf(&out, "%s\n", row->source != NULL ? nuc_base_name(row->source) : "-");
    }
    nuc_text_addf(&out, "\n%s cycles, %s at %.0f MHz: NPU %s, CPU %s\n", nuc_with_commas(cx, p->cycles),
                  nuc_time_text(cx, p->cycles, p->target->clock_hz), p->target->clock_hz * 1e-6,
                  nuc_with_commas(cx, p->npu_cycles), nuc_with_commas(cx, p->cycles - p->npu_cycles));
    nuc_text_addf(&out, "NPU: cycles of the simulator's model; CPU: estimated from sizes and types; not measured "
                        "on\nsilicon (docs/cycle-model.md has the error)\n");
    if (p->fetched > 0)
        nuc_text_addf(&out,
                      "%s of these cycles: %s bytes of weights from flash, copied by the CPU; by a DMA beside the "
                      "kernels %s\n",
                      nuc_with_commas(cx, p->fetch_cycles), nuc_with_commas(cx, p->fetched),
                      nuc_with_commas(cx, p->fetch_cycles_by_dma));
    if (p->unrecorded)
        nuc_text_addf(&out,
                      "the program was compiled without --profile: kernels have their modelled times and no names\n");
    if (p->foreign)
        nuc_text_addf(&out, "microcode of another converter: its kernels cannot be told apart or timed\n");
    return nuc_text_string(&out);
}

/* ---- JSON (docs/json.md) ---- */

const char *nuc_profile_tree(struct nuc_context *cx, const struct nuc_profile *p)
{
    static const char *const kinds[] = {
        [NUC_PROFILE_CPU] = "operator", [NUC_PROFILE_CALL] = "call", [NUC_PROFILE_KERNEL] = "kernel"};
    json_t *tree = nuc_json_tree(cx);

    nuc_put_text(cx, tree, "target", p->target->name);
    nuc_put_double(cx, tree, "clock_hz", p->target->clock_hz);
    nuc_put_count(cx, tree, "cycles", p->cycles);
    nuc_put_count(cx, tree, "npu_cycles", p->npu_cycles);
    nuc_put_count(cx, tree, "cpu_cycles", p->cycles - p->npu_cycles);
    nuc_put_double(cx, tree, "us", microseconds(p, p->cycles));
    nuc_put_count(cx, tree, "fetched_bytes", p->fetched);
    nuc_put_count(cx, tree, "fetch_cycles", p->fetch_cycles);
    nuc_put_count(cx, tree, "fetch_by_dma_cycles", p->fetch_cycles_by_dma);
    nuc_put_bool(cx, tree, "recorded", !p->unrecorded);
    nuc_put_bool(cx, tree, "foreign_microcode", p->foreign);
    json_t *list = nuc_put_array(cx, tree, "rows");
    for (size_t i = 0; i < p->n_rows; i++) {
        const struct nuc_profile_row *row = &p->rows[i];
        json_t *o = nuc_put_object(cx, list, NULL);
        nuc_put_text(cx, o, "kind", kinds[row->kind]);
        nuc_put_text(cx, o, "on", row->kind == NUC_PROFILE_CPU ? "cpu" : "npu");
        nuc_put_int(cx, o, "instruction", row->instruction);
        nuc_put_known_count(cx, o, "kernel", row->kind == NUC_PROFILE_KERNEL, row->kernel);
        nuc_put_text(cx, o, "operator", row->what);
        nuc_put_text(cx, o, "label", row->label);
        nuc_put_text(cx, o, "node", row->node);
        nuc_put_text(cx, o, "source", row->source);
        nuc_put_count(cx, o, "cycles", row->cycles);
        nuc_put_double(cx, o, "us", microseconds(p, row->cycles));
        nuc_put_bool(cx, o, "recorded", row->recorded);
    }
    return nuc_json_text(cx, tree);
}
