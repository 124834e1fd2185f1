/* Elementwise operators, products of matrices, reductions. */
#include <math.h>
#include <string.h>

#include "random_build.h"

/* ---- one operand ---- */

static bool unary(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    return rb_finish(b, rb_call(b, op, x), x->bound);
}

static bool squash(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    return rb_finish(b, rb_call(b, op, x), 1);
}

/* The value restricted to [low, high], for operators that are not defined, or grow, outside. */
static struct rb_value restricted(struct rb *b, const struct rb_value *x, double low, double high)
{
    struct nuc_node *node = rb_call(b, NUC_OP_CLAMP, x);

    nuc_set_arg_float(node, 1, low);
    nuc_set_arg_float(node, 2, high);
    return rb_finish(b, node, (float)high) ? b->values[b->n_values - 1] : (struct rb_value){NULL, 0};
}

static bool exponential(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    struct rb_value y = x->bound > 6 ? restricted(b, x, -6, 3) : *x;

    return y.node != NULL && rb_finish(b, rb_call(b, op, &y), 100);
}

/* Logarithms and roots, of positive values. */
static bool of_positive(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    struct rb_value y = restricted(b, x, (double)random_float(&b->r, 0.01f, 0.5f), 8);

    return y.node != NULL && rb_finish(b, rb_call(b, op, &y), op == NUC_OP_RECIPROCAL ? 100 : 10);
}

/* In place: on a value nobody reads yet, which is gone afterwards. */
static bool in_place(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    struct rb_value *last = &b->values[b->n_values - 1];
    struct nuc_node *node = x->node;

    if (last->node != node || node->n_users != 0 || nuc_op_kind(node->op) != NUC_KIND_COMPUTE)
        return false;
    struct nuc_node *made = rb_call(b, op, x);
    made->in_place = true;
    if (!rb_finish(b, made, x->bound))
        return false;
    b->values[b->n_values - 2] = b->values[b->n_values - 1];
    b->n_values--;
    return true;
}

static bool leaky_relu(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    struct nuc_node *node = rb_call(b, op, x);

    if (!random_one_of(&b->r, 3))
        nuc_set_arg_float(node, 1, (double)random_float(&b->r, -0.3f, 1.2f));
    return rb_finish(b, node, 1.2f * x->bound);
}

static bool clamp(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    static const double bounds[][2] = {{-1, 1}, {0, 1}, {0, 6}, {-2, 3}, {0.5, 1.5}, {-0.3, 0}, {0, (double)INFINITY}};
    const double *range = bounds[rb_in(b, 0, 6)];
    int64_t which = op == NUC_OP_CLAMP ? rb_in(b, 0, 4) : 0;
    struct nuc_node *node = rb_call(b, op, x);

    if (which != 1)
        nuc_set_arg_float(node, 1, range[0]);
    if (which != 2 && (op == NUC_OP_HARDTANH || range[1] < 100))
        nuc_set_arg_float(node, 2, range[1]);
    return rb_finish(b, node, x->bound);
}

static bool gelu(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    struct nuc_node *node = rb_call(b, op, x);

    if (random_one_of(&b->r, 2))
        nuc_set_arg_string(node, 1, "tanh");
    return rb_finish(b, node, x->bound);
}

/* Squares and cubes, which may be written as products. */
static bool power(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    struct rb_value y = restricted(b, x, -3, 3);

    if (y.node == NULL)
        return false;
    struct nuc_node *node = rb_call(b, op, &y);
    nuc_set_arg_float(node, NUC_ARG(POW_SCALAR, exponent), random_one_of(&b->r, 3) ? 3 : 2);
    return rb_finish(b, node, 27);
}

static bool prelu(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    const struct nuc_meta *m = rb_meta(x);
    int64_t channels = m->rank > 1 && !random_one_of(&b->r, 3) ? m->sizes[1] : 1;
    struct nuc_node *weight = rb_parameter_in(b, &channels, 1, -0.2f, 1.1f);
    struct nuc_node *node = rb_call(b, op, x);

    nuc_set_arg_node(node, b->g, 1, weight);
    return rb_finish(b, node, 1.2f * x->bound);
}

static bool softmax(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    int64_t rank = rb_meta(x)->rank;
    struct nuc_node *node = rb_call(b, op, x);

    nuc_set_arg_int(node, 1, rank > 1 && random_one_of(&b->r, 3) ? 1 : rb_in(b, -1, rank - 1));
    return rb_finish(b, node, op == NUC_OP_SOFTMAX ? 1 : 2 * x->bound + 8);
}

/* ---- two operands ---- */

/* Sizes that broadcast to those of `m`: leading dimensions left out, some others 1. */
static uint32_t broadcast_sizes(struct rb *b, const struct nuc_meta *m, int64_t *sizes)
{
    uint32_t first = random_one_of(&b->r, 2) ? 0 : (uint32_t)rb_in(b, 0, m->rank);

    for (uint32_t i = first; i < m->rank; i++)
        sizes[i - first] = random_one_of(&b->r, 3) ? 1 : m->sizes[i];
    return m->rank - first;
}

/* A value of the same sizes, any value at all, or a constant; the shape rule refuses what does not broadcast. */
static struct rb_value other_operand(struct rb *b, const struct nuc_meta *m)
{
    int64_t sizes[5] = {1}, kind = rb_in(b, 0, 4);

    if (kind < 2)
        return *rb_same_sizes(b, m);
    if (kind == 2)
        return b->values[rb_in(b, 0, b->n_values - 1)];
    uint32_t rank = kind == 3 ? m->rank : broadcast_sizes(b, m, sizes);
    float low = random_one_of(&b->r, 3) ? 0.2f : -2;
    return (struct rb_value){rb_parameter_in(b, kind == 3 ? m->sizes : sizes, rank, low, 2), 2};
}

static bool binary(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    bool product = op == NUC_OP_MUL, sum = op == NUC_OP_ADD || op == NUC_OP_SUB;
    struct rb_value y = other_operand(b, rb_meta(x));
    bool swap = random_one_of(&b->r, 3);

    if (product && x->bound * y.bound > 1000)
        return false;
    struct nuc_node *node = rb_call(b, op, swap ? &y : x);
    nuc_set_arg_node(node, b->g, 1, swap ? x->node : y.node);
    if (sum && random_one_of(&b->r, 10))
        nuc_set_arg_float(node, 2, (double)random_float(&b->r, -2, 2));
    return rb_finish(b, node, product ? x->bound * y.bound : x->bound + 2 * y.bound);
}

/* By a constant, which becomes a product; now and then by a value. */
static bool divide(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    int64_t sizes[5];
    uint32_t rank = broadcast_sizes(b, rb_meta(x), sizes);
    struct rb_value y = random_one_of(&b->r, 4) ? restricted(b, rb_same_sizes(b, rb_meta(x)), 0.5, 4)
                                                : (struct rb_value){rb_parameter_in(b, sizes, rank, 0.5f, 3), 3};

    if (y.node == NULL)
        return false;
    struct nuc_node *node = rb_call(b, op, x);
    nuc_set_arg_node(node, b->g, 1, y.node);
    return rb_finish(b, node, 2 * x->bound);
}

/* ---- products of matrices ---- */

static float weight_range(int64_t terms)
{
    return 1.5f / sqrtf((float)(terms > 0 ? terms : 1));
}

static bool linear(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    const struct nuc_meta *m = rb_meta(x);

    if (m->rank < 1 || (m->rank != 2 && !random_one_of(&b->r, 2)))
        return false;
    int64_t sizes[] = {rb_in(b, 1, 20), m->sizes[m->rank - 1]};
    struct nuc_node *weight = rb_parameter(b, sizes, 2, weight_range(sizes[1]));
    struct nuc_node *bias = random_one_of(&b->r, 3) ? NULL : rb_parameter(b, sizes, 1, 0.5f);
    struct nuc_node *node = rb_call(b, op, x);
    nuc_set_arg_node(node, b->g, 1, weight);
    if (bias != NULL)
        nuc_set_arg_node(node, b->g, 2, bias);
    return rb_finish(b, node, 2 * x->bound + 1);
}

static bool addmm(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    const struct nuc_meta *m = rb_meta(x);

    if (m->rank != 2)
        return false;
    int64_t sizes[] = {m->sizes[1], rb_in(b, 1, 20)};
    struct nuc_node *weight = rb_parameter(b, sizes, 2, weight_range(sizes[0]));
    struct rb_value bias = {rb_parameter(b, &sizes[1], 1, 0.5f), 1};
    struct nuc_node *node = rb_call(b, op, &bias);
    nuc_set_arg_node(node, b->g, 1, x->node);
    nuc_set_arg_node(node, b->g, 2, weight);
    return rb_finish(b, node, 2 * x->bound + 1);
}

/* mm, bmm and matmul: by a parameter, or by a value that has the sizes. */
static bool multiply(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    const struct nuc_meta *m = rb_meta(x);
    int64_t sizes[5];
    struct nuc_node *other = NULL;

    if (m->rank < 2 || (op == NUC_OP_MM && m->rank != 2) || (op == NUC_OP_BMM && m->rank != 3))
        return false;
    memcpy(sizes, m->sizes, sizeof sizes[0] * m->rank);
    sizes[m->rank - 2] = m->sizes[m->rank - 1];
    for (unsigned i = 0; i < b->n_values && other == NULL && !random_one_of(&b->r, 4); i++) {
        const struct nuc_meta *v = rb_meta(&b->values[i]);
        bool batches = v->rank == m->rank && memcmp(v->sizes, m->sizes, sizeof sizes[0] * (m->rank - 2)) == 0;
        if (batches && v->sizes[m->rank - 2] == sizes[m->rank - 2])
            other = b->values[i].node;
    }
    if (other == NULL) {
        sizes[m->rank - 1] = rb_in(b, 1, 12);
        other = rb_parameter(b, sizes, m->rank, weight_range(m->sizes[m->rank - 1]));
    }
    struct nuc_node *node = rb_call(b, op, x);
    nuc_set_arg_node(node, b->g, 1, other);
    return x->bound < 100 ? rb_finish(b, node, 5 * x->bound) : (nuc_remove_node(b->g, node), false);
}

/* ---- reductions ---- */

static bool reduce(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    const struct nuc_meta *m = rb_meta(x);
    int64_t dims[5], count = 0;
    bool sum = op == NUC_OP_SUM_DIM;

    for (int64_t i = 0; i < m->rank; i++) {
        if (random_one_of(&b->r, 2))
            dims[count++] = random_one_of(&b->r, 3) ? i - m->rank : i;
    }
    if (m->rank == 4 && random_one_of(&b->r, 3)) {
        dims[0] = 2;
        dims[1] = 3;
        count = 2;
    }
    struct nuc_node *node = rb_call(b, op, x);
    if (count != 0 || !random_one_of(&b->r, 3))
        nuc_set_arg_ints(node, b->g, 1, dims, (uint32_t)count);
    node->args[1].given = true; /* none: all dimensions */
    nuc_set_arg_bool(node, 2, random_one_of(&b->r, 2));
    return rb_finish(b, node, sum ? 20 * x->bound : x->bound);
}

static bool sum_all(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    return rb_finish(b, rb_call(b, op, x), 50 * x->bound);
}

const struct rb_row rb_math_rows[] = {
    {NUC_OP_RELU, unary},
    {NUC_OP_RELU, unary},
    {NUC_OP_RELU6, unary},
    {NUC_OP_HARDTANH, clamp},
    {NUC_OP_CLAMP, clamp},
    {NUC_OP_CLAMP, clamp},
    {NUC_OP_HARDSWISH, unary},
    {NUC_OP_HARDSIGMOID, squash},
    {NUC_OP_LEAKY_RELU, leaky_relu},
    {NUC_OP_PRELU, prelu},
    {NUC_OP_PRELU, prelu},
    {NUC_OP_SIGMOID, squash},
    {NUC_OP_TANH, squash},
    {NUC_OP_SILU, unary},
    {NUC_OP_GELU, gelu},
    {NUC_OP_ABS, unary},
    {NUC_OP_NEG, unary},
    {NUC_OP_EXP, exponential},
    {NUC_OP_LOG, of_positive},
    {NUC_OP_RSQRT, of_positive},
    {NUC_OP_SQRT, of_positive},
    {NUC_OP_ELU, unary},
    {NUC_OP_SELU, unary},
    {NUC_OP_CELU, unary},
    {NUC_OP_SOFTPLUS, unary},
    {NUC_OP_MISH, unary},
    {NUC_OP_LOG_SIGMOID, unary},
    {NUC_OP_POW_SCALAR, power},
    {NUC_OP_RECIPROCAL, of_positive},
    {NUC_OP_ERF, squash},
    {NUC_OP_SOFTMAX, softmax},
    {NUC_OP_LOG_SOFTMAX, softmax},
    {NUC_OP_RELU, in_place},
    {NUC_OP_HARDTANH, in_place},
    {NUC_OP_SIGMOID, in_place},
    {NUC_OP_TANH, in_place},
    {NUC_OP_HARDSWISH, in_place},
    {NUC_OP_LEAKY_RELU, in_place},
    {NUC_OP_ADD, binary},
    {NUC_OP_ADD, binary},
    {NUC_OP_ADD, binary},
    {NUC_OP_SUB, binary},
    {NUC_OP_MUL, binary},
    {NUC_OP_MUL, binary},
    {NUC_OP_MAXIMUM, binary},
    {NUC_OP_MINIMUM, binary},
    {NUC_OP_DIV, divide},
    {NUC_OP_LINEAR, linear},
    {NUC_OP_LINEAR, linear},
    {NUC_OP_ADDMM, addmm},
    {NUC_OP_MM, multiply},
    {NUC_OP_BMM, multiply},
    {NUC_OP_BMM, multiply},
    {NUC_OP_MATMUL, multiply},
    {NUC_OP_MEAN_DIM, reduce},
    {NUC_OP_SUM_DIM, reduce},
    {NUC_OP_AMAX, reduce},
    {NUC_OP_AMIN, reduce},
    {NUC_OP_SUM, sum_all},
    {.make = NULL},
};
