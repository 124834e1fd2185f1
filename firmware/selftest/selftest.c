/*
 * Compares the kernels for the board's CPU, as compiled for it, with the reference kernels on random shapes. Prints the
 * number of cases and "equal", or the first case that differs; the exit code is 0 when none does.
 */
#include <string.h>

#include "device/kernels/select/select.h"
#include "port/port.h"

#define ROUNDS 200
#define BYTES 40000
#define CHANNELS 80

struct bench {
    uint64_t state;
    int8_t in[BYTES], weight[BYTES], own[BYTES], expected[BYTES];
    int32_t multipliers[CHANNELS], shifts[CHANNELS], bias[CHANNELS];
    uint32_t scratch[4096];
    unsigned cases, over_input;
};

static int32_t number(struct bench *b, int32_t low, int32_t high)
{
    b->state = b->state * 6364136223846793005U + 1442695040888963407U;
    return low + (int32_t)((b->state >> 33) % (uint64_t)(high - low + 1));
}

static void fill(struct bench *b)
{
    for (size_t i = 0; i < BYTES; i++) {
        b->in[i] = (int8_t)number(b, -128, 127);
        b->weight[i] = (int8_t)number(b, -128, 127);
    }
}

static struct nuc_rescale random_rescale(struct bench *b, int32_t taps)
{
    int32_t bits = 0;
    bool zeros = number(b, 0, 3) == 0;

    while (1 << bits < taps * 20)
        bits++;
    for (int i = 0; i < CHANNELS; i++) {
        b->multipliers[i] = zeros && number(b, 0, 9) == 0 ? 0 : number(b, 1 << 30, INT32_MAX);
        b->shifts[i] = b->multipliers[i] == 0 ? number(b, -3, 3) : number(b, -bits - 3, -bits + 2);
        b->bias[i] = number(b, -30000, 30000);
    }
    if (number(b, 0, 9) == 0)
        b->shifts[0] = 1;
    if (number(b, 0, 4) == 0) { /* a channel that its bias keeps at one value */
        int32_t o = number(b, 0, CHANNELS / 4);
        b->bias[o] = (number(b, 0, 1) != 0 ? 1 : -1) * ((1 << 30) + number(b, -9999, 9999));
        b->shifts[o] = -number(b, 20, number(b, 22, 31));
        b->multipliers[o] = number(b, 1 << 30, INT32_MAX);
    }
    bool narrow = number(b, 0, 3) == 0;
    return (struct nuc_rescale){b->multipliers,       b->shifts,        1, number(b, -128, 127),
                                narrow ? -100 : -128, narrow ? 90 : 127};
}

static bool same(struct bench *b, const char *what, size_t size)
{
    b->cases++;
    if (memcmp(b->own, b->expected, size) == 0)
        return true;
    nuc_port_print("differs: ");
    nuc_port_print(what);
    nuc_port_print("\n");
    return false;
}

/* Few channels, and rows or columns that do not fit a kernel's memory at once; perhaps one pixel the other way. */
static void long_sides(struct bench *b, struct nuc_conv_s8 *c)
{
    int32_t one = number(b, 0, 3); /* a dimension with one output, or none */

    c->in_channels = number(b, 4, 8);
    c->out_channels = c->in_channels;
    c->groups = c->in_channels;
    for (int d = 0; d < 2; d++) {
        if (one == d) {
            c->kernel[d] = number(b, 0, 1) != 0 ? 1 : number(b, 1, 12);
            c->dilation[d] = 1;
            c->padding[d] = 0;
        }
        int32_t span = (c->kernel[d] - 1) * c->dilation[d] + 1;
        c->in_size[d] = one == d ? span : number(b, span, d == 0 ? 25 : 120);
        c->out_size[d] = (c->in_size[d] + 2 * c->padding[d] - span) / c->stride[d] + 1;
    }
}

static void random_conv(struct bench *b, struct nuc_conv_s8 *c, bool depthwise)
{
    int32_t kind = number(b, 0, 3);

    /* Columns in one part and in several, and without a scratch of their size. */
    *c = (struct nuc_conv_s8){.batch = 1, .groups = 1, .in_channels = number(b, 1, kind == 0 ? 70 : 9)};
    c->out_channels = number(b, 1, kind == 1 ? CHANNELS : 17);
    if (depthwise) {
        c->in_channels = number(b, 0, 2) == 0   ? 1
                         : number(b, 0, 3) == 0 ? number(b, 2, 9)
                                                : 4 * number(b, 1, CHANNELS / 4);
        c->out_channels = c->in_channels == 1 ? number(b, 1, CHANNELS) : c->in_channels;
        c->groups = c->in_channels;
    } else if (kind == 2) {
        c->groups = 2;
        c->in_channels *= 2;
        c->out_channels *= 2;
    }
    for (int d = 0; d < 2; d++) {
        c->kernel[d] = kind == 3 && !depthwise ? 1 : number(b, 0, 1) != 0 ? 3 : number(b, 1, 5);
        c->stride[d] = number(b, 1, 2);
        c->dilation[d] = number(b, 0, 5) == 0 ? 2 : 1;
        c->padding[d] = number(b, 0, c->kernel[d] - 1);
        int32_t span = (c->kernel[d] - 1) * c->dilation[d] + 1;
        c->in_size[d] = number(b, span, span + 5);
        c->out_size[d] = (c->in_size[d] + 2 * c->padding[d] - span) / c->stride[d] + 1;
    }
    if (depthwise && number(b, 0, 2) == 0)
        long_sides(b, c);
    int32_t taps = c->kernel[0] * c->kernel[1] * (c->in_channels / c->groups);
    c->input_offset = number(b, -127, 128);
    c->rescale = random_rescale(b, taps);
    if (number(b, 0, 2) == 0)
        c->rescale.offset = -128;
    if (depthwise && number(b, 0, 4) == 0)
        b->bias[number(b, 0, c->out_channels - 1)] = (1 << 30) - number(b, 0, 200000);
    c->bias = number(b, 0, 4) != 0 ? b->bias : NULL;
    c->scratch = b->scratch;
    c->scratch_bytes = (size_t)number(b, 0, 2) * 4 * (size_t)((taps + 3) / 4 * 4);
}

static bool check_convs(struct bench *b)
{
    struct nuc_conv_s8 c;

    random_conv(b, &c, false);
    size_t size = (size_t)(c.out_size[0] * c.out_size[1] * c.out_channels);
    nuc_ref_conv_s8(&c, b->in, b->weight, b->expected);
    nuc_kernel_conv_s8(&c, b->in, b->weight, b->own);
    if (!same(b, "convolution", size))
        return false;
    random_conv(b, &c, true);
    size = (size_t)(c.out_size[0] * c.out_size[1] * c.out_channels);
    nuc_ref_depthwise_s8(&c, b->in, b->weight, b->expected);
    nuc_kernel_depthwise_s8(&c, b->in, b->weight, b->own);
    if (!same(b, "depthwise convolution", size))
        return false;
    size_t rows = nuc_depthwise_overlay_bytes(&c);
    if (rows == 0 || rows > sizeof b->scratch)
        return true;
    b->over_input++;
    c.scratch_bytes = c.scratch_bytes > rows ? c.scratch_bytes : rows;
    memcpy(b->own, b->in, sizeof b->own);
    nuc_kernel_depthwise_s8(&c, b->own, b->weight, b->own);
    return same(b, "depthwise convolution over its input", size);
}

static bool check_matmul(struct bench *b)
{
    struct nuc_matmul_s8 m = {.rows = number(b, 1, 3), .depth = number(b, 1, 200), .columns = number(b, 1, CHANNELS)};
    int32_t kind = number(b, 0, 3);

    if (kind == 0)
        m.depth *= 4; /* rows lie at words */
    if (kind == 1)
        m.depth = number(b, 160, 500) * 4; /* in parts */
    if (m.depth * m.columns > BYTES)
        m.columns = BYTES / m.depth;
    m.input_offset = number(b, -127, 128);
    m.weight_offset = number(b, 0, 1) != 0 ? 0 : number(b, -127, 128);
    m.rescale = random_rescale(b, m.depth);
    m.bias = number(b, 0, 1) != 0 ? b->bias : NULL;
    if (number(b, 0, 5) == 0)
        m.rescale.step = 0;
    if (number(b, 0, 3) == 0)
        b->bias[0] = (1 << 30) - number(b, 0, 90000);
    nuc_ref_matmul_s8(&m, b->in, b->weight, b->expected);
    nuc_kernel_matmul_s8(&m, b->in, b->weight, b->own);
    return same(b, "matrix product", (size_t)(m.rows * m.columns));
}

static bool check_pools(struct bench *b)
{
    struct nuc_pool_s8 p = {.batch = 1,
                            .channels = number(b, 0, 3) == 0 ? number(b, 1, 40) : 4 * number(b, 1, 8),
                            .low = -128,
                            .high = number(b, 100, 127)};

    for (int d = 0; d < 2; d++) {
        p.kernel[d] = number(b, 1, 4);
        p.stride[d] = number(b, 1, 3);
        p.padding[d] = number(b, 0, p.kernel[d] / 2);
        p.in_size[d] = number(b, p.kernel[d], 12);
        p.out_size[d] = (p.in_size[d] + 2 * p.padding[d] - p.kernel[d]) / p.stride[d] + 1;
    }
    size_t size = (size_t)(p.out_size[0] * p.out_size[1] * p.channels);
    nuc_ref_max_pool_s8(&p, b->in, b->expected);
    nuc_kernel_max_pool_s8(&p, b->in, b->own);
    if (!same(b, "largest of a window", size))
        return false;
    nuc_ref_avg_pool_s8(&p, b->in, b->expected);
    nuc_kernel_avg_pool_s8(&p, b->in, b->own);
    return same(b, "average of a window", size);
}

static bool check_add(struct bench *b)
{
    int32_t n = number(b, 1, 600);
    struct nuc_loops loops = {.rank = 1, .sizes = {n}, .a = {1}, .b = {1}, .out = {1}};
    struct nuc_add_s8 p = {number(b, -127, 128),
                           number(b, -127, 128),
                           {number(b, 1 << 30, INT32_MAX), number(b, -5, 0)},
                           {number(b, 1 << 30, INT32_MAX), number(b, -5, 0)},
                           {number(b, 1 << 30, INT32_MAX), number(b, -23, -17)},
                           number(b, -128, 127),
                           -128,
                           number(b, 100, 127)};

    nuc_ref_add_s8(&p, &loops, b->in, b->weight, b->expected);
    nuc_kernel_add_s8(&p, &loops, b->in, b->weight, b->own);
    return same(b, "sum", (size_t)n);
}

static bool check_mul(struct bench *b)
{
    int32_t n = number(b, 1, 600);
    struct nuc_loops loops = {.rank = 1, .sizes = {n}, .a = {1}, .b = {1}, .out = {1}};
    struct nuc_mul_s8 p = {number(b, -127, 128),
                           number(b, -127, 128),
                           {number(b, 1 << 30, INT32_MAX), number(b, -12, 1)},
                           number(b, -128, 127),
                           -128,
                           number(b, 100, 127)};

    nuc_ref_mul_s8(&p, &loops, b->in, b->weight, b->expected);
    nuc_kernel_mul_s8(&p, &loops, b->in, b->weight, b->own);
    if (!same(b, "product", (size_t)n))
        return false;
    nuc_ref_table_s8(b->weight, b->in, b->expected, (size_t)n);
    nuc_kernel_table_s8(b->weight, b->in, b->own, (size_t)n);
    return same(b, "function", (size_t)n);
}

static bool check_softmax(struct bench *b)
{
    struct nuc_softmax_s8 s = {number(b, 1, 9),
                               number(b, 1, number(b, 0, 5) == 0 ? 700 : 70),
                               number(b, 1 << 30, INT32_MAX),
                               number(b, 16, 26),
                               0,
                               false};

    s.diff_min = -(int32_t)(((int64_t)31 << 26) >> s.shift);
    nuc_ref_softmax_s8(&s, b->in, b->expected);
    nuc_kernel_softmax_s8(&s, b->in, b->own);
    return same(b, "softmax", (size_t)(s.rows * s.size));
}

/* Images of channels: sums of pixels or of channels, moves of channels outward, blends. */
static bool check_images(struct bench *b)
{
    int32_t rows = number(b, 1, 9), columns = number(b, 1, 30), channels = number(b, 1, 40);
    struct nuc_rescale r = random_rescale(b, 30);
    struct nuc_loops pixels = {2, {rows, columns}, {columns * channels, channels}, {0}, {columns, 1}};
    struct nuc_loops each = {1, {channels}, {1}, {0}, {1}};
    struct nuc_loops move = {
        3, {channels, rows, columns}, {1, columns * channels, channels}, {0}, {rows * columns, columns, 1}};
    struct nuc_resize_s8 z = {1, channels, {rows, columns}, {number(b, 1, 18), number(b, 1, 50)}, number(b, 0, 1) == 1};
    bool of_pixels = number(b, 0, 1) == 1;

    r.step = 0;
    nuc_ref_sum_s8(of_pixels ? &each : &pixels, of_pixels ? &pixels : &each, -3, &r, b->in, b->expected);
    nuc_kernel_sum_s8(of_pixels ? &each : &pixels, of_pixels ? &pixels : &each, -3, &r, b->in, b->own);
    if (!same(b, "sum over dimensions", (size_t)(of_pixels ? channels : rows * columns)))
        return false;
    nuc_ref_copy(&move, 1, b->in, b->expected);
    nuc_kernel_copy(&move, 1, b->in, b->own);
    if (!same(b, "move", (size_t)(rows * columns * channels)))
        return false;
    nuc_ref_resize_bilinear_int(&z, NUC_I8, b->in, b->expected);
    nuc_kernel_resize_bilinear_int(&z, NUC_I8, b->in, b->own);
    return same(b, "resized image", (size_t)(z.out_size[0] * z.out_size[1] * channels));
}

int nuc_firmware_main(void)
{
    size_t size;
    struct bench *b = nuc_port_memory(&size);
    bool equal = size >= sizeof *b;

    b->state = 5;
    b->cases = 0;
    b->over_input = 0;
    for (int round = 0; round < ROUNDS && equal; round++) {
        fill(b);
        equal = check_convs(b) && check_matmul(b) && check_pools(b) && check_add(b) && check_mul(b) &&
                check_softmax(b) && check_images(b);
    }
    if (equal && b->over_input > 0 && b->cases == ROUNDS * 12 + b->over_input)
        nuc_port_print("equal\n");
    return equal ? 0 : 1;
}
