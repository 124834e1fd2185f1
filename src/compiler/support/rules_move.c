/* Operators that join, cut, mirror and resample. */
#include <string.h>

#include "compiler/support/facts.h"

/* ---- cat: tensors, dim ---- */

static bool cat_inputs(const struct nuc_rule_query *q)
{
    const struct nuc_arg *list = &q->node->args[0];

    for (uint32_t i = 0; list->kind == NUC_ARG_NODES && i < list->count; i++) {
        struct quant in;
        if (!nuc_dequantize_quant(list->u.nodes[i], &in))
            return nuc_rule_report(q, "int8, uint8", "input %u is not quantized", i);
        if (!nuc_is_8bit(in.dtype))
            return nuc_rule_report(q, "int8, uint8", "input %u is %s", i, nuc_dtype_name(in.dtype));
    }
    return true;
}

const struct nuc_support_rule nuc_cat_target[] = {
    {"all inputs are quantized to int8 or uint8", cat_inputs, 0},
    RULE_OUTPUT_8BIT,
    {NULL, NULL, 0},
};

/* ---- slice_copy: self, dim, start, end ---- */

static bool slice_ends(const struct nuc_rule_query *q)
{
    bool start = q->node->args[2].kind == NUC_ARG_INT, end = q->node->args[3].kind == NUC_ARG_INT;

    return (start && end) || nuc_rule_report(q, "both", start ? "no end" : "no start");
}

const struct nuc_support_rule nuc_slice_target[] = {
    {"start and end are given", slice_ends, 0},
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {NULL, NULL, 0},
};

/* ---- pad: self, pad, mode ---- */

static bool pad_mode(const struct nuc_rule_query *q)
{
    const struct nuc_arg *mode = &q->node->args[2];
    const char *name = mode->kind == NUC_ARG_STRING ? mode->u.string : "constant";

    return strcmp(name, "reflect") == 0 || nuc_rule_report(q, "reflect", "%s", name);
}

const struct nuc_support_rule nuc_reflect_ir[] = {
    {"the padding mirrors the data (mode reflect)", pad_mode, 0},
    {NULL, NULL, 0},
};

/* ---- upsample_bilinear2d: input, output_size, align_corners, scale_factors; upsample_nearest2d without ---- */

/* Factors the hardware interpolates by, along one axis. */
static bool is_factor(int64_t out, int64_t in)
{
    return in > 0 && (out == in || out == 2 * in || out == 4 * in || out == 8 * in);
}

/* param: align_corners is an argument. Aligned, the distances between first and last pixel count. */
static bool upsample_factors(const struct nuc_rule_query *q)
{
    const struct nuc_meta *in = nuc_input_meta(q->node, 0), *out = &q->node->vals[0];
    int64_t less = q->param != 0 && nuc_arg_flag(q->node, 2) ? 1 : 0;

    if (in->rank != 4 || out->rank != 4)
        return nuc_rule_report(q, "4 dimensions", "%u dimensions", in->rank);
    return (is_factor(out->sizes[2] - less, in->sizes[2] - less) &&
            is_factor(out->sizes[3] - less, in->sizes[3] - less)) ||
           nuc_rule_report(q, "1, 2, 4 or 8", "%lld x %lld to %lld x %lld%s", (long long)in->sizes[2],
                           (long long)in->sizes[3], (long long)out->sizes[2], (long long)out->sizes[3],
                           less != 0 ? ", corners aligned" : "");
}

const struct nuc_support_rule nuc_bilinear_target[] = {
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {"height and width grow by 1, 2, 4 or 8", upsample_factors, 1},
    {NULL, NULL, 0},
};

const struct nuc_support_rule nuc_nearest_target[] = {
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {"height and width grow by 1, 2, 4 or 8", upsample_factors, 0},
    {NULL, NULL, 0},
};

static bool upsample_grows(const struct nuc_rule_query *q)
{
    return !nuc_is_alone(q->s, q->node) || !nuc_same_sizes(nuc_input_meta(q->node, 0), &q->node->vals[0]) ||
           nuc_rule_report(q, "", "%s on both sides", nuc_rule_shape_text(q->s, q->node));
}

const struct nuc_support_rule nuc_upsample_partition[] = {
    {"alone in its partition the resampling changes the size", upsample_grows, 0},
    {NULL, NULL, 0},
};
