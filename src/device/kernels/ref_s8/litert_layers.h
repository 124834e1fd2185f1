/*
 * Layers with a state as LiteRT's reference kernels compute them in integers: SVDF and its LSTM with a cell state of 16
 * bits. Conventions are those of quantized.h; bytes are those of LiteRT Micro (svdf_common.cc, lstm_eval.h).
 */
#ifndef NUC_DEVICE_KERNELS_REF_S8_LITERT_LAYERS_H
#define NUC_DEVICE_KERNELS_REF_S8_LITERT_LAYERS_H

#include "device/base/logistic.h"
#include "device/kernels/ref/recurrence.h"

/*
 * Each row of `weights` makes a value of a frame, which joins the last ones of its row in the state. The products of
 * these with the row's times are added up over the `rank` rows of a unit.
 */
struct nuc_svdf_s8 {
    int32_t batch, features, rows, memory, rank; /* rank divides rows */
    int32_t input_zero, state_zero, output_zero;
    struct nuc_multiplier to_state, to_out;
    bool wide;             /* the state and `times` are int16, else int8 */
    const int8_t *weights; /* rows x features */
    const void *times;     /* rows x memory */
    const int32_t *bias;   /* rows / rank, or NULL */
};

/* in: batch x features; before, after: batch x rows x memory, may be one; out: batch x rows / rank. */
void nuc_kernel_svdf_s8(const struct nuc_svdf_s8 *p, const int8_t *in, const void *before, void *after, int8_t *out);

/* Gates in the order input, forget, candidate, output. Products become sums of gates in units of 2^-12. */
struct nuc_litert_lstm {
    struct nuc_recurrence r;
    bool wide;               /* input, hidden state and result are int16, `biases` int64, else int8 and int32 */
    const int8_t *w_x, *w_h; /* 4 * hidden x inputs, 4 * hidden x hidden */
    const void *biases;      /* 4 * hidden x 2: of both products; those of zero points are in them */
    struct nuc_multiplier from_x[4], from_h[4]; /* wide: shifts up to NUC_MOST_LONG_SHIFT */
    struct nuc_multiplier keep, add, show;      /* forget * cell, input * candidate, tanh of the cell * output */
    int32_t zero_point;                         /* of the hidden state */
    int32_t cell_power;                         /* the cell is in units of 2^cell_power */
    int32_t clip;                               /* of the cell, 0: none */
    const void *h0;                             /* batch x hidden, as all states */
    const int16_t *c0;
    void *h_n; /* may be h0 */
    int16_t *c_n;
};

void nuc_kernel_litert_lstm(const struct nuc_litert_lstm *p, const void *in, void *out);

#endif
