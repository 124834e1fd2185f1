#include "compiler/program/legalize.h"

#include <string.h>

/* Which tensor arguments of an operator have to be contiguous. */
enum need {
    NEED_NOTHING,
    NEED_FIRST, /* the first */
    NEED_ALL,   /* each */
    NEED_SAME,  /* each, when they differ in dim order or sizes: kernels broadcast contiguous tensors only */
    NEED_RESULT /* none, but the first has the dim order of the result */
};

/* Kernels of kernels/portable that refuse other dim orders, or read tensors as if they were contiguous. */
static const uint8_t needs[NUC_OP_COUNT] = {
    [NUC_OP_NATIVE_ADAPTIVE_AVG_POOL2D] = NEED_FIRST,
    [NUC_OP_AVG_POOL2D] = NEED_FIRST,
    [NUC_OP_MEAN_DIM] = NEED_FIRST,
    [NUC_OP_SUM_DIM] = NEED_FIRST,
    [NUC_OP_AMAX] = NEED_FIRST,
    [NUC_OP_AMIN] = NEED_FIRST,
    [NUC_OP_NATIVE_BATCH_NORM] = NEED_FIRST,
    [NUC_OP_NATIVE_SOFTMAX] = NEED_FIRST,
    [NUC_OP_CONSTANT_PAD] = NEED_FIRST,
    [NUC_OP_PERMUTE] = NEED_FIRST,
    [NUC_OP_EXPAND] = NEED_FIRST,
    [NUC_OP_SLICE] = NEED_FIRST,
    [NUC_OP_SPLIT_WITH_SIZES] = NEED_FIRST,
    [NUC_OP_INDEX] = NEED_FIRST,
    [NUC_OP_AS_STRIDED] = NEED_FIRST,
    [NUC_OP_CONVOLUTION] = NEED_RESULT,
    [NUC_OP_CAT] = NEED_ALL,
    [NUC_OP_SLICE_SCATTER] = NEED_ALL,
    [NUC_OP_COPY] = NEED_ALL,
    [NUC_OP_ADD] = NEED_SAME,
    [NUC_OP_SUB] = NEED_SAME,
    [NUC_OP_MUL] = NEED_SAME,
    [NUC_OP_DIV] = NEED_SAME,
    [NUC_OP_MAXIMUM] = NEED_SAME,
    [NUC_OP_MINIMUM] = NEED_SAME,
    [NUC_OP_WHERE] = NEED_SAME,
};

/* What ExecuTorch's LegalizePortableDimOrderPass looks after. */
static const uint8_t reference_needs[NUC_OP_COUNT] = {
    [NUC_OP_NATIVE_ADAPTIVE_AVG_POOL2D] = NEED_FIRST,
    [NUC_OP_AVG_POOL2D] = NEED_FIRST,
    [NUC_OP_EXPAND] = NEED_FIRST,
    [NUC_OP_MEAN_DIM] = NEED_FIRST,
    [NUC_OP_SUM_DIM] = NEED_FIRST,
};

static bool same_order(const struct nuc_meta *a, const struct nuc_meta *b)
{
    return a->rank == b->rank && memcmp(a->dim_order, b->dim_order, a->rank) == 0;
}

/* The tensor arguments of one node, while it is looked at. */
struct operands {
    struct nuc_node *const *nodes;
    uint32_t count;
};

static bool differ(const struct operands *in)
{
    for (uint32_t i = 1; i < in->count; i++) {
        const struct nuc_meta *a = &in->nodes[0]->vals[0];
        const struct nuc_meta *b = &in->nodes[i]->vals[0];
        if (!same_order(a, b) || !nuc_same_sizes(a, b))
            return true;
    }
    return false;
}

/* How many of the operands, from the first on, have to be contiguous. */
static uint32_t contiguous_operands(enum need need, const struct operands *in)
{
    switch (need) {
    case NEED_FIRST:
        return in->count > 0 ? 1 : 0;
    case NEED_ALL:
        return in->count;
    case NEED_SAME:
        return differ(in) ? in->count : 0;
    case NEED_NOTHING:
    case NEED_RESULT:
        break;
    }
    return 0;
}

/* A copy of `source` in that dim order, in front of `before`. */
static struct nuc_node *add_copy(struct nuc_graph *g, struct nuc_node *source, const uint8_t *dim_order,
                                 struct nuc_node *before)
{
    struct nuc_node *copy = nuc_add_node(g, before, NUC_OP_TO_DIM_ORDER_COPY, NULL);
    int index = nuc_schema_arg_index(nuc_op_schema(copy->op), "dim_order");
    int64_t order[NUC_MAX_RANK];

    for (uint32_t d = 0; d < source->vals[0].rank; d++)
        order[d] = dim_order[d];
    nuc_set_arg_node(copy, g, 0, source);
    nuc_set_arg_ints(copy, g, (uint32_t)index, order, source->vals[0].rank);
    copy->source = source->source;
    nuc_infer_shape(g, copy);
    /* Sizes of 1 give one layout several names: the kernel asks for that of the argument. */
    memcpy(copy->vals[0].dim_order, dim_order, source->vals[0].rank);
    return copy;
}

static struct nuc_node *add_contiguous_copy(struct nuc_graph *g, struct nuc_node *source, struct nuc_node *before)
{
    struct nuc_meta contiguous = source->vals[0];

    nuc_set_contiguous(&contiguous);
    return add_copy(g, source, contiguous.dim_order, before);
}

/* Marks what reads `node`, because its meta is another one now. */
static void mark_users(const struct nuc_node *node, bool *stale)
{
    for (uint32_t i = 0; i < node->n_users; i++)
        stale[node->users[i]->id] = true;
}

/*
 * A delegate's payload and a convolution's result were made for the dim order they read, as were the int8 operators of
 * a Cortex-M, but for those that go value by value.
 */
static const bool keeps_order[NUC_OP_COUNT] = {
    [NUC_OP_CALL_DELEGATE] = true,
    [NUC_OP_CONVOLUTION] = true,
    [NUC_OP_CORTEXM_ADD] = true,
    [NUC_OP_CORTEXM_MUL] = true,
    [NUC_OP_CORTEXM_DIV] = true,
    [NUC_OP_CORTEXM_MINIMUM] = true,
    [NUC_OP_CORTEXM_MAXIMUM] = true,
    [NUC_OP_CORTEXM_LINEAR] = true,
    [NUC_OP_CORTEXM_SOFTMAX] = true,
    [NUC_OP_CORTEXM_TRANSPOSE] = true,
    [NUC_OP_CORTEXM_PAD] = true,
    [NUC_OP_CORTEXM_CONV2D] = true,
    [NUC_OP_CORTEXM_DEPTHWISE] = true,
    [NUC_OP_CORTEXM_TRANSPOSE_CONV2D] = true,
    [NUC_OP_CORTEXM_AVG_POOL2D] = true,
    [NUC_OP_CORTEXM_MAX_POOL2D] = true,
    [NUC_OP_CORTEXM_BATCH_MATMUL] = true,
    [NUC_OP_NUCLEON_PERMUTE_VIEW] = true,
    [NUC_OP_NUCLEON_SUM] = true,
    [NUC_OP_NUCLEON_PRELU] = true,
    [NUC_OP_NUCLEON_RESIZE_BILINEAR] = true,
    [NUC_OP_NUCLEON_RESIZE_NEAREST] = true,
    [NUC_OP_NUCLEON_TRANSPOSE_CONV2D] = true,
};

static struct nuc_node *order_keeping_user(const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (keeps_order[node->users[i]->op])
            return node->users[i];
    }
    return NULL;
}

/* Users that keep their dim order read a copy in the one from before. */
static void restore_order(struct nuc_graph *g, struct nuc_node *node, const uint8_t *dim_order)
{
    struct nuc_node *user = order_keeping_user(node);
    struct nuc_node *back = user != NULL ? add_copy(g, node, dim_order, node->next) : NULL;

    for (; user != NULL; user = order_keeping_user(node))
        nuc_replace_input(g, user, node, back);
}

/* The meta follows from the inputs again; results of a tuple are restored where they are read. */
static void refresh(struct nuc_graph *g, struct nuc_node *node, bool *stale)
{
    struct nuc_meta before = node->vals[0];

    nuc_infer_shape(g, node);
    if (!node->is_tuple) {
        if (nuc_meta_equal(&before, &node->vals[0]))
            return;
        restore_order(g, node, before.dim_order);
    }
    mark_users(node, stale);
}

/* Upper bound of the ids in use when all copies are there: one a use in front and one behind each node. */
static size_t most_ids(const struct nuc_graph *g)
{
    size_t ids = (size_t)g->next_id + 1;

    for (const struct nuc_node *node = g->first; node != NULL; node = node->next)
        ids += 2 + (size_t)nuc_inputs(node, NULL, 0);
    return ids;
}

/* Whether operand i is an earlier one again: all its places got the copy then. */
static bool is_repeated(struct nuc_node *const *nodes, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++) {
        if (nodes[k] == nodes[i])
            return true;
    }
    return false;
}

/* The first operand in the dim order of the result, which stays. */
static void follow_result(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *first = nuc_arg_node(node, 0);

    if (first != NULL && !same_order(&first->vals[0], &node->vals[0]))
        nuc_set_arg_node(node, g, 0, add_copy(g, first, node->vals[0].dim_order, node));
}

static void legalize(struct nuc_graph *g, struct nuc_node *node, enum need need, bool *stale)
{
    uint32_t n = nuc_inputs(node, NULL, 0);
    struct nuc_node **nodes = nuc_alloc_array(g->cx, (size_t)n + 1, sizeof(*nodes));
    struct operands in = {nodes, nuc_inputs(node, nodes, n)};
    uint32_t count = contiguous_operands(need, &in);

    for (uint32_t i = 0; i < count; i++) {
        if (nuc_is_contiguous(&nodes[i]->vals[0]) || is_repeated(nodes, i))
            continue;
        nuc_replace_input(g, node, nodes[i], add_contiguous_copy(g, nodes[i], node));
        stale[node->id] = true;
    }
    if (stale[node->id])
        refresh(g, node, stale);
    if (need == NEED_RESULT)
        follow_result(g, node);
}

void nuc_legalize_dim_orders(struct nuc_graph *g, bool as_reference)
{
    const uint8_t *table = as_reference ? reference_needs : needs;
    bool *stale = nuc_alloc_array(g->cx, most_ids(g), sizeof *stale);

    for (struct nuc_node *node = g->first; node != NULL; node = node->next) {
        if (nuc_is_call(node) && node->op != NUC_OP_CALL_DELEGATE)
            legalize(g, node, (enum need)table[node->op], stale);
    }
}
