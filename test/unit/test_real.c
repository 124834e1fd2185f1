/* Functions of device/base/real.h against those of double: errors, special cases, steps between neighbours. */
#include "unit/test.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "device/base/real.h"

#define STRIDE 4001 /* of the 2^32 floats; a prime */

/* In float32: e^-x is infinite where it is above the largest float. */
static double sigmoid(double x)
{
    double e = exp(-x);

    return e >= 0x1.ffffffp127 ? 0.0 : 1.0 / (1.0 + e);
}

static double gelu(double x)
{
    return isinf(x) ? fmax(x, 0.0) : 0.5 * x * erfc(-x * sqrt(0.5));
}

static double gelu_tanh(double x)
{
    return isinf(x) ? fmax(x, 0.0) : x * sigmoid(2.0 * M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x));
}

static const struct {
    const char *name;
    float (*real)(float x);
    double (*exact)(double x);
    double error;
} functions[] = {
#define ROW(name, error) {#name, nuc_real_##name, name, error},
    NUC_REAL_FUNCTIONS(ROW)
#undef ROW
};

static const struct {
    const char *name;
    float (*real)(float x, float y);
    double (*exact)(double x, double y);
    double error;
} functions_of_two[] = {
#define ROW(name, error) {#name, nuc_real_##name, name, error},
    NUC_REAL_FUNCTIONS_OF_TWO(ROW)
#undef ROW
};

/* In units of the last place of a float as large as `size`; infinite where NaN, infinity or sign is another. */
static double error_of(float got, double exact, double size)
{
    float nearest = (float)exact;
    int exponent;

    if (isnan(exact) || isnan(got))
        return isnan(exact) && isnan(got) ? 0.0 : HUGE_VAL;
    if (isinf(got) || isinf(nearest))
        return got >= nearest && got <= nearest ? 0.0 : HUGE_VAL;
    if (!(got < 0.0f || got > 0.0f) && !(nearest < 0.0f || nearest > 0.0f) && !signbit(got) != !signbit(nearest))
        return HUGE_VAL;
    frexp(fmax(size, (double)FLT_MIN), &exponent);
    return fabs((double)got - exact) / ldexp(1.0, exponent - FLT_MANT_DIG);
}

static float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static void functions_err_as_stated(void **state)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        bool by_argument = strncmp(functions[i].name, "gelu", 4) == 0;
        double worst = 0.0;
        float at = 0.0f;
        for (uint64_t bits = 0; bits <= UINT32_MAX; bits += STRIDE) {
            float x = float_of((uint32_t)bits);
            double exact = functions[i].exact((double)x), size = fmax(fabs(exact), by_argument ? fabs((double)x) : 0.0);
            /* A zero below the least float has no sign to be right about. */
            double error = by_argument && fabs(exact) < 0x1p-149 ? 0.0 : error_of(functions[i].real(x), exact, size);
            if (!(error <= worst)) {
                worst = error;
                at = x;
            }
        }
        if (!(worst <= functions[i].error))
            fail_msg("%s(%a): %g units of the last place, %g are stated", functions[i].name, (double)at, worst,
                     functions[i].error);
    }
}

static const float specials[] = {0.0f,  -0.0f, 1.0f,  -1.0f,  0.5f,        -0.5f,      2.0f,        -3.0f,
                                 1.5f,  -2.5f, 1e38f, -1e38f, 0x1p-149f,   -0x1p-149f, 0x1p23f,     16777215.0f,
                                 1e10f, 0.1f,  NAN,   5e-39f, -8388609.0f, INFINITY,   -8388607.5f, -INFINITY};
enum { SPECIALS = sizeof specials / sizeof specials[0] };

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8 ^ *state << 13;
}

/* Everything, and what pow() is hard for: bases near 1 with exponents that bring the result back into the range. */
static void arguments_of(uint32_t i, uint32_t *seed, float *x, float *y)
{
    uint32_t a = next_random(seed), b = next_random(seed);

    *x = i < SPECIALS * SPECIALS ? specials[i / SPECIALS] : float_of(a);
    *y = i < SPECIALS * SPECIALS ? specials[i % SPECIALS] : float_of(b);
    if (i < SPECIALS * SPECIALS || i % 3 == 0)
        return;
    *x = i % 3 == 1 ? 1.0f + ldexpf((float)(int32_t)a, -32 - (int)(b % 23))
                    : ldexpf((float)(a >> 8), (int)(b % 40) - 40);
    *y = 120.0f * (float)(int32_t)b * 0x1p-31f / fmaxf(fabsf(log2f(*x)), 1e-7f);
    *y = i % 7 == 0 ? rintf(*y) : *y;
}

static void functions_of_two_err_as_stated(void **state)
{
    for (size_t i = 0; i < sizeof functions_of_two / sizeof functions_of_two[0]; i++) {
        uint32_t seed = 1;
        for (uint32_t k = 0; k < 1000000; k++) {
            float x, y;
            arguments_of(k, &seed, &x, &y);
            double exact = functions_of_two[i].exact((double)x, (double)y);
            double error = error_of(functions_of_two[i].real(x, y), exact, fabs(exact));
            if (!(error <= functions_of_two[i].error))
                fail_msg("%s(%a, %a): %g units of the last place, %g are stated", functions_of_two[i].name, (double)x,
                         (double)y, error, functions_of_two[i].error);
        }
    }
}

/* The bits themselves: what another compiler or processor has to make. */
static void results_are_the_same_bits_everywhere(void **state)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < 1u << 16; i++) {
        float x = float_of(i << 16 | 0x5a5a);
        for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++) {
            float y = functions[k].real(x);
            uint32_t bits;
            memcpy(&bits, &y, sizeof bits);
            sum = (sum << 1 | sum >> 31) + (isnan(y) ? 0 : bits);
        }
    }
    assert_int_equal(sum, 0x9365c049);
}

RUN_TESTS(cmocka_unit_test(functions_err_as_stated), cmocka_unit_test(functions_of_two_err_as_stated),
          cmocka_unit_test(results_are_the_same_bits_everywhere))
