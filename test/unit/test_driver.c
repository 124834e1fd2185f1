/* The driver API used as it should be, and misused: every mistake has its documented error and leaves no handle. */
#include "npu_program.h"

static void assert_error(NeutronError error, int category)
{
    assert_int_equal(GET_ERROR_COMPONENT(error), ERROR_COMPONENT_DRIVER);
    assert_int_equal(GET_ERROR_CATEGORY(error), category);
    assert_true(error > 0);
}

/* Two tables after each other, the value between them in scratch. */
static struct program *two_calls(void)
{
    struct program *p = program_new();
    uint32_t seed = 1;
    uint8_t add_one[256];
    union nuc_mc_record r = {.lut = {.count = 100}};
    const struct nuc_mc_ref scratch = {nuc_mc_where(NUC_MC_SCRATCH, 0), 16};

    for (int i = 0; i < 256; i++)
        add_one[i] = (uint8_t)(i + 129);
    p->scratch_size = 128;
    r.lut.table = program_weights(p, add_one, sizeof add_one);
    r.lut.input = program_input(p, 100, &seed);
    r.lut.output = scratch;
    program_call(p, NUC_MC_OP_LUT, &r);
    r.lut.input = scratch;
    r.lut.output = program_output(p, 100);
    program_call(p, NUC_MC_OP_LUT, &r);
    program_finish(p);
    return p;
}

static void runs_twice_with_one_handle(void **state)
{
    struct program *p = two_calls();
    NeutronModelHandle handle;

    assert_int_equal(neutronInit(), ENONE);
    assert_int_equal(program_prepare(p, &handle), ENONE);
    assert_non_null(handle);
    for (int round = 0; round < 2; round++) {
        p->input[0][3] = (uint8_t)round;
        assert_int_equal(program_run_prepared(p, handle), ENONE);
        for (int i = 0; i < 100; i++)
            assert_int_equal(p->output[0][i], (uint8_t)(p->input[0][i] + 2));
    }
    assert_int_equal(neutronModelUnprepare(handle), ENONE);
    assert_int_equal(neutronDeinit(), ENONE);
    free(p);
}

/* The caller's memory holds the handle; neighbours stay untouched. */
static void caller_memory(void **state)
{
    struct program *p = two_calls();
    size_t size = neutronGetModelContextSize();
    uint8_t *block = aligned_alloc(16, size + 32);
    NeutronModelHandle handle = block + 16;
    NeutronModelConfig config = {p->microcode, p->weights, p->scratch, 60};

    assert_int_equal(size % 16, 0);
    memset(block, 0xA5, size + 32);
    assert_int_equal(neutronModelPrepare(&config, &handle), ENONE);
    assert_ptr_equal(handle, block + 16);
    assert_int_equal(program_run_prepared(p, handle), ENONE);
    assert_int_equal(neutronModelUnprepare(handle), ENONE);
    assert_error(neutronModelUnprepare(handle), ERROR_CATEGORY_DRIVER_BAD_HANDLE);
    assert_error(program_run_prepared(p, handle), ERROR_CATEGORY_DRIVER_BAD_HANDLE);
    for (int i = 0; i < 16; i++)
        assert_true(block[i] == 0xA5 && block[size + 16 + (size_t)i] == 0xA5);
    free(block);
    free(p);
}

static void bad_configurations(void **state)
{
    struct program *p = two_calls();
    NeutronModelHandle handle = NULL;
    const NeutronModelConfig good = {p->microcode, p->weights, p->scratch, 60};
    NeutronModelConfig bad[6] = {good, good, good, good, good, good};

    bad[0].microcode = NULL;
    bad[1].weights = NULL;
    bad[2].kernels = NULL;
    bad[3].microcode = p->microcode + 4;
    bad[4].weights = p->weights + 8;
    bad[5].kernels = p->scratch + 1;
    for (int i = 0; i < 6; i++) {
        handle = NULL;
        assert_error(neutronModelPrepare(&bad[i], &handle), ERROR_CATEGORY_DRIVER_INVALID);
        assert_null(handle);
    }
    assert_error(neutronModelPrepare(NULL, &handle), ERROR_CATEGORY_DRIVER_INVALID);
    assert_error(neutronModelPrepare(&good, NULL), ERROR_CATEGORY_DRIVER_INVALID);
    handle = p->input[0] + 8;
    assert_error(neutronModelPrepare(&good, &handle), ERROR_CATEGORY_DRIVER_INVALID);
    assert_null(handle);
    free(p);
}

static void bad_microcode(void **state)
{
    static const struct {
        uint32_t word, value;
    } changes[] = {
        {NUC_MC_WORD_MAGIC, 0},
        {NUC_MC_WORD_VERSION, NUC_MC_VERSION + 1},
        {NUC_MC_WORD_HEADER_SIZE, 60},
        {4, 1},
        {5, 0x80000000},
        {NUC_MC_WORD_SIZE, 90},
        {NUC_MC_WORD_SIZE, 64},
        {NUC_MC_WORD_PREFETCH, 16},
        {NUC_MC_WORD_NAMES_OFFSET, 80},
        {NUC_MC_HEADER_WORDS - 1, 1},
        {NUC_MC_WORD_WEIGHTS, 255},
        {NUC_MC_WORD_SCRATCH, 115},
        {NUC_MC_WORD_PROFILE, 47},
        {NUC_MC_WORD_INPUTS, 256},
        {NUC_MC_WORD_OUTPUTS, 0xFFFFFFFF},
        {NUC_MC_WORD_CALLS, 3},
        {NUC_MC_WORD_IO_OFFSET, 0xFFFFFFFC},
        {NUC_MC_WORD_CALLS_OFFSET, 0x7FFFFFFC},
    };

    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct program *p = two_calls();
        NeutronModelHandle handle;
        program_set_word(p, changes[i].word, changes[i].value);
        assert_error(program_prepare(p, &handle), ERROR_CATEGORY_DRIVER_UCODE);
        assert_null(handle);
        free(p);
    }
}

/*
 * Payload parts as ExecuTorch's backend finds them: weights behind the bytes that the microcode says it has. Memory of
 * the true size, so that a sanitizer sees what is read beyond.
 */
static NeutronError prepare_as_backend(const struct program *p, const uint8_t *changed, size_t size)
{
    size_t padded = nuc_align_up(size, 16), whole = padded + nuc_align_up(p->weights_size, 16);
    uint8_t *payload = aligned_alloc(16, whole);
    NeutronModelHandle handle = NEUTRON_INVALID_HANDLE;

    memset(payload, 0, whole);
    memcpy(payload, changed, size);
    memcpy(payload + padded, p->weights, p->weights_size);
    uintptr_t weights = (uintptr_t)payload + ((nuc_load_u32(changed + 4 * (size_t)NUC_MC_WORD_SIZE) + 15u) & ~15u);
    NeutronModelConfig config = {payload, (const void *)weights, payload, 1};
    NeutronError error = neutronModelPrepare(&config, &handle);
    if (error == ENONE)
        assert_int_equal(neutronModelUnprepare(handle), ENONE);
    else
        assert_null(handle);
    free(payload);
    return error;
}

/* Names as the converter writes them: rows of two offsets, then the texts. */
static size_t add_names(struct program *p, size_t at)
{
    static const char texts[] = "first\0file.py:1\0second";
    const uint32_t rows[4] = {(uint32_t)at + 16, (uint32_t)at + 22, (uint32_t)at + 32, 0};

    for (size_t i = 0; i < 4; i++)
        nuc_store_u32(p->microcode + at + i * 4, rows[i]);
    memcpy(p->microcode + at + 16, texts, sizeof texts);
    size_t size = nuc_align_up(at + 16 + sizeof texts, 4);
    program_set_word(p, NUC_MC_WORD_NAMES_OFFSET, (uint32_t)at);
    program_set_word(p, NUC_MC_WORD_SIZE, (uint32_t)size);
    return size;
}

/* The size of the microcode is that of its parts, and no other is taken: the weights' address depends on it. */
static void microcode_size(void **state)
{
    for (int named = 0; named < 2; named++) {
        struct program *p = two_calls();
        size_t size = nuc_load_u32(p->microcode + 4 * (size_t)NUC_MC_WORD_SIZE);
        if (named)
            size = add_names(p, size);
        assert_int_equal(prepare_as_backend(p, p->microcode, size), ENONE);
        for (uint32_t other = 0; other < 4096; other++) {
            program_set_word(p, NUC_MC_WORD_SIZE, other);
            NeutronError error = prepare_as_backend(p, p->microcode, size);
            if (other == size)
                assert_int_equal(error, ENONE);
            else
                assert_error(error, ERROR_CATEGORY_DRIVER_UCODE);
        }
        for (int bit = 0; bit < 32; bit++) {
            program_set_word(p, NUC_MC_WORD_SIZE, (uint32_t)size ^ 1u << bit);
            assert_error(prepare_as_backend(p, p->microcode, size), ERROR_CATEGORY_DRIVER_UCODE);
        }
        free(p);
    }
}

/* Every bit of the microcode: refused, or nothing beyond the payload is read. In the header few may change. */
static void flipped_bits(void **state)
{
    static const bool harmless[NUC_MC_HEADER_WORDS] = {[NUC_MC_WORD_WEIGHTS] = true,
                                                       [NUC_MC_WORD_KERNELS] = true,
                                                       [NUC_MC_WORD_SCRATCH] = true,
                                                       [NUC_MC_WORD_PROFILE] = true,
                                                       [NUC_MC_WORD_DEBUG] = true};
    struct program *p = two_calls();
    size_t size = add_names(p, nuc_load_u32(p->microcode + 4 * (size_t)NUC_MC_WORD_SIZE));

    for (size_t bit = 0; bit < size * 8; bit++) {
        p->microcode[bit / 8] ^= (uint8_t)(1u << bit % 8);
        NeutronError error = prepare_as_backend(p, p->microcode, size);
        if (bit / 32 < NUC_MC_HEADER_WORDS && !harmless[bit / 32])
            assert_true(error != ENONE);
        p->microcode[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(p);
}

static NeutronError run_with(NeutronModelHandle handle, const void **inputs, void **outputs)
{
    NeutronDataConfig data = {inputs, outputs, NULL, NULL};

    return neutronRunBlocking(handle, &data);
}

static void bad_buffers(void **state)
{
    struct program *p = two_calls();
    NeutronModelHandle handle;
    const void *inputs[1] = {p->input[0]};
    void *outputs[4] = {p->output[0], p->scratch, NULL, NULL};

    assert_int_equal(program_prepare(p, &handle), ENONE);
    assert_int_equal(run_with(handle, inputs, outputs), ENONE);
    assert_error(neutronRunBlocking(handle, NULL), ERROR_CATEGORY_DRIVER_INVALID);
    assert_error(run_with(handle, NULL, outputs), ERROR_CATEGORY_DRIVER_INVALID);
    assert_error(run_with(handle, inputs, NULL), ERROR_CATEGORY_DRIVER_INVALID);
    inputs[0] = NULL;
    assert_error(run_with(handle, inputs, outputs), ERROR_CATEGORY_DRIVER_INVALID);
    inputs[0] = p->input[0] + 1;
    assert_error(run_with(handle, inputs, outputs), ERROR_CATEGORY_DRIVER_INVALID);
    inputs[0] = p->input[0];
    for (int i = 0; i < 2; i++) {
        void *kept = outputs[i];
        outputs[i] = NULL;
        assert_error(run_with(handle, inputs, outputs), ERROR_CATEGORY_DRIVER_INVALID);
        outputs[i] = (uint8_t *)kept + 8;
        assert_error(run_with(handle, inputs, outputs), ERROR_CATEGORY_DRIVER_INVALID);
        outputs[i] = kept;
    }
    assert_int_equal(run_with(handle, inputs, outputs), ENONE);
    assert_int_equal(neutronModelUnprepare(handle), ENONE);
    free(p);
}

static void bad_handles(void **state)
{
    struct program *p = two_calls();
    NeutronDataConfig data = {NULL, NULL, NULL, NULL};

    assert_error(neutronModelUnprepare(NULL), ERROR_CATEGORY_DRIVER_BAD_HANDLE);
    assert_error(neutronModelUnprepare(p->input[0]), ERROR_CATEGORY_DRIVER_BAD_HANDLE);
    assert_error(neutronModelUnprepare(p->input[0] + 1), ERROR_CATEGORY_DRIVER_BAD_HANDLE);
    assert_error(neutronRunBlocking(NULL, &data), ERROR_CATEGORY_DRIVER_BAD_HANDLE);
    assert_error(neutronDataSetup(NULL, &data), ERROR_CATEGORY_DRIVER_BAD_HANDLE);
    free(p);
}

/* Addresses that were handles, or look like one: every function refuses them without reading what is there. */
static void no_longer_handles(void **state)
{
    struct program *p = two_calls();
    NeutronDataConfig data = {NULL, NULL, NULL, NULL};
    NeutronModelHandle handle, other, bad[3];

    assert_int_equal(program_prepare(p, &handle), ENONE);
    assert_int_equal(program_prepare(p, &other), ENONE);
    uint8_t *copy = aligned_alloc(16, neutronGetModelContextSize());
    memcpy(copy, other, neutronGetModelContextSize());
    assert_int_equal(neutronModelUnprepare(handle), ENONE); /* freed */
    bad[0] = handle;
    bad[1] = copy;
    bad[2] = (uint8_t *)copy + neutronGetModelContextSize(); /* no memory of ours */
    for (int i = 0; i < 3; i++) {
        assert_error(neutronModelUnprepare(bad[i]), ERROR_CATEGORY_DRIVER_BAD_HANDLE);
        assert_error(neutronRunBlocking(bad[i], &data), ERROR_CATEGORY_DRIVER_BAD_HANDLE);
        assert_error(neutronDataSetup(bad[i], &data), ERROR_CATEGORY_DRIVER_BAD_HANDLE);
    }
    assert_int_equal(program_run_prepared(p, other), ENONE);
    assert_int_equal(neutronModelUnprepare(other), ENONE);
    free(copy);
    free(p);
}

/* A handle that is prepared is not prepared again, and stays what it is. */
static void prepared_twice(void **state)
{
    struct program *p = two_calls();
    const NeutronModelConfig config = {p->microcode, p->weights, p->scratch, 60};
    NeutronModelHandle handle;

    assert_int_equal(program_prepare(p, &handle), ENONE);
    NeutronModelHandle again = handle;
    assert_error(neutronModelPrepare(&config, &again), ERROR_CATEGORY_DRIVER_BAD_HANDLE);
    assert_ptr_equal(again, handle);
    assert_int_equal(program_run_prepared(p, handle), ENONE);
    assert_int_equal(neutronModelUnprepare(handle), ENONE);
    /* Memory of the application may be used for another program without a word. */
    uint8_t *block = aligned_alloc(16, neutronGetModelContextSize());
    for (int round = 0; round < 2; round++) {
        memset(block, 0, neutronGetModelContextSize());
        handle = block;
        const NeutronModelConfig bad = {p->microcode, p->weights, NULL, 60};
        assert_error(neutronModelPrepare(&bad, &handle), ERROR_CATEGORY_DRIVER_INVALID);
        handle = block;
        assert_int_equal(neutronModelPrepare(&config, &handle), ENONE);
        assert_int_equal(program_run_prepared(p, handle), ENONE);
        assert_int_equal(neutronModelUnprepare(handle), ENONE);
    }
    free(block);
    free(p);
}

/* What was verified is not written over. */
static void buffers_on_the_program(void **state)
{
    struct program *p = two_calls();
    NeutronModelHandle handle;
    const void *inputs[1] = {p->input[0]};

    assert_int_equal(program_prepare(p, &handle), ENONE);
    const void *const places[] = {
        p->microcode, p->microcode + 128, p->weights, (uint8_t *)p->weights - 16, p->weights + 240, handle};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        void *outputs[4] = {(void *)(uintptr_t)places[i], p->scratch, NULL, NULL};
        assert_error(run_with(handle, inputs, outputs), ERROR_CATEGORY_DRIVER_INVALID);
        outputs[1] = outputs[0];
        outputs[0] = p->output[0];
        assert_error(run_with(handle, inputs, outputs), ERROR_CATEGORY_DRIVER_INVALID);
    }
    void *beside[4] = {p->weights + 256, p->scratch, NULL, NULL};
    assert_int_equal(run_with(handle, inputs, beside), ENONE);
    assert_int_equal(neutronModelUnprepare(handle), ENONE);
    free(p);
}

/* The work of a call is bounded by the seconds the caller is ready to wait. */
static void too_much_work(void **state)
{
    struct program *p = program_new();
    uint32_t seed = 1;
    NeutronModelHandle handle;
    union nuc_mc_record r = {.copy = {.rank = 3, .unit = 1, .shape = {1 << 20, 1 << 10, 1 << 8}}};

    r.copy.input = program_input(p, 1, &seed);
    r.copy.output = program_output(p, 1);
    program_call(p, NUC_MC_OP_COPY, &r);
    program_finish(p);
    assert_error(program_prepare(p, &handle), ERROR_CATEGORY_DRIVER_TIMEOUT);
    free(p);
}

static void never(void *to, void *from, uint32_t size, uint32_t channel)
{
    fail();
}

static void functions_of_other_devices(void **state)
{
    bool ready = false;
    void *buffer = NULL;
    NeutronModelHandle handle = NULL;
    NeutronConfig config = {NULL, NULL};

    assert_error(neutronCustomPrepare(NULL, 0, NULL, 0, NULL, 0, &handle), ERROR_CATEGORY_DRIVER_UNSUPPORTED);
    assert_error(neutronCustomExec(NULL, NULL), ERROR_CATEGORY_DRIVER_UNSUPPORTED);
    assert_error(neutronRunNonBlocking(NULL, NULL), ERROR_CATEGORY_DRIVER_UNSUPPORTED);
    assert_error(neutronWait(NULL, NULL), ERROR_CATEGORY_DRIVER_UNSUPPORTED);
    assert_error(neutronIsReady(NULL, &ready), ERROR_CATEGORY_DRIVER_UNSUPPORTED);
    assert_error(allocateBuffer(16, &buffer, true), ERROR_CATEGORY_DRIVER_UNSUPPORTED);
    assert_error(releaseBuffer(buffer), ERROR_CATEGORY_DRIVER_UNSUPPORTED);
    assert_error(clean_cache(NULL, 0), ERROR_CATEGORY_DRIVER_UNSUPPORTED);
    assert_error(matmul(NULL, 0, NULL, 0, NULL, 0, 0), ERROR_CATEGORY_DRIVER_UNSUPPORTED);
    assert_null(neutronMemAlloc(16, 16));
    assert_int_equal(neutronSetConfig(&config), ENONE);
    assert_error(neutronSetConfig(NULL), ERROR_CATEGORY_DRIVER_INVALID);
    config.copy = never;
    assert_error(neutronSetConfig(&config), ERROR_CATEGORY_DRIVER_INVALID);
}

static void error_texts(void **state)
{
    assert_string_equal(getNeutronErrorComponent(GEN_NEUTRON_DRIVER_ERROR(ERROR_CATEGORY_DRIVER_UCODE, 5)), "driver");
    assert_string_equal(getNeutronErrorCategory(GEN_NEUTRON_DRIVER_ERROR(ERROR_CATEGORY_DRIVER_TIMEOUT, 5)), "timeout");
    assert_string_equal(getNeutronErrorCategory(GEN_NEUTRON_ERROR(ERROR_COMPONENT_FIRMWARE, 2, 0)), "buffer overflow");
    for (NeutronError e = 0; e < 256; e++)
        assert_true(getNeutronErrorComponent(e) != NULL && getNeutronErrorCategory(e) != NULL);
    assert_string_equal(getNeutronErrorComponent(ENONE), "unknown");
}

static uint32_t record_word(const uint8_t *record, size_t at)
{
    return nuc_load_u32(record + at);
}

/* A record a call and one for the end, times that only grow. */
static void profile_records(void **state)
{
    struct program *p = two_calls();

    p->profile_size = 3 * NUC_MC_PROFILE_RECORD;
    memset(p->profile, 0xEE, sizeof p->profile);
    assert_int_equal(program_run(p), ENONE);
    uint32_t now = 0;
    for (size_t i = 0; i < 3; i++) {
        const uint8_t *record = p->profile + i * NUC_MC_PROFILE_RECORD;
        assert_int_equal(record[9], NUC_MC_STOP_KERNEL);
        assert_int_equal(record_word(record, 4), now);
        assert_true(i == 2 ? record_word(record, 12) == now : record_word(record, 12) > now);
        now = record_word(record, 12);
    }
    assert_int_equal(p->profile[3 * NUC_MC_PROFILE_RECORD], 0xEE);
    free(p);
}

/* The device stays on for all tests, whatever one of them ends. */
static int set_up_device(void **state)
{
    return neutronInit() == ENONE ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_twice_with_one_handle),
        cmocka_unit_test(caller_memory),
        cmocka_unit_test(bad_configurations),
        cmocka_unit_test(bad_microcode),
        cmocka_unit_test(microcode_size),
        cmocka_unit_test(flipped_bits),
        cmocka_unit_test(bad_buffers),
        cmocka_unit_test(buffers_on_the_program),
        cmocka_unit_test(bad_handles),
        cmocka_unit_test(no_longer_handles),
        cmocka_unit_test(prepared_twice),
        cmocka_unit_test(too_much_work),
        cmocka_unit_test(functions_of_other_devices),
        cmocka_unit_test(error_texts),
        cmocka_unit_test(profile_records),
    };
    return cmocka_run_group_tests(tests, set_up_device, NULL);
}
