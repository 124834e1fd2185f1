#include "npu/partition/partition.h"

#include <assert.h>
#include <string.h>

#include "ir/quant.h"
#include "npu/layout/layout.h"
#include "npu/partition/not_delegated.h"
#include "npu/partition/place.h"
#include "npu/partition/propose.h"
#include "npu/support/cluster.h"
#include "npu/support/support.h"

static const struct nuc_partition_options defaults = {.target = NULL};

/* What every proposal asks of a call, without its node. */
struct step {
    struct nuc_node *node;
    uint32_t id, compute; /* of the node that it goes with, NO_NODE: none */
    bool is_compute;      /* neither a quantize nor a dequantize node */
    bool has_rules;
    enum nuc_no_op no_op;
};

#define NO_NODE UINT32_MAX

/* Outcomes of the gates of a compute node's rules. */
struct gates {
    enum nuc_check format : 8, ir : 8, target : 8;
};

/* Why a node is on the CPU. */
struct reason {
    const struct nuc_node *node;
    struct nuc_verdict verdict;
    const struct nuc_node *neighbour;
    bool by_cost;
};

struct reasons {
    struct reason *items;
    size_t count, capacity;
};

struct nuc_partitioner {
    struct nuc_graph *g;
    struct nuc_partition_options options;
    struct nuc_support support;
    struct nuc_sub_arena *work;  /* of what a search asks; NULL: none follows */
    struct nuc_arena *proposals; /* where they lie */
    struct gates *gates;         /* by node id */
    bool *refused; /* by node id: the rules, the options or an earlier round keep the compute node on the CPU */
    bool *supported;
    struct nuc_flow flow;
    uint32_t n_steps;
    struct step *steps; /* the calls in graph order */
    struct nuc_proposal *proposal, *greedy;
    const bool *greedy_refused;
    struct not_delegated *not_delegated;
    struct reasons all, *to; /* of all placements; where refusals are noted; NULL: nowhere, they are taken back */
    struct nuc_place_model *model;
};

struct noted_placement {
    struct nuc_partitions partitions; /* first: what callers hold is the address of it */
    struct reasons reasons;           /* of what is not on the CPU in all placements */
};

static void set_reason(struct nuc_decision *d, struct nuc_verdict v, const struct nuc_node *neighbour)
{
    d->rule = v.rule;
    d->actual = v.actual;
    d->limit = v.limit;
    d->neighbour = neighbour;
}

static void note_reason(struct nuc_context *cx, struct reasons *to, struct reason reason)
{
    to->items = nuc_grow(cx, to->items, &to->capacity, to->count + 1, sizeof *to->items);
    to->items[to->count++] = reason;
}

/* The first reason stands: `neighbour` is what it was found of, where that is another node. */
static void refuse_for(struct nuc_partitioner *p, struct nuc_node *node, struct nuc_verdict v,
                       const struct nuc_node *neighbour)
{
    assert(v.rule != NULL && !v.ok);
    if (p->to != NULL && !p->refused[node->id])
        note_reason(p->g->cx, p->to, (struct reason){node, v, neighbour, false});
    p->refused[node->id] = true;
}

static void refuse(struct nuc_partitioner *p, struct nuc_node *node, struct nuc_verdict v)
{
    refuse_for(p, node, v, NULL);
}

/* ---- rules ---- */

const char nuc_not_named_rule[] = "the name matches no operator that is not to be delegated";
const char nuc_wide_enough_rule[] = "int8 is wide enough for the values of the operator";

static enum nuc_check outcome(struct nuc_verdict v)
{
    return v.ok ? NUC_CHECK_PASSED : NUC_CHECK_FAILED;
}

/* Gates of a compute node, asked once: nothing a later round changes takes part in them. */
static void check_node(struct nuc_partitioner *p, const struct nuc_cluster_ends *ends, struct nuc_node *node)
{
    const char *name = nuc_not_delegated_match(p->not_delegated, node);

    if (node->do_not_delegate)
        refuse(p, node, (struct nuc_verdict){false, "the node is not marked to stay on the CPU", "", ""});
    if (name != NULL)
        refuse(p, node, (struct nuc_verdict){false, nuc_not_named_rule, name, ""});
    if (nuc_support_row(&p->support, node->op) == NULL) {
        refuse(p, node, nuc_check_support(&p->support, node));
        return;
    }
    struct nuc_verdict format = nuc_check_format(&p->support, node), ir = nuc_check_ir(&p->support, node);
    struct nuc_verdict target = nuc_check_target(&p->support, node);
    p->gates[node->id] = (struct gates){outcome(format), outcome(ir), outcome(target)};
    bool wide = node->source->width == NUC_WIDTH_INT16
                    ? nuc_is_int16(node)
                    : node->source->width == NUC_WIDTH_FLOAT && !nuc_has_cluster(ends, node);
    if (wide && node->source->wide != NULL) {
        const char *how =
            node->source->width == NUC_WIDTH_INT16 ? "takes int16, which the NPU does not have" : "stays in float";
        refuse(p, node,
               (struct nuc_verdict){false, nuc_wide_enough_rule,
                                    nuc_format(p->g->cx, "%s: %s", how, node->source->wide), ""});
    } else if (!nuc_has_cluster(ends, node)) {
        /* Why the node has no cluster of its own: the first neighbour that is not quantized. */
        const struct nuc_node *open = nuc_open_input(ends, node);
        const char *rule = "every input comes from a dequantize node";
        if (open == NULL) {
            open = nuc_open_output(ends, node);
            rule = "every reader is a quantize node";
        }
        refuse_for(p, node, (struct nuc_verdict){false, rule, open != NULL ? open->name : "", ""}, open);
    } else if (!format.ok || !ir.ok || !target.ok) {
        refuse(p, node, !format.ok ? format : !ir.ok ? ir : target);
    } else if (p->options.check_op_support != NULL &&
               !p->options.check_op_support(p->options.check_op_support_user, node))
        refuse(p, node, (struct nuc_verdict){false, "the caller's own check accepts the node", "", ""});
}

/*
 * Rules about whole clusters, which the reference does not have: it goes on and computes nonsense, or fails. What is
 * between quantize and dequantize nodes has to be one operator, read by nobody else.
 */
static void refuse_cluster(struct nuc_partitioner *p, const struct nuc_node *member, const char *rule,
                           const struct nuc_node *found)
{
    refuse_for(p, member->cluster, (struct nuc_verdict){.rule = rule, .actual = found->name, .limit = ""}, found);
}

static void check_cluster_member(struct nuc_partitioner *p, const struct nuc_node *member)
{
    if (member != member->cluster && nuc_is_activation(member->op))
        refuse_cluster(p, member,
                       "an activation between the operator and its quantize or dequantize node is quantized itself",
                       member);
    if (!nuc_is_dequantize(member)) {
        struct nuc_cursor at = {0, 0};
        for (const struct nuc_node *in = nuc_next_input(member, &at); in != NULL; in = nuc_next_input(member, &at)) {
            if (nuc_is_call(in) && in->cluster != member->cluster)
                refuse_cluster(p, member, "the operator shares no dequantize node with another one", in);
        }
    }
    bool is_result = member == member->cluster || member->op == NUC_OP_GETITEM;
    for (uint32_t i = 0; i < member->n_users; i++) {
        const struct nuc_node *user = member->users[i];
        if (is_result ? !nuc_is_quantize(user) && user->op != NUC_OP_GETITEM : user->cluster != member->cluster)
            refuse_cluster(p, member,
                           "the result, and what else is not quantized, is read by quantize nodes and inside of the "
                           "cluster only",
                           user);
    }
}

/*
 * In compatibility mode: a float that goes into the partition of the member, or out of it, which a LiteRT model of int8
 * cannot have; the reference fails there, too. True: it does.
 */
static bool check_ends(struct nuc_partitioner *p, const struct nuc_node *member)
{
    const char *rule = "what goes into the partition and out of it is quantized";
    const int32_t *of = p->proposal->of;
    struct nuc_cursor at = {0, 0};
    bool changed = false;

    for (const struct nuc_node *in = nuc_next_input(member, &at); in != NULL; in = nuc_next_input(member, &at)) {
        if (!nuc_is_call(in) || in->is_tuple || in->vals[0].dtype != NUC_F32 || of[in->id] == of[member->id])
            continue;
        refuse_cluster(p, member, rule, in);
        changed = true;
    }
    for (uint32_t i = 0; i < member->n_users && !nuc_is_dequantize(member); i++) {
        const struct nuc_node *user = member->users[i];
        if (member->is_tuple || member->vals[0].dtype != NUC_F32 || of[user->id] == of[member->id])
            continue;
        refuse_cluster(p, member, rule, user);
        changed = true;
    }
    return changed;
}

/*
 * Before any proposal. In compatibility mode what the reference's verifier would end the compilation for: parameters
 * around the operators of a proposal that holds. True: one is refused.
 */
static bool check_clusters(struct nuc_partitioner *p)
{
    const bool compat = p->options.reference_compat;
    bool changed = false;

    for (struct nuc_node *n = p->g->first; n != NULL; n = n->next) {
        if (n->cluster == NULL || !nuc_is_call(n) || (compat && p->proposal->of[n->id] < 0))
            continue;
        if (compat)
            changed = check_ends(p, n) || changed;
        if (nuc_is_quantize(n))
            continue;
        if (!compat)
            check_cluster_member(p, n);
        /* The reference's backend of the older rules goes on. */
        if (n != n->cluster || (p->options.reference_compat && p->support.flavor->rules == NUC_RULES_SDK_3_1))
            continue;
        struct nuc_verdict v = nuc_check_parameters(&p->support, n);
        if (!v.ok)
            refuse(p, n, v);
        changed = changed || !v.ok;
    }
    return changed;
}

/* ---- rounds ---- */

/*
 * Groups of which every operator leaves the data as they are would be empty after conversion. Nodes that are not no-ops
 * by their operator settle most groups, so that trials are run on few nodes.
 */
static bool refuse_no_ops(struct nuc_partitioner *p)
{
    const struct nuc_proposal *proposal = p->proposal;
    bool *works = nuc_alloc_array(p->g->cx, (size_t)proposal->count + 1, sizeof *works);
    bool changed = false;

    for (int round = 0; round < 2; round++) {
        for (const struct step *s = p->steps; s < p->steps + p->n_steps; s++) {
            int32_t k = proposal->of[s->id];
            if (k >= 0 && !works[k] && s->is_compute && (s->no_op == NUC_NO_OP_BY_TRIAL) == (round == 1))
                works[k] = !nuc_is_no_op(&p->support, s->node);
        }
    }
    for (const struct step *s = p->steps; s < p->steps + p->n_steps; s++) {
        int32_t k = proposal->of[s->id];
        if (k < 0 || works[k])
            continue;
        /* A copy in front of an operator follows that one, which is in another partition then. */
        struct nuc_node *node = nuc_follows_cluster(s->node) && s->node->cluster != NULL ? s->node->cluster : s->node;
        refuse(p, node, (struct nuc_verdict){false, "the partition has an operator that changes its data", "", ""});
        changed = true;
    }
    return changed;
}

/* True when the proposal holds; otherwise more nodes are refused. */
static bool validate(struct nuc_partitioner *p)
{
    uint32_t *n_compute = nuc_alloc_array(p->g->cx, (size_t)p->proposal->count + 1, sizeof *n_compute);
    struct nuc_partition_view view = {p->proposal->of, n_compute};
    struct nuc_support support = p->support;
    bool changed = !p->options.allow_no_op_partitions && refuse_no_ops(p);

    for (const struct step *s = p->steps; s < p->steps + p->n_steps; s++) {
        int32_t k = p->proposal->of[s->id];
        if (k >= 0)
            n_compute[k] += s->is_compute;
    }
    support.partitions = &view;
    for (const struct step *s = p->steps; s < p->steps + p->n_steps; s++) {
        if (p->proposal->of[s->id] < 0 || !s->has_rules)
            continue;
        struct nuc_verdict v = nuc_check_partition(&support, s->node);
        if (!v.ok) {
            refuse(p, s->node, v);
            changed = true;
        }
    }
    return !changed;
}

static void list_steps(struct nuc_partitioner *p)
{
    p->flow = nuc_flow_of(p->g);
    p->steps = nuc_alloc_array(p->g->cx, p->g->n_nodes, sizeof *p->steps);
    for (struct nuc_node *n = p->g->first; n != NULL; n = n->next) {
        const struct nuc_node *compute = nuc_follows_cluster(n) ? n->cluster : n;
        if (!nuc_is_call(n))
            continue;
        p->steps[p->n_steps++] = (struct step){
            .node = n,
            .id = n->id,
            .compute = n->op != NUC_OP_CALL_DELEGATE && compute != NULL ? compute->id : NO_NODE,
            .is_compute = !nuc_is_quantization(n),
            .has_rules = nuc_support_row(&p->support, n->op) != NULL,
            .no_op = nuc_no_op_kind(&p->support, n->op),
        };
    }
}

static void propose(struct nuc_partitioner *p)
{
    for (uint32_t round = 0; round < p->g->n_nodes; round++) {
        for (const struct step *s = p->steps; s < p->steps + p->n_steps; s++)
            p->supported[s->id] = s->compute != NO_NODE && !p->refused[s->compute];
        p->proposal = nuc_propose_partitions(p->g->cx, p->proposals, &p->flow, p->supported);
        if (p->proposal->count == 0 || (validate(p) && !(p->options.reference_compat && check_clusters(p))))
            return;
    }
}

/* ---- placement by cost ---- */

static const struct nuc_proposal *propose_without(void *user, const bool *on_cpu)
{
    struct nuc_partitioner *p = user;

    memcpy(p->refused, p->greedy_refused, p->g->next_id * sizeof *p->refused);
    for (const struct step *s = p->steps; s < p->steps + p->n_steps; s++) {
        uint32_t item = p->model->item_of[s->id];
        if (item != NUC_NO_ITEM && on_cpu[item])
            p->refused[s->id] = true;
    }
    propose(p);
    return p->proposal;
}

/* A call counts `calls` times. */
static void place_by_cost(struct nuc_partitioner *p, uint32_t calls, struct noted_placement *placed)
{
    struct nuc_context *cx = p->g->cx;
    const struct nuc_place_proposer proposer = {propose_without, p};
    struct nuc_sub_arena *sub = nuc_enter_sub_arena(cx);

    p->model = nuc_place_model_new(p->g, p->support.target, p->refused, p->options.has_int8_kernel);
    p->model->call *= calls;
    bool *on_cpu = nuc_alloc_array(cx, (size_t)p->model->n_items + 1, sizeof *on_cpu);
    struct nuc_sub_arena *tried = nuc_enter_sub_arena(cx);
    nuc_leave_sub_arena(cx, tried);
    struct reasons *to = p->to;
    p->to = NULL;
    p->proposals = nuc_memory_of(tried);
    bool changed = nuc_place_search(p->model, &proposer, p->greedy, on_cpu);
    p->to = to;
    p->proposals = nuc_memory_of(p->work);
    memcpy(p->refused, p->greedy_refused, p->g->next_id * sizeof *p->refused);
    p->proposal = p->greedy;
    nuc_leave_sub_arena(cx, sub);
    if (changed)
        propose_without(p, on_cpu);
    const struct nuc_verdict *reasons = changed ? nuc_place_reasons(p->model, p->proposal, on_cpu) : NULL;
    for (struct nuc_node *n = p->g->first; changed && n != NULL; n = n->next) {
        uint32_t item = p->model->item_of[n->id];
        if (item == NUC_NO_ITEM || !on_cpu[item])
            continue;
        note_reason(cx, p->to, (struct reason){n, reasons[item], NULL, true});
        placed->partitions.n_by_cost += !nuc_follows_cluster(n) || n->cluster == n;
    }
    nuc_free_sub_arena(sub);
}

/* ---- result ---- */

/* Quantize, dequantize and auxiliary nodes go where the compute node of their cluster goes. */
static void settle_decision(const struct nuc_partitioner *p, struct nuc_decision *const *by_id, struct nuc_decision *d)
{
    const struct nuc_node *n = d->node;

    d->delegated = n->partition >= 0;
    if (d->delegated) {
        set_reason(d, (struct nuc_verdict){.actual = "", .limit = ""}, NULL);
        d->by_cost = false;
        return;
    }
    if (nuc_follows_cluster(n) && n->cluster != NULL && n->cluster != n) {
        const struct nuc_decision *of = by_id[n->cluster->id];
        d->because = n->cluster;
        d->by_cost = of->by_cost;
        set_reason(d, (struct nuc_verdict){false, of->rule, of->actual, of->limit}, of->neighbour);
    } else if (nuc_follows_cluster(n) && n->cluster == NULL && d->rule == NULL) {
        d->rule = "the node belongs to an operator with quantized inputs and outputs";
    }
    if (d->rule == NULL)
        d->rule = p->options.no_delegate ? "delegation is on" : "the nodes around it form a partition";
}

static bool is_read_outside(const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        if (!nuc_is_call(user) || user->partition != node->partition)
            return true;
    }
    return false;
}

/* What a partition gives and reads. seen: by node id, index + 1 of the last one that reads it; found: for use here. */
static void add_ends(struct nuc_graph *g, struct nuc_partition *p, int index, uint32_t *seen, struct nuc_node **found)
{
    uint32_t count = 0;

    for (uint32_t k = 0; k < p->n_nodes; k++) {
        if (is_read_outside(p->nodes[k]))
            found[p->n_outputs++] = p->nodes[k];
    }
    p->outputs = nuc_copy(g->cx, found, p->n_outputs * sizeof(struct nuc_node *));
    for (uint32_t k = 0; k < p->n_nodes; k++) {
        struct nuc_cursor at = {0, 0};
        for (struct nuc_node *in; (in = nuc_next_input(p->nodes[k], &at)) != NULL;) {
            if ((nuc_is_call(in) && in->partition == index) || seen[in->id] == (uint32_t)index + 1)
                continue;
            seen[in->id] = (uint32_t)index + 1;
            found[count++] = in;
            p->n_constants += nuc_is_static(in);
        }
    }
    p->constants = nuc_alloc_array(g->cx, p->n_constants, sizeof(struct nuc_node *));
    p->inputs = nuc_alloc_array(g->cx, count - p->n_constants, sizeof(struct nuc_node *));
    p->n_constants = 0;
    for (uint32_t i = 0; i < count; i++)
        *(nuc_is_static(found[i]) ? &p->constants[p->n_constants++] : &p->inputs[p->n_inputs++]) = found[i];
}

static void add_members(struct nuc_graph *g, struct nuc_partitions *out)
{
    uint32_t *seen = nuc_alloc_array(g->cx, g->next_id, sizeof *seen);
    struct nuc_node **found = nuc_alloc_array(g->cx, g->n_nodes, sizeof(struct nuc_node *));

    for (const struct nuc_node *n = g->body; n != NULL; n = n->next) {
        if (nuc_is_call(n) && n->partition >= 0)
            out->items[n->partition].n_nodes++;
    }
    for (uint32_t i = 0; i < out->count; i++) {
        out->items[i].nodes = nuc_alloc_array(g->cx, out->items[i].n_nodes, sizeof(struct nuc_node *));
        out->items[i].n_nodes = 0;
    }
    for (struct nuc_node *n = g->body; n != NULL; n = n->next) {
        if (nuc_is_call(n) && n->partition >= 0)
            out->items[n->partition].nodes[out->items[n->partition].n_nodes++] = n;
    }
    for (uint32_t i = 0; i < out->count; i++)
        add_ends(g, &out->items[i], (int)i, seen, found);
    nuc_give_back(g->cx, found, g->n_nodes * sizeof(struct nuc_node *));
}

/* Marks the nodes as the proposal has them. */
static void mark(struct nuc_partitioner *p, const struct nuc_partition *items)
{
    struct nuc_graph *g = p->g;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        n->partition = p->proposal != NULL && nuc_is_call(n) ? p->proposal->of[n->id] : -1;
        if (nuc_is_call(n) && !nuc_follows_cluster(n))
            n->do_not_delegate = p->refused[n->id];
    }
    for (struct nuc_node *n = g->first; n != g->body; n = n->next) {
        for (uint32_t i = 0; nuc_is_static(n) && i < n->n_users; i++) {
            int k = n->users[i]->partition;
            if (k >= 0 && (n->partition < 0 || strcmp(items[k].tag, items[n->partition].tag) < 0))
                n->partition = k;
        }
    }
}

/* Operators next to each other that are made of one of the model. */
struct siblings {
    const struct nuc_source *source;
    uint32_t on_npu;          /* of those that are counted */
    bool on_cpu, step_on_cpu; /* one of those, of the others */
};

static uint32_t delegated_of(const struct siblings *s)
{
    return s->on_npu - (s->on_npu > 0 && s->step_on_cpu && !s->on_cpu);
}

/* An operator in several steps is on the NPU when all of them are. */
struct nuc_operator_counts nuc_count_operators(const struct nuc_graph *g)
{
    struct nuc_operator_counts counts = {0, 0, 0, 0};
    struct siblings s = {NULL, 0, false, false};

    for (const struct nuc_node *n = g->body; n != NULL; n = n->next) {
        const bool on_npu = n->partition >= 0;
        counts.nodes += nuc_is_call(n);
        counts.nodes_on_npu += nuc_is_call(n) && on_npu;
        if (!nuc_is_operator(n))
            continue;
        if (n->source != s.source) {
            counts.delegated += delegated_of(&s);
            s = (struct siblings){.source = n->source};
        }
        counts.all += !n->is_step;
        s.on_npu += !n->is_step && on_npu;
        s.on_cpu = s.on_cpu || (!n->is_step && !on_npu);
        s.step_on_cpu = s.step_on_cpu || (n->is_step && !on_npu);
    }
    counts.delegated += delegated_of(&s);
    return counts;
}

static void list_decisions(struct nuc_graph *g, struct nuc_partitions *out)
{
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        out->n_decisions += nuc_is_call(n);
    out->decisions = nuc_alloc_array(g->cx, out->n_decisions, sizeof *out->decisions);
    out->n_by_id = g->next_id;
    out->by_id = nuc_alloc_array(g->cx, g->next_id, sizeof *out->by_id);
    struct nuc_decision *d = out->decisions;
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_call(n))
            continue;
        *d = (struct nuc_decision){.node = n, .actual = "", .limit = ""};
        out->by_id[n->id] = d++;
    }
}

struct nuc_partitioner *nuc_partitioner_new(struct nuc_graph *g, const struct nuc_partition_options *options)
{
    struct nuc_context *cx = g->cx;
    const struct nuc_partition_options *o = options != NULL ? options : &defaults;
    struct nuc_partitioner *p = nuc_alloc(cx, sizeof *p);

    *p = (struct nuc_partitioner){.g = g,
                                  .options = *o,
                                  .support = {.g = g,
                                              .target = o->target != NULL ? o->target : nuc_target_find(cx, NULL),
                                              .flavor = o->flavor != NULL ? o->flavor : nuc_flavor_find(cx, NULL),
                                              .waived = (o->force_delegate_cat ? NUC_WAIVE_CAT_SIZES : 0u) |
                                                        (o->reference_compat ? NUC_WAIVE_CORRECTNESS : 0u)}};
    p->gates = nuc_alloc_array(cx, g->next_id, sizeof *p->gates);
    p->to = &p->all;
    p->proposals = cx->arena;
    p->refused = nuc_alloc_array(cx, g->next_id, sizeof *p->refused);
    p->work = nuc_enter_sub_arena(cx);
    p->supported = nuc_alloc_array(cx, g->next_id, sizeof *p->supported);
    const struct nuc_cluster_ends ends = nuc_tag_clusters(g);
    nuc_infer_formats(g, p->support.flavor);
    if (!o->no_delegate)
        list_steps(p);
    nuc_leave_sub_arena(cx, p->work);
    p->not_delegated = nuc_not_delegated_new(g, o);
    /* getitem and delegate calls are not operators: they follow the node they read. */
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (nuc_is_operator(n))
            check_node(p, &ends, n);
    }
    if (!o->reference_compat)
        check_clusters(p);
    if (!o->no_delegate)
        propose(p);
    p->greedy = p->proposal;
    p->greedy_refused = nuc_copy(cx, p->refused, g->next_id * sizeof *p->refused);
    p->proposals = nuc_memory_of(p->work);
    return p;
}

void nuc_partitioner_end_search(struct nuc_partitioner *p)
{
    nuc_free_sub_arena(p->work);
    p->work = NULL;
}

struct nuc_partitions *nuc_partitioner_place(struct nuc_partitioner *p, uint32_t by_cost)
{
    struct noted_placement *placed = nuc_alloc(p->g->cx, sizeof *placed);
    struct nuc_partitions *out = &placed->partitions;

    assert(by_cost == 0 || p->work != NULL);
    memcpy(p->refused, p->greedy_refused, p->g->next_id * sizeof *p->refused);
    p->proposal = p->greedy;
    p->to = &placed->reasons;
    if (by_cost > 0 && p->proposal != NULL && p->proposal->count > 0)
        place_by_cost(p, by_cost, placed);
    out->count = p->proposal != NULL ? p->proposal->count : 0;
    out->items = nuc_alloc_array(p->g->cx, (size_t)out->count + 1, sizeof *out->items);
    for (uint32_t i = 0; i < out->count; i++)
        out->items[i].tag = nuc_format(p->g->cx, "tag%u", p->proposal->tags[i]);
    mark(p, out->items);
    add_members(p->g, out);
    return out;
}

static void give_reasons(const struct reasons *reasons, struct nuc_decision *const *by_id)
{
    for (const struct reason *r = reasons->items; r < reasons->items + reasons->count; r++) {
        struct nuc_decision *d = by_id[r->node->id];
        if (r->by_cost || d->rule == NULL)
            set_reason(d, r->verdict, r->neighbour);
        d->by_cost = d->by_cost || r->by_cost;
    }
}

void nuc_partitioner_decide(struct nuc_partitioner *p, struct nuc_partitions *partitions)
{
    list_decisions(p->g, partitions);
    give_reasons(&p->all, partitions->by_id);
    give_reasons(&((const struct noted_placement *)partitions)->reasons, partitions->by_id);
    for (struct nuc_decision *d = partitions->decisions; d < partitions->decisions + partitions->n_decisions; d++) {
        const struct gates gates = p->gates[d->node->id];
        d->format = gates.format;
        d->ir = gates.ir;
        d->target = gates.target;
        settle_decision(p, partitions->by_id, d);
    }
    nuc_partitioner_end_search(p);
}

struct nuc_partitions *nuc_partition_graph(struct nuc_graph *g, const struct nuc_partition_options *options)
{
    struct nuc_partitioner *p = nuc_partitioner_new(g, options);
    struct nuc_partitions *partitions = nuc_partitioner_place(p, options != NULL ? options->by_cost : 0);

    nuc_partitioner_decide(p, partitions);
    return partitions;
}
