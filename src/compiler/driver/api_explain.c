/* Where nodes run and why; lists of operators and targets. */
#include "compiler/cortexm/cortexm.h"
#include "compiler/driver/driver.h"
#include "compiler/report/explain.h"
#include "compiler/report/list_operators.h"

struct lowering {
    struct nuc_model *partitioned, *lowered;
};

static void lower(struct nuc_context *cx, void *arg)
{
    struct lowering *l = arg;

    (void)cx;
    l->lowered = nuc_stage_lower(l->partitioned);
}

/* The kernel calls of all partitions; NULL when the model cannot be lowered, which its compilation will tell. */
static struct nuc_explain_call *kernel_calls(struct lowering *l, size_t *count)
{
    struct nuc_context *cx = l->partitioned->c->cx;
    struct nuc_explain_call *calls = NULL;
    size_t capacity = 0;

    *count = 0;
    if (nuc_try(cx, lower, l) != NUC_OK)
        return NULL;
    calls = nuc_grow(cx, calls, &capacity, 1, sizeof *calls);
    for (size_t i = 0; i < nuc_model_n_partitions(l->lowered); i++) {
        const struct nuc_lowered_partition *p = &l->lowered->lowered[i];
        calls = nuc_grow(cx, calls, &capacity, *count + p->image->n_calls + 1, sizeof *calls);
        for (uint32_t k = 0; k < p->image->n_calls; k++)
            calls[(*count)++] = (struct nuc_explain_call){p->sources[k] != NULL ? p->sources[k]->name : NULL,
                                                          p->image->calls[k].cycles};
    }
    return calls;
}

/* Operators of the partitioned model that compute in float in the lowered one. */
static void mark_float(struct nuc_explanation *e, const struct nuc_model *lowered)
{
    for (const struct nuc_node *n = lowered->graph->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; nuc_is_float_operator(n) && i < e->n_rows; i++) {
            struct nuc_explain_row *row = &e->rows[i];
            if (row->node->id + 1 != n->source.origin || !row->is_operator || row->in_float)
                continue;
            row->in_float = true;
            e->n_float++;
        }
    }
}

static struct nuc_explanation *explain_partitioned(struct nuc_model *m, bool with_cycles)
{
    struct nuc_compiler *c = m->c;
    const struct nuc_target *target = nuc_target_find(c->cx, c->options.target);
    struct lowering l = {.partitioned = m};
    size_t n_calls = 0;

    for (struct nuc_node *n = m->graph->first; n != NULL; n = n->next)
        n->source.origin = n->id + 1;
    struct nuc_explain_call *calls = with_cycles ? kernel_calls(&l, &n_calls) : NULL;
    struct nuc_explanation *e = nuc_explain_graph(m->graph, m->partitions, target,
                                                  nuc_flavor_find(c->cx, c->options.converter_flavor), calls, n_calls);
    if (target->cpu != NULL && l.lowered != NULL)
        mark_float(e, l.lowered);
    return e;
}

/* Cycles under either placement: those of `e`, and those of the quantized model placed the other way. */
static void compare_placements(struct nuc_explanation *e, struct nuc_model *quantized)
{
    struct nuc_compiler *c = quantized->c;
    enum nuc_placement used = c->options.placement;
    bool greedy = used == NUC_PLACEMENT_GREEDY;
    bool was_trial = c->trial;

    c->trial = true;
    c->options.placement = greedy ? NUC_PLACEMENT_COST : NUC_PLACEMENT_GREEDY;
    const struct nuc_explanation *other = explain_partitioned(nuc_stage_partition(quantized), true);
    c->options.placement = used;
    c->trial = was_trial;
    e->greedy_cycles = (greedy ? e->npu_cycles : other->npu_cycles) + (greedy ? e->cpu_cycles : other->cpu_cycles);
    e->cost_cycles = (greedy ? other->npu_cycles : e->npu_cycles) + (greedy ? other->cpu_cycles : e->cpu_cycles);
}

struct nuc_explanation *nuc_explain_model(struct nuc_model *m, bool with_cycles)
{
    struct nuc_compiler *c = m->c;
    const struct nuc_target *target = nuc_target_find(c->cx, c->options.target);
    bool made_up = m->partitions == NULL && !nuc_model_is_quantized(m);

    if (m->lowered != NULL)
        nuc_fail(c->cx, NUC_BAD_USAGE, "%s: is lowered already: explain the model before", m->graph->file);
    if (made_up)
        m = nuc_stage_quantize_random(m);
    struct nuc_model *quantized = m->partitions == NULL ? m : NULL;
    if (quantized != NULL)
        m = nuc_stage_partition(quantized);
    struct nuc_explanation *e = explain_partitioned(m, with_cycles);
    if (with_cycles && quantized != NULL && target->cpu != NULL && target->npu_name != NULL && c->options.delegate)
        compare_placements(e, quantized);
    e->made_up_ranges = made_up;
    return e;
}

struct explain_call {
    struct nuc_model *m;
    const struct nuc_explain_options *options;
    struct nuc_explain_result *out;
};

static void explain(struct nuc_context *cx, void *arg)
{
    struct explain_call *call = arg;
    const struct nuc_explanation *e = nuc_explain_model(call->m, true);

    *call->out = (struct nuc_explain_result){
        .n_operators = e->n_operators,
        .n_delegated = e->n_delegated,
        .n_partitions = e->n_partitions,
        .cycles = e->npu_cycles + e->cpu_cycles,
        .lost_cycles = e->lost_cycles,
        .made_up_ranges = e->made_up_ranges,
        .first_on_cpu = nuc_explain_first(cx, e),
        .text = call->options->json ? nuc_explain_json(cx, e) : nuc_explain_text(cx, e, call->options->all_nodes),
    };
}

enum nuc_status nuc_explain(struct nuc_model *m, const struct nuc_explain_options *options,
                            struct nuc_explain_result *out)
{
    const struct nuc_explain_options none = {.json = false};
    struct explain_call call = {m, options != NULL ? options : &none, out};

    return nuc_enter(m->c, explain, &call);
}

void nuc_require_full_delegation(struct nuc_model *partitioned)
{
    struct nuc_context *cx = partitioned->c->cx;
    const struct nuc_explanation *e = nuc_explain_model(partitioned, false);

    if (e->n_delegated < e->n_operators)
        nuc_fail(cx, NUC_PROPERTY, "%s: %u of %u operators stay on the CPU, all must be delegated; the first is %s",
                 e->file, e->n_operators - e->n_delegated, e->n_operators, nuc_explain_first(cx, e));
}

/* ---- lists ---- */

struct list_call {
    struct nuc_compiler *c;
    bool markdown;
    const char *text;
};

static void list_operators(struct nuc_context *cx, void *arg)
{
    struct list_call *call = arg;

    call->text = call->markdown ? nuc_operators_markdown(cx)
                                : nuc_operators_text(cx, nuc_flavor_find(cx, call->c->options.converter_flavor));
}

enum nuc_status nuc_list_operators(struct nuc_compiler *c, bool markdown, const char **text)
{
    struct list_call call = {c, markdown, NULL};
    enum nuc_status s = nuc_enter(c, list_operators, &call);

    if (s == NUC_OK)
        *text = call.text;
    return s;
}

static void list_targets(struct nuc_context *cx, void *arg)
{
    struct list_call *call = arg;

    call->text = nuc_targets_text(cx);
}

enum nuc_status nuc_list_targets(struct nuc_compiler *c, const char **text)
{
    struct list_call call = {c, false, NULL};
    enum nuc_status s = nuc_enter(c, list_targets, &call);

    if (s == NUC_OK)
        *text = call.text;
    return s;
}
