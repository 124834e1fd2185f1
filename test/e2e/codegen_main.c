/*
 * Runs generated code on samples from standard input, outputs to standard output. codegen_main [SAMPLES]: of a program
 * with states, so many are a sequence.
 */
#include <stdio.h>
#include <stdlib.h>

#include "model.h"

#if MODEL_DELEGATES > 0
#include "nucleon/NeutronDriver.h"
#endif

static void begin_sequence(void)
{
#ifdef MODEL_STATES
    model_reset();
#endif
}

int main(int argc, char **argv)
{
    struct nuc_detail detail = {.message = NULL};
    long length = argc > 1 ? atol(argv[1]) : 0;

#if MODEL_DELEGATES > 0
    if (neutronInit() != ENONE)
        return 1;
#endif
    if (model_load(&detail) != NUC_OK)
        return 1;
    for (long i = 0; fread(model_input0(), MODEL_INPUT0_BYTES, 1, stdin) == 1; i++) {
        if (i > 0 && length > 0 && i % length == 0)
            begin_sequence();
        if (model_run(&detail) != NUC_OK)
            return 1;
        fwrite(model_output0(), MODEL_OUTPUT0_BYTES, 1, stdout);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
