#include "introspect/trial.h"

#include "driver/lowered.h"
#include "eval/sequence.h"
#include "npu/target/target.h"

struct nuc_model *nuc_model_to_try(const struct nuc_model *m)
{
    struct nuc_model *tried = nuc_alloc(m->c->cx, sizeof *tried);

    *tried = *m;
    tried->settings = nuc_settings(m->c);
    nuc_check_input_orders(tried);
    return tried;
}

struct nuc_choices nuc_model_choices(const struct nuc_model *m)
{
    const struct nuc_settings *s = m->settings;

    return (struct nuc_choices){
        .options = &s->o,
        .is_litert = m->from_litert,
        .takes_images = !m->from_litert && nuc_takes_images(m->graph),
        .delegates = s->delegates,
        .compares_widths = s->target->cpu != NULL && !s->o.reference_compat && !s->o.no_quantize &&
                           !s->o.executorch_ops_only && s->o.observer == NUC_OBSERVE_AUTO &&
                           s->o.accuracy != NUC_ACCURACY_FAST,
        .chooses_kernels = s->delegates && s->row->named == NUC_CPU_AUTO && !s->o.reference_compat,
        .may_place = s->delegates && !s->o.reference_compat && !s->o.require_full_delegation &&
                     s->flavor->rules != NUC_RULES_SDK_3_1,
    };
}

int64_t nuc_values_per_run(const struct nuc_model *m)
{
    int64_t values = 0;

    for (const struct nuc_node *n = m->graph->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; i < n->n_vals && nuc_is_call(n); i++)
            values += nuc_elements(&n->vals[i]);
    }
    return values;
}

struct nuc_model *nuc_model_apart(const struct nuc_model *m)
{
    struct nuc_model *apart = nuc_alloc(m->c->cx, sizeof *apart);

    *apart = *m;
    apart->evaluator = nuc_eval_new_observed(m->graph, m->settings->o.threads, NULL);
    apart->sequence = nuc_sequence_new(m->graph);
    apart->boundary = NULL;
    return apart;
}

/* ---- a compilation ---- */

struct attempt {
    struct nuc_sample_source calibration;
    enum nuc_samples part;
    void (*use)(void *user, const struct nuc_tried_program *program);
    void *user;
};

static void compile(struct nuc_model *m, void *arg)
{
    const struct attempt *a = arg;
    struct nuc_settings settings = *m->settings;
    struct nuc_job j = {.c = m->c, .m = m};

    settings.trial = false; /* placement weighs less in a trial than in a compilation */
    m->settings = &settings;
    if (nuc_has_samples(a->calibration))
        nuc_quantize_with(&j, a->calibration, a->part);
    nuc_run_stages(&j, NUC_STAGE_STREAM, NUC_STAGE_PARTITION);
    if (settings.o.require_full_delegation)
        nuc_require_full_delegation(j.m);
    nuc_run_stages(&j, NUC_STAGE_DELEGATE, NUC_STAGE_PROGRAM);
    nuc_rehearse_program(&j);
    const struct nuc_tried_program made = {j.made.bytes.data, j.made.bytes.size, &j.made.report};
    a->use(a->user, &made);
}

enum nuc_status nuc_try_program(const struct nuc_model *m, const struct nuc_options *as,
                                struct nuc_sample_source calibration, enum nuc_samples part,
                                void (*use)(void *user, const struct nuc_tried_program *program), void *user)
{
    struct attempt a = {calibration, part, use, user};
    struct nuc_options quiet = *as;
    const struct nuc_stage_seconds seconds = m->c->seconds; /* without those of the trial */

    quiet.dump = NULL;
    enum nuc_status status = nuc_trial(m, &quiet, compile, &a);
    m->c->seconds = seconds;
    return status;
}
