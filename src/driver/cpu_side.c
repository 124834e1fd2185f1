/*
 * Targets with an NPU and int8 kernels on the CPU: which operators end on the CPU, before they are quantized for one of
 * the two, and what the partitioner leaves there although the NPU could run it.
 */
#include <string.h>

#include "cpu/cortexm.h"
#include "driver/pipeline.h"
#include "npu/partition/partition.h"
#include "npu/target/target.h"
#include "quantize/quantize.h"

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
        if (source != NULL && nuc_is_static(source)) {
            if (weight->id >= p->n_ids || p->refused[weight->id] != NULL)
                continue;
            p->refused[weight->id] = "the matrix product that reads this weight runs on the NPU";
            p->changed = true;
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

static struct nuc_partitions *place(struct nuc_model *m, const struct nuc_partition_options *options, bool by_cost)
{
    const struct nuc_target *target = m->settings->target;
    struct placement p = {.g = m->graph, .options = options, .n_ids = m->graph->next_id};
    struct nuc_partition_options asking = *options;

    asking.by_cost = by_cost;
    asking.has_int8_kernel = target->cpu != NULL ? nuc_cortexm_has_kernel : NULL;
    struct nuc_partitions *partitions = nuc_partition_graph(m->graph, &asking);
    if (target->cpu == NULL)
        return partitions;
    p.refused = nuc_alloc_array(m->c->cx, p.n_ids, sizeof(char *));
    /* Each round refuses at least one node more, so that this ends; what a refusal leaves alone may be next. */
    asking.check_op_support = ask;
    asking.check_op_support_user = &p;
    for (;;) {
        p.changed = false;
        refuse_weight_permutations(&p);
        if (!p.changed) {
            give_reasons(&p, partitions);
            return partitions;
        }
        forget_marks(m->graph);
        partitions = nuc_partition_graph(m->graph, &asking);
    }
}

/* Whether the placement by cost, which estimates decided, takes no fewer cycles than the greedy one when converted. */
static bool is_in_vain(struct nuc_model *m, const struct nuc_partition_options *options, struct nuc_partitions *by_cost)
{
    struct nuc_model as = *m;
    uint64_t cost, greedy;

    as.partitions = by_cost;
    if (!nuc_count_cycles(&as, &cost))
        return false;
    forget_marks(m->graph);
    as.partitions = place(m, options, false);
    return nuc_count_cycles(&as, &greedy) && greedy <= cost;
}

struct nuc_partitions *nuc_place(struct nuc_model *m, const struct nuc_partition_options *options)
{
    const struct nuc_settings *s = m->settings;
    bool by_cost = s->o.placement == NUC_PLACEMENT_COST && !m->greedy;
    struct nuc_partitions *partitions;

    if (options->no_delegate) {
        partitions = nuc_partition_graph(m->graph, options);
        if (s->target->npu_name == NULL) {
            for (uint32_t i = 0; i < partitions->n_decisions; i++)
                partitions->decisions[i] = (struct nuc_decision){
                    .node = partitions->decisions[i].node, .rule = "the target has an NPU", .actual = "", .limit = ""};
        }
        return partitions;
    }
    partitions = place(m, options, by_cost);
    if (partitions->n_by_cost == 0 || s->trial)
        return partitions;
    by_cost = !is_in_vain(m, options, partitions);
    forget_marks(m->graph);
    return place(m, options, by_cost);
}

/* ---- which operators end there ---- */

bool nuc_is_cpu_node(void *user, const struct nuc_node *node)
{
    const bool *on_cpu = user;

    return on_cpu[node->id];
}

struct discovery {
    struct nuc_quantize_options options;
    bool *on_cpu;
    unsigned attempt; /* of the random sample */
    bool by_cost;     /* something the NPU could run is cheaper on the CPU */
    uint64_t cycles;  /* of the model as it was seen last, where that was asked; 0: it cannot be converted */
    bool is_last;     /* look, of which cycles are asked where the placement by cost moved something */
};

/* Marks of the nodes of a copy, and in the copy where each is from. */
static bool *mark_copy(const struct nuc_graph *own, struct nuc_graph *copy, const bool *on_cpu)
{
    bool *marks = nuc_alloc_array(copy->cx, copy->next_id, sizeof *marks);
    const struct nuc_node *from = own->first;

    for (struct nuc_node *n = copy->first; n != NULL && from != NULL; n = n->next, from = from->next) {
        n->origin = from->id + 1;
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
    nuc_quantize_random_sample(copy, d->attempt);
    struct nuc_model *found = nuc_advance(copy, NUC_STAGE_QUANTIZE, NUC_STAGE_PARTITION);
    memset(d->on_cpu, 0, own->next_id * sizeof *d->on_cpu);
    /* Operators of the graph `found` is made of, parts of which no partition has. */
    for (const struct nuc_node *n = found->graph->first; n != NULL; n = n->next) {
        uint32_t origin = n->origin;
        if (nuc_is_operator(n) && n->partition < 0 && origin > 0 && origin <= own->next_id)
            d->on_cpu[origin - 1] = true;
    }
    d->by_cost |= found->partitions->n_by_cost > 0;
    d->cycles = 0;
    bool counts = d->is_last && (d->by_cost || prepared->settings->o.placement == NUC_PLACEMENT_GREEDY);
    if (counts && !nuc_count_cycles(found, &d->cycles))
        d->cycles = 0;
}

/* What becomes quantized on the CPU may let its neighbours go to the NPU: a second look. */
static void look_twice(struct nuc_model *prepared, void *arg)
{
    struct discovery *d = arg;

    d->is_last = false;
    look(prepared, d);
    d->is_last = true;
    look(prepared, d);
}

static void discover(const struct nuc_model *prepared, enum nuc_placement placement, struct discovery *d)
{
    struct nuc_options as = prepared->settings->o;
    uint32_t n_ids = prepared->graph->next_id;

    as.placement = placement;
    d->on_cpu = nuc_alloc_array(prepared->c->cx, n_ids, sizeof(bool));
    d->by_cost = false;
    enum nuc_status status = NUC_BAD_INPUT;
    for (d->attempt = 0; status == NUC_BAD_INPUT && d->attempt < NUC_RANDOM_ATTEMPTS; d->attempt++) {
        memset(d->on_cpu, 0, n_ids * sizeof *d->on_cpu);
        status = nuc_trial(prepared, &as, look_twice, d);
    }
    if (status != NUC_OK)
        nuc_fail_again(prepared->c->cx, status);
}

/* By cost, when operators the NPU could run are quantized for the CPU and that takes fewer cycles than greedily. */
bool *nuc_find_cpu_nodes(struct nuc_model *prepared, const struct nuc_quantize_options *options)
{
    struct discovery d = {.options = *options}, greedy;

    d.options.accuracy = NUC_ACCURACY_FAST;
    d.options.bias_correction = NUC_BIAS_CORRECTION_OFF;
    discover(prepared, prepared->settings->o.placement, &d);
    if (!d.by_cost)
        return d.on_cpu;
    greedy = d;
    discover(prepared, NUC_PLACEMENT_GREEDY, &greedy);
    prepared->greedy = d.cycles == 0 || (greedy.cycles > 0 && greedy.cycles <= d.cycles);
    return prepared->greedy ? greedy.on_cpu : d.on_cpu;
}
