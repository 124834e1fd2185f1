/* LiteRT models with what the NPU takes converted. */
#include "compiler/driver/driver.h"
#include "compiler/neutron/container/container.h"
#include "host/file.h"

struct convert_call {
    struct nuc_compiler *c;
    const char *model, *output;
    const struct nuc_convert_model_options *options;
    struct nuc_convert_report report;
};

static void fill_report(struct nuc_context *cx, const struct nuc_lt_model *before, const struct nuc_lt_model *after,
                        const struct nuc_container_report *r, struct nuc_convert_report *out)
{
    uint32_t n_outside = r->n_ops - r->n_inside;
    const char **outside = nuc_alloc_array(cx, n_outside, sizeof *outside);
    const struct nuc_lt_subgraph *s = &after->subgraphs[0];

    for (uint32_t i = 0; i < n_outside; i++) {
        const struct nuc_container_outside *o = &r->outside[i];
        outside[i] = nuc_format(cx, "operator %u (%s): %s", o->op,
                                nuc_lt_code_name(cx, before->subgraphs[0].ops[o->op].code), o->reason);
    }
    *out = (struct nuc_convert_report){
        .n_graphs = r->n_graphs, .n_operators = r->n_ops, .n_inside = r->n_inside, .outside = outside};
    for (uint32_t i = 0; i < s->n_ops && out->n_graphs > 0; i++) {
        if (!nuc_is_neutron_graph(&s->ops[i]))
            continue;
        size_t scratch = nuc_neutron_graph_read(cx, after, i).header.scratch;
        out->scratch = scratch > out->scratch ? scratch : out->scratch;
    }
}

static void convert(struct nuc_context *cx, void *arg)
{
    struct convert_call *call = arg;
    struct nuc_container_options options = {.target = nuc_target_find(cx, call->c->options.target)};
    struct nuc_container_report report;
    double started = nuc_seconds();

    if (options.target->npu_name == NULL)
        nuc_fail(cx, NUC_BAD_USAGE, "--target: %s has no NPU to convert for: use imxrt700", options.target->name);
    options.convert.costs = options.target->npu;
    if (call->options != NULL) {
        options.min_ops = (uint32_t)call->options->min_operators;
        options.convert.profile = call->options->profile;
        options.convert.fetch_constants = call->options->fetch_constants_to_sram;
    }
    const struct nuc_lt_model *m = nuc_lt_read(cx, call->model, nuc_map_file(cx, call->model));
    started = nuc_stage_done(call->c, "read", NULL, started);
    struct nuc_lt_model *converted = nuc_container_build(cx, m, &options, &report);
    started = nuc_stage_done(call->c, "convert", NULL, started);
    fill_report(cx, m, converted, &report, &call->report);
    nuc_write_file(cx, call->output, nuc_lt_write(converted));
    nuc_stage_done(call->c, "write", NULL, started);
}

enum nuc_status nuc_convert_model(struct nuc_compiler *c, const char *model, const char *output,
                                  const struct nuc_convert_model_options *options, struct nuc_convert_report *report)
{
    struct convert_call call = {c, model, output, options, {.n_graphs = 0}};
    enum nuc_status s = nuc_enter(c, convert, &call);

    if (s == NUC_OK && report != NULL)
        *report = call.report;
    return s;
}
