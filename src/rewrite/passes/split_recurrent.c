/*
 * A recurrent layer of several layers becomes a chain of single ones. An initial state [D * layers, ...] is split into
 * one [D, ...] per layer, D being 2 when bidirectional; the final states are concatenated again. An LSTM that projects
 * its hidden state becomes one that does not.
 */
#include <string.h>

#include "ir/args.h"
#include "ir/recurrent_args.h"
#include "rewrite/insert.h"
#include "rewrite/pass_list.h"

enum { MOST_STATES = 2 };

/* states: of this layer, then those it leaves. Returns the values of all steps. */
static struct nuc_node *insert_layer(struct nuc_graph *g, struct nuc_node *node, const struct nuc_recurrent *r,
                                     uint32_t layer, struct nuc_node *input, struct nuc_node **states)
{
    struct nuc_node *one = nuc_insert(g, node, node->op, node);
    uint32_t count = r->per_cell * r->directions;

    nuc_set_arg_node(one, g, NUC_SELF, input);
    if (node->args[NUC_RECURRENT(hx)].kind == NUC_ARG_NODES)
        nuc_set_arg_nodes(one, g, NUC_RECURRENT(hx), states, r->n_states);
    else
        nuc_set_arg_node(one, g, NUC_RECURRENT(hx), states[0]);
    nuc_set_arg_nodes(one, g, NUC_RECURRENT(params), r->params + (size_t)layer * count, count);
    for (uint32_t i = NUC_RECURRENT(has_biases); i <= NUC_RECURRENT(batch_first); i++)
        nuc_copy_arg(g, one, i, node, i);
    nuc_set_arg_int(one, NUC_RECURRENT(num_layers), 1);
    nuc_infer_shape(g, one);
    struct nuc_node *value = nuc_insert_getitem(g, node, one, 0);
    for (uint32_t s = 0; s < r->n_states; s++)
        states[s] = nuc_insert_getitem(g, node, one, s + 1);
    return value;
}

static bool split_layers(struct nuc_graph *g, struct nuc_node *node, bool as_reference)
{
    /* Dropout between layers only acts in training. */
    if (nuc_integer(node, NUC_RECURRENT(num_layers), 1) <= 1 || nuc_flag(node, NUC_RECURRENT(train)))
        return false;
    struct nuc_recurrent r = nuc_recurrent_of(node);
    struct nuc_node **layers[MOST_STATES], *value = r.input;

    for (uint32_t s = 0; s < r.n_states; s++) {
        layers[s] = nuc_alloc_array(g->cx, r.layers, sizeof *layers[s]);
        if (!as_reference && nuc_is_zero_state(g, r.states[s])) {
            /* Zeros are made anew, so that nothing is sliced. */
            const struct nuc_meta *m = &r.states[s]->vals[0];
            const int64_t sizes[3] = {r.directions, m->sizes[1], m->sizes[2]};

            for (uint32_t i = 0; i < r.layers; i++)
                layers[s][i] = nuc_emit(
                    g, node, NUC_OP_ZEROS, r.states[s],
                    NUC_ARGS(nuc_ints_arg(sizes, 3), ((struct nuc_arg){.kind = NUC_ARG_DTYPE, .u.dtype = m->dtype})));
            continue;
        }
        int64_t *sizes = nuc_alloc_array(g->cx, r.layers, sizeof *sizes);
        for (uint32_t i = 0; i < r.layers; i++)
            sizes[i] = r.directions;
        struct nuc_node *split =
            nuc_emit(g, node, NUC_OP_SPLIT_WITH_SIZES, node, NUC_ARGS(r.states[s], nuc_ints_arg(sizes, r.layers), 0));
        for (uint32_t i = 0; i < r.layers; i++)
            layers[s][i] = nuc_insert_getitem(g, node, split, i);
    }
    for (uint32_t i = 0; i < r.layers; i++) {
        struct nuc_node *states[MOST_STATES] = {layers[0][i], r.n_states > 1 ? layers[1][i] : NULL};
        value = insert_layer(g, node, &r, i, value, states);
        for (uint32_t s = 0; s < r.n_states; s++)
            layers[s][i] = states[s];
    }
    for (uint32_t s = 0; s < r.n_states; s++)
        layers[s][0] = nuc_insert_cat(g, node, layers[s], r.layers, 0);
    nuc_replace_item(g, node, 0, value);
    for (uint32_t s = 0; s < r.n_states; s++)
        nuc_replace_item(g, node, s + 1, layers[s][0]);
    nuc_remove_node(g, node);
    return true;
}

static bool split_better(struct nuc_graph *g, struct nuc_node *node)
{
    return split_layers(g, node, false);
}

static bool split_like_reference(struct nuc_graph *g, struct nuc_node *node)
{
    return split_layers(g, node, true);
}

#define LAYERS NUC_OPS(NUC_OP_GRU, NUC_OP_LSTM, NUC_OP_RNN_TANH, NUC_OP_RNN_RELU)

bool nuc_split_recurrent(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, LAYERS, split_better);
}

bool nuc_split_recurrent_as_reference(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, LAYERS, split_like_reference);
}

/* ---- projections ---- */

static struct nuc_node *insert_linear(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x,
                                      struct nuc_node *weight)
{
    return nuc_emit(g, node, NUC_OP_LINEAR, node, NUC_ARGS(x, weight, NULL));
}

/* The layers of a state [directions, ...], one for each. */
static struct nuc_node *insert_each(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *state,
                                    struct nuc_node *const weights[2], uint32_t directions)
{
    struct nuc_node *parts[2];

    for (uint32_t d = 0; d < directions; d++)
        parts[d] = insert_linear(g, node, nuc_insert_part(g, node, state, 0, d, d + 1), weights[d]);
    return directions == 1 ? parts[0] : nuc_insert_cat(g, node, parts, directions, 0);
}

/* One layer for the values of both directions, which lie side by side. */
static struct nuc_node *both_projections(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *const weights[2])
{
    size_t rows = (size_t)weights[0]->vals[0].sizes[0], columns = (size_t)weights[0]->vals[0].sizes[1];
    const int64_t sizes[2] = {(int64_t)(2 * rows), (int64_t)(2 * columns)};
    float *values = nuc_alloc_array(g->cx, 4 * rows * columns, sizeof *values);

    for (size_t i = 0; i < 2 * rows; i++) {
        const float *row = (const float *)nuc_const_contiguous(g, weights[i / rows]) + i % rows * columns;
        memcpy(values + i * 2 * columns + i / rows * columns, row, columns * sizeof *row);
    }
    return nuc_insert_floats(g, node, values, sizes, 2);
}

/*
 * W_hh (W_hr h) = (W_hh W_hr) h: the state is h before it is projected, which a linear layer does for all steps. The
 * int8 kernel has no projection, and written out in steps the layer would stay in float32. Of a state that is given,
 * nothing is known but what it is projected to.
 */
static bool fold_projection(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_recurrent r = nuc_recurrent_of(node);
    struct nuc_node *params[2 * 4], *projections[2], *states[MOST_STATES];
    uint32_t count = r.per_cell - 1;

    if (r.layers != 1 || !r.projected || nuc_flag(node, NUC_RECURRENT(train)) || !nuc_is_zero_state(g, r.states[0]))
        return false;
    for (uint32_t d = 0; d < r.directions; d++) {
        struct nuc_recurrent_cell cell = nuc_recurrent_cell(&r, d);
        if (!nuc_is_static(cell.w_hr) || cell.w_hr->vals[0].dtype != NUC_F32)
            return false;
        projections[d] = cell.w_hr;
    }
    states[0] = nuc_insert_filled(g, node, &r.states[1]->vals[0], 0);
    states[1] = r.states[1];
    for (uint32_t i = 0; i < count * r.directions; i++) {
        struct nuc_node *param = r.params[i / count * r.per_cell + i % count];
        params[i] = i % count == 1 ? nuc_insert_binary(g, node, NUC_OP_MM, param, projections[i / count]) : param;
    }
    struct nuc_node *whole = nuc_insert(g, node, node->op, node);
    for (uint32_t i = NUC_SELF; i <= NUC_RECURRENT(batch_first); i++)
        nuc_copy_arg(g, whole, i, node, i);
    nuc_set_arg_nodes(whole, g, NUC_RECURRENT(hx), states, MOST_STATES);
    nuc_set_arg_nodes(whole, g, NUC_RECURRENT(params), params, count * r.directions);
    nuc_infer_shape(g, whole);
    struct nuc_node *all = r.directions == 2 ? both_projections(g, node, projections) : projections[0];
    nuc_replace_item(g, node, 0, insert_linear(g, node, nuc_insert_getitem(g, node, whole, 0), all));
    if (nuc_is_item_read(node, 1))
        nuc_replace_item(g, node, 1,
                         insert_each(g, node, nuc_insert_getitem(g, node, whole, 1), projections, r.directions));
    nuc_replace_item(g, node, 2, nuc_insert_getitem(g, node, whole, 2));
    return true;
}

bool nuc_fold_projections(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_LSTM), fold_projection);
}
