/*
 * y = batch_norm(conv(x)): with s = gamma / sqrt(variance + epsilon), the weight of each output channel is multiplied
 * by s and the bias becomes (bias - mean) * s + beta. The order of the float32 operations is that of torch's
 * fuse_conv_bn_weights and fuse_linear_bn_weights, on which quantization scales depend in their last digits.
 */
#include <math.h>

#include "compiler/passes/pass_list.h"
#include "compiler/passes/rewrite.h"

enum { BN_INPUT, BN_GAMMA, BN_BETA, BN_MEAN, BN_VARIANCE, BN_TRAINING, BN_MOMENTUM, BN_EPSILON };
enum { WEIGHT = 1, BIAS = 2 }; /* of conv2d and linear */

struct fold {
    struct nuc_graph *g;
    struct nuc_node *norm, *layer;
    size_t channels;
    const float *gamma, *beta, *mean, *variance; /* gamma and beta may be NULL: 1 and 0 */
    float epsilon;
};

static bool is_static_float(const struct nuc_node *node)
{
    return node != NULL && nuc_is_static(node) && node->vals[0].dtype == NUC_F32;
}

/* False when the argument is there but not static, or has not one element a channel. */
static bool read_vector(const struct fold *f, uint32_t index, bool optional, const float **out)
{
    const struct nuc_node *node = nuc_arg_node(f->norm, index);

    if (node == NULL)
        return optional;
    if (!is_static_float(node) || nuc_elements(&node->vals[0]) != (int64_t)f->channels)
        return false;
    *out = nuc_const_contiguous(f->g, node);
    return true;
}

static bool can_fold(struct fold *f)
{
    const struct nuc_node *weight = nuc_operand(f->g, f->layer, WEIGHT), *bias = nuc_arg_node(f->layer, BIAS);
    bool linear = f->layer->op == NUC_OP_LINEAR;

    if (f->layer->n_users != 1 || !is_static_float(weight) || (bias != NULL && !is_static_float(bias)))
        return false;
    /* A linear's features are the last dimension, a batch norm's the second. */
    if (linear && f->layer->vals[0].rank != 2)
        return false;
    if (f->norm->args[BN_TRAINING].kind == NUC_ARG_BOOL && f->norm->args[BN_TRAINING].u.b)
        return false;
    f->channels = (size_t)weight->vals[0].sizes[0];
    f->epsilon = f->norm->args[BN_EPSILON].kind == NUC_ARG_FLOAT ? (float)f->norm->args[BN_EPSILON].u.f : 0.0f;
    return read_vector(f, BN_GAMMA, true, &f->gamma) && read_vector(f, BN_BETA, true, &f->beta) &&
           read_vector(f, BN_MEAN, false, &f->mean) && read_vector(f, BN_VARIANCE, false, &f->variance);
}

static float reciprocal_deviation(const struct fold *f, size_t channel)
{
    float sum = f->variance[channel] + f->epsilon;

    return 1.0f / sqrtf(sum);
}

static float gamma_of(const struct fold *f, size_t channel)
{
    return f->gamma != NULL ? f->gamma[channel] : 1.0f;
}

static void fold_weight(struct fold *f)
{
    struct nuc_node *weight = nuc_operand(f->g, f->layer, WEIGHT);
    size_t row = (size_t)nuc_elements(&weight->vals[0]) / f->channels;
    const float *old = nuc_const_contiguous(f->g, weight);
    float *folded = nuc_alloc_array(f->g->cx, f->channels * row, sizeof *folded);

    for (size_t c = 0; c < f->channels; c++) {
        float scale = gamma_of(f, c) * reciprocal_deviation(f, c);
        for (size_t i = 0; i < row; i++)
            folded[c * row + i] = old[c * row + i] * scale;
    }
    struct nuc_node *made = nuc_add_parameter(f->g, weight, "_folded", &weight->vals[0], folded);
    nuc_move_before(f->g, made, weight); /* it stands for the weight, so it stands where that stood */
    nuc_set_arg_node(f->layer, f->g, WEIGHT, made);
}

/* Convolution: ((b - mean) * r) * gamma + beta; linear: (b - mean) * (gamma * r) + beta. */
static void fold_bias(struct fold *f)
{
    struct nuc_node *weight = nuc_operand(f->g, f->layer, WEIGHT), *bias = nuc_arg_node(f->layer, BIAS);
    const float *old = bias != NULL ? nuc_const_contiguous(f->g, bias) : NULL;
    float *folded = nuc_alloc_array(f->g->cx, f->channels, sizeof *folded);
    int64_t sizes[1] = {(int64_t)f->channels};
    struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, 1);

    for (size_t c = 0; c < f->channels; c++) {
        float r = reciprocal_deviation(f, c);
        float centred = (old != NULL ? old[c] : 0.0f) - f->mean[c];
        float scale = gamma_of(f, c) * r;
        float once = centred * r;
        float scaled = f->layer->op == NUC_OP_LINEAR ? centred * scale : once * gamma_of(f, c);
        folded[c] = scaled + (f->beta != NULL ? f->beta[c] : 0.0f);
    }
    struct nuc_node *made =
        nuc_add_parameter(f->g, bias != NULL ? bias : weight, bias != NULL ? "_folded" : "_bias", &meta, folded);
    if (bias != NULL)
        nuc_move_before(f->g, made, bias);
    nuc_set_arg_node(f->layer, f->g, BIAS, made);
}

bool nuc_fold_batch_norm(struct nuc_graph *g)
{
    struct nuc_node *next;
    bool changed = false;

    for (struct nuc_node *n = g->first; n != NULL; n = next) {
        next = n->next;
        if (n->op != NUC_OP_BATCH_NORM)
            continue;
        struct fold f = {.g = g, .norm = n, .layer = nuc_operand(g, n, BN_INPUT)};
        if ((f.layer->op != NUC_OP_CONV2D && f.layer->op != NUC_OP_LINEAR) || !can_fold(&f))
            continue;
        /* The bias without one of its own is named after the weight, so it comes first. */
        fold_bias(&f);
        fold_weight(&f);
        nuc_replace_uses(g, n, f.layer, NULL);
        nuc_remove_node(g, n);
        changed = true;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}
