/* Means, sums and extrema over any dimensions, and softmax. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "compiler/eval/eval_sum.h"

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

/* The dimensions that the operator reduces, as a mask. */
static uint32_t reduced_dims(const struct nuc_eval_call *c)
{
    uint32_t rank = nuc_eval_in_meta(c, NUC_SELF)->rank;

    return c->node->op == NUC_OP_SUM ? (1u << rank) - 1 : nuc_dims_mask(c->node, NUC_ARG(MEAN_DIM, dim), rank);
}

static void prepare_mean(struct nuc_eval_call *c)
{
    plan_sums(c, reduced_dims(c), true);
}

const struct nuc_eval_op nuc_eval_mean = {.prepare = prepare_mean, .run = run_sums};

/* Adaptive pooling to one pixel: torch takes the mean over height and width. */
static void prepare_global_pool(struct nuc_eval_call *c)
{
    plan_sums(c, 3u << (nuc_eval_in_meta(c, NUC_SELF)->rank - 2), true);
}

const struct nuc_eval_op nuc_eval_global_pool = {.prepare = prepare_global_pool, .run = run_sums};

/* ---- sum: float32, or integers of any kind, which give int64 ---- */

static bool adds_integers(const struct nuc_eval_call *c)
{
    return nuc_eval_is_integer(nuc_eval_in_meta(c, NUC_SELF)->dtype) && nuc_eval_result(c)->dtype == NUC_I64;
}

/* The state is the strides that lead from an element's coordinates to a result: 0 where the dimension is reduced. */
static void plan_reduction(struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF);
    size_t *strides = nuc_alloc_array(c->cx, NUC_MAX_RANK, sizeof *strides), stride = 1;

    for (uint32_t d = in->rank; d-- > 0;) {
        if ((reduced_dims(c) >> d & 1) != 0)
            continue;
        strides[d] = stride;
        stride *= (size_t)in->sizes[d];
    }
    assert(stride == nuc_eval_elements(c));
    c->state = strides;
}

static void prepare_sum(struct nuc_eval_call *c)
{
    if (adds_integers(c))
        plan_reduction(c);
    else
        plan_sums(c, reduced_dims(c), false);
}

static void run_sum(const struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF);
    size_t count = (size_t)nuc_elements(in);
    uint64_t *out = c->out[0];

    if (!adds_integers(c)) {
        run_sums(c);
        return;
    }
    memset(out, 0, nuc_bytes(nuc_eval_result(c)));
    for (size_t i = 0; i < count; i++)
        out[nuc_eval_offset(in, i, c->state)] += (uint64_t)nuc_eval_load_int(in->dtype, nuc_eval_in(c, NUC_SELF), i);
}

const struct nuc_eval_op nuc_eval_sum = {.prepare = prepare_sum, .run = run_sum};

/* ---- amax, amin. NaN wins. ---- */

static void prepare_extremum(struct nuc_eval_call *c)
{
    nuc_eval_expect_float(c, NUC_SELF);
    plan_reduction(c);
}

static void run_extremum(const struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF);
    size_t count = (size_t)nuc_elements(in), results = nuc_eval_elements(c);
    const float *data = nuc_eval_in(c, NUC_SELF);
    bool largest = c->node->op == NUC_OP_AMAX;
    float *out = c->out[0];

    for (size_t i = 0; i < results; i++)
        out[i] = largest ? -INFINITY : INFINITY;
    for (size_t i = 0; i < count; i++) {
        float *to = &out[nuc_eval_offset(in, i, c->state)];
        bool better = largest ? data[i] > *to : data[i] < *to;
        if (better || isnan(data[i]))
            *to = data[i];
    }
}

const struct nuc_eval_op nuc_eval_extremum = {.prepare = prepare_extremum, .run = run_extremum};

/* ---- softmax ---- */

struct softmax {
    size_t outer, size, inner;
};

static void prepare_softmax(struct nuc_eval_call *c)
{
    struct softmax *s = nuc_alloc(c->cx, sizeof *s);
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF);
    uint32_t dim = in->rank == 0 ? 0 : (uint32_t)nuc_dim(c->node, NUC_ARG(SOFTMAX, dim), -1, in->rank);

    nuc_eval_expect_float(c, NUC_SELF);
    s->outer = nuc_product_of_dims(in, 0, dim);
    s->size = in->rank == 0 ? 1 : (size_t)in->sizes[dim];
    s->inner = nuc_product_of_dims(in, dim + 1, in->rank);
    c->state = s;
}

static void softmax_one(const float *in, float *out, size_t size, size_t stride)
{
    float largest = -INFINITY, sum = 0.0f;

    for (size_t i = 0; i < size; i++)
        largest = in[i * stride] > largest ? in[i * stride] : largest;
    for (size_t i = 0; i < size; i++) {
        out[i * stride] = (float)exp((double)(in[i * stride] - largest));
        sum += out[i * stride];
    }
    for (size_t i = 0; i < size; i++)
        out[i * stride] /= sum;
}

static void run_softmax(const struct nuc_eval_call *c)
{
    const struct softmax *s = c->state;
    const float *in = nuc_eval_in(c, NUC_SELF);
    float *out = c->out[0];

    for (size_t o = 0; o < s->outer; o++) {
        for (size_t i = 0; i < s->inner; i++) {
            size_t first = o * s->size * s->inner + i;
            softmax_one(in + first, out + first, s->size, s->inner);
        }
    }
}

const struct nuc_eval_op nuc_eval_softmax = {.prepare = prepare_softmax, .run = run_softmax};
