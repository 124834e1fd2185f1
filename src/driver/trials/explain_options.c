/* Options that may make a model faster; explain_trials.c tries them. */
#include "driver/trials/explain_options.h"

#include <math.h>

#include "driver/node_cycles.h"
#include "ir/args.h"
#include "npu/partition/partition.h"
#include "npu/target/target.h"
#include "quantize/precision.h"

static bool has_float_cpu(const struct nuc_trying *t)
{
    const struct nuc_options *o = &t->partitioned->settings->o;

    return t->e->target->npu_name != NULL && o->cpu != NUC_CPU_INT8 && !o->no_quantize &&
           t->e->n_delegated < t->e->n_operators;
}

static void take_int8(const struct nuc_trying *t, struct nuc_options *o)
{
    (void)t;
    o->cpu = NUC_CPU_INT8;
}

static bool takes_images(const struct nuc_graph *g)
{
    for (const struct nuc_node *n = g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        if (n->input_kind == NUC_USER_INPUT && n->n_vals == 1 && n->vals[0].rank == 4)
            return true;
    }
    return false;
}

static bool may_reorder(const struct nuc_trying *t)
{
    return t->quantized->settings->o.dim_order == NUC_DIM_ORDER_AS_IS && !t->partitioned->from_litert &&
           takes_images(t->partitioned->graph) && (t->e->format_cycles > 0 || t->e->n_delegated < t->e->n_operators);
}

static void take_channels_last(const struct nuc_trying *t, struct nuc_options *o)
{
    (void)t;
    o->dim_order = NUC_DIM_ORDER_CHANNELS_LAST;
}

static void take_contiguous(const struct nuc_trying *t, struct nuc_options *o)
{
    (void)t;
    o->dim_order = NUC_DIM_ORDER_CONTIGUOUS;
}

static bool has_work_on_cpu(const struct nuc_trying *t)
{
    return t->partitioned->settings->delegates && !t->partitioned->settings->o.allow_no_op_partitions &&
           t->e->n_delegated < t->e->n_operators;
}

static void allow_no_ops(const struct nuc_trying *t, struct nuc_options *o)
{
    (void)t;
    o->allow_no_op_partitions = true;
}

static bool has_named_ones(const struct nuc_trying *t)
{
    return t->partitioned->settings->delegates && t->partitioned->settings->o.n_operators_not_to_delegate > 0;
}

static void delegate_named_ones(const struct nuc_trying *t, struct nuc_options *o)
{
    (void)t;
    o->n_operators_not_to_delegate = 0;
}

static bool is_executorch_only(const struct nuc_trying *t)
{
    return t->partitioned->settings->o.executorch_ops_only;
}

static void take_own_ops(const struct nuc_trying *t, struct nuc_options *o)
{
    (void)t;
    o->executorch_ops_only = false;
}

static bool is_compat(const struct nuc_trying *t)
{
    return t->partitioned->settings->o.reference_compat;
}

static void leave_reference(const struct nuc_trying *t, struct nuc_options *o)
{
    (void)t;
    o->reference_compat = false;
}

static bool has_older_rules(const struct nuc_trying *t)
{
    return t->partitioned->settings->delegates && t->partitioned->settings->flavor->rules == NUC_RULES_SDK_3_1;
}

static void take_newer_rules(const struct nuc_trying *t, struct nuc_options *o)
{
    (void)t;
    o->converter_flavor = "sdk-3.2";
}

static bool is_left_out(const struct nuc_trying *t)
{
    return t->e->target->npu_name != NULL && !t->partitioned->settings->o.delegate;
}

static void use_npu(const struct nuc_trying *t, struct nuc_options *o)
{
    (void)t;
    o->delegate = true;
}

static bool has_float_io(const struct nuc_trying *t)
{
    return t->partitioned->settings->o.io == NUC_IO_FLOAT && !t->partitioned->settings->o.no_quantize;
}

static void take_int8_io(const struct nuc_trying *t, struct nuc_options *o)
{
    (void)t;
    o->io = NUC_IO_INT8;
}

static bool has_wider_values(const struct nuc_trying *t)
{
    return t->partitioned->settings->o.activations != NUC_ACTIVATIONS_INT8;
}

static void take_int8_values(const struct nuc_trying *t, struct nuc_options *o)
{
    (void)t;
    o->activations = NUC_ACTIVATIONS_INT8;
}

static bool is_quantized_at_ends(const struct nuc_graph *g)
{
    const struct nuc_arg *outputs = nuc_arg_at(g->last, NUC_ARG(OUTPUT, values));

    for (const struct nuc_node *n = g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        for (uint32_t i = 0; i < n->n_users; i++) {
            if (n->input_kind == NUC_USER_INPUT && n->vals[0].dtype == NUC_F32 && !nuc_is_quantize(n->users[i]))
                return false;
        }
    }
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct nuc_node *n = outputs->u.nodes[i];
        if (n != NULL && n->vals[0].dtype == NUC_F32 && !nuc_is_dequantize(n))
            return false;
    }
    return true;
}

/* What the CPU computes in int8 is chosen by cycles, which change with what is tried; elsewhere nothing is chosen. */
static bool keeps_choice(const struct nuc_trying *t)
{
    return t->quantized->settings->o.cpu != NUC_CPU_AUTO || t->e->n_delegated == t->e->n_operators;
}

/* The quantizer is asked for nothing that it does not do anyway. */
static bool keeps_int8_io(const struct nuc_trying *t)
{
    return keeps_choice(t) && !nuc_has_wide_values(t->quantized->graph) && is_quantized_at_ends(t->quantized->graph);
}

static const struct option {
    const char *given, *without;
    bool (*applies)(const struct nuc_trying *t);
    void (*take)(const struct nuc_trying *t, struct nuc_options *o);
    const char *about;                         /* the rule that comes from it */
    bool (*keeps)(const struct nuc_trying *t); /* the quantizer does not ask for it, of this model; NULL: it does */
} options[] = {
    {"--cpu int8", NULL, has_float_cpu, take_int8, NULL, NULL},
    {NULL, "--no-delegate", is_left_out, use_npu, NULL, NULL},
    {"--converter-flavor sdk-3.2", NULL, has_older_rules, take_newer_rules, NULL, NULL},
    {NULL, "--reference-compat", is_compat, leave_reference, NULL, NULL},
    {NULL, "--executorch-ops-only", is_executorch_only, take_own_ops, NULL, NULL},
    {NULL, "--activations", has_wider_values, take_int8_values, NULL, NULL},
    {NULL, "--operators-not-to-delegate", has_named_ones, delegate_named_ones, nuc_not_named_rule, keeps_choice},
    {"--dim-order channels-last", NULL, may_reorder, take_channels_last, NULL, keeps_choice},
    {"--dim-order contiguous", NULL, may_reorder, take_contiguous, NULL, keeps_choice},
    {"--allow-no-op-partitions", NULL, has_work_on_cpu, allow_no_ops, NULL, keeps_choice},
    {"--io int8", NULL, has_float_io, take_int8_io, NULL, keeps_int8_io},
};

bool nuc_option_to_try(const struct nuc_trying *t, size_t index, struct nuc_options *o, bool *requantizes,
                       struct nuc_explain_trial *out)
{
    if (index >= sizeof options / sizeof *options)
        return false;
    const struct option *row = &options[index];
    *requantizes = row->keeps == NULL || !row->keeps(t);
    *out = (struct nuc_explain_trial){.options = row->given, .without = row->without, .about = row->about};
    if (!row->applies(t))
        return true;
    row->take(t, o);
    out->compiles = true;
    out->sqnr_db = *requantizes ? (double)NAN : t->e->sqnr_db;
    return true;
}

/* ---- the two placements ---- */

static void sum_cycles(struct nuc_model *quantized, void *arg)
{
    struct nuc_model *partitioned = nuc_advance(quantized, NUC_STAGE_DIM_ORDER, NUC_STAGE_PARTITION);

    *(uint64_t *)arg = nuc_explained_cycles(nuc_explain_partitioned(partitioned, true));
}

void nuc_compare_placements(struct nuc_explanation *e, const struct nuc_model *quantized,
                            const struct nuc_partitions *partitions)
{
    struct nuc_options other = quantized->settings->o;
    uint64_t own_cycles = nuc_explained_cycles(e), other_cycles = own_cycles;
    bool greedy = other.placement == NUC_PLACEMENT_GREEDY;

    e->greedy_cycles = e->cost_cycles = own_cycles;
    if (!greedy && partitions->n_by_cost == 0)
        return;
    other.placement = greedy ? NUC_PLACEMENT_COST : NUC_PLACEMENT_GREEDY;
    enum nuc_status status = nuc_trial(quantized, &other, sum_cycles, &other_cycles);
    nuc_check(quantized->c->cx, status);
    e->greedy_cycles = greedy ? own_cycles : other_cycles;
    e->cost_cycles = !greedy ? own_cycles : other_cycles < own_cycles ? other_cycles : own_cycles;
}
