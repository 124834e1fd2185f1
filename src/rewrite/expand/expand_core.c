/*
 * Core operators, which decomposed archives name and torch.export.export does not: each becomes the operator of a model
 * that it stands for, so that quantizer and passes see one form of a network.
 */
#include <string.h>

#include "ir/conv_args.h"
#include "rewrite/expand/expand_list.h"

#define MAX_SPATIAL 3

/* A tuple of which only item 0 is read becomes `op`, whose arguments are the first ones of the tuple's operator. */
static struct nuc_node *first_item_as(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op, uint32_t n_args)
{
    struct nuc_node *value = nuc_insert(g, node, op, node);

    for (uint32_t i = 0; i < n_args; i++)
        nuc_copy_arg(g, value, i, node, i);
    nuc_infer_shape(g, value);
    nuc_replace_item(g, node, 0, value);
    return NULL;
}

/* Whether something reads another item than the first. */
static bool reads_others(const struct nuc_node *tuple)
{
    for (uint32_t i = 0; i < tuple->n_users; i++) {
        if (tuple->users[i]->n_users > 0 && !nuc_is_item(tuple->users[i], 0))
            return true;
    }
    return false;
}

/* ---- convolution ---- */

static void copy_numbers(struct nuc_graph *g, struct nuc_node *conv, uint32_t index, const struct nuc_node *node,
                         uint32_t from, uint32_t count, int64_t fallback)
{
    int64_t numbers[MAX_SPATIAL];

    nuc_conv_numbers(node, from, count, fallback, numbers);
    nuc_set_arg_ints(conv, g, index, numbers, count);
}

/* By the number of spatial dimensions. */
static enum nuc_op convolution_op(uint32_t spatial, bool transposed)
{
    static const enum nuc_op plain[] = {NUC_OP_CONV1D, NUC_OP_CONV2D, NUC_OP_CONV3D};
    static const enum nuc_op back[] = {NUC_OP_CONV_TRANSPOSE1D, NUC_OP_CONV_TRANSPOSE2D, NUC_OP_CONV_TRANSPOSE3D};

    return transposed ? back[spatial - 1] : plain[spatial - 1];
}

struct nuc_node *nuc_expand_convolution(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_meta *weight = &nuc_operand(g, node, NUC_CONV_WEIGHT)->vals[0];
    bool transposed = nuc_flag(node, NUC_ARG(CONVOLUTION, transposed));

    if (weight->rank < 3 || weight->rank > 2 + MAX_SPATIAL)
        nuc_expand_fail(g, node, "a weight of rank %u is not one of 1 to 3 spatial dimensions", (unsigned)weight->rank);
    uint32_t spatial = weight->rank - 2u;
    struct nuc_node *conv = nuc_insert(g, node, convolution_op(spatial, transposed), node);
    const struct nuc_conv_args *args = nuc_conv_args(conv->op);
    for (uint32_t i = 0; i <= NUC_CONV_BIAS; i++)
        nuc_copy_arg(g, conv, i, node, i);
    copy_numbers(g, conv, args->stride, node, NUC_ARG(CONVOLUTION, stride), spatial, 1);
    copy_numbers(g, conv, args->padding, node, NUC_ARG(CONVOLUTION, padding), spatial, 0);
    copy_numbers(g, conv, args->dilation, node, NUC_ARG(CONVOLUTION, dilation), spatial, 1);
    if (transposed)
        copy_numbers(g, conv, args->output_padding, node, NUC_ARG(CONVOLUTION, output_padding), spatial, 0);
    nuc_set_arg_int(conv, args->groups, nuc_integer(node, NUC_ARG(CONVOLUTION, groups), 1));
    nuc_infer_shape(g, conv);
    return conv;
}

/* ---- normalization ---- */

struct nuc_node *nuc_expand_native_batch_norm(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *norm = nuc_insert(g, node, NUC_OP_BATCH_NORM, node);

    for (uint32_t i = 0; i <= NUC_ARG(BATCH_NORM, running_var); i++)
        nuc_copy_arg(g, norm, i, node, i);
    nuc_set_arg_bool(norm, NUC_ARG(BATCH_NORM, training), false);
    nuc_copy_arg(g, norm, NUC_ARG(BATCH_NORM, momentum), node, NUC_ARG(NATIVE_BATCH_NORM, momentum));
    nuc_copy_arg(g, norm, NUC_ARG(BATCH_NORM, eps), node, NUC_ARG(NATIVE_BATCH_NORM, eps));
    nuc_set_arg_bool(norm, NUC_ARG(BATCH_NORM, cudnn_enabled), false);
    nuc_infer_shape(g, norm);
    nuc_replace_item(g, node, 0, norm);
    return NULL;
}

/* ---- the same arguments under another name ---- */

static struct nuc_node *with_args_of(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op)
{
    struct nuc_node *value = nuc_insert(g, node, op, node);

    for (uint32_t i = 0; i < node->n_args && i < value->n_args; i++)
        nuc_copy_arg(g, value, i, node, i);
    return value;
}

/* half_to_float is the only argument that differs: such a softmax makes float32 of float16. */
static struct nuc_node *softmax_as(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op)
{
    struct nuc_node *value = nuc_insert(g, node, op, node);

    if (nuc_flag(node, NUC_ARG(NATIVE_SOFTMAX, half_to_float)))
        nuc_expand_fail(g, node, "computes in float32 from float16: export the model in float32");
    nuc_copy_arg(g, value, NUC_SELF, node, NUC_SELF);
    nuc_copy_arg(g, value, NUC_ARG(SOFTMAX, dim), node, NUC_ARG(NATIVE_SOFTMAX, dim));
    nuc_infer_shape(g, value);
    return value;
}

struct nuc_node *nuc_expand_native_softmax(struct nuc_graph *g, struct nuc_node *node)
{
    return softmax_as(g, node, NUC_OP_SOFTMAX);
}

struct nuc_node *nuc_expand_native_log_softmax(struct nuc_graph *g, struct nuc_node *node)
{
    return softmax_as(g, node, NUC_OP_LOG_SOFTMAX);
}

struct nuc_node *nuc_expand_native_adaptive_pool(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *value = with_args_of(g, node, NUC_OP_ADAPTIVE_AVG_POOL2D);

    nuc_infer_shape(g, value);
    return value;
}

struct nuc_node *nuc_expand_constant_pad(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *value = nuc_insert(g, node, NUC_OP_PAD, node);

    nuc_copy_arg(g, value, NUC_SELF, node, NUC_SELF);
    nuc_copy_arg(g, value, NUC_ARG(PAD, pad), node, NUC_ARG(CONSTANT_PAD, pad));
    nuc_set_arg_string(value, NUC_ARG(PAD, mode), "constant");
    nuc_set_arg_float(value, NUC_ARG(PAD, value), nuc_scalar(node, NUC_ARG(CONSTANT_PAD, value), 0.0));
    nuc_infer_shape(g, value);
    return value;
}

/* Without its indices. */
struct nuc_node *nuc_expand_pool_indices(struct nuc_graph *g, struct nuc_node *node)
{
    return first_item_as(g, node, NUC_OP_MAX_POOL2D, node->n_args);
}

bool nuc_is_first_item_read(const struct nuc_node *node)
{
    return !reads_others(node);
}

/* ---- linear layers ---- */

/* The weight [out, in] of which `operand` is the transposed view; NULL when it is not one of a parameter. */
static struct nuc_node *transposed_weight(const struct nuc_node *operand)
{
    bool is_t = operand->op == NUC_OP_T;
    bool swaps = operand->op == NUC_OP_TRANSPOSE || operand->op == NUC_OP_PERMUTE;
    struct nuc_node *weight = is_t || swaps ? nuc_arg_node(operand, NUC_SELF) : NULL;

    if (weight == NULL || !nuc_is_static(weight) || weight->vals[0].rank != 2 ||
        operand->vals[0].sizes[0] != weight->vals[0].sizes[1])
        return NULL;
    if (operand->op == NUC_OP_PERMUTE) {
        const struct nuc_arg *dims = nuc_arg_at(operand, NUC_ARG(PERMUTE, dims));
        return dims->count == 2 && nuc_positive_dim(dims->u.ints[0], 2) == 1 ? weight : NULL;
    }
    return is_t || nuc_dim(operand, NUC_ARG(TRANSPOSE, dim0), 0, 2) != nuc_dim(operand, NUC_ARG(TRANSPOSE, dim1), 1, 2)
               ? weight
               : NULL;
}

bool nuc_is_linear(const struct nuc_node *node)
{
    bool adds = node->op == NUC_OP_ADDMM;
    const struct nuc_node *operand = nuc_arg_node(node, adds ? NUC_ARG(ADDMM, mat2) : NUC_ARG(MM, mat2));
    const struct nuc_node *bias = adds ? nuc_arg_node(node, NUC_SELF) : NULL;

    if (operand == NULL || transposed_weight(operand) == NULL)
        return false;
    return !adds || (bias != NULL && nuc_is_static(bias) && bias->vals[0].rank == 1 &&
                     bias->vals[0].sizes[0] == operand->vals[0].sizes[1] &&
                     nuc_numbers_equal(nuc_scalar(node, NUC_ARG(ADDMM, beta), 1.0), 1.0) &&
                     nuc_numbers_equal(nuc_scalar(node, NUC_ARG(ADDMM, alpha), 1.0), 1.0));
}

struct nuc_node *nuc_expand_linear(struct nuc_graph *g, struct nuc_node *node)
{
    bool adds = node->op == NUC_OP_ADDMM;
    struct nuc_node *input = nuc_operand(g, node, adds ? NUC_ARG(ADDMM, mat1) : NUC_SELF);
    struct nuc_node *operand = nuc_operand(g, node, adds ? NUC_ARG(ADDMM, mat2) : NUC_ARG(MM, mat2));

    return nuc_emit(g, node, NUC_OP_LINEAR, node,
                    NUC_ARGS(nuc_node_arg(input), nuc_node_arg(transposed_weight(operand)),
                             nuc_node_arg(adds ? nuc_operand(g, node, NUC_SELF) : NULL)));
}
