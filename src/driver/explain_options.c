/* Options that would make a model faster: each that may is tried, and named when it does. */
#include <string.h>

#include "cpu/cortexm.h"
#include "driver/explain_options.h"
#include "npu/explain/explain.h"
#include "npu/partition/partition.h"
#include "npu/support/estimate.h"
#include "npu/target/target.h"

/* What becomes of a model under some options. */
struct figures {
    uint64_t cycles;
    uint32_t n_on_cpu, n_partitions;
};

static struct figures figures_of(const struct nuc_explanation *e)
{
    return (struct figures){nuc_explained_cycles(e), e->n_operators - e->n_delegated, e->n_partitions};
}

static void measure(struct nuc_model *quantized, void *arg)
{
    struct nuc_model *partitioned = nuc_advance(quantized, NUC_STAGE_DIM_ORDER, NUC_STAGE_PARTITION);

    *(struct figures *)arg = figures_of(nuc_explain_partitioned(partitioned, true));
}

static void quantize_and_measure(struct nuc_model *m, void *arg)
{
    measure(nuc_quantize_random(m), arg);
}

/* Quantize and dequantize nodes on the CPU once inputs and outputs are what the options say. */
static void measure_quantization(struct nuc_model *partitioned, void *arg)
{
    struct nuc_job j = {.c = partitioned->c, .m = partitioned, .graph_only = true};
    uint64_t *cycles = arg;

    nuc_run_stages(&j, NUC_STAGE_DELEGATE, NUC_STAGE_QUANTIZE_IO);
    const struct nuc_model *m = j.m;
    for (const struct nuc_node *n = m->graph->first; n != NULL; n = n->next)
        *cycles += nuc_is_quantize(n) || nuc_is_dequantize(n) ? nuc_estimate_cpu(m->settings->target, n) : 0;
}

/* ---- the options ---- */

struct trying {
    const struct nuc_model *m, *quantized; /* partitioned; as its partitioning began */
    struct nuc_explanation *e;
    struct figures own, own_random; /* with its own options; quantized as what is tried is */
    bool has_random;
};

static bool has_int8_twin(const struct trying *t)
{
    return t->e->target->npu_name != NULL && t->e->target->cpu == NULL && t->e->n_delegated < t->e->n_operators;
}

static const char *int8_twin(const struct nuc_target *target)
{
    const struct nuc_target *twin;

    for (size_t i = 0; (twin = nuc_target_at(i)) != NULL; i++) {
        if (twin->cpu != NULL && twin->npu_name != NULL && strcmp(twin->npu_name, target->npu_name) == 0)
            return twin->name;
    }
    return target->name;
}

static void take_int8_twin(const struct trying *t, struct nuc_options *o)
{
    o->target = int8_twin(t->e->target);
}

static bool takes_images(const struct nuc_graph *g)
{
    for (const struct nuc_node *n = g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        if (n->input_kind == NUC_USER_INPUT && n->n_vals == 1 && n->vals[0].rank == 4)
            return true;
    }
    return false;
}

static bool may_reorder(const struct trying *t)
{
    return t->quantized->settings->o.dim_order == NUC_DIM_ORDER_AS_IS && !t->m->from_litert &&
           takes_images(t->m->graph) && (t->e->format_cycles > 0 || t->e->n_delegated < t->e->n_operators);
}

static void take_channels_last(const struct trying *t, struct nuc_options *o)
{
    (void)t;
    o->dim_order = NUC_DIM_ORDER_CHANNELS_LAST;
}

static void take_contiguous(const struct trying *t, struct nuc_options *o)
{
    (void)t;
    o->dim_order = NUC_DIM_ORDER_CONTIGUOUS;
}

static bool has_work_on_cpu(const struct trying *t)
{
    return t->m->settings->delegates && !t->m->settings->o.allow_no_op_partitions &&
           t->e->n_delegated < t->e->n_operators;
}

static void allow_no_ops(const struct trying *t, struct nuc_options *o)
{
    (void)t;
    o->allow_no_op_partitions = true;
}

static bool has_named_ones(const struct trying *t)
{
    return t->m->settings->delegates && t->m->settings->o.n_operators_not_to_delegate > 0;
}

static void delegate_named_ones(const struct trying *t, struct nuc_options *o)
{
    (void)t;
    o->n_operators_not_to_delegate = 0;
}

static bool is_executorch_only(const struct trying *t)
{
    return t->m->settings->o.executorch_ops_only;
}

static void take_own_ops(const struct trying *t, struct nuc_options *o)
{
    (void)t;
    o->executorch_ops_only = false;
}

static bool is_compat(const struct trying *t)
{
    return t->m->settings->o.reference_compat;
}

static void leave_reference(const struct trying *t, struct nuc_options *o)
{
    (void)t;
    o->reference_compat = false;
}

static bool has_older_rules(const struct trying *t)
{
    return t->m->settings->delegates && t->m->settings->flavor->rules == NUC_RULES_SDK_3_1;
}

static void take_newer_rules(const struct trying *t, struct nuc_options *o)
{
    (void)t;
    o->converter_flavor = "sdk-3.2";
}

static bool is_left_out(const struct trying *t)
{
    return t->e->target->npu_name != NULL && !t->m->settings->o.delegate;
}

static void use_npu(const struct trying *t, struct nuc_options *o)
{
    (void)t;
    o->delegate = true;
}

struct option {
    const char *text; /* NULL: of the target that is taken */
    bool (*applies)(const struct trying *t);
    void (*take)(const struct trying *t, struct nuc_options *o);
    bool requantizes; /* the quantizer asks for it, too */
};

static const struct option options[] = {
    {NULL, has_int8_twin, take_int8_twin, true},
    {"no --no-delegate", is_left_out, use_npu, true},
    {"--converter-flavor sdk-3.2", has_older_rules, take_newer_rules, true},
    {"no --reference-compat", is_compat, leave_reference, true},
    {"no --executorch-ops-only", is_executorch_only, take_own_ops, true},
    {"all operators delegated", has_named_ones, delegate_named_ones, false},
    {"--dim-order channels-last", may_reorder, take_channels_last, false},
    {"--dim-order contiguous", may_reorder, take_contiguous, false},
    {"--allow-no-op-partitions", has_work_on_cpu, allow_no_ops, false},
};

enum { N_OPTIONS = sizeof options / sizeof options[0] };

/* ---- trying ---- */

/* Less by a hundredth of what it was, so that noise of the estimate is no advice. */
static bool is_less(uint64_t cycles, uint64_t than)
{
    return cycles < than - than / 100;
}

static void add_help(struct trying *t, const char *text, struct figures figures)
{
    struct nuc_explanation *e = t->e;
    uint32_t i = e->n_helps++;

    for (; i > 0 && e->helps[i - 1].cycles > figures.cycles; i--)
        e->helps[i] = e->helps[i - 1];
    e->helps[i] = (struct nuc_explain_help){text, figures.cycles, figures.n_on_cpu, figures.n_partitions};
}

/*
 * What the quantizer asks for is tried on the float model, with the random sample that is quick, and compared with the
 * model's own options tried so. Without a float model, the archive being quantized, with what there is.
 */
static bool try_one(struct trying *t, const struct option *option, struct figures *found)
{
    const struct nuc_model *from_float = option->requantizes ? t->quantized->from_float : NULL;
    struct nuc_options o = t->quantized->settings->o;

    if (from_float != NULL && !t->has_random) {
        const struct nuc_options own = from_float->settings->o;
        t->own_random = t->own;
        t->has_random = true;
        if (!t->e->made_up_ranges)
            (void)nuc_trial(from_float, &own, quantize_and_measure, &t->own_random);
    }
    option->take(t, &o);
    const struct figures *own = from_float != NULL ? &t->own_random : &t->own;
    enum nuc_status status = from_float != NULL ? nuc_trial(from_float, &o, quantize_and_measure, found)
                                                : nuc_trial(t->quantized, &o, measure, found);
    return status == NUC_OK && is_less(found->cycles, own->cycles);
}

void nuc_try_options(const struct nuc_model *partitioned, const struct nuc_model *quantized, struct nuc_explanation *e)
{
    struct nuc_context *cx = partitioned->c->cx;
    struct trying t = {.m = partitioned, .quantized = quantized, .e = e, .own = figures_of(e)};
    /* One inference of the reference evaluator, which quantizing takes, is to be quick. */
    static const uint64_t most_macs = 2000000000;
    uint64_t macs = 0;

    for (uint32_t i = 0; i < e->n_rows; i++)
        macs += e->rows[i].macs;
    bool quick = macs < most_macs;
    /* The caller's own check is asked about the nodes of the model alone. */
    if (partitioned->settings->o.check_op_support != NULL)
        return;
    e->helps = nuc_alloc_array(cx, N_OPTIONS + 1, sizeof *e->helps);
    for (size_t i = 0; i < N_OPTIONS; i++) {
        const struct option *option = &options[i];
        struct figures found = {0, 0, 0};
        if (!option->applies(&t) || (option->requantizes && quantized->from_float != NULL && !quick) ||
            !try_one(&t, option, &found))
            continue;
        add_help(&t, option->text != NULL ? option->text : nuc_format(cx, "--target %s", int8_twin(e->target)), found);
    }
    struct nuc_options o = t.m->settings->o;
    uint64_t as_is = 0, int8 = 0;
    struct figures figures = t.own;
    if (o.io == NUC_IO_INT8 || nuc_trial(t.m, &o, measure_quantization, &as_is) != NUC_OK)
        return;
    o.io = NUC_IO_INT8;
    if (nuc_trial(t.m, &o, measure_quantization, &int8) != NUC_OK || int8 >= as_is)
        return;
    figures.cycles -= as_is - int8;
    if (is_less(figures.cycles, t.own.cycles))
        add_help(&t, "--io int8", figures);
}

static void sum_cycles(struct nuc_model *quantized, void *arg)
{
    struct figures figures;

    measure(quantized, &figures);
    *(uint64_t *)arg = figures.cycles;
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
    if (status != NUC_OK)
        nuc_fail_again(quantized->c->cx, status);
    e->greedy_cycles = greedy ? own_cycles : other_cycles;
    e->cost_cycles = !greedy ? own_cycles : other_cycles < own_cycles ? other_cycles : own_cycles;
}
