#include "driver/node_cycles.h"

#include <assert.h>

#include "back/profile/profile.h"
#include "back/program/program.h"
#include "cpu/cortexm.h"
#include "driver/lowered.h"
#include "npu/convert/convert.h"
#include "npu/support/estimate.h"

struct attribution {
    const struct nuc_graph *g; /* partitioned */
    const struct nuc_lowered *lowered;
    const struct nuc_node **by_id;
    uint64_t *of;
    const struct nuc_node **owners; /* by instruction */
    uint64_t *instructions;
    struct nuc_explain_boundary *boundaries;
    size_t n_boundaries, capacity;
    uint32_t partition; /* of the call whose kernels come next */
};

/* ---- what is no node's ---- */

/* One for each value on the CPU; for calls and for changes of formats one for each partition. */
static void add_boundary(struct attribution *a, enum nuc_boundary_kind kind, uint32_t partition,
                         const struct nuc_node *value, uint64_t cycles)
{
    size_t i = a->n_boundaries;

    for (size_t k = 0; partition != NUC_NO_PARTITION && k < a->n_boundaries; k++) {
        if (a->boundaries[k].kind == kind && a->boundaries[k].partition == partition)
            i = k;
    }
    if (i == a->n_boundaries) {
        a->boundaries = nuc_grow(a->g->cx, a->boundaries, &a->capacity, a->n_boundaries + 1, sizeof *a->boundaries);
        a->boundaries[a->n_boundaries++] =
            (struct nuc_explain_boundary){.kind = kind, .partition = partition, .value = value};
    }
    a->boundaries[i].count++;
    a->boundaries[i].cycles += cycles;
}

/* ---- the NPU ---- */

static uint32_t partition_of(const struct nuc_lowered *l, const struct nuc_node *call)
{
    uint32_t i = 0;

    while (i < l->n_partitions && (call == NULL || l->partitions[i].delegate != call->delegate))
        i++;
    return i < l->n_partitions ? i : NUC_NO_PARTITION;
}

/* Debug handles are 1 + id of the graph that was lowered; kernels that change a format at a boundary have none. */
static void add_kernel(struct attribution *a, const struct nuc_profile_row *row)
{
    const struct nuc_lowered *l = a->lowered;
    const struct nuc_neutron_image *image = a->partition != NUC_NO_PARTITION ? l->partitions[a->partition].image : NULL;
    uint32_t handle = image != NULL && row->kernel < image->n_calls ? image->calls[row->kernel].handle : 0;
    uint32_t origin = handle > 0 && handle <= l->n_handles ? l->origins[handle - 1] : 0;

    if (origin > 0 && a->by_id[origin - 1] != NULL && a->by_id[origin - 1]->partition >= 0)
        a->of[origin - 1] += row->cycles;
    else
        add_boundary(a, NUC_BOUNDARY_FORMAT, a->partition, NULL, row->cycles);
}

/* ---- the CPU ---- */

static void add_operator(struct attribution *a, const struct nuc_profile_row *row, const struct nuc_node *instruction)
{
    const struct nuc_node *made_of =
        instruction != NULL && instruction->origin > 0 ? a->by_id[instruction->origin - 1] : NULL;
    const struct nuc_node *owner = made_of;

    /* An int8 operator is made of the quantize node behind an operator; what quantizes is that node itself. */
    while (owner != NULL && !nuc_is_operator(owner) &&
           !(nuc_is_quantization(owner) && nuc_is_quantization(instruction)))
        owner = nuc_arg_node(owner, NUC_SELF);
    owner = owner != NULL && owner->partition < 0 ? owner : NULL;
    a->owners[row->instruction] = owner;
    if (owner != NULL)
        a->of[owner->id] += row->cycles;
    else
        add_boundary(a,
                     instruction == NULL              ? NUC_BOUNDARY_COPY
                     : nuc_is_quantize(instruction)   ? NUC_BOUNDARY_QUANTIZE
                     : nuc_is_dequantize(instruction) ? NUC_BOUNDARY_DEQUANTIZE
                                                      : NUC_BOUNDARY_COPY,
                     NUC_NO_PARTITION, made_of, row->cycles);
}

/* Whether a kernel for `n` may compute its only reader as well: an activation after products, what is no operator. */
static bool may_hold(const struct nuc_node *n, const struct nuc_node *reader)
{
    return reader->partition < 0 &&
           (!nuc_is_operator(reader) || (nuc_estimate_macs(n) > 0 && nuc_estimate_macs(reader) == 0));
}

/* A kernel that computes what follows, too, is made of the last of these; what it takes is that of the first one. */
static void move_to_first(struct attribution *a, size_t n_instructions)
{
    const struct nuc_node **first = nuc_alloc_array(a->g->cx, (size_t)a->g->next_id + 1, sizeof(struct nuc_node *));

    for (const struct nuc_node *n = a->g->first; n != NULL; n = n->next) {
        const struct nuc_node *last = n;
        if (!nuc_is_operator(n) || n->partition >= 0)
            continue;
        while (a->of[last->id] == 0 && last->n_users == 1 && may_hold(n, last->users[0]))
            last = last->users[0];
        if (last == n || !nuc_is_operator(last))
            continue;
        a->of[n->id] = a->of[last->id];
        a->of[last->id] = 0;
        first[last->id] = n;
    }
    for (size_t i = 0; i < n_instructions; i++) {
        const struct nuc_node *owner = a->owners[i];
        if (owner != NULL && first[owner->id] != NULL)
            a->owners[i] = first[owner->id];
    }
}

/* ---- the whole ---- */

const struct nuc_explain_cycles *nuc_cycles_of_program(const struct nuc_graph *g, const struct nuc_model *lowered,
                                                       struct nuc_span program,
                                                       const struct nuc_node *const *instructions,
                                                       size_t n_instructions)
{
    struct nuc_context *cx = g->cx;
    struct attribution a = {.g = g, .lowered = lowered->lowered};
    struct nuc_explain_cycles *cycles = nuc_alloc(cx, sizeof *cycles);
    size_t n_ids = (size_t)g->next_id + 1;

    a.of = nuc_alloc_array(cx, n_ids, sizeof *a.of);
    a.owners = nuc_alloc_array(cx, n_instructions + 1, sizeof(struct nuc_node *));
    a.instructions = nuc_alloc_array(cx, n_instructions + 1, sizeof *a.instructions);
    a.by_id = nuc_alloc_array(cx, n_ids, sizeof(struct nuc_node *));
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        a.by_id[n->id] = n;
    struct nuc_sub_arena *sub = nuc_enter_sub_arena(cx);
    const struct nuc_profile *p =
        nuc_profile_read(cx, lowered->settings->target, nuc_program_view_made(cx, g->file, program), NULL);
    nuc_leave_sub_arena(cx, sub);
    for (size_t i = 0; i < p->n_rows; i++) {
        const struct nuc_profile_row *row = &p->rows[i];
        assert(row->instruction < n_instructions);
        const struct nuc_node *instruction = instructions[row->instruction];
        a.instructions[row->instruction] += row->cycles;
        if (row->kind == NUC_PROFILE_CPU) {
            add_operator(&a, row, instruction);
        } else if (row->kind == NUC_PROFILE_CALL) {
            a.partition = partition_of(a.lowered, instruction);
            add_boundary(&a, NUC_BOUNDARY_CALL, a.partition, NULL, row->cycles);
        } else {
            add_kernel(&a, row);
        }
    }
    move_to_first(&a, n_instructions);
    *cycles = (struct nuc_explain_cycles){.of = a.of,
                                          .npu = p->npu_cycles,
                                          .cpu = p->cycles - p->npu_cycles,
                                          .foreign = p->foreign,
                                          .boundaries = a.boundaries,
                                          .n_boundaries = (uint32_t)a.n_boundaries,
                                          .instructions = a.instructions,
                                          .owners = a.owners,
                                          .n_instructions = n_instructions};
    nuc_free_sub_arena(sub);
    return cycles;
}

struct writing {
    const struct nuc_model *lowered;
    struct nuc_graph *graph; /* that stands for its graph: writing a program rewrites it */
    struct nuc_program_memory_report report;
    struct nuc_span program;
};

/* Where things lie does not change what they take, and what delegates have is copied once where it is in no table. */
static void write_program(struct nuc_context *cx, void *arg)
{
    struct writing *w = arg;
    struct nuc_program_options options = nuc_plan_options(w->lowered->settings);

    (void)cx;
    options.delegate_data = NUC_DELEGATE_SEGMENT;
    options.plan_delegate_scratch = false;
    options.plan_effort = 1;
    options.report = &w->report;
    w->program = nuc_write_program(w->graph, &options);
}

/* Of a program that is written for it from a copy of the graph. NULL: none can be written. */
static const struct nuc_explain_cycles *cycles_of_lowered(const struct nuc_graph *g, const struct nuc_model *lowered)
{
    const struct nuc_explain_cycles *cycles = NULL;

    struct nuc_sub_arena *sub = nuc_enter_sub_arena(g->cx);
    struct writing w = {.lowered = lowered, .graph = nuc_graph_copy(lowered->graph)};
    enum nuc_status status = nuc_attempt(g->cx, write_program, &w);
    nuc_leave_sub_arena(g->cx, sub);
    if (status == NUC_OK)
        cycles = nuc_cycles_of_program(g, lowered, w.program, w.report.nodes, w.report.n_instructions);
    nuc_free_sub_arena(sub);
    return cycles;
}

uint64_t nuc_cycles_with(const struct nuc_model *lowered, struct nuc_graph *graph)
{
    struct nuc_context *cx = graph->cx;
    struct writing w = {.lowered = lowered, .graph = graph};
    uint64_t cycles = 0;

    struct nuc_sub_arena *sub = nuc_enter_sub_arena(cx);
    if (nuc_attempt(cx, write_program, &w) == NUC_OK)
        cycles =
            nuc_profile_read(cx, lowered->settings->target, nuc_program_view_made(cx, graph->file, w.program), NULL)
                ->cycles;
    nuc_leave_sub_arena(cx, sub);
    nuc_free_sub_arena(sub);
    return cycles;
}

/* ---- partitioned models, as they are lowered ---- */

struct lowering {
    struct nuc_model *partitioned, *lowered;
    enum nuc_stage last; /* with a memory budget, as far as it asks for strips */
};

static void lower(struct nuc_context *cx, void *arg)
{
    struct lowering *l = arg;

    (void)cx;
    l->lowered = nuc_advance(l->partitioned, NUC_STAGE_DELEGATE, l->last);
}

struct nuc_explanation *nuc_explain_lowered(struct nuc_model *m, const struct nuc_model *lowered,
                                            const struct nuc_explain_cycles *cycles)
{
    const struct nuc_settings *s = m->settings;
    struct nuc_explanation *e = nuc_explain_graph(m->graph, m->partitions, s->target, s->flavor, cycles);
    const bool *in_float = lowered != NULL ? lowered->lowered->in_float : NULL;

    e->delegates = s->delegates;
    e->weighed = s->weighed;
    for (uint32_t i = 0; i < e->n_rows; i++) {
        struct nuc_explain_row *row = &e->rows[i];
        bool on_cpu = row->is_operator && row->partition == NULL;
        row->in_float = on_cpu && in_float != NULL && in_float[row->node->id];
        row->by_measure =
            row->in_float && s->weighed != NULL && s->weighed->count > 1 && nuc_cortexm_has_kernel(row->node->op);
        if (on_cpu && nuc_is_counted(row->node))
            e->n_on_cpu[row->in_float ? NUC_NUMBERS_FLOAT : nuc_numbers_of(row->node)]++;
    }
    nuc_count_int8(e->n_on_cpu, e->n_operators - e->n_delegated);
    e->stream = m->stream;
    const struct nuc_states states = nuc_states_of(lowered != NULL ? lowered->graph : m->graph);
    e->states = nuc_alloc_array(e->cx, states.count, sizeof *e->states);
    for (uint32_t i = 0; i < states.count; i++) {
        const struct nuc_node *n = states.nodes[i];
        e->states[e->n_states++] = (struct nuc_explain_state){nuc_strdup(e->cx, n->target), nuc_bytes(&n->vals[0])};
    }
    if (lowered == NULL)
        return e;
    const struct nuc_program_report *r = &lowered->lowered->report;
    e->plain_arena = r->plain_arena;
    e->least_arena = r->least_arena;
    e->n_strips = (uint32_t)r->n_strips;
    e->n_strip_stages = (uint32_t)r->n_strip_stages;
    e->strip_cycles = r->strip_cycles;
    return e;
}

struct nuc_explanation *nuc_explain_partitioned(struct nuc_model *m, bool with_cycles)
{
    const struct nuc_settings *s = m->settings;
    const bool strips = with_cycles && !s->trial && s->o.memory_budget > 0;
    const struct nuc_explain_cycles *cycles = NULL;
    if (strips && s->target->cpu == NULL)
        nuc_warn(m->c->cx, "--memory-budget has no effect here: %s has no int8 kernels on the CPU, compile compares it",
                 s->target->name);
    struct lowering l = {.partitioned = m, .last = strips ? NUC_STAGE_STRIPS : NUC_STAGE_BOUNDARY};

    struct nuc_sub_arena *sub = nuc_enter_sub_arena(m->c->cx);
    /* A model that cannot be lowered is explained by estimates: its compilation says why. */
    if (with_cycles && nuc_attempt(m->c->cx, lower, &l) != NUC_OK)
        l.lowered = NULL;
    nuc_leave_sub_arena(m->c->cx, sub);
    if (l.lowered != NULL)
        cycles = cycles_of_lowered(m->graph, l.lowered);
    struct nuc_explanation *e = nuc_explain_lowered(m, l.lowered, cycles);
    nuc_free_sub_arena(sub);
    return e;
}

/* Those that nuc_explain_partitioned() has, from the program alone; 0: neither it nor decisions are there. */
static void count_cycles(struct nuc_model *partitioned, void *arg)
{
    struct lowering l = {.partitioned = partitioned, .last = NUC_STAGE_BOUNDARY};
    uint64_t *cycles = arg;

    *cycles = 0;
    if (nuc_attempt(partitioned->c->cx, lower, &l) == NUC_OK)
        *cycles = nuc_cycles_with(l.lowered, l.lowered->graph);
    if (*cycles == 0 && partitioned->partitions->decisions != NULL)
        *cycles = nuc_explained_cycles(nuc_explain_partitioned(partitioned, false));
}

static void plan_memory(struct nuc_model *partitioned, void *arg)
{
    struct lowering l = {.partitioned = partitioned, .last = NUC_STAGE_BOUNDARY};
    size_t *bytes = arg;

    if (nuc_attempt(partitioned->c->cx, lower, &l) == NUC_OK)
        *bytes = nuc_plan_one_pool(l.lowered);
}

size_t nuc_planned_memory(const struct nuc_model *partitioned)
{
    const struct nuc_options own = partitioned->settings->o;
    size_t bytes = SIZE_MAX;

    return nuc_trial(partitioned, &own, plan_memory, &bytes) == NUC_OK ? bytes : SIZE_MAX;
}

bool nuc_count_cycles(const struct nuc_model *partitioned, uint64_t *cycles)
{
    struct nuc_options own = partitioned->settings->o;

    own.converter = NULL; /* whose kernels have no cycles */
    return nuc_trial(partitioned, &own, count_cycles, cycles) == NUC_OK;
}
