/*
 * Quantized archives in which what moves values, or takes the greatest of them, gives a result in other parameters than
 * it reads, or reads floats: quantizers observe both sides, or leave a function in front of a concatenation in float.
 * Quantized in front of it instead, the result is the same numbers: each value goes through the same steps, which keep
 * the order of values. The operator has one scale then, which the NPU asks for, and a function in front a table.
 */
#include <math.h>

#include "ir/op_list.h"
#include "ir/quant.h"
#include "rewrite/npu_forms/npu_function.h"
#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

/* ---- moves ---- */

/* Not a pad, which has its number in the result. */
static bool commutes(const struct nuc_node *node)
{
    static const bool families[NUC_FAMILY_COUNT] = {
        [NUC_FAMILY_VIEW] = true, [NUC_FAMILY_PERMUTE] = true, [NUC_FAMILY_SLICE] = true,
        [NUC_FAMILY_COPY] = true, [NUC_FAMILY_CAT] = true,
    };

    return !node->is_tuple && node->n_vals == 1 &&
           (families[nuc_op_family(node->op)] ||
            nuc_op_is_in(node->op, NUC_OPS(NUC_OP_MAX_POOL1D, NUC_OP_MAX_POOL2D, NUC_OP_UPSAMPLE_NEAREST)));
}

/* Int8 parameters that all readers give the result; false: there are none. */
static bool result_quant(const struct nuc_node *node, struct nuc_quant *out)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        struct nuc_quant q;
        if (node->users[i]->op != NUC_OP_QUANTIZE_PER_TENSOR || !nuc_quantize_quant(node->users[i], &q) ||
            q.dtype != NUC_I8 || (i > 0 && !nuc_same_quant(&q, out)))
            return false;
        *out = q;
    }
    return node->n_users > 0;
}

/* What is quantized already, or computed for this operator alone. */
static bool may_quantize(const struct nuc_node *in)
{
    return in->op == NUC_OP_DEQUANTIZE_PER_TENSOR ||
           (nuc_is_call(in) && !in->is_tuple && in->n_users == 1 && !nuc_is_dequantize(in));
}

static bool quantize_inputs(struct nuc_graph *g, struct nuc_node *node, const struct nuc_quant *out)
{
    uint32_t count = nuc_inputs(node, NULL, 0);
    struct nuc_node **inputs = nuc_alloc_array(g->cx, count, sizeof *inputs);
    struct nuc_quant q;
    bool changed = false;

    nuc_inputs(node, inputs, count);
    for (uint32_t i = 0; i < count; i++) {
        if (inputs[i]->vals[0].dtype != NUC_F32 || !may_quantize(inputs[i]))
            return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (nuc_dequantize_quant(inputs[i], &q) && nuc_same_quant(&q, out))
            continue;
        struct nuc_node *quantized = nuc_insert_quant(g, node, NUC_OP_QUANTIZE_PER_TENSOR, inputs[i], out);
        nuc_replace_input(g, node, inputs[i], nuc_insert_quant(g, node, NUC_OP_DEQUANTIZE_PER_TENSOR, quantized, out));
        changed = true;
    }
    return changed;
}

/* ---- floats in front of averages ---- */

/* Whose results have few decades; what a quantizer keeps in float, as a power that is summed up, is none. */
#define ACTIVATIONS                                                                                                    \
    NUC_OPS(NUC_OP_RELU, NUC_OP_RELU6, NUC_OP_HARDTANH, NUC_OP_LEAKY_RELU, NUC_OP_SIGMOID, NUC_OP_TANH,                \
            NUC_OP_HARDSIGMOID, NUC_OP_HARDSWISH, NUC_OP_SILU, NUC_OP_GELU, NUC_OP_ELU, NUC_OP_MISH)

/*
 * Averages that are quantized alone read the value, and perhaps quantize nodes of the same parameters, one of which
 * becomes `quantized`.
 */
static bool is_averaged(const struct nuc_node *node, struct nuc_node **quantized)
{
    struct nuc_quant q, first;
    uint32_t averages = 0;

    *quantized = NULL;
    for (uint32_t i = 0; i < node->n_users; i++) {
        struct nuc_node *user = node->users[i];
        if (user->op == NUC_OP_QUANTIZE_PER_TENSOR && nuc_quantize_quant(user, &q) && q.dtype == NUC_I8 &&
            (*quantized == NULL || nuc_same_quant(&q, &first))) {
            *quantized = user;
            first = q;
            continue;
        }
        if (!nuc_op_is_in(user->op, NUC_OPS(NUC_OP_MEAN_DIM, NUC_OP_AVG_POOL2D, NUC_OP_ADAPTIVE_AVG_POOL2D)) ||
            !result_quant(user, &q))
            return false;
        averages++;
    }
    return averages > 0;
}

/* Averages read what other readers have quantized. */
static void read_quantized(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *quantized)
{
    struct nuc_quant q;

    if (!nuc_quantize_quant(quantized, &q))
        return;
    /* In front of all readers. */
    struct nuc_node *first = nuc_insert_quant(g, node->next, NUC_OP_QUANTIZE_PER_TENSOR, node, &q);
    nuc_replace_uses(g, quantized, first, NULL);
    for (uint32_t i = node->n_users; i > 0; i--) {
        struct nuc_node *user = node->users[i - 1];
        if (!nuc_is_quantize(user))
            nuc_replace_input(g, user, node, nuc_insert_quant(g, user, NUC_OP_DEQUANTIZE_PER_TENSOR, first, &q));
    }
}

/* Of all results that there are; the NPU fixes those of a sigmoid and a tanh. */
static struct nuc_quant quant_of_results(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_quant *in)
{
    struct nuc_quant out = {.axis = -1, .quant_min = INT8_MIN, .quant_max = INT8_MAX, .dtype = NUC_I8};
    float results[256], low = 0, high = 0;

    nuc_evaluate_function(g, node, in, results);
    for (int i = 0; i < 256; i++) {
        low = fminf(low, results[i]);
        high = fmaxf(high, results[i]);
    }
    out.scale = (double)((high - low) / 255);
    if (node->op == NUC_OP_SIGMOID || node->op == NUC_OP_TANH)
        out.scale = node->op == NUC_OP_TANH ? 0x1p-7 : 0x1p-8;
    out.zero_point = node->op == NUC_OP_TANH ? 0 : INT8_MIN - (int64_t)llround((double)low / out.scale);
    return out;
}

/*
 * Averages of floats, which the quantizer left out, as XNNPACK's does those of a hardswish. Where others read the value
 * quantized, averages do, too: they hardly show a rounding. Else a function of an int8 value has 256 results, which say
 * what range it needs.
 */
static bool quantize_averaged(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = nuc_arg_node(node, NUC_SELF), *quantized;
    struct nuc_quant in;

    if (!nuc_op_is_in(node->op, ACTIVATIONS) || node->source->width != NUC_WIDTH_OPEN || node->source->wide != NULL ||
        !is_averaged(node, &quantized))
        return false;
    if (quantized != NULL) {
        read_quantized(g, node, quantized);
        return true;
    }
    if (node->in_place || x == NULL || !nuc_dequantize_quant(x, &in) || in.per_channel || in.dtype != NUC_I8 ||
        nuc_inputs(node, NULL, 0) != 1)
        return false;
    const struct nuc_quant out = quant_of_results(g, node, &in);
    if (!isfinite(out.scale) || !(out.scale > 0))
        return false;
    quantized = nuc_insert_quant(g, node->next, NUC_OP_QUANTIZE_PER_TENSOR, node, &out);
    struct nuc_node *value = nuc_insert_quant(g, quantized->next, NUC_OP_DEQUANTIZE_PER_TENSOR, quantized, &out);
    nuc_replace_uses(g, node, value, quantized);
    return true;
}

bool nuc_quantize_before_moves(struct nuc_graph *g)
{
    bool changed = false;
    struct nuc_quant out;

    for (struct nuc_node *n = g->last; n != NULL; n = n->prev) {
        if (!nuc_is_call(n) || n->is_tuple || n->n_vals != 1)
            continue;
        if (quantize_averaged(g, n) || (commutes(n) && result_quant(n, &out) && quantize_inputs(g, n, &out)))
            changed = true;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}
