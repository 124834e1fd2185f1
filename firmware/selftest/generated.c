/* The self-test of program.c for generated C, which is compiled with MODEL_TRACE=selftest_trace. */
#include "firmware/selftest/selftest.h"
#include "model.h"

/* model_selftest.c */
extern const struct nuc_selftest model_selftest;
void model_selftest_inputs(uint32_t n_case);

/* model.c calls it */
void selftest_trace(const struct nuc_value *values, struct nuc_value *const *args, size_t n_args);

static struct nuc_selftest_run run;

void selftest_trace(const struct nuc_value *values, struct nuc_value *const *args, size_t n_args)
{
    nuc_selftest_step(&run, values, args, n_args);
}

int nuc_firmware_main(void)
{
    struct nuc_detail detail = {.instruction = -1};
    enum nuc_status status = NUC_OK;

    selftest_begin(&run, &model_selftest);
    nuc_selftest_image(&run, NULL, 0);
#if MODEL_DELEGATES > 0
    status = NUC_NPU_START();
#endif
    if (status == NUC_OK && !run.is_over)
        status = model_load(&detail);
    if (status != NUC_OK)
        nuc_selftest_stopped(&run, status, &detail);
    for (uint32_t k = 0; k < model_selftest.n_cases && !run.is_over; k++) {
#ifdef MODEL_STATES
        model_reset();
#endif
        model_selftest_inputs(k);
        nuc_selftest_case(&run, k);
        status = model_run(&detail);
        if (status != NUC_OK)
            nuc_selftest_stopped(&run, status, &detail);
    }
    return nuc_selftest_end(&run);
}
