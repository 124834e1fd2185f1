/* What LiteRT's kernels do with a model before they run: uint8 in terms of int8, shapes that follow from others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tflite_import.h"

/* ---- uint8 ---- */

static bool is_quantized_uint8(const struct nuc_lt_tensor *t)
{
    for (uint32_t k = 0; k < t->quant.count; k++) {
        if (t->quant.zero_point[k] < 0 || t->quant.zero_point[k] > UINT8_MAX)
            return false;
    }
    return t->dtype == NUC_U8 && t->quant.count > 0;
}

/*
 * A quantized uint8 value q stands for what q - 128 stands for in int8: the zero point moves as far, and no kernel of
 * LiteRT tells the two apart but an average pool, which rounds halves upwards in uint8 and away from zero in int8.
 */
static void shift(struct nuc_context *cx, struct nuc_lt_tensor *t)
{
    int64_t *zero_point = nuc_alloc_array(cx, t->quant.count, sizeof *zero_point);

    for (uint32_t k = 0; k < t->quant.count; k++)
        zero_point[k] = t->quant.zero_point[k] - 128;
    t->dtype = NUC_I8;
    t->quant.zero_point = zero_point;
    if (t->data.data == NULL)
        return;
    uint8_t *bytes = nuc_copy(cx, t->data.data, t->data.size);
    for (size_t i = 0; i < t->data.size; i++)
        bytes[i] ^= 0x80;
    t->data.data = bytes;
}

static bool has_weights(int32_t code)
{
    return code == NUC_LT_CONV_2D || code == NUC_LT_DEPTHWISE_CONV_2D || code == NUC_LT_FULLY_CONNECTED ||
           code == NUC_LT_TRANSPOSE_CONV;
}

/*
 * Weights about zero, as int8 kernels take them. w - zero_point has nine bits: a channel where eight hold it keeps its
 * steps and is exact, another one gets steps as much larger as it takes, if it `may_round`; if not, nothing is changed
 * where there is one. Returns how many there are.
 */
static uint32_t center(struct nuc_context *cx, struct nuc_lt_tensor *w, uint32_t dim, bool may_round)
{
    uint32_t channels = (uint32_t)w->shape[dim], widened = 0;
    size_t inner = 1, count = w->data.size;
    int8_t *bytes = nuc_alloc_array(cx, count, 1);
    int32_t *most = nuc_alloc_array(cx, channels, sizeof *most);
    float *scale = nuc_alloc_array(cx, channels, sizeof *scale);

    for (uint32_t d = dim + 1; d < w->rank; d++)
        inner *= (size_t)w->shape[d];
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            size_t c = i / inner % channels;
            int32_t value = (int8_t)w->data.data[i] - (int32_t)w->quant.zero_point[0];
            if (pass == 0)
                most[c] = most[c] < abs(value) ? abs(value) : most[c];
            else
                bytes[i] =
                    (int8_t)(most[c] <= INT8_MAX ? (double)value : nearbyint((double)value * INT8_MAX / most[c]));
        }
        for (uint32_t c = 0; pass == 0 && c < channels; c++) {
            bool fits = most[c] <= INT8_MAX;
            scale[c] = fits ? w->quant.scale[0] : (float)((double)w->quant.scale[0] * most[c] / INT8_MAX);
            widened += !fits;
        }
        if (widened > 0 && !may_round)
            return widened;
    }
    uint32_t scales = widened > 0 ? channels : 1;
    w->data.data = (const uint8_t *)bytes;
    w->quant = (struct nuc_lt_quant){scales, scale, nuc_alloc_array(cx, scales, sizeof(int64_t)), (int32_t)dim};
    return widened;
}

/* A bias counts in steps of input times weights, which the channels may have different ones of by now. */
static void fit_bias(struct nuc_context *cx, struct nuc_lt_tensor *b, const struct nuc_lt_tensor *x,
                     const struct nuc_lt_tensor *w, double scale_before)
{
    size_t channels = b->data.size / sizeof(int32_t);
    int32_t *values = nuc_alloc_array(cx, channels, sizeof *values);
    float *scale = nuc_alloc_array(cx, channels, sizeof *scale);

    for (size_t c = 0; c < channels; c++) {
        int32_t value = (int32_t)nuc_load_u32(b->data.data + 4 * c);
        values[c] = (int32_t)nearbyint(value * (scale_before / (double)w->quant.scale[c]));
        scale[c] = (float)((double)x->quant.scale[0] * (double)w->quant.scale[c]);
    }
    b->data.data = (const uint8_t *)values;
    b->quant = (struct nuc_lt_quant){(uint32_t)channels, scale, nuc_alloc_array(cx, channels, sizeof(int64_t)), 0};
}

void nuc_ti_adapt_tensors(struct nuc_ti *ti)
{
    const struct nuc_lt_subgraph *s = ti->s;
    uint32_t widened = 0, shifted = 0;
    bool *is_used = nuc_alloc_array(ti->cx, s->n_tensors, sizeof *is_used);

    ti->was_uint8 = ti->eight_bit_weights ? NULL : nuc_alloc_array(ti->cx, 2 * (size_t)s->n_tensors, sizeof *is_used);

    for (uint32_t i = 0; i < s->n_tensors; i++) {
        struct nuc_lt_tensor *t = &ti->tensors[i];
        if (is_quantized_uint8(t)) {
            if (ti->was_uint8 != NULL)
                ti->was_uint8[i] = true;
            shift(ti->cx, t);
            shifted += nuc_lt_contains(s->inputs, s->n_inputs, (int32_t)i) ||
                       nuc_lt_contains(s->outputs, s->n_outputs, (int32_t)i);
        }
    }
    for (uint32_t k = 0; k < s->n_ops; k++) {
        const struct nuc_lt_op *op = &s->ops[k];
        uint32_t last = op->n_inputs - 1, dim = op->code == NUC_LT_DEPTHWISE_CONV_2D ? 3 : 0; /* of output channels */
        uint32_t data = op->code == NUC_LT_TRANSPOSE_CONV ? 2 : 0;
        if (!has_weights(op->code) || op->n_inputs <= data + 1 || op->inputs[1] < 0 || op->inputs[data] < 0)
            continue;
        struct nuc_lt_tensor *w = &ti->tensors[op->inputs[1]], *x = &ti->tensors[op->inputs[data]];
        bool plain = w->dtype == NUC_I8 && w->quant.count == 1 && w->quant.zero_point[0] != 0 && w->rank > dim &&
                     x->dtype == NUC_I8 && x->quant.count == 1 && x->data.data == NULL && nuc_ti_held(w) > 0 &&
                     w->quant.zero_point[0] >= INT8_MIN && w->quant.zero_point[0] <= INT8_MAX &&
                     w->quant.scale[0] > 0.0f && w->quant.scale[0] < 1e30f;
        /* Weights that two layers share would take the biases of both along. */
        if (!plain || is_used[op->inputs[1]])
            continue;
        is_used[op->inputs[1]] = true;
        double before = (double)w->quant.scale[0];
        bool may_round = ti->eight_bit_weights;
        uint32_t now = center(ti->cx, w, dim, may_round);
        if (!may_round)
            continue;
        struct nuc_lt_tensor *b =
            last > data && last > 1 && op->inputs[last] >= 0 ? &ti->tensors[op->inputs[last]] : NULL;
        if (now > 0 && b != NULL && b->dtype == NUC_I32 && b->data.size == 4 * (size_t)w->quant.count)
            fit_bias(ti->cx, b, x, w, before);
        widened += now;
    }
    if (shifted > 0 && ti->depth == 0)
        nuc_warn(ti->cx, "%s: %u of its inputs and outputs are uint8: the program has int8 there, less 128",
                 ti->m->file, shifted);
    if (widened > 0)
        nuc_warn(
            ti->cx,
            "%s: its uint8 weights have nine bits about their zero point: those of %u channels are rounded to "
            "eight, so results differ from LiteRT's by some steps; without an NPU and --executorch-ops-only none do",
            ti->m->file, widened);
}

/* ---- shapes ---- */

/* A shape under way; rank UINT32_MAX: it does not follow from what is known. */
struct shape {
    uint32_t rank;
    int64_t sizes[NUC_MAX_RANK];
};

static const struct shape unknown = {UINT32_MAX, {0}};

static struct shape shape_of(const struct nuc_lt_tensor *t)
{
    struct shape s = {t->rank, {0}};

    for (uint32_t d = 0; d < t->rank; d++)
        s.sizes[d] = t->shape[d];
    return s;
}

static struct shape integers_of(const struct nuc_ti *ti, uint32_t i)
{
    struct shape s = unknown;

    if (nuc_ti_has(ti, i))
        s.rank = nuc_lt_integers(nuc_ti_in(ti, i), NUC_MAX_RANK, s.sizes);
    return s;
}

/* One size of -1 is what is left of the elements. */
static struct shape reshaped(const struct nuc_ti *ti)
{
    struct shape s = integers_of(ti, 1);
    const struct nuc_lt_list *list = &ti->op->options.reshape;
    int64_t known = 1, elements = nuc_lt_elements(nuc_ti_in(ti, 0));
    uint32_t open = UINT32_MAX;

    if (s.rank == UINT32_MAX && !nuc_ti_has(ti, 1) && list->present) {
        s.rank = list->count;
        for (uint32_t d = 0; d < s.rank; d++)
            s.sizes[d] = list->values[d];
    }
    for (uint32_t d = 0; s.rank != UINT32_MAX && d < s.rank; d++) {
        if (s.sizes[d] == -1 && open == UINT32_MAX)
            open = d;
        else if (s.sizes[d] < 1 || __builtin_mul_overflow(known, s.sizes[d], &known))
            return unknown;
    }
    if (s.rank != UINT32_MAX && open != UINT32_MAX)
        s.sizes[open] = elements / known;
    return s;
}

static struct shape matrix_product(const struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *w = nuc_ti_in(ti, 1);
    struct shape s = shape_of(x);

    if (w->rank != 2 || w->shape[1] < 1 || nuc_lt_elements(x) % w->shape[1] != 0)
        return unknown;
    if (!ti->op->options.fully_connected.keep_num_dims || x->rank == 0)
        return (struct shape){2, {nuc_lt_elements(x) / w->shape[1], w->shape[0]}};
    s.sizes[s.rank - 1] = w->shape[0];
    return s;
}

void nuc_ti_restate(struct nuc_ti *ti)
{
    struct shape s = unknown;

    if (ti->op->n_outputs == 0 || ti->op->n_inputs == 0)
        return;
    for (uint32_t i = 0; i < ti->op->n_inputs && i < 2; i++) {
        if (!nuc_ti_has(ti, i) && !(i == 1 && ti->op->code == NUC_LT_RESHAPE))
            return;
    }
    switch (ti->op->code) {
    case NUC_LT_RESHAPE:
        s = reshaped(ti);
        break;
    case NUC_LT_TRANSPOSE_CONV:
        s = integers_of(ti, 0);
        break;
    case NUC_LT_FULLY_CONNECTED:
        s = matrix_product(ti);
        break;
    default:
        break;
    }
    for (uint32_t k = 0; s.rank != UINT32_MAX && k < ti->op->n_outputs; k++)
        nuc_ti_restate_result(ti, k, s.sizes, s.rank);
}
