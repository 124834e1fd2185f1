/* Strided outputs: the same values as without gaps, rows out_pitch bytes apart, and the bytes between them untouched.
 */
#include <math.h>

#include "npu_program.h"

#define GUARD 0x5A

/* Rows of an output: how many, how long. `output` and `pitch` are the record's members. */
struct rows {
    uint32_t opcode;
    int32_t n, size;
    struct nuc_mc_ref *output;
    int32_t *pitch;
};

/* Runs the record twice in one program, dense into output 0 and with a pitch into output 1, and compares. */
static void check_rows(struct program *p, union nuc_mc_record *r, const struct rows *rows)
{
    int32_t pitch = rows->size + 3;

    *rows->output = program_output(p, (uint32_t)(rows->n * rows->size));
    program_call(p, rows->opcode, r);
    *rows->output = program_output(p, (uint32_t)(rows->n * pitch));
    rows->output->offset = 2;
    *rows->pitch = pitch;
    program_call(p, rows->opcode, r);
    memset(p->output[1], GUARD, sizeof p->output[1]);
    assert_int_equal(program_run(p), ENONE);
    for (int32_t i = 0; i < rows->n; i++) {
        const uint8_t *row = p->output[1] + 2 + i * pitch;
        assert_memory_equal(row, p->output[0] + i * rows->size, (size_t)rows->size);
        for (int32_t k = rows->size; k < pitch; k++)
            assert_int_equal(row[k], GUARD);
    }
    assert_int_equal(p->output[1][1], GUARD);
    free(p);
}

/* A pitch below the row, and one that leads beyond the buffer, are refused. */
static void check_refused(struct program *p, union nuc_mc_record *r, const struct rows *rows, int32_t pitch)
{
    NeutronModelHandle handle;

    *rows->output = program_output(p, (uint32_t)(rows->n * (rows->size + 3)));
    *rows->pitch = pitch;
    program_call(p, rows->opcode, r);
    program_finish(p);
    assert_int_not_equal(program_prepare(p, &handle), ENONE);
    free(p);
}

static void set_tables(struct program *p, uint32_t *seed, int32_t n, struct nuc_mc_ref *bias,
                       struct nuc_mc_ref *requant)
{
    int32_t words[32], pairs[64];

    for (int32_t i = 0; i < n; i++) {
        words[i] = random_in(seed, -3000, 3000);
        pairs[2 * i] = (1 << 30) + random_in(seed, 0, 1 << 29);
        pairs[2 * i + 1] = -8;
    }
    *bias = program_weights(p, words, (uint32_t)n * 4);
    *requant = program_weights(p, pairs, (uint32_t)n * 8);
}

static struct rows make_conv(struct program *p, union nuc_mc_record *r, uint32_t opcode, int32_t out_c)
{
    bool depthwise = opcode == NUC_MC_OP_DEPTHWISE_CONV_2D;
    uint32_t seed = opcode;
    uint8_t weight[2 * 3 * 70 * 4];
    struct nuc_mc_conv *c = &r->conv;

    r->conv = (struct nuc_mc_conv){.batches = 2, .in_h = 4, .in_w = 5, .out_h = 4, .out_w = 5, .k_h = 2, .k_w = 3};
    c->in_c = depthwise ? out_c : 4;
    c->out_c = out_c;
    c->stride_h = c->stride_w = c->dilation_h = c->dilation_w = c->pad_top = c->pad_left = 1;
    c->groups = depthwise ? out_c : 1;
    c->input_zero = 3, c->output_zero = -4, c->clamp_min = -100, c->clamp_max = 120;
    program_fill(&seed, weight, sizeof weight);
    c->weight = program_weights(p, weight, sizeof weight);
    set_tables(p, &seed, out_c, &c->bias, &c->requant);
    c->input = program_input(p, (uint32_t)(40 * c->in_c), &seed);
    return (struct rows){opcode, 40, out_c, &c->output, &c->out_pitch};
}

static struct rows make_pool(struct program *p, union nuc_mc_record *r, uint32_t opcode)
{
    uint32_t seed = opcode;

    r->pool = (struct nuc_mc_pool){.batches = 2, .in_h = 4, .in_w = 4, .channels = 70, .out_h = 2, .out_w = 2};
    r->pool.k_h = r->pool.k_w = r->pool.stride_h = r->pool.stride_w = 2;
    r->pool.clamp_min = -128, r->pool.clamp_max = 127;
    r->pool.input = program_input(p, 2 * 16 * 70, &seed);
    return (struct rows){opcode, 8, 70, &r->pool.output, &r->pool.out_pitch};
}

static struct rows make_matmul(struct program *p, union nuc_mc_record *r)
{
    struct nuc_mc_matmul *m = &r->matmul;
    uint32_t seed = 7;

    r->matmul =
        (struct nuc_mc_matmul){.batches = 2, .rows = 3, .columns = 5, .depth = 6, .lhs_zero = 5, .output_zero = 1};
    m->lhs_batch_stride = 18, m->lhs_row_stride = 6, m->lhs_depth_stride = 1;
    m->rhs_batch_stride = 30, m->rhs_column_stride = 6, m->rhs_depth_stride = 1;
    m->has_bias = m->per_channel = 1;
    m->clamp_min = -128, m->clamp_max = 127;
    m->lhs = program_input(p, 36, &seed);
    m->rhs = program_input(p, 60, &seed);
    set_tables(p, &seed, 5, &m->bias, &m->requant);
    return (struct rows){NUC_MC_OP_BATCH_MATMUL, 6, 5, &m->output, &m->out_pitch};
}

static struct rows make_binary(struct program *p, union nuc_mc_record *r, uint32_t opcode)
{
    uint32_t seed = opcode;
    bool sum = opcode <= NUC_MC_OP_SUB;
    struct nuc_mc_binary *b = &r->binary;

    *b = (struct nuc_mc_binary){.rank = 3, .shape = {2, 3, 37}, .a_stride = {111, 37, 1}, .b_stride = {37, 0, 1}};
    b->a_zero = 2, b->b_zero = -3;
    b->left_shift = sum ? 20 : 0;
    b->a_multiplier = b->b_multiplier = b->out_multiplier = 1 << 30;
    b->out_shift = sum ? -19 : -5;
    b->clamp_min = -128, b->clamp_max = 127;
    b->a = program_input(p, 222, &seed);
    b->b = program_input(p, 74, &seed);
    return (struct rows){opcode, 6, 37, &b->output, &b->out_pitch};
}

static struct rows make_lut(struct program *p, union nuc_mc_record *r)
{
    uint32_t seed = 9;
    uint8_t table[256];

    program_fill(&seed, table, sizeof table);
    r->lut = (struct nuc_mc_lut){.count = 6 * 35, .run = 35};
    r->lut.table = program_weights(p, table, sizeof table);
    r->lut.input = program_input(p, 6 * 35, &seed);
    return (struct rows){NUC_MC_OP_LUT, 6, 35, &r->lut.output, &r->lut.out_pitch};
}

static struct rows make_resize(struct program *p, union nuc_mc_record *r)
{
    uint32_t seed = 10;

    r->resize = (struct nuc_mc_resize){.batches = 2, .in_h = 3, .in_w = 2, .channels = 9, .out_h = 6, .out_w = 4};
    r->resize.scale_h = r->resize.scale_w = 512;
    r->resize.half_pixel = 1;
    r->resize.input = program_input(p, 2 * 6 * 9, &seed);
    return (struct rows){NUC_MC_OP_RESIZE_BILINEAR, 48, 9, &r->resize.output, &r->resize.out_pitch};
}

static struct rows make_softmax(struct program *p, union nuc_mc_record *r)
{
    uint32_t seed = 11;

    r->softmax =
        (struct nuc_mc_softmax){.rows = 4, .depth = 13, .multiplier = 1 << 30, .left_shift = 23, .diff_min = -248};
    r->softmax.input = program_input(p, 4 * 13, &seed);
    return (struct rows){NUC_MC_OP_SOFTMAX, 4, 13, &r->softmax.output, &r->softmax.out_pitch};
}

/* exp(-d / 20) in units of 2^-31. */
static void exponentials(uint32_t *table)
{
    for (int d = 0; d < 256; d++)
        table[d] = (uint32_t)llround(exp(-d / 20.0) * 2147483648.0);
}

static struct rows make_softmax_table(struct program *p, union nuc_mc_record *r, int32_t rows, int32_t depth)
{
    uint32_t seed = 12, table[256];

    exponentials(table);
    r->softmax_table = (struct nuc_mc_softmax_table){.rows = rows, .depth = depth};
    r->softmax_table.table = program_weights(p, table, sizeof table);
    r->softmax_table.input = program_input(p, (uint32_t)(rows * depth), &seed);
    return (struct rows){NUC_MC_OP_SOFTMAX_TABLE, rows, depth, &r->softmax_table.output, &r->softmax_table.out_pitch};
}

#define KINDS 11

static struct rows make(int kind, struct program *p, union nuc_mc_record *r)
{
    switch (kind) {
    case 0:
        return make_conv(p, r, NUC_MC_OP_CONV_2D, 7);
    case 1:
        return make_conv(p, r, NUC_MC_OP_DEPTHWISE_CONV_2D, 6);
    case 2:
        return make_conv(p, r, NUC_MC_OP_TRANSPOSE_CONV, 5);
    case 3:
        return make_pool(p, r, NUC_MC_OP_AVERAGE_POOL_2D);
    case 4:
        return make_pool(p, r, NUC_MC_OP_MAX_POOL_2D);
    case 5:
        return make_matmul(p, r);
    case 6:
        return make_binary(p, r, NUC_MC_OP_ADD);
    case 7:
        return make_lut(p, r);
    case 8:
        return make_resize(p, r);
    case 9:
        return make_softmax(p, r);
    default:
        return make_softmax_table(p, r, 3, 50);
    }
}

static void strided_outputs(void **state)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct program *p = program_new();
        union nuc_mc_record r;
        struct rows rows = make(kind, p, &r);
        check_rows(p, &r, &rows);
    }
}

static void bad_pitches(void **state)
{
    for (int kind = 0; kind < KINDS; kind++) {
        for (int wrong = 0; wrong < 3; wrong++) {
            struct program *p = program_new();
            union nuc_mc_record r;
            struct rows rows = make(kind, p, &r);
            check_refused(p, &r, &rows, wrong == 0 ? rows.size - 1 : wrong == 1 ? 4 * (rows.size + 4) : -1);
        }
    }
}

/* Each value is the real softmax rounded once, with more classes than the fixed-point kernel takes. */
static void softmax_of_many(void **state)
{
    const int32_t rows = 3, depth = 9000;
    struct program *p = program_new();
    union nuc_mc_record r;
    struct rows out = make_softmax_table(p, &r, rows, depth);

    memset(p->input[0], 0x80, 8990); /* all but a few classes of the first row are far below the others */
    *out.output = program_output(p, (uint32_t)(rows * depth));
    program_call(p, NUC_MC_OP_SOFTMAX_TABLE, &r);
    assert_int_equal(program_run(p), ENONE);
    for (int32_t row = 0; row < rows; row++) {
        const int8_t *in = (const int8_t *)p->input[0] + row * depth;
        double sum = 0;
        for (int32_t i = 0; i < depth; i++)
            sum += exp(in[i] / 20.0);
        for (int32_t i = 0; i < depth; i++) {
            double want = fmin(floor(exp(in[i] / 20.0) / sum * 256.0 + 0.5) - 128.0, 127.0);
            assert_int_equal((int8_t)p->output[0][row * depth + i], (int)want);
        }
    }
    free(p);
}

/* A table that could make a sum of 0, or one beyond 64 bits, is refused. */
static void bad_exponentials(void **state)
{
    for (int wrong = 0; wrong < 2; wrong++) {
        struct program *p = program_new();
        union nuc_mc_record r;
        NeutronModelHandle handle;
        struct rows rows = make_softmax_table(p, &r, 1, 4);
        *rows.output = program_output(p, 4);
        nuc_store_u32(p->weights + r.softmax_table.table.offset + (wrong ? 40 : 0), wrong ? 0x80000001u : 5);
        program_call(p, NUC_MC_OP_SOFTMAX_TABLE, &r);
        program_finish(p);
        assert_int_not_equal(program_prepare(p, &handle), ENONE);
        free(p);
    }
}

RUN_TESTS(cmocka_unit_test(strided_outputs), cmocka_unit_test(bad_pitches), cmocka_unit_test(softmax_of_many),
          cmocka_unit_test(bad_exponentials))
