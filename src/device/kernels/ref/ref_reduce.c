#include "device/kernels/ref/ref.h"

static float combine(enum nuc_reduce_op op, float accumulator, float value)
{
    switch (op) {
    case NUC_REDUCE_MAX:
        return value != value || value > accumulator ? value : accumulator;
    case NUC_REDUCE_MIN:
        return value != value || value < accumulator ? value : accumulator;
    case NUC_REDUCE_PROD:
        return accumulator * value;
    case NUC_REDUCE_SUM:
    case NUC_REDUCE_MEAN:
    case NUC_REDUCE_ANY:
    default:
        return accumulator + value;
    }
}

static float combine_row(enum nuc_reduce_op op, float accumulator, const float *in, int32_t count, ptrdiff_t step)
{
    if (op == NUC_REDUCE_SUM || op == NUC_REDUCE_MEAN) {
        for (; count > 0; count--, in += step)
            accumulator += *in;
    }
    for (; count > 0; count--, in += step)
        accumulator = combine(op, accumulator, *in);
    return accumulator;
}

/* The accumulator starts with the first element. A single row, of which there may be many, is not walked. */
static float reduce_one(enum nuc_reduce_op op, const struct nuc_loops *reduced, const float *in, size_t *count)
{
    const ptrdiff_t step = nuc_row_steps(reduced).a;
    const int32_t row = nuc_row_length(reduced);
    float accumulator = combine_row(op, in[0], in + step, row - 1, step);

    *count = (size_t)row;
    if (reduced->rank <= 1)
        return accumulator;
    for (struct nuc_walk walk = {{0}, 0, 0, 0}; nuc_walk_next_row(reduced, &walk); *count += (size_t)row)
        accumulator = combine_row(op, accumulator, in + walk.a, row, step);
    return accumulator;
}

void nuc_kernel_reduce_f32(enum nuc_reduce_op op, const struct nuc_loops *kept, const struct nuc_loops *reduced,
                           const float *in, float *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};

    do {
        size_t count;
        float value = reduce_one(op, reduced, in + walk.a, &count);
        out[walk.out] = op == NUC_REDUCE_MEAN ? value / (float)count : value;
    } while (nuc_walk_next(kept, &walk));
}

static int32_t extreme_of_row(int32_t sign, int32_t extreme, const int8_t *in, int32_t count, ptrdiff_t step)
{
    for (; count > 0; count--, in += step)
        extreme = sign * *in > extreme ? sign * *in : extreme;
    return extreme;
}

/* The smallest is the largest of the negated ones. */
static int8_t extreme_one(bool largest, const struct nuc_loops *reduced, const int8_t *in)
{
    const ptrdiff_t step = nuc_row_steps(reduced).a;
    const int32_t row = nuc_row_length(reduced), sign = largest ? 1 : -1;
    int32_t extreme = extreme_of_row(sign, sign * in[0], in + step, row - 1, step);

    if (reduced->rank > 1) {
        for (struct nuc_walk walk = {{0}, 0, 0, 0}; nuc_walk_next_row(reduced, &walk);)
            extreme = extreme_of_row(sign, extreme, in + walk.a, row, step);
    }
    return (int8_t)(sign * extreme);
}

void nuc_kernel_extreme_s8(bool largest, const struct nuc_loops *kept, const struct nuc_loops *reduced,
                           const int8_t *in, int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};

    do
        out[walk.out] = extreme_one(largest, reduced, in + walk.a);
    while (nuc_walk_next(kept, &walk));
}
