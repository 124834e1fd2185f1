#include "quantize/search/bias_correction.h"

#include <math.h>
#include <string.h>

#include "eval/eval_parallel.h"
#include "host/clones.h"
#include "ir/conv_args.h"
#include "quantize/layers.h"
#include "quantize/quantized_constant.h"
#include "quantize/search/choice_samples.h"

/* Of the values along each channel of a tensor. */
struct means {
    uint32_t channels, axis;
    size_t block;                  /* samples of one of the blocks (choice_samples.h) */
    double *sum[NUC_MOST_BLOCKS];  /* of its samples */
    double count[NUC_MOST_BLOCKS]; /* of one channel */
};

struct nuc_input_means {
    struct nuc_graph *g;
    struct means **by_id;
};

static bool is_convolution(const struct nuc_layer *l)
{
    return l->weight->vals[0].rank > 2;
}

static bool is_measurable(const struct nuc_layer *l)
{
    const struct nuc_meta *m = &l->input->vals[0];

    if (l->input->n_vals != 1 || m->dtype != NUC_F32 || nuc_elements(m) == 0)
        return false;
    if (is_convolution(l))
        return m->rank == 4 && m->sizes[1] == (int64_t)l->in;
    return m->rank >= 2 && m->sizes[m->rank - 1] >= (int64_t)(l->first + l->in);
}

/* Of the channels of what a layer reads. */
static uint32_t axis_of(const struct nuc_layer *l)
{
    return is_convolution(l) ? 1 : l->input->vals[0].rank - 1u;
}

void nuc_add_biases(struct nuc_graph *g)
{
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        struct nuc_layer l;
        if (nuc_layer_of(n, &l) && l.bias == NULL && is_measurable(&l))
            nuc_layer_add_bias(g, &l);
    }
}

static void measure(struct nuc_input_means *m, const struct nuc_layer *l)
{
    if (l->bias == NULL || !is_measurable(l) || m->by_id[l->input->id] != NULL)
        return;
    struct means *means = nuc_alloc(m->g->cx, sizeof *means);
    means->axis = axis_of(l);
    means->channels = (uint32_t)l->input->vals[0].sizes[means->axis];
    means->block = 1;
    for (unsigned i = 0; i < NUC_MOST_BLOCKS; i++)
        means->sum[i] = nuc_alloc_array(m->g->cx, means->channels, sizeof *means->sum[i]);
    m->by_id[l->input->id] = means;
}

struct nuc_input_means *nuc_input_means_new(struct nuc_graph *g)
{
    struct nuc_input_means *m = nuc_alloc(g->cx, sizeof *m);

    m->g = g;
    m->by_id = nuc_alloc_array(g->cx, g->next_id, sizeof(struct means *));
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        struct nuc_layer layers[NUC_MOST_LAYERS];
        uint32_t count = nuc_layers_of(n, layers);
        for (uint32_t i = 0; i < count; i++)
            measure(m, &layers[i]);
    }
    return m;
}

/* Each sum in its order; several at a time, as each has to wait for its last addition. */
enum { SIDE_BY_SIDE = 8, SUMS = 64 * SIDE_BY_SIDE };

static void sum_eight(const float *x, size_t inner, double sums[SIDE_BY_SIDE])
{
    double a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;

    for (size_t k = 0; k < inner; k++, x++) {
        a += (double)x[0];
        b += (double)x[inner];
        c += (double)x[2 * inner];
        d += (double)x[3 * inner];
        e += (double)x[4 * inner];
        f += (double)x[5 * inner];
        g += (double)x[6 * inner];
        h += (double)x[7 * inner];
    }
    memcpy(sums, (const double[SIDE_BY_SIDE]){a, b, c, d, e, f, g, h}, SIDE_BY_SIDE * sizeof *sums);
}

/* Of `count` slices. */
static void sum_slices(const float *x, size_t inner, size_t count, double *sums)
{
    size_t i = 0;

    for (; count - i >= SIDE_BY_SIDE; i += SIDE_BY_SIDE)
        sum_eight(x + i * inner, inner, sums + i);
    for (; i < count; i++) {
        sums[i] = 0;
        for (size_t k = 0; k < inner; k++)
            sums[i] += (double)x[i * inner + k];
    }
}

bool nuc_input_means_want(const struct nuc_input_means *m, const struct nuc_node *node)
{
    return m->by_id[node->id] != NULL;
}

/* Blocks become twice as large. */
static void join_blocks(struct means *m)
{
    for (unsigned i = 0; i < NUC_MOST_BLOCKS; i++) {
        unsigned to = i / 2;
        for (uint32_t k = 0; k < m->channels; k++) {
            double sum = i % 2 == 0 ? m->sum[i][k] : m->sum[to][k] + m->sum[i][k];
            m->sum[i][k] = 0;
            m->sum[to][k] = sum;
        }
        double count = i % 2 == 0 ? m->count[i] : m->count[to] + m->count[i];
        m->count[i] = 0;
        m->count[to] = count;
    }
    m->block *= 2;
}

NUC_CLONES static void add_row(double *restrict sum, const float *restrict x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += (double)x[i];
}

void nuc_input_means_see(struct nuc_input_means *m, size_t number, const struct nuc_node *node, const float *x,
                         size_t count)
{
    struct means *means = m->by_id[node->id];

    if (means == NULL)
        return;
    while (number / means->block >= NUC_MOST_BLOCKS)
        join_blocks(means);
    size_t at = number / means->block;
    /* [N, C, H, W] of a convolution, [..., C] of a fully connected or recurrent layer */
    size_t inner = nuc_slices_along(&node->vals[0], (int)means->axis).inner;
    size_t slices = inner == 0 ? 0 : count / inner;
    double sums[SUMS];
    means->count[at] += (double)count / means->channels;
    if (inner == 1) {
        for (size_t i = 0; i < count; i += means->channels)
            add_row(means->sum[at], x + i, count - i < means->channels ? count - i : means->channels);
        return;
    }
    for (size_t first = 0; first < slices; first += SUMS) {
        size_t n = slices - first < SUMS ? slices - first : SUMS;
        sum_slices(x + first * inner, inner, n, sums);
        for (size_t i = 0; i < n; i++)
            means->sum[at][(first + i) % means->channels] += sums[i];
    }
}

/* ---- the share of outputs that a tap of the kernel sees the input at, not the padding ---- */

struct window {
    int64_t in, out, kernel, stride, padding, dilation;
};

static double coverage(const struct window *w, int64_t tap)
{
    int64_t inside = 0;

    for (int64_t o = 0; o < w->out; o++) {
        int64_t at = o * w->stride - w->padding + tap * w->dilation;
        inside += at >= 0 && at < w->in;
    }
    return w->out > 0 ? (double)inside / (double)w->out : 1;
}

static struct window window_of(const struct nuc_layer *l, uint32_t axis)
{
    const struct nuc_node *n = l->node;
    const struct nuc_conv_args *at = nuc_conv_args(n->op);
    int64_t stride[2], padding[2], more[2], dilation[2];

    nuc_conv_numbers(n, at->stride, 2, 1, stride);
    nuc_conv_padding(n, 2, padding, more);
    nuc_conv_numbers(n, at->dilation, 2, 1, dilation);
    return (struct window){.in = l->input->vals[0].sizes[2 + axis],
                           .out = n->vals[0].sizes[2 + axis],
                           .kernel = l->weight->vals[0].sizes[2 + axis],
                           .stride = stride[axis],
                           .padding = padding[axis],
                           .dilation = dilation[axis]};
}

static double *tap_shares(struct nuc_context *cx, const struct nuc_layer *l)
{
    double *shares = nuc_alloc_array(cx, l->taps, sizeof *shares);

    if (!is_convolution(l)) {
        shares[0] = 1;
        return shares;
    }
    struct window rows = window_of(l, 0), columns = window_of(l, 1);
    for (uint32_t t = 0; t < l->taps; t++)
        shares[t] = coverage(&rows, t / columns.kernel) * coverage(&columns, t % columns.kernel);
    return shares;
}

/* ---- correction ---- */

#define OUTPUTS 8   /* that are corrected at a time */
#define STRETCH 128 /* weights of each that are rounded at a time */

/* A layer that is corrected. */
struct correction {
    const struct nuc_layer *l;
    const struct nuc_observer *o;
    const float *weight;
    const double *mean;   /* by input channel */
    const double *shares; /* by tap */
    float *bias;
};

/* What rounding weights adds to an output, by weight. */
NUC_CLONES static void find_errors(const float *rounded, const float *weights, const double *means,
                                   const double *shares, size_t count, double *errors)
{
    for (size_t i = 0; i < count; i++)
        errors[i] = ((double)rounded[i] - (double)weights[i]) * means[i] * shares[i];
}

/* Of `count` outputs of one group from k on: an addition waits for the last one to the same output. */
static void correct_side_by_side(const struct correction *j, size_t k, size_t count)
{
    const struct nuc_layer *l = j->l;
    const double *mean = j->mean + nuc_layer_input(l, (uint32_t)k, 0);
    size_t weights = (size_t)(l->in / l->groups) * l->taps;
    double error[OUTPUTS] = {0}, errors[OUTPUTS][STRETCH], means[STRETCH], shares[STRETCH];
    float rounded[STRETCH];
    uint32_t tap = 0;

    for (size_t at = 0; at < weights; at += STRETCH) {
        const float *w = j->weight + k * weights + at;
        size_t n = weights - at < STRETCH ? weights - at : STRETCH;
        for (size_t i = 0; i < n; i++) {
            means[i] = *mean;
            shares[i] = j->shares[tap];
            tap = tap + 1 < l->taps ? tap + 1 : 0;
            mean += tap == 0;
        }
        for (size_t o = 0; o < count; o++) {
            nuc_fake_quantize(j->o, (uint32_t)(k + o) % j->o->n, w + o * weights, n, rounded);
            find_errors(rounded, w + o * weights, means, shares, n, errors[o]);
        }
        for (size_t i = 0; i < n; i++) {
            for (size_t o = 0; o < count; o++)
                error[o] += errors[o][i];
        }
    }
    for (size_t o = 0; o < count; o++) {
        if (isfinite(error[o])) /* infinities are allowed in activations */
            j->bias[k + o] = (float)((double)j->bias[k + o] - error[o]);
    }
}

static void correct_outputs(const void *arg, struct nuc_part part)
{
    const struct correction *j = arg;
    size_t k = part.begin;

    for (; j->l->groups == 1 && part.end - k >= OUTPUTS; k += OUTPUTS)
        correct_side_by_side(j, k, OUTPUTS);
    for (; k < part.end; k++)
        correct_side_by_side(j, k, 1);
}

/* Of a weight, in multiply-accumulates. */
#define CORRECTION_COST 8.0

/* Adds the samples but for a fold to `sum`. Returns how many values of a channel they are of. */
static double add_shown(const struct nuc_calibration *c, const struct nuc_layer *l, unsigned held_out, double *sum)
{
    const struct means *m = c->means->by_id[l->input->id];
    double count = 0;

    if (m == NULL || m->axis != axis_of(l) || m->channels < l->first + l->in)
        return 0;
    for (unsigned b = 0; b < NUC_MOST_BLOCKS; b++) {
        if (m->count[b] <= 0 || nuc_sample_fold(b * m->block, c->n_samples) == held_out)
            continue;
        count += m->count[b];
        for (uint32_t i = 0; i < l->in; i++)
            sum[i] += m->sum[b][l->first + i];
    }
    return count;
}

/* Mean inputs of all layers that read the bias, with one weight. NULL: they are not known. */
static double *mean_inputs(const struct nuc_calibration *c, const struct nuc_layer *l, unsigned held_out)
{
    double *mean = nuc_alloc_array(c->g->cx, l->in, sizeof *mean), count = 0;

    for (uint32_t u = 0; u < l->bias->n_users; u++) {
        struct nuc_layer same[NUC_MOST_LAYERS];
        uint32_t i = 0, n = nuc_layers_of(l->bias->users[u], same);
        while (i < n && (same[i].bias != l->bias || same[i].weight != l->weight))
            i++;
        if (i == n)
            return NULL;
        count += add_shown(c, &same[i], held_out, mean);
    }
    for (uint32_t i = 0; i < l->in && count > 0; i++)
        mean[i] /= count;
    return count > 0 ? mean : NULL;
}

/* With the mean inputs of the samples but for a fold. */
static const float *correct(struct nuc_calibration *c, struct nuc_pool *pool, const struct nuc_layer *l,
                            unsigned held_out)
{
    struct nuc_graph *g = c->g;
    uint32_t group = nuc_observed_group(c, l->weight, l->node);
    const struct nuc_observer *o = group == NUC_NO_GROUP ? NULL : c->observers[group];
    const double *mean = o == NULL || o->n == 0 ? NULL : mean_inputs(c, l, held_out);

    if (mean == NULL)
        return NULL;
    float *bias = nuc_layer_values(g, l->bias);
    struct correction j = {l, o, nuc_const_contiguous(g, l->weight), mean, tap_shares(g->cx, l), bias};
    nuc_parallel_for(pool, l->out, CORRECTION_COST * (double)nuc_elements(&l->weight->vals[0]), correct_outputs, &j);
    return bias;
}

const float **nuc_corrected_biases(struct nuc_calibration *c, unsigned held_out)
{
    const float **biases = nuc_alloc_array(c->g->cx, c->g->next_id, sizeof(const float *));
    struct nuc_sub_arena *memory = nuc_enter_sub_arena(c->g->cx);
    struct nuc_pool *pool = nuc_pool_new(c->g->cx, c->threads);

    nuc_leave_sub_arena(c->g->cx, memory);
    for (struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        struct nuc_layer layers[NUC_MOST_LAYERS];
        uint32_t count = nuc_layers_of(n, layers);
        for (uint32_t i = 0; i < count; i++) {
            const struct nuc_layer *l = &layers[i];
            if (l->bias != NULL && biases[l->bias->id] == NULL)
                biases[l->bias->id] = correct(c, pool, l, held_out);
        }
    }
    nuc_free_sub_arena(memory); /* with its threads */
    return biases;
}
