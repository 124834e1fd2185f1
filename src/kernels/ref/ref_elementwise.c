#include <math.h>

#include "kernels/ref/ref.h"

/* ---- operators of two values ---- */

static float add_f32(float a, float b)
{
    return a + b;
}

static int64_t add_i64(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

const struct nuc_binary nuc_binary_add = {add_f32, add_i64};

static float sub_f32(float a, float b)
{
    return a - b;
}

static int64_t sub_i64(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

const struct nuc_binary nuc_binary_sub = {sub_f32, sub_i64};

static float mul_f32(float a, float b)
{
    return a * b;
}

static int64_t mul_i64(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

const struct nuc_binary nuc_binary_mul = {mul_f32, mul_i64};

static float div_f32(float a, float b)
{
    return a / b;
}

/* Of integers it would give a float. */
const struct nuc_binary nuc_binary_div = {div_f32, NULL};

/* NaN wins. */
static float maximum_f32(float a, float b)
{
    if (a != a || b != b)
        return a != a ? a : b;
    return a < b ? b : a;
}

static int64_t maximum_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

const struct nuc_binary nuc_binary_maximum = {maximum_f32, maximum_i64};

static float minimum_f32(float a, float b)
{
    if (a != a || b != b)
        return a != a ? a : b;
    return b < a ? b : a;
}

static int64_t minimum_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

const struct nuc_binary nuc_binary_minimum = {minimum_f32, minimum_i64};

void nuc_ref_binary_f32(const struct nuc_binary *op, const struct nuc_loops *loops, float alpha, const float *a,
                        const float *b, float *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    uint32_t last = loops->rank == 0 ? 0 : loops->rank - 1;
    ptrdiff_t step_a = loops->rank == 0 ? 0 : loops->a[last];
    ptrdiff_t step_b = loops->rank == 0 ? 0 : loops->b[last];
    ptrdiff_t step_out = loops->rank == 0 ? 0 : loops->out[last];
    int32_t row = nuc_row_length(loops);

    do {
        for (int32_t i = 0; i < row; i++)
            out[walk.out + i * step_out] = op->f32(a[walk.a + i * step_a], alpha * b[walk.b + i * step_b]);
    } while (nuc_walk_next_row(loops, &walk));
}

void nuc_ref_binary_i64(const struct nuc_binary *op, const struct nuc_loops *loops, int64_t alpha, const int64_t *a,
                        const int64_t *b, int64_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    uint32_t last = loops->rank == 0 ? 0 : loops->rank - 1;
    ptrdiff_t step_a = loops->rank == 0 ? 0 : loops->a[last];
    ptrdiff_t step_b = loops->rank == 0 ? 0 : loops->b[last];
    ptrdiff_t step_out = loops->rank == 0 ? 0 : loops->out[last];
    int32_t row = nuc_row_length(loops);

    do {
        for (int32_t i = 0; i < row; i++)
            out[walk.out + i * step_out] = op->i64(a[walk.a + i * step_a], mul_i64(alpha, b[walk.b + i * step_b]));
    } while (nuc_walk_next_row(loops, &walk));
}

/* ---- functions of one value ---- */

/* NaN stays. */
float nuc_map_relu(float x)
{
    return x != x || x >= 0.0f ? x : 0.0f;
}

float nuc_map_abs(float x)
{
    return fabsf(x);
}

float nuc_map_neg(float x)
{
    return -x;
}

float nuc_map_exp(float x)
{
    return expf(x);
}

float nuc_map_log(float x)
{
    return logf(x);
}

float nuc_map_sqrt(float x)
{
    return sqrtf(x);
}

float nuc_map_rsqrt(float x)
{
    return 1.0f / sqrtf(x);
}

float nuc_map_atan(float x)
{
    return atanf(x);
}

float nuc_map_sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

float nuc_map_tanh(float x)
{
    return tanhf(x);
}

float nuc_map_gelu(float x)
{
    const double root_half = 0.70710678118654752440;

    if (isinf(x))
        return x > 0.0f ? x : 0.0f;
    return (float)(0.5 * (double)x * (1.0 + erf((double)x * root_half)));
}

/* sqrt(2 / pi) (x + 0.044715 x^3) in float, the rest in double. */
float nuc_map_gelu_tanh(float x)
{
    const float root = (float)(1.41421356237309504880 * 1.12837916709551257390 * 0.5);

    if (isinf(x))
        return x > 0.0f ? x : 0.0f;
    float inner = root * (x + 0.044715f * (x * x * x));
    return (float)(0.5 * (double)x * (1.0 + (double)tanhf(inner)));
}

void nuc_ref_map_f32(nuc_map_fn fn, const float *in, float *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = fn(in[i]);
}

void nuc_ref_leaky_relu_f32(float slope, const float *in, float *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = in[i] >= 0.0f ? in[i] : in[i] * slope;
}

void nuc_ref_clamp_f32(float low, float high, const float *in, float *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = minimum_f32(maximum_f32(in[i], low), high);
}

void nuc_ref_greater_f32(const struct nuc_loops *loops, float threshold, const float *a, bool *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    uint32_t last = loops->rank == 0 ? 0 : loops->rank - 1;
    ptrdiff_t step_a = loops->rank == 0 ? 0 : loops->a[last];
    ptrdiff_t step_out = loops->rank == 0 ? 0 : loops->out[last];
    int32_t row = nuc_row_length(loops);

    do {
        for (int32_t i = 0; i < row; i++)
            out[walk.out + i * step_out] = a[walk.a + i * step_a] > threshold;
    } while (nuc_walk_next_row(loops, &walk));
}
