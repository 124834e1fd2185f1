/*
 * Cells of recurrent layers that a model writes out, as loops in Python and decomposed archives have them: gates are
 * rows of linear layers of the input and of the state, added up or of both in a row. Each cell becomes a layer of one
 * step. Where the linear layer of the inputs of all steps is one, a step reads its part of these inputs, so that cells
 * in a row become one layer.
 */
#include <string.h>

#include "ir/args.h"
#include "ir/recurrent_args.h"
#include "rewrite/insert.h"
#include "rewrite/pass_list.h"
#include "rewrite/recognize/written.h"

enum { MOST_GATES = 4, MOST_PARAMS = 5, INPUT = 0, STATE = 1 };

/* Rows of a bias: the first of the gate's. */
struct bias {
    struct nuc_node *of;
    int64_t at;
};

/* What cells have to share to be of one layer: rows of a weight, from column `column` on, and biases. */
struct rows {
    struct nuc_node *weight;
    int64_t at, column, columns;
    bool is_turned;        /* rows are the columns of the weight */
    struct bias biases[2]; /* of the linear layer, and added behind it */
    double added;          /* number, in place of the second bias */
};

/* A part of the results of a linear layer: of one step, where `step` slices them. */
struct part {
    struct nuc_node *linear, *step;
    struct nuc_node *input; /* of the linear layer, or what its operand concatenates */
    struct rows rows;
    bool turned; /* steps are counted from the last one */
};

/* A gate adds up a part of each layer. */
struct gate {
    struct part parts[2];
    uint32_t count;
    bool splits; /* what a linear layer reads in a row are parts */
    int64_t elements;
};

/* Parameters of layers that have been written, which other cells of the same rows share. */
struct known {
    struct known *next;
    enum nuc_op op;
    const struct nuc_node *projection;
    struct rows rows[MOST_GATES][2];
    struct nuc_node *params[MOST_PARAMS];
    uint32_t count;
};

struct cell {
    struct nuc_graph *g;
    enum nuc_op op;
    struct nuc_node *h, *c;      /* what it computes; c is NULL without a cell state */
    struct nuc_node *from, *old; /* the hidden state, where it is known, and the cell state that it goes on from */
    struct nuc_node *projected;  /* the linear layer of h that the next cell goes on from */
    struct gate gates[MOST_GATES];
    int64_t hidden, batch;
    struct known **known;
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
    return node->op == NUC_OP_ADD && nuc_has_plain_alpha(node) && is_float(nuc_arg_node(node, NUC_SELF)) &&
           is_float(nuc_arg_node(node, NUC_OTHER));
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

static bool is_parameter(const struct nuc_node *node, uint32_t rank)
{
    return nuc_is_static_float(node) && node->vals[0].rank == rank;
}

/* A linear layer, or a product with a parameter [inputs, outputs]. */
static bool is_linear(const struct nuc_node *node)
{
    return node->op == NUC_OP_LINEAR ||
           ((node->op == NUC_OP_MM || node->op == NUC_OP_MATMUL) && is_parameter(nuc_arg_node(node, NUC_OTHER), 2));
}

/* What stands side by side in the operand of a linear layer; 1: the operand itself. */
static uint32_t inputs_of(struct nuc_graph *g, const struct nuc_node *linear, struct nuc_node *inputs[2])
{
    struct nuc_node *x = nuc_operand(g, linear, NUC_SELF), *cat = nuc_behind_views(x);
    const struct nuc_arg *list = &cat->args[NUC_SELF];

    inputs[0] = x;
    if (cat->op != NUC_OP_CAT || list->count != 2 || last_size(cat) != last_size(x) ||
        nuc_dim(cat, NUC_ARG(CAT, dim), 0, cat->vals[0].rank) + 1 != cat->vals[0].rank)
        return 1;
    memcpy(inputs, list->u.nodes, 2 * sizeof *inputs);
    return 2;
}

static bool read_linear(struct nuc_graph *g, struct nuc_node *linear, struct part p, struct gate *out)
{
    struct nuc_node *weight = nuc_operand(g, linear, NUC_OTHER), *inputs[2];
    struct nuc_node *bias = linear->op == NUC_OP_LINEAR ? nuc_arg_node(linear, NUC_ARG(LINEAR, bias)) : NULL;
    uint32_t count = inputs_of(g, linear, inputs);

    if (!out->splits || p.step != NULL) {
        inputs[0] = nuc_operand(g, linear, NUC_SELF);
        count = 1;
    }
    if (out->count + count > 2 || !is_parameter(weight, 2) || (bias != NULL && !is_parameter(bias, 1)))
        return false;
    p.linear = linear;
    p.rows.weight = weight;
    p.rows.is_turned = linear->op != NUC_OP_LINEAR;
    if (bias != NULL)
        p.rows.biases[0] = (struct bias){bias, p.rows.at};
    for (uint32_t i = 0; i < count; i++) {
        p.input = inputs[i];
        p.rows.columns = last_size(inputs[i]);
        out->parts[out->count++] = p;
        p.rows.column += p.rows.columns;
        memset(p.rows.biases, 0, sizeof p.rows.biases);
        p.rows.added = 0;
    }
    return true;
}

/* Value `index` of a chunk or split along the last dimension; *at moves on by what is in front of it. */
static struct nuc_node *chunked(const struct nuc_node *value, int64_t *at)
{
    const struct nuc_node *list = value->op == NUC_OP_GETITEM ? nuc_arg_node(value, NUC_SELF) : NULL;
    int64_t index = list != NULL ? nuc_integer(value, NUC_ARG(GETITEM, index), -1) : -1;

    if (index < 0 || list->op != NUC_OP_CHUNK ||
        nuc_dim(list, NUC_ARG(CHUNK, dim), 0, list->vals[0].rank) + 1 != list->vals[0].rank)
        return NULL;
    for (int64_t i = 0; i < index; i++)
        *at += list->vals[i].sizes[list->vals[i].rank - 1];
    return nuc_arg_node(list, NUC_SELF);
}

static bool read_gate(struct nuc_graph *g, struct nuc_node *value, struct part p, struct gate *out)
{
    while (is_float(value)) {
        struct nuc_node *input = chunked(value, &p.rows.at);
        if (input != NULL) {
            value = input;
            continue;
        }
        input = nuc_arg_node(value, NUC_SELF);
        bool views = nuc_op_family(value->op) == NUC_FAMILY_VIEW || nuc_is_plain_copy(value);
        double number;
        /* As the 1 that keeps a gate open while it is trained. */
        if (p.rows.biases[1].of == NULL && is_sum(value) && nuc_number_of(g, nuc_arg_node(value, NUC_OTHER), &number)) {
            p.rows.added += number;
            value = input;
            continue;
        }
        if (is_linear(value) || is_sum(value) || !is_float(input))
            break;
        if (value->op == NUC_OP_SLICE && nuc_integer(value, NUC_ARG(SLICE, step), 1) == 1) {
            const struct nuc_meta *m = &input->vals[0];
            uint32_t dim = (uint32_t)nuc_dim(value, NUC_ARG(SLICE, dim), 0, m->rank);
            if (dim + 1 == m->rank)
                p.rows.at += nuc_slice_end(nuc_integer(value, NUC_ARG(SLICE, start), 0), m->sizes[dim]);
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
    if (is_sum(value)) {
        struct nuc_node *a = nuc_operand(g, value, NUC_SELF), *b = nuc_operand(g, value, NUC_OTHER);
        if (p.rows.biases[1].of == NULL && p.rows.added == 0 && nuc_is_static(b) && b->vals[0].rank == 1 &&
            nuc_elements(&b->vals[0]) == last_size(value)) {
            p.rows.biases[1] = (struct bias){b, p.rows.at};
            return read_gate(g, a, p, out);
        }
        struct part rest = p;
        rest.rows.biases[1].of = NULL;
        rest.rows.added = 0;
        return nuc_elements(&a->vals[0]) == nuc_elements(&b->vals[0]) && read_gate(g, a, p, out) &&
               read_gate(g, b, rest, out);
    }
    return is_linear(value) && read_linear(g, value, p, out);
}

/* What a function is of, and where a gate is in it: a function may be computed for several gates at once. */
struct argument {
    struct nuc_node *of;
    int64_t at, elements;
};

static bool is_gate(struct nuc_graph *g, struct argument a, uint32_t count, struct gate *out)
{
    const struct part p = {.rows.at = a.at};

    if (a.of == NULL)
        return false;
    *out = (struct gate){.elements = a.elements};
    if (read_gate(g, a.of, p, out) && out->count == count)
        return true;
    *out = (struct gate){.elements = a.elements, .splits = true};
    return count == 2 && read_gate(g, a.of, p, out) && out->count == count;
}

/* ---- what is computed of the gates ---- */

static struct argument whole(struct nuc_node *value)
{
    return (struct argument){value, 0, value == NULL ? 0 : nuc_elements(&value->vals[0])};
}

/* The operand of a function; `of` is NULL where the node is nothing such. */
static struct argument argument(struct nuc_node *node, enum nuc_op op)
{
    struct argument a = whole(node);

    for (struct nuc_node *next; a.of != NULL && a.of->op != op; a.of = next) {
        next = chunked(a.of, &a.at);
        if (next == NULL && a.of->op == NUC_OP_SLICE && nuc_integer(a.of, NUC_ARG(SLICE, step), 1) == 1) {
            const struct nuc_node *input = nuc_arg_node(a.of, NUC_SELF);
            uint32_t dim = input == NULL ? 0 : (uint32_t)nuc_dim(a.of, NUC_ARG(SLICE, dim), 0, input->vals[0].rank);
            if (input == NULL || dim + 1 != input->vals[0].rank)
                return (struct argument){NULL, 0, 0};
            a.at += nuc_slice_end(nuc_integer(a.of, NUC_ARG(SLICE, start), 0), input->vals[0].sizes[dim]);
            next = nuc_arg_node(a.of, NUC_SELF);
        }
    }
    if (a.of != NULL)
        a.of = nuc_arg_node(a.of, NUC_SELF);
    return a;
}

/* A product or sum of op(x) and another value, in either order, from order `from` on. */
static bool has_function(const struct nuc_node *node, enum nuc_op op, uint32_t from, struct argument *x,
                         struct nuc_node **other)
{
    for (uint32_t i = from; i < 2; i++) {
        struct nuc_node *value = operand(node, i);
        *other = operand(node, 1 - i);
        *x = argument(value, op);
        if (x->of != NULL && *other != NULL)
            return true;
    }
    return false;
}

/* sigmoid(o) tanh(c) of c = sigmoid(f) c' + sigmoid(i) tanh(g) */
static bool is_lstm(struct nuc_node *h, struct cell *out)
{
    struct argument o, f, i;
    struct nuc_node *tanh;

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
        const struct argument gates[] = {i, f, whole(nuc_arg_node(tanh, NUC_SELF)), o};
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
static struct nuc_node *mixed(struct nuc_graph *g, const struct nuc_node *h, struct nuc_node **from, struct argument *z)
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
    struct argument z, r;
    struct nuc_node *j, *n = is_sum(h) ? mixed(out->g, h, &out->from, &z) : NULL;
    struct nuc_node *sum = n != NULL && n->op == NUC_OP_TANH ? operand(n, NUC_SELF) : NULL;
    struct gate of_state;

    if (sum == NULL || !is_sum(sum))
        return false;
    out->op = NUC_OP_GRU;
    out->h = h;
    out->c = NULL;
    for (uint32_t k = 0; k < 2; k++) {
        const struct nuc_node *product = value_of(out->g, sum, k);
        for (uint32_t i = 0; product->op == NUC_OP_MUL && i < 2; i++) {
            struct gate *last = &out->gates[2];
            if (!has_function(product, NUC_OP_SIGMOID, i, &r, &j) || !is_gate(out->g, whole(j), 1, &of_state) ||
                !is_gate(out->g, whole(nuc_arg_node(sum, 1 - k)), 1, last) || !is_gate(out->g, r, 2, &out->gates[0]) ||
                !is_gate(out->g, z, 2, &out->gates[1]))
                continue;
            last->parts[last->count++] = of_state.parts[0];
            return true;
        }
    }
    return false;
}

/* tanh or relu of the sum */
static bool is_rnn(struct nuc_node *h, struct cell *out)
{
    if (h->op != NUC_OP_TANH && h->op != NUC_OP_RELU)
        return false;
    out->op = h->op == NUC_OP_TANH ? NUC_OP_RNN_TANH : NUC_OP_RNN_RELU;
    out->h = h;
    return is_gate(out->g, whole(nuc_arg_node(h, NUC_SELF)), 2, &out->gates[0]);
}

/* ---- the two layers ---- */

/* Where a step is in what it is sliced from; 0 of a value that is not sliced. */
static int64_t place_of(struct nuc_graph *g, const struct part *p)
{
    uint32_t dim;

    if (p->step == NULL)
        return 0;
    const struct nuc_meta *m = steps_of(g, p, &dim);
    int64_t start = nuc_slice_end(nuc_integer(p->step, NUC_ARG(SLICE, start), 0), m->sizes[dim]);
    return p->turned ? m->sizes[dim] - 1 - start : start;
}

/* Also a part that is taken twice. */
static bool is_same_value(struct nuc_graph *g, struct nuc_node *a, struct nuc_node *b)
{
    const struct part p = {.step = a}, q = {.step = b};
    uint32_t i, k;

    if (a == b || a->op != NUC_OP_SLICE || b->op != NUC_OP_SLICE || !nuc_same_sizes(&a->vals[0], &b->vals[0]))
        return a == b;
    return steps_of(g, &p, &i) != NULL && steps_of(g, &q, &k) != NULL && i == k && place_of(g, &p) == place_of(g, &q) &&
           nuc_arg_node(a, NUC_SELF) == nuc_arg_node(b, NUC_SELF) && nuc_integer(a, NUC_ARG(SLICE, step), 1) == 1 &&
           nuc_integer(b, NUC_ARG(SLICE, step), 1) == 1;
}

static bool reads_same(struct nuc_graph *g, const struct part *a, const struct part *b)
{
    return is_same_value(g, nuc_behind_views(a->input), nuc_behind_views(b->input)) &&
           (a->step == NULL) == (b->step == NULL) && place_of(g, a) == place_of(g, b);
}

/* A part has rows for the gate, and is computed for `batch` rows of each step. */
static bool is_layer(const struct cell *c, const struct part *p)
{
    const struct rows *r = &p->rows;
    int64_t rows = nuc_elements(&p->linear->vals[0]) / last_size(p->linear);

    if (p->step != NULL) {
        uint32_t dim;
        const struct nuc_meta *m = steps_of(c->g, p, &dim);
        rows /= m->sizes[dim];
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (r->biases[i].of != NULL && r->biases[i].at + c->hidden > last_size(r->biases[i].of))
            return false;
    }
    return rows == c->batch && r->at + c->hidden <= r->weight->vals[0].sizes[r->is_turned ? 1 : 0] &&
           nuc_elements(&p->input->vals[0]) / last_size(p->input) ==
               nuc_elements(&p->linear->vals[0]) / last_size(p->linear);
}

/* Parts of all gates read the same two values, which stand in the same order in each. */
static bool settle(struct cell *c, uint32_t gates)
{
    const struct part *whole = c->gates[gates - 1].parts;

    for (uint32_t k = 0; k < gates; k++) {
        struct part *p = c->gates[k].parts;
        if (!reads_same(c->g, &p[0], &whole[0])) {
            const struct part swapped = p[0];
            p[0] = p[1];
            p[1] = swapped;
        }
        for (uint32_t i = 0; i < 2; i++) {
            if (!reads_same(c->g, &p[i], &whole[i]) || p[i].rows.columns != whole[i].rows.columns ||
                !is_layer(c, &p[i]))
                return false;
        }
        if (c->gates[k].elements != c->batch * c->hidden)
            return false;
    }
    return true;
}

/* How much speaks for a value to be the state: a cell of the kind makes it, or it is what such a cell begins with. */
static int likeness(const struct cell *c, const struct part *p)
{
    const struct nuc_node *input = nuc_behind_views(p->input), *from = nuc_arg_node(input, NUC_SELF);

    if (p->step != NULL)
        return -1;
    if (nuc_is_item(input, 1) && from->op == c->op) {
        /* A layer that is given another weight for its state is the one below. */
        const struct nuc_node *weight = nuc_recurrent_of(from).params[1];
        return nuc_is_static(weight) && weight != p->rows.weight ? 0 : 2;
    }
    return input->op == NUC_OP_GETITEM || input->op == NUC_OP_SLICE || input->op == NUC_OP_ZEROS ||
           input->op == NUC_OP_FULL || nuc_is_static(input);
}

/* The linear layer of the hidden state, all that reads it, whose result is as wide as what the next cell reads. */
static struct nuc_node *projection_of(const struct cell *c, int64_t size)
{
    struct nuc_node *value = c->h;

    while (value->n_users == 1 && nuc_op_family(value->users[0]->op) == NUC_FAMILY_VIEW)
        value = value->users[0];
    struct nuc_node *user = value->n_users == 1 ? value->users[0] : NULL;
    if (user == NULL || user->op != NUC_OP_LINEAR || nuc_arg_node(user, NUC_ARG(LINEAR, bias)) != NULL ||
        nuc_arg_node(user, NUC_ARG(LINEAR, input)) != value || last_size(value) != c->hidden)
        return NULL;
    const struct nuc_node *weight = nuc_arg_node(user, NUC_ARG(LINEAR, weight));
    return is_parameter(weight, 2) && weight->vals[0].sizes[0] == size && size < c->hidden ? user : NULL;
}

/* It may be the layer of the state, which is as wide as the hidden state, or as what that is projected to. */
static bool may_be_state(struct cell *c, const struct part *p)
{
    c->projected = NULL;
    if (p->step != NULL)
        return false;
    if (p->rows.columns == c->hidden)
        return true;
    c->projected = c->op == NUC_OP_LSTM ? projection_of(c, p->rows.columns) : NULL;
    return c->projected != NULL;
}

/* Weights of an LSTM or RNN do not tell which of the two it is: either is right, and one is likelier. */
static bool tell_apart(struct cell *c, uint32_t gates)
{
    const struct part *p = c->gates[0].parts;
    bool swap =
        !may_be_state(c, &p[STATE]) || (may_be_state(c, &p[INPUT]) && likeness(c, &p[INPUT]) > likeness(c, &p[STATE]));

    for (uint32_t k = 0; swap && c->op != NUC_OP_GRU && k < gates; k++) {
        const struct part input = c->gates[k].parts[STATE];
        c->gates[k].parts[STATE] = c->gates[k].parts[INPUT];
        c->gates[k].parts[INPUT] = input;
    }
    return may_be_state(c, &p[STATE]) && (c->from == NULL || nuc_behind_views(p[STATE].input) == c->from);
}

/* A linear layer of the weight reads the value, past views and a concatenation. */
static bool feeds(const struct nuc_node *value, const struct nuc_node *weight, bool joined)
{
    bool found = false;

    for (uint32_t i = 0; i < value->n_users && !found; i++) {
        const struct nuc_node *user = value->users[i];
        bool is_cat = user->op == NUC_OP_CAT;
        if (is_linear(user))
            found = nuc_arg_node(user, NUC_OTHER) == weight;
        else if ((is_cat && !joined) || nuc_op_family(user->op) == NUC_FAMILY_VIEW)
            found = feeds(user, weight, joined || is_cat);
    }
    return found;
}

/* Two layers that are added up in front of a tanh or ReLU recur if they are cells in a row. */
static bool recurs(const struct cell *c)
{
    const struct part *p = &c->gates[0].parts[STATE];
    int like = likeness(c, p);

    return like == 2 || (like == 1 && feeds(c->h, p->rows.weight, false));
}

static bool is_cell(struct nuc_node *node, struct cell *c)
{
    *c = (struct cell){.g = c->g, .known = c->known};
    bool bounded = is_float(node) && (is_lstm(node, c) || is_gru(node, c));
    if (!bounded && (!is_float(node) || !is_rnn(node, c)))
        return false;
    uint32_t gates = nuc_recurrent_gates(c->op);
    c->hidden = last_size(c->h);
    c->batch = nuc_elements(&c->h->vals[0]) / c->hidden;
    return (c->old == NULL || nuc_elements(&c->old->vals[0]) == c->batch * c->hidden) && settle(c, gates) &&
           tell_apart(c, gates) && (bounded || recurs(c));
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

/* ---- its parameters ---- */

/* Rows of tensors for each gate, one below the other; the tensor itself, where they are that. */
static struct nuc_node *stacked(const struct cell *c, const struct bias *rows, struct nuc_node *before)
{
    uint32_t gates = nuc_recurrent_gates(c->op);
    struct nuc_node *parts[MOST_GATES];
    bool whole = rows[0].of->vals[0].sizes[0] == gates * c->hidden;

    for (uint32_t k = 0; k < gates; k++)
        whole = whole && rows[k].of == rows[0].of && rows[k].at == k * c->hidden;
    for (uint32_t k = 0; !whole && k < gates; k++)
        parts[k] = nuc_insert_part(c->g, before, rows[k].of, 0, rows[k].at, rows[k].at + c->hidden);
    return whole ? rows[0].of : gates == 1 ? parts[0] : nuc_insert_cat(c->g, before, parts, gates, 0);
}

static struct nuc_node *weight_of(const struct cell *c, uint32_t layer, struct nuc_node *before)
{
    const int64_t turned[2] = {1, 0};
    struct bias rows[MOST_GATES];

    for (uint32_t k = 0; k < nuc_recurrent_gates(c->op); k++) {
        const struct rows *r = &c->gates[k].parts[layer].rows, *last = &c->gates[k > 0 ? k - 1 : 0].parts[layer].rows;
        rows[k] = (struct bias){r->weight, r->at};
        if (k > 0 && r->weight == last->weight && r->column == last->column && r->is_turned == last->is_turned) {
            rows[k].of = rows[k - 1].of;
            continue;
        }
        if (r->is_turned)
            rows[k].of = nuc_insert_permute(c->g, before, r->weight, turned);
        rows[k].of = nuc_insert_part(c->g, before, rows[k].of, 1, r->column, r->column + r->columns);
    }
    return stacked(c, rows, before);
}

/* Bias `index` of the layer's gates, zeros where there is none; NULL: none of them has it. */
static struct nuc_node *one_bias(const struct cell *c, uint32_t layer, uint32_t index, struct nuc_node *before)
{
    const struct nuc_meta m = nuc_meta_make(NUC_F32, &c->hidden, 1);
    uint32_t gates = nuc_recurrent_gates(c->op);
    struct bias rows[MOST_GATES];
    bool any = false;

    for (uint32_t k = 0; k < gates; k++) {
        const struct rows *r = &c->gates[k].parts[layer].rows;
        rows[k] = r->biases[index];
        if (index == 1 && r->added != 0)
            rows[k].of = nuc_insert_filled(c->g, before, &m, r->added);
        any = any || rows[k].of != NULL;
    }
    for (uint32_t k = 0; any && k < gates; k++)
        rows[k].of = rows[k].of != NULL ? rows[k].of : nuc_insert_filled(c->g, before, &m, 0);
    return any ? stacked(c, rows, before) : NULL;
}

static struct nuc_node *bias_of(const struct cell *c, uint32_t layer, struct nuc_node *before)
{
    struct nuc_node *own = one_bias(c, layer, 0, before), *added = one_bias(c, layer, 1, before);

    return own != NULL && added != NULL ? nuc_insert_binary(c->g, before, NUC_OP_ADD, own, added)
           : own != NULL                ? own
                                        : added;
}

static bool same_rows(const struct cell *c, const struct known *k)
{
    bool same = true;

    for (uint32_t i = 0; same && i < 2 * nuc_recurrent_gates(c->op); i++) {
        const struct rows *a = &c->gates[i / 2].parts[i % 2].rows, *b = &k->rows[i / 2][i % 2];
        same = a->weight == b->weight && a->is_turned == b->is_turned && a->at == b->at && a->column == b->column &&
               a->columns == b->columns && nuc_numbers_equal(a->added, b->added);
        for (uint32_t n = 0; n < 2; n++)
            same = same && a->biases[n].of == b->biases[n].of && a->biases[n].at == b->biases[n].at;
    }
    return same;
}

static const struct known *params_of(const struct cell *c, struct nuc_node *before)
{
    const struct nuc_node *projection =
        c->projected != NULL ? nuc_arg_node(c->projected, NUC_ARG(LINEAR, weight)) : NULL;
    struct known *k = *c->known;

    while (k != NULL && (k->op != c->op || k->projection != projection || !same_rows(c, k)))
        k = k->next;
    if (k != NULL)
        return k;
    k = nuc_alloc(c->g->cx, sizeof *k);
    *k = (struct known){.next = *c->known, .op = c->op, .projection = projection};
    for (uint32_t i = 0; i < 2 * nuc_recurrent_gates(c->op); i++)
        k->rows[i / 2][i % 2] = c->gates[i / 2].parts[i % 2].rows;
    const int64_t size = nuc_recurrent_gates(c->op) * c->hidden;
    const struct nuc_meta m = nuc_meta_make(NUC_F32, &size, 1);
    struct nuc_node *biases[2];
    for (uint32_t i = 0; i < 2; i++) {
        k->params[k->count++] = weight_of(c, i, before);
        biases[i] = bias_of(c, i, before);
    }
    /* Where one of the layers has a bias, both have. */
    for (uint32_t i = 0; (biases[0] != NULL || biases[1] != NULL) && i < 2; i++)
        k->params[k->count++] = biases[i] != NULL ? biases[i] : nuc_insert_filled(c->g, before, &m, 0);
    if (c->projected != NULL)
        k->params[k->count++] = nuc_operand(c->g, c->projected, NUC_ARG(LINEAR, weight));
    *c->known = k;
    return k;
}

/* ---- the layer ---- */

static struct nuc_node *step_input(const struct cell *c, struct nuc_node *at)
{
    const struct part *p = &c->gates[0].parts[INPUT];
    struct nuc_node *x = p->input;
    const int64_t sizes[3] = {1, c->batch, last_size(x)};

    if (p->step != NULL) {
        uint32_t dim;
        int64_t start = place_of(c->g, p);
        steps_of(c->g, p, &dim);
        x = nuc_insert_slice(c->g, at, inputs_of_steps(c->g, p), dim, start, start + 1);
    }
    return nuc_insert_reshaped(c->g, at, x, sizes, 3);
}

static struct nuc_node *item(const struct cell *c, struct nuc_node *at, struct nuc_node *layer, uint32_t index,
                             const struct nuc_node *like)
{
    struct nuc_node *value = nuc_insert_getitem(c->g, at, layer, index);

    return nuc_insert_reshaped(c->g, at, value, like->vals[0].sizes, like->vals[0].rank);
}

static void write_cell(const struct cell *c)
{
    const struct part *state = &c->gates[0].parts[STATE];
    struct nuc_graph *g = c->g;
    struct nuc_node *at = c->c != NULL ? c->c : c->h; /* all gates but the last one of an LSTM are there */
    struct nuc_node *last = c->projected != NULL ? c->projected : c->h, *states[2] = {NULL};
    const int64_t sizes[3] = {1, c->batch, state->rows.columns}, cell_sizes[3] = {1, c->batch, c->hidden};
    const struct known *k = params_of(c, at);
    struct nuc_node *x = step_input(c, at);

    states[0] = nuc_insert_reshaped(g, at, nuc_behind_views(state->input), sizes, 3);
    if (c->c != NULL)
        states[1] = nuc_insert_reshaped(g, at, c->old, cell_sizes, 3);
    struct nuc_arg list =
        c->c != NULL ? nuc_nodes_arg(nuc_copy(g->cx, states, sizeof states), 2) : nuc_node_arg(states[0]);
    struct nuc_node **params = nuc_copy(g->cx, k->params, sizeof k->params);
    struct nuc_node *layer = nuc_emit(g, at, c->op, c->h,
                                      NUC_ARGS(x, list, nuc_nodes_arg(params, k->count), nuc_bool_arg(k->count >= 4), 1,
                                               ((struct nuc_arg){.kind = NUC_ARG_FLOAT}), nuc_bool_arg(false),
                                               nuc_bool_arg(false), nuc_bool_arg(false)));
    struct nuc_node *h = item(c, at, layer, 1, last), *cell = c->c != NULL ? item(c, at, layer, 2, c->c) : NULL;
    nuc_replace_uses(g, last, h, NULL);
    if (cell != NULL)
        nuc_replace_uses(g, c->c, cell, NULL);
}

bool nuc_written_cells(struct nuc_graph *g)
{
    struct known *known = NULL;
    bool any = false;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        struct cell c = {.g = g, .known = &known};
        if (n->n_users == 0 || !is_cell(n, &c))
            continue;
        write_cell(&c);
        any = true;
    }
    if (any)
        nuc_remove_dead(g);
    return any;
}
