/*
 * Recurrent layers on the CPU. Gates and states need no observer: their int8 kernel keeps them in 16 and 32 bits, which
 * hold whatever they can become, and so it takes a sequence in float32 and gives one. Biases stay as they are until the
 * kernel's numbers are computed.
 */
#include "ir/args.h"
#include "ir/recurrent_args.h"
#include "quantize/annotate_private.h"
#include "quantize/ranges/relevant_range.h"

/* ---- states that the caller keeps ---- */

static bool is_layer(const struct nuc_node *node)
{
    return nuc_op_family(node->op) == NUC_FAMILY_RECURRENT;
}

static bool is_state_of(const struct nuc_node *layer, const struct nuc_node *value)
{
    struct nuc_recurrent r = nuc_recurrent_of(layer);
    bool found = false;

    for (uint32_t s = 0; s < r.n_states; s++)
        found = found || r.states[s] == value;
    return found && r.input != value;
}

static bool is_part(const struct nuc_node *node)
{
    return node->op == NUC_OP_SLICE || nuc_op_family(node->op) == NUC_FAMILY_VIEW;
}

/* Every reader is a layer that begins with the value, or with parts of it. */
static bool only_begins_layers(const struct nuc_node *value)
{
    for (uint32_t i = 0; i < value->n_users; i++) {
        const struct nuc_node *user = value->users[i];
        bool begins = is_layer(user) && is_state_of(user, value);
        if (!begins && (!is_part(user) || !only_begins_layers(user)))
            return false;
    }
    return value->n_users > 0;
}

/* The input of the model that a layer begins with; NULL: something else. */
static struct nuc_node *origin_of(struct nuc_node *state)
{
    while (is_part(state) && nuc_arg_node(state, NUC_SELF) != NULL)
        state = nuc_arg_node(state, NUC_SELF);
    return nuc_is_input(state) && nuc_is_quantizable(state) && only_begins_layers(state) ? state : NULL;
}

/* What a final state goes through on its way out: views, and, `joined`, a concatenation with those of other layers. */
static bool goes_through(const struct nuc_node *node, bool joined)
{
    return (joined && node->op == NUC_OP_CAT) || nuc_op_family(node->op) == NUC_FAMILY_VIEW;
}

/* Every reader is the output, perhaps behind these. */
static bool only_goes_out(const struct nuc_node *value, bool joined)
{
    for (uint32_t i = 0; i < value->n_users; i++) {
        const struct nuc_node *user = value->users[i];
        if (user->op != NUC_OP_OUTPUT &&
            (!goes_through(user, joined) || !only_goes_out(user, joined && user->op != NUC_OP_CAT)))
            return false;
    }
    return value->n_users > 0;
}

/* All states of the layer come in and go out so. A ReLU's have no bound: their range has to be observed. */
static bool keeps_states(const struct nuc_node *layer)
{
    struct nuc_recurrent r = nuc_recurrent_of(layer);
    uint32_t found = 0;

    for (uint32_t s = 0; s < r.n_states; s++) {
        if (origin_of(r.states[s]) == NULL)
            return false;
    }
    for (uint32_t i = 0; i < layer->n_users; i++) {
        const struct nuc_node *item = layer->users[i];
        if (item->op != NUC_OP_GETITEM || nuc_integer(item, NUC_ARG(GETITEM, index), 0) == 0)
            continue;
        if (!only_goes_out(item, true))
            return false;
        found++;
    }
    return found == r.n_states && layer->op != NUC_OP_RNN_RELU;
}

static void mark_out(struct nuc_annotator *a, const struct nuc_node *value, bool joined, bool keeps)
{
    a->stays_float[value->id] = keeps;
    for (uint32_t i = 0; i < value->n_users; i++) {
        const struct nuc_node *user = value->users[i];
        if (goes_through(user, joined))
            mark_out(a, user, joined && user->op != NUC_OP_CAT, keeps);
    }
}

static void mark_states(struct nuc_annotator *a, const struct nuc_node *layer, bool keeps)
{
    struct nuc_recurrent r = nuc_recurrent_of(layer);

    for (uint32_t s = 0; s < r.n_states; s++) {
        const struct nuc_node *origin = origin_of(r.states[s]);
        for (const struct nuc_node *n = r.states[s]; n != NULL; n = n == origin ? NULL : nuc_arg_node(n, NUC_SELF)) {
            a->stays_float[n->id] = keeps;
            if (origin == NULL)
                break;
        }
    }
    for (uint32_t i = 0; i < layer->n_users; i++) {
        const struct nuc_node *item = layer->users[i];
        if (item->op == NUC_OP_GETITEM && nuc_integer(item, NUC_ARG(GETITEM, index), 0) > 0)
            mark_out(a, item, true, keeps);
    }
}

/* Layers that share an input keep their states together or not at all. */
void nuc_find_kept_states(struct nuc_annotator *a)
{
    for (int round = 0; round < 2; round++) {
        for (const struct nuc_node *n = a->g->first; n != NULL; n = n->next) {
            if (is_layer(n) && keeps_states(n) == (round == 0))
                mark_states(a, n, round == 0);
        }
    }
}

/* ---- sequences that nothing asks to be int8 ---- */

/* One layer without projection, all of whose weights are constants. */
static bool has_kernel(const struct nuc_recurrent *r)
{
    if (r->layers != 1 || r->projected || !nuc_is_quantizable(r->input))
        return false;
    for (uint32_t i = 0; i < r->per_cell * r->directions; i++) {
        if (!nuc_is_static(r->params[i]) || !nuc_is_quantizable(r->params[i]))
            return false;
    }
    return true;
}

static bool is_int8_layer(const struct nuc_annotator *a, const struct nuc_node *node)
{
    if (node == NULL || !is_layer(node) || a->side[node->id] == NUC_SIDE_NPU)
        return false;
    struct nuc_recurrent r = nuc_recurrent_of(node);
    return has_kernel(&r);
}

/* A layer begins with the value, perhaps behind moves. */
static bool begins_layer(const struct nuc_annotator *a, const struct nuc_node *value)
{
    bool begins = false;

    if (!nuc_is_quantizable(value))
        return false;
    for (uint32_t i = 0; i < value->n_users && !begins; i++) {
        const struct nuc_node *user = value->users[i];
        begins = nuc_moves_values(user)
                     ? user->op != NUC_OP_CAT && begins_layer(a, user)
                     : is_int8_layer(a, user) && is_state_of(user, value) && user->op != NUC_OP_RNN_RELU;
    }
    return begins;
}

/* Every reader is a layer whose sequence the value is, perhaps behind moves. */
static bool only_feeds_layers(const struct nuc_annotator *a, const struct nuc_node *value)
{
    for (uint32_t i = 0; i < value->n_users; i++) {
        const struct nuc_node *user = value->users[i];
        bool feeds = nuc_moves_values(user) ? user->op != NUC_OP_CAT && only_feeds_layers(a, user)
                                            : is_int8_layer(a, user) && !is_state_of(user, value);
        if (!feeds)
            return false;
    }
    return value->n_users > 0 && nuc_is_quantizable(value);
}

static void keep_sequence(struct nuc_annotator *a, const struct nuc_node *value)
{
    a->stays_float[value->id] = true;
    for (uint32_t i = 0; i < value->n_users; i++) {
        if (nuc_moves_values(value->users[i]) && value->users[i]->op != NUC_OP_CAT)
            keep_sequence(a, value->users[i]);
    }
}

/*
 * What only layers read of an input of the model or of a layer before them, and what goes from a layer to an output,
 * stays float32: int8 would only lose digits. So does the state of a layer that another one begins with, on which
 * errors add up; others read it quantized. `quantized_io`: inputs and outputs are int8.
 */
void nuc_find_kept_sequences(struct nuc_annotator *a, bool quantized_io)
{
    for (const struct nuc_node *n = a->g->first; n != NULL; n = n->next) {
        bool given = nuc_is_placeholder(n) && n->input_kind == NUC_USER_INPUT && !quantized_io;
        bool made = n->op == NUC_OP_GETITEM && is_int8_layer(a, nuc_arg_node(n, NUC_SELF));
        bool state = made && nuc_integer(n, NUC_ARG(GETITEM, index), 0) > 0;
        if ((given || made) && (only_feeds_layers(a, n) || ((given || state) && begins_layer(a, n))))
            keep_sequence(a, n);
        else if (made && !state && !quantized_io && only_goes_out(n, false))
            mark_out(a, n, false, true);
    }
}

/* ---- annotation ---- */

void nuc_annotate_recurrent(struct nuc_annotator *a, struct nuc_node *node)
{
    struct nuc_recurrent r = nuc_recurrent_of(node);
    const struct nuc_qspec *activation = nuc_spec_for(a, node, NUC_SPEC_ACTIVATION);

    if (!is_int8_layer(a, node))
        return;
    /* The kernel takes float32 where it does not take int8: sequences of int16 are dequantized. */
    bool is_wide = nuc_is_wide(a, node);
    if (!a->stays_float[r.input->id] && !is_wide)
        nuc_annotate_input(a, node, r.input, activation);
    for (uint32_t s = 0; s < r.n_states; s++) {
        if (!a->stays_float[r.states[s]->id] && !is_wide && !nuc_is_zero_state(a->g, r.states[s]))
            nuc_annotate_input(a, node, r.states[s], activation);
    }
    for (uint32_t i = 0; i < r.directions; i++) {
        struct nuc_recurrent_cell cell = nuc_recurrent_cell(&r, i);
        nuc_annotate_input(a, node, cell.w_ih, nuc_spec_for(a, node, NUC_SPEC_WEIGHT_AXIS_0));
        nuc_annotate_input(a, node, cell.w_hh, nuc_spec_for(a, node, NUC_SPEC_WEIGHT_AXIS_0));
    }
    for (uint32_t i = 0; i < node->n_users && !is_wide; i++) {
        if (node->users[i]->op == NUC_OP_GETITEM && !a->stays_float[node->users[i]->id])
            nuc_annotate_output(a, node->users[i], activation);
    }
}
