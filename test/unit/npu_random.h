/*
 * Random records of every kernel, for tests of the simulator: what is allocated for a record is in the program it is
 * made for. A dense one has no gaps between its rows of output, multipliers as a converter makes them, and is small
 * enough for plain loops in 64 bits.
 */
#ifndef TEST_NPU_RANDOM_H
#define TEST_NPU_RANDOM_H

#include "npu_program.h"

struct generator {
    uint32_t seed;
    bool dense;
    bool extreme; /* sums far beyond what a network has, in many channels of every call */
    bool alike;   /* multipliers of channels as a network's layer has them, near each other */
};

static inline uint32_t random_bits(struct generator *g)
{
    return next_random(&g->seed);
}

static inline int32_t range(struct generator *g, int32_t low, int32_t high)
{
    return random_in(&g->seed, low, high);
}

static inline int32_t one_of(struct generator *g, int32_t a, int32_t b, int32_t c)
{
    uint32_t k = random_bits(g) % 3;

    return k == 0 ? a : k == 1 ? b : c;
}

static inline int32_t random_zero(struct generator *g)
{
    return random_bits(g) % 2 ? one_of(g, -128, 127, 0) : range(g, -128, 127);
}

/* The whole range half of the time; ReLU, ReLU6 and other ranges else. */
static inline void random_clamp(struct generator *g, int32_t *low, int32_t *high)
{
    *low = random_bits(g) % 2 ? -128 : range(g, -128, 60);
    *high = random_bits(g) % 2 ? 127 : range(g, *low, 127);
}

/* A pair that brings sums near the int8 range. */
static inline void usual_pair(struct generator *g, int32_t *multiplier, int32_t *shift)
{
    *multiplier = (int32_t)((1u << 30) + random_bits(g) * 64u % (1u << 30));
    *shift = g->alike ? range(g, -9, -4) : range(g, -13, 0);
}

/* Now and then any pair the verifier takes. */
static inline void random_pair(struct generator *g, int32_t *multiplier, int32_t *shift)
{
    usual_pair(g, multiplier, shift);
    if (!g->dense && random_bits(g) % (g->extreme ? 3 : 8) == 0) {
        *multiplier = one_of(g, 0, INT32_MAX, -(1 << 30));
        *shift = one_of(g, -31, 30, range(g, -31, 30));
    }
}

/* A call of which one channel is unusual may be none for vectors, so that most have usual ones alone. */
static inline struct nuc_mc_ref random_requant(struct program *p, struct generator *g, int32_t n)
{
    int32_t pairs[2 * 512];
    bool unusual = g->extreme || (!g->dense && !g->alike && random_bits(g) % 4 == 0);

    for (int32_t i = 0; i < n; i++)
        (unusual ? random_pair : usual_pair)(g, &pairs[2 * i], &pairs[2 * i + 1]);
    return program_weights(p, pairs, (uint32_t)n * 8);
}

/* Next to a power of two, where sums, shifts and roundings leave 31 bits. */
static inline int32_t extreme_bias(struct generator *g)
{
    int32_t at = one_of(g, 1 << 29, 1 << 30, INT32_MAX - 5000) + range(g, -5000, 5000);

    return random_bits(g) % 2 ? -at : at;
}

static inline struct nuc_mc_ref random_bias(struct program *p, struct generator *g, int32_t n)
{
    int32_t bias[512];
    int32_t most = !g->dense && random_bits(g) % 16 == 0 ? INT32_MAX / 2 : 9000;

    if (g->alike && random_bits(g) % 4 == 0) /* results that leave 16 bits */
        most = 1 << 20;
    for (int32_t i = 0; i < n; i++)
        bias[i] = g->extreme && random_bits(g) % 2 ? extreme_bias(g) : range(g, -most, most);
    return program_weights(p, bias, (uint32_t)n * 4);
}

static inline struct nuc_mc_ref random_weights(struct program *p, struct generator *g, uint32_t n)
{
    static uint8_t bytes[PROGRAM_BYTES];

    assert_true(n < PROGRAM_BYTES - 20000);
    program_fill(&g->seed, bytes, n);
    return program_weights(p, bytes, n);
}

/* 0, or the size with a gap of up to 9 bytes after it. */
static inline int32_t random_pitch(struct generator *g, int32_t row)
{
    return g->dense || random_bits(g) % 2 ? 0 : row + range(g, 0, 9);
}

/* An input of rows with a pitch, as small as it may be. */
static inline struct nuc_mc_ref input_rows(struct program *p, struct generator *g, int32_t rows, int32_t row,
                                           int32_t pitch)
{
    return program_input(p, (uint32_t)((rows - 1) * (pitch == 0 ? row : pitch) + row), &g->seed);
}

/* Output of `rows` rows of the record's pitch. */
static inline struct nuc_mc_ref output_rows(struct program *p, int32_t rows, int32_t row, int32_t pitch)
{
    return program_output(p, (uint32_t)((rows - 1) * (pitch ? pitch : row) + row));
}

static inline void random_geometry(struct generator *g, struct nuc_mc_conv *v)
{
    v->batches = range(g, 1, 2);
    v->in_h = range(g, 1, 12);
    v->in_w = range(g, 1, 20);
    v->out_h = range(g, 1, 8);
    v->out_w = range(g, 1, 11);
    v->k_h = range(g, 1, 5);
    v->k_w = range(g, 1, 5);
    v->stride_h = one_of(g, 1, 2, 5);
    v->stride_w = one_of(g, 1, 2, 5);
    v->dilation_h = range(g, 1, 3);
    v->dilation_w = one_of(g, 1, 1, 3);
    v->pad_top = one_of(g, 0, 1, 6);
    v->pad_left = one_of(g, 0, 1, 6);
    if (random_bits(g) % 8 == 0) { /* a column of pixels */
        v->in_w = v->out_w = v->k_w = 1;
        v->pad_left = 0;
    }
}

static inline void finish_conv(struct program *p, struct generator *g, struct nuc_mc_conv *v, uint32_t n_weights)
{
    v->weight = random_weights(p, g, n_weights);
    v->bias = random_bias(p, g, v->out_c);
    v->requant = random_requant(p, g, v->out_c);
    v->input_zero = random_zero(g);
    v->output_zero = random_zero(g);
    random_clamp(g, &v->clamp_min, &v->clamp_max);
    v->out_pitch = random_pitch(g, v->out_c);
    v->in_pitch = random_pitch(g, v->in_c);
    v->input = input_rows(p, g, v->batches * v->in_h * v->in_w, v->in_c, v->in_pitch);
    v->output = output_rows(p, v->batches * v->out_h * v->out_w, v->out_c, v->out_pitch);
}

static inline uint32_t random_conv(struct program *p, struct generator *g, union nuc_mc_record *r, int n)
{
    *r = (union nuc_mc_record){.conv = {.batches = 0}};
    struct nuc_mc_conv *v = &r->conv;
    random_geometry(g, v);
    v->groups = one_of(g, 1, 1, range(g, 1, 4));
    v->in_c = v->groups * one_of(g, 1, 4, range(g, 1, 19));
    v->out_c = v->groups * one_of(g, 1, 16, range(g, 1, 40));
    finish_conv(p, g, v, (uint32_t)(v->out_c * v->k_h * v->k_w * (v->in_c / v->groups)));
    return NUC_MC_OP_CONV_2D;
}

/* Pixels as rows of a matrix: what most of a network's time goes to. */
static inline uint32_t random_pointwise(struct program *p, struct generator *g, union nuc_mc_record *r, int n)
{
    *r = (union nuc_mc_record){.conv = {.k_h = 1, .k_w = 1, .stride_h = 1, .stride_w = 1, .dilation_h = 1}};
    struct nuc_mc_conv *v = &r->conv;
    v->dilation_w = 1;
    v->batches = range(g, 1, 3);
    v->in_h = v->out_h = range(g, 1, 12);
    v->in_w = v->out_w = range(g, 1, 12);
    v->groups = one_of(g, 1, 1, 2);
    v->in_c = v->groups * one_of(g, 4 * range(g, 1, 16), range(g, 1, 50), 64);
    v->out_c = v->groups * range(g, 1, 70);
    finish_conv(p, g, v, (uint32_t)(v->out_c * (v->in_c / v->groups)));
    return NUC_MC_OP_CONV_2D;
}

/* Rows of more pixels than a tile has, which read the same pixels with several taps. */
static inline uint32_t random_wide(struct program *p, struct generator *g, union nuc_mc_record *r, int n)
{
    *r = (union nuc_mc_record){.conv = {.stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1, .groups = 1}};
    struct nuc_mc_conv *v = &r->conv;
    v->batches = 1;
    v->in_h = v->out_h = range(g, 1, 3);
    v->in_w = v->out_w = range(g, 16, 50);
    v->k_h = range(g, 1, 3);
    v->k_w = one_of(g, 3, 3, range(g, 2, 5));
    v->pad_top = v->pad_left = range(g, 0, 1);
    v->in_c = 4 * range(g, 1, 4);
    v->out_c = range(g, 1, 50);
    finish_conv(p, g, v, (uint32_t)(v->out_c * v->k_h * v->k_w * v->in_c));
    return NUC_MC_OP_CONV_2D;
}

static inline uint32_t random_depthwise(struct program *p, struct generator *g, union nuc_mc_record *r, int n)
{
    *r = (union nuc_mc_record){.conv = {.batches = 0}};
    struct nuc_mc_conv *v = &r->conv;
    random_geometry(g, v);
    v->in_c = one_of(g, 8 * range(g, 1, 9), range(g, 1, 90), range(g, 1, 9));
    v->groups = v->in_c;
    v->out_c = v->in_c * one_of(g, 1, 1, range(g, 1, 3));
    finish_conv(p, g, v, (uint32_t)(v->out_c * v->k_h * v->k_w));
    return NUC_MC_OP_DEPTHWISE_CONV_2D;
}

static inline uint32_t random_transposed(struct program *p, struct generator *g, union nuc_mc_record *r, int n)
{
    *r = (union nuc_mc_record){.conv = {.batches = 0}};
    struct nuc_mc_conv *v = &r->conv;
    random_geometry(g, v);
    v->dilation_h = v->dilation_w = v->groups = 1;
    v->in_c = range(g, 1, 20);
    v->out_c = range(g, 1, 40);
    finish_conv(p, g, v, (uint32_t)(v->out_c * v->k_h * v->k_w * v->in_c));
    return NUC_MC_OP_TRANSPOSE_CONV;
}

static inline void set_strides(int transposed, int32_t rows, int32_t depth, int32_t *row_stride, int32_t *depth_stride)
{
    *row_stride = transposed ? 1 : depth;
    *depth_stride = transposed ? rows : 1;
}

/* Heads: rows of `inner` matrices next to each other, in the left operand and in the result. */
static inline void set_heads(struct generator *g, struct nuc_mc_matmul *m)
{
    m->inner = range(g, 1, 3);
    m->batches *= m->inner;
    m->lhs_depth_stride = 1;
    m->lhs_row_stride = m->inner * m->depth;
    m->lhs_inner_stride = m->depth;
    m->lhs_batch_stride = m->rows * m->lhs_row_stride;
    m->rhs_inner_stride = m->rhs_batch_stride;
    m->rhs_batch_stride *= m->inner;
    m->out_pitch = m->inner * m->columns;
    m->out_inner_stride = m->columns;
    m->out_batch_stride = m->rows * m->out_pitch;
}

/* The right operand is a constant two times out of three. */
static inline uint32_t random_product(struct program *p, struct generator *g, union nuc_mc_record *r, int n)
{
    *r = (union nuc_mc_record){.matmul = {.batches = range(g, 1, 3)}};
    struct nuc_mc_matmul *m = &r->matmul;
    m->rows = range(g, 1, 20);
    m->columns = range(g, 1, 100);
    m->depth = one_of(g, 1, 4 * range(g, 1, 16), range(g, 1, 70));
    set_strides(random_bits(g) % 4 == 0, m->rows, m->depth, &m->lhs_row_stride, &m->lhs_depth_stride);
    set_strides(random_bits(g) % 2, m->columns, m->depth, &m->rhs_column_stride, &m->rhs_depth_stride);
    m->lhs_batch_stride = m->rows * m->depth;
    m->rhs_batch_stride = random_bits(g) % 2 ? 0 : m->columns * m->depth;
    m->out_pitch = random_pitch(g, m->columns);
    if (n % 5 == 0)
        set_heads(g, m);
    m->has_bias = range(g, 0, 1);
    m->per_channel = range(g, 0, 1);
    m->lhs_zero = random_zero(g);
    m->rhs_zero = random_bits(g) % 2 ? 0 : random_zero(g);
    m->output_zero = random_zero(g);
    random_clamp(g, &m->clamp_min, &m->clamp_max);
    uint32_t bytes = (uint32_t)(m->batches * m->columns * m->depth);
    m->lhs = program_input(p, (uint32_t)(m->batches * m->rows * m->depth), &g->seed);
    m->rhs = n % 3 ? random_weights(p, g, bytes) : program_input(p, bytes, &g->seed);
    m->bias = random_bias(p, g, m->columns);
    m->requant = random_requant(p, g, m->columns);
    m->output = output_rows(p, m->batches * m->rows, m->columns, m->inner > 0 ? 0 : m->out_pitch);
    return n % 2 ? NUC_MC_OP_FULLY_CONNECTED : NUC_MC_OP_BATCH_MATMUL;
}

static inline uint32_t random_elementwise(struct program *p, struct generator *g, union nuc_mc_record *r, int n)
{
    static const uint32_t opcodes[] = {NUC_MC_OP_ADD,     NUC_MC_OP_SUB,     NUC_MC_OP_MUL,
                                       NUC_MC_OP_MAXIMUM, NUC_MC_OP_MINIMUM, NUC_MC_OP_PRELU};
    *r = (union nuc_mc_record){.binary = {.rank = range(g, 1, 4)}};
    struct nuc_mc_binary *e = &r->binary;
    int32_t sizes[2] = {1, 1}, rows = 1;
    for (int32_t d = e->rank - 1; d >= 0; d--) {
        e->shape[d] = e->rank == 1 ? range(g, 1, 20000) : range(g, 1, 30 / e->rank);
        e->a_stride[d] = random_bits(g) % 4 ? sizes[0] : 0;
        e->b_stride[d] = random_bits(g) % 4 ? sizes[1] : 0;
        sizes[0] *= e->a_stride[d] ? e->shape[d] : 1;
        sizes[1] *= e->b_stride[d] ? e->shape[d] : 1;
        rows *= d + 1 < e->rank ? e->shape[d] : 1;
    }
    e->a_zero = random_zero(g);
    e->b_zero = random_zero(g);
    e->output_zero = random_zero(g);
    e->left_shift = one_of(g, 20, 0, range(g, 0, 20));
    random_pair(g, &e->a_multiplier, &e->a_shift);
    random_pair(g, &e->b_multiplier, &e->b_shift);
    random_pair(g, &e->out_multiplier, &e->out_shift);
    random_clamp(g, &e->clamp_min, &e->clamp_max);
    e->a = program_input(p, (uint32_t)sizes[0], &g->seed);
    e->b = program_input(p, (uint32_t)sizes[1], &g->seed);
    e->out_pitch = random_pitch(g, e->shape[e->rank - 1]);
    e->output = output_rows(p, rows, e->shape[e->rank - 1], e->out_pitch);
    return opcodes[n % 6];
}

static inline uint32_t random_pool(struct program *p, struct generator *g, union nuc_mc_record *r, int n)
{
    *r = (union nuc_mc_record){.pool = {.batches = range(g, 1, 2)}};
    struct nuc_mc_pool *v = &r->pool;
    v->in_h = range(g, 1, 12);
    v->in_w = range(g, 1, 12);
    v->out_h = range(g, 1, 9);
    v->out_w = range(g, 1, 9);
    v->k_h = range(g, 1, 9);
    v->k_w = range(g, 1, 9);
    v->stride_h = range(g, 1, 3);
    v->stride_w = range(g, 1, 3);
    v->pad_top = one_of(g, 0, 1, 4);
    v->pad_left = one_of(g, 0, 1, 4);
    v->channels = one_of(g, 1, range(g, 1, 150), 64);
    v->count_pad = range(g, 0, 1);
    v->pad_value = random_zero(g);
    random_clamp(g, &v->clamp_min, &v->clamp_max);
    v->out_pitch = random_pitch(g, v->channels);
    v->in_pitch = random_pitch(g, v->channels);
    v->input = input_rows(p, g, v->batches * v->in_h * v->in_w, v->channels, v->in_pitch);
    v->output = output_rows(p, v->batches * v->out_h * v->out_w, v->channels, v->out_pitch);
    return n % 2 ? NUC_MC_OP_AVERAGE_POOL_2D : NUC_MC_OP_MAX_POOL_2D;
}

#endif
