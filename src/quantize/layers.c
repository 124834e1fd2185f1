#include "quantize/layers.h"

#include "ir/args.h"
#include "ir/op_list.h"
#include "ir/recurrent_args.h"

/* The operators that are layers have input, weight and bias in the same places. */
#define ARG(name) NUC_ARG(CONV2D, name)

static bool read_layer(struct nuc_node *node, struct nuc_layer *out)
{
    if (!nuc_op_is_in(node->op, NUC_OPS(NUC_OP_CONV2D, NUC_OP_CONV2D_PADDING, NUC_OP_LINEAR)) || node->n_vals != 1 ||
        node->vals[0].dtype != NUC_F32)
        return false;
    struct nuc_layer l = {.node = node,
                          .input = nuc_arg_node(node, ARG(input)),
                          .weight = nuc_arg_node(node, ARG(weight)),
                          .bias = nuc_arg_node(node, ARG(bias)),
                          .groups = node->op == NUC_OP_LINEAR ? 1 : (uint32_t)nuc_integer(node, ARG(groups), 1),
                          .taps = 1};
    if (l.input == NULL || !nuc_is_static_float(l.weight) || (l.bias != NULL && !nuc_is_static_float(l.bias)))
        return false;
    const struct nuc_meta *w = &l.weight->vals[0];
    if (w->rank < 2)
        return false;
    l.out = (uint32_t)w->sizes[0];
    l.in = (uint32_t)w->sizes[1] * l.groups;
    for (uint32_t d = 2; d < w->rank; d++)
        l.taps *= (uint32_t)w->sizes[d];
    if (nuc_elements(w) == 0 || l.groups == 0 || l.out % l.groups != 0 ||
        (l.bias != NULL && nuc_elements(&l.bias->vals[0]) != l.out))
        return false;
    *out = l;
    return true;
}

bool nuc_layer_of(struct nuc_node *node, struct nuc_layer *out)
{
    return read_layer(node, out) && out->weight->n_users == 1 && (out->bias == NULL || out->bias->n_users == 1);
}

/* What stands for the hidden states that the steps of a layer begin with; NULL: nothing does. */
static struct nuc_node *hidden_states(const struct nuc_node *node, const struct nuc_recurrent *r)
{
    if (r->steps == 1)
        return r->directions == 1 ? r->states[0] : NULL;
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (node->users[i]->op == NUC_OP_GETITEM && nuc_integer(node->users[i], NUC_ARG(GETITEM, index), -1) == 0)
            return node->users[i];
    }
    return NULL;
}

uint32_t nuc_layers_of(struct nuc_node *node, struct nuc_layer out[NUC_MOST_LAYERS])
{
    uint32_t count = 0;

    if (nuc_op_family(node->op) != NUC_FAMILY_RECURRENT)
        return read_layer(node, out);
    struct nuc_recurrent r = nuc_recurrent_of(node);
    struct nuc_node *hidden = hidden_states(node, &r);
    for (uint32_t d = 0; d < r.directions && r.layers == 1 && !r.projected && r.biases; d++) {
        struct nuc_recurrent_cell cell = nuc_recurrent_cell(&r, d);
        uint32_t rows = r.gates * (uint32_t)r.hidden;
        if (nuc_is_static_float(cell.w_ih) && nuc_is_static_float(cell.b_ih))
            out[count++] = (struct nuc_layer){node, r.input, cell.w_ih, cell.b_ih, 0, rows, (uint32_t)r.inputs, 1, 1};
        if (hidden != NULL && nuc_is_static_float(cell.w_hh) && nuc_is_static_float(cell.b_hh))
            out[count++] = (struct nuc_layer){
                node, hidden, cell.w_hh, cell.b_hh, d * (uint32_t)r.hidden, rows, (uint32_t)r.hidden, 1, 1};
    }
    return count;
}

float *nuc_layer_values(struct nuc_graph *g, const struct nuc_node *constant)
{
    return nuc_copy(g->cx, nuc_const_contiguous(g, constant), nuc_bytes(&constant->vals[0]));
}

void nuc_layer_set_values(struct nuc_graph *g, struct nuc_node *constant, const float *values)
{
    struct nuc_meta logical = constant->vals[0];

    nuc_set_contiguous(&logical);
    constant->data = nuc_dense_data(g->cx, &logical, values);
}

void nuc_layer_add_bias(struct nuc_graph *g, struct nuc_layer *l)
{
    struct nuc_meta meta = nuc_meta_make(NUC_F32, &(int64_t){l->out}, 1);
    const char *name = nuc_format(g->cx, "%s_bias", l->weight->name);

    l->bias = nuc_add_constant(g, name, &meta, nuc_alloc_array(g->cx, l->out, sizeof(float)));
    l->bias->input_kind = NUC_PARAMETER;
    nuc_move_before(g, l->bias, l->weight->next);
    nuc_set_arg_node(l->node, g, ARG(bias), l->bias);
    l->node->args[ARG(bias)].given = true;
}
