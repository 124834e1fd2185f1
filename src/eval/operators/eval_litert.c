/*
 * SVDF and LSTM in the integers of LiteRT's kernels, step by step as its documents say, over whole vectors where the
 * kernels of a program go value by value.
 */
#include <string.h>

#include "device/base/fixed_point.h"
#include "device/base/logistic.h"
#include "eval/eval_call.h"

static struct nuc_multiplier multiplier_at(const int64_t *numbers)
{
    return (struct nuc_multiplier){(int32_t)numbers[0], (int32_t)numbers[1]};
}

static int32_t within(int64_t v, int64_t low, int64_t high)
{
    return (int32_t)(v < low ? low : v > high ? high : v);
}

static int32_t low_half(uint64_t v)
{
    return (int32_t)(uint32_t)v;
}

/* The integer at an index of int8 or int16. */
static int64_t element(const void *data, bool wide, size_t i)
{
    return wide ? (int64_t)((const int16_t *)data)[i] : (int64_t)((const int8_t *)data)[i];
}

static int64_t row_times(const int8_t *row, const void *x, bool wide, size_t count, int64_t zero)
{
    int64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += (int64_t)row[i] * (element(x, wide, i) - zero);
    return sum;
}

/* ---- SVDF ---- */

#define SVDF(name) NUC_ARG(NUCLEON_SVDF, name)

static void run_svdf(const struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF), *times = nuc_eval_in_meta(c, SVDF(times));
    const size_t batch = (size_t)in->sizes[0], features = (size_t)in->sizes[1], rows = (size_t)times->sizes[0];
    const size_t memory = (size_t)times->sizes[1], rank = (size_t)nuc_integer(c->node, SVDF(rank), 1);
    const int64_t *numbers = c->node->args[SVDF(numbers)].u.ints;
    const struct nuc_multiplier to_state = multiplier_at(numbers + 3), to_out = multiplier_at(numbers + 5);
    const bool wide = times->dtype == NUC_I16;
    const int32_t *bias = nuc_eval_in(c, SVDF(bias));
    const enum nuc_dtype dtype = times->dtype;
    const struct nuc_int_range range = nuc_int_range(dtype);

    /* All of the state one place to the front, the frame behind. */
    memcpy(c->out[1], nuc_eval_in(c, SVDF(state)), nuc_bytes(&c->node->vals[1]));
    for (size_t i = 0; i + 1 < batch * rows * memory; i++)
        nuc_store_int(dtype, c->out[1], i, element(c->out[1], wide, i + 1));
    for (size_t i = 0; i < batch * rows; i++) {
        int64_t dot =
            row_times((const int8_t *)nuc_eval_in(c, SVDF(features)) + i % rows * features,
                      (const int8_t *)nuc_eval_in(c, NUC_SELF) + i / rows * features, false, features, numbers[0]);
        int64_t new = within(nuc_requantize(low_half((uint64_t)dot), to_state), range.low, range.high) + numbers[1];
        nuc_store_int(dtype, c->out[1], i * memory + memory - 1, new);
    }
    for (size_t i = 0; i < batch * rows / rank; i++) {
        const size_t unit = i % (rows / rank);
        uint64_t sum = bias != NULL ? (uint64_t)bias[unit] : 0;
        for (size_t k = 0; k < rank * memory; k++) {
            int64_t state = element(c->out[1], wide, i * rank * memory + k) - numbers[1];
            sum += (uint64_t)(state * element(nuc_eval_in(c, SVDF(times)), wide, unit * rank * memory + k));
        }
        int64_t result = (int64_t)nuc_requantize(low_half(sum), to_out) + numbers[2];
        ((int8_t *)c->out[0])[i] = (int8_t)within(result, INT8_MIN, INT8_MAX);
    }
}

const struct nuc_eval_op nuc_eval_svdf = {.run = run_svdf};

/* ---- LSTM ---- */

#define LSTM(name) NUC_ARG(NUCLEON_LITERT_LSTM, name)

enum { GATES = 4, FROM_X = 0, FROM_H = 8, KEEP = 16, ADD = 18, SHOW = 20, ZERO_POINT = 22, CELL_POWER, CLIP };

static int32_t to_16(int64_t v)
{
    return within(v, INT16_MIN, INT16_MAX);
}

static int32_t product(const int64_t *numbers, int32_t a, int32_t b)
{
    return to_16(nuc_requantize(a * b, multiplier_at(numbers)));
}

/* The bias and product of a row of one of both products (`which`) in units of 2^-12. */
static int32_t sum_of_row(const struct nuc_eval_call *c, bool wide, size_t row, size_t which, int64_t products,
                          const int64_t *numbers)
{
    const void *biases = nuc_eval_in(c, LSTM(biases));
    const struct nuc_multiplier m = multiplier_at(numbers);

    if (wide)
        return to_16(nuc_requantize_long(products + ((const int64_t *)biases)[2 * row + which], m));
    products += ((const int32_t *)biases)[2 * row + which];
    return to_16(nuc_requantize(low_half((uint64_t)products), m));
}

/* One step of one sample. gates: room for all of them. */
static void step(const struct nuc_eval_call *c, const void *x, size_t inputs, void *h, int16_t *cell, size_t hidden,
                 int32_t *gates)
{
    const enum nuc_dtype dtype = c->node->vals[0].dtype;
    const bool wide = dtype == NUC_I16;
    const int64_t *n = c->node->args[LSTM(numbers)].u.ints;
    const int8_t *w_x = nuc_eval_in(c, LSTM(input_weights)), *w_h = nuc_eval_in(c, LSTM(recurrent_weights));
    const struct nuc_int_range range = nuc_int_range(dtype);

    for (size_t row = 0; row < GATES * hidden; row++) {
        const size_t gate = row / hidden;
        int64_t of_x = row_times(w_x + row * inputs, x, wide, inputs, 0);
        int64_t of_h = row_times(w_h + row * hidden, h, wide, hidden, 0);
        of_x = sum_of_row(c, wide, row, 0, of_x, n + FROM_X + 2 * gate);
        of_h = sum_of_row(c, wide, row, 1, of_h, n + FROM_H + 2 * gate);
        int32_t sum = nuc_to_q15_units(nuc_q15_units(-12), to_16(of_x + of_h));
        gates[row] = gate == 2 ? nuc_tanh_q15(sum) : nuc_logistic_q15(sum);
    }
    for (size_t i = 0; i < hidden; i++) {
        int32_t kept = product(n + KEEP, gates[hidden + i], cell[i]);
        int32_t next = to_16((int64_t)kept + product(n + ADD, gates[i], gates[2 * hidden + i]));
        cell[i] = (int16_t)(n[CLIP] > 0 ? within(next, -n[CLIP], n[CLIP]) : next);
        int32_t bent = nuc_tanh_q15(nuc_to_q15_units(nuc_q15_units((int32_t)n[CELL_POWER]), cell[i]));
        int64_t shown = (int64_t)nuc_requantize(bent * gates[3 * hidden + i], multiplier_at(n + SHOW)) + n[ZERO_POINT];
        nuc_store_int(dtype, h, i, within(shown, range.low, range.high));
    }
}

static void prepare_lstm(struct nuc_eval_call *c)
{
    c->scratch_size = GATES * (size_t)c->node->vals[1].sizes[2] * sizeof(int32_t);
}

/* The final states start as the initial ones. */
static void run_lstm(const struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF), *state = &c->node->vals[1];
    const size_t hidden = (size_t)state->sizes[2], batch = (size_t)state->sizes[1], inputs = (size_t)in->sizes[2];
    const bool batch_first = nuc_flag(c->node, LSTM(batch_first));
    const size_t steps = (size_t)in->sizes[batch_first ? 1 : 0];
    const size_t width = in->dtype == NUC_I16 ? 2 : 1;
    const uint8_t *x = nuc_eval_in(c, NUC_SELF);
    uint8_t *h = c->out[1];
    int16_t *cell = c->out[2];

    memcpy(h, nuc_eval_in(c, LSTM(h0)), nuc_bytes(&c->node->vals[1]));
    memcpy(cell, nuc_eval_in(c, LSTM(c0)), nuc_bytes(&c->node->vals[2]));
    for (size_t i = 0; i < steps * batch; i++) {
        const size_t t = i / batch, n = i % batch, at = batch_first ? n * steps + t : i;
        uint8_t *of_sample = h + n * hidden * width;
        step(c, x + at * inputs * width, inputs, of_sample, cell + n * hidden, hidden, c->scratch);
        memcpy((uint8_t *)c->out[0] + at * hidden * width, of_sample, hidden * width);
    }
}

const struct nuc_eval_op nuc_eval_litert_lstm = {.prepare = prepare_lstm, .run = run_lstm};
