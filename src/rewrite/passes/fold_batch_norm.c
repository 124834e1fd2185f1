/*
 * y = batch_norm(layer(x)): with s = gamma / sqrt(variance + epsilon), the weight of each output channel is multiplied
 * by s and the bias becomes (bias - mean) * s + beta. Layers are convolutions, transposed ones and linear. The order of
 * the float32 operations is that of torch's fuse_conv_bn_weights and fuse_linear_bn_weights, on which quantization
 * scales depend in their last digits. Views and permutations between both stay where they are, and a product with one
 * value for each channel goes the same way. A norm behind something else goes into a linear layer that alone reads it.
 */
#include <math.h>

#include "ir/args.h"
#include "ir/axis_map.h"
#include "ir/conv_args.h"
#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

#define NORM(name) NUC_ARG(BATCH_NORM, name)

struct fold {
    struct nuc_graph *g;
    struct nuc_node *norm, *layer;
    const struct nuc_conv_args *conv; /* NULL: the layer is linear, which has input, weight and bias alike */
    size_t channels;
    size_t groups;
    const float *gamma, *beta, *mean, *variance; /* gamma and beta may be NULL: 1 and 0 */
    float epsilon;
};

/* False when the argument is there but not static, or does not have one element per channel. */
static bool read_vector(const struct fold *f, uint32_t index, bool optional, const float **out)
{
    const struct nuc_node *node = nuc_arg_node(f->norm, index);

    if (node == NULL)
        return optional;
    if (!nuc_is_static_float(node) || nuc_elements(&node->vals[0]) != (int64_t)f->channels)
        return false;
    *out = nuc_const_contiguous(f->g, node);
    return true;
}

static bool is_transposed(const struct fold *f)
{
    return f->conv != NULL && f->conv->transposed;
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
    struct nuc_node *weight = nuc_operand(f->g, f->layer, NUC_CONV_WEIGHT);
    const struct nuc_meta *w = &weight->vals[0];
    const bool transposed = is_transposed(f);
    size_t count = (size_t)nuc_elements(w), columns = (size_t)w->sizes[1], inputs = (size_t)w->sizes[0] / f->groups;
    size_t slices = count == 0 ? 0 : (size_t)w->sizes[0] * (transposed ? columns : 1); /* of one output channel each */
    const float *old = nuc_const_contiguous(f->g, weight);
    float *folded = nuc_alloc_array(f->g->cx, count, sizeof *folded);

    for (size_t s = 0; s < slices; s++) {
        const size_t c = transposed ? s / columns / inputs * columns + s % columns : s, length = count / slices;
        const float scale = gamma_of(f, c) * reciprocal_deviation(f, c);
        for (size_t i = s * length; i < (s + 1) * length; i++)
            folded[i] = old[i] * scale;
    }
    struct nuc_node *made = nuc_take_parameter(f->g, weight, "_folded", w, folded);
    nuc_move_before(f->g, made, weight); /* it stands for the weight, so it stands where that stood */
    nuc_set_arg_node(f->layer, f->g, NUC_CONV_WEIGHT, made);
}

/* Convolution: ((b - mean) * r) * gamma + beta; linear: (b - mean) * (gamma * r) + beta. */
static void fold_bias(struct fold *f)
{
    struct nuc_node *weight = nuc_operand(f->g, f->layer, NUC_CONV_WEIGHT),
                    *bias = nuc_arg_node(f->layer, NUC_CONV_BIAS);
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
    nuc_set_arg_node(f->layer, f->g, NUC_CONV_BIAS, made);
}

static bool is_move(const struct nuc_node *node)
{
    const enum nuc_family family = nuc_op_family(node->op);

    return family == NUC_FAMILY_VIEW || family == NUC_FAMILY_PERMUTE || family == NUC_FAMILY_COPY;
}

/* An axis that is one dimension on both sides, in place. */
static bool is_one_dim(const struct nuc_axis *axis, const struct nuc_node *in, const struct nuc_node *out)
{
    return axis->kind == NUC_AXIS_ELEMENT && axis->start == 0 && axis->step == 1 && axis->from_end == axis->from + 1 &&
           axis->to_end == axis->to + 1 && in->vals[0].sizes[axis->from] == out->vals[0].sizes[axis->to];
}

/* What makes the values of `node`, which others may move; *channel: a dimension of the one, then of the other. */
static struct nuc_node *maker(struct nuc_graph *g, struct nuc_node *node, uint32_t *channel)
{
    struct nuc_axis_map map;

    while (node->n_users == 1 && is_move(node) && nuc_axis_map(node, 0, NUC_SELF, 0, &map)) {
        struct nuc_node *in = nuc_operand(g, node, NUC_SELF);
        const struct nuc_axis *axis = nuc_axis_to(&map, *channel);
        if (axis == NULL || !is_one_dim(axis, in, node))
            break;
        *channel = axis->from;
        node = in;
    }
    return node;
}

static bool fold_norms(struct nuc_graph *g, bool moved)
{
    struct nuc_node *next;
    bool changed = false;

    for (struct nuc_node *n = g->first; n != NULL; n = next) {
        next = n->next;
        if (n->op != NUC_OP_BATCH_NORM)
            continue;
        struct nuc_node *input = nuc_operand(g, n, NORM(input));
        uint32_t channel = 1;
        struct fold f = {.g = g, .norm = n, .layer = moved ? maker(g, input, &channel) : input};
        f.conv = nuc_conv_args(f.layer->op);
        if (f.conv == NULL && f.layer->op != NUC_OP_LINEAR)
            continue;
        const struct nuc_node *weight = nuc_operand(g, f.layer, NUC_CONV_WEIGHT),
                              *bias = nuc_arg_node(f.layer, NUC_CONV_BIAS);
        int64_t groups = f.conv != NULL ? nuc_integer(f.layer, f.conv->groups, 1) : 1;
        bool transposed = is_transposed(&f);
        if (f.layer->n_users != 1 || !nuc_is_static_float(weight) || (bias != NULL && !nuc_is_static_float(bias)))
            continue;
        /* A batch norm's channels are the second dimension, those of a layer the last but for the places of images. */
        if (f.layer->vals[0].rank != channel + 1 + (f.conv != NULL ? f.conv->spatial : 0))
            continue;
        if (nuc_flag(n, NORM(training)))
            continue;
        f.groups = groups > 0 ? (size_t)groups : 1;
        f.channels = (size_t)weight->vals[0].sizes[transposed ? 1 : 0] * (transposed ? f.groups : 1);
        if (f.channels == 0 || (size_t)weight->vals[0].sizes[0] % f.groups != 0)
            continue;
        f.epsilon = (float)nuc_scalar(n, NORM(eps), 0.0);
        if (!read_vector(&f, NORM(weight), true, &f.gamma) || !read_vector(&f, NORM(bias), true, &f.beta) ||
            !read_vector(&f, NORM(running_mean), false, &f.mean) ||
            !read_vector(&f, NORM(running_var), false, &f.variance))
            continue;
        /* The bias without one of its own is named after the weight, so it comes first. */
        fold_bias(&f);
        fold_weight(&f);
        nuc_replace_uses(g, n, input, NULL);
        nuc_remove_node(g, n);
        changed = true;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}

bool nuc_fold_batch_norm(struct nuc_graph *g)
{
    return fold_norms(g, false);
}

/* ---- products with a value for each channel, perhaps behind moves ---- */

/* The product that is all that reads the layer, and what it is multiplied with; NULL: there is none. */
static struct nuc_node *scale_of(struct nuc_graph *g, struct nuc_node *layer, struct nuc_node **scales)
{
    struct nuc_node *at = layer;
    const struct nuc_conv_args *conv = nuc_conv_args(layer->op);
    uint32_t behind = 1 + (conv != NULL ? conv->spatial : 0), dim = (uint32_t)layer->vals[0].rank - behind;
    int64_t channels = nuc_operand(g, layer, NUC_CONV_WEIGHT)->vals[0].sizes[0];

    while (at->n_users == 1 && at->users[0]->op != NUC_OP_MUL) {
        if (!nuc_is_call(at->users[0]))
            return NULL;
        uint32_t moved = nuc_moved_dim(at->users[0], &at->vals[0], dim);
        at = at->users[0];
        if (moved == at->vals[0].rank)
            return NULL;
        dim = moved;
    }
    if (at->n_users != 1)
        return NULL;
    struct nuc_node *product = at->users[0], *other = nuc_arg_node(product, NUC_OTHER);
    *scales = nuc_operand(g, product, other == at ? NUC_SELF : NUC_OTHER);
    if (other == NULL || *scales == at || !nuc_is_static_float(*scales))
        return NULL;
    const struct nuc_meta *m = &(*scales)->vals[0], *out = &product->vals[0];
    bool fits = out->rank == at->vals[0].rank && nuc_elements(out) == nuc_elements(&at->vals[0]) &&
                m->rank + dim >= out->rank && nuc_elements(m) == channels && channels > 1;
    return fits && m->sizes[m->rank + dim - out->rank] == channels ? product : NULL;
}

static void scale_rows(struct nuc_graph *g, struct nuc_node *layer, uint32_t arg, const float *scales)
{
    struct nuc_node *old = nuc_operand(g, layer, arg);
    const struct nuc_meta *m = &old->vals[0];
    size_t rows = (size_t)m->sizes[0], length = (size_t)nuc_elements(m) / rows;
    const float *from = nuc_const_contiguous(g, old);
    float *to = nuc_alloc_array(g->cx, rows * length, sizeof *to);

    for (size_t i = 0; i < rows * length; i++)
        to[i] = from[i] * scales[i / length];
    struct nuc_node *made = nuc_take_parameter(g, old, "_scaled", m, to);
    nuc_move_before(g, made, old);
    nuc_set_arg_node(layer, g, arg, made);
}

static bool fold_layer_scale(struct nuc_graph *g, struct nuc_node *layer)
{
    struct nuc_node *scales, *product;
    const struct nuc_node *bias = nuc_arg_node(layer, NUC_CONV_BIAS);

    if (!nuc_is_static_float(nuc_operand(g, layer, NUC_CONV_WEIGHT)) || (bias != NULL && !nuc_is_static_float(bias)))
        return false;
    product = scale_of(g, layer, &scales);
    if (product == NULL)
        return false;
    const float *values = nuc_const_contiguous(g, scales);
    scale_rows(g, layer, NUC_CONV_WEIGHT, values);
    if (bias != NULL)
        scale_rows(g, layer, NUC_CONV_BIAS, values);
    struct nuc_node *moved = nuc_operand(g, product, nuc_arg_node(product, NUC_OTHER) == scales ? NUC_SELF : NUC_OTHER);
    nuc_replace_uses(g, product, moved, NULL);
    return true;
}

bool nuc_fold_layer_scales(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_LINEAR, NUC_OP_CONV1D, NUC_OP_CONV2D), fold_layer_scale);
}

/* ---- alone ---- */

bool nuc_batch_norm_factors(struct nuc_graph *g, struct nuc_node *norm, float **scales, float **shifts)
{
    struct fold f = {.g = g, .norm = norm};
    const struct nuc_meta *in = &nuc_operand(g, norm, NORM(input))->vals[0];

    if (in->rank < 2 || in->sizes[1] < 1 || in->dtype != NUC_F32 || nuc_flag(norm, NORM(training)))
        return false;
    f.channels = (size_t)in->sizes[1];
    f.epsilon = (float)nuc_scalar(norm, NORM(eps), 0.0);
    if (!read_vector(&f, NORM(weight), true, &f.gamma) || !read_vector(&f, NORM(bias), true, &f.beta) ||
        !read_vector(&f, NORM(running_mean), false, &f.mean) || !read_vector(&f, NORM(running_var), false, &f.variance))
        return false;
    *scales = nuc_alloc_array(g->cx, f.channels, sizeof **scales);
    *shifts = nuc_alloc_array(g->cx, f.channels, sizeof **shifts);
    for (size_t c = 0; c < f.channels; c++) {
        (*scales)[c] = gamma_of(&f, c) * reciprocal_deviation(&f, c);
        (*shifts)[c] = (f.beta != NULL ? f.beta[c] : 0.0f) - f.mean[c] * (*scales)[c];
    }
    return true;
}

/* The linear layer that alone reads the channels of a norm, which others may move, as its inputs; NULL: there is none.
 */
static struct nuc_node *linear_reader(const struct nuc_node *norm)
{
    const struct nuc_node *node = norm;
    struct nuc_axis_map map;
    uint32_t channel = 1;

    while (node->n_users == 1 && is_move(node->users[0]) && nuc_axis_map(node->users[0], 0, NUC_SELF, 0, &map)) {
        const struct nuc_node *reader = node->users[0];
        uint32_t i = 0;
        while (i < map.count && map.axes[i].from != channel)
            i++;
        if (i == map.count || !is_one_dim(&map.axes[i], node, reader))
            return NULL;
        channel = map.axes[i].to;
        node = reader;
    }
    struct nuc_node *linear = node->n_users == 1 && node->users[0]->op == NUC_OP_LINEAR ? node->users[0] : NULL;
    return linear != NULL && nuc_arg_node(linear, NUC_CONV_INPUT) == node && channel + 1 == node->vals[0].rank ? linear
                                                                                                               : NULL;
}

/* linear(s * x + t): columns of the weight are multiplied by s, and the bias grows by the product with t. */
static bool fold_into_reader(struct nuc_graph *g, struct nuc_node *norm)
{
    struct nuc_node *linear = linear_reader(norm);
    float *scales, *shifts;

    if (linear == NULL)
        return false;
    struct nuc_node *weight = nuc_operand(g, linear, NUC_CONV_WEIGHT), *bias = nuc_arg_node(linear, NUC_CONV_BIAS);
    const struct nuc_meta *w = &weight->vals[0];
    if (!nuc_is_static_float(weight) || w->rank != 2 || (bias != NULL && !nuc_is_static_float(bias)) ||
        !nuc_batch_norm_factors(g, norm, &scales, &shifts))
        return false;
    const size_t rows = (size_t)w->sizes[0], columns = (size_t)w->sizes[1];
    const float *old = nuc_const_contiguous(g, weight), *old_bias = bias != NULL ? nuc_const_contiguous(g, bias) : NULL;
    float *folded = nuc_alloc_array(g->cx, rows * columns, sizeof *folded),
          *sums = nuc_alloc_array(g->cx, rows, sizeof *sums);
    for (size_t i = 0; i < rows; i++) {
        double sum = old_bias != NULL ? (double)old_bias[i] : 0;
        for (size_t k = i * columns; k < (i + 1) * columns; k++) {
            folded[k] = old[k] * scales[k - i * columns];
            sum += (double)old[k] * (double)shifts[k - i * columns];
        }
        sums[i] = (float)sum;
    }
    struct nuc_meta vector = nuc_meta_make(NUC_F32, w->sizes, 1);
    nuc_set_arg_node(linear, g, NUC_CONV_BIAS, nuc_take_parameter(g, weight, "_bias", &vector, sums));
    nuc_set_arg_node(linear, g, NUC_CONV_WEIGHT, nuc_take_parameter(g, weight, "_folded", w, folded));
    nuc_replace_uses(g, norm, nuc_operand(g, norm, NORM(input)), NULL);
    return true;
}

/* Over rows, [N, C, L], or images, [N, C, H, W]. */
static bool to_convolution(struct nuc_graph *g, struct nuc_node *norm)
{
    struct nuc_node *input = nuc_operand(g, norm, NORM(input)), *like = nuc_operand(g, norm, NORM(running_mean));
    const struct nuc_meta *in = &input->vals[0];
    bool images = in->rank == 4;
    const int64_t channels = in->rank < 2 ? 0 : in->sizes[1], sizes[] = {channels, 1, 1, 1};
    struct nuc_meta vector = nuc_meta_make(NUC_F32, &channels, 1);
    struct nuc_meta weight = nuc_meta_make(NUC_F32, sizes, images ? 4 : 3);
    float *scales, *shifts;

    if ((in->rank != 3 && in->rank != 4) || !nuc_batch_norm_factors(g, norm, &scales, &shifts))
        return false;
    struct nuc_node *conv = nuc_insert(g, norm, images ? NUC_OP_CONV2D : NUC_OP_CONV1D, norm);
    nuc_set_arg_node(conv, g, NUC_CONV_INPUT, input);
    nuc_set_arg_node(conv, g, NUC_CONV_WEIGHT, nuc_take_parameter(g, like, "_scale", &weight, scales));
    nuc_set_arg_node(conv, g, NUC_CONV_BIAS, nuc_take_parameter(g, like, "_shift", &vector, shifts));
    nuc_set_arg_int(conv, nuc_conv_args(conv->op)->groups, channels);
    nuc_infer_shape(g, conv);
    nuc_replace_uses(g, norm, conv, NULL);
    return true;
}

bool nuc_fold_moved_batch_norm(struct nuc_graph *g)
{
    const bool changed = fold_norms(g, true);

    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_BATCH_NORM), fold_into_reader) || changed;
}

bool nuc_batch_norm_to_conv(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_BATCH_NORM), to_convolution);
}
