/* Means, sums and extrema over any dimensions, and softmax. */
#include <math.h>
#include <string.h>

#include "compiler/eval/eval_sum.h"

enum { INPUT, DIM };

/* ---- mean and sum of float32 ---- */

static void plan_sums(struct nuc_eval_call *c, const bool reduced[NUC_MAX_RANK])
{
    nuc_eval_want_float(c, INPUT);
    struct nuc_sum *sum = nuc_sum_plan(c->cx, nuc_eval_in_meta(c, INPUT), reduced);
    if (nuc_sum_results(sum) != (size_t)nuc_elements(nuc_eval_out_meta(c, 0)))
        nuc_eval_fail(c, "the result %s does not fit", nuc_meta_text(c->cx, nuc_eval_out_meta(c, 0)));
    c->state = sum;
}

static void prepare_mean(struct nuc_eval_call *c)
{
    bool reduced[NUC_MAX_RANK];

    nuc_eval_marked_dims(c, DIM, nuc_eval_in_meta(c, INPUT)->rank, reduced);
    plan_sums(c, reduced);
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

/* ---- sum: float32, or integers of any kind, which give int64 ---- */

static bool adds_integers(const struct nuc_eval_call *c)
{
    return nuc_eval_is_integer(nuc_eval_in_meta(c, INPUT)->dtype) && nuc_eval_out_meta(c, 0)->dtype == NUC_I64;
}

/*
 * Walks a tensor in logical order: `strides` leads from its coordinates to a result, with 0 where the dimension is
 * reduced.
 */
struct reduction {
    size_t strides[NUC_MAX_RANK];
};

static struct reduction *plan_reduction(struct nuc_eval_call *c, const bool reduced[NUC_MAX_RANK])
{
    struct reduction *r = nuc_alloc(c->cx, sizeof *r);
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT);
    size_t stride = 1;

    for (uint32_t d = in->rank; d-- > 0;) {
        r->strides[d] = reduced[d] ? 0 : stride;
        stride *= reduced[d] ? 1 : (size_t)in->sizes[d];
    }
    if (stride != (size_t)nuc_elements(nuc_eval_out_meta(c, 0)))
        nuc_eval_fail(c, "the result %s does not fit", nuc_meta_text(c->cx, nuc_eval_out_meta(c, 0)));
    c->state = r;
    return r;
}

static void prepare_sums(struct nuc_eval_call *c, const bool reduced[NUC_MAX_RANK])
{
    if (adds_integers(c))
        plan_reduction(c, reduced);
    else
        plan_sums(c, reduced);
}

static void prepare_sum(struct nuc_eval_call *c)
{
    bool reduced[NUC_MAX_RANK];

    nuc_eval_marked_dims(c, DIM, nuc_eval_in_meta(c, INPUT)->rank, reduced);
    prepare_sums(c, reduced);
}

static void prepare_sum_all(struct nuc_eval_call *c)
{
    bool reduced[NUC_MAX_RANK];

    for (uint32_t d = 0; d < NUC_MAX_RANK; d++)
        reduced[d] = true;
    prepare_sums(c, reduced);
}

static size_t result_of(const struct reduction *r, const struct nuc_meta *in, size_t element)
{
    size_t result = 0;

    for (uint32_t d = in->rank; d-- > 0;) {
        result += element % (size_t)in->sizes[d] * r->strides[d];
        element /= (size_t)in->sizes[d];
    }
    return result;
}

static void add_integers(const struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT);
    size_t count = (size_t)nuc_elements(in);
    uint64_t *out = c->out[0];

    memset(out, 0, nuc_bytes(nuc_eval_out_meta(c, 0)));
    for (size_t i = 0; i < count; i++)
        out[result_of(c->state, in, i)] += (uint64_t)nuc_eval_load_int(in->dtype, nuc_eval_in(c, INPUT), i);
}

static void sum_range(void *arg, size_t begin, size_t end, unsigned worker)
{
    const struct mean_run *r = arg;

    (void)worker;
    for (size_t i = begin; i < end; i++)
        r->out[i] = nuc_sum_at(r->sum, r->in, i);
}

static void run_sum(const struct nuc_eval_call *c)
{
    if (adds_integers(c)) {
        add_integers(c);
        return;
    }
    struct mean_run r = {c->state, nuc_eval_in(c, INPUT), c->out[0]};
    size_t results = nuc_sum_results(r.sum);
    nuc_parallel_for(c->pool, results, (double)results * (double)nuc_sum_count(r.sum), sum_range, &r);
}

const struct nuc_eval_op nuc_eval_sum = {.prepare = prepare_sum, .run = run_sum};
const struct nuc_eval_op nuc_eval_sum_all = {.prepare = prepare_sum_all, .run = run_sum};

/* ---- amax, amin: self, dim, keepdim. NaN wins. ---- */

static void prepare_extremum(struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT);
    bool reduced[NUC_MAX_RANK];

    nuc_eval_want_float(c, INPUT);
    if (nuc_elements(in) == 0)
        nuc_eval_fail(c, "%s has no largest element", nuc_meta_text(c->cx, in));
    nuc_eval_marked_dims(c, DIM, in->rank, reduced);
    plan_reduction(c, reduced);
}

static bool finds_largest(const struct nuc_eval_call *c)
{
    return c->node->op == NUC_OP_AMAX;
}

static void run_extremum(const struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT);
    size_t count = (size_t)nuc_elements(in), results = (size_t)nuc_elements(nuc_eval_out_meta(c, 0));
    const float *data = nuc_eval_in(c, INPUT);
    bool largest = finds_largest(c);
    float *out = c->out[0];

    for (size_t i = 0; i < results; i++)
        out[i] = largest ? -INFINITY : INFINITY;
    for (size_t i = 0; i < count; i++) {
        float *to = &out[result_of(c->state, in, i)];
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
        out[i * stride] = (float)exp((double)(in[i * stride] - largest));
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
