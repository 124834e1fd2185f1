/* nuc_compile_network(): one quantization and one compilation, and what they left. */
#include "introspect/network_private.h"

#include "driver/node_cycles.h"
#include "driver/pipeline.h"
#include "driver/trials/explain_options.h"

static void add_missed(struct nuc_network *net, const char *text)
{
    net->missed = net->missed == NULL ? text : nuc_format(net->cx, "%s; %s", net->missed, text);
}

static void quantize(struct nuc_network *net)
{
    struct nuc_job *j = &net->job;

    net->made_up =
        !nuc_model_is_quantized(j->m) && !nuc_has_samples(net->calibration) && !j->m->settings->o.no_quantize;
    if (net->made_up) {
        nuc_warn(net->cx,
                 "%s: is a float model without calibration samples: its ranges are made up, so that there are "
                 "no figures of accuracy",
                 nuc_model_file(j->m));
        j->m = nuc_quantize_random(j->m);
        return;
    }
    nuc_check_model(j, net->calibration);
    nuc_quantize_if_asked(j, net->calibration);
}

static void check_budget(struct nuc_context *cx, void *arg)
{
    (void)cx;
    nuc_check_memory_budget(arg);
}

struct nuc_network *nuc_compile_network(struct nuc_model *m, struct nuc_sample_source calibration)
{
    struct nuc_network *net = nuc_alloc(m->c->cx, sizeof *net);

    *net = (struct nuc_network){
        .c = m->c, .cx = m->c->cx, .calibration = calibration, .model = m, .job = {.c = m->c, .m = m}};
    struct nuc_job *j = &net->job;
    quantize(net);
    net->quantized = j->m;
    nuc_run_stages(j, NUC_STAGE_STREAM, NUC_STAGE_PARTITION);
    net->partitioned = j->m;
    nuc_run_stages(j, NUC_STAGE_DELEGATE, NUC_STAGE_PROGRAM);
    net->cycles = nuc_cycles_of_program(net->partitioned->graph, j->m, j->made.bytes, j->made.instructions,
                                        j->made.n_instructions);
    net->e = nuc_explain_lowered(net->partitioned, j->m, net->cycles);
    net->e->made_up_ranges = net->made_up;
    nuc_try_changes(&(struct nuc_trying){net->cx, net->partitioned, net->quantized, net->calibration, net->e});
    nuc_remember(j);
    nuc_rehearse_program(j);
    const struct nuc_explanation *e = net->e;
    if (net->model->settings->o.require_full_delegation && e->n_delegated < e->n_operators)
        add_missed(net,
                   nuc_format(net->cx, "%s: %u of %u operators stay on the CPU, all must be delegated; the first is %s",
                              e->file, e->n_operators - e->n_delegated, e->n_operators, nuc_explain_first(net->cx, e)));
    /* A program that is too large has figures all the same. */
    if (nuc_attempt(net->cx, check_budget, &net->job) != NUC_OK)
        add_missed(net, nuc_strdup(net->cx, net->cx->message));
    nuc_list_network_nodes(net);
    nuc_measure_network_nodes(net);
    return net;
}

struct nuc_network_facts nuc_network_facts(const struct nuc_network *net)
{
    return (struct nuc_network_facts){
        .program = net->job.made.bytes.data,
        .program_size = net->job.made.bytes.size,
        .report = &net->job.made.report,
        .missed = net->missed,
        .quantized = net->quantized,
        .made_up = net->made_up,
        .n_measured = net->n_measured,
        .nodes = net->nodes,
        .n_nodes = net->n_nodes,
    };
}
