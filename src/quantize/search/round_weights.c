#include "quantize/search/round_weights.h"

#include <math.h>
#include <string.h>

#include "eval/eval_gemm.h"
#include "eval/eval_parallel.h"
#include "ir/quant.h"
#include "quantize/search/choices.h"
#include "quantize/search/round_layer.h"
#include "quantize/search/round_solve.h"

/* Weights of an output that are rounded together, and outputs at a time. */
#define MOST_DEPTH 1536u
#define MOST_OUT 1024u

/* Columns of all samples: at least; for each weight of an output; and values that one matrix of them may have. */
#define LEAST_COLUMNS 2048u
#define COLUMNS_PER_WEIGHT 4u
#define MOST_VALUES ((size_t)1 << 24)

/* Batches that samples are split into where there are few. */
#define FEW_BATCHES 8u

/* Activations of all inferences that are under way. */
#define MOST_ACTIVATIONS ((size_t)600 << 20)

/* Scales that a whole tensor may have, times its own. */
#define FACTORS 9
#define SMALLEST_FACTOR 0.8f

struct nuc_rounded_scales {
    struct nuc_observer *observer;
    float *scale;
};

/* A quantized constant that only one node reads. */
struct constant {
    struct nuc_node *dequantize; /* NULL: there is none that could change */
    struct nuc_node *integers;
    struct nuc_node *scales; /* NULL: per tensor */
    struct nuc_quant quant;
};

/* A layer in both graphs. */
struct layer {
    struct nuc_product_layer l;    /* in the float graph */
    struct nuc_node *node, *input; /* in the quantized one, like the constants */
    struct constant weight, bias;
    struct nuc_observer *observer;
    int8_t *integers; /* in the dim order of the constant */
    int32_t *bias_integers;
    float *scales, *bias_scales; /* new ones */
    uint32_t n_scales;           /* one, or as many as channels */
    float input_scale;
    float most;
};

struct rounding {
    struct nuc_calibration *c;
    struct nuc_context *cx;
    struct nuc_graph *q;
    const struct nuc_choice_samples *samples;
    enum nuc_rounding_reach reach;
    struct nuc_pool *pool;
    struct nuc_gemm gemm;
    struct nuc_evaluator *float_run, *run;
    struct nuc_eval_state **float_states, **states;
    size_t n_samples;
    bool *changed; /* by id of nodes of q */
    uint32_t n_layers;
    struct layer *layers;
    struct nuc_rounded_weights result;
};

/* ---- layers that can be rounded ---- */

static struct nuc_observer *observer_of(const struct nuc_calibration *c, const struct nuc_node *constant,
                                        const struct nuc_node *user)
{
    uint32_t group = nuc_observed_group(c, constant, user), places = 0;

    for (uint32_t i = 0; group != NUC_NO_GROUP && i < c->n_points; i++)
        places += c->points[i].group == group;
    return places == 1 ? c->observers[group] : NULL;
}

static bool read_constant(struct nuc_node *node, enum nuc_dtype dtype, struct constant *out)
{
    struct constant k = {.dequantize = node, .integers = node == NULL ? NULL : nuc_arg_node(node, NUC_SELF)};

    if (node == NULL || k.integers == NULL || node->n_users != 1 || !nuc_dequantize_quant(node, &k.quant) ||
        !nuc_is_static(k.integers) || k.integers->n_users != 1 || k.integers->vals[0].dtype != dtype)
        return false;
    if (k.quant.per_channel)
        k.scales = nuc_arg_node(node, NUC_ARG(QUANTIZE_PER_CHANNEL, scales));
    if (k.quant.per_channel && (k.scales == NULL || !nuc_is_static(k.scales)))
        return false;
    *out = k;
    return true;
}

/* Scales lie along the outputs, or there is one. */
static uint32_t scale_of(const struct layer *a, uint32_t o)
{
    return o % a->n_scales;
}

static bool read_weight(struct layer *a)
{
    int64_t axis = a->l.form == NUC_WEIGHT_ROWS ? 0 : 1;

    if (!read_constant(nuc_arg_node(a->node, a->l.weight_arg), NUC_I8, &a->weight) || a->observer == NULL ||
        a->observer->scale == NULL)
        return false;
    const struct nuc_quant *q = &a->weight.quant;
    a->n_scales = a->observer->n;
    a->most = (float)(q->quant_max < -q->quant_min ? q->quant_max : -q->quant_min);
    for (uint32_t i = 0; i < a->n_scales; i++) {
        if (a->observer->zero_point[i] != 0)
            return false;
    }
    if (!q->per_channel)
        return a->n_scales == 1;
    uint32_t channels = a->l.form == NUC_WEIGHT_TRANSPOSED ? a->l.out / a->l.groups : a->l.out;
    return q->axis == axis && a->n_scales == channels;
}

/* A bias in steps of the products of both scales, or one of floats. False: of others, which cannot follow the scales.
 */
static bool read_bias(const struct rounding *r, struct layer *a)
{
    const struct nuc_observer *o = a->l.bias == NULL ? NULL : observer_of(r->c, a->l.bias, a->l.node);

    if (o == NULL)
        return true;
    if (o->spec.kind != NUC_QSPEC_DERIVED || o->from[1] != a->observer || o->from[0]->n != 1)
        return false;
    a->input_scale = o->from[0]->scale[0];
    return read_constant(nuc_arg_node(a->node, a->l.bias_arg), NUC_I32, &a->bias);
}

/* Biases stay as they are when they are not to be corrected; their scales follow those of the weights all the same. */
static bool moves_bias(const struct rounding *r, const struct layer *a)
{
    return r->c->means != NULL && a->bias.dequantize != NULL;
}

/* Rounding to the nearest leaves nothing: sums and choices of values stay what they are. */
static bool is_exact(struct nuc_graph *g, const struct layer *a)
{
    const float *w = nuc_const_contiguous(g, a->l.weight);

    for (uint32_t o = 0; o < a->l.out; o++) {
        float scale = a->observer->scale[scale_of(a, o)];
        for (uint32_t i = 0; i < a->l.depth; i++) {
            float x = w[nuc_weight_at(&a->l, o, i)] / scale;
            if (fabsf(x - rintf(x)) > 1e-4f)
                return false;
        }
    }
    return true;
}

/* Gives a static node memory that can be written to, with what it holds. */
static void *own_data(struct rounding *r, struct nuc_node *constant)
{
    void *data = nuc_copy(r->cx, nuc_const_in_dim_order(r->q, constant), nuc_bytes(&constant->vals[0]));

    constant->data = nuc_dense_data(r->cx, &constant->vals[0], data);
    return data;
}

static void own_constants(struct rounding *r, struct layer *a)
{
    a->integers = own_data(r, a->weight.integers);
    a->scales =
        a->weight.scales != NULL ? own_data(r, a->weight.scales) : nuc_copy(r->cx, a->observer->scale, sizeof(float));
    if (a->bias.dequantize == NULL)
        return;
    a->bias_integers = own_data(r, a->bias.integers);
    a->bias_scales =
        a->bias.scales != NULL ? own_data(r, a->bias.scales) : nuc_alloc_array(r->cx, a->l.out, sizeof(float));
}

/* ---- columns ---- */

/* What is known of one layer while it is rounded. */
struct work {
    struct rounding *r;
    struct layer *a;
    const float **inputs, **outputs; /* by sample */
    uint32_t *places;                /* per_sample of them, by sample */
    size_t per_sample, columns;
    float *weights;    /* [out][depth] */
    const float *bias; /* NULL: none */
    float *scales;     /* by output, before */
    float *new_scales;
    double *bias_change;
    int8_t *integers;  /* [out][depth] */
    double *variance;  /* [groups][depth] of the inputs */
    bool moves_scales; /* by the solver */
    uint32_t n_batches;
    struct nuc_round_batch *batches;
    uint32_t most_depth, most_out;
    struct worker *workers;
    bool *rounds; /* by group */
};

struct worker {
    struct nuc_rounder *rounder;
    float *inputs, *residuals, *panels;
    int8_t *integers;
    float *scales;
    double *bias_change;
};

static void gather_inputs(const struct work *w, uint32_t group, uint32_t first, uint32_t n, float *rows)
{
    for (size_t k = 0; k < w->r->n_samples; k++)
        nuc_gather_inputs(&w->a->l, w->inputs[k], w->places + k * w->per_sample, w->per_sample, group, first, n,
                          rows + k * w->per_sample, w->columns);
}

/* residuals[o][.] -= factors[o][.] * inputs; factors have `n` columns used of `ld`. */
struct subtraction {
    const struct work *w;
    const float *factors;
    size_t ld;
    uint32_t n, out;
    const float *inputs;
    struct worker *worker; /* NULL: that of each part */
    float *residuals;
};

static void subtract_columns(const void *arg, struct nuc_part part)
{
    const struct subtraction *s = arg;
    const struct work *w = s->w;
    float *panel = (s->worker != NULL ? s->worker : &w->workers[part.worker])->panels;
    float tile[NUC_TILE_ROWS * NUC_TILE_COLUMNS];

    for (size_t c = part.begin * NUC_TILE_COLUMNS; c < part.end * NUC_TILE_COLUMNS && c < w->columns;
         c += NUC_TILE_COLUMNS) {
        size_t count = w->columns - c < NUC_TILE_COLUMNS ? w->columns - c : NUC_TILE_COLUMNS;
        nuc_pack_panels(s->inputs + c, s->n, count, w->columns, 1, panel);
        for (size_t o = 0; o < s->out; o += NUC_TILE_ROWS) {
            size_t rows = s->out - o < NUC_TILE_ROWS ? s->out - o : NUC_TILE_ROWS;
            memset(tile, 0, sizeof tile);
            w->r->gemm.tile(s->factors + o * s->ld, s->ld, panel, s->n, rows, tile);
            for (size_t i = 0; i < rows; i++) {
                for (size_t j = 0; j < count; j++)
                    s->residuals[(o + i) * w->columns + c + j] -= tile[i * NUC_TILE_COLUMNS + j];
            }
        }
    }
}

static void subtract(const struct work *w, struct worker *only, const float *factors, size_t ld, uint32_t n,
                     uint32_t out, const float *inputs, float *residuals)
{
    struct subtraction s = {w, factors, ld, n, out, inputs, only, residuals};
    size_t panels = nuc_panel_count(w->columns);

    if (only != NULL)
        subtract_columns(&s, (struct nuc_part){0, panels, 0});
    else
        nuc_parallel_for(w->r->pool, panels, (double)w->columns * n * out, subtract_columns, &s);
}

/* ---- scales of whole tensors ---- */

static void measure_variance(const struct work *w, uint32_t group, struct worker *worker)
{
    const struct nuc_product_layer *l = &w->a->l;

    for (uint32_t first = 0; first < l->depth; first += w->most_depth) {
        uint32_t n = l->depth - first < w->most_depth ? l->depth - first : w->most_depth;
        gather_inputs(w, group, first, n, worker->inputs);
        for (uint32_t i = 0; i < n; i++) {
            const float *row = worker->inputs + i * w->columns;
            double sum = 0, squares = 0;
            for (size_t k = 0; k < w->columns; k++) {
                sum += (double)row[k];
                squares += (double)row[k] * (double)row[k];
            }
            if (moves_bias(w->r, w->a))
                squares -= sum * sum / (double)w->columns;
            w->variance[(size_t)group * l->depth + first + i] = squares > 0 ? squares : 0;
        }
    }
}

static void measure_variances(const void *arg, struct nuc_part part)
{
    const struct work *w = arg;

    for (size_t g = part.begin; g < part.end; g++)
        measure_variance(w, (uint32_t)g, &w->workers[part.worker]);
}

/* Squared error of rounding to the nearest if inputs are independent of each other. */
static double error_at(const struct work *w, uint32_t index, float scale)
{
    const struct nuc_product_layer *l = &w->a->l;
    double total = 0;

    for (uint32_t o = 0; o < l->out; o++) {
        if (scale_of(w->a, o) != index)
            continue;
        const double *variance = w->variance + (size_t)(o / (l->out / l->groups)) * l->depth;
        for (uint32_t i = 0; i < l->depth; i++) {
            float x = w->weights[(size_t)o * l->depth + i], q = rintf(x / scale);
            q = q > w->a->most ? w->a->most : q < -w->a->most ? -w->a->most : q;
            double error = (double)(q * scale - x);
            total += error * error * variance[i];
        }
    }
    return total;
}

static void choose_scales(const void *arg, struct nuc_part part)
{
    const struct work *w = arg;

    for (size_t s = part.begin; s < part.end; s++) {
        float own = w->a->scales[s];
        double least = (double)INFINITY;
        for (int f = 0; f < FACTORS; f++) {
            float scale = own * (1 - (1 - SMALLEST_FACTOR) * (float)f / (FACTORS - 1));
            double error = error_at(w, (uint32_t)s, scale);
            if (!(error < least))
                continue;
            least = error;
            w->a->scales[s] = scale;
        }
    }
}

/* ---- rounding ---- */

/* Outputs [first_out, + n_out) of a group, block by block of its inputs. */
static void round_outputs(const struct work *w, uint32_t group, uint32_t first_out, uint32_t n_out,
                          struct worker *worker, struct worker *only)
{
    const struct nuc_product_layer *l = &w->a->l;
    const float *weights = w->weights + (size_t)first_out * l->depth;

    for (size_t k = 0; k < w->r->n_samples; k++) {
        for (uint32_t o = 0; o < n_out; o++)
            nuc_gather_outputs(&w->a->l, w->outputs[k], w->places + k * w->per_sample, w->per_sample, first_out + o,
                               worker->residuals + o * w->columns + k * w->per_sample);
    }
    for (uint32_t first = 0; first < l->depth; first += w->most_depth) {
        uint32_t n = l->depth - first < w->most_depth ? l->depth - first : w->most_depth;
        gather_inputs(w, group, first, n, worker->inputs);
        subtract(w, only, weights + first, l->depth, n, n_out, worker->inputs, worker->residuals);
    }
    for (uint32_t o = 0; o < n_out && w->bias != NULL; o++) {
        for (size_t k = 0; k < w->columns; k++)
            worker->residuals[o * w->columns + k] -= w->bias[first_out + o];
    }
}

static enum nuc_round_way most_way(enum nuc_rounding_reach reach)
{
    static const enum nuc_round_way ways[] = {
        [NUC_ROUND_NOT] = NUC_WAY_NEAREST,
        [NUC_ROUND_WEIGHTS] = NUC_WAY_ROUNDED,
        [NUC_ROUND_MEANS] = NUC_WAY_ROUNDED_TO_MEAN,
        [NUC_ROUND_RESULTS] = NUC_WAY_ROUNDED_TO_RESULT,
    };

    return ways[reach];
}

static void round_part(const struct work *w, uint32_t group, uint32_t first_out, uint32_t n_out, struct worker *worker,
                       struct worker *only)
{
    const struct nuc_product_layer *l = &w->a->l;
    bool is_one = l->depth <= w->most_depth;

    round_outputs(w, group, first_out, n_out, worker, only);
    for (uint32_t first = 0; first < l->depth; first += w->most_depth) {
        uint32_t n = l->depth - first < w->most_depth ? l->depth - first : w->most_depth;
        /* of the only block both are there already */
        if (!is_one)
            gather_inputs(w, group, first, n, worker->inputs);
        float *block = worker->panels + (size_t)NUC_TILE_COLUMNS * w->most_depth;
        for (uint32_t o = 0; o < n_out; o++)
            memcpy(block + (size_t)o * n, w->weights + (size_t)(first_out + o) * l->depth + first, n * sizeof(float));
        struct nuc_round_problem p = {.depth = n,
                                      .out = n_out,
                                      .stride = w->columns,
                                      .inputs = worker->inputs,
                                      .residuals = worker->residuals,
                                      .weights = block,
                                      .scales = w->scales + first_out,
                                      .most = w->a->most,
                                      .n_batches = w->n_batches,
                                      .batches = w->batches,
                                      .most_way = most_way(w->r->reach),
                                      .moves_bias = moves_bias(w->r, w->a),
                                      .moves_scales = w->moves_scales};
        struct nuc_round_solution s = {
            .integers = worker->integers, .scales = worker->scales, .bias_change = worker->bias_change};
        nuc_round(worker->rounder, &p, &s);
        w->rounds[group] = w->rounds[group] || s.rounds;
        /*
         * Integers of a block into those of the layer; what they change is taken off the residuals for the next block.
         */
        for (uint32_t o = 0; o < n_out; o++) {
            memcpy(w->integers + (size_t)(first_out + o) * w->a->l.depth + first, s.integers + (size_t)o * n, n);
            w->new_scales[first_out + o] = s.scales[o];
            w->bias_change[first_out + o] += s.bias_change[o];
        }
        if (is_one)
            break;
        /* The call has centred both. */
        gather_inputs(w, group, first, n, worker->inputs);
        for (uint32_t o = 0; o < n_out; o++) {
            for (uint32_t i = 0; i < n; i++)
                block[o * n + i] = (float)s.integers[o * n + i] * s.scales[o] -
                                   w->weights[(size_t)(first_out + o) * w->a->l.depth + first + i];
            for (size_t k = 0; k < w->columns; k++)
                worker->residuals[o * w->columns + k] -= (float)s.bias_change[o];
        }
        subtract(w, only, block, n, n, n_out, worker->inputs, worker->residuals);
    }
}

static void round_group(const struct work *w, uint32_t group, struct worker *worker, struct worker *only)
{
    uint32_t out = w->a->l.out / w->a->l.groups;

    for (uint32_t o = 0; o < out; o += w->most_out)
        round_part(w, group, group * out + o, out - o < w->most_out ? out - o : w->most_out, worker, only);
}

static void round_groups(const void *arg, struct nuc_part part)
{
    const struct work *w = arg;

    for (size_t g = part.begin; g < part.end; g++)
        round_group(w, (uint32_t)g, &w->workers[part.worker], &w->workers[part.worker]);
}

/* ---- one layer ---- */

static void make_workers(struct work *w)
{
    struct nuc_context *cx = w->r->cx;
    bool by_group = w->a->l.groups > 1;
    unsigned count = nuc_pool_threads(w->r->pool);

    w->workers = nuc_alloc_array(cx, count, sizeof *w->workers);
    for (unsigned i = 0; i < count; i++) {
        struct worker *k = &w->workers[i];
        size_t block = (size_t)w->most_out * w->most_depth;
        bool solves = by_group || i == 0;
        k->panels = nuc_alloc_array(cx, (size_t)NUC_TILE_COLUMNS * w->most_depth + (solves ? block : 0), sizeof(float));
        if (!solves)
            continue;
        k->rounder = nuc_rounder_new(cx, by_group ? NULL : w->r->pool, w->most_depth, w->most_out, w->n_batches);
        k->inputs = nuc_alloc_array(cx, (size_t)w->most_depth * w->columns, sizeof(float));
        k->residuals = nuc_alloc_array(cx, (size_t)w->most_out * w->columns, sizeof(float));
        k->integers = nuc_alloc_array(cx, block, 1);
        k->scales = nuc_alloc_array(cx, w->most_out, sizeof(float));
        k->bias_change = nuc_alloc_array(cx, w->most_out, sizeof(double));
    }
}

/* Blocks of the depth as even as can be. */
static uint32_t block_depth(uint32_t depth)
{
    uint32_t blocks = (depth + MOST_DEPTH - 1) / MOST_DEPTH;

    return (depth + blocks - 1) / blocks;
}

static void size_work(struct work *w)
{
    const struct nuc_product_layer *l = &w->a->l;
    uint32_t out = l->out / l->groups;

    w->most_depth = block_depth(l->depth);
    w->most_out = out < MOST_OUT ? out : MOST_OUT;
    size_t wanted = (size_t)COLUMNS_PER_WEIGHT * w->most_depth, widest = w->most_depth > out ? w->most_depth : out;
    wanted = wanted > LEAST_COLUMNS ? wanted : LEAST_COLUMNS;
    wanted = wanted < MOST_VALUES / widest ? wanted : MOST_VALUES / widest;
    w->per_sample = (wanted + w->r->n_samples - 1) / w->r->n_samples;
    w->per_sample = w->per_sample < l->places ? w->per_sample : l->places;
    w->columns = w->per_sample * w->r->n_samples;
}

static void make_work(struct work *w)
{
    struct nuc_context *cx = w->r->cx;
    const struct nuc_product_layer *l = &w->a->l;
    const float *constant = nuc_const_contiguous(w->r->c->g, l->weight);
    size_t count = (size_t)l->out * l->depth;

    size_work(w);
    if (l->bias != NULL)
        w->bias = nuc_const_contiguous(w->r->c->g, l->bias);
    w->places = nuc_alloc_array(cx, w->columns, sizeof *w->places);
    /* The places are spread evenly, each somewhere in its share. */
    uint32_t places = l->places;
    uint32_t seed = 1;
    for (size_t i = 0; i < w->columns; i++) {
        size_t k = i % w->per_sample;
        uint64_t begin = (uint64_t)places * k / w->per_sample, end = (uint64_t)places * (k + 1) / w->per_sample;
        seed = seed * 1664525u + 1013904223u;
        w->places[i] = (uint32_t)(begin + (seed >> 8) % (end - begin));
    }
    size_t samples = w->r->n_samples, parts = samples < FEW_BATCHES / 2 ? (FEW_BATCHES + samples - 1) / samples : 1;
    parts = parts < w->per_sample ? parts : w->per_sample;
    w->batches = nuc_alloc_array(w->r->cx, samples * parts, sizeof *w->batches);
    for (size_t k = 0; k < samples; k++) {
        for (size_t i = 0; i < parts; i++)
            w->batches[w->n_batches++] = (struct nuc_round_batch){k * w->per_sample + i * w->per_sample / parts,
                                                                  k * w->per_sample + (i + 1) * w->per_sample / parts,
                                                                  (unsigned)((samples == 1 ? i : k) % 2)};
    }
    w->weights = nuc_alloc_array(cx, count, sizeof(float));
    w->integers = nuc_alloc_array(cx, count, 1);
    w->scales = nuc_alloc_array(cx, l->out, sizeof(float));
    w->new_scales = nuc_alloc_array(cx, l->out, sizeof(float));
    w->bias_change = nuc_alloc_array(cx, l->out, sizeof(double));
    w->variance = nuc_alloc_array(cx, (size_t)l->groups * l->depth, sizeof(double));
    w->rounds = nuc_alloc_array(cx, l->groups, sizeof *w->rounds);
    for (uint32_t o = 0; o < l->out; o++) {
        for (uint32_t i = 0; i < l->depth; i++)
            w->weights[(size_t)o * l->depth + i] = constant[nuc_weight_at(l, o, i)];
    }
    w->moves_scales = w->a->n_scales == l->out && l->out > 1 && l->depth <= w->most_depth;
    make_workers(w);
}

/* Both graphs stand behind and in front of the layer. */
static void read_values(struct work *w)
{
    struct rounding *r = w->r;

    w->inputs = nuc_alloc_array(r->cx, r->n_samples, sizeof *w->inputs);
    w->outputs = nuc_alloc_array(r->cx, r->n_samples, sizeof *w->outputs);
    for (size_t k = 0; k < r->n_samples; k++) {
        nuc_eval_advance(r->float_run, r->float_states[k], w->a->l.node->next);
        w->outputs[k] = nuc_eval_value(r->float_run, r->float_states[k], w->a->l.node);
        nuc_eval_advance(r->run, r->states[k], w->a->node);
        w->inputs[k] = nuc_eval_value(r->run, r->states[k], w->a->input);
    }
}

/* Integers and scales hold other numbers. */
static void note_change(struct rounding *r, struct constant *k, float scale)
{
    r->changed[k->integers->id] = true;
    if (k->scales != NULL) {
        r->changed[k->scales->id] = true;
        return;
    }
    k->quant.scale = (double)scale;
    nuc_set_quant(k->dequantize, &k->quant);
}

static void store_weights(const struct work *w)
{
    struct layer *a = w->a;
    size_t count = (size_t)a->l.out * a->l.depth;
    int8_t *logical = nuc_alloc(w->r->cx, count);

    for (uint32_t o = 0; o < a->l.out; o++) {
        a->scales[scale_of(a, o)] = w->new_scales[o];
        for (uint32_t i = 0; i < a->l.depth; i++)
            logical[nuc_weight_at(&a->l, o, i)] = w->integers[(size_t)o * a->l.depth + i];
    }
    memcpy(a->integers, nuc_in_dim_order(w->r->cx, &a->weight.integers->vals[0], logical), count);
    note_change(w->r, &a->weight, a->scales[0]);
}

static int32_t saturated(double x)
{
    x = rint(x);
    return x > INT32_MAX ? INT32_MAX : x < -INT32_MAX ? -INT32_MAX : (int32_t)x;
}

static void store_bias(const struct work *w)
{
    struct layer *a = w->a;

    if (a->bias.dequantize == NULL)
        return;
    const float *own = nuc_const_contiguous(w->r->c->g, a->l.bias);
    for (uint32_t o = 0; o < a->l.out; o++) {
        float scale = a->input_scale * a->scales[scale_of(a, o)];
        a->bias_scales[o] = scale;
        a->bias_integers[o] = saturated(((double)own[o] + w->bias_change[o]) / (double)scale);
    }
    note_change(w->r, &a->bias, a->bias_scales[0]);
}

static void round_layer(struct rounding *r, struct layer *a)
{
    struct work w = {.r = r, .a = a};

    read_values(&w);
    struct nuc_arena *outer = nuc_push_arena(r->cx);
    make_work(&w);
    if (!w.moves_scales) {
        /* Where the solver cannot, because outputs or blocks of inputs share a scale. */
        const struct nuc_product_layer *l = &w.a->l;
        double weights = (double)l->out * l->depth;
        nuc_parallel_for(w.r->pool, l->groups, (double)w.columns * l->groups * l->depth, measure_variances, &w);
        nuc_parallel_for(w.r->pool, w.a->n_scales, weights * FACTORS * 4, choose_scales, &w);
    }
    for (uint32_t o = 0; o < a->l.out; o++)
        w.scales[o] = w.new_scales[o] = a->scales[scale_of(a, o)];
    double cost = (double)w.columns * a->l.out * a->l.depth * 16;
    if (a->l.groups > 1)
        nuc_parallel_for(r->pool, a->l.groups, cost, round_groups, &w);
    else
        round_group(&w, 0, &w.workers[0], NULL);
    store_weights(&w);
    store_bias(&w);
    for (uint32_t g = 0; g < a->l.groups; g++) {
        if (w.rounds[g]) {
            r->result.rounded++;
            break;
        }
    }
    nuc_pop_arena(r->cx, outer);
    nuc_eval_refresh(r->run, r->changed);
    memset(r->changed, 0, r->q->next_id * sizeof *r->changed);
}

/* ---- all of them ---- */

static void start(struct rounding *r)
{
    r->float_run = nuc_eval_new(r->c->g, r->c->threads);
    r->run = nuc_eval_new(r->q, r->c->threads);
    r->pool = nuc_pool_new(r->cx, r->c->threads);
    r->gemm = nuc_gemm_select(false, false);
    size_t each = nuc_eval_arena_size(r->float_run) + nuc_eval_arena_size(r->run) + 1;
    size_t most = MOST_ACTIVATIONS / each + 1;
    r->n_samples = r->samples->count < most ? r->samples->count : most;
    r->float_states = nuc_alloc_array(r->cx, r->n_samples, sizeof *r->float_states);
    r->states = nuc_alloc_array(r->cx, r->n_samples, sizeof *r->states);
    for (size_t k = 0; k < r->n_samples; k++) {
        const void *const *inputs = (const void *const *)r->samples->inputs[k];
        r->float_states[k] = nuc_eval_begin(r->float_run, inputs);
        r->states[k] = nuc_eval_begin(r->run, inputs);
    }
    r->changed = nuc_alloc_array(r->cx, r->q->next_id, sizeof *r->changed);
}

struct nuc_rounded_weights nuc_round_weights(struct nuc_calibration *c, struct nuc_converted *q,
                                             const struct nuc_choice_samples *samples, enum nuc_rounding_reach reach)
{
    struct rounding r = {.c = c, .cx = c->g->cx, .q = q->g, .samples = samples, .reach = reach};

    r.layers = nuc_alloc_array(r.cx, c->g->n_nodes, sizeof *r.layers);
    for (struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        struct layer a = {.node = q->nodes[n->id]};
        if (a.node == NULL || !nuc_product_layer_of(n, &a.l) || nuc_only_chooses(r.c->g, n))
            continue;
        a.observer = observer_of(r.c, a.l.weight, n);
        a.input = nuc_arg_node(a.node, a.l.input_arg);
        if (a.input == NULL || a.input->vals[0].dtype != NUC_F32 || !read_weight(&a) || is_exact(r.c->g, &a) ||
            !read_bias(&r, &a))
            continue;
        own_constants(&r, &a);
        r.layers[r.n_layers++] = a;
    }
    r.result.layers = r.n_layers;
    r.result.scales = nuc_alloc_array(r.cx, r.n_layers, sizeof *r.result.scales);
    if (r.n_layers == 0 || samples->count == 0)
        return r.result;
    struct nuc_arena *outer = nuc_push_arena(r.cx);
    start(&r);
    for (uint32_t i = 0; i < r.n_layers; i++) {
        nuc_progress(r.cx, "round weights", i, r.n_layers);
        round_layer(&r, &r.layers[i]);
        r.result.scales[r.result.n_scales++] = (struct nuc_rounded_scales){r.layers[i].observer, r.layers[i].scales};
    }
    nuc_pop_arena(r.cx, outer);
    return r.result;
}

/* Moments of a layer's inputs, and rounding of its outputs a few times. */
double nuc_rounding_cost(struct nuc_calibration *c, const struct nuc_choice_samples *samples)
{
    double cost = 0;

    for (struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        struct rounding r = {.c = c, .n_samples = samples->count};
        struct layer a = {.node = n};
        if (!nuc_product_layer_of(n, &a.l))
            continue;
        struct work w = {.r = &r, .a = &a};
        size_work(&w);
        cost += (double)a.l.depth * w.most_depth * (double)(w.columns * a.l.groups + (size_t)10 * a.l.out);
    }
    return cost;
}

void nuc_keep_rounded_scales(struct nuc_calibration *c, const struct nuc_rounded_weights *r)
{
    for (uint32_t i = 0; i < r->n_scales; i++)
        memcpy(r->scales[i].observer->scale, r->scales[i].scale, r->scales[i].observer->n * sizeof(float));
    for (uint32_t i = 0; i < c->sharing->n_groups; i++) {
        if (c->observers[i]->spec.kind == NUC_QSPEC_DERIVED)
            nuc_observer_parameters(c->g->cx, c->observers[i]);
    }
}
