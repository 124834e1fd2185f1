/* The program file of a lowered model, its figures, and files about it. */
#include "back/program/program.h"

#include <string.h>

#include "back/profile/profile.h"
#include "back/program/banks.h"
#include "back/program/memory_map.h"
#include "back/program/out_variant.h"
#include "device/base/program_sum.h"
#include "device/decision/bind.h"
#include "device/runtime/neutron_payload.h"
#include "driver/lowered.h"
#include "driver/model_metadata.h"
#include "host/file.h"
#include "host/text.h"
#include "npu/convert/convert.h"
#include "npu/convert/kernel_selection.h"
#include "npu/target/target.h"
#include "nucleon/runtime.h"

/* ---- memory ---- */

static struct nuc_map_pool arena_pool(const struct nuc_program_memory_report *memory)
{
    return (struct nuc_map_pool){.name = "arena",
                                 .step = "instruction",
                                 .size = memory->planned,
                                 .bound = memory->lower_bound,
                                 .proven = memory->proven,
                                 .n_tensors = memory->n_tensors,
                                 .tensors = memory->tensors};
}

/* What of planned memory lies in a bank; states are a memory, and a pool, of their own. */
static struct nuc_map_pool bank_pool(struct nuc_context *cx, const struct nuc_program_memory_report *memory,
                                     size_t bank)
{
    struct nuc_planned *tensors = nuc_alloc_array(cx, memory->n_tensors, sizeof *tensors);
    const struct nuc_bank_use *use = bank < memory->n_banks ? &memory->banks[bank] : NULL;
    struct nuc_map_pool pool = {.name = use != NULL ? nuc_format(cx, "bank %s", use->name) : "states",
                                .step = "instruction",
                                .tensors = tensors};

    for (size_t i = 0; i < memory->n_tensors; i++) {
        const struct nuc_planned *t = &memory->tensors[i];
        if (memory->memories[i] != bank + 1)
            continue;
        tensors[pool.n_tensors++] = *t;
        pool.size = t->address + t->size > pool.size ? t->address + t->size : pool.size;
    }
    pool.size = use != NULL ? use->planned : pool.size;
    pool.bound = use != NULL ? use->peak : pool.size;
    pool.proven = pool.size <= pool.bound;
    return pool;
}

static struct nuc_map_pool scratch_pool(struct nuc_context *cx, const struct nuc_lowered_partition *p)
{
    return (struct nuc_map_pool){.name = nuc_format(cx, "NPU scratch of %s", p->info.tag),
                                 .step = "kernel call",
                                 .size = p->image->scratch_size,
                                 .bound = p->image->scratch_bound,
                                 .proven = p->image->scratch_proven,
                                 .n_tensors = p->image->n_buffers,
                                 .tensors = p->image->buffers};
}

/* The same figures as a profile of the program shows. */
static void count_cycles(const struct nuc_job *j, struct nuc_program_report *r)
{
    const struct nuc_target *target = j->m->settings->target;
    struct nuc_context *cx = j->c->cx;
    struct nuc_sub_arena *sub = nuc_enter_sub_arena(cx);
    const struct nuc_profile *p =
        nuc_profile_read(cx, target, nuc_program_view_made(cx, j->m->graph->file, j->made.bytes), NULL);

    r->clock_hz = target->clock_hz;
    r->cycles = p->foreign ? 0 : p->cycles;
    r->npu_cycles = p->foreign ? 0 : p->npu_cycles;
    nuc_leave_sub_arena(cx, sub);
    nuc_free_sub_arena(sub);
}

/* ---- what ExecuTorch lacks ---- */

static void note_lacking(const struct nuc_graph *g, struct nuc_program_report *r)
{
    const char *names = "";

    r->n_executorch_lacks = 0;
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (nuc_out_in_executorch(g->cx, n))
            continue;
        const char *name = nuc_out_variant_of(g->cx, n).name;
        bool volume = n->op == NUC_OP_CONVOLUTION;
        name = volume ? "aten::convolution of volumes" : name;
        r->n_executorch_lacks++;
        if (strstr(nuc_format(g->cx, "%s,", names), nuc_format(g->cx, "%s,", name)) == NULL)
            names = nuc_format(g->cx, "%s%s%s", names, *names == '\0' ? "" : ", ", name);
    }
    r->executorch_lacks = names;
}

/* ---- the file ---- */

/* What the facts say of decisions, for runtimes. */
static struct nuc_span decision_record(const struct nuc_model *m)
{
    if (m->decision == NULL)
        return (struct nuc_span){NULL, 0};
    const size_t size = nuc_decision_bytes(m->decision);
    uint8_t *bytes = nuc_alloc(m->c->cx, size);

    nuc_decision_store(m->decision, bytes);
    return (struct nuc_span){bytes, size};
}

/* The facts with room for the checksum in front, nothing when there are none. */
static struct nuc_span with_sum(struct nuc_context *cx, struct nuc_span text)
{
    struct nuc_text out = {.cx = cx};

    if (text.size == 0)
        return text;
    nuc_text_addf(&out, "%s%s\",", NUC_PROGRAM_SUM, NUC_PROGRAM_SUM_DIGITS);
    nuc_text_add(&out, (const char *)text.data + 1, text.size - 1);
    return (struct nuc_span){(const uint8_t *)out.data, out.length};
}

/*
 * What lies beside planned memory does not depend on where that lies: a program with one arena says how much it is.
 * With room left for it the banks are filled once to name them in the facts.
 */
static struct nuc_banks fill_banks(const struct nuc_job *j, const struct nuc_program_options *given,
                                   struct nuc_program_memory_report *filled)
{
    static const struct nuc_backend neutron = {
        .id = "NeutronBackend", .sizes = nuc_neutron_sizes, .argument_bytes = nuc_neutron_argument_bytes};
    static const struct nuc_backend *const backends[] = {&neutron};
    static const struct nuc_backend_table table = {backends, 1, &nuc_delegates};
    const struct nuc_settings *s = j->m->settings;
    const struct nuc_lowered *l = j->m->lowered;
    struct nuc_program_options o = *given;
    struct nuc_program_memory_report plain = {.planned = 0};
    struct nuc_banks banks = *s->banks;
    struct nuc_program_sizes sizes;

    o.report = &plain;
    struct nuc_span program = nuc_write_program(nuc_graph_copy(j->m->graph), &o);
    if (nuc_program_sizes(program.data, program.size, &table, &sizes, NULL) != NUC_OK)
        nuc_fail(j->c->cx, NUC_INTERNAL, "%s: the runtime does not take the program", j->m->graph->file);
    banks.temporary = sizes.temporary;
    banks.temporary_reach = NUC_BY_CPU | NUC_BY_NPU | (s->o.fetch_constants_to_sram ? NUC_BY_DMA : 0);
    banks.weights_bytes = l->n_partitions > 0 ? l->report.delegate_data : plain.constants;
    o.banks = &banks;
    o.report = filled;
    nuc_write_program(nuc_graph_copy(j->m->graph), &o);
    return banks;
}

void nuc_make_program(struct nuc_job *j)
{
    struct nuc_model *m = j->m;
    const struct nuc_options *o = &m->settings->o;
    struct nuc_program_memory_report memory = {.planned = 0};
    struct nuc_named_data named[] = {{.key = NUC_METADATA_KEY}, {.key = NUC_DECISION_KEY}};
    struct nuc_program_options options = nuc_plan_options(m->settings);

    if (m->lowered == NULL)
        nuc_fail(j->c->cx, NUC_BAD_USAGE, "%s: is not lowered", m->graph->file);
    options.delegate_data = o->delegate_data;
    options.stack_traces = o->profile;
    options.labels = !o->reference_compat;
    options.report = &memory;
    nuc_add_io_constants(m, &options);
    nuc_check_value_orders(m->graph);
    struct nuc_banks banks;
    if (m->settings->banks != NULL) {
        banks = fill_banks(j, &options, &memory);
        options.banks = &banks;
    }
    named[0].bytes = with_sum(j->c->cx, nuc_model_metadata_text(m, options.banks != NULL ? &memory : NULL));
    named[1].bytes = decision_record(m);
    options.named = named;
    options.n_named = named[0].bytes.size == 0 ? 0 : named[1].bytes.size == 0 ? 1 : 2;
    j->made.bytes = nuc_write_program(m->graph, &options);
    j->made.report = m->lowered->report;
    j->made.report.scratch_in_arena = o->plan_delegate_scratch;
    j->made.report.program = j->made.bytes.size;
    note_lacking(m->graph, &j->made.report);
    struct nuc_program_report *r = &j->made.report;
    r->arena = memory.planned;
    r->banks = memory.banks;
    r->n_banks = memory.n_banks;
    r->arena_lower_bound = memory.lower_bound;
    /* Of one memory: there is no such proof for several. */
    r->arena_proven = memory.proven && memory.n_banks == 0;
    r->scratch_proven = true;
    for (uint32_t i = 0; i < m->lowered->n_partitions; i++) {
        const struct nuc_neutron_image *image = m->lowered->partitions[i].image;
        r->scratch_proven = r->scratch_proven && image->scratch_proven;
        if (image->scratch_size <= r->delegate_scratch)
            continue;
        r->delegate_scratch = image->scratch_size;
        r->scratch_bound = image->scratch_bound;
    }
    count_cycles(j, &j->made.report);
    struct nuc_context *cx = m->c->cx;
    uint32_t n = m->lowered->n_partitions;
    struct nuc_memory_map *map = nuc_alloc(cx, sizeof *map);
    struct nuc_map_pool *pools = nuc_alloc_array(cx, (size_t)n + memory.n_banks + 1, sizeof *pools);
    size_t n_pools = 0;
    if (memory.n_banks == 0)
        pools[n_pools++] = arena_pool(&memory);
    for (size_t i = 0; memory.n_banks > 0 && i <= memory.n_banks; i++) {
        pools[n_pools] = bank_pool(cx, &memory, i);
        n_pools += i < memory.n_banks || pools[n_pools].n_tensors > 0;
    }
    for (uint32_t i = 0; i < n; i++)
        pools[n_pools++] = scratch_pool(cx, &m->lowered->partitions[i]);
    *map = (struct nuc_memory_map){m->graph->file, n_pools, pools};
    j->made.memory = map;
    j->made.constants = memory.constants;
    j->made.n_instructions = memory.n_instructions;
    j->made.instructions = memory.nodes;
}

/* ---- files about it ---- */

void nuc_write_kernel_selection(const struct nuc_job *j)
{
    const char *path = j->m->settings->o.dump_kernel_selection;
    struct nuc_kernel_selection selection = {.used = {false}};

    if (path == NULL)
        return;
    if (!j->made.report.runs_on_simulator)
        nuc_fail(j->c->cx, NUC_BAD_USAGE,
                 "kernel selection: the programs are of another converter, which writes its own");
    for (uint32_t i = 0; i < j->m->lowered->n_partitions; i++)
        nuc_kernel_selection_add(&selection, j->m->lowered->partitions[i].image);
    nuc_write_file(j->c->cx, path, nuc_kernel_selection_write(j->c->cx, &selection));
}

static const char *map_text(struct nuc_context *cx, const struct nuc_memory_map *map, enum nuc_map_form form)
{
    struct nuc_text text = {.cx = cx};

    if (form == NUC_MAP_SVG)
        nuc_draw_memory_map(&text, map);
    else if (form == NUC_MAP_PEAK)
        nuc_print_memory_peak(&text, map);
    else
        nuc_print_memory_map(&text, map);
    return nuc_text_string(&text);
}

void nuc_write_memory_map(const struct nuc_job *j)
{
    const char *path = j->m->settings->o.memory_map;
    size_t length = path != NULL ? strlen(path) : 0;
    bool is_svg = length > 4 && strcmp(path + length - 4, ".svg") == 0;

    if (path != NULL)
        nuc_write_text(j->c->cx, path, map_text(j->c->cx, j->made.memory, is_svg ? NUC_MAP_SVG : NUC_MAP_TEXT));
}

void nuc_check_memory_budget(const struct nuc_job *j)
{
    const struct nuc_program_report *r = &j->made.report;
    struct nuc_context *cx = j->c->cx;
    size_t scratch = r->scratch_in_arena ? 0 : r->delegate_scratch;
    size_t needed = r->arena + scratch, budget = j->m->settings->o.memory_budget;

    if (budget == 0 || needed <= budget)
        return;
    /* Each of these sizes may be asked for. The plan of a program may find less than the search for strips did. */
    bool strips = r->least_arena > 0 && r->least_arena < r->arena;
    size_t least = strips ? r->least_arena + scratch : needed, pool = scratch > 0 ? nuc_plan_one_pool(j->m) : least;
    const char *head = nuc_format(cx, "%s: needs %zu bytes of memory (arena %zu, NPU scratch %zu), the budget is %zu",
                                  j->m->graph->file, needed, r->arena, scratch, budget);
    if (pool <= budget)
        nuc_fail(cx, NUC_PROPERTY, "%s: with --plan-delegate-scratch it takes %zu", head, pool);
    /* The scratch, which is planned without them here, may have room for the partitions' inputs and outputs. */
    if (pool < least && scratch <= budget)
        nuc_fail(cx, NUC_PROPERTY, "%s: try --plan-delegate-scratch, with which it takes %zu to %zu", head, scratch,
                 pool);
    const char *how = pool < least ? "with --plan-delegate-scratch " : strips ? "in strips " : "";
    least = pool < least ? pool : least;
    nuc_fail(cx, NUC_PROPERTY,
             "%s: %sthe least found is %zu, %zu too many; make the tensors that are alive at the peak smaller", head,
             how, least, least - budget);
}

enum nuc_status nuc_memory_map(struct nuc_compiler *c, enum nuc_map_form form, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, form >= NUC_MAP_TEXT && form <= NUC_MAP_PEAK && text != NULL);
        *text = NULL;
        if (c->memory == NULL)
            nuc_fail(c->cx, NUC_BAD_USAGE, "no program has been made yet");
        *text = map_text(c->cx, c->memory, form);
    }
    return nuc_leave(&call);
}
