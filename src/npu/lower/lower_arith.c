/* Operators that go value by value. */
#include <math.h>
#include <string.h>

#include "ir/args.h"
#include "ir/quant.h"
#include "npu/lower/lowering.h"

static bool same_shape(const struct nuc_lt_tensor *a, const struct nuc_lt_tensor *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]) == 0;
}

/* Leading ones up to `rank` dimensions. */
static void extended_shape(const int32_t *shape, uint32_t from_rank, uint32_t rank, int32_t *out)
{
    for (uint32_t i = 0; i < rank - from_rank; i++)
        out[i] = 1;
    memcpy(out + (rank - from_rank), shape, from_rank * sizeof *shape);
}

/*
 * The permutation from a tensor with leading ones in front, whose own dimensions are channels-last when `last`, to
 * channels-last as a whole: LiteRT broadcasts from the innermost dimension, which for torch is width, not channels.
 */
static void broadcast_perm(uint32_t from_rank, uint32_t rank, bool last, int32_t *perm)
{
    int32_t undo[NUC_MAX_RANK], own[NUC_MAX_RANK], to_last[NUC_MAX_RANK];
    uint32_t ones = rank - from_rank;

    nuc_perm_to_last(to_last, rank);
    nuc_perm_to_first(own, from_rank);
    for (uint32_t i = 0; i < rank; i++)
        undo[i] = i < ones || !last ? (int32_t)i : own[i - ones] + (int32_t)ones;
    nuc_perm_apply(perm, undo, to_last, rank);
}

static int32_t broadcast_constant(struct nuc_lowering *l, int32_t x, uint32_t rank)
{
    int32_t shape[NUC_MAX_RANK], perm[NUC_MAX_RANK], result[NUC_MAX_RANK];
    const struct nuc_lt_tensor *t = nuc_ltb_at(l->b, x);

    extended_shape(t->shape, t->rank, rank, shape);
    broadcast_perm(t->rank, rank, nuc_ltb_is_last(l->b, x), perm);
    nuc_perm_apply(result, shape, perm, rank);
    int32_t copy = nuc_ltb_permuted_constant(l->b, x, "", shape, rank, perm);
    nuc_ltb_set_shape(l->b, copy, result, rank);
    return copy;
}

static int32_t broadcast_value(struct nuc_lowering *l, int32_t x, uint32_t rank)
{
    int32_t shape[NUC_MAX_RANK], perm[NUC_MAX_RANK], result[NUC_MAX_RANK];
    uint32_t from_rank = nuc_ltb_at(l->b, x)->rank;

    if (from_rank == rank)
        return x;
    extended_shape(nuc_ltb_at(l->b, x)->shape, from_rank, rank, shape);
    broadcast_perm(from_rank, rank, nuc_ltb_is_last(l->b, x), perm);
    int32_t extended = nuc_ltb_duplicate(l->b, x, "", false);
    nuc_ltb_set_shape(l->b, extended, shape, rank);
    int32_t output = nuc_ltb_duplicate(l->b, extended, "", false);
    nuc_perm_apply(result, shape, perm, rank);
    nuc_ltb_set_shape(l->b, output, result, rank);
    l->b->notes[output].format = NUC_LTB_CHANNELS_LAST;

    nuc_ltb_op(l->b, NUC_LT_RESHAPE, &x, 1, extended)->options.reshape = nuc_lt_list(shape, rank);
    nuc_ltb_transpose(l->b, extended, output, perm);
    return output;
}

/* Makes operands that broadcast line up with a channels-last partner. */
static void align_operands(struct nuc_lowering *l, const struct nuc_node *node, int32_t operands[2], int32_t y)
{
    bool any_last = nuc_ltb_is_last(l->b, y);
    uint32_t rank = nuc_ltb_at(l->b, y)->rank;

    if (same_shape(nuc_ltb_at(l->b, operands[0]), nuc_ltb_at(l->b, operands[1])))
        return;
    for (int i = 0; i < 2; i++)
        any_last = any_last || nuc_ltb_is_last(l->b, operands[i]);
    if (!any_last)
        return;
    for (int i = 0; i < 2; i++) {
        const struct nuc_lt_tensor *t = nuc_ltb_at(l->b, operands[i]);
        if (same_shape(t, nuc_ltb_at(l->b, y)))
            continue;
        if (t->rank > rank)
            nuc_lower_refuse(l, node, "an operand has more dimensions than the result");
        operands[i] = nuc_ltb_is_constant(l->b, operands[i]) ? broadcast_constant(l, operands[i], rank)
                                                             : broadcast_value(l, operands[i], rank);
    }
}

void nuc_lower_binary(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    int32_t operands[2] = {x, nuc_lower_input(l, node, NUC_ARG(ADD, other))};
    int32_t code = l->code;

    if (operands[0] < 0 || operands[1] < 0)
        nuc_lower_refuse(l, node, "it does not have two tensors as operands");
    align_operands(l, node, operands, y);
    struct nuc_lt_op *op = nuc_ltb_op(l->b, code, operands, 2, y);
    op->options.arith.pot_scale_int16 = code == NUC_LT_ADD || code == NUC_LT_SUB;
}

/* 0 - x, with a zero in the quantization of x. */
void nuc_lower_neg(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    if (nuc_ltb_at(l->b, x)->quant.count != 1)
        nuc_lower_refuse(l, node, "its input is not quantized with one scale");
    int32_t zero = nuc_lower_byte(l, "zero", x, 1, nuc_ltb_at(l->b, x)->quant.zero_point[0]);
    struct nuc_lt_op *op = nuc_ltb_op(l->b, NUC_LT_SUB, (const int32_t[]){zero, x}, 2, y);
    op->options.arith.pot_scale_int16 = true;
}

/* One slope, or one per channel: the last dimension of a channels-last tensor and of one of rank 2. */
void nuc_lower_prelu(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    int32_t slope = nuc_lower_input(l, node, NUC_ARG(PRELU, weight));

    nuc_ltb_op(l->b, l->code, (const int32_t[]){x, slope}, 2, y);
}

/* ---- functions of one value ---- */

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
