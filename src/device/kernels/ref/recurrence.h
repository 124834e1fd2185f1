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
    struct nuc_multiplier factor;
};

/* Of each of gates * hidden rows: the product is int32 and wraps, times the multiplier it is Q16.15. */
struct nuc_recurrence_rows {
    const int8_t *weight;
    const int32_t *multiplier, *shift; /* shift in [-31, 30] */
    const int32_t *bias;               /* Q16.15, added saturated */
};

/*
 * Sums of gates and a cell's state are Q16.15, sigmoid and tanh go from there to Q0.15, a hidden state is int16 with
 * `fraction` bits after the point. Rounding is to nearest, a half upwards; what does not fit saturates.
 */
struct nuc_recurrence_s8 {
    struct nuc_recurrence_rows x, h; /* products with the input, whose zero point is in the bias, and with the state */
    int32_t fraction;                /* 0 to 15 */
    const int8_t *h0, *c0;           /* NULL: zeros */
    int8_t *h_n, *c_n;
    const float *real_h0, *real_c0; /* in place of these where they are not NULL */
    float *real_h_n, *real_c_n;
    struct nuc_recurrence_scale from_h0, from_c0, to_out, to_h_n, to_c_n;
    void *scratch; /* nuc_recurrence_scratch() bytes, aligned to 4 */
};

/* Bytes: two hidden states of int16 and a cell state of int32. */
static inline size_t nuc_recurrence_scratch(enum nuc_cell cell, int32_t hidden)
{
    return (size_t)hidden * (cell == NUC_CELL_LSTM ? 8 : 4);
}

enum { NUC_MOST_GATES = 4 };

/* sums[k] = products of row k, `stride` bytes after the one before, with the values, up to NUC_MOST_GATES; they wrap.
 */
struct nuc_recurrence_dots {
    void (*s8)(const int8_t *weights, ptrdiff_t stride, int32_t rows, const int8_t *values, int32_t count,
               int32_t *sums);
    void (*s16)(const int8_t *weights, ptrdiff_t stride, int32_t rows, const int16_t *values, int32_t count,
                int32_t *sums);
};

void nuc_recurrence_s8_by(const struct nuc_recurrence_dots *dots, const struct nuc_recurrence *r,
                          const struct nuc_recurrence_s8 *p, const int8_t *in, int8_t *out);

typedef void nuc_recurrence_s8_fn(const struct nuc_recurrence *r, const struct nuc_recurrence_s8 *p, const int8_t *in,
                                  int8_t *out);
nuc_recurrence_s8_fn nuc_ref_recurrence_s8;

#endif
