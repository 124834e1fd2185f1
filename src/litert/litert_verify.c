/*
 * Invariants of a LiteRT model. The quantization rules are those of the reference backend's integrity check and of the
 * published int8 specification (ai.google.dev/edge/litert/models/quantization_spec).
 */
#include <math.h>

#include "litert/litert_ops.h"

#define SUBGRAPH_INPUT (-2)
#define NOT_PRODUCED (-1)

struct verifier {
    const struct nuc_lt_model *m;
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

/* ---- operands and windows ---- */

#define MANY 255

/* Inputs an operator has; those up to `least` are not optional. Operators with neither are not checked. */
static const struct {
    uint8_t least, most;
} operands[NUC_LT_CODES] = {
#define LT(name, number, type, fields, least, most, ...) [number] = {least, most},
#include "litert/lt_ops.def"
};

static void check_operands(const struct verifier *v)
{
    const struct nuc_lt_op *op = v->op;

    if (op->code < 0 || op->code >= NUC_LT_CODES || operands[op->code].most == 0)
        return;
    uint32_t least = operands[op->code].least, most = operands[op->code].most;
    if (op->n_inputs < least || (most != MANY && op->n_inputs > most) || op->n_outputs != 1)
        nuc_fail(v->m->cx, NUC_BAD_INPUT,
                 "%s: operator %u (%s) has %u inputs and %u outputs: the LiteRT model is inconsistent", v->m->file,
                 v->op_index, nuc_lt_code_name(v->m->cx, op->code), op->n_inputs, op->n_outputs);
    for (uint32_t k = 0; k < least; k++) {
        if (op->inputs[k] < 0)
            fail(v, -1, "an input that is not optional was left out");
    }
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
#define SHARED_PAIR(a, b)                                                                                              \
    {                                                                                                                  \
        RULE_SHARED, a, b, 0, 0, 0                                                                                     \
    }
#define SHARED_PART(k)                                                                                                 \
    {                                                                                                                  \
        RULE_SHARED_INT8, 0, k, 0, 0, 0                                                                                \
    }
#define FIXED_OUT(scale, point_i8, point_u8)                                                                           \
    {                                                                                                                  \
        RULE_FIXED, OUT, 0, scale, point_i8, point_u8                                                                  \
    }

/* Rule sets by the words of lt_ops.def. */
enum rule_set {
    RULES_ANY,
    RULES_SHARED,
    RULES_SHARED_ALL,
    RULES_SHARED_VALUE,
    RULES_SHARED_UPDATES,
    RULES_SHARED_CHOICES,
    RULES_SHARED_PARTS,
    RULES_OUT_256,
    RULES_OUT_128,
    RULES_OUT_16,
    RULES_BIAS,
    RULES_BIAS_AND_WEIGHTS,
};

static const struct rule rule_sets[][MAX_RULES] = {
    [RULES_ANY] = {{RULE_END, 0, 0, 0, 0, 0}},
    [RULES_SHARED] = {SHARED_PAIR(0, OUT)},
    [RULES_SHARED_ALL] = {SHARED_PAIR(0, OUT), SHARED_PAIR(0, 1)},
    [RULES_SHARED_VALUE] = {SHARED_PAIR(0, OUT), SHARED_PAIR(0, 2)},
    [RULES_SHARED_UPDATES] = {SHARED_PAIR(1, OUT)},
    [RULES_SHARED_CHOICES] = {SHARED_PAIR(1, OUT), SHARED_PAIR(1, 2)},
    [RULES_SHARED_PARTS] = {SHARED_PART(OUT), SHARED_PART(1), SHARED_PART(2), SHARED_PART(3), SHARED_PART(4)},
    [RULES_OUT_256] = {FIXED_OUT(1.0f / 256, -128, 0)},
    [RULES_OUT_128] = {FIXED_OUT(1.0f / 128, 0, 128)},
    [RULES_OUT_16] = {FIXED_OUT(16.0f / 256, 127, 255)},
    [RULES_BIAS] = {{RULE_BIAS, 0, 0, 0, 0, 0}},
    [RULES_BIAS_AND_WEIGHTS] = {{RULE_BIAS, 0, 0, 0, 0, 0}, {RULE_WEIGHT_POINT, 0, 0, 0, 0, 0}},
};

static const uint8_t rule_set_of[NUC_LT_CODES] = {
#define LT(name, number, type, fields, least, most, rule, ...) [number] = RULES_##rule,
#include "litert/lt_ops.def"
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

/* Indices, order and producers, which it gives by tensor. */
static int32_t *check_structure(struct verifier *v)
{
    int32_t *producer = nuc_alloc_array(v->m->cx, v->s->n_tensors, sizeof *producer);

    for (uint32_t i = 0; i < v->s->n_tensors; i++)
        producer[i] = NOT_PRODUCED;
    for (uint32_t i = 0; i < v->s->n_inputs; i++) {
        check_index(v, v->s->inputs[i], false);
        producer[v->s->inputs[i]] = SUBGRAPH_INPUT;
    }
    for (v->op_index = 0; v->op_index < v->s->n_ops; v->op_index++) {
        v->op = &v->s->ops[v->op_index];
        /* Inputs are there when operators run, tensors have one producer. One without elements has no data. */
        for (uint32_t i = 0; i < v->op->n_inputs; i++) {
            int32_t t = v->op->inputs[i];
            check_index(v, t, true);
            if (t >= 0 && producer[t] == NOT_PRODUCED && v->s->tensors[t].data.data == NULL &&
                !v->s->tensors[t].is_variable && nuc_lt_elements(&v->s->tensors[t]) != 0)
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
    v->op = NULL;
    for (uint32_t i = 0; i < v->s->n_outputs; i++)
        check_index(v, v->s->outputs[i], false);
    return producer;
}

static void check_subgraph(struct verifier *v)
{
    const int32_t *producer = check_structure(v);

    for (uint32_t i = 0; i < v->s->n_tensors; i++) {
        const struct nuc_lt_tensor *t = &v->s->tensors[i];
        int64_t elements = nuc_lt_elements(t);
        if (t->rank > NUC_MAX_RANK || elements < 0)
            fail(v, (int32_t)i, "the shape is impossible");
        if (t->data.data != NULL && t->data.size != 0 && t->data.size != (size_t)elements * nuc_dtype_size(t->dtype))
            fail(v, (int32_t)i, "the data is not as long as shape and type say");
        if (t->quant.count > 1 && (t->quant.axis < 0 || t->quant.axis >= (int64_t)t->rank ||
                                   (uint32_t)t->shape[t->quant.axis] != t->quant.count))
            fail(v, (int32_t)i, "there is not one scale for each channel");
        for (uint32_t k = 0; k < t->quant.count; k++) {
            if (!isfinite(t->quant.scale[k]) || t->quant.scale[k] < 0)
                fail(v, (int32_t)i, "a scale is negative or not finite");
        }
    }
    for (v->op_index = 0; v->op_index < v->s->n_ops; v->op_index++) {
        v->op = &v->s->ops[v->op_index];
        check_operands(v);
        /* A window that does not move or is empty has no result. */
        struct nuc_lt_fields fields = nuc_lt_fields(v->op->code);
        for (size_t i = 0; i < fields.n; i++) {
            const struct nuc_lt_field *f = &fields.list[i];
            if (f->kind != NUC_LT_FIELD_PAIR)
                continue;
            if (nuc_lt_field_int(&v->op->options, f, 0) < 1 || nuc_lt_field_int(&v->op->options, f, 1) < 1)
                fail(v, v->op->outputs[0], nuc_format(v->m->cx, "%s must be positive", f->text));
        }
        if (v->op->code < 0 || v->op->code >= NUC_LT_CODES)
            continue;
        for (int k = 0; k < MAX_RULES; k++) {
            const struct rule *rule = &rule_sets[rule_set_of[v->op->code]][k];
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
    }
    v->op = NULL;
    for (uint32_t i = 0; i < v->s->n_outputs; i++) {
        if (producer[v->s->outputs[i]] == NOT_PRODUCED)
            fail(v, v->s->outputs[i], "an output of the model is produced by no operator");
    }
}

static void verify(const struct nuc_lt_model *m, bool structure_only)
{
    struct nuc_arena *outer = nuc_push_arena(m->cx);

    for (uint32_t i = 0; i < m->n_subgraphs; i++) {
        struct verifier v = {.m = m, .s = &m->subgraphs[i]};
        if (structure_only)
            check_structure(&v);
        else
            check_subgraph(&v);
    }
    nuc_pop_arena(m->cx, outer);
}

void nuc_lt_verify(const struct nuc_lt_model *m)
{
    verify(m, false);
}

void nuc_lt_verify_structure(const struct nuc_lt_model *m)
{
    verify(m, true);
}
