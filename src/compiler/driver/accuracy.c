/* What prepared models do for accuracy before samples are observed. */
#include "compiler/driver/driver.h"
#include "compiler/quantize/bias_correction.h"
#include "compiler/quantize/equalize.h"

void nuc_begin_calibration(struct nuc_model *prepared)
{
    const struct nuc_options *o = &prepared->c->options;
    const struct nuc_target *target = nuc_target_find(prepared->c->cx, o->target);
    bool with_npu = target->npu_name != NULL && o->delegate;
    struct nuc_quantize_options options = {
        .side = target->cpu != NULL && !with_npu ? NUC_SIDE_CPU : NUC_SIDE_NPU,
        .reference_compat = o->reference_compat,
        .threads = o->threads,
        .observer = o->observer,
        .weights = o->weights,
        .bias_correction = o->reference_compat ? NUC_BIAS_CORRECTION_OFF : o->bias_correction,
    };

    if (options.bias_correction != NUC_BIAS_CORRECTION_OFF)
        nuc_add_biases(prepared->graph);
    if (target->cpu != NULL && with_npu) {
        options.ends_on_cpu_user = nuc_find_cpu_nodes(prepared, &options);
        options.ends_on_cpu = nuc_is_cpu_node;
    }
    prepared->calibration = nuc_quantize_prepare(prepared->graph, &options);
}

void nuc_equalize_model(struct nuc_model *prepared, struct nuc_dataset *samples)
{
    struct nuc_compiler *c = prepared->c;

    if (!c->options.equalize || prepared->equalized)
        return;
    prepared->equalized = true;
    double started = nuc_seconds();
    struct nuc_equalizer *e = nuc_equalize_prepare(prepared->graph, c->options.threads);
    const void **inputs = nuc_alloc_array(c->cx, samples->n_inputs, sizeof(void *));
    for (size_t k = 0; k < samples->n_samples && nuc_equalize_wants_samples(e); k++) {
        nuc_dataset_read_sample(samples, k, inputs);
        nuc_equalize_sample(e, inputs);
    }
    if (nuc_equalize_apply(e) == 0)
        nuc_warn(c->cx, "%s: no two layers follow each other such that they could be equalised", prepared->graph->file);
    else
        nuc_begin_calibration(prepared);
    nuc_stage_done(c, "equalize", prepared->graph, started);
}
