/* Runs generated code on samples from standard input, outputs to standard output. */
#include <stdio.h>

#include "model.h"

#if MODEL_DELEGATES > 0
#include "nucleon/NeutronDriver.h"
#endif

int main(void)
{
    struct nuc_detail detail = {.message = NULL};

#if MODEL_DELEGATES > 0
    if (neutronInit() != ENONE)
        return 1;
#endif
    if (model_load(&detail) != NUC_OK)
        return 1;
    while (fread(model_input0(), MODEL_INPUT0_BYTES, 1, stdin) == 1) {
        if (model_run(&detail) != NUC_OK)
            return 1;
        fwrite(model_output0(), MODEL_OUTPUT0_BYTES, 1, stdout);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
