#include "quantize/search/equalize.h"

#include <math.h>

#include "eval/eval.h"
#include "ir/args.h"
#include "ir/op_list.h"
#include "quantize/layers.h"

#define CLIP 6.0f /* upper bound of a ReLU6 */

/* Two layers, and how values get from the first to the second. */
struct chain {
    uint32_t from, to;           /* in the list of layers */
    uint32_t channels;           /* outputs of the first */
    uint32_t inner;              /* inputs of the second that one channel becomes: more than 1 after a flatten */
    const struct nuc_node *clip; /* what the first ReLU6 in between reads; NULL: there is none */
    float *largest;              /* of `clip` by channel; NULL before the first sample */
};

/* A layer with its constants while they change. */
struct weights {
    struct nuc_layer layer;
    float *weight, *bias; /* bias may be NULL */
    bool changed;
};

struct nuc_equalizer {
    struct nuc_graph *g;
    unsigned threads;
    struct nuc_evaluator *evaluator;
    uint32_t n_layers, n_chains;
    struct weights *layers;
    struct chain *chains;
    uint32_t *chain_of; /* by id of the node a ReLU6 reads: index + 1; 0: none */
};

/* ---- chains ---- */

/* What a positive factor of each channel passes through: these give the scaled result for a scaled input. */
static const enum nuc_op *const homogeneous =
    NUC_OPS(NUC_OP_RELU, NUC_OP_LEAKY_RELU, NUC_OP_DROPOUT, NUC_OP_CLONE, NUC_OP_CONTIGUOUS, NUC_OP_MAX_POOL2D,
            NUC_OP_AVG_POOL2D, NUC_OP_ADAPTIVE_AVG_POOL2D);

/* Batch first, channels second. */
static bool has_channels(const struct nuc_node *n, uint32_t channels)
{
    return !n->is_tuple && n->n_vals == 1 && n->vals[0].dtype == NUC_F32 && n->vals[0].rank >= 2 &&
           n->vals[0].sizes[1] == (int64_t)channels;
}

/* Only then do a layer's channels lie along axis 1: a linear layer may have more dimensions, an image no batch. */
static bool is_batched(const struct nuc_layer *l, const struct nuc_node *value)
{
    return value->n_vals == 1 && value->vals[0].rank == l->weight->vals[0].rank;
}

/* [N, C, ...] -> [N, C * ...] */
static bool flattens(const struct nuc_node *n)
{
    const struct nuc_node *in = nuc_arg_node(n, NUC_SELF);

    return in != NULL && n->vals[0].rank == 2 && n->vals[0].sizes[0] == in->vals[0].sizes[0];
}

/* Follows `n`, the reader of the layer's values, and notes what it does to them; false when no factor passes. */
static bool pass(const struct nuc_node *n, struct chain *c)
{
    const struct nuc_node *in = nuc_arg_node(n, NUC_SELF);

    if (in == NULL || in->n_vals != 1 || n->n_vals != 1)
        return false;
    if (nuc_op_is_in(n->op, homogeneous))
        return n->vals[0].rank == in->vals[0].rank && n->vals[0].sizes[1] == in->vals[0].sizes[1];
    if (nuc_op_is_in(n->op, NUC_OPS(NUC_OP_VIEW, NUC_OP_RESHAPE, NUC_OP_FLATTEN)))
        return flattens(n);
    if (!nuc_op_is_in(n->op, NUC_OPS(NUC_OP_RELU6, NUC_OP_HARDTANH)))
        return false;
    /* Below its bound a ReLU6 is a ReLU: no factor may take a channel above that. */
    struct nuc_bounds bounds = nuc_bounds_of(n);
    if (bounds.min != 0 || (bounds.max != (double)CLIP && !isinf(bounds.max)))
        return false;
    if (!isinf(bounds.max) && c->clip == NULL)
        c->clip = in;
    return true;
}

static bool find_chain(struct nuc_equalizer *e, const uint32_t *layer_at, uint32_t from, struct chain *c)
{
    const struct nuc_layer *first = &e->layers[from].layer;
    struct nuc_node *n = first->node;

    *c = (struct chain){.from = from, .channels = first->out};
    if (!has_channels(n, first->out) || !is_batched(first, n))
        return false;
    while (n->n_users == 1) {
        struct nuc_node *user = n->users[0];
        if (layer_at[user->id] != 0) {
            c->to = layer_at[user->id] - 1;
            const struct nuc_layer *second = &e->layers[c->to].layer;
            c->inner = second->in / c->channels;
            return second->input == n && is_batched(second, n) && second->in % c->channels == 0 &&
                   nuc_elements(&n->vals[0]) > 0 && n->vals[0].sizes[1] == (int64_t)second->in;
        }
        if (nuc_arg_node(user, NUC_SELF) != n || !pass(user, c))
            return false;
        n = user;
    }
    return false;
}

struct nuc_equalizer *nuc_equalize_prepare(struct nuc_graph *g, unsigned threads)
{
    struct nuc_equalizer *e = nuc_alloc(g->cx, sizeof *e);
    uint32_t *layer_at = nuc_alloc_array(g->cx, g->next_id, sizeof *layer_at);

    e->g = g;
    e->threads = threads;
    e->layers = nuc_alloc_array(g->cx, g->n_nodes, sizeof *e->layers);
    e->chain_of = nuc_alloc_array(g->cx, g->next_id, sizeof *e->chain_of);
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        struct nuc_layer l;
        if (!nuc_layer_of(n, &l))
            continue;
        struct weights *w = &e->layers[e->n_layers++];
        w->layer = l;
        w->weight = nuc_layer_values(e->g, l.weight);
        w->bias = l.bias != NULL ? nuc_layer_values(e->g, l.bias) : NULL;
        layer_at[n->id] = e->n_layers;
    }
    e->chains = nuc_alloc_array(g->cx, e->n_layers, sizeof *e->chains);
    for (uint32_t i = 0; i < e->n_layers; i++) {
        struct chain *c = &e->chains[e->n_chains];
        if (!find_chain(e, layer_at, i, c))
            continue;
        e->n_chains++;
        if (c->clip != NULL)
            e->chain_of[c->clip->id] = e->n_chains;
    }
    return e;
}

/* ---- what reaches a ReLU6 ---- */

bool nuc_equalize_needs_samples(const struct nuc_equalizer *e)
{
    for (uint32_t i = 0; i < e->n_chains; i++) {
        if (e->chains[i].clip != NULL)
            return true;
    }
    return false;
}

static void observe(void *user, const struct nuc_node *node, uint32_t val_index, const void *data, size_t elements)
{
    struct nuc_equalizer *e = user;
    const float *x = data;

    if (val_index != 0 || e->chain_of[node->id] == 0 || elements == 0)
        return;
    struct chain *c = &e->chains[e->chain_of[node->id] - 1];
    size_t inner = elements / ((size_t)node->vals[0].sizes[0] * c->channels);
    for (size_t i = 0; i < elements / inner; i++) {
        float *largest = &c->largest[i % c->channels];
        for (size_t k = 0; k < inner; k++)
            *largest = x[i * inner + k] > *largest ? x[i * inner + k] : *largest;
    }
}

void nuc_equalize_sample(struct nuc_equalizer *e, const void *const *inputs)
{
    if (e->evaluator == NULL) {
        e->evaluator = nuc_eval_new(e->g, e->threads);
        nuc_eval_observe(e->evaluator, observe, e);
        for (uint32_t i = 0; i < e->n_chains; i++)
            e->chains[i].largest = nuc_alloc_array(e->g->cx, e->chains[i].channels, sizeof(float));
    }
    nuc_eval_run(e->evaluator, inputs, NULL);
}

/* ---- factors ---- */

/* Sweeps over all chains; factors are settled long before, when a sweep changes none by more than a thousandth. */
#define MAX_SWEEPS 50
#define SETTLED 1e-3f

/* Channels whose ranges differ by more than this are nearly dead: their noise is not worth the range. */
#define MAX_FACTOR 1024.0f

/* Which channel a row of a weight belongs to: one that the layer writes, or one that it reads. */
enum side { WRITTEN, READ };

/* The channel of the kernel at [o][i]; `inner` inputs of a layer are one channel of the layer before. */
static uint32_t channel_of(const struct nuc_layer *l, enum side side, uint32_t o, uint32_t i, uint32_t inner)
{
    return side == WRITTEN ? o : nuc_layer_input(l, o, i) / inner;
}

/* Largest magnitude of the weights of each channel. */
static void find_ranges(const struct weights *w, enum side side, uint32_t inner, float *range, uint32_t channels)
{
    const struct nuc_layer *l = &w->layer;
    const float *taps = w->weight;

    for (uint32_t c = 0; c < channels; c++)
        range[c] = 0;
    for (uint32_t o = 0; o < l->out; o++) {
        for (uint32_t i = 0; i < l->in / l->groups; i++, taps += l->taps) {
            float *r = &range[channel_of(l, side, o, i, inner)];
            for (uint32_t k = 0; k < l->taps; k++)
                *r = fmaxf(*r, fabsf(taps[k]));
        }
    }
}

/* What is written is divided by the factor of the channel, what is read multiplied. */
static void scale_weights(struct weights *w, enum side side, uint32_t inner, const float *factor)
{
    const struct nuc_layer *l = &w->layer;
    float *taps = w->weight;

    for (uint32_t o = 0; o < l->out; o++) {
        for (uint32_t i = 0; i < l->in / l->groups; i++, taps += l->taps) {
            float f = factor[channel_of(l, side, o, i, inner)];
            for (uint32_t k = 0; k < l->taps; k++)
                taps[k] = side == WRITTEN ? taps[k] / f : taps[k] * f;
        }
        if (side == WRITTEN && w->bias != NULL)
            w->bias[o] /= factor[o];
    }
    w->changed = true;
}

/* What the first layer's channel is divided by. */
static float factor_of(const struct chain *c, uint32_t channel, float r1, float r2)
{
    if (!(r1 > 0) || !(r2 > 0))
        return 1;
    float s = sqrtf(r1 / r2);
    if (c->clip != NULL) {
        if (c->largest == NULL || c->largest[channel] >= CLIP)
            return 1;
        s = fmaxf(s, c->largest[channel] / CLIP);
    }
    return fminf(fmaxf(s, 1 / MAX_FACTOR), MAX_FACTOR);
}

/* Returns the largest relative change of a range. */
static float equalize_chain(struct nuc_equalizer *e, struct chain *c, float *factor, float *r1, float *r2)
{
    struct weights *first = &e->layers[c->from], *second = &e->layers[c->to];
    float change = 0;

    find_ranges(first, WRITTEN, 1, r1, c->channels);
    find_ranges(second, READ, c->inner, r2, c->channels);
    for (uint32_t k = 0; k < c->channels; k++) {
        factor[k] = factor_of(c, k, r1[k], r2[k]);
        change = fmaxf(change, fabsf(factor[k] - 1));
        if (c->largest != NULL)
            c->largest[k] /= factor[k];
    }
    if (change > SETTLED) {
        scale_weights(first, WRITTEN, 1, factor);
        scale_weights(second, READ, c->inner, factor);
    }
    return change;
}

uint32_t nuc_equalize_apply(struct nuc_equalizer *e)
{
    struct nuc_context *cx = e->g->cx;
    uint32_t most = 0, equalized = 0;
    float change = 2 * SETTLED;

    for (uint32_t i = 0; i < e->n_chains; i++)
        most = e->chains[i].channels > most ? e->chains[i].channels : most;
    float *factor = nuc_alloc_array(cx, most, sizeof *factor);
    float *r1 = nuc_alloc_array(cx, most, sizeof *r1), *r2 = nuc_alloc_array(cx, most, sizeof *r2);
    for (uint32_t sweep = 0; sweep < MAX_SWEEPS && change > SETTLED; sweep++) {
        change = 0;
        for (uint32_t i = 0; i < e->n_chains; i++)
            change = fmaxf(change, equalize_chain(e, &e->chains[i], factor, r1, r2));
    }
    for (uint32_t i = 0; i < e->n_chains; i++)
        equalized += e->layers[e->chains[i].from].changed && e->layers[e->chains[i].to].changed;
    for (uint32_t i = 0; i < e->n_layers; i++) {
        struct weights *w = &e->layers[i];
        if (!w->changed)
            continue;
        nuc_layer_set_values(e->g, w->layer.weight, w->weight);
        if (w->bias != NULL)
            nuc_layer_set_values(e->g, w->layer.bias, w->bias);
    }
    return equalized;
}

void nuc_equalize(struct nuc_graph *g)
{
    nuc_equalize_apply(nuc_equalize_prepare(g, 1));
}
