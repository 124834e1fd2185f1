/*
 * Gated recurrent units with torch's equations: for each layer, direction and step, with s the logistic function,
 *
 *     r = s(W_ir x + b_ir + W_hr h + b_hr)        z = s(W_iz x + b_iz + W_hz h + b_hz)
 *     n = tanh(W_in x + b_in + r (W_hn h + b_hn)) h' = (h - n) z + n
 *
 * The weights of r, z and n lie below each other in W_i [3 hidden][inputs] and W_h [3 hidden][hidden].
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "compiler/eval/eval_private.h"

#define INPUT NUC_ARG(GRU, input)
#define HIDDEN NUC_ARG(GRU, hx)
#define PARAMS NUC_ARG(GRU, params)

enum { GATES = 3 };

struct gru {
    size_t steps, batch, inputs, hidden, layers, directions;
    uint32_t params; /* tensors of one layer and direction */
    bool batch_first;
};

/* One direction of one layer. */
struct cell {
    size_t inputs;
    const float *w_input, *w_hidden, *b_input, *b_hidden; /* biases may be NULL */
};

/* Floats of the values of a whole layer, of which two are alive, and of the gates of one step. */
static size_t layer_size(const struct gru *u)
{
    return u->steps * u->batch * (u->hidden * u->directions > u->inputs ? u->hidden * u->directions : u->inputs);
}

static void check_types(const struct nuc_eval_call *c)
{
    nuc_eval_expect_float(c, INPUT);
    nuc_eval_expect(c, HIDDEN, NUC_F32);
    for (uint32_t i = 0; i < nuc_eval_list_count(c, PARAMS); i++) {
        if (nuc_eval_list_meta(c, PARAMS, i)->dtype != NUC_F32)
            nuc_eval_fail(c, "parameter %u is not float32", (unsigned)i);
    }
}

static void prepare(struct nuc_eval_call *c)
{
    struct gru *u = nuc_alloc(c->cx, sizeof *u);
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT), *h = nuc_eval_in_meta(c, HIDDEN);

    check_types(c);
    if (nuc_flag(c->node, NUC_ARG(GRU, train)) && nuc_scalar(c->node, NUC_ARG(GRU, dropout), 0.0) > 0.0)
        nuc_eval_fail(c, "it drops elements at random; export the model after eval()");
    u->batch_first = nuc_flag(c->node, NUC_ARG(GRU, batch_first));
    u->steps = (size_t)in->sizes[u->batch_first ? 1 : 0];
    u->batch = (size_t)in->sizes[u->batch_first ? 0 : 1];
    u->inputs = (size_t)in->sizes[2];
    u->hidden = (size_t)h->sizes[2];
    u->layers = (size_t)nuc_integer(c->node, NUC_ARG(GRU, num_layers), 1);
    u->directions = nuc_flag(c->node, NUC_ARG(GRU, bidirectional)) ? 2 : 1;
    u->params = nuc_flag(c->node, NUC_ARG(GRU, has_biases)) ? 4 : 2;
    assert(nuc_eval_list_count(c, PARAMS) == u->layers * u->directions * u->params);
    c->scratch_size = (2 * layer_size(u) + 2 * GATES * u->hidden) * sizeof(float);
    c->state = u;
}

/* out[i] = row i of weight [rows][columns] times x, plus bias[i]. */
static void multiply(const float *weight, const float *bias, const float *x, size_t rows, size_t columns, float *out)
{
    for (size_t i = 0; i < rows; i++, weight += columns) {
        float sum = 0.0f;
        for (size_t k = 0; k < columns; k++)
            sum += weight[k] * x[k];
        out[i] = bias == NULL ? sum : sum + bias[i];
    }
}

static float logistic(float x)
{
    return 1.0f / (1.0f + (float)exp(-(double)x));
}

/* One step of one sample: h becomes h'. `gates` has room for both products. */
static void step(const struct cell *cell, const float *x, float *h, size_t hidden, float *gates)
{
    float *from_x = gates, *from_h = gates + GATES * hidden;

    multiply(cell->w_input, cell->b_input, x, GATES * hidden, cell->inputs, from_x);
    multiply(cell->w_hidden, cell->b_hidden, h, GATES * hidden, hidden, from_h);
    for (size_t i = 0; i < hidden; i++) {
        float r = logistic(from_h[i] + from_x[i]);
        float z = logistic(from_h[hidden + i] + from_x[hidden + i]);
        float n = (float)tanh((double)(from_x[2 * hidden + i] + from_h[2 * hidden + i] * r));
        h[i] = (h[i] - n) * z + n;
    }
}

static struct cell cell_at(const struct nuc_eval_call *c, size_t layer, size_t direction)
{
    const struct gru *u = c->state;
    uint32_t first = (uint32_t)(layer * u->directions + direction) * u->params;
    const float *tensors[4] = {NULL};

    for (uint32_t i = 0; i < u->params; i++)
        tensors[i] = nuc_eval_list_in(c, PARAMS, first + i);
    return (struct cell){layer == 0 ? u->inputs : u->hidden * u->directions, tensors[0], tensors[1], tensors[2],
                         tensors[3]};
}

/* in [steps][batch][inputs] to its part of out [steps][batch][directions * hidden]; `states` [batch][hidden]. */
static void run_direction(const struct gru *u, const struct cell *cell, size_t direction, const float *in, float *out,
                          float *states, float *gates)
{
    for (size_t i = 0; i < u->steps; i++) {
        size_t t = direction == 0 ? i : u->steps - 1 - i;
        for (size_t n = 0; n < u->batch; n++) {
            float *h = states + n * u->hidden;
            step(cell, in + (t * u->batch + n) * cell->inputs, h, u->hidden, gates);
            memcpy(out + ((t * u->batch + n) * u->directions + direction) * u->hidden, h, u->hidden * sizeof *h);
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
    const struct gru *u = c->state;
    float *now = c->scratch, *next = now + layer_size(u), *gates = next + layer_size(u), *states = c->out[1];

    memcpy(states, nuc_eval_in(c, HIDDEN), nuc_bytes(&c->node->vals[1]));
    if (u->batch_first)
        swap_outer(nuc_eval_in(c, INPUT), now, u->batch, u->steps, u->inputs);
    else
        memcpy(now, nuc_eval_in(c, INPUT), u->steps * u->batch * u->inputs * sizeof *now);
    for (size_t layer = 0; layer < u->layers; layer++) {
        for (size_t d = 0; d < u->directions; d++, states += u->batch * u->hidden) {
            struct cell cell = cell_at(c, layer, d);
            run_direction(u, &cell, d, now, next, states, gates);
        }
        float *swap = now;
        now = next;
        next = swap;
    }
    if (u->batch_first)
        swap_outer(now, c->out[0], u->steps, u->batch, u->hidden * u->directions);
    else
        memcpy(c->out[0], now, nuc_bytes(nuc_eval_result(c)));
}

const struct nuc_eval_op nuc_eval_gru = {.prepare = prepare, .run = run};
