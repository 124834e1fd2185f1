/*
 * Reductions of a result from its elements one after the other, in every element type: sums and products of integers,
 * products, any, variances. Sums and means of float32 are in eval_reduce.c, extrema and their places in eval_kernel.c.
 */
#include <assert.h>
#include <math.h>

#include "eval/eval_call.h"

/* The elements of a result, as offsets from its first, and the first element of every result. */
struct fold {
    enum nuc_dtype dtype;
    size_t count, results;
    size_t *elements;  /* [count], in logical order */
    size_t *firsts;    /* [results] */
    double correction; /* of a variance */
};

/* Offsets of all positions in the dimensions of the mask, in logical order. */
static size_t *positions(struct nuc_context *cx, const struct nuc_meta *m, uint32_t mask, size_t *total)
{
    *total = 1;
    for (uint32_t d = 0; d < m->rank; d++)
        *total *= (mask >> d & 1) != 0 ? (size_t)m->sizes[d] : 1;
    size_t *offsets = nuc_alloc_array(cx, *total + 1, sizeof *offsets);
    for (size_t i = 0; i < *total; i++) {
        size_t rest = i, stride = 1;
        for (uint32_t d = m->rank; d-- > 0; stride *= (size_t)m->sizes[d]) {
            if ((mask >> d & 1) == 0)
                continue;
            offsets[i] += rest % (size_t)m->sizes[d] * stride;
            rest /= (size_t)m->sizes[d];
        }
    }
    return offsets;
}

static bool is_float_sum(const struct nuc_eval_call *c)
{
    return (c->node->op == NUC_OP_SUM || c->node->op == NUC_OP_SUM_DIM) && nuc_eval_result(c)->dtype == NUC_F32;
}

static void prepare_fold(struct nuc_eval_call *c)
{
    struct fold *f = nuc_alloc(c->cx, sizeof *f);
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF);
    uint32_t mask = nuc_eval_reduced_dims(c);

    if (is_float_sum(c)) {
        nuc_eval_float_sum.prepare(c);
        return;
    }
    if (nuc_eval_result(c)->dtype == NUC_F32)
        nuc_eval_expect_float(c, NUC_SELF);
    else if (in->dtype != NUC_F32 && !nuc_is_integer(in->dtype))
        nuc_eval_fail(c, "elements of type %s are not computed; convert them with to()", nuc_dtype_name(in->dtype));
    f->dtype = in->dtype;
    f->elements = positions(c->cx, in, mask, &f->count);
    f->firsts = positions(c->cx, in, ((1u << in->rank) - 1) & ~mask, &f->results);
    assert(f->results == nuc_eval_elements(c));
    f->correction = c->node->op == NUC_OP_VAR ? nuc_scalar(c->node, NUC_ARG(VAR, correction), 1) : 0;
    c->state = f;
}

static bool any(const struct fold *f, const void *in, size_t first)
{
    bool found = false;

    for (size_t i = 0; i < f->count; i++) {
        size_t at = first + f->elements[i];
        float real = f->dtype == NUC_F32 ? ((const float *)in)[at] : 0.0f;
        found = found || isnan(real) || real < 0.0f || real > 0.0f || nuc_int_at(f->dtype, in, at) != 0;
    }
    return found;
}

/* A result of an integer or bool type. */
static int64_t whole_result(enum nuc_op op, const struct fold *f, const void *in, size_t first)
{
    uint64_t sum = 0, product = 1; /* both wrap around */

    if (op == NUC_OP_ANY_DIMS)
        return any(f, in, first);
    for (size_t i = 0; i < f->count; i++) {
        uint64_t element = (uint64_t)nuc_int_at(f->dtype, in, first + f->elements[i]);
        sum += element;
        product *= element;
    }
    return (int64_t)(op == NUC_OP_PROD_DIM ? product : sum);
}

static float float_result(enum nuc_op op, const struct fold *f, const float *in)
{
    if (op == NUC_OP_VAR) {
        double mean = 0.0, squares = 0.0, divisor = (double)f->count - f->correction;
        for (size_t i = 0; i < f->count; i++)
            mean += (double)in[f->elements[i]];
        mean /= (double)f->count;
        for (size_t i = 0; i < f->count; i++) {
            double deviation = (double)in[f->elements[i]] - mean;
            squares += deviation * deviation;
        }
        return (float)(squares / (divisor > 0.0 ? divisor : 0.0));
    }
    double product = 1.0;
    for (size_t i = 0; i < f->count; i++)
        product *= (double)in[f->elements[i]];
    return (float)product;
}

static void run_fold(const struct nuc_eval_call *c)
{
    const struct fold *f = c->state;
    const struct nuc_meta *out = nuc_eval_result(c);
    const void *in = nuc_eval_in(c, NUC_SELF);
    enum nuc_op op = c->node->op;

    if (is_float_sum(c)) {
        nuc_eval_float_sum.run(c);
        return;
    }
    for (size_t r = 0; r < f->results; r++) {
        if (out->dtype == NUC_F32)
            ((float *)c->out[0])[r] = float_result(op, f, (const float *)in + f->firsts[r]);
        else
            nuc_store_int(out->dtype, c->out[0], r, whole_result(op, f, in, f->firsts[r]));
    }
}

const struct nuc_eval_op nuc_eval_fold = {.prepare = prepare_fold, .run = run_fold};

/* ---- running sums ---- */

static void prepare_scan(struct nuc_eval_call *c)
{
    struct nuc_eval_lines *lines = nuc_alloc(c->cx, sizeof *lines);
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF);
    uint32_t dim = in->rank == 0 ? 0 : (uint32_t)nuc_dim(c->node, NUC_ARG(CUMSUM, dim), 0, in->rank);

    if (in->dtype == NUC_F32)
        nuc_eval_expect_float(c, NUC_SELF);
    else if (!nuc_is_integer(in->dtype) || !nuc_is_integer(nuc_eval_result(c)->dtype))
        nuc_eval_fail(c, "elements of type %s are not computed; convert them with to()", nuc_dtype_name(in->dtype));
    *lines = nuc_eval_lines_of(in, dim);
    c->state = lines;
}

/* Torch keeps the sum of float32 in double. */
static void run_scan(const struct nuc_eval_call *c)
{
    const struct nuc_eval_lines *lines = c->state;
    enum nuc_dtype from = nuc_eval_in_meta(c, NUC_SELF)->dtype, to = nuc_eval_result(c)->dtype;
    const void *in = nuc_eval_in(c, NUC_SELF);

    for (size_t line = 0; line < lines->outer * lines->inner; line++) {
        size_t at = nuc_eval_line(lines, line);
        double sum = 0.0;
        uint64_t whole_sum = 0;
        for (size_t i = 0; i < lines->size; i++, at += lines->inner) {
            if (from == NUC_F32) {
                sum += (double)((const float *)in)[at];
                ((float *)c->out[0])[at] = (float)sum;
            } else {
                whole_sum += (uint64_t)nuc_int_at(from, in, at);
                nuc_store_int(to, c->out[0], at, (int64_t)whole_sum);
            }
        }
    }
}

const struct nuc_eval_op nuc_eval_scan = {.prepare = prepare_scan, .run = run_scan};
