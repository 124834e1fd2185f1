/* Expansions of norms of weights, losses and quantiles. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ir/shapes/shapes.h"
#include "rewrite/expand/expand_list.h"

/* All dimensions of a tensor but `without`; -1: all. Returns how many. */
static uint32_t all_dims(const struct nuc_meta *m, int64_t without, int64_t dims[NUC_MAX_RANK])
{
    uint32_t count = 0;

    for (int64_t d = 0; d < m->rank; d++) {
        if (d != without)
            dims[count++] = d;
    }
    return count;
}

/* ---- norms ---- */

/* g * v / |v|, the norm over all dimensions but one. */
struct nuc_node *nuc_expand_weight_norm(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *v = nuc_operand(g, node, NUC_ARG(WEIGHT_NORM, v));
    struct nuc_node *size = nuc_operand(g, node, NUC_ARG(WEIGHT_NORM, g));
    int64_t dim = nuc_integer(node, NUC_ARG(WEIGHT_NORM, dim), 0), dims[NUC_MAX_RANK];
    /* -1 stands for the norm of the whole tensor. */
    uint32_t count = all_dims(&v->vals[0], dim, dims);

    if (dim < -1 || dim >= v->vals[0].rank)
        nuc_expand_fail(g, node, "dimension %lld does not exist in a tensor of rank %u", (long long)dim,
                        (unsigned)v->vals[0].rank);
    struct nuc_node *squares = nuc_insert_binary(g, node, NUC_OP_MUL, v, v);
    struct nuc_node *sum = count == 0 ? squares : nuc_insert_sum(g, node, squares, dims, count, true);
    struct nuc_node *norm = nuc_insert_unary(g, node, NUC_OP_SQRT, sum);
    return nuc_insert_binary(g, node, NUC_OP_MUL, v, nuc_insert_binary(g, node, NUC_OP_DIV, size, norm));
}

/* ---- losses, as scores of an anomaly detector ---- */

enum reduction { NO_REDUCTION, MEAN, SUM }; /* as torch numbers them */

static struct nuc_node *reduced_as(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *losses, int64_t how)
{
    int64_t dims[NUC_MAX_RANK];
    uint32_t count = all_dims(&losses->vals[0], -1, dims);

    if (how == NO_REDUCTION || count == 0)
        return losses;
    if (how == SUM)
        return nuc_insert_sum(g, node, losses, dims, count, false);
    return nuc_emit(g, node, NUC_OP_MEAN_DIM, node, NUC_ARGS(nuc_node_arg(losses), nuc_ints_arg(dims, count)));
}

static struct nuc_node *reduced(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *losses)
{
    return reduced_as(g, node, losses, nuc_integer(node, NUC_ARG(MSE_LOSS, reduction), MEAN));
}

static struct nuc_node *difference_of(struct nuc_graph *g, struct nuc_node *node)
{
    return nuc_insert_binary(g, node, NUC_OP_SUB, nuc_operand(g, node, NUC_SELF), nuc_operand(g, node, NUC_OTHER));
}

struct nuc_node *nuc_expand_l1_loss(struct nuc_graph *g, struct nuc_node *node)
{
    return reduced(g, node, nuc_insert_unary(g, node, NUC_OP_ABS, difference_of(g, node)));
}

struct nuc_node *nuc_expand_mse_loss(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *d = difference_of(g, node);

    return reduced(g, node, nuc_insert_binary(g, node, NUC_OP_MUL, d, d));
}

/*
 * With z = min(|d|, bound), z * (|d| - z / 2): half the square inside of the bound, and a line outside. Huber's loss is
 * that; the smooth one is divided by the bound.
 */
struct nuc_node *nuc_expand_huber_loss(struct nuc_graph *g, struct nuc_node *node)
{
    bool smooth = node->op == NUC_OP_SMOOTH_L1_LOSS;
    double bound = nuc_scalar(node, smooth ? NUC_ARG(SMOOTH_L1_LOSS, beta) : NUC_ARG(HUBER_LOSS, delta), 1.0);
    struct nuc_node *d = nuc_insert_unary(g, node, NUC_OP_ABS, difference_of(g, node));

    if (smooth && !(bound > 0))
        return reduced(g, node, d);
    struct nuc_node *z =
        nuc_emit(g, node, NUC_OP_CLAMP, node, NUC_ARGS(nuc_node_arg(d), nuc_node_arg(NULL), nuc_float_arg(bound)));
    struct nuc_node *rest =
        nuc_insert_binary(g, node, NUC_OP_SUB, d, nuc_insert_with_number(g, node, NUC_OP_MUL, z, 0.5));
    struct nuc_node *loss = nuc_insert_binary(g, node, NUC_OP_MUL, z, rest);
    if (smooth)
        loss = nuc_insert_with_number(g, node, NUC_OP_MUL, loss, 1.0 / bound);
    return reduced(g, node, loss);
}

/* t (log t - x), 0 where t is; of a logarithm l of t, e^l (l - x). */
struct nuc_node *nuc_expand_kl_div(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF), *t = nuc_operand(g, node, NUC_OTHER);

    if (nuc_flag(node, NUC_ARG(KL_DIV, log_target))) {
        struct nuc_node *d = nuc_insert_binary(g, node, NUC_OP_SUB, t, x);
        return reduced(g, node, nuc_insert_binary(g, node, NUC_OP_MUL, nuc_insert_unary(g, node, NUC_OP_EXP, t), d));
    }
    struct nuc_node *positive =
        nuc_emit(g, node, NUC_OP_CLAMP, node, NUC_ARGS(nuc_node_arg(t), nuc_float_arg((double)FLT_MIN)));
    struct nuc_node *entropy =
        nuc_insert_binary(g, node, NUC_OP_MUL, t, nuc_insert_unary(g, node, NUC_OP_LOG, positive));
    return reduced(g, node,
                   nuc_insert_binary(g, node, NUC_OP_SUB, entropy, nuc_insert_binary(g, node, NUC_OP_MUL, t, x)));
}

/* ---- losses of classes ---- */

/* The loss of each element for probabilities of classes. */
static struct nuc_node *of_probabilities(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *log, int64_t dim)
{
    struct nuc_node *products = nuc_insert_binary(g, node, NUC_OP_MUL, log, nuc_operand(g, node, NUC_OTHER));

    return nuc_insert_unary(g, node, NUC_OP_NEG, nuc_insert_sum(g, node, products, &dim, 1, false));
}

/* Of numbers of classes: the logarithm at each, 0 where a number is to be ignored, which do not count in a mean. */
static struct nuc_node *of_classes(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *log, int64_t dim)
{
    struct nuc_node *classes = nuc_operand(g, node, NUC_OTHER);
    int64_t how = nuc_integer(node, NUC_ARG(NLL_LOSS, reduction), MEAN);
    double ignored = (double)nuc_integer(node, NUC_ARG(NLL_LOSS, ignore_index), -100);
    struct nuc_node *counts = nuc_insert_with_number(g, node, NUC_OP_NE, classes, ignored);
    struct nuc_node *zero = nuc_insert_constant(g, node, classes->vals[0].dtype, 0);
    struct nuc_node *sound = nuc_emit(g, node, NUC_OP_WHERE, node,
                                      NUC_ARGS(nuc_node_arg(counts), nuc_node_arg(classes), nuc_node_arg(zero)));
    struct nuc_node *at = nuc_insert_with_dim(g, node, NUC_OP_UNSQUEEZE, sound, dim);
    struct nuc_node *found =
        nuc_emit(g, node, NUC_OP_GATHER, node, NUC_ARGS(nuc_node_arg(log), nuc_int_arg(dim), nuc_node_arg(at)));
    struct nuc_node *losses =
        nuc_insert_unary(g, node, NUC_OP_NEG, nuc_insert_with_dim(g, node, NUC_OP_SQUEEZE_DIM, found, dim));

    losses = nuc_emit(
        g, node, NUC_OP_WHERE, node,
        NUC_ARGS(nuc_node_arg(counts), nuc_node_arg(losses), nuc_node_arg(nuc_insert_constant(g, node, NUC_F32, 0))));
    if (how != MEAN)
        return reduced_as(g, node, losses, how);
    return nuc_insert_binary(g, node, NUC_OP_DIV, reduced_as(g, node, losses, SUM),
                             reduced_as(g, node, nuc_insert_cast(g, node, counts, NUC_F32), SUM));
}

/* nll_loss of logarithms, cross_entropy_loss of scores; classes are dimension 1, or the only one. */
struct nuc_node *nuc_expand_nll_loss(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *log = nuc_operand(g, node, NUC_SELF);
    const struct nuc_meta *target = nuc_input_meta(node, NUC_OTHER);
    bool of_scores = node->op == NUC_OP_CROSS_ENTROPY_LOSS;
    int64_t dim = log->vals[0].rank > 1 ? 1 : 0;

    if (nuc_arg_node(node, NUC_ARG(NLL_LOSS, weight)) != NULL)
        nuc_expand_fail(g, node, "a weight for each class is not handled: take the loss out of the model");
    if (of_scores && nuc_scalar(node, NUC_ARG(CROSS_ENTROPY_LOSS, label_smoothing), 0) > 0)
        nuc_expand_fail(g, node, "label smoothing is not handled: take the loss out of the model");
    if (of_scores)
        log = nuc_emit(g, node, NUC_OP_LOG_SOFTMAX, node, NUC_ARGS(nuc_node_arg(log), nuc_int_arg(dim)));
    if (!nuc_is_floating(target->dtype))
        return of_classes(g, node, log, dim);
    return reduced_as(g, node, of_probabilities(g, node, log, dim),
                      nuc_integer(node, NUC_ARG(NLL_LOSS, reduction), MEAN));
}

/* ---- quantiles ---- */

static struct nuc_node *element_at(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *sorted, uint32_t dim,
                                   int64_t at)
{
    return nuc_emit(
        g, node, NUC_OP_SLICE, node,
        NUC_ARGS(nuc_node_arg(sorted), nuc_int_arg(dim), nuc_int_arg(at), nuc_int_arg(at + 1), nuc_int_arg(1)));
}

/* Between the two neighbours of place q * (n - 1) in the sorted elements. */
static struct nuc_node *between(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *sorted, uint32_t dim,
                                double place)
{
    const struct nuc_arg *how = nuc_arg_at(node, NUC_ARG(QUANTILE, interpolation));
    const char *name = how->kind == NUC_ARG_STRING ? how->u.string : "linear";
    int64_t low = (int64_t)floor(place), high = (int64_t)ceil(place);
    double part = place - (double)low;

    if (strcmp(name, "lower") == 0)
        return element_at(g, node, sorted, dim, low);
    if (strcmp(name, "higher") == 0)
        return element_at(g, node, sorted, dim, high);
    if (strcmp(name, "nearest") == 0)
        return element_at(g, node, sorted, dim, (int64_t)nearbyint(place));
    if (strcmp(name, "midpoint") == 0)
        part = 0.5;
    else if (strcmp(name, "linear") != 0)
        nuc_expand_fail(g, node, "interpolates '%s': use linear, lower, higher, midpoint or nearest", name);
    struct nuc_node *a = element_at(g, node, sorted, dim, low);
    if (high == low)
        return a;
    struct nuc_node *step = nuc_insert_binary(g, node, NUC_OP_SUB, element_at(g, node, sorted, dim, high), a);
    return nuc_insert_binary(g, node, NUC_OP_ADD, a, nuc_insert_with_number(g, node, NUC_OP_MUL, step, part));
}

struct nuc_node *nuc_expand_quantile(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF);
    const struct nuc_arg *at = nuc_arg_at(node, NUC_ARG(QUANTILE, dim));
    int64_t whole = nuc_elements(&input->vals[0]);
    double q = nuc_scalar(node, NUC_ARG(QUANTILE, q), -1.0);
    uint32_t dim = 0;

    if (at->kind != NUC_ARG_INT)
        input = nuc_insert_reshaped(g, node, input, &whole, 1);
    else if (at->u.i >= -(int64_t)input->vals[0].rank && at->u.i < input->vals[0].rank)
        dim = (uint32_t)nuc_positive_dim(at->u.i, input->vals[0].rank);
    int64_t count = input->vals[0].rank == 0 ? 0 : input->vals[0].sizes[dim];
    if (!(q >= 0 && q <= 1) || count < 1)
        nuc_expand_fail(g, node, "takes the quantile %g of %lld elements", q, (long long)count);
    struct nuc_node *sort = nuc_emit(g, node, NUC_OP_SORT, node, NUC_ARGS(nuc_node_arg(input), nuc_int_arg(dim)));
    struct nuc_node *value = between(g, node, nuc_insert_getitem(g, node, sort, 0), dim, q * (double)(count - 1));
    return nuc_insert_reshaped(g, node, value, node->vals[0].sizes, node->vals[0].rank);
}

/* ---- others ---- */

struct nuc_node *nuc_expand_is_infinite(struct nuc_graph *g, struct nuc_node *node)
{
    double sign = node->op == NUC_OP_ISPOSINF ? 1.0 : -1.0;

    return nuc_insert_with_number(g, node, NUC_OP_EQ, nuc_operand(g, node, NUC_SELF), sign * (double)INFINITY);
}

/* There are no complex tensors here. */
struct nuc_node *nuc_expand_isreal(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_meta *m = &node->vals[0];
    bool *truths = nuc_alloc_array(g->cx, (size_t)nuc_elements(m), sizeof *truths);

    memset(truths, 1, (size_t)nuc_elements(m));
    return nuc_add_parameter(g, node, "_true", m, truths);
}

/* The sum over what a tensor of that size would be repeated along. */
struct nuc_node *nuc_expand_sum_to_size(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF);
    const struct nuc_meta *in = &input->vals[0], *out = &node->vals[0];
    int64_t dims[NUC_MAX_RANK];
    uint32_t lead = (uint32_t)(in->rank - out->rank), count = 0;

    if (out->rank > in->rank)
        nuc_expand_fail(g, node, "%s is no part of %s", nuc_meta_text(g->cx, out), nuc_meta_text(g->cx, in));
    for (uint32_t d = 0; d < in->rank; d++) {
        if (d < lead || out->sizes[d - lead] != in->sizes[d])
            dims[count++] = d;
    }
    struct nuc_node *sum = count == 0 ? input : nuc_insert_sum(g, node, input, dims, count, true);
    return nuc_insert_reshaped(g, node, nuc_insert_cast(g, node, sum, out->dtype), out->sizes, out->rank);
}

struct nuc_node *nuc_expand_ldexp(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *power = nuc_insert_unary(g, node, NUC_OP_EXP2, nuc_operand(g, node, NUC_OTHER));

    return nuc_insert_binary(g, node, NUC_OP_MUL, nuc_operand(g, node, NUC_SELF), power);
}

/* The same operator with its dimensions by keyword. */
struct nuc_node *nuc_expand_linalg_diagonal(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *diagonal = nuc_insert(g, node, NUC_OP_DIAGONAL, node);

    nuc_copy_arg(g, diagonal, NUC_SELF, node, NUC_SELF);
    nuc_copy_arg(g, diagonal, NUC_ARG(DIAGONAL, offset), node, NUC_ARG(LINALG_DIAGONAL, offset));
    nuc_copy_arg(g, diagonal, NUC_ARG(DIAGONAL, dim1), node, NUC_ARG(LINALG_DIAGONAL, dim1));
    nuc_copy_arg(g, diagonal, NUC_ARG(DIAGONAL, dim2), node, NUC_ARG(LINALG_DIAGONAL, dim2));
    nuc_infer_shape(g, diagonal);
    return diagonal;
}
