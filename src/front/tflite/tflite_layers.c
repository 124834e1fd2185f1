/* SVDF and LSTM of int8 models, whose integers no other operators express: scales become multipliers, as LiteRT's
 * kernels prepare them. */
#include <math.h>
#include <string.h>

#include "device/base/fixed_point.h"
#include "tflite_import.h"

static float scale_of(const struct nuc_ti *ti, const struct nuc_lt_tensor *t, enum nuc_dtype dtype)
{
    const int64_t zero = t->quant.count == 1 ? t->quant.zero_point[0] : INT64_MAX;

    if (t->dtype != dtype || t->quant.count != 1 || !(t->quant.scale[0] > 0.0f) || !(t->quant.scale[0] < 1e30f) ||
        zero < INT8_MIN || zero > INT8_MAX)
        nuc_ti_fail(ti, "'%s' must be %s with one scale and a zero point of int8", t->name, nuc_dtype_name(dtype));
    return t->quant.scale[0];
}

static int64_t zero_point_of(const struct nuc_lt_tensor *t)
{
    return t->quant.zero_point[0];
}

/* The multiplier and the shift in two numbers. */
static void put(int64_t *numbers, double scale)
{
    const struct nuc_multiplier m = nuc_multiplier_from_scale(scale);

    numbers[0] = m.multiplier;
    numbers[1] = m.shift;
}

/* Its integers; those of the model's inputs behind nodes that say what they stand for. */
static struct nuc_node *quantized_operand(struct nuc_ti *ti, uint32_t i)
{
    struct nuc_node *real = nuc_ti_real(ti, i, NUC_TI_PLAIN);
    struct nuc_node *node = ti->values[ti->op->inputs[i]].nodes[NUC_TI_PLAIN];

    return node == NULL || nuc_is_user_input(node) ? nuc_ti_quantize(ti, real, nuc_ti_in(ti, i)) : node;
}

/* So are those of its outputs. */
static void define_integers(struct nuc_ti *ti, struct nuc_node *node)
{
    const bool is_output = nuc_lt_contains(ti->s->outputs, ti->s->n_outputs, ti->op->outputs[0]);

    nuc_ti_define(ti, is_output ? nuc_ti_dequantize(ti, node, nuc_ti_out(ti)) : node, NUC_TI_PLAIN);
}

/* The operand's integers as they are. */
static struct nuc_node *integers(struct nuc_ti *ti, uint32_t i, const int64_t *sizes, uint32_t rank)
{
    const struct nuc_lt_tensor *t = nuc_ti_in(ti, i);
    const struct nuc_meta meta = nuc_meta_make(t->dtype, sizes, rank);

    if (t->data.data == NULL || nuc_ti_held(t) != nuc_elements(&meta))
        nuc_ti_fail(ti, "'%s' must be a constant of the sizes %s", t->name, nuc_meta_text(ti->cx, &meta));
    return nuc_add_constant(ti->g, "weights", &meta, t->data.data);
}

/* ---- SVDF ---- */

void nuc_ti_integer_svdf(struct nuc_ti *ti, const struct nuc_ti_svdf *z)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, NUC_TI_SVDF_FRAME), *state = nuc_ti_in(ti, NUC_TI_SVDF_STATE);
    const struct nuc_lt_tensor *weights = nuc_ti_in(ti, NUC_TI_SVDF_FEATURES), *y = nuc_ti_out(ti);
    const struct nuc_lt_tensor *times = nuc_ti_in(ti, NUC_TI_SVDF_TIMES);
    const int64_t sizes[3] = {z->batches, z->rows, z->memory}, features[2] = {z->rows, z->features};
    const int64_t filters[2] = {z->rows, z->memory}, units = z->rows / z->rank;
    const enum nuc_dtype wide = state->dtype == NUC_I16 ? NUC_I16 : NUC_I8;
    struct nuc_node *bias = NULL;
    int64_t numbers[7];

    const float of_x = scale_of(ti, x, NUC_I8), of_weights = scale_of(ti, weights, NUC_I8);
    const float of_state = scale_of(ti, state, wide), of_times = scale_of(ti, times, wide);
    put(numbers + 3, (double)(of_x * of_weights / of_state));
    put(numbers + 5, (double)(of_state * of_times / scale_of(ti, y, NUC_I8)));
    numbers[0] = zero_point_of(x);
    numbers[1] = zero_point_of(state);
    numbers[2] = zero_point_of(y);
    if (nuc_ti_has(ti, NUC_TI_SVDF_BIAS) && nuc_ti_in(ti, NUC_TI_SVDF_BIAS)->dtype != NUC_I32)
        nuc_ti_fail(ti, "bias '%s' must be int32", nuc_ti_in(ti, NUC_TI_SVDF_BIAS)->name);
    if (nuc_ti_has(ti, NUC_TI_SVDF_BIAS))
        bias = integers(ti, NUC_TI_SVDF_BIAS, &units, 1);
    struct nuc_node *frame = quantized_operand(ti, NUC_TI_SVDF_FRAME);
    struct nuc_node *before = nuc_ti_state(ti, NUC_TI_SVDF_STATE, sizes, 3);
    struct nuc_node *feature_weights = integers(ti, NUC_TI_SVDF_FEATURES, features, 2);
    struct nuc_node *time_weights = integers(ti, NUC_TI_SVDF_TIMES, filters, 2);
    struct nuc_node *layer = nuc_ti_emit(ti, NUC_OP_NUCLEON_SVDF,
                                         NUC_ARGS(frame, before, feature_weights, time_weights, bias, z->rank,
                                                  nuc_ints_arg(numbers, sizeof numbers / sizeof *numbers)));
    define_integers(ti, nuc_ti_item(ti, layer, 0));
    nuc_ti_set_state(ti, NUC_TI_SVDF_STATE, nuc_ti_item(ti, layer, 1));
}

/* ---- LSTM ---- */

enum { GATES = 4, FROM_X = 0, FROM_H = 8, KEEP = 16, ADD = 18, SHOW = 20, ZERO_POINT = 22, CELL_POWER, CLIP, NUMBERS };

/*
 * The weights of the gates one below the other; what their zero point adds to each row goes to `biases`, a pair for
 * each row.
 */
static struct nuc_node *stacked(struct nuc_ti *ti, uint32_t first, int64_t units, int64_t columns, int64_t zero_point,
                                int64_t *biases)
{
    const int64_t sizes[2] = {GATES * units, columns};
    const struct nuc_meta meta = nuc_meta_make(NUC_I8, sizes, 2);
    uint8_t *bytes = NULL;

    for (uint32_t gate = 0; gate < GATES; gate++) {
        const struct nuc_lt_tensor *t = nuc_ti_in(ti, first + gate);
        scale_of(ti, t, NUC_I8);
        if (t->rank != 2 || t->shape[0] != units || t->shape[1] != columns || units * columns < 1 ||
            nuc_ti_held(t) != units * columns)
            nuc_ti_fail(ti, "'%s' must be a constant with %lld rows of %lld", t->name, (long long)units,
                        (long long)columns);
        bytes = bytes != NULL ? bytes : nuc_alloc_array(ti->cx, GATES, t->data.size);
        memcpy(bytes + gate * t->data.size, t->data.data, t->data.size);
    }
    for (int64_t row = 0; row < GATES * units; row++) {
        int64_t sum = 0;
        for (int64_t k = 0; k < columns; k++)
            sum += (int8_t)bytes[row * columns + k];
        biases[2 * row] = -zero_point * sum;
    }
    return nuc_add_constant(ti->g, "weights", &meta, bytes);
}

/* Those of the gates are added; beside int16 sums have 64 bits. */
static struct nuc_node *add_biases(struct nuc_ti *ti, int64_t units, int64_t *biases)
{
    const enum nuc_dtype dtype = nuc_ti_in(ti, 0)->dtype == NUC_I16 ? NUC_I64 : NUC_I32;
    const int64_t pairs[2] = {GATES * units, 2};
    const struct nuc_meta meta = nuc_meta_make(dtype, pairs, 2);

    for (uint32_t gate = 0; gate < GATES; gate++) {
        const struct nuc_lt_tensor *t = nuc_ti_in(ti, NUC_TI_LSTM_BIASES + gate);
        if (t->dtype != dtype || t->data.data == NULL || nuc_ti_held(t) != units)
            nuc_ti_fail(ti, "bias '%s' must be a constant of %lld %s", t->name, (long long)units,
                        nuc_dtype_name(dtype));
        for (int64_t k = 0; k < units; k++) {
            int64_t *bias = &biases[2 * (gate * units + k)];
            uint64_t of_gate =
                dtype == NUC_I64 ? nuc_load_u64(t->data.data + 8 * k) : nuc_load_u32(t->data.data + 4 * k);
            *bias = (int64_t)((uint64_t)*bias + of_gate);
        }
    }
    if (dtype == NUC_I64)
        return nuc_add_constant(ti->g, "biases", &meta, biases);
    int32_t *narrow = nuc_alloc_array(ti->cx, 2 * GATES * (size_t)units, sizeof *narrow);
    for (int64_t i = 0; i < 2 * GATES * units; i++)
        narrow[i] = (int32_t)(uint32_t)(uint64_t)biases[i];
    return nuc_add_constant(ti->g, "biases", &meta, narrow);
}

static void put_lstm_numbers(struct nuc_ti *ti, int64_t numbers[NUMBERS])
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *h = nuc_ti_in(ti, NUC_TI_LSTM_OUTPUT_STATE);
    const struct nuc_lt_tensor *c = nuc_ti_in(ti, NUC_TI_LSTM_CELL_STATE);
    const enum nuc_dtype wide = x->dtype == NUC_I16 ? NUC_I16 : NUC_I8;
    const float of_x = scale_of(ti, x, wide), of_h = scale_of(ti, h, wide), of_cell = scale_of(ti, c, NUC_I16);
    const double gate_in = ldexp(1, -12), gate_out = ldexp(1, -15), clip = (double)ti->op->options.lstm.cell_clip;

    for (uint32_t gate = 0; gate < GATES; gate++) {
        const float w_x = scale_of(ti, nuc_ti_in(ti, NUC_TI_LSTM_INPUT_WEIGHTS + gate), NUC_I8);
        const float w_h = scale_of(ti, nuc_ti_in(ti, NUC_TI_LSTM_RECURRENT_WEIGHTS + gate), NUC_I8);
        put(numbers + FROM_X + 2 * gate, (double)(of_x * w_x) / gate_in);
        put(numbers + FROM_H + 2 * gate, (double)(of_h * w_h) / gate_in);
        for (uint32_t k = 0; wide == NUC_I16 && k < 2; k++) {
            if (numbers[FROM_X + 2 * gate + k * (FROM_H - FROM_X) + 1] > NUC_MOST_LONG_SHIFT)
                nuc_ti_fail(ti, "has products of gate %u in units above 2^%d", (unsigned)gate,
                            NUC_MOST_LONG_SHIFT - 12);
        }
    }
    put(numbers + KEEP, gate_out * (double)of_cell / (double)of_cell);
    put(numbers + ADD, gate_out * gate_out / (double)of_cell);
    put(numbers + SHOW, gate_out * gate_out / (double)of_h);
    numbers[ZERO_POINT] = zero_point_of(h);
    int power;
    const double mantissa = frexp((double)of_cell, &power);
    numbers[CELL_POWER] = power - 1;
    if (mantissa > 0.5 || numbers[CELL_POWER] < -24 || numbers[CELL_POWER] > 0 || zero_point_of(c) != 0)
        nuc_ti_fail(ti,
                    "the cell '%s' has scale %g and zero point %lld: a power of two from 2^-24 to 1 and 0 are handled",
                    c->name, (double)of_cell, (long long)zero_point_of(c));
    numbers[CLIP] = clip > 0 ? (int64_t)fmin(clip / (double)of_cell, INT16_MAX) : 0;
    if (clip > 0 && numbers[CLIP] < 1)
        nuc_ti_fail(ti, "clips its cell at %g, less than its scale %g", clip, (double)of_cell);
}

void nuc_ti_integer_lstm(struct nuc_ti *ti, const struct nuc_ti_lstm *z)
{
    const int64_t state[3] = {1, z->batches, z->units};
    int64_t numbers[NUMBERS];

    /* What LiteRT's kernels for int8 have, and those of its microcontrollers do not, is handled in float alone. */
    static const struct {
        uint32_t first, count;
        const char *what;
    } absent[] = {{NUC_TI_LSTM_PEEPHOLES, 3, "peepholes"},
                  {NUC_TI_LSTM_PROJECTION, 2, "a projection"},
                  {NUC_TI_LSTM_NORMS, GATES, "norms"}};
    for (size_t k = 0; k < sizeof absent / sizeof *absent; k++) {
        for (uint32_t i = 0; i < absent[k].count; i++) {
            if (nuc_ti_has(ti, absent[k].first + i))
                nuc_ti_fail(ti,
                            "has %s in int8, which LiteRT Micro does not have: convert the model without quantization, "
                            "it is quantized here",
                            absent[k].what);
        }
    }
    put_lstm_numbers(ti, numbers);
    if (z->outputs != z->units)
        nuc_ti_fail(ti, "has %lld results of %lld units", (long long)z->outputs, (long long)z->units);
    struct nuc_node *before = nuc_ti_state(ti, NUC_TI_LSTM_OUTPUT_STATE, state, 3);
    struct nuc_node *cell = nuc_ti_state(ti, NUC_TI_LSTM_CELL_STATE, state, 3);
    int64_t *biases = nuc_alloc_array(ti->cx, 2 * GATES * (size_t)z->units, sizeof *biases);
    const int64_t of_x = zero_point_of(nuc_ti_in(ti, 0)), of_h = numbers[ZERO_POINT];
    struct nuc_node *w_x = stacked(ti, NUC_TI_LSTM_INPUT_WEIGHTS, z->units, z->features, of_x, biases);
    struct nuc_node *w_h = stacked(ti, NUC_TI_LSTM_RECURRENT_WEIGHTS, z->units, z->units, of_h, biases + 1);
    struct nuc_node *x = quantized_operand(ti, 0);
    struct nuc_node *bias = add_biases(ti, z->units, biases);
    struct nuc_node *layer = nuc_ti_emit(
        ti, NUC_OP_NUCLEON_LITERT_LSTM,
        NUC_ARGS(x, before, cell, w_x, w_h, bias, nuc_bool_arg(!z->time_major), nuc_ints_arg(numbers, NUMBERS)));
    define_integers(ti, nuc_ti_item(ti, layer, 0));
    nuc_ti_set_state(ti, NUC_TI_LSTM_OUTPUT_STATE, nuc_ti_item(ti, layer, 1));
    nuc_ti_set_state(ti, NUC_TI_LSTM_CELL_STATE, nuc_ti_item(ti, layer, 2));
}
