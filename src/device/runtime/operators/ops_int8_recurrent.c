/* Recurrent layers in int8. */
#include "device/kernels/ref_s8/litert_layers.h"
#include "device/runtime/operators/ops_int8.h"
#include "device/runtime/operators/ops_recurrent.h"

enum { PARAMS_EACH = 3, ROW_NUMBERS = 4, MOST_SCALES = 5, PRODUCT_NUMBERS = 4 };

/* Arguments, the states among them by their order: hidden state, then the cell state of an LSTM. */
struct layer {
    const struct nuc_args_layer *a;
    const struct nuc_args_results *results;
    const struct nuc_value *initial[2]; /* directions x batch x hidden, int8 or float32, or None */
    const struct nuc_value *final[2];
    int n_states;
    struct nuc_layer_sizes sizes;
    struct nuc_recurrence_s8 p;
};

/* A state going out is float32 when it has no multiplier. */
static bool states_fit(const struct layer *l)
{
    const struct nuc_recurrence_scale *scales[2] = {&l->p.to_h_n, &l->p.to_c_n};
    bool fit = true;

    for (int s = 0; s < l->n_states; s++) {
        const struct nuc_tensor *in = nuc_optional_tensor(l->initial[s]), *out = &l->final[s]->u.tensor;
        fit = fit && (in == NULL || nuc_is_layer_state(&l->sizes, in)) && nuc_is_layer_state(&l->sizes, out) &&
              out->dtype == (scales[s]->factor.multiplier == 0 ? NUC_F32 : NUC_I8);
    }
    return fit;
}

/* Those of one direction. */
static void place_states(struct layer *l, int32_t direction)
{
    ptrdiff_t at = (ptrdiff_t)direction * l->sizes.r.batch * l->sizes.r.hidden;
    const int8_t **initial[2] = {&l->p.h0, &l->p.c0};
    const float **real_initial[2] = {&l->p.real_h0, &l->p.real_c0};
    int8_t **final[2] = {&l->p.h_n, &l->p.c_n};
    float **real_final[2] = {&l->p.real_h_n, &l->p.real_c_n};

    for (int s = 0; s < l->n_states; s++) {
        const struct nuc_tensor *in = nuc_optional_tensor(l->initial[s]), *out = &l->final[s]->u.tensor;
        if (in != NULL && in->dtype == NUC_F32)
            *real_initial[s] = (const float *)in->data + at;
        else
            *initial[s] = in == NULL ? NULL : (const int8_t *)in->data + at;
        if (out->dtype == NUC_F32)
            *real_final[s] = (float *)out->data + at;
        else
            *final[s] = (int8_t *)out->data + at;
    }
}

/* Element `at` of a list, within bounds. */
static bool read_within(struct nuc_kernel_context *cx, const struct nuc_value *list, uint32_t at, int64_t low,
                        int64_t high, int32_t *out)
{
    int64_t number = nuc_list_int(cx, list, at);

    *out = (int32_t)number;
    return number >= low && number <= high;
}

/*
 * Zero point, multiplier and shift of each state going in, the output, and each state going out; then left shifts of
 * both products, exponent and bits of an input in float32.
 */
static bool read_scales(struct nuc_kernel_context *cx, const struct nuc_value *list, struct layer *l)
{
    struct nuc_recurrence_scale scales[MOST_SCALES];
    const int n = l->n_states;
    const uint32_t at = (uint32_t)(2 * n + 1) * 3;

    if (list->u.list.count != at + PRODUCT_NUMBERS || !read_within(cx, list, at, 0, 31, &l->p.x.left) ||
        !read_within(cx, list, at + 1, 0, 31, &l->p.h.left) ||
        !read_within(cx, list, at + 2, -64, 64, &l->p.exponent) ||
        !read_within(cx, list, at + 3, 1, 15, &l->p.input_bits))
        return false;
    for (uint32_t i = 0; 3 * i < at; i++) {
        if (!read_within(cx, list, 3 * i, INT8_MIN, INT8_MAX, &scales[i].zero_point) ||
            !read_within(cx, list, 3 * i + 1, 0, INT32_MAX, &scales[i].factor.multiplier) ||
            !read_within(cx, list, 3 * i + 2, -31, 30, &scales[i].factor.shift))
            return false;
    }
    l->p.from_h0 = scales[0];
    l->p.to_out = scales[n];
    l->p.to_h_n = scales[n + 1];
    if (n == 2) {
        l->p.from_c0 = scales[1];
        l->p.to_c_n = scales[4];
    }
    return true;
}

/* A matrix of rows for so many values, whose columns may be padded. */
static bool read_rows(const struct nuc_tensor *t, int64_t rows, int32_t values, struct nuc_recurrence_rows *out)
{
    if (!nuc_is_dense(t, NUC_I8, 2) || t->sizes[0] != rows || t->sizes[1] < values ||
        (size_t)t->sizes[1] > nuc_recurrence_padded(values))
        return false;
    out->weight = t->data;
    out->columns = t->sizes[1];
    return true;
}

/* w_ih, w_hh and the numbers of their rows. */
static bool read_params(const struct nuc_kernel_context *cx, struct layer *l, int32_t direction)
{
    const struct nuc_tensor *t[PARAMS_EACH];
    int64_t rows = (int64_t)nuc_cell_gates(l->sizes.r.cell) * l->sizes.r.hidden;

    for (uint32_t i = 0; i < PARAMS_EACH; i++)
        t[i] = &nuc_list_value(cx, l->a->params, (uint32_t)direction * PARAMS_EACH + i)->u.tensor;
    if (!read_rows(t[0], rows, l->sizes.r.inputs, &l->p.x) || !read_rows(t[1], rows, l->sizes.r.hidden, &l->p.h) ||
        !nuc_is_dense(t[2], NUC_I32, 2) || t[2]->sizes[0] != rows || t[2]->sizes[1] != ROW_NUMBERS)
        return false;
    l->p.rows = t[2]->data;
    return true;
}

static enum nuc_status run_layer(struct nuc_kernel_context *cx, const struct nuc_value *input, struct layer *l)
{
    const struct nuc_tensor *in = &input->u.tensor, *out = &l->results->out->u.tensor;
    size_t scratch_bytes;

    l->p.real_in = in->dtype == NUC_F32;
    l->p.fraction = nuc_int32(l->a->state_fraction);
    nuc_scratch(l->results->scratch, &l->p.scratch, &scratch_bytes);
    if (!nuc_read_layer_sizes(cx, in, out, l->a->bidirectional->u.b, l->a->batch_first->u.b, &l->sizes) ||
        !nuc_need(cx, l->a->params->u.list.count == PARAMS_EACH * (uint32_t)l->sizes.directions,
                  NUC_TEXT("argument 'params' is not the weights of one layer")) ||
        !nuc_need(cx, read_scales(cx, l->a->requantize, l), NUC_TEXT("argument 'requantize' is out of range")) ||
        !nuc_need(cx, out->dtype == (l->p.to_out.factor.multiplier == 0 ? NUC_F32 : NUC_I8),
                  NUC_TEXT("argument 'out' is not of the type that 'requantize' says")) ||
        !nuc_need(cx, states_fit(l), NUC_TEXT("an initial or final state is not of the layer's sizes and type")) ||
        !nuc_need(cx, scratch_bytes >= nuc_recurrence_scratch(l->sizes.r.cell, l->sizes.r.hidden, l->sizes.r.inputs),
                  NUC_TEXT("argument 'scratch' is too small or not aligned to 4")))
        return NUC_UNSUPPORTED;
    for (int32_t d = 0; d < l->sizes.directions; d++) {
        if (!nuc_need(cx, read_params(cx, l, d), NUC_TEXT("a weight does not fit the sizes of the layer")))
            return NUC_UNSUPPORTED;
        place_states(l, d);
        l->sizes.r.backwards = d == 1;
        ptrdiff_t at = (ptrdiff_t)d * l->sizes.r.hidden * (out->dtype == NUC_F32 ? (ptrdiff_t)sizeof(float) : 1);
        nuc_kernel_recurrence_s8(&l->sizes.r, &l->p, in->data, (uint8_t *)out->data + at);
    }
    return NUC_OK;
}

enum nuc_status nuc_op_int8_lstm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_lstm *a = (const void *)args;
    struct layer l = {.a = &a->layer,
                      .results = &a->results,
                      .initial = {a->h0, a->c0},
                      .final = {a->results.h_n, a->c_n},
                      .n_states = 2,
                      .sizes.r.cell = NUC_CELL_LSTM};

    return run_layer(cx, a->input, &l);
}

enum nuc_status nuc_op_int8_gru(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_gru *a = (const void *)args;
    struct layer l = {.a = &a->layer,
                      .results = &a->results,
                      .initial = {a->h0},
                      .final = {a->results.h_n},
                      .n_states = 1,
                      .sizes.r.cell = NUC_CELL_GRU};

    return run_layer(cx, a->input, &l);
}

enum nuc_status nuc_op_int8_rnn(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_rnn *a = (const void *)args;
    struct layer l = {.a = &a->layer,
                      .results = &a->results,
                      .initial = {a->h0},
                      .final = {a->results.h_n},
                      .n_states = 1,
                      .sizes.r.cell = a->relu->u.b ? NUC_CELL_RELU : NUC_CELL_TANH};

    return run_layer(cx, a->input, &l);
}

/* ---- layers of LiteRT ---- */

/* `count` multipliers and shifts of a list from element `at` on. */
static bool read_multipliers(struct nuc_kernel_context *cx, const struct nuc_value *list, uint32_t at, uint32_t count,
                             struct nuc_multiplier *out)
{
    for (uint32_t i = 0; i < count; i++) {
        int64_t multiplier = nuc_list_int(cx, list, at + 2 * i), shift = nuc_list_int(cx, list, at + 2 * i + 1);
        if (multiplier < 0 || multiplier > INT32_MAX || shift < -31 || shift > 30)
            return false;
        out[i] = (struct nuc_multiplier){(int32_t)multiplier, (int32_t)shift};
    }
    return true;
}

static bool read_svdf(struct nuc_kernel_context *cx, const struct nuc_value *list, struct nuc_svdf_s8 *p)
{
    return list->u.list.count == 7 && read_within(cx, list, 0, INT8_MIN, INT8_MAX, &p->input_zero) &&
           read_within(cx, list, 1, INT8_MIN, INT8_MAX, &p->state_zero) &&
           read_within(cx, list, 2, INT8_MIN, INT8_MAX, &p->output_zero) &&
           read_multipliers(cx, list, 3, 1, &p->to_state) && read_multipliers(cx, list, 5, 1, &p->to_out);
}

enum nuc_status nuc_op_int8_svdf(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_svdf *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *times = &a->times->u.tensor, *out = &a->out->u.tensor;
    const struct nuc_tensor *before = &a->state->u.tensor, *after = &a->state_out->u.tensor;
    const struct nuc_tensor *weights = &a->features->u.tensor, *bias = nuc_optional_tensor(a->bias);
    const int64_t rank = a->rank->u.i, rows = times->sizes[0];
    struct nuc_svdf_s8 p = {.batch = in->sizes[0],
                            .features = in->sizes[1],
                            .rows = times->sizes[0],
                            .memory = times->sizes[1],
                            .rank = (int32_t)rank,
                            .wide = times->dtype == NUC_I16,
                            .weights = weights->data,
                            .times = times->data,
                            .bias = bias == NULL ? NULL : bias->data};

    if (!nuc_need(cx, rank <= rows && rows % rank == 0, NUC_TEXT("argument 'rank' does not divide the rows")) ||
        !nuc_need(cx, weights->sizes[0] == rows && weights->sizes[1] == in->sizes[1],
                  NUC_TEXT("argument 'features' does not fit input and times")) ||
        !nuc_need(cx, bias == NULL || bias->sizes[0] == rows / rank, NUC_TEXT("argument 'bias' is not one per unit")) ||
        !nuc_need(cx,
                  before->dtype == times->dtype && after->dtype == times->dtype && before->sizes[0] == in->sizes[0] &&
                      before->sizes[1] == rows && before->sizes[2] == times->sizes[1] &&
                      nuc_tensor_same_sizes(before, after),
                  NUC_TEXT("a state is not of the type and sizes of the times")) ||
        !nuc_need(cx, out->sizes[0] == in->sizes[0] && out->sizes[1] == rows / rank,
                  NUC_TEXT("argument 'out' is not one value per unit")) ||
        !nuc_need(cx, read_svdf(cx, a->numbers, &p), NUC_TEXT("argument 'numbers' is out of range")))
        return NUC_UNSUPPORTED;
    nuc_kernel_svdf_s8(&p, in->data, before->data, after->data, out->data);
    return NUC_OK;
}

static bool fit_shifts(const struct nuc_multiplier *m, uint32_t count, int32_t most)
{
    for (uint32_t i = 0; i < count; i++) {
        if (m[i].shift > most)
            return false;
    }
    return true;
}

static bool is_matrix(const struct nuc_tensor *t, int64_t rows, int64_t columns)
{
    return t->sizes[0] == rows && t->sizes[1] == columns;
}

static bool read_litert_lstm(struct nuc_kernel_context *cx, const struct nuc_value *list, struct nuc_litert_lstm *p)
{
    const int32_t most = p->wide ? NUC_MOST_LONG_SHIFT : 30;

    return list->u.list.count == 25 && read_multipliers(cx, list, 0, 4, p->from_x) &&
           read_multipliers(cx, list, 8, 4, p->from_h) && read_multipliers(cx, list, 16, 1, &p->keep) &&
           read_multipliers(cx, list, 18, 1, &p->add) && read_multipliers(cx, list, 20, 1, &p->show) &&
           read_within(cx, list, 22, INT8_MIN, INT8_MAX, &p->zero_point) &&
           read_within(cx, list, 23, -24, 0, &p->cell_power) && read_within(cx, list, 24, 0, INT16_MAX, &p->clip) &&
           fit_shifts(p->from_x, 4, most) && fit_shifts(p->from_h, 4, most);
}

enum nuc_status nuc_op_int8_litert_lstm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_litert_lstm *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor, *biases = &a->biases->u.tensor;
    const struct nuc_tensor *states[4] = {&a->h0->u.tensor, &a->c0->u.tensor, &a->h_n->u.tensor, &a->c_n->u.tensor};
    const struct nuc_tensor *w_x = &a->input_weights->u.tensor, *w_h = &a->recurrent_weights->u.tensor;
    struct nuc_layer_sizes l = {.r = {.cell = NUC_CELL_LSTM}};

    if (!nuc_read_layer_sizes(cx, in, out, false, a->batch_first->u.b, &l))
        return NUC_UNSUPPORTED;
    const int64_t rows = (int64_t)nuc_cell_gates(NUC_CELL_LSTM) * l.r.hidden;
    struct nuc_litert_lstm p = {.r = l.r,
                                .wide = in->dtype == NUC_I16,
                                .w_x = w_x->data,
                                .w_h = w_h->data,
                                .biases = biases->data,
                                .h0 = states[0]->data,
                                .c0 = states[1]->data,
                                .h_n = states[2]->data,
                                .c_n = states[3]->data};
    for (int s = 0; s < 4; s++) {
        if (!nuc_need(cx, nuc_is_layer_state(&l, states[s]), NUC_TEXT("a state is not of the layer's sizes")))
            return NUC_UNSUPPORTED;
    }
    if (!nuc_need(cx, biases->dtype == (p.wide ? NUC_I64 : NUC_I32),
                  NUC_TEXT("argument 'biases' is not of its type")) ||
        !nuc_need(cx,
                  is_matrix(w_x, rows, l.r.inputs) && is_matrix(w_h, rows, l.r.hidden) && is_matrix(biases, rows, 2),
                  NUC_TEXT("a weight does not fit the sizes of the layer")) ||
        !nuc_need(cx, read_litert_lstm(cx, a->numbers, &p), NUC_TEXT("argument 'numbers' is out of range")))
        return NUC_UNSUPPORTED;
    nuc_kernel_litert_lstm(&p, in->data, out->data);
    return NUC_OK;
}
