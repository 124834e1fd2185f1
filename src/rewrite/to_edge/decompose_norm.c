/* Normalization over statistics of the tensor itself. */
#include "ir/args.h"
#include "rewrite/expand/expand.h"
#include "rewrite/rewrite.h"
#include "rewrite/to_edge/decompose.h"

/* (input, normalized_shape, weight, bias, eps, cudnn_enable) */
struct nuc_node *nuc_to_layer_norm(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *norm = nuc_insert(g, node, NUC_OP_NATIVE_LAYER_NORM, node);

    for (uint32_t i = 0; i <= NUC_ARG(NATIVE_LAYER_NORM, eps); i++)
        nuc_copy_arg(g, norm, i, node, i);
    nuc_infer_shape(g, norm);
    return nuc_insert_getitem(g, node, norm, 0);
}

/* (input, num_groups, weight, bias, eps, cudnn_enabled) */
struct nuc_node *nuc_to_group_norm(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF);
    const struct nuc_meta *m = &input->vals[0];
    int64_t inner = 1;

    for (uint32_t d = 2; d < m->rank; d++)
        inner *= m->sizes[d];
    struct nuc_node *norm =
        nuc_emit(g, node, NUC_OP_NATIVE_GROUP_NORM, node,
                 NUC_ARGS(nuc_node_arg(input), nuc_node_arg(nuc_arg_node(node, NUC_ARG(GROUP_NORM, weight))),
                          nuc_node_arg(nuc_arg_node(node, NUC_ARG(GROUP_NORM, bias))), nuc_int_arg(m->sizes[0]),
                          nuc_int_arg(m->sizes[1]), nuc_int_arg(inner),
                          nuc_int_arg(nuc_integer(node, NUC_ARG(GROUP_NORM, num_groups), 1)),
                          nuc_float_arg(nuc_scalar(node, NUC_ARG(GROUP_NORM, eps), 1e-5))));
    return nuc_insert_getitem(g, node, norm, 0);
}

/* x * rsqrt(mean(x * x) + eps) * weight */
struct nuc_node *nuc_to_rms_norm(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF);
    struct nuc_node *weight = nuc_arg_node(node, NUC_ARG(RMS_NORM, weight));
    uint32_t count = nuc_arg_at(node, NUC_ARG(RMS_NORM, normalized_shape))->count;
    double eps = nuc_scalar(node, NUC_ARG(RMS_NORM, eps), 0x1p-23);
    int64_t dims[NUC_MAX_RANK];

    for (uint32_t i = 0; i < count; i++)
        dims[i] = (int64_t)i - (int64_t)count;
    struct nuc_node *squares = nuc_insert_binary(g, node, NUC_OP_MUL, x, x);
    struct nuc_node *mean = nuc_emit(g, node, NUC_OP_MEAN_DIM, node,
                                     NUC_ARGS(nuc_node_arg(squares), nuc_ints_arg(dims, count), nuc_bool_arg(true)));
    struct nuc_node *sum = nuc_insert_binary(g, node, NUC_OP_ADD, mean, nuc_insert_constant(g, node, NUC_F32, eps));
    struct nuc_node *y = nuc_insert_binary(g, node, NUC_OP_MUL, x, nuc_insert_unary(g, node, NUC_OP_RSQRT, sum));

    return weight == NULL ? y : nuc_insert_binary(g, node, NUC_OP_MUL, y, weight);
}
