#include "ir/recurrent_args.h"

#include "ir/args.h"

uint32_t nuc_recurrent_gates(enum nuc_op op)
{
    return op == NUC_OP_GRU ? 3 : op == NUC_OP_LSTM ? 4 : 1;
}

struct nuc_recurrent nuc_recurrent_of(const struct nuc_node *node)
{
    const struct nuc_arg *hx = &node->args[NUC_RECURRENT(hx)], *params = &node->args[NUC_RECURRENT(params)];
    bool list = hx->kind == NUC_ARG_NODES;
    struct nuc_recurrent r = {
        .op = node->op,
        .input = nuc_arg_node(node, NUC_SELF),
        .n_states = list ? hx->count : 1,
        .states = list ? hx->u.nodes : &hx->u.node,
        .params = params->u.nodes,
        .gates = nuc_recurrent_gates(node->op),
        .layers = (uint32_t)nuc_integer(node, NUC_RECURRENT(num_layers), 1),
        .directions = nuc_flag(node, NUC_RECURRENT(bidirectional)) ? 2 : 1,
        .biases = nuc_flag(node, NUC_RECURRENT(has_biases)),
        .batch_first = nuc_flag(node, NUC_RECURRENT(batch_first)),
    };
    const int64_t *in = r.input->vals[0].sizes;

    r.per_cell = params->count / (r.layers * r.directions);
    r.projected = r.per_cell % 2 == 1;
    r.steps = in[r.batch_first ? 1 : 0];
    r.batch = in[r.batch_first ? 0 : 1];
    r.inputs = in[2];
    r.outputs = r.states[0]->vals[0].sizes[2];
    r.hidden = r.states[r.n_states - 1]->vals[0].sizes[2];
    return r;
}

static bool is_zero(struct nuc_graph *g, const struct nuc_node *state)
{
    while (state->op == NUC_OP_SLICE || nuc_op_family(state->op) == NUC_FAMILY_VIEW)
        state = nuc_arg_node(state, NUC_SELF);
    if (state->op == NUC_OP_ZEROS)
        return true;
    if (state->op == NUC_OP_FULL)
        return nuc_numbers_equal(nuc_scalar(state, NUC_ARG(FULL, fill_value), 1), 0);
    return nuc_is_static_zero(g, state);
}

bool nuc_is_zero_state(struct nuc_graph *g, const struct nuc_node *state)
{
    const struct nuc_arg *list = &state->args[NUC_SELF];
    uint32_t zeros = 0;

    if (state->op != NUC_OP_CAT)
        return is_zero(g, state);
    while (zeros < list->count && is_zero(g, list->u.nodes[zeros]))
        zeros++;
    return zeros == list->count;
}

struct nuc_recurrent_cell nuc_recurrent_cell(const struct nuc_recurrent *r, uint32_t cell)
{
    struct nuc_node *const *p = r->params + (size_t)cell * r->per_cell;

    return (struct nuc_recurrent_cell){
        .w_ih = p[0],
        .w_hh = p[1],
        .b_ih = r->biases ? p[2] : NULL,
        .b_hh = r->biases ? p[3] : NULL,
        .w_hr = r->projected ? p[r->per_cell - 1] : NULL,
    };
}
