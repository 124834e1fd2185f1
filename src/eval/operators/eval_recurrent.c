/*
 * Recurrent layers with torch's equations: for each layer, direction and step, with s the logistic function and
 * a_k = W_ik x + b_ik, b_k = W_hk h + b_hk for gate k,
 *
 *     GRU     r = s(a_r + b_r), z = s(a_z + b_z), n = tanh(a_n + r b_n), h' = (h - n) z + n
 *     LSTM    i = s(a_i + b_i), f = s(a_f + b_f), g = tanh(a_g + b_g), o = s(a_o + b_o)
 *             c' = f c + i g, h' = o tanh(c'), or W_hr times that where the hidden state is projected
 *     RNN     h' = tanh(a + b) or max(a + b, 0)
 *
 * The weights of the gates lie below each other in W_i [gates * hidden][inputs] and W_h [gates * hidden][outputs].
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "eval/eval_call.h"
#include "ir/recurrent_args.h"

#define PARAMS NUC_RECURRENT(params)

struct layers {
    struct nuc_recurrent r;
    size_t steps, batch, inputs, hidden, outputs; /* as in r */
};

/* One direction of one layer. */
struct cell {
    const struct layers *u;
    size_t inputs;
    const float *w_input, *w_hidden, *b_input, *b_hidden; /* biases may be NULL */
    const float *projection;                              /* [outputs][hidden] or NULL */
};

/* Floats of the values of a whole layer, of which two are alive. */
static size_t layer_size(const struct layers *u)
{
    size_t width = u->outputs * u->r.directions;

    return u->steps * u->batch * (width > u->inputs ? width : u->inputs);
}

static void prepare(struct nuc_eval_call *c)
{
    struct layers *u = nuc_alloc(c->cx, sizeof *u);
    struct nuc_recurrent r = nuc_recurrent_of(c->node);

    nuc_eval_expect_float(c, NUC_SELF);
    for (uint32_t i = 0; i < nuc_eval_list_count(c, PARAMS); i++) {
        if (nuc_eval_list_meta(c, PARAMS, i)->dtype != NUC_F32)
            nuc_eval_fail(c, "parameter %u is not float32", (unsigned)i);
    }
    assert(nuc_eval_list_count(c, PARAMS) == r.layers * r.directions * r.per_cell);
    if (nuc_flag(c->node, NUC_RECURRENT(train)) && nuc_scalar(c->node, NUC_RECURRENT(dropout), 0.0) > 0.0)
        nuc_eval_fail(c, "it drops elements at random; export the model after eval()");
    *u = (struct layers){r, (size_t)r.steps, (size_t)r.batch, (size_t)r.inputs, (size_t)r.hidden, (size_t)r.outputs};
    /* Two layers, both products of a step, and what is projected. */
    c->scratch_size = (2 * layer_size(u) + (2 * u->r.gates + 1) * u->hidden) * sizeof(float);
    c->state = u;
}

/* Four rows at a time: the sum of each has the order of its elements, so that only other rows keep the CPU busy. */
static void multiply_rows(const float *const rows[4], const float *x, size_t columns, float sums[4])
{
    float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;

    for (size_t k = 0; k < columns; k++) {
        a += rows[0][k] * x[k];
        b += rows[1][k] * x[k];
        c += rows[2][k] * x[k];
        d += rows[3][k] * x[k];
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

/* out[i] = row i of weight [rows][columns] times x, plus bias[i]. */
static void multiply(const float *weight, const float *bias, const float *x, size_t rows, size_t columns, float *out)
{
    for (size_t i = 0; i < rows; i += 4) {
        const float *four[4];
        float sums[4];
        for (size_t k = 0; k < 4; k++)
            four[k] = weight + (i + k < rows ? i + k : i) * columns;
        multiply_rows(four, x, columns, sums);
        for (size_t k = 0; k < 4 && i + k < rows; k++)
            out[i + k] = bias == NULL ? sums[k] : sums[k] + bias[i + k];
    }
}

static float logistic(float x)
{
    return 1.0f / (1.0f + (float)exp(-(double)x));
}

static float hyperbolic(float x)
{
    return (float)tanh((double)x);
}

/* ---- one unit i of n: products a and b of its gates, hidden state h in and out ---- */

static void gru_unit(const float *a, const float *b, size_t i, size_t n, float *h)
{
    float r = logistic(b[i] + a[i]);
    float z = logistic(b[n + i] + a[n + i]);
    float new = hyperbolic(a[2 * n + i] + b[2 * n + i] * r);

    *h = (*h - new) * z + new;
}

static void lstm_unit(const float *a, const float *b, size_t i, size_t n, float *h, float *c)
{
    float in = logistic(a[i] + b[i]);
    float forget = logistic(a[n + i] + b[n + i]);
    float new = hyperbolic(a[2 * n + i] + b[2 * n + i]);
    float out = logistic(a[3 * n + i] + b[3 * n + i]);

    *c = forget * *c + in * new;
    *h = out * hyperbolic(*c);
}

static void rnn_unit(enum nuc_op op, float sum, float *h)
{
    *h = op == NUC_OP_RNN_TANH ? hyperbolic(sum) : sum < 0.0f ? 0.0f : sum;
}

/* One step of one sample: h becomes h', c becomes c'. `gates` has room for both products and for what is projected. */
static void step(const struct cell *cell, const float *x, float *h, float *c, float *gates)
{
    size_t hidden = cell->u->hidden, rows = cell->u->r.gates * hidden;
    float *from_x = gates, *from_h = gates + rows, *wide = from_h + rows;
    float *next = cell->projection != NULL ? wide : h;

    multiply(cell->w_input, cell->b_input, x, rows, cell->inputs, from_x);
    multiply(cell->w_hidden, cell->b_hidden, h, rows, cell->u->outputs, from_h);
    for (size_t i = 0; i < hidden; i++) {
        if (cell->u->r.op == NUC_OP_GRU)
            gru_unit(from_x, from_h, i, hidden, &h[i]);
        else if (cell->u->r.op == NUC_OP_LSTM)
            lstm_unit(from_x, from_h, i, hidden, &next[i], &c[i]);
        else
            rnn_unit(cell->u->r.op, from_x[i] + from_h[i], &h[i]);
    }
    if (cell->projection != NULL)
        multiply(cell->projection, NULL, wide, cell->u->outputs, hidden, h);
}

/*
 * in [steps][batch][inputs] to its part of out [steps][batch][directions * outputs]; h [batch][outputs], c of an LSTM
 * [batch][hidden].
 */
static void run_direction(const struct cell *cell, size_t direction, const float *in, float *out, float *h, float *c,
                          float *gates)
{
    const struct layers *u = cell->u;

    for (size_t i = 0; i < u->steps; i++) {
        size_t t = direction == 0 ? i : u->steps - 1 - i;
        for (size_t n = 0; n < u->batch; n++) {
            float *state = h + n * u->outputs;
            step(cell, in + (t * u->batch + n) * cell->inputs, state, c == NULL ? NULL : c + n * u->hidden, gates);
            memcpy(out + ((t * u->batch + n) * u->r.directions + direction) * u->outputs, state,
                   u->outputs * sizeof *state);
        }
    }
}

/* [a][b][columns] to [b][a][columns]. */
static void swap_outer(const float *in, float *out, size_t a, size_t b, size_t columns)
{
    for (size_t i = 0; i < a; i++) {
        for (size_t j = 0; j < b; j++)
            memcpy(out + (j * a + i) * columns, in + (i * b + j) * columns, columns * sizeof *in);
    }
}

static void run(const struct nuc_eval_call *c)
{
    const struct layers *u = c->state;
    float *now = c->scratch, *next = now + layer_size(u), *gates = next + layer_size(u), *h = c->out[1];
    float *cells = c->node->op == NUC_OP_LSTM ? c->out[2] : NULL;

    /* The final states start as the initial ones. */
    bool list = c->node->op == NUC_OP_LSTM;
    for (uint32_t i = 0; i + 1 < c->node->n_vals; i++)
        memcpy(c->out[i + 1], list ? nuc_eval_list_in(c, NUC_RECURRENT(hx), i) : nuc_eval_in(c, NUC_RECURRENT(hx)),
               nuc_bytes(&c->node->vals[i + 1]));
    if (u->r.batch_first)
        swap_outer(nuc_eval_in(c, NUC_SELF), now, u->batch, u->steps, u->inputs);
    else
        memcpy(now, nuc_eval_in(c, NUC_SELF), u->steps * u->batch * u->inputs * sizeof *now);
    for (size_t layer = 0; layer < u->r.layers; layer++) {
        for (size_t d = 0; d < u->r.directions; d++, h += u->batch * u->outputs) {
            uint32_t first = (uint32_t)(layer * u->r.directions + d) * u->r.per_cell;
            const float *tensors[5] = {NULL};
            for (uint32_t i = 0; i < u->r.per_cell; i++)
                tensors[i] = nuc_eval_list_in(c, PARAMS, first + i);
            struct cell cell = {
                .u = u,
                .inputs = layer == 0 ? u->inputs : u->outputs * u->r.directions,
                .w_input = tensors[0],
                .w_hidden = tensors[1],
                .b_input = u->r.biases ? tensors[2] : NULL,
                .b_hidden = u->r.biases ? tensors[3] : NULL,
                .projection = u->r.projected ? tensors[u->r.per_cell - 1] : NULL,
            };
            run_direction(&cell, d, now, next, h, cells, gates);
            cells = cells == NULL ? NULL : cells + u->batch * u->hidden;
        }
        float *swap = now;
        now = next;
        next = swap;
    }
    if (u->r.batch_first)
        swap_outer(now, c->out[0], u->steps, u->batch, u->outputs * u->r.directions);
    else
        memcpy(c->out[0], now, nuc_bytes(nuc_eval_result(c)));
}

const struct nuc_eval_op nuc_eval_recurrent = {.prepare = prepare, .run = run};
