/*
 * Cells of recurrent layers that a model writes out, as decomposed archives have them: gates are parts of the sum of
 * two linear layers, of the input and of the state. Each cell becomes a layer of one step. Where the linear layer of
 * the inputs of all steps is one, a step reads its part of these inputs, so that cells in a row become one layer.
 */
#include "ir/args.h"
#include "ir/recurrent_args.h"
#include "rewrite/insert.h"
#include "rewrite/pass_list.h"
#include "rewrite/recognize/written.h"

enum { MOST_GATES = 4, INPUT = 0, STATE = 1 };

/* A part of the results of a linear layer: of one step, where `step` slices them. */
struct part {
    struct nuc_node *linear, *bias, *step; /* bias: added behind the layer */
    int64_t at;                            /* the first of the features */
    bool turned;                           /* steps are counted from the last one */
};

/* A gate adds up a part of each layer. */
struct gate {
    struct part parts[2];
    uint32_t count;
};

struct cell {
    struct nuc_graph *g;
    enum nuc_op op;
    struct nuc_node *h, *c;      /* what it computes; c is NULL without a cell state */
    struct nuc_node *from, *old; /* the hidden state, where it is known, and the cell state that it goes on from */
    struct gate gates[MOST_GATES];
    int64_t hidden, batch;
};

/* ---- gates ---- */

static struct nuc_node *operand(const struct nuc_node *node, uint32_t index)
{
    struct nuc_node *value = nuc_arg_node(node, index);

    return value == NULL ? NULL : nuc_behind_views(value);
}

/* The same of an operand that has to be a value. */
static struct nuc_node *value_of(struct nuc_graph *g, const struct nuc_node *node, uint32_t index)
{
    return nuc_behind_views(nuc_operand(g, node, index));
}

/* What is sliced to a step, and along which dimension. */
static const struct nuc_meta *steps_of(struct nuc_graph *g, const struct part *p, uint32_t *dim)
{
    const struct nuc_meta *m = &nuc_operand(g, p->step, NUC_SELF)->vals[0];

    *dim = (uint32_t)nuc_dim(p->step, NUC_ARG(SLICE, dim), 0, m->rank);
    return m;
}

static int64_t last_size(const struct nuc_node *node)
{
    const struct nuc_meta *m = &node->vals[0];

    return m->rank == 0 ? 1 : m->sizes[m->rank - 1];
}

static bool is_float(const struct nuc_node *node)
{
    return node != NULL && nuc_is_real_value(node) && node->vals[0].dtype == NUC_F32;
}

static bool is_sum(const struct nuc_node *node)
{
    return node->op == NUC_OP_ADD && nuc_numbers_equal(nuc_scalar(node, NUC_ARG(ADD, alpha), 1), 1) &&
           is_float(nuc_arg_node(node, NUC_SELF)) && is_float(nuc_arg_node(node, NUC_OTHER));
}

static bool is_vector_beside(const struct nuc_node *node, const struct nuc_node *sum)
{
    return nuc_is_static(node) && node->vals[0].rank == 1 && nuc_elements(&node->vals[0]) == last_size(sum);
}

/* What is sliced to a step is a sequence in reverse. */
static bool is_turned(struct nuc_graph *g, const struct nuc_node *value, const struct part *p)
{
    uint32_t dim;

    if (value->op != NUC_OP_FLIP || p->step == NULL || nuc_operand(g, p->step, NUC_SELF) != value)
        return false;
    const struct nuc_meta *m = steps_of(g, p, &dim);
    return nuc_dims_mask(value, NUC_ARG(FLIP, dims), m->rank) == 1U << dim;
}

static bool read_gate(struct nuc_graph *g, struct nuc_node *value, struct part p, struct gate *out);

static bool read_sum(struct nuc_graph *g, struct nuc_node *sum, struct part p, struct gate *out)
{
    struct nuc_node *a = nuc_operand(g, sum, NUC_SELF), *b = nuc_operand(g, sum, NUC_OTHER);

    if (p.bias == NULL && is_vector_beside(b, sum)) {
        p.bias = b;
        return read_gate(g, a, p, out);
    }
    return nuc_elements(&a->vals[0]) == nuc_elements(&b->vals[0]) && read_gate(g, a, p, out) && read_gate(g, b, p, out);
}

static bool read_gate(struct nuc_graph *g, struct nuc_node *value, struct part p, struct gate *out)
{
    while (is_float(value)) {
        struct nuc_node *input = nuc_arg_node(value, NUC_SELF);
        bool views = nuc_op_family(value->op) == NUC_FAMILY_VIEW || nuc_is_plain_copy(value);
        if (value->op == NUC_OP_LINEAR || is_sum(value) || !is_float(input))
            break;
        if (value->op == NUC_OP_SLICE && nuc_integer(value, NUC_ARG(SLICE, step), 1) == 1) {
            const struct nuc_meta *m = &input->vals[0];
            uint32_t dim = (uint32_t)nuc_dim(value, NUC_ARG(SLICE, dim), 0, m->rank);
            if (dim + 1 == m->rank)
                p.at += nuc_slice_end(nuc_integer(value, NUC_ARG(SLICE, start), 0), m->sizes[dim]);
            else if (p.step == NULL && value->vals[0].sizes[dim] == 1)
                p.step = value;
            else
                return false;
        } else if (is_turned(g, value, &p)) {
            p.turned = !p.turned;
        } else if (!views || last_size(value) != last_size(input)) {
            return false;
        }
        value = input;
    }
    if (!is_float(value))
        return false;
    if (is_sum(value))
        return read_sum(g, value, p, out);
    if (value->op != NUC_OP_LINEAR || out->count == 2)
        return false;
    p.linear = value;
    out->parts[out->count++] = p;
    return true;
}

static bool is_gate(struct nuc_graph *g, struct nuc_node *value, uint32_t count, struct gate *out)
{
    out->count = 0;
    return value != NULL && read_gate(g, value, (struct part){.linear = NULL}, out) && out->count == count;
}

/* ---- what is computed of the gates ---- */

/* The operand of a function. */
static struct nuc_node *argument(const struct nuc_node *node, enum nuc_op op)
{
    return node != NULL && node->op == op ? nuc_arg_node(node, NUC_SELF) : NULL;
}

/* A product or sum of op(x) and another value, in either order, from order `from` on. */
static bool has_function(const struct nuc_node *node, enum nuc_op op, uint32_t from, struct nuc_node **x,
                         struct nuc_node **other)
{
    for (uint32_t i = from; i < 2; i++) {
        *x = argument(operand(node, i), op);
        *other = operand(node, 1 - i);
        if (*x != NULL && *other != NULL)
            return true;
    }
    return false;
}

/* sigmoid(o) tanh(c) of c = sigmoid(f) c' + sigmoid(i) tanh(g) */
static bool is_lstm(struct nuc_node *h, struct cell *out)
{
    struct nuc_node *o, *tanh, *f, *i;

    if (h->op != NUC_OP_MUL || !has_function(h, NUC_OP_SIGMOID, 0, &o, &tanh) || tanh->op != NUC_OP_TANH)
        return false;
    out->op = NUC_OP_LSTM;
    out->h = h;
    out->c = operand(tanh, NUC_SELF);
    if (out->c == NULL || !is_sum(out->c))
        return false;
    for (uint32_t k = 0; k < 2; k++) {
        struct nuc_node *kept = value_of(out->g, out->c, k), *added = value_of(out->g, out->c, 1 - k);
        if (kept->op != NUC_OP_MUL || added->op != NUC_OP_MUL || !has_function(added, NUC_OP_SIGMOID, 0, &i, &tanh) ||
            tanh->op != NUC_OP_TANH || !has_function(kept, NUC_OP_SIGMOID, 0, &f, &out->old))
            continue;
        struct nuc_node *const gates[] = {i, f, nuc_arg_node(tanh, NUC_SELF), o};
        bool all = true;
        for (uint32_t n = 0; n < 4 && all; n++)
            all = is_gate(out->g, gates[n], 2, &out->gates[n]);
        if (all)
            return true;
    }
    return false;
}

/* 1 - z */
static bool is_complement(struct nuc_graph *g, struct nuc_node *node, const struct nuc_node *z)
{
    struct nuc_summand terms[NUC_MAX_TERMS];
    double number = 0;

    uint32_t count = nuc_terms_of(g, node, terms);
    for (uint32_t i = 0; i < count; i++) {
        if (terms[i].sign > 0 && nuc_number_of(g, terms[i].value, &number) && nuc_numbers_equal(number, 1))
            return count == 2 && terms[1 - i].sign < 0 && nuc_behind_views(terms[1 - i].value) == z;
    }
    return false;
}

/* (h' - n) z + n, or (1 - z) n + z h': returns n. */
static struct nuc_node *mixed(struct nuc_graph *g, const struct nuc_node *h, struct nuc_node **from,
                              struct nuc_node **z)
{
    struct nuc_node *other;

    for (uint32_t k = 0; k < 2; k++) {
        struct nuc_node *product = value_of(g, h, k), *n = value_of(g, h, 1 - k);
        for (uint32_t i = 0; product->op == NUC_OP_MUL && i < 2; i++) {
            if (!has_function(product, NUC_OP_SIGMOID, i, z, &other))
                continue;
            const struct nuc_node *gate = operand(product, operand(product, 0) == other ? 1 : 0);
            *from = other->op == NUC_OP_SUB ? operand(other, NUC_SELF) : NULL;
            if (*from != NULL && operand(other, NUC_OTHER) == n)
                return n;
            *from = other;
            for (uint32_t m = 0; n->op == NUC_OP_MUL && m < 2; m++) {
                if (is_complement(g, value_of(g, n, m), gate))
                    return value_of(g, n, 1 - m);
            }
        }
    }
    return NULL;
}

/* n = tanh(i + sigmoid(r) j), j of the state */
static bool is_gru(struct nuc_node *h, struct cell *out)
{
    struct nuc_node *z, *r, *j, *n = is_sum(h) ? mixed(out->g, h, &out->from, &z) : NULL;
    struct nuc_node *sum = argument(n, NUC_OP_TANH);
    struct gate of_state;

    sum = sum != NULL ? nuc_behind_views(sum) : NULL;
    if (sum == NULL || !is_sum(sum))
        return false;
    out->op = NUC_OP_GRU;
    out->h = h;
    out->c = NULL;
    for (uint32_t k = 0; k < 2; k++) {
        const struct nuc_node *product = value_of(out->g, sum, k);
        for (uint32_t i = 0; product->op == NUC_OP_MUL && i < 2; i++) {
            struct gate *last = &out->gates[2];
            if (!has_function(product, NUC_OP_SIGMOID, i, &r, &j) || !is_gate(out->g, j, 1, &of_state) ||
                !is_gate(out->g, nuc_arg_node(sum, 1 - k), 1, last) || !is_gate(out->g, r, 2, &out->gates[0]) ||
                !is_gate(out->g, z, 2, &out->gates[1]))
                continue;
            last->parts[last->count++] = of_state.parts[0];
            return true;
        }
    }
    return false;
}

/* ---- the two layers ---- */

static bool is_same_layer(const struct part *a, const struct part *b)
{
    return a->linear == b->linear && a->bias == b->bias && a->step == b->step;
}

/* Rows of gate k are those from k hidden on, in both layers, which stand in the same order in each gate. */
static bool settle(struct cell *c, uint32_t gates)
{
    struct part *whole = c->gates[gates - 1].parts;

    for (uint32_t k = 0; k < gates; k++) {
        struct part *p = c->gates[k].parts;
        if (!is_same_layer(&p[0], &whole[0])) {
            const struct part swapped = p[0];
            p[0] = p[1];
            p[1] = swapped;
        }
        for (uint32_t i = 0; i < 2; i++) {
            if (!is_same_layer(&p[i], &whole[i]) || p[i].at != k * c->hidden)
                return false;
        }
    }
    return true;
}

static bool is_parameter(const struct nuc_node *node, uint32_t rank)
{
    return node != NULL && nuc_is_static(node) && node->vals[0].dtype == NUC_F32 && node->vals[0].rank == rank;
}

/* The layer has rows for each gate and is computed for the steps of `batch` rows. */
static bool is_layer(const struct cell *c, uint32_t gates, const struct part *p)
{
    const struct nuc_node *w = nuc_arg_node(p->linear, NUC_ARG(LINEAR, weight));
    const struct nuc_node *b = nuc_arg_node(p->linear, NUC_ARG(LINEAR, bias));
    int64_t rows = nuc_elements(&p->linear->vals[0]) / last_size(p->linear);

    if (p->step != NULL) {
        uint32_t dim;
        const struct nuc_meta *m = steps_of(c->g, p, &dim);
        rows /= m->sizes[dim];
    }
    return is_parameter(w, 2) && w->vals[0].sizes[0] == gates * c->hidden && rows == c->batch &&
           (b == NULL || (is_parameter(b, 1) && p->bias == NULL));
}

/* It may be the layer of the state. Weights of an LSTM do not tell which of the two it is: either is right. */
static bool may_be_state(const struct cell *c, const struct part *p)
{
    return p->step == NULL && last_size(nuc_operand(c->g, p->linear, NUC_SELF)) == c->hidden;
}

static bool goes_on(struct nuc_graph *g, const struct part *p)
{
    const struct nuc_node *input = value_of(g, p->linear, NUC_SELF);

    return input->op == NUC_OP_GETITEM || input->op == NUC_OP_SLICE || nuc_is_static(input);
}

static bool tell_apart(struct cell *c, uint32_t gates)
{
    struct part *p = c->gates[0].parts;
    bool swap = !may_be_state(c, &p[STATE]) ||
                (may_be_state(c, &p[INPUT]) && goes_on(c->g, &p[INPUT]) && !goes_on(c->g, &p[STATE]));

    for (uint32_t k = 0; swap && c->op == NUC_OP_LSTM && k < gates; k++) {
        const struct part input = c->gates[k].parts[STATE];
        c->gates[k].parts[STATE] = c->gates[k].parts[INPUT];
        c->gates[k].parts[INPUT] = input;
    }
    return may_be_state(c, &p[STATE]) && (c->from == NULL || value_of(c->g, p[STATE].linear, NUC_SELF) == c->from);
}

static bool is_cell(struct nuc_node *node, struct cell *c)
{
    *c = (struct cell){.g = c->g};
    if (!is_float(node) || (!is_lstm(node, c) && !is_gru(node, c)))
        return false;
    uint32_t gates = nuc_recurrent_gates(c->op);
    c->hidden = last_size(c->gates[0].parts[0].linear) / gates;
    c->batch = nuc_elements(&c->h->vals[0]) / c->hidden;
    return (c->old == NULL || nuc_elements(&c->old->vals[0]) == c->batch * c->hidden) && settle(c, gates) &&
           is_layer(c, gates, &c->gates[0].parts[0]) && is_layer(c, gates, &c->gates[0].parts[1]) &&
           tell_apart(c, gates);
}

/* ---- the layer of one step ---- */

/* The inputs of all steps as their results lie: one view for all cells that read them. */
static struct nuc_node *inputs_of_steps(struct nuc_graph *g, const struct part *p)
{
    struct nuc_node *x = value_of(g, p->linear, NUC_SELF);
    struct nuc_meta m = nuc_operand(g, p->step, NUC_SELF)->vals[0];

    m.sizes[m.rank - 1] = last_size(nuc_operand(g, p->linear, NUC_SELF));
    while (x->op == NUC_OP_EXPAND && nuc_elements(&nuc_operand(g, x, NUC_SELF)->vals[0]) == nuc_elements(&m))
        x = value_of(g, x, NUC_SELF);
    for (uint32_t i = 0; i < x->n_users; i++) {
        if (x->users[i]->op == NUC_OP_RESHAPE && nuc_same_sizes(&x->users[i]->vals[0], &m))
            return x->users[i];
    }
    return nuc_insert_reshaped(g, p->linear, x, m.sizes, m.rank);
}

static struct nuc_node *step_input(const struct cell *c, struct nuc_node *at)
{
    const struct part *p = &c->gates[0].parts[INPUT];
    struct nuc_node *x = nuc_operand(c->g, p->linear, NUC_SELF);
    const int64_t sizes[3] = {1, c->batch, last_size(x)};

    if (p->step != NULL) {
        uint32_t dim;
        const struct nuc_meta *m = steps_of(c->g, p, &dim);
        int64_t start = nuc_slice_end(nuc_integer(p->step, NUC_ARG(SLICE, start), 0), m->sizes[dim]);
        start = p->turned ? m->sizes[dim] - 1 - start : start;
        x = nuc_insert_slice(c->g, at, inputs_of_steps(c->g, p), dim, start, start + 1);
    }
    return nuc_insert_reshaped(c->g, at, x, sizes, 3);
}

/* Where one of the layers has a bias, both have: zeros, the same ones for all cells with that weight. */
static struct nuc_node *bias_of(const struct cell *c, uint32_t layer, struct nuc_node *at)
{
    const struct part *p = &c->gates[0].parts[layer];
    struct nuc_node *b = p->bias != NULL ? p->bias : nuc_arg_node(p->linear, NUC_ARG(LINEAR, bias));
    const struct nuc_node *w = nuc_operand(c->g, p->linear, NUC_ARG(LINEAR, weight));
    const int64_t size = last_size(p->linear);
    const struct nuc_meta m = nuc_meta_make(NUC_F32, &size, 1);

    for (uint32_t i = 0; b == NULL && i < w->n_users; i++) {
        if (w->users[i]->op != c->op)
            continue;
        struct nuc_recurrent r = nuc_recurrent_of(w->users[i]);
        if (r.per_cell == 4 && r.params[layer] == w)
            b = r.params[2 + layer];
    }
    return b != NULL ? b : nuc_insert_filled(c->g, at, &m, 0);
}

static struct nuc_node *item(const struct cell *c, struct nuc_node *at, struct nuc_node *layer, uint32_t index,
                             const struct nuc_node *like)
{
    struct nuc_node *value = nuc_insert_getitem(c->g, at, layer, index);

    return nuc_insert_reshaped(c->g, at, value, like->vals[0].sizes, like->vals[0].rank);
}

static void write_cell(const struct cell *c)
{
    const struct part *p = c->gates[0].parts;
    struct nuc_graph *g = c->g;
    struct nuc_node *at = c->c != NULL ? c->c : c->h; /* all gates but the last one of an LSTM are there */
    const int64_t sizes[3] = {1, c->batch, c->hidden};
    struct nuc_node *params[4] = {NULL}, *states[2] = {NULL};
    uint32_t n_states = c->c != NULL ? 2 : 1;
    bool biased[2];

    for (uint32_t i = 0; i < 2; i++) {
        params[i] = nuc_operand(g, p[i].linear, NUC_ARG(LINEAR, weight));
        biased[i] = p[i].bias != NULL || nuc_arg_node(p[i].linear, NUC_ARG(LINEAR, bias)) != NULL;
    }
    bool biases = biased[INPUT] || biased[STATE];
    for (uint32_t i = 0; biases && i < 2; i++)
        params[2 + i] = bias_of(c, i, at);
    struct nuc_node *x = step_input(c, at);
    states[0] = nuc_insert_reshaped(g, at, value_of(g, p[STATE].linear, NUC_SELF), sizes, 3);
    if (n_states == 2)
        states[1] = nuc_insert_reshaped(g, at, c->old, sizes, 3);
    struct nuc_arg list =
        n_states > 1 ? nuc_nodes_arg(nuc_copy(g->cx, states, sizeof states), 2) : nuc_node_arg(states[0]);
    struct nuc_node **all = nuc_copy(g->cx, params, sizeof params);
    struct nuc_node *layer =
        nuc_emit(g, at, c->op, c->h,
                 NUC_ARGS(nuc_node_arg(x), list, nuc_nodes_arg(all, biases ? 4 : 2), nuc_bool_arg(biases),
                          nuc_int_arg(1), (struct nuc_arg){.kind = NUC_ARG_FLOAT}, nuc_bool_arg(false),
                          nuc_bool_arg(false), nuc_bool_arg(false)));
    struct nuc_node *h = item(c, at, layer, 1, c->h), *cell = c->c != NULL ? item(c, at, layer, 2, c->c) : NULL;
    nuc_replace_uses(g, c->h, h, NULL);
    if (cell != NULL)
        nuc_replace_uses(g, c->c, cell, NULL);
}

bool nuc_written_cells(struct nuc_graph *g)
{
    bool any = false;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        struct cell c = {.g = g};
        if ((n->op != NUC_OP_MUL && n->op != NUC_OP_ADD) || n->n_users == 0 || !is_cell(n, &c))
            continue;
        write_cell(&c);
        any = true;
    }
    if (any)
        nuc_remove_dead(g);
    return any;
}
