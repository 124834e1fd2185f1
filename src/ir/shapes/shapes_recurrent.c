/* Shape rule of the recurrent layers. */
#include "device/base/fixed_point.h"
#include "ir/recurrent_args.h"
#include "ir/shapes/shapes.h"

struct layers {
    const struct nuc_meta *input;  /* [T, B, in] or, batch first, [B, T, in] */
    const struct nuc_meta *hidden; /* [layers * directions, B, out] */
    const struct nuc_meta *cell;   /* of an LSTM: [layers * directions, B, H] */
    const struct nuc_arg *params;
    int64_t layers, directions, gates, width; /* width: H */
    uint32_t n_each;                          /* tensors of one layer and direction: two weights, two biases */
    bool projected, batch_first;
};

static void check_matrix(const struct nuc_shape_call *c, const struct layers *v, uint32_t index, int64_t rows,
                         int64_t columns)
{
    const struct nuc_meta *m = nuc_shape_list_item(c, v->params, index, "parameter");

    if (m->rank != 2 || m->sizes[0] != rows || m->sizes[1] != columns)
        nuc_shape_fail(c, "weight %u is %s instead of [%lld, %lld]", (unsigned)index, nuc_meta_text(c->g->cx, m),
                       (long long)rows, (long long)columns);
}

/* The output is made with time first and, batch first, seen transposed; the Edge dialect's is contiguous. */
static struct nuc_meta output_of(const struct nuc_shape_call *c, const struct layers *v)
{
    const struct nuc_meta *in = v->input;
    struct nuc_meta m = *in;
    int64_t strides[NUC_MAX_RANK];

    m.sizes[2] = v->hidden->sizes[2] * v->directions;
    nuc_set_contiguous(&m);
    if (c->node->dialect == NUC_EDGE || nuc_checked_elements(m.sizes, m.rank) < 0)
        return m;
    strides[2] = 1;
    strides[v->batch_first ? 0 : 1] = m.sizes[2];
    strides[v->batch_first ? 1 : 0] = m.sizes[2] * m.sizes[v->batch_first ? 0 : 1];
    nuc_dim_order_of_strides(m.sizes, strides, 3, m.dim_order);
    return m;
}

static void check_state(const struct nuc_shape_call *c, const struct layers *v, const struct nuc_meta *state,
                        const char *name)
{
    if (v->input->rank != 3 || state->rank != 3 || v->layers < 1 || state->sizes[0] != v->layers * v->directions ||
        state->sizes[1] != v->input->sizes[v->batch_first ? 0 : 1] || state->dtype != v->input->dtype)
        nuc_shape_fail(c, "the input %s and the %s state %s do not fit each other", nuc_meta_text(c->g->cx, v->input),
                       name, nuc_meta_text(c->g->cx, state));
}

static void read_states(const struct nuc_shape_call *c, struct layers *v)
{
    if (c->node->op != NUC_OP_LSTM) {
        v->hidden = nuc_shape_input(c, NUC_RECURRENT(hx));
        check_state(c, v, v->hidden, "hidden");
        v->width = v->hidden->sizes[2];
        return;
    }
    const struct nuc_arg *states = nuc_shape_arg(c, NUC_RECURRENT(hx), NUC_ARG_NODES);
    if (states->count != 2)
        nuc_shape_fail(c, "%u states are given, 2 are expected", (unsigned)states->count);
    v->hidden = nuc_shape_list_item(c, states, 0, "state");
    v->cell = nuc_shape_list_item(c, states, 1, "state");
    check_state(c, v, v->hidden, "hidden");
    check_state(c, v, v->cell, "cell");
    v->width = v->cell->sizes[2];
    v->projected = v->width != v->hidden->sizes[2];
}

/* input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first */
void nuc_shape_recurrent(const struct nuc_shape_call *c)
{
    struct layers v = {.input = nuc_shape_input(c, NUC_SELF), .gates = nuc_recurrent_gates(c->node->op)};

    v.params = nuc_shape_arg(c, NUC_RECURRENT(params), NUC_ARG_NODES);
    v.layers = nuc_shape_int(c, NUC_RECURRENT(num_layers));
    v.directions = nuc_shape_bool(c, NUC_RECURRENT(bidirectional)) ? 2 : 1;
    v.batch_first = nuc_shape_bool(c, NUC_RECURRENT(batch_first));
    read_states(c, &v);
    /* Sizes that are equal may still be a projection: the number of parameters says so. */
    int64_t cells = v.layers * v.directions;
    v.n_each = nuc_shape_bool(c, NUC_RECURRENT(has_biases)) ? 4 : 2;
    v.projected = v.projected || (v.cell != NULL && v.params->count == cells * (v.n_each + 1));
    v.n_each += v.projected ? 1 : 0;
    if (v.params->count != cells * v.n_each)
        nuc_shape_fail(c, "%u parameters are given, %lld are expected", (unsigned)v.params->count,
                       (long long)(cells * v.n_each));
    /* For each layer and direction weight_ih [G * H, in], weight_hh [G * H, out], biases [G * H], weight_hr [out, H] */
    int64_t rows = v.gates * v.width, out = v.hidden->sizes[2];
    uint32_t vectors = v.n_each - (v.projected ? 1 : 0);
    for (uint32_t i = 0; i < v.params->count; i += v.n_each) {
        bool first_layer = i / v.n_each < v.directions;
        check_matrix(c, &v, i, rows, first_layer ? v.input->sizes[2] : out * v.directions);
        check_matrix(c, &v, i + 1, rows, out);
        for (uint32_t k = 2; k < vectors; k++) {
            const struct nuc_meta *bias = nuc_shape_list_item(c, v.params, i + k, "parameter");
            if (bias->rank != 1 || bias->sizes[0] != rows)
                nuc_shape_fail(c, "bias %u is %s instead of [%lld]", (unsigned)(i + k), nuc_meta_text(c->g->cx, bias),
                               (long long)rows);
        }
        if (v.projected)
            check_matrix(c, &v, i + vectors, out, v.width);
    }
    struct nuc_meta results[3] = {output_of(c, &v), *v.hidden, v.cell != NULL ? *v.cell : *v.hidden};
    nuc_order_as(&results[1], false);
    nuc_order_as(&results[2], false);
    nuc_shape_results(c, results, v.cell != NULL ? 3 : 2);
}

/* ---- int8 ---- */

/* Of result `index`: float32 when it has no multiplier. */
static enum nuc_dtype result_type(const struct nuc_shape_call *c, uint32_t requantize, uint32_t n_states,
                                  uint32_t index)
{
    enum { PRODUCT_NUMBERS = 4 };
    uint32_t count, expected = 3 * (2 * n_states + 1) + PRODUCT_NUMBERS;
    const int64_t *numbers = nuc_shape_ints(c, requantize, &count);

    if (count != expected)
        nuc_shape_fail(c, "%u numbers are given for scales and products, %u are expected", (unsigned)count,
                       (unsigned)expected);
    return numbers[3 * (n_states + index) + 1] == 0 ? NUC_F32 : NUC_I8;
}

/* input [T, B, in] or [B, T, in], its states, params: w_ih, w_hh and numbers of each direction */
void nuc_shape_nucleon_recurrent(const struct nuc_shape_call *c)
{
    bool lstm = c->node->op == NUC_OP_NUCLEON_LSTM;
    uint32_t at = lstm ? NUC_ARG(NUCLEON_LSTM, params) : NUC_ARG(NUCLEON_GRU, params), per_direction = 3;
    struct nuc_meta out = *nuc_shape_input(c, NUC_SELF), state;
    const struct nuc_arg *params = nuc_shape_arg(c, at, NUC_ARG_NODES);
    uint32_t directions = nuc_shape_bool(c, at + 1) ? 2 : 1;

    if (out.rank != 3 || params->count != directions * per_direction)
        nuc_shape_fail(c, "%s or the %u parameters are not those of a layer", nuc_meta_text(c->g->cx, &out),
                       (unsigned)params->count);
    const struct nuc_meta *w = nuc_shape_list_item(c, params, 1, "parameter");
    int64_t gates = lstm ? 4 : c->node->op == NUC_OP_NUCLEON_GRU ? 3 : 1;
    if (w->rank != 2)
        nuc_shape_fail(c, "weight 1 is %s", nuc_meta_text(c->g->cx, w));
    state = out;
    state.sizes[1] = out.sizes[nuc_shape_bool(c, at + 2) ? 0 : 1];
    state.sizes[0] = directions;
    state.sizes[2] = w->sizes[0] / gates;
    out.sizes[2] = state.sizes[2] * directions;
    nuc_set_contiguous(&out);
    nuc_set_contiguous(&state);
    struct nuc_meta cell = state;
    out.dtype = result_type(c, at + 4, lstm ? 2 : 1, 0);
    state.dtype = result_type(c, at + 4, lstm ? 2 : 1, 1);
    cell.dtype = lstm ? result_type(c, at + 4, 2, 2) : NUC_I8;
    nuc_shape_results(c, (struct nuc_meta[]){out, state, cell}, lstm ? 3 : 2);
}

/* ---- layers of LiteRT in integers ---- */

static const struct nuc_meta *typed(const struct nuc_shape_call *c, uint32_t index, enum nuc_dtype dtype,
                                    const int64_t *sizes, uint32_t rank)
{
    const struct nuc_meta *m = nuc_shape_input(c, index), wanted = nuc_meta_make(dtype, sizes, rank);

    if (m->dtype != dtype || !nuc_same_sizes(m, &wanted))
        nuc_shape_fail(c, "argument %u is %s instead of %s", (unsigned)index, nuc_meta_text(c->g->cx, m),
                       nuc_meta_text(c->g->cx, &wanted));
    return m;
}

/* Pairs are a multiplier, from 0, and its shift, from -31 to 30. */
static const int64_t *numbers_of(const struct nuc_shape_call *c, uint32_t index, uint32_t expected, uint32_t first_pair,
                                 uint32_t n_pairs)
{
    uint32_t count;
    const int64_t *numbers = nuc_shape_ints(c, index, &count);

    if (count != expected)
        nuc_shape_fail(c, "%u numbers are given, %u are expected", (unsigned)count, (unsigned)expected);
    for (uint32_t i = first_pair; i < first_pair + 2 * n_pairs; i += 2) {
        if (numbers[i] < 0 || numbers[i] > INT32_MAX || numbers[i + 1] < -31 || numbers[i + 1] > 30)
            nuc_shape_fail(c, "number %u is no multiplier with its shift", (unsigned)i);
    }
    return numbers;
}

#define SVDF(name) NUC_ARG(NUCLEON_SVDF, name)

void nuc_shape_svdf(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF), *times = nuc_shape_input(c, SVDF(times));
    const int64_t rank = nuc_shape_int(c, SVDF(rank));

    if (in->rank != 2 || in->dtype != NUC_I8 || times->rank != 2 || rank < 1 || times->sizes[0] % rank != 0 ||
        times->sizes[0] < 1 || times->sizes[1] < 1 || (times->dtype != NUC_I8 && times->dtype != NUC_I16))
        nuc_shape_fail(c, "%s and times %s of rank %lld do not fit", nuc_meta_text(c->g->cx, in),
                       nuc_meta_text(c->g->cx, times), (long long)rank);
    const int64_t rows = times->sizes[0], units = rows / rank, features[2] = {rows, in->sizes[1]};
    const int64_t state[3] = {in->sizes[0], rows, times->sizes[1]}, out[2] = {in->sizes[0], units};
    typed(c, SVDF(features), NUC_I8, features, 2);
    typed(c, SVDF(state), times->dtype, state, 3);
    if (nuc_shape_optional_input(c, SVDF(bias)) != NULL)
        typed(c, SVDF(bias), NUC_I32, &units, 1);
    const int64_t *numbers = numbers_of(c, SVDF(numbers), 7, 3, 2);
    for (uint32_t i = 0; i < 3; i++) {
        if (numbers[i] < INT8_MIN || numbers[i] > INT8_MAX)
            nuc_shape_fail(c, "number %u is no zero point of int8", (unsigned)i);
    }
    nuc_shape_results(c, (struct nuc_meta[]){nuc_meta_make(NUC_I8, out, 2), nuc_meta_make(times->dtype, state, 3)}, 2);
}

#define LSTM(name) NUC_ARG(NUCLEON_LITERT_LSTM, name)

void nuc_shape_litert_lstm(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF), *h0 = nuc_shape_input(c, LSTM(h0));
    enum { GATES = 4, PAIRS = 11, ZERO_POINT = 22, CELL_POWER, CLIP, NUMBERS };

    if (in->rank != 3 || (in->dtype != NUC_I8 && in->dtype != NUC_I16) || h0->rank != 3 || in->sizes[0] < 1 ||
        in->sizes[1] < 1)
        nuc_shape_fail(c, "%s and state %s do not fit", nuc_meta_text(c->g->cx, in), nuc_meta_text(c->g->cx, h0));
    const bool batch_first = nuc_shape_bool(c, LSTM(batch_first));
    const int64_t hidden = h0->sizes[2], rows = GATES * hidden, state[3] = {1, in->sizes[batch_first ? 0 : 1], hidden};
    const int64_t w_x[2] = {rows, in->sizes[2]}, w_h[2] = {rows, hidden}, biases[2] = {rows, 2};
    const int64_t out[3] = {in->sizes[0], in->sizes[1], hidden};
    const bool wide = in->dtype == NUC_I16;
    typed(c, LSTM(h0), in->dtype, state, 3);
    typed(c, LSTM(c0), NUC_I16, state, 3);
    typed(c, LSTM(input_weights), NUC_I8, w_x, 2);
    typed(c, LSTM(recurrent_weights), NUC_I8, w_h, 2);
    typed(c, LSTM(biases), wide ? NUC_I64 : NUC_I32, biases, 2);
    const int64_t *numbers = numbers_of(c, LSTM(numbers), NUMBERS, 0, PAIRS);
    for (uint32_t i = 0; wide && i < 4 * GATES; i += 2) {
        if (numbers[i + 1] > NUC_MOST_LONG_SHIFT)
            nuc_shape_fail(c, "number %u is a shift beyond %d", (unsigned)i + 1, NUC_MOST_LONG_SHIFT);
    }
    if (numbers[ZERO_POINT] < INT8_MIN || numbers[ZERO_POINT] > INT8_MAX || numbers[CELL_POWER] < -24 ||
        numbers[CELL_POWER] > 0 || numbers[CLIP] < 0 || numbers[CLIP] > INT16_MAX)
        nuc_shape_fail(c, "a zero point, exponent or clip is out of range");
    nuc_shape_results(c,
                      (struct nuc_meta[]){nuc_meta_make(in->dtype, out, 3), nuc_meta_make(in->dtype, state, 3),
                                          nuc_meta_make(NUC_I16, state, 3)},
                      3);
}
