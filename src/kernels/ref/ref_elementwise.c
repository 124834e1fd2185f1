#include <math.h>

#include "kernels/ref/ref.h"

static float maximum(float a, float b)
{
    if (a != a || b != b)
        return a != a ? a : b;
    return a < b ? b : a;
}

static float minimum(float a, float b)
{
    if (a != a || b != b)
        return a != a ? a : b;
    return b < a ? b : a;
}

static float add(float a, float b, float alpha)
{
    return a + alpha * b;
}

static float subtract(float a, float b, float alpha)
{
    return a - alpha * b;
}

static float multiply(float a, float b, float alpha)
{
    (void)alpha;
    return a * b;
}

static float divide(float a, float b, float alpha)
{
    (void)alpha;
    return a / b;
}

static float maximum_of(float a, float b, float alpha)
{
    (void)alpha;
    return maximum(a, b);
}

static float minimum_of(float a, float b, float alpha)
{
    (void)alpha;
    return minimum(a, b);
}

typedef float (*binary_fn)(float a, float b, float alpha);

static const binary_fn binary_functions[NUC_BINARY_COUNT] = {
    [NUC_BINARY_ADD] = add,    [NUC_BINARY_SUB] = subtract,       [NUC_BINARY_MUL] = multiply,
    [NUC_BINARY_DIV] = divide, [NUC_BINARY_MAXIMUM] = maximum_of, [NUC_BINARY_MINIMUM] = minimum_of,
};

void nuc_ref_binary_f32(enum nuc_binary_op op, const struct nuc_loops *loops, float alpha, const float *a,
                        const float *b, float *out)
{
    binary_fn fn = binary_functions[op];
    struct nuc_walk walk = {{0}, 0, 0, 0};
    uint32_t last = loops->rank == 0 ? 0 : loops->rank - 1;
    ptrdiff_t step_a = loops->rank == 0 ? 0 : loops->a[last];
    ptrdiff_t step_b = loops->rank == 0 ? 0 : loops->b[last];
    ptrdiff_t step_out = loops->rank == 0 ? 0 : loops->out[last];
    int32_t row = nuc_row_length(loops);

    do {
        for (int32_t i = 0; i < row; i++)
            out[walk.out + i * step_out] = fn(a[walk.a + i * step_a], b[walk.b + i * step_b], alpha);
    } while (nuc_walk_next_row(loops, &walk));
}

static float relu(float x, float low, float high)
{
    (void)low;
    (void)high;
    return x != x || x >= 0.0f ? x : 0.0f;
}

static float absolute(float x, float low, float high)
{
    (void)low;
    (void)high;
    return fabsf(x);
}

static float negate(float x, float low, float high)
{
    (void)low;
    (void)high;
    return -x;
}

static float exponential(float x, float low, float high)
{
    (void)low;
    (void)high;
    return expf(x);
}

static float logarithm(float x, float low, float high)
{
    (void)low;
    (void)high;
    return logf(x);
}

static float square_root(float x, float low, float high)
{
    (void)low;
    (void)high;
    return sqrtf(x);
}

static float reciprocal_root(float x, float low, float high)
{
    (void)low;
    (void)high;
    return 1.0f / sqrtf(x);
}

static float sigmoid(float x, float low, float high)
{
    (void)low;
    (void)high;
    return 1.0f / (1.0f + expf(-x));
}

static float hyperbolic_tangent(float x, float low, float high)
{
    (void)low;
    (void)high;
    return tanhf(x);
}

static float leaky_relu(float x, float low, float high)
{
    (void)high;
    return x >= 0.0f ? x : x * low;
}

static float clamp(float x, float low, float high)
{
    return minimum(maximum(x, low), high);
}

static float gelu(float x, float low, float high)
{
    const double root_half = 0.70710678118654752440;

    (void)low;
    (void)high;
    if (isinf(x))
        return x > 0.0f ? x : 0.0f;
    return (float)(0.5 * (double)x * (1.0 + erf((double)x * root_half)));
}

/* sqrt(2 / pi) (x + 0.044715 x^3) in float, the rest in double. */
static float gelu_tanh(float x, float low, float high)
{
    const float root = (float)(1.41421356237309504880 * 1.12837916709551257390 * 0.5);

    (void)low;
    (void)high;
    if (isinf(x))
        return x > 0.0f ? x : 0.0f;
    float inner = root * (x + 0.044715f * (x * x * x));
    return (float)(0.5 * (double)x * (1.0 + (double)tanhf(inner)));
}

typedef float (*unary_fn)(float x, float low, float high);

static const unary_fn unary_functions[NUC_UNARY_COUNT] = {
    [NUC_UNARY_RELU] = relu,
    [NUC_UNARY_ABS] = absolute,
    [NUC_UNARY_NEG] = negate,
    [NUC_UNARY_EXP] = exponential,
    [NUC_UNARY_LOG] = logarithm,
    [NUC_UNARY_SQRT] = square_root,
    [NUC_UNARY_RSQRT] = reciprocal_root,
    [NUC_UNARY_SIGMOID] = sigmoid,
    [NUC_UNARY_TANH] = hyperbolic_tangent,
    [NUC_UNARY_LEAKY_RELU] = leaky_relu,
    [NUC_UNARY_CLAMP] = clamp,
    [NUC_UNARY_GELU] = gelu,
    [NUC_UNARY_GELU_TANH] = gelu_tanh,
};

void nuc_ref_unary_f32(enum nuc_unary_op op, float low, float high, const float *in, float *out, size_t count)
{
    unary_fn fn = unary_functions[op];

    for (size_t i = 0; i < count; i++)
        out[i] = fn(in[i], low, high);
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
