/* Targets with an NPU and int8 kernels on the CPU: which operators end on the CPU, before they are quantized for it. */
#include <string.h>

#include "driver/lowered.h"
#include "npu/partition/partition.h"
#include "quantize/quantize.h"

bool nuc_is_cpu_node(void *user, const struct nuc_node *node)
{
    const bool *on_cpu = user;

    return on_cpu[node->id];
}

struct discovery {
    struct nuc_quantize_options options;
    bool *on_cpu;
    bool *given_up;   /* by node id: computed in float although it was quantized for the CPU */
    unsigned attempt; /* of the random sample */
    bool by_cost;     /* something the NPU could run is cheaper on the CPU */
    bool is_split;    /* into several partitions, as it was seen last */
    uint64_t cycles;  /* of the model as it was seen last, where that was asked; 0: it cannot be converted */
    bool is_settled;  /* the marks are what was found by them */
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

/* Operators of the graph `found` is made of, parts of which no partition has. */
static void mark_all_on_cpu(const struct nuc_model *found, const struct nuc_graph *own, struct discovery *d)
{
    memset(d->on_cpu, 0, own->next_id * sizeof *d->on_cpu);
    for (const struct nuc_node *n = found->graph->first; n != NULL; n = n->next) {
        if (nuc_is_operator(n) && n->partition < 0 && n->origin > 0 && n->origin <= own->next_id)
            d->on_cpu[n->origin - 1] = true;
    }
}

/*
 * Those that the CPU computes in float and may in int8. What is quantized for it and needs no longer to be, since all
 * of it is on the NPU now, is not; nor what has no kernel for its case.
 */
static void mark_in_float(struct nuc_model *found, const struct nuc_graph *own, struct discovery *d)
{
    struct nuc_context *cx = own->cx;
    struct nuc_job j = {.c = found->c, .m = found, .graph_only = true};
    bool *has_float = nuc_alloc_array(cx, own->next_id, sizeof *has_float);
    bool *has_cpu = nuc_alloc_array(cx, own->next_id, sizeof *has_cpu);

    nuc_run_stages(&j, NUC_STAGE_DELEGATE, NUC_STAGE_LOWER);
    const bool *in_float = j.m->lowered->in_float;
    for (const struct nuc_node *n = found->graph->first; n != NULL; n = n->next) {
        if (!nuc_is_operator(n) || n->partition >= 0 || n->origin == 0 || n->origin > own->next_id)
            continue;
        has_cpu[n->origin - 1] = true;
        has_float[n->origin - 1] |= in_float[n->id];
    }
    for (const struct nuc_node *n = own->first; n != NULL; n = n->next) {
        d->given_up[n->id] |= d->on_cpu[n->id] && has_float[n->id];
        d->on_cpu[n->id] = !d->given_up[n->id] && has_cpu[n->id] &&
                           (d->on_cpu[n->id] || (has_float[n->id] && nuc_rounds_on_cpu(found->settings, n->op)));
    }
}

/*
 * The model as the marks say, quantized with one random sample and partitioned: where its operators end. The last look
 * leaves the marks as they are. Cycles are those of the marks: of the last look, or where the marks stay, and are asked
 * where the placement by cost moved something.
 */
static void look(struct nuc_model *prepared, struct discovery *d, bool is_last)
{
    const struct nuc_graph *own = prepared->graph;
    struct nuc_arena *outer = nuc_push_arena(own->cx);
    const bool *before = nuc_copy(own->cx, d->on_cpu, own->next_id * sizeof *before);
    struct nuc_model *copy = nuc_model_after(prepared, nuc_graph_copy(own));

    d->options.ends_on_cpu = nuc_is_cpu_node;
    d->options.ends_on_cpu_user = mark_copy(own, copy->graph, d->on_cpu);
    copy->calibration = nuc_quantize_prepare(copy->graph, &d->options);
    nuc_quantize_random_sample(copy, d->attempt);
    struct nuc_model *found = nuc_partition_prepared(copy);
    if (prepared->settings->o.reference_compat)
        mark_all_on_cpu(found, own, d);
    else if (!is_last)
        mark_in_float(found, own, d);
    d->is_settled = is_last || (!prepared->settings->o.reference_compat &&
                                memcmp(before, d->on_cpu, own->next_id * sizeof *before) == 0);
    d->by_cost |= found->partitions->n_by_cost > 0;
    d->is_split = found->partitions->count > 1;
    d->cycles = 0;
    bool counts = d->is_settled && (d->by_cost || prepared->placing != NUC_PLACING_BY_CALLS);
    if (counts && !nuc_count_cycles(found, &d->cycles))
        d->cycles = 0;
    nuc_pop_arena(own->cx, outer);
}

/*
 * What becomes quantized on the CPU may let its neighbours go to the NPU: more than one look, unless nothing changes by
 * the first or the second one.
 */
static void look_on(struct nuc_model *prepared, void *arg)
{
    struct discovery *d = arg;

    look(prepared, d, false);
    if (!prepared->settings->o.reference_compat && !d->is_settled)
        look(prepared, d, false);
    if (!d->is_settled)
        look(prepared, d, true);
}

static void discover(const struct nuc_model *prepared, struct discovery *d)
{
    const struct nuc_options as = prepared->settings->o;
    uint32_t n_ids = prepared->graph->next_id;

    d->on_cpu = nuc_alloc_array(prepared->c->cx, n_ids, sizeof(bool));
    d->given_up = nuc_alloc_array(prepared->c->cx, n_ids, sizeof(bool));
    d->by_cost = false;
    enum nuc_status status = NUC_BAD_INPUT;
    for (d->attempt = 0; status == NUC_BAD_INPUT && d->attempt < NUC_RANDOM_ATTEMPTS; d->attempt++) {
        memset(d->on_cpu, 0, n_ids * sizeof *d->on_cpu);
        memset(d->given_up, 0, n_ids * sizeof *d->given_up);
        status = nuc_trial(prepared, &as, look_on, d);
    }
    nuc_check(prepared->c->cx, status);
}

/*
 * By cost, when operators the NPU could run are on the CPU and that takes fewer cycles than greedily; with fewer
 * partitions than estimates ask for where the network converted takes fewer cycles so.
 */
bool *nuc_find_cpu_nodes(struct nuc_model *prepared, const struct nuc_quantize_options *options)
{
    struct discovery best = {.options = *options};

    best.options.accuracy = NUC_ACCURACY_FAST;
    best.options.bias_correction = false;
    prepared->placing = NUC_PLACING_BY_CALLS;
    discover(prepared, &best);
    if (!best.by_cost)
        return best.on_cpu;
    enum nuc_placing chosen = prepared->placing;
    for (int placing = best.is_split ? NUC_PLACING_FEWER_CALLS : NUC_PLACING_GREEDY; placing <= NUC_PLACING_GREEDY;
         placing++) {
        struct discovery other = best;
        prepared->placing = (enum nuc_placing)placing;
        discover(prepared, &other);
        bool is_better = placing == NUC_PLACING_GREEDY ? other.cycles <= best.cycles : other.cycles < best.cycles;
        if (best.cycles > 0 && (other.cycles == 0 || !is_better))
            continue;
        best = other;
        chosen = prepared->placing;
    }
    prepared->placing = chosen;
    return best.on_cpu;
}
