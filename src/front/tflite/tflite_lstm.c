/* Recurrent layers that a model keeps as one operator. */
#include <string.h>

#include "tflite_import.h"

enum { DATA };
enum { INPUT, FORGET, CANDIDATE, SHOWN, GATES };
enum { RELU = 1, TANH = 4 };

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
    const int64_t sizes[2] = {gates * rows, columns}, strides[2] = {columns, 1};
    struct nuc_lt_tensor all = {.name = "gates", .dtype = NUC_F32, .rank = rank};
    uint8_t *bytes = NULL;

    for (uint32_t gate = 0; gate < gates; gate++) {
        const struct nuc_lt_tensor *t = nuc_ti_in(ti, first + gate);
        bool fits = t->rank == rank && t->dtype == NUC_F32 && t->shape[0] == rows && rows * columns > 0 &&
                    nuc_ti_held(t) == rows * columns;
        if (!fits)
            nuc_ti_fail(ti, "'%s' must be a float32 constant with %lld rows of %lld", t->name, (long long)rows,
                        (long long)columns);
        bytes = bytes != NULL ? bytes : nuc_alloc_array(ti->cx, gates, t->data.size);
        memcpy(bytes + gate * t->data.size, t->data.data, t->data.size);
    }
    struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, rank);
    all.data = (struct nuc_span){bytes, nuc_bytes(&meta)};
    return nuc_ti_constant(ti, &all, &meta, strides, 0);
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

static void check_sequences(const struct nuc_ti *ti, uint32_t operands)
{
    if (ti->op->n_inputs < operands || nuc_ti_in(ti, DATA)->rank != 3 || nuc_ti_out(ti)->rank != 3)
        nuc_ti_fail(ti, "needs %u operands and sequences of 3 dimensions", operands);
}

/* The layer of one direction; item 0 is the result, the others what the states become. */
static struct nuc_node *layer_of(struct nuc_ti *ti, enum nuc_op op, struct nuc_arg state, struct nuc_node **params,
                                 bool time_major)
{
    struct nuc_node *real = nuc_ti_real(ti, DATA, NUC_TI_PLAIN);

    return nuc_ti_emit(ti, op,
                       NUC_ARGS(real, state, nuc_nodes_arg(params, 4), nuc_bool_arg(true), 1, nuc_float_arg(0),
                                nuc_bool_arg(false), nuc_bool_arg(false), nuc_bool_arg(!time_major)));
}

/* ---- what torch's layer does not have, step by step ---- */

#define MOST_STEPS 512 /* each of which is some fifteen operators */

static struct nuc_node *product(struct nuc_ti *ti, struct nuc_node *x, struct nuc_node *weights, struct nuc_node *bias)
{
    return nuc_ti_emit(ti, NUC_OP_LINEAR, NUC_ARGS(x, weights, bias));
}

static struct nuc_node *combined(struct nuc_ti *ti, enum nuc_op op, struct nuc_node *a, struct nuc_node *b)
{
    return nuc_ti_emit(ti, op, NUC_ARGS(a, b));
}

static struct nuc_node *clipped(struct nuc_ti *ti, struct nuc_node *x, float limit)
{
    if (!(limit > 0))
        return x;
    return nuc_ti_emit(ti, NUC_OP_HARDTANH, NUC_ARGS(x, -(double)limit, (double)limit));
}

static struct nuc_node *sliced(struct nuc_ti *ti, struct nuc_node *x, int64_t dim, int64_t begin, int64_t count)
{
    return nuc_ti_emit(ti, NUC_OP_SLICE, NUC_ARGS(x, dim, begin, begin + count));
}

/* What all steps share. */
struct layer {
    struct nuc_ti_lstm z;
    struct nuc_node *weights, *recurrent, *biases; /* of the gates there are, one below the other */
    struct nuc_node *projection, *projection_bias; /* NULL: none */
    struct nuc_node *peephole[GATES], *norm[GATES], *norm_bias[GATES];
    struct nuc_node *one; /* of coupled gates */
};

/*
 * Gate `k` of the sums of all, before its function: with what it sees of the cell, normalised over the units. The
 * biases come after a norm.
 */
static struct nuc_node *gate(struct nuc_ti *ti, const struct layer *l, struct nuc_node *sums, int64_t k,
                             struct nuc_node *cell)
{
    const int64_t units = l->z.units, first = k - (l->z.is_coupled ? 1 : 0);
    struct nuc_node *sum = sliced(ti, sums, 1, first * units, units);

    if (l->peephole[k] != NULL)
        sum = combined(ti, NUC_OP_ADD, sum, combined(ti, NUC_OP_MUL, cell, l->peephole[k]));
    if (l->norm[k] == NULL)
        return sum;
    return nuc_ti_emit(ti, NUC_OP_LAYER_NORM,
                       NUC_ARGS(sum, nuc_ints_arg(&units, 1), l->norm[k], l->norm_bias[k], 1e-8));
}

static struct nuc_node *opened(struct nuc_ti *ti, enum nuc_op function, struct nuc_node *sum)
{
    return nuc_ti_emit(ti, function, NUC_ARGS(sum));
}

struct states {
    struct nuc_node *output, *cell;
};

/* cell = clip(forget * cell + input * candidate), output = clip(projection(gate * tanh(cell))). */
static struct states step(struct nuc_ti *ti, const struct layer *l, struct nuc_node *sums, struct states s)
{
    const union nuc_lt_options *o = &ti->op->options;
    struct nuc_node *all = combined(ti, NUC_OP_ADD, sums, product(ti, s.output, l->recurrent, NULL));
    struct nuc_node *forget = opened(ti, NUC_OP_SIGMOID, gate(ti, l, all, FORGET, s.cell));
    struct nuc_node *input = l->z.is_coupled ? combined(ti, NUC_OP_SUB, l->one, forget)
                                             : opened(ti, NUC_OP_SIGMOID, gate(ti, l, all, INPUT, s.cell));
    struct nuc_node *kept = combined(ti, NUC_OP_MUL, forget, s.cell);
    struct nuc_node *candidate = opened(ti, NUC_OP_TANH, gate(ti, l, all, CANDIDATE, s.cell));
    struct nuc_node *next = combined(ti, NUC_OP_ADD, kept, combined(ti, NUC_OP_MUL, input, candidate));

    s.cell = clipped(ti, next, o->lstm.cell_clip);
    struct nuc_node *bent = opened(ti, NUC_OP_TANH, s.cell);
    struct nuc_node *shown = opened(ti, NUC_OP_SIGMOID, gate(ti, l, all, SHOWN, s.cell));
    s.output = combined(ti, NUC_OP_MUL, shown, bent);
    if (l->projection != NULL)
        s.output = clipped(ti, product(ti, s.output, l->projection, l->projection_bias), o->lstm.proj_clip);
    return s;
}

static void define_steps(struct nuc_ti *ti, const struct layer *l, struct states s)
{
    struct nuc_node *sums = product(ti, nuc_ti_real(ti, DATA, NUC_TI_PLAIN), l->weights, l->biases);
    const int64_t axis = l->z.time_major ? 0 : 1, columns = sums->vals[0].sizes[2], batches = l->z.batches;
    const int64_t flat[2] = {batches, columns},
                  one[3] = {axis == 0 ? 1 : batches, axis == 0 ? batches : 1, l->z.outputs};
    const int64_t output[2] = {batches, l->z.outputs}, cell[2] = {batches, l->z.units};
    struct nuc_node **outputs = nuc_alloc_array(ti->cx, (size_t)l->z.steps, sizeof(struct nuc_node *));

    s.output = nuc_ti_view(ti, s.output, output, 2);
    s.cell = nuc_ti_view(ti, s.cell, cell, 2);
    for (int64_t t = 0; t < l->z.steps; t++) {
        s = step(ti, l, nuc_ti_view(ti, sliced(ti, sums, axis, t, 1), flat, 2), s);
        outputs[t] = nuc_ti_view(ti, s.output, one, 3);
    }
    struct nuc_node *joined = nuc_ti_emit(ti, NUC_OP_CAT, NUC_ARGS(nuc_nodes_arg(outputs, (uint32_t)l->z.steps), axis));
    nuc_ti_define(ti, joined, NUC_TI_PLAIN);
    const int64_t output_state[3] = {1, batches, l->z.outputs}, cell_state[3] = {1, batches, l->z.units};
    nuc_ti_set_state(ti, NUC_TI_LSTM_OUTPUT_STATE, nuc_ti_view(ti, s.output, output_state, 3));
    nuc_ti_set_state(ti, NUC_TI_LSTM_CELL_STATE, nuc_ti_view(ti, s.cell, cell_state, 3));
}

/* ---- the operators ---- */

static struct nuc_node *vector(struct nuc_ti *ti, uint32_t i, int64_t units)
{
    return nuc_ti_has(ti, i) ? stacked(ti, i, 1, 1, units, 1) : NULL;
}

static struct nuc_ti_lstm sizes_of(const struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, DATA);
    const bool time_major = ti->op->options.lstm.time_major;

    return (struct nuc_ti_lstm){.batches = x->shape[time_major ? 1 : 0],
                                .steps = x->shape[time_major ? 0 : 1],
                                .features = x->shape[2],
                                .units = nuc_ti_in(ti, NUC_TI_LSTM_INPUT_WEIGHTS + FORGET)->shape[0],
                                .outputs = nuc_ti_out(ti)->shape[2],
                                .time_major = time_major,
                                .is_coupled = !nuc_ti_has(ti, NUC_TI_LSTM_INPUT_WEIGHTS)};
}

/* Layer by layer what torch has, where the file asks for no more than that. */
static void define_layer(struct nuc_ti *ti, const struct layer *l, struct states s)
{
    struct nuc_node *params[4] = {l->weights, l->recurrent, l->biases, no_bias(ti, l->biases)};
    struct nuc_node *states[2] = {s.output, s.cell}, *items[3];
    struct nuc_node *layer = layer_of(ti, NUC_OP_LSTM, nuc_nodes_arg(states, 2), params, l->z.time_major);

    for (uint32_t i = 0; i < 3; i++)
        items[i] = nuc_ti_item(ti, layer, i);
    nuc_ti_define(ti, items[0], NUC_TI_PLAIN);
    nuc_ti_set_state(ti, NUC_TI_LSTM_OUTPUT_STATE, items[1]);
    nuc_ti_set_state(ti, NUC_TI_LSTM_CELL_STATE, items[2]);
}

void nuc_ti_sequence_lstm(struct nuc_ti *ti)
{
    const union nuc_lt_options *o = &ti->op->options;

    check_sequences(ti, NUC_TI_LSTM_NORMS);
    struct layer l = {.z = sizes_of(ti)};
    const struct nuc_ti_lstm *z = &l.z;
    const uint32_t first = z->is_coupled ? FORGET : INPUT, gates = GATES - first;
    if (z->is_coupled != !nuc_ti_has(ti, NUC_TI_LSTM_RECURRENT_WEIGHTS))
        nuc_ti_fail(ti, "has weights of its input gate for the data or the state alone");
    if (o->lstm.activation != TANH)
        nuc_ti_fail(ti, "has activation %d: TANH is handled", o->lstm.activation);
    if (o->lstm.diagonal_recurrent_tensors)
        nuc_ti_fail(ti, "has diagonal recurrent weights: write them as matrices");
    if (nuc_ti_is_quantized(nuc_ti_in(ti, DATA)) && nuc_ti_is_quantized(nuc_ti_out(ti)) && !z->is_coupled) {
        nuc_ti_integer_lstm(ti, z);
        return;
    }
    need_real(ti);
    const int64_t output[3] = {1, z->batches, z->outputs}, cell[3] = {1, z->batches, z->units};
    struct states s = {.output = nuc_ti_state(ti, NUC_TI_LSTM_OUTPUT_STATE, output, 3),
                       .cell = nuc_ti_state(ti, NUC_TI_LSTM_CELL_STATE, cell, 3)};
    l.weights = stacked(ti, NUC_TI_LSTM_INPUT_WEIGHTS + first, gates, 2, z->units, z->features);
    l.recurrent = stacked(ti, NUC_TI_LSTM_RECURRENT_WEIGHTS + first, gates, 2, z->units, z->outputs);
    bool is_plain = !z->is_coupled && !nuc_ti_has(ti, NUC_TI_LSTM_PROJECTION) && !(o->lstm.cell_clip > 0),
         is_normed = false;
    for (uint32_t k = first; k < GATES; k++) {
        static const uint32_t peepholes[GATES] = {NUC_TI_LSTM_PEEPHOLES, NUC_TI_LSTM_PEEPHOLES + 1, 0,
                                                  NUC_TI_LSTM_PEEPHOLES + 2};
        l.peephole[k] = peepholes[k] == 0 ? NULL : vector(ti, peepholes[k], z->units);
        l.norm[k] = vector(ti, NUC_TI_LSTM_NORMS + k, z->units);
        is_normed = is_normed || l.norm[k] != NULL;
        is_plain = is_plain && l.peephole[k] == NULL && l.norm[k] == NULL;
    }
    for (uint32_t k = first; is_normed && k < GATES; k++) {
        if (l.norm[k] == NULL)
            nuc_ti_fail(ti, "normalises some of its gates alone");
        l.norm_bias[k] = vector(ti, NUC_TI_LSTM_BIASES + k, z->units);
    }
    l.biases = is_normed ? NULL : stacked(ti, NUC_TI_LSTM_BIASES + first, gates, 1, z->units, 1);
    if (is_plain) {
        define_layer(ti, &l, s);
        return;
    }
    if (z->steps > MOST_STEPS)
        nuc_ti_fail(
            ti,
            "has what torch's layer does not (clips, projection, peepholes, norms, coupled gates) in %lld steps, "
            "at most %d are handled: give it shorter sequences",
            (long long)z->steps, MOST_STEPS);
    l.projection =
        nuc_ti_has(ti, NUC_TI_LSTM_PROJECTION) ? stacked(ti, NUC_TI_LSTM_PROJECTION, 1, 2, z->outputs, z->units) : NULL;
    l.projection_bias =
        nuc_ti_has(ti, NUC_TI_LSTM_PROJECTION) ? vector(ti, NUC_TI_LSTM_PROJECTION + 1, z->outputs) : NULL;
    l.one = z->is_coupled ? nuc_ti_number(ti, 1) : NULL;
    define_steps(ti, &l, s);
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
    int64_t units = y->shape[2], features = x->shape[2], state[3] = {1, x->shape[time_major ? 1 : 0], units};
    struct nuc_node *params[4], *before = nuc_ti_state(ti, 4, state, 3);
    params[0] = stacked(ti, 1, 1, 2, units, features);
    params[1] = stacked(ti, 2, 1, 2, units, units);
    params[2] = stacked(ti, 3, 1, 1, units, 1);
    params[3] = no_bias(ti, params[2]);
    const enum nuc_op op = activation == RELU ? NUC_OP_RNN_RELU : NUC_OP_RNN_TANH;
    struct nuc_node *layer = layer_of(ti, op, nuc_node_arg(before), params, time_major);
    nuc_ti_define(ti, nuc_ti_item(ti, layer, 0), NUC_TI_PLAIN);
    nuc_ti_set_state(ti, 4, nuc_ti_item(ti, layer, 1));
}
