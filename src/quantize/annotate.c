/* Walks the graph and applies the patterns. */
#include <math.h>

#include "ir/args.h"
#include "ir/float_chain.h"
#include "ir/masks.h"
#include "ir/op_list.h"
#include "quantize/adopt.h"
#include "quantize/ranges/relevant_range.h"
#include "quantize/search/choices.h"

/* ---- sides ---- */

const struct nuc_quant_pattern *nuc_pattern_for(const struct nuc_annotator *a, const struct nuc_node *node)
{
    static const struct nuc_quant_pattern none = {.form = NUC_FORM_NONE};
    bool sums =
        nuc_op_is_in(node->op, NUC_OPS(NUC_OP_MEAN_DIM, NUC_OP_SUM, NUC_OP_SUM_DIM, NUC_OP_ADAPTIVE_AVG_POOL2D));
    enum nuc_side side = a->no_kernels && sums ? NUC_SIDE_CPU : a->side[node->id];
    const struct nuc_quant_pattern *p = nuc_pattern_of(side, node->op);

    return p->asked && !a->npu_function[node->id] ? &none : p;
}

const struct nuc_qspec *nuc_spec_for(const struct nuc_annotator *a, const struct nuc_node *node, enum nuc_spec spec)
{
    return &a->specs[a->side[node->id]][spec];
}

static bool is_wide(const struct nuc_annotator *a, const struct nuc_node *node)
{
    return a->side[node->id] == NUC_SIDE_WIDE;
}

/* ---- adding specs ---- */

bool nuc_is_quantizable(const struct nuc_node *node)
{
    return !node->is_tuple && node->n_vals == 1 && node->vals[0].dtype == NUC_F32;
}

static struct nuc_annotation *make_annotation(struct nuc_annotator *a, const struct nuc_node *node)
{
    struct nuc_annotation **slot = &a->by_id[node->id];

    if (*slot == NULL)
        *slot = nuc_alloc(a->g->cx, sizeof **slot);
    return *slot;
}

void nuc_annotate_input(struct nuc_annotator *a, struct nuc_node *node, struct nuc_node *arg,
                        const struct nuc_qspec *spec)
{
    struct nuc_annotation *at = make_annotation(a, node);
    uint32_t i = 0;

    if (!nuc_is_quantizable(arg))
        return;
    while (i < at->n_inputs && at->inputs[i].arg != arg)
        i++;
    if (i == at->n_inputs) {
        at->inputs = nuc_grow(a->g->cx, at->inputs, &at->inputs_capacity, i + 1, sizeof *at->inputs);
        at->n_inputs++;
    }
    at->inputs[i] = (struct nuc_qinput){arg, *spec};
}

void nuc_annotate_output(struct nuc_annotator *a, struct nuc_node *node, const struct nuc_qspec *spec)
{
    if (nuc_is_quantizable(node))
        make_annotation(a, node)->output = *spec;
}

/* ---- one node ---- */

struct nuc_node *nuc_anchor_arg(const struct nuc_quant_pattern *p, const struct nuc_node *node, uint32_t i)
{
    return p->anchors[i].spec != NUC_SPEC_NONE ? nuc_arg_node(node, p->anchors[i].arg) : NULL;
}

/*
 * Axis 1 of a transposed convolution's weight holds the output channels of one group: the bias, which has all, goes
 * through its scales once per group.
 */
static uint32_t weight_repeats(const struct nuc_node *node, const struct nuc_qspec *bias)
{
    if (node->op != NUC_OP_CONV_TRANSPOSE2D || bias->ch_axis < 0)
        return 1;
    return (uint32_t)nuc_integer(node, NUC_ARG(CONV_TRANSPOSE2D, groups), 1);
}

/*
 * Whether a scale for each output takes a fifth of the power off the rounding of weights [O, I], steps of s giving
 * s^2 / 12.
 */
static bool rows_differ(struct nuc_graph *g, const struct nuc_node *weight)
{
    const float *w = nuc_const_contiguous(g, weight);
    int64_t rows = weight->vals[0].sizes[0], row = weight->vals[0].sizes[1];
    double greatest = 0, sum = 0;

    for (int64_t r = 0; r < rows; r++) {
        double most = 0;
        for (int64_t i = 0; i < row; i++)
            most = fmax(most, fabs((double)w[r * row + i]));
        sum += most * most;
        greatest = fmax(greatest, most);
    }
    return 5 * sum < 4 * (double)rows * greatest * greatest;
}

/*
 * Weights [O, I] whose rows are those of a convolution of one pixel, which has a scale for each output. With one scale
 * the CPU takes a quarter fewer instructions for one or two rows of input, for many half as many more.
 */
static bool has_scale_for_each_row(const struct nuc_annotator *a, enum nuc_side side, const struct nuc_node *node)
{
    const struct nuc_node *weight = node->op == NUC_OP_LINEAR ? nuc_arg_node(node, NUC_ARG(LINEAR, weight)) : NULL;

    if (a->reference_compat || weight == NULL || !nuc_is_static(weight) || weight->vals[0].rank != 2)
        return false;
    if (side == NUC_SIDE_NPU)
        return weight->vals[0].sizes[1] <= a->max_matrix_inputs;
    if (side == NUC_SIDE_WIDE) /* as many cycles either way */
        return true;
    return nuc_elements(&node->vals[0]) > 2 * weight->vals[0].sizes[0] || rows_differ(a->g, weight);
}

/* The weight of a convolution that is no constant: an activation, which kernels of the CPU take as a weight. */
static bool computes_weight(const struct nuc_node *node)
{
    const struct nuc_node *weight =
        nuc_op_family(node->op) == NUC_FAMILY_CONV ? nuc_arg_node(node, NUC_ARG(CONV2D, weight)) : NULL;

    return weight != NULL && !nuc_is_static(weight);
}

/* One scale for the whole weight, and so for the bias. */
static enum nuc_spec spec_of_computed(enum nuc_spec of_constant)
{
    switch ((int)of_constant) {
    case NUC_SPEC_WEIGHT_AXIS_0:
    case NUC_SPEC_WEIGHT_AXIS_1:
        return NUC_SPEC_WEIGHT;
    case NUC_SPEC_BIAS_CHANNELS:
        return NUC_SPEC_BIAS;
    default:
        return of_constant;
    }
}

static enum nuc_spec spec_of_row(enum nuc_spec of_matrix)
{
    switch ((int)of_matrix) {
    case NUC_SPEC_WEIGHT:
        return NUC_SPEC_WEIGHT_AXIS_0;
    case NUC_SPEC_BIAS:
        return NUC_SPEC_BIAS_CHANNELS;
    default:
        return of_matrix;
    }
}

struct nuc_qspec nuc_anchor_spec(const struct nuc_annotator *a, enum nuc_side side, struct nuc_node *node, uint32_t i)
{
    const struct nuc_quant_pattern *p = nuc_pattern_of(side, node->op);
    enum nuc_spec which = p->anchors[i].spec;

    if (has_scale_for_each_row(a, side, node))
        which = spec_of_row(which);
    else if (!a->reference_compat && computes_weight(node))
        which = spec_of_computed(which);
    struct nuc_qspec spec = a->specs[side][which];
    if (spec.kind == NUC_QSPEC_DERIVED) {
        spec.from[0] = (struct nuc_place){nuc_anchor_arg(p, node, 0), node};
        spec.from[1] = (struct nuc_place){nuc_anchor_arg(p, node, 1), node};
        spec.repeats = weight_repeats(node, &spec);
    }
    return spec;
}

/* A number that is chosen has the parameters of the result: perhaps it is infinite. */
static bool is_chosen_number(const struct nuc_node *node, const struct nuc_node *arg)
{
    return node->op == NUC_OP_WHERE && nuc_is_static(arg) && nuc_elements(&arg->vals[0]) == 1;
}

static bool is_activation(const struct nuc_qspec *spec)
{
    return spec->kind == NUC_QSPEC_OBSERVED && (spec->scheme == NUC_PER_TENSOR_AFFINE || spec->dtype == NUC_I16);
}

enum nuc_dtype nuc_output_dtype(const struct nuc_annotator *a, const struct nuc_node *node)
{
    const struct nuc_qspec *spec = a->by_id[node->id] != NULL ? &a->by_id[node->id]->output : NULL;

    for (uint32_t left = a->g->n_nodes; spec != NULL && spec->kind == NUC_QSPEC_SHARED && left > 0; left--) {
        const struct nuc_place *from = &spec->from[0];
        const struct nuc_annotation *at = a->by_id[from->user != NULL ? from->user->id : from->node->id];
        spec = at != NULL && from->user == NULL ? &at->output : NULL;
        for (uint32_t i = 0; at != NULL && from->user != NULL && i < at->n_inputs; i++)
            spec = at->inputs[i].arg == from->node ? &at->inputs[i].spec : spec;
    }
    return spec == NULL || spec->kind == NUC_QSPEC_NONE ? NUC_F32 : spec->dtype;
}

/*
 * What is quantized already, in the width that is asked for, is read as it is; the values of a tanh, in steps of 1/128,
 * are observed once more.
 */
static struct nuc_qspec spec_of_reader(const struct nuc_annotator *a, struct nuc_node *value,
                                       const struct nuc_qspec *own)
{
    const struct nuc_qspec *of_value = nuc_output_spec(a, value);
    bool is_tanh =
        of_value != NULL && of_value->kind == NUC_QSPEC_FIXED && of_value->zero_point == 0 && of_value->dtype == NUC_I8;

    bool reads_any = a->one_scale || (a->side[value->id] != NUC_SIDE_NPU && !a->reference_compat);

    if (!reads_any || of_value == NULL || is_tanh || !is_activation(own) || nuc_output_dtype(a, value) != own->dtype)
        return *own;
    return (struct nuc_qspec){.kind = NUC_QSPEC_SHARED, .from = {{value, NULL}}};
}

/* All that reads the value, behind moves, quantizes it. */
static bool is_read_quantized(const struct nuc_annotator *a, const struct nuc_node *node, int depth)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        enum nuc_pattern_form form = nuc_pattern_for(a, user)->form;
        bool own = form == NUC_FORM_OWN || form == NUC_FORM_MAP;
        if (!own &&
            (!nuc_moves_values(user) || form == NUC_FORM_NONE || depth == 0 || !is_read_quantized(a, user, depth - 1)))
            return false;
    }
    return node->n_users > 0;
}

/* A part of a value that is read as a whole, by this and other parts. The range of a part alone may be narrower. */
static bool is_of_whole(const struct nuc_node *part, const struct nuc_node *value)
{
    int64_t read = 0, all = nuc_elements(&value->vals[0]);

    if (nuc_op_family(part->op) != NUC_FAMILY_SLICE)
        return true;
    for (uint32_t i = 0; i < value->n_users; i++) {
        const struct nuc_node *user = value->users[i];
        read += nuc_is_quantizable(user) ? nuc_elements(&user->vals[0]) : 0;
    }
    return read >= all;
}

/* A move of what is computed in float is one of int8 already where all that reads it takes int8. */
static bool moves_for_quantized(const struct nuc_annotator *a, const struct nuc_node *node,
                                const struct nuc_node *input)
{
    const int depth = 16;

    return a->one_scale && nuc_moves_values(node) && is_of_whole(node, input) && is_read_quantized(a, node, depth);
}

/*
 * The output takes the parameters of its producer, if that has any. So does the input, except that the
 * reference reads it as an activation: after fixed parameters it quantizes a second time. Elements chosen out of a
 * constant, as of an embedding, have the constant's. What computes has its own width, what moves that of the producer.
 */
static void annotate_shared(struct nuc_annotator *a, struct nuc_node *node, struct nuc_node *input)
{
    const struct nuc_annotation *producer = a->by_id[input->id];
    struct nuc_qspec shared = {.kind = NUC_QSPEC_SHARED, .from = {{input, NULL}}};
    bool has_parameters = producer != NULL && producer->output.kind != NUC_QSPEC_NONE;
    bool chosen = nuc_is_static(input) && nuc_op_family(node->op) == NUC_FAMILY_SELECT && !a->reference_compat;

    const struct nuc_qspec *own = nuc_spec_for(a, node, NUC_SPEC_ACTIVATION);
    bool converts = has_parameters && !nuc_moves_values(node) && nuc_output_dtype(a, input) != own->dtype;

    if (chosen || converts || (!has_parameters && moves_for_quantized(a, node, input))) {
        shared.from[0].user = node;
        nuc_annotate_input(a, node, input, own);
        nuc_annotate_output(a, node, &shared);
        return;
    }
    if (!has_parameters)
        return;
    nuc_annotate_output(a, node, &shared);
    nuc_annotate_input(a, node, input, a->reference_compat ? own : &shared);
}

/* The activation that is quantized together with `node`, or NULL. */
static struct nuc_node *joint_activation(const struct nuc_annotator *a, const struct nuc_node *node)
{
    uint8_t joint_rank = nuc_pattern_for(a, node)->joint_rank;

    if (joint_rank == 0 || node->n_users != 1 || node->n_vals != 1 || node->vals[0].rank > joint_rank)
        return NULL;
    struct nuc_node *user = node->users[0];
    if (is_wide(a, node) != is_wide(a, user))
        return NULL;
    return nuc_joins_compute(user, nuc_pattern_for(a, user), a->reference_compat) ? user : NULL;
}

/* ---- clamps ---- */

/*
 * A clamp of what nothing else reads shares its parameters: the value is observed as far as the clamp lets it through,
 * and its quantization clips already. Not when the clamp is quantized together with the operator before it, nor where
 * others have a say in the value's parameters.
 */
static bool clips_alone(const struct nuc_annotator *a, const struct nuc_node *node, const struct nuc_node *input)
{
    static const enum nuc_op clamps[] = {NUC_OP_RELU, NUC_OP_RELU6, NUC_OP_HARDTANH, NUC_OP_CLAMP, NUC_OP_COUNT};

    if (!a->one_scale || !nuc_op_is_in(node->op, clamps) || joint_activation(a, input) == node ||
        is_wide(a, node) != is_wide(a, input))
        return false;
    while (input != NULL && input->n_users == 1 && nuc_is_call(input)) {
        const struct nuc_annotation *at = a->by_id[input->id];
        if (at == NULL || at->output.kind == NUC_QSPEC_NONE)
            return true;
        if (at->output.kind == NUC_QSPEC_OBSERVED)
            return is_activation(&at->output);
        if (!nuc_commutes_with_clamp(input))
            return false;
        input = nuc_arg_node(input, NUC_SELF);
    }
    return false;
}

/* ---- any node ---- */

/* A clamp to values that the fixed range of what is in front of it does not reach: its parameters could not hold them.
 */
static bool clamps_beyond(const struct nuc_annotator *a, const struct nuc_node *node)
{
    const struct nuc_node *input = nuc_arg_node(node, NUC_SELF);
    const struct nuc_annotation *at = input != NULL ? a->by_id[input->id] : NULL;
    const struct nuc_bounds b = nuc_bounds_of(node);

    for (uint32_t left = a->g->n_nodes; at != NULL && at->output.kind == NUC_QSPEC_SHARED && left > 0; left--) {
        const struct nuc_place *from = &at->output.from[0];
        at = from->user == NULL && from->node != NULL ? a->by_id[from->node->id] : NULL;
    }
    if (a->reference_compat || at == NULL || at->output.kind != NUC_QSPEC_FIXED)
        return false;
    const struct nuc_qspec *s = &at->output;
    return b.max < (double)(s->quant_min - s->zero_point) * (double)s->scale ||
           b.min > (double)(s->quant_max - s->zero_point) * (double)s->scale;
}

static bool takes_own(const struct nuc_annotator *a, const struct nuc_node *node, const struct nuc_quant_pattern *p)
{
    if (p->form == NUC_FORM_BOUNDED)
        return nuc_has_relu_bounds(node) || clamps_beyond(a, node);
    if (p->form == NUC_FORM_MEAN) {
        /*
         * One value for each channel of an image: the kernel that sums has parameters of its own for it, and the range
         * of averages is narrower. Beside an NPU, which wants the parameters of the input, it would have to move them
         * in between. What is computed in float is averaged in float.
         */
        const struct nuc_node *input = nuc_arg_node(node, NUC_SELF);
        const struct nuc_annotation *producer = input != NULL ? a->by_id[input->id] : NULL;
        const struct nuc_meta *out = &node->vals[0];
        return producer != NULL && producer->output.kind != NUC_QSPEC_NONE && a->averages_apart && out->rank == 4 &&
               out->sizes[2] * out->sizes[3] == 1;
    }
    return p->form == NUC_FORM_OWN || (p->form == NUC_FORM_MAP && !a->reference_compat);
}

/* ---- masks ---- */

/* Nothing but masks are added to the value, and nothing else reads what moves make it of. */
static bool is_only_masked(const struct nuc_annotator *a, const struct nuc_node *value)
{
    enum nuc_mask kind;

    for (uint32_t i = 0; i < value->n_users; i++) {
        struct nuc_node *mask = nuc_added_mask(a->g, value->users[i], &kind);
        if (mask == NULL || mask == value)
            return false;
    }
    while (nuc_moves_values(value) && nuc_arg_node(value, NUC_SELF) != NULL && value->n_users == 1)
        value = nuc_arg_node(value, NUC_SELF);
    return value->n_users > 0;
}

static struct nuc_qspec spec_of_mask(const struct nuc_annotator *a, const struct nuc_node *node, enum nuc_mask kind)
{
    struct nuc_qspec spec = *nuc_spec_for(a, node, NUC_SPEC_ACTIVATION);

    spec.mask = true;
    spec.observer = NUC_OBSERVER_MIN_MAX;
    if (kind == NUC_MASK_HIDES) {
        spec.kind = NUC_QSPEC_FIXED;
        spec.observer = NUC_OBSERVER_FIXED;
        spec.scale = NUC_MASK_STEP;
        spec.zero_point = spec.quant_max;
    }
    return spec;
}

/* A sum of two masks is another one. */
static bool annotate_masks(struct nuc_annotator *a, struct nuc_node *node)
{
    struct nuc_node *masks[2] = {nuc_arg_node(node, NUC_SELF), nuc_arg_node(node, NUC_OTHER)};

    for (uint32_t i = 0; i < 2; i++) {
        if (node->op != NUC_OP_ADD || masks[i] == NULL || nuc_mask_of(a->g, masks[i]) != NUC_MASK_HIDES)
            return false;
    }
    const struct nuc_qspec spec = spec_of_mask(a, node, NUC_MASK_HIDES);
    for (uint32_t i = 0; i < 2; i++)
        nuc_annotate_input(a, node, masks[i], &spec);
    nuc_annotate_output(a, node, &spec);
    return true;
}

/*
 * Scores and their sum with a mask have the same parameters, so that they are rounded once: where the mask is 0 the sum
 * changes nothing. The mask itself is of 0 and of one step that hides, or what samples show of it.
 */
static bool annotate_masked(struct nuc_annotator *a, struct nuc_node *node)
{
    enum nuc_mask kind;
    struct nuc_node *mask = nuc_added_mask(a->g, node, &kind);

    /* Steps about 0 that hold what hides leave nothing of the scores: in float. */
    if (is_wide(a, node))
        return mask != NULL;
    if (mask == NULL)
        return annotate_masks(a, node);
    struct nuc_node *scores = nuc_arg_node(node, nuc_arg_node(node, NUC_SELF) == mask ? NUC_OTHER : NUC_SELF);
    const struct nuc_qspec *given = nuc_output_spec(a, scores);
    struct nuc_qspec shared = {.kind = NUC_QSPEC_SHARED, .from = {{scores, NULL}}};
    struct nuc_qspec spec = *nuc_spec_for(a, node, NUC_SPEC_ACTIVATION), own = spec_of_reader(a, scores, &spec);
    bool shares = given != NULL && is_activation(given) && is_only_masked(a, scores);

    nuc_annotate_input(a, node, scores, shares ? &shared : &own);
    nuc_annotate_output(a, node, shares ? &shared : &spec);
    spec = spec_of_mask(a, node, kind);
    nuc_annotate_input(a, node, mask, &spec);
    return true;
}

void nuc_annotate_alone(struct nuc_annotator *a, struct nuc_node *node)
{
    const struct nuc_quant_pattern *p = nuc_pattern_for(a, node);

    if (a->by_id[node->id] != NULL || !nuc_is_quantizable(node))
        return;
    if (p->form == NUC_FORM_PAIR || p->form == NUC_FORM_LIST) {
        nuc_annotate_group(a, node);
        return;
    }
    struct nuc_node *input = nuc_arg_node(node, p->anchors[0].arg);
    if (input == NULL || !nuc_is_quantizable(input))
        return;
    if (clips_alone(a, node, input)) {
        const struct nuc_annotation *producer = a->by_id[input->id];
        struct nuc_qspec shared = {.kind = NUC_QSPEC_SHARED, .from = {{input, NULL}}};

        if (producer != NULL && producer->output.kind != NUC_QSPEC_NONE) {
            nuc_annotate_input(a, node, input, &shared);
        } else {
            nuc_annotate_input(a, node, input, nuc_spec_for(a, node, NUC_SPEC_ACTIVATION));
            shared.from[0].user = node;
        }
        nuc_annotate_output(a, node, &shared);
        return;
    }
    if (!takes_own(a, node, p)) {
        annotate_shared(a, node, input);
        return;
    }
    nuc_annotate_output(a, node, nuc_spec_for(a, node, p->output));
    for (uint32_t i = 0; i < NUC_MAX_ANCHORS; i++) {
        struct nuc_node *arg = nuc_anchor_arg(p, node, i);
        struct nuc_qspec spec = nuc_anchor_spec(a, a->side[node->id], node, i);
        if (arg == NULL || is_chosen_number(node, arg) || spec.kind == NUC_QSPEC_NONE)
            continue;
        spec = spec_of_reader(a, arg, &spec);
        nuc_annotate_input(a, node, arg, &spec);
    }
    if (!a->reference_compat && (nuc_only_chooses(a->g, node) || (a->one_scale && nuc_is_times_truth(node))))
        annotate_shared(a, node, input);
}

void nuc_annotate_like(struct nuc_annotator *a, struct nuc_node *node,
                       void (*annotate)(struct nuc_annotator *, struct nuc_node *))
{
    struct nuc_node **link = &a->waiting[nuc_form_index(node)];

    if (!a->reference_compat) {
        annotate(a, node);
        return;
    }
    while (*link != NULL) {
        struct nuc_node *n = *link;
        annotate(a, n);
        if (a->by_id[n->id] != NULL)
            *link = a->next_waiting[n->id];
        else
            link = &a->next_waiting[n->id];
    }
}

void nuc_annotate_node(struct nuc_annotator *a, struct nuc_node *node)
{
    struct nuc_node *activation = joint_activation(a, node);

    if (a->by_id[node->id] != NULL)
        return;
    if (activation != NULL)
        nuc_annotate_like(a, activation, nuc_annotate_alone);
    nuc_annotate_alone(a, node);
    if (activation == NULL || a->by_id[activation->id] == NULL || a->by_id[node->id] == NULL)
        return;
    a->by_id[activation->id]->n_inputs = 0;
    a->by_id[node->id]->output.kind = NUC_QSPEC_NONE;
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
        nuc_annotate_concat_clusters(a);
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
    if (computes_weight(node) && a->side[node->id] != NUC_SIDE_CPU)
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

static bool takes_quantized(const struct nuc_annotator *a, const struct nuc_node *user, const struct nuc_node *value)
{
    const struct nuc_annotation *at = a->by_id[user->id];

    for (uint32_t i = 0; at != NULL && i < at->n_inputs; i++) {
        if (at->inputs[i].arg == value)
            return true;
    }
    return false;
}

/* Whoever reads the value, perhaps behind moves, computes with it in float. */
static bool is_read_in_float(const struct nuc_annotator *a, const struct nuc_node *value)
{
    for (uint32_t i = 0; i < value->n_users; i++) {
        const struct nuc_node *user = value->users[i];
        if (user->op == NUC_OP_OUTPUT ||
            (takes_quantized(a, user, value) && (!nuc_moves_values(user) || !is_read_in_float(a, user))))
            return false;
    }
    return value->n_users > 0;
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
        else if (has_pattern(&a, n) && is_wanted(&a, n) && !annotate_masked(&a, n))
            nuc_annotate_node(&a, n);
    }
    if (!options->quantized_inputs) {
        /*
         * An input of columns in units of their own has no one scale; what standardizes it in float reads it as it
         * comes.
         */
        for (const struct nuc_node *n = a.g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
            if (nuc_is_input(n) && is_read_in_float(&a, n))
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
