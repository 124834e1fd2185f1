/*
 * Runs generated code on samples from standard input, outputs to standard output. codegen_main [SAMPLES [INSTANCES]]:
 * of a program with states, so many are a sequence, and so many instances take turns.
 */
#include <stdio.h>
#include <stdlib.h>

#include "model.h"

#if MODEL_DELEGATES > 0
#include "nucleon/runtime.h"
#endif

/*
 * Samples of sequences of so many; of several instances, which take turns with their samples: one after the other has
 * its states in the program while it runs.
 */
static void begin_sample(long i, long length, long instances)
{
#ifdef MODEL_STATES
    static struct model_states states[8];
    if (i == 0) {
        for (long k = 0; k < instances; k++)
            model_save(&states[k]);
    } else if (instances > 0) {
        model_save(&states[(i - 1) % instances]);
    }
    if (instances > 0)
        model_restore(&states[i % instances]);
    if (i > 0 && length > 0 && i % length == 0)
        model_reset();
#else
    (void)i, (void)length, (void)instances;
#endif
}

int main(int argc, char **argv)
{
    struct nuc_detail detail = {.message = NULL};
    long length = argc > 1 ? atol(argv[1]) : 0;
    long instances = argc > 2 ? atol(argv[2]) : 0;

#if MODEL_DELEGATES > 0
    if (NUC_NPU_START() != NUC_OK)
        return 1;
#endif
    if (instances > 8 || model_load(&detail) != NUC_OK)
        return 1;
    for (long i = 0; fread(model_input0(), MODEL_INPUT0_BYTES, 1, stdin) == 1; i++) {
        begin_sample(i, length, instances);
        if (model_run(&detail) != NUC_OK)
            return 1;
        fwrite(model_output0(), MODEL_OUTPUT0_BYTES, 1, stdout);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
