/*
 * Damages a self-test under way, for test/e2e/selftest.py: by the words of the command line
 *
 *     weights OFFSET MASK   a byte of the program file, or of the first payload of generated C
 *     version               the firmware of the NPU is another one
 *     result STEP BYTE      what a call has written, before it is compared
 *     memory STEP BYTE      the same after it was compared: something writes to the arena
 *     kernel CALL BYTE      a kernel of the NPU writes something else
 *     scratch CALL OFFSET   something writes to the NPU's memory before a kernel reads it
 */
#include <stdlib.h>
#include <string.h>

#include "device/npusim/npu.h"
#include "nucleon/selftest.h"
#include "port/port.h"

enum { SPOILED = 16 }; /* bytes that a stray write changes */

static struct {
    const char *kind;
    uint32_t at, what, steps, calls;
} fault;

extern const uint8_t nuc_image[] __attribute__((weak)), model_payload0[] __attribute__((weak));
extern const uint32_t neutronKernelsVersion __attribute__((weak));
extern int32_t (*const neutronKernels[NUC_MC_OPCODE_COUNT])(const struct nuc_npu_memory *m,
                                                            const union nuc_mc_record *r) __attribute__((weak));

static int32_t (*kernels[NUC_MC_OPCODE_COUNT])(const struct nuc_npu_memory *m, const union nuc_mc_record *r);

static bool is(const char *kind)
{
    return fault.kind != NULL && strcmp(fault.kind, kind) == 0;
}

static uint32_t number(const char *text)
{
    uint32_t n = 0;

    for (; text != NULL && *text >= '0' && *text <= '9'; text++)
        n = n * 10 + (uint32_t)(*text - '0');
    return n;
}

static void spoil(uint8_t *at, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)~at[i];
}

static int32_t call_kernel(const struct nuc_npu_memory *m, const union nuc_mc_record *r)
{
    const uint32_t call = fault.calls++;

    if (call == fault.at && is("scratch"))
        spoil(m->scratch + fault.what, SPOILED);
    int32_t status = kernels[nuc_mc_opcode_of(&r->call)](m, r);
    struct nuc_mc_result result = {.rows = 0};
    if (call == fault.at && is("kernel") && nuc_mc_opcode_of(&r->call) == NUC_MC_OP_SOFTMAX)
        spoil(npu_target(m, r->softmax.output), 1);
    else if (call == fault.at && is("kernel") && nuc_mc_result_of(r, &result))
        spoil(npu_target(m, result.output) + fault.what % (uint32_t)result.row, 1);
    return status;
}

void __real_nuc_selftest_begin(struct nuc_selftest_run *r, const struct nuc_selftest *test,
                               void (*print)(const char *text));
void __wrap_nuc_selftest_begin(struct nuc_selftest_run *r, const struct nuc_selftest *test,
                               void (*print)(const char *text));

/* Constants of the image lie in memory that can be written on QEMU's board. */
void __wrap_nuc_selftest_begin(struct nuc_selftest_run *r, const struct nuc_selftest *test,
                               void (*print)(const char *text))
{
    const char *words[4] = {NULL};

    nuc_port_arguments(words, 4);
    fault.kind = words[1];
    fault.at = number(words[2]);
    fault.what = number(words[3]);
    if (is("weights"))
        ((uint8_t *)(uintptr_t)(nuc_image != NULL ? nuc_image : model_payload0))[fault.at] ^= (uint8_t)fault.what;
    if (is("version"))
        *(volatile uint32_t *)(uintptr_t)&neutronKernelsVersion += 1;
    for (uint32_t i = 0; neutronKernels != NULL && i < NUC_MC_OPCODE_COUNT; i++) {
        kernels[i] = neutronKernels[i];
        *(void *volatile *)(uintptr_t)&neutronKernels[i] = (void *)(uintptr_t)call_kernel;
    }
    __real_nuc_selftest_begin(r, test, print);
}

static void damage(const char *kind, struct nuc_value *const *args, size_t n_args)
{
    if (n_args > 0 && is(kind) && fault.steps == fault.at) {
        struct nuc_tensor *t = &args[n_args - 1]->u.tensor;
        spoil((uint8_t *)t->data + fault.what % t->bytes, 1);
    }
}

/* ---- after each call of the program file ---- */

typedef void trace_fn(void *user, uint32_t instruction, const char *name, struct nuc_value *const *args, size_t n_args);
void __real_nuc_program_trace(struct nuc_program *p, trace_fn *trace, void *user);
void __wrap_nuc_program_trace(struct nuc_program *p, trace_fn *trace, void *user);

static trace_fn *compare;

static void trace_damaged(void *user, uint32_t instruction, const char *name, struct nuc_value *const *args,
                          size_t n_args)
{
    damage("result", args, n_args);
    compare(user, instruction, name, args, n_args);
    damage("memory", args, n_args);
    fault.steps++;
}

void __wrap_nuc_program_trace(struct nuc_program *p, trace_fn *trace, void *user)
{
    compare = trace;
    __real_nuc_program_trace(p, trace != NULL ? trace_damaged : NULL, user);
}

/* ---- and of generated C ---- */

void __real_nuc_selftest_step(struct nuc_selftest_run *r, const struct nuc_value *values, struct nuc_value *const *args,
                              size_t n_args);
void __wrap_nuc_selftest_step(struct nuc_selftest_run *r, const struct nuc_value *values, struct nuc_value *const *args,
                              size_t n_args);

void __wrap_nuc_selftest_step(struct nuc_selftest_run *r, const struct nuc_value *values, struct nuc_value *const *args,
                              size_t n_args)
{
    damage("result", args, n_args);
    __real_nuc_selftest_step(r, values, args, n_args);
    damage("memory", args, n_args);
    fault.steps++;
}
