/* Where nodes run and why. */
#include "driver/lower_model.h"
#include "driver/node_cycles.h"
#include "driver/trials/explain_options.h"
#include "driver/trials/explain_trials.h"
#include "npu/target/target.h"

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

static void take_strips(struct nuc_explanation *e, const struct nuc_program_report *r)
{
    e->plain_arena = r->plain_arena;
    e->least_arena = r->least_arena;
    e->n_strips = (uint32_t)r->n_strips;
    e->n_strip_stages = (uint32_t)r->n_strip_stages;
    e->strip_cycles = r->strip_cycles;
}

static void list_states(struct nuc_explanation *e, const struct nuc_graph *g)
{
    const struct nuc_states states = nuc_states_of(g);

    e->states = nuc_alloc_array(e->cx, states.count, sizeof *e->states);
    for (uint32_t i = 0; i < states.count; i++) {
        const struct nuc_node *n = states.nodes[i];
        e->states[e->n_states++] = (struct nuc_explain_state){nuc_strdup(e->cx, n->target), nuc_bytes(&n->vals[0])};
    }
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
        if (on_cpu && nuc_is_counted(row->node))
            e->n_on_cpu[row->in_float ? NUC_NUMBERS_FLOAT : nuc_numbers_of(row->node)]++;
    }
    nuc_count_int8(e->n_on_cpu, e->n_operators - e->n_delegated);
    e->stream = m->stream;
    list_states(e, lowered != NULL ? lowered->graph : m->graph);
    if (lowered != NULL)
        take_strips(e, &lowered->lowered->report);
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
        cycles = nuc_cycles_of_lowered(m->graph, l.lowered);
    struct nuc_explanation *e = nuc_explain_lowered(m, l.lowered, cycles);
    nuc_free_sub_arena(sub);
    return e;
}

/* Those that nuc_explain_partitioned() has, from the program alone. */
static void count_cycles(struct nuc_model *partitioned, void *arg)
{
    struct lowering l = {.partitioned = partitioned, .last = NUC_STAGE_BOUNDARY};
    uint64_t *cycles = arg;

    *cycles = 0;
    if (nuc_attempt(partitioned->c->cx, lower, &l) == NUC_OK)
        *cycles = nuc_cycles_with(l.lowered, l.lowered->graph);
    if (*cycles == 0)
        *cycles = nuc_explained_cycles(nuc_explain_partitioned(partitioned, false));
}

bool nuc_count_cycles(const struct nuc_model *partitioned, uint64_t *cycles)
{
    struct nuc_options own = partitioned->settings->o;

    own.converter = NULL; /* whose kernels have no cycles */
    return nuc_trial(partitioned, &own, count_cycles, cycles) == NUC_OK;
}

struct nuc_explanation *nuc_explain_model(struct nuc_model *m, bool with_cycles, struct nuc_sample_source calibration)
{
    struct nuc_compiler *c = m->c;
    bool made_up = m->partitions == NULL && !nuc_model_is_quantized(m);

    if (m->lowered != NULL)
        nuc_fail(c->cx, NUC_BAD_USAGE, "%s: is lowered already: explain the model before", m->graph->file);
    if (made_up)
        m = nuc_quantize_random(m);
    struct nuc_model *quantized = m->partitions == NULL ? m : NULL;
    uint64_t window_cycles = 0;
    if (with_cycles && quantized != NULL && m->settings->o.stream != NULL &&
        !nuc_count_cycles(nuc_advance(quantized, NUC_STAGE_DIM_ORDER, NUC_STAGE_PARTITION), &window_cycles))
        window_cycles = 0;
    if (quantized != NULL)
        m = nuc_advance(quantized = nuc_advance(quantized, NUC_STAGE_STREAM, NUC_STAGE_STREAM), NUC_STAGE_DIM_ORDER,
                        NUC_STAGE_PARTITION);
    struct nuc_explanation *e = nuc_explain_partitioned(m, with_cycles);
    e->made_up_ranges = made_up;
    e->window_cycles = window_cycles;
    if (with_cycles && quantized != NULL && m->settings->delegates &&
        (m->settings->target->cpu != NULL || m->partitions->n_by_cost > 0))
        nuc_compare_placements(e, quantized, m->partitions);
    if (with_cycles && quantized != NULL)
        nuc_try_changes(&(struct nuc_trying){c->cx, m, quantized, calibration, e});
    if (m->dim_order_table != NULL && !m->settings->trial)
        c->dim_order_table = m->dim_order_table;
    return e;
}

enum nuc_status nuc_explain(struct nuc_model *m, const struct nuc_explain_options *options,
                            struct nuc_explain_result *out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_model_context(m), __func__, out != NULL);
        struct nuc_context *cx = m->c->cx;
        const struct nuc_sample_source calibration = {NULL, options != NULL ? options->calibration : NULL};
        struct nuc_explanation *e = nuc_explain_model(m, true, calibration);
        e->obstacles = m->refused;
        *out = (struct nuc_explain_result){
            .n_operators = e->n_operators,
            .n_delegated = e->n_delegated,
            .n_partitions = e->n_partitions,
            .cycles = nuc_explained_cycles(e),
            .lost_cycles = e->lost_cycles,
            .made_up_ranges = e->made_up_ranges,
            .least_arena = e->n_strips == 0 ? e->least_arena : 0,
            .first_on_cpu = nuc_explain_first(cx, e),
            .text = options != NULL && options->json ? nuc_explain_json(cx, e)
                                                     : nuc_explain_text(cx, e, options != NULL && options->all_nodes),
        };
    }
    return nuc_leave(&call);
}

void nuc_require_full_delegation(struct nuc_model *partitioned)
{
    struct nuc_context *cx = partitioned->c->cx;
    const struct nuc_explanation *e = nuc_explain_model(partitioned, false, (struct nuc_sample_source){NULL, NULL});

    if (e->n_delegated < e->n_operators)
        nuc_fail(cx, NUC_PROPERTY, "%s: %u of %u operators stay on the CPU, all must be delegated; the first is %s",
                 e->file, e->n_operators - e->n_delegated, e->n_operators, nuc_explain_first(cx, e));
}
