/* Mean over any dimensions, and softmax. */
#include <math.h>
#include <string.h>

#include "compiler/eval/eval_private.h"

enum { INPUT, DIM };

/* ---- mean ---- */

struct mean {
    size_t out_strides[NUC_MAX_RANK]; /* of the result, by input dimension; 0 when reduced */
    size_t step;                      /* along an input row */
    size_t out_elements;
    size_t count; /* elements averaged for each result */
};

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
    struct mean *m = nuc_alloc(c->cx, sizeof *m);
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT);
    bool reduced[NUC_MAX_RANK];
    size_t stride = 1;

    nuc_eval_want_float(c, INPUT);
    reduced_dims(c, reduced);
    m->count = 1;
    for (uint32_t d = in->rank; d-- > 0;) {
        if (reduced[d]) {
            m->count *= (size_t)in->sizes[d];
            continue;
        }
        m->out_strides[d] = stride;
        stride *= (size_t)in->sizes[d];
    }
    m->step = in->rank == 0 ? 0 : m->out_strides[in->rank - 1];
    m->out_elements = stride;
    if (stride != (size_t)nuc_elements(nuc_eval_out_meta(c, 0)))
        nuc_eval_fail(c, "the result %s does not fit", nuc_meta_text(c->cx, nuc_eval_out_meta(c, 0)));
    c->scratch_size = stride * sizeof(double);
    c->state = m;
}

/* torch sums pairwise in float32; a sum in double rounded once is what that approximates. */
static void run_mean(const struct nuc_eval_call *c)
{
    const struct mean *m = c->state;
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT);
    const float *from = nuc_eval_in(c, INPUT);
    size_t length = nuc_eval_row_length(in), rows = nuc_eval_rows(in);
    double *sums = c->scratch;
    float *out = c->out[0];

    memset(sums, 0, m->out_elements * sizeof *sums);
    for (size_t row = 0; row < rows; row++, from += length) {
        double *to = sums + nuc_eval_row_offset(in, row, m->out_strides);
        for (size_t i = 0; i < length; i++)
            to[i * m->step] += (double)from[i];
    }
    for (size_t i = 0; i < m->out_elements; i++)
        out[i] = (float)sums[i] / (float)m->count;
}

const struct nuc_eval_op nuc_eval_mean = {.prepare = prepare_mean, .run = run_mean};

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
