/* From archive to file: the path of a model in one function. */
#include <string.h>

#include "compiler/driver/driver.h"
#include "compiler/export/pt2_write.h"
#include "host/file.h"

struct compile_call {
    struct nuc_compiler *c;
    const char *model, *calibration, *output;
};

static const char *const stage_names[] = {"import",      "aten-passes", "quantize", "edge",
                                          "edge-passes", "partition",   "lower",    "all"};

static void check_stage_name(struct nuc_compiler *c)
{
    const char *wanted = c->options.dump_after;

    if (wanted == NULL)
        return;
    for (size_t i = 0; i < sizeof stage_names / sizeof stage_names[0]; i++) {
        if (strcmp(stage_names[i], wanted) == 0)
            return;
    }
    nuc_fail(c->cx, NUC_BAD_USAGE,
             "--dump-after: '%s' is no stage; the stages are: import, aten-passes, quantize, edge, edge-passes, "
             "partition, lower, or all",
             wanted);
}

/* The samples are let go before conversion, which takes memory of its own. */
static struct nuc_model *calibrated_model(struct nuc_compiler *c, struct nuc_model *m, const char *calibration)
{
    struct nuc_sub_arena *sub = nuc_enter_sub_arena(c->cx);
    struct nuc_dataset *samples = nuc_dataset_read(c, calibration);
    nuc_leave_sub_arena(c->cx, sub);
    struct nuc_model *prepared = nuc_stage_prepare(m);

    nuc_stage_calibrate(prepared, samples);
    nuc_free_sub_arena(sub);
    return nuc_stage_convert(prepared);
}

static struct nuc_model *quantized_model(struct compile_call *call)
{
    struct nuc_compiler *c = call->c;
    struct nuc_model *m = nuc_stage_import(c, call->model);

    nuc_check_dim_orders(m->graph, true);
    if (nuc_model_is_quantized(m)) {
        if (call->calibration != NULL)
            nuc_warn(c->cx, "%s: is quantized already; the calibration data is not used", call->model);
        nuc_tell_idle_quantization(c, call->model);
        return m;
    }
    if (call->calibration == NULL)
        nuc_fail(c->cx, NUC_BAD_USAGE,
                 "%s: is a float model: give samples with --calibration DATA, or a quantized model", call->model);
    return calibrated_model(c, m, call->calibration);
}

static void check_payload_version(struct nuc_compiler *c)
{
    if (c->options.payload_version_0 && c->options.profile)
        nuc_fail(c->cx, NUC_BAD_USAGE, "--payload-version 0 has no place for profiles: leave --profile out");
}

static void compile(struct nuc_context *cx, void *arg)
{
    struct compile_call *call = arg;
    struct nuc_compiler *c = call->c;

    /* Mistakes in the options are told before any work. */
    nuc_target_find(cx, c->options.target);
    c->options.converter_flavor = nuc_flavor_find(cx, c->options.converter_flavor)->name;
    check_stage_name(c);
    check_payload_version(c);
    nuc_tell_idle_options(c);

    struct nuc_model *quantized = quantized_model(call);
    struct nuc_model *partitioned = nuc_stage_partition(quantized);
    if (c->options.require_full_delegation)
        nuc_require_full_delegation(partitioned);
    struct nuc_model *lowered = nuc_stage_lower(partitioned);
    struct nuc_span bytes = nuc_stage_program(lowered);
    nuc_write_kernel_selection(lowered);
    nuc_write_memory_map(c);
    nuc_check_memory_budget(c, call->model);
    double started = nuc_seconds();
    nuc_write_file(cx, call->output, bytes);
    nuc_stage_done(c, "write", NULL, started);
}

enum nuc_status nuc_compile_file(struct nuc_compiler *c, const char *model, const char *calibration, const char *output)
{
    struct compile_call call = {c, model, calibration, output};

    return nuc_enter(c, compile, &call);
}

struct quantize_call {
    struct nuc_compiler *c;
    const char *model, *calibration, *output;
};

static void quantize(struct nuc_context *cx, void *arg)
{
    struct quantize_call *call = arg;
    struct nuc_compiler *c = call->c;

    if (call->calibration == NULL)
        nuc_fail(cx, NUC_BAD_USAGE, "%s: give samples to quantize it with", call->model);
    nuc_target_find(cx, c->options.target);
    struct nuc_model *m = nuc_stage_import(c, call->model);
    struct nuc_model *quantized = calibrated_model(c, m, call->calibration);
    double started = nuc_seconds();
    nuc_write_file(cx, call->output, nuc_write_pt2(quantized->graph));
    nuc_stage_done(c, "write", NULL, started);
}

enum nuc_status nuc_quantize_file(struct nuc_compiler *c, const char *model, const char *calibration,
                                  const char *output)
{
    struct quantize_call call = {c, model, calibration, output};

    return nuc_enter(c, quantize, &call);
}
