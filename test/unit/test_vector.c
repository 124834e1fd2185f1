/*
 * Vector kernels of the simulator against plain C: the same bytes, gaps between outputs included, on random calls of
 * every opcode, on every path this CPU has, with one and with several threads. Buffers have exactly the bytes the
 * program declares, so that a sanitizer sees what is read beyond them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "npu_program.h"
#include "nucleon/simulator.h"

#define CASES 150

struct buffers {
    uint8_t *input[3], *output, *scratch;
};

static uint8_t *exact(const uint8_t *bytes, size_t n)
{
    uint8_t *copy = malloc(n); /* aligned to 16 bytes, and no byte more for a sanitizer */

    assert_non_null(copy);
    memcpy(copy, bytes, n);
    return copy;
}

/* One run on the buffers; the output is filled with a pattern first. */
static void run(const struct program *p, const struct buffers *b, NeutronModelHandle handle,
                enum nuc_simulator_path path, uint32_t threads)
{
    const struct nuc_simulator_options options = {path, threads};
    const void *inputs[3] = {b->input[0], b->input[1], b->input[2]};
    void *outputs[4] = {b->output, b->scratch, NULL, NULL};
    NeutronDataConfig data = {inputs, outputs, NULL, NULL};

    assert_int_equal(nuc_simulator_configure(handle, &options), ENONE);
    assert_int_equal(nuc_simulator_path_of(handle), path);
    memset(b->output, 0x5A, p->output_size[0]);
    assert_int_equal(neutronRunBlocking(handle, &data), ENONE);
}

/* Plain C once, then every other path, with 1 and 3 threads. Frees the program. */
static void check(struct program *p)
{
    struct buffers b = {.scratch = exact(p->scratch, 16)};
    NeutronModelHandle handle = NEUTRON_INVALID_HANDLE;

    program_finish(p);
    b.output = exact(p->output[0], p->output_size[0]);
    for (uint32_t i = 0; i < p->n_inputs; i++)
        b.input[i] = exact(p->input[i], p->input_size[i]);
    uint8_t *weights = exact(p->weights, p->weights_size ? p->weights_size : 1);
    NeutronModelConfig config = {p->microcode, weights, p->scratch, 60};
    assert_int_equal(neutronModelPrepare(&config, &handle), ENONE);
    run(p, &b, handle, NUC_SIMULATOR_PLAIN, 1);
    uint8_t *expected = exact(b.output, p->output_size[0]);
    for (int path = NUC_SIMULATOR_PLAIN + 1; path < NUC_SIMULATOR_PATH_COUNT; path++) {
        for (uint32_t threads = 1; threads <= 3 && nuc_simulator_has_path((enum nuc_simulator_path)path);
             threads += 2) {
            run(p, &b, handle, (enum nuc_simulator_path)path, threads);
            assert_memory_equal(b.output, expected, p->output_size[0]);
        }
    }
    neutronModelUnprepare(handle);
    for (uint32_t i = 0; i < p->n_inputs; i++)
        free(b.input[i]);
    free(b.output);
    free(b.scratch);
    free(expected);
    free(weights);
    free(p);
}

static int32_t one_of(uint32_t *seed, int32_t a, int32_t b, int32_t c)
{
    uint32_t k = program_random(seed) % 3;

    return k == 0 ? a : k == 1 ? b : c;
}

static int32_t random_zero(uint32_t *seed)
{
    return program_random(seed) % 2 ? one_of(seed, -128, 127, 0) : program_range(seed, -128, 127);
}

/* The whole range half of the time; ReLU, ReLU6 and other ranges else. */
static void random_clamp(uint32_t *seed, int32_t *low, int32_t *high)
{
    *low = program_random(seed) % 2 ? -128 : program_range(seed, -128, 60);
    *high = program_random(seed) % 2 ? 127 : program_range(seed, *low, 127);
}

/* A pair that brings sums near the int8 range. */
static void usual_pair(uint32_t *seed, int32_t *multiplier, int32_t *shift)
{
    *multiplier = (int32_t)((1u << 30) + program_random(seed) * 64u % (1u << 30));
    *shift = program_range(seed, -13, 0);
}

/* Now and then any pair the verifier takes. */
static void random_pair(uint32_t *seed, int32_t *multiplier, int32_t *shift)
{
    usual_pair(seed, multiplier, shift);
    if (program_random(seed) % 8 == 0) {
        *multiplier = one_of(seed, 0, INT32_MAX, -(1 << 30));
        *shift = one_of(seed, -31, 30, program_range(seed, -31, 30));
    }
}

/* A call of which one channel is unusual may be none for vectors, so that most have usual ones alone. */
static struct nuc_mc_ref random_requant(struct program *p, uint32_t *seed, int32_t n)
{
    int32_t pairs[2 * 512];
    bool unusual = program_random(seed) % 4 == 0;

    for (int32_t i = 0; i < n; i++)
        (unusual ? random_pair : usual_pair)(seed, &pairs[2 * i], &pairs[2 * i + 1]);
    return program_weights(p, pairs, (uint32_t)n * 8);
}

static struct nuc_mc_ref random_bias(struct program *p, uint32_t *seed, int32_t n)
{
    int32_t bias[512];
    int32_t range = program_random(seed) % 16 == 0 ? INT32_MAX / 2 : 9000;

    for (int32_t i = 0; i < n; i++)
        bias[i] = program_range(seed, -range, range);
    return program_weights(p, bias, (uint32_t)n * 4);
}

static struct nuc_mc_ref random_weights(struct program *p, uint32_t *seed, uint32_t n)
{
    static uint8_t bytes[PROGRAM_BYTES];

    assert_true(n < PROGRAM_BYTES - 20000);
    program_fill(seed, bytes, n);
    return program_weights(p, bytes, n);
}

/* 0, or the size with a gap of up to 9 bytes behind it. */
static int32_t random_pitch(uint32_t *seed, int32_t row)
{
    return program_random(seed) % 2 ? 0 : row + program_range(seed, 0, 9);
}

/* Output of `rows` rows of the record's pitch. */
static struct nuc_mc_ref output_rows(struct program *p, int32_t rows, int32_t row, int32_t pitch)
{
    return program_output(p, (uint32_t)((rows - 1) * (pitch ? pitch : row) + row));
}

static void random_geometry(uint32_t *seed, struct nuc_mc_conv *v)
{
    v->batches = program_range(seed, 1, 2);
    v->in_h = program_range(seed, 1, 12);
    v->in_w = program_range(seed, 1, 20);
    v->out_h = program_range(seed, 1, 8);
    v->out_w = program_range(seed, 1, 11);
    v->k_h = program_range(seed, 1, 5);
    v->k_w = program_range(seed, 1, 5);
    v->stride_h = one_of(seed, 1, 2, 5);
    v->stride_w = one_of(seed, 1, 2, 5);
    v->dilation_h = program_range(seed, 1, 3);
    v->dilation_w = one_of(seed, 1, 1, 3);
    v->pad_top = one_of(seed, 0, 1, 6);
    v->pad_left = one_of(seed, 0, 1, 6);
}

static void finish_conv(struct program *p, uint32_t *seed, struct nuc_mc_conv *v, uint32_t n_weights)
{
    v->weight = random_weights(p, seed, n_weights);
    v->bias = random_bias(p, seed, v->out_c);
    v->requant = random_requant(p, seed, v->out_c);
    v->input_zero = random_zero(seed);
    v->output_zero = random_zero(seed);
    random_clamp(seed, &v->clamp_min, &v->clamp_max);
    v->out_pitch = random_pitch(seed, v->out_c);
    v->input = program_input(p, (uint32_t)(v->batches * v->in_h * v->in_w * v->in_c), seed);
    v->output = output_rows(p, v->batches * v->out_h * v->out_w, v->out_c, v->out_pitch);
}

static void convolution(void **state)
{
    uint32_t seed = 101;

    (void)state;
    for (int i = 0; i < CASES; i++) {
        struct program *p = program_new();
        union nuc_mc_record r = {.conv = {.batches = 0}};
        struct nuc_mc_conv *v = &r.conv;
        random_geometry(&seed, v);
        v->groups = one_of(&seed, 1, 1, program_range(&seed, 1, 4));
        v->in_c = v->groups * one_of(&seed, 1, 4, program_range(&seed, 1, 19));
        v->out_c = v->groups * one_of(&seed, 1, 16, program_range(&seed, 1, 40));
        finish_conv(p, &seed, v, (uint32_t)(v->out_c * v->k_h * v->k_w * (v->in_c / v->groups)));
        program_call(p, NUC_MC_OP_CONV_2D, &r);
        check(p);
    }
}

/* Pixels as rows of a matrix: what most of a network's time goes to. */
static void pointwise_convolution(void **state)
{
    uint32_t seed = 102;

    (void)state;
    for (int i = 0; i < CASES; i++) {
        struct program *p = program_new();
        union nuc_mc_record r = {.conv = {.k_h = 1, .k_w = 1, .stride_h = 1, .stride_w = 1, .dilation_h = 1}};
        struct nuc_mc_conv *v = &r.conv;
        v->dilation_w = 1;
        v->batches = program_range(&seed, 1, 3);
        v->in_h = v->out_h = program_range(&seed, 1, 12);
        v->in_w = v->out_w = program_range(&seed, 1, 12);
        v->groups = one_of(&seed, 1, 1, 2);
        v->in_c = v->groups * one_of(&seed, 4 * program_range(&seed, 1, 16), program_range(&seed, 1, 50), 64);
        v->out_c = v->groups * program_range(&seed, 1, 70);
        finish_conv(p, &seed, v, (uint32_t)(v->out_c * (v->in_c / v->groups)));
        program_call(p, NUC_MC_OP_CONV_2D, &r);
        check(p);
    }
}

static void depthwise_convolution(void **state)
{
    uint32_t seed = 103;

    (void)state;
    for (int i = 0; i < CASES; i++) {
        struct program *p = program_new();
        union nuc_mc_record r = {.conv = {.batches = 0}};
        struct nuc_mc_conv *v = &r.conv;
        random_geometry(&seed, v);
        v->in_c =
            one_of(&seed, 8 * program_range(&seed, 1, 9), program_range(&seed, 1, 90), program_range(&seed, 1, 9));
        v->groups = v->in_c;
        v->out_c = v->in_c * one_of(&seed, 1, 1, program_range(&seed, 1, 3));
        finish_conv(p, &seed, v, (uint32_t)(v->out_c * v->k_h * v->k_w));
        program_call(p, NUC_MC_OP_DEPTHWISE_CONV_2D, &r);
        check(p);
    }
}

static void transposed_convolution(void **state)
{
    uint32_t seed = 104;

    (void)state;
    for (int i = 0; i < CASES; i++) {
        struct program *p = program_new();
        union nuc_mc_record r = {.conv = {.batches = 0}};
        struct nuc_mc_conv *v = &r.conv;
        random_geometry(&seed, v);
        v->dilation_h = v->dilation_w = v->groups = 1;
        v->in_c = program_range(&seed, 1, 20);
        v->out_c = program_range(&seed, 1, 40);
        finish_conv(p, &seed, v, (uint32_t)(v->out_c * v->k_h * v->k_w * v->in_c));
        program_call(p, NUC_MC_OP_TRANSPOSE_CONV, &r);
        check(p);
    }
}

static void set_strides(int transposed, int32_t rows, int32_t depth, int32_t *row_stride, int32_t *depth_stride)
{
    *row_stride = transposed ? 1 : depth;
    *depth_stride = transposed ? rows : 1;
}

/* The right operand is a constant two times out of three. */
static void matrix_product(void **state)
{
    uint32_t seed = 105;

    (void)state;
    for (int n = 0; n < 2 * CASES; n++) {
        struct program *p = program_new();
        union nuc_mc_record r = {.matmul = {.batches = program_range(&seed, 1, 3)}};
        struct nuc_mc_matmul *g = &r.matmul;
        g->rows = program_range(&seed, 1, 20);
        g->columns = program_range(&seed, 1, 100);
        g->depth = one_of(&seed, 1, 4 * program_range(&seed, 1, 16), program_range(&seed, 1, 70));
        set_strides(program_random(&seed) % 4 == 0, g->rows, g->depth, &g->lhs_row_stride, &g->lhs_depth_stride);
        set_strides(program_random(&seed) % 2, g->columns, g->depth, &g->rhs_column_stride, &g->rhs_depth_stride);
        g->lhs_batch_stride = g->rows * g->depth;
        g->rhs_batch_stride = program_random(&seed) % 2 ? 0 : g->columns * g->depth;
        g->has_bias = program_range(&seed, 0, 1);
        g->per_channel = program_range(&seed, 0, 1);
        g->lhs_zero = random_zero(&seed);
        g->rhs_zero = program_random(&seed) % 2 ? 0 : random_zero(&seed);
        g->output_zero = random_zero(&seed);
        random_clamp(&seed, &g->clamp_min, &g->clamp_max);
        uint32_t bytes = (uint32_t)(g->batches * g->columns * g->depth);
        g->lhs = program_input(p, (uint32_t)(g->batches * g->rows * g->depth), &seed);
        g->rhs = n % 3 ? random_weights(p, &seed, bytes) : program_input(p, bytes, &seed);
        g->bias = random_bias(p, &seed, g->columns);
        g->requant = random_requant(p, &seed, g->columns);
        g->out_pitch = random_pitch(&seed, g->columns);
        g->output = output_rows(p, g->batches * g->rows, g->columns, g->out_pitch);
        program_call(p, n % 2 ? NUC_MC_OP_FULLY_CONNECTED : NUC_MC_OP_BATCH_MATMUL, &r);
        check(p);
    }
}

static void elementwise(void **state)
{
    static const uint32_t opcodes[] = {NUC_MC_OP_ADD,     NUC_MC_OP_SUB,     NUC_MC_OP_MUL,
                                       NUC_MC_OP_MAXIMUM, NUC_MC_OP_MINIMUM, NUC_MC_OP_PRELU};
    uint32_t seed = 106;

    (void)state;
    for (int n = 0; n < 3 * CASES; n++) {
        struct program *p = program_new();
        union nuc_mc_record r = {.binary = {.rank = program_range(&seed, 1, 4)}};
        struct nuc_mc_binary *e = &r.binary;
        int32_t sizes[2] = {1, 1}, rows = 1;
        for (int32_t d = e->rank - 1; d >= 0; d--) {
            e->shape[d] = e->rank == 1 ? program_range(&seed, 1, 20000) : program_range(&seed, 1, 30 / e->rank);
            e->a_stride[d] = program_random(&seed) % 4 ? sizes[0] : 0;
            e->b_stride[d] = program_random(&seed) % 4 ? sizes[1] : 0;
            sizes[0] *= e->a_stride[d] ? e->shape[d] : 1;
            sizes[1] *= e->b_stride[d] ? e->shape[d] : 1;
            rows *= d + 1 < e->rank ? e->shape[d] : 1;
        }
        e->a_zero = random_zero(&seed);
        e->b_zero = random_zero(&seed);
        e->output_zero = random_zero(&seed);
        e->left_shift = one_of(&seed, 20, 0, program_range(&seed, 0, 20));
        random_pair(&seed, &e->a_multiplier, &e->a_shift);
        random_pair(&seed, &e->b_multiplier, &e->b_shift);
        random_pair(&seed, &e->out_multiplier, &e->out_shift);
        random_clamp(&seed, &e->clamp_min, &e->clamp_max);
        e->a = program_input(p, (uint32_t)sizes[0], &seed);
        e->b = program_input(p, (uint32_t)sizes[1], &seed);
        e->out_pitch = random_pitch(&seed, e->shape[e->rank - 1]);
        e->output = output_rows(p, rows, e->shape[e->rank - 1], e->out_pitch);
        program_call(p, opcodes[n % 6], &r);
        check(p);
    }
}

static void pooling(void **state)
{
    uint32_t seed = 107;

    (void)state;
    for (int n = 0; n < 2 * CASES; n++) {
        struct program *p = program_new();
        union nuc_mc_record r = {.pool = {.batches = program_range(&seed, 1, 2)}};
        struct nuc_mc_pool *v = &r.pool;
        v->in_h = program_range(&seed, 1, 12);
        v->in_w = program_range(&seed, 1, 12);
        v->out_h = program_range(&seed, 1, 9);
        v->out_w = program_range(&seed, 1, 9);
        v->k_h = program_range(&seed, 1, 9);
        v->k_w = program_range(&seed, 1, 9);
        v->stride_h = program_range(&seed, 1, 3);
        v->stride_w = program_range(&seed, 1, 3);
        v->pad_top = one_of(&seed, 0, 1, 4);
        v->pad_left = one_of(&seed, 0, 1, 4);
        v->channels = one_of(&seed, 1, program_range(&seed, 1, 150), 64);
        v->count_pad = program_range(&seed, 0, 1);
        v->pad_value = random_zero(&seed);
        random_clamp(&seed, &v->clamp_min, &v->clamp_max);
        v->out_pitch = random_pitch(&seed, v->channels);
        v->input = program_input(p, (uint32_t)(v->batches * v->in_h * v->in_w * v->channels), &seed);
        v->output = output_rows(p, v->batches * v->out_h * v->out_w, v->channels, v->out_pitch);
        program_call(p, n % 2 ? NUC_MC_OP_AVERAGE_POOL_2D : NUC_MC_OP_MAX_POOL_2D, &r);
        check(p);
    }
}

/* [n, h, w, c] over (h, w), over c, and over all. */
static void reductions(void **state)
{
    static const uint32_t opcodes[] = {NUC_MC_OP_MEAN, NUC_MC_OP_SUM, NUC_MC_OP_REDUCE_MAX, NUC_MC_OP_REDUCE_MIN};
    uint32_t seed = 108;

    (void)state;
    for (int n = 0; n < 2 * CASES; n++) {
        struct program *p = program_new();
        union nuc_mc_record r = {.reduce = {.input_zero = random_zero(&seed), .output_zero = random_zero(&seed)}};
        struct nuc_mc_reduce *d = &r.reduce;
        int32_t outer = program_range(&seed, 1, 6), middle = program_range(&seed, 1, 20);
        int32_t inner = program_range(&seed, 1, 100);
        bool middle_reduced = program_random(&seed) % 4 != 0;
        d->rank = 2;
        d->shape[0] = outer;
        d->stride[0] = middle * inner;
        d->shape[1] = middle_reduced ? inner : middle;
        d->stride[1] = middle_reduced ? 1 : inner;
        d->reduced_rank = 1;
        d->reduced_shape[0] = middle_reduced ? middle : inner;
        d->reduced_stride[0] = middle_reduced ? inner : 1;
        random_pair(&seed, &d->multiplier, &d->shift);
        d->divisor = 1;
        if (opcodes[n % 4] == NUC_MC_OP_SUM) {
            d->multiplier = program_range(&seed, 1, 1 << 24);
            d->divisor = program_range(&seed, 1, 1 << 24);
            d->shift = program_range(&seed, -8, 1);
        }
        random_clamp(&seed, &d->clamp_min, &d->clamp_max);
        d->input = program_input(p, (uint32_t)(outer * middle * inner), &seed);
        d->output = program_output(p, (uint32_t)(outer * d->shape[1]));
        program_call(p, opcodes[n % 4], &r);
        check(p);
    }
}

static void softmax(void **state)
{
    uint32_t seed = 109;

    (void)state;
    for (int n = 0; n < CASES; n++) {
        struct program *p = program_new();
        union nuc_mc_record r = {.softmax = {.rows = program_range(&seed, 1, 9)}};
        struct nuc_mc_softmax *s = &r.softmax;
        s->depth = one_of(&seed, 1, program_range(&seed, 1, 60), 1001);
        s->multiplier = (int32_t)((1u << 30) + program_random(&seed) * 64u % (1u << 30));
        s->left_shift = program_range(&seed, 15, 26);
        s->diff_min = -(program_range(&seed, 0, 31) << (26 - s->left_shift));
        s->out_pitch = random_pitch(&seed, s->depth);
        s->input = program_input(p, (uint32_t)(s->rows * s->depth), &seed);
        s->output = output_rows(p, s->rows, s->depth, s->out_pitch);
        program_call(p, NUC_MC_OP_SOFTMAX, &r);
        check(p);
    }
}

static void tables(void **state)
{
    uint32_t seed = 110;

    (void)state;
    for (int n = 0; n < CASES; n++) {
        struct program *p = program_new();
        int32_t run = program_range(&seed, 1, 300), runs = program_range(&seed, 1, 40);
        union nuc_mc_record r = {.lut = {.count = run * runs, .run = run}};
        struct nuc_mc_lut *l = &r.lut;
        l->out_pitch = random_pitch(&seed, run);
        l->table = random_weights(p, &seed, 256);
        l->input = program_input(p, (uint32_t)l->count, &seed);
        l->output = output_rows(p, runs, run, l->out_pitch);
        program_call(p, NUC_MC_OP_LUT, &r);
        check(p);
    }
}

/* Transposes of three dimensions into a larger output that is filled first: a pad. */
static void copies(void **state)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    uint32_t seed = 111;

    (void)state;
    for (int n = 0; n < 2 * CASES; n++) {
        struct program *p = program_new();
        union nuc_mc_record r = {.copy = {.rank = 3, .unit = one_of(&seed, 1, 1, program_range(&seed, 1, 9))}};
        struct nuc_mc_copy *c = &r.copy;
        int32_t size[3], stride[3], out = c->unit, pad = program_range(&seed, 0, 20);
        for (int d = 0; d < 3; d++)
            size[d] = program_range(&seed, 1, d == 0 ? 9 : 24);
        stride[2] = c->unit;
        stride[1] = stride[2] * size[2];
        stride[0] = stride[1] * size[1];
        for (int d = 2; d >= 0; d--) {
            c->shape[d] = size[orders[n % 6][d]];
            c->in_stride[d] = stride[orders[n % 6][d]];
            c->out_stride[d] = out;
            out *= c->shape[d];
        }
        c->out_start = pad;
        c->fill_size = pad ? out + 2 * pad : 0;
        c->fill_value = (int32_t)(program_random(&seed) % 256);
        c->input = program_input(p, (uint32_t)out, &seed);
        c->output = program_output(p, (uint32_t)(out + 2 * pad));
        program_call(p, NUC_MC_OP_COPY, &r);
        check(p);
    }
}

static void bilinear(void **state)
{
    uint32_t seed = 112;

    (void)state;
    for (int n = 0; n < CASES; n++) {
        struct program *p = program_new();
        union nuc_mc_record r = {.resize = {.batches = program_range(&seed, 1, 2)}};
        struct nuc_mc_resize *z = &r.resize;
        z->in_h = program_range(&seed, 1, 9);
        z->in_w = program_range(&seed, 1, 9);
        z->out_h = program_range(&seed, 1, 15);
        z->out_w = program_range(&seed, 1, 15);
        z->channels = one_of(&seed, 1, program_range(&seed, 1, 70), 32);
        z->scale_h = 1024 * z->in_h / z->out_h;
        z->scale_w = 1024 * z->in_w / z->out_w;
        z->half_pixel = program_range(&seed, 0, 1);
        z->out_pitch = random_pitch(&seed, z->channels);
        z->input = program_input(p, (uint32_t)(z->batches * z->in_h * z->in_w * z->channels), &seed);
        z->output = output_rows(p, z->batches * z->out_h * z->out_w, z->channels, z->out_pitch);
        program_call(p, NUC_MC_OP_RESIZE_BILINEAR, &r);
        check(p);
    }
}

static void options_are_checked(void **state)
{
    struct program *p = program_new();
    union nuc_mc_record r = {.lut = {.count = 16, .run = 16}};
    uint32_t seed = 113;
    NeutronModelHandle handle;

    (void)state;
    r.lut.table = random_weights(p, &seed, 256);
    r.lut.input = program_input(p, 16, &seed);
    r.lut.output = program_output(p, 16);
    program_call(p, NUC_MC_OP_LUT, &r);
    program_finish(p);
    assert_int_equal(program_prepare(p, &handle), ENONE);
    const struct nuc_simulator_options many = {NUC_SIMULATOR_BEST, NUC_SIMULATOR_MAX_THREADS + 1};
    const struct nuc_simulator_options none = {NUC_SIMULATOR_PATH_COUNT, 1};
    const struct nuc_simulator_options two = {NUC_SIMULATOR_BEST, 2};
    assert_int_equal(GET_ERROR_CATEGORY(nuc_simulator_configure(handle, &many)), ERROR_CATEGORY_DRIVER_INVALID);
    assert_int_equal(GET_ERROR_CATEGORY(nuc_simulator_configure(handle, NULL)), ERROR_CATEGORY_DRIVER_INVALID);
    assert_int_equal(GET_ERROR_CATEGORY(nuc_simulator_configure(handle, &none)), ERROR_CATEGORY_DRIVER_UNSUPPORTED);
    assert_int_equal(GET_ERROR_CATEGORY(nuc_simulator_configure(NULL, &two)), ERROR_CATEGORY_DRIVER_BAD_HANDLE);
    assert_int_equal(nuc_simulator_configure(handle, &two), ENONE);
    assert_null(nuc_simulator_path_name(NUC_SIMULATOR_PATH_COUNT));
    assert_string_equal(nuc_simulator_path_name(NUC_SIMULATOR_PLAIN), "plain");
    neutronModelUnprepare(handle);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolution),
        cmocka_unit_test(pointwise_convolution),
        cmocka_unit_test(depthwise_convolution),
        cmocka_unit_test(transposed_convolution),
        cmocka_unit_test(matrix_product),
        cmocka_unit_test(elementwise),
        cmocka_unit_test(pooling),
        cmocka_unit_test(reductions),
        cmocka_unit_test(softmax),
        cmocka_unit_test(tables),
        cmocka_unit_test(copies),
        cmocka_unit_test(bilinear),
        cmocka_unit_test(options_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
