/*
 * A GRU of several layers becomes a chain of GRUs of one layer. The initial state [D * layers, ...] is split into one
 * [D, ...] a layer, D being 2 when bidirectional; the final states are concatenated again.
 */
#include "compiler/passes/pass_list.h"
#include "compiler/passes/rewrite.h"

enum { INPUT, STATE, PARAMS, HAS_BIASES, LAYERS, DROPOUT, TRAIN, BIDIRECTIONAL, BATCH_FIRST };
enum { RESULT_Y, RESULT_H };

static bool is_gru(enum nuc_op op)
{
    return op == NUC_OP_GRU;
}

static bool flag(const struct nuc_node *gru, uint32_t index)
{
    return gru->args[index].kind == NUC_ARG_BOOL && gru->args[index].u.b;
}

static uint32_t layers_of(const struct nuc_node *gru)
{
    const struct nuc_arg *layers = &gru->args[LAYERS];

    return layers->kind == NUC_ARG_INT && layers->u.i > 1 && layers->u.i < 1000 ? (uint32_t)layers->u.i : 1;
}

/* Two weights, and two biases if any, a layer and direction. */
static uint32_t params_of_layer(const struct nuc_node *gru)
{
    return (flag(gru, HAS_BIASES) ? 4u : 2u) * (flag(gru, BIDIRECTIONAL) ? 2u : 1u);
}

/* Dropout between layers only acts in training. */
static bool can_split(const struct nuc_node *gru)
{
    const struct nuc_arg *params = &gru->args[PARAMS];

    return layers_of(gru) > 1 && !flag(gru, TRAIN) && params->kind == NUC_ARG_NODES &&
           params->count == layers_of(gru) * params_of_layer(gru);
}

static struct nuc_node *split_state(struct nuc_graph *g, struct nuc_node *gru)
{
    struct nuc_node *split = nuc_insert_aten(g, gru, NUC_OP_SPLIT_WITH_SIZES, gru);
    uint32_t layers = layers_of(gru);
    int64_t *sizes = nuc_alloc_array(g->cx, layers, sizeof *sizes);

    for (uint32_t i = 0; i < layers; i++)
        sizes[i] = flag(gru, BIDIRECTIONAL) ? 2 : 1;
    nuc_set_arg_node(split, g, 0, nuc_operand(g, gru, STATE));
    nuc_set_arg_ints(split, g, 1, sizes, layers);
    nuc_set_arg_int(split, 2, 0);
    nuc_infer_shape(g, split);
    return split;
}

static struct nuc_node *insert_layer(struct nuc_graph *g, struct nuc_node *gru, uint32_t layer, struct nuc_node *input,
                                     struct nuc_node *state)
{
    struct nuc_node *one = nuc_insert_aten(g, gru, NUC_OP_GRU, gru);
    uint32_t count = params_of_layer(gru);

    nuc_set_arg_node(one, g, INPUT, input);
    nuc_set_arg_node(one, g, STATE, state);
    nuc_set_arg_nodes(one, g, PARAMS, gru->args[PARAMS].u.nodes + (size_t)layer * count, count);
    for (uint32_t i = HAS_BIASES; i <= BATCH_FIRST; i++)
        nuc_copy_arg(g, one, i, gru, i);
    nuc_set_arg_int(one, LAYERS, 1);
    nuc_infer_shape(g, one);
    return one;
}

static void replace_result(struct nuc_graph *g, struct nuc_node *gru, int64_t index, struct nuc_node *value)
{
    for (uint32_t i = gru->n_users; i > 0; i--) {
        struct nuc_node *item = gru->users[i - 1];
        if (item->op == NUC_OP_GETITEM && item->args[1].kind == NUC_ARG_INT && item->args[1].u.i == index) {
            nuc_replace_uses(g, item, value, NULL);
            nuc_remove_node(g, item);
        }
    }
}

static void split_gru(struct nuc_graph *g, struct nuc_node *gru)
{
    uint32_t layers = layers_of(gru);
    struct nuc_node *split = split_state(g, gru), *value = nuc_operand(g, gru, INPUT);
    struct nuc_node **states = nuc_alloc_array(g->cx, layers, sizeof *states);

    for (uint32_t i = 0; i < layers; i++)
        states[i] = nuc_insert_getitem(g, gru, split, i);
    for (uint32_t i = 0; i < layers; i++) {
        struct nuc_node *one = insert_layer(g, gru, i, value, states[i]);
        value = nuc_insert_getitem(g, gru, one, RESULT_Y);
        states[i] = nuc_insert_getitem(g, gru, one, RESULT_H);
    }
    struct nuc_node *cat = nuc_insert_aten(g, gru, NUC_OP_CAT, gru);
    nuc_set_arg_nodes(cat, g, 0, states, layers);
    nuc_set_arg_int(cat, 1, 0);
    nuc_infer_shape(g, cat);
    replace_result(g, gru, RESULT_Y, value);
    replace_result(g, gru, RESULT_H, cat);
    nuc_remove_node(g, gru);
}

bool nuc_split_gru(struct nuc_graph *g)
{
    uint32_t count;
    struct nuc_node **grus = nuc_collect(g, is_gru, &count);
    bool changed = false;

    for (uint32_t i = 0; i < count; i++) {
        if (!can_split(grus[i]))
            continue;
        split_gru(g, grus[i]);
        changed = true;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}
