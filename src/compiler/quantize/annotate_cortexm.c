/*
 * Annotation as the CortexMQuantizer of ExecuTorch does it: chains of operators it has kernels for, convolutions first,
 * then cliques of operators that move values, which share the parameters of what they touch. Sources:
 * backends/cortex_m/quantizer, backends/arm/quantizer/arm_quantizer_utils.py.
 */
#include "compiler/quantize/annotate_private.h"

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

struct row {
    uint8_t head;    /* enum head */
    uint8_t follows; /* bits of enum follows: of a head, what it takes; of an activation, what it is */
    bool shares;     /* one parameter set for all its tensors, that of its neighbours */
};

#define CLAMPS FOLLOWS_CLAMP | FOLLOWS_CLAMP_IN_PLACE

static const struct row rows[NUC_OP_COUNT] = {
    [NUC_OP_CONV2D] = {HEAD_CONV, CLAMPS | FOLLOWS_HARDSIGMOID, false},
    [NUC_OP_CONV_TRANSPOSE2D] = {HEAD_TRANSPOSED, CLAMPS | FOLLOWS_HARDSIGMOID, false},
    [NUC_OP_LINEAR] = {HEAD_LINEAR, CLAMPS | FOLLOWS_HARDSIGMOID, false},
    [NUC_OP_ADD] = {HEAD_BINARY, CLAMPS, false},
    [NUC_OP_MUL] = {HEAD_BINARY, 0, false},
    [NUC_OP_HARDSWISH] = {HEAD_BINARY, 0, false},
    [NUC_OP_DIV] = {HEAD_DIV, 0, false},
    [NUC_OP_SOFTMAX] = {HEAD_SOFTMAX, 0, false},
    [NUC_OP_SIGMOID] = {HEAD_TABLE, 0, false},
    [NUC_OP_TANH] = {HEAD_TABLE, 0, false},
    [NUC_OP_SILU] = {HEAD_TABLE, 0, false},
    [NUC_OP_GELU] = {HEAD_TABLE, 0, false},
    [NUC_OP_AVG_POOL2D] = {HEAD_AVG_POOL, 0, false},
    [NUC_OP_MAX_POOL2D] = {HEAD_MAX_POOL, FOLLOWS_CLAMP, false},
    [NUC_OP_MAX_POOL2D_INDICES] = {HEAD_MAX_POOL, FOLLOWS_CLAMP, false},
    [NUC_OP_BMM] = {HEAD_BMM, 0, false},
    [NUC_OP_RELU] = {HEAD_NONE, FOLLOWS_CLAMP, true},
    [NUC_OP_HARDTANH] = {HEAD_NONE, FOLLOWS_CLAMP, true},
    [NUC_OP_HARDSIGMOID] = {HEAD_NONE, FOLLOWS_HARDSIGMOID, false},
    [NUC_OP_CLAMP] = {HEAD_NONE, FOLLOWS_CLAMP, true},
    [NUC_OP_CLONE] = {.shares = true},
    [NUC_OP_CONTIGUOUS] = {.shares = true},
    [NUC_OP_ALIAS] = {.shares = true},
    [NUC_OP_DROPOUT] = {.shares = true},
    [NUC_OP_MINIMUM] = {.shares = true},
    [NUC_OP_MAXIMUM] = {.shares = true},
    [NUC_OP_AMIN] = {.shares = true},
    [NUC_OP_AMAX] = {.shares = true},
    [NUC_OP_PERMUTE] = {.shares = true},
    [NUC_OP_TRANSPOSE] = {.shares = true},
    [NUC_OP_T] = {.shares = true},
    [NUC_OP_SLICE] = {.shares = true},
    [NUC_OP_SPLIT] = {.shares = true},
    [NUC_OP_SPLIT_WITH_SIZES] = {.shares = true},
    [NUC_OP_CHUNK] = {.shares = true},
    [NUC_OP_CAT] = {.shares = true},
    [NUC_OP_GETITEM] = {.shares = true},
    [NUC_OP_SQUEEZE] = {.shares = true},
    [NUC_OP_SQUEEZE_DIM] = {.shares = true},
    [NUC_OP_SQUEEZE_DIMS] = {.shares = true},
    [NUC_OP_UNSQUEEZE] = {.shares = true},
    [NUC_OP_RESHAPE] = {.shares = true},
    [NUC_OP_VIEW] = {.shares = true},
    [NUC_OP_FLATTEN] = {.shares = true},
    [NUC_OP_PAD] = {.shares = true},
};

/* Whether `next` is an activation that the chain of `node` takes; an addition in place takes none. */
static bool may_follow(const struct nuc_node *node, const struct nuc_node *next)
{
    uint8_t takes = node->in_place ? 0 : rows[node->op].follows, is = rows[next->op].follows;

    if (next->in_place && (is & FOLLOWS_CLAMP) != 0)
        is = FOLLOWS_CLAMP_IN_PLACE;
    return rows[next->op].head == HEAD_NONE && (takes & is) != 0;
}

/* The reference does not know clamp in place as one that shares. */
static bool shares(const struct nuc_node *node)
{
    return rows[node->op].shares && !(node->in_place && node->op == NUC_OP_CLAMP);
}

/* ---- checks ---- */

static bool is_image(const struct nuc_node *node)
{
    const struct nuc_meta *m = &node->vals[0];

    return node->n_vals == 1 && m->rank == 4 &&
           (m->sizes[1] == 1 || (m->sizes[2] == 1 && m->sizes[3] == 1) || nuc_is_channels_last(m));
}

static bool all_ints(const struct nuc_arg *arg, int64_t value)
{
    for (uint32_t i = 0; arg->kind == NUC_ARG_INTS && i < arg->count; i++) {
        if (arg->u.ints[i] != value)
            return false;
    }
    return arg->kind == NUC_ARG_INTS || (arg->kind == NUC_ARG_INT && arg->u.i == value);
}

static bool same_operand_sizes(const struct nuc_node *node)
{
    const struct nuc_node *a = nuc_arg_node(node, 0), *b = nuc_arg_node(node, 1);

    return a == NULL || b == NULL || a == b || nuc_same_sizes(&a->vals[0], &b->vals[0]);
}

/* One operand holds a value for each channel of the other one. */
static bool broadcasts_channels(const struct nuc_node *node)
{
    const struct nuc_node *a = nuc_arg_node(node, 0), *b = nuc_arg_node(node, 1);

    if (a == NULL || b == NULL)
        return false;
    const struct nuc_meta *x = &a->vals[0], *y = &b->vals[0];
    return x->rank == 4 && y->rank == 4 && is_image(a) && x->sizes[1] == y->sizes[1] &&
           (nuc_elements(x) == x->sizes[1] || nuc_elements(y) == y->sizes[1]);
}

static bool softmax_fits(const struct nuc_node *node)
{
    int64_t rank = node->vals[0].rank;
    int64_t dim = node->args[1].u.i < 0 ? node->args[1].u.i + rank : node->args[1].u.i;

    return dim == (is_image(node) ? 1 : rank - 1);
}

static bool is_accepted(const struct nuc_node *node)
{
    switch ((enum head)rows[node->op].head) {
    case HEAD_CONV:
        return is_image(node);
    case HEAD_TRANSPOSED:
        return is_image(node) && all_ints(&node->args[5], 0) && node->args[6].u.i == 1 && all_ints(&node->args[7], 1);
    case HEAD_BINARY:
        return same_operand_sizes(node) || broadcasts_channels(node);
    case HEAD_DIV:
        return same_operand_sizes(node);
    case HEAD_SOFTMAX:
        return softmax_fits(node);
    case HEAD_AVG_POOL:
        return node->args[6].kind == NUC_ARG_NONE;
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

/* Constants read as weight or bias only, which convolutions and linears have in arguments 1 and 2. */
static enum nuc_spec parameter_spec(const struct nuc_node *node, const struct nuc_node *arg)
{
    enum head head = (enum head)rows[node->op].head;
    bool channels = head == HEAD_CONV || head == HEAD_TRANSPOSED;

    if (!nuc_is_static(arg) || (!channels && head != HEAD_LINEAR))
        return NUC_SPEC_ACTIVATION;
    if (nuc_arg_node(node, 1) == arg && head == HEAD_TRANSPOSED)
        return NUC_SPEC_WEIGHT_AXIS_1;
    if (nuc_arg_node(node, 1) == arg)
        return channels ? NUC_SPEC_WEIGHT_AXIS_0 : NUC_SPEC_WEIGHT;
    if (nuc_arg_node(node, 2) == arg)
        return channels ? NUC_SPEC_BIAS_CHANNELS : NUC_SPEC_BIAS;
    return NUC_SPEC_ACTIVATION;
}

struct chain {
    struct nuc_annotator *a;
    struct nuc_node *node, *before; /* the node before in the chain, or NULL */
};

static void annotate_operand(void *user, struct nuc_node *arg)
{
    struct chain *c = user;
    enum nuc_spec kind = parameter_spec(c->node, arg);
    struct nuc_qspec spec = c->a->specs[NUC_SIDE_CPU][kind];

    if (arg == c->before)
        return;
    if (spec.kind == NUC_QSPEC_DERIVED) {
        spec.from[0] = (struct nuc_place){nuc_arg_node(c->node, 0), c->node};
        spec.from[1] = (struct nuc_place){nuc_arg_node(c->node, 1), c->node};
        spec.repeats = 1;
    }
    nuc_annotate_input(c->a, c->node, arg, &spec);
}

static struct nuc_qspec output_spec(const struct chain *c)
{
    enum head head = (enum head)rows[c->node->op].head;
    const struct nuc_node *pool = c->before;
    struct nuc_node *input = nuc_arg_node(c->node, 0);

    if (head == HEAD_SOFTMAX)
        return c->a->specs[NUC_SIDE_CPU][NUC_SPEC_PROBABILITY];
    if ((head == HEAD_AVG_POOL || head == HEAD_MAX_POOL) && input != NULL)
        return (struct nuc_qspec){.kind = NUC_QSPEC_SHARED, .from = {{input, c->node}}};
    if (pool != NULL && rows[pool->op].head == HEAD_MAX_POOL && nuc_arg_node(pool, 0) != NULL)
        return (struct nuc_qspec){.kind = NUC_QSPEC_SHARED, .from = {{nuc_arg_node(pool, 0), NULL}}};
    return c->a->specs[NUC_SIDE_CPU][NUC_SPEC_ACTIVATION];
}

static struct nuc_node *follower(const struct nuc_annotator *a, const struct nuc_node *node)
{
    struct nuc_node *next = node->n_users == 1 ? node->users[0] : NULL;

    if (next == NULL || next != node->next || a->by_id[next->id] != NULL || !may_follow(node, next))
        return NULL;
    return rows[node->op].head == HEAD_CONV && !is_image(next) ? NULL : next;
}

static void annotate_chain(struct nuc_annotator *a, struct nuc_node *node)
{
    struct nuc_node *next = follower(a, node);
    struct chain c = {a, node, NULL};

    nuc_for_each_input(node, annotate_operand, &c);
    if (next != NULL) {
        c = (struct chain){a, next, node};
        nuc_annotate_output(a, next, &(struct nuc_qspec){.kind = NUC_QSPEC_NONE});
    }
    struct nuc_qspec output = output_spec(&c);
    nuc_annotate_output(a, c.node, &output);
}

static void annotate_borders(struct nuc_annotator *a)
{
    struct nuc_node *output = nuc_output_node(a->g);
    const struct nuc_qspec *activation = &a->specs[NUC_SIDE_CPU][NUC_SPEC_ACTIVATION];

    for (struct nuc_node *n = a->g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        if (n->input_kind == NUC_USER_INPUT && n->n_users > 0 && a->by_id[n->id] == NULL)
            nuc_annotate_output(a, n, activation);
    }
    for (uint32_t i = 0; output != NULL && i < output->args[0].count; i++) {
        if (output->args[0].u.nodes[i] != NULL)
            nuc_annotate_input(a, output, output->args[0].u.nodes[i], activation);
    }
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

static void look_at_input(void *user, struct nuc_node *input)
{
    struct clique *c = user;
    const struct nuc_annotation *at = c->a->by_id[input->id];

    join(c, input);
    if (c->found == NULL && at != NULL && at->output.kind != NUC_QSPEC_NONE)
        c->found = &at->output;
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

struct sharing_member {
    struct clique *c;
    struct nuc_node *node;
    struct nuc_qspec shared;
};

static void share_input(void *user, struct nuc_node *input)
{
    struct sharing_member *m = user;

    nuc_annotate_input(m->c->a, m->node, input, &m->shared);
}

static struct nuc_node *first_quantizable_input(const struct nuc_annotator *a, const struct nuc_node *node)
{
    uint32_t count = nuc_inputs(node, NULL, 0);
    struct nuc_node **inputs = nuc_alloc_array(a->g->cx, (size_t)count + 1, sizeof *inputs);

    nuc_inputs(node, inputs, count);
    for (uint32_t i = 0; i < count; i++) {
        if (nuc_is_quantizable(inputs[i]))
            return inputs[i];
    }
    return NULL;
}

static void annotate_clique(struct clique *c)
{
    struct nuc_node *root = first_member(c);
    struct nuc_node *input = root == NULL ? NULL : first_quantizable_input(c->a, root);

    if (c->found == NULL || input == NULL)
        return;
    struct nuc_qspec found = *c->found;
    struct nuc_qspec shared = {.kind = NUC_QSPEC_SHARED, .from = {{input, root}}};
    for (uint32_t i = 0; i < c->n_members; i++) {
        struct sharing_member m = {c, c->members[i], shared};
        nuc_for_each_input(m.node, share_input, &m);
        if (m.node->n_users > 0)
            nuc_annotate_output(c->a, m.node, &shared);
    }
    nuc_annotate_input(c->a, root, input, &found);
}

static void share_around(struct nuc_annotator *a, struct nuc_node *root)
{
    struct clique c = {.a = a};

    c.members = nuc_alloc_array(a->g->cx, a->g->n_nodes, sizeof(struct nuc_node *));
    c.in = nuc_alloc_array(a->g->cx, a->g->next_id, sizeof *c.in);
    join(&c, root);
    for (uint32_t i = 0; i < c.n_members; i++) {
        c.at = c.members[i];
        nuc_for_each_input(c.at, look_at_input, &c);
        for (uint32_t k = 0; k < c.at->n_users; k++)
            look_at_user(&c, c.at->users[k]);
    }
    annotate_clique(&c);
}

/* ---- the graph ---- */

static bool is_convolution(enum nuc_op op)
{
    return rows[op].head == HEAD_CONV || rows[op].head == HEAD_TRANSPOSED;
}

void nuc_annotate_as_cortexm(struct nuc_annotator *a)
{
    for (int round = 0; round < 2; round++) {
        for (struct nuc_node *n = a->g->first; n != NULL; n = n->next) {
            if (is_convolution(n->op) == (round == 0) && a->by_id[n->id] == NULL && is_accepted(n))
                annotate_chain(a, n);
        }
    }
    annotate_borders(a);
    for (struct nuc_node *n = a->g->first; n != NULL; n = n->next) {
        if (shares(n) && a->by_id[n->id] == NULL)
            share_around(a, n);
    }
}
