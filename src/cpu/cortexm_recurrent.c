/*
 * Recurrent layers. Real and integer numbers, with s the scale of a tensor or of a weight's row and f the fraction:
 *
 *     sum of a gate   2^15 (W_ih x + b_ih + W_hh h + b_hh) = m_x (w_ih q_x) + m_h (w_hh q_h) + b
 *     m_x = 2^15 s_x s_w, m_h = 2^(15 - f) s_w, b = 2^15 (b_ih + b_hh) - m_x z_x (sum of w_ih)
 *
 * The states are 2^-f q_h and 2^-15 q_c, so that only what enters and leaves the layer has a scale that was observed.
 * An input in float32 is int16 inside, s_x = 2^(e - bits), e from step to step: m_x is that of the largest e.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cortexm_site.h"
#include "ir/recurrent_args.h"

enum {
    MOST_STATES = 2,
    PARAMS_EACH = 3,
    ROW_NUMBERS = 4,
    STATE_BITS = 15,
    INT8_BITS = 7,
    REAL_BITS = 15,
    LARGEST_EXPONENT = 64,
    MOST_LOWERED = 8, /* a sum of 2^(14 - 8) is as good as any larger one for a gate */
    PRODUCT_NUMBERS = 4,
    MOST_NUMBERS = 3 * (1 + 2 * MOST_STATES) + PRODUCT_NUMBERS,
    MOST_ARGS = 8
};

/* Quantized tensors around the layer; a state that is zero, or that nothing reads, has no node. */
struct layer {
    struct nuc_recurrent r;
    struct nuc_node *node;
    struct nuc_cm_value in, initial[MOST_STATES];
    bool real_in;                       /* the input in float32 */
    struct nuc_node *real[MOST_STATES]; /* initial states in float32 */
    struct nuc_cm_result out[1 + MOST_STATES];
    struct nuc_node *items[1 + MOST_STATES];
    bool is_real[1 + MOST_STATES]; /* results in float32 */
};

/* The int8 weights of a cell, per row. */
struct weights {
    struct nuc_cm_value ih, hh;
    const int8_t *ih_values, *hh_values;
};

/* ---- what stands around ---- */

/* A value in float32, or one of int16, which is one in front of the layer. */
static bool is_real(const struct nuc_node *value)
{
    struct nuc_cm_value v;

    return value->vals[0].dtype == NUC_F32 &&
           (!nuc_is_dequantize(value) || (nuc_cm_operand(value, &v) && v.scales == NULL && v.dtype == NUC_I16));
}

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
    return is_real(h);
}

static bool read_results(struct layer *l)
{
    for (uint32_t i = 0; i < l->node->n_users; i++) {
        struct nuc_node *item = l->node->users[i];
        int64_t index = item->op == NUC_OP_GETITEM ? nuc_integer(item, NUC_ARG(GETITEM, index), -1) : -1;
        if (index < 0 || index > l->r.n_states || l->items[index] != NULL || item->n_users == 0)
            return false;
        if (!nuc_cm_result(item, false, &l->out[index]))
            l->out[index] = (struct nuc_cm_result){.value = NULL};
        l->is_real[index] = l->out[index].params.scale == 0 || l->out[index].params.dtype != NUC_I8;
        l->items[index] = item;
    }
    return true;
}

static bool read_input(struct layer *l)
{
    struct nuc_node *x = l->r.input;

    if (nuc_cm_int8(x, &l->in))
        return true;
    l->real_in = true;
    l->in = (struct nuc_cm_value){.node = x, .scale = 1};
    return is_real(x);
}

static bool read_layer(struct nuc_cm *c, struct nuc_node *node, struct layer *l, struct weights weights[2])
{
    *l = (struct layer){.r = nuc_recurrent_of(node), .node = node};
    /* What ReLUs give is bounded by what was observed alone. */
    if (l->r.layers != 1 || l->r.projected || !read_input(l) || !read_results(l) ||
        !(l->r.op != NUC_OP_RNN_RELU || l->out[0].params.scale > 0 || l->out[1].params.scale > 0))
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

/* The largest absolute value of integers with these parameters. */
static double reach(const struct nuc_cm_value *v)
{
    const struct nuc_int_range range = nuc_int_range(v->dtype);
    double low = (double)(v->zero_point - range.low), high = (double)(range.high - v->zero_point);

    return v->scale * (low > high ? low : high);
}

/*
 * A state of the model that the layer itself makes, of values from -1 to 1, perhaps kept as it began for a while: it
 * begins as one, too.
 */
static bool is_own_state(struct nuc_cm *c, const struct layer *l)
{
    const struct nuc_states states = nuc_states_of(c->g);
    const struct nuc_node *h = l->real[0], *next = NULL;

    for (uint32_t i = 0; i < states.count; i++)
        next = states.nodes[i] == h ? nuc_output_node(c->g)->args[0].u.nodes[states.first_next + i] : next;
    if (next != NULL && next->op == NUC_OP_WHERE && nuc_is_static_float(nuc_arg_node(next, NUC_ARG(WHERE, other))))
        next = nuc_arg_node(next, NUC_ARG(WHERE, self));
    if (next == NULL || next != l->items[1] || l->r.op == NUC_OP_RNN_RELU)
        return false;
    const float *begin = nuc_const_contiguous(c->g, h);
    for (int64_t i = 0; i < nuc_elements(&h->vals[0]); i++) {
        if (!(begin[i] >= -1 && begin[i] <= 1))
            return false;
    }
    return true;
}

/*
 * What the hidden state can become; twice what was seen where nothing bounds it. One in float32 comes from the layer
 * itself, 1 at most, but for the first one, which may be anything: 4 times as much fits.
 */
static double largest_state(struct nuc_cm *c, const struct layer *l)
{
    double largest = l->r.op == NUC_OP_RNN_RELU ? 0 : 1;

    for (uint32_t i = 0; i < 2 && l->r.op == NUC_OP_RNN_RELU; i++) {
        if (l->items[i] != NULL && l->out[i].params.scale > 0)
            largest = fmax(largest, 2 * reach(&l->out[i].params));
    }
    if (l->real[0] != NULL)
        return is_own_state(c, l) ? 1 : fmax(largest, 4);
    return l->initial[0].node == NULL ? largest : fmax(largest, reach(&l->initial[0]));
}

/* ---- numbers of rows ---- */

/* Of the values of a product and the layer's sums: shifts, and what an input in float32 becomes. */
struct products {
    int x_bits, x_left, h_left, fraction, exponent;
};

/* Of a row of one of the weights: what a product of 1 is worth in Q16.15, and the sum of absolute weights. */
struct row {
    double factor;
    int64_t sum, absolute;
};

static struct row row_of(const struct layer *l, const struct weights *w, const struct products *p, bool of_h, size_t j)
{
    int64_t columns = of_h ? l->r.hidden : l->r.inputs;
    const int8_t *values = (of_h ? w->hh_values : w->ih_values) + j * (size_t)columns;
    double scale = nuc_cm_channel_scale(of_h ? &w->hh : &w->ih, (int64_t)j);
    int bits = of_h ? STATE_BITS - p->fraction : l->real_in ? STATE_BITS + p->exponent - p->x_bits : STATE_BITS;
    struct row row = {.factor = ldexp(of_h ? scale : l->in.scale * scale, bits)};

    for (int64_t i = 0; i < columns; i++) {
        row.sum += values[i];
        row.absolute += abs(values[i]);
    }
    return row;
}

/* The largest sum of absolute weights of a row, and in `real` the largest in real numbers. */
static double largest_row(const struct layer *l, const struct weights *weights, bool of_h, double *real)
{
    const struct products none = {.fraction = STATE_BITS, .x_bits = STATE_BITS};
    double largest = 1;

    *real = 0;
    for (uint32_t d = 0; d < l->r.directions; d++) {
        for (size_t j = 0; j < (size_t)(l->r.gates * l->r.hidden); j++) {
            struct row row = row_of(l, &weights[d], &none, of_h, j);
            largest = fmax(largest, (double)row.absolute);
            *real = fmax(*real, row.factor * (double)row.absolute);
        }
    }
    return largest;
}

/* Bits that a number below `limit` in size leaves of 31. */
static int bits_left(double limit)
{
    int exponent;

    frexp(limit, &exponent);
    return 31 - exponent;
}

/* Bits after the point of a state, and of an input in float32: as many as 16 leave and products of 32 bits. */
static bool choose_products(struct nuc_cm *c, const struct layer *l, const struct weights *weights, struct products *p)
{
    double real, state = largest_state(c, l), x_row = largest_row(l, weights, false, &real), h_row;
    int free = bits_left(x_row);

    p->x_bits = !l->real_in ? INT8_BITS : free < REAL_BITS ? free : REAL_BITS;
    p->x_left = free - p->x_bits;
    /* The sums of the largest inputs that are told apart are 2^14. */
    p->exponent = real > 0 && l->real_in ? nuc_clamp_i32(bits_left(real) - 17, -LARGEST_EXPONENT, LARGEST_EXPONENT) : 0;
    h_row = largest_row(l, weights, true, &real);
    for (p->fraction = STATE_BITS; p->fraction >= 0; p->fraction--) {
        double most = ldexp(fmin(state, ldexp(1, STATE_BITS - p->fraction)), p->fraction);
        p->h_left = bits_left(h_row * most);
        if (ldexp(state, p->fraction) <= (double)(INT16_MAX + 1) && p->h_left >= 0)
            return p->x_bits >= 1 && p->x_left >= 0;
    }
    return false;
}

static int32_t fixed(double value)
{
    double rounded = nearbyint(value);

    return rounded >= INT32_MAX ? INT32_MAX : rounded <= INT32_MIN ? INT32_MIN : (int32_t)rounded;
}

static double bias_of(struct nuc_cm *c, const struct nuc_node *bias, size_t row)
{
    return bias == NULL ? 0 : ldexp((double)((const float *)nuc_const_contiguous(c->g, bias))[row], STATE_BITS);
}

/*
 * [gates * hidden, 4]: multiplier and bias of the product with the input, then of that with the state, whose bias is
 * with the other but where a GRU multiplies the product. False: a row's numbers are too large.
 */
static bool fill_rows(struct nuc_cm *c, const struct layer *l, const struct weights *w, uint32_t direction,
                      const struct products *p, int32_t *numbers)
{
    struct nuc_recurrent_cell cell = nuc_recurrent_cell(&l->r, direction);
    size_t rows = (size_t)(l->r.gates * l->r.hidden);
    double x_most = ldexp(1, p->x_bits), h_most = ldexp(1, STATE_BITS);

    for (size_t j = 0; j < rows; j++) {
        struct row x = row_of(l, w, p, false, j), h = row_of(l, w, p, true, j);
        bool apart = l->r.op == NUC_OP_GRU && j >= 2 * (size_t)l->r.hidden;
        double b_h = bias_of(c, cell.b_hh, j);
        double b_x = bias_of(c, cell.b_ih, j) - x.factor * (double)(l->in.zero_point * x.sum) + (apart ? 0 : b_h);
        double m_x = ldexp(x.factor, 32 - p->x_left), m_h = ldexp(h.factor, 32 - p->h_left);
        double most =
            x.factor * x_most * (double)x.absolute + h.factor * h_most * (double)h.absolute + fabs(b_x) + fabs(b_h);

        if (!(fmax(most, fmax(m_x, m_h)) < INT32_MAX))
            return false;
        int32_t *of_row = numbers + ROW_NUMBERS * j;
        of_row[0] = fixed(m_x);
        of_row[1] = fixed(b_x);
        of_row[2] = fixed(m_h);
        of_row[3] = apart ? fixed(b_h) : 0;
    }
    return true;
}

/*
 * A weight that is large beside the others of its row has a large multiplier: then less is told apart of inputs that
 * are as large as no sum has to be. False: that is not enough.
 */
static bool fit_rows(struct nuc_cm *c, const struct layer *l, const struct weights weights[2], struct products *p,
                     int32_t *rows[2])
{
    const int most = l->real_in && l->r.op != NUC_OP_RNN_RELU ? MOST_LOWERED : 0;
    bool fit = false;

    for (uint32_t d = 0; d < l->r.directions; d++)
        rows[d] = nuc_alloc_array(c->g->cx, ROW_NUMBERS * (size_t)(l->r.gates * l->r.hidden), sizeof *rows[d]);
    for (int lower = 0; !fit && lower <= most; lower++, p->exponent -= !fit) {
        fit = true;
        for (uint32_t d = 0; d < l->r.directions; d++)
            fit = fit && fill_rows(c, l, &weights[d], d, p, rows[d]);
    }
    return fit;
}

/* ---- the operator ---- */

static void add_scale(int64_t *list, uint32_t *count, int64_t zero_point, double factor)
{
    struct nuc_multiplier m = nuc_cm_multiplier(factor);

    list[(*count)++] = zero_point;
    list[(*count)++] = m.multiplier;
    list[(*count)++] = m.shift;
}

/* Zero point, multiplier and shift of each state going in, of the output, of each state going out; of products. */
static uint32_t list_scales(const struct layer *l, const struct products *p, int64_t list[MOST_NUMBERS])
{
    const int bits[MOST_STATES] = {p->fraction, STATE_BITS};
    const int products[PRODUCT_NUMBERS] = {p->x_left, p->h_left, p->exponent, p->x_bits};
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
    for (uint32_t i = 0; i < PRODUCT_NUMBERS; i++)
        list[count++] = products[i];
    return count;
}

/* The state in contiguous order, or no argument. */
static struct nuc_arg state_arg(struct nuc_cm *c, const struct layer *l, uint32_t state, struct nuc_node *before)
{
    struct nuc_node *node = l->real[state] != NULL ? l->real[state] : l->initial[state].node;

    return nuc_node_arg(node == NULL ? NULL : nuc_cm_contiguous(c, node, before));
}

/* Zeros after each row, so that all begin with a word. */
static struct nuc_node *padded(struct nuc_cm *c, struct nuc_node *weight, const int8_t *values)
{
    size_t rows = (size_t)weight->vals[0].sizes[0], columns = (size_t)weight->vals[0].sizes[1];
    size_t wider = (columns + 3) / 4 * 4;
    const int64_t sizes[2] = {(int64_t)rows, (int64_t)wider};

    if (wider == columns)
        return weight;
    int8_t *bytes = nuc_alloc_array(c->g->cx, rows * wider, sizeof *bytes);
    for (size_t j = 0; j < rows; j++)
        memcpy(bytes + j * wider, values + j * columns, columns);
    return nuc_cm_constant(c, weight, "_padded", NUC_I8, sizes, 2, bytes);
}

static struct nuc_node *insert_operator(struct nuc_cm *c, const struct layer *l, const struct weights *weights,
                                        const struct products *p, int32_t *const rows[2], struct nuc_node *before)
{
    const int64_t sizes[2] = {l->r.gates * l->r.hidden, ROW_NUMBERS};
    struct nuc_node *params[2 * PARAMS_EACH];
    int64_t scales[MOST_NUMBERS];
    uint32_t n_scales = list_scales(l, p, scales);

    for (uint32_t d = 0; d < l->r.directions; d++) {
        params[PARAMS_EACH * d] = padded(c, weights[d].ih.node, weights[d].ih_values);
        params[PARAMS_EACH * d + 1] = padded(c, weights[d].hh.node, weights[d].hh_values);
        params[PARAMS_EACH * d + 2] = nuc_cm_constant(c, weights[d].hh.node, "_rows", NUC_I32, sizes, 2, rows[d]);
    }
    const bool lstm = l->r.op == NUC_OP_LSTM, gru = l->r.op == NUC_OP_GRU;
    struct nuc_arg args[MOST_ARGS];
    uint32_t n = 0;
    args[n++] = nuc_node_arg(nuc_cm_contiguous(c, l->in.node, before));
    for (uint32_t s = 0; s < l->r.n_states; s++)
        args[n++] = state_arg(c, l, s, before);
    args[n++] = nuc_nodes_arg(params, PARAMS_EACH * l->r.directions);
    args[n++] = nuc_bool_arg(l->r.directions == 2);
    args[n++] = nuc_bool_arg(l->r.batch_first);
    args[n++] = nuc_int_arg(p->fraction);
    args[n++] = nuc_ints_arg(scales, n_scales);
    if (!lstm && !gru)
        args[n++] = nuc_bool_arg(l->r.op == NUC_OP_RNN_RELU);
    enum nuc_op op = lstm ? NUC_OP_NUCLEON_LSTM : gru ? NUC_OP_NUCLEON_GRU : NUC_OP_NUCLEON_RNN;
    struct nuc_node *layer = nuc_emit(c->g, before, op, l->node, args, n);
    /* Two states and an input of int16, padded as the weights, a cell state of int32. */
    size_t bytes = (size_t)(4 * ((l->r.hidden + 3) / 4 * 4) + 2 * ((l->r.inputs + 3) / 4 * 4));
    nuc_cm_scratch(c->g, layer, n, bytes + (lstm ? (size_t)l->r.hidden * 4 : 0));
    return layer;
}

bool nuc_cm_lower_recurrent(struct nuc_cm *c, struct nuc_node *node)
{
    struct weights weights[2];
    int32_t *rows[2] = {NULL, NULL};
    struct products p;
    struct layer l;

    if (!nuc_cm_is_own(c) || !read_layer(c, node, &l, weights))
        return false;
    if (!choose_products(c, &l, weights, &p) || !fit_rows(c, &l, weights, &p, rows))
        return false;
    struct nuc_node *before = node->next, *layer = insert_operator(c, &l, weights, &p, rows, before);
    for (uint32_t i = 0; i <= l.r.n_states; i++) {
        struct nuc_node *item = l.items[i] == NULL ? NULL : nuc_insert_getitem(c->g, before, layer, i);
        if (item != NULL && l.is_real[i])
            nuc_replace_uses(c->g, l.items[i], item, NULL);
        else if (item != NULL)
            nuc_cm_replace(c, &l.out[i], item);
    }
    return true;
}
