/*
 * y = batch_norm(layer(x)): with s = gamma / sqrt(variance + epsilon), the weight of each output channel is multiplied
 * by s and the bias becomes (bias - mean) * s + beta. Layers are convolutions, transposed ones and linear. The order of
 * the float32 operations is that of torch's fuse_conv_bn_weights and fuse_linear_bn_weights, on which quantization
 * scales depend in their last digits. Moves between both stay where they are, and a product or a sum with one value for
 * each channel goes the same way. A norm behind something else goes into a layer without padding that alone reads it.
 */
#include <math.h>

#include "ir/args.h"
#include "ir/axis_map.h"
#include "ir/conv_args.h"
#include "ir/masks.h"
#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

#define NORM(name) NUC_ARG(BATCH_NORM, name)

/* A convolution or a linear whose weight and bias may change. */
struct layer {
    struct nuc_node *node, *weight, *bias; /* bias NULL: there is none */
    const struct nuc_conv_args *conv;      /* NULL: it is linear, which has input, weight and bias alike */
    size_t channels, groups;
    bool transposed;
};

static bool read_layer(struct nuc_graph *g, struct nuc_node *node, struct layer *l)
{
    *l = (struct layer){.node = node, .conv = nuc_conv_args(node->op)};
    if (l->conv == NULL && node->op != NUC_OP_LINEAR)
        return false;
    l->transposed = l->conv != NULL && l->conv->transposed;
    l->weight = nuc_operand(g, node, NUC_CONV_WEIGHT);
    l->bias = nuc_arg_node(node, NUC_CONV_BIAS);
    const struct nuc_meta *w = &l->weight->vals[0];
    int64_t groups = l->conv != NULL ? nuc_integer(node, l->conv->groups, 1) : 1;
    /* A linear layer whose weight is a vector has no channels. */
    if (!nuc_is_static_float(l->weight) || w->rank < 2 || (l->bias != NULL && !nuc_is_static_float(l->bias)))
        return false;
    l->groups = groups > 0 ? (size_t)groups : 1;
    l->channels = (size_t)w->sizes[l->transposed ? 1 : 0] * (l->transposed ? l->groups : 1);
    return l->channels > 0 && (size_t)w->sizes[0] % l->groups == 0 &&
           (l->bias == NULL || nuc_elements(&l->bias->vals[0]) == (int64_t)l->channels);
}

/* Of its result: the last but for the places of images. */
static uint32_t channel_dim(const struct layer *l)
{
    return l->node->vals[0].rank - 1u - (l->conv != NULL ? l->conv->spatial : 0);
}

/*
 * The last of the moves of `node`, each of which alone reads what is in front of it, or `node`; *dim: a dimension of
 * the one, then of the other.
 */
static struct nuc_node *moved(struct nuc_node *node, uint32_t *dim)
{
    while (node->n_users == 1 && nuc_is_call(node->users[0])) {
        struct nuc_node *move = node->users[0];
        uint32_t to = nuc_op_family(move->op) == NUC_FAMILY_COPY ? *dim : nuc_moved_dim(move, &node->vals[0], *dim);
        if (to == move->vals[0].rank)
            break;
        *dim = to;
        node = move;
    }
    return node;
}

/* It stands for the weight or bias, so it stands where that stood. */
static struct nuc_node *take_place(struct nuc_graph *g, struct nuc_node *old, const char *suffix,
                                   const struct nuc_meta *meta, const float *values)
{
    struct nuc_node *made = nuc_take_parameter(g, old, suffix, meta, values);

    nuc_move_before(g, made, old);
    return made;
}

/* One value for each channel, in place of the bias or where there is none. */
static void set_bias(struct nuc_graph *g, const struct layer *l, const float *values, const char *suffix)
{
    const int64_t channels = (int64_t)l->channels;
    const struct nuc_meta vector = nuc_meta_make(NUC_F32, &channels, 1);

    nuc_set_arg_node(l->node, g, NUC_CONV_BIAS,
                     l->bias != NULL ? take_place(g, l->bias, suffix, &vector, values)
                                     : nuc_take_parameter(g, l->weight, "_bias", &vector, values));
}

/* What makes an output channel is multiplied by its scale. */
static void scale_weight(struct nuc_graph *g, const struct layer *l, const float *scales, const char *suffix)
{
    const struct nuc_meta *w = &l->weight->vals[0];
    size_t count = (size_t)nuc_elements(w), columns = (size_t)w->sizes[1], inputs = (size_t)w->sizes[0] / l->groups;
    size_t slices =
        count == 0 ? 0 : (size_t)w->sizes[0] * (l->transposed ? columns : 1); /* of one output channel each */
    const float *old = nuc_const_contiguous(g, l->weight);
    float *scaled = nuc_alloc_array(g->cx, count, sizeof *scaled);

    for (size_t s = 0; s < slices; s++) {
        const size_t c = l->transposed ? s / columns / inputs * columns + s % columns : s, length = count / slices;
        for (size_t i = s * length; i < (s + 1) * length; i++)
            scaled[i] = old[i] * scales[c];
    }
    nuc_set_arg_node(l->node, g, NUC_CONV_WEIGHT, take_place(g, l->weight, suffix, w, scaled));
}

/* ---- batch norms behind a layer ---- */

struct norm {
    size_t channels;
    const float *gamma, *beta, *mean, *variance; /* gamma and beta may be NULL: 1 and 0 */
    float epsilon;
};

/* False when the argument is there but not static, or does not have one element per channel. */
static bool read_vector(struct nuc_graph *g, const struct nuc_node *node, uint32_t index, bool optional,
                        size_t channels, const float **out)
{
    const struct nuc_node *vector = nuc_arg_node(node, index);

    if (vector == NULL)
        return optional;
    if (!nuc_is_static_float(vector) || nuc_elements(&vector->vals[0]) != (int64_t)channels)
        return false;
    *out = nuc_const_contiguous(g, vector);
    return true;
}

static bool read_norm(struct nuc_graph *g, const struct nuc_node *node, size_t channels, struct norm *n)
{
    *n = (struct norm){.channels = channels, .epsilon = (float)nuc_scalar(node, NORM(eps), 0.0)};
    return !nuc_flag(node, NORM(training)) && read_vector(g, node, NORM(weight), true, channels, &n->gamma) &&
           read_vector(g, node, NORM(bias), true, channels, &n->beta) &&
           read_vector(g, node, NORM(running_mean), false, channels, &n->mean) &&
           read_vector(g, node, NORM(running_var), false, channels, &n->variance);
}

static float reciprocal_deviation(const struct norm *n, size_t channel)
{
    float sum = n->variance[channel] + n->epsilon;

    return 1.0f / sqrtf(sum);
}

static float gamma_of(const struct norm *n, size_t channel)
{
    return n->gamma != NULL ? n->gamma[channel] : 1.0f;
}

static float *scales_of(struct nuc_graph *g, const struct norm *n)
{
    float *scales = nuc_alloc_array(g->cx, n->channels, sizeof *scales);

    for (size_t c = 0; c < n->channels; c++)
        scales[c] = gamma_of(n, c) * reciprocal_deviation(n, c);
    return scales;
}

/* Convolution: ((b - mean) * r) * gamma + beta; linear: (b - mean) * (gamma * r) + beta. */
static void fold_bias(struct nuc_graph *g, const struct layer *l, const struct norm *n)
{
    const float *old = l->bias != NULL ? nuc_const_contiguous(g, l->bias) : NULL;
    float *folded = nuc_alloc_array(g->cx, l->channels, sizeof *folded);

    for (size_t c = 0; c < l->channels; c++) {
        float r = reciprocal_deviation(n, c);
        float centred = (old != NULL ? old[c] : 0.0f) - n->mean[c];
        float scale = gamma_of(n, c) * r;
        float once = centred * r;
        float scaled = l->conv == NULL ? centred * scale : once * gamma_of(n, c);
        folded[c] = scaled + (n->beta != NULL ? n->beta[c] : 0.0f);
    }
    set_bias(g, l, folded, "_folded");
}

/* A norm of what a layer makes, which moves may have brought there. */
static bool fold_norm(struct nuc_graph *g, struct nuc_node *node, const struct layer *l)
{
    struct norm n;

    if (!read_norm(g, node, l->channels, &n))
        return false;
    /* The bias without one of its own is named after the weight, so it comes first. */
    fold_bias(g, l, &n);
    scale_weight(g, l, scales_of(g, &n), "_folded");
    nuc_replace_uses(g, node, nuc_operand(g, node, NORM(input)), NULL);
    nuc_remove_node(g, node);
    return true;
}

static bool fold_into_layer(struct nuc_graph *g, struct nuc_node *norm)
{
    struct layer l;

    /* A batch norm's channels are the second dimension: a linear with more has them elsewhere, as have images alone. */
    return read_layer(g, nuc_operand(g, norm, NORM(input)), &l) && l.node->n_users == 1 && channel_dim(&l) == 1 &&
           fold_norm(g, norm, &l);
}

bool nuc_fold_batch_norm(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_BATCH_NORM), fold_into_layer);
}

/* What moves bring to a norm from a layer. */
static bool fold_moved(struct nuc_graph *g, struct nuc_node *norm)
{
    struct nuc_node *input = nuc_operand(g, norm, NORM(input)), *node = input;
    struct layer l;

    while (node != NULL && node->n_users == 1 && nuc_op_kind(node->op) == NUC_KIND_SHAPE)
        node = nuc_arg_node(node, NUC_SELF);
    if (node == NULL || node->n_users != 1 || !read_layer(g, node, &l))
        return false;
    uint32_t dim = channel_dim(&l);
    return moved(node, &dim) == input && dim == 1 && fold_norm(g, norm, &l);
}

/* ---- a value for each channel ---- */

/*
 * What `node`, a sum, difference, product or quotient of a layer's results `x` alone, has beside them: one value for
 * each channel, which is dimension `dim` of x, or a number in front of a sum with as many values. NULL: something else.
 */
static struct nuc_node *term_beside(const struct nuc_node *node, const struct nuc_node *x, uint32_t dim,
                                    int64_t channels)
{
    const bool scales = node->op == NUC_OP_MUL || node->op == NUC_OP_DIV;
    const bool first = nuc_is_call(node) && nuc_arg_node(node, NUC_SELF) == x;

    if ((!scales && node->op != NUC_OP_ADD && node->op != NUC_OP_SUB) ||
        (!first && (node->op == NUC_OP_DIV || (!scales && !nuc_has_plain_alpha(node)))))
        return NULL;
    struct nuc_node *values = nuc_arg_node(node, first ? NUC_OTHER : NUC_SELF);
    if (values == NULL || !nuc_is_static_float(values) || !nuc_same_sizes(&node->vals[0], &x->vals[0]))
        return NULL;
    const struct nuc_meta *m = &values->vals[0], *out = &node->vals[0];
    if (scales && nuc_elements(m) == 1 && node->n_users == 1) {
        const struct nuc_node *next = node->users[0];
        const bool sum = next->op == NUC_OP_ADD || next->op == NUC_OP_SUB;
        const struct nuc_node *term = sum ? nuc_arg_node(next, nuc_arg_node(next, NUC_SELF) == node) : NULL;
        return term != NULL && nuc_is_static_float(term) && nuc_elements(&term->vals[0]) == channels ? values : NULL;
    }
    bool fits = m->rank + dim >= out->rank && nuc_elements(m) == channels;
    return fits && m->sizes[m->rank + dim - out->rank] == channels ? values : NULL;
}

/* What becomes of a channel: results times scale plus term. */
struct channel {
    float scale, term;
};

static struct channel channel_of(enum nuc_op op, bool first, float value)
{
    if (op == NUC_OP_MUL || op == NUC_OP_DIV)
        return (struct channel){op == NUC_OP_DIV ? 1 / value : value, 0};
    if (op == NUC_OP_SUB)
        return first ? (struct channel){1, -value} : (struct channel){-1, value};
    return (struct channel){1, value};
}

/* A channel that is divided by zero stays, and one that its term hides: int8 has no steps for the others beside it. */
static bool can_fold(const struct channel *channel)
{
    return isfinite(channel->scale) && channel->term > NUC_MASKED / 2;
}

static bool fold_channel_term(struct nuc_graph *g, struct nuc_node *layer)
{
    struct layer l;

    if (!read_layer(g, layer, &l))
        return false;
    uint32_t dim = channel_dim(&l);
    struct nuc_node *last = moved(layer, &dim), *node = last->n_users == 1 ? last->users[0] : NULL;
    const struct nuc_node *beside = node != NULL ? term_beside(node, last, dim, (int64_t)l.channels) : NULL;
    if (beside == NULL)
        return false;
    const float *values = nuc_const_contiguous(g, beside),
                *old = l.bias != NULL ? nuc_const_contiguous(g, l.bias) : NULL;
    float *scales = nuc_alloc_array(g->cx, l.channels, sizeof *scales);
    float *bias = nuc_alloc_array(g->cx, l.channels, sizeof *bias);
    const bool one = nuc_elements(&beside->vals[0]) == 1, adds = node->op == NUC_OP_ADD || node->op == NUC_OP_SUB,
               first = nuc_arg_node(node, NUC_SELF) == last;
    const float alpha = adds ? (float)nuc_scalar(node, NUC_ARG(ADD, alpha), 1.0) : 1;
    for (size_t c = 0; c < l.channels; c++) {
        const struct channel of = channel_of(node->op, first, values[one ? 0 : c] * alpha);
        if (!can_fold(&of))
            return false;
        scales[c] = of.scale;
        bias[c] = (old != NULL ? old[c] : 0) * of.scale + of.term;
    }
    if (!adds || !first)
        scale_weight(g, &l, scales, "_scaled");
    if (adds || old != NULL)
        set_bias(g, &l, bias, adds ? "_combined" : "_scaled");
    nuc_replace_uses(g, node, last, NULL);
    nuc_remove_node(g, node);
    return true;
}

static bool fold_channel_terms(struct nuc_graph *g, struct nuc_node *layer)
{
    bool changed = false;

    while (fold_channel_term(g, layer))
        changed = true;
    return changed;
}

bool nuc_fold_channel_terms(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_LINEAR, NUC_OP_CONV1D, NUC_OP_CONV2D), fold_channel_terms);
}

/* ---- batch norms alone ---- */

static bool read_any_norm(struct nuc_graph *g, struct nuc_node *norm, struct norm *n)
{
    const struct nuc_meta *in = &nuc_operand(g, norm, NORM(input))->vals[0];

    return in->rank >= 2 && in->sizes[1] >= 1 && in->dtype == NUC_F32 && read_norm(g, norm, (size_t)in->sizes[1], n);
}

static float *shifts_of(struct nuc_graph *g, const struct norm *n, const float *scales)
{
    float *shifts = nuc_alloc_array(g->cx, n->channels, sizeof *shifts);

    for (size_t c = 0; c < n->channels; c++)
        shifts[c] = (n->beta != NULL ? n->beta[c] : 0.0f) - n->mean[c] * scales[c];
    return shifts;
}

bool nuc_batch_norm_factors(struct nuc_graph *g, struct nuc_node *norm, float **scales, float **shifts)
{
    struct norm n;

    if (!read_any_norm(g, norm, &n))
        return false;
    *scales = scales_of(g, &n);
    *shifts = shifts_of(g, &n, *scales);
    return true;
}

/* Whether every output is a sum over whole channels, dimension `channel` of the input: nothing is padded. */
static bool sums_channels(const struct layer *l, uint32_t channel)
{
    const uint32_t rank = nuc_arg_node(l->node, NUC_CONV_INPUT)->vals[0].rank;
    int64_t padding[NUC_MAX_RANK];

    if (l->conv == NULL || l->transposed || l->conv->named_padding || l->conv->spatial == 0)
        return l->conv == NULL && channel + 1 == rank;
    nuc_conv_numbers(l->node, l->conv->padding, l->conv->spatial, 0, padding);
    for (uint32_t i = 0; i < l->conv->spatial; i++) {
        if (padding[i] != 0)
            return false;
    }
    return channel == 1 && rank == l->conv->spatial + 2 && l->groups == 1;
}

/* What a deviation of the widest channel, with what it is about, may be of that of the narrowest. */
#define MOST_UNLIKE 12.0

/*
 * Channels that are unlike, as what several sensors measure: inputs of the model have one scale for all of them, in
 * which the narrow ones would have few steps, and a layer's weights one for each output, in which those of the wide
 * ones would. What a layer computes can be equalized.
 */
static bool is_unlike(const struct nuc_node *norm, const struct norm *n)
{
    const struct nuc_node *x = nuc_arg_node(norm, NORM(input));
    double most = 0, least = (double)INFINITY;

    for (; x != NULL && nuc_is_call(x); x = nuc_arg_node(x, NUC_SELF)) {
        if (nuc_op_family(x->op) == NUC_FAMILY_CONV || nuc_op_family(x->op) == NUC_FAMILY_MATRIX)
            return false;
    }
    for (size_t c = 0; c < n->channels; c++) {
        double deviation = 1 / (double)reciprocal_deviation(n, c);
        most = fmax(most, fabs((double)n->mean[c]) + 3 * deviation);
        least = fmin(least, deviation);
    }
    return most > MOST_UNLIKE * least;
}

/*
 * layer(s * x + t), where the layer alone reads the norm: columns of the weight are multiplied by s, and the bias
 * grows by the product with t.
 */
static bool fold_into_reader(struct nuc_graph *g, struct nuc_node *norm)
{
    uint32_t channel = 1;
    struct nuc_node *last = moved(norm, &channel);
    struct layer l;
    struct norm n;

    if (last->n_users != 1 || !read_layer(g, last->users[0], &l) || nuc_arg_node(l.node, NUC_CONV_INPUT) != last ||
        !sums_channels(&l, channel) || !read_any_norm(g, norm, &n) || is_unlike(norm, &n))
        return false;
    const float *scales = scales_of(g, &n), *shifts = shifts_of(g, &n, scales);
    const struct nuc_meta *w = &l.weight->vals[0];
    const size_t rows = l.channels, columns = (size_t)nuc_elements(w) / rows, taps = columns / (size_t)w->sizes[1];
    const float *old = nuc_const_contiguous(g, l.weight);
    const float *old_bias = l.bias != NULL ? nuc_const_contiguous(g, l.bias) : NULL;
    float *folded = nuc_alloc_array(g->cx, rows * columns, sizeof *folded),
          *sums = nuc_alloc_array(g->cx, rows, sizeof *sums);
    for (size_t i = 0; i < rows; i++) {
        double sum = old_bias != NULL ? (double)old_bias[i] : 0;
        for (size_t k = 0; k < columns; k++) {
            double weight = (double)old[i * columns + k];
            folded[i * columns + k] = old[i * columns + k] * scales[k / taps];
            sum += weight * (double)shifts[k / taps];
        }
        sums[i] = (float)sum;
    }
    struct nuc_meta vector = nuc_meta_make(NUC_F32, w->sizes, 1);
    nuc_set_arg_node(l.node, g, NUC_CONV_BIAS, nuc_take_parameter(g, l.weight, "_bias", &vector, sums));
    nuc_set_arg_node(l.node, g, NUC_CONV_WEIGHT, nuc_take_parameter(g, l.weight, "_folded", w, folded));
    nuc_replace_uses(g, norm, nuc_operand(g, norm, NORM(input)), NULL);
    return true;
}

bool nuc_fold_moved_batch_norm(struct nuc_graph *g)
{
    const bool changed = nuc_rewrite_each(g, NUC_OPS(NUC_OP_BATCH_NORM), fold_moved);

    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_BATCH_NORM), fold_into_reader) || changed;
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

bool nuc_batch_norm_to_conv(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_BATCH_NORM), to_convolution);
}
