/*
 * A recurrent layer of several layers becomes a chain of single ones. An initial state [D * layers, ...] is split into
 * one [D, ...] per layer, D being 2 when bidirectional; the final states are concatenated again.
 */
#include "ir/args.h"
#include "ir/recurrent_args.h"
#include "rewrite/insert.h"
#include "rewrite/pass_list.h"

enum { MOST_STATES = 2 };

/* Dropout between layers only acts in training. */
static bool can_split(const struct nuc_node *node)
{
    return nuc_integer(node, NUC_RECURRENT(num_layers), 1) > 1 && !nuc_flag(node, NUC_RECURRENT(train));
}

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
    if (!can_split(node))
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
                    NUC_ARGS(nuc_ints_arg(sizes, 3), (struct nuc_arg){.kind = NUC_ARG_DTYPE, .u.dtype = m->dtype}));
            continue;
        }
        int64_t *sizes = nuc_alloc_array(g->cx, r.layers, sizeof *sizes);
        for (uint32_t i = 0; i < r.layers; i++)
            sizes[i] = r.directions;
        struct nuc_node *split = nuc_insert_split(g, node, r.states[s], sizes, r.layers, 0);
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
