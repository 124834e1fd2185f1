/* Functions of one value. */
#include <math.h>

#include "device/base/real.h"
#include "device/kernels/ref/ref.h"

/* A row of name, result of the float x, result of the integer x. */
#define OF_FLOAT(name, value)                                                                                          \
    static float name##_f32(float x)                                                                                   \
    {                                                                                                                  \
        return value;                                                                                                  \
    }
#define OF_INTEGER(name, value)                                                                                        \
    static int64_t name##_i64(int64_t x)                                                                               \
    {                                                                                                                  \
        return value;                                                                                                  \
    }
#define FUNCTION(name, of_float, of_integer)                                                                           \
    OF_FLOAT(name, of_float)                                                                                           \
    OF_INTEGER(name, of_integer)                                                                                       \
    const struct nuc_map nuc_map_##name = {name##_f32, name##_i64};
#define REAL_FUNCTION(name, of_float)                                                                                  \
    OF_FLOAT(name, of_float)                                                                                           \
    const struct nuc_map nuc_map_##name = {name##_f32, NULL};

/* ---- of reals ---- */

#define FUNCTION_OF_TABLE(name, error) const struct nuc_map nuc_map_##name = {nuc_real_##name, NULL};
NUC_REAL_FUNCTIONS(FUNCTION_OF_TABLE)
REAL_FUNCTION(sqrt, sqrtf(x))
REAL_FUNCTION(rsqrt, 1.0f / sqrtf(x))
REAL_FUNCTION(reciprocal, 1.0f / x)

/* ---- of any numbers: integers wrap, NaN stays but for its sign, which is 0 as in torch ---- */

FUNCTION(relu, x != x || x >= 0.0f ? x : 0.0f, x < 0 ? 0 : x)
FUNCTION(neg, -x, (int64_t)(0 - (uint64_t)x))
FUNCTION(abs, fabsf(x), x < 0 ? (int64_t)(0 - (uint64_t)x) : x)
FUNCTION(ceil, ceilf(x), x)
FUNCTION(floor, floorf(x), x)
FUNCTION(trunc, truncf(x), x)
FUNCTION(round, rintf(x), x)
FUNCTION(sign, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f, (x > 0) - (x < 0))

/* ---- truths ---- */

FUNCTION(logical_not, x<0.0f || x> 0.0f || x != x ? 0.0f : 1.0f, x == 0)
FUNCTION(isnan, x != x ? 1.0f : 0.0f, x != x)
FUNCTION(isinf, isinf(x) ? 1.0f : 0.0f, 0 * x)

/* ---- bits ---- */

OF_INTEGER(bitwise_not, ~x)
const struct nuc_map nuc_map_bitwise_not = {NULL, bitwise_not_i64};

/* ---- loops ---- */

void nuc_kernel_map_f32(nuc_map_fn fn, const float *in, float *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = fn(in[i]);
}

void nuc_kernel_leaky_relu_f32(float slope, const float *in, float *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = in[i] >= 0.0f ? in[i] : in[i] * slope;
}

void nuc_kernel_elu_f32(const struct nuc_elu *elu, const float *in, float *out, size_t count)
{
    float below = elu->alpha * elu->scale;

    for (size_t i = 0; i < count; i++)
        out[i] = in[i] <= 0.0f ? nuc_real_expm1(in[i] * elu->input_scale) * below : in[i] * elu->scale;
}

void nuc_kernel_logit_f32(float low, const float *in, float *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float x = in[i];
        if (low >= 0.0f)
            x = x < low ? low : x > 1.0f - low ? 1.0f - low : x;
        out[i] = nuc_real_log(x / (1.0f - x));
    }
}
