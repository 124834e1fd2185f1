/*
 * Recurrent layers of the CPU: one direction of one layer, float32 and int8, in plain C. Conventions are those of
 * ref.h and quantized.h. Nothing here fails: the caller has checked sizes, ranges and memory.
 */
#ifndef NUC_DEVICE_KERNELS_REF_RECURRENCE_H
#define NUC_DEVICE_KERNELS_REF_RECURRENCE_H

#include "device/kernels/ref_s8/quantized.h"

enum nuc_cell { NUC_CELL_GRU, NUC_CELL_LSTM, NUC_CELL_TANH, NUC_CELL_RELU };

/* Blocks of `hidden` rows in the weights: r, z, n of a GRU; i, f, g, o of an LSTM. */
static inline int32_t nuc_cell_gates(enum nuc_cell cell)
{
    return cell == NUC_CELL_GRU ? 3 : cell == NUC_CELL_LSTM ? 4 : 1;
}

/* in: `inputs` values for each step and sample, out: `hidden` ones; strides say where, in elements. */
struct nuc_recurrence {
    enum nuc_cell cell;
    bool backwards; /* from the last step to the first */
    int32_t steps, batch, inputs, hidden;
    ptrdiff_t in_step, in_sample, out_step, out_sample;
};

/* Row-major. States: batch x hidden. */
struct nuc_recurrence_f32 {
    const float *w_ih, *w_hh; /* gates * hidden rows of `inputs`, of `hidden` */
    const float *b_ih, *b_hh; /* gates * hidden, or NULL */
    const float *h0, *c0;     /* c0: of an LSTM */
    float *h_n, *c_n;
};

/* The equations of torch. */
void nuc_kernel_recurrence_f32(const struct nuc_recurrence *r, const struct nuc_recurrence_f32 *p, const float *in,
                               float *out);

/* An int8 tensor and the numbers inside the kernel: the latter are factor * (q - zero_point), or the reverse. */
struct nuc_recurrence_scale {
    int32_t zero_point;
    struct nuc_multiplier factor; /* multiplier 0 of what leaves the layer: it is float32 */
};

/*
 * gates * hidden rows of a value each, perhaps with zeros up to a multiple of 4, where words of a row begin. Their
 * products are p << left.
 */
struct nuc_recurrence_rows {
    const int8_t *weight;
    int32_t columns, left;
};

/*
 * Of a row: a product with the input, shifted to the right, and one with the state become Q16.15 as
 * round(product * multiplier / 2^32) + bias. All wrap. The bias of the state is that of a GRU's new state.
 */
struct nuc_recurrence_row {
    int32_t x_multiplier, x_bias, h_multiplier, h_bias;
};

/*
 * Sums of gates and a cell's state, less than 2^15 in size, are Q16.15, sigmoid and tanh go from there to Q0.15, a
 * hidden state is int16 with `fraction` bits after the point. Rounding is to nearest, a half upwards; states that do
 * not fit saturate.
 *
 * An int8 input is multiplied as it is; its zero point is in the bias. A float32 one becomes int16 step by step: the
 * values of a step are below 2^e in size for the least e up to `exponent`, those that are not saturate, and have
 * `input_bits` below that, halves to even; `right` of its products is exponent - e, 31 at most, and 0 of an int8 input.
 */
struct nuc_recurrence_s8 {
    struct nuc_recurrence_rows x, h; /* products with the input and with the state */
    const struct nuc_recurrence_row *rows;
    int32_t fraction; /* 0 to 15 */
    bool real_in;
    int32_t exponent, input_bits; /* -64 to 64, 1 to 15 */
    const int8_t *h0, *c0;        /* NULL: zeros */
    int8_t *h_n, *c_n;
    const float *real_h0, *real_c0; /* in place of these where they are not NULL */
    float *real_h_n, *real_c_n;
    struct nuc_recurrence_scale from_h0, from_c0, to_out, to_h_n, to_c_n;
    void *scratch; /* nuc_recurrence_scratch() bytes, aligned to 4 */
};

/* Columns of rows for so many values. */
static inline size_t nuc_recurrence_padded(int32_t count)
{
    return ((size_t)count + 3) / 4 * 4;
}

#define NUC_MOST_UNITS (1 << 27) /* and inputs: the bytes below fit 32 bits */

/* Bytes: two hidden states and an input of int16, a cell state of int32. */
static inline size_t nuc_recurrence_scratch(enum nuc_cell cell, int32_t hidden, int32_t inputs)
{
    return 4 * nuc_recurrence_padded(hidden) + 2 * nuc_recurrence_padded(inputs) +
           (cell == NUC_CELL_LSTM ? 4 * (size_t)hidden : 0);
}

enum { NUC_MOST_GATES = 4, NUC_ROWS_AT_ONCE = 24 };

/*
 * Where value i of `count` lies among those that are multiplied: of four, those of one parity are neighbours, as the
 * DSP instructions widen bytes.
 */
static inline int32_t nuc_recurrence_place(int32_t i, int32_t count)
{
    return i < (count & ~3) ? (i & ~3) | (i & 1) << 1 | (i >> 1 & 1) : i;
}

/*
 * What row first + k becomes with the input x and the state h, biases included: the sum of both in sums[k], or with the
 * state in apart[k] unless that is NULL. k < count <= NUC_ROWS_AT_ONCE.
 */
typedef void nuc_recurrence_rows_fn(const struct nuc_recurrence_s8 *p, int32_t first, int32_t count, const int16_t *x,
                                    int32_t right, const int16_t *h, int32_t *sums, int32_t *apart);

/* in: int8 or float32; out: int8 or float32. */
void nuc_recurrence_s8_by(nuc_recurrence_rows_fn *multiply, const struct nuc_recurrence *r,
                          const struct nuc_recurrence_s8 *p, const void *in, void *out);

typedef void nuc_recurrence_s8_fn(const struct nuc_recurrence *r, const struct nuc_recurrence_s8 *p, const void *in,
                                  void *out);
nuc_recurrence_s8_fn nuc_ref_recurrence_s8;

#endif
