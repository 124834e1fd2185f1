/* Operands and sizes of SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM, and what int8 models make of them. */
#ifndef NUC_FRONT_TFLITE_TFLITE_LAYERS_H
#define NUC_FRONT_TFLITE_TFLITE_LAYERS_H

#include "tflite_import.h"

enum { NUC_TI_SVDF_FRAME, NUC_TI_SVDF_FEATURES, NUC_TI_SVDF_TIMES, NUC_TI_SVDF_BIAS, NUC_TI_SVDF_STATE };

struct nuc_ti_svdf {
    int64_t batches, features, rows, memory, rank; /* rank: rows of a unit */
};

void nuc_ti_integer_svdf(struct nuc_ti *ti, const struct nuc_ti_svdf *z);

/* Gates in the order input, forget, candidate, output. */
enum {
    NUC_TI_LSTM_INPUT_WEIGHTS = 1,
    NUC_TI_LSTM_RECURRENT_WEIGHTS = 5,
    NUC_TI_LSTM_PEEPHOLES = 9,
    NUC_TI_LSTM_BIASES = 12,
    NUC_TI_LSTM_PROJECTION = 16,
    NUC_TI_LSTM_OUTPUT_STATE = 18,
    NUC_TI_LSTM_CELL_STATE = 19,
    NUC_TI_LSTM_NORMS = 20
};

struct nuc_ti_lstm {
    int64_t batches, steps, features, units, outputs;
    bool time_major, is_coupled; /* coupled: what is not forgotten comes in */
};

void nuc_ti_integer_lstm(struct nuc_ti *ti, const struct nuc_ti_lstm *z);

#endif
