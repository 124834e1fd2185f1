/* Expansions of recurrent cells: layers of one step, so that they have the kernels of these. */
#include "ir/recurrent_args.h"
#include "rewrite/expand/expand.h"

#define CELL(name) NUC_ARG(LSTM_CELL, name)

/* The input or a state [N, columns], without a batch [columns], as a sequence or the states of one layer. */
static struct nuc_node *as_layer(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *value)
{
    const struct nuc_meta *m = &value->vals[0];
    bool batched = m->rank == 2;
    const int64_t sizes[3] = {1, batched ? m->sizes[0] : 1, m->sizes[batched ? 1 : 0]};

    if (m->rank != 1 && m->rank != 2)
        nuc_expand_fail(g, node, "%s is not a batch of samples or a single one", nuc_meta_text(g->cx, m));
    return nuc_insert_reshape(g, node, value, sizes, 3);
}

/* What the layer left in its state, in the sizes of the cell's own. */
static struct nuc_node *final_state(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *layer, uint32_t state,
                                    const struct nuc_node *before)
{
    const struct nuc_meta *m = &before->vals[0];

    return nuc_insert_reshape(g, node, nuc_insert_getitem(g, node, layer, state + 1), m->sizes, m->rank);
}

static struct nuc_node *insert_layer(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op,
                                     const struct nuc_arg *hx)
{
    struct nuc_node *params[4] = {nuc_operand(g, node, CELL(w_ih)), nuc_operand(g, node, CELL(w_hh)),
                                  nuc_arg_node(node, CELL(b_ih)), nuc_arg_node(node, CELL(b_hh))};
    bool biases = params[2] != NULL && params[3] != NULL;

    if (!biases && (params[2] != NULL || params[3] != NULL))
        nuc_expand_fail(g, node, "it has one of two biases: give both or none");
    struct nuc_node *x = as_layer(g, node, nuc_operand(g, node, NUC_SELF));
    return nuc_emit(g, node, op, node,
                    NUC_ARGS(nuc_node_arg(x), *hx, nuc_nodes_arg(params, biases ? 4 : 2), nuc_bool_arg(biases),
                             nuc_int_arg(1), nuc_float_arg(0), nuc_bool_arg(false), nuc_bool_arg(false),
                             nuc_bool_arg(false)));
}

struct nuc_node *nuc_expand_lstm_cell(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_arg *hx = nuc_arg_at(node, CELL(hx));

    if (hx->count != 2 || hx->u.nodes[0] == NULL || hx->u.nodes[1] == NULL)
        nuc_expand_fail(g, node, "it needs a hidden state and a cell state");
    struct nuc_node *states[2] = {as_layer(g, node, hx->u.nodes[0]), as_layer(g, node, hx->u.nodes[1])};
    struct nuc_arg both = nuc_nodes_arg(states, 2);
    struct nuc_node *layer = insert_layer(g, node, NUC_OP_LSTM, &both);
    nuc_replace_item(g, node, 0, final_state(g, node, layer, 0, hx->u.nodes[0]));
    nuc_replace_item(g, node, 1, final_state(g, node, layer, 1, hx->u.nodes[1]));
    return NULL;
}

static struct nuc_node *expand_cell(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op)
{
    struct nuc_node *h = nuc_operand(g, node, CELL(hx));
    struct nuc_arg hx = nuc_node_arg(as_layer(g, node, h));

    return final_state(g, node, insert_layer(g, node, op, &hx), 0, h);
}

struct nuc_node *nuc_expand_gru_cell(struct nuc_graph *g, struct nuc_node *node)
{
    return expand_cell(g, node, NUC_OP_GRU);
}

struct nuc_node *nuc_expand_rnn_tanh_cell(struct nuc_graph *g, struct nuc_node *node)
{
    return expand_cell(g, node, NUC_OP_RNN_TANH);
}

struct nuc_node *nuc_expand_rnn_relu_cell(struct nuc_graph *g, struct nuc_node *node)
{
    return expand_cell(g, node, NUC_OP_RNN_RELU);
}
