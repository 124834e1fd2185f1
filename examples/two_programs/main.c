/*
 * Programs in turns, in the memory that nucleon plan gave them: one sample of each, until one has no more.
 *
 *     main SAMPLES OUTPUT [SAMPLES OUTPUT ...]
 *
 * SAMPLES of a program hold its inputs one after the other as they lie in memory; OUTPUT gets its outputs likewise.
 */
#include "nucleon/runtime.h"
#include "plan.h"
#include "port/port.h"
#include "port/print.h"

/* Where each program file begins and ends: programs.S, which run.sh writes. */
extern const uint8_t *const programs[PLAN_PROGRAMS][2];

static struct nuc_program loaded[PLAN_PROGRAMS];
static int samples[PLAN_PROGRAMS], outputs[PLAN_PROGRAMS];

static int failed(const char *what, const struct nuc_detail *d)
{
    nuc_port_print(what);
    nuc_port_print(": ");
    nuc_port_print(d->message != NULL ? d->message : "fails");
    nuc_port_print("\n");
    return 1;
}

static enum nuc_status load_all(struct nuc_detail *detail)
{
    enum nuc_status status = plan_start();

    for (size_t i = 0; i < PLAN_PROGRAMS && status == NUC_OK; i++)
        status = nuc_program_load(&loaded[i], programs[i][0], (size_t)(programs[i][1] - programs[i][0]),
                                  &plan_memories[i], &plan_kernels, &plan_backends, detail);
    return status;
}

/* A sample of program `i`: 1 when there is none. */
static int run_one(size_t i, struct nuc_detail *detail)
{
    struct nuc_program *p = &loaded[i];
    struct nuc_tensor t;
    enum nuc_status status = NUC_OK;

    for (size_t k = 0; k < nuc_program_n_inputs(p) && status == NUC_OK; k++) {
        status = nuc_program_input_info(p, k, &t);
        if (status == NUC_OK && nuc_port_read(samples[i], t.data, t.bytes) != t.bytes)
            return 1;
        status = status == NUC_OK ? nuc_program_set_input(p, k, t.data, t.bytes, detail) : status;
    }
    if (status == NUC_OK)
        status = nuc_program_execute(p, detail);
    for (size_t k = 0; k < nuc_program_n_outputs(p) && status == NUC_OK; k++) {
        status = nuc_program_output(p, k, &t);
        if (status == NUC_OK && nuc_port_write(outputs[i], t.data, t.bytes) != 0)
            status = NUC_IO;
    }
    return status == NUC_OK ? 0 : -1;
}

int nuc_firmware_main(void)
{
    const char *words[1 + 2 * PLAN_PROGRAMS];
    struct nuc_detail detail = {.message = NULL};
    int64_t count = 0;
    int code = 0;

    if (nuc_port_arguments(words, 1 + 2 * PLAN_PROGRAMS) != 1 + 2 * PLAN_PROGRAMS)
        return failed("a file of samples and one of outputs for each program", &detail);
    for (size_t i = 0; i < PLAN_PROGRAMS; i++) {
        samples[i] = nuc_port_open(words[1 + 2 * i], 0);
        outputs[i] = nuc_port_open(words[2 + 2 * i], 1);
        if (samples[i] < 0 || outputs[i] < 0)
            return failed(words[1 + 2 * i], &detail);
    }
    if (load_all(&detail) != NUC_OK)
        return failed("load", &detail);
    for (;; count++) {
        for (size_t i = 0; i < PLAN_PROGRAMS && code == 0; i++)
            code = run_one(i, &detail);
        if (code != 0)
            break;
        nuc_port_wait();
    }
    if (code < 0)
        return failed("run", &detail);
    for (size_t i = 0; i < PLAN_PROGRAMS; i++)
        nuc_port_close(outputs[i]);
    nuc_print_line("turns: ", count, "\n");
    return 0;
}
