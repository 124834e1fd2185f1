/*
 * A recurrent layer step by step. With x [T, N, I], h [N, H] and a weight's rows gate after gate:
 *
 *   i = x[t] * W_ih^T + b_ih, k = h * W_hh^T + b_hh          [N, gates * H]
 *   GRU (r, z, n)      r = sigmoid(i_r + k_r), z = sigmoid(i_z + k_z), n = tanh(i_n + r * k_n), h = (h - n) * z + n
 *   LSTM (i, f, g, o)  c = sigmoid(f) * c + sigmoid(i) * tanh(g), h = sigmoid(o) * tanh(c) of i + k, h = h * W_hr^T
 *   RNN                h = tanh or relu of i + k             source: torch, GRUCell, LSTMCell, RNNCell
 *
 * The product with the input is one for all steps.
 */
#include "ir/args.h"
#include "ir/recurrent_args.h"
#include "rewrite/insert.h"
#include "rewrite/to_edge/decompose.h"

#define MAX_STEPS 512 /* each becomes some 20 nodes */

enum { MOST_STATES = 2 };

struct layers {
    struct nuc_graph *g;
    struct nuc_node *node;
    struct nuc_recurrent r;
};

/* Weights of one cell, transposed: [I, gates * H], [O, gates * H], [H, O]; NULL what there is not. */
struct cell {
    struct nuc_node *w_ih, *w_hh, *b_ih, *b_hh, *w_hr;
};

/* Hidden state [N, O] and cell state [N, H]. */
struct state {
    struct nuc_node *h, *c;
};

static struct nuc_node *insert_dense(const struct layers *u, struct nuc_node *rows, struct nuc_node *weight,
                                     struct nuc_node *bias)
{
    if (bias == NULL)
        return nuc_insert_binary(u->g, u->node, NUC_OP_MM, rows, weight);
    return nuc_insert_addmm(u->g, u->node, bias, rows, weight);
}

/* Rows of one gate, of [N, gates * H]. */
static struct nuc_node *gate(const struct layers *u, struct nuc_node *gates, int64_t index)
{
    return nuc_insert_slice(u->g, u->node, gates, 1, index * u->r.hidden, (index + 1) * u->r.hidden);
}

static void insert_step(const struct layers *u, const struct cell *c, struct nuc_node *i, struct state *s)
{
    struct nuc_node *k = insert_dense(u, s->h, c->w_hh, c->b_hh);

    if (u->r.op == NUC_OP_GRU) {
        struct nuc_graph *g = u->g;
        struct nuc_node *at = u->node;
        struct nuc_node *r = gate(u, k, 0);
        r = nuc_insert_binary(g, at, NUC_OP_ADD, gate(u, i, 0), r);
        struct nuc_node *z = gate(u, k, 1);
        z = nuc_insert_binary(g, at, NUC_OP_ADD, gate(u, i, 1), z);
        r = nuc_insert_unary(g, at, NUC_OP_SIGMOID, r);
        z = nuc_insert_unary(g, at, NUC_OP_SIGMOID, z);
        struct nuc_node *n = nuc_insert_binary(g, at, NUC_OP_MUL, r, gate(u, k, 2));
        n = nuc_insert_unary(g, at, NUC_OP_TANH, nuc_insert_binary(g, at, NUC_OP_ADD, gate(u, i, 2), n));
        struct nuc_node *kept = nuc_insert_binary(g, at, NUC_OP_MUL, nuc_insert_binary(g, at, NUC_OP_SUB, s->h, n), z);
        s->h = nuc_insert_binary(g, at, NUC_OP_ADD, kept, n);
        return;
    }
    struct nuc_node *sum = nuc_insert_binary(u->g, u->node, NUC_OP_ADD, i, k);
    if (u->r.op == NUC_OP_LSTM) {
        struct nuc_graph *g = u->g;
        struct nuc_node *at = u->node;
        struct nuc_node *in = nuc_insert_unary(g, at, NUC_OP_SIGMOID, gate(u, sum, 0));
        struct nuc_node *forget = nuc_insert_unary(g, at, NUC_OP_SIGMOID, gate(u, sum, 1));
        struct nuc_node *new = nuc_insert_unary(g, at, NUC_OP_TANH, gate(u, sum, 2));
        struct nuc_node *out = nuc_insert_unary(g, at, NUC_OP_SIGMOID, gate(u, sum, 3));
        struct nuc_node *kept = nuc_insert_binary(g, at, NUC_OP_MUL, forget, s->c);
        s->c = nuc_insert_binary(g, at, NUC_OP_ADD, kept, nuc_insert_binary(g, at, NUC_OP_MUL, in, new));
        s->h = nuc_insert_binary(g, at, NUC_OP_MUL, out, nuc_insert_unary(g, at, NUC_OP_TANH, s->c));
        if (c->w_hr != NULL)
            s->h = nuc_insert_binary(g, at, NUC_OP_MM, s->h, c->w_hr);
    } else {
        s->h = nuc_insert_unary(u->g, u->node, u->r.op == NUC_OP_RNN_TANH ? NUC_OP_TANH : NUC_OP_RELU, sum);
    }
}

static struct nuc_node *as_state(const struct layers *u, struct nuc_node *value, int64_t columns)
{
    const int64_t sizes[3] = {1, u->r.batch, columns};

    return value == NULL ? NULL : nuc_insert_view(u->g, u->node, value, sizes, 3);
}

/* One direction of a layer over x [T, N, F]: returns [T, N, O], and in *s the final states as [1, N, ...]. */
static struct nuc_node *insert_direction(const struct layers *u, const struct cell *c, struct nuc_node *x,
                                         struct state *s, bool backwards)
{
    struct nuc_graph *g = u->g;
    int64_t steps = u->r.steps, batch = u->r.batch;
    const int64_t flat[2] = {steps * batch, x->vals[0].sizes[2]}, row[2] = {batch, u->r.gates * u->r.hidden};
    struct nuc_node *gates = insert_dense(u, nuc_insert_reshape(g, u->node, x, flat, 2), c->w_ih, c->b_ih);
    struct nuc_node **y = nuc_alloc_array(g->cx, (size_t)steps, sizeof *y), *last = NULL;

    for (int64_t i = 0; i < steps; i++) {
        int64_t t = backwards ? steps - 1 - i : i;
        struct nuc_node *at_t = nuc_insert_slice(g, u->node, gates, 0, t * batch, (t + 1) * batch);
        insert_step(u, c, nuc_insert_view(g, u->node, at_t, row, 2), s);
        last = y[t] = as_state(u, s->h, u->r.outputs);
    }
    *s = (struct state){last, as_state(u, s->c, u->r.hidden)};
    return nuc_insert_cat(g, u->node, y, (uint32_t)steps, 0);
}

static struct nuc_node *transposed(const struct layers *u, struct nuc_node *weight)
{
    const int64_t dims[2] = {1, 0};

    return weight == NULL ? NULL : nuc_insert_permute(u->g, u->node, weight, dims);
}

/* [N, columns] of a cell's initial state. */
static struct nuc_node *initial_state(const struct layers *u, uint32_t state, uint32_t cell)
{
    if (state >= u->r.n_states)
        return NULL;
    struct nuc_node *all = u->r.states[state];
    const int64_t row[2] = {u->r.batch, all->vals[0].sizes[2]};
    return nuc_insert_view(u->g, u->node, nuc_insert_slice(u->g, u->node, all, 0, cell, cell + 1), row, 2);
}

/* Returns [T, N, D * O]; finals [D * layers] get the final states. */
static struct nuc_node *insert_layers(const struct layers *u, struct nuc_node *x, struct state *finals)
{
    for (uint32_t layer = 0; layer < u->r.layers; layer++) {
        struct nuc_node *y[2] = {NULL, NULL};
        for (uint32_t d = 0; d < u->r.directions; d++) {
            uint32_t i = layer * u->r.directions + d;
            struct nuc_recurrent_cell p = nuc_recurrent_cell(&u->r, i);
            struct nuc_node *w_ih = transposed(u, p.w_ih), *w_hh = transposed(u, p.w_hh);
            struct cell c = {w_ih, w_hh, p.b_ih, p.b_hh, transposed(u, p.w_hr)};
            finals[i].h = initial_state(u, 0, i);
            finals[i].c = initial_state(u, 1, i);
            y[d] = insert_direction(u, &c, x, &finals[i], d == 1);
        }
        x = u->r.directions == 2 ? nuc_insert_cat(u->g, u->node, y, 2, 2) : y[0];
    }
    return x;
}

static void check_training(struct nuc_graph *g, const struct nuc_node *node)
{
    if (nuc_flag(node, NUC_RECURRENT(train)))
        nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: %s is in training mode: export the model after model.eval()", g->file,
                 nuc_node_text(g->cx, node));
}

/* [layers * D, N, ...] of state `state`. */
static struct nuc_node *cat_states(const struct layers *u, const struct state *finals, uint32_t state)
{
    uint32_t count = u->r.layers * u->r.directions;
    struct nuc_node **parts = nuc_alloc_array(u->g->cx, count, sizeof *parts);

    for (uint32_t i = 0; i < count; i++)
        parts[i] = state == 0 ? finals[i].h : finals[i].c;
    return nuc_insert_cat(u->g, u->node, parts, count, 0);
}

/* With batch_first the input is [N, T, I]; torch's own modules give an input without a batch one of 1. */
static struct nuc_node *to_steps(struct nuc_graph *g, struct nuc_node *node)
{
    const int64_t swapped[3] = {1, 0, 2};
    struct layers u = {g, node, nuc_recurrent_of(node)};
    struct nuc_node *x = u.r.input, *parts[MOST_STATES];

    check_training(g, node);
    if (u.r.steps < 1 || u.r.steps > MAX_STEPS)
        nuc_fail(u.g->cx, NUC_UNSUPPORTED, "%s: %s runs over %lld steps, 1 to %d are supported: split the sequence",
                 u.g->file, nuc_node_text(u.g->cx, u.node), (long long)u.r.steps, MAX_STEPS);
    if (u.r.batch_first)
        x = nuc_insert_permute(g, node, x, swapped);
    struct state *finals = nuc_alloc_array(g->cx, (size_t)u.r.layers * u.r.directions, sizeof *finals);
    struct nuc_node *y = insert_layers(&u, x, finals);
    for (uint32_t s = 0; s < u.r.n_states; s++)
        parts[s] = cat_states(&u, finals, s);
    nuc_replace_item(g, node, 0, u.r.batch_first ? nuc_insert_permute(g, node, y, swapped) : y);
    for (uint32_t s = 0; s < u.r.n_states; s++)
        nuc_replace_item(g, node, s + 1, parts[s]);
    return NULL;
}

static struct nuc_node *to_recurrent(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_recurrent r = nuc_recurrent_of(node);

    check_training(g, node);
    if (r.layers > 1 || r.projected)
        return to_steps(g, node);
    struct nuc_node *edge = nuc_to_same(g, node);
    nuc_infer_shape(g, edge);
    return edge;
}

const struct nuc_decomposition nuc_recurrent_decompositions[] = {
    {NUC_OP_GRU, to_recurrent, NUC_OP_GRU, to_steps},
    {NUC_OP_LSTM, to_recurrent, NUC_OP_LSTM, to_steps},
    {NUC_OP_RNN_TANH, to_recurrent, NUC_OP_RNN_TANH, to_steps},
    {NUC_OP_RNN_RELU, to_recurrent, NUC_OP_RNN_RELU, to_steps},
    {.rewrite = NULL},
};
