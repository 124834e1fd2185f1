/*
 * Vector kernels of the simulator against plain C: the same bytes, gaps between outputs included, on random calls of
 * every opcode, on every path this CPU has, with one and with several threads. Buffers have exactly the bytes the
 * program declares, so that a sanitizer sees what is read beyond them.
 */
#include <math.h>
#include <string.h>

#include "device/base/microcode_binary.h"
#include "device/npusim/npu_host.h"
#include "npu_random.h"
#include "npusim_host/vector_call.h"
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

/* One run on the buffers; the output is filled with a pattern first. Threads take what would not be worth it, too. */
static void run(const struct program *p, const struct buffers *b, NeutronModelHandle handle,
                enum nuc_simulator_path path, uint32_t threads)
{
    const struct nuc_simulator_options options = {path, threads};
    struct nuc_npu *npu = nuc_npu_of(handle);
    const void *inputs[3] = {b->input[0], b->input[1], b->input[2]};
    void *outputs[4] = {b->output, b->scratch, NULL, NULL};
    NeutronDataConfig data = {inputs, outputs, NULL, NULL};

    assert_int_equal(nuc_simulator_configure(handle, &options), ENONE);
    assert_int_equal(nuc_simulator_path_of(handle), path);
    if (threads > 1) {
        npu_host_close(npu->host);
        npu->host = npu_host_open(npu, path, threads, true);
        assert_non_null(npu->host);
    }
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

/* [n, h, w, c] over (h, w), over c, and over all. */
static uint32_t random_reduction(struct program *p, struct generator *g, union nuc_mc_record *r, int n)
{
    static const uint32_t opcodes[] = {NUC_MC_OP_MEAN, NUC_MC_OP_SUM, NUC_MC_OP_REDUCE_MAX, NUC_MC_OP_REDUCE_MIN};
    *r = (union nuc_mc_record){.reduce = {.input_zero = random_zero(g), .output_zero = random_zero(g)}};
    struct nuc_mc_reduce *d = &r->reduce;
    int32_t outer = range(g, 1, 6), middle = one_of(g, range(g, 1, 20), range(g, 1, 20), range(g, 250, 600));
    int32_t inner = range(g, 1, 100);
    bool middle_reduced = random_bits(g) % 4 != 0;
    d->rank = 2;
    d->shape[0] = outer;
    d->stride[0] = middle * inner;
    d->shape[1] = middle_reduced ? inner : middle;
    d->stride[1] = middle_reduced ? 1 : inner;
    d->reduced_rank = 1;
    d->reduced_shape[0] = middle_reduced ? middle : inner;
    d->reduced_stride[0] = middle_reduced ? inner : 1;
    if (middle_reduced && middle % 3 == 0) { /* two dimensions, one after the other or by turns */
        bool turns = random_bits(g) % 2 == 0;
        d->reduced_rank = 2;
        d->reduced_shape[0] = turns ? 3 : middle / 3;
        d->reduced_shape[1] = middle / d->reduced_shape[0];
        d->reduced_stride[0] = turns ? inner : 3 * inner;
        d->reduced_stride[1] = turns ? 3 * inner : inner;
    }
    random_pair(g, &d->multiplier, &d->shift);
    d->divisor = 1;
    if (opcodes[n % 4] == NUC_MC_OP_SUM) {
        d->multiplier = range(g, 1, 1 << 24);
        d->divisor = range(g, 1, 1 << 24);
        d->shift = range(g, -8, 1);
    }
    random_clamp(g, &d->clamp_min, &d->clamp_max);
    d->input = program_input(p, (uint32_t)(outer * middle * inner), &g->seed);
    d->output = program_output(p, (uint32_t)(outer * d->shape[1]));
    return opcodes[n % 4];
}

static uint32_t random_softmax(struct program *p, struct generator *g, union nuc_mc_record *r, int n)
{
    *r = (union nuc_mc_record){.softmax = {.rows = range(g, 1, 9)}};
    struct nuc_mc_softmax *s = &r->softmax;
    s->depth = one_of(g, 1, range(g, 1, 60), 1001);
    s->multiplier = (int32_t)((1u << 30) + random_bits(g) * 64u % (1u << 30));
    s->left_shift = range(g, 15, 26);
    s->diff_min = -(range(g, 0, 31) << (26 - s->left_shift));
    s->out_pitch = random_pitch(g, s->depth);
    s->input = program_input(p, (uint32_t)(s->rows * s->depth), &g->seed);
    s->output = output_rows(p, s->rows, s->depth, s->out_pitch);
    return NUC_MC_OP_SOFTMAX;
}

static uint32_t random_table(struct program *p, struct generator *g, union nuc_mc_record *r, int n)
{
    int32_t run = range(g, 1, 300), runs = range(g, 1, 40);
    *r = (union nuc_mc_record){.lut = {.count = run * runs, .run = run}};
    struct nuc_mc_lut *l = &r->lut;
    l->out_pitch = random_pitch(g, run);
    l->table = random_weights(p, g, 256);
    l->in_pitch = random_pitch(g, run);
    l->input = input_rows(p, g, runs, run, l->in_pitch);
    l->output = output_rows(p, runs, run, l->out_pitch);
    return NUC_MC_OP_LUT;
}

/* Transposes of three dimensions into a larger output that is filled first: a pad. */
static uint32_t random_copy(struct program *p, struct generator *g, union nuc_mc_record *r, int n)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const int32_t most[2][3] = {{9, 24, 24}, {9, 40, 150}};
    *r = (union nuc_mc_record){.copy = {.rank = 3, .unit = one_of(g, 1, 1, range(g, 1, 9))}};
    struct nuc_mc_copy *c = &r->copy;
    int32_t size[3], stride[3], out = c->unit, pad = range(g, 0, 20);
    for (int d = 0; d < 3; d++)
        size[d] = one_of(g, range(g, 1, most[0][d]), d == 0 ? 3 : 16, range(g, 1, most[c->unit == 1][d]));
    if (n % 8 == 0) { /* planes, and no more than a few */
        size[0] = range(g, 1, 3);
        size[1] = 3;
        size[2] = range(g, 1030, 1100);
    }
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
    c->fill_value = (int32_t)(random_bits(g) % 256);
    c->input = program_input(p, (uint32_t)out, &g->seed);
    c->output = program_output(p, (uint32_t)(out + 2 * pad));
    return NUC_MC_OP_COPY;
}

static uint32_t random_bilinear(struct program *p, struct generator *g, union nuc_mc_record *r, int n)
{
    *r = (union nuc_mc_record){.resize = {.batches = range(g, 1, 2)}};
    struct nuc_mc_resize *z = &r->resize;
    z->in_h = range(g, 1, 9);
    z->in_w = range(g, 1, 9);
    z->out_h = range(g, 1, 15);
    z->out_w = range(g, 1, 15);
    z->channels = one_of(g, 1, range(g, 1, 70), 32);
    z->scale_h = 1024 * z->in_h / z->out_h;
    z->scale_w = 1024 * z->in_w / z->out_w;
    z->half_pixel = range(g, 0, 1);
    z->out_pitch = random_pitch(g, z->channels);
    z->input = program_input(p, (uint32_t)(z->batches * z->in_h * z->in_w * z->channels), &g->seed);
    z->output = output_rows(p, z->batches * z->out_h * z->out_w, z->channels, z->out_pitch);
    return NUC_MC_OP_RESIZE_BILINEAR;
}

/* Nearest neighbors, mirrors and runs by turns along each axis. */
static uint32_t random_gather(struct program *p, struct generator *g, union nuc_mc_record *r, int n)
{
    int32_t size[NUC_MC_MAX_RANK] = {0}, entries[256], count = 0;
    *r = (union nuc_mc_record){.gather = {.rank = range(g, 1, 4), .unit = one_of(g, 1, range(g, 1, 70), 16)}};
    struct nuc_mc_gather *a = &r->gather;
    int32_t stride = a->unit, out = a->unit;
    for (int32_t d = a->rank - 1; d >= 0; d--) {
        size[d] = range(g, 1, 9);
        a->shape[d] = range(g, 1, d == a->rank - 1 ? 40 : 7);
        out *= a->shape[d];
    }
    for (int32_t d = 0; d < a->rank; d++) {
        int32_t kind = range(g, 0, 2), first = range(g, 0, size[d] - 1), inner = a->unit;
        for (int32_t e = d + 1; e < a->rank; e++)
            inner *= size[e];
        for (int32_t i = 0; i < a->shape[d]; i++) {
            int32_t place = kind == 0 ? i * size[d] / a->shape[d] : kind == 1 ? abs(first - i) : first + i;
            entries[count++] = place % size[d] * inner;
        }
        stride = d == 0 ? inner * size[d] : stride;
    }
    a->table = program_weights(p, entries, (uint32_t)count * 4);
    a->input = program_input(p, (uint32_t)stride, &g->seed);
    a->output = program_output(p, (uint32_t)out);
    return NUC_MC_OP_GATHER;
}

/* Every kernel; the product and the elementwise ones come in several opcodes. */
static const struct {
    uint32_t (*make)(struct program *p, struct generator *g, union nuc_mc_record *r, int n);
    int cases;
} kernels[] = {
    {random_conv, CASES},       {random_pointwise, CASES},     {random_depthwise, CASES},
    {random_transposed, CASES}, {random_product, 2 * CASES},   {random_elementwise, 3 * CASES},
    {random_pool, 2 * CASES},   {random_reduction, 2 * CASES}, {random_softmax, CASES},
    {random_table, CASES},      {random_copy, 2 * CASES},      {random_bilinear, CASES},
    {random_gather, CASES},     {random_wide, CASES},
};

static void check_kernel(size_t k, struct generator *g)
{
    for (int n = 0; n < kernels[k].cases; n++) {
        struct program *p = program_new();
        union nuc_mc_record r;
        uint32_t opcode = kernels[k].make(p, g, &r, n);
        if (n % 3 == 0)
            program_call_with_table(p, opcode, &r, random_weights(p, g, 256));
        else
            program_call(p, opcode, &r);
        check(p);
    }
}

static void every_path_agrees(void **state)
{
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
        struct generator g = {.seed = 101 + (uint32_t)k};
        check_kernel(k, &g);
    }
}

/* Biases near 2^30 and beyond, and any multiplier and shift, next to usual ones: sums that saturate or wrap. */
static void extreme_sums_agree(void **state)
{
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
        struct generator g = {.seed = 307 + (uint32_t)k, .extreme = true};
        check_kernel(k, &g);
    }
}

/* An addition or subtraction of tensors with the scales a, b and out, as LiteRT prepares it. */
static struct nuc_mc_binary sum_of(struct generator *g, uint32_t opcode, double a, double b, double out)
{
    struct nuc_mc_binary e = {.call = {.opcode = opcode}, .left_shift = 20, .rank = 1};
    double twice = 2 * (a > b ? a : b);
    struct nuc_multiplier am = nuc_multiplier_from_scale(a / twice), bm = nuc_multiplier_from_scale(b / twice);
    struct nuc_multiplier om = nuc_multiplier_from_scale(twice / ((1 << 20) * out));

    e.a_multiplier = am.multiplier;
    e.a_shift = am.shift;
    e.b_multiplier = bm.multiplier;
    e.b_shift = bm.shift;
    e.out_multiplier = om.multiplier;
    e.out_shift = om.shift;
    e.a_zero = random_zero(g);
    e.b_zero = random_zero(g);
    e.output_zero = random_zero(g);
    random_clamp(g, &e.clamp_min, &e.clamp_max);
    return e;
}

static double random_scale(struct generator *g)
{
    return 0.01 + random_bits(g) % 100000 * 1e-5;
}

static int32_t linear_value(const struct vec_linear *l, const struct nuc_mc_binary *e, int32_t a, int32_t b)
{
    int32_t low = l->low + a * (int16_t)l->low_words + b * (l->low_words >> 16);
    int32_t high = l->high + a * (int16_t)l->high_words + b * (l->high_words >> 16);

    return nuc_clamp_i32((high + (low >> VEC_LOW_BITS)) >> l->shift, e->clamp_min, e->clamp_max);
}

/* Of sums as networks have them nearly all are a linear function, which is that of the definition on all operands. */
static void sums_are_linear(void **state)
{
    struct generator g = {.seed = 401};
    int linear = 0;

    for (int n = 0; n < CASES; n++) {
        uint32_t opcode = n % 3 ? NUC_MC_OP_ADD : NUC_MC_OP_SUB;
        struct nuc_mc_binary e = sum_of(&g, opcode, random_scale(&g), random_scale(&g), random_scale(&g));
        struct vec_linear l;
        if (!vec_sum_is_linear(&l, &e))
            continue;
        linear++;
        for (int32_t a = INT8_MIN; a <= INT8_MAX; a++) {
            for (int32_t b = INT8_MIN; b <= INT8_MAX; b++)
                assert_int_equal(linear_value(&l, &e, a, b), nuc_mc_binary_value(&e, opcode, (int8_t)a, (int8_t)b));
        }
    }
    assert_true(linear > CASES * 9 / 10);
}

/* Halves go away from zero on both sides of it, which no linear function does. */
static void ties_are_not_linear(void **state)
{
    struct generator g = {.seed = 409};
    struct nuc_mc_binary e = sum_of(&g, NUC_MC_OP_ADD, 0.5, 0.5, 1.0);
    struct vec_linear l;

    e.a_zero = e.b_zero = e.output_zero = 0;
    e.clamp_min = INT8_MIN;
    e.clamp_max = INT8_MAX;
    assert_false(vec_sum_is_linear(&l, &e));
}

static int32_t bent_value(const struct vec_params *p, const struct vec_output *o, int32_t lane, int32_t v)
{
    bool below = p->form == VEC_BENT && v < p->left[lane];
    int32_t bits = v + (below ? p->away[lane] : 0);
    float r;

    memcpy(&r, &bits, sizeof r);
    r = fmaf(r, p->scale[lane], below ? p->offset_below[lane] : p->offset[lane]);
    memcpy(&bits, &r, sizeof bits);
    return nuc_clamp_i32(bits - VEC_MAGIC_BITS, (int8_t)o->low, (int8_t)o->high);
}

/* Of requantizations nearly all are lines, behind a ReLU one, which give their bytes everywhere. */
static void requantizations_are_lines(void **state)
{
    struct generator g = {.seed = 431};
    int found = 0;

    for (int n = 0; n < CASES; n++) {
        int32_t zero = range(&g, INT8_MIN, 60), low = range(&g, n % 2 ? zero : INT8_MIN, 100), lane = n % VEC_LANES;
        int32_t bias[VEC_LANES] = {0};
        const struct vec_output o = vec_output_of(zero, low, range(&g, low, INT8_MAX));
        const struct nuc_multiplier m = {(int32_t)((1u << 30) + random_bits(&g) * 64u % (1u << 30)), -range(&g, 1, 20)};
        struct vec_params p = {.form = VEC_ANY};
        int32_t bound = 1 << (m.shift < -9 ? 21 : 14 - m.shift); /* up to twice as far from 0 as floats are 1 apart */
        assert_true(vec_params_set(&p, lane, (uint64_t)bound, m.multiplier, m.shift));
        if (!vec_params_bend(&p, &o, bias))
            continue;
        assert_int_equal(p.form, low >= zero ? VEC_LINE : VEC_BENT);
        found++;
        for (int32_t v = -bound; v <= bound; v += v < -(1 << 18) || v >= 1 << 18 ? 101 : 1) {
            int32_t wanted = nuc_clamp_i32(nuc_requantize(v, m) + zero, low, (int8_t)o.high);
            if (bent_value(&p, &o, lane, v + bias[lane]) != wanted)
                fail_msg("%d of %d, %d gives not %d", v, m.multiplier, m.shift, wanted);
        }
    }
    assert_true(found > CASES * 8 / 10);
}

/* Inputs that are all on one side of the zero point: products with weights of either sign do not add up. */
static void bounds_know_signs(void **state)
{
    const struct vec_sums sums = {.sum = 100, .absolute = 2000};
    const int32_t requant[] = {1 << 30, -8};
    const struct vec_isa isa = {.input_offset = 128};
    struct vec_params p = {.form = VEC_ANY}, q = p;
    int32_t folded;

    assert_true(vec_output_set(&isa, &p, 0, &folded, -10, &sums, INT8_MIN, requant));
    assert_int_equal(p.bound, 1050 * 255 - 10);
    assert_true(vec_output_set(&isa, &q, 0, &folded, -10, &sums, 0, requant));
    assert_int_equal(q.bound, 1050 * 128 + 950 * 127 + 10);
}

static uint32_t random_sum(struct program *p, struct generator *g, union nuc_mc_record *r, int n)
{
    uint32_t opcode = n % 2 ? NUC_MC_OP_ADD : NUC_MC_OP_SUB;
    int32_t size = range(g, 4096, 20000), a_stride = range(g, 0, 3) > 0, b_stride = range(g, 0, 3) > 0;

    *r = (union nuc_mc_record){.binary = sum_of(g, opcode, random_scale(g), random_scale(g), random_scale(g))};
    struct nuc_mc_binary *e = &r->binary;
    e->shape[0] = size;
    e->a_stride[0] = a_stride;
    e->b_stride[0] = b_stride;
    e->a = program_input(p, (uint32_t)(a_stride ? size : 1), &g->seed);
    e->b = program_input(p, (uint32_t)(b_stride ? size : 1), &g->seed);
    e->output = program_output(p, (uint32_t)size);
    return opcode;
}

/* A product of rows with a row that they share, as squeeze-and-excitation has it. */
static uint32_t random_shared_product(struct program *p, struct generator *g, union nuc_mc_record *r, int n)
{
    int32_t outer = range(g, 1, 2), rows = range(g, 70, 90), channels = range(g, 60, 150), inner = range(g, 0, 3) > 0;
    struct nuc_multiplier m = nuc_multiplier_from_scale(random_scale(g) * 0.01);

    *r = (union nuc_mc_record){.binary = {.rank = 3, .shape = {outer, rows, channels}}};
    struct nuc_mc_binary *e = &r->binary;
    int32_t *shared = n % 2 ? e->a_stride : e->b_stride, *other = n % 2 ? e->b_stride : e->a_stride;
    shared[0] = inner ? channels : 1;
    shared[2] = inner;
    other[0] = rows * channels;
    other[1] = channels;
    other[2] = 1;
    e->out_multiplier = m.multiplier;
    e->out_shift = m.shift;
    e->a_zero = random_zero(g);
    e->b_zero = random_zero(g);
    e->output_zero = random_zero(g);
    random_clamp(g, &e->clamp_min, &e->clamp_max);
    e->a = program_input(p, (uint32_t)(outer * (n % 2 ? shared[0] : other[0])), &g->seed);
    e->b = program_input(p, (uint32_t)(outer * (n % 2 ? other[0] : shared[0])), &g->seed);
    e->out_pitch = random_pitch(g, channels);
    e->output = output_rows(p, outer * rows, channels, e->out_pitch);
    return NUC_MC_OP_MUL;
}

/* Of products as networks have them nearly all are lines. */
static void products_are_lines(void **state)
{
    struct generator g = {.seed = 421};
    int found = 0;

    for (int n = 0; n < CASES; n++) {
        struct program *p = program_new();
        union nuc_mc_record r;
        struct vec_lines l = {.a_is_shared = n % 2 != 0};
        random_shared_product(p, &g, &r, n);
        found += vec_product_is_lines(&l, &r.binary);
        free(p);
    }
    assert_true(found > CASES * 9 / 10);
}

static void linear_operators_agree(void **state)
{
    struct generator g = {.seed = 419};

    for (int n = 0; n < 2 * CASES; n++) {
        struct program *p = program_new();
        union nuc_mc_record r;
        uint32_t opcode = (n < CASES ? random_sum : random_shared_product)(p, &g, &r, n);
        program_call(p, opcode, &r);
        check(p);
    }
}

/* Layers whose requantizations are lines, or are none because of what their results may be. */
static void layers_of_lines_agree(void **state)
{
    struct generator g = {.seed = 433, .alike = true};

    for (int n = 0; n < 2 * CASES; n++) {
        struct program *p = program_new();
        union nuc_mc_record r;
        uint32_t opcode = (n % 2 ? random_depthwise : random_pointwise)(p, &g, &r, n);
        program_call(p, opcode, &r);
        check(p);
    }
}

static void options_are_checked(void **state)
{
    struct program *p = program_new();
    union nuc_mc_record r = {.lut = {.count = 16, .run = 16}};
    struct generator g = {.seed = 113};
    NeutronModelHandle handle;

    r.lut.table = random_weights(p, &g, 256);
    r.lut.input = program_input(p, 16, &g.seed);
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

RUN_TESTS(cmocka_unit_test(every_path_agrees), cmocka_unit_test(extreme_sums_agree), cmocka_unit_test(sums_are_linear),
          cmocka_unit_test(ties_are_not_linear), cmocka_unit_test(requantizations_are_lines),
          cmocka_unit_test(bounds_know_signs), cmocka_unit_test(products_are_lines),
          cmocka_unit_test(linear_operators_agree), cmocka_unit_test(layers_of_lines_agree),
          cmocka_unit_test(options_are_checked))
