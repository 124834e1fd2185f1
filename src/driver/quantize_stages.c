/* From float model to quantized model: passes, observers, samples, quantize and dequantize nodes. */
#include <string.h>

#include "data/dataset.h"
#include "driver/model_metadata.h"
#include "driver/stages.h"
#include "host/clock.h"
#include "host/process.h"
#include "npu/layout/orders.h"
#include "npu/target/target.h"
#include "quantize/precision.h"
#include "quantize/quantize.h"
#include "quantize/search/bias_correction.h"
#include "quantize/search/choice_samples.h"
#include "rewrite/npu_forms/npu_forms.h"
#include "rewrite/npu_forms/npu_function.h"
#include "rewrite/pass_list.h"
#include "rewrite/passes/unread.h"
#include "rewrite/recognize/computed_weight.h"
#include "rewrite/to_edge/functionalize.h"

void nuc_expand_model(struct nuc_job *j)
{
    j->is_same = !nuc_expand(j->m->graph);
    if (!j->is_same)
        nuc_refresh_layouts(j->m->graph);
    nuc_note_decision(j->m, nuc_note_imported(j->m));
}

/* What the NPU can express is expressed, or without one, what int8 kernels of the CPU can. */
static void express(struct nuc_job *j)
{
    const struct nuc_settings *s = j->m->settings;
    struct nuc_support support = {.g = j->m->graph,
                                  .target = s->target,
                                  .flavor = s->flavor,
                                  .divides_in_int8 = nuc_rounds_on_cpu(s, NUC_OP_DIV),
                                  .norms = s->norms};

    bool for_npu = nuc_expresses_for_npu(s), changed = false;
    const struct nuc_meta *outputs = nuc_output_metas(j->m->graph);
    if (for_npu) {
        if (s->norms != NULL && s->norms->centred)
            nuc_centre_rows(j->m->graph);
        changed = nuc_to_npu_forms(&support);
    } else if (!s->o.reference_compat && !s->o.no_quantize && nuc_rounds_on_cpu(s, NUC_OP_CONV2D)) {
        changed = nuc_to_forms(&support, nuc_cpu_conv_forms);
        changed = nuc_to_forms(&support, nuc_cpu_move_forms) || changed;
    }
    if (!s->o.reference_compat && nuc_split_group_conv(j->m->graph, for_npu ? &support : NULL)) {
        nuc_split_to_slices(j->m->graph);
        nuc_move_activation(j->m->graph);
        changed = true;
    }
    if (!changed)
        return;
    nuc_fold_constants(j->m->graph);
    /* Biases of products that became layers. */
    nuc_fold_channel_terms(j->m->graph);
    nuc_refresh_layouts(j->m->graph);
    nuc_restore_output_orders(j->m->graph, outputs);
}

/* Before batch norms are folded into what has a constant weight. */
static void keep_weights_constant(struct nuc_job *j)
{
    const struct nuc_settings *s = j->m->settings;
    struct nuc_support npu = {.g = j->m->graph, .target = s->target, .flavor = s->flavor};

    if (s->o.reference_compat || s->o.no_quantize)
        return;
    const struct nuc_meta *outputs = nuc_output_metas(j->m->graph);
    if (!nuc_keep_weights_constant(j->m->graph, nuc_expresses_for_npu(s) ? &npu : NULL))
        return;
    nuc_refresh_layouts(j->m->graph);
    nuc_restore_output_orders(j->m->graph, outputs);
}

void nuc_leave_unread_of(struct nuc_model *m)
{
    const struct nuc_settings *s = m->settings;
    const struct nuc_meta *outputs = nuc_output_metas(m->graph);

    if (s->o.reference_compat || nuc_waits_for_stream(m) || !nuc_leave_unread(m->graph, s->target, s->o.no_quantize))
        return;
    nuc_refresh_layouts(m->graph);
    nuc_restore_output_orders(m->graph, outputs);
}

/* What does not depend on where operators are computed: done once for the trials that decide it, too. */
static void simplify(struct nuc_job *j, enum nuc_pass_mode mode)
{
    const struct nuc_model *from_float = j->m;

    j->m = nuc_model_after(from_float, nuc_graph_copy(from_float->graph));
    j->m->from_float = from_float;
    j->m->simplified = true;
    nuc_mark_precision(j->m->graph, j->m->settings->o.precision, j->m->settings->o.n_precision);
    nuc_make_rewrites(j, false);
    keep_weights_constant(j);
    nuc_run_stage_passes(j, &nuc_aten_passes, mode);
    const struct nuc_meta *outputs = nuc_output_metas(j->m->graph);
    /* Operators for what the model writes out; its outputs lie in memory as they did. */
    nuc_run_stage_passes(j, &nuc_norm_passes, mode);
    if (!j->m->settings->o.no_quantize)
        nuc_run_stage_passes(j, &nuc_written_passes, mode);
    struct nuc_support npu = {.g = j->m->graph, .target = j->m->settings->target, .flavor = j->m->settings->flavor};
    if (nuc_expresses_for_npu(j->m->settings) && nuc_to_forms(&npu, nuc_row_forms))
        nuc_refresh_layouts(j->m->graph);
    nuc_leave_unread_of(j->m);
    nuc_restore_output_orders(j->m->graph, outputs);
}

void nuc_run_aten_stage(struct nuc_job *j)
{
    enum nuc_pass_mode mode = NUC_PASSES_DEFAULT;

    if (nuc_model_is_quantized(j->m))
        nuc_fail(j->c->cx, NUC_BAD_USAGE, "%s: is quantized already: take it as it is", j->m->graph->file);
    if (j->m->settings->o.reference_compat)
        mode = j->m->settings->target->npu_name != NULL ? NUC_PASSES_COMPAT : NUC_PASSES_COMPAT_CPU;
    if (!j->m->simplified)
        simplify(j, mode);
    nuc_choose_cpu_kernels(j);
    j->m = nuc_model_after(j->m, nuc_graph_copy(j->m->graph));
    nuc_make_rewrites(j, true);
    express(j);
    if (!j->m->settings->o.no_quantize)
        nuc_run_stage_passes(j, &nuc_int8_passes, mode);
    /* Without the copy that one wrote to, what it writes to may be read by others. */
    if (nuc_has_in_place(j->m->graph))
        nuc_keep_in_place(j->m->graph);
}

static bool is_npu_function(void *user, const struct nuc_node *node)
{
    return nuc_has_npu_function(user, node);
}

/*
 * The nodes that the CPU computes in int8 are quantized for its kernels. With both an NPU and int8 kernels on the CPU,
 * which ones these are is found by a trial, since the rules of the NPU ask for scales.
 */
struct nuc_calibration *nuc_calibration_of(struct nuc_model *m, enum nuc_accuracy accuracy, bool bias_correction)
{
    const struct nuc_settings *s = m->settings;
    bool int8_cpu = s->target->cpu != NULL;
    /* Another network has answered it: what this one loses before it is converted is not asked for. */
    bool finds_no_width = s->narrow && s->judges && s->o.activations != NUC_ACTIVATIONS_MIXED;
    struct nuc_support support = {.g = m->graph, .target = s->target, .flavor = s->flavor};
    struct nuc_quantize_options options = {
        .side = int8_cpu && !s->delegates ? NUC_SIDE_CPU : NUC_SIDE_NPU,
        .int16 = s->o.activations == NUC_ACTIVATIONS_INT16,
        .mixed = s->o.activations == NUC_ACTIVATIONS_MIXED && m->widened > 0,
        .reference_compat = s->o.reference_compat,
        .one_scale = nuc_expresses_for_npu(s),
        .no_kernels = !int8_cpu && !s->delegates && !s->o.reference_compat,
        .max_matrix_inputs = nuc_expresses_for_npu(s) ? s->target->max_mac_buffer - s->target->num_macs : 0,
        .quantized_inputs = s->o.io == NUC_IO_INT8,
        .threads = s->o.threads,
        .accuracy = accuracy,
        .observer = s->o.observer,
        .weights = s->o.weights,
        .bias_correction = bias_correction && !(s->without & NUC_STEP_BIASES),
        .without = s->without | (finds_no_width ? NUC_STEP_WIDTH : 0),
        .rounding = s->rounding,
        .executorch_ops_only = s->o.executorch_ops_only,
        .apart = m->apart,
        .ranges = m->ranges,
    };

    if (nuc_expresses_for_npu(s)) {
        options.npu_function = is_npu_function;
        options.npu_function_user = &support;
    }
    if (options.bias_correction)
        nuc_add_biases(m->graph);
    if (s->delegates && nuc_rounds_any_on_cpu(s)) {
        if (m->cpu_nodes == NULL)
            m->cpu_nodes = nuc_find_cpu_nodes(m, &options);
        options.ends_on_cpu_user = m->cpu_nodes;
        options.ends_on_cpu = nuc_is_cpu_node;
    }
    return nuc_quantize_prepare(m->graph, &options);
}

static void annotate(struct nuc_model *m)
{
    const struct nuc_settings *s = m->settings;

    m->calibration = nuc_calibration_of(m, s->trial ? NUC_ACCURACY_FAST : s->o.accuracy, s->o.bias_correction);
}

void nuc_annotate_model(struct nuc_job *j)
{
    if (j->m->settings->o.activations == NUC_ACTIVATIONS_MIXED && j->m->widened > 0 && j->m->ranges == NULL) {
        /* What is compared has the ranges that are chosen here. */
        j->m->ranges = nuc_alloc(j->c->cx, sizeof *j->m->ranges);
        *j->m->ranges = (struct nuc_chosen_ranges){.arena = j->c->cx->arena};
    }
    annotate(j->m);
}

static void check_prepared(const struct nuc_model *m)
{
    if (m->calibration == NULL)
        nuc_fail(m->c->cx, NUC_BAD_USAGE, "%s: is not prepared for calibration", m->graph->file);
}

#define ALIGNMENT 64 /* of values */
#define ROOM_TOGETHER ((size_t)32 << 20)
/* A caller that shows progress, or stops, is asked as often, or after a sample for each thread. */
#define SECONDS_TOGETHER 0.1

/* Samples that are read one after the other and run side by side. */
struct together {
    size_t most, count; /* count: of the next ones */
    const void **inputs[NUC_SAMPLES_TOGETHER];
    size_t numbers[NUC_SAMPLES_TOGETHER];
    uint8_t *copies; /* NULL: the data set has them all in memory, or there is one at a time */
};

/* Steps of sequences run one by one, as many others as there is room for. */
static void make_room(struct together *t, const struct nuc_job *j)
{
    const struct nuc_dataset *d = j->samples;
    const unsigned asked = j->m->settings->o.threads, threads = asked != 0 ? asked : nuc_cores();
    bool by_one = d->has_states || threads == 1;
    size_t bytes = 1;

    for (size_t i = 0; i < d->n_inputs; i++)
        bytes += nuc_align_up(d->inputs[i].bytes, ALIGNMENT);
    t->most = by_one || ROOM_TOGETHER / bytes == 0 ? 1 : ROOM_TOGETHER / bytes;
    t->most = t->most < NUC_SAMPLES_TOGETHER ? t->most : NUC_SAMPLES_TOGETHER;
    t->count = threads > 4 ? threads : 4;
    t->count = t->count < t->most ? t->count : t->most;
    if (t->most > 1 && !nuc_dataset_is_in_memory(d))
        t->copies = nuc_alloc(j->c->cx, t->most * bytes);
    for (size_t k = 0; k < t->most; k++)
        t->inputs[k] = nuc_alloc_array(j->c->cx, d->n_inputs, sizeof(void *));
}

/* From `first` on; returns how many. */
static size_t read_together(struct together *t, const struct nuc_dataset *d, size_t first)
{
    uint8_t *to = t->copies;
    size_t k = 0;

    for (; k < t->count && first + k < d->n_samples; k++) {
        nuc_dataset_read_sample(d, first + k, t->inputs[k]);
        t->numbers[k] = nuc_sample_of_all(d, first + k);
        for (size_t i = 0; to != NULL && i < d->n_inputs; i++) {
            t->inputs[k][i] = memcpy(to, t->inputs[k][i], d->inputs[i].bytes);
            to += nuc_align_up(d->inputs[i].bytes, ALIGNMENT);
        }
    }
    return k;
}

void nuc_calibrate_model(struct nuc_job *j)
{
    struct nuc_sub_arena *memory = j->samples == NULL ? nuc_open_samples(j) : NULL;
    struct nuc_model *m = j->m;

    check_prepared(m);
    nuc_dataset_bind_model(j->samples, m);
    /* Of one that failed, some samples were seen in part. */
    if (m->half_calibrated)
        annotate(m);
    struct nuc_calibration *c = m->calibration;
    m->half_calibrated = true;
    const struct nuc_dataset *d = j->samples;
    struct together t = {.copies = NULL};
    make_room(&t, j);
    struct nuc_sample_check *check = nuc_sample_check_new(j->samples);
    bool is_first = !m->widened && !j->recalibrates;
    for (size_t k = 0, count; k < d->n_samples; k += count) {
        const double started = nuc_seconds();
        count = read_together(&t, d, k);
        for (size_t i = 0; is_first && i < count; i++)
            nuc_sample_check_add(check, t.inputs[i]);
        if (nuc_dataset_begins(d, k))
            nuc_quantize_begin(c);
        nuc_quantize_name_samples(c, d->path, t.numbers);
        nuc_quantize_samples(c, (const void *const *const *)t.inputs, count);
        for (size_t i = 1; i <= count; i++)
            nuc_progress(j->c->cx, "calibrate", k + i, d->n_samples);
        if (2 * t.count <= t.most && nuc_seconds() - started < SECONDS_TOGETHER / 2)
            t.count *= 2;
    }
    nuc_quantize_pause(c);
    m->half_calibrated = false;
    if (is_first) {
        j->samples_differ = nuc_sample_check_end(check);
        nuc_note_calibrated(m, j->samples);
    }
    if (is_first && !m->settings->trial && !m->settings->judges) {
        nuc_dataset_describe(j->samples);
        j->c->data = nuc_copy(j->c->cx, &j->samples->lines, sizeof j->samples->lines);
    }
    if (memory != NULL)
        nuc_close_samples(j, memory);
}

bool nuc_is_to_equalize(const struct nuc_job *j)
{
    return !j->m->equalized && !j->m->settings->trial;
}

/* errors[k] of the kept samples of a part, in the network that those of the other part have calibrated. */
static size_t measure_part(struct nuc_model *m, bool equalizes, unsigned part, double *errors)
{
    struct nuc_sub_arena *memory = nuc_enter_sub_arena(m->c->cx);

    if (equalizes)
        nuc_quantize_equalize(m->calibration, 1 - part);
    struct nuc_calibration *fresh = nuc_calibration_of(m, NUC_ACCURACY_FAST, m->settings->o.bias_correction);
    size_t count = nuc_quantize_measure(fresh, m->calibration, part, errors);
    if (equalizes)
        nuc_quantize_undo_equalize(m->calibration);
    nuc_leave_sub_arena(m->c->cx, memory);
    nuc_free_sub_arena(memory);
    return count;
}

/* Standard errors of the mean gain of the samples that factors have to gain more than. */
#define SURE 2.0

/*
 * By factors, or by what concatenations requantize; by the outputs of samples that neither these nor the ranges come
 * from. What one half loses by is not tried on the other.
 */
static bool gains(struct nuc_model *m, const struct nuc_apart *apart)
{
    double without[NUC_CHOICE_MOST] = {0}, with[NUC_CHOICE_MOST] = {0};
    size_t count = 0;

    for (unsigned part = 0; part < 2; part++) {
        double sum = 0;
        measure_part(m, false, part, without);
        m->apart = apart != NULL ? apart : m->apart;
        count = measure_part(m, apart == NULL, part, with);
        m->apart = apart != NULL ? NULL : m->apart;
        for (size_t k = 0; k < count; k++)
            sum += without[k] - with[k];
        if (!(sum > 0))
            return false;
    }
    return nuc_sure_fall(without, with, count, 0, SURE) > 0;
}

static bool set_apart(struct nuc_model *m)
{
    const struct nuc_apart *apart = nuc_quantize_find_apart(m->calibration);

    m->looked_apart = true;
    if (apart == NULL || !gains(m, apart))
        return false;
    m->apart = apart;
    return true;
}

void nuc_equalize_model(struct nuc_job *j)
{
    struct nuc_model *m = j->m;

    if (m->looked_apart || !set_apart(m)) {
        m->equalized = true; /* once, however often a model is calibrated */
        if (!nuc_quantize_may_equalize(m->calibration) || !gains(m, NULL))
            return;
        nuc_quantize_equalize(m->calibration, NUC_BOTH_PARTS);
    }
    nuc_quantize_done(m->calibration);
    annotate(m);
    j->again = j->recalibrates = true;
}

void nuc_quantize_model(struct nuc_job *j)
{
    const struct nuc_model *prepared = j->m;

    check_prepared(prepared);
    if (prepared->half_calibrated)
        nuc_fail(j->c->cx, NUC_BAD_USAGE, "%s: its calibration failed: calibrate it again", prepared->graph->file);
    j->m = nuc_model_after(prepared, nuc_quantize_convert(prepared->calibration));
    j->m->graph->call_spec = prepared->graph->call_spec;
    j->m->measured = nuc_quantize_measured(prepared->calibration);
    for (size_t i = 0; j->m->measured != NULL && i < j->m->measured->n_outputs; i++) {
        const char *name = nuc_output_name(prepared, i);
        if (name != NULL)
            j->m->measured->outputs[i].name = name;
    }
}

/* ---- observers ---- */

size_t nuc_model_n_observers(const struct nuc_model *prepared)
{
    return prepared == NULL || prepared->calibration == NULL ? 0 : nuc_quantize_n_observations(prepared->calibration);
}

enum nuc_status nuc_model_observer(struct nuc_model *prepared, size_t index, struct nuc_observer_info *out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_model_context(prepared), __func__, index < nuc_model_n_observers(prepared) && out != NULL);
        struct nuc_observation o;
        nuc_quantize_observation(prepared->calibration, index, &o);
        *out = (struct nuc_observer_info){
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
    return nuc_leave(&call);
}

/* ---- what was measured ---- */

static size_t n_qualities(const struct nuc_measured *m)
{
    return m == NULL ? 0 : m->n_outputs;
}

static enum nuc_status fill_quality(const struct nuc_measured *m, size_t index, struct nuc_output_quality *out)
{
    if (index >= n_qualities(m))
        return NUC_BAD_USAGE;
    const struct nuc_measured_output *o = &m->outputs[index];
    *out = (struct nuc_output_quality){
        .name = o->name,
        .samples = o->samples,
        .held_out = m->is_held_out ? o->samples : 0,
        .is_float = o->is_float,
        .sqnr_db = o->sqnr_db,
        .lowest_db = o->lowest_db,
        .highest_db = o->highest_db,
        .min = o->min,
        .max = o->max,
        .float_varies = o->float_varies,
        .varies = o->varies,
    };
    return NUC_OK;
}

size_t nuc_model_n_qualities(const struct nuc_model *m)
{
    return n_qualities(m->measured);
}

enum nuc_status nuc_model_quality(const struct nuc_model *m, size_t index, struct nuc_output_quality *out)
{
    return fill_quality(m->measured, index, out);
}

size_t nuc_n_qualities(const struct nuc_compiler *c)
{
    return n_qualities(c->measured);
}

enum nuc_status nuc_quality(const struct nuc_compiler *c, size_t index, struct nuc_output_quality *out)
{
    return fill_quality(c->measured, index, out);
}

/* ---- what the outputs say about themselves ---- */

#define LEAST_DB 15.0

static void warn_of_output(const struct nuc_model *m, const struct nuc_output_quality *q, bool samples_differ)
{
    struct nuc_context *cx = m->c->cx;
    const char *file = m->graph->file;

    if (samples_differ && q->samples > 1 && !q->float_varies)
        nuc_warn(
            cx,
            "%s: output '%s' of the float model is the same for all %zu samples: give samples that differ, or look "
            "where the model loses them",
            file, q->name, q->samples);
    else if (samples_differ && q->samples > 1 && !q->varies)
        nuc_warn(cx,
                 "%s: output '%s' is the same for all %zu samples once it is quantized: 'nucleon evaluate --quantized' "
                 "shows where they are lost; --observer minmax keeps whole ranges",
                 file, q->name, q->samples);
    else if (q->sqnr_db < LEAST_DB)
        nuc_warn(cx,
                 "%s: output '%s' has an SQNR of %.1f dB on %scalibration samples%s: try more samples or 'nucleon "
                 "tune'; 'nucleon evaluate --quantized' shows which node loses",
                 file, q->name, q->sqnr_db, q->highest_db > q->sqnr_db && !(q->sqnr_db > q->lowest_db) ? "some " : "",
                 q->held_out != 0 ? " held out" : "");
}

/* A network that was trained with a loss that has its own softmax, and then was given another one. */
static void warn_of_double_softmax(const struct nuc_graph *g)
{
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        const struct nuc_node *in = nuc_op_family(n->op) == NUC_FAMILY_SOFTMAX ? nuc_arg_node(n, NUC_SELF) : NULL;
        while (in != NULL && (nuc_is_quantization(in) || nuc_op_family(in->op) == NUC_FAMILY_VIEW))
            in = nuc_arg_node(in, NUC_SELF);
        if (in != NULL && nuc_op_family(in->op) == NUC_FAMILY_SOFTMAX)
            nuc_warn(g->cx,
                     "%s: '%s' is a softmax of the softmax '%s': scores become nearly equal; take one of them out",
                     g->file, n->name, in->name);
    }
}

/* Those that follow from no user input are constants of the model, and so on purpose. */
void nuc_warn_of_outputs(const struct nuc_model *quantized, bool samples_differ)
{
    const struct nuc_graph *g = quantized->graph;
    const bool *follows = nuc_nodes_that_vary(g);
    struct nuc_cursor at = {0, 0};

    warn_of_double_softmax(g);
    for (size_t i = 0; i < nuc_model_n_qualities(quantized); i++) {
        const struct nuc_node *value = nuc_next_input(g->last, &at);
        struct nuc_output_quality q;
        if (value != NULL && follows[value->id] && nuc_model_quality(quantized, i, &q) == NUC_OK && q.is_float)
            warn_of_output(quantized, &q, samples_differ);
    }
}
