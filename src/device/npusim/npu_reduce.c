/* Reductions over any set of dimensions. */
#include "npu.h"
#include "npu_math.h"

/* Sum, largest and smallest value of one reduced block. */
struct extent {
    int64_t sum;
    int32_t largest, smallest;
};

static struct extent reduce_block(const struct nuc_mc_reduce *d, const int8_t *in)
{
    static const int32_t none[NUC_MC_MAX_RANK] = {0};
    int32_t last = d->reduced_rank - 1;
    struct npu_walk walk = {.rank = last, .shape = d->reduced_shape};
    struct extent e = {0, INT8_MIN, INT8_MAX};
    int64_t at = 0, unused = 0;

    do {
        const int8_t *p = in + at;
        for (int32_t i = 0; i < d->reduced_shape[last]; i++) {
            e.sum += *p;
            e.largest = *p > e.largest ? *p : e.largest;
            e.smallest = *p < e.smallest ? *p : e.smallest;
            p += d->reduced_stride[last];
        }
    } while (npu_step(&walk, &at, d->reduced_stride, &unused, none));
    return e;
}

/*
 * sum * multiplier / divisor * 2^shift, rounded half away from zero, saturated. |sum| < 2^36, multiplier and divisor
 * are 24-bit mantissas, so the numerator stays below 2^60.
 */
static int32_t exact_scale(int64_t sum, int32_t multiplier, int32_t divisor, int32_t shift)
{
    uint64_t numerator = (uint64_t)(sum < 0 ? -sum : sum) * (uint64_t)multiplier;
    uint64_t denominator = (uint64_t)divisor;

    for (; shift > 0 && numerator < (uint64_t)1 << 61; shift--)
        numerator <<= 1;
    for (; shift < 0 && denominator < (uint64_t)1 << 61; shift++)
        denominator <<= 1;
    if (shift < 0)
        return 0;
    uint64_t quotient = numerator / denominator, remainder = numerator % denominator;
    quotient += remainder >= denominator - remainder ? 1u : 0u;
    int32_t magnitude = quotient > 1 << 16 || shift > 0 ? 1 << 16 : (int32_t)quotient;
    if (numerator == 0)
        magnitude = 0;
    return sum < 0 ? -magnitude : magnitude;
}

int32_t npu_reduced_sum(const struct nuc_mc_reduce *d, int64_t sum)
{
    if (nuc_mc_opcode_of(&d->call) == NUC_MC_OP_SUM)
        return exact_scale(sum, d->multiplier, d->divisor, d->shift) + d->output_zero;
    int32_t mean = nuc_requantize((int32_t)(uint32_t)(uint64_t)sum, (struct nuc_multiplier){d->multiplier, d->shift});
    return (int32_t)((uint32_t)mean + (uint32_t)d->output_zero);
}

static int32_t reduced_value(const struct nuc_mc_reduce *d, const struct extent *e, int64_t count)
{
    switch (nuc_mc_opcode_of(&d->call)) {
    case NUC_MC_OP_MEAN:
    case NUC_MC_OP_SUM:
        return npu_reduced_sum(d, e->sum - count * d->input_zero);
    case NUC_MC_OP_REDUCE_MAX:
        return e->largest;
    default:
        return e->smallest;
    }
}

void npu_reduce(const struct nuc_npu_memory *m, const union nuc_mc_record *r)
{
    static const int32_t none[NUC_MC_MAX_RANK] = {0};
    const struct nuc_mc_reduce *d = &r->reduce;
    const int8_t *in = npu_source_i8(m, d->input);
    int8_t *out = npu_target_i8(m, d->output);
    struct npu_walk walk = {.rank = d->rank, .shape = d->shape};
    int64_t at = 0, unused = 0, count = 1;

    for (int32_t i = 0; i < d->reduced_rank; i++)
        count *= d->reduced_shape[i];
    do {
        struct extent e = reduce_block(d, in + at);
        *out++ = (int8_t)nuc_clamp_i32(reduced_value(d, &e, count), d->clamp_min, d->clamp_max);
    } while (npu_step(&walk, &at, d->stride, &unused, none));
}
