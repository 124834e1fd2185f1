/* From quantized model to partitioned model: hops, the Edge dialect, its passes, the place of every node. */
#include "driver/stages.h"
#include "front/tflite/tflite.h"
#include "npu/layout/orders.h"
#include "npu/partition/not_delegated.h"
#include "npu/partition/partition.h"
#include "npu/target/target.h"
#include "rewrite/stream/stream.h"

/* ---- --stream: a network over a window of time becomes one that takes the frames as they come ---- */

/* Quantization decides for the network as it is, so that its numbers are those of the hops. */
bool nuc_is_to_stream(const struct nuc_job *j)
{
    return nuc_waits_for_stream(j->m) && j->first > NUC_STAGE_QUANTIZE;
}

/* The axis of a LiteRT model's image, as the graph has it: the channels are behind height and width in the model. */
static int64_t graph_axis(const struct nuc_model *m, int64_t axis)
{
    static const int64_t of_image[] = {0, 2, 3, 1};
    const int64_t rank = sizeof of_image / sizeof of_image[0], at = axis < 0 ? axis + rank : axis;

    return nuc_is_image_input(m, 0) && at >= 0 && at < rank ? of_image[at] : axis;
}

void nuc_stream_model(struct nuc_job *j)
{
    struct nuc_context *cx = j->c->cx;
    const struct nuc_stream_option o = nuc_stream_option(cx, j->m->settings->o.stream);
    struct nuc_graph *g = nuc_graph_copy(j->m->graph);
    struct nuc_stream_report *report = nuc_alloc(cx, sizeof *report);

    nuc_stream_graph(g, graph_axis(j->m, o.axis), o.hop, report);
    j->m = nuc_model_after(j->m, g);
    j->m->stream = report;
    if (report->overhang > 0)
        nuc_warn(cx,
                 "%s: --stream: %s is computed of windows at whose ends layers see %lld frames that the network pads: "
                 "its results are not those of the network",
                 g->file, report->window_from, (long long)report->overhang);
}

/* ---- orders ---- */

_Noreturn static void refuse_order(const struct nuc_graph *g, const char *what, const struct nuc_node *n,
                                   const struct nuc_meta *m)
{
    nuc_fail(g->cx, NUC_UNSUPPORTED,
             "%s: %s '%s' has %s: only contiguous and channels-last tensors of rank 4 and 5 are supported; export the "
             "model with contiguous or channels-last example inputs",
             g->file, what, n->name, nuc_meta_text(g->cx, m));
}

void nuc_check_input_orders(const struct nuc_model *m)
{
    const struct nuc_graph *g = m->graph;

    for (const struct nuc_node *n = g->first; m->settings->o.reference_compat && n != NULL; n = n->next) {
        bool is_input = nuc_is_user_input(n) && n->n_vals > 0;
        if (is_input && !nuc_lies_contiguous(&n->vals[0]) && !nuc_is_known_order(&n->vals[0]))
            refuse_order(g, "input", n, &n->vals[0]);
    }
}

void nuc_check_value_orders(const struct nuc_graph *g)
{
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; i < n->n_vals && nuc_is_call(n); i++) {
            if (!nuc_is_usable_order(&n->vals[i]))
                refuse_order(g, "tensor", n, &n->vals[i]);
        }
    }
}

/* ---- places ---- */

/* The caller's check of an Edge node, which sees it as compile.h shows nodes. */
static bool ask_caller(void *user, const struct nuc_node *node)
{
    struct nuc_model *m = user;
    const struct nuc_options *o = &m->settings->o;
    struct nuc_node_info info;

    nuc_fill_node_info(m, node, &info);
    return o->check_op_support(o->check_op_support_user, &info);
}

/* Not what the options keep off the NPU. */
static bool may_express(void *user, const struct nuc_node *node)
{
    return nuc_not_delegated_match(user, node) == NULL;
}

void nuc_decompose_model(struct nuc_job *j)
{
    const struct nuc_model *from = j->quantized;
    const struct nuc_settings *s = from->settings;
    const struct nuc_options *o = &s->o;
    struct nuc_edge_options options = {
        .target = s->target,
        .flavor = s->flavor,
        .check_op_support = o->check_op_support != NULL ? ask_caller : NULL,
        .preserved = &j->preserved,
        .reference_compat = o->reference_compat,
        .keep_for_cpu = s->target->cpu != NULL && !o->no_quantize,
        .executorch_ops_only = o->executorch_ops_only,
        .express = nuc_expresses_for_npu(s) ? may_express : NULL,
    };
    /*
     * What the options name, what a LiteRT model has as single operators, and what the NPU has as such: where its rules
     * refuse one it is decomposed all the same, in another round by what j->preserved says.
     */
    size_t own = from->from_litert || nuc_expresses_for_npu(s) ? NUC_TFLITE_N_PRESERVED : 0;
    const char **list = nuc_alloc_array(j->c->cx, o->n_preserve_ops + own, sizeof *list);
    for (size_t i = 0; i < o->n_preserve_ops; i++)
        list[i] = o->preserve_ops[i];
    for (size_t i = 0; i < own; i++)
        list[o->n_preserve_ops + i] = nuc_tflite_preserved[i];
    options.n_preserve_ops = o->n_preserve_ops + own;
    options.preserve_ops = list;
    const bool is_ours = j->use_up && !nuc_is_given(j, from->graph);
    if (!is_ours || nuc_may_preserve(from->graph, &options)) {
        j->m = nuc_model_after(from, nuc_graph_copy(from->graph));
        if (is_ours) /* another round would copy it once more */
            nuc_names_let_go(from->graph);
    } else {
        j->m = nuc_model_after(from, from->graph);
        nuc_renumber(j->m->graph);
        options.preserved = NULL;
        options.express = NULL;
    }
    struct nuc_model *m = j->m;
    options.check_op_support_user = m;
    const enum nuc_pass_mode mode = o->reference_compat ? NUC_PASSES_COMPAT : NUC_PASSES_DEFAULT;
    nuc_run_stage_passes(j, &nuc_quantized_passes, mode);
    if (!m->from_litert)
        nuc_run_stage_passes(j, &nuc_archive_passes, mode);
    if (m->from_float == NULL)
        nuc_leave_unread_of(m);
    if (options.express != NULL)
        options.express_user = nuc_not_delegated_new(
            m->graph,
            &(struct nuc_partition_options){.operators_not_to_delegate = o->operators_not_to_delegate,
                                            .n_operators_not_to_delegate = (uint32_t)o->n_operators_not_to_delegate,
                                            .names_are_checked = true});
    const struct nuc_meta *outputs = nuc_output_metas(m->graph);
    nuc_to_edge(m->graph, &options);
    if (m->from_litert)
        nuc_restore_output_orders(m->graph, outputs);
    nuc_graph_gather(m->graph);
}

void nuc_settle_orders(struct nuc_job *j)
{
    j->is_same = j->m->settings->o.reference_compat || !nuc_run_stage_passes(j, &nuc_order_passes, NUC_PASSES_DEFAULT);
}

void nuc_run_edge_stage(struct nuc_job *j)
{
    const struct nuc_settings *s = j->m->settings;

    if (s->flavor->rules == NUC_RULES_SDK_3_1)
        nuc_run_stage_passes(j, &nuc_edge_passes, NUC_PASSES_SDK_3_1);
    else if (s->target->npu_name != NULL)
        nuc_run_stage_passes(j, &nuc_edge_passes, NUC_PASSES_DEFAULT);
    if (s->o.no_quantize)
        nuc_run_stage_passes(j, &nuc_float_passes, NUC_PASSES_DEFAULT);
    if (!s->o.reference_compat) {
        nuc_run_stage_passes(j, &nuc_plain_passes, NUC_PASSES_DEFAULT);
        nuc_run_stage_passes(j, &nuc_cluster_passes, NUC_PASSES_DEFAULT);
        if (nuc_expresses_for_npu(s) && !s->o.no_quantize)
            nuc_run_stage_passes(j, &nuc_npu_passes, NUC_PASSES_DEFAULT);
    }
    nuc_graph_gather(j->m->graph);
}

/*
 * Marks the preserved operators that stayed on the CPU, which has no kernels for them. One that is marked is decomposed
 * in all rounds to come, so that there are at most as many rounds as operators.
 */
static bool mark_undelegated(const struct nuc_model *m, struct nuc_preserved *preserved)
{
    bool any = false;

    for (uint32_t i = 0; i < preserved->count; i++) {
        struct nuc_preserved_op *op = &preserved->ops[i];
        bool on_cpu = false;
        for (uint32_t id = op->id; id < op->end && id < m->partitions->n_by_id; id++) {
            const struct nuc_decision *d = m->partitions->by_id[id];
            on_cpu = on_cpu || (d != NULL && !d->delegated);
        }
        op->decompose = op->decompose || on_cpu;
        any = any || on_cpu;
    }
    return any;
}

/* An operator that was named is decomposed then. */
static bool is_another_round(const struct nuc_preserved *preserved)
{
    for (uint32_t i = 0; i < preserved->count; i++) {
        if (preserved->ops[i].decompose)
            return true;
    }
    return false;
}

/* Operators that were preserved in vain are decomposed in another round; the reference leaves them. */
void nuc_partition_model(struct nuc_job *j)
{
    struct nuc_model *m = j->m;
    const struct nuc_options *o = &m->settings->o;
    struct nuc_partition_options options = {
        .target = m->settings->target,
        .flavor = m->settings->flavor,
        .no_delegate = !m->settings->delegates,
        .operators_not_to_delegate = o->operators_not_to_delegate,
        .n_operators_not_to_delegate = (uint32_t)o->n_operators_not_to_delegate,
        .names_are_checked = is_another_round(&j->preserved),
        .reference_compat = o->reference_compat,
        .allow_no_op_partitions = o->allow_no_op_partitions,
        .force_delegate_cat = o->force_delegate_cat,
        .check_op_support = o->check_op_support != NULL ? ask_caller : NULL,
        .check_op_support_user = m,
    };

    j->is_same = true;
    for (;;) {
        struct nuc_sub_arena *sub = nuc_enter_sub_arena(m->c->cx);
        m->partitions = nuc_place(m, &options);
        nuc_leave_sub_arena(m->c->cx, sub);
        if (!nuc_expresses_for_npu(m->settings) || !nuc_drop_requantizations(m->graph))
            break;
        nuc_free_sub_arena(sub);
        j->is_same = false;
        options.names_are_checked = true;
    }
    j->again = !o->reference_compat && mark_undelegated(m, &j->preserved);
}
