/*
 * Annotation as the CortexMQuantizer of ExecuTorch does it: chains of operators it has kernels for, convolutions first,
 * then cliques of operators that move values, which share the parameters of what they touch. Sources:
 * backends/cortex_m/quantizer, backends/arm/quantizer/arm_quantizer_utils.py.
 */
#include "ir/args.h"
#include "ir/op_list.h"
#include "quantize/annotate_private.h"
#include "quantize/ranges/relevant_range.h"

enum head {
    HEAD_NONE,
    HEAD_CONV,
    HEAD_TRANSPOSED,
    HEAD_LINEAR,
    HEAD_BINARY,
    HEAD_DIV,
    HEAD_SOFTMAX,
    HEAD_TABLE,
    HEAD_AVG_POOL,
    HEAD_MAX_POOL,
    HEAD_BMM
};

/* Which activations may follow in the same chain. */
enum follows { FOLLOWS_NONE, FOLLOWS_CLAMP = 1, FOLLOWS_CLAMP_IN_PLACE = 2, FOLLOWS_HARDSIGMOID = 4 };

#define CLAMPS (FOLLOWS_CLAMP | FOLLOWS_CLAMP_IN_PLACE)

/* What begins a chain, and the activations it takes: bits of enum follows. */
static const struct head_row {
    const enum nuc_op *ops;
    enum head head;
    unsigned takes;
} head_rows[] = {
    {NUC_OPS(NUC_OP_CONV2D), HEAD_CONV, CLAMPS | FOLLOWS_HARDSIGMOID},
    {NUC_OPS(NUC_OP_CONV_TRANSPOSE2D), HEAD_TRANSPOSED, CLAMPS | FOLLOWS_HARDSIGMOID},
    {NUC_OPS(NUC_OP_LINEAR), HEAD_LINEAR, CLAMPS | FOLLOWS_HARDSIGMOID},
    {NUC_OPS(NUC_OP_ADD), HEAD_BINARY, CLAMPS},
    {NUC_OPS(NUC_OP_MUL, NUC_OP_HARDSWISH), HEAD_BINARY, FOLLOWS_NONE},
    {NUC_OPS(NUC_OP_DIV), HEAD_DIV, FOLLOWS_NONE},
    {NUC_OPS(NUC_OP_SOFTMAX), HEAD_SOFTMAX, FOLLOWS_NONE},
    {NUC_OPS(NUC_OP_SIGMOID, NUC_OP_TANH, NUC_OP_SILU, NUC_OP_GELU), HEAD_TABLE, FOLLOWS_NONE},
    {NUC_OPS(NUC_OP_AVG_POOL2D), HEAD_AVG_POOL, FOLLOWS_NONE},
    {NUC_OPS(NUC_OP_MAX_POOL2D, NUC_OP_MAX_POOL2D_INDICES), HEAD_MAX_POOL, FOLLOWS_CLAMP},
    {NUC_OPS(NUC_OP_BMM), HEAD_BMM, FOLLOWS_NONE},
};

static const struct head_row *head_row_of(enum nuc_op op)
{
    static const struct head_row none = {NULL, HEAD_NONE, FOLLOWS_NONE};

    for (size_t i = 0; i < sizeof head_rows / sizeof *head_rows; i++) {
        if (nuc_op_is_in(op, head_rows[i].ops))
            return &head_rows[i];
    }
    return &none;
}

static enum head head_of(const struct nuc_node *node)
{
    return head_row_of(node->op)->head;
}

static const enum nuc_op *const clamps = NUC_OPS(NUC_OP_RELU, NUC_OP_HARDTANH, NUC_OP_CLAMP);

/* One parameter set for all its tensors, that of its neighbours. The reference does not know clamp in place as such. */
static bool shares(const struct nuc_node *node)
{
    if (nuc_op_is_in(node->op, clamps))
        return !(node->in_place && node->op == NUC_OP_CLAMP);
    if (node->op == NUC_OP_SPLIT_SIZES)
        return false;
    return nuc_moves_values(node) ||
           nuc_op_is_in(node->op, NUC_OPS(NUC_OP_MINIMUM, NUC_OP_MAXIMUM, NUC_OP_AMIN, NUC_OP_AMAX, NUC_OP_GETITEM));
}

/* ---- checks ---- */

static bool is_image(const struct nuc_node *node)
{
    const struct nuc_meta *m = &node->vals[0];

    return node->n_vals == 1 && m->rank == 4 &&
           (m->sizes[1] == 1 || (m->sizes[2] == 1 && m->sizes[3] == 1) || nuc_is_channels_last(m));
}

static bool all_ints(const struct nuc_node *node, uint32_t index, int64_t value)
{
    const struct nuc_arg *arg = nuc_arg_at(node, index);

    for (uint32_t i = 0; arg->kind == NUC_ARG_INTS && i < arg->count; i++) {
        if (arg->u.ints[i] != value)
            return false;
    }
    return arg->kind == NUC_ARG_INTS || (arg->kind == NUC_ARG_INT && arg->u.i == value);
}

static bool same_operand_sizes(const struct nuc_node *node)
{
    const struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);

    return a == NULL || b == NULL || a == b || nuc_same_sizes(&a->vals[0], &b->vals[0]);
}

/* One operand holds a value for each channel of the other one. */
static bool broadcasts_channels(const struct nuc_node *node)
{
    const struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);

    if (a == NULL || b == NULL)
        return false;
    const struct nuc_meta *x = &a->vals[0], *y = &b->vals[0];
    return x->rank == 4 && y->rank == 4 && is_image(a) && x->sizes[1] == y->sizes[1] &&
           (nuc_elements(x) == x->sizes[1] || nuc_elements(y) == y->sizes[1]);
}

static bool softmax_fits(const struct nuc_node *node)
{
    uint32_t rank = node->vals[0].rank;

    return nuc_dim(node, NUC_ARG(SOFTMAX, dim), 0, rank) == (is_image(node) ? 1 : (int64_t)rank - 1);
}

static bool is_accepted(const struct nuc_node *node)
{
    switch (head_of(node)) {
    case HEAD_CONV:
        return is_image(node);
    case HEAD_TRANSPOSED:
        return is_image(node) && all_ints(node, NUC_ARG(CONV_TRANSPOSE2D, output_padding), 0) &&
               nuc_integer(node, NUC_ARG(CONV_TRANSPOSE2D, groups), 1) == 1 &&
               all_ints(node, NUC_ARG(CONV_TRANSPOSE2D, dilation), 1);
    case HEAD_BINARY:
        return same_operand_sizes(node) || broadcasts_channels(node);
    case HEAD_DIV:
        return same_operand_sizes(node);
    case HEAD_SOFTMAX:
        return softmax_fits(node);
    case HEAD_AVG_POOL:
        return nuc_arg_at(node, NUC_ARG(AVG_POOL2D, divisor_override))->kind == NUC_ARG_NONE;
    case HEAD_NONE:
        return false;
    case HEAD_LINEAR:
    case HEAD_TABLE:
    case HEAD_MAX_POOL:
    case HEAD_BMM:
        break;
    }
    return true;
}

/* ---- chains ---- */

/* Constants alone are weights and biases. */
static struct nuc_qspec operand_spec(const struct nuc_annotator *a, struct nuc_node *node, const struct nuc_node *arg)
{
    const struct nuc_quant_pattern *p = nuc_pattern_of(NUC_SIDE_CPU, node->op);

    for (uint32_t i = 0; nuc_is_static(arg) && i < NUC_MAX_ANCHORS; i++) {
        if (nuc_anchor_arg(p, node, i) == arg)
            return nuc_anchor_spec(a, NUC_SIDE_CPU, node, i);
    }
    return a->specs[NUC_SIDE_CPU][NUC_SPEC_ACTIVATION];
}

struct chain {
    struct nuc_annotator *a;
    struct nuc_node *node, *before; /* the node before in the chain, or NULL */
};

static void annotate_operands(const struct chain *c)
{
    struct nuc_cursor at = {0, 0};

    for (struct nuc_node *in = nuc_next_input(c->node, &at); in != NULL; in = nuc_next_input(c->node, &at)) {
        struct nuc_qspec spec = operand_spec(c->a, c->node, in);
        if (in != c->before)
            nuc_annotate_input(c->a, c->node, in, &spec);
    }
}

static struct nuc_qspec output_spec(const struct chain *c)
{
    enum head head = head_of(c->node);
    const struct nuc_node *pool = c->before;
    struct nuc_node *input = nuc_arg_node(c->node, NUC_SELF);

    if (head == HEAD_SOFTMAX)
        return c->a->specs[NUC_SIDE_CPU][NUC_SPEC_PROBABILITY];
    if ((head == HEAD_AVG_POOL || head == HEAD_MAX_POOL) && input != NULL)
        return (struct nuc_qspec){.kind = NUC_QSPEC_SHARED, .from = {{input, c->node}}};
    if (pool != NULL && head_of(pool) == HEAD_MAX_POOL && nuc_arg_node(pool, NUC_SELF) != NULL)
        return (struct nuc_qspec){.kind = NUC_QSPEC_SHARED, .from = {{nuc_arg_node(pool, NUC_SELF), NULL}}};
    return c->a->specs[NUC_SIDE_CPU][NUC_SPEC_ACTIVATION];
}

static struct nuc_node *follower(const struct nuc_annotator *a, const struct nuc_node *node)
{
    struct nuc_node *next = node->n_users == 1 ? node->users[0] : NULL;

    /* An activation that the chain of `node` takes; an addition in place takes none. */
    if (next == NULL || next != node->next || a->by_id[next->id] != NULL)
        return NULL;
    unsigned takes = node->in_place ? FOLLOWS_NONE : head_row_of(node->op)->takes, is = FOLLOWS_NONE;
    if (nuc_op_is_in(next->op, clamps))
        is = next->in_place ? FOLLOWS_CLAMP_IN_PLACE : FOLLOWS_CLAMP;
    else if (next->op == NUC_OP_HARDSIGMOID)
        is = FOLLOWS_HARDSIGMOID;
    if ((takes & is) == 0)
        return NULL;
    return head_of(node) == HEAD_CONV && !is_image(next) ? NULL : next;
}

static void annotate_chain(struct nuc_annotator *a, struct nuc_node *node)
{
    struct nuc_node *next = follower(a, node);
    struct chain c = {a, node, NULL};

    annotate_operands(&c);
    if (next != NULL) {
        c = (struct chain){a, next, node};
        nuc_annotate_output(a, next, &(struct nuc_qspec){.kind = NUC_QSPEC_NONE});
    }
    struct nuc_qspec output = output_spec(&c);
    nuc_annotate_output(a, c.node, &output);
}

/* ---- cliques ---- */

struct clique {
    struct nuc_annotator *a;
    struct nuc_node **members;
    uint32_t n_members;
    bool *in; /* by node id */
    const struct nuc_qspec *found;
    struct nuc_node *at;
};

static void join(struct clique *c, struct nuc_node *node)
{
    if (!shares(node) || c->in[node->id] || c->a->by_id[node->id] != NULL)
        return;
    c->in[node->id] = true;
    c->members[c->n_members++] = node;
}

static void look_at_user(struct clique *c, struct nuc_node *user)
{
    const struct nuc_annotation *at = c->a->by_id[user->id];

    join(c, user);
    for (uint32_t i = 0; c->found == NULL && at != NULL && i < at->n_inputs; i++) {
        if (at->inputs[i].arg == c->at)
            c->found = &at->inputs[i].spec;
    }
}

static struct nuc_node *first_member(const struct clique *c)
{
    for (struct nuc_node *n = c->a->g->first; n != NULL; n = n->next) {
        if (c->in[n->id])
            return n;
    }
    return NULL;
}

static struct nuc_node *first_quantizable_input(const struct nuc_node *node)
{
    struct nuc_cursor at = {0, 0};
    struct nuc_node *in = nuc_next_input(node, &at);

    while (in != NULL && !nuc_is_quantizable(in))
        in = nuc_next_input(node, &at);
    return in;
}

static void annotate_clique(struct clique *c)
{
    struct nuc_node *root = first_member(c);
    struct nuc_node *input = root == NULL ? NULL : first_quantizable_input(root);

    if (c->found == NULL || input == NULL)
        return;
    struct nuc_qspec found = *c->found;
    struct nuc_qspec shared = {.kind = NUC_QSPEC_SHARED, .from = {{input, root}}};
    for (uint32_t i = 0; i < c->n_members; i++) {
        struct nuc_node *n = c->members[i];
        struct nuc_cursor at = {0, 0};
        for (struct nuc_node *in = nuc_next_input(n, &at); in != NULL; in = nuc_next_input(n, &at))
            nuc_annotate_input(c->a, n, in, &shared);
        if (n->n_users > 0)
            nuc_annotate_output(c->a, n, &shared);
    }
    nuc_annotate_input(c->a, root, input, &found);
}

/* ---- the graph ---- */

static bool is_convolution(const struct nuc_node *node)
{
    return head_of(node) == HEAD_CONV || head_of(node) == HEAD_TRANSPOSED;
}

void nuc_annotate_as_cortexm(struct nuc_annotator *a)
{
    for (int round = 0; round < 2; round++) {
        for (struct nuc_node *n = a->g->first; n != NULL; n = n->next) {
            if (is_convolution(n) == (round == 0) && a->by_id[n->id] == NULL && is_accepted(n))
                annotate_chain(a, n);
        }
    }
    struct nuc_node *output = nuc_output_node(a->g);
    const struct nuc_qspec *activation = &a->specs[NUC_SIDE_CPU][NUC_SPEC_ACTIVATION];
    for (struct nuc_node *n = a->g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        if (n->input_kind == NUC_USER_INPUT && n->n_users > 0 && a->by_id[n->id] == NULL)
            nuc_annotate_output(a, n, activation);
    }
    if (output != NULL)
        annotate_operands(&(struct chain){a, output, NULL});
    for (struct nuc_node *n = a->g->first; n != NULL; n = n->next) {
        if (shares(n) && a->by_id[n->id] == NULL) {
            struct clique c = {.a = a};
            c.members = nuc_alloc_array(a->g->cx, a->g->n_nodes, sizeof(struct nuc_node *));
            c.in = nuc_alloc_array(a->g->cx, a->g->next_id, sizeof *c.in);
            join(&c, n);
            for (uint32_t i = 0; i < c.n_members; i++) {
                c.at = c.members[i];
                struct nuc_cursor at = {0, 0};
                for (struct nuc_node *in = nuc_next_input(c.at, &at); in != NULL; in = nuc_next_input(c.at, &at)) {
                    const struct nuc_annotation *made = c.a->by_id[in->id];
                    join(&c, in);
                    if (c.found == NULL && made != NULL && made->output.kind != NUC_QSPEC_NONE)
                        c.found = &made->output;
                }
                for (uint32_t k = 0; k < c.at->n_users; k++)
                    look_at_user(&c, c.at->users[k]);
            }
            annotate_clique(&c);
        }
    }
}
