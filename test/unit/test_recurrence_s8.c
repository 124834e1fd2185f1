/* Recurrent layers in int8 against their definition, with real numbers in place of the states and gates. */
#include "unit/test.h"

#include <math.h>

#include "device/kernels/dsp/dsp.h"
#include "device/kernels/select/select.h"
#include "unit/numbers.h"

#define ROUNDS 400

enum { MOST_UNITS = 37, MOST_INPUTS = 21, MOST_STEPS = 6, PADDING = 3 };

struct layer_case {
    struct nuc_recurrence r;
    struct nuc_recurrence_s8 p;
    double in[MOST_STEPS * MOST_INPUTS + PADDING]; /* in steps of the product */
    double h[MOST_UNITS + PADDING], c[MOST_UNITS];
};

static double dot_of(const struct nuc_recurrence_rows *w, int32_t row, const double *values)
{
    double product = 0;

    for (int32_t i = 0; i < w->columns; i++)
        product += w->weight[row * w->columns + i] * values[i];
    return product;
}

static double gate_x(const struct layer_case *l, int32_t row, const double *x)
{
    const struct nuc_recurrence_row *r = &l->p.rows[row];

    return (dot_of(&l->p.x, row, x) * ldexp(r->x_multiplier, l->p.x.left - 32) + r->x_bias) / 32768;
}

/* Only the GRU's new state has a bias of its own. */
static double gate_h(const struct layer_case *l, int32_t row, const double *h)
{
    const struct nuc_recurrence_row *r = &l->p.rows[row];
    double bias = l->r.cell == NUC_CELL_GRU && row >= 2 * l->r.hidden ? r->h_bias : 0;

    return (dot_of(&l->p.h, row, h) * ldexp(r->h_multiplier, l->p.h.left - 32 + l->p.fraction) + bias) / 32768;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void layer_step(struct layer_case *l, const double *x)
{
    double h[MOST_UNITS + PADDING];
    int32_t n = l->r.hidden;

    memcpy(h, l->h, sizeof h);
    for (int32_t i = 0; i < n; i++) {
        double sums[4];
        for (int32_t k = 0; k < nuc_cell_gates(l->r.cell); k++)
            sums[k] = gate_x(l, k * n + i, x) + gate_h(l, k * n + i, h);
        if (l->r.cell == NUC_CELL_GRU) {
            double new = tanh(gate_x(l, 2 * n + i, x) + sigmoid(sums[0]) * gate_h(l, 2 * n + i, h));
            l->h[i] = (1 - sigmoid(sums[1])) * new + sigmoid(sums[1]) * h[i];
        } else if (l->r.cell == NUC_CELL_LSTM) {
            l->c[i] = sigmoid(sums[1]) * l->c[i] + sigmoid(sums[0]) * tanh(sums[2]);
            l->h[i] = sigmoid(sums[3]) * tanh(l->c[i]);
        } else {
            l->h[i] = l->r.cell == NUC_CELL_TANH ? tanh(sums[0]) : fmax(sums[0], 0);
        }
    }
}

/* Rows for `count` values, in half of the cases with zeros up to the next multiple of 4. */
static struct nuc_recurrence_rows random_matrix(struct numbers *n, int32_t rows, int32_t count, int32_t left)
{
    int32_t columns = number(n, 0, 1) != 0 ? (int32_t)nuc_recurrence_padded(count) : count;
    int8_t *weight = random_s8(n, (size_t)(rows * columns));

    for (int32_t i = 0; i < rows * columns; i++)
        weight[i] = i % columns < count ? weight[i] : 0;
    return (struct nuc_recurrence_rows){weight, columns, left};
}

/* Multipliers below 2^x_bits and 2^h_bits, a quarter of that at least. */
static struct nuc_recurrence_row *random_rows(struct numbers *n, int32_t rows, int x_bits, int h_bits)
{
    struct nuc_recurrence_row *list = calloc((size_t)rows, sizeof *list);

    assert_non_null(list);
    for (int32_t i = 0; i < rows; i++) {
        list[i].x_multiplier = number(n, 1 << (x_bits - 2), 1 << x_bits);
        list[i].x_bias = number(n, -40000, 40000);
        list[i].h_multiplier = number(n, 1 << (h_bits - 2), 1 << h_bits);
        list[i].h_bias = number(n, -40000, 40000);
    }
    return list;
}

/* Each output within half a step of the real value, of float32 within a hundredth, and what the roundings inside add.
 */
static void check_layer(struct layer_case *l, const void *out)
{
    const struct nuc_recurrence_scale *to = &l->p.to_out;
    double scale = ldexp(to->factor.multiplier, to->factor.shift - 31 + l->p.fraction);

    for (int32_t i = 0; i < l->r.steps; i++) {
        int32_t t = l->r.backwards ? l->r.steps - 1 - i : i;
        layer_step(l, l->in + t * l->r.in_step);
        for (int32_t k = 0; k < l->r.hidden; k++) {
            ptrdiff_t at = t * l->r.out_step + k;
            bool real = to->factor.multiplier == 0;
            double want = real ? l->h[k] : fmin(fmax(l->h[k] * scale + to->zero_point, -128), 127);
            double found = real ? (double)((const float *)out)[at] : ((const int8_t *)out)[at];
            if (!(fabs(found - want) < (real ? 0.001 * fmax(1, fabs(want)) : 0.56)))
                fail_msg("cell %d, step %d: %g instead of %g", (int)l->r.cell, (int)i, found, want);
        }
    }
}

/* int8, and real numbers in which each step is of another size. */
static void random_input(struct numbers *n, struct layer_case *l, int8_t *in, float *real)
{
    for (int32_t i = 0; i < l->r.steps * l->r.inputs; i++) {
        in[i] = (int8_t)number(n, -128, 127);
        real[i] = ldexpf((float)number(n, -20000, 20000), -13 - i / l->r.inputs % 5);
        l->in[i] = l->p.real_in ? (double)real[i] * ldexp(1, l->p.input_bits - l->p.exponent) : in[i];
    }
}

static void test_recurrence(void **state)
{
    struct numbers n = {17};

    for (int round = 0; round < 2 * ROUNDS; round++) {
        int32_t hidden = number(&n, 1, MOST_UNITS), inputs = number(&n, 1, MOST_INPUTS), steps = number(&n, 1, 6);
        bool real_in = number(&n, 0, 1) != 0, real_out = number(&n, 0, 1) != 0;
        int32_t scratch[4 * MOST_UNITS + MOST_INPUTS]; /* more than needed */
        struct layer_case l = {
            .r = {(enum nuc_cell)(round % 4), number(&n, 0, 1) != 0, steps, 1, inputs, hidden, inputs, 0, hidden, 0}};
        int32_t rows = nuc_cell_gates(l.r.cell) * hidden;
        bool relu = l.r.cell == NUC_CELL_RELU;
        int8_t h_n[MOST_UNITS], c_n[MOST_UNITS], h0[MOST_UNITS], c0[MOST_UNITS], in[MOST_STEPS * MOST_INPUTS];
        float out[2][MOST_STEPS * MOST_UNITS] = {{0}}, real[MOST_STEPS * MOST_INPUTS];
        l.p = (struct nuc_recurrence_s8){
            .x = random_matrix(&n, rows, inputs, real_in ? 5 : 13),
            .h = random_matrix(&n, rows, hidden, 4),
            .rows = random_rows(&n, rows, real_in ? 29 : 21, relu ? 20 : 21),
            .fraction = relu ? 10 : 15,
            .real_in = real_in,
            .exponent = 10,
            .input_bits = 15,
            .h_n = h_n,
            .c_n = c_n,
            .scratch = scratch,
            .from_h0 = {1, {1 << 30, relu ? 4 : 9}},
            .from_c0 = {-2, {1 << 30, 11}},
            .to_out = {number(&n, -20, 20), {real_out ? 0 : 1 << 30, relu ? -5 : -7}},
            .to_h_n = {number(&n, -20, 20), {1 << 30, relu ? -5 : -7}},
        };
        random_input(&n, &l, in, real);
        for (int32_t i = 0; i < hidden && number(&n, 0, 20) != 0; i++) {
            l.p.h0 = h0;
            l.p.c0 = c0;
        }
        for (int32_t i = 0; i < hidden; i++) {
            h0[i] = (int8_t)number(&n, -127, 127);
            c0[i] = (int8_t)number(&n, -127, 127);
            l.h[i] = l.p.h0 == NULL ? 0 : ldexp((h0[i] - 1) * (relu ? 8 : 256), -l.p.fraction);
            l.c[i] = l.p.c0 == NULL ? 0 : ldexp((c0[i] + 2) * 1024, -15);
        }
        nuc_ref_recurrence_s8(&l.r, &l.p, real_in ? (void *)real : in, out[0]);
        check_layer(&l, out[0]);
        for (int32_t k = 0; k < hidden; k++) {
            double want =
                fmax(fmin(l.h[k] * ldexp(1, l.p.fraction - 1 + (relu ? -5 : -7)) + l.p.to_h_n.zero_point, 127), -128);
            assert_true(fabs(h_n[k] - want) < 0.56);
        }
        nuc_dsp_recurrence_s8(&l.r, &l.p, real_in ? (void *)real : in, out[1]);
        assert_memory_equal(out[0], out[1], sizeof out[0]);
        free((void *)(uintptr_t)l.p.x.weight);
        free((void *)(uintptr_t)l.p.h.weight);
        free((void *)(uintptr_t)l.p.rows);
    }
}

/* Of a float32 input, values beyond the largest exponent saturate, and what is no number is 0. */
static void test_recurrence_extremes(void **state)
{
    const struct nuc_recurrence_row row = {1 << 28, 0, 1 << 28, 0};
    const int8_t one = 1, zero = 0;
    float in[5] = {1e30f, -1e30f, NAN, 0, 0x1p-30f}, out[5];
    int32_t scratch[6];
    struct nuc_recurrence r = {NUC_CELL_RELU, false, 1, 5, 1, 1, 1, 1, 1, 1};
    struct nuc_recurrence_s8 p = {
        .x = {&one, 1, 14},
        .h = {&zero, 1, 14},
        .rows = &row,
        .fraction = 4,
        .real_in = true,
        .exponent = 4,
        .input_bits = 15,
        .real_h_n = (float[5]){0},
        .scratch = scratch,
    };

    assert_true(nuc_recurrence_scratch(r.cell, r.hidden, r.inputs) <= sizeof scratch);
    nuc_ref_recurrence_s8(&r, &p, in, out);
    const float expected[5] = {1024, 0, 0, 0, 0};
    for (int i = 0; i < 5; i++)
        assert_true(fabs((double)(out[i] - expected[i])) < 0.1);
}

RUN_TESTS(cmocka_unit_test(test_recurrence), cmocka_unit_test(test_recurrence_extremes))
