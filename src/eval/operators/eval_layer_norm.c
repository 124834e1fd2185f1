/*
 * Normalization over statistics of the tensor itself: (x - mean) / sqrt(variance + eps) * weight + bias for layer and
 * group norm, x / sqrt(mean of squares + eps) * weight for RMS norm. Sums are in double, the result is rounded once.
 */
#include <float.h>
#include <math.h>

#include "eval/eval_call.h"
#include "host/clones.h"

struct norm {
    double eps;
    bool centred;
    size_t rows, count;          /* every row has statistics of its own */
    size_t inner;                /* elements in a row that share a weight */
    size_t weights;              /* after which they repeat */
    uint32_t weight_at, bias_at; /* argument positions; no bias: that of the weight */
};

static void check_types(const struct nuc_eval_call *c, const struct norm *n)
{
    nuc_eval_expect_float(c, NUC_SELF);
    if (nuc_eval_has_in(c, n->weight_at))
        nuc_eval_expect(c, n->weight_at, NUC_F32);
    if (nuc_eval_has_in(c, n->bias_at))
        nuc_eval_expect(c, n->bias_at, NUC_F32);
}

/* (input, normalized_shape, weight, bias, eps); RMS norm has no bias. */
static void prepare_layer_norm(struct nuc_eval_call *c)
{
    struct norm *n = nuc_alloc(c->cx, sizeof *n);
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF);
    bool rms = c->node->op == NUC_OP_RMS_NORM;
    uint32_t dims = nuc_arg_at(c->node, NUC_ARG(LAYER_NORM, normalized_shape))->count;

    n->centred = !rms;
    n->weight_at = NUC_ARG(LAYER_NORM, weight);
    n->bias_at = rms ? n->weight_at : NUC_ARG(LAYER_NORM, bias);
    n->eps = nuc_scalar(c->node, rms ? NUC_ARG(RMS_NORM, eps) : NUC_ARG(LAYER_NORM, eps), (double)FLT_EPSILON);
    n->rows = nuc_product_of_dims(in, 0, in->rank - dims);
    n->count = nuc_product_of_dims(in, in->rank - dims, in->rank);
    n->inner = 1;
    n->weights = n->count;
    check_types(c, n);
    c->state = n;
}

static void prepare_group_norm(struct nuc_eval_call *c)
{
    struct norm *n = nuc_alloc(c->cx, sizeof *n);
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF);
    bool native = c->node->op == NUC_OP_NATIVE_GROUP_NORM;
    size_t groups =
        (size_t)nuc_integer(c->node, native ? NUC_ARG(NATIVE_GROUP_NORM, group) : NUC_ARG(GROUP_NORM, num_groups), 1);

    n->centred = true;
    n->weight_at = native ? NUC_ARG(NATIVE_GROUP_NORM, weight) : NUC_ARG(GROUP_NORM, weight);
    n->bias_at = n->weight_at + 1;
    n->eps = nuc_scalar(c->node, native ? NUC_ARG(NATIVE_GROUP_NORM, eps) : NUC_ARG(GROUP_NORM, eps), 1e-5);
    n->rows = (size_t)in->sizes[0] * groups;
    n->inner = nuc_product_of_dims(in, 2, in->rank);
    n->weights = (size_t)in->sizes[1];
    n->count = n->weights / groups * n->inner;
    check_types(c, n);
    c->state = n;
}

struct statistics {
    double mean, inverse; /* 1 / sqrt(variance + eps) */
};

/* Sums of rows that lie side by side, each in the order of its elements: one alone would wait for its last addition. */
#define ROWS 4

/* Means, where rows are centred, and 1 / sqrt(variance + eps). Rows from `rows` on are the first one again. */
static void look_at_rows(const struct norm *n, const float *in, size_t rows, struct statistics out[ROWS])
{
    const float *row[ROWS];
    double mean[ROWS] = {0.0}, squares[ROWS] = {0.0};

    for (size_t r = 0; r < ROWS; r++)
        row[r] = r < rows ? in + r * n->count : in;
    for (size_t i = 0; n->centred && i < n->count; i++) {
        for (size_t r = 0; r < ROWS; r++)
            mean[r] += (double)row[r][i];
    }
    for (size_t r = 0; r < ROWS; r++)
        mean[r] /= (double)n->count;
    for (size_t i = 0; i < n->count; i++) {
        for (size_t r = 0; r < ROWS; r++)
            squares[r] += ((double)row[r][i] - mean[r]) * ((double)row[r][i] - mean[r]);
    }
    for (size_t r = 0; r < ROWS; r++)
        out[r] = (struct statistics){mean[r], 1.0 / sqrt(squares[r] / (double)n->count + n->eps)};
}

/* Elements with a weight of their own, or all with the first one, as the step says: 1 or 0; biases alike. */
static inline void scale(const float *in, float *restrict out, size_t count, struct statistics s, const float *weight,
                         size_t weight_step, const float *bias, size_t bias_step)
{
    for (size_t i = 0; i < count; i++) {
        double value = ((double)in[i] - s.mean) * s.inverse * (double)weight[i * weight_step];
        out[i] = (float)(value + (double)bias[i * bias_step]);
    }
}

NUC_CLONES static void scale_each(const float *in, float *restrict out, size_t count, struct statistics s,
                                  const float *weight, const float *bias)
{
    scale(in, out, count, s, weight, 1, bias, 1);
}

NUC_CLONES static void scale_all(const float *in, float *restrict out, size_t count, struct statistics s, float weight,
                                 float bias)
{
    scale(in, out, count, s, &weight, 0, &bias, 0);
}

static void scale_row(const struct nuc_eval_call *c, size_t row, const float *in, float *out, struct statistics s)
{
    static const float one = 1.0f, nothing = -0.0f; /* which change no value */
    const struct norm *n = c->state;
    const float *weight = nuc_eval_in(c, n->weight_at);
    const float *bias = n->bias_at == n->weight_at ? NULL : nuc_eval_in(c, n->bias_at);
    size_t run = n->inner == 1 ? n->count : n->inner;

    for (size_t i = 0; i < n->count; i += run) {
        const size_t at = (row * n->count + i) / n->inner % n->weights;
        const float *w = weight == NULL ? &one : weight + at, *b = bias == NULL ? &nothing : bias + at;
        if (n->inner != 1 || (weight == NULL && bias == NULL))
            scale_all(in + i, out + i, run, s, *w, *b);
        else if (weight != NULL && bias != NULL)
            scale_each(in + i, out + i, run, s, w, b);
        else
            scale(in + i, out + i, run, s, w, weight != NULL, b, bias != NULL);
    }
}

static void normalize_rows(const void *arg, struct nuc_part part)
{
    const struct nuc_eval_call *c = arg;
    const struct norm *n = c->state;
    struct statistics s[ROWS];

    for (size_t row = part.begin; row < part.end; row++) {
        const float *in = (const float *)nuc_eval_in(c, NUC_SELF) + row * n->count;
        const size_t k = (row - part.begin) % ROWS;
        if (k == 0)
            look_at_rows(n, in, part.end - row, s);
        scale_row(c, row, in, (float *)c->out[0] + row * n->count, s[k]);
        if (c->node->n_vals == 3) {
            ((float *)c->out[1])[row] = (float)s[k].mean;
            ((float *)c->out[2])[row] = (float)s[k].inverse;
        }
    }
}

static void run_norm(const struct nuc_eval_call *c)
{
    const struct norm *n = c->state;

    nuc_parallel_for(c->pool, n->rows, (double)n->rows * (double)n->count * 4, normalize_rows, c);
}

const struct nuc_eval_op nuc_eval_layer_norm = {.prepare = prepare_layer_norm, .run = run_norm};
const struct nuc_eval_op nuc_eval_rms_norm = {.prepare = prepare_layer_norm, .run = run_norm};
const struct nuc_eval_op nuc_eval_group_norm = {.prepare = prepare_group_norm, .run = run_norm};
