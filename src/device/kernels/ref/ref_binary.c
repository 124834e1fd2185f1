/* Operators of two values. Formulas of reals are torch's (aten/src/ATen/native/cpu/BinaryOpsKernel.cpp). */
#include <math.h>

#include "device/base/real.h"
#include "device/kernels/ref/ref.h"
#include "device/kernels/ref_s16/quantized_s16.h"

/* A row of name, result of floats a and b, result of integers a and b. */
#define OF_FLOATS(name, value)                                                                                         \
    static float name##_f32(float a, float b)                                                                          \
    {                                                                                                                  \
        return value;                                                                                                  \
    }
#define OF_INTEGERS(name, value)                                                                                       \
    static int64_t name##_i64(int64_t a, int64_t b)                                                                    \
    {                                                                                                                  \
        return value;                                                                                                  \
    }
#define OPERATOR(name, of_floats, of_integers)                                                                         \
    OF_FLOATS(name, of_floats)                                                                                         \
    OF_INTEGERS(name, of_integers)                                                                                     \
    const struct nuc_binary nuc_binary_##name = {name##_f32, name##_i64, NULL};
#define REAL_OPERATOR(name, of_floats)                                                                                 \
    OF_FLOATS(name, of_floats)                                                                                         \
    const struct nuc_binary nuc_binary_##name = {name##_f32, NULL, NULL};
#define INTEGER_OPERATOR(name, of_integers)                                                                            \
    OF_INTEGERS(name, of_integers)                                                                                     \
    const struct nuc_binary nuc_binary_##name = {NULL, name##_i64, NULL};

/* ---- arithmetic ---- */

OPERATOR(add, a + b, (int64_t)((uint64_t)a + (uint64_t)b))
OPERATOR(sub, a - b, (int64_t)((uint64_t)a - (uint64_t)b))
OPERATOR(mul, a *b, (int64_t)((uint64_t)a *(uint64_t)b))
REAL_OPERATOR(div, a / b)
REAL_OPERATOR(atan2, nuc_real_atan2(a, b))

static float maximum_f32(float a, float b)
{
    if (a != a || b != b)
        return a != a ? a : b;
    return a < b ? b : a;
}

OF_INTEGERS(maximum, a > b ? a : b)
const struct nuc_binary nuc_binary_maximum = {maximum_f32, maximum_i64, nuc_kernel_maximum_s16};

static float minimum_f32(float a, float b)
{
    if (a != a || b != b)
        return a != a ? a : b;
    return b < a ? b : a;
}

OF_INTEGERS(minimum, a < b ? a : b)
const struct nuc_binary nuc_binary_minimum = {minimum_f32, minimum_i64, nuc_kernel_minimum_s16};

/* ---- division ---- */

/* Towards 0. The least value divided by -1 wraps. */
static int64_t quotient(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t rest(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

static bool signs_differ(int64_t a, int64_t b)
{
    return (a < 0) != (b < 0);
}

OPERATOR(div_trunc, truncf(a / b), quotient(a, b))
OPERATOR(fmod, fmodf(a, b), rest(a, b))

/* The multiple of b that fmod leaves out, one less where the signs differ; the quotient is rounded to a whole one. */
static float floor_divide_f32(float a, float b)
{
    if (!(b < 0.0f || b > 0.0f))
        return a / b;
    float left = fmodf(a, b), q = (a - left) / b;
    if ((left < 0.0f || left > 0.0f) && (b < 0.0f) != (left < 0.0f))
        q -= 1.0f;
    if (!(q < 0.0f || q > 0.0f))
        return q != q ? q : copysignf(0.0f, a / b);
    float whole = floorf(q);
    return q - whole > 0.5f ? whole + 1.0f : whole;
}

static int64_t floor_divide_i64(int64_t a, int64_t b)
{
    return quotient(a, b) - (rest(a, b) != 0 && signs_differ(a, b) ? 1 : 0);
}

const struct nuc_binary nuc_binary_floor_divide = {floor_divide_f32, floor_divide_i64, NULL};

/* The sign is that of b. */
static float remainder_f32(float a, float b)
{
    float left = fmodf(a, b);

    return (left < 0.0f || left > 0.0f) && (b < 0.0f) != (left < 0.0f) ? left + b : left;
}

static int64_t remainder_i64(int64_t a, int64_t b)
{
    int64_t left = rest(a, b);

    return left != 0 && signs_differ(left, b) ? left + b : left;
}

const struct nuc_binary nuc_binary_remainder = {remainder_f32, remainder_i64, NULL};

/* ---- power ---- */

/* Wraps. A negative exponent gives 0 but for 1 and -1. */
static int64_t pow_i64(int64_t a, int64_t b)
{
    uint64_t result = 1;

    if (b < 0) {
        if (a != 1 && a != -1)
            return 0;
        return a == 1 || b % 2 == 0 ? 1 : -1;
    }
    for (uint64_t square = (uint64_t)a; b > 0; b /= 2) {
        result *= b % 2 != 0 ? square : 1;
        square *= square;
    }
    return (int64_t)result;
}

OF_FLOATS(pow, nuc_real_pow(a, b))
const struct nuc_binary nuc_binary_pow = {pow_f32, pow_i64, NULL};

/* ---- comparisons, logic ---- */

static bool is_true(float x)
{
    return x < 0.0f || x > 0.0f || x != x;
}

OPERATOR(eq, a >= b && a <= b ? 1.0f : 0.0f, a == b)
OPERATOR(ne, a >= b && a <= b ? 0.0f : 1.0f, a != b)
OPERATOR(lt, a < b ? 1.0f : 0.0f, a < b)
OPERATOR(le, a <= b ? 1.0f : 0.0f, a <= b)
OPERATOR(gt, a > b ? 1.0f : 0.0f, a > b)
OPERATOR(ge, a >= b ? 1.0f : 0.0f, a >= b)
OPERATOR(logical_and, is_true(a) && is_true(b) ? 1.0f : 0.0f, a != 0 && b != 0)
OPERATOR(logical_or, is_true(a) || is_true(b) ? 1.0f : 0.0f, a != 0 || b != 0)
OPERATOR(logical_xor, is_true(a) != is_true(b) ? 1.0f : 0.0f, (a != 0) != (b != 0))

/* ---- bits ---- */

INTEGER_OPERATOR(bitwise_and, a &b)
INTEGER_OPERATOR(bitwise_or, a | b)
INTEGER_OPERATOR(bitwise_xor, a ^ b)

/* Every bit is shifted out by a negative number, too, as torch has it. */
INTEGER_OPERATOR(bitwise_left_shift, b<0 || b> 63 ? 0 : (int64_t)((uint64_t)a << b))

static int64_t shifted_right(int64_t a, int64_t b)
{
    int64_t by = b < 0 || b > 63 ? 63 : b;

    return a < 0 ? ~(~a >> by) : a >> by;
}

INTEGER_OPERATOR(bitwise_right_shift, shifted_right(a, b))

/* ---- loops ---- */

void nuc_kernel_binary_f32(const struct nuc_binary *op, const struct nuc_loops *loops, float alpha, const float *a,
                           const float *b, float *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(loops);
    const int32_t size = nuc_row_length(loops);
    const float factor = op == &nuc_binary_sub ? -alpha : alpha;

    do {
        const float *x = a + walk.a, *y = b + walk.b;
        float *to = out + walk.out;
        /* Sums and products, which most operators are, without a call for each element. */
        if (op == &nuc_binary_add || op == &nuc_binary_sub) {
            for (int32_t i = 0; i < size; i++)
                to[i * steps.out] = x[i * steps.a] + factor * y[i * steps.b];
        } else if (op == &nuc_binary_mul) {
            for (int32_t i = 0; i < size; i++)
                to[i * steps.out] = x[i * steps.a] * (alpha * y[i * steps.b]);
        } else {
            for (int32_t i = 0; i < size; i++)
                to[i * steps.out] = op->f32(x[i * steps.a], alpha * y[i * steps.b]);
        }
    } while (nuc_walk_next_row(loops, &walk));
}

void nuc_kernel_clamp_f32(float low, float high, const float *in, float *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = minimum_f32(maximum_f32(in[i], low), high);
}
