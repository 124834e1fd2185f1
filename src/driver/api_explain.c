/* Where nodes run and why. */
#include "driver/node_cycles.h"
#include "driver/trials/explain_options.h"
#include "npu/target/target.h"

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
