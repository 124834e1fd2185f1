/* Recurrent layers in int8. */
#include "device/runtime/operators/ops_int8.h"
#include "device/runtime/operators/ops_recurrent.h"

enum { PARAMS_EACH = 3, ROW_LISTS = 6, MOST_SCALES = 5 };

/* Where the arguments of an operator are. */
struct places {
    int n_states; /* h0 follows the input, c0 that */
    int params, bidirectional, batch_first, fraction, scales, scratch, out;
};

struct layer {
    const struct places *at;
    struct nuc_layer_sizes sizes;
    struct nuc_recurrence_s8 p;
    const struct nuc_tensor *initial[2]; /* hidden state, cell state: directions x batch x hidden, or NULL */
    struct nuc_tensor *final[2];
};

/* A state going in is int8 or float32; one going out is float32 when it has no multiplier. */
static bool read_states(struct nuc_kernel_context *cx, struct nuc_value *const *args, struct layer *l)
{
    for (int s = 0; s < l->at->n_states; s++) {
        const struct nuc_tensor *in = nuc_arg_optional_tensor(args, 1 + s);
        struct nuc_tensor *out = nuc_arg_tensor(args, l->at->out + 1 + s);
        const struct nuc_recurrence_scale *to = s == 0 ? &l->p.to_h_n : &l->p.to_c_n;
        uint8_t type = to->factor.multiplier == 0 ? NUC_F32 : NUC_I8;
        if (!nuc_need(cx,
                      (in == NULL || nuc_is_layer_state(&l->sizes, in, in->dtype == NUC_F32 ? NUC_F32 : NUC_I8)) &&
                          nuc_is_layer_state(&l->sizes, out, type),
                      NUC_TEXT("an initial or final state is not contiguous, of the layer's sizes and type")))
            return false;
        l->initial[s] = in;
        l->final[s] = out;
    }
    return true;
}

/* Those of one direction. */
static void place_states(struct layer *l, int32_t direction)
{
    ptrdiff_t at = (ptrdiff_t)direction * l->sizes.r.batch * l->sizes.r.hidden;
    const int8_t **initial[2] = {&l->p.h0, &l->p.c0};
    const float **real_initial[2] = {&l->p.real_h0, &l->p.real_c0};
    int8_t **final[2] = {&l->p.h_n, &l->p.c_n};
    float **real_final[2] = {&l->p.real_h_n, &l->p.real_c_n};

    for (int s = 0; s < l->at->n_states; s++) {
        const struct nuc_tensor *in = l->initial[s];
        struct nuc_tensor *out = l->final[s];
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

/* Zero point, multiplier and shift of each state going in, the output, and each state going out. */
static bool read_scales(struct nuc_kernel_context *cx, const struct nuc_value *list, struct layer *l)
{
    struct nuc_recurrence_scale scales[MOST_SCALES];
    int n = l->at->n_states;

    if (list->u.list.count != (uint32_t)(2 * n + 1) * 3)
        return false;
    for (uint32_t i = 0; i < (uint32_t)(2 * n + 1); i++) {
        int64_t zero = nuc_list_int(cx, list, 3 * i), multiplier = nuc_list_int(cx, list, 3 * i + 1);
        int64_t shift = nuc_list_int(cx, list, 3 * i + 2);
        if (zero < INT8_MIN || zero > INT8_MAX || multiplier < 0 || multiplier > INT32_MAX || shift < -31 || shift > 30)
            return false;
        scales[i] = (struct nuc_recurrence_scale){(int32_t)zero, {(int32_t)multiplier, (int32_t)shift}};
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

static bool shifts_fit(const int32_t *shifts, int32_t rows)
{
    for (int32_t i = 0; i < rows; i++) {
        if (shifts[i] < -31 || shifts[i] > 30)
            return false;
    }
    return true;
}

/* w_ih, w_hh and the numbers of their rows. */
static bool read_params(const struct nuc_kernel_context *cx, const struct nuc_value *list, struct layer *l,
                        int32_t direction)
{
    const struct nuc_tensor *t[PARAMS_EACH];
    int64_t rows = (int64_t)nuc_cell_gates(l->sizes.r.cell) * l->sizes.r.hidden;

    for (uint32_t i = 0; i < PARAMS_EACH; i++)
        t[i] = &nuc_list_value(cx, list, (uint32_t)direction * PARAMS_EACH + i)->u.tensor;
    if (!nuc_is_dense(t[0], NUC_I8, 2) || !nuc_is_dense(t[1], NUC_I8, 2) || t[0]->sizes[0] != rows ||
        t[0]->sizes[1] != l->sizes.r.inputs || t[1]->sizes[0] != rows || t[1]->sizes[1] != l->sizes.r.hidden ||
        !nuc_is_dense(t[2], NUC_I32, 2) || t[2]->sizes[0] != ROW_LISTS || t[2]->sizes[1] != rows)
        return false;
    const int32_t *numbers = t[2]->data;
    l->p.x = (struct nuc_recurrence_rows){t[0]->data, numbers, numbers + rows, numbers + 2 * rows};
    l->p.h = (struct nuc_recurrence_rows){t[1]->data, numbers + 3 * rows, numbers + 4 * rows, numbers + 5 * rows};
    return rows == 0 || (shifts_fit(l->p.x.shift, (int32_t)rows) && shifts_fit(l->p.h.shift, (int32_t)rows));
}

static bool read_scratch(const struct nuc_tensor *t, struct layer *l)
{
    size_t bytes;

    nuc_arg_scratch(t, &l->p.scratch, &bytes);
    return bytes >= nuc_recurrence_scratch(l->sizes.r.cell, l->sizes.r.hidden);
}

static enum nuc_status run_layer(struct nuc_kernel_context *cx, struct nuc_value *const *args, const struct places *at,
                                 enum nuc_cell cell)
{
    struct layer l = {.at = at, .sizes = {.r = {.cell = cell}, .dtype = NUC_I8}};
    const int8_t *in = nuc_arg_tensor(args, 0)->data;
    int8_t *out = nuc_arg_tensor(args, at->out)->data;

    if (!nuc_read_layer_sizes(cx, nuc_arg_tensor(args, 0), nuc_arg_tensor(args, at->out), args[at->bidirectional]->u.b,
                              args[at->batch_first]->u.b, &l.sizes) ||
        !nuc_need(cx, args[at->params]->u.list.count == PARAMS_EACH * (uint32_t)l.sizes.directions,
                  NUC_TEXT("argument 'params' is not the weights of one layer")) ||
        !nuc_need(cx, read_scales(cx, args[at->scales], &l) && nuc_value_in(args[at->fraction], 0, 15),
                  NUC_TEXT("argument 'requantize' or 'state_fraction' is out of range")) ||
        !read_states(cx, args, &l) ||
        !nuc_need(cx, read_scratch(nuc_arg_tensor(args, at->scratch), &l),
                  NUC_TEXT("argument 'scratch' is too small or not aligned to 4")))
        return NUC_UNSUPPORTED;
    l.p.fraction = (int32_t)args[at->fraction]->u.i;
    for (int32_t d = 0; d < l.sizes.directions; d++) {
        if (!nuc_need(cx, read_params(cx, args[at->params], &l, d),
                      NUC_TEXT("a weight does not fit the sizes of the layer, or a shift is out of range")))
            return NUC_UNSUPPORTED;
        place_states(&l, d);
        l.sizes.r.backwards = d == 1;
        nuc_kernel_recurrence_s8(&l.sizes.r, &l.p, in, out + (ptrdiff_t)d * l.sizes.r.hidden);
    }
    return NUC_OK;
}

enum nuc_status nuc_op_int8_lstm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    static const struct places at = {2, 3, 4, 5, 6, 7, 8, 9};

    return run_layer(cx, args, &at, NUC_CELL_LSTM);
}

enum nuc_status nuc_op_int8_gru(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    static const struct places at = {1, 2, 3, 4, 5, 6, 7, 8};

    return run_layer(cx, args, &at, NUC_CELL_GRU);
}

enum nuc_status nuc_op_int8_rnn(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    static const struct places at = {1, 2, 3, 4, 5, 6, 8, 9};

    return run_layer(cx, args, &at, args[7]->u.b ? NUC_CELL_RELU : NUC_CELL_TANH);
}
