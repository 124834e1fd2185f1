/* Annotates one node by the patterns, together with the activation that follows it. */

#include "ir/args.h"
#include "ir/masks.h"
#include "ir/op_list.h"
#include "quantize/adopt.h"
#include "quantize/search/choices.h"

/* ---- adding specs ---- */

static bool is_activation(const struct nuc_qspec *spec)
{
    return spec->kind == NUC_QSPEC_OBSERVED && (spec->scheme == NUC_PER_TENSOR_AFFINE || spec->dtype == NUC_I16);
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

    /* A move of what is computed in float is one of int8 already where all that reads it takes int8. */
    if (chosen || converts ||
        (!has_parameters && a->one_scale && nuc_moves_values(node) && is_of_whole(node, input) &&
         a->is_read_quantized[node->id])) {
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
    if (nuc_is_wide(a, node) != nuc_is_wide(a, user))
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
    if (!a->one_scale || !nuc_op_is_in(node->op, NUC_CLAMPS) || joint_activation(a, input) == node ||
        nuc_is_wide(a, node) != nuc_is_wide(a, input))
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
bool nuc_annotate_masked(struct nuc_annotator *a, struct nuc_node *node)
{
    enum nuc_mask kind;
    struct nuc_node *mask = nuc_added_mask(a->g, node, &kind);

    /* Steps about 0 that hold what hides leave nothing of the scores: in float. */
    if (nuc_is_wide(a, node))
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
        /* A number that is chosen has the parameters of the result: perhaps it is infinite. */
        if (arg == NULL || (node->op == NUC_OP_WHERE && nuc_is_static(arg) && nuc_elements(&arg->vals[0]) == 1) ||
            spec.kind == NUC_QSPEC_NONE)
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
