/*
 * Recurrent layers. Real and integer numbers, with s the scale of a tensor or of a weight's row and f the fraction:
 *
 *     sum of a gate   2^15 (W_ih x + b_ih + W_hh h + b_hh) = m_x (w_ih q_x) + b_x + m_h (w_hh q_h) + b_h
 *     m_x = 2^15 s_x s_w, b_x = 2^15 b_ih - m_x z_x (sum of w_ih), m_h = 2^(15 - f) s_w, b_h = 2^15 b_hh
 *
 * The states are 2^-f q_h and 2^-15 q_c, so that only what enters and leaves the layer has a scale that was observed.
 */
#include <math.h>
#include <stdlib.h>

#include "cpu/cortexm_private.h"
#include "ir/recurrent_args.h"

enum { MOST_STATES = 2, PARAMS_EACH = 3, ROW_LISTS = 6, STATE_BITS = 15 };

/* Quantized tensors around the layer; a state that is zero, or that nothing reads, has no node. */
struct layer {
    struct nuc_recurrent r;
    struct nuc_node *node;
    struct nuc_cm_value in, initial[MOST_STATES];
    struct nuc_node *real[MOST_STATES]; /* initial states in float32 */
    struct nuc_cm_result out[1 + MOST_STATES];
    struct nuc_node *items[1 + MOST_STATES];
    bool is_real[1 + MOST_STATES]; /* final states in float32 */
};

/* The int8 weights of a cell, per row. */
struct weights {
    struct nuc_cm_value ih, hh;
    const int8_t *ih_values, *hh_values;
};

/* ---- what stands around ---- */

/* The quantizer leaves out what is zero. */
static bool read_state(struct nuc_cm *c, struct layer *l, uint32_t state)
{
    struct nuc_node *h = l->r.states[state];

    if (nuc_cm_int8(h, &l->initial[state]))
        return true;
    l->initial[state] = (struct nuc_cm_value){.node = NULL};
    if (nuc_is_zero_state(c->g, h))
        return true;
    l->real[state] = h;
    return !nuc_is_dequantize(h) && h->vals[0].dtype == NUC_F32;
}

static bool is_read_as_float(const struct nuc_node *item)
{
    for (uint32_t i = 0; i < item->n_users; i++) {
        if (nuc_is_quantize(item->users[i]))
            return false;
    }
    return item->n_users > 0;
}

static bool read_results(struct layer *l)
{
    for (uint32_t i = 0; i < l->node->n_users; i++) {
        struct nuc_node *item = l->node->users[i];
        int64_t index = item->op == NUC_OP_GETITEM ? nuc_integer(item, NUC_ARG(GETITEM, index), -1) : -1;
        if (index < 0 || index > l->r.n_states || l->items[index] != NULL || item->n_users == 0)
            return false;
        l->is_real[index] = index > 0 && is_read_as_float(item);
        if (!l->is_real[index] && !nuc_cm_result(item, false, &l->out[index]))
            return false;
        l->items[index] = item;
    }
    return true;
}

static bool read_layer(struct nuc_cm *c, struct nuc_node *node, struct layer *l, struct weights weights[2])
{
    *l = (struct layer){.r = nuc_recurrent_of(node), .node = node};
    if (l->r.layers != 1 || l->r.projected || !nuc_cm_int8(l->r.input, &l->in) || !read_results(l))
        return false;
    for (uint32_t s = 0; s < l->r.n_states; s++) {
        if (!read_state(c, l, s))
            return false;
    }
    for (uint32_t d = 0; d < l->r.directions; d++) {
        struct weights *out = &weights[d];
        struct nuc_recurrent_cell cell = nuc_recurrent_cell(&l->r, d);

        if (!nuc_cm_operand(cell.w_ih, &out->ih) || !nuc_cm_operand(cell.w_hh, &out->hh) || out->ih.dtype != NUC_I8 ||
            out->hh.dtype != NUC_I8 || !nuc_is_static(out->ih.node) || !nuc_is_static(out->hh.node) ||
            (out->ih.scales != NULL && out->ih.axis != 0) || (out->hh.scales != NULL && out->hh.axis != 0) ||
            out->ih.zero_point != 0 || out->hh.zero_point != 0 || (cell.b_ih != NULL && !nuc_is_static(cell.b_ih)) ||
            (cell.b_hh != NULL && !nuc_is_static(cell.b_hh)))
            return false;
        out->ih_values = nuc_const_contiguous(c->g, out->ih.node);
        out->hh_values = nuc_const_contiguous(c->g, out->hh.node);
    }
    return true;
}

/* ---- the step of the hidden state ---- */

/* The largest absolute value of int8 with these parameters. */
static double reach(const struct nuc_cm_value *v)
{
    double low = (double)(v->zero_point - INT8_MIN), high = (double)(INT8_MAX - v->zero_point);

    return v->scale * (low > high ? low : high);
}

/*
 * What the hidden state can become; twice what was seen where nothing bounds it. One in float32 comes from the layer
 * itself, 1 at most, but for the first one, which may be anything: 4 times as much fits.
 */
static double largest_state(const struct layer *l)
{
    double largest = l->r.op == NUC_OP_RNN_RELU ? 0 : 1;

    for (uint32_t i = 0; i < 2 && l->r.op == NUC_OP_RNN_RELU; i++) {
        if (l->items[i] != NULL && !l->is_real[i])
            largest = fmax(largest, 2 * reach(&l->out[i].params));
    }
    if (l->real[0] != NULL)
        return 4;
    return l->initial[0].node == NULL ? largest : fmax(largest, reach(&l->initial[0]));
}

/* The largest sum of absolute weights of a row. */
static double largest_row(const struct layer *l, const struct weights *weights)
{
    size_t rows = (size_t)(l->r.gates * l->r.hidden), columns = (size_t)l->r.hidden;
    double largest = 0;

    for (uint32_t d = 0; d < l->r.directions; d++) {
        for (size_t j = 0; j < rows; j++) {
            int64_t sum = 0;
            for (size_t k = 0; k < columns; k++)
                sum += abs(weights[d].hh_values[j * columns + k]);
            largest = fmax(largest, (double)sum);
        }
    }
    return largest;
}

/* ---- numbers of rows ---- */

static int32_t fixed(double value)
{
    double rounded = nearbyint(value);

    return rounded >= INT32_MAX ? INT32_MAX : rounded <= INT32_MIN ? INT32_MIN : (int32_t)rounded;
}

static double bias_of(struct nuc_cm *c, const struct nuc_node *bias, size_t row)
{
    return bias == NULL ? 0 : (double)((const float *)nuc_const_contiguous(c->g, bias))[row];
}

static int64_t row_sum(const int8_t *row, int64_t count)
{
    int64_t sum = 0;

    for (int64_t i = 0; i < count; i++)
        sum += row[i];
    return sum;
}

/* [6, gates * hidden]: multipliers, shifts and biases of the product with the input, then of that with the state. */
static struct nuc_node *insert_rows(struct nuc_cm *c, const struct layer *l, const struct weights *w,
                                    uint32_t direction, int fraction)
{
    struct nuc_recurrent_cell cell = nuc_recurrent_cell(&l->r, direction);
    const int64_t sizes[2] = {ROW_LISTS, l->r.gates * l->r.hidden};
    size_t rows = (size_t)sizes[1];
    int32_t *numbers = nuc_alloc_array(c->g->cx, ROW_LISTS * rows, sizeof *numbers);

    for (size_t j = 0; j < rows; j++) {
        double x = ldexp(l->in.scale * nuc_cm_channel_scale(&w->ih, (int64_t)j), STATE_BITS);
        double h = ldexp(nuc_cm_channel_scale(&w->hh, (int64_t)j), STATE_BITS - fraction);
        int64_t sum = row_sum(w->ih_values + j * (size_t)l->r.inputs, l->r.inputs);
        struct nuc_multiplier m = nuc_cm_multiplier(x);
        numbers[j] = m.multiplier;
        numbers[rows + j] = m.shift;
        numbers[2 * rows + j] =
            fixed(ldexp(bias_of(c, cell.b_ih, j), STATE_BITS) - x * (double)(l->in.zero_point * sum));
        m = nuc_cm_multiplier(h);
        numbers[3 * rows + j] = m.multiplier;
        numbers[4 * rows + j] = m.shift;
        numbers[5 * rows + j] = fixed(ldexp(bias_of(c, cell.b_hh, j), STATE_BITS));
    }
    return nuc_cm_constant(c, w->hh.node, "_rows", NUC_I32, sizes, 2, numbers);
}

/* ---- the operator ---- */

static void add_scale(int64_t *list, uint32_t *count, int64_t zero_point, double factor)
{
    struct nuc_multiplier m = nuc_cm_multiplier(factor);

    list[(*count)++] = zero_point;
    list[(*count)++] = m.multiplier;
    list[(*count)++] = m.shift;
}

/* Zero point, multiplier and shift of each state going in, of the output, of each state going out. */
static uint32_t list_scales(const struct layer *l, int fraction, int64_t list[3 * (1 + 2 * MOST_STATES)])
{
    const int bits[MOST_STATES] = {fraction, STATE_BITS};
    uint32_t count = 0;

    for (uint32_t s = 0; s < l->r.n_states; s++) {
        bool zero = l->initial[s].node == NULL;
        add_scale(list, &count, zero ? 0 : l->initial[s].zero_point, zero ? 0 : ldexp(l->initial[s].scale, bits[s]));
    }
    for (uint32_t i = 0; i <= l->r.n_states; i++) {
        const struct nuc_cm_value *out = &l->out[i].params;
        bool none = l->items[i] == NULL || l->is_real[i];
        add_scale(list, &count, none ? 0 : out->zero_point,
                  l->is_real[i] ? 0
                  : none        ? 1
                                : ldexp(1 / out->scale, -bits[i == 0 ? 0 : i - 1]));
    }
    return count;
}

/* The state in contiguous order, or no argument. */
static struct nuc_arg state_arg(struct nuc_cm *c, const struct layer *l, uint32_t state, struct nuc_node *before)
{
    struct nuc_node *node = l->real[state] != NULL ? l->real[state] : l->initial[state].node;

    return nuc_node_arg(node == NULL ? NULL : nuc_cm_contiguous(c, node, before));
}

static struct nuc_node *insert_operator(struct nuc_cm *c, const struct layer *l, const struct weights *weights,
                                        int fraction, struct nuc_node *before)
{
    struct nuc_node *params[2 * PARAMS_EACH];
    int64_t scales[3 * (1 + 2 * MOST_STATES)];
    uint32_t n_scales = list_scales(l, fraction, scales);

    for (uint32_t d = 0; d < l->r.directions; d++) {
        params[PARAMS_EACH * d] = weights[d].ih.node;
        params[PARAMS_EACH * d + 1] = weights[d].hh.node;
        params[PARAMS_EACH * d + 2] = insert_rows(c, l, &weights[d], d, fraction);
    }
    struct nuc_arg input = nuc_node_arg(nuc_cm_contiguous(c, l->in.node, before)), h0 = state_arg(c, l, 0, before);
    struct nuc_arg list = nuc_nodes_arg(params, PARAMS_EACH * l->r.directions);
    struct nuc_arg both = nuc_bool_arg(l->r.directions == 2), first = nuc_bool_arg(l->r.batch_first);
    struct nuc_arg bits = nuc_int_arg(fraction), numbers = nuc_ints_arg(scales, n_scales);
    size_t bytes = (size_t)l->r.hidden * 4;
    if (l->r.op == NUC_OP_GRU) {
        struct nuc_node *gru =
            nuc_emit(c->g, before, NUC_OP_NUCLEON_GRU, l->node, NUC_ARGS(input, h0, list, both, first, bits, numbers));
        nuc_cm_scratch(c, gru, NUC_ARG(NUCLEON_GRU, scratch), bytes);
        return gru;
    }
    if (l->r.op == NUC_OP_LSTM) {
        struct nuc_node *lstm =
            nuc_emit(c->g, before, NUC_OP_NUCLEON_LSTM, l->node,
                     NUC_ARGS(input, h0, state_arg(c, l, 1, before), list, both, first, bits, numbers));
        nuc_cm_scratch(c, lstm, NUC_ARG(NUCLEON_LSTM, scratch), 2 * bytes);
        return lstm;
    }
    struct nuc_node *rnn =
        nuc_emit(c->g, before, NUC_OP_NUCLEON_RNN, l->node,
                 NUC_ARGS(input, h0, list, both, first, bits, numbers, nuc_bool_arg(l->r.op == NUC_OP_RNN_RELU)));
    nuc_cm_scratch(c, rnn, NUC_ARG(NUCLEON_RNN, scratch), bytes);
    return rnn;
}

bool nuc_cm_lower_recurrent(struct nuc_cm *c, struct nuc_node *node)
{
    struct weights weights[2];
    struct layer l;

    if (c->options->executorch_ops_only || c->options->reference_compat || !read_layer(c, node, &l, weights))
        return false;
    /* Bits after the point: as many as the state leaves of 16 and its products of 32 bits; negative: too few. */
    double state = largest_state(&l), row = largest_row(&l, weights);
    int fraction = STATE_BITS;
    while (fraction >= 0 && (ldexp(state, fraction) > (double)(INT16_MAX + 1) ||
                             ldexp(fmin(state, ldexp(1, STATE_BITS - fraction)), fraction) * row >= 0x1p31))
        fraction--;
    if (fraction < 0)
        return false;
    struct nuc_node *before = node->next, *layer = insert_operator(c, &l, weights, fraction, before);
    for (uint32_t i = 0; i <= l.r.n_states; i++) {
        struct nuc_node *item = l.items[i] == NULL ? NULL : nuc_insert_getitem(c->g, before, layer, i);
        if (item != NULL && l.is_real[i])
            nuc_replace_uses(c->g, l.items[i], item, NULL);
        else if (item != NULL)
            nuc_cm_replace(c, &l.out[i], item);
    }
    return true;
}
