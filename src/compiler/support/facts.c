#include "compiler/support/facts.h"

#include <stdarg.h>
#include <stdio.h>

#include "host/text.h"

/* ---- quantization ---- */

static double number_of(const struct nuc_arg *a, double fallback)
{
    if (a->kind == NUC_ARG_FLOAT)
        return a->u.f;
    return a->kind == NUC_ARG_INT ? (double)a->u.i : fallback;
}

static int64_t integer_of(const struct nuc_arg *a)
{
    return a->kind == NUC_ARG_INT ? a->u.i : 0;
}

/* `quantized` is the node that holds the quantized tensor. */
static bool read_parameters(const struct nuc_node *node, const struct nuc_node *quantized, bool per_channel,
                            struct quant *out)
{
    uint32_t range = per_channel ? 4 : 3; /* position of quant_min */

    if (quantized == NULL || quantized->n_vals == 0)
        return false;
    *out = (struct quant){.per_channel = per_channel, .dtype = quantized->vals[0].dtype};
    if (per_channel) {
        out->scales = nuc_arg_node(node, 1);
        out->zero_points = nuc_arg_node(node, 2);
    } else {
        out->scale = number_of(&node->args[1], 0.0);
        out->zero_point = integer_of(&node->args[2]);
    }
    out->quant_min = integer_of(&node->args[range]);
    out->quant_max = integer_of(&node->args[range + 1]);
    return true;
}

bool nuc_dequantize_quant(const struct nuc_node *node, struct quant *out)
{
    if (node == NULL || !nuc_is_dequantize(node))
        return false;
    return read_parameters(node, nuc_arg_node(node, 0), node->op == NUC_OP_DEQUANTIZE_PER_CHANNEL, out);
}

bool nuc_quantize_quant(const struct nuc_node *node, struct quant *out)
{
    if (node == NULL || !nuc_is_quantize(node))
        return false;
    return read_parameters(node, node, node->op == NUC_OP_QUANTIZE_PER_CHANNEL, out);
}

bool nuc_input_quant(const struct nuc_node *node, uint32_t index, struct quant *out)
{
    return nuc_dequantize_quant(nuc_arg_node(node, index), out);
}

bool nuc_output_quant(const struct nuc_node *node, uint32_t index, struct quant *out)
{
    const struct nuc_node *selected = NULL;

    if (node->n_users == 1 && nuc_is_quantize(node->users[0]))
        return index == 0 && nuc_quantize_quant(node->users[0], out);
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        if (user->op != NUC_OP_GETITEM)
            return false;
        if (integer_of(&user->args[1]) != (int64_t)index)
            continue;
        if (selected != NULL)
            return false;
        selected = user;
    }
    return selected != NULL && selected->n_users == 1 && nuc_quantize_quant(selected->users[0], out);
}

bool nuc_same_parameters(const struct quant *a, const struct quant *b)
{
    if (a->per_channel != b->per_channel)
        return false;
    if (a->per_channel)
        return a->scales == b->scales && a->zero_points == b->zero_points;
    return !(a->scale < b->scale) && !(a->scale > b->scale) && a->zero_point == b->zero_point;
}

bool nuc_is_8bit(enum nuc_dtype dtype)
{
    return dtype == NUC_I8 || dtype == NUC_U8;
}

/* ---- static data ---- */

bool nuc_is_effectively_static(const struct nuc_node *node)
{
    if (node == NULL)
        return false;
    if (nuc_is_static(node))
        return true;
    const struct nuc_node *source = nuc_is_dequantize(node) ? nuc_arg_node(node, 0) : NULL;
    return source != NULL && nuc_is_static(source);
}

bool nuc_is_static_weight(const struct nuc_node *node)
{
    const struct nuc_node *quantize = node != NULL && nuc_is_dequantize(node) ? nuc_arg_node(node, 0) : NULL;
    const struct nuc_node *permute = quantize != NULL && nuc_is_quantize(quantize) ? nuc_arg_node(quantize, 0) : NULL;

    if (permute != NULL && permute->op == NUC_OP_EDGE_PERMUTE)
        return nuc_is_effectively_static(nuc_arg_node(permute, 0));
    return nuc_is_effectively_static(node);
}

/* ---- arguments ---- */

const struct nuc_meta *nuc_input_meta(const struct nuc_node *node, uint32_t index)
{
    static const struct nuc_meta none = {.rank = 0};
    const struct nuc_node *input = nuc_arg_node(node, index);

    return input != NULL && input->n_vals > 0 ? &input->vals[0] : &none;
}

struct distinct {
    const struct nuc_node **out;
    uint32_t max, count;
};

static void add_distinct(void *user, struct nuc_node *input)
{
    struct distinct *d = user;

    for (uint32_t i = 0; i < d->count && i < d->max; i++) {
        if (d->out[i] == input)
            return;
    }
    if (d->count < d->max)
        d->out[d->count] = input;
    d->count++;
}

uint32_t nuc_distinct_inputs(const struct nuc_node *node, const struct nuc_node **out, uint32_t max)
{
    struct distinct d = {out, max, 0};

    nuc_for_each_input(node, add_distinct, &d);
    return d.count;
}

struct pair nuc_arg_pair(const struct nuc_node *node, uint32_t index, struct pair fallback)
{
    if (index >= node->n_args)
        return fallback;
    const struct nuc_arg *a = &node->args[index];
    if (a->kind == NUC_ARG_INT)
        return (struct pair){a->u.i, a->u.i};
    if (a->kind != NUC_ARG_INTS || a->count == 0)
        return fallback;
    return (struct pair){a->u.ints[0], a->u.ints[a->count == 1 ? 0 : 1]};
}

double nuc_arg_number(const struct nuc_node *node, uint32_t index, double fallback)
{
    return index < node->n_args ? number_of(&node->args[index], fallback) : fallback;
}

bool nuc_arg_flag(const struct nuc_node *node, uint32_t index)
{
    return index < node->n_args && node->args[index].kind == NUC_ARG_BOOL && node->args[index].u.b;
}

uint32_t nuc_reduced_dims(const struct nuc_node *node)
{
    const struct nuc_arg *dims = &node->args[1];
    uint32_t rank = nuc_input_meta(node, 0)->rank, mask = 0;

    if (dims->kind != NUC_ARG_INTS || dims->count == 0)
        return (1u << rank) - 1;
    for (uint32_t i = 0; i < dims->count; i++) {
        int64_t d = dims->u.ints[i] < 0 ? dims->u.ints[i] + rank : dims->u.ints[i];
        if (d >= 0 && d < rank)
            mask |= 1u << (uint32_t)d;
    }
    return mask;
}

/* ---- reports ---- */

bool nuc_rule_report(const struct nuc_rule_query *q, const char *limit, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    q->verdict->actual = nuc_strdup(q->s->g->cx, text);
    q->verdict->limit = limit;
    return false;
}

bool nuc_rule_advise(const struct nuc_rule_query *q, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    q->verdict->fix = nuc_strdup(q->s->g->cx, text);
    return false;
}

const char *nuc_rule_shape_text(const struct nuc_support *s, const struct nuc_node *node)
{
    struct nuc_text text;

    nuc_text_init(&text, s->g->cx);
    nuc_text_addf(&text, "[");
    for (uint32_t i = 0; node->n_vals > 0 && i < node->vals[0].rank; i++)
        nuc_text_addf(&text, "%s%lld", i == 0 ? "" : ", ", (long long)node->vals[0].sizes[i]);
    nuc_text_addf(&text, "]");
    return nuc_text_string(&text);
}

/* ---- shared rules ---- */

static bool explain_input(const struct nuc_rule_query *q, uint32_t index, const char *limit)
{
    const struct nuc_node *input = nuc_arg_node(q->node, index);
    struct quant found;

    if (input == NULL)
        return nuc_rule_report(q, limit, "argument %u is no tensor", index);
    if (!nuc_dequantize_quant(input, &found))
        return nuc_rule_report(q, limit, "%s, which is not quantized", input->name);
    return nuc_rule_report(q, limit, "%s", nuc_dtype_name(found.dtype));
}

bool nuc_inputs_are_8bit(const struct nuc_rule_query *q)
{
    for (uint32_t i = 0; q->param >> i != 0; i++) {
        struct quant found;
        if ((q->param >> i & 1) != 0 && !(nuc_input_quant(q->node, i, &found) && nuc_is_8bit(found.dtype)))
            return explain_input(q, i, "int8, uint8");
    }
    return true;
}

bool nuc_output_is_8bit(const struct nuc_rule_query *q)
{
    struct quant found;

    if (!nuc_output_quant(q->node, q->param, &found))
        return nuc_rule_report(q, "one quantize q->node", "%u readers, first %s", q->node->n_users,
                               q->node->n_users > 0 ? q->node->users[0]->name : "none");
    return nuc_is_8bit(found.dtype) || nuc_rule_report(q, "int8, uint8", "%s", nuc_dtype_name(found.dtype));
}

/* Only the first input and the first reader count; where either is not quantized there is nothing to compare. */
bool nuc_shares_quantization(const struct nuc_rule_query *q)
{
    const struct nuc_node *first = NULL;
    struct quant in, out;

    if (q->node->n_users == 0 || nuc_distinct_inputs(q->node, &first, 1) == 0)
        return true;
    if (!nuc_dequantize_quant(first, &in) || !nuc_quantize_quant(q->node->users[0], &out) ||
        nuc_same_parameters(&in, &out))
        return true;
    if (in.per_channel || out.per_channel)
        return nuc_rule_report(q, "the same on both sides", "per-channel parameters on one side");
    return nuc_rule_report(q, "the same on both sides", "input %.9g, %lld; output %.9g, %lld", in.scale,
                           (long long)in.zero_point, out.scale, (long long)out.zero_point);
}

bool nuc_one_input_is_whole(const struct nuc_rule_query *q)
{
    const struct nuc_node *inputs[4];
    uint32_t count = nuc_distinct_inputs(q->node, inputs, 4);

    for (uint32_t i = 0; i < count && i < 4; i++) {
        if (inputs[i]->n_vals > 0 && nuc_elements(&inputs[i]->vals[0]) == nuc_elements(&q->node->vals[0]))
            return true;
    }
    return nuc_rule_report(q, nuc_rule_shape_text(q->s, q->node), "inputs %s%s%s",
                           count > 0 ? nuc_rule_shape_text(q->s, inputs[0]) : "none", count > 1 ? " and " : "",
                           count > 1 ? nuc_rule_shape_text(q->s, inputs[1]) : "");
}

bool nuc_input_is_int8(const struct nuc_rule_query *q)
{
    struct quant found;

    return (nuc_input_quant(q->node, q->param, &found) && found.dtype == NUC_I8) || explain_input(q, q->param, "int8");
}

bool nuc_input_is_int32(const struct nuc_rule_query *q)
{
    struct quant found;

    if (nuc_arg_node(q->node, q->param) == NULL)
        return true;
    return (nuc_input_quant(q->node, q->param, &found) && found.dtype == NUC_I32) ||
           explain_input(q, q->param, "int32");
}

bool nuc_weight_is_static(const struct nuc_rule_query *q)
{
    const struct nuc_node *weight = nuc_arg_node(q->node, q->param);

    return nuc_is_static_weight(weight) ||
           nuc_rule_report(q, "a parameter", "%s", weight != NULL ? weight->name : "none");
}

bool nuc_input_is_static(const struct nuc_rule_query *q)
{
    const struct nuc_node *input = nuc_arg_node(q->node, q->param);

    return input == NULL || nuc_is_effectively_static(input) || nuc_rule_report(q, "a parameter", "%s", input->name);
}

bool nuc_is_alone(const struct nuc_support *s, const struct nuc_node *node)
{
    int32_t partition = s->partitions->of[node->id];

    return partition >= 0 && s->partitions->n_compute[partition] == 1;
}
