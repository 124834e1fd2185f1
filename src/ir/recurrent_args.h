/* Arguments of the recurrent layers: gru, lstm, rnn_tanh and rnn_relu have the same ones in the same places. */
#ifndef NUC_IR_RECURRENT_ARGS_H
#define NUC_IR_RECURRENT_ARGS_H

#include "ir/graph.h"

#define NUC_RECURRENT(name) NUC_ARG(LSTM, name)

/* Of a layer that its shape rule accepts. A cell is one direction of one layer: cell layer * directions + direction. */
struct nuc_recurrent {
    enum nuc_op op;
    struct nuc_node *input;         /* [steps, batch, inputs]; batch first: [batch, steps, inputs] */
    uint32_t n_states;              /* the hidden state and, of an LSTM, the cell's */
    struct nuc_node *const *states; /* hidden [layers * directions, batch, outputs], cell [.., batch, hidden] */
    struct nuc_node *const *params; /* per_cell of them for each cell */
    uint32_t gates;                 /* blocks of rows of the weights: 3 of a GRU, 4 of an LSTM, else 1 */
    uint32_t per_cell;
    uint32_t layers, directions;
    bool biases, projected, batch_first;
    int64_t steps, batch, inputs, hidden;
    int64_t outputs; /* hidden, fewer where an LSTM projects its hidden state */
};

/* Gates of such an operator. */
uint32_t nuc_recurrent_gates(enum nuc_op op);

struct nuc_recurrent nuc_recurrent_of(const struct nuc_node *node);

/* The state is known to be zeros, as exporters begin a layer. */
bool nuc_is_zero_state(struct nuc_graph *g, const struct nuc_node *state);

/* Weights of one cell; biases and projection are NULL where there are none. */
struct nuc_recurrent_cell {
    struct nuc_node *w_ih, *w_hh; /* [gates * hidden, inputs of the layer], [gates * hidden, outputs] */
    struct nuc_node *b_ih, *b_hh; /* [gates * hidden] */
    struct nuc_node *w_hr;        /* [outputs, hidden] */
};

struct nuc_recurrent_cell nuc_recurrent_cell(const struct nuc_recurrent *r, uint32_t cell);

#endif
