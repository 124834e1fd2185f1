/* Int8 and int16 kernels that resize images and sample them: against values by hand, the float kernel, plain C. */
#include "unit/test.h"

#include <math.h>

#include "device/kernels/mve/mve.h"
#include "device/kernels/select/select.h"
#include "unit/numbers.h"

/* ---- other sizes ---- */

#define ROUNDS 400

static void test_resize(void **state)
{
    const int8_t in[4] = {0, 100, -100, 50}; /* 2 x 2, one channel */
    const int8_t halves[9] = {0, 50, 100, -50, 13, 75, -100, -25, 50};
    const int8_t centres[16] = {0, 25, 75, 100, -25, 3, 59, 88, -75, -41, 28, 63, -100, -63, 13, 50};
    struct nuc_resize_s8 r = {1, 1, {2, 2}, {3, 3}, true};
    int8_t out[16];

    nuc_kernel_resize_bilinear_int(&r, NUC_I8, in, out); /* 12.5 rounds away from zero */
    assert_memory_equal(out, halves, 9);
    r = (struct nuc_resize_s8){1, 1, {2, 2}, {4, 4}, false};
    nuc_kernel_resize_bilinear_int(&r, NUC_I8, in, out);
    assert_memory_equal(out, centres, 16);
    const int16_t wide[4] = {0, 25600, -25600, 12801};
    const int16_t wide_centres[8] = {0, 6400, 19200, 25600, -6400, 800, 15200, 22400};
    int16_t wide_out[16];
    nuc_kernel_resize_bilinear_int(&r, NUC_I16, wide, wide_out);
    assert_memory_equal(wide_out, wide_centres, sizeof wide_centres);
    r = (struct nuc_resize_s8){1, 1, {2, 2}, {3, 3}, false};
    nuc_kernel_resize_nearest_s8(&r, in, out);
    const int8_t nearest[9] = {0, 0, 100, 0, 0, 100, -100, -100, 50};
    assert_memory_equal(out, nearest, 9);
}

/* The bytes of plain C. */
static void test_vector_resize(void **state)
{
    struct numbers n = {33};

    for (int round = 0; round < ROUNDS; round++) {
        struct nuc_resize_s8 r = {number(&n, 1, 2),
                                  number(&n, 1, 20),
                                  {number(&n, 1, 6), number(&n, 1, 6)},
                                  {number(&n, 1, 12), number(&n, 1, 12)},
                                  round % 2 != 0};
        size_t size = (size_t)(r.batch * r.out_size[0] * r.out_size[1] * r.channels);
        int8_t *in = random_s8(&n, (size_t)(r.batch * r.in_size[0] * r.in_size[1] * r.channels));
        int8_t *out = random_s8(&n, size), *expected = random_s8(&n, size);
        nuc_ref_resize_bilinear_int(&r, NUC_I8, in, expected);
        nuc_mve_resize_bilinear_int(&r, NUC_I8, in, out);
        assert_memory_equal(out, expected, size);
        free(in);
        free(out);
        free(expected);
    }
}

/* ---- sampling at positions of a grid: the float kernel's values, of all paddings, types and orders ---- */

#define IMAGE_SIZE 60 /* 2 images of 5 x 3 pixels, two channels */
#define GRID_POINTS 84
#define GRID_STEP 0.01211f /* no position is in the middle between two pixels */

/* Coordinates from about -1.5 to 1.5: 127 steps, of int16 256 times as many. */
static struct nuc_grid_int grid_of(enum nuc_grid_mode mode, enum nuc_grid_padding padding, bool align, int32_t channels,
                                   bool last)
{
    const ptrdiff_t pixel = last ? channels : 1, plane = last ? 1 : 15;
    struct nuc_grid_int g = {.sizes = {.batch = 4 / channels,
                                       .channels = channels,
                                       .spatial = 2,
                                       .in_size = {1, 5, 3},
                                       .out_size = {1, 3, 7},
                                       .in_strides = {15 * channels, plane, 0, 3 * pixel, pixel},
                                       .grid_strides = {42, 0, 14, 2, 1},
                                       .out_strides = {21 * channels, 21, 0, 7, 1},
                                       .mode = mode,
                                       .padding = padding,
                                       .align_corners = align},
                             .zero_point = -7};

    for (int d = 1; d < 3; d++) {
        double half = (g.sizes.in_size[d] - align) / 2.0, step = ldexp(half * (double)GRID_STEP, NUC_GRID_BITS - 8);
        g.step[d] = (int32_t)nearbyint(step);
        g.start[d] =
            (int64_t)ldexp((g.sizes.in_size[d] - 1) / 2.0 + (mode == NUC_GRID_NEAREST ? 0 : 0x1p-12), NUC_GRID_BITS);
    }
    return g;
}

static void expect_samples(struct numbers *n, struct nuc_grid_int g, bool wide, bool wide_grid)
{
    const int32_t points = g.sizes.batch * 42, size = g.sizes.batch * g.sizes.channels;
    float in[IMAGE_SIZE], grid[4 * 42], expected[GRID_POINTS];
    int8_t in8[IMAGE_SIZE], grid8[4 * 42], out8[GRID_POINTS];
    int16_t in16[IMAGE_SIZE], grid16[4 * 42], out16[GRID_POINTS];

    g.zero_point = wide ? 0 : g.zero_point;
    for (int32_t i = 0; i < 15 * size; i++) {
        in16[i] = (int16_t)number(n, -32768, 32767);
        in8[i] = (int8_t)number(n, -128, 127);
        in[i] = (float)((wide ? in16[i] : in8[i]) - g.zero_point);
    }
    for (int32_t i = 0; i < points; i++) {
        grid16[i] = (int16_t)number(n, -32768, 32767);
        grid8[i] = (int8_t)number(n, -128, 127);
        grid[i] = (wide_grid ? (float)grid16[i] / 256 : (float)grid8[i]) * GRID_STEP;
    }
    nuc_kernel_grid_sample_f32(&g.sizes, in, grid, expected);
    nuc_kernel_grid_sample_int(&g, wide ? NUC_I16 : NUC_I8, wide_grid ? NUC_I16 : NUC_I8,
                               wide ? (const void *)in16 : in8, wide_grid ? (const void *)grid16 : grid8,
                               wide ? (void *)out16 : out8);
    const double bound = g.sizes.mode == NUC_GRID_NEAREST ? 0.01 : wide ? 40 : 0.7;
    for (int32_t i = 0; i < 21 * size; i++)
        assert_true(fabs((wide ? out16[i] : out8[i]) - g.zero_point - (double)expected[i]) < bound);
}

static void test_grid(void **state)
{
    struct numbers n = {1};

    for (int i = 0; i < 192; i++) {
        enum nuc_grid_padding padding = (enum nuc_grid_padding)(i % 3);
        bool last = i / 3 % 2 == 1, align = i / 6 % 2 == 1, wide = i / 12 % 2 == 1, wide_grid = i / 24 % 2 == 1;
        enum nuc_grid_mode mode = i / 48 % 2 == 1 ? NUC_GRID_NEAREST : NUC_GRID_BILINEAR;
        expect_samples(&n, grid_of(mode, padding, align, i / 96 % 2 == 1 ? 1 : 2, last), wide, wide_grid);
    }
}

RUN_TESTS(cmocka_unit_test(test_resize), cmocka_unit_test(test_vector_resize), cmocka_unit_test(test_grid))
