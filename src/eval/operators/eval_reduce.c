/* Means and sums over any dimensions, softmax and its logarithm. */
#include <assert.h>
#include <math.h>

#include "eval/eval_rounded.h"
#include "eval/eval_sum.h"

uint32_t nuc_eval_reduced_dims(const struct nuc_eval_call *c)
{
    uint32_t rank = nuc_eval_in_meta(c, NUC_SELF)->rank;
    const struct nuc_arg *dim = nuc_arg_at(c->node, NUC_ARG(MEAN_DIM, dim));

    if (c->node->op == NUC_OP_SUM)
        return (1u << rank) - 1;
    if (dim->kind == NUC_ARG_INT)
        return rank == 0 ? 0 : 1u << nuc_positive_dim(dim->u.i, rank);
    return nuc_dims_mask(c->node, NUC_ARG(MEAN_DIM, dim), rank);
}

/* ---- mean and sum of float32 ---- */

struct sums {
    const struct nuc_sum *sum;
    float divisor; /* 1 of a sum: the quotient is the sum itself */
};

static void plan_sums(struct nuc_eval_call *c, uint32_t reduced, bool mean)
{
    struct sums *s = nuc_alloc(c->cx, sizeof *s);

    nuc_eval_expect_float(c, NUC_SELF);
    s->sum = nuc_sum_plan(c->cx, nuc_eval_in_meta(c, NUC_SELF), reduced);
    assert(nuc_sum_results(s->sum) == nuc_eval_elements(c));
    s->divisor = mean ? (float)nuc_sum_count(s->sum) : 1.0f;
    c->state = s;
}

static void sum_range(const void *arg, struct nuc_part part)
{
    const struct nuc_eval_call *c = arg;
    const struct sums *s = c->state;
    float *out = c->out[0];

    for (size_t i = part.begin; i < part.end; i++)
        out[i] = nuc_sum_at(s->sum, nuc_eval_in(c, NUC_SELF), i) / s->divisor;
}

static void run_sums(const struct nuc_eval_call *c)
{
    const struct sums *s = c->state;
    size_t results = nuc_sum_results(s->sum);

    nuc_parallel_for(c->pool, results, (double)results * (double)nuc_sum_count(s->sum), sum_range, c);
}

static void prepare_mean(struct nuc_eval_call *c)
{
    plan_sums(c, nuc_eval_reduced_dims(c), true);
}

const struct nuc_eval_op nuc_eval_mean = {.prepare = prepare_mean, .run = run_sums};

/* Adaptive pooling to one pixel: torch takes the mean over height and width. */
static void prepare_global_pool(struct nuc_eval_call *c)
{
    plan_sums(c, 3u << (nuc_eval_in_meta(c, NUC_SELF)->rank - 2), true);
}

const struct nuc_eval_op nuc_eval_global_pool = {.prepare = prepare_global_pool, .run = run_sums};

/* ---- sum: float32 in the order of torch; integers are a fold (eval_fold.c) ---- */

static void prepare_sum(struct nuc_eval_call *c)
{
    plan_sums(c, nuc_eval_reduced_dims(c), false);
}

const struct nuc_eval_op nuc_eval_float_sum = {.prepare = prepare_sum, .run = run_sums};

/* ---- softmax ---- */

static void prepare_softmax(struct nuc_eval_call *c)
{
    struct nuc_eval_lines *lines = nuc_alloc(c->cx, sizeof *lines);
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF);
    uint32_t dim = in->rank == 0 ? 0 : (uint32_t)nuc_dim(c->node, NUC_ARG(SOFTMAX, dim), -1, in->rank);

    nuc_eval_expect_float(c, NUC_SELF);
    *lines = nuc_eval_lines_of(in, dim);
    c->state = lines;
}

/* Elements of a line at a time. */
#define SOME 64

static void softmax_one(const float *in, float *out, size_t size, size_t stride)
{
    float largest = -INFINITY, sum = 0.0f;

    for (size_t i = 0; i < size; i++)
        largest = in[i * stride] > largest ? in[i * stride] : largest;
    for (size_t at = 0, some; at < size; at += some) {
        float below[SOME], powers[SOME];
        some = size - at < SOME ? size - at : SOME;
        for (size_t i = 0; i < some; i++)
            below[i] = in[(at + i) * stride] - largest;
        nuc_eval_exp(below, powers, some);
        for (size_t i = 0; i < some; i++) {
            out[(at + i) * stride] = powers[i];
            sum += powers[i];
        }
    }
    for (size_t i = 0; i < size; i++)
        out[i * stride] /= sum;
}

/* The sum is at least 1: its logarithm is exact to the last digit of the difference. */
static void log_softmax_one(const float *in, float *out, size_t size, size_t stride)
{
    float largest = -INFINITY;
    double sum = 0.0;

    for (size_t i = 0; i < size; i++)
        largest = in[i * stride] > largest ? in[i * stride] : largest;
    for (size_t i = 0; i < size; i++)
        sum += exp((double)(in[i * stride] - largest));
    for (size_t i = 0; i < size; i++)
        out[i * stride] = (float)((double)(in[i * stride] - largest) - log(sum));
}

static void run_softmax(const struct nuc_eval_call *c)
{
    const struct nuc_eval_lines *lines = c->state;
    void (*one)(const float *, float *, size_t, size_t) =
        c->node->op == NUC_OP_LOG_SOFTMAX || c->node->op == NUC_OP_NATIVE_LOG_SOFTMAX ? log_softmax_one : softmax_one;
    const float *in = nuc_eval_in(c, NUC_SELF);
    float *out = c->out[0];

    for (size_t line = 0; line < lines->outer * lines->inner; line++) {
        size_t first = nuc_eval_line(lines, line);
        one(in + first, out + first, lines->size, lines->inner);
    }
}

const struct nuc_eval_op nuc_eval_softmax = {.prepare = prepare_softmax, .run = run_softmax};
