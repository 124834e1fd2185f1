/*
 * Means and sums over any dimensions, softmax and its logarithm. Sums are rounded as by torch's CPU kernel
 * (aten/src/ATen/native/cpu/SumKernel.cpp), which depends on the dim order of the tensor: a mean often lands on the tie
 * between two quantized values, and then the order of the additions decides.
 */
#include <assert.h>
#include <math.h>

#include "eval/eval_call.h"
#include "eval/eval_rounded.h"
#include "host/clones.h"

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

/* ---- mean and sum of float32, with the rounding of torch's kernel ---- */

/* Floats of a vector register in torch's kernel, whatever the host has. */
#define LANES 8

/* Sums torch takes side by side: of neighbouring results, or of one result interleaved. */
#define SIDE_BY_SIDE 4

#define LEVELS 4

/* How elements of a run are added up. */
enum order {
    LEVELLED,    /* in groups, groups of groups, ... */
    INTERLEAVED, /* four levelled sums of every fourth element */
    VECTOR,      /* eight interleaved sums of every eighth element */
};

struct sums {
    size_t n_run, n_runs; /* elements of a run that is contiguous up to a stride; runs follow one after the other */
    size_t *run_offsets;  /* [n_run] logical */
    bool dense;           /* they are 0, 1, 2, ... */
    size_t *runs_offsets; /* [n_runs] logical */
    size_t results;
    size_t *result_offsets;  /* [results] logical offset of the first element */
    size_t columns;          /* results that lie side by side in memory */
    size_t levelled_columns; /* the first ones of them are LEVELLED */
    enum order order;        /* of the others */
    float divisor;           /* 1 of a sum: the quotient is the sum itself */
};

/* One dimension of more than one element. */
struct dim {
    size_t size;
    size_t logical;  /* stride of the data here */
    size_t physical; /* stride under the dim order */
};

/* ---- planning ---- */

/* Logical offsets of all positions of `count` dims, the first one running fastest. */
static size_t *enumerate(struct nuc_context *cx, const struct dim *dims, uint32_t count, size_t *total)
{
    *total = 1;
    for (uint32_t d = 0; d < count; d++)
        *total *= dims[d].size;
    size_t *offsets = nuc_alloc_array(cx, *total, sizeof *offsets);
    for (size_t i = 0; i < *total; i++) {
        size_t rest = i;
        for (uint32_t d = 0; d < count; d++) {
            offsets[i] += rest % dims[d].size * dims[d].logical;
            rest /= dims[d].size;
        }
    }
    return offsets;
}

/* Dims from the first on that are one range of memory up to a stride. Returns how many. */
static uint32_t run_length(const struct dim *dims, uint32_t count)
{
    uint32_t run = count == 0 ? 0 : 1;

    while (run < count && dims[run].physical == dims[run - 1].physical * dims[run - 1].size)
        run++;
    return run;
}

/* The sums over the dimensions in the mask `reduced`. */
static void plan_sums(struct nuc_eval_call *c, uint32_t reduced, bool mean)
{
    struct nuc_context *cx = c->cx;
    const struct nuc_meta *m = nuc_eval_in_meta(c, NUC_SELF);
    struct sums *s = nuc_alloc(cx, sizeof *s);
    struct dim sum_dims[NUC_MAX_RANK], kept_dims[NUC_MAX_RANK];
    uint32_t n_sum = 0, n_kept = 0;
    int64_t physical[NUC_MAX_RANK];
    size_t logical = 1;

    nuc_eval_expect_float(c, NUC_SELF);
    /* Innermost in logical order first. */
    nuc_dense_strides(m, physical);
    for (uint32_t d = m->rank; d-- > 0;) {
        struct dim dim = {(size_t)m->sizes[d], logical, (size_t)physical[d]};
        logical *= dim.size;
        if (dim.size != 1 && (reduced >> d & 1) != 0)
            sum_dims[n_sum++] = dim;
        else if (dim.size != 1)
            kept_dims[n_kept++] = dim;
    }
    for (uint32_t i = 1; i < n_sum; i++) {
        for (uint32_t j = i; j > 0 && sum_dims[j].physical < sum_dims[j - 1].physical; j--) {
            struct dim swap = sum_dims[j];
            sum_dims[j] = sum_dims[j - 1];
            sum_dims[j - 1] = swap;
        }
    }
    uint32_t run = run_length(sum_dims, n_sum);
    s->run_offsets = enumerate(cx, sum_dims, run, &s->n_run);
    s->dense = true;
    for (size_t i = 0; s->dense && i < s->n_run; i++)
        s->dense = s->run_offsets[i] == i;
    s->runs_offsets = enumerate(cx, sum_dims + run, n_sum - run, &s->n_runs);
    s->result_offsets = enumerate(cx, kept_dims, n_kept, &s->results);
    s->columns = 1;
    for (uint32_t d = 0; d < run_length(kept_dims, n_kept); d++)
        s->columns *= kept_dims[d].size;
    /* Torch's choice among its four loops; `step` and `column_step` are the strides along a run and between results. */
    size_t step = n_sum == 0 ? 0 : sum_dims[0].physical;
    size_t column_step = n_kept == 0 ? 0 : kept_dims[0].physical;
    s->order = INTERLEAVED;
    if (step == 1 && s->n_run >= LANES)
        s->order = VECTOR;
    else if (column_step == 1 && s->columns >= LANES)
        s->levelled_columns = s->columns / (LANES * SIDE_BY_SIDE) * (LANES * SIDE_BY_SIDE);
    else if (step >= column_step)
        s->levelled_columns = s->columns / SIDE_BY_SIDE * SIDE_BY_SIDE;
    assert(s->results == nuc_eval_elements(c));
    s->divisor = mean ? (float)(s->n_run * s->n_runs) : 1.0f;
    c->state = s;
}

/* ---- summing: elements in[offsets[i * step]] for i in [0, count) ---- */

static unsigned group_bits(size_t count)
{
    unsigned bits = 0;

    while (((size_t)1 << bits) < count)
        bits++;
    return bits / LEVELS < 4 ? 4 : bits / LEVELS;
}

/* Full groups move up a level; every level moves up when as many groups of it are complete. */
static float sum_levelled(const float *in, const size_t *offsets, size_t step, size_t count)
{
    unsigned bits = group_bits(count);
    size_t group = (size_t)1 << bits;
    float sums[LEVELS] = {0.0f};

    for (size_t i = 0; i < count;) {
        size_t end = count - i < group ? count : i + group;
        bool full = end - i == group;
        for (; i < end; i++)
            sums[0] += in[offsets[i * step]];
        for (unsigned level = 1; full && level < LEVELS; level++) {
            sums[level] += sums[level - 1];
            sums[level - 1] = 0.0f;
            full = (i >> (level * bits) & (group - 1)) == 0;
        }
    }
    return ((sums[0] + sums[1]) + sums[2]) + sums[3];
}

static float sum_interleaved(const float *in, const size_t *offsets, size_t step, size_t count)
{
    size_t rows = count / SIDE_BY_SIDE;
    float sums[SIDE_BY_SIDE];

    for (size_t k = 0; k < SIDE_BY_SIDE; k++)
        sums[k] = sum_levelled(in, offsets + k * step, step * SIDE_BY_SIDE, rows);
    for (size_t i = rows * SIDE_BY_SIDE; i < count; i++)
        sums[0] += in[offsets[i * step]];
    return ((sums[0] + sums[1]) + sums[2]) + sums[3];
}

/* The same as a lane of VECTOR each, of elements that lie side by side. */
NUC_CLONES static void sum_lanes(const float *in, size_t rows, float lanes[LANES])
{
    size_t count = rows / SIDE_BY_SIDE, group = (size_t)1 << group_bits(count);
    float sums[SIDE_BY_SIDE][LEVELS][LANES] = {{{0.0f}}};

    for (size_t i = 0; i < count;) {
        size_t end = count - i < group ? count : i + group;
        bool full = end - i == group;
        for (; i < end; i++) {
            for (size_t k = 0; k < SIDE_BY_SIDE * LANES; k++)
                sums[k / LANES][0][k % LANES] += in[i * SIDE_BY_SIDE * LANES + k];
        }
        for (unsigned level = 1; full && level < LEVELS; level++) {
            for (size_t k = 0; k < SIDE_BY_SIDE * LANES; k++) {
                sums[k / LANES][level][k % LANES] += sums[k / LANES][level - 1][k % LANES];
                sums[k / LANES][level - 1][k % LANES] = 0.0f;
            }
            full = (i >> (level * group_bits(count)) & (group - 1)) == 0;
        }
    }
    for (size_t lane = 0; lane < LANES; lane++) {
        float side[SIDE_BY_SIDE];
        for (size_t k = 0; k < SIDE_BY_SIDE; k++)
            side[k] = ((sums[k][0][lane] + sums[k][1][lane]) + sums[k][2][lane]) + sums[k][3][lane];
        for (size_t i = count * SIDE_BY_SIDE; i < rows; i++)
            side[0] += in[i * LANES + lane];
        lanes[lane] = ((side[0] + side[1]) + side[2]) + side[3];
    }
}

static float sum_run(const struct sums *s, const float *in, size_t column)
{
    if (s->order == VECTOR) {
        size_t rows = s->n_run / LANES;
        float sum = 0.0f, lanes[LANES];
        for (size_t i = rows * LANES; i < s->n_run; i++)
            sum += in[s->run_offsets[i]];
        if (s->dense)
            sum_lanes(in, rows, lanes);
        for (size_t lane = 0; lane < LANES; lane++)
            sum += s->dense ? lanes[lane] : sum_interleaved(in, s->run_offsets + lane, LANES, rows);
        return sum;
    }
    if (column < s->levelled_columns)
        return sum_levelled(in, s->run_offsets, 1, s->n_run);
    return sum_interleaved(in, s->run_offsets, 1, s->n_run);
}

static void sum_range(const void *arg, struct nuc_part part)
{
    const struct nuc_eval_call *c = arg;
    const struct sums *s = c->state;
    const float *in = nuc_eval_in(c, NUC_SELF);
    float *out = c->out[0];

    for (size_t at = part.begin; at < part.end; at++) {
        float sum = 0.0f;
        for (size_t i = 0; i < s->n_runs; i++)
            sum += sum_run(s, in + s->result_offsets[at] + s->runs_offsets[i], at % s->columns);
        out[at] = sum / s->divisor;
    }
}

static void run_sums(const struct nuc_eval_call *c)
{
    const struct sums *s = c->state;

    nuc_parallel_for(c->pool, s->results, (double)s->results * (double)(s->n_run * s->n_runs), sum_range, c);
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

/* Integers are a fold (eval_fold.c). */
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
