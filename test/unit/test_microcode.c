/*
 * Hostile microcode: whatever words a program holds, prepare refuses it or the run stays inside its buffers. Under
 * AddressSanitizer every buffer here is exactly as large as the program says.
 */
#include "npu_program.h"

#define ROUNDS 60000

static int32_t unit_requant[16] = {1 << 30, -3, 1 << 30, -4, 1 << 30, -5, 1 << 30, -6};

static void add_conv(struct program *p, uint32_t opcode, struct nuc_mc_ref in, struct nuc_mc_ref out,
                     struct nuc_mc_ref w)
{
    bool depthwise = opcode == NUC_MC_OP_DEPTHWISE_CONV_2D;
    union nuc_mc_record r = {.conv = {.input = in, .output = out, .weight = w, .bias = w, .requant = w}};
    struct nuc_mc_conv *c = &r.conv;

    c->requant.offset = 0;
    c->batches = c->dilation_h = c->dilation_w = c->stride_w = 1;
    c->in_h = 5, c->in_w = 4, c->in_c = c->out_c = 4;
    c->out_h = 3, c->out_w = 4;
    c->k_h = 3, c->k_w = 2;
    c->stride_h = 2, c->pad_top = 1, c->pad_left = 1;
    c->groups = depthwise ? 4 : 1;
    c->clamp_min = -128, c->clamp_max = 127;
    program_call(p, opcode, &r);
}

static void add_elementwise(struct program *p, struct nuc_mc_ref a, struct nuc_mc_ref b, struct nuc_mc_ref out)
{
    for (uint32_t opcode = NUC_MC_OP_ADD; opcode <= NUC_MC_OP_PRELU; opcode++) {
        union nuc_mc_record r = {.binary = {.a = a, .b = b, .output = out, .rank = 3, .shape = {2, 3, 4}}};
        const int32_t a_stride[3] = {12, 4, 1}, b_stride[3] = {0, 4, 0};
        memcpy(r.binary.a_stride, a_stride, sizeof a_stride);
        memcpy(r.binary.b_stride, b_stride, sizeof b_stride);
        r.binary.left_shift = 20;
        r.binary.a_multiplier = r.binary.b_multiplier = r.binary.out_multiplier = 1 << 30;
        r.binary.out_shift = -19;
        r.binary.clamp_min = -128, r.binary.clamp_max = 127;
        program_call(p, opcode, &r);
    }
}

static void add_windows(struct program *p, struct nuc_mc_ref in, struct nuc_mc_ref out)
{
    union nuc_mc_record r = {.pool = {.input = in, .output = out, .batches = 1, .in_h = 5, .in_w = 4, .channels = 4}};
    struct nuc_mc_pool *v = &r.pool;
    struct nuc_mc_reduce *d = &r.reduce;

    v->out_h = v->out_w = 3;
    v->k_h = 3, v->k_w = 2, v->stride_h = 2, v->stride_w = 1, v->pad_top = 1;
    v->clamp_min = -128, v->clamp_max = 127;
    program_call(p, NUC_MC_OP_AVERAGE_POOL_2D, &r);
    r.pool.count_pad = 1;
    program_call(p, NUC_MC_OP_AVERAGE_POOL_2D, &r);
    program_call(p, NUC_MC_OP_MAX_POOL_2D, &r);
    *d = (struct nuc_mc_reduce){.input = in, .output = out, .rank = 2, .shape = {5, 4}, .stride = {16, 1}};
    d->reduced_rank = 1, d->reduced_shape[0] = 4, d->reduced_stride[0] = 4;
    d->multiplier = d->divisor = 1 << 23;
    d->shift = -2, d->clamp_min = -128, d->clamp_max = 127;
    for (uint32_t opcode = NUC_MC_OP_MEAN; opcode <= NUC_MC_OP_REDUCE_MIN; opcode++)
        program_call(p, opcode, &r);
    r.resize = (struct nuc_mc_resize){.input = in, .output = out, .batches = 1, .in_h = 5, .in_w = 2, .channels = 2};
    r.resize.out_h = 10, r.resize.out_w = 4, r.resize.half_pixel = 1;
    r.resize.scale_h = r.resize.scale_w = 512;
    program_call(p, NUC_MC_OP_RESIZE_BILINEAR, &r);
}

static void add_moves(struct program *p, struct nuc_mc_ref in, struct nuc_mc_ref out, struct nuc_mc_ref w)
{
    union nuc_mc_record r = {.copy = {.input = in, .output = out, .rank = 2, .unit = 2, .shape = {5, 4}}};
    struct nuc_mc_matmul *m = &r.matmul;

    r.copy.in_stride[0] = 16, r.copy.in_stride[1] = 2;
    r.copy.out_stride[0] = 2, r.copy.out_stride[1] = 10;
    r.copy.out_start = 3, r.copy.fill_size = 60;
    program_call(p, NUC_MC_OP_COPY, &r);
    r.copy.input.offset = 64;
    r.copy.in_stride[0] = -16;
    program_call(p, NUC_MC_OP_COPY, &r);
    r.gather = (struct nuc_mc_gather){.input = in, .output = out, .table = w, .rank = 2, .unit = 1, .shape = {2, 2}};
    r.gather.table.offset = 64;
    program_call(p, NUC_MC_OP_GATHER, &r);
    r.lut = (struct nuc_mc_lut){.input = in, .output = out, .table = w, .count = 64};
    program_call(p, NUC_MC_OP_LUT, &r);
    r.softmax = (struct nuc_mc_softmax){
        .input = in, .output = out, .rows = 4, .depth = 16, .multiplier = 1 << 30, .left_shift = 22, .diff_min = -248};
    program_call(p, NUC_MC_OP_SOFTMAX, &r);
    *m = (struct nuc_mc_matmul){.lhs = in, .rhs = w, .output = out, .bias = w, .requant = w, .has_bias = 1};
    m->per_channel = 1, m->batches = 2, m->rows = 3, m->columns = 4, m->depth = 8;
    m->lhs_batch_stride = 24, m->lhs_row_stride = 8, m->rhs_column_stride = 8;
    m->lhs_depth_stride = m->rhs_depth_stride = 1;
    m->clamp_min = -128, m->clamp_max = 127;
    program_call(p, NUC_MC_OP_FULLY_CONNECTED, &r);
    m->rhs_zero = 3;
    program_call(p, NUC_MC_OP_BATCH_MATMUL, &r);
}

/* Calls whose result goes through a table: dense, in rows, and over an operand. */
static void add_with_tables(struct program *p, struct nuc_mc_ref in, struct nuc_mc_ref mid, struct nuc_mc_ref out,
                            struct nuc_mc_ref w)
{
    union nuc_mc_record r = {.binary = {.a = mid, .b = in, .output = mid, .rank = 1, .shape = {16}, .out_pitch = 16}};

    r.binary.a_stride[0] = r.binary.b_stride[0] = 1;
    r.binary.clamp_max = 127;
    program_call_with_table(p, NUC_MC_OP_MAXIMUM, &r, w);
    r.pool = (struct nuc_mc_pool){.input = in, .output = out, .batches = 1, .in_h = 5, .in_w = 4, .channels = 4};
    r.pool.out_h = 4, r.pool.out_w = 3, r.pool.k_h = 2, r.pool.k_w = 2, r.pool.stride_h = 1, r.pool.stride_w = 1;
    r.pool.clamp_min = -128, r.pool.clamp_max = 127, r.pool.out_pitch = 6;
    program_call_with_table(p, NUC_MC_OP_MAX_POOL_2D, &r, w);
}

/* A program with a call of every opcode. */
static struct program *every_opcode(void)
{
    struct program *p = program_new();
    uint32_t seed = 3;
    uint8_t bytes[256];

    program_fill(&seed, bytes, sizeof bytes);
    memcpy(bytes, unit_requant, sizeof unit_requant);
    for (size_t i = 0; i < 4; i++)
        nuc_store_u32(bytes + 64 + i * 4, (uint32_t)i * 5);
    struct nuc_mc_ref w = program_weights(p, bytes, sizeof bytes);
    struct nuc_mc_ref in = program_input(p, 80, &seed), out = program_output(p, 80);
    struct nuc_mc_ref mid = {nuc_mc_where(NUC_MC_SCRATCH, 0), 0};
    p->scratch_size = 80;
    add_conv(p, NUC_MC_OP_CONV_2D, in, mid, w);
    add_conv(p, NUC_MC_OP_DEPTHWISE_CONV_2D, mid, out, w);
    add_conv(p, NUC_MC_OP_TRANSPOSE_CONV, in, mid, w);
    add_with_tables(p, in, mid, out, w);
    add_elementwise(p, mid, in, out);
    add_windows(p, mid, out);
    add_moves(p, in, out, w);
    program_finish(p);
    return p;
}

static uint32_t header(const uint8_t *mc, uint32_t word)
{
    return nuc_load_u32(mc + word * 4);
}

static uint8_t *exact(const uint8_t *from, uint32_t size)
{
    uint8_t *bytes;

    assert_int_equal(posix_memalign((void **)&bytes, 16, size ? size : 1), 0);
    if (from)
        memcpy(bytes, from, size);
    else
        memset(bytes, 0x11, size);
    return bytes;
}

/* Prepares and, when that succeeds and the sizes are those of the buffers, runs. Returns whether it ran. */
static bool try_program(const struct program *p, const uint8_t *mc, uint32_t size)
{
    uint8_t *microcode = exact(mc, size), *weights = exact(p->weights, p->weights_size);
    NeutronModelConfig config = {microcode, weights, weights, 1};
    NeutronModelHandle handle = NULL;
    bool ran = false;
    bool sizes = header(mc, NUC_MC_WORD_SIZE) <= size && header(mc, NUC_MC_WORD_WEIGHTS) <= p->weights_size &&
                 header(mc, NUC_MC_WORD_INPUTS) == 1 && header(mc, NUC_MC_WORD_OUTPUTS) == 1 &&
                 header(mc, NUC_MC_WORD_SCRATCH) < 1 << 20 && header(mc, NUC_MC_WORD_PROFILE) == 0;

    if (sizes && neutronModelPrepare(&config, &handle) == ENONE) {
        uint32_t io = header(mc, NUC_MC_WORD_IO_OFFSET);
        uint32_t in_size = nuc_load_u32(mc + io), out_size = nuc_load_u32(mc + io + 4);
        if (in_size < 1 << 20 && out_size < 1 << 20) {
            const void *inputs[1] = {exact(in_size <= 80 ? p->input[0] : NULL, in_size)};
            void *outputs[4] = {exact(NULL, out_size), exact(NULL, header(mc, NUC_MC_WORD_SCRATCH)), NULL, NULL};
            NeutronDataConfig data = {inputs, outputs, NULL, NULL};
            assert_int_equal(neutronRunBlocking(handle, &data), ENONE);
            ran = true;
            free((void *)(uintptr_t)inputs[0]);
            free(outputs[0]);
            free(outputs[1]);
        }
        neutronModelUnprepare(handle);
    }
    free(microcode);
    free(weights);
    return ran;
}

static void every_opcode_runs(void **state)
{
    struct program *p = every_opcode();

    assert_int_equal(p->n_calls, 26);
    assert_true(try_program(p, p->microcode, header(p->microcode, NUC_MC_WORD_SIZE)));
    free(p);
}

/* Values that break arithmetic more often than random ones. */
static uint32_t nasty(uint32_t *seed, uint32_t old)
{
    static const uint32_t values[] = {0, 1, 2, 127, 128, 255, 256, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1u << 28, 65535};

    switch (next_random(seed) % 4) {
    case 0:
        return values[next_random(seed) % (sizeof values / sizeof *values)];
    case 1:
        return old ^ 1u << next_random(seed) % 32;
    case 2:
        return old + (next_random(seed) % 9) - 4;
    default:
        return old << next_random(seed) % 12;
    }
}

static void changed_words(void **state)
{
    struct program *p = every_opcode();
    uint32_t seed = 4, ran = 0, size = header(p->microcode, NUC_MC_WORD_SIZE);
    uint8_t *mc = malloc(size);

    for (int round = 0; round < ROUNDS; round++) {
        memcpy(mc, p->microcode, size);
        for (uint32_t k = next_random(&seed) % 3 + 1; k > 0; k--) {
            uint32_t at = next_random(&seed) % (size / 4) * 4;
            nuc_store_u32(mc + at, nasty(&seed, nuc_load_u32(mc + at)));
        }
        ran += try_program(p, mc, size) ? 1u : 0u;
    }
    assert_true(ran > ROUNDS / 100 && ran < ROUNDS);
    free(mc);
    free(p);
}

/* Tables of multipliers and offsets are part of what is verified. */
static void changed_tables(void **state)
{
    struct program *p = every_opcode();
    uint32_t seed = 5, size = header(p->microcode, NUC_MC_WORD_SIZE), ran = 0;
    uint8_t kept[256];

    memcpy(kept, p->weights, sizeof kept);
    for (int round = 0; round < 2000; round++) {
        uint32_t at = next_random(&seed) % 20 * 4;
        nuc_store_u32(p->weights + at, nasty(&seed, nuc_load_u32(p->weights + at)));
        ran += try_program(p, p->microcode, size) ? 1u : 0u;
        memcpy(p->weights, kept, sizeof kept);
    }
    assert_true(ran > 0 && ran < 2000);
    free(p);
}

static void cut_off(void **state)
{
    struct program *p = every_opcode();
    uint32_t size = header(p->microcode, NUC_MC_WORD_SIZE);

    for (uint32_t cut = NUC_MC_HEADER_WORDS * 4; cut < size; cut += 4) {
        uint8_t *mc = exact(p->microcode, cut);
        nuc_store_u32(mc + NUC_MC_WORD_SIZE * 4, cut);
        assert_false(try_program(p, mc, cut));
        free(mc);
    }
    free(p);
}

/* Inputs and weights are never written. */
static void targets_are_writable(void **state)
{
    static const uint32_t spaces[] = {NUC_MC_INPUT, NUC_MC_WEIGHTS};

    for (int i = 0; i < 2; i++) {
        struct program *p = program_new();
        uint32_t seed = 1;
        NeutronModelHandle handle;
        uint8_t bytes[256] = {0};
        union nuc_mc_record r = {.lut = {.count = 4}};
        r.lut.table = program_weights(p, bytes, sizeof bytes);
        r.lut.input = program_input(p, 4, &seed);
        r.lut.output = (struct nuc_mc_ref){nuc_mc_where((enum nuc_mc_space)spaces[i], 0), 0};
        program_call(p, NUC_MC_OP_LUT, &r);
        program_finish(p);
        assert_int_equal(GET_ERROR_CATEGORY(program_prepare(p, &handle)), ERROR_CATEGORY_DRIVER_UCODE);
        free(p);
    }
}

static void records_are_whole_words(void **state)
{
    for (uint32_t opcode = 1; opcode < NUC_MC_OPCODE_COUNT; opcode++) {
        assert_true(nuc_mc_record_size(opcode) > sizeof(struct nuc_mc_call));
        assert_int_equal(nuc_mc_record_size(opcode) % 4, 0);
    }
    assert_int_equal(nuc_mc_record_size(0), 0);
    assert_int_equal(nuc_mc_record_size(NUC_MC_OPCODE_COUNT), 0);
    assert_int_equal(nuc_mc_record_size(0xFFFFFFFF), 0);
}

RUN_TESTS(cmocka_unit_test(every_opcode_runs), cmocka_unit_test(changed_words), cmocka_unit_test(changed_tables),
          cmocka_unit_test(cut_off), cmocka_unit_test(targets_are_writable), cmocka_unit_test(records_are_whole_words))
