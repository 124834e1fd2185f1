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

/* The accumulator starts with the first element. */
static float reduce_one(enum nuc_reduce_op op, const struct nuc_loops *reduced, const float *in, size_t *count)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(reduced);
    int32_t row = nuc_row_length(reduced);
    float accumulator = in[0];
    int32_t i = 1;

    *count = 0;
    do {
        if (op == NUC_REDUCE_SUM || op == NUC_REDUCE_MEAN) {
            for (; i < row; i++)
                accumulator += in[walk.a + i * steps.a];
        }
        for (; i < row; i++)
            accumulator = combine(op, accumulator, in[walk.a + i * steps.a]);
        *count += (size_t)row;
        i = 0;
    } while (nuc_walk_next_row(reduced, &walk));
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

static int8_t extreme_one(bool largest, const struct nuc_loops *reduced, const int8_t *in)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(reduced);
    int8_t extreme = in[0];

    do {
        for (int32_t i = 0; i < nuc_row_length(reduced); i++) {
            int8_t value = in[walk.a + i * steps.a];
            if (largest ? value > extreme : value < extreme)
                extreme = value;
        }
    } while (nuc_walk_next_row(reduced, &walk));
    return extreme;
}

void nuc_kernel_extreme_s8(bool largest, const struct nuc_loops *kept, const struct nuc_loops *reduced,
                           const int8_t *in, int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};

    do
        out[walk.out] = extreme_one(largest, reduced, in + walk.a);
    while (nuc_walk_next(kept, &walk));
}
