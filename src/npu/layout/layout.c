#include "npu/layout/layout.h"

#include "ir/args.h"
#include "ir/axis_map.h"
#include "npu/support/support.h"

/* How the operator's format follows from its neighbours. */
enum format_rule {
    RULE_UNKNOWN,        /* not an operator of the NPU: NONE */
    RULE_CHANNELS_FIRST, /* needs CHANNELS_FIRST data, and weights of a convolution, and gives it */
    RULE_BOUNDARY,       /* input and output formats are independent */
    RULE_ANY,            /* works in either format, the same on both sides */
};

/* An operand that is a list by the channels of an image: slopes of a PReLU. */
static bool has_list_by_channel(const struct nuc_node *node)
{
    const struct nuc_meta *list = nuc_input_meta(node, NUC_OTHER);
    struct nuc_axis_map map;

    if (node->vals[0].rank <= 2 || nuc_elements(list) <= 1 || !nuc_axis_map(node, 0, NUC_OTHER, 0, &map))
        return false;
    return nuc_axis_dims(&map) == 1u << 1;
}

/* An operator is known when the newest rules have it, whatever target and flavor. */
static enum format_rule rule_of(const struct nuc_node *node, enum nuc_rule_set rules)
{
    static const struct nuc_flavor newest = {.rules = NUC_RULES_SDK_3_2};
    static const struct nuc_support any = {.flavor = &newest};
    enum nuc_family family = nuc_op_family(node->op);

    if (family == NUC_FAMILY_GRAPH && node->op != NUC_OP_CALL_DELEGATE)
        return RULE_ANY;
    if (family == NUC_FAMILY_QUANT || family == NUC_FAMILY_DEQUANT)
        return node->op == NUC_OP_QUANTIZE_PER_CHANNEL ? RULE_UNKNOWN : RULE_ANY;
    if (nuc_support_row(&any, node->op) == NULL)
        return RULE_UNKNOWN;
    /* The converter of sdk-3.1 takes a mean in any format, and no other reductions. */
    if (family == NUC_FAMILY_REDUCE && rules == NUC_RULES_SDK_3_1)
        return node->op == NUC_OP_MEAN_DIM ? RULE_ANY : RULE_UNKNOWN;
    /* Windows go over images, and dimensions that stay where they are keep their format. */
    struct nuc_axis_map map;
    if (node->n_vals == 0 || !nuc_axis_map(node, 0, NUC_SELF, 0, &map))
        return RULE_ANY;
    if (nuc_has_axis(&map, NUC_AXIS_WINDOW))
        return RULE_CHANNELS_FIRST;
    if (!map.keeps_dims)
        return RULE_BOUNDARY;
    /* The converter of sdk-3.1 takes a PReLU in any format. */
    return rules != NUC_RULES_SDK_3_1 && has_list_by_channel(node) ? RULE_CHANNELS_FIRST : RULE_ANY;
}

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
    enum nuc_rule_set rules;
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
    if (node->format == NUC_CHANNELS_FIRST)
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
    if (nuc_arg_at(node, NUC_SELF)->kind == NUC_ARG_NODES && nuc_arg_at(node, NUC_SELF)->count > 0)
        first = nuc_arg_at(node, NUC_SELF)->u.nodes[0];
    return first != NULL && first->n_vals > 0 ? first->vals[0].rank : 0;
}

/* All tensors the node reads become `format`; those that have no third dimension are never channels first. */
static void inputs_become(struct inference *f, const struct nuc_node *node, enum nuc_format format)
{
    struct nuc_cursor at = {0, 0};

    for (struct nuc_node *in = nuc_next_input(node, &at); in != NULL; in = nuc_next_input(node, &at))
        become(f, in, format == NUC_CHANNELS_FIRST && rank_of(in) <= 2 ? NUC_FORMATLESS : format);
}

static bool reads_channels_first(const struct nuc_node *node)
{
    struct nuc_cursor at = {0, 0};

    for (const struct nuc_node *in = nuc_next_input(node, &at); in != NULL; in = nuc_next_input(node, &at)) {
        if (in->format == NUC_CHANNELS_FIRST)
            return true;
    }
    return false;
}

static void infer_any(struct inference *f, struct nuc_node *node)
{
    if (!node->is_tuple && node->n_vals == 1 && nuc_is_channels_last(&node->vals[0]))
        become(f, node, NUC_CHANNELS_FIRST);
    bool channels_first = node->format == NUC_CHANNELS_FIRST || reads_channels_first(node);
    inputs_become(f, node, channels_first ? NUC_CHANNELS_FIRST : NUC_FORMATLESS);
    become(f, node, channels_first && rank_of(node) > 2 ? NUC_CHANNELS_FIRST : NUC_FORMATLESS);
}

static void infer_node(struct inference *f, struct nuc_node *node)
{
    switch (rule_of(node, f->rules)) {
    case RULE_CHANNELS_FIRST: /* data, and the weight of a convolution, which is summed */
        for (uint32_t i = 0; i < node->n_args; i++) {
            struct nuc_node *in = nuc_arg_node(node, i);
            struct nuc_axis_map map;
            bool image = i == NUC_SELF || (nuc_axis_map(node, 0, i, 0, &map) && nuc_has_axis(&map, NUC_AXIS_WHOLE));
            if (in != NULL)
                become(f, in, image ? NUC_CHANNELS_FIRST : NUC_FORMATLESS);
        }
        become(f, node, NUC_CHANNELS_FIRST);
        break;
    case RULE_BOUNDARY: /* the node itself gets its format as an input of its users */
        if (node->n_users > 0)
            become(f, node->users[0], NUC_FORMATLESS);
        if (nuc_arg_node(node, NUC_SELF) != NULL)
            become(f, nuc_arg_node(node, NUC_SELF), NUC_FORMATLESS);
        break;
    case RULE_ANY:
        infer_any(f, node);
        break;
    case RULE_UNKNOWN: /* what no other gives a format stays without one */
        break;
    }
}

void nuc_infer_formats(struct nuc_graph *g, const struct nuc_flavor *flavor)
{
    struct nuc_arena *outer = nuc_push_arena(g->cx);
    struct inference f = {.g = g, .capacity = g->n_nodes, .rules = flavor->rules};

    f.queue = nuc_alloc_array(g->cx, g->n_nodes, sizeof *f.queue);
    f.queued = nuc_alloc_array(g->cx, g->next_id, sizeof *f.queued);
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        n->format = NUC_FORMAT_NONE;
        enqueue(&f, n);
    }
    while (f.count > 0) {
        struct nuc_node *node = f.queue[f.head];
        f.head = (f.head + 1) % f.capacity;
        f.count--;
        f.queued[node->id] = false;
        infer_node(&f, node);
    }
    nuc_pop_arena(g->cx, outer);
}
