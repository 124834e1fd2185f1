/* Expansions of normalizations. */
#include "rewrite/expand/expand_list.h"

/* ---- operators of decomposed archives ---- */

struct nuc_node *nuc_expand_native_layer_norm(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *norm = nuc_insert(g, node, NUC_OP_LAYER_NORM, node);
    for (uint32_t i = 0; i <= NUC_ARG(NATIVE_LAYER_NORM, eps); i++)
        nuc_copy_arg(g, norm, i, node, i);
    nuc_infer_shape(g, norm);
    nuc_replace_item(g, node, 0, norm);
    return NULL;
}

static struct nuc_node *group_norm(struct nuc_graph *g, struct nuc_node *node, int64_t groups, struct nuc_node *weight,
                                   struct nuc_node *bias, double eps)
{
    return nuc_emit(g, node, NUC_OP_GROUP_NORM, node,
                    NUC_ARGS(nuc_node_arg(nuc_operand(g, node, NUC_SELF)), nuc_int_arg(groups), nuc_node_arg(weight),
                             nuc_node_arg(bias), nuc_float_arg(eps)));
}

struct nuc_node *nuc_expand_native_group_norm(struct nuc_graph *g, struct nuc_node *node)
{
    nuc_replace_item(g, node, 0,
                     group_norm(g, node, nuc_integer(node, NUC_ARG(NATIVE_GROUP_NORM, group), 1),
                                nuc_arg_node(node, NUC_ARG(NATIVE_GROUP_NORM, weight)),
                                nuc_arg_node(node, NUC_ARG(NATIVE_GROUP_NORM, bias)),
                                nuc_scalar(node, NUC_ARG(NATIVE_GROUP_NORM, eps), 1e-5)));
    return NULL;
}

/* ---- batch norm ---- */

/* What the forms have in common, all but the first operand. */
struct batch_norm {
    struct nuc_node *weight, *bias, *mean, *var; /* NULL: none */
    double momentum, eps;
    bool own; /* statistics of the batch itself */
};

static struct batch_norm read_batch_norm(const struct nuc_node *node)
{
    /* (input, weight, bias, [mean, var,] training, momentum, eps, ...) */
    bool no_stats = node->op == NUC_OP_BATCH_NORM_NO_STATS;
    uint32_t after = no_stats ? NUC_ARG(BATCH_NORM_NO_STATS, training) : NUC_ARG(BATCH_NORM, training);
    struct batch_norm b = {
        .weight = nuc_arg_node(node, NUC_ARG(BATCH_NORM, weight)),
        .bias = nuc_arg_node(node, NUC_ARG(BATCH_NORM, bias)),
        .mean = no_stats ? NULL : nuc_arg_node(node, NUC_ARG(BATCH_NORM, running_mean)),
        .var = no_stats ? NULL : nuc_arg_node(node, NUC_ARG(BATCH_NORM, running_var)),
        .momentum = nuc_scalar(node, after + 1, 0.1),
        .eps = nuc_scalar(node, after + 2, 1e-5),
    };

    b.own = b.mean == NULL || b.var == NULL || nuc_flag(node, after);
    return b;
}

/* A value for each channel, in the shape in which it meets the input. */
static struct nuc_node *by_channel(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *vector, uint32_t rank)
{
    int64_t sizes[NUC_MAX_RANK];

    for (uint32_t d = 0; d < rank; d++)
        sizes[d] = d == 1 ? vector->vals[0].sizes[0] : 1;
    return nuc_emit(g, node, NUC_OP_RESHAPE, node, NUC_ARGS(nuc_node_arg(vector), nuc_ints_arg(sizes, rank)));
}

/* (input - mean) / sqrt(var + eps) * weight + bias over all dimensions but the channels. */
static struct nuc_node *normalize(struct nuc_graph *g, struct nuc_node *node, const struct batch_norm *b,
                                  struct nuc_node **mean, struct nuc_node **inverse)
{
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF);
    uint32_t rank = x->vals[0].rank, count = 0;
    int64_t dims[NUC_MAX_RANK];

    for (uint32_t d = 0; d < rank; d++) {
        if (d != 1)
            dims[count++] = d;
    }
    *mean = nuc_emit(g, node, NUC_OP_MEAN_DIM, node,
                     NUC_ARGS(nuc_node_arg(x), nuc_ints_arg(dims, count), nuc_bool_arg(true)));
    struct nuc_node *var =
        nuc_emit(g, node, NUC_OP_VAR, node,
                 NUC_ARGS(nuc_node_arg(x), nuc_ints_arg(dims, count), nuc_float_arg(0), nuc_bool_arg(true)));
    *inverse = nuc_insert_unary(g, node, NUC_OP_RSQRT, nuc_insert_with_number(g, node, NUC_OP_ADD, var, b->eps));
    struct nuc_node *y = nuc_insert_binary(g, node, NUC_OP_SUB, x, *mean);
    y = nuc_insert_binary(g, node, NUC_OP_MUL, y, *inverse);
    if (b->weight != NULL)
        y = nuc_insert_binary(g, node, NUC_OP_MUL, y, by_channel(g, node, b->weight, rank));
    return b->bias == NULL ? y : nuc_insert_binary(g, node, NUC_OP_ADD, y, by_channel(g, node, b->bias, rank));
}

static struct nuc_node *insert_batch_norm(struct nuc_graph *g, struct nuc_node *node, const struct batch_norm *b)
{
    return nuc_emit(g, node, NUC_OP_BATCH_NORM, node,
                    NUC_ARGS(nuc_node_arg(nuc_operand(g, node, NUC_SELF)), nuc_node_arg(b->weight),
                             nuc_node_arg(b->bias), nuc_node_arg(b->mean), nuc_node_arg(b->var), nuc_bool_arg(false),
                             nuc_float_arg(b->momentum), nuc_float_arg(b->eps), nuc_bool_arg(true)));
}

static struct nuc_node *flattened(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *statistics)
{
    int64_t count = nuc_elements(&statistics->vals[0]);

    return nuc_emit(g, node, NUC_OP_RESHAPE, node, NUC_ARGS(nuc_node_arg(statistics), nuc_ints_arg(&count, 1)));
}

bool nuc_has_no_running_statistics(const struct nuc_node *batch_norm)
{
    return nuc_arg_node(batch_norm, NUC_ARG(BATCH_NORM, running_mean)) == NULL ||
           nuc_arg_node(batch_norm, NUC_ARG(BATCH_NORM, running_var)) == NULL;
}

/*
 * Statistics of a single image are those of a group norm with a group for each channel, which is how decomposed
 * archives have instance norms. A model in training mode keeps its running statistics up to date: it is refused.
 */
struct nuc_node *nuc_expand_batch_norm(struct nuc_graph *g, struct nuc_node *node)
{
    struct batch_norm b = read_batch_norm(node);
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF), *mean, *inverse;

    if (node->op == NUC_OP_BATCH_NORM)
        return normalize(g, node, &b, &mean, &inverse);
    if (b.own && b.mean == NULL && x->vals[0].sizes[0] == 1 && nuc_is_first_item_read(node)) {
        nuc_replace_item(g, node, 0, group_norm(g, node, x->vals[0].sizes[1], b.weight, b.bias, b.eps));
        return NULL;
    }
    if (b.own && b.mean != NULL)
        nuc_expand_fail(g, node, "is in training mode: export the model after model.eval()");
    if (!b.own && !nuc_is_first_item_read(node))
        nuc_expand_fail(g, node, "its statistics are read, which are empty: use those of the module");
    if (!b.own) {
        nuc_replace_item(g, node, 0, insert_batch_norm(g, node, &b));
        return NULL;
    }
    nuc_replace_item(g, node, 0, normalize(g, node, &b, &mean, &inverse));
    nuc_replace_item(g, node, 1, flattened(g, node, mean));
    nuc_replace_item(g, node, 2, flattened(g, node, inverse));
    return NULL;
}

/* ---- instance norm: a group norm with a group for each channel ---- */

struct nuc_node *nuc_expand_instance_norm(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *weight = nuc_arg_node(node, NUC_ARG(INSTANCE_NORM, weight));
    struct nuc_node *bias = nuc_arg_node(node, NUC_ARG(INSTANCE_NORM, bias));
    struct batch_norm b = {
        .weight = weight,
        .bias = bias,
        .mean = nuc_arg_node(node, NUC_ARG(INSTANCE_NORM, running_mean)),
        .var = nuc_arg_node(node, NUC_ARG(INSTANCE_NORM, running_var)),
        .momentum = nuc_scalar(node, NUC_ARG(INSTANCE_NORM, momentum), 0.1),
        .eps = nuc_scalar(node, NUC_ARG(INSTANCE_NORM, eps), 1e-5),
    };

    if (!nuc_flag(node, NUC_ARG(INSTANCE_NORM, use_input_stats)) && b.mean != NULL && b.var != NULL)
        return insert_batch_norm(g, node, &b);
    return group_norm(g, node, nuc_operand(g, node, NUC_SELF)->vals[0].sizes[1], weight, bias, b.eps);
}
