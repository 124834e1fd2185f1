/*
 * Every kernel of the simulator against its definition written as plain loops in 64-bit integers or double, over
 * random shapes and values. Rounding here is stated as arithmetic, not taken from device/base/fixed_point.h.
 */
#include "device/base/npu_cost.h"
#include "device/base/program_sum.h"
#include "npu_random.h"
#include "nucleon/simulator.h"

#include <math.h>

#define CASES 60

/* Quotient of a by 2^bits, half away from zero. */
static int64_t divide_pow2(int64_t a, int bits)
{
    int64_t half = bits > 0 ? (int64_t)1 << (bits - 1) : 0;
    int64_t magnitude = ((a < 0 ? -a : a) + half) >> bits;

    return a < 0 ? -magnitude : magnitude;
}

/* acc * multiplier * 2^(shift - 31) in two roundings: ties of the first go up, those of the second away from zero. */
static int64_t scaled(int64_t acc, int32_t multiplier, int32_t shift)
{
    int64_t shifted = acc * ((int64_t)1 << (shift > 0 ? shift : 0));
    int64_t exact = shifted * multiplier;
    int64_t high = exact >= 0 ? (exact + (1LL << 30)) >> 31 : -((-exact + (1LL << 30) - 1) >> 31);

    assert_true(fabs((double)shifted * multiplier) < 9.0e18);
    return divide_pow2(high, shift > 0 ? 0 : -shift);
}

static int8_t clamp(int64_t v, int32_t low, int32_t high)
{
    return (int8_t)(v < low ? low : v > high ? high : v);
}

/* Where an operand lies before the program runs. */
static const int8_t *operand(const struct program *p, struct nuc_mc_ref ref, uint32_t input)
{
    bool constant = ref.where == nuc_mc_where(NUC_MC_WEIGHTS, 0);

    return (const int8_t *)(constant ? p->weights + ref.offset : p->input[input]);
}

struct conv_case {
    struct program *p;
    union nuc_mc_record r;
    const int8_t *weight;
    const int32_t *bias, *requant;
};

static int64_t input_at(const struct conv_case *c, int32_t b, int64_t y, int64_t x, int32_t channel)
{
    const struct nuc_mc_conv *v = &c->r.conv;

    if (y < 0 || y >= v->in_h || x < 0 || x >= v->in_w)
        return 0;
    return (int8_t)c->p->input[0][((b * v->in_h + y) * v->in_w + x) * v->in_c + channel] - v->input_zero;
}

/* The weight that joins input channel `i` and output channel `o` at a tap, 0 when they are of different groups. */
static int64_t weight_at(const struct conv_case *c, int depthwise, int32_t ky, int32_t kx, int32_t i, int32_t o)
{
    const struct nuc_mc_conv *v = &c->r.conv;
    int32_t depth = v->in_c / v->groups, group = o / (v->out_c / v->groups);

    if (i / depth != group)
        return 0;
    if (depthwise)
        return c->weight[(ky * v->k_w + kx) * v->out_c + o];
    return c->weight[((o * v->k_h + ky) * v->k_w + kx) * depth + i % depth];
}

static int64_t naive_conv(const struct conv_case *c, int depthwise, int32_t b, int32_t oy, int32_t ox, int32_t o)
{
    const struct nuc_mc_conv *v = &c->r.conv;
    int64_t acc = c->bias[o];

    for (int32_t ky = 0; ky < v->k_h; ky++) {
        for (int32_t kx = 0; kx < v->k_w; kx++) {
            for (int32_t i = 0; i < v->in_c; i++)
                acc += input_at(c, b, (int64_t)oy * v->stride_h - v->pad_top + ky * v->dilation_h,
                                (int64_t)ox * v->stride_w - v->pad_left + kx * v->dilation_w, i) *
                       weight_at(c, depthwise, ky, kx, i, o);
        }
    }
    return acc;
}

/* As the definition scatters: input (y, x) adds to output (y * stride - pad + ky, ...). */
static int64_t naive_transposed(const struct conv_case *c, int32_t b, int32_t oy, int32_t ox, int32_t o)
{
    const struct nuc_mc_conv *v = &c->r.conv;
    int64_t acc = c->bias[o];

    for (int32_t y = 0; y < v->in_h; y++) {
        for (int32_t x = 0; x < v->in_w; x++) {
            int32_t ky = oy + v->pad_top - y * v->stride_h, kx = ox + v->pad_left - x * v->stride_w;
            if (ky < 0 || ky >= v->k_h || kx < 0 || kx >= v->k_w)
                continue;
            for (int32_t i = 0; i < v->in_c; i++)
                acc += input_at(c, b, y, x, i) * weight_at(c, 0, ky, kx, i, o);
        }
    }
    return acc;
}

static void check_conv(struct conv_case *c, uint32_t opcode)
{
    const struct nuc_mc_conv *v = &c->r.conv;
    size_t at = 0;

    program_call(c->p, opcode, &c->r);
    assert_int_equal(program_run(c->p), ENONE);
    for (int32_t b = 0; b < v->batches; b++) {
        for (int32_t pixel = 0; pixel < v->out_h * v->out_w; pixel++) {
            for (int32_t o = 0; o < v->out_c; o++) {
                int32_t oy = pixel / v->out_w, ox = pixel % v->out_w;
                int64_t acc = opcode == NUC_MC_OP_TRANSPOSE_CONV
                                  ? naive_transposed(c, b, oy, ox, o)
                                  : naive_conv(c, opcode == NUC_MC_OP_DEPTHWISE_CONV_2D, b, oy, ox, o);
                int64_t q = scaled(acc, c->requant[2 * o], c->requant[2 * o + 1]) + v->output_zero;
                assert_int_equal((int8_t)c->p->output[0][at++], clamp(q, v->clamp_min, v->clamp_max));
            }
        }
    }
    free(c->p);
}

static void convolutions(uint32_t seed,
                         uint32_t (*make)(struct program *p, struct generator *g, union nuc_mc_record *r, int n))
{
    struct generator g = {.seed = seed, .dense = true};

    for (int i = 0; i < CASES; i++) {
        struct conv_case c = {.p = program_new()};
        uint32_t opcode = make(c.p, &g, &c.r, i);
        c.weight = operand(c.p, c.r.conv.weight, 0);
        c.bias = (const void *)operand(c.p, c.r.conv.bias, 0);
        c.requant = (const void *)operand(c.p, c.r.conv.requant, 0);
        check_conv(&c, opcode);
    }
}

static void convolution(void **state)
{
    convolutions(11, random_conv);
    convolutions(12, random_pointwise);
    convolutions(13, random_depthwise);
    convolutions(14, random_transposed);
}

static int32_t matrix_at(const struct nuc_mc_matmul *g, int32_t b, int32_t stride, int32_t inner_stride)
{
    return g->inner == 0 ? b * stride : b / g->inner * stride + b % g->inner * inner_stride;
}

static int64_t naive_product(const struct program *p, const struct nuc_mc_matmul *g, int32_t b, int32_t i, int32_t j)
{
    int64_t acc = 0;

    for (int32_t k = 0; k < g->depth; k++) {
        int32_t l =
            matrix_at(g, b, g->lhs_batch_stride, g->lhs_inner_stride) + i * g->lhs_row_stride + k * g->lhs_depth_stride;
        int32_t r = matrix_at(g, b, g->rhs_batch_stride, g->rhs_inner_stride) + j * g->rhs_column_stride +
                    k * g->rhs_depth_stride;
        acc += (operand(p, g->lhs, 0)[l] - g->lhs_zero) * (operand(p, g->rhs, 1)[r] - g->rhs_zero);
    }
    return acc;
}

static void keep_sum(void *user, const void *handle, uint32_t call, uint32_t sum)
{
    *(uint32_t *)user = sum;
}

static void matrix_product(void **state)
{
    struct generator random = {.seed = 14, .dense = true};

    for (int n = 0; n < 2 * CASES; n++) {
        struct program *p = program_new();
        union nuc_mc_record r;
        const struct nuc_mc_matmul *g = &r.matmul;
        program_call(p, random_product(p, &random, &r, n), &r);
        const int32_t *bias = (const void *)operand(p, g->bias, 0), *requant = (const void *)operand(p, g->requant, 0);
        uint32_t sum = 0, written = 0;
        nuc_simulator_watch(keep_sum, &sum);
        assert_int_equal(program_run(p), ENONE);
        nuc_simulator_watch(NULL, NULL);
        for (int32_t row = 0; row < g->batches * g->rows; row++) {
            int32_t dense = row * g->columns, heads = row % g->rows * g->out_pitch;
            heads += matrix_at(g, row / g->rows, g->out_batch_stride, g->out_inner_stride);
            const uint8_t *y = p->output[0] + (g->inner > 0 ? heads : dense);
            written = nuc_crc32(written, y, (size_t)g->columns);
            for (int32_t j = 0; j < g->columns; j++) {
                const int32_t *pair = requant + (g->per_channel ? 2 * j : 0);
                int64_t acc = naive_product(p, g, row / g->rows, row % g->rows, j) + (g->has_bias ? bias[j] : 0);
                int64_t q = scaled(acc, pair[0], pair[1]) + g->output_zero;
                assert_int_equal((int8_t)y[j], clamp(q, g->clamp_min, g->clamp_max));
            }
        }
        assert_int_equal(sum, written);
        free(p);
    }
}

static int64_t naive_binary(const struct nuc_mc_binary *e, uint32_t opcode, int32_t qa, int32_t qb)
{
    int64_t a = qa - e->a_zero, b = qb - e->b_zero;
    int64_t sa = scaled(a * (1 << e->left_shift), e->a_multiplier, e->a_shift);
    int64_t sb = scaled(b * (1 << e->left_shift), e->b_multiplier, e->b_shift);

    switch (opcode) {
    case NUC_MC_OP_ADD:
        return scaled(sa + sb, e->out_multiplier, e->out_shift) + e->output_zero;
    case NUC_MC_OP_SUB:
        return scaled(sa - sb, e->out_multiplier, e->out_shift) + e->output_zero;
    case NUC_MC_OP_MUL:
        return scaled(a * b, e->out_multiplier, e->out_shift) + e->output_zero;
    case NUC_MC_OP_PRELU:
        return (a >= 0 ? scaled(a, e->a_multiplier, e->a_shift) : scaled(a * b, e->out_multiplier, e->out_shift)) +
               e->output_zero;
    case NUC_MC_OP_MAXIMUM:
        return qa > qb ? qa : qb;
    default:
        return qa < qb ? qa : qb;
    }
}

static void check_binary(const struct program *p, const struct nuc_mc_binary *e, uint32_t opcode, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        int32_t rest = i, a = 0, b = 0;
        for (int32_t d = e->rank - 1; d >= 0; d--) {
            a += rest % e->shape[d] * e->a_stride[d];
            b += rest % e->shape[d] * e->b_stride[d];
            rest /= e->shape[d];
        }
        int64_t q = naive_binary(e, opcode, (int8_t)p->input[0][a], (int8_t)p->input[1][b]);
        bool selects = opcode == NUC_MC_OP_MAXIMUM || opcode == NUC_MC_OP_MINIMUM;
        assert_int_equal((int8_t)p->output[0][i], selects ? q : clamp(q, e->clamp_min, e->clamp_max));
    }
}

static void elementwise(void **state)
{
    struct generator g = {.seed = 15, .dense = true};

    for (int i = 0; i < 6 * CASES; i++) {
        struct program *p = program_new();
        union nuc_mc_record r;
        uint32_t opcode = random_elementwise(p, &g, &r, i);
        program_call(p, opcode, &r);
        assert_int_equal(program_run(p), ENONE);
        check_binary(p, &r.binary, opcode, (int32_t)p->output_size[0]);
        free(p);
    }
}

/* Sum, count and maximum of a window, pads as the record counts them. */
struct window {
    int64_t sum, count;
    int32_t largest;
};

static struct window naive_window(const struct program *p, const struct nuc_mc_pool *v, int32_t b, int32_t pixel,
                                  int32_t c)
{
    struct window w = {0, 0, -128};

    for (int32_t tap = 0; tap < v->k_h * v->k_w; tap++) {
        int32_t y = pixel / v->out_w * v->stride_h - v->pad_top + tap / v->k_w;
        int32_t x = pixel % v->out_w * v->stride_w - v->pad_left + tap % v->k_w;
        int inside = y >= 0 && y < v->in_h && x >= 0 && x < v->in_w;
        if (!inside && !v->count_pad)
            continue;
        int32_t q = inside ? (int8_t)p->input[0][((b * v->in_h + y) * v->in_w + x) * v->channels + c] : v->pad_value;
        w.sum += q;
        w.count++;
        w.largest = inside && q > w.largest ? q : w.largest;
    }
    return w;
}

static int64_t pooled(const struct window *w, int average)
{
    int64_t magnitude = w->sum < 0 ? -w->sum : w->sum;

    if (!average)
        return w->largest;
    if (w->count == 0)
        return 0;
    magnitude = (magnitude + w->count / 2) / w->count;
    return w->sum < 0 ? -magnitude : magnitude;
}

static void pooling(void **state)
{
    struct generator g = {.seed = 16, .dense = true};

    for (int i = 0; i < 2 * CASES; i++) {
        struct program *p = program_new();
        union nuc_mc_record r;
        const struct nuc_mc_pool *v = &r.pool;
        int average = i % 2;
        program_call(p, random_pool(p, &g, &r, i), &r);
        uint32_t n = p->output_size[0];
        assert_int_equal(program_run(p), ENONE);
        for (uint32_t k = 0; k < n; k++) {
            int32_t channel = (int32_t)k % v->channels, pixel = (int32_t)k / v->channels;
            struct window w = naive_window(p, v, pixel / (v->out_h * v->out_w), pixel % (v->out_h * v->out_w), channel);
            assert_int_equal((int8_t)p->output[0][k], clamp(pooled(&w, average), v->clamp_min, v->clamp_max));
        }
        free(p);
    }
}

/* The input is [a, b, c]; `which` says what is reduced: 0 b, 1 a and c. */
static void reduce_geometry(struct generator *g, struct nuc_mc_reduce *d, int which, int32_t *n, int32_t *count)
{
    int32_t a = range(g, 1, 6), b = range(g, 1, 9), c = range(g, 1, 9);

    if (which == 0) {
        d->rank = 2;
        d->shape[0] = a, d->stride[0] = b * c;
        d->shape[1] = c, d->stride[1] = 1;
        d->reduced_rank = 1;
        d->reduced_shape[0] = b, d->reduced_stride[0] = c;
        *n = a * c, *count = b;
        return;
    }
    d->rank = 1;
    d->shape[0] = b, d->stride[0] = c;
    d->reduced_rank = 2;
    d->reduced_shape[0] = a, d->reduced_stride[0] = b * c;
    d->reduced_shape[1] = c, d->reduced_stride[1] = 1;
    *n = b, *count = a * c;
}

static int32_t reduced_offset(const struct nuc_mc_reduce *d, int32_t i, int32_t k)
{
    int32_t at = 0;

    for (int32_t x = d->rank - 1; x >= 0; i /= d->shape[x], x--)
        at += i % d->shape[x] * d->stride[x];
    for (int32_t x = d->reduced_rank - 1; x >= 0; k /= d->reduced_shape[x], x--)
        at += k % d->reduced_shape[x] * d->reduced_stride[x];
    return at;
}

static int64_t naive_reduce(const struct program *p, const struct nuc_mc_reduce *d, uint32_t opcode, int32_t i,
                            int32_t count)
{
    int64_t sum = 0;
    int32_t largest = -128, smallest = 127;

    for (int32_t k = 0; k < count; k++) {
        int32_t q = (int8_t)p->input[0][reduced_offset(d, i, k)];
        sum += q - d->input_zero;
        largest = q > largest ? q : largest;
        smallest = q < smallest ? q : smallest;
    }
    if (opcode == NUC_MC_OP_MEAN)
        return scaled(sum, d->multiplier, d->shift) + d->output_zero;
    if (opcode == NUC_MC_OP_SUM)
        return (int64_t)roundl(ldexpl((long double)sum * d->multiplier, d->shift) / (long double)d->divisor) +
               d->output_zero;
    return opcode == NUC_MC_OP_REDUCE_MAX ? largest : smallest;
}

static void reductions(void **state)
{
    struct generator g = {.seed = 17, .dense = true};

    for (uint32_t opcode = NUC_MC_OP_MEAN; opcode <= NUC_MC_OP_REDUCE_MIN; opcode++) {
        for (int i = 0; i < CASES; i++) {
            struct program *p = program_new();
            union nuc_mc_record r = {.reduce = {.divisor = 1}};
            struct nuc_mc_reduce *d = &r.reduce;
            int32_t n, count;
            reduce_geometry(&g, d, i % 2, &n, &count);
            d->input_zero = random_zero(&g);
            d->output_zero = random_zero(&g);
            random_clamp(&g, &d->clamp_min, &d->clamp_max);
            int sum = opcode == NUC_MC_OP_SUM;
            d->multiplier = sum ? range(&g, 1 << 23, (1 << 24) - 1) : range(&g, 1 << 22, 1 << 23) << 7;
            d->divisor = sum && i % 3 ? range(&g, 1 << 23, (1 << 24) - 1) : 1 << 23;
            d->shift = range(&g, -8, sum ? 3 : 0);
            d->input = program_input(p, (uint32_t)(n * count), &g.seed);
            d->output = program_output(p, (uint32_t)n);
            program_call(p, opcode, &r);
            assert_int_equal(program_run(p), ENONE);
            for (int32_t k = 0; k < n; k++)
                assert_int_equal((int8_t)p->output[0][k],
                                 clamp(naive_reduce(p, d, opcode, k, count), d->clamp_min, d->clamp_max));
            free(p);
        }
    }
}

/* A sum scaled so far up or down that it saturates or vanishes. */
static void sum_extremes(void **state)
{
    static const int32_t shifts[] = {-500, -70, 40, 70, 500};
    struct generator g = {.seed = 18, .dense = true};

    for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++) {
        struct program *p = program_new();
        union nuc_mc_record r = {.reduce = {.multiplier = 1 << 23, .divisor = 1 << 23, .shift = shifts[i]}};
        struct nuc_mc_reduce *d = &r.reduce;
        d->reduced_rank = 1;
        d->reduced_shape[0] = 3;
        d->reduced_stride[0] = 1;
        d->clamp_min = -128;
        d->clamp_max = 127;
        d->input = program_input(p, 3, &g.seed);
        memset(p->input[0], 0xFF, 3);
        d->output = program_output(p, 1);
        program_call(p, NUC_MC_OP_SUM, &r);
        assert_int_equal(program_run(p), ENONE);
        assert_int_equal((int8_t)p->output[0][0], shifts[i] > 0 ? -128 : 0);
        free(p);
    }
}

/* Within a step of the real function, and exact where one value towers over the others. */
static void softmax(void **state)
{
    struct generator g = {.seed = 19, .dense = true};

    for (int i = 0; i < CASES; i++) {
        struct program *p = program_new();
        union nuc_mc_record r = {.softmax = {.rows = range(&g, 1, 4), .depth = range(&g, 1, 40)}};
        struct nuc_mc_softmax *s = &r.softmax;
        double scale = ldexp(1.0 + random_bits(&g) / 33554432.0, -range(&g, 2, 7));
        int shift;
        s->multiplier = (int32_t)llround(frexp(scale * (1 << 26), &shift) * 2147483648.0);
        s->left_shift = shift;
        s->diff_min = -(int32_t)floor(31.0 * (1 << 26) / ldexp(1.0, shift));
        s->input = program_input(p, (uint32_t)(s->rows * s->depth), &g.seed);
        s->output = program_output(p, (uint32_t)(s->rows * s->depth));
        program_call(p, NUC_MC_OP_SOFTMAX, &r);
        assert_int_equal(program_run(p), ENONE);
        for (int32_t row = 0; row < s->rows; row++) {
            const int8_t *in = (const int8_t *)p->input[0] + row * s->depth;
            double sum = 0;
            for (int32_t c = 0; c < s->depth; c++)
                sum += exp(scale * in[c]);
            for (int32_t c = 0; c < s->depth; c++) {
                double want = fmin(exp(scale * in[c]) / sum * 256.0 - 128.0, 127.0);
                int8_t got = (int8_t)p->output[0][row * s->depth + c];
                assert_true(fabs(got - want) <= 1.0);
            }
        }
        free(p);
    }
}

static void table(void **state)
{
    struct generator g = {.seed = 20, .dense = true};
    uint8_t entries[256];
    struct program *p = program_new();
    union nuc_mc_record r = {.lut = {.count = 1000}};

    program_fill(&g.seed, entries, sizeof entries);
    r.lut.input = program_input(p, 1000, &g.seed);
    r.lut.output = program_output(p, 1000);
    r.lut.table = program_weights(p, entries, sizeof entries);
    program_call(p, NUC_MC_OP_LUT, &r);
    assert_int_equal(program_run(p), ENONE);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(p->output[0][i], entries[(int8_t)p->input[0][i] + 128]);
    free(p);
}

/* What a call gives with a table at its end is the table of what it gives without, gaps between rows left alone. */
static void table_at_the_end(void **state)
{
    static uint32_t (*const make[])(struct program * p, struct generator * g, union nuc_mc_record * r, int n) = {
        random_conv, random_depthwise, random_transposed, random_product, random_elementwise, random_pool};

    for (int n = 0; n < 6 * CASES; n++) {
        struct generator g = {.seed = 300 + (uint32_t)n};
        struct program *p = program_new();
        struct nuc_mc_result result = {.rows = 0};
        union nuc_mc_record r;
        uint32_t opcode = make[n % 6](p, &g, &r, n / 6);
        struct nuc_mc_ref table = random_weights(p, &g, 256);
        program_call(p, opcode, &r);
        if (!nuc_mc_result_of(&r, &result)) {
            assert_true(n % 6 == 3 && r.matmul.inner > 0);
            free(p);
            continue;
        }
        assert_int_equal(program_run(p), ENONE);
        uint8_t *plain = malloc(PROGRAM_BYTES);
        memcpy(plain, p->output[0], PROGRAM_BYTES);
        p->records_size = p->n_calls = 0;
        program_call_with_table(p, opcode, &r, table);
        assert_int_equal(program_run(p), ENONE);
        for (uint64_t k = 0; k < result.rows * (uint64_t)result.pitch - (uint64_t)(result.pitch - result.row); k++) {
            bool gap = (int64_t)(k % (uint64_t)result.pitch) >= result.row;
            int8_t before = (int8_t)plain[result.output.offset + k];
            assert_int_equal(p->output[0][result.output.offset + k],
                             gap ? (uint8_t)before : p->weights[table.offset + (uint32_t)(before + 128)]);
        }
        free(plain);
        free(p);
    }
}

/* Rows of input with gaps give what the same rows give without. */
static void pitch_of_the_input(void **state)
{
    static uint32_t (*const make[])(struct program * p, struct generator * g, union nuc_mc_record * r,
                                    int n) = {random_conv, random_depthwise, random_transposed, random_pool};

    for (int n = 0; n < 4 * CASES; n++) {
        struct generator g = {.seed = 500 + (uint32_t)n};
        struct program *p = program_new();
        union nuc_mc_record r;
        uint32_t opcode = make[n % 4](p, &g, &r, n / 4);
        bool pool = n % 4 == 3;
        int32_t *pitch = pool ? &r.pool.in_pitch : &r.conv.in_pitch, row = pool ? r.pool.channels : r.conv.in_c;
        program_call(p, opcode, &r);
        assert_int_equal(program_run(p), ENONE);
        uint8_t *want = malloc(PROGRAM_BYTES);
        memcpy(want, p->output[0], PROGRAM_BYTES);
        for (uint32_t k = 0; *pitch != 0 && k < p->input_size[0] / (uint32_t)*pitch + 1; k++)
            memmove(p->input[0] + k * (uint32_t)row, p->input[0] + k * (uint32_t)*pitch, (size_t)row);
        *pitch = 0;
        p->records_size = p->n_calls = 0;
        program_call(p, opcode, &r);
        assert_int_equal(program_run(p), ENONE);
        assert_memory_equal(p->output[0], want, p->output_size[0]);
        free(want);
        free(p);
    }
}

/* The header names the NPU that times are for; one that nobody knows is refused. */
static void npus_are_told_apart(void **state)
{
    struct generator g = {.seed = 31, .dense = true};
    struct program *p = program_new();
    union nuc_mc_record r;
    NeutronModelHandle handle;

    random_conv(p, &g, &r, 0);
    program_call(p, NUC_MC_OP_CONV_2D, &r);
    program_finish(p);
    for (uint32_t code = 0; code < 0x200; code++) {
        program_set_word(p, NUC_MC_WORD_NPU, code);
        bool known = program_prepare(p, &handle) == ENONE;
        assert_int_equal(known, code == nuc_npus[NUC_NPU_N3_64].code || code == nuc_npus[NUC_NPU_N1_16].code);
        if (known)
            neutronModelUnprepare(handle);
    }
    free(p);
    (void)state;
}

/* Programs of the revision before have no tables, calls that move values take none, and a table is a constant. */
static void tables_are_verified(void **state)
{
    struct generator g = {.seed = 29, .dense = true};
    struct program *p = program_new();
    union nuc_mc_record r;
    NeutronModelHandle handle;

    uint32_t opcode = random_conv(p, &g, &r, 0);
    struct nuc_mc_ref table = random_weights(p, &g, 256);
    program_call_with_table(p, opcode, &r, table);
    program_finish(p);
    program_set_word(p, NUC_MC_WORD_VERSION, NUC_MC_VERSION_3);
    assert_int_not_equal(program_prepare(p, &handle), ENONE);
    program_set_word(p, NUC_MC_WORD_VERSION, NUC_MC_VERSION_4);
    assert_int_equal(program_prepare(p, &handle), ENONE);
    neutronModelUnprepare(handle);
    const struct nuc_mc_ref bad[] = {{table.where, p->weights_size - 255}, r.conv.input, r.conv.output};
    for (int i = 0; i < 3; i++) {
        memcpy(p->records + p->records_size - sizeof table, &bad[i], sizeof table);
        program_finish(p);
        assert_int_not_equal(program_prepare(p, &handle), ENONE);
    }
    p->records_size = p->n_calls = 0;
    memset(&r, 0, sizeof r);
    r.lut = (struct nuc_mc_lut){.input = {nuc_mc_where(NUC_MC_INPUT, 0), 0},
                                .output = {nuc_mc_where(NUC_MC_OUTPUT, 0), 0},
                                .table = table,
                                .count = 1};
    program_call(p, NUC_MC_OP_LUT, &r);
    program_finish(p);
    assert_int_equal(program_prepare(p, &handle), ENONE);
    neutronModelUnprepare(handle);
    r.call.opcode |= NUC_MC_TABLE;
    r.call.words += 2;
    memcpy(p->records, &r.call, sizeof r.call);
    memcpy(p->records + p->records_size, &table, sizeof table);
    p->records_size += sizeof table;
    program_finish(p);
    assert_int_not_equal(program_prepare(p, &handle), ENONE);
    free(p);
}

/* Two levels of two matrices, and operands that end where the last of them does. */
static void two_levels(struct program *p, struct nuc_mc_matmul *g)
{
    const int32_t one[2] = {1 << 30, 0};
    uint32_t bytes = 7;

    *g = (struct nuc_mc_matmul){.batches = 4, .rows = 2, .columns = 3, .depth = 5, .inner = 2, .clamp_max = 127};
    g->lhs_depth_stride = g->rhs_depth_stride = 1;
    g->lhs_inner_stride = g->rhs_inner_stride = 5;
    g->lhs_row_stride = g->rhs_column_stride = 10;
    g->lhs_batch_stride = 20;
    g->rhs_batch_stride = 30;
    g->out_inner_stride = 3;
    g->out_pitch = 6;
    g->out_batch_stride = 12;
    g->lhs = program_input(p, 40, &bytes);
    g->rhs = program_input(p, 60, &bytes);
    g->output = program_output(p, 24);
    g->requant = program_weights(p, one, sizeof one);
}

/* Matrices in two levels are of revision 6, divide the batches, and stay inside the buffers. */
static void heads_are_verified(void **state)
{
    struct program *p = program_new();
    NeutronModelHandle handle;
    union nuc_mc_record good;

    two_levels(p, &good.matmul);
    program_call(p, NUC_MC_OP_FULLY_CONNECTED, &good);
    program_finish(p);
    assert_int_equal(program_prepare(p, &handle), ENONE);
    neutronModelUnprepare(handle);
    program_set_word(p, NUC_MC_WORD_VERSION, NUC_MC_VERSION_5);
    assert_int_not_equal(program_prepare(p, &handle), ENONE);
    for (int wrong = 0; wrong < 18; wrong++) {
        union nuc_mc_record r = good;
        struct nuc_mc_matmul *m = &r.matmul;
        int32_t *const fields[] = {
            &m->inner,     &m->lhs_inner_stride, &m->rhs_inner_stride, &m->out_inner_stride, &m->out_batch_stride,
            &m->out_pitch, &m->lhs_batch_stride, &m->rhs_batch_stride, &m->lhs_row_stride};
        int32_t *field = fields[wrong / 2];
        *field = wrong % 2 == 0 ? -1 : *field + 1;
        p->records_size = p->n_calls = 0;
        program_call(p, NUC_MC_OP_FULLY_CONNECTED, &r);
        program_finish(p);
        assert_int_not_equal(program_prepare(p, &handle), ENONE);
    }
    free(p);
}

/* A reversed, transposed block in the middle of a filled image. */
static void strided_copy(void **state)
{
    struct generator g = {.seed = 21, .dense = true};
    struct program *p = program_new();
    union nuc_mc_record r = {
        .copy = {.rank = 2, .unit = 3, .shape = {4, 5}, .in_stride = {-15, 3}, .out_stride = {3, 20}}};

    r.copy.input = program_input(p, 60, &g.seed);
    r.copy.input.offset = 45;
    r.copy.output = program_output(p, 200);
    r.copy.out_start = 7;
    r.copy.fill_size = 200;
    r.copy.fill_value = 0x5A;
    program_call(p, NUC_MC_OP_COPY, &r);
    assert_int_equal(program_run(p), ENONE);
    uint8_t want[200];
    memset(want, 0x5A, sizeof want);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 5; j++)
            memcpy(want + 7 + i * 3 + j * 20, p->input[0] + 45 - i * 15 + j * 3, 3);
    }
    assert_memory_equal(p->output[0], want, sizeof want);
    free(p);
}

static void gather(void **state)
{
    struct generator g = {.seed = 22, .dense = true};
    static const int32_t tables[] = {0, 20, 0, 8, 4, 12};
    struct program *p = program_new();
    union nuc_mc_record r = {.gather = {.rank = 2, .unit = 4, .shape = {3, 3}}};

    r.gather.input = program_input(p, 36, &g.seed);
    r.gather.output = program_output(p, 36);
    r.gather.table = program_weights(p, tables, sizeof tables);
    program_call(p, NUC_MC_OP_GATHER, &r);
    assert_int_equal(program_run(p), ENONE);
    for (int i = 0; i < 9; i++)
        assert_memory_equal(p->output[0] + i * 4, p->input[0] + tables[i / 3] + tables[3 + i % 3], 4);
    free(p);
}

/* Corners aligned: the result is within a step of interpolation in double. */
static void bilinear(void **state)
{
    struct generator g = {.seed = 23, .dense = true};

    for (int i = 0; i < CASES; i++) {
        struct program *p = program_new();
        union nuc_mc_record r = {.resize = {.batches = 1, .in_h = range(&g, 2, 6), .in_w = 1, .channels = 3}};
        struct nuc_mc_resize *z = &r.resize;
        int32_t factor = 1 << range(&g, 0, 3);
        z->out_h = (z->in_h - 1) * factor + 1;
        z->out_w = 1;
        z->scale_h = 1024 / factor;
        z->input = program_input(p, (uint32_t)(z->in_h * 3), &g.seed);
        z->output = program_output(p, (uint32_t)(z->out_h * 3));
        program_call(p, NUC_MC_OP_RESIZE_BILINEAR, &r);
        assert_int_equal(program_run(p), ENONE);
        for (int32_t k = 0; k < z->out_h * 3; k++) {
            int32_t low = k / 3 / factor, part = k / 3 % factor;
            double a = (int8_t)p->input[0][low * 3 + k % 3];
            double b = part ? (int8_t)p->input[0][(low + 1) * 3 + k % 3] : 0;
            double want = a + (b - a) * part / factor;
            assert_true(fabs((int8_t)p->output[0][k] - want) <= 0.5);
        }
        free(p);
    }
}

RUN_TESTS(cmocka_unit_test(convolution), cmocka_unit_test(matrix_product), cmocka_unit_test(elementwise),
          cmocka_unit_test(pooling), cmocka_unit_test(reductions), cmocka_unit_test(sum_extremes),
          cmocka_unit_test(softmax), cmocka_unit_test(table), cmocka_unit_test(table_at_the_end),
          cmocka_unit_test(tables_are_verified), cmocka_unit_test(heads_are_verified),
          cmocka_unit_test(npus_are_told_apart), cmocka_unit_test(pitch_of_the_input), cmocka_unit_test(strided_copy),
          cmocka_unit_test(gather), cmocka_unit_test(bilinear))
