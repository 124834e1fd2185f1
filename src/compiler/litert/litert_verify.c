/*
 * Invariants of a LiteRT model. The quantization rules are those of the reference backend's integrity check and of the
 * published int8 specification (ai.google.dev/edge/litert/models/quantization_spec).
 */
#include <math.h>

#include "compiler/litert/litert.h"

#define SUBGRAPH_INPUT (-2)
#define NOT_PRODUCED (-1)

struct verifier {
    struct nuc_lt_model *m;
    const struct nuc_lt_subgraph *s;
    const struct nuc_lt_op *op;
    uint32_t op_index;
};

_Noreturn static void fail(const struct verifier *v, int32_t tensor, const char *rule)
{
    const char *name = tensor >= 0 ? v->s->tensors[tensor].name : "";

    if (v->op == NULL)
        nuc_fail(v->m->cx, NUC_BAD_INPUT, "%s: tensor '%s' (%d): %s: the LiteRT model is inconsistent", v->m->file,
                 name, (int)tensor, rule);
    nuc_fail(v->m->cx, NUC_BAD_INPUT, "%s: operator %u (%s), tensor '%s' (%d): %s: the LiteRT model is inconsistent",
             v->m->file, v->op_index, nuc_lt_code_name(v->m->cx, v->op->code), name, (int)tensor, rule);
}

static void check_index(const struct verifier *v, int32_t tensor, bool optional)
{
    if (tensor >= (int64_t)v->s->n_tensors || tensor < (optional ? -1 : 0))
        nuc_fail(v->m->cx, NUC_BAD_INPUT, "%s: tensor %d is used, but the LiteRT model has %u", v->m->file, (int)tensor,
                 v->s->n_tensors);
}

/* ---- structure ---- */

static void check_tensor(const struct verifier *v, uint32_t i)
{
    const struct nuc_lt_tensor *t = &v->s->tensors[i];
    int64_t elements = nuc_lt_elements(t);

    if (t->rank > NUC_MAX_RANK || elements < 0)
        fail(v, (int32_t)i, "the shape is impossible");
    if (t->data.data != NULL && t->data.size != 0 && t->data.size != (size_t)elements * nuc_dtype_size(t->dtype))
        fail(v, (int32_t)i, "the data is not as long as shape and type say");
    if (t->quant.count > 1 &&
        (t->quant.axis < 0 || t->quant.axis >= (int64_t)t->rank || (uint32_t)t->shape[t->quant.axis] != t->quant.count))
        fail(v, (int32_t)i, "there is not one scale for each channel");
    for (uint32_t k = 0; k < t->quant.count; k++) {
        if (!isfinite(t->quant.scale[k]) || t->quant.scale[k] < 0)
            fail(v, (int32_t)i, "a scale is negative or not finite");
    }
}

/* Every input is there when its operator runs, and every tensor has one producer. */
static void check_order(struct verifier *v, int32_t *producer)
{
    for (uint32_t i = 0; i < v->op->n_inputs; i++) {
        int32_t t = v->op->inputs[i];
        check_index(v, t, true);
        if (t >= 0 && producer[t] == NOT_PRODUCED && v->s->tensors[t].data.data == NULL &&
            !v->s->tensors[t].is_variable)
            fail(v, t, "is read before it is produced");
    }
    for (uint32_t i = 0; i < v->op->n_outputs; i++) {
        int32_t t = v->op->outputs[i];
        check_index(v, t, false);
        if (producer[t] == SUBGRAPH_INPUT)
            fail(v, t, "an input of the model is written");
        if (producer[t] != NOT_PRODUCED)
            fail(v, t, "has two producers");
        if (v->s->tensors[t].data.data != NULL)
            fail(v, t, "a constant is written");
        producer[t] = (int32_t)v->op_index;
    }
}

/* ---- operands and windows ---- */

#define ANY_NUMBER 255

/* Inputs an operator has; those up to `min` are not optional. Operators without a row are not checked. */
static const struct {
    int32_t code;
    uint8_t min, max;
} operands[] = {
    {NUC_LT_ADD, 2, 2},
    {NUC_LT_AVERAGE_POOL_2D, 1, 1},
    {NUC_LT_CONCATENATION, 1, ANY_NUMBER},
    {NUC_LT_CONV_2D, 2, 3},
    {NUC_LT_DEPTHWISE_CONV_2D, 2, 3},
    {NUC_LT_DEQUANTIZE, 1, 1},
    {NUC_LT_FULLY_CONNECTED, 2, 3},
    {NUC_LT_LOGISTIC, 1, 1},
    {NUC_LT_MAX_POOL_2D, 1, 1},
    {NUC_LT_MUL, 2, 2},
    {NUC_LT_RELU, 1, 1},
    {NUC_LT_RELU_N1_TO_1, 1, 1},
    {NUC_LT_RELU6, 1, 1},
    {NUC_LT_RESHAPE, 1, 2},
    {NUC_LT_RESIZE_BILINEAR, 2, 2},
    {NUC_LT_SOFTMAX, 1, 1},
    {NUC_LT_TANH, 1, 1},
    {NUC_LT_PAD, 2, 2},
    {NUC_LT_TRANSPOSE, 2, 2},
    {NUC_LT_MEAN, 2, 2},
    {NUC_LT_SUB, 2, 2},
    {NUC_LT_SQUEEZE, 1, 1},
    {NUC_LT_STRIDED_SLICE, 4, 4},
    {NUC_LT_EXP, 1, 1},
    {NUC_LT_PRELU, 2, 2},
    {NUC_LT_MAXIMUM, 2, 2},
    {NUC_LT_MINIMUM, 2, 2},
    {NUC_LT_PADV2, 3, 3},
    {NUC_LT_SLICE, 3, 3},
    {NUC_LT_TRANSPOSE_CONV, 3, 4},
    {NUC_LT_LOG, 1, 1},
    {NUC_LT_SUM, 2, 2},
    {NUC_LT_RSQRT, 1, 1},
    {NUC_LT_REDUCE_MAX, 2, 2},
    {NUC_LT_REDUCE_MIN, 2, 2},
    {NUC_LT_RESIZE_NEAREST_NEIGHBOR, 2, 2},
    {NUC_LT_LEAKY_RELU, 1, 1},
    {NUC_LT_MIRROR_PAD, 2, 2},
    {NUC_LT_ABS, 1, 1},
    {NUC_LT_QUANTIZE, 1, 1},
    {NUC_LT_HARD_SWISH, 1, 1},
    {NUC_LT_BATCH_MATMUL, 2, 2},
    {NUC_LT_RELU_0_TO_1, 1, 1},
};

static void check_operands(const struct verifier *v)
{
    const struct nuc_lt_op *op = v->op;

    for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++) {
        if (operands[i].code != op->code)
            continue;
        bool too_many = operands[i].max != ANY_NUMBER && op->n_inputs > operands[i].max;
        if (op->n_inputs < operands[i].min || too_many || op->n_outputs != 1)
            nuc_fail(v->m->cx, NUC_BAD_INPUT,
                     "%s: operator %u (%s) has %u inputs and %u outputs: the LiteRT model is inconsistent", v->m->file,
                     v->op_index, nuc_lt_code_name(v->m->cx, op->code), op->n_inputs, op->n_outputs);
        for (uint32_t k = 0; k < operands[i].min; k++) {
            if (op->inputs[k] < 0)
                fail(v, -1, "an input that is not optional was left out");
        }
    }
}

/* A window that does not move or is empty has no result. */
static void check_window(const struct verifier *v)
{
    const union nuc_lt_options *o = &v->op->options;
    int32_t code = v->op->code;
    bool conv = code == NUC_LT_CONV_2D || code == NUC_LT_DEPTHWISE_CONV_2D || code == NUC_LT_TRANSPOSE_CONV;
    bool pool = code == NUC_LT_AVERAGE_POOL_2D || code == NUC_LT_MAX_POOL_2D;

    if (conv && (o->conv.stride_h < 1 || o->conv.stride_w < 1 || o->conv.dilation_h < 1 || o->conv.dilation_w < 1))
        fail(v, v->op->outputs[0], "stride and dilation must be positive");
    if (pool && (o->pool.stride_h < 1 || o->pool.stride_w < 1 || o->pool.filter_h < 1 || o->pool.filter_w < 1))
        fail(v, v->op->outputs[0], "stride and filter must be positive");
}

/* ---- quantization ---- */

enum rule_kind {
    RULE_END,
    RULE_SHARED,       /* tensors a and b have one scale and zero point */
    RULE_SHARED_INT8,  /* the same for int8 alone */
    RULE_FIXED,        /* output 0 has this scale, and the zero point for its type */
    RULE_BIAS,         /* input 2 is int32 with the product of the scales of inputs 0 and 1 */
    RULE_WEIGHT_POINT, /* constant weights are symmetric */
};

#define OUT 100 /* operand numbers from here on are outputs */

struct rule {
    enum rule_kind kind;
    uint8_t a, b;
    float scale;
    int64_t point_i8, point_u8;
};

#define MAX_RULES 6
#define SHARED_IN_OUT                                                                                                  \
    {                                                                                                                  \
        {                                                                                                              \
            RULE_SHARED, 0, OUT, 0, 0, 0                                                                               \
        }                                                                                                              \
    }
#define SHARED_ALL                                                                                                     \
    {                                                                                                                  \
        {RULE_SHARED, 0, OUT, 0, 0, 0},                                                                                \
        {                                                                                                              \
            RULE_SHARED, 0, 1, 0, 0, 0                                                                                 \
        }                                                                                                              \
    }

static const struct {
    int32_t code;
    struct rule rules[MAX_RULES];
} rows[] = {
    {NUC_LT_AVERAGE_POOL_2D, SHARED_IN_OUT},
    {NUC_LT_MAX_POOL_2D, SHARED_IN_OUT},
    {NUC_LT_RESHAPE, SHARED_IN_OUT},
    {NUC_LT_RESIZE_BILINEAR, SHARED_IN_OUT},
    {NUC_LT_RESIZE_NEAREST_NEIGHBOR, SHARED_IN_OUT},
    {NUC_LT_SLICE, SHARED_IN_OUT},
    {NUC_LT_SQUEEZE, SHARED_IN_OUT},
    {NUC_LT_TRANSPOSE, SHARED_IN_OUT},
    {NUC_LT_PAD, SHARED_IN_OUT},
    {NUC_LT_GATHER, SHARED_IN_OUT},
    {NUC_LT_GATHER_ND, SHARED_IN_OUT},
    {NUC_LT_TILE, SHARED_IN_OUT},
    {NUC_LT_BROADCAST_TO, SHARED_IN_OUT},
    {NUC_LT_SELECT_V2, {{RULE_SHARED, 1, OUT, 0, 0, 0}, {RULE_SHARED, 1, 2, 0, 0, 0}}},
    {NUC_LT_SCATTER_ND, {{RULE_SHARED, 1, OUT, 0, 0, 0}}},
    {NUC_LT_PADV2, {{RULE_SHARED, 0, OUT, 0, 0, 0}, {RULE_SHARED, 0, 2, 0, 0, 0}}},
    {NUC_LT_MAXIMUM, SHARED_ALL},
    {NUC_LT_MINIMUM, SHARED_ALL},
    {NUC_LT_CONCATENATION,
     {{RULE_SHARED_INT8, 0, OUT, 0, 0, 0},
      {RULE_SHARED_INT8, 0, 1, 0, 0, 0},
      {RULE_SHARED_INT8, 0, 2, 0, 0, 0},
      {RULE_SHARED_INT8, 0, 3, 0, 0, 0},
      {RULE_SHARED_INT8, 0, 4, 0, 0, 0}}},
    {NUC_LT_LOGISTIC, {{RULE_FIXED, OUT, 0, 1.0f / 256, -128, 0}}},
    {NUC_LT_SOFTMAX, {{RULE_FIXED, OUT, 0, 1.0f / 256, -128, 0}}},
    {NUC_LT_TANH, {{RULE_FIXED, OUT, 0, 1.0f / 128, 0, 128}}},
    {NUC_LT_L2_NORMALIZATION, {{RULE_FIXED, OUT, 0, 1.0f / 128, 0, 128}}},
    {NUC_LT_LOG_SOFTMAX, {{RULE_FIXED, OUT, 0, 16.0f / 256, 127, 255}}},
    {NUC_LT_CONV_2D, {{RULE_BIAS, 0, 0, 0, 0, 0}}},
    {NUC_LT_DEPTHWISE_CONV_2D, {{RULE_BIAS, 0, 0, 0, 0, 0}}},
    {NUC_LT_FULLY_CONNECTED, {{RULE_BIAS, 0, 0, 0, 0, 0}, {RULE_WEIGHT_POINT, 0, 0, 0, 0, 0}}},
};

/* Index of an operand, or -1 when the operator does not have it. */
static int32_t operand(const struct nuc_lt_op *op, uint32_t which)
{
    if (which >= OUT)
        return which - OUT < op->n_outputs ? op->outputs[which - OUT] : -1;
    return which < op->n_inputs ? op->inputs[which] : -1;
}

/* numpy's allclose with its defaults, which the reference uses. */
static bool close_to(double actual, double expected)
{
    return fabs(actual - expected) <= 1e-8 + 1e-5 * fabs(expected);
}

static void check_shared(const struct verifier *v, const struct rule *rule)
{
    int32_t a = operand(v->op, rule->a);
    int32_t b = operand(v->op, rule->b);

    if (a < 0 || b < 0)
        return;
    const struct nuc_lt_tensor *x = &v->s->tensors[a];
    bool applies = x->dtype == NUC_I8 || (x->dtype == NUC_U8 && rule->kind == RULE_SHARED);
    if (applies && !nuc_lt_quant_equal(&x->quant, &v->s->tensors[b].quant))
        fail(v, b, nuc_format(v->m->cx, "scale and zero point differ from those of tensor '%s'", x->name));
}

static void check_fixed(const struct verifier *v, const struct rule *rule)
{
    int32_t index = operand(v->op, rule->a);

    if (index < 0)
        return;
    const struct nuc_lt_tensor *t = &v->s->tensors[index];
    if (t->quant.count == 0 || (t->dtype != NUC_I8 && t->dtype != NUC_U8))
        return;
    int64_t point = t->dtype == NUC_I8 ? rule->point_i8 : rule->point_u8;
    if (t->quant.count != 1 || !close_to((double)t->quant.scale[0], (double)rule->scale) ||
        t->quant.zero_point[0] != point)
        fail(v, index,
             nuc_format(v->m->cx, "the output must have scale 1/%d and zero point %d", (int)(1 / rule->scale),
                        (int)point));
}

static void check_bias(const struct verifier *v)
{
    int32_t x = operand(v->op, 0);
    int32_t w = operand(v->op, 1);
    int32_t b = operand(v->op, 2);

    if (x < 0 || w < 0 || b < 0 || v->s->tensors[b].quant.count == 0)
        return;
    const struct nuc_lt_quant *qx = &v->s->tensors[x].quant;
    const struct nuc_lt_quant *qw = &v->s->tensors[w].quant;
    const struct nuc_lt_quant *qb = &v->s->tensors[b].quant;
    if (qx->count != 1 || qw->count == 0)
        fail(v, b, "the bias is quantized, but input or weight is not");
    if (v->s->tensors[b].dtype != NUC_I32)
        fail(v, b, "a quantized bias must be int32");
    if (qw->count != 1 && qb->count != 1 && qw->count != qb->count)
        fail(v, b, "bias and weight have different numbers of scales");
    for (uint32_t i = 0; i < (qb->count > qw->count ? qb->count : qw->count); i++) {
        float expected = (float)((double)qx->scale[0] * (double)qw->scale[qw->count == 1 ? 0 : i]);
        if (!close_to((double)expected, (double)qb->scale[qb->count == 1 ? 0 : i]))
            fail(v, b, "the scale of the bias is not the product of the scales of input and weight");
    }
    if (qb->zero_point[0] != 0)
        fail(v, b, "the zero point of the bias is not 0");
}

static void check_weight_point(const struct verifier *v)
{
    int32_t w = operand(v->op, 1);

    if (w < 0 || v->s->tensors[w].data.data == NULL)
        return;
    const struct nuc_lt_tensor *t = &v->s->tensors[w];
    if (t->dtype != NUC_I8 && t->dtype != NUC_U8)
        return;
    for (uint32_t i = 0; i < t->quant.count; i++) {
        if (t->quant.zero_point[i] != (t->dtype == NUC_I8 ? 0 : 128))
            fail(v, w, "constant weights must have zero point 0 (int8) or 128 (uint8)");
    }
}

static void check_rule(const struct verifier *v, const struct rule *rule)
{
    switch (rule->kind) {
    case RULE_END:
        break;
    case RULE_SHARED:
    case RULE_SHARED_INT8:
        check_shared(v, rule);
        break;
    case RULE_FIXED:
        check_fixed(v, rule);
        break;
    case RULE_BIAS:
        check_bias(v);
        break;
    case RULE_WEIGHT_POINT:
        check_weight_point(v);
        break;
    }
}

static void check_quantization(const struct verifier *v)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].code != v->op->code)
            continue;
        for (int k = 0; k < MAX_RULES; k++)
            check_rule(v, &rows[i].rules[k]);
    }
}

static void check_subgraph(struct verifier *v)
{
    struct nuc_arena *outer = nuc_push_arena(v->m->cx);
    int32_t *producer = nuc_alloc_array(v->m->cx, v->s->n_tensors, sizeof *producer);

    for (uint32_t i = 0; i < v->s->n_tensors; i++) {
        check_tensor(v, i);
        producer[i] = NOT_PRODUCED;
    }
    for (uint32_t i = 0; i < v->s->n_inputs; i++) {
        check_index(v, v->s->inputs[i], false);
        producer[v->s->inputs[i]] = SUBGRAPH_INPUT;
    }
    for (v->op_index = 0; v->op_index < v->s->n_ops; v->op_index++) {
        v->op = &v->s->ops[v->op_index];
        check_operands(v);
        check_order(v, producer);
        check_window(v);
        check_quantization(v);
    }
    v->op = NULL;
    for (uint32_t i = 0; i < v->s->n_outputs; i++) {
        check_index(v, v->s->outputs[i], false);
        if (producer[v->s->outputs[i]] == NOT_PRODUCED)
            fail(v, v->s->outputs[i], "an output of the model is produced by no operator");
    }
    nuc_pop_arena(v->m->cx, outer);
}

void nuc_lt_verify(struct nuc_lt_model *m)
{
    for (uint32_t i = 0; i < m->n_subgraphs; i++) {
        struct verifier v = {.m = m, .s = &m->subgraphs[i]};
        check_subgraph(&v);
    }
}
