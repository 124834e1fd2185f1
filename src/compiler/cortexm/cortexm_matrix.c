/* Matrix products: constant weights as a linear layer, two activations as a batched product. */
#include <math.h>
#include <string.h>

#include "compiler/cortexm/cortexm_private.h"

/* Dimension sizes of a view in front of `before`. */
static struct nuc_node *view(struct nuc_cm *c, struct nuc_node *value, const int64_t *sizes, uint32_t rank,
                             struct nuc_node *before)
{
    struct nuc_node *contiguous = nuc_cm_contiguous(c, value, before);
    struct nuc_node *v = nuc_insert(c->g, before, NUC_OP_VIEW, value);

    nuc_set_arg_node(v, c->g, 0, contiguous);
    nuc_set_arg_ints(v, c->g, 1, sizes, rank);
    nuc_infer_shape(c->g, v);
    return v;
}

/* ---- linear ---- */

struct linear {
    struct nuc_cm_value in, weight;
    struct nuc_node *bias; /* int32 or NULL */
    struct nuc_cm_result out;
    bool weight_is_transposed; /* [I, O] */
};

/* Constant of int32 with the scale input * weight, or computed from a float one. */
static bool read_bias(struct nuc_cm *c, struct nuc_node *node, struct nuc_node *arg, struct linear *l)
{
    struct nuc_cm_value bias;

    if (arg == NULL)
        return true;
    if (nuc_cm_operand(arg, &bias) && nuc_is_static(bias.node) && bias.dtype == NUC_I32) {
        l->bias = bias.node;
        return bias.node->vals[0].rank <= 1;
    }
    if (!nuc_is_static(arg) || arg->vals[0].dtype != NUC_F32 || arg->vals[0].rank != 1)
        return false;
    int64_t n = arg->vals[0].sizes[0];
    const float *values = nuc_const_contiguous(c->g, arg);
    int32_t *quantized = nuc_alloc_array(c->g->cx, (size_t)n, sizeof *quantized);
    for (int64_t i = 0; i < n; i++) {
        double q = nearbyint((double)values[i] / (l->in.scale * l->weight.scale));
        quantized[i] = q > INT32_MAX ? INT32_MAX : q < INT32_MIN ? INT32_MIN : (int32_t)q;
    }
    l->bias = nuc_cm_constant(c, node, "_bias", NUC_I32, &n, 1, quantized);
    return true;
}

static const int8_t *transposed_bytes(struct nuc_cm *c, const struct nuc_node *weight, int64_t sizes[2])
{
    const struct nuc_meta *m = &weight->vals[0];
    const int8_t *from = nuc_const_contiguous(c->g, weight);
    int8_t *to = nuc_alloc(c->g->cx, (size_t)nuc_elements(m) + 1);

    sizes[0] = m->sizes[1];
    sizes[1] = m->sizes[0];
    for (int64_t o = 0; o < sizes[0]; o++)
        for (int64_t i = 0; i < sizes[1]; i++)
            to[o * sizes[1] + i] = from[i * sizes[0] + o];
    return to;
}

/* What the MVE kernel adds to the products: sum over inputs of the weights times -zero point, plus the bias. */
static struct nuc_node *kernel_sum(struct nuc_cm *c, const struct nuc_node *node, const struct linear *l,
                                   const struct nuc_node *weight)
{
    int64_t out = weight->vals[0].sizes[0], in = weight->vals[0].sizes[1];
    const int8_t *w = nuc_const_contiguous(c->g, weight);
    const int32_t *bias = l->bias == NULL ? NULL : nuc_const_contiguous(c->g, l->bias);
    int32_t *sums = nuc_alloc_array(c->g->cx, (size_t)out + 1, sizeof *sums);

    for (int64_t o = 0; o < out; o++) {
        int64_t sum = 0;
        for (int64_t i = 0; i < in; i++)
            sum += w[o * in + i];
        sums[o] = (int32_t)(sum * -l->in.zero_point + (bias == NULL ? 0 : bias[o]));
    }
    return nuc_cm_constant(c, node, "_kernel_sum", NUC_I32, (int64_t[]){1, out}, 2, sums);
}

static void emit_linear(struct nuc_cm *c, struct nuc_node *node, const struct linear *l)
{
    struct nuc_graph *g = c->g;
    struct nuc_node *weight = l->weight.node;
    int64_t sizes[2];

    if (l->weight_is_transposed) {
        const int8_t *bytes = transposed_bytes(c, weight, sizes);
        weight = nuc_cm_constant(c, node, "_weight", NUC_I8, sizes, 2, bytes);
    }
    struct nuc_node *linear = nuc_cm_insert(c, &l->out, NUC_OP_CORTEXM_LINEAR);
    struct nuc_multiplier m = nuc_cm_multiplier(l->in.scale * l->weight.scale / l->out.params.scale);
    int64_t multiplier = m.multiplier, shift = m.shift;
    nuc_set_arg_node(linear, g, 0, nuc_cm_contiguous(c, l->in.node, linear));
    nuc_set_arg_node(linear, g, 1, weight);
    if (c->options->cpu->kernel_sums)
        nuc_set_arg_node(linear, g, 3, kernel_sum(c, node, l, weight));
    else if (l->bias != NULL)
        nuc_set_arg_node(linear, g, 2, l->bias);
    nuc_set_arg_int(linear, 4, -l->in.zero_point);
    nuc_set_arg_int(linear, 5, 0);
    nuc_set_arg_int(linear, 6, l->out.params.zero_point);
    nuc_set_arg_ints(linear, g, 7, &multiplier, 1);
    nuc_set_arg_ints(linear, g, 8, &shift, 1);
    nuc_set_arg_int(linear, 9, l->out.high);
    nuc_set_arg_int(linear, 10, l->out.low);
    nuc_infer_shape(g, linear);
    nuc_cm_replace(c, &l->out, linear);
}

/* The weight as a constant matrix of int8 with one scale; a permutation in front of it is undone. */
static bool read_weight(struct nuc_node *arg, struct linear *l)
{
    if (arg == NULL)
        return false;
    if (arg->op == NUC_OP_PERMUTE && arg->vals[0].rank == 2) {
        l->weight_is_transposed = arg->args[1].u.ints[0] % 2 == 0;
        arg = nuc_arg_node(arg, 0);
    }
    return nuc_cm_operand(arg, &l->weight) && nuc_is_static(l->weight.node) && l->weight.dtype == NUC_I8 &&
           l->weight.scales == NULL && l->weight.zero_point == 0 && l->weight.node->vals[0].rank == 2;
}

static bool is_one(const struct nuc_arg *arg)
{
    return (arg->kind == NUC_ARG_INT && arg->u.i == 1) ||
           (arg->kind == NUC_ARG_FLOAT && !(arg->u.f < 1) && !(arg->u.f > 1));
}

/* input, weight [O, I], bias */
bool nuc_cm_lower_linear(struct nuc_cm *c, struct nuc_node *node)
{
    struct linear l = {.weight_is_transposed = false};

    if (!nuc_cm_tensor(node, 0, &l.in) || !read_weight(nuc_arg_node(node, 1), &l) ||
        !nuc_cm_result(node, true, &l.out) || !read_bias(c, node, nuc_arg_node(node, 2), &l))
        return false;
    emit_linear(c, node, &l);
    return true;
}

/* bias, input, weight [I, O] */
bool nuc_cm_lower_addmm(struct nuc_cm *c, struct nuc_node *node)
{
    struct linear l = {.weight_is_transposed = true};

    if (!nuc_cm_tensor(node, 1, &l.in) || !read_weight(nuc_arg_node(node, 2), &l) || !is_one(&node->args[3]) ||
        !is_one(&node->args[4]) || !nuc_cm_result(node, true, &l.out) || !read_bias(c, node, nuc_arg_node(node, 0), &l))
        return false;
    emit_linear(c, node, &l);
    return true;
}

/* ---- batched products ---- */

struct product {
    struct nuc_cm_value a, b;
    struct nuc_cm_result out;
};

/* [B, K, N] -> [B, N, K]; a constant is transposed here. */
static struct nuc_node *transposed_operand(struct nuc_cm *c, struct nuc_node *value, struct nuc_node *before)
{
    static const int64_t perm[3] = {0, 2, 1};
    struct nuc_node *t = nuc_insert(c->g, before, NUC_OP_CORTEXM_TRANSPOSE, value);

    nuc_set_arg_node(t, c->g, 0, nuc_cm_contiguous(c, value, t));
    nuc_set_arg_ints(t, c->g, 1, perm, 3);
    nuc_infer_shape(c->g, t);
    return t;
}

static struct nuc_node *constant_transposed(struct nuc_cm *c, const struct nuc_node *node, const struct nuc_node *value)
{
    const struct nuc_meta *m = &value->vals[0];
    const int8_t *from = nuc_const_contiguous(c->g, value);
    int8_t *to = nuc_alloc(c->g->cx, (size_t)nuc_elements(m) + 1);
    int64_t rows = m->sizes[1], columns = m->sizes[2];

    for (int64_t b = 0; b < m->sizes[0]; b++)
        for (int64_t i = 0; i < columns; i++)
            for (int64_t k = 0; k < rows; k++)
                to[(b * columns + i) * rows + k] = from[(b * rows + k) * columns + i];
    return nuc_cm_constant(c, node, "_rhs_transposed", NUC_I8, (int64_t[]){m->sizes[0], columns, rows}, 3, to);
}

static struct nuc_node *emit_product(struct nuc_cm *c, const struct nuc_node *node, const struct product *p,
                                     struct nuc_node *a, struct nuc_node *b)
{
    struct nuc_node *bmm = nuc_cm_insert(c, &p->out, NUC_OP_CORTEXM_BATCH_MATMUL);
    struct nuc_multiplier m = nuc_cm_multiplier(p->a.scale * p->b.scale / p->out.params.scale);
    struct nuc_graph *g = c->g;

    if (a->vals[0].rank == 2) {
        a = view(c, a, (int64_t[]){1, a->vals[0].sizes[0], a->vals[0].sizes[1]}, 3, bmm);
        b = view(c, b, (int64_t[]){1, b->vals[0].sizes[0], b->vals[0].sizes[1]}, 3, bmm);
    }
    struct nuc_node *rhs = nuc_is_static(b) ? constant_transposed(c, node, b) : transposed_operand(c, b, bmm);
    nuc_set_arg_node(bmm, g, 0, nuc_cm_contiguous(c, a, bmm));
    nuc_set_arg_int(bmm, 1, -p->a.zero_point);
    nuc_set_arg_node(bmm, g, 2, rhs);
    nuc_set_arg_int(bmm, 3, -p->b.zero_point);
    nuc_set_arg_int(bmm, 4, p->out.params.zero_point);
    nuc_set_arg_int(bmm, 5, m.multiplier);
    nuc_set_arg_int(bmm, 6, m.shift);
    nuc_cm_scratch(c, bmm, 7, c->options->cpu->scratch->matmul_bytes * (size_t)rhs->vals[0].sizes[1]);
    nuc_infer_shape(g, bmm);
    return bmm;
}

bool nuc_cm_lower_bmm(struct nuc_cm *c, struct nuc_node *node)
{
    struct product p;

    if (!nuc_cm_tensor(node, 0, &p.a) || !nuc_cm_tensor(node, 1, &p.b) || p.a.node->vals[0].rank != 3 ||
        !nuc_cm_result(node, false, &p.out))
        return false;
    nuc_cm_replace(c, &p.out, emit_product(c, node, &p, p.a.node, p.b.node));
    return true;
}

/* input, weight [I, O]; two activations are a batched product with one matrix */
bool nuc_cm_lower_mm(struct nuc_cm *c, struct nuc_node *node)
{
    struct linear l = {.weight_is_transposed = true};
    struct product p;

    if (nuc_cm_tensor(node, 0, &l.in) && read_weight(nuc_arg_node(node, 1), &l) && nuc_cm_result(node, true, &l.out)) {
        emit_linear(c, node, &l);
        return true;
    }
    if (!nuc_cm_tensor(node, 0, &p.a) || !nuc_cm_tensor(node, 1, &p.b) || !nuc_cm_result(node, false, &p.out))
        return false;
    struct nuc_node *bmm = emit_product(c, node, &p, p.a.node, p.b.node);
    nuc_cm_replace(c, &p.out, view(c, bmm, node->vals[0].sizes, 2, bmm->next));
    return true;
}
