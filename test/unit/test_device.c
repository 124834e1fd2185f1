/*
 * What the device does besides running calls: copies of weights, power, initialization, traces, and its faults as
 * software above the driver sees them.
 */
#undef NDEBUG /* the trace functions are declared whatever the build type */
#include "npu_program.h"
#include "nucleon/simulator.h"
#include "nucleon/simulator_faults.h"

static void assert_driver(NeutronError error, int category, int code)
{
    assert_int_equal(GET_ERROR_COMPONENT(error), ERROR_COMPONENT_DRIVER);
    assert_int_equal(GET_ERROR_CATEGORY(error), category);
    assert_int_equal(GET_ERROR_CODE(error), code);
}

static void assert_firmware(NeutronError error, int category, int code)
{
    assert_int_equal(GET_ERROR_COMPONENT(error), ERROR_COMPONENT_FIRMWARE);
    assert_int_equal(GET_ERROR_CATEGORY(error), category);
    assert_int_equal(GET_ERROR_CODE(error), code);
}

/* ---- weights in flash ---- */

static void copy_now(void *to, void *from, uint32_t size, uint32_t channel)
{
    memcpy(to, from, size);
}

static void forget(void *to, void *from, uint32_t size, uint32_t channel)
{
}

static void do_nothing(uint32_t channel)
{
}

static void set_copies(void (*copy)(void *, void *, uint32_t, uint32_t), void (*wait)(uint32_t))
{
    NeutronConfig config = {copy, wait};

    assert_int_equal(neutronSetConfig(&config), ENONE);
}

/* A step of a staged program; opcodes but LUT have weights_offset, size, staging_offset, channel. */
struct step {
    uint32_t opcode;
    int32_t numbers[4];
};

#define TABLE 256
#define FETCH_OF(table, staging, channel)                                                                              \
    {                                                                                                                  \
        NUC_MC_OP_FETCH,                                                                                               \
        {                                                                                                              \
            (table) * TABLE, TABLE, staging, channel                                                                   \
        }                                                                                                              \
    }
#define WAIT_OF(table, staging, channel)                                                                               \
    {                                                                                                                  \
        NUC_MC_OP_WAIT,                                                                                                \
        {                                                                                                              \
            (table) * TABLE, TABLE, staging, channel                                                                   \
        }                                                                                                              \
    }
#define LUT_OF(table)                                                                                                  \
    {                                                                                                                  \
        NUC_MC_OP_LUT,                                                                                                 \
        {                                                                                                              \
            table, 0, 0, 0                                                                                             \
        }                                                                                                              \
    }

/* Tables 0 and 1 add 1 and 2 to the input; every LUT step reads the input and writes the output. */
static struct program *staged(const struct step *steps, size_t n_steps)
{
    struct program *p = program_new();
    uint32_t seed = 1;
    struct nuc_mc_ref in = program_input(p, 100, &seed), out = program_output(p, 100), tables[2];

    for (int t = 0; t < 2; t++) {
        uint8_t table[TABLE];
        for (int i = 0; i < TABLE; i++)
            table[i] = (uint8_t)(i + 128 + 1 + t);
        tables[t] = program_weights(p, table, TABLE);
    }
    for (size_t i = 0; i < n_steps; i++) {
        const int32_t *n = steps[i].numbers;
        union nuc_mc_record r = {
            .fetch = {.weights_offset = n[0], .size = n[1], .staging_offset = n[2], .channel = n[3]}};
        if (steps[i].opcode == NUC_MC_OP_LUT)
            r = (union nuc_mc_record){
                .lut = {.input = in, .output = out, .table = tables[n[0]], .count = 100, .run = 100}};
        program_call(p, steps[i].opcode, &r);
    }
    p->staging_size = 2 * TABLE;
    program_finish(p);
    return p;
}

static const struct step good[] = {
    FETCH_OF(0, 0, 0), FETCH_OF(1, TABLE, 1), WAIT_OF(0, 0, 0), LUT_OF(0),
    FETCH_OF(0, 0, 0), WAIT_OF(1, TABLE, 1),  LUT_OF(1),
};

static void weights_are_staged(void **state)
{
    struct program *p = staged(good, sizeof good / sizeof *good);

    set_copies(copy_now, do_nothing);
    assert_int_equal(program_run(p), ENONE);
    for (int i = 0; i < 100; i++)
        assert_int_equal(p->output[0][i], (uint8_t)(p->input[0][i] + 2));
    assert_memory_equal(p->staging + TABLE, p->weights + TABLE, TABLE);
    set_copies(NULL, NULL);
    assert_driver(program_run(p), ERROR_CATEGORY_DRIVER_INVALID, 12);
    set_copies(forget, do_nothing);
    memset(p->staging, 0, sizeof p->staging);
    assert_firmware(program_run(p), ERROR_CATEGORY_FW_DMAPI_ERROR, 2);
    set_copies(NULL, NULL);
    free(p);
}

/* A channel is free for another copy while the weights are read that it brought. */
static void channel_is_used_again(void **state)
{
    static const struct step steps[] = {
        FETCH_OF(0, 0, 0), WAIT_OF(0, 0, 0), FETCH_OF(1, TABLE, 0), LUT_OF(0), WAIT_OF(1, TABLE, 0), LUT_OF(1),
    };
    struct program *p = staged(steps, sizeof steps / sizeof *steps);

    p->version = NUC_MC_VERSION_5;
    set_copies(copy_now, do_nothing);
    assert_int_equal(program_run(p), ENONE);
    for (int i = 0; i < 100; i++)
        assert_int_equal(p->output[0][i], (uint8_t)(p->input[0][i] + 2));
    set_copies(NULL, NULL);
    free(p);
    /* What revision 5 adds, and nothing else, is a reason to state it. */
    p = staged(good, sizeof good / sizeof *good);
    p->version = NUC_MC_VERSION_5;
    NeutronError error = program_run(p);
    assert_int_equal(GET_ERROR_CATEGORY(error), ERROR_CATEGORY_DRIVER_UCODE);
    assert_int_equal(GET_ERROR_CODE(error) & 0xFFFF, NUC_MC_WORD_VERSION);
    free(p);
}

static void staging_buffer_is_needed(void **state)
{
    struct program *p = staged(good, sizeof good / sizeof *good);
    NeutronModelHandle handle;
    const void *inputs[1] = {p->input[0]};
    void *outputs[4] = {p->output[0], p->scratch, NULL, NULL};
    NeutronDataConfig data = {inputs, outputs, NULL, NULL};

    assert_int_equal(program_prepare(p, &handle), ENONE);
    assert_driver(neutronRunBlocking(handle, &data), ERROR_CATEGORY_DRIVER_INVALID, 11);
    data.scratchWeights = p->staging + 8;
    assert_driver(neutronRunBlocking(handle, &data), ERROR_CATEGORY_DRIVER_INVALID, 11);
    assert_int_equal(neutronModelUnprepare(handle), ENONE);
    free(p);
}

/* Each list has one mistake, in its last step. */
static void mistaken_orders(void **state)
{
    static const struct {
        size_t n;
        struct step steps[6];
    } lists[] = {
        {1, {LUT_OF(0)}},                                                             /* nothing is staged */
        {2, {FETCH_OF(0, 0, 0), LUT_OF(0)}},                                          /* not waited for */
        {3, {FETCH_OF(0, 0, 0), WAIT_OF(0, 0, 0), LUT_OF(1)}},                        /* another table */
        {1, {WAIT_OF(0, 0, 0)}},                                                      /* nothing to wait for */
        {3, {FETCH_OF(0, 0, 0), WAIT_OF(0, 0, 0), WAIT_OF(0, 0, 0)}},                 /* twice */
        {2, {FETCH_OF(0, 0, 0), WAIT_OF(0, 0, 1)}},                                   /* another channel */
        {2, {FETCH_OF(0, 0, 0), WAIT_OF(1, 0, 0)}},                                   /* another copy */
        {2, {FETCH_OF(0, 0, 0), FETCH_OF(1, TABLE, 0)}},                              /* the channel is busy */
        {2, {FETCH_OF(0, 0, 0), FETCH_OF(1, TABLE - 16, 1)}},                         /* over each other */
        {4, {FETCH_OF(0, 0, 0), WAIT_OF(0, 0, 0), FETCH_OF(1, 16, 1), LUT_OF(0)}},    /* under another copy */
        {4, {FETCH_OF(0, 0, 0), WAIT_OF(0, 0, 0), FETCH_OF(0, 0, 0), LUT_OF(0)}},     /* under its own */
        {4, {FETCH_OF(0, 0, 0), WAIT_OF(0, 0, 0), FETCH_OF(1, TABLE, 0), LUT_OF(0)}}, /* not before revision 5 */
        {1, {{NUC_MC_OP_FETCH, {0, TABLE, 0, 2}}}},                                   /* no such channel */
        {1, {{NUC_MC_OP_FETCH, {0, TABLE, 8, 0}}}},                                   /* misaligned */
        {1, {{NUC_MC_OP_FETCH, {0, TABLE, TABLE + 16, 0}}}},                          /* beyond the buffer */
        {1, {{NUC_MC_OP_FETCH, {TABLE + 16, TABLE, 0, 0}}}},                          /* beyond the weights */
        {1, {{NUC_MC_OP_FETCH, {0, 0, 0, 0}}}},                                       /* nothing */
        {1, {{NUC_MC_OP_FETCH, {-16, TABLE, 0, 0}}}},
    };

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct program *p = staged(lists[i].steps, lists[i].n);
        NeutronModelHandle handle;
        NeutronError error = program_prepare(p, &handle);
        if (GET_ERROR_CATEGORY(error) != ERROR_CATEGORY_DRIVER_UCODE ||
            (GET_ERROR_CODE(error) & 0xFFFF) != (int)lists[i].n - 1)
            fail_msg("list %zu: error 0x%x", i, (unsigned)error);
        assert_null(handle);
        free(p);
    }
}

/* ---- state of the device ---- */

/* One copy of 100 bytes. */
static struct program *one_call(void)
{
    struct program *p = program_new();
    uint32_t seed = 3;
    union nuc_mc_record r = {.copy = {.rank = 1, .unit = 1, .shape = {100}, .in_stride = {1}, .out_stride = {1}}};

    r.copy.input = program_input(p, 100, &seed);
    r.copy.output = program_output(p, 100);
    program_call(p, NUC_MC_OP_COPY, &r);
    program_finish(p);
    return p;
}

static void power(void **state)
{
    struct program *p = one_call();
    struct nuc_simulator_power before, after;

    assert_int_equal(neutronSuspend(), ENONE);
    nuc_simulator_power(&before);
    assert_driver(program_run(p), ERROR_CATEGORY_DRIVER_GENERIC, 2);
    assert_driver(neutronSuspend(), ERROR_CATEGORY_DRIVER_GENERIC, 4);
    assert_int_equal(neutronResume(), ENONE);
    assert_int_equal(program_run(p), ENONE);
    assert_driver(neutronResume(), ERROR_CATEGORY_DRIVER_GENERIC, 5);
    assert_int_equal(program_run(p), ENONE);
    nuc_simulator_power(&after);
    assert_int_equal(after.resumes - before.resumes, 1);
    assert_int_equal(after.suspends - before.suspends, 0);
    free(p);
}

static void initialization(void **state)
{
    struct program *p = one_call();

    assert_driver(neutronDeinit(), ERROR_CATEGORY_DRIVER_GENERIC, 3);
    assert_int_equal(program_run(p), ENONE);
    assert_int_equal(neutronInit(), ENONE);
    assert_int_equal(neutronInit(), ENONE);
    assert_int_equal(neutronDeinit(), ENONE);
    assert_int_equal(program_run(p), ENONE);
    assert_int_equal(neutronDeinit(), ENONE);
    assert_driver(program_run(p), ERROR_CATEGORY_DRIVER_GENERIC, 1);
    assert_int_equal(neutronSuspend(), ENONE);
    assert_int_equal(neutronInit(), ENONE); /* also ends a suspension */
    assert_int_equal(program_run(p), ENONE);
    assert_int_equal(neutronDeinit(), ENONE);
    assert_int_equal(neutronInit(), ENONE);
    free(p);
}

/* ---- traces ---- */

static void traces(void **state)
{
    struct program *p = one_call();
    char text[256], *got;
    size_t size;
    NeutronModelHandle handle;
    NeutronTraceConfig config = {TRACE_CONFIG_KERNEL_LEVEL | TRACE_CONFIG_JOB_LEVEL, text, sizeof text};

    assert_int_equal(program_prepare(p, &handle), ENONE);
    assert_driver(neutronGetTrace(handle, &got, &size), ERROR_CATEGORY_DRIVER_TRACE_NOT_RUN, 0);
    neutronSetTrace(handle, &config);
    assert_driver(neutronGetTrace(handle, &got, &size), ERROR_CATEGORY_DRIVER_TRACE_NOT_RUN, 0);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(program_run_prepared(p, handle), ENONE);
        assert_int_equal(neutronGetTrace(handle, &got, &size), ENONE);
        assert_ptr_equal(got, text);
        unsigned stop = 0, end = 0;
        text[size] = 0;
        assert_int_equal(sscanf(text, "kernel 0 COPY 0 %u\njob 0 %u\n", &stop, &end), 2);
        assert_true(stop > 0 && stop == end);
    }
    config.traceBufferSize = size - 1; /* the last line does not fit */
    neutronSetTrace(handle, &config);
    memset(text, '#', sizeof text);
    assert_int_equal(program_run_prepared(p, handle), ENONE);
    assert_int_equal(neutronGetTrace(handle, &got, &size), ENONE);
    assert_true(text[size - 1] == '\n' && text[size] == '#');
    neutronSetTrace(handle, NULL);
    assert_int_equal(program_run_prepared(p, handle), ENONE);
    assert_driver(neutronGetTrace(handle, &got, &size), ERROR_CATEGORY_DRIVER_TRACE_NOT_RUN, 0);
    neutronSetTrace(NULL, &config);
    assert_driver(neutronGetTrace(NULL, &got, &size), ERROR_CATEGORY_DRIVER_BAD_HANDLE, 0);
    assert_driver(neutronGetTrace(handle, NULL, &size), ERROR_CATEGORY_DRIVER_INVALID, 13);
    assert_int_equal(neutronModelUnprepare(handle), ENONE);
    free(p);
}

/* ---- faults ---- */

static void inject(enum nuc_simulator_fault_kind kind, uint32_t after, uint32_t call)
{
    const struct nuc_simulator_fault fault = {kind, after, call};

    nuc_simulator_inject(&fault);
}

static void faults(void **state)
{
    struct program *p = one_call();
    struct program *s = staged(good, sizeof good / sizeof *good);

    set_copies(copy_now, do_nothing);
    inject(NUC_FAULT_DEVICE, 1, 0);
    assert_int_equal(program_run(p), ENONE);
    assert_firmware(program_run(p), ERROR_CATEGORY_FW_INTR_ERROR, 0);
    assert_int_equal(program_run(p), ENONE);
    inject(NUC_FAULT_TIMEOUT, 0, 3);
    assert_int_equal(program_run(p), ENONE); /* has no call 3 */
    assert_driver(program_run(s), ERROR_CATEGORY_DRIVER_TIMEOUT, 3);
    inject(NUC_FAULT_COPY, 1, 0);
    assert_firmware(program_run(s), ERROR_CATEGORY_FW_DMAPI_ERROR, 5);
    assert_int_equal(program_run(s), ENONE);
    inject(NUC_FAULT_MEMORY, 0, 0);
    assert_driver(program_run(p), ERROR_CATEGORY_DRIVER_NO_MEMORY, 1);
    inject(NUC_FAULT_RESUME, 0, 0);
    assert_driver(neutronResume(), ERROR_CATEGORY_DRIVER_INTERNAL_FAULT, 2);
    assert_driver(neutronResume(), ERROR_CATEGORY_DRIVER_GENERIC, 5);
    inject(NUC_FAULT_SUSPEND, 0, 0);
    assert_driver(neutronSuspend(), ERROR_CATEGORY_DRIVER_INTERNAL_FAULT, 1);
    inject(NUC_FAULT_DEVICE, 0, 0);
    nuc_simulator_inject(NULL);
    assert_int_equal(program_run(p), ENONE);
    set_copies(NULL, NULL);
    free(p);
    free(s);
}

RUN_TESTS(cmocka_unit_test(weights_are_staged), cmocka_unit_test(channel_is_used_again),
          cmocka_unit_test(staging_buffer_is_needed), cmocka_unit_test(mistaken_orders), cmocka_unit_test(power),
          cmocka_unit_test(initialization), cmocka_unit_test(traces), cmocka_unit_test(faults))
