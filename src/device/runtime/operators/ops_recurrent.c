/* Recurrent layers in float32: operators of our own with the arguments of torch's. */
#include "device/runtime/operators/ops_recurrent.h"

/* ---- sizes ---- */

bool nuc_is_dense(const struct nuc_tensor *t, uint8_t dtype, uint32_t rank)
{
    return t->dtype == dtype && t->rank == rank && nuc_tensor_is_contiguous(t);
}

bool nuc_read_layer_sizes(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *out,
                          bool bidirectional, bool batch_first, struct nuc_layer_sizes *l)
{
    struct nuc_recurrence *r = &l->r;
    int step = batch_first ? 1 : 0;

    l->directions = bidirectional ? 2 : 1;
    r->steps = in->sizes[step];
    r->batch = in->sizes[1 - step];
    r->inputs = in->sizes[2];
    r->hidden = out->sizes[2] / l->directions;
    r->in_step = batch_first ? r->inputs : (ptrdiff_t)r->batch * r->inputs;
    r->in_sample = batch_first ? (ptrdiff_t)r->steps * r->inputs : r->inputs;
    r->out_step = batch_first ? out->sizes[2] : (ptrdiff_t)r->batch * out->sizes[2];
    r->out_sample = batch_first ? (ptrdiff_t)r->steps * out->sizes[2] : out->sizes[2];
    return nuc_need(cx,
                    out->sizes[0] == in->sizes[0] && out->sizes[1] == in->sizes[1] &&
                        out->sizes[2] == r->hidden * l->directions,
                    NUC_TEXT("argument 'out' differs from 'input' in steps or samples")) &&
           nuc_need(cx, r->hidden <= NUC_MOST_UNITS && r->inputs <= NUC_MOST_UNITS,
                    NUC_TEXT("a layer has more than 2^27 units or inputs"));
}

bool nuc_is_layer_state(const struct nuc_layer_sizes *l, const struct nuc_tensor *t)
{
    return t->sizes[0] == l->directions && t->sizes[1] == l->r.batch && t->sizes[2] == l->r.hidden;
}

/* ---- float32 ---- */

enum { MOST_PARAMS = 8 };

/* w_ih, w_hh, b_ih and b_hh of each direction. */
static bool read_params(struct nuc_kernel_context *cx, const struct nuc_value *list, bool has_biases,
                        const struct nuc_layer_sizes *l, const float *params[MOST_PARAMS])
{
    int64_t rows = (int64_t)nuc_cell_gates(l->r.cell) * l->r.hidden;
    uint32_t each = has_biases ? 4 : 2;

    if (!nuc_need(cx, list->u.list.count == each * (uint32_t)l->directions,
                  NUC_TEXT("argument 'params' is not the weights of one layer")))
        return false;
    for (uint32_t i = 0; i < each * (uint32_t)l->directions; i++) {
        const struct nuc_tensor *t = &nuc_list_value(cx, list, i)->u.tensor;
        bool weight = i % each < 2;
        if (!nuc_need(cx,
                      nuc_is_dense(t, NUC_F32, weight ? 2 : 1) && t->sizes[0] == rows &&
                          (!weight || t->sizes[1] == (i % each == 0 ? l->r.inputs : l->r.hidden)),
                      NUC_TEXT("a weight does not fit the sizes of the layer")))
            return false;
        params[i / each * 4 + i % each] = t->data;
    }
    return true;
}

/* States going in and out: h, and c of an LSTM. */
static enum nuc_status run_layer(struct nuc_kernel_context *cx, struct nuc_value *const *args, enum nuc_cell cell,
                                 const struct nuc_tensor *const from[2], const struct nuc_tensor *const to[2])
{
    const struct nuc_args_rnn *a = (const void *)args; /* lstm has these, too */
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor;
    struct nuc_layer_sizes l = {.r = {.cell = cell}};
    const float *params[MOST_PARAMS] = {NULL};
    int n_states = cell == NUC_CELL_LSTM ? 2 : 1;

    if (!nuc_need(cx, a->num_layers->u.i == 1 && !a->train->u.b,
                  NUC_TEXT("argument 'num_layers' is not 1 or 'train' is true")) ||
        !nuc_read_layer_sizes(cx, in, out, a->bidirectional->u.b, a->batch_first->u.b, &l) ||
        !read_params(cx, a->params, a->has_biases->u.b, &l, params))
        return NUC_UNSUPPORTED;
    for (int s = 0; s < n_states; s++) {
        if (!nuc_need(cx, nuc_is_layer_state(&l, from[s]) && nuc_is_layer_state(&l, to[s]),
                      NUC_TEXT("an initial or final state is not of the layer's sizes")))
            return NUC_UNSUPPORTED;
    }
    for (int32_t d = 0; d < l.directions; d++) {
        const float *const *p = params + (ptrdiff_t)d * 4;
        ptrdiff_t state = (ptrdiff_t)d * l.r.batch * l.r.hidden;
        struct nuc_recurrence_f32 weights = {
            .w_ih = p[0],
            .w_hh = p[1],
            .b_ih = p[2],
            .b_hh = p[3],
            .h0 = (const float *)from[0]->data + state,
            .h_n = (float *)to[0]->data + state,
        };
        if (n_states == 2) {
            weights.c0 = (const float *)from[1]->data + state;
            weights.c_n = (float *)to[1]->data + state;
        }
        l.r.backwards = d == 1;
        nuc_kernel_recurrence_f32(&l.r, &weights, in->data, (float *)out->data + (ptrdiff_t)d * l.r.hidden);
    }
    return NUC_OK;
}

enum nuc_status nuc_op_lstm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_lstm *a = (const void *)args;
    const struct nuc_tensor *from[2] = {NULL, NULL}, *to[2] = {&a->h_n->u.tensor, &a->c_n->u.tensor};

    if (!nuc_need(cx, a->hx->u.list.count == 2, NUC_TEXT("argument 'hx' is not two states")))
        return NUC_UNSUPPORTED;
    for (uint32_t s = 0; s < 2; s++) {
        from[s] = &nuc_list_value(cx, a->hx, s)->u.tensor;
        if (!nuc_need(cx, nuc_is_dense(from[s], NUC_F32, 3),
                      NUC_TEXT("argument 'hx' has a state that is not contiguous float32 of rank 3")))
            return NUC_UNSUPPORTED;
    }
    return run_layer(cx, args, NUC_CELL_LSTM, from, to);
}

static enum nuc_status run_simple(struct nuc_kernel_context *cx, struct nuc_value *const *args, enum nuc_cell cell)
{
    const struct nuc_args_rnn *a = (const void *)args;
    const struct nuc_tensor *from[2] = {&a->hx->u.tensor, NULL}, *to[2] = {&a->h_n->u.tensor, NULL};

    return run_layer(cx, args, cell, from, to);
}

enum nuc_status nuc_op_gru(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return run_simple(cx, args, NUC_CELL_GRU);
}

enum nuc_status nuc_op_rnn_tanh(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return run_simple(cx, args, NUC_CELL_TANH);
}

enum nuc_status nuc_op_rnn_relu(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return run_simple(cx, args, NUC_CELL_RELU);
}
