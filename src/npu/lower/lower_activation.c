#include <math.h>

#include "ir/args.h"
#include "ir/quant.h"
#include "npu/lower/lowering.h"

/* An operator of one operand whose LiteRT operator has no options. */
void nuc_lower_unary(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    (void)node;
    nuc_ltb_op(l->b, l->code, &x, 1, y);
}

void nuc_lower_leaky_relu(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    struct nuc_lt_op *op = nuc_ltb_op(l->b, l->code, &x, 1, y);

    op->options.leaky_relu.alpha = (float)nuc_scalar(node, NUC_ARG(LEAKY_RELU, negative_slope), 0.01);
}

/* Bounds LiteRT has an operator for; high of HUGE_VAL: none. */
static const struct {
    double low, high;
    int32_t code;
} clips[] = {
#define LT_CLIP(name, number, low, high) {low, high, number},
#include "litert/lt_ops.def"
    {0, HUGE_VAL, NUC_LT_RELU},
};

/* One of MINIMUM or MAXIMUM against the bound, quantized as the input is. */
static void append_bound(struct nuc_lowering *l, const struct nuc_node *node, int32_t code, int32_t x, double bound,
                         int32_t y)
{
    struct nuc_quant quant;

    if (!nuc_dequantize_quant(nuc_arg_node(node, NUC_SELF), &quant) || quant.per_channel)
        nuc_lower_refuse(l, node, "its input is not quantized");
    int64_t q = nuc_lower_quantized(bound, quant.scale, quant.zero_point, quant.quant_min, quant.quant_max);
    int32_t t = nuc_lower_byte(l, code == NUC_LT_MINIMUM ? "max" : "min", x, 1, q);
    nuc_ltb_op(l->b, code, (const int32_t[]){x, t}, 2, y);
}

/* clamp and hardtanh; an infinite bound does not count. */
void nuc_lower_clamp(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    struct nuc_bounds bounds = nuc_bounds_of(node);
    double low = bounds.min, high = bounds.max;
    bool has_low = isfinite(low), has_high = isfinite(high);

    for (size_t i = 0; i < sizeof clips / sizeof clips[0]; i++) {
        if (has_low && nuc_numbers_equal(low, clips[i].low) &&
            nuc_numbers_equal(has_high ? high : HUGE_VAL, clips[i].high)) {
            nuc_ltb_op(l->b, clips[i].code, &x, 1, y);
            return;
        }
    }
    if (!has_low && !has_high)
        nuc_lower_refuse(l, node, "it has no bound");
    nuc_lower_propagate(l, x, y);
    int32_t between = has_low && has_high ? nuc_ltb_duplicate(l->b, x, "", false) : y;
    if (has_high)
        append_bound(l, node, NUC_LT_MINIMUM, x, high, between);
    if (has_low)
        append_bound(l, node, NUC_LT_MAXIMUM, has_high ? between : x, low, y);
}

/* Over the last dimension, which is where channels are: the support rules admit no other. */
void nuc_lower_softmax(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    (void)node;
    nuc_ltb_op(l->b, l->code, &x, 1, y)->options.softmax.beta = 1;
}
