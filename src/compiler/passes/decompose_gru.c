/*
 * A GRU step by step. With x [T, N, I], h [N, H] and gates in the order r, z, n along the rows of the weights:
 *
 *   i = x[t] * W_ih^T + b_ih, k = h * W_hh^T + b_hh          [N, 3H]
 *   r = sigmoid(i_r + k_r), z = sigmoid(i_z + k_z), n = tanh(i_n + r * k_n)
 *   h = (h - n) * z + n                                      source: torch, GRUCell
 *
 * The product with the input is one for all steps.
 */
#include "compiler/graph/args.h"
#include "compiler/passes/decompose.h"
#include "compiler/passes/rewrite.h"

#define MAX_STEPS 512 /* each becomes some 20 nodes */

struct gru {
    struct nuc_graph *g;
    struct nuc_node *node;
    bool biases;
    uint32_t layers, directions;
    int64_t steps, batch, hidden;
};

/* Weights of one layer and direction, transposed to [I, 3H] and [H, 3H]; biases are NULL without. */
struct cell {
    struct nuc_node *w_ih, *w_hh, *b_ih, *b_hh;
};

static struct nuc_node *insert_dense(const struct gru *u, struct nuc_node *rows, struct nuc_node *weight,
                                     struct nuc_node *bias)
{
    if (bias == NULL)
        return nuc_insert_binary(u->g, u->node, NUC_OP_MM, rows, weight);
    return nuc_insert_addmm(u->g, u->node, bias, rows, weight);
}

/* Rows of one gate, of [N, 3H]. */
static struct nuc_node *gate(const struct gru *u, struct nuc_node *gates, int64_t index)
{
    return nuc_insert_slice(u->g, u->node, gates, 1, index * u->hidden, (index + 1) * u->hidden);
}

static struct nuc_node *insert_step(const struct gru *u, const struct cell *c, struct nuc_node *i, struct nuc_node *h)
{
    struct nuc_graph *g = u->g;
    struct nuc_node *at = u->node, *k = insert_dense(u, h, c->w_hh, c->b_hh);
    struct nuc_node *r = nuc_insert_binary(g, at, NUC_OP_ADD, gate(u, i, 0), gate(u, k, 0));
    struct nuc_node *z = nuc_insert_binary(g, at, NUC_OP_ADD, gate(u, i, 1), gate(u, k, 1));

    r = nuc_insert_unary(g, at, NUC_OP_SIGMOID, r);
    z = nuc_insert_unary(g, at, NUC_OP_SIGMOID, z);
    struct nuc_node *n = nuc_insert_binary(g, at, NUC_OP_MUL, r, gate(u, k, 2));
    n = nuc_insert_unary(g, at, NUC_OP_TANH, nuc_insert_binary(g, at, NUC_OP_ADD, gate(u, i, 2), n));
    struct nuc_node *kept = nuc_insert_binary(g, at, NUC_OP_MUL, nuc_insert_binary(g, at, NUC_OP_SUB, h, n), z);
    return nuc_insert_binary(g, at, NUC_OP_ADD, kept, n);
}

/* One direction of a layer over x [T, N, F]: returns [T, N, H], and in *last the final state as [1, N, H]. */
static struct nuc_node *insert_direction(const struct gru *u, const struct cell *c, struct nuc_node *x,
                                         struct nuc_node *h, bool backwards, struct nuc_node **last)
{
    struct nuc_graph *g = u->g;
    const int64_t flat[2] = {u->steps * u->batch, x->vals[0].sizes[2]}, row[2] = {u->batch, 3 * u->hidden};
    const int64_t state[3] = {1, u->batch, u->hidden};
    struct nuc_node *gates = insert_dense(u, nuc_insert_reshape(g, u->node, x, flat, 2), c->w_ih, c->b_ih);
    struct nuc_node **y = nuc_alloc_array(g->cx, (size_t)u->steps, sizeof *y);

    for (int64_t i = 0; i < u->steps; i++) {
        int64_t t = backwards ? u->steps - 1 - i : i;
        struct nuc_node *at_t = nuc_insert_slice(g, u->node, gates, 0, t * u->batch, (t + 1) * u->batch);
        h = insert_step(u, c, nuc_insert_view(g, u->node, at_t, row, 2), h);
        *last = y[t] = nuc_insert_view(g, u->node, h, state, 3);
    }
    return nuc_insert_cat(g, u->node, y, (uint32_t)u->steps, 0);
}

static struct cell cell_of(const struct gru *u, uint32_t index)
{
    const int64_t dims[2] = {1, 0};
    uint32_t count = u->biases ? 4 : 2;
    struct nuc_node *const *p = nuc_arg_at(u->node, NUC_ARG(GRU, params))->u.nodes + (size_t)index * count;
    struct nuc_node *w_ih = nuc_insert_permute(u->g, u->node, p[0], dims);
    struct nuc_node *w_hh = nuc_insert_permute(u->g, u->node, p[1], dims);

    return (struct cell){w_ih, w_hh, u->biases ? p[2] : NULL, u->biases ? p[3] : NULL};
}

/* Returns [T, N, D * H]; states [D * layers] get the final ones. */
static struct nuc_node *insert_layers(const struct gru *u, struct nuc_node *x, struct nuc_node *h0,
                                      struct nuc_node **states)
{
    const int64_t row[2] = {u->batch, u->hidden};

    for (uint32_t layer = 0; layer < u->layers; layer++) {
        struct nuc_node *y[2] = {NULL, NULL};
        for (uint32_t d = 0; d < u->directions; d++) {
            uint32_t i = layer * u->directions + d;
            struct cell c = cell_of(u, i);
            struct nuc_node *h = nuc_insert_slice(u->g, u->node, h0, 0, i, i + 1);
            y[d] = insert_direction(u, &c, x, nuc_insert_view(u->g, u->node, h, row, 2), d == 1, &states[i]);
        }
        x = u->directions == 2 ? nuc_insert_cat(u->g, u->node, y, 2, 2) : y[0];
    }
    return x;
}

static void check_gru(const struct gru *u)
{
    const struct nuc_arg *params = nuc_arg_at(u->node, NUC_ARG(GRU, params));

    if (nuc_flag(u->node, NUC_ARG(GRU, train)))
        nuc_fail(u->g->cx, NUC_UNSUPPORTED, "%s: %s is in training mode: export the model after model.eval()",
                 u->g->file, nuc_node_text(u->g->cx, u->node));
    if (params->kind != NUC_ARG_NODES || params->count != u->layers * u->directions * (u->biases ? 4u : 2u))
        nuc_fail(u->g->cx, NUC_BAD_INPUT, "%s: %s has not the weights of its layers: export the model again",
                 u->g->file, nuc_node_text(u->g->cx, u->node));
    if (u->steps < 1 || u->steps > MAX_STEPS)
        nuc_fail(u->g->cx, NUC_UNSUPPORTED, "%s: %s runs over %lld steps, 1 to %d are supported: split the sequence",
                 u->g->file, nuc_node_text(u->g->cx, u->node), (long long)u->steps, MAX_STEPS);
}

/* With batch_first the input is [N, T, I]; torch's own modules give an input without a batch one of 1. */
struct nuc_node *nuc_to_gru(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = nuc_operand(g, node, NUC_ARG(GRU, input)), *h0 = nuc_operand(g, node, NUC_ARG(GRU, hx));
    const int64_t *in = x->vals[0].sizes, swapped[3] = {1, 0, 2};
    bool swap = nuc_flag(node, NUC_ARG(GRU, batch_first));
    struct gru u = {.g = g, .node = node, .biases = nuc_flag(node, NUC_ARG(GRU, has_biases))};

    u.layers = (uint32_t)nuc_integer(node, NUC_ARG(GRU, num_layers), 1);
    u.directions = nuc_flag(node, NUC_ARG(GRU, bidirectional)) ? 2 : 1;
    u.steps = in[swap ? 1 : 0];
    u.batch = in[swap ? 0 : 1];
    u.hidden = h0->vals[0].sizes[2];
    check_gru(&u);
    if (swap)
        x = nuc_insert_permute(g, node, x, swapped);
    struct nuc_node **states = nuc_alloc_array(g->cx, (size_t)u.layers * u.directions, sizeof *states);
    struct nuc_node *y = insert_layers(&u, x, h0, states), *h;
    h = nuc_insert_cat(g, node, states, u.layers * u.directions, 0);
    nuc_replace_item(g, node, 0, swap ? nuc_insert_permute(g, node, y, swapped) : y);
    nuc_replace_item(g, node, 1, h);
    return NULL;
}
