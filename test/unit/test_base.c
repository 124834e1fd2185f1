/* Fixed-point arithmetic against its definition in real numbers, and the bounded FlatBuffer reader on hostile bytes. */
#include "unit/test.h"

#include <math.h>

#include "device/base/fixed_point.h"
#include "nucleon/types.h"

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state;
}

static void multiplier_is_nearest(void **state)
{
    uint32_t seed = 1;

    for (int i = 0; i < 10000; i++) {
        double scale = ldexp(0.5 + next_random(&seed) / 8589934592.0, (int)(next_random(&seed) % 60) - 30);
        struct nuc_multiplier m = nuc_multiplier_from_scale(scale);
        assert_true(m.multiplier >= 1 << 30);
        double back = ldexp((double)m.multiplier, m.shift - 31);
        assert_true(fabs(back - scale) <= ldexp(1.0, m.shift - 32));
    }
}

static void multiplier_edges(void **state)
{
    assert_int_equal(nuc_multiplier_from_scale(0.0).multiplier, 0);
    assert_int_equal(nuc_multiplier_from_scale(-1.0).multiplier, 0);
    assert_int_equal(nuc_multiplier_from_scale((double)NAN).multiplier, 0);
    assert_int_equal(nuc_multiplier_from_scale(1.0).multiplier, 1 << 30);
    assert_int_equal(nuc_multiplier_from_scale(1.0).shift, 1);
    /* The mantissa rounds up to 2^31, so the exponent rises. */
    struct nuc_multiplier m = nuc_multiplier_from_scale(1.0 - ldexp(1.0, -40));
    assert_int_equal(m.multiplier, 1 << 30);
    assert_int_equal(m.shift, 1);
    assert_int_equal(nuc_multiplier_from_scale(ldexp(1.0, -40)).multiplier, 0);
    assert_int_equal(nuc_multiplier_from_scale(ldexp(1.0, 40)).multiplier, INT32_MAX);
}

static int64_t round_away(double v)
{
    return (int64_t)(v < 0 ? -floor(-v + 0.5) : floor(v + 0.5));
}

static void high_multiply_and_shift_round(void **state)
{
    uint32_t seed = 7;

    assert_int_equal(nuc_doubling_high_mul(INT32_MIN, INT32_MIN), INT32_MAX);
    for (int i = 0; i < 100000; i++) {
        int32_t a = (int32_t)next_random(&seed), b = (int32_t)next_random(&seed);
        /* The product is exact in 63 bits; halves away from zero are decided on integers. */
        int64_t product = (int64_t)a * b;
        int64_t magnitude = product < 0 ? -product : product;
        int64_t expected = (magnitude + ((int64_t)1 << 30)) >> 31;
        if (product < 0) /* exact ties round towards positive infinity here, as gemmlowp does */
            expected = -((magnitude + ((int64_t)1 << 30) - 1) >> 31);
        assert_int_equal(nuc_doubling_high_mul(a, b), expected);
        int exponent = (int)(next_random(&seed) % 32);
        assert_int_equal(nuc_rounding_shift_right(a, exponent), round_away(ldexp((double)a, -exponent)));
    }
}

static void names_and_sizes(void **state)
{
    assert_string_equal(nuc_dtype_name(NUC_BF16), "bfloat16");
    assert_int_equal(nuc_dtype_size(NUC_I64), 8);
    assert_int_equal(nuc_dtype_size(NUC_DTYPE_COUNT), 0);
    assert_string_equal(nuc_status_name(NUC_STATUS_COUNT), "unknown");
    for (int s = 0; s < NUC_STATUS_COUNT; s++)
        assert_non_null(nuc_status_name((enum nuc_status)s));
}

/* floor(multiplier * 2^bits / count), as LiteRT has it. */
static void test_mean_multiplier(void **state)
{
    static const struct {
        double scale;
        int64_t count;
        int32_t multiplier, shift;
    } rows[] = {{1.0, 1, 1 << 30, 1}, {1.0, 3, 715827882, 0}, {0.75, 49, 1051828725, -5}, {0.5, 2, 1 << 30, -1}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nuc_multiplier m = nuc_mean_multiplier(rows[i].scale, rows[i].count);
        assert_int_equal(m.multiplier, rows[i].multiplier);
        assert_int_equal(m.shift, rows[i].shift);
    }
}

RUN_TESTS(cmocka_unit_test(test_mean_multiplier), cmocka_unit_test(multiplier_is_nearest),
          cmocka_unit_test(multiplier_edges), cmocka_unit_test(high_multiply_and_shift_round),
          cmocka_unit_test(names_and_sizes))
