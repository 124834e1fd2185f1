#include "npu/support/rules.h"

#include <stdarg.h>
#include <stdio.h>

#include "host/text.h"

/* ---- reports ---- */

__attribute__((format(printf, 2, 0))) static const char *text_of(const struct nuc_rule_query *q, const char *format,
                                                                 va_list args)
{
    char text[256];

    vsnprintf(text, sizeof text, format, args);
    return nuc_strdup(q->s->g->cx, text);
}

const char *nuc_rule_text(const struct nuc_rule_query *q, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *text = text_of(q, format, args);
    va_end(args);
    return text;
}

bool nuc_rule_report(const struct nuc_rule_query *q, const char *limit, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    q->verdict->actual = text_of(q, format, args);
    va_end(args);
    q->verdict->limit = limit;
    return false;
}

bool nuc_rule_report_pair(const struct nuc_rule_query *q, const char *limit, struct nuc_pair found)
{
    return nuc_rule_report(q, limit, "%lld x %lld", (long long)found.h, (long long)found.w);
}

const char *nuc_rule_shape_text(const struct nuc_rule_query *q, const struct nuc_node *node)
{
    return node->n_vals > 0 ? nuc_sizes_text(q->s->g->cx, node->vals[0].sizes, node->vals[0].rank) : "[]";
}

static bool is_within(struct nuc_extent e, int64_t limit)
{
    int64_t product = 1;

    for (uint32_t i = 0; i < e.n; i++) {
        if (e.product ? __builtin_mul_overflow(product, e.of[i], &product) : e.of[i] > limit)
            return false;
    }
    return e.n == 0 || product <= limit;
}

bool nuc_rule_within(const struct nuc_rule_query *q, struct nuc_extent e, int64_t limit)
{
    struct nuc_text found = {.cx = q->s->g->cx};

    if (is_within(e, limit))
        return true;
    for (uint32_t i = 0; i < e.n; i++)
        nuc_text_addf(&found, "%s%lld", i == 0 ? "" : " x ", (long long)e.of[i]);
    return nuc_rule_report(q, nuc_rule_text(q, "%lld", (long long)limit), "%s", nuc_text_string(&found));
}

/* ---- shared rules ---- */

static bool explain_input(const struct nuc_rule_query *q, uint32_t index, const char *limit)
{
    const struct nuc_node *input = nuc_arg_node(q->node, index);
    struct nuc_quant found;

    if (input == NULL)
        return nuc_rule_report(q, limit, "argument %u is not a tensor", index);
    if (!nuc_dequantize_quant(input, &found))
        return nuc_rule_report(q, limit, "%s, which is not quantized", input->name);
    return nuc_rule_report(q, limit, "%s", nuc_dtype_name(found.dtype));
}

bool nuc_inputs_are_8bit(const struct nuc_rule_query *q)
{
    for (uint32_t i = 0; q->param >> i != 0; i++) {
        struct nuc_quant found;
        if ((q->param >> i & 1) != 0 && !(nuc_input_quant(q->node, i, &found) && nuc_is_8bit(found.dtype)))
            return explain_input(q, i, "int8, uint8");
    }
    return true;
}

bool nuc_output_is_8bit(const struct nuc_rule_query *q)
{
    struct nuc_quant found;

    if (!nuc_output_quant(q->node, q->param, &found))
        return nuc_rule_report(q, "one quantize q->node", "%u readers, first %s", q->node->n_users,
                               q->node->n_users > 0 ? q->node->users[0]->name : "none");
    return nuc_is_8bit(found.dtype) || nuc_rule_report(q, "int8, uint8", "%s", nuc_dtype_name(found.dtype));
}

/* Only the first input and the first reader count; where either is not quantized there is nothing to compare. */
bool nuc_shares_quantization(const struct nuc_rule_query *q)
{
    const struct nuc_node *first = NULL;
    struct nuc_quant in, out;

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

/* The first reader counts. */
bool nuc_all_share_quantization(const struct nuc_rule_query *q)
{
    struct nuc_cursor at = {0, 0};
    struct nuc_quant out, in;
    uint32_t i = 0;

    if (q->node->n_users == 0 || !nuc_quantize_quant(q->node->users[0], &out))
        return nuc_rule_report(q, "a quantize node", "a result that is not quantized");
    for (const struct nuc_node *input; (input = nuc_next_input(q->node, &at)) != NULL; i++) {
        if (!nuc_dequantize_quant(input, &in))
            return nuc_rule_report(q, "a dequantize node", "input %u is not quantized", i);
        if (!nuc_same_parameters(&in, &out) || in.dtype != out.dtype)
            return nuc_rule_report(q, nuc_rule_text(q, "%.9g, %lld", out.scale, (long long)out.zero_point),
                                   "input %u: %.9g, %lld", i, in.scale, (long long)in.zero_point);
    }
    return true;
}

bool nuc_one_input_is_whole(const struct nuc_rule_query *q)
{
    const struct nuc_node *inputs[4];
    uint32_t count = nuc_distinct_inputs(q->node, inputs, 4);

    for (uint32_t i = 0; i < count && i < 4; i++) {
        if (inputs[i]->n_vals > 0 && nuc_elements(&inputs[i]->vals[0]) == nuc_elements(&q->node->vals[0]))
            return true;
    }
    return nuc_rule_report(q, nuc_rule_shape_text(q, q->node), "inputs %s%s%s",
                           count > 0 ? nuc_rule_shape_text(q, inputs[0]) : "none", count > 1 ? " and " : "",
                           count > 1 ? nuc_rule_shape_text(q, inputs[1]) : "");
}

/* Of each channel where each has one. */
static bool has_zero_points_of_zero(const struct nuc_rule_query *q, const struct nuc_quant *quant)
{
    if (!quant->per_channel || quant->zero_points == NULL || !nuc_is_static(quant->zero_points))
        return quant->zero_point == 0;
    const uint8_t *bytes = nuc_const_contiguous(q->s->g, quant->zero_points);
    for (size_t i = 0, n = nuc_bytes(&quant->zero_points->vals[0]); i < n; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

bool nuc_input_is_weight(const struct nuc_rule_query *q)
{
    struct nuc_quant found;

    if (!nuc_input_quant(q->node, q->param, &found) || found.dtype != NUC_I8)
        return explain_input(q, q->param, "int8");
    return has_zero_points_of_zero(q, &found) ||
           nuc_rule_report(q, "0", "another zero point, as of an affine quantization");
}

bool nuc_input_is_int32(const struct nuc_rule_query *q)
{
    struct nuc_quant found;

    if (nuc_arg_node(q->node, q->param) == NULL)
        return true;
    return (nuc_input_quant(q->node, q->param, &found) && found.dtype == NUC_I32) ||
           explain_input(q, q->param, "int32");
}

/* In sdk-3.1 the permutation of a weight belongs to the product's cluster; elsewhere it is quantized and never here. */
bool nuc_weight_is_static(const struct nuc_rule_query *q)
{
    const struct nuc_node *weight = nuc_arg_node(q->node, q->param);

    if (weight != NULL && weight->op == NUC_OP_PERMUTE)
        weight = nuc_arg_node(weight, NUC_SELF);
    return nuc_is_static_weight(weight) ||
           nuc_rule_report(q, "a parameter", "%s", weight != NULL ? weight->name : "none");
}

bool nuc_input_is_static(const struct nuc_rule_query *q)
{
    const struct nuc_node *input = nuc_arg_node(q->node, q->param);

    return input == NULL || nuc_is_effectively_static(input) || nuc_rule_report(q, "a parameter", "%s", input->name);
}

bool nuc_has_distinct_inputs(const struct nuc_rule_query *q)
{
    const struct nuc_node *inputs[4];
    uint32_t count = nuc_distinct_inputs(q->node, inputs, 4);

    return count == q->param || nuc_rule_report(q, nuc_rule_text(q, "%u", q->param), "%u", count);
}

bool nuc_has_rank(const struct nuc_rule_query *q)
{
    uint32_t index = q->param >> 8, expected = q->param & 255;
    uint32_t rank = index == 255 ? q->node->vals[0].rank : nuc_input_meta(q->node, index)->rank;

    return rank == expected || nuc_rule_report(q, nuc_rule_text(q, "%u", expected), "%u", rank);
}

bool nuc_flag_is_false(const struct nuc_rule_query *q)
{
    return !nuc_flag(q->node, q->param) || nuc_rule_report(q, "false", "true");
}

bool nuc_alpha_is_one(const struct nuc_rule_query *q)
{
    double alpha = nuc_scalar(q->node, NUC_ARG(ADD, alpha), 1.0);

    return nuc_numbers_equal(alpha, 1.0) || nuc_rule_report(q, "1", "%g", alpha);
}

/* ---- limits of a softmax: channels, and the product of all other dimensions (saturates) ---- */

static int64_t rows_of(const struct nuc_node *node)
{
    uint32_t channels = nuc_channels_dim(node);
    int64_t rows = 1;

    for (uint32_t i = 0; i < node->vals[0].rank; i++) {
        if (i != channels && __builtin_mul_overflow(rows, node->vals[0].sizes[i], &rows))
            return INT64_MAX;
    }
    return rows;
}

struct nuc_extent nuc_softmax_channels(const struct nuc_rule_query *q)
{
    return (struct nuc_extent){1, false, {nuc_channels_of(q->node)}};
}

struct nuc_extent nuc_softmax_rows(const struct nuc_rule_query *q)
{
    return (struct nuc_extent){1, false, {rows_of(q->node)}};
}

struct nuc_extent nuc_softmax_elements(const struct nuc_rule_query *q)
{
    return (struct nuc_extent){2, true, {nuc_channels_of(q->node), rows_of(q->node)}};
}
