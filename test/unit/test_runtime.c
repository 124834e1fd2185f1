/* The runtime: programs of the writer run, delegates cross the boundary as they should, bad images fail cleanly. */
#include "device/base/microcode.h"
#include "device/runtime/loader.h"
#include "nucleon/NeutronDriver.h"
#include "program_graphs.h"

/* ---- a driver that adds one to every byte ---- */

#define WORD_BEHAVIOUR 3 /* of the microcode: 0, or one of these */
#define FAIL_TO_PREPARE 0xBAD
#define FAIL_TO_RUN 0xDEAD
#define WORD_BYTES 8 /* bytes that go through */
#define IO_OFFSET (4 * NUC_MC_HEADER_WORDS)

/* What a handle holds. */
struct fake_model {
    const uint8_t *microcode;
    uint64_t unused;
};

size_t neutronGetModelContextSize(void)
{
    return sizeof(struct fake_model);
}

NeutronError neutronInit(void)
{
    return ENONE;
}

/* As a driver does, it verifies once: the number of bytes (word 8) fits input, output and scratch. */
NeutronError neutronModelPrepare(const NeutronModelConfig *mcfg, NeutronModelHandle *hdl)
{
    struct fake_model *m = *hdl;
    const uint8_t *sizes = (const uint8_t *)mcfg->microcode + IO_OFFSET;
    uint32_t bytes = nuc_load_u32((const uint8_t *)mcfg->microcode + 4 * WORD_BYTES);

    m->microcode = mcfg->microcode;
    if (!nuc_mc_is_version(nuc_load_u32(m->microcode + 4 * NUC_MC_WORD_VERSION)) ||
        nuc_load_u32(m->microcode + 4 * NUC_MC_WORD_IO_OFFSET) != IO_OFFSET || bytes > nuc_load_u32(sizes) ||
        bytes > nuc_load_u32(sizes + 4) || bytes > nuc_load_u32(m->microcode + 4 * NUC_MC_WORD_SCRATCH) ||
        nuc_load_u32(m->microcode + 4 * NUC_MC_WORD_INPUTS) != 1 ||
        nuc_load_u32(m->microcode + 4 * NUC_MC_WORD_OUTPUTS) != 1)
        return 98;
    return nuc_load_u32(m->microcode + 4 * WORD_BEHAVIOUR) == FAIL_TO_PREPARE ? 99 : ENONE;
}

NeutronError neutronModelUnprepare(NeutronModelHandle hdl)
{
    ((struct fake_model *)hdl)->microcode = NULL;
    return ENONE;
}

NeutronError neutronSetConfig(NeutronConfig *config)
{
    return config != NULL ? ENONE : 1;
}

/* Scratch holds a copy first, so that its size matters. */
NeutronError neutronRunBlocking(NeutronModelHandle hdl, const NeutronDataConfig *dcfg)
{
    const struct fake_model *m = hdl;
    uint32_t bytes = nuc_load_u32(m->microcode + 4 * WORD_BYTES);
    uint8_t *scratch = dcfg->outputs[1];
    uint8_t *out = dcfg->outputs[0];

    memcpy(scratch, dcfg->inputs[0], bytes);
    for (uint32_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)(scratch[i] + i);
    return nuc_load_u32(m->microcode + 4 * WORD_BEHAVIOUR) == FAIL_TO_RUN ? 7 : ENONE;
}

/* ---- programs ---- */

/* Channels 1, 2, 3, 4 and -1, 0, 1, 2, all multiples of the scale: out = 2 * relu(a + 10 b). */
static void whole_program(struct nuc_context *cx, void *arg)
{
    static const float contiguous[8] = {1, 2, 3, 4, -1, 0, 1, 2};
    static const float last[8] = {1, -1, 2, 0, 3, 1, 4, 2};
    static const float expected[4] = {0, 4, 26, 48};

    for (int channels_last = 0; channels_last < 2; channels_last++) {
        struct nuc_program_options o = {.method = NULL};
        struct test_program p;
        struct nuc_tensor t;
        test_load(cx, &p, nuc_write_program(test_graph(cx, channels_last), &o), NULL);
        assert_int_equal(p.status, NUC_OK);
        for (int twice = 0; twice < 2; twice++) {
            const float *in = channels_last ? last : contiguous;
            assert_int_equal(nuc_program_set_input(&p.program, 0, in, sizeof last, NULL), NUC_OK);
            assert_int_equal(nuc_program_execute(&p.program, &p.detail), NUC_OK);
            assert_int_equal(nuc_program_output(&p.program, 0, &t), NUC_OK);
            assert_int_equal(t.bytes, sizeof expected);
            assert_memory_equal(t.data, expected, sizeof expected);
        }
    }
}

static void count_calls(void *user, uint32_t instruction, const char *name, struct nuc_value *const *args,
                        size_t n_args)
{
    unsigned *count = user;

    assert_true(name != NULL && args != NULL && n_args > 0 && instruction == *count);
    ++*count;
}

static void usage(struct nuc_context *cx, void *arg)
{
    struct nuc_program_options o = {.method = NULL};
    struct nuc_span file = nuc_write_program(test_graph(cx, false), &o);
    struct nuc_kernel_table no_kernels = {NULL, 0};
    struct test_program p;
    struct nuc_program other;
    struct nuc_tensor t;
    const float in[8] = {0};
    unsigned calls = 0;

    test_load(cx, &p, file, NULL);
    assert_int_equal(nuc_program_n_inputs(&p.program), 1);
    assert_int_equal(nuc_program_input_info(&p.program, 1, &t), NUC_BAD_USAGE);
    assert_int_equal(nuc_program_input_info(&p.program, 0, &t), NUC_OK);
    assert_int_equal(t.rank, 4);
    assert_int_equal(t.dtype, NUC_F32);
    assert_int_equal(nuc_program_set_input(&p.program, 0, in, sizeof in - 1, &p.detail), NUC_BAD_USAGE);
    assert_non_null(p.detail.message);
    assert_int_equal(nuc_program_set_input(&p.program, 1, in, sizeof in, NULL), NUC_BAD_USAGE);
    assert_int_equal(nuc_program_set_output(&p.program, 0, cx, 4096, NULL), NUC_BAD_USAGE);
    nuc_program_trace(&p.program, count_calls, &calls);
    assert_int_equal(nuc_program_set_input(&p.program, 0, in, sizeof in, NULL), NUC_OK);
    assert_int_equal(nuc_program_execute(&p.program, NULL), NUC_OK);
    assert_int_equal(calls, 5);

    struct nuc_program_memory small = p.program.memory;
    small.planned_size[0]--;
    assert_int_equal(nuc_program_load(&other, file.data, file.size, &small, &nuc_default_kernels, NULL, &p.detail),
                     NUC_NO_MEMORY);
    small = p.program.memory;
    assert_int_equal(nuc_program_load(&other, file.data, file.size, &small, &no_kernels, NULL, &p.detail),
                     NUC_BAD_INPUT);
    assert_string_equal(p.detail.where, "quantized_decomposed::quantize_per_tensor");
    assert_int_equal(p.detail.instruction, 0);
}

/* Calls on a program that is not loaded: all end with NUC_BAD_USAGE, none reads what is not there. */
static void check_not_loaded(struct nuc_program *p)
{
    struct nuc_detail detail;
    struct nuc_tensor t;
    _Alignas(16) float block[8] = {0};

    assert_int_equal(nuc_program_input_info(p, 0, &t), NUC_BAD_USAGE);
    assert_int_equal(nuc_program_output_info(p, 0, &t), NUC_BAD_USAGE);
    assert_int_equal(nuc_program_output(p, 0, &t), NUC_BAD_USAGE);
    assert_int_equal(nuc_program_set_input(p, 0, block, sizeof block, &detail), NUC_BAD_USAGE);
    assert_int_equal(nuc_program_set_output(p, 0, block, sizeof block, &detail), NUC_BAD_USAGE);
    assert_int_equal(nuc_program_execute(p, &detail), NUC_BAD_USAGE);
    assert_string_equal(detail.message, "no program is loaded");
    assert_null(nuc_program_device(p, 0));
    nuc_program_unload(p);
}

static void not_loaded(struct nuc_context *cx, void *arg)
{
    struct nuc_program_options o = {.method = NULL};
    struct nuc_span file = nuc_write_program(test_graph(cx, false), &o);
    struct nuc_program none = {.image = NULL};
    struct nuc_program_sizes sizes;
    struct test_program p;
    struct nuc_tensor t;

    check_not_loaded(NULL);
    check_not_loaded(&none);
    test_load(cx, &p, file, NULL);
    assert_int_equal(p.status, NUC_OK);
    const struct nuc_program_memory memory = p.program.memory;
    assert_int_equal(nuc_program_input_info(&p.program, 0, NULL), NUC_BAD_USAGE);
    assert_int_equal(nuc_program_sizes(file.data, file.size, NULL, NULL, NULL), NUC_BAD_USAGE);
    assert_int_equal(nuc_program_sizes(NULL, file.size, NULL, &sizes, NULL), NUC_BAD_INPUT);
    nuc_program_unload(&p.program);
    check_not_loaded(&p.program);
    assert_int_equal(nuc_program_load(NULL, file.data, file.size, &memory, &nuc_default_kernels, NULL, NULL),
                     NUC_BAD_USAGE);
    for (int i = 0; i < 3; i++) {
        memset(&p.program, 0xA5, sizeof p.program);
        assert_int_not_equal(nuc_program_load(&p.program, i == 2 ? NULL : file.data, file.size, i == 0 ? NULL : &memory,
                                              i == 1 ? NULL : &nuc_default_kernels, NULL, NULL),
                             NUC_OK);
        check_not_loaded(&p.program);
    }
    assert_int_equal(nuc_program_load(&p.program, file.data, file.size, &memory, &nuc_default_kernels, NULL, NULL),
                     NUC_OK);
    assert_int_equal(nuc_program_input_info(&p.program, 0, &t), NUC_OK);
}

/* Inputs are set before each execution, those in planned memory again; the program may fill them where they lie. */
static void inputs_not_set(struct nuc_context *cx, void *arg)
{
    struct nuc_program_options o = {.method = NULL};
    struct nuc_span file = nuc_write_program(test_graph(cx, false), &o);
    const float in[8] = {1};
    struct test_program p;
    struct nuc_tensor t;

    test_load(cx, &p, file, NULL);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(nuc_program_execute(&p.program, &p.detail), NUC_BAD_USAGE);
        assert_string_equal(p.detail.message, "an input has not been given its data");
        assert_true(p.detail.value >= 0);
        assert_int_equal(nuc_program_set_input(&p.program, 0, in, sizeof in - 4, &p.detail), NUC_BAD_USAGE);
        assert_int_equal(nuc_program_set_input(&p.program, 0, NULL, sizeof in, &p.detail), NUC_BAD_USAGE);
        assert_int_equal(nuc_program_execute(&p.program, &p.detail), NUC_BAD_USAGE);
        assert_int_equal(nuc_program_input_info(&p.program, 0, &t), NUC_OK);
        memcpy(t.data, in, sizeof in);
        assert_int_equal(nuc_program_set_input(&p.program, 0, t.data, t.bytes, &p.detail), NUC_OK);
        assert_int_equal(nuc_program_execute(&p.program, &p.detail), NUC_OK);
    }
}

/* Two blocks in one place, or one on the image: found before anything is written. */
static void overlapping_blocks(struct nuc_context *cx, void *arg)
{
    struct nuc_program_options o = {.method = NULL};
    struct nuc_span written = nuc_write_program(test_graph(cx, false), &o);
    struct test_program p;

    test_load(cx, &p, written, NULL);
    const struct nuc_program_memory good = p.program.memory;
    struct nuc_program_memory bad[4] = {good, good, good, good};
    bad[0].planned[0] = (uint8_t *)good.state + 16;
    bad[1].state = (uint8_t *)good.planned[0] + 16;
    bad[2].planned[0] = (void *)(uintptr_t)written.data;
    bad[3].state = (void *)(uintptr_t)(written.data + nuc_align_up(written.size, 16) - 16);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(
            nuc_program_load(&p.program, written.data, written.size, &bad[i], &nuc_default_kernels, NULL, &p.detail),
            NUC_NO_MEMORY);
        assert_string_equal(p.detail.message, "a memory block is too small, misaligned, or overlaps another");
        check_not_loaded(&p.program);
    }
    assert_int_equal(
        nuc_program_load(&p.program, written.data, written.size, &good, &nuc_default_kernels, NULL, &p.detail), NUC_OK);
}

/* Sizes around a 0: there are no elements, and the strides would not fit an address all the same. */
static void sizes_around_zero(struct nuc_context *cx, void *arg)
{
    static const int32_t old_sizes[4] = {1, 2, 2, 2}, large[4] = {16777217, 0, 5505536, 989855748},
                         small[4] = {16, 0, 2, 4};
    struct nuc_program_options o = {.method = NULL};
    struct nuc_span file = nuc_write_program(test_graph(cx, false), &o);
    struct nuc_program_sizes sizes;
    struct test_program p;
    size_t found = 0;

    for (int round = 0; round < 2; round++) {
        uint8_t *changed = nuc_copy(cx, file.data, file.size);
        for (size_t at = 0; at + sizeof old_sizes <= file.size; at += 4) {
            if (memcmp(changed + at, old_sizes, sizeof old_sizes) != 0)
                continue;
            memcpy(changed + at, round == 0 ? large : small, sizeof large);
            found++;
        }
        assert_int_equal(nuc_program_sizes(changed, file.size, NULL, &sizes, &p.detail), NUC_OK);
        test_load(cx, &p, (struct nuc_span){changed, file.size}, NULL);
        assert_int_equal(p.status, round == 0 ? NUC_BAD_INPUT : NUC_OK);
        if (round == 0)
            assert_string_equal(p.detail.message, "a tensor has impossible sizes");
    }
    assert_true(found >= 2);
}

/* ---- delegates ---- */

#define CHANNELS 3
#define BYTES (CHANNELS * 4)

/* A payload of version 1 with one input and one output in the formats given. */
static struct nuc_span make_payload(struct nuc_context *cx, uint8_t in_format, uint8_t out_format, uint32_t bytes,
                                    uint32_t behaviour)
{
    const uint32_t microcode_size = IO_OFFSET + 8;
    size_t size = 16 + nuc_align_up(microcode_size, 16);
    uint8_t *p = nuc_alloc(cx, size);
    uint8_t *microcode = p + 16;
    const uint8_t header[8] = {1, 1, 1, in_format, out_format, 0, 0, 1};

    memcpy(p, header, sizeof header);
    nuc_store_u32(microcode + 4 * NUC_MC_WORD_MAGIC, NUC_MC_MAGIC);
    nuc_store_u32(microcode + 4 * NUC_MC_WORD_VERSION, NUC_MC_VERSION);
    nuc_store_u32(microcode + 4 * WORD_BEHAVIOUR, behaviour);
    nuc_store_u32(microcode + 4 * NUC_MC_WORD_SIZE, microcode_size);
    nuc_store_u32(microcode + 4 * WORD_BYTES, bytes);
    nuc_store_u32(microcode + 4 * NUC_MC_WORD_SCRATCH, bytes);
    nuc_store_u32(microcode + 4 * NUC_MC_WORD_INPUTS, 1);
    nuc_store_u32(microcode + 4 * NUC_MC_WORD_OUTPUTS, 1);
    nuc_store_u32(microcode + 4 * NUC_MC_WORD_IO_OFFSET, IO_OFFSET);
    nuc_store_u32(microcode + IO_OFFSET, bytes);
    nuc_store_u32(microcode + IO_OFFSET + 4, bytes);
    return (struct nuc_span){p, size};
}

static const struct boundary_row {
    uint8_t in_format, out_format;
    bool channels_last;
    enum nuc_status status; /* of the execution */
    int8_t expected[BYTES]; /* quantized output, physical order */
} boundary_rows[] = {
    /* The device adds the position to each byte it sees; inputs quantize to 3, 5, 7, ... */
    {0, 0, false, NUC_OK, {3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36}},
    {1, 1, true, NUC_OK, {3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36}},
    /* Transposed on both sides: element (c, p) is at 3 p + c for the device. */
    {1, 1, false, NUC_OK, {3, 8, 13, 18, 12, 17, 22, 27, 21, 26, 31, 36}},
    /* Transposed inwards only. */
    {1, 0, false, NUC_OK, {3, 12, 21, 8, 17, 26, 13, 22, 31, 18, 27, 36}},
    {0, 0, true, NUC_UNSUPPORTED, {0}},
    {0, 1, true, NUC_UNSUPPORTED, {0}},
};

static void boundaries(struct nuc_context *cx, void *arg)
{
    for (size_t row = 0; row < sizeof boundary_rows / sizeof boundary_rows[0]; row++) {
        const struct boundary_row *r = &boundary_rows[row];
        struct nuc_program_options o = {.delegate_data = row % 2 ? NUC_DELEGATE_SEGMENT : NUC_DELEGATE_INLINE};
        struct nuc_span payload = make_payload(cx, r->in_format, r->out_format, BYTES, 0);
        struct test_program p;
        struct nuc_tensor t;
        float in[BYTES];
        for (int i = 0; i < BYTES; i++)
            in[i] = (float)(i + 1);
        test_load(cx, &p, nuc_write_program(test_delegate_graph(cx, CHANNELS, r->channels_last, payload), &o),
                  &nuc_default_backends);
        assert_int_equal(p.status, NUC_OK);
        assert_int_equal(nuc_program_set_input(&p.program, 0, in, sizeof in, NULL), NUC_OK);
        enum nuc_status status = nuc_program_execute(&p.program, &p.detail);
        if (status != r->status)
            fail_msg("row %zu: %s", row, p.detail.message);
        nuc_program_output(&p.program, 0, &t);
        for (int i = 0; i < BYTES && status == NUC_OK; i++) {
            if (((const float *)t.data)[i] != (float)(r->expected[i] - 1) * 0.5f)
                fail_msg("row %zu, element %d: %f", row, i, (double)((const float *)t.data)[i]);
        }
        nuc_program_unload(&p.program);
    }
}

/* One channel: both orders coincide, nothing is transposed. */
static void one_channel(struct nuc_context *cx, void *arg)
{
    struct nuc_program_options o = {.method = NULL};
    struct test_program several;
    struct test_program one;

    test_load(cx, &several,
              nuc_write_program(test_delegate_graph(cx, CHANNELS, false, make_payload(cx, 1, 1, 4, 0)), &o),
              &nuc_default_backends);
    test_load(cx, &one, nuc_write_program(test_delegate_graph(cx, 1, false, make_payload(cx, 1, 1, 4, 0)), &o),
              &nuc_default_backends);
    assert_int_equal(several.status, NUC_OK);
    assert_int_equal(one.status, NUC_OK);
    assert_true(several.sizes.temporary >= one.sizes.temporary + 2 * BYTES);
    nuc_program_unload(&several.program);
    nuc_program_unload(&one.program);
}

/* The microcode reads more than the tensor has. */
static void tensor_too_small(struct nuc_context *cx, void *arg)
{
    const float in[BYTES] = {0};
    struct nuc_program_options o = {.method = NULL};
    struct test_program p;

    test_load(cx, &p, nuc_write_program(test_delegate_graph(cx, 3, false, make_payload(cx, 0, 0, BYTES + 1, 0)), &o),
              &nuc_default_backends);
    assert_int_equal(p.status, NUC_OK);
    assert_int_equal(nuc_program_set_input(&p.program, 0, in, sizeof in, NULL), NUC_OK);
    assert_int_equal(nuc_program_execute(&p.program, &p.detail), NUC_UNSUPPORTED);
    nuc_program_unload(&p.program);
}

static void driver_errors(struct nuc_context *cx, void *arg)
{
    const float in[BYTES] = {0};
    struct nuc_program_options o = {.method = NULL};
    struct test_program p;

    test_load(cx, &p,
              nuc_write_program(test_delegate_graph(cx, 3, false, make_payload(cx, 0, 0, BYTES, FAIL_TO_PREPARE)), &o),
              &nuc_default_backends);
    assert_int_equal(p.status, NUC_DEVICE);
    assert_int_equal(p.detail.code, 99);
    test_load(cx, &p,
              nuc_write_program(test_delegate_graph(cx, 3, false, make_payload(cx, 0, 0, BYTES, FAIL_TO_RUN)), &o),
              &nuc_default_backends);
    assert_int_equal(p.status, NUC_OK);
    assert_int_equal(nuc_program_set_input(&p.program, 0, in, sizeof in, NULL), NUC_OK);
    assert_int_equal(nuc_program_execute(&p.program, &p.detail), NUC_DEVICE);
    assert_int_equal(p.detail.code, 7);
    assert_string_equal(p.detail.where, "NeutronBackend");
    nuc_program_unload(&p.program);
    test_load(cx, &p, nuc_write_program(test_delegate_graph(cx, 3, false, make_payload(cx, 0, 0, BYTES, 0)), &o), NULL);
    assert_int_equal(p.status, NUC_UNSUPPORTED);
}

/* ---- scratch in planned memory ---- */

static void load_with_scratch(struct nuc_context *cx, struct test_program *p, const char *place, bool planned)
{
    const struct nuc_program_options o = {.plan_delegate_scratch = planned};
    const struct nuc_compile_spec spec = {"nucleon_scratch", place};
    struct nuc_graph *g = test_delegate_graph(cx, CHANNELS, false, make_payload(cx, 0, 0, BYTES, 0));

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (n->op != NUC_OP_CALL_DELEGATE)
            continue;
        n->delegate->scratch_size = BYTES;
        n->delegate->n_compile_specs = place != NULL ? 1 : 0;
        n->delegate->compile_specs = &spec;
    }
    test_load(cx, p, nuc_write_program(g, &o), &nuc_default_backends);
}

/* The planned program takes that much less temporary memory, and computes the same. */
static void scratch_is_planned(struct nuc_context *cx, void *arg)
{
    static const char *const bad_places[] = {"", "x", "-16", "8", "1000000", "99999999999999999999"};
    struct test_program planned, separate;
    struct nuc_tensor a, b;
    float in[BYTES];

    for (int i = 0; i < BYTES; i++)
        in[i] = (float)(i + 1);
    load_with_scratch(cx, &planned, NULL, true);
    load_with_scratch(cx, &separate, NULL, false);
    assert_int_equal(planned.status, NUC_OK);
    assert_int_equal(separate.sizes.temporary - planned.sizes.temporary, BYTES);
    nuc_program_set_input(&planned.program, 0, in, sizeof in, NULL);
    nuc_program_set_input(&separate.program, 0, in, sizeof in, NULL);
    assert_int_equal(nuc_program_execute(&planned.program, &planned.detail), NUC_OK);
    assert_int_equal(nuc_program_execute(&separate.program, &separate.detail), NUC_OK);
    nuc_program_output(&planned.program, 0, &a);
    nuc_program_output(&separate.program, 0, &b);
    assert_memory_equal(a.data, b.data, a.bytes);
    nuc_program_unload(&planned.program);
    nuc_program_unload(&separate.program);
    for (size_t i = 0; i < sizeof bad_places / sizeof bad_places[0]; i++) {
        load_with_scratch(cx, &planned, bad_places[i], false);
        assert_int_equal(planned.status, NUC_BAD_INPUT);
    }
}

/* ---- hostile images ---- */

static void truncated(struct nuc_context *cx, void *arg)
{
    struct nuc_program_options o = {.method = NULL};
    struct nuc_span file = nuc_write_program(test_graph(cx, true), &o);

    for (size_t size = 0; size < file.size; size++) {
        struct nuc_program_sizes sizes;
        assert_int_not_equal(nuc_program_sizes(file.data, size, NULL, &sizes, NULL), NUC_OK);
    }
}

/* Numbers stand after the method and do not disturb it. */
static void numbers(struct nuc_context *cx, void *arg)
{
    static const struct nuc_constant_method written[] = {{"input0_scale", true, {.f = 0.25}},
                                                         {"input0_zp", false, {.i = -7}}};
    struct nuc_program_options o = {.numbers = written, .n_numbers = 2};
    struct nuc_span file = nuc_write_program(test_graph(cx, false), &o);
    struct test_program p;
    struct nuc_detail detail;
    double value = 0;

    assert_int_equal(nuc_program_number(file.data, file.size, "input0_scale", &value, NULL), NUC_OK);
    assert_true(value >= 0.25 && value <= 0.25);
    assert_int_equal(nuc_program_number(file.data, file.size, "input0_zp", &value, &detail), NUC_OK);
    assert_true(value >= -7 && value <= -7);
    assert_int_equal(nuc_program_number(file.data, file.size, "input0_z", &value, &detail), NUC_BAD_INPUT);
    assert_string_equal(detail.message, "the program has no method of this name");
    assert_int_equal(nuc_program_number(file.data, file.size, "forward", &value, &detail), NUC_BAD_INPUT);
    assert_int_equal(nuc_program_number(file.data, file.size / 2, "input0_zp", &value, &detail), NUC_BAD_INPUT);
    test_load(cx, &p, file, NULL);
    nuc_program_unload(&p.program);
}

/* A number of the program that changes is checked again in each call: here the end of a slice becomes a dimension. */
static void moved_numbers(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_quantized(cx, "%x = input : float32[2, 3]\n"
                                              "%r = edge.aten.relu.default(%x)\n"
                                              "%s = edge.aten._softmax.default(%r, -1, false)\n"
                                              "%y = edge.aten.slice_copy.Tensor(%s, 0, 0, 9, 1)\n");
    struct nuc_program_options o = {.method = NULL};
    const float in[6] = {0};
    struct test_program p;

    (void)arg;
    test_load(cx, &p, nuc_write_program(g, &o), NULL);
    assert_int_equal(p.status, NUC_OK);
    struct nuc_instruction *all = p.program.instructions;
    all[0].kind = NUC_INSTRUCTION_MOVE;
    all[0].u.move.from = nuc_call_arg(&all[2], 3);
    all[0].u.move.to = nuc_call_arg(&all[1], 1);
    p.program.numbers_move = true; /* as it is where the file has such an instruction */
    assert_int_equal(nuc_program_set_input(&p.program, 0, in, sizeof in, NULL), NUC_OK);
    assert_int_equal(nuc_program_execute(&p.program, &p.detail), NUC_UNSUPPORTED);
    assert_string_equal(p.detail.message, "an argument is out of range");
    assert_string_equal(p.detail.argument, "dim");
    assert_string_equal(p.detail.where, "aten::_softmax.out");
    assert_int_equal(p.detail.instruction, 1);
}

RUN_TESTS(CONTEXT_TEST(not_loaded), CONTEXT_TEST(inputs_not_set), CONTEXT_TEST(overlapping_blocks),
          CONTEXT_TEST(sizes_around_zero), CONTEXT_TEST(whole_program), CONTEXT_TEST(usage), CONTEXT_TEST(boundaries),
          CONTEXT_TEST(one_channel), CONTEXT_TEST(tensor_too_small), CONTEXT_TEST(driver_errors),
          CONTEXT_TEST(truncated), CONTEXT_TEST(numbers), CONTEXT_TEST(scratch_is_planned), CONTEXT_TEST(moved_numbers))
