/*
 * Norms as products, squares and a function of one value, in a form that keeps what int8 can keep of them. A row's sum
 * of squares is the product of the row with itself, which is rounded once, and 1 / sqrt(sum + eps) is the table at its
 * end. Where the deviations of rows differ by less than 16 times, neither errs more than the rounded row; the wide form
 * brings others there by a first factor. What is multiplied with it are the rows as they come: the mean is taken off by
 * the constant product behind it, that of the layers which read the norm where these are all that do, so that nothing
 * is rounded in between.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ir/args.h"
#include "ir/axis_map.h"
#include "ir/conv_args.h"
#include "ir/float_chain.h"
#include "npu/support/estimate.h"
#include "rewrite/npu_forms/npu_forms.h"
#include "rewrite/recognize/written.h"

/* Values along the channels or normalized dimensions; 1 and 0 where the norm has none. */
struct affine {
    const float *weight, *bias;
};

static bool read_vector(struct nuc_graph *g, const struct nuc_node *node, uint32_t arg, int64_t count,
                        const float **out)
{
    struct nuc_node *value = arg == 0 ? NULL : nuc_arg_node(node, arg);

    *out = NULL;
    if (value == NULL)
        return true;
    if (!nuc_is_static(value) || !nuc_is_float_value(value) || nuc_elements(&value->vals[0]) != count)
        return false;
    *out = nuc_const_contiguous(g, value);
    return true;
}

static double at(const float *values, int64_t i, double otherwise)
{
    return values == NULL ? otherwise : (double)values[i];
}

/* Weights of a layer, and of a convolution of one pixel, which have four sizes. */
static struct nuc_node *insert_matrix(struct nuc_graph *g, struct nuc_node *node, const float *weights, int64_t outputs,
                                      int64_t inputs)
{
    return nuc_insert_floats(g, node, weights, (const int64_t[]){outputs, inputs}, 2);
}

static struct nuc_node *insert_pixel(struct nuc_graph *g, struct nuc_node *node, const float *weights, int64_t outputs,
                                     int64_t inputs)
{
    return nuc_insert_floats(g, node, weights, (const int64_t[]){outputs, inputs, 1, 1}, 4);
}

/* NULL: there is none. */
static struct nuc_node *insert_bias(struct nuc_graph *g, struct nuc_node *node, const float *bias, int64_t count)
{
    return bias != NULL ? nuc_insert_floats(g, node, bias, &count, 1) : NULL;
}

/* As the norm is asked for. An RMS norm has one form for both short and fine. */
static struct nuc_norm_of asked_for(const struct nuc_support *s, const struct nuc_node *node)
{
    struct nuc_norm_of asked = {.form = s->norms != NULL ? s->norms->form : NUC_NORM_WHOLE};

    for (uint32_t i = 0; s->norms != NULL && i < s->norms->n_others; i++) {
        if (strcmp(s->norms->others[i].name, node->name) == 0)
            asked = s->norms->others[i];
    }
    if (asked.form == NUC_NORM_FINE && node->op != NUC_OP_LAYER_NORM && node->op != NUC_OP_GROUP_NORM)
        asked.form = NUC_NORM_SHORT;
    return asked;
}

/* ---- rows ---- */

struct rows {
    int64_t count, n; /* of n values each */
    bool centred;
    bool takes_off_rest; /* of the mean, which rounding left: layers do, for nothing */
    double eps;
    struct affine affine;
    bool is_read_by_layers; /* alone, which can take off the mean and have the weights */
    bool fine;              /* the mean is taken off at the end in any case */
    bool wide;              /* and rows get a first factor */
    double least;           /* as in struct nuc_norm_of */
    bool takes_off_mean;    /* a constant product of int8 weights does, nearly */
};

/* Weights of the diagonal and beside it of I - 1/n in steps of the first: how far off the sum of a row may be. */
#define MOST_MEAN_LEFT 0.03

/* Between a norm and a layer that reads it. */
#define MOST_MOVES 4

/* Weights of the product that a norm is given; the shorter form has a layer of each channel by itself instead. */
#define MAX_WEIGHTS ((int64_t)1 << 17)
#define MAX_WEIGHTS_IN_SHORT ((int64_t)1 << 15)

/* Operators of each value of the rows that such a product may take as long as. */
#define MOST_FOR_PRODUCT 3

static bool takes_off_mean(int64_t n)
{
    double others = (double)(n - 1), left = fabs(round(INT8_MAX / others) * others / INT8_MAX - 1);

    return n > 1 && left < MOST_MEAN_LEFT;
}

/* Arguments of layers that sum over a dimension of what they read. */
static const struct layer {
    enum nuc_op op;
    uint32_t input, weight, bias;
} layers[] = {
    {NUC_OP_LINEAR, NUC_ARG(LINEAR, input), NUC_ARG(LINEAR, weight), NUC_ARG(LINEAR, bias)},
    {NUC_OP_CONV2D, NUC_ARG(CONV2D, input), NUC_ARG(CONV2D, weight), NUC_ARG(CONV2D, bias)},
};

/*
 * The layer that reads dimension `dim` of the value; NULL: the node is none. What a convolution pads with is no row
 * that was normalized.
 */
static const struct layer *layer_of(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_node *value,
                                    uint32_t dim)
{
    const struct layer *l = node->op == NUC_OP_LINEAR ? &layers[0] : node->op == NUC_OP_CONV2D ? &layers[1] : NULL;
    const struct nuc_node *vectors[2];
    int64_t before[2] = {0}, after[2] = {0};

    if (l == NULL || nuc_arg_node(node, l->input) != value)
        return NULL;
    vectors[0] = nuc_operand(g, node, l->weight);
    vectors[1] = nuc_arg_node(node, l->bias);
    for (int i = 0; i < 2; i++) {
        if (vectors[i] != NULL && (!nuc_is_static(vectors[i]) || !nuc_is_float_value(vectors[i])))
            return NULL;
    }
    bool is_summed = dim + (node->op == NUC_OP_LINEAR ? 1 : 3) == value->vals[0].rank &&
                     vectors[0]->vals[0].sizes[1] == value->vals[0].sizes[dim];
    if (node->op == NUC_OP_CONV2D)
        is_summed = is_summed && nuc_conv_paddings(node, NUC_ARG(CONV2D, padding), before, after) &&
                    before[0] + before[1] + after[0] + after[1] == 0;
    return is_summed ? l : NULL;
}

/*
 * Calls `use` for each layer that sums over dimension `dim` of the value, behind up to `moves` that keep rows whole.
 * False: others read it, too.
 */
static bool each_layer(struct nuc_graph *g, const struct nuc_node *value, uint32_t dim, int moves,
                       void (*use)(struct nuc_graph *g, struct nuc_node *node, const struct layer *l,
                                   const struct rows *r),
                       const struct rows *r)
{
    for (uint32_t i = 0; i < value->n_users; i++) {
        struct nuc_node *user = value->users[i];
        const struct layer *l = layer_of(g, user, value, dim);
        if (l != NULL) {
            if (use != NULL)
                use(g, user, l, r);
            continue;
        }
        if (moves == 0 || !nuc_is_call(user))
            return false;
        uint32_t moved = nuc_moved_dim(user, &value->vals[0], dim);
        if (moved == user->vals[0].rank || !each_layer(g, user, moved, moves - 1, use, r))
            return false;
    }
    return value->n_users > 0;
}

static bool read_rows(const struct nuc_support *s, const struct nuc_node *node, struct rows *r)
{
    const struct nuc_norm_of asked = asked_for(s, node);
    struct nuc_graph *g = s->g;
    const struct nuc_node *x = nuc_arg_node(node, NUC_SELF);
    bool rms = node->op == NUC_OP_RMS_NORM;

    if (!nuc_is_float_value(x) || !nuc_is_float_value(node) || nuc_is_static(x))
        return false;
    const struct nuc_meta *m = &x->vals[0];
    uint32_t dims = nuc_arg_at(node, NUC_ARG(LAYER_NORM, normalized_shape))->count;
    *r = (struct rows){.centred = !rms && !node->is_centred,
                       .takes_off_rest = node->is_centred,
                       .least = asked.least,
                       .fine = asked.form != NUC_NORM_SHORT,
                       .wide = asked.form == NUC_NORM_WIDE};
    r->n = nuc_elements_between(m, m->rank - dims, m->rank);
    r->count = nuc_elements(m) / r->n;
    r->eps = nuc_scalar(node, rms ? NUC_ARG(RMS_NORM, eps) : NUC_ARG(LAYER_NORM, eps), (double)FLT_EPSILON);
    r->is_read_by_layers = dims == 1 && each_layer(g, node, m->rank - 1, MOST_MOVES, NULL, r);
    r->takes_off_mean = r->centred && takes_off_mean(r->n);
    return r->n > 1 && read_vector(g, node, NUC_ARG(LAYER_NORM, weight), r->n, &r->affine.weight) &&
           read_vector(g, node, rms ? 0 : NUC_ARG(LAYER_NORM, bias), r->n, &r->affine.bias);
}

/* One weight for all and no bias: the root has them. */
static bool is_uniform(const struct rows *r)
{
    double off = 0;

    for (int64_t i = 0; i < r->n; i++)
        off += fabs(at(r->affine.weight, i, 1) - at(r->affine.weight, 0, 1)) + fabs(at(r->affine.bias, i, 0));
    return !(off > 0);
}

/* A product is the finest end, where it is small; the layers behind, if these have the weights, need none. */
static bool has_product(const struct nuc_target *t, const struct rows *r)
{
    uint64_t count = (uint64_t)r->count, n = (uint64_t)r->n;

    return !r->is_read_by_layers && (r->centred || !is_uniform(r)) &&
           2 * r->n * r->n <= (r->fine ? MAX_WEIGHTS : MAX_WEIGHTS_IN_SHORT) &&
           nuc_estimate_product(t, count, n, 2 * n) <= MOST_FOR_PRODUCT * nuc_estimate_move(t, count * n);
}

static uint64_t rows_cycles(const struct nuc_target *t, const struct rows *r)
{
    uint64_t count = (uint64_t)r->count, n = (uint64_t)r->n, each = nuc_estimate_move(t, count * n);
    uint64_t cycles = (r->wide ? 4 : 2) * each; /* the squares, and the product with their root */

    if (r->centred)
        cycles +=
            r->takes_off_mean ? nuc_estimate_product(t, count, n, n) : nuc_estimate_product(t, count, 1, n) + each;
    if (has_product(t, r))
        cycles += each + nuc_estimate_product(t, count, n, 2 * n) +
                  (r->centred && r->fine && !r->takes_off_mean ? 2 * nuc_estimate_move(t, count) : 0);
    else if (!r->is_read_by_layers)
        cycles += (is_uniform(r) ? 0 : each) +
                  (r->centred && r->fine && !r->takes_off_mean ? each + nuc_estimate_move(t, count) : 0);
    return cycles;
}

static uint64_t on_cpu(const struct nuc_target *t, const struct nuc_node *node)
{
    return nuc_estimate_cpu(t, node, false) + t->costs.npu_call;
}

/* I - 1/n */
static struct nuc_node *centring(struct nuc_graph *g, struct nuc_node *node, int64_t n)
{
    float *out = nuc_alloc_array(g->cx, (size_t)(n * n), sizeof *out);

    for (int64_t i = 0; i < n * n; i++)
        out[i] = (float)((i % (n + 1) == 0 ? 1.0 : 0.0) - 1.0 / (double)n);
    return insert_matrix(g, node, out, n, n);
}

/* Weights w of a layer as w diag(weight) (I - 1/n) sqrt(n) at each tap, its bias with w times that of the norm. */
static void take_over(struct nuc_graph *g, struct nuc_node *layer, const struct layer *l, const struct rows *r)
{
    struct nuc_node *w = nuc_operand(g, layer, l->weight), *b = nuc_arg_node(layer, l->bias);
    const struct nuc_meta weights = nuc_meta_make(NUC_F32, w->vals[0].sizes, w->vals[0].rank);
    int64_t n = r->n, outputs = weights.sizes[0], taps = nuc_elements_between(&weights, 2, weights.rank);
    const float *from = nuc_const_contiguous(g, w), *bias = b != NULL ? nuc_const_contiguous(g, b) : NULL;
    float *to = nuc_alloc_array(g->cx, (size_t)(outputs * n * taps), sizeof *to);
    float *sums = nuc_alloc_array(g->cx, (size_t)outputs, sizeof *sums);
    const struct nuc_meta vector = nuc_meta_make(NUC_F32, &outputs, 1);

    for (int64_t o = 0; o < outputs; o++) {
        double sum = at(bias, o, 0);
        for (int64_t tap = o * n * taps; tap < o * n * taps + taps; tap++) {
            double mean = 0;
            for (int64_t i = 0; i < n; i++) {
                double value = (double)from[tap + i * taps];
                mean += r->centred || r->takes_off_rest ? value * at(r->affine.weight, i, 1) / (double)n : 0;
                sum += value * at(r->affine.bias, i, 0);
            }
            for (int64_t i = 0; i < n; i++)
                to[tap + i * taps] =
                    (float)((double)from[tap + i * taps] * at(r->affine.weight, i, 1) * sqrt((double)n) -
                            mean * sqrt((double)n));
        }
        sums[o] = (float)sum;
    }
    nuc_set_arg_node(layer, g, l->weight, nuc_add_parameter(g, w, "_normed", &weights, to));
    if (r->affine.bias != NULL)
        nuc_set_arg_node(layer, g, l->bias, nuc_add_parameter(g, b != NULL ? b : w, "_normed", &vector, sums));
}

/*
 * weight (x - mean) root + bias as one product with a constant. Positive and negative values apart, one beside the
 * other, have steps half as large. Where weights of the product do not take off the mean (NULL: 0), it is one more
 * value.
 */
static struct nuc_node *finish_in_product(const struct nuc_support *s, struct nuc_node *node, struct nuc_node *x,
                                          struct nuc_node *mean, struct nuc_node *root, const struct rows *r)
{
    int64_t n = r->n, width = 2 * n + (mean != NULL ? 2 : 0);
    float *weights = nuc_alloc_array(s->g->cx, (size_t)(n * width), sizeof *weights);
    double left = r->takes_off_mean ? 1.0 / (double)n : 0;

    for (int64_t i = 0; i < n; i++) {
        double factor = at(r->affine.weight, i, 1) * sqrt((double)n);
        for (int64_t k = 0; k < width; k++) {
            double value = k < 2 * n ? (i == k % n ? 1.0 : 0.0) - left : -1;
            bool negated = k < 2 * n ? k >= n : k > 2 * n;
            weights[i * width + k] = (float)((negated ? -value : value) * factor);
        }
    }
    struct nuc_node *values = nuc_built(s, node, "in_halves", NUC_ARGS(x, mean, root));
    struct nuc_node *b = insert_bias(s->g, node, r->affine.bias, n);
    return nuc_emit(s->g, node, NUC_OP_LINEAR, node, NUC_ARGS(values, insert_matrix(s->g, node, weights, n, width), b));
}

/* weight root(n) y + bias of [N, C, H, W]: a layer of each channel by itself, which rounds once. */
static struct nuc_node *scaled_channels(const struct nuc_support *s, struct nuc_node *node, struct nuc_node *y,
                                        int64_t n, const struct affine *affine)
{
    const int64_t channels = y->vals[0].sizes[1];
    float *weights = nuc_alloc_array(s->g->cx, (size_t)channels, sizeof *weights);

    for (int64_t i = 0; i < channels; i++)
        weights[i] = (float)(sqrt((double)n) * at(affine->weight, i, 1));
    struct nuc_node *b = insert_bias(s->g, node, affine->bias, channels);
    return nuc_built(s, node, "pixel_layer", NUC_ARGS(y, insert_pixel(s->g, node, weights, channels, 1), b));
}

/*
 * weight (x - mean) root + bias. The mean (NULL: 0) is taken off last, so that what is rounded has rows of one
 * deviation.
 */
static struct nuc_node *finish_in_steps(const struct nuc_support *s, struct nuc_node *node, struct nuc_node *x,
                                        struct nuc_node *mean, struct nuc_node *root, const struct rows *r)
{
    const double factor = (double)(float)(sqrt((double)r->n) * at(r->affine.weight, 0, 1));

    if (is_uniform(r))
        return nuc_built(s, node, "times_root",
                         NUC_ARGS(x, mean, nuc_insert_with_number(s->g, node, NUC_OP_MUL, root, factor)));
    struct nuc_node *y = nuc_built(s, node, "times_root_of_pixels", NUC_ARGS(x, mean, root));
    return scaled_channels(s, node, y, r->n, &r->affine);
}

static struct nuc_node *form_rows(const struct nuc_support *s, struct nuc_node *node, bool build)
{
    struct nuc_graph *g = s->g;
    struct rows r;

    if (!read_rows(s, node, &r) || r.n > s->target->max_mac_buffer - s->target->num_macs ||
        rows_cycles(s->target, &r) >= on_cpu(s->target, node))
        return NULL;
    if (!build)
        return node;
    const struct nuc_meta out = node->vals[0];
    const int64_t matrix[] = {r.count, r.n};
    double eps = r.eps * (double)r.n;
    struct nuc_node *x = nuc_insert_reshaped(g, node, nuc_operand(g, node, NUC_SELF), matrix, 2), *factor = NULL;
    if (r.wide) {
        factor = nuc_built(s, node, "first_factor_of_rows", NUC_ARGS(x, eps, r.least));
        x = nuc_insert_binary(g, node, NUC_OP_MUL, x, factor);
    }
    struct nuc_node *mean = NULL, *centred = x, *y;
    if (r.centred && !r.takes_off_mean) {
        mean = nuc_built(s, node, "mean_of_rows", NUC_ARGS(x));
        centred = nuc_insert_binary(g, node, NUC_OP_SUB, x, mean);
    } else if (r.centred) {
        centred = nuc_emit(g, node, NUC_OP_LINEAR, node, NUC_ARGS(x, centring(g, node, r.n)));
    }
    struct nuc_node *root = nuc_built(s, node, "root_of_rows", NUC_ARGS(centred, eps, factor, r.least));

    if (r.is_read_by_layers) {
        each_layer(g, node, out.rank - 1, MOST_MOVES, take_over, &r);
        y = nuc_insert_binary(g, node, NUC_OP_MUL, x, root);
    } else if (has_product(s->target, &r)) {
        y = r.fine || r.takes_off_mean ? finish_in_product(s, node, x, mean, root, &r)
                                       : finish_in_product(s, node, centred, NULL, root, &r);
    } else {
        y = finish_in_steps(s, node, r.fine && mean != NULL ? x : centred, r.fine ? mean : NULL, root, &r);
    }
    return nuc_insert_reshaped(g, node, y, out.sizes, out.rank);
}

/* ---- channels ---- */

/* [N, C, H, W] with `groups` of channels that are normalized together. */
struct channels {
    int64_t sizes[4], groups;
    double eps;
    struct affine affine;
    bool wide, has_product; /* groups get a first factor; a product with a constant finishes both sides of the mean */
    bool in_rows;           /* of one pixel: a group is a row */
};

static bool read_channels(const struct nuc_support *s, const struct nuc_node *node, struct channels *c)
{
    const struct nuc_node *x = nuc_arg_node(node, NUC_SELF);
    enum nuc_norm_form form = asked_for(s, node).form;
    struct nuc_graph *g = s->g;

    if (!nuc_is_float_value(x) || !nuc_is_float_value(node) || nuc_is_static(x))
        return false;
    const struct nuc_meta *m = &x->vals[0];
    if (m->rank != 3 && m->rank != 4)
        return false;
    *c = (struct channels){.sizes = {m->sizes[0], m->sizes[1], m->rank == 4 ? m->sizes[2] : 1, m->sizes[m->rank - 1]},
                           .groups = nuc_integer(node, NUC_ARG(GROUP_NORM, num_groups), 1),
                           .eps = nuc_scalar(node, NUC_ARG(GROUP_NORM, eps), 1e-5),
                           .wide = form == NUC_NORM_WIDE};
    c->has_product = 2 * m->sizes[1] * m->sizes[1] <= (form == NUC_NORM_SHORT ? MAX_WEIGHTS_IN_SHORT : MAX_WEIGHTS);
    c->in_rows = c->sizes[2] * c->sizes[3] == 1;
    c->wide &= !c->in_rows;
    c->has_product &= !c->in_rows;
    return c->groups > 0 && c->sizes[1] > (c->in_rows ? c->groups : 0) &&
           read_vector(g, node, NUC_ARG(GROUP_NORM, weight), c->sizes[1], &c->affine.weight) &&
           read_vector(g, node, NUC_ARG(GROUP_NORM, bias), c->sizes[1], &c->affine.bias);
}

static int64_t group_size(const struct channels *c)
{
    return c->sizes[1] / c->groups * c->sizes[2] * c->sizes[3];
}

static bool channels_gain(const struct nuc_target *t, const struct nuc_node *node, const struct channels *c)
{
    uint64_t each = nuc_estimate_move(t, (uint64_t)nuc_elements(&node->vals[0])), images = (uint64_t)c->sizes[0];
    uint64_t channels = (uint64_t)c->sizes[1], pixels = images * (uint64_t)(c->sizes[2] * c->sizes[3]);
    uint64_t groups = (uint64_t)c->groups, cycles = (c->wide ? 7 : c->in_rows ? 3 : 5) * each;

    if (c->has_product)
        cycles += (c->wide ? 4 : 2) * each + nuc_estimate_product(t, pixels, channels, 2 * channels);
    if (groups < channels)
        cycles += nuc_estimate_product(t, images * groups, channels / groups, channels / groups);
    if (groups > 1 && !c->in_rows)
        cycles += each + nuc_estimate_product(t, images, (c->has_product ? 2 : 1) * channels, groups);
    /* Between two partitions the channels lie in another order. */
    return cycles < on_cpu(t, node) + 2 * each;
}

/*
 * weight root(n) (above - below) + bias. What is above the mean and what is below it are channels of their own: their
 * steps are half as large.
 */
static struct nuc_node *insert_difference(struct nuc_graph *g, struct nuc_node *node, const struct channels *c)
{
    int64_t channels = c->sizes[1];
    float *weights = nuc_alloc_array(g->cx, (size_t)(2 * channels * channels), sizeof *weights);

    for (int64_t i = 0; i < channels; i++) {
        weights[i * 2 * channels + i] = (float)(sqrt((double)group_size(c)) * at(c->affine.weight, i, 1));
        weights[i * 2 * channels + channels + i] = -weights[i * 2 * channels + i];
    }
    return insert_pixel(g, node, weights, channels, 2 * channels);
}

/* In the wide form between groups there are decades, between images hardly. */
static struct nuc_node *form_channels(const struct nuc_support *s, struct nuc_node *node, bool build)
{
    struct nuc_graph *g = s->g;
    struct channels c;

    if (!read_channels(s, node, &c) || group_size(&c) > s->target->max_mac_buffer - s->target->num_macs ||
        !channels_gain(s->target, node, &c))
        return NULL;
    if (!build)
        return node;
    const struct nuc_meta out = node->vals[0];
    const int64_t n = group_size(&c);
    double eps = c.eps * (double)n;
    struct nuc_node *x = nuc_insert_reshaped(g, node, nuc_operand(g, node, NUC_SELF), c.sizes, 4), *y;
    if (c.in_rows) {
        y = nuc_built(s, node, "group_norm_in_rows", NUC_ARGS(x, c.groups, eps, centring(g, node, n)));
    } else if (c.has_product) {
        y = nuc_built(s, node, "groups_above_and_below", NUC_ARGS(x, c.groups, eps, nuc_bool_arg(c.wide)));
        struct nuc_node *b = insert_bias(g, node, c.affine.bias, c.sizes[1]);
        y = nuc_built(s, node, "pixel_layer", NUC_ARGS(y, insert_difference(g, node, &c), b));
    } else {
        y = nuc_built(s, node, "normed_groups", NUC_ARGS(x, c.groups, eps, nuc_bool_arg(c.wide)));
    }
    if (!c.has_product)
        y = scaled_channels(s, node, y, n, &c.affine);
    return nuc_insert_reshaped(g, node, y, out.sizes, out.rank);
}

/* ---- sums and means of squares, as of a norm that is used by itself ---- */

/* x of x x or x^2, which stays in float for its sum; NULL: the node is something else. */
static struct nuc_node *squared(const struct nuc_node *node)
{
    const struct nuc_node *square = nuc_arg_node(node, NUC_SELF);
    struct nuc_node *x = square != NULL && square->n_users == 1 ? nuc_arg_node(square, NUC_SELF) : NULL;

    if (!nuc_is_float_value(x) || nuc_op_family(node->op) != NUC_FAMILY_REDUCE)
        return NULL;
    const double power = square->op == NUC_OP_SQUARE       ? 2
                         : square->op == NUC_OP_POW_SCALAR ? nuc_scalar(square, NUC_ARG(POW_SCALAR, exponent), 0)
                                                           : 0;
    return (power >= 2 && power <= 2) || (nuc_is_exact_product(square) && x == nuc_arg_node(square, NUC_OTHER)) ? x
                                                                                                                : NULL;
}

/* Dimensions that squares are summed over; 0: the node is something else. */
static uint32_t squared_dims(const struct nuc_node *node)
{
    const struct nuc_node *x = squared(node);
    const uint32_t rank = x != NULL ? x->vals[0].rank : 0;

    if (x == NULL || (node->op != NUC_OP_SUM && node->op != NUC_OP_SUM_DIM && node->op != NUC_OP_MEAN_DIM))
        return 0;
    return node->op == NUC_OP_SUM ? (1u << rank) - 1 : nuc_dims_mask(node, NUC_ARG(SUM_DIM, dim), rank);
}

/* The dimensions with those that are summed last; the elements of these. */
static int64_t summed_last(const struct nuc_meta *m, uint32_t mask, int64_t order[NUC_MAX_RANK])
{
    uint32_t first = nuc_list_dims(~mask, m->rank, order);
    int64_t n = 1;

    nuc_list_dims(mask, m->rank, order + first);
    for (uint32_t i = first; i < m->rank; i++)
        n *= m->sizes[order[i]];
    return n;
}

static struct nuc_node *form_squares(const struct nuc_support *s, struct nuc_node *node, bool build)
{
    struct nuc_graph *g = s->g;
    const struct nuc_target *t = s->target;
    const uint32_t mask = squared_dims(node);
    const struct nuc_meta out = node->vals[0];
    int64_t order[NUC_MAX_RANK];

    if (mask == 0 || out.dtype != NUC_F32)
        return NULL;
    const struct nuc_node *square = nuc_operand(g, node, NUC_SELF);
    uint64_t each = nuc_estimate_move(t, (uint64_t)nuc_elements(&square->vals[0]));
    int64_t n = summed_last(&square->vals[0], mask, order);
    if (n > t->max_mac_buffer - t->num_macs ||
        2 * each >= nuc_estimate_cpu(t, square, true) + nuc_estimate_cpu(t, node, true))
        return NULL;
    if (!build)
        return node;
    return nuc_built(s, node, "sum_of_squares",
                     NUC_ARGS(nuc_operand(g, square, NUC_SELF), nuc_ints_arg(order, square->vals[0].rank), n,
                              node->op == NUC_OP_MEAN_DIM ? 1.0 / (double)n : 1.0));
}

/* As form_squares() builds it. */
static bool is_sum_of_squares(struct nuc_graph *g, struct nuc_node *value)
{
    const struct nuc_node *sum = nuc_past_views(value);
    double number;

    if (sum != NULL && sum->op == NUC_OP_MUL && nuc_number_of(g, nuc_arg_node(sum, NUC_OTHER), &number) && number > 0)
        sum = nuc_past_views(nuc_arg_node(sum, NUC_SELF));
    return sum != NULL && sum->op == NUC_OP_BMM && sum->vals[0].sizes[1] == 1 && sum->vals[0].sizes[2] == 1 &&
           nuc_past_views(nuc_arg_node(sum, NUC_SELF)) == nuc_past_views(nuc_arg_node(sum, NUC_OTHER));
}

static struct nuc_node *form_root(const struct nuc_support *s, struct nuc_node *node, bool build)
{
    struct nuc_node *sum = nuc_arg_node(node, NUC_SELF);

    if (!nuc_is_float_value(node) || !is_sum_of_squares(s->g, sum))
        return NULL;
    return build ? nuc_built(s, node, "root_of_sum", NUC_ARGS(sum)) : node;
}

/* ---- variances, as of a norm or of statistics that are pooled: means of squares of what differs from the mean ---- */

/* What the mean of the squares is times, n / (n - correction); 0: there is none. */
static double times_mean(const struct nuc_node *x, const struct nuc_node *node)
{
    double n = (double)nuc_elements(&x->vals[0]) / (double)nuc_elements(&node->vals[0]);
    double correction = nuc_scalar(node, NUC_ARG(VAR, correction), 1);

    return n > correction ? n / (n - correction) : 0;
}

static struct nuc_node *form_variance(const struct nuc_support *s, struct nuc_node *node, bool build)
{
    struct nuc_graph *g = s->g;
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF);
    const uint64_t operators = 4, each = nuc_estimate_move(s->target, (uint64_t)nuc_elements(&x->vals[0]));

    if (!nuc_is_float_value(node) || !(times_mean(x, node) > 0) || operators * each >= on_cpu(s->target, node))
        return NULL;
    if (!build)
        return node;
    int64_t dims[NUC_MAX_RANK];
    const uint32_t rank = x->vals[0].rank,
                   count = nuc_list_dims(nuc_dims_mask(node, NUC_ARG(VAR, dim), rank), rank, dims);
    return nuc_built(s, node, "mean_of_squares", NUC_ARGS(x, nuc_ints_arg(dims, count), times_mean(x, node)));
}

/* ---- quotients by few values that are positive, as by a mean of norms ---- */

#define MOST_STEPS 8

/* A layer that adds up what it reads, as a mean of the channels is one. */
static bool adds_up(struct nuc_graph *g, const struct nuc_node *layer)
{
    struct nuc_node *w = nuc_operand(g, layer, NUC_ARG(CONV2D, weight));

    if (!nuc_is_static(w) || !nuc_is_float_value(w) || nuc_arg_node(layer, NUC_ARG(CONV2D, bias)) != NULL)
        return false;
    const float *weights = nuc_const_contiguous(g, w);
    for (int64_t i = 0; i < nuc_elements(&w->vals[0]); i++) {
        if (!(weights[i] >= 0))
            return false;
    }
    return true;
}

static bool is_positive(struct nuc_graph *g, struct nuc_node *value)
{
    bool above = false; /* by a number that is added */
    double number;

    for (int i = 0; value != NULL && nuc_is_float_value(value) && i < MOST_STEPS; i++) {
        switch ((int)value->op) {
        case NUC_OP_EXP:
        case NUC_OP_SIGMOID:
        case NUC_OP_SOFTMAX:
            return true;
        case NUC_OP_SQRT:
        case NUC_OP_ABS:
        case NUC_OP_RELU:
            return above;
        case NUC_OP_ADD:
            if (!nuc_number_of(g, nuc_arg_node(value, NUC_OTHER), &number))
                return false;
            number *= nuc_scalar(value, NUC_ARG(ADD, alpha), 1);
            if (number < 0)
                return false;
            above |= number > 0;
            break;
        case NUC_OP_MUL:
        case NUC_OP_BMM:
            return is_sum_of_squares(g, value);
        case NUC_OP_CONV2D:
        case NUC_OP_LINEAR:
            if (!adds_up(g, value))
                return false;
            break;
        case NUC_OP_MEAN_DIM:
        case NUC_OP_SUM_DIM:
            break;
        default:
            if (nuc_op_family(value->op) != NUC_FAMILY_VIEW)
                return false;
        }
        value = nuc_arg_node(value, NUC_SELF);
    }
    return false;
}

static struct nuc_node *form_quotient(const struct nuc_support *s, struct nuc_node *node, bool build)
{
    struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);

    if (!nuc_divides_by_few(node) || !is_positive(s->g, b))
        return NULL;
    return build ? nuc_built(s, node, "times_inverse", NUC_ARGS(a, b)) : node;
}

/* ---- the forms ---- */

/* What the norm becomes, if that is asked for and gains; the node itself where nothing is built. NULL: it stays. */
static struct nuc_node *form_by_op(const struct nuc_support *s, struct nuc_node *node, bool build)
{
    if (asked_for(s, node).form == NUC_NORM_WHOLE)
        return NULL;
    switch ((int)node->op) {
    case NUC_OP_LAYER_NORM:
    case NUC_OP_RMS_NORM:
        return form_rows(s, node, build);
    case NUC_OP_GROUP_NORM:
        return form_channels(s, node, build);
    case NUC_OP_SUM:
    case NUC_OP_SUM_DIM:
    case NUC_OP_MEAN_DIM:
        return form_squares(s, node, build);
    case NUC_OP_SQRT:
        return form_root(s, node, build);
    case NUC_OP_VAR:
        return form_variance(s, node, build);
    case NUC_OP_DIV:
        return form_quotient(s, node, build);
    default:
        return NULL;
    }
}

bool nuc_has_npu_norm(const struct nuc_support *s, struct nuc_node *node)
{
    return form_by_op(s, node, false) != NULL;
}

static struct nuc_node *form_norm(const struct nuc_support *s, struct nuc_node *node)
{
    return form_by_op(s, node, true);
}

const struct nuc_npu_form nuc_norm_forms[] = {
    {NUC_OPS(NUC_OP_LAYER_NORM, NUC_OP_RMS_NORM, NUC_OP_GROUP_NORM, NUC_OP_SUM, NUC_OP_SUM_DIM, NUC_OP_MEAN_DIM,
             NUC_OP_SQRT, NUC_OP_VAR, NUC_OP_DIV),
     form_norm},
    {.form = NULL},
};
