/* Recurrent layers in float32: operators of our own with the arguments of torch's. */
#include "device/runtime/operators/ops_recurrent.h"

/* Positions of the arguments, which the operators have in common but for h_n's successor. */
enum { INPUT, HX, PARAMS, HAS_BIASES, NUM_LAYERS, DROPOUT, TRAIN, BIDIRECTIONAL, BATCH_FIRST, OUT, H_N, C_N };

enum { MOST_PARAMS = 8 };

struct layer {
    struct nuc_layer_sizes sizes;
    uint32_t n_states;
    const float *params[MOST_PARAMS]; /* of both directions */
    const float *initial[2];          /* hidden state, cell state: directions x batch x hidden */
    float *final[2];
};

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

    if (!nuc_need(cx, nuc_is_dense(in, l->dtype, 3) && nuc_is_dense(out, l->dtype, 3),
                  NUC_TEXT("argument 'input' or 'out' is not a contiguous sequence of the operator's type")))
        return false;
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
                        out->sizes[2] == r->hidden * l->directions && r->hidden <= INT32_MAX / 8,
                    NUC_TEXT("argument 'out' differs from 'input' in steps or samples"));
}

bool nuc_is_layer_state(const struct nuc_layer_sizes *l, const struct nuc_tensor *t, uint8_t dtype)
{
    return nuc_is_dense(t, dtype, 3) && t->sizes[0] == l->directions && t->sizes[1] == l->r.batch &&
           t->sizes[2] == l->r.hidden;
}

/* ---- float32 ---- */

static bool read_states(struct nuc_kernel_context *cx, struct nuc_value *const *args, struct layer *l)
{
    bool list = l->sizes.r.cell == NUC_CELL_LSTM;

    l->n_states = list ? 2 : 1;
    if (!nuc_need(cx, !list || args[HX]->u.list.count == 2, NUC_TEXT("argument 'hx' is not two states")))
        return false;
    for (uint32_t s = 0; s < l->n_states; s++) {
        const struct nuc_tensor *in = list ? &nuc_list_value(cx, args[HX], s)->u.tensor : nuc_arg_tensor(args, HX);
        struct nuc_tensor *out = nuc_arg_tensor(args, H_N + (int)s);
        if (!nuc_need(cx, nuc_is_layer_state(&l->sizes, in, NUC_F32) && nuc_is_layer_state(&l->sizes, out, NUC_F32),
                      NUC_TEXT("an initial or final state is not contiguous float32 of the layer's sizes")))
            return false;
        l->initial[s] = in->data;
        l->final[s] = out->data;
    }
    return true;
}

/* w_ih, w_hh, b_ih and b_hh of each direction. */
static bool param_fits(const struct layer *l, const struct nuc_tensor *t, uint32_t which)
{
    int64_t rows = (int64_t)nuc_cell_gates(l->sizes.r.cell) * l->sizes.r.hidden;

    if (!nuc_is_dense(t, NUC_F32, which < 2 ? 2 : 1) || t->sizes[0] != rows)
        return false;
    return which >= 2 || t->sizes[1] == (which == 0 ? l->sizes.r.inputs : l->sizes.r.hidden);
}

static bool read_params(struct nuc_kernel_context *cx, struct nuc_value *const *args, struct layer *l)
{
    uint32_t each = args[HAS_BIASES]->u.b ? 4 : 2;

    if (!nuc_need(cx, args[PARAMS]->u.list.count == each * (uint32_t)l->sizes.directions,
                  NUC_TEXT("argument 'params' is not the weights of one layer")))
        return false;
    for (uint32_t i = 0; i < each * (uint32_t)l->sizes.directions; i++) {
        const struct nuc_tensor *t = &nuc_list_value(cx, args[PARAMS], i)->u.tensor;
        if (!nuc_need(cx, param_fits(l, t, i % each), NUC_TEXT("a weight does not fit the sizes of the layer")))
            return false;
        l->params[i / each * 4 + i % each] = t->data;
    }
    return true;
}

static enum nuc_status run_layer(struct nuc_kernel_context *cx, struct nuc_value *const *args, enum nuc_cell cell)
{
    struct layer l = {.sizes = {.r = {.cell = cell}, .dtype = NUC_F32}};
    const float *in = nuc_arg_tensor(args, INPUT)->data;
    float *out = nuc_arg_tensor(args, OUT)->data;

    if (!nuc_need(cx, args[NUM_LAYERS]->u.i == 1 && !args[TRAIN]->u.b,
                  NUC_TEXT("argument 'num_layers' is not 1 or 'train' is true")) ||
        !nuc_read_layer_sizes(cx, nuc_arg_tensor(args, INPUT), nuc_arg_tensor(args, OUT), args[BIDIRECTIONAL]->u.b,
                              args[BATCH_FIRST]->u.b, &l.sizes) ||
        !read_states(cx, args, &l) || !read_params(cx, args, &l))
        return NUC_UNSUPPORTED;
    for (int32_t d = 0; d < l.sizes.directions; d++) {
        const float *const *p = l.params + (ptrdiff_t)d * 4;
        ptrdiff_t state = (ptrdiff_t)d * l.sizes.r.batch * l.sizes.r.hidden;
        struct nuc_recurrence_f32 weights = {
            .w_ih = p[0],
            .w_hh = p[1],
            .b_ih = p[2],
            .b_hh = p[3],
            .h0 = l.initial[0] + state,
            .h_n = l.final[0] + state,
        };
        if (l.n_states == 2) {
            weights.c0 = l.initial[1] + state;
            weights.c_n = l.final[1] + state;
        }
        l.sizes.r.backwards = d == 1;
        nuc_kernel_recurrence_f32(&l.sizes.r, &weights, in, out + (ptrdiff_t)d * l.sizes.r.hidden);
    }
    return NUC_OK;
}

enum nuc_status nuc_op_gru(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return run_layer(cx, args, NUC_CELL_GRU);
}

enum nuc_status nuc_op_lstm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return run_layer(cx, args, NUC_CELL_LSTM);
}

enum nuc_status nuc_op_rnn_tanh(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return run_layer(cx, args, NUC_CELL_TANH);
}

enum nuc_status nuc_op_rnn_relu(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return run_layer(cx, args, NUC_CELL_RELU);
}
