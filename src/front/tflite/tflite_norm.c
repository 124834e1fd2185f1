/* Layer norms, which LiteRT's converters write as the operators they are made of. */
#include "tflite_import.h"

/* Matched from the result backwards. */
struct norm {
    struct nuc_node *x, *mean, *scale; /* scale: 1 / sqrt(variance + eps), times the weight in the first form */
    struct nuc_node *weight, *bias;    /* constants, or NULL */
    double eps;
};

static struct nuc_node *operand(const struct nuc_node *node, uint32_t i)
{
    return nuc_arg_node(node, i);
}

static bool is_op(const struct nuc_node *node, enum nuc_op op)
{
    return node != NULL && node->op == op;
}

/* A constant of one number for each element of the last dimension of `x`. */
static bool is_vector(const struct nuc_node *node, const struct nuc_node *x)
{
    const struct nuc_meta *m = &x->vals[0];

    return nuc_is_static_float(node) && node->vals[0].rank > 0 &&
           nuc_elements(&node->vals[0]) == m->sizes[m->rank - 1] &&
           node->vals[0].sizes[node->vals[0].rank - 1] == m->sizes[m->rank - 1];
}

/* mean(x) over the last dimension, which stays. */
static bool is_mean_of(const struct nuc_node *node, const struct nuc_node *x)
{
    if (!is_op(node, NUC_OP_MEAN_DIM) || operand(node, NUC_SELF) != x || !nuc_flag(node, NUC_ARG(MEAN_DIM, keepdim)))
        return false;
    return x->vals[0].rank > 0 &&
           nuc_dims_mask(node, NUC_ARG(MEAN_DIM, dim), x->vals[0].rank) == 1u << (x->vals[0].rank - 1);
}

/* (x - mean)^2, either way round. */
static bool is_square_of_difference(const struct nuc_node *node, const struct norm *n)
{
    const struct nuc_node *d = is_op(node, NUC_OP_MUL) ? operand(node, NUC_SELF) : NULL;

    if (!is_op(d, NUC_OP_SUB) || operand(node, NUC_OTHER) != d)
        return false;
    const struct nuc_node *a = operand(d, NUC_SELF), *b = operand(d, NUC_OTHER);
    return (a == n->x && b == n->mean) || (a == n->mean && b == n->x);
}

/* 1 / sqrt(mean((x - mean)^2) + eps) */
static bool match_root(struct nuc_graph *g, struct norm *n, const struct nuc_node *root)
{
    const struct nuc_node *sum = is_op(root, NUC_OP_RSQRT) ? operand(root, NUC_SELF) : NULL;

    for (uint32_t i = 0; is_op(sum, NUC_OP_ADD) && i < 2; i++) {
        const struct nuc_node *variance = operand(sum, i), *eps = operand(sum, 1 - i);
        const struct nuc_node *square = is_op(variance, NUC_OP_MEAN_DIM) ? operand(variance, NUC_SELF) : NULL;
        if (square == NULL || !nuc_is_static_float(eps) || nuc_elements(&eps->vals[0]) != 1 ||
            !is_mean_of(variance, square) || !is_square_of_difference(square, n))
            continue;
        n->eps = (double)*(const float *)nuc_const_contiguous(g, eps);
        return true;
    }
    return false;
}

/* The root, alone or times a weight. */
static bool match_scale(struct nuc_graph *g, struct norm *n)
{
    for (uint32_t i = 0; is_op(n->scale, NUC_OP_MUL) && i < 2; i++) {
        if (is_vector(operand(n->scale, 1 - i), n->x) && match_root(g, n, operand(n->scale, i))) {
            n->weight = operand(n->scale, 1 - i);
            return true;
        }
    }
    return match_root(g, n, n->scale);
}

/* x * scale + (bias - mean * scale), as TensorFlow computes a batch norm. */
static bool match_folded(struct nuc_graph *g, const struct nuc_node *sum, struct norm *n)
{
    for (uint32_t k = 0; k < 8; k++) {
        const struct nuc_node *product = operand(sum, k & 1), *rest = operand(sum, 1 - (k & 1));
        const struct nuc_node *shift = is_op(rest, NUC_OP_SUB) ? operand(rest, NUC_OTHER) : NULL;
        if (!is_op(product, NUC_OP_MUL) || !is_op(shift, NUC_OP_MUL))
            continue;
        *n = (struct norm){.x = operand(product, k >> 1 & 1),
                           .scale = operand(product, 1 - (k >> 1 & 1)),
                           .mean = operand(shift, k >> 2 & 1),
                           .bias = operand(rest, NUC_SELF)};
        if (n->x != NULL && n->scale == operand(shift, 1 - (k >> 2 & 1)) && is_mean_of(n->mean, n->x) &&
            is_vector(n->bias, n->x) && match_scale(g, n))
            return true;
    }
    return false;
}

/* (x - mean) * scale */
static bool match_centred(struct nuc_graph *g, const struct nuc_node *product, struct norm *n)
{
    for (uint32_t i = 0; is_op(product, NUC_OP_MUL) && i < 2; i++) {
        const struct nuc_node *centred = operand(product, i);
        if (!is_op(centred, NUC_OP_SUB))
            continue;
        *n = (struct norm){
            .x = operand(centred, NUC_SELF), .mean = operand(centred, NUC_OTHER), .scale = operand(product, 1 - i)};
        if (n->x != NULL && is_mean_of(n->mean, n->x) && match_scale(g, n))
            return true;
    }
    return false;
}

/* The same, times a weight and plus a bias. */
static bool match_plain(struct nuc_graph *g, const struct nuc_node *sum, struct norm *n)
{
    for (uint32_t i = 0; i < 2; i++) {
        const struct nuc_node *product = operand(sum, i);
        struct nuc_node *bias = operand(sum, 1 - i);
        bool found = match_centred(g, product, n);
        for (uint32_t k = 0; !found && is_op(product, NUC_OP_MUL) && k < 2; k++) {
            struct nuc_node *weight = operand(product, 1 - k);
            found = match_centred(g, operand(product, k), n) && n->weight == NULL && is_vector(weight, n->x);
            n->weight = found ? weight : NULL;
        }
        n->bias = bias;
        if (found && is_vector(bias, n->x))
            return true;
    }
    return false;
}

/* The constant as a vector. */
static struct nuc_node *vector(struct nuc_ti *ti, struct nuc_node *constant, int64_t count)
{
    return constant == NULL ? NULL : nuc_ti_floats(ti, nuc_const_contiguous(ti->g, constant), &count, 1);
}

static void replace(struct nuc_ti *ti, struct nuc_node *sum, const struct norm *n)
{
    const struct nuc_meta *m = &n->x->vals[0];
    const int64_t count = m->sizes[m->rank - 1];
    struct nuc_node *node = nuc_add_node(ti->g, sum, NUC_OP_LAYER_NORM, "layer_norm");

    nuc_made_of(node, sum);
    struct nuc_node *weight = vector(ti, n->weight, count), *bias = vector(ti, n->bias, count);
    nuc_set_args(ti->g, node, NUC_ARGS(n->x, nuc_ints_arg(&count, 1), weight, bias, n->eps));
    nuc_ti_infer(ti, node);
    nuc_replace_uses(ti->g, sum, node, NULL);
    for (uint32_t t = 0; t < ti->s->n_tensors; t++) {
        for (int form = 0; form < NUC_TI_FORMS; form++) {
            if (ti->values[t].nodes[form] == sum)
                ti->values[t].nodes[form] = node;
        }
    }
}

void nuc_ti_find_norms(struct nuc_ti *ti)
{
    struct norm n;

    for (struct nuc_node *sum = ti->g->first; sum != NULL; sum = sum->next) {
        if (is_op(sum, NUC_OP_ADD) && (match_folded(ti->g, sum, &n) || match_plain(ti->g, sum, &n)))
            replace(ti, sum, &n);
    }
}
