/* Matrix products: constant weights as a linear layer, two activations as a batched product. */
#include <math.h>
#include <string.h>

#include "cpu/cortexm_site.h"

/* ---- linear ---- */

struct linear {
    struct nuc_cm_value in, weight;
    struct nuc_node *bias; /* int32 or NULL */
    struct nuc_cm_result out;
    bool weight_is_transposed;      /* [I, O] */
    struct nuc_multiplier *rescale; /* of each output, or of all where the weight has one scale */
};

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
            sum += w[o * in + i] - l->weight.zero_point;
        sums[o] = (int32_t)(sum * -l->in.zero_point + (bias == NULL ? 0 : bias[o]));
    }
    return nuc_cm_constant(c, node, "_kernel_sum", NUC_I32, (int64_t[]){1, out}, 2, sums);
}

/*
 * With a scale for each output, and of int16: rows [N, I] are the pixels of an image [1, I, N, 1], channels last, for a
 * convolution of one pixel. `weight` is [O, I].
 */
static struct nuc_node *emit_pixels(struct nuc_cm *c, struct nuc_node *node, const struct linear *l,
                                    struct nuc_node *weight)
{
    const struct nuc_meta out = l->out.value->vals[0];
    int64_t o = weight->vals[0].sizes[0], i = weight->vals[0].sizes[1], rows = nuc_elements(&out) / o;
    struct nuc_node *before = nuc_cm_place(&l->out), *multipliers, *shifts;

    struct nuc_node *kernel = nuc_cm_constant(c, node, "_weight_nhwc", NUC_I8, (int64_t[]){o, 1, 1, i}, 4,
                                              nuc_const_contiguous(c->g, weight));
    struct nuc_node *in = nuc_cm_contiguous(c, l->in.node, before);
    in = nuc_cm_as_nchw(c, nuc_cm_view(c, in, (int64_t[]){1, rows, 1, i}, 4, before), before);
    nuc_cm_add_multipliers(c, node, l->rescale, o, &multipliers, &shifts);
    const struct nuc_pair ones = {1, 1};
    const int64_t sides[4] = {0, 0, 0, 0};
    bool int8 = l->in.dtype == NUC_I8;
    struct nuc_node *conv = nuc_emit(c->g, before, int8 ? NUC_OP_CORTEXM_CONV2D : NUC_OP_NUCLEON_CONV2D, l->out.value,
                                     NUC_ARGS(in, kernel, l->bias, NUC_PAIR_ARG(ones),
                                              nuc_ints_arg(sides, int8 ? 2 : 4), NUC_PAIR_ARG(ones), -l->in.zero_point,
                                              l->out.params.zero_point, multipliers, shifts, l->out.low, l->out.high));
    nuc_cm_scratch(c->g, conv, NUC_ARG(CORTEXM_CONV2D, scratch), nuc_cm_conv_scratch(c->options->cpu, conv));
    return nuc_cm_view(c, nuc_cm_as_nhwc(c, conv, before), out.sizes, out.rank, before);
}

/* With one scale. `weight` is [O, I]. */
static struct nuc_node *emit_rows(struct nuc_cm *c, const struct nuc_node *node, const struct linear *l,
                                  struct nuc_node *weight, struct nuc_node *before)
{
    struct nuc_multiplier m = l->rescale[0];
    struct nuc_node *in = nuc_cm_contiguous(c, l->in.node, before);
    bool sums = c->options->cpu->kernel_sums;
    struct nuc_node *sum = sums ? kernel_sum(c, node, l, weight) : NULL;

    return nuc_emit(c->g, before, NUC_OP_CORTEXM_LINEAR, l->out.value,
                    NUC_ARGS(in, weight, sums ? NULL : l->bias, sum, -l->in.zero_point, -l->weight.zero_point,
                             l->out.params.zero_point, nuc_ints_arg((const int64_t[]){m.multiplier}, 1),
                             nuc_ints_arg((const int64_t[]){m.shift}, 1), l->out.high, l->out.low));
}

struct nuc_node *nuc_cm_sum_rows(struct nuc_cm *c, const struct nuc_node *node, const struct nuc_cm_unary *u,
                                 struct nuc_node *x, int64_t count, struct nuc_multiplier m, struct nuc_node *before)
{
    int64_t rows = nuc_elements(&x->vals[0]) / count;
    struct linear l = {.in = u->in, .out = u->out, .rescale = &m};
    int8_t *ones = nuc_alloc_array(c->g->cx, (size_t)count + 1, 1);

    memset(ones, 1, (size_t)count);
    if (rows == 1) {
        l.in.node = nuc_cm_view(c, x, (const int64_t[]){1, count}, 2, before);
        return emit_rows(c, node, &l, nuc_cm_constant(c, node, "_ones", NUC_I8, (const int64_t[]){1, count}, 2, ones),
                         before);
    }
    /* As the columns of a batched product, whose kernels read several at once. */
    struct nuc_node *one = nuc_cm_constant(c, node, "_ones", NUC_I8, (const int64_t[]){1, 1, count}, 3, ones);
    struct nuc_node *columns = nuc_cm_view(c, x, (const int64_t[]){1, rows, count}, 3, before);
    struct nuc_node *product =
        nuc_emit(c->g, before, NUC_OP_CORTEXM_BATCH_MATMUL, u->out.value,
                 NUC_ARGS(one, 0, columns, -u->in.zero_point, u->out.params.zero_point, m.multiplier, m.shift));
    nuc_cm_scratch(c->g, product, NUC_ARG(CORTEXM_BATCH_MATMUL, scratch),
                   c->options->cpu->scratch->matmul_bytes * (size_t)rows);
    return product;
}

static void emit_linear(struct nuc_cm *c, struct nuc_node *node, struct linear *l)
{
    static const uint8_t swapped[2] = {1, 0};
    struct nuc_node *weight = l->weight.node;

    if (l->weight_is_transposed)
        weight = nuc_cm_permuted_constant(c, node, "_weight", weight, swapped);
    const bool pixels = l->weight.scales != NULL || l->in.dtype == NUC_I16;
    l->rescale = nuc_cm_multipliers(c, &l->in, &l->weight, &l->out, pixels ? weight->vals[0].sizes[0] : 1);
    /* `weight` is [O, I]. */
    const int64_t *sizes = weight->vals[0].sizes;
    const struct nuc_channels shape = {
        .channels = sizes[0],
        .of_group = sizes[0],
        .channel_stride = sizes[1],
        .rows = 1,
        .row = sizes[1],
        .stride = 1,
        .input_zero = (int32_t)l->in.zero_point,
        .output_zero = (int32_t)l->out.params.zero_point,
        .low = (int32_t)l->out.low,
        .high = (int32_t)l->out.high,
        .one_multiplier = l->weight.scales == NULL,
    };
    if (l->weight.zero_point == 0 && l->in.dtype == NUC_I8)
        nuc_cm_fold_channels(c, node, &shape, l->rescale, &weight, &l->bias);
    if (pixels) {
        nuc_cm_replace(c, &l->out, emit_pixels(c, node, l, weight));
        return;
    }
    nuc_cm_replace(c, &l->out, emit_rows(c, node, l, weight, nuc_cm_place(&l->out)));
}

/*
 * The weight as a constant matrix of int8 with one scale or one for each output; a permutation in front of it is
 * undone.
 */
static bool read_weight(struct nuc_node *arg, struct linear *l)
{
    if (arg == NULL)
        return false;
    if (arg->op == NUC_OP_PERMUTE && arg->vals[0].rank == 2) {
        l->weight_is_transposed = arg->args[NUC_ARG(PERMUTE, dims)].u.ints[0] % 2 == 0;
        arg = nuc_arg_node(arg, NUC_SELF);
    }
    if (!nuc_cm_operand(arg, &l->weight) || l->weight.dtype != NUC_I8 || !nuc_is_static(l->weight.node) ||
        l->weight.zero_point < INT8_MIN || l->weight.zero_point > INT8_MAX || l->weight.node->vals[0].rank != 2)
        return false;
    return l->weight.scales == NULL || l->weight.axis == (l->weight_is_transposed ? 1 : 0);
}

/* A product with a constant weight, which has its operands at these positions. */
static bool lower_layer(struct nuc_cm *c, struct nuc_node *node, uint32_t input, uint32_t weight, struct nuc_node *bias,
                        bool weight_is_transposed)
{
    struct linear l = {.weight_is_transposed = weight_is_transposed};
    uint32_t rank = node->vals[0].rank;

    if (!nuc_cm_tensor(node, input, &l.in) || !read_weight(nuc_arg_node(node, weight), &l) ||
        !nuc_cm_result(node, true, &l.out) || rank == 0 || l.in.dtype != l.out.params.dtype ||
        (l.in.dtype == NUC_I16 && !nuc_cm_takes_int16(&l.in, &l.weight, &l.out)) ||
        !nuc_cm_bias(c, node, bias, node->vals[0].sizes[rank - 1], &l.in, &l.weight, &l.bias))
        return false;
    emit_linear(c, node, &l);
    return true;
}

/* weight [O, I] */
bool nuc_cm_lower_linear(struct nuc_cm *c, struct nuc_node *node)
{
    return lower_layer(c, node, NUC_ARG(LINEAR, input), NUC_ARG(LINEAR, weight),
                       nuc_arg_node(node, NUC_ARG(LINEAR, bias)), false);
}

/* weight [I, O] */
bool nuc_cm_lower_addmm(struct nuc_cm *c, struct nuc_node *node)
{
    return nuc_numbers_equal(nuc_scalar(node, NUC_ARG(ADDMM, beta), 0), 1) &&
           nuc_numbers_equal(nuc_scalar(node, NUC_ARG(ADDMM, alpha), 0), 1) &&
           lower_layer(c, node, NUC_ARG(ADDMM, mat1), NUC_ARG(ADDMM, mat2), nuc_arg_node(node, NUC_ARG(ADDMM, self)),
                       true);
}

/* ---- batched products ---- */

/* [1, rows, columns] */
static struct nuc_node *as_batch(struct nuc_cm *c, struct nuc_node *matrix, struct nuc_node *before)
{
    const int64_t sizes[3] = {1, matrix->vals[0].sizes[0], matrix->vals[0].sizes[1]};

    return nuc_cm_view(c, matrix, sizes, 3, before);
}

/* The kernel reads [B, N, K] of the second operand, a [B, K, N]; a constant is transposed here. */
static struct nuc_node *emit_product(struct nuc_cm *c, const struct nuc_node *node, const struct nuc_cm_binary *p)
{
    double product = p->a.scale * p->b.scale;
    if (c->options->as_litert && p->a.dtype == NUC_I16) /* LiteRT's, of which int8 keeps no trace */
        product = (double)((float)p->a.scale * (float)p->b.scale);
    struct nuc_multiplier m = nuc_cm_multiplier(product / p->out.params.scale);
    struct nuc_node *a = p->a.node, *b = p->b.node, *before = nuc_cm_place(&p->out);

    if (a->vals[0].rank == 2) {
        a = as_batch(c, a, before);
        b = as_batch(c, b, before);
    }
    struct nuc_node *rhs = nuc_is_static(b)
                               ? nuc_cm_permuted_constant(c, node, "_rhs_transposed", b, (const uint8_t[]){0, 2, 1})
                               : nuc_cm_transpose(c, b, (const int64_t[]){0, 2, 1}, before);
    a = nuc_cm_contiguous(c, a, before);
    struct nuc_node *bmm =
        nuc_emit(c->g, before, NUC_OP_CORTEXM_BATCH_MATMUL, p->out.value,
                 NUC_ARGS(a, -p->a.zero_point, rhs, -p->b.zero_point, p->out.params.zero_point, m.multiplier, m.shift));
    nuc_cm_scratch(c->g, bmm, NUC_ARG(CORTEXM_BATCH_MATMUL, scratch),
                   c->options->cpu->scratch->matmul_bytes * (size_t)rhs->vals[0].sizes[1]);
    return bmm;
}

static bool has_factor(const struct nuc_cm_binary *p)
{
    return p->a.dtype == NUC_I8 || nuc_cm_takes_int16(&p->a, &p->b, &p->out);
}

bool nuc_cm_lower_bmm(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_cm_binary p;

    if (!nuc_cm_read_binary(node, false, &p) || p.a.node->vals[0].rank != 3 || !has_factor(&p))
        return false;
    return nuc_cm_replace(c, &p.out, emit_product(c, node, &p));
}

/* weight [I, O]; two activations are a batched product with one matrix */
bool nuc_cm_lower_mm(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_cm_binary p;

    if (lower_layer(c, node, NUC_ARG(MM, self), NUC_ARG(MM, mat2), NULL, true))
        return true;
    if (!nuc_cm_read_binary(node, false, &p) || !has_factor(&p))
        return false;
    struct nuc_node *bmm = emit_product(c, node, &p);
    return nuc_cm_replace(c, &p.out, nuc_cm_view(c, bmm, node->vals[0].sizes, 2, bmm->next));
}
