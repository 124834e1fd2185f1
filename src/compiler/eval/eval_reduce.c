/* Mean over any dimensions, and softmax. */
#include <math.h>

#include "compiler/eval/eval_sum.h"

enum { INPUT, DIM };

/* ---- mean ---- */

/* A missing or empty list means all dimensions. */
static void reduced_dims(const struct nuc_eval_call *c, bool reduced[NUC_MAX_RANK])
{
    const struct nuc_arg *dims = &c->node->args[DIM];
    uint32_t rank = nuc_eval_in_meta(c, INPUT)->rank;
    bool all = dims->kind == NUC_ARG_NONE || (dims->kind == NUC_ARG_INTS && dims->count == 0);

    for (uint32_t d = 0; d < NUC_MAX_RANK; d++)
        reduced[d] = all;
    if (dims->kind == NUC_ARG_INT)
        reduced[nuc_eval_dim(c, dims->u.i, rank)] = true;
    if (dims->kind == NUC_ARG_INTS) {
        for (uint32_t i = 0; i < dims->count; i++)
            reduced[nuc_eval_dim(c, dims->u.ints[i], rank)] = true;
    }
}

static void prepare_mean(struct nuc_eval_call *c)
{
    bool reduced[NUC_MAX_RANK];

    nuc_eval_want_float(c, INPUT);
    reduced_dims(c, reduced);
    struct nuc_sum *sum = nuc_sum_plan(c->cx, nuc_eval_in_meta(c, INPUT), reduced);
    if (nuc_sum_results(sum) != (size_t)nuc_elements(nuc_eval_out_meta(c, 0)))
        nuc_eval_fail(c, "the result %s does not fit", nuc_meta_text(c->cx, nuc_eval_out_meta(c, 0)));
    c->state = sum;
}

struct mean_run {
    const struct nuc_sum *sum;
    const float *in;
    float *out;
};

static void mean_range(void *arg, size_t begin, size_t end, unsigned worker)
{
    const struct mean_run *r = arg;

    (void)worker;
    for (size_t i = begin; i < end; i++)
        r->out[i] = nuc_sum_at(r->sum, r->in, i) / (float)nuc_sum_count(r->sum);
}

static void run_mean(const struct nuc_eval_call *c)
{
    struct mean_run r = {c->state, nuc_eval_in(c, INPUT), c->out[0]};
    size_t results = nuc_sum_results(r.sum);

    nuc_parallel_for(c->pool, results, (double)results * (double)nuc_sum_count(r.sum), mean_range, &r);
}

const struct nuc_eval_op nuc_eval_mean = {.prepare = prepare_mean, .run = run_mean};

/* Adaptive pooling to one pixel: torch takes the mean over height and width. */
static void prepare_global_pool(struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT);
    bool reduced[NUC_MAX_RANK] = {false};

    nuc_eval_want_float(c, INPUT);
    nuc_eval_image(c, in);
    reduced[in->rank - 1] = reduced[in->rank - 2] = true;
    c->state = nuc_sum_plan(c->cx, in, reduced);
}

const struct nuc_eval_op nuc_eval_global_avg_pool = {.prepare = prepare_global_pool, .run = run_mean};

/* ---- softmax ---- */

struct softmax {
    size_t outer, size, inner;
};

static void prepare_softmax(struct nuc_eval_call *c)
{
    struct softmax *s = nuc_alloc(c->cx, sizeof *s);
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT);
    uint32_t dim = nuc_eval_dim(c, nuc_eval_int(c, DIM, -1), in->rank);

    nuc_eval_want_float(c, INPUT);
    s->outer = nuc_eval_product(in, 0, dim);
    s->size = in->rank == 0 ? 1 : (size_t)in->sizes[dim];
    s->inner = in->rank == 0 ? 1 : nuc_eval_product(in, dim + 1, in->rank);
    c->state = s;
}

static void softmax_one(const float *in, float *out, size_t size, size_t stride)
{
    float largest = -INFINITY, sum = 0.0f;

    for (size_t i = 0; i < size; i++)
        largest = in[i * stride] > largest ? in[i * stride] : largest;
    for (size_t i = 0; i < size; i++) {
        out[i * stride] = expf(in[i * stride] - largest);
        sum += out[i * stride];
    }
    for (size_t i = 0; i < size; i++)
        out[i * stride] /= sum;
}

static void run_softmax(const struct nuc_eval_call *c)
{
    const struct softmax *s = c->state;
    const float *in = nuc_eval_in(c, INPUT);
    float *out = c->out[0];

    for (size_t o = 0; o < s->outer; o++) {
        for (size_t i = 0; i < s->inner; i++) {
            size_t first = o * s->size * s->inner + i;
            softmax_one(in + first, out + first, s->size, s->inner);
        }
    }
}

const struct nuc_eval_op nuc_eval_softmax = {.prepare = prepare_softmax, .run = run_softmax};
