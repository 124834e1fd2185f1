/*
 * A GRU of several layers becomes a chain of GRUs of one layer. The initial state [D * layers, ...] is split into one
 * [D, ...] per layer, D being 2 when bidirectional; the final states are concatenated again.
 */
#include "compiler/graph/args.h"
#include "compiler/passes/pass_list.h"
#include "compiler/passes/rewrite.h"

#define GRU(name) NUC_ARG(GRU, name)

enum { RESULT_Y, RESULT_H };

static uint32_t layers_of(const struct nuc_node *gru)
{
    int64_t layers = nuc_integer(gru, GRU(num_layers), 1);

    return layers > 1 && layers < 1000 ? (uint32_t)layers : 1;
}

/* Two weights, and two biases if any, per layer and direction. */
static uint32_t params_of_layer(const struct nuc_node *gru)
{
    return (nuc_flag(gru, GRU(has_biases)) ? 4u : 2u) * (nuc_flag(gru, GRU(bidirectional)) ? 2u : 1u);
}

/* Dropout between layers only acts in training. */
static bool can_split(const struct nuc_node *gru)
{
    const struct nuc_arg *params = &gru->args[GRU(params)];

    return layers_of(gru) > 1 && !nuc_flag(gru, GRU(train)) && params->kind == NUC_ARG_NODES &&
           params->count == layers_of(gru) * params_of_layer(gru);
}

static struct nuc_node *split_state(struct nuc_graph *g, struct nuc_node *gru)
{
    uint32_t layers = layers_of(gru);
    int64_t *sizes = nuc_alloc_array(g->cx, layers, sizeof *sizes);

    for (uint32_t i = 0; i < layers; i++)
        sizes[i] = nuc_flag(gru, GRU(bidirectional)) ? 2 : 1;
    return nuc_insert_split(g, gru, nuc_operand(g, gru, GRU(hx)), sizes, layers, 0);
}

static struct nuc_node *insert_layer(struct nuc_graph *g, struct nuc_node *gru, uint32_t layer, struct nuc_node *input,
                                     struct nuc_node *state)
{
    struct nuc_node *one = nuc_insert(g, gru, NUC_OP_GRU, gru);
    uint32_t count = params_of_layer(gru);

    nuc_set_arg_node(one, g, GRU(input), input);
    nuc_set_arg_node(one, g, GRU(hx), state);
    nuc_set_arg_nodes(one, g, GRU(params), gru->args[GRU(params)].u.nodes + (size_t)layer * count, count);
    for (uint32_t i = GRU(has_biases); i <= GRU(batch_first); i++)
        nuc_copy_arg(g, one, i, gru, i);
    nuc_set_arg_int(one, GRU(num_layers), 1);
    nuc_infer_shape(g, one);
    return one;
}

static bool split_gru(struct nuc_graph *g, struct nuc_node *gru)
{
    if (!can_split(gru))
        return false;
    uint32_t layers = layers_of(gru);
    struct nuc_node *split = split_state(g, gru), *value = nuc_operand(g, gru, GRU(input));
    struct nuc_node **states = nuc_alloc_array(g->cx, layers, sizeof *states);

    for (uint32_t i = 0; i < layers; i++)
        states[i] = nuc_insert_getitem(g, gru, split, i);
    for (uint32_t i = 0; i < layers; i++) {
        struct nuc_node *one = insert_layer(g, gru, i, value, states[i]);
        value = nuc_insert_getitem(g, gru, one, RESULT_Y);
        states[i] = nuc_insert_getitem(g, gru, one, RESULT_H);
    }
    struct nuc_node *cat = nuc_insert_cat(g, gru, states, layers, 0);
    nuc_replace_item(g, gru, RESULT_Y, value);
    nuc_replace_item(g, gru, RESULT_H, cat);
    nuc_remove_node(g, gru);
    return true;
}

bool nuc_split_gru(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_GRU), split_gru);
}
