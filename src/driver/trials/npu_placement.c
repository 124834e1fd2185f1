/* Which operators the NPU runs: what the partitioner finds, less what ends up alone, by the cycles of the whole. */
#include "cpu/cortexm.h"
#include "driver/lowered.h"
#include "npu/lower/lower.h"
#include "npu/partition/partition.h"
#include "npu/target/target.h"

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
    while (node != NULL && nuc_is_quantization(node))
        node = nuc_arg_node(node, NUC_SELF);
    return node;
}

/* A weight the compiler can permute is not work for the NPU when the product that reads it runs on the CPU. */
static void refuse_weight_permutations(struct placement *p)
{
    const bool any = p->g->n_of_op[NUC_OP_ADDMM] + p->g->n_of_op[NUC_OP_MM] > 0;

    for (const struct nuc_node *n = any ? p->g->first : NULL; n != NULL; n = n->next) {
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

/*
 * What a LiteRT model of a partition transposes is known when it is arranged: much of it goes into weights, or cancels.
 * An NPU that cannot leaves the operators that ask for what remains to the CPU.
 */
static void refuse_transposes(struct placement *p, const struct nuc_model *m, const struct nuc_partitions *partitions)
{
    const struct nuc_lower_options options = nuc_lowering_options(m, NULL);

    for (uint32_t i = 0; i < partitions->count; i++) {
        struct nuc_arena *outer = nuc_push_arena(p->g->cx);
        const bool *found = nuc_lower_transposing(p->g, &partitions->items[i], &options);
        for (uint32_t id = 0; found != NULL && id < p->n_ids; id++) {
            if (!found[id] || p->refused[id] != NULL)
                continue;
            p->refused[id] = "its data lie as it needs them, for the NPU has no kernel that transposes";
            p->changed = true;
        }
        nuc_pop_arena(p->g->cx, outer);
    }
}

static void forget_marks(struct nuc_graph *g)
{
    for (struct nuc_node *n = g->first; n != NULL; n = n->next)
        n->do_not_delegate = false;
}

static void give_reasons(const char *const *refused, struct nuc_partitions *partitions)
{
    for (uint32_t i = 0; i < partitions->n_decisions; i++) {
        struct nuc_decision *d = &partitions->decisions[i];
        if (refused[d->node->id] != NULL)
            *d = (struct nuc_decision){.node = d->node, .rule = refused[d->node->id], .actual = "", .limit = ""};
    }
}

/* A placement, perhaps one of several that are tried, and what each node of the graph then says of it. */
struct placed {
    struct nuc_sub_arena *memory;
    struct nuc_partitioner *by;
    bool is_asked_again; /* the partitioner lies in the memory of a placement before */
    struct nuc_partitions *partitions;
    const char **refused; /* by node id; NULL: the partitioner alone decided */
    struct mark {
        int partition;
        bool on_cpu;
    } * marks; /* in the order of the graph */
};

/*
 * `asked`: the partitioner of another placement that no refusal changed; NULL: there is none. What the CPU has no
 * kernels for, or the NPU transposes in vain, is refused in rounds.
 */
static struct placed place(struct nuc_model *m, const struct nuc_partition_options *options, uint32_t by_cost,
                           struct nuc_partitioner *asked)
{
    const struct nuc_target *target = m->settings->target;
    struct placement p = {.g = m->graph, .options = options, .n_ids = m->graph->next_id};
    struct nuc_partition_options asking = *options;
    const bool transposes = nuc_has_firmware_kernel(target, NUC_FW_Transpose);
    struct placed found = {.by = asked};

    asking.has_int8_kernel = target->cpu != NULL ? nuc_cortexm_has_kernel : NULL;
    /* Each round refuses at least one node more, so that this ends; what a refusal leaves alone may be next. */
    for (;;) {
        found.is_asked_again = found.by != NULL;
        if (found.by == NULL) {
            forget_marks(m->graph); /* of another placement */
            found.by = nuc_partitioner_new(m->graph, &asking);
        }
        found.partitions = nuc_partitioner_place(found.by, by_cost);
        if (target->cpu == NULL && transposes)
            return found;
        if (p.refused == NULL)
            p.refused = nuc_alloc_array(m->c->cx, p.n_ids, sizeof(char *));
        p.changed = false;
        if (target->cpu != NULL)
            refuse_weight_permutations(&p);
        if (!transposes && !p.changed)
            refuse_transposes(&p, m, found.partitions);
        if (!p.changed)
            return found;
        found.refused = p.refused;
        asking.check_op_support = ask;
        asking.check_op_support_user = &p;
        found.by = NULL;
    }
}

static struct nuc_partitions *decide(const struct placed *p)
{
    nuc_partitioner_decide(p->by, p->partitions);
    if (p->refused != NULL)
        give_reasons(p->refused, p->partitions);
    return p->partitions;
}

/* How often placement by cost counts a call; 0: it is greedy. */
static const uint32_t call_counts[] = {
    [NUC_PLACING_BY_CALLS] = 1, [NUC_PLACING_FEWER_CALLS] = 3, [NUC_PLACING_GREEDY] = 0};

/* `first`: one that was tried before; NULL: there is none. */
static struct placed try_placing(struct nuc_model *m, const struct nuc_partition_options *options, uint32_t by_cost,
                                 const struct placed *first)
{
    struct nuc_context *cx = m->c->cx;
    struct nuc_sub_arena *memory = nuc_enter_sub_arena(cx);
    struct placed p = place(m, options, by_cost, first != NULL && first->refused == NULL ? first->by : NULL);
    uint32_t i = 0;

    p.memory = memory;
    p.marks = nuc_alloc_array(cx, m->graph->n_nodes, sizeof *p.marks);
    for (const struct nuc_node *n = m->graph->first; n != NULL; n = n->next)
        p.marks[i++] = (struct mark){n->partition, n->do_not_delegate};
    nuc_leave_sub_arena(cx, memory);
    return p;
}

/* A partitioner stays as long as a placement of it. */
static struct placed take(const struct placed *better, const struct placed *other)
{
    if (other->is_asked_again || other->by != better->by)
        nuc_free_sub_arena(other->memory);
    return *better;
}

/* UINT64_MAX: it cannot be converted, or its program not written. */
static uint64_t converted_cycles(const struct nuc_model *m, const struct placed *p)
{
    struct nuc_model as = *m;
    uint64_t cycles;

    as.partitions = p->partitions;
    return nuc_count_cycles(&as, &cycles) && cycles > 0 ? cycles : UINT64_MAX;
}

/*
 * How calls count in what takes the fewest cycles when it is converted: as estimates decided, more for fewer
 * partitions, or not at all, in the greedy placement, which stays if it takes hardly more, by at most half of the start
 * of a kernel and a twentieth, as exactly as cycles are known (docs/cycle-model.md).
 */
static struct placed best_placement(struct nuc_model *m, const struct nuc_partition_options *options, uint32_t by_cost,
                                    struct placed found)
{
    const bool is_split = by_cost == 1 && found.partitions->count > 1;
    struct placed other;

    if (!is_split)
        nuc_partitioner_end_search(found.by);
    uint64_t least = converted_cycles(m, &found);
    if (is_split) {
        other = try_placing(m, options, call_counts[NUC_PLACING_FEWER_CALLS], &found);
        uint64_t fewer = converted_cycles(m, &other);
        found = take(fewer < least ? &other : &found, fewer < least ? &found : &other);
        least = fewer < least ? fewer : least;
        nuc_partitioner_end_search(found.by);
    }
    other = try_placing(m, options, call_counts[NUC_PLACING_GREEDY], &found);
    uint64_t greedy = converted_cycles(m, &other);
    uint64_t start = m->settings->target->npu->kernel / 2, share = greedy / 20;
    bool stays = greedy < UINT64_MAX && (least == UINT64_MAX || greedy <= least + (start < share ? start : share));
    return take(stays ? &other : &found, stays ? &found : &other);
}

struct nuc_partitions *nuc_place(struct nuc_model *m, const struct nuc_partition_options *options)
{
    const struct nuc_settings *s = m->settings;
    uint32_t by_cost = s->o.placement == NUC_PLACEMENT_GREEDY ? 0 : call_counts[m->placing];

    if (options->no_delegate) {
        struct nuc_partitions *partitions = nuc_partition_graph(m->graph, options);
        if (s->target->npu_name == NULL) {
            for (uint32_t i = 0; i < partitions->n_decisions; i++)
                partitions->decisions[i] = (struct nuc_decision){
                    .node = partitions->decisions[i].node, .rule = "the target has an NPU", .actual = "", .limit = ""};
        }
        return partitions;
    }
    if (s->trial && !s->places_well) {
        const struct placed only = place(m, options, by_cost, NULL);
        return decide(&only);
    }
    struct placed best = try_placing(m, options, by_cost, NULL);
    if (best.partitions->n_by_cost > 0)
        best = best_placement(m, options, by_cost, best);
    uint32_t i = 0;
    for (struct nuc_node *n = m->graph->first; n != NULL; n = n->next, i++) {
        n->partition = best.marks[i].partition;
        n->do_not_delegate = best.marks[i].on_cpu;
    }
    return decide(&best);
}
