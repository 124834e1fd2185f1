/* Operators that join, cut, mirror and resample. */
#include <string.h>

#include "npu/support/rules.h"

/* ---- cat: tensors, dim ---- */

const struct nuc_support_rule nuc_cat_ir[] = {RULE_ALL_SHARE_QUANTIZATION, RULES_END};

static bool cat_inputs(const struct nuc_rule_query *q)
{
    const struct nuc_arg *list = nuc_arg_at(q->node, NUC_ARG(CAT, tensors));

    for (uint32_t i = 0; list->kind == NUC_ARG_NODES && i < list->count; i++) {
        struct nuc_quant in;
        if (!nuc_dequantize_quant(list->u.nodes[i], &in))
            return nuc_rule_report(q, "int8, uint8", "input %u is not quantized", i);
        if (!nuc_is_8bit(in.dtype))
            return nuc_rule_report(q, "int8, uint8", "input %u is %s", i, nuc_dtype_name(in.dtype));
    }
    return true;
}

/* ---- slice_copy: self, dim, start, end, step ---- */

static bool slice_step(const struct nuc_rule_query *q)
{
    uint32_t step = NUC_ARG(SLICE, step);

    return !nuc_arg_at(q->node, step)->given ||
           nuc_rule_report(q, "none", "%lld", (long long)nuc_integer(q->node, step, 1));
}

static bool slice_dim(const struct nuc_rule_query *q)
{
    int64_t rank = nuc_input_meta(q->node, NUC_SELF)->rank, dim = nuc_integer(q->node, NUC_ARG(SLICE, dim), 0);

    return (dim < rank && dim >= -rank) || nuc_rule_report(q, "", "%lld", (long long)dim);
}

static bool slice_range(const struct nuc_rule_query *q)
{
    const struct nuc_meta *in = nuc_input_meta(q->node, NUC_SELF);
    int64_t dim = nuc_dim(q->node, NUC_ARG(SLICE, dim), 0, nuc_input_meta(q->node, NUC_SELF)->rank);

    if (dim < 0 || dim >= in->rank)
        return nuc_rule_report(q, "", "dimension %lld", (long long)dim);
    int64_t start = nuc_slice_end(nuc_integer(q->node, NUC_ARG(SLICE, start), 0), in->sizes[dim]);
    int64_t end = nuc_slice_end(nuc_integer(q->node, NUC_ARG(SLICE, end), INT64_MAX), in->sizes[dim]);
    return start < end || nuc_rule_report(q, "", "%lld to %lld", (long long)start, (long long)end);
}

static bool slice_channels(const struct nuc_rule_query *q)
{
    const struct nuc_meta *in = nuc_input_meta(q->node, NUC_SELF);
    int64_t dim = nuc_dim(q->node, NUC_ARG(SLICE, dim), 0, in->rank), step = q->s->target->slice_step;

    if (dim != (int64_t)nuc_channels_dim(q->node))
        return true;
    int64_t start = nuc_slice_end(nuc_integer(q->node, NUC_ARG(SLICE, start), 0), in->sizes[dim]);
    int64_t end = nuc_slice_end(nuc_integer(q->node, NUC_ARG(SLICE, end), INT64_MAX), in->sizes[dim]);
    return (start % step == 0 && end % step == 0) ||
           nuc_rule_report(q, nuc_rule_text(q, "multiples of %lld", (long long)step), "%lld to %lld", (long long)start,
                           (long long)end);
}

const struct nuc_support_rule nuc_slice_ir[] = {
    RULE("there is no step", slice_step, 0),
    RULE("the dimension exists", slice_dim, 0),
    RULE("the slice is not empty", slice_range, 0),
    RULE("channels are cut at multiples of the target's step", slice_channels, 0),
    RULES_END,
};

static bool slice_ends(const struct nuc_rule_query *q)
{
    bool start = nuc_arg_at(q->node, NUC_ARG(SLICE, start))->kind == NUC_ARG_INT;
    bool end = nuc_arg_at(q->node, NUC_ARG(SLICE, end))->kind == NUC_ARG_INT;

    return (start && end) || nuc_rule_report(q, "both", start ? "no end" : "no start");
}

/* ---- pad: self, pad, mode ---- */

static bool pad_mode(const struct nuc_rule_query *q)
{
    const struct nuc_arg *mode = nuc_arg_at(q->node, NUC_ARG(PAD, mode));
    const char *name = mode->kind == NUC_ARG_STRING ? mode->u.string : "constant";

    return strcmp(name, "reflect") == 0 || nuc_rule_report(q, "reflect", "%s", name);
}

/* What is taken off is no padding. */
static bool pads_only(const struct nuc_rule_query *q)
{
    const struct nuc_arg *pads = nuc_arg_at(q->node, NUC_ARG(PAD, pad));

    for (uint32_t i = 0; pads->kind == NUC_ARG_INTS && i < pads->count; i++) {
        if (pads->u.ints[i] < 0)
            return nuc_rule_report(q, "none", "%lld", (long long)pads->u.ints[i]);
    }
    return true;
}

/* ---- upsample_bilinear2d: input, output_size, align_corners, scale_factors; upsample_nearest2d without ---- */

const struct nuc_support_rule nuc_upsample_ir[] = {RULE_RESULT_RANK4, RULES_END};

/* Factors the hardware interpolates by, along one axis. */
static bool is_factor(int64_t out, int64_t in)
{
    return in > 0 && (out == in || out == 2 * in || out == 4 * in || out == 8 * in);
}

/* param: align_corners is an argument. Aligned, the distances between first and last pixel count. */
static bool upsample_factors(const struct nuc_rule_query *q)
{
    const struct nuc_meta *in = nuc_input_meta(q->node, NUC_SELF), *out = &q->node->vals[0];
    int64_t less = q->param != 0 && nuc_flag(q->node, NUC_ARG(UPSAMPLE_BILINEAR, align_corners)) ? 1 : 0;

    if (in->rank != 4 || out->rank != 4)
        return nuc_rule_report(q, "4 dimensions", "%u dimensions", in->rank);
    return (is_factor(out->sizes[2] - less, in->sizes[2] - less) &&
            is_factor(out->sizes[3] - less, in->sizes[3] - less)) ||
           nuc_rule_report(q, "1, 2, 4 or 8", "%lld x %lld to %lld x %lld%s", (long long)in->sizes[2],
                           (long long)in->sizes[3], (long long)out->sizes[2], (long long)out->sizes[3],
                           less != 0 ? ", corners aligned" : "");
}

#define RULE_FACTORS(corners) RULE("height and width grow by 1, 2, 4 or 8", upsample_factors, corners)

static bool upsample_grows(const struct nuc_rule_query *q)
{
    return !nuc_is_alone(q->s, q->node) || !nuc_same_sizes(nuc_input_meta(q->node, NUC_SELF), &q->node->vals[0]) ||
           nuc_rule_report(q, "", "%s on both sides", nuc_rule_shape_text(q, q->node));
}

static const struct nuc_support_rule upsample_partition[] = {
    RULE("alone in its partition the resampling changes the size", upsample_grows, 0),
    RULES_END,
};

/* ---- rows ---- */

const struct nuc_support_row nuc_move_rows[] = {
    {.ops = NUC_OPS(NUC_OP_CAT),
     .no_op = NUC_NO_OP_OF_ONE,
     .ir = nuc_cat_ir,
     .target = RULES(RULE("all inputs are quantized to int8 or uint8", cat_inputs, 0), RULE_OUTPUT_8BIT)},
    {.ops = NUC_OPS(NUC_OP_SLICE),
     .ir = nuc_slice_ir,
     .target = RULES(RULE("start and end are given", slice_ends, 0), RULE_INPUT_8BIT, RULE_OUTPUT_8BIT)},
    {.ops = NUC_OPS(NUC_OP_PAD),
     .ir = RULES(RULE("the padding mirrors the data (mode reflect)", pad_mode, 0),
                 RULE("no padding is negative", pads_only, 0)),
     .target = nuc_unary_target},
    {.ops = NUC_OPS(NUC_OP_UPSAMPLE_BILINEAR),
     .channels_first = true,
     .ir = nuc_upsample_ir,
     .target = RULES(RULE_INPUT_8BIT, RULE_OUTPUT_8BIT, RULE_FACTORS(1)),
     .partition = upsample_partition},
    {.ops = NUC_OPS(NUC_OP_UPSAMPLE_NEAREST),
     .channels_first = true,
     .ir = nuc_upsample_ir,
     .target = RULES(RULE_INPUT_8BIT, RULE_OUTPUT_8BIT, RULE_FACTORS(0)),
     .partition = upsample_partition},
    ROWS_END,
};
