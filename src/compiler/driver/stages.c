/*
 * The path of a model, stage by stage. Each stage works on a graph of its own, so that a model stays what it was; each
 * ends with nuc_stage_done(), which verifies and dumps.
 */
#include <string.h>

#include "compiler/driver/driver.h"
#include "compiler/import/pt2.h"
#include "compiler/import/tflite.h"
#include "compiler/import/zip.h"
#include "compiler/layout/orders.h"
#include "compiler/passes/passes.h"
#include "host/file.h"

void nuc_check_dim_orders(struct nuc_graph *g, bool inputs_only)
{
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        bool is_input = nuc_is_placeholder(n) && n->input_kind == NUC_USER_INPUT;
        for (uint32_t i = 0; i < n->n_vals && (is_input || (nuc_is_call(n) && !inputs_only)); i++) {
            const struct nuc_meta *m = &n->vals[i];
            if (nuc_is_usable_order(m))
                continue;
            nuc_fail(g->cx, NUC_UNSUPPORTED,
                     "%s: %s '%s' has %s: only contiguous and channels-last tensors are supported; export the model "
                     "with contiguous or channels-last example inputs",
                     g->file, is_input ? "input" : "tensor", n->name, nuc_meta_text(g->cx, m));
        }
    }
}

static bool is_litert(struct nuc_context *cx, const char *path)
{
    struct nuc_span bytes = nuc_map_file(cx, path);

    return bytes.size >= 8 && memcmp(bytes.data + 4, "TFL3", 4) == 0;
}

struct nuc_model *nuc_stage_import(struct nuc_compiler *c, const char *path)
{
    double started = nuc_seconds();
    bool litert = is_litert(c->cx, path);

    if (!litert && !nuc_is_zip(nuc_map_file(c->cx, path)))
        nuc_fail(c->cx, NUC_BAD_INPUT,
                 "%s: is neither a torch.export archive (.pt2) nor a LiteRT model (.tflite); 'nucleon inspect' "
                 "describes other files",
                 path);
    struct nuc_graph *g = litert ? nuc_import_tflite(c->cx, path) : nuc_import_pt2(c->cx, path);
    struct nuc_model *m = nuc_model_make(c, g);

    m->from_litert = litert;
    nuc_stage_done(c, "import", g, started);
    return m;
}

struct nuc_model *nuc_stage_prepare(struct nuc_model *m)
{
    struct nuc_compiler *c = m->c;

    if (nuc_model_is_quantized(m))
        nuc_fail(c->cx, NUC_BAD_USAGE, "%s: is quantized already: take it as it is", m->graph->file);
    double started = nuc_seconds();
    struct nuc_model *prepared = nuc_model_make(c, nuc_graph_copy(m->graph));
    bool npu = nuc_target_find(c->cx, c->options.target)->npu_name != NULL;
    enum nuc_pass_mode mode = !c->options.reference_compat ? NUC_PASSES_DEFAULT
                              : npu                        ? NUC_PASSES_COMPAT
                                                           : NUC_PASSES_COMPAT_CPU;
    const struct nuc_pass_hook hook = {nuc_pass_done, c};
    nuc_run_passes(prepared->graph, &nuc_aten_passes, mode, &hook);
    started = nuc_stage_done(c, "aten-passes", prepared->graph, started);
    nuc_begin_calibration(prepared);
    nuc_stage_done(c, "annotate", NULL, started);
    return prepared;
}

void nuc_stage_calibrate(struct nuc_model *prepared, struct nuc_dataset *samples)
{
    struct nuc_compiler *c = prepared->c;
    double started = nuc_seconds();

    if (prepared->calibration == NULL)
        nuc_fail(c->cx, NUC_BAD_USAGE, "%s: is not prepared for calibration", prepared->graph->file);
    nuc_dataset_bind_model(samples, prepared);
    nuc_equalize_model(prepared, samples);
    const void **inputs = nuc_alloc_array(c->cx, samples->n_inputs, sizeof(void *));
    for (size_t k = 0; k < samples->n_samples; k++) {
        nuc_dataset_read_sample(samples, k, inputs);
        nuc_quantize_sample(prepared->calibration, inputs);
        if (c->options.progress != NULL)
            c->options.progress(c->options.progress_user, "calibrate", k + 1, samples->n_samples);
    }
    nuc_stage_done(c, "calibrate", NULL, started);
}

struct nuc_model *nuc_stage_convert(struct nuc_model *prepared)
{
    struct nuc_compiler *c = prepared->c;
    double started = nuc_seconds();

    if (prepared->calibration == NULL)
        nuc_fail(c->cx, NUC_BAD_USAGE, "%s: is not prepared for calibration", prepared->graph->file);
    struct nuc_model *quantized = nuc_model_make(c, nuc_quantize_convert(prepared->calibration));
    quantized->graph->call_spec = prepared->graph->call_spec;
    nuc_stage_done(c, "quantize", quantized->graph, started);
    return quantized;
}

/* The caller's check of an Edge node, which sees it as compile.h shows nodes. */
static bool ask_caller(void *user, const struct nuc_node *node)
{
    struct nuc_model *m = user;
    struct nuc_node_info info;

    nuc_fill_node_info(m, node, &info);
    return m->c->options.check_op_support(m->c->options.check_op_support_user, &info);
}

/* What the options name, and what a LiteRT model has as single operators. */
static const char *const *preserved_ops(const struct nuc_model *m, size_t *count)
{
    const struct nuc_options *o = &m->c->options;
    size_t own = m->from_litert ? NUC_TFLITE_N_PRESERVED : 0;
    const char **list = nuc_alloc_array(m->c->cx, o->n_preserve_ops + own, sizeof *list);

    for (size_t i = 0; i < o->n_preserve_ops; i++)
        list[i] = o->preserve_ops[i];
    for (size_t i = 0; i < own; i++)
        list[o->n_preserve_ops + i] = nuc_tflite_preserved[i];
    *count = o->n_preserve_ops + own;
    return list;
}

static struct nuc_model *partition(struct nuc_model *quantized, const struct nuc_variant *variant,
                                   struct nuc_preserved *preserved)
{
    size_t n_preserved;
    struct nuc_compiler *c = quantized->c;
    const struct nuc_options *o = &c->options;
    struct nuc_model *m = nuc_model_make(c, nuc_graph_copy(quantized->graph));
    struct nuc_partition_options options = {
        .target = nuc_target_find(c->cx, o->target),
        .flavor = nuc_flavor_find(c->cx, o->converter_flavor),
        .no_delegate = !o->delegate || nuc_target_find(c->cx, o->target)->npu_name == NULL,
        .operators_not_to_delegate = o->operators_not_to_delegate,
        .n_operators_not_to_delegate = (uint32_t)o->n_operators_not_to_delegate,
        .reference_compat = o->reference_compat,
        .allow_no_op_partitions = o->allow_no_op_partitions,
        .force_delegate_cat = o->force_delegate_cat,
        .check_op_support = o->check_op_support != NULL ? ask_caller : NULL,
        .check_op_support_user = m,
    };
    struct nuc_edge_options edge = {
        .preserve_ops = preserved_ops(quantized, &n_preserved),
        .target = options.target,
        .flavor = options.flavor,
        .check_op_support = options.check_op_support,
        .check_op_support_user = m,
        .preserved = preserved,
        .reference_compat = o->reference_compat,
        .keep_for_cpu = options.target->cpu != NULL,
        .keep_prelu = !o->executorch_ops_only && !o->reference_compat,
    };
    const struct nuc_pass_hook hook = {nuc_pass_done, c};
    double started = nuc_seconds();

    edge.n_preserve_ops = n_preserved;
    m->from_litert = quantized->from_litert;
    /* An alias is told once. */
    c->options.converter_flavor = options.flavor->name;
    m->variant = *variant;
    nuc_check_dim_orders(m->graph, true);
    const struct nuc_meta *outputs = nuc_output_metas(m->graph);
    nuc_to_edge(m->graph, &edge);
    if (m->from_litert)
        nuc_restore_output_orders(m->graph, outputs);
    if (!o->reference_compat)
        nuc_run_passes(m->graph, &nuc_order_passes, NUC_PASSES_DEFAULT, &hook);
    started = nuc_stage_done(c, "edge", m->graph, started);
    if (options.flavor->rules == NUC_RULES_SDK_3_1)
        nuc_run_passes(m->graph, &nuc_edge_passes, NUC_PASSES_SDK_3_1, &hook);
    else if (options.target->npu_name != NULL)
        nuc_run_passes(m->graph, &nuc_edge_passes, NUC_PASSES_DEFAULT, &hook);
    if (!o->reference_compat) {
        nuc_run_passes(m->graph, &nuc_plain_passes, NUC_PASSES_DEFAULT, &hook);
        nuc_run_passes(m->graph, &nuc_cluster_passes, NUC_PASSES_DEFAULT, &hook);
    }
    started = nuc_stage_done(c, "edge-passes", m->graph, started);
    m->partitions = nuc_place(m, &options);
    nuc_stage_done(c, "partition", m->graph, started);
    return m;
}

/* Marks the preserved operators that stayed on the CPU, which has no kernels for them. */
static bool mark_undelegated(const struct nuc_model *m, struct nuc_preserved *preserved)
{
    bool any = false;

    for (uint32_t i = 0; i < preserved->count; i++) {
        struct nuc_preserved_op *op = &preserved->ops[i];
        const struct nuc_decision *d = op->id < m->partitions->n_by_id ? m->partitions->by_id[op->id] : NULL;
        op->decompose = op->decompose || (d != NULL && !d->delegated);
        any = any || (d != NULL && !d->delegated);
    }
    return any;
}

/* Operators that were preserved in vain are decomposed in another round; the reference leaves them. */
struct nuc_model *nuc_stage_partition_as(struct nuc_model *quantized, const struct nuc_variant *variant)
{
    struct nuc_preserved preserved = {.count = 0};

    if (variant->order != NUC_DIM_ORDER_AS_IS) {
        quantized = nuc_model_make(quantized->c, nuc_graph_copy(quantized->graph));
        nuc_convert_orders(quantized->graph, variant->order == NUC_DIM_ORDER_CHANNELS_LAST);
    }
    struct nuc_model *m = partition(quantized, variant, &preserved);

    while (!quantized->c->options.reference_compat && mark_undelegated(m, &preserved))
        m = partition(quantized, variant, &preserved);
    return m;
}

struct nuc_model *nuc_stage_partition(struct nuc_model *quantized)
{
    const struct nuc_options *o = &quantized->c->options;
    struct nuc_variant variant = {o->dim_order, o->use_neutron_for_format_conversion};

    nuc_check_dim_orders(quantized->graph, true);
    if (o->dim_order == NUC_DIM_ORDER_AUTO)
        variant = nuc_choose_variant(quantized);
    return nuc_stage_partition_as(quantized, &variant);
}

/* ---- the same as library calls ---- */

struct model_call {
    struct nuc_model *in, *out;
    struct nuc_dataset *samples;
};

static void call_prepare(struct nuc_context *cx, void *arg)
{
    struct model_call *call = arg;

    (void)cx;
    call->out = nuc_stage_prepare(call->in);
}

static void call_calibrate(struct nuc_context *cx, void *arg)
{
    struct model_call *call = arg;

    (void)cx;
    nuc_stage_calibrate(call->in, call->samples);
}

static void call_convert(struct nuc_context *cx, void *arg)
{
    struct model_call *call = arg;

    (void)cx;
    call->out = nuc_stage_convert(call->in);
}

static void call_quantize(struct nuc_context *cx, void *arg)
{
    struct model_call *call = arg;

    call_prepare(cx, call);
    nuc_stage_calibrate(call->out, call->samples);
    call->out = nuc_stage_convert(call->out);
}

static void call_partition(struct nuc_context *cx, void *arg)
{
    struct model_call *call = arg;

    (void)cx;
    call->out = nuc_stage_partition(call->in);
}

static void call_lower(struct nuc_context *cx, void *arg)
{
    struct model_call *call = arg;

    (void)cx;
    call->out = nuc_stage_lower(call->in);
}

static enum nuc_status enter_model(struct nuc_model *m, void (*fn)(struct nuc_context *cx, void *arg),
                                   struct nuc_dataset *samples, struct nuc_model **out)
{
    struct model_call call = {m, NULL, samples};
    enum nuc_status s = nuc_enter(m->c, fn, &call);

    if (s == NUC_OK && out != NULL)
        *out = call.out;
    return s;
}

enum nuc_status nuc_prepare(struct nuc_model *m, struct nuc_model **prepared)
{
    return enter_model(m, call_prepare, NULL, prepared);
}

enum nuc_status nuc_calibrate(struct nuc_model *prepared, struct nuc_dataset *samples)
{
    return enter_model(prepared, call_calibrate, samples, NULL);
}

enum nuc_status nuc_convert(struct nuc_model *prepared, struct nuc_model **quantized)
{
    return enter_model(prepared, call_convert, NULL, quantized);
}

enum nuc_status nuc_quantize(struct nuc_model *m, struct nuc_dataset *samples, struct nuc_model **quantized)
{
    return enter_model(m, call_quantize, samples, quantized);
}

enum nuc_status nuc_partition(struct nuc_model *quantized, struct nuc_model **partitioned)
{
    return enter_model(quantized, call_partition, NULL, partitioned);
}

enum nuc_status nuc_lower(struct nuc_model *partitioned, struct nuc_model **lowered)
{
    return enter_model(partitioned, call_lower, NULL, lowered);
}

struct program_call {
    struct nuc_model *m;
    struct nuc_span out;
};

static void call_program(struct nuc_context *cx, void *arg)
{
    struct program_call *call = arg;

    (void)cx;
    call->out = nuc_stage_program(call->m);
}

enum nuc_status nuc_program(struct nuc_model *lowered, const uint8_t **bytes, size_t *size)
{
    struct program_call call = {lowered, {NULL, 0}};
    enum nuc_status s = nuc_enter(lowered->c, call_program, &call);

    if (s == NUC_OK) {
        *bytes = call.out.data;
        *size = call.out.size;
    }
    return s;
}

/* ---- observers ---- */

size_t nuc_model_n_observers(const struct nuc_model *prepared)
{
    return prepared->calibration == NULL ? 0 : nuc_quantize_n_observations(prepared->calibration);
}

struct observer_call {
    struct nuc_model *m;
    size_t index;
    struct nuc_observer_info *out;
};

static void fill_observer(struct nuc_context *cx, void *arg)
{
    struct observer_call *call = arg;
    struct nuc_observation o;

    if (call->index >= nuc_model_n_observers(call->m))
        nuc_fail(cx, NUC_BAD_USAGE, "%s: the model has no observer %zu", call->m->graph->file, call->index);
    nuc_quantize_observation(call->m->calibration, call->index, &o);
    *call->out = (struct nuc_observer_info){
        .class_name = nuc_observer_kind_name(o.kind),
        .observes = o.node->name,
        .dtype = o.dtype,
        .quant_min = o.quant_min,
        .quant_max = o.quant_max,
        .n_scales = o.n,
        .scales = o.scale,
        .zero_points = o.zero_point,
        .min = o.min != NULL && o.n == 1 ? o.min[0] : 0,
        .max = o.max != NULL && o.n == 1 ? o.max[0] : 0,
    };
}

enum nuc_status nuc_model_observer(struct nuc_model *prepared, size_t index, struct nuc_observer_info *out)
{
    struct observer_call call = {prepared, index, out};

    return nuc_enter(prepared->c, fill_observer, &call);
}
