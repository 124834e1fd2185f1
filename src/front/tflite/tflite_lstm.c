/* Recurrent layers that a model keeps as one operator. */
#include "tflite_import.h"

/* Operands of UNIDIRECTIONAL_SEQUENCE_LSTM, gates in the order input, forget, cell, output. */
enum {
    DATA = 0,
    INPUT_WEIGHTS = 1,
    RECURRENT_WEIGHTS = 5,
    PEEPHOLES = 9,
    BIASES = 12,
    PROJECTION = 16,
    OUTPUT_STATE = 18,
    CELL_STATE = 19,
    LAYER_NORMS = 20,
    OPERANDS = 24
};

enum { GATES = 4, RELU = 1, TANH = 4 };

static void need_absent(const struct nuc_ti *ti, uint32_t first, uint32_t count, const char *what)
{
    for (uint32_t i = first; i < first + count; i++) {
        if (nuc_ti_has(ti, i))
            nuc_ti_fail(ti, "has %s, which are not handled", what);
    }
}

static void need_real(const struct nuc_ti *ti)
{
    if (nuc_ti_is_quantized(nuc_ti_in(ti, DATA)) || nuc_ti_is_quantized(nuc_ti_out(ti)))
        nuc_ti_fail(ti, "is handled in float32, not in int8: convert the model without quantization, it is quantized "
                        "here");
}

/* The gates' weights or biases one below the other: torch has the same order. */
static struct nuc_node *stacked(struct nuc_ti *ti, uint32_t first, uint32_t gates, uint32_t rank, int64_t rows,
                                int64_t columns)
{
    size_t each = (size_t)(rows * columns) * sizeof(float);
    uint8_t *bytes = nuc_alloc_array(ti->cx, gates, each);
    struct nuc_lt_tensor all = {.name = "gates", .dtype = NUC_F32, .rank = rank};
    const int64_t sizes[2] = {gates * rows, columns}, strides[2] = {columns, 1};

    for (uint32_t gate = 0; gate < gates; gate++) {
        const struct nuc_lt_tensor *t = nuc_ti_in(ti, first + gate);
        bool fits = t->rank == rank && t->dtype == NUC_F32 && nuc_ti_held(t) == rows * columns && t->shape[0] == rows;
        if (!fits)
            nuc_ti_fail(ti, "'%s' must be a float32 constant with %lld rows of %lld", t->name, (long long)rows,
                        (long long)columns);
        for (size_t k = 0; k < each; k++)
            bytes[gate * each + k] = t->data.data[k];
    }
    struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, rank);
    all.data = (struct nuc_span){bytes, gates * each};
    return nuc_ti_constant(ti, &all, &meta, strides, 0);
}

/* A state that nothing but this operator has written: zeros. */
static struct nuc_node *first_state(struct nuc_ti *ti, uint32_t i, int64_t batches, int64_t units)
{
    const struct nuc_lt_tensor *t = nuc_ti_in(ti, i);
    const int64_t sizes[3] = {1, batches, units}, strides[3] = {batches * units, units, 1};
    struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, 3);
    struct nuc_lt_tensor zeros = {.name = t->name, .dtype = NUC_F32, .rank = 3};

    if (!t->is_variable || t->data.data != NULL || nuc_lt_elements(t) != batches * units)
        nuc_ti_fail(ti, "state '%s' must be a variable that begins with zeros", t->name);
    zeros.data = (struct nuc_span){nuc_alloc(ti->cx, nuc_bytes(&meta)), nuc_bytes(&meta)};
    return nuc_ti_constant(ti, &zeros, &meta, strides, 0);
}

/* A bias of the recurrent product, which LiteRT does not have. */
static struct nuc_node *no_bias(struct nuc_ti *ti, const struct nuc_node *bias)
{
    static const int64_t stride = 1;
    const struct nuc_meta *meta = &bias->vals[0];
    struct nuc_lt_tensor zeros = {.name = "recurrent bias", .dtype = NUC_F32, .rank = 1};

    zeros.data = (struct nuc_span){nuc_alloc(ti->cx, nuc_bytes(meta)), nuc_bytes(meta)};
    return nuc_ti_constant(ti, &zeros, meta, &stride, 0);
}

/* The first result of a layer of one direction. */
static void define_layer(struct nuc_ti *ti, enum nuc_op op, struct nuc_arg state, struct nuc_node **params,
                         bool time_major)
{
    struct nuc_node *real = nuc_ti_real(ti, DATA, NUC_TI_PLAIN);
    struct nuc_node *layer =
        nuc_ti_emit(ti, op,
                    NUC_ARGS(nuc_node_arg(real), state, nuc_nodes_arg(params, 4), nuc_bool_arg(true), nuc_int_arg(1),
                             nuc_float_arg(0), nuc_bool_arg(false), nuc_bool_arg(false), nuc_bool_arg(!time_major)));

    nuc_ti_define(ti, nuc_ti_emit(ti, NUC_OP_GETITEM, NUC_ARGS(nuc_node_arg(layer), nuc_int_arg(0))), NUC_TI_PLAIN);
}

static void check_sequences(const struct nuc_ti *ti, uint32_t operands)
{
    if (ti->op->n_inputs < operands || nuc_ti_in(ti, DATA)->rank != 3 || nuc_ti_out(ti)->rank != 3)
        nuc_ti_fail(ti, "needs %u operands and sequences of 3 dimensions", operands);
}

/* ---- what torch's layer does not have, step by step ---- */

#define MOST_STEPS 512 /* each of which is some fifteen operators */

static struct nuc_node *product(struct nuc_ti *ti, struct nuc_node *x, struct nuc_node *weights, struct nuc_node *bias)
{
    return nuc_ti_emit(ti, NUC_OP_LINEAR, NUC_ARGS(nuc_node_arg(x), nuc_node_arg(weights), nuc_node_arg(bias)));
}

static struct nuc_node *combined(struct nuc_ti *ti, enum nuc_op op, struct nuc_node *a, struct nuc_node *b)
{
    return nuc_ti_emit(ti, op, NUC_ARGS(nuc_node_arg(a), nuc_node_arg(b)));
}

static struct nuc_node *clipped(struct nuc_ti *ti, struct nuc_node *x, float limit)
{
    if (!(limit > 0))
        return x;
    return nuc_ti_emit(ti, NUC_OP_HARDTANH,
                       NUC_ARGS(nuc_node_arg(x), nuc_float_arg(-(double)limit), nuc_float_arg((double)limit)));
}

static struct nuc_node *sliced(struct nuc_ti *ti, struct nuc_node *x, int64_t dim, int64_t begin, int64_t count)
{
    return nuc_ti_emit(ti, NUC_OP_SLICE,
                       NUC_ARGS(nuc_node_arg(x), nuc_int_arg(dim), nuc_int_arg(begin), nuc_int_arg(begin + count)));
}

/* Gate `k` of the sums of all. */
static struct nuc_node *gate(struct nuc_ti *ti, struct nuc_node *sums, int64_t k, enum nuc_op activation)
{
    int64_t units = sums->vals[0].sizes[1] / GATES;

    return nuc_ti_emit(ti, activation, NUC_ARGS(nuc_node_arg(sliced(ti, sums, 1, k * units, units))));
}

/*
 * cell = clip(forget * cell + input * candidate), output = clip(projection(gate * tanh(cell))). The states begin with
 * zeros. params: weights of the data, of the output before, biases; projection and its bias, which may be NULL.
 */
static void define_steps(struct nuc_ti *ti, struct nuc_node *const params[5], int64_t batches, bool time_major)
{
    const union nuc_lt_options *o = &ti->op->options;
    struct nuc_node *sums = product(ti, nuc_ti_real(ti, DATA, NUC_TI_PLAIN), params[0], params[2]);
    struct nuc_node *cell = NULL, *output = NULL;
    const int64_t axis = time_major ? 0 : 1, steps = sums->vals[0].sizes[axis], columns = sums->vals[0].sizes[2];
    const int64_t flat[2] = {batches, columns};
    struct nuc_node **outputs = nuc_alloc_array(ti->cx, (size_t)steps, sizeof(struct nuc_node *));

    for (int64_t t = 0; t < steps; t++) {
        struct nuc_node *all = nuc_ti_view(ti, sliced(ti, sums, axis, t, 1), flat, 2);
        if (output != NULL)
            all = combined(ti, NUC_OP_ADD, all, product(ti, output, params[1], NULL));
        struct nuc_node *input = gate(ti, all, 0, NUC_OP_SIGMOID);
        struct nuc_node *next = combined(ti, NUC_OP_MUL, input, gate(ti, all, 2, NUC_OP_TANH));
        if (cell != NULL) {
            struct nuc_node *kept = combined(ti, NUC_OP_MUL, gate(ti, all, 1, NUC_OP_SIGMOID), cell);
            next = combined(ti, NUC_OP_ADD, kept, next);
        }
        cell = clipped(ti, next, o->lstm.cell_clip);
        struct nuc_node *bent = nuc_ti_emit(ti, NUC_OP_TANH, NUC_ARGS(nuc_node_arg(cell)));
        struct nuc_node *open = gate(ti, all, 3, NUC_OP_SIGMOID);
        output = combined(ti, NUC_OP_MUL, open, bent);
        if (params[3] != NULL)
            output = clipped(ti, product(ti, output, params[3], params[4]), o->lstm.proj_clip);
        const int64_t one[3] = {time_major ? 1 : batches, time_major ? batches : 1, output->vals[0].sizes[1]};
        outputs[t] = nuc_ti_view(ti, output, one, 3);
    }
    struct nuc_node *joined =
        nuc_ti_emit(ti, NUC_OP_CAT, NUC_ARGS(nuc_nodes_arg(outputs, (uint32_t)steps), nuc_int_arg(axis)));
    nuc_ti_define(ti, joined, NUC_TI_PLAIN);
}

void nuc_ti_sequence_lstm(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, DATA), *y = nuc_ti_out(ti);
    bool time_major = ti->op->options.lstm.time_major, projects = nuc_ti_has(ti, PROJECTION);

    check_sequences(ti, LAYER_NORMS);
    /* What torch's layer does not have. */
    const union nuc_lt_options *o = &ti->op->options;
    need_real(ti);
    for (uint32_t i = INPUT_WEIGHTS; i < INPUT_WEIGHTS + 2 * GATES; i++) {
        if (!nuc_ti_has(ti, i))
            nuc_ti_fail(ti, "has an input gate coupled to the forget gate, which is not handled");
    }
    need_absent(ti, PEEPHOLES, 3, "peephole weights");
    need_absent(ti, LAYER_NORMS, OPERANDS - LAYER_NORMS, "layer normalization");
    if (o->lstm.activation != TANH)
        nuc_ti_fail(ti, "has activation %d: TANH is handled", o->lstm.activation);
    if (o->lstm.diagonal_recurrent_tensors)
        nuc_ti_fail(ti, "has diagonal recurrent weights, which are not handled");
    int64_t outputs = y->shape[2], units = projects ? nuc_ti_in(ti, INPUT_WEIGHTS)->shape[0] : outputs;
    int64_t features = x->shape[2], batches = x->shape[time_major ? 1 : 0], steps = x->shape[time_major ? 0 : 1];
    struct nuc_node *states[2], *params[5] = {NULL};
    states[0] = first_state(ti, OUTPUT_STATE, batches, outputs);
    states[1] = first_state(ti, CELL_STATE, batches, units);
    params[0] = stacked(ti, INPUT_WEIGHTS, GATES, 2, units, features);
    params[1] = stacked(ti, RECURRENT_WEIGHTS, GATES, 2, units, outputs);
    params[2] = stacked(ti, BIASES, GATES, 1, units, 1);
    /* No step adds more than one to a cell. */
    if (projects || (o->lstm.cell_clip > 0 && o->lstm.cell_clip < (float)steps)) {
        if (steps > MOST_STEPS)
            nuc_ti_fail(ti, "clips or projects its state in %lld steps, at most %d are handled", (long long)steps,
                        MOST_STEPS);
        params[3] = projects ? stacked(ti, PROJECTION, 1, 2, outputs, units) : NULL;
        params[4] = nuc_ti_has(ti, PROJECTION + 1) ? stacked(ti, PROJECTION + 1, 1, 1, outputs, 1) : NULL;
        define_steps(ti, params, batches, time_major);
        return;
    }
    params[3] = no_bias(ti, params[2]);
    define_layer(ti, NUC_OP_LSTM, nuc_nodes_arg(states, 2), params, time_major);
}

/* Operands: data, weights, recurrent weights, bias, state. */
void nuc_ti_sequence_rnn(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, DATA), *y = nuc_ti_out(ti);
    bool time_major = ti->op->options.lstm.time_major;
    int8_t activation = ti->op->options.lstm.activation;

    check_sequences(ti, 5);
    need_real(ti);
    if (activation != RELU && activation != TANH)
        nuc_ti_fail(ti, "has activation %d: RELU and TANH are handled", activation);
    int64_t units = y->shape[2], features = x->shape[2], batches = x->shape[time_major ? 1 : 0];
    struct nuc_node *state = first_state(ti, 4, batches, units);
    struct nuc_node *params[4];
    params[0] = stacked(ti, 1, 1, 2, units, features);
    params[1] = stacked(ti, 2, 1, 2, units, units);
    params[2] = stacked(ti, 3, 1, 1, units, 1);
    params[3] = no_bias(ti, params[2]);
    define_layer(ti, activation == RELU ? NUC_OP_RNN_RELU : NUC_OP_RNN_TANH, nuc_node_arg(state), params, time_major);
}
