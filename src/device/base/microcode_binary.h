/*
 * One element of an elementwise operator of the NPU. The simulator calls it for each element; the converter for each
 * of 256 values when one operand is a constant scalar, to make the operator a table. Source of the formulas: LiteRT's
 * int8 reference kernels (add, sub, mul, maximum_minimum, prelu). Freestanding.
 */
#ifndef NUC_DEVICE_BASE_MICROCODE_BINARY_H
#define NUC_DEVICE_BASE_MICROCODE_BINARY_H

#include <stdbool.h>

#include "device/base/fixed_point.h"
#include "device/base/microcode.h"

static inline int32_t nuc_mc_scale_out(const struct nuc_mc_binary *e, int32_t v)
{
    return nuc_requantize(v, (struct nuc_multiplier){e->out_multiplier, e->out_shift});
}

/* Both operands at a common scale, 2^left_shift finer than the larger of the two. */
static inline int32_t nuc_mc_sum_value(const struct nuc_mc_binary *e, int32_t a, int32_t b, bool subtract)
{
    int32_t unit = 1 << e->left_shift;
    int32_t sa = nuc_requantize(a * unit, (struct nuc_multiplier){e->a_multiplier, e->a_shift});
    int32_t sb = nuc_requantize(b * unit, (struct nuc_multiplier){e->b_multiplier, e->b_shift});

    return nuc_mc_scale_out(e, (int32_t)(subtract ? (uint32_t)sa - (uint32_t)sb : (uint32_t)sa + (uint32_t)sb));
}

static inline int32_t nuc_mc_prelu_value(const struct nuc_mc_binary *e, int32_t a, int32_t alpha)
{
    if (a >= 0)
        return nuc_requantize(a, (struct nuc_multiplier){e->a_multiplier, e->a_shift});
    return nuc_mc_scale_out(e, a * alpha);
}

static inline int8_t nuc_mc_binary_value(const struct nuc_mc_binary *e, uint32_t opcode, int8_t qa, int8_t qb)
{
    int32_t a = qa - e->a_zero, b = qb - e->b_zero, v;

    switch (opcode) {
    case NUC_MC_OP_ADD:
        v = nuc_mc_sum_value(e, a, b, false);
        break;
    case NUC_MC_OP_SUB:
        v = nuc_mc_sum_value(e, a, b, true);
        break;
    case NUC_MC_OP_MUL:
        v = nuc_mc_scale_out(e, a * b);
        break;
    case NUC_MC_OP_PRELU:
        v = nuc_mc_prelu_value(e, a, b);
        break;
    case NUC_MC_OP_MAXIMUM:
        return qa > qb ? qa : qb;
    default:
        return qa < qb ? qa : qb;
    }
    return (int8_t)nuc_clamp_i32((int32_t)((uint32_t)v + (uint32_t)e->output_zero), e->clamp_min, e->clamp_max);
}

#endif
