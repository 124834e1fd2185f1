/* Faults of the device as a user of the runtime meets them: a status, the driver's code, and the next run is fine. */
#include "driver/driver.h"
#include "nucleon/NeutronDriver.h"
#include "nucleon/simulator.h"
#include "nucleon/simulator_faults.h"
#include "program_graphs.h"

#define MODEL NUCLEON_EXAMPLES "/digits/digits.pt2"
#define SAMPLES NUCLEON_EXAMPLES "/digits/calibration.npz"

struct loaded {
    struct nuc_compiler *c;
    struct nuc_span file;
    struct test_program p;
};

static void must(const struct loaded *l, enum nuc_status status)
{
    if (status != NUC_OK)
        fail_msg("%s", nuc_compiler_message(l->c));
}

static void set_up(struct loaded *l, bool fetch)
{
    struct nuc_options o;
    struct nuc_model *m;
    struct nuc_dataset *samples;

    nuc_options_default(&o);
    o.fetch_constants_to_sram = fetch;
    memset(l, 0, sizeof *l);
    l->c = nuc_compiler_new(&o, NULL);
    must(l, nuc_model_open(l->c, MODEL, &m));
    must(l, nuc_dataset_open(l->c, SAMPLES, &samples));
    must(l, nuc_quantize(m, samples, &m));
    must(l, nuc_partition(m, &m));
    must(l, nuc_lower(m, &m));
    must(l, nuc_program(m, &l->file.data, &l->file.size));
    test_load(l->c->cx, &l->p, l->file, &nuc_default_backends);
    assert_int_equal(l->p.status, NUC_OK);
}

static enum nuc_status run(struct loaded *l)
{
    static const float zeros[64] = {0};
    struct nuc_tensor t;

    assert_int_equal(nuc_program_input_info(&l->p.program, 0, &t), NUC_OK);
    assert_int_equal(t.bytes, sizeof zeros);
    assert_int_equal(nuc_program_set_input(&l->p.program, 0, zeros, sizeof zeros, NULL), NUC_OK);
    return nuc_program_execute(&l->p.program, &l->p.detail);
}

static void inject(enum nuc_simulator_fault_kind kind, uint32_t after, uint32_t call)
{
    const struct nuc_simulator_fault fault = {kind, after, call};

    nuc_simulator_inject(&fault);
}

/* The run fails with that component and category, the one after it gives the result of the one before it. */
static void check_fault(struct loaded *l, enum nuc_simulator_fault_kind kind, uint32_t call, int component,
                        int category)
{
    struct nuc_tensor out;
    float before[10];

    assert_int_equal(run(l), NUC_OK);
    assert_int_equal(nuc_program_output(&l->p.program, 0, &out), NUC_OK);
    memcpy(before, out.data, sizeof before);
    inject(kind, 0, call);
    assert_int_equal(run(l), NUC_DEVICE);
    assert_int_equal(GET_ERROR_COMPONENT(l->p.detail.code), component);
    assert_int_equal(GET_ERROR_CATEGORY(l->p.detail.code), category);
    assert_string_equal(l->p.detail.where, "NeutronBackend");
    assert_non_null(l->p.detail.message);
    assert_int_equal(l->p.detail.instruction, 1);
    assert_int_equal(run(l), NUC_OK);
    assert_int_equal(nuc_program_output(&l->p.program, 0, &out), NUC_OK);
    assert_memory_equal(before, out.data, sizeof before);
}

static void runs_fail(void **state)
{
    struct loaded l;

    set_up(&l, false);
    for (uint32_t call = 0; call < 9; call += 4) {
        check_fault(&l, NUC_FAULT_DEVICE, call, ERROR_COMPONENT_FIRMWARE, ERROR_CATEGORY_FW_INTR_ERROR);
        check_fault(&l, NUC_FAULT_TIMEOUT, call, ERROR_COMPONENT_DRIVER, ERROR_CATEGORY_DRIVER_TIMEOUT);
    }
    assert_int_equal(neutronSuspend(), ENONE);
    assert_int_equal(run(&l), NUC_DEVICE);
    assert_int_equal(GET_ERROR_CATEGORY(l.p.detail.code), ERROR_CATEGORY_DRIVER_GENERIC);
    assert_int_equal(neutronResume(), ENONE);
    assert_int_equal(run(&l), NUC_OK);
    nuc_program_unload(&l.p.program);
    nuc_compiler_free(l.c);
}

/* The backend that takes the power away between runs: in turns, whatever fails, and off when nothing runs. */
static void power_is_off_between_runs(void **state)
{
    static const struct nuc_backend *const list[] = {&nuc_neutron_power_backend};
    static const struct nuc_backend_table table = {list, 1, &nuc_delegates};
    static const enum nuc_simulator_fault_kind kinds[] = {NUC_FAULT_DEVICE, NUC_FAULT_TIMEOUT, NUC_FAULT_RESUME,
                                                          NUC_FAULT_SUSPEND};
    struct nuc_simulator_power before, after;
    struct loaded l;

    set_up(&l, false);
    nuc_program_unload(&l.p.program);
    assert_int_equal(nuc_neutron_power_start(), NUC_OK);
    nuc_simulator_power(&before);
    test_load(l.c->cx, &l.p, l.file, &table);
    assert_int_equal(l.p.status, NUC_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(run(&l), NUC_OK);
    nuc_simulator_power(&after);
    assert_int_equal(after.resumes - before.resumes, 4); /* loading, three runs */
    assert_int_equal(after.suspends - before.suspends, 4);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        inject(kinds[k], 0, 0);
        assert_int_equal(run(&l), NUC_DEVICE);
        assert_int_not_equal(l.p.detail.code, 0);
        nuc_simulator_inject(NULL);
        if (kinds[k] == NUC_FAULT_SUSPEND)
            assert_int_equal(neutronSuspend(), ENONE);
        assert_int_equal(run(&l), NUC_OK);
        assert_int_not_equal(neutronSuspend(), ENONE); /* it is */
    }
    nuc_program_unload(&l.p.program);
    inject(NUC_FAULT_MEMORY, 0, 0);
    test_load(l.c->cx, &l.p, l.file, &table);
    assert_int_equal(l.p.status, NUC_DEVICE);
    assert_int_equal(neutronResume(), ENONE);
    nuc_compiler_free(l.c);
}

static void copies_fail(void **state)
{
    struct loaded l;

    set_up(&l, true);
    check_fault(&l, NUC_FAULT_COPY, 0, ERROR_COMPONENT_FIRMWARE, ERROR_CATEGORY_FW_DMAPI_ERROR);
    nuc_program_unload(&l.p.program);
    nuc_compiler_free(l.c);
}

static void loading_fails(void **state)
{
    struct loaded l;
    struct test_program again;

    set_up(&l, false);
    nuc_program_unload(&l.p.program);
    inject(NUC_FAULT_MEMORY, 0, 0);
    test_load(l.c->cx, &again, l.file, &nuc_default_backends);
    assert_int_equal(again.status, NUC_DEVICE);
    assert_int_equal(GET_ERROR_CATEGORY(again.detail.code), ERROR_CATEGORY_DRIVER_NO_MEMORY);
    test_load(l.c->cx, &again, l.file, &nuc_default_backends);
    assert_int_equal(again.status, NUC_OK);
    nuc_program_unload(&again.program);
    nuc_compiler_free(l.c);
}

/* Every kernel call of the program ends with an error or not at all, and the run after that is right. */
static void every_kernel_call_fails(void **state)
{
    struct loaded l;
    uint32_t failures = 0;

    set_up(&l, false);
    for (uint32_t call = 0;; call++) {
        inject(NUC_FAULT_DEVICE, 0, call);
        enum nuc_status status = run(&l);
        nuc_simulator_inject(NULL);
        if (status == NUC_OK)
            break;
        check_fault(&l, NUC_FAULT_DEVICE, call, ERROR_COMPONENT_FIRMWARE, ERROR_CATEGORY_FW_INTR_ERROR);
        check_fault(&l, NUC_FAULT_TIMEOUT, call, ERROR_COMPONENT_DRIVER, ERROR_CATEGORY_DRIVER_TIMEOUT);
        failures++;
    }
    assert_true(failures > 9);
    nuc_program_unload(&l.p.program);
    nuc_compiler_free(l.c);
}

/* What an application does: loads, runs, lets the NPU sleep, runs, unloads. How many of its calls fail. */
static int session(struct loaded *l)
{
    int failures = 0;

    test_load(l->c->cx, &l->p, l->file, &nuc_default_backends);
    if (l->p.status != NUC_OK) {
        assert_int_equal(l->p.status, NUC_DEVICE);
        assert_int_not_equal(l->p.detail.code, 0);
        return 1;
    }
    for (int i = 0; i < 4; i++) {
        if (i == 2) {
            failures += neutronSuspend() != ENONE;
            failures += neutronResume() != ENONE;
        }
        enum nuc_status status = run(l);
        assert_true(status == NUC_OK || (status == NUC_DEVICE && l->p.detail.code != 0));
        failures += status != NUC_OK;
    }
    nuc_program_unload(&l->p.program);
    return failures;
}

/* The n-th thing of every kind fails, for all n there are; afterwards nothing does. */
static void every_use_of_the_device_fails(void **state)
{
    static const enum nuc_simulator_fault_kind kinds[] = {NUC_FAULT_DEVICE, NUC_FAULT_TIMEOUT, NUC_FAULT_COPY,
                                                          NUC_FAULT_MEMORY, NUC_FAULT_RESUME,  NUC_FAULT_SUSPEND};
    struct loaded l;

    set_up(&l, true);
    nuc_program_unload(&l.p.program);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        uint32_t after = 0;
        for (;; after++) {
            inject(kinds[k], after, 0);
            int failures = session(&l);
            nuc_simulator_inject(NULL);
            neutronResume();
            if (failures == 0)
                break;
            assert_int_equal(session(&l), 0);
        }
        assert_true(after > 0);
    }
    nuc_compiler_free(l.c);
}

RUN_TESTS(cmocka_unit_test(runs_fail), cmocka_unit_test(copies_fail), cmocka_unit_test(power_is_off_between_runs),
          cmocka_unit_test(loading_fails), cmocka_unit_test(every_kernel_call_fails),
          cmocka_unit_test(every_use_of_the_device_fails))
