#include "compiler/layout/layout.h"

/* How the operator's format follows from its neighbours. */
enum format_rule {
    RULE_UNKNOWN,        /* not an operator of the NPU: NONE */
    RULE_CHANNELS_FIRST, /* needs CHANNELS_FIRST on some inputs, which its row names, and gives it */
    RULE_BORDER,         /* input and output formats are independent */
    RULE_REDUCTION,      /* keepdim: any; otherwise a border */
    RULE_PRELU,          /* with a slope for each channel of images channels first, else any */
    RULE_ANY,            /* works in either format, the same on both sides */
};

struct row {
    enum format_rule rule;
    uint32_t cf_inputs; /* bit i: input i (of the tensors the operator reads) is channels first */
};

/* An operator without a row is unknown to the NPU. */
static const struct row rows[NUC_OP_COUNT] = {
    [NUC_OP_PLACEHOLDER] = {RULE_ANY, 0},
    [NUC_OP_OUTPUT] = {RULE_ANY, 0},
    [NUC_OP_GETITEM] = {RULE_ANY, 0},
    [NUC_OP_QUANTIZE_PER_TENSOR] = {RULE_ANY, 0},
    [NUC_OP_DEQUANTIZE_PER_TENSOR] = {RULE_ANY, 0},
    [NUC_OP_DEQUANTIZE_PER_CHANNEL] = {RULE_ANY, 0},
    [NUC_OP_ADAPTIVE_AVG_POOL2D] = {RULE_CHANNELS_FIRST, 1},
    [NUC_OP_NATIVE_ADAPTIVE_AVG_POOL2D] = {RULE_CHANNELS_FIRST, 1},
    [NUC_OP_AVG_POOL2D] = {RULE_CHANNELS_FIRST, 1},
    [NUC_OP_MAX_POOL2D_INDICES] = {RULE_CHANNELS_FIRST, 1},
    [NUC_OP_CONVOLUTION] = {RULE_CHANNELS_FIRST, 1 | 1 << 1},
    [NUC_OP_UPSAMPLE_BILINEAR] = {RULE_CHANNELS_FIRST, 1},
    [NUC_OP_UPSAMPLE_NEAREST] = {RULE_CHANNELS_FIRST, 1},
    [NUC_OP_PRELU] = {RULE_PRELU, 1},
    [NUC_OP_VIEW] = {RULE_BORDER, 0},
    [NUC_OP_PERMUTE] = {RULE_BORDER, 0},
    [NUC_OP_MEAN_DIM] = {RULE_REDUCTION, 0},
    [NUC_OP_AMAX] = {RULE_REDUCTION, 0},
    [NUC_OP_AMIN] = {RULE_REDUCTION, 0},
    [NUC_OP_SUM_DIM] = {RULE_REDUCTION, 0},
    [NUC_OP_ABS] = {RULE_ANY, 0},
    [NUC_OP_BMM] = {RULE_ANY, 0},
    [NUC_OP_CAT] = {RULE_ANY, 0},
    [NUC_OP_CLAMP] = {RULE_ANY, 0},
    [NUC_OP_EXP] = {RULE_ANY, 0},
    [NUC_OP_HARDSWISH] = {RULE_ANY, 0},
    [NUC_OP_LEAKY_RELU] = {RULE_ANY, 0},
    [NUC_OP_LOG] = {RULE_ANY, 0},
    [NUC_OP_MAXIMUM] = {RULE_ANY, 0},
    [NUC_OP_MINIMUM] = {RULE_ANY, 0},
    [NUC_OP_MUL] = {RULE_ANY, 0},
    [NUC_OP_NEG] = {RULE_ANY, 0},
    [NUC_OP_PAD] = {RULE_ANY, 0},
    [NUC_OP_RSQRT] = {RULE_ANY, 0},
    [NUC_OP_SIGMOID] = {RULE_ANY, 0},
    [NUC_OP_SLICE] = {RULE_ANY, 0},
    [NUC_OP_SUB] = {RULE_ANY, 0},
    [NUC_OP_TANH] = {RULE_ANY, 0},
    [NUC_OP_RELU] = {RULE_ANY, 0},
    [NUC_OP_HARDTANH] = {RULE_ANY, 0},
    [NUC_OP_ADD] = {RULE_ANY, 0},
    [NUC_OP_CONSTANT_PAD] = {RULE_ANY, 0},
    [NUC_OP_ADDMM] = {RULE_ANY, 0},
    [NUC_OP_MM] = {RULE_ANY, 0},
    [NUC_OP_NATIVE_SOFTMAX] = {RULE_ANY, 0},
    [NUC_OP_CLONE] = {RULE_ANY, 0},
    [NUC_OP_CLONE_DIM_ORDER] = {RULE_ANY, 0},
};

const char *nuc_format_name(enum nuc_format format)
{
    static const char *const names[] = {
        [NUC_FORMAT_NONE] = "NONE",
        [NUC_FORMATLESS] = "FORMATLESS",
        [NUC_CHANNELS_FIRST] = "CHANNELS_FIRST",
    };

    return (unsigned)format < sizeof names / sizeof names[0] ? names[format] : NULL;
}

/*
 * Nodes to look at (again). CHANNELS_FIRST never goes away, so a node is entered once at the start and once for each
 * neighbour that becomes channels first: the work is linear in the number of edges.
 */
struct inference {
    struct nuc_graph *g;
    struct nuc_node **queue; /* ring of one slot for each node */
    uint32_t capacity, head, count;
    bool *queued; /* by node id */
    bool sdk31;
};

static void enqueue(struct inference *f, struct nuc_node *node)
{
    if (f->queued[node->id])
        return;
    f->queued[node->id] = true;
    f->queue[(f->head + f->count++) % f->capacity] = node;
}

static void become(struct inference *f, struct nuc_node *node, enum nuc_format format)
{
    if (node->format == NUC_CHANNELS_FIRST || (format == NUC_FORMAT_NONE && node->format != NUC_FORMAT_UNSET))
        return;
    node->format = format;
    if (format != NUC_CHANNELS_FIRST)
        return;
    enqueue(f, node);
    for (uint32_t i = 0; i < node->n_users; i++)
        enqueue(f, node->users[i]);
}

/* Of a tuple, and of the output node, the first value counts. */
static uint32_t rank_of(const struct nuc_node *node)
{
    if (node->n_vals > 0)
        return node->vals[0].rank;
    const struct nuc_node *first = NULL;
    if (node->n_args > 0 && node->args[0].kind == NUC_ARG_NODES && node->args[0].count > 0)
        first = node->args[0].u.nodes[0];
    return first != NULL && first->n_vals > 0 ? first->vals[0].rank : 0;
}

typedef void (*input_visitor)(struct inference *f, struct nuc_node *input, uint32_t position, uint32_t argument);

/* Visits the tensors the node reads; `position` counts them. */
static void each_input(struct inference *f, const struct nuc_node *node, input_visitor visit, uint32_t argument)
{
    uint32_t position = 0;

    for (uint32_t i = 0; i < node->n_args; i++) {
        const struct nuc_arg *a = &node->args[i];
        if (a->kind == NUC_ARG_NODE)
            visit(f, a->u.node, position++, argument);
        for (uint32_t k = 0; a->kind == NUC_ARG_NODES && k < a->count; k++) {
            if (a->u.nodes[k] != NULL)
                visit(f, a->u.nodes[k], position++, argument);
        }
    }
}

static void required_input(struct inference *f, struct nuc_node *input, uint32_t position, uint32_t cf_inputs)
{
    bool channels_first = position < 32 && (cf_inputs >> position & 1) != 0;

    become(f, input, channels_first ? NUC_CHANNELS_FIRST : NUC_FORMATLESS);
}

static void any_input(struct inference *f, struct nuc_node *input, uint32_t position, uint32_t channels_first)
{
    (void)position;
    become(f, input, channels_first != 0 && rank_of(input) > 2 ? NUC_CHANNELS_FIRST : NUC_FORMATLESS);
}

static void unknown_input(struct inference *f, struct nuc_node *input, uint32_t position, uint32_t unused)
{
    (void)position;
    (void)unused;
    become(f, input, NUC_FORMAT_NONE);
}

static bool reads_channels_first(const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_args; i++) {
        const struct nuc_arg *a = &node->args[i];
        if (a->kind == NUC_ARG_NODE && a->u.node->format == NUC_CHANNELS_FIRST)
            return true;
        for (uint32_t k = 0; a->kind == NUC_ARG_NODES && k < a->count; k++) {
            if (a->u.nodes[k] != NULL && a->u.nodes[k]->format == NUC_CHANNELS_FIRST)
                return true;
        }
    }
    return false;
}

static void infer_any(struct inference *f, struct nuc_node *node)
{
    if (!node->is_tuple && node->n_vals == 1 && nuc_is_channels_last(&node->vals[0]))
        become(f, node, NUC_CHANNELS_FIRST);
    bool channels_first = node->format == NUC_CHANNELS_FIRST || reads_channels_first(node);
    each_input(f, node, any_input, channels_first);
    become(f, node, channels_first && rank_of(node) > 2 ? NUC_CHANNELS_FIRST : NUC_FORMATLESS);
}

/* The node itself gets its format as an input of its users. */
static void infer_border(struct inference *f, struct nuc_node *node)
{
    if (node->n_users > 0)
        become(f, node->users[0], NUC_FORMATLESS);
    if (nuc_arg_node(node, 0) != NULL)
        become(f, nuc_arg_node(node, 0), NUC_FORMATLESS);
}

/* (self, dim, keepdim, ...) in all of them. */
static bool keeps_dims(const struct nuc_node *node)
{
    return node->n_args > 2 && node->args[2].kind == NUC_ARG_BOOL && node->args[2].u.b;
}

/* (self, weight) */
static bool has_channel_slopes(const struct nuc_node *node)
{
    const struct nuc_node *input = nuc_arg_node(node, 0), *weight = nuc_arg_node(node, 1);

    return input != NULL && weight != NULL && input->vals[0].rank > 2 &&
           !(weight->vals[0].rank == 1 && weight->vals[0].sizes[0] == 1);
}

static void infer_channels_first(struct inference *f, struct nuc_node *node)
{
    each_input(f, node, required_input, rows[node->op].cf_inputs);
    become(f, node, NUC_CHANNELS_FIRST);
}

/* The converter of sdk-3.1 takes a PReLU and a mean in any format, and no other reductions. */
static enum format_rule rule_of(const struct inference *f, const struct nuc_node *node)
{
    enum format_rule rule = rows[node->op].rule;

    if (f->sdk31 && rule == RULE_REDUCTION)
        return node->op == NUC_OP_MEAN_DIM ? RULE_ANY : RULE_UNKNOWN;
    return f->sdk31 && rule == RULE_PRELU ? RULE_ANY : rule;
}

static void infer_node(struct inference *f, struct nuc_node *node)
{
    switch (rule_of(f, node)) {
    case RULE_CHANNELS_FIRST:
        infer_channels_first(f, node);
        break;
    case RULE_PRELU:
        if (has_channel_slopes(node))
            infer_channels_first(f, node);
        else
            infer_any(f, node);
        break;
    case RULE_BORDER:
        infer_border(f, node);
        break;
    case RULE_REDUCTION:
        if (keeps_dims(node))
            infer_any(f, node);
        else
            infer_border(f, node);
        break;
    case RULE_ANY:
        infer_any(f, node);
        break;
    case RULE_UNKNOWN:
        each_input(f, node, unknown_input, 0);
        become(f, node, NUC_FORMAT_NONE);
        break;
    }
}

static void infer_formats(struct nuc_graph *g, bool sdk31)
{
    struct nuc_arena *outer = nuc_push_arena(g->cx);
    struct inference f = {.g = g, .capacity = g->n_nodes, .sdk31 = sdk31};

    f.queue = nuc_alloc_array(g->cx, g->n_nodes, sizeof *f.queue);
    f.queued = nuc_alloc_array(g->cx, g->next_id, sizeof *f.queued);
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        n->format = NUC_FORMAT_UNSET;
        enqueue(&f, n);
    }
    while (f.count > 0) {
        struct nuc_node *node = f.queue[f.head];
        f.head = (f.head + 1) % f.capacity;
        f.count--;
        f.queued[node->id] = false;
        infer_node(&f, node);
    }
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (n->format == NUC_FORMAT_UNSET)
            n->format = NUC_FORMAT_NONE;
    }
    nuc_pop_arena(g->cx, outer);
}

void nuc_infer_formats(struct nuc_graph *g)
{
    infer_formats(g, false);
}

void nuc_infer_formats_sdk31(struct nuc_graph *g)
{
    infer_formats(g, true);
}
