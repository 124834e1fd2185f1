/*
 * Targets with an NPU and int8 kernels on the CPU: which operators end on the CPU, before they are quantized for one of
 * the two, and what the partitioner leaves there although the NPU could run it.
 */
#include <string.h>

#include "compiler/cortexm/cortexm.h"
#include "compiler/driver/pipeline.h"
#include "compiler/partition/partition.h"
#include "compiler/quantize/quantize.h"
#include "compiler/support/estimate.h"
#include "compiler/target/target.h"

/* ---- what stays on the CPU ---- */

struct placement {
    struct nuc_graph *g;
    const struct nuc_partition_options *options;
    uint32_t n_ids;
    const char **refused; /* by node id: what would have to hold; NULL: it is not refused */
    bool changed;
};

static bool ask(void *user, const struct nuc_node *node)
{
    const struct placement *p = user;

    if (node->id < p->n_ids && p->refused[node->id] != NULL)
        return false;
    return p->options->check_op_support == NULL ||
           p->options->check_op_support(p->options->check_op_support_user, node);
}

static void refuse(struct placement *p, const struct nuc_node *node, const char *rule)
{
    if (node->id >= p->n_ids || p->refused[node->id] != NULL)
        return;
    p->refused[node->id] = rule;
    p->changed = true;
}

/* What a value is made of, past the quantize and dequantize nodes around it. */
static const struct nuc_node *past_quantization(const struct nuc_node *node)
{
    while (node != NULL && (nuc_is_quantize(node) || nuc_is_dequantize(node)))
        node = nuc_arg_node(node, NUC_SELF);
    return node;
}

/* A weight the compiler can permute is not work for the NPU when the product that reads it runs on the CPU. */
static void refuse_weight_permutations(struct placement *p)
{
    for (const struct nuc_node *n = p->g->first; n != NULL; n = n->next) {
        bool addmm = n->op == NUC_OP_ADDMM;
        if ((!addmm && n->op != NUC_OP_MM) || n->partition >= 0)
            continue;
        const struct nuc_node *weight = past_quantization(nuc_arg_node(n, addmm ? 2 : 1));
        if (weight == NULL || weight->op != NUC_OP_PERMUTE || weight->partition < 0)
            continue;
        const struct nuc_node *source = past_quantization(nuc_arg_node(weight, NUC_SELF));
        if (source != NULL && nuc_is_static(source))
            refuse(p, weight, "the matrix product that reads this weight runs on the NPU");
    }
}

/* Cycles the CPU would take; more than any when it would compute one of them in float. */
static uint64_t cpu_cycles(const struct nuc_target *target, const struct nuc_partition *part)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < part->n_nodes; i++) {
        if (!nuc_is_operator(part->nodes[i]))
            continue;
        if (!nuc_cortexm_has_kernel(part->nodes[i]->op))
            return UINT64_MAX;
        sum += nuc_estimate_cpu(target, part->nodes[i]);
    }
    return sum;
}

static uint64_t npu_cycles(const struct nuc_target *target, const struct nuc_partition *part)
{
    uint64_t sum = target->costs.npu_call;

    for (uint32_t i = 0; i < part->n_nodes; i++) {
        if (nuc_is_operator(part->nodes[i]))
            sum += nuc_estimate_npu(target, part->nodes[i]);
    }
    return sum;
}

static void refuse_small_partitions(struct placement *p, const struct nuc_target *target,
                                    const struct nuc_partitions *partitions)
{
    for (uint32_t i = 0; i < partitions->count; i++) {
        const struct nuc_partition *part = &partitions->items[i];
        if (npu_cycles(target, part) < cpu_cycles(target, part))
            continue;
        for (uint32_t k = 0; k < part->n_nodes; k++) {
            if (nuc_is_operator(part->nodes[k]))
                refuse(p, part->nodes[k], "the partition is faster on the NPU, the call included");
        }
    }
}

static void forget_marks(struct nuc_graph *g)
{
    for (struct nuc_node *n = g->first; n != NULL; n = n->next)
        n->do_not_delegate = false;
}

static void give_reasons(const struct placement *p, struct nuc_partitions *partitions)
{
    for (uint32_t i = 0; i < partitions->n_decisions; i++) {
        struct nuc_decision *d = &partitions->decisions[i];
        if (d->node->id < p->n_ids && p->refused[d->node->id] != NULL)
            *d = (struct nuc_decision){.node = d->node, .rule = p->refused[d->node->id], .actual = "", .limit = ""};
    }
}

static void give_no_npu_reason(struct nuc_partitions *partitions)
{
    for (uint32_t i = 0; i < partitions->n_decisions; i++)
        partitions->decisions[i] = (struct nuc_decision){
            .node = partitions->decisions[i].node, .rule = "the target has an NPU", .actual = "", .limit = ""};
}

struct nuc_partitions *nuc_place(struct nuc_model *m, const struct nuc_partition_options *options)
{
    const struct nuc_target *target = m->settings->target;
    struct placement p = {.g = m->graph, .options = options, .n_ids = m->graph->next_id};
    struct nuc_partition_options asking = *options;
    struct nuc_partitions *partitions = nuc_partition_graph(m->graph, options);

    if (target->npu_name == NULL)
        give_no_npu_reason(partitions);
    if (target->cpu == NULL || options->no_delegate)
        return partitions;
    p.refused = nuc_alloc_array(m->c->cx, p.n_ids, sizeof(char *));
    /* Each round refuses at least one node more, so that this ends; what a refusal leaves alone may be next. */
    asking.check_op_support = ask;
    asking.check_op_support_user = &p;
    for (;;) {
        p.changed = false;
        refuse_weight_permutations(&p);
        if (m->settings->o.placement == NUC_PLACEMENT_COST)
            refuse_small_partitions(&p, target, partitions);
        if (!p.changed) {
            give_reasons(&p, partitions);
            return partitions;
        }
        forget_marks(m->graph);
        partitions = nuc_partition_graph(m->graph, &asking);
    }
}

/* ---- which operators end there ---- */

/* Operators of the graph `found` is made of, parts of which no partition has. */
static void collect(const struct nuc_model *found, bool *on_cpu, uint32_t n_ids)
{
    for (const struct nuc_node *n = found->graph->first; n != NULL; n = n->next) {
        uint32_t origin = n->source.origin;
        if (nuc_is_operator(n) && n->partition < 0 && origin > 0 && origin <= n_ids)
            on_cpu[origin - 1] = true;
    }
}

bool nuc_is_cpu_node(void *user, const struct nuc_node *node)
{
    const bool *on_cpu = user;

    return on_cpu[node->id];
}

struct discovery {
    struct nuc_quantize_options options;
    bool *on_cpu;
    float low; /* of the random sample */
};

/* Marks of the nodes of a copy, and in the copy where each is from. */
static bool *mark_copy(const struct nuc_graph *own, struct nuc_graph *copy, const bool *on_cpu)
{
    bool *marks = nuc_alloc_array(copy->cx, copy->next_id, sizeof *marks);
    const struct nuc_node *from = own->first;

    for (struct nuc_node *n = copy->first; n != NULL && from != NULL; n = n->next, from = from->next) {
        n->source.origin = from->id + 1;
        marks[n->id] = on_cpu[from->id];
    }
    return marks;
}

/* The model as the marks say, quantized with one random sample and partitioned: where its operators end. */
static void look(struct nuc_model *prepared, struct discovery *d)
{
    const struct nuc_graph *own = prepared->graph;
    struct nuc_model *copy = nuc_model_after(prepared, nuc_graph_copy(own));

    d->options.ends_on_cpu = nuc_is_cpu_node;
    d->options.ends_on_cpu_user = mark_copy(own, copy->graph, d->on_cpu);
    copy->calibration = nuc_quantize_prepare(copy->graph, &d->options);
    nuc_quantize_random_sample(copy, d->low);
    struct nuc_model *found = nuc_advance(copy, NUC_STAGE_QUANTIZE, NUC_STAGE_PARTITION);
    memset(d->on_cpu, 0, own->next_id * sizeof *d->on_cpu);
    collect(found, d->on_cpu, own->next_id);
}

/* What becomes quantized on the CPU may let its neighbours go to the NPU: a second look. */
static void look_twice(struct nuc_model *prepared, void *arg)
{
    look(prepared, arg);
    look(prepared, arg);
}

bool *nuc_find_cpu_nodes(struct nuc_model *prepared, const struct nuc_quantize_options *options)
{
    struct nuc_context *cx = prepared->c->cx;
    uint32_t n_ids = prepared->graph->next_id;
    struct discovery d = {*options, nuc_alloc_array(cx, n_ids, sizeof(bool)), NUC_LOW_BOTH_SIGNS};

    d.options.bias_correction = NUC_BIAS_CORRECTION_OFF;
    enum nuc_status status = nuc_trial(prepared, &prepared->settings->o, look_twice, &d);
    if (status == NUC_BAD_INPUT) {
        d.low = NUC_LOW_POSITIVE;
        memset(d.on_cpu, 0, n_ids * sizeof *d.on_cpu);
        status = nuc_trial(prepared, &prepared->settings->o, look_twice, &d);
    }
    if (status != NUC_OK)
        nuc_fail_again(cx, status);
    return d.on_cpu;
}
