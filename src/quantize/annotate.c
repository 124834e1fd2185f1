/* Walks the graph and applies the patterns. */
#include <math.h>

#include "ir/args.h"
#include "ir/float_chain.h"
#include "ir/masks.h"
#include "quantize/adopt.h"

/* ---- the concat cluster of the reference ---- */

static enum nuc_cluster cluster_of(const struct nuc_node *node)
{
    return nuc_pattern_of(NUC_SIDE_NPU, node->op)->cluster;
}

static bool is_relu(const struct nuc_node *node)
{
    return cluster_of(node) == NUC_CLUSTER_RELU ||
           (cluster_of(node) == NUC_CLUSTER_CLAMP &&
            nuc_joins_compute(node, nuc_pattern_of(NUC_SIDE_NPU, node->op), true) && isinf(nuc_bounds_of(node).max));
}

static bool is_fusable_compute(const struct nuc_node *node)
{
    const struct nuc_quant_pattern *p = nuc_pattern_of(NUC_SIDE_NPU, node->op);

    return p->cluster == NUC_CLUSTER_COMPUTE && node->n_vals == 1 && node->vals[0].rank <= p->joint_rank;
}

static bool is_cluster(struct nuc_node *const *inputs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct nuc_node *n = inputs[i];
        bool equal = cluster_of(n) == cluster_of(inputs[0]) || (is_relu(n) && is_relu(inputs[0]));
        if (cluster_of(n) <= NUC_CLUSTER_COMPUTE || !nuc_joins_compute(n, nuc_pattern_of(NUC_SIDE_NPU, n->op), true) ||
            !equal)
            return false;
        const struct nuc_node *compute = nuc_arg_node(n, NUC_SELF);
        if (compute == NULL || !is_fusable_compute(compute))
            return false;
    }
    return count > 0;
}

static void annotate_cluster(struct nuc_annotator *a, struct nuc_node *cat)
{
    struct nuc_node **inputs;
    uint32_t count = nuc_group_members(a, cat, &inputs);

    if (!is_cluster(inputs, count))
        return;
    for (uint32_t i = 0; i < count; i++) {
        struct nuc_node *compute = nuc_arg_node(inputs[i], NUC_SELF);
        if (compute == NULL)
            continue;
        nuc_annotate_like(a, compute, nuc_annotate_node);
        if (a->by_id[compute->id] != NULL)
            a->by_id[compute->id]->output.kind = NUC_QSPEC_NONE;
    }
    for (uint32_t i = 0; i < count; i++) {
        nuc_annotate_like(a, inputs[i], nuc_annotate_alone);
        if (a->by_id[inputs[i]->id] != NULL)
            a->by_id[inputs[i]->id]->n_inputs = 0;
    }
    if (a->by_id[inputs[0]->id] != NULL)
        nuc_group_share(a, cat, inputs, count, (struct nuc_place){inputs[0], NULL});
}

/* ---- the graph ---- */

static void annotate_inputs(struct nuc_annotator *a)
{
    for (struct nuc_node *n = a->g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        if (nuc_is_input(n) && n->n_users > 0 && !a->stays_float[n->id])
            nuc_annotate_output(a, n, nuc_spec_for(a, n, NUC_SPEC_ACTIVATION));
    }
}

static void annotate_compatibly(struct nuc_annotator *a, const struct nuc_quantize_options *options)
{
    if (options->side == NUC_SIDE_NPU) {
        annotate_inputs(a);
        /*
         * Not in the order of the nodes but as the reference does it: a pattern over the whole graph when the first of
         * its operators is met, and once more at every later one when its parameters are the producer's. NUC_FORM_MAP
         * counts as such a pattern, clamps and the group forms do not.
         */
        a->next_waiting = nuc_alloc_array(a->g->cx, a->g->next_id, sizeof *a->next_waiting);
        for (struct nuc_node *n = a->g->last; n != NULL; n = n->prev) {
            a->next_waiting[n->id] = a->waiting[nuc_form_index(n)];
            a->waiting[nuc_form_index(n)] = n;
        }
        /*
         * The reference's first step: a concatenation of equal activations, each after a convolution or fully connected
         * layer. Compute operators are quantized together with their activations, and the activations like the
         * concatenation.
         */
        for (struct nuc_node *n = a->g->first; n != NULL; n = n->next) {
            if (n->op == NUC_OP_CAT && a->by_id[n->id] == NULL && nuc_is_quantizable(n))
                annotate_cluster(a, n);
        }
        for (struct nuc_node *n = a->g->first; n != NULL; n = n->next) {
            const struct nuc_quant_pattern *p = nuc_pattern_of(NUC_SIDE_NPU, n->op);
            if (p->form == NUC_FORM_NONE || nuc_is_extension(p, n) || a->applied[nuc_form_index(n)])
                continue;
            nuc_annotate_like(a, n, nuc_annotate_node);
            a->applied[nuc_form_index(n)] = p->form != NUC_FORM_SHARED && p->form != NUC_FORM_MAP;
        }
        /* Nodes on the CPU lose what the quantizer for the NPU says of them. */
        for (const struct nuc_node *n = a->g->first; n != NULL; n = n->next) {
            if (a->side[n->id] == NUC_SIDE_CPU)
                a->by_id[n->id] = NULL;
        }
    }
    if (options->side == NUC_SIDE_CPU || options->ends_on_cpu != NULL)
        nuc_annotate_as_cortexm(a);
}

static bool has_pattern(const struct nuc_annotator *a, const struct nuc_node *node)
{
    enum nuc_pattern_form form = nuc_pattern_for(a, node)->form;

    /* The NPU has no such kernel: what it does not have in another form reads the weight in float, with all its digits.
     */
    if (nuc_computes_weight(node) && a->side[node->id] != NUC_SIDE_CPU)
        return false;
    return form != NUC_FORM_NONE && (form != NUC_FORM_MOVED || a->one_scale);
}

/* What is computed in float gains nothing by numbers on one side of it. */
static bool is_wanted(const struct nuc_annotator *a, const struct nuc_node *node)
{
    const struct nuc_quant_pattern *p = nuc_pattern_for(a, node);
    const struct nuc_node *input = p->asked ? nuc_arg_node(node, p->anchors[0].arg) : NULL;

    return !p->asked || (input != NULL && nuc_is_annotated(a->by_id[input->id]));
}

/*
 * What reads the values behind moves: that all of it has own parameters for them, and that something computes in int8
 * what it reads in int8, as a pool does; not what counts, whose result is larger than what int8 holds beside 0 and 1.
 */
static void find_readers(struct nuc_annotator *a)
{
    a->is_read_quantized = nuc_alloc_array(a->g->cx, a->g->next_id, sizeof *a->is_read_quantized);
    a->is_read_shared = nuc_alloc_array(a->g->cx, a->g->next_id, sizeof *a->is_read_shared);
    for (const struct nuc_node *n = a->g->last; n != NULL; n = n->prev) {
        bool all = n->n_users > 0, any = false;
        for (uint32_t i = 0; i < n->n_users; i++) {
            const struct nuc_node *user = n->users[i];
            enum nuc_pattern_form form = nuc_pattern_for(a, user)->form;
            bool moves = nuc_moves_values(user);
            all = all && (form == NUC_FORM_OWN || form == NUC_FORM_MAP ||
                          (moves && form != NUC_FORM_NONE && a->is_read_quantized[user->id]));
            any = any || (moves ? a->is_read_shared[user->id]
                                : form == NUC_FORM_SHARED && nuc_op_family(user->op) != NUC_FAMILY_REDUCE);
        }
        a->is_read_quantized[n->id] = all;
        a->is_read_shared[n->id] = any;
    }
}

/* Truth values as numbers. For what goes value by value they may be part of a table: they stay in float. */
static bool is_number_of_truth(const struct nuc_annotator *a, const struct nuc_node *node)
{
    return nuc_op_is_in(node->op, NUC_OPS(NUC_OP_TO_DTYPE, NUC_OP_TO_DTYPE_LAYOUT)) && nuc_is_quantizable(node) &&
           nuc_input_meta(node, NUC_SELF)->dtype == NUC_BOOL && a->is_read_shared[node->id];
}

static bool takes_quantized(const struct nuc_annotator *a, const struct nuc_node *user, const struct nuc_node *value)
{
    const struct nuc_annotation *at = a->by_id[user->id];

    for (uint32_t i = 0; at != NULL && i < at->n_inputs; i++) {
        if (at->inputs[i].arg == value)
            return true;
    }
    return false;
}

/* By node id, whether whoever reads the value, perhaps behind moves, computes with it in float. */
static bool *find_read_in_float(const struct nuc_annotator *a)
{
    bool *is = nuc_alloc_array(a->g->cx, a->g->next_id, sizeof *is);

    for (const struct nuc_node *n = a->g->last; n != NULL; n = n->prev) {
        is[n->id] = n->n_users > 0;
        for (uint32_t i = 0; i < n->n_users && is[n->id]; i++) {
            const struct nuc_node *user = n->users[i];
            is[n->id] =
                user->op != NUC_OP_OUTPUT && (!takes_quantized(a, user, n) || (nuc_moves_values(user) && is[user->id]));
        }
    }
    return is;
}

static void leave_in_float(struct nuc_annotator *a, const struct nuc_node *value)
{
    for (uint32_t i = 0; i < value->n_users; i++) {
        if (takes_quantized(a, value->users[i], value))
            leave_in_float(a, value->users[i]);
    }
    a->by_id[value->id] = NULL;
}

/*
 * A state is quantized as what it becomes, whose parameters may be given and whose width may be another one; what is
 * observed of both is seen as one.
 */
static void annotate_states(struct nuc_annotator *a)
{
    const struct nuc_arg *values = &nuc_output_node(a->g)->args[NUC_ARG(OUTPUT, values)];
    const struct nuc_states states = nuc_states_of(a->g);

    for (uint32_t i = 0; i < states.count; i++) {
        const struct nuc_node *n = states.nodes[i], *next = values->u.nodes[states.first_next + i];
        const struct nuc_annotation *of = a->by_id[next->id];
        enum nuc_dtype becomes = nuc_output_dtype(a, next);
        if (a->by_id[n->id] != NULL && becomes != NUC_F32 && becomes != nuc_output_dtype(a, n))
            a->by_id[n->id]->output = a->specs[becomes == NUC_I16 ? NUC_SIDE_WIDE : a->plain_side][NUC_SPEC_ACTIVATION];
        for (uint32_t left = a->g->n_nodes; of != NULL && of->output.kind == NUC_QSPEC_SHARED && left > 0; left--)
            of = a->by_id[of->output.from[0].node->id];
        if (a->by_id[n->id] != NULL && of != NULL && of->output.kind == NUC_QSPEC_FIXED)
            a->by_id[n->id]->output = of->output;
    }
}

/* The operator has numbers of that width; an input of the model what all that reads it has. */
static bool has_width(const struct nuc_node *node, enum nuc_width width, const struct nuc_quantize_options *options)
{
    const enum nuc_width given = node->source->width, all = options->int16 ? NUC_WIDTH_INT16 : NUC_WIDTH_INT8;
    bool is_input = nuc_is_placeholder(node) && nuc_is_input(node) && node->n_users > 0;

    for (uint32_t i = 0; is_input && i < node->n_users; i++) {
        if (node->users[i]->op != NUC_OP_OUTPUT && !has_width(node->users[i], width, options))
            return false;
    }
    if (is_input)
        return !options->quantized_inputs;
    /* Rows that are chosen out of a constant are weights. */
    return nuc_is_call(node) && node->op != NUC_OP_EMBEDDING && (given == NUC_WIDTH_OPEN ? all : given) == width;
}

struct nuc_annotation **nuc_annotate(struct nuc_graph *g, const struct nuc_quantize_options *options)
{
    struct nuc_annotator a = {.g = g,
                              .reference_compat = options->reference_compat,
                              .one_scale = options->one_scale,
                              .apart = options->apart,
                              .no_kernels = options->no_kernels,
                              .plain_side = options->side,
                              .averages_apart =
                                  options->no_kernels || (options->side == NUC_SIDE_CPU && !options->reference_compat),
                              .max_matrix_inputs = options->max_matrix_inputs};

    for (int side = 0; side < NUC_SIDE_COUNT; side++)
        nuc_specs((enum nuc_side)side, options, a.specs[side]);
    a.npu_function = nuc_alloc_array(a.g->cx, a.g->next_id, sizeof *a.npu_function);
    a.side = nuc_alloc_array(a.g->cx, a.g->next_id, sizeof *a.side);
    for (const struct nuc_node *n = a.g->first; n != NULL; n = n->next) {
        bool on_cpu = options->side == NUC_SIDE_CPU ||
                      (options->ends_on_cpu != NULL && options->ends_on_cpu(options->ends_on_cpu_user, n));
        a.side[n->id] = has_width(n, NUC_WIDTH_INT16, options) ? NUC_SIDE_WIDE : on_cpu ? NUC_SIDE_CPU : NUC_SIDE_NPU;
        a.npu_function[n->id] =
            !on_cpu && options->npu_function != NULL && options->npu_function(options->npu_function_user, n);
    }
    find_readers(&a);
    a.by_id = nuc_alloc_array(g->cx, g->next_id, sizeof *a.by_id);
    a.stays_float = nuc_alloc_array(g->cx, g->next_id, sizeof *a.stays_float);
    if (a.reference_compat) {
        annotate_compatibly(&a, options);
        return a.by_id;
    }
    nuc_find_kept_states(&a);
    if (!options->executorch_ops_only)
        nuc_find_kept_sequences(&a, options->quantized_inputs);
    nuc_mark_float_chains(g, a.stays_float);
    nuc_mark_float_masks(g, a.stays_float);
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        a.stays_float[n->id] |= n->source->width == NUC_WIDTH_FLOAT;
    if (!options->quantized_inputs)
        nuc_leave_standardizing_in_float(&a);
    annotate_inputs(&a);
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (a.stays_float[n->id])
            continue;
        if (nuc_op_family(n->op) == NUC_FAMILY_RECURRENT && !options->executorch_ops_only)
            nuc_annotate_recurrent(&a, n);
        else if (has_pattern(&a, n) && is_wanted(&a, n) && !nuc_annotate_masked(&a, n))
            nuc_annotate_node(&a, n);
        else if (is_number_of_truth(&a, n))
            nuc_annotate_output(&a, n, nuc_spec_for(&a, n, NUC_SPEC_ACTIVATION));
    }
    if (!options->quantized_inputs) {
        /*
         * An input of columns in units of their own has no one scale; what standardizes it in float reads it as it
         * comes.
         */
        const bool *in_float = find_read_in_float(&a);
        for (const struct nuc_node *n = a.g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
            if (nuc_is_input(n) && in_float[n->id])
                leave_in_float(&a, n);
        }
    }
    nuc_annotate_symmetric(&a);
    annotate_states(&a);
    return a.by_id;
}

bool nuc_is_annotated(const struct nuc_annotation *a)
{
    return a != NULL && (a->n_inputs > 0 || a->output.kind != NUC_QSPEC_NONE);
}
